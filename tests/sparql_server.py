"""Oxigraph's server on this machine, and one before it that answers as a test wants."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def wait_for(port: int, *, is_there: bool = True) -> None:
    """Wait, for half a minute at most, until a server listens at ``port``, or none does."""
    for _ in range(300):
        try:
            socket.create_connection(("localhost", port), timeout=1).close()
            answers = True
        except OSError:
            answers = False
        if answers is is_there:
            return
        time.sleep(0.1)


@dataclass
class Oxigraph:
    """A running server."""

    process: subprocess.Popen[bytes]
    url: str

    def update(self, text: str) -> None:
        request = urllib.request.Request(
            f"{self.url}/update", text.encode(), {"Content-Type": "application/sparql-update"}
        )
        urllib.request.urlopen(request, timeout=30).close()


@contextmanager
def oxigraph(folder: Path) -> Iterator[Oxigraph]:
    """A server with no triples, until the end."""
    program = shutil.which("oxigraph", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("needs Oxigraph's server: pip install oxigraph")
    port = free_port()
    command = [program, "serve", "--location", str(folder / "kg"), "--bind", f"127.0.0.1:{port}"]
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(command, stdout=log, stderr=log) as server,
    ):
        try:
            wait_for(port)
            yield Oxigraph(server, f"http://127.0.0.1:{port}")
        finally:
            server.kill()


#: Answers a query in its own way, or leaves that to the server behind (False): handler, number of
#: the query, query.
Behave = Callable[[BaseHTTPRequestHandler, int, str], bool]


@dataclass
class Front:
    """A server before another one. ``requests``: headers and parameters of each."""

    url: str
    requests: list[tuple[dict[str, str], dict[str, list[str]]]] = field(default_factory=list)


@contextmanager
def front(behind: str, behave: Behave = lambda *_: False) -> Iterator[Front]:
    """A server that passes queries on to ``behind``, unless ``behave`` answers."""
    known = Front("")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            known.requests.append((dict(self.headers.items()), parse_qs(body.decode())))
            query = known.requests[-1][1].get("query", [""])[0]
            if behave(self, len(known.requests), query):
                return
            request = urllib.request.Request(
                behind,
                body,
                {name: self.headers[name] for name in ("Accept", "Content-Type")},
            )
            with urllib.request.urlopen(request, timeout=30) as answer:
                reply(self, answer.read(), answer.headers["Content-Type"])

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:
            pass  # the other side has gone

    server = Server(("127.0.0.1", 0), Handler)
    known.url = f"http://127.0.0.1:{server.server_port}/sparql"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield known
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def reply(
    handler: BaseHTTPRequestHandler,
    body: bytes,
    kind: str = "application/n-triples",
    code: int = 200,
    **headers: str,
) -> bool:
    """Answer with ``body``; a header that is empty is left out."""
    handler.send_response(code)
    own = {name.replace("_", "-"): value for name, value in headers.items()}
    for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **own}.items():
        if value:
            handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)
    return True
