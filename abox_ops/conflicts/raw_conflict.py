"""A conflict as values of the model, before it is put into words."""

from __future__ import annotations

from dataclasses import dataclass

from shiq.model import Assertion, Axiom


@dataclass(frozen=True, slots=True)
class RawConflict:
    """Conflict in values of the model: ``is_minimal``: whether every smaller part was decided to
    be consistent; False where time ran out, or the reasoner left one undetermined.
    """

    insertions: tuple[Assertion, ...]
    base: tuple[Assertion, ...]
    axioms: tuple[Axiom, ...]
    is_minimal: bool = True
