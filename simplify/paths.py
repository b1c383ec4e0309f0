"""What a ∀ on a role above property chains says (THEORY, "Chains and loops").

L₁ ⊑ ∀S.L₂ becomes L₁ ⊑ Q_i, Q_p ⊑ ∀R.Q_q for p –R→ q, Q_f ⊑ L₂ over the automaton of S
(`shiq.role_words`): from a model of the result, with all pairs that words link added to the
roles that are not simple, comes one of the whole; no bound, loop or key sees these roles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shiq import model as owl
from shiq.role_words import RolePaths
from shiq.roles import expression_of, role_of
from simplify.inclusion import (
    Context,
    Inclusion,
    complement_of,
    disjuncts,
    restriction_of,
    union_of,
)

LABEL = "paths"


class PathClauses:
    """Inclusions along automata, each defined once. The names are those of (S, state, L₂),
    whoever asks.
    """

    def __init__(self, context: Context, paths: RolePaths) -> None:
        self._names, self._origins, self._paths = context.fresh(LABEL), context.role_origins, paths
        self._known: set[tuple[object, ...]] = set()

    def of(self, inclusion: Inclusion, restriction: owl.ObjectAllValuesFrom) -> Iterator[Inclusion]:
        """What ``inclusion`` says by its ``restriction`` on a role that is not simple, along
        words. Raises Irregular.

        Where L₁ is ⊤ so is Q_i. The definitions of the states are conservative, whatever the
        chains are, so they have no origins.
        """
        others = tuple(d for d in inclusion.disjuncts if d is not restriction)
        filler = disjuncts(restriction.filler)
        is_positive = any(isinstance(d, owl.Class) for d in filler)
        upper = self._paths.name(role_of(restriction.property))
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
                yield _from(states[p], (step,), origins)
        for f in sorted(automaton.finals):
            yield _from(states[f], filler, origins)


def _from(
    state: owl.ClassExpression, what: Sequence[owl.ClassExpression], origins: frozenset[int]
) -> Inclusion:
    if state == owl.THING:
        return Inclusion(owl.THING, union_of(what), origins)
    return Inclusion(owl.THING, union_of((complement_of(state), *what)))


def eliminate_paths(
    inclusions: Sequence[Inclusion], context: Context, paths: RolePaths
) -> list[Inclusion]:
    """``inclusions`` (in normal form) such that none relies on transitivity or chains. Raises
    Irregular.
    """
    clauses = PathClauses(context, paths)
    result: list[Inclusion] = []
    for inclusion in inclusions:
        result.append(inclusion)
        restriction = restriction_of(inclusion)
        if isinstance(restriction, owl.ObjectAllValuesFrom) and not paths.roles.is_simple(
            role_of(restriction.property)
        ):
            result += clauses.of(inclusion, restriction)
    return result
