"""Smallest changes of data that end a contradiction, as values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from shiq.answers.verdict import drop_empty
from shiq.inputs.reading import Place
from shiq.model import Assertion
from shiq.model.ntriples import assertion_lines

INSERTIONS, BASE = "insertions", "base"


@dataclass(frozen=True, slots=True)
class Change:
    """A change to the data: the removal of one assertion, or its replacement by a respelt one.

    side: `INSERTIONS` or `BASE`, the side that asserts it.
    sentences: the conflicts that it ends, in words.
    replacement: the assertion with a literal that the ontology accepts; None: it is removed.
    places: where the assertion was read.
    """

    assertion: Assertion
    side: str
    sentences: tuple[str, ...]
    replacement: Assertion | None = None
    places: tuple[Place, ...] = ()

    @property
    def removed_lines(self) -> tuple[str, ...]:
        """Return the assertion to remove as N-Triples lines."""
        return assertion_lines(self.assertion)

    @property
    def added_lines(self) -> tuple[str, ...]:
        """Return the replacement as N-Triples lines; () without one."""
        return assertion_lines(self.replacement) if self.replacement else ()

    @property
    def is_nameless(self) -> bool:
        """Decide whether the change is about a blank node, which a SPARQL update cannot name."""
        return has_blank_node((*self.removed_lines, *self.added_lines))

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "side": self.side,
            "remove": list(self.removed_lines),
            **drop_empty(
                add=list(self.added_lines),
                places=[place.to_dict() for place in self.places],
                because=list(self.sentences),
            ),
        }


def has_blank_node(lines: Iterable[str]) -> bool:
    """Decide whether N-Triples lines mention a blank node.

    >>> has_blank_node(['_:b <urn:p> "_:c" .']), has_blank_node(['<urn:a> <urn:p> "_:c" .'])
    (True, False)
    """
    return any(term.startswith("_:") for x in lines for term in (x, x.split(" ", 2)[2]))


@dataclass(frozen=True, slots=True)
class RepairPlan:
    """Changes that together make base and batch consistent, or the base alone.

    changes: in the order of their texts; () if no verified ones were found.
    is_smallest: no fewer changes would do.
    reason: why there are none; "" if there are.
    is_for_base: the base is inconsistent by itself, so that the batch was not looked at.
    """

    changes: tuple[Change, ...] = ()
    is_smallest: bool = False
    reason: str = ""
    is_for_base: bool = False

    @property
    def is_verified(self) -> bool:
        """Decide whether a check of the data with all changes gave `consistent`."""
        return bool(self.changes)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "verified": self.is_verified,
            "smallest": self.is_smallest,
            "changes": [change.to_dict() for change in self.changes],
            **drop_empty(reason=self.reason, scope=BASE if self.is_for_base else ""),
        }
