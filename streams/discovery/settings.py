"""Settings of a miner: the options of `shiq.streams.discovery.RuleMiner`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from difflib import get_close_matches
from fractions import Fraction
from functools import lru_cache
from os.path import realpath
from typing import Any

from shiq.deprecation import RenamedAttribute
from shiq.errors import UsageError
from shiq.jobs.option_fields import Takes, option
from shiq.streams.discovery.atomsets import Atom
from shiq.streams.discovery.counting import MiningLimits

METHODS = ("exact", "inkd", "scratch")
LANGUAGES = ("variables", "ground")
GATES = ("printed", "prose", "off")


@dataclass(frozen=True)
class TrackedRule:
    """Rule of the option --rules, which is counted whether or not it holds; body and head are any
    sets of atoms.
    """

    body: tuple[Atom, ...]
    head: tuple[Atom, ...]


@dataclass(frozen=True)
class GateSettings:
    """Settings of method inkd: at which slides it searches for new rules, and which assertions
    count as rare.

    eps: the set E of algorithm A2; empty for 1 to the window's size.
    """

    gate: str = option(
        "printed", "For inkd: the slides at which it searches for rules; off: all.", choices=GATES
    )
    min_rarity: float = option(0.0, "Bound of the gate.", takes=Takes.FRACTION)
    max_similarity: float = option(0.6, "Bound of the gate.", takes=Takes.FRACTION)
    eps: frozenset[int] = frozenset()

    # Old names, until 0.3.
    shares = RenamedAttribute("thresholds")

    @property
    def thresholds(self) -> tuple[Fraction, Fraction]:
        """Thresholds of the gate as fractions: maximal similarity Φmin and minimal rarity ϱmin."""
        return Fraction(str(self.max_similarity)), Fraction(str(self.min_rarity))

    def occurrences(self, window: int) -> range | frozenset[int]:
        """Set E of algorithm A2: the numbers of snapshots of a window in which a rare assertion may
        hold.
        """
        return self.eps or range(1, window + 1)


@dataclass(frozen=True)
class ReportSettings:
    """Settings for the content of a report."""

    min_lift: float = option(0.0, "Report rules with at least this lift.", takes=Takes.AMOUNT)
    head: tuple[str, ...] = option(
        (),
        "Report rules with this class in the head; repeatable.",
        is_repeatable=True,
        metavar="CLASS",
    )
    min_share: float = option(
        0.95,
        "For --export: least share of its cases in which a rule held.",
        flags=("--min-share", "--export-share"),
        takes=Takes.FRACTION,
    )
    instances: int = option(5, "Instances shown of a rule.", minimum=0)
    refute: bool = option(False, "Count the snapshots that contradict a rule.")
    list_changes: bool = option(
        False,
        "Report the assertions that are new since the previous window, and the obsolete ones.",
    )


@dataclass(frozen=True)
class MinerSettings:
    """All settings of a miner (`shiq stream discover --help`).

    body_sources, head_sources: streams from which bodies and heads of rules come; empty for all.
    """

    window: int
    slide: int = option(
        1, "Snapshots from the beginning of a window to that of the next.", minimum=1
    )
    method: str = option("exact", "", choices=METHODS)
    min_support: float = option(
        0.4, "Least share of the window's snapshots in which a rule holds.", takes=Takes.FRACTION
    )
    min_confidence: float = option(
        0.8, "Rules have more than this confidence.", takes=Takes.FRACTION
    )
    max_atoms: int = option(3, "Most in a body.", minimum=1)
    max_variables: int = option(3, "Most in a body.", minimum=1)
    language: str = option("variables", "", choices=LANGUAGES)
    max_rules: int = option(100_000, "", minimum=1)
    rules: tuple[TrackedRule, ...] = field(default=())
    body_sources: tuple[str, ...] = option(
        (),
        "Mine rules from this stream, a --source, to those of --to: its body holds by this stream alone; repeatable.",
        flags=("--from",),
        is_repeatable=True,
        metavar="SOURCE",
    )
    head_sources: tuple[str, ...] = option(
        (),
        "Mine rules to this stream, a --source: its head holds by this stream alone; repeatable.",
        flags=("--to",),
        is_repeatable=True,
        metavar="SOURCE",
    )
    gating: GateSettings = field(default_factory=GateSettings)
    report: ReportSettings = field(default_factory=ReportSettings)

    # Old names, until 0.3.
    of = RenamedAttribute("from_options")

    @classmethod
    def from_options(cls, window: int, **options: Any) -> MinerSettings:
        """Make settings from flat keyword ``options``. Raises: TypeError for an unknown one."""
        groups = {
            name: group(**{f.name: options.pop(f.name) for f in fields(group) if f.name in options})
            for name, group in _GROUPS.items()
        }
        return cls(window, **groups, **options)

    def __post_init__(self) -> None:
        given = self.to_dict()
        for name in ("window", "slide", "max_atoms", "max_variables", "max_rules"):
            if given[name] < 1:
                raise UsageError(f"{name} is {given[name]}", "It is at least 1.")
        for name in (
            "min_support",
            "min_confidence",
            "min_rarity",
            "max_similarity",
            "min_share",
        ):
            if not 0 <= given[name] <= 1:
                raise UsageError(f"{name} is {given[name]}", "It is a share, from 0 to 1.")
        if not self.report.min_lift >= 0:
            raise UsageError(f"min_lift is {self.report.min_lift}", "It is 0 or more.")
        if self.slide > self.window:
            raise UsageError(
                f"a slide of {self.slide} over windows of {self.window} leaves snapshots out",
                "Make it smaller.",
            )
        for name, known in (("method", METHODS), ("language", LANGUAGES), ("gate", GATES)):
            if given[name] not in known:
                raise UsageError(
                    f"{name} {given[name]!r} is not known", f"Known: {', '.join(known)}."
                )
        if self.method == "inkd" and self.language == "ground":
            raise UsageError(
                "inkd works in the language of variables", "Choose --method exact for ground rules."
            )
        if self.needs_origins and (self.method == "inkd" or self.language == "ground"):
            raise UsageError(
                "rules from one stream to another are mined by exact or scratch, over variables",
                "Leave out --from and --to, or --method inkd and --language ground.",
            )

    @property
    def needs_origins(self) -> bool:
        """Whether rules depend on the stream that an assertion came from (options --from and --to)."""
        return bool(self.body_sources or self.head_sources)

    @property
    def limits(self) -> MiningLimits:
        """Thresholds of mining as exact fractions."""
        return MiningLimits(
            Fraction(str(self.min_support)),
            Fraction(str(self.min_confidence)),
            self.max_atoms,
            self.max_variables,
            self.max_rules,
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON value of the settings."""
        found = {name: getattr(self, name) for name in (f.name for f in fields(self))}
        for name in _GROUPS:
            found |= asdict(found.pop(name))
        return {**found, "eps": sorted(found["eps"]), "rules": len(self.rules)}


_GROUPS: dict[str, type] = {"gating": GateSettings, "report": ReportSettings}


@lru_cache(1024)
def source_path(name: str) -> str:
    """Absolute path of a source, links followed; names of sources are compared by it."""
    return realpath(name)


def refuse_unknown_sources(settings: MinerSettings, sources: Sequence[str]) -> None:
    """Raise UsageError if a stream of ``--from`` or ``--to`` is not a source."""
    named = (("--from", settings.body_sources), ("--to", settings.head_sources))
    for flag, name in ((flag, name) for flag, names in named for name in names):
        if source_path(name) not in map(source_path, sources):
            near = get_close_matches(name, sources, 1, 0)
            raise UsageError(
                f"{flag} {name} is no source of this run",
                f"Did you mean {near[0]}?" if near else "Name it by --source, too.",
            )


def parse_eps(text: str) -> frozenset[int]:
    """Parse the set E of --eps, such as ``1,2,4-9``. Raises: UsageError.

    >>> sorted(parse_eps("1,2,4-6"))
    [1, 2, 4, 5, 6]
    """
    found: set[int] = set()
    try:
        for part in text.split(","):
            low, _, high = part.partition("-")
            found.update(range(int(low), int(high or low) + 1))
    except ValueError:
        raise UsageError(f"{text!r} is no list of numbers", "Write it as 1,2,4-9.") from None
    if not found or min(found) < 1:
        raise UsageError(f"{text!r} has no numbers from 1 on", "Write it as 1,2,4-9.")
    return frozenset(found)


def resolve_heads(given: Sequence[str], classes: Mapping[str, str]) -> tuple[str, ...]:
    """Resolve the classes of ``--head`` in the vocabulary. Raises: UsageError with similar names.

    classes: see `parse_tracked_rules`.
    """

    def last_part(text: str) -> str:
        """Last part of an IRI or expression."""
        return re.split("[#/:]", text)[-1].rstrip(">)")

    for name in given:
        if name not in classes:
            ends = {last_part(known): text for known, text in sorted(classes.items())}
            near = [ends[end] for end in get_close_matches(last_part(name), ends, 3, 0.5)]
            raise UsageError(
                f"{name} is no class of the vocabulary",
                f"Did you mean {' or '.join(near)}?" if near else "Say a class that rules end in.",
            )
    return tuple(classes[name] for name in given)


def parse_tracked_rules(
    given: Any, classes: Mapping[str, str], roles: Sequence[str]
) -> tuple[TrackedRule, ...]:
    """Parse the JSON of ``--rules``: a list of ``{"body", "head"}``, each a list of atoms.

    classes: vocabulary by accepted spelling.
    Raises: UsageError for an unknown class or role, with the nearest name.
    """

    def parse_atoms(rule: Any, name: str) -> tuple[Atom, ...]:
        """Parse the body or head of a rule."""
        listed = rule.get(name) if isinstance(rule, dict) else None
        if not isinstance(listed, list) or not listed:
            raise UsageError(
                f'a rule has a list "{name}" of atoms',
                'Write {"body": [["<class>", "?x0"]], "head": […]}.',
            )
        return tuple(parse_atom(found) for found in listed)

    def parse_atom(found: Any) -> Atom:
        """Parse an atom and resolve its class or role."""
        if not (
            isinstance(found, list)
            and len(found) in (2, 3)
            and all(isinstance(text, str) and text for text in found)
        ):
            raise UsageError(
                f"{found!r} is no atom", 'Write ["<class>", "?x0"] or ["<role>", "?x0", "?x1"].'
            )
        known = classes if len(found) == 2 else {role: role for role in roles}
        if found[0] not in known:
            near = get_close_matches(found[0], known, 1, 0)
            hint = f"Did you mean {near[0]}?" if near else "There is none."
            raise UsageError(
                f"{found[0]} is no {'class of the vocabulary' if len(found) == 2 else 'role of the TBox'}",
                hint,
            )
        for text in found[1:]:
            if not text.startswith(("?", "<", "_:")):
                raise UsageError(
                    f"{text!r} is no term", "Write ?x0 for a variable, <IRI> for an individual."
                )
        return (known[found[0]], *found[1:])

    if not isinstance(given, list):
        raise UsageError("rules are a JSON list", 'Write [{"body": […], "head": […]}].')
    return tuple(
        TrackedRule(parse_atoms(rule, "body"), parse_atoms(rule, "head")) for rule in given
    )
