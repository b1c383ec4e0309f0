"""The exceptions of shiq.

ShiqError
├── UsageError            the call is wrong: exit code 2
└── OperationalError      a file, a store, a JVM or a limit: exit code 4
    ├── InputError        missing, unreadable, over a limit, or not in the expected format at
    all; names the file ├── StoreError        not a store, of another version, or moved under our
    feet └── ReasonerError     a reasoner could not be started

Inconsistent and undetermined are answers (`shiq.verdict`), never exceptions. Each error carries
what to do next.
"""

from __future__ import annotations

import errno
from typing import Final

#: How a store is built in place of one that cannot be gone on with.
BUILD_ANEW: Final = "`shiq index --tbox T --store DIR --replace ABOX…`"
#: By these numbers the system says that there is no room.
NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def at_store(text: str, store: object) -> str:
    """Put the path of ``store`` into the commands in ``text`` that name it as DIR."""
    if not str(store):
        return text
    import shlex

    return text.replace("--store DIR", f"--store {shlex.quote(str(store))}")


class ShiqError(Exception):
    """Base of all; ``remedy`` is one sentence that says what to do next."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}\n  {self.remedy}" if self.remedy else self.message


class UsageError(ShiqError):
    """The call itself is wrong."""


class OperationalError(ShiqError):
    """Nothing was decided, for a reason outside the data's meaning."""


class InputError(OperationalError):
    """An input as a whole cannot be used."""


class StoreError(OperationalError):
    """A store cannot be used. ``store``: its path, for the commands of ``remedy``."""

    def __init__(self, message: str, remedy: str = "", store: object = "") -> None:
        super().__init__(message, at_store(remedy, store))


class ReasonerError(OperationalError):
    """A reasoner cannot be used at all (no Java, no jar)."""
