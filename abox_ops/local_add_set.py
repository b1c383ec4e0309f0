"""The add set of the engine `local`: columns that become assertions and modules on demand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from shiq import model as owl
from shiq.abox_ops.elements.base import FRESH
from shiq.abox_ops.elements.graph import flags, rows_of_elements
from shiq.abox_ops.elements.normal_assertions import literal_expression
from shiq.abox_ops.elements.union_view import UnionView
from shiq.abox_ops.engine import NO_WIDENING, WideningFigures
from shiq.abox_ops.index.index import Index
from shiq.abox_ops.labels.label_calculus import EMPTY, Label
from shiq.abox_ops.modules.add_set import ROLES, AddSetColumns, AddSetModules, clause_index
from shiq.abox_ops.patch.patch import Patch
from shiq.answers.result import PulledIn
from shiq.columns.arrays import (
    Columns,
    Ints,
    distinct_with_inverse,
    is_row_in,
    set_difference,
    unique,
)
from shiq.columns.rows import SAME
from shiq.model.abox import individuals_of
from shiq.model.clause import ClausalTBox
from shiq.rdf.vocabulary import local_name

#: Individuals that are named for each reason.
_EXAMPLES = 3


@dataclass(frozen=True, eq=False)
class LocalAddSet(AddSetModules):
    """A_add of one batch in columns, computed by the engine `local`.

    index: that of A without the deletions.
    clauses: the clauses of the modules, if not those of the calculus.
    patch, widening: under the criterion `model`, the patch and its cost.
    """

    index: Index
    clauses: ClausalTBox | None = field(default=None, kw_only=True)
    patch: Patch | None = field(default=None, kw_only=True)
    widening: WideningFigures = field(default=NO_WIDENING, kw_only=True)
    _insertions_by_individual: dict[str, set[owl.Assertion]] = field(
        default_factory=dict, kw_only=True, repr=False
    )

    @property
    def tbox(self) -> ClausalTBox:
        """The clauses of the modules."""
        return self.clauses or self.calculus.tbox

    @property
    def insertions(self) -> int:
        """Number of insertions that A does not have."""
        return self.union.insertion_count

    @cached_property
    def pulled_in(self) -> int:
        """Number of elements that entered A_add although the batch does not touch them."""
        return len(set_difference(self.columns.region, self.columns.touched_elements))

    def why_pulled(self) -> list[PulledIn]:
        """Count the pulled-in elements by reason, most frequent first."""
        found = self.columns
        pulled = set_difference(found.region, found.touched_elements)
        codes, which, _ = distinct_with_inverse(found.pulled_in.codes(found.graph)[pulled])
        told = []
        for i, code in enumerate(codes.tolist()):
            elements = pulled[which == i]
            examples = self._members(elements[:_EXAMPLES])
            names = tuple(sorted(members[0] for members in examples.values()))
            told.append(_explain_code(self.calculus.tbox, code, len(elements), names))
        return sorted(told, key=lambda x: (-x.count, x.reason, x.text))

    @cached_property
    def contradictory(self) -> Sequence[tuple[str, ...]]:
        """The members of each element that told literals contradict."""
        return sorted(self._members(self.columns.contradictory).values())

    def merged_elements(self) -> Sequence[tuple[tuple[str, ...], ...]]:
        """Elements that the batch makes of several elements of A: for each, a tuple of individuals
        for each of the former elements.
        """
        graph = self.columns.graph
        grown = (np.bincount(graph.rep, minlength=len(graph)) > 1).nonzero()[0]
        element, node = graph.nodes_of(grown)
        parts: dict[int, dict[int, list[str]]] = {}
        for e, key, term in zip(
            element.tolist(), graph.base_elements.keys_of(node).tolist(), self.union.terms_of(node)
        ):
            parts.setdefault(e, {}).setdefault(key, []).append(term)
        return [
            tuple(tuple(sorted(part)) for part in found.values())
            for found in parts.values()
            if len(found) > 1
        ]

    def release_memory(self) -> LocalAddSet:
        """Return a copy without the patch and the role assertions of the graph, and free their
        memory.
        """
        found = replace(self, patch=None)
        # Counted while the role assertions are there.
        _ = found.size
        found.columns.graph.edges.clear()
        return found

    # --- size and assertions ----------------------------------------------------------------------

    @cached_property
    def size(self) -> int:
        """Number of assertions that `kept_assertions` gives, counted without writing them out."""
        found, graph, whole = self.columns, self.columns.graph, self.union
        _element, node = graph.nodes_of(found.region)
        node.sort()
        classes = whole.rows_of("class_assertions", node)
        count = len(classes["node"]) + len(found.data["node"])
        edges, kept = graph.edges.columns, found.edges
        maybe = (edges["role"] % 2 == 0) & flags(len(graph), kept["source"])[edges["source"]]
        source, role, target = (edges[name][maybe] for name in ("source", "role", "target"))
        count += int(
            is_row_in([source, role, target], [kept["source"], kept["role"], kept["target"]]).sum()
        )
        pairs = whole.rows_of("pairs", node)
        told = pairs["kind"] % 2 == 0
        other = graph.elements_of(pairs["neighbour"])
        inside = flags(len(graph), found.region)[other]
        count += int((told & ((pairs["kind"] == SAME) | inside)).sum())
        return count + _count_complex_assertions(found, whole) + len(self._new_remedies())

    def _new_remedies(self) -> list[tuple[int, str, bool]]:
        """The remedies that are not asserted in A ∪ A⁺."""
        if not self.columns.remedies:
            return []
        graph = self.columns.graph
        rows = rows_of_elements(graph, "class_assertions", self.columns.region)
        names = self.calculus.names.classes.values
        asserted = {
            (e, names[c], True) for e, c in zip(rows["element"].tolist(), rows["class"].tolist())
        }
        asserted |= {
            (int(graph.rep[e]), *literal) for e, literal, _ in graph.complex_facts.literals
        }
        return [remedy for remedy in self.columns.remedies if remedy not in asserted]

    def kept_assertions(self) -> Iterator[owl.Assertion]:
        """Iterate over the assertions of A ∪ A⁺ that are kept, then the remedies, each once."""
        # Loaded where somebody looks at the assertions: few do.
        from shiq.abox_ops.modules.components import KeptAssertions, kept_assertions
        from shiq.partition import Partition

        found, graph, remedies = self.columns, self.columns.graph, self._new_remedies()
        others = np.array([e for e, _, _ in remedies], np.int64)
        graph.fetch_members(others)
        members = self._members(unique(np.concatenate([found.region, others])))
        elements: Partition[str] = Partition()
        for terms in members.values():
            elements.union_all(terms)
        name = {e: terms[0] for e, terms in members.items()}
        roles = self.calculus.roles
        edges = zip(*(found.edges[c].tolist() for c in ("source", "role", "target")))
        kept = KeptAssertions(
            {},
            edges={(name[a], roles[r], name[b]) for a, r, b in edges},
            data={(name[e], p, value) for e, p, value in self._kept_data_rows()},
        )
        region = {name[e] for e in found.region.tolist()}
        yield from kept_assertions(
            kept, region, elements, lambda term: self.all_assertions_about([term])[term]
        )
        for element, iri, positive in sorted((name[e], iri, sign) for e, iri, sign in remedies):
            yield owl.ClassAssertion(literal_expression(iri, positive), element)

    # --- individuals ------------------------------------------------------------------------------

    def all_assertions_about(
        self, individuals: Sequence[str]
    ) -> dict[str, Sequence[owl.Assertion]]:
        """Every assertion of (A less deletions) ∪ A⁺ that mentions each of ``individuals``, sorted;
        fetched together.
        """
        nodes = self.union.nodes_of(individuals)
        found: dict[str, list[owl.Assertion]] = {individual: [] for individual in individuals}
        inserted: dict[str, set[owl.Assertion]] = {individual: set() for individual in individuals}
        for individual, assertion, is_inserted in assertions_about(
            self.union, unique(nodes[nodes >= 0])
        ):
            found[individual].append(assertion)
            if is_inserted:
                inserted[individual].add(assertion)
        self._insertions_by_individual.update(inserted)
        return {
            individual: sorted(assertions, key=repr) for individual, assertions in found.items()
        }

    def labels(self, individuals: Sequence[str]) -> list[Label]:
        """The told literals (positive, negative) of the element of each of ``individuals``, as
        bitmasks; fetched together.
        """
        found: list[Label] = [EMPTY] * len(individuals)
        closure, labels, index = self.columns, self.calculus.table.labels, self.index
        node = self.union.nodes_of(individuals)
        known = (node >= 0).nonzero()[0]
        element = closure.graph.elements_of(node[known])
        told = element < len(closure.has_label)
        told[told] = closure.has_label[element[told]]
        for i, number in zip(known[told].tolist(), closure.labels[element[told]].tolist()):
            found[i] = labels[number]
        old = known[~told & (node[known] < FRESH)]
        before, (elements, place, _) = (
            index.calculus.table.labels,
            distinct_with_inverse(index.equality.group_of(node[old])),
        )
        for i, number in zip(old.tolist(), index.labels.label_of(elements)[place].tolist()):
            found[i] = before[number]
        return found

    def is_inserted(self, assertion: owl.Assertion) -> bool:
        """Decide whether ``assertion`` is in A⁺ and not in A less deletions."""
        about = individuals_of(assertion)[0]
        if about not in self._insertions_by_individual:
            self.all_assertions_about([about])
        return assertion in self._insertions_by_individual[about]


def _explain_code(tbox: ClausalTBox, code: int, count: int, examples: tuple[str, ...]) -> PulledIn:
    """Describe a reason ``code`` of `PulledInReasons` in words, with the ``count`` of its elements
    and examples.
    """
    index = clause_index(code)
    if index is None:
        return PulledIn("roles" if code == ROLES else "equality", count, examples)
    # Loaded where reasons are asked for.
    from shiq.functional.writer import axiom_text
    from shiq.simplify.describe import clause_text

    clause = tbox.clauses[index]
    axioms = tuple(axiom_text(tbox.axioms[i]) for i in sorted(clause.origins))
    return PulledIn("clause", count, examples, clause_text(clause, local_name), axioms)


def _count_complex_assertions(found: AddSetColumns, union: UnionView) -> int:
    """Count the complex assertions that are kept. A negative role assertion counts at its subject,
    if its object is in the region I too.
    """
    graph = found.graph
    seen = flags(len(graph), found.region)
    count = 0
    for element, node, assertion in graph.complex_facts.assertions:
        if seen[graph.rep[element]]:
            match assertion:
                case owl.NegativeObjectPropertyAssertion(_, first, second):
                    mine = union.terms_of(np.array([node]))[0] == first
                    other = graph.elements_of(union.nodes_of([second]))[0]
                    count += bool(mine and other < len(seen) and seen[other])
                case _:
                    count += 1
    return count


#: The tables that say something about an individual, complex assertions apart.
_TABLES = ("class_assertions", "half_edges", "data_assertions", "pairs")


def assertions_about(union: UnionView, nodes: Ints) -> Iterator[tuple[str, owl.Assertion, bool]]:
    """Yield (individual, assertion about it, whether it is inserted) for all ``nodes``, fetched
    together.
    """
    if not len(nodes):
        return
    names = union.names
    types, edges, data, pairs = (union.rows_of(name, nodes) for name in _TABLES)
    mentioned = unique(np.concatenate([nodes, edges["neighbour"], pairs["neighbour"]]))
    known = dict(zip(mentioned.tolist(), union.terms_of(mentioned)))

    def terms_in(column: Ints) -> Iterator[str]:
        """The terms of a column of nodes."""
        return map(known.__getitem__, column.tolist())

    def rows_in(table: Columns, column: str) -> Iterator[tuple[str, int, bool]]:
        """The individual, the number in ``column`` and the flag of each row of a table."""
        flag = table["inserted"].tolist()
        return zip(terms_in(table["node"]), table[column].tolist(), flag)

    for term, c, flag in rows_in(types, "class"):
        yield term, owl.ClassAssertion(owl.Class(names.classes.values[c]), term), flag
    for (term, r, flag), other in zip(rows_in(edges, "role"), terms_in(edges["neighbour"])):
        property_ = owl.ObjectProperty(names.object_properties.values[r // 2])
        if r % 2 == 0:
            yield term, owl.ObjectPropertyAssertion(property_, term, other), flag
        elif other != term:
            yield term, owl.ObjectPropertyAssertion(property_, other, term), flag
    for (term, p, flag), value in zip(
        rows_in(data, "property"), union.literals_of(data["literal"])
    ):
        property = owl.DataProperty(names.data_properties.values[p])
        yield term, owl.DataPropertyAssertion(property, term, value), flag
    for (term, kind, flag), other in zip(rows_in(pairs, "kind"), terms_in(pairs["neighbour"])):
        make = owl.SameIndividual if kind // 2 * 2 == SAME else owl.DifferentIndividuals
        if kind % 2 == 0:
            yield term, make(term, other), flag
        elif other != term:
            yield term, make(other, term), flag
    for node, assertion, flag in union.complex_of(nodes):
        yield known[node], assertion, flag
