"""Rule mining as a stream system: a collector with the miner, an operator with snapshots, and
saving.

A finite source may be read in any order. If it can be read twice, its disorder is measured first. A
window is reported when no event can change it any more. A followed source is reported as events
come; a late event changes the snapshots of later windows.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby, islice
from os import PathLike
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from shiq import model as owl
from shiq.answers.verdict import Leftover, is_blocking
from shiq.errors import OperationalError, UsageError
from shiq.files import replace_file, report_write_errors
from shiq.functional import ontology_text
from shiq.streams.discovery.atomsets import Atom, BodyTree
from shiq.streams.discovery.counting import MinedRule
from shiq.streams.discovery.mining import CarriedRules, MinedRules
from shiq.streams.discovery.ontology import (
    AssertionReader,
    MinerOntology,
    parse_expression,
    parse_ontology,
    serialise_assertions,
)
from shiq.streams.discovery.report import RuleFinding, WindowReport
from shiq.streams.discovery.settings import MinerSettings, TrackedRule
from shiq.streams.discovery.snapshots import MinerKnowledge, UndecidedEntailmentError
from shiq.streams.discovery.windows import WindowMiner
from shiq.streams.front.checkpoint import pack_state, unpack_state
from shiq.streams.front.event import Event, EventError, Record, event_from_record, parse_event
from shiq.streams.front.intake import (
    EventIntake,
    EventLimits,
    RejectLog,
    StreamTime,
    WatermarkTracker,
)
from shiq.streams.front.operator import (
    BatchReport,
    BucketState,
    Collector,
    Columns,
    Operator,
    PartitionedEvents,
    RejectedEvent,
    Row,
    StreamAnswer,
    stream_verdict,
)
from shiq.streams.front.sources import FolderSource, LinesFileSource, Source, open_source
from shiq.support import bits

if TYPE_CHECKING:
    from shiq.streams.discovery.miner import RuleMiner


#: So many inconsistent snapshots are named.
_MOST_NAMED = 20
_TIME_PATTERN = re.compile(rb'\s*\{\s*"t"\s*:\s*(\d+)\s*[,}]')


@dataclass(frozen=True)
class MiningResult(StreamAnswer):
    """Result of mining a stream: the reports of its windows, and what was not understood or
    decided.

    windows: all reports as JSON, or only the last.
    inconsistent_snapshots: the first inconsistent snapshots.
    is_truncated: whether some window has more rules than the limit.
    """

    windows: list[dict[str, Any]]
    inconsistent_snapshots: list[int]
    is_truncated: bool


@dataclass
class DiscoveryCollector(Collector[MiningResult]):
    """Collector of a stream system that mines windows (`shiq.streams.front.operator.Collector`).

    on_report: receives each report.
    max_disorder: how far behind the newest snapshot an event may still come; None if unknown.
    keeps_all_reports: whether the result contains all reports or only the last.
    """

    name: ClassVar[str] = "discover"
    steps_by_point: ClassVar[bool] = True
    batch_size = 1_000
    windows: WindowMiner
    ontology: MinerOntology
    step: int = 1
    allow: Collection[str] = ()
    intake: EventIntake = field(
        default_factory=lambda: EventIntake(WatermarkTracker(None), RejectLog())
    )
    on_report: Callable[[WindowReport], None] = lambda report: None
    max_disorder: int | None = None
    keeps_all_reports: bool = True

    def __post_init__(self) -> None:
        self.assertion_reader = AssertionReader(self.ontology.signature)
        self.intake.step = self.step
        if self.windows.origin_snapshots:
            self.intake.parse = parse_event_with_source
        self.intake.window = self.windows.settings.window
        self.last_reported_end: int | None = None
        self.reports: list[dict[str, Any]] = []
        self.inconsistent_snapshots, self.is_truncated = list[int](), False
        self.counts = dict.fromkeys(("events", "triples", "windows", "rules"), 0)
        self.seconds = dict.fromkeys((*self.windows.seconds, "deciding"), 0.0)

    def record_time_reader(
        self, sources: Sequence[Source], unit: str = "sec", format: str = "auto"
    ) -> Callable[[Record], int | None]:
        """Make a function from a record to its time, for merging sources; measures how far files
        are out of order.
        """
        files = [source for source in sources if isinstance(source, LinesFileSource | FolderSource)]
        if len(files) == len(sources):
            self.max_disorder = max(
                (
                    self._measure_disorder(open_source(source.name, unit, format))
                    for source in files
                ),
                default=0,
            )
        return self._record_time

    def _record_time(self, record: Record) -> int | None:
        """Snapshot index of a record; None if it has no time."""
        found = _TIME_PATTERN.match(record.data)
        if found is not None:
            return int(found[1]) // self.step
        try:
            return (record.event or parse_event(record.data, self.intake.unit)).t // self.step
        except EventError:
            return None

    def _measure_disorder(self, source: Source) -> int:
        """Largest distance by which a record's time lies behind the newest time before it."""
        newest = most = 0
        for record in source.read(False):
            t = self._record_time(record)
            if t is not None:
                newest, most = max(newest, t), max(most, newest - t)
        return most

    def operator(self, *, in_tasks: bool = False) -> SnapshotOperator:
        """Operator to run in this process or, with ``in_tasks``, in Spark tasks, with precomputed
        static entailments.
        """
        knowledge, limits = self.windows.knowledge, self.intake.make_limits()
        if not in_tasks:
            return SnapshotOperator(self.ontology.signature, limits)
        if self.windows.origin_snapshots:
            raise UsageError(
                "rules from one stream to another are mined in one process",
                "Leave out --engine spark, or --from and --to.",
            )
        knowledge.entailed_atoms(())
        return SnapshotOperator(self.ontology.signature, limits, knowledge, BUCKETS_IN_TASKS)

    def collect(self, report: BatchReport, rows: Iterable[Row]) -> None:
        """Add a batch to the snapshots and report the windows that can no longer change."""
        report.update_intake(self.intake, self.counts)
        for row in sorted(rows, key=lambda row: row["told"][0][0] if row["told"] else -1):
            self._add_to_snapshots(row)
        newest = report.stream_time.newest
        if self.max_disorder is not None and newest is not None:
            self.report_windows_until(newest - self.max_disorder - 1)

    def _add_to_snapshots(self, row: Row) -> None:
        """Add triples to snapshots, with entailments if tasks computed them."""
        begun = perf_counter()
        snapshots = self.windows.snapshots
        for t, texts, *source in row["told"]:
            assertions = self.assertion_reader.read(texts, lambda *refused: None)
            self.windows.add_to_snapshot(t, assertions, *source)
        if "columns" in row:
            undecided = dict(row["out"])
            entailed: dict[int, list[Any]] = {t: [] for t, *_ in row["told"]}
            first = row["told"][0][0] // SNAPSHOTS_PER_WORD * SNAPSHOTS_PER_WORD
            for atom, mask in row["columns"]:
                for place in bits(mask):
                    entailed[first + place].append(tuple(atom))
            for t, found in entailed.items():
                snapshots.set_entailed(t, None if t in undecided else found, undecided.get(t))
        self.windows.seconds["reading"] += perf_counter() - begun

    def report_windows_until(self, last: int) -> None:
        """Report each window that ends at ``last`` or before and was not reported yet."""
        settings, first = self.windows.settings, self.windows.first_index
        if first is None or self.windows.knowledge.static_entailments is None:
            return
        while True:
            end = (
                first + settings.window - 1
                if self.last_reported_end is None
                else self.last_reported_end + settings.slide
            )
            if end > last:
                return
            report = self.windows.report_window(end)
            self.last_reported_end = end
            new = (
                index for index in report.inconsistent if index not in self.inconsistent_snapshots
            )
            self.inconsistent_snapshots += islice(
                new, _MOST_NAMED - len(self.inconsistent_snapshots)
            )
            self.is_truncated |= report.is_truncated
            self.counts["windows"] += 1
            self.counts["rules"] = len(report.findings)
            for name, spent in report.seconds.items():
                self.seconds[name] += spent
            if not self.keeps_all_reports:
                self.reports.clear()
            self.reports.append(report.to_dict())
            self.on_report(report)

    def finish(self, rows: Iterable[Row] = ()) -> MiningResult:
        """Report the remaining windows and return the result. Raises: InputError if no record was
        an event.
        """
        newest, rejects = self.windows.newest_index, self.intake.rejects
        rejects.raise_if_all_rejected(newest is None)
        if newest is not None:
            self.report_windows_until(newest)
        leftovers = self.leftovers()
        is_open = self.is_truncated or any(
            is_blocking(leftover, self.allow) for leftover in leftovers
        )
        contradicted = (
            self.inconsistent_snapshots or self.windows.knowledge.static_entailments is None
        )
        verdict = stream_verdict(bool(contradicted), bool(is_open))
        statistics = {
            **self.counts,
            "duplicates": self.intake.duplicates,
            "rejected": dict(rejects.counts),
            "seconds": {name: round(self.seconds[name], 3) for name in self.windows.seconds},
        }
        return MiningResult(
            verdict,
            tuple(leftovers),
            statistics,
            self.reports,
            self.inconsistent_snapshots,
            self.is_truncated,
        )

    def leftovers(self) -> list[Leftover]:
        """Leftovers of the ontology, the reasoner and the stream."""
        return [
            *self.ontology.leftovers,
            *self.windows.knowledge.leftovers(),
            *self.intake.rejects.leftovers(),
        ]

    def state(self) -> bytes:
        """State of the collector for a checkpoint; `restore` reads it."""
        document, columns = serialise_windows(self.windows)
        more = {
            "arrivals": self.intake.state(),
            "reported": self.last_reported_end,
            "told": self.reports,
            "found": [self.inconsistent_snapshots, self.is_truncated, self.counts, self.seconds],
            "undecided": self.windows.knowledge.undecided_reasons,
        }
        return pack_state({**document, **more}, columns)

    def restore(self, state: bytes) -> None:
        """Continue from the `state` of another run."""
        document, columns = unpack_state(state)
        restore_windows(self.windows, self.assertion_reader, document, columns)
        self.intake.restore(document["arrivals"])
        self.last_reported_end, self.reports = document["reported"], document["told"]
        self.inconsistent_snapshots, self.is_truncated, self.counts, seconds = document["found"]
        self.seconds |= seconds
        self.windows.knowledge.undecided_reasons |= document["undecided"]


#: Fixed for a checkpoint; so many tasks work on a batch at most.
BUCKETS_IN_TASKS: Final = 16
#: Snapshots whose entailments are told together.
SNAPSHOTS_PER_WORD: Final = 64

#: What snapshots assert, as N-Triples, each once, by index.
SnapshotTexts = dict[int, dict[str, None]]


@dataclass(frozen=True)
class SnapshotOperator(Operator):
    """Operator that groups triples by snapshot (`shiq.streams.front.operator.Operator`).

    knowledge: reasoner that computes entailments in tasks; None if the collector does it.
    """

    signature: owl.Signature
    limits: EventLimits
    knowledge: MinerKnowledge | None = None
    buckets: int = 1

    @cached_property
    def assertion_reader(self) -> AssertionReader:
        """Reader of triples over the ontology's signature."""
        return AssertionReader(self.signature)

    def partition_events(self, events: Sequence[Event | None]) -> PartitionedEvents:
        """Split usable triples by bucket; 64 neighbouring snapshots share a bucket."""
        found, refused = dict[int, list[tuple[int, int, list[str], str]]](), list[RejectedEvent]()
        for number, event in enumerate(events):
            if event is None:
                continue
            unused = set[str]()

            def note_reject(
                kind: str, reason: str, text: str, number: int = number, unused: set[str] = unused
            ) -> None:
                """Note an unusable triple."""
                refused.append((number, kind, reason, text))
                unused.add(text)

            self.assertion_reader.read(event.triples, note_reject)
            texts = [text for text in event.triples if text not in unused]
            bucket = event.t // SNAPSHOTS_PER_WORD % self.buckets
            found.setdefault(bucket, []).append((number, event.t, texts, event.raw or ""))
        parts: dict[int, Columns] = {}
        for bucket, rows in found.items():
            numbers, times, own, sources = zip(*rows)
            origin = {"source": list(sources)} if self.knowledge is None else {}
            where = {"event": np.array(numbers), "t": np.array(times)}
            parts[bucket] = {**where, "texts": list(own), **origin}
        return PartitionedEvents(parts, refused)

    def open_state(self, bucket: int, state: bytes | None) -> SnapshotState:
        """Open the state of a bucket's snapshots, new or from its bytes."""
        found = json.loads(zlib.decompress(state)) if state else ()
        return SnapshotState(self, {t: dict.fromkeys(texts) for t, texts in found})


@dataclass(frozen=True)
class SnapshotState(BucketState):
    """State of a bucket: triples of snapshots that may still change; empty if tasks compute no
    entailments.
    """

    operator: SnapshotOperator
    texts: SnapshotTexts = field(default_factory=dict)

    def step(self, parts: Sequence[Columns], moment: StreamTime) -> list[Row]:
        """Add triples to snapshots. Return a row for each group of 64 snapshots with a change, or
        one row of all triples if tasks compute no entailments.
        """
        if self.operator.knowledge is None:
            each = (zip(part["t"].tolist(), part["texts"], part["source"]) for part in parts)
            return [{"told": [row for part in each for row in part]}]
        came = [(t, texts) for part in parts for t, texts in zip(part["t"].tolist(), part["texts"])]
        held, new = self.texts, SnapshotTexts()
        for t, texts in came:
            if t not in held:
                held[t], new[t] = {}, {}
            more = dict.fromkeys(text for text in texts if text not in held[t])
            if more:
                held[t].update(more)
                new.setdefault(t, {}).update(more)
        rows = [
            self._make_group_row(self.operator.knowledge, new, list(changed))
            for _, changed in groupby(sorted(new), lambda t: t // SNAPSHOTS_PER_WORD)
        ]
        for t in [t for t in held if moment.watermark is not None and t < moment.watermark]:
            del held[t]
        return rows

    def _make_group_row(
        self, knowledge: MinerKnowledge, new: SnapshotTexts, changed: Sequence[int]
    ) -> Row:
        """Row with the changed snapshots in a group of 64.

        Its members: ``told``: new triples; ``out``: snapshots that are inconsistent or undecided,
        with the reason; ``columns``: each entailed atom with the bits of its snapshots.
        """
        columns, out = dict[Atom, int](), list[tuple[int, str | None]]()
        for t in changed:
            reason = None
            try:
                found = knowledge.entailed_atoms(
                    self.operator.assertion_reader.read([*self.texts[t]], lambda *refused: None)
                )
            except UndecidedEntailmentError as undecided:
                found, reason = None, undecided.reason
            if found is None:
                out.append((t, reason))
            for atom in found or ():
                columns[atom] = columns.get(atom, 0) | 1 << t % SNAPSHOTS_PER_WORD
        told = [(t, list(new[t])) for t in changed]
        return {"told": told, "out": out, "columns": list(columns.items())}

    def to_bytes(self) -> bytes:
        """Serialise the triples of the snapshots."""
        texts: Any = [[t, list(texts)] for t, texts in self.texts.items()]
        return zlib.compress(json.dumps(texts).encode(), 1) if texts else b""


_MINER_FILE = "miner.npz"
#: Before the names of columns: of all that snapshots assert, and of what bodies and heads come from.
_COLUMN_PREFIXES = ("", "body_", "head_")


def parse_event_with_source(record: Record, unit: str) -> Event:
    """Parse the event of a record and attach the name of its source. Raises: EventError."""
    return event_from_record(record, unit)._replace(raw=record.source)


def serialise_windows(windows: WindowMiner) -> tuple[dict[str, Any], dict[str, Any]]:
    """Serialise the state of a window miner as a JSON value and numeric columns."""
    columns: dict[str, Any] = {}
    for name, snapshots in zip(_COLUMN_PREFIXES, (windows.snapshots, *windows.origin_snapshots)):
        parts = [
            snapshots.pack_snapshot(index, serialise_assertions) for index in snapshots.assertions
        ]
        columns |= {
            f"{name}indices": np.array(list(snapshots.assertions), np.int64),
            f"{name}lengths": np.array([len(part) for part in parts], np.int64),
            f"{name}texts": np.frombuffer(b"".join(parts), np.uint8),
        }
    carried = {
        str(end): _carried_to_json(carried) for end, carried in windows.carried_rules.items()
    }
    return {
        "first": windows.first_index,
        "newest": windows.newest_index,
        "carried": carried,
    }, columns


def restore_windows(
    windows: WindowMiner,
    intake: AssertionReader,
    document: Mapping[str, Any],
    columns: Mapping[str, Any],
) -> None:
    """Restore a window miner from `serialise_windows`."""
    for name, snapshots in zip(_COLUMN_PREFIXES, (windows.snapshots, *windows.origin_snapshots)):
        whole, at = columns[f"{name}texts"].tobytes(), 0
        indices, lengths = columns[f"{name}indices"], columns[f"{name}lengths"]
        for index, length in zip(indices.tolist(), lengths.tolist()):
            text = zlib.decompress(whole[at : at + length]).decode("utf-8", "surrogatepass")
            at += length
            snapshots.add_assertions(
                index, intake.read(text.split("\n") if text else [], _raise_damaged)
            )
    windows.first_index, windows.newest_index = document["first"], document["newest"]
    windows.carried_rules = {
        int(end): _carried_from_json(found) for end, found in document["carried"].items()
    }


def _raise_damaged(kind: str, reason: str, text: str) -> None:
    """Raise OperationalError for a saved assertion that cannot be read."""
    raise OperationalError(
        f"a saved assertion cannot be read: {text} ({reason})",
        "Remove what was saved and begin anew.",
    )


def save_miner(miner: RuleMiner, directory: str | PathLike[str]) -> None:
    """Save a miner to a directory (`RuleMiner.save`)."""
    folder, ontology, settings = Path(directory), miner.ontology, miner.settings
    document, columns = serialise_windows(miner.windows)
    rules = [{"body": rule.body, "head": rule.head} for rule in settings.rules]
    more = {
        "ontology": ontology_text(ontology.tbox.axioms, ontology.static),
        "signature": {
            name: sorted(getattr(ontology.signature, name))
            for name in owl.Signature.__dataclass_fields__
        },
        "classes": list(ontology.classes),
        "settings": {**settings.to_dict(), "rules": rules},
        "step": miner.step,
        "allow": list(miner.allow),
        "fingerprint": ontology.fingerprint,
    }
    with report_write_errors(folder, "Make room there, or name another directory."):
        folder.mkdir(parents=True, exist_ok=True)
        replace_file(folder / _MINER_FILE, pack_state({**document, **more}, columns))


def load_miner(directory: str | PathLike[str]) -> RuleMiner:
    """Load a miner from a directory (`RuleMiner.load`)."""
    from shiq.streams.discovery.miner import RuleMiner

    file = Path(directory) / _MINER_FILE
    try:
        document, columns = unpack_state(file.read_bytes())
    except (OSError, ValueError, KeyError, json.JSONDecodeError) as error:
        raise OperationalError(
            f"{file}: no saved miner ({error})", "Name the directory that a miner was saved to."
        ) from error
    parsed, static = parse_ontology(document["ontology"], str(file))
    signature = owl.Signature(
        **{name: frozenset(iris) for name, iris in document["signature"].items()}
    )
    tbox = owl.TBox(parsed.axioms, parsed.signature | signature)
    classes = {text: parse_expression(text, str(file)) for text in document["classes"]}
    ontology = MinerOntology(tbox, static, classes)
    given = document["settings"]
    rules = tuple(
        TrackedRule(*(tuple(map(tuple, rule[part])) for part in ("body", "head")))
        for rule in given["rules"]
    )
    found = object.__new__(RuleMiner)
    found.ontology, found.step, found.allow = ontology, document["step"], tuple(document["allow"])
    sets = {"eps": frozenset(given["eps"]), "head": tuple(given.get("head", ())), "rules": rules}
    origins = {name: tuple(given.get(name, ())) for name in ("body_sources", "head_sources")}
    found.settings = MinerSettings.from_options(**{**given, **sets, **origins})
    found.windows, found.leftovers = WindowMiner(ontology, found.settings), []
    restore_windows(found.windows, AssertionReader(ontology.signature), document, columns)
    return found


def _carried_to_json(carried: CarriedRules) -> Any:
    """Convert the rules that are carried between windows to JSON."""
    rules = [
        [
            tree,
            head,
            *carried.rules[tree, head],
            *(bits.tobytes().hex() for bits in carried.bits[tree, head]),
        ]
        for tree, head in carried.rules
    ]
    reported = carried.last_reported or MinedRules()
    told = [
        [r.body, r.head, r.support, r.body_support, r.binding_support, r.binding_body]
        for r in reported.rules
    ]
    shown = [
        [found.lift, found.refutations, found.instances, found.case_lift]
        for found in carried.findings
    ]
    return {
        "rules": rules,
        "reported": told,
        "shown": shown,
        "by_tbox": reported.entailed_by_tbox,
        "stopped": reported.is_truncated,
    }


def _carried_from_json(value: Mapping[str, Any]) -> CarriedRules:
    """Parse the JSON of rules that are carried between windows."""
    carried = CarriedRules()
    for tree, head, n, d, *texts in value["rules"]:
        key = _tree_from_json(tree), head
        carried.rules[key] = n, d
        carried.bits[key] = tuple(np.frombuffer(bytes.fromhex(text), np.uint64) for text in texts)  # type: ignore[assignment]
    told = tuple(MinedRule(_tree_from_json(tree), *rest) for tree, *rest in value["reported"])
    carried.last_reported = MinedRules(told, value["by_tbox"], value["stopped"])
    carried.findings = [
        RuleFinding(rule, lift, refuted, [(i, binding) for i, binding in instances], *more)
        for rule, (lift, refuted, instances, *more) in zip(told, value["shown"])
    ]
    return carried


def _tree_from_json(value: Any) -> BodyTree:
    """Parse the JSON of a rule body."""
    classes, branches = value
    return BodyTree(
        tuple(classes),
        tuple((role, inverse, _tree_from_json(below)) for role, inverse, below in branches),
    )
