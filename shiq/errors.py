"""The exceptions of shiq. Each one carries a remedy.

ShiqError
├── UsageError            the call is wrong: exit code 2
└── OperationalError      a file, a store, a JVM or a limit: exit code 4
    ├── InputError        a file is missing, unreadable, too large or in no known format
    ├── StoreError        not a store, of another version, or changed meanwhile
    └── ReasonerError     a reasoner could not be started

Inconsistent and undetermined are answers (`shiq.answers.verdict`), never exceptions.

Optional packages, and the extra of shiq that installs each.
"""

from __future__ import annotations

import errno
import re
from typing import Final

#: How a store is built in place of one that cannot be gone on with.
BUILD_ANEW: Final = "`shiq index --tbox T --store DIR --replace ABOX…`"
#: By these numbers the system says that there is no room.
NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def fill_in_store(text: str, store: object) -> str:
    """Replace ``--store DIR`` by the path of ``store`` in the commands that ``text`` proposes."""
    if not str(store):
        return text
    import shlex

    return text.replace("--store DIR", f"--store {shlex.quote(str(store))}")


class ShiqError(Exception):
    """Base of all exceptions of shiq.

    remedy: one sentence that says what to do next.
    """

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}\n  {self.remedy}" if self.remedy else self.message


class UsageError(ShiqError):
    """The arguments of a call or command line are wrong."""


class OperationalError(ShiqError):
    """Nothing was decided, for a technical reason: a file, a store, a JVM or a limit."""


class InputError(OperationalError):
    """An input file cannot be read at all."""


class StoreError(OperationalError):
    """A store cannot be used: it is missing, damaged, of another version, or was changed meanwhile.

    store: its path, inserted into the commands of ``remedy``.
    """

    def __init__(self, message: str, remedy: str = "", store: object = "") -> None:
        super().__init__(message, fill_in_store(remedy, store))


class ReasonerError(OperationalError):
    """A reasoner cannot be used at all, for example because Java is missing."""


#: By the name under which a package is imported, or installed.
_EXTRAS = {
    **dict.fromkeys(("pyspark", "pandas", "graphframes", "graphframes-py"), "spark"),
    **dict.fromkeys(
        ("grpc", "grpcio", "grpc_status", "grpcio-status", "google.protobuf", "protobuf"), "connect"
    ),
    **dict.fromkeys(("google.rpc", "googleapis-common-protos", "zstandard"), "connect"),
    "confluent_kafka": "kafka",
    "deltalake": "lake",
    **dict.fromkeys(("fastapi", "uvicorn", "starlette", "pydantic"), "serve"),
    "mcp": "mcp",
    **dict.fromkeys(("hdfs_native", "obstore"), "cloud"),
    **dict.fromkeys(("yaml", "PyYAML"), "yarrrml"),
}
#: How pyspark tells that a package is missing or too old.
_PYSPARK = re.compile(r"\[(?:PACKAGE_NOT_INSTALLED|UNSUPPORTED_PACKAGE_VERSION)\] (\S+) ")


def missing_package(error: BaseException) -> OperationalError | None:
    """Turn the import error of an optional package into one that names the extra to install. None
    for other errors.

    >>> print(missing_package(ModuleNotFoundError("No module named 'pyspark'", name="pyspark.sql")))
    this needs the package pyspark, which is not installed
      Install it: pip install 'shiq[spark]'.
    >>> missing_package(ModuleNotFoundError("No module named 'shiq.nothing'", name="shiq.nothing")) is None
    True
    """
    if not isinstance(error, ImportError):
        return None
    found = _PYSPARK.match(str(error))
    parts = (found.group(1) if found else error.name or "").split(".")
    if parts[0] == "py4j":  # comes with pyspark
        parts = ["pyspark"]
    name = next(
        (name for i in range(len(parts), 0, -1) if (name := ".".join(parts[:i])) in _EXTRAS), None
    )
    if name is None:
        return None
    what = (
        str(error).partition("] ")[2].rstrip(".")
        if found
        else f"this needs the package {name}, which is not installed"
    )
    return OperationalError(what, f"Install it: pip install 'shiq[{_EXTRAS[name]}]'.")
