"""How much a file may unpack to, and how large a document may be that is held as a whole:
settings, with defaults that real data stays far below.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from shiq.errors import UsageError

#: Below this nothing is too large, however well it was packed.
HARMLESS_BYTES = 64 << 20
_SIZE = re.compile(r"(\d+)\s*([kmgt]?)b?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class InputLimits:
    """``ratio``: unpacked bytes for each packed one, above `HARMLESS_BYTES` (RDF has 10 to 60);
    ``document``: bytes of an import, or of a file in a syntax that is read as a whole (RDF/XML,
    JSON-LD, functional syntax).
    """

    ratio: int = 250
    document: int = 4 << 30


def limits() -> InputLimits:
    """The limits as the environment sets them: SHIQ_MAX_RATIO, SHIQ_MAX_DOCUMENT (as 500m or
    8g). Raises: UsageError.
    """
    usual = InputLimits()
    return InputLimits(
        _number("SHIQ_MAX_RATIO", usual.ratio), _number("SHIQ_MAX_DOCUMENT", usual.document)
    )


def _number(name: str, usual: int) -> int:
    text = os.environ.get(name, "").strip()
    if not text:
        return usual
    match = _SIZE.fullmatch(text)
    if match is None or not int(match[1]):
        raise UsageError(
            f"{name} is {text!r}, which is no size",
            "Give a whole number, for bytes perhaps with k, m, g or t behind.",
        )
    return int(match[1]) << (" kmgt".index(match[2].lower() or " ") * 10)
