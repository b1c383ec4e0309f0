"""The archive of classes from which Spark's JVMs on this machine start (Java's class data sharing).

A JVM reads, verifies and links ten thousand classes before Spark does anything: nearly half the cost of checking a small batch.
The archive has them as they lie in memory. It is for one Java and one set of jars; a JVM that it does not fit starts without.
"""

from __future__ import annotations

import os
import shutil
from hashlib import sha256
from pathlib import Path

import pyspark

from shiq.errors import ReasonerError
from shiq.folders import user_cache
from shiq.reasoner.jvm import find_java


def _folder() -> Path:
    return user_cache("spark")


def _key() -> str | None:
    """What tells this Java with these jars of Spark from others; None where either is missing."""
    jars = Path(os.environ.get("SPARK_HOME") or os.path.dirname(pyspark.__file__), "jars")
    try:
        stamps = [(str(path), path.stat().st_mtime_ns) for path in (Path(find_java()).resolve(), jars.resolve())]
    except (ReasonerError, OSError):
        return None
    return sha256(repr((pyspark.__version__, stamps)).encode()).hexdigest()[:16]


def archive() -> Path | None:
    """The archive for this Java and this Spark, if it was made and has all its bytes: a JVM that maps one cut short dies."""
    key = _key()
    for path in sorted(_folder().glob(f"classes-{key}-*.jsa")) if key else ():
        if path.stem.rpartition("-")[2] == str(path.stat().st_size):
            return path
    return None


def keep(made: Path) -> Path:
    """Keeps ``made``, an archive just written, for later JVMs, in place of an older one; gives where it lies. Raises: OSError."""
    older = archive()
    path = _folder() / f"classes-{_key()}-{made.stat().st_size}.jsa"
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        shutil.copyfile(made, whole)
        os.replace(whole, path)
    finally:
        whole.unlink(missing_ok=True)
    if older is not None and older != path:
        older.unlink(missing_ok=True)
    return path


def java_options() -> list[str]:
    """Options that have a JVM use the archive; none where there is none.

    Java compares its sums, and starts without one that is damaged or not its own. What it says of that goes to stderr: stdout is
    for results.
    """
    found = archive()
    if found is None or '"' in str(found):
        return []
    return [f'"-XX:SharedArchiveFile={found}"', "-XX:+VerifySharedSpaces", "-Xlog:disable", "-Xlog:all=error:stderr"]
