"""A_add as published, in columns: `abox_ops.definition7` (THEORY.md 1.4), frontier by frontier; and the criterion `none`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from abox_ops.parts import m_part, u_part
from abox_ops.remedy import Remedy, remedies
from abox_ops.seen import below, seen_roles
from jobs.engines.calculus import Calculus, distinct_values
from jobs.engines.clausal import Found, data_rows
from jobs.engines.columns import Columns, Ints, concatenate
from jobs.engines.graph import Graph, flags
from jobs.engines.index import Index
from jobs.engines.labels import EMPTY_ID, Bools, combinations
from jobs.engines.saturation import asserted_labels
from jobs.engines.touched import Touched
from shiq.datatypes import IllTyped
from shiq.roles import Role
from simplify import SimplifiedTBox

_EDGE = ("source", "role", "target", "source_node", "target_node", "inserted")
#: What becomes of a role assertion: it is not part of anything, it is kept, or remedies take its place.
_NOTHING, _KEPT, _REMEDIED = 0, 1, 2


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
        return self._labels(self.old_graph, self.old_graph.rep[self.old_graph.locate_nodes(nodes)])

    def _labels(self, graph: Graph, elements: Ints) -> Ints:
        known = self._known[id(graph)]
        known = np.concatenate([known, np.zeros(len(graph) - len(known), np.bool_)])
        new = np.unique(elements[~known[elements]])
        if len(new):
            graph.expand(new)
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

    def run(self) -> Found:
        """See `abox_ops.definition7`. Stops because elements enter once."""
        graph = self.graph
        first = graph.locate_nodes(self.touched.nodes)
        graph.expand(first)
        self.entered = np.zeros(len(graph), np.bool_)
        rows = graph.edges["inserted"] & (graph.edges["role"] % 2 == 0)
        entering = [graph.rep[graph.locate_nodes(self._told())], self._role_assertions(rows)]
        frontier = np.unique(np.concatenate(entering))
        while len(frontier):
            graph.expand(frontier)
            self._enter(frontier)
            source = graph.rep[graph.edges["source"]]
            reached = self._role_assertions(flags(len(graph), frontier)[source])
            self._enter(_NONE)
            frontier = reached[~self.entered[reached]]
        return self._result(np.unique(graph.rep[first]))

    def _told(self) -> Ints:
        """The nodes that enter at once: those of every inserted assertion but role assertions, and data that cannot matter."""
        inserted = self.graph.whole.inserted
        data = self.touched.data
        names = self.calculus.names.data_properties.values
        seen = np.fromiter((p in self.features for p in names), np.bool_, len(names))[data["property"]]
        classes = np.intersect1d(inserted["class_assertions"].columns["node"], self.touched.nodes)
        return np.concatenate([classes, self.touched.always, self.touched.plain, data["node"][seen | ill_typed(self.calculus, self.graph, data)]])

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
        labels = self.asserted.labels(np.concatenate([source, target]))
        found, which = combinations(rows["role"], labels[: len(source)], labels[len(source) :])
        remedied = [self._remedies(*key) for key in found]
        has_none = np.fromiter((r is None for r in remedied), np.bool_, len(found))[which]
        entering.append(self._keep(rows, has_none))
        for i, remedy in enumerate(remedied):
            if remedy:
                here = which == i
                entering += self._put(remedy, {name: column[here] for name, column in rows.items()})
        return np.unique(np.concatenate(entering))

    def _keep(self, rows: Columns, chosen: Bools) -> Ints:
        kept = {name: column[chosen] for name, column in rows.items()}
        self.kept.append(kept)
        return self.graph.rep[np.concatenate([kept["source"], kept["target"]])]

    def _remedies(self, role: int, source: int, target: int) -> list[Remedy] | None:
        """The remedies of a role assertion between elements with these labels, seen from its subject; None if one is missing."""
        a, b = (self.calculus.table.labels[i] for i in (source, target))
        named = self.calculus.roles[role]
        forward = remedies(self._axioms(named), a, b, self.ids)
        backward = remedies(self._axioms(named.inverse), b, a, self.ids)
        if forward is None or backward is None:
            return None
        return forward + [_Backward(not r.at_branch, r.name, r.positive) for r in backward]

    def _axioms(self, role: Role):  # type: ignore[no-untyped-def]
        above = self.roles.superroles(role)
        return [axiom for axiom in self.universals if axiom.role in above]

    def _put(self, found: list[Remedy], rows: Columns) -> list[Ints]:
        """Puts remedies in the place of ``rows``, which are of one role and one pair of labels; the elements that enter."""
        entering = []
        role = int(rows["role"][0])
        ends = {True: self.graph.rep[rows["target"]], False: self.graph.rep[rows["source"]]}
        for remedy in found:
            element = ends[remedy.at_branch]
            for e in np.unique(element).tolist():
                self.remedies[(e, remedy.name, remedy.positive)] = None
            is_new = rows["inserted"].copy()
            old = np.flatnonzero(~is_new)
            is_new[old] = ~self._is_old(remedy, role, {name: column[old] for name, column in rows.items()})
            entering.append(element[is_new])
        return entering

    def _is_old(self, remedy: Remedy, role: int, rows: Columns) -> Bools:
        """For which of ``rows``, all in A, A less the deletions gives the same remedy."""
        source, target = (self.asserted.old_labels(rows[name]) for name in ("source_node", "target_node"))
        found, which = combinations(source, target)
        named = self.calculus.roles[role]
        labels = self.calculus.table.labels
        same = []
        for a, b in found:
            if isinstance(remedy, _Backward):
                given = self._single(named.inverse, labels[b], labels[a])
                same.append(Remedy(not remedy.at_branch, remedy.name, remedy.positive) in given)
            else:
                same.append(remedy in self._single(named, labels[a], labels[b]))
        return np.array(same, np.bool_)[which]

    def _single(self, role: Role, centre, branch) -> list[Remedy]:  # type: ignore[no-untyped-def]
        return [r for axiom in self._axioms(role) for r in remedies([axiom], centre, branch, self.ids) or ()]

    # --- the result --------------------------------------------------------------------------------

    def _result(self, touched: Ints) -> Found:
        graph, table = self.graph, self.calculus.table
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


class _Backward(Remedy):
    """A remedy that an axiom on the inverse role gives; its ends are those of the role assertion as it was looked at."""


def everything(index: Index, calculus: Calculus, graph: Graph, touched: Touched) -> Found:
    """All of A ∪ A⁺, with asserted labels: `abox_ops.everything`."""
    graph.locate(np.unique(graph.keys_of(graph.whole.nodes())))
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
    first = np.unique(graph.rep[graph.locate_nodes(touched.nodes)])
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
    values, which = distinct_values(rows)
    literals = graph.whole.literals_of(values["literal"])
    clash = calculus.refuted({"property": np.zeros(len(literals), np.int64), "literal": values["literal"]}, literals)
    is_clash = calculus.table.clashes(clash)
    return is_clash[which]


def clash_ill_typed(calculus: Calculus, graph: Graph, elements: Ints) -> Ints:
    """The elements with an ill-typed value."""
    rows = data_rows(graph, elements)
    found: Ints = np.unique(rows["element"][ill_typed(calculus, graph, rows)])
    return found


_NONE = np.zeros(0, np.int64)

__all__ = ["EMPTY_ID", "Callable", "Published", "everything"]
