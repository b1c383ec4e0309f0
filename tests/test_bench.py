"""The benchmark: its arithmetic, its log, and that its processes measure what they say. No peer
is needed.
"""

from __future__ import annotations

import gzip
import json
import socket
from pathlib import Path

import pytest

from shiq.errors import InputError, UsageError
from shiq.jobs.evaluation.evaluate.data import Dataset, read_triples
from tests.tools.bench import run as bench
from tests.tools.bench.data import DATA_SEED, Base, base, sample, swapped
from tests.tools.bench.process import Bench, NotMeasured, Settings
from tests.tools.bench.record import Figure, Measured, RowRecord, last_kept, read_record, worse
from tests.tools.bench.repeat import Repeat, Row
from tests.tools.bench.rows import ROWS
from tests.tools.bench.rule_rows import MEASURED
from tests.tools.bench.rules import STREAMS

pytestmark = pytest.mark.evaluation

TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
TBOX = """@prefix : <urn:t#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
:Cat a owl:Class ; owl:disjointWith :Dog . :Dog a owl:Class . :chases a owl:ObjectProperty .
"""
LESS, MORE = Figure("seconds", "s", 2.0), Figure("speed-up", "×", 10.0, better=1)


def quiet(stage: str, done: int, total: int) -> None:
    """Takes progress, and shows nothing."""


# --- figures --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("figure", "values", "met"),
    [
        (LESS, (3.0, 1.0, 2.0), True),
        (LESS, (3.0, 2.1), False),
        (MORE, (9.0, 10.0, 50.0), True),
        (MORE, (9.9,), False),
        (MORE, (), None),
        (Figure("for information", "s"), (1.0,), None),
    ],
)
def test_a_median_meets_its_target(
    figure: Figure, values: tuple[float, ...], met: bool | None
) -> None:
    assert Measured(figure, values).is_met is met


def test_worse_by_more_than_a_quarter_is_told_in_either_direction() -> None:
    theirs = Figure("a peer's", "s", better=0)
    now = {
        "row": [
            Measured(LESS, (1.3,)),
            Measured(MORE, (7.0,)),
            Measured(theirs, (100.0,)),
            Measured(Figure("new", ""), (1.0,)),
        ]
    }
    before = {"row": {"seconds": 1.0, "speed-up": 10.0, "a peer's": 1.0}}
    assert [(w.figure.name, round(w.share, 2)) for w in worse(now, before)] == [
        ("seconds", 0.3),
        ("speed-up", 0.3),
    ]
    assert worse(now, {"row": {"seconds": 1.1, "speed-up": 9.0}, "other": {"seconds": 0.1}}) == []


def test_a_wrong_verdict_misses_the_target_in_the_table() -> None:
    fast = (Measured(LESS, (1.0, 1.2)),)
    assert " met" in RowRecord("row", "what", fast).text()
    wrong = RowRecord(
        "row", "what", fast, ("shiq: consistent, but inconsistent is right",), is_right=False
    )
    assert "MISSED" in wrong.text()
    assert "but inconsistent is right" in wrong.text()


# --- the log --------------------------------------------------------------------------------------


def row(name: str, *values: float, wrong: str = "") -> Row:
    """A row that gives one value a repeat, or fails."""

    def measure(repeat: Repeat) -> None:
        if wrong:
            raise NotMeasured(wrong)
        repeat.values["seconds"] = values[repeat.number]

    return Row(name, "a row", (LESS,), measure)


def run(rows: list[Row], repeats: int, path: Path, log: Path | None) -> list[RowRecord]:
    return bench.run(rows, Settings(repeats), 7, path, log, quiet)


def test_a_run_is_kept_and_the_next_one_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log"
    run([row("one", 1.0, 3.0, 1.0), row("two", 1.0, 1.0, 1.0)], 3, tmp_path, log)
    assert "nothing to compare with" in capsys.readouterr().out
    [file] = log.iterdir()
    document = read_record(file)
    assert [r["name"] for r in document["rows"]] == ["one", "two"]
    assert document["rows"][0]["figures"][0] == {
        "name": "seconds",
        "unit": "s",
        "target": 2.0,
        "better": -1,
        "values": [1.0, 3.0, 1.0],
        "median": 1.0,
        "met": True,
    }
    assert (document["seed"], document["repeats"]) == (7, 3)
    assert socket.gethostname() not in file.read_text().split('"')
    file.rename(log / "20200101T000000Z.json")
    run([row("one", 1.5), row("two", 1.1)], 1, tmp_path, log)
    told = capsys.readouterr().out
    assert "one, seconds: 1.50 s, was 1.00 s (50 % worse)" in told
    assert "two, seconds" not in told


def test_what_is_kept_counts_by_row_and_machine(tmp_path: Path) -> None:
    here, elsewhere = {"processor": "a", "cores": 2}, {"processor": "b", "cores": 2}

    def keep(name: str, machine: dict[str, object], medians: dict[str, float | None]) -> None:
        rows = [
            {"name": r, "figures": [{"name": "seconds", "median": m}]} for r, m in medians.items()
        ]
        (tmp_path / f"{name}.json").write_text(
            json.dumps({"schema_version": 1, "machine": machine, "rows": rows})
        )

    keep("1", here, {"one": 1.0, "two": 5.0})
    keep("2", here, {"one": 2.0, "two": None})
    keep("3", elsewhere, {"one": 3.0})
    assert last_kept(tmp_path, here) == {"one": {"seconds": 2.0}, "two": {"seconds": 5.0}}
    (tmp_path / "4.json").write_text("[]")
    with pytest.raises(InputError, match="not a benchmark run"):
        last_kept(tmp_path, here)


def test_a_run_of_ours_that_fails_is_told_and_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    [record] = run(
        [row("one", wrong="shiq check was stopped after 900 s")], 2, tmp_path, tmp_path / "log"
    )
    assert (record.is_right, record.measured[0].values) == (False, ())
    assert record.notes == ("not measured: shiq check was stopped after 900 s",)
    assert "stopped after 900 s" in capsys.readouterr().out


def test_rows_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main(["--rows", "colt", "--no-log", "-q"]) == 2
    assert "Did you mean 'cold'" in capsys.readouterr().err
    assert bench.main(["--repeats", "0", "--no-log", "-q"]) == 2
    assert all(
        name == row.name and any(f.target is not None for f in row.figures)
        for name, row in ROWS.items()
    )


# --- data and processes ---------------------------------------------------------------------------


@pytest.fixture
def animals(tmp_path: Path) -> Base:
    (tmp_path / "t.ttl").write_text(TBOX)
    lines = [
        f"<urn:t#c{i}> {TYPE} <urn:t#Cat> .\n<urn:t#c{i}> <urn:t#chases> <urn:t#c{i + 1}> .\n"
        for i in range(50)
    ]
    (tmp_path / "a.nt").write_text("".join(lines))
    return Base(
        Dataset("animals", "lubm", "", tmp_path / "t.ttl", (tmp_path / "a.nt",)),
        tmp_path / "a.nt",
        tmp_path / "a.kg",
    )


@pytest.mark.slow
def test_processes_give_verdict_share_and_what_they_used(animals: Base, tmp_path: Path) -> None:
    at_work = Bench(tmp_path / "work", Settings(), 3)
    assert at_work.index(animals).verdict == "consistent"
    good = animals.random_batch(3, tmp_path / "good.nt", 10)
    checked = at_work.check(animals.store, good)
    assert (checked.verdict, checked.answer["statistics"]["insertions"]) == ("consistent", 10)
    assert checked.used.cpu_seconds > 0
    assert 0 < checked.share < 100
    bad = tmp_path / "bad.nt"
    bad.write_text(f"<urn:t#c1> {TYPE} <urn:t#Dog> .\n")
    assert not at_work.check(animals.store, bad).answer["conflicts"]
    assert len(at_work.check(animals.store, bad, "--max-conflicts", "5").answer["conflicts"]) == 1
    whole = at_work.session(animals.store, [good, bad], single=False)
    assert [entry["verdict"] for entry in whole] == ["consistent", "inconsistent"]
    singly = at_work.session(animals.store, [good], single=True)
    assert [entry["verdict"] for entry in singly] == ["consistent"] * 10
    with pytest.raises(NotMeasured, match="missing"):
        at_work.check(animals.store, tmp_path / "missing.nt")


def test_swapped_objects_stay_with_their_predicate(tmp_path: Path) -> None:
    given = {(f"<urn:s{i}>", f"<urn:p{i % 3}>", f"<urn:o{i % 3}.{i}>") for i in range(60)}
    with gzip.open(tmp_path / "data.nt.gz", "wt") as out:
        out.writelines(f"{' '.join(triple)} .\n" for triple in sorted(given))
    file = swapped(tmp_path / "data.nt.gz", 20, 1, tmp_path / "swapped.nt")
    made = [tuple(line.removesuffix(" .").split(" ")) for line in file.read_text().splitlines()]
    assert len(set(made)) == 20 and given.isdisjoint(made)
    assert {(s, p) for s, p, _ in made} <= {(s, p) for s, p, _ in given}
    assert {(p, o) for _, p, o in made} <= {(p, o) for _, p, o in given}
    with pytest.raises(InputError, match="swapped objects"):
        swapped(tmp_path / "data.nt.gz", 100, 1, file)


def test_an_absent_peer_is_a_note(
    animals: Base, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHIQ_PEERS_HOME", str(tmp_path / "nowhere"))
    at_work = Bench(tmp_path / "work", Settings(), 3)
    with pytest.raises(NotMeasured, match=r"Pellet .* is absent"):
        at_work.peer("pellet", animals.dataset.tbox, animals.abox, animals.abox)
    repeat = Repeat(at_work, 0)

    def beside() -> None:
        at_work.peer("hermit", animals.dataset.tbox, animals.abox, animals.abox)

    repeat.attempt(beside)
    [note] = repeat.notes
    assert "is absent: not installed" in note
    assert not repeat.wrong


def test_what_rows_share_is_made_once_even_if_it_fails(tmp_path: Path) -> None:
    at_work = Bench(tmp_path, Settings(), 3)
    made: list[int] = []

    def fails() -> int:
        made.append(1)
        raise NotMeasured("no")

    for _ in range(2):
        with pytest.raises(NotMeasured, match="no"):
            at_work.once(("x",), fails)
    assert made == [1]


@pytest.mark.slow
def test_batches_are_new_ones(tmp_path: Path) -> None:
    found = base("lubm", 1, "LUBM-1 with disjointness", None, tmp_path)
    known = set(found.abox.read_text().splitlines())
    first, second = (
        set(found.consistent_batch(seed, tmp_path / f"{seed}.nt").read_text().splitlines())
        for seed in (1, 2)
    )
    assert len(first) > len(known) / 25
    assert not first & known
    assert len(first & second) < len(first) / 2
    at_work = Bench(tmp_path / "work", Settings(), DATA_SEED)
    at_work.index(found)
    assert at_work.check(found.store, tmp_path / "2.nt").verdict == "consistent"
    part = sample(tmp_path / "1.nt", 100, 5, tmp_path / "part.nt")
    assert len(read_triples(part)) == 100
    assert set(part.read_text().splitlines()) <= first
    with pytest.raises(InputError, match="only"):
        sample(part, 101, 5, tmp_path / "more.nt")


def test_data_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="NPD"):
        base("npd", 1, "NPD", None, tmp_path)


def test_every_stream_of_rules_is_measured_under_its_name() -> None:
    assert sorted(MEASURED) == sorted(STREAMS)
