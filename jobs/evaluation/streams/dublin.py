"""Generate a small Dublin: roads, and five streams of events on them, in which causes of traffic
jams of known strength are planted.

Rates and sizes are those of the paper (docs/papers), at 300 roads; all streams share a clock of 40
seconds, and slow ones hold their state. Big events and serious collisions jam the roads next to
theirs, rain the main streets of its district; rain stops to do so half-way. ``planted.json`` has
the causes as `shiq stream discover --rules` takes them, each with its probability.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from shiq.jobs.evaluation.generation import RDF_TYPE
from shiq.jobs.option_fields import option

# The city of `shiq.jobs.evaluation.streams.dublin`: its ontology, and what stands in it.


BASE = "http://dublin.example/"
#: Axioms of T and A at 300 roads; roads; seconds between snapshots.
_STATIC, _ROADS, CLOCK = 25_456, 300, 40
#: Seconds between updates, axioms of an update at 300 roads.
RATES = {
    "weather": (300, 53),
    "travel": (60, 270),
    "incidents": (600, 81),
    "events": (6_000, 480),
    "buses": (40, 3_000),
}
_BELOW = {
    "Road": "MainStreet SideStreet JammedRoad SlowRoad WetRoad",
    "MainStreet": "BusStreet ShoppingStreet",
    "JammedRoad": "BlockedRoad",
    "Vehicle": "Bus",
    "Bus": "CongestedBus FlowingBus LateBus PunctualBus EarlyBus",
    "Event": "SocialEvent CulturalEvent SportsEvent BigEvent SmallEvent",
    "CulturalEvent": "Concert Exhibition",
    "SportsEvent": "FootballMatch",
    "Incident": "Collision Breakdown RoadWorks SeriousIncident MinorIncident",
    "Collision": "SeriousCollision",
    "TravelFlow": "LightFlow HeavyFlow StopFlow",
    "Weather": "Rain Dry",
    "Rain": "HeavyRain LightRain",
    "Wind": "Storm Breeze Calm",
    "Place": "District Stop Line Sensor",
    "Sensor": "Camera Loop",
    "Disruption": "High Low",
}
_ROLES = """adjacent connected inDistrict hasSensor onLine servedBy hasStop stopOf with travel occurs incident disruption weather
wind observes heads near partOf"""
#: How roles are read; the others by their names.
_READ = {
    "adjacent": "is next to",
    "connected": "is connected to",
    "inDistrict": "lies in",
    "hasSensor": "has",
    "onLine": "is on",
    "servedBy": "is served by",
    "hasStop": "has",
    "stopOf": "is a stop of",
    "with": "has on it",
    "travel": "has",
    "occurs": "is the site of",
    "incident": "is the place of",
    "disruption": "brings",
    "weather": "has",
    "wind": "has",
    "heads": "heads for",
    "near": "is near",
    "partOf": "is part of",
}
_AXIOMS = (
    "SubClassOf(ObjectSomeValuesFrom(:with :CongestedBus) :JammedRoad)",
    "SubClassOf(ObjectSomeValuesFrom(:travel :StopFlow) :BlockedRoad)",
    "SubClassOf(ObjectSomeValuesFrom(:travel :HeavyFlow) :SlowRoad)",
    "SubClassOf(ObjectSomeValuesFrom(:disruption :High) :BigEvent)",
    "SubClassOf(ObjectIntersectionOf(:Collision :SeriousIncident) :SeriousCollision)",
    "SubClassOf(:SeriousCollision :SeriousIncident)",
    "SubClassOf(:BlockedRoad ObjectSomeValuesFrom(:travel :StopFlow))",
    "SubClassOf(ObjectIntersectionOf(:Road ObjectSomeValuesFrom(:inDistrict ObjectSomeValuesFrom(:weather :Rain))) :WetRoad)",
    "SubObjectPropertyOf(:adjacent :connected)",
    "SymmetricObjectProperty(:connected)",
    "DisjointClasses(:LightFlow :HeavyFlow :StopFlow)",
    "DisjointClasses(:Rain :Dry)",
    "DisjointClasses(:High :Low)",
)
Line = str


def class_line(name: str, of: str) -> Line:
    """N-Triples line of a class assertion."""
    return f"<{BASE}{of}> {RDF_TYPE} <{BASE}{name}> ."


def role_line(role: str, subject: str, object: str) -> Line:
    """N-Triples line of a role assertion."""
    return f"<{BASE}{subject}> <{BASE}{role}> <{BASE}{object}> ."


def city_ontology() -> str:
    """Ontology T of the city in functional syntax: about 55 classes, 19 roles."""
    names = sorted({name for top, below in _BELOW.items() for name in (top, *below.split())})
    lines = [
        f"Prefix(:=<{BASE}>)",
        "Prefix(rdfs:=<http://www.w3.org/2000/01/rdf-schema#>)",
        f"Ontology(<{BASE}ontology>",
    ]
    lines += [f"Declaration(Class(:{name}))" for name in names]
    lines += [f"Declaration(ObjectProperty(:{role}))" for role in _ROLES.split()]
    lines += [f'AnnotationAssertion(rdfs:label :{role} "{text}")' for role, text in _READ.items()]
    lines += [
        f"SubClassOf(:{name} :{top})" for top, below in _BELOW.items() for name in below.split()
    ]
    return "\n".join([*lines, *_AXIOMS, ")", ""])


@dataclass
class City:
    """Generated city: roads on a grid, with their neighbours, districts, sensors and bus lines."""

    roads: int
    seed: int
    neighbours: dict[int, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.dice = Random(self.seed)
        self.columns = max(2, round(self.roads**0.5))
        for road in range(self.roads):
            right = [road + 1] if (road + 1) % self.columns and road + 1 < self.roads else []
            below = [road + self.columns] if road + self.columns < self.roads else []
            for other in right + below:
                self.neighbours.setdefault(road, []).append(other)
                self.neighbours.setdefault(other, []).append(road)
        self.districts = max(2, self.roads // 30)
        self.lines = max(2, self.roads // 15)

    def scale_to_roads(self, axioms: int) -> int:
        """Scale a number of axioms, given for 300 roads, to the number of roads of this city."""
        return max(1, axioms * self.roads // _ROADS)

    def is_main(self, road: int) -> bool:
        """Whether a road is a main road."""
        return road % 3 == 0

    def district(self, road: int) -> int:
        """Index of a road's district."""
        return road * self.districts // self.roads

    def bus_route(self, line: int) -> list[int]:
        """Roads of a bus line, in order."""
        begun = line * self.roads // self.lines
        return [(begun + i) % self.roads for i in range(min(20, self.roads))]

    def static_lines(self) -> Iterator[Line]:
        """Yield the static data A: as many assertions as make T ∪ A as large as in Lécué's paper."""
        wanted = self.scale_to_roads(_STATIC) - city_ontology().count("SubClassOf(")
        found = list(self._road_lines())
        yield from found
        stop = 0
        while len(found) + 4 * stop + 4 <= wanted:
            road = stop % self.roads
            yield class_line("Stop", f"stop{stop}")
            yield role_line("hasStop", f"road{road}", f"stop{stop}")
            yield role_line("stopOf", f"stop{stop}", f"line{road % self.lines}")
            yield role_line("near", f"stop{stop}", f"stop{max(0, stop - 1)}")
            stop += 1

    def _road_lines(self) -> Iterator[Line]:
        """Yield the static assertions about roads, districts and bus lines."""
        for road in range(self.roads):
            yield class_line("MainStreet" if self.is_main(road) else "SideStreet", f"road{road}")
            yield role_line("inDistrict", f"road{road}", f"district{self.district(road)}")
            yield role_line("hasSensor", f"road{road}", f"sensor{road}")
            yield class_line("Camera" if road % 2 else "Loop", f"sensor{road}")
            yield from (
                role_line("adjacent", f"road{road}", f"road{other}")
                for other in self.neighbours.get(road, ())
            )
        yield from (class_line("District", f"district{d}") for d in range(self.districts))
        for number in range(self.lines):
            yield class_line("Line", f"line{number}")
            yield from (
                role_line("servedBy", f"road{road}", f"line{number}")
                for road in self.bus_route(number)
            )


#: The probability that a cause jams a road, and that a road is jammed without one.
CAUSES, _ELSE = {"event": 0.9, "collision": 0.95, "rain": 0.85}, 0.04


@dataclass
class Traffic:
    """Random traffic of a city: generates the events of its five streams, snapshot by snapshot."""

    city: City
    snapshots: int
    faults: frozenset[int]
    state: dict[str, list[Line]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.dice = Random(self.city.seed + 1)
        self.rain: set[int] = set()
        self.events: dict[int, bool] = {}
        self.collisions: set[int] = set()
        self.jammed: set[int] = set()

    def statements_at(self, index: int) -> dict[str, list[Line]]:
        """Generate the N-Triples lines of each stream at the snapshot ``index``, by name of the
        stream. Streams that have no update at this snapshot keep their lines.
        """
        makers: dict[str, Callable[[int], list[Line]]] = {
            "weather": self.weather,
            "events": self.events_,
            "incidents": self.incidents,
            "travel": self.travel,
            "buses": self.buses,
        }
        for stream, make in makers.items():
            if not index or index * CLOCK % RATES[stream][0] < CLOCK:
                if stream in ("travel", "buses"):
                    self._choose_jammed_roads(index)
                self.state[stream] = make(index)
        if index not in self.faults:
            return dict(self.state)
        # A planted contradiction: a road with two disjoint kinds of traffic flow.
        wrong = [
            role_line("travel", "road0", "broken"),
            class_line("StopFlow", "broken"),
            class_line("LightFlow", "broken"),
        ]
        return {**self.state, "travel": [*self.state["travel"], *wrong]}

    def _choose_jammed_roads(self, index: int) -> None:
        """Choose the roads that are jammed at a snapshot, each with the probability of its
        strongest cause.
        """
        city, dice = self.city, self.dice
        chances = dict.fromkeys(range(city.roads), _ELSE)
        causes = [("event", r) for r, big in self.events.items() if big] + [
            ("collision", r) for r in self.collisions
        ]
        for cause, at in causes:
            for road in city.neighbours.get(at, ()):
                chances[road] = max(chances[road], CAUSES[cause])
        if index < self.snapshots // 2:
            for road in range(city.roads):
                if city.is_main(road) and city.district(road) in self.rain:
                    chances[road] = max(chances[road], CAUSES["rain"])
        self.jammed = {road for road, chance in chances.items() if dice.random() < chance}

    def weather(self, index: int) -> list[Line]:
        """Draw the rain and wind of each district; return the lines of the weather stream."""
        city, dice = self.city, self.dice
        self.rain = {d for d in range(city.districts) if dice.random() < 0.4}
        lines = []
        for d in range(city.districts):
            wet = d in self.rain
            lines += [
                role_line("weather", f"district{d}", f"weather{d}"),
                class_line("Rain" if wet else "Dry", f"weather{d}"),
            ]
            lines += [
                role_line("wind", f"district{d}", f"wind{d}"),
                class_line(dice.choice(("Storm", "Breeze", "Calm")), f"wind{d}"),
            ]
            if wet:
                lines.append(class_line(dice.choice(("HeavyRain", "LightRain")), f"weather{d}"))
        return lines

    def events_(self, index: int) -> list[Line]:
        """Draw social events on random roads; return the lines of their stream."""
        city, dice = self.city, self.dice
        count = min(city.roads, max(1, city.scale_to_roads(RATES["events"][1]) // 4))
        chosen = dice.sample(range(city.roads), count)
        self.events = {road: dice.random() < 0.25 for road in chosen}
        lines = []
        for road, big in self.events.items():
            kind = dice.choice(("SocialEvent", "Concert", "Exhibition", "FootballMatch"))
            lines += [
                class_line(kind, f"event{road}"),
                role_line("occurs", f"road{road}", f"event{road}"),
            ]
            lines += [
                role_line("disruption", f"event{road}", f"d{road}"),
                class_line("High" if big else "Low", f"d{road}"),
            ]
        return lines

    def incidents(self, index: int) -> list[Line]:
        """Draw incidents on random roads; return the lines of their stream."""
        city, dice = self.city, self.dice
        chosen = dice.sample(
            range(city.roads),
            min(city.roads, max(1, city.scale_to_roads(RATES["incidents"][1]) // 3)),
        )
        self.collisions = set()
        lines = []
        for road in chosen:
            kind, grave = dice.choice(("Collision", "Breakdown", "RoadWorks")), dice.random() < 0.5
            if kind == "Collision" and grave:
                self.collisions.add(road)
            lines += [
                role_line("incident", f"road{road}", f"incident{road}"),
                class_line(kind, f"incident{road}"),
            ]
            lines.append(
                class_line("SeriousIncident" if grave else "MinorIncident", f"incident{road}")
            )
        return lines

    def travel(self, index: int) -> list[Line]:
        """Return the lines of the stream of travel times: the kind of traffic flow (stopped, heavy
        or light) on the roads that this stream covers.
        """
        city, dice = self.city, self.dice
        lines = []
        for road in range(0, min(city.roads, city.scale_to_roads(RATES["travel"][1]) // 2)):
            flow = (
                "StopFlow"
                if road in self.jammed and dice.random() < 0.9
                else dice.choice(("LightFlow", "HeavyFlow"))
            )
            lines += [
                role_line("travel", f"road{road}", f"flow{road}"),
                class_line(flow, f"flow{road}"),
            ]
        return lines

    def buses(self, index: int) -> list[Line]:
        """Lines of the stream of buses at a snapshot."""
        city, dice = self.city, self.dice
        lines = []
        for bus in range(max(1, city.scale_to_roads(RATES["buses"][1]) // 4)):
            route = city.bus_route(bus % city.lines)
            road = route[(index // 3 + bus // city.lines) % len(route)]
            state = "CongestedBus" if road in self.jammed else "FlowingBus"
            late = dice.choice(("LateBus", "PunctualBus", "EarlyBus"))
            lines += [
                role_line("with", f"road{road}", f"bus{bus}"),
                class_line(state, f"bus{bus}"),
                class_line(late, f"bus{bus}"),
            ]
            lines.append(role_line("heads", f"bus{bus}", f"road{route[0]}"))
        return lines


def planted_rules() -> list[dict[str, Any]]:
    """Planted causes of traffic jams, as rules for option ``--rules``; rain is a cause in the first
    half of the stream only.
    """

    def rule(body: list[list[str]], cause: str, until: str) -> dict[str, Any]:
        atoms = [[f"<{BASE}{atom[0]}>", *atom[1:]] for atom in body]
        head = [[f"<{BASE}JammedRoad>", "?x0"]]
        return {
            "body": atoms,
            "head": head,
            "cause": cause,
            "probability": CAUSES[cause],
            "until": until,
        }

    next_to = [["adjacent", "?x0", "?x1"]]
    return [
        rule([*next_to, ["occurs", "?x1", "?x2"], ["BigEvent", "?x2"]], "event", "end"),
        rule(
            [*next_to, ["incident", "?x1", "?x2"], ["SeriousCollision", "?x2"]], "collision", "end"
        ),
        rule([["MainStreet", "?x0"], ["WetRoad", "?x0"]], "rain", "half"),
    ]


@dataclass(frozen=True)
class DublinRecipe:
    """Sizes of a generated city: roads, snapshots, and snapshots that contradict the ontology
    (``faults``).
    """

    roads: int = option(300, "", minimum=4)
    snapshots: int = option(1000, "", minimum=1)
    seed: int = option(0, "", minimum=0)
    faults: int = option(0, "K snapshots contradict the ontology.", minimum=0, metavar="K")


def generate_city(recipe: DublinRecipe, out: Path) -> dict[str, int]:
    """Write the city's ontology, static data, streams and planted rules to ``out``; return the
    number of statements of each stream.
    """
    snapshots = recipe.snapshots
    city = City(recipe.roads, recipe.seed)
    wrong = frozenset(
        Random(recipe.seed + 2).sample(range(snapshots), min(recipe.faults, snapshots))
    )
    traffic = Traffic(city, snapshots, wrong)
    out.mkdir(parents=True, exist_ok=True)
    (out / "tbox.ofn").write_text(city_ontology(), encoding="utf-8")
    (out / "planted.json").write_text(
        json.dumps(planted_rules(), indent=1) + "\n", encoding="utf-8"
    )
    (out / "faults.json").write_text(json.dumps(sorted(wrong)) + "\n", encoding="utf-8")
    static = list(city.static_lines())
    counts = {"static": len(static), **dict.fromkeys(RATES, 0)}
    with _open_gzip(out / "static.nt.gz") as static_file:
        static_file.write("".join(f"{line}\n" for line in static).encode())
    files = {name: _open_gzip(out / f"{name}.jsonl.gz") for name in RATES}
    try:
        for index in range(snapshots):
            for name, lines in traffic.statements_at(index).items():
                files[name].write((json.dumps({"t": index, "triples": lines}) + "\n").encode())
                counts[name] += len(lines)
    finally:
        for file in files.values():
            file.close()
    return counts


def _open_gzip(path: Path) -> gzip.GzipFile:
    """Open a gzipped file for writing; the same content gives the same bytes."""
    # The same bytes for the same city.
    return gzip.GzipFile(str(path), "wb", compresslevel=1, mtime=0)
