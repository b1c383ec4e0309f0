"""Decide one satisfiability question of `DataTheory`: shortcuts first, then search over scenarios.

The asserted values of an element, with the properties that lead to them, must satisfy its ≥ and ≤
restrictions. Values and restrictions without a common property are independent of each other.
Source: THEORY, "Deciding a shape without a JVM": data.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from shiq.datatypes.ranges import contains_value, depends_on_unknown
from shiq.datatypes.scenarios import ScenarioSpace, ScenarioValue, common_answer
from shiq.datatypes.successors import DataLimit, DataNeed, Label, ValueSupply, is_solvable
from shiq.datatypes.values import DataValue, IllTyped
from shiq.model import OWL, TOP_DATATYPE, Literal
from shiq.model.clause import DataAtLeast, DataAtMost
from shiq.partition import Partition

if TYPE_CHECKING:
    from shiq.datatypes.datatype_reasoner import DataTheory

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


def join_parts(parts: Collection[Part]) -> Part:
    """Join several sets of data restrictions and assertions into one."""
    at_least, at_most, values, negative = ([x for part in parts for x in part[i]] for i in range(4))
    return at_least, at_most, values, negative  # type: ignore[return-value]


class SatisfiabilityProblem:
    """The question whether one element can satisfy its data restrictions (≥n, ≤n) and its asserted
    and negated values.

    See `DataTheory.satisfiable` for the arguments.
    """

    def __init__(
        self,
        theory: DataTheory,
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

    def superproperties(self, property: str) -> Label:
        """Return `property` with all data properties above it, including owl:topDataProperty."""
        return self.theory.roles.data_superproperties(property) | {TOP}

    def decide(self) -> bool | None:
        """Decide whether the problem is satisfiable; None if undecided."""
        return self.decide_with_cause()[0]

    def decide_with_cause(self) -> tuple[bool | None, list[Part]]:
        """Decide the problem. If the answer is False or None, also return the restrictions and
        assertions that cause it.
        """
        everything: Part = (self.at_least, self.at_most, self.values, self.negative)
        if not self._read_values() or self._is_impossible():
            return False, [everything]
        if len(self.theory.roles.data_superproperties(TOP)) > 1:
            return None, [
                everything
            ]  # owl:topDataProperty below another property: outside OWL 2 DL
        whole = self._decide_top_restrictions()
        if whole is False:
            return False, [everything]
        self._drop_irrelevant()
        parts = self._independent_parts()
        answers = [self.theory.decide_part(part) for part in parts]
        if False in answers:
            return False, [parts[answers.index(False)]]
        unclear = [part for part, answer in zip(parts, answers) if answer is None]
        joined = self.theory.decide_part(join_parts(unclear)) if len(unclear) > 1 else None
        if joined is False:
            return False, unclear
        if whole is None:
            return None, [everything]
        return (None if unclear and not joined else True), unclear

    def decide_part(self) -> bool | None:
        """Decide an independent part of a problem, or the join of several parts that are undecided
        alone.

        Together they may be contradictory, depending on what each leaves open.
        """
        self._read_values()
        self._drop_irrelevant()
        self._drop_satisfied_needs()
        rest = self._decide_without_needs() if not self.at_least else None
        rest = self._decide_in_scenarios() if rest is None else rest
        return self._decide_by_bounds() if rest is None else rest

    def _independent_parts(self) -> list[Part]:
        """Split the restrictions and assertions into groups that cannot contradict each other.

        Two properties belong together if one need, or a disjointness, concerns both. Other parts
        cannot interact, because one value serves any number of properties (`successors`).
        """
        limited = {limit.property for limit in self.at_most} | {
            p for ps in self.forbidden.values() for p in ps
        }
        limited |= {p for pair in self.disjoint for p in pair}
        groups = Partition[str]()
        for pair in self.disjoint:
            groups.union(*pair)
        for need in self.at_least:
            groups.union_all((need.property, *(self.superproperties(need.property) & limited)))
        needs, limits, values, negative = (defaultdict[str, list[Any]](list) for _ in range(4))
        for need in self.at_least:
            needs[groups.find(need.property)].append(need)
        for limit in self.at_most:
            limits[groups.find(limit.property)].append(limit)
        noticed = {p for label in self.labels.values() for p in label}
        for property, literal in self.values:
            for key in {groups.find(p) for p in self.superproperties(property) & noticed}:
                values[key].append((property, literal))
        for property, literal in self.negative:
            negative[groups.find(property)].append((property, literal))
        return [
            (needs[key], limits[key], values[key], negative[key])
            for key in dict.fromkeys((*needs, *values))
        ]

    def _read_values(self) -> bool:
        """Index the asserted and the forbidden properties by data value; False if a literal is
        ill-typed.
        """
        for pairs, table in ((self.values, self.labels), (self.negative, self.forbidden)):
            for property, literal in pairs:
                value = self.theory.value(literal)
                if isinstance(value, IllTyped):
                    return False
                more = (
                    self.superproperties(property)
                    if table is self.labels
                    else frozenset((property,))
                )
                table[value] = table.get(value, _NOTHING) | more
        return True

    def _is_impossible(self) -> bool:
        """Detect a contradiction between properties alone: an empty or disjoint one is needed, or a
        value has a forbidden one.
        """
        asked = [self.superproperties(need.property) for need in self.at_least]
        if any(
            BOTTOM in label or self._has_disjoint_pair(label)
            for label in (*asked, *self.labels.values())
        ):
            return True
        if any(TOP in properties for properties in self.forbidden.values()):
            return True
        return any(
            label & self.forbidden.get(value, _NOTHING) for value, label in self.labels.items()
        )

    def _has_disjoint_pair(self, label: Label) -> bool:
        """Decide whether a set of data properties contains two disjoint ones."""
        return any(p in label and q in label for p, q in self.disjoint)

    def _decide_top_restrictions(self) -> bool | None:
        """Decide the restrictions on owl:topDataProperty by the sizes of their ranges, and remove
        them.
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

    def _drop_irrelevant(self) -> None:
        """Remove limits, prohibitions and assertions that no other restriction or assertion
        interacts with.
        """
        wanted = {p for need in self.at_least for p in self.superproperties(need.property)}
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

    def _drop_satisfied_needs(self) -> None:
        """Remove the ≥n restrictions that asserted values satisfy already."""
        kept = []
        for need in self.at_least:
            formula = self.theory.range_formula(need.range)
            members = [
                v
                for v, label in self.labels.items()
                if need.property in label and contains_value(formula, v) is True
            ]
            # Opaque ones may all be one value, and one of the others.
            met = sum(not value.is_opaque for value in members)
            if max(met, bool(members)) < need.n:
                kept.append(need)
        self.at_least = kept

    def _decide_without_needs(self) -> bool | None:
        """Decide a problem without ≥n restrictions, by counting asserted values; None if that
        depends on unknown datatypes.
        """
        doubtful = self._may_clash_if_equal()
        for limit in self.at_most:
            formula = self.theory.range_formula(limit.range)
            certain = possible = 0
            for value, label in self.labels.items():
                if limit.property in label:
                    member = contains_value(formula, value)
                    certain += member is True and not value.is_opaque
                    possible += member is not False
            if certain > limit.n:
                return False
            doubtful |= possible > limit.n
        return None if doubtful else True

    def _is_opaque(self, literal: Literal) -> bool:
        """Decide whether a literal is of unknown datatype, so that only its lexical form is known."""
        value = self.theory.value(literal)
        return not isinstance(value, IllTyped) and value.is_opaque

    def _may_clash_if_equal(self) -> bool:
        """Decide whether two asserted values, one of unknown datatype, would contradict each other
        if they were equal.
        """
        values = {*self.labels, *self.forbidden}
        kinds = {
            (self.labels.get(v, _NOTHING), self.forbidden.get(v, _NOTHING), v.is_opaque)
            for v in values
        }
        return any(
            (opaque or other)
            and (
                self._has_disjoint_pair(label | more)
                or not (label | more).isdisjoint(refused | besides)
            )
            for (label, refused, opaque), (more, besides, other) in combinations(kinds, 2)
        )

    def _decide_by_bounds(self) -> bool | None:
        """Decide by the most and the least favourable meaning of unknown datatypes; None if the two
        disagree.

        The most favourable one satisfies every restriction that it can; with the other one, no
        restriction depends on them.
        """
        opaque = [pair for pair in self.values if self._is_opaque(pair[1])]
        refused = [pair for pair in self.negative if self._is_opaque(pair[1])]
        needs = [
            need
            for need in self.at_least
            if depends_on_unknown(self.theory.range_formula(need.range))
        ]
        limits = [
            limit
            for limit in self.at_most
            if depends_on_unknown(self.theory.range_formula(limit.range))
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
        if any(self.theory.decide_part(part) is False for part in fewer):
            return False
        none = [DataAtMost(0, p, TOP_DATATYPE) for p, _ in refused] + [
            replace(limit, range=TOP_DATATYPE) for limit in limits
        ]
        if not some and self.theory.decide_part((needed, [*limited, *none], values, negative)):
            return True
        return None

    def _decide_in_scenarios(self) -> bool | None:
        """Decide the problem in every scenario of unknown data; None if the answers differ or one
        is undecided.
        """
        ranges = [need.range for need in self.at_least] + [limit.range for limit in self.at_most]
        formulas = [self.theory.range_formula(data_range) for data_range in ranges]
        setting = self.theory.scenario_space(formulas, {**self.labels, **self.forbidden})
        if setting is None:
            return None
        bit = setting.ground.formulas
        count = len(self.at_least)
        needs = tuple(
            DataNeed(a.n, a.property, self.superproperties(a.property), bit[f])
            for a, f in zip(self.at_least, formulas)
        )
        limits = tuple(
            DataLimit(a.n, a.property, bit[f]) for a, f in zip(self.at_most, formulas[count:])
        )
        answer = common_answer(
            found
            for scenario in setting.scenarios()
            if (found := self._decide_in_scenario(setting, scenario, needs, limits)) != math.inf
        )
        return None if answer is None else bool(answer)

    def _decide_in_scenario(
        self,
        setting: ScenarioSpace,
        scenario: Sequence[ScenarioValue],
        needs: tuple[DataNeed, ...],
        limits: tuple[DataLimit, ...],
    ) -> float | None:
        """Decide the problem in one scenario of unknown data: 0, 1 or None; inf if the scenario is
        impossible.
        """
        named: Counter[tuple[int, Label, Label]] = Counter()
        for element in scenario:
            signature = setting.ground.formula_mask(element)
            if signature is None:
                return None
            label = _NOTHING.union(*(self.labels.get(name, _NOTHING) for name in element.names))
            forbidden = _NOTHING.union(
                *(self.forbidden.get(name, _NOTHING) for name in element.names)
            )
            named[signature, label, forbidden] += 1
        fewest = [
            ValueSupply(signature, n, label, forbidden)
            for (signature, label, forbidden), n in named.items()
        ]
        most = list(fewest)
        demand = sum(need.n for need in needs)
        for cell in setting.cells:
            left = setting.count_unnamed(cell, demand, scenario)
            if left is not None and left < 0:
                return math.inf
            signatures = setting.ground.possible_masks(cell)
            for signature in signatures if left != 0 else ():
                most.append(ValueSupply(signature, demand if left is None else left))
                if left is not None and len(signatures) == 1:
                    fewest.append(most[-1])
        if is_solvable(needs, limits, tuple(fewest), self.disjoint):
            return True
        if len(fewest) == len(most):
            return is_solvable(needs, limits, tuple(most), self.disjoint)
        return (
            None if is_solvable(needs, limits, tuple(most), self.disjoint) is not False else False
        )
