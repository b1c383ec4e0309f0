"""Hazards that only size makes: the rows 19, 44, 47, 57 and 58 of the table, at the size that
they name or the largest that fits.

Row 47 names 50 million edges; two million are what a test may ask of a machine, and the figures
grow in proportion.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from shiq import check_insertions, open_store
from shiq.answers.verdict import Verdict
from shiq.api import index
from shiq.model import (
    Class,
    ClassAssertion,
    ObjectProperty,
    ObjectPropertyAssertion,
    SubClassOf,
    SubObjectPropertyOf,
    TBox,
)
from shiq.model.abox import abox_of
from tests.jobs.test_hazards import BASE, TBOX, TYPE, chain_to_nothing, same

pytestmark = pytest.mark.slow


@pytest.fixture
def kg(tmp_path: Path) -> Path:
    (tmp_path / "t.ttl").write_text(TBOX)
    (tmp_path / "base.nt").write_text(BASE)
    index(tmp_path / "t.ttl", tmp_path / "base.nt", tmp_path / "kg", reasoner="own")
    return tmp_path / "kg"


def written(path: Path, lines: Iterator[str]) -> Path:
    with path.open("w") as out:
        out.writelines(lines)
    return path


def both(first: str, second: str) -> Iterator[str]:
    yield f"<urn:t#{first}> {TYPE} <urn:t#Cat> .\n"
    yield f"<urn:t#{second}> {TYPE} <urn:t#Dog> .\n"


def test_19_a_cycle_of_a_hundred_thousand_inclusions() -> None:
    count = 100_000
    names = [f"urn:{i}" for i in range(count)]
    pairs = list(zip(names, [*names[1:], names[0]]))
    classes = TBox(tuple(SubClassOf(Class(a), Class(b)) for a, b in pairs))
    batch = abox_of([ClassAssertion(Class(names[0]), "urn:a")])
    assert check_insertions(classes, None, batch, reasoner="own").verdict is Verdict.CONSISTENT


def test_19_a_cycle_of_inclusions_of_roles() -> None:
    count = 100_000
    roles = [ObjectProperty(f"urn:{i}") for i in range(count)]
    tbox = TBox(tuple(SubObjectPropertyOf(a, b) for a, b in zip(roles, [*roles[1:], roles[0]])))
    batch = abox_of([ObjectPropertyAssertion(roles[0], "urn:a", "urn:b")])
    assert check_insertions(tbox, None, batch, reasoner="own").verdict is Verdict.CONSISTENT


def test_44_two_million_equal_individuals(kg: Path, tmp_path: Path) -> None:
    count = 2_000_000
    chain = written(tmp_path / "chain.nt", (same(f"i{k}", f"i{k + 1}") for k in range(count)))
    ends = written(tmp_path / "ends.nt", both("i0", f"i{count}"))
    with open_store(kg) as session:
        result = session.check([chain, ends], max_conflicts=0, reasoner="own")
    (told,) = result.evidence.leftovers
    assert (result.verdict, told.kind, told.count) == (
        Verdict.INCONSISTENT,
        "many-equal",
        count + 1,
    )


def test_47_a_hub_of_two_million_edges(kg: Path, tmp_path: Path) -> None:
    count = 2_000_000
    hub = written(
        tmp_path / "hub.nt", (f"<urn:t#tom> <urn:t#twin> <urn:t#n{k}> .\n" for k in range(count))
    )
    with open_store(kg) as session:
        result = session.check(hub, reasoner="own")
        (told,) = result.evidence.leftovers
        assert (result.verdict, told.kind, told.count) == (Verdict.CONSISTENT, "many-equal", count)
        clash = written(tmp_path / "clash.nt", both("n1", "n2"))
        assert (
            session.check([hub, clash], max_conflicts=0, reasoner="own").verdict
            is Verdict.INCONSISTENT
        )


def test_57_a_hundred_thousand_conflicts_with_one_cause(kg: Path, tmp_path: Path) -> None:
    count = 100_000
    batch = written(
        tmp_path / "batch.nt", (line for k in range(count) for line in both(f"i{k}", f"i{k}"))
    )
    with open_store(kg) as session:
        result = session.check(batch, max_conflicts=2 * count, reasoner="own")
    assert [len(group.conflicts) for group in result.groups] == [count]
    assert result.complete


def test_58_a_conflict_of_a_thousand_axioms() -> None:
    count = 1_000
    result = check_insertions(
        chain_to_nothing(count),
        None,
        abox_of([ClassAssertion(Class("urn:C0"), "urn:a")]),
        reasoner="own",
    )
    (conflict,) = result.conflicts
    assert (
        len(conflict.axioms) == count + 1
    )  # minimal, as it happens; whether that was shown in time depends on the machine
