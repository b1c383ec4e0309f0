"""Deciding the modules of an add set: one question per shape, answers remembered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from abox_ops.shapes import Shape, Shapes
from shiq.clause import ClausalTBox
from shiq.datatypes import DataTheory
from shiq.reasoner.protocol import Answer, Module, Reasoner
from shiq.verdict import Verdict


@dataclass
class Decider:
    """Asks ``reasoner`` about shapes that it has not answered yet. ``asked`` counts the modules that reached the reasoner,
    ``shapes`` the distinct ones met. Undetermined answers are not remembered."""

    reasoner: Reasoner
    progress: Callable[[str, int, int], None] | None = None
    asked: int = 0
    known: dict[int, tuple[ClausalTBox, Shapes, dict[Shape, Answer]]] = field(default_factory=dict)

    #: Shapes per call of the reasoner, so that progress shows and one time-out does not cost everything.
    BATCH = 500

    def decide(self, tbox: ClausalTBox, modules: Sequence[Module], timeout: float | None = None) -> list[Answer]:
        """One answer per module, in order."""
        _, shapes, answers = self.known.setdefault(id(tbox), (tbox, Shapes(tbox, DataTheory(tbox.definitions, tbox.roles)), {}))
        keys = [shapes.shape(m) for m in modules]
        open_shapes = {k: m for k, m in zip(keys, modules) if k not in answers}
        found: dict[Shape, Answer] = {}
        asked = {k: id(m) for k, m in open_shapes.items()}
        items = list(open_shapes.items())
        for start in range(0, len(items), self.BATCH):
            part = items[start : start + self.BATCH]
            for (key, _), answer in zip(part, self.reasoner.decide(tbox, [m for _, m in part], timeout)):
                found[key] = answer
                if answer.verdict is not Verdict.UNDETERMINED:
                    # Other modules of this shape have their nodes in another order.
                    answers[key] = replace(answer, near=())
            self.asked += len(part)
            if self.progress:
                self.progress("deciding shapes", min(start + self.BATCH, len(items)), len(items))
        return [found[k] if asked.get(k) == id(m) else answers.get(k) or found[k] for k, m in zip(keys, modules)]

    def shapes(self, tbox: ClausalTBox, modules: Sequence[Module]) -> int:
        """How many distinct shapes ``modules`` have."""
        entry = self.known.get(id(tbox))
        return len({entry[1].shape(m) for m in modules}) if entry else 0
