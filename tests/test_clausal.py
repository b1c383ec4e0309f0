"""The criterion `clausal` (THEORY, "The add set"): golden cases for parts of its argument, with what goes wrong without them."""

from __future__ import annotations

from typing import Any

import pytest

from abox_ops.counting.reference import _Count
from abox_ops.elements.quotient import Partition
from abox_ops.patch.border import Border
from abox_ops.patch.outside import OutsideCompletion
from abox_ops.patch.reference import Patch
from shiq.roles import Role
from tests.test_golden import check, expected

#: What these contradict needs the merge classes of untouched elements.
ALONE = ("GeneratedUsesUpTheBound", "OneClassTwoIndividuals", "WitnessTakenTwice")


def _always(*_: Any) -> bool:
    return True


def _covers_whatever_stands_there(patch: Patch, role: Role, a: str, b: str) -> bool:
    """`Patch._is_covered` that does not ask whether a seen assertion is the first of its pair."""
    if patch._is_seen(role, a, b) and patch._may_clash(a, b):
        return False
    if a in patch.inside or b in patch.inside:
        return True
    return not any(map(patch.told.is_fresh_or_joined, (a, b))) and patch.border.is_covered_outside(role, a, b)


PLANTED: dict[str, tuple[type, str, Any]] = {
    "NewPairIsNoOldInstance": (Border, "_stood", _always),
    "FillerNotCountedBefore": (Border, "_filled", _always),
    "TakenForAWitness": (Border, "_takes_nobody", _always),
    "WitnessOfItsOwn": (_Count, "joined", frozenset()),
    "NotTheFirstOfItsPair": (Patch, "_is_covered", _covers_whatever_stands_there),
    **{name: (OutsideCompletion, "classes", Partition()) for name in ALONE},
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_mistake_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert expected(name)["verdict"] == check(name, "clausal", "memory", "own").verdict.value == "inconsistent"
    monkeypatch.setattr(*PLANTED[name])
    assert check(name, "clausal", "memory", "own").verdict.value != "inconsistent"
