"""The add set of the engine `local`: columns, written out as assertions and modules when they are asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from abox_ops.elements.base import FRESH
from abox_ops.elements.columns import flags
from abox_ops.elements.partition import components
from abox_ops.elements.pulled_in import ROLES, clause_of
from abox_ops.elements.quotient import Partition
from abox_ops.elements.union_view import UnionView
from abox_ops.engine import NamedModule
from abox_ops.index.columns import Index
from abox_ops.labels.calculus import EMPTY, Label
from abox_ops.labels.columns import Calculus
from abox_ops.modules.add_set import Closure, kept_assertions
from abox_ops.modules.add_set_columns import Found
from abox_ops.modules.components import KeptAssertions
from abox_ops.modules.named import NamedModules
from abox_ops.patch.columns import Patch
from shiq import model as owl
from shiq.abox import individuals_of
from shiq.clause import ClausalTBox
from shiq.columns.arrays import Columns, Ints, contained, distinct, is_in, row_codes, unique, without
from shiq.columns.rows import SAME
from shiq.functional.writer import axiom_text
from shiq.rdf.vocabulary import local_name
from shiq.reasoner.protocol import Module
from shiq.result import PulledIn
from shiq.roles import RoleBox
from simplify.describe import clause_text

#: Individuals that are named for each reason.
_EXAMPLES = 3


@dataclass(frozen=True, eq=False)
class LocalAddSet:
    """See `abox_ops.engine.AddSet`."""

    calculus: Calculus
    index: Index
    whole: UnionView
    roles: RoleBox
    found: Found
    clauses: ClausalTBox | None = field(default=None, kw_only=True)
    decided: Sequence[NamedModule] | None = field(default=None, kw_only=True)
    patch: Patch | None = field(default=None, kw_only=True)
    _inserted: dict[str, frozenset[owl.Assertion]] = field(default_factory=dict, kw_only=True, repr=False)

    @property
    def tbox(self) -> ClausalTBox:
        return self.clauses or self.calculus.tbox

    @property
    def insertions(self) -> int:
        return self.whole.insertions

    @cached_property
    def pulled_in(self) -> int:
        return len(without(self.found.seen, self.found.touched))

    def why_pulled(self) -> list[PulledIn]:
        """What pulled in the elements of `pulled_in`: each once."""
        found = self.found
        pulled = without(found.seen, found.touched)
        codes, which, _ = distinct(found.pulled_in.codes(found.graph)[pulled])
        told = []
        for i, code in enumerate(codes.tolist()):
            elements = pulled[which == i]
            examples = self._members(elements[:_EXAMPLES])
            told.append(self._told(code, len(elements), tuple(sorted(members[0] for members in examples.values()))))
        return sorted(told, key=lambda x: (-x.count, x.reason, x.text))

    def _told(self, code: int, count: int, examples: tuple[str, ...]) -> PulledIn:
        index = clause_of(code)
        if index is None:
            return PulledIn("roles" if code == ROLES else "equality", count, examples)
        tbox = self.calculus.tbox
        clause = tbox.clauses[index]
        axioms = tuple(axiom_text(tbox.axioms[i]) for i in sorted(clause.origins))
        return PulledIn("clause", count, examples, clause_text(clause, local_name), axioms)

    @cached_property
    def contradictory(self) -> Sequence[tuple[str, ...]]:
        members = self._members(self.found.contradictory)
        return sorted(members[e] for e in self.found.contradictory.tolist())

    def _members(self, elements: Ints) -> dict[int, tuple[str, ...]]:
        """The sorted members of each element, as terms."""
        element, node = self.found.graph.nodes_of(elements)
        terms = self.whole.terms_of(node)
        found = dict(zip(element.tolist(), zip(terms)))
        grown: dict[int, list[str]] = {}
        for i in np.flatnonzero(np.bincount(element)[element] > 1).tolist():
            grown.setdefault(int(element[i]), []).append(terms[i])
        return found | {e: tuple(sorted(several)) for e, several in grown.items()}

    def merged(self) -> Sequence[tuple[tuple[str, ...], ...]]:
        """See `abox_ops.conflicts.identities.Merging`."""
        graph = self.found.graph
        grown = np.flatnonzero(np.bincount(graph.rep, minlength=len(graph)) > 1)
        element, node = graph.nodes_of(grown)
        parts: dict[int, dict[int, list[str]]] = {}
        for e, key, term in zip(element.tolist(), graph.keys_of(node).tolist(), self.whole.terms_of(node)):
            parts.setdefault(e, {}).setdefault(key, []).append(term)
        return [tuple(tuple(sorted(part)) for part in found.values()) for found in parts.values() if len(found) > 1]

    # --- modules -----------------------------------------------------------------------------------

    @cached_property
    def modules(self) -> Sequence[NamedModule]:
        """The connected components of what is kept, in the order of their least members; or those that were ``decided``."""
        if self.decided is not None:
            return self.decided
        found = self.found
        rest = without(found.seen, found.contradictory)
        is_linked = is_in(rest, self._linked())
        plain, linked = rest[~is_linked], rest[is_linked]
        kinds, which, _ = distinct(found.kept_labels[plain])
        alone = {kind: self._alone(kind) for kind in kinds.tolist()}
        others = self._components(linked, alone) if len(linked) else []

        def named() -> list[NamedModule]:
            members = self._members(plain)
            each = [NamedModule(alone[kind], (members[e],)) for e, kind in zip(plain.tolist(), kinds[which].tolist())]
            return sorted([*each, *others], key=lambda m: m.elements[0][0])

        modules = {id(m): m for m in (*alone.values(), *(other.module for other in others))}
        counts = Counter(id(other.module) for other in others)
        counts.update(dict(zip(map(id, alone.values()), np.bincount(which, minlength=len(kinds)).tolist())))
        crowd = int(np.bincount(self.found.graph.nodes_of(rest)[0], minlength=1).max())
        return NamedModules(list(modules.values()), [counts[i] for i in modules], crowd, named)

    def _linked(self) -> Ints:
        """The elements that more may be kept of than a label."""
        found, graph = self.found, self.found.graph
        ends = [graph.different["source"], graph.different["target"]]
        rare = [e for x, _, y in graph.rare.negative_edges for e in (x, y)] + [x for x, _, _ in graph.rare.negative_data]
        elements = graph.rep[np.concatenate([*ends, np.array(rare, np.int64)])]
        return np.concatenate([found.edges["source"], found.edges["target"], found.data["element"], elements])

    def _alone(self, label: int) -> Module:
        positive, negative = self.calculus.table.labels[label]
        return Module((positive,), (negative,))

    def _components(self, rest: Ints, alone: dict[int, Module]) -> list[NamedModule]:
        """Those of the elements ``rest``. Where nothing but a label is kept, the module is that of ``alone``, which grows."""
        found, graph = self.found, self.found.graph
        members = self._members(rest)
        by_name = sorted(rest.tolist(), key=lambda e: members[e][0])
        rank = np.zeros(len(graph), np.int64)
        rank[by_name] = np.arange(len(by_name))
        edges = _distinct({"a": rank[found.edges["source"]], "role": found.edges["role"], "b": rank[found.edges["target"]]})
        component = self.components(len(by_name), edges["a"], edges["b"])
        order = np.argsort(component, kind="stable")
        start = np.flatnonzero(np.concatenate([[True], np.diff(component[order]) > 0]))
        parts = self._parts(edges, component, order, rank, flags(len(graph), rest))
        label = found.kept_labels[np.array(by_name, np.int64)].tolist()
        labels = self.calculus.table.labels
        result = []
        size = np.diff(np.concatenate([start, [len(order)]]))
        for at, first, count in zip(start.tolist(), order[start].tolist(), size.tolist()):
            if count == 1 and first not in parts:
                module = alone.get(label[first])
                if module is None:
                    module = alone[label[first]] = self._alone(label[first])
                result.append(NamedModule(module, (members[by_name[first]],)))
                continue
            nodes = order[at : at + count].tolist()
            lists = parts.get(first, _NO_PARTS)
            module = Module(*zip(*(labels[label[n]] for n in nodes)), *map(tuple, lists))
            result.append(NamedModule(module, tuple(members[by_name[n]] for n in nodes)))
        return result

    def components(self, count: int, first: Ints, second: Ints) -> Ints:
        """The least number of its component for each of 0 … count-1, where first[i] and second[i] are connected."""
        return components(count, first, second)

    def _parts(
        self, edges: Columns, component: Ints, order: Ints, rank: Ints, rest: np.ndarray
    ) -> dict[int, tuple[list, list, list, list, list]]:  # type: ignore[type-arg]
        """Edges, negative edges, inequalities, data and negative data of each component that has any, sorted."""
        graph = self.found.graph
        within = np.zeros(len(component), np.int64)
        first = np.searchsorted(component[order], component)
        within[order] = np.arange(len(order))
        node = (within - first).tolist()
        parts: dict[int, tuple[list, list, list, list, list]] = {}  # type: ignore[type-arg]
        of = component.tolist()

        def part(i: int) -> tuple[list, list, list, list, list]:  # type: ignore[type-arg]
            return parts.setdefault(of[i], ([], [], [], [], []))

        roles = self.calculus.roles
        for a, r, b in zip(*(edges[name].tolist() for name in ("a", "role", "b"))):
            part(a)[0].append((node[a], roles[r], node[b]))
        rep, place = graph.rep, rank.tolist()
        for x, r, y in {(int(rep[x]), r, int(rep[y])) for x, r, y in graph.rare.negative_edges if not r.inverted}:
            if rest[x] and rest[y] and of[place[x]] == of[place[y]]:
                part(place[x])[1].append((node[place[x]], r, node[place[y]]))
        apart = rest[rep[graph.different["source"]]] & rest[rep[graph.different["target"]]]
        pairs = zip(*(rep[graph.different[name][apart]].tolist() for name in ("source", "target")))
        for x, y in {(place[x], place[y]) for x, y in pairs}:
            if of[x] == of[y] and node[x] <= node[y]:
                part(x)[2].append((node[x], node[y]))
        for x, p, value in self._kept_data():
            part(place[x])[3].append((node[place[x]], p, value))
        for x, p, value in {(int(rep[x]), p, value) for x, p, value in graph.rare.negative_data}:
            if rest[x]:
                part(place[x])[4].append((node[place[x]], p, value))
        for lists in parts.values():
            for i, values in enumerate(lists):
                values.sort(key=repr if i > 2 else None)
        return parts

    def _kept_data(self) -> set[tuple[int, str, owl.Literal]]:
        rows, names = self.found.data, self.calculus.names.data_properties.values
        values = self.whole.literals_of(rows["literal"])
        return {(e, names[p], value) for e, p, value in zip(rows["element"].tolist(), rows["property"].tolist(), values)}

    # --- size and assertions -----------------------------------------------------------------------

    @cached_property
    def size(self) -> int:
        """As many as `kept` gives, without writing them out."""
        found, graph, whole = self.found, self.found.graph, self.whole
        _element, node = graph.nodes_of(found.seen)
        node.sort()
        classes = whole.rows_of("class_assertions", node)
        count = len(classes["node"])
        edges = graph.edges
        forward = edges["role"] % 2 == 0
        source, role, target = graph.rep[edges["source"]][forward], edges["role"][forward], graph.rep[edges["target"]][forward]
        kept = found.edges
        count += int(contained([source, role, target], [kept["source"], kept["role"], kept["target"]]).sum())
        count += len(found.data["node"])
        pairs = whole.rows_of("pairs", node)
        told = pairs["kind"] % 2 == 0
        other = graph.elements_of(pairs["neighbour"])
        inside = flags(len(graph), found.seen)[other]
        count += int((told & ((pairs["kind"] == SAME) | inside)).sum())
        return count + self._complex_kept() + len(self._new_remedies())

    def _complex_kept(self) -> int:
        graph = self.found.graph
        seen = flags(len(graph), self.found.seen)
        count = 0
        for element, node, assertion in graph.asserted_complex:
            if seen[graph.rep[element]]:
                match assertion:
                    case owl.NegativeObjectPropertyAssertion(_, first, second):
                        mine = self.whole.terms_of(np.array([node]))[0] == first
                        other = graph.elements_of(self.whole.nodes_of([second]))[0]
                        count += bool(mine and other < len(seen) and seen[other])
                    case _:
                        count += 1
        return count

    def _new_remedies(self) -> list[tuple[int, str, bool]]:
        """The remedies that are not asserted anyway."""
        if not self.found.remedies:
            return []
        graph = self.found.graph
        element, node = graph.nodes_of(self.found.seen)
        order = np.argsort(node)
        rows = self.whole.rows_of("class_assertions", node[order])
        where = element[order][np.searchsorted(node[order], rows["node"])]
        names = self.calculus.names.classes.values
        asserted = {(e, names[c], True) for e, c in zip(where.tolist(), rows["class"].tolist())}
        asserted |= {(int(graph.rep[e]), *literal) for e, literal, _ in graph.rare.literals}
        return [remedy for remedy in self.found.remedies if remedy not in asserted]

    def kept(self) -> Iterator[owl.Assertion]:
        """See `abox_ops.modules.add_set.kept_assertions`."""
        found, graph = self.found, self.found.graph
        others = np.array([e for e, _, _ in found.remedies], np.int64)
        graph.gather(others)
        members = self._members(unique(np.concatenate([found.seen, others])))
        elements: Partition[str] = Partition()
        for terms in members.values():
            elements.union_all(terms)
        name = {e: terms[0] for e, terms in members.items()}
        roles = self.calculus.roles
        kept = KeptAssertions({})
        kept.edges = {
            (name[a], roles[r], name[b]) for a, r, b in zip(*(found.edges[c].tolist() for c in ("source", "role", "target")))
        }
        kept.data = {(name[e], p, value) for e, p, value in self._kept_data()}
        closure = Closure(
            frozenset(name[e] for e in found.seen.tolist()),
            {},
            frozenset(),
            frozenset(),
            kept,
            frozenset((name[e], iri, positive) for e, iri, positive in found.remedies),
        )
        return kept_assertions(closure, elements, self.about, self.roles)

    # --- individuals -------------------------------------------------------------------------------

    def about(self, individual: str) -> Sequence[owl.Assertion]:
        """See `abox_ops.engine.AddSet.about`."""
        return self.about_all([individual])[individual]

    def about_all(self, individuals: Sequence[str]) -> dict[str, Sequence[owl.Assertion]]:
        """See `abox_ops.engine.AddSet.about_all`."""
        nodes = self.whole.nodes_of(individuals)
        found: dict[str, list[owl.Assertion]] = {individual: [] for individual in individuals}
        for individual, assertion in self._about(np.unique(nodes[nodes >= 0])):
            found[individual].append(assertion)
        return {individual: sorted(assertions, key=repr) for individual, assertions in found.items()}

    def _about(self, nodes: Ints, *, with_old: bool = True) -> Iterator[tuple[str, owl.Assertion]]:
        """(individual, assertion about it) for all ``nodes``, fetched together; those that are inserted, or the old ones too."""
        if not len(nodes):
            return
        whole, names = self.whole, self.whole.names
        rows = whole.rows_of("class_assertions", nodes, with_old=with_old)
        for term, c in zip(whole.terms_of(rows["node"]), rows["class"].tolist()):
            yield term, owl.ClassAssertion(owl.Class(names.classes.values[c]), term)
        rows = whole.rows_of("half_edges", nodes, with_old=with_old)
        for term, r, other in zip(whole.terms_of(rows["node"]), rows["role"].tolist(), whole.terms_of(rows["neighbour"])):
            property_ = owl.ObjectProperty(names.object_properties.values[r // 2])
            if r % 2 == 0:
                yield term, owl.ObjectPropertyAssertion(property_, term, other)
            elif other != term:
                yield term, owl.ObjectPropertyAssertion(property_, other, term)
        rows = whole.rows_of("data_assertions", nodes, with_old=with_old)
        terms, values = whole.terms_of(rows["node"]), whole.literals_of(rows["literal"])
        for term, p, value in zip(terms, rows["property"].tolist(), values):
            yield term, owl.DataPropertyAssertion(owl.DataProperty(names.data_properties.values[p]), term, value)
        rows = whole.rows_of("pairs", nodes, with_old=with_old)
        for term, kind, other in zip(whole.terms_of(rows["node"]), rows["kind"].tolist(), whole.terms_of(rows["neighbour"])):
            make = owl.SameIndividual if kind // 2 * 2 == SAME else owl.DifferentIndividuals
            if kind % 2 == 0:
                yield term, make(term, other)
            elif other != term:
                yield term, make(other, term)
        for node, assertion, is_inserted in whole.complex_of(nodes):
            if not (with_old or is_inserted):
                continue
            yield whole.terms_of(np.array([node]))[0], assertion

    def label(self, individual: str) -> Label:
        """See `abox_ops.engine.AddSet.label`."""
        return self.labels([individual])[0]

    def labels(self, individuals: Sequence[str]) -> list[Label]:
        """See `abox_ops.engine.AddSet.labels`."""
        found: list[Label] = [EMPTY] * len(individuals)
        closure, labels, index = self.found, self.calculus.table.labels, self.index
        node = self.whole.nodes_of(individuals)
        known = np.flatnonzero(node >= 0)
        element = closure.graph.elements_of(node[known])
        told = element < len(closure.labelled)
        told[told] = closure.labelled[element[told]]
        for i, number in zip(known[told].tolist(), closure.labels[element[told]].tolist()):
            found[i] = labels[number]
        old = known[~told & (node[known] < FRESH)]
        before, (elements, place, _) = index.calculus.table.labels, distinct(index.equal.of(node[old]))
        for i, number in zip(old.tolist(), index.labels.of(elements)[place].tolist()):
            found[i] = before[number]
        return found

    def is_inserted(self, assertion: owl.Assertion) -> bool:
        about = individuals_of(assertion)[0]
        if about not in self._inserted:
            nodes = self.whole.nodes_of([about])
            self._inserted[about] = frozenset(a for _, a in self._about(nodes[nodes >= 0], with_old=False))
        return assertion in self._inserted[about]


_NO_PARTS: tuple[list, list, list, list, list] = ([], [], [], [], [])  # type: ignore[type-arg]


def _distinct(rows: Columns) -> Columns:
    if not len(rows["a"]):
        return rows
    kept = distinct(row_codes(*rows.values()))[2]
    return {name: column[kept] for name, column in rows.items()}
