"""Reduce a TBox with property chains, Self and reflexive roles to one of SHIQ(D).

See THEORY, "Chains and loops as clauses".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from shiq import model as owl
from shiq.model.built_in import BOTTOM, TOP
from shiq.model.clause_axioms import role_axioms
from shiq.model.profile import rewrite_for_simple_roles, roles_required_simple
from shiq.model.role_words import Irregular, RolePaths
from shiq.model.roles import RoleBox, role_of
from shiq.model.walk import parts
from shiq.simplify.desugar import desugar
from shiq.simplify.inclusion import Context, restriction_of
from shiq.simplify.loops import Loops, contract_loops, name_loops
from shiq.simplify.nnf import to_nnf
from shiq.simplify.normal_form import normal_form
from shiq.simplify.paths import eliminate_paths


@dataclass(frozen=True)
class ChainFreeTBox:
    """A TBox of SHIQ(D) with the consequences of the original, for positive assertions.

    roles: the role box; a role above a chain is not simple in it.
    loops: names for loops.
    relevant_loops: properties whose asserted loops must be reported.
    has_bounds: whether the axioms can make individuals equal, and so create loops.
    """

    axioms: tuple[owl.Axiom, ...]
    roles: RoleBox
    loops: Loops
    relevant_loops: frozenset[str]
    has_bounds: bool


def eliminate_chains(axioms: Sequence[owl.Axiom]) -> ChainFreeTBox:
    """Rewrite `axioms` without chains, Self and reflexive roles.

    Raises: Irregular if that is not possible.
    """
    if any(
        isinstance(p, owl.ObjectProperty) and p.iri in TOP | BOTTOM
        for axiom in axioms
        for p in parts(axiom)
    ):
        raise Irregular("top and bottom properties are not read together with chains and loops")
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
            inside.append(name_loops(plain))
    inclusions = normal_form(to_nnf(desugar(inside, context), context), context)
    loops = Loops.from_axioms(axioms, paths.roles)
    if loops.properties and (obstacle := loops.obstacle(inclusions)):
        raise Irregular(obstacle)
    asked = loops.required_loops(inclusions)
    inclusions = eliminate_paths(inclusions, context, paths)
    inclusions = contract_loops(inclusions, context)
    found = [owl.SubClassOf(i.sub, i.sup) for i in inclusions]
    has_bounds = any(isinstance(restriction_of(i), owl.ObjectMaxCardinality) for i in inclusions)
    written = dict.fromkeys([*found, *role_axioms(paths.roles), *beside])
    return ChainFreeTBox(tuple(written), paths.roles, loops, asked, has_bounds)


def _require_simple(axiom: owl.Axiom, roles: RoleBox) -> None:
    needed: Iterable[owl.ObjectPropertyExpression] = (
        property for property, _ in roles_required_simple(axiom)
    )
    selves = (part.property for part in parts(axiom) if isinstance(part, owl.ObjectHasSelf))
    for property in (*needed, *selves):
        if not roles.is_simple(role_of(property)):
            raise Irregular(f"<{role_of(property).iri}> must be simple (OWL 2 DL, section 11.2)")


def is_readable(axiom: owl.Axiom) -> bool:
    """Decide whether `axiom` is in SHIQ(D), apart from what `eliminate_chains` can rewrite."""
    beyond = (owl.HasKey, owl.ObjectOneOf, owl.ObjectHasValue)
    return not any(isinstance(part, beyond) for part in parts(axiom))
