"""Read tables of triples: Parquet files and folders, Delta tables, and tables in memory (Arrow,
pandas, Spark).

The columns s, p, o hold N-Triples terms; graph (a term) and key are optional; other columns are
ignored. A row is read as its line of N-Triples, so a malformed one is reported by number and key,
and the others are read.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from shiq.answers.verdict import Leftover
from shiq.errors import InputError, OperationalError
from shiq.inputs.folders import DELTA_LOG, files_below, is_parquet
from shiq.inputs.sources import TableKind, TableSource
from shiq.rdf.lines import read_lines
from shiq.rdf.terms import COLUMNS, Rows, arrow_values, quad_line, term_problem, texts_of
from shiq.rdf.triples import Rejects, Triples

#: Rows that are read at a time.
BATCH_ROWS = 1 << 16
#: Files of a folder that a message names; more are counted.
_NAMED = 20
#: What a Delta table may not use, for its files alone do not show it; and the setting of the second
#: in tables of older protocols.
_REFUSED_FEATURES, _MAPPING = (
    frozenset({"deletionVectors", "columnMapping"}),
    "delta.columnMapping.mode",
)


def read_rows(
    rows: Rows,
    before: int,
    triples: Triples,
    scope: str,
    rejects: Rejects,
    numbers: Sequence[int] | None = None,
) -> None:
    """Read rows with the columns s, p, o, graph, key into ``triples``; malformed rows are recorded
    in ``rejects``.

    Args:
    before: number of rows before them
    numbers: row numbers, if they are not consecutive
    """
    numbers = range(before + 1, before + len(rows[0]) + 1) if numbers is None else numbers
    keys = texts_of(rows[4])
    terms = list(zip(*map(texts_of, rows[:4])))
    lines = [quad_line(*row) for row in terms]
    begun, bad = len(triples), Rejects(rejects.source)
    # What is not Unicode becomes bytes that are not UTF-8, which its line is refused for.
    read_lines(
        io.BytesIO("\n".join(lines).encode("utf-8", "surrogatepass")),
        triples,
        scope,
        bad,
        quads=True,
        part=True,
    )
    for row in range(begun, len(triples)):
        at = triples.line[row] - 1
        triples.line[row] = numbers[at]
        if keys[at]:
            triples.keys[row] = str(keys[at])
    for found in bad.all_lines:
        at = found.line - 1
        key = f"row key {keys[at]}" if keys[at] else ""
        rejects.add(term_problem(terms[at]) or found.message, numbers[at], found.text, key)


# --- batches of rows -----------------------------------------------------------------------------


def table_rows(
    source: TableSource, files: Sequence[TableFile], wanted: Sequence[str], rejects: Rejects
) -> Iterator[tuple[Sequence[int], Rows]]:
    """Yield the ``wanted`` columns of a table in blocks, with the number of each row (in text
    files, its first line).
    """
    if source.kind in (TableKind.CSV, TableKind.TSV):
        # Loaded where a table is text.
        from shiq.rdf.text_tables import read_header, text_rows

        check_columns(source.name, read_header(source), wanted=wanted)
        yield from text_rows(source, wanted, rejects)
        return
    before = 0
    for rows in _column_batches(source, files, wanted):
        count = len(rows[0]) if rows else 0
        yield range(before + 1, before + count + 1), rows
        before += count


def _column_batches(
    source: TableSource, files: Sequence[TableFile], wanted: Sequence[str]
) -> Iterator[Rows]:
    """Yield the wanted columns of a table in blocks, by the reader for its kind."""
    match source.kind:
        case TableKind.PANDAS:
            yield from _pandas_batches(source, wanted)
        case TableKind.ARROW:
            yield from _arrow_batches(source, wanted)
        case TableKind.SPARK:
            yield from _arrow_batches(replace(source, value=_collect_frame(source)), wanted)
        case TableKind.JSON_LINES:
            raise InputError(
                f"{source.name}: JSON lines are no table of triples",
                "Say what they mean by --mapping FILE.",
            )
        case _:
            # Each file has its own schema, since schemas change over time.
            row_groups(source.name, files, wanted)
            for file in files:
                yield from read_file_rows(source.name, file, wanted=wanted)


def _collect_frame(source: TableSource) -> Any:
    """Collect all rows of a Spark DataFrame. Raises: OperationalError if Spark fails."""
    try:
        return source.value.toArrow()
    except Exception as error:
        # Nothing here imports Spark.
        if type(error).__module__.partition(".")[0] not in ("pyspark", "py4j"):
            raise
        raise OperationalError(
            f"{source.name}: Spark failed to read it: {summarise_error(error)}",
            "Look into Spark's log; can the driver hold the table's rows?",
        ) from error


def summarise_error(error: Exception) -> str:
    """Return the first line of an error's text, or else its class name."""
    return next(
        (line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__
    )[:300]


def _pandas_batches(source: TableSource, wanted: Sequence[str]) -> Iterator[Rows]:
    """Yield the wanted columns of a pandas DataFrame in blocks."""
    frame = source.value
    names = [str(name) for name in frame.columns]
    check_columns(source.name, names, wanted=wanted)
    for at in range(0, len(frame), BATCH_ROWS):
        part = frame.iloc[at : at + BATCH_ROWS]
        yield [
            _python_values(part[name]) if name in names else [None] * len(part) for name in wanted
        ]


def _python_values(column: Any) -> list[Any]:
    """Convert a pandas column to Python values; None for missing ones."""
    return [
        None if value is None or str(value) in ("<NA>", "NaT") else value
        for value in column.tolist()
    ]


def _arrow_batches(source: TableSource, wanted: Sequence[str]) -> Iterator[Rows]:
    """Yield the wanted columns of an Arrow table or stream in blocks."""
    import pyarrow as pa  # type: ignore[import-untyped]

    value = source.value
    try:
        if hasattr(value, "to_batches") and not isinstance(value, pa.Table):  # a dataset
            batches, names = value.to_batches(), value.schema.names
        else:
            table = value if isinstance(value, pa.Table) else pa.table(value)
            batches, names = table.to_batches(BATCH_ROWS), table.schema.names
        check_columns(source.name, names, wanted=wanted)
        for batch in batches:
            yield _columns_of_batch(batch, wanted)
    except (pa.ArrowException, TypeError) as error:
        raise InputError(
            f"{source.name} cannot be read: {error}", "Give a table with the columns s, p, o."
        ) from error


def _columns_of_batch(batch: Any, wanted: Sequence[str]) -> Rows:
    """Return the wanted columns of an Arrow batch; None for missing ones."""
    names = batch.schema.names
    return [
        arrow_values(batch.column(names.index(name))) if name in names else [None] * batch.num_rows
        for name in wanted
    ]


@dataclass(frozen=True, slots=True)
class TableFile:
    """A Parquet file of a table, with the values of partition columns that its folder names give.

    values: of partition columns, which files lack
    """

    path: str
    values: Mapping[str, str | None] = field(default_factory=dict)


def row_groups(
    name: str, files: Sequence[TableFile], wanted: Sequence[str] = COLUMNS
) -> list[tuple[TableFile, int, int]]:
    """List the Parquet row groups of a table's files, in order, as (file, index in it, number of
    rows).

    Raises: InputError for files that are no table of triples together.
    """
    found, has = [], list[str]()
    for file in files:
        with open_parquet(file) as parquet:
            _check_folder_values(file, parquet)
            metadata = parquet.metadata
            has += (*parquet.schema_arrow.names, *file.values)
            found += [
                (file, i, metadata.row_group(i).num_rows) for i in range(metadata.num_row_groups)
            ]
    if files:
        check_columns(name, has, several=True, wanted=wanted)
    return found


def _check_folder_values(file: TableFile, parquet: Any) -> None:
    """Check that a partition column in ``file`` has the value that the folder name gives. Raises:
    InputError.
    """
    for name in (name for name in parquet.schema_arrow.names if name in file.values):
        told = file.values[name]
        for batch in parquet.iter_batches(BATCH_ROWS, columns=[name]):
            for value in texts_of(arrow_values(batch.column(0).unique())):
                if value != told:
                    raise InputError(
                        f"{file.path} has a column {name!r} that says {value!r}, and is in a folder that says {told!r}",
                        "Drop the column or move the file; nothing of it was used.",
                    )


def read_file_rows(
    name: str, file: TableFile, groups: Sequence[int] | None = None, wanted: Sequence[str] = COLUMNS
) -> Iterator[Rows]:
    """Yield the ``wanted`` columns of one file of the table ``name``, or of some of its row groups.
    Raises: InputError.
    """
    with open_parquet(file) as parquet:
        check_columns(name, parquet.schema_arrow.names, any_columns=True, wanted=wanted)
        names = [column for column in wanted if column in parquet.schema_arrow.names]
        for batch in parquet.iter_batches(BATCH_ROWS, row_groups=groups, columns=names):
            columns = {column: arrow_values(batch.column(i)) for i, column in enumerate(names)}
            count = batch.num_rows
            yield [columns.get(column, [file.values.get(column)] * count) for column in wanted]


@contextmanager
def open_parquet(file: TableFile) -> Iterator[Any]:
    """Context manager: open a Parquet file. Raises: InputError."""
    import pyarrow as pa
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    try:
        with pq.ParquetFile(file.path) as parquet:
            yield parquet
    except (pa.ArrowException, OSError) as error:
        raise InputError(
            f"{file.path} is not readable as Parquet: {error}",
            "Write it again; nothing of it was used.",
        ) from error


def check_columns(
    name: str,
    columns: Sequence[str],
    *,
    several: bool = False,
    any_columns: bool = False,
    wanted: Sequence[str] = COLUMNS,
) -> None:
    """Check that ``columns`` are those of a table of triples, or include all ``wanted`` ones.
    Raises: InputError.

    Raises: InputError.
    """
    missing = [
        column for column in (COLUMNS[:3] if wanted is COLUMNS else wanted) if column not in columns
    ]
    if missing and not any_columns:
        raise InputError(
            f"{name}: no column {missing[0]!r} (it has {', '.join(dict.fromkeys(columns))})",
            "A table of triples has the columns s, p, o (N-Triples terms as texts), and may have graph and key. Any other takes "
            "--mapping FILE; the command draft-mapping writes a first one.",
        )
    twice = [column for column in wanted if list(columns).count(column) > 1]
    if twice and not several:
        raise InputError(f"{name}: the column {twice[0]!r} is there twice", "Rename one of them.")


class AllColumns(frozenset[str]):
    """The set of all possible column names: every name is in it."""

    def __contains__(self, name: object) -> bool:
        return True


def table_files(
    source: TableSource, wanted: Collection[str] = COLUMNS
) -> tuple[list[TableFile], tuple[Leftover, ...]]:
    """List the files of a table, and report the files in its folder that are not read.

    A table in memory has no files.

    Args:
    wanted: partition columns that may occur

    Raises: InputError for a folder that cannot be read as one table.
    """
    if source.kind not in (TableKind.PARQUET, TableKind.DELTA):
        return [], ()
    path = Path(source.value)
    if path.is_file():
        return [TableFile(str(path))], ()
    files, passed_over = (
        _current_delta_files if source.kind is TableKind.DELTA else _parquet_files
    )(path, wanted)
    return files, _unread_files_leftover(source, passed_over)


def _unread_files_leftover(source: TableSource, names: Sequence[str]) -> tuple[Leftover, ...]:
    """Make the leftover for files in the folder of a table that are not read."""
    if not names:
        return ()
    what = (
        "a file that the present version of the Delta table does not have"
        if source.kind is TableKind.DELTA
        else "a file that is no data by its name, in a folder of Parquet files"
    )
    # There is one sum for each file, and one file for each version: anything else is told first.
    names = sorted(names, key=lambda name: (name.endswith(".crc"), name.endswith(".parquet")))
    text = ", ".join(names[:_NAMED]) + (
        f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    )
    return (Leftover("passed-over", what, source.name, text=text, count=len(names)),)


def _parquet_files(path: Path, wanted: Collection[str]) -> tuple[list[TableFile], list[str]]:
    """List the Parquet files below ``path``, and the names of files without data. Raises:
    InputError for any other file.
    """
    found, passed_over, others = [], [], []
    for file, is_data in files_below(path):
        inside = file.relative_to(path)
        if not is_data:
            passed_over.append(str(inside))
        elif not is_parquet(file):
            others.append(str(inside))
        else:
            found.append(
                TableFile(str(file), _folder_values(file.parent, inside.parts[:-1], wanted))
            )
    if others:
        more = f" and {len(others) - 3:,} more" if len(others) > 3 else ""
        raise InputError(
            f"{path} is a folder of Parquet files, but {', '.join(others[:3])}{more} in it "
            f"{'is none' if len(others) == 1 else 'are none'}",
            "Give it as a source of its own, outside of the folder, or give the Parquet files one by one; nothing was used.",
        )
    return found, passed_over


def _folder_values(
    folder: Path, parts: Sequence[str], wanted: Collection[str]
) -> dict[str, str | None]:
    """Return the values of the ``wanted`` partition columns in folder names such as ``day=7``.

    Raises: InputError for two different values of one column.
    """
    values: dict[str, str | None] = {}
    for name, sign, text in (part.partition("=") for part in parts):
        value = None if text == "__HIVE_DEFAULT_PARTITION__" else unquote(text)
        if sign and name in wanted and values.setdefault(name, value) != value:
            raise InputError(
                f"{folder} is in a folder that says {values[name]!r} of the column {name!r}, and in one that says {value!r}",
                "Move its files into a folder that says one of them; nothing of it was used.",
            )
    return values


def _current_delta_files(path: Path, wanted: Collection[str]) -> tuple[list[TableFile], list[str]]:
    """List the Parquet files of a Delta table's current version, and the names of other files in
    its folder.

    Raises: InputError for a table that cannot be read by its files alone.
    """
    found = delta_version_files(path, wanted=wanted)
    present = {Path(file.path) for file in found}
    return found, [
        str(file.relative_to(path))
        for file, _ in files_below(path, DELTA_LOG)
        if file not in present
    ]


def delta_version_files(
    path: Path, version: int | None = None, wanted: Collection[str] = COLUMNS
) -> list[TableFile]:
    """List the Parquet files of a version of a Delta table (None: the current one). Raises:
    InputError.
    """
    import pyarrow as pa

    try:
        added = pa.table(delta_table(path, version).get_add_actions(flatten=True)).to_pylist()
    except ValueError as error:
        raise InputError(
            f"{path}: not a readable Delta table ({error})", "Check the path."
        ) from error
    found = []
    for row in sorted(added, key=lambda row: str(row["path"])):
        values = {
            column: row[f"partition.{column}"] for column in wanted if f"partition.{column}" in row
        }
        found.append(TableFile(str(_table_file_path(path, unquote(row["path"]))), values))
    return found


def delta_table(path: Path, version: int | None = None) -> Any:
    """Open a version of the Delta table at ``path``; None: the current one. Raises: InputError.

    Raises: InputError if it is unreadable, or cannot be read by its files alone.
    """
    table, hidden = delta_log(path, version)
    if hidden:
        raise InputError(
            f"{path}: a Delta table with {', '.join(hidden)}, which its files alone do not show",
            "Read it with --engine spark and delta-spark on the session (docs/INPUTS.md), or write it without.",
        )
    return table


def delta_log(path: Path, version: int | None = None) -> tuple[Any, list[str]]:
    """Open the log of a Delta table at a version, and list the features that files alone do not
    show (`hidden_features`).

    Raises: InputError if it is unreadable.
    """
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    try:
        table = DeltaTable(str(path.absolute()), version)
        return table, hidden_features(table)
    except (DeltaError, OSError, ValueError) as error:
        of_version = "" if version is None else f" of version {version}"
        raise InputError(
            f"{path}: not a readable Delta table{of_version} ({error})", "Check the path."
        ) from error


def hidden_features(table: Any) -> list[str]:
    """List the features of a Delta table, such as deletion vectors, by which its files alone do not
    show its rows.
    """
    is_mapped = (table.metadata().configuration or {}).get(_MAPPING, "none") != "none"
    return sorted(
        _REFUSED_FEATURES.intersection(
            [*(table.protocol().reader_features or ()), *["columnMapping"] * is_mapped]
        )
    )


def _table_file_path(root: Path, path: str) -> Path:
    """Return the path of a file that a table's log names. Raises: InputError for one outside the
    table's folder.
    """
    file = root / path
    if not file.resolve().is_relative_to(root.resolve()):
        raise InputError(
            f"{root}: its log names {path}, a file outside of it", "Copy the table as a whole."
        )
    return file
