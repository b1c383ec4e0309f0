"""Pass 3: flatten ⊤ ⊑ C to inclusions ⊤ ⊑ L₁ ⊔ … ⊔ Lₖ ⊔ X (THEORY, "DL-clauses").

Each Lᵢ is a name, a negated name, ≥n R.A, or a data restriction. At most one X is ∀R.(disjunction
of literals) or ≤n R.A with n ≥ 1; A is a name or ⊤. Other subexpressions are named: a fresh literal
L with L ⊑ D replaces D. One direction suffices: ≥n R.D becomes ≥n R.Q with Q ⊑ D, and ≤n R.D
becomes ≤n R.Q with D ⊑ Q.

⊓ on the right is split, also in ∀R.(C ⊓ D). ⊔ is distributed over ⊓ while the result stays small,
so the total size is polynomial.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import TypeAlias

from shiq import model as owl
from shiq.simplify.inclusion import (
    Context,
    Inclusion,
    at_least,
    complement_of,
    disjuncts,
    is_literal,
    union_of,
)
from shiq.simplify.nnf import nnf

LABEL = "normal-form"

#: How many inclusions one ⊔ over several ⊓ may be multiplied out into. Beyond it the largest ⊓ is
#: named.
DISTRIBUTED = 8

#: A disjunction; a concept is a list of them, read as their conjunction: [] is ⊤, [()] is ⊥.
Disjunction: TypeAlias = tuple[owl.ClassExpression, ...]

_RESTRICTIONS = owl.ObjectAllValuesFrom | owl.ObjectMaxCardinality


def normal_form(inclusions: Sequence[Inclusion], context: Context) -> list[Inclusion]:
    """Bring inclusions ⊤ ⊑ C, with C in NNF, into normal form, in order.

    Definitions of fresh names follow the inclusion that first needs them; equal concepts share a
    name. Number and width of the results are linear in |C|, so size and time are at most quadratic.
    """
    naming = _ConceptNaming(context)
    result: list[Inclusion] = []
    for inclusion in inclusions:
        if _is_clause_of_literals(inclusion.disjuncts):
            result.append(inclusion)
            continue
        for disjunction in naming.to_clauses(inclusion.sup):
            result.append(
                Inclusion(
                    owl.THING, union_of(naming.keep_one_restriction(disjunction)), inclusion.origins
                )
            )
        result += naming.take_definitions()
    return result


def _is_clause_of_literals(disjunction: Disjunction) -> bool:
    """Decide whether a disjunction has only names and negated names, so that it is in normal form
    already.
    """
    names = {
        d.operand if isinstance(d, owl.ObjectComplementOf) else d
        for d in disjunction
        if is_literal(d)
    }
    return len(names) == len(disjunction) and owl.THING not in names


class _ConceptNaming:
    """Rewriter to normal form that gives fresh names to nested concepts, and collects their
    definitions.
    """

    def __init__(self, context: Context) -> None:
        self._names = context.fresh_names(LABEL)
        self._definitions: list[Disjunction] = []

    def take_definitions(self) -> list[Inclusion]:
        """Return the definitions of the names made since the last call, in normal form."""
        taken = []
        while self._definitions:
            waiting, self._definitions = self._definitions, []
            taken += [
                Inclusion(owl.THING, union_of(self.keep_one_restriction(disjunction)))
                for disjunction in waiting
            ]
        return taken

    def to_clauses(self, expression: owl.ClassExpression) -> list[Disjunction]:
        """Convert a class expression in NNF to a conjunction of disjunctions; nested concepts get
        names.
        """
        match expression:
            case owl.Class():
                return (
                    []
                    if expression == owl.THING
                    else [()]
                    if expression == owl.NOTHING
                    else [(expression,)]
                )
            case owl.ObjectComplementOf() | owl.DataMinCardinality() | owl.DataMaxCardinality():
                return [(expression,)]
            case owl.ObjectIntersectionOf(operands):
                return _simplified_conjunction(
                    d for operand in operands for d in self.to_clauses(operand)
                )
            case owl.ObjectUnionOf(operands):
                return self._distribute_disjunction(
                    [self.to_clauses(operand) for operand in operands]
                )
            case owl.ObjectSomeValuesFrom(property, filler):
                return self._name_in_at_least(1, property, filler)
            case owl.ObjectMinCardinality(n, property, filler):
                return self._name_in_at_least(n, property, filler)
            case owl.ObjectAllValuesFrom(property, filler):
                return self._name_in_universal(property, filler)
            case owl.ObjectMaxCardinality(n, property, filler):
                return self._name_in_at_most(n, property, filler)
        raise TypeError(expression)

    def keep_one_restriction(self, disjunction: Disjunction) -> Disjunction:
        """Give names to all ∀ and ≤ in a disjunction but one; a ≤ is kept before a ∀."""
        restrictions = [d for d in disjunction if isinstance(d, _RESTRICTIONS)]
        if len(restrictions) < 2:
            return disjunction
        kept = next(
            (r for r in restrictions if isinstance(r, owl.ObjectMaxCardinality)), restrictions[0]
        )
        return tuple(
            self._literal_below([(d,)]) if d in restrictions and d != kept else d
            for d in disjunction
        )

    def _name_in_at_least(
        self, n: int, property: owl.ObjectPropertyExpression, filler: owl.ClassExpression
    ) -> list[Disjunction]:
        """Rewrite ≥n R.D to normal form: its filler D gets a name."""
        inner = self.to_clauses(filler)
        if inner == [()]:
            return [()]
        return [
            (
                at_least(
                    n, property, self._literal_below(inner, positive=True) if inner else owl.THING
                ),
            )
        ]

    def _name_in_at_most(
        self, n: int, property: owl.ObjectPropertyExpression, filler: owl.ClassExpression
    ) -> list[Disjunction]:
        """Rewrite ≤n R.D to normal form: ¬D gets a name Q, and the filler becomes ¬Q."""
        complement = self.to_clauses(nnf(filler, False))
        if not complement:
            return []
        name = (
            owl.THING
            if complement == [()]
            else complement_of(self._literal_below(complement, positive=False))
        )
        return [(owl.ObjectMaxCardinality(n, property, name),)]

    def _name_in_universal(
        self, property: owl.ObjectPropertyExpression, filler: owl.ClassExpression
    ) -> list[Disjunction]:
        """Rewrite ∀R.(D₁ ⊓ D₂) to ∀R.D₁ ⊓ ∀R.D₂; in a disjunction all Dᵢ that are no literals are
        named.
        """
        inner = self.to_clauses(filler)
        literals = [
            tuple(d if is_literal(d) else self._literal_below([(d,)]) for d in disjunction)
            for disjunction in inner
        ]
        return [
            (owl.ObjectAllValuesFrom(property, union_of(disjunction)),)
            for disjunction in _simplified_conjunction(literals)
        ]

    def _distribute_disjunction(self, operands: list[list[Disjunction]]) -> list[Disjunction]:
        """Distribute a disjunction over the conjunctions that are its operands; large ones get
        names instead.
        """
        if [] in operands:
            return []
        factors = [operand for operand in operands if operand != [()]]
        for large in sorted((f for f in factors if len(f) > 1), key=len, reverse=True):
            if _is_small(factors):
                break
            factors[next(i for i, f in enumerate(factors) if f is large)] = [
                (self._literal_below(large),)
            ]
        product: list[Disjunction] = [()]
        for factor in factors:
            product = [left + right for left in product for right in factor]
        return _simplified_conjunction(product)

    def _literal_below(
        self, concept: list[Disjunction], positive: bool | None = None
    ) -> owl.ClassExpression:
        """Return a literal L with L ⊑ `concept`: its only literal, or a fresh name with a
        definition.

        positive: the sign of L; by default the one that keeps Horn inclusions Horn.
        """
        sign = any(map(_is_positive, concept)) if positive is None else positive
        if len(concept) == 1 and len(concept[0]) == 1 and is_literal(concept[0][0]):
            (literal,) = concept[0]
            if positive is None or isinstance(literal, owl.Class) is positive:
                return literal
        literal, is_new = self._names.literal(frozenset(map(frozenset, concept)), sign)
        if is_new:
            self._definitions += [(complement_of(literal), *disjunction) for disjunction in concept]
        return literal


def _is_small(factors: list[list[Disjunction]]) -> bool:
    """Decide whether distributing ⊔ over `factors` is cheap: it gives few disjunctions, or Horn
    ones.
    """
    several = [factor for factor in factors if len(factor) > 1]
    if prod(map(len, several)) <= DISTRIBUTED:
        return True
    others = (
        disjunction for factor in factors if factor is not several[0] for disjunction in factor
    )
    return len(several) == 1 and not any(map(_is_positive, others))


def _is_positive(disjunction: Disjunction) -> bool:
    """Decide whether a disjunction contributes a head atom to its clause."""
    return any(
        any(isinstance(literal, owl.Class) for literal in disjuncts(d.filler))
        if isinstance(d, owl.ObjectAllValuesFrom)
        else not isinstance(d, owl.ObjectComplementOf)
        for d in disjunction
    )


def _simplified_conjunction(disjunctions: Iterable[Disjunction]) -> list[Disjunction]:
    """Simplify a conjunction: no repetitions, no tautologies; ⊥ alone if it occurs."""
    kept = [unique for d in disjunctions if not is_tautology(unique := tuple(dict.fromkeys(d)))]
    return [()] if () in kept else list(dict.fromkeys(kept))


def is_tautology(disjunction: Disjunction) -> bool:
    """Decide whether two disjuncts together hold of everything, such as A and ¬A.

    Such pairs are A ⊔ ¬A, ≥n R.C ⊔ ≤m R.C with m ≥ n - 1, and ∃R.C ⊔ ∀R.¬C.
    """
    if len(disjunction) < 2:
        return False
    if any(isinstance(d, owl.ObjectComplementOf) and d.operand in disjunction for d in disjunction):
        return True
    least = {
        (property, filler): n
        for n, property, filler in filter(None, map(_as_at_least, disjunction))
    }
    most = filter(None, map(_as_at_most, disjunction))
    return any(n >= least.get((property, filler), n + 2) - 1 for n, property, filler in most)


def _as_at_least(d: owl.ClassExpression) -> tuple[int, object, object] | None:
    """Return a disjunct ≥n property.filler as (n, property, filler); None for other disjuncts."""
    match d:
        case owl.ObjectSomeValuesFrom(property, filler):
            return 1, property, filler
        case owl.ObjectMinCardinality(n, property, filler):
            return n, property, filler
        case owl.DataMinCardinality(n, data_property, data_range):
            return n, data_property, data_range
    return None


def _as_at_most(d: owl.ClassExpression) -> tuple[int, object, object] | None:
    """Return a disjunct ≤n property.filler as (n, property, filler); None for other disjuncts."""
    match d:
        case owl.ObjectAllValuesFrom(property, owl.ObjectComplementOf(operand)):
            return 0, property, operand
        case owl.ObjectAllValuesFrom(property, filler) if filler == owl.NOTHING:
            return 0, property, owl.THING
        case owl.ObjectMaxCardinality(n, property, filler):
            return n, property, filler
        case owl.DataMaxCardinality(n, data_property, data_range):
            return n, data_property, data_range
    return None
