"""Make the result of a check from its findings: verdict, reason, notes, conflicts, and warnings
about unusual sizes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from shiq.abox_ops.engine import MODEL, NO_WIDENING, AddSet, PatchAddSet, WideningFigures
from shiq.abox_ops.modules.add_set import NamedModules
from shiq.abox_ops.patch.effort import MOST_ELEMENTS, MOST_QUESTIONS
from shiq.answers.result import Evidence, Result, Statistics
from shiq.answers.verdict import (
    INFORMATIVE,
    UNKNOWN_DATATYPE,
    Leftover,
    Verdict,
    count_leftovers,
    is_blocking,
)
from shiq.errors import UsageError, fill_in_store
from shiq.inputs.reading import Place, Places, no_positions
from shiq.jobs.checking.base import AddSetSize, AddSetWithReasons, Findings, OpenBase
from shiq.jobs.checking.inputs import OUTSIDE_KIND, is_outside_shiq, is_read_by_form
from shiq.jobs.checking.options import (
    ASK_HERMIT,
    DISTRIBUTED_ENGINES,
    DISTRIBUTED_WORK,
    FRAMES,
    Clock,
    Options,
    import_by_name,
)
from shiq.model import Assertion
from shiq.rdf.vocabulary import VALUE_LINK
from shiq.reasoner import AGPL
from shiq.reasoner.protocol import OPAQUE
from shiq.support import LazySequence, pluralize, supports

if TYPE_CHECKING:
    from shiq.answers.result import Conflict
    from shiq.jobs.checking.ambiguous_properties import Refutes

#: Makes the result, and the certificate, of what an engine found of A: with |A|, the ledger and the
#: leftovers of reading it.
MakeResult = Callable[[Findings, int, Mapping[str, int], tuple[Leftover, ...]], tuple[Result, Any]]


def make_result(
    base: OpenBase,
    found: Findings,
    ledger: Mapping[str, int],
    leftovers: tuple[Leftover, ...],
    options: Options,
    clock: Clock,
    places: Places = no_positions,
    refutes: Refutes | None = None,
) -> Result:
    """Make the result of a batch from ``found`` and from the ``ledger`` and ``leftovers`` of
    reading it.

    refutes: see `shiq.jobs.checking.ambiguous_properties.keep_settled_conflicts`.
    """
    if found.refuted_count and base.tbox.has_readings:
        from shiq.jobs.checking.ambiguous_properties import keep_settled_conflicts

        found = keep_settled_conflicts(found, base.tbox, refutes)
    if found.explanation.conflicts and VALUE_LINK in base.tbox.signature.object_properties:
        found = _with_written_properties(found)
    add_set = found.add_set
    places_of = {
        **found.places,
        **(
            places(a for raw in found.explanation.conflicts for a in raw.insertion_values)
            if found.explanation.conflicts
            else {}
        ),
    }
    everything = options.known.mark(
        (*leftovers, *_foreign_batch_leftover(leftovers, ledger, options), *base.leftovers)
    )
    disagreements = tuple(found.audit.disagreements) if found.audit else ()
    if disagreements:
        verdict, reason = (
            Verdict.UNDETERMINED,
            f"{disagreements[0]}: one of them is wrong, so nothing of this run is believed",
        )
    else:
        verdict, reason = _decide_verdict(
            base, bool(found.refuted_count), found.undecided_reasons, everything, options
        )
    conflicts = _name_vocabularies(
        tuple(_with_places(raw, places_of) for raw in found.explanation.conflicts), everything
    )
    return Result(
        verdict,
        reason,
        a_add=_LazyAddSet(add_set, options.engine),
        modules=found.modules.members,
        conflicts=conflicts,
        more_conflicts=found.explanation.unexplained_count,
        complete=found.explanation.is_complete,
        statistics=Statistics(
            assertions=len(base.knowledge_base),
            insertions=add_set.insertions,
            add_set=add_set.size,
            pulled_in=add_set.pulled_in,
            modules=found.modules.count,
            shapes=found.modules.shapes,
            reasoner_calls=found.modules.calls,
            seconds=clock.seconds,
            spark=found.cost,
            widening=asdict(widening) if (widening := _widening_figures(found)).questions else {},
        ),
        evidence=_make_evidence(
            options,
            found.criterion,
            ledger=ledger,
            leftovers=everything,
            certificate=base.certificate,
            decided={"contradictory": found.modules.contradictory_elements, **found.verdict_counts},
            undecided=found.undecided_reasons,
            run=found.check_id,
            sent=found.sent_counts,
            notes=_make_notes(base, found, options),
            disagreements=disagreements,
            undecided_modules=found.undetermined_modules,
        ),
        labels=base.labels() if found.refuted_count else {},
        why_pulled=tuple(add_set.why_pulled())
        if options.why_pulled and isinstance(add_set, AddSetWithReasons)
        else None,
        ended=found.explanation.is_finished,
        snapshot=base.snapshot,
    )


def _with_written_properties(found: Findings) -> Findings:
    """Restore conflicts to the form of the input: individuals that stand for one data value become
    that value again.
    """
    from shiq.rdf.values_as_nodes import restore_data_properties

    conflicts = [
        replace(
            c,
            insertion_values=restore_data_properties(c.insertion_values),
            base_values=restore_data_properties(c.base_values),
            axiom_values=restore_data_properties(c.axiom_values),
        )
        for c in found.explanation.conflicts
    ]
    places = {
        written: at
        for value, at in found.places.items()
        for written in restore_data_properties((value,))
    }
    explained = replace(found.explanation, conflicts=conflicts)
    return replace(found, explanation=explained, places={**places, **found.places})


def _foreign_batch_leftover(
    leftovers: Iterable[Leftover], ledger: Mapping[str, int], options: Options
) -> tuple[Leftover, ...]:
    """Make a warning about a batch of which more than half the statements use terms that the TBox
    does not have; empty for other batches.
    """
    foreign = sum(leftover.count for leftover in leftovers if leftover.kind == "foreign")
    total = foreign + ledger.get("assertion", 0) + ledger.get("leftover:undeclared", 0)
    if 2 * foreign <= total or options.allow & {"foreign", "undeclared"}:
        return ()
    message = f"{foreign:,} of {total:,} lines use terms that the ontology does not know"
    return (
        Leftover(
            "mostly-foreign", message, hint="is it the right ontology? --allow foreign if it is"
        ),
    )


def refuted_result(
    base: OpenBase,
    ledger: Mapping[str, int],
    leftovers: tuple[Leftover, ...],
    options: Options,
    clock: Clock,
) -> Result:
    """Make the early result of a batch that is known to be inconsistent, before its conflicts are
    explained.
    """
    return Result(
        Verdict.INCONSISTENT,
        more_conflicts=1,
        complete=False,
        statistics=Statistics(len(base.knowledge_base), seconds=dict(clock.seconds)),
        evidence=_make_evidence(
            options,
            ledger=ledger,
            leftovers=options.known.mark((*leftovers, *base.leftovers)),
            certificate=base.certificate,
        ),
        ended=False,
        snapshot=base.snapshot,
    )


def _make_evidence(options: Options, criterion: str = "", **found: Any) -> Evidence:
    """Make the evidence of a result (how it was decided) from ``options``.

    criterion: replaces the criterion of ``options`` if it is not empty.
    found: further fields of `Evidence` by name.
    """
    return Evidence(
        criterion=criterion or options.criterion,
        engine=options.engine,
        reasoner=options.reasoner,
        allowed=tuple(sorted(options.allow)),
        fail_on=tuple(sorted(options.fail_on)),
        **found,
    )


def time_limit_reason(options: Options, doing: str) -> str:
    """Write the sentence that says during which step the time limit was reached."""
    return f"the time of {options.timeout:g} s was over while {doing}"


def run_in_time(
    options: Options,
    clock: Clock,
    check: Callable[[], Result],
    leftovers: tuple[Leftover, ...] = (),
) -> Result:
    """Call ``check`` within the time limit of ``options``, which counts from the start of
    ``clock``.
    """
    # Jobs of engines that work elsewhere are not broken off in their midst: they would go on.
    if options.timeout is None or options.engine in DISTRIBUTED_ENGINES:
        return check()
    # Loaded where there is a limit.
    from shiq.deadline import DeadlineExceeded, interrupt_after

    try:
        with interrupt_after(clock.start + options.timeout):
            return check()
    except DeadlineExceeded:
        return timeout_result(options, clock, leftovers)


def timeout_result(options: Options, clock: Clock, leftovers: tuple[Leftover, ...]) -> Result:
    """Make the result when the time limit is reached: the verdict if it is certain by then, else
    `undetermined` with the step that was interrupted.
    """
    clock.is_over = True
    clock.end_stage(clock.step)
    over = time_limit_reason(options, clock.step)
    if clock.certain_result is not None:
        return replace(
            clock.certain_result,
            evidence=replace(clock.certain_result.evidence, notes=(f"{over}: the verdict stands",)),
        )
    evidence = _make_evidence(options, leftovers=leftovers, undecided=(over,))
    statistics = Statistics(seconds=clock.seconds)
    return Result(
        Verdict.UNDETERMINED,
        f"not decided: {over}",
        complete=False,
        statistics=statistics,
        evidence=evidence,
    )


def with_note(result: Result, note: str) -> Result:
    """Add a note to the evidence of ``result``."""
    return replace(result, evidence=replace(result.evidence, notes=(*result.evidence.notes, note)))


def _decide_verdict(
    base: OpenBase,
    refuted: bool,
    undecided: tuple[str, ...],
    leftovers: tuple[Leftover, ...],
    options: Options,
) -> tuple[Verdict, str]:
    """Decide the verdict and its reason. A contradiction gives `inconsistent` whatever was left
    over; `consistent` needs a certified base, no blocking leftover and nothing undecided.
    """
    if refuted:
        return Verdict.INCONSISTENT, ""
    reasons: list[str] = []
    if not base.is_certified:
        reasons.append(fill_in_store(_uncertified_reason(base), base.store))
    open_ones: dict[str, list[Leftover]] = {}
    for leftover in leftovers:
        if is_blocking(leftover, options.allow, options.fail_on):
            open_ones.setdefault(leftover.kind, []).append(leftover)
    for kind, found in sorted(open_ones.items()):
        asked = kind in INFORMATIVE or kind in options.fail_on
        first = found[0]
        way_out = (
            "asked for by --fail-on"
            if asked
            else _REMEDIES.get(kind, f"--known or --allow {kind} if that is meant")
        )
        if is_outside_shiq(first) and options.outside != ASK_HERMIT and not asked:
            way_out = f"--outside {ASK_HERMIT} puts the whole question to HermiT"
        reasons.append(
            f"{count_leftovers(f'× {kind}', found)}, first: {first.located_message} ({way_out})"
        )
    reasons.extend(f"not decided: {reason}" for reason in undecided[:5])
    if any(reason.startswith(OPAQUE) for reason in undecided) and not is_read_by_form(base.tbox):
        reasons.append(
            f"--allow {UNKNOWN_DATATYPE} tells the values of such a datatype apart by lexical form, if that is meant"
        )
    return (Verdict.UNDETERMINED, "; ".join(reasons)) if reasons else (Verdict.CONSISTENT, "")


#: What to do about kinds of leftovers that it would be rash to allow.
_REMEDIES = {
    OUTSIDE_KIND: "SHIQ(D) cannot say it: take it out, or say it otherwise; --allow outside-shiq answers for the rest alone, and "
    "does not see what contradicts it"
}


def _uncertified_reason(base: OpenBase) -> str:
    """Reason for `undetermined` when the base has no valid certificate, with the way out."""
    certificate = base.certificate
    is_stored = not certificate or "snapshot" in certificate
    if is_stored and certificate.get("verdict") == Verdict.INCONSISTENT.value:
        return (
            "the base is not certified: it is inconsistent by itself (`shiq certify --store DIR` lists the conflicts. Delete a "
            "culprit of each from the data, and index what is left)"
        )
    # What its leftovers are is told by themselves.
    parts = [
        part.partition(", first: ")[0] for part in certificate.get("reason", "").split("; ") if part
    ]
    again = " (`shiq certify --store DIR` certifies it again)" if is_stored else ""
    return f"the base is not certified consistent: {', '.join(parts) or 'it was never certified'}{again}"


_BY_FORM_NOTE = (
    f"by your decision (--allow {UNKNOWN_DATATYPE}) each unknown datatype has values of its own, one for each lexical form; "
    "the verdict holds for that reading"
)


def _widening_figures(found: Findings) -> WideningFigures:
    """Statistics of the questions that were asked again under the criterion `model`."""
    return found.add_set.widening if supports(found.add_set, PatchAddSet) else NO_WIDENING


def _make_notes(base: OpenBase, found: Findings, options: Options) -> tuple[str, ...]:
    """Write the notes for the user on how the check went."""
    notes = [*found.notes, *([str(found.audit)] if found.audit else [])]
    if closed := _widening_figures(found).closed:
        notes.append(
            f"around {pluralize(closed, 'individual')} everything that may matter was read,"
            f" because after {MOST_QUESTIONS} questions, "
            f"or {MOST_ELEMENTS:,} individuals in them, it was still open what may be left out; the verdict is the same"
        )
    if found.criterion == MODEL and options.reasoner not in ("auto", "own"):
        notes.append(
            f"questions with assumptions go to the reasoner own, all others to {options.reasoner}; with --criterion "
            "clausal all go to the latter"
        )
    if is_read_by_form(base.tbox):
        notes.append(_BY_FORM_NOTE)
    if options.accept_agpl and options.reasoner in AGPL:
        notes.append(
            f"the reasoner {options.reasoner} is under the AGPL-3.0, which was accepted for this run"
        )
    return tuple(notes)


def _with_places(conflict: Conflict, places_of: Mapping[Assertion, tuple[Place, ...]]) -> Conflict:
    """Add to ``conflict`` where its insertions were read (file and line)."""
    if not places_of:
        return conflict
    # Loaded where there is something to tell: most batches are consistent.
    from shiq.model.ntriples import assertion_lines

    read = [places_of.get(a, ()) for a in conflict.insertion_values]
    return replace(
        conflict,
        keys=tuple(key for at in read for key in sorted({place.key for place in at} - {""})),
        places=tuple(
            at for a, at in zip(conflict.insertion_values, read) for _ in assertion_lines(a)
        ),
    )


def _name_vocabularies(
    conflicts: tuple[Conflict, ...], leftovers: Iterable[Leftover]
) -> tuple[Conflict, ...]:
    """Add to ``conflicts`` the names of the known vocabularies that their axioms come from. Does
    nothing unless ``leftovers`` report that a vocabulary was read.
    """
    names = {x.source for x in leftovers if x.kind == "vocabulary"} if conflicts else set()
    if not names:
        return conflicts
    # Loaded where a contradiction is, and a table was read.
    from shiq.vocabularies import NAMES, load_table

    tables = [found for found in map(load_table, NAMES) if found.file_name in names]
    return tuple(
        replace(
            x,
            vocabularies=tuple(
                found.label for found in tables if not set(x.axioms).isdisjoint(found.axioms)
            ),
        )
        for x in conflicts
    )


class _LazyAddSet(LazySequence[Assertion]):
    """A_add as a sequence of assertions, computed on first access."""

    def __init__(self, add_set: AddSetSize, engine: str) -> None:
        super().__init__(add_set.size, lambda: list(add_set.kept_assertions()))
        self.add_set, self._engine = add_set, engine

    @property
    def patch(self) -> Any:
        """Changes to the certified model by which the batch was accepted; only with the criterion
        `model`.
        """
        return getattr(self.add_set, "patch", None)

    def frame(self) -> Any:
        """A_add as a Spark DataFrame (s, p, o: N-Triples terms); engines ``spark`` and
        ``graphframes`` only.
        """
        make = getattr(self.add_set, "frame", None)
        if make is None and self._engine in DISTRIBUTED_WORK:
            return import_by_name(FRAMES)(self)
        if make is None:
            raise UsageError(
                "only the engines spark and graphframes give DataFrames",
                'Check with engine="spark".',
            )
        return make()


#: How many equal individuals, or role assertions of one individual, are too many to go without a
#: word.
OVERSIZE = 10_000


#: How many of each are told; the largest first.
MOST_REPORTED = 10


_NAMES_SHOWN = 3


#: What is noted where a check has stopped since only the verdict was asked for.
PARTIAL_NOTE = "verdict only: A_add, modules and counts are of what was looked at until the contradiction was certain"


#: The kinds of what `oversize_leftovers` tells.
OVERSIZE_KINDS = "many-equal", "hub"
#: Kind and names of an element or hub of too many.
OversizeKey = tuple[str, tuple[str, ...]]


def oversize_leftovers(counts: Counter[OversizeKey]) -> tuple[Leftover, ...]:
    """Make a leftover for each of the `MOST_REPORTED` largest elements and hubs (individuals with
    very many role assertions). They do not affect the verdict.
    """
    told = [_oversize_leftover(kind, names, size) for (kind, names), size in counts.items()]
    return tuple(
        leftover
        for wanted in OVERSIZE_KINDS
        for leftover in sorted(
            (x for x in told if x.kind == wanted), key=lambda x: (-x.count, x.message)
        )[:MOST_REPORTED]
    )


def count_oversize(add_set: AddSet) -> Counter[OversizeKey]:
    """Count elements of A_add with more than `OVERSIZE` equal individuals, and hubs: individuals
    with more than `OVERSIZE` role assertions.

    Returns: size by kind and by names to show.
    """
    modules = NamedModules.from_modules(add_set.modules)
    equal = (e for module in modules for e in module.elements) if modules.crowd > OVERSIZE else ()
    counts: Counter[OversizeKey] = Counter()
    for element in (*add_set.contradictory, *equal):
        if len(element) > OVERSIZE:
            counts["many-equal", tuple(element[:_NAMES_SHOWN])] = len(element)
    if not any(len(module.edges) > OVERSIZE for module in modules.distinct):
        return counts
    for found in modules:
        edges = found.module.edges
        if len(edges) > OVERSIZE:
            degrees = Counter(node for subject, _, object in edges for node in {subject, object})
            for node, degree in degrees.items():
                if degree > OVERSIZE:
                    counts["hub", (found.elements[node][0],)] = degree
    return counts


def _oversize_leftover(kind: str, names: Sequence[str], size: int) -> Leftover:
    """Make a leftover about an element of many equal individuals, or a hub with many role
    assertions.
    """
    shown = ", ".join(f"<{name}>" for name in names)
    if kind == "hub":
        message = f"{shown} has {size:,} role assertions that count for this check"
        return Leftover(kind, message, hint="--timeout SECONDS bounds what it costs", count=size)
    message = f"{size:,} individuals are one, by owl:sameAs or a functional property: {shown}, …"
    hint = "is a key, or a value such as `unknown`, shared by things that differ?"
    return Leftover(kind, message, hint=hint, count=size)
