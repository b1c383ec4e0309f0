"""Regular sets of strings: expressions with complement and intersection.

Expressions are interned, so that ``is`` is equality and equal derivatives are found again
(`shiq.datatypes.automaton`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import count as counter
from typing import Any, Final
from weakref import WeakValueDictionary

from shiq.datatypes.characters import Ranges, ranges_of


class Regex:
    """An interned node: ``kind`` with ``parts`` (nodes, character ranges or numbers). No string
    of it is shorter than ``shortest``.
    """

    __slots__ = ("__weakref__", "kind", "nullable", "parts", "serial", "shortest")
    kind: str
    parts: tuple[Any, ...]
    nullable: bool
    serial: int
    shortest: float


_interned: WeakValueDictionary[tuple[Any, ...], Regex] = WeakValueDictionary()
_serials = counter()


def _node(kind: str, nullable: bool, *parts: Any) -> Regex:
    key = (kind, *parts)
    found = _interned.get(key)
    if found is None:
        found = Regex()
        found.kind, found.parts, found.nullable, found.serial = (
            kind,
            parts,
            nullable,
            next(_serials),
        )
        found.shortest = _shortest(kind, nullable, parts)
        _interned[key] = found
    return found


def _shortest(kind: str, nullable: bool, parts: tuple[Any, ...]) -> float:
    match kind:
        case "sequence":
            return float(sum(part.shortest for part in parts))
        case "or":
            return min((part.shortest for part in parts), default=math.inf)
        case "and":
            return max((part.shortest for part in parts), default=0)
        case "repeat":
            return float(parts[0].shortest * parts[1]) if parts[1] else 0
    return 0 if nullable else 1


EMPTY: Final = _node("or", False)
EPSILON: Final = _node("epsilon", True)
EVERYTHING: Final = _node("and", True)


def characters(ranges: Ranges) -> Regex:
    """One character out of ``ranges``."""
    return _node("characters", False, ranges) if ranges else EMPTY


def sequence(*parts: Regex) -> Regex:
    result = EPSILON
    for part in reversed(parts):
        result = join(part, result)
    return result


def join(first: Regex, rest: Regex) -> Regex:
    """The strings of ``first`` followed by those of ``rest``."""
    if first is EMPTY or rest is EMPTY:
        return EMPTY
    if first is EPSILON:
        return rest
    if rest is EPSILON:
        return first
    if first.kind == "sequence":
        return join(first.parts[0], join(first.parts[1], rest))
    return _node("sequence", first.nullable and rest.nullable, first, rest)


def text(string: str) -> Regex:
    return sequence(*(characters(ranges_of([(ord(c), ord(c))])) for c in string))


def _flat(kind: str, parts: Iterable[Regex]) -> list[Regex]:
    distinct: dict[int, Regex] = {}
    for part in parts:
        for inner in part.parts if part.kind == kind else (part,):
            distinct[inner.serial] = inner
    return [distinct[serial] for serial in sorted(distinct)]


def choice(parts: Iterable[Regex]) -> Regex:
    """The union."""
    flat = _flat("or", parts)
    if EVERYTHING in flat:
        return EVERYTHING
    if len(flat) == 1:
        return flat[0]
    return _node("or", any(p.nullable for p in flat), *flat)


def both(parts: Iterable[Regex]) -> Regex:
    """The intersection."""
    flat = _merge_lengths(_flat("and", parts))
    if EMPTY in flat:
        return EMPTY
    if len(flat) == 1:
        return flat[0]
    return _node("and", all(p.nullable for p in flat), *flat)


def _merge_lengths(parts: list[Regex]) -> list[Regex]:
    """One repetition for all repetitions of the same characters, and for complements of such:
    they only bound the length.
    """
    spans: dict[Regex, list[tuple[int, float]]] = {}
    for node in parts:
        if is_length(node):
            part, low, high = node.parts
            spans[part] = [
                (max(low, a), b if high is None else min(high, b))
                for a, b in spans.get(part, [(0, math.inf)])
            ]
    others = []
    for node in parts:
        inner = node.parts[0] if node.kind == "not" else None
        if inner is not None and is_length(inner) and inner.parts[0] in spans:
            part, low, high = inner.parts
            outside = [(0, low - 1)] if high is None else [(0, low - 1), (high + 1, math.inf)]
            spans[part] = [(max(a, c), min(b, d)) for a, b in spans[part] for c, d in outside]
        elif not is_length(node):
            others.append(node)
    for part, pieces in spans.items():
        lengths = [repeat(part, a, None if b == math.inf else int(b)) for a, b in pieces if a <= b]
        others.append(choice(lengths))
    return sorted(others, key=lambda node: node.serial)


def is_length(node: Regex) -> bool:
    """Whether ``node`` asks for a length only, of strings over some characters."""
    return node.kind == "repeat" and node.parts[0].kind == "characters"


def negation(part: Regex) -> Regex:
    """Every other string of code points."""
    if part.kind == "not":
        inner: Regex = part.parts[0]
        return inner
    if part is EMPTY or part is EVERYTHING:
        return EVERYTHING if part is EMPTY else EMPTY
    return _node("not", not part.nullable, part)


def repeat(part: Regex, low: int = 0, high: int | None = None) -> Regex:
    """The expression for ``low`` to ``high`` copies of ``part``; None for no upper bound."""
    if part.nullable:
        low = 0
    if high == 0 or part is EPSILON:
        return EPSILON
    if part is EMPTY:
        return EMPTY if low else EPSILON
    if (low, high) == (1, 1):
        return part
    if part.kind == "repeat" and part.parts[1] <= 1:
        inner, inner_low, inner_high = part.parts  # the numbers of copies that arise have no gaps
        return repeat(
            inner,
            inner_low * low,
            None if high is None or inner_high is None else inner_high * high,
        )
    return _node("repeat", low == 0, part, low, high)


def after_one(node: Regex) -> Regex:
    """What is left of a repetition after one of its copies."""
    part, low, high = node.parts
    return repeat(part, max(low - 1, 0), None if high is None else high - 1)
