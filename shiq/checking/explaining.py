"""The conflicts of a batch that was found inconsistent by an engine of this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from abox_ops.conflicts import Explainer
from abox_ops.decide import Decider
from abox_ops.engine import AddSet
from abox_ops.named import inconsistent_groups, tally
from abox_ops.raw_conflict import RawConflict
from shiq.abox import ABox, abox_of
from shiq.checking.base import Base
from shiq.checking.options import Options
from shiq.model import Assertion
from shiq.reasoner.protocol import Answer
from shiq.verdict import Verdict


def explained(
    base: Base,
    insertions: ABox,
    add_set: AddSet,
    groups: list[tuple[str, ...]],
    answered: Callable[[ABox, Callable[[str], None]], tuple[AddSet, Sequence[Answer]]],
    decider: Decider,
    options: Options,
    deadline: float | None,
) -> tuple[Sequence[RawConflict], int, bool]:
    """The conflicts of ``insertions``, whose check gave ``add_set`` with the inconsistent ``groups``; how many groups are left
    unexplained; and whether every minimal conflict is there. ``answered`` checks a part of the batch."""

    def check(part: Sequence[Assertion]) -> tuple[AddSet, list[tuple[str, ...]]]:
        found, answers = answered(abox_of(part), lambda _: None)
        explainer.unsure = explainer.unsure or bool(tally(answers)[Verdict.UNDETERMINED])
        return found, inconsistent_groups(found, answers)

    explainer = Explainer(base.tbox, decider, check, options.max_conflicts, deadline, options.progress)
    # The many small questions of explaining are not audited: the verdict does not rest on them.
    audit, decider.audit = decider.audit, None
    try:
        found = explainer.run(sorted(set(insertions), key=repr), add_set, groups)
    finally:
        decider.audit = audit
    return found, explainer.unexplained if found else len(groups), explainer.complete
