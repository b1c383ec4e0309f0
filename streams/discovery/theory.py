"""What T says of bodies: which are one, and which heads they have by T alone.

A body entails another under T if the other binds, root to root, in what its own atoms entail,
taken as assertions about fresh individuals. Equivalent bodies have the same bindings in every
consistent snapshot, so these questions are asked once and hold for all windows.

Source: SPEC 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from streams.discovery.atomsets import (
    ROOT,
    Atom,
    AtomIndex,
    Atoms,
    Tree,
    atoms_of,
    binds,
    order_of,
    variable,
)

#: What some atoms entail by T alone, their variables taken as individuals.
Closure = Callable[[Atoms], Iterable[Atom]]


@dataclass
class Theory:
    """T, asked by ``closure``. ``classes``: V, each of equivalent ones by the least text."""

    closure: Closure
    vocabulary: tuple[str, ...]
    _facts: dict[Atoms, AtomIndex] = field(default_factory=dict)
    _least: dict[Atoms, Atoms] = field(default_factory=dict)
    _classes: tuple[str, ...] | None = None
    _at: dict[tuple[Tree, int], frozenset[str]] = field(default_factory=dict)

    @property
    def classes(self) -> tuple[str, ...]:
        """V, of equivalent classes the one with the least text."""
        if self._classes is None:
            kept: list[str] = []
            for name in sorted(self.vocabulary):
                if not any(
                    self.entails(((name, ROOT),), ((k, ROOT),))
                    and self.entails(((k, ROOT),), ((name, ROOT),))
                    for k in kept
                ):
                    kept.append(name)
            self._classes = tuple(kept)
        return self._classes

    def facts(self, atoms: Atoms) -> AtomIndex:
        """What ``atoms`` entail."""
        found = self._facts.get(atoms)
        if found is None:
            found = self._facts[atoms] = AtomIndex((*self.closure(atoms), *atoms))
        return found

    def entails(self, body: Atoms, other: Atoms) -> bool:
        """Whether whatever is bound to ?x0 by ``body`` is by ``other``."""
        return binds(other, self.facts(body), {ROOT: ROOT})

    def heads(self, tree: Tree) -> frozenset[str]:
        """The classes that the root of a body has by T."""
        return self.classes_at(tree, 0)

    def classes_at(self, tree: Tree, place: int) -> frozenset[str]:
        """The classes that the variable of number ``place`` has by T."""
        found = self._at.get((tree, place))
        if found is None:
            own, facts = variable(place), self.facts(atoms_of(tree))
            found = self._at[tree, place] = frozenset(
                atom[0] for atom in facts.atoms if atom[1:] == (own,)
            )
        return found

    def one_each(self, trees: Iterable[Tree], extension: Callable[[Tree], object]) -> list[Tree]:
        """Of equivalent bodies the minimal spelling. Each comes with all its smaller spellings;
        those with different extensions are known not to be equivalent, which is looked up where
        a body is new.
        """
        trees, groups = list(trees), dict[frozenset[str], list[Tree]]()
        for tree in trees:
            groups.setdefault(self.heads(tree), []).append(tree)
        for group in groups.values():
            if any(atoms_of(tree) not in self._least for tree in group):
                self._settle(group, extension)
        return [tree for tree in trees if self._least[atoms_of(tree)] == atoms_of(tree)]

    def _settle(self, group: Iterable[Tree], extension: Callable[[Tree], object]) -> None:
        """Finds the least spelling of each."""
        firsts: dict[object, list[Atoms]] = {}
        for tree in sorted(group, key=lambda t: order_of(atoms_of(t))):
            atoms, known = atoms_of(tree), firsts.setdefault(extension(tree), [])
            if atoms not in self._least:
                equal = (
                    first
                    for first in known
                    if self.entails(atoms, first) and self.entails(first, atoms)
                )
                self._least[atoms] = next(equal, atoms)
            if self._least[atoms] == atoms:
                known.append(atoms)
