"""Hints: the line to write instead of one that was set aside. They are looked for when all is
decided, written and committed.

A hint rests on a check of its own: on top of what was accepted, the line as it would be written,
beside what else was set aside for the same conflicts, contradicts nothing. Such a check looks at
the modules that these lines touch, and asks nobody but the own reasoner; where that leaves
anything open there is no hint.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import Any

from jobs.checking.options import Options
from jobs.gate.batch import GateBatch
from jobs.gate.gated import GateAnswer, SetAsideLine
from jobs.gate.lines import Line
from jobs.gate.mending import Mending, SpellingSearch, is_mendable
from jobs.repair.undecided import OfAnAddSet
from shiq.check import Session
from shiq.deadline import is_past, seconds_left
from shiq.result import Result
from shiq.verdict import Verdict


def expecting_hints(gated: GateAnswer, options: Options) -> GateAnswer:
    """The answer as it is before hints are looked for: how many lines there are to look at, and
    whether that will be done.
    """
    is_checked = gated.result.verdict is Verdict.CONSISTENT and isinstance(
        gated.result.a_add, OfAnAddSet
    )
    lines = sum(map(is_mendable, gated.set_aside)) if is_checked else 0
    return replace(gated, unexamined_lines=lines, ended=not lines or 0 in _limits(options))


def with_hints(
    gated: GateAnswer,
    session: Session,
    batch: GateBatch,
    deletions: Sequence[object],
    options: Options,
    announce: Callable[[GateAnswer], None] | None,
) -> GateAnswer:
    """Add the hints that are found within the time of ``options`` to the answer about ``batch``.
    Where there is something to look for, ``announce`` is called first, and Ctrl-C ends the
    search.
    """
    add_set = gated.result.a_add
    if gated.ended or not isinstance(add_set, OfAnAddSet):
        return gated
    search = SpellingSearch(gated.set_aside, Mending(session.tbox.signature, add_set.add_set.tbox))
    with suppress(KeyboardInterrupt) if announce else nullcontext():
        if announce:
            announce(gated)
        deadline = min((time.monotonic() + seconds for seconds in _limits(options)), default=None)
        holds = _Trials(gated, session, batch, deletions, options, deadline).hold
        progress = options.progress or (lambda *_: None)
        search.run(
            holds, partial(is_past, deadline), partial(progress, "looking for other spellings")
        )
    rows = tuple(replace(x, hint=search.found.get(x.line, x.hint)) for x in gated.set_aside)
    return replace(gated, set_aside=rows, unexamined_lines=len(search.open), ended=True)


def _limits(options: Options) -> list[float]:
    return [
        seconds for seconds in (options.explain_seconds, options.timeout) if seconds is not None
    ]


class _Trials:
    """Checks of lines instead of those that were set aside."""

    def __init__(
        self,
        gated: GateAnswer,
        session: Session,
        batch: GateBatch,
        deletions: Sequence[object],
        options: Options,
        deadline: float | None,
    ) -> None:
        self._session, self._batch, self._deletions, self._deadline = (
            session,
            batch,
            deletions,
            deadline,
        )
        self._settings = _settings(options)
        self._check = session.above(gated.result, **self._settings)
        gone = {x.line for x in gated.set_aside if x.kind != "batch"} | {
            x.line for x in gated.tolerated
        }
        self._accepted = [i for i, line in enumerate(batch.lines) if line not in gone]
        self._lines_of: dict[int, list[Line]] = {}
        for row in gated.set_aside:
            for n in row.conflicts:
                self._lines_of.setdefault(n, []).append(row.line)

    def hold(self, pairs: Sequence[tuple[SetAsideLine, Line]]) -> bool:
        """Whether what is accepted is consistent with lines instead of those that were set
        aside, and with what else was set aside for the same conflicts.
        """
        others = dict.fromkeys(other for x, _ in pairs for other in self._others(x))
        lines = [*others, *(line for _, line in pairs)]
        if self._check is not None:
            return self._is_yes(
                self._check(self._batch.sources((), lines), seconds_left(self._deadline))
            )
        sources, timeout = self._batch.sources(self._accepted, lines), seconds_left(self._deadline)
        return self._is_yes(
            self._session.check(sources, self._deletions, **self._settings, timeout=timeout)
        )

    def _others(self, row: SetAsideLine) -> Iterable[Line]:
        return (line for n in row.conflicts for line in self._lines_of[n] if line is not row.line)

    @staticmethod
    def _is_yes(result: Result) -> bool:
        return result.verdict is Verdict.CONSISTENT


def _settings(options: Options) -> dict[str, Any]:
    """How a hint is checked: as the batch was in what is understood, allowed and known, here, by
    the own reasoner alone.
    """
    same = {name: getattr(options, name) for name in ("allow", "fail_on", "known", "catalog")}
    return {
        **same,
        "reasoner": "own",
        "outside": "undetermined",
        "verdict_only": True,
        "max_conflicts": 0,
    }
