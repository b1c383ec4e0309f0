"""What a gate tells of individuals that its batch makes equal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from abox_ops import identities as entailed
from shiq.functional import axiom_text
from shiq.ntriples import assertion_lines, term
from shiq.result import Result


@dataclass(frozen=True, slots=True)
class Identity:
    """``individuals``: N-Triples terms that are equal, one for each individual or class of equal ones that was told apart
    before; ``insertions``, ``base``, ``axioms``: a reason, as of a conflict; no ``insertions`` where the reason is not direct."""

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


def identities_of(result: Result) -> tuple[Identity, ...] | None:
    """What becomes equal by the batch of ``result``; None where its engine does not tell."""
    add_set: Any = getattr(result.a_add, "add_set", None)
    if not hasattr(add_set, "merged"):
        return None
    return tuple(map(_told, entailed.identities(add_set)))


def _told(identity: entailed.Identity) -> Identity:
    insertions, base, axioms = dict[str, None](), dict[str, None](), dict[str, None]()
    for reason in identity.reasons:
        for assertion in reason.assertions:
            (insertions if assertion in reason.inserted else base).update(dict.fromkeys(assertion_lines(assertion)))
        axioms.update(dict.fromkeys(map(axiom_text, reason.axioms)))
    return Identity(tuple(term(part[0]) for part in identity.parts), tuple(insertions), tuple(base), tuple(axioms))
