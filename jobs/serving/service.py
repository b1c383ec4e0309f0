"""Answer requests about one open store, one after the other.

All questions run in the thread that calls `Service.run`: in the main thread their time limits hold
by an alarm. Others hand them over and wait for a future.
"""

from __future__ import annotations

import queue
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from shiq.api import Session
from shiq.errors import ShiqError
from shiq.inputs.sources import TextInput
from shiq.jobs.gate import gate
from shiq.jobs.store import open_store, status

#: Seconds after which the main thread looks for signals: one that comes just before a wait does not
#: end the wait.
SIGNAL_SECONDS: Final = 0.25
#: An answer's JSON form.
Document: TypeAlias = dict[str, Any]


class BusyError(ShiqError):
    """Error: the queue of waiting requests is full."""


@dataclass(frozen=True, slots=True)
class TextBatch:
    """Batch as texts: documents of triples to insert and to delete, and their syntax (a name of
    `--format`).
    """

    insertions: str = ""
    deletions: str = ""
    format: str = "ntriples"

    @property
    def sides(self) -> tuple[list[TextInput], list[TextInput]]:
        """Convert the documents to inputs: insertions and deletions. An empty document gives none."""
        named = ("insertions", self.insertions), ("deletions", self.deletions)
        coming, going = (
            [TextInput(text, self.format, name)] if text.strip() else [] for name, text in named
        )
        return coming, going


class Service:
    """Queue of requests about one store, answered in the thread of `run`.

    store: path of the store.
    timeout: seconds for a check. explain_seconds: seconds for explaining its conflicts.
    most_waiting: questions that may wait for the one that runs.
    """

    def __init__(
        self,
        store: str | Path,
        timeout: float = 30.0,
        explain_seconds: float = 30.0,
        most_waiting: int = 16,
    ) -> None:
        self._session = Session(store)
        self._timeout, self._explain_seconds = timeout, explain_seconds
        self._waiting: queue.Queue[tuple[Future[Document], Callable[[], Document]] | None] = (
            queue.Queue()
        )
        self._most_waiting = most_waiting

    def check(self, batch: TextBatch) -> Document:
        """Decide whether a batch is consistent with the store, without explaining conflicts."""
        return self._check_batch(batch, explain_seconds=0)

    def explain(self, batch: TextBatch, repairs: bool = False) -> Document:
        """Decide a batch and explain its conflicts, with the smallest repairs if wanted."""
        return self._check_batch(batch, explain_seconds=self._explain_seconds, repairs=repairs)

    def gate(self, batch: TextBatch, mode: str = "split", aside: str = "all") -> Document:
        """Decide which lines of a batch a gate would accept, without writing anything. ``mode``,
        ``aside``: as for `shiq gate`.
        """
        coming, going = batch.sides
        answer = gate(
            self._session,
            coming,
            going,
            mode=mode,
            aside=aside,
            dry_run=True,
            timeout=self._timeout,
            explain_seconds=self._explain_seconds,
        )
        return answer.to_dict()

    def status(self) -> Document:
        """Describe the store: snapshot, certificate, sizes."""
        with open_store(self._session.path) as kept:
            return status(kept)

    def _check_batch(self, batch: TextBatch, **settings: Any) -> Document:
        """Check a batch and return the answer as JSON."""
        coming, going = batch.sides
        return self._session.check(coming, going, timeout=self._timeout, **settings).to_dict()

    # --- one at a time ----------------------------------------------------------------------------

    def submit(self, question: Callable[..., Document], *arguments: Any) -> Future[Document]:
        """Queue ``question`` for the thread of `run`. Returns a future with its answer. Raises:
        BusyError if the queue is full.
        """
        if self._waiting.qsize() >= self._most_waiting:
            raise BusyError(
                f"{self._most_waiting} questions are waiting", "Ask again in some seconds."
            )
        future: Future[Document] = Future()
        self._waiting.put((future, partial(question, *arguments)))
        return future

    def run(self) -> None:
        """Answer queued requests until `stop` is called; requests that were queued before the call
        are still answered.
        """
        while True:
            try:
                task = self._waiting.get(timeout=SIGNAL_SECONDS)
            except queue.Empty:
                continue
            if task is None:
                break
            future, question = task
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(question())
            except Exception as error:  # the asker's to see
                future.set_exception(error)
        self._session.close()

    def stop(self) -> None:
        """Let `run` end after the requests queued so far."""
        self._waiting.put(None)
