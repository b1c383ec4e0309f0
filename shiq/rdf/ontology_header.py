"""Triples around the axioms: ontology headers, imports, reified (annotated) axioms, SWRL rules, and
misspelt words of OWL.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from shiq.answers.verdict import Leftover
from shiq.model import OWL, Literal
from shiq.rdf.graph import VocabularyGraph
from shiq.rdf.namespaces import IN_DOUBT, intended_triple, is_vacuous
from shiq.rdf.triples import IRI, Rows, Term, Triples, numpy_view, term_text
from shiq.rdf.vocabulary import (
    AXIOM_NODES,
    BEFORE_RANGES,
    DECLARATIONS,
    FIRST,
    IMPORTS,
    LANGUAGE_DOCUMENTS,
    ONTOLOGY,
    REIFICATIONS,
    REST,
    SWRL,
    TYPE,
    is_misspelt,
    is_unknown_datatype,
    nearest_known,
)

_PARTS = ("annotatedSource", "annotatedProperty", "annotatedTarget")
#: Words of rules behind which a list stands, of cells with a type or without.
_RULE_LISTS = frozenset(SWRL + word for word in ("body", "head", "arguments"))


@dataclass
class HeaderFindings:
    """Findings on a vocabulary graph besides its axioms: headers, reified axioms, misspelt words,
    rules.

    headers: IRIs of ontologies
    nodes: axioms that are nodes, so that further statements annotate them
    implied_triples: triples that reified axioms imply, with the triples of the annotation
    doubtful_triples: triples that misspelt words were probably meant to be
    rules: leftover on SWRL rules
    """

    headers: set[str] = field(default_factory=set)
    nodes: set[str] = field(default_factory=set)
    implied_triples: list[tuple[str, str, Term, list[int]]] = field(default_factory=list)
    leftovers: list[Leftover] = field(default_factory=list)
    doubtful_triples: set[int] = field(default_factory=set)
    rules: Leftover | None = None


def scan_header(
    graph: VocabularyGraph, triples: Triples, declared: Collection[str] | None = None
) -> HeaderFindings:
    """Assign the triples of headers, reified axioms, rules and unknown words to buckets. Imports
    are left to `check_imports`.

    Args:
    declared: names declared elsewhere; if given, triples with misspelt words are also read as
        intended, in doubt
    """
    found = HeaderFindings()
    _read_misspelt_words(graph, triples, found, declared)
    for i, (subject, predicate, value) in enumerate(
        zip(graph.subjects, graph.predicates, graph.objects)
    ):
        if graph.bucket[i] or predicate != TYPE:
            continue
        if value == ONTOLOGY:
            found.headers.add(subject)
            graph.assign_bucket([i], "annotation")
        elif value in AXIOM_NODES:
            found.nodes.add(subject)
        elif value in REIFICATIONS:
            found.nodes.add(subject)
            _read_reified_axiom(graph, triples, i, found)
    _find_rules(graph, triples, found)
    return found


def _read_misspelt_words(
    graph: VocabularyGraph,
    triples: Triples,
    found: HeaderFindings,
    declared: Collection[str] | None,
) -> None:
    """Find triples with misspelt words of OWL, and add the axioms that they were probably meant to
    be.
    """
    by_word: dict[tuple[str, str], list[int]] = defaultdict(list)
    meant: list[tuple[int, tuple[str, str, Term]]] = []
    for i, (subject, predicate, value) in enumerate(
        zip(graph.subjects, graph.predicates, graph.objects)
    ):
        for term in (subject, predicate, value):
            if is_misspelt(word := term.datatype if isinstance(term, Literal) else term):
                if predicate not in BEFORE_RANGES or not is_unknown_datatype(word):
                    is_idle = is_vacuous(subject, predicate, value, word)
                    kind = "unknown-word" if is_idle else "unknown-vocabulary"
                    if kind == "unknown-vocabulary" and declared is not None:
                        if triple := intended_triple(
                            graph, subject, predicate, value, word, declared
                        ):
                            kind = IN_DOUBT
                            meant.append((i, triple))
                    by_word[word, kind].append(i)
                break
    for (word, kind), indexes in by_word.items():
        count = graph.assign_bucket(indexes, f"leftover:{kind}")
        found.leftovers.append(
            unknown_word_leftover(word, triples, [graph.rows[i] for i in indexes], count, kind)
        )
    for i, triple in meant:
        index = graph.add(*triple, graph.rows[i], 0)
        if not graph.copies[index]:
            found.doubtful_triples.add(index)


def unknown_word_leftover(
    word: str, triples: Triples, rows: Sequence[int], count: int, kind: str = "unknown-vocabulary"
) -> Leftover:
    """Make the leftover that reports all triples with an unknown word of OWL."""
    near = nearest_known(word)
    hint = f"did you mean {near}?" if near else "use a name in a namespace of your own"
    message = f"there is no {term_text(word)}" + (
        "" if kind != "in-doubt" else ": consistent holds with and without what it may mean"
    )
    return triples.make_leftover(kind, message, rows[0], hint=hint, count=count, rows=rows)


def _read_reified_axiom(
    graph: VocabularyGraph, triples: Triples, main: int, found: HeaderFindings
) -> None:
    """Read an owl:Axiom node; its triples annotate an axiom and are none themselves."""
    node = graph.subjects[main]
    parts = [graph.find(node, OWL + part) for part in _PARTS]
    indexes = [main, *(i for part in parts for i in part)]
    source, predicate, value = (
        graph.objects[part[0]] if len(part) == 1 else None for part in parts
    )
    if (
        not isinstance(source, str)
        or not isinstance(predicate, str)
        or predicate.startswith("_:")
        or value is None
    ):
        count = graph.assign_bucket(indexes, "leftover:malformed")
        message = "an annotated axiom needs one annotatedSource, one annotatedProperty and one annotatedTarget"
        found.leftovers.append(
            triples.make_leftover(
                "malformed",
                message,
                graph.rows[main],
                count=count,
                rows=[graph.rows[i] for i in indexes],
            )
        )
    elif graph.objects[main] == OWL + "Annotation":
        graph.assign_bucket(indexes, "annotation")
    else:
        found.implied_triples.append((source, predicate, value, indexes))


def _find_rules(graph: VocabularyGraph, triples: Triples, found: HeaderFindings) -> None:
    """Find SWRL rules, which are not interpreted, and report them."""
    nodes = {
        s
        for s, p, o in zip(graph.subjects, graph.predicates, graph.objects)
        if p == TYPE and str(o).startswith(SWRL)
    }
    cells = [o for p, o in zip(graph.predicates, graph.objects) if p in _RULE_LISTS]
    while cells:
        cell = cells.pop()
        if isinstance(cell, str) and cell.startswith("_:") and cell not in nodes:
            nodes.add(cell)
            cells += (graph.objects[i] for i in graph.find(cell, REST))
    indexes = [
        i
        for i, (subject, predicate, value) in enumerate(
            zip(graph.subjects, graph.predicates, graph.objects)
        )
        if predicate.startswith(SWRL)
        or (predicate == TYPE and isinstance(value, str) and value.startswith(SWRL))
        or (subject in nodes and predicate in (FIRST, REST))
    ]
    if indexes:
        found.nodes |= nodes
        count = graph.assign_bucket(indexes, "leftover:outside-shiq")
        rules = sum(graph.objects[i] == SWRL + "Imp" for i in indexes)
        message = f"{rules} SWRL rules: rules are outside SHIQ(D)"
        rows = [graph.rows[i] for i in indexes]
        found.rules = triples.make_leftover(
            "outside-shiq", message, rows[0], count=count, rows=rows
        )
        found.leftovers.append(found.rules)


#: The kinds of imports that nothing answers.
UNMET = ("missing-import", "ambiguous-import")


class ImportFailure(NamedTuple):
    """Reason why an import was not answered: kind of leftover, end of its message, and remedy."""

    kind: str
    message: str
    hint: str


_MISSING = ImportFailure(
    "missing-import",
    "not read: nothing is fetched",
    "give the imported ontology as a source too, or by --catalog a folder that has it",
)


def check_imports(
    graph: VocabularyGraph,
    triples: Triples,
    given: Collection[str],
    unmet: Mapping[str, ImportFailure],
) -> Iterator[Leftover]:
    """Report the imports that no given ontology answers; other triples of the header count as
    annotations.

    Args:
    unmet: what a catalog knows of imports, by IRI without an empty fragment
    """
    known = LANGUAGE_DOCUMENTS | {drop_empty_fragment(iri) for iri in given}
    missing: dict[str, list[int]] = defaultdict(list)
    for i, (predicate, value) in enumerate(zip(graph.predicates, graph.objects)):
        if predicate == IMPORTS and not graph.bucket[i]:
            if isinstance(value, str) and drop_empty_fragment(value) in known:
                graph.assign_bucket([i], "annotation")
            else:
                missing[term_text(value)].append(i)
    for name, indexes in missing.items():
        value = graph.objects[indexes[0]]
        found = unmet.get(drop_empty_fragment(value) if isinstance(value, str) else "", _MISSING)
        count = graph.assign_bucket(indexes, f"leftover:{found.kind}")
        message = f"{name} is imported, but {found.message}"
        yield triples.make_leftover(
            found.kind, message, graph.rows[indexes[0]], hint=found.hint, count=count
        )


def drop_empty_fragment(iri: str) -> str:
    """Return an ontology IRI without a final ``#``."""
    return iri.removesuffix("#")


VERSION_IRI = OWL + "versionIRI"
#: The ontology properties whose values are other ontologies.
TO_OTHERS = (
    IMPORTS,
    OWL + "priorVersion",
    OWL + "backwardCompatibleWith",
    OWL + "incompatibleWith",
)


class OntologyHeader(NamedTuple):
    """Ontology IRI, and version IRI or ""."""

    iri: str
    version: str = ""


def document_headers(triples: Triples, begun: int = 0) -> set[OntologyHeader]:
    """Find the ontology headers of the document whose rows begin at ``begun``.

    The document as a whole may have a header, and each named graph that declares terms; nothing
    without a header, or with more than one. An ontology that another one in the document imports or
    succeeds is no header. An imported IRI is no version IRI. Source: OWL 2 Mapping to RDF Graphs,
    section 3.1.2.
    """
    predicates, values = numpy_view(triples.predicate)[begun:], numpy_view(triples.object)[begun:]
    known = triples.ids.get
    typed = predicates == known(TYPE, -1)
    headers = typed & (values == known(ONTOLOGY, -1))
    if not headers.any():
        return set()
    graphs = np.full(len(predicates), -1, np.int64)
    named = numpy_view(triples.graph)[begun:]
    graphs[: len(named)] = named
    found: set[OntologyHeader] = set()
    if (graphs[headers] < 0).any():
        found |= _single_ontology(
            triples, headers.nonzero()[0] + begun, np.arange(begun, len(triples))
        )
    for graph in np.bincount(graphs[headers & (graphs >= 0)]).nonzero()[0]:
        inside = graphs == graph
        if any(triples.terms[value] in DECLARATIONS for value in values[inside & typed].tolist()):
            found |= _single_ontology(
                triples, (headers & inside).nonzero()[0] + begun, inside.nonzero()[0] + begun
            )
    return found


def document_iris(triples: Triples, begun: int) -> set[str]:
    """Return the IRIs under which the document that begins at row ``begun`` can be imported."""
    return {iri for header in document_headers(triples, begun) for iri in header if iri}


def _single_ontology(triples: Triples, headers: Rows, rows: Rows) -> set[OntologyHeader]:
    """Return the header of the ontology that ``rows`` describe; empty if there is none or several.
    ``headers``: rows that type ontologies.
    """
    predicates = numpy_view(triples.predicate)[rows]

    def name_of(term: int) -> str:
        """The IRI of a term without an empty fragment."""
        return drop_empty_fragment(str(triples.terms[term]))

    def pairs(predicate: str) -> list[tuple[str, int]]:
        """Subject and object of the triples with ``predicate``."""
        of_predicate = rows[predicates == triples.ids.get(predicate, -1)]
        return [
            (name_of(triples.subject[row]), triples.object[row]) for row in of_predicate.tolist()
        ]

    others = {
        name_of(value)
        for predicate in TO_OTHERS
        for subject, value in pairs(predicate)
        if subject != name_of(value)
    }
    own = {
        name_of(subject): subject for subject in (triples.subject[row] for row in headers.tolist())
    }
    own = {name: subject for name, subject in own.items() if name not in others}
    header = own.popitem()[1] if own else -1
    if header < 0 or own or triples.kinds[header] != IRI:
        return set()
    versions = {value for subject, value in pairs(VERSION_IRI) if subject == name_of(header)}
    if len(versions) > 1 or any(
        triples.kinds[value] != IRI or name_of(value) in others for value in versions
    ):
        versions = set()
    return {OntologyHeader(*(str(triples.terms[i]) for i in (header, *versions)))}
