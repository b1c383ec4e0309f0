"""Decide a batch: ask about the modules of its patch, and widen I where one fails (THEORY, "The
loop": steps (a) to (d); "How much is asked, and how far I grows").

A consistent module is final. An inconsistent or undecided one is asked bare (a): without
assumptions and residuals it consists of consequences of (T, A ∪ A⁺), so inconsistent is final then.
Otherwise its assumptions are given up (b). If there are none, the elements that its residuals kept
out are pulled in (c). If there are none of these, it was bare already (d). Only then is it asked in
full; before, other answers only mean to widen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from shiq.abox_ops.engine import (
    NO_WIDENING,
    Inquiry,
    NamedModule,
    WideningFigures,
)
from shiq.abox_ops.labels.label_numbers import Bools
from shiq.abox_ops.modules.add_set import (
    NamedModules,
    answer_positions,
    ask_distinct,
    distinct_answers,
    individuals_in,
)
from shiq.abox_ops.patch.effort import Effort
from shiq.abox_ops.patch.inside_region import PatchRegion
from shiq.abox_ops.patch.strides import OpenEdges
from shiq.answers.verdict import Verdict
from shiq.columns.arrays import Ints, is_in
from shiq.reasoner.protocol import Answer, Module

if TYPE_CHECKING:
    from shiq.abox_ops.patch.patch import Patch


@dataclass(frozen=True)
class PatchOutcome:
    """Result of deciding a batch by patching the certified model.

    modules, answers: the refuted modules, bare, then the others as they were asked last; one answer
        each.
    widening: the cost of asking again.
    """

    modules: Sequence[NamedModule]
    answers: Sequence[Answer]
    widening: WideningFigures = NO_WIDENING

    @property
    def is_consistent(self) -> bool:
        """Whether every module is consistent."""
        return all(a.verdict is Verdict.CONSISTENT for a in distinct_answers(self.answers))


@dataclass
class _RefutedModules:
    """Modules that are inconsistent without assumptions, with their individuals."""

    modules: list[NamedModule] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    individuals: set[str] = field(default_factory=set)

    def add(self, module: NamedModule, answer: Answer) -> None:
        """Add a refuted module and its answer."""
        self.modules.append(module)
        self.answers.append(answer)
        self.individuals.update(individuals_in(module))

    def disjoint_modules(self, modules: Sequence[NamedModule]) -> Sequence[int]:
        """Find the positions of those ``modules`` that share no individual with refuted ones."""
        if not self.individuals:
            return range(len(modules))
        return [
            i
            for i, module in enumerate(modules)
            if self.individuals.isdisjoint(individuals_in(module))
        ]


@dataclass
class _UndecidedQuestions:
    """Modules asked without assumptions that a small budget left undecided: for each individual,
    the smallest such module.
    """

    smallest: dict[str, NamedModule] = field(default_factory=dict)

    def add(self, module: NamedModule) -> None:
        """Record ``module``, which was asked without assumptions and stayed undecided."""
        individuals = individuals_in(module)
        least = min((module, *self._questions_about(individuals)), key=_size_order)
        self.smallest.update(dict.fromkeys(individuals, least))

    def smallest_about(self, module: NamedModule) -> NamedModule | None:
        """The smallest recorded module that shares an individual with ``module``; None if there is
        none.
        """
        return min(self._questions_about(individuals_in(module)), key=_size_order, default=None)

    def _questions_about(self, individuals: Sequence[str]) -> list[NamedModule]:
        """The recorded modules that contain one of ``individuals``."""
        return [self.smallest[i] for i in individuals if i in self.smallest]


def _size_order(module: NamedModule) -> tuple[int, tuple[tuple[str, ...], ...]]:
    """Sort key that orders modules by size, then by their elements."""
    return len(module.elements), module.elements


class _PatchQuestions:
    """Questions to the reasoner about the modules of one patch, with answers remembered during the
    loop.
    """

    def __init__(self, patch: Patch, inquiry: Inquiry) -> None:
        self.patch, self.inquiry = patch, inquiry
        self.open_questions = _UndecidedQuestions()
        #: Modules that were left open in full: they are not asked again, though others are.
        self._undecided_answers: dict[Module, Answer] = {}

    def attempt(self, modules: Sequence[Module]) -> Sequence[Answer]:
        """Decide ``modules`` within the small budget."""
        return (self.inquiry.attempt or self.inquiry.decide)(self.patch.tbox, modules)

    def decide_in_full(self, modules: Sequence[Module]) -> list[Answer]:
        """Decide modules without assumptions, which cannot be widened, by the full budget."""
        new = [module for module in dict.fromkeys(modules) if module not in self._undecided_answers]
        told = dict(zip(new, self.inquiry.decide(self.patch.tbox, new))) if new else {}
        self._undecided_answers.update(
            (m, answer) for m, answer in told.items() if answer.verdict is Verdict.UNDETERMINED
        )
        return [told[m] if m in told else self._undecided_answers[m] for m in modules]

    def final_answers(
        self, asked: Sequence[NamedModule], answers: Sequence[Answer], bare: Sequence[NamedModule]
    ) -> list[Answer]:
        """Give the answers that stand for modules which cannot be widened.

        Those to ``asked`` where they are exact for ``bare`` too, else full answers.
        """
        found: list[Answer | None] = [
            answer
            if mine.module == other.module
            and (self.inquiry.attempt is None or answer.verdict is Verdict.INCONSISTENT)
            else None
            for mine, answer, other in zip(asked, answers, bare)
        ]
        told = iter(
            self.decide_in_full(
                [module.module for module, answer in zip(bare, found) if answer is None]
            )
        )
        return [next(told) if answer is None else answer for answer in found]


def decide_patch(patch: Patch, inquiry: Inquiry) -> PatchOutcome:
    """Decide (T, A ∪ A⁺) by patching the certified model. Inconsistency is reported as soon as
    consequences of (T, A ∪ A⁺) alone show it.

    Stops because every round refutes a module, makes an element plain, or pulls one in.
    """
    verdict_only = inquiry.verdict_only
    refuted, questions = _RefutedModules(), _PatchQuestions(patch, inquiry)
    rounds = widened = laid_out = 0
    while True:
        rounds += 1
        if patch.close(to_clash=verdict_only, certain=inquiry.on_inconsistent):
            return PatchOutcome((), (), WideningFigures(rounds, 2 * widened, laid_out))
        modules = NamedModules.from_modules(patch.assumed_modules())
        rest = refuted.disjoint_modules(modules)
        open_ = (
            modules
            if len(rest) == len(modules)
            else NamedModules.from_modules([modules[i] for i in rest])
        )
        answers = ask_distinct(open_, questions.attempt)
        failed = answer_positions(answers, lambda answer: answer.verdict is not Verdict.CONSISTENT)
        exact: dict[int, Answer] = {}
        chosen: list[int] = []
        if failed:
            every = patch.bare_modules()
            bare = {i: every[rest[i]] for i in failed}
            can_widen = patch.can_widen([individuals_in(open_[i]) for i in failed])
            chosen = [i for i, can in zip(failed, can_widen) if can]
            final = [i for i, can in zip(failed, can_widen) if not can]
            told = questions.final_answers(
                [open_[i] for i in final], [answers[i] for i in final], [bare[i] for i in final]
            )
            exact = dict(zip(final, told))
            tried = (
                dict(zip(chosen, questions.attempt([bare[i].module for i in chosen])))
                if chosen
                else {}
            )
            for i, answer in sorted({**exact, **tried}.items()):
                if answer.verdict is Verdict.INCONSISTENT:
                    refuted.add(bare[i], answer)
                    exact[i] = answer
                    inquiry.on_inconsistent()
                elif i in tried and answer.verdict is Verdict.UNDETERMINED:
                    questions.open_questions.add(bare[i])
            chosen = [i for i in chosen if i not in exact]
        if inquiry.is_over() or (verdict_only and refuted.modules) or not chosen:
            break
        patch.widen([individuals_in(open_[i]) for i in chosen])
        widened += len(chosen)
        laid_out += sum(len(open_[i].elements) for i in chosen)
    exact.update((i, _as_undetermined(answers[i])) for i in chosen)
    if not refuted.modules and not inquiry.is_over():
        for i, answer in exact.items():
            if answer.verdict is Verdict.UNDETERMINED and (
                smallest := questions.open_questions.smallest_about(open_[i])
            ):
                (last,) = questions.decide_in_full([smallest.module])
                if last.verdict is Verdict.INCONSISTENT:
                    refuted.add(smallest, last)
                    inquiry.on_inconsistent()
    figures = WideningFigures(rounds, 2 * widened, laid_out, patch.closed_count())
    if not exact and not refuted.modules:
        return PatchOutcome(open_, answers, figures)
    left = refuted.disjoint_modules(open_)
    return PatchOutcome(
        [*refuted.modules, *(open_[i] for i in left)],
        [*refuted.answers, *(exact.get(i) or answers[i] for i in left)],
        figures,
    )


def _as_undetermined(answer: Answer) -> Answer:
    """Turn an answer about a module with assumptions into an undetermined one, since it proves
    nothing.
    """
    if answer.verdict is Verdict.UNDETERMINED:
        return answer
    return Answer(
        Verdict.UNDETERMINED, "the check ended before a module was looked at without assumptions"
    )


def can_widen(region: PatchRegion, elements: Ints) -> bool:
    """Decide whether anything is assumed of ``elements``, or a residual at them keeps an element
    out of the region I.
    """
    return bool(_is_guessed(region, elements).any() or _is_kept_out_by(region, elements).any())


def widen_region(region: PatchRegion, modules: Sequence[Ints]) -> None:
    """Drop the assumptions about the elements of each of ``modules``; where there are none, put
    into the region I the elements that residuals kept out.

    Writes ``is_plain``, ``is_inside``, ``effort``, ``pulled_in``.
    """
    _, out, _, codes = region.kept_out
    pulled: list[tuple[Ints, Effort]] = []
    failed: list[tuple[Ints, Effort]] = []
    for elements in modules:
        effort = region.effort.after_turn(elements)
        guessed = elements[_is_guessed(region, elements)]
        region.effort.raise_to(elements, effort)
        region.is_plain[elements if effort.is_closed else guessed] = True
        failed.append((elements, effort))
        if effort.is_closed or not len(guessed):
            wanted = _is_kept_out_by(region, elements)
            region.pulled_in.note(out[wanted], codes[wanted])
            pulled.append((out[wanted], effort))
    _widen_surroundings(region, failed)
    for targets, effort in pulled:
        region.is_inside[targets] = True
        region.effort.raise_to(targets, effort)
        region.is_plain[targets[region.effort.are_closed(targets)]] = True


def _widen_surroundings(region: PatchRegion, failed: Sequence[tuple[Ints, Effort]]) -> None:
    """Drop the assumptions about the elements around modules that ``failed``, and raise their
    effort (`shiq.abox_ops.patch.strides.surroundings`).
    """
    graph = region.graph
    inner = OpenEdges(graph, region.calculus, region.is_inside)
    for elements, effort in failed:
        around = inner.surroundings(graph.key[elements], effort)
        near, rim = (
            graph.locate(np.array(list(keys), np.int64)) for keys in (around.plain, around.rim)
        )
        if effort.is_closed:
            region.is_plain[graph.rep[near]] = True
        region.effort.raise_to(graph.rep[np.concatenate([near, rim])], around.effort)


def _is_guessed(region: PatchRegion, elements: Ints) -> Bools:
    """Decide whether the label assumed of each element has a literal that is not told."""
    return (
        region.is_inside[elements]
        & (region.labels.mu[elements] != region.graph.label[elements])
        & ~region.is_plain[elements]
    )


def _is_kept_out_by(region: PatchRegion, elements: Ints) -> Bools:
    """Decide for each role assertion with a residual whether that residual is at one of
    ``elements``.
    """
    here, out, _, _ = region.kept_out
    return is_in(here, elements) & ~region.is_inside[out]
