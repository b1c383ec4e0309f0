"""Count the successors that large numbers demand, by an integer program, instead of building them
(THEORY, "Large numbers").

For a need ≥n R.C with a large n only a few successors are built, more than any small limit above R
allows. A contradiction with so few is final. A pre-model with so few is a model if its nodes can
stand for several elements each, in numbers that satisfy every need and limit. These numbers solve
an integer program at each node, over its children alone. If there is no solution, the pre-model is
given up. This proves nothing, because children with equal choices may have to choose differently.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from shiq.datatypes.integer_program import Row, find_integral_solution
from shiq.model.clause import AtLeast
from shiq.reasoner.hypertableau.node_checks import blocked_nodes
from shiq.reasoner.hypertableau.state import MERGE, TableauClash, TableauState
from shiq.reasoner.hypertableau.tables import Need, Rule, Tables
from shiq.reasoner.protocol import LARGE_NUMBER
from shiq.support import bits

if TYPE_CHECKING:
    from shiq.reasoner.hypertableau.rules import TableauSearch

#: Numbers up to here are built where counting does not decide.
MOST_BUILT: Final = 300


@dataclass(frozen=True, slots=True)
class BuildingPolicy:
    """Policy for ≥n restrictions with a large n: how many successors are built as nodes, while the
    others are only counted.

    large: numbers above are counted, not built
    fewest: number of nodes built at least for a large number, so that they can make different
        choices
    unshared_successors: large needs of a node share all but so many of their successors; None: they
        share none
    uses_individuals: neighbouring individuals count for large needs too

    With one of the last two, a contradiction proves nothing.
    """

    large: int = 64
    fewest: int = 3
    unshared_successors: int | None = None
    uses_individuals: bool = False

    def successors_to_build(self, tables: Tables, need: Need) -> int:
        """Return how many successor nodes to build for a ≥n restriction: n; or for a large n, one
        more than small ≤m allow.
        """
        if need.n <= self.large:
            return need.n
        limits = [
            rule.at_most
            for rule in tables.rules.at_most_rules(need.roles)
            if rule.at_most <= self.large
        ]
        return min(need.n, max(max(limits, default=0) + 1, self.fewest))


FIRST, AS_MANY_AS_POSSIBLE = BuildingPolicy(), BuildingPolicy(large=MOST_BUILT)
#: What is tried in turn where numbers leave a module open.
MORE_TRIES = (
    BuildingPolicy(fewest=12),
    BuildingPolicy(unshared_successors=0),
    BuildingPolicy(unshared_successors=1),
    BuildingPolicy(unshared_successors=0, uses_individuals=True),
)


def assign_weights(search: TableauSearch) -> None:
    """Compute how many elements each node of a pre-model stands for, where large numbers are
    counted: `TableauSearch.weights`.

    Raises: TableauClash if a node has no such numbers. Unless that is a proof, ``search.opaque`` is
        set.
    """
    state, large = search.state, search.building.large
    tables = state.tables
    search.weights.clear()
    if tables.largest_need <= large:
        return
    mask = sum(1 << a for a, need in tables.needs.items() if need.n > large)
    asked = [x for x, pos in enumerate(state.pos) if state.alive[x] and pos & mask]
    blocked = blocked_nodes(state) if asked and asked[-1] >= state.named else {}
    for x in asked:
        if x not in blocked:
            program = SuccessorCountProgram(search, x)
            weights = program.solve_weights()
            if weights is None:
                _refuse_pre_model(search, program)
            else:
                search.weights.update(weights)


def share_successors(search: TableauSearch, x: int, atom: int, depends_on: int) -> bool:
    """Let existing successors of other large ≥n restrictions of node x, and neighbouring
    individuals, satisfy this one too.

    Returns: whether any do.
    """
    state, building = search.state, search.building
    tables = state.tables
    need = tables.needs[atom]
    if building.unshared_successors is None or need.n <= building.large:
        return False
    near = state.near[x]
    others = [
        y
        for y in near
        if state.parent[y] == x and tables.needs[search.grown_for[y]].n > building.large
    ]
    beside = (
        [y for y, roles in near.items() if y < state.named and roles & need.roles]
        if building.uses_individuals
        else []
    )
    for y in (*others[building.unshared_successors :], *beside):
        search.opaque = (
            search.opaque
            or f"{LARGE_NUMBER}: {need.n:,} successors would have to coincide with other neighbours"
        )
        state.add_edge(x, y, need.roles, depends_on)
        if need.filler:
            state.add_atom(y, need.filler_atom, depends_on)
    return bool(others)


def _refuse_pre_model(search: TableauSearch, program: SuccessorCountProgram) -> None:
    """Raise the clash of a node whose successor counts have no solution."""
    proof = program.find_contradiction()
    if proof is not None:
        raise TableauClash(proof, program.x)
    search.opaque = search.opaque or program.describe_undecided()
    raise TableauClash(program.dependency_set(), program.x)


@dataclass(frozen=True, slots=True)
class _CountBound:
    """A ≥n restriction at a node (``atom``) or a ≤n rule on it (``rule``), with n and the
    neighbours that it counts.
    """

    n: int
    neighbours: tuple[int, ...]
    atom: int = -1
    rule: Rule | None = None


class SuccessorCountProgram:
    """Integer program for one node: ≥n and ≤n restrictions are constraints, the numbers of elements
    per child node are variables.
    """

    def __init__(self, search: TableauSearch, x: int) -> None:
        self.state, self.grown_for, self.x = search.state, search.grown_for, x
        state, tables = search.state, search.state.tables
        self.children = [y for y in state.near[x] if state.parent[y] == x and state.alive[y]]
        roles = 0
        for y in self.children:
            roles |= state.near[x][y]
        self.needs = [
            _CountBound(need.n, self._neighbours_in_filler(need.role_bit, need.filler), atom=a)
            for a in bits(state.pos[x] & tables.need_mask)
            for need in (tables.needs[a],)
        ]
        self.limits = [
            _CountBound(
                rule.at_most, self._neighbours_in_filler(rule.role_bit, rule.branch_body), rule=rule
            )
            for rule in tables.rules.at_most_rules(roles)
            if not (rule.body & ~state.pos[x] or rule.head & state.pos[x])
        ]

    def _neighbours_in_filler(self, role_bit: int, filler: int) -> tuple[int, ...]:
        """Return the neighbours by a role at which the filler atom holds."""
        pos = self.state.pos
        return tuple(
            y
            for y, roles in self.state.near[self.x].items()
            if roles & role_bit and not filler & ~pos[y]
        )

    def solve_weights(self) -> dict[int, int] | None:
        """Compute how many elements each child node stands for; None if no solution is found."""
        counted = [frozenset(bound.neighbours) for bound in (*self.needs, *self.limits)]
        kinds: dict[tuple[bool, ...], int] = {}
        for y in self.children:
            kinds.setdefault(tuple(y in neighbours for neighbours in counted), y)
        alike = list(kinds.values())

        def program_row(bound: _CountBound, left: int) -> Row:
            """The row of a need or limit."""
            return {y: 1 for y in alike if y in bound.neighbours}, left

        lowers = [
            program_row(need, need.n - len(need.neighbours))
            for need in self.needs
            if need.n > len(need.neighbours)
        ]
        uppers = [program_row(limit, limit.n - len(limit.neighbours)) for limit in self.limits]
        point = find_integral_solution(uppers, lowers)
        return None if not isinstance(point, dict) else {y: 1 + more for y, more in point.items()}

    def find_contradiction(self) -> int | None:
        """Find a ≥n restriction all of whose successors are counted by a ≤m rule with m < n,
        whatever choices they make.

        Returns: the dependency set of the contradiction; None if there is none.
        """
        state, x = self.state, self.x
        for need in self.needs:
            fresh = [y for y in self.children if self._was_made_for(y, need.atom)]
            choices = self._choices_below(
                {y for y in range(len(state.parent)) if self._was_made_for(y, need.atom)}
            )
            for limit in self.limits:
                if limit.rule is None or limit.n >= need.n or limit.rule.head & ~state.neg[x]:
                    continue
                for y in fresh:
                    if y in limit.neighbours:
                        found = self._counting_dependencies(
                            limit.rule.role_bit, limit.rule.branch_body, y
                        )
                        if not found & choices:
                            found |= state.match_dependencies(limit.rule, x, -1)
                            return found | state.name_dependencies(x, 1 << need.atom)
        return None

    def _was_made_for(self, y: int, atom: int) -> bool:
        """Decide whether node y was created for this ≥n restriction of the node, even if it was
        merged since.
        """
        return self.state.parent[y] == self.x and self.grown_for[y] == atom

    def _choices_below(self, top: set[int]) -> int:
        """Collect the choice points at the nodes ``top`` and their descendants, as bits."""
        state, found = self.state, 0
        for level, (_, _, (kind, u, v), _) in enumerate(state.trail.choices):
            if any(_is_descendant(state, y, top) for y in ((u, v) if kind == MERGE else (u,))):
                found |= 1 << (state.dependencies.inputs + level)
        return found

    def dependency_set(self) -> int:
        """Return the dependency set of all facts that the constraints of the program use."""
        state, x, found = self.state, self.x, 0
        for need in self.needs:
            found |= state.name_dependencies(x, 1 << need.atom)
            filler = state.tables.needs[need.atom]
            for y in need.neighbours:
                found |= self._counting_dependencies(filler.role_bit, filler.filler, y)
        for limit in self.limits:
            if limit.rule is not None:
                found |= state.match_dependencies(limit.rule, x, -1)
                for y in limit.neighbours:
                    found |= self._counting_dependencies(
                        limit.rule.role_bit, limit.rule.branch_body, y
                    )
        return found

    def _counting_dependencies(self, role_bit: int, names: int, y: int) -> int:
        """Return the dependency set of the facts by which neighbour y is counted: its edge and its
        atoms.
        """
        state = self.state
        return state.edge_dependencies(self.x, y, role_bit) | state.name_dependencies(y, names)

    def describe_undecided(self) -> str:
        """Explain, for a message, why the number restrictions of this node are undecided."""
        atoms = self.state.tables.atoms
        asked = max(
            (atom for need in self.needs if isinstance(atom := atoms[need.atom], AtLeast)),
            key=lambda atom: atom.n,
        )
        limits = ", ".join(f"at most {n:,}" for n in sorted({limit.n for limit in self.limits}))
        return (
            f"{LARGE_NUMBER}: whether at least {asked.n:,} by <{asked.role.iri}> fit with {limits or 'the rest'} was not "
            f"decided: numbers above {MOST_BUILT} are only counted; smaller numbers in the restriction would decide it"
        )


def _is_descendant(state: TableauState, y: int, top: set[int]) -> bool:
    """Decide whether node y is one of the nodes ``top`` or a descendant of one."""
    while y >= 0 and y not in top:
        y = state.parent[y] if y < len(state.parent) else -1
    return y >= 0
