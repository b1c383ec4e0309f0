"""Size limits of inputs, set by environment variables."""

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
    """Size limits of inputs, far above those of real data.

    ratio: unpacked bytes per packed byte, above `HARMLESS_BYTES`; RDF has 10 to 60.
    document: bytes of an import, or of a file that is read as a whole (RDF/XML, JSON-LD, functional
        syntax).
    """

    ratio: int = 250
    document: int = 4 << 30


def read_limits() -> InputLimits:
    """Read the limits from SHIQ_MAX_RATIO and SHIQ_MAX_DOCUMENT (a number, or 500m, 8g).

    Raises: UsageError.
    """
    usual = InputLimits()
    return InputLimits(
        _read_size("SHIQ_MAX_RATIO", usual.ratio),
        _read_size("SHIQ_MAX_DOCUMENT", usual.document),
    )


def _read_size(name: str, usual: int) -> int:
    """Read a size such as 500m from the environment variable ``name``. Raises: UsageError."""
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
