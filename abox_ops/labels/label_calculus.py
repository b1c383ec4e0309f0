"""Label calculus: unit propagation on the literals of one individual, without branching (THEORY,
"Told literals").

A *label* is a pair of bitmasks (positive, negative) over `ClausalTBox.atoms`. It is closed under
unit propagation with local clauses; along a role assertion, u-type clauses send further literals
to either end. Both depend on labels alone, so they are computed once per distinct label or
(role, label, label).

A label *clashes* if a literal stands with its negation. Propagation goes on there: a clause
gives its last literal that is not refuted even if another one satisfies it, and all its literals
if none is left. So closure and sending are monotone, and the fixpoint is one, whatever the
order; a clash spreads no further than unit resolution carries it.

Which classes of a TBox can have no member.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from shiq.abox_ops.labels.unit_propagation import make_propagation
from shiq.answers.verdict import Verdict
from shiq.model import NOTHING, THING
from shiq.model.clause import AtLeast, Atom, ClausalTBox, Clause, DataAtLeast, DataAtMost
from shiq.model.roles import Role
from shiq.reasoner.protocol import Answer, Module
from shiq.support import cached_method

#: (positive, negative) bitmasks over the atoms.
Label: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class CompiledClause:
    """A clause as bitmasks over atoms: body and head at the centre, body and head at a branch.
    ``n``: the bound of an m-type clause, else 0.
    """

    index: int
    body: int
    head: int
    branch_body: int
    branch_head: int
    n: int

    def literals_at(self, at_branch: bool) -> Label:
        """The literals (head, body) of the clause at its branch, or at its centre."""
        return (self.branch_head, self.branch_body) if at_branch else (self.head, self.body)


class ClauseEnds(NamedTuple):
    """A clause with a role atom that a role assertion matches, as seen from an end of the assertion.

    at_branch: whether this end is the branch of the clause, else its centre.
    near_literals, far_literals: the literals (head, body) of the clause at this end, and at the other.
    """

    clause: CompiledClause
    at_branch: bool
    near_literals: Label
    far_literals: Label


class SentLiterals(NamedTuple):
    """Literals that one role assertion sends to its subject and to its object; a clash bit may be
    among them.
    """

    subject: Label
    object: Label


EMPTY: Label = (0, 0)
NOTHING_SENT = SentLiterals(EMPTY, EMPTY)


def contradiction_label(tbox: ClausalTBox) -> Label:
    """The label of a contradiction that no atom causes, such as an asserted owl:Nothing.

    No clause uses its bit.

    In the labels of a TBox that has grown since, it is still a clash.
    """
    bit = 1 << len(tbox.atoms)
    return bit, bit


def literal_label(tbox: ClausalTBox, iri: str, positive: bool) -> Label:
    """The label of one (negated) class name."""
    if iri in (NOTHING.iri, THING.iri):
        return contradiction_label(tbox) if positive == (iri == NOTHING.iri) else EMPTY
    bit = 1 << tbox.atom_ids[iri]
    return (bit, 0) if positive else (0, bit)


def clashes(label: Label) -> bool:
    """Decide whether ``label`` contains a literal and its negation."""
    return bool(label[0] & label[1])


def is_satisfied(literals: Label, label: Label) -> bool:
    """Decide whether ``label`` has one of the ``literals`` (head, body) of a clause."""
    return bool(literals[0] & label[0] or literals[1] & label[1])


def unrefuted_literals(literals: Label, label: Label) -> Label:
    """The ``literals`` (head, body) of a clause whose negations ``label`` does not have."""
    return literals[0] & ~label[1], literals[1] & ~label[0]


def is_refuted(literals: Label, label: Label) -> bool:
    """Decide whether ``label`` has the negation of each of the ``literals`` (head, body) of a
    clause.
    """
    return not (literals[0] & ~label[1] or literals[1] & ~label[0])


def literal_count(label: Label) -> int:
    """Count the literals of a label."""
    return label[0].bit_count() + label[1].bit_count()


def label_difference(label: Label, other: Label) -> Label:
    """The literals of ``label`` that ``other`` lacks."""
    return label[0] & ~other[0], label[1] & ~other[1]


def join(first: Label, second: Label) -> Label:
    """Unite the literals of two labels."""
    return first[0] | second[0], first[1] | second[1]


@dataclass
class LabelCalculus:
    """Unit propagation of one clausal TBox on labels, with cached results.

    data_mask: the atoms that are data restrictions. clash: see `contradiction`.
    compiled: the clauses with a role, or with a restriction in the head; the others only propagate.
    """

    tbox: ClausalTBox

    def __post_init__(self) -> None:
        ids = self.tbox.atom_ids
        self.clash = contradiction_label(self.tbox)
        self.data_mask = sum(
            1 << i for i, a in enumerate(self.tbox.atoms) if isinstance(a, DataAtLeast | DataAtMost)
        )
        self.at_least: dict[int, AtLeast] = {
            i: a for i, a in enumerate(self.tbox.atoms) if isinstance(a, AtLeast)
        }
        clauses = self.tbox.clauses
        told = [c.role is not None or any(not isinstance(a, str) for a in c.head) for c in clauses]
        compiled = [_compile_clause(i, c, ids) for i, c in enumerate(clauses) if told[i]]
        self.compiled = compiled
        self.m_type = [c for c in compiled if c.n]
        width = len(self.tbox.atoms) + 1
        local = (
            [ids[a] for a in c.head] + [ids[a] + width for a in c.body]
            for c in clauses
            if c.role is None
        )
        self._propagation = make_propagation(width, local, self.clash)
        self._by_role: dict[Role, list[CompiledClause]] = {}
        for c in compiled:
            role = self.tbox.clauses[c.index].role
            if role is not None:
                self._by_role.setdefault(role, []).append(c)
        self._clauses_of: dict[frozenset[Role], tuple[CompiledClause, ...]] = {}
        self._close_memo: dict[Label, Label] = {}
        self._send_memo: dict[tuple[Role, Label, Label], SentLiterals] = {}
        #: What holds everywhere: the closure of the empty label.
        self._everywhere = self._propagation.everywhere()

    def drop_data_literals(self, label: Label) -> Label:
        """Drop the negated data restrictions of ``label``, which only mirror data assertions."""
        return label[0], label[1] & ~self.data_mask

    def clauses_on_role(self, role: Role) -> tuple[CompiledClause, ...]:
        """The clauses with a role atom that an assertion of ``role`` from centre to branch matches
        (through ⊑*).
        """
        above = self.tbox.roles.superroles(role)
        found = self._clauses_of.get(above)
        if found is None:
            found = tuple(c for s in above for c in self._by_role.get(s, ()))
            found = self._clauses_of[above] = tuple(sorted(found, key=lambda c: c.index))
        return found

    @cached_method
    def clause_ends(self, role: Role) -> tuple[ClauseEnds, ...]:
        """The clauses that an assertion of ``role`` matches, seen from its subject: those with their
        centre there, then those with their branch.
        """
        return tuple(
            ClauseEnds(c, at_branch, c.literals_at(at_branch), c.literals_at(not at_branch))
            for named, at_branch in ((role, False), (role.inverse, True))
            for c in self.clauses_on_role(named)
        )

    @cached_method
    def atoms_at_subject(self, role: Role) -> int:
        """Bitmask of the atoms that clauses read at the subject of an assertion of ``role``."""
        found = 0
        for _, _, (head, body), _ in self.clause_ends(role):
            found |= head | body
        return found

    def roles_below(self, clause: CompiledClause) -> frozenset[Role]:
        """The roles below S, for the clause of a restriction ≤n S.C."""
        role = self.tbox.clauses[clause.index].role
        assert role is not None
        return self.tbox.roles.subroles(role)

    def may_loop(self, clause: CompiledClause) -> bool:
        """Decide whether an element may be its own S-neighbour, for the clause of a restriction ≤n
        S.C.
        """
        if not self.tbox.roles.loop_properties:
            return False
        below = self.roles_below(clause)
        return any(atom.is_loop and atom.role in below for atom in self.at_least.values())

    def close(self, label: Label) -> Label:
        """Close ``label`` under unit propagation with local clauses.

        Stops because every step adds a literal of finitely many.
        """
        found = self._close_memo.get(label)
        if found is None:
            found = self._propagation.closure(join(label, self._everywhere), self._everywhere)
            self._close_memo[label] = self._close_memo[found] = found
        return found

    def extend_to_clash(self, closed: Label, more: Label) -> Label:
        """Close a ``closed`` label together with ``more`` literals, up to the first clash. The cost
        depends on ``more`` alone.
        """
        label = join(closed, more)
        if label == closed:
            return closed
        return self._close_memo.get(label) or self._propagation.closure(
            label, closed, to_clash=True
        )

    def send(self, role: Role, subject: Label, object: Label) -> SentLiterals:
        """Compute the literals that an assertion of ``role`` sends to its ends by u-type clauses,
        given their labels.
        """
        key = (role, subject, object)
        found = self._send_memo.get(key)
        if found is None:
            to_subject = to_object = EMPTY
            for clause, at_branch, here, there in self.clause_ends(role):
                if clause.n:
                    continue
                left = unrefuted_literals(here, subject), unrefuted_literals(there, object)
                count = literal_count(left[0]) + literal_count(left[1])
                if not count:
                    left = here, there
                    if here == there == EMPTY:
                        left = (EMPTY, self.clash) if at_branch else (self.clash, EMPTY)
                if count < 2:
                    to_subject, to_object = join(to_subject, left[0]), join(to_object, left[1])
            found = SentLiterals(
                label_difference(to_subject, subject), label_difference(to_object, object)
            )
            if found == NOTHING_SENT:
                found = NOTHING_SENT
            self._send_memo[key] = found
        return found


def _compile_clause(index: int, clause: Clause, ids: Mapping[Atom, int]) -> CompiledClause:
    """Compile a clause to bit masks."""

    def mask_of_atoms(atoms: tuple[Atom, ...]) -> int:
        """The bit mask of ``atoms``."""
        found = 0
        for atom in atoms:
            found |= 1 << ids[atom]
        return found

    return CompiledClause(
        index,
        mask_of_atoms(clause.body),
        mask_of_atoms(clause.head),
        mask_of_atoms(clause.branch_body),
        mask_of_atoms(clause.branch_head),
        clause.at_most,
    )


#: Classes that are asked about in one go, between looks at the clock.
LOT = 50


def unsatisfiable_classes(
    tbox: ClausalTBox,
    decide: Callable[[Sequence[Module]], Sequence[Answer]],
    is_over: Callable[[], bool] = lambda: False,
) -> tuple[list[str], int]:
    """Find the named classes that have no instance in any model of ``tbox``, sorted; and the number
    of classes that stayed undecided.

    Only classes that some clause mentions are asked about: any other can have a member, unless
    nothing can.
    """
    names = sorted(
        (atom, i)
        for i, atom in enumerate(tbox.atoms)
        if isinstance(atom, str) and atom not in tbox.fresh and atom != NOTHING.iri
    )
    found: list[str] = []
    left = len(names)
    for start in range(0, len(names), LOT):
        if is_over():
            break
        part = names[start : start + LOT]
        for (name, _), answer in zip(part, decide([Module((1 << i,), (0,)) for _, i in part])):
            left -= answer.verdict is not Verdict.UNDETERMINED
            if answer.verdict is Verdict.INCONSISTENT:
                found.append(name)
    return found, left
