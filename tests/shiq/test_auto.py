"""The registry of reasoners, and `auto`: own first, HermiT for what it leaves over."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from shiq.answers.verdict import Verdict
from shiq.errors import ReasonerError, UsageError
from shiq.model.clause import ClausalTBox
from shiq.model.roles import RoleBox
from shiq.reasoner import create_reasoner
from shiq.reasoner.auto import AutoReasoner
from shiq.reasoner.protocol import OPAQUE, Answer, Module

TBOX = ClausalTBox((), RoleBox())
MODULES = [Module((i,), (0,)) for i in range(4)]
CONSISTENT, INCONSISTENT = Answer(Verdict.CONSISTENT), Answer(Verdict.INCONSISTENT)


class Oracle:
    """Answers by a module's first mask; remembers what it was asked."""

    def __init__(self, name: str, answers: dict[int, Answer]) -> None:
        self.name = name
        self.answers = answers
        self.asked: list[list[int]] = []
        self.timeouts: list[float | None] = []
        self.closed = 0

    def decide(
        self, tbox: ClausalTBox, modules: Sequence[Module], timeout: float | None = None
    ) -> list[Answer]:
        self.asked.append([module.positive[0] for module in modules])
        self.timeouts.append(timeout)
        return [
            self.answers.get(
                module.positive[0], Answer(Verdict.UNDETERMINED, f"{self.name} cannot")
            )
            for module in modules
        ]

    def close(self) -> None:
        self.closed += 1


def test_what_own_decides_starts_nothing_else() -> None:
    own = Oracle("own", dict.fromkeys(range(4), CONSISTENT))

    def factory() -> Oracle:
        raise AssertionError("not needed")

    auto = AutoReasoner(lambda: own, factory)
    assert auto.decide(TBOX, MODULES) == [CONSISTENT] * 4
    assert auto.decide(TBOX, []) == []
    auto.close()
    assert own.closed == 1


def test_the_rest_goes_to_hermit_and_keeps_its_place() -> None:
    own = Oracle("own", {0: CONSISTENT, 2: INCONSISTENT})
    hermit = Oracle("hermit", {1: INCONSISTENT})
    made: list[Oracle] = []

    def factory() -> Oracle:
        made.append(hermit)
        return hermit

    auto = AutoReasoner(lambda: own, factory)
    answers = auto.decide(TBOX, MODULES, timeout=10.0)
    assert answers[:3] == [CONSISTENT, INCONSISTENT, INCONSISTENT]
    assert answers[3] == Answer(Verdict.UNDETERMINED, "own cannot; hermit cannot")
    assert hermit.asked == [[1, 3]]
    assert hermit.timeouts[0] is not None
    assert 0 < hermit.timeouts[0] <= 10.0
    auto.decide(TBOX, MODULES)
    assert len(made) == 1, "one HermiT, kept"
    auto.close()
    assert (own.closed, hermit.closed) == (1, 1)


def test_what_rests_on_opaque_data_is_asked_about_nowhere_else() -> None:
    opaque, other = (
        Answer(Verdict.UNDETERMINED, reason) for reason in (f"{OPAQUE} <urn:d>", "steps ran out")
    )
    modules = [Module((i,), (0,)) for i in range(100)]
    own = Oracle("own", {i: other if i >= 90 else opaque for i in range(100)})
    hermit = Oracle("hermit", {})
    answers = AutoReasoner(lambda: own, lambda: hermit).decide(TBOX, modules)
    assert hermit.asked == [[*range(90, 100)]]
    assert answers[:90] == [opaque] * 90, "own's answer stands: undetermined"


def test_without_java_the_modules_stay_undetermined_with_both_reasons() -> None:
    def factory() -> Oracle:
        raise ReasonerError("no Java runtime was found", "Install one.")

    answers = AutoReasoner(lambda: Oracle("own", {0: CONSISTENT}), factory).decide(
        TBOX, MODULES[:2]
    )
    assert answers[0] == CONSISTENT
    assert answers[1] == Answer(
        Verdict.UNDETERMINED, "own cannot; hermit: no Java runtime was found Install one."
    )


@pytest.mark.parametrize("name", ["auto", "hermit", "own"])
def test_every_backend_is_made_by_its_name(name: str) -> None:
    reasoner = create_reasoner(name, heap="512m", timeout=5.0)
    assert reasoner.name == name
    assert reasoner.decide(TBOX, []) == []
    reasoner.close()
    reasoner.close()


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("hermitt", "hermit"),
        ("OWN", "own"),
        ("Auto", "auto"),
        ("xyzzy", "auto, hermit, konclude, openllet, own, pellet"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(name: str, remedy: str) -> None:
    with pytest.raises(UsageError) as caught:
        create_reasoner(name)
    assert remedy in caught.value.remedy


@pytest.mark.parametrize("name", ["auto", "hermit", "own"])
@pytest.mark.parametrize(
    "limits",
    [{"heap": "lots"}, {"heap": "1gb"}, {"heap": "0g"}, {"timeout": 0.0}, {"timeout": -1.0}],
)
def test_malformed_limits_are_usage_errors_before_anything_starts(
    name: str, limits: dict[str, Any]
) -> None:
    with pytest.raises(UsageError, match=r"heap|limit"):
        create_reasoner(name, **limits)


def test_the_registry_is_light() -> None:
    heavy = ("py4j", "owlready2", "numpy", "shiq.reasoner.hermit", "shiq.reasoner.jvm")
    code = f"import sys, shiq.reasoner; print([m for m in {heavy} if m in sys.modules])"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "[]"
    )
