"""Strata: components of predicates in an order of evaluation; cycles through non-harmless
literals are refused.

Source: SPEC 004, section 1 ("Stratification").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from streams.rules.problems import ProgramProblem
from streams.rules.syntax import Stratum, StreamRule, WindowedLiteral, windowed


@dataclass(frozen=True)
class Arc:
    """``source`` is in the body of ``rule``, whose head is ``target``."""

    source: str
    target: str
    literal: WindowedLiteral
    harmless: bool
    rule: StreamRule


def arcs(rules: Iterable[StreamRule]) -> list[Arc]:
    """What each rule says of how predicates depend on each other."""
    return [
        Arc(literal.atom.predicate, rule.head.predicate, literal, harmless, rule)
        for rule in rules
        for literal, harmless in windowed(rule.body)
    ]


def components(
    nodes: Iterable[str], successors: Mapping[str, Sequence[str]]
) -> list[tuple[str, ...]]:
    """The strongly connected components, each before those that it leads to (Tarjan's algorithm,
    without recursion).
    """
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    path: list[str] = []
    found: list[tuple[str, ...]] = []
    done: set[str] = set()
    for root in nodes:
        work = [(root, iter(successors.get(root, ())))] if root not in index else []
        if work:
            index[root] = low[root] = len(index)
            path.append(root)
        while work:
            node, following = work[-1]
            for other in following:
                if other not in index:
                    index[other] = low[other] = len(index)
                    path.append(other)
                    work.append((other, iter(successors.get(other, ()))))
                    break
                if other not in done:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    members = path[path.index(node) :]
                    del path[len(path) - len(members) :]
                    done.update(members)
                    found.append(tuple(members))
    return found[::-1]


def strata(rules: Sequence[StreamRule], problems: list[ProgramProblem]) -> tuple[Stratum, ...]:
    """The rules by components, in an order of evaluation. Cycles that a non-harmless literal is
    on are told to ``problems``.
    """
    every = arcs(rules)
    heads = list(dict.fromkeys(rule.head.predicate for rule in rules))
    following: dict[str, list[str]] = {}
    for arc in every:
        following.setdefault(arc.source, []).append(arc.target)
    found, place = [], {}
    for number, members in enumerate(components(heads[::-1], following)):
        place.update(dict.fromkeys(members, number))
        own = tuple(rule for rule in rules if rule.head.predicate in members)
        found.append(
            Stratum(own, any(arc.source in members and arc.target in members for arc in every))
        )
    told = set[frozenset[str]]()
    for arc in every:
        if not arc.harmless and place.get(arc.source) == place[arc.target]:
            cycle = _cycle(arc, every)
            passed = frozenset(other.target for other in cycle)
            if passed not in told:
                problems.append(_told(cycle))
            told.add(passed)
    return tuple(found)


def _cycle(arc: Arc, every: Sequence[Arc]) -> list[Arc]:
    """The cycle that ``arc`` closes, by a shortest path from its target back to its source."""
    came: dict[str, Arc] = {}
    waiting = [arc.target]
    while arc.source not in (*came, arc.target):
        node = waiting.pop(0)
        for other in every:
            if other.source == node and other.target not in came:
                came[other.target] = other
                waiting.append(other.target)
    back, node = list[Arc](), arc.source
    while node != arc.target:
        back.insert(0, came[node])
        node = came[node].source
    return [arc, *back]


def _told(cycle: Sequence[Arc]) -> ProgramProblem:
    path = " → ".join([cycle[0].source, *(arc.target for arc in cycle)])
    shown = "; ".join(
        f"line {arc.rule.position.line}: {arc.literal} in {arc.rule}" for arc in cycle
    )
    said = "a cycle through negation, at most, count or an aggregate has no strata; make one of its rules not depend on it"
    return ProgramProblem(cycle[0].literal.position, f"{path}: {said} ({shown})")
