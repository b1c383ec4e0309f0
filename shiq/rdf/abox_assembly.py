"""Build the ABox of sorted rows of triples, and find the source positions (file and line) of its
assertions.

Places are looked up in the columns on request, so that reading has no extra cost.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from shiq import model as owl
from shiq.answers.verdict import Leftover
from shiq.inputs.reading import Place
from shiq.model.abox import ABox, ClassRows, DataRows, Pairs, RoleRows, individuals_of, int_array
from shiq.model.ntriples import NodeTriple, single_triple
from shiq.rdf.triples import Rows, Triples, numpy_view

Ids = npt.NDArray[Any]


def build_abox(
    triples: Triples,
    classes: Rows,
    roles: Rows,
    data: Rows,
    others: Iterable[owl.Assertion],
    apart: Iterable[Sequence[str]] = (),
) -> ABox:
    """Build an ABox from rows of triples and from the rarer assertions. Names and individuals keep
    the order in which they were first read.

    Args:
    classes, roles, data: rows of class, object property and data property assertions
    others: assertions on sameness, negative and complex ones
    apart: lists of pairwise different individuals
    """
    same: list[tuple[int, int]] = []
    different: list[Ids] = [np.zeros((2, 0), np.int64)]
    complex: list[owl.Assertion] = []
    mentioned: list[int] = []
    for assertion in others:
        ids = [triples.id_of(individual) for individual in individuals_of(assertion)]
        mentioned += ids
        match assertion:
            case owl.SameIndividual():
                same.append((ids[0], ids[1]))
            case owl.DifferentIndividuals():
                different.append(np.array(ids).reshape(2, 1))
            case owl.NegativeObjectPropertyAssertion(owl.ObjectInverseOf(role), first, second):
                complex.append(owl.NegativeObjectPropertyAssertion(role, second, first))
            case _:
                complex.append(assertion)
    for members in apart:
        listed = np.array([triples.id_of(individual) for individual in members], np.int64)
        different.append(listed[np.stack(np.triu_indices(len(listed), 1))])
    unequal = np.concatenate(different, axis=1)
    subjects, predicates, values = (
        numpy_view(c) for c in (triples.subject, triples.predicate, triples.object)
    )
    others_ids = np.array(mentioned, dtype=np.int64)
    individuals = _DenseNumbers(
        triples,
        subjects[classes],
        subjects[roles],
        values[roles],
        subjects[data],
        others_ids,
        *unequal,
    )
    class_names, role_names = (
        _DenseNumbers(triples, values[classes]),
        _DenseNumbers(triples, predicates[roles]),
    )
    data_names, literals = (
        _DenseNumbers(triples, predicates[data]),
        _DenseNumbers(triples, values[data]),
    )
    return ABox(
        individuals=individuals.term_texts(),
        classes=class_names.term_texts(),
        object_properties=role_names.term_texts(),
        data_properties=data_names.term_texts(),
        literals=[
            value
            for i in literals.occurring_ids
            if isinstance(value := triples.terms[i], owl.Literal)
        ],
        class_rows=ClassRows(
            *_drop_repeated_rows(individuals[subjects[classes]], class_names[values[classes]])
        ),
        role_rows=RoleRows(
            *_drop_repeated_rows(
                individuals[subjects[roles]],
                role_names[predicates[roles]],
                individuals[values[roles]],
            )
        ),
        data_rows=DataRows(
            *_drop_repeated_rows(
                individuals[subjects[data]], data_names[predicates[data]], literals[values[data]]
            )
        ),
        same=tuple(dict.fromkeys((int(individuals[a]), int(individuals[b])) for a, b in same)),
        different=Pairs(*_drop_repeated_rows(*individuals[unequal])),
        complex=tuple(dict.fromkeys(complex)),
    )


class _DenseNumbers:
    """Dense numbering (0, 1, 2, …) of the term ids that occur, in ascending order of the ids."""

    def __init__(self, triples: Triples, *occurring: Ids) -> None:
        used = np.zeros(len(triples.terms), dtype=bool)
        for ids in occurring:
            used[ids] = True
        self.occurring_ids: list[int] = used.nonzero()[0].tolist()
        self._terms = triples.terms
        self._dense = used.cumsum() - 1

    def __getitem__(self, ids: Ids | int) -> Ids:
        return self._dense[ids]

    def term_texts(self) -> list[str]:
        """Return the texts of the occurring terms, by dense number."""
        return [str(self._terms[i]) for i in self.occurring_ids]


def _drop_repeated_rows(*columns: Ids) -> list[array[int]]:
    """Drop repeated rows of parallel columns; the first occurrence of each row stays, in order."""
    rows = len(columns[0])
    if rows:
        order = np.lexsort(columns[::-1])
        again = np.ones(rows - 1, np.bool_)
        for ids in columns:
            again &= ids[order[1:]] == ids[order[:-1]]
        if again.any():
            # Sorting is stable: of equal rows the first comes first.
            kept = np.sort(order[np.concatenate([[True], ~again])])
            columns = tuple(ids[kept] for ids in columns)
    return [int_array(ids) for ids in columns]


_Ids: TypeAlias = tuple[int, int, int]


def plain_triple(assertion: owl.Assertion) -> NodeTriple | None:
    """Return the triple of an assertion on a named class or property; None for any other assertion."""
    if isinstance(assertion, owl.SameIndividual | owl.DifferentIndividuals):
        return None
    return single_triple(assertion)


def leftover_places(
    triples: Triples, leftovers: Sequence[Leftover]
) -> Iterator[tuple[Leftover, tuple[Place, ...]]]:
    """Yield each leftover of a reading (input that was not interpreted) with its source positions."""
    for leftover in leftovers:
        rows = triples.leftover_rows.get(leftover, ())
        places = tuple(Place(*triples.place(row)) for row in rows)
        yield leftover, places or (Place(leftover.source, leftover.line),)


@dataclass(frozen=True, eq=False)
class AssertionPlaces:
    """Function object that looks up the source positions of assertions; see
    `shiq.inputs.reading.Places`.

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
        wanted: dict[_Ids, list[owl.Assertion]] = defaultdict(list)
        found: dict[owl.Assertion, dict[Place, None]] = {}
        for assertion in dict.fromkeys(assertions):
            found[assertion] = dict.fromkeys(self.stated_places.get(assertion, ()))
            for ids in self._possible_first_rows(assertion):
                if isinstance(ids, Place):
                    found[assertion][ids] = None
                else:
                    wanted[ids].append(assertion)
        triples = self.triples
        subjects = np.array(sorted({ids[0] for ids in wanted}), np.int64)
        rows = (
            np.flatnonzero(np.isin(numpy_view(triples.subject)[: self.count], subjects))
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

    def _possible_first_rows(self, assertion: owl.Assertion) -> Iterator[_Ids | Place]:
        """Yield the triples (as term ids) or positions at which an assertion may begin in the
        input.
        """
        triples = self.triples
        row = self.main.get(assertion)
        rows: list[int | Place] = [] if row is None else [row]
        if isinstance(assertion, owl.DifferentIndividuals):
            rows += self._places_of_lists_with(assertion.first, assertion.second)
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

    def _places_of_lists_with(self, first: str, second: str) -> Iterator[int | Place]:
        """Yield the row or position of each owl:AllDifferent list in which ``second`` comes after
        ``first``.
        """
        second_in = dict(self._lists_by_individual.get(second, ()))
        for i, place in self._lists_by_individual.get(first, ()):
            if second_in.get(i, -1) > place:
                yield self.different_lists[i][0]

    @cached_property
    def _lists_by_individual(self) -> Mapping[str, Sequence[tuple[int, int]]]:
        """The owl:AllDifferent lists of each individual: (index of the list, position in it)."""
        found: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for i, (_, members) in enumerate(self.different_lists):
            for place, member in enumerate(members):
                found[member].append((i, place))
        return found
