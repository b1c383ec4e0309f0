"""Unit propagation with reasons: the assertions that a clash depends on (THEORY, "Which assertions
a told clash rests on").

Labels grow one after the other. Back from a clash, each growth asks for a smallest part of what it
was made of. So the search costs as much as the propagation plus the derivation that it finds.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from shiq import model as owl
from shiq.abox_ops.conflicts.minimal_subsets import minimal_sublist
from shiq.abox_ops.elements.normal_assertions import name_literal, normalise
from shiq.abox_ops.labels.data_restrictions import DataRestrictions
from shiq.abox_ops.labels.label_calculus import (
    EMPTY,
    NOTHING_SENT,
    Label,
    LabelCalculus,
    SentLiterals,
    clashes,
    join,
    label_difference,
    literal_label,
)
from shiq.model.roles import Role, role_of
from shiq.support import bits, cached_method

#: A literal of an end of a link: which end (0 or 1), whether it is positive, its atom.
Literal: TypeAlias = tuple[int, bool, int]


@dataclass(frozen=True, slots=True)
class Link:
    """Role assertion as seen from one end, or an asserted equality (``role`` is None)."""

    assertion: owl.Assertion
    role: Role | None
    target: str


@dataclass(frozen=True, slots=True)
class LabelGrowth:
    """One step of the derivation: the label of ``individual`` grew from ``old_label`` by
    ``new_literals`` to the closure ``new_label``.

    assertion: gives the new literals, or is the role assertion along which they were sent.
    link: the role, both ends and their labels at that time, if the literals were sent along a role
    assertion.
    side: the end that received them, 0 or 1.
    """

    individual: str
    old_label: Label
    new_literals: Label
    new_label: Label
    assertion: owl.Assertion
    link: tuple[Role | None, tuple[str, str], tuple[Label, Label]] | None = None
    side: int = 0


@dataclass
class ToldDerivation:
    """Derivation of the told literals of individuals from given assertions, with a reason for each
    literal.

    Equalities that restrictions entail are left out, so fewer literals may be told here than by
    all of the calculus.
    """

    space: LabelCalculus
    data: DataRestrictions
    _labels: dict[str, Label] = field(default_factory=dict)
    _links: dict[str, list[Link]] = field(default_factory=dict)
    _growths: list[LabelGrowth] = field(default_factory=list)
    _growths_of: dict[str, list[int]] = field(default_factory=dict)
    _clashes: dict[str, int] = field(default_factory=dict)
    _sources: dict[tuple[Label, Label, Label | None], Label] = field(default_factory=dict)

    def add_assertions(self, assertions: Iterable[owl.Assertion]) -> None:
        """Add ``assertions`` and derive what follows. Assertions added earlier are preferred as
        reasons.

        Stops because labels grow within finitely many literals.
        """
        changed: dict[str, None] = {}
        for assertion in assertions:
            for plain in normalise(assertion, self.space.tbox.roles).assertions:
                match plain:
                    case owl.ObjectPropertyAssertion(property, first, second):
                        self._add_link(assertion, role_of(property), first, second)
                        changed[first] = None
                    case owl.SameIndividual(first, second):
                        self._add_link(assertion, None, first, second)
                        changed[first] = None
                    case owl.ClassAssertion(_, x) | owl.DataPropertyAssertion(_, x, _):
                        if self._receive_literals(x, self._label_of_assertion(plain), assertion):
                            changed[x] = None
        queue = deque(changed)
        while queue:
            x = queue.popleft()
            del changed[x]
            for link in self._links.get(x, ()):
                for end in self._send_along(x, link):
                    if end not in changed:
                        changed[end] = None
                        queue.append(end)

    def has_clash(self, individual: str) -> bool:
        """Whether the label of ``individual`` clashes."""
        return individual in self._clashes

    @property
    def has_clashes(self) -> bool:
        """Whether any label clashes."""
        return bool(self._clashes)

    def clash_core(self, individual: str) -> dict[owl.Assertion, None]:
        """Find the assertions on which a clash at ``individual`` depends: with the TBox they are
        inconsistent by themselves.
        """
        found: dict[owl.Assertion, None] = {}
        wanted: dict[int, Label | None] = {self._clashes[individual]: None}
        heap = [-self._clashes[individual]]
        while heap:
            number = -heapq.heappop(heap)
            growth = self._growths[number]
            needed = self._smallest_source(growth, wanted.pop(number))
            self._require_literals(
                growth.individual,
                _label_intersection(needed, growth.old_label),
                number,
                wanted,
                heap,
            )
            received = label_difference(needed, growth.old_label)
            if received == EMPTY:
                continue
            found[growth.assertion] = None
            if growth.link is not None:
                role, ends, labels = growth.link
                for end, label in zip(
                    ends, self._smallest_premises(role, labels, received, growth.side)
                ):
                    self._require_literals(end, label, number, wanted, heap)
        return found

    # --- forward ----------------------------------------------------------------------------------

    def _closed_label(self, x: str) -> Label:
        """The label of ``x`` so far; at first, what holds of every individual."""
        found = self._labels.get(x)
        if found is None:
            found = self._labels[x] = self.space.close(EMPTY)
        return found

    def _label_of_assertion(self, plain: owl.ClassAssertion | owl.DataPropertyAssertion) -> Label:
        """The literals that one assertion about an individual gives to its label."""
        if isinstance(plain, owl.DataPropertyAssertion):
            return self.data.refuted_label([(plain.property.iri, plain.literal)])
        return literal_label(self.space.tbox, *name_literal(plain.expression))

    def _add_link(
        self, assertion: owl.Assertion, role: Role | None, first: str, second: str
    ) -> None:
        """Record an assertion on two individuals at both of its ends."""
        self._links.setdefault(first, []).append(Link(assertion, role, second))
        self._links.setdefault(second, []).append(Link(assertion, role and role.inverse, first))

    def _send_along(self, x: str, link: Link) -> Sequence[str]:
        """Send the literals that ``link`` carries to both of its ends; return the ends whose label
        grew.
        """
        y = link.target
        labels = self._closed_label(x), self._closed_label(y)
        if link.role is None:
            sent = SentLiterals(
                label_difference(labels[1], labels[0]), label_difference(labels[0], labels[1])
            )
        else:
            sent = self.space.send(link.role, *labels)
        if sent == NOTHING_SENT:
            return ()
        along = link.role, (x, y), labels
        return [
            end
            for side, (end, received) in enumerate(zip((x, y), sent))
            if received != EMPTY
            and self._receive_literals(end, received, link.assertion, along, side)
        ]

    def _receive_literals(
        self,
        x: str,
        received: Label,
        assertion: owl.Assertion,
        link: tuple[Role | None, tuple[str, str], tuple[Label, Label]] | None = None,
        side: int = 0,
    ) -> bool:
        """Join the literals ``received`` to the label of ``x``, and record the reason; return
        whether the label grew.

        link: the role, ends and labels, where the literals came along a role assertion; ``side``:
        the end that is ``x``.
        """
        before = self._closed_label(x)
        received = label_difference(received, before)
        if received == EMPTY:
            return False
        after = self._labels[x] = self.space.close(join(before, received))
        self._growths_of.setdefault(x, []).append(len(self._growths))
        if clashes(after) and not clashes(before):
            self._clashes[x] = len(self._growths)
        self._growths.append(LabelGrowth(x, before, received, after, assertion, link, side))
        return True

    # --- backward ---------------------------------------------------------------------------------

    def _require_literals(
        self, x: str, literals: Label, before: int, wanted: dict[int, Label | None], heap: list[int]
    ) -> None:
        """Queue the growth steps that brought ``literals`` to the label of ``x`` before step
        ``before``, as needed reasons.
        """
        literals = label_difference(literals, self.space.close(EMPTY))
        for number in self._growths_of.get(x, ()):
            if literals == EMPTY or number >= before:
                return
            here = _label_intersection(literals, self._growths[number].new_label)
            if here == EMPTY:
                continue
            literals = label_difference(literals, here)
            if number not in wanted:
                wanted[number] = EMPTY
                heapq.heappush(heap, -number)
            wanted[number] = join(wanted[number] or EMPTY, here)

    def _smallest_source(self, growth: LabelGrowth, wanted: Label | None) -> Label:
        """Find a minimal set of a growth step's input literals whose closure contains the
        ``wanted`` literals.

        ``wanted`` None: whose closure clashes.
        """
        key = growth.old_label, growth.new_literals, wanted
        found = self._sources.get(key)
        if found is None:

            def suffices(part: list[Literal]) -> bool:
                """Decide whether the wanted literals, or a clash, follow from ``part``."""
                closed = self.space.close(_label_from_literals(part, 0))
                return (
                    clashes(closed) if wanted is None else label_difference(wanted, closed) == EMPTY
                )

            # Left out first is what came last.
            literals = [
                *_literals_of_label(0, growth.new_literals),
                *_literals_of_label(0, growth.old_label),
            ]
            found = self._sources[key] = _label_from_literals(
                _minimal_literals(literals, suffices), 0
            )
        return found

    @cached_method
    def _smallest_premises(
        self, role: Role | None, labels: tuple[Label, Label], received: Label, side: int
    ) -> tuple[Label, Label]:
        """Find minimal subsets of the ``labels`` of both ends from which the role assertion still
        sends the literals ``received`` at end ``side``.
        """
        if role is None:
            return (EMPTY, received) if side == 0 else (received, EMPTY)

        def suffices(part: list[Literal]) -> bool:
            """Decide whether the role assertion sends all of ``received`` for these parts of
            the labels.
            """
            sent = self.space.send(
                role, _label_from_literals(part, 0), _label_from_literals(part, 1)
            )[side]
            return label_difference(received, sent) == EMPTY

        part = _minimal_literals(
            [*_literals_of_label(0, labels[0]), *_literals_of_label(1, labels[1])], suffices
        )
        return (
            _label_from_literals(part, 0),
            _label_from_literals(part, 1),
        )


def has_told_clash(data: DataRestrictions, assertions: Iterable[owl.Assertion]) -> bool:
    """Decide whether told literals of ``assertions`` clash."""
    derivation = ToldDerivation(data.space, data)
    derivation.add_assertions(assertions)
    return derivation.has_clashes


def _minimal_literals(
    literals: list[Literal], holds: Callable[[list[Literal]], bool]
) -> list[Literal]:
    """Find a minimal sublist of ``literals`` for which ``holds`` is true."""
    return [] if holds([]) else minimal_sublist(literals, holds)


def _literals_of_label(end: int, label: Label) -> Iterable[Literal]:
    """Yield the literals of the label at one end as triples (end, is positive, atom)."""
    return (
        (end, is_positive, atom)
        for is_positive, mask in zip((True, False), label)
        for atom in bits(mask)
    )


def _label_from_literals(literals: Sequence[Literal], end: int) -> Label:
    """Collect those of ``literals`` that belong to this ``end`` into a label."""
    positive, negative = 0, 0
    for of, is_positive, atom in literals:
        if of == end:
            positive |= is_positive << atom
            negative |= (not is_positive) << atom
    return positive, negative


def _label_intersection(label: Label, other: Label) -> Label:
    """The literals that both labels have."""
    return label[0] & other[0], label[1] & other[1]
