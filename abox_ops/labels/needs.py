"""Needs: which ≥k R.D may have to be met at an element, by its label (THEORY, "Irrelevant role
assertions").
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from abox_ops.labels.calculus import Label, LabelSpace
from shiq.bits import bits
from shiq.clause import AtLeast, ClausalTBox
from shiq.roles import Role


@dataclass
class Needs:
    """The ≥k R.D that may have to be met at an element, by label, memoised."""

    space: LabelSpace

    def __post_init__(self) -> None:
        self._needed: dict[Label, tuple[AtLeast, ...]] = {}
        names = sum(1 << i for i, a in enumerate(self.space.tbox.atoms) if isinstance(a, str))
        self.heads: list[tuple[int, int, int]] = []
        at_least = sum(1 << i for i in self.space.at_least)
        for c in self.space.compiled:
            for i in bits(c.head & at_least):
                self.heads.append((i, c.body, c.head & names))

    def needed(self, label: Label) -> tuple[AtLeast, ...]:
        """≥k R.D told at ``label``, or in the head of a clause without a body name negated or a
        head name told there.
        """
        found = self._needed.get(label)
        if found is None:
            positive, negative = label
            ids = {
                i for i, body, names in self.heads if not body & negative and not names & positive
            } | {i for i in self.space.at_least if positive >> i & 1}
            found = self._needed[label] = tuple(self.space.at_least[i] for i in sorted(ids))
        return found


def is_served(
    tbox: ClausalTBox, need: AtLeast, certified: Label, label: Label, roles: Collection[Role]
) -> bool:
    """(wit) The model did not take a for a witness of ``need`` at b, or the one witness asked
    for may go on being a, which is ``certified``, has ``label`` and is reached from b by
    asserted ``roles``.
    """
    bit = 0 if need.filler is None else 1 << tbox.atom_ids[need.filler]
    if bit & certified[1]:
        return True
    below = tbox.roles.subroles(need.role)
    return need.n == 1 and not bit & ~label[0] and any(r in below for r in roles)
