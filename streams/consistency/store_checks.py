"""Every K units the content of the window checked against a store, in all of SHIQ(D): what lies
outside DL-Lite is seen there.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from shiq.columns.arrays import Ints
from shiq.verdict import Verdict
from streams.consistency.beside import Taken
from streams.consistency.spans import Spans
from streams.consistency.verdicts import Row

if TYPE_CHECKING:
    from jobs.checking.session import Session
    from shiq.result import Result


@dataclass
class StoreChecks:  # a `beside.Beside`
    """At each c that is a multiple of ``every`` (up to ``end``, if given) what came from c -
    ``window`` to c is checked by ``session``, once nothing more can come. ``content``: triples
    by time, as long as a window to come has them; ``next``: the next c, at least.
    """

    session: Session
    every: int
    window: int
    end: int | None = None
    checks: int = 0
    seconds: float = 0.0
    content: dict[int, list[str]] = field(default_factory=dict)
    next: int = 0
    name: str = "store"
    _last: tuple[frozenset[str], Result] | None = None

    def begin(self, static: Spans) -> None:
        """The store has what is static."""

    def take(self, text: str, event: Taken) -> None:
        """Takes the triples of an event."""
        self.content.setdefault(event.t, []).extend(event.triples)

    def refuse(self, text: str) -> None:
        """Nothing of it is in any window."""

    def keys(self) -> Ints:
        return np.empty(0, np.int64)

    def renumber(self, numbers: Mapping[int, int]) -> None:
        """Nothing here has a number."""

    def passed(self, upto: int) -> tuple[Sequence[Row], Sequence[int]]:
        """What is found up to a time."""
        rows, unsure = list[Row](), list[int]()
        for c, result in self._results(upto if self.end is None else min(upto, self.end)):
            rows += store_rows(c, result)
            if result.verdict is Verdict.UNDETERMINED:
                unsure.append(c)
        return rows, unsure

    def _results(self, upto: int) -> Iterator[tuple[int, Result]]:
        """Each c that is due, and its result; where a window holds nothing, the store stands as
        it is.
        """
        while self.content:
            self.content = {
                t: triples for t, triples in self.content.items() if t + self.window >= self.next
            }
            if not self.content:
                return
            c = max(self.next, -(-min(self.content) // self.every) * self.every)
            if c > upto:
                return
            self.next = c + self.every
            held = frozenset(
                line
                for t, lines in self.content.items()
                if c - self.window <= t <= c
                for line in lines
            )
            if held:
                yield c, self._checked(held)

    def _checked(self, triples: frozenset[str]) -> Result:
        if self._last is None or self._last[0] != triples:
            begun = perf_counter()
            with tempfile.TemporaryDirectory(prefix="shiq-window-") as folder:
                file = Path(folder, "window.nt")
                file.write_text("".join(f"{line}\n" for line in sorted(triples)), encoding="utf-8")
                self._last = triples, self.session.check(str(file))
            self.checks += 1
            self.seconds += perf_counter() - begun
        return self._last[1]

    def state(self) -> Any:
        """What `restore` takes, as JSON."""
        return [self.next, self.checks, list(self.content.items())]

    def restore(self, state: Any) -> None:
        """Goes on where another run was."""
        self.next, self.checks, content = state
        self.content = dict(content)


def store_rows(c: int, result: Result) -> list[Row]:
    """Conflicts of the window's content with the store; ``store`` holds those of the store's own
    assertions that are in one.
    """
    rows = []
    for conflict in result.conflicts if result.verdict is Verdict.INCONSISTENT else ():
        who = min(conflict.insertions or conflict.base, default="").split(" ", 1)[0].strip("<>")
        at = {"individual": who, "from": c, "to": c, "conflict": sorted(conflict.insertions)}
        rows.append(
            {**at, "store": sorted(conflict.base), "axioms": list(conflict.axioms), "final": True}
        )
    return rows
