"""A clausal TBox compiled to integers: atoms and roles are bits, clauses are indexed by what can
wake them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from shiq.model import OWL, TOP_DATATYPE
from shiq.model.abox import Interner
from shiq.model.clause import AtLeast, Atom, ClausalTBox, Clause, DataAtLeast, DataAtMost
from shiq.model.roles import Role, RoleBox, loop_name
from shiq.reasoner.hypertableau.node_data import NodeData
from shiq.support import bits, mask_of

TOP_DATA_PROPERTY: Final = OWL + "topDataProperty"

#: Entries of a memo before it starts afresh.
MEMO_LIMIT = 200_000

#: From so many atoms on, a local rule keeps positions for masks.
WIDE = 2048


@dataclass(slots=True, eq=False)
class Rule:
    """A DL-clause compiled to bit masks of atoms and roles.

    index: its place in `ClausalTBox.clauses`, -1 for a rule made for a negated ≥-atom.
    inverse_bit: the clause's role seen from the branch.
    """

    number: int
    index: int
    body: int
    head: int
    role_bit: int = 0
    inverse_bit: int = 0
    branch_body: int = 0
    branch_head: int = 0
    at_most: int = 0


class WideRule(Rule):
    """A local rule over so many atoms that it stores their positions and computes its masks on
    demand.

    For many rules over many atoms, stored masks would take quadratic space.
    """

    __slots__ = ("_body", "_head")

    @property
    def body(self) -> int:
        """Return the mask of the body atoms."""
        return mask_of(self._body)

    @body.setter
    def body(self, mask: int) -> None:
        self._body = tuple(bits(mask))

    @property
    def head(self) -> int:
        """Return the mask of the head atoms."""
        return mask_of(self._head)

    @head.setter
    def head(self, mask: int) -> None:
        self._head = tuple(bits(mask))


@dataclass(slots=True, eq=False)
class RulesToExamine:
    """The rules that may match after one atom changes at a node, by whether the node is their
    centre or branch.

    local: of local clauses
    centre, branch: of u-type clauses, with the node as centre or as branch
    at_most, at_most_branch: the same of m-type clauses
    """

    local: list[Rule] = field(default_factory=list)
    centre: list[Rule] = field(default_factory=list)
    branch: list[Rule] = field(default_factory=list)
    at_most: list[Rule] = field(default_factory=list)
    at_most_branch: list[Rule] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Need:
    """The restriction ≥n R.C, compiled to bit masks.

    role_bit: R alone; roles: all roles above R
    filler: the bit of C, or 0; filler_atom: its position, or -1
    """

    n: int
    role_bit: int
    roles: int
    filler: int
    filler_atom: int


@dataclass(frozen=True, slots=True)
class HasData:
    """Auxiliary atom: the node has some value for a data property.

    A limit on a property holds at every node without needs and values for it and its subproperties.
    So a clause with a limit in its head gets this atom in its body, and a domain axiom causes no
    choice.
    """

    property: str


class RoleMasks:
    """The roles of a TBox as bits: their codes, their hierarchy, and the roles that are disjoint
    with each.

    A property takes two bits, its inverse the odd one.

    up: by role, the mask of the roles above it under ⊑*, itself included.
    conflicts: by role, the mask of roles that exclude it on one pair. conflicting: the mask of all
        these roles. irreflexive: the mask of roles that no loop may have.
    """

    def __init__(self, box: RoleBox, roles: Iterable[Role]) -> None:
        self._box = box
        self._codes: dict[str, int] = {}
        self._inverses: dict[int, int] = {}
        self._even = 0
        self.up: list[int] = []
        for role in sorted(set(roles)):
            self.role_code(role)
        self.conflicts = self._compute_conflicts()
        self.conflicting = mask_of(self.conflicts)
        self.irreflexive = mask_of(
            self.role_code(role) for given in box.irreflexive for role in (given, given.inverse)
        )

    def role_code(self, role: Role) -> int:
        """Return the code of ``role``, the position of its bit. A property that no axiom mentions
        gets one on first use.
        """
        code = self._codes.get(role.iri)
        if code is None:
            group = sorted({s.iri for s in self._box.superroles(Role(role.iri))})
            for iri in group:
                if iri not in self._codes:
                    self._codes[iri] = len(self.up)
                    self._even |= 1 << len(self.up)
                    self.up += (0, 0)
            masks: dict[frozenset[Role], int] = {}
            for iri in group:
                for r in (Role(iri), Role(iri, True)):
                    above = self._box.superroles(r)
                    if above not in masks:
                        masks[above] = mask_of(self._codes[s.iri] + s.is_inverse for s in above)
                    self.up[self._codes[iri] + r.is_inverse] = masks[above]
            code = self._codes[role.iri]
        return code + role.is_inverse

    def inverse_mask(self, mask: int) -> int:
        """Return the mask of the inverses of the roles in ``mask``."""
        found = self._inverses.get(mask)
        if found is None:
            found = self._inverses[mask] = (mask & self._even) << 1 | (mask >> 1) & self._even
        return found

    def _compute_conflicts(self) -> dict[int, int]:
        """Compute for each role the mask of roles that cannot lead between the same two elements."""
        pairs = {(self.role_code(r), self.role_code(s)) for r, s in self._box.disjoint}
        pairs |= {(self.role_code(r), self.role_code(r.inverse)) for r in self._box.asymmetric}
        conflicts: dict[int, int] = {}
        for r, s in pairs:
            for a, b in ((r, s), (s, r), (r ^ 1, s ^ 1), (s ^ 1, r ^ 1)):
                conflicts[a] = conflicts.get(a, 0) | 1 << b
        return conflicts


class RuleIndex:
    """The rules of a TBox, indexed by the atoms and roles that can make them match.

    by_number: every rule at its number. start: rules without body that hold of every node.
    on_name, on_denial: by atom, the rules that it wakes where it holds, or is denied.
    """

    def __init__(self) -> None:
        self.by_number: list[Rule] = []
        self.start: list[Rule] = []
        self.on_name: dict[int, RulesToExamine] = {}
        self.on_denial: dict[int, RulesToExamine] = {}
        self._on_role: dict[int, list[Rule]] = {}
        self._counted_on_role: dict[int, list[Rule]] = {}
        self._local_memo: dict[int, tuple[Rule, ...]] = {}
        self._edge_memo: dict[tuple[int, int, int], tuple[tuple[Rule, bool], ...]] = {}
        self._counted_memo: dict[int, tuple[Rule, ...]] = {}

    def add_rule(self, rule: Rule) -> None:
        """Add a rule, whose number must be the count of those before it."""
        self.by_number.append(rule)
        names = [(self.on_name.setdefault(a, RulesToExamine()), True) for a in bits(rule.body)]
        names += [(self.on_denial.setdefault(a, RulesToExamine()), True) for a in bits(rule.head)]
        names += [
            (self.on_name.setdefault(a, RulesToExamine()), False) for a in bits(rule.branch_body)
        ]
        names += [
            (self.on_denial.setdefault(a, RulesToExamine()), False) for a in bits(rule.branch_head)
        ]
        for wake, central in names:
            if not rule.role_bit:
                wake.local.append(rule)
            elif rule.at_most:
                (wake.at_most if central else wake.at_most_branch).append(rule)
            else:
                (wake.centre if central else wake.branch).append(rule)
        if rule.role_bit:
            on_role = self._counted_on_role if rule.at_most else self._on_role
            on_role.setdefault(rule.role_bit.bit_length() - 1, []).append(rule)
        elif not rule.body:
            self.start.append(rule)
        for memo in (self._local_memo, self._edge_memo, self._counted_memo):
            memo.clear()

    def local_rules(self, names: int) -> tuple[Rule, ...]:
        """Select the local rules whose body is among the atoms ``names``, but none of whose head
        is.
        """
        found = self._local_memo.get(names)
        if found is None:
            rules = {rule.number: rule for rule in self.start}
            for a in bits(names):
                if wake := self.on_name.get(a):
                    rules.update((rule.number, rule) for rule in wake.local)
            found = tuple(
                r for _, r in sorted(rules.items()) if not r.body & ~names and not r.head & names
            )
            if len(self._local_memo) >= MEMO_LIMIT:
                self._local_memo.clear()
            self._local_memo[names] = found
        return found

    def edge_rules(self, first: int, roles: int, second: int) -> tuple[tuple[Rule, bool], ...]:
        """Select the u-type rules that match an edge but are not satisfied: ``first``, ``second``
        are the atoms at its ends.

        Returns: pairs of a rule and whether the first node is the centre.
        """
        key = (first, roles, second)
        found = self._edge_memo.get(key)
        if found is None:
            rules = [(rule, True) for r in bits(roles) for rule in self._on_role.get(r, ())]
            rules += [(rule, False) for r in bits(roles) for rule in self._on_role.get(r ^ 1, ())]
            found = tuple(
                (rule, forward)
                for rule, forward in rules
                for centre, branch in (((first, second) if forward else (second, first)),)
                if not (
                    rule.body & ~centre
                    or rule.branch_body & ~branch
                    or rule.head & centre
                    or rule.branch_head & branch
                )
            )
            if len(self._edge_memo) >= MEMO_LIMIT:
                self._edge_memo.clear()
            self._edge_memo[key] = found
        return found

    def at_most_rules(self, roles: int) -> tuple[Rule, ...]:
        """Select the ≤n rules on one of ``roles``."""
        found = self._counted_memo.get(roles)
        if found is None:
            found = tuple(rule for r in bits(roles) for rule in self._counted_on_role.get(r, ()))
            self._counted_memo[roles] = found
        return found


@dataclass(frozen=True, slots=True)
class LoopEffects:
    """The atoms that a loop R(x, x) implies at its node, and the roles that these atoms imply.

    roles: by atom of a loop that some ≤n counts, the roles that it adds.
    atoms: masks of roles whose loops add an atom, with that atom. asking: the mask of all these
        roles.
    """

    roles: Mapping[int, int]
    atoms: tuple[tuple[int, int], ...]
    asking: int


class Tables:
    """A clausal TBox compiled to bit masks and rule indexes, for the hypertableau.

    Atoms keep their positions in ``tbox.atoms``. Behind them come atoms that only clauses mention,
    `HasData`, and names for negated ≥-atoms. Role masks are closed upwards under ⊑*.

    needs: by atom, its restriction ≥n R.C. need_mask, data_mask, limit_mask: the atoms that are
        needs, data restrictions, and limits on data.
    brought: the atoms that come with a data need, by its position.
    """

    def __init__(self, tbox: ClausalTBox) -> None:
        self.tbox = tbox
        self._interner = Interner[Atom | HasData](tbox.atoms)
        self.atoms = self._interner.values
        self._negated: dict[int, int] = {}
        self._supplied: dict[str, int] = {}
        self.roles = RoleMasks(tbox.roles, _roles_of(tbox))
        self.rules = RuleIndex()
        for clause in tbox.clauses:
            for atom in (*clause.body, *clause.head, *clause.branch_body, *clause.branch_head):
                self._interner.intern(atom)
        self.needs: dict[int, Need] = {}
        self.data_mask = 0
        self.limit_mask = 0
        self.need_mask = 0
        for position, known in list(enumerate(self.atoms)):
            self._classify_atom(position, known)
        self.loops = self._compute_loop_effects()
        # Where owl:topDataProperty lies below another property (outside OWL 2 DL), every element
        # has data.
        has_data_counts = tbox.roles.data_superproperties(TOP_DATA_PROPERTY) == {TOP_DATA_PROPERTY}
        for index, clause in enumerate(tbox.clauses):
            self._compile_clause(index, clause, has_data_counts)
        needs = ((i, a) for i, a in enumerate(self.atoms) if isinstance(a, DataAtLeast))
        self.brought: dict[int, int] = {i: self.has_data_mask(a.property) for i, a in needs}

    @cached_property
    def largest_need(self) -> int:
        """Return the largest n of any ≥n restriction on a role; 0 if there is none."""
        return max((need.n for need in self.needs.values()), default=0)

    @cached_property
    def data(self) -> NodeData:
        """Return the datatype reasoner for the data atoms of this TBox."""
        return NodeData(self.tbox, self.atoms)

    def _compute_loop_effects(self) -> LoopEffects:
        """Compute what loops R(x, x) imply."""
        brought: dict[int, int] = {}
        asking: list[tuple[int, int]] = []
        for iri in self.tbox.roles.loop_properties:
            atom = self._interner.ids.get(loop_name(iri))
            if atom is None:
                continue
            code, up = self.roles.role_code(Role(iri)), self.roles.up
            if any(isinstance(a, AtLeast) and a.is_loop and a.role.iri == iri for a in self.atoms):
                brought[atom] = up[code] | up[code ^ 1]
            if iri in self.tbox.roles.relevant_loops:
                asking.append((1 << code | 1 << (code ^ 1), atom))
        mask = mask_of(bit for roles, _ in asking for bit in bits(roles))
        return LoopEffects(brought, tuple(asking), mask)

    def has_data_mask(self, property: str) -> int:
        """Return the mask of the `HasData` atoms that hold at a node with a value, or a ≥n
        restriction, for ``property``.
        """
        found = self._supplied.get(property)
        if found is None:
            above = self.tbox.roles.data_superproperties(property)
            found = mask_of(
                i
                for i, a in enumerate(self.atoms)
                if isinstance(a, HasData) and a.property in above
            )
            self._supplied[property] = found
        return found

    def _classify_atom(self, i: int, atom: Atom | HasData) -> None:
        """Record a restriction atom in the masks and the table of ≥n restrictions."""
        if isinstance(atom, AtLeast):
            filler = -1 if atom.filler is None else self._interner.intern(atom.filler)
            code = self.roles.role_code(atom.role)
            self.needs[i] = Need(
                atom.n, 1 << code, self.roles.up[code], 0 if filler < 0 else 1 << filler, filler
            )
            self.need_mask |= 1 << i
        elif isinstance(atom, DataAtLeast | DataAtMost):
            self.data_mask |= 1 << i
            if isinstance(atom, DataAtMost):
                self.limit_mask |= 1 << i

    def _compile_clause(self, index: int, clause: Clause, has_data_counts: bool) -> None:
        """Compile a clause to a rule, and index it."""

        def mask(atoms: Iterable[Atom | HasData]) -> int:
            return mask_of(self._interner.intern(a) for a in atoms)

        body: list[Atom | HasData] = [*clause.body]
        head = list(clause.head)
        for atom in clause.head if has_data_counts else ():
            if isinstance(atom, DataAtMost) and atom.property != TOP_DATA_PROPERTY:
                body.append(HasData(atom.property))
                if atom.n == 0 and atom.range == TOP_DATATYPE:
                    head.remove(atom)
        code = -1 if clause.role is None else self.roles.role_code(clause.role)
        kind = WideRule if code < 0 and len(self.atoms) >= WIDE else Rule
        self.rules.add_rule(
            kind(
                len(self.rules.by_number),
                index,
                mask(body),
                mask(head),
                0 if code < 0 else 1 << code,
                0 if code < 0 else 1 << (code ^ 1),
                mask(clause.branch_body),
                mask(clause.branch_head),
                clause.at_most,
            )
        )

    def negation_atom(self, atom: int) -> int:
        """Return the auxiliary atom that implies ≤n-1 R.C, for the atom ≥n R.C at position
        ``atom``; make it on first use.

        With it an asserted negation of a ≥-atom is exact under any clauses.
        """
        found = self._negated.get(atom)
        if found is None:
            need = self.needs[atom]
            found = self._negated[atom] = len(self.atoms)
            self.atoms.append(f"urn:shiq:fresh:negated:{atom}")  # no other atom, whatever its name
            inverse = self.roles.inverse_mask(need.role_bit)
            self.rules.add_rule(
                Rule(
                    len(self.rules.by_number),
                    -1,
                    1 << found,
                    0,
                    need.role_bit,
                    inverse,
                    need.filler,
                    0,
                    need.n - 1,
                )
            )
        return found


def _roles_of(tbox: ClausalTBox) -> Iterator[Role]:
    """Yield every role that a clause, an atom or the role box mentions."""
    box = tbox.roles
    for pairs in (box.inclusions, box.disjoint):
        for pair in pairs:
            yield from pair
    yield from box.asymmetric | box.irreflexive
    for clause in tbox.clauses:
        if clause.role is not None:
            yield clause.role
    for atom in {*tbox.atoms, *(a for clause in tbox.clauses for a in clause.head)}:
        if isinstance(atom, AtLeast):
            yield atom.role
