"""Conflicts: minimal sets of insertions that contradict (T, A), each with one justification.

A conflict's *insertions* are a minimal X ⊆ A⁺ with (T, A ∪ X) inconsistent; its *base* and
*axioms* make with X one minimal justification. Contradictory elements and inconsistent modules
of an add set lead to one conflict each; further ones are found by checking the batch again
without a hitting set of those found, as in Reiter's hitting set tree, all groups of conflicts
that share no insertion at once. Where many hitting sets are to be tried, what is blamed by none
is checked once, and the rest of what they leave on top of that.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import chain

from abox_ops.conflicts.core import core
from abox_ops.conflicts.hitting_sets import groups_of, hitting_sets, next_removal
from abox_ops.conflicts.justify import Checker, Justifier
from abox_ops.conflicts.raw_conflict import RawConflict
from abox_ops.conflicts.shrink import SMALL, areas
from abox_ops.conflicts.support import Supports
from abox_ops.conflicts.told_cores import ToldCores
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

#: More conflicts than this are not looked at one by one when something was undetermined in a check
#: of them all together.
LOOKED_AT = 50


#: Batches that are not larger are checked as a whole, as often as it takes.
LARGE = 500

#: So many groups are explained together, at most.
TURN = 64


class Explainer(Justifier):
    """Minimal conflicts of one batch; the fields say how many, by when, and what was left."""

    def run(
        self, insertions: ABox, add_set: AddSet, groups: list[tuple[str, ...]]
    ) -> list[RawConflict]:
        """The conflicts of the batch ``insertions``, whose check gave ``add_set`` with the
        inconsistent ``groups``.
        """
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

    # --- one group --------------------------------------------------------------------------------

    def _explain_groups(
        self, add_set: AddSet, groups: Iterable[tuple[str, ...]]
    ) -> set[frozenset[owl.Assertion]]:
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
            new |= self._explain_turn(
                add_set, supports, turns, turns.draw(min(size, self.limit - len(self.found)))
            )
            size = min(2 * size, TURN)
        return new

    def _explain_turn(
        self, add_set: AddSet, supports: Supports, turns: Turns, todo: list[tuple[str, ...]]
    ) -> set[frozenset[owl.Assertion]]:
        """One conflict for each group of ``todo``, with their causes for ``turns``; gives those
        that are new.
        """
        new: set[frozenset[owl.Assertion]] = set()
        candidates: dict[frozenset[owl.Assertion], list[owl.Assertion]] = {}
        group_of: dict[frozenset[owl.Assertion], tuple[str, ...]] = {}
        supports.fetch(individual for near in todo for individual in near)
        cores = ToldCores(
            supports, self._data(add_set.tbox), todo, known_alone(self.found), self._is_enough
        )
        told = cores.run()
        for i, group in enumerate(todo):
            if self._is_enough(len(candidates)):
                self.unexplained += len(todo) - i
                self.complete = False
                break
            near_by = told[group] if group in told else self._areas(cores, add_set, group)
            if near_by is None:
                self.unexplained += 1
                self.complete = False
                continue
            for area in chain(near_by, self._hidden.behind(cores, group)):
                if len(self.found) + len(candidates) >= self.limit:
                    break
                base, inserted = supports.split(area)
                self.unsure = False
                kept = self._blamed(add_set.tbox, base, inserted)
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

    def _is_enough(self, more: int) -> bool:
        """Whether no conflicts are looked for but those found and ``more``."""
        return self._is_over() or len(self.found) + more >= self.limit

    def _blamed(
        self, tbox: ClausalTBox, base: list[owl.Assertion], inserted: list[owl.Assertion]
    ) -> list[owl.Assertion]:
        """A minimal part of ``inserted`` that contradicts with ``base``, as all of it does. What
        is left of a single one is it: A by itself is consistent.
        """
        if len(inserted) == 1 and self.is_base_consistent:
            return inserted
        return self._shrunk(inserted, lambda part: self._refutes(tbox, [*part, *base]))

    def _areas(
        self, cores: ToldCores, add_set: AddSet, group: tuple[str, ...]
    ) -> list[list[owl.Assertion]] | None:
        """Small sets of assertions around ``group`` that are inconsistent by themselves and
        share no insertion: what refutations rest on, where the reasoner tells. Empty where a
        conflict that is known explains ``group``, None if time runs out.

        The own reasoner is asked further and further around with a small budget, before anything
        is asked in full.
        """
        tbox, known, supports = add_set.tbox, cores.known, cores.supports
        for asked in (self._attempted, self._refutes):
            for part in supports.sets(group):
                open_ = [a for a in part if a not in known]
                is_first = len(open_) > SMALL and asked == self._attempted
                found = (
                    (cores.around(open_, group) or self._cores(add_set, open_)) if is_first else []
                )
                if found:
                    return found
                if asked(tbox, open_):
                    return areas(open_, lambda smaller: self._refutes(tbox, smaller))
                if len(open_) < len(part) and asked(tbox, part):
                    return []
                if self._is_over():
                    return None
        return None

    def _cores(self, add_set: AddSet, part: list[owl.Assertion]) -> list[list[owl.Assertion]]:
        """What one refutation of ``part`` rests on, then one of the rest without its insertions,
        and so on.
        """
        tbox = add_set.tbox
        found: list[list[owl.Assertion]] = []
        while not self._is_over() and len(self.found) + len(found) < self.limit:
            used = core(
                tbox,
                part,
                lambda module: self.decider.core(tbox, module, seconds_left(self.deadline)),
            )
            if used is None:
                break
            found.append(used)
            gone = {a for a in used if add_set.is_inserted(a)}
            if not gone:
                break
            part = [a for a in part if a not in gone]
        return found

    def _minimal(
        self, candidates: dict[frozenset[owl.Assertion], list[owl.Assertion]], add_set: AddSet
    ) -> dict[frozenset[owl.Assertion], list[owl.Assertion]]:
        """Candidates made minimal with respect to all of A, not just to what was near.

        X less any one insertion must be consistent with A. Since that is antitone, many such
        sets are tried as one batch; only where that is inconsistent they are tried one by one.
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
                    # None is inside the pool so far: one that would be now shares something with
                    # what is added.
                    if any(
                        all(a in pool or a in rest for a in other)
                        for added in rest
                        for other in holding[added]
                    ):
                        suspects.add(key)
                    else:
                        pool |= rest
                        pooled.append(key)
            self.unsure = False
            if pool and (self._is_over() or self.check(abox_of(sorted(pool, key=repr)))[1]):
                suspects.update(pooled)
            if self.unsure:
                self._doubtful.update(
                    key
                    for i, key in enumerate(pooled)
                    if i >= LOOKED_AT or not self._is_decided(key, turn)
                )
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
                supports = Supports(self.decider.space(smaller_set.tbox), smaller_set)
                local = next(
                    (
                        part
                        for part in supports.sets(groups[0])
                        if self._refutes(smaller_set.tbox, part)
                    ),
                    None,
                )
                if local is None:
                    continue
                wider, inserted = supports.split(local)
                kept = frozenset(
                    self._shrunk(
                        inserted,
                        lambda part: self._refutes(smaller_set.tbox, [*part, *wider]),  # noqa: B023
                    )
                )
                return self._smaller(kept, wider, smaller_set)
        return [(key, base)]

    # --- all conflicts ----------------------------------------------------------------------------

    def _search(self, insertions: ABox) -> None:
        """Looks for conflicts that those found hide, until hitting sets of every group leave a
        consistent batch.

        Stops because each round finds a new conflict or takes a hitting set off the finite lists.
        """
        tried: set[frozenset[owl.Assertion]] = set()
        laid, onto = frozenset[owl.Assertion](), None
        while self.found and not self._is_over() and len(self.found) < self.limit:
            removed, paths = next_removal(list(self.found), tried)
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


def _is_worth_a_layer(
    insertions: ABox,
    found: list[frozenset[owl.Assertion]],
    blamed: frozenset[owl.Assertion],
    tried: set[frozenset[owl.Assertion]],
) -> bool:
    """Whether so many hitting sets are left to be tried that it pays to check what is not
    ``blamed`` by itself.
    """
    if len(insertions) < LARGE + len(blamed):
        return False
    return max(sum(h not in tried for h in hitting_sets(group)) for group in groups_of(found)) > 2


def known_alone(found: Iterable[frozenset[owl.Assertion]]) -> frozenset[owl.Assertion]:
    """Insertions that are a conflict by themselves: no other minimal conflict has one of them."""
    return frozenset().union(*(key for key in found if len(key) == 1))


def _labels(add_set: AddSet, groups: Sequence[tuple[str, ...]]) -> dict[str, Label]:
    """The told labels that `Turns` tells groups apart by."""
    individuals = list(
        dict.fromkeys(individual for group in groups for individual in group[:SAMPLE])
    )
    return dict(zip(individuals, add_set.labels(individuals), strict=True))


def _cause(conflict: RawConflict, tbox: ClausalTBox) -> tuple[Hashable, Label]:
    """What tells the cause of ``conflict`` from others, and the label that brings it about, if
    classes of one individual do.
    """
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
