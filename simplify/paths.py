"""Eliminate ∀ on roles above property chains (THEORY, "Chains and loops").

Over the automaton of S (`shiq.model.role_words`), L₁ ⊑ ∀S.L₂ becomes L₁ ⊑ Q_i, Q_p ⊑ ∀R.Q_q for p –R→ q,
and Q_f ⊑ L₂. A model of the result extends to one of the original: add all pairs linked by words to
the non-simple roles, which no bound, loop or key sees.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shiq import model as owl
from shiq.model.role_words import RolePaths
from shiq.model.roles import expression_of, role_of
from shiq.simplify.inclusion import (
    Context,
    Inclusion,
    complement_of,
    disjuncts,
    restriction_of,
    union_of,
)

LABEL = "paths"


class PathClauses:
    """A generator of the inclusions along automata; each is generated once.

    Names depend only on (S, state, L₂).
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
        """Yield the inclusions along words that replace a ∀ on a non-simple role. Raises: Irregular.

        If L₁ is ⊤, so is Q_i. The definitions of states are conservative for all chains, so they
        have no origins.
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
                yield _step_inclusion(states[p], (step,), origins)
        for f in sorted(automaton.finals):
            yield _step_inclusion(states[f], filler, origins)


def _step_inclusion(
    state: owl.ClassExpression, what: Sequence[owl.ClassExpression], origins: frozenset[int]
) -> Inclusion:
    if state == owl.THING:
        return Inclusion(owl.THING, union_of(what), origins)
    return Inclusion(owl.THING, union_of((complement_of(state), *what)))


def eliminate_paths(
    inclusions: Sequence[Inclusion], context: Context, paths: RolePaths
) -> list[Inclusion]:
    """Rewrite inclusions in normal form so that none depends on transitivity or chains.

    Raises: Irregular.
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
