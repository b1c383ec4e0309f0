"""Waivers and severities: what they let pass is kept beside, told, and never certified."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from test_gate import BAD, BASE, GOOD, a, gate, kg, lines_of, run, t

from shiq.errors import UsageError
from shiq.jobs.gate.waivers import parse_policy, read_policy

__all__ = ["kg"]

OWNER = {"owner": "ann@example.org", "reason": "rex is under review", "expires": "2030-01-31"}


def policy(folder: Path, *waivers: dict[str, Any], **severity: str) -> list[object]:
    lines = [
        "[severity]",
        *(f'"{name.replace("_", "-")}" = "{value}"' for name, value in severity.items()),
    ]
    for waiver in waivers:
        lines += [
            "[[waiver]]",
            *(f"{name} = {value!r}" for name, value in {**OWNER, **waiver}.items()),
        ]
    (folder / "policy.toml").write_text("\n".join(lines))
    return [
        "--policy",
        folder / "policy.toml",
        "--today",
        "2030-01-31",
        "--tolerated",
        folder / "beside.nt",
    ]


def test_a_waived_conflict_does_not_block_and_is_not_certified(kg: Path) -> None:
    beside = kg.parent / "beside.nt"
    rule = gate(kg, [BAD[0]])[3]["conflicts"][0]["rule"]  # type: ignore[index]
    assert rule == "cax-dw"
    code, good, bad, said = gate(
        kg, [*GOOD, BAD[0]], "--commit", *policy(kg.parent, {"rule": rule})
    )
    assert (code, lines_of(good), bad, lines_of(beside.read_bytes())) == (0, GOOD, b"", [BAD[0]])
    assert (said["outcome"], said["verdict"]) == ("accepted", "inconsistent")
    judged = said["conflicts"][0]["judgement"]  # type: ignore[index]
    assert judged == {"effect": "waived", **OWNER}
    assert "waived by ann@example.org until 2030-01-31" in said["tolerated"][0]["reason"]  # type: ignore[index]
    # The store holds what was certified; what is tolerated is in its ledger.
    assert set(run("export", "--store", kg).output.splitlines()) == {*BASE, *GOOD[:2]}
    assert run("export", "--store", kg, "--set-aside").output.splitlines() == [BAD[0]]
    assert "1 waived" in run("status", "--store", kg).output
    # Later checks say what they are not about.
    (kg.parent / "next.nt").write_text(a("joe", "Cat") + "\n")
    assert (
        "1 set-aside (for information)"
        in run("check", "--store", kg, "--insert", kg.parent / "next.nt", "-q").output
    )


def test_an_expired_waiver_blocks_and_is_told(kg: Path) -> None:
    code, good, bad, said = gate(
        kg, [*GOOD, BAD[0]], *policy(kg.parent, {"rule": "cax-dw", "expires": "2030-01-30"})
    )
    assert (code, good, lines_of(bad), said["decision"]) == (1, b"", [*GOOD, BAD[0]], "refused")
    assert said["conflicts"][0]["judgement"]["expired"] is True  # type: ignore[index]
    told = run(
        "gate",
        "-s",
        kg,
        "-i",
        kg.parent / "batch.nt",
        *policy(kg.parent, {"rule": "cax-dw", "expires": "2030-01-30"}),
    )
    assert "the waiver of ann@example.org ended on 2030-01-30" in told.output


def test_what_else_contradicts_still_blocks(kg: Path) -> None:
    """A line of a conflict that blocks is set aside, whatever other conflicts it takes part in."""
    batch = [*GOOD, BAD[1], a("tom", "Dog"), t("joe", "likes", "rex")]
    exact = policy(kg.parent, {"triples": [BAD[1]]})
    code, good, bad, said = gate(kg, batch, "--mode", "split", *exact)
    assert (code, lines_of(good), lines_of(bad)) == (5, GOOD, batch[4:])
    assert lines_of((kg.parent / "beside.nt").read_bytes()) == [BAD[1]]
    assert said["result"]["verdict"] == "consistent"  # type: ignore[index]
    assert gate(kg, batch, *exact)[0] == 1
    # Without a file for it, what is tolerated goes with the quarantine: nothing is lost.
    assert lines_of(gate(kg, batch, "--mode", "split", *exact[:-2])[2]) == [BAD[1], *batch[4:]]


@pytest.mark.parametrize("severity", ["warn", "info"])
def test_severities(kg: Path, severity: str) -> None:
    code, good, _, said = gate(kg, [*GOOD, *BAD], *policy(kg.parent, cax_dw=severity))
    assert (code, lines_of(good), len(said["tolerated"])) == (0, GOOD, 2)  # type: ignore[arg-type]
    told = run(
        "gate", "-s", kg, "-i", kg.parent / "batch.nt", *policy(kg.parent, cax_dw=severity)
    ).output
    assert ("conflict 1\n" in told) == (severity == "warn")
    pattern = said["conflicts"][0]["pattern"]  # type: ignore[index]
    severe = {"cax-dw": "warn", pattern: "fail"}
    assert (
        parse_policy({"severity": severe}, date(2030, 1, 1)).judge([], pattern, "cax-dw").effect
        == "fail"
    )


def test_what_the_ledger_holds_is_known_when_it_comes_again(kg: Path) -> None:
    gate(kg, [*GOOD, *BAD], "--commit", *policy(kg.parent, cax_dw="warn"))
    batch = [BAD[0], a("joe", "Cat")]
    code, good, _, said = gate(kg, batch, "--tolerated", kg.parent / "beside.nt")
    assert (code, lines_of(good)) == (0, [batch[1]])
    assert said["conflicts"][0]["judgement"] == {"effect": "known"}  # type: ignore[index]
    # When what it contradicted has gone, it comes in, and leaves the ledger.
    (kg.parent / "rex.nt").write_text(a("rex", "Dog") + "\n")
    code, good, _, _ = gate(kg, batch, "--delete", kg.parent / "rex.nt", "--commit")
    assert (code, lines_of(good)) == (0, batch)
    assert run("export", "--store", kg, "--set-aside").output.splitlines() == [BAD[1]]


def test_a_known_triple_does_not_take_new_ones_with_it(kg: Path) -> None:
    gate(kg, [a("rex", "Cat")], "--commit", *policy(kg.parent, cax_dw="warn"))
    (kg.parent / "rex.nt").write_text(a("rex", "Dog") + "\n")
    run("check", "-s", kg, "-d", kg.parent / "rex.nt", "--commit", "-q")
    code, good, _, said = gate(
        kg, [a("rex", "Cat"), a("rex", "Dog")], "--tolerated", kg.parent / "beside.nt"
    )
    assert (code, lines_of(good), len(said["conflicts"])) == (0, [a("rex", "Dog")], 1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "says"),
    [
        ({"sverity": {}}, "Did you mean 'severity'"),
        ({"severity": {"cax-dw": "fial"}}, "Did you mean 'fail'"),
        ({"waiver": [{**OWNER, "patern": "x"}]}, "Did you mean 'pattern'"),
        ({"waiver": [{**OWNER}]}, "names nothing"),
        ({"waiver": [{**OWNER, "rule": "cax-dw", "pattern": "x"}]}, "names pattern and rule"),
        ({"waiver": [{"rule": "cax-dw", "owner": "ann", "expires": "2030-01-01"}]}, "lacks reason"),
        ({"waiver": [{**OWNER, "rule": "cax-dw", "expires": "soon"}]}, "Write it as 2027-01-31"),
        ({"waiver": [{**OWNER, "triples": ["no triple"]}]}, "not a triple"),
    ],
)
def test_a_policy_that_is_not_understood_is_refused(found: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_policy(found, date(2030, 1, 1))
    assert says in str(raised.value)


def test_policies_as_files(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text('{"severity": {"cax-dw": "info"}}')
    assert read_policy(tmp_path / "p.json", date(2030, 1, 1)).severity == {"cax-dw": "info"}
    (tmp_path / "p.toml").write_text("waiver = [")
    with pytest.raises(UsageError, match=r"p\.toml"):
        read_policy(tmp_path / "p.toml", date(2030, 1, 1))
