"""Runs of a program: rows in, points closed as time goes on, models out.

Timelines, lateness and the closing of points: SPEC 004, section 2 ("Timeline").
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from jobs.files import naming, replace_file
from shiq.errors import OperationalError, UsageError
from streams.front.lateness import EventClock
from streams.front.rejects import LATE, MALFORMED, RejectLog
from streams.rules.atoms import END_OF_POINT, AtomError, read_atom
from streams.rules.evaluation import Engine
from streams.rules.input_columns import columns_of, rows_of
from streams.rules.model import Evaluator, Model
from streams.rules.problems import MOST_DERIVED
from streams.rules.records import Unreadable
from streams.rules.shards import ShardedEvaluator, parts_of
from streams.rules.syntax import CheckedProgram
from streams.rules.values import Row

if TYPE_CHECKING:
    from streams.rules.program import Program

TIMELINES: Final = ("dense", "on-input")
_SCHEMA: Final = 1
#: Texts of atoms, or columns by predicate.
Atoms: TypeAlias = Iterable[str | Unreadable] | Mapping[str, Any]


@dataclass(frozen=True)
class EvaluationOptions:
    """What changes models, beside the program."""

    timeline: str = "dense"
    complete_windows: bool = False
    lateness: int = 0
    max_ahead: int = 100_000
    max_atoms: int = MOST_DERIVED

    def __post_init__(self) -> None:
        if self.timeline not in TIMELINES:
            raise UsageError(
                f"unknown timeline {self.timeline!r}",
                f"The timelines are {' and '.join(TIMELINES)}.",
            )
        if self.lateness < 0 or self.max_ahead < 1 or self.max_atoms < 1:
            raise UsageError(
                "lateness is at least 0, max_ahead and max_atoms at least 1", "Say so."
            )


@dataclass
class RuleSession:
    """One run. ``closed``: the last point that was evaluated, or passed; ``points``, ``atoms``:
    how many were.
    """

    program: Program
    options: EvaluationOptions = field(default_factory=EvaluationOptions)
    rejects: RejectLog = field(default_factory=RejectLog)
    closed: int | None = None
    #: The predicates that input has had atoms of.
    brought: set[str] = field(default_factory=set)
    points: int = 0
    atoms: int = 0

    def __post_init__(self) -> None:
        self.clock = EventClock(self.options.lateness, self.options.max_ahead)
        self.evaluator = evaluator_of(self.program, self.options)
        #: Rows of open points by predicate: lists of rows, or one tuple of columns.
        self._open: dict[int, dict[str, Any]] = {}

    def push(self, t: int, atoms: Atoms = (), source: str = "push", line: int = 0) -> list[Model]:
        """Takes rows of the point ``t``: texts of atoms, or columns by predicate. Gives the
        models of the points that are closed by it. What is late, too far ahead, or no atom goes
        to ``rejects``. Raises: EvaluationError, InputError.
        """
        return list(self.taken(t, atoms, source, line))

    def taken(
        self, t: int, atoms: Atoms = (), source: str = "push", line: int = 0, text: str = ""
    ) -> Iterator[Model]:
        """As `push`, but the models one by one: many points may lie between two rows."""
        t = _time(t)
        if isinstance(atoms, str):
            raise UsageError(f"the text {atoms[:80]!r} instead of a list of texts", "Write [text].")
        if isinstance(atoms, Mapping):
            atoms = dict(columns_of(atoms))
        else:
            atoms = list(atoms)
            if not set(map(type, atoms)) <= {str, Unreadable}:
                raise UsageError(f"atoms {atoms!r:.80}", "Atoms are texts.")
        is_closed = self.closed is not None and t <= self.closed
        if kind := LATE if is_closed else self.clock.judge(t):
            reason = (
                f"t = {t} is not behind {self.closed}, a closed point"
                if is_closed
                else self.clock.said(t, kind)
            )
            self.rejects.add(kind, source, line, reason, text or _shown(t, atoms))
            return
        ended = self._take(self._open.setdefault(t, {}), atoms, source, line)
        watermark = self.clock.watermark or 0
        yield from self.close(max(watermark, t + 1) if ended else watermark)

    def _take(self, point: dict[str, Any], atoms: Atoms, source: str, line: int) -> bool:
        """Adds rows to an open point; whether they say that it ends."""
        if isinstance(atoms, Mapping):
            for predicate, columns in atoms.items():
                if predicate in point:
                    point[predicate] = [*rows_of(point[predicate]), *rows_of(columns)]
                else:
                    point[predicate] = columns
                self.atoms += len(columns[0])
            return False
        read = self._read(atoms, source, line)
        for predicate, row in read:
            rows = point.get(predicate)
            if type(rows) is not list:
                rows = point[predicate] = [] if rows is None else rows_of(rows)
            rows.append(row)
        self.atoms += len(read)
        return END_OF_POINT in atoms

    def _read(
        self, atoms: Iterable[str | Unreadable], source: str, line: int
    ) -> list[tuple[str, Row]]:
        """Predicates and rows; what is none goes to ``rejects``."""
        try:
            return list(map(read_atom, atoms))
        except (AtomError, TypeError):
            found = []
        for text in atoms:
            if isinstance(text, Unreadable):
                self.rejects.add(MALFORMED, source, line, text.reason, text.text)
            elif text != END_OF_POINT:
                try:
                    found.append(read_atom(text))
                except AtomError as error:
                    self.rejects.add(MALFORMED, source, line, str(error), _whole(text))
        return found

    def finish(self) -> list[Model]:
        """The models of the points that are still open."""
        return list(self.finished())

    def finished(self) -> Iterator[Model]:
        """As `finish`, one by one."""
        if self.clock.newest is not None:
            yield from self.close(self.clock.newest + 1)

    def add(self, t: int, atoms: Atoms) -> None:
        """Takes rows of a point that is open, whatever time it is."""
        self._take(self._open.setdefault(t, {}), atoms, "add", 0)

    def close(self, before: int, first: int | None = None) -> Iterator[Model]:
        """Evaluates the points before ``before``; the stream begins with ``first``, if not with
        what came first.
        """
        if self.options.timeline == "dense":
            begin = min(self._open, default=before) if first is None else first
            times: Iterable[int] = range(begin if self.closed is None else self.closed + 1, before)
        else:
            times = sorted(t for t in self._open if t < before)
        for t in times:
            rows = self._open.pop(t, {})
            self.brought.update(rows)
            point = self.evaluator.step(t, rows)
            self.closed = t
            self.points += 1
            yield Model(point, self.program.checked.shown)

    # --- kept on disk

    def state(self) -> bytes:
        """All that later models depend on."""
        points = {
            t: {name: rows_of(rows) for name, rows in point.items()}
            for t, point in self._open.items()
        }
        told: dict[str, Any] = {
            "newest": self.clock.newest,
            "closed": self.closed,
            "points": self.points,
            "atoms": self.atoms,
        }
        told |= {"brought": sorted(self.brought)}
        return (
            json.dumps({**told, "open": points, "rejects": self.rejects.state()}).encode()
            + b"\n"
            + self.evaluator.state()
        )

    def put_back(self, state: bytes) -> None:
        """Puts the session where the one was that gave ``state``. Raises: OperationalError."""
        told, _, rest = state.partition(b"\n")
        try:
            found = json.loads(told)
            self.clock.newest, self.closed = found["newest"], found["closed"]
            self.points, self.atoms = found["points"], found["atoms"]
            # Checkpoints of versions that did not note them have none.
            self.brought = set(found.get("brought", ()))
            self.rejects.restore(found["rejects"])
            self._open = {
                int(t): {name: [tuple(row) for row in rows] for name, rows in point.items()}
                for t, point in found["open"].items()
            }
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise OperationalError(
                f"this is no state of a session ({error})", "Start anew."
            ) from error
        self.evaluator.restore(rest)

    def settings(self) -> dict[str, str]:
        """What a checkpoint holds for, as texts."""
        return {
            "program": self.program.digest,
            **{name: str(value) for name, value in asdict(self.options).items()},
        }

    def save(self, path: str | Path) -> None:
        """Writes the session to a file, in one step. Raises: OperationalError."""
        state = self.state()
        head = {
            "schema_version": _SCHEMA,
            "program": self.program.digest,
            "options": asdict(self.options),
            "crc": zlib.crc32(state),
        }
        with naming(Path(path)):
            replace_file(Path(path), json.dumps(head).encode() + b"\n" + state)


def _time(t: Any) -> int:
    try:
        return index(t)
    except TypeError:
        raise UsageError(f"the time {t!r}", "Give an integer, in units of the timeline.") from None


def _whole(text: str) -> str:
    """A text as a file can hold it."""
    return text.encode("utf-8", "backslashreplace").decode()


def _shown(t: int, atoms: Atoms) -> str:
    return _whole(
        f"{t} {', '.join(atoms) if isinstance(atoms, Mapping) else '; '.join(map(str, atoms))}"
    )


def restored(program: Program, path: Path) -> RuleSession:
    """The session of ``program`` that `RuleSession.save` wrote to ``path``. Raises:
    OperationalError.
    """
    try:
        head, _, state = path.read_bytes().partition(b"\n")
        told = json.loads(head)
        digest, options, whole = (
            told["program"],
            EvaluationOptions(**told["options"]),
            told["crc"] == zlib.crc32(state),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise OperationalError(
            f"{path}: no saved session ({error})", "Name a file that RuleSession.save wrote."
        ) from error
    if not whole:
        raise OperationalError(f"{path}: damaged", "Take another copy, or start anew.")
    if digest != program.digest:
        raise OperationalError(
            f"{path}: saved by program {digest}, not {program.digest}",
            "Go on with the same program.",
        )
    session = RuleSession(program, options)
    session.put_back(state)
    return session


def evaluator_of(program: Program, options: EvaluationOptions, shards: int = 1) -> Evaluator:
    """What evaluates the points of a program; ``shards``: by so many evaluators, each with its
    keys.
    """

    def one(checked: CheckedProgram) -> Evaluator:
        return Engine(checked, program.functions, options.complete_windows, options.max_atoms)

    if shards == 1 or program.key.key is None:
        return one(program.checked)
    return ShardedEvaluator(
        program.key.key, [one(part) for part in parts_of(program.checked, program.key.key, shards)]
    )
