"""Cores of the contradictions of many groups at once, where told literals alone show them."""

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
    """Search for the cores of ``groups``: sets of assertions that are inconsistent by themselves.

    known: conflicts of a single insertion; no other minimal conflict has one of these, so cores
    have none. is_enough: whether no more cores are wanted, by how many there are. by_group: the
    groups at which told literals clash; without a core where only what is known makes them
    clash.
    """

    supports: SupportSets
    data: DataRestrictions
    groups: Sequence[Group]
    known_insertions: frozenset[Assertion]
    is_enough: Callable[[int], bool]
    by_group: dict[Group, list[list[Assertion]]] = field(default_factory=dict)

    def run(self) -> dict[Group, list[list[Assertion]]]:
        """Look around all groups together, further and further, until each is shown to clash,
        nothing more is told, or there is much around them.
        """
        open_ = list(self.groups)
        most = max(MOST, MOST_FOR_A_GROUP * len(open_))
        for region in self.supports.growing_sets(
            (i for group in self.groups for i in group), told_only=True
        ):
            derivation = self.derive(region)
            clashing = [group for group in open_ if _clash_of(derivation, group)]
            self.by_group.update((group, []) for group in clashing)
            if clashing:
                self._peel(derivation, region, clashing)
            open_ = [group for group in open_ if group not in self.by_group]
            if not open_ or len(region) > most or self._is_over():
                break
        return self.by_group

    def group_cores(self, region: Sequence[Assertion], group: Group) -> list[list[Assertion]]:
        """Cores of a single ``group`` in a ``region`` around it; none where told literals do not
        clash there.
        """
        derivation = self.derive(region)
        if not _clash_of(derivation, group):
            return []
        self.by_group[group] = []
        self._peel(derivation, region, [group])
        return self.by_group[group]

    def derive(self, assertions: Iterable[Assertion]) -> ToldDerivation:
        """Derive the told literals of ``assertions``. Base assertions are preferred as reasons over
        inserted ones.
        """
        found = ToldDerivation(self.supports.space, self.data)
        base, inserted = self.supports.split(assertions)
        found.add(base)
        found.add(inserted)
        return found

    def _peel(
        self, derivation: ToldDerivation, region: Sequence[Assertion], groups: Sequence[Group]
    ) -> None:
        """Take a core of each of ``groups``, then one of the rest without the insertions of
        these, until no group clashes.

        Stops because insertions go each time.
        """
        gone = self.known_insertions.intersection(region)
        if gone:
            derivation = self.derive(a for a in region if a not in gone)
        while not self._is_over():
            groups = [group for group in groups if _clash_of(derivation, group)]
            blamed: set[Assertion] = set()
            for group in groups:
                core = list(derivation.core(_clash_of(derivation, group)))
                self.by_group[group].append(core)
                blamed.update(self.supports.split(core)[1])
                if self._is_over():
                    return
            if not blamed:
                return
            gone = gone | blamed
            derivation = self.derive(a for a in region if a not in gone)

    def _is_over(self) -> bool:
        return self.is_enough(sum(map(len, self.by_group.values())))


@dataclass
class HiddenCores:
    """Search for cores that share an insertion with the known one of their group, and so would
    show only when all conflicts are searched for. It is made at few groups, and each combination
    of classes and properties is given once.

    left: groups that may still be looked at; forms: the combinations that were met.
    """

    looks_left: int = LOOKS_BEHIND
    forms: set[frozenset[object]] = field(default_factory=set)

    def find_hidden_cores(self, cores: ToldCores, group: Group) -> Iterator[list[Assertion]]:
        """The cores that ``group`` has without one insertion of its first core each."""
        for core in cores.by_group.get(group, ())[:1]:
            self.forms.add(_form(core))
            inserted = cores.supports.split(core)[1]
            if len(inserted) == 1 or not self.looks_left:
                continue
            self.looks_left -= 1
            for gone in inserted:
                for region in cores.supports.growing_sets(group, told_only=True):
                    if len(region) > MOST_BEHIND:
                        break
                    derivation = cores.derive(a for a in region if a != gone)
                    if clash := _clash_of(derivation, group):
                        hidden = list(derivation.core(clash))
                        if _form(hidden) not in self.forms:
                            self.forms.add(_form(hidden))
                            yield hidden
                        break


def _form(assertions: Iterable[Assertion]) -> frozenset[object]:
    """The classes and properties of ``assertions``."""
    return frozenset(
        a.expression if isinstance(a, ClassAssertion) else getattr(a, "property", type(a))
        for a in assertions
    )


def _clash_of(derivation: ToldDerivation, group: Group) -> str:
    """An individual of ``group`` whose told literals clash; empty where there is none."""
    return next((individual for individual in group if derivation.has_clash(individual)), "")
