"""The result of a check."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from shiq.answers.repair import RepairPlan
from shiq.answers.verdict import LEAVING_OUT, UNREAD, Leftover, Verdict, count_waived, drop_empty
from shiq.deprecation import RenamedAttribute
from shiq.errors import ShiqError
from shiq.inputs.reading import Place
from shiq.model import Assertion, Axiom

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped, unused-ignore]

    from shiq.explanation import ConflictGroup, ExplainedConflicts


#: Version of the JSON form that `Result.to_dict` gives; it changes when a field changes its meaning
#: or goes.
SCHEMA_VERSION = 2


class NotConsistent(ShiqError):
    """Error: a check's verdict is not consistent; raised by `Result.raise_for_verdict`.

    result: the result with the reason.
    """

    def __init__(self, result: Result) -> None:
        from shiq.answers.display import MOST_SHOWN, cause_sentences, summary_line

        causes = [f"\n  {sentence}" for sentence in cause_sentences(result, MOST_SHOWN)]
        super().__init__(summary_line(result) + "".join(causes))
        self.result = result


@dataclass(frozen=True, slots=True)
class Statistics:
    r"""Figures of one check: sizes, times and how much was read.

    assertions: |A|. insertions: |A⁺ \ A|. add_set: |A_add|.
    pulled_in: elements that were read although the batch does not mention them.
    modules, shapes: number of modules, and of different ones.
    reasoner_calls: shapes decided by a reasoner.
    seconds: wall time by stage.
    spark: jobs, tasks, and bytes shuffled and sent to the driver.
    widening: for the criterion `model`: rounds, questions, elements, and elements at the bound
        (`shiq.abox_ops.patch.effort`); empty if nothing was widened.
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
        """Return the JSON form."""
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
            **drop_empty(spark=dict(self.spark), widening=dict(self.widening)),
        }


@dataclass(frozen=True, slots=True)
class PulledIn:
    """Elements that a check had to read although the batch does not mention them, grouped by the
    reason why.

    reason: "clause" (an open clause on a role assertion), "roles" (an axiom on roles, or a negative
        assertion) or "equality" (individuals that the batch makes equal).
    count: number of elements. examples: an individual of each of the first ones.
    text, axioms: the clause, without namespaces, and the axioms behind it.
    """

    reason: str
    count: int
    examples: tuple[str, ...] = ()
    text: str = ""
    axioms: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "reason": self.reason,
            "count": self.count,
            "examples": list(self.examples),
            **({"clause": self.text, "axioms": list(self.axioms)} if self.text else {}),
        }


@dataclass(frozen=True, slots=True)
class UndecidedModule:
    """A module that no reasoner decided: its individuals, and the reason."""

    individuals: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class Evidence:
    """The evidence for a verdict: what was read, asked and answered.

    ledger: what was read, by bucket (`Reading.ledger`).
    leftovers: what was not interpreted. allowed: kinds that do not block.
    certificate: of the base. decided: number of modules by deciding reasoner.
    run: identity of the question about this store and batch (engine ``spark``).
    fail_on: kinds that block although they are informative otherwise.
    sent: for HermiT, the questions of this process, and axioms sent and parsed; it is asked only
        while these are equal.
    notes: other facts about the answer, for example an accepted licence.
    disagreements: of an audit (`shiq.abox_ops.modules.decide.Disagreement`).
    undecided_modules: modules that no reasoner decided (engines of this process).
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
    disagreements: tuple[Any, ...] = ()
    undecided_modules: Sequence[UndecidedModule] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
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
                    **drop_empty(agreed=x.agreed, known=x.known, lapsed=x.lapsed, items=x.items),
                }
                for x in self.leftovers
            ],
            **drop_empty(known=dict(count_waived(self.leftovers))),
            "allowed": list(self.allowed),
            "certificate": dict(self.certificate),
            "decided": dict(self.decided),
            "undecided": list(self.undecided),
            **drop_empty(
                run=self.run,
                fail_on=list(self.fail_on),
                sent=dict(self.sent),
                notes=list(self.notes),
            ),
        }


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The answer to one check: verdict, conflicts, evidence and figures.

    reason: why it is undetermined, or another remark; else "".
    a_add: the assertions that were checked.
    modules: individuals of each module; contradictory ones first.
    conflicts: see `Conflict`. more_conflicts: known contradictions beyond the limit.
    complete: whether ``conflicts`` has all minimal ones.
    snapshot: of the store; 0 without a store. committed: the snapshot of the batch; 0 if none.
    labels: of the terms of the TBox, if there are conflicts.
    why_pulled: causes of reading further elements, most frequent first, if requested.
    ended: False while conflicts are still being explained; the verdict is already final.
    repairs: changes that make base and batch consistent, if requested.

    ``a_add`` with the original TBox is not the question that was decided. The simplified TBox and
    the modules also contain what was inferred from other assertions (THEORY, "The procedure" and
    "The add set"). So another reasoner may find the two consistent although the batch is not. `shiq
    check --reduced` writes the exact question.
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
    why_pulled: tuple[PulledIn, ...] | None = None
    ended: bool = True
    snapshot: int = 0
    repairs: RepairPlan | None = None

    # Old names, until 0.3.
    disagreements = RenamedAttribute("evidence.disagreements")
    undecided = RenamedAttribute("evidence.undecided_modules")

    def __repr__(self) -> str:
        from shiq.answers.display import summary_line

        return f"<Result {summary_line(self)}>"

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows."""
        from shiq.answers.display import notebook_html

        return notebook_html(self)

    def to_json(self, indent: int | None = 2) -> str:
        """Return the JSON form as text (see `to_dict`)."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)

    def to_pandas(self) -> DataFrame:
        """Return the conflicts as a pandas DataFrame, one row each
        (`shiq.answers.display.COLUMNS`).
        """
        import pandas  # type: ignore[import-untyped, unused-ignore]

        from shiq.answers.display import COLUMNS, conflict_columns

        return pandas.DataFrame(conflict_columns(self), columns=list(COLUMNS))

    def to_polars(self) -> Any:
        """Return the conflicts as a polars DataFrame, one row each
        (`shiq.answers.display.COLUMNS`).
        """
        import polars  # type: ignore[import-not-found, unused-ignore]

        from shiq.answers.display import conflict_columns

        return polars.DataFrame(conflict_columns(self))

    @cached_property
    def explained(self) -> ExplainedConflicts:
        """Return the conflicts with patterns and sentences; computed on first access."""
        from shiq.explanation import ExplainedConflicts

        return ExplainedConflicts(self.conflicts, self.labels)

    @property
    def groups(self) -> tuple[ConflictGroup, ...]:
        """Return the conflicts grouped by cause, biggest group first."""
        return self.explained.groups

    def raise_for_verdict(self) -> None:
        """Raise `NotConsistent` unless the verdict is CONSISTENT."""
        if self.verdict is not Verdict.CONSISTENT:
            raise NotConsistent(self)

    @cached_property
    def without(self) -> dict[str, Any]:
        """Return the axioms and assertions that a CONSISTENT verdict ignores because their kind was
        allowed.

        Returns: their number, and ``kinds``: kind → amount; empty if there are none.
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
            for v in {v for x in out for v in x.values}
        )
        kinds = Counter[str]()
        for x in out:
            kinds[x.kind] += len(x.values) or x.number
        counts = {name: said[name] for name in ("axioms", "assertions")}
        return {**counts, "kinds": dict(sorted(kinds.items()))} if kinds else {}

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form (docs/REPORTS.md)."""
        explained = self.explained
        return {
            "schema_version": SCHEMA_VERSION,
            "verdict": self.verdict.value,
            "complete": self.ended,
            "reason": self.reason,
            **drop_empty(without=self.without),
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
            **({"repairs": self.repairs.to_dict()} if self.repairs else {}),
            **drop_empty(snapshot=self.snapshot),
            "committed": self.committed,
            **(
                {}
                if self.why_pulled is None
                else {"why_pulled": [found.to_dict() for found in self.why_pulled]}
            ),
        }


# A minimal contradiction.


@dataclass(frozen=True, repr=False)
class Conflict:
    """A minimal contradiction. ``insertions`` and ``base`` are N-Triples lines, ``axioms`` are
    functional syntax; the ``…_values`` are the same as values of the model.

    An assertion that RDF maps to several triples has several lines.

    insertions: a minimal X ⊆ A⁺ such that (T, (A less deletions) ∪ X) is inconsistent.
    base, axioms: together with X one minimal justification.
    origin: ``insertions``; or ``base`` if (T, A) is already inconsistent, then X is empty.
    keys: the caller's names for the inserted rows, if their table has a key column.
    is_minimal: False if time ran out, or a reasoner gave up, before minimality was proven.
    places: for each line of ``insertions``, all places it was read from; () if none is recorded.
    base_places: the same for each line of ``base``.
    vocabularies: built-in vocabularies, with versions, whose axioms are among ``axioms``.
    """

    insertion_values: tuple[Assertion, ...]
    base_values: tuple[Assertion, ...] = ()
    axiom_values: tuple[Axiom, ...] = ()
    origin: str = "insertions"
    keys: tuple[str, ...] = ()
    is_minimal: bool = True
    places: tuple[tuple[Place, ...], ...] = ()
    base_places: tuple[tuple[Place, ...], ...] = ()
    vocabularies: tuple[str, ...] = ()

    @cached_property
    def insertions(self) -> tuple[str, ...]:
        """Return the insertions as N-Triples lines."""
        return _ntriples_lines(self.insertion_values)

    @cached_property
    def base(self) -> tuple[str, ...]:
        """Return the assertions of the base as N-Triples lines."""
        return _ntriples_lines(self.base_values)

    @cached_property
    def axioms(self) -> tuple[str, ...]:
        """Return the axioms in functional syntax."""
        # Loaded where there is a conflict to show: most batches are consistent.
        from shiq.functional.writer import axiom_text

        return tuple(map(axiom_text, self.axiom_values))

    def __repr__(self) -> str:
        names = ("insertions", "base", "axioms", *self.__match_args__[3:])
        return f"Conflict({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    @property
    def graphs(self) -> tuple[str, ...]:
        """Return the named graphs that contain the insertions, as N-Triples terms."""
        return tuple(
            sorted({place.graph for places in self.places for place in places if place.graph})
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "origin": self.origin,
            "insertions": list(self.insertions),
            "base": list(self.base),
            "axioms": list(self.axioms),
            "minimal": self.is_minimal,
            **drop_empty(
                keys=list(self.keys), graphs=list(self.graphs), vocabularies=list(self.vocabularies)
            ),
            **(
                {"places": [[place.to_dict() for place in places] for places in self.places]}
                if any(self.places)
                else {}
            ),
        }


def _ntriples_lines(assertions: Iterable[Assertion]) -> tuple[str, ...]:
    """Write assertions as N-Triples lines."""
    # Loaded where there is a conflict to show: most batches are consistent.
    from shiq.model.ntriples import assertion_lines

    return tuple(line for assertion in assertions for line in assertion_lines(assertion))
