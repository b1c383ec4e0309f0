"""Which rules a snapshot contradicts: under the open world a missing head is no counterexample,
an impossible one is (SPEC 3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from streams.discovery.atomsets import ROOT, Atom, AtomIndex, atoms_of, bindings
from streams.discovery.counting import MinedRule
from streams.discovery.entailing import UndecidedEntailmentError
from streams.discovery.snapshots import Snapshots

#: Whether T ∪ A and a snapshot are consistent with some atoms more; raises
#: UndecidedEntailmentError.
Consistent = Callable[[Sequence[Atom]], bool]
#: Who is in a rule's body in a snapshot, and not in its head, by text.
Lacking = Callable[[MinedRule], Iterable[str]]


def lacking(facts: AtomIndex) -> Lacking:
    """By what a snapshot entails, binding by binding."""
    return lambda rule: sorted(
        {binding[ROOT] for binding in bindings(atoms_of(rule.body), facts)}
        - facts.members(rule.head)
    )


def refuted_in(
    rules: Sequence[MinedRule],
    snapshots: Snapshots,
    lacking_in: Callable[[int], Lacking],
    window: Iterable[int],
) -> list[int | None]:
    """How many snapshots of a window refute each of ``rules``; ``lacking_in``: of a consistent
    one. What is undecided is named among the leftovers.
    """
    knowledge = snapshots.knowledge

    def consistent(index: int) -> Consistent:
        told = snapshots.told.get(index, ())

        def ask(atoms: Sequence[Atom]) -> bool:
            try:
                return knowledge.is_consistent(told, atoms)
            except UndecidedEntailmentError as undecided:
                if len(atoms) == 1:
                    knowledge.undecided[
                        f"whether snapshot {index} contradicts some rules is open"
                    ] = undecided.reason
                raise

        return ask

    return refuted(
        rules, ((lacking_in(index), consistent(index)) for index in snapshots.consistent(window))
    )


def refuted(
    rules: Sequence[MinedRule], snapshots: Iterable[tuple[Lacking, Consistent]]
) -> list[int | None]:
    """How many snapshots refute each of ``rules``: have an individual of the body for which the
    head is impossible. Each snapshot comes with who is in a rule's body there, and not in its
    head. None: for some snapshot that is undecided.

    Where all heads hold together none is impossible, so most snapshots take one question.
    """
    counts, unknown = [0] * len(rules), set[int]()
    for members, is_consistent in snapshots:
        heads = [[(rule.head, one) for one in members(rule)] for rule in rules]
        known: dict[Atom, bool] = {}
        open_: set[Atom] = set()

        def possible(
            atoms: Sequence[Atom],
            known: dict[Atom, bool] = known,
            open_: set[Atom] = open_,
            ask: Consistent = is_consistent,
        ) -> bool:
            asked = [atom for atom in atoms if not known.get(atom)]
            try:
                holds = not asked or ask(asked)
            except UndecidedEntailmentError:
                holds = len(asked) == 1
                open_.update(asked if holds else ())
            if holds:
                known.update(dict.fromkeys(asked, True))
            elif len(asked) == 1:
                known[asked[0]] = False
            return holds

        if possible(list(dict.fromkeys(atom for own in heads for atom in own))) and not open_:
            continue
        for place, own in enumerate(heads):
            if not _all_possible(own, possible, known):
                counts[place] += 1
            elif not open_.isdisjoint(own):
                unknown.add(place)
    return [None if place in unknown else count for place, count in enumerate(counts)]


def _all_possible(
    atoms: Sequence[Atom], possible: Callable[[Sequence[Atom]], bool], known: dict[Atom, bool]
) -> bool:
    """Whether each of ``atoms`` is possible by itself."""
    if any(known.get(atom) is False for atom in atoms):
        return False
    if possible(atoms):
        return True
    if len(atoms) == 1:
        return False
    half = len(atoms) // 2
    return _all_possible(atoms[:half], possible, known) and _all_possible(
        atoms[half:], possible, known
    )
