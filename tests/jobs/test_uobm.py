"""The UOBM generator: counts, repeatability, the TBox, links between universities, and that it
can be contradicted.
"""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass, replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import pyoxigraph
import pytest

from shiq.answers.verdict import Verdict
from shiq.api import certify, index, open_store
from shiq.errors import UsageError
from shiq.jobs.cli import main
from shiq.jobs.evaluation.generation import write_triples
from shiq.jobs.evaluation.uobm.generate import (
    generate_parts,
    generate_uobm_data,
    plan_universities,
    uobm_rdfxml,
)
from shiq.jobs.evaluation.uobm.profile import UniversityPlan
from shiq.jobs.evaluation.uobm.tbox import NAMESPACE, uobm_individuals, uobm_tbox
from shiq.model import RDF, ObjectIntersectionOf
from shiq.rdf import read_ontology

pytestmark = pytest.mark.evaluation

JOURNAL, MISSPELT = f"<{NAMESPACE}JournalArticle>", f"<{NAMESPACE}JournalArtical>"


def shared(data_path: Path, name: str) -> Path:
    path = data_path / "uobm" / name
    if not path.is_file():
        pytest.skip(f"{path} is not there (set SHIQ_DATA)")
    return path


def triples(lines: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    for line in lines:
        subject, predicate, object = line[:-3].split(" ", 2)
        yield subject, predicate, object


def counts(lines: Iterable[str]) -> Counter[str]:
    """Triples by predicate, and by class for types."""
    result: Counter[str] = Counter()
    for _, predicate, object in triples(lines):
        result[predicate] += 1
        if predicate == f"<{RDF}type>":
            result[object] += 1
    return result


def data(plans: list[UniversityPlan], seed: int, *, misspelt: bool = False) -> list[str]:
    return list(chain.from_iterable(generate_parts(plans, seed, misspelt=misspelt)))


@cache
def university(seed: int, *, misspelt: bool = False) -> tuple[str, ...]:
    """The lines of one university."""
    return tuple(data(plan_universities(1, seed), seed, misspelt=misspelt))


def role(name: str) -> str:
    return f"<{NAMESPACE}{name}>"


# --- counts ---------------------------------------------------------------------------------------


def compare_with_the_reference(data_path: Path, seeds: Iterable[int]) -> None:
    with gzip.open(shared(data_path, "U1.nt.gz"), "rt", encoding="utf-8") as lines:
        reference = counts(set(lines))
    for seed in seeds:
        made = counts(university(seed, misspelt=True))
        assert made.keys() == reference.keys()
        off = {
            name: made[name] / n - 1
            for name, n in reference.items()
            if abs(made[name] / n - 1) > 0.1
        }
        assert not off, f"seed {seed}: {off}"


def test_every_count_is_within_a_tenth_of_the_reference(data_path: Path) -> None:
    compare_with_the_reference(data_path, range(3))


@pytest.mark.slow
def test_every_count_is_within_a_tenth_of_the_reference_for_every_seed(data_path: Path) -> None:
    compare_with_the_reference(data_path, range(3, 40))


def test_the_original_s_misspelt_class_is_optional() -> None:
    plain, misspelt = (counts(university(1, misspelt=choice)) for choice in (False, True))
    assert plain[MISSPELT] == misspelt[JOURNAL] == 0 < plain[JOURNAL] == misspelt[MISSPELT]
    assert plain - misspelt == Counter({JOURNAL: plain[JOURNAL]})


def test_same_seed_same_bytes_no_triple_twice(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    report = generate_uobm_data(
        1, 11, tmp_path / "a", progress=lambda done, total: seen.append((done, total))
    )
    assert report.files == ("tbox.owl", "abox.nt.gz") and report.departments == 19
    assert seen == [(i, 20) for i in range(1, 21)]
    generate_uobm_data(1, 11, tmp_path / "b")
    assert [(tmp_path / "a" / f).read_bytes() for f in report.files] == [
        (tmp_path / "b" / f).read_bytes() for f in report.files
    ]
    text = gzip.decompress((tmp_path / "a" / "abox.nt.gz").read_bytes())
    lines = text.decode().splitlines(keepends=True)
    assert len(lines) == len(set(lines)) == report.triples
    assert (
        report.class_assertions + report.role_assertions + report.data_assertions == report.triples
    )
    assert report.class_assertions == counts(lines)[f"<{RDF}type>"]
    assert (
        sum(1 for _ in pyoxigraph.parse(text, format=pyoxigraph.RdfFormat.N_TRIPLES))
        == report.triples
    )
    assert set(lines) != set(university(1))


def test_wrong_numbers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        generate_uobm_data(0, 0, tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["generate", "uobm", "--seed", "2", "--misspelt", "--out", str(tmp_path), "--quiet"])
    assert ended.value.code == 0 and "19 departments" in capsys.readouterr().out
    with gzip.open(tmp_path / "abox.nt.gz", "rt", encoding="utf-8") as lines:
        assert Counter(lines) == Counter(university(2, misspelt=True))


# --- many universities ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_sizes_of_many_universities(seed: int) -> None:
    plans = plan_universities(56, seed)
    departments = [len(university.departments) for university in plans]
    assert departments[0] == 19
    assert all(sorted(departments[i : i + 11]) == list(range(15, 26)) for i in range(0, 55, 11))
    with_women = [university.women > 0 for university in plans]
    assert with_women[0] and all(sum(with_women[i : i + 5]) == 1 for i in range(0, 55, 5))
    for university in plans:
        assert 1 <= university.colleges - (university.women > 0) <= 5
        own = range(int(university.women > 0), university.colleges)
        assert all(department.college in own for department in university.departments)
    assert plan_universities(56, seed) == plans != plan_universities(56, seed + 1)


def small(universities: int, departments: int, seed: int) -> list[UniversityPlan]:
    return [
        replace(university, departments=university.departments[:departments])
        for university in plan_universities(universities, seed)
    ]


def university_of(term: str) -> str:
    found = re.search(r"University\d+\.edu", term)
    assert found, term
    return found[0]


def test_links_lead_to_individuals_of_every_university() -> None:
    made = data(small(4, 5, 1), 1)
    typed = {s for s, p, _ in triples(made) if p == f"<{RDF}type>"}
    across: dict[str, Counter[bool]] = {}
    for subject, predicate, object in triples(made):
        if predicate in map(role, ("isFriendOf", "hasSameHomeTownWith", "takesCourse")):
            assert object in typed and object != subject
            across.setdefault(predicate, Counter())[
                university_of(subject) != university_of(object)
            ] += 1
        elif predicate in map(
            role,
            ("isAdvisedBy", "teacherOf", "publicationAuthor", "enrollIn", "worksFor", "isTaughtBy"),
        ):
            assert object in typed and university_of(subject) == university_of(object)
    # A half, all and a sixth of them go anywhere, and three of four universities are others.
    for predicate, anywhere in (
        ("isFriendOf", 1 / 2),
        ("hasSameHomeTownWith", 1),
        ("takesCourse", 1 / 6),
    ):
        found = across[role(predicate)]
        assert found[True] / found.total() == pytest.approx(anywhere * 3 / 4, rel=0.1), predicate
    degrees = {o for _, p, o in triples(made) if p == role("hasMasterDegreeFrom")}
    assert degrees == {f"<http://www.University{i}.edu>" for i in range(20)}


def test_friends_keep_to_their_circle_and_degrees_are_those_of_the_reference() -> None:
    made = data(small(1, 12, 2), 2)
    friends = Counter(s for s, p, _ in triples(made) if p == role("isFriendOf"))
    people = {s for s, p, _ in triples(made) if p == role("emailAddress")}
    assert Counter(friends[person] for person in people).keys() == set(range(6))
    assert sum(friends[person] for person in people) / len(people) == pytest.approx(2.5, rel=0.02)
    pairs = Counter(
        (re.sub(r"\d+>$", "", s).rsplit("/", 1)[-1], re.sub(r"\d+>$", "", o).rsplit("/", 1)[-1])
        for s, p, o in triples(made)
        if p == role("isFriendOf")
    )
    faculty = ("FullProfessor", "AssociateProfessor", "AssistantProfessor", "Lecturer")
    inside = sum(pairs[a, b] for a in faculty for b in faculty)
    assert inside / sum(n for (a, _), n in pairs.items() if a in faculty) == pytest.approx(
        0.81, abs=0.05
    )
    courses = Counter(s for s, p, _ in triples(made) if p == role("takesCourse"))
    assert set(courses.values()) == {2, 3, 4}
    assert set(
        Counter(s for s, p, _ in triples(made) if p == role("publicationAuthor")).values()
    ) == {2, 3, 4, 5}


# --- the TBox -------------------------------------------------------------------------------------


def canonical(value: Any) -> Any:
    """The same with the operands of intersections in one order."""
    if isinstance(value, tuple):
        return tuple(map(canonical, value))
    if not is_dataclass(value) or isinstance(value, type):
        return value
    same = replace(
        value, **{field.name: canonical(getattr(value, field.name)) for field in fields(value)}
    )
    if isinstance(same, ObjectIntersectionOf):
        return ObjectIntersectionOf(tuple(sorted(same.operands, key=repr)))
    return same


def test_tbox_says_what_univ_bench_dl_says(data_path: Path) -> None:
    original = read_ontology([shared(data_path, "univ-bench-dl.owl")])
    assert not original.leftovers
    ours = uobm_tbox()
    assert ours.signature == original.tbox.signature
    assert len(set(ours.axioms)) == len(ours.axioms) == len(original.tbox.axioms)
    assert set(map(canonical, ours.axioms)) == set(map(canonical, original.tbox.axioms))
    assert Counter(uobm_individuals()) == Counter(original.abox)


def test_tbox_survives_its_file(tmp_path: Path) -> None:
    (tmp_path / "tbox.owl").write_text(uobm_rdfxml(), encoding="utf-8")
    reading = read_ontology([tmp_path / "tbox.owl"])
    assert not reading.leftovers and reading.tbox.signature == uobm_tbox().signature
    assert set(reading.tbox.axioms) == set(uobm_tbox().axioms)
    assert Counter(reading.abox) == Counter(uobm_individuals())


# --- consistency ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def little(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, list[str]]:
    """One department beside the women's college: files of TBox and ABox, and the lines."""
    folder = tmp_path_factory.mktemp("uobm")
    made = list(generate_parts(small(1, 1, 4), 4))
    (folder / "tbox.owl").write_text(uobm_rdfxml(), encoding="utf-8")
    write_triples(folder / "abox.nt.gz", made, len(made), None)
    return folder / "tbox.owl", folder / "abox.nt.gz", [line for part in made for line in part]


def test_a_department_and_a_women_s_college_are_consistent(
    little: tuple[Path, Path, list[str]],
) -> None:
    tbox, abox, _ = little
    result = certify([tbox], [abox], reasoner="own")
    assert result.verdict is Verdict.CONSISTENT, result.reason


def test_a_man_who_is_a_woman_contradicts(
    little: tuple[Path, Path, list[str]], tmp_path: Path
) -> None:
    """What a man teaches a woman does not teach too; a course's alias is its teacher; a women's
    college has no men.
    """
    tbox, abox, lines = little
    men = {s for s, p, o in triples(lines) if o == role("Man")}
    women = sorted(
        {s for s, p, o in triples(lines) if o == role("Woman")}
        & {s for s, p, _ in triples(lines) if "teacherOf" in p}
    )
    teacher = {o: s for s, p, o in triples(lines) if p == role("teacherOf")}
    course = next(course for course, who in teacher.items() if who in men)
    alias, of = next((o, teacher[s]) for s, p, o in triples(lines) if p == role("isTaughtBy"))
    student = next(s for s, p, _ in triples(lines) if p == role("isStudentOf"))
    index([tbox], [abox], tmp_path / "kg", reasoner="own")
    for line, verdict in (
        (f"{women[0]} {role('teacherOf')} {course} .\n", Verdict.INCONSISTENT),
        (f"{sorted(men)[0]} {role('isFriendOf')} {women[0]} .\n", Verdict.CONSISTENT),
        (f"{alias} <{RDF}type> {role('Woman' if of in men else 'Man')} .\n", Verdict.INCONSISTENT),
        (f"{alias} <{RDF}type> {role('Man' if of in men else 'Woman')} .\n", Verdict.CONSISTENT),
        (f"{student} <{RDF}type> {role('Man')} .\n", Verdict.INCONSISTENT),
        (f"{student} <{RDF}type> {role('Woman')} .\n", Verdict.CONSISTENT),
    ):
        (tmp_path / "batch.nt").write_text(line, encoding="utf-8")
        with open_store(tmp_path / "kg") as session:
            result = session.check([tmp_path / "batch.nt"], reasoner="own", max_conflicts=0)
        assert result.verdict is verdict, f"{line}{result.reason}"


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_university_is_consistent(seed: int, tmp_path: Path) -> None:
    generate_uobm_data(1, seed, tmp_path)
    result = certify([tmp_path / "tbox.owl"], [tmp_path / "abox.nt.gz"], reasoner="own")
    assert result.verdict is Verdict.CONSISTENT, result.reason
