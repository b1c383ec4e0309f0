"""Read several sources together: triples into columns, axioms into a TBox, data into an ABox."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from shiq import model as owl
from shiq.answers.verdict import IN_DATA, UNKNOWN_DATATYPE, Leftover
from shiq.inputs.reading import Assumption, Place, Reading
from shiq.model.abox import ABox
from shiq.model.walk import OF_INDIVIDUALS, PROPERTIES, choose_labels, entities, signature_of
from shiq.rdf.abox_assembly import AssertionPlaces, build_abox, leftover_places
from shiq.rdf.bulk_assertions import RowsByKind, axiom_rows, sort_rows_by_kind, typed_individuals
from shiq.rdf.declarations import determine_kinds
from shiq.rdf.graph import MappingResult, OpenPropertyError, build_graph, unattached_groups
from shiq.rdf.ledger import (
    Finding,
    ReadingLedger,
    UnabridgedLeftovers,
    cap_leftovers,
    is_vacuous_expression,
)
from shiq.rdf.load import Progress, load_sources
from shiq.rdf.loaded_sources import LoadedSources, StatedValue, account_imports, add_as_triple
from shiq.rdf.ontology_header import check_imports, scan_header
from shiq.rdf.triples import LITERAL, Triples, numpy_view
from shiq.rdf.vocabulary import TYPE, NearMisses, is_for_graph, is_misspelt, nearest_known

if TYPE_CHECKING:
    from shiq.inputs.catalog import Catalog
    from shiq.vocabularies import VocabularyChoice


def read_ontology(
    sources: Sequence[object],
    *,
    progress: Progress | None = None,
    scope: str = "t",
    catalog: Catalog | None = None,
    closed: bool = False,
    chains: bool = True,
    vocabulary: VocabularyChoice | None = None,
    doubt: bool = False,
) -> Reading:
    """Read the axioms and assertions of all ``sources`` together: declarations in one hold for all.

    Every triple is counted in the ledger; those outside SHIQ(D), malformed or unknown are
    leftovers. Imports are read as far as the ``catalog`` has them.

    Args:
    scope: blank nodes of the i-th source become ``_:{scope}{i}.label``
    closed: whether there are no other sources, so that statements on unused names are
        ``without-effect``
    chains: see `split_axioms`
    vocabulary: known vocabularies that count, and those that count as imported; None for the
        imported ones
    doubt: whether axioms in doubt are added, as `TBox.doubtful`

    Source: OWL 2 Mapping to RDF Graphs, section 3. Raises: InputError, UsageError.
    """
    loaded = load_sources(
        sources, scope, progress, catalog, follow=_read_file, vocabulary=vocabulary, doubt=doubt
    )
    reader = _SourceReader(loaded, closed=closed, doubt=doubt)
    reader.compare_with_tables()
    axioms = dict.fromkeys(reader.axioms())
    known = reader.kinds.signature() | signature_of(axioms)
    unread = reader.names_of_unknown_kind()
    mentioned = known | owl.Signature(classes=unread, object_properties=unread)
    if not mentioned.all_terms <= known.declared:
        # Loaded where a name is not declared.
        from shiq.rdf.undeclared_names import slip_problems

        for problem in slip_problems(reader.graph, loaded.triples, mentioned, vocabulary):
            reader.ledger.record_problem(problem)
    from shiq.model.profile import ON_NODES, split_axioms

    inside, reported = split_axioms(
        list(axioms), chains=chains, in_both_readings=reader.names_of_two_kinds()
    )
    if ON_NODES in inside:
        from shiq.rdf.values_as_nodes import value_role_signature

        known |= value_role_signature(inside)
    findings = _findings_by_value(reported)
    reader.ledger.record_values(loaded.axioms, reader.mapping.axioms, "axiom", findings)
    tbox = owl.TBox(tuple(dict.fromkeys(inside)), known)
    candidates = [found for found in loaded.imports.candidates.values() if found is not None]
    if reader.surroundings.doubtful_triples or candidates:
        # Loaded where something is in doubt.
        from shiq.rdf.axioms_in_doubt import mark_doubtful, report_candidates

        certain = dict.fromkeys(
            reader.axioms({name for found in candidates for name in found.names}, of_doubt=False)
        )
        tbox = mark_doubtful(
            tbox, axioms, certain, split_axioms(list(certain), chains=chains)[0], candidates, loaded
        )
        reader.ledger.leftovers += report_candidates(candidates, known, loaded)
    reading = reader.read_data(tbox, known, inside)
    return replace(
        reading, labels=choose_labels([*loaded.labels, *_label_triples(loaded.triples)], known)
    )


def _label_triples(triples: Triples) -> Iterator[tuple[str, str, owl.Literal]]:
    """Yield the labels in the triples, as (IRI, property, label)."""
    predicates = numpy_view(triples.predicate)
    for property in PROPERTIES:
        for row in np.flatnonzero(predicates == triples.ids.get(property, -1)).tolist():
            value = triples.terms[triples.object[row]]
            if isinstance(value, owl.Literal):
                yield str(triples.terms[triples.subject[row]]), property, value


def read_assertions(
    sources: Sequence[object],
    signature: owl.Signature,
    *,
    progress: Progress | None = None,
    ontologies: Collection[str] = (),
    axioms: Collection[owl.Axiom] = (),
    beside: Collection[Leftover] = (),
    scope: str = "a",
    catalog: Catalog | None = None,
    vocabulary: VocabularyChoice | None = None,
) -> Reading:
    """Read the assertions of ``sources``, of any size, by the signature of a TBox read before.

    Axioms become leftovers ``tbox-axiom``, except those of the TBox.

    Args:
    ontologies: IRIs that need not be imported, as `Reading.ontologies`
    axioms: axioms of the TBox; they also show which roles are simple
    beside: leftovers of the TBox, whose axioms are not reported again
    scope: begins the names of blank nodes; sources that belong together but are read by different
        calls need different ones
    catalog: files for imports

    Raises: InputError, UsageError.
    """
    loaded = load_sources(
        sources, scope, progress, catalog, ontologies, follow=_read_file, vocabulary=vocabulary
    )
    reader = _SourceReader(loaded, ontologies, fixed=signature)
    findings = foreign_axiom_findings(reader.axioms(), axioms, beside)
    reader.ledger.record_values(loaded.axioms, reader.mapping.axioms, "axiom", findings)
    return reader.read_data(owl.TBox(), reader.kinds.data_signature(signature), list(axioms))


def foreign_axiom_findings(
    found: Iterable[owl.Axiom], axioms: Collection[owl.Axiom], beside: Collection[Leftover]
) -> dict[owl.Axiom | owl.Assertion, list[Finding]]:
    """The findings for axioms that were ``found`` among assertions and are not the TBox's own.

    axioms, beside: axioms and leftovers of the TBox.
    """
    known: set[owl.Axiom | owl.Assertion] = set()

    def is_own(axiom: owl.Axiom) -> bool:
        # Most data has no axioms, and axioms are slow to hash.
        known.update(() if known else chain(axioms, *(leftover.values for leftover in beside)))
        if axiom in known:
            return True
        from shiq.model.profile import split_axioms

        inside, reported = split_axioms([axiom])
        return bool(known) and not reported and known.issuperset(inside)

    hint = "give its file with the TBox"
    return {
        axiom: [("tbox-axiom", f"{type(axiom).__name__}: an axiom among assertions", hint)]
        for axiom in found
        if not is_own(axiom)
    }


def _findings_by_value(
    reported: Iterable[tuple[owl.Axiom | owl.Assertion, str, str]],
) -> dict[owl.Axiom | owl.Assertion, list[Finding]]:
    """Group findings (kind, message, hint) by the axiom or assertion that they are about."""
    findings: dict[owl.Axiom | owl.Assertion, list[Finding]] = defaultdict(list)
    for value, kind, message in reported:
        near = (
            nearest_known(word)
            if kind == UNKNOWN_DATATYPE and is_misspelt(word := Leftover(kind, message).term)
            else ""
        )
        findings[value].append((kind, message, f"did you mean {near}?" if near else ""))
    return findings


def _read_file(name: str) -> Reading:
    """Read the ontology in the file ``name``, with its imports."""
    return read_ontology([name])


class _SourceReader:
    """Reader of loaded sources in two steps: first axioms; once the caller has sorted these, data.

    fixed: of data, the signature of the TBox
    """

    def __init__(
        self,
        loaded: LoadedSources,
        ontologies: Iterable[str] = (),
        *,
        fixed: owl.Signature | None = None,
        closed: bool = False,
        doubt: bool = False,
    ) -> None:
        self.loaded = loaded
        self.is_closed, self.is_ontology = closed, fixed is None
        self.triples = triples = loaded.triples
        self.read = len(triples)
        self.graph = graph = build_graph(triples, axiom_rows(triples).tolist())
        self.surroundings = scan_header(
            graph, triples, loaded.signature.declared if doubt else None
        )
        self.reified_axioms = self._add_implied_triples()
        base = loaded.signature if fixed is None else fixed | loaded.signature
        self.kinds, problems = determine_kinds(
            graph, base, fixed, loaded.uses, loaded.tables.choice
        )
        if loaded.tables.axioms:
            from shiq.rdf.imports import drop_excluded_readings

            loaded.axioms += drop_excluded_readings(loaded, self.kinds)
        self.expressions = expressions = None
        # Most data says nothing of the vocabulary, nor anything of individuals that takes more than
        # a triple.
        if len(graph):
            from shiq.rdf.expressions import Expressions

            self.expressions = expressions = Expressions(graph, self.kinds)
        self.ledger = ReadingLedger(triples, graph, expressions)
        self.ledger.leftovers += self.surroundings.leftovers
        self.dual_properties = {
            problem.term for problem in problems if problem.kind == "two-readings"
        }
        for problem in problems:
            self.ledger.record_problem(problem)
        self.ontologies = frozenset((*ontologies, *loaded.imports.ontologies))
        self.ledger.leftovers += check_imports(
            graph, triples, self.ontologies, loaded.imports.unmet
        )
        account_imports(loaded, self.ontologies)
        self.mapping = MappingResult()
        if expressions is not None:
            from shiq.rdf.mapping import map_graph

            self.mapping = map_graph(
                graph,
                self.kinds,
                expressions,
                lambda name: name in self._typed_individuals,
                whole=fixed is None,
            )
        either = {*self.kinds.dual_properties, *self.mapping.in_both_readings}
        loaded.leftovers += (
            leftover
            for assumed in loaded.imports.assumed_kinds
            for leftover in assumed.leftovers(self.kinds, either)
        )
        self.kinds.mark_dual_properties()

    def _add_implied_triples(self) -> list[tuple[int, list[int]]]:
        """Add the triples that reified (annotated) axioms imply, where they are missing.

        Returns: the implied triples of the graph, each with the triples of its annotation.
        """
        reified = []
        for subject, predicate, value, indexes in self.surroundings.implied_triples:
            row = self.graph.rows[indexes[0]]
            if is_for_graph(predicate, value):
                reified.append((self.graph.add(subject, predicate, value, row, 0), indexes))
            else:
                self.triples.add_implied(subject, predicate, value, row)
                self.graph.assign_bucket(indexes, "annotation")
        return reified

    @cached_property
    def _typed_individuals(self) -> set[str]:
        """The names that are typed as members of named classes."""
        return typed_individuals(self.triples)

    def names_of_two_kinds(self) -> set[str]:
        """Return the names that were read as two kinds: open properties and their fillers."""
        before = (
            leftover.term for leftover in self.loaded.leftovers if leftover.kind == "two-readings"
        )
        return {
            *self.mapping.in_both_readings,
            *self.mapping.open_fillers,
            *self.dual_properties,
            *self.loaded.tables.dual_names,
            *before,
        }

    def compare_with_tables(self) -> None:
        """Report differences between a vocabulary document and the built-in table of it."""
        if not len(self.graph) and not self.loaded.axioms:
            return
        from shiq.vocabularies import VocabularyChoice

        choice = self.loaded.tables.choice or VocabularyChoice()
        for source, iris in self.loaded.imports.documents.items():
            for table in {
                table for iri in iris if (table := choice.table_for_import(iri)) is not None
            }:
                from shiq.rdf.imports import table_differences

                here = {item.value for item in self.loaded.axioms if item.source == source}
                placed = (
                    (item.value, self.triples.place(self.graph.rows[item.main])[0])
                    for item in self.mapping.axioms
                )
                here.update(value for value, name in placed if name == source)
                self.ledger.leftovers += table_differences(table, source, here, self.kinds)

    def axioms(self, without: Collection[str] = (), *, of_doubt: bool = True) -> list[owl.Axiom]:
        """Return all axioms, repetitions included.

        Args:
        without: sources to leave out
        of_doubt: whether axioms by misspelt words are included
        """
        stated = (item.value for item in self.loaded.axioms if item.source not in without)
        mapped = (
            item
            for item in self.mapping.axioms
            if of_doubt or item.main not in self.surroundings.doubtful_triples
        )
        if without:
            mapped = (
                item
                for item in mapped
                if self.triples.place(self.graph.rows[item.main])[0] not in without
            )
        return [*stated, *(item.value for item in mapped)]

    def names_of_unknown_kind(self) -> frozenset[str]:
        """Return the names of unknown kind, which occur only in uninterpreted axioms and rules."""
        failed = [failure.main for failure in self.mapping.failures if failure.assumption]
        if not failed and self.surroundings.rules is None:
            return frozenset()
        # Loaded where something is not understood.
        from shiq.rdf.axioms_in_doubt import names_in_rules, names_in_triples

        names = names_in_triples(self.graph, failed) | names_in_rules(self.graph)
        return frozenset(name for name in names if not self.kinds.is_entity(name))

    def _assumptions(self, inside: Sequence[owl.Axiom]) -> Iterator[Assumption]:
        """Yield axioms under which leftovers (nodes described twice, rules, …) are harmless."""
        if self.expressions is not None:
            for main, axiom in self.expressions.several.items():
                message = f"the blank node {self.graph.subjects[main]} is described as more than one class"
                hint = "give each description a node of its own"
                yield Assumption(
                    self.ledger.record_leftover("malformed", message, main, hint), (axiom,)
                )
        not_simple = [
            (leftover, value)
            for leftover, value in self.ledger.leftover_values()
            if leftover.kind == "non-simple-role" and isinstance(value, owl.Axiom)
        ]
        if not not_simple and self.surroundings.rules is None:
            return
        # Loaded where something is outside SHIQ(D).
        from shiq.rdf.axioms_in_doubt import (
            assumption_for_axiom,
            assumptions_against_rules,
            make_simplicity_test,
        )

        simple = make_simplicity_test(inside)
        for leftover, value in not_simple:
            if found := assumption_for_axiom(value, simple):
                yield Assumption(leftover, found)
        if self.surroundings.rules is not None and (
            found := assumptions_against_rules(self.graph, self.kinds)
        ):
            yield Assumption(self.surroundings.rules, found)

    def read_data(
        self, tbox: owl.TBox, known: owl.Signature, axioms: Sequence[owl.Axiom]
    ) -> Reading:
        """Interpret the assertions by the ``tbox`` of the first step; return the full reading.

        Args:
        known: signature that data may use
        """
        graph, accounts, mapping = self.graph, self.ledger, self.mapping
        bulk = sort_rows_by_kind(
            self.triples,
            known,
            headers=self.surroundings.headers,
            nodes=self.surroundings.nodes,
            individuals=lambda: self._typed_individuals,
            counted=self.read,
            vocabulary=self.loaded.tables.choice,
            notes=self.is_ontology,
        )
        stated = [*self.loaded.assertions, *_built_in_assertions(self.triples, bulk)]
        values = dict.fromkeys(
            [*(item.value for item in stated), *(item.value for item in mapping.assertions)]
        )
        inside: list[owl.Assertion] = []
        reported: list[tuple[owl.Assertion, str, str]] = []
        if values:
            # Loaded where something is no plain triple.
            from shiq.model.profile import split_assertions

            inside, reported = split_assertions(list(values), axioms)
        findings = _findings_by_value(reported)
        for suspect, kind, message in mapping.suspects:
            hint = "for classes and properties say owl:equivalentClass, owl:equivalentProperty or owl:disjointWith"
            findings[suspect].append((kind, message, hint))
        for value, finding in _unknown_name_findings(values, known):
            findings[value].append(finding)
        for iri, mains in mapping.in_both_readings.items():
            if iri in self.dual_properties:
                continue  # its declarations were told
            message = f"{OpenPropertyError(iri).message}: it was read as both"
            hint = "declare it as owl:ObjectProperty or owl:DatatypeProperty"
            if iri in self.kinds.punned_properties:
                message = f"<{iri}> is used as an object property and as a data property: it was read as two properties"
                hint = "use two names"
            accounts.record_leftover(
                "two-readings", message, mains[0], hint, len(mains), len(mains)
            )
        for all_different in mapping.different_lists:  # which nothing is ever wrong with
            graph.assign_bucket((all_different.main, *all_different.triples), "assertion")
        accounts.record_values(stated, mapping.assertions, "assertion", findings)
        accounts.record_annotation_axioms(self.loaded.annotation_axioms, known)
        graph.assign_bucket(mapping.annotations, "annotation")
        assumptions = list(self._assumptions(axioms))
        for failure in mapping.failures:
            told = accounts.record_failure(failure.main, failure.error)
            if failure.assumption:
                assumptions.append(Assumption(told, failure.assumption))
        for main, indexes in self.reified_axioms:
            graph.assign_bucket(indexes, "annotation" if graph.copies[main] else graph.bucket[main])
        self._record_unattached(bulk, axioms)
        for rewritten in self.loaded.rewritten_literals:
            accounts.leftovers += rewritten.leftovers(
                self.triples, lambda row: not bulk.annotations[row]
            )
        apart: list[tuple[int | Place, tuple[str, ...]]] = [
            *((graph.rows[found.main], found.value) for found in mapping.different_lists),
            *self.loaded.different_lists,
        ]
        places = AssertionPlaces(
            self.triples,
            self.read,
            {item.value: graph.rows[item.main] for item in reversed(mapping.assertions)},
            {item.value: (Place(item.source, item.line),) for item in self.loaded.assertions},
            apart,
        )
        left = (*self.loaded.leftovers, *accounts.leftovers, *bulk.leftovers)
        held = frozenset(values).difference(value for value, _, _ in reported)
        of_a = {id(x) for x in bulk.leftovers if x.kind in IN_DATA}
        of_a |= {id(x) for x, v in accounts.leftover_values() if v in held}
        counts = self.loaded.ledger
        for ledger in (bulk.ledger, accounts.buckets, graph.ledger()):
            counts.update(ledger)
        return Reading(
            tbox,
            _make_abox(self.triples, bulk, inside, [individuals for _, individuals in apart]),
            tuple(cap_leftovers(left)),
            +counts,
            tuple(self.loaded.sources),
            self.ontologies,
            places=places,
            assumptions=tuple(assumptions),
            leftover_places=partial(leftover_places, self.triples, left),
            left_out=UnabridgedLeftovers(
                self.triples, left, self.loaded.full_leftovers, accounts, of_a
            ),
        )

    def _record_unattached(self, bulk: RowsByKind, axioms: Iterable[owl.Axiom]) -> None:
        """Report the lists and class expressions that nothing interpreted uses."""
        graph, groups = (
            self.graph,
            [
                group
                for group in unattached_groups(self.graph)
                if any(self.graph.copies[i] for i in group)
            ],
        )
        if not groups:
            return
        from shiq.rdf.other_languages import has_ill_typed_literal, is_part_of_statement, used_nodes

        used = used_nodes(self.triples, graph, bulk.known_rows)
        named = {entity.iri for entity in entities((*axioms, *self.axioms()))}
        for group in groups:
            kind = "without-effect" if is_vacuous_expression(graph, group) else "unattached"
            is_part = is_part_of_statement(graph, group, used, named)
            for i in group:
                graph.bucket[i] = "annotation" if is_part else f"leftover:{kind}"
            if not is_part:
                message, count = (
                    "triples of a class expression or list that no axiom uses",
                    sum(graph.copies[i] for i in group),
                )
                hint = (
                    ""
                    if kind == "without-effect"
                    else "add the axiom that uses it, or delete it; is a predicate misspelt?"
                )
                hint = (
                    "correct the ill-typed literal in it"
                    if has_ill_typed_literal(graph, group)
                    else hint
                )
                self.ledger.record_leftover(kind, message, group[0], hint, count, 1, group)


def _built_in_assertions(
    triples: Triples, bulk: RowsByKind
) -> Iterator[StatedValue[owl.Assertion]]:
    """Yield the assertions on owl:topObjectProperty and the like as values, for `split_assertions`."""
    for row in bulk.built_in.tolist():
        subject, predicate = (
            str(triples.terms[triples.subject[row]]),
            str(triples.terms[triples.predicate[row]]),
        )
        value = triples.terms[triples.object[row]]
        made: owl.Assertion = (
            owl.DataPropertyAssertion(owl.DataProperty(predicate), subject, value)
            if isinstance(value, owl.Literal)
            else owl.ObjectPropertyAssertion(owl.ObjectProperty(predicate), subject, value)
        )
        yield StatedValue(made, *triples.place(row))


def _unknown_name_findings(
    values: Collection[owl.Assertion], known: owl.Signature
) -> Iterator[tuple[owl.Assertion, Finding]]:
    """Yield a finding for each name in complex or negative assertions that the TBox lacks."""
    if not values:
        return
    # Loaded where something is no plain triple.
    from shiq.rdf.namespaces import unknown_name_message

    properties = known.object_properties | known.data_properties
    near_class, near_property = NearMisses(known.classes), NearMisses(properties)
    for value in values:
        if isinstance(value, OF_INDIVIDUALS):
            continue
        used = signature_of((value,))
        for iri in sorted(used.classes - known.classes):
            yield value, ("undeclared", *unknown_name_message("class", iri, near_class))
        for iri in sorted((used.object_properties | used.data_properties) - properties):
            yield value, ("undeclared", *unknown_name_message("property", iri, near_property))


def _make_abox(
    triples: Triples,
    bulk: RowsByKind,
    assertions: Iterable[owl.Assertion],
    apart: Iterable[Sequence[str]],
) -> ABox:
    """Build the ABox of rows, of further ``assertions``, and of lists of different individuals."""
    begun = len(triples)
    others = [assertion for assertion in assertions if not add_as_triple(triples, assertion)]
    classes, roles, data = bulk.classes, bulk.roles, bulk.data
    if len(triples) > begun:
        added = np.arange(begun, len(triples))
        types = numpy_view(triples.predicate)[added] == triples.id_of(TYPE)
        literals = np.array(
            [triples.kinds[i] == LITERAL for i in numpy_view(triples.object)[added]], dtype=bool
        )
        classes = np.append(classes, added[types])
        roles = np.append(roles, added[~types & ~literals])
        data = np.append(data, added[literals])
    return build_abox(triples, classes, roles, data, others, apart)
