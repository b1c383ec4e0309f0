"""Certifying a store again: by itself, and with a new TBox, which leaves what a store built anew
with that TBox holds.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import time
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
from command_line import shiq
from killing import run_and_kill
from store_content import said

from shiq import deadline
from shiq.answers.verdict import Verdict
from shiq.api import certify_store, index
from shiq.api import open_store as open_session
from shiq.errors import InputError, StoreError
from shiq.inputs.reading import Reading
from shiq.jobs.checking import certifying, deciding, options
from shiq.jobs.checking.deciders import make_decider
from shiq.jobs.checking.options import Clock, Options
from shiq.jobs.store import open_store
from shiq.jobs.store import write as store_write
from shiq.jobs.store.upkeep import certify, write_store
from shiq.model import (
    XSD,
    Assertion,
    Class,
    ClassAssertion,
    DataProperty,
    DataPropertyAssertion,
    DifferentIndividuals,
    DisjointClasses,
    Literal,
    ObjectMaxCardinality,
    ObjectProperty,
    ObjectPropertyAssertion,
    ObjectPropertyDomain,
    Signature,
    SubClassOf,
    TBox,
    TransitiveObjectProperty,
)
from shiq.model.abox import abox_of
from tests.tools.random_ontologies.kb import random_kb

CAT, DOG, PET = Class("urn:t#Cat"), Class("urn:t#Dog"), Class("urn:t#Pet")
CHASES, AGE = ObjectProperty("urn:t#chases"), DataProperty("urn:t#age")
WORDS = Signature(
    frozenset((CAT.iri, DOG.iri, PET.iri)),
    frozenset((CHASES.iri,)),
    frozenset((AGE.iri,)),
    frozenset(("urn:t#note",)),
)
OLD = TBox((SubClassOf(CAT, PET),), WORDS)
NEW = TBox(
    (SubClassOf(CAT, PET), DisjointClasses((CAT, DOG)), ObjectPropertyDomain(CHASES, DOG)), WORDS
)
DATA: list[Assertion] = [
    ClassAssertion(CAT, "urn:t#tom"),
    ClassAssertion(DOG, "urn:t#rex"),
    ObjectPropertyAssertion(CHASES, "urn:t#rex", "urn:t#tom"),
]
WRONG = [*DATA, ObjectPropertyAssertion(CHASES, "urn:t#tom", "urn:t#rex")]


def store_of(path: Path, assertions: list[Assertion], tbox: TBox = OLD) -> Path:
    index(tbox, abox_of(assertions), path, reasoner="own")
    return path


def test_an_uncertified_store_is_certified_without_a_new_snapshot(tmp_path: Path) -> None:
    path = store_of(tmp_path / "kg", DATA)
    certify(path, None)
    with open_session(path) as session:
        unknown = session.check(abox_of([ClassAssertion(CAT, "urn:t#kit")]), reasoner="own")
    assert unknown.verdict is Verdict.UNDETERMINED
    assert "shiq certify --store" in unknown.reason
    assert certify_store(path, reasoner="own").verdict is Verdict.CONSISTENT
    with open_session(path) as session:
        assert (
            session.check(abox_of([ClassAssertion(CAT, "urn:t#kit")]), reasoner="own").verdict
            is Verdict.CONSISTENT
        )
    with open_store(path) as store:
        assert store.certificate is not None
        assert (store.snapshot, store.certificate.snapshot, store.certificate.reasoner) == (
            1,
            1,
            "own",
        )


def test_an_inconsistent_store_says_so_and_is_told_to_a_check(tmp_path: Path) -> None:
    path = store_of(tmp_path / "kg", WRONG, NEW)
    again = certify_store(path, reasoner="own")
    assert again.verdict is Verdict.INCONSISTENT
    assert {conflict.origin for conflict in again.conflicts} == {"base"}
    with open_session(path) as session:
        found = session.check(abox_of([ClassAssertion(CAT, "urn:t#kit")]), reasoner="own")
    assert found.verdict is Verdict.UNDETERMINED
    assert "inconsistent by itself" in found.reason


@pytest.mark.parametrize("seed", range(10))
def test_a_new_tbox_leaves_what_a_store_built_anew_holds(seed: int, tmp_path: Path) -> None:
    kb, other = random_kb(seed), random_kb(seed + 500)
    new = TBox(other.tbox.axioms, other.tbox.signature | kb.tbox.signature)
    data = abox_of(kb.abox)
    index(kb.tbox, data, tmp_path / "kg", reasoner="own", max_conflicts=2)
    before = certify_store(tmp_path / "kg", reasoner="own", max_conflicts=2)
    # The new TBox has properties of its own, which the data might have annotated with.
    result = certify_store(
        tmp_path / "kg", new, reasoner="own", max_conflicts=2, allow=("lossy-input",)
    )
    anew = index(new, data, tmp_path / "anew", reasoner="own", max_conflicts=2)
    assert (result.verdict, len(result.conflicts), len(result.a_add)) == (
        anew.verdict,
        len(anew.conflicts),
        len(anew.a_add),
    ), f"seed {seed}"
    with open_store(tmp_path / "kg") as store, open_store(tmp_path / "anew") as fresh:
        assert said(store) == said(fresh), f"seed {seed}"
        assert (store.tbox_hash, store.tbox) == (fresh.tbox_hash, fresh.tbox)
        assert (store.snapshot, store.certificate.verdict if store.certificate else None) == (
            2,
            anew.verdict,
        )
    with open_store(tmp_path / "kg", 1) as old:
        assert (old.tbox, old.certificate.verdict if old.certificate else None) == (
            kb.tbox,
            before.verdict,
        )


@pytest.mark.parametrize("simple_first", [False, True])
def test_what_a_role_left_out_is_read_again_with_a_new_tbox(
    tmp_path: Path, simple_first: bool
) -> None:
    """What was allowed is that a role which is not simple has a bound; it is by now, or it was
    before.
    """
    data = [
        ClassAssertion(ObjectMaxCardinality(1, CHASES), "urn:t#tom"),
        ObjectPropertyAssertion(CHASES, "urn:t#tom", "urn:t#rex"),
        ObjectPropertyAssertion(CHASES, "urn:t#tom", "urn:t#kit"),
        DifferentIndividuals("urn:t#rex", "urn:t#kit"),
    ]
    simple, other = OLD, TBox((*OLD.axioms, TransitiveObjectProperty(CHASES)), WORDS)
    path, allow = tmp_path / "kg", ["non-simple-role"]
    if simple_first:
        index(simple, abox_of(data[:3]), path, reasoner="own")
    else:
        assert (
            index(other, abox_of(data), path, reasoner="own", allow=allow).without["assertions"]
            == 1
        )
    for tbox, verdict, without in (
        (other, "consistent", 1),
        (simple, "inconsistent", 0),
        (other, "consistent", 1),
    ):
        found = certify_store(path, tbox, reasoner="own", allow=allow if tbox is other else [])
        if simple_first and tbox is simple:
            verdict = "consistent"
        assert (found.verdict.value, found.without.get("assertions", 0)) == (verdict, without), (
            found.reason
        )
        with open_session(path) as session:
            more = session.check(abox_of(data[3:]), reasoner="own")
            assert (more.verdict is Verdict.CONSISTENT) == (tbox is other), more.reason


def test_a_new_tbox_that_contradicts(tmp_path: Path) -> None:
    path = store_of(tmp_path / "kg", WRONG)
    result = certify_store(path, NEW, reasoner="own")
    assert result.verdict is Verdict.INCONSISTENT
    assert any(
        "DisjointClasses" in axiom for conflict in result.conflicts for axiom in conflict.axioms
    )
    with open_store(path) as store:
        assert store.certificate is not None
        assert (store.certificate.verdict, store.snapshot, store.tbox) == (
            Verdict.INCONSISTENT,
            2,
            NEW,
        )
    assert certify_store(path, OLD, reasoner="own").verdict is Verdict.CONSISTENT, (
        "and the way back"
    )


def test_what_the_new_tbox_does_not_know_or_calls_otherwise_is_a_leftover(tmp_path: Path) -> None:
    data = [*DATA, DataPropertyAssertion(AGE, "urn:t#tom", Literal("3", XSD + "integer"))]
    path = store_of(tmp_path / "kg", data)
    words = Signature(frozenset((CAT.iri,)), frozenset((AGE.iri,)), frozenset(("urn:t#note",)))
    result = certify_store(path, TBox((SubClassOf(CAT, PET),), words), reasoner="own")
    assert result.verdict is Verdict.UNDETERMINED
    kinds = {(x.kind, x.count) for x in result.evidence.leftovers}
    assert ("lossy-input", 1) in kinds, "urn:t#note annotated only, and its triples were not stored"
    assert ("malformed", 1) in kinds, "a literal as value of what is now an object property"
    assert ("undeclared", 1) in kinds
    more = TBox((SubClassOf(DOG, PET),), words)
    assert "lossy-input" in {
        x.kind for x in certify_store(path, more, reasoner="own").evidence.leftovers
    }
    again = certify_store(path, OLD, reasoner="own")
    assert {x.kind for x in again.evidence.leftovers} == {"malformed"}, (
        "what the store lost stays lost; notes are notes again"
    )


def test_a_tbox_without_axioms_takes_no_tboxs_place(tmp_path: Path) -> None:
    path = store_of(tmp_path / "kg", DATA)
    (tmp_path / "data.nt").write_text(
        "<urn:t#rex> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:t#Dog> .\n"
    )
    with pytest.raises(InputError, match="the store keeps its own"):
        certify_store(path, [tmp_path / "data.nt"], reasoner="own")
    with open_store(path) as store:
        assert (store.snapshot, store.tbox) == (1, OLD)
    certify_store(path, TBox(()), reasoner="own", allow=["empty-tbox", "undeclared"])
    with open_store(path) as store:
        assert (store.snapshot, store.tbox) == (2, TBox(()))


@pytest.mark.jvm
def test_leftovers_of_the_old_tbox_go_with_it(tmp_path: Path) -> None:
    prefixes = "@prefix : <urn:t#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n:Cat a owl:Class . :Dog a owl:Class .\n"
    (tmp_path / "old.ttl").write_text(
        prefixes + ":Cat owl:equivalentClass [ owl:oneOf ( :tom ) ] ."
    )
    (tmp_path / "new.ttl").write_text(prefixes + ":Cat owl:disjointWith :Dog .")
    (tmp_path / "a.nt").write_text("<urn:t#a b> <urn:t#c> .\n")
    index([tmp_path / "old.ttl"], [tmp_path / "a.nt"], tmp_path / "kg", reasoner="own")
    result = certify_store(tmp_path / "kg", [tmp_path / "new.ttl"], reasoner="own")
    assert {x.kind for x in result.evidence.leftovers} == {"malformed"}


def test_ill_typed_values_are_set_aside_in_the_store_too(tmp_path: Path) -> None:
    old = DataPropertyAssertion(AGE, "urn:t#tom", Literal("old", XSD + "integer"))
    path = store_of(tmp_path / "kg", [*DATA, old])
    assert certify_store(path, reasoner="own").verdict is Verdict.INCONSISTENT
    assert certify_store(path, reasoner="own", allow=["ill-typed"]).verdict is Verdict.CONSISTENT
    with open_store(path) as store:
        assert set(store.export()) == set(DATA)
        assert [x.kind for x in store.leftovers] == ["ill-typed"]


def test_a_store_that_was_changed_meanwhile_is_not_certified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = store_of(tmp_path / "kg", DATA)
    real = store_write.read_manifest

    def meanwhile(store: Path) -> object:
        monkeypatch.setattr(store_write, "read_manifest", real)
        with open_session(store) as session:
            session.check(abox_of([ClassAssertion(CAT, "urn:t#kit")]), commit=True, reasoner="own")
        return real(store)

    monkeypatch.setattr(store_write, "read_manifest", meanwhile)
    with pytest.raises(StoreError, match="snapshot 2 by now"):
        certify_store(path, reasoner="own")


_CHILD = """
import sys
from shiq.api import certify_store
print("ready", flush=True)
sys.stdin.readline()
certify_store(sys.argv[1], [sys.argv[2]], reasoner="own")
"""


@pytest.mark.parametrize("turns", [4, pytest.param(16, marks=pytest.mark.slow)])
def test_a_kill_leaves_the_old_store_or_the_new_one(tmp_path: Path, turns: int) -> None:
    data = [
        a
        for i in range(400)
        for a in (ClassAssertion(CAT, f"urn:t#c{i}"), ClassAssertion(DOG, f"urn:t#d{i}"))
    ]
    store_of(tmp_path / "origin", data)
    (tmp_path / "new.ttl").write_text(
        "@prefix : <urn:t#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n:Cat a owl:Class ; owl:disjointWith :Dog .\n"
    )
    index([tmp_path / "new.ttl"], abox_of(data), tmp_path / "anew", reasoner="own")
    with open_store(tmp_path / "anew") as store:
        after = said(store)
    with open_store(tmp_path / "origin") as store:
        before = said(store)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    dice, seen = random.Random(3), set()
    for turn in range(turns):
        path = tmp_path / f"kg{turn}"
        shutil.copytree(tmp_path / "origin", path)
        command = [sys.executable, "-c", _CHILD, str(path), str(tmp_path / "new.ttl")]
        run_and_kill(command, environment, dice.random() * 0.8 if turn else None)
        with open_store(path) as store:
            assert said(store) == (before if store.snapshot == 1 else after)
            assert store.certificate is not None
            assert store.certificate.verdict is Verdict.CONSISTENT
            assert store.certificate.tbox_hash == store.tbox_hash
            seen.add(store.snapshot)
    assert 2 in seen


def test_on_the_command_line(tmp_path: Path) -> None:
    store_of(tmp_path / "kg", WRONG)
    prefixes = "@prefix : <urn:t#> . @prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: "
    (tmp_path / "new.ttl").write_text(
        prefixes
        + "<http://www.w3.org/2000/01/rdf-schema#> .\n:Cat a owl:Class ; owl:disjointWith :Dog . :Dog a owl:Class .\n"
        ":chases a owl:ObjectProperty ; rdfs:domain :Dog .\n"
    )
    assert shiq("certify", "--store", "kg", "--reasoner", "own", cwd=tmp_path).returncode == 0
    found = shiq(
        "certify",
        "--store",
        "kg",
        "--tbox",
        "new.ttl",
        "--reasoner",
        "own",
        "--json",
        "out.json",
        cwd=tmp_path,
    )
    assert found.returncode == 1
    assert json.loads((tmp_path / "out.json").read_text())["conflicts"]
    assert shiq("certify", "--store", "nowhere", cwd=tmp_path).returncode == 4
    for wrong in (("--store", "kg", "new.ttl"), (), ("--tbox", "new.ttl", "new.ttl")):
        assert shiq("certify", *wrong, cwd=tmp_path).returncode == 2
    write_store(tmp_path / "bare", OLD, abox_of(DATA))
    (tmp_path / "i.nt").write_text("<urn:t#rex> <urn:t#chases> <urn:t#rex> .\n")
    unknown = shiq("check", "--store", "bare", "--insert", "i.nt", cwd=tmp_path)
    assert (unknown.returncode, "shiq certify --store" in unknown.stdout) == (3, True)


def test_what_is_asked_after_the_model_has_the_time_that_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun = now = time.monotonic()

    class Prepared:
        def certify(self, decide: object, is_over: object) -> None:
            nonlocal now
            now += 7.0

    for module in (deadline, options):
        monkeypatch.setattr(
            module, "time", SimpleNamespace(monotonic=lambda: now, perf_counter=lambda: now)
        )
    monkeypatch.setattr("shiq.jobs.store.upkeep.prepare", lambda tbox, abox, width: Prepared())
    left = lambda question: deciding.deadline_of(question.options, question.clock.start)[1]()  # noqa: E731
    monkeypatch.setattr(certifying, "_certify_as_read", left)
    abox = abox_of([ClassAssertion(Class("urn:A"), "urn:a")])
    for timeout, rest in ((10.0, 3.0), (5.0, 0.01), (None, None)):
        now = begun
        with closing(make_decider(Options(reasoner="own"))) as decider:
            question = certifying.BaseQuestion(
                Reading(), abox, (), {}, Options(timeout=timeout), decider, Clock(start=begun)
            )
            asked = certifying._prepare_as_read(question)
        assert asked[1] == (rest if rest is None else pytest.approx(rest))
