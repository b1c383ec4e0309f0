"""A TBox with property chains, Self and reflexive roles as one of SHIQ(D) (THEORY, "Chains and
loops as clauses").
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from shiq import model as owl
from shiq.built_in import BOTTOM, TOP
from shiq.clause_axioms import role_axioms
from shiq.profile import on_simple_roles, simple_needed
from shiq.role_words import Irregular, RolePaths
from shiq.roles import RoleBox, role_of
from shiq.signature import parts
from simplify.desugar import desugar
from simplify.inclusion import Context, restriction_of
from simplify.loops import Loops, contract_loops, named_loops
from simplify.nnf import to_nnf
from simplify.normal_form import normal_form
from simplify.paths import eliminate_paths


@dataclass(frozen=True)
class PlainTBox:
    """``axioms`` of SHIQ(D) with the consequences of those given, for names and assertions of
    SHIQ(D) without negative ones.

    ``roles``: by which a role above a chain is not simple. ``loops``; ``asked_loops``: the
    properties whose loops matter, so that an asserted loop is to be told; ``has_bounds``:
    whether individuals may be made one, so that others may become loops.
    """

    axioms: tuple[owl.Axiom, ...]
    roles: RoleBox
    loops: Loops
    asked_loops: frozenset[str]
    has_bounds: bool


def plain_tbox(axioms: Sequence[owl.Axiom]) -> PlainTBox:
    """``axioms`` without chains, Self and reflexive roles. Raises Irregular where they cannot be
    read so.
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
        plain = on_simple_roles(axiom, paths.roles)
        _require_simple(plain, paths.roles)
        if isinstance(plain, owl.DatatypeDefinition):
            beside.append(plain)
        elif not isinstance(plain, owl.SubObjectPropertyChain):
            inside.append(named_loops(plain))
    inclusions = normal_form(to_nnf(desugar(inside, context), context), context)
    loops = Loops.of(axioms, paths.roles)
    if loops.looped and (obstacle := loops.obstacle(inclusions)):
        raise Irregular(obstacle)
    asked = loops.asked(inclusions)
    inclusions = eliminate_paths(inclusions, context, paths)
    inclusions = contract_loops(inclusions, context)
    found = [owl.SubClassOf(i.sub, i.sup) for i in inclusions]
    has_bounds = any(isinstance(restriction_of(i), owl.ObjectMaxCardinality) for i in inclusions)
    written = dict.fromkeys([*found, *role_axioms(paths.roles), *beside])
    return PlainTBox(tuple(written), paths.roles, loops, asked, has_bounds)


def _require_simple(axiom: owl.Axiom, roles: RoleBox) -> None:
    needed: Iterable[owl.ObjectPropertyExpression] = (
        property for property, _ in simple_needed(axiom)
    )
    selves = (part.property for part in parts(axiom) if isinstance(part, owl.ObjectHasSelf))
    for property in (*needed, *selves):
        if not roles.is_simple(role_of(property)):
            raise Irregular(f"<{role_of(property).iri}> must be simple (OWL 2 DL, section 11.2)")


def is_readable(axiom: owl.Axiom) -> bool:
    """Whether nothing of ``axiom`` lies beyond SHIQ(D) but what `plain_tbox` reads."""
    beyond = (owl.HasKey, owl.ObjectOneOf, owl.ObjectHasValue)
    return not any(isinstance(part, beyond) for part in parts(axiom))
