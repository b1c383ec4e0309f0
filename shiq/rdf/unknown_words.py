"""Words in a reserved namespace that do not exist, where they can say nothing that an axiom
could see.

>>> is_idle("urn:Cat", RDFS + "description", Literal("purrs"), RDFS + "description")
True
>>> is_idle("urn:Cat", RDFS + "subclassOf", "urn:Animal", RDFS + "subclassOf")
False
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher

from shiq.model import OWL, RDFS, Literal
from shiq.rdf.triples import Term
from shiq.rdf.vocabulary import (
    ANNOTATIONS,
    CARDINALITIES,
    DATATYPES,
    FACETS,
    FIRST,
    KNOWN,
    PLAIN_PROPERTIES,
    TYPE,
    local_name,
)

#: Words of which axioms are made, that a literal may follow.
_BEFORE_LITERALS = (
    FACETS | CARDINALITIES.keys() | {OWL + "hasValue", OWL + "hasSelf", OWL + "targetValue", FIRST}
)
#: Words of which axioms are made, that a name or node may follow; predicates begin with a small
#: letter.
_BEFORE_NODES = {
    word
    for word in KNOWN - ANNOTATIONS - DATATYPES - FACETS - PLAIN_PROPERTIES
    if local_name(word)[0].islower()
}
#: Annotation properties that only document, and other words for such.
_DOCUMENTING = ("label", "comment", "seealso", "isdefinedby", "versioninfo")
_DOCUMENTING_LITERALS = frozenset(
    (
        "about",
        "abstract",
        "definition",
        "description",
        "example",
        "name",
        "note",
        "remark",
        "summary",
        "title",
        "version",
    )
)
_DECLARING = {
    "class": "class",
    **dict.fromkeys(("property", "objectproperty", "datatypeproperty", "dataproperty"), "property"),
}
_ABOVE = (RDFS + "domain", RDFS + "range", RDFS + "subClassOf")


def is_idle(subject: str, predicate: str, value: Term, word: str) -> bool:
    """Whether a triple with the unknown ``word`` is in no axiom, whatever the word was meant to
    be (THEORY, "Unknown words").
    """
    name = local_name(word).lower()
    if predicate in _ABOVE and value == word:
        return name == "resource"
    if predicate == TYPE and value == word:
        return name in ("resource", "description") or bool(declared_kind(word))
    if predicate == RDFS + "subPropertyOf" and value == word:
        return name in {local_name(iri).lower() for iri in ANNOTATIONS}
    if predicate != word or subject.startswith("_:"):
        return False
    documents = max(SequenceMatcher(None, name, word).ratio() for word in _DOCUMENTING) >= 0.75
    if isinstance(value, Literal):
        if name in _DOCUMENTING_LITERALS:
            return True
        return (
            documents
            and not _is_near(name, _BEFORE_LITERALS, 0.6)
            and not _is_near(name, _BEFORE_NODES, 0.75)
        )
    return documents and not _is_near(name, _BEFORE_NODES | _BEFORE_LITERALS, 0.6)


def declared_kind(word: str) -> str:
    """What ``x rdf:type word`` declares x to be, as by another spelling of a word that declares:
    "class", or "property" of open kind; "" for any other word.
    """
    return _DECLARING.get(local_name(word).lower(), "")


def _is_near(name: str, words: Iterable[str], share: float) -> bool:
    """Whether one of ``words`` begins like ``name``, or has that share of letters in common with
    it (Ratcliff and Obershelp).
    """
    others = [local_name(word).lower() for word in words]
    return any(
        other.startswith(name)
        or name.startswith(other)
        or SequenceMatcher(None, name, other).ratio() >= share
        for other in others
    )
