"""The part of A ∪ A⁺ that a check has fetched, by element, as arrays.

An *element* is a class of individuals of A that are equal for certain, or a fresh individual. It
gets a number when it is first met. Elements that the batch makes equal are joined: `rep` gives the
element that stands for each. Members are fetched by `fetch_members`, role assertions by
`fetch_edges`; until then only the label in A is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shiq import model as owl
from shiq.abox_ops.elements.base import FRESH
from shiq.abox_ops.elements.normal_assertions import name_literal, normalise
from shiq.abox_ops.elements.quotient import StoredPartition, component_minima
from shiq.abox_ops.elements.union_view import UnionView
from shiq.abox_ops.labels.label_numbers import EMPTY_ID, Bools
from shiq.columns.arrays import (
    NONE,
    Columns,
    Ints,
    extend_column,
    insertion_points,
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
    """The complex assertions of fetched elements, and the facts they contain, by element number.

    assertions: (element, node, assertion). literals: with whether they are inserted.
    """

    assertions: list[tuple[int, int, owl.Assertion]] = field(default_factory=list)
    literals: list[tuple[int, NameLiteral, bool]] = field(default_factory=list)
    negative_edges: list[tuple[int, Role, int]] = field(default_factory=list)
    negative_data: list[tuple[int, str, owl.Literal]] = field(default_factory=list)

    def add_assertion(
        self,
        plain: owl.Assertion,
        element: int,
        term: str,
        inserted: bool,
        number: Callable[[str], int],
    ) -> None:
        """Add the normalised assertion ``plain`` as a fact at ``element``, which ``term`` is a
        member of. ``number``: gives the element number of an individual.
        """
        match plain:
            case owl.ClassAssertion(expression, individual) if individual == term:
                self.literals.append((element, name_literal(expression), inserted))
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


@dataclass(frozen=True, eq=False)
class BaseElements:
    """The elements of A: which individuals are equal, the told label of each element, and the merge
    classes that counting treats together.

    An element has a *key*: its number in A, or its node if it is a fresh individual.
    """

    equality: StoredPartition
    label_of: Callable[[Ints], Ints]
    merge_classes: StoredPartition | None = None

    def keys_of(self, nodes: Ints) -> Ints:
        """The key of each node's element: the least node of the element in A, or the node itself if
        it is fresh.
        """
        old, keys = nodes < FRESH, nodes.copy()
        keys[old] = self.equality.group_of(nodes[old])
        return keys

    def labels_of(self, keys: Ints) -> Ints:
        """The id of the label in A of each element, given by key; the empty label for a fresh one."""
        found, old = empty_labels(keys), keys < FRESH
        found[old] = self.label_of(keys[old])
        return found

    def members(self, keys: Ints) -> tuple[Ints, Ints]:
        """List (key, node) for every individual of the elements ``keys``."""
        old = keys < FRESH
        key, node = self.equality.members(np.sort(keys[old]))
        return np.concatenate([key, keys[~old]]), np.concatenate([node, keys[~old]])

    def with_merge_classes(self, keys: Ints) -> tuple[Ints, Ints]:
        """List (merge class, key) for the elements ``keys`` and all others in their merge classes."""
        if self.merge_classes is None or not len(self.merge_classes):
            return keys, keys
        old = unique(self.merge_classes.group_of(keys[keys < FRESH]))
        groups, members = self.merge_classes.members(old)
        fresh = keys[keys >= FRESH]
        return np.concatenate([groups, fresh]), np.concatenate([members, fresh])


class KeyNumbers:
    """Map from the keys of elements to their element numbers."""

    def __init__(self) -> None:
        self._keys = self._numbers = NONE

    def find(self, keys: Ints) -> Ints:
        """Look up the element number of each key; -1 where it has none."""
        if not len(self._keys):
            return np.full(len(keys), -1, np.int64)
        at = np.minimum(insertion_points(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[at] == keys, self._numbers[at], -1)

    def add(self, keys: Ints, numbers: Ints) -> None:
        """Assign element numbers to ``keys`` that have none yet."""
        order = np.argsort(keys)
        at = np.searchsorted(self._keys, keys[order])
        self._keys = np.insert(self._keys, at, keys[order])
        self._numbers = np.insert(self._numbers, at, numbers[order])


class MemberTable:
    """The fetched individuals of elements: columns ``node`` and ``element``; ``is_fetched``: a flag
    by element number.
    """

    def __init__(self) -> None:
        self.node = self.element = NONE
        self.is_fetched = _NO_FLAGS

    def add(self, node: Ints, element: Ints) -> None:
        """Append individuals (``node``) of elements, each once."""
        self.node = np.concatenate([self.node, node])
        self.element = np.concatenate([self.element, element])

    def of_elements(self, numbers: Ints) -> tuple[Ints, Ints]:
        """List (node, element) for the fetched individuals of the elements ``numbers``, before
        joins, sorted by node.
        """
        mine = flags(len(self.is_fetched), numbers)[self.element]
        node, element = self.node[mine], self.element[mine]
        order = node.argsort()
        return node[order], element[order]


class EdgeTable:
    """The fetched role assertions, with ends after joins; ``is_fetched``: a flag by element number.

    columns: parallel, with the nodes of both ends if ``by_node``. has_insertions: whether the
    inserted ones are among them.
    """

    def __init__(self, *, by_node: bool) -> None:
        names = (*_EDGE, *_ENDS) if by_node else _EDGE
        self.columns: Columns = _empty_columns(names)
        self.is_fetched = _NO_FLAGS
        self.has_insertions = False

    def add(self, rows: Columns) -> None:
        """Append role assertions; columns that the table does not have are ignored."""
        self.columns = {
            name: extend_column(column, rows[name]) for name, column in self.columns.items()
        }

    def rename(self, rep: Ints) -> None:
        """Replace the ends of all role assertions by their representatives ``rep``, after elements
        were joined.
        """
        self.columns |= {end: rep[self.columns[end]] for end in ("source", "target")}

    def clear(self) -> None:
        """Drop the role assertions, to free memory; the graph must not be searched afterwards."""
        self.columns = {name: column[:0].copy() for name, column in self.columns.items()}

    def half_edges(self, chosen: Bools | None = None) -> tuple[Ints, Ints, Ints]:
        """The columns element, role, neighbour (after joins) of the fetched role assertions, of
        those elements that are ``chosen`` (a flag by number).
        """
        source, role, target = (self.columns[name] for name in ("source", "role", "target"))
        if chosen is None:
            return source, role, target
        rows = chosen[source]
        return source[rows], role[rows], target[rows]

    def with_neighbours(self, chosen: Bools) -> Bools:
        """Extend the ``chosen`` elements (a flag by number) by those with a fetched role assertion
        to one of them.
        """
        found = extend_flags(chosen, len(self.is_fetched))
        if chosen.any():
            source, _, target = self.half_edges()
            found[source[found[target]]] = True
        return found


class Graph:
    """Graph of elements in columns, fetched as far as a check needs it. ``label``: told⁺ of each
    element, or another label that the criterion reads. ``base_label``: its told label in A less the
    deletions.

    ``group``: the merge class in A of an element, by the base's number. All columns are by
    element number; use `rep`.
    """

    def __init__(
        self,
        whole: UnionView,
        roles: RoleBox,
        base_elements: BaseElements,
        *,
        by_node: bool = False,
    ) -> None:
        self.union, self.roles, self.base_elements = whole, roles, base_elements
        self.numbers = KeyNumbers()
        self.key = self.base_label = self.label = self.rep = self.group = NONE
        self.members = MemberTable()
        self.edges = EdgeTable(by_node=by_node)
        self.different = _empty_columns(name for name in _EDGE if name != "role")
        self.complex_facts = ComplexFacts()
        self._is_joined = False

    def __len__(self) -> int:
        return len(self.key)

    # --- elements ---------------------------------------------------------------------------------

    def locate_nodes(self, nodes: Ints) -> Ints:
        """The element number of each node, before joins (not its `rep`)."""
        return self.locate(self.base_elements.keys_of(nodes))

    def elements_of(self, nodes: Ints) -> Ints:
        """The element number of each node, after joins (its `rep`)."""
        numbers = self.locate_nodes(nodes)
        return self.rep[numbers]

    def locate(self, keys: Ints) -> Ints:
        """The element numbers for these keys; elements seen for the first time get a number."""
        found = self.numbers.find(keys)
        if (found < 0).any():
            self._add(*self.base_elements.with_merge_classes(unique(keys[found < 0])))
            found = self.numbers.find(keys)
        return found

    def _add(self, group: Ints, keys: Ints) -> None:
        """Append new elements with these ``keys`` and merge classes ``group`` to all columns."""
        number = np.arange(len(self), len(self) + len(keys), dtype=np.int64)
        old, nothing = self.base_elements.labels_of(keys), np.zeros(len(keys), np.bool_)
        self.key, self.group = extend_column(self.key, keys), extend_column(self.group, group)
        self.base_label, self.label = (
            extend_column(self.base_label, old),
            extend_column(self.label, old),
        )
        self.rep = extend_column(self.rep, number)
        for table in (self.members, self.edges):
            table.is_fetched = extend_column(table.is_fetched, nothing)
        self.numbers.add(keys, number)

    def representatives(self) -> Ints:
        """The numbers of the elements that were not joined into another one."""
        return np.flatnonzero(self.rep == np.arange(len(self)))

    def parts(self, reps: Ints) -> Ints:
        """All element numbers that were joined into ``reps``, these included."""
        return np.flatnonzero(flags(len(self), reps)[self.rep]) if self._is_joined else unique(reps)

    def join(self, first: Ints, second: Ints) -> Ints:
        """Make first[i] and second[i] one element, for every i; return the elements that grew. The
        caller joins their labels.
        """
        self._is_joined = True
        before = self.rep
        apart = before[first] != before[second]
        self.rep = component_minima(
            len(self),
            np.concatenate([np.arange(len(self)), first]),
            np.concatenate([before, second]),
        )
        self.edges.rename(self.rep)
        return unique(self.rep[first[apart]])

    def is_new(self) -> Bools:
        """Decide whether each element is a fresh individual, contains one, or was joined of several
        by A⁺.
        """
        return flags(len(self), self.rep[self.key >= FRESH]) | self.is_joined()

    def is_joined(self) -> Bools:
        """Decide whether each element was joined of several by A⁺."""
        return np.asarray(np.bincount(self.rep, minlength=len(self)) > 1)

    # --- rows -------------------------------------------------------------------------------------

    def fetch_members(self, reps: Ints) -> None:
        """Fetch the individuals of the elements ``reps``, with their (in)equalities and complex
        assertions, unless that was done before.
        """
        if not self._is_joined and self.members.is_fetched[reps].all():
            return
        todo = self.parts(reps)
        todo = todo[~self.members.is_fetched[todo]]
        if not len(todo):
            return
        self.members.is_fetched[todo] = True
        key, node = self.base_elements.members(self.key[todo])
        self.members.add(node, self.locate(key))
        node, element = self.members.of_elements(todo)

        def element_of(nodes: Ints) -> Ints:
            return element[node.searchsorted(nodes)]

        if self.union.has_rows("pairs"):
            self._add_pairs(self.union.rows_of("pairs", node), element_of)
        if self.union.has_rows("complex"):
            self._add_complex(self.union.complex_of(node), element_of)

    def fetch_edges(self, reps: Ints) -> None:
        """Fetch the individuals and role assertions of the elements ``reps``. Their neighbours get
        element numbers.
        """
        if not self._is_joined and self.edges.is_fetched[reps].all():
            return
        self.fetch_members(reps)
        todo = self.parts(reps)
        todo = todo[~self.edges.is_fetched[todo]]
        if not len(todo):
            return
        self.edges.is_fetched[todo] = True
        node, element = self.members.of_elements(todo)
        rows = self.union.rows_of("half_edges", node, with_inserted=not self.edges.has_insertions)
        self._add_edges(rows, element[node.searchsorted(rows["node"])])

    def add_inserted_edges(self) -> None:
        """Add the inserted role assertions, from both ends. Role assertions of A at these ends are
        fetched later, where a rule asks for them.
        """
        rows = dict(self.union.inserted_tables["half_edges"].columns)
        self._add_edges(
            {**rows, "inserted": np.ones(len(rows["node"]), np.bool_)},
            self.locate_nodes(rows["node"]),
        )
        self.edges.has_insertions = True

    def fetch_changed_edges(self, elements: Bools) -> None:
        """Fetch the role assertions of those ``elements`` (a flag by number) that are not as in A.
        Unchanged elements need none: what they send along old assertions is already in the labels
        of A.
        """
        if self.edges.has_insertions:
            self.fetch_edges(
                (
                    elements & ((self.label != self.base_label) | self.is_new())[: len(elements)]
                ).nonzero()[0]
            )

    def fetch_pending_edges(self, elements: Bools, among: Callable[[Ints], Bools]) -> None:
        """Fetch the role assertions of those ``elements`` (a flag by number) that have a known role
        assertion whose role ``among`` selects.
        """
        todo = elements & ~self.edges.is_fetched
        if self.edges.has_insertions and todo.any():
            source, role, target = self.edges.half_edges()
            self.fetch_edges(
                (
                    todo
                    & flags(
                        len(self), np.concatenate([source[among(role)], target[among(role ^ 1)]])
                    )
                ).nonzero()[0]
            )

    def _add_edges(self, rows: Columns, source: Ints) -> None:
        """Append role assertions, given as rows by node; ``source``: the element of each row."""
        target = self.locate_nodes(rows["neighbour"])
        if self._is_joined:
            source, target = self.rep[source], self.rep[target]
        ends = {
            "source": source,
            "target": target,
            "source_node": rows["node"],
            "target_node": rows["neighbour"],
        }
        self.edges.add({**ends, "role": rows["role"], "inserted": rows["inserted"]})

    def _add_pairs(self, rows: Columns, element_of: Callable[[Ints], Ints]) -> None:
        """Add fetched (in)equality rows: inequalities to ``different``; elements of inserted
        equalities are joined.
        """
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
        """Normalise fetched complex assertions (node, assertion, is inserted) and add them to
        ``complex_facts``.
        """
        for node, assertion, inserted in rows:
            element = int(element_of(np.array([node]))[0])
            term = self.union.terms_of(np.array([node]))[0]
            self.complex_facts.assertions.append((element, node, assertion))
            for plain in normalise(assertion, self.roles).assertions:
                self.complex_facts.add_assertion(plain, element, term, inserted, self._element)

    def _element(self, term: str) -> int:
        """The element number of an individual."""
        return int(self.locate_nodes(self.union.nodes_of([term]))[0])

    # --- as seen by element -----------------------------------------------------------------------

    def elements_with_unequal_members(self) -> Ints:
        """The elements of which two fetched individuals are asserted to be different."""
        if not len(self.different["source"]):
            return NONE
        source, target = self.rep[self.different["source"]], self.rep[self.different["target"]]
        return unique(source[source == target])

    def nodes_of(self, reps: Ints) -> tuple[Ints, Ints]:
        """List (element, node) for every fetched individual of the elements ``reps``."""
        element = self.rep[self.members.element]
        rows = flags(len(self), reps)[element]
        return element[rows], self.members.node[rows]


class ElementFlags:
    """Descriptor for a column of flags by element number, extended with False as the owner's
    ``graph`` grows.
    """

    def __set_name__(self, _: type, name: str) -> None:
        self._name = f"_flags_of_{name}"

    def __get__(self, holder: Any, _: type) -> Bools:
        found: Bools = getattr(holder, self._name)
        count = len(holder.graph.key)
        if len(found) < count:
            found = extend_flags(found, count)
            setattr(holder, self._name, found)
        return found

    def __set__(self, holder: Any, flag: Bools) -> None:
        setattr(holder, self._name, flag)


def rows_of_elements(
    graph: Graph, table: str, elements: Ints, *, inserted_only: bool = False
) -> Columns:
    """Read the rows of the fetched individuals of ``elements`` in a table, with columns ``element``
    and ``inserted``.
    """
    element, node = graph.nodes_of(elements)
    order = node.argsort()
    rows = graph.union.rows_of(table, node[order], with_old=not inserted_only)
    return {**rows, "element": element[order][node[order].searchsorted(rows["node"])]}


def elements_by_key(graph: Graph, keys: Ints) -> Ints:
    """Look up the elements of ``graph`` by their keys in the base, as `rep`; -1 where the graph
    does not have the element.
    """
    found = graph.numbers.find(keys)
    is_known = found >= 0
    found[is_known] = graph.rep[found[is_known]]
    return found


def empty_labels(keys: Ints) -> Ints:
    """The id of the empty label, for each key."""
    return np.full(len(keys), EMPTY_ID, np.int64)


def _empty_columns(names: Iterable[str]) -> Columns:
    """Columns of role assertions or pairs without rows."""
    return {name: _NO_FLAGS if name == "inserted" else NONE for name in names}


def flags(count: int, chosen: Ints) -> Bools:
    """Boolean array of length ``count``, True at ``chosen``."""
    found = np.zeros(count, np.bool_)
    found[chosen] = True
    return found


def extend_flags(flag: Bools, count: int) -> Bools:
    """Extend ``flag`` with False to ``count`` elements."""
    return np.concatenate([flag, np.zeros(count - len(flag), np.bool_)])


def flags_at(flag: Bools, elements: Ints) -> Bools:
    """Look up ``flag`` for each of ``elements``; False for elements numbered after the flags were
    made.
    """
    known = elements < len(flag)
    found = np.zeros(len(elements), np.bool_)
    found[known] = flag[elements[known]]
    return found
