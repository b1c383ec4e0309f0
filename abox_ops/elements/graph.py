"""The part of A ∪ A⁺ that a check has fetched, by element, as arrays.

An *element* is a class of individuals of A that are equal for certain, or a fresh individual. It
gets a number when it is first met. Elements that the batch makes equal are joined: `rep` gives the
element that stands for each. Members are fetched by `fetch_members`, role assertions by
`fetch_edges`; until then only the label in A is known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiq import model as owl
from shiq.abox_ops.elements.base import FRESH
from shiq.abox_ops.elements.normal_assertions import normalise
from shiq.abox_ops.elements.quotient import StoredPartition, component_minima
from shiq.abox_ops.elements.union_view import UnionView
from shiq.abox_ops.labels.label_numbers import EMPTY_ID, Bools
from shiq.columns.arrays import (
    NONE,
    Columns,
    Ints,
    concatenate_ranges,
    extend_column,
    positions,
    unique,
)
from shiq.columns.rows import DIFFERENT, SAME
from shiq.model.roles import Role, RoleBox, role_of

#: A literal that a complex assertion comes to: (class name, whether positive); ⊥ as (owl:Nothing,
#: True).
NameLiteral = tuple[str, bool]

_NO_FLAGS = np.zeros(0, np.bool_)
_EDGE, _ENDS = ("source", "role", "target", "inserted"), ("source_node", "target_node")


@dataclass
class ComplexFacts:
    """Facts from the complex assertions of fetched elements, by element number: literals, negative
    role assertions, negative data assertions.
    """

    literals: list[tuple[int, NameLiteral, bool]]
    negative_edges: list[tuple[int, Role, int]]
    negative_data: list[tuple[int, str, owl.Literal]]

    def add(
        self,
        plain: owl.Assertion,
        element: int,
        term: str,
        inserted: bool,
        number: Callable[[str], int],
    ) -> None:
        """Add a ``plain`` assertion of the ``element`` that ``term`` is a member of."""
        match plain:
            case owl.ClassAssertion(owl.Class(iri), individual) if individual == term:
                self.literals.append((element, (iri, True), inserted))
            case owl.ClassAssertion(owl.ObjectComplementOf(owl.Class(iri)), individual) if (
                individual == term
            ):
                self.literals.append((element, (iri, False), inserted))
            case owl.NegativeObjectPropertyAssertion(property, subject, object):
                role = role_of(property)
                if subject == term:
                    self.negative_edges.append((element, role, number(object)))
                if object == term:
                    self.negative_edges.append((element, role.inverse, number(subject)))
            case owl.NegativeDataPropertyAssertion(property, individual, literal) if (
                individual == term
            ):
                self.negative_data.append((element, property.iri, literal))


class Graph:
    """Element graph in columns, grown as elements are looked at: ``label`` is told⁺ (or whatever
    the criterion reads) of each element, ``old`` told in A less the deletions.

    ``group``: the merge class in A of an element, by the base's number. All columns are by
    element number; use `rep`. ``edges`` are by `rep` already; ``by_node``: they have the nodes
    of their ends too.
    """

    def __init__(
        self,
        whole: UnionView,
        roles: RoleBox,
        equal: StoredPartition,
        old_labels: Callable[[Ints], Ints],
        merged: StoredPartition | None = None,
        *,
        by_node: bool = False,
    ) -> None:
        self.union, self.roles, self.equality, self.base_labels, self.merge_classes = (
            whole,
            roles,
            equal,
            old_labels,
            merged,
        )
        self._keys = self._numbers = self.key = self.base_label = self.label = self.rep = (
            self.group
        ) = NONE
        self.member_node = self.member_element = NONE
        self.has_members = self.has_edges = _NO_FLAGS
        columns = (*_EDGE, *_ENDS) if by_node else _EDGE
        self.edges: Columns = {name: _NO_FLAGS if name == "inserted" else NONE for name in columns}
        self.different: Columns = {name: self.edges[name] for name in _EDGE if name != "role"}
        self.complex_facts = ComplexFacts([], [], [])
        self._by_source = _RowsBySource()
        self._is_joined = False
        self._has_insertions = False
        self.asserted_complex: list[tuple[int, int, owl.Assertion]] = []

    def __len__(self) -> int:
        return len(self.key)

    # --- elements ---------------------------------------------------------------------------------

    def locate_nodes(self, nodes: Ints) -> Ints:
        """The element of each node (as it is numbered, not its `rep`)."""
        return self.locate(self.keys_of(nodes))

    def elements_of(self, nodes: Ints) -> Ints:
        """The element of each node, by its `rep`."""
        numbers = self.locate_nodes(nodes)
        return self.rep[numbers]

    def keys_of(self, nodes: Ints) -> Ints:
        """The key of the element of each node: the base's number, or the node itself if it is
        fresh.
        """
        old, keys = nodes < FRESH, nodes.copy()
        keys[old] = self.equality.group_of(nodes[old])
        return keys

    def locate(self, keys: Ints) -> Ints:
        """The numbers of the elements with these keys. Elements not met before get a number now."""
        if not len(keys):
            return NONE
        at, is_known = self._places(keys)
        if not is_known.all():
            new = group = unique(keys[~is_known])
            if self.merge_classes is not None and len(self.merge_classes):
                groups, members = self.merge_classes.members(
                    unique(self.merge_classes.group_of(new[new < FRESH]))
                )
                fresh = new[new >= FRESH]
                new, group = np.concatenate([members, fresh]), np.concatenate([groups, fresh])
            self._add(new, group)
            at, _ = self._places(keys)
        return self._numbers[at]

    def _places(self, keys: Ints) -> tuple[Ints, Bools]:
        """Position of each of ``keys`` among the known keys, and whether it is known."""
        if not len(self._keys):
            return np.zeros(len(keys), np.int64), np.zeros(len(keys), np.bool_)
        at = np.minimum(positions(self._keys, keys), len(self._keys) - 1)
        return at, self._keys[at] == keys

    def _add(self, keys: Ints, group: Ints) -> None:
        count = len(self)
        number = np.arange(count, count + len(keys), dtype=np.int64)
        old = np.full(len(keys), EMPTY_ID, np.int64)
        in_base = keys < FRESH
        old[in_base] = self.base_labels(keys[in_base])
        self.key, self.group = extend_column(self.key, keys), extend_column(self.group, group)
        self.base_label, self.label = (
            extend_column(self.base_label, old),
            extend_column(self.label, old),
        )
        self.rep, nothing = extend_column(self.rep, number), np.zeros(len(keys), np.bool_)
        self.has_members, self.has_edges = (
            extend_column(self.has_members, nothing),
            extend_column(self.has_edges, nothing),
        )
        order = np.argsort(keys)
        at = np.searchsorted(self._keys, keys[order])
        self._keys, self._numbers = (
            np.insert(self._keys, at, keys[order]),
            np.insert(self._numbers, at, number[order]),
        )

    def representatives(self) -> Ints:
        """Numbers of the elements that stand for themselves."""
        return np.flatnonzero(self.rep == np.arange(len(self)))

    def parts(self, reps: Ints) -> Ints:
        """All numbers that ``reps`` stand for."""
        return np.flatnonzero(flags(len(self), reps)[self.rep]) if self._is_joined else unique(reps)

    def join(self, first: Ints, second: Ints) -> Ints:
        """Make first[i] and second[i] one element, for every i; return the elements that grew. The
        caller joins their labels.
        """
        self._by_source = _RowsBySource()
        self._is_joined = True
        before = self.rep
        apart = before[first] != before[second]
        self.rep = component_minima(
            len(self),
            np.concatenate([np.arange(len(self)), first]),
            np.concatenate([before, second]),
        )
        self.edges |= {end: self.rep[self.edges[end]] for end in ("source", "target")}
        return unique(self.rep[first[apart]])

    def is_new(self) -> Bools:
        """Whether an element is a fresh individual, or has one, or A⁺ made it of several."""
        return flags(len(self), self.rep[self.key >= FRESH]) | self.is_joined()

    def is_joined(self) -> Bools:
        """Whether A⁺ made an element of several."""
        return np.asarray(np.bincount(self.rep, minlength=len(self)) > 1)

    # --- rows -------------------------------------------------------------------------------------

    def fetch_members(self, reps: Ints) -> None:
        """Fetch the members of ``reps``, their pairs and complex assertions, where that was not
        done before.
        """
        if not self._is_joined and self.has_members[reps].all():
            return
        todo = self.parts(reps)
        todo = todo[~self.has_members[todo]]
        if not len(todo):
            return
        self.has_members[todo] = True
        node, element = self._members(todo)
        self.member_node = np.concatenate([self.member_node, node])
        self.member_element = np.concatenate([self.member_element, element])
        node, element = self.sorted_members(todo)

        def element_of(nodes: Ints) -> Ints:
            return element[node.searchsorted(nodes)]

        if self.union.has_rows("pairs"):
            self._add_pairs(self.union.rows_of("pairs", node), element_of)
        if self.union.has_rows("complex"):
            self._add_complex(self.union.complex_of(node), element_of)

    def fetch_edges(self, reps: Ints) -> None:
        """Fetch the members and role assertions of ``reps``. Their neighbours get numbers."""
        if not self._is_joined and self.has_edges[reps].all():
            return
        self.fetch_members(reps)
        todo = self.parts(reps)
        todo = todo[~self.has_edges[todo]]
        if not len(todo):
            return
        self.has_edges[todo] = True
        node, element = self.sorted_members(todo)
        rows = self.union.rows_of("half_edges", node, with_inserted=not self._has_insertions)
        self._add_edges(rows, element[node.searchsorted(rows["node"])])

    def sorted_members(self, numbers: Ints) -> tuple[Ints, Ints]:
        """(node, element) of the members of gathered elements as they are numbered, by node."""
        mine = flags(len(self), numbers)[self.member_element]
        node, element = self.member_node[mine], self.member_element[mine]
        order = node.argsort()
        return node[order], element[order]

    def add_inserted_edges(self) -> None:
        """Add the inserted role assertions, from both ends. Role assertions of A at these ends are
        fetched later, where a rule asks for them.
        """
        rows = dict(self.union.inserted_tables["half_edges"].columns)
        self._add_edges(
            {**rows, "inserted": np.ones(len(rows["node"]), np.bool_)},
            self.locate_nodes(rows["node"]),
        )
        self._has_insertions = True

    def fetch_changed_edges(self, elements: Bools) -> None:
        """Fetch the role assertions of those ``elements`` (a flag by number) that are not as in A.
        Unchanged elements need none: what they send along old assertions is already in the labels
        of A.
        """
        if self._has_insertions:
            self.fetch_edges(
                (
                    elements & ((self.label != self.base_label) | self.is_new())[: len(elements)]
                ).nonzero()[0]
            )

    def fetch_pending_edges(self, elements: Bools, among: Callable[[Ints], Bools]) -> None:
        """Fetch the role assertions of those ``elements`` (a flag by number) that have a known one
        ``among`` some roles.
        """
        todo = elements & ~self.has_edges
        if self._has_insertions and todo.any():
            source, role, target = self.half_edges()
            self.fetch_edges(
                (
                    todo
                    & flags(
                        len(self), np.concatenate([source[among(role)], target[among(role ^ 1)]])
                    )
                ).nonzero()[0]
            )

    def _add_edges(self, rows: Columns, source: Ints) -> None:
        target = self.locate_nodes(rows["neighbour"])
        if self._is_joined:
            source, target = self.rep[source], self.rep[target]
        ends = {
            "source": source,
            "target": target,
            "source_node": rows["node"],
            "target_node": rows["neighbour"],
        }
        found = {**ends, "role": rows["role"], "inserted": rows["inserted"]}
        self.edges = {
            name: extend_column(column, found[name]) for name, column in self.edges.items()
        }

    def forget_edges(self) -> None:
        """Drop the role assertions, to free memory; the graph must not be searched further."""
        self.edges, self._by_source = (
            {name: column[:0].copy() for name, column in self.edges.items()},
            _RowsBySource(),
        )

    def _members(self, elements: Ints) -> tuple[Ints, Ints]:
        """(node, element) for every member of ``elements``."""
        keys = self.key[elements]
        old = keys < FRESH
        key, member = self.equality.members(np.sort(keys[old]))
        node = np.concatenate([member, keys[~old]])
        return node, self.locate(np.concatenate([key, keys[~old]]))

    def _add_pairs(self, rows: Columns, element_of: Callable[[Ints], Ints]) -> None:
        unequal = rows["kind"] // 2 * 2 == DIFFERENT
        if unequal.any():
            found = {
                "source": element_of(rows["node"][unequal]),
                "target": self.locate_nodes(rows["neighbour"][unequal]),
                "inserted": rows["inserted"][unequal],
            }
            self.different = {
                name: np.concatenate([column, found[name]])
                for name, column in self.different.items()
            }
        same = (rows["kind"] == SAME) & rows["inserted"]
        if same.any():
            self.join(
                self.locate_nodes(rows["node"][same]), self.locate_nodes(rows["neighbour"][same])
            )

    def _add_complex(
        self, rows: list[tuple[int, owl.Assertion, bool]], element_of: Callable[[Ints], Ints]
    ) -> None:
        for node, assertion, inserted in rows:
            element = int(element_of(np.array([node]))[0])
            term = self.union.terms_of(np.array([node]))[0]
            self.asserted_complex.append((element, node, assertion))
            for plain in normalise(assertion, self.roles).assertions:
                self.complex_facts.add(plain, element, term, inserted, self._element)

    def _element(self, term: str) -> int:
        return int(self.locate_nodes(self.union.nodes_of([term]))[0])

    # --- as seen by element -----------------------------------------------------------------------

    def half_edges(self, chosen: Bools | None = None) -> tuple[Ints, Ints, Ints]:
        """(element, role, neighbour) by `rep`, of the expanded elements in ``chosen`` (a flag by
        number).
        """
        source, role, target = self.edges["source"], self.edges["role"], self.edges["target"]
        if chosen is None:
            return source, role, target
        rows = self._by_source.rows(source, chosen)
        return source[rows], role[rows], target[rows]

    def with_neighbours(self, chosen: Bools) -> Bools:
        """The ``chosen`` elements (a flag by number), and those with a known role assertion to one
        of them.
        """
        found = lengthen(chosen, len(self))
        if chosen.any():
            source, _, target = self.half_edges()
            found[source[found[target]]] = True
        return found

    def elements_with_unequal_members(self) -> Ints:
        """The gathered elements of which two members are asserted to be different."""
        if not len(self.different["source"]):
            return NONE
        source, target = self.rep[self.different["source"]], self.rep[self.different["target"]]
        return unique(source[source == target])

    def nodes_of(self, reps: Ints) -> tuple[Ints, Ints]:
        """(element, node) for every member of the gathered ``reps``."""
        element = self.rep[self.member_element]
        rows = flags(len(self), reps)[element]
        return element[rows], self.member_node[rows]


class _RowsBySource:
    """Index of a growing column by value: finds the rows of few values without a pass over all
    rows.
    """

    def __init__(self) -> None:
        self._order = np.zeros(0, np.int32)
        self._sorted = np.zeros(0, np.int32)

    def rows(self, column: Ints, chosen: Bools) -> Ints | Bools:
        """The rows of ``column`` with a number that is ``chosen``, ascending, or a flag for each."""
        if len(column) < _MANY or np.count_nonzero(chosen) * _SPARSE > len(column):
            found: Bools = chosen[column]
            return found
        if len(column) > 2 * len(self._order):
            self._order = np.argsort(column, kind="stable").astype(np.int32)
            self._sorted = column[self._order].astype(np.int32)
        wanted = np.flatnonzero(chosen).astype(np.int32)
        known = concatenate_ranges(
            self._sorted.searchsorted(wanted), self._sorted.searchsorted(wanted, "right")
        )
        later = np.flatnonzero(chosen[column[len(self._order) :]]) + len(self._order)
        return np.concatenate([np.sort(self._order[known].astype(np.int64)), later])


#: Rows from which on an order by source is kept; how much fewer must be asked for that it is looked
#: up.
_MANY, _SPARSE = 1 << 14, 32


class ElementFlags:
    """Descriptor: a flag by element number. It is lengthened with False as the ``graph`` of its
    holder grows.
    """

    def __set_name__(self, _: type, name: str) -> None:
        self._name = f"_flags_of_{name}"

    def __get__(self, holder: Any, _: type) -> Bools:
        found: Bools = getattr(holder, self._name)
        count = len(holder.graph.key)
        if len(found) < count:
            found = lengthen(found, count)
            setattr(holder, self._name, found)
        return found

    def __set__(self, holder: Any, flag: Bools) -> None:
        setattr(holder, self._name, flag)


def numbers_of(graph: Graph, keys: Ints) -> Ints:
    """The element of ``graph`` for each of the base's numbers, by its `rep`; -1 for one that it
    has not met.
    """
    at, is_known = graph._places(keys)
    found = np.full(len(keys), -1, np.int64)
    found[is_known] = graph.rep[graph._numbers[at[is_known]]]
    return found


def flags(count: int, chosen: Ints) -> Bools:
    """Boolean array of length ``count``, True at ``chosen``."""
    found = np.zeros(count, np.bool_)
    found[chosen] = True
    return found


def lengthen(flag: Bools, count: int) -> Bools:
    """Extend ``flag`` with False to ``count`` elements."""
    return np.concatenate([flag, np.zeros(count - len(flag), np.bool_)])


def flag_of(flag: Bools, elements: Ints) -> Bools:
    """``flag`` of each of ``elements``; False for elements met after it was made."""
    known = elements < len(flag)
    found = np.zeros(len(elements), np.bool_)
    found[known] = flag[elements[known]]
    return found
