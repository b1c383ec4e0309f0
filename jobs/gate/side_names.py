"""Names of sides of a gate: those that end in .delta, .parquet, .csv or .tsv, or begin with
table:, are tables.
"""

from __future__ import annotations

import re
from typing import Final

from shiq.sources import TABLE

DELTA, PARQUET, CSV, TSV = ".delta", ".parquet", ".csv", ".tsv"
_BY_FOLDER: Final = re.compile(r"\w+\.`(.+)`")


def is_table_side(name: str) -> bool:
    """Whether a side of this name is a table."""
    return name.startswith(TABLE) or name.lower().endswith((DELTA, PARQUET, CSV, TSV))


def is_delta_side(name: str) -> bool:
    """Whether a side of this name is a Delta table in a folder."""
    return name.lower().endswith(DELTA)


def place_of_side(name: str) -> str:
    """The file or folder that a side which is a table is written to; "" for a table that only
    Spark knows the place of.
    """
    if not name.startswith(TABLE):
        return name
    named = _BY_FOLDER.fullmatch(name.removeprefix(TABLE))
    return named[1] if named else ""
