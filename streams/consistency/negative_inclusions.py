"""Negative inclusions closed: the role step, Horn rules unfolded, the product rule, roots, and
their groups.

A `Negative` is covered by another if it lies below it: each label of one ⊑* some label of the
other, and the other way round. For pairs that is the order of the two, either way. What is
closed is what is told with what the role step and the rules add.

THEORY, "Contradictions are seen at keys", has why.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import TypeAlias

from shiq.model import NOTHING
from shiq.model.roles import components
from shiq.streams.consistency.dl_lite import PAIR, DLLiteView, Negative, Origins

#: Those of one step, in order.
Group: TypeAlias = tuple[Negative, ...]
#: ⊥, and with it every value that cannot be: tested beside what is told, and never counted.
ABSURD: Negative = frozenset((NOTHING.iri,))
#: How many sets of labels Horn rules may be unfolded into.
MOST_UNFOLDED = 10_000


class UnfoldingError(Exception):
    """Horn rules unfold into more than `MOST_UNFOLDED` sets."""


def closed(view: DLLiteView, *, role_step: bool = True) -> dict[Negative, Origins]:
    """The told negative inclusions, those that Horn rules make of them, and {B} for each B that
    the role step makes unsatisfiable; of what the rules make, only what nothing covers. Raises:
    TooManyError.
    """
    found = dict(view.negative)
    while True:
        unfolded = _unfolded(view, found)
        added = dict(_role_step(view, unfolded)) if role_step else {}
        if not added:
            return unfolded
        found = unfolded | added


def _unfolded(view: DLLiteView, told: dict[Negative, Origins]) -> dict[Negative, Origins]:
    """Rules applied backwards: who has the body has the head, so what may not meet the head may
    not meet the body.
    """
    found, waiting = dict(told), list(told)
    while waiting if view.horn else ():
        negative = waiting.pop()
        for (body, head), origins in view.horn.items():
            met = negative & view.ancestors(head)
            if met:
                made = frozenset((negative - met) | body)
                if made not in found and not any(
                    covers(view, known, made, loosely=True) for known in found
                ):
                    found[made] = found[negative] | origins | view.way(head, met)
                    waiting.append(made)
        if len(found) > MOST_UNFOLDED:
            raise UnfoldingError
    return found


def _role_step(
    view: DLLiteView, negatives: dict[Negative, Origins]
) -> Iterator[tuple[Negative, Origins]]:
    """{∃R⁻} where ∃R can have no member; both where R can have no pair."""
    for label, inverse in view.existentials:
        why = refuting(view, label, negatives)
        between = refuting(view, PAIR + label[1:], negatives) if view.pairs else None
        if between is not None and why is None:
            yield frozenset((label,)), negatives[between] | view.way(PAIR + label[1:], between)
        elif why is not None and refuting(view, inverse, negatives) is None:
            yield frozenset((inverse,)), negatives[why] | view.way(label, why)


def refuting(view: DLLiteView, label: str, negatives: Iterable[Negative]) -> Negative | None:
    """The first of ``negatives`` all of whose labels lie above ``label``."""
    above = view.ancestors(label)
    return next((negative for negative in negatives if negative <= above), None)


def covers(view: DLLiteView, upper: Negative, lower: Negative, *, loosely: bool = False) -> bool:
    """Whether ``lower`` follows from ``upper`` label by label; ``loosely``: it may have more
    labels than it needs.
    """
    above = [view.ancestors(label) for label in lower]
    return all(any(label in a for a in above) for label in upper) and (
        loosely or all(not upper.isdisjoint(a) for a in above)
    )


def roots(view: DLLiteView, negatives: Iterable[Negative]) -> Group:
    """Those that no other covers; of equivalent ones the first."""
    ordered = list(negatives)

    def is_spared(i: int) -> bool:
        above = (j for j, other in enumerate(ordered) if i != j and covers(view, other, ordered[i]))
        return all(i < j and covers(view, ordered[i], ordered[j]) for j in above)

    return tuple(negative for i, negative in enumerate(ordered) if is_spared(i))


def conflicts(view: DLLiteView, negative: Negative, labels: frozenset[str]) -> set[Negative]:
    """The product rule: what of ``labels`` lies below ``negative``, one label (at least) for
    each of its own.
    """
    below = [sorted(view.descendants(label) & labels) for label in sorted(negative)]
    return {frozenset(choice) for choice in product(*below)}


def closure(
    view: DLLiteView, negatives: Iterable[Negative], labels: frozenset[str]
) -> set[Negative]:
    return set[Negative]().union(*(conflicts(view, negative, labels) for negative in negatives))


# --- groups --------------------------------------------------------------------------------------


def _is_below(view: DLLiteView, lower: Negative, upper: Negative) -> bool:
    """Whether a label of ``lower`` is strictly below one of ``upper``."""
    return any(y in view.ancestors(x) and x not in view.ancestors(y) for x in lower for y in upper)


def groups_as_printed(view: DLLiteView, negatives: Group) -> tuple[Group, ...]:
    """Again and again those that have none below them and share no label with what remains; at
    last the rest.
    """
    under = {p: {q for q in negatives if q is not p and _is_below(view, q, p)} for p in negatives}
    left, groups = list(negatives), list[Group]()
    while left:
        taken = {p for p in left if under[p].isdisjoint(left)}
        while True:
            used = frozenset[str]().union(*(p for p in left if p not in taken))
            shared = {p for p in taken if p & used}
            if not shared:
                break
            taken -= shared
        groups.append(tuple(p for p in left if p in taken) or tuple(left))
        left = [p for p in left if p not in taken] if taken else []
    return tuple(groups)


def groups_by_depth(view: DLLiteView, negatives: Group) -> tuple[Group, ...]:
    """The topmost last, each other one level before the deepest above it; what is above each
    other is of one level.
    """
    over: dict[Negative, Sequence[Negative]] = {
        p: [q for q in negatives if q is not p and _is_below(view, p, q)] for p in negatives
    }
    level: dict[Negative, int] = {}
    for members in components(over):
        beyond = [level[q] for p in members for q in over[p] if q not in members]
        level |= dict.fromkeys(members, 1 + max(beyond, default=-1))
    last = max(level.values(), default=-1)
    return tuple(tuple(p for p in negatives if level[p] == depth) for depth in range(last, -1, -1))


GROUPINGS = {"printed": groups_as_printed, "depth": groups_by_depth}


def origins_of(
    view: DLLiteView, negatives: Mapping[Negative, Origins], conflict: Negative
) -> Origins:
    """The axioms of one negative inclusion that makes the labels of ``conflict`` contradict, and
    of the ways up to it.
    """
    for negative, origins in negatives.items():
        if conflict in conflicts(view, negative, conflict):
            return origins.union(*(view.way(label, negative) for label in conflict))
    return frozenset()
