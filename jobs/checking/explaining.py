"""Explain an inconsistent batch by its minimal conflicts, for engines of this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from shiq.abox_ops.conflicts.explain import Checker, Explainer
from shiq.abox_ops.conflicts.refuter import Refuter
from shiq.abox_ops.engine import MODEL, AddSet, LayeredKnowledgeBase, ModelKnowledgeBase
from shiq.abox_ops.modules.add_set import count_verdicts, inconsistent_groups
from shiq.abox_ops.modules.decide import Decider
from shiq.answers.verdict import Verdict
from shiq.deadline import DeadlineExceeded, interrupt_after, report_stages_to
from shiq.jobs.checking.base import Explanation, OpenBase
from shiq.jobs.checking.options import Options
from shiq.model.abox import ABox
from shiq.reasoner.protocol import Answer


class PartChecker(Protocol):
    """Protocol: function that checks a subset ``part`` of the batch, on top of the accepted subset
    ``onto`` if that is given.
    """

    def __call__(
        self, part: ABox, stage: Callable[[str], None], onto: ModelKnowledgeBase | None = None
    ) -> tuple[AddSet, Sequence[Answer]]: ...


def explain_groups(
    base: OpenBase,
    insertions: ABox,
    add_set: AddSet,
    groups: list[tuple[str, ...]],
    answered: PartChecker,
    decider: Decider,
    options: Options,
    deadline: float | None,
    limit: str,
) -> Explanation:
    """Find the conflicts of ``insertions`` in the inconsistent ``groups`` of individuals of
    ``add_set``.
    """

    def check(
        part: ABox, onto: ModelKnowledgeBase | None = None
    ) -> tuple[AddSet, list[tuple[str, ...]]]:
        found, answers = answered(part, lambda _: None, onto)
        refuter.in_doubt = refuter.in_doubt or bool(count_verdicts(answers)[Verdict.UNDETERMINED])
        return found, inconsistent_groups(found, answers)

    def make_checker_above(accepted: AddSet) -> Checker | None:
        knowledge_base = base.knowledge_base
        if options.criterion != MODEL or not isinstance(knowledge_base, LayeredKnowledgeBase):
            return None
        onto = knowledge_base.with_accepted(accepted)
        return None if onto is None else lambda part: check(part, onto)

    refuter = Refuter(base.tbox, decider, deadline)
    explainer = Explainer(
        refuter,
        check,
        options.max_conflicts,
        options.progress,
        make_checker_above,
        base.is_certified,
    )
    # The many small questions of explaining are not audited: the verdict does not rest on them.
    audit, decider.audit = decider.audit, None
    ended, broken_off = True, False
    try:
        with interrupt_after(deadline), report_stages_to(None):
            explainer.run(insertions, add_set, groups)
    except KeyboardInterrupt:
        if options.certain is None:
            raise
        ended = False
    except DeadlineExceeded:
        broken_off = True
        explainer.is_complete = False
    finally:
        decider.audit = audit
    return _collect_explanation(
        explainer, groups, limit, ended=ended, broken_off=broken_off or not ended
    )


def _collect_explanation(
    explainer: Explainer, groups: Sequence[object], limit: str, *, ended: bool, broken_off: bool
) -> Explanation:
    """Summarise the conflicts that ``explainer`` found for the inconsistent ``groups``, and whether
    these are all.

    limit: name of the option that limited the time
    """
    found, complete = explainer.conflicts, not broken_off and explainer.is_complete
    unexplained = (
        max(0, len(groups) - len(found))
        if broken_off or not found
        else explainer.unexplained_groups
    )
    note = ""
    if not ended:
        note = "explaining was interrupted"
    elif broken_off or (not complete and explainer.is_out_of_time):
        note = f"explaining ended by time ({limit})"
    notes = (f"{note}: the verdict stands, there may be more conflicts",) if note else ()
    return Explanation(found, unexplained, complete, ended, broken_off, notes)
