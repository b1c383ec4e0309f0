"""Triples of several sources as dictionary-encoded columns, with the line that each came from.

Reading fills four integer columns without an object per triple; everything later looks at
distinct terms, or at columns as a whole. Blank nodes are scoped by source: ``_:scope.label``.
Lines and passages that are no triples are `Rejects`, never dropped.
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

from shiq.left_out import Spool
from shiq.model import Literal
from shiq.verdict import CUT, LIKE_OTHERS, Leftover

Term: TypeAlias = str | Literal
IRI, BLANK, LITERAL = 0, 1, 2
LONGEST_TEXT = 300


@dataclass
class Triples:
    """Row i is one triple, as read: ids of its terms, and its line (0 where unknown). Sources
    own ranges of rows.

    ``kinds[i]`` is the kind of term i; ``datatypes`` are those of all literals. ``graph[i]`` is
    the id of the named graph of row i, -1 for the default graph, where also those rows are that
    ``graph`` is too short for. ``keys``: what the caller calls rows. ``told``: the rows that
    leftovers stand for, where these are several, or more than what is shown.
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
    told: dict[Leftover, list[int]] = field(default_factory=dict)
    _starts: list[int] = field(default_factory=list)
    _owners: list[int] = field(default_factory=list)
    _columns: list[tuple[int, str]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.subject)

    def id(self, value: Term) -> int:
        found = self.ids.get(value)
        if found is not None:
            return found
        if isinstance(value, Literal):
            self.datatypes.add(value.datatype)
            return self.new(value, LITERAL)
        return self.new(value, BLANK if value.startswith("_:") else IRI)

    def new(self, value: Term, kind: int) -> int:
        """The id of a term that was not met before; a literal's datatype is told by `id`."""
        found = self.ids[value] = len(self.terms)
        self.terms.append(value)
        self.kinds.append(kind)
        return found

    def new_names(self, names: list[str]) -> list[int]:
        """The ids of distinct IRIs that mostly were not met before."""
        ids, first = self.ids, len(self.terms)
        if ids.keys().isdisjoint(names):
            found = list(range(first, first + len(names)))
            ids.update(zip(names, found))
            self.terms += names
            self.kinds += bytes([IRI]) * len(names)
            return found
        return [
            self.new(name, IRI) if (known := ids.get(name)) is None else known for name in names
        ]

    def begin(self, name: str) -> None:
        """What follows comes from the source ``name``."""
        self._starts.append(len(self))
        self._owners.append(len(self.names))
        self.names.append(name)

    def begin_columns(self, names: str) -> None:
        """What follows was read in the columns ``names`` of a table, "" for anything else."""
        if (self._columns[-1][1] if self._columns else "") != names:
            self._columns.append((len(self), names))

    @property
    def column_marks(self) -> list[tuple[int, str]]:
        """Where rows begin that were read in other columns than those before, and these."""
        return self._columns

    def add_column_marks(self, begun: int, marks: Iterable[tuple[int, str]]) -> None:
        """Note the ``marks`` of rows that stand from ``begun`` on."""
        self._columns += ((begun + row, names) for row, names in marks)

    def columns_of(self, row: int) -> str:
        """The columns of a table that a row was read in; "" for anything else."""
        at = bisect_right(self._columns, row, key=lambda begun: begun[0])
        return self._columns[at - 1][1] if at else ""

    def add(
        self, subject: str, predicate: str, value: Term, line: int = 0, graph: str = ""
    ) -> None:
        """Adds a triple of the graph named ``graph`` (an IRI or blank node), or of the default
        graph.
        """
        self.add_ids(
            self.id(subject),
            self.id(predicate),
            self.id(value),
            line,
            self.id(graph) if graph else -1,
        )

    def add_ids(self, subject: int, predicate: int, value: int, line: int, graph: int = -1) -> None:
        if graph >= 0:
            self.add_graphs((graph,))
        self.subject.append(subject)
        self.predicate.append(predicate)
        self.object.append(value)
        self.line.append(line)

    def add_graphs(self, graphs: Sequence[int]) -> None:
        """Says in which graphs the rows are that are added next."""
        self.graph.extend(repeat(-1, len(self) - len(self.graph)))
        self.graph.extend(graphs)

    def graph_of(self, row: int) -> str:
        """The name of a row's graph as an N-Triples term, "" for the default graph."""
        graph = self.graph[row] if row < len(self.graph) else -1
        return shown(self.terms[graph]) if graph >= 0 else ""

    def row(self, row: int) -> tuple[int, int, int]:
        """The terms of a row, by id."""
        return self.subject[row], self.predicate[row], self.object[row]

    def cut(self, length: int) -> None:
        """Takes back the rows from ``length`` on."""
        for column in (self.subject, self.predicate, self.object, self.line, self.graph):
            del column[length:]

    def imply(self, subject: str, predicate: str, value: Term, row: int) -> int:
        """Adds a triple that ``row`` stands for, with the place of ``row``; the row it gets."""
        self._starts.append(len(self))
        self._owners.append(self._owner(row))
        self.add(subject, predicate, value, self.line[row])
        return len(self) - 1

    def _owner(self, row: int) -> int:
        return self._owners[bisect_right(self._starts, row) - 1]

    def place(self, row: int) -> tuple[str, int]:
        """Source and line of a row."""
        return self.names[self._owner(row)], self.line[row]

    def text(self, row: int) -> str:
        """The triple as an N-Triples line, shortened where long."""
        return short(self.whole_text(row))

    def whole_text(self, row: int, graph: str = "") -> str:
        """The triple as an N-Triples line, or in its ``graph`` as one of N-Quads."""
        parts = (
            shown(self.terms[column[row]]) for column in (self.subject, self.predicate, self.object)
        )
        return " ".join((*parts, graph, ".") if graph else (*parts, "."))

    def leftover(
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
        """A leftover at ``row``; ``rows``: all that it stands for, if not this one alone."""
        source, line = self.place(row)
        made = Leftover(kind, message, source, line, self.text(row), hint, count, items=items)
        if len(rows) > 1:
            self.told.setdefault(made, []).extend(rows)
        elif len(made.text) == LONGEST_TEXT or row in self.keys or self.graph_of(row):
            self.told[made] = [row]
        return made


def triple_text(subject: Term, predicate: Term, value: Term) -> str:
    return short(" ".join((shown(subject), shown(predicate), shown(value), ".")))


def shown(value: Term) -> str:
    """A term as in N-Triples."""
    # Loaded where something is shown: most triples are taken without a word.
    from shiq.ntriples import literal, term

    return literal(value) if isinstance(value, Literal) else term(value)


def short(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + CUT


#: More rejects of one source are only counted: a million broken lines are one mistake.
MOST_SHOWN = 1000


@dataclass
class Rejects:
    """The malformed lines of one source; ``total`` counts all, ``whole`` has all, as they stand."""

    source: str
    total: int = 0
    shown: list[Leftover] = field(default_factory=list)
    whole: Spool = field(default_factory=Spool)
    unsure: int = 0  # of them, those that do not even look like a triple

    def add(self, message: str, line: int = 0, text: str = "", hint: str = "") -> None:
        self.total += 1
        found = Leftover("malformed", message, self.source, line, text.strip(), hint)
        self.whole.add(found)
        if self.total <= MOST_SHOWN:
            self.shown.append(replace(found, text=short(found.text)))

    def leftovers(self) -> list[Leftover]:
        hidden = self.total - len(self.shown)
        if not hidden:
            return self.shown
        more = Leftover(
            "malformed", f"{hidden} more lines {LIKE_OTHERS}", self.source, count=hidden
        )
        return [*self.shown, more]


def column(values: array[int]) -> npt.NDArray[Any]:
    return (
        np.frombuffer(values, dtype=np.int32 if values.typecode == "i" else np.uint32)
        if values
        else np.zeros(0, np.int32)
    )


_MADE_BY_PARSER = re.compile(r"[0-9a-f]{24,32}")


#: Names the blank nodes of one source.
Labels: TypeAlias = Callable[[str], str]


def written_labels(scope: str) -> Labels:
    """Names blank nodes of sources in which each has a label."""
    return lambda label: f"_:{scope}.{label}"


def numbered_labels(scope: str) -> Labels:
    """Names blank nodes of parsers that give unlabelled ones a random label of 128 bits: in the
    order met, so that the same file gives the same names. A dot after the scope's dot cannot
    begin a written label, so the two never meet.
    """
    numbers: dict[str, str] = {}

    def name(label: str) -> str:
        if _MADE_BY_PARSER.fullmatch(label):
            return numbers.setdefault(label, f"_:{scope}..{len(numbers)}")
        return f"_:{scope}.{label}"

    return name
