"""Fresh names: deterministic, one counter per pass, the same name for the same key.

>>> names = FreshNames("demo")
>>> names.name("a filler"), names.name("another"), names.name("a filler")
(('urn:shiq:fresh:demo:0', True), ('urn:shiq:fresh:demo:1', True), ('urn:shiq:fresh:demo:0', False))
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from itertools import count

from shiq.model import Class, ClassExpression, ObjectComplementOf

PREFIX = "urn:shiq:fresh:"
_RESERVED = re.compile(PREFIX + r"(definition4:)?(desugar|normal-form|restrictions|transitivity):[0-9]+")


def is_reserved(name: str) -> bool:
    """Whether ``name`` looks like one that a pass makes. Others that begin with `PREFIX` are free for callers."""
    return _RESERVED.fullmatch(name) is not None


class FreshNames:
    """Names ``urn:shiq:fresh:<label>:<n>``, numbered in the order in which their keys come up; names in ``taken`` are passed
    over. What comes later never changes an earlier name, so axioms added at the end leave those of the front alone."""

    def __init__(self, label: str, taken: frozenset[str] = frozenset()) -> None:
        self._candidates = (name for n in count() if (name := f"{PREFIX}{label}:{n}") not in taken)
        self._names: dict[Hashable, str] = {}

    def name(self, key: Hashable) -> tuple[str, bool]:
        """The name for ``key``, and whether it is new."""
        known = self._names.get(key)
        if known is not None:
            return known, False
        made = self._names[key] = next(self._candidates)
        return made, True

    def literal(self, key: Hashable, positive: bool) -> tuple[ClassExpression, bool]:
        """A literal on the name for (``key``, ``positive``), and whether the name is new.

        The literal L is to be defined by L ⊑ D. With ``positive`` it is a name Q (Q ⊑ D), otherwise ¬Q (¬D ⊑ Q): taking the
        latter where D holds no positive literal keeps Horn inclusions Horn (Motik, Shearer, Horrocks 2009, section 4.1).
        """
        name, is_new = self.name((key, positive))
        return (Class(name) if positive else ObjectComplementOf(Class(name))), is_new
