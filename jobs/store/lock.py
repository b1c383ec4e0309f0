"""One writer at a time, by an advisory lock that the kernel frees when its holder dies.

The lock is on the file ``lock`` of the store; the file stays, and its text (process, boot, since
when) only serves the message. A lock left by a crash needs no repair: a process that is gone, or
a machine that was restarted, holds nothing.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

from jobs.store.files import writable
from shiq.errors import StoreError
from shiq.remote.place import Place

LOCK = "lock"
_BOOT = Path("/proc/sys/kernel/random/boot_id")


@contextmanager
def writing(store: Place) -> Iterator[None]:
    """Holds the writer's lock of ``store`` (an existing directory); elsewhere nothing is held,
    and the manifest decides.

    Raises: StoreError if another process, or another writer of this one, holds it, or something
    cannot be written meanwhile.
    """
    if not isinstance(store, Path):
        with writable(store):
            yield
        return
    with writable(store):
        file = os.open(store / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreError(
                f"{store}: another writer is at work ({_holder(file)})",
                "Wait until it has ended, then try again.",
            ) from None
        with writable(store):
            os.ftruncate(file, 0)
            os.pwrite(file, json.dumps(_identity()).encode(), 0)
            yield
    finally:
        os.close(file)


def _identity() -> dict[str, object]:
    boot = _BOOT.read_text().strip() if _BOOT.exists() else ""
    return {
        "process": os.getpid(),
        "boot": boot,
        "since": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }


def _holder(file: int) -> str:
    try:
        told = json.loads(os.pread(file, 4096, 0))
        return f"process {told['process']}, since {told['since']}"
    except (ValueError, KeyError, TypeError):
        return "it has not given its name yet"
