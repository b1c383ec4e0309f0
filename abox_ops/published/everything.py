"""The criterion `none`: nothing is left out. For small inputs, and as the plainest oracle of the other criteria."""

from __future__ import annotations

from collections.abc import Iterable

from abox_ops.elements.reference import ElementGraph
from abox_ops.labels.calculus import clashes, contradiction
from abox_ops.modules.add_set import Closure
from abox_ops.modules.components import KeptAssertions
from shiq.abox import individuals_of
from shiq.clause import ClausalTBox
from shiq.datatypes import DataTheory, IllTyped
from shiq.model import Assertion


def everything(tbox: ClausalTBox, theory: DataTheory, whole: ElementGraph, inserted: Iterable[Assertion] = ()) -> Closure:
    """All of A ∪ A⁺, with asserted labels."""
    elements = set(whole.names())
    labels = {e: whole.asserted(e) for e in elements}
    for element in elements:
        if any(isinstance(theory.value(v), IllTyped) for _, v in whole.values(element)):
            labels[element] = contradiction(tbox)
    contradictory = {e for e in elements if clashes(labels[e])}
    rest = elements - contradictory
    features = tbox.data_properties | {
        q for table in whole.negative_data.values() for p, _ in table for q in tbox.roles.data_subproperties(p)
    }
    kept = KeptAssertions({e: labels[e] for e in rest})
    for a in rest:
        kept.edges |= {(a, r, b) for r, b in whole.neighbours(a) if not r.inverted and b in rest}
        kept.keep_negative(whole, a)
        kept.data |= {(a, p, v) for p, v in whole.values(a) if p in features}
    touched = {whole.elements.find(i) for x in inserted for i in individuals_of(x)}
    return Closure(frozenset(elements), labels, frozenset(touched), frozenset(contradictory), kept)
