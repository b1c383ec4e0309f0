"""The conflicts of a batch that was found inconsistent by an engine of this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from abox_ops.conflicts.explain import Explainer
from abox_ops.conflicts.justify import Checker
from abox_ops.engine import MODEL, AddSet, Layering, ModelKnowledgeBase
from abox_ops.modules.decide import Decider
from abox_ops.modules.named import inconsistent_groups, tally
from jobs.checking.base import Explanation, OpenBase
from jobs.checking.options import Options
from shiq.abox import ABox
from shiq.deadline import TimeIsOver, until
from shiq.reasoner.protocol import Answer
from shiq.stages import report_stages_to
from shiq.verdict import Verdict


class PartChecker(Protocol):
    """Checks a part of the batch, against the base, or against what is laid ``onto`` it."""

    def __call__(
        self, part: ABox, stage: Callable[[str], None], onto: ModelKnowledgeBase | None = None
    ) -> tuple[AddSet, Sequence[Answer]]: ...


def explained(
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
    """The conflicts of ``insertions``, whose check gave ``add_set`` with the inconsistent
    ``groups``, found by ``deadline``, which the option ``limit`` set. ``answered`` checks a part
    of the batch. Where somebody has heard the verdict already, Ctrl-C leaves what was found.
    """

    def check(
        part: ABox, onto: ModelKnowledgeBase | None = None
    ) -> tuple[AddSet, list[tuple[str, ...]]]:
        found, answers = answered(part, lambda _: None, onto)
        explainer.unsure = explainer.unsure or bool(tally(answers)[Verdict.UNDETERMINED])
        return found, inconsistent_groups(found, answers)

    def above(accepted: AddSet) -> Checker | None:
        knowledge_base = base.knowledge_base
        if options.criterion != MODEL or not isinstance(knowledge_base, Layering):
            return None
        onto = knowledge_base.with_accepted(accepted)
        return None if onto is None else lambda part: check(part, onto)

    explainer = Explainer(
        base.tbox, decider, check, options.max_conflicts, deadline, options.progress, above=above
    )
    # The many small questions of explaining are not audited: the verdict does not rest on them.
    audit, decider.audit = decider.audit, None
    ended, broken_off = True, False
    try:
        with until(deadline), report_stages_to(None):
            explainer.run(insertions, add_set, groups)
    except KeyboardInterrupt:
        if options.certain is None:
            raise
        ended = False
    except TimeIsOver:
        broken_off = True
        explainer.complete = False
    finally:
        decider.audit = audit
    return _explanation(explainer, groups, limit, ended=ended, broken_off=broken_off or not ended)


def _explanation(
    explainer: Explainer, groups: Sequence[object], limit: str, *, ended: bool, broken_off: bool
) -> Explanation:
    """What ``explainer`` has found of the inconsistent ``groups``, in the time of the option
    ``limit``.
    """
    found, complete = explainer.conflicts, not broken_off and explainer.complete
    unexplained = (
        max(0, len(groups) - len(found)) if broken_off or not found else explainer.unexplained
    )
    note = ""
    if not ended:
        note = "explaining was interrupted"
    elif broken_off or (not complete and explainer.is_out_of_time):
        note = f"explaining ended by time ({limit})"
    notes = (f"{note}: the verdict stands, there may be more conflicts",) if note else ()
    return Explanation(found, unexplained, complete, ended, broken_off, notes)
