"""`make demo-building`: a gateway sends raw readings, each is enriched, and a room changes its
function while that goes on.

python -m tests.tools.building_gateway demo/building
"""

from __future__ import annotations

import json
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final

import click

from shiq.jobs.evaluation.streams.building import (
    BUILDING,
    MINUTE,
    BuildingRecipe,
    generate_readings,
    room_functions,
    write_building_files,
)
from shiq.model import RDF
from shiq.rml.program import parse_record
from shiq.streams.enrichment import EnrichedEvent, Enricher, open_enricher
from shiq.streams.front.sources import open_source

ROOMS: Final = 20
#: The room that changes, and what it is used for then.
ROOM, FUNCTION = "room5", "SpinningClass"


def serve(pause: float, events: int, changed: Event) -> tuple[int, Thread]:
    """A gateway on a port of its own: readings, one every ``pause`` seconds; when half are sent
    it waits for the change.
    """
    server = socket.create_server(("127.0.0.1", 0))

    def send() -> None:
        with server, server.accept()[0] as client:
            for n, reading in enumerate(generate_readings(ROOMS, events)):
                if n == events // 2:
                    changed.wait(timeout=30)
                client.sendall(json.dumps(reading).encode() + b"\n")
                time.sleep(pause)

    thread = Thread(target=send, daemon=True)
    thread.start()
    return int(server.getsockname()[1]), thread


class Monitor:
    """Tells the alerts of rooms as they come, and on a live line how it goes."""

    def __init__(
        self, enricher: Enricher, used: dict[str, str], echo: Callable[[str], None]
    ) -> None:
        self.enricher, self.used, self.echo = enricher, used, echo
        self.begun, self.alerts, self.told, self.shown = (
            time.monotonic(),
            0,
            set[tuple[str, str]](),
            0.0,
        )

    def take(self, reading: Mapping[str, Any], found: EnrichedEvent) -> list[str]:
        """The alerts of a reading; each is told the first time that its room has it."""
        room = "room" + str(reading["sensor"]).removeprefix("sensor")
        types = found.types.get(BUILDING + str(reading["reading"]), frozenset())
        alerts = sorted(
            name[len(BUILDING) :]
            for name in types
            if name.endswith("Alert") and name != BUILDING + "CoronaAlert"
        )
        self.alerts += bool(alerts)
        for alert in alerts:
            if (room, alert) not in self.told:
                self.told.add((room, alert))
                became = ", ".join(
                    f"{name[len(BUILDING) :]} is an {c[len(BUILDING) :]}"
                    for name, cs in found.static_types.items()
                    for c in cs
                )
                minute = int(reading["t"]) // MINUTE
                self.echo(
                    f"minute {minute:3}  {alert}  {room} ({self.used[room]}) at {reading['value']} ppm; {became}"
                )
        self.live()
        return alerts

    def live(self, *, last: bool = False) -> None:
        """The live line: on a terminal again and again, else at the end."""
        now = time.monotonic()
        if last or (sys.stderr.isatty() and now - self.shown > 0.2):
            self.shown, figures = now, self.enricher.statistics
            rate = figures["events"] / max(now - self.begun, 1e-9)
            line = f"{figures['events']:,} readings, {rate:,.0f} /s, {figures['hit_rate']:.1%} met before, {self.alerts:,} alerts"
            click.echo(f"\r{line}", nl=last, err=True)


def change(enricher: Enricher, folder: Path, used: dict[str, str]) -> None:
    """Another function for a room: in its file, and in what is known of the building."""
    lines = {
        name: f"<{BUILDING}{ROOM}> <{RDF}type> <{BUILDING}{name}> .\n"
        for name in (used[ROOM], FUNCTION)
    }
    with tempfile.TemporaryDirectory() as held:
        old, new = Path(held) / "old.nt", Path(held) / "new.nt"
        old.write_text(lines[used[ROOM]])
        new.write_text(lines[FUNCTION])
        enricher.update_static(new, old)
    used[ROOM] = FUNCTION
    rooms = [{"room": room, "function": function} for room, function in used.items()]
    (folder / "rooms.json").write_text(json.dumps({"rooms": rooms}, indent=1), encoding="utf-8")


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--events", default=2_000, show_default=True)
@click.option("--seconds", default=8.0, show_default=True, help="How long the gateway sends.")
def main(folder: Path, events: int, seconds: float) -> None:
    """Runs the demo; ends with 1 where the room that changed does not alert with its next
    reading above 50 ppm.
    """
    write_building_files(BuildingRecipe(ROOMS, events), folder)
    used, changed, has_alerted = room_functions(ROOMS), Event(), None
    click.echo(
        f"== {ROOMS} rooms: sensors in {folder}/sensors.db, functions in {folder}/rooms.json, readings by a socket"
    )
    mapping = folder / "mapping.rml.ttl"
    with open_enricher(
        folder / "building.ofn",
        mapping=mapping,
        stream="readings",
        static_types=True,
        reasoner="own",
    ) as enricher:
        port, thread = serve(seconds / events, events, changed)
        monitor = Monitor(enricher, used, click.echo)
        for n, record in enumerate(open_source(f"socket://127.0.0.1:{port}").read(True), 1):
            reading = parse_record(record.data)
            alerts = monitor.take(reading, enricher.enrich(reading))
            if (
                reading["sensor"] == ROOM.replace("room", "sensor")
                and changed.is_set()
                and has_alerted is None
            ):
                has_alerted = bool(alerts) if float(reading["value"]) > 50 else None
            if n == events // 2:
                click.echo(
                    f"== {ROOM} becomes a {FUNCTION}; its next reading above 50 ppm has to alert"
                )
                change(enricher, folder, used)
                changed.set()
        thread.join(timeout=30)
        monitor.live(last=True)
    click.echo("== it did" if has_alerted else "== it did not")
    raise SystemExit(0 if has_alerted else 1)


if __name__ == "__main__":
    main()
