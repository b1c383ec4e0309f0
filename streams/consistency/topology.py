"""The pipeline of a cut: bolts with their conjunctions and inferences, and which labels arrive
where.

Bolt k tests the labels that arrive for its own groups, and hands each label on as the most
specific of those that later bolts look at and that lie above it: so nothing is tested twice, and
nothing that a later bolt needs is lost.

THEORY, "What reaches a bolt", has why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, pairwise
from typing import TypeAlias

from shiq.streams.consistency.dl_lite import EXISTS, INVERSE, DLLiteView, Negative
from shiq.streams.consistency.negative_inclusions import ABSURD, Group, negative_closure

#: Where bolts end: after which groups, ascending; () for one bolt.
Cut: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class Bolt:
    """``groups``: how many; ``tests``: sets of arriving labels that contradict; ``lift``: what
    each arriving label is handed on as, for those that are handed on. ``conjunctions`` and
    ``inferences`` count them, over labels that are no stand-ins.
    """

    groups: int
    arriving: frozenset[str]
    tests: frozenset[Negative]
    lift: Mapping[str, tuple[str, ...]]
    conjunctions: int
    inferences: int
    expected_evaluations: float = 0.0


def build_bolts(view: DLLiteView, groups: Sequence[Group], cut: Cut) -> tuple[Bolt, ...]:
    """One bolt for each run of groups between two places of ``cut``. ⊥, and values that cannot
    be, are the first one's.
    """
    runs = [tuple(chain(*groups[start:end])) for start, end in pairwise((0, *cut, len(groups)))]
    made, arriving = list[Bolt](), view.vocabulary | view.stand_ins
    for i, (run, length) in enumerate(
        zip(runs, (end - start for start, end in pairwise((0, *cut, len(groups)))))
    ):
        later = frozenset[str]().union(*chain(*runs[i + 1 :]))
        lift = {label: up for label in sorted(arriving) if (up := lift_label(view, label, later))}
        tests = negative_closure(view, run if i else (*run, ABSURD), arriving)
        inferences = sum(
            up != label for label, ups in lift.items() if label not in view.stand_ins for up in ups
        )
        made.append(
            Bolt(length, arriving, frozenset(tests), lift, count_tests(view, tests), inferences)
        )
        arriving = frozenset(chain(*lift.values()))
    return tuple(made)


def count_tests(view: DLLiteView, tests: Iterable[Negative]) -> int:
    return sum(view.stand_ins.isdisjoint(test) for test in tests)


def lift_label(view: DLLiteView, label: str, wanted: frozenset[str]) -> tuple[str, ...]:
    """The most specific of ``wanted`` above ``label``; of equivalent ones the first."""
    above = view.ancestors(label) & wanted

    def is_spared(upper: str) -> bool:
        return not any(
            upper in view.ancestors(other) and (other not in view.ancestors(upper) or other < upper)
            for other in above
            if other != upper
        )

    return tuple(sorted(filter(is_spared, above)))


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
class Cost:
    """``evaluations``, ``arriving`` and ``cached_tuples`` tuples by bolt, and all ``forwarded_tuples`` ones
    (of a unit of time).
    """

    evaluations: tuple[float, ...]
    arriving: tuple[float, ...]
    cached_tuples: tuple[float, ...]
    forwarded_tuples: float

    @property
    def total(self) -> float:
        """With equally many tasks for each cut: bolts × the busiest bolt, and the forwarding."""
        busiest = max(
            e + ARRIVAL * n + CACHING * c
            for e, n, c in zip(self.evaluations, self.arriving, self.cached_tuples)
        )
        return len(self.evaluations) * busiest + FORWARDING * self.forwarded_tuples


def label_rates(view: DLLiteView, rates: Mapping[str, float] | None) -> dict[str, float]:
    """The rate of each label that can be asserted; each one alike where ``rates`` (by IRI) are
    not known.
    """
    counted = view.vocabulary - view.stand_ins
    if rates is None:
        return dict.fromkeys(counted, 1.0)
    return {
        label: rates.get(label.removeprefix(EXISTS).removesuffix(INVERSE), 0.0) for label in counted
    }


def pipeline_cost(pipeline: Sequence[Bolt], rates: Mapping[str, float]) -> Cost:
    """The cost of one topology for tuples that come with ``rates``."""
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
    return Cost(tuple(evaluations), tuple(arrived), tuple(cached), forwarded)


def with_expected_evaluations(
    pipeline: Sequence[Bolt], rates: Mapping[str, float]
) -> tuple[Bolt, ...]:
    """``pipeline`` with what each bolt is expected to evaluate."""
    found = pipeline_cost(pipeline, rates)
    return tuple(
        replace(bolt, expected_evaluations=n) for bolt, n in zip(pipeline, found.evaluations)
    )


def cheapest_cut(
    view: DLLiteView,
    groups: Sequence[Group],
    rates: Mapping[str, float],
    most_cached: float | None = None,
) -> Cut:
    """The cut of the least cost among those that cache at most ``most_cached`` tuples a unit (or
    the least, if none does).
    """
    costs = {
        cut: pipeline_cost(build_bolts(view, groups, cut), rates)
        for cut in possible_cuts(len(groups))
    }
    allowed = [
        cut
        for cut, found in costs.items()
        if most_cached is None or sum(found.cached_tuples) <= most_cached
    ]
    return min(
        allowed or [min(costs, key=lambda cut: sum(costs[cut].cached_tuples))],
        key=lambda cut: (costs[cut].total, len(cut), cut),
    )


def possible_cuts(groups: int) -> list[Cut]:
    """Every cut, the empty bolt before the first group among them."""
    places = range(groups + 1) if groups else range(0)
    lengths = range(groups + 2) if groups <= MOST_GROUPS else range(3)
    return [cut for length in lengths for cut in combinations(places, length)]
