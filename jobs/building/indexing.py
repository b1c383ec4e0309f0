"""Build and certify a store in many tasks, and make the result of `shiq.api.index`."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from shiq.abox_ops.engine import MODEL, AddSet
from shiq.abox_ops.local_engine import LocalKnowledgeBase
from shiq.abox_ops.modules.decide import Audit, Decider, audit_drawn_shapes
from shiq.answers.result import Result
from shiq.answers.verdict import Leftover, Verdict
from shiq.api import certify
from shiq.inputs.reading import QuarantinedAssertion, Reading, quarantine_notice
from shiq.jobs.building.build import BuildSettings, BuiltStore, build
from shiq.jobs.building.exchange import Executor
from shiq.jobs.building.executor import ProcessExecutor
from shiq.jobs.checking.answer import OVERSIZE, with_note
from shiq.jobs.checking.base import Explanation, Findings, ModuleFindings
from shiq.jobs.checking.calls import BuildRequest
from shiq.jobs.checking.certifying import Repair, unsatisfiable_class_leftovers
from shiq.jobs.checking.deciders import make_decider
from shiq.jobs.checking.inputs import is_outside_shiq, read_by_form, read_catalogs
from shiq.jobs.checking.options import AUTO, Options
from shiq.jobs.known_conflicts import assertions_around
from shiq.jobs.store import Certificate, open_store
from shiq.jobs.store.numbering import RANGE
from shiq.model import Assertion
from shiq.model.abox import ABox, abox_of, individuals_of

#: How far around a contradictory module its cause is looked for, and among how many assertions at
#: most.
_HOPS, _ASSERTIONS = 4, 50_000
#: Bytes of N-Triples for which a process that holds all of them needs as much memory as a worker.
_BYTES_OF_WORKER = 128 << 20
#: How many inconsistent elements and modules are looked at together to set some of A aside; others
#: in the next round.
_MOST_NAMED = 100_000


@dataclass(frozen=True)
class _AddSetCounts:
    """Sizes of A_add (the assertions that the certificate had to read) of a build. Stands in for an
    add set whose assertions are not in memory.
    """

    insertions: int
    size: int
    pulled_in: int = 0

    def kept_assertions(self) -> Iterator[Assertion]:
        """Iterate over nothing: a build keeps no assertions in memory."""
        return iter(())


@dataclass
class _RepairState:
    """State of option ``--repair`` over several builds: the assertions that go into quarantine.

    surroundings: assertions near contradictory or undecided modules; repair judges these
    exclusions: assertions that the next build leaves out
    quarantine: the ledger of these; None before the first repair
    """

    ontology: Reading
    repair: Repair
    decider: Decider
    surroundings: dict[Assertion, None] = field(default_factory=dict)
    exclusions: frozenset[Assertion] = frozenset()
    quarantine: tuple[QuarantinedAssertion, ...] | None = None

    def repair_again(self, built: BuiltStore) -> bool:
        """Put more conflicting assertions into quarantine after a build. Returns True if the store
        must be built again without them.

        Ends because ``surroundings`` grows within A.
        """
        known = len(self.surroundings)
        found = built.certificate_figures
        if found.contradictory or found.open_individuals:
            there = open_knowledge_base(built, self.ontology).add_set(ABox(), ABox(), "clausal")
            near = assertions_around(
                self.ontology,
                self.decider,
                cast(AddSet, there),
                found.contradictory,
                found.open_individuals,
            )
            self.surroundings |= dict.fromkeys(near)
        if len(self.surroundings) == known and self.quarantine is not None:
            return False
        before = self.exclusions
        rest, self.quarantine = self.repair(self.ontology, abox_of(self.surroundings), self.decider)
        self.exclusions = frozenset(self.surroundings) - frozenset(rest)
        return self.exclusions != before


def index(
    executor: Executor,
    request: BuildRequest,
    is_settled: Callable[[BuiltStore, Result], bool] = lambda built, result: True,
    notes: Callable[[BuiltStore], tuple[Leftover, ...]] = lambda built: (),
) -> Result:
    """Build and certify a store by ``executor``, with repairs if asked for. Returns the result of
    `shiq.api.index`.

    is_settled: whether to store what was built, with this result
    notes: further leftovers to report for what was built
    """
    ontology, store, options = request.ontology, request.store, request.options
    repair, place, answer = request.repair, request.place, request.answer
    told: list[Result] = []
    is_stored = True
    decider = make_decider(options) if repair else None
    aside = _RepairState(ontology, repair, decider) if repair and decider else None

    def certifying(built: BuiltStore) -> Certificate | None:
        nonlocal is_stored
        if aside and aside.repair_again(built):
            return None
        found = replace(make_findings(built), audit=audit_sampled_shapes(built, options))
        left_over = (
            *built.chunks.leftovers,
            *quarantine_notice(aside.quarantine or () if aside else (), store),
            *notes(built),
        )
        result, certificate = answer(
            found, built.counts.assertions, Counter(built.chunks.ledger), left_over
        )
        if not is_settled(built, result):
            told.append(result)
            is_stored = False
            return None
        if place and (refusal := place.refusal(result.verdict)):
            # What is built is gone afterwards.
            result = explain_base(
                result,
                open_knowledge_base(built, ontology),
                ontology,
                built.certificate_figures.contradictory,
                options,
            )
            told.append(with_note(result, refusal))
            is_stored = False
            return None
        told.append(result)
        return certificate

    settings = BuildSettings(
        reasoner=options.reasoner,
        heap=options.heap,
        timeout=options.timeout,
        audit=options.audit,
        limit=_MOST_NAMED if repair else options.max_conflicts,
        names_undecided=repair is not None,
        drops_ill_typed="ill-typed" in options.allow,
        catalog=read_catalogs(options),
        certifies_by_model=options.criterion in (AUTO, MODEL),
        width=options.range_size or RANGE,
    )
    try:
        while not told:
            built = build(
                executor,
                store,
                ontology,
                request.sources,
                certifying,
                settings=settings,
                progress=options.progress,
                excluded=aside.exclusions if aside else (),
                quarantine=aside.quarantine or () if aside else (),
                taken=request.applied_batches,
                place=place,
            )
    finally:
        if decider:
            decider.close()
    result = replace(told[0], statistics=replace(told[0].statistics, seconds=dict(built.seconds)))
    if result.verdict is Verdict.INCONSISTENT and is_stored:
        with open_store(store) as opened:
            return explain_base(
                result,
                LocalKnowledgeBase.from_store(opened),
                ontology,
                built.certificate_figures.contradictory,
                options,
            )
    return result


def index_locally(request: BuildRequest) -> Result | None:
    """Build and certify a store in worker processes of this machine; None if the base does not
    allow that.

    Returns None, and stores nothing, unless ranges certify the base by a model and nothing of it
    lies outside SHIQ(D). Other bases need all assertions in one process.
    """
    ontology, options = request.ontology, request.options
    if (
        not isinstance(request.store, Path)
        or os.name == "nt"  # pipes of workers are those of POSIX
        or options.timeout is not None
        or options.audit
        or options.criterion not in (AUTO, MODEL)
        or read_by_form(ontology.tbox, options.allow) is not ontology.tbox
    ):
        return None
    settled = False

    def is_settled(built: BuiltStore, result: Result) -> bool:
        nonlocal settled
        settled = (
            built.is_completed
            and built.largest_module_or_element <= OVERSIZE
            and result.verdict is Verdict.CONSISTENT
            and not any(map(is_outside_shiq, (*ontology.leftovers, *built.chunks.leftovers)))
        )
        return settled

    def notes(built: BuiltStore) -> tuple[Leftover, ...]:
        return unsatisfiable_class_leftovers(built.indexed_store.rules.calculus().tbox, options)

    processes = min(os.cpu_count() or 1, request.size // _BYTES_OF_WORKER)
    with ProcessExecutor(max(1, processes)) as executor:
        result = index(executor, request, is_settled, notes)
    return result if settled else None


def open_knowledge_base(built: BuiltStore, ontology: Reading) -> LocalKnowledgeBase:
    """Open the built store's T and A for questions, before the store is published."""
    base, index, roles = built.indexed_store.open_cached()
    return LocalKnowledgeBase(ontology.tbox, base, roles, index)


def audit_sampled_shapes(built: BuiltStore, options: Options) -> Audit | None:
    """Decide the shapes of modules that were sampled for an audit again, by a second reasoner; None
    if no audit was asked for.
    """
    if built.certificate_figures.audit_sample is None:
        return None
    with closing(make_decider(options)) as decider:
        audit_drawn_shapes(built.certificate_figures.audit_sample, decider, options.timeout)
        return decider.audit


def make_findings(built: BuiltStore) -> Findings:
    """Convert the figures of a build to the findings from which its result is made."""
    certified = built.certificate_figures
    refuted = certified.clashes + certified.verdicts[Verdict.INCONSISTENT.value]
    return Findings(
        criterion=MODEL if built.is_completed else "clausal",
        add_set=_AddSetCounts(built.counts.assertions, built.kept_assertions),
        modules=ModuleFindings(
            members=certified.contradictory,
            count=certified.modules,
            contradictory_elements=certified.clashes,
            shapes=certified.shapes,
            calls=certified.shapes,
        ),
        refuted_count=refuted,
        verdict_counts=dict(certified.verdicts),
        undecided_reasons=certified.undecided_reasons,
        explanation=Explanation(unexplained_count=refuted, is_complete=not refuted),
    )


def explain_base(
    result: Result,
    base: LocalKnowledgeBase,
    ontology: Reading,
    groups: Sequence[tuple[str, ...]],
    options: Options,
) -> Result:
    """Search for the conflicts of an inconsistent base among the individuals of ``groups``, and add
    them to ``result``.

    Conflicts of a part of A are conflicts of A.
    """
    if result.verdict is not Verdict.INCONSISTENT or not options.max_conflicts:
        return result
    about = base.add_set(ABox(), ABox(), "none")
    individuals = dict.fromkeys(i for group in groups for i in group)
    assertions: dict[Assertion, None] = {}
    asked: set[str] = set()
    settings: dict[str, Any] = {
        "reasoner": options.reasoner,
        "allow": options.allow,
        "heap": options.heap,
        "timeout": options.timeout,
        "max_conflicts": options.max_conflicts,
        "explain_seconds": options.explain_seconds,
    }
    for _ in range(_HOPS):
        new = [i for i in individuals if i not in asked]
        if not new or len(assertions) > _ASSERTIONS:
            break
        asked.update(new)
        for found in about.all_assertions_about(new).values():
            assertions.update(dict.fromkeys(found))
        part = certify([ontology.tbox], [abox_of(assertions)], **settings)
        if part.verdict is Verdict.INCONSISTENT and part.conflicts:
            decided = part.evidence.decided
            here = decided["contradictory"] + decided.get(Verdict.INCONSISTENT.value, 0)
            more = max(0, result.more_conflicts - here) + part.more_conflicts
            return replace(result, conflicts=part.conflicts, more_conflicts=more, complete=False)
        individuals.update(dict.fromkeys(i for a in assertions for i in individuals_of(a)))
    return result
