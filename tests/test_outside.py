"""What lies outside SHIQ(D): out of reach of the data it is told, within reach HermiT is asked about the whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from shiq import Result, check_insertions

pytestmark = [pytest.mark.jvm, pytest.mark.usefixtures("warm_jvm")]

HEAD = "Prefix(:=<urn:x#>) Prefix(xsd:=<http://www.w3.org/2001/XMLSchema#>) Prefix(owl:=<http://www.w3.org/2002/07/owl#>)\nOntology(\n"


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / f"{name}.ofn"
    path.write_text(f"{HEAD}{text}\n)")
    return path


def checked(folder: Path, tbox: str, base: str, batch: str, deleted: str = "", **settings) -> Result:  # type: ignore[no-untyped-def]
    files = [written(folder, n, t) for n, t in (("t", tbox), ("a", base), ("i", batch), ("d", deleted))]
    return check_insertions(*files, **settings)


#: What `--allow outside-shiq` answered `consistent` to: T, A, A⁺ and the axiom that is blamed.
CONTRADICTIONS = {
    "key": (
        "Declaration(DataProperty(:id)) HasKey(:C () (:id))",
        'ClassAssertion(:C :a) DataPropertyAssertion(:id :a "1"^^xsd:integer) ClassAssertion(:C :b) DifferentIndividuals(:a :b)',
        'DataPropertyAssertion(:id :b "1"^^xsd:integer) ClassAssertion(:C :c)',
        "HasKey",
    ),
    "chain": (
        "SubObjectPropertyOf(ObjectPropertyChain(:r :s) :t) ObjectPropertyRange(:t :R) DisjointClasses(:R :D)",
        "ClassAssertion(:D :c) ObjectPropertyAssertion(:r :a :b) ClassAssertion(:R :z)",
        "ObjectPropertyAssertion(:s :b :c) ObjectPropertyAssertion(:s :c :c)",
        "ObjectPropertyChain",
    ),
    "nominals": (
        "SubClassOf(:C ObjectOneOf(:p :q))",
        "ClassAssertion(:C :a) ClassAssertion(:C :b) DifferentIndividuals(:a :b) DifferentIndividuals(:a :c)"
        " DifferentIndividuals(:b :c)",
        "ClassAssertion(:C :c)",
        "ObjectOneOf",
    ),
    "value": (
        "SubClassOf(:C ObjectHasValue(:r :p)) FunctionalObjectProperty(:r)",
        "ObjectPropertyAssertion(:r :a :q) DifferentIndividuals(:p :q)",
        "ClassAssertion(:C :a)",
        "ObjectHasValue",
    ),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_what_allowing_hid_contradicts(tmp_path: Path, name: str) -> None:
    tbox, base, batch, axiom = CONTRADICTIONS[name]
    result = checked(tmp_path, tbox, base, batch)
    assert result.verdict.value == "inconsistent", result.reason
    (conflict,) = result.conflicts
    assert result.complete
    assert conflict.is_minimal
    assert len(conflict.insertions) == 1
    assert any(axiom in text for text in conflict.axioms)
    assert any("HermiT was asked about the whole" in note for note in result.evidence.notes)
    without = checked(tmp_path, tbox, base, batch, allow=["outside-shiq"])
    assert without.verdict.value == "consistent"
    assert without.without == {"axioms": 1, "assertions": 0, "kinds": {"outside-shiq": 1}}
    asked_not = checked(tmp_path, tbox, base, batch, outside="undetermined")
    assert asked_not.verdict.value == "undetermined"
    assert "--outside" in asked_not.reason
