"""Group conflicts by cause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from shiq.explanation.labels import Labels
from shiq.explanation.patterns import (
    ConflictForm,
    Key,
    Pattern,
    PatternStory,
    abstract_conflict,
    describe_conflict,
    distinguish_titles,
    iris_in,
)

if TYPE_CHECKING:
    from shiq.answers.result import Conflict


#: Conflicts named in the JSON form of a group.
SHOWN = 10


@dataclass(frozen=True, slots=True)
class ConflictGroup:
    """Conflicts with one cause: their common pattern, and their positions in the list of all
    conflicts.

    conflicts: positions in the list that was grouped, ascending
    """

    pattern: Pattern
    conflicts: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form: the pattern, the number of conflicts, and the positions of the
        first few.
        """
        return {
            "pattern": self.pattern.id,
            "rule": self.pattern.rule,
            "title": self.pattern.title,
            "sentence": self.pattern.sentence,
            "axioms": list(self.pattern.axioms),
            "manchester": list(self.pattern.manchester),
            "count": len(self.conflicts),
            "conflicts": list(self.conflicts[:SHOWN]),
        }


class ExplainedConflicts:
    """The patterns (common causes) and sentences of a list of conflicts. Conflicts that are equal
    up to renaming are explained once.

    ``labels``: labels by IRI, or a `Labels` whose names are distinct already.
    """

    def __init__(
        self, conflicts: Sequence[Conflict], labels: Labels | Mapping[str, str] | None = None
    ) -> None:
        self.labels = labels if isinstance(labels, Labels) else labels_for(conflicts, labels or {})
        self._told: dict[Key, PatternStory] = {}
        self._forms: list[ConflictForm] = []
        for conflict in conflicts:
            form = abstract_conflict(conflict)
            self._forms.append(form)
            if form.key not in self._told:
                self._told[form.key] = describe_conflict(conflict, self.labels)
        self._patterns = {
            p.id: p for p in distinguish_titles([told.pattern for told in self._told.values()])
        }

    def pattern(self, place: int) -> Pattern:
        """Return the pattern of the conflict at position ``place``. Different patterns have
        different titles.
        """
        return self._patterns[self._told[self._forms[place].key].pattern.id]

    def sentence(self, place: int) -> str:
        """Explain the conflict at position ``place`` in plain English, with its own individuals."""
        form = self._forms[place]
        return self._told[form.key].sentence(form.terms, self.labels)

    @cached_property
    def groups(self) -> tuple[ConflictGroup, ...]:
        """The conflicts grouped by pattern: biggest group first, then in the order of first
        occurrence.
        """
        places: dict[str, list[int]] = {}
        for i in range(len(self._forms)):
            places.setdefault(self.pattern(i).id, []).append(i)
        found = [
            ConflictGroup(self.pattern(numbers[0]), tuple(numbers)) for numbers in places.values()
        ]
        return tuple(sorted(found, key=lambda g: (-len(g.conflicts), g.conflicts[0])))


def labels_for(conflicts: Sequence[Conflict], known: Mapping[str, str]) -> Labels:
    """Make readable labels for ``conflicts``, in which all terms of their axioms have distinct
    names.
    """
    axioms = {axiom for conflict in conflicts for axiom in conflict.axiom_values}
    terms = set(iris_in(axioms))
    return Labels({iri: known[iri] for iri in terms if iri in known}, terms)


def group(conflicts: Sequence[Conflict], labels: Labels | None = None) -> tuple[ConflictGroup, ...]:
    """Group conflicts by their common cause: biggest group first, then in the order of first
    occurrence.
    """
    return ExplainedConflicts(conflicts, labels).groups


def sentence(conflict: Conflict, labels: Labels | None = None) -> str:
    """Explain ``conflict`` in plain English, with its own individuals."""
    return ExplainedConflicts([conflict], labels).sentence(0)
