"""Records that are JSON-LD, each an object in a line: as N-Triples, by the reader of files
(`shiq.rdf.jsonld`).

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
from shiq.rdf.triples import Rejects, Triples, numbered_labels, term_text
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
_MOST: Final = 1000


class DefinedTerm(NamedTuple):
    """``keyword``: what the term is another name of, "" for none; ``scoped_contexts``: the context that
    it brings along, in a list.
    """

    keyword: str
    scoped_contexts: list[Any]


#: What is defined, by term.
Terms = Mapping[str, DefinedTerm]


def defined_terms(found: Mapping[str, Any], catalog: Catalog | None) -> Terms:
    """The terms that are defined for the members of the object ``found``. Raises: InputError."""
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
    """``applied_count``: how many were."""

    catalog: Catalog | None
    applied_count: int = 0

    def apply(self, terms: Terms, context: Any, within: tuple[str, ...] = ()) -> Terms:
        """The ``terms`` after ``context``, which the IRIs ``within`` led to. Raises: InputError."""
        self.applied_count += 1
        if self.applied_count > _MOST:
            raise InputError(f"over {_MOST} contexts", "Give it one context.")
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
                else self.apply(terms, self._load(context), (*within, context))
            )
        if not isinstance(context, dict):
            return terms
        own = {key: value for key, value in context.items() if not key.startswith("@")}
        return {
            **terms,
            **{
                key: DefinedTerm(_resolve_keyword(key, own, terms, ()), _scoped_contexts(value))
                for key, value in own.items()
            },
        }

    def _load(self, iri: str) -> Any:
        path = None if self.catalog is None else self.catalog.find(iri)
        with suppress(ValueError, OSError):
            found = {} if path is None else json.loads(path.read_text("utf-8-sig"))
            return found.get("@context", {}) if isinstance(found, dict) else {}
        return {}


def _scoped_contexts(definition: Any) -> list[Any]:
    return (
        [definition["@context"]]
        if isinstance(definition, dict) and "@context" in definition
        else []
    )


def _resolve_keyword(
    term: str, own: Mapping[str, Any], terms: Terms, within: tuple[str, ...]
) -> str:
    """What a ``term`` is another name of, by its ``own`` context first."""
    if term not in own or term in within:
        return terms[term].keyword if term in terms and term not in own else ""
    meant = own[term].get("@id") if isinstance(own[term], dict) else own[term]
    if not isinstance(meant, str):
        return ""
    return meant if meant.startswith("@") else _resolve_keyword(meant, own, terms, (*within, term))


_JSON: Final = json.JSONDecoder()
#: How blank nodes begin that have a label in the record, and that have none.
_LABELLED_PREFIX, _UNLABELLED_PREFIX = "_:e.", "_:e.."


class _Document(FileSource):
    """A document of which nothing is relative to a place."""

    @property
    def iri(self) -> str:
        return NOWHERE


class JsonRecord(NamedTuple):
    """``t``: its time, if it has one; ``id``: its ``@id``, or ``id``; ``lines``: its triples."""

    t: int | None
    id: str | None
    lines: list[str]


def parse_jsonld_record(
    text: str | bytes, unit: str = "sec", catalog: Catalog | None = None, *, lenient: bool = False
) -> JsonRecord:
    """The record that is the object ``text``. Its ``t`` is its time, and no part of the document
    unless its contexts define it. ``lenient``: what has no meaning is passed over. Raises:
    EventError.
    """
    triples, rejects = Triples(), Rejects("the record")
    t: int | None = None
    name: str | None = None
    try:
        text = text if isinstance(text, str) else text.decode("utf-8-sig")
        found = json.loads(text)
        if not isinstance(found, dict):
            raise EventError("a JSON object is needed")
        t, given = _record_time(found.get("t"), unit), found.get("@id", found.get("id"))
        name = given if isinstance(given, str) else None
        is_kept = "t" in found and "t" in defined_terms(found, catalog)
        members = [*_raw_members(text)]
        if sum(key == "t" for key, _ in members) > 1:
            raise EventError('the member "t" is there twice')
        document = "{" + ",".join(said for key, said in members if key != "t" or is_kept) + "}"
        source = _Document(
            "the record", Path(), Format.JSONLD, content=document.encode("utf-8", "surrogatepass")
        )
        read_json(source, triples, numbered_labels("e"), rejects, catalog)
    except InputError as error:
        raise EventError(error.message, t, name) from None
    except (ValueError, RecursionError) as error:
        raise EventError(
            str(error) if isinstance(error, EventError) else f"no JSON: {error}", t, name
        ) from None
    if rejects.total and not lenient:
        first = rejects.examples[0]
        raise EventError(f"{first.message}{allow_hint(('malformed',))}", t, name)
    return JsonRecord(t, name, _ntriples_lines(triples))


def _raw_members(text: str) -> Iterator[tuple[str, str]]:
    """The members of the object ``text``, which is one, by name, as they are written."""
    at = _skip_blanks(text, text.index("{") + 1)
    while text[at] != "}":
        key, end = _JSON.raw_decode(text, at)
        _, end = _JSON.raw_decode(text, _skip_blanks(text, text.index(":", end) + 1))
        yield key, text[at:end]
        at = _skip_blanks(text, end)
        at = _skip_blanks(text, at + 1) if text[at] == "," else at


def _skip_blanks(text: str, at: int) -> int:
    """The place of what comes from ``at`` on, but for blanks."""
    while text[at] in " \t\r\n":
        at += 1
    return at


def _record_time(t: object, unit: str) -> int | None:
    try:
        return None if t is None else parse_time({"t": t}, unit)
    except EventError:
        return None


def _ntriples_lines(triples: Triples) -> list[str]:
    """The triples of all graphs; nodes without a label get one that nobody has."""
    written = {
        term.removeprefix(_LABELLED_PREFIX)
        for term in triples.terms
        if isinstance(term, str) and term.startswith(_LABELLED_PREFIX)
    }
    prefix = "node"
    while any(label.startswith(prefix) for label in written):
        prefix += "x"

    def text(i: int) -> str:
        term = triples.terms[i]
        if isinstance(term, str) and term.startswith(_UNLABELLED_PREFIX):
            return f"_:{prefix}{term.removeprefix(_UNLABELLED_PREFIX)}"
        return (
            f"_:{term.removeprefix(_LABELLED_PREFIX)}"
            if isinstance(term, str) and term.startswith(_LABELLED_PREFIX)
            else term_text(term)
        )

    rows = zip(triples.subject, triples.predicate, triples.object)
    return list(dict.fromkeys(f"{text(s)} {text(p)} {text(o)} ." for s, p, o in rows))
