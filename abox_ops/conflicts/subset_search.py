"""Search for minimal conflicts by asking the reasoner about subsets of the batch, for questions
outside clauses and modules.

Asked first is about what lies near the insertions, in growing circles of individuals, since most
contradictions are small; then what is left is halved (`minimal_sublist`). Every answer that counts is of
the reasoner's; an undetermined one keeps what it is about.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from shiq.abox_ops.conflicts.minimal_subsets import SMALL, minimal_sublist
from shiq.answers.result import Conflict
from shiq.answers.verdict import Verdict
from shiq.model import Assertion, Axiom
from shiq.model.abox import individuals_of
from shiq.reasoner.protocol import Answer
from shiq.simplify.locality import relevant_axioms

#: Circles that are asked about before all is.
CIRCLES = 3

#: Whether axioms and assertions are consistent.
Ask = Callable[[Sequence[Axiom], Sequence[Assertion]], Answer]


class SubsetSearch:
    """Search for minimal sets of insertions that contradict ``axioms`` together with ``base``.

    ``found`` is filled in as conflicts are found.
    """

    def __init__(
        self,
        axioms: Sequence[Axiom],
        base: Sequence[Assertion],
        ask: Ask,
        is_over: Callable[[], bool],
        found: list[Conflict],
        progress: Callable[[str, int, int], None] | None = None,
    ) -> None:
        self.axioms, self.base, self.ask, self.is_over = axioms, base, ask, is_over
        self.conflicts, self.progress = found, progress
        self.is_unsure = False
        self._assertions_of: dict[str, list[Assertion]] = defaultdict(list)
        for assertion in base:
            for individual in individuals_of(assertion):
                self._assertions_of[individual].append(assertion)

    def run(self, inserted: Sequence[Assertion], limit: int) -> bool:
        """Search for up to ``limit`` conflicts, each without some insertion of every earlier one.
        Returns whether all were found.
        """
        removed: set[Assertion] = set()
        while len(self.conflicts) < limit:
            if self.progress:
                self.progress("explaining conflicts", len(self.conflicts), 0)
            rest = [a for a in inserted if a not in removed]
            if self.conflicts:
                verdict = (
                    Verdict.UNDETERMINED
                    if self.is_over()
                    else self.ask(self.axioms, [*self.base, *rest]).verdict
                )
                if verdict is not Verdict.INCONSISTENT:
                    # Others may share an insertion with one of several.
                    singles = all(
                        len(c.insertion_values) == 1 and c.is_minimal for c in self.conflicts
                    )
                    return singles and verdict is Verdict.CONSISTENT
            conflict = self.find_conflict(rest)
            if conflict is None:
                return False
            self.conflicts.append(conflict)
            if not conflict.insertion_values:
                return False
            removed.add(conflict.insertion_values[0])
        return False

    def find_conflict(self, inserted: Sequence[Assertion]) -> Conflict | None:
        """Find one minimal conflict in ``inserted``; None if time runs out first."""
        self.is_unsure = False
        near = self._nearby_assertions(inserted)
        blamed = minimal_sublist(
            self._contradicting_part(inserted, near),
            lambda part: self.refutes(self.axioms, [*near, *part]),
        )
        if self.is_over():
            return None
        if len(near) < len(self.base) and len(blamed) > 1:
            # With more of the base in view fewer of them may do.
            blamed = minimal_sublist(
                blamed, lambda part: self.refutes(self.axioms, [*self.base, *part])
            )
            if not self.refutes(self.axioms, [*near, *blamed]):
                near = list(self.base)
        needed = minimal_sublist(near, lambda part: self.refutes(self.axioms, [*blamed, *part]))
        candidates = relevant_axioms(self.axioms, [*blamed, *needed])
        reasons = minimal_sublist(candidates, lambda part: self.refutes(part, [*blamed, *needed]))
        return Conflict(
            tuple(blamed),
            tuple(needed),
            tuple(reasons),
            is_minimal=not self.is_unsure and not self.is_over(),
        )

    def _contradicting_part(
        self, inserted: Sequence[Assertion], near: Sequence[Assertion]
    ) -> list[Assertion]:
        """Find a small sublist of ``inserted`` that still contradicts, by halving a list in which
        similar insertions stand together.
        """
        part = sorted(inserted, key=lambda a: (individuals_of(a), repr(a)))
        while len(part) > SMALL:
            halves = (part[: len(part) // 2], part[len(part) // 2 :])
            found = next(
                (half for half in halves if self.refutes(self.axioms, [*near, *half])), None
            )
            if found is None:
                break
            part = found
        return part

    def refutes(self, axioms: Sequence[Axiom], assertions: Sequence[Assertion]) -> bool:
        """Ask the reasoner whether ``assertions`` contradict ``axioms``; False if it does not know."""
        if self.is_over():
            self.is_unsure = True
            return False
        verdict = self.ask(axioms, assertions).verdict
        self.is_unsure = self.is_unsure or verdict is Verdict.UNDETERMINED
        return verdict is Verdict.INCONSISTENT

    def _nearby_assertions(self, inserted: Sequence[Assertion]) -> list[Assertion]:
        """Select base assertions in a neighbourhood of ``inserted`` that already contradicts it;
        the complete base if no small one does.
        """
        for circle in self._growing_neighbourhoods(inserted):
            if self.refutes(self.axioms, [*circle, *inserted]):
                return circle
        return list(self.base)

    def _growing_neighbourhoods(self, inserted: Iterable[Assertion]) -> Iterator[list[Assertion]]:
        """Yield the base assertions within 1, 2, 3 … steps of the individuals of ``inserted``."""
        met: dict[Assertion, None] = {}
        individuals = {i for assertion in inserted for i in individuals_of(assertion)}
        for _ in range(CIRCLES):
            new = {
                assertion: None
                for i in sorted(individuals)
                for assertion in self._assertions_of.get(i, ())
            }
            met.update(new)
            if len(met) == len(self.base):
                return
            yield list(met)
            individuals = {i for assertion in new for i in individuals_of(assertion)}
