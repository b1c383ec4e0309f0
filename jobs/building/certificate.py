"""Certify A by itself: decide every module of A under T, only once for modules of the same shape
(equal up to renaming).

All of A is inserted into nothing (THEORY, "Modules" and "Beyond SHIQ(D), at no loss"). Most
elements keep no role assertion and no data: their module is their label, and ranges only count
labels. The others are joined into components, range by range. A component is named by its
least element, and the name travels in rounds to the ranges next to it. The range of that name
gathers the component and makes its module with the code of the engine `local`. Each distinct
shape is decided once; tasks share the shapes, each with a reasoner of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from shiq.abox_ops.counting.merge_classes import outside_merge_classes
from shiq.abox_ops.elements.base import StoreBase
from shiq.abox_ops.elements.graph import Graph, flags
from shiq.abox_ops.index.index import Index, touched_nodes, view_without_batch
from shiq.abox_ops.labels.label_calculus import Label
from shiq.abox_ops.modules.add_set import AddSetColumns, AddSetModules
from shiq.abox_ops.modules.decide import DrawnShapes, draw_shapes
from shiq.abox_ops.modules.open_assertions import OpenAssertions, negated_properties
from shiq.answers.verdict import Verdict
from shiq.columns.arrays import Ints, distinct_with_inverse, unique
from shiq.jobs.building.components import (
    ModuleShape,
    collect_shapes,
    decide_shapes,
    members_of_modules,
    write_open_elements,
)
from shiq.jobs.building.exchange import Executor
from shiq.jobs.building.merge_class_rounds import IndexedStore, range_elements
from shiq.jobs.building.tables import Ranges
from shiq.jobs.building.worker import ReasonerSettings
from shiq.model.roles import RoleBox


@dataclass
class CertificateFigures:
    """Figures of the certificate of A (counts by verdict, contradictory individuals), for the
    build's result.

    contradictory: individuals of inconsistent elements and modules, at most as many as asked for
    clashes: elements that told literals refute
    verdicts: number of modules by verdict
    undecided_reasons: reasons of undetermined verdicts, each once
    modules, shapes: how many were decided
    kept_assertions: role and data assertions in modules
    audit_sample: shapes drawn for a second reasoner, if an audit is asked for
    open_individuals: individuals of undetermined modules, if asked for
    """

    contradictory: list[tuple[str, ...]] = field(default_factory=list)
    clashes: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    undecided_reasons: tuple[str, ...] = ()
    modules: int = 0
    shapes: int = 0
    kept_assertions: int = 0
    audit_sample: DrawnShapes | None = None
    open_individuals: list[tuple[str, ...]] = field(default_factory=list)


def summarise_decisions(
    questions: Sequence[ModuleShape],
    decided: Sequence[tuple[str, str]],
    indexed: IndexedStore,
    asking: ReasonerSettings,
) -> CertificateFigures:
    """Make the figures of the certificate from the shapes asked about, with verdict and reason of
    each.
    """
    verdicts: Counter[str] = Counter()
    for shape, (verdict, _) in zip(questions, decided):
        verdicts[verdict] += shape.count
    undecided = (reason for verdict, reason in decided if verdict == Verdict.UNDETERMINED.value)
    told = ((shape.read_module(), verdict) for shape, (verdict, _) in zip(questions, decided))
    drawn = draw_shapes(indexed.rules.calculus().tbox, told, asking.audit) if asking.audit else None
    return CertificateFigures(
        verdicts=verdicts,
        undecided_reasons=tuple(dict.fromkeys(undecided)),
        modules=verdicts.total(),
        shapes=len(questions),
        audit_sample=drawn,
    )


def certify(
    executor: Executor,
    ranges: Ranges,
    indexed: IndexedStore,
    asking: ReasonerSettings,
    *,
    limit: int,
    names_open: bool = False,
) -> CertificateFigures:
    """Decide whether (T, A) is consistent, for the built store that ``indexed`` opens.

    limit: groups of contradictory individuals to list at most
    names_open: list the individuals of undetermined modules too
    """
    count = range(len(ranges))
    surveys = executor.run(
        partial(_survey_range, ranges=ranges, indexed=indexed, limit=limit),
        count,
        "relevant role assertions",
    )
    has_components = any(survey.open for survey in surveys)
    questions = collect_shapes(
        executor,
        ranges,
        indexed.rules.build,
        (survey.labels for survey in surveys),
        partial(_kept_modules, indexed=indexed) if has_components else None,
    )
    decided = decide_shapes(executor, questions, indexed, asking)
    found = summarise_decisions(questions, decided, indexed, asking)
    found.contradictory = [names for survey in surveys for names in survey.contradictory][:limit]
    found.clashes = sum(survey.clashes for survey in surveys)
    found.kept_assertions = sum(survey.kept_assertions for survey in surveys)
    bad = [
        shape
        for shape, (verdict, _) in zip(questions, decided)
        if verdict == Verdict.INCONSISTENT.value
    ]
    if bad and len(found.contradictory) < limit:
        found.contradictory += _individuals_of_shapes(
            executor, ranges, indexed, bad, has_components, limit
        )
    unsure = [
        shape
        for shape, (verdict, _) in zip(questions, decided)
        if verdict == Verdict.UNDETERMINED.value
    ]
    if unsure and names_open:
        found.open_individuals = _individuals_of_shapes(
            executor, ranges, indexed, unsure, has_components, limit
        )[:limit]
    del found.contradictory[limit:]
    return found


def _individuals_of_shapes(
    executor: Executor,
    ranges: Ranges,
    indexed: IndexedStore,
    shapes: Sequence[ModuleShape],
    has_components: bool,
    limit: int,
) -> list[tuple[str, ...]]:
    """Find the individuals of the modules that have one of ``shapes``, at most ``limit`` modules.
    Returns one tuple of individuals for each module.
    """
    wanted = frozenset(shape.key for shape in shapes)
    labels = frozenset(shape.label for shape in shapes if shape.label is not None)
    found: list[tuple[str, ...]] = []
    if has_components:
        kept_told = partial(_kept_modules, indexed=indexed)
        build = indexed.rules.build
        task = partial(
            members_of_modules,
            ranges=ranges,
            build=build,
            found=kept_told,
            wanted=wanted,
            limit=limit,
        )
        found += (
            names for part in executor.run(task, range(len(ranges)), "conflicts") for names in part
        )
    if labels and len(found) < limit:
        alone_ = partial(_survey_range, ranges=ranges, indexed=indexed, limit=limit, labels=labels)
        found += (
            n
            for part in executor.run(alone_, range(len(ranges)), "conflicts")
            for n in part.contradictory
        )
    return found


# --- what is kept ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _RangeSurvey:
    """Survey of the elements of one id range before modules are made: labels of isolated elements,
    contradictory elements, and the number with undecided assertions.
    """

    labels: Counter[Label]
    contradictory: list[tuple[str, ...]]
    clashes: int
    open: int
    kept_assertions: int


def _open_assertions(
    base: StoreBase, index: Index, roles: RoleBox, elements: Ints
) -> tuple[OpenAssertions, Ints]:
    """Make the test for assertions around ``elements`` that told labels leave undecided. Returns
    also the elements' numbers in the graph of that test.
    """
    whole = view_without_batch(base)
    graph = Graph(whole, roles, index.base_elements(index.merge_classes))
    seen = graph.locate(elements)
    graph.fetch_edges(seen)

    def labels() -> Ints:
        return graph.label

    calculus = index.calculus
    negated = negated_properties(index, calculus, touched_nodes(whole, roles))
    counts = outside_merge_classes(calculus, graph, labels)
    return OpenAssertions(calculus, graph, negated, labels, lambda: counts), seen


def _survey_range(
    i: int,
    *,
    ranges: Ranges,
    indexed: IndexedStore,
    limit: int,
    labels: frozenset[Label | None] = frozenset(),
) -> _RangeSurvey:
    """Task: count the isolated individuals of id range ``i`` by label, and write the elements with
    assertions that a check depends on to a file.

    An element is open if its module is more than its label; kept role assertions are written with
    it. With ``labels`` only isolated individuals that have one of them are listed.
    """
    base, index, roles = indexed.open_cached()
    told, seen = _open_assertions(base, index, roles, range_elements(base, ranges, i))
    graph, table = told.graph, index.calculus.table
    clash = table.clashes(graph.label[seen])
    rest = seen[~clash]
    source, role, target = graph.edges.half_edges(flags(len(graph), rest))
    sound = ~table.clashes(graph.label[target])
    source, role, target = source[sound], role[sound], target[sound]
    # Both ends ask in the direction that was asserted, so that they agree.
    turned = role % 2 == 1
    first, second = np.where(turned, target, source), np.where(turned, source, target)
    keeps = told.is_relevant(first, role - turned, second) | told.is_constrained(
        first, role - turned, second
    )
    data = told.kept_data(rest)
    is_open = np.zeros(len(graph), np.bool_)
    is_open[source[keeps]] = True
    is_open[data["element"]] = True
    for element, *_ in [*graph.complex_facts.negative_edges, *graph.complex_facts.negative_data]:
        is_open[graph.rep[element]] = True
    alone_ = rest[~is_open[rest]]
    visible = table.drop_data_literals(graph.label[alone_])
    if labels:
        wanted = table.test_labels(visible, lambda label: label in labels)
        return _RangeSurvey(Counter(), _element_terms(graph, base, alone_[wanted][:limit]), 0, 0, 0)
    write_open_elements(
        ranges,
        i,
        graph.key[rest[is_open[rest]]],
        graph.key[source[keeps]],
        graph.key[target[keeps]],
    )
    used, which, _ = distinct_with_inverse(visible)
    counts = np.bincount(which, minlength=len(used)).tolist()
    return _RangeSurvey(
        Counter({table.labels[label]: n for label, n in zip(used.tolist(), counts)}),
        _element_terms(graph, base, seen[clash][:limit]),
        int(clash.sum()),
        int(is_open[rest].sum()),
        int((keeps & ~turned).sum()) + len(data["node"]),
    )


def _element_terms(graph: Graph, base: StoreBase, elements: Ints) -> list[tuple[str, ...]]:
    """The names of the individuals that each of ``elements`` consists of, sorted."""
    element, node = graph.nodes_of(elements)
    found: dict[int, list[str]] = {}
    for e, term in zip(element.tolist(), base.terms_of(node)):
        found.setdefault(e, []).append(term)
    return [tuple(sorted(terms)) for terms in found.values()]


def _kept_modules(members: Ints, *, indexed: IndexedStore) -> AddSetModules:
    """Make the modules of the nodes ``members``, from the assertions that told labels leave
    undecided.
    """
    base, index, roles = indexed.open_cached()
    told, seen = _open_assertions(base, index, roles, members)
    return AddSetModules(index.calculus, _kept_add_set(told, unique(seen)))


def _kept_add_set(tests: OpenAssertions, elements: Ints) -> AddSetColumns:
    """Collect A_add of ``elements``: the role and data assertions that told labels leave undecided."""
    graph, table = tests.graph, tests.calculus.table
    clash = table.clashes(graph.label[elements])
    rest = flags(len(graph), elements[~clash])
    source, role, target = graph.edges.half_edges(rest)
    inside = rest[target] & (role % 2 == 0)
    source, role, target = source[inside], role[inside], target[inside]
    keeps = tests.is_relevant(source, role, target) | tests.is_constrained(source, role, target)
    edges = {"source": source[keeps], "role": role[keeps], "target": target[keeps]}
    data = tests.kept_data(elements[~clash])
    visible = graph.label.copy()
    visible[elements] = table.drop_data_literals(graph.label[elements])
    return AddSetColumns(
        graph,
        elements,
        flags(len(graph), elements),
        graph.label,
        visible,
        elements,
        elements[clash],
        edges,
        data,
    )
