"""Which conflicts stand in the way: severities and waivers, as a file says (``--policy``).

A policy never makes a contradiction true or harmless. It says which conflicts do not hold a
batch up: their insertions are set aside as *tolerated*, beside what is accepted. A store that
held one of them would be inconsistent, and everything would follow.

>>> policy_of({"severity": {"cax-dw": "warn"}}, date(2030, 1, 1)).judge([], "cax-dw-1234abcd", "cax-dw").effect
'warn'
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Final

from jobs.gate.lines import Triple, read_triple
from jobs.tables import day_of, only, read_tables
from shiq.errors import UsageError

#: What a conflict does: it stands in the way; it is told; it is told in the JSON file and with -v
#: alone; somebody answers for it.
FAIL, WARN, INFO, WAIVED, KNOWN = "fail", "warn", "info", "waived", "known"
SEVERITIES: Final = (FAIL, WARN, INFO)
_WHAT: Final = ("pattern", "rule", "triples")
_OF_WAIVER: Final = (*_WHAT, "owner", "reason", "expires")
_OF_POLICY: Final = ("severity", "waiver")


@dataclass(frozen=True, slots=True)
class Waiver:
    """Waiver: ``owner`` answers for some conflicts up to and including the day ``expires``, for
    a ``reason``: those of a ``pattern``, those of a ``rule``, or those whose insertions are all
    among ``triples``.
    """

    owner: str
    reason: str
    expires: date
    pattern: str = ""
    rule: str = ""
    triples: frozenset[Triple] = frozenset()

    def covers(self, insertions: Collection[Triple], pattern: str, rule: str) -> bool:
        if self.triples:
            return bool(insertions) and self.triples.issuperset(insertions)
        return self.pattern == pattern if self.pattern else bool(rule) and self.rule == rule


@dataclass(frozen=True, slots=True)
class Judgement:
    """Judgement of a conflict: what it does (``effect``), and the waiver that says so;
    ``expired``: one that would have, had it not ended.
    """

    effect: str = FAIL
    waiver: Waiver | None = None
    expired: Waiver | None = None

    @property
    def blocks(self) -> bool:
        return self.effect == FAIL

    def to_dict(self) -> dict[str, Any]:
        named = self.waiver or self.expired
        about = (
            {"owner": named.owner, "reason": named.reason, "expires": named.expires.isoformat()}
            if named
            else {}
        )
        return {"effect": self.effect, **about, **({"expired": True} if self.expired else {})}

    def __str__(self) -> str:
        if self.waiver:
            return (
                f"waived by {self.waiver.owner} until {self.waiver.expires}: {self.waiver.reason}"
            )
        if self.expired:
            return f"the waiver of {self.expired.owner} ended on {self.expired.expires}"
        return {WARN: "warning", KNOWN: "known: set aside in the store before"}.get(
            self.effect, self.effect
        )


@dataclass(frozen=True)
class Policy:
    """Policy of a gate: ``severity`` by pattern or rule id, where it is not `FAIL`; ``digest``:
    names the policy by its content and day.
    """

    severity: Mapping[str, str] = field(default_factory=dict)
    waivers: tuple[Waiver, ...] = ()
    today: date = date.min
    digest: str = ""

    def judge(self, insertions: Collection[Triple], pattern: str, rule: str) -> Judgement:
        """What a conflict does that has these ``insertions``, a pattern and a rule. A severity
        of the pattern counts before one of its rule; a waiver, only for what would stand in the
        way.
        """
        effect = self.severity.get(pattern) or self.severity.get(rule) or FAIL
        if effect != FAIL:
            return Judgement(effect)
        fitting = [waiver for waiver in self.waivers if waiver.covers(insertions, pattern, rule)]
        lasting = max(
            (w for w in fitting if w.expires >= self.today),
            key=lambda w: (w.expires, w.owner, w.reason),
            default=None,
        )
        if lasting:
            return Judgement(WAIVED, lasting)
        return Judgement(
            FAIL, None, max(fitting, key=lambda w: (w.expires, w.owner, w.reason), default=None)
        )


def read_policy(file: Path, today: date) -> Policy:
    """The policy in a TOML or JSON file, as of ``today``. Raises: InputError where the file
    cannot be read, UsageError where it says something that is not known.
    """
    found, digest = read_tables(file, "docs/GATE.md")
    return policy_of(found, today, str(file), digest)


def policy_of(
    found: Mapping[str, Any], today: date, source: str = "policy", digest: str = ""
) -> Policy:
    """The policy that ``found`` says. Raises: UsageError for unknown keys and values, with the
    nearest known one.
    """
    only(source, found, _OF_POLICY)
    severity = found.get("severity", {})
    waivers = found.get("waiver", [])
    if not isinstance(severity, dict) or not isinstance(waivers, list):
        raise UsageError(
            f"{source}: severity is a table, waiver is a list of tables",
            "Write [severity] and [[waiver]].",
        )
    for name, value in severity.items():
        only(f"{source}: severity of {name}", [value], SEVERITIES)
    made = tuple(_waiver(f"{source}: waiver {i}", waiver) for i, waiver in enumerate(waivers, 1))
    return Policy(dict(severity), made, today, f"{digest} {today}" if waivers else digest)


def _waiver(place: str, found: object) -> Waiver:
    if not isinstance(found, dict):
        raise UsageError(f"{place}: not a table", "Write [[waiver]], and its keys below.")
    only(place, found, _OF_WAIVER)
    lacking = [name for name in ("owner", "reason", "expires") if not found.get(name)]
    if lacking:
        raise UsageError(
            f"{place}: lacks {', '.join(lacking)}",
            "A waiver names who answers for it, why, and until when.",
        )
    named = [name for name in _WHAT if found.get(name)]
    if len(named) != 1:
        raise UsageError(
            f"{place}: names {' and '.join(named) or 'nothing'}", f"Name one of {', '.join(_WHAT)}."
        )
    texts = {name: found[name] for name in ("owner", "reason", *named) if name != "triples"}
    if not all(isinstance(text, str) for text in texts.values()):
        raise UsageError(
            f"{place}: owner, reason, pattern and rule are texts", 'Write them as "…".'
        )
    return Waiver(
        **texts,
        expires=day_of(place, found["expires"]),
        triples=_triples(place, found.get("triples", [])),
    )


def _triples(place: str, found: object) -> frozenset[Triple]:
    texts = found.splitlines() if isinstance(found, str) else found
    if not isinstance(texts, list):
        raise UsageError(
            f"{place}: triples is a list of N-Triples lines",
            "Write each as it stands in the batch.",
        )
    triples = set()
    for text in texts:
        try:
            triple = read_triple(str(text).encode())
        except (SyntaxError, ValueError) as error:
            raise UsageError(
                f"{place}: not a triple: {text} ({error})", "Write it as it stands in the batch."
            ) from None
        triples |= {triple} if triple else set()
    return frozenset(triples)
