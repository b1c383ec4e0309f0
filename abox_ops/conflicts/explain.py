"""Search for the conflicts of a batch: minimal sets of insertions that contradict (T, A), each with
one justification.

The *insertions* of a conflict are a minimal X ⊆ A⁺ with (T, A ∪ X) inconsistent. Its *base* and
*axioms* make with X one minimal justification. Each contradictory element and each inconsistent
module of an add set leads to one conflict.

Further conflicts are found as in Reiter's hitting set tree: the batch is checked again without a
hitting set of the known ones. Groups of conflicts that share no insertion are treated together.
Where many hitting sets are to be tried, the insertions that no conflict blames are checked once;
the rest is checked on top of that.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import TypeAlias

from shiq import model as owl
from shiq.abox_ops.conflicts.group_queue import SAMPLE, GroupQueue
from shiq.abox_ops.conflicts.justify import ReasonCache, justify
from shiq.abox_ops.conflicts.minimal_subsets import (
    SMALL,
    disjoint_sublists,
    minimal_hitting_sets,
    next_hitting_sets,
    overlapping_conflicts,
)
from shiq.abox_ops.conflicts.refuter import Refuter
from shiq.abox_ops.conflicts.support_sets import SupportSets, refutation_core
from shiq.abox_ops.conflicts.told_cores import HiddenCores, ToldCores
from shiq.abox_ops.engine import AddSet
from shiq.abox_ops.labels.label_calculus import EMPTY, Label
from shiq.answers.result import Conflict
from shiq.columns.rows import remove_assertions
from shiq.deadline import is_past, seconds_left
from shiq.explanation.patterns import reduce_to_cause
from shiq.explanation.proof import prove
from shiq.model.abox import ABox, abox_of
from shiq.model.clause import ClausalTBox

#: More conflicts than this are not looked at one by one when something was undetermined in a check
#: of them all together.
LOOKED_AT = 50


#: Batches that are not larger are checked as a whole, as often as it takes.
LARGE = 500

#: So many groups are explained together, at most.
TURN = 64


#: Checks a part of the batch: its add set, and the contradictory or inconsistent groups of
#: individuals.
Checker: TypeAlias = Callable[[ABox], tuple[AddSet, list[tuple[str, ...]]]]


@dataclass
class Explainer:
    """Search for the minimal conflicts of one batch. It keeps its progress, so it may stop at a
    limit.

    check: decides (T, A ∪ X) for X ⊆ A⁺ incrementally.
    limit: the maximal number of conflicts.
    layer_checker: makes a checker that starts from an accepted part of the batch, where that is
    cheaper.
    is_certified: whether (T, A) is known to be consistent; else it is asked when that matters.
    by_insertions: the conflicts found, by their insertions.
    doubtful: the keys of conflicts that may not be minimal.
    unexplained_groups: the number of inconsistent groups without a conflict here.
    is_complete: whether every minimal conflict was found.
    """

    refuter: Refuter
    check: Checker
    limit: int = 1000
    progress: Callable[[str, int, int], None] | None = None
    layer_checker: Callable[[AddSet], Checker | None] = lambda _: None
    is_certified: bool = False
    by_insertions: dict[frozenset[owl.Assertion], Conflict] = field(default_factory=dict)
    unexplained_groups: int = 0
    is_complete: bool = True
    doubtful: set[frozenset[owl.Assertion]] = field(default_factory=set)
    reasons: ReasonCache = field(default_factory=ReasonCache)
    hidden_cores: HiddenCores = field(default_factory=HiddenCores)

    def run(
        self, insertions: ABox, add_set: AddSet, groups: list[tuple[str, ...]]
    ) -> list[Conflict]:
        """Find the conflicts of the batch ``insertions``, whose check gave ``add_set`` with the
        inconsistent ``groups``.
        """
        self._explain_groups(add_set, groups)
        self._search_hidden_conflicts(insertions)
        return self.conflicts

    @property
    def conflicts(self) -> list[Conflict]:
        """The conflicts found so far."""
        return sorted(
            self.by_insertions.values(),
            key=lambda c: (len(c.insertion_values), repr(c.insertion_values)),
        )

    @property
    def is_out_of_time(self) -> bool:
        """Decide whether the time for all conflicts of the batch is over."""
        return is_past(self.refuter.deadline)

    @cached_property
    def is_base_consistent(self) -> bool:
        """Whether (T, A) is consistent for certain."""
        if self.is_certified:
            return True
        (_, groups), in_doubt = self._check_subset(abox_of(()))
        return not groups and not in_doubt

    # --- one group --------------------------------------------------------------------------------

    def _explain_groups(
        self, add_set: AddSet, groups: Iterable[tuple[str, ...]]
    ) -> set[frozenset[owl.Assertion]]:
        """Find one conflict for each inconsistent group of individuals, alternating between causes;
        return the new conflicts.
        """
        new: set[frozenset[owl.Assertion]] = set()
        todo = list(groups)
        supports = SupportSets(self.refuter.decider.label_calculus(add_set.tbox), add_set)
        turns, size = GroupQueue(todo, _told_labels_of_groups(add_set, todo)), 1
        while len(turns):
            if self.refuter.is_out_of_time() or len(self.by_insertions) >= self.limit:
                self.unexplained_groups += len(turns)
                self.is_complete = False
                break
            if self.progress:
                self.progress("explaining conflicts", len(todo) - len(turns), len(todo))
            new |= self._explain_next_groups(
                add_set,
                supports,
                turns,
                turns.take_groups(min(size, self.limit - len(self.by_insertions))),
            )
            size = min(2 * size, TURN)
        return new

    def _explain_next_groups(
        self,
        add_set: AddSet,
        supports: SupportSets,
        queue: GroupQueue,
        groups: list[tuple[str, ...]],
    ) -> set[frozenset[owl.Assertion]]:
        """Find one conflict for each group of ``groups``, and record the causes in the queue
        ``queue``; return the new conflicts.
        """
        new: set[frozenset[owl.Assertion]] = set()
        candidates: dict[frozenset[owl.Assertion], list[owl.Assertion]] = {}
        group_of: dict[frozenset[owl.Assertion], tuple[str, ...]] = {}
        supports.fetch_assertions(individual for near in groups for individual in near)
        cores = ToldCores(
            supports,
            self.refuter.data_restrictions(add_set.tbox),
            groups,
            self_contradictory_insertions(self.by_insertions),
            self._should_stop,
        )
        told = cores.run()
        for i, group in enumerate(groups):
            if self._should_stop(len(candidates)):
                self.unexplained_groups += len(groups) - i
                self.is_complete = False
                break
            near_by = (
                told[group]
                if group in told
                else self._find_inconsistent_areas(cores, add_set, group)
            )
            if near_by is None:
                self.unexplained_groups += 1
                self.is_complete = False
                continue
            for area in chain(near_by, self.hidden_cores.find_hidden_cores(cores, group)):
                if len(self.by_insertions) + len(candidates) >= self.limit:
                    break
                base, inserted = supports.split_by_origin(area)
                self.refuter.in_doubt = False
                kept = self._minimise_insertions(add_set.tbox, base, inserted)
                if self.refuter.is_out_of_time():
                    # What is too large would blame insertions that have nothing to do with it.
                    self.unexplained_groups += 1
                    self.is_complete = False
                    continue
                candidates.setdefault(frozenset(kept), base)
                group_of.setdefault(frozenset(kept), group)
                if self.refuter.in_doubt:
                    self.doubtful.add(frozenset(kept))
        for key, base in self._minimise_candidates(candidates, add_set).items():
            if key not in self.by_insertions:
                self.by_insertions[key] = justify(
                    self.refuter,
                    self.reasons,
                    add_set.tbox,
                    key,
                    base,
                    is_base_consistent=bool(key) and self.is_base_consistent,
                    is_doubtful=key in self.doubtful,
                )
                new.add(key)
                if key in group_of and not queue.is_cause_known(group_of[key]):
                    queue.learn_cause(
                        group_of[key], *_cause_of_conflict(self.by_insertions[key], add_set.tbox)
                    )
        return new

    def _should_stop(self, more: int) -> bool:
        """Decide whether the search ends: time is over, or the conflicts found and ``more``
        candidates reach the limit.
        """
        return self.refuter.is_out_of_time() or len(self.by_insertions) + more >= self.limit

    def _minimise_insertions(
        self, tbox: ClausalTBox, base: list[owl.Assertion], inserted: list[owl.Assertion]
    ) -> list[owl.Assertion]:
        """Find a minimal sublist of ``inserted`` that contradicts together with ``base``.

        A single insertion is minimal by itself, because A is consistent.
        """
        if len(inserted) == 1 and self.is_base_consistent:
            return inserted
        return self._shrink_insertions(tbox, base, inserted)

    def _shrink_insertions(
        self, tbox: ClausalTBox, base: list[owl.Assertion], inserted: list[owl.Assertion]
    ) -> list[owl.Assertion]:
        """Drop insertions one at a time while the others still contradict together with ``base``."""
        return self.refuter.minimal_sublist(
            inserted, lambda part: self.refuter.is_inconsistent(tbox, [*part, *base])
        )

    def _find_inconsistent_areas(
        self, cores: ToldCores, add_set: AddSet, group: tuple[str, ...]
    ) -> list[list[owl.Assertion]] | None:
        """Find small inconsistent sets of assertions around ``group`` that share no insertion.

        They are the cores of refutations, if the reasoner reports these. Empty if a known conflict
        explains ``group``; None if time runs out.

        The own reasoner is asked further and further around with a small budget, before anything
        is asked in full.
        """
        tbox, known, supports = add_set.tbox, cores.known_insertions, cores.supports
        refuter = self.refuter
        for asked in (refuter.is_quickly_refuted, refuter.is_inconsistent):
            for part in supports.growing_sets(group):
                open_ = [a for a in part if a not in known]
                is_first = len(open_) > SMALL and asked == refuter.is_quickly_refuted
                found = (
                    (cores.group_cores(open_, group) or self._find_disjoint_cores(add_set, open_))
                    if is_first
                    else []
                )
                if found:
                    return found
                if asked(tbox, open_):
                    return disjoint_sublists(
                        open_, lambda smaller: self.refuter.is_inconsistent(tbox, smaller)
                    )
                if len(open_) < len(part) and asked(tbox, part):
                    return []
                if self.refuter.is_out_of_time():
                    return None
        return None

    def _find_disjoint_cores(
        self, add_set: AddSet, part: list[owl.Assertion]
    ) -> list[list[owl.Assertion]]:
        """Find inconsistent subsets of ``part``, each from a refutation of what remains without the
        insertions of earlier ones.
        """
        tbox = add_set.tbox
        found: list[list[owl.Assertion]] = []
        while (
            not self.refuter.is_out_of_time() and len(self.by_insertions) + len(found) < self.limit
        ):
            used = refutation_core(
                tbox,
                part,
                lambda module: self.refuter.decider.inconsistent_core(
                    tbox, module, seconds_left(self.refuter.deadline)
                ),
            )
            if used is None:
                break
            found.append(used)
            gone = {a for a in used if add_set.is_inserted(a)}
            if not gone:
                break
            part = [a for a in part if a not in gone]
        return found

    def _minimise_candidates(
        self, candidates: dict[frozenset[owl.Assertion], list[owl.Assertion]], add_set: AddSet
    ) -> dict[frozenset[owl.Assertion], list[owl.Assertion]]:
        """Make the candidates minimal with respect to all of A, not only to the assertions near
        them.

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
            self.refuter.in_doubt = False
            if pool and (
                self.refuter.is_out_of_time() or self.check(abox_of(sorted(pool, key=repr)))[1]
            ):
                suspects.update(pooled)
            if self.refuter.in_doubt:
                self.doubtful.update(
                    key
                    for i, key in enumerate(pooled)
                    if i >= LOOKED_AT or not self._is_removal_decided(key, turn)
                )
        done.update((k, b) for k, b in open_.items() if k not in suspects)
        for key in sorted(suspects, key=repr):
            if self.refuter.is_out_of_time():
                done[key] = open_[key]
                self.doubtful.add(key)
                continue
            for smaller, base in self._find_conflict_inside(key, open_[key], add_set):
                done.setdefault(smaller, base)
        return done

    def _is_removal_decided(self, key: frozenset[owl.Assertion], turn: int) -> bool:
        """Decide whether the check of ``key`` without one insertion, the one at position ``turn``,
        has a certain answer.
        """
        self.refuter.in_doubt = False
        self.check(abox_of(a for i, a in enumerate(sorted(key, key=repr)) if i != turn))
        return not self.refuter.in_doubt

    def _find_conflict_inside(
        self, key: frozenset[owl.Assertion], base: list[owl.Assertion], add_set: AddSet
    ) -> Iterable[tuple[frozenset[owl.Assertion], list[owl.Assertion]]]:
        """Find a minimal conflict within the insertions ``key``, checked against all of A; ``key``
        itself if it is minimal.
        """
        for out in sorted(key, key=repr):
            rest = sorted(key - {out}, key=repr)
            smaller_set, groups = self.check(abox_of(rest))
            if groups:
                supports = SupportSets(
                    self.refuter.decider.label_calculus(smaller_set.tbox), smaller_set
                )
                local = next(
                    (
                        part
                        for part in supports.growing_sets(groups[0])
                        if self.refuter.is_inconsistent(smaller_set.tbox, part)
                    ),
                    None,
                )
                if local is None:
                    continue
                wider, inserted = supports.split_by_origin(local)
                kept = frozenset(self._shrink_insertions(smaller_set.tbox, wider, inserted))
                return self._find_conflict_inside(kept, wider, smaller_set)
        return [(key, base)]

    # --- all conflicts ----------------------------------------------------------------------------

    def _search_hidden_conflicts(self, insertions: ABox) -> None:
        """Search for conflicts that known ones hide: remove hitting sets of these until the
        remaining batch is consistent.

        Stops because each round finds a new conflict or takes a hitting set off the finite lists.
        """
        tried: set[frozenset[owl.Assertion]] = set()
        laid, onto = frozenset[owl.Assertion](), None
        while (
            self.by_insertions
            and not self.refuter.is_out_of_time()
            and len(self.by_insertions) < self.limit
        ):
            removed, paths = next_hitting_sets(list(self.by_insertions), tried)
            if not paths:
                return
            if len(removed) >= len(insertions) and removed.issuperset(insertions):
                # What is left is A, which is consistent.
                tried |= paths
                continue
            if self.progress:
                self.progress("looking for conflicts that others hide", len(tried), 0)
            blamed = frozenset[owl.Assertion]().union(*self.by_insertions)
            if blamed != laid and _is_layer_worthwhile(
                insertions, list(self.by_insertions), blamed, tried
            ):
                (add_set, groups), in_doubt = self._check_subset(
                    remove_assertions(insertions, blamed)
                )
                laid, onto = blamed, None if groups or in_doubt else self.layer_checker(add_set)
                if groups and self._explain_groups(add_set, groups):
                    continue
                # What takes most memory goes before the next is made.
                del add_set
            if onto is not None and removed <= laid and self._is_consistent(onto, laid - removed):
                tried |= paths
                continue
            (add_set, groups), in_doubt = self._check_subset(remove_assertions(insertions, removed))
            # What stayed undecided may hide conflicts.
            self.is_complete = self.is_complete and not in_doubt
            if groups:
                if not self._explain_groups(add_set, groups):
                    self.is_complete = False
                    return
            else:
                tried |= paths
            del add_set
        self.is_complete = self.is_complete and not self.by_insertions

    def _check_subset(self, subset: ABox) -> tuple[tuple[AddSet, list[tuple[str, ...]]], bool]:
        """Check a subset of the batch. Returns: its add set with the inconsistent groups, and
        whether something stayed undecided.
        """
        return self.refuter.isolate_doubt(lambda: self.check(subset))

    def _is_consistent(self, check: Checker, part: frozenset[owl.Assertion]) -> bool:
        """Whether ``check`` answers for certain that ``part`` contradicts nothing."""
        (_, groups), in_doubt = self.refuter.isolate_doubt(
            lambda: check(abox_of(sorted(part, key=repr)))
        )
        return not groups and not in_doubt


def _is_layer_worthwhile(
    insertions: ABox,
    found: list[frozenset[owl.Assertion]],
    blamed: frozenset[owl.Assertion],
    tried: set[frozenset[owl.Assertion]],
) -> bool:
    """Decide whether to accept the insertions outside ``blamed`` once, and to check the others on
    top of them.

    It pays if the batch is large and many hitting sets are untried.
    """
    if len(insertions) < LARGE + len(blamed):
        return False
    return (
        max(
            sum(h not in tried for h in minimal_hitting_sets(group))
            for group in overlapping_conflicts(found)
        )
        > 2
    )


def self_contradictory_insertions(
    found: Iterable[frozenset[owl.Assertion]],
) -> frozenset[owl.Assertion]:
    """Select the insertions that are a minimal conflict by themselves, and so in no other minimal
    conflict.
    """
    return frozenset().union(*(key for key in found if len(key) == 1))


def _told_labels_of_groups(add_set: AddSet, groups: Sequence[tuple[str, ...]]) -> dict[str, Label]:
    """Fetch the told labels by which `GroupQueue` compares the causes of groups, by individual."""
    individuals = list(
        dict.fromkeys(individual for group in groups for individual in group[:SAMPLE])
    )
    return dict(zip(individuals, add_set.labels(individuals), strict=True))


def _cause_of_conflict(conflict: Conflict, tbox: ClausalTBox) -> tuple[Hashable, Label]:
    """Compute the key of a conflict's cause, and the label that brings it about.

    The label is empty unless classes of one individual cause the conflict.
    """
    proof = prove((*conflict.insertion_values, *conflict.base_values), conflict.axiom_values)
    if proof is None:
        return frozenset(conflict.axiom_values), EMPTY
    cause = reduce_to_cause(proof)
    core, individuals = 0, set[str]()
    for fact in cause.assertions:
        match fact:
            case owl.ClassAssertion(owl.Class(iri), individual) if iri in tbox.atom_ids:
                core |= 1 << tbox.atom_ids[iri]
                individuals.add(individual)
            case _:
                return frozenset(cause.axioms), EMPTY
    return frozenset(cause.axioms), (core, 0) if len(individuals) == 1 else EMPTY
