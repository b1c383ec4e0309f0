"""Which classes of a TBox can have no member."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shiq.clause import ClausalTBox
from shiq.model import NOTHING
from shiq.reasoner.protocol import Answer, Module
from shiq.verdict import Verdict

#: Classes that are asked about in one go, between looks at the clock.
LOT = 50


def unsatisfiable_classes(
    tbox: ClausalTBox,
    decide: Callable[[Sequence[Module]], Sequence[Answer]],
    is_over: Callable[[], bool] = lambda: False,
) -> tuple[list[str], int]:
    """The named classes, sorted, that have no member in any model of ``tbox``, and how many were
    left undecided.

    Only classes that some clause mentions are asked about: another can always have a member,
    unless nothing can.
    """
    names = sorted(
        (atom, i)
        for i, atom in enumerate(tbox.atoms)
        if isinstance(atom, str) and atom not in tbox.fresh and atom != NOTHING.iri
    )
    found: list[str] = []
    left = len(names)
    for start in range(0, len(names), LOT):
        if is_over():
            break
        part = names[start : start + LOT]
        for (name, _), answer in zip(part, decide([Module((1 << i,), (0,)) for _, i in part])):
            left -= answer.verdict is not Verdict.UNDETERMINED
            if answer.verdict is Verdict.INCONSISTENT:
                found.append(name)
    return found, left
