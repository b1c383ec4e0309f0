"""The JVM: it answers or fails, never both; it dies with its parent; it says nothing on our output."""

from __future__ import annotations

import logging
import os
import random
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest

from shiq.errors import ReasonerError, UsageError
from shiq.model import (
    NOTHING,
    Axiom,
    Class,
    ClassAssertion,
    DisjointClasses,
    ObjectMinCardinality,
    ObjectProperty,
    ObjectUnionOf,
    SubClassOf,
)
from shiq.reasoner import jvm as jvm_module
from shiq.reasoner.jvm import (
    KEPT_BASES,
    JavaException,
    JavaReasoner,
    Jvm,
    JvmDied,
    JvmExpired,
    JvmFailure,
    MisreadOntology,
    find_hermit,
    find_java,
    release_jvm,
    shared_jvm,
)
from shiq.reasoner.ontology_text import OntologyText, write_ontology_text
from tests.time_limits import before_call
from tests.tools import java_classes

pytestmark = [pytest.mark.jvm, pytest.mark.usefixtures("cold_jvm")]

A, B = Class("urn:A"), Class("urn:B")
IS_A, IS_B = ClassAssertion(A, "urn:a"), ClassAssertion(B, "urn:a")
CONSISTENT = write_ontology_text([IS_A, IS_B])
INCONSISTENT = write_ontology_text([IS_A, IS_B, DisjointClasses((A, B))])
NONSENSE = OntologyText("hello", 0, frozenset())


def pigeonhole(holes: int) -> OntologyText:
    """One more pigeon than there are holes: refuted by nothing short of all the cases."""
    sits = [[Class(f"urn:p{i}h{j}") for j in range(holes)] for i in range(holes + 1)]
    axioms: list[Axiom] = [SubClassOf(A, ObjectUnionOf(tuple(row))) for row in sits]
    axioms += [DisjointClasses(pair) for hole in zip(*sits) for pair in combinations(hole, 2)]
    return write_ontology_text([*axioms, IS_A])


#: Not answered within minutes.
HARD = pigeonhole(10)


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


def test_answers(jvm: Jvm) -> None:
    assert jvm.is_consistent((), CONSISTENT, 30) is True
    assert jvm.is_consistent((), INCONSISTENT, 30) is False
    assert jvm.is_consistent((), pigeonhole(3), 30) is False
    assert jvm.is_consistent((), write_ontology_text([])) is True


def test_a_java_exception_is_a_failure_and_the_jvm_lives(jvm: Jvm) -> None:
    with pytest.raises(
        JavaException, match=r"org\.semanticweb\.owlapi\.io\.OWLParserException: .*hello"
    ):
        jvm.is_consistent((), NONSENSE)
    with pytest.raises(JavaException, match="OWLParserException"):
        jvm.is_consistent((NONSENSE,), CONSISTENT)
    assert jvm.is_alive
    assert jvm.is_consistent((), CONSISTENT, 30) is True


def test_another_number_of_axioms_or_names_is_no_answer(jvm: Jvm) -> None:
    more = OntologyText(CONSISTENT.text, CONSISTENT.axioms + 1, CONSISTENT.entities)
    other = OntologyText(
        CONSISTENT.text, CONSISTENT.axioms, CONSISTENT.entities | {("class", "urn:C")}
    )
    for wrong in (more, other):
        with pytest.raises(MisreadOntology, match="2 axioms about 3 names where"):
            jvm.is_consistent((), wrong)
    # Text of its own, which no earlier question has left behind.
    new = write_ontology_text([ClassAssertion(Class("urn:new"), "urn:a")])
    with pytest.raises(MisreadOntology, match="1 axioms about 2 names where 2 axioms"):
        jvm.is_consistent((OntologyText(new.text, 2, new.entities),), CONSISTENT)
    with pytest.raises(MisreadOntology):
        jvm.is_consistent((CONSISTENT,), CONSISTENT)  # no axiom may be in two of them
    assert jvm.is_consistent((new,), CONSISTENT) is True


def test_text_beyond_ascii_and_lines_arrives(jvm: Jvm) -> None:
    odd = Class("urn:\u00e9\U0001f600\u2028#x?y=(z)")
    values = [ClassAssertion(odd, "urn:a"), ClassAssertion(A, "urn:a")]
    assert jvm.is_consistent((), write_ontology_text(values)) is True
    assert jvm.is_consistent((), write_ontology_text([*values, DisjointClasses((A, odd))])) is False
    with pytest.raises(JvmFailure, match="cannot be sent"):
        jvm.is_consistent((), OntologyText("\ud800", 0, frozenset()))
    assert jvm.is_consistent((), CONSISTENT) is True


def test_bases_are_parsed_once_and_never_mixed_up(jvm: Jvm) -> None:
    """More of them than are kept, some of which fail, in a random order."""
    rng = random.Random(1)
    bases = [
        write_ontology_text(
            [SubClassOf(A, Class(f"urn:B{i}")), SubClassOf(Class(f"urn:B{i}"), (NOTHING, B)[i % 2])]
        )
        for i in range(KEPT_BASES + 4)
    ]
    for _ in range(100):
        i, j = rng.sample(range(len(bases)), 2)
        if rng.random() < 0.2:
            with pytest.raises(JavaException):
                jvm.is_consistent((bases[j], NONSENSE), CONSISTENT)
        assert jvm.is_consistent((bases[i],), CONSISTENT) is bool(i % 2)
        assert jvm.is_consistent((bases[i], bases[j]), CONSISTENT) is bool(i % 2 and j % 2)
    consistent = tuple(base for i, base in enumerate(bases) if i % 2) + tuple(
        write_ontology_text([SubClassOf(A, Class(f"urn:C{i}"))]) for i in range(KEPT_BASES)
    )
    assert jvm.is_consistent(consistent, CONSISTENT) is True
    assert jvm.is_consistent((bases[0], *consistent), CONSISTENT) is False


def test_two_threads_ask_one_after_the_other(jvm: Jvm) -> None:
    answers: list[tuple[bool, bool]] = []

    def ask() -> None:
        for _ in range(20):
            answers.append((jvm.is_consistent((), CONSISTENT), jvm.is_consistent((), INCONSISTENT)))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [(True, False)] * 80


def test_a_time_out_kills_it(doomed: Jvm) -> None:
    start = time.monotonic()
    with pytest.raises(JvmExpired, match=r"within 0\.3 s; the JVM was killed"):
        doomed.is_consistent((), HARD, 0.3)
    assert time.monotonic() - start < 60, "the answer takes minutes"
    assert not doomed.is_alive
    assert _gone(doomed.pid)
    with pytest.raises(JvmDied):
        doomed.is_consistent((), CONSISTENT)


def test_a_time_out_while_it_reads_nothing_kills_it(doomed: Jvm) -> None:
    """More than a pipe holds is on its way to a JVM that is stopped."""
    os.kill(doomed.pid, signal.SIGSTOP)
    many = write_ontology_text([ClassAssertion(A, f"urn:{i}") for i in range(20_000)])
    with pytest.raises(JvmExpired):
        doomed.is_consistent((), many, 0.5)
    assert _gone(doomed.pid)


def test_killed_in_mid_call(doomed: Jvm) -> None:
    threading.Timer(0.3, os.kill, (doomed.pid, signal.SIGKILL)).start()
    with pytest.raises(JvmDied, match="SIGKILL"):
        doomed.is_consistent((), HARD, 30)


def test_killed_between_calls(doomed: Jvm) -> None:
    os.kill(doomed.pid, signal.SIGKILL)
    assert _gone(doomed.pid)
    with pytest.raises(JvmDied, match="SIGKILL"):
        doomed.is_consistent((), CONSISTENT)


def test_out_of_memory(doomed: Jvm) -> None:
    large = write_ontology_text(
        [SubClassOf(A, ObjectMinCardinality(400_000, ObjectProperty("urn:r"), B)), IS_A]
    )
    with pytest.raises(JvmDied, match=r"out of memory \(heap 64m\)"):
        doomed.is_consistent((), large, 60)


def test_an_interrupted_call_leaves_no_jvm_that_still_computes(
    doomed: Jvm, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    before_call(monkeypatch, doomed, "_exchange", 1, interrupt.start)
    with pytest.raises(KeyboardInterrupt):
        doomed.is_consistent((), HARD, 30)
    assert not doomed.is_alive
    assert _gone(doomed.pid)


def test_what_was_asked_before_is_given_up() -> None:
    """Otherwise the JVM would keep every ontology that it ever read."""
    machine = Jvm("64m")
    try:
        for i in range(25):
            many = [ClassAssertion(Class(f"urn:{i}"), f"urn:{i}:{j}") for j in range(4_000)]
            assert machine.is_consistent((write_ontology_text(many),), CONSISTENT) is True
            assert machine.is_consistent((), write_ontology_text(many)) is True
    finally:
        machine.close()


# --- what is no answer ----------------------------------------------------------------------------

#: What a `java` writes to the first request, and how it goes on; none of it is an answer. (The
#: request is about 2 axioms and 3 names.)
FAKES = {
    "half a line, then the end": ("printf '1 2 3 tru'; exit 0", "exit code 0"),
    "half a line, then a crash": ("printf '1 2 3 tru'; kill -9 $$", "SIGKILL"),
    "half a line, and no more": ("printf '1 2 3 true'; sleep 100", "no answer within"),
    "nothing": ("sleep 100", "no answer within"),
    "the end of its output alone": ("exec >&-; sleep 100", "broke the connection; it was killed"),
    "an exit code": ("echo trouble >&2; exit 3", "exit code 3: trouble"),
    "a bare verdict": ("echo true; sleep 100", "no answer: 'true'"),
    "garbage": ("head -c 300 /dev/urandom | tr '\\n' x; echo; sleep 100", "no answer"),
    "an empty line": ("echo; sleep 100", "no answer"),
    "the answer to another request": ("echo 2 2 3 true; sleep 100", "no answer: '2 2 3 true'"),
    "an answer without counts": ("echo 1 true; sleep 100", "no answer"),
    "an answer to a base": ("echo 1 2 3 kept; sleep 100", "no answer"),
    "an unknown word": ("echo 1 2 3 maybe; sleep 100", "no answer"),
    "an answer with more on its line": ("echo '1 2 3 true false'; sleep 100", "no answer"),
    "a line too many": ("printf 'oops\\n1 2 3 true\\n'; sleep 100", "no answer"),
    "two answers": ("printf '1 2 3 true\\n1 2 3 false\\n'; sleep 100", "no answer"),
    "other counts": ("echo 1 1 3 true; sleep 100", "1 axioms about 3 names where 2 axioms"),
    "a misreading": ("echo 1 2 3 misread; sleep 100", "where 2 axioms"),
    "an exception": ("echo 1 error java.lang.Oops; sleep 100", r"java\.lang\.Oops"),
    "an exception of another request": ("echo 2 error java.lang.Oops; sleep 100", "no answer"),
}  # fmt: skip


def fake_java(folder: Path, answer: str, start: str = "ready") -> Path:
    """A `java` that starts with one line, and does ``answer`` for its first request, of which it
    keeps the first line.
    """
    java = folder / "bin" / "java"
    java.parent.mkdir()
    java.write_text(
        f"#!/bin/sh\necho '{start}'\nread line\necho $line >> {folder}/asked\n{answer}\n"
    )
    java.chmod(0o755)
    return java


@pytest.mark.parametrize("what", FAKES)
def test_no_answer(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer, reason = FAKES[what]
    fake_java(tmp_path, answer)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    machine = Jvm("64m")
    try:
        with pytest.raises(JvmFailure, match=reason) as caught:
            machine.is_consistent((), CONSISTENT, 1.0)
        assert machine.is_alive is isinstance(caught.value, (MisreadOntology, JavaException))
        assert (tmp_path / "asked").read_text().count("ask") == 1, "nothing is asked twice"
    finally:
        machine.close()
    assert _gone(machine.pid)


def test_an_answer_to_half_a_request_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_java(tmp_path, "echo 1 20000 20001 true; sleep 100")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    machine = Jvm("64m")
    many = write_ontology_text([ClassAssertion(A, f"urn:{i}") for i in range(20_000)])
    try:
        with pytest.raises(JvmDied, match="no answer"):
            machine.is_consistent((), many, 30)
    finally:
        machine.close()


def test_what_comes_before_a_request_is_no_answer_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_java(tmp_path, "sleep 100", "ready\n1 2 3 true")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises((ReasonerError, JvmDied)):
        Jvm("64m").is_consistent((), CONSISTENT, 5)


NOISY = """
import org.semanticweb.owlapi.model.OWLOntology;
import org.semanticweb.owlapi.reasoner.*;

public class Noisy extends org.semanticweb.HermiT.Reasoner.ReasonerFactory {
    static { System.out.println("loaded"); }
    public OWLReasoner createReasoner(OWLOntology ontology) {
        System.out.println("1 2 3 true");
        System.out.println("1 2 3 false");
        System.out.print("1 2 3 tr");
        System.err.println("trouble");
        return super.createReasoner(ontology);
    }
}
"""


def test_what_java_prints_is_no_answer(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    javac = java_classes.compiler()
    if javac is None:
        pytest.skip("no javac")
    (tmp_path / "Noisy.java").write_text(NOISY)
    jars = find_hermit().jars
    command = [javac, "-proc:none", "-cp", *jars, "-d", str(tmp_path), str(tmp_path / "Noisy.java")]
    subprocess.run(command, check=True)
    machine = Jvm("64m", JavaReasoner("Noisy", (str(tmp_path), *jars)))
    try:
        for _ in range(3):
            assert machine.is_consistent((), CONSISTENT, 30) is True
            assert machine.is_consistent((), INCONSISTENT, 30) is False
    finally:
        machine.close()
    assert capfd.readouterr() == ("", "")


def test_no_log_records_and_no_output(
    doomed: Jvm, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    doomed.is_consistent((), CONSISTENT, 30)
    os.kill(doomed.pid, signal.SIGKILL)
    with caplog.at_level(logging.INFO), pytest.raises(JvmDied):
        doomed.is_consistent((), CONSISTENT)
    assert caplog.records == []
    assert capfd.readouterr() == ("", "")


# --- there is no usable Java ----------------------------------------------------------------------


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


@pytest.mark.parametrize("start", ["", "no such option", "readyy", "1 0 0 true"])
def test_another_first_line_is_no_start(
    start: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake_java(tmp_path, "sleep 100", start)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(ReasonerError, match="did not start"):
        Jvm("64m")


def test_a_java_that_does_nothing_is_given_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake_java(tmp_path, "exit 0").write_text("#!/bin/sh\nsleep 100\n")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr(jvm_module, "START_SECONDS", 0.3)
    with pytest.raises(ReasonerError, match="did not start"):
        Jvm("64m")


def test_a_class_that_is_missing_is_no_start() -> None:
    with pytest.raises(ReasonerError, match=r"did not start.*ClassNotFoundException: no\.Such"):
        Jvm("64m", JavaReasoner("no.Such", find_hermit().jars))


def test_the_driver_is_unpacked_where_it_is_in_no_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As where shiq is imported from a zip file, which `tests/test_one_name.py` does."""
    monkeypatch.setattr(jvm_module, "DRIVER", tmp_path / "in.zip")
    machine = Jvm("64m")
    unpacked = machine._unpacked
    assert unpacked is not None and unpacked.is_dir()
    assert machine.is_consistent((), CONSISTENT) is True
    machine.close()
    assert not unpacked.exists()


def test_no_jar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jvm_module.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ReasonerError, match="owlready2") as caught:
        find_hermit()
    assert "pip install" in caught.value.remedy


def test_hermit_is_found_without_owlready2s_python() -> None:
    code = "import sys; from shiq.reasoner.jvm import find_hermit; print(*find_hermit().jars, 'owlready2' in sys.modules)"
    jar, is_loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert (Path(jar).is_file(), is_loaded) == (True, "False")


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
    other = shared_jvm(
        second, "64m", JavaReasoner(find_hermit().factory, (*find_hermit().jars, "x"))
    )
    assert other is not machine, "another reasoner has its own"
    assert machine.is_alive
    release_jvm(first)
    release_jvm(first)
    assert (machine.is_alive, other.is_alive) == (True, True)
    release_jvm(second)
    assert (machine.is_alive, other.is_alive) == (False, False)


def test_a_dead_jvm_and_another_heap_make_a_new_one() -> None:
    user = User()
    try:
        machine = shared_jvm(user, "64m")
        os.kill(machine.pid, signal.SIGKILL)
        assert _gone(machine.pid)
        again = shared_jvm(user, "64m")
        assert again.is_alive
        larger = shared_jvm(user, "96m")
        assert (larger.heap, again.is_alive) == ("96m", False)
    finally:
        release_jvm(user)


PARENT = """
import sys, time
from shiq.reasoner.jvm import shared_jvm
from shiq.reasoner.ontology_text import OntologyText
class User: pass
user = User()
machine = shared_jvm(user, "64m")
empty = OntologyText("Ontology(\\n)\\n", 0, frozenset())
print(machine.pid, flush=True)
"""
BUSY = PARENT + f"machine.is_consistent((), {HARD!r})\n"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_orphan_when_the_parent_is_killed_in_mid_call(number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", BUSY], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        time.sleep(0.5)
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
    assert "jvm" not in done.stderr


FORKED = (
    PARENT
    + """
import os
child = os.fork()
if child == 0:
    user2 = User()
    own = shared_jvm(user2, "64m")
    assert own.pid != machine.pid
    assert own.is_consistent((), empty) is True
    del machine
    sys.exit(0)          # with all finalisers and exit handlers
assert os.waitpid(child, 0)[1] == 0
assert machine.is_alive
assert machine.is_consistent((), empty) is True
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


def test_a_forked_child_cannot_ask_its_parents() -> None:
    code = PARENT + (
        "import os\nchild = os.fork()\nif child == 0:\n"
        "    try:\n        machine.is_consistent((), empty)\n"
        "    except Exception as error:\n        os._exit(7)\n    os._exit(0)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7\n"
        "assert machine.is_consistent((), empty) is True\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


# --- the class files ------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", java_classes.FOLDERS, ids=lambda folder: folder.name)
def test_class_files_are_for_java_11(folder: Path) -> None:
    """Bytes 6 and 7 of a class file are its version; 55 is that of Java 11."""
    classes = sorted(folder.glob("*.class"))
    sources = {path.stem for path in folder.glob("*.java")}
    assert {path.stem.partition("$")[0] for path in classes} == sources != set()
    assert {path.read_bytes()[6:8] for path in classes} == {b"\0\x37"}


@pytest.mark.parametrize("folder", java_classes.FOLDERS, ids=lambda folder: folder.name)
def test_class_files_are_those_of_the_sources(folder: Path, tmp_path: Path) -> None:
    javac = java_classes.compiler()
    if javac is None:
        pytest.skip(f"no javac {java_classes.MAKER}")
    java_classes.compile_sources(javac, folder, tmp_path)
    made, kept = (
        {path.name: path.read_bytes() for path in place.glob("*.class")}
        for place in (tmp_path, folder)
    )
    assert made == kept, "`make java` makes them anew"
