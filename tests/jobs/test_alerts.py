"""Alerts: a webhook on loopback, and figures as OpenMetrics."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from shiq.jobs.alerts import _alert_json, metrics_text
from shiq.jobs.history import HistoryCause, HistoryRow
from shiq.model import RDF
from tests.command_line import Called, shiq


@contextmanager
def webhook(status: int = 200, location: str = "") -> Iterator[tuple[str, list[dict[str, object]]]]:
    """A server on loopback that answers ``status``, and what it was sent."""
    sent: list[dict[str, object]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(status)
            if location:
                self.send_header("Location", location)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/secret-token", sent
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "t.ofn").write_text(
        "Prefix(:=<urn:t#>) Ontology(<urn:t> DisjointClasses(:A :B))", "utf-8"
    )
    for name in "ab":
        triple = f"<urn:t#i> <{RDF}type> <urn:t#{name.upper()}> .\n"
        (tmp_path / f"{name}.nt").write_text(triple, "utf-8")
    return tmp_path


def check(folder: Path, batch: str, *more: str) -> Called:
    return shiq("check", "--tbox", "t.ofn", "--abox", "a.nt", "--insert", batch, *more, cwd=folder)


def test_a_webhook_is_told_what_is_not_well(folder: Path) -> None:
    with webhook() as (address, sent):
        assert check(folder, "a.nt", "--notify", address).returncode == 0
        assert sent == []
        assert check(folder, "b.nt", "--notify", address).returncode == 1
    assert [x["text"] for x in sent] == [
        "shiq check of b.nt: inconsistent; 1 conflict; both A and B (1)"
    ]
    assert sent[0]["run"]["counts"]["conflicts"] == 1  # type: ignore[index]


def test_the_address_may_stand_in_a_variable_and_is_never_shown(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with webhook(500) as (address, sent):
        monkeypatch.setenv("HOOK", address)
        called = check(folder, "b.nt", "--notify", "env:HOOK")
    assert (called.returncode, len(sent)) == (1, 1)
    assert (
        "warning: the webhook at 127.0.0.1 could not be notified: it answered 500" in called.stderr
    )
    assert "secret-token" not in called.stdout + called.stderr
    called = check(folder, "b.nt", "--notify", address)
    assert called.returncode == 1
    assert "could not be notified" in called.stderr


def test_a_redirection_is_not_followed(folder: Path) -> None:
    with webhook() as (other, others), webhook(302, other) as (address, sent):
        called = check(folder, "b.nt", "--notify", address)
    assert (len(sent), others) == (1, [])
    assert "it answered 302" in called.stderr


@pytest.mark.parametrize(
    "given", ["ftp://x/y", "nonsense", "http://example.org/x", "env:NOT_SET_HERE"]
)
def test_addresses_that_cannot_be_are_refused_before_the_work(folder: Path, given: str) -> None:
    called = check(folder, "b.nt", "--notify", given)
    assert called.returncode == 2
    assert "INCONSISTENT" not in called.stdout


def test_figures_are_written_whatever_the_answer(folder: Path) -> None:
    assert check(folder, "b.nt", "--metrics", "m.prom").returncode == 1
    text = (folder / "m.prom").read_text("utf-8")
    assert 'shiq_run_exit_code{store="",command="check"} 1\n' in text
    assert 'shiq_run_conflicts{store="",command="check"} 1\n' in text
    assert text.endswith("# EOF\n")


def test_labels_of_figures_are_escaped() -> None:
    row = HistoryRow("1", "2030-01-01T00:00:00Z", "check", seconds=1.5)
    text = metrics_text(row, 'a"b\\c\nd', 0)
    assert 'store="a\\"b\\\\c\\nd"' in text
    assert all(line.startswith(("#", "shiq_run_")) for line in text.splitlines())
    assert "} 1893456000\n" in text


def test_teams_gets_a_card_that_names_causes() -> None:
    causes = tuple(HistoryCause(str(i), "r", f"cause {i}", i) for i in range(5))
    row = HistoryRow("1", "2030-01-01T00:00:00Z", "gate", "inconsistent", "split", causes=causes)
    text = _alert_json("x.logic.azure.com", row, "kg")["attachments"][0]["content"]["body"][0][
        "text"
    ]
    assert "against kg: split, inconsistent" in text
    assert text.endswith("cause 2 (2); 2 further causes")
