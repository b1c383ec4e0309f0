"""The loop of Theorem 3: asks for the modules of a patch and widens it where one fails (THEORY.md 3.4, steps (a) to (d)).

Consistent modules are exact as they are asked. One that is inconsistent, or undecided, is asked bare (a): without assumptions
and residuals it consists of consequences of (T, A ∪ A⁺), so inconsistent is exact then. Otherwise its assumptions are given up
(b); with none left, what its residuals kept out is pulled in (c); with none of these left, it was bare already (d).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from abox_ops.add_set import Closure
from abox_ops.engine import Decide, NamedModule
from abox_ops.modules import Kept, modules
from abox_ops.outside_completion import OutsideCompletion
from abox_ops.patch import Patch
from shiq.reasoner.protocol import Answer
from shiq.verdict import Verdict


@dataclass(frozen=True)
class Patched:
    """What came of a patch. ``modules`` with one answer each: the refuted ones as they were asked bare, then the others as they
    were asked last. ``rounds``: how often the modules were asked."""

    closure: Closure
    modules: Sequence[NamedModule]
    answers: Sequence[Answer]
    rounds: int = 1

    @property
    def is_consistent(self) -> bool:
        return not self.closure.contradictory and all(a.verdict is Verdict.CONSISTENT for a in self.answers)


@dataclass
class _Refuted:
    """Modules that were found inconsistent as they stand, and the individuals in them."""

    modules: list[NamedModule] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    individuals: set[str] = field(default_factory=set)

    def add(self, module: NamedModule, answer: Answer) -> None:
        self.modules.append(module)
        self.answers.append(answer)
        self.individuals |= _individuals(module)


def patched(patch: Patch, decide: Decide, is_over: Callable[[], bool] = lambda: False) -> Patched:
    """Decides (T, A ∪ A⁺) by patching the certified model; ``is_over`` says when to leave undecided what is.

    Stops because every round refutes a module, makes an element plain, or pulls one in.
    """
    tbox = patch.means.residuals.tbox
    refuted = _Refuted()
    rounds = 0
    while True:
        rounds += 1
        patch.close()
        asked_kept, bare_kept = patch.kept()
        pairs = [
            (asked, bare)
            for asked, bare in zip(_modules(patch, asked_kept), _modules(patch, bare_kept))
            if not _individuals(asked) & refuted.individuals
        ]
        answers = decide(tbox, [asked.module for asked, _ in pairs])
        failed = [i for i, answer in enumerate(answers) if answer.verdict is not Verdict.CONSISTENT]
        bare_answers = dict(zip(failed, decide(tbox, [pairs[i][1].module for i in failed])))
        settled = {i for i, answer in bare_answers.items() if answer.verdict is Verdict.INCONSISTENT}
        for i in settled:
            refuted.add(pairs[i][1], bare_answers[i])
        open_modules = [pairs[i][0] for i in failed if i not in settled]
        if is_over() or not _widen(patch, open_modules):
            break
    rest = [i for i in range(len(pairs)) if i not in settled]
    return Patched(
        _closure(patch, bare_kept),
        [*refuted.modules, *(pairs[i][0] for i in rest)],
        [*refuted.answers, *(_undecided(answers[i]) for i in rest)],
        rounds,
    )


def _widen(patch: Patch, failed: Iterable[NamedModule]) -> bool:
    """Steps (b) and (c) for every failed module; whether anything changed."""
    changed = False
    for module in failed:
        elements = {patch.whole.elements.find(i) for i in _individuals(module)}
        changed = patch.give_up_assumptions(elements) or patch.pull_in_for(elements) or changed
    return changed


def _undecided(answer: Answer) -> Answer:
    """An answer that is no proof, since the module rests on assumptions, as undetermined."""
    if answer.verdict is not Verdict.INCONSISTENT:
        return answer
    return Answer(Verdict.UNDETERMINED, "time ran out before a module was looked at without assumptions")


def _modules(patch: Patch, kept: Kept) -> list[NamedModule]:
    return modules(kept, {e: patch.whole.elements.members(e) for e in kept.labels})


def _individuals(module: NamedModule) -> set[str]:
    return {i for element in module.elements for i in element}


def _closure(patch: Patch, bare: Kept) -> Closure:
    return Closure(frozenset(patch.inside), dict(patch.labels()), patch.touched(), frozenset(patch.contradictory()), bare)


def certified_completion(base: OutsideCompletion, patch: Patch, decide: Decide, is_over: Callable[[], bool]) -> OutsideCompletion:
    """N of a consistent (T, A), read off its certificate: ``patch`` puts all of A into nothing. ``base`` says what is told.

    Where A turns out to be inconsistent, or is left undecided under an assumption, N says nothing beyond ``base``.
    """
    found = patched(patch, decide, is_over)
    if found.closure.contradictory or any(answer.verdict is not Verdict.CONSISTENT for answer in found.answers):
        return base
    elements = base.graph.elements
    module_of = {elements.find(i): n for n, module in enumerate(found.modules) for i in _individuals(module)}
    return OutsideCompletion(base.space, base.graph, base.told, {e: patch.label(e) for e in base.told}, module_of)
