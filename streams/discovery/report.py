"""Report of a mined window: rules with their measures, changes, and JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from shiq.deprecation import RenamedAttribute
from shiq.streams.discovery.atomsets import ROOT_VARIABLE, tree_to_atoms
from shiq.streams.discovery.counting import MinedRule
from shiq.streams.discovery.ground_rules import GroundRule
from shiq.streams.discovery.snapshots import Changes

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]


@dataclass(frozen=True)
class RuleFinding:
    """Reported rule with measures and examples.

    lift: confidence divided by the share of snapshots with the head.
    case_lift: the same over cases (pairs of snapshot and individual); None from older versions.
    refutations: number of snapshots that refute it; None if unknown.
    instances: first bindings, each with its snapshot.
    """

    rule: MinedRule
    lift: float
    refutations: int | None
    instances: Sequence[tuple[int, Mapping[str, str]]]
    case_lift: float | None = None

    # Old names, until 0.3.
    refuted = RenamedAttribute("refutations")

    @property
    def head(self) -> str:
        """Text of the head class."""
        return self.rule.head

    @property
    def surprise(self) -> tuple[float, float]:
        """Sort key of reports: lift, then the share of the body's cases (pairs of snapshot and
        individual) that have the head.
        """
        return self.lift, self.rule.binding_support / self.rule.binding_body

    def to_dict(self) -> dict[str, Any]:
        """JSON value of the rule."""
        rule = self.rule
        return {
            "body": [list(atom) for atom in tree_to_atoms(rule.body)],
            "head": [[rule.head, ROOT_VARIABLE]],
            "support": rule.support,
            "body_support": rule.body_support,
            "confidence": rule.support / rule.body_support,
            "binding_support": rule.binding_support,
            "binding_body": rule.binding_body,
            "lift": self.lift,
            "case_lift": self.case_lift,
            "refuted": self.refutations,
            "instances": [{"snapshot": index, **binding} for index, binding in self.instances],
        }


@dataclass(frozen=True)
class GroundRuleFinding:
    """Reported ground rule with its measures; its cases are snapshots.

    snapshots: the first snapshots in which it holds.
    window: number of snapshots in the window.
    """

    rule: GroundRule
    snapshots: Sequence[int]
    window: int

    # Old names, until 0.3.
    held = RenamedAttribute("snapshots")

    @property
    def head(self) -> str:
        """Text of the head class."""
        return self.rule.head[0]

    @property
    def surprise(self) -> tuple[float, float]:
        """Sort key of reports: lift, then the share of the body's snapshots that have the head."""
        n, d = self.rule.support, self.rule.body_support
        return n * self.window / (d * self.rule.head_support), n / d

    def to_dict(self) -> dict[str, Any]:
        """JSON value of the rule."""
        rule, n, d = self.rule, self.rule.support, self.rule.body_support
        return {
            "body": [list(atom) for atom in rule.body],
            "head": [list(rule.head)],
            **{
                "support": n,
                "body_support": d,
                "confidence": n / d,
                "binding_support": n,
                "binding_body": d,
            },
            "lift": self.surprise[0],
            "case_lift": self.surprise[0],
            "refuted": None,
            "instances": [{"snapshot": index} for index in self.snapshots],
        }


@dataclass(frozen=True)
class WindowReport:
    """Report of a window [first, last].

    changes: changes of entailments since the window before; ``basis``: what they count.
    by_count: number of assertions entailed in exactly that many snapshots.
    is_truncated: whether there are more rules than the limit.
    undecided_snapshots: snapshots left out since their entailments are undecided.
    omitted_count: number of rules that the options filter out.
    changed_assertions: new and obsolete assertions, if requested.
    """

    window: tuple[int, int]
    inconsistent: tuple[int, ...]
    missing: tuple[int, ...]
    changes: Changes | None
    basis: str
    by_count: Mapping[int, int]
    gate: Mapping[str, Any] | None
    tracked_counts: Sequence[tuple[int, int]]
    findings: Sequence[RuleFinding | GroundRuleFinding]
    entailed_by_tbox: int
    is_truncated: bool = False
    seconds: Mapping[str, float] = field(default_factory=dict)
    undecided_snapshots: tuple[int, ...] = ()
    omitted_count: int = 0
    changed_assertions: Mapping[str, Sequence[str]] | None = None

    # Old names, until 0.3.
    tracked = RenamedAttribute("tracked_counts")
    found = RenamedAttribute("findings")
    stopped = RenamedAttribute("is_truncated")
    undecided = RenamedAttribute("undecided_snapshots")
    untold = RenamedAttribute("omitted_count")
    changed = RenamedAttribute("changed_assertions")

    def to_dict(self) -> dict[str, Any]:
        """JSON value of the report."""
        changes = None if self.changes is None else {**self.changes._asdict(), "basis": self.basis}
        stopped = {"stopped": True} if self.is_truncated else {}
        untold = {"untold": self.omitted_count} if self.omitted_count else {}
        undecided = (
            {"undecided": list(self.undecided_snapshots)} if self.undecided_snapshots else {}
        )
        return {
            "window": list(self.window),
            "inconsistent": list(self.inconsistent),
            **undecided,
            "missing": list(self.missing),
            "changes": changes,
            **(
                {"changed": dict(self.changed_assertions)}
                if self.changed_assertions is not None
                else {}
            ),
            "similarity": fraction_to_float(self.changes.similarity)
            if self.changes is not None
            else None,
            "rarity": {
                "distinct": sum(self.by_count.values()),
                "by_count": {str(e): n for e, n in self.by_count.items()},
            },
            "gate": None if self.gate is None else dict(self.gate),
            "tracked": [
                {"support": n, "body_support": d, "confidence": n / d if d else None}
                for n, d in self.tracked_counts
            ],
            "seconds": {name: round(spent, 3) for name, spent in self.seconds.items()},
            "entailed_by_tbox": self.entailed_by_tbox,
            **stopped,
            **untold,
            "rules": [each.to_dict() for each in self.findings],
        }

    @property
    def rules(self) -> pa.Table:
        """Rules as an Arrow table with the columns of the JSON."""
        return make_rules_table([each.to_dict() for each in self.findings])


def fraction_to_float(share: Fraction | None) -> float | None:
    """Convert a fraction to a float for JSON; None stays None."""
    return None if share is None else float(share)


def make_rules_table(rules: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Convert JSON rules to an Arrow table."""
    import pyarrow as pa

    names = sorted(
        {name for rule in rules for instance in rule["instances"] for name in instance}
        - {"snapshot"}
    )
    texts, whole, real = pa.list_(pa.list_(pa.string())), pa.int64(), pa.float64()
    instance = pa.struct([("snapshot", whole), *((name, pa.string()) for name in names)])
    schema = pa.schema(
        [
            ("body", texts),
            ("head", texts),
            *((name, whole) for name in ("support", "body_support")),
            ("confidence", real),
            *((name, whole) for name in ("binding_support", "binding_body")),
            ("lift", real),
            ("case_lift", real),
            ("refuted", whole),
            ("instances", pa.list_(instance)),
        ]
    )
    return pa.Table.from_pylist([dict(rule) for rule in rules], schema=schema)
