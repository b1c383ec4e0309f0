"""Generate a building whose gateway sends sensor readings as raw JSON: ontology, rooms, sensors,
mapping and readings.

The ontology is the worked example of enrichment (docs/ENRICHMENT.md) in the names of SOSA. Which
sensor hangs where is in SQLite, what a room is used for in JSON, the readings in JSON lines; an
RML mapping makes RDF of all three. A function of the numbers.
"""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from shiq.jobs.option_fields import option

SOSA: Final = "http://www.w3.org/ns/sosa/"
BUILDING: Final = "http://example.org/building#"
#: What rooms are used for.
FUNCTIONS: Final = ("Office", "Library", "ClassRoom", "MusicClassRoom", "SpinningClass")
#: Readings of one minute have one time.
MINUTE: Final = 60

_HOSTS: Final[Mapping[str, tuple[str, ...]]] = {
    "ClassRoom": ("Reading", "Sitting", "Teaching"),
    "MusicClassRoom": ("Reading", "Teaching", "Singing"),
    "SpinningClass": ("Teaching", "Spinning"),
    "Library": ("Reading", "Sitting", "Whispering"),
}
_ACTIVITIES: Final[Mapping[str, tuple[str, ...]]] = {
    "RestingBreathing": ("Reading", "Sitting", "Whispering"),
    "StandingSpeaking": ("Teaching",),
    "HeavyBreathing": ("Singing", "Spinning"),
    "Activity": ("RestingBreathing", "StandingSpeaking", "HeavyBreathing"),
    "Location": FUNCTIONS,
}
#: An alert: what the room hosts, how, and above which reading.
_ALERTS: Final = {
    "HBCoronaAlert": ("ObjectSomeValuesFrom(:hasActivity :HeavyBreathing)", 50),
    "SSCoronaAlert": ("ObjectSomeValuesFrom(:hasActivity :StandingSpeaking)", 100),
    "RBCoronaAlert": ("ObjectAllValuesFrom(:hasActivity :RestingBreathing)", 1000),
}


def building_ontology() -> str:
    """Ontology of the building in functional syntax."""
    lines = [f"SubClassOf(:{sub} :{sup})" for sup, subs in _ACTIVITIES.items() for sub in subs]
    for room, activities in _HOSTS.items():
        inner = " ".join(f":{name}" for name in activities)
        hosts = f"ObjectSomeValuesFrom(:hasActivity ObjectIntersectionOf({inner}))"
        lines.append(f"EquivalentClasses(:{room} ObjectIntersectionOf(:Location {hosts}))")
    lines += [
        "SubClassOf(:Library ObjectAllValuesFrom(:hasActivity :RestingBreathing))",
        "SubClassOf(:CO2Sensor sosa:Sensor)",
        "EquivalentClasses(:CO2Observation ObjectIntersectionOf(sosa:Observation"
        " ObjectSomeValuesFrom(sosa:madeBySensor ObjectSomeValuesFrom(sosa:observes :CO2))))",
        "EquivalentClasses(:CoronaAlert ObjectUnionOf(:HBCoronaAlert :SSCoronaAlert :RBCoronaAlert))",
        "EquivalentClasses(:AlarmRoom ObjectSomeValuesFrom(ObjectInverseOf(:hasLocation)"
        " ObjectSomeValuesFrom(ObjectInverseOf(sosa:madeBySensor) :CoronaAlert)))",
        "ClassAssertion(:CO2 :co2)",
    ]
    for alert, (condition, bound) in _ALERTS.items():
        room = f"ObjectSomeValuesFrom(sosa:madeBySensor ObjectSomeValuesFrom(:hasLocation {condition}))"
        above = f'DatatypeRestriction(xsd:decimal xsd:minExclusive "{bound}"^^xsd:decimal)'
        value = f"DataSomeValuesFrom(sosa:hasSimpleResult {above})"
        lines.append(
            f"EquivalentClasses(:{alert} ObjectIntersectionOf(:CO2Observation {room} {value}))"
        )
    head = f"Prefix(:=<{BUILDING}>)\nPrefix(sosa:=<{SOSA}>)\nPrefix(xsd:=<http://www.w3.org/2001/XMLSchema#>)\n"
    return head + f"Ontology(<{BUILDING[:-1]}>\n" + "\n".join(lines) + "\n)\n"


MAPPING: Final = f"""\
@prefix rml: <http://w3id.org/rml/> .
@prefix sosa: <{SOSA}> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix d2rq: <http://www.wiwiss.fu-berlin.de/suhl/bizer/D2RQ/0.1#> .
@prefix : <{BUILDING}> .

:database a d2rq:Database ; d2rq:jdbcDSN "jdbc:sqlite:sensors.db" .

:readings rml:logicalSource [ rml:source "readings" ; rml:referenceFormulation rml:JSONPath ; rml:iterator "$" ] ;
  rml:subjectMap [ rml:template "{BUILDING}{{reading}}" ; rml:class sosa:Observation ] ;
  rml:predicateObjectMap [ rml:predicate sosa:madeBySensor ; rml:objectMap [ rml:template "{BUILDING}{{sensor}}" ] ] ;
  rml:predicateObjectMap [ rml:predicate sosa:hasSimpleResult ;
    rml:objectMap [ rml:reference "value" ; rml:datatype xsd:decimal ] ] .

:sensors rml:logicalSource [ rml:source :database ; rml:referenceFormulation rml:SQL2008Query ;
    rml:query "SELECT sensor, room, kind FROM sensors" ] ;
  rml:subjectMap [ rml:template "{BUILDING}{{sensor}}" ] ;
  rml:predicateObjectMap [ rml:predicate rdf:type ; rml:objectMap [ rml:template "{BUILDING}{{kind}}" ] ] ;
  rml:predicateObjectMap [ rml:predicate :hasLocation ; rml:objectMap [ rml:template "{BUILDING}{{room}}" ] ] ;
  rml:predicateObjectMap [ rml:predicate sosa:observes ; rml:object :co2 ] .

:rooms rml:logicalSource [ rml:source "rooms.json" ; rml:referenceFormulation rml:JSONPath ; rml:iterator "$.rooms[*]" ] ;
  rml:subjectMap [ rml:template "{BUILDING}{{room}}" ] ;
  rml:predicateObjectMap [ rml:predicate rdf:type ; rml:objectMap [ rml:template "{BUILDING}{{function}}" ] ] .
"""


def room_functions(rooms: int) -> dict[str, str]:
    """Give each room a function, such as office or laboratory; returned by name of the room."""
    return {f"room{n}": FUNCTIONS[n % len(FUNCTIONS)] for n in range(1, rooms + 1)}


def generate_readings(rooms: int, events: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Yield CO2 readings of all rooms' sensors in turn, one a minute for each sensor."""
    rng = random.Random(f"building {seed}")
    for n in range(events):
        value = rng.choice(
            (
                rng.uniform(10, 49),
                rng.uniform(51, 99),
                rng.uniform(101, 900),
                rng.uniform(1001, 1500),
            )
        )
        yield {
            "t": n // rooms * MINUTE,
            "reading": f"reading{n + 1}",
            "sensor": f"sensor{n % rooms + 1}",
            "value": round(value, 1),
        }


@dataclass(frozen=True)
class BuildingRecipe:
    """Sizes of a generated building: rooms, and sensor readings (``events``)."""

    rooms: int = option(20, "", minimum=1)
    events: int = option(10_000, "", minimum=0)
    seed: int = option(0, "", minimum=0)


def write_building_files(recipe: BuildingRecipe, out: Path) -> tuple[str, ...]:
    """Write all files of the building below ``out``; return their names."""
    rooms, events = recipe.rooms, recipe.events
    out.mkdir(parents=True, exist_ok=True)
    (out / "building.ofn").write_text(building_ontology(), encoding="utf-8")
    (out / "mapping.rml.ttl").write_text(MAPPING, encoding="utf-8")
    used = [
        {"room": room, "function": function} for room, function in room_functions(rooms).items()
    ]
    (out / "rooms.json").write_text(json.dumps({"rooms": used}, indent=1), encoding="utf-8")
    (out / "sensors.db").unlink(missing_ok=True)
    with closing(sqlite3.connect(out / "sensors.db")) as database, database:
        database.execute("CREATE TABLE sensors (sensor TEXT PRIMARY KEY, room TEXT, kind TEXT)")
        rows = ((f"sensor{n}", f"room{n}", "CO2Sensor") for n in range(1, rooms + 1))
        database.executemany("INSERT INTO sensors VALUES (?, ?, ?)", rows)
    with open(out / "readings.jsonl", "w", encoding="utf-8") as file:
        file.writelines(
            json.dumps(reading) + "\n" for reading in generate_readings(rooms, events, recipe.seed)
        )
    return ("building.ofn", "mapping.rml.ttl", "rooms.json", "sensors.db", "readings.jsonl")
