"""Decide module shapes in Spark executors; each Python worker keeps its reasoner from task to task."""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from hashlib import blake2b
from typing import cast

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from shiq.abox_ops.modules.shapes import Shape
from shiq.answers.verdict import Verdict
from shiq.deadline import seconds_left
from shiq.jobs.building.worker import (
    ReasonerSettings,
    cached_value,
    skip_repeated_imports,
    worker_reasoner,
)
from shiq.jobs.checking.options import Options
from shiq.jobs.spark.session import task_count
from shiq.model.clause import ClausalTBox
from shiq.reasoner.own_reasoner import OwnReasoner
from shiq.reasoner.protocol import Answer, CombinedReasoner, Module, Reasoner

DDL = "shape string, modules bigint, verdict string, reason string, used string, near string, by string"
_COLUMNS = ("shape", "modules", "verdict", "reason", "used", "near", "by")
_SCHEMA = pa.schema([(name, pa.int64() if name == "modules" else pa.string()) for name in _COLUMNS])
#: Shapes of one question that are tried on the driver, with a small budget; and how many have to be
#: open for them to go out.
MOST_HERE, LEAST_OUT = 2_000, 2


def shape_digest(shape: Shape) -> str:
    """SHA-256 of a module's shape (its normal form), equal only for equal shapes."""
    return blake2b(repr(shape).encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()


def decide_rows(
    clauses: bytes, asking: ReasonerSettings, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Spark task: decide the modules in ``batches`` by a reasoner for ``clauses``. Yields for each
    shape of modules a row with the verdict (`DDL`).

    Each row has a shape, the number of modules that have it, and one of them, pickled over the
    pickled ``clauses``.
    """
    skip_repeated_imports()
    deadline = None if asking.seconds is None else time.monotonic() + asking.seconds
    tbox = None
    for batch in batches:
        if not batch.num_rows:
            continue
        if tbox is None:
            tbox = cached_value(
                "clauses", clauses, lambda: cast(ClausalTBox, pickle.loads(clauses))
            )
        reasoner = worker_reasoner(asking)
        modules = [pickle.loads(body) for body in batch.column("body").to_pylist()]
        answers = reasoner.decide(tbox, modules, seconds_left(deadline))
        columns = [
            batch.column("shape"),
            batch.column("modules"),
            [answer.verdict.value for answer in answers],
            [answer.reason for answer in answers],
            [
                json.dumps(None if answer.used_clauses is None else sorted(answer.used_clauses))
                for answer in answers
            ],
            [json.dumps(answer.near_nodes) for answer in answers],
            reasoner_names(reasoner, len(modules)),
        ]
        yield pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=_SCHEMA)


# --- questions of the driver ----------------------------------------------------------------------


class ExecutorReasoner:
    """Reasoner that decides easy modules on the driver and hands the others to executors.

    The driver decides what a small budget suffices for. Executors get the open ones, if these are
    several, and all modules beyond `MOST_HERE`. ``here``: the driver's reasoner, for all else.
    """

    def __init__(
        self,
        here: Reasoner,
        own: OwnReasoner,
        options: Options,
        session: Callable[[], SparkSession],
        within: Callable[[str], AbstractContextManager[None]],
    ) -> None:
        self.name = here.name
        self.deciders: Sequence[str] = ()
        self._here, self._own, self._options, self._session, self._within = (
            here,
            own,
            options,
            session,
            within,
        )

    def decide(
        self, tbox: ClausalTBox, modules: Sequence[Module], timeout: float | None = None
    ) -> list[Answer]:
        """Decide modules: easy ones on the driver, the others in executors; see
        `shiq.reasoner.protocol.Reasoner`.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        # Whoever names another reasoner wants its answers.
        tried = modules[:MOST_HERE] if self.name in ("auto", self._own.name) else ()
        answers = [
            *self._own.decide_if_easy(tbox, tried, timeout),
            *[_UNDETERMINED] * (len(modules) - len(tried)),
        ]
        by = [self._own.name] * len(modules)
        asked = [i for i, answer in enumerate(answers) if answer.verdict is Verdict.UNDETERMINED]
        if asked:
            decide = (
                self._decide_in_executors if len(asked) >= LEAST_OUT else self._decide_on_driver
            )
            for i, (answer, name) in zip(
                asked, decide(tbox, [modules[i] for i in asked], seconds_left(deadline))
            ):
                answers[i], by[i] = answer, name
        self.deciders = tuple(by)
        return answers

    def _decide_on_driver(
        self, tbox: ClausalTBox, modules: Sequence[Module], seconds: float | None
    ) -> list[tuple[Answer, str]]:
        """Decide modules on the driver. Returns the answers, each with the name of the reasoner
        that gave it.
        """
        answers = self._here.decide(tbox, modules, seconds)
        return [*zip(answers, reasoner_names(self._here, len(modules)))]

    def close(self) -> None:
        """Close the driver's reasoner."""
        self._here.close()

    def _decide_in_executors(
        self, tbox: ClausalTBox, modules: Sequence[Module], seconds: float | None
    ) -> list[tuple[Answer, str]]:
        """Decide modules in Spark's executors. Returns the answers, each with the name of the
        reasoner that gave it.
        """
        asking = ReasonerSettings(self._options.reasoner, self._options.heap, seconds)
        rows = pa.table(
            {
                "shape": [str(i) for i in range(len(modules))],
                "modules": pa.array([1] * len(modules), pa.int64()),
                "body": [pickle.dumps(module) for module in modules],
            }
        )
        with self._within("deciding shapes"):
            spark = self._session()
            spread = spark.createDataFrame(rows).repartition(min(len(modules), task_count(spark)))
            told = (
                spread.mapInArrow(partial(decide_rows, pickle.dumps(tbox), asking), DDL)
                .toArrow()
                .to_pylist()
            )
        found = {int(row["shape"]): row for row in told}
        return [(_parse_answer(found[i]), found[i]["by"]) for i in range(len(modules))]


def reasoner_names(reasoner: Reasoner, count: int) -> list[str]:
    """Names of the reasoners that gave the ``count`` answers of the last call."""
    return (
        [*reasoner.deciders] if isinstance(reasoner, CombinedReasoner) else [reasoner.name] * count
    )


_UNDETERMINED = Answer(Verdict.UNDETERMINED)


def _parse_answer(row: Mapping[str, str]) -> Answer:
    """Parse the answer of an executor from its row."""
    used = json.loads(row["used"])
    near = tuple(json.loads(row["near"]))
    return Answer(
        Verdict(row["verdict"]), row["reason"], None if used is None else frozenset(used), near
    )
