"""Tokens of N-Triples: what a mapping makes of a record."""

from __future__ import annotations

import re
from typing import Any, Final, TypeAlias

from shiq import model as owl

#: Subject, predicate and object, as N-Triples has them.
Statement: TypeAlias = tuple[str, str, str]

TYPE: Final = f"<{owl.RDF}type>"

_RESOURCE = re.compile(
    r"<[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\]*>|_:[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9_-])?"
)


def is_resource(token: str) -> bool:
    """Whether ``token`` is an absolute IRI or a blank node, with nothing odd about it."""
    return _RESOURCE.fullmatch(token) is not None


class RepeatedMemberError(ValueError):
    """An object of JSON with a member twice."""


def members_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON by its members. Raises: RepeatedMemberError."""
    if len(found := dict(pairs)) != len(pairs):
        names = [name for name, _ in pairs]
        raise RepeatedMemberError(
            f'the member "{next(name for name in names if names.count(name) > 1)}" is there twice'
        )
    return found
