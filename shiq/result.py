"""What a check gives back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from shiq.model import Assertion, Axiom
from shiq.verdict import LEAVING_OUT, UNREAD, Leftover, Verdict, filled, known_counts

if TYPE_CHECKING:
    from shiq.conflict import Conflict
    from shiq.explanation import ConflictGroup, ExplainedConflicts

#: Version of the JSON form that `Result.to_dict` gives; it changes when a field changes its meaning
#: or goes.
SCHEMA_VERSION = 2


class NotConsistent(Exception):
    """Raised by `Result.raise_for_verdict`; ``result`` says why."""

    def __init__(self, result: Result) -> None:
        super().__init__(
            f"{result.verdict.value}: {result.reason}" if result.reason else result.verdict.value
        )
        self.result = result


@dataclass(frozen=True, slots=True)
class Statistics:
    """``assertions``: |A|; ``insertions``: |A⁺ \\ A|; ``add_set``: |A_add|; ``pulled_in``:
    elements that entered untouched; ``modules``, ``shapes``: how many, and how many different
    ones; ``reasoner_calls``: shapes that a reasoner was asked about; ``seconds``: wall time by
    stage; ``spark``: what the check cost there: jobs, tasks, bytes shuffled and sent to the
    driver; ``widening``, under the criterion `model`: rounds of asking, questions about modules
    that were widened, the elements in these, and how many elements the bound on both closed
    (`abox_ops.patch.effort`); empty where nothing was widened.
    """

    assertions: int = 0
    insertions: int = 0
    add_set: int = 0
    pulled_in: int = 0
    modules: int = 0
    shapes: int = 0
    reasoner_calls: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)
    spark: Mapping[str, int] = field(default_factory=dict)
    widening: Mapping[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        counts = (
            "assertions",
            "insertions",
            "add_set",
            "pulled_in",
            "modules",
            "shapes",
            "reasoner_calls",
        )
        return {
            **{name: getattr(self, name) for name in counts},
            "seconds": {stage: round(s, 4) for stage, s in self.seconds.items()},
            **filled(spark=dict(self.spark), widening=dict(self.widening)),
        }


@dataclass(frozen=True, slots=True)
class PulledIn:
    """How many elements a check looked at though the batch does not touch them, by what asked
    for them first. ``reason``: "clause", an open clause on a role assertion, as ``text`` (names
    without namespaces), with the axioms that it follows from; "roles", an axiom on roles or a
    negative assertion; "equality", individuals that the batch makes equal. ``examples``: an
    individual of each of the first elements.
    """

    reason: str
    count: int
    examples: tuple[str, ...] = ()
    text: str = ""
    axioms: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "reason": self.reason,
            "count": self.count,
            "examples": list(self.examples),
            **({"clause": self.text, "axioms": list(self.axioms)} if self.text else {}),
        }


@dataclass(frozen=True, slots=True)
class UndecidedModule:
    """A module that was left undetermined: its individuals, and why."""

    individuals: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class Evidence:
    """Why the verdict can be believed: what was read (``ledger`` by bucket), what was not
    interpreted (``leftovers``), which kinds were ``allowed``, the criterion, engine and
    reasoner, the certificate of the base, and how modules were decided. ``run``: the same for
    the same question about the same store and batch (engine ``spark``). ``fail_on``: kinds that
    were asked to stand in the way. ``sent``: for HermiT, how many questions it was asked in this
    process, how many axioms were sent with them and how many the OWL API was seen to hold; it is
    only asked where these are the same. ``notes``: what else is to be known of how the answer
    came about, for instance a licence that was accepted.
    """

    criterion: str = "clausal"
    engine: str = "local"
    reasoner: str = "auto"
    ledger: Mapping[str, int] = field(default_factory=dict)
    leftovers: tuple[Leftover, ...] = ()
    allowed: tuple[str, ...] = ()
    certificate: Mapping[str, Any] = field(default_factory=dict)
    decided: Mapping[str, int] = field(default_factory=dict)
    undecided: tuple[str, ...] = ()
    run: str = ""
    fail_on: tuple[str, ...] = ()
    sent: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "criterion": self.criterion,
            "engine": self.engine,
            "reasoner": self.reasoner,
            "ledger": dict(self.ledger),
            "leftovers": [
                {
                    **{
                        name: getattr(x, name)
                        for name in ("kind", "message", "source", "line", "text", "hint", "count")
                    },
                    **filled(agreed=x.agreed, known=x.known, lapsed=x.lapsed, items=x.items),
                }
                for x in self.leftovers
            ],
            **filled(known=dict(known_counts(self.leftovers))),
            "allowed": list(self.allowed),
            "certificate": dict(self.certificate),
            "decided": dict(self.decided),
            "undecided": list(self.undecided),
            **filled(
                run=self.run,
                fail_on=list(self.fail_on),
                sent=dict(self.sent),
                notes=list(self.notes),
            ),
        }


@dataclass(frozen=True, eq=False)
class Result:
    """The answer to one check.

    ``verdict``; ``reason``: why undetermined (or what else is to be known), "" otherwise;
    ``a_add``: the assertions that were kept; ``modules``: the individuals of each module,
    contradictory elements first; ``conflicts``: see `Conflict`; ``more_conflicts``:
    contradictions that are known but not explained, because of a limit; ``complete``: whether
    ``conflicts`` holds every minimal one; ``snapshot``: of the store that the batch was checked
    against, 0 where there is none; ``committed``: the snapshot that the batch made, 0 if it was
    not taken into a store; ``labels``: what terms of the TBox are called, if there are
    conflicts; ``disagreements``: modules that two reasoners answer differently
    (`abox_ops.modules.audit.Disagreement`), if an audit was asked for; ``undecided``: the
    modules that were left undetermined, of engines of this process; ``why_pulled``: what pulled
    elements in, most first, if that was asked for; ``ended``: whether this is the last word: not
    so while conflicts are still looked for, or where that was interrupted. The verdict stands in
    either case.

    ``a_add`` with the user's own TBox is not the question that was decided, so another reasoner
    may call the two consistent where the batch is not. What was decided is the simplified TBox,
    with names of its own, over the modules, which also hold what was inferred from the
    assertions that were left out (THEORY, "The procedure" and "The add set"). `shiq check
    --reduced` writes it.
    """

    verdict: Verdict
    reason: str = ""
    a_add: Sequence[Assertion] = ()
    modules: Sequence[tuple[str, ...]] = ()
    conflicts: tuple[Conflict, ...] = ()
    more_conflicts: int = 0
    complete: bool = True
    statistics: Statistics = field(default_factory=Statistics)
    evidence: Evidence = field(default_factory=Evidence)
    committed: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    disagreements: tuple[Any, ...] = ()
    undecided: Sequence[UndecidedModule] = ()
    why_pulled: tuple[PulledIn, ...] | None = None
    ended: bool = True
    snapshot: int = 0

    @cached_property
    def explained(self) -> ExplainedConflicts:
        """The conflicts with their patterns and sentences, worked out when they are first asked
        for.
        """
        from shiq.explanation import ExplainedConflicts

        return ExplainedConflicts(self.conflicts, self.labels)

    @property
    def groups(self) -> tuple[ConflictGroup, ...]:
        """The conflicts by their cause, biggest group first."""
        return self.explained.groups

    def raise_for_verdict(self) -> None:
        """Raises `NotConsistent` unless the verdict is CONSISTENT."""
        if self.verdict is not Verdict.CONSISTENT:
            raise NotConsistent(self)

    @cached_property
    def without(self) -> dict[str, Any]:
        """What a CONSISTENT leaves out of account, because its kind was allowed: how many axioms
        and assertions are known to be among it, and how much there is of each kind; empty if
        nothing is left out.
        """
        if self.verdict is not Verdict.CONSISTENT:
            return {}
        allowed = self.evidence.allowed
        left = LEAVING_OUT | UNREAD
        out = [
            x
            for x in self.evidence.leftovers
            if x.kind in left and (x.agreed or x.known or x.kind in allowed)
        ]
        said = Counter(
            "axioms" if isinstance(v, Axiom) else "assertions"
            for v in {v for x in out for v in x.said}
        )
        kinds = Counter[str]()
        for x in out:
            kinds[x.kind] += len(x.said) or x.number
        counts = {name: said[name] for name in ("axioms", "assertions")}
        return {**counts, "kinds": dict(sorted(kinds.items()))} if kinds else {}

    def to_dict(self) -> dict[str, Any]:
        """The JSON form (schema_version, verdict, reason, statistics, conflicts, groups, evidence)."""
        explained = self.explained
        return {
            "schema_version": SCHEMA_VERSION,
            "verdict": self.verdict.value,
            "complete": self.ended,
            "reason": self.reason,
            **filled(without=self.without),
            "statistics": self.statistics.to_dict(),
            "conflicts": [
                {
                    **conflict.to_dict(),
                    "pattern": explained.pattern(i).id,
                    "sentence": explained.sentence(i),
                }
                for i, conflict in enumerate(self.conflicts)
            ],
            "groups": [group.to_dict() for group in explained.groups],
            "more_conflicts": self.more_conflicts,
            "conflicts_complete": self.complete,
            "evidence": self.evidence.to_dict(),
            **filled(snapshot=self.snapshot),
            "committed": self.committed,
            **(
                {}
                if self.why_pulled is None
                else {"why_pulled": [found.to_dict() for found in self.why_pulled]}
            ),
        }
