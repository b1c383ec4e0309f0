"""One stream being watched: what the operator finds becomes rows, and verdicts at the end."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from math import inf
from time import perf_counter
from typing import Any, ClassVar

import numpy as np

from shiq.answers.verdict import Leftover, Verdict, is_blocking
from shiq.columns.arrays import Ints
from shiq.rdf import read_assertions
from shiq.streams.consistency.events import Numbering, TripleEncoder, one_name, static_columns
from shiq.streams.consistency.operator import ConsistencyOperator
from shiq.streams.consistency.plan import StreamPlan
from shiq.streams.consistency.spans import END
from shiq.streams.consistency.state import StreamPartition
from shiq.streams.consistency.verdicts import Beside, Row, StreamResult, Taken, Verdicts
from shiq.streams.consistency.violations import order
from shiq.streams.front.arrivals import Arrivals
from shiq.streams.front.checkpoint import packed, unpacked
from shiq.streams.front.operator import BatchReport, verdict_of

#: How many events are taken at once.
BATCH = 20_000
#: Individuals are kept in so many buckets, where these are spread over tasks.
BUCKETS = 32
#: Names of observers are given up when so many more are known than live.
_SPARE_NAMES = 10_000


@dataclass
class Watch:
    """One stream being checked (`shiq.streams.front.operator.Collector`).

    ``heard``: takes rows as they become known; ``follow``: those of conflicts that are open
    still are told too, and ``inconsistent`` is how many individuals and pairs have one at the
    newest time.
    """

    name: ClassVar[str] = "consistency"
    by_point: ClassVar[bool] = False
    patience: ClassVar[float] = inf
    plan: StreamPlan
    arrivals: Arrivals
    start: int | None = None
    end: int | None = None
    batch: int = BATCH
    allow: Collection[str] = ()
    heard: Callable[[list[Row]], None] = lambda rows: None
    follow: bool = False
    beside: list[Beside] = field(default_factory=list)
    seconds: dict[str, float] = field(
        default_factory=lambda: dict.fromkeys(("reading", "deciding", "writing"), 0.0)
    )
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("events", "triples", "outside", "tuples"), 0)
    )
    rows: list[Row] = field(default_factory=list)
    inconsistent: int | None = None

    def __post_init__(self) -> None:
        self.partition, self.names = StreamPartition(self.plan), Numbering()
        self.encoder = TripleEncoder(self.plan.view, self.plan.masks)
        self.verdicts = Verdicts(self.plan.window)
        self.leftovers = list(self.plan.leftovers)
        self.arrivals.window, self.arrivals.unused = self.plan.window, self._unused
        self._begun = perf_counter()

    def begin(self, static: Any) -> None:
        """Takes what holds at all times: the ontology's own assertions, and ``static``."""
        assertions = list(self.plan.abox)
        if static is not None:
            sources = list(static) if isinstance(static, list | tuple) else [static]
            reading = read_assertions(
                sources, self.plan.view.signature, axioms=self.plan.view.axioms
            )
            assertions += reading.abox
            self.leftovers += [
                leftover for leftover in reading.leftovers if is_blocking(leftover, self.allow)
            ]
        self.encoder.same = one_name(assertions)
        left: list[object] = []
        columns = static_columns(self.encoder, assertions, left.append)
        if left:
            reason = "a static assertion that is none of names and roles"
            self.leftovers.append(
                Leftover("outside-dl-lite", reason, text=str(left[0]), count=len(left))
            )
        self.counts["tuples"] = self.encoder.tuples
        self.static = list(self.encoder.names.names), columns.key, columns.label
        self.partition.take_static(columns.key, columns.label)
        if self.beside:
            self.names = self.encoder.names
        for one in self.beside:
            one.begin(self.partition.spans)
        self.verdicts.always |= any(
            is_blocking(leftover, self.allow) for leftover in self.leftovers
        )
        self._begun = perf_counter()

    def operator(self, *, in_tasks: bool = False) -> ConsistencyOperator:
        """What is done with events; what is static is handed over."""
        limits = self.arrivals.limits(self.start, self.end)
        buckets = BUCKETS if in_tasks else 1
        how = self.follow, bool(self.beside), buckets
        return ConsistencyOperator(self.plan, self.encoder.same, self.static, limits, *how)

    def _unused(self, kind: str, t: int | None) -> None:
        if kind not in self.allow:
            self.verdicts.not_used(t)

    def flush(self) -> None:
        """Rows do not wait."""

    def refuse(self, text: str) -> None:
        """Takes the text of a record that is not used."""
        for one in self.beside:
            one.refuse(text)

    def collect(self, report: BatchReport, rows: Iterable[Row]) -> None:
        """Takes the figures, rejects and rows of a batch: final ones, then what is beside, then
        those of conflicts that opened.
        """
        report.settle(self.arrivals, self.counts)
        self._show([dict(zip(report.shown, of)) for of in zip(*report.shown.values())])
        found = sorted(rows, key=order)
        for state in report.states:
            self.partition, self.inconsistent = state.partition, state.inconsistent
            if state.live is not None:
                self.verdicts.settle(state.live)
        self._tell([row for row in found if row["final"]])
        self._pass((self.arrivals.clock.watermark or 0) - 1)
        self.heard([row for row in found if not row["final"]])

    def _show(self, rows: list[Row]) -> None:
        """Shows what is beside the records of a batch."""
        who = self.names.all(name for row in rows for name in row["who"])
        label = [number for row in rows for number in row["label"]]
        codes = self.plan.masks.code(np.array(who, np.int64), np.array(label, np.int64))
        ends = np.cumsum([len(row["who"]) for row in rows]).tolist()
        for row, low, high in zip(rows, [0, *ends], ends):
            for one in self.beside:
                if row["used"]:
                    event = Taken(row["t"], row["triples"], codes[low:high], row["is_whole"])
                    one.take(row["text"], event)
                else:
                    one.refuse(row["text"])

    def _tell(self, rows: list[Row]) -> None:
        """Tells final rows."""
        begun = perf_counter()
        self.heard(rows)
        self.verdicts.add(rows)
        self.rows += rows
        self.seconds["writing"] += perf_counter() - begun

    def _pass(self, upto: int) -> None:
        """Has what is beside do all up to a time, and let go of names."""
        for one in self.beside:
            begun = perf_counter()
            rows, unsure = one.passed(upto)
            self.seconds[one.name] = self.seconds.get(one.name, 0.0) + perf_counter() - begun
            self._tell(list(rows))
            for c in unsure:
                self.verdicts.unsure(c)
        live: Ints = np.unique(np.concatenate([[], *(one.keys() for one in self.beside)]))
        if len(self.names.names) > 2 * len(live) + _SPARE_NAMES:
            numbers = self.names.keep(live.astype(np.int64))
            for one in self.beside:
                one.renumber(numbers)

    def finish(self, rows: Iterable[Row]) -> StreamResult:
        """Takes the last rows; what is known."""
        newest, rejects = self.arrivals.clock.newest, self.arrivals.rejects
        rejects.refuse_if_all(newest is None)
        first = self.arrivals.first if self.start is None else self.start
        last = newest if self.end is None else self.end
        found = sorted(rows, key=order)
        self._pass(END if last is None else last)
        self._tell(found)
        is_stream = first is not None and last is not None and first <= last
        runs = self.verdicts.runs(first, last) if is_stream else []  # type: ignore[arg-type]
        leftovers = [*self.leftovers, *rejects.leftovers()]
        values = {run["verdict"] for run in runs}
        undetermined = Verdict.UNDETERMINED.value in values or any(
            is_blocking(leftover, self.allow) for leftover in leftovers
        )
        verdict = verdict_of(Verdict.INCONSISTENT.value in values, undetermined)
        whole = tuple(sorted(self.rows, key=order))
        return StreamResult(verdict, tuple(leftovers), self._statistics(), whole, tuple(runs))

    def _statistics(self) -> dict[str, Any]:
        self.seconds["reading"] = 0.0
        self.seconds["reading"] = perf_counter() - self._begun - sum(self.seconds.values())
        counts = dict(self.counts)
        tuples = counts.pop("tuples")
        return {
            **counts,
            "duplicates": self.arrivals.duplicates,
            "tuples": tuples,
            "evaluations": self.partition.strategy.evaluations,
            "cached": {"rows": self.partition.most_rows, "bytes": self.partition.most_bytes},
            "rejected": dict(self.arrivals.rejects.counts),
            "seconds": {name: round(spent, 3) for name, spent in self.seconds.items()},
        }

    def state(self) -> bytes:
        """What `restore` takes."""
        document = {
            "arrivals": self.arrivals.state(),
            "verdicts": self.verdicts.state(),
            "beside": {one.name: one.state() for one in self.beside},
            "counts": self.counts,
        }
        return packed(document, {"names": self.names.column()})

    def restore(self, state: bytes) -> None:
        """Goes on where another watch was, which had begun with the same."""
        document, columns = unpacked(state)
        if self.beside:
            self.names.of_column(columns["names"])
        self.arrivals.restore(document["arrivals"])
        self.verdicts.restore(document["verdicts"])
        for one in self.beside:
            one.restore(document["beside"][one.name])
        # Checkpoints of before had the tuples beside the counts.
        self.counts = {"tuples": document.get("tuples", 0), **document["counts"]}

    def bucket_states(self, state: bytes) -> list[bytes]:
        """The partition in a checkpoint of a version that kept all in one."""
        return [state]
