"""Errors of Spark: the reason in a line, and those after which it is worth to try again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

#: Spark waits for ten seconds until a new Python process answers, which a busy machine may exceed.
#: Then the query is begun again, from its own checkpoint, so that nothing of it is lost or done
#: twice; so many times at most without a batch in between.
TOO_SLOW, ATTEMPTS = "to connect back", 5
#: How the last line of a traceback begins.
_RAISED: Final = re.compile(r"[\w.]+(Error|Exception|Interrupt|Exit)\b")


def chain(error: BaseException | None) -> Iterator[str]:
    """The messages of an error, and of those that Java had as its causes."""
    while error is not None:
        yield str(error)
        error = getattr(error, "_cause", None)


def reason(error: BaseException) -> str:
    """The deepest cause of an error, in a line."""
    said = type(error).__name__
    for message in chain(error):
        lines = [line.strip() for line in message.splitlines() if line.strip()]
        said = _of_python(lines) or next(iter(lines), said)
    return said[:300]


def _of_python(lines: Sequence[str]) -> str:
    """The error that a worker raised, from the traceback in a message."""
    at = next((n for n, line in enumerate(lines) if line.startswith("Traceback")), len(lines))
    return next((line for line in lines[at:] if _RAISED.match(line)), "")
