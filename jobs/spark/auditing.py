"""`--audit` where executors decide: the shapes that are drawn come to the driver, with what was
said of them.

There each is put to the same reasoner again, and to the second one that audits it
(`abox_ops.modules.audit`); all three have to agree.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from abox_ops.modules.audit import Audit, Disagreement
from abox_ops.modules.decide import Decider
from abox_ops.modules.shapes import Shape, Shapes
from shiq.clause import ClausalTBox
from shiq.reasoner.protocol import Answer, Module
from shiq.verdict import Verdict


@dataclass(frozen=True)
class DrawnShapes:
    """Modules over ``tbox``, one of each shape that is drawn, and the verdicts of executors."""

    tbox: ClausalTBox
    modules: tuple[tuple[Module, str], ...]


def is_drawn(shape: Shape, share: float) -> bool:
    """Whether ``shape`` is among the ``share``: the same ones with every engine."""
    return share > 0 and Audit(share, {}).is_drawn(shape)


def drawn(tbox: ClausalTBox, decided: Iterable[tuple[Module, str]], share: float) -> DrawnShapes:
    """The ``decided`` modules that are among the ``share``, one of each shape."""
    shapes = Shapes(tbox)
    found = (
        {shape: pair for pair in decided if is_drawn(shape := shapes.shape(pair[0]), share)}
        if share
        else {}
    )
    return DrawnShapes(tbox, tuple(found.values()))


def examine(asked: DrawnShapes, decider: Decider, seconds: float | None) -> None:
    """Puts ``asked`` to ``decider``, which audits, and books a disagreement with an executor as
    one.
    """
    audit, name = decider.audit, decider.reasoner.name
    if audit is None or not asked.modules:
        return
    # What a small budget left open was widened, and is nobody's answer.
    decided = [
        (module, verdict)
        for module, verdict in asked.modules
        if verdict != Verdict.UNDETERMINED.value
    ]
    answers = decider.decide(asked.tbox, [module for module, _ in decided], seconds)
    for (module, verdict), here in zip(decided, answers):
        there = Answer(Verdict(verdict))
        told = {there.verdict, here.verdict}
        if len(told) == 2 and Verdict.UNDETERMINED not in told and not audit.disagreements:
            audit.disagreements.append(
                Disagreement(asked.tbox, module, (f"{name} in an executor", name), (there, here))
            )
