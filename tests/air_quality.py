"""The worked example of docs/ENRICHMENT.md: T, B, eleven events, and what each is enriched with."""

from __future__ import annotations

from pathlib import Path

NS = "urn:air#"
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_XSD = "http://www.w3.org/2001/XMLSchema#"

_HAS = 'DataSomeValuesFrom(:hasSimpleResult DatatypeRestriction(xsd:integer xsd:minExclusive "{}"^^xsd:integer))'


def _hosts(*activities: str) -> str:
    members = " ".join(f":{name}" for name in activities)
    return f"ObjectIntersectionOf(:Location ObjectSomeValuesFrom(:hasActivity ObjectIntersectionOf({members})))"


def _alert(name: str, where: str, above: int) -> str:
    room = f"ObjectSomeValuesFrom(:madeBySensor ObjectSomeValuesFrom(:hasLocation {where}))"
    return f"EquivalentClasses(:{name} ObjectIntersectionOf(:CO2Observation {room} {_HAS.format(above)}))"


def _below(sup: str, *subs: str) -> list[str]:
    return [f"SubClassOf(:{sub} :{sup})" for sub in subs]


AXIOMS = [
    *_below("RestingBreathing", "Reading", "Sitting", "Whispering"),
    *_below("StandingSpeaking", "Teaching"),
    *_below("HeavyBreathing", "Singing", "Spinning"),
    *_below("Activity", "RestingBreathing", "StandingSpeaking", "HeavyBreathing"),
    *_below("Location", "Office", "Library", "ClassRoom"),
    *_below("Sensor", "CO2Sensor"),
    f"EquivalentClasses(:ClassRoom {_hosts('Reading', 'Sitting', 'Teaching')})",
    f"EquivalentClasses(:MusicClassRoom {_hosts('Reading', 'Teaching', 'Singing')})",
    f"EquivalentClasses(:SpinningClass {_hosts('Teaching', 'Spinning')})",
    f"EquivalentClasses(:Library {_hosts('Reading', 'Sitting', 'Whispering')})",
    "SubClassOf(:Library ObjectAllValuesFrom(:hasActivity :RestingBreathing))",
    "EquivalentClasses(:CO2Observation ObjectIntersectionOf(:Observation"
    " ObjectSomeValuesFrom(:madeBySensor ObjectSomeValuesFrom(:observes :CO2))))",
    _alert("HBCoronaAlert", "ObjectSomeValuesFrom(:hasActivity :HeavyBreathing)", 50),
    _alert("SSCoronaAlert", "ObjectSomeValuesFrom(:hasActivity :StandingSpeaking)", 100),
    _alert("RBCoronaAlert", "ObjectAllValuesFrom(:hasActivity :RestingBreathing)", 1000),
    "EquivalentClasses(:CoronaAlert ObjectUnionOf(:HBCoronaAlert :SSCoronaAlert :RBCoronaAlert))",
    "EquivalentClasses(:LowPrecision ObjectIntersectionOf(:Observation ObjectSomeValuesFrom(:hasBatteryLevel :Low)))",
    "EquivalentClasses(:AlarmRoom ObjectSomeValuesFrom(ObjectInverseOf(:hasLocation)"
    " ObjectSomeValuesFrom(ObjectInverseOf(:madeBySensor) :CoronaAlert)))",
]
STATIC = [
    *(
        "ClassAssertion(:CO2Sensor :sensor1)",
        "ObjectPropertyAssertion(:hasLocation :sensor1 :room1)",
    ),
    *("ClassAssertion(:ClassRoom :room1)", "ClassAssertion(:CO2Sensor :sensor2)"),
    *("ObjectPropertyAssertion(:hasLocation :sensor2 :room2)", "ClassAssertion(:Library :room2)"),
    *(
        "ObjectPropertyAssertion(:observes :sensor1 :co2)",
        "ObjectPropertyAssertion(:observes :sensor2 :co2)",
    ),
    *("ClassAssertion(:CO2 :co2)", "ClassAssertion(:Low :low)"),
]
_HEAD = f"Prefix(:=<{NS}>)\nPrefix(xsd:=<{_XSD}>)\nOntology(<urn:air>\n"


def write(
    folder: Path, axioms: list[str] = AXIOMS, static: list[str] = STATIC
) -> tuple[Path, Path]:
    """The files of T and B."""
    tbox, abox = folder / "air.ofn", folder / "rooms.ofn"
    tbox.write_text(_HEAD + "\n".join(axioms) + "\n)\n")
    abox.write_text(_HEAD.replace("<urn:air>", "<urn:rooms>") + "\n".join(static) + "\n)\n")
    return tbox, abox


def said(subject: str, predicate: str, value: str | int) -> str:
    """A statement: a class for ``a``, a literal of an integer, an individual of a text."""
    if isinstance(value, int):
        return f'<{NS}{subject}> <{NS}{predicate}> "{value}"^^<{_XSD}integer> .'
    name = (
        f"<{TYPE}>"
        if predicate == "a"
        else predicate
        if predicate.startswith("<")
        else f"<{NS}{predicate}>"
    )
    return f"<{NS}{subject}> {name} <{NS}{value}> ."


def observation(name: str, sensor: str, *values: int) -> list[str]:
    made = [said(name, "a", "Observation"), said(name, "madeBySensor", sensor)]
    return [*made, *(said(name, "hasSimpleResult", value) for value in values)]


_SENSOR = frozenset({"CO2Sensor", "Sensor"})
_PLAIN = frozenset({"Observation", "CO2Observation"})
_SS = _PLAIN | {"SSCoronaAlert", "CoronaAlert"}
_UNKNOWN = [*observation("o10", "x", 130), said("x", "a", "CO2Sensor")]
_SAME_AS = "<http://www.w3.org/2002/07/owl#sameAs>"

#: Each event, whether it finds an entry where all before it came in order, and the types of its
#: individuals.
EVENTS: list[tuple[list[str], bool, dict[str, frozenset[str]]]] = [
    (observation("o1", "sensor1", 120), False, {"o1": _SS, "sensor1": _SENSOR}),
    (observation("o2", "sensor1", 130), True, {"o2": _SS, "sensor1": _SENSOR}),
    (observation("o3", "sensor2", 130), False, {"o3": _PLAIN, "sensor2": _SENSOR}),
    (
        [*observation("o4", "sensor1", 130), said("o4", "hasBatteryLevel", "low")],
        False,
        {"o4": _SS | {"LowPrecision"}, "sensor1": _SENSOR, "low": frozenset({"Low"})},
    ),
    (observation("o5", "sensor1", 30), False, {"o5": _PLAIN, "sensor1": _SENSOR}),
    (observation("o6", "sensor1", 100), False, {"o6": _PLAIN, "sensor1": _SENSOR}),
    (observation("o7", "sensor1", 30, 130), False, {"o7": _SS, "sensor1": _SENSOR}),
    (
        observation("o8", "sensor2", 1200),
        False,
        {"o8": _PLAIN | {"RBCoronaAlert", "CoronaAlert"}, "sensor2": _SENSOR},
    ),
    (observation("o9", "sensor1", 1200), False, {"o9": _SS, "sensor1": _SENSOR}),
    (_UNKNOWN, False, {"o10": frozenset({"Observation"}), "x": _SENSOR}),
    (
        [*(line.replace("o10", "o11") for line in _UNKNOWN), said("x", _SAME_AS, "sensor1")],
        False,
        {"o11": _SS, "x": _SENSOR, "sensor1": _SENSOR},
    ),
]


def expected(types: dict[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """Types by whole IRIs."""
    return {NS + one: frozenset(NS + name for name in names) for one, names in types.items()}
