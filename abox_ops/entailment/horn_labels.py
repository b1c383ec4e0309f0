"""Labels of named individuals for Horn clauses without counting, closed one by one (THEORY,
"Entailment").

A label is a set of names. What it entails at its own individual, witnesses included, is one run of
the tableau on a single node, remembered. What a role assertion sends from end to end depends on the
labels of its ends, and is remembered too.

No role has a bound and no two individuals are equal. So R(a, b) follows iff an assertion of a role
below R says it, or a path of roles below a transitive role below R.
"""

from __future__ import annotations

from collections.abc import Iterator

from shiq.abox_ops.labels.label_calculus import ClauseEnds, LabelCalculus
from shiq.answers.verdict import Verdict
from shiq.model.clause import ClausalTBox
from shiq.model.roles import Role, RoleBox
from shiq.reasoner.hypertableau.search import decide_module
from shiq.reasoner.hypertableau.tables import Tables
from shiq.reasoner.protocol import Module
from shiq.support import cached_method

#: Steps for one label.
_STEPS = 100_000


class LabelClash(Exception):
    """Signal: a label contradicts T."""


class LabelOpen(Exception):
    """Signal: the closure of a label could not be decided; the argument is the reason."""


def is_horn(tbox: ClausalTBox) -> bool:
    """Decide whether every clause of ``tbox`` has at most one head atom, and there are no bounds,
    no data and no axioms on pairs of roles.
    """
    box = tbox.roles
    plain = all(isinstance(a, str) or hasattr(a, "role") for a in tbox.atoms)
    one = all(not c.at_most and len(c.head) + len(c.branch_head) < 2 for c in tbox.clauses)
    return (
        plain
        and one
        and not (box.disjoint or box.asymmetric or box.irreflexive or box.disjoint_data)
    )


class HornLabels:
    """Closed labels over a Horn ``tbox``, by id; id 0 is the label of an individual without
    assertions.

    ``names[i]``: the set of names of label i.

    Raises: LabelClash, where nothing can hold at all.
    """

    def __init__(self, tbox: ClausalTBox) -> None:
        self.tbox = tbox
        self._tables = Tables(tbox)
        self._space = LabelCalculus(tbox)
        self._mask = sum(1 << i for i, atom in enumerate(tbox.atoms) if isinstance(atom, str))
        self.names: list[int] = []
        self._ids: dict[int, int] = {}
        self._label_of_names: dict[int, int] = {}
        self._roles: list[tuple[ClauseEnds, ...]] = []
        self.close_label(0)

    @cached_method
    def role_id(self, iri: str) -> int:
        """The id of a property; -1 where no clause is about it."""
        ends = self._space.clause_ends(Role(iri))
        if not ends:
            return -1
        self._roles.append(ends)
        return len(self._roles) - 1

    def close_label(self, names: int) -> int:
        """Close the set of asserted ``names`` (a bitmask) and return the id of the label. Raises:
        LabelClash, LabelOpen.
        """
        known = self._label_of_names.get(names)
        if known is None:
            outcome = decide_module(self._tables, Module((names,), (0,)), _STEPS, None)
            if outcome.answer.verdict is Verdict.INCONSISTENT:
                raise LabelClash
            if outcome.model is None:
                raise LabelOpen(outcome.answer.reason)
            found = outcome.model.pos[0] & self._mask
            if found not in self._ids:
                self._ids[found] = len(self.names)
                self.names.append(found)
            known = self._label_of_names[names] = self._label_of_names[found] = self._ids[found]
        return known

    def extend_label(self, label: int, names: int) -> int:
        """Close a label together with more ``names``; return the id of the result."""
        told = self.names[label]
        return label if not names & ~told else self.close_label(told | names)

    @cached_method
    def send_along_role(self, role: int, subject: int, object: int) -> tuple[int, int]:
        """Compute the labels of both ends after one role assertion has sent literals between them."""
        first, second = self.names[subject], self.names[object]
        to_subject = to_object = 0
        for _, _, (head, body), (other_head, other_body) in self._roles[role]:
            if not (body & ~first or other_body & ~second):
                if not head | other_head:
                    raise LabelClash
                to_subject |= head
                to_object |= other_head
        return self.extend_label(subject, to_subject), self.extend_label(object, to_object)


class LabelledGraph:
    """Individuals (ids) with labels, and the role assertions between them, closed by `saturate`.

    ``below``: a saturated graph that this one only adds to; numbers below its size are its
    individuals.
    """

    def __init__(self, labels: HornLabels, below: LabelledGraph | None = None) -> None:
        self._labels = labels
        self._base = below
        self.label: dict[int, int] = {}
        self._base_labels: dict[int, int] = {} if below is None else below.label
        self.edges: dict[int, list[tuple[int, int, int]]] = {}
        self._queue: list[int] = []

    def label_of(self, x: int) -> int:
        """The id of the current label of x."""
        found = self.label.get(x)
        return self._base_labels.get(x, 0) if found is None else found

    def add_names(self, x: int, names: int) -> None:
        """Add ``names`` to the label of x."""
        self._set_label(x, self._labels.extend_label(self.label_of(x), names))

    def add_edge(self, role: int, x: int, y: int) -> None:
        """Add a role assertion from x to y and send literals along it."""
        edge = role, x, y
        self.edges.setdefault(x, []).append(edge)
        if x != y:
            self.edges.setdefault(y, []).append(edge)
        self._send_along(edge)

    def saturate(self) -> None:
        """Send literals along role assertions until no label changes. Stops because labels grow."""
        queue = self._queue
        while queue:
            x = queue.pop()
            for edge in self.edges.get(x, ()):
                self._send_along(edge)
            if self._base is not None:
                for edge in self._base.edges.get(x, ()):
                    self._send_along(edge)

    def _send_along(self, edge: tuple[int, int, int]) -> None:
        """Send along one role assertion, and queue the ends whose label grew."""
        role, x, y = edge
        first, second = self.label_of(x), self.label_of(y)
        new_first, new_second = self._labels.send_along_role(role, first, second)
        if x == y:
            # Both ends are one: what either is sent, it is told.
            names = self._labels.names
            new_first = new_second = self._labels.extend_label(new_first, names[new_second])
        if new_first != first:
            self._set_label(x, new_first)
        if new_second != second:
            self._set_label(y, new_second)

    def _set_label(self, x: int, label: int) -> None:
        """Set the label of an individual, and queue it if it changed."""
        if label != self.label_of(x) or (self._base is None and x not in self.label):
            self.label[x] = label
            self._queue.append(x)


#: An asked role, and two individuals.
NumberPair = tuple[str, int, int]


class RoleGraph:
    """Assertions of the roles ``asked`` between individuals (ids), for entailed pairs by role
    hierarchy and transitivity.

    ``below``: a graph that this one extends.
    """

    def __init__(
        self, box: RoleBox, asked: tuple[str, ...], below: RoleGraph | None = None
    ) -> None:
        self._base = below
        if below is None:
            steps = [(iri, Role(iri), False) for iri in asked]
            steps += [
                (iri, role, True)
                for iri in asked
                for role in sorted(box.subroles(Role(iri)) & box.transitive)
            ]
            self.steps: list[tuple[str, Role, bool]] = steps
            self.along: dict[str, list[tuple[int, bool]]] = {}
            self._box = box
        else:
            self.steps, self.along, self._box = below.steps, below.along, below._box
        #: For each step, the neighbours of each individual, forwards and backwards.
        self.forward: list[dict[int, set[int]]] = [{} for _ in self.steps]
        self.backward: list[dict[int, set[int]]] = [{} for _ in self.steps]

    def add_pair(self, iri: str, x: int, y: int) -> None:
        """Add an assertion of the property ``iri``."""
        along = self.along.get(iri)
        if along is None:
            above = self._box.superroles(Role(iri)), self._box.superroles(Role(iri, True))
            turned = (
                (i, inverted)
                for i, step in enumerate(self.steps)
                for inverted in (False, True)
                if step[1] in above[inverted]
            )
            along = self.along[iri] = list(turned)
        for step, inverted in along:
            a, b = (y, x) if inverted else (x, y)
            self.forward[step].setdefault(a, set()).add(b)
            self.backward[step].setdefault(b, set()).add(a)

    def entailed_pairs(
        self, among: set[int], *, static: bool
    ) -> tuple[set[NumberPair], set[NumberPair]]:
        """Find all entailed role pairs ``among`` these individuals.

        With ``static`` also those with another end that the graph below lacks.
        """
        within: set[NumberPair] = set()
        beyond: set[NumberPair] = set()
        for step, (iri, _, is_closed) in enumerate(self.steps):
            for x in self._path_starts(step, among):
                reached = self._reachable_from(step, x, is_closed=is_closed) & among
                within.update((iri, x, y) for y in reached)
            if static and is_closed and self._base is not None:
                beyond.update(
                    (iri, x, y) for x, y in self._new_pairs(step) if not (x in among and y in among)
                )
        if self._base is None:
            return within, beyond
        return within, {pair for pair in beyond if not self._base.has_pair(pair)}

    def _path_starts(self, step: int, among: set[int]) -> set[int]:
        """Select those individuals ``among`` the given ones at which an edge of the role ``step``
        starts.
        """
        own = among & self.forward[step].keys()
        return own if self._base is None else own | (among & self._base.forward[step].keys())

    def has_pair(self, pair: NumberPair) -> bool:
        """Decide whether a role pair is entailed."""
        iri, x, y = pair
        return any(
            y in self._reachable_from(step, x, is_closed=is_closed)
            for step, (asked, _, is_closed) in enumerate(self.steps)
            if asked == iri
        )

    def _new_pairs(self, step: int) -> Iterator[tuple[int, int]]:
        """Yield the pairs of a transitive role ``step`` whose path uses an assertion of this graph,
        not only of the graph below.
        """
        for a, ends in self.forward[step].items():
            starts = {a} | self._reachable_from(step, a, is_closed=True, backward=True)
            for b in ends:
                for y in {b} | self._reachable_from(step, b, is_closed=True):
                    yield from ((x, y) for x in starts)

    def _reachable_from(
        self, step: int, x: int, *, is_closed: bool, backward: bool = False
    ) -> set[int]:
        """The individuals that the role ``step`` reaches from x: over one edge or, if it is closed
        under transitivity, over any number.
        """
        found = self._neighbours_by_step(step, x, backward=backward)
        if not is_closed:
            return found
        waiting = list(found)
        found = set(found)
        while waiting:
            fresh = self._neighbours_by_step(step, waiting.pop(), backward=backward) - found
            found |= fresh
            waiting += fresh
        return found

    def _neighbours_by_step(self, step: int, x: int, *, backward: bool) -> set[int]:
        """The individuals one edge of the role ``step`` away from x, with the edges of the graph
        below.
        """
        own = (self.backward if backward else self.forward)[step].get(x, _NOBODY)
        if self._base is None:
            return own
        other = self._base._neighbours_by_step(step, x, backward=backward)
        return own | other if own and other else own or other


_NOBODY: set[int] = set()
