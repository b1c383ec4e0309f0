"""The time of a check is over wherever the check is by then, and says where that was."""

from __future__ import annotations

import contextlib
import gc
import json
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import FrameType

import pytest

from shiq import deadline
from shiq.abox_ops.conflicts.explain import Explainer
from shiq.abox_ops.local_engine import LocalKnowledgeBase
from shiq.abox_ops.patch import patch
from shiq.answers.result import Result
from shiq.answers.verdict import Verdict
from shiq.api import certify, certify_store, check_insertions, index, open_store
from shiq.deadline import DeadlineExceeded, interrupt_after
from shiq.jobs.checking import calls, inputs
from shiq.jobs.checking.answer import run_in_time
from shiq.jobs.checking.base import InputBatch, OpenBase
from shiq.jobs.checking.deciders import make_decider
from shiq.jobs.checking.deciding import decide_batch
from shiq.jobs.checking.options import Clock, Options
from shiq.jobs.store import upkeep
from shiq.model import (
    RDF,
    Assertion,
    Class,
    ClassAssertion,
    DisjointClasses,
    ObjectProperty,
    ObjectPropertyAssertion,
    ObjectUnionOf,
    SubClassOf,
    TBox,
)
from shiq.model.abox import ABox, abox_of
from shiq.reasoner.hypertableau import search
from tests.builders import tbox, triples
from tests.command_line import shiq
from tests.time_limits import pass_time_at_call, ring_at_call

A, B, C, R = Class("urn:t#A"), Class("urn:t#B"), Class("urn:t#C"), ObjectProperty("urn:t#r")
#: What is told of one end of a path is told of the other, a step at a time.
PATH = tbox("C ⊑ ∀r.C; C ⊑ A ⊔ B; Disjoint(A, B)")
#: A is one pigeon more than there are holes: refuted by nothing short of all the cases.
SITS = [[Class(f"urn:t#P{pigeon}H{hole}") for hole in range(10)] for pigeon in range(11)]
FLOCKS = [Class(f"urn:t#Flock{i}") for i in range(40)]
PIGEONS = TBox(
    (
        *(SubClassOf(A, ObjectUnionOf(tuple(row))) for row in SITS),
        *(DisjointClasses(alone) for alone in zip(*SITS, strict=True)),
        *(SubClassOf(flock, B) for flock in FLOCKS),
    )
)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline, "GRACE", 0.05)


def path(length: int) -> list[Assertion]:
    return [
        ClassAssertion(C, "urn:t#i0"),
        *(ObjectPropertyAssertion(R, f"urn:t#i{k}", f"urn:t#i{k + 1}") for k in range(length)),
    ]


def in_a_while(axioms: TBox, batch: ABox, seconds: float, **settings: object) -> Result:
    """The check of ``batch`` against nothing, whose time begins when all is read."""
    base = OpenBase(axioms, LocalKnowledgeBase.build(axioms, ABox()), (), {"verdict": "consistent"})
    options = Options(timeout=seconds, reasoner="own", **settings)  # type: ignore[arg-type]
    with closing(make_decider(options)) as decider:
        clock = Clock()
        return run_in_time(
            options,
            clock,
            lambda: decide_batch(base, InputBatch(batch, ABox(), (), {}), options, decider, clock),
        )


def test_the_alarm_rings_in_the_midst_of_anything_and_never_afterwards() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(DeadlineExceeded), interrupt_after(time.monotonic()):
        while True:
            pass
    assert (signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)[0]) == (
        before,
        0.0,
    )
    with interrupt_after(time.monotonic() + 3600):
        pass
    assert (signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)[0]) == (
        before,
        0.0,
    )


class Heard(list[str]):
    """Where the alarm rings while Python cannot let an exception out: in a finalizer, or as it
    collects garbage.
    """

    def __del__(self) -> None:
        self.clear()
        ring()


def ring() -> None:
    signal.raise_signal(signal.SIGALRM)


def dropped_in_a_finalizer() -> None:
    Heard()


def dropped_while_collecting_garbage() -> None:
    def collecting(phase: str, _: object) -> None:
        gc.callbacks.remove(collecting)
        ring()

    gc.callbacks.append(collecting)
    gc.collect(0)


@pytest.mark.parametrize("drop", [dropped_in_a_finalizer, dropped_while_collecting_garbage])
@pytest.mark.parametrize("times", [1, 2])
def test_it_rings_again_where_it_was_not_heard(
    drop: Callable[[], None], times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)
    hook, outlived = sys.unraisablehook, 0
    with pytest.raises(DeadlineExceeded), interrupt_after(time.monotonic() + 3600):
        assert signal.getitimer(signal.ITIMER_REAL)[1] == deadline.AGAIN
        for _ in range(times):
            drop()
            outlived += 1
        ring()
    assert (outlived, told) == (times, [])
    assert (sys.unraisablehook, signal.getitimer(signal.ITIMER_REAL)) == (hook, (0.0, 0.0))


def test_what_others_drop_is_told() -> None:
    told: list[object] = []

    class Failing:
        def __del__(self) -> None:
            raise ValueError

    before, sys.unraisablehook = sys.unraisablehook, lambda what: told.append(what.exc_type)
    try:
        with interrupt_after(time.monotonic() + 3600):
            Failing()
    finally:
        sys.unraisablehook = before
    assert told == [ValueError]


@pytest.mark.parametrize("line", range(1, 8))
def test_however_late_it_rings_it_is_silent_afterwards(line: int) -> None:
    """It rings at each line that is executed on the way out."""
    before, left = signal.getsignal(signal.SIGALRM), line
    code = interrupt_after.__wrapped__.__code__  # type: ignore[attr-defined]

    def trace(frame: FrameType, event: str, _: object) -> Callable[..., object] | None:
        nonlocal left
        if frame.f_code is not code:
            return None
        if event == "line":
            left -= 1
            if not left and callable(signal.getsignal(signal.SIGALRM)):
                signal.raise_signal(signal.SIGALRM)
        return trace

    alarm, old = interrupt_after(time.monotonic() + 3600), sys.gettrace()
    with contextlib.suppress(DeadlineExceeded):
        with alarm:
            frame = alarm.gen.gi_frame  # type: ignore[attr-defined]
            frame.f_trace = trace
            sys.settrace(trace)
        sys.settrace(old)
    sys.settrace(old)
    assert (signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)) == (
        before,
        (0.0, 0.0),
    )


def test_it_leaves_alone_who_cannot_be_interrupted_and_whose_alarm_it_is() -> None:
    def elsewhere() -> None:
        with interrupt_after(time.monotonic() - 1):
            assert signal.getitimer(signal.ITIMER_REAL)[0] == 0.0

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    mine: Callable[..., None] = lambda *_: None  # noqa: E731
    before = signal.signal(signal.SIGALRM, mine)
    try:
        with interrupt_after(time.monotonic() - 1):
            assert signal.getsignal(signal.SIGALRM) is mine
    finally:
        signal.signal(signal.SIGALRM, before)


def test_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "o.ofn"
    file.write_text("Prefix(:=<urn:t#>) Ontology(<urn:t> DisjointClasses(:A :B))", "utf-8")
    over_in(monkeypatch, inputs, "read_ontology")
    certified = certify(file, timeout=600)
    monkeypatch.undo()
    over_in(monkeypatch, inputs, "read_abox")
    checked = check_insertions(PATH, None, file, timeout=600)
    for result, doing in ((certified, "reading"), (checked, "reading the batch")):
        assert result.verdict is Verdict.UNDETERMINED
        assert result.reason == f"not decided: the time of 600 s was over while {doing}"


def test_working_out_what_has_to_be_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    ring_at_call(monkeypatch, patch, "_round_columns", 2)
    result = in_a_while(PATH, abox_of(path(500)), 600)
    assert result.verdict is Verdict.UNDETERMINED
    assert (
        result.reason
        == "not decided: the time of 600 s was over while working out what has to be looked at"
    )


@pytest.mark.parametrize("end", [ring_at_call, pass_time_at_call])
def test_deciding(end: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    """By the alarm, and by the clock that the reasoner looks at."""
    pigeons = [
        ClassAssertion(c, f"urn:t#i{k}") for k, flock in enumerate(FLOCKS) for c in (A, flock)
    ]
    end(monkeypatch, search, "check_budget", 3)
    result = in_a_while(PIGEONS, abox_of(pigeons), 600)
    assert result.verdict is Verdict.UNDETERMINED
    assert result.reason.startswith(
        "not decided: the time of 600 s was over while deciding modules"
    )


def test_explaining_keeps_the_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    ring_at_call(monkeypatch, Explainer, "_explain_next_groups", 3)
    apart = tbox("Disjoint(A, B)")
    batch = abox_of([ClassAssertion(c, f"urn:t#i{k}") for k in range(50) for c in (A, B)])
    result = in_a_while(apart, batch, 600, explain_seconds=None, max_conflicts=100_000)
    assert (result.verdict, result.complete) == (Verdict.INCONSISTENT, False)
    assert (len(result.conflicts), result.more_conflicts) == (3, 47)


def over_in(monkeypatch: pytest.MonkeyPatch, owner: object, name: str) -> None:
    """The alarm rings in ``name``, whenever that is."""
    monkeypatch.setattr(
        owner, name, lambda *_values, **_others: signal.raise_signal(signal.SIGALRM)
    )


@pytest.mark.parametrize(
    "explain_seconds, limit",
    [(30.0, "--explain-seconds 30"), (3600.0, "--timeout 600"), (None, "--timeout 600")],
)
def test_explaining_names_the_limit_that_ended_it(
    explain_seconds: float | None, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    over_in(monkeypatch, Explainer, "run")
    batch = abox_of(triples("i a A; a B"))
    result = check_insertions(
        tbox("Disjoint(A, B)"),
        None,
        batch,
        reasoner="own",
        timeout=600,
        explain_seconds=explain_seconds,
    )
    assert result.verdict is Verdict.INCONSISTENT
    assert any(
        note.startswith(f"explaining ended by time ({limit})") for note in result.evidence.notes
    )


def test_certifying_a_store_that_is_written_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    over_in(monkeypatch, LocalKnowledgeBase, "certify")
    assertions = abox_of(path(20))
    result = index(PATH, assertions, tmp_path / "kg", timeout=600, reasoner="own")
    assert result.verdict is Verdict.UNDETERMINED
    assert result.reason == "not decided: the time of 600 s was over while certifying"
    with open_store(tmp_path / "kg") as session:
        assert len(session) == len(assertions)
        assert session.check(None, None).verdict is Verdict.UNDETERMINED
    monkeypatch.undo()
    assert certify_store(tmp_path / "kg", reasoner="own").verdict is Verdict.CONSISTENT


@pytest.mark.parametrize(
    ("owner", "name", "doing"),
    [(calls, "read_abox", "reading"), (upkeep, "prepare", "indexing")],
)
def test_no_store_is_written_where_the_time_is_over_before_it_is_indexed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: object, name: str, doing: str
) -> None:
    over_in(monkeypatch, owner, name)
    result = index(PATH, abox_of(path(20)), tmp_path / "kg", timeout=600, reasoner="own")
    assert result.verdict is Verdict.UNDETERMINED
    assert result.reason == f"not decided: the time of 600 s was over while {doing}"
    assert result.evidence.notes == ("no store was written",)
    assert not (tmp_path / "kg").exists()


def test_a_store_that_could_not_be_certified_again_in_time_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index(PATH, abox_of(path(20)), tmp_path / "kg", reasoner="own")
    over_in(monkeypatch, upkeep, "prepare")
    assert (
        certify_store(tmp_path / "kg", reasoner="own", timeout=600).verdict is Verdict.UNDETERMINED
    )
    with open_store(tmp_path / "kg") as session:
        assert session.check(None, None).verdict is Verdict.CONSISTENT


def test_index_ends_in_time_at_the_door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    over_in(monkeypatch, calls, "read_abox")
    tbox, abox = tmp_path / "t.ofn", tmp_path / "a.nt"
    tbox.write_text("Prefix(:=<urn:t#>) Ontology(<urn:t> DisjointClasses(:A :B))", "utf-8")
    abox.write_text(f"<urn:a> <{RDF}type> <urn:t#A> .\n", "utf-8")
    told = tmp_path / "told.json"
    called = shiq(
        "index", "--tbox", tbox, "--store", tmp_path / "kg", abox, "--timeout", 600, "--json", told
    )
    assert called.returncode == 3
    assert "the time of 600 s was over while reading" in called.stdout
    assert "no store was written" in called.stdout
    assert json.loads(told.read_text("utf-8"))["verdict"] == "undetermined"


def test_a_session_goes_on_after_a_check_that_took_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index(PATH, abox_of(path(3)), tmp_path / "kg", reasoner="own")
    long = abox_of(path(500))
    wrong = abox_of(triples("i3 a A; a B"))
    with open_store(tmp_path / "kg") as session:
        ring_at_call(monkeypatch, patch, "_round_columns", 2)
        assert session.check(long, timeout=600, reasoner="own").verdict is Verdict.UNDETERMINED
        monkeypatch.undo()
        assert session.check(wrong, reasoner="own").verdict is Verdict.INCONSISTENT
        assert session.check(abox_of(path(5)), reasoner="own", commit=True).committed == 2
