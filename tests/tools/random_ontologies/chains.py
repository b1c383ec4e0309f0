"""Random knowledge bases with property chains, Self and reflexive roles, and small
contradictions that need these to be seen.
"""

from __future__ import annotations

from dataclasses import replace

from shiq.model import (
    Assertion,
    Axiom,
    Class,
    ClassExpression,
    ObjectAllValuesFrom,
    ObjectComplementOf,
    ObjectHasSelf,
    ObjectIntersectionOf,
    ObjectInverseOf,
    ObjectProperty,
    ObjectPropertyAssertion,
    ObjectPropertyExpression,
    ObjectUnionOf,
    ReflexiveObjectProperty,
    SubClassOf,
    SubObjectPropertyChain,
    TBox,
)
from shiq.model.profile import split_axioms
from shiq.model.roles import role_box, role_of
from tests.tools.random_ontologies.dice import Dice
from tests.tools.random_ontologies.gadgets import LOOP_GADGETS, PATH_GADGETS
from tests.tools.random_ontologies.kb import RandomKB, flavour_of, random_kb_of, with_features
from tests.tools.random_ontologies.tbox import FLAVOURS

#: What can be asked for.
KINDS = ("chains", "loops")


def random_chain_kb(seed: int, kinds: tuple[str, ...]) -> RandomKB:
    """The knowledge base of that seed with ``kinds`` of constructs; none of it lies outside."""
    gadgets = (
        *(PATH_GADGETS if "chains" in kinds else ()),
        *(LOOP_GADGETS if "loops" in kinds else ()),
    )
    for attempt in range(100):
        dice = Dice(f"chains {seed} {attempt}")
        flavour = flavour_of(dice.between(0, 1000))
        if seed % 2:
            flavour = replace(
                FLAVOURS[0], name="chains", gadgets=gadgets, assertions={"role": 3.0}, data=0.2
            )
        kb = random_kb_of(dice, flavour)
        axioms = list(kb.tbox.axioms)
        for more in _additions(dice, kb, kinds):
            if _is_inside([*axioms, more]):
                axioms.append(more)
        if _is_inside(axioms):
            made = replace(kb, tbox=TBox(tuple(dict.fromkeys(axioms)), kb.tbox.signature))
            return with_features(replace(made, insertions=_with_loop(dice, made, kinds)))
    raise AssertionError(seed)


def _is_inside(axioms: list[Axiom]) -> bool:
    return not split_axioms(axioms)[1]


def _additions(dice: Dice, kb: RandomKB, kinds: tuple[str, ...]) -> list[Axiom]:
    roles = [ObjectProperty(iri) for iri in sorted(kb.tbox.signature.object_properties)]
    classes = [Class(iri) for iri in sorted(kb.tbox.signature.classes)]
    found: list[Axiom] = []

    def role(among: list[ObjectProperty]) -> ObjectPropertyExpression:
        one = dice.pick(among)
        return ObjectInverseOf(one) if dice.chance(0.25) else one

    def literal() -> ClassExpression:
        one = dice.pick(classes)
        return ObjectComplementOf(one) if dice.chance(0.3) else one

    if "chains" in kinds:
        box = role_box(kb.tbox.axioms)
        for _ in range(dice.pick((1, 1, 2, 2, 3))):
            sup = dice.pick(roles)
            links = tuple(role(roles) for _ in range(dice.pick((2, 2, 2, 3))))
            if dice.chance(0.2):
                links = (sup, *links[1:]) if dice.chance(0.5) else (*links[:-1], sup)
            if not any(role_of(link) == role_of(sup) for link in links[1:-1]):
                found.append(SubObjectPropertyChain(links, role([sup])))
            if dice.chance(0.6) or not box.is_simple(role_of(sup)):
                found.append(SubClassOf(literal(), ObjectAllValuesFrom(role([sup]), literal())))
    if "loops" in kinds:
        for _ in range(dice.pick((1, 1, 2, 3))):
            has_loop = ObjectHasSelf(role(roles))
            kind = dice.between(0, 4)
            if kind == 0:
                found.append(SubClassOf(has_loop, literal()))
            elif kind == 1:
                found.append(
                    SubClassOf(ObjectIntersectionOf((dice.pick(classes), has_loop)), literal())
                )
            elif kind == 2:
                found.append(SubClassOf(dice.pick(classes), ObjectUnionOf((has_loop, literal()))))
            else:
                found.append(SubClassOf(dice.pick(classes), has_loop))
        if dice.chance(0.3):
            found.append(ReflexiveObjectProperty(role(roles)))
    return dice.shuffled(found)


def _with_loop(dice: Dice, kb: RandomKB, kinds: tuple[str, ...]) -> tuple[Assertion, ...]:
    """The insertions, sometimes with a loop among them."""
    if "loops" not in kinds or not dice.chance(0.15):
        return kb.insertions
    individuals = sorted(
        {a.subject for a in (*kb.abox, *kb.insertions) if isinstance(a, ObjectPropertyAssertion)}
    )
    if not individuals:
        return kb.insertions
    one = dice.pick(individuals)
    loop = ObjectPropertyAssertion(
        ObjectProperty(dice.pick(sorted(kb.tbox.signature.object_properties))), one, one
    )
    return tuple(dict.fromkeys((*kb.insertions, loop)))
