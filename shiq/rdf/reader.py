"""Reading sources together: triples into columns, the vocabulary into a graph, the graph into axioms, the rest into an ABox."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from shiq.functional import axiom_text
from shiq.model import (
    OWL,
    Assertion,
    Axiom,
    DataProperty,
    DataPropertyAssertion,
    Literal,
    ObjectProperty,
    ObjectPropertyAssertion,
    Signature,
    TBox,
)
from shiq.profile import split_assertions, split_axioms
from shiq.rdf.assemble import build_abox
from shiq.rdf.bulk import Bulk, column, graph_rows, individuals_of, resolve, undeclared
from shiq.rdf.expressions import Expressions, Key
from shiq.rdf.graph import Graph, build_graph
from shiq.rdf.kinds import Kinds, find_kinds
from shiq.rdf.load import Loaded, Progress, Stated, load, settle_imports
from shiq.rdf.mapping import Mapped, Mapping, map_graph, unattached
from shiq.rdf.surroundings import Surroundings, check_imports, survey
from shiq.rdf.triples import Triples, short
from shiq.rdf.vocabulary import NearMisses
from shiq.reading import Reading
from shiq.signature import signature_of
from shiq.verdict import Leftover

#: More leftovers of one kind are only counted.
MOST_SHOWN = 1000


def read_ontology(sources: Sequence[object], *, progress: Progress | None = None, scope: str = "t") -> Reading:
    """The TBox axioms and the assertions in ``sources``, which are read together: declarations of one serve the others.

    Every triple is accounted for in the ledger; what is outside SHIQ(D), malformed or unknown is a leftover. Blank nodes of the
    i-th source become ``_:{scope}{i}.label``.

    Source: OWL 2 Mapping to RDF Graphs, section 3. Raises: InputError, UsageError.
    """
    loaded = load(sources, scope, progress)
    reader = _Reader(loaded, loaded.signature, set())
    mapping = reader.map()
    axioms = dict.fromkeys(item.value for item in (*loaded.axioms, *mapping.axioms))
    known = reader.kinds.signature() | signature_of(axioms)
    inside, reported = split_axioms(list(axioms))
    findings: Findings = defaultdict(list)
    for axiom, kind, message in reported:
        findings[axiom].append((kind, message, ""))
    reader.account(loaded.axioms, mapping.axioms, "axiom", findings)
    return reader.finish(TBox(tuple(dict.fromkeys(inside)), known), known, inside, mapping)


def read_assertions(
    sources: Sequence[object],
    signature: Signature,
    *,
    progress: Progress | None = None,
    ontologies: Collection[str] = (),
    axioms: Collection[Axiom] = (),
    scope: str = "a",
) -> Reading:
    """The assertions in ``sources``, given the vocabulary of the TBox; for data of any size.

    Axioms become leftovers ``tbox-axiom``, but for those among ``axioms``, the TBox's own, which also say which roles are simple.
    Imports of ``ontologies`` (IRIs, as `Reading.ontologies`) are answered. Sources that are read by different calls and belong
    together need different ``scope``: it begins the names of their blank nodes.

    Raises: InputError, UsageError.
    """
    loaded = load(sources, scope, progress)
    reader = _Reader(loaded, signature | loaded.signature, set(ontologies))
    mapping = reader.map()
    own = set(axioms)
    hint = "an axiom belongs into the TBox: give its file with it"
    findings: Findings = {
        item.value: [("tbox-axiom", f"a TBox axiom among assertions: {type(item.value).__name__}", hint)]
        for item in (*loaded.axioms, *mapping.axioms)
        if item.value not in own
    }
    reader.account(loaded.axioms, mapping.axioms, "axiom", findings)
    notes = reader.kinds.annotation_properties - signature.object_properties - signature.data_properties
    known = replace(signature, annotation_properties=signature.annotation_properties | notes)
    return reader.finish(TBox((), Signature()), known, list(axioms), mapping)


@dataclass
class _Reader:
    """The steps from loaded sources to a `Reading`, and the accounts kept on the way."""

    loaded: Loaded
    base: Signature
    ontologies: set[str]
    leftovers: list[Leftover] = field(default_factory=list)
    ledger: Counter[str] = field(default_factory=Counter)
    graph: Graph = field(default_factory=Graph)
    kinds: Kinds = field(default_factory=Kinds)
    around: Surroundings = field(default_factory=Surroundings)

    @property
    def triples(self) -> Triples:
        return self.loaded.triples

    @cached_property
    def expressions(self) -> Expressions:
        return Expressions(self.graph, self.kinds)

    @cached_property
    def individuals(self) -> set[str]:
        return individuals_of(self.triples)

    # --- first: what the graph says ---

    def map(self) -> Mapping:
        """The axioms and rarer assertions; vocabulary, headers, imports and unknown words are accounted for."""
        triples = self.triples
        self.read = len(triples)
        self.graph = build_graph(triples, graph_rows(triples).tolist())
        self.around = survey(self.graph, triples)
        self.leftovers += self.around.leftovers
        self._imply()
        self.kinds, problems = find_kinds(self.graph, self.base)
        for problem in problems:
            row = self.graph.rows[problem.index]
            self.leftovers.append(
                triples.leftover(problem.kind, problem.message, row, hint=problem.hint, count=problem.count)
            )
        self.ontologies |= self.loaded.ontologies | self.around.ontologies | self._versions()
        self.leftovers += check_imports(self.graph, triples, self.ontologies)
        settle_imports(self.loaded, self.ontologies)
        return map_graph(self.graph, self.kinds, self.expressions, lambda name: name in self.individuals)

    def _imply(self) -> None:
        """Adds the triples that reified axioms stand for, where they are not there themselves."""
        self.reified: list[tuple[int, list[int]]] = []
        for subject, predicate, value, indexes in self.around.implied:
            row = self.graph.rows[indexes[0]]
            if is_for_graph(predicate, value):
                self.reified.append((self.graph.add(subject, predicate, value, row, 0), indexes))
            else:
                self.triples.imply(subject, predicate, value, row)
                self.graph.assign(indexes, "annotation")

    def _versions(self) -> set[str]:
        triples = self.triples
        rows = np.flatnonzero(column(triples.predicate) == triples.ids.get(OWL + "versionIRI", -1)).tolist()
        return {str(triples.terms[triples.object[row]]) for row in rows}

    # --- then: where each axiom and assertion goes ---

    def account(
        self, stated: Sequence[Stated[V]], mapped: Sequence[Mapped[V]], bucket: str, findings: Mapping_[V, list[Finding]]
    ) -> None:
        """Puts the triples of each value into ``bucket``, or into that of the first finding about it; reports findings."""
        told: dict[tuple[V, str], int] = {}
        done: set[Key] = set()

        def report(value: V, place: tuple[str, int], count: int) -> None:
            for i, (kind, message, hint) in enumerate(findings[value]):
                key = (value, message)
                at = told.setdefault(key, len(self.leftovers))
                if at < len(self.leftovers):
                    self.leftovers[at] = replace(self.leftovers[at], count=self.leftovers[at].count + (0 if i else count))
                else:
                    self.leftovers.append(Leftover(kind, message, *place, _text(value), hint, 1 if i else max(count, 1)))

        for item in stated:
            found = findings.get(item.value)
            self.ledger[f"leftover:{found[0][0]}" if found else bucket] += 1
            if found:
                report(item.value, (item.source, item.line), 1)
        for wanted in (False, True):
            for one in mapped:
                found = findings.get(one.value)
                if bool(found) is wanted:
                    where = f"leftover:{found[0][0]}" if found else bucket
                    count = self.graph.assign((one.main, *one.triples), where)
                    count += self.graph.assign(self.expressions.triples_of(one.keys, done), where)
                    if found:
                        report(one.value, self.triples.place(self.graph.rows[one.main]), count)
        placed = {value for value, _ in told}
        for value, found in findings.items():
            if value not in placed:  # rewritten on the way: its triples are accounted for under what it was
                self.leftovers += (Leftover(kind, message, text=_text(value), hint=hint) for kind, message, hint in found)

    def finish(self, tbox: TBox, known: Signature, axioms: Sequence[Axiom], mapping: Mapping) -> Reading:
        """The ABox, and everything that is left."""
        triples, graph = self.triples, self.graph
        bulk = resolve(
            triples,
            known,
            headers=self.around.headers,
            nodes=self.around.nodes,
            individuals=lambda: self.individuals,
            counted=self.read,
        )
        stated = [*self.loaded.assertions, *self._built_in(bulk)]
        values = dict.fromkeys(item.value for item in (*stated, *mapping.assertions))
        inside, reported = split_assertions(list(values), axioms)
        findings: Findings = defaultdict(list)
        for assertion, kind, message in reported:
            findings[assertion].append((kind, message, ""))
        self._undeclared(values, known, findings)
        self.account(stated, mapping.assertions, "assertion", findings)
        graph.assign(mapping.annotations, "annotation")
        for failure in mapping.failures:
            count = graph.assign(graph.reachable(failure.main), f"leftover:{failure.kind}")
            row = graph.rows[failure.main]
            self.leftovers.append(
                triples.leftover(failure.kind, failure.message, row, hint=failure.hint, count=max(count, 1))
            )
        for group in unattached(graph):
            count = sum(graph.copies[i] for i in group)
            message = "triples of a class expression or list that no axiom uses"
            self.leftovers.append(triples.leftover("unattached", message, graph.rows[group[0]], count=count))
        for main, indexes in self.reified:
            graph.assign(indexes, "annotation" if graph.copies[main] else graph.bucket[main])
        abox = self._abox(bulk, inside)
        ledger = self.loaded.ledger + bulk.ledger + self.ledger + graph.ledger()
        return Reading(
            tbox,
            abox,
            tuple(_capped((*self.loaded.leftovers, *self.leftovers, *bulk.leftovers))),
            ledger,
            tuple(self.loaded.sources),
            frozenset(self.ontologies),
        )

    def _built_in(self, bulk: Bulk) -> Iterable[Stated[Assertion]]:
        """Assertions on top and bottom properties as values: `split_assertions` knows what they mean."""
        terms = self.triples.terms
        for row in bulk.built_in.tolist():
            subject, predicate = str(terms[self.triples.subject[row]]), str(terms[self.triples.predicate[row]])
            value = terms[self.triples.object[row]]
            made: Assertion = (
                DataPropertyAssertion(DataProperty(predicate), subject, value)
                if isinstance(value, Literal)
                else ObjectPropertyAssertion(ObjectProperty(predicate), subject, value)
            )
            yield Stated(made, *self.triples.place(row))

    def _undeclared(self, values: Iterable[Assertion], known: Signature, findings: Findings) -> None:
        """Names inside class expressions and negative assertions that the TBox does not know; the assertions are kept."""
        for value in values:
            used = signature_of((value,))
            unknown = [("class", iri) for iri in sorted(used.classes - known.classes)]
            properties = known.object_properties | known.data_properties
            unknown += (("property", iri) for iri in sorted((used.object_properties | used.data_properties) - properties))
            for what, iri in unknown:
                near = NearMisses(known.classes if what == "class" else properties)
                findings[value].append(("undeclared", *undeclared_name(what, iri, near)))

    def _abox(self, bulk: Bulk, assertions: Iterable[Assertion]) -> ABox:
        """The ABox; what became a plain assertion by rewriting joins the rows."""
        others: list[Assertion] = []
        added: dict[str, list[int]] = {"class": [], "role": [], "data": []}
        for assertion in assertions:
            match assertion:
                case ClassAssertion(Class(iri), individual):
                    row = self.triples.imply(individual, TYPE, iri, 0)
                    added["class"].append(row)
        return build_abox(self.triples, bulk.classes, bulk.roles, bulk.data, others)
