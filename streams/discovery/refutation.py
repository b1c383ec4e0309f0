"""Which rules a snapshot contradicts: under the open world a missing head is no counterexample, an impossible one is (SPEC 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from streams.discovery.atomsets import Atom
from streams.discovery.mining import Rule

#: Whether T ∪ A and a snapshot are consistent with some atoms more.
Consistent = Callable[[Sequence[Atom]], bool]


def refuted(rules: Sequence[Rule], snapshots: Iterable[tuple[Callable[[Rule], Iterable[str]], Consistent]]) -> list[int]:
    """How many snapshots refute each of ``rules``: have an individual of the body for which the head is impossible. Each snapshot
    comes with who is in a rule's body there, and not in its head.

    Where all heads hold together none is impossible, so most snapshots take one question.
    """
    counts = [0] * len(rules)
    for members, is_consistent in snapshots:
        heads = [[(rule.head, one) for one in members(rule)] for rule in rules]
        known: dict[Atom, bool] = {}

        def possible(atoms: Sequence[Atom], known: dict[Atom, bool] = known, ask: Consistent = is_consistent) -> bool:
            asked = [atom for atom in atoms if not known.get(atom)]
            if not asked or ask(asked):
                known.update(dict.fromkeys(asked, True))
                return True
            if len(asked) == 1:
                known[asked[0]] = False
            return False

        if possible(list(dict.fromkeys(atom for own in heads for atom in own))):
            continue
        for place, own in enumerate(heads):
            counts[place] += not _all_possible(own, possible, known)
    return counts


def _all_possible(atoms: Sequence[Atom], possible: Callable[[Sequence[Atom]], bool], known: dict[Atom, bool]) -> bool:
    """Whether each of ``atoms`` is possible by itself."""
    if any(known.get(atom) is False for atom in atoms):
        return False
    if possible(atoms):
        return True
    if len(atoms) == 1:
        return False
    half = len(atoms) // 2
    return _all_possible(atoms[:half], possible, known) and _all_possible(atoms[half:], possible, known)
