"""Where assertions were read: looked up in the columns when it is asked for, so that reading pays nothing for it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from shiq import model as owl
from shiq.rdf.triples import Term, Triples, column
from shiq.rdf.vocabulary import TYPE
from shiq.reading import Place
from shiq.verdict import Leftover

Ids: TypeAlias = tuple[int, int, int]


def plain_triple(assertion: owl.Assertion) -> tuple[str, str, Term] | None:
    """The triple that says an assertion on a named class or property; None for any other."""
    match assertion:
        case owl.ClassAssertion(owl.Class(iri), individual):
            return individual, TYPE, iri
        case owl.ObjectPropertyAssertion(owl.ObjectProperty(iri), subject, value):
            return subject, iri, value
        case owl.ObjectPropertyAssertion(owl.ObjectInverseOf(owl.ObjectProperty(iri)), subject, value):
            return value, iri, subject
        case owl.DataPropertyAssertion(property, subject, literal):
            return subject, property.iri, literal
    return None


@dataclass(frozen=True, eq=False)
class LeftPlaces:
    """See `shiq.reading.LeftAt`: ``leftovers`` of reading ``triples``."""

    triples: Triples
    leftovers: Sequence[Leftover]

    def __call__(self) -> Iterator[tuple[Leftover, tuple[Place, ...]]]:
        for leftover in self.leftovers:
            rows = self.triples.told.get(leftover, ())
            yield leftover, tuple(Place(*self.triples.place(row)) for row in rows) or (Place(leftover.source, leftover.line),)


@dataclass(frozen=True, eq=False)
class ReadPlaces:
    """See `shiq.reading.Places`. The first ``count`` rows of ``triples`` were read; ``main``: the row that begins an assertion
    which RDF maps to several triples, or on sameness; ``stated``: places of those that did not come as triples."""

    triples: Triples
    count: int
    main: Mapping[owl.Assertion, int] = field(default_factory=dict)
    stated: Mapping[owl.Assertion, tuple[Place, ...]] = field(default_factory=dict)

    def __call__(self, assertions: Iterable[owl.Assertion]) -> Mapping[owl.Assertion, tuple[Place, ...]]:
        wanted: dict[Ids, list[owl.Assertion]] = defaultdict(list)
        found: dict[owl.Assertion, list[Place]] = {}
        for assertion in dict.fromkeys(assertions):
            found[assertion] = list(self.stated.get(assertion, ()))
            ids = self._ids(assertion)
            if ids is not None:
                wanted[ids].append(assertion)
        triples = self.triples
        subjects = np.array(sorted({ids[0] for ids in wanted}), np.int64)
        rows = np.flatnonzero(np.isin(column(triples.subject)[: self.count], subjects)) if wanted else ()
        for row in map(int, rows):
            for assertion in wanted.get((triples.subject[row], triples.predicate[row], triples.object[row]), ()):
                place = Place(*triples.place(row), triples.graph_of(row), triples.keys.get(row, ""))
                if place not in found[assertion]:
                    found[assertion].append(place)
        return {assertion: tuple(places) for assertion, places in found.items() if places}

    def _ids(self, assertion: owl.Assertion) -> Ids | None:
        triples = self.triples
        row = self.main.get(assertion)
        if row is not None:
            return triples.subject[row], triples.predicate[row], triples.object[row]
        triple = plain_triple(assertion)
        if triple is None:
            return None
        subject, predicate, value = map(triples.ids.get, triple)
        return None if subject is None or predicate is None or value is None else (subject, predicate, value)
