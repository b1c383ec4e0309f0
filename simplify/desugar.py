"""Pass 1: translate axioms on classes and data to inclusions over few constructors.

Source: THEORY, "Simplified TBox": step 1. Dom(S) = C is ∃S.⊤ ⊑ C, Ran(S) = C is ⊤ ⊑ ∀S.C, a
functional S is ⊤ ⊑ ≤1 S.⊤. Equivalences give both directions, disjointness is pairwise, an exact
cardinality gives both bounds. p.{v} is ≥1 p.{v}, ∀p.D is ≤0 p.(¬D). ∃R.Self becomes a name for the
elements with a loop of R; if R is reflexive, every element has it. Other axioms on roles alone
leave nothing here, since the role box has them. Constructs outside SHIQ(D) are refused by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

from shiq import model as owl
from shiq.errors import UsageError
from shiq.model.built_in import BOTTOM, TOP
from shiq.model.roles import ROLE_INCLUSIONS, Role, RoleBox, expression_of, loop_name, role_of
from shiq.model.walk import entities, rebuild
from shiq.simplify.inclusion import Context, FreshNames, Inclusion, at_least

LABEL = "desugar"
_REMEDY = "Take it out of the TBox first: `shiq.model.profile` lists what lies outside SHIQ(D)."

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
    """Translate axioms to class inclusions over few constructors, each with the index of its axiom,
    in order.

    Only an exact cardinality with a complex filler needs a fresh name (Q ≡ filler); otherwise the
    filler would double at each level of nesting.

    Raises: UsageError for a construct outside SHIQ(D).
    """
    rewrite = _Desugarer(context)
    inclusions: list[Inclusion] = []
    for index, axiom in enumerate(axioms):
        _refuse_built_in_properties(axiom)
        origins = frozenset((index,))
        for sub, sup in rewrite.desugar_axiom(axiom):
            inclusions.append(
                Inclusion(rewrite.desugar_expression(sub), rewrite.desugar_expression(sup), origins)
            )
            inclusions += rewrite.take_definitions()
    return inclusions


class _Desugarer:
    """Rewriter of axioms to inclusions with ⊓, ⊔, ¬, ∀, ∃, ≥ and ≤ only. It collects definitions of
    the names it makes.
    """

    def __init__(self, context: Context) -> None:
        self._roles = context.roles
        self._names: FreshNames = context.fresh_names(LABEL)
        self._definitions: list[Inclusion] = []

    def take_definitions(self) -> list[Inclusion]:
        """Return the definitions of new names made since the last call."""
        taken, self._definitions = self._definitions, []
        return taken

    def desugar_axiom(
        self, axiom: owl.Axiom
    ) -> Iterator[tuple[owl.ClassExpression, owl.ClassExpression]]:
        """Yield the inclusions that `axiom` is equivalent to; their class expressions are not
        rewritten yet.
        """
        match axiom:
            case owl.SubClassOf(sub, sup):
                yield sub, sup
            case owl.EquivalentClasses(expressions):
                yield from _equivalences(expressions)
            case owl.DisjointClasses(expressions):
                yield from _pairwise_disjointness(expressions)
            case owl.DisjointUnion(cls, expressions):
                yield cls, owl.ObjectUnionOf(expressions)
                yield from ((expression, cls) for expression in expressions)
                yield from _pairwise_disjointness(expressions)
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

    def desugar_expression(self, expression: owl.ClassExpression) -> owl.ClassExpression:
        """Rewrite `expression` to ⊓, ⊔, ¬, ∀, ∃, ≥ and ≤; data restrictions to ≥ and ≤ only."""
        return rebuild(expression, self._desugar_part)

    def _desugar_part(self, part: Any) -> Any:
        """Rewrite one node of a class expression to few constructors. Its operands are rewritten
        already.
        """
        match part:
            case (
                owl.Class()
                | owl.ObjectIntersectionOf()
                | owl.ObjectUnionOf()
                | owl.ObjectComplementOf()
                | owl.ObjectSomeValuesFrom()
                | owl.ObjectAllValuesFrom()
                | owl.DataMinCardinality()
                | owl.DataMaxCardinality()
            ):
                return part
            case owl.ObjectHasSelf(property):
                require_simple(role_of(property), self._roles, part)
                if role_of(property).iri not in self._roles.loop_properties:
                    raise UsageError(
                        "ObjectHasSelf in a class assertion is outside SHIQ(D)", _REMEDY
                    )
                return owl.Class(loop_name(role_of(property).iri))
            case owl.ObjectMinCardinality(n, property, filler) | owl.ObjectMaxCardinality(
                n, property, filler
            ):
                return self._rewrite_cardinality(type(part), n, property, filler)
            case owl.ObjectExactCardinality(n, property, filler):
                named = self._name_filler(filler)
                bounds = (
                    self._rewrite_cardinality(kind, n, property, named)
                    for kind in (owl.ObjectMinCardinality, owl.ObjectMaxCardinality)
                )
                return owl.ObjectIntersectionOf(tuple(bounds))
            case owl.DataSomeValuesFrom(data_property, data_range):
                return owl.DataMinCardinality(1, data_property, data_range)
            case owl.DataAllValuesFrom(data_property, data_range):
                return owl.DataMaxCardinality(0, data_property, owl.DataComplementOf(data_range))
            case owl.DataHasValue(data_property, literal):
                return owl.DataMinCardinality(1, data_property, owl.DataOneOf((literal,)))
            case owl.DataExactCardinality(n, data_property, data_range):
                minimum = owl.DataMinCardinality(n, data_property, data_range)
                return owl.ObjectIntersectionOf(
                    (minimum, owl.DataMaxCardinality(n, data_property, data_range))
                )
        if isinstance(part, owl.ClassExpression):
            raise UsageError(f"{type(part).__name__} is outside SHIQ(D)", _REMEDY)
        return part

    def _rewrite_cardinality(
        self,
        kind: type[owl.ObjectMinCardinality] | type[owl.ObjectMaxCardinality],
        n: int,
        property: owl.ObjectPropertyExpression,
        filler: owl.ClassExpression,
    ) -> owl.ClassExpression:
        """Rewrite a cardinality restriction, with a name for its filler. Checks that the role is
        simple.
        """
        bound = kind(n, property, filler)
        if n > 1 or (n == 1 and kind is owl.ObjectMaxCardinality):
            require_simple(role_of(property), self._roles, bound)
        return (
            at_least(1, property, filler) if n == 1 and kind is owl.ObjectMinCardinality else bound
        )

    def _name_filler(self, filler: owl.ClassExpression) -> owl.Class:
        """Return a name for a restriction's filler; if it is new, record its definition."""
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
    """Yield inclusions in both directions between a named class and each other expression.

    Without a named class, the inclusions form a ring.
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


def _pairwise_disjointness(
    expressions: tuple[owl.ClassExpression, ...],
) -> Iterator[tuple[owl.ClassExpression, owl.ClassExpression]]:
    """Yield the inclusion C ⊓ D ⊑ ⊥ for each pair of the class expressions."""
    for first, second in combinations(expressions, 2):
        yield owl.ObjectIntersectionOf((first, second)), owl.NOTHING


def require_simple(role: Role, roles: RoleBox, where: owl.Axiom | owl.ClassExpression) -> None:
    """Check that `role` is simple, since otherwise transitivity cannot be eliminated (OWL 2,
    section 11). Raises: OutsideShiq.

    Raises: UsageError.
    """
    if not roles.is_simple(role):
        inverse = "the inverse of " if role.is_inverse else ""
        raise UsageError(
            f"{type(where).__name__} on {inverse}<{role.iri}>, which is not simple, is outside SHIQ(D)",
            _REMEDY,
        )


def _refuse_built_in_properties(axiom: owl.Axiom) -> None:
    """Refuse the universal and the empty property, which are outside SHIQ(D).

    Inclusions that hold for every property are accepted.
    """
    found = {e.iri for e in entities(axiom) if e.iri in TOP | BOTTOM}
    if not found:
        return
    match axiom:
        case owl.SubObjectPropertyOf(sub, sup) if (
            role_of(sup).iri in TOP or role_of(sub).iri in BOTTOM
        ):
            return
        case owl.SubDataPropertyOf(owl.DataProperty(sub_iri), owl.DataProperty(sup_iri)) if (
            sup_iri in TOP or sub_iri in BOTTOM
        ):
            return
    names = ", ".join(sorted("owl:" + iri.removeprefix(owl.OWL) for iri in found))
    raise UsageError(f"{type(axiom).__name__} with {names} is outside SHIQ(D)", _REMEDY)
