"""Keep the history of a store: one row for each check and gate, in files beside it.

A row is a small file of its own, so that two checks at once lose none. It is written after the
answer, and changes no verdict where it cannot be written. Rows of long ago are folded into one
file. `shiq.jobs.history_pages` makes pages of it.

>>> cause = HistoryCause("c1", "disjoint-classes", "both Cat and Dog", 2)
>>> row = HistoryRow("20300101T000000Z-1", "2030-01-01T00:00:00Z", "check", verdict="inconsistent", causes=(cause,))
>>> parse_row(row.to_dict()) == row
True
>>> [(x.new, x.gone) for x in compare_rows([row, HistoryRow("2", "2030-01-02T00:00:00Z", "check")])]
[(('c1',), ()), ((), ('c1',))]
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from shiq.answers.verdict import drop_empty
from shiq.errors import ShiqError
from shiq.files import write_atomically
from shiq.jobs.store.files import HISTORY, stage_file
from shiq.remote.place import StoreLocation, local_file, parse_location, remove_file
from shiq.support import pluralize

if TYPE_CHECKING:
    import shiq
    from shiq.jobs.gate.answer import GateAnswer

#: What the names of files of folded rows begin with.
FOLDED_NAME: Final = "folded-"
#: Causes that a row keeps, those with most conflicts first; names of files.
MOST_CAUSES, MOST_NAMES = 100, 20


@dataclass(frozen=True, slots=True)
class HistoryCause:
    """Cause of conflicts in one run: ``id``, ``rule`` and ``title`` of its pattern, and the number
    of conflicts.

    effect: of a gate's policy or ledger (`Judgement.effect`) where none of them blocks the batch;
    else
        empty.
    """

    id: str
    rule: str
    title: str
    count: int
    effect: str = ""


#: The counts of a row, before anything is counted.
NO_COUNTS: Final[Mapping[str, int]] = dict.fromkeys(
    ("assertions", "inserted", "looked_at", "pulled_in", "set_aside", "conflicts"), 0
)


@dataclass(frozen=True, slots=True)
class HistoryRow:
    r"""Record of one check or gate of a batch, in the history of a store.

    id: unique in the store, ascending with time. made: when the answer was given, in UTC.
    insertions_from, deletions_from: names of the batch's files, the first `MOST_NAMES`.
    changes_from: the Delta table whose changes are the batch; empty where it has files.
    snapshot: what it was checked against. committed: what the batch became; 0 if it was not taken.
    decision: of a gate; else empty.
    counts: `NO_COUNTS` names them: |A|; |A⁺ \ A| (of a gate the lines of the batch); |A_add|;
        elements beyond the batch; lines set aside; conflicts.
    leftovers: what was not understood, by kind.
    causes: of conflicts, the first `MOST_CAUSES`.
    seconds: from the start of the command to its answer.
    """

    id: str
    made: str
    command: str
    verdict: str = "consistent"
    decision: str = ""
    reason: str = ""
    insertions_from: tuple[str, ...] = ()
    deletions_from: tuple[str, ...] = ()
    changes_from: str = ""
    snapshot: int = 0
    committed: int = 0
    counts: Mapping[str, int] = field(default_factory=lambda: dict(NO_COUNTS))
    leftovers: Mapping[str, int] = field(default_factory=dict)
    causes: tuple[HistoryCause, ...] = ()
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Convert to JSON, without empty fields."""
        causes = [drop_empty(**asdict(cause)) for cause in self.causes]
        counts = drop_empty(**self.counts)
        found = drop_empty(**{**asdict(self), "counts": counts, "causes": causes})
        return {"verdict": self.verdict, **found}


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """History row with the difference to the previous run: ids of causes that are ``new``,
    ``known`` and ``gone``.
    """

    row: HistoryRow
    new: tuple[str, ...]
    known: tuple[str, ...]
    gone: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Convert to JSON."""
        return {
            **self.row.to_dict(),
            **drop_empty(new=list(self.new), known=list(self.known), gone=list(self.gone)),
        }


def parse_row(value: Mapping[str, Any]) -> HistoryRow:
    """Parse the JSON object of a history row. Fields of later versions are ignored.

    Raises: ValueError, TypeError, KeyError for what is no row.
    """
    names = {known.name for known in fields(HistoryRow)}
    given = {name: kept for name, kept in value.items() if name in names}
    for name in ("insertions_from", "deletions_from"):
        given[name] = tuple(map(str, given.get(name, ())))
    for name in ("counts", "leftovers"):
        given[name] = {key: int(number) for key, number in dict(given.get(name, {})).items()}
    given["counts"] = {**NO_COUNTS, **given["counts"]}
    given |= {name: int(given.get(name, 0)) for name in ("snapshot", "committed")}
    given["seconds"] = float(given.get("seconds", 0))
    texts = ("id", "made", "command", "verdict", "decision", "reason")
    given |= {name: str(given[name]) for name in texts if name in given}
    given["causes"] = tuple(HistoryCause(**cause) for cause in given.get("causes", ()))
    row = HistoryRow(**given)
    datetime.strptime(row.made, TIME)
    return row


#: How a row writes its time.
TIME: Final = "%Y-%m-%dT%H:%M:%SZ"


def make_row(
    answer: shiq.Result | GateAnswer, command: str, inputs: Mapping[str, Any], seconds: float
) -> HistoryRow:
    """Make the history row of the answer to ``command`` with ``inputs``."""
    # Loaded with the answer.
    from shiq.answers.result import Result

    result = answer if isinstance(answer, Result) else answer.result
    gated = {} if isinstance(answer, Result) else _gate_fields(answer)
    now = datetime.now(timezone.utc)
    kinds = Counter[str]()
    for leftover in result.evidence.leftovers:
        kinds[leftover.kind] += leftover.number
    figures = result.statistics
    counts = {
        "assertions": figures.assertions,
        "inserted": figures.insertions,
        "looked_at": figures.add_set,
        "pulled_in": figures.pulled_in,
        "conflicts": len(result.conflicts) + result.more_conflicts,
        **gated.pop("counts", {}),
    }
    values: dict[str, Any] = {
        "verdict": result.verdict.value,
        "causes": _history_causes(
            (x.pattern, len(x.conflicts)) for x in (result.groups if result.conflicts else ())
        ),
        **gated,
    }
    return HistoryRow(
        f"{now:%Y%m%dT%H%M%S.%fZ}-{os.urandom(4).hex()}",
        now.strftime(TIME),
        command,
        reason=(answer.reason or result.reason)[:500],
        insertions_from=_input_names(inputs.get("insertions")),
        deletions_from=_input_names(inputs.get("deletions")),
        changes_from=str(inputs.get("changes") or ""),
        snapshot=result.snapshot,
        committed=result.committed,
        counts={**NO_COUNTS, **counts},
        leftovers=dict(sorted(kinds.items())),
        seconds=round(seconds, 3),
        **values,
    )


def _gate_fields(gated: GateAnswer) -> dict[str, Any]:
    """Fields of a history row that come from a gate's answer."""
    counts = Counter(pattern.id for pattern in gated.patterns)
    patterns = {pattern.id: pattern for pattern in gated.patterns}
    effects: dict[str, str] = {}
    for found in gated.judged_conflicts:
        pattern, judgement = found.pattern, found.judgement
        if judgement.blocks or pattern.id not in effects:
            effects[pattern.id] = "" if judgement.blocks else judgement.effect
    return {
        "verdict": gated.verdict.value,
        "decision": gated.decision,
        "counts": {
            "inserted": len(gated.accepted) + len(gated.set_aside),
            "set_aside": len(gated.set_aside),
            "conflicts": len(gated.judged_conflicts),
        },
        "causes": _history_causes(
            ((patterns[key], count) for key, count in counts.items()), effects
        ),
    }


def _history_causes(
    found: Iterable[tuple[Any, int]], effects: Mapping[str, str] = MappingProxyType({})
) -> tuple[HistoryCause, ...]:
    """Most frequent causes of conflicts, with their counts."""
    most = sorted(found, key=lambda x: (-x[1], x[0].id))[:MOST_CAUSES]
    return tuple(
        HistoryCause(p.id, p.rule, p.title, count, effects.get(p.id, "")) for p, count in most
    )


def _input_names(given: Any) -> tuple[str, ...]:
    """Names of the input files, at most `MOST_NAMES`."""
    files = (given,) if isinstance(given, str) else given or ()
    return tuple(str(file) for file in files[:MOST_NAMES])


# --- files ----------------------------------------------------------------------------------------


def write_row(store: str | StoreLocation, row: HistoryRow, keep_days: int = 400) -> str:
    """Write ``row`` beside ``store``, and fold what is older than ``keep_days``.

    Returns: why that failed, or an empty text. A history that cannot be written must not change
    what a check answers.
    """
    try:
        place = parse_location(store)
        _write_rows(place, f"{HISTORY}/{row.id}.json", [row.to_dict()])
        if isinstance(place, Path):
            # In an object store each file is a request: `shiq compact` folds there.
            fold_old_rows(place, keep_days)
    except (ShiqError, OSError) as error:
        return f"{store}: its history has no row of this {row.command} ({error})"
    return ""


def fold_old_rows(store: StoreLocation, keep_days: int = 400) -> int:
    """Fold the rows that are older than ``keep_days`` into one file; return how many.

    What was folded is removed afterwards. Of two that fold at once each writes the same rows, and
    a reader takes each row once.
    """
    first = f"{datetime.now(timezone.utc) - timedelta(days=keep_days):%Y%m%dT%H%M%S}"
    names = _file_names(store)
    old = [name for name in names if not name.startswith(FOLDED_NAME) and name < first]
    if not old:
        return 0
    taken = [*(name for name in names if name.startswith(FOLDED_NAME)), *old]
    rows: dict[str, HistoryRow] = {}
    damaged = set[str]()
    for name in taken:
        try:
            rows |= {row.id: row for row in _read_rows(store, name)}
        except FileNotFoundError:
            return 0  # another run folds
        except _DAMAGES:
            damaged.add(name)  # stays as it is
    taken, old = ([name for name in names if name not in damaged] for names in (taken, old))
    if not old:
        return 0
    _write_rows(
        store,
        f"{HISTORY}/{FOLDED_NAME}{os.urandom(16).hex()}.json",
        [row.to_dict() for row in rows.values()],
    )
    for name in taken:
        remove_file(store, f"{HISTORY}/{name}")
    return len(old)


def read_history(store: str | StoreLocation) -> tuple[list[HistoryRow], list[str]]:
    """Read the history of a store, oldest row first. Returns also the names of files that could not
    be read.
    """
    place = parse_location(store)
    rows: dict[str, HistoryRow] = {}
    for _ in range(3):
        unread: list[str] = []
        folded_meanwhile = False
        for name in _file_names(place):
            try:
                rows |= {row.id: row for row in _read_rows(place, name)}
            except FileNotFoundError:
                folded_meanwhile = True
            except _DAMAGES as error:
                unread.append(
                    f"{place / HISTORY / name if isinstance(place, Path) else name}: {error}"
                )
        if not folded_meanwhile:
            break
    else:
        unread.append("rows were folded meanwhile, again and again: list them once more")
    return sorted(rows.values(), key=lambda row: row.id), unread


#: What is raised where a file holds no rows.
_DAMAGES = (OSError, ValueError, TypeError, KeyError, AttributeError)


def _file_names(store: StoreLocation) -> list[str]:
    """Names of the files of a store's history."""
    if isinstance(store, Path):
        with suppress(FileNotFoundError):
            return sorted(x.name for x in os.scandir(store / HISTORY) if x.name.endswith(".json"))
        return []
    inside = f"{HISTORY}/"
    return sorted(
        name.removeprefix(inside) for name, _ in store.files_with_times() if name.startswith(inside)
    )


def _read_rows(store: StoreLocation, name: str) -> Iterator[HistoryRow]:
    """Read the rows of one file."""
    lines = local_file(store, f"{HISTORY}/{name}").read_text("utf-8").splitlines()
    return map(parse_row, map(json.loads, lines))


def _write_rows(store: StoreLocation, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows to one file, in one step."""
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    with stage_file(store, name) as path:
        path.write_text(text, "utf-8")


# --- what a history says --------------------------------------------------------------------------


def compare_rows(rows: Sequence[HistoryRow]) -> list[ComparedRow]:
    """Compare the causes of each row with those of the row before it."""
    found: list[ComparedRow] = []
    before: set[str] = set()
    for row in rows:
        now = {cause.id for cause in row.causes}
        found.append(
            ComparedRow(
                row, *(tuple(sorted(ids)) for ids in (now - before, now & before, before - now))
            )
        )
        before = now
    return found


def history_text(rows: Sequence[ComparedRow]) -> str:
    """Format a history as a text table, one row for each run, newest last."""
    if not rows:
        return "no check or gate has left a row yet"
    heads = (
        "when",
        "command",
        "answer",
        "inserted",
        "looked at",
        "conflicts",
        "causes",
        "seconds",
        "batch",
    )
    cells = [heads, *map(_table_cells, rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    right = range(3, 8)
    return "\n".join(
        "  ".join(
            cell.rjust(widths[i]) if i in right and i != 6 else cell.ljust(widths[i])
            for i, cell in enumerate(row)
        ).rstrip()
        for row in cells
    )


def _table_cells(compared_row: ComparedRow) -> tuple[str, ...]:
    """Cells of a history row in the text table."""
    row = compared_row.row
    answer = row.decision or row.verdict
    answer += f", {row.counts['set_aside']:,} aside" if row.counts["set_aside"] else ""
    return (
        row.made.replace("T", " ").removesuffix("Z"),
        row.command,
        f"{answer} → {row.committed}" if row.committed else answer,
        f"{row.counts['inserted']:,}",
        f"{row.counts['looked_at']:,}",
        f"{row.counts['conflicts']:,}",
        cause_changes(compared_row),
        f"{row.seconds:.1f}",
        batch_name(row),
    )


def cause_changes(row: ComparedRow) -> str:
    """Text with the numbers of causes that are new, known and gone; empty if there are none."""
    counts = {"new": row.new, "known": row.known, "gone": row.gone}
    return ", ".join(f"{len(ids)} {word}" for word, ids in counts.items() if ids)


def batch_name(row: HistoryRow) -> str:
    """Text that names the batch of a row: its first file, and how many more."""
    files = (*row.insertions_from, *(f"-{name}" for name in row.deletions_from))
    if not files:
        return row.changes_from
    return (
        files[0] if len(files) == 1 else f"{files[0]} and {pluralize(len(files) - 1, 'file')} more"
    )


def write_table(rows: Sequence[ComparedRow], path: Path) -> None:
    """Write a history as a Parquet file, one row for each run; causes and leftovers as JSON.
    Raises: OperationalError.
    """
    # Loaded where a table is written.
    import io

    import pyarrow  # type: ignore[import-untyped, unused-ignore]
    from pyarrow import parquet

    text, number = pyarrow.string(), pyarrow.int64()
    own = {known.name: known.type for known in fields(HistoryRow) if known.name != "counts"}
    types = {name: number if kind == "int" else text for name, kind in own.items()}
    types |= {"seconds": pyarrow.float64(), **dict.fromkeys(NO_COUNTS, number)}
    lists = ("insertions_from", "deletions_from", "new", "known", "gone")
    types |= dict.fromkeys(lists, pyarrow.list_(text))
    values = [{**asdict(x.row), "new": x.new, "known": x.known, "gone": x.gone} for x in rows]
    data = [
        {
            **row,
            **row["counts"],
            **{name: json.dumps(row[name]) for name in ("causes", "leftovers")},
        }
        for row in values
    ]
    schema = pyarrow.schema(types.items())
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(data, schema), buffer)
    write_atomically(path, buffer.getvalue())
