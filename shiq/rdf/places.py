"""Places of assertions, looked up in the columns on request, so that reading has no extra cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np

from shiq import model as owl
from shiq.answers.verdict import Leftover
from shiq.inputs.reading import Place
from shiq.rdf.triples import Term, Triples, column
from shiq.rdf.vocabulary import TYPE

Ids: TypeAlias = tuple[int, int, int]


def plain_triple(assertion: owl.Assertion) -> tuple[str, str, Term] | None:
    """Triple of an assertion on a named class or property; None for any other."""
    match assertion:
        case owl.ClassAssertion(owl.Class(iri), individual):
            return individual, TYPE, iri
        case owl.ObjectPropertyAssertion(owl.ObjectProperty(iri), subject, value):
            return subject, iri, value
        case owl.ObjectPropertyAssertion(
            owl.ObjectInverseOf(owl.ObjectProperty(iri)), subject, value
        ):
            return value, iri, subject
        case owl.DataPropertyAssertion(property, subject, literal):
            return subject, property.iri, literal
    return None


@dataclass(frozen=True, eq=False)
class LeftoverRowPlaces:
    """Places of the ``leftovers`` of reading ``triples``; see `shiq.inputs.reading.LeftoverPlaces`."""

    triples: Triples
    leftovers: Sequence[Leftover]

    def __call__(self) -> Iterator[tuple[Leftover, tuple[Place, ...]]]:
        for leftover in self.leftovers:
            rows = self.triples.leftover_rows.get(leftover, ())
            yield (
                leftover,
                tuple(Place(*self.triples.place(row)) for row in rows)
                or (Place(leftover.source, leftover.line),),
            )


@dataclass(frozen=True, eq=False)
class AssertionPlaces:
    """Places of assertions; see `shiq.inputs.reading.Places`.

    count: number of rows that were read
    main: first row of an assertion on sameness or of several triples
    stated_places: places of assertions that did not come as triples
    different_lists: first row or place of each list of pairwise different individuals, and the list
    """

    triples: Triples
    count: int
    main: Mapping[owl.Assertion, int] = field(default_factory=dict)
    stated_places: Mapping[owl.Assertion, tuple[Place, ...]] = field(default_factory=dict)
    different_lists: Sequence[tuple[int | Place, Sequence[str]]] = ()

    def __call__(
        self, assertions: Iterable[owl.Assertion]
    ) -> Mapping[owl.Assertion, tuple[Place, ...]]:
        wanted: dict[Ids, list[owl.Assertion]] = defaultdict(list)
        found: dict[owl.Assertion, dict[Place, None]] = {}
        for assertion in dict.fromkeys(assertions):
            found[assertion] = dict.fromkeys(self.stated_places.get(assertion, ()))
            for ids in self._begins(assertion):
                if isinstance(ids, Place):
                    found[assertion][ids] = None
                else:
                    wanted[ids].append(assertion)
        triples = self.triples
        subjects = np.array(sorted({ids[0] for ids in wanted}), np.int64)
        rows = (
            np.flatnonzero(np.isin(column(triples.subject)[: self.count], subjects))
            if wanted
            else ()
        )
        for row in map(int, rows):
            for assertion in wanted.get(triples.row(row), ()):
                place = Place(
                    *triples.place(row),
                    triples.graph_of(row),
                    triples.keys.get(row, ""),
                    triples.columns_of(row),
                )
                found[assertion][place] = None
        return {assertion: tuple(places) for assertion, places in found.items() if places}

    def _begins(self, assertion: owl.Assertion) -> Iterator[Ids | Place]:
        triples = self.triples
        row = self.main.get(assertion)
        rows: list[int | Place] = [] if row is None else [row]
        if isinstance(assertion, owl.DifferentIndividuals):
            rows += self._list_places(assertion.first, assertion.second)
        for at in rows:
            yield (
                at
                if isinstance(at, Place)
                else (triples.subject[at], triples.predicate[at], triples.object[at])
            )
        triple = None if rows else plain_triple(assertion)
        if triple is not None:
            subject, predicate, value = map(triples.ids.get, triple)
            if subject is not None and predicate is not None and value is not None:
                yield subject, predicate, value

    def _list_places(self, first: str, second: str) -> Iterator[int | Place]:
        """Places of the lists in which ``second`` comes after ``first``."""
        second_in = dict(self._lists.get(second, ()))
        for i, place in self._lists.get(first, ()):
            if second_in.get(i, -1) > place:
                yield self.different_lists[i][0]

    @cached_property
    def _lists(self) -> Mapping[str, Sequence[tuple[int, int]]]:
        """Lists that each individual is in, with its positions there."""
        found: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for i, (_, members) in enumerate(self.different_lists):
            for place, member in enumerate(members):
                found[member].append((i, place))
        return found
