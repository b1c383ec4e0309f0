"""Axioms so that what is Horn stays Horn: a class on the left that is a conjunction with
restrictions in it gets them by name.

A ⊓ ∃r.(B ⊓ ∃s.C) ⊑ D becomes ∃s.C ⊑ Q₁, B ⊓ Q₁ ⊑ Q₂, ∃r.Q₂ ⊑ Q₃, A ⊓ Q₃ ⊑ D; as clauses of SHIQ
the first would leave a choice between D and ∀r.¬…. The names are new, so nothing else follows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from shiq import model as owl

_PREFIX = "urn:discovery:q"


@dataclass
class Left:
    """Names what stands on the left of inclusions; ``axioms``: what the names are about."""

    axioms: list[owl.Axiom] = field(default_factory=list)
    _names: dict[owl.ClassExpression, owl.Class] = field(default_factory=dict)

    def rewritten(self, given: Iterable[owl.Axiom]) -> list[owl.Axiom]:
        """``given``, and the axioms of the names that it takes."""
        found = [axiom for each in given for axiom in self._axiom(each)]
        return [*found, *self.axioms]

    def _axiom(self, axiom: owl.Axiom) -> Iterator[owl.Axiom]:
        match axiom:
            case owl.SubClassOf(sub, sup):
                yield owl.SubClassOf(self.left(sub), sup)
            case owl.EquivalentClasses(expressions) if any(
                not isinstance(e, owl.Class) for e in expressions
            ):
                for first, second in zip(expressions, (*expressions[1:], expressions[0])):
                    yield owl.SubClassOf(self.left(first), second)
            case _:
                yield axiom

    def left(self, expression: owl.ClassExpression) -> owl.ClassExpression:
        """An expression with no restriction inside another or a conjunction, which it includes."""
        match expression:
            case owl.ObjectIntersectionOf(operands):
                return owl.ObjectIntersectionOf(tuple(map(self._name, operands)))
            case owl.ObjectSomeValuesFrom(property, filler):
                return owl.ObjectSomeValuesFrom(property, self._name(filler))
        return expression

    def _name(self, expression: owl.ClassExpression) -> owl.ClassExpression:
        if not isinstance(expression, owl.ObjectIntersectionOf | owl.ObjectSomeValuesFrom):
            return expression
        found = self._names.get(expression)
        if found is None:
            found = self._names[expression] = owl.Class(f"{_PREFIX}:{len(self._names)}")
            self.axioms.append(owl.SubClassOf(self.left(expression), found))
        return found
