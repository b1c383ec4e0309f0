"""Decide a small ABox from scratch, with asserted labels and all assertions kept: the criterion
`none` on dictionaries. It answers single questions, such as whether a conflict is one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from shiq.abox_ops.elements.element_graph import ElementGraph
from shiq.abox_ops.elements.normal_assertions import collect_vocabulary, normalise
from shiq.abox_ops.engine import NamedModule
from shiq.abox_ops.labels.label_calculus import clashes, contradiction_label
from shiq.abox_ops.modules.components import Closure, KeptAssertions, component_modules
from shiq.datatypes import DataTheory, IllTyped
from shiq.model import Assertion, TBox
from shiq.model.abox import individuals_of
from shiq.model.clause import ClausalTBox
from shiq.model.roles import role_box
from shiq.simplify import simplify


@dataclass(frozen=True)
class ScratchQuestion:
    """The question whether a small ABox is consistent, split into modules that keep every
    assertion.

    tbox: the clauses over which the modules are written.
    contradictory: whether an element contradicts by itself; there is nothing to ask then.
    modules: consistent together if each of them is.
    """

    tbox: ClausalTBox
    contradictory: bool
    modules: tuple[NamedModule, ...]

    @classmethod
    def build(cls, tbox: TBox, assertions: Iterable[Assertion]) -> ScratchQuestion:
        """Build the question whether (``tbox``, ``assertions``), which lies in SHIQ(D), is
        consistent.
        """
        batch, roles = sorted(set(assertions), key=repr), role_box(tbox.axioms)
        clauses = simplify(tbox, collect_vocabulary(batch, roles)).clauses
        graph = ElementGraph(clauses)
        for assertion in batch:
            graph.individuals.update(individuals_of(assertion))
            for plain in normalise(assertion, roles).assertions:
                graph.add(plain)
        closure = closure_of_all(clauses, DataTheory(clauses.definitions, clauses.roles), graph)
        members = {e: graph.elements.members(e) for e in closure.add_set.labels}
        return cls(
            clauses, bool(closure.contradictory), tuple(component_modules(closure.add_set, members))
        )


def closure_of_all(tbox: ClausalTBox, theory: DataTheory, whole: ElementGraph) -> Closure:
    """Keep all of A ∪ A⁺, with asserted labels: the criterion `none` on a small graph."""
    negated = {p for table in whole.negative_data.values() for p, _ in table}
    features = tbox.data_properties | tbox.roles.data_subproperties_of_any(negated)
    labels = {e: whole.asserted_label(e) for e in whole.element_names()}
    for element in labels:
        if any(isinstance(theory.value(v), IllTyped) for _, v in whole.values(element)):
            labels[element] = contradiction_label(whole.tbox)
    contradictory = {e for e, label in labels.items() if clashes(label)}
    rest = labels.keys() - contradictory
    kept = KeptAssertions({e: labels[e] for e in rest})
    for a in rest:
        for role, b in whole.neighbours(a):
            if b in rest:
                kept.edges.add((b, role.inverse, a) if role.is_inverse else (a, role, b))
        kept.keep_negative(whole, a)
        kept.data |= {(a, p, v) for p, v in whole.values(a) if p in features}
    return Closure(
        frozenset(labels), labels, frozenset(), frozenset(contradictory), kept, frozenset()
    )
