"""Find the insertions that may have left modules undetermined."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, runtime_checkable

from shiq.abox_ops.engine import AddSet
from shiq.answers.result import Result
from shiq.datatypes import DataTheory
from shiq.model import Assertion, DataPropertyAssertion, DataRange
from shiq.model.abox import individuals_of
from shiq.model.clause import ClausalTBox, DataAtMost
from shiq.model.ntriples import assertion_lines


@runtime_checkable
class HasAddSet(Protocol):
    """Protocol: a result whose A_add (the assertions that its check read) is in this process's
    memory, not in Spark.
    """

    add_set: AddSet


def undecided_insertions(result: Result) -> Iterator[list[tuple[tuple[str, ...], str]]]:
    """Find the insertions because of which modules may be undetermined. Yields lists of (N-Triples
    lines, reason), the likeliest first.
    """
    if not result.evidence.undecided_modules or not isinstance(result.a_add, HasAddSet):
        return
    add_set = result.a_add.add_set
    reason = {
        individual: module.reason
        for module in reversed([*result.evidence.undecided_modules])
        for individual in module.individuals
    }
    said = {
        a
        for about in add_set.all_assertions_about(sorted(reason)).values()
        for a in about
        if add_set.is_inserted(a)
    }
    within = [a for a in said if all(i in reason for i in individuals_of(a))]
    for assertions in (open_values(add_set.tbox, within), within, said):
        told = ((a, next(reason[i] for i in individuals_of(a) if i in reason)) for a in assertions)
        if rows := [(assertion_lines(a), why) for a, why in told]:
            yield sorted(rows)


def tested_ranges(tbox: ClausalTBox) -> dict[str, list[DataRange]]:
    """Data ranges with which the clauses of ``tbox`` compare the values of a property, by data
    property.
    """
    ranges: dict[str, list[DataRange]] = {}
    for atom in tbox.atoms:
        if isinstance(atom, DataAtMost):
            for property_ in tbox.roles.data_subproperties(atom.property):
                ranges.setdefault(property_, []).append(atom.range)
    return ranges


def open_values(
    tbox: ClausalTBox, assertions: Iterable[Assertion]
) -> Sequence[DataPropertyAssertion]:
    """Select the data ``assertions`` for which the reasoner may be unable to say whether the value
    lies in a range that the property is tested for.
    """
    theory, ranges = DataTheory(tbox.definitions, tbox.roles), tested_ranges(tbox)
    return [
        a
        for a in assertions
        if isinstance(a, DataPropertyAssertion)
        and any(
            theory.contains(range_, a.literal) is None for range_ in ranges.get(a.property.iri, ())
        )
    ]
