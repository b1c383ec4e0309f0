"""Run the tasks of a build on this machine, in this process or in worker processes.

Worker processes are programs started anew, so that they share neither threads nor the caller's
main module. A worker reads tasks from its standard input and writes results to its standard
output. Where either ends, the other process is gone.
"""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa  # type: ignore[import-untyped]

from shiq.errors import OperationalError
from shiq.inputs.sources import TableSource
from shiq.jobs.building.exchange import (
    IncomingColumns,
    OutgoingColumns,
    RangeFile,
    Scratch,
    decode_columns,
    encode_columns,
)
from shiq.jobs.store.replacing import BUILDING
from shiq.remote.place import StoreLocation

T = TypeVar("T")
R = TypeVar("R")

#: Seconds in which a worker that has nothing to do has to end.
_END_SECONDS = 10.0
_PROGRAM = "from shiq.jobs.building.executor import run_worker; run_worker()"


class ProcessExecutor:
    """Executor that runs tasks in worker processes of this machine, or in this process; see
    `shiq.jobs.building.exchange.Executor`.

    processes: workers, started with the first task; with 0, tasks run one by one in this process
    """

    def __init__(self, processes: int = 0) -> None:
        self._processes = processes
        self._workers: list[Worker] = []
        self._folder: Path | None = None

    def __enter__(self) -> ProcessExecutor:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        workers, self._workers = self._workers, []
        for worker in workers:
            worker.stop(_END_SECONDS if kind is None else 0.0)

    @property
    def least_tasks(self) -> int:
        """Number of worker processes, at least 1: that many tasks keep all of them busy."""
        return max(1, self._processes)

    def share_access(self, place: StoreLocation) -> None:
        """Choose the folder for the files of exchanges: beside the store at ``place``, where there
        is room for them.
        """
        # Where the store is, there is room for what is as large as it is.
        self._folder = place / BUILDING if isinstance(place, Path) else None

    def cut_table(
        self, source: TableSource, scope: str, scratch: Scratch
    ) -> list[RangeFile] | None:
        """Return None: this executor has no tables of its own."""
        return None

    def run(self, task: Callable[[T], R], parts: Sequence[T], what: str) -> list[R]:
        """Run ``task`` on each part. Returns the results in order."""
        return self._run_tasks(task, [(part,) for part in parts])

    def exchange(
        self,
        send: Callable[[T], Iterable[OutgoingColumns]],
        senders: Sequence[T],
        receive: Callable[[int, IncomingColumns], R],
        count: int,
        what: str,
        answer: Callable[[int, IncomingColumns], Iterable[OutgoingColumns]] | None = None,
    ) -> list[R]:
        """Let every sender write columns for numbered parts to files, and every part receive the
        columns sent to it.
        """
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            task = partial(_run_sender, send, folder)
            posts = _messages_by_part(self._run_tasks(task, list(enumerate(senders))), count)
            if answer is not None:
                task = partial(_run_answerer, answer, folder)
                posts = _messages_by_part(self._run_tasks(task, list(enumerate(posts))), count)
            return self._run_tasks(partial(_run_receiver, receive), list(enumerate(posts)))

    def _run_tasks(self, task: Callable[..., R], arguments: Sequence[tuple[Any, ...]]) -> list[R]:
        """Run ``task`` with each of the argument tuples ``arguments``. Returns the results in order."""
        return [
            pickle.loads(body)
            for body in self._run_in_workers([pickle.dumps((task, x)) for x in arguments])
        ]

    def _run_in_workers(self, tasks: Sequence[bytes]) -> list[bytes]:
        """Run the pickled ``tasks`` in worker processes. Returns pickled results in order."""
        if not self._processes:
            return list(map(_run_task, tasks))
        if tasks and not self._workers:
            self._workers = [Worker() for _ in range(self._processes)]
        results, coming = [b""] * len(tasks), iter(enumerate(tasks))
        busy: dict[Any, tuple[Worker, int]] = {}
        for worker, (number, task) in zip(self._workers, coming):
            busy[worker.begin_task(task)] = worker, number
        while busy:
            for ready in wait(list(busy)):
                worker, number = busy.pop(ready)
                results[number] = worker.receive_result()
                for number, task in coming:
                    busy[worker.begin_task(task)] = worker, number
                    break
        return results


# --- what parts send each other -------------------------------------------------------------------


@dataclass(frozen=True)
class _PartMessage:
    """Columns that one task sent to one part, as a byte range of a file."""

    part: int
    sender: int
    name: str
    file: str
    start: int
    end: int


def _messages_by_part(
    sent: Iterable[Sequence[_PartMessage]], count: int
) -> list[list[_PartMessage]]:
    """Group messages by the part that is to receive them."""
    posts: list[list[_PartMessage]] = [[] for _ in range(count)]
    for some in sent:
        for post in some:
            posts[post.part].append(post)
    return posts


def _run_sender(
    send: Callable[[T], Iterable[OutgoingColumns]], folder: str, sender: int, part: T
) -> list[_PartMessage]:
    """Task: run ``send`` on a part and write its messages to a file."""
    return _write_messages(folder, sender, send(part))


def _run_answerer(
    answer: Callable[[int, IncomingColumns], Iterable[OutgoingColumns]],
    folder: str,
    sender: int,
    messages: Sequence[_PartMessage],
) -> list[_PartMessage]:
    """Task: run ``answer`` on the messages a part received, and write its answers to a file."""
    return _write_messages(folder, sender, answer(sender, _read_messages(messages)))


def _run_receiver(
    receive: Callable[[int, IncomingColumns], R], number: int, messages: Sequence[_PartMessage]
) -> R:
    """Task: run ``receive`` on the messages sent to a part."""
    return receive(number, _read_messages(messages))


def _write_messages(
    folder: str, sender: int, sent: Iterable[OutgoingColumns]
) -> list[_PartMessage]:
    """Write messages to one new file. Returns where each begins and ends."""
    posts = []
    handle, path = tempfile.mkstemp(dir=folder)
    with open(handle, "wb") as file:
        for part, name, columns in sent:
            start = file.tell()
            file.write(encode_columns(columns))
            posts.append(_PartMessage(part, sender, name, path, start, file.tell()))
    return posts


def _read_messages(messages: Sequence[_PartMessage]) -> IncomingColumns:
    """Read the messages that a part received, by name."""
    received = defaultdict[str, list[tuple[int, dict[str, Any]]]](list)
    for post in messages:
        file = _map_file(post.file)
        file.seek(post.start)
        columns = decode_columns(file.read_buffer(post.end - post.start))
        received[post.name].append((post.sender, columns))
    return received


#: Files of one exchange that are open at once, and those that are.
_MOST_MAPPED_FILES = 256
_mapped_files: dict[str, pa.MemoryMappedFile] = {}


def _map_file(path: str) -> pa.MemoryMappedFile:
    """Map a file of messages into memory; the mapping is cached in this worker."""
    if path not in _mapped_files:
        # Those of an exchange that is over take room until they are let go.
        if (
            len(_mapped_files) >= _MOST_MAPPED_FILES
            or Path(next(iter(_mapped_files), path)).parent != Path(path).parent
        ):
            _mapped_files.clear()
        _mapped_files[path] = pa.memory_map(path)
    return _mapped_files[path]


# --- workers --------------------------------------------------------------------------------------


class Worker:
    """Handle of a worker process, in the process that started it.

    what: the activity that it belongs to, for error messages
    """

    def __init__(self, what: str = "of the build") -> None:
        self._what = what
        path = os.pathsep.join(os.path.abspath(entry) for entry in sys.path)
        # In a session of its own: Ctrl-C is for this process, which ends the worker.
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,
        )
        assert self._process.stdin and self._process.stdout
        self._tasks = Connection(os.dup(self._process.stdin.fileno()), readable=False)
        self._results = Connection(os.dup(self._process.stdout.fileno()), writable=False)
        self._process.stdin.close()
        self._process.stdout.close()

    def begin_task(self, task: bytes) -> Connection:
        """Send ``task`` to the worker. Returns the connection on which its result will arrive."""
        try:
            self._tasks.send_bytes(task)
        except OSError:
            raise self._lost_worker_error() from None
        return self._results

    def receive_result(self) -> bytes:
        """Receive the result of the task. Raises: the error that the task raised."""
        try:
            is_error, body = pickle.loads(self._results.recv_bytes())
        except (EOFError, OSError):
            raise self._lost_worker_error() from None
        if is_error:
            error: BaseException = pickle.loads(body)
            raise error
        return body

    def stop(self, seconds: float) -> None:
        """Ask the process to end, and send a signal after ``seconds``."""
        self._tasks.close()
        with suppress(subprocess.TimeoutExpired):
            if seconds:
                self._process.wait(seconds)
        self._process.kill()
        self._process.wait()
        self._results.close()

    def _lost_worker_error(self) -> OperationalError:
        """Make the error for a worker process that ended although it was not asked to."""
        code = self._process.wait()
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        return OperationalError(
            f"a worker process {self._what} ended {how}",
            "Is there memory enough? Each core has a worker of its own, see free -m.",
        )


def _run_task(task: bytes) -> bytes:
    """Run a pickled task. Returns its pickled result."""
    function, given = pickle.loads(task)
    return pickle.dumps(function(*given))


def run_worker() -> None:
    """Main loop of a worker process: run the tasks that arrive at standard input, until it ends."""
    given = Connection(os.dup(0), writable=False)
    results = Connection(os.dup(1), readable=False)
    # Whatever a task reads or prints is none of that.
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    tasks: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    is_busy = threading.Event()
    threading.Thread(target=_queue_tasks, args=(given, tasks, is_busy), daemon=True).start()
    while (task := tasks.get()) is not None:
        try:
            result = pickle.dumps((False, _run_task(task)))
        except Exception as error:
            result = pickle.dumps((True, _picklable_error(error)))
        is_busy.clear()
        with suppress(OSError):
            results.send_bytes(result)


def _queue_tasks(
    given: Connection, tasks: queue.SimpleQueue[bytes | None], is_busy: threading.Event
) -> None:
    """Thread: move the tasks that arrive at ``given`` to the queue ``tasks``.

    When the input ends, the parent is gone: this process exits at once, even from a running task.
    """
    with suppress(EOFError, OSError):
        while True:
            task = given.recv_bytes()
            is_busy.set()
            tasks.put(task)
    if is_busy.is_set():
        os._exit(1)
    tasks.put(None)


def _picklable_error(error: Exception) -> bytes:
    """Pickle ``error``, or its text where it cannot be pickled."""
    try:
        body = pickle.dumps(error)
        pickle.loads(body)
    except Exception:
        body = pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
    return body
