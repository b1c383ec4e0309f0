"""Words of a name, its article, and what properties and classes are called."""

from __future__ import annotations

import re
from typing import Any

from shiq import model as owl
from shiq.explanation.labels import Labels

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+|[^\w\s]+")
_CAMEL = re.compile(r"[a-z0-9][A-Z]|_")


def a(name: str) -> str:
    """``name`` with its indefinite article."""
    return f"{'an' if _is_vowel(name) else 'a'} {name}"


def _is_vowel(name: str) -> bool:
    word = name.lstrip("“'\"(")
    if re.match(r"(?i)(?:uni(?!n|m)|us[eu]|eur|one\b|u[^a-z]|utility)", word):
        return False
    if re.match(r"[A-Z]{2,}\b|[A-Z]\b", word):
        return word[0] in "AEFHILMNORSX"
    return word[:1].lower() in "aeiou" or word.lower().startswith(("hono", "hour", "heir"))


def words(name: str) -> str:
    """The words of a name in camel case; a label of several words stays as it is."""
    if " " in name or not _CAMEL.search(name):
        return name
    return " ".join(
        word if len(word) > 1 and word.isupper() else word.lower() for word in _WORD.findall(name)
    )


def property_name(property: Any, labels: Labels) -> str:
    iri = property.property.iri if isinstance(property, owl.ObjectInverseOf) else property.iri
    return words(labels.of(iri))


def class_name(cls: owl.Class, labels: Labels) -> str:
    return labels.of(cls.iri)


def some_name(property: Any, labels: Labels) -> str:
    return f"“{property_name(property, labels)}”"
