"""Remedy assertions (Definition 6 of Wu and Lécué, CIKM 2014): a concept assertion that stands for a role assertion.

For S(a, b) and L₁ ⊑ ∀S'.L₂ with S ⊑* S': nothing is to be done where b:L₂ or a:¬L₁ is asserted; the remedy is b:L₂ where a:L₁ is
asserted or L₁ = ⊤, and a:¬L₁ where b:¬L₂ is; otherwise there is none. S is irrelevant, if it is not m-part, when every such
axiom is met or has a remedy (Definition 7).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from abox_ops.labels.calculus import Label
from shiq.clause import Atom
from simplify import Universal


class Remedy(NamedTuple):
    """The literal (name, positive) at the branch (b) or at the centre (a) of the axiom."""

    at_branch: bool
    name: str
    positive: bool


def remedies(axioms: Iterable[Universal], centre: Label, branch: Label, atom_ids: Mapping[Atom, int]) -> list[Remedy] | None:
    """The remedies of a role assertion from ``centre`` to ``branch`` for ``axioms``; None if one of them has none.

    ``axioms`` are those whose role lies above the assertion's.
    """

    def holds(name: str, positive: bool, label: Label) -> bool:
        return bool(label[0 if positive else 1] >> atom_ids[name] & 1)

    found: list[Remedy] = []
    for axiom in axioms:
        filler, positive = axiom.filler
        if holds(filler, positive, branch):
            continue
        if axiom.premise is None:
            found.append(Remedy(True, filler, positive))
            continue
        premise, sign = axiom.premise
        if holds(premise, not sign, centre):
            continue
        if holds(premise, sign, centre):
            found.append(Remedy(True, filler, positive))
        elif holds(filler, not positive, branch):
            found.append(Remedy(False, premise, not sign))
        else:
            return None
    return found
