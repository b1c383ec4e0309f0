"""The one place that opens Spark sessions.

A session that is active already (spark-submit's, a notebook's) is used as it is; otherwise one is started on this machine.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pyspark
from pyspark import SparkContext
from pyspark.sql import SparkSession

from jobs.store.place import Place
from shiq.errors import OperationalError

#: What a session on one machine is given; anything that spark-submit or ``settings`` say goes before it.
_DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "2g",
}
#: Java code that runs for seconds costs more to optimise than it gains, and a small heap is collected by one thread.
_BRIEF = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
#: Where users say what their JVMs are to be started with: variables, and words in Spark's own settings.
_JAVA_VARIABLES = ("SPARK_SUBMIT_OPTS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
_JAVA_WORDS = ("driver-java-options", "driver.extraJavaOptions", "driver.defaultJavaOptions")


def spark_session(
    *, master: str | None = None, settings: Mapping[str, str] | None = None, name: str = "shiq", brief: bool = False
) -> tuple[SparkSession, bool]:
    """A Spark session, and whether it was started here (and so is the caller's to stop).

    ``master`` and ``settings`` count only where a session is started. Its workers run this interpreter, unless the user has named
    one. ``brief``: it is for one check, so that its JVM on this machine is not to optimise, unless the user has said how JVMs are
    to be started. Raises `OperationalError` where none can be started.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        _set_interpreter(active)
        return active, False
    builder = SparkSession.builder.appName(name)
    if master is not None or "SPARK_ENV_LOADED" not in os.environ:
        master = master or "local[*]"
        builder = builder.master(master)
        quick = _BRIEF if brief and master.startswith("local") and not _java_options_are_said(settings or {}) else {}
        for key, value in {**_DEFAULTS, **quick, **(settings or {})}.items():
            builder = builder.config(key, value)
    try:
        with _silent_stderr():
            session = builder.getOrCreate()
    except Exception as error:  # pyspark raises many kinds where Java is missing, too old, or cannot resolve a package
        raise OperationalError(
            f"no Spark session could be started: {str(error).splitlines()[0]}",
            "Spark needs Java 17 or 21 on the path, and every package named in spark.jars.packages within reach.",
        ) from error
    session.sparkContext.setLogLevel("ERROR")
    _set_interpreter(session)
    return session, True


def _java_options_are_said(settings: Mapping[str, str]) -> bool:
    """Whether the user has said what the driver's JVM is to be started with: two collectors, say, would keep it from starting."""
    folder = os.environ.get("SPARK_CONF_DIR") or Path(os.environ.get("SPARK_HOME") or os.path.dirname(pyspark.__file__), "conf")
    said = [os.environ.get("PYSPARK_SUBMIT_ARGS", ""), *settings]
    with suppress(OSError):
        said.append(Path(folder, "spark-defaults.conf").read_text(encoding="utf-8", errors="replace"))
    return any(map(os.environ.get, _JAVA_VARIABLES)) or any(word in text for text in said for word in _JAVA_WORDS)


def width_of(session: SparkSession) -> int:
    """How many tasks ``session`` is to have at least, that all its cores have one."""
    return max(1, session.sparkContext.defaultParallelism)


def interpreter_of(session: SparkSession) -> str:
    """The interpreter that the user has named for the workers of ``session``, else this one: another python3 on the path may lack
    what the tasks import."""
    named = os.environ.get("PYSPARK_PYTHON") or session.sparkContext.getConf().get("spark.pyspark.python")
    return named or sys.executable


def _set_interpreter(session: SparkSession) -> None:
    """Has the workers of ``session`` run `interpreter_of` it; those on this machine find what this process finds, if they run the
    same, however it came to be on the path."""
    context, python = session.sparkContext, interpreter_of(session)
    context.pythonExec = python
    if str(context.master).startswith("local") and shutil.which(python) == sys.executable:
        context.environment["PYTHONPATH"] = os.pathsep.join(os.path.abspath(entry) for entry in sys.path)


#: Variables by which an object store, or HDFS, is reached, by how they begin.
_REACH = ("AWS_", "AZURE_", "GOOGLE_", "HADOOP_", "KRB5")


def hand_on(session: SparkSession, place: Place) -> None:
    """Has the workers of ``session`` reach the object store of ``place`` as this process does; those on this machine share its
    copies."""
    if isinstance(place, Path):
        return
    context = session.sparkContext
    handed = (*_REACH, "SHIQ_CACHE") if str(context.master).startswith("local") else _REACH
    context.environment.update({name: value for name, value in os.environ.items() if name.startswith(handed)})


def stop(session: SparkSession) -> None:
    """Ends ``session`` and its JVM, so that the process may exit at once."""
    gateway = session.sparkContext._gateway  # no public way to end the JVM before the interpreter ends
    session.stop()
    process = getattr(gateway, "proc", None)
    if gateway is not None and isinstance(process, subprocess.Popen):
        with suppress(Exception):
            gateway.shutdown()
        if process.stdin is not None:
            process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
        # Or the next session of this process would talk to the JVM that has ended.
        SparkContext._gateway = None
        SparkContext._jvm = None


class _silent_stderr:
    """Keeps what Spark's launcher says about itself off the terminal; it is written again if starting fails."""

    def __enter__(self) -> None:
        sys.stderr.flush()
        self._saved = os.dup(2)
        self._file = tempfile.TemporaryFile()
        os.dup2(self._file.fileno(), 2)

    def __exit__(self, kind: object, *_: object) -> None:
        os.dup2(self._saved, 2)
        os.close(self._saved)
        if kind is not None:
            self._file.seek(0)
            os.write(2, self._file.read())
        self._file.close()
