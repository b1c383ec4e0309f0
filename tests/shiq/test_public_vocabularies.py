"""Nine vocabularies that everybody uses: its own file answers for each, a planted fault is
found, a misspelt term blocks.

The files are those of npm's @zazuko/rdf-vocabularies and @vocabulary/m4i and of PyPI's
brickschema (1.3), named NAME.nq or NAME.ttl in the folder of the setting SHIQ_VOCABULARIES.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from shiq.answers.result import Result
from shiq.answers.verdict import Verdict
from shiq.api import certify
from tests.tools.vocabularies import file_of

RDF, W3 = "http://www.w3.org/1999/02/22-rdf-syntax-ns#", "http://www.w3.org/"
XSD, FAULTY = W3 + "2001/XMLSchema#", "urn:faulty"


@dataclass(frozen=True)
class Vocabulary:
    """A vocabulary, two classes of it that are disjoint or a property and a value that it
    excludes, and a misspelt class.

    allow: kinds of leftovers of the file itself, such as imports of files that no package ships.
    """

    namespace: str
    fault: tuple[str, str]
    misspelt: str
    allow: tuple[str, ...] = ()
    verdict: Verdict = Verdict.CONSISTENT

    def lines(self) -> str:
        first, second = self.fault
        if second.startswith('"'):
            return f"<{FAULTY}> <{self.namespace}{first}> {second} .\n"
        return "".join(
            f"<{FAULTY}> <{RDF}type> <{self.namespace}{name}> .\n" for name in self.fault
        )


VOCABULARIES = {
    "brick": Vocabulary(
        *("https://brickschema.org/schema/Brick#", ("Alarm", "Command"), "Equipmant"),
        ("missing-import", "undeclared"),
    ),
    "provo": Vocabulary(W3 + "ns/prov#", ("Activity", "Entity"), "Activty"),
    "sosa": Vocabulary(W3 + "ns/sosa/", ("resultTime", f'"soon"^^<{XSD}string>'), "Observaton"),
    "ssn": Vocabulary(W3 + "ns/ssn/", ("", ""), "Deploymant"),
    "time": Vocabulary(W3 + "2006/time#", ("Instant", "ProperInterval"), "Intsant"),
    "dcat": Vocabulary(
        W3 + "ns/dcat#", ("temporalResolution", f'"daily"^^<{XSD}string>'), "Datset"
    ),
    "foaf": Vocabulary("http://xmlns.com/foaf/0.1/", ("Person", "Project"), "Persn"),
    "schema": Vocabulary("http://schema.org/", ("", ""), "Persn"),
    "m4i": Vocabulary(
        "http://w3id.org/nfdi4ing/metadata4ing#",
        ("hasBooleanValue", f'"yes"^^<{XSD}string>'),
        "ProcessingStap",
    ),
    "qudt": Vocabulary(
        "http://qudt.org/schema/qudt/", ("", ""), "Quantty", (), Verdict.INCONSISTENT
    ),
}


def certified(name: str, tmp_path: Path, lines: str, allow: tuple[str, ...] = ()) -> Result:
    folder = os.environ.get("SHIQ_VOCABULARIES", "")
    path = file_of(Path(folder), name) if folder else None
    if path is None:
        pytest.skip(f"SHIQ_VOCABULARIES names no folder with a file of {name}")
    (tmp_path / "data.nt").write_text(lines)
    return certify(path, tmp_path / "data.nt", reasoner="own", outside="undetermined", allow=allow)


@pytest.mark.parametrize("name", VOCABULARIES)
def test_it_is_answered_by_its_own_file(name: str, tmp_path: Path) -> None:
    vocabulary = VOCABULARIES[name]
    result = certified(
        name, tmp_path, f"<urn:a> <{RDF}type> <{W3}2002/07/owl#Thing> .\n", vocabulary.allow
    )
    assert result.verdict is vocabulary.verdict, result.reason


@pytest.mark.parametrize(
    "name", [name for name, vocabulary in VOCABULARIES.items() if vocabulary.fault[0]]
)
def test_a_planted_fault_is_found(name: str, tmp_path: Path) -> None:
    vocabulary = VOCABULARIES[name]
    result = certified(name, tmp_path, vocabulary.lines())
    assert result.verdict is Verdict.INCONSISTENT, result.reason
    assert all(any(FAULTY in line for line in (*x.base, *x.insertions)) for x in result.conflicts)


@pytest.mark.parametrize("name", VOCABULARIES)
def test_a_misspelt_term_of_its_own_blocks(name: str, tmp_path: Path) -> None:
    vocabulary = VOCABULARIES[name]
    result = certified(
        name, tmp_path, f"<urn:a> <{RDF}type> <{vocabulary.namespace}{vocabulary.misspelt}> .\n"
    )
    assert result.verdict is not Verdict.CONSISTENT
    term = f"<{vocabulary.namespace}{vocabulary.misspelt}>"
    assert any(x.kind == "undeclared" and term in x.message for x in result.evidence.leftovers)
