"""Justify one conflict: find a minimal part of the base and of the axioms with which its insertions
contradict.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from shiq import model as owl
from shiq.abox_ops.conflicts.minimal_subsets import connected_assertions
from shiq.abox_ops.conflicts.refuter import Refuter, is_about_roles
from shiq.abox_ops.modules.decide import KnownReasons
from shiq.answers.result import Conflict
from shiq.datatypes import DataTheory
from shiq.explanation.canonical_text import canonicalise_rows, number_triples
from shiq.explanation.proof import prove
from shiq.model.clause import ClausalTBox
from shiq.model.walk import parts
from shiq.simplify.locality import relevant_axioms

#: Seconds for making the base and the axioms of one conflict minimal. What is left by then is
#: given as it is, and marked. Insertions are not bounded by it: who is blamed does not depend on
#: the machine's speed.
PATIENCE = 60.0
#: Forms of conflicts with more rows are not compared up to the names of individuals.
LONG = 60


@dataclass
class ReasonCache:
    """Cache of the axioms found for the conflicts of one batch, tried first for the next one.

    ``doubtful``: by form, axiom sets that may not be minimal. ``by_signature``: by the names in the
    assertions, the sets found last.
    """

    doubtful: KnownReasons = field(default_factory=dict)
    by_signature: dict[frozenset[object], list[owl.Axiom]] = field(default_factory=dict)


def justify(
    refuter: Refuter,
    cache: ReasonCache,
    tbox: ClausalTBox,
    insertions: frozenset[owl.Assertion],
    base: list[owl.Assertion],
    *,
    is_base_consistent: bool,
    is_doubtful: bool,
) -> Conflict:
    """Find a minimal part of ``base``, and of the axioms, that contradicts ``insertions``; within
    `PATIENCE`. ``is_doubtful``: the insertions may not be minimal.
    """
    refuter.in_doubt = is_doubtful
    refuter.conflict_deadline = time.monotonic() + PATIENCE
    try:
        fixed = sorted(insertions, key=repr)
        is_told = refuter.has_told_clash(tbox, [*fixed, *base])
        refuter.budget.begin(is_told=is_told)
        # What hangs together with no insertion is consistent, as A is.
        near = (
            partial(connected_assertions, fixed)
            if fixed and is_base_consistent
            else list[owl.Assertion]
        )

        def still_contradicts(part: list[owl.Assertion]) -> bool:
            """Decide whether the insertions contradict ``part`` of the base; note it if the budget
            is spent.
            """
            budget = refuter.budget
            refuter.in_doubt = refuter.in_doubt or budget.is_empty
            return not budget.is_empty and refuter.is_inconsistent(tbox, [*fixed, *near(part)])

        needed = refuter.minimal_sublist(base, still_contradicts)
        refuter.budget.begin(is_told=is_told)
        axioms = _minimal_axioms(refuter, cache, tbox, [*fixed, *needed])
        return Conflict(tuple(fixed), tuple(needed), tuple(axioms), is_minimal=not refuter.in_doubt)
    finally:
        refuter.conflict_deadline = None
        refuter.budget.end()


def _minimal_axioms(
    refuter: Refuter, cache: ReasonCache, tbox: ClausalTBox, assertions: list[owl.Assertion]
) -> list[owl.Axiom]:
    """Find a minimal set of axioms that contradicts ``assertions``.

    Conflicts that differ only in individuals share it. Where they may differ in literals that the
    axioms distinguish, that is verified.
    """
    rows, terms = number_triples(assertions)
    # Long ones come once each.
    form = canonicalise_rows(rows)[0] if len(rows) <= LONG else tuple(rows)
    reasons = refuter.decider.reason_cache(refuter.tbox)
    known, is_sure = reasons.get(form) or cache.doubtful.get(form) or (None, False)
    if known is not None and not (
        any(isinstance(t, owl.Literal) for t in terms) and _depends_on_literals(known, assertions)
    ):
        refuter.in_doubt = refuter.in_doubt or not is_sure
        return known
    if known is not None and is_sure and _is_minimal_justification(refuter, known, assertions):
        return known
    named = frozenset(
        part
        for part in parts(tuple(assertions))
        if isinstance(part, owl.Class | owl.ObjectProperty | owl.DataProperty)
    )
    guess = cache.by_signature.get(named)
    candidates = (
        guess
        if guess and refuter.is_refuted_by(guess, assertions)
        else _candidate_axioms(refuter, tbox, assertions)
    )
    found = refuter.minimal_sublist(
        candidates, lambda part: refuter.is_refuted_by(part, assertions)
    )
    # What there was no time to make minimal is looked at again for the next batch.
    (cache.doubtful if refuter.in_doubt else reasons)[form] = found, not refuter.in_doubt
    cache.by_signature[named] = found
    return found


def _candidate_axioms(
    refuter: Refuter, tbox: ClausalTBox, assertions: list[owl.Assertion]
) -> list[owl.Axiom]:
    """Find a small set of axioms that contradicts ``assertions``; it may not be minimal."""
    used = refuter.used_axioms(tbox, assertions)
    candidates = [a for a in refuter.tbox.axioms if a in used] if used else []
    without_roles = [a for a in candidates if not is_about_roles(a)]
    # Clauses do not tell which axioms about roles they rest on; mostly it is none.
    if len(without_roles) < len(candidates) and refuter.is_refuted_by(without_roles, assertions):
        candidates = without_roles
    elif not candidates or not refuter.is_refuted_by(candidates, assertions):
        candidates = relevant_axioms(refuter.tbox.axioms, assertions)
    # A proof is a good guess, which makes what follows ten times as fast. It is verified like any
    # other; where there is no time for that, it is the answer, as not shown to be minimal.
    proof, before = prove(assertions, candidates, (0,)), refuter.in_doubt
    if proof is not None and (
        refuter.is_refuted_by(proof.axioms, assertions) or refuter.exceeds_budget(assertions)
    ):
        return list(proof.axioms)
    refuter.in_doubt = before
    return candidates


def _is_minimal_justification(
    refuter: Refuter, axioms: list[owl.Axiom], assertions: list[owl.Assertion]
) -> bool:
    """Decide whether ``axioms`` contradict ``assertions`` and none of them can be left out."""
    return refuter.is_refuted_by(axioms, assertions) and not any(
        refuter.is_refuted_by(axioms[:i] + axioms[i + 1 :], assertions) for i in range(len(axioms))
    )


def _depends_on_literals(axioms: Sequence[owl.Axiom], assertions: Sequence[owl.Assertion]) -> bool:
    """Decide whether the answer for ``axioms`` and ``assertions`` may depend on the literals in the
    assertions. It does not where no axiom is about values, each literal denotes one, and no
    assertion says more of it. A contradiction without axioms rests on such a literal.
    """
    theory = DataTheory()
    more = (a for a in assertions if not isinstance(a, owl.DataPropertyAssertion))
    return (
        not axioms
        or any(map(_constrains_values, (*axioms, *more)))
        or any(
            theory.is_ill_typed(part)
            for part in parts(tuple(assertions))
            if isinstance(part, owl.Literal)
        )
    )


def _constrains_values(statement: owl.Axiom | owl.Assertion) -> bool:
    """Decide whether an axiom or assertion restricts which data values are possible."""
    match statement:
        case owl.SubDataPropertyOf() | owl.EquivalentDataProperties():
            return False
        case owl.DataPropertyDomain(_, domain):
            return any(isinstance(part, owl.DataProperty) for part in parts(domain))
    return any(isinstance(part, owl.DataProperty | owl.Datatype) for part in parts(statement))
