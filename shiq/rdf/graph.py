"""The vocabulary graph: the triples that form axioms, in memory, each assigned to a bucket of the
ledger.

Assertions on named classes and properties stay in columns (`shiq.rdf.bulk_assertions`). Here are
axioms, class
expressions, lists, declarations and the rarer assertions, which `shiq.rdf.mapping` maps to OWL.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

from shiq import model as owl
from shiq.rdf.triples import Term, Triples, term_text
from shiq.rdf.vocabulary import FIRST, NIL, REST, TYPE

if TYPE_CHECKING:
    from shiq.rdf.expressions import Key


_INVERSE = owl.OWL + "inverseOf"


class UnmappedError(Exception):
    """Signal: triples form no OWL axiom or expression; ``kind`` is one of
    `shiq.answers.verdict.KINDS`.
    """

    def __init__(self, kind: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.hint = hint


class OpenPropertyError(UnmappedError):
    """Signal: the axiom needs to know whether the property ``iri`` is an object or a data property,
    and nothing says so.
    """

    def __init__(self, iri: str) -> None:
        message = f"nothing says whether <{iri}> is an object property or a data property"
        super().__init__(
            "undeclared", message, "declare it as owl:ObjectProperty or owl:DatatypeProperty"
        )
        self.iri = iri


@dataclass
class VocabularyGraph:
    """The distinct triples that form axioms, in the order first read, indexed by subject and
    predicate.

    rows: row of the columns where triple i was first read
    copies: how often triple i was read; 0 if a reified axiom implies it
    bucket: bucket of triple i in the ledger, "" until it is assigned
    """

    subjects: list[str] = field(default_factory=list)
    predicates: list[str] = field(default_factory=list)
    objects: list[Term] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    copies: list[int] = field(default_factory=list)
    bucket: list[str] = field(default_factory=list)
    by_subject: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    _indexes: dict[tuple[str, str, Term], int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.subjects)

    def add(self, subject: str, predicate: str, value: Term, row: int, copies: int = 1) -> int:
        """Add a triple unless the graph has it, count the ``copies`` that were read, and return its
        index.
        """
        key = (subject, predicate, value)
        found = self._indexes.get(key)
        if found is not None:
            self.copies[found] += copies
            return found
        index = self._indexes[key] = len(self)
        self.subjects.append(subject)
        self.predicates.append(predicate)
        self.objects.append(value)
        self.rows.append(row)
        self.copies.append(copies)
        self.bucket.append("")
        self.by_subject.setdefault(subject, {}).setdefault(predicate, []).append(index)
        return index

    def find(self, subject: str, predicate: str) -> list[int]:
        """Return the indexes of the triples with this subject and predicate."""
        return self.by_subject.get(subject, {}).get(predicate, [])

    def objects_of(self, subject: str, predicate: str) -> list[Term]:
        """Objects of the triples with this subject and predicate."""
        return [self.objects[i] for i in self.find(subject, predicate)]

    def types_of(self, subject: str) -> list[Term]:
        """Objects of rdf:type at ``subject``."""
        return self.objects_of(subject, TYPE)

    def assign_bucket(self, indexes: Iterable[int], bucket: str) -> int:
        """Assign a bucket of the ledger to those of the triples that have none.

        Returns: how often these triples were read.
        """
        count = 0
        for i in indexes:
            if not self.bucket[i]:
                self.bucket[i] = bucket
                count += self.copies[i]
        return count

    def only_triple(self, subject: str, predicate: str, what: str) -> int:
        """Return the index of the only triple with this subject and predicate. Raises:
        UnmappedError if not exactly one.
        """
        found = self.find(subject, predicate)
        if len(found) != 1:
            raise UnmappedError(
                "malformed",
                f"{what} {'several times' if found else 'is missing'} at {term_text(subject)}",
            )
        return found[0]

    def inverse_triple(self, node: str) -> int:
        """Return the index of the first owl:inverseOf triple from a named property to the blank
        ``node``; else -1.
        """
        return self._inverse_triples.get(node, -1)

    @cached_property
    def _inverse_triples(self) -> dict[str, int]:
        """The first owl:inverseOf triple from a named property to each node."""
        named = [
            (self.objects[i], i)
            for i, s in enumerate(self.subjects)
            if self.predicates[i] == _INVERSE and s[:2] != "_:"
        ]
        return {value: i for value, i in reversed(named) if isinstance(value, str)}

    def ledger(self) -> Counter[str]:
        """Count the triples that were read, by bucket."""
        counts: Counter[str] = Counter()
        for bucket, copies in zip(self.bucket, self.copies):
            counts[bucket] += copies
        return counts

    def reachable_triples(self, start: int) -> list[int]:
        """Return the triple ``start`` and all triples of the blank nodes reachable from it."""
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
    """Return the members of an RDF list, and the indexes of its triples.

    Raises: UnmappedError for a cyclic, forked or unterminated list.
    """
    members: list[Term] = []
    triples: list[int] = []
    seen: set[str] = set()
    node = head
    while node != NIL:
        if not isinstance(node, str):
            raise UnmappedError(
                "broken-list", f"the literal {term_text(node)} where a list is expected"
            )
        if node in seen:
            raise UnmappedError("broken-list", f"the list at {term_text(head)} is cyclic")
        seen.add(node)
        first, rest = graph.find(node, FIRST), graph.find(node, REST)
        if not first and not rest:
            hint = "was the file cut, or did a conversion lose its lists? Take it from where it came from again"
            raise UnmappedError(
                "broken-list", f"the list at {term_text(head)} does not end with rdf:nil", hint
            )
        if len(first) > 1 or len(rest) > 1:
            raise UnmappedError(
                "broken-list",
                f"the list at {term_text(head)} is forked: two members or two rests at one place",
            )
        if not first or not rest:
            raise UnmappedError(
                "broken-list",
                f"the list at {term_text(head)} lacks rdf:{'rest' if first else 'first'} at one place",
            )
        members.append(graph.objects[first[0]])
        triples += (*first, *rest, *graph.find(node, TYPE))
        node = graph.objects[rest[0]]
    return members, triples


def build_graph(triples: Triples, rows: Iterable[int]) -> VocabularyGraph:
    """Build the vocabulary graph of the given rows."""
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


V = TypeVar("V")


@dataclass
class MappedValue(Generic[V]):
    """A value, such as an axiom, made from triples: the triple it begins with (main), the others, and
    the keys of its expressions.
    """

    value: V
    main: int
    triples: list[int] = field(default_factory=list)
    keys: list[Key] = field(default_factory=list)


@dataclass(frozen=True)
class MappingFailure:
    """A triple that should begin an axiom or assertion but gives none, with the ``error``.

    assumption: axioms under which it is true whatever it means (THEORY, "Axioms that were not
        understood"); empty if unknown
    """

    main: int
    error: UnmappedError
    assumption: tuple[owl.Axiom, ...] = ()


@dataclass
class MappingResult:
    """Result of mapping a graph of triples to OWL: axioms, assertions, and the triples that failed.

    different_lists: individuals of each owl:AllDifferent node
    annotations: triples without logical meaning
    suspects: assertions that are taken literally but may be mistakes: (value, kind of leftover,
        reason)
    in_both_readings: properties read as object and as data property, and the triples that need it
    open_fillers: names that are a datatype in one of these readings without a declaration
    """

    axioms: list[MappedValue[owl.Axiom]] = field(default_factory=list)
    assertions: list[MappedValue[owl.Assertion]] = field(default_factory=list)
    different_lists: list[MappedValue[tuple[str, ...]]] = field(default_factory=list)
    failures: list[MappingFailure] = field(default_factory=list)
    annotations: list[int] = field(default_factory=list)
    suspects: list[tuple[owl.Assertion, str, str]] = field(default_factory=list)
    in_both_readings: dict[str, list[int]] = field(default_factory=dict)
    open_fillers: set[str] = field(default_factory=set)


def unattached_groups(graph: VocabularyGraph) -> Iterator[list[int]]:
    """Yield the connected groups of triples that no axiom, assertion or declaration uses, outermost
    triple first.
    """
    left = [i for i, bucket in enumerate(graph.bucket) if not bucket]
    inner = {
        value for i in left if isinstance(value := graph.objects[i], str) and value.startswith("_:")
    }
    for i in sorted(left, key=lambda i: graph.subjects[i] in inner):
        if not graph.bucket[i]:
            group = [j for j in graph.reachable_triples(i) if not graph.bucket[j]]
            graph.assign_bucket(group, "leftover:unattached")
            yield group
