"""A_add as published (Wu and Lécué, CIKM 2014, section 4), with what THEORY, "The procedure"
puts right.

Put right beyond the print, each with a test:
* An individual that enters brings all its part-of role assertions, also where nothing is
  asserted of it by name (the print's step 2 waits for a concept assertion).
* A remedy that A alone does not entail, since its role assertion or its premise is inserted,
  makes its individual enter.
* What THEORY, "Beyond SHIQ(D), at no loss", adds (disjoint, asymmetric, irreflexive roles,
  negative assertions) is never irrelevant.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from shiq.abox_ops.labels.label_calculus import Label, clashes, contradiction_label, join
from shiq.abox_ops.modules.components import KeptAssertions
from shiq.abox_ops.published.remedies import Definition7
from shiq.datatypes import DataTheory, IllTyped
from shiq.model import Assertion, DataPropertyAssertion, ObjectPropertyAssertion
from shiq.model.abox import individuals_of
from shiq.model.roles import Role, role_of
from shiq.simplify import SimplifiedTBox
from tests.spec.element_graph import ElementGraph
from tests.spec.graphs import Closure, keep_negative

#: A role assertion between individuals or elements, as seen from the first.
RoleAssertion = tuple[Role, str, str]


def definition7(
    tbox: SimplifiedTBox,
    theory: DataTheory,
    old: ElementGraph,
    whole: ElementGraph,
    inserted: Iterable[Assertion],
) -> Closure:
    """A_add for normalised insertions ``inserted`` (= A⁺ \\ A, already in ``whole``); labels are
    asserted ones and remedies.

    Stops because elements enter once.
    """
    inserted = list(inserted)
    negated = {role for table in whole.negative_edges.values() for role, _ in table}
    rules = Definition7.build(
        tbox, negated, {p for table in whole.negative_data.values() for p, _ in table}
    )
    part_of, find, members = rules.part_of, whole.elements.find, whole.elements.members
    edges = {
        (role_of(a.property), a.subject, a.object)
        for a in inserted
        if isinstance(a, ObjectPropertyAssertion)
    }
    edges |= {(role.inverse, b, a) for role, a, b in edges}
    kept: set[RoleAssertion] = set()
    remedies: set[tuple[str, str, bool]] = set()

    def deal(assertions: Iterable[RoleAssertion]) -> set[str]:
        """Step 3: keeps each role assertion or puts its remedies in its place; the elements that
        enter by that.
        """
        entering: set[str] = set()
        for role, subject, object in assertions:
            if role not in part_of:
                continue
            a, b = find(subject), find(object)
            before = (
                None
                if (role, subject, object) in edges
                else (_base_label(old, subject), _base_label(old, object))
            )
            found = rules.outcome(role, whole.asserted_label(a), whole.asserted_label(b), before)
            if found.is_kept:
                kept.add((role, a, b))
            remedies.update(
                (b if at_object else a, name, positive)
                for at_object, name, positive in found.remedies
            )
            entering |= {
                end
                for end, enters in ((a, found.subject_enters), (b, found.object_enters))
                if enters
            }
        return entering

    entered: set[str] = set()
    reached = deal(edges) | {
        find(i) for a in inserted if _enters_at_once(a, rules, theory) for i in individuals_of(a)
    }
    while frontier := reached - entered:
        entered |= frontier
        about = (i for element in frontier for i in members(element))
        reached = deal(
            (role, i, other) for i in about for role, other in whole.half_edges.get(i, ())
        )
    return asserted_closure(theory, whole, inserted, entered, kept, rules.features, remedies)


def _base_label(old: ElementGraph, individual: str) -> Label:
    return old.asserted_label(old.elements.find(individual))


def _enters_at_once(assertion: Assertion, rules: Definition7, theory: DataTheory) -> bool:
    """Whether the individuals of an inserted assertion enter by that alone."""
    if isinstance(assertion, DataPropertyAssertion):
        return assertion.property.iri in rules.features or isinstance(
            theory.value(assertion.literal), IllTyped
        )
    return not isinstance(assertion, ObjectPropertyAssertion)


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
    labels = {e: whole.asserted_label(e) for e in seen}
    for element, name, positive in remedies:
        bit = 1 << whole.tbox.atom_ids[name]
        if element in labels:
            labels[element] = join(labels[element], (bit, 0) if positive else (0, bit))
    for element in seen:
        if any(isinstance(theory.value(v), IllTyped) for _, v in whole.values(element)):
            labels[element] = contradiction_label(whole.tbox)
    contradictory = {e for e in seen if clashes(labels[e])}
    rest = seen - contradictory
    kept = KeptAssertions({e: labels[e] for e in rest})
    inside = [(role, a, b) for role, a, b in edges if a in rest and b in rest]
    kept.edges = {
        (b, role.inverse, a) if role.is_inverse else (a, role, b) for role, a, b in inside
    }
    for a in rest:
        keep_negative(kept, whole, a)
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
