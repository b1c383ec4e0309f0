"""Gate a batch with its smallest repair (``shiq gate --repair least``): literals are spelt as the
ontology wants them, and as few other lines as possible are set aside.

The spellings are those that a first run suggests. A second run checks the corrected batch as it
would check any other, so that what is accepted was checked as it is written. The quarantine keeps
each corrected line as it came.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from shiq.answers.verdict import Verdict
from shiq.api import Session
from shiq.inputs.sources import TextInput
from shiq.jobs.gate.answer import REFUSED, SPLIT, GateAnswer, SetAsideLine
from shiq.jobs.gate.culprits import LEAST
from shiq.jobs.gate.decide import gate
from shiq.jobs.gate.lines import BatchSource

Deliver = Callable[[GateAnswer], None]


def gate_with_repair(
    session: Session,
    insertions: Sequence[BatchSource | TextInput],
    deletions: Sequence[BatchSource | TextInput] = (),
    *,
    deliver: Deliver | None = None,
    announce: Deliver | None = None,
    dry_run: bool = False,
    commit: bool = False,
    **settings: Any,
) -> GateAnswer:
    """Gate a batch in mode "split" with as few lines set aside as possible. Lines for which a first
    run finds a correct spelling are accepted in that spelling.

    Args and Raises: as `gate`.
    """
    wanted = {**settings, "mode": "split", "aside": LEAST}
    trial = gate(session, insertions, deletions, dry_run=True, **wanted)
    corrected = [] if trial.decision == REFUSED else [x for x in trial.set_aside if x.correction]
    written = {**wanted, "dry_run": dry_run, "commit": commit}
    if not corrected:
        return gate(session, insertions, deletions, deliver=deliver, announce=announce, **written)

    def complete(answer: GateAnswer) -> GateAnswer:
        return _with_corrected_lines(answer, trial, corrected)

    def relay(receive: Deliver | None) -> Deliver | None:
        return receive and (lambda answer: receive(complete(answer)))

    return complete(
        gate(
            session,
            insertions,
            deletions,
            deliver=relay(deliver),
            announce=relay(announce),
            corrections=[(x.line, x.correction) for x in corrected if x.correction],
            **written,
        )
    )


def _with_corrected_lines(
    answer: GateAnswer, trial: GateAnswer, corrected: Sequence[SetAsideLine]
) -> GateAnswer:
    """Add to the ``answer`` about the corrected batch the original lines that were corrected, with
    their conflicts.
    """
    if answer.decision == REFUSED:
        return answer
    judged = [*trial.judged_conflicts]
    places: dict[str, int] = {}
    for place, found in enumerate(judged):
        places.setdefault(repr(found.conflict.to_dict()), place)
    moved = []
    for found in answer.judged_conflicts:
        moved.append(places.setdefault(repr(found.conflict.to_dict()), len(judged)))
        judged += [found] if moved[-1] == len(judged) else []
    rows = [
        *(replace(x, conflicts=tuple(moved[i] for i in x.conflicts)) for x in answer.set_aside),
        *(
            replace(
                x,
                kind="corrected",
                reason=f"{x.reason}; accepted as {x.correction.text if x.correction else ''}",
                hint="",
            )
            for x in corrected
        ),
    ]
    is_inconsistent = Verdict.INCONSISTENT in (trial.verdict, answer.verdict)
    ordered = tuple(sorted(rows, key=lambda x: (x.line.file, x.line.number)))
    return replace(
        answer,
        decision=SPLIT,
        verdict=Verdict.INCONSISTENT if is_inconsistent else trial.verdict,
        lines=replace(answer.lines, set_aside_lines=ordered),
        judged_conflicts=tuple(judged),
    )
