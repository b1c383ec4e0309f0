"""Where an assertion was read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from shiq.model import Assertion
    from shiq.verdict import Leftover


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """One triple of the input. ``source``: file or object; ``line``: 1-based, of a table the row, 0 where unknown; ``graph``: the
    named graph as an N-Triples term, "" for the default graph; ``key``: what the caller calls the row of a table."""

    source: str = ""
    line: int = 0
    graph: str = ""
    key: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The JSON form: what is known."""
        known = {"source": self.source, "line": self.line, "graph": self.graph, "key": self.key}
        return {name: value for name, value in known.items() if value}


#: Looks up where assertions were read; every place of each, in the order read.
Places: TypeAlias = Callable[[Iterable["Assertion"]], Mapping["Assertion", tuple[Place, ...]]]


#: Gives each of the things that were not interpreted with every place that it stands for.
LeftAt: TypeAlias = Callable[[], Iterable[tuple["Leftover", tuple[Place, ...]]]]


def nothing_left() -> tuple[()]:
    """What there is of that where everything was interpreted."""
    return ()


def nowhere(assertions: Iterable[Assertion]) -> Mapping[Assertion, tuple[Place, ...]]:
    """The places of what did not come from a source."""
    return {}
