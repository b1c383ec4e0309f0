"""Many knowledge bases as one, with names kept apart: what has a high fixed cost is asked about
all of them at once.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from typing import Any

from shiq.abox_ops.engine import AddSet, NamedModule
from shiq.model import Assertion, TBox
from tests.tools.random_ontologies.gadgets import renamed
from tests.tools.random_ontologies.kb import RandomKB

#: A TBox, a base, insertions and deletions.
Parts = tuple[TBox, list[Assertion], list[Assertion], list[Assertion]]


class Apart(dict[str, str]):
    """Gives every name that begins with ``prefix`` a number."""

    def __init__(self, prefix: str, number: int) -> None:
        super().__init__()
        self.prefix, self.number = prefix, number

    def get(self, key: str, default: Any = None) -> Any:
        return f"{key}.{self.number}" if key.startswith(self.prefix) else default


def parts_of(kb: RandomKB) -> Parts:
    """The parts of a random knowledge base."""
    return kb.tbox, list(kb.abox), list(kb.insertions), list(kb.deletions)


def side_by_side(cases: Iterable[Parts], prefix: str) -> Parts:
    """One knowledge base of many, their names kept apart."""
    axioms: list[Any] = []
    base: list[Assertion] = []
    insertions: list[Assertion] = []
    deletions: list[Assertion] = []
    for number, (tbox, a, i, d) in enumerate(cases):
        names = Apart(prefix, number)
        axioms += (renamed(axiom, names) for axiom in tbox.axioms)
        for mine, theirs in ((base, a), (insertions, i), (deletions, d)):
            mine += (renamed(assertion, names) for assertion in theirs)
    return TBox(tuple(dict.fromkeys(axioms))), base, insertions, deletions


def same_add_set(found: AddSet, wanted: AddSet) -> None:
    """Assert that two add sets are equal."""
    assert set(found.kept_assertions()) == set(wanted.kept_assertions())
    assert (found.insertions, found.size, found.pulled_in) == (
        wanted.insertions,
        wanted.size,
        wanted.pulled_in,
    )
    assert list(found.contradictory) == list(wanted.contradictory)
    assert [(m.elements, m.module) for m in modules_of(found)] == [
        (m.elements, m.module) for m in wanted.modules
    ]


def modules_of(add_set: Any) -> Sequence[NamedModule]:
    """The modules of an add set, fetched to the driver where they are tables."""
    if not hasattr(add_set, "module_tables"):
        return add_set.modules
    tables = add_set.module_tables
    chosen = tables.members.filter("component IS NOT NULL").select("component", "id")
    members = add_set.elements_of(chosen)
    rows = tables.keys.join(tables.records.select("key", "body"), "key").collect()
    named = (NamedModule(pickle.loads(row.body), members[row.component]) for row in rows)
    return sorted(named, key=lambda m: m.elements[0][0])
