"""The triples that say something about the vocabulary: a small graph in memory, each triple with
the bucket it ends up in.

Assertions on named classes and properties stay in columns (`shiq.rdf.bulk`); here are axioms,
class expressions, lists, declarations, and the rarer assertions. What it maps to
(`shiq.rdf.mapping`) rests on its triples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from shiq import model as owl
from shiq.rdf.triples import Term, Triples, shown
from shiq.rdf.vocabulary import FIRST, NIL, REST, TYPE

if TYPE_CHECKING:
    from shiq.rdf.expression_loop import Key


_INVERSE = owl.OWL + "inverseOf"


class UnmappedError(Exception):
    """Triples that do not form an axiom or expression; ``kind`` is one of `shiq.verdict.KINDS`."""

    def __init__(self, kind: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.hint = hint


class OpenPropertyError(UnmappedError):
    """A property ``iri`` of which nothing says whether it is an object or a data property."""

    def __init__(self, iri: str) -> None:
        message = f"nothing says whether <{iri}> is an object property or a data property"
        super().__init__(
            "undeclared", message, "declare it as owl:ObjectProperty or owl:DatatypeProperty"
        )
        self.iri = iri


@dataclass
class VocabularyGraph:
    """Distinct triples in the order first read. Triple i was read ``copies[i]`` times, first at
    row ``rows[i]`` of the columns; ``copies`` is 0 for a triple that a reified axiom implies.
    ``bucket[i]`` is "" until it is accounted for.
    """

    subjects: list[str] = field(default_factory=list)
    predicates: list[str] = field(default_factory=list)
    objects: list[Term] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    copies: list[int] = field(default_factory=list)
    bucket: list[str] = field(default_factory=list)
    by_subject: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    _known: dict[tuple[str, str, Term], int] = field(default_factory=dict)
    _inverse_to: dict[str, int] | None = None

    def __len__(self) -> int:
        return len(self.subjects)

    def add(self, subject: str, predicate: str, value: Term, row: int, copies: int = 1) -> int:
        """The index of the triple, which is added unless it is known."""
        key = (subject, predicate, value)
        found = self._known.get(key)
        if found is not None:
            self.copies[found] += copies
            return found
        index = self._known[key] = len(self)
        self.subjects.append(subject)
        self.predicates.append(predicate)
        self.objects.append(value)
        self.rows.append(row)
        self.copies.append(copies)
        self.bucket.append("")
        self.by_subject.setdefault(subject, {}).setdefault(predicate, []).append(index)
        return index

    def find(self, subject: str, predicate: str) -> list[int]:
        """The triples with this subject and predicate."""
        return self.by_subject.get(subject, {}).get(predicate, [])

    def values(self, subject: str, predicate: str) -> list[Term]:
        return [self.objects[i] for i in self.find(subject, predicate)]

    def types(self, subject: str) -> list[Term]:
        return self.values(subject, TYPE)

    def assign(self, indexes: Iterable[int], bucket: str) -> int:
        """Accounts for those that are not yet; how often they were read in all."""
        count = 0
        for i in indexes:
            if not self.bucket[i]:
                self.bucket[i] = bucket
                count += self.copies[i]
        return count

    def only(self, subject: str, predicate: str, what: str) -> int:
        """The one triple with this subject and predicate. Raises: UnmappedError where there are
        none or several.
        """
        found = self.find(subject, predicate)
        if len(found) != 1:
            raise UnmappedError(
                "malformed",
                f"{what} {'several times' if found else 'is missing'} at {shown(subject)}",
            )
        return found[0]

    def inverse_to(self, node: str) -> int:
        """The first triple by which a named property is the inverse of blank ``node``; -1 if
        there is none.
        """
        if self._inverse_to is None:
            named = [
                (self.objects[i], i)
                for i, s in enumerate(self.subjects)
                if self.predicates[i] == _INVERSE and s[:2] != "_:"
            ]
            self._inverse_to = {value: i for value, i in reversed(named) if isinstance(value, str)}
        return self._inverse_to.get(node, -1)

    def ledger(self) -> Counter[str]:
        counts: Counter[str] = Counter()
        for bucket, copies in zip(self.bucket, self.copies):
            counts[bucket] += copies
        return counts

    def reachable(self, start: int) -> list[int]:
        """Triple ``start`` and all triples of the blank nodes that hang on it."""
        found = [] if self.subjects[start].startswith("_:") else [start]
        seen: set[str] = set()
        stack: list[Term] = [self.objects[start], self.subjects[start]]
        while stack:
            node = stack.pop()
            if not isinstance(node, str) or not node.startswith("_:") or node in seen:
                continue
            seen.add(node)
            for indexes in self.by_subject.get(node, {}).values():
                found += indexes
                stack += [self.objects[i] for i in indexes]
        return found


def read_list(graph: VocabularyGraph, head: Term) -> tuple[list[Term], list[int]]:
    """The members of an RDF list, and its triples. Raises: UnmappedError for one that is cyclic,
    forked or does not end.
    """
    members: list[Term] = []
    triples: list[int] = []
    seen: set[str] = set()
    node = head
    while node != NIL:
        if not isinstance(node, str):
            raise UnmappedError(
                "broken-list", f"the literal {shown(node)} where a list is expected"
            )
        if node in seen:
            raise UnmappedError("broken-list", f"the list at {shown(head)} is cyclic")
        seen.add(node)
        first, rest = graph.find(node, FIRST), graph.find(node, REST)
        if not first and not rest:
            hint = "was the file cut, or did a conversion lose its lists? Take it from where it came from again"
            raise UnmappedError(
                "broken-list", f"the list at {shown(head)} does not end with rdf:nil", hint
            )
        if len(first) > 1 or len(rest) > 1:
            raise UnmappedError(
                "broken-list",
                f"the list at {shown(head)} is forked: two members or two rests at one place",
            )
        if not first or not rest:
            raise UnmappedError(
                "broken-list",
                f"the list at {shown(head)} lacks rdf:{'rest' if first else 'first'} at one place",
            )
        members.append(graph.objects[first[0]])
        triples += (*first, *rest, *graph.find(node, TYPE))
        node = graph.objects[rest[0]]
    return members, triples


def build_graph(triples: Triples, rows: Iterable[int]) -> VocabularyGraph:
    """The graph of the given rows of the columns."""
    graph = VocabularyGraph()
    terms, subject, predicate, value = (
        triples.terms,
        triples.subject,
        triples.predicate,
        triples.object,
    )
    for row in rows:
        graph.add(str(terms[subject[row]]), str(terms[predicate[row]]), terms[value[row]], row)
    return graph


V = TypeVar("V", bound=owl.Axiom | owl.Assertion)


@dataclass
class MappedValue(Generic[V]):
    """An axiom or assertion, the main triple it came from, its other triples, and the
    expressions it uses.
    """

    value: V
    main: int
    triples: list[int] = field(default_factory=list)
    keys: list[Key] = field(default_factory=list)


@dataclass(frozen=True)
class AllDifferent:
    """Individuals that are different from each other, in their order; the main triple that says
    so, and its other triples.
    """

    individuals: tuple[str, ...]
    main: int
    triples: tuple[int, ...]


@dataclass(frozen=True)
class Failure:
    """A main triple that gives nothing. ``assumption``: axioms under which it holds, whatever it
    says (THEORY, "Axioms that were not understood"); empty if none are known.
    """

    main: int
    kind: str
    message: str
    hint: str
    assumption: tuple[owl.Axiom, ...] = ()


@dataclass
class GraphMapping:
    """What the main triples of a graph give. ``annotations`` say nothing that a model could see;
    ``suspects`` are assertions that are taken as they stand, but were perhaps meant otherwise:
    with the kind of leftover, and why. ``in_both_readings``: properties that were read as object
    and as data property, with the triples that needed it; ``open_fillers``: names that are a
    datatype in one of these readings, though nothing declares them.
    """

    axioms: list[MappedValue[owl.Axiom]] = field(default_factory=list)
    assertions: list[MappedValue[owl.Assertion]] = field(default_factory=list)
    apart: list[AllDifferent] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    annotations: list[int] = field(default_factory=list)
    suspects: list[tuple[MappedValue[owl.Assertion], str, str]] = field(default_factory=list)
    in_both_readings: dict[str, list[int]] = field(default_factory=dict)
    open_fillers: set[str] = field(default_factory=set)


def unattached(graph: VocabularyGraph) -> Iterator[list[int]]:
    """The triples that are not accounted for yet, those that hang together as one group,
    outermost first.
    """
    left = [i for i, bucket in enumerate(graph.bucket) if not bucket]
    inner = {
        value for i in left if isinstance(value := graph.objects[i], str) and value.startswith("_:")
    }
    for i in sorted(left, key=lambda i: graph.subjects[i] in inner):
        if not graph.bucket[i]:
            group = [j for j in graph.reachable(i) if not graph.bucket[j]]
            graph.assign(group, "leftover:unattached")
            yield group
