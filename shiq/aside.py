"""What belongs to a base and is not seen by its checks: assertions that were set aside because
they contradict the rest.

A contradiction that is let in makes everything follow, so that no later check would say
anything. What is known, or waived, to contradict is therefore kept beside the base, by name, and
never certified with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

from shiq.errors import at_store
from shiq.verdict import Leftover

#: Why an assertion was set aside: as part of a conflict that the base had by itself, by a waiver,
#: by its severity; or since its value has to be of a datatype that nothing defines, so that nobody
#: can say whether it is.
KNOWN, WAIVED, WARNED, UNDECIDED = "known", "waived", "warned", "undecided"


@dataclass(frozen=True, slots=True)
class Aside:
    """An assertion that was set aside: ``triples``, its N-Triples lines.

    ``why``: `KNOWN`, `WAIVED`, `WARNED` or `UNDECIDED`; ``pattern``, ``rule``: of the conflict,
    "" where it has none; ``owner``, ``reason``, ``expires`` (ISO 8601): of the waiver;
    ``alone``: for the TBox with this hash, the assertion contradicts the axioms alone.
    """

    triples: tuple[str, ...]
    why: str = KNOWN
    pattern: str = ""
    rule: str = ""
    owner: str = ""
    reason: str = ""
    expires: str = ""
    alone: str = ""

    def is_expired(self, today: date) -> bool:
        return bool(self.expires) and date.fromisoformat(self.expires) < today

    def to_dict(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value}

    @staticmethod
    def from_dict(value: Mapping[str, Any]) -> Aside:
        return Aside(**{**value, "triples": tuple(value["triples"])})


def told_aside(asides: Iterable[Aside], store: object) -> tuple[Leftover, ...]:
    """What a check has to tell of them: for information, since its verdict is about the rest."""
    count = sum(1 for _ in asides)
    if not count:
        return ()
    return (
        Leftover(
            "set-aside",
            "the verdict is about the base without assertions that are known, or waived, to contradict it",
            hint=at_store(
                "`shiq status --store DIR` counts them, `shiq export --store DIR --set-aside` prints them",
                store,
            ),
            count=count,
        ),
    )
