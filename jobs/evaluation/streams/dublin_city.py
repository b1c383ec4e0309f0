"""The city of `jobs.evaluation.streams.dublin`: its ontology, and what stands in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from jobs.evaluation.generation import RDF_TYPE

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
    return f"<{BASE}{of}> {RDF_TYPE} <{BASE}{name}> ."


def role_line(role: str, subject: str, object: str) -> Line:
    return f"<{BASE}{subject}> <{BASE}{role}> <{BASE}{object}> ."


def ontology() -> str:
    """T: about 55 classes, 19 roles."""
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
    """Roads on a grid, their neighbours, and what stands beside them."""

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

    def share(self, axioms: int) -> int:
        """An amount at 300 roads, for these."""
        return max(1, axioms * self.roads // _ROADS)

    def is_main(self, road: int) -> bool:
        return road % 3 == 0

    def district(self, road: int) -> int:
        return road * self.districts // self.roads

    def line(self, number: int) -> list[int]:
        """The roads of a bus line."""
        begun = number * self.roads // self.lines
        return [(begun + i) % self.roads for i in range(min(20, self.roads))]

    def static(self) -> Iterator[Line]:
        """A: as many assertions as make T ∪ A as large as that of the source."""
        wanted = self.share(_STATIC) - ontology().count("SubClassOf(")
        found = list(self._static())
        yield from found
        stop = 0
        while len(found) + 4 * stop + 4 <= wanted:
            road = stop % self.roads
            yield class_line("Stop", f"stop{stop}")
            yield role_line("hasStop", f"road{road}", f"stop{stop}")
            yield role_line("stopOf", f"stop{stop}", f"line{road % self.lines}")
            yield role_line("near", f"stop{stop}", f"stop{max(0, stop - 1)}")
            stop += 1

    def _static(self) -> Iterator[Line]:
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
                role_line("servedBy", f"road{road}", f"line{number}") for road in self.line(number)
            )
