"""Encode model values as JSON, without loss: [type name, field, field, …].

Functional syntax is more readable. But reading it back renames blank nodes and rejects some axioms,
and a store must return exactly the values that it was given.

>>> from shiq.model import Class, SubClassOf
>>> encode(SubClassOf(Class("urn:A"), Class("urn:B")))
['SubClassOf', ['Class', 'urn:A'], ['Class', 'urn:B']]
>>> decode(['SubClassOf', ['Class', 'urn:A'], ['Class', 'urn:B']])
SubClassOf(sub=Class(iri='urn:A'), sup=Class(iri='urn:B'))
"""

from __future__ import annotations

import dataclasses
from typing import Any

from shiq import model
from shiq.answers.verdict import Leftover

_TYPES: dict[str, type[Any]] = {
    name: value
    for name, value in vars(model).items()
    if isinstance(value, type) and dataclasses.is_dataclass(value)
} | {"Leftover": Leftover}
_FIELDS = {value: tuple(f.name for f in dataclasses.fields(value)) for value in _TYPES.values()}


def encode(value: Any) -> Any:
    """Encode an OWL value (axiom, assertion, expression, or tuple of such) as JSON, without loss."""
    if isinstance(value, str | int):
        return value
    if isinstance(value, tuple):
        return ["", *map(encode, value)]
    if isinstance(value, frozenset):
        return ["set", *sorted(map(encode, value))]
    fields = _FIELDS[type(value)]
    if (isinstance(value, model.Signature) and not value.declared) or (
        isinstance(value, model.TBox) and not value.doubtful
    ):
        fields = fields[:-1]  # as stores have it that were written without it
    return [type(value).__name__, *(encode(getattr(value, name)) for name in fields)]


def decode(value: Any) -> Any:
    """Decode an OWL value from the JSON that `encode` made. Raises: KeyError, TypeError for other
    input.
    """
    if not isinstance(value, list):
        return value
    name, *fields = value
    if not name:
        return tuple(map(decode, fields))
    if name == "set":
        return frozenset(map(decode, fields))
    return _TYPES[name](*map(decode, fields))
