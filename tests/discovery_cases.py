"""The worked examples of rules learnt from streams, random streams, and the obvious count."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

from shiq import model as owl
from shiq.functional import axiom_text, parse_functional
from shiq.model.ntriples import assertion_lines
from shiq.streams.discovery.atomsets import (
    ROOT_VARIABLE,
    Atom,
    AtomIndex,
    BodyTree,
    add_branch,
    add_class,
    find_bindings,
    tree_to_atoms,
    variable_count,
)
from shiq.streams.discovery.counting import MiningLimits

CITY = """Prefix(:=<urn:>) Ontology(
Declaration(ObjectProperty(:adj)) Declaration(ObjectProperty(:occur)) Declaration(ObjectProperty(:disruption))
Declaration(ObjectProperty(:impact)) Declaration(Class(:High)) Declaration(Class(:Serious))
SubClassOf(:CongestedBus :Bus) SubClassOf(ObjectSomeValuesFrom(:with :CongestedBus) :BusyRoad) SubClassOf(:Light :Flow)
SubClassOf(:Stop :Flow) SubClassOf(:Abnormal :Flow) SubClassOf(ObjectSomeValuesFrom(:travel :Stop) :BlockedRoad)
SubClassOf(ObjectSomeValuesFrom(:travel :Abnormal) :SlowRoad) SubClassOf(:SocialEvent :Event))"""
JAM = "Prefix(:=<urn:>) Ontology(SubClassOf(:Jam :Slow) Declaration(Class(:Event)) Declaration(ObjectProperty(:adj)))"


def said(text: str) -> list[owl.Assertion]:
    """``Bus(b1) with(r2,b2)`` as assertions."""
    found: list[owl.Assertion] = []
    for part in text.split():
        name, _, terms = part.rstrip(")").partition("(")
        first, _, second = terms.partition(",")
        if second:
            found.append(
                owl.ObjectPropertyAssertion(
                    owl.ObjectProperty(f"urn:{name}"), f"urn:{first}", f"urn:{second}"
                )
            )
        else:
            found.append(owl.ClassAssertion(owl.Class(f"urn:{name}"), f"urn:{first}"))
    return found


def _event(e: str, road: str) -> str:
    return f"SocialEvent({e}) disruption({e},d_{e}) High(d_{e}) occur({road},{e}) "


ADJ = said("adj(r0,r1) adj(r0,r2) adj(r2,r1)")
_SIX = "with(r2,b2) CongestedBus(b2) travel(r2,t2) Light(t2) "
QR = {
    5: said("travel(r1,t1) Abnormal(t1) Bus(b1)"),
    6: said(_SIX),
    7: said(f"{_SIX} travel(r2,t3) Stop(t3)"),
}
P = {
    5: said(_event("e1", "r1")),
    6: said(_event("e2", "r1")),
    7: said(f"{_event('e2', 'r1')} {_event('e3', 'r2')} impact(e3,i3) Serious(i3)"),
}
PQR = {i: QR[i] + P[i] for i in QR}


def some(role: str, name: str) -> owl.ObjectSomeValuesFrom:
    return owl.ObjectSomeValuesFrom(owl.ObjectProperty(f"urn:{role}"), owl.Class(f"urn:{name}"))


V_QR: list[owl.ClassExpression] = [
    *(
        owl.Class(f"urn:{n}")
        for n in [
            "CongestedBus",
            "Bus",
            "BusyRoad",
            "Light",
            "Flow",
            "Stop",
            "BlockedRoad",
            "Abnormal",
            "SlowRoad",
        ]
    ),
    *(
        some(*both.split())
        for both in (
            "with CongestedBus",
            "with Bus",
            "travel Light",
            "travel Stop",
            "travel Abnormal",
        )
    ),
]
BIG = owl.ObjectIntersectionOf((owl.Class("urn:Event"), some("disruption", "High")))
V_PQR: list[owl.ClassExpression] = [
    *V_QR,
    owl.Class("urn:Event"),
    some("disruption", "High"),
    BIG,
    some("impact", "Serious"),
]
RULE = {
    "body": [[axiom_text(BIG), "?x1"], ["<urn:occur>", "?x2", "?x1"], ["<urn:adj>", "?x3", "?x2"]],
    "head": [[axiom_text(some("with", "CongestedBus")), "?x3"]],
}
STREETS = said("adj(a,b) adj(b,c)")
JAMS = {
    0: said("Event(b) Jam(a)"),
    1: said("Event(b) Slow(a) Jam(c)"),
    2: said("Event(c) Jam(a)"),
    3: said("Event(c) Jam(b)"),
}


def tbox(text: str) -> owl.TBox:
    return parse_functional(text, "t", "t").tbox


def lines(assertions: Iterable[owl.Assertion]) -> list[str]:
    return [line.strip() for a in assertions for line in assertion_lines(a)]


def write_stream(
    file: Path, stream: dict[int, list[owl.Assertion]], order: Sequence[int] | None = None
) -> str:
    """A stream as JSON lines."""
    rows = (
        json.dumps({"t": t, "triples": lines(stream[t])})
        for t in (sorted(stream) if order is None else order)
    )
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return str(file)


def told(window: dict[str, Any]) -> dict[str, Any]:
    """A window of the JSON without what depends on the clock."""
    return {name: value for name, value in window.items() if name != "seconds"}


# --- random streams -------------------------------------------------------------------------------

AXIOMS = (
    "SubClassOf(:A :B)",
    "SubClassOf(ObjectSomeValuesFrom(:r :A) :C)",
    "SubClassOf(:C ObjectSomeValuesFrom(:s :B))",
    "SubClassOf(ObjectIntersectionOf(:B ObjectSomeValuesFrom(:s :B)) :D)",
    "SubObjectPropertyOf(:r :s)",
    "EquivalentClasses(:D :E)",
    "TransitiveObjectProperty(:s)",
    "InverseObjectProperties(:r :q)",
    "DisjointClasses(:A :F)",
    "ObjectPropertyRange(:r :E)",
    "SubClassOf(:B ObjectAllValuesFrom(:q :C))",
    "SubClassOf(ObjectSomeValuesFrom(:r :C) :C)",
)
_CLASSES, _ROLES, _PEOPLE = "ABCDEF", "rsq", "abcd"


def random_case(seed: int) -> tuple[owl.TBox, list[owl.Assertion], dict[int, list[owl.Assertion]]]:
    """A TBox, static assertions, and a stream with gaps, empty and inconsistent snapshots."""
    dice = Random(seed)
    axioms = " ".join(dice.sample(AXIOMS, dice.randint(2, 5)))
    declared = " ".join(f"Declaration(Class(:{c}))" for c in _CLASSES) + "".join(
        f" Declaration(ObjectProperty(:{r}))" for r in _ROLES
    )
    found = tbox(f"Prefix(:=<urn:>) Ontology({declared} {axioms})")

    def assertion() -> str:
        if dice.random() < 0.45:
            return f"{dice.choice(_ROLES)}({dice.choice(_PEOPLE)},{dice.choice(_PEOPLE)})"
        return (
            f"{dice.choice(_CLASSES[:5] if dice.random() < 0.93 else 'F')}({dice.choice(_PEOPLE)})"
        )

    # A static assertion must not contradict T.
    static = said(
        " ".join(
            a for a in (assertion() for _ in range(dice.randint(0, 2))) if not a.startswith("F")
        )
    )
    usual = [assertion() for _ in range(4)]
    stream = {}
    for t in range(dice.randint(5, 9)):
        if dice.random() < 0.12:
            continue
        stream[t] = said(
            " ".join(
                # In the order in which they were drawn: that of a set follows the hash seed.
                dict.fromkeys(
                    assertion() if dice.random() < 0.25 else dice.choice(usual)
                    for _ in range(dice.randint(1, 7))
                )
            )
        )
    return found, static, stream or {0: said("A(a)")}


# --- the obvious count ----------------------------------------------------------------------------


def all_bodies(
    classes: Sequence[str], roles: Sequence[str], atoms: int, variables: int
) -> set[BodyTree]:
    """Every tree of the language."""
    found, level = set[BodyTree](), {BodyTree()}
    for _ in range(atoms):
        grown = set()
        for tree in level:
            for place in range(variable_count(tree)):
                for name in classes:
                    larger = add_class(tree, place, name)
                    if len(set(tree_to_atoms(larger))) == len(tree_to_atoms(larger)):
                        grown.add(larger)
                if variable_count(tree) < variables:
                    grown |= {
                        add_branch(tree, place, role, inverse)
                        for role, inverse in product(roles, (False, True))
                    }
        found |= grown
        level = grown
    return found


def binding_pairs(
    atoms: Sequence[Atom], window: Sequence[AtomIndex | None]
) -> set[tuple[int, str]]:
    """The snapshots and roots of all joint bindings, one after the other."""
    return {
        (i, each[ROOT_VARIABLE])
        for i, facts in enumerate(window)
        if facts is not None
        for each in find_bindings(atoms, facts)
    }


def brute_rules(
    window: Sequence[AtomIndex | None],
    classes: Sequence[str],
    roles: Sequence[str],
    limits: MiningLimits,
) -> Iterator[tuple[BodyTree, str, int, int, int, int]]:
    """All rules of a window in all their spellings, those that T entails too."""
    least = limits.min_support_count(len(window))
    for tree in all_bodies(classes, roles, limits.max_atoms, limits.max_variables):
        body = binding_pairs(tree_to_atoms(tree), window)
        if len({i for i, _ in body}) < least:
            continue
        for head in classes:
            both = binding_pairs((*tree_to_atoms(tree), (head, ROOT_VARIABLE)), window)
            n, d = len({i for i, _ in both}), len({i for i, _ in body})
            if n >= least and limits.is_confident(n, d):
                yield tree, head, n, d, len(both), len(body)
