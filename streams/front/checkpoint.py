"""Checkpoints: state, positions in the inputs and lengths of the outputs, put on disk in one step.

A checkpoint directory holds ``checkpoint.json`` and the state that it names, ``state-N``; the
step is the replacement of the former. One writer at a time. State is bytes that its owner can
read back (Arrow or JSON, never pickle), with their CRC-32.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import numpy as np

from shiq.errors import OperationalError
from shiq.files import replace_file, report_write_errors
from shiq.jobs.store.files import hold_write_lock

_NAME: Final = "checkpoint.json"
_OUTPUT_START: Final = "begun.json"
_SCHEMA: Final = 1
#: A checkpoint is due after so many points, or so many seconds.
POINTS: Final = 100
SECONDS: Final = 1.0


@dataclass(frozen=True)
class CheckpointContent:
    """What a checkpoint holds: ``positions`` by source, ``output_offsets`` by output, the ``state``."""

    positions: Mapping[str, Any]
    output_offsets: Mapping[str, Any]
    state: bytes


@dataclass
class CheckpointInterval:
    """When it is time to save, or to let rows be seen: each `POINTS` points of time, and each
    `SECONDS`.
    """

    points: int = 0
    started_at: float = field(default_factory=time.monotonic)

    def is_due(self, points: int = 1) -> bool:
        """Whether it is time, after ``points`` more points."""
        self.points += points
        return self.points >= POINTS or time.monotonic() - self.started_at >= SECONDS

    @property
    def is_overdue(self) -> bool:
        """Whether it has been time for as long again."""
        return time.monotonic() - self.started_at >= 2 * SECONDS

    def restart(self) -> None:
        """Counts from here."""
        self.points, self.started_at = 0, time.monotonic()


def pack_state(document: Any, columns: Mapping[str, np.ndarray[Any, Any]]) -> bytes:
    """A JSON value and columns of numbers as one state."""
    held = BytesIO()
    text = np.frombuffer(json.dumps(document).encode(), np.uint8)
    assert not any(column.dtype.hasobject for column in columns.values()), (
        "objects would be pickled"
    )
    np.savez(held, document=text, **{f"column-{name}": column for name, column in columns.items()})  # type: ignore[arg-type]
    return held.getvalue()


def unpack_state(state: bytes) -> tuple[Any, dict[str, np.ndarray[Any, Any]]]:
    """What `pack_state` put together."""
    with np.load(BytesIO(state), allow_pickle=False) as held:
        columns = {
            name.removeprefix("column-"): held[name] for name in held.files if name != "document"
        }
        return json.loads(held["document"].tobytes()), columns


def fingerprint(texts: Iterable[str]) -> str:
    """A short name of ``texts`` in any order, for settings that are long, such as a TBox."""
    digest = hashlib.sha256()
    for text in sorted(texts):
        digest.update(hashlib.sha256(text.encode("utf-8", "backslashreplace")).digest())
    return digest.hexdigest()[:12]


@dataclass
class Checkpoint:
    """A checkpoint directory of one run. ``settings``: whatever changes rows (TBox, program,
    window, …), as short texts; a run with others is refused.
    """

    path: Path
    settings: Mapping[str, str]
    number: int = 0

    def load(self) -> CheckpointContent | None:
        """What the last run saved; None if there was none. Raises: OperationalError for a run
        with other settings, or damage.
        """
        file = self.path / _NAME
        if not file.exists():
            return None
        try:
            found = json.loads(file.read_bytes())
            self._require_same_settings(found["settings"])
            state = (self.path / found["state"]).read_bytes()
            whole = found["schema_version"] == _SCHEMA and zlib.crc32(state) == found["crc"]
            saved = CheckpointContent(found["positions"], found["lengths"], state)
            self.number = found["number"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise OperationalError(
                f"{file}: damaged ({error})", "Remove the directory to begin anew."
            ) from error
        if not whole:
            raise OperationalError(
                f"{file}: its state is damaged", "Remove the directory to begin anew."
            )
        return saved

    def save_output_start(self, lengths: Mapping[str, Any]) -> None:
        """Keeps the ``lengths`` with which outputs begin, before a row is sent. Raises:
        OperationalError.
        """
        with report_write_errors(self.path):
            replace_file(self.path / _OUTPUT_START, json.dumps(dict(lengths)).encode())

    def load_output_start(self) -> dict[str, Any]:
        """What the run before was to `save_output_start` with, if it was killed before it saved anything;
        else nothing.
        """
        file = self.path / _OUTPUT_START
        try:
            return dict(json.loads(file.read_bytes())) if file.exists() else {}
        except (OSError, ValueError, TypeError) as error:
            raise OperationalError(
                f"{file}: damaged ({error})", "Remove the directory to begin anew."
            ) from error

    def _require_same_settings(self, found: Mapping[str, str]) -> None:
        for name in sorted({*found, *self.settings}):
            before, now = found.get(name, "none"), self.settings.get(name, "none")
            if before != now:
                raise OperationalError(
                    f"{self.path}: made with {name} {before}, but this run has {now}",
                    "Go on with the same, or name another directory.",
                )

    def save(self, saved: CheckpointContent) -> None:
        """Puts ``saved`` in the place of what was saved before, in one step. Raises:
        OperationalError.
        """
        name = f"state-{self.number + 1}"
        document = {
            "schema_version": _SCHEMA,
            "number": self.number + 1,
            "settings": dict(self.settings),
            "positions": dict(saved.positions),
            "lengths": dict(saved.output_offsets),
            "state": name,
            "crc": zlib.crc32(saved.state),
        }
        with report_write_errors(
            self.path, "Make room, then start again: it goes on from the last checkpoint."
        ):
            replace_file(self.path / name, saved.state)
            replace_file(self.path / _NAME, json.dumps(document).encode())
            for old in self.path.glob("state-*"):
                if old.name != name:
                    with contextlib.suppress(OSError):
                        old.unlink()
        self.number += 1


@contextmanager
def open_checkpoint(path: Path, settings: Mapping[str, str]) -> Iterator[Checkpoint]:
    """Opens a checkpoint directory for one run, as its only writer. Raises: OperationalError."""
    with report_write_errors(path):
        path.mkdir(parents=True, exist_ok=True)
    with hold_write_lock(path):
        yield Checkpoint(path, settings)
