"""Generated data like that of pathway databases (BioPAX level 3): one module of nearly all,
functional roles, disjoint kinds.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from shiq.model import (
    Assertion,
    Axiom,
    Class,
    ClassAssertion,
    DataProperty,
    DataPropertyAssertion,
    DataPropertyDomain,
    DisjointClasses,
    FunctionalDataProperty,
    FunctionalObjectProperty,
    Literal,
    ObjectAllValuesFrom,
    ObjectProperty,
    ObjectPropertyAssertion,
    ObjectPropertyDomain,
    ObjectPropertyRange,
    ObjectUnionOf,
    SubClassOf,
    SubObjectPropertyOf,
    TBox,
)

N = "urn:pathway#"
STRING = "http://www.w3.org/2001/XMLSchema#string"


def cls(name: str) -> Class:
    return Class(N + name)


def role(name: str) -> ObjectProperty:
    return ObjectProperty(N + name)


KINDS = {
    "Entity": ("PhysicalEntity", "Interaction", "Pathway", "Gene"),
    "PhysicalEntity": ("Protein", "SmallMolecule", "Complex", "Dna", "Rna"),
    "Interaction": ("Control", "Conversion"),
    "Control": ("Catalysis", "Modulation"),
    "Conversion": ("BiochemicalReaction", "Transport"),
    "UtilityClass": (
        "Xref",
        "EntityReference",
        "ControlledVocabulary",
        "Evidence",
        "Provenance",
        "Stoichiometry",
    ),
    "Xref": ("UnificationXref", "PublicationXref", "RelationshipXref"),
    "EntityReference": ("ProteinReference", "SmallMoleculeReference", "DnaReference"),
    "ControlledVocabulary": ("CellularLocationVocabulary", "EvidenceCodeVocabulary"),
}
FUNCTIONAL = (
    "entityReference",
    "cellularLocation",
    "controlled",
    "physicalEntity",
    "evidenceCode",
    "stepProcess",
)


def tbox() -> TBox:
    """Kinds that are disjoint from their siblings, functional roles, domains and ranges that are
    unions.
    """
    axioms: list[Axiom] = [DisjointClasses((cls("Entity"), cls("UtilityClass")))]
    for above, below in KINDS.items():
        axioms += [SubClassOf(cls(name), cls(above)) for name in below]
        axioms.append(DisjointClasses(tuple(map(cls, below))))
    axioms += [FunctionalObjectProperty(role(name)) for name in FUNCTIONAL]
    axioms += [
        FunctionalDataProperty(DataProperty(N + name)) for name in ("displayName", "db", "id")
    ]
    axioms += [DataPropertyDomain(DataProperty(N + name), cls("Xref")) for name in ("db", "id")]

    def typed(name: str, domain: tuple[str, ...], range_: tuple[str, ...]) -> None:
        union = [
            ObjectUnionOf(tuple(map(cls, names))) if len(names) > 1 else cls(names[0])
            for names in (domain, range_)
        ]
        axioms.extend(
            (ObjectPropertyDomain(role(name), union[0]), ObjectPropertyRange(role(name), union[1]))
        )

    typed("entityReference", ("Protein", "SmallMolecule", "Dna", "Rna"), ("EntityReference",))
    typed("cellularLocation", ("PhysicalEntity",), ("CellularLocationVocabulary",))
    typed("controlled", ("Control",), ("Interaction", "Pathway"))
    typed("controller", ("Control",), ("PhysicalEntity", "Pathway"))
    typed("participant", ("Interaction",), ("PhysicalEntity", "Gene"))
    typed("physicalEntity", ("Stoichiometry",), ("PhysicalEntity",))
    typed("participantStoichiometry", ("Conversion",), ("Stoichiometry",))
    typed("component", ("Complex",), ("PhysicalEntity",))
    typed("pathwayComponent", ("Pathway",), ("Interaction", "Pathway"))
    typed(
        "xref",
        ("Entity", "EntityReference", "ControlledVocabulary", "Evidence", "Provenance"),
        ("Xref",),
    )
    typed("evidence", ("Entity",), ("Evidence",))
    typed("evidenceCode", ("Evidence",), ("EvidenceCodeVocabulary",))
    typed("dataSource", ("Entity",), ("Provenance",))
    axioms += [
        SubObjectPropertyOf(role(name), role("participant"))
        for name in ("left", "right", "controller")
    ]
    axioms.append(
        SubClassOf(
            cls("Protein"), ObjectAllValuesFrom(role("entityReference"), cls("ProteinReference"))
        )
    )
    axioms.append(
        SubClassOf(
            cls("SmallMolecule"),
            ObjectAllValuesFrom(role("entityReference"), cls("SmallMoleculeReference")),
        )
    )
    axioms.append(
        SubClassOf(cls("Transport"), ObjectAllValuesFrom(role("participant"), cls("Protein")))
    )
    axioms.append(
        SubClassOf(cls("Catalysis"), ObjectAllValuesFrom(role("controlled"), cls("Conversion")))
    )
    return TBox(tuple(axioms))


def pathways(count: int, seed: int = 1) -> list[Assertion]:
    """About ``count`` assertions, consistent, nearly all of them connected."""
    draw = random.Random(seed)
    rows: dict[Assertion, None] = {}

    def isa(name: str, kind: str) -> str:
        rows[ClassAssertion(cls(kind), N + name)] = None
        if kind not in ("Provenance", "Stoichiometry", "UnificationXref"):
            rows[
                DataPropertyAssertion(
                    DataProperty(N + "displayName"), N + name, Literal(name, STRING)
                )
            ] = None
        return name

    def link(subject: str, property: str, target: str) -> None:
        rows[ObjectPropertyAssertion(role(property), N + subject, N + target)] = None

    source = isa("source", "Provenance")
    places = [isa(f"place{i}", "CellularLocationVocabulary") for i in range(5)]
    code = isa("code", "EvidenceCodeVocabulary")
    pools: list[str] = []
    i = 0
    pathway = isa("pathway0", "Pathway")
    while len(rows) < count:
        i += 1
        if i % 12 == 0:
            inner = isa(f"pathway{i}", "Pathway")
            link(pathway, "pathwayComponent", inner)
            pathway = inner
        # Most are of a general kind: which of its subclasses is left open, so that most role
        # assertions have to be looked at.
        kind = "" if i % 4 else ("Protein" if i % 3 else "SmallMolecule")
        one = isa(f"molecule{i}", kind or "PhysicalEntity")
        reference = isa(f"reference{i}", f"{kind or 'Entity'}Reference")
        link(one, "entityReference", reference)
        link(one, "cellularLocation", draw.choice(places))
        link(one, "dataSource", source)
        xref = isa(f"xref{i}", "UnificationXref")
        rows[
            DataPropertyAssertion(DataProperty(N + "db"), N + xref, Literal("uniprot", STRING))
        ] = None
        rows[DataPropertyAssertion(DataProperty(N + "id"), N + xref, Literal(f"P{i}", STRING))] = (
            None
        )
        link(reference, "xref", xref)
        if i % 2:
            pools.append(one)
        else:
            reaction = isa(f"reaction{i}", "Conversion")
            link(pathway, "pathwayComponent", reaction)
            link(reaction, "left", draw.choice(pools))
            link(reaction, "right", one)
            amount = isa(f"amount{i}", "Stoichiometry")
            link(amount, "physicalEntity", one)
            link(reaction, "participantStoichiometry", amount)
            catalysis = isa(f"catalysis{i}", "Catalysis")
            link(catalysis, "controlled", reaction)
            link(catalysis, "controller", draw.choice(pools))
            proof = isa(f"evidence{i}", "Evidence")
            link(proof, "evidenceCode", code)
            link(reaction, "evidence", proof)
    return list(rows)


def faults(data: list[Assertion], count: int, seed: int = 1) -> list[Assertion]:
    """So many assertions, each of which contradicts ``data`` in a place of its own."""
    return list(_faults(data, count, random.Random(seed)))


def _faults(data: list[Assertion], count: int, draw: random.Random) -> Iterator[Assertion]:
    names = [a.individual for a in data if isinstance(a, ClassAssertion)]
    of = {
        kind: [n for n in names if n.startswith(N + kind)]
        for kind in ("molecule", "catalysis", "reaction", "xref", "amount")
    }
    for names_ in of.values():
        draw.shuffle(names_)
    for i in range(count):
        match i % 5:
            case 0:
                yield ObjectPropertyAssertion(
                    role("entityReference"), of["molecule"].pop(), of["xref"].pop()
                )
            case 1:
                yield ObjectPropertyAssertion(
                    role("controlled"), of["catalysis"].pop(), of["molecule"].pop()
                )
            case 2:
                yield ClassAssertion(cls("Pathway"), of["reaction"].pop())
            case 3:
                yield DataPropertyAssertion(
                    DataProperty(N + "id"), of["xref"].pop(), Literal(f"other{i}", STRING)
                )
            case _:
                yield ObjectPropertyAssertion(
                    role("physicalEntity"), of["amount"].pop(), of["reaction"].pop()
                )
