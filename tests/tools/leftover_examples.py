"""An example and a remedy of each kind of leftover, for docs/REFERENCE.md.

tests/test_leftover_examples.py lints the examples that have Turtle and finds the kind.
"""

from __future__ import annotations

from dataclasses import dataclass

#: What stands before each example: prefixes and the terms of its ontology.
PREFIXES = "".join(
    f"@prefix {prefix}: <{iri}> .\n"
    for prefix, iri in {
        "": "http://example.org/plant#",
        "owl": "http://www.w3.org/2002/07/owl#",
        "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
        "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
        "xsd": "http://www.w3.org/2001/XMLSchema#",
        "sh": "http://www.w3.org/ns/shacl#",
        "foaf": "http://xmlns.com/foaf/0.1/",
    }.items()
)
TERMS = (
    ":Machine a owl:Class . :Pump a owl:Class ; rdfs:subClassOf :Machine . :partOf a owl:ObjectProperty .\n"
    ":limit a owl:DatatypeProperty . :note a owl:AnnotationProperty .\n"
)


@dataclass(frozen=True)
class Example:
    """An input that leaves something of a kind, and what to do about it.

    remedy: what the user does. tbox, data: Turtle below `PREFIXES`. text: the input in words, where
        Turtle alone does not show it.
    """

    remedy: str
    tbox: str = ""
    data: str = ""
    text: str = ""

    @property
    def shown(self) -> str:
        """The input as a cell of a table."""
        return self.text or f"`{self.tbox or self.data}`"


EXAMPLES = {
    "malformed": Example(
        "Correct the line that is named.", tbox=":Pump rdfs:subClassOf xsd:boolean ."
    ),
    "undeclared": Example(
        "Correct the spelling, or declare the term in the ontology.", data=":p1 a :Pupm ."
    ),
    "foreign": Example("None is needed.", data=":p1 <http://crm.example.com/owner> :x ."),
    "mostly-foreign": Example(
        "Name the right ontology; or `--allow foreign`.",
        text="a batch of which more than half of the lines use other vocabularies",
    ),
    "other-language": Example(
        "None is needed.", tbox=":PumpShape a sh:NodeShape ; sh:targetClass :Pump ."
    ),
    "individuals-only": Example(
        "Write owl:equivalentClass if the classes are meant.", tbox=":Pump owl:sameAs :Machine ."
    ),
    "vocabulary": Example(
        "None is needed; another version goes into the catalog.",
        tbox="<urn:o> a owl:Ontology ; owl:imports <http://www.w3.org/2004/02/skos/core> .",
    ),
    "two-readings": Example(
        "Declare the property as object or data property.",
        tbox=":size a rdf:Property ; rdfs:domain :Pump .",
    ),
    "empty-tbox": Example(
        "Name the ontology by `--tbox`.", text="`shiq certify data.ttl` without an ontology"
    ),
    "outside-shiq": Example(
        "Install HermiT (`shiq[hermit]`), which is asked then; or rewrite the axiom.",
        tbox=":Pump rdfs:subClassOf [ owl:oneOf (:p1 :p2) ] .",
        data=":p1 a :Pump .",
    ),
    "outside-dl-lite": Example(
        "`shiq stream rules` or `check` see such axioms.",
        text="`shiq stream consistency` with an ontology that has ∀, ⊔ or ≤n",
    ),
    "out-of-reach": Example(
        "None is needed.",
        tbox=":Spare a owl:Class ; rdfs:subClassOf [ owl:oneOf (:p1 :p2) ] .",
        data=":p3 a :Pump .",
    ),
    "non-simple-role": Example(
        "Take the restriction out, or the transitivity.",
        tbox=":partOf a owl:TransitiveProperty . :Pump rdfs:subClassOf [ a owl:Restriction ; "
        "owl:onProperty :partOf ; owl:maxCardinality 1 ] .",
    ),
    "punning": Example("Use two names.", tbox=":Pump a rdfs:Datatype ."),
    "annotation-punning": Example(
        "None is needed; declare one kind alone to be rid of it.",
        tbox=":note a owl:DatatypeProperty .",
    ),
    "broken-list": Example(
        "Take the file from its origin again.",
        tbox=":Pump rdfs:subClassOf [ owl:unionOf [ rdf:first :Machine ; rdf:rest :x ] ] .",
    ),
    "unknown-datatype": Example(
        "Use a datatype of OWL 2; or `--allow unknown-datatype`.",
        tbox=":limit rdfs:range <urn:d#bar> .",
    ),
    "ill-typed": Example(
        "Correct the value.",
        text="`:p1 :limit 'four'^^xsd:integer .` with `--allow ill-typed`; a contradiction without it",
    ),
    "unknown-vocabulary": Example(
        "Correct the word; the message says what it nearly is.",
        tbox=":Pump owl:disjointFrom :Machine .",
    ),
    "unknown-word": Example("None is needed.", tbox=":Pump rdfs:description 'moves water' ."),
    "in-doubt": Example("Correct the word.", tbox=":Pump rdfs:subClasssOf :Machine ."),
    "unattached": Example(
        "Add the axiom that uses the expression, or delete it.",
        tbox="[] a owl:Restriction ; owl:onProperty :partOf ; owl:someValuesFrom :Pump .",
    ),
    "tbox-axiom": Example(
        "Move the axiom into the ontology.", data=":Pump rdfs:subClassOf :Pump ."
    ),
    "missing-import": Example(
        "Download it and name its folder: `--catalog FOLDER`.",
        tbox="<urn:o> a owl:Ontology ; owl:imports <http://example.org/units> .",
    ),
    "ambiguous-import": Example(
        "Say by a catalog file which one is meant.",
        text="two different files of one ontology below the folder of `--catalog`",
    ),
    "lossy-input": Example(
        "Give the file instead of the object.",
        text="an owlready2 ontology, which has rewritten some literals",
    ),
    "set-aside": Example(
        "`shiq export --store DIR --set-aside` lists them: correct them in time.",
        text="a store made by `shiq index --set-aside-known`",
    ),
    "without-effect": Example(
        "None is needed.", tbox="_:x a owl:Class ; owl:unionOf (_:x :Pump) ."
    ),
    "unmatched-deletion": Example(
        "Look for the spelling in `shiq export --store DIR`.",
        text="`--delete` with a triple that the store does not assert",
    ),
    "passed-over": Example("None is needed.", text="`_SUCCESS` in the folder of a Parquet table"),
    "no-partner": Example(
        "Deliver the other table's row, if it should be there.",
        text="a sensor whose machine is not in `machines.csv`, which its mapping joins",
    ),
    "no-value": Example(
        "Correct the path in the mapping.",
        text="`$.sreial` in a mapping of JSON lines with `serial`",
    ),
    "many-equal": Example(
        "Look at the key that is named: a value such as `unknown`?",
        text="10,000 machines with the serial number `n/a` of a functional inverse",
    ),
    "hub": Example(
        "None is needed; `--timeout` bounds the cost.",
        text="a machine that 10,000 sensors are mounted on, in a check that reads them",
    ),
    "unsatisfiable-class": Example(
        "Correct the axioms: `shiq certify` explains them where the class has a member.",
        tbox=":Pump owl:disjointWith :Machine .",
    ),
    "missing-value": Example(
        "Correct the feed; or `--allow missing-value`.",
        text="a record without `id`, with the template `sensor/{id}`",
    ),
    "undecided": Example(
        "Give more `--timeout`, or simplify the ontology.",
        text="a snapshot of `shiq stream discover` on which the time ran out",
    ),
    "late": Example("Raise `--lateness`.", text="an event at 3 after one at 10"),
    "unwritable": Example(
        "Show the predicate as an atom, or let its first argument be an IRI.",
        text="`#rdf p/1 = <urn:P>.` and the derived atom `p(7)`",
    ),
    "ahead": Example(
        "Correct the clock of the source; or raise `--max-ahead`.",
        text="an event at 9999999 after one at 10",
    ),
}
