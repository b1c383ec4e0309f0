"""Find the smallest verified changes that make base and batch consistent (`--repairs`).

A repair has to break every contradiction. So each round takes a smallest set of assertions that
breaks all conflicts found so far, and checks base and batch without it: `consistent` proves that
the set is a repair and that no smaller one exists; else the check adds conflicts. Then each removed
literal is written anew where the ontology has a spelling that a check accepts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Final, TypeAlias

from shiq.answers.repair import BASE, INSERTIONS, Change, RepairPlan, has_blank_node
from shiq.answers.result import Conflict, Result
from shiq.answers.verdict import Verdict
from shiq.deadline import is_past, seconds_left
from shiq.inputs.reading import Place
from shiq.jobs.checking.base import InputBatch
from shiq.jobs.checking.options import Clock, Options
from shiq.jobs.hitting_sets import smallest_hitting_set
from shiq.jobs.spellings import MOST_SPELLINGS, SpellingSuggestions
from shiq.jobs.undecided_insertions import HasAddSet
from shiq.model import Assertion, DataPropertyAssertion, Signature
from shiq.model.abox import abox_of
from shiq.model.ntriples import assertion_lines

#: Rounds that look for a smallest repair. Later ones keep what earlier ones removed, and end sooner.
MOST_EXACT_ROUNDS: Final = 50
MOST_ROUNDS: Final = 200
#: Checks of other spellings.
MOST_SPELLING_CHECKS: Final = 60
#: Checks a batch with options.
CheckBatch: TypeAlias = Callable[[InputBatch, Options], Result]
#: Checks base and batch without some assertions and with others; the flag: the verdict is enough.
CheckChanged: TypeAlias = Callable[[Collection[Assertion], Collection[Assertion], bool], Result]


def add_repairs(
    result: Result,
    batch: InputBatch,
    signature: Signature,
    options: Options,
    clock: Clock,
    check: CheckBatch,
) -> Result:
    """Search for repairs of an inconsistent batch, within the time for explaining, and add them to
    ``result``.
    """
    deadline = _repair_deadline(options, clock)
    search = _RepairSearch(result)

    def check_changed(
        removed: Collection[Assertion], added: Collection[Assertion], verdict_only: bool
    ) -> Result:
        left = seconds_left(deadline)
        settings = replace(
            options,
            repairs=False,
            certain=None,
            audit=0.0,
            timeout=left,
            explain_seconds=left,
            verdict_only=verdict_only,
        )
        return check(_changed_batch(batch, removed, added, search.base_assertions), settings)

    now = time.monotonic()
    half = None if deadline is None else now + (deadline - now) / 2
    plan = search.run(check_changed, partial(is_past, deadline), partial(is_past, half))
    if plan.changes and isinstance(result.a_add, HasAddSet):
        suggest = SpellingSuggestions(signature, result.a_add.add_set.tbox)
        plan = _respell_literals(plan, suggest, check_changed, partial(is_past, deadline))
    clock.end_stage("repairs")
    return replace(result, repairs=plan)


def _repair_deadline(options: Options, clock: Clock) -> float | None:
    """Compute the deadline of the search: the end of the check's time limit, or of the time for
    explaining if that is earlier.
    """
    ends = []
    if options.timeout is not None:
        ends.append(clock.start + options.timeout)
    if options.explain_seconds is not None:
        spent = clock.seconds.get("explaining", 0.0)
        ends.append(time.monotonic() + options.explain_seconds - spent)
    return min(ends, default=None)


def _changed_batch(
    batch: InputBatch,
    removed: Collection[Assertion],
    added: Iterable[Assertion],
    base: Collection[Assertion],
) -> InputBatch:
    """Change a batch: take ``removed`` out of the insertions and add ``added``; those of
    ``removed`` that are in ``base`` are deleted from the base.
    """
    gone = frozenset(removed)
    kept = chain((x for x in batch.insertions if x not in gone), added)
    deleted = [x for x in removed if x in base]
    return replace(
        batch,
        insertions=abox_of(kept),
        deletions=abox_of((*batch.deletions, *deleted)) if deleted else batch.deletions,
    )


@dataclass
class _RepairSearch:
    """Search for a smallest set of assertions whose removal leaves base and batch consistent.

    sentences: of each conflict, as a set of assertions, in words.
    base_assertions: assertions of conflicts that the base has.
    places: where the insertions of conflicts were read.
    """

    first: Result
    sentences: dict[frozenset[Assertion], str] = field(default_factory=dict)
    base_assertions: set[Assertion] = field(default_factory=set)
    places: dict[Assertion, tuple[Place, ...]] = field(default_factory=dict)

    def run(
        self, check: CheckChanged, is_over: Callable[[], bool], is_late: Callable[[], bool]
    ) -> RepairPlan:
        """Check the batch with a smallest set of removals that breaks all conflicts known so far;
        repeat until a check says `consistent`.

        is_late: whether to look no more for a smallest repair, but for any. Returns the reason if
        no repair is found.
        """
        result, removed, is_smallest = self.first, frozenset[Assertion](), True
        for turn in range(MOST_ROUNDS):
            if is_over():
                return RepairPlan(
                    reason="the time for explaining was over before a repair was found"
                )
            found = self._record_conflicts(result)
            if frozenset() in found:
                return RepairPlan(
                    reason="the ontology contradicts itself: no change of data mends it"
                )
            fresh = [conflict for conflict in found if conflict.isdisjoint(removed)]
            if not fresh:
                return RepairPlan(reason=_no_progress_reason(result))
            if turn < MOST_EXACT_ROUNDS and not is_late():
                removed, is_smallest = self._break_conflicts(self.sentences)
            else:
                more, _ = self._break_conflicts(fresh)
                removed, is_smallest = removed | more, False
            result = check(removed, (), False)
            if result.verdict is Verdict.CONSISTENT:
                return RepairPlan(tuple(self._changes(removed)), is_smallest)
            if result.verdict is Verdict.UNDETERMINED:
                why = f"it is not decided whether the rest is consistent: {result.reason}"
                return RepairPlan(reason=why)
        return RepairPlan(reason=f"no repair was found in {MOST_ROUNDS} rounds")

    def _record_conflicts(self, result: Result) -> list[frozenset[Assertion]]:
        """Record the conflicts of a check's result; return each as a set of assertions."""
        found = []
        for i, conflict in enumerate(result.conflicts):
            assertions = frozenset((*conflict.insertion_values, *conflict.base_values))
            self.sentences.setdefault(assertions, result.explained.sentence(i))
            self.base_assertions.update(conflict.base_values)
            self.places.update(_insertion_places(conflict))
            found.append(assertions)
        return found

    def _break_conflicts(
        self, conflicts: Iterable[frozenset[Assertion]]
    ) -> tuple[frozenset[Assertion], bool]:
        """Choose a smallest set of assertions with one of each conflict, preferring insertions.
        Returns it, and whether it is proven to be smallest.
        """
        involved = sorted(set().union(*conflicts), key=self._preference)
        number = {assertion: i for i, assertion in enumerate(involved)}
        ways = [[frozenset((number[x],)) for x in conflict] for conflict in conflicts]
        chosen, is_proven = smallest_hitting_set(ways, {i: i for i in range(len(involved))})
        return frozenset(involved[i] for i in chosen), is_proven

    def _preference(self, assertion: Assertion) -> tuple[bool, bool, tuple[str, ...]]:
        """Sort key for removals: assertions without blank nodes first, then insertions before base
        assertions.
        """
        lines = assertion_lines(assertion)
        return has_blank_node(lines), assertion in self.base_assertions, lines

    def _changes(self, removed: Iterable[Assertion]) -> Iterator[Change]:
        """Yield a change for each assertion to be removed, with the conflicts that it ends and
        where the assertion was read.
        """
        for assertion in sorted(removed, key=self._preference):
            ended = dict.fromkeys(
                sentence for among, sentence in self.sentences.items() if assertion in among
            )
            side = BASE if assertion in self.base_assertions else INSERTIONS
            places = self.places.get(assertion, ())
            yield Change(assertion, side, tuple(ended), places=places)


def _insertion_places(conflict: Conflict) -> Mapping[Assertion, tuple[Place, ...]]:
    """Look up where each insertion of the conflict was read (file and line)."""
    by_line = dict(zip(conflict.insertions, conflict.places))
    return {x: by_line.get(assertion_lines(x)[0], ()) for x in conflict.insertion_values}


def _no_progress_reason(result: Result) -> str:
    """Write the reason why the search for repairs cannot go on after ``result``."""
    if not result.conflicts:
        return "no conflict was explained: allow more time (--explain-seconds) or conflicts"
    return "what is left of a conflict is no assertion that could be removed"


def _respell_literals(
    plan: RepairPlan,
    suggest: SpellingSuggestions,
    check: CheckChanged,
    is_over: Callable[[], bool],
) -> RepairPlan:
    """Replace removals of data assertions by other spellings of their literals, if a check of base
    and batch accepts these.
    """
    removed = [change.assertion for change in plan.changes]
    options = {
        i: spellings
        for i, change in enumerate(plan.changes)
        if (spellings := _suggest_spellings(change.assertion, suggest))
    }
    chosen: dict[int, Assertion] = {}
    first = {i: spellings[0] for i, spellings in options.items()}
    trials = chain(
        [first] if len(first) > 1 else [],
        ({i: spelling} for i, spellings in options.items() for spelling in spellings),
    )
    for number, trial in enumerate(trials):
        if number >= MOST_SPELLING_CHECKS or is_over():
            break
        if not chosen.keys().isdisjoint(trial):
            continue
        wanted = {**chosen, **trial}
        if check(removed, [*wanted.values()], True).verdict is Verdict.CONSISTENT:
            chosen = wanted
    changes = (replace(x, replacement=chosen.get(i)) for i, x in enumerate(plan.changes))
    return replace(plan, changes=tuple(changes))


def _suggest_spellings(assertion: Assertion, suggest: SpellingSuggestions) -> Sequence[Assertion]:
    """Suggest other spellings for the literal of a data assertion; none for other assertions."""
    if not isinstance(assertion, DataPropertyAssertion):
        return []
    found = suggest.suggest_values(assertion.property.iri, assertion.literal)
    made = (replace(assertion, literal=literal) for literal in found)
    return [x for x in dict.fromkeys(made) if x != assertion][:MOST_SPELLINGS]
