"""Data of the rewriting passes: inclusions with origins, the context of a TBox, and fresh names.

>>> Inclusion(owl.Class("urn:A"), owl.Class("urn:B"), frozenset({0})).disjuncts
(Class(iri='urn:B'),)
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, TypeVar

from shiq import model as owl
from shiq.model.roles import LOOPS, ROLE_INCLUSIONS, Role, RoleBox, role_box, role_of
from shiq.model.walk import parts

if TYPE_CHECKING:
    from shiq.model.role_words import RolePaths

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Inclusion:
    """A class inclusion sub ⊑ sup, with the indexes of the axioms that it comes from.

    origins: indexes of axioms that together imply it. Empty for the definition of a fresh name: it
        extends every TBox conservatively.
    """

    sub: owl.ClassExpression
    sup: owl.ClassExpression
    origins: frozenset[int] = frozenset()

    @property
    def disjuncts(self) -> tuple[owl.ClassExpression, ...]:
        """Return the disjuncts of ``sup``; () for ⊥."""
        return disjuncts(self.sup)


@dataclass(frozen=True)
class RoleOrigins:
    """For explanations: the axioms that role inclusions, transitivity and role words come from.

    steps: R → pairs (S, i): axiom i says R ⊑ S.
    transitive: R → index of an axiom that says R is transitive.
    word_origins: property P → pairs (i, properties): by axiom i, words over these lie below P or
        its
        inverse.
    constraint_origins: property P → axioms on disjoint, asymmetric and irreflexive roles that
        mention
        it.
    """

    steps: Mapping[Role, tuple[tuple[Role, int], ...]] = field(default_factory=dict)
    transitive: Mapping[Role, int] = field(default_factory=dict)
    word_origins: Mapping[str, tuple[tuple[int, frozenset[str]], ...]] = field(default_factory=dict)
    constraint_origins: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def words(self, role: Role) -> frozenset[int]:
        """Return the indexes of all axioms that say which words of roles imply `role`."""
        found: set[int] = set()
        seen, queue = {role.iri}, [role.iri]
        while queue:
            for index, properties in self.word_origins.get(queue.pop(), ()):
                found.add(index)
                queue += properties - seen
                seen |= properties
        return frozenset(found)

    def inclusion(self, sub: Role, sup: Role) -> frozenset[int]:
        """Return the indexes of the axioms on one shortest chain of role inclusions from `sub` to
        `sup`.
        """
        came: dict[Role, tuple[Role, int] | None] = {sub: None}
        queue = deque((sub,))
        while sup not in came:
            role = queue.popleft()
            for target, index in self.steps.get(role, ()):
                if target not in came:
                    came[target] = (role, index)
                    queue.append(target)
        origins = set()
        step = came[sup]
        while step is not None:
            origins.add(step[1])
            step = came[step[0]]
        return frozenset(origins)

    def transitivity(self, role: Role, equivalents: Sequence[Role]) -> frozenset[int]:
        """Return the indexes of axioms that make `role` transitive: its own, or one on an
        equivalent role.
        """
        if role in self.transitive:
            return frozenset((self.transitive[role],))
        other = next(r for r in equivalents if r in self.transitive)
        return self.inclusion(role, other) | self.inclusion(other, role) | {self.transitive[other]}


def role_origins(axioms: Sequence[owl.Axiom]) -> RoleOrigins:
    """Collect the role axioms, by their indexes in `axioms`."""
    steps: dict[Role, list[tuple[Role, int]]] = {}
    transitive: dict[Role, int] = {}
    into: dict[str, list[tuple[int, frozenset[str]]]] = {}
    about: dict[str, list[int]] = {}
    for index, axiom in enumerate(axioms):
        if isinstance(axiom, ROLE_INCLUSIONS):
            for r, s in sorted(role_box((axiom,)).inclusions):
                steps.setdefault(r, []).append((s, index))
                steps.setdefault(r.inverse, []).append((s.inverse, index))
                into.setdefault(s.iri, []).append((index, frozenset((r.iri,))))
        elif isinstance(axiom, owl.TransitiveObjectProperty):
            role = role_of(axiom.property)
            transitive.setdefault(role, index)
            transitive.setdefault(role.inverse, index)
            into.setdefault(role.iri, []).append((index, frozenset((role.iri,))))
        elif isinstance(axiom, owl.SubObjectPropertyChain):
            below = frozenset(role_of(link).iri for link in axiom.chain)
            into.setdefault(role_of(axiom.sup).iri, []).append((index, below))
        elif isinstance(
            axiom,
            owl.DisjointObjectProperties
            | owl.AsymmetricObjectProperty
            | owl.IrreflexiveObjectProperty,
        ):
            for iri in {part.iri for part in parts(axiom) if isinstance(part, owl.ObjectProperty)}:
                about.setdefault(iri, []).append(index)
    return RoleOrigins(_as_tuples(steps), transitive, _as_tuples(into), _as_tuples(about))


def _as_tuples(lists: Mapping[K, list[V]]) -> dict[K, tuple[V, ...]]:
    """Convert the lists of a dictionary to tuples."""
    return {key: tuple(values) for key, values in lists.items()}


@dataclass(frozen=True)
class Context:
    """Fixed facts about the TBox that all rewriting passes share, such as its roles and origins.

    paths: automata of the words that roles stand for; None without property chains.
    reserved_names: names that no fresh name may have.
    scope: prefix that separates the fresh names of the two forms (clausal, Definition 4).
    """

    roles: RoleBox = field(default_factory=RoleBox)
    role_origins: RoleOrigins = field(default_factory=RoleOrigins)
    datatype_origins: Mapping[str, frozenset[int]] = field(default_factory=dict)
    reserved_names: frozenset[str] = frozenset()
    scope: str = ""
    paths: RolePaths | None = None

    def fresh_names(self, label: str) -> FreshNames:
        """Return a generator of fresh names for the pass `label`."""
        return FreshNames(self.scope + label, self.reserved_names)


def disjuncts(expression: owl.ClassExpression) -> tuple[owl.ClassExpression, ...]:
    """Return the disjuncts of a class expression; () for ⊥."""
    if isinstance(expression, owl.ObjectUnionOf):
        return expression.operands
    return (
        ()
        if isinstance(expression, owl.Class) and expression.iri == owl.NOTHING.iri
        else (expression,)
    )


def union_of(operands: Iterable[owl.ClassExpression]) -> owl.ClassExpression:
    """Make the union of class expressions, flat. ⊥ is dropped; with a ⊤ the result is ⊤."""
    flat: list[owl.ClassExpression] = []
    for operand in operands:
        if operand == owl.THING:
            return owl.THING
        flat += disjuncts(operand)
    return flat[0] if len(flat) == 1 else owl.ObjectUnionOf(tuple(flat)) if flat else owl.NOTHING


def intersection_of(operands: Iterable[owl.ClassExpression]) -> owl.ClassExpression:
    """Make the intersection of class expressions, flat. ⊤ is dropped; with a ⊥ the result is ⊥."""
    flat: list[owl.ClassExpression] = []
    for operand in operands:
        if operand == owl.NOTHING:
            return owl.NOTHING
        if isinstance(operand, owl.ObjectIntersectionOf):
            flat += operand.operands
        elif operand != owl.THING:
            flat.append(operand)
    return (
        flat[0] if len(flat) == 1 else owl.ObjectIntersectionOf(tuple(flat)) if flat else owl.THING
    )


def at_least(
    n: int, role: owl.ObjectPropertyExpression, filler: owl.ClassExpression
) -> owl.ClassExpression:
    """Make the restriction ≥n role.filler in the one form that the passes use: ∃ for n = 1."""
    return (
        owl.ObjectSomeValuesFrom(role, filler)
        if n == 1
        else owl.ObjectMinCardinality(n, role, filler)
    )


def complement_of(literal: owl.ClassExpression) -> owl.ClassExpression:
    """Return the complement of a class name or negated class name."""
    return (
        literal.operand
        if isinstance(literal, owl.ObjectComplementOf)
        else owl.ObjectComplementOf(literal)
    )


def is_literal(expression: owl.ClassExpression) -> bool:
    """Decide whether `expression` is a name or a negated name."""
    return isinstance(expression, owl.Class | owl.ObjectComplementOf)


PREFIX = "urn:shiq:fresh:"
_RESERVED = re.compile(
    PREFIX
    + r"(definition4:)?(desugar|normal-form|restrictions|transitivity|paths):[0-9]+|"
    + LOOPS
    + ".*"
)


def is_reserved(name: str) -> bool:
    """Decide whether a class name has the form of the fresh names that the passes make.

    Other names that begin with `PREFIX` are free for callers.
    """
    return _RESERVED.fullmatch(name) is not None


class FreshNames:
    """Generator of fresh names ``urn:shiq:fresh:<label>:<n>``: one for each key, numbered in the
    order of first use.

    Names in ``taken`` are skipped. Later keys never change earlier names, so axioms added at the
    end leave the names of the front unchanged.

    >>> names = FreshNames("demo")
    >>> names.name("a filler"), names.name("another"), names.name("a filler")
    (('urn:shiq:fresh:demo:0', True), ('urn:shiq:fresh:demo:1', True), ('urn:shiq:fresh:demo:0', False))
    """

    def __init__(self, label: str, taken: frozenset[str] = frozenset()) -> None:
        self._candidates = (name for n in count() if (name := f"{PREFIX}{label}:{n}") not in taken)
        self._names: dict[Hashable, str] = {}

    def name(self, key: Hashable) -> tuple[str, bool]:
        """Return (the name for `key`, whether it is new)."""
        known = self._names.get(key)
        if known is not None:
            return known, False
        made = self._names[key] = next(self._candidates)
        return made, True

    def literal(self, key: Hashable, positive: bool) -> tuple[owl.ClassExpression, bool]:
        """Return (the name for `key`, negated unless `positive`; whether it is new).

        The caller defines the literal L by L ⊑ D. If `positive`, L is a name Q (Q ⊑ D), else ¬Q (¬D
        ⊑ Q). Choose the negative one if D has no positive literal; this keeps Horn inclusions Horn
        (Motik, Shearer, Horrocks 2009, section 4.1).
        """
        name, is_new = self.name((key, positive))
        return (owl.Class(name) if positive else owl.ObjectComplementOf(owl.Class(name))), is_new


def restriction_of(
    inclusion: Inclusion,
) -> owl.ObjectAllValuesFrom | owl.ObjectMaxCardinality | None:
    """Return the only ∀ or ≤ among the disjuncts of an inclusion, or None."""
    for disjunct in inclusion.disjuncts:
        if isinstance(disjunct, owl.ObjectAllValuesFrom | owl.ObjectMaxCardinality):
            return disjunct
    return None
