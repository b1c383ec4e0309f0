"""Convert JSON-LD records, one object a line, to N-Triples by the reader of files
(`shiq.rdf.jsonld`).

A context list is applied member by member; null clears all terms; an IRI stands for a file of the
catalog. Type-scoped contexts of the object's types follow. `@vocab` gives each word a meaning but
defines no term. Contexts that the reader refuses are skipped here.

>>> parse_jsonld_record('{"t": 5, "@context": {"@vocab": "urn:v:"}, "@id": "urn:tom", "age": 3}')
JsonRecord(t=5, id='urn:tom', lines=['<urn:tom> <urn:v:age> "3"^^<http://www.w3.org/2001/XMLSchema#integer> .'])
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from shiq.errors import InputError
from shiq.inputs.catalog import Catalog
from shiq.inputs.formats import Format
from shiq.inputs.sources import FileSource
from shiq.rdf.json_text import NOWHERE
from shiq.rdf.jsonld import read_json
from shiq.rdf.triples import Rejects, Triples, number_labels, term_text
from shiq.rml.program import JsonNumber
from shiq.streams.enrichment.knowledge import allow_hint
from shiq.streams.front.event import EventError, parse_time

# Terms that a JSON-LD object's contexts define for its own members, in the order in which
# JSON-LD applies contexts.
#
# A list is applied member by member, null takes away what was defined, an IRI stands for a file of
# the catalog; then come the contexts that the object's types bring along (type-scoped). `@vocab`
# gives every word a meaning, and defines none. What the reader refuses (contexts that are not
# there, or take themselves as a context) is passed over here.


#: No record has more contexts.
_MOST_CONTEXTS: Final = 1000


class DefinedTerm(NamedTuple):
    """Term defined by a JSON-LD context.

    keyword: keyword that it is an alias of, or "".
    scoped_contexts: its scoped context in a list, or [].
    """

    keyword: str
    scoped_contexts: list[Any]


#: What is defined, by term.
Terms = Mapping[str, DefinedTerm]


def find_defined_terms(found: Mapping[str, Any], catalog: Catalog | None) -> Terms:
    """Terms that the contexts of the object ``found`` define for its members. Raises: InputError."""
    contexts = _ContextReader(catalog)
    before = terms = contexts.apply({}, found.get("@context", {}))
    for key in sorted(found):
        if key == "@type" or (key in terms and terms[key].keyword == "@type"):
            given = found[key] if isinstance(found[key], list) else [found[key]]
            for name in sorted(name for name in given if isinstance(name, str) and name in before):
                for context in before[name].scoped_contexts:
                    terms = contexts.apply(terms, context)
    return terms


@dataclass
class _ContextReader:
    """Reader of JSON-LD contexts; ``applied_count`` limits their number."""

    catalog: Catalog | None
    applied_count: int = 0

    def apply(self, terms: Terms, context: Any, within: tuple[str, ...] = ()) -> Terms:
        """Apply a context to ``terms``; ``within``: IRIs of the contexts that led to it. Raises:
        InputError.
        """
        self.applied_count += 1
        if self.applied_count > _MOST_CONTEXTS:
            raise InputError(f"over {_MOST_CONTEXTS} contexts", "Give it one context.")
        if context is None:
            return {}
        if isinstance(context, list):
            for part in context:
                terms = self.apply(terms, part, within)
            return terms
        if isinstance(context, str):
            return (
                terms
                if context in within
                else self.apply(terms, self._load_from_catalog(context), (*within, context))
            )
        if not isinstance(context, dict):
            return terms
        own = {key: value for key, value in context.items() if not key.startswith("@")}
        return {
            **terms,
            **{
                key: DefinedTerm(
                    _resolve_keyword(key, own, terms, ()), _find_scoped_contexts(value)
                )
                for key, value in own.items()
            },
        }

    def _load_from_catalog(self, iri: str) -> Any:
        """Load the context behind an IRI from the catalog; {} if it is missing or unreadable."""
        path = None if self.catalog is None else self.catalog.find(iri)
        with suppress(ValueError, OSError):
            found = {} if path is None else json.loads(path.read_text("utf-8-sig"))
            return found.get("@context", {}) if isinstance(found, dict) else {}
        return {}


def _find_scoped_contexts(definition: Any) -> list[Any]:
    """Scoped context of a term definition, as a list of one; [] if it has none."""
    return (
        [definition["@context"]]
        if isinstance(definition, dict) and "@context" in definition
        else []
    )


def _resolve_keyword(
    term: str, own: Mapping[str, Any], terms: Terms, within: tuple[str, ...]
) -> str:
    """Keyword of which ``term`` is an alias, looked up in its ``own`` context first; "" if it is no
    alias.
    """
    if term not in own or term in within:
        return terms[term].keyword if term in terms and term not in own else ""
    meant = own[term].get("@id") if isinstance(own[term], dict) else own[term]
    if not isinstance(meant, str):
        return ""
    return meant if meant.startswith("@") else _resolve_keyword(meant, own, terms, (*within, term))


_JSON_DECODER: Final = json.JSONDecoder()
#: How blank nodes begin that have a label in the record, and that have none.
_LABELLED_PREFIX, _UNLABELLED_PREFIX = "_:e.", "_:e.."


class _InMemoryDocument(FileSource):
    """Source for the JSON-LD reader whose text is in memory; it has no base IRI."""

    @property
    def iri(self) -> str:
        """Placeholder for a base IRI."""
        return NOWHERE


class JsonRecord(NamedTuple):
    """Parsed JSON-LD record: time or None, ``@id`` or ``id``, and N-Triples lines."""

    t: int | None
    id: str | None
    lines: list[str]


def parse_jsonld_record(
    text: str | bytes, unit: str = "sec", catalog: Catalog | None = None, *, lenient: bool = False
) -> JsonRecord:
    """Parse a JSON-LD object as a record.

    Its ``t`` is the time, and no statement unless a context defines it.
    lenient: skip members without meaning.
    Raises: EventError.
    """
    triples, rejects = Triples(), Rejects("the record")
    t: int | None = None
    name: str | None = None
    try:
        text = text if isinstance(text, str) else text.decode("utf-8-sig")
        found = json.loads(text)
        if not isinstance(found, dict):
            raise EventError("a JSON object is needed")
        t, given = parse_optional_time(found.get("t"), unit), found.get("@id", found.get("id"))
        name = given if isinstance(given, str) else None
        is_kept = "t" in found and "t" in find_defined_terms(found, catalog)
        members = [*_split_members(text)]
        if sum(key == "t" for key, _ in members) > 1:
            raise EventError('the member "t" is there twice')
        document = "{" + ",".join(said for key, said in members if key != "t" or is_kept) + "}"
        source = _InMemoryDocument(
            "the record", Path(), Format.JSONLD, content=document.encode("utf-8", "surrogatepass")
        )
        read_json(source, triples, number_labels("e"), rejects, catalog)
    except InputError as error:
        raise EventError(error.message, t, name) from None
    except (ValueError, RecursionError) as error:
        raise EventError(
            str(error) if isinstance(error, EventError) else f"no JSON: {error}", t, name
        ) from None
    if rejects.total and not lenient:
        first = rejects.examples[0]
        raise EventError(f"{first.message}{allow_hint(('malformed',))}", t, name)
    return JsonRecord(t, name, _write_ntriples(triples))


def _split_members(text: str) -> Iterator[tuple[str, str]]:
    """Yield the members of a JSON object: name, and text as written."""
    at = _skip_blanks(text, text.index("{") + 1)
    while text[at] != "}":
        key, end = _JSON_DECODER.raw_decode(text, at)
        _, end = _JSON_DECODER.raw_decode(text, _skip_blanks(text, text.index(":", end) + 1))
        yield key, text[at:end]
        at = _skip_blanks(text, end)
        at = _skip_blanks(text, at + 1) if text[at] == "," else at


def _skip_blanks(text: str, at: int) -> int:
    """Index of the first non-blank character from ``at`` on."""
    while text[at] in " \t\r\n":
        at += 1
    return at


def parse_optional_time(t: object, unit: str) -> int | None:
    """Parse a record's time; None if it has none."""
    try:
        return (
            None
            if t is None
            else parse_time({"t": int(t) if isinstance(t, JsonNumber) else t}, unit)
        )
    except ValueError:
        return None


def _write_ntriples(triples: Triples) -> list[str]:
    """N-Triples lines of all graphs; unlabelled blank nodes get fresh labels."""
    written = {
        term.removeprefix(_LABELLED_PREFIX)
        for term in triples.terms
        if isinstance(term, str) and term.startswith(_LABELLED_PREFIX)
    }
    prefix = "node"
    while any(label.startswith(prefix) for label in written):
        prefix += "x"

    def write_term(i: int) -> str:
        """N-Triples text of a term, with final labels of blank nodes."""
        term = triples.terms[i]
        if isinstance(term, str) and term.startswith(_UNLABELLED_PREFIX):
            return f"_:{prefix}{term.removeprefix(_UNLABELLED_PREFIX)}"
        return (
            f"_:{term.removeprefix(_LABELLED_PREFIX)}"
            if isinstance(term, str) and term.startswith(_LABELLED_PREFIX)
            else term_text(term)
        )

    rows = zip(triples.subject, triples.predicate, triples.object)
    return list(
        dict.fromkeys(f"{write_term(s)} {write_term(p)} {write_term(o)} ." for s, p, o in rows)
    )
