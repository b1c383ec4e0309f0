"""Pass 1: every axiom about classes and data becomes inclusions over a small set of constructors (THEORY 1.1, step 1).

Dom(S) = C is ∃S.⊤ ⊑ C, Ran(S) = C is ⊤ ⊑ ∀S.C, a functional S is ⊤ ⊑ ≤1 S.⊤; equivalences go both ways, disjointness goes
pairwise; exact cardinalities are both bounds; p.{v} is ≥1 p.{v}, ∀p.D is ≤0 p.(¬D). Axioms about roles alone leave nothing
here: the role box has them. What SHIQ(D) cannot say is refused by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from shiq.errors import UsageError
from shiq.model import (
    NOTHING,
    OWL,
    THING,
    AsymmetricObjectProperty,
    Axiom,
    Class,
    ClassExpression,
    DataAllValuesFrom,
    DataComplementOf,
    DataExactCardinality,
    DataHasValue,
    DataMaxCardinality,
    DataMinCardinality,
    DataOneOf,
    DataProperty,
    DataPropertyDomain,
    DataPropertyRange,
    DataSomeValuesFrom,
    DatatypeDefinition,
    DisjointClasses,
    DisjointDataProperties,
    DisjointObjectProperties,
    DisjointUnion,
    EquivalentClasses,
    EquivalentDataProperties,
    EquivalentObjectProperties,
    FunctionalDataProperty,
    FunctionalObjectProperty,
    InverseFunctionalObjectProperty,
    InverseObjectProperties,
    IrreflexiveObjectProperty,
    ObjectAllValuesFrom,
    ObjectComplementOf,
    ObjectExactCardinality,
    ObjectIntersectionOf,
    ObjectMaxCardinality,
    ObjectMinCardinality,
    ObjectPropertyDomain,
    ObjectPropertyExpression,
    ObjectPropertyRange,
    ObjectSomeValuesFrom,
    ObjectUnionOf,
    SubClassOf,
    SubDataPropertyOf,
    SubObjectPropertyOf,
    SymmetricObjectProperty,
    TransitiveObjectProperty,
)
from shiq.roles import Role, RoleBox, expression_of, role_of
from simplify.fresh import FreshNames
from simplify.inclusion import Context, Inclusion, at_least
from simplify.vocabulary import entities

LABEL = "desugar"
_REMEDY = "Take it out of the TBox first: `shiq.profile` lists what lies outside SHIQ(D)."
_TOP = {OWL + "topObjectProperty", OWL + "topDataProperty"}
_BOTTOM = {OWL + "bottomObjectProperty", OWL + "bottomDataProperty"}
_BUILT_IN_PROPERTIES = _TOP | _BOTTOM

#: Axioms that speak of roles, data properties or datatypes alone.
ROLE_AXIOMS = (
    SubObjectPropertyOf
    | EquivalentObjectProperties
    | InverseObjectProperties
    | SymmetricObjectProperty
    | TransitiveObjectProperty
    | DisjointObjectProperties
    | AsymmetricObjectProperty
    | IrreflexiveObjectProperty
    | SubDataPropertyOf
    | EquivalentDataProperties
    | DisjointDataProperties
)


def desugar(axioms: Sequence[Axiom], context: Context) -> list[Inclusion]:
    """The inclusions that ``axioms`` stand for, in order, each with its axiom's index.

    Only an exact cardinality with a complex filler needs a fresh name (Q ≡ filler), because the filler would double at each
    level of nesting. Raises `UsageError` for a construct outside SHIQ(D).
    """
    rewrite = _Desugar(context)
    inclusions: list[Inclusion] = []
    for index, axiom in enumerate(axioms):
        _refuse_built_in_properties(axiom)
        origins = frozenset((index,))
        for sub, sup in rewrite.axiom(axiom):
            inclusions.append(Inclusion(rewrite.expression(sub), rewrite.expression(sup), origins))
            inclusions += rewrite.take_definitions()
    return inclusions


class _Desugar:
    def __init__(self, context: Context) -> None:
        self._roles = context.roles
        self._names: FreshNames = context.fresh(LABEL)
        self._definitions: list[Inclusion] = []

    def take_definitions(self) -> list[Inclusion]:
        taken, self._definitions = self._definitions, []
        return taken

    def axiom(self, axiom: Axiom) -> Iterator[tuple[ClassExpression, ClassExpression]]:
        """The inclusions of ``axiom``, their class expressions still as written."""
        match axiom:
            case SubClassOf(sub, sup):
                yield sub, sup
            case EquivalentClasses(expressions):
                yield from _equivalences(expressions)
            case DisjointClasses(expressions):
                yield from _disjointness(expressions)
            case DisjointUnion(cls, expressions):
                yield cls, ObjectUnionOf(expressions)
                yield from ((expression, cls) for expression in expressions)
                yield from _disjointness(expressions)
            case ObjectPropertyDomain(property, domain):
                yield ObjectSomeValuesFrom(property, THING), domain
            case ObjectPropertyRange(property, filler):
                yield THING, ObjectAllValuesFrom(property, filler)
            case FunctionalObjectProperty(property):
                yield THING, ObjectMaxCardinality(1, property)
            case InverseFunctionalObjectProperty(property):
                yield THING, ObjectMaxCardinality(1, expression_of(role_of(property).inverse))
            case DataPropertyDomain(data_property, domain):
                yield DataMinCardinality(1, data_property), domain
            case DataPropertyRange(data_property, data_range):
                yield THING, DataAllValuesFrom(data_property, data_range)
            case FunctionalDataProperty(data_property):
                yield THING, DataMaxCardinality(1, data_property)
            case DisjointObjectProperties(properties):
                for property in properties:
                    require_simple(role_of(property), self._roles, axiom)
            case AsymmetricObjectProperty(property) | IrreflexiveObjectProperty(property):
                require_simple(role_of(property), self._roles, axiom)
            case DatatypeDefinition():
                pass
            case _ if isinstance(axiom, ROLE_AXIOMS):
                pass
            case _:
                raise UsageError(f"{type(axiom).__name__} is outside SHIQ(D)", _REMEDY)

    def expression(self, expression: ClassExpression) -> ClassExpression:
        """``expression`` with ⊓, ⊔, ¬, ∀, ∃, ≥, ≤ and, for data, ≥ and ≤ only."""
        match expression:
            case Class():
                return expression
            case ObjectIntersectionOf(operands):
                return ObjectIntersectionOf(tuple(map(self.expression, operands)))
            case ObjectUnionOf(operands):
                return ObjectUnionOf(tuple(map(self.expression, operands)))
            case ObjectComplementOf(operand):
                return ObjectComplementOf(self.expression(operand))
            case ObjectSomeValuesFrom(property, filler):
                return ObjectSomeValuesFrom(property, self.expression(filler))
            case ObjectAllValuesFrom(property, filler):
                return ObjectAllValuesFrom(property, self.expression(filler))
            case ObjectMinCardinality(n, property, filler):
                return self._bound(ObjectMinCardinality, n, property, self.expression(filler))
            case ObjectMaxCardinality(n, property, filler):
                return self._bound(ObjectMaxCardinality, n, property, self.expression(filler))
            case ObjectExactCardinality(n, property, filler):
                named = self._named(self.expression(filler))
                bounds = (self._bound(kind, n, property, named) for kind in (ObjectMinCardinality, ObjectMaxCardinality))
                return ObjectIntersectionOf(tuple(bounds))
            case DataSomeValuesFrom(data_property, data_range):
                return DataMinCardinality(1, data_property, data_range)
            case DataAllValuesFrom(data_property, data_range):
                return DataMaxCardinality(0, data_property, DataComplementOf(data_range))
            case DataHasValue(data_property, literal):
                return DataMinCardinality(1, data_property, DataOneOf((literal,)))
            case DataMinCardinality() | DataMaxCardinality():
                return expression
            case DataExactCardinality(n, data_property, data_range):
                minimum = DataMinCardinality(n, data_property, data_range)
                return ObjectIntersectionOf((minimum, DataMaxCardinality(n, data_property, data_range)))
        raise UsageError(f"{type(expression).__name__} is outside SHIQ(D)", _REMEDY)

    def _bound(
        self,
        kind: type[ObjectMinCardinality] | type[ObjectMaxCardinality],
        n: int,
        property: ObjectPropertyExpression,
        filler: ClassExpression,
    ) -> ClassExpression:
        bound = kind(n, property, filler)
        if n > 1 or (n == 1 and kind is ObjectMaxCardinality):
            require_simple(role_of(property), self._roles, bound)
        return at_least(1, property, filler) if n == 1 and kind is ObjectMinCardinality else bound

    def _named(self, filler: ClassExpression) -> Class:
        if isinstance(filler, Class):
            return filler
        name, is_new = self._names.name(filler)
        if is_new:
            self._definitions += [Inclusion(Class(name), filler), Inclusion(filler, Class(name))]
        return Class(name)


def _equivalences(expressions: tuple[ClassExpression, ...]) -> Iterator[tuple[ClassExpression, ClassExpression]]:
    """Both ways between a named class and each of the others; without a named class, round in a ring."""
    if len(expressions) < 2:
        return
    hub = next((e for e in expressions if isinstance(e, Class) and e not in (THING, NOTHING)), None)
    if hub is None and len(expressions) > 2:
        yield from zip(expressions, (*expressions[1:], expressions[0]))
        return
    centre = expressions[0] if hub is None else hub
    spokes = list(expressions)
    spokes.remove(centre)
    for expression in spokes:
        yield centre, expression
        yield expression, centre


def _disjointness(expressions: tuple[ClassExpression, ...]) -> Iterator[tuple[ClassExpression, ClassExpression]]:
    for first, second in combinations(expressions, 2):
        yield ObjectIntersectionOf((first, second)), NOTHING


def require_simple(role: Role, roles: RoleBox, where: Axiom | ClassExpression) -> None:
    """Raises `UsageError` unless ``role`` is simple: elsewhere transitivity could not be eliminated (OWL 2, section 11)."""
    if not roles.is_simple(role):
        inverse = "the inverse of " if role.inverted else ""
        raise UsageError(f"{type(where).__name__} on {inverse}<{role.iri}>, which is not simple, is outside SHIQ(D)", _REMEDY)


def _refuse_built_in_properties(axiom: Axiom) -> None:
    """The universal and the empty property are outside SHIQ(D); inclusions that hold for every property say nothing."""
    found = {e.iri for e in entities(axiom) if getattr(e, "iri", "") in _BUILT_IN_PROPERTIES}
    if not found:
        return
    match axiom:
        case SubObjectPropertyOf(sub, sup) if role_of(sup).iri in _TOP or role_of(sub).iri in _BOTTOM:
            return
        case SubDataPropertyOf(DataProperty(sub_iri), DataProperty(sup_iri)) if sup_iri in _TOP or sub_iri in _BOTTOM:
            return
    names = ", ".join(sorted("owl:" + iri.removeprefix(OWL) for iri in found))
    raise UsageError(f"{type(axiom).__name__} with {names} is outside SHIQ(D)", _REMEDY)
