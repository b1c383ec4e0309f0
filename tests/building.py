"""The air quality of a building, in which alerts follow from what is done in a room and from
values: T, B and eleven events.
"""

from __future__ import annotations

from shiq import model as owl
from shiq.functional import parse_functional

_TBOX = """
Prefix(:=<urn:b:>) Prefix(xsd:=<http://www.w3.org/2001/XMLSchema#>) Ontology(
SubClassOf(:Reading :RestingBreathing) SubClassOf(:Sitting :RestingBreathing) SubClassOf(:Whispering :RestingBreathing)
SubClassOf(:Teaching :StandingSpeaking) SubClassOf(:Singing :HeavyBreathing) SubClassOf(:Spinning :HeavyBreathing)
SubClassOf(:RestingBreathing :Activity) SubClassOf(:StandingSpeaking :Activity) SubClassOf(:HeavyBreathing :Activity)
SubClassOf(:Office :Location) SubClassOf(:Library :Location) SubClassOf(:ClassRoom :Location) SubClassOf(:CO2Sensor :Sensor)
EquivalentClasses(:ClassRoom ObjectIntersectionOf(:Location
  ObjectSomeValuesFrom(:hasActivity ObjectIntersectionOf(:Reading :Sitting :Teaching))))
EquivalentClasses(:MusicClassRoom ObjectIntersectionOf(:Location
  ObjectSomeValuesFrom(:hasActivity ObjectIntersectionOf(:Reading :Teaching :Singing))))
EquivalentClasses(:SpinningClass ObjectIntersectionOf(:Location
  ObjectSomeValuesFrom(:hasActivity ObjectIntersectionOf(:Teaching :Spinning))))
EquivalentClasses(:Library ObjectIntersectionOf(:Location
  ObjectSomeValuesFrom(:hasActivity ObjectIntersectionOf(:Reading :Sitting :Whispering))))
SubClassOf(:Library ObjectAllValuesFrom(:hasActivity :RestingBreathing))
EquivalentClasses(:CO2Observation ObjectIntersectionOf(:Observation
  ObjectSomeValuesFrom(:madeBySensor ObjectSomeValuesFrom(:observes :CO2))))
EquivalentClasses(:HBCoronaAlert ObjectIntersectionOf(:CO2Observation
  ObjectSomeValuesFrom(:madeBySensor ObjectSomeValuesFrom(:hasLocation ObjectSomeValuesFrom(:hasActivity :HeavyBreathing)))
  DataSomeValuesFrom(:hasSimpleResult DatatypeRestriction(xsd:integer xsd:minExclusive "50"^^xsd:integer))))
EquivalentClasses(:SSCoronaAlert ObjectIntersectionOf(:CO2Observation
  ObjectSomeValuesFrom(:madeBySensor ObjectSomeValuesFrom(:hasLocation ObjectSomeValuesFrom(:hasActivity :StandingSpeaking)))
  DataSomeValuesFrom(:hasSimpleResult DatatypeRestriction(xsd:integer xsd:minExclusive "100"^^xsd:integer))))
EquivalentClasses(:RBCoronaAlert ObjectIntersectionOf(:CO2Observation
  ObjectSomeValuesFrom(:madeBySensor ObjectSomeValuesFrom(:hasLocation ObjectAllValuesFrom(:hasActivity :RestingBreathing)))
  DataSomeValuesFrom(:hasSimpleResult DatatypeRestriction(xsd:integer xsd:minExclusive "1000"^^xsd:integer))))
EquivalentClasses(:CoronaAlert ObjectUnionOf(:HBCoronaAlert :SSCoronaAlert :RBCoronaAlert))
EquivalentClasses(:LowPrecision ObjectIntersectionOf(:Observation ObjectSomeValuesFrom(:hasBatteryLevel :Low)))
EquivalentClasses(:AlarmRoom ObjectSomeValuesFrom(ObjectInverseOf(:hasLocation)
  ObjectSomeValuesFrom(ObjectInverseOf(:madeBySensor) :CoronaAlert)))
ClassAssertion(:CO2Sensor :sensor1) ObjectPropertyAssertion(:hasLocation :sensor1 :room1) ClassAssertion(:ClassRoom :room1)
ClassAssertion(:CO2Sensor :sensor2) ObjectPropertyAssertion(:hasLocation :sensor2 :room2) ClassAssertion(:Library :room2)
ObjectPropertyAssertion(:observes :sensor1 :co2) ObjectPropertyAssertion(:observes :sensor2 :co2)
ClassAssertion(:CO2 :co2) ClassAssertion(:Low :low))
"""


def building() -> tuple[tuple[owl.Axiom, ...], list[owl.Assertion]]:
    """T and B."""
    reading = parse_functional(_TBOX, "building.ofn", "b")
    return reading.tbox.axioms, list(reading.abox)


def observation(name: str, sensor: str, *values: int) -> list[owl.Assertion]:
    """An event."""
    made_by, result = (
        owl.ObjectProperty("urn:b:madeBySensor"),
        owl.DataProperty("urn:b:hasSimpleResult"),
    )
    return [
        owl.ClassAssertion(owl.Class("urn:b:Observation"), name),
        owl.ObjectPropertyAssertion(made_by, name, sensor),
        *(
            owl.DataPropertyAssertion(result, name, owl.Literal(str(value), owl.XSD + "integer"))
            for value in values
        ),
    ]


#: The events, and what is entailed of the first individual of each beside Observation (and of the
#: sensor, where that is told).
_ALERT = {"CO2Observation", "SSCoronaAlert", "CoronaAlert"}
_LOW = owl.ObjectPropertyAssertion(
    owl.ObjectProperty("urn:b:hasBatteryLevel"), "urn:b:o4", "urn:b:low"
)
_SENSOR = owl.ClassAssertion(owl.Class("urn:b:CO2Sensor"), "urn:b:x")
EVENTS: tuple[tuple[list[owl.Assertion], set[str]], ...] = (
    (observation("urn:b:o1", "urn:b:sensor1", 120), _ALERT),
    (observation("urn:b:o2", "urn:b:sensor1", 130), _ALERT),
    (observation("urn:b:o3", "urn:b:sensor2", 130), {"CO2Observation"}),
    ([*observation("urn:b:o4", "urn:b:sensor1", 130), _LOW], {*_ALERT, "LowPrecision"}),
    (observation("urn:b:o5", "urn:b:sensor1", 30), {"CO2Observation"}),
    (observation("urn:b:o6", "urn:b:sensor1", 100), {"CO2Observation"}),
    (observation("urn:b:o7", "urn:b:sensor1", 30, 130), _ALERT),
    (
        observation("urn:b:o8", "urn:b:sensor2", 1200),
        {"CO2Observation", "RBCoronaAlert", "CoronaAlert"},
    ),
    (observation("urn:b:o9", "urn:b:sensor1", 1200), _ALERT),
    ([*observation("urn:b:o10", "urn:b:x", 130), _SENSOR], set()),
    (
        [
            *observation("urn:b:o11", "urn:b:x", 130),
            _SENSOR,
            owl.SameIndividual("urn:b:x", "urn:b:sensor1"),
        ],
        _ALERT,
    ),
)
