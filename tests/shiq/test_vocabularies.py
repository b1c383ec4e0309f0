"""The tables of well-known vocabularies: whole, as their own files say, and used where they
should be.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from shiq import vocabularies
from shiq.answers.result import Result
from shiq.answers.verdict import Verdict
from shiq.api import certify, check_insertions, index, open_store
from shiq.errors import UsageError
from shiq.functional import read_document
from shiq.jobs.cli import main
from shiq.jobs.text.results import result_text
from shiq.rdf import read_ontology
from tests.tools.vocabularies import SOURCES, compare, file_of

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
SKOS = "http://www.w3.org/2004/02/skos/core#"
HEAD = """@prefix : <http://example.org/onto#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix dcterms: <http://purl.org/dc/terms/> . @prefix foaf: <http://xmlns.com/foaf/0.1/> .
:Cat a owl:Class ; owl:disjointWith :Dog . :Dog a owl:Class .
"""
BOTH = ":x a skos:Concept , skos:ConceptScheme .\n"
IMPORT = "<http://example.org/onto> a owl:Ontology ; owl:imports <http://www.w3.org/2004/02/skos/core> .\n"


def certified(tmp_path: Path, text: str) -> Result:
    (tmp_path / "onto.ttl").write_text(HEAD + text)
    return certify(tmp_path / "onto.ttl", reasoner="own")


@pytest.mark.parametrize("name", vocabularies.NAMES)
def test_each_table_is_whole(name: str) -> None:
    table = vocabularies.load_table(name)
    document = read_document(f"Ontology({' '.join(table.axioms)})", name, "v")
    read = len(document.axioms) + len(document.assertions) + len(document.different_lists)
    assert table.kinds and read == len(table.axioms) and not document.leftovers
    own = SOURCES[name].namespaces
    assert table.version and all(
        vocabularies.kind_of(iri) == kind
        for iri, kind in table.kinds.items()
        if iri.startswith(own)
    )
    assert not any(vocabularies.kind_of(iri) for iri in table.non_dl_terms)
    assert {vocabularies.table_for_import(iri) for iri in table.ontologies} == {table}


@pytest.mark.parametrize("name", vocabularies.NAMES)
def test_each_vocabulary_s_import_is_answered_with_all_that_it_imports(
    tmp_path: Path, name: str
) -> None:
    table = vocabularies.load_table(name)
    result = certified(
        tmp_path,
        IMPORT.replace("http://www.w3.org/2004/02/skos/core", table.ontologies[0])
        + ":tom a :Cat .",
    )
    if name == "frbr":  # It has rules.
        assert (
            result.verdict is Verdict.UNDETERMINED
            and "FRBR 1.0.1 has 11 SWRL rules" in result.reason
        )
        assert (
            certify(tmp_path / "onto.ttl", reasoner="own", allow=["outside-shiq"]).verdict
            is Verdict.CONSISTENT
        )
    else:
        assert result.verdict is Verdict.CONSISTENT and not table.non_dl_statements, result.reason


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_each_table_says_what_the_vocabulary_s_own_file_says(name: str) -> None:
    folder = os.environ.get("SHIQ_VOCABULARIES", "")
    path = file_of(Path(folder), name) if folder else None
    if path is None or name not in vocabularies.NAMES:
        pytest.skip(f"SHIQ_VOCABULARIES names no folder with a file of {name}")
    assert compare(name, path) == []


def test_kinds_are_known_without_an_import_and_axioms_are_not_used(tmp_path: Path) -> None:
    result = certified(
        tmp_path,
        BOTH + ':tom a :Cat ; skos:prefLabel "Tom" ; dcterms:created "2026" ; foaf:name "Tom" .',
    )
    assert result.verdict is Verdict.CONSISTENT and [x.kind for x in result.evidence.leftovers] == [
        "other-language"
    ]


def test_an_import_is_answered_by_the_table_and_its_axioms_refute(tmp_path: Path) -> None:
    result = certified(tmp_path, IMPORT + BOTH)
    assert (
        result.verdict is Verdict.INCONSISTENT
        and "core#ConceptScheme" in result.conflicts[0].axioms[0]
    )
    assert [x.kind for x in result.evidence.leftovers] == ["vocabulary"]


@pytest.mark.parametrize("value", ['"Ann"', ":ann"])
@pytest.mark.parametrize(
    "axiom",
    [
        "dcterms:creator rdfs:domain :Dog .",
        ":by a owl:DatatypeProperty ; rdfs:subPropertyOf dcterms:creator . dcterms:creator rdfs:domain :Dog . :tom :by 'x' .",
        "[] a owl:Restriction ; owl:onProperty dcterms:creator ; owl:minCardinality 1 ; rdfs:subClassOf :Dog .",
    ],
)
def test_own_axioms_on_an_imported_term_of_open_kind_count_in_both_readings(
    tmp_path: Path, axiom: str, value: str
) -> None:
    text = (
        IMPORT.replace("http://www.w3.org/2004/02/skos/core", "http://purl.org/dc/terms/") + axiom
    )
    result = certified(tmp_path, text + f":tom a :Cat ; dcterms:creator {value} .")
    assert result.verdict is Verdict.INCONSISTENT
    assert (
        certified(tmp_path, text + f":tom a :Dog ; dcterms:creator {value} .").verdict
        is Verdict.CONSISTENT
    )


@pytest.mark.parametrize(
    "more",
    [
        "",
        "<http://purl.org/dc/terms/> , ",
        "<http://www.w3.org/ns/prov#> , <http://purl.org/dc/terms/> , ",
    ],
)
def test_a_kind_that_one_table_has_settles_what_another_leaves_open(
    tmp_path: Path, more: str
) -> None:
    text = (
        IMPORT.replace(
            "<http://www.w3.org/2004/02/skos/core>", f"{more}<http://www.w3.org/ns/dcat>"
        )
        + ":tom a :Cat ; "
    )
    assert certified(tmp_path, text + 'dcterms:relation "a text" .').verdict is Verdict.UNDETERMINED
    assert certified(tmp_path, text + "dcterms:relation :tim .").verdict is Verdict.CONSISTENT
    assert certified(tmp_path, text + 'dcterms:date "2026" .').verdict is Verdict.CONSISTENT


def test_a_term_of_a_table_at_an_axiom_annotates_it(tmp_path: Path) -> None:
    result = certified(
        tmp_path,
        "[] a owl:AllDisjointClasses ; owl:members ( :Cat :Dog :Bird ) ; dcterms:source 'a book' .",
    )
    assert result.verdict is Verdict.CONSISTENT and result.evidence.ledger["annotation"] == 1


def test_an_import_of_another_version_stays_missing(tmp_path: Path) -> None:
    result = certified(
        tmp_path, IMPORT.replace("/2004/02/skos/core", "/2009/08/skos-reference/skos.rdf") + BOTH
    )
    assert result.verdict is Verdict.UNDETERMINED and "missing-import" in result.reason


SCHEMA = (
    IMPORT.replace("http://www.w3.org/2004/02/skos/core", "http://schema.org/")
    + "@prefix schema: <http://schema.org/> .\n"
)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (":tom a :Cat ; schema:additionalType :Dog .", "outside-shiq"),
        (
            ":of a owl:ObjectProperty ; rdfs:subPropertyOf schema:additionalType . :tom :of :Dog .",
            "outside-shiq",
        ),
    ],
)
def test_a_term_of_which_a_vocabulary_says_what_no_axiom_can_say_blocks_where_it_is_used(
    tmp_path: Path, text: str, kind: str
) -> None:
    result = certified(tmp_path, SCHEMA + text)
    assert result.verdict is Verdict.UNDETERMINED and kind in result.reason
    assert certified(tmp_path, SCHEMA + ":tom a :Cat .").verdict is Verdict.CONSISTENT


def test_data_with_a_term_of_which_a_vocabulary_says_what_no_axiom_can_say_blocks(
    tmp_path: Path,
) -> None:
    (tmp_path / "onto.ttl").write_text(HEAD + SCHEMA)
    (tmp_path / "base.nt").write_text(
        "<urn:x> <http://schema.org/additionalType> <http://example.org/onto#Dog> .\n"
    )
    result = check_insertions(tmp_path / "onto.ttl", tmp_path / "base.nt", reasoner="own")
    assert result.verdict is Verdict.UNDETERMINED and "additionalType" in result.reason


def test_a_property_between_an_object_and_a_data_property_is_two(tmp_path: Path) -> None:
    text = ":about a owl:ObjectProperty ; rdfs:subPropertyOf :topic . :word a owl:DatatypeProperty ; rdfs:subPropertyOf :topic ."
    text += ":topic rdfs:domain :Dog . :tom a :Cat ."
    assert certified(tmp_path, text).verdict is Verdict.CONSISTENT
    for use in (":tom :about :rex .", ":tom :word 'milk' ."):
        assert certified(tmp_path, text + use).verdict is Verdict.INCONSISTENT


def test_assertions_of_a_vocabulary_count_where_it_is_imported(tmp_path: Path) -> None:
    text = (
        IMPORT.replace("2004/02/skos/core", "2006/time")
        + "@prefix time: <http://www.w3.org/2006/time#> .\n"
    )
    result = certified(
        tmp_path, text + "time:DayOfWeek rdfs:subClassOf :Cat . time:Monday a :Dog ."
    )
    assert result.verdict is Verdict.INCONSISTENT and "Monday" in result.conflicts[0].base[0]


def test_an_import_is_answered_by_the_addresses_of_its_publisher_only(tmp_path: Path) -> None:
    def missing(iri: str) -> bool:
        result = certified(
            tmp_path, IMPORT.replace("http://www.w3.org/2004/02/skos/core", iri) + ":tom a :Cat ."
        )
        return "missing-import" in result.reason

    assert not any(
        map(
            missing,
            (
                "http://xmlns.com/foaf/0.1/index.rdf",
                "http://www.w3.org/ns/prov-o#",
                "https://www.w3.org/ns/dcat",
            ),
        )
    )
    assert all(
        map(
            missing,
            (
                "http://example.org/foaf/0.1/",
                "http://www.w3.org/ns/prov-o-20120312",
                "https://example.org/ns/dcat",
            ),
        )
    )


def test_what_the_ontology_says_of_a_term_goes_before_the_table(tmp_path: Path) -> None:
    own = "skos:prefLabel a owl:DatatypeProperty ; rdfs:domain :Dog ."
    assert (
        certified(tmp_path, own + ':tom a :Cat ; skos:prefLabel "Tom" .').verdict
        is Verdict.INCONSISTENT
    )


def test_documentation_of_an_ontology_and_its_terms_is_no_assertion(tmp_path: Path) -> None:
    text = '<http://example.org/onto> a owl:Ontology ; dcterms:creator "Ann" . :Cat dcterms:created "2026" ; skos:broader :Dog .'
    ledger = certified(tmp_path, text).evidence.ledger
    assert ledger["annotation"] == 3 and ledger["leftover:other-language"] == 1


def test_a_property_below_one_of_annotations_says_nothing(tmp_path: Path) -> None:
    result = certified(
        tmp_path,
        ":name a owl:DatatypeProperty ; rdfs:subPropertyOf rdfs:label . :tom :name 'Tom' .",
    )
    assert result.verdict is Verdict.CONSISTENT


def test_same_as_between_classes_is_about_individuals(tmp_path: Path) -> None:
    result = certified(
        tmp_path, ":Cat owl:sameAs :Kitty . :Kitty a owl:Class . :tom a :Kitty , :Dog ."
    )
    assert result.verdict is Verdict.CONSISTENT
    assert [x.kind for x in result.evidence.leftovers] == ["individuals-only"]


def test_a_vocabulary_that_is_named_counts_as_if_imported(tmp_path: Path) -> None:
    (tmp_path / "onto.ttl").write_text(HEAD + BOTH)
    assert certify(tmp_path / "onto.ttl", reasoner="own").verdict is Verdict.CONSISTENT
    result = certify(tmp_path / "onto.ttl", reasoner="own", vocabulary="skos")
    assert (
        result.verdict is Verdict.INCONSISTENT
        and "core#ConceptScheme" in result.conflicts[0].axioms[0]
    )
    assert [x.message for x in result.evidence.leftovers] == [
        "SKOS 2009-08-18: from shiq's table, 46 axioms"
    ]
    assert result.to_dict()["conflicts"][0]["vocabularies"] == ["SKOS 2009-08-18"]
    assert "from     shiq's table of SKOS 2009-08-18" in result_text(result)


def test_without_tables_neither_kinds_nor_axioms_are_known(tmp_path: Path) -> None:
    text = (
        IMPORT
        + "skos:prefLabel rdfs:subPropertyOf rdfs:label . dcterms:creator rdfs:domain :Cat . :tom a :Cat ."
    )
    assert certified(tmp_path, text).verdict is Verdict.CONSISTENT
    result = certify(tmp_path / "onto.ttl", reasoner="own", vocabulary=["none"])
    assert result.verdict is Verdict.UNDETERMINED and "missing-import" in result.reason


def test_names_of_vocabularies_are_checked(tmp_path: Path) -> None:
    for names in (["skoss"], ["none", "skos"]):
        with pytest.raises(UsageError):
            certify(tmp_path, vocabulary=names)


def test_a_vocabulary_that_a_store_was_not_read_with_is_refused(tmp_path: Path) -> None:
    (tmp_path / "onto.ttl").write_text(HEAD)
    (tmp_path / "base.nt").write_text(
        "<urn:x> a <http://example.org/onto#Cat> .\n".replace(" a ", f" <{RDF}type> ")
    )
    for name, names in (("plain", ()), ("skos", "skos")):
        index(
            tmp_path / "onto.ttl",
            tmp_path / "base.nt",
            tmp_path / name,
            vocabulary=names,
            reasoner="own",
        )
    batch = tmp_path / "batch.nt"
    batch.write_text(
        "".join(f"<urn:y> <{RDF}type> <{SKOS}{name}> .\n" for name in ("Concept", "ConceptScheme"))
    )
    with open_store(tmp_path / "plain") as plain, open_store(tmp_path / "skos") as skos:
        assert plain.check(batch, reasoner="own").verdict is Verdict.CONSISTENT
        with pytest.raises(UsageError, match="skos"):
            plain.check(batch, vocabulary="skos")
        assert skos.check(batch, reasoner="own").verdict is Verdict.INCONSISTENT
        assert skos.check(batch, reasoner="own", vocabulary="skos").verdict is Verdict.INCONSISTENT


@pytest.mark.parametrize("own", ["", "skos:prefLabel a owl:DatatypeProperty ."])
def test_an_axiom_about_a_term_that_only_a_table_calls_an_annotation_counts(
    tmp_path: Path, own: str
) -> None:
    result = certified(
        tmp_path, own + "skos:prefLabel rdfs:domain :Dog . :tom a :Cat ; skos:prefLabel 'Tom' ."
    )
    assert result.verdict is Verdict.INCONSISTENT


def test_the_command_lists_each_vocabulary(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["vocabularies"])
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [
        "name",
        *vocabularies.NAMES,
    ]
    with pytest.raises(SystemExit):
        main(["vocabularies", "--json", "-"])
    found = json.loads(capsys.readouterr().out)["vocabularies"]
    assert [x["name"] for x in found] == [*vocabularies.NAMES] and all(x["answered"] for x in found)


FURTHER_KIND = {
    "skos": "skos:note a owl:DatatypeProperty ; rdfs:range owl:real . skos:example a owl:DatatypeProperty .",
    "org": "org:roleProperty a owl:ObjectProperty . :Cat owl:disjointWith org:Role . :tom a :Cat ; org:roleProperty :y .",
    "foaf": "rdfs:label a owl:DatatypeProperty , owl:FunctionalProperty . :tom foaf:name 'x' , 'y' .",
    "acl": ":see a owl:ObjectProperty . rdfs:seeAlso a owl:ObjectProperty ; rdfs:subPropertyOf :see .",
    "vann": "rdfs:seeAlso a owl:ObjectProperty , owl:SymmetricProperty .",
    "xkos": "skos:note rdfs:domain :Dog .",
    "vaem": "dcterms:subject a owl:ObjectProperty .",
    "doap": "foaf:knows a owl:DatatypeProperty . :Cat owl:disjointWith foaf:Person . :tom a :Cat ; foaf:knows 'x' .",
}


@pytest.mark.parametrize("name", FURTHER_KIND)
def test_a_property_of_a_further_kind_than_an_imported_table_reads_it_as_blocks(
    tmp_path: Path, name: str
) -> None:
    """The vocabulary's own file has axioms that count then, such as a domain of what it has for
    annotations.
    """
    space = vocabularies.load_table(name).ontologies[0]
    prefix = f"@prefix {name}: <{SOURCES[name].namespaces[0]}> .\n" if name != "foaf" else ""
    text = prefix + FURTHER_KIND[name] + ":tom a :Cat ."
    assert "punning" not in certified(tmp_path, text).reason
    result = certified(
        tmp_path, IMPORT.replace("http://www.w3.org/2004/02/skos/core", space) + text
    )
    (told,) = {x.message for x in result.evidence.leftovers if x.kind == "punning"}
    assert result.verdict is Verdict.UNDETERMINED and "but not in shiq's table of" in told


def test_a_property_of_annotations_that_no_axiom_of_the_table_is_about_may_be_another(
    tmp_path: Path,
) -> None:
    own = (
        "skos:prefLabel a owl:DatatypeProperty ; rdfs:domain :Dog . :tom skos:prefLabel 'Tom' ; a "
    )
    assert certified(tmp_path, IMPORT + own + ":Dog .").verdict is Verdict.CONSISTENT
    assert certified(tmp_path, IMPORT + own + ":Cat .").verdict is Verdict.INCONSISTENT


DCTERMS = IMPORT.replace("http://www.w3.org/2004/02/skos/core", "http://purl.org/dc/terms/")


def test_a_declaration_rules_out_the_other_reading_of_an_imported_table(tmp_path: Path) -> None:
    text = DCTERMS + "dcterms:creator a owl:ObjectProperty . :tom a :Cat ; dcterms:creator "
    assert certified(tmp_path, text + ":ann .").verdict is Verdict.CONSISTENT
    result = certified(tmp_path, text + "'Ann' .")
    assert result.verdict is Verdict.UNDETERMINED and "a literal as value" in result.reason


def test_a_declaration_that_an_imported_table_contradicts_is_told(tmp_path: Path) -> None:
    text = IMPORT.replace("www.w3.org/2004/02/skos/core", "xmlns.com/foaf/0.1/")
    result = certified(
        tmp_path, text + "foaf:name a owl:ObjectProperty . :tom a :Cat ; foaf:name :ann ."
    )
    assert any("foaf/0.1/name" in x.message for x in result.evidence.leftovers)


def test_open_kinds_of_an_imported_table_are_told_in_one_line(tmp_path: Path) -> None:
    result = certified(tmp_path, DCTERMS + ":tom a :Cat .")
    assert [x.kind for x in result.evidence.leftovers] == ["vocabulary"]


COPY = f"""@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix skos: <{SKOS}> .
<http://www.w3.org/2004/02/skos/core> a owl:Ontology . skos:Concept a owl:Class ; owl:disjointWith skos:ConceptScheme .
"""


def test_a_copy_of_a_vocabulary_replaces_the_table_and_what_differs_is_told(tmp_path: Path) -> None:
    (tmp_path / "copy.ttl").write_text(COPY.replace("skos:ConceptScheme .", "skos:Collection ."))
    (tmp_path / "onto.ttl").write_text(HEAD + IMPORT + BOTH)
    result = certify([tmp_path / "onto.ttl", tmp_path / "copy.ttl"], reasoner="own")
    assert result.verdict is Verdict.CONSISTENT
    (told,) = [x for x in result.evidence.leftovers if x.kind == "vocabulary"]
    assert (
        told.source.endswith("copy.ttl")
        and "differs from it: 45 axioms only in the table" in told.message
    )
    (tmp_path / "copy.ttl").write_text(COPY)
    (tmp_path / "catalog.json").write_text('{"http://www.w3.org/2004/02/skos/core": "copy.ttl"}')
    result = certify(tmp_path / "onto.ttl", reasoner="own", catalog=[tmp_path / "catalog.json"])
    (told,) = [x.message for x in result.evidence.leftovers if x.kind == "vocabulary"]
    assert (
        result.verdict is Verdict.INCONSISTENT
        and "differs from it: 45 axioms only in the table" in told
    )


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_a_vocabulary_s_own_file_does_not_differ_from_its_table(name: str) -> None:
    path = file_of(Path(os.environ.get("SHIQ_VOCABULARIES", "none")), name)
    if path is None:
        pytest.skip(f"SHIQ_VOCABULARIES names no folder with a file of {name}")
    reading = read_ontology([path])
    assert [x.message for x in reading.leftovers if "replaces shiq's table" in x.message] == []
