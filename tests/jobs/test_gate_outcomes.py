"""What became of a batch is told apart: accepted, split, refused, left open; and how much may be
quarantined.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_gate import BAD, BASE, GOOD, a, gate, kg, lines_of, run, t
from test_gate_waivers import policy

from shiq.api import open_store
from shiq.errors import UsageError
from shiq.jobs.gate import gate as gate_of
from shiq.jobs.gate import parse_limit
from shiq.jobs.reports.write import answer_problems

__all__ = ["kg"]

BROKEN, ODD = "no triple at all", t("ann", "lieks", "tom")
SPLIT = ("--mode", "split")


@pytest.mark.parametrize(
    ("lines", "more", "code", "outcome"),
    [
        pytest.param(GOOD, SPLIT, 0, "accepted", id="whole"),
        pytest.param(["# nothing came"], SPLIT, 0, "accepted", id="empty"),
        pytest.param([*GOOD, BAD[0]], SPLIT, 5, "split", id="contradiction"),
        pytest.param([*GOOD, BROKEN], SPLIT, 5, "split", id="malformed"),
        pytest.param([*GOOD, ODD], SPLIT, 5, "split", id="not understood"),
        pytest.param([BAD[0], BROKEN, ODD], SPLIT, 1, "refused", id="nothing left"),
        pytest.param(["# a comment", BROKEN], SPLIT, 1, "refused", id="a comment is nothing"),
        pytest.param([*GOOD, BAD[0]], (), 1, "refused", id="rejected"),
        pytest.param([*GOOD, ODD], (), 3, "refused", id="left open"),
    ],
)
def test_each_outcome_has_its_exit_code(
    kg: Path, lines: list[str], more: tuple[str, ...], code: int, outcome: str
) -> None:
    found, good, bad, said = gate(kg, lines, *more, "--commit")
    assert (found, said["outcome"], said["decision"]) == (code, outcome, outcome), said["reason"]
    assert not answer_problems(said)
    aside = {line for line in lines if line not in GOOD and line[0] != "#"}
    assert lines_of(bad) == [
        line for line in lines if outcome == "refused" or (outcome == "split" and line in aside)
    ]
    assert lines_of(good) == [
        line for line in lines if outcome != "refused" and line not in lines_of(bad)
    ]
    stored = set(run("export", "--store", kg).output.splitlines())
    assert stored == {*BASE, *(line for line in lines_of(good) if line[0] != "#")}


def test_what_a_policy_tolerates_is_neither_accepted_nor_quarantined(kg: Path) -> None:
    beside = policy(kg.parent, {"triples": [BAD[1]]})
    code, good, _, said = gate(kg, [BAD[1]], *SPLIT, *beside)
    assert (code, good, said["outcome"]) == (0, b"", "accepted")
    code, good, bad, said = gate(kg, [BAD[1], BAD[0]], *SPLIT, "--commit", *beside)
    assert (code, good, lines_of(bad), said["outcome"]) == (1, b"", [BAD[1], BAD[0]], "refused")
    assert run("export", "--store", kg, "--set-aside").output == ""


def test_a_batch_of_which_nothing_is_left_deletes_nothing(kg: Path) -> None:
    (kg.parent / "gone.nt").write_text(BASE[2] + "\n")
    code, _, _, said = gate(kg, [BAD[0]], *SPLIT, "--commit", "--delete", kg.parent / "gone.nt")
    assert (code, said["reason"]) == (1, "nothing of the batch is left to accept")
    assert set(run("export", "--store", kg).output.splitlines()) == set(BASE)


def test_a_split_without_a_quarantine_is_no_call(kg: Path) -> None:
    """It is refused before any work: the batch is not even read."""
    asked = ["gate", "--store", kg, "--insert", kg.parent / "none.nt", *SPLIT, "-q"]
    refused = run(*asked).exception
    assert isinstance(refused, UsageError) and "--quarantine" in str(refused)
    assert "none.nt" in str(run(*asked, "--dry-run").exception)
    (kg.parent / "batch.nt").write_text("\n".join([*GOOD, *BAD]))
    tried = run(
        "gate", "--store", kg, "--insert", kg.parent / "batch.nt", *SPLIT, "--dry-run", "-q"
    )
    assert (tried.return_value, tried.output.partition(" ")[0]) == (5, "SPLIT")
    # Who calls from Python has both sides in hand.
    with open_store(kg) as session:
        answer = gate_of(session, [str(kg.parent / "batch.nt")], mode="split", reasoner="own")
    assert ([x.text for x in answer.accepted], [x.line.text for x in answer.set_aside]) == (
        GOOD,
        BAD,
    )


NEGATIVE = [
    "_:n <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://www.w3.org/2002/07/owl#NegativePropertyAssertion> .",
    "_:n <http://www.w3.org/2002/07/owl#sourceIndividual> <http://ex.org/ann> .",
    "_:n <http://www.w3.org/2002/07/owl#assertionProperty> <http://ex.org/likes> .",
    "_:n <http://www.w3.org/2002/07/owl#targetIndividual> <http://ex.org/tom> .",
]


@pytest.mark.parametrize(
    ("limit", "is_over"),
    [
        ("0", True),
        ("2", True),
        ("3", False),
        ("42.8%", True),
        ("43%", False),
        ("100%", False),
        ("60 %", None),
    ],
)
def test_more_than_may_be_quarantined_refuses_the_batch(
    kg: Path, limit: str, is_over: bool | None
) -> None:
    """Three of seven assertions are set aside: what is said twice, or in four lines, is one."""
    good = [a("ann", "Cat"), t("bob", "likes", "tom"), a("bob", "Cat")]
    lines = [*good, "# a comment", BAD[0], BAD[0], BROKEN, t("ann", "likes", "tom"), *NEGATIVE]
    if is_over is None:
        (kg.parent / "batch.nt").write_text("\n".join(lines))
        asked = (
            "gate",
            "-s",
            kg,
            "-i",
            kg.parent / "batch.nt",
            *SPLIT,
            "--dry-run",
            "--max-quarantine",
            limit,
        )
        assert "no limit for the quarantine" in str(run(*asked).exception)
        return
    code, accepted, bad, said = gate(
        kg, lines, *SPLIT, "--max-quarantine", limit, "--commit", "--aside", "least"
    )
    singled_out = [x for x in said["set_aside"] if x["kind"] != "batch"]  # type: ignore[attr-defined]
    stored = set(run("export", "--store", kg).output.splitlines())
    if is_over:
        assert (code, said["outcome"], accepted, lines_of(bad)) == (1, "refused", b"", lines)
        assert (
            said["reason"]
            == f"3 of 7 assertions would be set aside, and --max-quarantine is {limit}"
        )
        assert stored == set(BASE)
        why = json.loads((kg.parent / "bad.nt.why.json").read_text())
        assert [x for x in why["set_aside"] if x["kind"] != "batch"] == singled_out
    else:
        assert (code, said["outcome"], lines_of(bad)) == (
            5,
            "split",
            [x["text"] for x in singled_out],
        )
        assert stored >= {*BASE, *good}
    assert {"conflict", "malformed"} == {x["kind"] for x in singled_out}


def test_a_limit_is_for_what_is_split(kg: Path) -> None:
    (kg.parent / "batch.nt").write_text("\n".join(GOOD))
    asked = ("gate", "-s", kg, "-i", kg.parent / "batch.nt", "--max-quarantine", "5")
    assert "--mode split" in str(run(*asked).exception)
    with pytest.raises(UsageError):
        parse_limit("100.5%")
    with open_store(kg) as session:
        asked_for = {"mode": "split", "reasoner": "own"}
        runs = {
            gate_of(session, [str(kg.parent / "batch.nt")], **asked_for, max_quarantine=n).run
            for n in (None, 5, "5%")
        }
    assert len(runs) == 3


@pytest.mark.spark
def test_spark_ends_with_the_same_codes(spark: object, kg: Path) -> None:
    more = ("--engine", "spark")
    assert gate(kg, [*GOOD, BAD[0]], *SPLIT, *more)[0] == 5
    assert gate(kg, [*GOOD, BAD[0]], *SPLIT, "--max-quarantine", "20%", *more)[0] == 1
    assert gate(kg, [*GOOD, ODD], *more)[0] == 3
