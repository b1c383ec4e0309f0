"""Runs of a program: rows in, points closed as time goes on, models out.

Timelines, lateness and the closing of points: docs/RULES.md.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from shiq.errors import OperationalError, UsageError
from shiq.files import replace_file, report_write_errors
from shiq.jobs.option_fields import option
from shiq.streams.front.arrivals import MALFORMED, RejectLog, WatermarkTracker
from shiq.streams.rules.evaluation import Engine
from shiq.streams.rules.model import Evaluator, Model
from shiq.streams.rules.program import Key, shard_of
from shiq.streams.rules.syntax import MOST_DERIVED, CheckedProgram, Row
from shiq.streams.rules.tokens import (
    END_OF_POINT,
    AtomError,
    parse_columns,
    read_atom,
    to_rows,
)

if TYPE_CHECKING:
    from shiq.streams.rules.program import Program


# A keyed program by shards, each with some of the keys (docs/RULES.md).


def shard_programs(program: CheckedProgram, key: Key, shards: int) -> list[CheckedProgram]:
    """The program for each shard: with the facts of its keys, and all those that have none."""
    facts = [shard_rows(program.facts, key, shard, shards) for shard in range(shards)]
    return [replace(program, facts=own) for own in facts]


def shard_rows(rows: Mapping[str, Any], key: Key, shard: int, shards: int) -> dict[str, list[Row]]:
    """The rows that a shard needs: those of its keys, and those of predicates without key."""
    found = {}
    for predicate, given in rows.items():
        at, every = key.get(predicate), to_rows(given)
        found[predicate] = (
            every if at is None else [row for row in every if shard_of(row[at], shards) == shard]
        )
    return found


def legacy_shard_sessions(state: bytes, key: Key, shards: int) -> list[bytes]:
    """The session of each shard, from the `RuleSession.state` of a version that had one session
    over the evaluators of all. Raises: OperationalError.
    """
    head, _, rest = state.partition(b"\n")
    try:
        session, states = json.loads(head), [b64decode(one) for one in json.loads(rest)]
    except (ValueError, TypeError) as error:
        raise OperationalError(f"this is no state of shards ({error})", "Start anew.") from error
    if len(states) != shards:
        raise OperationalError(f"saved with {len(states)} shards, not {shards}", "Give as many.")
    found = []
    for shard, own in enumerate(states):
        points = {t: shard_rows(rows, key, shard, shards) for t, rows in session["open"].items()}
        found.append(json.dumps({**session, "open": points}).encode() + b"\n" + own)
    return found


TIMELINES: Final = ("dense", "on-input")
_SCHEMA: Final = 1
#: Texts of atoms, or columns by predicate.
Atoms: TypeAlias = Iterable[str] | Mapping[str, Any]


@dataclass(frozen=True)
class EvaluationOptions:
    """What changes models, beside the program."""

    timeline: str = option(
        "dense", "The times that are points: of events, or all.", choices=TIMELINES
    )
    complete_windows: bool = option(
        False, "A literal with `always` holds in complete windows only."
    )
    lateness: int = 0
    max_ahead: int = 100_000
    max_atoms: int = option(
        MOST_DERIVED,
        "Atoms that a point may derive, input and facts apart; more end the run (4).",
        minimum=1,
    )

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

    def settings(self, program: Program) -> dict[str, str]:
        """What a checkpoint of ``program`` holds for, as texts."""
        options = {name: str(value) for name, value in asdict(self).items()}
        return {"program": program.digest, **options}


@dataclass
class RuleSession:
    """One run. ``points``, ``atoms``: how many were."""

    program: Program
    options: EvaluationOptions = field(default_factory=EvaluationOptions)
    rejects: RejectLog = field(default_factory=RejectLog)
    #: The predicates that input has had atoms of.
    seen_predicates: set[str] = field(default_factory=set)
    points: int = 0
    atoms: int = 0

    def __post_init__(self) -> None:
        self.tracker = WatermarkTracker(self.options.lateness, self.options.max_ahead)
        self.evaluator = make_evaluator(self.program, self.options)
        #: Rows of open points by predicate: lists of rows, or one tuple of columns.
        self._open_points: dict[int, dict[str, Any]] = {}

    @property
    def last_closed(self) -> int | None:
        """The last point that was evaluated, or passed."""
        return self.tracker.closed_until

    def push(self, t: int, atoms: Atoms = (), source: str = "push", line: int = 0) -> list[Model]:
        """Takes rows of the point ``t``: texts of atoms, or columns by predicate. Gives the
        models of the points that are closed by it. What is late, too far ahead, or no atom goes
        to ``rejects``. Raises: EvaluationError, InputError.
        """
        return list(self.push_lazily(t, atoms, source, line))

    def push_lazily(
        self, t: int, atoms: Atoms = (), source: str = "push", line: int = 0, text: str = ""
    ) -> Iterator[Model]:
        """As `push`, but the models one by one: many points may lie between two rows."""
        t = _parse_time(t)
        if isinstance(atoms, str):
            raise UsageError(f"the text {atoms[:80]!r} instead of a list of texts", "Write [text].")
        if isinstance(atoms, Mapping):
            atoms = dict(parse_columns(atoms))
        else:
            atoms = list(atoms)
            if not set(map(type, atoms)) <= {str}:
                raise UsageError(f"atoms {atoms!r:.80}", "Atoms are texts.")
        if kind := self.tracker.classify(t):
            reason = self.tracker.explain_reject(t, kind)
            self.rejects.add(kind, source, line, reason, text or _reject_text(t, atoms))
            return
        ended = self._add_to_point(self._open_points.setdefault(t, {}), atoms, source, line)
        watermark = self.tracker.watermark or 0
        yield from self.close_points(max(watermark, t + 1) if ended else watermark)

    def _add_to_point(self, point: dict[str, Any], atoms: Atoms, source: str, line: int) -> bool:
        """Adds rows to an open point; whether they say that it ends."""
        if isinstance(atoms, Mapping):
            for predicate, columns in atoms.items():
                if predicate in point:
                    point[predicate] = [*to_rows(point[predicate]), *to_rows(columns)]
                else:
                    point[predicate] = columns
                self.atoms += len(columns[0])
            return False
        read = self._read_atoms(atoms, source, line)
        for predicate, row in read:
            rows = point.get(predicate)
            if type(rows) is not list:
                rows = point[predicate] = [] if rows is None else to_rows(rows)
            rows.append(row)
        self.atoms += len(read)
        return END_OF_POINT in atoms

    def _read_atoms(self, atoms: Iterable[str], source: str, line: int) -> list[tuple[str, Row]]:
        """Predicates and rows; what is none goes to ``rejects``."""
        try:
            return list(map(read_atom, atoms))
        except (AtomError, TypeError):
            found = []
        for text in atoms:
            if text != END_OF_POINT:
                try:
                    found.append(read_atom(text))
                except AtomError as error:
                    self.rejects.add(MALFORMED, source, line, str(error), encodable_text(text))
        return found

    def finish(self) -> list[Model]:
        """The models of the points that are still open."""
        return list(self.finish_lazily())

    def finish_lazily(self) -> Iterator[Model]:
        """As `finish`, one by one."""
        if self.tracker.newest is not None:
            yield from self.close_points(self.tracker.newest + 1)

    def add_atom(self, t: int, atom: str | tuple[str, Row]) -> None:
        """Takes an atom, its text or its predicate and row, of a point that is open; "" for none."""
        point = self._open_points.setdefault(t, {})
        if atom:
            predicate, row = read_atom(atom) if isinstance(atom, str) else atom
            point.setdefault(predicate, []).append(row)

    def close_points(self, before: int, first: int | None = None) -> Iterator[Model]:
        """Evaluates the points before ``before``; the stream begins with ``first``, if not with
        what came first.
        """
        if self.options.timeline == "dense":
            begin = min(self._open_points, default=before) if first is None else first
            times: Iterable[int] = range(
                begin if self.last_closed is None else self.last_closed + 1, before
            )
        else:
            times = sorted(t for t in self._open_points if t < before)
        for t in times:
            rows = self._open_points.pop(t, {})
            self.seen_predicates.update(rows)
            point = self.evaluator.step(t, rows)
            self.tracker.closed_until = t
            self.points += 1
            yield Model(point, self.program.checked_program.shown_predicates)

    # --- kept on disk

    def state(self) -> bytes:
        """All that later models depend on."""
        points = {
            t: {name: to_rows(rows) for name, rows in point.items()}
            for t, point in self._open_points.items()
        }
        told: dict[str, Any] = {
            "newest": self.tracker.newest,
            "closed": self.last_closed,
            "points": self.points,
            "atoms": self.atoms,
        }
        told |= {"brought": sorted(self.seen_predicates)}
        return (
            json.dumps({**told, "open": points, "rejects": self.rejects.state()}).encode()
            + b"\n"
            + self.evaluator.state()
        )

    def restore(self, state: bytes) -> None:
        """Puts the session where the one was that gave ``state``. Raises: OperationalError."""
        told, _, rest = state.partition(b"\n")
        try:
            found = json.loads(told)
            self.tracker.newest, self.tracker.closed_until = found["newest"], found["closed"]
            self.points, self.atoms = found["points"], found["atoms"]
            # Checkpoints of versions that did not note them have none.
            self.seen_predicates = set(found.get("brought", ()))
            self.rejects.restore(found["rejects"])
            self._open_points = {
                int(t): {name: [tuple(row) for row in rows] for name, rows in point.items()}
                for t, point in found["open"].items()
            }
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise OperationalError(
                f"this is no state of a session ({error})", "Start anew."
            ) from error
        self.evaluator.restore(rest)

    def save(self, path: str | Path) -> None:
        """Writes the session to a file, in one step. Raises: OperationalError."""
        state = self.state()
        head = {
            "schema_version": _SCHEMA,
            "program": self.program.digest,
            "options": asdict(self.options),
            "crc": zlib.crc32(state),
        }
        with report_write_errors(Path(path)):
            replace_file(Path(path), json.dumps(head).encode() + b"\n" + state)


def _parse_time(t: Any) -> int:
    try:
        return index(t)
    except TypeError:
        raise UsageError(f"the time {t!r}", "Give an integer, in units of the timeline.") from None


def encodable_text(text: str) -> str:
    """A text as a file can hold it."""
    return text.encode("utf-8", "backslashreplace").decode()


def _reject_text(t: int, atoms: Atoms) -> str:
    return encodable_text(
        f"{t} {', '.join(atoms) if isinstance(atoms, Mapping) else '; '.join(map(str, atoms))}"
    )


def load_session(program: Program, path: Path) -> RuleSession:
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
    session.restore(state)
    return session


def make_evaluator(program: Program, options: EvaluationOptions) -> Evaluator:
    """The engine that evaluates the points of a program."""
    return Engine(
        program.checked_program, program.functions, options.complete_windows, options.max_atoms
    )
