"""Read a batch from a Delta table: the net insertions and deletions between two of its versions.

The change data feed is used if its counts agree: rows before, plus inserted, minus deleted, are the
    rows after. Otherwise the files that only one of the versions has are compared. A batch consists
    of triples: a row that was added and removed again changes nothing, and a triple is deleted only
    if no other row has it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike, fspath
from os.path import abspath
from pathlib import Path
from typing import Any

from shiq.errors import BUILD_ANEW, InputError
from shiq.inputs.sources import TableKind, TableSource, local_path_of, table_kind
from shiq.rdf.tables import (
    check_columns,
    delta_log,
    delta_table,
    delta_version_files,
    open_parquet,
    read_file_rows,
    read_rows,
)
from shiq.rdf.terms import COLUMNS
from shiq.rdf.triples import Rejects, Triples, term_text
from shiq.remote.place import is_address
from shiq.support import pluralize

CAME, WENT = ("insert", "update_postimage"), ("delete", "update_preimage")
_TYPE = "_change_type"
#: A row as it is compared: s, p, o and graph as texts.
Row = tuple[Any, Any, Any, Any]
_ROW = COLUMNS[:4]


@dataclass(frozen=True)
class TableChanges:
    """The batch of net changes in a Delta table of triples, versions ``first`` to ``last``
    included.

    insertions, deletions: sources for `check_insertions`
    rows: number of changed rows
    by_feed: whether the change data feed was used; else the files were compared
    void: deleted rows that lacked s, p or o and so never were a triple
    path: of the table
    ids: ids of the table in its log, before and after
    """

    insertions: TableSource
    deletions: TableSource
    first: int
    last: int
    rows: int
    by_feed: bool = True
    void: int = 0
    path: str = ""
    ids: tuple[str, ...] = ()

    def __str__(self) -> str:
        told = (
            "from its change data feed"
            if self.by_feed
            else "by comparing files, since its change data feed has gaps"
        )
        taken = f"{self.insertions.name}: {self.rows:,} rows {told}"
        void = (
            f"; {pluralize(self.void, 'removed row')} had no s, p or o: ignored"
            if self.void
            else ""
        )
        return f"{taken}{void}; the next batch is --from-version {self.last + 1}"

    @property
    def feed(self) -> str:
        """Key under which a store records how far it has applied the table (`Session.taken`)."""
        return f"{self.path}#{self.ids[-1]}" if self.ids else ""

    @property
    def number(self) -> int:
        """Version up to which a store that takes this batch has applied the table."""
        return self.last

    def refuse_other_table(self, taken: Mapping[str, int]) -> None:
        """Check that this batch continues what a store has applied of the table. Raises:
        InputError.

        From version 0 on a new table is accepted. Raises: InputError if the table was replaced by
        another one, or if versions in between are missing.
        """
        before = [feed for feed in taken if self.ids and feed.rpartition("#")[0] == self.path]
        same = [taken[feed] for feed in before if feed.rpartition("#")[2] in self.ids]
        if same and self.first > (next_one := max(same) + 1):
            left = (
                f"version {next_one}"
                if self.first == next_one + 1
                else f"versions {next_one} to {self.first - 1}"
            )
            raise InputError(
                f"{self.path}: the store took version {max(same)} last, so that the changes of {left} would be missing in it",
                f"Begin where it stands: --from-version {next_one}.",
            )
        if self.first and before and not same:
            raise other_table_error(self.path, max(taken[feed] for feed in before))


def other_table_error(path: str, number: int) -> InputError:
    """Error: the table at ``path`` was replaced by another one since the store applied version
    ``number``.
    """
    return InputError(
        f"{path} is another table than the one whose version {number} the store took: "
        "that was deleted, and one made anew in its place",
        f"Build the store anew ({BUILD_ANEW}); or take it from --from-version 0 on, if what the old one said is to stay.",
    )


def last_committed_version(
    taken: Mapping[str, int], path: str, present: str, id_at: Callable[[int], str]
) -> int | None:
    """Find the last version of the table at ``path`` that a store has applied; None if there is
    none.

    Args:
    taken: applied versions by feed (`Session.taken`)
    present: id of the table in its log now
    id_at: id of the table at a version; raises InputError if there is none

    Raises: InputError if the store applied versions of another table at that path.
    """
    numbers = {
        feed.rpartition("#")[2]: number
        for feed, number in taken.items()
        if feed.rpartition("#")[0] == path
    }
    if present in numbers:
        return numbers[present]
    for name, number in sorted(numbers.items(), key=lambda item: -item[1]):
        with suppress(InputError):  # there is no such version
            if id_at(number) == name:
                return number
    if numbers:
        raise other_table_error(path, max(numbers.values()))
    return None


def next_version(table: str, taken: Mapping[str, int]) -> int | None:
    """Return the version that follows the last one that a store applied of the Delta table
    ``table``.
    """
    path = _delta_path(table)
    last = last_committed_version(
        taken,
        _table_address(table, path),
        _table_id_at(path, None),
        lambda version: _table_id_at(path, version),
    )
    return None if last is None else last + 1


def _table_id_at(path: Path, version: int | None) -> str:
    """Return the identifier in the log of a Delta table at a version; None: the current one."""
    return str(delta_log(path, version)[0].metadata().id)


def _delta_path(table: str) -> Path:
    """Return the local path of a Delta table. Raises: InputError if ``table`` is none."""
    if table_kind(table) is not TableKind.DELTA:
        raise InputError(
            f"{table} is not a Delta table, so its changes are not recorded",
            "Give the folder that has _delta_log in it.",
        )
    return local_path_of(table)


def newest_versions(sources: Iterable[object]) -> dict[str, int]:
    """Map each Delta table among ``sources`` (by `TableChanges.feed`) to its newest version.
    Raises: InputError.
    """
    found = {}
    for source in sources:
        if (
            isinstance(source, str | PathLike)
            and table_kind(name := str(fspath(source))) is TableKind.DELTA
        ):
            path = local_path_of(name)
            table, _ = delta_log(path)
            found[f"{_table_address(name, path)}#{table.metadata().id}"] = int(table.version())
    return found


def _table_address(name: str, path: Path) -> str:
    """Return the address or absolute path of the table ``name``; ``path`` may be a local copy of
    it.
    """
    return name.rstrip("/") if is_address(name) else abspath(path)


def table_changes(table: str | Path, first: int, last: int | None = None) -> TableChanges:
    """Collect the net changes in versions ``first`` to ``last`` (None: the newest) of a Delta table
    of triples.

    Both versions are included. If ``first`` is the version after the newest one, there are no
    changes.

    Raises: InputError if ``table`` is no Delta table of triples, or lacks a version or its files.
    """
    path, name = _delta_path(str(table)), str(table)
    newest = delta_table(path).version()
    last = newest if last is None else last
    if not 0 <= first <= newest + 1 or last > newest:
        missing = last if 0 <= first <= newest + 1 else first
        asked = f"{first} to {last}" if first <= last else f"{first}"
        raise InputError(
            f"{name} has no version {missing}: its newest is {newest}", f"You asked for {asked}."
        )
    if last < first <= newest:
        raise InputError(
            f"versions {first} to {last} of {name} end before they begin",
            "Name the earlier version first.",
        )
    for version in {first - 1 if first else last, last}:
        check_columns(
            f"{name}, version {version}",
            [column.name for column in delta_table(path, version).schema().fields],
        )
    by_feed = (
        (Counter[Row](), dict[Row, Any](), 0)
        if first > last
        else _changes_from_feed(path, first, last)
    )
    net, keys, rows = by_feed or _changes_from_files(path, first, last)
    went = [row for row, count in net.items() if count < 0]
    void = {row for row in went if None in row[:3] or "" in row[:3]}
    gone = _truly_deleted_rows(path, last, [row for row in went if row not in void])
    came = [row for row, count in net.items() if count > 0]
    versions = (
        f"{name}, version {first}" if first >= last else f"{name}, versions {first} to {last}"
    )
    ids = [
        delta_table(path, version).metadata().id
        for version in sorted({first - 1 if first else last, last})
    ]
    return TableChanges(
        _source_of_rows(versions, came, keys),
        _source_of_rows(versions, gone, keys),
        first,
        last,
        rows,
        by_feed is not None,
        sum(-net[row] for row in void),
        _table_address(name, path),
        tuple(map(str, ids)),
    )


#: Rows by triple: those that came less those that went; the key that a row has; how many rows told
#: so.
Net = tuple[Counter[Row], dict[Row, Any], int]


def _changes_from_feed(path: Path, first: int, last: int) -> Net | None:
    """Read the net changes from the change data feed; None if the table has none or it has gaps."""
    import pyarrow as pa  # type: ignore[import-untyped]
    from deltalake.exceptions import DeltaError

    net, keys, came, went = Counter[Row](), dict[Row, Any](), 0, 0
    try:
        for batch in pa.RecordBatchReader.from_stream(
            delta_table(path, last).load_cdf(first, last)
        ):
            names = batch.schema.names
            if not {*COLUMNS[:3], _TYPE} <= {*names}:
                return None
            *row_columns, kinds = (
                batch.column(names.index(column)).to_pylist() for column in (*COLUMNS[:3], _TYPE)
            )
            graphs, keyed = (
                batch.column(names.index(c)).to_pylist() if c in names else [None] * len(kinds)
                for c in COLUMNS[3:]
            )
            for row, kind, key in zip(zip(*row_columns, graphs), kinds, keyed):
                if kind not in CAME + WENT:
                    return None
                net[row] += 1 if kind in CAME else -1
                came, went = came + (kind in CAME), went + (kind in WENT)
                if key is not None:
                    keys[row] = key
    except (DeltaError, pa.ArrowException, OSError):
        return None
    before = _count_rows(path, first - 1) if first else 0
    return (net, keys, came + went) if before + came - went == _count_rows(path, last) else None


def _changes_from_files(path: Path, first: int, last: int) -> Net:
    """Compute the net changes from the files that only one of the versions has. Raises: InputError
    if files were vacuumed.
    """
    net, keys, rows = Counter[Row](), dict[Row, Any](), 0
    before = {file.path: file for file in delta_version_files(path, first - 1)} if first else {}
    after = {file.path: file for file in delta_version_files(path, last)}
    for files, others, sign in ((before, after, -1), (after, before, 1)):
        for file in (file for name, file in files.items() if name not in others):
            if not Path(file.path).exists():
                raise InputError(
                    f"{file.path} is gone (vacuumed?), so that version {last} of {path} is not told from that before {first}",
                    f"Build the store anew from the table ({BUILD_ANEW}), then begin with the version after that.",
                )
            for columns in read_file_rows(str(path), file):
                for s, p, o, graph, key in zip(*columns):
                    net[s, p, o, graph] += sign
                    rows += 1
                    if key is not None:
                        keys[s, p, o, graph] = key
    return net, keys, rows


def _count_rows(path: Path, version: int) -> int:
    """Count the rows of a table version, by its log or else by its files."""
    import pyarrow as pa

    added = pa.table(delta_table(path, version).get_add_actions(flatten=True)).to_pylist()
    if all(row.get("num_records") is not None for row in added):
        return sum(int(row["num_records"]) for row in added)
    count = 0
    for file in delta_version_files(path, version):
        with open_parquet(file) as parquet:
            count += parquet.metadata.num_rows
    return count


def _truly_deleted_rows(path: Path, version: int, rows: list[Row]) -> list[Row]:
    """Select the removed rows whose triple the version no longer contains in any spelling.
    Malformed rows are selected too.
    """
    triples, rejects = Triples(), Rejects(str(path))
    ids: dict[int, tuple[int, int, int]] = {}
    for number, row in enumerate(rows):
        begun = len(triples)
        read_rows([[term] for term in (*row, None)], 0, triples, "b", rejects)
        if len(triples) > begun:
            ids[number] = triples.row(begun)
    left = {*ids.values()} & {
        *_triples_of_subjects(path, version, triples, {*(row[0] for row in rows)}, {*ids.values()})
    }
    return [row for number, row in enumerate(rows) if ids.get(number) not in left]


def _triples_of_subjects(
    path: Path,
    version: int,
    triples: Triples,
    spellings: set[Any],
    wanted: set[tuple[int, int, int]],
) -> Iterator[tuple[int, int, int]]:
    """Yield the triples of a table version whose subject occurs in ``wanted``, as term ids of
    ``triples``.
    """
    import pyarrow as pa
    import pyarrow.compute as pc  # type: ignore[import-untyped]

    if not wanted:
        return
    subjects = pa.array(
        sorted({*spellings} - {None} | {term_text(triples.terms[s]) for s, _, _ in wanted}),
        pa.string(),
    )
    for file in delta_version_files(path, version):
        # A column by which the table is cut into folders is not in its files.
        there = [column for column in COLUMNS[:3] if column not in file.values]
        with open_parquet(file) as parquet:
            for batch in parquet.iter_batches(columns=there):
                part = pa.table(
                    {column: batch.column(column).cast(pa.string()) for column in there}
                )
                if "s" in there:
                    part = part.filter(
                        pc.or_(pc.is_in(part["s"], subjects), pc.match_substring(part["s"], "\\"))
                    )
                size = part.num_rows
                columns = [
                    part[c].to_pylist() if c in there else [file.values[c]] * size
                    for c in COLUMNS[:3]
                ]
                begun, none = len(triples), [None] * size
                read_rows([*columns, none, none], 0, triples, "b", Rejects(file.path))
                yield from (triples.row(row) for row in range(begun, len(triples)))
                triples.truncate(begun)


def _source_of_rows(name: str, rows: Iterable[Row], keys: dict[Row, Any]) -> TableSource:
    """Make a table source (an input in memory) of changed rows."""
    import pyarrow as pa

    rows = sorted(rows, key=lambda row: tuple(map(str, row)))
    columns = {column: pa.array([row[i] for row in rows]) for i, column in enumerate(_ROW)}
    if keys:
        columns["key"] = pa.array([keys.get(row) for row in rows])
    return TableSource(name, TableKind.ARROW, pa.table(columns))
