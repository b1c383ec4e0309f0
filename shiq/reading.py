"""What reading some sources gave: axioms, assertions, and everything that became neither."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from shiq.abox import ABox
from shiq.model import TBox
from shiq.place import LeftAt, Places, nothing_left, nowhere
from shiq.verdict import Leftover


@dataclass(frozen=True, eq=False)
class Reading:
    """The result of reading one or more sources together.

    ``ledger`` counts every triple in exactly one bucket: ``axiom``, ``assertion``, ``declaration``, ``annotation`` (with ontology
    headers), or ``leftover:KIND``; its values sum up to the number of triples (for functional syntax: of axioms) read. A line or
    passage that is no triple counts as one, under ``leftover:malformed``.
    ``tbox`` holds only what SHIQ(D) can say and is well-formed (simple roles where they are needed); the rest is in
    ``leftovers``.
    ``labels``: what terms of the TBox are called, by IRI, where annotations say so.
    ``places``: where the assertions were read, for as long as the reading is kept; ``left_at``: where each of the leftovers was,
    those too of which ``leftovers`` only says how many there are; ``left_out``: each line, triple, axiom or assertion that is in
    neither, one by one as it stands (`shiq.left_out`).
    ``ontologies``: the IRIs by which the sources can be imported (of ontologies, their versions and their documents).
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
