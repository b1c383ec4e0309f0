"""Axioms in doubt: what only some readings of an ontology have (THEORY, "Axioms in doubt").

>>> [local_name(meant(word)) for word in (RDFS + "subClasssOf", RDFS + "subpropertyOf", OWL + "domain", OWL + "isEquivalentTo")]
['subClassOf', 'subPropertyOf', 'domain', '']
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from shiq.model import OWL, RDFS, Assertion, Axiom, Literal, Signature, TBox
from shiq.rdf.graph import VocabularyGraph
from shiq.rdf.namespaces import SlipFinder
from shiq.rdf.surroundings import UNMET
from shiq.rdf.triples import Term, column
from shiq.rdf.vocabulary import (
    CHARACTERISTICS,
    DECLARATIONS,
    FUNCTIONAL,
    TYPE,
    is_reserved,
    local_name,
)
from shiq.signature import entities
from shiq.verdict import Leftover
from shiq.vocabularies import kind_of

if TYPE_CHECKING:
    from shiq.rdf.load import LoadedSources
    from shiq.reading import Reading

IN_DOUBT = "in-doubt"
#: Words of which each triple is an axiom, with whether a class expression may stand behind them.
_RELATIONS = {
    **dict.fromkeys(
        (
            RDFS + "subClassOf",
            RDFS + "domain",
            RDFS + "range",
            OWL + "equivalentClass",
            OWL + "disjointWith",
        ),
        True,
    ),
    **dict.fromkeys((RDFS + "subPropertyOf", OWL + "equivalentProperty", OWL + "inverseOf"), False),
}
_WORDS = {local_name(word): word for word in (*_RELATIONS, *CHARACTERISTICS, FUNCTIONAL)}
_FINDER = SlipFinder(_WORDS)


def meant(word: str) -> str:
    """The word of axioms that an unknown word of a reserved namespace is a slip of; "" for any
    other, and where it is one of several (``owl:SymetricProperty``), or may be of a converse
    (``rdfs:supClassOf``).
    """
    name = local_name(word)
    near = [] if name.lower().startswith("sup") else _FINDER.near(name)
    return _WORDS.get(name) or (_WORDS[near[0]] if len(near) == 1 else "")


def meant_triple(
    graph: VocabularyGraph,
    subject: str,
    predicate: str,
    value: Term,
    word: str,
    declared: Collection[str],
) -> tuple[str, str, Term] | None:
    """The axiom that a triple with a misspelt word means, where the kinds of all names in it are
    declared, or the names are in no other axiom: then it settles no kind. None for any other
    triple.
    """

    def is_known(name: str) -> bool:
        if (
            is_reserved(name)
            or name in declared
            or kind_of(name)
            or any(kind in DECLARATIONS for kind in graph.types(name))
        ):
            return True
        rows = zip(graph.subjects, graph.predicates, graph.objects)
        return all(
            predicate == word for subject, predicate, value in rows if name in (subject, value)
        )

    found = meant(word)
    if subject.startswith("_:") or not is_known(subject) or isinstance(value, Literal):
        return None
    if predicate == word and found in _RELATIONS:
        is_fit = _RELATIONS[found] if value.startswith("_:") else is_known(value)
        return (subject, found, value) if is_fit else None
    if predicate == TYPE and value == word and found and found not in _RELATIONS:
        return subject, TYPE, found
    return None


@dataclass(frozen=True)
class Candidates:
    """Files of one ontology that do not hold the same. ``leftover``: tells them; ``common``: the
    axioms that each has; ``asserted``: assertions that only some have; ``vocabularies``: of each
    file.
    """

    names: tuple[str, ...]
    leftover: Leftover
    common: frozenset[Axiom]
    asserted: frozenset[Assertion]
    vocabularies: tuple[Signature, ...]


def candidates_of(
    names: Sequence[str], leftover: Leftover, readings: Sequence[Reading]
) -> Candidates | None:
    """The files ``names`` as `Candidates`; None where they were not read, do not import the
    same, or assert anything of blank nodes, which are others in each reading.
    """
    if not readings or len({frozenset(_imports(reading)) for reading in readings}) > 1:
        return None
    assertions = [frozenset(reading.abox) for reading in readings]
    asserted = frozenset().union(*assertions) - assertions[0].intersection(*assertions)
    if any(name.startswith("_:") for reading in readings for name in reading.abox.individuals):
        return None
    axioms = [frozenset(reading.tbox.axioms) for reading in readings]
    vocabularies = tuple(reading.tbox.signature for reading in readings)
    return Candidates(
        tuple(names), leftover, axioms[0].intersection(*axioms), asserted, vocabularies
    )


def _imports(reading: Reading) -> Iterator[str]:
    """What an ontology imports: tables, and what no table answers."""
    for leftover in reading.leftovers:
        if leftover.kind in UNMET or (
            leftover.kind == "vocabulary" and "from shiq's table" in leftover.message
        ):
            yield leftover.message


def tell_candidates(
    candidates: Collection[Candidates], known: Signature, loaded: LoadedSources
) -> Iterator[Leftover]:
    """What is told of each: information, or that it is in the way, as with one file alone the
    rest would be read otherwise.
    """
    names = {name for found in candidates for name in found.names}
    for found in candidates:
        if terms := _read_otherwise(found, known, loaded, names):
            message = f"{found.leftover.message}; with one of them alone <{min(terms)}> may be of another kind"
            yield replace(found.leftover, message=message)
        else:
            message = f"{found.leftover.message}; all were read, and consistent holds for each"
            yield replace(found.leftover, kind=IN_DOUBT, message=message)


def _read_otherwise(
    found: Candidates, known: Signature, loaded: LoadedSources, names: Collection[str]
) -> set[str]:
    """The names of which an axiom, or assertion, might be another with one file alone.

    Such a name has a kind there that it has not here, or it has not the same kind in all files,
    and is used outside of them without a declaration there.
    """
    kinds = [dict(_kinds(vocabulary)) for vocabulary in found.vocabularies]
    here = dict(_kinds(known))
    other = {
        iri for of in kinds for iri in of if of[iri] - here.get(iri, frozenset()) - {"annotation"}
    }
    open_ = {
        iri for of in kinds for iri in of if any(of.get(iri) != other.get(iri) for other in kinds)
    }
    triples = loaded.triples
    ids = [i for i in map(triples.ids.get, open_) if i is not None]
    rows = np.flatnonzero(
        np.isin([*map(column, (triples.subject, triples.predicate, triples.object))], ids).any(
            axis=0
        )
    )
    used, declared = set[str](), set[str]()
    for row in (row for row in rows.tolist() if triples.place(row)[0] not in names):
        subject, predicate, value = (
            str(triples.terms[i[row]]) for i in (triples.subject, triples.predicate, triples.object)
        )
        used |= {subject, predicate, value}
        if predicate == RDFS + "subClassOf" or (predicate == TYPE and value in DECLARATIONS):
            declared |= {subject, value}
    for items in (loaded.axioms, loaded.assertions):
        used |= {
            entity.iri
            for item in items
            if item.source not in names
            for entity in entities(item.value)
        }
    return other | (used & open_ - declared)


def _kinds(known: Signature) -> Iterator[tuple[str, frozenset[str]]]:
    groups = {
        "class": known.classes,
        "object": known.object_properties,
        "data": known.data_properties,
        "annotation": known.annotation_properties,
        "datatype": known.datatypes,
    }
    for iri in known.named:
        yield iri, frozenset(kind for kind, names in groups.items() if iri in names)


def with_doubt(
    tbox: TBox,
    axioms: Collection[Axiom],
    certain: Collection[Axiom],
    inside: Collection[Axiom],
    candidates: Collection[Candidates],
    loaded: LoadedSources,
) -> TBox:
    """``tbox``, which is made of ``axioms``, with all in doubt that the ``certain`` ones do not
    give, what only some of the ``candidates`` hold, and what is about names that may be of
    another kind with one of these alone; ``inside``: those of the certain ones that are inside
    SHIQ(D).
    """
    doubtful = {*tbox.axioms}.difference(inside) | {*axioms}.difference(certain)
    doubtful.difference_update(*(found.common for found in candidates))
    names = {name for found in candidates for name in found.names}
    if other := {
        iri for found in candidates for iri in _read_otherwise(found, tbox.signature, loaded, names)
    }:
        doubtful.update(
            axiom
            for axiom in tbox.axioms
            if not other.isdisjoint(entity.iri for entity in entities(axiom))
        )
    return replace(
        tbox, doubtful=frozenset(doubtful).union(*(found.asserted for found in candidates))
    )
