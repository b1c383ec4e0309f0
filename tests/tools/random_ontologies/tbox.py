"""Random TBoxes inside SHIQ(D), by flavour: what a flavour stresses, it has often enough to come
near contradiction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shiq.model import (
    AsymmetricObjectProperty,
    Axiom,
    Class,
    ClassExpression,
    DataProperty,
    DataPropertyDomain,
    DataPropertyRange,
    DisjointClasses,
    DisjointDataProperties,
    DisjointObjectProperties,
    DisjointUnion,
    EquivalentClasses,
    EquivalentObjectProperties,
    FunctionalDataProperty,
    FunctionalObjectProperty,
    InverseFunctionalObjectProperty,
    InverseObjectProperties,
    IrreflexiveObjectProperty,
    ObjectExactCardinality,
    ObjectIntersectionOf,
    ObjectInverseOf,
    ObjectMaxCardinality,
    ObjectMinCardinality,
    ObjectProperty,
    ObjectPropertyDomain,
    ObjectPropertyExpression,
    ObjectPropertyRange,
    ObjectSomeValuesFrom,
    Signature,
    SubClassOf,
    SubDataPropertyOf,
    SubObjectPropertyOf,
    SymmetricObjectProperty,
    TBox,
    TransitiveObjectProperty,
)
from shiq.model.roles import Role, role_box, role_of
from tests.tools.random_ontologies.concepts import Concepts, Vocabulary
from tests.tools.random_ontologies.dice import Dice
from tests.tools.random_ontologies.features import parts
from tests.tools.random_ontologies.gadgets import GADGETS
from tests.tools.random_ontologies.values import data_range

PREFIX = "urn:kb:"

_CONSTRUCTORS = {
    **{
        "name": 2.0,
        "and": 1.0,
        "or": 1.5,
        "not": 0.5,
        "some": 1.5,
        "all": 2.0,
        "min": 0.7,
        "max": 1.0,
        "exact": 0.3,
    },
    **{
        "data-some": 0.3,
        "data-all": 0.3,
        "data-min": 0.3,
        "data-max": 0.3,
        "data-exact": 0.1,
        "data-value": 2.2,
    },
}
_CLASS_AXIOMS = {
    "sub": 5.0,
    "general": 2.0,
    "disjoint": 2.5,
    "equivalent": 0.8,
    "domain": 0.8,
    "range": 0.8,
    "union": 0.4,
}
#: How likely a TBox is to have (at least) one axiom of the kind.
_ROLE_AXIOMS = {
    **{
        "hierarchy": 0.4,
        "inverse": 0.2,
        "equivalent": 0.05,
        "symmetric": 0.15,
        "transitive": 0.2,
        "functional": 0.25,
    },
    **{"inverse-functional": 0.2, "disjoint": 0.15, "asymmetric": 0.15, "irreflexive": 0.15},
}
_DATA_AXIOMS = {"range": 0.4, "functional": 0.5, "sub": 0.4, "disjoint": 0.6, "domain": 0.15}


@dataclass(frozen=True)
class Flavour:
    """Weights of constructors, class axioms and kinds of assertions (added to the defaults),
    chances of role and data axioms.
    """

    name: str
    constructors: Mapping[str, float] = field(default_factory=dict)
    class_axioms: Mapping[str, float] = field(default_factory=dict)
    role_axioms: Mapping[str, float] = field(default_factory=dict)
    data_axioms: Mapping[str, float] = field(default_factory=dict)
    assertions: Mapping[str, float] = field(default_factory=dict)
    data: float = 0.4  # the chance that there are data properties at all
    shape: str = "any"  # of the role assertions: any, star, path
    gadgets: tuple[str, ...] = ()  # one of them is inside


FLAVOURS = (
    Flavour("mixed"),
    Flavour(
        "counting",
        constructors={"max": 4.0, "min": 2.5, "exact": 1.0},
        role_axioms={
            "functional": 0.4,
            "inverse-functional": 0.3,
            "transitive": 0.05,
            "hierarchy": 0.5,
        },
        assertions={"different": 3.0, "role": 4.0},
        data=0.2,
        shape="star",
    ),
    Flavour(
        "transitivity",
        constructors={"all": 5.0, "some": 2.0},
        class_axioms={"sub": 3.0, "disjoint": 1.0},
        role_axioms={
            "transitive": 0.95,
            "hierarchy": 0.7,
            "inverse": 0.3,
            "symmetric": 0.25,
            "functional": 0.2,
        },
        assertions={"role": 4.0, "negative-role": 1.0},
        data=0.2,
        shape="path",
    ),
    Flavour(
        "inverses",
        constructors={"all": 2.0, "some": 1.0, "max": 1.5},
        role_axioms={
            "inverse": 0.6,
            "symmetric": 0.5,
            "hierarchy": 0.6,
            "functional": 0.5,
            "inverse-functional": 0.5,
        },
        assertions={"role": 3.0},
        data=0.2,
    ),
    Flavour(
        "identity",
        constructors={"max": 1.0},
        class_axioms={"disjoint": 3.0},
        role_axioms={
            "functional": 0.8,
            "inverse-functional": 0.6,
            "hierarchy": 0.4,
            "transitive": 0.1,
        },
        assertions={"same": 3.0, "different": 2.0, "role": 4.0},
        data=0.4,
        shape="star",
    ),
    Flavour(
        "roles",
        role_axioms={
            "disjoint": 0.6,
            "asymmetric": 0.5,
            "irreflexive": 0.45,
            "hierarchy": 0.6,
            "symmetric": 0.3,
            "functional": 0.4,
        },
        assertions={"negative-role": 2.5, "role": 5.0, "same": 1.0},
        data=0.2,
    ),
    Flavour(
        "data",
        constructors={
            **{
                "data-some": 2.5,
                "data-all": 2.0,
                "data-min": 2.0,
                "data-max": 2.0,
                "data-exact": 0.8,
                "data-value": 4.0,
            }
        },
        role_axioms={"transitive": 0.1, "disjoint": 0.1, "asymmetric": 0.05, "irreflexive": 0.05},
        data_axioms={"range": 0.6, "functional": 0.6, "sub": 0.5, "disjoint": 0.8},
        assertions={"data": 6.0, "negative-data": 2.0, "same": 1.0},
        data=1.0,
    ),
    Flavour(
        "data and identity",
        constructors={
            "data-some": 1.5,
            "data-min": 1.5,
            "data-max": 1.5,
            "data-value": 3.0,
            "max": 1.5,
        },
        role_axioms={"functional": 0.7, "inverse-functional": 0.5},
        data_axioms={"functional": 0.8, "sub": 0.5, "disjoint": 0.8, "range": 0.5},
        assertions={"data": 5.0, "negative-data": 1.5, "same": 2.0, "different": 1.0, "role": 3.0},
        data=1.0,
        shape="star",
    ),
    *(Flavour(f"gadget {i}", data=0.4, gadgets=GADGETS) for i in range(4)),
)


def random_tbox(dice: Dice, flavour: Flavour, wanted: int, most: int = 12) -> tuple[TBox, Concepts]:
    """A TBox of ``wanted`` axioms, and a source of expressions over its vocabulary. At most
    ``most`` axioms are about roles and data properties, at least two about classes. Numbers,
    functionality, disjointness, asymmetry and irreflexivity are for simple roles only.
    """
    classes = tuple(Class(f"{PREFIX}A{i}") for i in range(dice.pick((3, 3, 4, 4, 5, 5, 6, 7, 8))))
    roles = tuple(ObjectProperty(f"{PREFIX}r{i}") for i in range(dice.pick((2, 2, 3, 3, 4, 5))))
    data = (
        tuple(DataProperty(f"{PREFIX}d{i}") for i in range(dice.pick((1, 2, 2, 3))))
        if dice.chance(flavour.data)
        else ()
    )
    chances = {**_ROLE_AXIOMS, **flavour.role_axioms}
    axioms: list[Axiom] = [
        a for kind in _BOX if dice.chance(chances[kind]) for a in _role_axioms(dice, kind, roles)
    ]
    box = role_box(axioms)
    simple = tuple(r for r in roles if box.is_simple(Role(r.iri)))
    if simple:
        axioms += (
            a
            for kind in _ON_SIMPLE
            if dice.chance(chances[kind])
            for a in _role_axioms(dice, kind, simple)
        )
    if data:
        data_chances = {**_DATA_AXIOMS, **flavour.data_axioms}
        axioms += (
            a
            for kind, chance in data_chances.items()
            if dice.chance(chance)
            for a in _data_axioms(dice, kind, data, classes)
        )
    axioms = dice.shuffled(_sensible(axioms))[:most]
    weights = {
        kind: weight + flavour.constructors.get(kind, 0.0) for kind, weight in _CONSTRUCTORS.items()
    }
    concepts = Concepts(
        dice, Vocabulary(classes, roles, _still_simple(axioms, roles), data), weights
    )
    class_weights = {
        kind: weight + flavour.class_axioms.get(kind, 0.0) for kind, weight in _CLASS_AXIOMS.items()
    }
    axioms = list(dict.fromkeys(axioms))
    wanted = max(wanted, len(axioms) + 2)
    while len(axioms) < wanted:
        axiom = _class_axiom(dice, dice.weighted(class_weights), concepts)
        axioms += () if axiom in axioms else (axiom,)
    signature = Signature(
        classes=frozenset(c.iri for c in classes),
        object_properties=frozenset(r.iri for r in roles),
        data_properties=frozenset(d.iri for d in data),
    )
    return TBox(tuple(axioms), signature), concepts


def _sensible(axioms: list[Axiom]) -> list[Axiom]:
    """Without disjointness of a property and its own superproperty, which only says that the
    former is empty.
    """
    box = role_box(axioms)

    def is_sensible(axiom: Axiom) -> bool:
        match axiom:
            case DisjointObjectProperties((first, second)):
                r, s = role_of(first), role_of(second)
                return r not in box.superroles(s) and s not in box.superroles(r)
            case DisjointDataProperties((first, second)):
                p, q = first.iri, second.iri
                return p not in box.data_superproperties(q) and q not in box.data_superproperties(p)
        return True

    return [axiom for axiom in axioms if is_sensible(axiom)]


def _still_simple(
    axioms: list[Axiom], roles: tuple[ObjectProperty, ...]
) -> tuple[ObjectProperty, ...]:
    """The roles that are simple after some axioms were left out: at least those that were before."""
    box = role_box(axioms)
    return tuple(r for r in roles if box.is_simple(Role(r.iri)))


_BOX = ("hierarchy", "inverse", "equivalent", "symmetric", "transitive")
_ON_SIMPLE = ("functional", "inverse-functional", "disjoint", "asymmetric", "irreflexive")


def _turned(dice: Dice, role: ObjectProperty) -> ObjectPropertyExpression:
    return ObjectInverseOf(role) if dice.chance(0.25) else role


def _role_axioms(dice: Dice, kind: str, roles: tuple[ObjectProperty, ...]) -> list[Axiom]:
    """One axiom of the kind, or two; none if there are too few roles."""
    if kind in ("hierarchy", "inverse", "equivalent", "disjoint"):
        if len(roles) < 2:
            return []
        first, second = dice.two(roles)
        match kind:
            case "hierarchy":
                pairs = [(first, second), *([dice.two(roles)] if dice.chance(0.4) else [])]
                return [SubObjectPropertyOf(_turned(dice, r), _turned(dice, s)) for r, s in pairs]
            case "inverse":
                return [InverseObjectProperties(first, second)]
            case "equivalent":
                return [EquivalentObjectProperties((first, _turned(dice, second)))]
        return [DisjointObjectProperties((first, _turned(dice, second)))]
    role = dice.early(roles)
    match kind:
        case "symmetric":
            return [SymmetricObjectProperty(role)]
        case "transitive":
            return [TransitiveObjectProperty(role)]
        case "functional":
            return [FunctionalObjectProperty(_turned(dice, role))]
        case "inverse-functional":
            return [InverseFunctionalObjectProperty(_turned(dice, role))]
        case "asymmetric":
            return [AsymmetricObjectProperty(_turned(dice, role))]
        case "irreflexive":
            return [IrreflexiveObjectProperty(_turned(dice, role))]
    raise ValueError(f"no role axiom {kind}")


def _data_axioms(
    dice: Dice, kind: str, data: tuple[DataProperty, ...], classes: tuple[Class, ...]
) -> list[Axiom]:
    property = dice.pick(data)
    match kind:
        case "range":
            return [DataPropertyRange(property, data_range(dice))]
        case "functional":
            return [FunctionalDataProperty(property)]
        case "domain":
            return [DataPropertyDomain(property, dice.pick(classes))]
    if len(data) < 2:
        return []
    first, second = dice.two(data)
    return [
        SubDataPropertyOf(first, second)
        if kind == "sub"
        else DisjointDataProperties((first, second))
    ]


def _class_axiom(dice: Dice, kind: str, concepts: Concepts) -> Axiom:
    name = concepts.name()
    if dice.chance(0.9):
        concepts = concepts.without(name)  # about itself a name says little but that it is empty
    depth = 1 if dice.chance(0.7) else 2
    match kind:
        case "sub":
            return SubClassOf(name, concepts.expression(depth))
        case "general":
            if dice.chance(0.3):
                return SubClassOf(concepts.expression(depth), name)
            some = ObjectSomeValuesFrom(concepts.role(), concepts.filler(1, top=0.0))
            part: ClassExpression = some if dice.chance(0.5) else concepts.name()
            return SubClassOf(
                part if dice.chance(0.3) else ObjectIntersectionOf((concepts.name(), part)), name
            )
        case "disjoint":
            return DisjointClasses(
                (name, dice.pick([c for c in concepts.vocabulary.classes if c != name]))
            )
        case "equivalent":
            return EquivalentClasses((name, concepts.expression(1)))
        case "domain":
            return ObjectPropertyDomain(concepts.role(), concepts.filler(1))
        case "range":
            return ObjectPropertyRange(concepts.role(), concepts.filler(1))
    parts = dice.shuffled([c for c in concepts.vocabulary.classes if c != name])[:2]
    return DisjointUnion(name, tuple(parts))


_COUNTED = (
    ObjectMinCardinality
    | ObjectMaxCardinality
    | ObjectExactCardinality
    | FunctionalObjectProperty
    | InverseFunctionalObjectProperty
    | AsymmetricObjectProperty
    | IrreflexiveObjectProperty
)


def is_legal(axioms: Sequence[Axiom]) -> bool:
    """Whether the roles that have to be simple are."""
    box = role_box(axioms)
    for axiom in axioms:
        for part in parts(axiom):
            roles: tuple[ObjectPropertyExpression, ...] = (
                (part.property,) if isinstance(part, _COUNTED) else ()
            )
            if isinstance(part, DisjointObjectProperties):
                roles = part.properties
            if not all(box.is_simple(role_of(role)) for role in roles):
                return False
    return True
