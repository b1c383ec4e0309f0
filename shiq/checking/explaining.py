"""The conflicts of a batch that was found inconsistent by an engine of this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from abox_ops.conflicts import Explainer
from abox_ops.decide import Decider
from abox_ops.engine import AddSet
from abox_ops.named import inconsistent_groups, tally
from shiq.abox import ABox, abox_of
from shiq.checking.base import Base, Explanation
from shiq.checking.options import Options
from shiq.deadline import TimeIsOver
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
) -> Explanation:
    """The conflicts of ``insertions``, whose check gave ``add_set`` with the inconsistent ``groups``, found by ``deadline``.
    ``answered`` checks a part of the batch. Where somebody has heard the verdict already, Ctrl-C leaves what was found."""

    def check(part: Sequence[Assertion]) -> tuple[AddSet, list[tuple[str, ...]]]:
        found, answers = answered(abox_of(part), lambda _: None)
        explainer.unsure = explainer.unsure or bool(tally(answers)[Verdict.UNDETERMINED])
        return found, inconsistent_groups(found, answers)

    explainer = Explainer(base.tbox, decider, check, options.max_conflicts, deadline, options.progress)
    # The many small questions of explaining are not audited: the verdict does not rest on them.
    audit, decider.audit = decider.audit, None
    ended = True
    try:
        explainer.run(sorted(set(insertions), key=repr), add_set, groups)
    except KeyboardInterrupt:
        if options.certain is None:
            raise
        ended = False
    except TimeIsOver:
        explainer.complete = False
    finally:
        decider.audit = audit
    return explanation_of(explainer, groups, options, ended=ended)


def explanation_of(explainer: Explainer, groups: Sequence[object], options: Options, *, ended: bool) -> Explanation:
    """What ``explainer`` has found of the inconsistent ``groups``, whether it ``ended`` or was interrupted."""
    found = explainer.conflicts
    unexplained = explainer.unexplained if ended and found else max(0, len(groups) - len(found))
    complete = ended and explainer.complete
    notes = []
    if not ended:
        notes.append("explaining was interrupted: the verdict stands, there may be more conflicts")
    elif not complete and explainer.is_out_of_time:
        limit = "--timeout" if options.explain_seconds is None else f"--explain-seconds {options.explain_seconds:g}"
        notes.append(f"explaining ended by time ({limit}): the verdict stands, there may be more conflicts")
    return Explanation(found, unexplained, complete, ended, tuple(notes))
