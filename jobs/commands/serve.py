"""Command ``shiq serve``: answer checks of one store over HTTP or the Model Context Protocol."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Callable
from typing import Any

import click

from shiq.errors import UsageError, missing_package
from shiq.files import resolve_secret
from shiq.jobs.commands.options import Seconds, store_option
from shiq.jobs.commands.places import GuardedCommand
from shiq.jobs.serving.service import Service


@click.command(cls=GuardedCommand)
@store_option(required=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True)
@click.option(
    "--token",
    metavar="env:NAME|file:PATH",
    help="Bearer token that requests have to bring. Without one, only this machine is answered.",
)
@click.option(
    "--allow-host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="Name in the header Host that is answered, beside those of this machine; repeatable.",
)
@click.option(
    "--most-bytes",
    type=click.IntRange(1),
    default=8 << 20,
    show_default=True,
    metavar="N",
    help="Size of the largest request; larger ones get 413.",
)
@click.option(
    "--queue",
    "most_waiting",
    type=click.IntRange(1),
    default=16,
    show_default=True,
    metavar="N",
    help="Requests that may wait for the one that runs; more get 429.",
)
@click.option(
    "--timeout", type=Seconds(0), default=30.0, show_default=True, help="Time limit of a check."
)
@click.option(
    "--explain-seconds",
    type=Seconds(0),
    default=30.0,
    show_default=True,
    help="Time limit for explaining conflicts.",
)
@click.option("--mcp", is_flag=True, help="Serve the Model Context Protocol over stdio instead.")
def serve(
    store: str,
    host: str,
    port: int,
    token: str | None,
    hosts: tuple[str, ...],
    most_bytes: int,
    most_waiting: int,
    timeout: float,
    explain_seconds: float,
    mcp: bool,
) -> int:
    """Answer checks of a store until it is stopped, in milliseconds: over HTTP, or as MCP tools.

    \b
    shiq serve --store kg/
    curl -s localhost:8765/check --json '{"insertions": "<urn:a> <urn:p> <urn:b> ."}'
    """
    secret = resolve_secret(token, "--token") if token else ""
    if not mcp and not secret and host not in ("127.0.0.1", "::1", "localhost"):
        raise UsageError(
            f"--host {host} can be reached from other machines, and there is no --token",
            "Add --token env:NAME or file:PATH, or leave --host out.",
        )
    service = Service(store, timeout, explain_seconds, most_waiting)
    try:
        start, stop = (
            _make_mcp_server(service)
            if mcp
            else _make_web_server(
                service, host, port, secret, hosts, most_bytes, timeout + explain_seconds
            )
        )
    except ImportError as error:
        raise missing_package(error) or error from error

    def listen() -> None:
        try:
            start()
        finally:
            service.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop())
    threading.Thread(target=listen, name="shiq-serve", daemon=True).start()
    # Time limits hold by an alarm in the main thread, so the checks run here.
    service.run()
    return 0


def _make_web_server(
    service: Service,
    host: str,
    port: int,
    token: str,
    hosts: tuple[str, ...],
    most_bytes: int,
    question_seconds: float,
) -> tuple[Callable[[], Any], Callable[[], None]]:
    """Make the HTTP server of ``service``. Returns the functions that run it and that stop it."""
    # Loaded where it is asked for.
    import uvicorn

    from shiq.jobs.serving.web import BODY_SECONDS, LOOPBACK, make_app

    app = make_app(service, token, (*LOOPBACK, host, *hosts), most_bytes)
    config = uvicorn.Config(
        app,
        host,
        port,
        log_level="warning",
        server_header=False,
        # A client that never reads its answer must not keep the service from ending.
        timeout_graceful_shutdown=math.ceil(question_seconds) + BODY_SECONDS,
    )
    server = uvicorn.Server(config)

    def stop() -> None:
        server.should_exit = True

    click.echo(f"http://{host}:{port}/docs", err=True)
    return server.run, stop


def _make_mcp_server(service: Service) -> tuple[Callable[[], Any], Callable[[], None]]:
    """Make the server of the Model Context Protocol. Returns the functions that run it and that
    stop it.
    """
    # Loaded where it is asked for.
    from shiq.jobs.serving.tools import make_server

    return make_server(service).run, service.stop
