"""The history of a store: rows that checks and gates leave, folding, pages."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from shiq.errors import OperationalError
from shiq.jobs.history import (
    HistoryCause,
    HistoryRow,
    compare_rows,
    fold_old_rows,
    parse_row,
    read_history,
    write_row,
)
from shiq.jobs.history_pages import write_pages
from shiq.model import RDF
from tests.command_line import Called, shiq

TBOX = "Prefix(:=<urn:t#>) Ontology(<urn:t> DisjointClasses(:Cat :Dog))"


def a(name: str, of: str) -> str:
    return f"<urn:t#{name}> <{RDF}type> <urn:t#{of}> .\n"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    (tmp_path / "t.ofn").write_text(TBOX, "utf-8")
    (tmp_path / "data.nt").write_text(a("tom", "Cat"), "utf-8")
    (tmp_path / "good.nt").write_text(a("rex", "Dog"), "utf-8")
    (tmp_path / "bad.nt").write_text(a("tom", "Dog") + a("pip", "Cat"), "utf-8")
    shiq("index", "--tbox", "t.ofn", "--store", "kg", "data.nt", cwd=tmp_path)
    return tmp_path / "kg"


def check(store: Path, *arguments: str) -> Called:
    return shiq("check", "--store", "kg", "--insert", *arguments, cwd=store.parent)


def row(day: datetime, number: int = 0, **values: object) -> HistoryRow:
    return HistoryRow(
        f"{day:%Y%m%dT%H%M%S.%fZ}-{number:08x}", f"{day:%Y-%m-%dT%H:%M:%SZ}", "check", **values
    )  # type: ignore[arg-type]


NOW = datetime(2030, 5, 1, tzinfo=timezone.utc)


def test_each_check_and_gate_leaves_a_row(store: Path) -> None:
    check(store, "good.nt", "--commit")
    assert check(store, "bad.nt").returncode == 1
    sides = ("--mode", "split", "--accepted", "ok.nt", "--quarantine", "aside.nq")
    gate = ("gate", "--store", "kg", "--insert", "bad.nt", *sides)
    assert shiq(*gate, "--commit", cwd=store.parent).returncode == 5
    check(store, "good.nt", "--no-history")
    shiq(*gate, "--dry-run", cwd=store.parent)
    rows, unread = read_history(store)
    seen = [
        (x.command, x.decision or x.verdict, x.snapshot, x.committed, x.counts["inserted"])
        for x in rows
    ]
    assert seen == [
        ("check", "consistent", 1, 2, 1),
        ("check", "inconsistent", 2, 0, 2),
        ("gate", "split", 2, 3, 2),
    ]
    assert (rows[2].counts["set_aside"], rows[1].insertions_from, unread) == (1, ("bad.nt",), [])
    changes = [(x.new, x.known, x.gone) for x in compare_rows(rows)]
    cause = rows[1].causes[0].id
    assert changes == [((), (), ()), ((cause,), (), ()), ((), (cause,), ())]


def test_a_check_without_a_store_leaves_none(store: Path) -> None:
    shiq("check", "--tbox", "t.ofn", "--insert", "good.nt", cwd=store.parent)
    assert read_history(store) == ([], [])
    assert not list(store.parent.glob("**/history"))


def test_a_history_that_cannot_be_written_changes_no_answer(store: Path) -> None:
    (store / "history").write_text("in the way", "utf-8")
    called = check(store, "bad.nt", "--json", "told.json")
    assert called.returncode == 1
    assert "INCONSISTENT" in called.stdout
    assert "warning: kg: its history has no row of this check" in called.stderr
    assert json.loads((store.parent / "told.json").read_text("utf-8"))["verdict"] == "inconsistent"
    assert check(store, "good.nt", "--commit").returncode == 0


def test_rows_of_long_ago_are_folded_into_one_file(tmp_path: Path) -> None:
    old = [row(NOW - timedelta(days=9_000 + i), i) for i in range(5)]
    for kept in old:
        write_row(tmp_path, kept, keep_days=100_000)
    new = row(datetime.now(timezone.utc), 99)
    assert write_row(tmp_path, new, keep_days=400) == ""
    assert len(list((tmp_path / "history").iterdir())) == 2
    assert read_history(tmp_path)[0] == [*sorted(old, key=lambda x: x.id), new]
    assert fold_old_rows(tmp_path, 400) == 0


def test_a_fold_that_was_interrupted_counts_no_row_twice(tmp_path: Path) -> None:
    old = row(NOW - timedelta(days=9_000))
    write_row(tmp_path, old, keep_days=100_000)
    (tmp_path / "history" / "folded-1.json").write_text(json.dumps(old.to_dict()) + "\n", "utf-8")
    assert read_history(tmp_path)[0] == [old]
    fold_old_rows(tmp_path, 400)
    assert (len(list((tmp_path / "history").iterdir())), read_history(tmp_path)[0]) == (1, [old])


def test_many_at_once_lose_no_row(tmp_path: Path) -> None:
    days = [NOW - timedelta(days=9_000 + i) for i in range(60)]
    with ThreadPoolExecutor(6) as pool:
        told = list(pool.map(lambda i: write_row(tmp_path, row(days[i], i), 400), range(60)))
    assert not any(told)
    assert [x.id for x in read_history(tmp_path)[0]] == sorted(
        row(d, i).id for i, d in enumerate(days)
    )


@pytest.mark.parametrize(
    "text",
    [
        '{"made": ',
        "3",
        '{"id": "1", "made": "2020-01-01T00:00:00Z", "command": "check", "counts": {"conflicts": "x"}}',
        '{"id": "1", "made": "2020-01-01T00:00:00Z", "command": "check", "causes": [{"id": "c"}]}',
    ],
)
def test_a_damaged_row_is_named_and_stays(store: Path, text: str) -> None:
    check(store, "good.nt")
    damaged = store / "history" / "20200101T000000.000000Z-1.json"
    damaged.write_text(text, "utf-8")
    called = shiq("history", "--store", store)
    assert called.returncode == 0
    assert str(damaged) in called.stderr
    assert "consistent" in called.stdout
    assert fold_old_rows(store, 400) == 0
    assert damaged.exists()
    assert not list((store / "history").glob("folded-*"))


def test_the_command_writes_text_json_and_a_table(store: Path) -> None:
    check(store, "good.nt")
    check(store, "bad.nt")
    folder = store.parent
    called = shiq("history", "kg", "--json", "h.json", "--parquet", "h.parquet", cwd=folder)
    assert [line.split()[3] for line in called.stdout.splitlines()[1:]] == [
        "consistent",
        "inconsistent",
    ]
    runs = json.loads((folder / "h.json").read_text("utf-8"))["runs"]
    assert [parse_row(run) for run in runs] == read_history(store)[0]
    table = parquet.read_table(folder / "h.parquet").to_pylist()
    assert [(x["verdict"], len(x["new"])) for x in table] == [
        ("consistent", 0),
        ("inconsistent", 1),
    ]
    assert len(shiq("history", "kg", "--last", "1", cwd=folder).stdout.splitlines()) == 2
    assert shiq("history", folder / "nowhere").returncode == 4


class Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if name == "href"]


def links(page: Path) -> list[str]:
    read = Links()
    read.feed(page.read_text("utf-8"))
    return [link for link in read.found if not link.startswith("#")]


def test_pages_link_each_run_and_say_what_to_do(store: Path) -> None:
    check(store, "good.nt")
    check(store, "bad.nt")
    called = shiq("report", "--history", "kg", "--html", "pages", cwd=store.parent)
    assert called.returncode == 0
    folder = store.parent / "pages"
    first = folder / "index.html"
    runs = links(first)
    assert len(runs) == 2
    assert all((folder / link).is_file() for page in folder.iterdir() for link in links(page))
    text = first.read_text("utf-8")
    assert "shiq gate --store kg --insert bad.nt" in text
    assert "both Cat and Dog" in text
    newest = (folder / runs[0]).read_text("utf-8")
    assert "<td>new</td>" in newest
    assert shiq("report", "--history", "kg", cwd=store.parent).returncode == 2
    assert shiq("report", cwd=store.parent).returncode == 2


def test_what_data_say_is_escaped_in_pages(tmp_path: Path) -> None:
    wrong = "<script>alert(1)</script>"
    told = row(
        NOW,
        verdict="inconsistent",
        reason=wrong,
        insertions_from=(wrong,),
        causes=(HistoryCause("c", "r", wrong, 1),),
    )
    write_pages(wrong, compare_rows([told]), tmp_path)
    for page in tmp_path.iterdir():
        assert wrong not in page.read_text("utf-8")


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (
            {"insertions_from": ("a b.nt",), "deletions_from": ("c.nt",)},
            "Take the batch in: shiq check --store kg --insert 'a b.nt' --delete c.nt --commit",
        ),
        (
            {"changes_from": "lake/triples"},
            "Take the batch in: shiq check --store kg --changes lake/triples --commit",
        ),
        (
            {"insertions_from": tuple(f"{i}.nt" for i in range(20))},
            "Take the batch in: shiq check --store kg --insert BATCH --commit",
        ),
        (
            {"verdict": "inconsistent", "insertions_from": ("a.nt",)},
            "See why: shiq check --store kg --insert a.nt -v",
        ),
    ],
)
def test_the_next_step_names_the_whole_batch(
    values: dict[str, Any], told: str, tmp_path: Path
) -> None:
    page = write_pages("kg", compare_rows([row(NOW, **values)]), tmp_path)
    assert f"<li>{told}</li>" in unescape(page.read_text("utf-8"))


def test_names_of_files_cannot_move_the_cursor(store: Path) -> None:
    write_row(store, row(NOW, insertions_from=("e\x1b[31mvil.nt",)))
    assert "e\\u001B[31mvil.nt" in shiq("history", store).stdout


def test_pages_replace_no_page_of_others(tmp_path: Path) -> None:
    index = write_pages("kg", compare_rows([row(NOW)]), tmp_path)
    assert write_pages("kg", compare_rows([row(NOW)]), tmp_path) == index
    index.write_text("<title>My site</title>", "utf-8")
    with pytest.raises(OperationalError, match="not replaced"):
        write_pages("kg", compare_rows([row(NOW)]), tmp_path)
    assert index.read_text("utf-8") == "<title>My site</title>"
