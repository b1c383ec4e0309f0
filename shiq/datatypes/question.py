"""One satisfiability question of `DataTheory`, from the quick ways out to the search over worlds.

An element's asserted values, with the properties that lead to them, meet its ≥ and ≤
restrictions. Values and restrictions that no shared property connects do not matter to each
other and are left out. THEORY, "Deciding a shape without a JVM": data.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Final, Protocol, TypeAlias

from shiq.clause import DataAtLeast, DataAtMost
from shiq.datatypes.ranges import Formula, holds, rests_on_unknown
from shiq.datatypes.setting import Setting, unanimous
from shiq.datatypes.successors import DataNeed, Label, Limit, Supply, solvable
from shiq.datatypes.values import DataValue, IllTyped
from shiq.datatypes.worlds import Element
from shiq.model import OWL, TOP_DATATYPE, DataRange, Literal
from shiq.roles import RoleBox

TOP: Final = OWL + "topDataProperty"
BOTTOM: Final = OWL + "bottomDataProperty"
_NOTHING: Final[Label] = frozenset()

#: The four arguments of `DataTheory.satisfiable`.
Part: TypeAlias = tuple[
    Collection[DataAtLeast],
    Collection[DataAtMost],
    Collection[tuple[str, Literal]],
    Collection[tuple[str, Literal]],
]


class Datatypes(Protocol):
    """What a question asks of the datatypes: see `DataTheory`."""

    roles: RoleBox

    def value(self, literal: Literal) -> DataValue | IllTyped: ...
    def formula(self, range: DataRange) -> Formula: ...
    def size_up_to(self, range: DataRange, limit: float) -> float | None: ...
    def setting(
        self, formulas: Collection[Formula], named: Collection[DataValue]
    ) -> Setting | None: ...
    def decided(self, part: Part) -> bool | None: ...


def union(parts: Collection[Part]) -> Part:
    at_least, at_most, values, negative = ([x for part in parts for x in part[i]] for i in range(4))
    return at_least, at_most, values, negative  # type: ignore[return-value]


class Question:
    """See `DataTheory.satisfiable`."""

    def __init__(
        self,
        theory: Datatypes,
        at_least: Collection[DataAtLeast],
        at_most: Collection[DataAtMost],
        values: Collection[tuple[str, Literal]],
        negative: Collection[tuple[str, Literal]],
    ) -> None:
        self.theory = theory
        self.at_least = [need for need in at_least if need.n > 0]
        self.at_most = list(at_most)
        self.values = values
        self.negative = negative
        self.disjoint = theory.roles.disjoint_data
        self.labels: dict[DataValue, Label] = {}
        self.forbidden: dict[DataValue, Label] = {}

    def up(self, property: str) -> Label:
        return self.theory.roles.data_superproperties(property) | {TOP}

    def answer(self) -> bool | None:
        return self.verdict()[0]

    def verdict(self) -> tuple[bool | None, list[Part]]:
        """The answer, and unless it is True the parts of the question that it comes from."""
        everything: Part = (self.at_least, self.at_most, self.values, self.negative)
        if not self._read_values() or self._is_impossible():
            return False, [everything]
        if len(self.theory.roles.data_superproperties(TOP)) > 1:
            return None, [
                everything
            ]  # owl:topDataProperty below another property: outside OWL 2 DL
        whole = self._about_top()
        if whole is False:
            return False, [everything]
        self._drop_unconnected()
        parts = self._parts()
        answers = [self.theory.decided(part) for part in parts]
        if False in answers:
            return False, [parts[answers.index(False)]]
        unclear = [part for part, answer in zip(parts, answers) if answer is None]
        joined = self.theory.decided(union(unclear)) if len(unclear) > 1 else None
        if joined is False:
            return False, unclear
        if whole is None:
            return None, [everything]
        return (None if unclear and not joined else True), unclear

    def decided(self) -> bool | None:
        """The answer for a part, or for several that are open each by itself: they may
        contradict each other by what they leave open.
        """
        self._read_values()
        self._drop_unconnected()
        self._drop_met()
        rest = self._without_needs() if not self.at_least else None
        rest = self._in_worlds() if rest is None else rest
        return self._by_bounds() if rest is None else rest

    def _parts(self) -> list[Part]:
        """The question, taken apart: properties hang together where one need, or a disjointness,
        speaks of both. What one part does to the values in play no other part can notice
        (`successors`: one value serves any number of properties).
        """
        limited = {limit.property for limit in self.at_most} | {
            p for ps in self.forbidden.values() for p in ps
        }
        limited |= {p for pair in self.disjoint for p in pair}
        leader: dict[str, str] = {}

        def lead(property: str) -> str:
            while (up := leader.setdefault(property, property)) != property:
                property = up
            return property

        for first, *others in [
            *self.disjoint,
            *((n.property, *(self.up(n.property) & limited)) for n in self.at_least),
        ]:
            for other in others:
                leader[lead(other)] = lead(first)
        needs, limits, values, negative = (defaultdict[str, list[Any]](list) for _ in range(4))
        for need in self.at_least:
            needs[lead(need.property)].append(need)
        for limit in self.at_most:
            limits[lead(limit.property)].append(limit)
        noticed = {p for label in self.labels.values() for p in label}
        for property, literal in self.values:
            for key in {lead(p) for p in self.up(property) & noticed}:
                values[key].append((property, literal))
        for property, literal in self.negative:
            negative[lead(property)].append((property, literal))
        return [
            (needs[key], limits[key], values[key], negative[key])
            for key in dict.fromkeys((*needs, *values))
        ]

    def _read_values(self) -> bool:
        """The asserted labels and the forbidden properties by value; False if a literal is
        ill-typed.
        """
        for pairs, table in ((self.values, self.labels), (self.negative, self.forbidden)):
            for property, literal in pairs:
                value = self.theory.value(literal)
                if isinstance(value, IllTyped):
                    return False
                more = self.up(property) if table is self.labels else frozenset((property,))
                table[value] = table.get(value, _NOTHING) | more
        return True

    def _is_impossible(self) -> bool:
        """A property that no value can have is asked for, or one value has what it must not."""
        asked = [self.up(need.property) for need in self.at_least]
        if any(
            BOTTOM in label or self._is_split(label) for label in (*asked, *self.labels.values())
        ):
            return True
        if any(TOP in properties for properties in self.forbidden.values()):
            return True
        return any(
            label & self.forbidden.get(value, _NOTHING) for value, label in self.labels.items()
        )

    def _is_split(self, label: Label) -> bool:
        """Two disjoint properties in one label."""
        return any(p in label and q in label for p, q in self.disjoint)

    def _about_top(self) -> bool | None:
        """The restrictions on owl:topDataProperty, which speak of sizes alone, are decided and
        taken out.
        """
        answer: bool | None = True
        for need in self.at_least:
            size = self.theory.size_up_to(need.range, need.n) if need.property == TOP else need.n
            if size is not None and size < need.n:
                return False
            answer = None if size is None else answer
        for limit in self.at_most:
            size = self.theory.size_up_to(limit.range, limit.n + 1) if limit.property == TOP else 0
            if size is not None and size > limit.n:
                return False
            answer = None if size is None else answer
        self.at_least = [need for need in self.at_least if need.property != TOP]
        self.at_most = [limit for limit in self.at_most if limit.property != TOP]
        return answer

    def _drop_unconnected(self) -> None:
        """Leaves out what no other part of the question can notice."""
        wanted = {p for need in self.at_least for p in self.up(need.property)}
        reached = wanted.union(*self.labels.values()) - {TOP}
        self.at_most = [limit for limit in self.at_most if limit.property in reached]
        self.forbidden = {v: kept for v, ps in self.forbidden.items() if (kept := ps & reached)}
        noticed = {limit.property for limit in self.at_most} | {
            p for ps in self.forbidden.values() for p in ps
        }
        noticed |= {p for pair in self.disjoint for p in pair} | {
            need.property for need in self.at_least
        }
        self.labels = {v: kept for v, label in self.labels.items() if (kept := label & noticed)}

    def _drop_met(self) -> None:
        """Leaves out the needs that asserted values meet by themselves."""
        kept = []
        for need in self.at_least:
            formula = self.theory.formula(need.range)
            members = [
                v
                for v, label in self.labels.items()
                if need.property in label and holds(formula, v) is True
            ]
            # Opaque ones may all be one value, and one of the others.
            met = sum(not value.is_opaque for value in members)
            if max(met, bool(members)) < need.n:
                kept.append(need)
        self.at_least = kept

    def _without_needs(self) -> bool | None:
        """Decides where there are asserted values alone, by counting; None if opaque values
        leave that open.
        """
        doubtful = self._may_clash_if_equal()
        for limit in self.at_most:
            formula = self.theory.formula(limit.range)
            certain = possible = 0
            for value, label in self.labels.items():
                if limit.property in label:
                    member = holds(formula, value)
                    certain += member is True and not value.is_opaque
                    possible += member is not False
            if certain > limit.n:
                return False
            doubtful |= possible > limit.n
        return None if doubtful else True

    def _is_opaque(self, literal: Literal) -> bool:
        value = self.theory.value(literal)
        return not isinstance(value, IllTyped) and value.is_opaque

    def _may_clash_if_equal(self) -> bool:
        """Whether two values, one of them opaque, would contradict each other if they were one."""
        values = {*self.labels, *self.forbidden}
        kinds = {
            (self.labels.get(v, _NOTHING), self.forbidden.get(v, _NOTHING), v.is_opaque)
            for v in values
        }
        return any(
            (opaque or other)
            and (self._is_split(label | more) or not (label | more).isdisjoint(refused | besides))
            for (label, refused, opaque), (more, besides, other) in combinations(kinds, 2)
        )

    def _by_bounds(self) -> bool | None:
        """The answer where it is the same though what is opaque holds wherever that helps, or
        though nothing may rest on it.
        """
        opaque = [pair for pair in self.values if self._is_opaque(pair[1])]
        refused = [pair for pair in self.negative if self._is_opaque(pair[1])]
        needs = [
            need for need in self.at_least if rests_on_unknown(self.theory.formula(need.range))
        ]
        limits = [
            limit for limit in self.at_most if rests_on_unknown(self.theory.formula(limit.range))
        ]
        if not (opaque or refused or needs or limits):
            return None
        values = [pair for pair in self.values if pair not in opaque]
        negative = [pair for pair in self.negative if pair not in refused]
        needed = [need for need in self.at_least if need not in needs]
        limited = [limit for limit in self.at_most if limit not in limits]
        some = [DataAtLeast(1, p, TOP_DATATYPE) for p, _ in opaque] + [
            replace(need, range=TOP_DATATYPE) for need in needs
        ]
        fewer = [([*needed, *some], limited, values, negative)]
        fewer += [(self.at_least, self.at_most, values, negative)] if opaque or refused else []
        if any(self.theory.decided(part) is False for part in fewer):
            return False
        none = [DataAtMost(0, p, TOP_DATATYPE) for p, _ in refused] + [
            replace(limit, range=TOP_DATATYPE) for limit in limits
        ]
        if not some and self.theory.decided((needed, [*limited, *none], values, negative)):
            return True
        return None

    def _in_worlds(self) -> bool | None:
        ranges = [need.range for need in self.at_least] + [limit.range for limit in self.at_most]
        formulas = [self.theory.formula(data_range) for data_range in ranges]
        setting = self.theory.setting(formulas, {**self.labels, **self.forbidden})
        if setting is None:
            return None
        bit = setting.ground.formulas
        count = len(self.at_least)
        needs = tuple(
            DataNeed(a.n, a.property, self.up(a.property), bit[f])
            for a, f in zip(self.at_least, formulas)
        )
        limits = tuple(
            Limit(a.n, a.property, bit[f]) for a, f in zip(self.at_most, formulas[count:])
        )
        answer = unanimous(
            found
            for world in setting.worlds()
            if (found := self._in_world(setting, world, needs, limits)) != math.inf
        )
        return None if answer is None else bool(answer)

    def _in_world(
        self,
        setting: Setting,
        world: Sequence[Element],
        needs: tuple[DataNeed, ...],
        limits: tuple[Limit, ...],
    ) -> float | None:
        """Whether the question is satisfiable in one world (0, 1 or None); inf if the world is
        impossible.
        """
        named: Counter[tuple[int, Label, Label]] = Counter()
        for element in world:
            signature = setting.ground.signature(element)
            if signature is None:
                return None
            label = _NOTHING.union(*(self.labels.get(name, _NOTHING) for name in element.names))
            forbidden = _NOTHING.union(
                *(self.forbidden.get(name, _NOTHING) for name in element.names)
            )
            named[signature, label, forbidden] += 1
        fewest = [
            Supply(signature, n, label, forbidden)
            for (signature, label, forbidden), n in named.items()
        ]
        most = list(fewest)
        demand = sum(need.n for need in needs)
        for cell in setting.cells:
            left = setting.count(cell, demand, world)
            if left is not None and left < 0:
                return math.inf
            signatures = setting.ground.signatures(cell)
            for signature in signatures if left != 0 else ():
                most.append(Supply(signature, demand if left is None else left))
                if left is not None and len(signatures) == 1:
                    fewest.append(most[-1])
        if solvable(needs, limits, tuple(fewest), self.disjoint):
            return True
        if len(fewest) == len(most):
            return solvable(needs, limits, tuple(most), self.disjoint)
        return None if solvable(needs, limits, tuple(most), self.disjoint) is not False else False
