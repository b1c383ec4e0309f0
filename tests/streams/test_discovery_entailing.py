"""What snapshots entail, as by denying each class and role of each individual by itself."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from pathlib import Path

import pytest

from shiq import model as owl
from shiq.abox_ops.entailment import Premises
from shiq.abox_ops.entailment.horn_entailer import HornEntailer
from shiq.answers.verdict import Verdict
from shiq.functional.writer import axiom_text, ontology_text
from shiq.streams.discovery import RuleMiner
from shiq.streams.discovery.atomsets import Atom, individual_to_term
from shiq.streams.discovery.ontology import open_ontology
from shiq.streams.discovery.snapshots import MinerKnowledge, UndecidedEntailmentError
from tests.discovery_cases import random_case, said, tbox
from tests.spec.entailment import denied_entailment


def knowledge_of(seed: int) -> tuple[MinerKnowledge, dict[int, list[owl.Assertion]]]:
    found, static, stream = random_case(seed)
    classes = [owl.Class(iri) for iri in sorted(found.signature.classes)]
    classes += [owl.ObjectSomeValuesFrom(owl.ObjectProperty("urn:s"), owl.Class("urn:B"))]  # type: ignore[list-item]
    return MinerKnowledge(
        found, tuple(static), classes, sorted(found.signature.object_properties)
    ), stream


def denied(knowledge: MinerKnowledge, assertions: Iterable[owl.Assertion]) -> set[Atom] | None:
    """What T entails of ``assertions``; None if they contradict it."""
    premises = Premises.build(knowledge.tbox.axioms)
    found = denied_entailment(premises, assertions, list(knowledge.classes), list(knowledge.roles))
    assert found.verdict is not Verdict.UNDETERMINED
    texts = {
        c.iri if isinstance(c, owl.Class) else axiom_text(c): axiom_text(c)
        for c in knowledge.classes
    }
    types = {
        (texts[name], individual_to_term(i)) for i, names in found.types.items() for name in names
    }
    pairs = {
        (f"<{role}>", individual_to_term(a), individual_to_term(b)) for role, a, b in found.pairs
    }
    return None if found.verdict is Verdict.INCONSISTENT else types | pairs


def check(seed: int) -> int:
    knowledge, stream = knowledge_of(seed)
    base = knowledge.static_entailments
    assert base == denied(knowledge, knowledge.static), seed
    several = [*stream.values(), [a for told in stream.values() for a in told]]
    for assertions in several if base is not None else ():
        whole, found = (
            denied(knowledge, (*knowledge.static, *assertions)),
            knowledge.entailed_atoms(assertions),
        )
        assert (None if whole is None else whole - (base or frozenset())) == found, seed
        if whole is not None:
            atoms = tuple(sorted(found or ()))[:3]
            assert knowledge.tbox_closure(atoms) == denied(
                knowledge, knowledge.to_assertions(atoms)
            ), seed
    return len(several)


def test_snapshots_entail_what_cannot_be_denied() -> None:
    assert sum(map(check, range(2))) > 10


@pytest.mark.slow
def test_many_snapshots_entail_what_cannot_be_denied() -> None:
    assert sum(map(check, range(1000, 1100))) > 300


@pytest.mark.parametrize(
    ("start", "count"),
    [
        (0, 12),
        *(pytest.param(*x, marks=pytest.mark.slow) for x in ((12, 48), (1000, 1500))),
    ],
)
def test_labels_say_what_modules_say(
    start: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = 0
    for seed in range(start, start + count):
        found = []
        for way in (HornEntailer.build, lambda premises, asked: None):
            with monkeypatch.context() as patch:
                patch.setattr(HornEntailer, "build", way)
                knowledge, stream = knowledge_of(seed)
                found.append(
                    [
                        knowledge.static_entailments,
                        *(
                            knowledge.entailed_atoms(a)
                            for a in stream.values()
                            if knowledge.static_entailments is not None
                        ),
                    ]
                )
        assert found[0] == found[1], seed
        compared += len(found[0])
    assert compared > 5 * count


def test_what_a_snapshot_brings_travels_along_static_roles() -> None:
    chain = tbox(
        "Prefix(:=<urn:>) Ontology(SubClassOf(ObjectSomeValuesFrom(:r :C) :C) SubClassOf(:C ObjectAllValuesFrom(:s :D)))"
    )
    static = said("r(a,b) r(b,c) r(c,d) s(a,e) s(e,f)")
    knowledge = MinerKnowledge(
        chain, tuple(static), [owl.Class("urn:C"), owl.Class("urn:D")], ["urn:r", "urn:s"]
    )
    expected = {(f"<urn:{name}>", f"<urn:{x}>") for name, x in ("Ca", "Cb", "Cc", "Cd", "De")}
    assert (
        knowledge.static_entailments is not None
        and knowledge.entailed_atoms(said("C(d)")) == expected
    )
    assert denied(knowledge, (*static, *said("C(d)"))) == expected | knowledge.static_entailments


def test_what_is_not_horn_is_asked() -> None:
    city = tbox(
        "Prefix(:=<urn:>) Ontology(SubClassOf(:A ObjectUnionOf(:B :C)) SubClassOf(:B :D) SubClassOf(:C :D))"
    )
    knowledge = MinerKnowledge(city, (), [owl.Class(f"urn:{name}") for name in "ABCD"], [])
    assert knowledge.entailed_atoms(said("A(a)")) == {
        ("<urn:A>", "<urn:a>"),
        ("<urn:D>", "<urn:a>"),
    }


#: Chains, and nominals, which reach what SHIQ(D) cannot say.
BEYOND = (
    "SubObjectPropertyOf(ObjectPropertyChain(:r :s) :q)",
    "SubClassOf(ObjectHasValue(:s :a) :E)",
    "SubClassOf(:F ObjectHasValue(:r :b))",
    "SubClassOf(ObjectIntersectionOf(:A :E) ObjectOneOf(:a :b))",
)


def beyond(
    seed: int, number: int, folder: Path
) -> tuple[MinerKnowledge, dict[int, list[owl.Assertion]]]:
    """A random case with the axiom of `BEYOND` of this number in T."""
    found, static, stream = random_case(seed)
    text = ontology_text(found.axioms, static).rstrip().removesuffix(")")
    declared = " ".join(f"Declaration(Class(:{c}))" for c in "ABCDEF") + "".join(
        f" Declaration(ObjectProperty(:{r}))" for r in "rsq"
    )
    file = folder / "t.ofn"
    file.write_text(f"Prefix(:=<urn:>) {text} {declared} {BEYOND[number]})", encoding="utf-8")
    ontology = open_ontology(file)
    assert not ontology.leftovers
    return ontology.knowledge(), stream


@pytest.mark.jvm
@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(BEYOND)))
def test_snapshots_beyond_shiq_entail_what_cannot_be_denied(number: int, tmp_path: Path) -> None:
    cloudpickle = pytest.importorskip("pyspark.cloudpickle")
    compared = 0
    for seed in range(12):
        knowledge, stream = beyond(seed, number, tmp_path)
        try:
            base = knowledge.static_entailments
        except UndecidedEntailmentError as error:
            assert "not regular" in error.reason  # with what the random part says of the roles
            continue
        assert base == denied(knowledge, knowledge.static), seed
        # Tasks get it so, with what it knows, and start reasoners of their own.
        knowledge = pickle.loads(cloudpickle.dumps(knowledge))
        for assertions in [*stream.values()][:3] if base is not None else ():
            whole = denied(knowledge, (*knowledge.static, *assertions))
            found = knowledge.entailed(assertions)
            assert (None if whole is None else whole - (base or frozenset())) == found, seed
            compared += 1
    assert compared > 20


def test_chains_and_nominals_belong_to_the_ontology(tmp_path: Path) -> None:
    """A chain is read as clauses; what T alone names is an individual; `allow` leaves both out."""
    declared = (
        "Declaration(ObjectProperty(:r)) Declaration(ObjectProperty(:s)) Declaration(Class(:C))"
    )
    chain = "SubObjectPropertyOf(ObjectPropertyChain(:r :s) :q) SubClassOf(ObjectSomeValuesFrom(:q :C) :D)"
    file = tmp_path / "t.ofn"
    file.write_text(f"Prefix(:=<urn:>) Ontology({declared} {chain})", encoding="utf-8")
    ontology = open_ontology(file)
    expected = {("<urn:r>", "<urn:a>", "<urn:b>"), ("<urn:s>", "<urn:b>", "<urn:c>")}
    expected |= {("<urn:C>", "<urn:c>"), ("<urn:D>", "<urn:a>"), ("<urn:q>", "<urn:a>", "<urn:c>")}
    assert ontology.knowledge().entailed_atoms(said("r(a,b) s(b,c) C(c)")) == expected
    miner = RuleMiner(file, window=1)
    miner.save(tmp_path / "saved")
    assert RuleMiner.load(tmp_path / "saved").ontology.tbox.axioms == ontology.tbox.axioms
    left_out = open_ontology(file, allow=["outside-shiq"])
    assert [x.kind for x in left_out.leftovers] == ["outside-shiq"]
    assert ("<urn:D>", "<urn:a>") not in (
        left_out.knowledge().entailed_atoms(said("r(a,b) s(b,c) C(c)")) or ()
    )
    file.write_text(
        f"Prefix(:=<urn:>) Ontology({declared} SubClassOf(:C ObjectHasValue(:r :o)))",
        encoding="utf-8",
    )
    assert owl.ClassAssertion(owl.THING, "urn:o") in open_ontology(file).static
