"""What the passes hand on: an inclusion with the axioms it follows from, and what a pass may
know of the whole TBox; fresh names.

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
from shiq.roles import LOOPS, ROLE_INCLUSIONS, Role, RoleBox, role_box, role_of
from shiq.signature import parts

if TYPE_CHECKING:
    from shiq.role_words import RolePaths

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Inclusion:
    """sub ⊑ sup, with one set of axiom indexes that suffices for it.

    The set is empty for the definition of a fresh name: such a definition extends every TBox
    conservatively, whichever axioms of it are taken, so it follows from nothing and blames no
    axiom.
    """

    sub: owl.ClassExpression
    sup: owl.ClassExpression
    origins: frozenset[int] = frozenset()

    @property
    def disjuncts(self) -> tuple[owl.ClassExpression, ...]:
        """The operands of ``sup`` seen as a disjunction; none for ⊥."""
        return disjuncts(self.sup)


@dataclass(frozen=True)
class RoleOrigins:
    """Which axioms make role inclusions, transitivity and words of roles hold: the origins of
    what passes add.

    ``steps[R]`` are pairs (S, i): axiom i says R ⊑ S. ``transitive[R]`` is an axiom that says R
    is transitive. ``into[P]``, for a property P, are pairs (i, properties): axiom i says that
    words of these lie below P or its inverse; ``about[P]``: the axioms on disjoint, asymmetric
    and irreflexive roles that name P.
    """

    steps: Mapping[Role, tuple[tuple[Role, int], ...]] = field(default_factory=dict)
    transitive: Mapping[Role, int] = field(default_factory=dict)
    into: Mapping[str, tuple[tuple[int, frozenset[str]], ...]] = field(default_factory=dict)
    about: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def words(self, role: Role) -> frozenset[int]:
        """All axioms that say which words of roles lie below ``role``."""
        found: set[int] = set()
        seen, queue = {role.iri}, [role.iri]
        while queue:
            for index, properties in self.into.get(queue.pop(), ()):
                found.add(index)
                queue += properties - seen
                seen |= properties
        return frozenset(found)

    def inclusion(self, sub: Role, sup: Role) -> frozenset[int]:
        """The axioms of one shortest chain of inclusions from ``sub`` to ``sup``; ``sub`` ⊑*
        ``sup`` must hold.
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
        """The axioms that make ``role`` transitive: its own, or one on a role in ``equivalents``
        with the equivalence.
        """
        if role in self.transitive:
            return frozenset((self.transitive[role],))
        other = next(r for r in equivalents if r in self.transitive)
        return self.inclusion(role, other) | self.inclusion(other, role) | {self.transitive[other]}


def role_origins(axioms: Sequence[owl.Axiom]) -> RoleOrigins:
    """What ``axioms`` say of roles, each with its index."""
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
    return RoleOrigins(_frozen(steps), transitive, _frozen(into), _frozen(about))


def _frozen(lists: Mapping[K, list[V]]) -> dict[K, tuple[V, ...]]:
    return {key: tuple(values) for key, values in lists.items()}


@dataclass(frozen=True)
class Context:
    """What is fixed before the passes run. ``paths``: the words that roles stand for, where
    there are property chains. ``taken`` are names that no fresh name may have; ``scope`` keeps
    the fresh names of the two forms (clausal, Definition 4) apart.
    """

    roles: RoleBox = field(default_factory=RoleBox)
    role_origins: RoleOrigins = field(default_factory=RoleOrigins)
    datatype_origins: Mapping[str, frozenset[int]] = field(default_factory=dict)
    taken: frozenset[str] = frozenset()
    scope: str = ""
    paths: RolePaths | None = None

    def fresh(self, label: str) -> FreshNames:
        return FreshNames(self.scope + label, self.taken)


def disjuncts(expression: owl.ClassExpression) -> tuple[owl.ClassExpression, ...]:
    """The operands of ``expression`` seen as a disjunction; none for ⊥."""
    if isinstance(expression, owl.ObjectUnionOf):
        return expression.operands
    return (
        ()
        if isinstance(expression, owl.Class) and expression.iri == owl.NOTHING.iri
        else (expression,)
    )


def union_of(operands: Iterable[owl.ClassExpression]) -> owl.ClassExpression:
    """⊔ operands: flat, ⊥ left out, ⊤ as soon as one operand is ⊤."""
    flat: list[owl.ClassExpression] = []
    for operand in operands:
        if operand == owl.THING:
            return owl.THING
        flat += disjuncts(operand)
    return flat[0] if len(flat) == 1 else owl.ObjectUnionOf(tuple(flat)) if flat else owl.NOTHING


def intersection_of(operands: Iterable[owl.ClassExpression]) -> owl.ClassExpression:
    """⊓ operands: flat, ⊤ left out, ⊥ as soon as one operand is ⊥."""
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
    """≥n role.filler for n ≥ 1, in the one form that the passes use: ∃ where n is 1."""
    return (
        owl.ObjectSomeValuesFrom(role, filler)
        if n == 1
        else owl.ObjectMinCardinality(n, role, filler)
    )


def complement_of(literal: owl.ClassExpression) -> owl.ClassExpression:
    """The literal that says the opposite of ``literal``, a name or a negated name."""
    return (
        literal.operand
        if isinstance(literal, owl.ObjectComplementOf)
        else owl.ObjectComplementOf(literal)
    )


def is_literal(expression: owl.ClassExpression) -> bool:
    """Whether ``expression`` is a name or a negated name."""
    return isinstance(expression, owl.Class | owl.ObjectComplementOf)


PREFIX = "urn:shiq:fresh:"
_RESERVED = re.compile(
    PREFIX
    + r"(definition4:)?(desugar|normal-form|restrictions|transitivity|paths):[0-9]+|"
    + LOOPS
    + ".*"
)


def is_reserved(name: str) -> bool:
    """Whether ``name`` looks like one that a pass makes. Others that begin with `PREFIX` are
    free for callers.
    """
    return _RESERVED.fullmatch(name) is not None


class FreshNames:
    """Names ``urn:shiq:fresh:<label>:<n>``, numbered in the order in which their keys come up;
    names in ``taken`` are passed over. What comes later never changes an earlier name, so axioms
    added at the end leave those of the front alone.

    >>> names = FreshNames("demo")
    >>> names.name("a filler"), names.name("another"), names.name("a filler")
    (('urn:shiq:fresh:demo:0', True), ('urn:shiq:fresh:demo:1', True), ('urn:shiq:fresh:demo:0', False))
    """

    def __init__(self, label: str, taken: frozenset[str] = frozenset()) -> None:
        self._candidates = (name for n in count() if (name := f"{PREFIX}{label}:{n}") not in taken)
        self._names: dict[Hashable, str] = {}

    def name(self, key: Hashable) -> tuple[str, bool]:
        """The name for ``key``, and whether it is new."""
        known = self._names.get(key)
        if known is not None:
            return known, False
        made = self._names[key] = next(self._candidates)
        return made, True

    def literal(self, key: Hashable, positive: bool) -> tuple[owl.ClassExpression, bool]:
        """A literal on the name for (``key``, ``positive``), and whether the name is new.

        The literal L is to be defined by L ⊑ D. With ``positive`` it is a name Q (Q ⊑ D),
        otherwise ¬Q (¬D ⊑ Q): taking the latter where D holds no positive literal keeps Horn
        inclusions Horn (Motik, Shearer, Horrocks 2009, section 4.1).
        """
        name, is_new = self.name((key, positive))
        return (owl.Class(name) if positive else owl.ObjectComplementOf(owl.Class(name))), is_new


def restriction_of(
    inclusion: Inclusion,
) -> owl.ObjectAllValuesFrom | owl.ObjectMaxCardinality | None:
    """The one ∀ or ≤ among the disjuncts, if any."""
    for disjunct in inclusion.disjuncts:
        if isinstance(disjunct, owl.ObjectAllValuesFrom | owl.ObjectMaxCardinality):
            return disjunct
    return None
