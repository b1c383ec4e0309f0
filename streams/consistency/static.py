"""What holds at all times: assertions as columns, and one name for individuals that have several."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from shiq import model as owl
from shiq.columns.arrays import Ints
from streams.consistency.events import EventColumns, TripleEncoder, together
from streams.consistency.labels import misfit


def static_columns(
    intake: TripleEncoder,
    assertions: Iterable[owl.Assertion],
    refuse: Callable[[owl.Assertion], None],
) -> EventColumns:
    """The columns of assertions that hold at all times; the time in them means nothing."""
    parts: list[EventColumns] = []
    zero = np.zeros(1, np.int64)

    def one(name: str) -> Ints:
        return np.array([intake.number(name)], np.int64)

    for assertion in assertions:
        match assertion:
            case owl.ClassAssertion(owl.Class(iri), individual):
                parts += intake.column(iri, one(individual), zero)
            case owl.ObjectPropertyAssertion(owl.ObjectProperty(iri), subject, object):
                parts += intake.roles(iri, one(subject), one(object), zero)
            case owl.DataPropertyAssertion(owl.DataProperty(iri), subject, literal):
                fits = intake.fits(iri, literal)
                if fits is None:
                    refuse(assertion)
                parts += intake.column(
                    misfit(iri) if fits is False else "∃" + iri, one(subject), zero
                )
            case owl.SameIndividual():
                pass  # `TripleEncoder.same` has it
            case owl.DifferentIndividuals(first, second) if intake.number(first) != intake.number(
                second
            ):
                pass
            case _:
                refuse(assertion)
    return together(parts)


def one_name(assertions: Iterable[owl.Assertion]) -> dict[str, str]:
    """The smallest name of each individual that sameAs gives several."""
    same: dict[str, str] = {}

    def name(of: str) -> str:
        while of in same:
            of = same[of]
        return of

    for assertion in assertions:
        if isinstance(assertion, owl.SameIndividual):
            first, second = sorted((name(assertion.first), name(assertion.second)))
            if first != second:
                same[second] = first
    return {of: name(of) for of in same}
