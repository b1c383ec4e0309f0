"""The JVM: it answers or fails, never both; it dies with its parent; it says nothing on our output."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shiq.errors import ReasonerError, UsageError
from shiq.reasoner import gateway
from shiq.reasoner import jvm as jvm_module
from shiq.reasoner.jvm import (
    JavaException,
    Jvm,
    JvmDied,
    JvmExpired,
    find_jars,
    find_java,
    release_jvm,
    shared_jvm,
)

pytestmark = [pytest.mark.jvm, pytest.mark.usefixtures("cold_jvm")]


@pytest.fixture(scope="module")
def jvm() -> Iterator[Jvm]:
    machine = Jvm("64m")
    yield machine
    machine.close()


@pytest.fixture
def doomed() -> Iterator[Jvm]:
    machine = Jvm("64m")
    yield machine
    machine.close()


def _sleep(machine: Jvm, seconds: float) -> Callable[[], object]:
    return lambda: machine.view.java.lang.Thread.sleep(int(seconds * 1000))


def _gone(pid: int, seconds: float = 10.0) -> bool:
    """Whether no such process runs any more (a zombie does not run), waiting up to ``seconds``."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


def test_an_answer(jvm: Jvm) -> None:
    assert jvm.call(lambda: jvm.view.java.lang.Math.addExact(40, 2), 30) == 42


def test_a_java_exception_is_a_failure_and_the_jvm_lives(jvm: Jvm) -> None:
    with pytest.raises(
        JavaException, match=r'java\.lang\.NumberFormatException: For input string: "x"'
    ):
        jvm.call(lambda: jvm.view.java.lang.Integer.parseInt("x"))
    with pytest.raises(JavaException, match="py4j"):
        jvm.call(lambda: jvm.view.java.lang.Integer.nonsense(1))
    assert jvm.alive
    assert jvm.call(lambda: jvm.view.java.lang.Integer.parseInt("7")) == 7


def test_a_time_out_kills_it(doomed: Jvm) -> None:
    start = time.monotonic()
    with pytest.raises(JvmExpired, match=r"0\.3 s"):
        doomed.call(_sleep(doomed, 60), 0.3)
    assert time.monotonic() - start < 5
    assert not doomed.alive
    assert _gone(doomed.pid)
    with pytest.raises(JvmDied):
        doomed.call(lambda: doomed.view.java.lang.Integer.parseInt("7"))


def test_killed_in_mid_call(doomed: Jvm) -> None:
    threading.Timer(0.3, os.kill, (doomed.pid, signal.SIGKILL)).start()
    with pytest.raises(JvmDied, match="SIGKILL"):
        doomed.call(_sleep(doomed, 60), 30)


def test_out_of_memory(doomed: Jvm) -> None:
    with pytest.raises(JvmDied, match=r"out of memory \(heap 64m\)"):
        doomed.call(lambda: doomed.view.java.util.ArrayList(500_000_000), 30)


def test_an_interrupted_call_leaves_no_jvm_that_still_computes(doomed: Jvm) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        doomed.call(interrupted, 30)
    assert not doomed.alive


def test_an_incomplete_answer_is_none(jvm: Jvm) -> None:
    """The end of "…true" lost, py4j's own client would read False."""

    class Cut:
        def readline(self) -> bytes:
            return b"!ybtru"

    connection = jvm._client._create_connection()
    connection.stream.close()
    connection.stream = Cut()
    with pytest.raises(gateway.Py4JNetworkError, match="incomplete"):
        connection.send_command("c\nz:java.lang.Boolean\nvalueOf\nstrue\ne\n")


def test_nothing_is_asked_twice(doomed: Jvm) -> None:
    """A command whose answer was lost may have been carried out."""
    sent: list[str] = []
    original = gateway.Connection.send_command

    def lossy(connection: object, command: str) -> str:
        sent.append(command)
        raise gateway.Py4JNetworkError("lost", when=gateway.protocol.EMPTY_RESPONSE)

    member = doomed.view.java.lang.Integer.parseInt
    gateway.Connection.send_command = lossy
    try:
        with pytest.raises(JvmDied):
            doomed.call(lambda: member("7"), 30)
    finally:
        gateway.Connection.send_command = original
    assert len(sent) == 1


def test_forgotten_objects_are_given_up(jvm: Jvm) -> None:
    """Otherwise the JVM would keep every ontology that it ever read."""
    for _ in range(40):
        megabytes = jvm.call(lambda: jvm.view.java.util.ArrayList(1_000_000), 30)
        assert jvm.call(megabytes.size, 30) == 0
        jvm.forget(megabytes)
    assert jvm.alive, "40 × 4 MB do not fit into 64 MB at once"


def test_no_log_records_and_no_output(
    doomed: Jvm, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    doomed.call(lambda: doomed.view.java.lang.System.out.println("noise"), 30)
    os.kill(doomed.pid, signal.SIGKILL)
    with caplog.at_level(logging.INFO), pytest.raises(JvmDied):
        doomed.call(lambda: doomed.view.java.lang.Integer.parseInt("7"), 30)
    assert caplog.records == []
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("heap", ["", "1", "-1g", "1t", "1g -version"])
def test_a_malformed_heap(heap: str) -> None:
    with pytest.raises(UsageError):
        Jvm(heap)


def test_an_impossible_heap_is_an_error_that_says_what_java_said() -> None:
    with pytest.raises(ReasonerError, match="Too small maximum heap") as caught:
        Jvm("1k")
    assert "--heap" in caught.value.remedy


def test_no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(ReasonerError, match="no Java") as caught:
        find_java()
    assert "Install" in caught.value.remedy


def test_java_home_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho broken >&2\nexit 7\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert find_java() == str(java)
    with pytest.raises(ReasonerError, match=r"did not start.*broken"):
        Jvm("64m")


def test_no_jar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jvm_module.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ReasonerError, match="owlready2") as caught:
        find_jars()
    assert "pip install" in caught.value.remedy


def test_the_jars_are_found_without_owlready2s_python() -> None:
    code = "import sys; from shiq.reasoner.jvm import find_jars; print(*find_jars(), 'owlready2' in sys.modules)"
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert [Path(path).is_file() for path in out[:2]] == [True, True]
    assert out[2] == "False"


# --- one JVM for this process ---------------------------------------------------------------------


class User:
    pass


def test_one_jvm_is_shared_and_ends_with_its_last_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        jvm_module, "_users", weakref.WeakSet()
    )  # other tests may have left users behind
    first, second = User(), User()
    machine = shared_jvm(first, "64m")
    assert shared_jvm(second, "64m") is machine
    release_jvm(first)
    release_jvm(first)
    assert machine.alive
    release_jvm(second)
    assert not machine.alive


def test_a_dead_jvm_and_another_heap_make_a_new_one() -> None:
    user = User()
    try:
        machine = shared_jvm(user, "64m")
        os.kill(machine.pid, signal.SIGKILL)
        assert _gone(machine.pid)
        again = shared_jvm(user, "64m")
        assert again.alive
        larger = shared_jvm(user, "96m")
        assert (larger.heap, again.alive) == ("96m", False)
    finally:
        release_jvm(user)


PARENT = """
import sys, time
from shiq.reasoner.jvm import shared_jvm
class User: pass
user = User()
machine = shared_jvm(user, "64m")
print(machine.pid, flush=True)
"""
BUSY = PARENT + "machine.call(lambda: machine.view.java.lang.Thread.sleep(600000))\n"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_orphan_when_the_parent_is_killed_in_mid_call(number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", BUSY], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        time.sleep(0.3)
        assert not _gone(pid, 0.1), "it is at work"
        parent.send_signal(number)
        parent.wait(20)
        assert _gone(pid)


@pytest.mark.parametrize("end", ["", "raise SystemExit(3)", "1 / 0", "import os; os._exit(0)"])
def test_no_orphan_when_the_parent_ends(end: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PARENT + end],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert _gone(int(done.stdout))
    assert ("ZeroDivisionError" in done.stderr) is ("/ 0" in end)
    assert "py4j" not in done.stderr


FORKED = (
    PARENT
    + """
import os
child = os.fork()
if child == 0:
    user2 = User()
    own = shared_jvm(user2, "64m")
    assert own.pid != machine.pid
    assert own.call(lambda: own.view.java.lang.Math.addExact(1, 1)) == 2
    del machine
    sys.exit(0)          # with all finalisers and exit handlers
assert os.waitpid(child, 0)[1] == 0
assert machine.alive
assert machine.call(lambda: machine.view.java.lang.Math.addExact(40, 2)) == 42
print("survived", flush=True)
"""
)


def test_a_forked_child_gets_its_own_and_leaves_its_parents_alone() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.split()[1:] == ["survived"], done.stderr
    assert done.stderr == ""


LINGERING = (
    PARENT
    + """
import os
if os.fork() == 0:
    os.close(1)
    time.sleep(30)
    os._exit(0)
os._exit(0)
"""
)


def test_a_forked_child_that_lives_on_does_not_keep_it_alive() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LINGERING],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=20,
        check=True,
    )
    assert _gone(int(done.stdout))
