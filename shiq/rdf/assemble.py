"""ABox assembly from sorted rows of the columns."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shiq import model as owl
from shiq.model.abox import ABox, Pairs, columns_of, individuals_of, int_array
from shiq.rdf.bulk import Rows
from shiq.rdf.triples import Triples, column

Ids = npt.NDArray[Any]


def build_abox(
    triples: Triples,
    classes: Rows,
    roles: Rows,
    data: Rows,
    others: Iterable[owl.Assertion],
    apart: Iterable[Sequence[str]] = (),
) -> ABox:
    """Build the ABox of all rows and values. Names and individuals are in the order first read.

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
        ids = [triples.id(individual) for individual in individuals_of(assertion)]
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
        listed = np.array([triples.id(individual) for individual in members], np.int64)
        different.append(listed[np.stack(np.triu_indices(len(listed), 1))])
    unequal = np.concatenate(different, axis=1)
    subjects, predicates, values = (
        column(c) for c in (triples.subject, triples.predicate, triples.object)
    )
    others_ids = np.array(mentioned, dtype=np.int64)
    individuals = _Dense(
        triples,
        subjects[classes],
        subjects[roles],
        values[roles],
        subjects[data],
        others_ids,
        *unequal,
    )
    class_names, role_names = _Dense(triples, values[classes]), _Dense(triples, predicates[roles])
    data_names, literals = _Dense(triples, predicates[data]), _Dense(triples, values[data])
    columns = (
        *_distinct_rows(individuals[subjects[classes]], class_names[values[classes]]),
        *_distinct_rows(
            individuals[subjects[roles]], role_names[predicates[roles]], individuals[values[roles]]
        ),
        *_distinct_rows(
            individuals[subjects[data]], data_names[predicates[data]], literals[values[data]]
        ),
    )
    return ABox(
        individuals=individuals.names(),
        classes=class_names.names(),
        object_properties=role_names.names(),
        data_properties=data_names.names(),
        literals=[
            value
            for i in literals.occurring_ids
            if isinstance(value := triples.terms[i], owl.Literal)
        ],
        **columns_of(columns),
        same=tuple(
            dict.fromkeys((individuals.dense_id(a), individuals.dense_id(b)) for a, b in same)
        ),
        different=Pairs(*_distinct_rows(*individuals[unequal])),
        complex=tuple(dict.fromkeys(complex)),
    )


class _Dense:
    """Dense numbering of the terms that occur, in the order of their ids in the columns."""

    def __init__(self, triples: Triples, *occurring: Ids) -> None:
        used = np.zeros(len(triples.terms), dtype=bool)
        for ids in occurring:
            used[ids] = True
        self.occurring_ids: list[int] = used.nonzero()[0].tolist()
        self._terms = triples.terms
        self._dense = used.cumsum() - 1

    def __getitem__(self, ids: Ids) -> Ids:
        return self._dense[ids]

    def dense_id(self, id: int) -> int:
        """Dense number of one term."""
        return int(self._dense[id])

    def names(self) -> list[str]:
        """Texts of the terms, by dense number."""
        return [str(self._terms[i]) for i in self.occurring_ids]


def _distinct_rows(*columns: Ids) -> list[array[int]]:
    """Rows of parallel columns without repetitions, in the order of first occurrence."""
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
