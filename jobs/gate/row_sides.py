"""Gate decision by rows of a table: reasons for quarantined rows, and conflicts as rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped]

from shiq.errors import UsageError
from shiq.inputs.sources import TABLE
from shiq.jobs.gate.answer import REFUSED, WITH_THE_BATCH, GateAnswer, SetAsideLine

_TEXT, _TEXTS = pa.string(), pa.list_(pa.string())
#: Columns that the quarantine has after those of the table: why the row is there, and the same for
#: programs.
REASON_COLUMNS: Final = pa.schema(
    [("reason", _TEXT), ("cause", _TEXT), ("conflict", _TEXTS), ("axioms", _TEXTS), ("hint", _TEXT)]
)
#: Columns of the table of conflicts. ``conflict`` is the id that rows of the quarantine have.
CONFLICT_COLUMNS: Final = pa.schema(
    [
        *((name, _TEXT) for name in ("conflict", "cause", "title", "sentence", "effect")),
        *((name, _TEXTS) for name in ("insertions", "base", "axioms")),
    ]
)
#: The kind of a line that was set aside with another one of its row.
_ALONG: Final = "unit"


def refuse_reason_columns(table: str, columns: Iterable[str]) -> None:
    """Refuse column names of `REASON_COLUMNS`, case ignored as in Spark. Raises: UsageError."""
    for name in columns:
        if name.lower() in REASON_COLUMNS.names:
            raise UsageError(
                f"{table} has a column {name!r}, which is what the quarantine calls a column of its own",
                f"Rename it first: df.withColumnRenamed({name!r}, 'source_{name}'), or in SQL SELECT {name} AS source_{name}.",
            )


@dataclass(frozen=True, slots=True)
class RowReason:
    """Reason why a row is in the quarantine; the fields are `REASON_COLUMNS`.

    cause: pattern id of the conflict, shared by conflicts of one kind; else the kind of the
        leftover.
    """

    reason: str
    cause: str
    conflict: tuple[str, ...] = ()
    axioms: tuple[str, ...] = ()
    hint: str | None = None


#: Why a row of a refused batch is in the quarantine of which nothing else is known.
REFUSED_ROW: Final = RowReason(WITH_THE_BATCH, "batch")


@dataclass(frozen=True)
class RowSides:
    """Quarantined rows by row number; other rows are accepted, or with ``refuses_all`` refused."""

    reasons: Mapping[int, RowReason]
    refuses_all: bool = False

    def reason_of(self, row: int) -> RowReason | None:
        """Reason why ``row`` is quarantined; None if it is accepted."""
        return self.reasons.get(row, REFUSED_ROW if self.refuses_all else None)


def row_sides(gated: GateAnswer) -> RowSides:
    """Convert the decision about one table to rows. Tolerated rows are in the quarantine."""
    lines: dict[int, list[SetAsideLine]] = {}
    for line in (*gated.set_aside, *gated.tolerated):
        if line.kind != REFUSED_ROW.cause:
            lines.setdefault(line.line.table_row, []).append(line)
    return RowSides(
        {row: _reason_of(gated, some) for row, some in lines.items()}, gated.decision == REFUSED
    )


def _reason_of(gated: GateAnswer, lines: Sequence[SetAsideLine]) -> RowReason:
    own = [x for x in lines if x.kind != _ALONG] or lines
    conflicts = list(dict.fromkeys(n for x in own for n in x.conflicts))
    causes = [gated.patterns[n].id for n in conflicts] or [x.kind for x in own]
    told = [
        f"{x.reason}: {gated.patterns[x.conflicts[0]].title}" if x.conflicts else x.reason
        for x in own
    ]
    return RowReason(
        "; ".join(dict.fromkeys(told)),
        ", ".join(dict.fromkeys(causes)),
        tuple(conflict_id(gated, n) for n in conflicts),
        tuple(dict.fromkeys(axiom for n in conflicts for axiom in gated.conflicts[n].axioms)),
        "; ".join(dict.fromkeys(x.hint for x in own if x.hint)) or None,
    )


def conflict_id(gated: GateAnswer, number: int) -> str:
    """Id of a conflict, unique among all runs."""
    return f"{gated.run}-{number}"


def reason_table(reasons: Sequence[RowReason]) -> pa.Table:
    """Convert reasons to an Arrow table with `REASON_COLUMNS`."""
    columns = [[getattr(x, name) for x in reasons] for name in REASON_COLUMNS.names]
    return pa.table(
        [pa.array(values, kind.type) for values, kind in zip(columns, REASON_COLUMNS)],
        schema=REASON_COLUMNS,
    )


def conflict_table(gated: GateAnswer) -> pa.Table:
    """Convert the conflicts of ``gated`` to an Arrow table with `CONFLICT_COLUMNS`."""
    met = zip(gated.conflicts, gated.patterns, gated.sentences, gated.judgements)
    rows: list[dict[str, Any]] = [
        {
            "conflict": conflict_id(gated, n),
            "cause": pattern.id,
            "title": pattern.title,
            "sentence": sentence,
            "effect": judgement.effect,
            "insertions": conflict.insertions,
            "base": conflict.base,
            "axioms": conflict.axioms,
        }
        for n, (conflict, pattern, sentence, judgement) in enumerate(met)
    ]
    return pa.Table.from_pylist(rows, CONFLICT_COLUMNS)


# Recognise output names that are tables: they end in .delta, .parquet, .csv or .tsv, or begin with
# table:.


DELTA, PARQUET, CSV, TSV = ".delta", ".parquet", ".csv", ".tsv"
_BY_FOLDER: Final = re.compile(r"\w+\.`(.+)`")


def is_table_side(name: str) -> bool:
    """Whether the name is that of a table."""
    return name.startswith(TABLE) or name.lower().endswith((DELTA, PARQUET, CSV, TSV))


def is_delta_side(name: str) -> bool:
    """Whether the name is that of a Delta table in a folder."""
    return name.lower().endswith(DELTA)


def place_of_side(name: str) -> str:
    """File or folder of a table; "" for a table that only Spark can locate."""
    if not name.startswith(TABLE):
        return name
    named = _BY_FOLDER.fullmatch(name.removeprefix(TABLE))
    return named[1] if named else ""
