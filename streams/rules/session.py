"""Sessions of a rule program: push rows, evaluate time points as time advances, get models.

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

from shiq.deprecation import RenamedAttribute, accept_old_arguments
from shiq.errors import OperationalError, UsageError
from shiq.files import replace_file, report_write_errors
from shiq.jobs.option_fields import option
from shiq.streams.front.intake import MALFORMED, RejectLog, WatermarkTracker
from shiq.streams.rules.evaluation import Engine
from shiq.streams.rules.model import Evaluator, Model
from shiq.streams.rules.program import Key, compute_shard
from shiq.streams.rules.syntax import MOST_DERIVED, CheckedProgram, Row
from shiq.streams.rules.tokens import (
    END_OF_POINT,
    AtomError,
    copy_as_rows,
    parse_columns,
    read_atom,
)

if TYPE_CHECKING:
    from shiq.streams.rules.program import Program


# A keyed program by shards, each with some of the keys (docs/RULES.md).


def shard_programs(program: CheckedProgram, key: Key, shards: int) -> list[CheckedProgram]:
    """Split a program into one per shard, each with the facts that the shard needs. ``key``: the
    argument position of the shard key, by predicate.
    """
    facts = [shard_rows(program.facts, key, shard, shards) for shard in range(shards)]
    return [replace(program, facts=own) for own in facts]


def shard_rows(rows: Mapping[str, Any], key: Key, shard: int, shards: int) -> dict[str, list[Row]]:
    """Rows that one shard needs: those whose key value belongs to it, and all rows of predicates
    without key.
    """
    found = {}
    for predicate, given in rows.items():
        at, every = key.get(predicate), copy_as_rows(given)
        found[predicate] = (
            every
            if at is None
            else [row for row in every if compute_shard(row[at], shards) == shard]
        )
    return found


def split_legacy_session(state: bytes, key: Key, shards: int) -> list[bytes]:
    """Split a session state of older versions, which had one session for all shards, into a state
    per shard.

    Raises: OperationalError.
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
_SCHEMA_VERSION: Final = 1
#: Texts of atoms, or columns by predicate.
Atoms: TypeAlias = Iterable[str] | Mapping[str, Any]


@dataclass(frozen=True)
class EvaluationOptions:
    """Options of a program's evaluation: timeline, windows, lateness and limits."""

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
        """Program digest and options as texts; a checkpoint made with other ones is refused."""
        options = {name: str(value) for name, value in asdict(self).items()}
        return {"program": program.digest, **options}


@accept_old_arguments(brought="seen_predicates")
@dataclass
class RuleSession:
    """Evaluation of a program over rows that are pushed into it, time point by time point.

    points, atoms: number of points evaluated and of input atoms.
    """

    program: Program
    options: EvaluationOptions = field(default_factory=EvaluationOptions)
    rejects: RejectLog = field(default_factory=RejectLog)
    #: The predicates that input has had atoms of.
    seen_predicates: set[str] = field(default_factory=set)
    points: int = 0
    atoms: int = 0

    # Old names, until 0.3.
    brought = RenamedAttribute("seen_predicates")
    clock = RenamedAttribute("tracker")
    closed = RenamedAttribute("last_closed")
    taken = RenamedAttribute("push_lazily")
    finished = RenamedAttribute("finish_lazily")
    add = RenamedAttribute("add_atom")
    close = RenamedAttribute("close_points")
    put_back = RenamedAttribute("restore")

    def __post_init__(self) -> None:
        self.tracker = WatermarkTracker(self.options.lateness, self.options.max_ahead)
        self.evaluator = make_evaluator(self.program, self.options)
        #: Rows of open points by predicate: lists of rows, or one tuple of columns.
        self._open_points: dict[int, dict[str, Any]] = {}

    @property
    def last_closed(self) -> int | None:
        """Last time point that was evaluated, None if there is none yet; input for it or earlier
        times is late.
        """
        return self.tracker.closed_until

    def push(self, t: int, atoms: Atoms = (), source: str = "push", line: int = 0) -> list[Model]:
        """Add rows to the time point ``t`` and return the models of the time points that are now
        complete.

        atoms: texts of atoms, or columns by predicate. Late, far-ahead or malformed ones go to
        ``rejects``.
        Raises: EvaluationError, InputError.
        """
        return list(self.push_lazily(t, atoms, source, line))

    def push_lazily(
        self, t: int, atoms: Atoms = (), source: str = "push", line: int = 0, text: str = ""
    ) -> Iterator[Model]:
        """Add rows as `push` does, but yield the models one by one: many time points may be
        complete.
        """
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
            self.rejects.add_reject(kind, source, line, reason, text or _format_reject(t, atoms))
            return
        ended = self._add_to_point(self._open_points.setdefault(t, {}), atoms, source, line)
        watermark = self.tracker.watermark or 0
        yield from self.close_points(max(watermark, t + 1) if ended else watermark)

    def _add_to_point(self, point: dict[str, Any], atoms: Atoms, source: str, line: int) -> bool:
        """Add rows to a time point that is not evaluated yet; return whether they contain `@end`,
        which completes it.
        """
        if isinstance(atoms, Mapping):
            for predicate, columns in atoms.items():
                if predicate in point:
                    point[predicate] = [*copy_as_rows(point[predicate]), *copy_as_rows(columns)]
                else:
                    point[predicate] = columns
                self.atoms += len(columns[0])
            return False
        read = self._parse_atoms(atoms, source, line)
        for predicate, row in read:
            rows = point.get(predicate)
            if type(rows) is not list:
                rows = point[predicate] = [] if rows is None else copy_as_rows(rows)
            rows.append(row)
        self.atoms += len(read)
        return END_OF_POINT in atoms

    def _parse_atoms(self, atoms: Iterable[str], source: str, line: int) -> list[tuple[str, Row]]:
        """Parse texts of atoms as (predicate, row); malformed ones go to the reject log."""
        found = []
        for text in atoms:
            try:
                if text != END_OF_POINT:
                    found.append(read_atom(text))
            except AtomError as error:
                shown = escape_surrogates(text)
                self.rejects.add_reject(MALFORMED, source, line, str(error), shown)
        return found

    def finish(self) -> list[Model]:
        """Evaluate all remaining time points and return their models."""
        return list(self.finish_lazily())

    def finish_lazily(self) -> Iterator[Model]:
        """Evaluate all remaining time points and yield their models one by one."""
        if self.tracker.newest is not None:
            yield from self.close_points(self.tracker.newest + 1)

    def add_atom(self, t: int, atom: str | tuple[str, Row]) -> None:
        """Add an atom, as text or as (predicate, row), to a time point that is not evaluated yet.
        The text "" only makes ``t`` a time point.
        """
        point = self._open_points.setdefault(t, {})
        if atom:
            predicate, row = read_atom(atom) if isinstance(atom, str) else atom
            point.setdefault(predicate, []).append(row)

    def close_points(self, before: int, first: int | None = None) -> Iterator[Model]:
        """Evaluate the time points before ``before`` and yield their models.

        first: first point of the stream, if not that of the first row.
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
        """Serialise everything that the models of later time points depend on."""
        points = {
            t: {name: copy_as_rows(rows) for name, rows in point.items()}
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
        """Continue from the ``state`` that another session saved. Raises: OperationalError."""
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
        """Write the session to a file in one atomic step. Raises: OperationalError."""
        state = self.state()
        head = {
            "schema_version": _SCHEMA_VERSION,
            "program": self.program.digest,
            "options": asdict(self.options),
            "crc": zlib.crc32(state),
        }
        with report_write_errors(Path(path)):
            replace_file(Path(path), json.dumps(head).encode() + b"\n" + state)


def _parse_time(t: Any) -> int:
    """Convert the time of pushed rows to int. Raises: UsageError."""
    try:
        return index(t)
    except TypeError:
        raise UsageError(f"the time {t!r}", "Give an integer, in units of the timeline.") from None


def escape_surrogates(text: str) -> str:
    """Replace lone surrogates in a text by escapes, so that it can be written as UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()


def _format_reject(t: int, atoms: Atoms) -> str:
    """Text of rejected input for the reject log: its time and atoms."""
    return escape_surrogates(
        f"{t} {', '.join(atoms) if isinstance(atoms, Mapping) else '; '.join(map(str, atoms))}"
    )


def load_session(program: Program, path: Path) -> RuleSession:
    """Load the session of ``program`` that `RuleSession.save` wrote to ``path``.

    Raises: OperationalError.
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
    """Make the engine that evaluates a program with these options."""
    return Engine(
        program.checked_program, program.functions, options.complete_windows, options.max_atoms
    )
