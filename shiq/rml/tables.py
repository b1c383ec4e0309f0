"""Read tables by a mapping: blocks of rows become triples, each with its row number and columns.

Terms are made column by column, and repeated values are looked up. `MappingProgram` makes the same
triples row by row; tests compare the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, product
from typing import Any, Final, TypeAlias

import pyoxigraph as ox

from shiq import model as owl
from shiq.answers.verdict import Leftover
from shiq.datatypes import DataTheory
from shiq.inputs.sources import TableKind, TableSource
from shiq.rdf.tables import table_files, table_rows
from shiq.rdf.terms import UnreadableValue
from shiq.rdf.text_tables import json_records
from shiq.rdf.triples import Rejects, Triples
from shiq.rdf.vocabulary import TYPE
from shiq.rml.model import MappingJoin, ReferencePath, TermMap, TriplesMap, parse_reference
from shiq.rml.program import (
    MissingValueError,
    lexical_form,
    make_term,
    natural_datatype,
    parse_record,
    path_text,
    read_source_rows,
    values_at,
)

#: Values of a column whose terms are remembered.
_REMEMBERED: Final = 1 << 17
#: A value: its text, and the datatype that it has by itself; or None, and why it is none.
Cell: TypeAlias = tuple[str | None, str]
#: The terms that a term map makes of a row, by id.
Ids: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class TableMapping:
    """The mapping of one input table: the triples maps that read it, and the tables that they join.

    file: of the mapping
    maps: triples maps that the table feeds
    all_maps: all triples maps by name
    tables: table of each logical source
    inputs: logical sources that are inputs of their own
    """

    file: str
    maps: tuple[TriplesMap, ...]
    all_maps: Mapping[str, TriplesMap]
    tables: Mapping[str, TableSource]
    inputs: frozenset[str] = frozenset()

    @property
    def is_without_joins(self) -> bool:
        """Whether no triples map joins with another table by a condition."""
        return not any(
            isinstance(value, MappingJoin) and value.conditions
            for m in self.maps
            for _, value in m.predicate_objects
        )

    def drop_tables(self) -> TableMapping:
        """Return this mapping without the tables for joins, so that it can be sent to other
        processes.
        """
        return replace(self, tables={})


@dataclass(frozen=True)
class RowBlock:
    """A block of rows of a table: columns by name or, for JSON lines, records.

    lines: line of each row
    """

    lines: Sequence[int]
    columns: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    records: Sequence[Any] | None = None

    def expand_records(self, iterator: ReferencePath, rejects: Rejects) -> RowBlock:
        """Expand each JSON record to the rows that ``iterator`` selects. Records without such parts
        are recorded in ``rejects``.
        """
        if self.records is None:
            return self
        steps = iterator[1:] if iterator[:1] == (None,) else iterator
        lines, rows = list[int](), list[Any]()
        for line, record in zip(self.lines, self.records):
            for row in _values_or_placeholders(record, steps):
                if isinstance(row, UnreadableValue):
                    rejects.add(f"no rows at {path_text(iterator)}: {row.reason}", line)
                else:
                    lines.append(line)
                    rows.append(row)
        return RowBlock(lines, records=rows)

    def text_column(self, paths: Sequence[ReferencePath]) -> Sequence[str | None] | None:
        """Return the column that ``paths`` refer to, if it is a single column of texts; else None."""
        if self.records is not None or len(paths) != 1 or len(paths[0]) != 1:
            return None
        column = self.columns[str(paths[0][0])]
        return column if {*map(type, column)} <= {str, type(None)} else None

    def values_at(self, path: ReferencePath) -> list[tuple[Cell, ...]]:
        """Return the values of each row at ``path``, as (text, datatype); an empty value gives
        none.
        """
        if self.records is not None:
            return [
                tuple(
                    _text_of_value(v, path) for v in _values_or_placeholders(row, path) if v != ""
                )
                for row in self.records
            ]
        if len(path) == 1:
            found = self.columns[str(path[0])]
            return [
                ()
                if v is None or v == ""
                else ((v, ""),)
                if type(v) is str
                else (_text_of_value(v, path),)
                for v in found
            ]
        nested = self.columns[str(path[0])]
        return [
            tuple(
                _text_of_value(v, path) for v in _values_or_placeholders(value, path[1:]) if v != ""
            )
            for value in nested
        ]


def _values_or_placeholders(record: Any, path: ReferencePath) -> list[Any]:
    """Return the values at ``path`` as `values_at` does, with a placeholder where a value has no
    such part.
    """
    if len(path) == 1 and isinstance(record, dict) and isinstance(path[0], str):
        return [] if (value := record.get(path[0])) is None else [value]
    found = [] if record is None else [record]
    for at, step in enumerate(path):
        kinds = (
            (dict, list, UnreadableValue)
            if step is None
            else (list, UnreadableValue)
            if isinstance(step, int)
            else (dict, UnreadableValue)
        )
        what = "array or object" if step is None else "array" if isinstance(step, int) else "object"
        misfits = (
            []
            if all(isinstance(v, kinds) for v in found)
            else [UnreadableValue(f"{path_text(path[:at])} is no {what}")]
        )
        found = [
            x
            for value in found
            for x in (
                [value]
                if isinstance(value, UnreadableValue)
                else values_at(value, (step,))
                if isinstance(value, kinds)
                else misfits
            )
        ]
    return found


def _text_of_value(value: Any, path: ReferencePath) -> Cell:
    """Return text and datatype of a value; None and the reason if it has no text."""
    if isinstance(value, UnreadableValue):
        return None, value.reason
    try:
        return lexical_form(value, path), natural_datatype(value)
    except MissingValueError as error:
        return None, str(error)


def row_blocks(source: TableSource, wanted: Sequence[str], rejects: Rejects) -> Iterator[RowBlock]:
    """Read a table in blocks of rows, with the columns ``wanted``. Raises: InputError."""
    if source.kind is TableKind.JSON_LINES:
        yield from (
            RowBlock(lines, records=found)
            for lines, found in json_records(source, parse_record, rejects)
        )
        return
    for lines, columns in table_rows(source, table_files(source, wanted)[0], wanted, rejects):
        yield RowBlock(lines, dict(zip(wanted, columns)))


def referenced_columns(maps: Sequence[TriplesMap]) -> list[str]:
    """List the columns that the triples maps of one table refer to."""
    return list(dict.fromkeys(str(path[0]) for m in maps for path, _ in references_of(m)))


def references_of(triples_map: TriplesMap) -> Iterator[tuple[ReferencePath, int]]:
    """Yield the references (paths) of a triples map, each with its line in the mapping. Of a join:
    those of the child.
    """
    for value in (triples_map.subject, *chain.from_iterable(triples_map.predicate_objects)):
        paths = (
            value.references
            if isinstance(value, TermMap)
            else (child for child, _ in value.conditions)
        )
        yield from ((path, value.line) for path in paths)


def read_mapped(
    source: TableSource,
    triples: Triples,
    scope: str,
    rejects: Rejects,
    progress: Callable[[str, int], None] | None = None,
) -> tuple[Leftover, ...]:
    """Read a table into ``triples`` by its mapping. Malformed rows and values are recorded in
    ``rejects``.

    Returns: the other leftovers. Raises: InputError.
    """
    assert source.mapping is not None
    begun, reader = (
        len(triples),
        _MappedTableReader(source, source.mapping, triples, scope, rejects),
    )
    for block in row_blocks(source, referenced_columns(source.mapping.maps), rejects):
        reader.add_block(block)
        if progress is not None:
            progress(source.name, len(triples) - begun)
    triples.begin_columns("")
    return (*table_files(source)[1], *reader.leftovers())


def read_blocks(
    name: str,
    mapping: TableMapping,
    blocks: Iterable[RowBlock],
    triples: Triples,
    scope: str,
    rejects: Rejects,
) -> None:
    """Read blocks of rows of the table ``name`` into ``triples``, by a mapping without joins."""
    reader = _MappedTableReader(
        TableSource(name, TableKind.ARROW, None), mapping, triples, scope, rejects
    )
    for block in blocks:
        reader.add_block(block)
    triples.begin_columns("")


class _MappedTableReader:
    """Converter of the rows of one table to triples, by its mapping."""

    def __init__(
        self,
        source: TableSource,
        mapping: TableMapping,
        triples: Triples,
        scope: str,
        rejects: Rejects,
    ) -> None:
        self.source, self.mapping, self.triples, self.scope, self.rejects = (
            source,
            mapping,
            triples,
            scope,
            rejects,
        )
        self._side_rejects: list[Rejects] = []  # of tables that are read for joins alone
        self._ids_by_cells: dict[TermMap, dict[tuple[tuple[Cell, ...], ...], Ids]] = {}
        self._problems: dict[TermMap, dict[tuple[tuple[Cell, ...], ...], str]] = {}
        self._ids_by_text: dict[TermMap, tuple[dict[str | None, Ids], dict[str | None, str]]] = {}
        self._partners: dict[MappingJoin, dict[tuple[str, ...], Ids]] = {}
        self._unmatched_joins: dict[MappingJoin, tuple[int, int]] = {}
        self._records = 0
        self._paths_with_values: set[ReferencePath] = set()
        self._type = triples.id_of(TYPE)

    @cached_property
    def _is_ill_typed(self) -> Callable[[owl.Literal], bool]:
        """Test for ill-typed literals."""
        return DataTheory().is_ill_typed

    def add_block(self, block: RowBlock) -> None:
        """Add the triples of a block of rows."""
        self._records += len(block.lines)
        for triples_map in self.mapping.maps:
            rows = block.expand_records(triples_map.source.iterator, self.rejects)
            if block.records is not None:
                self._note_paths_with_values(triples_map, rows)
            subjects = self._term_ids(triples_map.subject, rows, self.rejects)
            own = _columns_text(triples_map.subject)
            for iri in triples_map.classes:
                every = [(self.triples.id_of(iri),)] * len(subjects)
                self._add_triples(rows.lines, subjects, [(self._type,)] * len(subjects), every, own)
            for predicate, value in triples_map.predicate_objects:
                names = self._term_ids(predicate, rows, self.rejects)
                self._add_triples(
                    rows.lines,
                    subjects,
                    names,
                    self._object_ids(value, rows, subjects),
                    _columns_text(value) or own,
                )

    def _add_triples(
        self,
        lines: Sequence[int],
        subjects: Sequence[Ids],
        names: Sequence[Ids],
        values: Sequence[Ids],
        columns: str,
    ) -> None:
        """Add the triples of rows, given the term ids of subjects, predicates and objects of each
        row.
        """
        made = self.triples
        made.begin_columns(columns)
        if all(max(map(len, ids), default=0) <= 1 for ids in (subjects, names, values)):
            rows = [row for row, ids in enumerate(zip(subjects, names, values)) if all(ids)]
            for column, some in (
                (made.subject, subjects),
                (made.predicate, names),
                (made.object, values),
            ):
                column.extend([some[row][0] for row in rows])
            made.line.extend([lines[row] for row in rows])
            return
        for line, *ids in zip(lines, subjects, names, values):
            for s, p, o in product(*ids):
                made.add_ids(s, p, o, line)

    # --- terms ------------------------------------------------------------------------------------

    def _term_ids(self, terms: TermMap, rows: RowBlock, rejects: Rejects) -> list[Ids]:
        """Return the ids of the terms that a term map makes for each row. Values without a term are
        recorded in ``rejects``.
        """
        if terms.constant:
            return [(self._constant_id(terms.constant),)] * len(rows.lines)
        known, wrong = (
            self._ids_by_cells.setdefault(terms, {}),
            self._problems.setdefault(terms, {}),
        )
        if len(known) > _REMEMBERED:
            known.clear()
            wrong.clear()
        column = rows.text_column(terms.references)
        if column is not None:
            return self._term_ids_of_texts(terms, column, rows, rejects)
        found = []
        columns = [rows.values_at(path) for path in terms.references]
        for row, cells in enumerate(zip(*columns) if columns else [()] * len(rows.lines)):
            ids = known.get(cells)
            if ids is None:
                ids = known[cells] = self._make_terms(terms, cells, wrong)
            if wrong and cells in wrong:
                texts = ", ".join(str(text) for values in cells for text, _ in values)
                rejects.add(
                    f"column {_columns_text(terms)}: {wrong[cells]}", rows.lines[row], texts
                )
            found.append(ids)
        return found

    def _term_ids_of_texts(
        self, terms: TermMap, column: Sequence[str | None], rows: RowBlock, rejects: Rejects
    ) -> list[Ids]:
        """Return the ids of the terms that a term map makes for each text of a column; each
        distinct text is converted once.
        """
        known, wrong = self._ids_by_text.setdefault(terms, ({}, {}))
        if len(known) > _REMEMBERED:
            known.clear()
            wrong.clear()
        for text in dict.fromkeys(column):
            if text in known:
                continue
            problems: dict[tuple[tuple[Cell, ...], ...], str] = {}
            known[text] = self._make_terms(terms, (((text, ""),),), problems) if text else ()
            if problems:
                wrong[text] = next(iter(problems.values()))
        for row, text in enumerate(column) if wrong else ():
            if text in wrong:
                rejects.add(
                    f"column {_columns_text(terms)}: {wrong[text]}", rows.lines[row], str(text)
                )
        return list(map(known.__getitem__, column))

    def _make_terms(
        self,
        terms: TermMap,
        cells: tuple[tuple[Cell, ...], ...],
        wrong: dict[tuple[tuple[Cell, ...], ...], str],
    ) -> Ids:
        """Make the terms of one row from its cells; a reason why there is none is stored in
        ``wrong``.
        """
        by_itself = (
            terms.has_natural_datatype
            and len(cells) == 1
            and not terms.datatype
            and not terms.language
        )
        found = []
        for values in product(*cells):
            try:
                texts = [_rdf_text(cell) for cell in values]
                found.append(
                    self._checked_id(make_term(terms, texts, values[0][1] if by_itself else ""))
                )
            except ValueError as error:
                wrong[cells] = str(error)
        return tuple(found)

    def _checked_id(self, value: str | owl.Literal) -> int:
        """Return the id of a term. Raises: ValueError for a term that data may not contain."""
        if isinstance(value, owl.Literal):
            if (
                value.datatype != owl.XSD + "string"
                and not value.language
                and self._is_ill_typed(value)
            ):
                raise ValueError(
                    f"{value.lexical!r} is no value of {value.datatype.replace(owl.XSD, 'xsd:')}"
                )
            return self.triples.id_of(value)
        if value.startswith("_:"):
            return self.triples.id_of(f"_:{self.scope}.{value[2:]}")
        if value not in self.triples.ids:
            try:
                ox.NamedNode(value)
            except ValueError as error:
                raise ValueError(f"{value!r} is no absolute IRI ({error})") from None
        return self.triples.id_of(value)

    def _constant_id(self, token: str) -> int:
        """Return the id of a constant, given as N-Triples token."""
        if token.startswith("<"):
            return self.triples.id_of(token[1:-1])
        value = next(
            iter(ox.parse(f"<urn:s> <urn:p> {token} .".encode(), format=ox.RdfFormat.N_TRIPLES))
        ).object
        return self.triples.id_of(
            owl.Literal(value.value, value.datatype.value, value.language or "")
        )

    # --- joins ------------------------------------------------------------------------------------

    def _object_ids(
        self, value: TermMap | MappingJoin, rows: RowBlock, subjects: Sequence[Ids]
    ) -> list[Ids]:
        """Return the ids of the objects of each row, by a term map or a join."""
        if isinstance(value, TermMap):
            return self._term_ids(value, rows, self.rejects)
        if not value.conditions:
            # Values that make no subject are told where the parent itself is read.
            return self._term_ids(
                self.mapping.all_maps[value.parent].subject, rows, Rejects(self.source.name)
            )
        partners = self._subjects_by_key(value)
        keys = [rows.values_at(child) for child, _ in value.conditions]
        found: list[Ids] = []
        for row, cells in enumerate(zip(*keys)):
            wanted = self._join_keys(cells, _columns_text(value), rows.lines[row], self.rejects)
            found.append(
                tuple(dict.fromkeys(chain.from_iterable(partners.get(key, ()) for key in wanted)))
            )
            if wanted and not found[-1] and subjects[row]:
                first, count = self._unmatched_joins.get(value, (rows.lines[row], 0))
                self._unmatched_joins[value] = first, count + 1
        return found

    @staticmethod
    def _join_keys(
        cells: Sequence[tuple[Cell, ...]], columns: str, line: int, rejects: Rejects
    ) -> list[tuple[str, ...]]:
        """Return the join keys of a row: each combination of the values in its join columns."""
        for why in dict.fromkeys(why for values in cells for text, why in values if text is None):
            rejects.add(f"column {columns}: no row is joined by it: {why}", line)
        return list(
            product(*([text for text, _ in values if text is not None] for values in cells))
        )

    def _subjects_by_key(self, join: MappingJoin) -> Mapping[tuple[str, ...], Ids]:
        """Map the values of a join's columns to the subjects (term ids) of the parent's rows."""
        if join not in self._partners:
            parent = self.mapping.all_maps[join.parent]
            table = self.mapping.tables.get(parent.source.name)
            name = table.name if table else str(parent.source.path)
            rejects = Rejects(name)
            # Of an input they are told where it is read.
            if parent.source.name not in self.mapping.inputs:
                self._side_rejects.append(rejects)
            paths = [
                parse_reference(reference, parent.source.form) for _, reference in join.conditions
            ]
            wanted = list(
                dict.fromkeys(str(path[0]) for path in (*parent.subject.references, *paths))
            )
            blocks = (
                row_blocks(table, wanted, rejects) if table else _database_block(parent, wanted)
            )
            found: dict[tuple[str, ...], Ids] = {}
            # Where an input is read by itself, nobody looks at these.
            wrong, columns = Rejects(name), ", ".join(map(_path_label, paths))
            self._side_rejects.append(wrong)
            for block in blocks:
                rows = block.expand_records(parent.source.iterator, rejects)
                ids = self._term_ids(parent.subject, rows, rejects)
                for line, ids_of_row, cells in zip(
                    rows.lines, ids, zip(*map(rows.values_at, paths))
                ):
                    for key in self._join_keys(cells, columns, line, wrong) if ids_of_row else ():
                        found[key] = (*found.get(key, ()), *ids_of_row)
            self._partners[join] = found
        return self._partners[join]

    # --- what is told at the end ------------------------------------------------------------------

    def _note_paths_with_values(self, triples_map: TriplesMap, rows: RowBlock) -> None:
        """Record which paths of a triples map have a value in some row."""
        unseen = {path for path, _ in references_of(triples_map)} - self._paths_with_values
        self._paths_with_values |= {path for path in unseen if any(rows.values_at(path))}

    def leftovers(self) -> Iterator[Leftover]:
        """Report rows that are well-formed but give no triple: join keys without a match, and JSON
        paths that no record has.
        """
        name = self.source.name
        yield from chain.from_iterable(rejects.leftovers() for rejects in self._side_rejects)
        for join, (line, count) in self._unmatched_joins.items():
            keys = ", ".join(
                f"{_path_label(child)} = {parent}" for child, parent in join.conditions
            )
            table = self.mapping.all_maps[join.parent].source.name
            message = f"a row without a partner in {table} ({keys}): no triple of the join"
            yield Leftover("no-partner", message, name, line, count=count)
        if self.source.kind is TableKind.JSON_LINES and self._records:
            lines = {
                path: line
                for m in self.mapping.maps
                for path, line in references_of(m)
                if path not in self._paths_with_values
            }
            for path, line in lines.items():
                message = f"no record has a value at {path_text(path)}, to which {self.mapping.file}, line {line}, refers"
                yield Leftover("no-value", message, name)


def _rdf_text(cell: Cell) -> str:
    """Return the text of a cell. Raises: ValueError for a value that RDF cannot express."""
    text, why = cell
    if text is None:
        raise ValueError(why)
    if not text.isascii():
        text.encode()
    return text


def _database_block(parent: TriplesMap, wanted: Sequence[str]) -> Iterator[RowBlock]:
    """Read the rows of a join parent's database query as one block."""
    rows = list(read_source_rows(parent.source))
    yield RowBlock(
        range(1, len(rows) + 1), {name: [row.get(name) for row in rows] for name in wanted}
    )


def _columns_text(value: TermMap | MappingJoin) -> str:
    """List the columns that a term map or join reads, as text."""
    paths = (
        value.references
        if isinstance(value, TermMap)
        else tuple(child for child, _ in value.conditions)
    )
    return ", ".join(dict.fromkeys(map(_path_label, paths)))


def _path_label(path: ReferencePath) -> str:
    """Return the name of a path for messages; a column is called by its name."""
    return str(path[0]) if len(path) == 1 else path_text(path)
