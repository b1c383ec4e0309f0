"""Conflicts: minimal sets of insertions that contradict (T, A), each with one justification.

A conflict's *insertions* are a minimal X ⊆ A⁺ with (T, A ∪ X) inconsistent; its *base* and *axioms* make with X one minimal
justification. Contradictory elements and inconsistent modules of an add set lead to one conflict each; further ones are
found by checking the batch again without a hitting set of those found, as in Reiter's hitting set tree, all groups of
conflicts that share no insertion at once. Where many hitting sets are to be tried, what is blamed by none is checked once, and
the rest of what they leave on top of that.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from abox_ops.conflicts.core import core
from abox_ops.conflicts.hitting_sets import groups_of, hitting_sets
from abox_ops.conflicts.justify import Checker, Justifier
from abox_ops.conflicts.raw_conflict import RawConflict
from abox_ops.conflicts.shrink import SMALL, areas
from abox_ops.conflicts.support import Supports
from abox_ops.conflicts.turns import SAMPLE, Turns
from abox_ops.engine import AddSet
from abox_ops.labels.calculus import EMPTY, Label
from shiq import model as owl
from shiq.abox import ABox, abox_of
from shiq.abox_parts import without
from shiq.clause import ClausalTBox
from shiq.deadline import is_past, seconds_left
from shiq.explanation.patterns import cause_of
from shiq.explanation.proof import prove

#: More conflicts than this are not looked at one by one when something was undetermined in a check of them all together.
LOOKED_AT = 50


#: Batches that are not larger are checked as a whole, as often as it takes.
LARGE = 500

#: So many groups are explained together, at most.
TURN = 64


class Explainer(Justifier):
    """Minimal conflicts of one batch; the fields say how many, by when, and what was left."""

    def run(self, insertions: ABox, add_set: AddSet, groups: list[tuple[str, ...]]) -> list[RawConflict]:
        """The conflicts of the batch ``insertions``, whose check gave ``add_set`` with the inconsistent ``groups``."""
        self._explain_groups(add_set, groups)
        self._search(insertions)
        return self.conflicts

    @property
    def conflicts(self) -> list[RawConflict]:
        """The conflicts found so far."""
        return sorted(self.found.values(), key=lambda c: (len(c.insertions), repr(c.insertions)))

    @property
    def is_out_of_time(self) -> bool:
        """Whether the time for all of them is over."""
        return is_past(self.deadline)

    # --- one group ---------------------------------------------------------------------------------

    def _explain_groups(self, add_set: AddSet, groups: Iterable[tuple[str, ...]]) -> set[frozenset[owl.Assertion]]:
        """One conflict for each group, cause by cause in turn; gives those that are new."""
        new: set[frozenset[owl.Assertion]] = set()
        todo = list(groups)
        supports = Supports(self.decider.space(add_set.tbox), add_set)
        turns, size = Turns(todo, _labels(add_set, todo)), 1
        while len(turns):
            if self._is_over() or len(self.found) >= self.limit:
                self.unexplained += len(turns)
                self.complete = False
                break
            if self.progress:
                self.progress("explaining conflicts", len(todo) - len(turns), len(todo))
            new |= self._explain_turn(add_set, supports, turns, turns.draw(min(size, self.limit - len(self.found))))
            size = min(2 * size, TURN)
        return new

    def _explain_turn(
        self, add_set: AddSet, supports: Supports, turns: Turns, todo: list[tuple[str, ...]]
    ) -> set[frozenset[owl.Assertion]]:
        """One conflict for each group of ``todo``, with their causes for ``turns``; gives those that are new."""
        new: set[frozenset[owl.Assertion]] = set()
        candidates: dict[frozenset[owl.Assertion], list[owl.Assertion]] = {}
        group_of: dict[frozenset[owl.Assertion], tuple[str, ...]] = {}
        supports.fetch(individual for near in todo for individual in near)
        for i, group in enumerate(todo):
            if self._is_over() or len(self.found) + len(candidates) >= self.limit:
                self.unexplained += len(todo) - i
                self.complete = False
                break
            near_by = self._areas(supports, add_set, group)
            if not near_by:
                self.unexplained += 1
                self.complete = False
                continue
            for area in near_by:
                inserted, base = _split(add_set, area)
                self.unsure = False
                kept = self._shrunk(inserted, lambda part, base=base: self._refutes(add_set.tbox, [*part, *base]))  # type: ignore[misc]
                if self._is_over():
                    # What is too large would blame insertions that have nothing to do with it.
                    self.unexplained += 1
                    self.complete = False
                    continue
                candidates.setdefault(frozenset(kept), base)
                group_of.setdefault(frozenset(kept), group)
                if self.unsure:
                    self._doubtful.add(frozenset(kept))
        for key, base in self._minimal(candidates, add_set).items():
            if key not in self.found:
                self.found[key] = self._justified(add_set.tbox, key, base)
                new.add(key)
                if key in group_of and not turns.is_known(group_of[key]):
                    turns.learn(group_of[key], *_cause(self.found[key], add_set.tbox))
        return new

    def _areas(self, supports: Supports, add_set: AddSet, group: tuple[str, ...]) -> list[list[owl.Assertion]]:
        """Small sets of assertions around ``group`` that are inconsistent by themselves and share no insertion: what refutations
        rest on, where the reasoner tells. None if time runs out."""
        tbox = add_set.tbox
        for part in supports.sets(group):
            found = self._cores(add_set, part) if len(part) > SMALL else []
            if found:
                return found
            if self._refutes(tbox, part):
                return areas(part, lambda smaller: self._refutes(tbox, smaller))
            if self._is_over():
                break
        return []

    def _cores(self, add_set: AddSet, part: list[owl.Assertion]) -> list[list[owl.Assertion]]:
        """What one refutation of ``part`` rests on, then one of the rest without its insertions, and so on."""
        tbox = add_set.tbox
        found: list[list[owl.Assertion]] = []
        while not self._is_over() and len(self.found) + len(found) < self.limit:
            used = core(tbox, part, lambda module: self.decider.core(tbox, module, seconds_left(self.deadline)))
            if used is None:
                break
            found.append(used)
            gone = {a for a in used if add_set.is_inserted(a)}
            if not gone:
                break
            part = [a for a in part if a not in gone]
        return found

    def _local(self, supports: Supports, tbox: ClausalTBox, group: tuple[str, ...]) -> list[owl.Assertion] | None:
        """A set of assertions around ``group`` that is inconsistent by itself, or None if time runs out."""
        for part in supports.sets(group):
            if self._refutes(tbox, part):
                return part
            if self._is_over():
                return None
        return None

    def _minimal(
        self, candidates: dict[frozenset[owl.Assertion], list[owl.Assertion]], add_set: AddSet
    ) -> dict[frozenset[owl.Assertion], list[owl.Assertion]]:
        """Candidates made minimal with respect to all of A, not just to what was near.

        X less any one insertion must be consistent with A. Since that is antitone, many such sets are tried as one batch; only
        where that is inconsistent they are tried one by one.
        """
        done: dict[frozenset[owl.Assertion], list[owl.Assertion]] = {}
        open_ = {k: b for k, b in candidates.items() if len(k) > 1}
        done.update((k, b) for k, b in candidates.items() if len(k) <= 1)
        singles = {a for k in done for a in k}
        open_ = {k: b for k, b in open_.items() if not k & singles}
        suspects: set[frozenset[owl.Assertion]] = set()
        holding: dict[owl.Assertion, list[frozenset[owl.Assertion]]] = {}
        for key in open_:
            for assertion in key:
                holding.setdefault(assertion, []).append(key)
        for turn in range(max(map(len, open_), default=0)):
            pool: set[owl.Assertion] = set()
            pooled: list[frozenset[owl.Assertion]] = []
            for key in open_:
                if turn < len(key):
                    rest = key - {sorted(key, key=repr)[turn]}
                    # None is inside the pool so far: one that would be now shares something with what is added.
                    if any(all(a in pool or a in rest for a in other) for added in rest for other in holding[added]):
                        suspects.add(key)
                    else:
                        pool |= rest
                        pooled.append(key)
            self.unsure = False
            if pool and (self._is_over() or self.check(abox_of(sorted(pool, key=repr)))[1]):
                suspects.update(pooled)
            if self.unsure:
                self._doubtful.update(key for i, key in enumerate(pooled) if i >= LOOKED_AT or not self._is_decided(key, turn))
        done.update((k, b) for k, b in open_.items() if k not in suspects)
        for key in sorted(suspects, key=repr):
            if self._is_over():
                done[key] = open_[key]
                self._doubtful.add(key)
                continue
            for smaller, base in self._smaller(key, open_[key], add_set):
                done.setdefault(smaller, base)
        return done

    def _is_decided(self, key: frozenset[owl.Assertion], turn: int) -> bool:
        """Whether ``key`` without its insertion number ``turn`` is decided, by itself."""
        self.unsure = False
        self.check(abox_of(a for i, a in enumerate(sorted(key, key=repr)) if i != turn))
        return not self.unsure

    def _smaller(
        self, key: frozenset[owl.Assertion], base: list[owl.Assertion], add_set: AddSet
    ) -> Iterable[tuple[frozenset[owl.Assertion], list[owl.Assertion]]]:
        """``key`` itself if it is minimal, else a conflict inside it, found with more of A in view."""
        for out in sorted(key, key=repr):
            rest = sorted(key - {out}, key=repr)
            smaller_set, groups = self.check(abox_of(rest))
            if groups:
                local = self._local(Supports(self.decider.space(smaller_set.tbox), smaller_set), smaller_set.tbox, groups[0])
                if local is None:
                    continue
                inserted, wider = _split(smaller_set, local)
                kept = frozenset(self._shrunk(inserted, lambda part: self._refutes(smaller_set.tbox, [*part, *wider])))  # noqa: B023
                return self._smaller(kept, wider, smaller_set)
        return [(key, base)]

    # --- all conflicts -----------------------------------------------------------------------------

    def _search(self, insertions: ABox) -> None:
        """Looks for conflicts that those found hide, until hitting sets of every group leave a consistent batch.

        Stops because each round finds a new conflict or takes a hitting set off the finite lists.
        """
        tried: set[frozenset[owl.Assertion]] = set()
        laid, onto = frozenset[owl.Assertion](), None
        while self.found and not self._is_over() and len(self.found) < self.limit:
            removed, paths = self._next_removal(tried)
            if not paths:
                return
            if len(removed) >= len(insertions) and removed.issuperset(insertions):
                # What is left is A, which is consistent.
                tried |= paths
                continue
            if self.progress:
                self.progress("looking for conflicts that others hide", len(tried), 0)
            blamed = frozenset[owl.Assertion]().union(*self.found)
            if blamed != laid and _is_worth_a_layer(insertions, list(self.found), blamed, tried):
                before, self.unsure = self.unsure, False
                add_set, groups = self.check(without(insertions, blamed))
                laid, onto = blamed, None if groups or self.unsure else self.above(add_set)
                self.unsure = before
                if groups and self._explain_groups(add_set, groups):
                    continue
                # What takes most memory goes before the next is made.
                del add_set
            if onto is not None and removed <= laid and self._is_consistent(onto, laid - removed):
                tried |= paths
                continue
            before, self.unsure = self.unsure, False
            add_set, groups = self.check(without(insertions, removed))
            # What stayed undecided may hide conflicts.
            self.complete, self.unsure = self.complete and not self.unsure, before
            if groups:
                if not self._explain_groups(add_set, groups):
                    self.complete = False
                    return
            else:
                tried |= paths
            del add_set
        self.complete = self.complete and not self.found

    def _is_consistent(self, check: Checker, part: frozenset[owl.Assertion]) -> bool:
        """Whether ``check`` answers for certain that ``part`` contradicts nothing."""
        before, self.unsure = self.unsure, False
        _, groups = check(abox_of(sorted(part, key=repr)))
        found, self.unsure = not groups and not self.unsure, before
        return found

    def _next_removal(self, tried: set[frozenset[owl.Assertion]]) -> tuple[set[owl.Assertion], set[frozenset[owl.Assertion]]]:
        """One untried minimal hitting set of each group, all together; nothing if every one has been tried."""
        removed: set[owl.Assertion] = set()
        fresh: set[frozenset[owl.Assertion]] = set()
        for group in groups_of(list(self.found)):
            hitting = hitting_sets(group)
            if not hitting:
                continue  # a conflict without insertions: A by itself, which nothing taken away mends
            untried = next((h for h in hitting if h not in tried), None)
            if untried is not None:
                fresh.add(untried)
            removed |= untried if untried is not None else hitting[0]
        return removed, fresh


def _is_worth_a_layer(
    insertions: ABox,
    found: list[frozenset[owl.Assertion]],
    blamed: frozenset[owl.Assertion],
    tried: set[frozenset[owl.Assertion]],
) -> bool:
    """Whether so many hitting sets are left to be tried that it pays to check what is not ``blamed`` by itself."""
    if len(insertions) < LARGE + len(blamed):
        return False
    return max(sum(h not in tried for h in hitting_sets(group)) for group in groups_of(found)) > 2


def _split(add_set: AddSet, assertions: Iterable[owl.Assertion]) -> tuple[list[owl.Assertion], list[owl.Assertion]]:
    """``assertions``, those that are inserted and those of the base."""
    inserted: list[owl.Assertion] = []
    base: list[owl.Assertion] = []
    for assertion in assertions:
        (inserted if add_set.is_inserted(assertion) else base).append(assertion)
    return inserted, base


def _labels(add_set: AddSet, groups: Sequence[tuple[str, ...]]) -> dict[str, Label]:
    """The told labels that `Turns` tells groups apart by."""
    individuals = list(dict.fromkeys(individual for group in groups for individual in group[:SAMPLE]))
    return dict(zip(individuals, add_set.labels(individuals), strict=True))


def _cause(conflict: RawConflict, tbox: ClausalTBox) -> tuple[Hashable, Label]:
    """What tells the cause of ``conflict`` from others, and the label that brings it about, if classes of one individual do."""
    proof = prove((*conflict.insertions, *conflict.base), conflict.axioms)
    if proof is None:
        return frozenset(conflict.axioms), EMPTY
    cause = cause_of(proof)
    core, individuals = 0, set[str]()
    for fact in cause.given:
        match fact:
            case owl.ClassAssertion(owl.Class(iri), individual) if iri in tbox.atom_ids:
                core |= 1 << tbox.atom_ids[iri]
                individuals.add(individual)
            case _:
                return frozenset(cause.axioms), EMPTY
    return frozenset(cause.axioms), (core, 0) if len(individuals) == 1 else EMPTY
