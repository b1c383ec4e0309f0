"""What T says of bodies: which are one, and which heads they have by T alone.

A body entails another under T if the other binds, root to root, in what its own atoms entail, taken as assertions about fresh
individuals. Equivalent bodies have the same bindings in every consistent snapshot, so these questions are asked once and hold for
all windows.

Source: SPEC 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from streams.discovery.atomsets import ROOT, Atom, Atoms, Facts, Tree, atoms_of, binds, order_of, variable

#: What some atoms entail by T alone, their variables taken as individuals.
Closure = Callable[[Atoms], Iterable[Atom]]


@dataclass
class Theory:
    """T, asked by ``closure``. ``classes``: V, each of equivalent ones by the least text."""

    closure: Closure
    vocabulary: tuple[str, ...]
    _facts: dict[Atoms, Facts] = field(default_factory=dict)
    _least: dict[Atoms, Atoms] = field(default_factory=dict)
    _classes: tuple[str, ...] | None = None

    @property
    def classes(self) -> tuple[str, ...]:
        """V, of equivalent classes the one with the least text."""
        if self._classes is None:
            kept: list[str] = []
            for name in sorted(self.vocabulary):
                if not any(
                    self.entails(((name, ROOT),), ((k, ROOT),)) and self.entails(((k, ROOT),), ((name, ROOT),)) for k in kept
                ):
                    kept.append(name)
            self._classes = tuple(kept)
        return self._classes

    def facts(self, atoms: Atoms) -> Facts:
        """What ``atoms`` entail."""
        found = self._facts.get(atoms)
        if found is None:
            found = self._facts[atoms] = Facts((*self.closure(atoms), *atoms))
        return found

    def entails(self, body: Atoms, other: Atoms) -> bool:
        """Whether whatever is bound to ?x0 by ``body`` is by ``other``."""
        return binds(other, self.facts(body), {ROOT: ROOT})

    def heads(self, tree: Tree) -> frozenset[str]:
        """The classes that the root of a body has by T."""
        return self.classes_at(tree, 0)

    def classes_at(self, tree: Tree, place: int) -> frozenset[str]:
        """The classes that the variable of number ``place`` has by T."""
        own, facts = variable(place), self.facts(atoms_of(tree))
        return frozenset(atom[0] for atom in facts.atoms if atom[1:] == (own,))

    def one_each(self, bodies: Iterable[tuple[object, Tree]]) -> set[Tree]:
        """Of equivalent bodies the minimal spelling. Bodies with different keys are known not to be equivalent; each comes with
        all its smaller spellings."""
        groups: dict[object, list[Tree]] = {}
        for key, tree in bodies:
            groups.setdefault(key, []).append(tree)
        kept = set()
        for group in groups.values():
            firsts: list[Atoms] = []
            for tree in sorted(group, key=lambda t: order_of(atoms_of(t))):
                if self._least_of(atoms_of(tree), firsts if len(group) > 1 else []) == atoms_of(tree):
                    kept.add(tree)
                    firsts.append(atoms_of(tree))
        return kept

    def _least_of(self, atoms: Atoms, firsts: list[Atoms]) -> Atoms:
        found = self._least.get(atoms)
        if found is None:
            equal = (first for first in firsts if self.entails(atoms, first) and self.entails(first, atoms))
            found = self._least[atoms] = next(equal, atoms)
        return found
