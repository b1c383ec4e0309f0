"""Axioms in doubt: a consistent answer holds in each reading, and a contradiction that needs
them is left open.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from shiq.answers.result import Result
from shiq.answers.verdict import Verdict
from shiq.api import certify, check_insertions, index, open_store
from shiq.errors import InputError
from shiq.rdf import read_ontology

HEAD = """@prefix : <http://example.org/onto#> . @prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix v: <http://a.net/v#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""
PETS = (
    HEAD
    + ":Cat a owl:Class ; owl:disjointWith :Dog . :Dog a owl:Class . :Pup a owl:Class . :likes a owl:ObjectProperty .\n"
)
IMPORT = "<http://example.org/onto> a owl:Ontology ; owl:imports <http://a.net/v> .\n"
VERSION = (
    HEAD
    + "<http://a.net/v> a owl:Ontology ; owl:versionIRI <http://a.net/v/{}> . v:A a owl:Class . v:B a owl:Class .\n"
)


def certified(folder: Path, text: str, **settings: object) -> Result:
    (folder / "onto.ttl").write_text(text)
    return certify(folder / "onto.ttl", reasoner="own", **settings)


def kinds(result: Result) -> set[str]:
    return {leftover.kind for leftover in result.evidence.leftovers}


@pytest.mark.parametrize(
    ("axiom", "data"),
    [
        (":Pup rdfs:subClasssOf :Dog .", ":rex a :Pup , :Cat ."),
        (":Pup rdfs:SubClassOf [ a owl:Class ; owl:complementOf :Cat ] .", ":rex a :Pup , :Cat ."),
        (":Pup owl:disjontWith :Dog .", ":rex a :Pup , :Dog ."),
        (":likes rdfs:ramge :Dog .", ":rex :likes :tom . :tom a :Cat ."),
        (":likes a owl:IrreflexivProperty .", ":rex :likes :rex ."),
    ],
)
def test_a_misspelt_word_is_read_as_what_it_means_too(
    tmp_path: Path, axiom: str, data: str
) -> None:
    result = certified(tmp_path, PETS + axiom)
    assert result.verdict is Verdict.CONSISTENT and kinds(result) == {"in-doubt"}
    result = certified(tmp_path, PETS + axiom + data)
    assert (
        result.verdict is Verdict.UNDETERMINED
        and "in doubt" in result.reason
        and not result.conflicts
    )
    assert (
        certified(tmp_path, PETS + axiom + data + ":tim a :Cat , :Dog .").verdict
        is Verdict.INCONSISTENT
    )


@pytest.mark.parametrize(
    "axiom",
    [
        ":Pup rdfs:Klassof :Dog .",
        ":fond rdfs:subPropertyof :likes . :fond rdfs:domain :Cat .",
        ":likes a owl:SymetricProperty .",  # or asymmetric
        ":Dog rdfs:supClassOf :Pup .",  # the other way round
    ],
)
def test_a_word_that_means_nothing_certain_or_settles_a_kind_blocks(
    tmp_path: Path, axiom: str
) -> None:
    result = certified(tmp_path, PETS + axiom)
    assert result.verdict is Verdict.UNDETERMINED and "unknown-vocabulary" in kinds(result)


def test_a_store_keeps_what_is_in_doubt(tmp_path: Path) -> None:
    (tmp_path / "onto.ttl").write_text(PETS + ":Pup rdfs:subClasssOf :Dog .")
    for name, text in (
        ("base", ":tom a :Cat ."),
        ("bad", ":tom a :Pup ."),
        ("worse", ":tom a :Dog ."),
        ("good", ":rex a :Pup ."),
    ):
        (tmp_path / f"{name}.ttl").write_text(HEAD + text)
    assert (
        index(tmp_path / "onto.ttl", tmp_path / "base.ttl", tmp_path / "kg", reasoner="own").verdict
        is Verdict.CONSISTENT
    )
    with open_store(tmp_path / "kg") as session:
        verdicts = [
            session.check(tmp_path / f"{name}.ttl").verdict for name in ("bad", "worse", "good")
        ]
        assert verdicts == [Verdict.UNDETERMINED, Verdict.INCONSISTENT, Verdict.CONSISTENT]
        only = session.check(tmp_path / "bad.ttl", verdict_only=True)
        assert only.verdict is Verdict.UNDETERMINED
        from shiq.streams.enrichment.knowledge import read_knowledge

        with pytest.raises(InputError, match="in doubt"):
            read_knowledge(None, session)


def test_data_with_a_misspelt_word_blocks(tmp_path: Path) -> None:
    (tmp_path / "onto.ttl").write_text(PETS)
    (tmp_path / "batch.ttl").write_text(HEAD + ":Pup rdfs:subClasssOf :Dog .")
    result = check_insertions(tmp_path / "onto.ttl", None, tmp_path / "batch.ttl", reasoner="own")
    assert result.verdict is Verdict.UNDETERMINED


# --- several files of one ontology ----------------------------------------------------------------


def versions(folder: Path, *texts: str) -> Path:
    (folder / "lib").mkdir(exist_ok=True)
    for number, text in enumerate(texts):
        (folder / "lib" / f"v{number}.ttl").write_text(VERSION.format(number) + text)
    return folder / "lib"


def test_all_files_of_an_ontology_are_read_and_what_only_some_hold_is_in_doubt(
    tmp_path: Path,
) -> None:
    lib = versions(
        tmp_path,
        "v:A rdfs:subClassOf v:C . v:A owl:disjointWith v:B .",
        "v:B rdfs:subClassOf v:C . v:A owl:disjointWith v:B .",
    )
    text = PETS + IMPORT + "v:C a owl:Class ; owl:disjointWith :Dog . "
    result = certified(tmp_path, text + ":tom a v:A .", catalog=[lib])
    assert result.verdict is Verdict.CONSISTENT and kinds(result) == {"in-doubt"}
    result = certified(tmp_path, text + ":tom a v:A , :Dog .", catalog=[lib])
    assert result.verdict is Verdict.UNDETERMINED and "in doubt" in result.reason
    result = certified(tmp_path, text + ":tom a v:A , v:B .", catalog=[lib])  # which both say
    assert result.verdict is Verdict.INCONSISTENT


@pytest.mark.parametrize(
    ("first", "second", "own"),
    [
        (
            "v:p a owl:ObjectProperty .",
            "v:p a owl:DatatypeProperty .",
            ":tom v:p :tim .",
        ),  # of another kind
        ("v:p a owl:ObjectProperty .", "", "v:p rdfs:domain :Cat ."),  # which only one says
        ("<http://a.net/v> owl:imports <http://a.net/w> .", "", ""),  # one brings more
        ("[] a v:A .", "", ""),  # of whom it is not known who it is
    ],
)
def test_files_that_would_be_read_otherwise_alone_stay_ambiguous(
    tmp_path: Path, first: str, second: str, own: str
) -> None:
    lib = versions(tmp_path, first, second + " v:A rdfs:subClassOf v:B .")
    result = certified(tmp_path, PETS + IMPORT + own, catalog=[lib])
    assert result.verdict is Verdict.UNDETERMINED and "ambiguous-import" in kinds(result)


def test_a_contradiction_that_needs_a_kind_which_one_file_gives_is_left_open(
    tmp_path: Path,
) -> None:
    lib = versions(
        tmp_path,
        "v:n a owl:AnnotationProperty . v:A rdfs:subClassOf v:B .",
        "v:n a owl:ObjectProperty .",
    )
    result = certified(
        tmp_path, PETS + IMPORT + "v:n rdfs:domain :Cat . :tom v:n :tim ; a :Dog .", catalog=[lib]
    )
    assert result.verdict is Verdict.UNDETERMINED and "ambiguous-import" in kinds(result)


def test_assertions_that_only_one_file_has_are_in_doubt(tmp_path: Path) -> None:
    lib = versions(tmp_path, "v:x a v:A .", "v:x a v:B .")
    result = certified(tmp_path, PETS + IMPORT + "v:A owl:disjointWith v:B .", catalog=[lib])
    assert result.verdict is Verdict.UNDETERMINED and "in doubt" in result.reason
    assert (
        certified(tmp_path, PETS + IMPORT + "v:B rdfs:subClassOf v:A .", catalog=[lib]).verdict
        is Verdict.CONSISTENT
    )


AXIOMS = (
    "{} rdfs:subClassOf {} .",
    "{} owl:disjointWith {} .",
    "v:p rdfs:domain {} .",
    "{} rdfs:subClassOf [ owl:onProperty v:p ; a owl:Restriction ; owl:someValuesFrom {} ] .",
    "v:p rdfs:range {} .",
)


@pytest.mark.parametrize("seed", range(12))
def test_random_versions_are_consistent_only_where_each_is(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    names = ["v:A", "v:B", "v:C", ":Cat", ":Dog"]

    def axioms(count: int) -> str:
        return " ".join(dice.choice(AXIOMS).format(*dice.choices(names, k=2)) for _ in range(count))

    declared, common = "v:C a owl:Class . v:p a owl:ObjectProperty . ", axioms(1)
    texts = [f"{declared} {common} {axioms(2)}" for _ in range(2)]
    lib = versions(tmp_path, *texts)
    data = (
        " ".join(f":{dice.choice('xyz')} a {dice.choice(names)} ." for _ in range(3))
        + " :x v:p :y ."
    )
    alone = []
    for number in range(2):
        (tmp_path / "catalog.json").write_text(f'{{"http://a.net/v": "lib/v{number}.ttl"}}')
        alone.append(
            certified(tmp_path, PETS + IMPORT + data, catalog=[tmp_path / "catalog.json"]).verdict
        )
    both = certified(tmp_path, PETS + IMPORT + data, catalog=[lib]).verdict
    if both is not Verdict.UNDETERMINED:
        assert alone == [both, both]
    elif Verdict.INCONSISTENT not in alone:
        # Only together they contradict.
        assert certified(tmp_path, PETS + "".join(texts) + data).verdict is Verdict.INCONSISTENT
    assert read_ontology([lib / "v0.ttl"]).tbox.doubtful == frozenset()
