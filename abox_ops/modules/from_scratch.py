"""Consistency from scratch: all of a small ABox by its asserted labels, in modules (the criterion
`none`). Single questions are asked so: whether a conflict is one, whether anything can exist.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass

from abox_ops.elements.normal import normalise, vocabulary
from abox_ops.elements.reference import ElementGraph
from abox_ops.engine import NamedModule
from abox_ops.labels.calculus import clashes, contradiction, join
from abox_ops.modules.closure import Closure
from abox_ops.modules.components import KeptAssertions, modules
from shiq.abox import individuals_of
from shiq.clause import ClausalTBox
from shiq.datatypes import DataTheory, IllTyped
from shiq.model import Assertion, TBox
from shiq.roles import Role, role_box
from simplify import simplify

#: A role assertion between individuals or elements, as seen from the first.
RoleAssertion = tuple[Role, str, str]


@dataclass(frozen=True)
class ScratchQuestion:
    """A question about all of a small ABox, in modules.

    tbox: the clauses over which the modules are written.
    contradictory: whether an element contradicts by itself; there is nothing to ask then.
    modules: consistent together if each of them is.
    """

    tbox: ClausalTBox
    contradictory: bool
    modules: tuple[NamedModule, ...]

    @classmethod
    def build(cls, tbox: TBox, assertions: Iterable[Assertion]) -> ScratchQuestion:
        """Ask whether (``tbox``, ``assertions``), which lies in SHIQ(D), is consistent."""
        batch, roles = sorted(set(assertions), key=repr), role_box(tbox.axioms)
        clauses = simplify(tbox, vocabulary(batch, roles)).clauses
        graph = ElementGraph(clauses)
        for assertion in batch:
            graph.individuals.update(individuals_of(assertion))
            for plain in normalise(assertion, roles).assertions:
                graph.add(plain)
        closure = closure_of_all(clauses, DataTheory(clauses.definitions, clauses.roles), graph)
        members = {e: graph.elements.members(e) for e in closure.kept.labels}
        return cls(clauses, bool(closure.contradictory), tuple(modules(closure.kept, members)))


def closure_of_all(
    tbox: ClausalTBox, theory: DataTheory, whole: ElementGraph, inserted: Iterable[Assertion] = ()
) -> Closure:
    """Keep all of A ∪ A⁺, with asserted labels: the criterion `none` on a small graph."""
    elements = set(whole.names())
    edges = {(role, a, b) for a in elements for role, b in whole.neighbours(a)}
    negated = {p for table in whole.negative_data.values() for p, _ in table}
    features = tbox.data_properties | tbox.roles.data_below(negated)
    return asserted_closure(theory, whole, inserted, elements, edges, features, frozenset())


def asserted_closure(
    theory: DataTheory,
    whole: ElementGraph,
    inserted: Iterable[Assertion],
    seen: Set[str],
    edges: Iterable[RoleAssertion],
    features: Set[str],
    remedies: Set[tuple[str, str, bool]],
) -> Closure:
    """The elements ``seen`` with what is asserted of them, and ``remedies``; role assertions
    ``edges`` between them, and data on ``features``.
    """
    labels = {e: whole.asserted(e) for e in seen}
    for element, name, positive in remedies:
        bit = 1 << whole.tbox.atom_ids[name]
        if element in labels:
            labels[element] = join(labels[element], (bit, 0) if positive else (0, bit))
    for element in seen:
        if any(isinstance(theory.value(v), IllTyped) for _, v in whole.values(element)):
            labels[element] = contradiction(whole.tbox)
    contradictory = {e for e in seen if clashes(labels[e])}
    rest = seen - contradictory
    kept = KeptAssertions({e: labels[e] for e in rest})
    inside = [(role, a, b) for role, a, b in edges if a in rest and b in rest]
    kept.edges = {(b, role.inverse, a) if role.inverted else (a, role, b) for role, a, b in inside}
    for a in rest:
        kept.keep_negative(whole, a)
        kept.data |= {(a, p, v) for p, v in whole.values(a) if p in features}
    touched = {whole.elements.find(i) for x in inserted for i in individuals_of(x)}
    return Closure(
        frozenset(seen),
        labels,
        frozenset(touched),
        frozenset(contradictory),
        kept,
        frozenset(remedies),
    )
