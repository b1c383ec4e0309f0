"""The public calls on Spark: check the triples of a DataFrame against a store, gate them, or build
a store of them.

This imports no Spark: what does is loaded when one of them is called.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from shiq.answers.result import Result
    from shiq.api import Session
    from shiq.inputs.sources import Given
    from shiq.jobs.gate.frames import GatedFrames

__all__ = ["check", "gate", "index"]


def check(
    df: DataFrame,
    store: str | Path | Session,
    *,
    commit: bool = False,
    columns: Mapping[str, str] | None = None,
    mapping: str | Path | None = None,
    **settings: Any,
) -> Result:
    """Check the triples of a DataFrame against a store; see `gate` for the columns.

    Args:
        commit: take them into the store, in one step, if it stays consistent.
        settings: as in `shiq.check_insertions`; ``engine`` is spark unless another is named.

    Raises: UsageError, OperationalError.
    """
    from shiq.jobs.gate.frames import check_frame

    return check_frame(df, store, commit=commit, columns=columns, mapping=mapping, **settings)


def gate(
    df: DataFrame,
    store: str | Path | Session,
    mode: str = "split",
    commit: bool = False,
    columns: Mapping[str, str] | None = None,
    mapping: str | Path | None = None,
    accepted: str | None = None,
    quarantine: str | None = None,
    **settings: Any,
) -> GatedFrames:
    """Decide which rows of a DataFrame a store can take: ``accepted, quarantine, conflicts =
    gate(df, store)``.

    All is decided when this is called, once. The three DataFrames rest on files that executors
    wrote: `GatedFrames.close` removes them, or the end of the process. ``accepted`` and
    ``quarantine`` have all columns of ``df``, whatever they are; each row is in one of them,
    duplicates too. ``quarantine`` has five more: ``reason``, ``cause``, ``conflict``, ``axioms``
    and ``hint``.

    Inside ``foreachBatch`` a micro-batch that Spark sends again is taken in once, and added to
    tables once.

    Args:
        mode: split sets rows aside that contradict or are not understood; reject accepts all
            rows or none.
        commit: take the accepted rows into the store, in one step.
        columns: the columns that hold s, p, o and graph, where they have other names:
            ``{"s": "subject", …}``.
        mapping: a file (RML, YARRRML) that says what the columns mean; rows go to one side as a
            whole.
        accepted: a table to which these rows are added, once for each run, before the store takes
            any: ``"NAME.delta"``, a folder that executors share, or ``"table:catalog.schema.t"``
            of Delta's or Iceberg's.
        quarantine: likewise.
        settings: as in `shiq.check_insertions`, and unit, aside, policy, identities and
            max_quarantine as in docs/GATE.md.

    Raises: UsageError, for a column of the name of one of the five too; OperationalError.
    """
    from shiq.jobs.gate.frames import gate_frame

    settings = {**settings, "accepted": accepted, "quarantine": quarantine}
    return gate_frame(
        df, store, mode=mode, commit=commit, columns=columns, mapping=mapping, **settings
    )


def index(
    df: DataFrame,
    tbox: Given,
    store: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    mapping: str | Path | None = None,
    **settings: Any,
) -> Result:
    """Build a store of the triples of a DataFrame and an ontology, and certify it; see `gate`
    for the columns.

    Args:
        settings: as in `shiq.api.index`; ``engine`` is spark unless another is named.

    Raises: UsageError, OperationalError.
    """
    from shiq.jobs.gate.frames import index_frame

    return index_frame(df, tbox, store, columns=columns, mapping=mapping, **settings)
