"""Remedies: the literals that stand for a role assertion which is left out, and the test whether it
may be left out: Definitions 6 and 7 of Wu and Lécué, CIKM 2014 (THEORY, "Remedy assertions").

For S(a, b) and L₁ ⊑ ∀S'.L₂ with S ⊑* S': nothing is to be done where b:L₂ or a:¬L₁ is asserted; the
remedy is b:L₂ where a:L₁ is asserted or L₁ = ⊤, and a:¬L₁ where b:¬L₂ is; otherwise there is none.
S(a, b) is irrelevant, if S carries no ≤n, when every such axiom is met or has a remedy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from shiq.abox_ops.labels.irrelevance import constrained_roles, roles_below_any
from shiq.abox_ops.labels.label_calculus import Label
from shiq.abox_ops.published.part_of import m_part, u_part
from shiq.model.clause import Atom
from shiq.model.roles import Role
from shiq.simplify import SimplifiedTBox
from shiq.simplify.restrictions import Universal


class Remedy(NamedTuple):
    """A remedy: the literal (name, positive) to be added at the branch (b) or at the centre (a) of
    the axiom.
    """

    at_branch: bool
    name: str
    positive: bool


def remedies(
    axioms: Iterable[Universal], centre: Label, branch: Label, atom_ids: Mapping[Atom, int]
) -> Iterator[Remedy | None]:
    """Yield the remedy of a role assertion from ``centre`` to ``branch`` for each of ``axioms``
    that it does not meet; None if there is none.

    ``axioms`` are those with a role above the assertion's.
    """

    def is_asserted(name: str, positive: bool, label: Label) -> bool:
        """Decide whether a literal is in ``label``."""
        return bool(label[0 if positive else 1] >> atom_ids[name] & 1)

    for axiom in axioms:
        filler, positive = axiom.filler
        premise, sign = axiom.premise or (None, True)
        if is_asserted(filler, positive, branch) or (
            premise is not None and is_asserted(premise, not sign, centre)
        ):
            continue
        if premise is None or is_asserted(premise, sign, centre):
            yield Remedy(True, filler, positive)
        else:
            yield (
                Remedy(False, premise, not sign)
                if is_asserted(filler, not positive, branch)
                else None
            )


class Outcome(NamedTuple):
    """Decision about a role assertion by Definition 7: kept, or replaced by remedies.

    is_kept: whether it is kept.
    remedies: else its remedies, maybe none: (whether at its object, name, positive).
    subject_enters, object_enters: whether these ends enter.
    """

    is_kept: bool
    remedies: tuple[tuple[bool, str, bool], ...]
    subject_enters: bool
    object_enters: bool


_KEPT = Outcome(True, (), True, True)
_GONE = Outcome(False, (), False, False)


@dataclass(frozen=True)
class Definition7:
    """The relevance test of Definitions 5 to 7, for one TBox and the negative assertions.

    always_relevant_roles: roles with a ≤n, and constrained roles (THEORY, "Beyond SHIQ(D), at no
        loss"); closed under inverses.
    axioms: by role S, the L₁ ⊑ ∀S'.L₂ with S ⊑* S', for every role for which S or S⁻ has one.
    features: the data properties that T or a negative assertion can see.
    """

    always_relevant_roles: frozenset[Role]
    axioms: Mapping[Role, tuple[Universal, ...]]
    features: frozenset[str]
    atom_ids: Mapping[Atom, int]

    @classmethod
    def build(
        cls, tbox: SimplifiedTBox, negated_roles: Iterable[Role], negated_properties: Iterable[str]
    ) -> Definition7:
        """Derive the test from the TBox and the negated properties."""
        clauses = tbox.definition4_clauses
        roles = clauses.roles
        return cls(
            constrained_roles(roles) | roles_below_any(negated_roles, roles) | m_part(tbox),
            {
                role: tuple(x for x in tbox.universals if x.role in roles.superroles(role))
                for role in u_part(tbox)
            },
            tbox.features | roles.data_subproperties_of_any(negated_properties),
            clauses.atom_ids,
        )

    @property
    def part_of(self) -> frozenset[Role]:
        """The roles whose assertions may be kept, or have remedies."""
        return self.always_relevant_roles.union(self.axioms)

    @property
    def relevant_atoms(self) -> int:
        """Bitmask of the atoms that outcomes depend on."""
        literals = {
            literal
            for axioms in self.axioms.values()
            for x in axioms
            for literal in (x.premise, x.filler)
            if literal
        }
        return sum({1 << self.atom_ids[name] for name, _ in literals})

    def outcome(
        self, role: Role, subject: Label, object: Label, old: tuple[Label, Label] | None
    ) -> Outcome:
        """Decide whether a role assertion between elements with these asserted labels is kept, or
        which remedies replace it.

        old: the labels of its ends in A without the deletions; None if it is inserted. A remedy
            that these give too is entailed by A, so its element does not enter.
        """
        if role in self.always_relevant_roles:
            return _KEPT
        if role not in self.axioms:
            return _GONE
        found = self._remedies_both_ways(role, subject, object)
        before = set(self._remedies_both_ways(role, *old)) if old else set()
        placed: list[tuple[bool, str, bool]] = []
        enters = {False: False, True: False}
        for backward, remedy in found:
            if remedy is None:
                return _KEPT
            at_object = remedy.at_branch != backward
            placed.append((at_object, remedy.name, remedy.positive))
            enters[at_object] |= (backward, remedy) not in before
        return Outcome(False, tuple(placed), enters[False], enters[True])

    def _remedies_both_ways(
        self, role: Role, subject: Label, object: Label
    ) -> list[tuple[bool, Remedy | None]]:
        """The remedies of a role assertion: for axioms above ``role`` as (False, remedy), above its
        inverse as (True, remedy).
        """
        forward = remedies(self.axioms[role], subject, object, self.atom_ids)
        backward = remedies(self.axioms[role.inverse], object, subject, self.atom_ids)
        return [*((False, remedy) for remedy in forward), *((True, remedy) for remedy in backward)]
