"""Run of a stream system: read records from sources, write rows to outputs, and save checkpoints.

A process that dies loses its work since the last checkpoint; the next process repeats it. It reads
those records again and truncates those rows in the outputs (a topic that already has them is not
sent them again). So each row is written exactly once. The end of the input is processed after the
last checkpoint, so a run can resume when a source has grown.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from shiq.errors import UsageError
from shiq.jobs.outputs import (
    InputPlace,
    OutputPlace,
    check_outputs,
    refuse_shared_stdout,
    rows_kind,
)
from shiq.streams.front.checkpoint import (
    Checkpoint,
    CheckpointContent,
    CheckpointTimer,
    open_checkpoint,
)
from shiq.streams.front.event import UNITS, Record
from shiq.streams.front.intake import RejectLog, WatermarkTracker
from shiq.streams.front.kafka import KafkaSink
from shiq.streams.front.local import LocalRunner
from shiq.streams.front.operator import R_co
from shiq.streams.front.sinks import LinesFileSink, Sink, open_sink, serialise_row
from shiq.streams.front.sources import MergedInput, Source

# What a followed run says of itself while it goes on: one moving line on a terminal, plain
# lines elsewhere.


#: Seconds between redraws of a moving line, and between plain lines.
REDRAW_SECONDS: Final = 0.5
LINE_SECONDS: Final = 10.0
#: Times this far from the clock's, in seconds, are none of it: points that are only counted.
_YEAR: Final = 366 * 24 * 3600
_CLEAR: Final = "\r\x1b[2K"


@dataclass
class RunStatus:
    """Progress display of a followed run: one line redrawn on a terminal, plain lines elsewhere.

    write: receives the text; None for no display.
    is_moving: whether to redraw one line.
    figures: getters of the figures that are shown beside the rate, by name.
    records: number of records read.
    """

    write: Callable[[str], object] | None = None
    is_moving: bool = False
    figures: dict[str, Callable[[], int | None]] = field(default_factory=dict)
    clock: Callable[[], float] = time.monotonic
    records: int = 0
    _last: tuple[float, int] = (0.0, 0)
    _is_shown: bool = False

    def __post_init__(self) -> None:
        self._last = self.clock(), 0

    def update(self, records: int = 0) -> None:
        """Count ``records`` more records and print the progress if it is due."""
        self.records += records
        if self.write is None:
            return
        (then, before), now = self._last, self.clock()
        if now - then < (REDRAW_SECONDS if self.is_moving else LINE_SECONDS):
            return
        self._last = now, self.records
        told = {name: figure() for name, figure in self.figures.items()}
        text = format_status((self.records - before) / (now - then), told)
        self.write(f"{_CLEAR}{text}" if self.is_moving else f"{text}\n")
        self._is_shown = self.is_moving

    def clear(self) -> None:
        """Erase the redrawn progress line so that other text can be printed."""
        if self.write is not None and self._is_shown:
            self.write(_CLEAR)
            self._is_shown = False

    def show_time(
        self, tracker: WatermarkTracker, unit: str, now: Callable[[], float] = time.time
    ) -> None:
        """Show the newest time and the watermark; also the lag behind ``now`` if event times are
        clock times.
        """

        def compute_lag() -> int | None:
            """Seconds between the newest event and now; None if times are not clock times."""
            if tracker.newest is None:
                return None
            seconds = now() - tracker.newest * UNITS[unit] / 1_000_000
            return round(seconds) if abs(seconds) < _YEAR else None

        self.figures |= {
            "newest": lambda: tracker.newest,
            "lag in seconds": compute_lag,
            "watermark": lambda: tracker.watermark,
        }

    def show_rejects(self, rejects: RejectLog) -> None:
        """Show the number of rejected records in the progress line."""
        self.figures["rejects"] = lambda: sum(rejects.counts.values())


def format_status(rate: float, figures: Mapping[str, int | None]) -> str:
    """Format records per second and named figures as one progress line.

    >>> format_status(1234.4, {"newest": 17, "lag in seconds": None, "rejects": 1000})
    '1,234 records/s, newest 17, rejects 1,000'
    """
    times = ("newest", "watermark")
    told = [
        f"{name} {figure if name in times else f'{figure:,}'}"
        for name, figure in figures.items()
        if figure is not None
    ]
    return ", ".join([f"{rate:,.0f} records/s", *told])


#: Records that wait are many and hold no cycles: the collector would look at them again and again.
GC_THRESHOLD: Final = 50_000


@dataclass
class Outputs:
    """Open sinks by option name; rows for an output that was not asked for are dropped."""

    sinks: Mapping[str, Sink]

    def write_rows(self, name: str, rows: Iterable[Any]) -> None:
        """Write rows, each any JSON value, to the output of the option ``name``."""
        if name in self.sinks:
            self.sinks[name].write([serialise_row(row) for row in rows])

    def make_writer(self, name: str) -> Callable[[Iterable[Any]], None]:
        """Make a function that writes rows to the output of the option ``name``."""
        return partial(self.write_rows, name)

    def make_text_writer(self, name: str) -> Callable[[Sequence[str]], None]:
        """Make a function that writes rows that are JSON texts already (as `RejectLog` needs it)."""
        return self.sinks[name].write if name in self.sinks else lambda rows: None

    def make_readable(self) -> None:
        """Flush rows to files so that other programs can read them at once; they are not durable
        yet.
        """
        for sink in self.sinks.values():
            if isinstance(sink, LinesFileSink):
                sink.make_readable()

    def flush(self) -> dict[str, Any]:
        """Make all rows durable; return the write offset of each output, for a checkpoint."""
        return {name: sink.flush() for name, sink in self.sinks.items()}


@dataclass
class StreamRun:
    """One run of a stream system: its input, outputs, checkpoint and progress display.

    saved_content: content of the previous run's checkpoint.
    """

    input: MergedInput
    outputs: Outputs
    checkpoint: Checkpoint | None = None
    saved_content: CheckpointContent | None = None
    status: RunStatus = field(default_factory=RunStatus)

    def feed_system(
        self,
        system: LocalRunner[R_co],
        *,
        follow: bool = False,
        time: Callable[[Record], int | None] | None = None,
    ) -> R_co:
        """Feed a stream system with all records, save checkpoints when due, and return its result.

        time: see `MergedInput.read`.
        follow: read on as sources grow; Ctrl-C then ends the input.
        """
        if self.saved_content is not None:
            system.restore(self.saved_content.state)
        pace, changed, thresholds = CheckpointTimer(), False, gc.get_threshold()
        looks = self.checkpoint is not None or follow
        gc.set_threshold(GC_THRESHOLD, *thresholds[1:])
        try:
            for record in self.input.read(follow, time):
                went = record is not None and system.process(record)
                changed |= record is not None
                if follow:
                    self.status.update(record is not None)
                # Rather behind a point than within it, whose rows would wait.
                is_due = pace.is_due_after(went) and (went or pace.is_overdue)
                if looks and changed and (is_due or record is None):
                    self._save_checkpoint(system)
                    pace.restart()
                    changed = False
        except KeyboardInterrupt:
            if not follow:
                raise
        finally:
            gc.set_threshold(*thresholds)
        self._save_checkpoint(system)
        result = system.finish()
        self.outputs.flush()
        return result

    def _save_checkpoint(self, system: LocalRunner[R_co]) -> None:
        """Flush system and outputs, then save a checkpoint."""
        system.flush()
        lengths = self.outputs.flush()
        if self.checkpoint is not None:
            self.checkpoint.save(CheckpointContent(self.input.positions, lengths, system.state()))


@contextmanager
def open_run(
    sources: Sequence[Source],
    targets: Mapping[str, str | None],
    checkpoint: str | Path | None = None,
    settings: Mapping[str, str] | None = None,
    status: RunStatus | None = None,
) -> Iterator[StreamRun]:
    """Open the sources, outputs and checkpoint of a run.

    targets: by option name, see `open_sink`; None for no output.
    settings: everything else that changes rows, as short texts; a ``checkpoint`` with others is
    refused.
    status: the progress display.
    Raises: UsageError, OperationalError.
    """
    wanted = {name: target for name, target in targets.items() if target is not None}
    refuse_shared_stdout([(f"--{name}", target) for name, target in wanted.items()])
    check_outputs(
        [InputPlace("--source", source.name) for source in sources],
        [OutputPlace(f"--{name}", target, rows_kind(target)) for name, target in wanted.items()],
    )
    with ExitStack() as stack:
        kept = saved = None
        if checkpoint is not None:
            _require_resumable_outputs(wanted)
            names = {
                "source": ", ".join(source.name for source in sources),
                "outputs": ", ".join(sorted(wanted)),
            }
            kept = stack.enter_context(
                open_checkpoint(Path(checkpoint), {**(settings or {}), **names})
            )
            saved = kept.load()
        sinks: dict[str, Sink] = {}
        begun = kept.load_output_start() if kept is not None and saved is None else {}
        for name, target in wanted.items():
            # Files begin anew; a topic still has what was sent before the first checkpoint.
            first = begun.get(name) if target.startswith("kafka://") else None
            sinks[name] = open_sink(target, saved.output_offsets[name] if saved else first)
            stack.callback(sinks[name].close)
        topics = {name: sink.flush() for name, sink in sinks.items() if isinstance(sink, KafkaSink)}
        if kept is not None and saved is None and topics:
            kept.save_output_start(topics)
        status = status or RunStatus()
        stack.callback(status.clear)
        yield StreamRun(
            MergedInput(sources, dict(saved.positions) if saved else {}),
            Outputs(sinks),
            kept,
            saved,
            status,
        )


def _require_resumable_outputs(targets: Mapping[str, str]) -> None:
    """Raise UsageError for outputs that cannot be continued from a checkpoint."""
    for name, target in targets.items():
        if target.endswith(".parquet"):
            raise UsageError(
                f"--{name} {target}: a Parquet file cannot be gone on with",
                "Write JSON lines or a .delta table with --checkpoint.",
            )
