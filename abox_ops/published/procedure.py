"""The published procedure in columns, frontier by frontier (THEORY, "The procedure";
`tests.spec.published`), and the criterion `none`, which keeps everything.
"""

from __future__ import annotations

import numpy as np

from shiq.abox_ops.elements.graph import Graph, extend_flags, flags, rows_of_elements
from shiq.abox_ops.elements.union_view import UnionView
from shiq.abox_ops.index.index import Index, TouchedNodes
from shiq.abox_ops.labels.label_numbers import EMPTY_ID, Bools, distinct_rows
from shiq.abox_ops.labels.numbered_calculus import NumberedCalculus
from shiq.abox_ops.modules.add_set import AddSetColumns
from shiq.abox_ops.published.remedies import Definition7, Outcome
from shiq.abox_ops.told.told_literals import asserted_labels
from shiq.columns.arrays import Columns, Ints, concatenate, distinct_with_inverse, unique
from shiq.simplify import SimplifiedTBox


class AssertedLabels:
    """Labels of asserted literals alone, by element of a graph; computed when first looked up."""

    def __init__(self, calculus: NumberedCalculus, graph: Graph) -> None:
        self.calculus, self.graph = calculus, graph
        self._is_known = np.zeros(0, np.bool_)

    def lookup(self, elements: Ints) -> Ints:
        """The asserted label of each element."""
        graph = self.graph
        self._is_known = extend_flags(self._is_known, len(graph))
        new = unique(elements[~self._is_known[elements]])
        if len(new):
            graph.fetch_members(new)
            graph.label[new] = asserted_labels(self.calculus, graph, new)
            self._is_known = extend_flags(self._is_known, len(graph))
            self._is_known[new] = True
        return graph.label[elements]


def make_definition7(index: Index, tbox: SimplifiedTBox, touched: TouchedNodes) -> Definition7:
    """Make the relevance test of Definition 7 from T, the negative assertions of A, and those of
    the batch.
    """
    negated_properties = index.negated_properties | touched.negated_properties
    return Definition7.build(tbox, index.negated_roles | touched.negated_roles, negated_properties)


def initial_nodes(
    calculus: NumberedCalculus, union: UnionView, touched: TouchedNodes, features: frozenset[str]
) -> Ints:
    """Find the nodes that enter A_add at once: those of inserted assertions, except role assertions
    and irrelevant data.
    """
    data = touched.data_rows
    seen = calculus.is_property_in(data["property"], features) | _is_ill_typed(
        calculus, union, data
    )
    return np.concatenate([touched.non_edge_nodes, data["node"][seen]])


class PublishedProcedure:
    """One run of the published procedure for one batch. ``old_graph``: A without the deletions."""

    def __init__(
        self,
        index: Index,
        tbox: SimplifiedTBox,
        calculus: NumberedCalculus,
        graph: Graph,
        old_graph: Graph,
        touched: TouchedNodes,
    ) -> None:
        self.calculus, self.graph, self.touched = calculus, graph, touched
        self.rules = make_definition7(index, tbox, touched)
        self.asserted_labels, self.base_labels = (
            AssertedLabels(calculus, graph),
            AssertedLabels(calculus, old_graph),
        )
        self._part_of, self._names = self.rules.part_of, self.rules.relevant_atoms
        self._kept: list[Columns] = []
        self._remedies: dict[tuple[int, str, bool], None] = {}

    def run(self) -> AddSetColumns:
        """Compute A_add by the published procedure (`tests.spec.published`). Stops because elements
        enter once.
        """
        graph = self.graph
        graph.fetch_edges(graph.locate_nodes(self.touched.nodes))
        entered = np.zeros(len(graph), np.bool_)
        reached = unique(
            np.concatenate(
                [
                    graph.elements_of(self._initial_nodes()),
                    self._process_edges(graph.edges.columns["inserted"]),
                ]
            )
        )
        while len(frontier := reached[~extend_flags(entered, len(graph))[reached]]):
            graph.fetch_edges(frontier)
            entered = extend_flags(entered, len(graph))
            entered[frontier] = True
            reached = self._process_edges(
                flags(len(graph), frontier)[graph.edges.columns["source"]]
            )
        return self._make_add_set(np.flatnonzero(entered))

    def _initial_nodes(self) -> Ints:
        """Find the nodes that enter A_add at once."""
        return initial_nodes(self.calculus, self.graph.union, self.touched, self.rules.features)

    # --- step 3 -----------------------------------------------------------------------------------

    def _process_edges(self, chosen: Bools) -> Ints:
        """Keep the ``chosen`` half edges or replace them by remedies; return the elements that
        enter A_add as a result.
        """
        edges = self.graph.edges.columns
        chosen = chosen & self.calculus.is_role_in(edges["role"], self._part_of)
        rows = {name: column[chosen] for name, column in edges.items()}
        source, target = rows["source"], rows["target"]
        outcomes, which = self._distinct_outcomes(rows, source, target)
        kept, at_source, at_target = (
            np.array([(o.is_kept, o.subject_enters, o.object_enters) for o in outcomes], np.bool_)
            .reshape(-1, 3)
            .T[:, which]
        )
        self._kept.append(
            {"source": source[kept], "role": rows["role"][kept], "target": target[kept]}
        )
        for end, element in enumerate((source, target)):
            here = [[remedy for remedy in o.remedies if remedy[0] == bool(end)] for o in outcomes]
            has = np.array([bool(remedies) for remedies in here], np.bool_)[which]
            for i, e in distinct_rows(which[has], element[has])[0]:
                self._remedies |= {(e, name, positive): None for _, name, positive in here[i]}
        return unique(np.concatenate([source[at_source], target[at_target]]))

    def _distinct_outcomes(
        self, rows: Columns, source: Ints, target: Ints
    ) -> tuple[list[Outcome], Ints]:
        """Decide role assertions by Definition 7: return the distinct outcomes, and the position of
        each role assertion among them.
        """
        open_ = ~self.calculus.is_role_in(rows["role"], self.rules.always_relevant_roles)
        old = open_ & ~rows["inserted"]
        labels = np.full((4, len(source)), EMPTY_ID, np.int64)
        for end, column in enumerate((source, target)):
            labels[end, open_] = self.asserted_labels.lookup(column[open_])
        for end, name in ((2, "source_node"), (3, "target_node")):
            labels[end, old] = self.base_labels.lookup(
                self.base_labels.graph.elements_of(rows[name][old])
            )
        masked = (
            self.calculus.table.restrict_each(x, np.zeros(len(x), np.int64), [self._names])
            for x in labels
        )
        found, which = distinct_rows(rows["role"], rows["inserted"].astype(np.int64), *masked)
        roles, known = self.calculus.roles, self.calculus.table.labels
        return [
            self.rules.outcome(
                roles[role], known[a], known[b], None if inserted else (known[c], known[d])
            )
            for role, inserted, a, b, c, d in found
        ], which

    # --- the result -------------------------------------------------------------------------------

    def _make_add_set(self, elements: Ints) -> AddSetColumns:
        """Build A_add of the elements ``elements``, with the remedies put in."""
        graph, calculus = self.graph, self.calculus
        graph.fetch_edges(elements)
        graph.label[elements] = self.asserted_labels.lookup(elements)
        inside = flags(len(graph), elements)
        placed = [
            (e, calculus.literal_label(name, positive))
            for e, name, positive in self._remedies
            if inside[e]
        ]
        target, received = np.array(placed, np.int64).reshape(-1, 2).T
        graph.label[elements] = calculus.table.accumulate(
            graph.label[elements], np.searchsorted(elements, target), received
        )
        kept = concatenate(self._kept, self._kept[0])
        found = _build_columns(calculus, graph, elements, self.touched, kept, self.rules.features)
        found.remedies += self._remedies
        return found


def keep_everything(
    index: Index, calculus: NumberedCalculus, graph: Graph, touched: TouchedNodes
) -> AddSetColumns:
    """Keep all of A ∪ A⁺ with asserted labels: the criterion `none`."""
    graph.locate(unique(graph.base_elements.keys_of(graph.union.nodes())))
    graph.fetch_edges(graph.representatives())
    seen = graph.representatives()
    graph.label[seen] = asserted_labels(calculus, graph, seen)
    source, role, target = graph.edges.half_edges()
    properties = index.negated_properties | touched.negated_properties
    features = calculus.tbox.data_properties | calculus.tbox.roles.data_subproperties_of_any(
        properties
    )
    return _build_columns(
        calculus, graph, seen, touched, {"source": source, "role": role, "target": target}, features
    )


def _build_columns(
    calculus: NumberedCalculus,
    graph: Graph,
    elements: Ints,
    touched: TouchedNodes,
    rows: Columns,
    features: frozenset[str],
) -> AddSetColumns:
    """Build A_add of the elements ``elements``: their labels, the role assertions ``rows`` between
    them, and their data on ``features``.
    """
    graph.label[_elements_with_ill_typed(calculus, graph, elements)] = calculus.table.clash_id
    clash = calculus.table.clashes(graph.label[elements])
    rest = elements[~clash]
    inside = flags(len(graph), rest)
    source, role, target = (rows[name] for name in ("source", "role", "target"))
    back = role % 2 == 1
    kept = inside[source] & inside[target]
    ends = np.where(back, target, source), role - back, np.where(back, source, target)
    edges = {name: column[kept] for name, column in zip(("source", "role", "target"), ends)}
    data = rows_of_elements(graph, "data_assertions", rest)
    on = calculus.is_property_in(data["property"], features)
    data = {name: column[on] for name, column in data.items()}
    first = unique(graph.elements_of(touched.nodes))
    return AddSetColumns(
        graph,
        elements,
        flags(len(graph), elements),
        graph.label,
        graph.label,
        first,
        elements[clash],
        edges,
        data,
    )


def _is_ill_typed(calculus: NumberedCalculus, union: UnionView, rows: Columns) -> Bools:
    """Decide whether each data row has an ill-typed literal."""
    values, which, _ = distinct_with_inverse(rows["literal"])
    return calculus.are_ill_typed(union.literals_of(values))[which]


def _elements_with_ill_typed(calculus: NumberedCalculus, graph: Graph, elements: Ints) -> Ints:
    """Select the elements that have an ill-typed value."""
    rows = rows_of_elements(graph, "data_assertions", elements)
    return unique(rows["element"][_is_ill_typed(calculus, graph.union, rows)])
