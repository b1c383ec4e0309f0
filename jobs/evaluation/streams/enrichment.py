"""Generate a university and a city whose events are enriched: ontology, static data and events, of
any size.

They follow the published recipe (students with courses and hobbies, 16 triples; traffic
observations at intersections, 6 triples), with names and axioms of their own.
The same arguments give the same scenario.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from shiq.jobs.evaluation.generation import RDF_TYPE

NAMES: Final = "http://example.org/enrichment#"
_XSD: Final = "http://www.w3.org/2001/XMLSchema#"


@dataclass(frozen=True)
class EnrichmentScenario:
    """Generated input for measuring event enrichment (adding the entailed types to events):
    ontology, static data and events.

    tbox: ontology in functional syntax
    static: N-Triples lines
    events: the N-Triples lines of each event
    """

    tbox: str
    static: tuple[str, ...]
    events: tuple[tuple[str, ...], ...]


def _iri_term(name: str) -> str:
    """N-Triples term of the IRI for a name of the generated ontology or data."""
    return f"<{NAMES}{name}>"


def _role_line(subject: str, role: str, object: str) -> str:
    """N-Triples line of a role assertion."""
    return f"{_iri_term(subject)} {_iri_term(role)} {_iri_term(object)} ."


def _type_line(subject: str, name: str) -> str:
    """N-Triples line of a class assertion."""
    return f"{_iri_term(subject)} {RDF_TYPE} {_iri_term(name)} ."


def _wrap_axioms(axioms: str) -> str:
    """Wrap axioms in functional syntax as an ontology."""
    head = f"Prefix(:=<{NAMES}>)\nPrefix(xsd:=<{_XSD}>)\n"
    return f"{head}Ontology(<{NAMES[:-1]}>\n{axioms})\n"


_UNIVERSITY: Final = """SubClassOf(:Student :Person)
DisjointClasses(:Person :Course :Hobby :Department)
SubClassOf(:CoreCourse :Course)
SubClassOf(:ElectiveCourse :Course)
SubClassOf(:Sport :Hobby)
SubClassOf(:Art :Hobby)
SubClassOf(:Meditation :Hobby)
DisjointClasses(:Sport :Art :Meditation)
ObjectPropertyDomain(:takesCourse :Student)
ObjectPropertyRange(:takesCourse :Course)
ObjectPropertyRange(:hasHobby :Hobby)
FunctionalObjectProperty(:memberOf)
DisjointClasses(:TechnicalDepartment :ArtsDepartment)
SubClassOf(:TechnicalDepartment :Department)
SubClassOf(:ArtsDepartment :Department)
EquivalentClasses(:LeisureStudent ObjectIntersectionOf(:Student ObjectMinCardinality(3 :hasHobby :Hobby)))
EquivalentClasses(:SelfAwareStudent ObjectIntersectionOf(:Student ObjectSomeValuesFrom(:hasHobby :Meditation)))
EquivalentClasses(:EngineeringStudent ObjectIntersectionOf(:Student ObjectSomeValuesFrom(:memberOf :TechnicalDepartment)))
EquivalentClasses(:SpecialistStudent ObjectIntersectionOf(:Student
  ObjectSomeValuesFrom(:takesCourse ObjectSomeValuesFrom(:taughtIn :TechnicalDepartment))))
EquivalentClasses(:BroadStudent ObjectIntersectionOf(:EngineeringStudent ObjectSomeValuesFrom(:hasHobby :Art)))
SubClassOf(:EngineeringStudent ObjectComplementOf(:ArtsStudent))
EquivalentClasses(:ArtsStudent ObjectIntersectionOf(:Student ObjectSomeValuesFrom(:memberOf :ArtsDepartment)))
"""


def generate_university(departments: int, events: int, seed: int) -> EnrichmentScenario:
    """Generate students who register at a university with this number of departments."""
    dice, static = random.Random(f"university {seed}"), list[str]()
    hobbies = [f"hobby{n}" for n in range(9)]
    static += [
        _type_line(hobby, ("Sport", "Art", "Meditation")[n % 3]) for n, hobby in enumerate(hobbies)
    ]
    for d in range(departments):
        static.append(
            _type_line(f"department{d}", ("TechnicalDepartment", "ArtsDepartment")[d % 2])
        )
        for c in range(20):
            course = f"course{d}-{c}"
            static.append(_type_line(course, ("CoreCourse", "ElectiveCourse")[c % 2]))
            static.append(_role_line(course, "taughtIn", f"department{d}"))
        for f in range(15):
            static.append(_type_line(f"teacher{d}-{f}", "Person"))
            static.append(_role_line(f"teacher{d}-{f}", "memberOf", f"department{d}"))
            static.append(_role_line(f"teacher{d}-{f}", "teaches", f"course{d}-{f}"))
    # Many students have one curriculum.
    curricula = []
    for _ in range(max(1, events // 10)):
        d = dice.randrange(departments)
        chosen = [f"course{d}-{c}" for c in sorted(dice.sample(range(20), 8))]
        curricula.append((d, chosen, sorted(dice.sample(hobbies, 5))))
    made = []
    for n in range(events):
        d, courses, liked = dice.choice(curricula)
        name = f"student{n}"
        lines = [_type_line(name, "Student"), _role_line(name, "memberOf", f"department{d}")]
        lines += [_role_line(name, "takesCourse", course) for course in courses]
        lines += [_role_line(name, "hasHobby", hobby) for hobby in liked]
        made.append((*lines, f'{_iri_term(name)} {_iri_term("name")} "Student {n}" .'))
    return EnrichmentScenario(_wrap_axioms(_UNIVERSITY), tuple(static), tuple(made))


_CITY: Final = """SubClassOf(:Congestion :ObservableProperty)
SubClassOf(:Speed :ObservableProperty)
SubClassOf(:Parking :ObservableProperty)
DisjointClasses(:Congestion :Speed :Parking)
SubClassOf(:School :Place)
SubClassOf(:Hospital :Place)
SubClassOf(:Shop :Place)
FunctionalObjectProperty(:observes)
FunctionalDataProperty(:hasValue)
EquivalentClasses(:CongestionObservation ObjectIntersectionOf(:Observation
  ObjectSomeValuesFrom(:madeBySensor ObjectSomeValuesFrom(:observes :Congestion))))
EquivalentClasses(:SpeedObservation ObjectIntersectionOf(:Observation
  ObjectSomeValuesFrom(:madeBySensor ObjectSomeValuesFrom(:observes :Speed))))
EquivalentClasses(:HighTraffic ObjectIntersectionOf(:CongestionObservation
  DataSomeValuesFrom(:hasValue DatatypeRestriction(xsd:decimal xsd:minExclusive "60.0"^^xsd:decimal))))
EquivalentClasses(:SlowTraffic ObjectIntersectionOf(:SpeedObservation
  DataSomeValuesFrom(:hasValue DatatypeRestriction(xsd:decimal xsd:maxExclusive "20.0"^^xsd:decimal))))
EquivalentClasses(:SensitiveSensor ObjectSomeValuesFrom(:locatedAt
  ObjectSomeValuesFrom(:near ObjectUnionOf(:School :Hospital))))
EquivalentClasses(:TrafficAlert ObjectIntersectionOf(ObjectUnionOf(:HighTraffic :SlowTraffic)
  ObjectSomeValuesFrom(:madeBySensor :SensitiveSensor)))
EquivalentClasses(:MainRoadAlert ObjectIntersectionOf(:TrafficAlert
  ObjectSomeValuesFrom(:madeBySensor ObjectSomeValuesFrom(:locatedAt :MainCrossing))))
"""
_OBSERVED: Final = ("Congestion", "Speed", "Parking")


def generate_city(intersections: int, events: int, seed: int) -> EnrichmentScenario:
    """Generate traffic observations of a city with three sensors at each intersection, in turn."""
    dice, static = random.Random(f"city {seed}"), list[str]()
    for n in range(intersections):
        crossing = f"crossing{n}"
        static.append(_type_line(crossing, ("MainCrossing", "SideCrossing")[n % 2]))
        for place in range(2):
            static.append(_role_line(crossing, "near", f"place{n}-{place}"))
            static.append(
                _type_line(f"place{n}-{place}", dice.choice(("School", "Hospital", "Shop")))
            )
        for kind in _OBSERVED:
            sensor = f"{kind.lower()}Sensor{n}"
            static.append(_role_line(sensor, "locatedAt", crossing))
            static.append(_role_line(sensor, "observes", f"{kind.lower()}{n}"))
            static.append(_type_line(f"{kind.lower()}{n}", kind))
    return EnrichmentScenario(
        _wrap_axioms(_CITY),
        tuple(static),
        tuple(_generate_observations(intersections, events, dice)),
    )


def _generate_observations(
    intersections: int, events: int, dice: random.Random
) -> Iterator[tuple[str, ...]]:
    """Yield the N-Triples lines of each observation event."""
    for n in range(events):
        kind, place = _OBSERVED[n // intersections % 3], n % intersections
        name, value = f"observation{n}", dice.choice((10, 40, 80)) + dice.random()
        yield (
            _type_line(name, "Observation"),
            _role_line(name, "madeBySensor", f"{kind.lower()}Sensor{place}"),
            _role_line(name, "observedProperty", f"{kind.lower()}{place}"),
            f'{_iri_term(name)} {_iri_term("hasValue")} "{value:.2f}"^^<{_XSD}decimal> .',
            f'{_iri_term(name)} {_iri_term("unit")} "of {kind}" .',
            f'{_iri_term(name)} {_iri_term("number")} "{n}"^^<{_XSD}integer> .',
        )
