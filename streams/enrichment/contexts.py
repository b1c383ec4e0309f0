"""Terms that a JSON-LD object's contexts define for its own members, in the order in which
JSON-LD applies contexts.

A list is applied member by member, null takes away what was defined, an IRI stands for a file of
the catalog; then come the contexts that the object's types bring along (type-scoped). `@vocab`
gives every word a meaning, and defines none. What the reader refuses (contexts that are not
there, or take themselves as a context) is passed over here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from shiq.catalog import Catalog
from shiq.errors import InputError

#: No record has more contexts.
_MOST: Final = 1000


class DefinedTerm(NamedTuple):
    """``keyword``: what the term is another name of, "" for none; ``scoped``: the context that
    it brings along, in a list.
    """

    keyword: str
    scoped: list[Any]


#: What is defined, by term.
Terms = Mapping[str, DefinedTerm]


def terms_at(found: Mapping[str, Any], catalog: Catalog | None) -> Terms:
    """The terms that are defined for the members of the object ``found``. Raises: InputError."""
    contexts = _Contexts(catalog)
    before = terms = contexts.after({}, found.get("@context", {}))
    for key in sorted(found):
        if key == "@type" or (key in terms and terms[key].keyword == "@type"):
            given = found[key] if isinstance(found[key], list) else [found[key]]
            for name in sorted(name for name in given if isinstance(name, str) and name in before):
                for context in before[name].scoped:
                    terms = contexts.after(terms, context)
    return terms


@dataclass
class _Contexts:
    """``applied``: how many were."""

    catalog: Catalog | None
    applied: int = 0

    def after(self, terms: Terms, context: Any, within: tuple[str, ...] = ()) -> Terms:
        """The ``terms`` after ``context``, which the IRIs ``within`` led to. Raises: InputError."""
        self.applied += 1
        if self.applied > _MOST:
            raise InputError(f"over {_MOST} contexts", "Give it one context.")
        if context is None:
            return {}
        if isinstance(context, list):
            for part in context:
                terms = self.after(terms, part, within)
            return terms
        if isinstance(context, str):
            return (
                terms
                if context in within
                else self.after(terms, self._named(context), (*within, context))
            )
        if not isinstance(context, dict):
            return terms
        own = {key: value for key, value in context.items() if not key.startswith("@")}
        return {
            **terms,
            **{
                key: DefinedTerm(_keyword(key, own, terms, ()), _scoped(value))
                for key, value in own.items()
            },
        }

    def _named(self, iri: str) -> Any:
        path = None if self.catalog is None else self.catalog.find(iri)
        with suppress(ValueError, OSError):
            found = {} if path is None else json.loads(path.read_text("utf-8-sig"))
            return found.get("@context", {}) if isinstance(found, dict) else {}
        return {}


def _scoped(definition: Any) -> list[Any]:
    return (
        [definition["@context"]]
        if isinstance(definition, dict) and "@context" in definition
        else []
    )


def _keyword(term: str, own: Mapping[str, Any], terms: Terms, within: tuple[str, ...]) -> str:
    """What a ``term`` is another name of, by its ``own`` context first."""
    if term not in own or term in within:
        return terms[term].keyword if term in terms and term not in own else ""
    meant = own[term].get("@id") if isinstance(own[term], dict) else own[term]
    if not isinstance(meant, str):
        return ""
    return meant if meant.startswith("@") else _keyword(meant, own, terms, (*within, term))
