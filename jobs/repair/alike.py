"""Conflicts that are alike, and what to take so that none is left."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace

from abox_ops.conflicts.raw_conflict import RawConflict
from shiq import model as owl
from shiq.abox import individuals_of
from shiq.reasoner.structure import with_individuals


def _terms(assertion: owl.Assertion) -> tuple[str | owl.Literal, ...]:
    """The individuals and the literal of ``assertion``."""
    match assertion:
        case owl.DataPropertyAssertion(_, subject, value) | owl.NegativeDataPropertyAssertion(
            _, subject, value
        ):
            return subject, value
    return individuals_of(assertion)


def _predicate(assertion: owl.Assertion) -> Hashable:
    """What is said, without of whom: equal for assertions that differ in their individuals and
    literals alone.
    """
    if isinstance(assertion, owl.DataPropertyAssertion | owl.NegativeDataPropertyAssertion):
        return replace(assertion, subject="", literal=owl.Literal(""))
    return with_individuals(assertion, lambda _: "")


def predicates(assertions: Iterable[owl.Assertion]) -> Hashable:
    return tuple(sorted(repr(_predicate(a)) for a in assertions))


def matches(template: RawConflict, part: Sequence[owl.Assertion]) -> Iterator[RawConflict]:
    """``template`` about other individuals and literals, wherever ``part`` says the like of
    different ones.
    """
    by_predicate: dict[Hashable, list[owl.Assertion]] = {}
    for assertion in part:
        by_predicate.setdefault(_predicate(assertion), []).append(assertion)
    wanted = [(_terms(a), by_predicate.get(_predicate(a), [])) for a in template.insertions]

    def extend(
        place: int,
        bound: dict[str | owl.Literal, str | owl.Literal],
        taken: tuple[owl.Assertion, ...],
    ) -> Iterator[RawConflict]:
        if place == len(wanted):
            yield RawConflict(taken, template.base, template.axioms)
            return
        terms, candidates = wanted[place]
        for candidate in candidates:
            now = dict(bound)
            pairs = list(zip(terms, _terms(candidate)))
            if all(now.setdefault(a, b) == b for a, b in pairs) and len(set(now.values())) == len(
                now
            ):
                yield from extend(place + 1, now, (*taken, candidate))

    if all(candidates for _, candidates in wanted):
        yield from extend(0, {}, ())


def hitting_set(conflicts: Sequence[Collection[owl.Assertion]]) -> list[owl.Assertion]:
    """A set of assertions that meets all ``conflicts``, and of which none could be left out.

    Greedy: what most conflicts share goes first, by its text where several do; then, the last
    chosen first, what the others make needless is put back.
    """
    places: dict[owl.Assertion, list[int]] = {}
    for i, conflict in enumerate(conflicts):
        for assertion in dict.fromkeys(conflict):
            places.setdefault(assertion, []).append(i)
    text = {assertion: repr(assertion) for assertion in places}
    open_ = {assertion: len(found) for assertion, found in places.items()}
    heap = [(-count, text[assertion], assertion) for assertion, count in open_.items()]
    heapq.heapify(heap)
    chosen: list[owl.Assertion] = []
    met = [0] * len(conflicts)
    while heap:
        count, _, best = heapq.heappop(heap)
        if -count != open_[best]:
            # Conflicts that it shares were met since: it waits for its turn.
            if open_[best]:
                heapq.heappush(heap, (-open_[best], text[best], best))
            continue
        if not count:
            continue
        chosen.append(best)
        for i in places[best]:
            if not met[i]:
                for assertion in dict.fromkeys(conflicts[i]):
                    open_[assertion] -= 1
            met[i] += 1
    needless: set[owl.Assertion] = set()
    for assertion in reversed(chosen):
        if all(met[i] > 1 for i in places[assertion]):
            needless.add(assertion)
            for i in places[assertion]:
                met[i] -= 1
    return sorted((a for a in chosen if a not in needless), key=text.__getitem__)
