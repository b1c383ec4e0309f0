"""Legal strings are told from columns of texts as they are told one by one."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from shiq.columns.arrays import arrow_texts
from shiq.columns.rows import STRING, are_string_columns, are_strings
from shiq.model import RDF, XSD, Literal

PLAIN = [
    Literal("a"),
    Literal(""),
    Literal("7", XSD + "integer"),
    Literal("x", RDF + "langString", "en"),
    Literal("é\t\n"),
    Literal("", STRING + "s"),
]


@pytest.mark.parametrize("odd", ["", "\x01", "\ufffe", "\ud7ff", "\U0010ffff"])
@pytest.mark.parametrize("large", [False, True])
def test_columns_and_values_agree(odd: str, large: bool) -> None:
    dice = random.Random(f"{odd} {large}")
    for size in (0, 1, 2, 30):
        literals = [dice.choice([*PLAIN, Literal(f"a{odd}")]) for _ in range(size)]
        columns = [
            arrow_texts([getattr(v, name) for v in literals])
            for name in ("lexical", "datatype", "language")
        ]
        if large:
            columns = [
                pa.concat_arrays([arrow_texts(["before"]), c])[1:].cast(pa.large_string())
                for c in columns
            ]
        assert are_string_columns(*columns).tolist() == are_strings(literals).tolist()
