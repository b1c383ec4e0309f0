"""What reading some sources gave: axioms, assertions, and everything that became neither; and
where it stood.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from shiq.abox import ABox
from shiq.model import Assertion, Axiom, TBox
from shiq.verdict import Leftover


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """One triple of the input. ``source``: file or object; ``line``: 1-based, of a table the
    row, 0 where unknown; ``graph``: the named graph as an N-Triples term, "" for the default
    graph; ``key``: what the caller calls the row of a table; ``column``: the columns of a table
    that it was made of by a mapping.
    """

    source: str = ""
    line: int = 0
    graph: str = ""
    key: str = ""
    column: str = ""

    def __str__(self) -> str:
        """As a message names it: by file and line, and of a table the column."""
        line = f"{self.source}:{self.line}" if self.line else self.source
        return f"{line}, column {self.column}" if self.column else line

    def to_dict(self) -> dict[str, Any]:
        """The JSON form: what is known."""
        known = {
            "source": self.source,
            "line": self.line,
            "graph": self.graph,
            "key": self.key,
            "column": self.column,
        }
        return {name: value for name, value in known.items() if value}


#: Looks up where assertions were read; every place of each, in the order read.
Places: TypeAlias = Callable[[Iterable[Assertion]], Mapping[Assertion, tuple[Place, ...]]]


#: Gives each of the things that were not interpreted with every place that it stands for.
LeftAt: TypeAlias = Callable[[], Iterable[tuple[Leftover, tuple[Place, ...]]]]


def nothing_left() -> tuple[()]:
    """What there is of that where everything was interpreted."""
    return ()


def nowhere(assertions: Iterable[Assertion]) -> Mapping[Assertion, tuple[Place, ...]]:
    """The places of what did not come from a source."""
    return {}


@dataclass(frozen=True)
class Assumption:
    """Axioms under which what a leftover tells of holds, whatever it says (THEORY, "Axioms that
    were not understood").
    """

    leftover: Leftover
    axioms: tuple[Axiom, ...]


@dataclass(frozen=True, eq=False)
class Reading:
    """The result of reading one or more sources together.

    ``ledger`` counts every triple in exactly one bucket: ``axiom``, ``assertion``,
    ``declaration``, ``annotation`` (with ontology headers), or ``leftover:KIND``; its values sum
    up to the number of triples (for functional syntax: of axioms) read. A line or passage that
    is no triple counts as one, under ``leftover:malformed``. ``tbox`` holds only what SHIQ(D)
    can say and is well-formed (simple roles where they are needed); the rest is in
    ``leftovers``. ``labels``: what terms of the TBox are called, by IRI, where annotations say
    so. ``places``: where the assertions were read, for as long as the reading is kept;
    ``left_at``: where each of the leftovers was, those too of which ``leftovers`` only says how
    many there are; ``left_out``: each line, triple, axiom or assertion that is in neither, one
    by one as it stands (`shiq.left_out`). ``ontologies``: the IRIs by which the sources can be
    imported (of ontologies, their versions and their documents). ``assumptions``: by which
    leftovers could be shown to be harmless.
    """

    tbox: TBox = field(default_factory=TBox)
    abox: ABox = field(default_factory=ABox)
    leftovers: tuple[Leftover, ...] = ()
    ledger: Mapping[str, int] = field(default_factory=Counter)
    sources: tuple[str, ...] = ()
    ontologies: frozenset[str] = frozenset()
    labels: Mapping[str, str] = field(default_factory=dict)
    places: Places = nowhere
    left_at: LeftAt = nothing_left
    left_out: Iterable[Leftover] = ()
    assumptions: tuple[Assumption, ...] = ()
