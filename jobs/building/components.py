"""Join the assertions that the certificate keeps into connected components over all id ranges,
collect the components' modules by shape, and decide each shape once.

See THEORY, "Modules". Most elements keep no role assertion and no data: their module is their
label, and ranges only count labels. The others are *open*. They are joined into components,
range by range.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from shiq.abox_ops.elements.quotient import component_minima
from shiq.abox_ops.engine import NamedModule
from shiq.abox_ops.labels.label_calculus import Label
from shiq.abox_ops.modules.add_set import AddSetModules
from shiq.abox_ops.modules.shapes import Shapes
from shiq.columns.arrays import Ints, unique
from shiq.jobs.building.exchange import (
    Executor,
    IncomingColumns,
    OutgoingColumns,
    Scratch,
    columns_from_senders,
    concatenate_rows,
    load_column,
    load_columns,
    save_columns,
    split_rows,
)
from shiq.jobs.building.merge_class_rounds import IndexedStore
from shiq.jobs.building.tables import Ranges, rank_of
from shiq.jobs.building.worker import ReasonerSettings, cached_value
from shiq.jobs.store.numbering import spread
from shiq.model import Literal
from shiq.model.roles import Role
from shiq.reasoner import create_reasoner
from shiq.reasoner.protocol import Module


def write_open_elements(ranges: Ranges, i: int, elements: Ints, source: Ints, target: Ints) -> None:
    """Write the elements (by id) of id range ``i`` that have undecided assertions, and the role
    assertions kept at them.
    """
    node = np.sort(rank_of(elements))
    # At first each is a component by itself, named by its own number.
    save_columns(ranges.folder(i) / "open", {"node": node, "name": node})
    save_columns(ranges.folder(i) / "kept", {"source": rank_of(source), "target": rank_of(target)})


# --- components -----------------------------------------------------------------------------------


def join_components(executor: Executor, ranges: Ranges) -> None:
    """Join elements with undecided assertions into connected components of the kept role
    assertions, each named by its least element.

    Stops because names only get less.
    """
    count = range(len(ranges))
    names = [ranges.folder(i) / "open" for i in count]
    due, turn = set(count), 0
    near: dict[int, set[int]] = {}
    while due:
        turn += 1
        found = executor.run(
            partial(_spread_least_names, ranges=ranges, names=names, turn=turn),
            sorted(due),
            f"components, round {turn}",
        )
        near |= {i: beside for i, _, beside in found}
        changed = {i: file for i, file, _ in found if file is not None}
        names = [changed.get(i, file) for i, file in enumerate(names)]
        due = {i for i in count if near[i] & changed.keys()}
    send, receive = (
        partial(_send_components, ranges=ranges),
        partial(_receive_components, ranges=ranges),
    )
    executor.exchange(send, list(zip(count, names)), receive, len(ranges), "gathering components")


def _spread_least_names(
    i: int, *, ranges: Ranges, names: Sequence[Scratch], turn: int
) -> tuple[int, Scratch | None, set[int]]:
    """Task: give each undecided element of id range ``i`` the least component name among its
    neighbours.

    Returns the range, the file of new names if any changed, and the ranges of neighbours.
    """
    low, high = ranges.bounds(i)
    node, before = load_columns(ranges.folder(i) / "open")["node"], load_columns(names[i])["name"]
    rows = load_columns(ranges.folder(i) / "kept")
    source, target = np.searchsorted(node, rows["source"]), rows["target"]
    inside = (target >= low) & (target < high)
    foreign = unique(target[~inside])
    theirs = np.zeros(len(foreign), np.int64)
    owner = foreign // ranges.width
    for k in unique(owner).tolist():
        mine = owner == k
        theirs[mine] = load_columns(names[k])["name"][
            np.searchsorted(load_columns(ranges.folder(k) / "open")["node"], foreign[mine])
        ]
    place = np.where(
        inside, np.searchsorted(node, target), len(node) + np.searchsorted(foreign, target)
    )
    component = component_minima(len(node) + len(foreign), source, place)
    least = np.concatenate([before, theirs])
    np.minimum.at(least, component, np.concatenate([before, theirs]))
    now = least[component][: len(node)]
    beside = set(unique(owner).tolist())
    if np.array_equal(now, before):
        return i, None, beside
    path = ranges.folder(i) / f"component-{turn}"
    save_columns(path, {"name": now})
    return i, path, beside


def _send_components(named: tuple[int, Scratch], *, ranges: Ranges) -> Iterator[OutgoingColumns]:
    """Task: sort the undecided elements of an id range by component, and send each to the id range
    of the component's name.
    """
    i, names = named
    name, node = load_column(names, "name"), load_column(ranges.folder(i) / "open", "node")
    order = np.lexsort((node, name))
    rows = {"name": name[order], "node": node[order]}
    save_columns(ranges.folder(i) / "by_component", rows)
    for k, part in split_rows(rows, rows["name"], ranges.width):
        yield k, "members", part


def _receive_components(i: int, received: IncomingColumns, *, ranges: Ranges) -> None:
    """Task: write the members of the components that are named after an element of id range ``i``."""
    save_columns(
        ranges.folder(i) / "members",
        concatenate_rows(columns_from_senders(received, "members"), ("name", "node")),
    )


# --- modules --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ModuleShape:
    """A shape (the form of a module up to renaming), the number of modules that have it, and one of
    these modules.

    digest: of the shape. count, size: number of modules, and elements of each
    label: if the module is only a label. path: else the file of the module
    """

    digest: str
    count: int
    size: int
    path: Scratch | None = None
    label: Label | None = None

    @property
    def key(self) -> str | Label:
        """The digest that identifies the shape; for a module that is only the label of one element,
        that label.
        """
        return self.digest if self.label is None else self.label

    def add_modules(self, count: int) -> ModuleShape:
        """This shape with ``count`` more modules."""
        return ModuleShape(self.digest, self.count + count, self.size, self.path, self.label)

    @property
    def max_edge_count(self) -> int:
        """Upper bound of the number of role assertions in the module: each takes at least a byte of
        its file.
        """
        return self.path.path().stat().st_size if self.path else 0

    def read_module(self) -> Module:
        """Read one module of this shape. Raises: TypeError without file and label."""
        if self.label is not None:
            return Module((self.label[0],), (self.label[1],))
        if self.path is None:
            raise TypeError(self)
        return parse_module(self.path.path().read_bytes())


#: Gives what is kept of the elements (by id) of some components.
KeptModules = Callable[[Ints], AddSetModules]


def compute_module_shapes(
    i: int, *, ranges: Ranges, build: str, found: KeptModules
) -> tuple[Counter[Label], list[ModuleShape]]:
    """Task: compute the shapes of the modules whose component is named by an element of id range
    ``i``.

    build: identifies the clauses, for caching

    Returns: the number of modules that are only the label of one element, by label, and the shapes
        of the others.
    """
    known: dict[str, ModuleShape] = {}
    labels: Counter[Label] = Counter()
    for module, name in _named_modules(i, ranges, build, found):
        if not isinstance(name, str):
            labels[name] += 1
        elif name in known:
            known[name] = known[name].add_modules(1)
        else:
            path = ranges.scratch / "shapes" / f"{name}-{i}"
            with path.stage() as temporary:
                temporary.write_text(json.dumps(astuple(module.module)))
            known[name] = ModuleShape(name, 1, len(module.elements), path)
    return labels, list(known.values())


def collect_shapes(
    executor: Executor,
    ranges: Ranges,
    build: str,
    labels: Iterable[Counter[Label]],
    found: KeptModules | None,
) -> list[ModuleShape]:
    """Collect the shapes of all modules, over all id ranges.

    labels: numbers of isolated elements by label, which is all of their modules
    found: makes the modules of the other elements; None if there are none
    """
    counts: Counter[Label] = Counter()
    for some in labels:
        counts.update(some)
    shapes: dict[str, ModuleShape] = {}
    if found is not None:
        join_components(executor, ranges)
        task = partial(compute_module_shapes, ranges=ranges, build=build, found=found)
        for more, linked in executor.run(task, range(len(ranges)), "modules"):
            counts.update(more)
            for shape in linked:
                known = shapes.get(shape.digest)
                shapes[shape.digest] = shape if known is None else known.add_modules(shape.count)
    single = (ModuleShape("", n, 1, label=label) for label, n in counts.items())
    return [*single, *shapes.values()]


def members_of_modules(
    i: int,
    *,
    ranges: Ranges,
    build: str,
    found: KeptModules,
    wanted: frozenset[str | Label],
    limit: int | None = None,
) -> list[tuple[str, ...]]:
    """Task: find the individuals of the modules of id range ``i`` whose shape digest or label is in
    ``wanted``; at most ``limit`` modules.
    """
    chosen = (m for m, name in _named_modules(i, ranges, build, found) if name in wanted)
    return [
        tuple(x for element in module.elements for x in element) for module in islice(chosen, limit)
    ]


def _named_modules(
    i: int, ranges: Ranges, build: str, found: KeptModules
) -> Iterator[tuple[NamedModule, str | Label]]:
    """Yield the modules of id range ``i``, each with the digest of its shape, or with its label if
    it is only the label of one element.
    """
    members = load_columns(ranges.folder(i) / "members")["node"]
    if not len(members):
        return
    modules = found(np.sort(spread(members)))
    tbox = modules.calculus.tbox
    shapes: Shapes = cached_value("shapes", build, lambda: Shapes(tbox))
    for module in modules.modules:
        label = module.module.positive[0], module.module.negative[0]
        if module.module == Module((label[0],), (label[1],)):
            yield module, label
        else:
            yield (
                module,
                hashlib.sha256(
                    repr(shapes.shape_of(module.module)).encode("utf-8", "surrogatepass")
                ).hexdigest(),
            )


def parse_module(text: bytes | str) -> Module:
    """Parse a module from the JSON of its fields.

    >>> module = Module((5, 0), (0, 1 << 70), ((0, Role("urn:r", True), 1),), (), ((0, 1),), ((0, "urn:p", Literal("1")),))
    >>> parse_module(json.dumps(astuple(module))) == module
    True
    """
    positive, negative, edges, no_edges, different, data, no_data = json.loads(text)

    def roles(some: Sequence[Any]) -> tuple[tuple[int, Role, int], ...]:
        return tuple((i, Role(*role), j) for i, role, j in some)

    def values(some: Sequence[Any]) -> tuple[tuple[int, str, Literal], ...]:
        return tuple((i, name, Literal(*value)) for i, name, value in some)

    pairs = tuple((i, j) for i, j in different)
    labels = tuple(positive), tuple(negative)
    return Module(*labels, roles(edges), roles(no_edges), pairs, values(data), values(no_data))


# --- deciding -------------------------------------------------------------------------------------


def decide_shapes(
    executor: Executor,
    shapes: Sequence[ModuleShape],
    indexed: IndexedStore,
    asking: ReasonerSettings,
) -> list[tuple[str, str]]:
    """Decide one module of each shape, in tasks. Returns the verdict and reason for each shape."""
    tasks = max(1, min(len(shapes), 4 * executor.least_tasks))
    order = sorted(range(len(shapes)), key=lambda i: (-shapes[i].size, i))
    parts = [order[k::tasks] for k in range(tasks)]
    task = partial(_decide_some_shapes, indexed=indexed, asking=asking)
    answers = executor.run(task, [[shapes[i] for i in part] for part in parts], "deciding shapes")
    found = [("", "")] * len(shapes)
    for part, answer in zip(parts, answers):
        for i, one in zip(part, answer):
            found[i] = one
    return found


def _decide_some_shapes(
    shapes: Sequence[ModuleShape], *, indexed: IndexedStore, asking: ReasonerSettings
) -> list[tuple[str, str]]:
    """Task: decide the modules of ``shapes`` by a new reasoner. Returns the verdict and reason for
    each.
    """
    tbox = indexed.rules.calculus().tbox
    asked = create_reasoner(asking.reasoner, heap=asking.heap)
    try:
        answers = asked.decide(tbox, [shape.read_module() for shape in shapes], asking.seconds)
    finally:
        asked.close()
    return [(answer.verdict.value, answer.reason) for answer in answers]
