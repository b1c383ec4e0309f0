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
    with its head; ``refuted``; the first of its instances, each with its snapshot; ``case_lift``:
    its share of cases by that of its head, None where an older version counted.
    """

    rule: MinedRule
    lift: float
    refuted: int | None
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
            "refuted": self.refuted,
            "instances": [{"snapshot": index, **binding} for index, binding in self.instances],
        }


@dataclass(frozen=True)
class GroundFound:
    """A ground rule, the first snapshots that it holds in, and how many the window has; a
    binding is a snapshot.
    """

    rule: GroundRule
    held: Sequence[int]
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
            "instances": [{"snapshot": index} for index in self.held],
        }


@dataclass(frozen=True)
class WindowReport:
    """A window, [first, last]. ``changes`` against the window before, ``basis``: of what they
    are; ``by_count``: how many assertions are entailed in exactly so many snapshots;
    ``stopped``: there are more rules than the limit allows; ``undecided``: snapshots that are
    left out since nothing decides what they entail; ``untold``: how many rules were found besides,
    which are not asked for; ``changed``: the assertions that are new, and obsolete, if asked for.
    """

    window: tuple[int, int]
    inconsistent: tuple[int, ...]
    missing: tuple[int, ...]
    changes: Changes | None
    basis: str
    by_count: Mapping[int, int]
    gate: Mapping[str, Any] | None
    tracked: Sequence[tuple[int, int]]
    found: Sequence[RuleFinding | GroundFound]
    entailed_by_tbox: int
    stopped: bool = False
    seconds: Mapping[str, float] = field(default_factory=dict)
    undecided: tuple[int, ...] = ()
    untold: int = 0
    changed: Mapping[str, Sequence[str]] | None = None

    def to_dict(self) -> dict[str, Any]:
        """As the JSON has it."""
        changes = None if self.changes is None else {**self.changes._asdict(), "basis": self.basis}
        stopped = {"stopped": True} if self.stopped else {}
        untold = {"untold": self.untold} if self.untold else {}
        undecided = {"undecided": list(self.undecided)} if self.undecided else {}
        return {
            "window": list(self.window),
            "inconsistent": list(self.inconsistent),
            **undecided,
            "missing": list(self.missing),
            "changes": changes,
            **({"changed": dict(self.changed)} if self.changed is not None else {}),
            "similarity": number(self.changes.similarity) if self.changes is not None else None,
            "rarity": {
                "distinct": sum(self.by_count.values()),
                "by_count": {str(e): n for e, n in self.by_count.items()},
            },
            "gate": None if self.gate is None else dict(self.gate),
            "tracked": [
                {"support": n, "body_support": d, "confidence": n / d if d else None}
                for n, d in self.tracked
            ],
            "seconds": {name: round(spent, 3) for name, spent in self.seconds.items()},
            "entailed_by_tbox": self.entailed_by_tbox,
            **stopped,
            **untold,
            "rules": [each.to_dict() for each in self.found],
        }

    @property
    def rules(self) -> pa.Table:
        """The rules as an Arrow table, columns as in the JSON."""
        return rules_table([each.to_dict() for each in self.found])


def number(share: Fraction | None) -> float | None:
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
