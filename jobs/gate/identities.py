"""What a gate tells of individuals that its batch makes equal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from abox_ops.conflicts import identities as entailed
from shiq.functional.writer import axiom_text
from shiq.ntriples import assertion_lines, term
from shiq.result import Result


@dataclass(frozen=True, slots=True)
class EqualIndividuals:
    """Individuals that a batch makes equal: ``individuals``: N-Triples terms that are equal, one
    for each individual or class of equal ones that was told apart before; ``insertions``,
    ``base``, ``axioms``: a reason, as of a conflict; no ``insertions`` where the reason is not
    direct.
    """

    individuals: tuple[str, ...]
    insertions: tuple[str, ...]
    base: tuple[str, ...]
    axioms: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "individuals": list(self.individuals),
            "insertions": list(self.insertions),
            "base": list(self.base),
            "axioms": list(self.axioms),
        }


@runtime_checkable
class _Telling(Protocol):
    """An add set that is elsewhere, and tells from there."""

    def identities(self) -> list[entailed.Identity]: ...


def identities_of(result: Result) -> tuple[EqualIndividuals, ...]:
    """What becomes equal by the batch of ``result``."""
    add_set: _Telling | entailed.Merging = result.a_add.add_set  # type: ignore[attr-defined]
    found = add_set.identities() if isinstance(add_set, _Telling) else entailed.identities(add_set)
    return tuple(map(_told, found))


def _told(identity: entailed.Identity) -> EqualIndividuals:
    insertions, base, axioms = dict[str, None](), dict[str, None](), dict[str, None]()
    for reason in identity.reasons:
        for assertion in reason.assertions:
            (insertions if assertion in reason.inserted else base).update(
                dict.fromkeys(assertion_lines(assertion))
            )
        axioms.update(dict.fromkeys(map(axiom_text, reason.axioms)))
    return EqualIndividuals(
        tuple(term(part[0]) for part in identity.parts),
        tuple(insertions),
        tuple(base),
        tuple(axioms),
    )
