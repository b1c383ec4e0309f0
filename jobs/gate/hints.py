"""Search for hints: a corrected form of a line in quarantine. The search runs after the decision,
its outputs and the commit.

Each hint is confirmed by a check: the corrected line, together with the accepted lines and the
    others of the same conflicts, contradicts nothing. The check covers the modules of these lines
    and uses the own reasoner only. If it leaves anything open, no hint is given.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeAlias

from shiq.answers.verdict import Verdict
from shiq.api import Session
from shiq.deadline import is_past, seconds_left
from shiq.jobs.checking.options import Options
from shiq.jobs.gate.answer import GateAnswer, SetAsideLine
from shiq.jobs.gate.batch import GateBatch
from shiq.jobs.gate.lines import Line, Triple
from shiq.jobs.spellings import MOST_SPELLINGS, SpellingSuggestions
from shiq.jobs.undecided_insertions import HasAddSet

# Suggest other spellings of a line that was set aside, and search for one that is consistent.


#: Whether nothing is wrong with lines instead of those that were set aside.
AreConsistent: TypeAlias = "Callable[[Sequence[tuple[SetAsideLine, Line]]], bool]"
#: Lines that are asked about together.
LINES_AT_ONCE = 200
_MENDABLE: Final = {"conflict", "malformed", "undeclared"}


def is_mendable(row: SetAsideLine) -> bool:
    """Decide whether another spelling could make the line acceptable, by the kind of reason it was
    set aside for.
    """
    return row.kind in _MENDABLE and row.line.triple is not None


class SpellingSearch:
    """Search for a correct spelling of lines in quarantine. The results found so far are valid
    whenever the search is stopped.

    corrections: corrected line by line.
    unexamined: lines whose spellings were not all tried.
    """

    def __init__(self, rows: Iterable[SetAsideLine], mending: SpellingSuggestions) -> None:
        self._rows = sorted(filter(is_mendable, rows), key=lambda x: (x.line.text, x.line.file))
        self._suggester = mending
        self.corrections: dict[Line, Line] = {}
        self.unexamined = {x.line for x in self._rows}

    def search_spellings(
        self, holds: AreConsistent, is_over: Callable[[], bool], tell: Callable[[int, int], object]
    ) -> None:
        """Try other spellings of each line until ``is_over`` returns True. ``holds``: whether given
        corrections are consistent; ``tell``: reports progress.

        holds: whether corrected lines are consistent. Asked for many lines at once, because
            consistency is inherited by subsets.
        tell: called with the numbers of examined and of all lines.
        """
        for start in range(0, len(self._rows), LINES_AT_ONCE):
            tell(start, len(self._rows))
            if is_over():
                return
            self._search_group(self._rows[start : start + LINES_AT_ONCE], holds, is_over)

    def _search_group(
        self, rows: Sequence[SetAsideLine], holds: AreConsistent, is_over: Callable[[], bool]
    ) -> None:
        """Try the spellings of a group of lines together, likeliest first."""
        spelt = [
            (x, self._suggester.spellings(x.line.triple, x.kind)) for x in rows if x.line.triple
        ]
        for turn in range(MOST_SPELLINGS):
            self.unexamined -= {x.line for x, known in spelt if turn >= len(known)}
            todo = [
                (x, _respelt_line(x.line, known[turn]))
                for x, known in spelt
                if turn < len(known) and x.line in self.unexamined
            ]
            parts = [todo] if todo else []
            while parts:
                part = parts.pop()
                if is_over():
                    return
                if holds(part):
                    self.corrections |= {x.line: line for x, line in part}
                    self.unexamined -= {x.line for x, _ in part}
                elif len(part) > 1:
                    middle = len(part) // 2
                    parts += [part[middle:], part[:middle]]
            if is_over():
                # The last of them may be undecided for lack of time.
                return
        self.unexamined -= {x.line for x in rows}


def _respelt_line(line: Line, triple: Triple) -> Line:
    """Copy ``line`` with another triple."""
    text = " ".join(part for part in (*triple, line.graph, ".\n") if part)
    return replace(line, raw=text.encode(), triple=triple)


def with_pending_hints(gated: GateAnswer, options: Options) -> GateAnswer:
    """Record in the answer the number of lines that a search for hints will examine, and whether
    such a search will follow.
    """
    is_checked = gated.result.verdict is Verdict.CONSISTENT and isinstance(
        gated.result.a_add, HasAddSet
    )
    lines = sum(map(is_mendable, gated.set_aside)) if is_checked else 0
    return replace(gated, unexamined_lines=lines, is_final=not lines or 0 in _time_limits(options))


def add_hints(
    gated: GateAnswer,
    session: Session,
    batch: GateBatch,
    deletions: Sequence[object],
    options: Options,
    announce: Callable[[GateAnswer], None] | None,
) -> GateAnswer:
    """Search for hints within the time of ``options`` and add them to the answer about ``batch``.

    announce: called before the search if there is anything to search for; Ctrl-C then ends the
        search only.
    """
    add_set = gated.result.a_add
    if gated.is_final or not isinstance(add_set, HasAddSet):
        return gated
    search = SpellingSearch(
        gated.set_aside, SpellingSuggestions(session.tbox.signature, add_set.add_set.tbox)
    )
    with suppress(KeyboardInterrupt) if announce else nullcontext():
        if announce:
            announce(gated)
        deadline = min(
            (time.monotonic() + seconds for seconds in _time_limits(options)), default=None
        )
        holds = _correction_trials(gated, session, batch, deletions, options, deadline)
        progress = options.progress or (lambda *_: None)
        search.search_spellings(
            holds, partial(is_past, deadline), partial(progress, "looking for other spellings")
        )
    rows = tuple(
        replace(x, hint=f"write {line.text} instead", correction=line)
        if (line := search.corrections.get(x.line))
        else x
        for x in gated.set_aside
    )
    lines = replace(gated.lines, set_aside_lines=rows)
    return replace(gated, lines=lines, unexamined_lines=len(search.unexamined), is_final=True)


def _time_limits(options: Options) -> list[float]:
    """The time limits among ``options`` that were given, in seconds."""
    return [
        seconds for seconds in (options.explain_seconds, options.timeout) if seconds is not None
    ]


def _correction_trials(
    gated: GateAnswer,
    session: Session,
    batch: GateBatch,
    deletions: Sequence[object],
    options: Options,
    deadline: float | None,
) -> AreConsistent:
    """Make the trial check: whether the accepted lines are consistent together with corrected lines
    and the other lines of the same conflicts.
    """
    settings = _trial_settings(options)
    check = session.checker_above(gated.result, **settings)
    gone = {x.line for x in gated.set_aside if x.kind != "batch"} | {
        x.line for x in gated.tolerated
    }
    accepted = [i for i, line in enumerate(batch.lines) if line not in gone]
    lines_of: dict[int, list[Line]] = {}
    for row in gated.set_aside:
        for n in row.conflicts:
            lines_of.setdefault(n, []).append(row.line)

    def are_consistent(pairs: Sequence[tuple[SetAsideLine, Line]]) -> bool:
        others = dict.fromkeys(
            other
            for x, _ in pairs
            for n in x.conflicts
            for other in lines_of[n]
            if other is not x.line
        )
        lines = [*others, *(line for _, line in pairs)]
        if check is not None:
            result = check(batch.check_inputs((), lines), seconds_left(deadline))
        else:
            sources, timeout = batch.check_inputs(accepted, lines), seconds_left(deadline)
            result = session.check(sources, deletions, **settings, timeout=timeout)
        return result.verdict is Verdict.CONSISTENT

    return are_consistent


def _trial_settings(options: Options) -> dict[str, Any]:
    """Settings for the check of a corrected line: those of the batch, but in this process and
    without another reasoner.
    """
    same = {name: getattr(options, name) for name in ("allow", "fail_on", "known", "catalog")}
    return {
        **same,
        "reasoner": "own",
        "outside": "undetermined",
        "verdict_only": True,
        "max_conflicts": 0,
    }
