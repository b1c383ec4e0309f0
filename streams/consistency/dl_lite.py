"""The DL-Lite view of a TBox: inclusions between basic concepts and between roles, and what lies
outside them, aloud.

Read off the DL-clauses. One body label and one head is a positive inclusion, an empty head a
negative one, a longer body a Horn rule. ∃R.B on the right is ∃W for a role W of its own, ∃W ⊑
∃R, ∃W⁻ ⊑ ∃R⁻, ∃W⁻ ⊑ B. Roles are labels too, of the pair of two individuals: role inclusions and
role disjointness are inclusions over them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TypeAlias

from shiq.clause import DataAtMost
from shiq.datatypes import DataTheory
from shiq.model import Axiom, Signature
from shiq.roles import reachable
from streams.consistency.labels import EXISTS, INVERSE

#: Origins are indexes into the axioms.
Origins: TypeAlias = frozenset[int]
#: A set of labels that nothing has all of: one, two, or (Horn) more.
Negative: TypeAlias = frozenset[str]


@dataclass(frozen=True, eq=False)
class DLLiteView:
    """``positive``: (sub, sup) with origins; ``negative``: told; ``horn``: (body, head).
    ``left_out``: by axiom, why.

    ``vocabulary``: what can be asserted of an individual or, if any axiom speaks of them, a
    pair; ``stand_ins``: labels that tell assertions apart, and are not counted. ``misfits``:
    what data values may not be, as at-most restrictions by property; ``pairs``: whether roles
    are looked at as labels of pairs.
    """

    axioms: tuple[Axiom, ...]
    signature: Signature
    positive: Mapping[tuple[str, str], Origins]
    negative: Mapping[Negative, Origins]
    horn: Mapping[tuple[Negative, str], Origins]
    left_out: Mapping[int, str]
    vocabulary: frozenset[str]
    stand_ins: frozenset[str]
    misfits: Mapping[DataAtMost, Origins]
    theory: DataTheory
    pairs: bool

    @cached_property
    def upwards(self) -> dict[str, list[str]]:
        """What is told directly above, by sub."""
        steps: dict[str, list[str]] = {}
        for sub, sup in self.positive:
            steps.setdefault(sub, []).append(sup)
        return steps

    @cached_property
    def above(self) -> dict[str, frozenset[str]]:
        """⊑* by sub, for labels that occur in a positive inclusion."""
        return reachable(self.positive)

    @cached_property
    def below(self) -> dict[str, frozenset[str]]:
        return reachable([(sup, sub) for sub, sup in self.positive])

    def ancestors(self, label: str) -> frozenset[str]:
        return self.above.get(label) or frozenset((label,))

    def descendants(self, label: str) -> frozenset[str]:
        return self.below.get(label) or frozenset((label,))

    def way(self, label: str, tops: Iterable[str]) -> Origins:
        """The axioms of shortest chains of inclusions from ``label`` to those of ``tops`` that
        are above it.
        """
        came: dict[str, str | None] = {label: None}
        queue = deque((label,))
        while queue:
            sub = queue.popleft()
            for sup in self.upwards.get(sub, ()):
                if sup not in came:
                    came[sup] = sub
                    queue.append(sup)
        origins: Origins = frozenset()
        for top in tops:
            at = top if top in came else label
            while (before := came[at]) is not None:
                origins |= self.positive[before, at]
                at = before
        return origins

    @cached_property
    def existentials(self) -> tuple[tuple[str, str], ...]:
        """(∃R, ∃R⁻) for each role, those of witnesses among them."""
        known = self.vocabulary.union(*self.positive, *self.negative)
        inverses = {
            label: label[:-1] if label.endswith(INVERSE) else label + INVERSE
            for label in known
            if label.startswith(EXISTS)
        }
        data = {EXISTS + iri for iri in self.signature.data_properties}
        return tuple(
            (label, inverse) for label, inverse in sorted(inverses.items()) if label not in data
        )


def limits_of(
    property: str, misfits: Mapping[DataAtMost, Origins], theory: DataTheory
) -> dict[DataAtMost, Origins]:
    """Those of ``misfits`` that speak of values of ``property``: its own, and those of
    properties above it.
    """
    above = theory.roles.data_superproperties(property)
    return {limit: origins for limit, origins in misfits.items() if limit.property in above}


def siblings_disjoint(seen: DLLiteView) -> DLLiteView:
    """``seen``, with two names disjoint that are told directly below one name, or have no name
    above them, unless some label is below both.
    """
    names = seen.signature.classes
    told = {
        name: {sup for sub, sup in seen.positive if sub == name and sup in names} for name in names
    }
    tops = {name for name in names if not (seen.ancestors(name) & names) - {name}}
    assumed = {
        frozenset((first, second)): frozenset[int]()
        for first, second in combinations(sorted(names), 2)
        if (told[first] & told[second] or {first, second} <= tops)
        and seen.descendants(first).isdisjoint(seen.descendants(second))
    }
    return replace(seen, negative=assumed | dict(seen.negative))
