"""Lines of a batch that stay together: what RDF maps one assertion to, wherever it stands.

A line that says the same triple again goes where the first one goes. The triples of a class
expression, a list, a negative assertion or an annotated axiom hang together by the nodes that
they are about; two assertions that share such a node share what is said of it, so that neither
could be taken without a part of the other.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from jobs.gate.lines import Line, key_of
from shiq.model import OWL, RDF
from shiq.rdf.bulk import is_for_graph
from shiq.rdf.vocabulary import AXIOM_NODES, FILLERS, OPERATORS, REIFICATIONS, is_misspelt

_TYPE: Final = RDF + "type"
_OF_INDIVIDUALS: Final = {OWL + "sameAs", OWL + "differentFrom"}
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
_OF_NODES: Final = (
    OPERATORS | FILLERS | {RDF + "first", RDF + "rest"} | {OWL + part for part in _PARTS}
)


class LineBlocks:
    """The partition of ``lines`` into the least sets that stay together."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._parent = list(range(len(lines)))
        nodes = {
            _node(line, line.triple[0])
            for line in lines
            if line.triple and _structures_subject(*line.triple)
        }
        first: dict[Hashable, int] = {}
        for i, line in enumerate(lines):
            for key in _keys(line, nodes):
                self._join(i, first.setdefault(key, i))
        members: dict[int, list[int]] = {}
        for i in range(len(lines)):
            members.setdefault(self.first(i), []).append(i)
        self._members = {
            root: frozenset(found) for root, found in members.items() if len(found) > 1
        }

    def of(self, line: int) -> frozenset[int]:
        """The lines that stay together with the one at this place."""
        return self._members.get(self.first(line)) or frozenset((line,))

    def around(self, lines: Iterable[int]) -> frozenset[int]:
        """``lines``, and what stays together with one of them."""
        return frozenset().union(*map(self.of, lines))

    def first(self, i: int) -> int:
        """The first of the lines that stay together with the one at this place."""
        parent = self._parent
        while parent[i] != i:
            parent[i] = i = parent[parent[i]]
        return i

    def _join(self, i: int, j: int) -> None:
        i, j = self.first(i), self.first(j)
        self._parent[max(i, j)] = min(i, j)


def is_structure(line: Line) -> bool:
    """Whether ``line`` is of the vocabulary of OWL, so that it may say something together with
    others alone.
    """
    return line.triple is not None and _is_for_graph(*line.triple[1:])


def _keys(line: Line, nodes: set[Hashable]) -> Iterator[Hashable]:
    """Two lines that share one of these stay together."""
    if not line.triple:
        return
    yield key_of(line)
    subject, predicate, value = line.triple
    for term, is_own in ((subject, True), (value, False)):
        if (node := _node(line, term)) in nodes and (
            term.startswith("_:") or _is_of_node(predicate, value, is_own)
        ):
            yield node


def _node(line: Line, term: str) -> Hashable:
    """A blank node is one of its file."""
    return (line.file, term) if term.startswith("_:") else term


def _structures_subject(subject: str, predicate: str, value: str) -> bool:
    """Whether a triple is about its subject as a node of a structure, not as an individual."""
    iri = predicate[1:-1]
    if not subject.startswith("_:"):
        return iri in _OF_NODES or (iri == _TYPE and value[1:-1] in _NODES)
    if iri in _OF_INDIVIDUALS or (iri == _TYPE and not value.startswith("<")) or is_misspelt(iri):
        return False
    return _is_for_graph(predicate, value) and not (iri == _TYPE and is_misspelt(value[1:-1]))


def _is_of_node(predicate: str, value: str, is_own: bool) -> bool:
    """Whether a triple belongs to the structure at a name, its subject (``is_own``) or object."""
    iri = predicate[1:-1]
    return iri in _OF_NODES or (
        is_own and (is_misspelt(iri) or (iri == _TYPE and value[1:-1] in _NODES))
    )


def _is_for_graph(predicate: str, value: str) -> bool:
    # Of most triples the predicate alone tells.
    return _known(predicate, value if predicate[1:-1] == _TYPE else "")


@lru_cache(1 << 14)
def _known(predicate: str, value: str) -> bool:
    return is_for_graph(predicate[1:-1], value[1:-1] if value.startswith("<") else value)
