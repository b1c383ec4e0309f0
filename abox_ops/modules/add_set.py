"""A_add in columns by element, and its modules: connected components with the names of their
individuals and their answers.

Most modules are alike, so work is done once per distinct module. The individuals of a module are
looked up only where it is not consistent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from shiq import model as owl
from shiq.abox_ops.elements.graph import Graph, flags
from shiq.abox_ops.elements.quotient import component_minima
from shiq.abox_ops.elements.union_view import UnionView
from shiq.abox_ops.engine import AddSet, NamedModule
from shiq.abox_ops.labels.label_calculus import CompiledClause
from shiq.abox_ops.labels.label_numbers import Bools
from shiq.abox_ops.labels.numbered_calculus import NumberedCalculus
from shiq.answers.verdict import Verdict
from shiq.columns.arrays import (
    NONE,
    Columns,
    Ints,
    distinct_with_inverse,
    is_in,
    row_codes,
    set_difference,
)
from shiq.reasoner.protocol import Answer, Module
from shiq.support import LazySequence

#: What asked for an element: 0 if nothing was noted, as where individuals became equal; an axiom on
#: roles or negative assertion; from `_CLAUSES` on, a clause.
NOTHING, ROLES, _CLAUSES = 0, 1, 2


def clause_code(clause: CompiledClause) -> int:
    """Encode a clause as a reason code of `PulledInReasons`."""
    return _CLAUSES + clause.index


def clause_index(code: int) -> int | None:
    """Decode a reason code to the index of its clause; None for codes that stand for no clause."""
    return code - _CLAUSES if code >= _CLAUSES else None


class PulledInReasons:
    """The first reason for which each element entered A_add, as a code by element number."""

    def __init__(self) -> None:
        self._codes = NONE

    def note(self, elements: Ints, codes: Ints | int) -> None:
        """Record the reason codes of ``elements`` that have none yet."""
        if not len(elements):
            return
        count = int(elements.max()) + 1
        if count > len(self._codes):
            self._codes = np.concatenate(
                [self._codes, np.zeros(count - len(self._codes), np.int64)]
            )
        new = self._codes[elements] == NOTHING
        self._codes[elements[new]] = codes[new] if isinstance(codes, np.ndarray) else codes

    def codes(self, graph: Graph) -> Ints:
        """The reason code of each element: its own, or that of an element joined into it."""
        found = np.zeros(len(graph), np.int64)
        noted = np.flatnonzero(self._codes)
        found[graph.rep[noted]] = self._codes[noted]
        found[noted] = np.where(graph.rep[noted] == noted, self._codes[noted], found[noted])
        return found


@dataclass
class AddSetColumns:
    """A_add in columns, by element number of ``graph`` (representatives, ascending).

    region: I.
    has_label: whether ``labels`` has a label for the element.
    labels: label numbers. kept_labels: the labels in modules.
    touched_elements: elements of the batch. contradictory: elements of I that clash.
    edges: kept role assertions (source, role, target), roles not inverted, each once.
    data: kept data rows (element, node, property, literal).
    remedies: (element, name, positive).
    pulled_in: why elements are there, under the criteria `clausal` and `model`.
    """

    graph: Graph
    region: Ints
    has_label: Bools
    labels: Ints
    kept_labels: Ints
    touched_elements: Ints
    contradictory: Ints
    edges: Columns
    data: Columns
    remedies: list[tuple[int, str, bool]] = field(default_factory=list)
    pulled_in: PulledInReasons = field(default_factory=PulledInReasons)


@dataclass(frozen=True, eq=False)
class AddSetModules:
    """The modules of A_add, made from its ``columns``.

    ``decided_modules``: the modules, where they are known already.
    """

    calculus: NumberedCalculus
    columns: AddSetColumns
    decided_modules: Sequence[NamedModule] | None = field(default=None, kw_only=True)

    @property
    def union(self) -> UnionView:
        """A ∪ A⁺."""
        return self.columns.graph.union

    def _members(self, elements: Ints) -> dict[int, tuple[str, ...]]:
        """The names of the individuals of each element, sorted."""
        element, node = self.columns.graph.nodes_of(elements)
        terms = self.union.terms_of(node)
        found = dict(zip(element.tolist(), zip(terms)))
        grown: dict[int, list[str]] = {}
        for i in (np.bincount(element)[element] > 1).nonzero()[0].tolist():
            grown.setdefault(int(element[i]), []).append(terms[i])
        return found | {e: tuple(sorted(several)) for e, several in grown.items()}

    @cached_property
    def modules(self) -> Sequence[NamedModule]:
        """The connected components of A_add as modules, ordered by their least members; or the
        ``decided_modules``.
        """
        if self.decided_modules is not None:
            return self.decided_modules
        found = self.columns
        rest = set_difference(found.region, found.contradictory)
        is_linked = is_in(rest, self._linked_elements())
        plain, linked = rest[~is_linked], rest[is_linked]
        kinds, which, _ = distinct_with_inverse(found.kept_labels[plain])
        alone = {kind: self._label_module(kind) for kind in kinds.tolist()}
        others = self._component_modules(linked, alone) if len(linked) else []

        def name_modules() -> list[NamedModule]:
            members = self._members(plain)
            each = [
                NamedModule(alone[kind], (members[e],))
                for e, kind in zip(plain.tolist(), kinds[which].tolist())
            ]
            return sorted([*each, *others], key=lambda m: m.elements[0][0])

        modules = {id(m): m for m in (*alone.values(), *(other.module for other in others))}
        counts = Counter(id(other.module) for other in others)
        counts.update(
            dict(zip(map(id, alone.values()), np.bincount(which, minlength=len(kinds)).tolist()))
        )
        crowd = int(np.bincount(self.columns.graph.nodes_of(rest)[0], minlength=1).max())
        return NamedModules(
            list(modules.values()), [counts[i] for i in modules], crowd, name_modules
        )

    def _linked_elements(self) -> Ints:
        """The elements with kept role or data assertions, negative ones or inequalities; the module
        of any other element is only its label.
        """
        found, graph = self.columns, self.columns.graph
        ends = [graph.different["source"], graph.different["target"]]
        rare = [e for x, _, y in graph.complex_facts.negative_edges for e in (x, y)] + [
            x for x, _, _ in graph.complex_facts.negative_data
        ]
        elements = graph.rep[np.concatenate([*ends, np.array(rare, np.int64)])]
        return np.concatenate(
            [found.edges["source"], found.edges["target"], found.data["element"], elements]
        )

    def _label_module(self, label: int) -> Module:
        """Make the module of an element of which A_add keeps its label alone."""
        positive, negative = self.calculus.table.labels[label]
        return Module((positive,), (negative,))

    def _component_modules(
        self, elements: Ints, label_modules: dict[int, Module]
    ) -> list[NamedModule]:
        """Make the modules of the elements ``elements``. Elements of which only a label is kept share
        the modules in ``label_modules``, which is extended.
        """
        found, graph = self.columns, self.columns.graph
        members = self._members(elements)
        by_name = sorted(elements.tolist(), key=lambda e: members[e][0])
        rank = np.zeros(len(graph), np.int64)
        rank[by_name] = np.arange(len(by_name))
        edges = _distinct_edges(
            {
                "a": rank[found.edges["source"]],
                "role": found.edges["role"],
                "b": rank[found.edges["target"]],
            }
        )
        component = component_minima(len(by_name), edges["a"], edges["b"])
        order = component.argsort(kind="stable")
        start = np.concatenate([[True], np.diff(component[order]) > 0]).nonzero()[0]
        parts = self._rows_by_component(edges, component, order, rank, flags(len(graph), elements))
        label = found.kept_labels[np.array(by_name, np.int64)].tolist()
        labels = self.calculus.table.labels
        result = []
        size = np.diff(np.concatenate([start, [len(order)]]))
        for at, first, count in zip(start.tolist(), order[start].tolist(), size.tolist()):
            if count == 1 and first not in parts:
                module = label_modules.get(label[first])
                if module is None:
                    module = label_modules[label[first]] = self._label_module(label[first])
                result.append(NamedModule(module, (members[by_name[first]],)))
                continue
            nodes = order[at : at + count].tolist()
            lists = parts.get(first, _NO_PARTS)
            module = Module(*zip(*(labels[label[n]] for n in nodes)), *map(tuple, lists))
            result.append(NamedModule(module, tuple(members[by_name[n]] for n in nodes)))
        return result

    def _rows_by_component(
        self, edges: Columns, component: Ints, order: Ints, rank: Ints, rest: np.ndarray
    ) -> dict[int, tuple[list, list, list, list, list]]:  # type: ignore[type-arg]
        """Group the kept rows by component, sorted: edges, negative edges, inequalities, data and
        negative data.
        """
        graph = self.columns.graph
        within = np.zeros(len(component), np.int64)
        first = component[order].searchsorted(component)
        within[order] = np.arange(len(order))
        numbered = within - first
        node = numbered.tolist()
        parts: dict[int, tuple[list, list, list, list, list]] = {}  # type: ignore[type-arg]
        of = component.tolist()

        def rows_of(i: int) -> tuple[list, list, list, list, list]:  # type: ignore[type-arg]
            """The rows of the component of an element."""
            return parts.setdefault(of[i], ([], [], [], [], []))

        roles = self.calculus.roles
        for a, r, b in zip(*(edges[name].tolist() for name in ("a", "role", "b"))):
            rows_of(a)[0].append((node[a], roles[r], node[b]))
        rep, place = graph.rep, rank.tolist()
        for x, r, y in {
            (int(rep[x]), r, int(rep[y]))
            for x, r, y in graph.complex_facts.negative_edges
            if not r.is_inverse
        }:
            if rest[x] and rest[y] and of[place[x]] == of[place[y]]:
                rows_of(place[x])[1].append((node[place[x]], r, node[place[y]]))
        a, b = (rep[graph.different[name]] for name in ("source", "target"))
        both = rest[a] & rest[b]
        a, b = rank[a[both]], rank[b[both]]
        both = (component[a] == component[b]) & (numbered[a] <= numbered[b])
        apart = _distinct_edges({"a": a[both], "b": b[both]})
        for x, y in zip(apart["a"].tolist(), apart["b"].tolist()):
            rows_of(x)[2].append((node[x], node[y]))
        for x, p, value in self._kept_data_rows():
            rows_of(place[x])[3].append((node[place[x]], p, value))
        for x, p, value in {
            (int(rep[x]), p, value) for x, p, value in graph.complex_facts.negative_data
        }:
            if rest[x]:
                rows_of(place[x])[4].append((node[place[x]], p, value))
        for lists in parts.values():
            for i, values in enumerate(lists):
                values.sort(key=repr if i > 2 else None)
        return parts

    def _kept_data_rows(self) -> set[tuple[int, str, owl.Literal]]:
        """The kept data assertions as triples (element, property, literal)."""
        rows, names = self.columns.data, self.calculus.names.data_properties.values
        values = self.union.literals_of(rows["literal"])
        return {
            (e, names[p], value)
            for e, p, value in zip(rows["element"].tolist(), rows["property"].tolist(), values)
        }


_NO_PARTS: tuple[list, list, list, list, list] = ([], [], [], [], [])  # type: ignore[type-arg]


def _distinct_edges(rows: Columns) -> Columns:
    """Drop repeated rows of edges."""
    if not len(rows["a"]):
        return rows
    kept = distinct_with_inverse(row_codes(*rows.values()))[2]
    return {name: column[kept] for name, column in rows.items()}


class NamedModules(LazySequence[NamedModule]):
    """A lazy sequence of named modules of which few are distinct.

    Args:
        distinct, counts: the distinct modules, and how often each occurs.
        crowd: the maximal number of individuals that one node stands for.
        named: gives all modules, each with an object of ``distinct``.
    """

    def __init__(
        self,
        distinct: Sequence[Module],
        counts: Sequence[int],
        crowd: int,
        named: Callable[[], Sequence[NamedModule]],
    ) -> None:
        super().__init__(sum(counts), named)
        self.distinct, self.counts, self.crowd = distinct, counts, crowd

    @classmethod
    def from_modules(cls, modules: Sequence[NamedModule]) -> NamedModules:
        """Wrap a list of modules that exists already."""
        if isinstance(modules, cls):
            return modules
        distinct = {id(m.module): m.module for m in modules}
        counts = Counter(id(m.module) for m in modules)
        crowd = max((len(element) for m in modules for element in m.elements), default=0)
        return cls(list(distinct.values()), [counts[i] for i in distinct], crowd, lambda: modules)


class ModuleAnswers(LazySequence[Answer]):
    """One answer for each of ``modules``, as a lazy sequence over the answers to distinct modules."""

    def __init__(self, modules: NamedModules, distinct: Sequence[Answer]) -> None:
        super().__init__(len(modules), self._answer_each)
        self.modules, self.distinct = modules, distinct

    def _answer_each(self) -> Sequence[Answer]:
        """The answer of each module, in order."""
        told = {id(module): answer for module, answer in zip(self.modules.distinct, self.distinct)}
        return [told[id(m.module)] for m in self.modules]


def ask_distinct(
    modules: Sequence[NamedModule], decide: Callable[[Sequence[Module]], Sequence[Answer]]
) -> ModuleAnswers:
    """Ask ``decide`` once about each distinct module; return an answer for every module."""
    named = NamedModules.from_modules(modules)
    return ModuleAnswers(named, decide(named.distinct))


def distinct_answers(answers: Sequence[Answer]) -> Iterable[Answer]:
    """The distinct answers among ``answers``; others may be repeated."""
    return answers.distinct if isinstance(answers, ModuleAnswers) else answers


def answer_positions(answers: Sequence[Answer], is_chosen: Callable[[Answer], bool]) -> list[int]:
    """Find the positions of those ``answers`` for which ``is_chosen`` is true."""
    if not any(map(is_chosen, distinct_answers(answers))):
        return []
    return [i for i, answer in enumerate(answers) if is_chosen(answer)]


def count_verdicts(answers: Sequence[Answer]) -> Counter[Verdict]:
    """Count the answers by verdict."""
    found: Counter[Verdict] = Counter()
    if isinstance(answers, ModuleAnswers):
        for answer, count in zip(answers.distinct, answers.modules.counts):
            found[answer.verdict] += count
    else:
        found.update(answer.verdict for answer in answers)
    return found


def inconsistent_groups(add_set: AddSet, answers: Sequence[Answer]) -> list[tuple[str, ...]]:
    """List the individuals of each contradictory element and of each inconsistent module.

    Of a module only those near the contradiction, if the reasoner reports which.
    """
    return [
        *add_set.contradictory,
        *(
            tuple(i for n in answers[k].near_nodes for i in add_set.modules[k].elements[n])
            or individuals_in(add_set.modules[k])
            for k in answer_positions(
                answers, lambda answer: answer.verdict is Verdict.INCONSISTENT
            )
        ),
    ]


def individuals_in(module: NamedModule) -> tuple[str, ...]:
    """List the individuals of a module, element by element."""
    elements = module.elements
    return elements[0] if len(elements) == 1 else tuple(i for element in elements for i in element)
