"""Pipeline of bolts that test groups of contradictions one after the other; its cost, and the
cheapest cut into bolts.

Bolt k tests the arriving labels for its own groups. It passes each label on as its most specific
superlabels among those that later bolts test. So nothing is tested twice and nothing that a later
bolt needs is lost. Proof: THEORY, "What reaches a bolt".

Costs: for each arriving assertion, a bolt evaluates the conjunctions with its label and caches it
if there are any. Bolts run in parallel, so the busiest one limits the rate. Passing on costs too,
and caching needs memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, pairwise
from typing import TypeAlias

from shiq.streams.consistency.dl_lite import EXISTS, INVERSE, DLLiteView, Negative
from shiq.streams.consistency.negative_inclusions import (
    UNSATISFIABLE,
    Group,
    find_minimal_contradictions,
)

#: Where bolts end: after which groups, ascending; () for one bolt.
Cut: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class Bolt:
    """Stage of a pipeline: tests arriving labels for contradictions, and passes them on as more
    general labels.

    groups: number of its groups.
    tests: sets of arriving labels that contradict.
    lift: by arriving label, the labels as which it is passed on.
    conjunctions, inferences: number of tests and of changed labels, without auxiliary labels.
    """

    groups: int
    arriving: frozenset[str]
    tests: frozenset[Negative]
    lift: Mapping[str, tuple[str, ...]]
    conjunctions: int
    inferences: int
    expected_evaluations: float = 0.0


def build_bolts(view: DLLiteView, groups: Sequence[Group], cut: Cut) -> tuple[Bolt, ...]:
    """Build the pipeline for a cut: each bolt tests the consecutive groups between two entries of
    ``cut``.

    The first bolt also tests for ⊥ and for impossible data values.
    """
    runs = [tuple(chain(*groups[start:end])) for start, end in pairwise((0, *cut, len(groups)))]
    made, arriving = list[Bolt](), view.vocabulary | view.auxiliary_labels
    for i, (run, length) in enumerate(
        zip(runs, (end - start for start, end in pairwise((0, *cut, len(groups)))))
    ):
        later = frozenset[str]().union(*chain(*runs[i + 1 :]))
        lift = {label: up for label in sorted(arriving) if (up := lift_label(view, label, later))}
        tests = find_minimal_contradictions(view, run if i else (*run, UNSATISFIABLE), arriving)
        inferences = sum(
            up != label
            for label, ups in lift.items()
            if label not in view.auxiliary_labels
            for up in ups
        )
        made.append(
            Bolt(
                length,
                arriving,
                frozenset(tests),
                lift,
                count_displayed_tests(view, tests),
                inferences,
            )
        )
        arriving = frozenset(chain(*lift.values()))
    return tuple(made)


def count_displayed_tests(view: DLLiteView, tests: Iterable[Negative]) -> int:
    """Number of label sets in ``tests`` without auxiliary labels, as plans display it."""
    return sum(view.auxiliary_labels.isdisjoint(test) for test in tests)


def lift_label(view: DLLiteView, label: str, wanted: frozenset[str]) -> tuple[str, ...]:
    """Most specific labels among ``wanted`` that subsume ``label``; of equivalent labels only the
    alphabetically first.
    """
    above = view.ancestors(label) & wanted

    def is_most_specific(upper: str) -> bool:
        """Whether no other superlabel is more specific; of equivalent ones only the first."""
        return not any(
            upper in view.ancestors(other) and (other not in view.ancestors(upper) or other < upper)
            for other in above
            if other != upper
        )

    return tuple(sorted(filter(is_most_specific, above)))


# What a cut costs, by the rates of the labels; and the cut that costs least.
#
# A bolt evaluates, for each tuple that arrives, the conjunctions that its label is in, and caches
# the tuple if there are any. Bolts run side by side, so that the busiest one sets the pace of all;
# what is handed on costs too, and what is cached takes room.


#: What handing a tuple on costs, taking it in, and caching it where it is tested, in evaluations
#: (fitted to LUBM and NPD).
FORWARDING, ARRIVAL, CACHING = 1.0, 4.0, 13.0
#: Beyond so many groups only cuts into two and three bolts are looked at.
MOST_GROUPS = 8


@dataclass(frozen=True)
class PipelineCost:
    """Estimated cost of a pipeline per time unit: evaluations, arriving and cached tuples of each
    bolt, and forwarded tuples of all bolts together.
    """

    evaluations: tuple[float, ...]
    arriving: tuple[float, ...]
    cached_tuples: tuple[float, ...]
    forwarded_tuples: float

    @property
    def total(self) -> float:
        """Total cost if each bolt gets the same number of tasks: the busiest bolt's cost times the
        number of bolts, plus the forwarding.
        """
        busiest = max(
            e + ARRIVAL * n + CACHING * c
            for e, n, c in zip(self.evaluations, self.arriving, self.cached_tuples)
        )
        return len(self.evaluations) * busiest + FORWARDING * self.forwarded_tuples


def estimate_label_rates(view: DLLiteView, rates: Mapping[str, float] | None) -> dict[str, float]:
    """Expected assertions per time unit of each label, from ``rates`` (by IRI); without ``rates`` 1
    for every label.
    """
    counted = view.vocabulary - view.auxiliary_labels
    if rates is None:
        return dict.fromkeys(counted, 1.0)
    return {
        label: rates.get(label.removeprefix(EXISTS).removesuffix(INVERSE), 0.0) for label in counted
    }


def estimate_pipeline_cost(pipeline: Sequence[Bolt], rates: Mapping[str, float]) -> PipelineCost:
    """Estimate the cost of a pipeline. ``rates``: assertions per time unit by label."""
    evaluations, arrived, cached, forwarded, arriving = [], [], [], 0.0, dict(rates)
    for bolt in pipeline:
        partners = Counter(label for test in bolt.tests for label in test)
        evaluations.append(sum(rate * partners[label] for label, rate in arriving.items()))
        arrived.append(sum(arriving.values()))
        cached.append(sum(rate for label, rate in arriving.items() if partners[label]))
        onward: dict[str, float] = {}
        for label, rate in arriving.items():
            for upper in bolt.lift.get(label, ()):
                onward[upper] = onward.get(upper, 0.0) + rate
        forwarded += sum(onward.values())
        arriving = onward
    return PipelineCost(tuple(evaluations), tuple(arrived), tuple(cached), forwarded)


def add_expected_evaluations(
    pipeline: Sequence[Bolt], rates: Mapping[str, float]
) -> tuple[Bolt, ...]:
    """Set the expected evaluations of each bolt of a pipeline. ``rates``: assertions per time unit
    by label.
    """
    found = estimate_pipeline_cost(pipeline, rates)
    return tuple(
        replace(bolt, expected_evaluations=n) for bolt, n in zip(pipeline, found.evaluations)
    )


def find_cheapest_cut(
    view: DLLiteView,
    groups: Sequence[Group],
    rates: Mapping[str, float],
    max_cached_tuples: float | None = None,
) -> Cut:
    """Find the cut of the groups into bolts with the lowest estimated cost.

    max_cached_tuples: bound for cached tuples per time unit; without a cut below it, the one that
        caches least.
    """
    costs = {
        cut: estimate_pipeline_cost(build_bolts(view, groups, cut), rates)
        for cut in list_cuts(len(groups))
    }
    allowed = [
        cut
        for cut, found in costs.items()
        if max_cached_tuples is None or sum(found.cached_tuples) <= max_cached_tuples
    ]
    return min(
        allowed or [min(costs, key=lambda cut: sum(costs[cut].cached_tuples))],
        key=lambda cut: (costs[cut].total, len(cut), cut),
    )


def list_cuts(groups: int) -> list[Cut]:
    """List all cuts of groups into bolts; for many groups only those into at most three bolts."""
    places = range(groups + 1) if groups else range(0)
    lengths = range(groups + 2) if groups <= MOST_GROUPS else range(3)
    return [cut for length in lengths for cut in combinations(places, length)]
