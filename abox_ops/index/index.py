"""The index of (T, A): elements, told literals and merge classes, and the calculus of each
criterion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from shiq import model as owl
from shiq.abox_ops.elements.base import FRESH, ArrayBase, Base, StoreBase
from shiq.abox_ops.elements.graph import BaseElements, Graph, empty_labels, flags
from shiq.abox_ops.elements.normal_assertions import collect_vocabulary, normalise
from shiq.abox_ops.elements.quotient import StoredPartition, component_minima, make_partition
from shiq.abox_ops.elements.union_view import UnionView
from shiq.abox_ops.labels.label_tables import clauses_hash, read_labels
from shiq.abox_ops.labels.numbered_calculus import NumberedCalculus
from shiq.abox_ops.told.told_literals import asserted_labels, refuted_labels, saturate
from shiq.columns.arrays import (
    NONE,
    ArrayTable,
    Columns,
    Ints,
    Table,
    array_table,
    concatenate,
    group_minimum,
    insertion_points,
    unique,
)
from shiq.columns.rows import ROW_COLUMNS, SAME, NameNumbering
from shiq.deadline import report_stage
from shiq.model import (
    THING,
    Class,
    NegativeDataPropertyAssertion,
    NegativeObjectPropertyAssertion,
    SubClassOf,
    TBox,
)
from shiq.model.abox import individuals_of
from shiq.model.as_json import decode
from shiq.model.roles import Role, RoleBox, role_of
from shiq.simplify import SimplifiedTBox, simplify

Extra = tuple[owl.SubClassOf | owl.Class, ...]
#: The tables of the merge classes that a store goes by with N, which serve N = told too, and
#: without.
CLASSES_OF_N, CLASSES_OF_TOLD = ("outside", "outside_members"), ("merged", "merged_members")


@dataclass(frozen=True, eq=False)
class ToldLabelTable:
    """The told label of each element, from a table (element, label)."""

    table: Table

    def label_of(self, elements: Ints) -> Ints:
        """The label id of each element."""
        rows = self.table.rows_of(elements)
        return rows["label"][insertion_points(rows["element"], elements)]


@dataclass(frozen=True, eq=False)
class Index:
    """The index of (T, A): elements, told labels and merge classes. An element is named by its
    least node.

    asserted_equality: individuals by asserted equality. equality: by all equality known for
        certain.
    merge_classes: elements by merge class.
    labels: numbers of told labels in ``calculus``. stored_labels: how many of these the columns
        use; further ones come from checks.
    is_contradictory: whether some told label clashes, so that A is inconsistent.
    detached_nodes: nodes of elements that deletions have changed. They keep their merge class,
        though counting might give a smaller one.
    """

    extra: Extra
    simplified_tbox: SimplifiedTBox
    calculus: NumberedCalculus
    asserted_equality: StoredPartition
    equality: StoredPartition
    merge_classes: StoredPartition
    labels: ToldLabelTable
    negated_roles: frozenset[Role]
    negated_properties: frozenset[str]
    is_contradictory: bool
    stored_labels: int
    detached_nodes: Ints = field(default_factory=lambda: NONE)

    def base_elements(self, merge_classes: StoredPartition | None = None) -> BaseElements:
        """The elements of A with their told labels, in the classes ``merge_classes`` that counting
        treats together.
        """
        return BaseElements(self.equality, self.labels.label_of, merge_classes)


def read_stored_index(tbox: owl.TBox, roles: RoleBox, base: StoreBase) -> Index:
    """Read the index from the store of ``base``. It is built anew if this version of the program
    makes other clauses of ``tbox``.
    """
    store = base.store
    document = store.index_document
    extra: Extra = tuple(map(decode, document["extra"]))
    simplified = simplify(tbox, extra)
    if clauses_hash(simplified.clauses) != document["clauses"]:
        return build_index(tbox, roles, base)
    labels = read_labels(store.table("labels").all())
    return Index(
        extra,
        simplified,
        NumberedCalculus(simplified.clauses, base.names.copy(), labels),
        StoredPartition(store.table("same"), store.table("same_members")),
        StoredPartition(store.table("equal"), store.table("equal_members")),
        StoredPartition(*map(store.table, CLASSES_OF_N if store.is_completed else CLASSES_OF_TOLD)),
        ToldLabelTable(store.table("elements")),
        frozenset(Role(iri, inverted) for iri, inverted in document["negated_roles"]),
        frozenset(document["negated_properties"]),
        document["contradictory"],
        len(labels),
    )


def build_index(tbox: owl.TBox, roles: RoleBox, base: Base) -> Index:
    """Build the index of (``tbox``, ``base``) from scratch: one pass over everything, then the
    fixpoints.
    """
    complex_ = complex_assertions_of(base)
    extra = needed_vocabulary(base.names, base.class_counts().nonzero()[0], complex_, roles)
    simplified = simplify(tbox, extra)
    calculus = NumberedCalculus(simplified.clauses, base.names.copy())
    nodes = base.nodes()
    same = asserted_equality_partition(base, nodes)
    graph = Graph(view_without_batch(base), roles, BaseElements(same, empty_labels))
    everyone = graph.locate(unique(graph.base_elements.keys_of(nodes)))
    everyone.sort()
    graph.fetch_edges(everyone)
    graph.label = calculus.table.join(
        asserted_labels(calculus, graph, everyone), refuted_labels(calculus, graph, everyone)
    )
    report_stage("indexing: inferring classes of individuals")
    saturate(calculus, graph, np.ones(len(graph), np.bool_))
    negated_roles, negated_properties = negative_vocabulary(complex_, roles)
    reps = graph.representatives()
    name = least_nodes(graph)
    node, element = graph.members.node, graph.rep[graph.members.element]
    return Index(
        extra,
        simplified,
        calculus,
        same,
        make_partition(node, name[element]),
        make_partition(name[reps], name[graph.rep[merge_classes(calculus, graph)[reps]]]),
        ToldLabelTable(array_table("element", {"element": name[reps], "label": graph.label[reps]})),
        negated_roles,
        negated_properties,
        bool(calculus.table.clashes(graph.label[reps]).any()),
        len(calculus.table.labels),
    )


def merge_classes(calculus: NumberedCalculus, graph: Graph) -> Ints:
    """Compute the merge classes of A under told labels; ``graph`` holds all of A.

    Returns:
        By element number, one of the elements of its class. A contradictory element is alone.
    """
    # Loaded where a base is indexed.
    from shiq.abox_ops.counting.groups import CountedGraph
    from shiq.abox_ops.counting.merge_classes import MergeClasses

    report_stage("indexing: counting neighbours")
    everyone = flags(len(graph), graph.representatives())
    clash = calculus.table.clashes(graph.label)
    counted = CountedGraph(calculus, graph, lambda: graph.label)
    return MergeClasses(counted, everyone, clash).classes_by_element()


def least_nodes(graph: Graph) -> Ints:
    """The least fetched node of each element, by element number."""
    return group_minimum(graph.rep[graph.members.element], graph.members.node, len(graph))


def asserted_equality_partition(base: Base, nodes: Ints) -> StoredPartition:
    """Partition the individuals by asserted equality."""
    pairs = concatenate(
        list(base.table("pairs").scan()), dict.fromkeys(ROW_COLUMNS["pairs"], nodes[:0])
    )
    told = pairs["kind"] == SAME
    first, second = (nodes.searchsorted(pairs[name][told]) for name in ("node", "neighbour"))
    return make_partition(nodes, nodes[component_minima(len(nodes), first, second)])


def view_without_batch(base: Base) -> UnionView:
    """View ``base`` together with an empty batch."""
    tables: dict[str, ArrayTable] = {
        name: array_table("node", dict.fromkeys(columns, NONE))
        for name, columns in ROW_COLUMNS.items()
    }
    return UnionView(base, ArrayBase(base.names, [], [], (), tables, FRESH), tables)


def complex_assertions_of(base: Base) -> list[owl.Assertion]:
    """The complex assertions of ``base``, each once."""
    found: dict[owl.Assertion, None] = {}
    for rows in base.table("complex").scan():
        found.update(dict.fromkeys(base.complex_of(rows)))
    return list(found)


def needed_vocabulary(
    names: NameNumbering, classes: Ints, complex: Sequence[owl.Assertion], roles: RoleBox
) -> Extra:
    """The names and definitions that a TBox needs for assertions on ``classes`` and for the
    ``complex`` ones.
    """
    stand_ins = (
        owl.ClassAssertion(owl.Class(names.classes.values[i]), "") for i in classes.tolist()
    )
    return collect_vocabulary([*stand_ins, *complex], roles)


def negative_vocabulary(
    complex: Sequence[owl.Assertion], roles: RoleBox
) -> tuple[frozenset[Role], frozenset[str]]:
    """The roles and data properties of the negative assertions among the ``complex`` ones, once
    normalised.
    """
    plain = [p for a in complex for p in normalise(a, roles).assertions]
    negative = [
        role_of(p.property) for p in plain if isinstance(p, owl.NegativeObjectPropertyAssertion)
    ]
    return (
        frozenset(r for role in negative for r in (role, role.inverse)),
        frozenset(
            p.property.iri for p in plain if isinstance(p, owl.NegativeDataPropertyAssertion)
        ),
    )


# What a batch touches: the individuals of its normalised assertions, and what it brings that is
# rare.


@dataclass(frozen=True)
class TouchedNodes:
    """The nodes that the insertions of a batch mention, once normalised (a:⊤ is dropped).

    nodes: all of them. non_edge_nodes: those of assertions other than role and data assertions.
    negative_nodes: those of negative assertions. data_rows: the inserted data rows.
    """

    nodes: Ints
    non_edge_nodes: Ints
    negative_nodes: Ints
    data_rows: Columns
    negated_roles: frozenset[Role]
    negated_properties: frozenset[str]


def touched_nodes(union: UnionView, roles: RoleBox) -> TouchedNodes:
    """Collect the nodes that the insertions of ``union`` mention."""
    tables = {name: table.columns for name, table in union.inserted_tables.items()}
    classes = tables["class_assertions"]
    thing = union.names.classes.ids.get(THING.iri, -1)
    complex_ = union.complex_insertions()
    plain = [p for a in complex_ for p in normalise(a, roles).assertions]
    negative = [
        p
        for p in plain
        if isinstance(p, NegativeObjectPropertyAssertion | NegativeDataPropertyAssertion)
    ]
    denied = union.nodes_of([i for p in negative for i in individuals_of(p)])
    named = union.nodes_of([i for p in plain for i in individuals_of(p)])
    other = [classes["node"][classes["class"] != thing], named, tables["pairs"]["node"], denied]
    return TouchedNodes(
        unique(
            np.concatenate(
                [tables["half_edges"]["node"], tables["data_assertions"]["node"], *other]
            )
        ),
        unique(np.concatenate(other)),
        unique(denied),
        dict(tables["data_assertions"]),
        *negative_vocabulary(complex_, roles),
    )


#: A session that has met more labels than this begins to forget.
_REMEMBERED = 1_000_000


@dataclass(frozen=True, eq=False)
class CalculusCache:
    """Cache of the calculi of one (T, A), kept from batch to batch.

    source: T as it is given. names: dictionaries of A.
    """

    source: TBox
    roles: RoleBox
    index: Index
    names: NameNumbering
    _latest: list[NumberedCalculus] = field(default_factory=list, repr=False)

    def tbox_with_insertions(self, union: UnionView) -> SimplifiedTBox:
        """Simplify the TBox with the vocabulary of the insertions."""
        return self.extended_tbox(self.new_vocabulary(union))

    def extended_tbox(self, added: Sequence[SubClassOf | Class]) -> SimplifiedTBox:
        """Simplify the TBox with the vocabulary ``added``."""
        return (
            simplify(self.source, (*self.index.extra, *added))
            if added
            else self.index.simplified_tbox
        )

    def new_vocabulary(self, union: UnionView) -> list[SubClassOf | Class]:
        """The names and definitions that the insertions bring and (T, A) does not have."""
        classes = unique(union.inserted_tables["class_assertions"].columns["class"])
        brought = needed_vocabulary(union.names, classes, union.complex_insertions(), self.roles)
        return [x for x in brought if x not in self._known_vocabulary]

    @cached_property
    def _known_vocabulary(self) -> frozenset[SubClassOf | Class]:
        """The names and definitions of T and A, and every name that is an atom: these change
        neither clauses nor atoms.
        """
        index = self.index
        atoms = {*index.simplified_tbox.clauses.atoms} & {
            *index.simplified_tbox.definition4_clauses.atoms
        }
        return frozenset((*index.extra, *(Class(atom) for atom in atoms if isinstance(atom, str))))

    def calculus_for(
        self, simplified: SimplifiedTBox, criterion: str, names: NameNumbering
    ) -> NumberedCalculus:
        """Return the cached calculus of ``criterion`` over ``simplified``.

        If the batch brings no name and no axiom, it is one that remembers earlier batches.
        """
        index = self.index
        as_before = simplified is index.simplified_tbox and (
            names is index.calculus.names or names.counts() == self.names.counts()
        )
        if criterion != "definition7":
            crowded = len(index.calculus.table.labels) > _REMEMBERED
            if as_before and not crowded:
                return index.calculus
            for known in self._latest:
                same = known.tbox is simplified.clauses and (
                    known.names is names or known.names.texts() == names.texts()
                )
                if same and len(known.table.labels) <= _REMEMBERED:
                    return known
            # Parts of one batch bring the same names again and again while it is explained.
            like = next(
                (
                    c
                    for c in (*self._latest, index.calculus)
                    if c.tbox is simplified.clauses and not crowded
                ),
                None,
            )
            labels = index.calculus.table.labels[: index.stored_labels]
            self._latest[:] = [NumberedCalculus(simplified.clauses, names, labels, like)]
            return self._latest[0]
        return (
            self._published_calculus
            if as_before
            else NumberedCalculus(simplified.definition4_clauses, names)
        )

    @cached_property
    def _published_calculus(self) -> NumberedCalculus:
        """The calculus of the published method, over the clauses of Definition 4."""
        return NumberedCalculus(
            self.index.simplified_tbox.definition4_clauses, self.index.calculus.names
        )
