"""The LUBM generator: counts, repeatability, the TBox, the consistent batch and the planted faults."""

from __future__ import annotations

import gzip
import json
import os
import random
from collections import Counter
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import pyoxigraph
import pytest
import rdflib
from rdflib.compare import to_isomorphic

from shiq.answers.verdict import Verdict
from shiq.errors import UsageError
from shiq.jobs.evaluation.generation import tbox_as_rdfxml
from shiq.jobs.evaluation.lubm.batch import FORMS, BatchSampler, FaultPlanter, PlantedFault
from shiq.jobs.evaluation.lubm.department import Department
from shiq.jobs.evaluation.lubm.generate import (
    generate_departments,
    generate_lubm_data,
    plan_departments,
)
from shiq.jobs.evaluation.lubm.tbox import NAMESPACE, lubm_tbox
from shiq.model import (
    OWL,
    RDF,
    RDFS,
    XSD,
    Assertion,
    Class,
    ClassAssertion,
    DataProperty,
    DataPropertyAssertion,
    DifferentIndividuals,
    Literal,
    ObjectProperty,
    ObjectPropertyAssertion,
    SameIndividual,
)
from shiq.reasoner.hermit import HermitReasoner

pytestmark = pytest.mark.evaluation

SHARED = (
    Path(__file__).resolve().parents[2] / os.environ.get("SHIQ_DATA", "../shared/data") / "lubm"
)


def shared(name: str) -> Path:
    if not (SHARED / name).is_file():
        pytest.skip(f"{SHARED / name} is not there (set SHIQ_DATA)")
    return SHARED / name


def counts(lines: Iterable[str]) -> Counter[str]:
    """Triples by predicate, and by class for types."""
    result: Counter[str] = Counter()
    for line in lines:
        _, predicate, object = line[:-3].split(" ", 2)
        result[predicate] += 1
        if predicate == f"<{RDF}type>":
            result[object] += 1
    return result


@pytest.mark.parametrize(
    ("universities", "file", "seeds"), [(1, "L1.nt.gz", range(5)), (5, "L5.nt.gz", range(1))]
)
def test_every_count_is_within_a_tenth_of_the_reference(
    universities: int, file: str, seeds: Iterable[int]
) -> None:
    with gzip.open(shared(file), "rt", encoding="utf-8") as lines:
        reference = counts(set(lines))
    for seed in seeds:
        made = counts(
            line
            for department in generate_departments(universities, seed)
            for line in department.lines
        )
        assert made.keys() == reference.keys()
        off = {
            name: made[name] / reference[name] - 1
            for name in reference
            if abs(made[name] / reference[name] - 1) > 0.1
        }
        assert not off, f"seed {seed}: {off}"


@pytest.mark.parametrize("seed", range(3))
def test_departments_are_the_profiles(seed: int) -> None:
    numbers = plan_departments(33, seed)
    assert numbers[0] == 15 and 91 <= sum(numbers[:5]) <= 95
    assert all(sorted(numbers[i : i + 11]) == list(range(15, 26)) for i in (0, 11, 22))
    assert plan_departments(33, seed) == numbers != plan_departments(33, seed + 1)


def test_same_seed_same_bytes_no_triple_twice(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    report = generate_lubm_data(
        1, 11, tmp_path / "a", faults=7, progress=lambda done, total: seen.append((done, total))
    )
    assert report.files == ("tbox.owl", "abox.nt.gz", "insert.nt", "culprits.nt", "faults.json")
    assert seen == [(i, 15) for i in range(1, 16)]
    generate_lubm_data(1, 11, tmp_path / "b", faults=7)
    assert [(tmp_path / "a" / f).read_bytes() for f in report.files] == [
        (tmp_path / "b" / f).read_bytes() for f in report.files
    ]
    generate_lubm_data(1, 12, tmp_path / "c")
    assert (tmp_path / "a" / "abox.nt.gz").read_bytes() != (
        tmp_path / "c" / "abox.nt.gz"
    ).read_bytes()
    text = gzip.decompress((tmp_path / "a" / "abox.nt.gz").read_bytes())
    lines = text.decode().splitlines(keepends=True)
    assert len(lines) == len(set(lines)) == report.triples
    assert (
        report.class_assertions + report.role_assertions + report.data_assertions == report.triples
    )
    assert (
        sum(1 for _ in pyoxigraph.parse(text, format=pyoxigraph.RdfFormat.N_TRIPLES))
        == report.triples
    )


def test_wrong_numbers_are_refused(tmp_path: Path) -> None:
    for universities, faults in ((0, None), (1, -1), (1, 601)):
        with pytest.raises(UsageError):
            generate_lubm_data(universities, 0, tmp_path / "none", faults=faults)
    assert not (tmp_path / "none").exists()


# --- the TBox -------------------------------------------------------------------------------------


def graph(text: bytes) -> rdflib.Graph:
    return rdflib.Graph().parse(data=text, format="xml")


def in_owl_2(original: rdflib.Graph) -> rdflib.Graph:
    """Intersections on named classes as equivalences; no annotations and no ontology header."""
    result = rdflib.Graph()
    owl = rdflib.Namespace(OWL)
    for s, p, o in original:
        if (
            p in (rdflib.URIRef(RDFS + "label"), rdflib.URIRef(RDFS + "comment"), owl.versionInfo)
            or o == owl.Ontology
        ):
            continue
        if p == owl.intersectionOf and isinstance(s, rdflib.URIRef):
            members = list(original.items(o))
            if len(members) == 1:
                result.add((s, owl.equivalentClass, members[0]))
                continue
            node = rdflib.BNode()
            result.add((s, owl.equivalentClass, node))
            result.add((node, rdflib.RDF.type, owl.Class))
            s = node
        if o == owl.TransitiveProperty:
            result.add((s, rdflib.RDF.type, owl.ObjectProperty))
        result.add((s, p, o))
    for node, _, _ in list(result.triples((None, rdflib.RDF.first, None))):
        if not any(result.triples((None, None, node))):  # a list of one, opened above
            for triple in list(result.triples((node, None, None))):
                result.remove(triple)
    return result


def test_tbox_says_what_univ_bench_says() -> None:
    signature = lubm_tbox().signature
    assert (
        len(signature.classes),
        len(signature.object_properties),
        len(signature.data_properties),
    ) == (43, 25, 7)
    ours = in_owl_2(graph(tbox_as_rdfxml(lubm_tbox(), NAMESPACE.rstrip("#")).encode()))
    original = in_owl_2(graph(shared("univ-bench.owl").read_bytes()))
    assert to_isomorphic(ours) == to_isomorphic(original)


def test_variant_extends_the_tbox() -> None:
    plain, variant = lubm_tbox(), lubm_tbox(disjointness=True)
    assert (
        variant.axioms[: len(plain.axioms)] == plain.axioms and variant.signature == plain.signature
    )
    triples = graph(tbox_as_rdfxml(variant, "urn:o").encode())
    members = triples.value(None, rdflib.RDF.type, rdflib.URIRef(OWL + "AllDisjointClasses"))
    disjoint = triples.items(triples.value(members, rdflib.URIRef(OWL + "members")))  # type: ignore[no-untyped-call]
    assert {str(c).removeprefix(NAMESPACE) for c in disjoint} == {
        "Person",
        "Organization",
        "Work",
        "Publication",
    }


# --- the batch ------------------------------------------------------------------------------------


def planted(
    number: int, faults: int, seed: int
) -> tuple[list[Department], list[str], list[PlantedFault]]:
    """Some departments, their batch, and the faults in it."""
    made = list(islice(generate_departments(1, seed), number))
    planting = FaultPlanter(faults, number, random.Random(seed))
    batch = BatchSampler(random.Random(seed + 1))
    lines: list[str] = []
    all_faults: list[PlantedFault] = []
    for department in made:
        found, reserved = planting.plant_faults(department)
        lines += batch.draw_insertions(
            department, reserved, [line for fault in found for line in fault.insertions]
        )
        all_faults += found
    return made, lines, all_faults


def test_batch_is_new_fresh_by_half_and_mixed_like_the_data() -> None:
    made, lines, _ = planted(15, 0, 2)
    data = [line for department in made for line in department.lines]
    assert len(lines) == int(0.05 * len(data)) == len(set(lines)) and not set(lines) & set(data)
    old = {line.split(" ", 1)[0] for line in data}
    assert 0.45 < sum(line.split(" ", 1)[0] not in old for line in lines) / len(lines) < 0.55
    drawn, base = counts(lines), counts(data)
    for name in ("takesCourse", "publicationAuthor", "name", "memberOf", "emailAddress"):
        predicate = f"<{NAMESPACE}{name}>"
        assert drawn[predicate] / len(lines) == pytest.approx(base[predicate] / len(data), rel=0.25)


def test_faults_are_counted_listed_and_apart(tmp_path: Path) -> None:
    report = generate_lubm_data(1, 4, tmp_path, faults=60)
    insert = (tmp_path / "insert.nt").read_text().splitlines()
    culprits = (tmp_path / "culprits.nt").read_text().splitlines()
    faults = json.loads((tmp_path / "faults.json").read_text())
    assert len(faults) == report.faults == 60 and Counter(
        f["kind"] for f in faults
    ) == dict.fromkeys(FORMS, 10)
    assert {f["form"] for f in faults} == {form for forms in FORMS.values() for form in forms}
    assert all([insert[i - 1] for i in f["lines"]] == f["insertions"] for f in faults)
    listed = [line for f in faults for line in f["insertions"]]
    assert (
        sorted(listed) == sorted(culprits)
        and len(set(culprits)) == len(culprits) == report.culprits
    )
    assert (
        len(insert)
        == len(set(insert))
        == report.insertions
        == int(0.05 * report.triples) + len(culprits)
    )
    # Apart: no individual of a fault is spoken of elsewhere in the batch, departments and classes
    # aside.
    speakers: dict[str, set[int]] = {}
    where = {line: i for i, f in enumerate(faults) for line in f["insertions"]}
    for line in insert:
        for term in line[:-2].split(" "):
            if term.startswith("<http://www.") and "edu/" in term and "#" not in term:
                speakers.setdefault(term, set()).add(where.get(line, -1))
    assert not {term: who for term, who in speakers.items() if len(who) > 1 and who != {-1}}


def test_no_faults_is_a_clean_batch(tmp_path: Path) -> None:
    report = generate_lubm_data(1, 4, tmp_path, faults=0)
    assert report.insertions == int(0.05 * report.triples) and report.culprits == 0
    assert (tmp_path / "culprits.nt").read_text() == "" and json.loads(
        (tmp_path / "faults.json").read_text()
    ) == []


def test_a_full_department_has_room_for_all_its_faults() -> None:
    for seed in range(20):
        _, _, faults = planted(3, 120, seed)
        assert len(faults) == 120 and Counter(f.kind for f in faults) == dict.fromkeys(FORMS, 20)


def assertions(lines: Iterable[str]) -> list[Assertion]:
    """Generated lines as model values, by the shapes that the generator writes."""
    result: list[Assertion] = []
    for line in lines:
        subject, predicate, object = line[:-3].split(" ", 2)
        s, p, o = subject[1:-1], predicate[1:-1], object[1:-1]
        if object[0] == '"':
            lexical, _, datatype = object[1:].rpartition('"')
            result.append(
                DataPropertyAssertion(
                    DataProperty(p), s, Literal(lexical, datatype[3:-1] or XSD + "string")
                )
            )
        elif p == RDF + "type":
            result.append(ClassAssertion(Class(o), s))
        elif p == OWL + "sameAs":
            result.append(SameIndividual(s, o))
        elif p == OWL + "differentFrom":
            result.append(DifferentIndividuals(s, o))
        else:
            result.append(ObjectPropertyAssertion(ObjectProperty(p), s, o))
    return result


@pytest.mark.slow
@pytest.mark.jvm
def test_hermit_finds_the_faults_to_be_the_minimal_conflicts() -> None:
    reasoner = HermitReasoner()
    try:

        def consistent(lines: list[str]) -> Verdict:
            return reasoner.decide_consistency(
                lubm_tbox(disjointness=True).axioms, assertions(lines), 120.0
            ).verdict

        made, batch, faults = planted(1, 36, 3)
        data = made[0].lines
        lines_of_faults = {line for fault in faults for line in fault.insertions}
        clean = [line for line in batch if line not in lines_of_faults]
        for left_out in range(max(len(fault.insertions) for fault in faults)):
            rest = [
                x
                for f in faults
                for i, x in enumerate(f.insertions)
                if i != left_out % len(f.insertions)
            ]
            assert consistent(data + clean + rest) is Verdict.CONSISTENT, (
                f"without line {left_out} of each fault"
            )
        for fault in {fault.form: fault for fault in faults}.values():
            assert (
                consistent(around(data, fault) + list(fault.insertions)) is Verdict.INCONSISTENT
            ), fault
    finally:
        reasoner.close()


def around(data: list[str], fault: PlantedFault) -> list[str]:
    """The data on the fault's individuals, on what they are said to be related to, and on the
    department.
    """
    terms = {
        term
        for line in fault.insertions
        for term in line[:-3].split(" ")
        if term.startswith("<http://www.Dep")
    }
    terms |= {"<http://www.Department0.University0.edu>", "<http://www.University0.edu>"}
    for _ in range(2):
        near = [line for line in data if not terms.isdisjoint(line[:-3].split(" ", 2)[::2])]
        terms |= {
            line.split(" ", 1)[0]
            for line in near
            if "advisor" in line or "teacherOf" in line or "headOf" in line
        }
    return near


@pytest.mark.jvm
def test_exchanging_objects_of_a_predicate_stays_consistent() -> None:
    data = next(generate_departments(1, 8)).lines
    rng = random.Random(5)
    roles = [line[:-3].split(" ") for line in data if '"' not in line and "#type>" not in line]
    objects: dict[str, list[str]] = {}
    for _, predicate, object in roles:
        objects.setdefault(predicate, []).append(object)
    added = [
        f"{s} {p} {objects[p][int(rng.random() * len(objects[p]))]} .\n"
        for s, p, _ in roles
        if rng.random() < 0.1
    ]
    reasoner = HermitReasoner()
    try:
        answer = reasoner.decide_consistency(
            lubm_tbox(disjointness=True).axioms, assertions(data + added), 120.0
        )
        assert answer.verdict is Verdict.CONSISTENT, answer.reason
    finally:
        reasoner.close()
