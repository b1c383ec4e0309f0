"""Audits, reproducers, the ledger, `--fail-on`, `shiq doctor`, `shiq lint`, and reasoners that a
user installed.
"""

from __future__ import annotations

import json
import random
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from shiq import check_insertions, open_store
from shiq.abox_ops.modules.decide import Audit, Decider, audit_drawn_shapes, draw_shapes
from shiq.answers.verdict import INFORMATIVE, KINDS, Verdict, is_blocking_kind
from shiq.api import index
from shiq.errors import InputError, UsageError
from shiq.jobs import cli
from shiq.jobs.cli import main
from shiq.jobs.repro import pack_disagreement, read_reproducer, replay
from shiq.jobs.spark import executor_reasoner
from shiq.model import (
    Class,
    ClassAssertion,
    DisjointClasses,
    ObjectProperty,
    ObjectSomeValuesFrom,
    SubClassOf,
    TBox,
)
from shiq.model.clause import ClausalTBox
from shiq.rdf import read_assertions, read_ontology
from shiq.reasoner import BACKENDS, create_reasoner
from shiq.reasoner.external import (
    KONCLUDE_SETTING,
    ExternalReasoner,
    MissingReasoner,
    find_external_reasoner,
)
from shiq.reasoner.jvm import close_shared_jvms
from shiq.reasoner.own_reasoner import OwnReasoner
from shiq.reasoner.protocol import Answer, Module, Reasoner
from shiq.simplify import simplify

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Run = Callable[..., tuple[int, str, str]]

A, B, C = (Class(f"urn:{name}") for name in "ABC")
TEXT = TBox(
    (DisjointClasses((A, B)), SubClassOf(C, ObjectSomeValuesFrom(ObjectProperty("urn:r"), A)))
)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """The command line, in this process: exit code, what it printed, and its errors."""

    def call(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stop:
            main([str(a) for a in arguments])
        printed = capsys.readouterr()
        return int(stop.value.code or 0), printed.out, printed.err

    return call


def test_whatever_ends_a_command_is_told_and_no_verdict(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ends(code: int) -> Callable[..., None]:
        def call(*arguments: object) -> None:
            raise BrokenPipeError(32, "Broken pipe") if code < 0 else SystemExit(code)

        return call

    given_up = list[bool]()
    monkeypatch.setattr(cli, "_discard_stream", lambda _: given_up.append(True))
    for code, said, quiet in (
        (1, "ended the process with 1", False),
        (0, "ended the process with 0", False),
        (-1, "", True),
    ):
        monkeypatch.setattr(cli.cli, "invoke", ends(code))
        ended, _, errors = run("doctor")
        assert (ended, said in errors, bool(given_up)) == (4, True, quiet)
        assert quiet == (errors == "")


# --- audit ----------------------------------------------------------------------------------------


class Careless(OwnReasoner):
    """A reasoner with a fault: it overlooks every contradiction of several atoms at one node."""

    name = "careless"

    def decide(
        self, tbox: ClausalTBox, modules: Sequence[Module], timeout: float | None = None
    ) -> list[Answer]:
        told = super().decide(tbox, modules, timeout)
        return [
            Answer(Verdict.CONSISTENT) if m.positive[0].bit_count() > 1 else a
            for m, a in zip(modules, told)
        ]


@pytest.fixture
def careless(monkeypatch: pytest.MonkeyPatch) -> None:
    def made(heap: str, timeout: float | None) -> Reasoner:
        return Careless()

    monkeypatch.setitem(BACKENDS, "careless", made)  # type: ignore[arg-type]


BAD = [ClassAssertion(Class("urn:D"), "urn:x"), ClassAssertion(C, "urn:x")]
#: A contradiction that needs a reasoner, not just propagation: D ⊑ ∃r.B with r functional and C ⊑
#: ∃r.A.
HARD = TBox(
    (*TEXT.axioms, SubClassOf(Class("urn:D"), ObjectSomeValuesFrom(ObjectProperty("urn:r"), B)))
)


@pytest.fixture
def hard(tmp_path: Path) -> Path:
    path = tmp_path / "t.ofn"
    path.write_text(
        "Prefix(:=<urn:>) Ontology(DisjointClasses(:A :B) SubClassOf(:C ObjectSomeValuesFrom(:r :A)) "
        "SubClassOf(:D ObjectSomeValuesFrom(:r :B)) FunctionalObjectProperty(:r))"
    )
    return path


def batch(path: Path, *names: str) -> Path:
    path.write_text(
        "".join(
            f"<urn:x> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:{n}> .\n"
            for n in names
        )
    )
    return path


@pytest.mark.usefixtures("careless")
@pytest.mark.jvm
def test_a_disagreement_stops_the_run_and_packs_a_reproducer(
    hard: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    bad = batch(tmp_path / "bad.nt", "C", "D")
    wrong = check_insertions(hard, None, bad, reasoner="careless")
    assert wrong.verdict is Verdict.CONSISTENT
    result = check_insertions(hard, None, bad, reasoner="careless", audit=1.0)
    assert result.verdict is Verdict.UNDETERMINED
    assert "disagree" in result.reason
    [found] = result.evidence.disagreements
    assert {a.verdict for a in found.answers} == {Verdict.CONSISTENT, Verdict.INCONSISTENT}
    assert any("audit" in note for note in result.to_dict()["evidence"]["notes"])
    packed = pack_disagreement(found)
    assert sorted(verdict for verdict, _ in packed.answers.values()) == [
        "consistent",
        "inconsistent",
    ]
    answers = replay(packed)
    assert answers["own"].verdict is Verdict.INCONSISTENT


def test_the_command_writes_what_two_reasoners_disagree_about(
    hard: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Elsewhere(Careless):
        name = "konclude"

    monkeypatch.setitem(BACKENDS, "konclude", lambda heap, timeout: Elsewhere())  # type: ignore[arg-type, misc]
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    bad = batch(tmp_path / "bad.nt", "C", "D")
    code, out, err = run(
        "check", "-t", hard, "-i", bad, "--reasoner", "konclude", "--audit", "100%", "-q"
    )
    (zipped,) = (tmp_path / "here").iterdir()
    assert (code, "UNDETERMINED" in out, f"packed: {zipped.name}" in err) == (3, True, True)
    packed = read_reproducer(zipped)
    assert {name: verdict for name, (verdict, _) in packed.answers.items()} == {
        "konclude": "consistent",
        "own": "inconsistent",
    }
    assert (packed.name, packed.options["reasoner"]) == (zipped.name, "konclude")
    with zipfile.ZipFile(zipped) as archive:
        assert sorted(archive.namelist()) == ["README.txt", "answers.json", "ontology.ofn"]


@pytest.mark.jvm
def test_the_share_is_drawn_by_what_a_shape_is(hard: Path, tmp_path: Path) -> None:
    good = batch(tmp_path / "good.nt", "C")
    for share, least in ((1.0, 1), (0.0, 0)):
        notes = [
            check_insertions(hard, None, good, reasoner="own", audit=share).evidence.notes
            for _ in range(2)
        ]
        assert notes[0] == notes[1]
        assert (len(notes[0]) > 0) is bool(least)
    with pytest.raises(UsageError, match="between 0 and 1"):
        check_insertions(hard, None, good, audit=1.5)


def test_an_audit_asks_whether_an_executor_was_right() -> None:
    tbox = simplify(TBox((DisjointClasses((A, B)),))).clauses
    asked = {mask: Module((mask,), (0,)) for mask in (1, 3)}
    # What is undetermined may be so by a small budget, so it is not asked about again.
    for said, asked_again, disagree in (
        ({1: "consistent", 3: "inconsistent"}, 2, 0),
        ({1: "inconsistent", 3: "undetermined"}, 1, 1),
    ):
        decider = Decider(OwnReasoner(), audit=Audit(1.0, {"own": OwnReasoner}))
        audit_drawn_shapes(
            draw_shapes(tbox, ((asked[mask], verdict) for mask, verdict in said.items()), 1.0),
            decider,
            None,
        )
        assert decider.audit and len(decider.audit.disagreements) == disagree
        assert (decider.audit.audited_count, decider.audit.agreement_count) == (
            asked_again,
            asked_again,
        )
    assert decider.audit.disagreements[0].reasoners == ("own in an executor", "own")
    assert not draw_shapes(tbox, ((module, "consistent") for module in asked.values()), 0.0).modules


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.jvm
def test_spark_audits_what_its_executors_decided(
    spark: SparkSession, hard: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor_reasoner, "MOST_HERE", 0)
    monkeypatch.setattr(executor_reasoner, "LEAST_OUT", 1)
    assert index(
        hard, batch(tmp_path / "base.nt", "A"), tmp_path / "kg", engine="spark", audit=1.0
    ).evidence.notes
    good, bad = batch(tmp_path / "good.nt", "C"), batch(tmp_path / "bad.nt", "C", "D")
    with open_store(tmp_path / "kg") as session:
        for criterion in ("clausal", "model"):
            for given, verdict in ((good, Verdict.CONSISTENT), (bad, Verdict.INCONSISTENT)):
                results = [
                    session.check(
                        given, engine=engine, criterion=criterion, reasoner="own", audit=1.0
                    )
                    for engine in ("local", "spark")
                ]
                assert [r.verdict for r in results] == [verdict, verdict]
                for result in results:
                    (note,) = result.evidence.notes
                    assert "0 disagreed" in note and " 0 decided again" not in note
    # A planted fault: what executors say is consistent. Neither reasoner is believed.
    monkeypatch.setattr(executor_reasoner, "_parse_answer", lambda row: Answer(Verdict.CONSISTENT))
    with open_store(tmp_path / "kg") as session:
        result = session.check(bad, engine="spark", criterion="clausal", reasoner="own", audit=1.0)
    assert (result.verdict, len(result.evidence.disagreements), result.conflicts) == (
        Verdict.UNDETERMINED,
        1,
        (),
    )


@pytest.mark.jvm
def test_pack_and_run_again(hard: Path, tmp_path: Path, run: Run) -> None:
    assert (
        run("index", "-t", hard, "-s", tmp_path / "kg", batch(tmp_path / "base.nt", "C"), "-q")[0]
        == 0
    )
    bad, zipped = batch(tmp_path / "bad.nt", "D"), tmp_path / "bug.zip"
    code, out, _ = run(
        "repro", "pack", "-s", tmp_path / "kg", "-i", bad, "--individual", "urn:x", "-o", zipped
    )
    assert (code, "own inconsistent; hermit inconsistent" in out) == (0, True)
    with zipfile.ZipFile(zipped) as archive:
        assert sorted(archive.namelist()) == ["README.txt", "answers.json", "ontology.ofn"]
    code, out, _ = run("repro", "run", zipped)
    assert (code, out.count("inconsistent")) == (0, 4)
    assert (
        run(
            "repro", "pack", "-s", tmp_path / "kg", "-i", bad, "--individual", "urn:y", "-o", zipped
        )[0]
        == 2
    )


@pytest.mark.jvm
def test_pack_says_where_no_module_was_asked_about(hard: Path, tmp_path: Path, run: Run) -> None:
    """What labels alone contradict is in no module; what is packed is of the criterion that is
    named.
    """
    assert (
        run("index", "-t", hard, "-s", tmp_path / "kg", batch(tmp_path / "base.nt", "A"), "-q")[0]
        == 0
    )
    bad, good, zipped = (
        batch(tmp_path / "bad.nt", "B"),
        batch(tmp_path / "good.nt", "C"),
        tmp_path / "bug.zip",
    )
    code, _, errors = run("repro", "pack", "-s", tmp_path / "kg", "-i", bad, "-o", zipped)
    assert (code, zipped.exists()) == (2, False)
    assert (
        "<urn:x> contradicts the TBox" in errors
        and f"`shiq check --store {tmp_path / 'kg'} --insert {bad}`" in errors
    )
    code, out, _ = run(
        "repro", "pack", "-s", tmp_path / "kg", "-i", good, "--criterion", "none", "-o", zipped
    )
    assert (code, "own consistent; hermit consistent" in out) == (0, True)


@pytest.mark.parametrize(
    "content", [b"", b"PK\x05\x06" + b"\0" * 18, b"\x80\x04\x95cposix\nsystem\n."]
)
def test_what_is_no_reproducer_is_refused_and_never_unpickled(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "bug.zip"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"bug\.zip"):
        read_reproducer(path)


# --- the ledger -----------------------------------------------------------------------------------

WORDS = (
    "rdf:type",
    "rdfs:subClassOf",
    "owl:disjointwith",
    "urn:r",
    "urn:f",
    "urn:unknown",
    "rdfs:label",
    "owl:hasKey",
)
PREFIXES = {
    "rdf:": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs:": "http://www.w3.org/2000/01/rdf-schema#",
    "owl:": "http://www.w3.org/2002/07/owl#",
}
THINGS = (
    "urn:A",
    "urn:B",
    "owl:Class",
    "owl:ObjectProperty",
    "owl:Restriction",
    "urn:x",
    "urn:r",
    '"text"',
    "_:b",
)


def iri(name: str) -> str:
    for prefix, full in PREFIXES.items():
        if name.startswith(prefix):
            return f"<{full}{name[len(prefix) :]}>"
    return name if name.startswith(("_:", '"')) else f"<{name}>"


@pytest.mark.parametrize("seed", range(30))
def test_every_triple_is_in_exactly_one_bucket(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    lines = [
        "not a triple at all"
        if rng.random() < 0.05
        else f"{iri(rng.choice(THINGS[:7]))} {iri(rng.choice(WORDS))} {iri(rng.choice(THINGS))} ."
        for _ in range(rng.randint(1, 60))
    ]
    # One line of each file is a triple, so that it is N-Triples at all.
    (tmp_path / "t.nt").write_text(
        "\n".join([f"{iri('urn:A')} {iri('rdf:type')} {iri('owl:Class')} .", *lines]) + "\n"
    )
    reading = read_ontology([tmp_path / "t.nt"])
    assert sum(reading.ledger.values()) == len(lines) + 1
    assert all(count > 0 for count in reading.ledger.values())
    kinds = {name.removeprefix("leftover:") for name in reading.ledger}
    assert kinds <= {"axiom", "assertion", "declaration", "annotation", *KINDS}
    data = read_assertions([tmp_path / "t.nt"], reading.tbox.signature)
    assert sum(data.ledger.values()) == len(lines) + 1


def test_lint_tells_the_ledger_and_what_stands_in_the_way(tmp_path: Path, run: Run) -> None:
    (tmp_path / "t.ttl").write_text(
        "@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . "
        "@prefix : <urn:> . :A a owl:Class ; owl:disjointWith :B . :B a owl:Class . :E a owl:Class ; rdfs:subClassOf :A , :B ."
    )
    (tmp_path / "d.nt").write_text("<urn:x> <urn:unknown> <urn:y> .\n")
    code, out, _ = run("lint", tmp_path / "t.ttl", "-q")
    assert (code, "urn:E" in out, "unsatisfiable-class" in out) == (0, True, True)
    assert run("lint", tmp_path / "t.ttl", "--fail-on", "unsatisfiable-class", "-q")[0] == 3
    code, out, _ = run("lint", tmp_path / "t.ttl", "--data", tmp_path / "d.nt", "--json", "-", "-q")
    found = json.loads(out)
    assert (code, found["blocking"], found["ledger"]["leftover:undeclared"]) == (
        3,
        ["undeclared"],
        1,
    )
    assert found["triples"] == sum(found["ledger"].values())
    assert (
        run("lint", tmp_path / "t.ttl", "--data", tmp_path / "d.nt", "--allow", "undeclared", "-q")[
            0
        ]
        == 0
    )


def test_fail_on_and_allow() -> None:
    for kind in KINDS:
        assert is_blocking_kind(kind, ()) is (kind not in INFORMATIVE)
        assert is_blocking_kind(kind, (), ("uninterpreted",))
        assert is_blocking_kind(kind, (), (kind,))
        assert not is_blocking_kind(kind, (kind,), ("uninterpreted",))
    with pytest.raises(UsageError, match="named by both --allow and --fail-on"):
        check_insertions(TEXT, allow=["undeclared"], fail_on=["undeclared"])


# --- doctor ---------------------------------------------------------------------------------------


@pytest.mark.jvm
def test_doctor(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = run("doctor", "--json", "-")
    found = {f["what"]: f for f in json.loads(out)["findings"]}
    assert (code, found["reasoner own"]["state"], found["temporary folder"]["state"]) == (
        0,
        "ok",
        "ok",
    )
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    close_shared_jvms()  # one that an earlier test has started would go on
    code, out, _ = run("doctor")
    assert code == 0  # without Java a check still has `own`
    assert "warn  Java: no Java runtime was found" in out
    assert "warn  reasoner hermit" in out


@pytest.mark.spark
@pytest.mark.slow
def test_doctor_starts_spark_where_that_is_asked(run: Run) -> None:
    assert "Spark session" not in run("doctor", "--json", "-")[1]
    code, out, _ = run("doctor", "--spark", "--json", "-")
    found = {f["what"]: f for f in json.loads(out)["findings"]}
    assert (code, found["Spark session"]["state"]) == (0, "ok"), out


# --- reasoners that a user installed --------------------------------------------------------------


def test_the_agpl_is_accepted_or_not_asked(run: Run, hard: Path) -> None:
    for name in ("pellet", "openllet"):
        code, _, err = run("certify", hard, "--reasoner", name)
        assert (code, "--accept-agpl" in err) == (2, True)
    with pytest.raises(UsageError, match="AGPL"):
        create_reasoner("pellet")


def test_a_program_that_is_missing_is_said(
    run: Run, hard: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KONCLUDE_SETTING, "/nowhere/Konclude")
    code, _, err = run("certify", hard, "--reasoner", "konclude")
    assert (code, "/nowhere/Konclude" in err) == (4, True)


PARSED = "echo '{info} 1 >> Ontology parsed in 1 ms.'"
CONSISTENT = f"{PARSED}; echo \"{{info}} 1 >> Ontology 'x' is consistent.\""
#: Programs that behave as Konclude has been seen to: `consistent` with exit code 0 whatever they
#: were given.
LIARS = {
    "says consistent": CONSISTENT,
    "says inconsistent": CONSISTENT.replace("consistent", "inconsistent"),
    "reports an error": f"echo '{{error}} 1 >> no such file'; {CONSISTENT}",
    "dies after the verdict": f"{CONSISTENT}; kill -9 $$",
    "says nothing": "true",
    "hangs": "sleep 100",
}


@pytest.mark.parametrize("how", LIARS)
def test_an_answer_without_evidence_does_not_count(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "Konclude"
    program.write_text(f"#!/bin/sh\n{LIARS[how]}\n")
    program.chmod(0o755)
    monkeypatch.setenv(KONCLUDE_SETTING, str(program))
    tbox = simplify(HARD).clauses
    for timeout in [3.0] if how != "hangs" else [0.5]:
        for answer in create_reasoner("konclude").decide(tbox, [Module((1,), (0,))], timeout):
            assert answer.verdict is Verdict.UNDETERMINED
            assert answer.reason.startswith("konclude: ")


@pytest.mark.parametrize(
    "name",
    [
        "konclude",
        pytest.param("pellet", marks=pytest.mark.slow),
        pytest.param("openllet", marks=pytest.mark.slow),
    ],
)
def test_installed_reasoners_answer_as_own_does(name: str) -> None:
    if isinstance(find_external_reasoner(name), MissingReasoner):
        pytest.skip(f"{name} is not installed")
    tbox = simplify(HARD).clauses
    modules = [Module((mask,), (0,)) for mask in (1, 2, 3)]
    reasoner = create_reasoner(name, accept_agpl=True)
    assert isinstance(reasoner, ExternalReasoner)
    found = reasoner.decide(tbox, modules)
    assert [a.verdict for a in found] == [a.verdict for a in OwnReasoner().decide(tbox, modules)]
    assert reasoner.sent_questions.questions > 0
    if name != "konclude":
        assert reasoner.sent_questions.axioms_sent == reasoner.sent_questions.axioms_parsed
