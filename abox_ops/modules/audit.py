"""Deciding a share of the shapes again by a second reasoner (``--audit``).

Which shapes are drawn follows from what they are, so the same question is audited the same way
every time. A disagreement is a fault in one of two reasoners: nothing that rests on either can
be believed, so the run stops there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

from shiq.abox_ops.modules.decide import Decider
from shiq.abox_ops.modules.shapes import Shape, Shapes
from shiq.answers.verdict import Verdict
from shiq.model.clause import ClausalTBox
from shiq.reasoner.protocol import Answer, Module, Reasoner


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A module that two reasoners answer differently, and what each says."""

    tbox: ClausalTBox
    module: Module
    reasoners: tuple[str, str]
    answers: tuple[Answer, Answer]

    def __str__(self) -> str:
        said = " and ".join(
            f"{name} {answer.verdict.value}" for name, answer in zip(self.reasoners, self.answers)
        )
        return f"AUDIT: two reasoners disagree about one module of {len(self.module.positive)} individuals: {said}"


@dataclass
class Audit:
    """``share`` of the shapes, 0 to 1, goes to a second reasoner, made when it is first needed:
    ``seconds`` says by whom each reasoner is audited. ``asked``, ``agreed``, ``unsettled`` count
    shapes; unsettled ones the second could not decide.
    """

    share: float
    seconds: Mapping[str, Callable[[], Reasoner]]
    asked: int = 0
    agreed: int = 0
    unsettled: int = 0
    disagreements: list[Disagreement] = field(default_factory=list)
    _made: dict[str, Reasoner] = field(default_factory=dict)

    def is_drawn(self, shape: Shape) -> bool:
        """Whether ``shape`` is among the share."""
        digest = blake2b(repr(shape).encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return int.from_bytes(digest, "big") < self.share * 2**64

    def examine(
        self, tbox: ClausalTBox, asked: Sequence[tuple[Module, Answer, str]], timeout: float | None
    ) -> None:
        """Puts decided modules to the auditor of who answered, and books what it says; the first
        disagreement ends it.
        """
        by_name: dict[str, list[tuple[Module, Answer]]] = {}
        for module, answer, name in asked:
            if answer.verdict is not Verdict.UNDETERMINED and name in self.seconds:
                by_name.setdefault(name, []).append((module, answer))
        for name, pairs in by_name.items():
            second = self._auditor(name)
            for (module, first), other in zip(
                pairs, second.decide(tbox, [m for m, _ in pairs], timeout)
            ):
                self.asked += 1
                if other.verdict is Verdict.UNDETERMINED:
                    self.unsettled += 1
                elif other.verdict is first.verdict:
                    self.agreed += 1
                else:
                    self.disagreements.append(
                        Disagreement(tbox, module, (name, second.name), (first, other))
                    )
                    return

    def close(self) -> None:
        """Frees the auditors."""
        for reasoner in self._made.values():
            reasoner.close()
        self._made.clear()

    def __str__(self) -> str:
        return (
            f"audit of {self.share:.3%} of the shapes: {self.asked} decided again, {self.agreed} agreed, "
            f"{len(self.disagreements)} disagreed, {self.unsettled} left open by the second reasoner"
        )

    def _auditor(self, name: str) -> Reasoner:
        if name not in self._made:
            self._made[name] = self.seconds[name]()
        return self._made[name]


# Where workers decide, the shapes that are drawn come to the driver, with what was said of them.
#
# There each is put to the same reasoner again, and to the second one that audits it; all three have
# to agree.


@dataclass(frozen=True)
class DrawnShapes:
    """Modules over ``tbox``, one of each shape that is drawn, and the verdicts of executors."""

    tbox: ClausalTBox
    modules: tuple[tuple[Module, str], ...]


def drawn(tbox: ClausalTBox, decided: Iterable[tuple[Module, str]], share: float) -> DrawnShapes:
    """The ``decided`` modules that are among the ``share``, one of each shape: the same ones with
    every engine.
    """
    audit, shapes = Audit(share, {}), Shapes(tbox)
    asked = ((shapes.shape(pair[0]), pair) for pair in decided) if share else ()
    return DrawnShapes(tbox, tuple({x: pair for x, pair in asked if audit.is_drawn(x)}.values()))


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
