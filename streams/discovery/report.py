"""What was found of a window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from shiq.streams.discovery.atomsets import ROOT, atoms_of
from shiq.streams.discovery.counting import MinedRule
from shiq.streams.discovery.ground import GroundRule
from shiq.streams.discovery.snapshots import Changes

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]


@dataclass(frozen=True)
class RuleFinding:
    """A rule, and what is told of it besides its counts: ``lift``, γ by the share of snapshots
    with its head; ``refutations``; the first of its instances, each with its snapshot; ``case_lift``:
    its share of cases by that of its head, None where an older version counted.
    """

    rule: MinedRule
    lift: float
    refutations: int | None
    instances: Sequence[tuple[int, Mapping[str, str]]]
    case_lift: float | None = None

    @property
    def head(self) -> str:
        """Its class."""
        return self.rule.head

    @property
    def surprise(self) -> tuple[float, float]:
        """Lift, then the share of its cases in which it held."""
        return self.lift, self.rule.binding_support / self.rule.binding_body

    def to_dict(self) -> dict[str, Any]:
        """As the JSON has it."""
        rule = self.rule
        return {
            "body": [list(atom) for atom in atoms_of(rule.body)],
            "head": [[rule.head, ROOT]],
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
    """A ground rule, the first snapshots that it holds in, and how many the window has; a
    binding is a snapshot.
    """

    rule: GroundRule
    snapshots: Sequence[int]
    window: int

    @property
    def head(self) -> str:
        """Its class."""
        return self.rule.head[0]

    @property
    def surprise(self) -> tuple[float, float]:
        """Lift, then the share of its cases in which it held."""
        n, d = self.rule.support, self.rule.body_support
        return n * self.window / (d * self.rule.head_support), n / d

    def to_dict(self) -> dict[str, Any]:
        """As the JSON has it."""
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
    """A window, [first, last]. ``changes`` against the window before, ``basis``: of what they
    are; ``by_count``: how many assertions are entailed in exactly so many snapshots;
    ``is_truncated``: there are more rules than the limit allows; ``undecided_snapshots``: snapshots that are
    left out since nothing decides what they entail; ``omitted_count``: how many rules were found besides,
    which are not asked for; ``changed_assertions``: the assertions that are new, and obsolete, if asked for.
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

    def to_dict(self) -> dict[str, Any]:
        """As the JSON has it."""
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
            "similarity": as_float(self.changes.similarity) if self.changes is not None else None,
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
        """The rules as an Arrow table, columns as in the JSON."""
        return rules_table([each.to_dict() for each in self.findings])


def as_float(share: Fraction | None) -> float | None:
    """As JSON takes it."""
    return None if share is None else float(share)


def rules_table(rules: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Rules as the JSON has them, as an Arrow table."""
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
