"""The resident service: answers as of a check, refusals, bounds, and its end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import shiq as run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shiq
from shiq.jobs.serving.service import BusyError, Service, TextBatch
from tests.tools.serving import malformed

pytest.importorskip("fastapi", reason="the extra 'serve' is not installed")
pytest.importorskip("httpx")
from starlette.testclient import TestClient

from shiq.jobs.serving.web import make_app

ROOT = Path(__file__).resolve().parents[2]
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
CAT, DOG = (f"<urn:t#tom> {TYPE} <urn:t#{name}> .\n" for name in ("Cat", "Dog"))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("serving")
    (made / "t.ofn").write_text(
        "Prefix(:=<urn:t#>)\nOntology(<urn:t>\nDisjointClasses(:Cat :Dog)\n)\n"
    )
    (made / "base.nt").write_text(CAT)
    assert run("index", "-t", "t.ofn", "--store", "kg", "base.nt", "-q", cwd=made).returncode == 0
    return made / "kg"


@pytest.fixture
def service(store: Path) -> Iterator[Service]:
    made = Service(store, most_waiting=4)
    thread = threading.Thread(target=made.run)
    thread.start()
    yield made
    made.stop()
    thread.join(60)
    assert not thread.is_alive()


@pytest.fixture
def client(service: Service) -> TestClient:
    return TestClient(make_app(service), base_url="http://localhost")


def timeless(document: dict[str, Any]) -> dict[str, Any]:
    # A session that decided a shape before does not ask about it again.
    left_out = ("seconds", "reasoner_calls")
    statistics = {k: v for k, v in document["statistics"].items() if k not in left_out}
    return {**document, "statistics": statistics}


LINES = st.builds(
    "<urn:t#{}> {} <urn:t#{}> .\n".format,
    st.sampled_from(["tom", "rex", "new"]),
    st.just(TYPE),
    st.sampled_from(["Cat", "Dog", "Nothing"]),
)


@settings(max_examples=15, deadline=None, suppress_health_check=[*HealthCheck])
# Of several deletions that match nothing, any may be the one that is named.
@given(insertions=st.lists(LINES, max_size=3).map("".join), deletions=st.just("") | LINES)
def test_answers_are_those_of_a_check(
    client: TestClient, store: Path, insertions: str, deletions: str
) -> None:
    body = {"insertions": insertions, "deletions": deletions}
    with shiq.open_store(store) as session:
        coming, going = TextBatch(**body).sides
        for path, seconds in (("/check", 0), ("/explain", 30)):
            expected = session.check(coming, going, explain_seconds=seconds).to_dict()
            answer = client.post(path, json=body).json()
            for key in expected["evidence"]:
                assert answer["evidence"][key] == expected["evidence"][key], key
            assert timeless(answer) == timeless(expected)


def test_explain_gate_and_status(client: TestClient) -> None:
    body = {"insertions": DOG + f"<urn:t#rex> {TYPE} <urn:t#Dog> .\n"}
    explained = client.post("/explain", json={**body, "repairs": True}).json()
    assert explained["verdict"] == "inconsistent"
    assert [x["remove"] for x in explained["repairs"]["changes"]] == [[DOG.rstrip()]]
    gated = client.post("/gate", json=body).json()
    assert (gated["decision"], gated["accepted"], gated["dry_run"]) == ("split", 1, True)
    assert client.get("/status").json()["snapshot"] == 1


def test_what_is_wrong_is_refused(client: TestClient) -> None:
    assert client.post("/check", json={"insertions": DOG, "format": "nonsense"}).status_code == 400
    assert client.post("/check", json={"insertions": 1}).status_code == 422
    assert (
        client.post("/check", content=b"\xff", headers={"content-type": "x/y"}).status_code == 422
    )
    assert client.post("/check", json={"insertion": DOG}).status_code == 422
    assert client.get("/status", headers={"Host": "evil.example"}).status_code == 400


def test_a_large_request_is_refused(service: Service) -> None:
    client = TestClient(make_app(service, most_bytes=100), base_url="http://localhost")
    assert client.post("/check", json={"insertions": "x" * 100}).status_code == 413
    assert client.post("/check", json={"insertions": CAT[:10]}).status_code in (200, 400)


def test_a_token_is_asked_for(service: Service) -> None:
    client = TestClient(make_app(service, token="secret"), base_url="http://localhost")
    assert client.get("/status").status_code == 401
    assert client.get("/status", headers={"Authorization": "Bearer wrong"}).status_code == 401
    assert client.get("/status", headers={"Authorization": "Bearer secret"}).status_code == 200


def test_a_full_queue_is_busy(store: Path) -> None:
    idle = Service(store, most_waiting=1)
    idle.submit(idle.status)
    with pytest.raises(BusyError):
        idle.submit(idle.status)
    client = TestClient(make_app(idle), base_url="http://localhost")
    busy = client.get("/status")
    assert (busy.status_code, busy.headers["Retry-After"]) == (429, "1")


def test_a_commit_of_another_process_is_seen(
    client: TestClient, store: Path, tmp_path: Path
) -> None:
    (tmp_path / "more.nt").write_text(f"<urn:t#kit> {TYPE} <urn:t#Cat> .\n")
    batch = {"insertions": f"<urn:t#kit> {TYPE} <urn:t#Dog> .\n"}
    assert client.post("/check", json=batch).json()["verdict"] == "consistent"
    added = ("check", "--store", str(store), "-i", "more.nt", "--commit", "-q")
    assert run(*added, cwd=tmp_path).returncode == 0
    assert client.post("/check", json=batch).json()["verdict"] == "inconsistent"


@settings(max_examples=60, deadline=None, suppress_health_check=[*HealthCheck])
@given(dice=st.randoms(use_true_random=False))
def test_malformed_requests_are_no_faults(client: TestClient, dice: Any) -> None:
    method, path, body, headers = malformed(dice)
    latin = {name: value.encode("latin-1") for name, value in headers.items()}
    answer = client.request(method, path, content=body, headers=latin)
    assert answer.status_code < 500


def test_tools_answer_as_the_service_does(service: Service) -> None:
    pytest.importorskip("mcp", reason="the extra 'mcp' is not installed")
    from shiq.jobs.serving.tools import make_server

    server = make_server(service)
    names = {tool.name for tool in asyncio.run(server.list_tools())}
    assert names == {"check", "explain", "gate", "status"}
    answer = asyncio.run(server.call_tool("check", {"insertions": DOG}))
    assert '"verdict": "inconsistent"' in json.dumps(answer, default=lambda x: x.model_dump())


def started(store: Path, *options: str) -> tuple[subprocess.Popen[str], int]:
    """A server, and the port that it listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "shiq", "serve", "--store", str(store), "--port", str(port)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [*command, *options], env=environment, stderr=subprocess.PIPE, text=True
    )
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/status", timeout=10).close()
            return process, port
        except OSError:
            time.sleep(0.1)
    raise AssertionError(process.communicate()[1])


def test_a_request_that_never_ends_is_answered_408(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shiq.jobs.serving.web.BODY_SECONDS", 0.05)
    parts = [{"type": "http.request", "body": b"{", "more_body": True}]
    sent: list[Any] = []

    async def receive() -> Any:
        if parts:
            return parts.pop()
        return await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/check", "headers": headers}
    asyncio.run(make_app(Service(store))(scope, receive, send))
    assert sent[0]["status"] == 408


def test_it_ends_with_0_when_it_is_stopped_and_a_kill_leaves_the_store(store: Path) -> None:
    before = run("export", "--store", str(store), cwd=store.parent).stdout
    for number, code in ((signal.SIGTERM, 0), (signal.SIGKILL, -9)):
        process, port = started(store)
        body = json.dumps({"insertions": DOG}).encode()
        asked = urllib.request.Request(
            f"http://127.0.0.1:{port}/explain", body, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(asked, timeout=60) as answer:
            assert json.load(answer)["verdict"] == "inconsistent"
        process.send_signal(number)
        assert process.wait(60) == code
        assert process.stderr is not None
        process.stderr.close()
    assert run("export", "--store", str(store), cwd=store.parent).stdout == before


def test_without_a_token_only_this_machine_is_answered(store: Path) -> None:
    ended = run("serve", "--store", str(store), "--host", "0.0.0.0", cwd=store.parent)
    assert ended.returncode == 2
    assert "there is no --token" in ended.stderr
