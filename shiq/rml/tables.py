"""Tables read by a mapping: the rows of a source become triples, some rows at a time, each with
its row and column.

The terms of a column are made at once, a value that was met before by a look-up. What follows
the rows alone (`MappingProgram`) says the same one by one, and is compared with this in the
tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, product
from typing import Any, Final, TypeAlias

import pyoxigraph as ox

from shiq import model as owl
from shiq.datatypes import DataTheory
from shiq.rdf.table_terms import Misfit
from shiq.rdf.tables import table_files, table_rows
from shiq.rdf.text_tables import json_records
from shiq.rdf.triples import Rejects, Triples
from shiq.rdf.vocabulary import TYPE
from shiq.rml.compiled import (
    MissingValueError,
    natural,
    parse_record,
    rows_of,
    shown,
    text_of,
    value_of,
    values_at,
)
from shiq.rml.model import MappingJoin, Path_, TermMap, TriplesMap
from shiq.rml.reader import path_of
from shiq.sources import TableKind, TableSource
from shiq.verdict import Leftover

#: Values of a column whose terms are remembered.
_REMEMBERED: Final = 1 << 17
#: A value: its text, and the datatype that it has by itself; or None, and why it is none.
Cell: TypeAlias = tuple[str | None, str]
#: The terms that a term map makes of a row, by id.
Ids: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class TableMapping:
    """What a mapping makes of a table. ``file``: of the mapping; ``maps``: those that the table
    feeds; ``every``: all triples maps by name; ``tables``: what stands for each logical source;
    ``inputs``: those of them that are read by themselves.
    """

    file: str
    maps: tuple[TriplesMap, ...]
    every: Mapping[str, TriplesMap]
    tables: Mapping[str, TableSource]
    inputs: frozenset[str] = frozenset()

    @property
    def is_without_joins(self) -> bool:
        """Whether no row is joined with rows of a table."""
        return not any(
            isinstance(value, MappingJoin) and value.conditions
            for m in self.maps
            for _, value in m.said
        )

    def without_tables(self) -> TableMapping:
        """The same, of a mapping without joins, without the tables that stand for sources."""
        return replace(self, tables={})


@dataclass(frozen=True)
class RowBlock:
    """Some rows of a table: the line of each, and its columns by name, or of JSON lines its
    records.
    """

    lines: Sequence[int]
    columns: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    records: Sequence[Any] | None = None

    def along(self, iterator: Path_, rejects: Rejects) -> RowBlock:
        """The rows that ``iterator`` goes over in each record; where it goes into a value that
        has no parts, ``rejects``.
        """
        if self.records is None:
            return self
        steps = iterator[1:] if iterator[:1] == (None,) else iterator
        lines, rows = list[int](), list[Any]()
        for line, record in zip(self.lines, self.records):
            for row in _values_at(record, steps):
                if isinstance(row, Misfit):
                    rejects.add(f"no rows at {shown(iterator)}: {row.why}", line)
                else:
                    lines.append(line)
                    rows.append(row)
        return RowBlock(lines, records=rows)

    def texts(self, paths: Sequence[Path_]) -> Sequence[str | None] | None:
        """The one column of ``paths`` where it has texts alone; else None."""
        if self.records is not None or len(paths) != 1 or len(paths[0]) != 1:
            return None
        column = self.columns[str(paths[0][0])]
        return column if {*map(type, column)} <= {str, type(None)} else None

    def cells(self, path: Path_) -> list[tuple[Cell, ...]]:
        """The values of each row at ``path``; none for a value that is empty."""
        if self.records is not None:
            return [
                tuple(_cell(v, path) for v in _values_at(row, path) if v != "")
                for row in self.records
            ]
        if len(path) == 1:
            found = self.columns[str(path[0])]
            return [
                () if v is None or v == "" else ((v, ""),) if type(v) is str else (_cell(v, path),)
                for v in found
            ]
        nested = self.columns[str(path[0])]
        return [
            tuple(_cell(v, path) for v in _values_at(value, path[1:]) if v != "")
            for value in nested
        ]


def _values_at(record: Any, path: Path_) -> list[Any]:
    """The values at ``path``, as `values_at` has them, and a misfit for each value that has no
    parts of the kind that is next.
    """
    if len(path) == 1 and isinstance(record, dict) and isinstance(path[0], str):
        return [] if (value := record.get(path[0])) is None else [value]
    found = [] if record is None else [record]
    for at, step in enumerate(path):
        kinds = (
            (dict, list, Misfit)
            if step is None
            else (list, Misfit)
            if isinstance(step, int)
            else (dict, Misfit)
        )
        what = "array or object" if step is None else "array" if isinstance(step, int) else "object"
        misfits = (
            []
            if all(isinstance(v, kinds) for v in found)
            else [Misfit(f"{shown(path[:at])} is no {what}")]
        )
        found = [
            x
            for value in found
            for x in (
                [value]
                if isinstance(value, Misfit)
                else values_at(value, (step,))
                if isinstance(value, kinds)
                else misfits
            )
        ]
    return found


def _cell(value: Any, path: Path_) -> Cell:
    if isinstance(value, Misfit):
        return None, value.why
    try:
        return text_of(value, path), natural(value)
    except MissingValueError as error:
        return None, str(error)


def row_blocks(source: TableSource, wanted: Sequence[str], rejects: Rejects) -> Iterator[RowBlock]:
    """The rows of a table, with the columns ``wanted``. Raises: InputError."""
    if source.kind is TableKind.JSON_LINES:
        yield from (
            RowBlock(lines, records=found)
            for lines, found in json_records(source, parse_record, rejects)
        )
        return
    for lines, columns in table_rows(source, table_files(source, wanted)[0], wanted, rejects):
        yield RowBlock(lines, dict(zip(wanted, columns)))


def columns_wanted(maps: Sequence[TriplesMap]) -> list[str]:
    """The columns that triples maps of one table refer to."""
    return list(dict.fromkeys(str(path[0]) for m in maps for path, _ in references_of(m)))


def references_of(triples_map: TriplesMap) -> Iterator[tuple[Path_, int]]:
    """What a triples map refers to, and at which line of the mapping; in joins, of the child."""
    for value in (triples_map.subject, *chain.from_iterable(triples_map.said)):
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
    """Reads a table into ``triples`` by its mapping; rows and values that are malformed become
    ``rejects``. Gives the other leftovers. Raises: InputError.
    """
    assert source.mapping is not None
    begun, reader = len(triples), _MappedReader(source, source.mapping, triples, scope, rejects)
    for block in row_blocks(source, columns_wanted(source.mapping.maps), rejects):
        reader.read(block)
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
    """Reads some rows of the table ``name`` into ``triples`` by a mapping without joins."""
    reader = _MappedReader(
        TableSource(name, TableKind.ARROW, None), mapping, triples, scope, rejects
    )
    for block in blocks:
        reader.read(block)
    triples.begin_columns("")


class _MappedReader:
    """Makes the triples of one table."""

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
        self._others: list[Rejects] = []  # of tables that are read for joins alone
        self._known: dict[TermMap, dict[tuple[tuple[Cell, ...], ...], Ids]] = {}
        self._wrong: dict[TermMap, dict[tuple[tuple[Cell, ...], ...], str]] = {}
        self._of_texts: dict[TermMap, tuple[dict[str | None, Ids], dict[str | None, str]]] = {}
        self._partners: dict[MappingJoin, dict[tuple[str, ...], Ids]] = {}
        self._alone: dict[MappingJoin, tuple[int, int]] = {}
        self._records = 0
        self._seen: set[Path_] = set()
        self._type = triples.id(TYPE)

    @cached_property
    def _is_ill_typed(self) -> Callable[[owl.Literal], bool]:
        return DataTheory().is_ill_typed

    def read(self, block: RowBlock) -> None:
        """Reads some rows."""
        self._records += len(block.lines)
        for triples_map in self.mapping.maps:
            rows = block.along(triples_map.source.iterator, self.rejects)
            if block.records is not None:
                self._note_values(triples_map, rows)
            subjects = self._terms(triples_map.subject, rows, self.rejects)
            own = _columns_of(triples_map.subject)
            for iri in triples_map.classes:
                every = [(self.triples.id(iri),)] * len(subjects)
                self._add(rows.lines, subjects, [(self._type,)] * len(subjects), every, own)
            for predicate, value in triples_map.said:
                names = self._terms(predicate, rows, self.rejects)
                self._add(
                    rows.lines,
                    subjects,
                    names,
                    self._objects(value, rows, subjects),
                    _columns_of(value) or own,
                )

    def _add(
        self,
        lines: Sequence[int],
        subjects: Sequence[Ids],
        names: Sequence[Ids],
        values: Sequence[Ids],
        columns: str,
    ) -> None:
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

    def _terms(self, terms: TermMap, rows: RowBlock, rejects: Rejects) -> list[Ids]:
        """What ``terms`` make of each row; values of which they make nothing become ``rejects``."""
        if terms.constant:
            return [(self._constant(terms.constant),)] * len(rows.lines)
        known, wrong = self._known.setdefault(terms, {}), self._wrong.setdefault(terms, {})
        if len(known) > _REMEMBERED:
            known.clear()
            wrong.clear()
        column = rows.texts(terms.references)
        if column is not None:
            return self._terms_of_texts(terms, column, rows, rejects)
        found = []
        columns = [rows.cells(path) for path in terms.references]
        for row, cells in enumerate(zip(*columns) if columns else [()] * len(rows.lines)):
            ids = known.get(cells)
            if ids is None:
                ids = known[cells] = self._make(terms, cells, wrong)
            if wrong and cells in wrong:
                texts = ", ".join(str(text) for values in cells for text, _ in values)
                rejects.add(f"column {_columns_of(terms)}: {wrong[cells]}", rows.lines[row], texts)
            found.append(ids)
        return found

    def _terms_of_texts(
        self, terms: TermMap, column: Sequence[str | None], rows: RowBlock, rejects: Rejects
    ) -> list[Ids]:
        """What ``terms`` make of one column of texts: each text once."""
        known, wrong = self._of_texts.setdefault(terms, ({}, {}))
        if len(known) > _REMEMBERED:
            known.clear()
            wrong.clear()
        for text in dict.fromkeys(column):
            if text in known:
                continue
            problems: dict[tuple[tuple[Cell, ...], ...], str] = {}
            known[text] = self._make(terms, (((text, ""),),), problems) if text else ()
            if problems:
                wrong[text] = next(iter(problems.values()))
        for row, text in enumerate(column) if wrong else ():
            if text in wrong:
                rejects.add(
                    f"column {_columns_of(terms)}: {wrong[text]}", rows.lines[row], str(text)
                )
        return list(map(known.__getitem__, column))

    def _make(
        self,
        terms: TermMap,
        cells: tuple[tuple[Cell, ...], ...],
        wrong: dict[tuple[tuple[Cell, ...], ...], str],
    ) -> Ids:
        by_itself = (
            terms.is_natural and len(cells) == 1 and not terms.datatype and not terms.language
        )
        found = []
        for values in product(*cells):
            try:
                texts = [_text(cell) for cell in values]
                found.append(self._id(value_of(terms, texts, values[0][1] if by_itself else "")))
            except ValueError as error:
                wrong[cells] = str(error)
        return tuple(found)

    def _id(self, value: str | owl.Literal) -> int:
        """Raises: ValueError for what no data may hold."""
        if isinstance(value, owl.Literal):
            if (
                value.datatype != owl.XSD + "string"
                and not value.language
                and self._is_ill_typed(value)
            ):
                raise ValueError(
                    f"{value.lexical!r} is no value of {value.datatype.replace(owl.XSD, 'xsd:')}"
                )
            return self.triples.id(value)
        if value.startswith("_:"):
            return self.triples.id(f"_:{self.scope}.{value[2:]}")
        if value not in self.triples.ids:
            try:
                ox.NamedNode(value)
            except ValueError as error:
                raise ValueError(f"{value!r} is no absolute IRI ({error})") from None
        return self.triples.id(value)

    def _constant(self, token: str) -> int:
        if token.startswith("<"):
            return self.triples.id(token[1:-1])
        value = next(
            iter(ox.parse(f"<urn:s> <urn:p> {token} .".encode(), format=ox.RdfFormat.N_TRIPLES))
        ).object
        return self.triples.id(owl.Literal(value.value, value.datatype.value, value.language or ""))

    # --- joins ------------------------------------------------------------------------------------

    def _objects(
        self, value: TermMap | MappingJoin, rows: RowBlock, subjects: Sequence[Ids]
    ) -> list[Ids]:
        if isinstance(value, TermMap):
            return self._terms(value, rows, self.rejects)
        if not value.conditions:
            # Values that make no subject are told where the parent itself is read.
            return self._terms(
                self.mapping.every[value.parent].subject, rows, Rejects(self.source.name)
            )
        partners = self._partners_by(value)
        keys = [rows.cells(child) for child, _ in value.conditions]
        found: list[Ids] = []
        for row, cells in enumerate(zip(*keys)):
            wanted = self._keys(cells, _columns_of(value), rows.lines[row], self.rejects)
            found.append(
                tuple(dict.fromkeys(chain.from_iterable(partners.get(key, ()) for key in wanted)))
            )
            if wanted and not found[-1] and subjects[row]:
                first, count = self._alone.get(value, (rows.lines[row], 0))
                self._alone[value] = first, count + 1
        return found

    @staticmethod
    def _keys(
        cells: Sequence[tuple[Cell, ...]], columns: str, line: int, rejects: Rejects
    ) -> list[tuple[str, ...]]:
        """The texts of each choice of values that a row is joined by; a value that is no text
        joins nothing.
        """
        for why in dict.fromkeys(why for values in cells for text, why in values if text is None):
            rejects.add(f"column {columns}: no row is joined by it: {why}", line)
        return list(
            product(*([text for text, _ in values if text is not None] for values in cells))
        )

    def _partners_by(self, join: MappingJoin) -> Mapping[tuple[str, ...], Ids]:
        """The subjects of the parent by the values that it is joined by."""
        if join not in self._partners:
            parent = self.mapping.every[join.parent]
            table = self.mapping.tables.get(parent.source.name)
            name = table.name if table else str(parent.source.path)
            rejects = Rejects(name)
            # Of an input they are told where it is read.
            if parent.source.name not in self.mapping.inputs:
                self._others.append(rejects)
            paths = [path_of(reference, parent.source.form) for _, reference in join.conditions]
            wanted = list(
                dict.fromkeys(str(path[0]) for path in (*parent.subject.references, *paths))
            )
            blocks = row_blocks(table, wanted, rejects) if table else _database(parent, wanted)
            found: dict[tuple[str, ...], Ids] = {}
            # Where an input is read by itself, nobody looks at these.
            wrong, columns = Rejects(name), ", ".join(map(_label, paths))
            self._others.append(wrong)
            for block in blocks:
                rows = block.along(parent.source.iterator, rejects)
                ids = self._terms(parent.subject, rows, rejects)
                for line, ids_of_row, cells in zip(rows.lines, ids, zip(*map(rows.cells, paths))):
                    for key in self._keys(cells, columns, line, wrong) if ids_of_row else ():
                        found[key] = (*found.get(key, ()), *ids_of_row)
            self._partners[join] = found
        return self._partners[join]

    # --- what is told at the end ------------------------------------------------------------------

    def _note_values(self, triples_map: TriplesMap, rows: RowBlock) -> None:
        unseen = {path for path, _ in references_of(triples_map)} - self._seen
        self._seen |= {path for path in unseen if any(rows.cells(path))}

    def leftovers(self) -> Iterator[Leftover]:
        """What no triple was made of though nothing here is malformed."""
        name = self.source.name
        yield from chain.from_iterable(rejects.leftovers() for rejects in self._others)
        for join, (line, count) in self._alone.items():
            keys = ", ".join(f"{_label(child)} = {parent}" for child, parent in join.conditions)
            message = f"a row without a partner in {self.mapping.every[join.parent].source.name} ({keys}): no triple of the join"
            yield Leftover("no-partner", message, name, line, count=count)
        if self.source.kind is TableKind.JSON_LINES and self._records:
            lines = {
                path: line
                for m in self.mapping.maps
                for path, line in references_of(m)
                if path not in self._seen
            }
            for path, line in lines.items():
                message = f"no record has a value at {shown(path)}, to which {self.mapping.file}, line {line}, refers"
                yield Leftover("no-value", message, name)


def _text(cell: Cell) -> str:
    """Raises: ValueError for what is no text of RDF."""
    text, why = cell
    if text is None:
        raise ValueError(why)
    if not text.isascii():
        text.encode()
    return text


def _database(parent: TriplesMap, wanted: Sequence[str]) -> Iterator[RowBlock]:
    rows = list(rows_of(parent.source))
    yield RowBlock(
        range(1, len(rows) + 1), {name: [row.get(name) for row in rows] for name in wanted}
    )


def _columns_of(value: TermMap | MappingJoin) -> str:
    paths = (
        value.references
        if isinstance(value, TermMap)
        else tuple(child for child, _ in value.conditions)
    )
    return ", ".join(dict.fromkeys(map(_label, paths)))


def _label(path: Path_) -> str:
    """A path as a message names it: a column by its name."""
    return str(path[0]) if len(path) == 1 else shown(path)
