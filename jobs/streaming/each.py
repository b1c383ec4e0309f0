"""A store that a query of Spark Structured Streaming feeds: each micro-batch is checked, and taken in if it is consistent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from jobs.checking.session import Session
from shiq.errors import UsageError
from shiq.result import NotConsistent, Result
from shiq.verdict import Verdict

#: What Spark calls a query in whose midst it is: the same after a restart from its checkpoint, another without.
_QUERY = "sql.streaming.queryId"
#: Rows of a change data feed have it.
_CHANGE = "_change_type"

#: Takes a micro-batch that was not consistent, its number and the result.
Refused = Callable[[DataFrame, int, Result], None]


def check_each(store: str | Path, *, refused: Refused | None = None, **settings: Any) -> Callable[[DataFrame, int], None]:
    """A function for `DataStreamWriter.foreachBatch`: checks each micro-batch of triples (s, p, o [, graph, key]) against the
    store, and takes it in, in one step with its number, if it is consistent; settings as in `check_insertions`.

    A micro-batch that Spark sends again after a crash is taken in once. One that is not consistent goes to ``refused``, perhaps
    twice after a crash, and the query goes on; None: the query ends with `NotConsistent`. Raises: StoreError, UsageError.
    """
    session = Session(store)

    def each(frame: DataFrame, batch: int) -> None:
        if _CHANGE in frame.columns:
            raise UsageError(
                f"the stream has the column {_CHANGE}: some of its rows are deletions",
                "Give its insertions alone, or check the table's versions by shiq.table_changes.",
            )
        query = frame.sparkSession.sparkContext.getLocalProperty(_QUERY) or ""
        if query and session.taken.get(query, -1) >= batch:
            return
        result = session.check(frame, commit=True, taken={query: batch} if query else None, **settings)
        if result.verdict is Verdict.CONSISTENT:
            return
        if refused is None:
            raise NotConsistent(result)
        refused(frame, batch, result)

    return each
