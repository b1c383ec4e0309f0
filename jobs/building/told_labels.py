"""Saturate the told labels of all individuals (the literals that follow from assertions by rules)
in rounds of tasks over id ranges, to the fixpoint.

A task brings one range of ids to its own fixpoint; neighbours elsewhere have their labels of the
previous round. A range runs again where a neighbouring range has changed. Labels of a round are
files, so that a task that runs twice writes the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from shiq.abox_ops.elements.graph import NameLiteral, flags
from shiq.abox_ops.elements.quotient import component_minima
from shiq.abox_ops.index.index import Extra
from shiq.abox_ops.labels.label_calculus import Label
from shiq.abox_ops.labels.label_numbers import EMPTY_ID, Bools
from shiq.abox_ops.labels.label_tables import label_rows, read_labels
from shiq.abox_ops.labels.numbered_calculus import NumberedCalculus, distinct_values
from shiq.columns.arrays import NONE, Ints, distinct_with_inverse, is_in, take, unique
from shiq.columns.rows import NameNumbering
from shiq.jobs.building.exchange import Executor, Scratch, load_columns, save_columns
from shiq.jobs.building.tables import Ranges
from shiq.jobs.building.worker import cached_value
from shiq.jobs.store.files import DataFile
from shiq.jobs.store.numbering import spread
from shiq.jobs.store.schema import KINDS, write_part
from shiq.model import Literal, TBox
from shiq.model.abox import Interner
from shiq.simplify import simplify


@dataclass(frozen=True)
class CalculusRecipe:
    """The inputs from which tasks rebuild the label calculus of (T, A): T, what the vocabulary of A
    adds to it, and the names.
    """

    build: str
    tbox: TBox
    extra: Extra
    names: dict[int, list[str]]

    def calculus(self) -> NumberedCalculus:
        """The label calculus; each worker process caches it."""

        def make() -> NumberedCalculus:
            return NumberedCalculus(
                simplify(self.tbox, self.extra).clauses,
                NameNumbering(*(Interner(self.names[kind]) for kind in KINDS)),
            )

        return cached_value("calculus", self.build, make)


@dataclass(frozen=True)
class ToldState:
    """State of the fixpoint of told labels: the label file of each id range, and the elements that
    have several individuals.
    """

    label_files: tuple[Scratch, ...]
    literals: tuple[tuple[int, NameLiteral], ...] = ()
    different: Ints = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    member: Ints = field(default_factory=lambda: NONE)
    group: Ints = field(default_factory=lambda: NONE)

    def element_of(self, nodes: Ints) -> Ints:
        """The element of each node: its least individual."""
        if not len(self.member):
            return nodes
        at = np.minimum(np.searchsorted(self.member, nodes), len(self.member) - 1)
        return np.where(self.member[at] == nodes, self.group[at], nodes)

    @property
    def largest_element(self) -> int:
        """Number of individuals in the largest element; 0 if every element has one."""
        return int(np.unique(self.group, return_counts=True)[1].max(initial=0))

    def contradictory_nodes(self) -> Ints:
        """The nodes of elements with two individuals that are asserted to be different."""
        first, second = self.element_of(self.different[:, 0]), self.element_of(self.different[:, 1])
        return unique(self.different[first == second].ravel())

    def unite(self, first: Ints, second: Ints) -> ToldState:
        """Return the state in which the elements of first[i] and second[i] are one, for each i."""
        nodes = unique(np.concatenate([first, second, self.member]))
        place = [np.searchsorted(nodes, x) for x in (first, self.member, second, self.group)]
        group = nodes[
            component_minima(len(nodes), np.concatenate(place[:2]), np.concatenate(place[2:]))
        ]
        crowded = (
            np.bincount(np.searchsorted(nodes, group), minlength=len(nodes))[
                np.searchsorted(nodes, group)
            ]
            > 1
        )
        return replace(self, member=nodes[crowded], group=group[crowded])


def saturate_told(
    executor: Executor, ranges: Ranges, rules: CalculusRecipe, start: ToldState
) -> ToldState:
    """Saturate told labels from the state ``start``, by rounds of tasks over id ranges, to the
    fixpoint.
    """
    count = range(len(ranges))
    files = executor.run(
        partial(_write_asserted_labels, ranges=ranges, rules=rules, told=start),
        count,
        "asserted literals",
    )
    told, turn = replace(start, label_files=tuple(files)), 0
    due = set(count)
    functional = bool(rules.calculus().functional_clauses)
    while True:
        near: dict[int, set[int]] = {}
        while due:
            turn += 1
            task = partial(_saturate_range, ranges=ranges, rules=rules, told=told, turn=turn)
            found = executor.run(task, sorted(due), f"told literals, round {turn}")
            near |= {i: beside for i, _, beside in found}
            changed = {i: file for i, file, _ in found if file is not None}
            label_files = tuple(changed.get(i, file) for i, file in enumerate(told.label_files))
            told = replace(told, label_files=label_files)
            due = {i for i in count if near.get(i, set(count)) & changed.keys()}
        if not functional:
            return told
        united = _merge_told_neighbours(executor, ranges, rules, told)
        if united is None:
            return told
        moved = united.member[united.group != told.element_of(united.member)]
        due = set(
            (united.member[is_in(united.group, united.element_of(moved))] // ranges.width).tolist()
        )
        told = united


# --- labels as files ------------------------------------------------------------------------------


def _save_labels(path: Scratch, calculus: NumberedCalculus, label: Ints) -> Scratch:
    """Write the labels of an id range: an id within the file for each node, and the labels with
    these ids.

    Every worker writes the labels in the same order.
    """
    used, which, _ = distinct_with_inverse(label)
    values = sorted(calculus.table.labels[i] for i in used.tolist())
    place = {value: i for i, value in enumerate(values)}
    number = np.array([place[calculus.table.labels[i]] for i in used.tolist()], np.int32)
    save_columns(path / "numbers", {"number": number[which]})
    save_columns(path / "labels", label_rows(values))
    return path


def read_range_labels(path: Scratch) -> list[Label]:
    """Read the distinct labels in a label file. May run as a task."""
    return read_labels(load_columns(path / "labels"))


def _load_labels(path: Scratch, calculus: NumberedCalculus, positions: Ints | None = None) -> Ints:
    """Read the labels at the positions ``positions`` of a range (None: all), as ids of ``calculus``."""
    numbers = load_columns(path / "numbers")["number"]
    own = calculus.table.ids(read_range_labels(path))
    return own[numbers if positions is None else numbers[positions]]


def labels_of(told: ToldState, ranges: Ranges, calculus: NumberedCalculus, nodes: Ints) -> Ints:
    """Read the label ids of any ``nodes`` (ascending), from the files of their id ranges."""
    found = np.zeros(len(nodes), np.int64)
    owner = nodes // ranges.width
    for i in unique(owner).tolist():
        mine = owner == i
        found[mine] = _load_labels(told.label_files[i], calculus, nodes[mine] - i * ranges.width)
    return found


# --- tasks ----------------------------------------------------------------------------------------


def _write_asserted_labels(
    i: int, *, ranges: Ranges, rules: CalculusRecipe, told: ToldState
) -> Scratch:
    """Task: write the literals that are asserted of each node of id range ``i``, and those that its
    data refute.
    """
    calculus = rules.calculus()
    low, high = ranges.bounds(i)
    folder = ranges.folder(i)
    classes = load_columns(folder / "class_assertions")
    target, received = [classes["node"] - low], [calculus.class_labels(classes["class"])]
    data = load_columns(folder / "data_rows")
    values, inverse = distinct_values(
        {name: np.asarray(data[name]) for name in ("property", "literal")}
    )
    texts = load_columns(folder / "literals")
    labels = calculus.refuted_labels(values, _parse_wanted_literals(texts, values["literal"]))[
        inverse
    ]
    said = labels != EMPTY_ID
    target.append(data["node"][said] - low)
    received.append(labels[said])
    rare = [
        (node - low, calculus.literal_label(*literal))
        for node, literal in told.literals
        if low <= node < high
    ]
    target.append(np.array([node for node, _ in rare], np.int64))
    received.append(np.array([label for _, label in rare], np.int64))
    label = np.full(high - low, EMPTY_ID, np.int64)
    label = calculus.table.accumulate(label, np.concatenate(target), np.concatenate(received))
    return _save_labels(folder / "told-0", calculus, calculus.table.close(label))


def _parse_wanted_literals(texts: dict[str, pa.Array], wanted: Ints) -> list[Literal]:
    """Parse the texts at the positions ``wanted`` of ``texts`` as literals, each distinct one once."""
    used, which, _ = distinct_with_inverse(wanted)
    columns = [take(texts[name], used).to_pylist() for name in ("lexical", "datatype", "language")]
    values = [Literal(*row) for row in zip(*columns)]
    return [values[i] for i in which.tolist()]


@dataclass(frozen=True)
class _RangeGraph:
    """Half edges of an id range, with local numbers for its own nodes and for nodes of other id
    ranges.

    Own nodes are 0 … size-1; the ``foreign`` ones (ascending ranks) follow.
    """

    size: int
    source: Ints
    role: Ints
    target: Ints
    foreign: Ints
    peer: Ints
    peer_of: Ints


def _load_range_graph(i: int, ranges: Ranges, told: ToldState) -> _RangeGraph:
    """Load the half edges of id range ``i``, with the nodes of other id ranges and the equal
    individuals that they reach.
    """
    low, high = ranges.bounds(i)
    rows = load_columns(ranges.folder(i) / "half_edges")
    mine = (told.member >= low) & (told.member < high)
    both = is_in(told.group, told.group[mine])
    member, group = told.member[both], told.group[both]
    first, second = _equal_member_pairs(member, group, (member >= low) & (member < high))
    others = np.concatenate([rows["neighbour"], second])
    foreign = unique(others[(others < low) | (others >= high)])

    def local(nodes: Ints) -> Ints:
        inside = (nodes >= low) & (nodes < high)
        return np.where(inside, nodes - low, np.searchsorted(foreign, nodes) + (high - low))

    return _RangeGraph(
        high - low,
        rows["node"] - low,
        np.asarray(rows["role"]),
        local(rows["neighbour"]),
        foreign,
        local(second),
        first - low,
    )


def _equal_member_pairs(member: Ints, group: Ints, mine: Bools) -> tuple[Ints, Ints]:
    """Pair each individual in the mask ``mine`` with the other individuals of its element.

    Large groups are linked by way of their least member.
    """
    first: list[int] = []
    second: list[int] = []
    by_group: dict[int, list[int]] = defaultdict(list)
    for m, g in zip(member.tolist(), group.tolist()):
        by_group[g].append(m)
    for m, g in zip(member[mine].tolist(), group[mine].tolist()):
        others = [g] if m != g else [x for x in by_group[g] if x != g]
        first += [m] * len(others)
        second += others
    return np.array(first, np.int64), np.array(second, np.int64)


def _saturate_range(
    i: int, *, ranges: Ranges, rules: CalculusRecipe, told: ToldState, turn: int
) -> tuple[int, Scratch | None, set[int]]:
    """Task: saturate the labels of id range ``i``, given the present labels of other id ranges.

    Returns the range, the new label file if labels changed, and the ranges of neighbours.
    """
    calculus = rules.calculus()
    part = _load_range_graph(i, ranges, told)
    before = _load_labels(told.label_files[i], calculus)
    outside = labels_of(told, ranges, calculus, part.foreign)
    label = np.concatenate([before, outside])
    apart = told.contradictory_nodes()
    low, high = ranges.bounds(i)
    apart = apart[(apart >= low) & (apart < high)] - low
    label[apart] = calculus.table.join(
        label[apart], np.full(len(apart), calculus.table.clash_id, np.int64)
    )
    label = _saturate_labels(calculus, part, label)[: part.size]
    near = set(unique(part.foreign // ranges.width).tolist())
    if np.array_equal(label, before):
        return i, None, near
    return i, _save_labels(ranges.folder(i) / f"told-{turn}", calculus, label), near


def _saturate_labels(calculus: NumberedCalculus, graph: _RangeGraph, label: Ints) -> Ints:
    """Saturate the labels of an id range's own nodes in memory. Stops because labels are finite
    sets that grow.
    """
    label = label.copy()
    changed = np.ones(len(label), np.bool_)
    while changed.any():
        rows = changed[graph.source] | changed[graph.target]
        source, role, target = graph.source[rows], graph.role[rows], graph.target[rows]
        received, _ = calculus.role_propagation.send(role, label[source], label[target])
        got = received != EMPTY_ID
        peers = changed[graph.peer]
        element = np.concatenate([source[got], graph.peer_of[peers]])
        found = np.concatenate([received[got], label[graph.peer[peers]]])
        reached, position, _ = distinct_with_inverse(element)
        before = label[reached]
        label[reached] = calculus.table.close(calculus.table.accumulate(before, position, found))
        changed = flags(len(label), reached[label[reached] != before])
    return label


# --- equalities that a ≤1 entails -----------------------------------------------------------------


def _merge_told_neighbours(
    executor: Executor, ranges: Ranges, rules: CalculusRecipe, told: ToldState
) -> ToldState | None:
    """Unite the neighbours that an at-most-one restriction in force makes equal, over all id
    ranges; None if they are united already.
    """
    found = executor.run(
        partial(_at_most_one_centres, ranges=ranges, rules=rules, told=told),
        range(len(ranges)),
        "entailed equalities",
    )
    first: list[int] = []
    second: list[int] = []
    shared: dict[tuple[int, int], list[int]] = defaultdict(list)
    for pairs, of_groups in found:
        first += pairs[:, 0].tolist()
        second += pairs[:, 1].tolist()
        for clause, centre, target in of_groups.tolist():
            shared[clause, centre].append(target)
    for targets in shared.values():
        first += targets[:-1]
        second += targets[1:]
    pair = np.array([first, second], np.int64)
    apart = told.element_of(pair[0]) != told.element_of(pair[1])
    return told.unite(pair[0][apart], pair[1][apart]) if apart.any() else None


def _at_most_one_centres(
    i: int, *, ranges: Ranges, rules: CalculusRecipe, told: ToldState
) -> tuple[Ints, Ints]:
    """Task: find pairs of elements that an at-most-one restriction, in force at an element of id
    range ``i``, makes equal.

    Also (clause, centre, neighbour) for centres of several members; the driver puts these together.
    """
    calculus = rules.calculus()
    part = _load_range_graph(i, ranges, told)
    low, _ = ranges.bounds(i)
    label = np.concatenate(
        [
            _load_labels(told.label_files[i], calculus),
            labels_of(told, ranges, calculus, part.foreign),
        ]
    )
    node = np.concatenate([np.arange(low, low + part.size), part.foreign])
    element = told.element_of(node)
    crowded = is_in(element, told.group)
    pairs, of_groups = [np.zeros((0, 2), np.int64)], [np.zeros((0, 3), np.int64)]
    for number, clause in enumerate(calculus.functional_clauses):
        rows = calculus.is_in_force(label, clause)[part.source] & calculus.is_role_in(
            part.role, calculus.space.roles_below(clause)
        )
        rows[rows] = calculus.table.test_labels(
            label[part.target[rows]],
            lambda x, c=clause: not c.branch_body & ~x[0],  # type: ignore[misc]
        )
        centre, target, many = (
            element[part.source[rows]],
            element[part.target[rows]],
            crowded[part.source[rows]],
        )
        of_groups.append(
            np.stack([np.full(int(many.sum()), number), centre[many], target[many]], axis=1)
        )
        order = np.lexsort((target[~many], centre[~many]))
        centre, target = centre[~many][order], target[~many][order]
        together = (centre[1:] == centre[:-1]) & (target[1:] != target[:-1])
        pairs.append(np.stack([target[:-1][together], target[1:][together]], axis=1))
    return np.unique(np.concatenate(pairs), axis=0), np.unique(np.concatenate(of_groups), axis=0)


# --- tables ---------------------------------------------------------------------------------------


def distinct_labels(executor: Executor, told: ToldState) -> set[Label]:
    """Collect the distinct labels of all elements, over all id ranges."""
    parts = executor.run(read_range_labels, told.label_files, "signatures")
    return {label for part in parts for label in part}


def write_elements(
    executor: Executor, ranges: Ranges, told: ToldState, labels: Sequence[Label]
) -> list[DataFile]:
    """Write the table ``elements``: for each element, the position of its label in ``labels``."""
    task = partial(_write_elements, ranges=ranges, told=told, labels=list(labels))
    return [
        file
        for file in executor.run(task, range(len(ranges)), "writing signatures")
        if file is not None
    ]


def _write_elements(
    i: int, *, ranges: Ranges, told: ToldState, labels: Sequence[Label]
) -> DataFile | None:
    """Task: write the rows of the table ``elements`` for id range ``i``; None without elements."""
    place = {label: k for k, label in enumerate(labels)}
    low, high = ranges.bounds(i)
    number = np.array([place[label] for label in read_range_labels(told.label_files[i])], np.int64)
    label = number[load_columns(told.label_files[i] / "numbers")["number"]]
    node = np.arange(low, high, dtype=np.int64)
    named = told.element_of(node) == node
    if not named.any():
        return None
    columns = {"element": spread(node[named]), "label": label[named]}
    return write_part(ranges.place, "elements", ranges.table_file_name(i), columns)
