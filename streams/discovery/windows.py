"""Miner of windows: it decides which windows are due, and computes their rules, changes and
refutations.

A snapshot refutes a rule if some individual of the body cannot be in the head. Under the open
world, a missing head alone refutes nothing (docs/DISCOVERY.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from os.path import dirname
from time import perf_counter
from typing import Any

import numpy as np

from shiq import model as owl
from shiq.errors import InputError
from shiq.streams.discovery import ground_rules
from shiq.streams.discovery.atomsets import (
    ROOT_VARIABLE,
    Atom,
    AtomIndex,
    BodyTree,
    add_class,
    find_bindings,
    has_binding,
    tree_from_any_root,
    tree_to_atoms,
)
from shiq.streams.discovery.columns import HEAD_TAG, Bits, SnapshotColumns, count_bits, tag_atom
from shiq.streams.discovery.counting import BodyCounter, MinedRule, SnapshotBindings
from shiq.streams.discovery.mining import (
    CarriedRules,
    MinedRules,
    SlideGate,
    find_first_instances,
    mine_rules,
    mine_window,
)
from shiq.streams.discovery.ontology import BodyTheory, MinerOntology
from shiq.streams.discovery.report import (
    GroundRuleFinding,
    RuleFinding,
    WindowReport,
    fraction_to_float,
)
from shiq.streams.discovery.settings import MinerSettings, TrackedRule, source_path
from shiq.streams.discovery.snapshots import (
    SnapshotStore,
    UndecidedEntailmentError,
    compute_rarity,
    count_by_frequency,
)

# Which rules a snapshot contradicts: under the open world a missing head is no counterexample,
# an impossible one is (docs/DISCOVERY.md).


#: Who is in a rule's body in a snapshot, and not in its head, by text.
CounterexampleFunction = Callable[[MinedRule], Iterable[str]]


def make_counterexample_function(facts: AtomIndex, tag: str = "") -> CounterexampleFunction:
    """Make a function from a rule to its counterexamples in a snapshot: individuals in the body but
    not in the head.

    tag: prefix of head classes.
    """
    return lambda rule: sorted(
        {binding[ROOT_VARIABLE] for binding in find_bindings(tree_to_atoms(rule.body), facts)}
        - facts.members(tag + rule.head)
    )


@dataclass(frozen=True)
class SnapshotQuestions:
    """Questions to the reasoner whether atoms are possible in the snapshot ``index``.

    answers: by single atom. open_atoms: atoms that are taken for possible since the
    reasoner did not decide about them, which becomes a leftover.
    """

    snapshots: SnapshotStore
    index: int
    answers: dict[Atom, bool] = field(default_factory=dict)
    open_atoms: set[Atom] = field(default_factory=set)

    def are_possible(self, atoms: Sequence[Atom]) -> bool:
        """Whether atoms are possible together; known answers are reused."""
        asked = [atom for atom in atoms if not self.answers.get(atom)]
        told, knowledge = self.snapshots.assertions.get(self.index, ()), self.snapshots.knowledge
        try:
            holds = not asked or knowledge.is_consistent(told, asked)
        except UndecidedEntailmentError as error:
            holds = len(asked) == 1
            if holds:
                self.open_atoms.update(asked)
                what = f"whether snapshot {self.index} contradicts some rules is open"
                knowledge.undecided_reasons[what] = error.reason
        if holds:
            self.answers.update(dict.fromkeys(asked, True))
        elif len(asked) == 1:
            self.answers[asked[0]] = False
        return holds

    def is_each_possible(self, atoms: Sequence[Atom]) -> bool:
        """Whether each of the ``atoms`` is possible. All are tested together first; if that fails,
        in two halves.
        """
        if any(self.answers.get(atom) is False for atom in atoms):
            return False
        if self.are_possible(atoms):
            return True
        if len(atoms) == 1:
            return False
        half = len(atoms) // 2
        return self.is_each_possible(atoms[:half]) and self.is_each_possible(atoms[half:])


def count_refutations(
    rules: Sequence[MinedRule],
    snapshots: SnapshotStore,
    lacking_in: Callable[[int], CounterexampleFunction],
    window: Iterable[int],
) -> list[int | None]:
    """Count the snapshots of a window that refute each rule; None for a rule with an undecided
    snapshot.

    A snapshot refutes a rule if the head is impossible for an individual of the body. If all
    missing heads are possible together, one question decides the snapshot.

    lacking_in: makes the function from a rule to its counterexamples in a snapshot
    """
    counts, unknown = [0] * len(rules), set[int]()
    for index in snapshots.consistent_snapshots(window):
        members, questions = lacking_in(index), SnapshotQuestions(snapshots, index)
        heads = [[(rule.head, one) for one in members(rule)] for rule in rules]
        every = list(dict.fromkeys(atom for own in heads for atom in own))
        if questions.are_possible(every) and not questions.open_atoms:
            continue
        for place, own in enumerate(heads):
            if not questions.is_each_possible(own):
                counts[place] += 1
            elif not questions.open_atoms.isdisjoint(own):
                unknown.add(place)
    return [None if place in unknown else count for place, count in enumerate(counts)]


class WindowMiner:
    """Miner that stores snapshots in any order and reports a window on request.

    first_index, newest_index: smallest and largest index seen.
    """

    def __init__(self, ontology: MinerOntology, settings: MinerSettings) -> None:
        self.settings, self.knowledge = settings, ontology.knowledge()
        self.snapshots = SnapshotStore(self.knowledge)
        #: What the streams bring that bodies come from, and heads.
        self.origin_snapshots = tuple(
            SnapshotStore(self.knowledge) for _ in range(2 * self.settings.needs_origins)
        )
        self._tag = HEAD_TAG if self.origin_snapshots else ""
        self.theory = BodyTheory(self.knowledge.tbox_closure, tuple(ontology.classes))
        self.first_index: int | None = None
        self.newest_index: int | None = None
        self.carried_rules: dict[int, CarriedRules] = {}
        self.seconds = dict.fromkeys(("reading", "entailing", "counting", "mining"), 0.0)
        self._reset_columns()

    def _reset_columns(self) -> None:
        """Empty the bit columns of snapshots and the counts over them."""
        self.columns = SnapshotColumns(self.settings.window)
        self.columns.set_static(self.knowledge.static_entailments or ())
        self.counter = BodyCounter(self.columns, tag=self._tag)
        self._place_states: dict[int, tuple[int, ...]] = {}

    def add_to_snapshot(
        self, index: int, assertions: Iterable[owl.Assertion], source: str = ""
    ) -> None:
        """Add assertions of the stream ``source`` to a snapshot."""
        self.first_index = index if self.first_index is None else min(self.first_index, index)
        self.newest_index = index if self.newest_index is None else max(self.newest_index, index)
        assertions = list(assertions)
        self.snapshots.add_assertions(index, assertions)
        # Of a file, its folder is the source, too.
        places = {source_path(source), source_path(dirname(source) or ".")}
        wanted = self.settings.body_sources, self.settings.head_sources
        for names, snapshots in zip(wanted, self.origin_snapshots):
            if not names or not places.isdisjoint(map(source_path, names)):
                snapshots.add_assertions(index, assertions)

    def is_window_end(self, index: int) -> bool:
        """Whether a full window that should be reported ends at this snapshot."""
        past = (
            -1 if self.first_index is None else index - self.first_index + 1 - self.settings.window
        )
        return past >= 0 and past % self.settings.slide == 0

    def last_window_end(self) -> int | None:
        """Last snapshot of the newest full window; None if no window is full."""
        if (
            self.first_index is None
            or self.newest_index is None
            or self.newest_index - self.first_index + 1 < self.settings.window
        ):
            return None
        return (
            self.newest_index
            - (self.newest_index - self.first_index + 1 - self.settings.window)
            % self.settings.slide
        )

    def add_miners(self, *others: WindowMiner) -> None:
        """Add the snapshots of other miners. Raises: UsageError if two have the same index."""
        self.snapshots.add_snapshots(*(other.snapshots for other in others))
        for own, *theirs in zip(
            self.origin_snapshots, *(other.origin_snapshots for other in others)
        ):
            own.add_snapshots(*theirs)
        self.first_index = min(
            (other.first_index for other in others if other.first_index is not None), default=None
        )
        self.newest_index = max(
            (other.newest_index for other in others if other.newest_index is not None), default=None
        )

    # --- one window -------------------------------------------------------------------------------

    def report_window(self, end: int) -> WindowReport:
        """Mine and report the window that ends at snapshot ``end``. Raises: InputError if the
        ontology and static data are inconsistent.
        """
        if self.knowledge.static_entailments is None:
            raise InputError(
                "the TBox and the static assertions contradict each other",
                "`shiq certify TBOX ABOX…` says why.",
            )
        settings, snapshots = self.settings, self.snapshots
        size, slide = settings.window, settings.slide
        window, before = (
            range(end - size + 1, end + 1),
            range(end - size + 1 - slide, end + 1 - slide),
        )
        if settings.method == "scratch":
            for each in (snapshots, *self.origin_snapshots):
                each.forget_entailments(window)
            self.theory = BodyTheory(self.knowledge.tbox_closure, self.theory.vocabulary)
        with self._measure_seconds("entailing"):
            inconsistent, undecided = snapshots.inconsistent_and_undecided(window)
            open_ = {
                *undecided,
                *(
                    i
                    for each in self.origin_snapshots
                    for i in each.inconsistent_and_undecided(window)[1]
                ),
            }
            undecided = tuple(sorted(open_))
            has_before = self.first_index is not None and before[0] >= self.first_index
            compared = snapshots.window_changes(before, window) if has_before else None
            changed = None
            if has_before and settings.report.list_changes:
                changed = snapshots.changed_assertions(before, window)
            gate = (
                self._compute_gate_measures(before, window)
                if has_before and settings.method == "inkd"
                else None
            )
        with self._measure_seconds("counting"):
            self._load_columns(window)
            by_count = self._count_by_frequency(window)
            tracked = [self._count_tracked_rule(rule, window) for rule in settings.rules]
        with self._measure_seconds("mining"):
            found, by_tbox, stopped, acted = self._mine_window(window, gate)
            told = self._select_reported(found)
        report = WindowReport(
            (window[0], window[-1]),
            inconsistent,
            tuple(index for index in window if index not in snapshots.assertions),
            compared[0] if compared else None,
            compared[1] if compared else "union",
            by_count,
            acted,
            tracked,
            told,
            by_tbox,
            stopped,
            self.seconds,
            undecided,
            len(found) - len(told),
            changed,
        )
        self.seconds = dict.fromkeys(self.seconds, 0.0)
        for each in (snapshots, *self.origin_snapshots):
            each.drop_snapshots_before(end + 1 - size - 2 * slide)
        return report

    def _select_reported(
        self, found: Sequence[RuleFinding | GroundRuleFinding]
    ) -> list[RuleFinding | GroundRuleFinding]:
        """Select the rules that the options ask for, most surprising first; equivalent heads count
        as equal.
        """
        entails, asked = (
            self.theory.entails,
            [((name, ROOT_VARIABLE),) for name in self.settings.report.head],
        )
        heads = {
            atom[0]
            for atom in ((name, ROOT_VARIABLE) for name in self.theory.classes)
            if any(entails((atom,), other) and entails(other, (atom,)) for other in asked)
        }
        told = [
            each
            for each in found
            if each.surprise[0] >= self.settings.report.min_lift
            and (not asked or each.head in heads)
        ]
        return sorted(told, key=lambda each: each.surprise, reverse=True)

    @contextmanager
    def _measure_seconds(self, activity: str) -> Iterator[None]:
        """Context manager that adds its duration to the seconds of ``activity``."""
        begun = perf_counter()
        yield
        self.seconds[activity] += perf_counter() - begun

    def _compute_gate_measures(self, before: range, window: range) -> SlideGate:
        """Compute the similarity and rarity of a slide, by which the gate decides whether new rules
        are searched for.
        """
        slide = self.settings.slide
        left, stayed, arrived = (
            before[:slide],
            window[: len(window) - slide],
            window[len(window) - slide :],
        )
        changes = self.snapshots.window_changes
        return SlideGate(
            changes(left, arrived)[0].similarity,
            compute_rarity(self.snapshots.entailed_by_each(arrived), 1),
            changes(stayed, arrived)[0].similarity,
        )

    def _load_columns(self, window: range) -> None:
        """Load new and changed snapshots of a window into the columns."""
        for index in window:
            versions = (
                each.versions.get(index, 0) for each in (self.snapshots, *self.origin_snapshots)
            )
            state = (index, *versions)
            if self._place_states.get(index % self.columns.size) != state:
                self.columns.store_snapshot(index, self._column_atoms(index))
                self._place_states[index % self.columns.size] = state

    def _column_atoms(self, index: int) -> Iterable[Atom] | None:
        """Atoms of the snapshot ``index`` that the columns are built from; None if it is
        inconsistent or undecided. With the origins of atoms, also copies that are tagged by their
        source, for rule heads.
        """
        found = self.snapshots.entailed_atoms(index)
        if found is None or not self.origin_snapshots:
            return found
        body, head = (snapshots.entailed_atoms(index) for snapshots in self.origin_snapshots)
        if body is None or head is None:
            return None
        return (*body, *(tag_atom(self._tag, atom) for atom in head))

    def _count_by_frequency(self, window: range) -> dict[int, int]:
        """Number of assertions by the number of snapshots that entail them."""
        if self.settings.method == "scratch" or self.origin_snapshots:
            return count_by_frequency(self.snapshots.entailed_by_each(window))
        columns = self.columns
        numbers = columns.class_assertion_rows()
        times = count_bits(columns.atom_bits(numbers)).sum(axis=1)
        return {e: n for e, n in enumerate(np.bincount(times).tolist()) if e and n}

    # --- rules that are counted whatever their counts are ----------------------------------------

    def _count_tracked_rule(self, rule: TrackedRule, window: range) -> tuple[int, int]:
        """Support and body support of a rule of --rules in a window; by columns if both sides are
        trees.
        """
        whole = (*rule.body, *(tag_atom(self._tag, atom) for atom in rule.head))
        if self.settings.method != "scratch":
            trees = [tree_from_any_root(atoms) for atoms in (whole, rule.body)]
            if None not in trees:
                n, d = (self.counter.counts(tree).support for tree in trees if tree is not None)
                return n, d
        n = d = 0
        for index in window:
            if self._column_atoms(index) is None:
                continue
            facts = self._snapshot_facts(index, frozenset(atom[0] for atom in whole))
            n, d = n + has_binding(whole, facts), d + has_binding(rule.body, facts)
        return n, d

    def _snapshot_facts(self, index: int, names: frozenset[str] | None = None) -> AtomIndex:
        """Index of all atoms that a consistent snapshot entails, or of those with the given
        ``names``.
        """
        atoms = (*(self.knowledge.static_entailments or ()), *(self._column_atoms(index) or ()))
        return AtomIndex(atom for atom in atoms if names is None or atom[0] in names)

    # --- mining -----------------------------------------------------------------------------------

    def _mine_window(
        self, window: range, gate: SlideGate | None
    ) -> tuple[Sequence[RuleFinding | GroundRuleFinding], int, bool, Any]:
        """Mine a window by the chosen method and language.

        Returns: findings, number of rules that T entails, whether truncated, and the gate's JSON.
        """
        settings, theory, limits = self.settings, self.theory, self.settings.limits
        if settings.language == "ground":
            mined = ground_rules.mine_ground_rules(self.columns, theory, limits, len(window))
            shown_ground = [
                GroundRuleFinding(
                    rule, self._first_snapshots(rule.snapshot_bits, window), len(window)
                )
                for rule in mined.rules
            ]
            return shown_ground, mined.entailed_by_tbox, mined.is_truncated, None

        if settings.method == "scratch":
            facts = {
                index: None if self._column_atoms(index) is None else self._snapshot_facts(index)
                for index in window
            }
            found = mine_window(list(facts.values()), theory, limits, self._tag)
            shown = [
                (rule, find_first_instances(rule, facts, settings.report.instances, self._tag))
                for rule in found.rules
            ]
            return (
                self._make_findings(found, shown, window),
                found.entailed_by_tbox,
                found.is_truncated,
                None,
            )
        exact = settings.method == "exact"
        found, acted = (
            (mine_rules(self.counter, theory, limits, len(window)), None)
            if exact
            else self._mine_incrementally(window, gate)
        )
        carried = self.carried_rules.get(window[-1])
        if carried is not None and acted is not None and not acted["acted"]:
            return carried.findings, found.entailed_by_tbox, found.is_truncated, acted
        looked_at: dict[int, SnapshotBindings] = {}
        told = self._make_findings(
            found,
            [(rule, self._find_instances(rule, window, looked_at)) for rule in found.rules],
            window,
        )
        if carried is not None:
            carried.findings = told
        return told, found.entailed_by_tbox, found.is_truncated, acted

    def _mine_incrementally(
        self, window: range, gate: SlideGate | None
    ) -> tuple[MinedRules, dict[str, Any] | None]:
        """Mine by algorithm A3 from the rules carried from the window before. Also return the JSON
        value of the gate.
        """
        settings, end = self.settings, window[-1]
        older = max((at for at in self.carried_rules if at < end), default=None)
        carried = CarriedRules() if older is None else self.carried_rules[older].copy()
        acts = gate is not None and gate.is_open(settings.gating.gate, *settings.gating.thresholds)
        masks = (
            self.columns.snapshot_mask(window[: len(window) - settings.slide]),
            self.columns.snapshot_mask(window[len(window) - settings.slide :]),
        )
        found = carried.slide(
            self.counter,
            self.theory,
            settings.limits,
            len(window),
            gate,
            acts,
            *masks,
            settings.gating.occurrences(settings.window),
        )
        self.carried_rules = {at: self.carried_rules[at] for at in (older,) if at is not None} | {
            end: carried
        }
        if gate is None:
            return found, None
        return found, {
            "similarity": fraction_to_float(gate.similarity),
            "rarity": fraction_to_float(gate.rarity),
            "kept_similarity": fraction_to_float(gate.kept_similarity),
            "acted": acts,
        }

    def _make_findings(
        self,
        mined: MinedRules,
        shown: Sequence[tuple[MinedRule, list[tuple[int, dict[str, str]]]]],
        window: range,
    ) -> list[RuleFinding]:
        """Add lift, refutations and example instances to mined rules."""
        heads = {
            head: self.counter.counts(BodyTree((self._tag + head,)))
            for head in dict.fromkeys(rule.head for rule in mined.rules)
        }
        pairs, cases = {h: int(found.pairs.sum()) for h, found in heads.items()}, 0
        if heads:
            cases = self.columns.case_count()
        against: Sequence[int | None] = [None] * len(mined.rules)
        if self.settings.report.refute:
            against = count_refutations(
                mined.rules, self.snapshots, self._make_counterexample_function, window
            )
        return [
            RuleFinding(
                rule,
                rule.support * len(window) / (rule.body_support * heads[rule.head].support),
                against[i],
                instances,
                rule.binding_support * cases / (rule.binding_body * pairs[rule.head]),
            )
            for i, (rule, instances) in enumerate(shown)
        ]

    def _make_counterexample_function(self, index: int) -> CounterexampleFunction:
        """Make a function from a rule to its counterexamples in a snapshot."""
        if self.settings.method == "scratch":
            return make_counterexample_function(self._snapshot_facts(index), self._tag)
        place = index % self.columns.size
        support, bit = self.counter.extensions(np.array([place >> 6])), np.uint64(1 << (place & 63))
        return lambda rule: support.counterexamples(rule.body, rule.head, bit)

    def _find_instances(
        self, rule: MinedRule, window: range, snapshots: dict[int, SnapshotBindings]
    ) -> list[tuple[int, dict[str, str]]]:
        """First bindings of a rule, by snapshot and then by the texts of ?x0, ?x1, …

        snapshots: cache of the bindings in snapshots.
        """
        counted, whole = (
            self.counter.counts(rule.body, [rule.head]),
            add_class(rule.body, 0, self._tag + rule.head),
        )
        most = self.settings.report.instances
        found: list[tuple[int, dict[str, str]]] = []
        for index in self._first_snapshots(counted.joint[counted.heads[rule.head]], window):
            if len(found) >= most:
                break
            if index not in snapshots:
                snapshots[index] = SnapshotBindings(self.columns, index, most)
            found += [(index, each) for each in snapshots[index].first_bindings(whole)]
        return found[:most]

    def _first_snapshots(self, places: Bits, window: range) -> list[int]:
        """Indexes of the first few snapshots of a window, in order, that have a set bit in
        ``places``.
        """
        at = np.flatnonzero(np.unpackbits(places.astype("<u8").view(np.uint8), bitorder="little"))
        indices = (at - window[0]) % self.columns.size + window[0]
        return np.sort(indices)[: self.settings.report.instances].tolist()
