"""The obvious check, at every c: the twin of all strategies. Slow; nothing is closed, joined or
masked beforehand.

Labels are closed under what is told; each ∃R among them has a witness of its own with {∃R⁻}, and
an edge to it with {R}; told negative inclusions are tested at every element and edge. A set of
labels is a conflict if that fails, and for no part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import combinations, groupby
from typing import TypeAlias

from shiq import model as owl
from shiq.model.roles import Role
from shiq.streams.consistency.dl_lite import (
    PAIR,
    DLLiteView,
    display_label,
    existential_label,
    loop_label,
    out_of_range_label,
    role_label,
    select_range_limits,
)

#: Of one individual, or of a pair.
Key: TypeAlias = tuple[str, ...]
Timed: TypeAlias = tuple[int, owl.Assertion]


def canonical(
    view: DLLiteView,
    window: int,
    stream: Iterable[Timed],
    static: Iterable[owl.Assertion],
    start: int,
    end: int,
) -> list[dict[str, object]]:
    """The rows of a stream over [start, end], without axioms: individual, other, conflict,
    maximal span.
    """
    items = [
        (t, key, label)
        for t, assertion in stream
        for key, label in _labels(view, assertion)
        if start <= t <= end
    ]
    always = [(key, label) for assertion in static for key, label in _labels(view, assertion)]
    is_consistent = _remembering(view)
    points: dict[tuple[Key, tuple[str, ...]], list[int]] = {}
    for c in range(start, end + 1):
        content: dict[Key, set[str]] = {}
        for key, label in (
            *always,
            *((key, label) for t, key, label in items if max(start, c - window) <= t <= c),
        ):
            content.setdefault(key, set()).add(label)
        for key, labels in content.items():
            for conflict in _minimal(labels, is_consistent):
                points.setdefault((key, conflict), []).append(c)
    rows: list[dict[str, object]] = []
    for (key, conflict), times in points.items():
        for _, group in groupby(enumerate(times), lambda item: item[1] - item[0]):
            span = [c for _, c in group]
            who = {"individual": key[0]} | ({"other": key[1]} if len(key) > 1 else {})
            rows.append(
                {
                    **who,
                    "from": span[0],
                    "to": span[-1],
                    "conflict": sorted(set(map(display_label, conflict))),
                }
            )
    return rows


def _labels(view: DLLiteView, assertion: owl.Assertion) -> Iterable[tuple[Key, str]]:
    match assertion:
        case owl.ClassAssertion(owl.Class(iri), individual):
            yield (individual,), iri
        case owl.DataPropertyAssertion(owl.DataProperty(iri), individual, literal):
            limits = select_range_limits(iri, view.range_limits, view.theory)
            bad = view.theory.satisfiable((), limits, [(iri, literal)]) is False
            yield (individual,), out_of_range_label(iri) if bad else "∃" + iri
        case owl.ObjectPropertyAssertion(owl.ObjectProperty(iri), a, b):
            yield (a,), existential_label(Role(iri))
            yield (b,), existential_label(Role(iri, True))
            if view.has_pair_labels:
                yield (
                    (min(a, b), max(a, b)),
                    loop_label(iri) if a == b else role_label(Role(iri, a > b)),
                )


def _minimal(
    labels: set[str], is_consistent: Callable[[frozenset[str]], bool]
) -> list[tuple[str, ...]]:
    found: list[frozenset[str]] = []
    for size in range(1, len(labels) + 1):
        for chosen in map(frozenset, combinations(sorted(labels), size)):
            if not any(known <= chosen for known in found) and not is_consistent(chosen):
                found.append(chosen)
    return [tuple(sorted(conflict)) for conflict in found]


def _remembering(view: DLLiteView) -> Callable[[frozenset[str]], bool]:
    known: dict[frozenset[str], bool] = {}
    steps: Mapping[str, list[str]] = view.direct_superlabels

    def closed(labels: frozenset[str]) -> frozenset[str]:
        found, more = set(labels), list(labels)
        while more:
            label = more.pop()
            heads = [head for (body, head) in view.horn_rules if body <= found]
            new = {*steps.get(label, ()), *heads} - found
            found |= new
            more += new
        return frozenset(found)

    def is_consistent(labels: frozenset[str]) -> bool:
        """Whether the labels have a model: a chase in which equal witnesses are looked at once."""
        if labels not in known:
            known[labels] = _chase(view, closed, labels)
        return known[labels]

    return is_consistent


def _chase(
    view: DLLiteView, closed: Callable[[frozenset[str]], frozenset[str]], labels: frozenset[str]
) -> bool:
    witness = dict(view.existential_pairs)
    seen: set[frozenset[str]] = set()
    waiting = [labels]
    while waiting:
        here = closed(waiting.pop())
        if here in seen:
            continue
        seen.add(here)
        if owl.NOTHING.iri in here or any(negative <= here for negative in view.negative):
            return False
        for label in here & witness.keys():
            waiting += [
                frozenset((witness[label],)),
                *([frozenset((PAIR + label[1:],))] if view.has_pair_labels else []),
            ]
    return True
