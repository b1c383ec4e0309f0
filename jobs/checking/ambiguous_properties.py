"""Check conflicts about properties that were read both as object and as data property: keep those
that hold in every reading.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from itertools import product
from typing import TypeAlias

from shiq.answers.result import Conflict
from shiq.functional import axiom_text
from shiq.jobs.checking.base import Findings
from shiq.model import (
    Assertion,
    DataProperty,
    DataPropertyAssertion,
    NegativeDataPropertyAssertion,
    NegativeObjectPropertyAssertion,
    ObjectProperty,
    ObjectPropertyAssertion,
    TBox,
)
from shiq.model.walk import entities

#: Whether a reasoner refutes a TBox with assertions.
Refutes: TypeAlias = Callable[[TBox, Sequence[Assertion]], bool]
#: Of more properties the readings are not gone through.
MOST_NAMES = 4
_ASSERTIONS = (
    *(ObjectPropertyAssertion, NegativeObjectPropertyAssertion),
    *(DataPropertyAssertion, NegativeDataPropertyAssertion),
)


def unsettled_properties(conflict: Conflict, open_names: Collection[str]) -> set[str]:
    """Find those of the properties ``open_names`` for which the conflict leaves open whether they
    are object or data properties.
    """
    values = (*conflict.axiom_values, *conflict.base_values, *conflict.insertion_values)
    used = {part for value in values for part in _properties_in(value) if part.iri in open_names}
    settled = {
        part
        for value in values
        if isinstance(value, _ASSERTIONS)
        for part in _properties_in(value)
        if part.iri in open_names
    }
    about_properties = [
        {*_properties_in(axiom)}
        for axiom in conflict.axiom_values
        if all(isinstance(e, _PROPERTIES) for e in entities(axiom))
    ]
    # A property of known kind carries it to those that an axiom puts beside it.
    settled |= {
        part
        for group in about_properties
        if any(p.iri not in open_names for p in group)
        for part in group & used
    }
    grown = True
    while grown:
        reached = set().union(*(group for group in about_properties if settled & group)) & used
        grown = not reached <= settled
        settled |= reached
    return {part.iri for part in used - settled}


_PROPERTIES = (ObjectProperty, DataProperty)


def _properties_in(value: object) -> list[ObjectProperty | DataProperty]:
    """Object and data properties that occur in ``value``."""
    return [part for part in entities(value) if isinstance(part, _PROPERTIES)]


def is_refuted_in_each_reading(
    conflict: Conflict, names: Collection[str], tbox: TBox, refutes: Refutes
) -> bool:
    """Decide whether the conflict's assertions contradict ``tbox`` however each of the properties
    ``names`` is read, as object or data property.
    """
    if len(names) > MOST_NAMES:
        return False
    assertions = (*conflict.base_values, *conflict.insertion_values)
    for kinds in product(_PROPERTIES, repeat=len(names)):
        dropped = {
            kind(name)
            for name, chosen in zip(sorted(names), kinds)
            for kind in _PROPERTIES
            if kind is not chosen
        }
        axioms = tuple(axiom for axiom in tbox.axioms if dropped.isdisjoint(_properties_in(axiom)))
        if not refutes(
            replace(tbox, axioms=axioms),
            [a for a in assertions if dropped.isdisjoint(_properties_in(a))],
        ):
            return False
    return True


def _drop_doubtful_conflicts(found: Findings, tbox: TBox, refutes: Refutes | None) -> Findings:
    """Drop the conflicts that do not hold without an axiom in doubt. If no conflict remains, the
    contradiction counts as undecided.
    """
    certain = replace(
        tbox,
        axioms=tuple(axiom for axiom in tbox.axioms if axiom not in tbox.doubtful),
        doubtful=frozenset(),
    )

    def is_certain(conflict: Conflict) -> bool:
        assertions = (*conflict.base_values, *conflict.insertion_values)
        if tbox.doubtful.isdisjoint((*conflict.axiom_values, *assertions)):
            return True
        return refutes is not None and refutes(
            certain, [a for a in assertions if a not in tbox.doubtful]
        )

    kept = [conflict for conflict in found.explanation.conflicts if is_certain(conflict)]
    if kept:
        return _replace_conflicts(found, kept)
    needed = next(
        (
            v
            for c in found.explanation.conflicts
            for v in (*c.axiom_values, *c.base_values)
            if v in tbox.doubtful
        ),
        None,
    )
    first = f", as {axiom_text(needed)}" if needed is not None else ""
    reason = f"there is a contradiction if the ontology means what is in doubt{first}: see the leftovers of the kind in-doubt"
    return _mark_undetermined(found, reason)


def keep_settled_conflicts(found: Findings, tbox: TBox, refutes: Refutes | None) -> Findings:
    """Keep the conflicts that hold in every reading of ``tbox``."""
    if not found.refuted_count or not tbox.has_readings:
        return found
    if tbox.doubtful:
        found = _drop_doubtful_conflicts(found, tbox, refutes)
    open_names = tbox.signature.open_properties
    if not found.refuted_count or not open_names:
        return found
    unsettled = [
        unsettled_properties(conflict, open_names) for conflict in found.explanation.conflicts
    ]
    settled = [
        conflict
        for conflict, names in zip(found.explanation.conflicts, unsettled)
        if not names
        or (refutes is not None and is_refuted_in_each_reading(conflict, names, tbox, refutes))
    ]
    if settled:
        return _replace_conflicts(found, settled)
    names = sorted(set().union(*unsettled) or open_names)
    shown = ", ".join(f"<{name}>" for name in names[:3]) + (", …" if len(names) > 3 else "")
    reason = f"there is a contradiction if each of {shown} is an object and a data property; declare them as one of the two"
    return _mark_undetermined(found, reason)


def _replace_conflicts(found: Findings, kept: Sequence[Conflict]) -> Findings:
    """Replace the conflicts of ``found`` by those ``kept``; the explanation is incomplete if some
    were dropped.
    """
    explained = found.explanation
    is_complete = explained.is_complete and len(kept) == len(explained.conflicts)
    return replace(found, explanation=replace(explained, conflicts=kept, is_complete=is_complete))


def _mark_undetermined(found: Findings, reason: str) -> Findings:
    """Remove the conflicts of ``found``, and count its contradiction as undecided, with ``reason``."""
    explained = replace(found.explanation, conflicts=(), unexplained_count=0, is_complete=False)
    return replace(
        found,
        refuted_count=0,
        explanation=explained,
        undecided_reasons=(*found.undecided_reasons, reason),
    )
