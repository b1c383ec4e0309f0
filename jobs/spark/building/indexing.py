"""`shiq index --engine spark`: builds a store on Spark and gives the result that
`shiq.check.index` gives.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from abox_ops.engine import MODEL, AddSet
from abox_ops.local import LocalKnowledgeBase
from abox_ops.modules.audit import Audit
from abox_ops.modules.decide import Decider
from jobs.checking.answer import Answering, with_note
from jobs.checking.base import Findings
from jobs.checking.certifying import Repair
from jobs.checking.deciding import OpenedDecider, close_decider, new_decider
from jobs.checking.inputs import catalog_of, empty_tbox
from jobs.checking.options import AUTO, Options
from jobs.repair.known_conflicts import nearby
from jobs.spark.auditing import examine
from jobs.spark.building.build import BuildSettings, BuiltStore, build
from jobs.spark.building.reading import Chunks
from jobs.spark.session import spark_session, stop
from jobs.store import Certificate, open_store
from jobs.store.numbering import RANGE
from jobs.store.replacing import Replacement
from shiq.abox import ABox, abox_of, individuals_of
from shiq.aside import Aside, told_aside
from shiq.check import certify
from shiq.model import Assertion
from shiq.reading import Reading
from shiq.remote.place import Place
from shiq.result import Result
from shiq.verdict import Leftover, Verdict

#: How far around a contradictory module its cause is looked for, and among how many assertions at
#: most.
_HOPS, _ASSERTIONS = 4, 50_000
#: How many inconsistent elements and modules are looked at together to set some of A aside; others
#: in the next round.
_MOST_NAMED = 100_000


@dataclass(frozen=True)
class _Kept:
    """What was kept of A, by number alone: nobody holds it."""

    insertions: int
    size: int
    pulled_in: int = 0

    def kept(self) -> Iterator[Assertion]:
        return iter(())


@dataclass
class _Aside:
    """What is set aside of A by ``repair``, judged by ``around``: what is said near what
    contradicted itself so far, or was left open.
    """

    ontology: Reading
    repair: Repair
    decider: Decider
    around: dict[Assertion, None] = field(default_factory=dict)
    gone: frozenset[Assertion] = frozenset()
    asides: tuple[Aside, ...] | None = None

    def grows(self, built: BuiltStore) -> bool:
        """Whether ``built``, which lacks what is gone, shows that something else has to go. Not
        for ever, since ``around`` grows within A.
        """
        known = len(self.around)
        found = built.certified
        if found.contradictory or found.open:
            there = knowledge_base_of(built, self.ontology).add_set(ABox(), ABox(), "clausal")
            near = nearby(
                self.ontology, self.decider, cast(AddSet, there), found.contradictory, found.open
            )
            self.around |= dict.fromkeys(near)
        if len(self.around) == known and self.asides is not None:
            return False
        before = self.gone
        rest, self.asides = self.repair(self.ontology, abox_of(self.around), self.decider)
        self.gone = frozenset(self.around) - frozenset(rest)
        return self.gone != before


def index(
    ontology: Reading,
    sources: list[object],
    store: Place,
    options: Options,
    answer: Answering,
    repair: Repair | None = None,
    taken: Mapping[str, int] | None = None,
    place: Replacement | None = None,
) -> Result:
    """Builds and certifies the store of ``ontology``'s TBox with its assertions and those of
    ``sources`` at ``store``, in the Spark session that is active, or one that is started for it.
    ``answer`` makes the result of what was found; ``taken``: see `jobs.store.manifest.TAKEN`;
    ``place``: what is at ``store`` now.

    ``repair`` is shown what is near contradictions, and what it sets aside is left out: the
    store is built again until no more is found, and put in place then. So the driver holds what
    is near contradictions, and no more of A.

    Conflicts are explained within what surrounds the contradictory modules: each is minimal, but
    there may be others.

    Raises: OperationalError, UsageError.
    """
    session, started = spark_session(master=options.master, name="shiq index", brief=True)
    told: list[Result] = []
    refusal = ""
    decider = new_decider(options) if repair else None
    aside = _Aside(ontology, repair, decider) if repair and decider else None

    def certifying(built: BuiltStore) -> Certificate | None:
        nonlocal refusal
        if aside and aside.grows(built):
            return None
        found = replace(found_of(built), audit=audit_of(built, options))
        left_over = (*built.read.leftovers, *told_aside(aside.asides or () if aside else (), store))
        result, certificate = answer(found, built.counts.assertions, _ledger(built.read), left_over)
        refusal = place.refusal(result.verdict) if place else ""
        if refusal:
            # What is built is gone afterwards.
            result = explained(
                result,
                knowledge_base_of(built, ontology),
                ontology,
                built.certified.contradictory,
                options,
            )
            told.append(with_note(result, refusal))
            return None
        told.append(result)
        issued: Certificate = certificate
        return issued

    def leftovers(read: Chunks) -> tuple[Leftover, ...]:
        return (*ontology.leftovers, *read.leftovers, *empty_tbox(ontology))

    settings = BuildSettings(
        reasoner=options.reasoner,
        heap=options.heap,
        timeout=options.timeout,
        audit=options.audit,
        limit=_MOST_NAMED if repair else options.max_conflicts,
        names_open=repair is not None,
        aside="ill-typed" in options.allow,
        catalog=catalog_of(options),
        completes=options.criterion in (AUTO, MODEL),
        width=options.range_size or RANGE,
    )
    try:
        while not told:
            built = build(
                session,
                store,
                ontology,
                sources,
                certifying,
                leftovers=leftovers,
                settings=settings,
                progress=options.progress,
                gone=aside.gone if aside else (),
                asides=aside.asides or () if aside else (),
                taken=taken or {},
                place=place,
            )
    finally:
        if decider:
            close_decider(decider)
        if started:
            stop(session)
    result = replace(told[0], statistics=replace(told[0].statistics, seconds=dict(built.seconds)))
    if result.verdict is Verdict.INCONSISTENT and not refusal:
        with open_store(store) as opened:
            return explained(
                result,
                LocalKnowledgeBase.from_store(opened),
                ontology,
                built.certified.contradictory,
                options,
            )
    return result


def knowledge_base_of(built: BuiltStore, ontology: Reading) -> LocalKnowledgeBase:
    """What was built, as it can be asked before it is put in place."""
    base, index, roles = built.indexed.opened()
    return LocalKnowledgeBase(ontology.tbox, base, roles, index)


def audit_of(built: BuiltStore, options: Options) -> Audit | None:
    """What a second reasoner says of the shapes of ``built`` that were drawn; None if there is
    none to say it of.
    """
    if built.certified.drawn is None:
        return None
    with OpenedDecider(options) as decider:
        examine(built.certified.drawn, decider, options.timeout)
        return decider.audit


def found_of(built: BuiltStore) -> Findings:
    """What a result tells of ``built``."""
    certified = built.certified
    refuted = certified.clashes + certified.verdicts[Verdict.INCONSISTENT.value]
    return Findings(
        criterion=MODEL if built.is_completed else "clausal",
        add_set=_Kept(built.counts.assertions, built.kept),
        modules=certified.contradictory,
        module_count=certified.modules,
        contradictory=certified.clashes,
        refuted=refuted,
        decided=dict(certified.verdicts),
        undecided=certified.undecided,
        shapes=certified.shapes,
        calls=certified.shapes,
        unexplained=refuted,
        complete=not refuted,
    )


def _ledger(read: Chunks) -> Counter[str]:
    return Counter(read.ledger)


def explained(
    result: Result,
    base: LocalKnowledgeBase,
    ontology: Reading,
    groups: Sequence[tuple[str, ...]],
    options: Options,
) -> Result:
    """``result`` with the conflicts among the assertions of ``base`` around ``groups``: what is
    inconsistent there is so in A.
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
        for found in about.about_all(new).values():
            assertions.update(dict.fromkeys(found))
        part = certify([ontology.tbox], [abox_of(assertions)], **settings)
        if part.verdict is Verdict.INCONSISTENT and part.conflicts:
            decided = part.evidence.decided
            here = decided["contradictory"] + decided.get(Verdict.INCONSISTENT.value, 0)
            more = max(0, result.more_conflicts - here) + part.more_conflicts
            return replace(result, conflicts=part.conflicts, more_conflicts=more, complete=False)
        individuals.update(dict.fromkeys(i for a in assertions for i in individuals_of(a)))
    return result
