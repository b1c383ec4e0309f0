"""The decision of a gate by rows of a table: why each row is in the quarantine, and the
conflicts as rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped]

from jobs.gate.gated import REFUSED, WITH_THE_BATCH, GateAnswer, SetAsideLine
from shiq.errors import UsageError

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
    """Raises: UsageError for columns that have the names of `REASON_COLUMNS`, whatever their
    case, as Spark compares names.
    """
    for name in columns:
        if name.lower() in REASON_COLUMNS.names:
            raise UsageError(
                f"{table} has a column {name!r}, which is what the quarantine calls a column of its own",
                f"Rename it first: df.withColumnRenamed({name!r}, 'source_{name}'), or in SQL SELECT {name} AS source_{name}.",
            )


@dataclass(frozen=True, slots=True)
class RowReason:
    """Why a row is in the quarantine; the fields are `REASON_COLUMNS`. ``cause``: the id of the
    conflict's pattern, which conflicts of one kind share, else the kind of what was not
    understood.
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
    """The rows that are set aside, by their numbers; all others are accepted, or none where
    ``refuses_all``.
    """

    reasons: Mapping[int, RowReason]
    refuses_all: bool = False

    def reason_of(self, row: int) -> RowReason | None:
        """Why ``row`` is in the quarantine; None for one that is accepted."""
        return self.reasons.get(row, REFUSED_ROW if self.refuses_all else None)


def row_sides(gated: GateAnswer) -> RowSides:
    """The sides of the rows of the one table that ``gated`` is about. A row that is tolerated is
    in the quarantine.
    """
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
    """The id of a conflict, which no conflict of another run has."""
    return f"{gated.run}-{number}"


def reason_table(reasons: Sequence[RowReason]) -> pa.Table:
    """Rows of `REASON_COLUMNS`."""
    columns = [[getattr(x, name) for x in reasons] for name in REASON_COLUMNS.names]
    return pa.table(
        [pa.array(values, kind.type) for values, kind in zip(columns, REASON_COLUMNS)],
        schema=REASON_COLUMNS,
    )


def conflict_table(gated: GateAnswer) -> pa.Table:
    """The conflicts of ``gated``, as rows of `CONFLICT_COLUMNS`."""
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
