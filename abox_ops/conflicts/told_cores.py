"""Cores of told contradictions: small inconsistent sets of assertions for many groups at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from shiq.abox_ops.conflicts.derivation import ToldDerivation
from shiq.abox_ops.conflicts.support_sets import SupportSets
from shiq.abox_ops.labels.data_restrictions import DataRestrictions
from shiq.model import Assertion, ClassAssertion

#: The individuals of one contradiction.
Group: TypeAlias = tuple[str, ...]


#: A region with more assertions than so many for each group, or so many in all, is not made larger
#: for all of them together.
MOST_FOR_A_GROUP, MOST = 40, 60
#: Groups at which a core behind one that is known is looked for, and the largest region that is
#: searched for it.
LOOKS_BEHIND, MOST_BEHIND = 32, 200


@dataclass
class ToldCores:
    """Search for one or more inconsistent sets of assertions for each of ``groups``, using told
    literals alone.

    known_insertions: insertions that are a conflict by themselves; no other minimal conflict
    contains them.
    is_enough: whether this number of cores is enough.
    by_group: the groups at which told literals clash, with their cores; none where only known
    insertions make them clash.
    """

    supports: SupportSets
    data: DataRestrictions
    groups: Sequence[Group]
    known_insertions: frozenset[Assertion]
    is_enough: Callable[[int], bool]
    by_group: dict[Group, list[list[Assertion]]] = field(default_factory=dict)

    def run(self) -> dict[Group, list[list[Assertion]]]:
        """Explore the surroundings of all groups together, step by step, until each group clashes
        or nothing more is told.
        """
        open_ = list(self.groups)
        most = max(MOST, MOST_FOR_A_GROUP * len(open_))
        for region in self.supports.growing_sets(
            (i for group in self.groups for i in group), told_only=True
        ):
            derivation = self.derive_told(region)
            clashing = [group for group in open_ if _clashing_individual(derivation, group)]
            self.by_group.update((group, []) for group in clashing)
            if clashing:
                self._peel_cores(derivation, region, clashing)
            open_ = [group for group in open_ if group not in self.by_group]
            if not open_ or len(region) > most or self._has_enough_cores():
                break
        return self.by_group

    def group_cores(self, region: Sequence[Assertion], group: Group) -> list[list[Assertion]]:
        """Find the cores of ``group`` among the assertions ``region`` around it; none if told
        literals do not clash there.
        """
        derivation = self.derive_told(region)
        if not _clashing_individual(derivation, group):
            return []
        self.by_group[group] = []
        self._peel_cores(derivation, region, [group])
        return self.by_group[group]

    def derive_told(self, assertions: Iterable[Assertion]) -> ToldDerivation:
        """Derive the told literals of ``assertions``. Base assertions are preferred as reasons over
        inserted ones.
        """
        found = ToldDerivation(self.supports.space, self.data)
        base, inserted = self.supports.split_by_origin(assertions)
        found.add_assertions(base)
        found.add_assertions(inserted)
        return found

    def _peel_cores(
        self, derivation: ToldDerivation, region: Sequence[Assertion], groups: Sequence[Group]
    ) -> None:
        """Find a core of each of ``groups``, drop its insertions and repeat, until no group
        clashes.

        Stops because insertions go each time.
        """
        gone = self.known_insertions.intersection(region)
        if gone:
            derivation = self.derive_told(a for a in region if a not in gone)
        while not self._has_enough_cores():
            groups = [group for group in groups if _clashing_individual(derivation, group)]
            blamed: set[Assertion] = set()
            for group in groups:
                core = list(derivation.clash_core(_clashing_individual(derivation, group)))
                self.by_group[group].append(core)
                blamed.update(self.supports.split_by_origin(core)[1])
                if self._has_enough_cores():
                    return
            if not blamed:
                return
            gone = gone | blamed
            derivation = self.derive_told(a for a in region if a not in gone)

    def _has_enough_cores(self) -> bool:
        """Decide whether the wanted number of cores is found."""
        return self.is_enough(sum(map(len, self.by_group.values())))


@dataclass
class HiddenCores:
    """Search for further cores of a group that share an insertion with its known core.

    They would otherwise show only when all conflicts are searched for. The search is made at few
    groups; each combination of classes and properties is given once.

    looks_left: number of groups that may still be searched.
    forms: the combinations of classes and properties seen so far.
    """

    looks_left: int = LOOKS_BEHIND
    forms: set[frozenset[object]] = field(default_factory=set)

    def find_hidden_cores(self, cores: ToldCores, group: Group) -> Iterator[list[Assertion]]:
        """Yield cores of ``group`` that remain after one insertion of its first core is left out,
        for each such insertion.
        """
        for core in cores.by_group.get(group, ())[:1]:
            self.forms.add(_names_in_assertions(core))
            inserted = cores.supports.split_by_origin(core)[1]
            if len(inserted) == 1 or not self.looks_left:
                continue
            self.looks_left -= 1
            for gone in inserted:
                for region in cores.supports.growing_sets(group, told_only=True):
                    if len(region) > MOST_BEHIND:
                        break
                    derivation = cores.derive_told(a for a in region if a != gone)
                    if clash := _clashing_individual(derivation, group):
                        hidden = list(derivation.clash_core(clash))
                        if _names_in_assertions(hidden) not in self.forms:
                            self.forms.add(_names_in_assertions(hidden))
                            yield hidden
                        break


def _names_in_assertions(assertions: Iterable[Assertion]) -> frozenset[object]:
    """The classes and properties of ``assertions``."""
    return frozenset(
        a.expression if isinstance(a, ClassAssertion) else getattr(a, "property", type(a))
        for a in assertions
    )


def _clashing_individual(derivation: ToldDerivation, group: Group) -> str:
    """Find an individual of ``group`` whose told literals clash; empty if there is none."""
    return next((individual for individual in group if derivation.has_clash(individual)), "")
