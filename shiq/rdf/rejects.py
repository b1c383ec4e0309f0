"""Lines and passages that are not RDF: collected in one pass, never in silence."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from shiq.left_out import Spool
from shiq.rdf.triples import short
from shiq.verdict import Leftover

#: More rejects of one source are only counted: a million broken lines are one mistake.
MOST_SHOWN = 1000


@dataclass
class Rejects:
    """The malformed lines of one source; ``total`` counts all, ``whole`` has all, as they stand."""

    source: str
    total: int = 0
    shown: list[Leftover] = field(default_factory=list)
    whole: Spool = field(default_factory=Spool)
    unsure: int = 0  # of them, those that do not even look like a triple

    def add(self, message: str, line: int = 0, text: str = "", hint: str = "") -> None:
        self.total += 1
        found = Leftover("malformed", message, self.source, line, text.strip(), hint)
        self.whole.add(found)
        if self.total <= MOST_SHOWN:
            self.shown.append(replace(found, text=short(found.text)))

    def leftovers(self) -> list[Leftover]:
        hidden = self.total - len(self.shown)
        if not hidden:
            return self.shown
        more = Leftover("malformed", f"{hidden} more lines like those above", self.source, count=hidden)
        return [*self.shown, more]
