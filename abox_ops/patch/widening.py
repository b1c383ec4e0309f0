"""The loop of Theorem 3: asks for the modules of a patch and widens it where one fails (THEORY, "The loop": steps (a) to (d)).

Consistent modules are exact as they are asked. One that is inconsistent, or undecided, is asked bare (a): without assumptions
and residuals it consists of consequences of (T, A ∪ A⁺), so inconsistent is exact then. Otherwise its assumptions are given up
(b); with none left, what its residuals kept out is pulled in (c); with none of these left, it was bare already (d).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from abox_ops.engine import Certain, Inquiry, NamedModule, unheard
from abox_ops.modules.named import ModuleAnswers, NamedModules, asked, distinct_answers, positions
from shiq.clause import ClausalTBox
from shiq.reasoner.protocol import Answer
from shiq.verdict import Verdict


class Patch(Protocol):
    """I of one batch, growing. Individuals stand for their elements."""

    @property
    def tbox(self) -> ClausalTBox:
        """The clauses over which modules are asked."""

    def close(self, *, to_clash: bool = False, certain: Certain = unheard) -> bool:
        """Brings in what the border rules ask for. With ``to_clash``, goes no further than to elements that told⁺ contradicts,
        which are then all of I; whether there are any. ``certain`` is called where there are some, with and without."""

    def asked(self) -> Sequence[NamedModule]:
        """The modules as they are asked: with what is assumed, and residuals."""

    def bare(self) -> Sequence[NamedModule]:
        """The same modules, in the same order, without."""

    def give_up_assumptions(self, individuals: Sequence[str]) -> bool:
        """Makes the elements of ``individuals`` plain; whether any of them was assumed to be more than it is told."""

    def pull_in_for(self, individuals: Sequence[str]) -> bool:
        """Takes in what the residuals of the elements of ``individuals`` kept out; whether there was any."""


@dataclass(frozen=True)
class PatchOutcome:
    """What came of a patch. ``modules`` with one answer each: the refuted ones as they were asked bare, then the others as they
    were asked last."""

    modules: Sequence[NamedModule]
    answers: Sequence[Answer]

    @property
    def is_consistent(self) -> bool:
        return all(a.verdict is Verdict.CONSISTENT for a in distinct_answers(self.answers))


@dataclass
class _RefutedModules:
    """Modules that were found inconsistent as they stand, and the individuals in them."""

    modules: list[NamedModule] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    individuals: set[str] = field(default_factory=set)

    def add(self, module: NamedModule, answer: Answer) -> None:
        self.modules.append(module)
        self.answers.append(answer)
        self.individuals.update(_individuals(module))

    def others(self, modules: Sequence[NamedModule]) -> Sequence[int]:
        """Which of ``modules`` have none of the individuals."""
        if not self.individuals:
            return range(len(modules))
        return [i for i, module in enumerate(modules) if self.individuals.isdisjoint(_individuals(module))]


def patched(patch: Patch, inquiry: Inquiry) -> PatchOutcome:
    """Decides (T, A ∪ A⁺) by patching the certified model. That it is inconsistent is known as soon as consequences of
    (T, A ∪ A⁺) alone show it.

    Stops because every round refutes a module, makes an element plain, or pulls one in.
    """
    decide, verdict_only = inquiry.decide, inquiry.verdict_only
    refuted = _RefutedModules()
    while True:
        if patch.close(to_clash=verdict_only, certain=inquiry.certain):
            return PatchOutcome((), ())
        modules = NamedModules.of(patch.asked())
        rest = refuted.others(modules)
        open_ = modules if len(rest) == len(modules) else NamedModules.of([modules[i] for i in rest])
        answers = asked(open_, lambda distinct: decide(patch.tbox, distinct))
        failed = positions(answers, lambda answer: answer.verdict is not Verdict.CONSISTENT)
        settled: set[int] = set()
        if failed:
            bare = patch.bare()
            for i, answer in zip(failed, decide(patch.tbox, [bare[rest[i]].module for i in failed])):
                if answer.verdict is Verdict.INCONSISTENT:
                    refuted.add(bare[rest[i]], answer)
                    inquiry.certain()
                    settled.add(i)
        if (
            inquiry.is_over()
            or (verdict_only and refuted.modules)
            or not _widen(patch, [open_[i] for i in failed if i not in settled])
        ):
            break
    if not refuted.modules:
        return PatchOutcome(open_, ModuleAnswers(open_, list(map(_undecided, answers.distinct))))
    left = [i for i in range(len(open_)) if i not in settled]
    return PatchOutcome(
        [*refuted.modules, *(open_[i] for i in left)], [*refuted.answers, *(_undecided(answers[i]) for i in left)]
    )


def _widen(patch: Patch, failed: Iterable[NamedModule]) -> bool:
    """Steps (b) and (c) for every failed module; whether anything changed."""
    changed = False
    for module in failed:
        individuals = _individuals(module)
        changed = patch.give_up_assumptions(individuals) or patch.pull_in_for(individuals) or changed
    return changed


def _undecided(answer: Answer) -> Answer:
    """An answer that is no proof, since the module rests on assumptions, as undetermined."""
    if answer.verdict is not Verdict.INCONSISTENT:
        return answer
    return Answer(Verdict.UNDETERMINED, "the check ended before a module was looked at without assumptions")


def _individuals(module: NamedModule) -> list[str]:
    return [i for element in module.elements for i in element]
