"""Policy of a gate (``--policy``): the severity of conflicts (fail, warn, info), and waivers that
tolerate some.

>>> parse_policy({"severity": {"cax-dw": "warn"}}, date(2030, 1, 1)).judge([], "cax-dw-1234abcd", "cax-dw").effect
'warn'

How much of a batch may go to the quarantine before the batch is refused as a whole
(``--max-quarantine``).

>>> parse_limit("2%").allows(2, of=100), parse_limit("2%").allows(2, of=99), parse_limit(3).allows(3, of=3)
(True, False, True)
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from shiq.errors import UsageError
from shiq.jobs.gate.lines import Triple, read_triple
from shiq.jobs.leftover_waivers import parse_day, read_tables, refuse_unknown

#: What a conflict does: it stands in the way; it is told; it is told in the JSON file and with -v
#: alone; somebody answers for it.
FAIL, WARN, INFO, WAIVED, KNOWN = "fail", "warn", "info", "waived", "known"
SEVERITIES: Final = (FAIL, WARN, INFO)
_SUBJECT_KEYS: Final = ("pattern", "rule", "triples")
_WAIVER_KEYS: Final = (*_SUBJECT_KEYS, "owner", "reason", "expires")
_POLICY_KEYS: Final = ("severity", "waiver")


@dataclass(frozen=True, slots=True)
class Waiver:
    """Waiver of conflicts up to and including the day ``expires``, with an ``owner`` and a
    ``reason``.

    Covers the conflicts of one ``pattern`` or one ``rule``, or those whose insertions are all among
    ``triples``.
    """

    owner: str
    reason: str
    expires: date
    pattern: str = ""
    rule: str = ""
    triples: frozenset[Triple] = frozenset()

    def covers(self, insertions: Collection[Triple], pattern: str, rule: str) -> bool:
        """Decide whether the waiver is about this conflict, expired or not."""
        if self.triples:
            return bool(insertions) and self.triples.issuperset(insertions)
        return self.pattern == pattern if self.pattern else bool(rule) and self.rule == rule


@dataclass(frozen=True, slots=True)
class Judgement:
    """Judgement of a policy on a conflict: fail (it blocks the batch), warn, info, waived or known,
    and the waiver that applies.

    effect: `FAIL`, `WARN`, `INFO`, `WAIVED` or `KNOWN`.
    waiver: the waiver in force.
    expired: a waiver that would apply but has ended.
    """

    effect: str = FAIL
    waiver: Waiver | None = None
    expired_waiver: Waiver | None = None

    @property
    def blocks(self) -> bool:
        """Whether the conflict blocks the batch."""
        return self.effect == FAIL

    def to_dict(self) -> dict[str, Any]:
        """Convert to the JSON object in a gate's answer."""
        named = self.waiver or self.expired_waiver
        about = (
            {"owner": named.owner, "reason": named.reason, "expires": named.expires.isoformat()}
            if named
            else {}
        )
        return {
            "effect": self.effect,
            **about,
            **({"expired": True} if self.expired_waiver else {}),
        }

    def __str__(self) -> str:
        if self.waiver:
            return (
                f"waived by {self.waiver.owner} until {self.waiver.expires}: {self.waiver.reason}"
            )
        if self.expired_waiver:
            return (
                f"the waiver of {self.expired_waiver.owner} ended on {self.expired_waiver.expires}"
            )
        return {WARN: "warning", KNOWN: "known: set aside in the store before"}.get(
            self.effect, self.effect
        )


@dataclass(frozen=True)
class Policy:
    """Policy from the file ``--policy``: severity of conflicts by pattern or rule (fail, warn,
    info), and waivers.

    severity: by pattern id or rule id; `FAIL` if absent.
    digest: hash of the content, with the day if there are waivers.
    """

    severity: Mapping[str, str] = field(default_factory=dict)
    waivers: tuple[Waiver, ...] = ()
    today: date = date.min
    digest: str = ""

    def judge(self, insertions: Collection[Triple], pattern: str, rule: str) -> Judgement:
        """Judge a conflict. The severity of its pattern precedes that of its rule, and waivers
        matter only if it is `FAIL`.
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
    """Read a policy from a TOML or JSON file, as of ``today``.

    Raises: InputError if the file cannot be read; UsageError for unknown keys or values.
    """
    found, digest = read_tables(file, "docs/GATE.md")
    return parse_policy(found, today, str(file), digest)


def parse_policy(
    found: Mapping[str, Any], today: date, source: str = "policy", digest: str = ""
) -> Policy:
    """Parse a policy from its keys and values. Raises: UsageError for unknown ones, with the
    nearest known one.
    """
    refuse_unknown(source, found, _POLICY_KEYS)
    severity = found.get("severity", {})
    waivers = found.get("waiver", [])
    if not isinstance(severity, dict) or not isinstance(waivers, list):
        raise UsageError(
            f"{source}: severity is a table, waiver is a list of tables",
            "Write [severity] and [[waiver]].",
        )
    for name, value in severity.items():
        refuse_unknown(f"{source}: severity of {name}", [value], SEVERITIES)
    made = tuple(
        _parse_waiver(f"{source}: waiver {i}", waiver) for i, waiver in enumerate(waivers, 1)
    )
    return Policy(dict(severity), made, today, f"{digest} {today}" if waivers else digest)


def _parse_waiver(place: str, found: object) -> Waiver:
    """Parse one waiver of the policy's file. ``place``: the file and entry, for messages. Raises:
    UsageError.
    """
    if not isinstance(found, dict):
        raise UsageError(f"{place}: not a table", "Write [[waiver]], and its keys below.")
    refuse_unknown(place, found, _WAIVER_KEYS)
    lacking = [name for name in ("owner", "reason", "expires") if not found.get(name)]
    if lacking:
        raise UsageError(
            f"{place}: lacks {', '.join(lacking)}",
            "A waiver names who answers for it, why, and until when.",
        )
    named = [name for name in _SUBJECT_KEYS if found.get(name)]
    if len(named) != 1:
        raise UsageError(
            f"{place}: names {' and '.join(named) or 'nothing'}",
            f"Name one of {', '.join(_SUBJECT_KEYS)}.",
        )
    texts = {name: found[name] for name in ("owner", "reason", *named) if name != "triples"}
    if not all(isinstance(text, str) for text in texts.values()):
        raise UsageError(
            f"{place}: owner, reason, pattern and rule are texts", 'Write them as "…".'
        )
    return Waiver(
        **texts,
        expires=parse_day(place, found["expires"]),
        triples=_parse_triples(place, found.get("triples", [])),
    )


def _parse_triples(place: str, found: object) -> frozenset[Triple]:
    """Parse the triples that a waiver is for. ``place``: the file and entry, for messages. Raises:
    UsageError.
    """
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


_LIMIT: Final = re.compile(r"(\d+)|(\d+(?:\.\d+)?)%")


@dataclass(frozen=True, slots=True)
class QuarantineLimit:
    """Upper bound of the quarantine: ``maximum`` assertions, or ``maximum`` per cent of the batch
    if ``is_share``.
    """

    maximum: Decimal
    is_share: bool = False

    def allows(self, quarantined: int, *, of: int) -> bool:
        """Whether ``quarantined`` of the ``of`` assertions of a batch are within the limit."""
        return (
            quarantined * 100 <= self.maximum * of if self.is_share else quarantined <= self.maximum
        )

    def __str__(self) -> str:
        return f"{self.maximum}{'%' if self.is_share else ''}"


def parse_limit(value: int | str) -> QuarantineLimit:
    """Read a limit: a number of assertions, or a share of them such as ``2%``. Raises: UsageError."""
    found = _LIMIT.fullmatch(str(value).strip())
    if found is None or Decimal(found[2] or 0) > 100:
        raise UsageError(
            f"{value!r} is no limit for the quarantine",
            "Say how many assertions, as 100, or which share of them, as 2%.",
        )
    return QuarantineLimit(Decimal(found[1] or found[2]), is_share=found[1] is None)
