"""Match input tables with the logical sources of a mapping, and check the mapping, before any row
is read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from shiq.errors import InputError, UsageError
from shiq.inputs.sources import (
    TABLE,
    TableKind,
    TableSource,
    classify_input,
    table_kind,
    text_table_kind,
)
from shiq.rdf.tables import AllColumns, table_files
from shiq.rdf.terms import COLUMNS
from shiq.rdf.text_tables import json_records, read_header
from shiq.rdf.triples import Rejects
from shiq.rml.draft import TableHead
from shiq.rml.model import (
    LogicalSource,
    MappingJoin,
    TermMap,
    TriplesMap,
    parse_reference,
)
from shiq.rml.program import MappingProgram, parse_record, read_source_rows
from shiq.rml.reader import read_mapping
from shiq.rml.tables import TableMapping, references_of


def mapped_sources(
    sources: Sequence[object], mapping: str | Path | None, *, bare: bool = False
) -> list[object]:
    """Attach the ``mapping`` to every input that is a table, except to tables of triples.

    A table matches the logical source with its name or file name; else the only one of the mapping;
    else the only one all of whose columns it has.

    Args:
    bare: see `TableSource`

    Raises: InputError; UsageError for a broken mapping, or one with a column that its table lacks.
    """
    found = [_table_source(source) or source for source in sources]
    tables = [
        source for source in found if isinstance(source, TableSource) and source.mapping is None
    ]
    if mapping is None or not tables:
        return [replace(x, has_bare_terms=bare) if isinstance(x, TableSource) else x for x in found]
    every = read_mapping(mapping)
    _check_terms(mapping, every)
    feeds = {id(table): _matching_source(table, mapping, every) for table in tables}
    others = _joined_tables(mapping, every)
    given = {name: table for table in tables if (name := feeds[id(table)]) is not None}
    for table in tables:
        name = feeds[id(table)]
        if name is not None and given[name] is not table and _is_join_parent(name, every):
            raise UsageError(
                f"{table.name} and {given[name].name} both are {name} of {mapping}, which it joins with",
                "Give one file for a logical source that others are joined with.",
            )
    made: dict[str, TableSource] = {**others, **given}
    result = []
    for source in found:
        name = feeds.get(id(source))
        if not isinstance(source, TableSource) or name is None:
            result.append(
                replace(source, has_bare_terms=bare) if isinstance(source, TableSource) else source
            )
            continue
        maps = tuple(m for m in every.values() if m.source.name == name)
        for triples_map in maps:
            _check_columns(source, triples_map, mapping)
            _check_joins(triples_map, every, made, mapping)
        noted = (
            ""
            if Path(name).name == Path(source.name).name
            else f"{source.name} was read as {name} of {mapping}"
        )
        taken = "; ".join(x for x in (source.version, noted) if x)
        result.append(
            replace(
                source,
                mapping=TableMapping(str(mapping), maps, every, made, frozenset(given)),
                version=taken,
            )
        )
    return result


def read_table_heads(names: Sequence[str], folder: Path) -> list[TableHead]:
    """Read the names and columns of tables, for a mapping that will be saved in ``folder``.

    Raises: InputError; UsageError for a file that is no table.
    """
    found = []
    for name in names:
        table = _table_source(name)
        if table is None:
            raise UsageError(
                f"{name} is no table",
                "Tables are CSV, TSV, JSON lines (.jsonl), Parquet and Delta.",
            )
        columns = table_columns(table)
        if columns is None:
            records = next(json_records(table, parse_record, Rejects(name)))[1]
            columns = list(
                dict.fromkeys(
                    key for record in records if isinstance(record, dict) for key in record
                )
            )
        if not columns:
            raise UsageError(f"{name} has no columns", "Give a table with at least one row.")
        found.append(
            TableHead(os.path.relpath(name, folder), columns, table.kind is TableKind.JSON_LINES)
        )
    return found


def _table_source(source: object) -> TableSource | None:
    """Return an input as a table; None if it is no table."""
    if isinstance(source, (str, os.PathLike)):
        name = os.fsdecode(os.fspath(source))
        if name.startswith(TABLE) or not (table_kind(name) or text_table_kind(name)):
            return None
    known = classify_input(source)
    return known if isinstance(known, TableSource) else None


def table_columns(table: TableSource) -> list[str] | None:
    """Return the column names of a table; None for JSON lines, whose records differ. Raises:
    InputError.
    """
    match table.kind:
        case TableKind.CSV | TableKind.TSV:
            return read_header(table)
        case TableKind.JSON_LINES:
            return None
        case TableKind.PARQUET:
            from shiq.rdf.tables import open_parquet

            names: list[str] = []
            for file in table_files(table, AllColumns())[0]:
                with open_parquet(file) as parquet:
                    names += (*parquet.schema_arrow.names, *file.values)
            return list(dict.fromkeys(names))
        case TableKind.DELTA:
            from shiq.rdf.tables import delta_table

            return [field.name for field in delta_table(Path(table.value)).schema().fields]
        case _:
            value = table.value
            if hasattr(value, "schema") and hasattr(value.schema, "names"):
                return [str(name) for name in value.schema.names]
            if hasattr(value, "columns") and not hasattr(value, "column_names"):
                return [str(name) for name in value.columns]
            import pyarrow as pa  # type: ignore[import-untyped]

            return list(pa.table(value).schema.names)


def _matching_source(
    table: TableSource, mapping: str | Path, every: Mapping[str, TriplesMap]
) -> str | None:
    """Find the name of the logical source that a table is; None for a table of triples.

    Raises: UsageError.
    """
    sources = {m.source.name: m.source for m in every.values() if m.source.form != "sql"}
    exact = [name for name, source in sources.items() if _matches_source(table, source)]
    if exact:
        return exact[0]
    base = [name for name in sources if Path(name).name == Path(table.name).name]
    if len(base) == 1:
        return base[0]
    columns = table_columns(table)
    if columns is not None and {*COLUMNS[:3]} <= {*columns}:
        return None
    if len(sources) == 1:
        return next(iter(sources))
    if columns is None:
        fits = [name for name, source in sources.items() if source.form == "json"]
    else:
        fits = [name for name in sources if _needed_columns(every, name) <= {*columns}]
    if len(fits) == 1:
        return fits[0]
    raise UsageError(
        f"{mapping} does not say which of its sources {table.name} is: {', '.join(sorted(sources))}",
        "Give the file the name that the mapping has for it, or name the file in the mapping.",
    )


def _matches_source(table: TableSource, source: LogicalSource) -> bool:
    """Decide whether a table is the file that a logical source names."""
    if table.name in (source.name, source.address):
        return True
    if isinstance(source.folder, str):
        return False
    return isinstance(table.value, Path) and table.value.absolute() == source.path.absolute()


def _needed_columns(every: Mapping[str, TriplesMap], name: str) -> set[str]:
    """Collect the columns of the logical source ``name`` that the mapping refers to."""
    return {
        str(path[0])
        for m in every.values()
        if m.source.name == name
        for path, _ in references_of(m)
    }


def _joins_of(triples_map: TriplesMap) -> Iterable[MappingJoin]:
    """Yield the joins of a triples map."""
    return (value for _, value in triples_map.predicate_objects if isinstance(value, MappingJoin))


def _is_join_parent(name: str, every: Mapping[str, TriplesMap]) -> bool:
    """Decide whether other triples maps join with the rows of the logical source ``name``."""
    parents = {join.parent for m in every.values() for join in _joins_of(m) if join.conditions}
    return any(every[parent].source.name == name for parent in parents if parent in every)


def _joined_tables(mapping: str | Path, every: Mapping[str, TriplesMap]) -> dict[str, TableSource]:
    """Find the tables that joins need, in the folder of the mapping; by name of the logical source."""
    found = {}
    for name, source in {m.source.name: m.source for m in every.values()}.items():
        if source.form == "sql" or not _is_join_parent(name, every):
            continue
        kind = table_kind(source.address) or text_table_kind(source.address)
        if kind is not None:
            found[name] = TableSource(source.address, kind, source.path)
    return found


# --- checks ---------------------------------------------------------------------------------------


def _check_terms(mapping: str | Path, every: Mapping[str, TriplesMap]) -> None:
    """Check the constants, classes, datatypes and language tags of a mapping. Raises: UsageError."""
    for m in every.values():
        values = (
            m.subject,
            *(
                value
                for pair in m.predicate_objects
                for value in pair
                if isinstance(value, TermMap)
            ),
        )
        for value in values:
            names = [
                x
                for x in (
                    value.datatype,
                    value.constant[1:-1] if value.constant.startswith("<") else "",
                )
                if x
            ]
            try:
                for iri in names:
                    ox.NamedNode(iri)
                if value.language:
                    ox.Literal("", language=value.language)
            except ValueError as error:
                raise UsageError(
                    f"{mapping}, line {value.line}: {error}", "Mend the mapping; no data was read."
                ) from None


def _check_columns(table: TableSource, triples_map: TriplesMap, mapping: str | Path) -> None:
    """Check that ``table`` has the columns that a triples map refers to. Raises: UsageError."""
    form = triples_map.source.form
    if (form == "json") != (table.kind is TableKind.JSON_LINES) and form != "json":
        raise UsageError(
            f"{mapping} reads {table.name} as CSV, but it is JSON lines",
            "Say so in the mapping: jsonpath.",
        )
    columns = table_columns(table)
    for path, line in references_of(triples_map):
        if columns is not None and path[0] not in columns:
            raise _missing_column_error(f"{mapping}, line {line}", table, path[0], columns)


def _missing_column_error(
    where: str, table: TableSource, column: Any, columns: Sequence[str]
) -> UsageError:
    """Error: a table lacks the column ``column``; names the nearest column."""
    from difflib import get_close_matches

    near = get_close_matches(str(column), columns, 1)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    has = ", ".join(columns[:20]) + (", …" if len(columns) > 20 else "")
    return UsageError(
        f"{where}: {table.name} has no column {str(column)!r}",
        f"{hint}It has {has}. No data was read.",
    )


def _check_joins(
    triples_map: TriplesMap,
    every: Mapping[str, TriplesMap],
    tables: Mapping[str, TableSource],
    mapping: str | Path,
) -> None:
    """Check that the joins of a triples map have a parent, conditions and columns. Raises:
    UsageError.
    """
    for join in _joins_of(triples_map):
        where = f"{mapping}, line {join.line}"
        parent = every.get(join.parent)
        if parent is None:
            raise UsageError(f"{where}: {join.parent} is no triples map of it", "Look at the name.")
        if parent.source.name != triples_map.source.name:
            if not join.conditions:
                raise UsageError(
                    f"{where}: {join.parent} is of another source, and no condition joins them",
                    "Give one.",
                )
            if parent.subject.kind == "BlankNode":
                raise UsageError(
                    f"{where}: the subjects of {join.parent} are blank nodes, which are nodes of their own source alone",
                    "Make IRIs of them: a template such as http://example.org/{id}.",
                )
        table = tables.get(parent.source.name)
        if not join.conditions:
            continue
        if table is None and not parent.source.path.is_file():
            raise UsageError(
                f"{where}: {parent.source.path} does not exist",
                "Give it as an input, or put it there.",
            )
        if table is not None:
            columns = table_columns(table)
            references = [
                parse_reference(reference, parent.source.form) for _, reference in join.conditions
            ]
            for path in (*references, *parent.subject.references):
                if columns is not None and path[0] not in columns:
                    raise _missing_column_error(where, table, path[0], columns)


def compile_mapping(
    path: str | Path, stream: str | None, *, lenient: bool = False
) -> tuple[MappingProgram, list[str]]:
    """Compile a mapping for a stream of records; its other sources are read at once.

    Args:
    stream: name of its logical source; None if the mapping has only one

    Returns: the program of the stream, and the N-Triples lines of all other sources.
    Raises: InputError, UsageError.
    """
    maps = read_mapping(path)
    names = sorted({m.source.name for m in maps.values()})
    if stream is None and len(names) > 1:
        raise UsageError(
            f"{path} has {len(names)} logical sources: {', '.join(names)}",
            "Say which is the stream: --stream NAME.",
        )
    name = names[0] if stream is None else stream
    if name not in names:
        raise UsageError(f"{path} has no logical source {name}", f"It has {', '.join(names)}.")
    lines: dict[str, None] = {}
    fed, still = (
        [m for m in maps.values() if (m.source.name == name) is here] for here in (True, False)
    )
    for triples_map in maps.values():
        for _, value in triples_map.predicate_objects:
            if isinstance(value, MappingJoin):
                _check_stream_join(path, triples_map, value, maps, name)
    if fed[0].source.form == "sql":
        raise InputError(f"{path}: a database is no stream", "JSON and CSV are.")
    for triples_map in still:
        # Rows without a value make no statement, as RML has it.
        # The rows are selected already.
        rows = replace(triples_map, source=replace(triples_map.source, iterator=()))
        program = MappingProgram([rows], maps, lenient=True)
        for row in read_source_rows(triples_map.source):
            lines.update((f"{s} {p} {o} .", None) for s, p, o in program.statements(row))
    return MappingProgram(fed, maps, lenient), [*lines]


def _check_stream_join(
    path: str | Path,
    child: TriplesMap,
    join: MappingJoin,
    maps: Mapping[str, TriplesMap],
    stream: str,
) -> None:
    """Check that a join of ``child`` names a triples map, and never joins with the stream itself.
    Raises: InputError.
    """
    parent = maps.get(join.parent)
    if parent is None:
        raise InputError(
            f"{path}: {child.name} refers to {join.parent}, which is no triples map",
            "Look at the name.",
        )
    if join.conditions and parent.source.name == stream:
        raise InputError(
            f"{path}: {child.name} joins with the stream, which is not supported",
            "Join from the stream.",
        )
    if not join.conditions and parent.source != child.source:
        raise InputError(
            f"{path}: {child.name} refers to {join.parent} of another source without a condition",
            "Give one.",
        )
