"""What snapshots entail: by labels as by a model of the whole, and as asked one by one."""

from __future__ import annotations

import pytest

from abox_ops.entailment import Entailer, Premises
from shiq import model as owl
from shiq.verdict import Verdict
from streams.discovery.entailing import Knowledge
from tests.discovery_cases import random_case, said, tbox


def knowledge_of(seed: int) -> tuple[Knowledge, dict[int, list[owl.Assertion]]]:
    found, static, stream = random_case(seed)
    classes = [owl.Class(iri) for iri in sorted(found.signature.classes)]
    classes += [owl.ObjectSomeValuesFrom(owl.ObjectProperty("urn:s"), owl.Class("urn:B"))]  # type: ignore[list-item]
    return Knowledge(found, tuple(static), classes, sorted(found.signature.object_properties)), stream


def check(seed: int) -> int:
    knowledge, stream = knowledge_of(seed)
    base = knowledge.base
    assert base == knowledge.by_model(knowledge.static), seed
    several = [*stream.values(), [a for told in stream.values() for a in told]]
    for assertions in several if base is not None else ():
        whole, found = knowledge.by_model((*knowledge.static, *assertions)), knowledge.entailed(assertions)
        assert (None if whole is None else whole - (base or frozenset())) == found, seed
        if whole is not None:
            atoms = tuple(sorted(found or ()))[:3]
            assert knowledge.closure(atoms) == knowledge.by_model(knowledge.assertions(atoms)), seed
    return len(several)


@pytest.mark.parametrize("start", range(0, 60, 20))
def test_labels_say_what_a_model_says(start: int) -> None:
    assert sum(map(check, range(start, start + 20))) > 60


@pytest.mark.slow
def test_labels_say_what_many_models_say() -> None:
    assert sum(map(check, range(1000, 3000))) > 6000


@pytest.mark.parametrize("seed", [3, 8, 14])
def test_a_model_says_what_questions_say(seed: int) -> None:
    knowledge, stream = knowledge_of(seed)
    if knowledge.base is not None:
        told = next(iter(stream.values()))
        assert knowledge.by_model((*knowledge.static, *told)) == knowledge._asked((*knowledge.static, *told))


@pytest.mark.parametrize("start", [0, 20, 40])
def test_labels_say_what_enrichment_says(start: int) -> None:
    """The Horn way of `abox_ops.entailment`, asked for what a snapshot makes of everybody."""
    compared = 0
    for seed in range(start, start + 20):
        knowledge, stream = knowledge_of(seed)
        base = knowledge.base
        premises = Premises.of(knowledge.tbox.axioms, knowledge.static)
        with Entailer(premises, list(knowledge.classes), list(knowledge.roles), static=True) as entailer:
            for assertions in stream.values() if base is not None else ():
                found = entailer.entailed(assertions)
                if found.verdict is Verdict.INCONSISTENT:
                    assert knowledge.entailed(assertions) is None, seed
                    continue
                types = [(c, i) for each in (found.types, found.static_types) for i, names in each.items() for c in names]
                told = {(c if "(" in c else f"<{c}>", f"<{i}>") for c, i in types}
                told |= {(f"<{role}>", f"<{a}>", f"<{b}>") for role, a, b in (*found.pairs, *found.static_pairs)}
                assert told - (base or frozenset()) == knowledge.entailed(assertions), seed
                compared += 1
    assert compared > 40


def test_what_a_snapshot_brings_travels_along_static_roles() -> None:
    chain = tbox(
        "Prefix(:=<urn:>) Ontology(SubClassOf(ObjectSomeValuesFrom(:r :C) :C) SubClassOf(:C ObjectAllValuesFrom(:s :D)))"
    )
    static = said("r(a,b) r(b,c) r(c,d) s(a,e) s(e,f)")
    knowledge = Knowledge(chain, tuple(static), [owl.Class("urn:C"), owl.Class("urn:D")], ["urn:r", "urn:s"])
    expected = {(f"<urn:{name}>", f"<urn:{x}>") for name, x in ("Ca", "Cb", "Cc", "Cd", "De")}
    assert knowledge.base is not None and knowledge.entailed(said("C(d)")) == expected
    assert knowledge.by_model((*static, *said("C(d)"))) == expected | knowledge.base


def test_what_is_not_horn_is_asked() -> None:
    city = tbox("Prefix(:=<urn:>) Ontology(SubClassOf(:A ObjectUnionOf(:B :C)) SubClassOf(:B :D) SubClassOf(:C :D))")
    knowledge = Knowledge(city, (), [owl.Class(f"urn:{name}") for name in "ABCD"], [])
    assert knowledge.entailed(said("A(a)")) == {("<urn:A>", "<urn:a>"), ("<urn:D>", "<urn:a>")}
