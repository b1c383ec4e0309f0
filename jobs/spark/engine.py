"""Engine `spark`: as the engine `local`, with Spark tasks that read the batch, and that decide
module shapes if these are many or hard.

Reading is what grows with the bytes, and each line stands by itself; reasoning is dear, and each
shape stands by itself. What lies between costs the driver some 20 µs an insertion: less than to
move it about.
"""

from __future__ import annotations

import atexit
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

import shiq
from shiq.abox_ops.elements.base import StoreBase
from shiq.abox_ops.local_engine import LocalKnowledgeBase
from shiq.abox_ops.modules.decide import Decider
from shiq.columns.rows import literal_hash, term_hash
from shiq.errors import OperationalError, missing_package
from shiq.jobs.checking.base import OpenBase
from shiq.jobs.checking.inputs import is_read_by_form
from shiq.jobs.checking.options import Options
from shiq.model import Assertion
from shiq.model.abox import ABox

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from shiq.jobs.spark.session import TaggedJobs


class SparkWork:
    """Parts of one check that Spark computes (`shiq.jobs.checking.base.DistributedWork`).

    A session is started when there is work for it.
    """

    def __init__(self, base: OpenBase, options: Options) -> None:
        self._base, self._options = base, options

    @cached_property
    def _stage_jobs(self) -> TaggedJobs:
        """Counter of the Spark jobs that this check starts."""
        from shiq.jobs.spark.session import TaggedJobs

        return TaggedJobs(obtain_session(self._options), "")

    def distribute_sources(self, given: Sequence[object]) -> list[object]:
        """Let Spark read the sources that it can read; see
        `shiq.jobs.checking.base.DistributedWork`.
        """
        if not given or all(isinstance(value, ABox) for value in given):
            return list(given)
        from shiq.jobs.spark.reading import SparkReading

        return SparkReading(self._stage_jobs.spark, self._tag_stage).with_spark_readers(given)

    @contextmanager
    def distribute_questions(self, decider: Decider) -> Iterator[None]:
        """Context manager: ``decider`` may let Spark's executors decide modules."""
        from shiq.jobs.spark.executor_reasoner import ExecutorReasoner

        here = decider.reasoner
        decider.reasoner = ExecutorReasoner(
            here,
            decider.own_reasoner,
            self._options,
            lambda: self._stage_jobs.spark,
            self._tag_stage,
        )
        try:
            yield
        finally:
            decider.reasoner = here

    @contextmanager
    def _tag_stage(self, stage: str) -> Iterator[None]:
        """Context manager: tag and describe the Spark jobs started within as this ``stage`` of the
        check; translate Spark's errors.
        """
        jobs = self._stage_jobs
        try:
            with replace(jobs, stage=stage):
                yield
        except Exception as error:
            raise translate_failure(error, jobs.spark) from error

    def check_id(self, insertions: ABox, deletions: ABox, criterion: str) -> str:
        """Id of the check, a hash of the store's snapshot, the batch and the criterion."""
        held: tuple[object, ...] = ()
        knowledge_base = self._base.knowledge_base
        if isinstance(knowledge_base, LocalKnowledgeBase) and isinstance(
            knowledge_base.base, StoreBase
        ):
            manifest = knowledge_base.base.store.manifest
            held = manifest.tbox_hash, manifest.snapshot, manifest.created
        content = *_content_digest(insertions), *_content_digest(deletions)
        by_form = ("by form",) if is_read_by_form(self._base.tbox) else ()
        text = "\n".join(map(str, (shiq.__version__, *held, criterion, *content, *by_form)))
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def cost(self) -> Mapping[str, int]:
        """Numbers of Spark jobs and tasks so far, and bytes shuffled."""
        return self._stage_jobs.cost() if "_stage_jobs" in vars(self) else {}


_HASH_FACTOR = np.uint64(0x9E3779B97F4A7C15)


def _content_digest(abox: ABox) -> tuple[int, int]:
    """Digest of an ABox: the number of assertions and the sum of their hashes, independent of their
    order.
    """
    total = 0
    individuals = term_hash(abox.individuals)
    names = (
        term_hash(abox.classes),
        term_hash(abox.object_properties),
        term_hash(abox.data_properties),
    )
    groups = (
        (individuals[abox.class_rows.subject], names[0][abox.class_rows.name]),
        (
            individuals[abox.role_rows.subject],
            names[1][abox.role_rows.name],
            individuals[abox.role_rows.object],
        ),
        (
            individuals[abox.data_rows.subject],
            names[2][abox.data_rows.name],
            literal_hash(abox.literals)[abox.data_rows.literal],
        ),
    )
    for kind, columns in enumerate(groups):
        mixed = np.full(len(columns[0]), kind + 1, np.uint64)
        for column in columns:
            mixed = (mixed ^ column.view(np.uint64)) * _HASH_FACTOR
            mixed ^= mixed >> np.uint64(29)
        total += int(mixed.sum(dtype=np.uint64))
    rest = ABox(
        individuals=abox.individuals, same=abox.same, different=abox.different, complex=abox.complex
    )
    total += sum(int(term_hash([repr(assertion)])[0]) for assertion in rest)
    return len(abox), total % (1 << 64)


def obtain_session(
    options: Options, *, brief: bool = True, settings: Mapping[str, str] | None = None
) -> SparkSession:
    """Return the active Spark session, or start one for the rest of this process with ``settings``.

    Raises: OperationalError.
    """
    try:
        from shiq.jobs.spark.session import spark_session, stop_session
    except ImportError as error:
        raise missing_package(error) or error from error
    session, started = spark_session(master=options.master, settings=settings, brief=brief)
    if started:
        atexit.register(stop_session, session)
    return session


def triples_frame(assertions: Iterable[Assertion]) -> DataFrame:
    """Convert ``assertions`` to a DataFrame of N-Triples terms s, p, o, in the active session."""
    import pyarrow as pa  # type: ignore[import-untyped]

    from shiq.model.ntriples import assertion_lines

    parts = [
        line.removesuffix(" .").split(" ", 2) for a in assertions for line in assertion_lines(a)
    ]
    columns = {
        name: pa.array([part[i] for part in parts], pa.string()) for i, name in enumerate("spo")
    }
    return obtain_session(Options()).createDataFrame(pa.table(columns))


def translate_failure(error: Exception, session: SparkSession) -> Exception:
    """Translate an error of Spark: a task that failed for good, or a session that was lost."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    if not isinstance(error, PySparkException | Py4JError):
        return error
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    cause = next(
        (line for line in reversed(lines) if "Error: " in line or "Exception: " in line),
        lines[0] if lines else "",
    )
    if "ModuleNotFoundError: " in cause:
        from shiq.jobs.spark.session import worker_interpreter

        return OperationalError(
            f"Spark's workers lack a package: {cause.partition('ModuleNotFoundError: ')[2]}",
            f"They run {worker_interpreter(session)}: install shiq there, or name another interpreter by PYSPARK_PYTHON.",
        )
    return OperationalError(
        f"Spark gave up: {cause[:500]}",
        "Look into Spark's log; can every executor open the files of the batch?",
    )
