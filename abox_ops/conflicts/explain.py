"""Conflicts: minimal sets of insertions that contradict (T, A), each with one justification.

A conflict's *insertions* are a minimal X ⊆ A⁺ with (T, A ∪ X) inconsistent; its *base* and *axioms* make with X one minimal
justification. Contradictory elements and inconsistent modules of an add set lead to one conflict each; further ones are
found by checking the batch again without a hitting set of those found, as in Reiter's hitting set tree, all groups of
conflicts that share no insertion at once. Where many hitting sets are to be tried, what is blamed by none is checked once, and
the rest of what they leave on top of that.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from abox_ops.conflicts.core import core
from abox_ops.conflicts.raw_conflict import RawConflict
from abox_ops.conflicts.shrink import SMALL, areas, shrink
from abox_ops.conflicts.support import Supports
from abox_ops.elements.normal import definitions, normalise
from abox_ops.elements.quotient import Partition
from abox_ops.elements.reference import ElementGraph, atom_names
from abox_ops.engine import AddSet
from abox_ops.modules.components import modules
from abox_ops.modules.decide import Decider
from abox_ops.published.everything import everything
from shiq import model as owl
from shiq.abox import ABox, abox_of
from shiq.clause import ClausalTBox
from shiq.datatypes import DataTheory
from shiq.datatypes.datatype_map import READ_BY_FORM
from shiq.explanation.canonical import Row, canonical_rows, rows_of
from shiq.explanation.parsed import line_of
from shiq.explanation.proof import prove
from shiq.ntriples import assertion_lines
from shiq.reasoner.protocol import Answer, Module
from shiq.roles import role_box
from shiq.verdict import Verdict
from simplify import simplify
from simplify.locality import relevant

V = TypeVar("V")

#: More conflicts than this are not looked at one by one when something was undetermined in a check of them all together.
LOOKED_AT = 50

#: Seconds for making what stands behind the insertions of one conflict minimal.
PATIENCE = 60.0

#: Batches that are not larger are checked as a whole, as often as it takes.
LARGE = 500

#: For this many groups what is said of their individuals is looked up together.
FETCHED = 500

#: Checks a part of the batch: the add set, and its contradictory or inconsistent groups of individuals.
Checker = Callable[[ABox], tuple[AddSet, list[tuple[str, ...]]]]


@dataclass
class Explainer:
    """Minimal conflicts of one batch. ``tbox`` is the TBox as given; ``check`` decides (T, A ∪ X) for X ⊆ A⁺ incrementally.

    ``limit``: how many conflicts at most; ``deadline``: `time.monotonic` by which to stop looking for more. What was left is
    in ``unexplained`` (groups known to be inconsistent) and ``complete`` (whether every minimal conflict was found). ``unsure``
    is set where something was taken to be consistent that was not decided. ``patience``: seconds for making the base and the
    axioms of one conflict minimal; what is left by then is given as it is, and marked. Insertions are not bounded by it: who is
    blamed does not depend on the machine's speed. ``above`` gives what checks on top of a part of the batch that was accepted,
    where that is cheaper.
    """

    tbox: owl.TBox
    decider: Decider
    check: Checker
    limit: int = 1000
    deadline: float | None = None
    progress: Callable[[str, int, int], None] | None = None
    patience: float = field(default_factory=lambda: PATIENCE)
    above: Callable[[AddSet], Checker | None] = lambda _: None
    found: dict[frozenset[owl.Assertion], RawConflict] = field(default_factory=dict)
    unexplained: int = 0
    complete: bool = True
    unsure: bool = False
    _doubtful: set[frozenset[owl.Assertion]] = field(default_factory=set)
    _known_axioms: dict[tuple[Row, ...], tuple[list[owl.Axiom], bool]] = field(default_factory=dict)
    _patient_until: float | None = None

    def run(self, insertions: ABox, add_set: AddSet, groups: list[tuple[str, ...]]) -> list[RawConflict]:
        """The conflicts of the batch ``insertions``, whose check gave ``add_set`` with the inconsistent ``groups``."""
        self._explain_groups(add_set, groups)
        self._search(insertions)
        return self.conflicts

    @property
    def conflicts(self) -> list[RawConflict]:
        """Those found so far."""
        return sorted(self.found.values(), key=lambda c: (len(c.insertions), repr(c.insertions)))

    @property
    def is_out_of_time(self) -> bool:
        """Whether the time for all of them is over."""
        return self.deadline is not None and time.monotonic() > self.deadline

    # --- one group ---------------------------------------------------------------------------------

    def _explain_groups(self, add_set: AddSet, groups: Iterable[tuple[str, ...]]) -> set[frozenset[owl.Assertion]]:
        """One conflict for each group; gives those that are new."""
        new: set[frozenset[owl.Assertion]] = set()
        todo = list(groups)
        supports = Supports(self.decider.space(add_set.tbox), add_set)
        candidates: dict[frozenset[owl.Assertion], list[owl.Assertion]] = {}
        for i, group in enumerate(todo):
            if self._is_over() or len(self.found) + len(candidates) >= self.limit:
                self.unexplained += len(todo) - i
                self.complete = False
                break
            if self.progress:
                self.progress("explaining conflicts", i, len(todo))
            if i % FETCHED == 0:
                supports.fetch(individual for near in todo[i : i + FETCHED] for individual in near)
            near_by = self._areas(supports, add_set, group)
            if not near_by:
                self.unexplained += 1
                self.complete = False
                continue
            for area in near_by:
                inserted, base = self._split(add_set, area)
                self.unsure = False
                kept = self._shrunk(inserted, lambda part, base=base: self._refutes(add_set.tbox, [*part, *base]))  # type: ignore[misc]
                if self._is_over():
                    # What is too large would blame insertions that have nothing to do with it.
                    self.unexplained += 1
                    self.complete = False
                    continue
                candidates.setdefault(frozenset(kept), base)
                if self.unsure:
                    self._doubtful.add(frozenset(kept))
        for key, base in self._minimal(candidates, add_set).items():
            if key not in self.found:
                self.found[key] = self._justified(add_set.tbox, key, base)
                new.add(key)
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
            used = core(tbox, part, lambda module: self.decider.core(tbox, module, self._left()))
            if used is None:
                break
            found.append(used)
            gone = {a for a in used if add_set.is_inserted(a)}
            if not gone:
                break
            part = [a for a in part if a not in gone]
        return found

    def _left(self) -> float | None:
        return None if self.deadline is None else max(0.01, self.deadline - time.monotonic())

    def _local(self, supports: Supports, tbox: ClausalTBox, group: tuple[str, ...]) -> list[owl.Assertion] | None:
        """A set of assertions around ``group`` that is inconsistent by itself, or None if time runs out."""
        for part in supports.sets(group):
            if self._refutes(tbox, part):
                return part
            if self._is_over():
                return None
        return None

    def _split(self, add_set: AddSet, assertions: Iterable[owl.Assertion]) -> tuple[list[owl.Assertion], list[owl.Assertion]]:
        inserted: list[owl.Assertion] = []
        base: list[owl.Assertion] = []
        for assertion in assertions:
            (inserted if add_set.is_inserted(assertion) else base).append(assertion)
        return inserted, base

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
                inserted, wider = self._split(smaller_set, local)
                kept = frozenset(self._shrunk(inserted, lambda part: self._refutes(smaller_set.tbox, [*part, *wider])))  # noqa: B023
                return self._smaller(kept, wider, smaller_set)
        return [(key, base)]

    def _justified(self, tbox: ClausalTBox, insertions: frozenset[owl.Assertion], base: list[owl.Assertion]) -> RawConflict:
        self.unsure = insertions in self._doubtful
        self._patient_until = time.monotonic() + self.patience
        try:
            return self._with_its_reasons(tbox, insertions, base)
        finally:
            self._patient_until = None

    def _with_its_reasons(
        self, tbox: ClausalTBox, insertions: frozenset[owl.Assertion], base: list[owl.Assertion]
    ) -> RawConflict:
        fixed = sorted(insertions, key=repr)
        needed = self._shrunk(base, lambda part: self._refutes(tbox, [*fixed, *part]))
        assertions = [*fixed, *needed]
        axioms = self._axioms(tbox, assertions)
        return RawConflict(tuple(fixed), tuple(needed), tuple(axioms), not self.unsure)

    def _axioms(self, tbox: ClausalTBox, assertions: list[owl.Assertion]) -> list[owl.Axiom]:
        """A minimal set of axioms that contradicts ``assertions``. Conflicts that differ only in individuals share it;
        where they differ in literals too, that is verified."""
        rows, terms = rows_of([line for a in assertions for text in assertion_lines(a) if (line := line_of(text))])
        form, _ = canonical_rows(rows)
        known, is_sure = self._known_axioms.get(form, (None, False))
        if known is not None and not any(t.startswith('"') for t in terms):
            self.unsure = self.unsure or not is_sure
            return known
        if known is not None and is_sure and self._is_minimal(known, assertions):
            return known
        used = self._used(tbox, assertions)
        candidates = [a for a in self.tbox.axioms if a in used] if used else []
        without_roles = [a for a in candidates if not _is_about_roles(a)]
        # Clauses do not tell which axioms about roles they rest on; mostly it is none.
        if len(without_roles) < len(candidates) and self._refutes_with(without_roles, assertions):
            candidates = without_roles
        elif not candidates or not self._refutes_with(candidates, assertions):
            candidates = relevant(self.tbox.axioms, assertions)
            # A proof is a good guess, which makes what follows ten times as fast; it is verified like any other.
            proof = prove(assertions, candidates, (0,))
            if proof is not None and self._refutes_with(proof.axioms, assertions):
                candidates = list(proof.axioms)
        found = self._shrunk(candidates, lambda part: self._refutes_with(part, assertions))
        self._known_axioms[form] = found, not self.unsure
        return found

    def _is_minimal(self, axioms: list[owl.Axiom], assertions: list[owl.Assertion]) -> bool:
        """Whether ``axioms`` contradict ``assertions``, and none can be left out."""
        return self._refutes_with(axioms, assertions) and not any(
            self._refutes_with(axioms[:i] + axioms[i + 1 :], assertions) for i in range(len(axioms))
        )

    def _shrunk(self, items: Sequence[V], holds: Callable[[list[V]], bool]) -> list[V]:
        """`shrink`; where it met something undecided, what came out is looked at once more."""
        before, self.unsure = self.unsure, False
        kept = shrink(items, holds)
        if self.unsure and not self._is_over():
            self.unsure = False
            for i in range(len(kept)):
                holds(kept[:i] + kept[i + 1 :])
        self.unsure = self.unsure or before
        return kept

    # --- local questions ---------------------------------------------------------------------------

    def _modules(self, tbox: ClausalTBox, assertions: Iterable[owl.Assertion]) -> tuple[bool, list[Module]]:
        graph = ElementGraph(tbox)
        for assertion in assertions:
            for plain in normalise(assertion, tbox.roles).assertions:
                graph.add(plain)
        closure = everything(tbox, DataTheory(tbox.definitions, tbox.roles), graph)
        return bool(closure.contradictory), [m.module for m in modules(closure.kept)]

    def _refutes(self, tbox: ClausalTBox, assertions: list[owl.Assertion]) -> bool:
        """Whether (T, ``assertions``) is inconsistent; an undetermined answer is not, and none is given when time has run out."""
        if self._is_over():
            self.unsure = True
            return False
        contradictory, parts = self._modules(tbox, assertions)
        return contradictory or self._refuted(self.decider.decide(tbox, parts))

    def _refuted(self, answers: Sequence[Answer]) -> bool:
        if any(a.verdict is Verdict.INCONSISTENT for a in answers):
            return True
        self.unsure = self.unsure or any(a.verdict is Verdict.UNDETERMINED for a in answers)
        return False

    def _used(self, tbox: ClausalTBox, assertions: list[owl.Assertion]) -> set[owl.Axiom] | None:
        """The axioms behind the clauses that the refutation used, with the role axioms; None if they are not known."""
        _, parts = self._modules(tbox, assertions)
        for answer in self.decider.decide(tbox, parts):
            if answer.verdict is Verdict.INCONSISTENT:
                if answer.used is None:
                    return None
                found = {a for a in tbox.axioms if _is_about_roles(a)}
                found |= {tbox.axioms[i] for c in answer.used for i in tbox.clauses[c].origins}
                return found
        return set()

    def _refutes_with(self, axioms: Sequence[owl.Axiom], assertions: list[owl.Assertion]) -> bool:
        """Whether ``axioms`` alone contradict ``assertions``. Asked of many small TBoxes, so nothing is remembered."""
        if self._is_over():
            self.unsure = True
            return False
        roles = role_box(axioms)
        plain = [p for a in assertions for p in normalise(a, roles).assertions]
        extra: list[owl.SubClassOf | owl.Class] = [*definitions(assertions, roles), *map(owl.Class, atom_names(plain))]
        tbox = simplify(owl.TBox(tuple(axioms)), extra).clauses
        contradictory, parts = self._modules(tbox, assertions)
        before = self.unsure
        refuted = contradictory or self._refuted(self.decider.reasoner.decide(tbox, parts))
        if not refuted and READ_BY_FORM in self.tbox.axioms[-1:] and READ_BY_FORM not in axioms:
            self.unsure = before  # what is open without that decision rests on it
        return refuted

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
            if blamed != laid and self._is_worth_a_layer(insertions, blamed, tried):
                before, self.unsure = self.unsure, False
                add_set, groups = self.check(insertions.without(blamed))
                laid, onto = blamed, None if groups or self.unsure else self.above(add_set)
                self.unsure = before
                if groups and self._explain_groups(add_set, groups):
                    continue
            if onto is not None and removed <= laid and self._is_consistent(onto, laid - removed):
                tried |= paths
                continue
            before, self.unsure = self.unsure, False
            add_set, groups = self.check(insertions.without(removed))
            # What stayed undecided may hide conflicts.
            self.complete, self.unsure = self.complete and not self.unsure, before
            if groups:
                if not self._explain_groups(add_set, groups):
                    self.complete = False
                    return
            else:
                tried |= paths
        self.complete = self.complete and not self.found

    def _is_worth_a_layer(self, insertions: ABox, blamed: frozenset[owl.Assertion], tried: set[frozenset[owl.Assertion]]) -> bool:
        """Whether so many hitting sets are left to be tried that it pays to check what is not ``blamed`` by itself."""
        if len(insertions) < LARGE + len(blamed):
            return False
        return max(sum(h not in tried for h in _hitting_sets(group)) for group in _groups(list(self.found))) > 2

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
        for group in _groups(list(self.found)):
            hitting = _hitting_sets(group)
            untried = next((h for h in hitting if h not in tried), None)
            if untried is not None:
                fresh.add(untried)
            removed |= untried if untried is not None else hitting[0]
        return removed, fresh

    def _is_over(self) -> bool:
        ends = [end for end in (self.deadline, self._patient_until) if end is not None]
        return bool(ends) and time.monotonic() > min(ends)


def _groups(conflicts: list[frozenset[owl.Assertion]]) -> list[list[frozenset[owl.Assertion]]]:
    """Conflicts that share insertions, directly or by others, together."""
    together: Partition[int] = Partition()
    first: dict[owl.Assertion, int] = {}
    for i, conflict in enumerate(conflicts):
        for assertion in conflict:
            together.union(first.setdefault(assertion, i), i)
    found: dict[int, list[frozenset[owl.Assertion]]] = {}
    for i, conflict in enumerate(conflicts):
        found.setdefault(together.find(i), []).append(conflict)
    return list(found.values())


#: More hitting sets of one group than this are not enumerated.
HITTING_SETS = 200


def _hitting_sets(conflicts: list[frozenset[owl.Assertion]]) -> list[frozenset[owl.Assertion]]:
    """The minimal sets that meet every conflict (at most `HITTING_SETS`), smallest first, in a fixed order."""
    partial: set[frozenset[owl.Assertion]] = {frozenset()}
    for conflict in sorted(conflicts, key=lambda c: (len(c), sorted(map(repr, c)))):
        grown = {h for h in partial if h & conflict}
        for h in partial - grown:
            grown |= {h | {a} for a in conflict}
        partial = {h for h in grown if not any(o < h for o in grown)}
        if len(partial) > HITTING_SETS:
            partial = set(sorted(partial, key=lambda h: (len(h), sorted(map(repr, h))))[:HITTING_SETS])
    return sorted(partial, key=lambda h: (len(h), sorted(map(repr, h))))


def _is_about_roles(axiom: owl.Axiom) -> bool:
    return isinstance(axiom, _ROLE_AXIOMS)


_ROLE_AXIOMS = (
    owl.AsymmetricObjectProperty,
    owl.DatatypeDefinition,
    owl.DisjointDataProperties,
    owl.DisjointObjectProperties,
    owl.EquivalentDataProperties,
    owl.EquivalentObjectProperties,
    owl.InverseObjectProperties,
    owl.IrreflexiveObjectProperty,
    owl.SubDataPropertyOf,
    owl.SubObjectPropertyOf,
    owl.SymmetricObjectProperty,
    owl.TransitiveObjectProperty,
)
