"""Conflicts of a batch that Spark has decided: explained on the driver, from the insertions of the inconsistent groups alone.

The engine `local` explains those insertions as if they were the batch. A minimal conflict may also join insertions of groups that
are consistent by themselves, or of one of them and an inconsistent one; it then shows when insertions are taken out, as in
`abox_ops.conflicts.explain`: so each time nothing is left here, Spark is asked for the whole batch without what was taken out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from abox_ops.conflicts.explain import Explainer
from abox_ops.conflicts.hitting_sets import next_removal
from shiq.abox import ABox, abox_of
from shiq.model import Assertion

#: The insertions of groups that are inconsistent when these are taken out.
Elsewhere = Callable[[set[Assertion]], list[Assertion]]


@dataclass
class FarExplainer(Explainer):
    """An `Explainer` of some of the insertions of a batch; ``elsewhere`` looks at the rest."""

    elsewhere: Elsewhere = field(default=lambda removed: [])

    def _search(self, insertions: ABox) -> None:
        """As `Explainer._search`, with the rest of the batch looked at wherever a hitting set leaves nothing here."""
        known: dict[Assertion, None] = dict.fromkeys(insertions)
        tried: set[frozenset[Assertion]] = set()
        while self.found and not self._is_over() and len(self.found) < self.limit:
            removed, paths = next_removal(list(self.found), tried)
            if not paths:
                return
            add_set, groups = self.check(_without(known, removed))
            if not groups:
                more = self.elsewhere(removed)
                if any(a not in known for a in more):
                    known |= dict.fromkeys(more)
                    add_set, groups = self.check(_without(known, removed))
            if groups:
                if not self._explain_groups(add_set, groups):
                    self.complete = False
                    return
            else:
                tried |= paths
        self.complete = self.complete and not self.found


def _without(assertions: dict[Assertion, None], removed: set[Assertion]) -> ABox:
    return abox_of(a for a in assertions if a not in removed)
