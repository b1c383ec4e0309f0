"""Random knowledge bases whose batches contradict an element by itself, beside bounds that may
make it one with others.

What unit propagation refutes at one element is planted in a random knowledge base: part of it in
the base, one assertion in the batch. The element is then put where counting looks: among more
neighbours than a bound allows, and at inserted role assertions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from shiq.model import (
    THING,
    Assertion,
    AsymmetricObjectProperty,
    Axiom,
    Class,
    ClassAssertion,
    DataProperty,
    DataPropertyAssertion,
    DifferentIndividuals,
    DisjointClasses,
    DisjointObjectProperties,
    FunctionalDataProperty,
    FunctionalObjectProperty,
    Individual,
    NegativeObjectPropertyAssertion,
    ObjectComplementOf,
    ObjectMaxCardinality,
    ObjectProperty,
    ObjectPropertyAssertion,
    ObjectPropertyRange,
    ObjectSomeValuesFrom,
    SameIndividual,
    SubClassOf,
    TBox,
)
from shiq.model.abox import individuals_of
from tests.tools.random_ontologies.dice import Dice
from tests.tools.random_ontologies.gadgets import GADGETS, signature_of
from tests.tools.random_ontologies.kb import RandomKB, flavour_of, random_kb_of, with_features
from tests.tools.random_ontologies.tbox import FLAVOURS, PREFIX, is_legal
from tests.tools.random_ontologies.values import integer

#: Names of what is planted.
_HIT, _MISSED, _NEEDED, _NEW = (
    Class(f"{PREFIX}{name}") for name in ("Hit", "Missed", "Needed", "New")
)
_KEY, _SENT, _NEAR, _SEEN, _OTHER, _BOUNDED = (
    ObjectProperty(f"{PREFIX}{name}")
    for name in ("key", "sent", "near", "seen", "other", "bounded")
)
_VALUE = DataProperty(f"{PREFIX}value")
#: How many insertions a batch has at most, so that all its parts can be asked about.
MOST = 6


@dataclass
class _Planting:
    """What is planted: axioms, and assertions of the base and the batch."""

    axioms: list[Axiom] = field(default_factory=list)
    base: list[Assertion] = field(default_factory=list)
    batch: list[Assertion] = field(default_factory=list)


def random_clash_kb(seed: int) -> RandomKB:
    """The knowledge base of that seed: one or two individuals of it contradict by themselves
    after the batch.
    """
    dice = Dice(f"clashes {seed}")
    flavour = flavour_of(dice.between(0, 1000))
    if dice.chance(0.5):
        flavour = replace(FLAVOURS[1], name="clashes", gadgets=GADGETS)
    kb = random_kb_of(dice, flavour)
    individuals = sorted({i for a in (*kb.abox, *kb.insertions) for i in individuals_of(a)})
    made = _Planting()
    for _ in range(dice.pick((1, 1, 1, 2))):
        _plant(dice, made, dice.pick(individuals), individuals)
    for _ in range(dice.pick((0, 1, 1, 2))):
        _crowd(dice, made, kb, individuals)
    if dice.chance(0.6):
        _share(dice, made, kb, individuals)
    axioms = list(kb.tbox.axioms)
    for axiom in made.axioms:
        if is_legal([*axioms, axiom]):
            axioms.append(axiom)
    base = [*kb.abox, *made.base]
    batch = [*made.batch, *dice.shuffled(kb.insertions)][:MOST]
    tbox = TBox(
        tuple(dict.fromkeys(axioms)), kb.tbox.signature | signature_of(axioms, [*base, *batch])
    )
    given = dict.fromkeys(batch)
    return with_features(replace(kb, tbox=tbox, abox=_less(base, given), insertions=tuple(given)))


def _less(assertions: Iterable[Assertion], gone: Iterable[Assertion]) -> tuple[Assertion, ...]:
    return tuple(a for a in dict.fromkeys(assertions) if a not in {*gone})


def _plant(dice: Dice, made: _Planting, one: Individual, individuals: list[Individual]) -> None:
    """Makes an individual contradictory by an insertion: by its classes, by a range, or by an
    equality.
    """
    kind = dice.between(0, 4)
    if kind <= 1:
        made.axioms.append(DisjointClasses((_HIT, _MISSED)))
        made.base.append(ClassAssertion(_HIT, one))
        made.batch.append(ClassAssertion(_MISSED, one))
    elif kind == 2:
        made.axioms += [DisjointClasses((_HIT, _MISSED)), ObjectPropertyRange(_SENT, _MISSED)]
        made.base.append(ClassAssertion(_HIT, one))
        made.batch.append(ObjectPropertyAssertion(_SENT, dice.pick(individuals), one))
    elif kind == 3:
        other, centre = dice.pick(individuals), dice.pick(individuals)
        made.axioms.append(FunctionalObjectProperty(_KEY))
        made.base += [ObjectPropertyAssertion(_KEY, centre, one), DifferentIndividuals(one, other)]
        made.batch.append(ObjectPropertyAssertion(_KEY, centre, other))
    else:
        other = dice.pick(individuals)
        made.base.append(DifferentIndividuals(one, other))
        made.batch.append(SameIndividual(one, other))


def _crowd(dice: Dice, made: _Planting, kb: RandomKB, individuals: list[Individual]) -> None:
    """Puts a contradictory individual among others that a bound may make one, with a role
    assertion that an axiom on roles, or a bound, may see.
    """
    roles = [ObjectProperty(iri) for iri in sorted(kb.tbox.signature.object_properties)] or [_SENT]
    hit = sorted({i for a in made.batch for i in individuals_of(a)})
    role, bound = dice.pick(roles), dice.between(1, 2)
    restriction = ObjectMaxCardinality(bound, role, dice.pick([THING, THING, _HIT]))
    made.axioms.append(SubClassOf(THING, restriction))
    centre = dice.pick(individuals)
    near = [dice.pick(hit), *(dice.pick(individuals) for _ in range(bound))]
    made.base += [ObjectPropertyAssertion(role, centre, other) for other in near]
    if dice.chance(0.6):
        seen, other = dice.two([*roles, _SENT]) if len(roles) > 1 else (roles[0], _SENT)
        ends = (dice.pick(near), dice.pick(individuals))
        if dice.chance(0.4):
            ends = (dice.pick(hit), ends[1])
        made.axioms.append(
            dice.pick([DisjointObjectProperties((seen, other)), AsymmetricObjectProperty(seen)])
        )
        if dice.chance(0.3):
            made.base.append(
                NegativeObjectPropertyAssertion(seen, dice.pick(near), dice.pick(individuals))
            )
        (made.batch if dice.chance(0.6) else made.base).append(ObjectPropertyAssertion(seen, *ends))
    if dice.chance(0.5):
        made.base.append(
            ObjectPropertyAssertion(dice.pick(roles), dice.pick(near), dice.pick(individuals))
        )


def _share(dice: Dice, made: _Planting, kb: RandomKB, individuals: list[Individual]) -> None:
    """Makes an individual, outside what is laid out, one of a merge class with contradictory
    ones alone, by a bound that a witness uses up; and something about it that matters only if it
    may be one with another.
    """
    hit = sorted({i for a in made.batch for i in individuals_of(a)})
    own, centre, end = f"{PREFIX}shared", f"{PREFIX}centre", f"{PREFIX}end"
    made.axioms += [
        SubClassOf(THING, ObjectMaxCardinality(2, _NEAR)),
        DisjointClasses((_NEEDED, _HIT)),
    ]
    made.base += [ObjectPropertyAssertion(_NEAR, centre, other) for other in (own, dice.pick(hit))]
    made.base.append(ClassAssertion(ObjectSomeValuesFrom(_NEAR, _NEEDED), centre))
    made.base.append(ClassAssertion(ObjectComplementOf(_NEEDED), own))
    batch = [ClassAssertion(_NEW, end)] if dice.chance(0.5) else []
    kind = dice.between(0, 4)
    if kind == 0:
        made.axioms.append(DisjointObjectProperties((_SEEN, _OTHER)))
        made.base.append(ObjectPropertyAssertion(_SEEN, own, end))
        batch.append(ClassAssertion(_NEW, end))
    elif kind == 1:
        made.axioms.append(AsymmetricObjectProperty(_SEEN))
        batch.append(ObjectPropertyAssertion(_SEEN, own, end))
    elif kind == 2:
        made.base.append(
            NegativeObjectPropertyAssertion(
                _OTHER, dice.pick([*hit, own]), dice.pick([end, *individuals])
            )
        )
        (batch if dice.chance(0.5) else made.base).append(ObjectPropertyAssertion(_OTHER, own, end))
    elif kind == 3:
        made.axioms.append(SubClassOf(THING, ObjectMaxCardinality(2, _BOUNDED)))
        made.base += [
            ObjectPropertyAssertion(_BOUNDED, own, other) for other in (end, f"{end}2", f"{end}3")
        ]
        batch.append(ClassAssertion(_NEW, end))
    else:
        made.axioms.append(FunctionalDataProperty(_VALUE))
        made.base.append(DataPropertyAssertion(_VALUE, dice.pick(hit), integer(1)))
        batch.append(DataPropertyAssertion(_VALUE, own, integer(dice.between(1, 2))))
    made.axioms.append(
        SubClassOf(
            _NEW, dice.pick([Class(iri) for iri in sorted(kb.tbox.signature.classes)] or [THING])
        )
    )
    made.batch[1:1] = batch
