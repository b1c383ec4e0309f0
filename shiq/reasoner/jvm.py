"""A warm Java virtual machine behind py4j: it cannot outlive this process, and its failures
cannot look like answers.

What goes wrong during a question is a `JvmFailure`; that there is no usable Java at all is a
`ReasonerError`.
"""

from __future__ import annotations

import atexit
import importlib.metadata
import importlib.util
import os
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, TypeVar

from py4j import protocol  # type: ignore[import-untyped]
from py4j.java_gateway import GatewayParameters, JVMView  # type: ignore[import-untyped]
from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError  # type: ignore[import-untyped]

from shiq.errors import ReasonerError
from shiq.reasoner import check_heap
from shiq.reasoner.gateway import Client

T = TypeVar("T")

START_SECONDS = 60.0
_REMEDY_JAVA = "Install a Java runtime (11 or later; Debian: default-jre-headless), or set JAVA_HOME; or use --reasoner own."
_REMEDY_START = "Try another --heap, and `java -version` in a shell; or use --reasoner own."
_REMEDY_JAR = "Install owlready2 and py4j in this Python environment (pip install shiq brings both); or use --reasoner own."


class JvmFailure(Exception):
    """A question to the JVM has no answer; ``str`` is the reason."""


class JvmExpired(JvmFailure):
    """The time limit was reached; the JVM was killed."""


class JvmDied(JvmFailure):
    """The JVM ended by itself, or somebody killed it."""


class JavaException(JvmFailure):
    """Java threw; the JVM lives."""


def find_java() -> str:
    """The path of ``java``: ``$JAVA_HOME/bin/java``, else the first on the PATH. Raises
    ReasonerError.
    """
    home = os.environ.get("JAVA_HOME")
    candidate = shutil.which("java", path=os.path.join(home, "bin")) if home else None
    found = candidate or shutil.which("java")
    if found is None:
        raise ReasonerError("no Java runtime was found", _REMEDY_JAVA)
    return found


def find_jars() -> tuple[Path, Path]:
    """py4j's jar, and HermiT's in the wheel of owlready2 (whose Python is not imported). Raises
    ReasonerError.
    """
    py4j_jar = _py4j_jar()
    try:
        spec = importlib.util.find_spec("owlready2")
    except (ImportError, ValueError):
        spec = None
    if spec is None or spec.origin is None:
        raise ReasonerError("owlready2, whose wheel holds HermiT, is not installed", _REMEDY_JAR)
    hermit_jar = Path(spec.origin).parent / "hermit" / "HermiT.jar"
    if not hermit_jar.is_file():
        raise ReasonerError(f"HermiT's jar is missing: {hermit_jar}", _REMEDY_JAR)
    return py4j_jar, hermit_jar


def _py4j_jar() -> Path:
    """The jar that the installer recorded, else one beside the package. (py4j's own search
    starts in the current directory.)
    """
    try:
        recorded = importlib.metadata.files("py4j") or []
    except importlib.metadata.PackageNotFoundError:
        recorded = []
    candidates = [
        Path(str(file.locate())).resolve() for file in recorded if file.name.endswith(".jar")
    ]
    spec = importlib.util.find_spec("py4j")
    if spec is not None and spec.origin is not None:
        for parent in Path(spec.origin).resolve().parents[:5]:
            candidates += sorted(parent.glob("share/py4j/py4j*.jar"), reverse=True)
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise ReasonerError("py4j's jar is missing", _REMEDY_JAR)


class Jvm:
    """A Java process of our own, with HermiT on its class path.

    It reads its end from its standard input: when this process ends, however it ends, the pipe
    breaks and the JVM exits. It is in a process group of its own, so that Ctrl-C does not reach
    it and one signal kills all of it. Its port needs a secret.
    """

    def __init__(self, heap: str = "1g") -> None:
        """Starts it. Raises UsageError for a heap size that is none, ReasonerError where it does
        not start.
        """
        check_heap(heap)
        self.heap = heap
        java, jars = find_java(), find_jars()
        self._owner = os.getpid()
        self._lock = threading.RLock()
        self._noise: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  (it lives as long as the JVM)
        self._process = _launch(java, jars, heap, self._noise)
        port, token = self._read_port_and_token(java)
        self._client = Client(GatewayParameters(port=port, auth_token=token))
        self.view: Any = JVMView(self._client, protocol.DEFAULT_JVM_NAME, protocol.DEFAULT_JVM_ID)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._owner == os.getpid() and self._process.poll() is None

    def call(self, question: Callable[[], T], timeout: float | None = None) -> T:
        """What ``question``, a series of Java calls, returns; one at a time. After ``timeout``
        seconds the JVM is killed.

        Raises JvmExpired, JvmDied or JavaException. Whatever else interrupts it (Ctrl-C) kills
        the JVM too, since nobody knows what it would answer next.
        """
        with self._lock:
            expired = threading.Event()
            watchdog = self._watchdog(timeout, expired)
            try:
                return question()
            except Py4JJavaError as error:
                reason = self._describe(error, expired)
                if reason is not None:
                    raise JavaException(reason) from None
                raise self._failure(timeout, expired) from None
            except Py4JError as error:
                if isinstance(error, Py4JNetworkError) or not self.alive or expired.is_set():
                    raise self._failure(timeout, expired) from None
                raise JavaException(f"py4j: {_one_line(str(error))}") from None
            except JvmFailure:
                raise
            except BaseException:
                self.close()
                raise
            finally:
                if watchdog is not None:
                    watchdog.cancel()

    def forget(self, java_object: Any) -> None:
        """Lets the JVM have ``java_object`` back now. (py4j's proxies are in reference cycles:
        Python may notice much later.)
        """
        java_object._detach()

    def close(self) -> None:
        """Kills the JVM and waits for it; may be called twice. In a forked child it only lets go."""
        if self._owner != os.getpid():
            return
        if hasattr(self, "_client"):
            self._client.is_connected = False
        self._kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._noise):
            if stream is not None:
                stream.close()
        if hasattr(self, "_client"):
            self._client.close()

    def let_go(self) -> None:
        """Forgets the JVM in a forked child: it is its parent's."""
        self._client.let_go()
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.returncode = 0  # else Popen would wait for a process that is not its child

    def _watchdog(self, timeout: float | None, expired: threading.Event) -> threading.Timer | None:
        if timeout is None:
            return None

        def expire() -> None:
            expired.set()
            self._kill()

        timer = threading.Timer(max(timeout, 0.0), expire)
        timer.daemon = True
        timer.start()
        return timer

    def _kill(self) -> None:
        if self._process.poll() is None:
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                self._process.kill()

    def _describe(self, error: Any, expired: threading.Event) -> str | None:
        """Java's exception in one line; None where the JVM cannot say it any more."""
        try:
            thrown = error.java_exception
            name = thrown.getClass().getName()
            message = thrown.getMessage()
        except Py4JError:
            return None
        if expired.is_set():
            return None
        return _one_line(f"{name}: {message}" if message else str(name))

    def _failure(self, timeout: float | None, expired: threading.Event) -> JvmFailure:
        """Why the connection broke; leaves no half-dead JVM behind."""
        self._client.is_connected = False
        if expired.is_set():
            self._kill()
            self._process.wait()
            return JvmExpired(f"no answer within {timeout:g} s; the JVM was killed")
        try:
            code = self._process.wait(2.0)
        except subprocess.TimeoutExpired:
            self._kill()
            self._process.wait()
            return JvmDied("the JVM broke the connection; it was killed")
        noise = self._heard()
        if "OutOfMemoryError" in noise:
            return JvmDied(f"the JVM ran out of memory (heap {self.heap}); --heap allows more")
        if code < 0:
            return JvmDied(f"the JVM was killed by {_signal_name(-code)}")
        return JvmDied(
            f"the JVM ended with exit code {code}" + (f": {_one_line(noise)}" if noise else "")
        )

    def _heard(self) -> str:
        """The end of what the JVM wrote on its standard error."""
        try:
            size = self._noise.seek(0, os.SEEK_END)
            self._noise.seek(max(0, size - 4000))
            return self._noise.read().decode("utf-8", "replace").strip()
        except (OSError, ValueError):
            return ""

    def _read_port_and_token(self, java: str) -> tuple[int, str]:
        stdout = self._process.stdout
        assert stdout is not None
        lines = _first_lines(stdout, 2, START_SECONDS)
        try:
            port, token = int(lines[0]), lines[1]
        except (IndexError, ValueError):
            self._kill()
            self._process.wait()
            noise = (
                _one_line(self._heard() or " ".join(lines))
                or f"exit code {self._process.returncode}"
            )
            self.close()
            raise ReasonerError(
                f"{java} did not start (heap {self.heap}): {noise}", _REMEDY_START
            ) from None
        stdout.close()
        return port, token


def _launch(
    java: str, jars: Sequence[Path], heap: str, noise: IO[bytes]
) -> subprocess.Popen[bytes]:
    options = [
        f"-Xmx{heap}",
        "-Xss16m",  # deep class expressions are parsed and normalised by recursion
        "-XX:+UseSerialGC",  # starts faster, and leaves the other cores alone
        "-XX:+ExitOnOutOfMemoryError",  # a JVM that lost a thread to it is in an unknown state
        "-XX:+DisplayVMOutputToStderr",
        "-XX:-CreateCoredumpOnCrash",
        "-Djava.awt.headless=true",
    ]
    command = [
        java,
        *options,
        "-cp",
        os.pathsep.join(map(str, jars)),
        "py4j.GatewayServer",
        "--die-on-broken-pipe",
        "--enable-auth",
        "0",
    ]
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=noise,
            cwd=tempfile.gettempdir(),
            start_new_session=True,
        )
    except OSError as error:
        raise ReasonerError(f"{java} cannot be run: {error.strerror}", _REMEDY_JAVA) from error


def _first_lines(stream: IO[bytes], count: int, seconds: float) -> list[str]:
    """The first ``count`` lines of a pipe; fewer where it ends or ``seconds`` pass before."""
    deadline = time.monotonic() + seconds
    text = b""
    while text.count(b"\n") < count:
        ready, _, _ = select.select([stream], [], [], max(0.0, deadline - time.monotonic()))
        chunk = os.read(stream.fileno(), 4096) if ready else b""
        if not chunk:
            break
        text += chunk
    return text.decode("utf-8", "replace").split("\n")[:count]


def _one_line(text: str, limit: int = 300) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


# --- the JVM of this process ----------------------------------------------------------------------

_shared: Jvm | None = None
_shared_lock = threading.RLock()
_users: weakref.WeakSet[object] = weakref.WeakSet()


def shared_jvm(user: object, heap: str) -> Jvm:
    """The one JVM of this process, started where there is none that lives. Another heap size
    than its own restarts it.

    It lives until every ``user`` has let go of it (`release_jvm`) or was collected, or this
    process ends. Raises UsageError, ReasonerError.
    """
    global _shared  # noqa: PLW0603
    with _shared_lock:
        if _shared is not None and (not _shared.alive or _shared.heap != heap):
            _shared.close()
            _shared = None
        if _shared is None:
            _shared = Jvm(heap)
        _users.add(user)
        return _shared


def release_jvm(user: object) -> None:
    """Says that ``user`` needs the JVM no longer; the last one closes it. May be called twice."""
    with _shared_lock:
        _users.discard(user)
        if not _users:
            close_shared_jvm()


def close_shared_jvm() -> None:
    global _shared  # noqa: PLW0603
    with _shared_lock:
        if _shared is not None:
            _shared.close()
            _shared = None


def _after_fork_in_child() -> None:
    global _shared, _shared_lock, _inherited  # noqa: PLW0603
    _shared_lock = threading.RLock()
    if _shared is not None:
        _shared.let_go()
        _inherited = _shared  # kept, so that nothing of it is finalised here
        _shared = None
    _users.clear()


_inherited: Jvm | None = None
atexit.register(close_shared_jvm)
os.register_at_fork(after_in_child=_after_fork_in_child)
