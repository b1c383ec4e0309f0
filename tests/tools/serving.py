"""Load and malformed requests for a running `shiq serve`.

    shiq serve --store KG & python -m tests.tools.serving --pid $! --load 2000 --malformed 10000

``--load`` sends checks of one triple over two connections and prints requests a second, the 50th
and 99th percentile of their time, the CPU milliseconds that the server took for each, and those of
the same checks by the Python API. ``--malformed`` sends random and damaged requests, counts the
answers by code, and prints the server's memory before and after. A code of 500 is a fault.
"""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import click

from shiq.api import open_store
from shiq.inputs.sources import TextInput

TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
PATHS = ("/check", "/explain", "/gate", "/status", "/nothing", "/openapi.json")
TEXTS = ("", "x", "<urn:a> <urn:p> <urn:b> .", '<urn:a> <urn:p> "\\', "\x00", "é" * 50, "@prefix")


def line(number: int, cls: str) -> str:
    """One triple of a fresh individual."""
    return f"<urn:fresh#{number}> {TYPE} <{cls}> .\n"


def malformed(dice: random.Random) -> tuple[str, str, bytes, dict[str, str]]:
    """A random request: method, path, body, headers."""
    value: object = dice.choice(
        (
            {
                "insertions": dice.choice(TEXTS),
                "format": dice.choice(("ntriples", "turtle", "x", 3)),
            },
            {"insertions": 7},
            {"deletions": [dice.choice(TEXTS)]},
            {"insertions": dice.choice(TEXTS), "repairs": "perhaps", "mode": "both"},
            {dice.choice(TEXTS): dice.choice(TEXTS)},
            dice.choice(TEXTS),
            [[]],
            None,
        )
    )
    body = bytearray(json.dumps(value).encode())
    for _ in range(dice.choice((0, 0, 1, 3))):
        if body:
            body[dice.randrange(len(body))] = dice.randrange(256)
    method = dice.choice(("POST", "POST", "POST", "GET", "PUT", "DELETE"))
    kind = dice.choice(("application/json", "application/json", "text/plain", "x/\u00e9", ""))
    return method, dice.choice(PATHS), bytes(body), {"Content-Type": kind} if kind else {}


def answers(port: int, requests: Iterator[tuple[str, str, bytes, dict[str, str]]]) -> Counter[str]:
    """Codes of the answers to ``requests``, one connection at a time."""
    counts = Counter[str]()
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    for method, path, body, headers in requests:
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            answer.read()
            counts[str(answer.status)] += 1
        except (HTTPException, OSError, UnicodeError) as error:
            counts[type(error).__name__] += 1
            with suppress(OSError):
                connection.close()
    connection.close()
    return counts


def cpu_of(pid: int) -> float:
    """CPU seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_of(pid: int) -> int:
    """Resident memory of a process, in kilobytes."""
    found = next(x for x in Path(f"/proc/{pid}/status").read_text().splitlines() if "VmRSS" in x)
    return int(found.split()[1])


def run_load(port: int, number: int, cls: str) -> list[float]:
    """Seconds of each of ``number`` checks of one triple, over two connections."""
    seconds: list[float] = []

    def send(first: int) -> None:
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        for i in range(first, number, 2):
            body = json.dumps({"insertions": line(i, cls)})
            begun = time.perf_counter()
            connection.request("POST", "/check", body, {"Content-Type": "application/json"})
            answer = json.load(connection.getresponse())
            seconds.append(time.perf_counter() - begun)
            assert answer["verdict"] == "consistent", answer

    threads = [threading.Thread(target=send, args=(first,)) for first in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return seconds


def timed(call: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU seconds of a call in this process."""
    begun, cpu = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - begun, time.process_time() - cpu


@click.command()
@click.option("--pid", type=int, required=True, help="The server's process.")
@click.option("--port", type=int, default=8765)
@click.option("--store", help="Its store, to compare with the Python API.")
@click.option("--class", "cls", default="urn:p#Pump", help="A class of the store's TBox.")
@click.option("--load", type=int, default=0)
@click.option("--malformed", "damaged", type=int, default=0)
@click.option("--seed", type=int, default=1)
def main(
    pid: int, port: int, store: str | None, cls: str, load: int, damaged: int, seed: int
) -> None:
    """Load a running server, or send it malformed requests."""
    if load:
        run_load(port, 100, cls)
        before, begun = cpu_of(pid), time.perf_counter()
        seconds = sorted(run_load(port, load, cls))
        wall, cpu = time.perf_counter() - begun, cpu_of(pid) - before
        p50, p99 = seconds[len(seconds) // 2], seconds[int(len(seconds) * 0.99)]
        click.echo(
            f"{load / wall:,.0f} checks/s, p50 {p50 * 1000:.1f} ms, p99 {p99 * 1000:.1f} ms, "
            f"{cpu / load * 1000:.2f} CPU ms each"
        )
        if store:
            with open_store(store) as session:

                def check_all(first: int, last: int) -> None:
                    for i in range(first, last):
                        session.check(TextInput(line(i, cls), "ntriples", "i"), explain_seconds=0)

                check_all(0, 100)
                _, own = timed(lambda: check_all(100, 100 + load))
            click.echo(f"by the Python API {own / load * 1000:.2f} CPU ms each; × {cpu / own:.2f}")
    if damaged:
        dice, before_memory = random.Random(seed), memory_of(pid)
        counts = answers(port, (malformed(dice) for _ in range(damaged)))
        click.echo(f"{dict(sorted(counts.items()))}")
        click.echo(f"memory {before_memory:,} → {memory_of(pid):,} kB")
        raise SystemExit(bool(counts["500"]))


if __name__ == "__main__":
    main()
