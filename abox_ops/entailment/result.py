"""What is entailed of the individuals of an event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from shiq.answers.verdict import Verdict

#: A role (its IRI), and two individuals.
RolePair: TypeAlias = tuple[str, str, str]
#: Classes by individual: the IRI of a named class, the text of another in functional syntax.
Types: TypeAlias = Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class Entailment:
    """What (T, B ∪ E) entails, exactly, where ``verdict`` is CONSISTENT; else nothing is told.

    ``types``: of each individual of E, which of the classes that were asked about it belongs to,
    maybe none. ``pairs``: of the roles asked about, between individuals of E. ``static_types``,
    ``static_pairs``, where they were asked for: the same of the individuals that E does not
    mention (of pairs: with such an end), less what (T, B) by itself entails; only those with
    any. ``reason``: why the verdict is UNDETERMINED. ``touches``: the individuals whose change
    alone can change this; None: any. ``changes``: those who can be something else, or be linked
    otherwise, with E than without, E's own too; None: any.
    """

    verdict: Verdict
    types: Types = field(default_factory=dict)
    pairs: frozenset[RolePair] = frozenset()
    static_types: Types = field(default_factory=dict)
    static_pairs: frozenset[RolePair] = frozenset()
    reason: str = ""
    touches: frozenset[str] | None = field(default=None, compare=False)
    changes: frozenset[str] | None = field(default=None, compare=False)


def undetermined(reason: str) -> Entailment:
    """An entailment that is not known, for this reason."""
    return Entailment(Verdict.UNDETERMINED, reason=reason)


INCONSISTENT = Entailment(Verdict.INCONSISTENT)
