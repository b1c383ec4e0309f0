"""What stream commands share: events, sources, sinks, lateness, rejects, checkpoints; each fault
of an input is named.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import socketserver
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shiq.answers.verdict import KINDS
from shiq.errors import InputError, OperationalError, UsageError
from shiq.rml.model import RepeatedMemberError
from shiq.rml.program import parse_record as mapped_record
from shiq.streams.enrichment.jsonld import parse_jsonld_record
from shiq.streams.front.checkpoint import (
    POINTS_PER_CHECKPOINT,
    Checkpoint,
    CheckpointContent,
    CheckpointTimer,
    open_checkpoint,
    pack_state,
    unpack_state,
)
from shiq.streams.front.event import Event, EventError, Record, parse_event
from shiq.streams.front.intake import (
    AHEAD,
    LATE,
    MALFORMED,
    EventIntake,
    RejectLog,
    WatermarkTracker,
)
from shiq.streams.front.kafka import KafkaSource, _fetch_offset_range
from shiq.streams.front.run import LINE_SECONDS, RunStatus, StreamRun, open_run
from shiq.streams.front.sinks import LinesFileSink, open_sink
from shiq.streams.front.sources import MergedInput, open_source
from shiq.streams.rules.records import parse_record as rules_record
from tests.command_line import shiq

LINE = '{"t": %d, "triples": ["<urn:s> <urn:p> <urn:o> ."]}'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"t": 1', "no JSON"),
        ("[1]", "a JSON object"),
        ('{"triples": []}', "has a time"),
        ('{"t": null, "triples": []}', "has a time"),
        ('{"t": "tomorrow", "triples": []}', "not 'tomorrow'"),
        ('{"t": 1.0, "triples": []}', "not 1.0"),
        ('{"t": true, "triples": []}', "not true"),
        ('{"t": NaN, "triples": []}', "NaN is no number"),
        ('{"t": -1, "triples": []}', "not -1"),
        ('{"t": "1969-12-31T23:59:59Z", "triples": []}', "from 0"),
        ('{"t": 9223372036854775808, "triples": []}', "2^63"),
        ('{"t": ' + "9" * 5000 + ', "triples": []}', "no JSON"),
        ('{"t": 1}', '"triples"'),
        ('{"t": 1, "triples": "<urn:s> <urn:p> <urn:o> ."}', "a list of texts"),
        ('{"t": 1, "triples": [1]}', "a list of texts"),
        ('{"t": 1, "t": 2, "triples": []}', '"t" is there twice'),
        ('{"t": 1, "triples": [], "id": 1.5}', '"id"'),
        ("[" * 100_000, "no JSON"),
    ],
)
def test_what_is_no_event_says_why(text: str, said: str) -> None:
    with pytest.raises(EventError, match=said.replace("^", r"\^").replace("[", r"\[")):
        parse_event(text)


@pytest.mark.parametrize("twice", ['"t": 1, "t": 2', '"t": 2, "\\u0074": 2'])
def test_a_record_of_any_form_that_has_a_time_twice_is_none(twice: str) -> None:
    for row in ('"types": {}, "verdict": "consistent"', '"from": 1, "to": 2', '"triples": []'):
        for read in (parse_event, parse_jsonld_record, mapped_record, read_by_rules):
            with pytest.raises((EventError, RepeatedMemberError), match='"t" is there twice'):
                read(f"{{{twice}, {row}}}".encode())


def read_by_rules(data: bytes) -> Event:
    return rules_record(Record("", 1, data))


def test_times_are_floored_to_the_unit() -> None:
    moment = '{"t": "2014-08-01T08:59:59.999", "triples": []}'
    seconds = 1406883599
    assert [parse_event(moment, unit).t for unit in ("msec", "sec", "min", "hrs")] == [
        seconds * 1000 + 999,
        seconds,
        seconds // 60,
        seconds // 3600,
    ]
    assert (
        parse_event('{"t": "2014-08-01T10:00:00+02:00", "triples": []}', "hrs").t
        == 1406880000 // 3600
    )


def test_late_and_far_ahead_are_judged_one_by_one() -> None:
    clock = WatermarkTracker(lateness=1, max_ahead=10)
    judged = [clock.classify(t) for t in (5, 6, 5, 4, 17, 16, 14)]
    assert judged == ["", "", "", "late", "ahead", "", "late"]
    assert (clock.newest, clock.watermark) == (16, 15)


def _lines(path: Path, times: range) -> None:
    data = "".join(LINE % t + "\n" for t in times).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


@pytest.mark.parametrize("name", ["events.jsonl", "events.jsonl.gz"])
def test_a_file_goes_on_behind_any_record(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    _lines(file, range(5))
    whole = list(open_source(str(file)).read(False))
    assert [(record.line, parse_event(record.data).t) for record in whole] == [
        (t + 1, t) for t in range(5)
    ]
    for stop in range(5):
        first = open_source(str(file))
        begun = first.read(False)
        read = [next(begun) for _ in range(stop)]
        second = open_source(str(file))
        second.position = json.loads(json.dumps(first.position))
        assert read + list(second.read(False)) == whole


def test_blank_lines_and_a_cut_end_keep_their_numbers(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    file.write_bytes(b"\n" + (LINE % 1).encode() + b'\r\n\n{"t": 2, "tri')
    records = list(open_source(str(file)).read(False))
    assert [record.line for record in records] == [2, 4]
    assert parse_event(records[0].data).t == 1
    with pytest.raises(EventError):
        parse_event(records[1].data)


def test_a_folder_is_read_by_name_and_goes_on(tmp_path: Path) -> None:
    _lines(tmp_path / "b.jsonl", range(3, 5))
    _lines(tmp_path / "a.jsonl", range(3))
    source = open_source(str(tmp_path))
    reading = source.read(False)
    first = [parse_event(next(reading).data).t for _ in range(4)]
    again = open_source(str(tmp_path))
    again.position = json.loads(json.dumps(source.position))
    assert first + [parse_event(record.data).t for record in again.read(False)] == [0, 1, 2, 3, 4]
    (tmp_path / "c").mkdir()
    with pytest.raises(InputError, match="folder within a folder"):
        list(open_source(str(tmp_path)).read(False))


def test_tables_are_rows_of_one_event_each(tmp_path: Path) -> None:
    file = tmp_path / "events.parquet"
    columns = {
        "s": ["<urn:s>"] * 3,
        "p": ["<urn:p>"] * 3,
        "o": ["<urn:o>", '"x"', "<urn:o>"],
        "t": [1, 2, -3],
    }
    pq.write_table(pa.table(columns), file)
    records = list(open_source(str(file)).read(False))
    assert [record.event and record.event.t for record in records] == [1, 2, None]
    assert records[1].event is not None
    assert records[1].event.triples == ('<urn:s> <urn:p> "x" .',)
    assert "from 0" in records[2].problem
    pq.write_table(pa.table({"s": ["<urn:s>"]}), file)
    with pytest.raises(InputError, match="no column 'p'"):
        list(open_source(str(file)).read(False))


def test_a_socket_is_read_to_its_close() -> None:
    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write((LINE % 1 + "\n" + LINE % 2).encode())

    with socketserver.TCPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        records = list(open_source(f"socket://127.0.0.1:{server.server_address[1]}").read(False))
    assert [parse_event(record.data).t for record in records] == [1, 2]


@pytest.mark.parametrize(
    ("target", "error"),
    [
        ("no/such.jsonl", InputError),
        ("http://x/y", UsageError),
        ("kafka://host/topic", UsageError),
        ("socket://host", UsageError),
    ],
)
def test_sources_that_are_none(target: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        list(open_source(target).read(False))


def test_rejects_are_counted_shown_and_written(tmp_path: Path) -> None:
    sink = LinesFileSink(tmp_path / "rejects.jsonl")
    rejects = RejectLog(sink.write)
    for line in range(50):
        rejects.add_reject(LATE, "s", line, "too late", "text")
    rejects.add_reject(MALFORMED, "s", 99, "no JSON", "\udc80")
    sink.flush()
    rows = [json.loads(row) for row in (tmp_path / "rejects.jsonl").read_text().splitlines()]
    assert len(rows) == 51
    assert rows[0] == {
        "kind": "late",
        "source": "s",
        "line": 0,
        "reason": "too late",
        "text": "text",
    }
    assert sum(leftover.count for leftover in rejects.leftovers()) == 51
    assert {LATE, MALFORMED, AHEAD} <= set(KINDS)


def test_an_output_is_cut_back_to_the_checkpoint(tmp_path: Path) -> None:
    file = tmp_path / "out.jsonl"
    sink = open_sink(str(file))
    sink.write(["1", "2"])
    length = sink.flush()
    sink.write(["3"])
    sink.close()
    again = open_sink(str(file), length)
    again.write(["4"])
    again.close()
    assert file.read_text() == "1\n2\n4\n"
    with pytest.raises(OperationalError, match="has 6 bytes, but 60"):
        open_sink(str(file), 60)
    open_sink(str(file)).close()
    assert file.read_text() == ""


@pytest.mark.parametrize("name", ["out.parquet", "out.delta"])
def test_tables_as_outputs(tmp_path: Path, name: str) -> None:
    from deltalake import DeltaTable

    sink = open_sink(str(tmp_path / name))
    sink.write(['{"t": 1, "atoms": ["a"]}', '{"t": 2, "atoms": []}'])
    length = sink.flush()
    sink.write(['{"t": 3, "atoms": ["b"]}'])
    sink.close()
    if name.endswith(".parquet"):
        assert pq.read_table(tmp_path / name).column("t").to_pylist() == [1, 2, 3]
        return
    again = open_sink(str(tmp_path / name), length)
    again.write(['{"t": 4, "atoms": []}'])
    again.close()
    assert sorted(DeltaTable(str(tmp_path / name)).to_pyarrow_table().column("t").to_pylist()) == [
        1,
        2,
        4,
    ]
    open_sink(str(tmp_path / name)).close()
    assert DeltaTable(str(tmp_path / name)).to_pyarrow_table().num_rows == 0, (
        "a run without rows begins anew, too"
    )


def test_a_checkpoint_is_one_step_of_one_run(tmp_path: Path) -> None:
    place, settings = tmp_path / "checkpoint", {"window": "3", "tbox": "abc"}
    saved = CheckpointContent({"events.jsonl": {"line": 2, "byte": 80}}, {"out": 7}, b"state")
    with open_checkpoint(place, settings) as checkpoint:
        assert checkpoint.load() is None
        checkpoint.save(saved)
        checkpoint.save(saved)
        with (
            pytest.raises(OperationalError, match="another writer"),
            open_checkpoint(place, settings),
        ):
            pass
    with open_checkpoint(place, settings) as checkpoint:
        assert checkpoint.load() == saved
    assert len(list(place.glob("state-*"))) == 1
    with pytest.raises(OperationalError, match="window 3, but this run has 4"):
        Checkpoint(place, {**settings, "window": "4"}).load()
    state = next(place.glob("state-*"))
    state.write_bytes(b"stat3")
    with pytest.raises(OperationalError, match="damaged"):
        Checkpoint(place, settings).load()


def test_a_checkpoint_is_due_each_hundred_points() -> None:
    pace = CheckpointTimer()
    assert [pace.is_due_after() for _ in range(POINTS_PER_CHECKPOINT)] == [False] * (
        POINTS_PER_CHECKPOINT - 1
    ) + [True]


def test_a_state_is_json_and_columns_and_never_a_pickle() -> None:
    document, columns = {"a": [1, "é"]}, {"x": np.arange(3), "y": np.zeros(0, np.uint8)}
    back, found = unpack_state(pack_state(document, columns))
    assert back == document
    assert {name: column.tolist() for name, column in found.items()} == {"x": [0, 1, 2], "y": []}
    with pytest.raises(AssertionError):
        pack_state({}, {"x": np.array([object()])})


# --- runs -----------------------------------------------------------------------------------------


class Summing:
    """Tells the sum of the times so far at each event, and at the end."""

    def __init__(self, run: StreamRun) -> None:
        self.arrivals = EventIntake(
            WatermarkTracker(3), RejectLog(run.outputs.make_text_writer("rejects"))
        )
        self.tell, self.sum = run.outputs.make_writer("out"), 0

    def process(self, record: Record) -> bool:
        points = self.arrivals.points
        event = self.arrivals.read_and_admit(record)
        if event is not None:
            self.sum += event.t
            self.tell([{"t": event.t, "sum": self.sum}])
        return self.arrivals.points > points

    def flush(self) -> None:
        """Nothing waits."""

    def state(self) -> bytes:
        return pack_state([self.arrivals.state(), self.sum], {})

    def restore(self, state: bytes) -> None:
        (arrivals, self.sum), _ = unpack_state(state)
        self.arrivals.restore(arrivals)

    def finish(self) -> int:
        self.tell([{"end": self.sum}])
        return self.sum


class Killed(BaseException):
    """The process ends here."""


def _dying(take: Callable[[Record], bool], after: int) -> Callable[[Record], bool]:
    left = iter(range(after))

    def taken(record: Record) -> bool:
        if next(left, None) is None:
            raise Killed
        return take(record)

    return taken


def _summed(
    folder: Path, names: list[str], after: int | None = None, by_time: bool = False, **settings: str
) -> int:
    """A run over sources with a checkpoint, which dies after some records."""
    sources = [open_source(str(folder / name)) for name in names]
    targets = {
        "out": str(folder / "out.jsonl"),
        "rejects": str(folder / "rejects.jsonl"),
        "more": None,
    }
    with open_run(sources, targets, folder / "checkpoint", {"window": "1", **settings}) as run:
        system = Summing(run)
        if after is not None:
            system.process = _dying(system.process, after)  # type: ignore[method-assign]
        return run.feed_system(
            system, time=(lambda record: parse_event(record.data).t) if by_time else None
        )


@pytest.mark.parametrize("by_time", [False, True])
def test_a_run_that_dies_anywhere_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_time: bool
) -> None:
    monkeypatch.setattr("shiq.streams.front.checkpoint.POINTS_PER_CHECKPOINT", 3)
    names = ["a.jsonl", "b.jsonl.gz", "c"]
    (tmp_path / "c").mkdir()
    _lines(tmp_path / "a.jsonl", range(4))
    _lines(tmp_path / "b.jsonl.gz", range(3, 7))
    _lines(tmp_path / "c" / "c1", range(6, 9))
    _lines(tmp_path / "c" / "c2", range(1, 3))
    whole = _summed(tmp_path, names, by_time=by_time)
    files = [tmp_path / "out.jsonl", tmp_path / "rejects.jsonl"]
    wanted = [file.read_bytes() for file in files]
    assert wanted[0].count(b"\n") + wanted[1].count(b"\n") == 14
    assert _summed(tmp_path, names, by_time=by_time) == whole  # nothing is left to do
    for stop in range(13):
        shutil.rmtree(tmp_path / "checkpoint")
        for after in (stop, 2, 1):
            with suppress(Killed):
                _summed(tmp_path, names, after, by_time)
            with open(files[0], "ab") as file:
                file.write(b"a row behind the checkpoint\n")
        assert _summed(tmp_path, names, by_time=by_time) == whole
        assert [file.read_bytes() for file in files] == wanted


def test_a_run_goes_on_where_a_source_has_grown(tmp_path: Path) -> None:
    _lines(tmp_path / "a.jsonl", range(3))
    assert _summed(tmp_path, ["a.jsonl"]) == 3
    _lines(tmp_path / "a.jsonl", range(5))
    assert _summed(tmp_path, ["a.jsonl"]) == 10
    rows = [json.loads(row) for row in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row.get("t", "end") for row in rows] == [0, 1, 2, 3, 4, "end"]


def test_runs_that_are_refused(tmp_path: Path) -> None:
    _lines(tmp_path / "a.jsonl", range(3))
    _lines(tmp_path / "b.jsonl", range(3))
    _summed(tmp_path, ["a.jsonl"])
    with pytest.raises(OperationalError, match="window 1, but this run has 2"):
        _summed(tmp_path, ["a.jsonl"], window="2")
    with pytest.raises(
        OperationalError, match=r"a\.jsonl, but this run has .*a\.jsonl, .*b\.jsonl"
    ):
        _summed(tmp_path, ["a.jsonl", "b.jsonl"])
    with pytest.raises(UsageError, match="given twice"):
        MergedInput([open_source(str(tmp_path / "b.jsonl"))] * 2)
    (tmp_path / "in").mkdir()
    kept = (tmp_path / "b.jsonl").read_bytes()
    for source, targets in (
        ("b.jsonl", {"out": "b.jsonl"}),
        ("b.jsonl", {"rejects": "in/../b.jsonl"}),
        ("in", {"out": "in/rows.jsonl"}),
        ("b.jsonl", {"out": "c.jsonl", "rejects": "c.jsonl"}),
        ("b.jsonl", {"out": "-", "verdicts": "-"}),
    ):
        places = {
            name: target if target == "-" else str(tmp_path / target)
            for name, target in targets.items()
        }
        with pytest.raises(
            UsageError, match=r"would replace what --source reads|, which --source reads|are both"
        ):
            open_run([open_source(str(tmp_path / source))], places).__enter__()
    assert (tmp_path / "b.jsonl").read_bytes() == kept
    with open_run([], {"out": "-", "rejects": os.devnull, "accepted": os.devnull}):
        pass
    with (
        pytest.raises(UsageError, match="Parquet"),
        open_run([], {"out": "x.parquet"}, tmp_path / "other"),
    ):
        pass


def test_sources_merged_by_time(tmp_path: Path) -> None:
    for name, times in (("a", (1, 4, 4)), ("b", (2, 3, 9)), ("c", (4, 5))):
        (tmp_path / name).write_text("".join(LINE % t + "\n" for t in times))
    (tmp_path / "b").write_text("broken\n" + (tmp_path / "b").read_text())

    def time(record: Record) -> int | None:
        return None if record.data == b"broken" else parse_event(record.data).t

    merged = MergedInput([open_source(str(tmp_path / name)) for name in "abc"])
    read = [
        (Path(record.source).name, time(record))
        for record in merged.read(time=time)
        if record is not None
    ]
    assert read == [("b", None), *zip("abbaaccb", (1, 2, 3, 4, 4, 4, 5, 9))]


def test_what_is_followed_comes_as_it_comes(tmp_path: Path) -> None:
    _lines(tmp_path / "a.jsonl", range(3))
    _lines(tmp_path / "b.jsonl", range(2))
    followed = MergedInput([open_source(str(tmp_path / name)) for name in ("a.jsonl", "b.jsonl")])
    reading, seen = followed.read(follow=True), list[str]()
    while len(seen) < 5:
        record = next(reading)
        seen += [Path(record.source).name] if record is not None else []
    assert next(reading) is None  # nothing for a while
    with open(tmp_path / "b.jsonl", "a") as file:
        file.write(LINE % 7)
        file.flush()
        assert next(reading) is None  # half a line is none yet
        file.write("\n")
    more = next(record for record in reading if record is not None)
    assert parse_event(more.data).t == 7
    reading.close()  # type: ignore[attr-defined]
    assert sorted(seen) == ["a.jsonl"] * 3 + ["b.jsonl"] * 2
    assert [followed.positions[name]["line"] for name in sorted(followed.positions)] == [3, 3]


def test_ids_are_known_for_the_window_and_the_lateness(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shiq.streams.front.intake._PRUNE_ABOVE", 1)
    arrivals = EventIntake(WatermarkTracker(2), RejectLog(), window=3)

    def accepted(t: int, name: str) -> bool:
        return (
            arrivals.read_and_admit(
                Record("s", 1, json.dumps({"t": t, "triples": [], "id": name}).encode())
            )
            is not None
        )

    assert [accepted(*event) for event in ((0, "a"), (5, "a"), (3, "a"), (6, "a"), (6, "a"))] == [
        True,
        False,
        False,
        True,
        False,
    ]
    assert arrivals.duplicates == 3
    assert all(accepted(t, str(t)) for t in range(7, 100))
    assert len(arrivals.state()["ids"]) < 20


# --- status ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("is_moving", "want"), [(False, "{}\n"), (True, "\r\x1b[2K{}")])
def test_a_run_says_how_it_goes(is_moving: bool, want: str) -> None:
    told, seconds, clock, rejects = list[str](), [0.0], WatermarkTracker(5), RejectLog()
    status = RunStatus(told.append, is_moving, clock=lambda: seconds[0])
    status.show_time(clock, "sec", lambda: 1_800_000_030.4)
    status.show_rejects(rejects)
    seconds[0] = LINE_SECONDS / 2 if is_moving else LINE_SECONDS
    status.update(100)
    assert told == [
        want.format("20 records/s, rejects 0" if is_moving else "10 records/s, rejects 0")
    ]
    status.update(5000)
    assert len(told) == 1, "it is not due again"
    clock.classify(1_800_000_000)
    rejects.add_reject("late", "f", 1, "so", "text")
    seconds[0] += LINE_SECONDS
    status.update()
    assert told[1] == want.format(
        "500 records/s, newest 1800000000, lag in seconds 30, watermark 1799999995, rejects 1"
    )
    clock.newest = 17
    seconds[0] += LINE_SECONDS
    status.update()
    assert told[2] == want.format("0 records/s, newest 17, watermark 12, rejects 1"), (
        "these are no times of the day"
    )
    status.clear()
    status.clear()
    assert told[3:] == (["\r\x1b[2K"] if is_moving else [])
    RunStatus().update(1)


def test_a_broker_that_is_not_there_is_told_once(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("confluent_kafka", reason="the extra 'kafka' is not installed")
    monkeypatch.setattr("shiq.streams.front.kafka._BROKER_TIMEOUT", 0.5)
    with pytest.raises(OperationalError, match="kafka://localhost:1/events: "):
        next(open_source("kafka://localhost:1/events").read(False))
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "name", ["LEADER_NOT_AVAILABLE", "NOT_LEADER_FOR_PARTITION", "TOPIC_AUTHORIZATION_FAILED"]
)
def test_a_partition_without_a_leader_is_asked_again_by_its_code(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kafka = pytest.importorskip("confluent_kafka", reason="confluent-kafka is not installed")
    monkeypatch.setattr("shiq.streams.front.kafka.time.sleep", lambda seconds: None)
    asked = []

    class Consumer:
        def get_watermark_offsets(self, partition: object, timeout: float) -> tuple[int, int]:
            asked.append(partition)
            if len(asked) < 3:
                raise kafka.KafkaException(
                    kafka.KafkaError(getattr(kafka.KafkaError, name), "a LEADER" * (name[0] == "T"))
                )
            return 0, 7

    if name.startswith("TOPIC"):
        with pytest.raises(kafka.KafkaException):
            _fetch_offset_range(kafka, Consumer(), "topic", 0)
        assert len(asked) == 1
    else:
        assert _fetch_offset_range(kafka, Consumer(), "topic", 0) == (0, 7) and len(asked) == 3


def test_a_source_without_an_event_is_named_with_its_first_line(tmp_path: Path) -> None:
    (tmp_path / "t.ofn").write_text("Ontology(SubClassOf(<urn:A> <urn:B>))")
    (tmp_path / "r.lp").write_text("p(X) :- b(X).")
    for name in ("one.txt", "two.txt"):
        (tmp_path / name).write_text("Dear diary\n")
    sources = ["-s", str(tmp_path / "one.txt"), "-s", str(tmp_path / "two.txt")]
    both = f"{tmp_path / 'one.txt'}, {tmp_path / 'two.txt'}"
    for command in (
        ["consistency", "-w", "2", "-t"],
        ["enrich", "-t"],
        ["discover", "-w", "2", "-t"],
    ):
        done = shiq(
            "stream", *command, str(tmp_path / "t.ofn"), *sources, "--out", str(tmp_path / "o")
        )
        assert done.returncode == 4 and f"no line of {both} is an event (line 1: " in done.stderr, (
            done.stderr
        )
    done = shiq("stream", "rules", str(tmp_path / "r.lp"), *sources[:2])
    assert (
        done.returncode == 4
        and f"no line of {tmp_path / 'one.txt'} is an event or a line of atoms (line 1: "
        in done.stderr
    )


def test_records_that_were_deleted_before_they_were_read_end_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kafka = pytest.importorskip("confluent_kafka", reason="confluent-kafka is not installed")
    source = KafkaSource("h:1", "topic")
    source.position = {"0": 5}

    class Consumer:
        def list_topics(self, topic: str, timeout: float) -> SimpleNamespace:
            return SimpleNamespace(topics={topic: SimpleNamespace(error=None, partitions=[0])})

        def get_watermark_offsets(self, partition: object, timeout: float) -> tuple[int, int]:
            return 9, 20

    with pytest.raises(
        OperationalError, match="the records 5 to 8 were deleted before they were read"
    ):
        next(source._consume_partitions(kafka, Consumer(), follow=False))
