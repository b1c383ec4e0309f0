"""A report as Parquet tables, for notebooks, warehouses and dashboards; no table is cut short.

Tables join by `conflict` (a number, from 1) and `pattern`.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from shiq.jobs.reports.report import Report

_TEXT: Final = pa.string()
_NUMBER: Final = pa.int64()
_STRINGS: Final = pa.list_(pa.string())

#: Columns by table. side: insertions, base or axioms; line: 1-based, 0 where it is not known.
COLUMNS: Final[Mapping[str, Mapping[str, Any]]] = {
    "conflicts": {
        "conflict": _NUMBER,
        "pattern": _TEXT,
        "rule": _TEXT,
        "origin": _TEXT,
        "effect": _TEXT,
        "insertions": _NUMBER,
        "base": _NUMBER,
        "axioms": _NUMBER,
        "sentence": _TEXT,
        "keys": _STRINGS,
    },
    "assertions": {
        "conflict": _NUMBER,
        "side": _TEXT,
        "place": _NUMBER,
        "text": _TEXT,
        "source": _TEXT,
        "line": _NUMBER,
    },
    "groups": {
        "pattern": _TEXT,
        "rule": _TEXT,
        "title": _TEXT,
        "sentence": _TEXT,
        "conflicts": _NUMBER,
        "axioms": _STRINGS,
        "manchester": _STRINGS,
    },
    "leftovers": {
        "kind": _TEXT,
        "message": _TEXT,
        "source": _TEXT,
        "line": _NUMBER,
        "text": _TEXT,
        "hint": _TEXT,
        "count": _NUMBER,
        "blocks": pa.bool_(),
    },
    "set_aside": {
        "source": _TEXT,
        "line": _NUMBER,
        "text": _TEXT,
        "reason": _TEXT,
        "conflicts": pa.list_(pa.int64()),
        "tolerated": pa.bool_(),
    },
}


def parquet_tables(report: Report) -> dict[str, bytes]:
    """Convert ``report`` to Parquet tables, as bytes by name; a table may have no rows."""
    made = {name: _empty_columns(name) for name in COLUMNS}
    for group in report.causes:
        p = group.pattern
        _add_row(
            made["groups"],
            p.id,
            p.rule,
            p.title,
            p.sentence,
            len(group.conflicts),
            list(p.axioms),
            list(p.manchester),
        )
    patterns = {i: group.pattern for group in report.causes for i in group.conflicts}
    for i, raw in enumerate(report.conflicts):
        found, pattern = report.conflict_at(i), patterns[i]
        sizes = len(found.insertions), len(found.base), len(found.axioms)
        kind = raw.get("origin", "insertions"), found.effect
        _add_row(
            made["conflicts"],
            i + 1,
            pattern.id,
            pattern.rule,
            *kind,
            *sizes,
            found.sentence,
            list(found.keys),
        )
        for side, facts in (("insertions", found.insertions), ("base", found.base)):
            for place, fact in enumerate(facts):
                for at in fact.places or (None,):
                    source, line = (at.source, at.line) if at else ("", 0)
                    _add_row(made["assertions"], i + 1, side, place, fact.text, source, line)
        for place, axiom in enumerate(found.axioms):
            _add_row(made["assertions"], i + 1, "axioms", place, axiom, "", 0)
    for x in report.leftovers:
        _add_row(
            made["leftovers"],
            x.kind,
            x.message,
            x.place.source,
            x.place.line,
            x.text,
            x.hint,
            x.count,
            x.blocks,
        )
    for lines, tolerated in ((report.quarantined_lines, False), (report.tolerated_lines, True)):
        for y in lines:
            _add_row(
                made["set_aside"],
                y.place.source,
                y.place.line,
                y.text,
                y.reason,
                list(y.conflicts),
                tolerated,
            )
    return {name: _encode_parquet(name, columns) for name, columns in made.items()}


def _empty_columns(name: str) -> dict[str, list[Any]]:
    """Make the empty columns of the table ``name``."""
    return {column: [] for column in COLUMNS[name]}


def _add_row(columns: dict[str, list[Any]], *row: object) -> None:
    """Append a row to the ``columns`` of a table."""
    for column, value in zip(columns.values(), row, strict=True):
        column.append(value)


def _encode_parquet(name: str, columns: Mapping[str, list[Any]]) -> bytes:
    """Encode the ``columns`` of the table ``name`` as a Parquet file."""
    kinds = COLUMNS[name]
    arrays = [pa.array(map(_escape_surrogates, columns[c]), kind) for c, kind in kinds.items()]
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(arrays, names=list(kinds)), buffer, compression="zstd")
    return buffer.getvalue()


def _escape_surrogates(value: Any) -> Any:
    """Escape unpaired surrogates in a text, or in the texts of a list, since UTF-8 cannot encode
    them. Other values stay.
    """
    if isinstance(value, list):
        return [_escape_surrogates(item) for item in value]
    return (
        value.encode("utf-8", "backslashreplace").decode()
        if isinstance(value, str) and not value.isascii()
        else value
    )
