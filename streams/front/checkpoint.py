"""Checkpoints: operator state, input positions and output offsets, replaced in one atomic step.

A checkpoint directory holds ``checkpoint.json`` and the state file that it names, ``state-N``.
Replacing the JSON file is the commit. There is one writer at a time. State is bytes (Arrow or JSON,
never pickle) with their CRC-32.
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

_CHECKPOINT_FILE: Final = "checkpoint.json"
_OUTPUT_START_FILE: Final = "begun.json"
_SCHEMA_VERSION: Final = 1
#: A checkpoint is due after so many points, or so many seconds.
POINTS_PER_CHECKPOINT: Final = 100
SECONDS_PER_CHECKPOINT: Final = 1.0


@dataclass(frozen=True)
class CheckpointContent:
    """Content of a checkpoint: read position of each source, write offset of each output, and the
    system's state as bytes.
    """

    positions: Mapping[str, Any]
    output_offsets: Mapping[str, Any]
    state: bytes


@dataclass
class CheckpointTimer:
    """Timer that tells when the next checkpoint is due: after `POINTS_PER_CHECKPOINT` time points
    or `SECONDS_PER_CHECKPOINT`.
    """

    points: int = 0
    started_at: float = field(default_factory=time.monotonic)

    def is_due_after(self, points: int = 1) -> bool:
        """Count ``points`` more time points; return whether a checkpoint is due."""
        self.points += points
        return (
            self.points >= POINTS_PER_CHECKPOINT
            or time.monotonic() - self.started_at >= SECONDS_PER_CHECKPOINT
        )

    @property
    def is_overdue(self) -> bool:
        """Whether more than twice the interval in seconds has passed since the last checkpoint."""
        return time.monotonic() - self.started_at >= 2 * SECONDS_PER_CHECKPOINT

    def restart(self) -> None:
        """Restart the timer after a checkpoint."""
        self.points, self.started_at = 0, time.monotonic()


def pack_state(document: Any, columns: Mapping[str, np.ndarray[Any, Any]]) -> bytes:
    """Serialise a JSON value and named numeric arrays as one state of a stream system, without
    pickle.
    """
    held = BytesIO()
    text = np.frombuffer(json.dumps(document).encode(), np.uint8)
    assert not any(column.dtype.hasobject for column in columns.values()), (
        "objects would be pickled"
    )
    np.savez(held, document=text, **{f"column-{name}": column for name, column in columns.items()})  # type: ignore[arg-type]
    return held.getvalue()


def unpack_state(state: bytes) -> tuple[Any, dict[str, np.ndarray[Any, Any]]]:
    """Deserialise the JSON value and the arrays of a state that `pack_state` made."""
    with np.load(BytesIO(state), allow_pickle=False) as held:
        columns = {
            name.removeprefix("column-"): held[name] for name in held.files if name != "document"
        }
        return json.loads(held["document"].tobytes()), columns


def hash_texts(texts: Iterable[str]) -> str:
    """Short hash of ``texts``, independent of their order; it stands for long settings such as a
    TBox.
    """
    digest = hashlib.sha256()
    for text in sorted(texts):
        digest.update(hashlib.sha256(text.encode("utf-8", "backslashreplace")).digest())
    return digest.hexdigest()[:12]


@dataclass
class Checkpoint:
    """Checkpoint directory of a run: read positions, output offsets and state.

    settings: everything that changes output rows (TBox, program, window, …), as short texts. A run
    with other settings is refused.
    """

    path: Path
    settings: Mapping[str, str]
    number: int = 0

    def load(self) -> CheckpointContent | None:
        """Load the content that the last run saved; None if there is none.

        Raises: OperationalError if the settings differ or a file is damaged.
        """
        file = self.path / _CHECKPOINT_FILE
        if not file.exists():
            return None
        try:
            found = json.loads(file.read_bytes())
            self._require_same_settings(found["settings"])
            state = (self.path / found["state"]).read_bytes()
            whole = found["schema_version"] == _SCHEMA_VERSION and zlib.crc32(state) == found["crc"]
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

    def save_output_start(self, offsets: Mapping[str, Any]) -> None:
        """Save the offsets at which a new run's outputs begin, before the first row is sent.
        Raises: OperationalError.
        """
        with report_write_errors(self.path):
            replace_file(self.path / _OUTPUT_START_FILE, json.dumps(dict(offsets)).encode())

    def load_output_start(self) -> dict[str, Any]:
        """Load the offsets at which outputs began, for a run that was killed before its first
        checkpoint; {} if none were saved.
        """
        file = self.path / _OUTPUT_START_FILE
        try:
            return dict(json.loads(file.read_bytes())) if file.exists() else {}
        except (OSError, ValueError, TypeError) as error:
            raise OperationalError(
                f"{file}: damaged ({error})", "Remove the directory to begin anew."
            ) from error

    def _require_same_settings(self, found: Mapping[str, str]) -> None:
        """Raise OperationalError if the checkpoint was made with other settings than this run's."""
        for name in sorted({*found, *self.settings}):
            before, now = found.get(name, "none"), self.settings.get(name, "none")
            if before != now:
                raise OperationalError(
                    f"{self.path}: made with {name} {before}, but this run has {now}",
                    "Go on with the same, or name another directory.",
                )

    def save(self, saved: CheckpointContent) -> None:
        """Replace the saved content by ``saved`` in one atomic step. Raises: OperationalError."""
        name = f"state-{self.number + 1}"
        document = {
            "schema_version": _SCHEMA_VERSION,
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
            replace_file(self.path / _CHECKPOINT_FILE, json.dumps(document).encode())
            for old in self.path.glob("state-*"):
                if old.name != name:
                    with contextlib.suppress(OSError):
                        old.unlink()
        self.number += 1


@contextmanager
def open_checkpoint(path: Path, settings: Mapping[str, str]) -> Iterator[Checkpoint]:
    """Open a checkpoint directory; other writers are locked out. Raises: OperationalError."""
    with report_write_errors(path):
        path.mkdir(parents=True, exist_ok=True)
    with hold_write_lock(path):
        yield Checkpoint(path, settings)
