"""Read (T, B) with property chains, Self and reflexive roles as one of SHIQ(D) (THEORY, "Chains and
loops as clauses").
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from shiq import model as owl
from shiq.abox_ops.entailment.event_modules import AskedVocabulary
from shiq.abox_ops.entailment.premises import Premises
from shiq.errors import UsageError
from shiq.model.abox import abox_of
from shiq.model.role_words import IrregularRolesError
from shiq.model.roles import role_of
from shiq.simplify.chains import ChainFreeTBox, can_eliminate, eliminate_chains
from shiq.simplify.loops import loop_class


@dataclass(frozen=True, eq=False)
class ClausalReading:
    """Premises with property chains, Self and reflexive roles, rewritten as clauses of SHIQ(D) for
    the questions asked.

    tbox: the rewritten axioms, with a record of how each was read.
    has_pairs: whether equality could turn an asserted pair into a relevant loop. has_same: whether
    equalities are asserted.
    is_lower_bound: whether further consequences are possible; those of the reading are certain.
    """

    premises: Premises
    tbox: ChainFreeTBox
    has_pairs: bool
    has_same: bool
    is_lower_bound: bool = False

    @classmethod
    def build(
        cls, premises: Premises, asked: AskedVocabulary, *, is_below: bool = False
    ) -> ClausalReading | None:
        """Rewrite the premises. Return None if something else is beyond SHIQ(D), or chains and
        loops have no clausal form.
        """
        axioms = (*premises.all_axioms, *asked.axioms)
        if (
            premises.problems
            or premises.assertions
            or premises.abox.complex
            or not all(map(can_eliminate, axioms))
        ):
            return None
        try:
            tbox = eliminate_chains(axioms)
        except (IrregularRolesError, UsageError):
            return None
        said = tuple(premises.abox)
        loops, has_pairs = _asserted_loops(tbox, said)
        found = cls(
            Premises(owl.TBox(tbox.axioms), abox_of([*said, *loops])),
            tbox,
            has_pairs,
            bool(premises.abox.same),
            is_below,
        )
        return found if found._excludes_new_loops(has_pairs, found.has_same) else None

    def read_event(self, assertions: Sequence[owl.Assertion]) -> tuple[owl.Assertion, ...] | None:
        """Rewrite the event's ``assertions`` for this TBox. Return None if one is not on names
        alone, or if loops may arise that the clauses do not express.
        """
        for assertion in assertions:
            match assertion:
                case (
                    owl.ClassAssertion(owl.Class())
                    | owl.ObjectPropertyAssertion()
                    | owl.DataPropertyAssertion()
                ):
                    pass
                case owl.SameIndividual() | owl.DifferentIndividuals():
                    pass
                case _:
                    return None
        loops, has_pairs = _asserted_loops(self.tbox, assertions)
        has_same = self.has_same or any(isinstance(a, owl.SameIndividual) for a in assertions)
        if not self._excludes_new_loops(has_pairs or self.has_pairs, has_same):
            return None
        return (*assertions, *loops)

    def _excludes_new_loops(self, has_pairs: bool, has_same: bool) -> bool:
        """Decide whether no asserted pair can become a loop by equality, as far as loops matter for
        the answer.
        """
        return self.is_lower_bound or not (has_pairs and (has_same or self.tbox.has_bounds))


def _asserted_loops(
    tbox: ChainFreeTBox, assertions: Iterable[owl.Assertion]
) -> tuple[list[owl.Assertion], bool]:
    """Make a class assertion for each asserted loop that the TBox asks about.

    Returns also: whether there are pairs that equality would make such loops.
    """
    told: dict[owl.Assertion, None] = {}
    has_pairs = False
    if tbox.relevant_loops:
        for assertion in assertions:
            if isinstance(assertion, owl.ObjectPropertyAssertion):
                above = {
                    role.iri for role in tbox.roles.loops_above(role_of(assertion.property).iri)
                } & tbox.relevant_loops
                if assertion.subject == assertion.object:
                    told.update(
                        (owl.ClassAssertion(loop_class(iri), assertion.subject), None)
                        for iri in sorted(above)
                    )
                else:
                    has_pairs = has_pairs or bool(above)
    return list(told), has_pairs
