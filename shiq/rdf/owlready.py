"""Reading of owlready2 ontologies and worlds, with leftovers on what owlready2's loader dropped or
changed.

owlready2 0.51 reads no property attributes and no rdf:parseType, cuts a slash off the end of IRIs,
ignores inherited xml:lang, and turns numbers into Python's, so NaN is lost. The object shows none
of that, so an ontology loaded from a file is compared with that file.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from decimal import Decimal
from typing import Any, TypeAlias
from urllib.parse import unquote

from shiq.answers.verdict import Leftover
from shiq.errors import InputError
from shiq.model import OWL, RDF, XSD, Literal
from shiq.rdf.objects import RDFLIB_REWRITES, check_iri, check_literal
from shiq.rdf.terms import RefusedTermError
from shiq.rdf.triples import Labels, Rejects, Term, Triples, triple_text
from shiq.rdf.vocabulary import ANNOTATIONS, IMPORTS, ONTOLOGY, TYPE, local_name

#: Gives the triples of a file, and what of it is no triple.
Reread: TypeAlias = Callable[[str], tuple[Triples, Rejects]]

_PLAIN = (0, 60)  # storids that stand for no datatype
_EXTENSIONS = ("", ".nt", ".ntriples", ".rdf", ".owl")
_FLOATS = {XSD + "double", XSD + "float"}
_EXACT = {
    iri
    for iri in RDFLIB_REWRITES
    if local_name(iri).lower().endswith(("int", "integer", "long", "short", "byte", "decimal"))
}
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_FLOATING = re.compile(_DECIMAL.pattern + r"(?:[eE][+-]?[0-9]+)?")


def ontologies_of(value: Any) -> list[Any]:
    """Ontologies of a world, or an ontology with its imports."""
    if type(value).__name__ == "World":
        return list(dict.fromkeys(value.ontologies.values()))
    return list(dict.fromkeys((value, *value.indirectly_imported_ontologies())))


def iris_of(value: Any) -> list[str]:
    """IRIs of ontologies that were loaded or made by calls; owlready2 also lists those only
    mentioned.
    """
    return [
        iri
        for ontology in ontologies_of(value)
        if ontology.loaded
        for iri in (ontology.base_iri, ontology._orig_base_iri)
    ]


def read_owlready(
    value: Any, name: str, triples: Triples, label: Labels, rejects: Rejects, reread: Reread
) -> list[Leftover]:
    """Read an owlready2 ontology (with its imports) or world.

    Args:
    reread: gives the triples of a file, for comparison

    Returns: leftovers on lost triples.
    """
    leftovers: list[Leftover] = []
    untouched = _is_made_by_calls(value if type(value).__name__ == "World" else value.world)
    for ontology in ontologies_of(value):
        begun = len(triples)
        for row in ontology.graph._iter_triples():
            try:
                triples.add(*_triple(row, ontology.world._unabbreviate, label))
            except RefusedTermError as error:
                rejects.add(str(error), text=repr(row))
        if len(triples) > begun and ontology.base_iri != "http://anonymous/":
            leftovers += _loss_leftovers(ontology, triples, begun, name, untouched, reread)
    return leftovers


def _triple(
    row: tuple[Any, Any, Any, Any], unabbreviate: Callable[[int], str], label: Labels
) -> tuple[str, str, Term]:
    s, p, o, d = row

    def resource(storid: int) -> str:
        return label(str(-storid)) if storid < 0 else check_iri(unabbreviate(storid))

    if d is None:
        return resource(s), resource(p), resource(o)
    if isinstance(d, str):
        return (
            resource(s),
            resource(p),
            check_literal(Literal(str(o), RDF + "langString", d.removeprefix("@").lower())),
        )
    datatype = XSD + "string" if d in _PLAIN else unabbreviate(d)
    if datatype.endswith("rdf-schema#Proposition"):
        raise RefusedTermError("a triple inside a triple: RDF 1.2 (RDF-star) is not supported")
    return resource(s), resource(p), check_literal(Literal(_lexical(o, datatype), datatype))


def _lexical(value: Any, datatype: str) -> str:
    if value is None:
        return "NaN"  # the only value that SQLite stores as NULL
    if not isinstance(value, float):
        return str(value)
    if value in (float("inf"), float("-inf")):
        return "INF" if value > 0 else "-INF"
    return repr(value) if datatype in _FLOATS else f"{Decimal(repr(value)):f}"


def _is_made_by_calls(world: Any) -> bool:
    """Whether all triples of ``world`` were added by calls: the loader resets owlready2's count of
    added triples.
    """
    added: int = getattr(world.graph, "nb_added_triples", 0)
    return added >= len(world.graph) - 1  # but for the header of the anonymous ontology


def _loss_leftovers(
    ontology: Any, triples: Triples, begun: int, name: str, untouched: bool, reread: Reread
) -> Iterator[Leftover]:
    path = _file_of(ontology)
    if path is None:
        if not untouched:
            yield Leftover(
                "lossy-input",
                f"the ontology {ontology.base_iri} may have been read by owlready2's loader, which drops property "
                "attributes, rdf:parseType, inherited languages and slashes at the end of IRIs; its file is not known, so "
                "nothing can be compared",
                name,
                hint="give the file instead of the owlready2 object",
            )
        return
    try:
        written, rejects = reread(path)
    except InputError as error:
        yield Leftover(
            "lossy-input",
            f"the ontology {ontology.base_iri} was loaded from {path}, which cannot be compared with it: {error.message}",
            name,
            hint="give the file instead of the owlready2 object",
        )
        return
    yield from rejects.leftovers()
    notes = ANNOTATIONS | {str(subject) for subject in _declared_annotations(written)}
    held = Counter(_masked_row(triples, row) for row in range(begun, len(triples)))
    lost: list[int] = []
    distinct = {
        triple: row
        for row, triple in enumerate(zip(written.subject, written.predicate, written.object))
    }
    for row in distinct.values():
        key = _masked_row(written, row)
        if held[key] > 0:
            held[key] -= 1
        elif not _negligible(key, notes):
            lost.append(row)
    if lost:
        yield Leftover(
            "lossy-input",
            f"{len(lost)} triples of {path} are not in the ontology that owlready2 loaded from it, or read otherwise",
            path,
            written.line[lost[0]],
            triple_text(
                *(
                    written.terms[column[lost[0]]]
                    for column in (written.subject, written.predicate, written.object)
                )
            ),
            "give the file instead of the owlready2 object",
            len(lost),
        )


def _file_of(ontology: Any) -> str | None:
    """File that ``ontology`` was loaded from, if owlready2's own search finds one."""
    iri: str = ontology._orig_base_iri
    base = iri[:-1] if iri.endswith(("#", "/")) else iri
    if base.startswith("file://"):
        return unquote(base[7:])
    names = [base.rsplit("/", 1)[-1], *(f"{ontology.name}{extension}" for extension in _EXTENSIONS)]
    paths = (
        os.path.join(folder, name)
        for folder in sys.modules["owlready2"].onto_path
        for name in names
    )
    return next((path for path in paths if os.path.isfile(path)), None)


def _masked_row(triples: Triples, row: int) -> tuple[str, str, str | tuple[str, str, str]]:
    subject, predicate, value = (
        triples.terms[column[row]]
        for column in (triples.subject, triples.predicate, triples.object)
    )
    return (
        _mask(str(subject)),
        str(predicate),
        _mask(value) if isinstance(value, str) else _value(value),
    )


def _mask(resource: str) -> str:
    return "_:" if resource.startswith("_:") else resource


def _value(literal: Literal) -> tuple[str, str, str]:
    """Literal with well-formed numbers by value, as owlready2 keeps them."""
    numeral = (
        _FLOATING
        if literal.datatype in _FLOATS
        else _DECIMAL
        if literal.datatype in _EXACT
        else None
    )
    text = literal.lexical.strip(" \t\r\n")
    if numeral is not None and numeral.fullmatch(text):
        return str(Decimal(text).normalize()), literal.datatype, ""
    return literal.lexical, literal.datatype, literal.language


def _declared_annotations(triples: Triples) -> Iterator[Term]:
    wanted = (triples.ids.get(TYPE), triples.ids.get(OWL + "AnnotationProperty"))
    for subject, *rest in zip(triples.subject, triples.predicate, triples.object):
        if tuple(rest) == wanted:
            yield triples.terms[subject]


def _negligible(key: tuple[str, str, object], annotations: Collection[str]) -> bool:
    _, predicate, value = key
    return (
        predicate in annotations
        or predicate == IMPORTS
        or (predicate == TYPE and value == ONTOLOGY)
    )
