"""Which axioms make a role inclusion or a transitivity hold: the origins of what transitivity elimination adds."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shiq import model as owl
from shiq.roles import Role, role_box, role_of

_ROLE_INCLUSIONS = (
    owl.SubObjectPropertyOf | owl.EquivalentObjectProperties | owl.InverseObjectProperties | owl.SymmetricObjectProperty
)


@dataclass(frozen=True)
class RoleOrigins:
    """``steps[R]`` are pairs (S, i): axiom i says R ⊑ S. ``transitive[R]`` is an axiom that says R is transitive."""

    steps: Mapping[Role, tuple[tuple[Role, int], ...]] = field(default_factory=dict)
    transitive: Mapping[Role, int] = field(default_factory=dict)

    def inclusion(self, sub: Role, sup: Role) -> frozenset[int]:
        """The axioms of one shortest chain of inclusions from ``sub`` to ``sup``; ``sub`` ⊑* ``sup`` must hold."""
        came: dict[Role, tuple[Role, int] | None] = {sub: None}
        queue = deque((sub,))
        while sup not in came:
            role = queue.popleft()
            for target, index in self.steps.get(role, ()):
                if target not in came:
                    came[target] = (role, index)
                    queue.append(target)
        origins = set()
        step = came[sup]
        while step is not None:
            origins.add(step[1])
            step = came[step[0]]
        return frozenset(origins)

    def transitivity(self, role: Role, equivalents: Sequence[Role]) -> frozenset[int]:
        """The axioms that make ``role`` transitive: its own, or one on a role in ``equivalents`` with the equivalence."""
        if role in self.transitive:
            return frozenset((self.transitive[role],))
        other = next(r for r in equivalents if r in self.transitive)
        return self.inclusion(role, other) | self.inclusion(other, role) | {self.transitive[other]}


def role_origins(axioms: Sequence[owl.Axiom]) -> RoleOrigins:
    steps: dict[Role, list[tuple[Role, int]]] = {}
    transitive: dict[Role, int] = {}
    for index, axiom in enumerate(axioms):
        if isinstance(axiom, _ROLE_INCLUSIONS):
            for r, s in sorted(role_box((axiom,)).inclusions):
                steps.setdefault(r, []).append((s, index))
                steps.setdefault(r.inverse, []).append((s.inverse, index))
        elif isinstance(axiom, owl.TransitiveObjectProperty):
            role = role_of(axiom.property)
            transitive.setdefault(role, index)
            transitive.setdefault(role.inverse, index)
    return RoleOrigins({r: tuple(s) for r, s in steps.items()}, transitive)
