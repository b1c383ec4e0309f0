"""Set aside the conflicts that a base has by itself, so that the remaining assertions can be
certified (``index --set-aside-known``).
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from shiq import model as owl
from shiq.abox_ops.conflicts.explain import Explainer
from shiq.abox_ops.conflicts.refuter import Refuter
from shiq.abox_ops.conflicts.support_sets import SupportSets
from shiq.abox_ops.engine import AddSet, KnowledgeBase, NamedModule
from shiq.abox_ops.labels.label_calculus import LabelCalculus
from shiq.abox_ops.modules.add_set import answer_positions, ask_distinct
from shiq.abox_ops.modules.decide import Decider
from shiq.answers.result import Conflict
from shiq.answers.verdict import Verdict
from shiq.columns.rows import FAMILIES, names_in_use, remove_assertions, row_masks, with_rows
from shiq.explanation import ConflictGroup, ExplainedConflicts
from shiq.files import WHY, json_text, write_atomically
from shiq.inputs.reading import UNDECIDED, QuarantinedAssertion, Reading
from shiq.jobs.checking.options import import_engine
from shiq.jobs.store import tbox_hash
from shiq.jobs.undecided_insertions import open_values
from shiq.model.abox import ABox, Pairs, abox_of, individuals_of
from shiq.model.ntriples import assertion_lines
from shiq.reasoner.structure import rename_individuals

# Find conflicts that are equal up to individuals and literals, and choose assertions that break
# them all.


def _terms_of_assertion(assertion: owl.Assertion) -> tuple[str | owl.Literal, ...]:
    """Individuals of ``assertion``, and its literal if it has one."""
    match assertion:
        case owl.DataPropertyAssertion(_, subject, value) | owl.NegativeDataPropertyAssertion(
            _, subject, value
        ):
            return subject, value
    return individuals_of(assertion)


def _assertion_shape(assertion: owl.Assertion) -> Hashable:
    """Copy of an assertion with its individuals and literals blanked out: equal for assertions that
    differ in these alone.
    """
    if isinstance(assertion, owl.DataPropertyAssertion | owl.NegativeDataPropertyAssertion):
        return replace(assertion, subject="", literal=owl.Literal(""))
    return rename_individuals(assertion, lambda _: "")


def conflict_key(assertions: Iterable[owl.Assertion]) -> Hashable:
    """Key of conflicts that may be equal up to individuals and literals: their assertions with
    these blanked out, sorted.
    """
    return tuple(sorted(repr(_assertion_shape(a)) for a in assertions))


def find_instances(template: Conflict, part: Sequence[owl.Assertion]) -> Iterator[Conflict]:
    """Find conflicts among the assertions ``part`` that equal the conflict ``template`` up to
    individuals and literals.
    """
    by_predicate: dict[Hashable, list[owl.Assertion]] = {}
    for assertion in part:
        by_predicate.setdefault(_assertion_shape(assertion), []).append(assertion)
    wanted = [
        (_terms_of_assertion(a), by_predicate.get(_assertion_shape(a), []))
        for a in template.insertion_values
    ]

    def extend(
        place: int,
        bound: dict[str | owl.Literal, str | owl.Literal],
        taken: tuple[owl.Assertion, ...],
    ) -> Iterator[Conflict]:
        if place == len(wanted):
            yield Conflict(taken, template.base_values, template.axiom_values)
            return
        terms, candidates = wanted[place]
        for candidate in candidates:
            now = dict(bound)
            pairs = list(zip(terms, _terms_of_assertion(candidate)))
            if all(now.setdefault(a, b) == b for a, b in pairs) and len(set(now.values())) == len(
                now
            ):
                yield from extend(place + 1, now, (*taken, candidate))

    if all(candidates for _, candidates in wanted):
        yield from extend(0, {}, ())


def hitting_set(conflicts: Sequence[Collection[owl.Assertion]]) -> list[owl.Assertion]:
    """Choose assertions whose removal breaks every conflict; none of them is redundant."""
    places: dict[owl.Assertion, list[int]] = {}
    for i, conflict in enumerate(conflicts):
        for assertion in dict.fromkeys(conflict):
            places.setdefault(assertion, []).append(i)
    text = {assertion: repr(assertion) for assertion in places}
    open_ = {assertion: len(found) for assertion, found in places.items()}
    heap = [(-count, text[assertion], assertion) for assertion, count in open_.items()]
    heapq.heapify(heap)
    chosen: list[owl.Assertion] = []
    met = [0] * len(conflicts)
    while heap:
        count, _, best = heapq.heappop(heap)
        if -count != open_[best]:
            # Conflicts that it shares were met since: it waits for its turn.
            if open_[best]:
                heapq.heappush(heap, (-open_[best], text[best], best))
            continue
        if not count:
            continue
        chosen.append(best)
        for i in places[best]:
            if not met[i]:
                for assertion in dict.fromkeys(conflicts[i]):
                    open_[assertion] -= 1
            met[i] += 1
    needless: set[owl.Assertion] = set()
    for assertion in reversed(chosen):
        if all(met[i] > 1 for i in places[assertion]):
            needless.add(assertion)
            for i in places[assertion]:
                met[i] -= 1
    return sorted((a for a in chosen if a not in needless), key=text.__getitem__)


Progress: TypeAlias = Callable[[str, int, int], None]
#: More assertions than this about the individuals of one contradiction are not looked at together.
MOST_ASSERTIONS = 500
#: More conflicts of one part that are like one that was explained are not looked for in one round.
MOST_ALIKE = 50
#: Begins the names of individuals of one of many parts that are asked about together.
_COPY_PREFIX = "urn:shiq:part:"
#: What sets the name of an object apart from that of its subject, where it is asked whether there
#: can be any.
_OBJECT_SUFFIX = ":object"
_ANY_LITERAL = owl.Datatype(owl.RDFS + "Literal")


@dataclass(frozen=True)
class KnownConflicts:
    """Assertions of a base, divided into consistent ones and ones set aside for conflicts.

    remaining_abox: assertions that are kept.
    quarantine: the others, in the order of their texts.
    conflicts: one for each assertion that contradicts by itself, and those of step 2.
    unexplained_count: inconsistent groups without an explanation; their assertions are kept.
    labels: labels of the terms of the TBox.
    """

    remaining_abox: ABox
    quarantine: tuple[QuarantinedAssertion, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    unexplained_count: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def undecided_count(self) -> int:
        """Number of assertions set aside without a known conflict: whether they contradict is
        undetermined.
        """
        return sum(aside.why == UNDECIDED for aside in self.quarantine)

    @cached_property
    def explained_conflicts(self) -> ExplainedConflicts:
        """Conflicts with their patterns and sentences."""
        return ExplainedConflicts(self.conflicts, self.labels)

    @property
    def groups(self) -> tuple[ConflictGroup, ...]:
        """Conflicts by cause, most frequent first."""
        return self.explained_conflicts.groups

    def to_dict(self, sample: int = 3) -> dict[str, Any]:
        """Convert to JSON."""
        return {
            "schema_version": 1,
            "set_aside": len(self.quarantine),
            "undecided": self.undecided_count,
            "conflicts": len(self.conflicts),
            "unexplained": self.unexplained_count,
            "groups": [
                {
                    **found.to_dict(),
                    "sample": [
                        {
                            **self.conflicts[i].to_dict(),
                            "sentence": self.explained_conflicts.sentence(i),
                        }
                        for i in found.conflicts[:sample]
                    ],
                }
                for found in self.groups
            ],
        }


def set_aside_known(
    ontology: Reading, abox: ABox, decider: Decider, progress: Progress | None = None
) -> KnownConflicts:
    """Find the conflicts that ``abox`` has by itself under the TBox of ``ontology``, and set enough
    of their assertions aside that none of them remains.
    """
    return _ConflictSearch(
        ontology, decider, tbox_hash(ontology.tbox), progress or (lambda stage, done, total: None)
    ).run(abox)


def assertions_around(
    ontology: Reading,
    decider: Decider,
    add_set: AddSet,
    refuted: Sequence[tuple[str, ...]],
    undecided: Sequence[tuple[str, ...]],
) -> list[owl.Assertion]:
    """Collect the assertions about groups of individuals. For each of the ``refuted`` groups, add
    those about neighbours until they are inconsistent. ``add_set``: to look assertions up.
    """
    search = _ConflictSearch(ontology, decider, "", lambda stage, done, total: None)
    supports = SupportSets(LabelCalculus(add_set.tbox), add_set)
    about = add_set.all_assertions_about(
        sorted({i for group in (*refuted, *undecided) for i in group})
    )
    said = [
        list(dict.fromkeys(a for i in group for a in about[i])) for group in (*refuted, *undecided)
    ]
    found = dict.fromkeys(a for part in said for a in part)
    for group, is_enough in zip(refuted, search._are_refuted(said[: len(refuted)])):
        if not is_enough:
            found |= dict.fromkeys(
                next(
                    (
                        part
                        for part in supports.growing_sets(group)
                        if search._are_refuted([part])[0]
                    ),
                    (),
                )
            )
    return list(found)


@dataclass
class ConflictRepair:
    """Callback of `index`: sets the conflicts of the base aside and writes the assertions to
    ``file``, with the reasons beside it, before the store is written.
    """

    file: Path
    progress: Progress | None = None
    known_conflicts: KnownConflicts | None = None

    def with_progress_of(self, settings: Mapping[str, Any]) -> ConflictRepair:
        """Take the progress callback from ``settings``. Returns itself."""
        self.progress = settings.get("progress")
        return self

    def __call__(
        self, ontology: Reading, abox: ABox, decider: Decider
    ) -> tuple[ABox, tuple[QuarantinedAssertion, ...]]:
        self.known_conflicts = known = set_aside_known(ontology, abox, decider, self.progress)
        text = "".join(f"{line}\n" for aside in known.quarantine for line in aside.triples)
        write_atomically(self.file, text)
        write_atomically(Path(f"{self.file}{WHY}"), json_text(known.to_dict(), indent=1))
        return known.remaining_abox, known.quarantine


@dataclass
class _ConflictSearch:
    """Search for the conflicts that a base has by itself, in three steps."""

    ontology: Reading
    decider: Decider
    digest: str
    progress: Progress
    conflicts: list[Conflict] = field(default_factory=list)
    templates: dict[Hashable, Conflict] = field(default_factory=dict)
    unexplained_count: int = 0

    @cached_property
    def empty_base(self) -> KnowledgeBase:
        """Knowledge base of the TBox without assertions; assertion sets are checked as batches
        against it.
        """
        return import_engine("local").build(self.ontology.tbox, ABox())

    def run(self, abox: ABox) -> KnownConflicts:
        """Split the base into consistent assertions and known conflicts."""
        whole, alone = self._remove_impossible(abox)
        raw: list[Conflict] = []
        chosen: list[owl.Assertion] = []
        rest = whole
        # Stops because each round finds conflicts that what was chosen before does not meet.
        while found := self._find_conflicts(rest):
            raw += found
            chosen = hitting_set([c.insertion_values for c in raw])
            rest = remove_assertions(whole, chosen)
        rest, undecided = self._remove_undecided(rest)
        self.conflicts += [Conflict((), c.insertion_values, c.axiom_values, "base") for c in raw]
        known = KnownConflicts(
            rest,
            (*alone, *self._ledger_rows(chosen, raw), *undecided),
            tuple(self.conflicts),
            self.unexplained_count,
            self.ontology.labels,
        )
        return replace(known, quarantine=tuple(_add_patterns(known)))

    # --- step 1 -----------------------------------------------------------------------------------

    def _remove_impossible(self, abox: ABox) -> tuple[ABox, list[QuarantinedAssertion]]:
        """Step 1: remove assertions on unsatisfiable classes and properties. Returns the remaining
        ABox, and ledger rows of the removed assertions.
        """
        asked: dict[str, tuple[str, str, owl.Assertion]] = {}
        for family in FAMILIES:
            for iri in names_in_use(abox, family):
                individual = f"urn:shiq:known:{len(asked)}"
                asked[individual] = (family, iri, _weakest_assertion(family, iri, individual))
        refuted = self._refuted_groups(
            self.empty_base.add_set(abox_of(a for _, _, a in asked.values()), ABox())
        )
        bad = sorted(
            {individual.removesuffix(_OBJECT_SUFFIX) for group in refuted for individual in group}
        )
        why: dict[str, dict[str, tuple[owl.Axiom, ...]]] = {family: {} for family in FAMILIES}
        for done, individual in enumerate(bad):
            self.progress("explaining what nothing can be", done, len(bad))
            family, iri, assertion = asked[individual]
            for raw in self._explain_assertions([assertion]):
                why[family][iri] = raw.axiom_values
        masks = row_masks(abox, why)
        rows = []
        for assertion in with_rows(abox, masks, same=(), different=Pairs(), complex=()):
            axioms = why[_assertion_kind(assertion)][_asserted_iri(assertion)]
            self.conflicts.append(Conflict((), (assertion,), axioms, "base"))
            rows.append(QuarantinedAssertion(assertion_lines(assertion), alone=self.digest))
        return with_rows(abox, [~mask for mask in masks]), rows

    # --- step 2 -----------------------------------------------------------------------------------

    def _find_conflicts(self, abox: ABox) -> list[Conflict]:
        """Step 2: find minimal conflicts around each inconsistent element and module, enough of
        them that a hitting set makes its assertions consistent.
        """
        self.unexplained_count = 0
        self.progress("looking for known conflicts", len(self.conflicts), 0)
        add_set = self.empty_base.add_set(abox, ABox())
        refuted = self._refuted_groups(add_set)
        if not refuted:
            return []
        supports = SupportSets(LabelCalculus(add_set.tbox), add_set)
        said = self._assertions_about(add_set, refuted)
        near = [i for i, is_enough in enumerate(self._are_refuted(said)) if is_enough]
        found: dict[frozenset[owl.Assertion], Conflict] = {}
        for i in sorted({*range(len(refuted))} - {*near}):
            around = next(
                (
                    part
                    for part in supports.growing_sets(refuted[i])
                    if self._are_refuted([part])[0]
                ),
                None,
            )
            explained = self._explain_assertions(around) if around else []
            self.unexplained_count += not explained
            found.update((frozenset(c.insertion_values), c) for c in explained)
        todo = [said[i] for i in near]
        while todo:
            before = len(found)
            found |= self._explain_by_templates(todo)
            if len(found) == before:
                self.unexplained_count += len(todo)
                break
            gone = set(hitting_set([c.insertion_values for c in found.values()]))
            rest = [[a for a in part if a not in gone] for part in todo]
            todo = [part for part, is_open in zip(rest, self._are_refuted(rest)) if is_open]
        return sorted(found.values(), key=lambda c: repr(c.insertion_values))

    # --- step 3 -----------------------------------------------------------------------------------

    def _remove_undecided(self, abox: ABox) -> tuple[ABox, list[QuarantinedAssertion]]:
        """Step 3: remove data values that leave modules undetermined. Returns the remaining ABox,
        and ledger rows of the removed assertions.
        """
        self.progress("looking for undecided values", 0, 0)
        add_set = self.empty_base.add_set(abox, ABox())
        modules = self._modules_with_verdict(add_set, Verdict.UNDETERMINED)
        individuals = sorted({i for m in modules for element in m.elements for i in element})
        open_ = open_values(
            add_set.tbox,
            (a for said in add_set.all_assertions_about(individuals).values() for a in said),
        )
        reason = "its value has to be of a datatype that nothing defines"
        return remove_assertions(abox, open_), [
            QuarantinedAssertion(assertion_lines(a), why=UNDECIDED, reason=reason) for a in open_
        ]

    def _assertions_about(
        self, add_set: AddSet, groups: Sequence[tuple[str, ...]]
    ) -> list[list[owl.Assertion]]:
        """Look up the assertions about each group of individuals, sorted; empty for a group with
        more than `MOST_ASSERTIONS`.
        """
        about = add_set.all_assertions_about(
            sorted({individual for group in groups for individual in group})
        )
        found = []
        for group in groups:
            said = {a for individual in group for a in about[individual]}
            found.append(sorted(said, key=repr) if len(said) <= MOST_ASSERTIONS else [])
        return found

    def _explain_by_templates(
        self, parts: Sequence[list[owl.Assertion]]
    ) -> dict[frozenset[owl.Assertion], Conflict]:
        """Find minimal conflicts of the inconsistent assertion sets ``parts``, at least one each. A
        set that equals an explained one up to individuals and literals is only confirmed, by one
        question.
        """
        found: dict[frozenset[owl.Assertion], Conflict] = {}
        guesses: list[tuple[int, Conflict]] = []
        alone = []
        for i, part in enumerate(parts):
            self.progress("explaining known conflicts", i, len(parts))
            guessed = [
                c
                for kind in self.templates.values()
                for c in itertools.islice(find_instances(kind, part), MOST_ALIKE)
            ]
            if guessed:
                guesses += [(i, c) for c in guessed]
                continue
            for conflict in self._explain_assertions(part):
                found[frozenset(conflict.insertion_values)] = conflict
                self.templates.setdefault(conflict_key(conflict.insertion_values), conflict)
            alone.append(i)
        explained = {*alone}
        for (i, conflict), holds in zip(
            guesses, self._are_minimal([list(c.insertion_values) for _, c in guesses])
        ):
            if holds:
                found[frozenset(conflict.insertion_values)] = conflict
                explained.add(i)
        for i, part in enumerate(parts):
            if i not in explained:
                found.update(
                    (frozenset(c.insertion_values), c) for c in self._explain_assertions(part)
                )
        return found

    def _are_minimal(self, parts: Sequence[list[owl.Assertion]]) -> list[bool]:
        """Decide for each assertion set whether it contradicts the TBox, and no longer does without
        any one assertion.
        """
        fewer = [
            (i, part[:k] + part[k + 1 :]) for i, part in enumerate(parts) for k in range(len(part))
        ]
        answers = self._are_refuted([*parts, *(part for _, part in fewer)])
        too_many = {i for (i, _), is_refuted in zip(fewer, answers[len(parts) :]) if is_refuted}
        return [holds and i not in too_many for i, holds in enumerate(answers[: len(parts)])]

    def _explain_assertions(self, assertions: Sequence[owl.Assertion]) -> list[Conflict]:
        """Find all minimal conflicts among ``assertions``."""

        def check(part: ABox) -> tuple[AddSet, list[tuple[str, ...]]]:
            add_set = self.empty_base.add_set(part, ABox())
            return add_set, self._refuted_groups(add_set)

        whole = abox_of(assertions)
        add_set, groups = check(whole)
        explainer = Explainer(Refuter(self.ontology.tbox, self.decider), check)
        return explainer.run(whole, add_set, groups) if groups else []

    def _are_refuted(self, parts: Sequence[Sequence[owl.Assertion]]) -> list[bool]:
        """Decide for each assertion set whether it contradicts the TBox; all in one check, with
        renamed individuals.
        """
        named = [
            rename_individuals(a, lambda name, i=i: f"{_COPY_PREFIX}{i}:{name}")  # type: ignore[misc]
            for i, part in enumerate(parts)
            for a in part
        ]
        refuted = (
            self._refuted_groups(self.empty_base.add_set(abox_of(named), ABox())) if named else []
        )
        numbers = {int(group[0].removeprefix(_COPY_PREFIX).partition(":")[0]) for group in refuted}
        return [i in numbers for i in range(len(parts))]

    def _refuted_groups(self, add_set: AddSet) -> list[tuple[str, ...]]:
        """Individuals of each element and module of ``add_set`` that is inconsistent."""
        modules = self._modules_with_verdict(add_set, Verdict.INCONSISTENT)
        return [
            *add_set.contradictory,
            *(tuple(i for element in m.elements for i in element) for m in modules),
        ]

    def _modules_with_verdict(self, add_set: AddSet, verdict: Verdict) -> list[NamedModule]:
        """Modules of ``add_set`` about which the reasoner answers ``verdict``."""
        answers = ask_distinct(
            add_set.modules, lambda distinct: self.decider.decide(add_set.tbox, distinct, None)
        )
        return [
            add_set.modules[i]
            for i in answer_positions(answers, lambda answer: answer.verdict is verdict)
        ]

    def _ledger_rows(
        self, chosen: Iterable[owl.Assertion], raw: Sequence[Conflict]
    ) -> Iterator[QuarantinedAssertion]:
        """Make ledger rows of the assertions ``chosen`` to be set aside, by the conflicts ``raw``
        that they break.
        """
        alone = {c.insertion_values[0] for c in raw if len(c.insertion_values) == 1}
        for assertion in chosen:
            yield QuarantinedAssertion(
                assertion_lines(assertion), alone=self.digest if assertion in alone else ""
            )


def _weakest_assertion(family: str, iri: str, individual: str) -> owl.Assertion:
    """Assertion about ``individual`` that follows from every assertion on this class or property,
    so that it is refuted only if the name is unsatisfiable.
    """
    if family == "class":
        return owl.ClassAssertion(owl.Class(iri), individual)
    if family == "role":
        return owl.ObjectPropertyAssertion(
            owl.ObjectProperty(iri), individual, individual + _OBJECT_SUFFIX
        )
    return owl.ClassAssertion(
        owl.DataSomeValuesFrom(owl.DataProperty(iri), _ANY_LITERAL), individual
    )


def _assertion_kind(assertion: owl.Assertion) -> str:
    """Kind of an assertion: class, role or data."""
    if isinstance(assertion, owl.ClassAssertion):
        return "class"
    return "role" if isinstance(assertion, owl.ObjectPropertyAssertion) else "data"


def _asserted_iri(assertion: owl.Assertion) -> str:
    """IRI of the class or property that is asserted."""
    match assertion:
        case owl.ClassAssertion(owl.Class(iri), _) | owl.ObjectPropertyAssertion(
            owl.ObjectProperty(iri), _, _
        ):
            return iri
        case owl.DataPropertyAssertion(owl.DataProperty(iri), _, _):
            return iri
    raise TypeError(assertion)


def _add_patterns(known: KnownConflicts) -> Iterator[QuarantinedAssertion]:
    """Complete the ledger rows of ``known`` by the pattern of the first conflict that each takes
    part in.
    """
    pattern = {}
    for found in reversed(known.groups):
        for i in found.conflicts:
            pattern.update(dict.fromkeys(known.conflicts[i].base, found.pattern))
    for aside in sorted(known.quarantine, key=lambda a: a.triples):
        of = pattern.get(aside.triples[0])
        yield replace(aside, pattern=of.id, rule=of.rule) if of else aside
