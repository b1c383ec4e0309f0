"""Individuals that a batch makes equal: told with their reasons, blocked on demand, the same by
both engines.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from test_gate import PREFIX, a, run, t

import tests.spec  # noqa: F401 -- the engine `spec`

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TBOX = f"""Prefix(:=<{PREFIX}>)
Ontology(
Declaration(Class(:Person)) Declaration(Class(:Only)) Declaration(ObjectProperty(:mother)) Declaration(ObjectProperty(:passport))
Declaration(ObjectProperty(:knows)) Declaration(ObjectProperty(:friend)) SubObjectPropertyOf(:friend :knows)
FunctionalObjectProperty(:mother) InverseFunctionalObjectProperty(:passport)
SubClassOf(:Only ObjectMaxCardinality(1 :knows)) SubClassOf(:Person ObjectMaxCardinality(2 :knows))
)
"""
SAME = "<http://www.w3.org/2002/07/owl#sameAs>"
BASE = [
    t("tom", "mother", "ann"),
    t("tom", "passport", "p1"),
    t("o", "friend", "k1"),
    t("o", "knows", "k2"),
    a("tom", "Person"),
]


@pytest.fixture
def kg(tmp_path: Path) -> Path:
    (tmp_path / "t.ofn").write_text(TBOX)
    (tmp_path / "a.nt").write_text("".join(f"{line}\n" for line in BASE))
    run(
        "index",
        "-t",
        tmp_path / "t.ofn",
        "-s",
        tmp_path / "kg",
        tmp_path / "a.nt",
        "-q",
        "--reasoner",
        "own",
    )
    return tmp_path / "kg"


CASES = {
    "functional": (
        [t("tom", "mother", "anna")],
        {("anna", "ann")},
        [t("tom", "mother", "anna")],
        [BASE[0]],
    ),
    "inverse functional": (
        [t("tim", "passport", "p1")],
        {("tim", "tom")},
        [t("tim", "passport", "p1")],
        [BASE[1]],
    ),
    "said": ([t("x", SAME, "y"), a("x", "Person")], {("x", "y")}, [t("x", SAME, "y")], []),
    "at most one of a class": ([a("o", "Only")], {("k1", "k2")}, [], BASE[2:4]),
    "at most two is open": ([t("tom", "knows", f"q{i}") for i in range(3)], set(), [], []),
    "nothing": ([t("tim", "mother", "anna"), a("tim", "Person")], set(), [], []),
}


@pytest.mark.parametrize(
    ("engine", "criterion"), [("local", "clausal"), ("spec", "clausal"), ("local", "model")]
)
@pytest.mark.parametrize("case", CASES)
def test_implied_identities_are_told_with_their_reasons(
    kg: Path, case: str, engine: str, criterion: str
) -> None:
    batch, equal, insertions, base = CASES[case]
    (kg.parent / "b.nt").write_text("".join(f"{line}\n" for line in batch))
    asked = [
        "gate",
        "-s",
        kg,
        "-i",
        kg.parent / "b.nt",
        "--reasoner",
        "own",
        "--engine",
        engine,
        "--criterion",
        criterion,
        "-q",
    ]
    found = json.loads(run(*asked, "--json", "-").output)["identities"]
    assert {frozenset(x["individuals"]) for x in found} == {
        frozenset(f"<{PREFIX}{n}>" for n in pair) for pair in equal
    }
    for x in found:
        assert (x["insertions"], sorted(x["base"])) == (insertions, sorted(base))
        assert bool(x["axioms"]) == (case != "said")
    assert ("equal by the batch" in run(*asked).output) == bool(equal)
    assert "equal by the batch" not in run(*asked, "--identities", "allow").output


@pytest.mark.slow
@pytest.mark.spark
def test_spark_tells_the_same_identities(kg: Path, spark: SparkSession) -> None:
    """All cases in one batch; and with a deletion."""
    batch, gone = kg.parent / "b.nt", kg.parent / "d.nt"
    cases = [case for name, case in CASES.items() if name != "at most two is open"]
    batch.write_text("".join(f"{line}\n" for lines, *_ in cases for line in lines))
    gone.write_text(f"{BASE[0]}\n")
    asked = ["gate", "-s", kg, "-i", batch, "--reasoner", "own", "-q", "--json", "-"]
    for more, count in (
        (["--criterion", "clausal"], 4),
        (["--criterion", "model"], 4),
        (["--delete", gone], 3),
    ):
        found = [
            json.loads(run(*asked, *more, "--engine", engine).output)["identities"]
            for engine in ("local", "spark")
        ]
        assert found[0] == found[1] and len(found[0]) == count
    blocked = json.loads(run(*asked, "--identities", "block", "--engine", "spark").output)
    assert blocked["decision"] == "refused" and "become equal" in blocked["reason"]


def test_what_makes_individuals_equal_can_be_set_aside(kg: Path) -> None:
    batch = [t("tom", "mother", "anna"), t("tim", "mother", "anna"), t("x", SAME, "y")]
    (kg.parent / "b.nt").write_text("".join(f"{line}\n" for line in batch))
    asked = [
        "gate",
        "-s",
        kg,
        "-i",
        kg.parent / "b.nt",
        "--reasoner",
        "own",
        "--identities",
        "block",
        "--commit",
        "-q",
    ]
    refused = json.loads(run(*asked, "--json", "-").output)
    assert refused["decision"] == "refused" and "become equal" in refused["reason"]
    assert sorted(run("export", "-s", kg).output.splitlines()) == sorted(BASE)
    split = run(
        *asked,
        "--mode",
        "split",
        "--accepted",
        kg.parent / "good.nt",
        "--quarantine",
        kg.parent / "bad.nt",
    )
    assert split.return_value == 5
    assert (kg.parent / "good.nt").read_text().splitlines() == [batch[1]]
    assert (kg.parent / "bad.nt").read_text().splitlines() == [batch[0], batch[2]]
    assert sorted(run("export", "-s", kg).output.splitlines()) == sorted([*BASE, batch[1]])
