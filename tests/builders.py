"""Ontologies and data in the notation of description logic, for tests.

>>> tbox("Cat ⊑ Animal ⊓ ∃chases.Mouse; Trans(part)").axioms[0].sub
Class(iri='urn:t#Cat')
>>> concept("≥2 r⁻.(¬A ⊔ ⊤)").property
ObjectInverseOf(property=ObjectProperty(iri='urn:t#r'))
>>> [type(axiom).__name__ for axiom in tbox("r ∘ s ⊑ t; r⁻ ⊑ s; A ≡ ∀r.B; Disjoint(r, s)").axioms]
['SubObjectPropertyChain', 'SubObjectPropertyOf', 'EquivalentClasses', 'DisjointObjectProperties']
>>> tbox("A B")
Traceback (most recent call last):
ValueError: no axiom: A B
>>> [type(a).__name__ for a in triples("tom a Cat; chases jerry . jerry a Mouse")]
['ClassAssertion', 'ObjectPropertyAssertion', 'ClassAssertion']
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from shiq import model as m

#: The namespace of names without one.
NAMESPACE = "urn:t#"
_TOKEN = re.compile(r"\s*([⊓⊔¬∃∀≥≤=().,⊤⊥⊑≡∘⁻]|\d+|[\w#:/-]+)")
_STATED: dict[str, Callable[..., Any]] = {
    "Trans": m.TransitiveObjectProperty,
    "Func": m.FunctionalObjectProperty,
    "Sym": m.SymmetricObjectProperty,
    "Asym": m.AsymmetricObjectProperty,
    "Irr": m.IrreflexiveObjectProperty,
    "Ref": m.ReflexiveObjectProperty,
    "Disjoint": lambda *members: (
        m.DisjointObjectProperties if _is_role(members[0]) else m.DisjointClasses
    )(members),
}
_COUNTED = {
    "≥": m.ObjectMinCardinality,
    "≤": m.ObjectMaxCardinality,
    "=": m.ObjectExactCardinality,
}


def tbox(text: str) -> m.TBox:
    """The TBox of axioms that semicolons or new lines part: C ⊑ D, C ≡ D, r ⊑ s, r ∘ s ⊑ t,
    Disjoint(C, D), Trans(r), Func(r), Sym(r), Asym(r), Irr(r), Ref(r).

    Concepts: ⊤ ⊥ ¬C C ⊓ D, C ⊔ D, ∃r.C, ∀r.C, ≥2 r.C, ≤2 r.C, =2 r.C; r⁻ is the inverse of r.
    Names of roles begin with a small letter, those of classes with a capital.
    """
    lines = (line.strip() for line in re.split(r"[;\n]", text))
    return m.TBox(tuple(_Reader(line).axiom() for line in lines if line))


def concept(text: str) -> m.ClassExpression:
    """A concept, as in `tbox`."""
    return _Reader(text).whole(_Reader.union)


def triples(text: str) -> list[m.Assertion]:
    """Assertions: of one subject, parted by semicolons; subjects end with " .". Names as in `tbox`;
    ``tom a Cat; chases jerry``.
    """
    found: list[m.Assertion] = []
    for part in re.split(r"\s\.(?:\s+|$)", text.strip()):
        subject, _, rest = part.strip().partition(" ")
        for pair in filter(None, (pair.split() for pair in rest.split(";"))):
            predicate, value = pair
            if predicate == "a":
                found.append(m.ClassAssertion(m.Class(iri(value)), iri(subject)))
            else:
                role = m.ObjectProperty(iri(predicate))
                found.append(m.ObjectPropertyAssertion(role, iri(subject), iri(value)))
    return found


def iri(name: str) -> str:
    """A name in the namespace of tests, unless it is an IRI."""
    return name if ":" in name else NAMESPACE + name


def _is_role(value: object) -> bool:
    return isinstance(value, m.ObjectProperty | m.ObjectInverseOf)


class _Reader:
    """Reads one axiom or concept, by recursive descent."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _TOKEN.findall(text)[::-1]
        if re.sub(r"\s", "", text) != "".join(self.tokens[::-1]):
            raise ValueError(f"not in the notation of tests/builders.py: {text}")

    def whole(self, read: Callable[[_Reader], Any]) -> Any:
        value = read(self)
        if self.tokens:
            raise ValueError(f"{self.tokens[::-1]} is left of {self.text}")
        return value

    def takes(self, token: str) -> bool:
        if self.tokens and self.tokens[-1] == token:
            self.tokens.pop()
            return True
        return False

    def axiom(self) -> Any:
        return self.whole(_Reader._axiom)

    def _axiom(self) -> Any:
        if self.tokens[-1] in _STATED and self.tokens[-2] == "(":
            make = _STATED[self.tokens.pop()]
            return make(*self._members())
        left = [self._side()]
        while self.takes("∘"):
            left.append(self._side())
        if not self.tokens or (sign := self.tokens.pop()) not in "⊑≡":
            raise ValueError(f"no axiom: {self.text}")
        right = self._side()
        if len(left) > 1:
            return m.SubObjectPropertyChain(tuple(left), right)
        if _is_role(right):
            pair = (left[0], right)
            return (
                m.SubObjectPropertyOf(*pair) if sign == "⊑" else m.EquivalentObjectProperties(pair)
            )
        return (
            m.SubClassOf(left[0], right) if sign == "⊑" else m.EquivalentClasses((left[0], right))
        )

    def _members(self) -> Iterator[Any]:
        self.tokens.pop()
        while not self.takes(")"):
            yield self._side()
            self.takes(",")

    def _side(self) -> Any:
        return self.role() if self.tokens[-1][0].islower() else self.union()

    def role(self) -> m.ObjectPropertyExpression:
        named = m.ObjectProperty(iri(self.tokens.pop()))
        return m.ObjectInverseOf(named) if self.takes("⁻") else named

    def union(self) -> m.ClassExpression:
        members = [self.intersection()]
        while self.takes("⊔"):
            members.append(self.intersection())
        return members[0] if len(members) == 1 else m.ObjectUnionOf(tuple(members))

    def intersection(self) -> m.ClassExpression:
        members = [self.simple()]
        while self.takes("⊓"):
            members.append(self.simple())
        return members[0] if len(members) == 1 else m.ObjectIntersectionOf(tuple(members))

    def simple(self) -> m.ClassExpression:
        match token := self.tokens.pop():
            case "⊤":
                return m.THING
            case "⊥":
                return m.NOTHING
            case "¬":
                return m.ObjectComplementOf(self.simple())
            case "(":
                inner = self.union()
                self.tokens.pop()
                return inner
            case "∃" | "∀":
                kind = m.ObjectSomeValuesFrom if token == "∃" else m.ObjectAllValuesFrom
                return kind(self.role(), self._filler())
            case "≥" | "≤" | "=":
                number = int(self.tokens.pop())
                return _COUNTED[token](number, self.role(), self._filler())
        return m.Class(iri(token))

    def _filler(self) -> m.ClassExpression:
        return self.simple() if self.takes(".") else m.THING
