"""Taking the good part of a batch: what ``shiq gate`` does.

A batch of N-Triples is accepted as a whole, or the insertions that take part in a contradiction are set aside and the rest is
accepted: every line goes to one side, as it was written. What is accepted has been checked as it is then written, so it does not
rest on the culprits being all of them: they are taken out, round by round, until a check says `consistent`.

Which lines are set aside follows from the set of triples alone, not from their order: all insertions of all minimal conflicts,
since nothing tells which of them is the wrong one.
"""

from __future__ import annotations

import gzip
import os
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

import pyoxigraph as ox

from shiq.check import Session
from shiq.errors import InputError, UsageError
from shiq.result import Conflict, Result
from shiq.verdict import Verdict

MODES: Final = ("reject", "split")
#: What is set aside together with a culprit: the triple alone, all triples with its subject, or its document.
UNITS: Final = ("triple", "subject", "document")
ACCEPTED, SPLIT, REFUSED = "accepted", "split", "refused"
SCHEMA_VERSION: Final = 1

#: What a line says: (subject, predicate, object) in one spelling; None for a comment or a blank line.
Triple: TypeAlias = tuple[str, str, str]
Check: TypeAlias = Callable[[list[str]], Result]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a batch: ``raw`` as it stands in the file, end of line included; ``problem``: why it is no triple."""

    file: int
    number: int
    raw: bytes
    triple: Triple | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class SetAside:
    """``conflicts``: the places, in `Gated.conflicts`, of those that the line takes part in; none for one that is no triple, or
    that goes with a culprit (`UNITS`)."""

    line: Line
    reason: str
    conflicts: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Gated:
    """``verdict``: on the whole batch; ``result``: of the last check, which for `ACCEPTED` and `SPLIT` is that of
    ``accepted`` and says consistent; ``reason``: why a batch was refused; ``conflicts``: all that were met."""

    decision: str
    verdict: Verdict
    result: Result
    files: tuple[str, ...]
    accepted: tuple[Line, ...]
    set_aside: tuple[SetAside, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    reason: str = ""
    rounds: int = 1

    @property
    def exit_code(self) -> int:
        """0 everything accepted; 1 something set aside, or refused for a contradiction; 3 refused because not decided."""
        if self.decision == ACCEPTED:
            return 0
        return 3 if self.decision == REFUSED and self.verdict is Verdict.UNDETERMINED else 1

    def to_dict(self) -> dict[str, Any]:
        return {
            "schema_version": SCHEMA_VERSION,
            "decision": self.decision,
            "verdict": self.verdict.value,
            "reason": self.reason,
            "rounds": self.rounds,
            "accepted": len(self.accepted),
            "set_aside": [
                {
                    "source": self.files[x.line.file],
                    "line": x.line.number,
                    "text": x.line.raw.decode("utf-8", "replace").rstrip("\r\n"),
                    "reason": x.reason,
                    "conflicts": list(x.conflicts),
                }
                for x in self.set_aside
            ],
            "conflicts": [conflict.to_dict() for conflict in self.conflicts],
            "result": self.result.to_dict(),
        }


@dataclass
class _State:
    """What is still in, and what was taken out and why."""

    inside: list[Line]
    outside: dict[Line, SetAside] = field(default_factory=dict)
    conflicts: list[Conflict] = field(default_factory=list)

    def take_out(self, found: Iterable[SetAside]) -> None:
        for x in found:
            self.outside.setdefault(x.line, x)
        self.inside = [line for line in self.inside if line not in self.outside]


def gate(
    session: Session,
    insertions: Sequence[str],
    deletions: Sequence[str] = (),
    *,
    mode: str = "reject",
    unit: str = "triple",
    commit: bool = False,
    **settings: Any,
) -> Gated:
    """Accepts the batch of ``insertions`` (N-Triples files, gzipped or not) and ``deletions``; with ``mode`` ``split`` the part
    of the insertions that is left when culprits are set aside, each with its ``unit``. ``commit``: what is accepted goes into the
    store. Settings as in `check_insertions`.

    Refused as a whole where a check stays undetermined, where a contradiction has no single triple of the batch to blame, and
    with ``mode`` ``reject``. Stops because each round takes a line out.

    Raises: UsageError for unknown names or files that are not N-Triples, InputError for files that cannot be read.
    """
    for what, value, known in (("mode", mode, MODES), ("unit", unit, UNITS)):
        if value not in known:
            raise UsageError(f"unknown {what} {value!r}", f"Known: {', '.join(known)}.")
    lines = [line for i, name in enumerate(insertions) for line in read_lines(name, i)]

    def check(files: list[str]) -> Result:
        return session.check(files, list(deletions), commit=commit, **settings)

    state = _State(lines)
    if mode == "split":
        state.take_out(SetAside(line, f"not a triple: {line.problem}") for line in lines if line.problem)
    first: Result | None = None
    rounds = 0
    while True:
        rounds += 1
        result = _checked(state, list(insertions), check)
        first = first or result
        if result.verdict is Verdict.CONSISTENT:
            return _gated(SPLIT if state.outside else ACCEPTED, first, result, insertions, state, rounds)
        if mode == "reject" or result.verdict is Verdict.UNDETERMINED:
            return _refused(first, result, insertions, lines, state, rounds, result.reason)
        culprits = _culprits(result.conflicts, state, unit)
        if not culprits:
            return _refused(first, result, insertions, lines, state, rounds, _nobody(result))
        state.conflicts += result.conflicts
        state.take_out(culprits)


def _nobody(result: Result) -> str:
    if not result.conflicts:
        return "no conflict was explained, so that no culprit is known: allow more time or conflicts"
    return result.reason or "a conflict has no single triple of the batch to blame: see conflicts"


def _checked(state: _State, names: list[str], check: Check) -> Result:
    """The check of what is still inside. An untouched batch is checked as it stands, so that messages name its files."""
    if not state.outside:
        return check(names)
    with tempfile.TemporaryDirectory(prefix="shiq-gate-") as folder:
        files = []
        for i, name in enumerate(names):
            file = Path(folder) / f"{i}-{_bare(name)}"
            file.write_bytes(text_of(line for line in state.inside if line.file == i))
            files.append(str(file))
        return check(files)


def _culprits(conflicts: Sequence[Conflict], state: _State, unit: str) -> list[SetAside]:
    """The lines of ``conflicts``, and what goes with them."""
    by_triple: dict[Triple, list[Line]] = defaultdict(list)
    for line in state.inside:
        if line.triple:
            by_triple[line.triple].append(line)
    of_line: dict[Line, list[int]] = defaultdict(list)
    for number, conflict in enumerate(conflicts, len(state.conflicts)):
        for text in conflict.insertions:
            said = _read(_SCOPED.sub("_:", text).encode())
            for line in by_triple.get(said, ()) if said else ():
                of_line[line].append(number)
    found = [SetAside(line, "takes part in a contradiction", tuple(numbers)) for line, numbers in of_line.items()]
    if unit == "triple":
        return found

    def group(line: Line) -> object:
        return line.file if unit == "document" else line.triple[0] if line.triple else None

    groups = {group(line) for line in of_line}
    others = (line for line in state.inside if line not in of_line and line.triple and group(line) in groups)
    return [*found, *(SetAside(line, f"goes with a culprit: the same {unit}") for line in others)]


def _gated(decision: str, first: Result, result: Result, files: Sequence[str], state: _State, rounds: int) -> Gated:
    aside = sorted(state.outside.values(), key=lambda x: (x.line.file, x.line.number))
    return Gated(
        decision, first.verdict, result, tuple(files), tuple(state.inside), tuple(aside), tuple(state.conflicts), "", rounds
    )


def _refused(
    first: Result, result: Result, files: Sequence[str], lines: Sequence[Line], state: _State, rounds: int, reason: str
) -> Gated:
    """Nothing is accepted; what is known of single lines is told all the same."""
    known = state.outside
    aside = tuple(known.get(line) or SetAside(line, "the batch was refused") for line in lines)
    conflicts = (*state.conflicts, *result.conflicts)
    verdict = Verdict.INCONSISTENT if Verdict.INCONSISTENT in (first.verdict, result.verdict) else Verdict.UNDETERMINED
    return Gated(REFUSED, verdict, result, tuple(files), (), aside, conflicts, reason, rounds)


# --- lines ----------------------------------------------------------------------------------------

_NAME = re.compile(r"\.(nt|ntriples)(\.gz)?\Z", re.IGNORECASE)
#: What a check puts before the label of a blank node of a batch (as subject or object): where it was read.
_SCOPED = re.compile(r"(?:\A|(?<=> ))_:i\d+\.\d+\.")


def read_lines(name: str, file: int = 0) -> list[Line]:
    """The lines of an N-Triples file, each as it stands there. Raises: UsageError, InputError."""
    if not _NAME.search(name):
        raise UsageError(f"{name}: not N-Triples by its name", "The gate takes .nt and .nt.gz: one line is one triple.")
    try:
        data = Path(name).read_bytes()
        text = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    except (OSError, EOFError) as error:
        raise InputError(f"{name}: {error}", "Name a file that can be read.") from error
    return [_line(file, number, raw) for number, raw in enumerate(_split(text), 1)]


def _split(text: bytes) -> list[bytes]:
    parts = text.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _line(file: int, number: int, raw: bytes) -> Line:
    try:
        return Line(file, number, raw, _read(raw) if raw.strip() else None)
    except (SyntaxError, ValueError) as error:
        return Line(file, number, raw, None, str(error))


def _read(text: bytes) -> Triple | None:
    """What a line says, whatever its spelling; None if it says nothing. Raises: SyntaxError, ValueError."""
    for quad in ox.parse(input=text, format=ox.RdfFormat.N_TRIPLES):
        return str(quad.subject), str(quad.predicate), str(quad.object)
    return None


def text_of(lines: Iterable[Line]) -> bytes:
    """``lines`` as a file; where one without an end of line is not the last, it gets one."""
    parts = [line.raw for line in lines]
    return b"".join([part if part.endswith(b"\n") else part + b"\n" for part in parts[:-1]] + parts[-1:])


def write_sides(gated: Gated, accepted: Path | None, quarantine: Path | None) -> None:
    """Writes what was accepted and what was set aside. A batch of several files comes as a directory of files with their names:
    blank nodes of two files are different nodes.

    Raises: InputError where a file cannot be written.
    """
    for target, lines in ((accepted, gated.accepted), (quarantine, tuple(x.line for x in gated.set_aside))):
        if target is None:
            continue
        alone = len(gated.files) == 1
        try:
            if not alone:
                target.mkdir(parents=True, exist_ok=True)
            for i, name in enumerate(gated.files):
                file = target if alone else target / f"{i}-{_bare(name)}"
                temporary = file.with_name(f".{file.name}.tmp")
                temporary.write_bytes(text_of(line for line in lines if line.file == i))
                os.replace(temporary, file)
        except OSError as error:
            what = "Name a file in a directory that exists." if alone else "Name a directory: the batch has several files."
            raise InputError(f"{target}: cannot be written ({error.strerror})", what) from error


def _bare(name: str) -> str:
    """The name of a file, as one that is not compressed."""
    return re.sub(r"\.gz\Z", "", Path(name).name, flags=re.IGNORECASE)
