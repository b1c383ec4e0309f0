"""A Java process that decides consistency (`java/ReasonerDriver.java`), with requests over its
standard input and output.

It cannot outlive this process, and its failures cannot look like answers: a failure during a
question is a `JvmFailure`, a missing or unusable Java a `ReasonerError`.
"""

from __future__ import annotations

import atexit
import importlib.resources
import importlib.util
import os
import re
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NoReturn

from shiq.errors import ReasonerError
from shiq.reasoner.ontology_text import OntologyText
from shiq.reasoner.protocol import check_heap

START_SECONDS = 60.0
#: How many parsed axiom sets a process keeps.
KEPT_BASES = 12
#: Class files of the driver, beside their source.
DRIVER = Path(__file__).parent / "java"
#: The driver's word for HermiT, in place of a factory's name.
HERMIT = "org.semanticweb.HermiT.Reasoner"

_REMEDY_JAVA = "Install a Java runtime (11 or later; Debian: default-jre-headless), or set JAVA_HOME; or use --reasoner own."
_REMEDY_OWN = "Use --reasoner own, or Linux, macOS or WSL."
_REMEDY_START = "Try another --heap, and `java -version` in a shell; or use --reasoner own."
_REMEDY_JAR = "Install owlready2 in this Python environment (pip install 'shiq[hermit]'); or use --reasoner own."

_OPTIONS = (
    "-Xss16m",  # deep class expressions are parsed and normalised by recursion
    "-XX:+UseSerialGC",  # starts faster, and leaves the other cores alone
    "-XX:+ExitOnOutOfMemoryError",  # a JVM that lost a thread to it is in an unknown state
    "-XX:+DisplayVMOutputToStderr",
    "-XX:-CreateCoredumpOnCrash",
    "-Djava.awt.headless=true",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
)
_ANSWERS = {
    "base": re.compile(r"(\d+) (\d+) (kept|misread)"),
    "ask": re.compile(r"(\d+) (\d+) (true|false|misread)"),
}


class JvmFailure(Exception):
    """Error: a question to the JVM got no answer; ``str`` is the reason."""


class JvmExpired(JvmFailure):
    """Error: a question to the JVM reached its time limit; the JVM was killed."""


class JvmDied(JvmFailure):
    """Error: the JVM ended unexpectedly, was killed, or wrote an invalid answer."""


class JavaException(JvmFailure):
    """Error: Java threw an exception on a question; the JVM is still alive."""


class MisreadOntology(JvmFailure):
    """Error: the OWL API parsed an ontology that differs from the one sent."""


@dataclass(frozen=True)
class JavaReasoner:
    """A Java reasoner that a JVM can run: the class that makes it (`HERMIT`, or a factory's name),
    and its jars.
    """

    factory: str
    jars: tuple[str, ...]


def find_java() -> str:
    """Return the path of ``java``: ``$JAVA_HOME/bin/java``, else the first on the PATH. Raises:
    ReasonerError.
    """
    home = os.environ.get("JAVA_HOME")
    candidate = shutil.which("java", path=os.path.join(home, "bin")) if home else None
    found = candidate or shutil.which("java")
    if found is None:
        raise ReasonerError("no Java runtime was found", _REMEDY_JAVA)
    if not hasattr(select, "poll"):  # Windows
        raise ReasonerError(
            "a JVM is asked over pipes that this system cannot wait for", _REMEDY_OWN
        )
    return found


def find_hermit() -> JavaReasoner:
    """Find HermiT in the wheel of owlready2, without importing its Python code. Raises:
    ReasonerError.
    """
    try:
        spec = importlib.util.find_spec("owlready2")
    except (ImportError, ValueError):
        spec = None
    if spec is None or spec.origin is None:
        raise ReasonerError("owlready2, whose wheel holds HermiT, is not installed", _REMEDY_JAR)
    jar = Path(spec.origin).parent / "hermit" / "HermiT.jar"
    if not jar.is_file():
        raise ReasonerError(f"HermiT's jar is missing: {jar}", _REMEDY_JAR)
    return JavaReasoner(HERMIT, (str(jar),))


class Jvm:
    """A Java process that answers consistency questions with one reasoner."""

    def __init__(self, heap: str = "1g", reasoner: JavaReasoner | None = None) -> None:
        """Starts it; ``reasoner`` is HermiT by default. Raises UsageError for a heap size that is
        none, ReasonerError where it does not start.
        """
        check_heap(heap)
        self.heap = heap
        java, self.reasoner = find_java(), reasoner or find_hermit()
        self._owner = os.getpid()
        self._lock = threading.RLock()
        self._requests = 0
        self._slots: OrderedDict[str, int] = OrderedDict()
        self._noise: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  (it lives as long as the JVM)
        self._unpacked = None if DRIVER.is_dir() else _unpack_driver()
        options = [f"-Xmx{heap}", *_OPTIONS]
        path = os.pathsep.join([str(self._unpacked or DRIVER), *self.reasoner.jars])
        command = [java, *options, "-cp", path, "ReasonerDriver", self.reasoner.factory]
        try:
            self._process = _launch_process(command, self._noise)
        except OSError as error:
            self._remove_unpacked()
            raise ReasonerError(f"{java} cannot be run: {error.strerror}", _REMEDY_JAVA) from error
        self._await_start(java)

    @property
    def pid(self) -> int:
        """Return the process id of the JVM."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Decide whether the Java process is running."""
        return self._owner == os.getpid() and self._process.poll() is None

    def is_consistent(
        self,
        bases: Sequence[OntologyText],
        question: OntologyText,
        timeout: float | None = None,
    ) -> bool:
        """Decide whether ``bases`` and ``question`` are consistent together. No axiom may be in two
        of them.

        bases: parsed once and cached in the JVM.

        After ``timeout`` seconds the JVM is killed. Any interruption (Ctrl-C) kills it too, because
        its next answer would belong to the wrong question.

        Raises: JvmExpired, JvmDied, JavaException; MisreadOntology if the OWL API holds other counts of
            axioms or names than were sent.
        """
        with self._lock:
            deadline = None if timeout is None else time.monotonic() + timeout
            most = max(KEPT_BASES, len(bases))
            try:
                slots = [self._find_slot(base, most, deadline) for base in bases]
                place = ",".join(map(str, slots)) or "-"
                verdict = self._send_request("ask", place, question, (*bases, question), deadline)
            except JvmExpired:
                self._kill_process()
                raise JvmExpired(f"no answer within {timeout:g} s; the JVM was killed") from None
            except JvmFailure:
                raise
            except BaseException:
                self.close()
                raise
        return verdict == "true"

    def close(self) -> None:
        """Kill the JVM and wait for its end; may be called twice. A forked child only forgets
        it.
        """
        if self._owner != os.getpid():
            return
        self._kill_process()
        for stream in (self._process.stdin, self._process.stdout, self._noise):
            if stream is not None:
                stream.close()
        self._remove_unpacked()

    def forget_process(self) -> None:
        """Drop the handle of the JVM in a forked child, without ending it: it belongs to the
        parent.
        """
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        self._process.returncode = 0  # else Popen would wait for a process that is not its child

    def _find_slot(self, base: OntologyText, most: int, deadline: float | None) -> int:
        """Return the JVM's cache slot, below ``most``, that holds ``base``; a new one is loaded
        into the slot unused for longest.
        """
        if base.text not in self._slots:
            if len(self._slots) >= most:
                self._slots.popitem(last=False)
            slot = min({*range(most)} - {*self._slots.values()})
            self._send_request("base", str(slot), base, (base,), deadline)
            self._slots[base.text] = slot
        self._slots.move_to_end(base.text)
        return self._slots[base.text]

    def _send_request(
        self,
        verb: str,
        place: str,
        sent: OntologyText,
        documents: Sequence[OntologyText],
        deadline: float | None,
    ) -> str:
        """Send a request and return the last word of the JVM's answer. ``documents``: all parts of
        the ontology, for counting.
        """
        self._requests += 1
        axioms = sum(document.axioms for document in documents)
        names = len(frozenset().union(*(document.entities for document in documents)))
        words = f"{self._requests} {verb} {place} {axioms} {names}"
        try:
            request = f"{words}\n{sent.text}".encode()
            length = struct.pack(">i", len(request))
        except (UnicodeEncodeError, struct.error) as error:
            raise JvmFailure(f"the ontology cannot be sent: {error}") from None
        line = self._exchange(length + request, deadline)
        number, _, answer = line.partition(" ")
        if number != str(self._requests):
            self._raise_died(line)
        if answer.startswith("error "):
            raise JavaException(_shorten_to_line(answer.removeprefix("error ")))
        found = _ANSWERS[verb].fullmatch(answer)
        if found is None:
            self._raise_died(line)
        if found[3] == "misread" or (int(found[1]), int(found[2])) != (axioms, names):
            raise MisreadOntology(
                f"the OWL API read {found[1]} axioms about {found[2]} names"
                f" where {axioms} axioms about {names} names were sent"
            )
        return found[3]

    def _exchange(self, request: bytes, deadline: float | None) -> str:
        """Write ``request`` to the JVM and read the one line of its answer. Raises: JvmExpired at
        the ``deadline``, JvmDied.
        """
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        unsent, line = memoryview(request), b""
        ready = select.poll()
        try:
            ready.register(stdout, select.POLLIN)
            if unsent:
                ready.register(stdin, select.POLLOUT)
            while not line.endswith(b"\n"):
                left = None if deadline is None else max(0.0, deadline - time.monotonic())
                events = ready.poll(None if left is None else left * 1000)
                if not events:
                    raise JvmExpired
                if any(descriptor == stdout.fileno() for descriptor, _ in events):
                    chunk = os.read(stdout.fileno(), 1 << 16)
                    if not chunk:
                        self._raise_died()
                    line += chunk
                else:
                    unsent = unsent[os.write(stdin.fileno(), unsent) :]
                    if not unsent:
                        ready.unregister(stdin)
        except (OSError, ValueError):  # a broken pipe, or one that `close` has closed
            self._raise_died()
        text = line[:-1].decode("utf-8", "replace")
        if unsent or "\n" in text:
            self._raise_died(text)
        return text

    def _remove_unpacked(self) -> None:
        """Delete the temporary folder of the driver's class files."""
        if self._unpacked is not None:
            shutil.rmtree(self._unpacked, ignore_errors=True)

    def _kill_process(self) -> None:
        """Kill the JVM and its process group, and wait for its end."""
        if self._process.poll() is None:
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                self._process.kill()
        self._process.wait()

    def _raise_died(self, line: str | None = None) -> NoReturn:
        """Kill the JVM, and raise JvmDied with the reason why there is no answer, or only the
        invalid answer ``line``.
        """
        if line is not None:
            self._kill_process()
            raise JvmDied(
                f"the JVM wrote what is no answer: {_shorten_to_line(line)!r}; it was killed"
            )
        try:
            code = self._process.wait(2.0)
        except subprocess.TimeoutExpired:
            self._kill_process()
            raise JvmDied("the JVM broke the connection; it was killed") from None
        noise = self._error_output()
        if "OutOfMemoryError" in noise:
            raise JvmDied(f"the JVM ran out of memory (heap {self.heap}); --heap allows more")
        if code < 0:
            raise JvmDied(f"the JVM was killed by {_signal_name(-code)}")
        raise JvmDied(
            f"the JVM ended with exit code {code}"
            + (f": {_shorten_to_line(noise)}" if noise else "")
        )

    def _error_output(self) -> str:
        """Return the last lines of the JVM's standard error."""
        try:
            size = self._noise.seek(0, os.SEEK_END)
            self._noise.seek(max(0, size - 4000))
            return self._noise.read().decode("utf-8", "replace").strip()
        except (OSError, ValueError):
            return ""

    def _await_start(self, java: str) -> None:
        """Wait until the driver in the JVM reports that it is ready. Raises: ReasonerError."""
        try:
            line = self._exchange(b"", time.monotonic() + START_SECONDS)
        except JvmFailure:
            line = ""
        if line == "ready":
            return
        self._kill_process()
        noise = (
            _shorten_to_line(self._error_output() or line)
            or f"exit code {self._process.returncode}"
        )
        self.close()
        raise ReasonerError(f"{java} did not start (heap {self.heap}): {noise}", _REMEDY_START)


def _launch_process(command: Sequence[str], noise: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start ``command`` with unbuffered pipes, in a process group of its own; writing to it does
    not block.
    """
    process = subprocess.Popen(
        command,
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=noise,
        cwd=tempfile.gettempdir(),
        start_new_session=True,
    )
    assert process.stdin is not None
    os.set_blocking(process.stdin.fileno(), False)
    return process


def _unpack_driver() -> Path:
    """Unpack the driver's class files to a folder: Java does not find them in the zip file of this
    package.
    """
    folder = Path(tempfile.mkdtemp(prefix="shiq-java-"))
    for file in importlib.resources.files(__package__).joinpath("java").iterdir():
        if file.name.endswith(".class"):
            (folder / file.name).write_bytes(file.read_bytes())
    return folder


def _shorten_to_line(text: str, limit: int = 300) -> str:
    """Join the lines of a text, and cut it after ``limit`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _signal_name(number: int) -> str:
    """Return the name of a signal, such as SIGKILL."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


# --- the JVMs of this process ---------------------------------------------------------------------

_shared: dict[JavaReasoner, Jvm] = {}
_shared_lock = threading.RLock()
_users: weakref.WeakSet[object] = weakref.WeakSet()


def shared_jvm(user: object, heap: str, reasoner: JavaReasoner | None = None) -> Jvm:
    """Return the JVM of this process for ``reasoner`` (default: HermiT); start or restart it if
    necessary, also for another heap size.

    It lives until every ``user`` has released it (`release_jvm`) or was collected, or until the
    process ends. Raises: UsageError, ReasonerError.
    """
    reasoner = reasoner or find_hermit()
    with _shared_lock:
        jvm = _shared.get(reasoner)
        if jvm is not None and (not jvm.is_alive or jvm.heap != heap):
            _shared.pop(reasoner).close()
            jvm = None
        if jvm is None:
            jvm = _shared[reasoner] = Jvm(heap, reasoner)
        _users.add(user)
        return jvm


def release_jvm(user: object) -> None:
    """End the use of JVMs by ``user``; after the last user they are closed. May be called twice."""
    with _shared_lock:
        _users.discard(user)
        if not _users:
            close_shared_jvms()


def close_shared_jvms() -> None:
    """Close all shared JVMs of this process."""
    with _shared_lock:
        while _shared:
            _shared.popitem()[1].close()


def _after_fork_in_child() -> None:
    """Drop the parent's JVMs in a forked child."""
    global _shared_lock  # noqa: PLW0603
    _shared_lock = threading.RLock()
    for jvm in _shared.values():
        jvm.forget_process()
    _shared.clear()
    _users.clear()


atexit.register(close_shared_jvms)
os.register_at_fork(after_in_child=_after_fork_in_child)
