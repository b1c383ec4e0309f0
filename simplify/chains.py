"""Eliminate property chains, Self and reflexive roles: reduce a TBox with them to one of SHIQ(D)
(THEORY, "Chains and loops").

∀ on roles above chains is eliminated over the automaton of S (`shiq.model.role_words`): L₁ ⊑ ∀S.L₂
becomes L₁ ⊑ Q_i, Q_p ⊑ ∀R.Q_q for p –R→ q, and Q_f ⊑ L₂. A model of the result extends to one of
the original: add all pairs linked by words to the non-simple roles, which no bound, loop or key
sees.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from shiq import model as owl
from shiq.model.built_in import BOTTOM, TOP
from shiq.model.clause_axioms import role_axioms
from shiq.model.profile import rewrite_for_simple_roles, roles_required_simple
from shiq.model.role_words import IrregularRolesError, RolePaths
from shiq.model.roles import RoleBox, expression_of, role_of
from shiq.model.walk import parts
from shiq.simplify.desugar import desugar
from shiq.simplify.inclusion import (
    Context,
    Inclusion,
    complement_of,
    disjuncts,
    restriction_of,
    union_of,
)
from shiq.simplify.loops import contract_loops, inexpressible_reason, required_loops
from shiq.simplify.nnf import to_nnf
from shiq.simplify.normal_form import normal_form


@dataclass(frozen=True)
class ChainFreeTBox:
    """A TBox of SHIQ(D) with the consequences of the original, for positive assertions.

    roles: the role box; a role above a chain is not simple in it.
    relevant_loops: properties whose asserted loops must be reported.
    has_bounds: whether the axioms can make individuals equal, and so create loops.
    """

    axioms: tuple[owl.Axiom, ...]
    roles: RoleBox
    relevant_loops: frozenset[str]
    has_bounds: bool


def eliminate_chains(axioms: Sequence[owl.Axiom]) -> ChainFreeTBox:
    """Rewrite axioms to ones without property chains, Self and reflexive roles.

    Raises: IrregularRolesError if that is not possible.
    """
    if any(
        isinstance(p, owl.ObjectProperty) and p.iri in TOP | BOTTOM
        for axiom in axioms
        for p in parts(axiom)
    ):
        raise IrregularRolesError(
            "top and bottom properties are not supported together with property chains and Self"
        )
    paths = RolePaths(axioms)
    context = Context(roles=paths.roles)
    inside: list[owl.Axiom] = []
    beside: list[owl.Axiom] = []
    for axiom in axioms:
        plain = rewrite_for_simple_roles(axiom, paths.roles)
        _require_simple(plain, paths.roles)
        if isinstance(plain, owl.DatatypeDefinition):
            beside.append(plain)
        elif not isinstance(plain, owl.SubObjectPropertyChain):
            inside.append(plain)
    inclusions = normal_form(to_nnf(desugar(inside, context), context), context)
    named = paths.roles.self_properties | paths.roles.reflexive
    if named and (obstacle := inexpressible_reason(named, paths.roles, inclusions)):
        raise IrregularRolesError(obstacle)
    asked = required_loops(named, inclusions)
    inclusions = eliminate_paths(inclusions, context, paths)
    inclusions = contract_loops(inclusions, context)
    found = [owl.SubClassOf(i.sub, i.sup) for i in inclusions]
    has_bounds = any(isinstance(restriction_of(i), owl.ObjectMaxCardinality) for i in inclusions)
    written = dict.fromkeys([*found, *role_axioms(paths.roles), *beside])
    return ChainFreeTBox(tuple(written), paths.roles, asked, has_bounds)


def _require_simple(axiom: owl.Axiom, roles: RoleBox) -> None:
    """Check that the roles in an axiom which must be simple are. Raises: IrregularRolesError."""
    needed: Iterable[owl.ObjectPropertyExpression] = (
        property for property, _ in roles_required_simple(axiom)
    )
    selves = (part.property for part in parts(axiom) if isinstance(part, owl.ObjectHasSelf))
    for property in (*needed, *selves):
        if not roles.is_simple(role_of(property)):
            raise IrregularRolesError(
                f"<{role_of(property).iri}> must be simple (OWL 2 DL, section 11.2)"
            )


def can_eliminate(axiom: owl.Axiom) -> bool:
    """Decide whether an axiom is in SHIQ(D), apart from chains, Self and reflexive roles that
    `eliminate_chains` can rewrite.
    """
    beyond = (owl.HasKey, owl.ObjectOneOf, owl.ObjectHasValue)
    return not any(isinstance(part, beyond) for part in parts(axiom))


LABEL = "paths"


class PathClauses:
    """Generator of the inclusions that propagate a ∀-restriction along an automaton of role words.
    Each is made once.
    """

    def __init__(self, context: Context, paths: RolePaths) -> None:
        self._names, self._origins, self._paths = (
            context.fresh_names(LABEL),
            context.role_origins,
            paths,
        )
        self._known: set[tuple[object, ...]] = set()

    def expand(
        self, inclusion: Inclusion, restriction: owl.ObjectAllValuesFrom
    ) -> Iterator[Inclusion]:
        """Yield the inclusions that replace a ∀-restriction on a non-simple role in an inclusion.
        Raises: IrregularRolesError.

        If L₁ is ⊤, so is Q_i. The definitions of states are conservative for all chains, so they
        have no origins.
        """
        others = tuple(d for d in inclusion.disjuncts if d is not restriction)
        filler = disjuncts(restriction.filler)
        is_positive = any(isinstance(d, owl.Class) for d in filler)
        upper = self._paths.representative(role_of(restriction.property))
        automaton = self._paths.automaton(upper)
        states: list[owl.ClassExpression] = [
            self._names.literal((upper, state, frozenset(filler)), is_positive)[0]
            for state in range(automaton.size)
        ]
        origins = inclusion.origins | self._origins.words(role_of(restriction.property))
        if not others:
            states[0] = owl.THING
        else:
            yield Inclusion(owl.THING, union_of((*others, states[0])), origins)
        key = (upper, frozenset(filler), bool(others))
        if key in self._known:
            return
        self._known.add(key)
        for p, role, q in sorted(automaton.steps):
            if states[q] != owl.THING:
                step = owl.ObjectAllValuesFrom(expression_of(role), states[q])
                yield _automaton_step_inclusion(states[p], (step,), origins)
        for f in sorted(automaton.finals):
            yield _automaton_step_inclusion(states[f], filler, origins)


def _automaton_step_inclusion(
    state: owl.ClassExpression, what: Sequence[owl.ClassExpression], origins: frozenset[int]
) -> Inclusion:
    """Make the inclusion that a state of a role automaton implies a disjunction of class
    expressions.
    """
    if state == owl.THING:
        return Inclusion(owl.THING, union_of(what), origins)
    return Inclusion(owl.THING, union_of((complement_of(state), *what)))


def eliminate_paths(
    inclusions: Sequence[Inclusion], context: Context, paths: RolePaths
) -> list[Inclusion]:
    """Rewrite inclusions in normal form so that none depends on transitivity or chains.

    Raises: IrregularRolesError.
    """
    clauses = PathClauses(context, paths)
    result: list[Inclusion] = []
    for inclusion in inclusions:
        result.append(inclusion)
        restriction = restriction_of(inclusion)
        if isinstance(restriction, owl.ObjectAllValuesFrom) and not paths.roles.is_simple(
            role_of(restriction.property)
        ):
            result += clauses.expand(inclusion, restriction)
    return result
