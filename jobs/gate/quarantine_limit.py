"""How much of a batch may go to the quarantine before the batch is refused as a whole
(``--max-quarantine``).

>>> parse_limit("2%").allows(2, of=100), parse_limit("2%").allows(2, of=99), parse_limit(3).allows(3, of=3)
(True, False, True)
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from shiq.errors import UsageError

_LIMIT: Final = re.compile(r"(\d+)|(\d+(?:\.\d+)?)%")


@dataclass(frozen=True, slots=True)
class QuarantineLimit:
    """The largest quarantine that a batch may have: ``most`` assertions, or ``most`` per cent of
    its assertions.
    """

    most: Decimal
    is_share: bool = False

    def allows(self, quarantined: int, *, of: int) -> bool:
        """Whether ``quarantined`` assertions of a batch ``of`` so many are within the limit."""
        return quarantined * 100 <= self.most * of if self.is_share else quarantined <= self.most

    def __str__(self) -> str:
        return f"{self.most}{'%' if self.is_share else ''}"


def parse_limit(value: int | str) -> QuarantineLimit:
    """Read a limit: a number of assertions, or a share of them such as ``2%``. Raises: UsageError."""
    found = _LIMIT.fullmatch(str(value).strip())
    if found is None or Decimal(found[2] or 0) > 100:
        raise UsageError(
            f"{value!r} is no limit for the quarantine",
            "Say how many assertions, as 100, or which share of them, as 2%.",
        )
    return QuarantineLimit(Decimal(found[1] or found[2]), is_share=found[1] is None)
