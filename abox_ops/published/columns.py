"""A_add as published, in columns: `abox_ops.published.reference` (THEORY.md 1.4), frontier by frontier; and the criterion
`none`."""

from __future__ import annotations

import numpy as np

from abox_ops.elements.columns import Graph, flags
from abox_ops.index.columns import Index
from abox_ops.index.touched import Touched
from abox_ops.labels.columns import Calculus
from abox_ops.labels.numbered import Bools, combinations
from abox_ops.labels.seen import below, seen_roles
from abox_ops.modules.add_set_columns import Found
from abox_ops.modules.open_assertions import data_rows
from abox_ops.published.parts import m_part, u_part
from abox_ops.published.remedy import Remedy, remedies
from abox_ops.told.columns import asserted_labels
from shiq.abox import Interner
from shiq.columns.arrays import Columns, Ints, concatenate, distinct, ranges, unique
from shiq.roles import Role
from simplify import SimplifiedTBox, Universal

_NONE = np.zeros(0, np.int64)


class Asserted:
    """A graph whose labels are the asserted ones, worked out when they are asked for; ``old``: those of A less the deletions."""

    def __init__(self, calculus: Calculus, graph: Graph, old_graph: Graph) -> None:
        self.calculus, self.graph, self.old_graph = calculus, graph, old_graph
        self._known = {id(graph): np.zeros(0, np.bool_), id(old_graph): np.zeros(0, np.bool_)}

    def labels(self, elements: Ints) -> Ints:
        """The asserted label of each element of A ∪ A⁺."""
        return self._labels(self.graph, elements)

    def old_labels(self, nodes: Ints) -> Ints:
        """The asserted label in A less the deletions of each node's element there; empty for a fresh individual."""
        return self._labels(self.old_graph, self.old_graph.elements_of(nodes))

    def _labels(self, graph: Graph, elements: Ints) -> Ints:
        known = self._known[id(graph)]
        known = np.concatenate([known, np.zeros(len(graph) - len(known), np.bool_)])
        new = unique(elements[~known[elements]])
        if len(new):
            graph.gather(new)
            graph.label[new] = asserted_labels(self.calculus, graph, new)
            known = np.concatenate([known, np.zeros(len(graph) - len(known), np.bool_)])
            known[new] = True
        self._known[id(graph)] = known
        return graph.label[elements]


class Published:
    """One run of the published procedure for one batch."""

    def __init__(
        self, index: Index, tbox: SimplifiedTBox, calculus: Calculus, graph: Graph, old_graph: Graph, touched: Touched
    ) -> None:
        self.calculus, self.graph, self.touched = calculus, graph, touched
        self.asserted = Asserted(calculus, graph, old_graph)
        self.roles, self.ids = tbox.definition4_clauses.roles, tbox.definition4_clauses.atom_ids
        negated = below(index.negated_roles | touched.negated_roles, self.roles)
        self.never = seen_roles(self.roles) | negated | m_part(tbox)
        self.u_part, self.universals = u_part(tbox), tbox.universals
        properties = index.negated_properties | touched.negated_properties
        self.features = tbox.features | {q for p in properties for q in self.roles.data_subproperties(p)}
        self.kept: list[Columns] = []
        self.remedies: dict[tuple[int, str, bool], None] = {}
        self.entered = np.zeros(0, np.bool_)
        #: Remedies by number, each with whether it comes from an axiom on the inverse of the role, so that its ends are swapped.
        self.remedy_numbers: Interner[tuple[bool, Remedy]] = Interner()
        names = {literal[0] for u in tbox.universals for literal in (u.premise, u.filler) if literal is not None}
        self.universal_bits = sum(1 << self.ids[name] for name in names)

    def run(self) -> Found:
        """See `abox_ops.published.reference`. Stops because elements enter once."""
        graph = self.graph
        first = graph.locate_nodes(self.touched.nodes)
        graph.expand(first)
        self.entered = np.zeros(len(graph), np.bool_)
        rows = graph.edges["inserted"] & (graph.edges["role"] % 2 == 0)
        entering = [graph.elements_of(self._told()), self._role_assertions(rows)]
        frontier = unique(np.concatenate(entering))
        while len(frontier):
            graph.expand(frontier)
            self._enter(frontier)
            source = graph.rep[graph.edges["source"]]
            reached = self._role_assertions(flags(len(graph), frontier)[source])
            self._enter(_NONE)
            frontier = reached[~self.entered[reached]]
        return self._result(unique(graph.rep[first]))

    def _told(self) -> Ints:
        """The nodes that enter at once: those of every inserted assertion but role assertions, and data that cannot matter."""
        data = self.touched.data
        names = self.calculus.names.data_properties.values
        seen = np.fromiter((p in self.features for p in names), np.bool_, len(names))[data["property"]]
        return np.concatenate([self.touched.other, data["node"][seen | ill_typed(self.calculus, self.graph, data)]])

    def _enter(self, elements: Ints) -> None:
        self.entered = np.concatenate([self.entered, np.zeros(len(self.graph) - len(self.entered), np.bool_)])
        self.entered[elements] = True

    # --- step 3 ------------------------------------------------------------------------------------

    def _role_assertions(self, chosen: Bools) -> Ints:
        """Keeps the chosen half-edges or puts their remedies in their place; the elements that enter by that."""
        rows = {name: column[chosen] for name, column in self.graph.edges.items()}
        role = rows["role"]
        never = self.calculus.among(role, self.never)
        part = self.calculus.among(role, self.u_part) & ~never
        entering = [self._keep(rows, never)]
        rows = {name: column[part] for name, column in rows.items()}
        source, target = self.graph.rep[rows["source"]], self.graph.rep[rows["target"]]
        labels = self._named(self.asserted.labels(np.concatenate([source, target])))
        found, which = combinations(rows["role"], labels[: len(source)], labels[len(source) :])
        remedied = [self._remedies(*key) for key in found]
        has_none = np.fromiter((r is None for r in remedied), np.bool_, len(found))[which]
        entering.append(self._keep(rows, has_none))
        counts = np.fromiter((len(r or ()) for r in remedied), np.int64, len(found))
        numbers = np.array([i for r in remedied for i in r or ()], np.int64)
        first = np.cumsum(counts) - counts
        row = np.repeat(np.arange(len(which)), counts[which])
        remedy = numbers[ranges(first[which], first[which] + counts[which])]
        entering.append(self._put({name: column[row] for name, column in rows.items()}, remedy))
        return unique(np.concatenate(entering))

    def _named(self, labels: Ints) -> Ints:
        """Labels without the names that no universal speaks of."""
        return self.calculus.table.masked(labels, np.zeros(len(labels), np.int64), [self.universal_bits])

    def _keep(self, rows: Columns, chosen: Bools) -> Ints:
        kept = {name: column[chosen] for name, column in rows.items()}
        self.kept.append(kept)
        ends: Ints = self.graph.rep[np.concatenate([kept["source"], kept["target"]])]
        return ends

    def _remedies(self, role: int, source: int, target: int) -> list[int] | None:
        """The remedies (by number) of a role assertion between elements with these labels; None if one is missing."""
        a, b = (self.calculus.table.labels[i] for i in (source, target))
        named = self.calculus.roles[role]
        forward = remedies(self._axioms(named), a, b, self.ids)
        backward = remedies(self._axioms(named.inverse), b, a, self.ids)
        if forward is None or backward is None:
            return None
        return [self.remedy_numbers.id((False, r)) for r in forward] + [self.remedy_numbers.id((True, r)) for r in backward]

    def _axioms(self, role: Role) -> list[Universal]:
        above = self.roles.superroles(role)
        return [axiom for axiom in self.universals if axiom.role in above]

    def _put(self, rows: Columns, remedy: Ints) -> Ints:
        """Puts ``remedy[i]`` in the place of row i; the elements that enter by that."""
        all_remedies = self.remedy_numbers.values
        at_target = np.fromiter((r.at_branch != backward for backward, r in all_remedies), np.bool_, len(all_remedies))[remedy]
        element = self.graph.rep[np.where(at_target, rows["target"], rows["source"])]
        for e, i in combinations(element, remedy)[0]:
            _, r = all_remedies[i]
            self.remedies[(e, r.name, r.positive)] = None
        is_new = rows["inserted"].copy()
        old = np.flatnonzero(~is_new)
        if len(old):
            is_new[old] = ~self._is_old(remedy[old], {name: column[old] for name, column in rows.items()})
        entering: Ints = element[is_new]
        return entering

    def _is_old(self, remedy: Ints, rows: Columns) -> Bools:
        """For which rows, all in A, A less the deletions gives the same remedy."""
        source, target = (self._named(self.asserted.old_labels(rows[name])) for name in ("source_node", "target_node"))
        found, which = combinations(remedy, rows["role"], source, target)
        labels = self.calculus.table.labels
        same = []
        for number, role, a, b in found:
            backward, wanted = self.remedy_numbers.values[number]
            named = self.calculus.roles[role]
            role_, centre, branch = (named.inverse, labels[b], labels[a]) if backward else (named, labels[a], labels[b])
            same.append(any(wanted in (remedies([x], centre, branch, self.ids) or ()) for x in self._axioms(role_)))
        return np.array(same, np.bool_)[which]

    # --- the result --------------------------------------------------------------------------------

    def _result(self, touched: Ints) -> Found:
        graph, table = self.graph, self.calculus.table
        self._enter(_NONE)
        seen = np.flatnonzero(self.entered)
        graph.expand(seen)
        self.asserted.labels(seen)
        remedies_ = [key for key in self.remedies if self.entered[key[0]]]
        target = np.array([e for e, _, _ in remedies_], np.int64)
        received = np.array([self.calculus.literal(name, positive) for _, name, positive in remedies_], np.int64)
        graph.label[seen] = table.accumulate(graph.label[seen], np.searchsorted(seen, target), received)
        bad = clash_ill_typed(self.calculus, graph, seen)
        graph.label[bad] = table.clash_id
        clash = table.clashes(graph.label[seen])
        rest = seen[~clash]
        edges = _element_edges(graph, concatenate(self.kept, {name: c[:0] for name, c in graph.edges.items()}), rest)
        data = kept_data(self.calculus, graph, rest, self.features)
        labelled = flags(len(graph), seen)
        return Found(graph, seen, labelled, graph.label, graph.label, touched, seen[clash], edges, data, list(self.remedies))


def everything(index: Index, calculus: Calculus, graph: Graph, touched: Touched) -> Found:
    """All of A ∪ A⁺, with asserted labels: `abox_ops.published.everything`."""
    graph.locate(unique(graph.keys_of(graph.whole.nodes())))
    graph.expand(graph.reps())
    seen = graph.reps()
    graph.label[seen] = asserted_labels(calculus, graph, seen)
    graph.label[clash_ill_typed(calculus, graph, seen)] = calculus.table.clash_id
    clash = calculus.table.clashes(graph.label[seen])
    rest = seen[~clash]
    source, role, target = graph.half_edges(flags(len(graph), rest))
    edges = _element_edges(graph, {"source": source, "role": role, "target": target}, rest)
    properties = index.negated_properties | touched.negated_properties
    roles = calculus.tbox.roles
    features = calculus.tbox.data_properties | {q for p in properties for q in roles.data_subproperties(p)}
    data = kept_data(calculus, graph, rest, features)
    first = unique(graph.elements_of(touched.nodes))
    return Found(graph, seen, flags(len(graph), seen), graph.label, graph.label, first, seen[clash], edges, data)


def _element_edges(graph: Graph, rows: Columns, rest: Ints) -> Columns:
    """Role assertions between elements of ``rest``, roles not inverted."""
    source, role, target = graph.rep[rows["source"]], rows["role"], graph.rep[rows["target"]]
    back = role % 2 == 1
    source, role, target = np.where(back, target, source), role - back, np.where(back, source, target)
    inside = flags(len(graph), rest)
    kept = inside[source] & inside[target]
    return {"source": source[kept], "role": role[kept], "target": target[kept]}


def kept_data(calculus: Calculus, graph: Graph, elements: Ints, features: frozenset[str] | set[str]) -> Columns:
    """The data assertions of ``elements`` on ``features``."""
    rows = data_rows(graph, elements)
    names = calculus.names.data_properties.values
    kept = np.fromiter((p in features for p in names), np.bool_, len(names))[rows["property"]]
    return {name: column[kept] for name, column in rows.items()}


def ill_typed(calculus: Calculus, graph: Graph, rows: Columns) -> Bools:
    """Which data rows have a literal that its datatype does not have."""
    values, which, _ = distinct(rows["literal"])
    return calculus.ill_typed(graph.whole.literals_of(values))[which]


def clash_ill_typed(calculus: Calculus, graph: Graph, elements: Ints) -> Ints:
    """The elements with an ill-typed value."""
    rows = data_rows(graph, elements)
    found: Ints = unique(rows["element"][ill_typed(calculus, graph, rows)])
    return found
