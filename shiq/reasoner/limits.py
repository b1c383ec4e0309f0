"""The limits that a caller can give a reasoner, checked before anything starts."""

from __future__ import annotations

import math
import re

from shiq.errors import UsageError

_HEAP = re.compile(r"[1-9]\d*[kKmMgG]")


def check_heap(heap: str) -> None:
    """Raises UsageError unless ``heap`` is a size as a JVM's -Xmx takes it.

    >>> check_heap("512m")
    """
    if not _HEAP.fullmatch(heap):
        raise UsageError(f"not a heap size: {heap!r}", "Write a number with k, m or g, such as 512m or 2g.")


def check_timeout(timeout: float | None) -> None:
    """Raises UsageError unless ``timeout`` is None or a positive number of seconds."""
    if timeout is not None and not 0 < timeout < math.inf:
        raise UsageError(f"not a time limit: {timeout!r}", "Give a positive number of seconds, or none for no limit.")
