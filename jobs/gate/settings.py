"""Settings of a gate, for the command line and for the function `shiq.gate`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Final

from shiq.errors import UsageError
from shiq.jobs.gate.batch import UNITS
from shiq.jobs.gate.culprits import ALL, LEAST
from shiq.jobs.gate.waivers import QuarantineLimit, parse_limit
from shiq.jobs.option_fields import declared_option, option

MODES: Final = ("reject", "split")
ASIDE_CHOICES: Final = (ALL, LEAST)
#: What to do about individuals that the batch makes equal: say so with -v alone, say so, or set
#: aside what makes them equal.
IDENTITIES: Final = ("allow", "warn", "block")


@dataclass(frozen=True)
class GateOptions:
    """Options of a gate: how to treat the lines of a batch that contradict the base.

    mode: "reject" or "split". Split sets aside lines that were not understood or not decided, and
        lines of conflicts.
    unit: what is set aside together with a line (`UNITS`).
    aside: `ALL` lines of a conflict, or as few as possible (`LEAST`).
    max_quarantine: refuse the batch if more than this would be set aside (`parse_limit`).
    commit: write the accepted part to the store and tolerated lines to its ledger.
    dry_run: neither commit nor deliver.
    """

    mode: str = option(
        "reject",
        "Treatment of a batch that contradicts: reject all of it, or set the culprits aside and accept the rest.",
        choices=MODES,
    )
    unit: str = option(
        "triple",
        "Unit that is set aside with a culprit: it alone, its row of a table, all insertions with its subject, all of its named "
        "graph, or its file.  [default: triple; row where the sides are tables]",
        choices=UNITS,
    )
    aside: str = option(
        ALL,
        "Lines to set aside for conflicts: all insertions of each, or a smallest set of lines that breaks every one (least).",
        choices=ASIDE_CHOICES,
    )
    max_quarantine: QuarantineLimit | int | str | None = option(
        None,
        "With --mode split: refuse the batch where more than N, or P per cent, of its assertions would be set aside.",
        metavar="N|P%",
    )
    identities: str = option(
        "warn",
        "Treatment of a batch that makes individuals equal: report them with -v only, warn, or set aside the lines that do it.",
        choices=IDENTITIES,
    )
    dry_run: bool = option(
        False,
        "Print what would happen: no file is written and the store stays as it is, even with --commit.",
    )
    commit: bool = option(False, "Take what is accepted into the store, in one step.")

    @classmethod
    def pop_from(cls, settings: dict[str, Any]) -> GateOptions:
        """Remove the gate's settings from the keyword arguments ``settings`` of a call and return
        them. Raises: UsageError.
        """
        names = (each.name for each in fields(cls))
        return cls(**{name: settings.pop(name) for name in names if name in settings})

    def __post_init__(self) -> None:
        for name in ("mode", "unit", "aside", "identities"):
            value, known = getattr(self, name), declared_option(GateOptions, name).choices
            if value not in known:
                raise UsageError(f"unknown {name} {value!r}", f"Known: {', '.join(known)}.")
        if self.max_quarantine is not None and self.mode != "split":
            raise UsageError(
                "--max-quarantine bounds what --mode split sets aside",
                "Ask for --mode split, or leave --max-quarantine out.",
            )

    @property
    def limit(self) -> QuarantineLimit | None:
        """Upper bound of the number of assertions that may be set aside; None if there is no bound.
        Raises: UsageError.
        """
        value = self.max_quarantine
        return value if isinstance(value, QuarantineLimit | None) else parse_limit(value)
