"""Triples of several sources as columns of term ids, with the source and line of each.

Reading fills integer columns without an object per triple; later steps work on distinct terms or
whole columns. Blank nodes are scoped by source: ``_:scope.label``. Malformed lines and passages are
`Rejects`, never dropped.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from shiq.answers.verdict import CUT, LIKE_OTHERS, Leftover
from shiq.inputs.reading import LeftoverSpool
from shiq.model import Literal

#: Numbers of rows, and a flag for each row or term.
Rows = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Term: TypeAlias = str | Literal
IRI, BLANK, LITERAL = 0, 1, 2
LONGEST_TEXT = 300


@dataclass
class Triples:
    """Table of triples as columns of term ids. Each source owns ranges of rows; row i is one triple
    as read.

    terms: by id; ``ids`` is the inverse
    kinds: `IRI`, `BLANK` or `LITERAL`, by term id
    datatypes: of all literals
    subject, predicate, object: term ids, by row
    line: line in the source, by row; 0 if unknown
    graph: term id of the named graph, by row; -1 or missing for the default graph
    keys: the caller's keys of rows
    names: of sources
    leftover_rows: rows of a leftover, if there are several or its text is abridged
    """

    terms: list[Term] = field(default_factory=list)
    ids: dict[Term, int] = field(default_factory=dict)
    kinds: bytearray = field(default_factory=bytearray)
    datatypes: set[str] = field(default_factory=set)
    subject: array[int] = field(default_factory=lambda: array("i"))
    predicate: array[int] = field(default_factory=lambda: array("i"))
    object: array[int] = field(default_factory=lambda: array("i"))
    line: array[int] = field(default_factory=lambda: array("I"))
    graph: array[int] = field(default_factory=lambda: array("i"))
    keys: dict[int, str] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    leftover_rows: dict[Leftover, list[int]] = field(default_factory=dict)
    _starts: list[int] = field(default_factory=list)
    _owners: list[int] = field(default_factory=list)
    _columns: list[tuple[int, str]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.subject)

    def id_of(self, value: Term) -> int:
        """Return the id of a term; a new term is added."""
        found = self.ids.get(value)
        if found is not None:
            return found
        if isinstance(value, Literal):
            self.datatypes.add(value.datatype)
            return self.add_term(value, LITERAL)
        return self.add_term(value, BLANK if value.startswith("_:") else IRI)

    def add_term(self, value: Term, kind: int) -> int:
        """Add a new term and return its id; unlike `id_of`, this does not record a literal's datatype."""
        found = self.ids[value] = len(self.terms)
        self.terms.append(value)
        self.kinds.append(kind)
        return found

    def add_names(self, names: list[str]) -> list[int]:
        """Add distinct IRIs, most of them new, and return their ids."""
        ids, first = self.ids, len(self.terms)
        if ids.keys().isdisjoint(names):
            found = list(range(first, first + len(names)))
            ids.update(zip(names, found))
            self.terms += names
            self.kinds += bytes([IRI]) * len(names)
            return found
        return [
            self.add_term(name, IRI) if (known := ids.get(name)) is None else known
            for name in names
        ]

    def begin_source(self, name: str) -> None:
        """Make the rows that are added next belong to the source ``name``."""
        self._starts.append(len(self))
        self._owners.append(len(self.names))
        self.names.append(name)

    def begin_columns(self, names: str) -> None:
        """Record that the rows added next come from the columns ``names`` of a table; "" for
        anything else.
        """
        if (self._columns[-1][1] if self._columns else "") != names:
            self._columns.append((len(self), names))

    @property
    def column_marks(self) -> list[tuple[int, str]]:
        """List the rows at which the table columns change, each with the new columns."""
        return self._columns

    def add_column_marks(self, begun: int, marks: Iterable[tuple[int, str]]) -> None:
        """Add the column ``marks`` of rows that begin at ``begun``; see `column_marks`."""
        self._columns += ((begun + row, names) for row, names in marks)

    def columns_of(self, row: int) -> str:
        """Return the table columns that a row was read from; "" for anything else."""
        at = bisect_right(self._columns, row, key=lambda begun: begun[0])
        return self._columns[at - 1][1] if at else ""

    def add(
        self, subject: str, predicate: str, value: Term, line: int = 0, graph: str = ""
    ) -> None:
        """Add a triple of the graph named ``graph`` (an IRI or blank node), or of the default
        graph.
        """
        self.add_ids(
            self.id_of(subject),
            self.id_of(predicate),
            self.id_of(value),
            line,
            self.id_of(graph) if graph else -1,
        )

    def add_ids(self, subject: int, predicate: int, value: int, line: int, graph: int = -1) -> None:
        """Add a triple by its term ids; ``graph`` -1 is the default graph."""
        if graph >= 0:
            self.add_graphs((graph,))
        self.subject.append(subject)
        self.predicate.append(predicate)
        self.object.append(value)
        self.line.append(line)

    def add_graphs(self, graphs: Sequence[int]) -> None:
        """Set the graphs (term ids) of the rows that are added next, before the rows themselves."""
        self.graph.extend(repeat(-1, len(self) - len(self.graph)))
        self.graph.extend(graphs)

    def graph_of(self, row: int) -> str:
        """Return the name of a row's graph as an N-Triples term; "" for the default graph."""
        graph = self.graph[row] if row < len(self.graph) else -1
        return term_text(self.terms[graph]) if graph >= 0 else ""

    def row(self, row: int) -> tuple[int, int, int]:
        """Return the term ids (subject, predicate, object) of a row."""
        return self.subject[row], self.predicate[row], self.object[row]

    def truncate(self, length: int) -> None:
        """Remove all rows from index ``length`` on."""
        for column in (self.subject, self.predicate, self.object, self.line, self.graph):
            del column[length:]

    def add_implied(self, subject: str, predicate: str, value: Term, row: int) -> int:
        """Add a triple that ``row`` implies, with the source and line of that row. Return the new
        row.
        """
        self._starts.append(len(self))
        self._owners.append(self._source_of_row(row))
        self.add(subject, predicate, value, self.line[row])
        return len(self) - 1

    def _source_of_row(self, row: int) -> int:
        """Return the index of a row's source."""
        return self._owners[bisect_right(self._starts, row) - 1]

    def place(self, row: int) -> tuple[str, int]:
        """Return source and line of a row."""
        return self.names[self._source_of_row(row)], self.line[row]

    def shortened_text(self, row: int) -> str:
        """Write the triple of a row as an N-Triples line, shortened if long."""
        return shorten_text(self.full_text(row))

    def full_text(self, row: int, graph: str = "") -> str:
        """Write the triple of a row as an N-Triples line or, with ``graph``, an N-Quads line,
        unabridged.
        """
        parts = (
            term_text(self.terms[column[row]])
            for column in (self.subject, self.predicate, self.object)
        )
        return " ".join((*parts, graph, ".") if graph else (*parts, "."))

    def make_leftover(
        self,
        kind: str,
        message: str,
        row: int,
        *,
        hint: str = "",
        count: int = 1,
        items: int = 0,
        rows: Sequence[int] = (),
    ) -> Leftover:
        """Make a leftover (report of uninterpreted input) at ``row``, and remember the ``rows`` it
        stands for.

        Args:
        rows: all rows that it stands for, if there are more
        """
        source, line = self.place(row)
        made = Leftover(
            kind, message, source, line, self.shortened_text(row), hint, count, items=items
        )
        if len(rows) > 1:
            self.leftover_rows.setdefault(made, []).extend(rows)
        elif len(made.text) == LONGEST_TEXT or row in self.keys or self.graph_of(row):
            self.leftover_rows[made] = [row]
        return made


def triple_text(subject: Term, predicate: Term, value: Term) -> str:
    """Write a triple as an N-Triples line, shortened if long."""
    return shorten_text(" ".join((term_text(subject), term_text(predicate), term_text(value), ".")))


def term_text(value: Term) -> str:
    """Write a term in N-Triples syntax."""
    # Loaded where something is shown: most triples are taken without a word.
    from shiq.model.ntriples import individual_term, literal_term

    return literal_term(value) if isinstance(value, Literal) else individual_term(value)


def shorten_text(text: str) -> str:
    """Cut ``text`` to `LONGEST_TEXT` characters."""
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + CUT


#: More rejects of one source are only counted: a million broken lines are one mistake.
MOST_SHOWN = 1000


@dataclass
class Rejects:
    """The malformed lines of one source: all are counted, some are shown.

    total: number of all
    examples: at most `MOST_SHOWN` of them, shortened
    all_lines: all, unabridged
    """

    source: str
    total: int = 0
    examples: list[Leftover] = field(default_factory=list)
    all_lines: LeftoverSpool = field(default_factory=LeftoverSpool)
    unsure: int = 0  # of them, those that do not even look like a triple

    def add(self, message: str, line: int = 0, text: str = "", hint: str = "") -> None:
        """Record a malformed line."""
        self.total += 1
        found = Leftover("malformed", message, self.source, line, text.strip(), hint)
        self.all_lines.add(found)
        if self.total <= MOST_SHOWN:
            self.examples.append(replace(found, text=shorten_text(found.text)))

    def leftovers(self) -> list[Leftover]:
        """Return the shown malformed lines as leftovers, and one leftover that counts the others."""
        hidden = self.total - len(self.examples)
        if not hidden:
            return self.examples
        more = Leftover(
            "malformed", f"{hidden} more lines {LIKE_OTHERS}", self.source, count=hidden
        )
        return [*self.examples, more]


def numpy_view(values: array[int]) -> npt.NDArray[Any]:
    """View a column of term ids as a numpy array, without a copy."""
    return (
        np.frombuffer(values, dtype=np.int32 if values.typecode == "i" else np.uint32)
        if values
        else np.zeros(0, np.int32)
    )


_MADE_BY_PARSER = re.compile(r"[0-9a-f]{24,32}")


#: Names the blank nodes of one source.
Labels: TypeAlias = Callable[[str], str]


def keep_labels(scope: str) -> Labels:
    """Make a function that names blank nodes by their own label, within ``scope``."""
    return lambda label: f"_:{scope}.{label}"


def number_labels(scope: str) -> Labels:
    """Make a function that names blank nodes, and numbers those to which the parser gave a random
    label.

    They are numbered in order, so the same file gives the same names. Two dots behind the scope
    cannot begin a written label.
    """
    numbers: dict[str, str] = {}

    def node_name(label: str) -> str:
        """The name of a blank node: numbered if its label was made by the parser."""
        if _MADE_BY_PARSER.fullmatch(label):
            return numbers.setdefault(label, f"_:{scope}..{len(numbers)}")
        return f"_:{scope}.{label}"

    return node_name


def distinct_ids(ids: npt.NDArray[Any]) -> Rows:
    """Distinct term ids, ascending. (numpy's own function would load its masked arrays, which is
    slow.)
    """
    return np.bincount(ids).nonzero()[0]


def flags_of(triples: Triples, ids: Iterable[int], test: Callable[[Any], bool]) -> Flags:
    """Return a boolean array by term id: the result of ``test`` for the terms ``ids``, False for
    all others.
    """
    flags = np.zeros(len(triples.terms), dtype=bool)
    for i in ids:
        flags[i] = test(triples.terms[i])
    return flags


def name_flags(triples: Triples, names: Iterable[str]) -> Flags:
    """Return a boolean array by term id: True for the terms ``names``."""
    flags = np.zeros(len(triples.terms), dtype=bool)
    for name in names:
        found = triples.ids.get(name)
        if found is not None:
            flags[found] = True
    return flags
