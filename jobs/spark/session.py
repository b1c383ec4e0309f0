"""Open and stop Spark sessions, and keep the temporary tables of a run in a folder.

An active session (of spark-submit, of a notebook) is used as it is; otherwise one is started:
over Spark Connect where SPARK_REMOTE says so, else on this machine. Over Connect the server owns
the workers' Python, which is looked at, but not set.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import uuid
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING
from uuid import uuid4

import pyspark
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import shiq
from shiq.errors import OperationalError, UsageError, missing_package
from shiq.remote.place import StoreLocation

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]


#: What a session on one machine is given; anything that spark-submit or ``settings`` say goes
#: before it.
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
#: Java code that runs for seconds costs more to optimise than it gains, and a small heap is
#: collected by one thread: an index of LUBM-10 takes half the CPU of the JVM. Verifying the 14,000
#: classes that Spark loads of its own jars is a seventh of what a session costs.
_BRIEF = (
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:-BytecodeVerificationRemote",
)
#: What goes with that. Each extension of sessions on the classpath is loaded by default; that of
#: Spark's own MLlib takes two CPU seconds, for functions that nothing here calls.
_BRIEF_SETTINGS = {"spark.sql.extensions.test.loadFromCp": "false"}
#: Where users say what their JVMs are to be started with: variables, and words in Spark's own
#: settings.
_JAVA_VARIABLES = ("SPARK_SUBMIT_OPTS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
_JAVA_WORDS = ("driver-java-options", "driver.extraJavaOptions", "driver.defaultJavaOptions")

#: The setting by which users say for how many cores tasks are cut.
TASKS_SETTING = "spark.shiq.tasks"
#: What Spark has for `spark.dynamicAllocation.maxExecutors` where there is no limit.
_NO_LIMIT = 2**31 - 1
#: Tasks for a cluster without a limit: enough that it grows, few enough that a small one hardly
#: notices.
_TASKS_WITHOUT_LIMIT = 64
#: However many executors are allowed: a task costs the driver some milliseconds.
_MOST_TASKS = 1024


def spark_session(
    *,
    master: str | None = None,
    settings: Mapping[str, str] | None = None,
    name: str = "shiq",
    brief: bool = False,
) -> tuple[SparkSession, bool]:
    """Return a Spark session, and whether it was started here, so that the caller has to stop it.

    ``master`` and ``settings`` matter only when a session is started; a Connect server may have the
    settings already. Workers run this interpreter, unless the user has named one. ``brief``: the
    session is for one check, index or stream that ends, so its JVM on this machine starts without
    optimisation, unless the user has set options of the JVM. Raises: OperationalError where no
    session can be started, or a server lacks one of ``settings``.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        _set_interpreter(active)
        return active, False
    builder = SparkSession.builder.appName(name)
    remote = os.environ.get("SPARK_REMOTE") if master is None else None
    if remote is not None:
        if remote.startswith("local"):
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        for key, value in (settings or {}).items():
            builder = builder.config(key, value)
    elif remote is None and (master is not None or "SPARK_ENV_LOADED" not in os.environ):
        master = master or "local[*]"
        builder = builder.master(master)
        is_brief = brief and master.startswith("local")
        quick = dict(_BRIEF_SETTINGS) if is_brief else {}
        if is_brief and not _has_java_options(settings or {}):
            quick["spark.driver.extraJavaOptions"] = " ".join(_BRIEF)
        for key, value in {**_DEFAULTS, **quick, **(settings or {})}.items():
            builder = builder.config(key, value)
    try:
        with _silent_stderr():
            session = builder.getOrCreate()
    except Exception as error:  # pyspark raises many kinds where Java is missing, too old, or cannot resolve a package
        raise missing_package(error) or OperationalError(
            f"no Spark session could be started: {str(error).splitlines()[0]}",
            "Spark needs Java 17 or 21 on the path, and every package named in spark.jars.packages within reach.",
        ) from error
    except BaseException as stopped:  # the time of a check is over, or somebody interrupts it
        _kill_starting_jvm(stopped)
        raise
    if not is_connect(session):
        session.sparkContext.setLogLevel("ERROR")
    elif untaken := [
        key for key, value in (settings or {}).items() if session.conf.get(key, None) != value
    ]:
        raise OperationalError(
            f"the Spark Connect server has not the settings that are needed here: {', '.join(sorted(untaken))}",
            "Start the server with them, or unset SPARK_REMOTE.",
        )
    _set_interpreter(session)
    return session, True


def is_connect(session: SparkSession) -> bool:
    """Decide whether ``session`` is a Spark Connect session, which has neither a SparkContext nor
    RDDs.
    """
    return type(session).__module__.startswith("pyspark.sql.connect")


def _has_java_options(settings: Mapping[str, str]) -> bool:
    """Decide whether the user has set options of the driver's JVM; ours could conflict with them
    and keep it from starting.
    """
    folder = os.environ.get("SPARK_CONF_DIR") or Path(
        os.environ.get("SPARK_HOME") or os.path.dirname(pyspark.__file__), "conf"
    )
    said = [os.environ.get("PYSPARK_SUBMIT_ARGS", ""), *settings]
    with suppress(OSError):
        said.append(
            Path(folder, "spark-defaults.conf").read_text(encoding="utf-8", errors="replace")
        )
    return any(map(os.environ.get, _JAVA_VARIABLES)) or any(
        word in text for text in said for word in _JAVA_WORDS
    )


def task_count(session: SparkSession) -> int:
    """Number of tasks that gives at least one to every core that ``session`` may get.

    The setting `TASKS_SETTING`, else Spark's default parallelism. If the user has not set that, it
    counts the cores that have registered by now, and at least `_cores_allowed`. Raises: UsageError
    where `TASKS_SETTING` is no such number.
    """
    asked = _setting(session, TASKS_SETTING)
    if asked is not None:
        if not asked.isdecimal() or not int(asked):
            raise UsageError(
                f"{TASKS_SETTING} is {asked!r}, and not a number of tasks",
                f"Give one above 0: --conf {TASKS_SETTING}=64",
            )
        return int(asked)
    registered = (
        _default_parallelism(session)
        if is_connect(session)
        else max(1, session.sparkContext.defaultParallelism)
    )
    return (
        registered
        if _setting(session, "spark.default.parallelism")
        else max(registered, _cores_allowed(session))
    )


def _cores_allowed(session: SparkSession) -> int:
    """Tasks that run at once under full dynamic allocation, up to `_MOST_TASKS`; 1 without it."""
    is_dynamic = (_setting(session, "spark.dynamicAllocation.enabled") or "").lower() == "true"
    if (
        not is_dynamic or (_setting(session, "spark.master") or "").partition("[")[0] == "local"
    ):  # which ignores it
        return 1
    executors = int(_setting(session, "spark.dynamicAllocation.maxExecutors") or _NO_LIMIT)
    if executors >= _NO_LIMIT:
        return _TASKS_WITHOUT_LIMIT
    slots = int(_setting(session, "spark.executor.cores") or 1) // int(
        _setting(session, "spark.task.cpus") or 1
    )
    return min(executors * max(1, slots), _MOST_TASKS)


def _setting(session: SparkSession, key: str) -> str | None:
    """Value of a setting of ``session``; None if it is not set, or the server does not show it."""
    try:
        return session.conf.get(key, None)
    except PySparkException:
        return None


@lru_cache(maxsize=4)
def _default_parallelism(session: SparkSession) -> int:
    """Default parallelism of a Connect session, measured by the number of partitions of a range."""
    parts = session.range(1 << 16).select(F.spark_partition_id().alias("part"))
    return 1 + int(parts.agg(F.max("part")).collect()[0][0])


def worker_interpreter(session: SparkSession) -> str:
    """Path of the Python interpreter for Spark's workers: the one that the user has set, else this
    process's.

    Another python3 on the path may lack the packages that tasks import.
    """
    if is_connect(session):
        return "the Python of the Connect server"
    named = os.environ.get("PYSPARK_PYTHON") or session.sparkContext.getConf().get(
        "spark.pyspark.python"
    )
    return named or sys.executable


def _set_interpreter(session: SparkSession) -> None:
    """Make the workers of ``session`` run `worker_interpreter`.

    Workers on this machine get this process's import path if they run the same interpreter. Workers
    of a Connect server are asked for their version of shiq. Raises: OperationalError where it
    differs.
    """
    if is_connect(session):
        told = _worker_version(session)
        if told != shiq.__version__:
            raise OperationalError(
                f"the workers of the Spark Connect server have not the shiq {shiq.__version__} of this process, but: {told}",
                "Install this version in the Python that the server's workers run, or give it to the session: "
                'spark.addArtifacts("shiq.zip", pyfile=True), with numpy, pyarrow and the rest installed there.',
            )
        return
    context, python = session.sparkContext, worker_interpreter(session)
    context.pythonExec = python
    if str(context.master).startswith("local") and shutil.which(python) == sys.executable:
        context.environment["PYTHONPATH"] = os.pathsep.join(
            os.path.abspath(entry) for entry in sys.path
        )


def _worker_version(session: SparkSession) -> str:
    """Version of shiq that Spark's workers import, or why they cannot."""

    # A function within another is sent by value, so that a worker without shiq can run it.
    def report_version(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        import pyarrow

        for _ in batches:
            try:
                import shiq
                import shiq.jobs.spark.executor_reasoner

                text = str(shiq.__version__)
            except Exception as error:
                text = f"{type(error).__name__}: {error}"
            yield pyarrow.record_batch([pyarrow.array([text])], names=["version"])

    return str(
        session.range(0, 1, 1, 1).mapInArrow(report_version, "version string").collect()[0][0]
    )


#: Variables by which an object store, or HDFS, is reached, by how they begin.
_ACCESS_PREFIXES = ("AWS_", "AZURE_", "GOOGLE_", "HADOOP_", "KRB5")


def share_access(session: SparkSession, place: StoreLocation) -> None:
    """Give the workers of ``session`` this process's access to the object store of ``place``.

    Workers on this machine share its copies. A Connect server uses its own variables.
    """
    if isinstance(place, Path) or is_connect(session):
        return
    context = session.sparkContext
    handed = (
        (*_ACCESS_PREFIXES, "SHIQ_CACHE")
        if str(context.master).startswith("local")
        else _ACCESS_PREFIXES
    )
    context.environment.update(
        {name: value for name, value in os.environ.items() if name.startswith(handed)}
    )


def stop_session(session: SparkSession) -> None:
    """Stop ``session`` and its JVM, so that the process can exit at once."""
    gateway = SparkContext._gateway  # no public way to end the JVM before the interpreter ends
    try:
        session.stop()
    except (
        Py4JError,
        OSError,
    ):  # the JVM is gone already, and with it all that the next session would take for its own
        _forget_session()
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


def _kill_starting_jvm(stopped: BaseException) -> None:
    """Kill the JVM of a session whose start was interrupted.

    The next session then gets a JVM of its own.
    """
    process = getattr(SparkContext._gateway, "proc", None)
    # A JVM that has not told its port yet would not end by itself, and only a frame knows it.
    held = (
        value for frame, _ in walk_tb(stopped.__traceback__) for value in frame.f_locals.values()
    )
    _forget_session()
    SparkContext._gateway = None
    SparkContext._jvm = None
    for found in (process, *held):
        if isinstance(found, subprocess.Popen):
            found.terminate()


def _forget_session() -> None:
    """Make PySpark start a new session at the next request, instead of returning the stopped one."""
    SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None


class _silent_stderr:
    """Context manager: hide what Spark's launcher prints to stderr; print it if the start fails."""

    def __enter__(self) -> None:
        sys.stderr.flush()
        self._saved = os.dup(2)
        self._file = tempfile.TemporaryFile()
        os.dup2(self._file.fileno(), 2)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        os.dup2(self._saved, 2)
        os.close(self._saved)
        if kind is not None and issubclass(kind, Exception):
            self._file.seek(0)
            os.write(2, self._file.read())
        self._file.close()


# The Spark jobs of a check: what each is for, as Spark's pages show it, and what they come to.
#
# Over Spark Connect jobs are tagged, but cannot be described, and what they come to is not told.


#: The tag of every job of a check.
TAG = "shiq"
_DESCRIPTION = "spark.job.description"


@contextmanager
def described_jobs(spark: SparkSession, text: str) -> Iterator[None]:
    """Context manager: describe the Spark jobs started within by ``text``, for Spark's web
    interface.
    """
    if is_connect(spark):
        yield
        return
    context = spark.sparkContext
    before = context.getLocalProperty(_DESCRIPTION)
    context.setJobDescription(text)
    try:
        yield
    finally:
        context.setLocalProperty(_DESCRIPTION, before)  # type: ignore[arg-type]  # None takes it away


@dataclass
class TaggedJobs:
    """Context manager: tag the Spark jobs started within, describe them by ``stage``, and count
    them.

    Afterwards tags and description are as the caller had them.
    """

    spark: SparkSession
    stage: str
    own_tag: str = field(default_factory=lambda: f"{TAG}-{uuid4().hex}")

    def __enter__(self) -> TaggedJobs:
        self._stack = ExitStack()
        self._stack.enter_context(described_jobs(self.spark, f"shiq: {self.stage}"))
        if is_connect(self.spark):
            add, remove, present = self.spark.addTag, self.spark.removeTag, self.spark.getTags()
        else:
            context = self.spark.sparkContext
            add, remove, present = context.addJobTag, context.removeJobTag, context.getJobTags()
        for tag in {TAG, self.own_tag} - set(present):
            add(tag)
            self._stack.callback(remove, tag)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._stack.close()
        # Nobody waits any more for what runs when the time of a check is over, or somebody has
        # interrupted it.
        if kind is not None and not issubclass(kind, Exception) and not is_connect(self.spark):
            self.spark.sparkContext.cancelJobsWithTag(self.own_tag)

    def cost(self) -> Mapping[str, int]:
        """Numbers of jobs and tasks, and bytes shuffled and sent to the driver; empty where Spark
        hides them.
        """
        if is_connect(self.spark):
            return {}
        context = (
            self.spark.sparkContext._jsc.sc()
        )  # Python's status tracker knows neither tags nor bytes
        context.listenerBus().waitUntilEmpty()
        store = context.statusStore()
        jobs = list(context.statusTracker().getJobIdsForTag(self.own_tag))
        ids = [store.job(job).stageIds() for job in jobs]
        stages = {found.apply(i) for found in ids for i in range(found.size())}
        sums = {"jobs": len(jobs), "tasks": 0, "shuffled_bytes": 0, "result_bytes": 0}
        for number in stages:
            try:
                stage = store.lastStageAttempt(number)
            except Py4JError:  # Spark forgets stages when it has had very many
                continue
            sums["tasks"] += stage.numCompleteTasks()
            sums["shuffled_bytes"] += stage.shuffleWriteBytes()
            sums["result_bytes"] += stage.resultSize()
        return sums


class TemporaryTables:
    """Folder of temporary Parquet tables of one run, deleted by ``remove`` or with this object.

    A table that is written again under its name replaces the earlier one.
    """

    def __init__(self, spark: SparkSession, folder: str) -> None:
        self.spark, self.folder = spark, folder
        self._written: Counter[str] = Counter()
        self.remove = weakref.finalize(self, _remove_folder, spark, folder)

    @property
    def checkpoint_folder(self) -> str:
        """Folder for the checkpoints that Spark itself writes."""
        return f"{self.folder}/checkpoints"

    def write(self, name: str, rows: DataFrame) -> DataFrame:
        """Compute ``rows`` once, write them to a file, and return a DataFrame that reads it.

        The table ``name`` of the round before the last is removed.
        """
        self._written[name] += 1
        path = f"{self.folder}/{name}/{self._written[name]}"
        rows.write.parquet(path)
        if self._written[name] > 2:
            _remove_folder(self.spark, f"{self.folder}/{name}/{self._written[name] - 2}")
        return self.spark.read.schema(rows.schema).parquet(path)


def temporary_tables(
    spark: SparkSession, what: str = "the rounds of the engine 'graphframes'"
) -> TemporaryTables:
    """Make a folder of temporary tables for one run. ``what``: their content, for messages.

    They lie below Spark's checkpoint folder, or on this machine where Spark runs on it alone.
    Raises: OperationalError where the executors of a cluster have no folder in common.
    """
    context = spark.sparkContext
    shared = context.getCheckpointDir() or spark.conf.get("spark.checkpoint.dir", None)
    if shared is None and not (context.master or "").startswith("local"):
        raise OperationalError(
            f"{what} need a folder that all executors share",
            "Set spark.checkpoint.dir to one, as hdfs:///tmp/shiq or a folder on NFS.",
        )
    return TemporaryTables(
        spark, f"{shared or tempfile.gettempdir()}/shiq-rounds-{uuid.uuid4().hex}"
    )


def _remove_folder(spark: SparkSession, path: str) -> None:
    """Delete a folder of temporary tables; after the end of the session only one on this machine."""
    context = spark.sparkContext
    if context._jvm is None:
        shutil.rmtree(path, ignore_errors=True)
        return
    place = context._jvm.org.apache.hadoop.fs.Path(path)
    place.getFileSystem(context._jsc.hadoopConfiguration()).delete(place, True)
