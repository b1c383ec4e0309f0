"""Reading sources together: triples into columns, the vocabulary into a graph, the graph into
axioms, the rest into an ABox.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from shiq import model as owl
from shiq.abox import ABox
from shiq.labelling import PROPERTIES, labelled
from shiq.rdf.accounts import Accounts, Finding, LeftOut, capped
from shiq.rdf.assemble import build_abox
from shiq.rdf.bulk import Bulk, graph_rows, individuals_of, is_for_graph, resolve
from shiq.rdf.graph import GraphMapping, OpenPropertyError, build_graph, unattached
from shiq.rdf.idle import is_idle_expression
from shiq.rdf.kinds import find_kinds
from shiq.rdf.load import LoadedSources, Progress, StatedValue, add_row, load, settle_imports
from shiq.rdf.places import LeftPlaces, ReadPlaces
from shiq.rdf.surroundings import check_imports, survey
from shiq.rdf.triples import LITERAL, Triples, column
from shiq.rdf.vocabulary import TYPE, NearMisses, is_misspelt, nearest_known
from shiq.reading import Assumption, Place, Reading
from shiq.signature import OF_INDIVIDUALS, entities, signature_of
from shiq.verdict import IN_DATA, UNKNOWN_DATATYPE, Leftover

if TYPE_CHECKING:
    from shiq.catalog import Catalog
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
    """The TBox axioms and the assertions in ``sources``, which are read together: declarations
    of one serve the others.

    Every triple is accounted for in the ledger; what is outside SHIQ(D), malformed or unknown is
    a leftover. Blank nodes of the i-th source become ``_:{scope}{i}.label``. What is imported is
    read too, where the ``catalog`` has it. ``closed``: that is all there is, so that what is
    said of a name that nothing uses is ``without-effect``. ``chains``: see `split_axioms`.
    ``vocabulary``: which tables of known vocabularies count, and whose axioms do as if imported;
    None for what is imported. ``doubt``: whether axioms in doubt are taken in, as
    `TBox.doubtful`, which a check knows what to make of.

    Source: OWL 2 Mapping to RDF Graphs, section 3. Raises: InputError, UsageError.
    """
    loaded = load(sources, scope, progress, catalog, vocabulary=vocabulary, doubt=doubt)
    reader = _Reader(loaded, closed=closed, doubt=doubt)
    reader.compare_copies()
    axioms = dict.fromkeys(reader.axioms())
    known = reader.kinds.signature() | signature_of(axioms)
    unread = reader.unread_names()
    mentioned = known | owl.Signature(classes=unread, object_properties=unread)
    if not mentioned.named <= known.declared:
        # Loaded where a name is not declared.
        from shiq.rdf.undeclared import slip_problems

        for problem in slip_problems(reader.graph, loaded.triples, mentioned, vocabulary):
            reader.accounts.tell(problem)
    from shiq.profile import ON_NODES, split_axioms

    inside, reported = split_axioms(
        list(axioms), chains=chains, in_both_readings=reader.in_both_readings()
    )
    if ON_NODES in inside:
        from shiq.rdf.values_as_nodes import signature_of_values

        known |= signature_of_values(inside)
    findings = _findings(reported)
    reader.accounts.settle(loaded.axioms, reader.mapping.axioms, "axiom", findings)
    tbox = owl.TBox(tuple(dict.fromkeys(inside)), known)
    candidates = [found for found in loaded.candidates.values() if found is not None]
    if reader.around.doubtful or candidates:
        # Loaded where something is in doubt.
        from shiq.rdf.doubt import tell_candidates, with_doubt

        certain = dict.fromkeys(
            reader.axioms({name for found in candidates for name in found.names}, of_doubt=False)
        )
        tbox = with_doubt(
            tbox, axioms, certain, split_axioms(list(certain), chains=chains)[0], candidates, loaded
        )
        reader.accounts.leftovers += tell_candidates(candidates, known, loaded)
    reading = reader.finish(tbox, known, inside)
    return replace(reading, labels=labelled([*loaded.labels, *_labels(loaded.triples)], known))


def _labels(triples: Triples) -> Iterator[tuple[str, str, owl.Literal]]:
    """Every triple that gives a label."""
    predicates = column(triples.predicate)
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
    """The assertions in ``sources``, given the vocabulary of the TBox; for data of any size.

    Axioms become leftovers ``tbox-axiom``, but for those among ``axioms``, the TBox's own, which
    also say which roles are simple, and those that leftovers ``beside`` it tell already. Imports
    of ``ontologies`` (IRIs, as `Reading.ontologies`) are answered, others read where the
    ``catalog`` has them. Sources that are read by different calls and belong together need
    different ``scope``: it begins the names of their blank nodes.

    Raises: InputError, UsageError.
    """
    loaded = load(sources, scope, progress, catalog, ontologies, vocabulary=vocabulary)
    reader = _Reader(loaded, ontologies, fixed=signature)
    own = _own(axioms, beside)
    findings: dict[owl.Axiom | owl.Assertion, list[Finding]] = {
        axiom: [
            (
                "tbox-axiom",
                f"{type(axiom).__name__}: an axiom among assertions",
                "give its file with the TBox",
            )
        ]
        for axiom in reader.axioms()
        if not own(axiom)
    }
    reader.accounts.settle(loaded.axioms, reader.mapping.axioms, "axiom", findings)
    return reader.finish(owl.TBox(), reader.kinds.of_data(signature), list(axioms))


def _own(
    axioms: Collection[owl.Axiom], beside: Collection[Leftover]
) -> Callable[[owl.Axiom], bool]:
    """Whether an axiom is among ``axioms``, perhaps as what it was rewritten to when these were
    read, or told by a leftover.
    """
    known: set[owl.Axiom | owl.Assertion] = set()

    def is_own(axiom: owl.Axiom) -> bool:
        # Most data has no axioms, and axioms are slow to hash.
        known.update(() if known else chain(axioms, *(leftover.said for leftover in beside)))
        if axiom in known:
            return True
        from shiq.profile import split_axioms

        inside, reported = split_axioms([axiom])
        return bool(known) and not reported and known.issuperset(inside)

    return is_own


def _findings(
    reported: Iterable[tuple[owl.Axiom | owl.Assertion, str, str]],
) -> dict[owl.Axiom | owl.Assertion, list[Finding]]:
    findings: dict[owl.Axiom | owl.Assertion, list[Finding]] = defaultdict(list)
    for value, kind, message in reported:
        near = (
            nearest_known(word)
            if kind == UNKNOWN_DATATYPE and is_misspelt(word := Leftover(kind, message).term)
            else ""
        )
        findings[value].append((kind, message, f"did you mean {near}?" if near else ""))
    return findings


class _Reader:
    """Makes a `Reading` of loaded sources: first what the graph says, then, once the caller has
    sorted the axioms, the rest. ``fixed``: for data, the vocabulary of the TBox.
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
        self.closed, self.is_ontology = closed, fixed is None
        self.triples = triples = loaded.triples
        self.read = len(triples)
        self.graph = graph = build_graph(triples, graph_rows(triples).tolist())
        self._individuals: set[str] | None = None
        self.around = survey(graph, triples, loaded.signature.declared if doubt else None)
        self.reified = self._imply()
        base = loaded.signature if fixed is None else fixed | loaded.signature
        self.kinds, problems = find_kinds(graph, base, fixed, loaded.uses, loaded.vocabulary)
        if loaded.of_tables:
            from shiq.rdf.known_vocabularies import drop_other_readings

            loaded.axioms += drop_other_readings(loaded, self.kinds)
        self.expressions = expressions = None
        # Most data says nothing of the vocabulary, nor anything of individuals that takes more than
        # a triple.
        if len(graph):
            from shiq.rdf.expressions import Expressions

            self.expressions = expressions = Expressions(graph, self.kinds)
        self.accounts = Accounts(triples, graph, expressions)
        self.accounts.leftovers += self.around.leftovers
        self.two = {problem.term for problem in problems if problem.kind == "two-readings"}
        for problem in problems:
            self.accounts.tell(problem)
        self.ontologies = frozenset((*ontologies, *loaded.ontologies))
        self.accounts.leftovers += check_imports(graph, triples, self.ontologies, loaded.unmet)
        settle_imports(loaded, self.ontologies)
        self.mapping = GraphMapping()
        if expressions is not None:
            from shiq.rdf.mapping import map_graph

            self.mapping = map_graph(
                graph,
                self.kinds,
                expressions,
                lambda name: name in self._typed(),
                whole=fixed is None,
            )
        either = {*self.kinds.two, *self.mapping.in_both_readings}
        loaded.leftovers += (
            leftover
            for assumed in loaded.assumed
            for leftover in assumed.leftovers(self.kinds, either)
        )
        self.kinds.reopen()

    def _imply(self) -> list[tuple[int, list[int]]]:
        """Adds the triples that annotated axioms stand for, where they are not there themselves;
        for those in the graph, the triple and the triples that say so.
        """
        reified = []
        for subject, predicate, value, indexes in self.around.implied:
            row = self.graph.rows[indexes[0]]
            if is_for_graph(predicate, value):
                reified.append((self.graph.add(subject, predicate, value, row, 0), indexes))
            else:
                self.triples.imply(subject, predicate, value, row)
                self.graph.assign(indexes, "annotation")
        return reified

    def _typed(self) -> set[str]:
        if self._individuals is None:
            self._individuals = individuals_of(self.triples)
        return self._individuals

    def in_both_readings(self) -> set[str]:
        """Names that count as two kinds: properties of open kind and their fillers, here or in a
        reading that is passed on.
        """
        before = (
            leftover.term for leftover in self.loaded.leftovers if leftover.kind == "two-readings"
        )
        return {
            *self.mapping.in_both_readings,
            *self.mapping.open_fillers,
            *self.two,
            *self.loaded.both,
            *before,
        }

    def compare_copies(self) -> None:
        """Tells where a source that is a known vocabulary says something else than shiq's table
        of it.
        """
        if not len(self.graph) and not self.loaded.axioms:
            return
        from shiq.vocabularies import VocabularyChoice

        choice = self.loaded.vocabulary or VocabularyChoice()
        for source, iris in self.loaded.documents.items():
            for table in {table for iri in iris if (table := choice.answering(iri)) is not None}:
                from shiq.rdf.known_vocabularies import differences

                here = {item.value for item in self.loaded.axioms if item.source == source}
                placed = (
                    (item.value, self.triples.place(self.graph.rows[item.main])[0])
                    for item in self.mapping.axioms
                )
                here.update(value for value, name in placed if name == source)
                self.accounts.leftovers += differences(table, source, here, self.kinds)

    def axioms(self, without: Collection[str] = (), *, of_doubt: bool = True) -> list[owl.Axiom]:
        """Every axiom, as often as it was read, but for those of the sources ``without``, and
        those of misspelt words where ``of_doubt`` is false.
        """
        stated = (item.value for item in self.loaded.axioms if item.source not in without)
        mapped = (
            item
            for item in self.mapping.axioms
            if of_doubt or item.main not in self.around.doubtful
        )
        if without:
            mapped = (
                item
                for item in mapped
                if self.triples.place(self.graph.rows[item.main])[0] not in without
            )
        return [*stated, *(item.value for item in mapped)]

    def unread_names(self) -> frozenset[str]:
        """The names that nothing but axioms that were not understood, and rules, may mention: the
        kind of them is not known.
        """
        failed = [failure.main for failure in self.mapping.failures if failure.assumption]
        if not failed and self.around.rules is None:
            return frozenset()
        # Loaded where something is not understood.
        from shiq.rdf.assumptions import names_in_rules, names_in_triples

        names = names_in_triples(self.graph, failed) | names_in_rules(self.graph)
        return frozenset(name for name in names if not self.kinds.is_entity(name))

    def _assumptions(self, inside: Sequence[owl.Axiom]) -> Iterator[Assumption]:
        """Find what makes nodes with several descriptions, rules, and axioms on roles that are
        not simple hold, whatever they say.
        """
        if self.expressions is not None:
            for main, axiom in self.expressions.several.items():
                message = f"the blank node {self.graph.subjects[main]} is described as more than one class"
                hint = "give each description a node of its own"
                yield Assumption(self.accounts.leave("malformed", message, main, hint), (axiom,))
        not_simple = [
            (leftover, value)
            for leftover, value in self.accounts.values()
            if leftover.kind == "non-simple-role" and isinstance(value, owl.Axiom)
        ]
        if not not_simple and self.around.rules is None:
            return
        # Loaded where something is outside SHIQ(D).
        from shiq.rdf.assumptions import (
            assumption_for,
            assumptions_for_rules,
            simplicity,
        )

        simple = simplicity(inside)
        for leftover, value in not_simple:
            if found := assumption_for(value, simple):
                yield Assumption(leftover, found)
        if self.around.rules is not None and (
            found := assumptions_for_rules(self.graph, self.kinds)
        ):
            yield Assumption(self.around.rules, found)

    def finish(self, tbox: owl.TBox, known: owl.Signature, axioms: Sequence[owl.Axiom]) -> Reading:
        """The reading, with ``known`` as the vocabulary that data may use."""
        graph, accounts, mapping = self.graph, self.accounts, self.mapping
        bulk = resolve(
            self.triples,
            known,
            headers=self.around.headers,
            nodes=self.around.nodes,
            individuals=self._typed,
            counted=self.read,
            vocabulary=self.loaded.vocabulary,
            notes=self.is_ontology,
        )
        stated = [*self.loaded.assertions, *_built_in(self.triples, bulk)]
        values = dict.fromkeys(
            [*(item.value for item in stated), *(item.value for item in mapping.assertions)]
        )
        inside: list[owl.Assertion] = []
        reported: list[tuple[owl.Assertion, str, str]] = []
        if values:
            # Loaded where something is no plain triple.
            from shiq.profile import split_assertions

            inside, reported = split_assertions(list(values), axioms)
        findings = _findings(reported)
        for item, kind, message in mapping.suspects:
            hint = "for classes and properties say owl:equivalentClass, owl:equivalentProperty or owl:disjointWith"
            findings[item.value].append((kind, message, hint))
        for value, finding in _unknown_names(values, known):
            findings[value].append(finding)
        for iri, mains in mapping.in_both_readings.items():
            if iri in self.two:
                continue  # its declarations were told
            message = f"{OpenPropertyError(iri).message}: it was read as both"
            hint = "declare it as owl:ObjectProperty or owl:DatatypeProperty"
            if iri in self.kinds.punned:
                message = f"<{iri}> is used as an object property and as a data property: it was read as two properties"
                hint = "use two names"
            accounts.leave("two-readings", message, mains[0], hint, len(mains), len(mains))
        for all_different in mapping.apart:  # which nothing is ever wrong with
            graph.assign((all_different.main, *all_different.triples), "assertion")
        accounts.settle(stated, mapping.assertions, "assertion", findings)
        accounts.pass_over(self.loaded.of_annotations, known)
        graph.assign(mapping.annotations, "annotation")
        assumptions = list(self._assumptions(axioms))
        for failure in mapping.failures:
            told = accounts.fail(failure.main, (failure.kind, failure.message, failure.hint))
            if failure.assumption:
                assumptions.append(Assumption(told, failure.assumption))
        for main, indexes in self.reified:
            graph.assign(indexes, "annotation" if graph.copies[main] else graph.bucket[main])
        self._leave_unattached(bulk, axioms)
        for rewritten in self.loaded.rewritten:
            accounts.leftovers += rewritten.leftovers(
                self.triples, lambda row: not bulk.annotations[row]
            )
        apart: list[tuple[int | Place, tuple[str, ...]]] = [
            *((graph.rows[found.main], found.individuals) for found in mapping.apart),
            *self.loaded.apart,
        ]
        places = ReadPlaces(
            self.triples,
            self.read,
            {item.value: graph.rows[item.main] for item in reversed(mapping.assertions)},
            {item.value: (Place(item.source, item.line),) for item in self.loaded.assertions},
            apart,
        )
        left = (*self.loaded.leftovers, *accounts.leftovers, *bulk.leftovers)
        held = frozenset(values).difference(value for value, _, _ in reported)
        of_a = {id(x) for x in bulk.leftovers if x.kind in IN_DATA}
        of_a |= {id(x) for x, v in accounts.values() if v in held}
        counts = self.loaded.ledger
        for ledger in (bulk.ledger, accounts.ledger, graph.ledger()):
            counts.update(ledger)
        return Reading(
            tbox,
            _abox(self.triples, bulk, inside, [individuals for _, individuals in apart]),
            tuple(capped(left)),
            +counts,
            tuple(self.loaded.sources),
            self.ontologies,
            places=places,
            assumptions=tuple(assumptions),
            left_at=LeftPlaces(self.triples, left),
            left_out=LeftOut(self.triples, left, self.loaded.whole, accounts, of_a),
        )

    def _leave_unattached(self, bulk: Bulk, axioms: Iterable[owl.Axiom]) -> None:
        """Tell the lists and class expressions that neither one of ``axioms`` nor a statement
        that was read uses.
        """
        graph, groups = (
            self.graph,
            [group for group in unattached(self.graph) if any(self.graph.copies[i] for i in group)],
        )
        if not groups:
            return
        from shiq.rdf.languages import has_ill_typed, is_part_of_statement, used_nodes

        used = used_nodes(self.triples, graph, bulk.understood)
        named = {entity.iri for entity in entities((*axioms, *self.axioms()))}
        for group in groups:
            kind = "without-effect" if is_idle_expression(graph, group) else "unattached"
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
                    "correct the ill-typed literal in it" if has_ill_typed(graph, group) else hint
                )
                self.accounts.leave(kind, message, group[0], hint, count, 1, group)


def _built_in(triples: Triples, bulk: Bulk) -> Iterator[StatedValue[owl.Assertion]]:
    """Assertions on top and bottom properties as values: `split_assertions` knows what they mean."""
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


def _unknown_names(
    values: Collection[owl.Assertion], known: owl.Signature
) -> Iterator[tuple[owl.Assertion, Finding]]:
    """The names inside class expressions and negative assertions that the TBox does not know;
    the assertions are kept.
    """
    if not values:
        return
    # Loaded where something is no plain triple.
    from shiq.rdf.undeclared import unknown_name

    properties = known.object_properties | known.data_properties
    near_class, near_property = NearMisses(known.classes), NearMisses(properties)
    for value in values:
        if isinstance(value, OF_INDIVIDUALS):
            continue
        used = signature_of((value,))
        for iri in sorted(used.classes - known.classes):
            yield value, ("undeclared", *unknown_name("class", iri, near_class))
        for iri in sorted((used.object_properties | used.data_properties) - properties):
            yield value, ("undeclared", *unknown_name("property", iri, near_property))


def _abox(
    triples: Triples,
    bulk: Bulk,
    assertions: Iterable[owl.Assertion],
    apart: Iterable[Sequence[str]],
) -> ABox:
    """The ABox of the rows, of ``assertions``, of which what is plain joins the rows, and of
    lists of different individuals.
    """
    begun = len(triples)
    others = [assertion for assertion in assertions if not add_row(triples, assertion)]
    classes, roles, data = bulk.classes, bulk.roles, bulk.data
    if len(triples) > begun:
        added = np.arange(begun, len(triples))
        types = column(triples.predicate)[added] == triples.id(TYPE)
        literals = np.array(
            [triples.kinds[i] == LITERAL for i in column(triples.object)[added]], dtype=bool
        )
        classes = np.append(classes, added[types])
        roles = np.append(roles, added[~types & ~literals])
        data = np.append(data, added[literals])
    return build_abox(triples, classes, roles, data, others, apart)
