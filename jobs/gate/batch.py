"""Batch of a gate: its lines, which lines state each assertion, and inputs for a check of some of
its lines.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Final, TypeAlias

from shiq.answers.result import Conflict, Result
from shiq.inputs.reading import Place
from shiq.inputs.sources import FileSource
from shiq.jobs.gate.lines import (
    BatchSource,
    Line,
    Triple,
    is_line_based,
    line_syntax,
    numbered_text,
    read_result_triple,
    result_file_index,
    triple_key,
)
from shiq.model import OWL, RDF
from shiq.partition import Partition
from shiq.rdf.vocabulary import (
    AXIOM_NODES,
    FILLERS,
    OPERATORS,
    REIFICATIONS,
    is_for_graph,
    is_misspelt,
)

# Group the lines of a batch that RDF maps to one assertion, wherever they stand.
#
# Lines that state the same triple form a group. So do the triples of a class expression, a list, a
# negative assertion or an annotated axiom, linked by their nodes. Assertions that share such a node
# are accepted or quarantined together.


_TYPE: Final = RDF + "type"
_INDIVIDUAL_PREDICATES: Final = {OWL + "sameAs", OWL + "differentFrom"}
#: What makes a name the node of a structure, as every blank node is of which OWL's vocabulary says
#: something.
_NODES: Final = REIFICATIONS | AXIOM_NODES
_PARTS: Final = (
    *(
        "sourceIndividual",
        "assertionProperty",
        "targetIndividual",
        "targetValue",
        "members",
        "distinctMembers",
    ),
    *("annotatedSource", "annotatedProperty", "annotatedTarget", "onProperty"),
)
_NODE_PREDICATES: Final = (
    OPERATORS | FILLERS | {RDF + "first", RDF + "rest"} | {OWL + part for part in _PARTS}
)


class LinkedLines:
    """Groups of lines that must be accepted or quarantined together, because they state one
    assertion or share a node of an OWL expression. Every line is in one group.
    """

    def __init__(self, lines: Sequence[Line]) -> None:
        nodes = {
            _scoped_term(line.file, line.triple[0])
            for line in lines
            if line.triple and _is_about_structure_node(*line.triple)
        }
        first: dict[Hashable, int] = {}
        self._groups = Partition[int]()
        for i, line in enumerate(lines):
            for key in _link_keys(line, nodes):
                if (other := first.setdefault(key, i)) != i:
                    self._groups.union(i, other)
        self._members = {least: frozenset(found) for least, found in self._groups.classes()}

    def group_of(self, line: int) -> frozenset[int]:
        """Indices of the lines in the group of ``line``, itself included."""
        return self._members.get(self.representative(line)) or frozenset((line,))

    def with_linked(self, lines: Iterable[int]) -> frozenset[int]:
        """Extend ``lines`` by all lines of their groups."""
        return frozenset().union(*map(self.group_of, lines))

    def representative(self, i: int) -> int:
        """Least index of a line in the group of line ``i``."""
        return self._groups.find(i)


def _link_keys(line: Line, nodes: set[Hashable]) -> Iterator[Hashable]:
    """Yield the keys by which lines are linked: the line's triple, and the nodes of OWL expressions
    in it. Lines with a common key belong to one group.
    """
    if not line.triple:
        return
    yield triple_key(line)
    subject, predicate, value = line.triple
    for term, is_own in ((subject, True), (value, False)):
        if (node := _scoped_term(line.file, term)) in nodes and (
            term.startswith("_:") or _is_about_named_node(predicate, value, is_own)
        ):
            yield node


def _is_about_structure_node(subject: str, predicate: str, value: str) -> bool:
    """Decide whether the subject of a triple is a node of an OWL expression, list or axiom, not an
    individual.
    """
    iri = predicate[1:-1]
    if not subject.startswith("_:"):
        return iri in _NODE_PREDICATES or (iri == _TYPE and value[1:-1] in _NODES)
    if (
        iri in _INDIVIDUAL_PREDICATES
        or (iri == _TYPE and not value.startswith("<"))
        or is_misspelt(iri)
    ):
        return False
    return _is_part_of_structure(predicate, value) and not (
        iri == _TYPE and is_misspelt(value[1:-1])
    )


def _is_about_named_node(predicate: str, value: str, is_own: bool) -> bool:
    """Decide whether a triple describes a named node of an OWL expression or axiom. ``is_own``: the
    node is the triple's subject, else its object.
    """
    iri = predicate[1:-1]
    return iri in _NODE_PREDICATES or (
        is_own and (is_misspelt(iri) or (iri == _TYPE and value[1:-1] in _NODES))
    )


def _is_part_of_structure(predicate: str, value: str) -> bool:
    """Decide whether a triple with this predicate and object can be interpreted only with other
    triples of its graph, as a part of an OWL expression or axiom.
    """
    # Of most triples the predicate alone tells.
    return _is_part_of_structure_cached(predicate, value if predicate[1:-1] == _TYPE else "")


@lru_cache(1 << 14)
def _is_part_of_structure_cached(predicate: str, value: str) -> bool:
    """Whether `_is_part_of_structure` holds; cached by predicate, and by object for ``rdf:type``."""
    return is_for_graph(predicate[1:-1], value[1:-1] if value.startswith("<") else value)


#: The N-Triples lines of one assertion; those of several hang together by nodes that are named
#: after a hash of them.
AssertionLines: TypeAlias = tuple[str, ...]
#: What is set aside together with a culprit: the triple alone, its row of a table, all triples with
#: its subject, its named graph, or its document.
UNITS: Final = ("triple", "row", "subject", "graph", "document")
_HASHED_NODE: Final = re.compile(r"_:n([0-9a-f]{24})\.\d+(?= )")


def assertions_in(texts: Iterable[str]) -> list[AssertionLines]:
    """Group N-Triples lines by the assertion that they state."""
    found: dict[str, list[str]] = {}
    for text in texts:
        hashed = _HASHED_NODE.search(text)
        found.setdefault(hashed[1] if hashed else text, []).append(text)
    return list(map(tuple, found.values()))


class GateBatch:
    """Batch of a gate: the ``lines`` of the files ``names``, as they were read from ``documents``.
    A line is identified by its index in ``lines``.

    is_corrected: lines differ from their documents.
    """

    def __init__(
        self,
        names: Sequence[str],
        lines: Sequence[Line],
        documents: Sequence[BatchSource],
        *,
        is_corrected: bool = False,
    ) -> None:
        self.names, self.lines, self._documents = tuple(names), tuple(lines), tuple(documents)
        self._is_corrected = is_corrected

    # Of a batch of which nothing has to go, none of these is asked for.

    @cached_property
    def _linked_lines(self) -> LinkedLines:
        """Groups of lines that are accepted or quarantined together."""
        return LinkedLines(self.lines)

    @cached_property
    def _lines_by_key(self) -> Mapping[tuple[int, Triple], Sequence[int]]:
        """Indices of the lines that state each triple, by file and triple (`triple_key`)."""
        found: dict[tuple[int, Triple], list[int]] = defaultdict(list)
        for i, line in enumerate(self.lines):
            if line.triple:
                found[triple_key(line)].append(i)
        return found

    @cached_property
    def _lines_by_place(self) -> Mapping[tuple[str, int], Sequence[int]]:
        """Indices into ``lines`` by file name and line number in the file."""
        found: dict[tuple[str, int], list[int]] = defaultdict(list)
        for i, line in enumerate(self.lines):
            found[self.names[line.file], line.number].append(i)
        return found

    @cached_property
    def _is_line_based(self) -> bool:
        """Whether each triple of the batch is one line of its files, so that a check can read these
        files directly.
        """
        return all(map(is_line_based, self._documents)) and not any(
            line.raw.endswith(b"\r") for line in self.lines
        )

    @cached_property
    def _structure_lines(self) -> Sequence[int]:
        """Indices of the lines that may belong to an OWL expression or axiom of several triples."""
        return [
            i
            for i, line in enumerate(self.lines)
            if line.triple and _is_part_of_structure(*line.triple[1:])
        ]

    def lines_stating(
        self, assertion: AssertionLines, inside: Collection[int], places: Collection[Place] = ()
    ) -> frozenset[int]:
        """Find the indices of the lines that state ``assertion``, with all lines linked to them.
        Empty if there are none.

        inside: lines of the current check.
        places: where a reader found the assertion. If neither text nor place leads to a line
            ``inside``, structures of OWL's vocabulary about its individuals are taken.
        """
        triple = read_result_triple(assertion[0])
        found = set(
            self._lines_by_key.get((result_file_index(assertion[0]), triple), ())
            if triple and len(assertion) == 1
            else ()
        )
        for place in places:
            found |= self.lines_at_place(place)
        if found.isdisjoint(inside):
            found |= self._structures_about(assertion)
        return self._linked_lines.with_linked(found)

    def lines_at_place(self, place: Place) -> set[int]:
        """Find the indices of the lines at a file and line number; several only if a file was given
        several times.
        """
        return set(self._lines_by_place.get((place.source, place.line), ()))

    def count_assertions(self, lines: Iterable[int]) -> int:
        """Count the assertions that ``lines`` (indices) state: a group of linked lines counts once,
        and so does a malformed line.
        """
        return len(
            {
                self._linked_lines.representative(i)
                for i in lines
                if self.lines[i].triple or self.lines[i].problem
            }
        )

    def with_linked(self, lines: Iterable[int], unit: str = "triple") -> frozenset[int]:
        """Extend ``lines`` by the lines linked with them, and by all lines of the same ``unit``:
        row, subject, named graph or document.

        With the unit "row", another row that repeats a triple of the removed row stays.
        """
        found = self._linked_lines.with_linked(lines)
        if unit == "triple":
            return found
        units = {self._unit_key(self.lines[i], unit) for i in found}
        found = found.union(
            i for i, x in enumerate(self.lines) if x.triple and self._unit_key(x, unit) in units
        )
        return found if unit == "row" else self._linked_lines.with_linked(found)

    def _unit_key(self, line: Line, unit: str) -> object:
        """Key of the row, subject, named graph or document (as ``unit`` says) that a line belongs
        to.
        """
        if unit == "graph":
            return (line.file, line.graph) if line.graph.startswith("_:") else line.graph
        if unit == "row":
            return line.file, line.table_row if line.row else -line.number
        if unit == "document" or not line.triple:
            return line.file
        return (line.file, line.triple[0]) if line.triple[0].startswith("_:") else line.triple[0]

    def _structures_about(self, assertion: AssertionLines) -> set[int]:
        """Indices of lines in OWL expressions and axioms that mention an individual of
        ``assertion``.
        """
        named = {
            _scoped_term(result_file_index(text), term)
            for text in assertion
            if (said := read_result_triple(text))
            for term in (said[0], said[2])
            if term.startswith(("<", "_:")) and not _HASHED_NODE.match(f"{term} ")
        }
        return {
            i
            for i in self._structure_lines
            if any(self._mentions_any(self.lines[j], named) for j in self._linked_lines.group_of(i))
        }

    def _mentions_any(self, line: Line, named: Collection[object]) -> bool:
        """Does the line mention one of the individuals ``named``?"""
        file, (subject, _, value) = triple_key(line)
        return _scoped_term(file, subject) in named or _scoped_term(file, value) in named

    def with_source_positions(self, result: Result) -> Result:
        """Replace the line numbers in ``result`` by those of the original documents, and by rows
        and columns of mapped tables.
        """
        if all(line.position == line.number for line in self.lines):
            return result
        leftovers = tuple(
            replace(x, line=lines[0].position) if (lines := self._lines_at(x.source, x.line)) else x
            for x in result.evidence.leftovers
        )
        conflicts = tuple(map(self.conflict_with_source_positions, result.conflicts))
        return replace(
            result, conflicts=conflicts, evidence=replace(result.evidence, leftovers=leftovers)
        )

    def conflict_with_source_positions(self, conflict: Conflict) -> Conflict:
        """Replace the line numbers in one ``conflict``, as `with_source_positions` does for a result."""

        def move_place(place: Place) -> Place:
            lines = self._lines_at(place.source, place.line)
            return (
                replace(place, line=lines[0].position, column=lines[0].column) if lines else place
            )

        return replace(
            conflict, places=tuple(tuple(map(move_place, places)) for places in conflict.places)
        )

    def _lines_at(self, source: str, number: int) -> list[Line]:
        """Lines of the batch with this file name and line number."""
        return [self.lines[i] for i in self._lines_by_place.get((source, number), ())]

    # --- sources for a check ----------------------------------------------------------------------

    def check_inputs(self, inside: Collection[int], more: Sequence[Line] = ()) -> list[BatchSource]:
        """Make the inputs for a check of the lines ``inside`` (indices).

        A whole batch of N-Triples or N-Quads files is read from the files; anything else from
        memory, under the names of the files.

        more: lines to append.
        """
        is_whole = len(inside) == len(self.lines) and not more and not self._is_corrected
        if is_whole and self._is_line_based:
            return list(self._documents)
        found: list[BatchSource] = []
        for i, (name, document) in enumerate(zip(self.names, self._documents)):
            last = max((line.number for line in self.lines if line.file == i), default=0) + 1
            below = [
                replace(line, number=last + n)
                for n, line in enumerate(x for x in more if x.file == i)
            ]
            kept = [self.lines[k] for k in sorted(inside) if self.lines[k].file == i]
            content = b"".join(numbered_text((*kept, *below)))
            found.append(FileSource(name, Path(name), line_syntax(document), content=content))
        return found


def _scoped_term(file: int, term: str) -> Hashable:
    """Key of ``term`` within the batch; for a blank node it includes the index of its file."""
    return (file, term) if term.startswith("_:") else term
