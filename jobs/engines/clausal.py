"""A_add under the clausal criterion, in columns: the closure of `abox_ops.add_set` (THEORY.md 2.3, 2.4), frontier by frontier.

The steps and their order are those of the reference; each runs over all elements at once, and asks `abox_ops` once per distinct
combination of labels.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

import numpy as np

from abox_ops.seen import below, seen_roles
from abox_ops.told import Label
from jobs.columns import Columns, Ints, distinct, row_codes, unique
from jobs.engines.calculus import Calculus
from jobs.engines.counting import Counts
from jobs.engines.graph import Graph, flags
from jobs.engines.index import Index
from jobs.engines.labels import Bools
from jobs.engines.saturation import asserted_labels, combine, refuted_labels, saturate
from jobs.engines.touched import Touched
from shiq.model import Literal

_NONE = np.zeros(0, np.int64)
#: Label and data of each member of a merge class.
_Members: TypeAlias = list[tuple[Label, set[tuple[str, Literal]]]]


@dataclass
class Found:
    """A closure in columns, by element number of ``graph`` (elements by their `rep`, ascending).

    ``seen``: I; ``labelled``: elements that ``labels`` are given for; ``labels``: by number; ``kept_labels``: what modules hold;
    ``contradictory``: elements of I that clash; ``edges``: kept role assertions (source, role, target), roles not inverted, each
    once; ``data``: kept data rows (element, node, property, literal); ``remedies``: (element, name, positive).
    """

    graph: Graph
    seen: Ints
    labelled: Bools
    labels: Ints
    kept_labels: Ints
    touched: Ints
    contradictory: Ints
    edges: Columns
    data: Columns
    remedies: list[tuple[int, str, bool]] = field(default_factory=list)


class Clausal:
    """One run for one batch."""

    def __init__(self, index: Index, calculus: Calculus, graph: Graph, touched: Touched) -> None:
        self.index, self.calculus, self.graph, self.touched = index, calculus, graph, touched
        roles = calculus.tbox.roles
        self.axiom_roles = seen_roles(roles)
        self.negated_roles = below(index.negated_roles | touched.negated_roles, roles)
        properties = index.negated_properties | touched.negated_properties
        self.negated_properties = frozenset(q for p in properties for q in roles.data_subproperties(p))
        self.grown_tbox = len(calculus.tbox.clauses) > len(index.simplified.clauses.clauses)

    def run(self) -> Found:
        """See `abox_ops.add_set`."""
        graph = self.graph
        first = graph.locate_nodes(self.touched.nodes)
        graph.expand(first)
        if self.grown_tbox and self.calculus.space.m_type:
            graph.locate(unique(graph.keys_of(graph.whole.nodes())))
            graph.expand(graph.reps())
        combine(self.calculus, graph, unique(graph.rep))
        self._take_in(unique(graph.rep[first]), inserted_only=not self.grown_tbox)
        active = flags(len(graph), graph.rep[first])
        seen = _NONE
        while True:
            active = saturate(self.calculus, graph, active, self._take_in_all if self.grown_tbox else lambda elements: None)
            self.active = active
            self.counts = Counts(self.calculus, graph)
            self._recount()
            self.is_new = graph.is_new()
            touched = unique(graph.rep[first])
            closed = self._close(unique(np.concatenate([graph.rep[seen], self._start()])))
            self._extend_flags()
            if np.array_equal(closed, seen) and self.active[closed].all():
                break
            seen, active = closed, self.active
            fresh = seen[~active[seen]]
            active[seen] = True
            if self.grown_tbox and len(fresh):
                self._take_in_all(fresh)
        return self._result(seen, touched)

    def _take_in(self, elements: Ints, *, inserted_only: bool) -> None:
        """Gives ``elements`` what is asserted there beyond their labels in A."""
        for labels in (asserted_labels, refuted_labels):
            found = labels(self.calculus, self.graph, elements, inserted_only=inserted_only)
            self.graph.label[elements] = self.calculus.table.join(self.graph.label[elements], found)

    def _take_in_all(self, elements: Ints) -> None:
        """The same where T grew: what A asserts there may mean more than it did."""
        self._take_in(elements, inserted_only=False)

    def _recount(self) -> None:
        """The merge classes where labels, members or role assertions are not those of A."""
        graph = self.graph
        if not self.calculus.space.m_type:
            return
        reps = graph.reps()
        changed = flags(len(graph), reps[graph.label[reps] != graph.old[reps]])
        changed |= graph.is_new()
        changed[graph.rep[graph.edges["source"][graph.edges["inserted"]]]] = True
        detached = unique(graph.elements_of(self.index.detached))
        self.counts.of_batch(np.flatnonzero(changed), detached, everywhere=self.grown_tbox)

    def _extend_flags(self) -> None:
        """Takes in elements that were met since the flags were made."""
        more = np.zeros(len(self.graph) - len(self.active), np.bool_)
        self.active = np.concatenate([self.active, more])
        self.is_new = np.concatenate([self.is_new, more])

    # --- I -----------------------------------------------------------------------------------------

    def _start(self) -> Ints:
        """The touched elements that a check must see, and those that A⁺ makes or enlarges."""
        graph, table = self.graph, self.calculus.table
        active = np.flatnonzero(self.active)
        differs = table.visible(graph.label[active]) != table.visible(graph.old[active])
        started = [active[differs | self._of(self.is_new, active)], graph.elements_of(self.touched.always)]
        rows = graph.edges["inserted"] & (graph.edges["role"] % 2 == 0)
        source, role, target = (graph.edges[name][rows] for name in ("source", "role", "target"))
        source, target = graph.rep[source], graph.rep[target]
        kept = self._relevant(source, role, target) | self._seen(source, role, target)
        started += [source[kept], target[kept]]
        data = self.touched.data
        element = graph.elements_of(data["node"])
        started.append(element[~self._decided(element, data["property"], data["literal"])])
        return unique(np.concatenate(started))

    def _relevant(self, source: Ints, role: Ints, target: Ints) -> Bools:
        """Which role assertions are not irrelevant (THEORY.md 2.3)."""
        label = self.graph.label
        found, which = self.calculus.role_calculus.open(role, label[source], label[target])
        relevant = np.fromiter((o.relevant for o in found), np.bool_, len(found))[which]
        for ends, end in ((source, "at_subject"), (target, "at_object")):
            for clause in dict.fromkeys(c for o in found for c in getattr(o, end)):
                has = np.fromiter((clause in getattr(o, end) for o in found), np.bool_, len(found))[which]
                has &= ~relevant
                if has.any():
                    relevant[has] = ~self.counts.is_within(ends[has], clause)
        return relevant

    def _seen(self, source: Ints, role: Ints, target: Ints) -> Bools:
        """Which role assertions an axiom of THEORY.md 2.6 or a negative assertion can see."""
        seen = self.calculus.among(role, self.axiom_roles)
        if self.negated_roles:
            maybe = np.flatnonzero(~seen & self.calculus.among(role, self.negated_roles))
            if len(maybe):
                seen[maybe] = self._meets_negative(source[maybe], role[maybe], target[maybe])
        return seen

    def _meets_negative(self, source: Ints, role: Ints, target: Ints) -> Bools:
        """Which role assertions have a negative one on a role above, between the merge classes of their ends."""
        counts, roles = self.counts, self.calculus.roles
        self.graph.expand(counts.members(unique(counts.classes(source))))
        of, rep = counts.classes(np.arange(len(self.graph))), self.graph.rep
        negative = {(int(of[rep[a]]), r, int(of[rep[b]])) for a, r, b in self.graph.rare.negative_edges}
        above = self.calculus.tbox.roles.superroles
        return np.fromiter(
            (
                any((int(of[a]), s, int(of[b])) in negative for s in above(roles[r]))
                for a, r, b in zip(source.tolist(), role.tolist(), target.tolist())
            ),
            np.bool_,
            len(source),
        )

    def _of(self, flag: Bools, elements: Ints) -> Bools:
        """``flag`` of elements, some of which may have been met after it was made."""
        known = elements < len(flag)
        found = np.zeros(len(elements), np.bool_)
        found[known] = flag[elements[known]]
        return found

    def _may_share(self, elements: Ints) -> Bools:
        """Which elements may be equal to another one, or have become so by A⁺."""
        return (self.counts.sizes(elements) > 1) | (self._of(self.active, elements) & self._of(self.is_new, elements))

    def _crosses(self, source: Ints, role: Ints, target: Ints) -> Bools:
        """Which role assertions pull in the end that is outside I."""
        crosses = self._relevant(source, role, target)
        rest = np.flatnonzero(~crosses)
        seen = self._seen(source[rest], role[rest], target[rest])
        rest = rest[seen]
        crosses[rest] = self._may_share(source[rest]) | self._may_share(target[rest])
        return crosses

    def _close(self, start: Ints) -> Ints:
        """I: everything that ``start`` pulls in. Stops because I grows within the elements of A ∪ A⁺."""
        graph = self.graph
        closed = flags(len(graph), start)
        frontier = start
        while len(frontier):
            graph.expand(frontier)
            closed = _longer(closed, len(graph))
            source, role, target = graph.half_edges(flags(len(graph), frontier))
            outside = ~closed[target]
            source, role, target = source[outside], role[outside], target[outside]
            reached = unique(target[self._crosses(source, role, target)])
            closed = _longer(closed, len(graph))
            closed[reached] = True
            frontier = reached
        return np.flatnonzero(closed)

    # --- data --------------------------------------------------------------------------------------

    def _decided(self, element: Ints, property: Ints, literal: Ints) -> Bools:
        """Which data assertions are decided at their element (THEORY.md 2.4, Data)."""
        names = self.calculus.names.data_properties.values
        kept = self.calculus.data.disjoint | self.negated_properties
        decided = ~np.fromiter((p in kept for p in names), np.bool_, len(names))[property]
        bounded = np.fromiter((p in self.calculus.bounded_properties for p in names), np.bool_, len(names))[property]
        asked = np.flatnonzero(decided & bounded)
        if len(asked):
            decided[asked] = self._decided_by_values(element[asked], property[asked], literal[asked])
        return decided

    def _decided_by_values(self, element: Ints, property: Ints, literal: Ints) -> Bools:
        """The same for properties that some ≤n restricts, asked once per distinct question."""
        calculus = self.calculus
        names = calculus.names.data_properties.values
        _, which, example = distinct(literal)
        values = self.graph.whole.literals_of(literal[example])
        alike = calculus.alike(property, [values[i] for i in which.tolist()])
        label = calculus.table.masked(self.graph.label[element], np.zeros(len(element), np.int64), [calculus.data_bits])
        counts = np.fromiter((p in calculus.counted_properties for p in names), np.bool_, len(names))[property]
        class_ = np.where(counts, self.counts.classes(element), -1)
        _, question, example = distinct(row_codes(property, label, np.where(alike, -1, which), class_))
        fetched: dict[int, _Members] = {}

        def class_values(i: int) -> _Members:
            if not fetched:
                fetched.update(self._values_by_class(unique(class_[example])))
            return fetched[int(class_[i])]

        answers = [
            calculus.data.is_decided(
                names[int(property[i])],
                values[int(which[i])],
                calculus.table.labels[int(label[i])],
                partial(class_values, i),
                self.negated_properties,
            )
            for i in example.tolist()
        ]
        return np.array(answers, np.bool_)[question]

    def _values_by_class(self, classes: Ints) -> dict[int, _Members]:
        """Label and data of every member of each of the merge ``classes``."""
        members = self.counts.members(classes[classes >= 0])
        self.graph.gather(members)
        rows = data_rows(self.graph, members)
        names, labels = self.calculus.names.data_properties.values, self.calculus.table.labels
        values: dict[int, set[tuple[str, Literal]]] = {m: set() for m in members.tolist()}
        literals = self.graph.whole.literals_of(rows["literal"])
        for m, p, value in zip(rows["element"].tolist(), rows["property"].tolist(), literals):
            values[m].add((names[p], value))
        found: dict[int, _Members] = {}
        for class_, (m, data) in zip(self.counts.classes(members).tolist(), values.items()):
            found.setdefault(class_, []).append((labels[int(self.graph.label[m])], data))
        return found

    # --- A_add -------------------------------------------------------------------------------------

    def _result(self, seen: Ints, touched: Ints) -> Found:
        graph, table = self.graph, self.calculus.table
        clash = table.clashes(graph.label[seen])
        rest = flags(len(graph), seen[~clash])
        source, role, target = graph.half_edges(rest)
        inside = rest[target] & (role % 2 == 0)
        source, role, target = source[inside], role[inside], target[inside]
        kept = self._relevant(source, role, target) | self._seen(source, role, target)
        edges = {"source": source[kept], "role": role[kept], "target": target[kept]}
        data = self._kept_data(seen[~clash])
        visible = graph.label.copy()
        visible[seen] = table.visible(graph.label[seen])
        return Found(graph, seen, self.active, graph.label, visible, touched, seen[clash], edges, data)

    def _kept_data(self, elements: Ints) -> Columns:
        seen = self.calculus.bounded_properties | self.calculus.data.disjoint | self.negated_properties
        rows = data_rows(self.graph, elements) if seen else data_rows(self.graph, _NONE)
        kept = ~self._decided(rows["element"], rows["property"], rows["literal"])
        return {name: column[kept] for name, column in rows.items()}


def data_rows(graph: Graph, elements: Ints) -> Columns:
    """The data assertions of expanded elements: element, node, property, literal, inserted."""
    element, node = graph.nodes_of(elements)
    order = np.argsort(node)
    rows = graph.whole.rows_of("data_assertions", node[order])
    return {**rows, "element": element[order][np.searchsorted(node[order], rows["node"])]}


def _longer(flag: Bools, count: int) -> Bools:
    return np.concatenate([flag, np.zeros(count - len(flag), np.bool_)])
