"""What is mined, and how: the options of `streams.discovery.RuleMiner`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

from shiq.errors import UsageError
from streams.discovery.atomsets import Atom
from streams.discovery.counting import MiningLimits

METHODS = ("exact", "inkd", "scratch")
LANGUAGES = ("variables", "ground")
GATES = ("printed", "prose", "off")


@dataclass(frozen=True)
class TrackedRule:
    """A rule that is counted whatever its counts are: any two atomsets."""

    body: tuple[Atom, ...]
    head: tuple[Atom, ...]


@dataclass(frozen=True)
class MinerSettings:
    """See `shiq stream discover --help`. ``eps``: E of A2, empty for 1 to |w|."""

    window: int
    slide: int = 1
    method: str = "exact"
    min_support: float = 0.4
    min_confidence: float = 0.8
    max_atoms: int = 3
    max_variables: int = 3
    language: str = "variables"
    instances: int = 5
    refute: bool = False
    eps: frozenset[int] = frozenset()
    gate: str = "printed"
    min_rarity: float = 0.0
    max_similarity: float = 0.6
    max_rules: int = 100_000
    rules: tuple[TrackedRule, ...] = field(default=())

    def __post_init__(self) -> None:
        for name in ("window", "slide", "max_atoms", "max_variables", "max_rules"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is {getattr(self, name)}", "It is at least 1.")
        for name in ("min_support", "min_confidence", "min_rarity", "max_similarity"):
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"{name} is {getattr(self, name)}", "It is a share, from 0 to 1.")
        if self.slide > self.window:
            raise UsageError(
                f"a slide of {self.slide} over windows of {self.window} leaves snapshots out",
                "Make it smaller.",
            )
        for name, known in (("method", METHODS), ("language", LANGUAGES), ("gate", GATES)):
            if getattr(self, name) not in known:
                raise UsageError(
                    f"{name} {getattr(self, name)!r} is not known", f"Known: {', '.join(known)}."
                )
        if self.method == "inkd" and self.language == "ground":
            raise UsageError(
                "inkd works in the language of variables", "Choose --method exact for ground rules."
            )

    @property
    def limits(self) -> MiningLimits:
        """Of mining; decimals are taken as written."""
        return MiningLimits(
            Fraction(str(self.min_support)),
            Fraction(str(self.min_confidence)),
            self.max_atoms,
            self.max_variables,
            self.max_rules,
        )

    @property
    def gate_shares(self) -> tuple[Fraction, Fraction]:
        """Φmin and ϱmin."""
        return Fraction(str(self.max_similarity)), Fraction(str(self.min_rarity))

    @property
    def occurrences(self) -> range | frozenset[int]:
        """E of A2."""
        return self.eps or range(1, self.window + 1)

    def to_dict(self) -> dict[str, Any]:
        """As the JSON has it."""
        return {**asdict(self), "eps": sorted(self.eps), "rules": len(self.rules)}


def eps_of(text: str) -> frozenset[int]:
    """``1,2,4-9`` as numbers. Raises: UsageError.

    >>> sorted(eps_of("1,2,4-6"))
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


def tracked_of(
    given: Any, classes: Mapping[str, str], roles: Sequence[str]
) -> tuple[TrackedRule, ...]:
    """``--rules``: a list of ``{"body", "head"}``, each a list of atoms. ``classes``: V by how
    it may be written. Raises: UsageError for a class or role that is not known, with the nearest
    one.
    """
    from difflib import get_close_matches

    def atoms(rule: Any, name: str) -> tuple[Atom, ...]:
        listed = rule.get(name) if isinstance(rule, dict) else None
        if not isinstance(listed, list) or not listed:
            raise UsageError(
                f'a rule has a list "{name}" of atoms',
                'Write {"body": [["<class>", "?x0"]], "head": […]}.',
            )
        return tuple(atom(found) for found in listed)

    def atom(found: Any) -> Atom:
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
    return tuple(TrackedRule(atoms(rule, "body"), atoms(rule, "head")) for rule in given)
