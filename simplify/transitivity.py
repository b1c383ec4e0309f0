"""Transitivity elimination (THEORY, "Simplified TBox": step 3; the trap: THEORY, "Deciding a
shape without a JVM").

For L₁ ⊑ ∀S.L₂ and a transitive R ⊑* S: L₁ ⊑ ∀R.Q, Q ⊑ ∀R.Q, Q ⊑ L₂ with Q fresh for (R, L₂).
After that no inclusion relies on transitivity: from a model of the result, closing the
transitive roles gives a model of the TBox. It must see every inclusion that naming produced, the
fillers under ≤ among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shiq.model import THING, Class, ObjectAllValuesFrom
from shiq.model.roles import Role, RoleBox, expression_of, role_of
from shiq.simplify.inclusion import (
    Context,
    Inclusion,
    complement_of,
    disjuncts,
    restriction_of,
    union_of,
)

if TYPE_CHECKING:
    from shiq.model.role_words import RolePaths
    from shiq.simplify.chains import PathClauses

LABEL = "transitivity"


def eliminate_transitivity(inclusions: Sequence[Inclusion], context: Context) -> list[Inclusion]:
    """Add to each inclusion with ∀S.C those that transitive roles and property chains below S
    entail.

    Nothing is added if L₁ is ⊤ (⊤ ⊑ ∀S.L₂ covers every R-successor), if L₂ is ⊥, or if L₁ is L₂. Q
    is a name, or a negated name if L₂ has no positive literal. So ∃S.C ⊑ D stays Horn, with Q'
    meaning "C can be reached".

    inclusions: in normal form.
    """
    names = context.fresh_names(LABEL)
    words = None if context.paths is None else _make_path_clauses(context, context.paths)
    result: list[Inclusion] = []
    for inclusion in inclusions:
        result.append(inclusion)
        restriction = restriction_of(inclusion)
        if not isinstance(restriction, ObjectAllValuesFrom):
            continue
        upper = role_of(restriction.property)
        if words is not None and not context.roles.composite.isdisjoint(
            context.roles.subroles(upper)
        ):
            result += words.expand(inclusion, restriction)
            continue
        others = tuple(d for d in inclusion.disjuncts if d is not restriction)
        filler = disjuncts(restriction.filler)
        if (
            not others
            or not filler
            or (len(others) == len(filler) == 1 and filler[0] == complement_of(others[0]))
        ):
            continue
        for role, equivalents in transitive_subroles(upper, context.roles):
            literal, is_new = names.literal(
                (role, frozenset(filler)), any(isinstance(d, Class) for d in filler)
            )
            everywhere = ObjectAllValuesFrom(expression_of(role), literal)
            origins = context.role_origins.transitivity(
                role, equivalents
            ) | context.role_origins.inclusion(role, upper)
            result.append(
                Inclusion(THING, union_of((*others, everywhere)), inclusion.origins | origins)
            )
            if is_new:
                # Conservative whether or not R is transitive (Q: L₂ holds here and all along R), so
                # they have no origins.
                result.append(Inclusion(THING, union_of((complement_of(literal), everywhere))))
                result.append(Inclusion(THING, union_of((complement_of(literal), *filler))))
    return result


def _make_path_clauses(context: Context, paths: RolePaths) -> PathClauses:
    """Make the generator of the inclusions that propagate a ∀-restriction along role words."""
    # Loaded where a TBox has property chains.
    from shiq.simplify.chains import PathClauses

    return PathClauses(context, paths)


def transitive_subroles(role: Role, roles: RoleBox) -> list[tuple[Role, tuple[Role, ...]]]:
    """Return the greatest transitive roles below `role`, one of each set of equivalent roles, with
    that set.

    A ∀ along a role holds along all roles below it, so smaller roles add nothing.
    """
    below = roles.subroles(role) & roles.transitive
    found: list[tuple[Role, tuple[Role, ...]]] = []
    seen: set[Role] = set()
    for candidate in sorted(below, key=lambda r: (r != role, r)):
        if candidate in seen:
            continue
        above = roles.superroles(candidate) & below
        equivalents = above & roles.subroles(candidate)
        if above == equivalents:
            found.append((candidate, tuple(sorted(equivalents))))
        seen |= equivalents
    return found
