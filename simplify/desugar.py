"""Pass 1: every axiom about classes and data becomes inclusions over a small set of constructors
(THEORY, "Simplified TBox": step 1).

Dom(S) = C is ∃S.⊤ ⊑ C, Ran(S) = C is ⊤ ⊑ ∀S.C, a functional S is ⊤ ⊑ ≤1 S.⊤; equivalences go
both ways, disjointness goes pairwise; exact cardinalities are both bounds; p.{v} is ≥1 p.{v},
∀p.D is ≤0 p.(¬D). ∃R.Self is a name for what has a loop of R, and every element has it where R
is reflexive. Other axioms about roles alone leave nothing here: the role box has them. What
SHIQ(D) cannot say is refused by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from shiq import model as owl
from shiq.errors import UsageError
from shiq.roles import ROLE_INCLUSIONS, Role, RoleBox, expression_of, loop_name, role_of
from shiq.signature import entities
from simplify.inclusion import Context, FreshNames, Inclusion, at_least

LABEL = "desugar"
_REMEDY = "Take it out of the TBox first: `shiq.profile` lists what lies outside SHIQ(D)."
_TOP = {owl.OWL + "topObjectProperty", owl.OWL + "topDataProperty"}
_BOTTOM = {owl.OWL + "bottomObjectProperty", owl.OWL + "bottomDataProperty"}
_BUILT_IN_PROPERTIES = _TOP | _BOTTOM

#: Axioms that speak of roles, data properties or datatypes alone.
ROLE_AXIOMS = (
    ROLE_INCLUSIONS
    | owl.TransitiveObjectProperty
    | owl.DisjointObjectProperties
    | owl.AsymmetricObjectProperty
    | owl.IrreflexiveObjectProperty
    | owl.SubDataPropertyOf
    | owl.EquivalentDataProperties
    | owl.DisjointDataProperties
    | owl.SubObjectPropertyChain
)


def desugar(axioms: Sequence[owl.Axiom], context: Context) -> list[Inclusion]:
    """The inclusions that ``axioms`` stand for, in order, each with its axiom's index.

    Only an exact cardinality with a complex filler needs a fresh name (Q ≡ filler), because the
    filler would double at each level of nesting. Raises `UsageError` for a construct outside
    SHIQ(D).
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

    def axiom(self, axiom: owl.Axiom) -> Iterator[tuple[owl.ClassExpression, owl.ClassExpression]]:
        """The inclusions of ``axiom``, their class expressions still as written."""
        match axiom:
            case owl.SubClassOf(sub, sup):
                yield sub, sup
            case owl.EquivalentClasses(expressions):
                yield from _equivalences(expressions)
            case owl.DisjointClasses(expressions):
                yield from _disjointness(expressions)
            case owl.DisjointUnion(cls, expressions):
                yield cls, owl.ObjectUnionOf(expressions)
                yield from ((expression, cls) for expression in expressions)
                yield from _disjointness(expressions)
            case owl.ObjectPropertyDomain(property, domain):
                yield owl.ObjectSomeValuesFrom(property, owl.THING), domain
            case owl.ObjectPropertyRange(property, filler):
                yield owl.THING, owl.ObjectAllValuesFrom(property, filler)
            case owl.FunctionalObjectProperty(property):
                yield owl.THING, owl.ObjectMaxCardinality(1, property)
            case owl.InverseFunctionalObjectProperty(property):
                yield (
                    owl.THING,
                    owl.ObjectMaxCardinality(1, expression_of(role_of(property).inverse)),
                )
            case owl.DataPropertyDomain(data_property, domain):
                yield owl.DataMinCardinality(1, data_property), domain
            case owl.DataPropertyRange(data_property, data_range):
                yield owl.THING, owl.DataAllValuesFrom(data_property, data_range)
            case owl.FunctionalDataProperty(data_property):
                yield owl.THING, owl.DataMaxCardinality(1, data_property)
            case owl.DisjointObjectProperties(properties):
                for property in properties:
                    require_simple(role_of(property), self._roles, axiom)
            case owl.AsymmetricObjectProperty(property) | owl.IrreflexiveObjectProperty(property):
                require_simple(role_of(property), self._roles, axiom)
            case owl.ReflexiveObjectProperty(property):
                yield owl.THING, owl.Class(loop_name(role_of(property).iri))
            case owl.DatatypeDefinition():
                pass
            case _ if isinstance(axiom, ROLE_AXIOMS):
                pass
            case _:
                raise UsageError(f"{type(axiom).__name__} is outside SHIQ(D)", _REMEDY)

    def expression(self, expression: owl.ClassExpression) -> owl.ClassExpression:
        """``expression`` with ⊓, ⊔, ¬, ∀, ∃, ≥, ≤ and, for data, ≥ and ≤ only."""
        match expression:
            case owl.Class():
                return expression
            case owl.ObjectIntersectionOf(operands):
                return owl.ObjectIntersectionOf(tuple(map(self.expression, operands)))
            case owl.ObjectUnionOf(operands):
                return owl.ObjectUnionOf(tuple(map(self.expression, operands)))
            case owl.ObjectComplementOf(operand):
                return owl.ObjectComplementOf(self.expression(operand))
            case owl.ObjectSomeValuesFrom(property, filler):
                return owl.ObjectSomeValuesFrom(property, self.expression(filler))
            case owl.ObjectAllValuesFrom(property, filler):
                return owl.ObjectAllValuesFrom(property, self.expression(filler))
            case owl.ObjectHasSelf(property):
                require_simple(role_of(property), self._roles, expression)
                if role_of(property).iri not in self._roles.looped:
                    raise UsageError(
                        "ObjectHasSelf in a class assertion is outside SHIQ(D)", _REMEDY
                    )
                return owl.Class(loop_name(role_of(property).iri))
            case owl.ObjectMinCardinality(n, property, filler):
                return self._bound(owl.ObjectMinCardinality, n, property, self.expression(filler))
            case owl.ObjectMaxCardinality(n, property, filler):
                return self._bound(owl.ObjectMaxCardinality, n, property, self.expression(filler))
            case owl.ObjectExactCardinality(n, property, filler):
                named = self._named(self.expression(filler))
                bounds = (
                    self._bound(kind, n, property, named)
                    for kind in (owl.ObjectMinCardinality, owl.ObjectMaxCardinality)
                )
                return owl.ObjectIntersectionOf(tuple(bounds))
            case owl.DataSomeValuesFrom(data_property, data_range):
                return owl.DataMinCardinality(1, data_property, data_range)
            case owl.DataAllValuesFrom(data_property, data_range):
                return owl.DataMaxCardinality(0, data_property, owl.DataComplementOf(data_range))
            case owl.DataHasValue(data_property, literal):
                return owl.DataMinCardinality(1, data_property, owl.DataOneOf((literal,)))
            case owl.DataMinCardinality() | owl.DataMaxCardinality():
                return expression
            case owl.DataExactCardinality(n, data_property, data_range):
                minimum = owl.DataMinCardinality(n, data_property, data_range)
                return owl.ObjectIntersectionOf(
                    (minimum, owl.DataMaxCardinality(n, data_property, data_range))
                )
        raise UsageError(f"{type(expression).__name__} is outside SHIQ(D)", _REMEDY)

    def _bound(
        self,
        kind: type[owl.ObjectMinCardinality] | type[owl.ObjectMaxCardinality],
        n: int,
        property: owl.ObjectPropertyExpression,
        filler: owl.ClassExpression,
    ) -> owl.ClassExpression:
        bound = kind(n, property, filler)
        if n > 1 or (n == 1 and kind is owl.ObjectMaxCardinality):
            require_simple(role_of(property), self._roles, bound)
        return (
            at_least(1, property, filler) if n == 1 and kind is owl.ObjectMinCardinality else bound
        )

    def _named(self, filler: owl.ClassExpression) -> owl.Class:
        if isinstance(filler, owl.Class):
            return filler
        name, is_new = self._names.name(filler)
        if is_new:
            self._definitions += [
                Inclusion(owl.Class(name), filler),
                Inclusion(filler, owl.Class(name)),
            ]
        return owl.Class(name)


def _equivalences(
    expressions: tuple[owl.ClassExpression, ...],
) -> Iterator[tuple[owl.ClassExpression, owl.ClassExpression]]:
    """Both ways between a named class and each of the others; without a named class, round in a
    ring.
    """
    if len(expressions) < 2:
        return
    hub = next(
        (e for e in expressions if isinstance(e, owl.Class) and e not in (owl.THING, owl.NOTHING)),
        None,
    )
    if hub is None and len(expressions) > 2:
        yield from zip(expressions, (*expressions[1:], expressions[0]))
        return
    centre = expressions[0] if hub is None else hub
    spokes = list(expressions)
    spokes.remove(centre)
    for expression in spokes:
        yield centre, expression
        yield expression, centre


def _disjointness(
    expressions: tuple[owl.ClassExpression, ...],
) -> Iterator[tuple[owl.ClassExpression, owl.ClassExpression]]:
    for first, second in combinations(expressions, 2):
        yield owl.ObjectIntersectionOf((first, second)), owl.NOTHING


def require_simple(role: Role, roles: RoleBox, where: owl.Axiom | owl.ClassExpression) -> None:
    """Raises `UsageError` unless ``role`` is simple: elsewhere transitivity could not be
    eliminated (OWL 2, section 11).
    """
    if not roles.is_simple(role):
        inverse = "the inverse of " if role.inverted else ""
        raise UsageError(
            f"{type(where).__name__} on {inverse}<{role.iri}>, which is not simple, is outside SHIQ(D)",
            _REMEDY,
        )


def _refuse_built_in_properties(axiom: owl.Axiom) -> None:
    """The universal and the empty property are outside SHIQ(D); inclusions that hold for every
    property say nothing.
    """
    found = {e.iri for e in entities(axiom) if getattr(e, "iri", "") in _BUILT_IN_PROPERTIES}
    if not found:
        return
    match axiom:
        case owl.SubObjectPropertyOf(sub, sup) if (
            role_of(sup).iri in _TOP or role_of(sub).iri in _BOTTOM
        ):
            return
        case owl.SubDataPropertyOf(owl.DataProperty(sub_iri), owl.DataProperty(sup_iri)) if (
            sup_iri in _TOP or sub_iri in _BOTTOM
        ):
            return
    names = ", ".join(sorted("owl:" + iri.removeprefix(owl.OWL) for iri in found))
    raise UsageError(f"{type(axiom).__name__} with {names} is outside SHIQ(D)", _REMEDY)
