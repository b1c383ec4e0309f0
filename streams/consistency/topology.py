"""The pipeline of a cut: bolts with their conjunctions and inferences, and which labels arrive
where.

Bolt k tests the labels that arrive for its own groups, and hands each label on as the most
specific of those that later bolts look at and that lie above it: so nothing is tested twice, and
nothing that a later bolt needs is lost.

THEORY, "What reaches a bolt", has why.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TypeAlias

from streams.consistency.dl_lite import DLLiteView, Negative
from streams.consistency.negative_inclusions import ABSURD, Group, closure

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


def bolts(view: DLLiteView, groups: Sequence[Group], cut: Cut) -> tuple[Bolt, ...]:
    """One bolt for each run of groups between two places of ``cut``. ⊥, and values that cannot
    be, are the first one's.
    """
    runs = [tuple(chain(*groups[start:end])) for start, end in pairwise((0, *cut, len(groups)))]
    made, arriving = list[Bolt](), view.vocabulary | view.stand_ins
    for i, (run, length) in enumerate(
        zip(runs, (end - start for start, end in pairwise((0, *cut, len(groups)))))
    ):
        later = frozenset[str]().union(*chain(*runs[i + 1 :]))
        lift = {label: up for label in sorted(arriving) if (up := lifted(view, label, later))}
        tests = closure(view, run if i else (*run, ABSURD), arriving)
        inferences = sum(
            up != label for label, ups in lift.items() if label not in view.stand_ins for up in ups
        )
        made.append(
            Bolt(length, arriving, frozenset(tests), lift, counted(view, tests), inferences)
        )
        arriving = frozenset(chain(*lift.values()))
    return tuple(made)


def counted(view: DLLiteView, tests: Iterable[Negative]) -> int:
    return sum(view.stand_ins.isdisjoint(test) for test in tests)


def lifted(view: DLLiteView, label: str, wanted: frozenset[str]) -> tuple[str, ...]:
    """The most specific of ``wanted`` above ``label``; of equivalent ones the first."""
    above = view.ancestors(label) & wanted

    def is_spared(upper: str) -> bool:
        return not any(
            upper in view.ancestors(other) and (other not in view.ancestors(upper) or other < upper)
            for other in above
            if other != upper
        )

    return tuple(sorted(filter(is_spared, above)))
