"""Packages that only some commands need, and which extra of shiq brings each."""

from __future__ import annotations

import re

from shiq.errors import OperationalError

#: By the name under which a package is imported, or installed.
_EXTRAS = {
    **dict.fromkeys(("pyspark", "pandas", "graphframes", "graphframes-py"), "spark"),
    **dict.fromkeys(
        ("grpc", "grpcio", "grpc_status", "grpcio-status", "google.protobuf", "protobuf"), "connect"
    ),
    **dict.fromkeys(("google.rpc", "googleapis-common-protos", "zstandard"), "connect"),
    "confluent_kafka": "kafka",
    **dict.fromkeys(("hdfs_native", "obstore"), "cloud"),
    **dict.fromkeys(("yaml", "PyYAML"), "yarrrml"),
}
#: How pyspark tells that a package is missing or too old.
_PYSPARK = re.compile(r"\[(?:PACKAGE_NOT_INSTALLED|UNSUPPORTED_PACKAGE_VERSION)\] (\S+) ")


def missing_package(error: BaseException) -> OperationalError | None:
    """Name the package that ``error`` says cannot be imported, and the extra that brings it.
    None for other errors.

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
