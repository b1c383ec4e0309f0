"""What follows of named individuals where T is Horn without number restrictions: labels, sent along role assertions.

The anonymous part under an individual depends on its label alone, so each distinct label is closed once, by one run of the
hypertableau on a single node. T ∪ A is saturated once; a snapshot widens from what it touches, and leaves the rest as it is.
Compared with the model of the whole in `tests/test_discovery_entailing.py`.

Source: SPEC 6, "Entail once per snapshot".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

from shiq import model as owl
from shiq.bits import mask_of
from shiq.clause import AtLeast, Atom, ClausalTBox, Clause
from shiq.reasoner.hypertableau.search import decide
from shiq.reasoner.hypertableau.tables import Tables
from shiq.reasoner.protocol import Module
from shiq.roles import Role
from shiq.verdict import Verdict

_STEPS = 50_000
#: The property, the other end, whether that is the object.
Edge = tuple[str, str, bool]


class Clash(Exception):
    """What is asserted contradicts T."""


class NotHorn(Exception):
    """Something that labels cannot say: it is asked another way."""


@dataclass
class Labels:
    """What holds of individuals, as masks of the atoms of a `ClausalTBox`, and the assertions of roles, from both ends."""

    at: dict[str, int] = field(default_factory=dict)
    near: dict[str, list[Edge]] = field(default_factory=dict)


@dataclass
class LabelCalculus:
    """The rules of a Horn TBox. Raises: NotHorn."""

    tables: Tables
    names: Mapping[owl.ClassExpression, owl.Class]
    _closed: dict[int, int | None] = field(default_factory=dict)
    _sent: dict[tuple[str, int, int], tuple[int, int] | None] = field(default_factory=dict)
    _rules: dict[str, list[tuple[bool, int, int, int, int]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        tbox = self.tables.tbox
        box = tbox.roles
        if not all(map(_is_horn, tbox.clauses)) or not _is_plain(tbox):
            raise NotHorn
        self.ids = tbox.atom_ids
        self._clauses = [clause for clause in tbox.clauses if clause.role is not None]
        self._above = box.superroles

    def close(self, label: int) -> int:
        """A label with what its own individual and the anonymous ones below it bring. Raises: Clash, NotHorn."""
        if label not in self._closed:
            outcome = decide(self.tables, Module((label,), (0,)), _STEPS, None)
            if outcome.answer.verdict is Verdict.INCONSISTENT:
                self._closed[label] = None
            elif outcome.model is None or outcome.model.choices:
                raise NotHorn
            else:
                self._closed[label] = outcome.model.pos[0]
        found = self._closed[label]
        if found is None:
            raise Clash
        return found

    def sent(self, role: str, subject: int, object: int) -> tuple[int, int]:
        """What an assertion of a role brings to the labels of its ends. Raises: Clash."""
        key = role, subject, object
        if key not in self._sent:
            more = [0, 0]
            found: tuple[int, int] | None = None
            for turned, body, branch_body, head, branch_head in self._rules_of(role):
                centre, branch = (object, subject) if turned else (subject, object)
                if body & ~centre or branch_body & ~branch:
                    continue
                if not (head or branch_head):
                    break
                more[turned] |= head
                more[not turned] |= branch_head
            else:
                found = more[0], more[1]
            self._sent[key] = found
        known = self._sent[key]
        if known is None:
            raise Clash
        return known

    def _rules_of(self, role: str) -> list[tuple[bool, int, int, int, int]]:
        """The clauses that an assertion of a role matches; whether they are centred at its object."""
        if role not in self._rules:
            above = self._above(Role(role))
            self._rules[role] = [
                (turned, self._mask(c.body), self._mask(c.branch_body), self._mask(c.head), self._mask(c.branch_head))
                for c in self._clauses
                for turned in (False, True)
                if c.role is not None and (c.role.inverse if turned else c.role) in above
            ]
        return self._rules[role]

    def _mask(self, atoms: Iterable[Atom]) -> int:
        return mask_of(self.ids[atom] for atom in atoms)

    def saturated(self, assertions: Iterable[owl.Assertion], base: Labels) -> Labels:
        """What ``assertions`` bring beside a ``base`` that is saturated: labels that are new or grew. Raises: Clash, NotHorn."""
        found, waiting = self._told(assertions, base)
        at, near, below = found.at, found.near, base.at
        while waiting:
            x, _ = waiting.popitem()
            again = True
            while again:
                again = False
                own = at[x]
                for role, other, forward in chain(near.get(x, ()), base.near.get(x, ())):
                    theirs = at.get(other, below.get(other, 0))
                    mine, more = self.sent(role, own, theirs) if forward else self.sent(role, theirs, own)[::-1]
                    if more & ~theirs:
                        at[other] = self.close(theirs | more)
                        waiting[other] = None
                    if mine & ~at[x]:
                        own = at[x] = self.close(at[x] | mine)
                        again = True
        return found

    def _told(self, assertions: Iterable[owl.Assertion], base: Labels) -> tuple[Labels, dict[str, None]]:
        """What is asserted, closed at each individual, and whom it is about."""
        found, told, ids = Labels(), dict[str, int](), self.ids
        near = found.near
        for assertion in assertions:
            kind = type(assertion)
            if kind is owl.ObjectPropertyAssertion and type(assertion.property) is owl.ObjectProperty:  # type: ignore[union-attr]
                role, subject, object = assertion.property.iri, assertion.subject, assertion.object  # type: ignore[union-attr]
                near.setdefault(subject, []).append((role, object, True))
                near.setdefault(object, []).append((role, subject, False))
                told.setdefault(subject, 0)
                told.setdefault(object, 0)
            elif kind is owl.ClassAssertion:
                expression = self.names.get(assertion.expression, assertion.expression)  # type: ignore[union-attr]
                individual = assertion.individual  # type: ignore[union-attr]
                if type(expression) is not owl.Class:
                    raise NotHorn
                if expression == owl.NOTHING:
                    raise Clash
                bit = ids.get(expression.iri)
                told[individual] = told.get(individual, 0) | (0 if bit is None else 1 << bit)
            elif kind is not owl.DataPropertyAssertion and kind is not owl.DifferentIndividuals:
                raise NotHorn
            elif kind is owl.DifferentIndividuals and assertion.first == assertion.second:  # type: ignore[union-attr]
                raise Clash
        for individual, label in told.items():
            found.at[individual] = self.close(label | base.at.get(individual, 0))
        return found, dict.fromkeys(told)

    def role_pairs(self, labels: Labels) -> Iterator[tuple[str, str, str]]:
        """The role assertions as they stand."""
        for subject, edges in labels.near.items():
            yield from ((role, subject, other) for role, other, forward in edges if forward)


def _is_horn(clause: Clause) -> bool:
    atoms = (*clause.body, *clause.head, *clause.branch_body, *clause.branch_head)
    heads = len(clause.head) + len(clause.branch_head)
    return heads <= 1 and not clause.at_most and all(isinstance(atom, str | AtLeast) for atom in atoms)


def _is_plain(tbox: ClausalTBox) -> bool:
    """Whether roles are in no axiom but inclusions, inverses and transitivity, and data in none."""
    box = tbox.roles
    return not (box.disjoint or box.irreflexive or box.asymmetric or tbox.data_properties)
