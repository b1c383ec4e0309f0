"""Which constructs an ontology uses, and the description logic that this makes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from shiq import model as owl
from shiq.signature import parts

_ENTITIES = (str, owl.Class, owl.ObjectProperty, owl.DataProperty, owl.Datatype, owl.Literal)
_ROLE_AXIOMS = {
    "ReflexiveObjectProperty",
    "IrreflexiveObjectProperty",
    "AsymmetricObjectProperty",
    "DisjointObjectProperties",
    "DisjointDataProperties",
    "SubObjectPropertyChain",
    "ObjectHasSelf",
}
_HIERARCHY = {"SubObjectPropertyOf", "EquivalentObjectProperties", "SubDataPropertyOf", "EquivalentDataProperties"}
_INVERSE = {"ObjectInverseOf", "InverseObjectProperties", "InverseFunctionalObjectProperty", "SymmetricObjectProperty"}
_FUNCTIONAL = {"FunctionalObjectProperty", "InverseFunctionalObjectProperty", "FunctionalDataProperty"}
_NUMBER = {"DataMinCardinality", "DataMaxCardinality", "DataExactCardinality"}
_DATA = {
    "SubDataPropertyOf",
    "EquivalentDataProperties",
    "DisjointDataProperties",
    "DataPropertyDomain",
    "DataPropertyRange",
    "FunctionalDataProperty",
    "DatatypeDefinition",
    "DataSomeValuesFrom",
    "DataAllValuesFrom",
    "DataHasValue",
    *_NUMBER,
}
# What takes a logic from AL, with its atomic negation and ∃r.⊤, to ALC.
_FULL = {"ObjectUnionOf", "DisjointUnion"}


def constructs(axioms: Iterable[owl.Axiom | owl.Assertion]) -> Counter[str]:
    """How often each constructor of axioms, class expressions, data ranges and roles occurs, by its OWL 2 name."""
    return Counter(type(part).__name__ for axiom in axioms for part in parts(axiom) if not isinstance(part, _ENTITIES))


def expressivity(axioms: Iterable[owl.Axiom | owl.Assertion]) -> str:
    """The usual name of the least description logic that has these constructs, such as "SHIF(D)".

    S is ALC with transitive roles; H role hierarchies, or R for SROIQ's role axioms; O nominals; I inverses; F functional
    roles, N number restrictions or Q qualified ones, whichever is the most; (D) data. Without full negation, union or ∃r.C,
    ALC is AL.
    """
    used: set[str] = set()
    transitive = full = qualified = number = False
    for axiom in axioms:
        for part in parts(axiom):
            used.add(type(part).__name__)
            match part:
                case owl.TransitiveObjectProperty():
                    transitive = True
                case owl.SubObjectPropertyChain(chain, sup) if set(chain) == {sup}:
                    transitive = True
                case owl.ObjectComplementOf(operand):
                    full |= not isinstance(operand, owl.Class)
                case owl.DisjointClasses(members):
                    full |= not all(isinstance(member, owl.Class) for member in members)
                case owl.ObjectSomeValuesFrom(_, filler):
                    full |= filler != owl.THING
                case (
                    owl.ObjectMinCardinality(_, _, filler)
                    | owl.ObjectMaxCardinality(_, _, filler)
                    | owl.ObjectExactCardinality(_, _, filler)
                ):
                    qualified |= filler != owl.THING
                    number = True
    full |= bool(used & _FULL) or qualified
    name = "S" if transitive else "ALC" if full else "AL"
    if used & _ROLE_AXIOMS:
        name += "R"
    elif used & _HIERARCHY:
        name += "H"
    if used & {"ObjectOneOf", "ObjectHasValue"}:
        name += "O"
    if used & _INVERSE:
        name += "I"
    if qualified:
        name += "Q"
    elif number or used & _NUMBER:
        name += "N"
    elif used & _FUNCTIONAL:
        name += "F"
    return name + "(D)" if used & _DATA else name
