"""Read graphs in memory: rdflib graphs, pyoxigraph stores, owlready2 ontologies and worlds.

Each of these libraries may have changed what it loaded; leftovers say where. owlready2 0.51 reads
no property attributes and no rdf:parseType, cuts a slash off the end of IRIs, ignores inherited
xml:lang, and turns numbers into Python's, so NaN is lost. The object shows none of that, so an
ontology loaded from a file is compared with that file.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, TypeAlias
from urllib.parse import unquote

import pyoxigraph as ox

from shiq.answers.verdict import Leftover
from shiq.errors import InputError
from shiq.model import OWL, RDF, XSD, Literal
from shiq.rdf.terms import RefusedTermError, quad_adder
from shiq.rdf.triples import Labels, Rejects, Term, Triples, triple_text
from shiq.rdf.vocabulary import (
    ANNOTATIONS,
    CARDINALITIES,
    IMPORTS,
    ONTOLOGY,
    TAGGED,
    TYPE,
    local_name,
    short_iri,
)


def _reason_by_name(namespace: str, names: str, reason: str) -> dict[str, str]:
    """Map each IRI (``namespace`` with one of the local ``names``) to the same reason."""
    return {namespace + name: reason for name in names.split()}


#: What rdflib's normalisation of literals can hide, by datatype: several written forms, ill-typed
#: ones among them, end up as one.
RDFLIB_REWRITES: Mapping[str, str] = {
    **_reason_by_name(
        XSD, "boolean", 'everything but true, false, 1 and 0 becomes "false" or "true"'
    ),
    **_reason_by_name(XSD, "date", "a time zone or a time of day behind the date is cut off"),
    **_reason_by_name(
        XSD,
        "dateTime",
        "a date alone, a missing second or a space for the T is completed, and digits after microseconds are cut",
    ),
    **_reason_by_name(
        XSD, "time", "a missing second is completed, and digits after microseconds are cut"
    ),
    **_reason_by_name(
        XSD,
        "duration dayTimeDuration yearMonthDuration",
        "other forms than XML Schema's, such as weeks, are converted",
    ),
    **_reason_by_name(
        XSD,
        "decimal",
        'scientific notation such as "1e5", which xsd:decimal does not have, is converted',
    ),
    **_reason_by_name(
        XSD,
        "integer long int short byte nonNegativeInteger positiveInteger nonPositiveInteger negativeInteger unsignedLong "
        "unsignedInt unsignedShort unsignedByte",
        'forms that only Python reads, such as "1_000" or digits of other scripts, are converted',
    ),
    **_reason_by_name(
        XSD,
        "float double",
        'INF and NaN become "inf" and "nan", and forms that only Python reads are converted',
    ),
    **_reason_by_name(XSD, "base64Binary", "characters outside the alphabet are dropped"),
    **_reason_by_name(
        XSD, "normalizedString token", "tabs, line ends or repeated spaces are replaced"
    ),
    **_reason_by_name(RDF, "XMLLiteral HTML", "the markup is written anew"),
}
#: What a store of pyoxigraph keeps as values instead of forms.
OXIGRAPH_REWRITES: Mapping[str, str] = {
    **_reason_by_name(
        XSD,
        "integer",
        "derived types such as xsd:byte become xsd:integer, and their bounds are lost",
    ),
    **_reason_by_name(
        XSD,
        "dateTime",
        "xsd:dateTimeStamp becomes xsd:dateTime, and need not have a time zone any more",
    ),
    **_reason_by_name(
        XSD,
        "float double",
        'other spellings of infinity and NaN, such as "inf", become INF and NaN',
    ),
}
_RDFLIB_DEFAULT_GRAPH = "urn:x-rdflib:default"
_NOT_FINITE = {"INF", "-INF", "+INF", "NaN"}


#: Where a literal is no value of an individual: in cardinalities, and in annotations.
_NO_VALUES = CARDINALITIES.keys() | ANNOTATIONS | {OWL + "hasSelf"}


@dataclass
class RewrittenLiterals:
    """Literals of a graph in memory whose text the library may have changed: their rows, by
    datatype.

    owner: library object that holds them
    reasons: change, by datatype
    """

    name: str
    owner: str
    reasons: Mapping[str, str]
    rows: dict[str, list[int]] = field(default_factory=dict)

    def add(self, datatype: str, predicate: str, row: int) -> None:
        """Record the literal in ``row``, unless reasoning never reads values of its predicate."""
        if predicate not in _NO_VALUES:
            self.rows.setdefault(datatype, []).append(row)

    def leftovers(self, triples: Triples, matters: Callable[[int], bool]) -> Iterator[Leftover]:
        """Report each datatype that has literals in rows that matter for reasoning."""
        for datatype, candidates in self.rows.items():
            if rows := [row for row in candidates if matters(row)]:
                yield Leftover(
                    "lossy-input",
                    f"{len(rows)} literals of datatype {short_iri(datatype)} may have been written otherwise, even ill-typed: "
                    f"in {self.owner} {self.reasons[datatype]}",
                    self.name,
                    text=triples.shortened_text(rows[0]),
                    hint=f"give the file instead of the {self.name}",
                    count=len(rows),
                )


def read_rdflib(
    graph: Any, name: str, triples: Triples, label: Labels, rejects: Rejects
) -> RewrittenLiterals:
    """Read an rdflib graph, or all graphs of a dataset.

    Returns: literals that rdflib may have changed.
    """
    rewritten = RewrittenLiterals(name, "an rdflib graph", RDFLIB_REWRITES)
    everything = (
        graph.quads((None, None, None, None))
        if hasattr(graph, "quads")
        else graph.triples((None, None, None))
    )
    for row in everything:
        try:
            subject, predicate, value = (_convert_rdflib_term(term, label) for term in row[:3])
            if (
                isinstance(subject, Literal)
                or isinstance(predicate, Literal)
                or predicate.startswith("_:")
            ):
                raise RefusedTermError("a literal as subject, or no IRI as predicate: not RDF")
            graph_name = _rdflib_graph_name(row[3:], label)
        except RefusedTermError as error:
            rejects.add(str(error), text=" ".join(map(repr, row[:3])))
            continue
        if (
            isinstance(value, Literal)
            and value.datatype in RDFLIB_REWRITES
            and _may_be_rewritten(row[2])
        ):
            value = _restore_literal(value)
            rewritten.add(value.datatype, predicate, len(triples))
        triples.add(subject, predicate, value, 0, graph_name)
    return rewritten


def _rdflib_graph_name(name: Sequence[Any], label: Labels) -> str:
    """Return the name of an rdflib graph in a dataset; "" for the default graph."""
    if not name or name[0] is None or str(name[0]) == _RDFLIB_DEFAULT_GRAPH:
        return ""
    found = _convert_rdflib_term(getattr(name[0], "identifier", name[0]), label)
    return found if isinstance(found, str) else ""


def _convert_rdflib_term(term: Any, label: Labels) -> str | Literal:
    """Convert a term of rdflib to a term of this package. Raises: RefusedTermError."""
    match type(term).__name__:
        case "URIRef":
            return check_iri(str(term))
        case "BNode":
            return label(_check_by_constructor(ox.BlankNode, str(term), "label of a blank node"))
        case "Literal" if term.language:
            return check_literal(Literal(str(term), RDF + "langString", term.language.lower()))
        case "Literal" if str(term.datatype) in TAGGED:
            raise RefusedTermError("a literal of datatype rdf:langString without a language tag")
        case "Literal":
            return check_literal(
                Literal(
                    str(term), str(term.datatype) if term.datatype is not None else XSD + "string"
                )
            )
    raise RefusedTermError(f"a term of type {type(term).__name__}: not RDF")


#: Forms that rdflib makes of values, and that their datatypes do not have.
_OWN_FORMS = {
    **{
        (XSD + name, own): form
        for name in ("float", "double")
        for own, form in (("inf", "INF"), ("-inf", "-INF"), ("nan", "NaN"))
    },
    (XSD + "yearMonthDuration", "P0D"): "P0M",
}


def _restore_literal(literal: Literal) -> Literal:
    """Undo rdflib's rewriting of a literal: return a form for the same value that its datatype
    allows.
    """
    return replace(
        literal, lexical=_OWN_FORMS.get((literal.datatype, literal.lexical), literal.lexical)
    )


def _may_be_rewritten(literal: Any) -> bool:
    """Decide whether rdflib may have changed the text of ``literal``.

    It keeps forms without a value, and forms that normalising would change. A boolean is unchanged
    if rdflib marks it as well-formed.
    """
    if literal.value is None:
        return False
    if str(literal.datatype) == XSD + "boolean":
        return bool(literal.ill_typed)
    return str(type(literal)(str(literal), datatype=literal.datatype, normalize=True)) == str(
        literal
    )


def check_literal(literal: Literal) -> Literal:
    """Check a literal of rdflib or owlready2, which accept any text as an IRI. Raises:
    RefusedTermError.
    """
    if "\0" in literal.lexical:
        raise RefusedTermError("a literal with the character U+0000")
    if any("\ud800" <= c <= "\udfff" for c in literal.lexical):
        raise RefusedTermError("a literal with half of a surrogate pair: not Unicode")
    if literal.language:
        _check_by_constructor(
            lambda tag: ox.Literal("", language=tag), literal.language, "language tag"
        )
    check_iri(literal.datatype)
    return literal


def check_iri(text: str) -> str:
    """Check an IRI of rdflib or owlready2. Raises: RefusedTermError."""
    return _check_by_constructor(ox.NamedNode, text, "IRI")


def _check_by_constructor(make: Callable[[str], object], text: str, what: str) -> str:
    """Check ``text`` by passing it to the constructor ``make`` of a term. Raises: RefusedTermError."""
    try:
        make(text)
    except ValueError as error:
        raise RefusedTermError(f"no {what}: {error}") from error
    return text


def read_oxigraph(
    store: Any, name: str, triples: Triples, label: Labels, rejects: Rejects
) -> RewrittenLiterals:
    """Read all graphs of a pyoxigraph store or dataset.

    Returns: literals that it may have changed: a store keeps numbers and dates as values.
    """
    rewritten = RewrittenLiterals(name, "a pyoxigraph store", OXIGRAPH_REWRITES)
    keeps_values = isinstance(store, ox.Store)
    add_quad = quad_adder(triples, label)
    for quad in store:
        try:
            add_quad(quad, 0)
        except RefusedTermError as error:
            rejects.add(str(error), text=str(quad))
            continue
        value = triples.terms[triples.object[-1]]
        if keeps_values and isinstance(value, Literal) and value.datatype in OXIGRAPH_REWRITES:
            if not value.datatype.endswith(("float", "double")) or value.lexical in _NOT_FINITE:
                rewritten.add(
                    value.datatype, str(triples.terms[triples.predicate[-1]]), len(triples) - 1
                )
    return rewritten


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


def ontology_iris_of(value: Any) -> list[str]:
    """Return the IRIs of the ontologies that owlready2 loaded or built, without those that it only
    mentions.
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
                triples.add(*_convert_row(row, ontology.world._unabbreviate, label))
            except RefusedTermError as error:
                rejects.add(str(error), text=repr(row))
        if len(triples) > begun and ontology.base_iri != "http://anonymous/":
            leftovers += _report_lost_triples(ontology, triples, begun, name, untouched, reread)
    return leftovers


def _convert_row(
    row: tuple[Any, Any, Any, Any], unabbreviate: Callable[[int], str], label: Labels
) -> tuple[str, str, Term]:
    """Convert a row of owlready2's quadstore to a triple. Raises: RefusedTermError."""
    s, p, o, d = row

    def convert_resource(storid: int) -> str:
        """Convert a resource of owlready2's database."""
        return label(str(-storid)) if storid < 0 else check_iri(unabbreviate(storid))

    if d is None:
        return convert_resource(s), convert_resource(p), convert_resource(o)
    if isinstance(d, str):
        return (
            convert_resource(s),
            convert_resource(p),
            check_literal(Literal(str(o), RDF + "langString", d.removeprefix("@").lower())),
        )
    datatype = XSD + "string" if d in _PLAIN else unabbreviate(d)
    if datatype.endswith("rdf-schema#Proposition"):
        raise RefusedTermError("a triple inside a triple: RDF 1.2 (RDF-star) is not supported")
    return (
        convert_resource(s),
        convert_resource(p),
        check_literal(Literal(_lexical_form(o, datatype), datatype)),
    )


def _lexical_form(value: Any, datatype: str) -> str:
    """Return the lexical form of a literal value of owlready2's quadstore."""
    if value is None:
        return "NaN"  # the only value that SQLite stores as NULL
    if not isinstance(value, float):
        return str(value)
    if value in (float("inf"), float("-inf")):
        return "INF" if value > 0 else "-INF"
    return repr(value) if datatype in _FLOATS else f"{Decimal(repr(value)):f}"


def _is_made_by_calls(world: Any) -> bool:
    """Decide whether all triples of ``world`` were added by calls: the loader resets owlready2's
    count of added triples.
    """
    added: int = getattr(world.graph, "nb_added_triples", 0)
    return added >= len(world.graph) - 1  # but for the header of the anonymous ontology


def _report_lost_triples(
    ontology: Any, triples: Triples, begun: int, name: str, untouched: bool, reread: Reread
) -> Iterator[Leftover]:
    """Compare an ontology of owlready2 with its file, and report the triples that may have been
    lost while loading.
    """
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
    held = Counter(_comparable_row(triples, row) for row in range(begun, len(triples)))
    lost: list[int] = []
    distinct = {
        triple: row
        for row, triple in enumerate(zip(written.subject, written.predicate, written.object))
    }
    for row in distinct.values():
        key = _comparable_row(written, row)
        if held[key] > 0:
            held[key] -= 1
        elif not _is_negligible(key, notes):
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
    """Find the file that ``ontology`` was loaded from, by owlready2's own search path; None if
    there is none.
    """
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


def _comparable_row(triples: Triples, row: int) -> tuple[str, str, str | tuple[str, str, str]]:
    """Return the triple of a row in a form for comparison: blank nodes are all equal, numbers
    compare by value.
    """
    subject, predicate, value = (
        triples.terms[column[row]]
        for column in (triples.subject, triples.predicate, triples.object)
    )
    return (
        _mask_blank_node(str(subject)),
        str(predicate),
        _mask_blank_node(value) if isinstance(value, str) else _normalise_number(value),
    )


def _mask_blank_node(resource: str) -> str:
    """Replace a blank node by a fixed text, so that all blank nodes compare as equal."""
    return "_:" if resource.startswith("_:") else resource


def _normalise_number(literal: Literal) -> tuple[str, str, str]:
    """Return a literal as (text, datatype, language), well-formed numbers normalised by value as
    owlready2 stores them.
    """
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
    """Yield the declared annotation properties."""
    wanted = (triples.ids.get(TYPE), triples.ids.get(OWL + "AnnotationProperty"))
    for subject, *rest in zip(triples.subject, triples.predicate, triples.object):
        if tuple(rest) == wanted:
            yield triples.terms[subject]


def _is_negligible(key: tuple[str, str, object], annotations: Collection[str]) -> bool:
    """Decide whether losing a triple cannot matter: an annotation, an import, or the ontology's own
    rdf:type.
    """
    _, predicate, value = key
    return (
        predicate in annotations
        or predicate == IMPORTS
        or (predicate == TYPE and value == ONTOLOGY)
    )
