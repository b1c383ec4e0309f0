"""Rule bodies as trees of atoms over variables, and their bindings in sets of ground atoms.

An atom is a tuple of texts: a class expression and a term, or a role and two terms. Terms are
``?x0``, ``<iri>`` and ``_:b``. A body is a tree rooted at ?x0 with sorted branches, so bodies that
differ only in variable names and order are equal values. Source: docs/DISCOVERY.md.

>>> body = BodyTree(("<urn:A>",), (("<urn:r>", False, BodyTree(("<urn:B>",))),))
>>> atoms_to_text(tree_to_atoms(body))
'<urn:r>(?x0, ?x1), <urn:A>(?x0), <urn:B>(?x1)'
>>> atoms_to_tree(tree_to_atoms(body)) == body
True
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

Atom: TypeAlias = tuple[str, ...]
Atoms: TypeAlias = tuple[Atom, ...]
Binding: TypeAlias = dict[str, str]
ROOT_VARIABLE = "?x0"


class BodyTree(NamedTuple):
    """Rule body as a tree of atoms whose root is a variable.

    classes: class expressions at the variable, sorted.
    branches: sorted triples of a role, whether it leads to this variable, and the tree at its other
    end.
    """

    classes: tuple[str, ...] = ()
    branches: tuple[tuple[str, bool, Any], ...] = ()


def individual_to_term(individual: str) -> str:
    """Text of an individual as a term: IRIs in angle brackets, blank nodes and variables as they
    are.
    """
    return individual if individual.startswith(("_:", "?")) else f"<{individual}>"


def strip_brackets(text: str) -> str:
    """IRI in the text of an individual or role, without angle brackets."""
    return text[1:-1] if text.startswith("<") else text


def variable_name(index: int) -> str:
    """Name of the variable with this index: ?x0, ?x1, …"""
    return f"?x{index}"


@lru_cache(1 << 16)
def tree_to_atoms(tree: BodyTree) -> Atoms:
    """Atoms of a body: role atoms, then class atoms. Variables are numbered depth first from the
    root.
    """
    roles: list[Atom] = []
    classes: list[Atom] = []
    count = 0

    def add_subtree(at: BodyTree) -> str:
        """Add the atoms of a subtree and return its variable."""
        nonlocal count
        own = variable_name(count)
        count += 1
        classes.extend((name, own) for name in at.classes)
        for role, inverse, below in at.branches:
            place = len(roles)
            other = add_subtree(below)
            roles.insert(place, (role, other, own) if inverse else (role, own, other))
        return own

    add_subtree(tree)
    return (*roles, *classes)


def subtrees_of(tree: BodyTree) -> Iterator[BodyTree]:
    """Yield the subtree at each variable, in the order of their numbers."""
    yield tree
    for _, _, below in tree.branches:
        yield from subtrees_of(below)


@lru_cache(1 << 16)
def atom_count(tree: BodyTree) -> int:
    """Number of atoms of a body."""
    return len(tree.classes) + sum(1 + atom_count(below) for _, _, below in tree.branches)


@lru_cache(1 << 16)
def variable_count(tree: BodyTree) -> int:
    """Number of variables of a body."""
    return 1 + sum(variable_count(below) for _, _, below in tree.branches)


def add_class(tree: BodyTree, index: int, name: str) -> BodyTree:
    """Add a class atom at the variable ?x``index``."""
    if index == 0:
        return BodyTree(tuple(sorted((*tree.classes, name))), tree.branches)
    return _change_subtree(tree, index, lambda below, at: add_class(below, at, name))


def add_branch(tree: BodyTree, index: int, role: str, inverse: bool) -> BodyTree:
    """Add a variable that is connected by ``role`` to the variable ?x``index``."""
    if index == 0:
        return BodyTree(tree.classes, tuple(sorted((*tree.branches, (role, inverse, BodyTree())))))
    return _change_subtree(tree, index, lambda below, at: add_branch(below, at, role, inverse))


def _change_subtree(tree: BodyTree, index: int, change: Any) -> BodyTree:
    """Copy of a body in which ``change`` was applied to the subtree at the variable ?x``index``."""
    branches = list(tree.branches)
    index -= 1
    for i, (role, inverse, below) in enumerate(branches):
        if index < variable_count(below):
            branches[i] = (role, inverse, change(below, index))
            return BodyTree(tree.classes, tuple(sorted(branches)))
        index -= variable_count(below)
    raise IndexError(index)


@lru_cache(1 << 17)
def smaller_bodies(tree: BodyTree) -> tuple[BodyTree, ...]:
    """Bodies with one atom less: without one class atom, or without a role atom to a variable that
    has no other atom.
    """
    return tuple(_remove_one_atom(tree))


@lru_cache(1 << 17)
def sub_bodies(tree: BodyTree) -> tuple[BodyTree, ...]:
    """Smaller bodies, and the subtrees at other variables. Each of them binds in every snapshot in
    which the body binds.
    """
    return (
        *smaller_bodies(tree),
        *(node for node in subtrees_of(tree) if node is not tree and node != BodyTree()),
    )


def _remove_one_atom(tree: BodyTree) -> Iterator[BodyTree]:
    """Yield the bodies with one atom less."""
    for i in range(len(tree.classes)):
        yield BodyTree(tree.classes[:i] + tree.classes[i + 1 :], tree.branches)
    for i, (role, inverse, below) in enumerate(tree.branches):
        rest = tree.branches[:i] + tree.branches[i + 1 :]
        if below == BodyTree():
            yield BodyTree(tree.classes, rest)
        for less in smaller_bodies(below):
            yield BodyTree(tree.classes, tuple(sorted((*rest, (role, inverse, less)))))


def atoms_to_tree(atoms: Iterable[Atom], root: str = ROOT_VARIABLE) -> BodyTree | None:
    """Convert atoms to the tree rooted at ``root``; None if they are not a tree.

    That is, with individuals, cycles, two roles between the same variables, or unconnected parts.
    """
    left = set(atoms)
    if any(not term.startswith("?") for atom in left for term in atom[1:]):
        return None

    def take_subtree(term: str) -> BodyTree | None:
        """Take the atoms reachable from a variable as a tree; None if they are not a tree."""
        own = {atom for atom in left if len(atom) == 2 and atom[1] == term}
        edges = sorted(atom for atom in left if len(atom) == 3 and term in atom[1:])
        left.difference_update(own, edges)
        branches = []
        for role, first, second in edges:
            below = None if first == second else take_subtree(first if second == term else second)
            if below is None:
                return None
            branches.append((role, second == term, below))
        if len({first if second == term else second for _, first, second in edges}) < len(edges):
            return None
        return BodyTree(tuple(sorted(atom[0] for atom in own)), tuple(sorted(branches)))

    found = take_subtree(root)
    return None if left else found


def tree_from_any_root(atoms: Sequence[Atom]) -> BodyTree | None:
    """Convert atoms to a tree rooted at some variable; None if they are not a tree."""
    root = next((term for atom in atoms for term in atom[1:] if term.startswith("?")), None)
    return None if root is None else atoms_to_tree(atoms, root)


def atoms_to_text(atoms: Iterable[Atom]) -> str:
    """Text of atoms, separated by commas."""
    return ", ".join(f"{atom[0]}({', '.join(atom[1:])})" for atom in atoms)


def spelling_sort_key(atoms: Atoms) -> tuple[int, str]:
    """Sort key of equivalent bodies: number of atoms, then text. The smallest spelling is reported."""
    return len(atoms), atoms_to_text(atoms)


class AtomIndex:
    """Index of ground atoms by class or role name and by each argument."""

    def __init__(self, atoms: Iterable[Atom]) -> None:
        self.atoms = frozenset(atoms)
        self._atoms_by_name: dict[str, list[Atom]] = {}
        self._atoms_by_term: dict[tuple[str, int, str], list[Atom]] = {}
        for atom in sorted(self.atoms):
            self._atoms_by_name.setdefault(atom[0], []).append(atom)
            for i, term in enumerate(atom[1:], 1):
                self._atoms_by_term.setdefault((atom[0], i, term), []).append(atom)

    def members(self, name: str) -> frozenset[str]:
        """Individuals of a class."""
        return frozenset(atom[1] for atom in self._atoms_by_name.get(name, ()))

    def find_matching(self, pattern: Atom, binding: Mapping[str, str]) -> Sequence[Atom]:
        """Ground atoms that match ``pattern`` under ``binding``."""
        known = [
            (i, term if term[0] != "?" else binding.get(term))
            for i, term in enumerate(pattern[1:], 1)
        ]
        bound = [(pattern[0], i, term) for i, term in known if term is not None]
        if not bound:
            return self._atoms_by_name.get(pattern[0], ())
        found = min((self._atoms_by_term.get(key, ()) for key in bound), key=len)
        return [atom for atom in found if all(term is None or atom[i] == term for i, term in known)]


def find_bindings(
    atoms: Sequence[Atom], facts: AtomIndex, binding: Mapping[str, str] | None = None
) -> Iterator[Binding]:
    """Yield all bindings of the variables that make ``atoms`` true in ``facts``, by plain
    backtracking.
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
            yield from find_bindings(rest, facts, extended)


def has_binding(
    atoms: Sequence[Atom], facts: AtomIndex, binding: Mapping[str, str] | None = None
) -> bool:
    """Whether some binding makes ``atoms`` true in ``facts``."""
    return next(find_bindings(atoms, facts, binding), None) is not None
