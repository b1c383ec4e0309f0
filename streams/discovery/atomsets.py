"""Atomsets: atoms over variables and individuals, and the tree-shaped ones that bodies of rules
are.

An atom is a tuple of texts: a class expression and a term, or a role and two terms; terms are
``?x0``, ``<iri>`` and ``_:b``. A body is a tree rooted at ?x0, with its branches sorted, so that
atomsets that differ in names and order alone are one value.

>>> body = Tree(("<urn:A>",), (("<urn:r>", False, Tree(("<urn:B>",))),))
>>> text_of(atoms_of(body))
'<urn:r>(?x0, ?x1), <urn:A>(?x0), <urn:B>(?x1)'
>>> tree_of(atoms_of(body)) == body
True

Source: docs/DISCOVERY.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

Atom: TypeAlias = tuple[str, ...]
Atoms: TypeAlias = tuple[Atom, ...]
Binding: TypeAlias = dict[str, str]
ROOT = "?x0"


class Tree(NamedTuple):
    """What holds at a variable: its classes, sorted; and its branches: the role, whether it
    leads to this variable, and the tree at its other end, sorted.
    """

    classes: tuple[str, ...] = ()
    branches: tuple[tuple[str, bool, Any], ...] = ()


def term_text(individual: str) -> str:
    """An individual as a text."""
    return individual if individual.startswith(("_:", "?")) else f"<{individual}>"


def iri_of(text: str) -> str:
    """The individual or role that a text is of."""
    return text[1:-1] if text.startswith("<") else text


def variable(number: int) -> str:
    return f"?x{number}"


@lru_cache(1 << 16)
def atoms_of(tree: Tree) -> Atoms:
    """The atoms of a body: its roles, then its classes, variables numbered from the root down,
    branch by branch.
    """
    roles: list[Atom] = []
    classes: list[Atom] = []
    count = 0

    def visit(at: Tree) -> str:
        nonlocal count
        own = variable(count)
        count += 1
        classes.extend((name, own) for name in at.classes)
        for role, inverse, below in at.branches:
            place = len(roles)
            other = visit(below)
            roles.insert(place, (role, other, own) if inverse else (role, own, other))
        return own

    visit(tree)
    return (*roles, *classes)


def nodes_of(tree: Tree) -> Iterator[Tree]:
    """The tree at each of its variables, in the order of their numbers."""
    yield tree
    for _, _, below in tree.branches:
        yield from nodes_of(below)


@lru_cache(1 << 16)
def atom_count(tree: Tree) -> int:
    """How many atoms it has."""
    return len(tree.classes) + sum(1 + atom_count(below) for _, _, below in tree.branches)


@lru_cache(1 << 16)
def variable_count(tree: Tree) -> int:
    """How many variables it has."""
    return 1 + sum(variable_count(below) for _, _, below in tree.branches)


def with_class(tree: Tree, place: int, name: str) -> Tree:
    """``tree`` with one more class at the variable of number ``place``."""
    if place == 0:
        return Tree(tuple(sorted((*tree.classes, name))), tree.branches)
    return _change_at(tree, place, lambda below, at: with_class(below, at, name))


def with_branch(tree: Tree, place: int, role: str, inverse: bool) -> Tree:
    """``tree`` with one more variable, which ``role`` connects with that of number ``place``."""
    if place == 0:
        return Tree(tree.classes, tuple(sorted((*tree.branches, (role, inverse, Tree())))))
    return _change_at(tree, place, lambda below, at: with_branch(below, at, role, inverse))


def _change_at(tree: Tree, place: int, change: Any) -> Tree:
    branches = list(tree.branches)
    place -= 1
    for i, (role, inverse, below) in enumerate(branches):
        if place < variable_count(below):
            branches[i] = (role, inverse, change(below, place))
            return Tree(tree.classes, tuple(sorted(branches)))
        place -= variable_count(below)
    raise IndexError(place)


@lru_cache(1 << 17)
def smaller_bodies(tree: Tree) -> tuple[Tree, ...]:
    """The bodies that lack one atom of it: a class, or a role to a variable of which nothing
    else is said.
    """
    return tuple(_remove_one_atom(tree))


@lru_cache(1 << 17)
def sub_bodies(tree: Tree) -> tuple[Tree, ...]:
    """Those, and the bodies at its other variables: they all bind where it does."""
    return (
        *smaller_bodies(tree),
        *(node for node in nodes_of(tree) if node is not tree and node != Tree()),
    )


def _remove_one_atom(tree: Tree) -> Iterator[Tree]:
    for i in range(len(tree.classes)):
        yield Tree(tree.classes[:i] + tree.classes[i + 1 :], tree.branches)
    for i, (role, inverse, below) in enumerate(tree.branches):
        rest = tree.branches[:i] + tree.branches[i + 1 :]
        if below == Tree():
            yield Tree(tree.classes, rest)
        for less in smaller_bodies(below):
            yield Tree(tree.classes, tuple(sorted((*rest, (role, inverse, less)))))


def tree_of(atoms: Iterable[Atom], root: str = ROOT) -> Tree | None:
    """The tree that ``atoms`` are, seen from the variable ``root``; None where they are none:
    with individuals, cycles, two roles between two variables, or parts that do not hang
    together.
    """
    left = set(atoms)
    if any(not term.startswith("?") for atom in left for term in atom[1:]):
        return None

    def take(term: str) -> Tree | None:
        own = {atom for atom in left if len(atom) == 2 and atom[1] == term}
        edges = sorted(atom for atom in left if len(atom) == 3 and term in atom[1:])
        left.difference_update(own, edges)
        branches = []
        for role, first, second in edges:
            below = None if first == second else take(first if second == term else second)
            if below is None:
                return None
            branches.append((role, second == term, below))
        if len({first if second == term else second for _, first, second in edges}) < len(edges):
            return None
        return Tree(tuple(sorted(atom[0] for atom in own)), tuple(sorted(branches)))

    found = take(root)
    return None if left else found


def tree_from_any_root(atoms: Sequence[Atom]) -> Tree | None:
    """A tree that binds where ``atoms`` do, seen from any of its variables; None if they are none."""
    root = next((term for atom in atoms for term in atom[1:] if term.startswith("?")), None)
    return None if root is None else tree_of(atoms, root)


def text_of(atoms: Iterable[Atom]) -> str:
    """Atoms as one text."""
    return ", ".join(f"{atom[0]}({', '.join(atom[1:])})" for atom in atoms)


def spelling_order(atoms: Atoms) -> tuple[int, str]:
    """By what the minimal spelling of equivalent bodies is the first: fewest atoms, then least
    text.
    """
    return len(atoms), text_of(atoms)


class AtomIndex:
    """Ground atoms, looked up by what they say."""

    def __init__(self, atoms: Iterable[Atom]) -> None:
        self.atoms = frozenset(atoms)
        self._atoms_by_name: dict[str, list[Atom]] = {}
        self._atoms_by_term: dict[tuple[str, int, str], list[Atom]] = {}
        for atom in sorted(self.atoms):
            self._atoms_by_name.setdefault(atom[0], []).append(atom)
            for i, term in enumerate(atom[1:], 1):
                self._atoms_by_term.setdefault((atom[0], i, term), []).append(atom)

    def members(self, name: str) -> frozenset[str]:
        """The individuals of a class."""
        return frozenset(atom[1] for atom in self._atoms_by_name.get(name, ()))

    def find_matching(self, pattern: Atom, binding: Mapping[str, str]) -> Sequence[Atom]:
        """The atoms that ``pattern`` may be, as far as its terms are bound: those at the bound
        term that has fewest.
        """
        known = [
            (i, term if term[0] != "?" else binding.get(term))
            for i, term in enumerate(pattern[1:], 1)
        ]
        bound = [(pattern[0], i, term) for i, term in known if term is not None]
        if not bound:
            return self._atoms_by_name.get(pattern[0], ())
        found = min((self._atoms_by_term.get(key, ()) for key in bound), key=len)
        return [atom for atom in found if all(term is None or atom[i] == term for i, term in known)]


def bindings(
    atoms: Sequence[Atom], facts: AtomIndex, binding: Mapping[str, str] | None = None
) -> Iterator[Binding]:
    """Each way to bind the variables of ``atoms`` jointly, so that all are among ``facts``; the
    obvious way (docs/DISCOVERY.md).
    """
    binding = dict(binding or {})
    if not atoms:
        yield binding
        return
    choices = [
        (len(matching := facts.find_matching(atom, binding)), i, matching)
        for i, atom in enumerate(atoms)
    ]
    _, first, matching = min(choices, key=lambda choice: choice[:2])
    pattern, rest = atoms[first], [*atoms[:first], *atoms[first + 1 :]]
    for atom in matching:
        extended = dict(binding)
        if all(
            extended.setdefault(term, value) == value
            for term, value in zip(pattern[1:], atom[1:])
            if term[0] == "?"
        ):
            yield from bindings(rest, facts, extended)


def has_binding(
    atoms: Sequence[Atom], facts: AtomIndex, binding: Mapping[str, str] | None = None
) -> bool:
    """Whether there is such a way."""
    return next(bindings(atoms, facts, binding), None) is not None
