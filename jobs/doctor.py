"""Test this machine for ``shiq doctor``: each finding is ok, warn or fail, with a remedy."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import shiq
from shiq.answers.verdict import Verdict
from shiq.errors import OperationalError

OK, WARN, FAIL = "ok", "warn", "fail"
SCHEMA_VERSION = 1

#: What the program needs, and what some of it needs (by extra).
NEEDED = ("click", "numpy", "pyarrow", "pyoxigraph")
OPTIONAL = {
    "owlready2": "hermit",
    "deltalake": "lake",
    "pyspark": "spark",
    "graphframes-py": "spark",
    "obstore": "cloud",
    "hdfs-native": "cloud",
}

#: Less free disk than this is told.
FREE_BYTES = 1 << 30
_JAVA_SECONDS = 20.0
_JAVA = re.compile(r'version "([^"]+)"')


@dataclass(frozen=True, slots=True)
class Finding:
    """Finding about one part of the installation.

    what: the part. state: `OK`, `WARN` or `FAIL`. found: what was found. remedy: what to do.
    """

    what: str
    state: str
    found: str
    remedy: str = ""


def examine(
    *, heap: str = "1g", spark: bool = False, master: str | None = None
) -> Iterator[Finding]:
    """Run all tests, and yield each finding. ``spark``: also start a Spark session, at ``master``."""
    parts: list[Callable[[], Iterator[Finding]]] = [
        _examine_python,
        _examine_packages,
        _examine_own_reasoner,
        _examine_java,
        lambda: _examine_hermit(heap),
        _examine_peers,
        _examine_graphframes,
        *([lambda: _examine_spark(master)] if spark else []),
        _examine_temporary_folder,
    ]
    for part in parts:
        try:
            yield from part()
        except Exception as error:  # a doctor who falls ill at the bedside helps nobody
            name = getattr(part, "__name__", "").strip("_<>") or "examination"
            yield Finding(
                name,
                FAIL,
                f"{type(error).__name__}: {error}",
                "Please report this with the line above.",
            )


def to_dict(findings: list[Finding]) -> dict[str, Any]:
    """Convert all findings to the JSON of ``shiq doctor --json``."""
    return {
        "schema_version": SCHEMA_VERSION,
        "state": FAIL if any(f.state == FAIL for f in findings) else OK,
        "findings": [*map(asdict, findings)],
    }


# --- Python ---------------------------------------------------------------------------------------


def _examine_python() -> Iterator[Finding]:
    """Find out the versions of shiq and Python."""
    version = platform.python_version()
    state = OK if sys.version_info >= (3, 10) else FAIL
    yield Finding("shiq", OK, shiq.__version__)
    yield Finding(
        "Python",
        state,
        f"{version} at {sys.executable}",
        "" if state == OK else "Use Python 3.10 or newer.",
    )


def _examine_packages() -> Iterator[Finding]:
    """Find out which needed and optional packages are installed."""
    for name in NEEDED:
        version = _package_version(name)
        yield Finding(
            name,
            OK if version else FAIL,
            version or "not installed",
            "" if version else "Install shiq again: pip install shiq brings it.",
        )
    for name, extra in OPTIONAL.items():
        version = _package_version(name)
        yield Finding(
            name,
            OK if version else WARN,
            version or "not installed",
            "" if version else f"pip install 'shiq[{extra}]'",
        )


def _package_version(name: str) -> str:
    """Version of an installed package; "" if it is missing."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


# --- reasoners ------------------------------------------------------------------------------------


def _test_reasoner(reasoner: Any) -> str:
    """Test a reasoner on a tiny consistent and a tiny inconsistent ontology. Returns what went
    wrong, or "".
    """
    from shiq.model import Class, DisjointClasses, TBox
    from shiq.reasoner.protocol import Module
    from shiq.simplify import simplify

    clauses = simplify(TBox((DisjointClasses((Class("urn:Cat"), Class("urn:Dog"))),))).clauses
    one, both = 1, 3
    answers = reasoner.decide(clauses, [Module((one,), (0,)), Module((both,), (0,))], 60.0)
    if [a.verdict for a in answers] == [Verdict.CONSISTENT, Verdict.INCONSISTENT]:
        return ""
    return "; ".join(a.reason or a.verdict.value for a in answers)


def _examine_own_reasoner() -> Iterator[Finding]:
    """Test the own reasoner."""
    from shiq.reasoner import create_reasoner

    trouble = _test_reasoner(create_reasoner("own"))
    remedy = "Please report this: the reasoner of this program answers wrongly." if trouble else ""
    yield Finding(
        "reasoner own", FAIL if trouble else OK, trouble or "decides a tiny ontology", remedy
    )


def _examine_java() -> Iterator[Finding]:
    """Find Java and its version."""
    from shiq.reasoner.jvm import find_hermit, find_java

    try:
        java = find_java()
    except OperationalError as error:
        yield Finding("Java", WARN, error.message, error.remedy)
        return
    try:
        said = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=_JAVA_SECONDS, check=False
        )
        found = _JAVA.search(said.stderr + said.stdout)
    except (OSError, subprocess.TimeoutExpired) as error:
        yield Finding(
            "Java", WARN, f"{java}: {error}", "Try `java -version` in a shell, or set JAVA_HOME."
        )
        return
    version = found[1] if found else "unknown"
    major = int(version.split(".")[1 if version.startswith("1.") else 0]) if found else 0
    state = OK if major >= 11 else WARN
    yield Finding(
        "Java",
        state,
        f"{version} at {java}",
        "" if state == OK else "HermiT and Spark need a Java from 11 on.",
    )
    try:
        yield Finding("HermiT's jar", OK, *find_hermit().jars)
    except OperationalError as error:
        yield Finding("HermiT's jar", WARN, error.message, error.remedy)


def _examine_hermit(heap: str) -> Iterator[Finding]:
    """Start HermiT and test it."""
    from shiq.reasoner import create_reasoner

    began = time.perf_counter()
    try:
        hermit = create_reasoner("hermit", heap=heap)
        try:
            trouble = _test_reasoner(hermit)
        finally:
            hermit.close()
    except OperationalError as error:
        yield Finding("reasoner hermit", WARN, error.message, error.remedy)
        return
    well = f"decides a tiny ontology (heap {heap}, {time.perf_counter() - began:.1f} s)"
    remedy = (
        "Without it `auto` leaves open what `own` cannot decide; look at Java and --heap."
        if trouble
        else ""
    )
    yield Finding("reasoner hermit", WARN if trouble else OK, trouble or well, remedy)


def _examine_peers() -> Iterator[Finding]:
    """Find other reasoners on this machine."""
    from shiq.reasoner.external import PEERS, MissingReasoner, find_external_reasoner

    for name, peer in PEERS.items():
        found = find_external_reasoner(name)
        licence = f", {peer.licence}" if peer.is_agpl else ""
        said = (
            f"not there: {found.reason}"
            if isinstance(found, MissingReasoner)
            else f"{found.program}{licence}"
        )
        yield Finding(f"{peer.title} (optional)", OK, said)


# --- Spark ----------------------------------------------------------------------------------------


def _examine_graphframes() -> Iterator[Finding]:
    """Find the jar of GraphFrames' core."""
    if not _package_version("pyspark"):
        return
    jar = os.environ.get("SHIQ_GRAPHFRAMES_JAR")
    if not jar:
        yield Finding(
            "GraphFrames' core", OK, "not named: the engine graphframes runs on DataFrames"
        )
    elif Path(jar).is_file():
        yield Finding("GraphFrames' core", OK, jar)
    else:
        yield Finding(
            "GraphFrames' core",
            WARN,
            f"SHIQ_GRAPHFRAMES_JAR={jar} is no file",
            "Name the jar, or unset the variable.",
        )


def _examine_spark(master: str | None) -> Iterator[Finding]:
    """Start a Spark session and run a job."""
    if importlib.util.find_spec("pyspark") is None:
        yield Finding(
            "Spark session", FAIL, "pyspark is not installed", "pip install 'shiq[spark]'"
        )
        return
    from shiq.jobs.spark.session import is_connect, spark_session, stop_session

    began = time.perf_counter()
    try:
        session, started = spark_session(master=master)
        try:
            count = session.range(10).count()
            master = (
                "a Spark Connect server" if is_connect(session) else session.sparkContext.master
            )
            said = f"{session.version} at {master}, counts to {count} ({time.perf_counter() - began:.1f} s)"
        finally:
            if started:
                stop_session(session)
    except Exception as error:
        first = next(
            (line for line in str(error).splitlines() if line.strip()), type(error).__name__
        )
        yield Finding(
            "Spark session", FAIL, first[:300], "Spark needs a JDK 17: look at JAVA_HOME, --master."
        )
        return
    yield Finding("Spark session", OK, said)


# --- the machine ----------------------------------------------------------------------------------


def _examine_temporary_folder() -> Iterator[Finding]:
    """Test that the folder for temporary files is writable, private and large enough."""
    remedy = "Set TMPDIR to a folder of yours."
    try:
        folder = Path(tempfile.gettempdir())
        with tempfile.TemporaryDirectory(prefix="shiq-doctor-") as made:
            mode = stat.S_IMODE(os.stat(made).st_mode)
            (Path(made) / "written").write_bytes(b"x" * 4096)
    except OSError as error:
        yield Finding("temporary folder", FAIL, str(error), remedy)
        return
    private = not mode & 0o077
    found = f"{folder}: writable, scratch folders are {'private' if private else f'open to others (mode {mode:o})'}"
    yield Finding("temporary folder", OK if private else WARN, found, "" if private else remedy)
    free = shutil.disk_usage(folder).free
    state = OK if free >= FREE_BYTES else WARN
    yield Finding(
        "free disk",
        state,
        f"{free / 2**30:,.1f} GiB at {folder}",
        "" if state == OK else "Make room, or set TMPDIR.",
    )
