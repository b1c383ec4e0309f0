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

    def is_decided_at_centre(self, label: Label) -> bool:
        """Decide whether a literal of ``label`` satisfies the clause at its centre."""
        return bool(self.head & label[0] or self.body & label[1])

    def is_decided_at_branch(self, label: Label) -> bool:
        """Decide whether a literal of ``label`` satisfies the clause at its branch."""
        return bool(self.branch_head & label[0] or self.branch_body & label[1])


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
            to_subject, to_object = self._sent_by_clauses(
                self.clauses_on_role(role), subject, object
            )
            back_object, back_subject = self._sent_by_clauses(
                self.clauses_on_role(role.inverse), object, subject
            )
            found = SentLiterals(
                _label_difference(join(to_subject, back_subject), subject),
                _label_difference(join(to_object, back_object), object),
            )
            if found == NOTHING_SENT:
                found = NOTHING_SENT
            self._send_memo[key] = found
        return found

    def _sent_by_clauses(
        self, clauses: tuple[CompiledClause, ...], centre: Label, branch: Label
    ) -> tuple[Label, Label]:
        """Compute the literals that ``clauses`` send to the centre and to the branch."""
        to_centre, to_branch = EMPTY, EMPTY
        for c in clauses:
            if c.n:
                continue
            head, body = c.head & ~centre[1], c.body & ~centre[0]
            branch_head, branch_body = c.branch_head & ~branch[1], c.branch_body & ~branch[0]
            open_literals = (
                head.bit_count()
                + body.bit_count()
                + branch_head.bit_count()
                + branch_body.bit_count()
            )
            if open_literals > 1:
                continue
            if not open_literals:
                head, body, branch_head, branch_body = c.head, c.body, c.branch_head, c.branch_body
                if not head | body | branch_head | branch_body:
                    head, body = self.clash
            to_centre = join(to_centre, (head, body))
            to_branch = join(to_branch, (branch_head, branch_body))
        return to_centre, to_branch


def _label_difference(label: Label, known: Label) -> Label:
    """The literals of ``label`` that are not ``known``."""
    return label[0] & ~known[0], label[1] & ~known[1]


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
