"""Certifying A by itself: the modules of A under T, with all of A inserted into nothing (THEORY, "Modules" and "Beyond SHIQ(D),
at no loss"), by shape.

Most elements keep no role assertion and no data: their module is their label, and ranges only count labels. The others are
joined into components, range by range: a component is named by its least element, and the name travels in rounds to the ranges
next to it. The range of a component's name gathers the component, makes its module with the code of the engine `local`, and
tells the shapes; each distinct shape is decided once, the shapes spread over the executors, each task with a reasoner of its
own.
"""

from __future__ import annotations

import hashlib
import pickle
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from pyspark.sql import SparkSession

from abox_ops.counting.columns import Counts
from abox_ops.elements.base import StoreBase
from abox_ops.elements.columns import Graph, flags
from abox_ops.elements.partition import components
from abox_ops.index.columns import Index, alone
from abox_ops.index.touched import touched_by
from abox_ops.labels.calculus import Label
from abox_ops.local_add_set import LocalAddSet
from abox_ops.modules.found_columns import AddSetColumns
from abox_ops.modules.open_assertions import OpenAssertions
from abox_ops.modules.shapes import Shapes
from jobs.spark.auditing import DrawnShapes, drawn
from jobs.spark.building.files import joined, load, placed, run, save, slices
from jobs.spark.building.merging import IndexedStore, elements_of
from jobs.spark.building.tables import Ranges, rank_of
from jobs.spark.reasoners import Asking
from jobs.spark.worker import kept
from jobs.store.numbering import spread
from shiq.columns.arrays import Ints, distinct, unique
from shiq.reasoner import create
from shiq.reasoner.protocol import Module
from shiq.roles import RoleBox
from shiq.verdict import Verdict


@dataclass
class CertificateFigures:
    """What is known of (T, A): how many elements told literals alone refute, and modules a reasoner does; why some are open;
    ``contradictory``: individuals of such elements and modules, ``limit`` of them at most. ``kept``: role and data assertions in
    modules; ``drawn``: shapes for an audit, if one is asked for; ``open``: individuals of undecided modules, if asked for."""

    contradictory: list[tuple[str, ...]] = field(default_factory=list)
    clashes: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    undecided: tuple[str, ...] = ()
    modules: int = 0
    shapes: int = 0
    kept: int = 0
    drawn: DrawnShapes | None = None
    open: list[tuple[str, ...]] = field(default_factory=list)


def consistent(modules: int, shapes: int, drawn: DrawnShapes | None) -> CertificateFigures:
    """What is known where all ``modules`` were found consistent."""
    return CertificateFigures(verdicts=Counter({Verdict.CONSISTENT.value: modules}), modules=modules, shapes=shapes, drawn=drawn)


def certify(
    session: SparkSession, ranges: Ranges, indexed: IndexedStore, asking: Asking, *, limit: int, names_open: bool = False
) -> CertificateFigures:
    """Decides (T, A) for the store that ``indexed`` names. ``names_open``: tells the individuals of undecided modules too."""
    count = range(len(ranges))
    surveys = run(session, partial(_survey, ranges=ranges, indexed=indexed, limit=limit), count, "relevant role assertions")
    labels: Counter[Label] = Counter()
    for survey in surveys:
        labels.update(survey.labels)
    found = CertificateFigures(
        [names for survey in surveys for names in survey.contradictory][:limit],
        sum(survey.clashes for survey in surveys),
        kept=sum(survey.kept for survey in surveys),
    )
    shapes: dict[str, _Shape] = {}
    has_components = any(survey.open for survey in surveys)
    if has_components:
        _components(session, ranges)
        task = partial(_modules, ranges=ranges, indexed=indexed, wanted=None, limit=0)
        for part in run(session, task, count, "modules"):
            labels.update(part.labels)
            for shape in part.shapes:
                known = shapes.get(shape.digest)
                shapes[shape.digest] = shape if known is None else known.more(shape.count)
    questions = [_Shape("", n, 1, label=label) for label, n in labels.items()] + list(shapes.values())
    decided = _decide(session, questions, indexed, asking)
    for shape, (verdict, _) in zip(questions, decided):
        found.verdicts[verdict] += shape.count
    found.undecided = tuple(dict.fromkeys(reason for verdict, reason in decided if verdict == Verdict.UNDETERMINED.value))
    found.modules, found.shapes = sum(shape.count for shape in questions), len(questions)
    if asking.audit:
        told = ((shape.module(), verdict) for shape, (verdict, _) in zip(questions, decided))
        found.drawn = drawn(indexed.rules.calculus().tbox, told, asking.audit)
    bad = [shape for shape, (verdict, _) in zip(questions, decided) if verdict == Verdict.INCONSISTENT.value]
    if bad and len(found.contradictory) < limit:
        found.contradictory += _named(session, ranges, indexed, bad, has_components, limit)
    unsure = [shape for shape, (verdict, _) in zip(questions, decided) if verdict == Verdict.UNDETERMINED.value]
    if unsure and names_open:
        found.open = _named(session, ranges, indexed, unsure, has_components, limit)[:limit]
    del found.contradictory[limit:]
    return found


def _named(
    session: SparkSession, ranges: Ranges, indexed: IndexedStore, bad: Sequence[_Shape], has_components: bool, limit: int
) -> list[tuple[str, ...]]:
    """The individuals of modules of these shapes."""
    wanted = frozenset(shape.digest or shape.label for shape in bad)
    labels = frozenset(shape.label for shape in bad if shape.label is not None)
    found: list[tuple[str, ...]] = []
    if has_components:
        task = partial(_modules, ranges=ranges, indexed=indexed, wanted=wanted, limit=limit)
        found += (n for part in run(session, task, range(len(ranges)), "conflicts") for n in part.named)
    if labels and len(found) < limit:
        alone_ = partial(_survey, ranges=ranges, indexed=indexed, limit=limit, labels=labels)
        found += (n for part in run(session, alone_, range(len(ranges)), "conflicts") for n in part.contradictory)
    return found


# --- what is kept ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Survey:
    labels: Counter[Label]
    contradictory: list[tuple[str, ...]]
    clashes: int
    open: int
    kept: int


def _told(base: StoreBase, index: Index, roles: RoleBox) -> OpenAssertions:
    """A, read with told labels."""
    whole = alone(base)
    graph = Graph(whole, roles, index.equal, index.labels.of, index.merged)
    return OpenAssertions(index, index.calculus, graph, touched_by(whole, roles))


def _survey(
    i: int, *, ranges: Ranges, indexed: IndexedStore, limit: int, labels: frozenset[Label | None] = frozenset()
) -> _Survey:
    """What the elements of range ``i`` keep: leaves the ``open`` ones (those with a module of more than a label) and their kept
    role assertions. ``labels``: asks for individuals alone with one of these instead."""
    base, index, roles = indexed.opened()
    told = _told(base, index, roles)
    graph, table = told.graph, index.calculus.table
    seen = graph.locate(elements_of(base, ranges, i))
    graph.expand(seen)
    told.counts = Counts(index.calculus, graph)
    clash = table.clashes(graph.label[seen])
    rest = seen[~clash]
    source, role, target = graph.half_edges(flags(len(graph), rest))
    sound = ~table.clashes(graph.label[target])
    source, role, target = source[sound], role[sound], target[sound]
    # Both ends ask in the direction that was asserted, so that they agree.
    turned = role % 2 == 1
    first, second = np.where(turned, target, source), np.where(turned, source, target)
    keeps = told.relevant(first, role - turned, second) | told.seen(first, role - turned, second)
    data = told.kept_data(rest)
    is_open = np.zeros(len(graph), np.bool_)
    is_open[source[keeps]] = True
    is_open[data["element"]] = True
    for element, *_ in [*graph.rare.negative_edges, *graph.rare.negative_data]:
        is_open[graph.rep[element]] = True
    alone_ = rest[~is_open[rest]]
    visible = table.visible(graph.label[alone_])
    if labels:
        wanted = table.where(visible, lambda label: label in labels)
        return _Survey(Counter(), _terms(graph, base, alone_[wanted][:limit]), 0, 0, 0)
    _store(ranges, i, graph, rest[is_open[rest]], source[keeps], target[keeps])
    used, which, _ = distinct(visible)
    counts = np.bincount(which, minlength=len(used)).tolist()
    return _Survey(
        Counter({table.labels[label]: n for label, n in zip(used.tolist(), counts)}),
        _terms(graph, base, seen[clash][:limit]),
        int(clash.sum()),
        int(is_open[rest].sum()),
        int((keeps & ~turned).sum()) + len(data["node"]),
    )


def _terms(graph: Graph, base: StoreBase, elements: Ints) -> list[tuple[str, ...]]:
    element, node = graph.nodes_of(elements)
    found: dict[int, list[str]] = {}
    for e, term in zip(element.tolist(), base.terms_of(node)):
        found.setdefault(e, []).append(term)
    return [tuple(sorted(terms)) for terms in found.values()]


def _store(ranges: Ranges, i: int, graph: Graph, elements: Ints, source: Ints, target: Ints) -> None:
    node = np.sort(rank_of(graph.key[elements]))
    first, second = rank_of(graph.key[source]), rank_of(graph.key[target])
    save(ranges.folder(i) / "open", {"node": node})
    save(ranges.folder(i) / "kept", {"source": first, "target": second})


# --- components -----------------------------------------------------------------------------------


def _components(session: SparkSession, ranges: Ranges) -> None:
    """Leaves the component of each open element, by its least. Stops because names only get less."""
    count = range(len(ranges))
    names: list[str] = run(session, partial(_own_names, ranges=ranges), count, "components")
    due, turn = set(count), 0
    near: dict[int, set[int]] = {}
    while due:
        turn += 1
        found = run(session, partial(_join, ranges=ranges, names=names, turn=turn), sorted(due), f"components, round {turn}")
        changed = set()
        for i, file, beside in found:
            near[i] = beside
            if file is not None:
                changed.add(i)
                names[i] = file
        due = {i for i in count if near.get(i, set()) & changed}
    run(session, partial(_send_away, ranges=ranges, names=names), count, "gathering components")


def _own_names(i: int, *, ranges: Ranges) -> str:
    return _save_names(ranges, i, 0, np.asarray(load(ranges.folder(i) / "open")["node"]))


def _save_names(ranges: Ranges, i: int, turn: int, names: Ints) -> str:
    path = ranges.folder(i) / f"component-{turn}"
    save(path, {"name": names})
    return str(path)


def _join(i: int, *, ranges: Ranges, names: Sequence[str], turn: int) -> tuple[int, str | None, set[int]]:
    low, high = ranges.bounds(i)
    node, before = load(ranges.folder(i) / "open")["node"], load(Path(names[i]))["name"]
    rows = load(ranges.folder(i) / "kept")
    source, target = np.searchsorted(node, rows["source"]), rows["target"]
    inside = (target >= low) & (target < high)
    foreign = unique(target[~inside])
    theirs = np.zeros(len(foreign), np.int64)
    owner = foreign // ranges.width
    for k in unique(owner).tolist():
        mine = owner == k
        theirs[mine] = load(Path(names[k]))["name"][np.searchsorted(load(ranges.folder(k) / "open")["node"], foreign[mine])]
    place = np.where(inside, np.searchsorted(node, target), len(node) + np.searchsorted(foreign, target))
    component = components(len(node) + len(foreign), source, place)
    least = np.concatenate([before, theirs])
    np.minimum.at(least, component, np.concatenate([before, theirs]))
    now = least[component][: len(node)]
    beside = set(unique(owner).tolist())
    return (i, None, beside) if np.array_equal(now, before) else (i, _save_names(ranges, i, turn, now), beside)


def _send_away(i: int, *, ranges: Ranges, names: Sequence[str]) -> None:
    """Leaves the open elements of range ``i`` sorted by their component."""
    name, node = load(Path(names[i]))["name"], load(ranges.folder(i) / "open")["node"]
    order = np.lexsort((node, name))
    save(ranges.folder(i) / "by_component", {"name": name[order], "node": node[order]})


# --- modules --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Shape:
    """A shape by a digest of its key, of ``count`` modules of ``size`` elements. A module that is but a ``label`` is here; one of
    another kind in the file ``path``."""

    digest: str
    count: int
    size: int
    path: str = ""
    label: Label | None = None

    def more(self, count: int) -> _Shape:
        return _Shape(self.digest, self.count + count, self.size, self.path, self.label)

    def module(self) -> Module:
        if self.label is not None:
            return Module((self.label[0],), (self.label[1],))
        found: Module = pickle.loads(Path(self.path).read_bytes())
        return found


@dataclass(frozen=True)
class _Modules:
    shapes: list[_Shape]
    labels: Counter[Label]
    named: list[tuple[str, ...]]


def _modules(
    i: int, *, ranges: Ranges, indexed: IndexedStore, wanted: frozenset[str | Label | None] | None, limit: int
) -> _Modules:
    """The modules of the components that are named by an element of range ``i``: their shapes, or (``wanted``) the individuals
    of those with certain shapes."""
    files = [ranges.folder(k) / "by_component" for k in range(len(ranges))]
    members = joined(slices(files, "name", *ranges.bounds(i)), ("name", "node"))["node"]
    if not len(members):
        return _Modules([], Counter(), [])
    base, index, roles = indexed.opened()
    told = _told(base, index, roles)
    graph = told.graph
    seen = graph.locate(np.sort(spread(members)))
    graph.expand(seen)
    told.counts = Counts(index.calculus, graph)
    modules = LocalAddSet(index.calculus, index, graph.whole, roles, _kept(told, unique(seen))).modules
    tbox = index.calculus.tbox
    shapes: Shapes = kept("shapes", indexed.rules.build, lambda: Shapes(tbox))
    known: dict[str, _Shape] = {}
    labels: Counter[Label] = Counter()
    named: list[tuple[str, ...]] = []
    for module in modules:
        label = module.module.positive[0], module.module.negative[0]
        if module.module == Module((label[0],), (label[1],)):
            if wanted is None:
                labels[label] += 1
            elif label in wanted and len(named) < limit:
                named.append(module.elements[0])
            continue
        digest = hashlib.sha256(repr(shapes.shape(module.module)).encode("utf-8", "surrogatepass")).hexdigest()
        if wanted is not None:
            if digest in wanted and len(named) < limit:
                named.append(tuple(x for element in module.elements for x in element))
            continue
        if digest not in known:
            path = Path(ranges.scratch) / "shapes" / f"{digest}-{i}"
            with placed(path) as temporary:
                temporary.write_bytes(pickle.dumps(module.module))
            known[digest] = _Shape(digest, 1, len(module.elements), str(path))
        else:
            known[digest] = known[digest].more(1)
    return _Modules(list(known.values()), labels, named)


def _kept(told: OpenAssertions, seen: Ints) -> AddSetColumns:
    """What the elements ``seen`` keep of A."""
    graph, table = told.graph, told.calculus.table
    clash = table.clashes(graph.label[seen])
    rest = flags(len(graph), seen[~clash])
    source, role, target = graph.half_edges(rest)
    inside = rest[target] & (role % 2 == 0)
    source, role, target = source[inside], role[inside], target[inside]
    keeps = told.relevant(source, role, target) | told.seen(source, role, target)
    edges = {"source": source[keeps], "role": role[keeps], "target": target[keeps]}
    data = told.kept_data(seen[~clash])
    visible = graph.label.copy()
    visible[seen] = table.visible(graph.label[seen])
    return AddSetColumns(graph, seen, flags(len(graph), seen), graph.label, visible, seen, seen[clash], edges, data)


# --- deciding -------------------------------------------------------------------------------------


def _decide(session: SparkSession, shapes: Sequence[_Shape], indexed: IndexedStore, asking: Asking) -> list[tuple[str, str]]:
    """Verdict and reason of each shape."""
    tasks = max(1, min(len(shapes), 4 * session.sparkContext.defaultParallelism))
    order = sorted(range(len(shapes)), key=lambda i: (-shapes[i].size, i))
    parts = [order[k::tasks] for k in range(tasks)]
    task = partial(_ask, indexed=indexed, asking=asking)
    answers = run(session, task, [[shapes[i] for i in part] for part in parts], "deciding shapes")
    found = [("", "")] * len(shapes)
    for part, answer in zip(parts, answers):
        for i, one in zip(part, answer):
            found[i] = one
    return found


def _ask(shapes: Sequence[_Shape], *, indexed: IndexedStore, asking: Asking) -> list[tuple[str, str]]:
    tbox = indexed.rules.calculus().tbox
    asked = create(asking.reasoner, heap=asking.heap)
    try:
        answers = asked.decide(tbox, [shape.module() for shape in shapes], asking.seconds)
    finally:
        asked.close()
    return [(answer.verdict.value, answer.reason) for answer in answers]
