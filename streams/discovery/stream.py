"""A stream being mined: records in, the reports of windows out.

A finite source may be read in any order: how far its lines are out of order is looked up first,
where it can be read twice, and a window is reported when nothing can come to it any more. A
source that is followed is reported as it comes; what is late is put in its place, for the
windows to come. First the collector, then the operator, then what is saved of a miner.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby, islice
from math import inf
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
from shiq.streams.discovery.atomsets import Atom, Tree
from shiq.streams.discovery.counting import MinedRule
from shiq.streams.discovery.mining import CarriedRules, MinedRules
from shiq.streams.discovery.ontology import (
    AssertionReader,
    Ontology,
    parse_expression,
    parse_ontology,
    statement_texts,
)
from shiq.streams.discovery.report import RuleFinding, WindowReport
from shiq.streams.discovery.settings import MinerSettings, TrackedRule
from shiq.streams.discovery.snapshots import MinerKnowledge, UndecidedEntailmentError
from shiq.streams.discovery.windows import WindowMiner
from shiq.streams.front.arrivals import (
    EventIntake,
    EventLimits,
    RejectLog,
    StreamTime,
    WatermarkTracker,
)
from shiq.streams.front.checkpoint import pack_state, unpack_state
from shiq.streams.front.event import Event, EventError, Record, event_from_record, parse_event
from shiq.streams.front.operator import (
    BatchReport,
    Columns,
    PartitionedEvents,
    RejectedEvent,
    Row,
    StreamAnswer,
    stream_verdict,
)
from shiq.streams.front.sources import Folder, LinesFile, Source, open_source
from shiq.support import bits

if TYPE_CHECKING:
    from shiq.streams.discovery.miner import RuleMiner


#: So many inconsistent snapshots are named.
_MOST_NAMED = 20
_T = re.compile(rb'\s*\{\s*"t"\s*:\s*(\d+)\s*[,}]')


@dataclass(frozen=True)
class MiningResult(StreamAnswer):
    """What came of a stream: each report as the JSON has it, or the last alone, and what stands
    beside them. ``inconsistent_snapshots``: the first snapshots that are; ``is_truncated``: some window has
    more rules than the limit allows.
    """

    windows: list[dict[str, Any]]
    inconsistent_snapshots: list[int]
    is_truncated: bool


@dataclass
class DiscoveryCollector:
    """Mines windows (`shiq.streams.front.operator.Collector`). ``on_report``: takes reports as they are
    made; ``max_disorder``: how many snapshots behind the newest one may still come, None for any number;
    ``keeps_all_reports``: whether the result has all reports, not just the last.
    """

    name: ClassVar[str] = "discover"
    batch_size: ClassVar[int] = 1_000
    steps_by_point: ClassVar[bool] = True
    max_wait_seconds: ClassVar[float] = inf
    windows: WindowMiner
    ontology: Ontology
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
            self.intake.parse = event_with_source
        self.intake.window = self.windows.settings.window
        self.last_reported_end: int | None = None
        self.reports: list[dict[str, Any]] = []
        self.inconsistent_snapshots, self.is_truncated = list[int](), False
        self.counts = dict.fromkeys(("events", "triples", "windows", "rules"), 0)
        self.seconds = dict.fromkeys((*self.windows.seconds, "deciding"), 0.0)

    def record_time_reader(
        self, sources: Sequence[Source], unit: str = "sec", format: str = "auto"
    ) -> Callable[[Record], int | None]:
        """What gives the time of a record, to merge finite ``sources`` by; how far they are out
        of order is looked up.
        """
        files = [source for source in sources if isinstance(source, LinesFile | Folder)]
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
        found = _T.match(record.data)
        if found is not None:
            return int(found[1]) // self.step
        try:
            return (record.event or parse_event(record.data, self.intake.unit)).t // self.step
        except EventError:
            return None

    def _measure_disorder(self, source: Source) -> int:
        newest = most = 0
        for record in source.read(False):
            t = self._record_time(record)
            if t is not None:
                newest, most = max(newest, t), max(most, newest - t)
        return most

    def operator(self, *, in_tasks: bool = False) -> SnapshotOperator:
        """What is done with events; for tasks all is worked out that is done once."""
        knowledge, limits = self.windows.knowledge, self.intake.limits()
        if not in_tasks:
            return SnapshotOperator(self.ontology.signature, limits)
        if self.windows.origin_snapshots:
            raise UsageError(
                "rules from one stream to another are mined in one process",
                "Leave out --engine spark, or --from and --to.",
            )
        knowledge.entailed_atoms(())
        return SnapshotOperator(self.ontology.signature, limits, knowledge, BUCKETS)

    def collect(self, report: BatchReport, rows: Iterable[Row]) -> None:
        """Put what came into snapshots, and report on the windows to which nothing can come any
        more.
        """
        report.apply_to(self.intake, self.counts)
        for row in sorted(rows, key=lambda row: row["told"][0][0] if row["told"] else -1):
            self._add_to_snapshots(row)
        newest = report.stream_time.newest
        if self.max_disorder is not None and newest is not None:
            self.report_until(newest - self.max_disorder - 1)

    def _add_to_snapshots(self, row: Row) -> None:
        """Put triples into snapshots, with what these entail where that was worked out."""
        begun = perf_counter()
        snapshots = self.windows.snapshots
        for t, texts, *source in row["told"]:
            assertions = self.assertion_reader.read(texts, lambda *refused: None)
            self.windows.put(t, assertions, *source)
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

    def report_until(self, last: int) -> None:
        """Tells the reports of the windows that end with ``last`` or before, each once."""
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

    def flush(self) -> None:
        """Nothing waits: a window is reported as time goes on."""

    def finish(self, rows: Iterable[Row] = ()) -> MiningResult:
        """Tells the rest; what came of it. Raises: InputError where no line was an event."""
        newest, rejects = self.windows.newest_index, self.intake.rejects
        rejects.raise_if_all_rejected(newest is None)
        if newest is not None:
            self.report_until(newest)
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
        """What was not interpreted, of the ontology and of the stream."""
        return [
            *self.ontology.leftovers,
            *self.windows.knowledge.leftovers(),
            *self.intake.rejects.leftovers(),
        ]

    def state(self) -> bytes:
        """What `restore` takes."""
        document, columns = windows_state(self.windows)
        more = {
            "arrivals": self.intake.state(),
            "reported": self.last_reported_end,
            "told": self.reports,
            "found": [self.inconsistent_snapshots, self.is_truncated, self.counts, self.seconds],
            "undecided": self.windows.knowledge.undecided_reasons,
        }
        return pack_state({**document, **more}, columns)

    def restore(self, state: bytes) -> None:
        """Goes on where another run was."""
        document, columns = unpack_state(state)
        restore_windows(self.windows, self.assertion_reader, document, columns)
        self.intake.restore(document["arrivals"])
        self.last_reported_end, self.reports = document["reported"], document["told"]
        self.inconsistent_snapshots, self.is_truncated, self.counts, seconds = document["found"]
        self.seconds |= seconds
        self.windows.knowledge.undecided_reasons |= document["undecided"]

    def legacy_bucket_states(self, state: bytes) -> list[bytes]:
        """Versions that kept all in one had nothing else."""
        return [b""]


#: Fixed for a checkpoint; so many tasks work on a batch at most.
BUCKETS: Final = 16
#: Snapshots whose entailments are told together.
SNAPSHOTS_PER_WORD: Final = 64

#: What snapshots assert, as N-Triples, each once, by index.
Texts = dict[int, dict[str, None]]


@dataclass(frozen=True)
class SnapshotOperator:
    """`shiq.streams.front.operator.Operator`. ``knowledge``: what works out what is entailed,
    opened, so that what it saturated once is sent along; None where that is not asked.
    """

    shows_events: ClassVar[bool] = False
    is_stateful: ClassVar[bool] = True
    signature: owl.Signature
    limits: EventLimits
    knowledge: MinerKnowledge | None = None
    buckets: int = 1

    @cached_property
    def assertion_reader(self) -> AssertionReader:
        return AssertionReader(self.signature)

    def partition_events(self, events: Sequence[Event | None]) -> PartitionedEvents:
        """The triples of events that can be used, by the word of their snapshot."""
        found, refused = dict[int, list[tuple[int, int, list[str], str]]](), list[RejectedEvent]()
        for number, event in enumerate(events):
            if event is None:
                continue
            unused = set[str]()

            def tell(
                kind: str, reason: str, text: str, number: int = number, unused: set[str] = unused
            ) -> None:
                refused.append((number, kind, reason, text))
                unused.add(text)

            self.assertion_reader.read(event.triples, tell)
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
        """The snapshots of a bucket."""
        found = json.loads(zlib.decompress(state)) if state else ()
        return SnapshotState(self, {t: dict.fromkeys(texts) for t, texts in found})


@dataclass(frozen=True)
class SnapshotState:
    """What the snapshots of a bucket assert, as long as they may change; nothing where it is not
    asked what they entail.
    """

    operator: SnapshotOperator
    texts: Texts = field(default_factory=dict)

    def step(self, parts: Sequence[Columns], moment: StreamTime) -> list[Row]:
        """Unite snapshots with what came; a row for each word of which some changed."""
        if self.operator.knowledge is None:
            each = (zip(part["t"].tolist(), part["texts"], part["source"]) for part in parts)
            return [{"told": [row for part in each for row in part]}]
        came = [(t, texts) for part in parts for t, texts in zip(part["t"].tolist(), part["texts"])]
        held, new = self.texts, Texts()
        for t, texts in came:
            if t not in held:
                held[t], new[t] = {}, {}
            more = dict.fromkeys(text for text in texts if text not in held[t])
            if more:
                held[t].update(more)
                new.setdefault(t, {}).update(more)
        rows = [
            self._word_row(self.operator.knowledge, new, list(changed))
            for _, changed in groupby(sorted(new), lambda t: t // SNAPSHOTS_PER_WORD)
        ]
        for t in [t for t in held if moment.watermark is not None and t < moment.watermark]:
            del held[t]
        return rows

    def _word_row(self, knowledge: MinerKnowledge, new: Texts, changed: Sequence[int]) -> Row:
        """``told``: what is new of the snapshots that changed; ``out``: those that entail
        nothing usable, and why that is not known; ``columns``: atoms, each with the bits of the
        others that entail it.
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

    def finish(self, moment: StreamTime) -> Iterable[Row]:
        """Nothing: all is told as it comes."""
        return ()

    def to_bytes(self) -> bytes:
        texts: Any = [[t, list(texts)] for t, texts in self.texts.items()]
        return zlib.compress(json.dumps(texts).encode(), 1) if texts else b""


_NAME = "miner.npz"
#: Before the names of columns: of all that snapshots assert, and of what bodies and heads come from.
_PARTS = ("", "body_", "head_")


def event_with_source(record: Record, unit: str) -> Event:
    """The event of a record, with the name of its source. Raises: EventError."""
    return event_from_record(record, unit)._replace(raw=record.source)


def windows_state(windows: WindowMiner) -> tuple[dict[str, Any], dict[str, Any]]:
    """What windows know, as JSON and columns of numbers."""
    columns: dict[str, Any] = {}
    for name, snapshots in zip(_PARTS, (windows.snapshots, *windows.origin_snapshots)):
        parts = [snapshots.packed_text(index, statement_texts) for index in snapshots.assertions]
        columns |= {
            f"{name}indices": np.array(list(snapshots.assertions), np.int64),
            f"{name}lengths": np.array([len(part) for part in parts], np.int64),
            f"{name}texts": np.frombuffer(b"".join(parts), np.uint8),
        }
    carried = {str(end): _carried_json(carried) for end, carried in windows.carried_rules.items()}
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
    """Lets windows know what `windows_state` gave."""
    for name, snapshots in zip(_PARTS, (windows.snapshots, *windows.origin_snapshots)):
        whole, at = columns[f"{name}texts"].tobytes(), 0
        indices, lengths = columns[f"{name}indices"], columns[f"{name}lengths"]
        for index, length in zip(indices.tolist(), lengths.tolist()):
            text = zlib.decompress(whole[at : at + length]).decode("utf-8", "surrogatepass")
            at += length
            snapshots.put(index, intake.read(text.split("\n") if text else [], _raise_damaged))
    windows.first_index, windows.newest_index = document["first"], document["newest"]
    windows.carried_rules = {
        int(end): _carried_from_json(found) for end, found in document["carried"].items()
    }


def _raise_damaged(kind: str, reason: str, text: str) -> None:
    raise OperationalError(
        f"a saved assertion cannot be read: {text} ({reason})",
        "Remove what was saved and begin anew.",
    )


def save(miner: RuleMiner, directory: str | PathLike[str]) -> None:
    """See `RuleMiner.save`."""
    folder, ontology, settings = Path(directory), miner.ontology, miner.settings
    document, columns = windows_state(miner.windows)
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
        replace_file(folder / _NAME, pack_state({**document, **more}, columns))


def load(directory: str | PathLike[str]) -> RuleMiner:
    """See `RuleMiner.load`."""
    from shiq.streams.discovery.miner import RuleMiner

    file = Path(directory) / _NAME
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
    ontology = Ontology(tbox, static, classes)
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


def _carried_json(carried: CarriedRules) -> Any:
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


def _carried_from_json(found: Mapping[str, Any]) -> CarriedRules:
    carried = CarriedRules()
    for tree, head, n, d, *texts in found["rules"]:
        key = _tree_from_json(tree), head
        carried.rules[key] = n, d
        carried.bits[key] = tuple(np.frombuffer(bytes.fromhex(text), np.uint64) for text in texts)  # type: ignore[assignment]
    told = tuple(MinedRule(_tree_from_json(tree), *rest) for tree, *rest in found["reported"])
    carried.last_reported = MinedRules(told, found["by_tbox"], found["stopped"])
    carried.findings = [
        RuleFinding(rule, lift, refuted, [(i, binding) for i, binding in instances], *more)
        for rule, (lift, refuted, instances, *more) in zip(told, found["shown"])
    ]
    return carried


def _tree_from_json(found: Any) -> Tree:
    classes, branches = found
    return Tree(
        tuple(classes),
        tuple((role, inverse, _tree_from_json(below)) for role, inverse, below in branches),
    )
