"""Terms that an ontology does not define, and properties of open kind: what is information, and
what blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from shiq.answers.result import Conflict, Result
from shiq.answers.verdict import Verdict
from shiq.api import certify, check_insertions, index, open_store
from shiq.jobs.checking.ambiguous_properties import is_refuted_in_each_reading, unsettled_properties
from shiq.model import (
    Assertion,
    Class,
    ClassAssertion,
    DataMaxCardinality,
    DataProperty,
    ObjectMinCardinality,
    ObjectProperty,
    Signature,
    SubClassOf,
    TBox,
)

HEAD = """@prefix : <http://example.org/onto#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix f: <http://elsewhere.net/terms/> .
"""
CATS = (
    HEAD
    + ":Cat a owl:Class ; owl:disjointWith :Dog . :Dog a owl:Class . :likes a owl:ObjectProperty ; rdfs:range :Cat .\n"
)


def certified(tmp_path: Path, text: str, **settings: object) -> Result:
    (tmp_path / "onto.ttl").write_text(text)
    return certify(tmp_path / "onto.ttl", reasoner="own", **settings)


def checked(tmp_path: Path, ontology: str, batch: str, **settings: object) -> Result:
    (tmp_path / "onto.ttl").write_text(ontology)
    (tmp_path / "batch.ttl").write_text(HEAD + batch)
    return check_insertions(
        tmp_path / "onto.ttl", None, tmp_path / "batch.ttl", reasoner="own", **settings
    )


def kinds(result: Result) -> dict[str, int]:
    return {leftover.kind: leftover.count for leftover in result.evidence.leftovers}


def test_foreign_terms_are_information(tmp_path: Path) -> None:
    result = checked(
        tmp_path,
        CATS,
        ':tom a :Cat ; f:owner :ann ; f:born "2020" . :ann a f:Person ; :likes :tom , :tim . :tim a :Cat .',
    )
    assert result.verdict is Verdict.CONSISTENT
    assert sorted(x.term for x in result.evidence.leftovers if x.kind == "foreign") == [
        f"http://elsewhere.net/terms/{name}" for name in ("Person", "born", "owner")
    ]
    assert result.evidence.ledger["leftover:foreign"] == 3


SLIPS = {
    ":tom <rdf:type> :Dog .": "http://www.w3.org/1999/02/22-rdf-syntax-ns#type",
    ":Pup <rdfs:subClassOf> :Dog .": "http://www.w3.org/2000/01/rdf-schema#subClassOf",
    ":likes a <owl:IrreflexiveProperty> .": "http://www.w3.org/2002/07/owl#IrreflexiveProperty",
    ":Cat rdfs:subClassOf <owl:Nothing> .": "http://www.w3.org/2002/07/owl#Nothing",
    ":tom a <o:Dog> .": "http://example.org/onto#Dog",
    ":Cat rdfs:subClassOf <o:Dog> .": "http://example.org/onto#Dog",
    ":tom a <ex:Bird> .": "",
    "<> a owl:Ontology ; <owl:imports> <http://elsewhere.net/other> .": "http://www.w3.org/2002/07/owl#imports",
    ":tom <http://www.w3.org/1999/02/22-rdf-syntax#type> :Dog .": "http://www.w3.org/1999/02/22-rdf-syntax-ns#type",
    ":Pup <http://www.w3.org/2001/owl#subClassOf> :Dog .": "http://www.w3.org/2000/01/rdf-schema#subClassOf",
    ":likes a <http://www.w3c.org/owl2#IrreflexiveProperty> .": "http://www.w3.org/2002/07/owl#IrreflexiveProperty",
    ":Cat rdfs:subClassOf <http://www.w3.org/2002/owl#Nothing> .": "http://www.w3.org/2002/07/owl#Nothing",
}


@pytest.mark.parametrize("text", SLIPS)
def test_unexpanded_prefixes_and_misspelt_namespaces_of_the_language_block(
    tmp_path: Path, text: str
) -> None:
    result = certified(tmp_path, CATS + ":tom a :Cat . " + text)
    assert result.verdict is Verdict.UNDETERMINED
    hints = [
        leftover.hint for leftover in result.evidence.leftovers if leftover.kind == "undeclared"
    ]
    assert any(SLIPS[text] in hint for hint in hints), hints


@pytest.mark.parametrize(
    ("axiom", "meant"),
    [
        (":Pup rdfs:subClassOf :Dogg .", "onto#Dog"),
        (":Dgoo rdfs:subClassOf :Cat . :Doog rdfs:subClassOf :Cat .", "onto#Dog"),
        (
            ":Pup rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :liks ; owl:someValuesFrom :Cat ] .",
            "onto#likes",
        ),
        (":fond rdfs:subPropertyOf :Likes .", "onto#likes"),
        (":Cat rdfs:subClassOf foaf:Persn .", "foaf/0.1/Person"),
        (":fond rdfs:subPropertyOf foaf:knos .", "foaf/0.1/knows"),
        (":Pup rdfs:subClassOf <https://example.org/onto/Dog> .", "http://example.org/onto#Dog"),
        (
            ":Pup rdfs:subClassOf <https://xmlns.com/foaf/0.1/Person> .",
            "http://xmlns.com/foaf/0.1/Person",
        ),
    ],
)
def test_slips_of_declared_names_and_of_known_terms_block_in_axioms(
    tmp_path: Path, axiom: str, meant: str
) -> None:
    text = f"@prefix foaf: <http://xmlns.com/foaf/0.1/> .\n{CATS}:Pup a owl:Class . {axiom} :tom a :Cat ."
    result = certified(tmp_path, text)
    assert result.verdict is Verdict.UNDETERMINED
    (told,) = [x for x in result.evidence.leftovers if x.kind == "undeclared"]
    assert f"{meant}>" in told.hint and told.line == 6
    assert certified(tmp_path, text, allow=["undeclared"]).verdict is Verdict.CONSISTENT


@pytest.mark.parametrize(
    "axiom",
    [
        ':Pup rdfs:subClassOf :Dogg . :Dogg rdfs:label "a made-up dog" .',  # it is described
        ":likes rdfs:domain :Dog , :Dogg .",  # they are told apart
        ":Dog1 a owl:Class . :Pup rdfs:subClassOf :Dog2 .",  # by number
        ":Pup rdfs:subClassOf :Likes , :Car , :Bird .",  # of another kind, or not near
        ":fond rdfs:subPropertyOf foaf:knows .",
        ":Dog owl:equivalentClass <https://example.org/onto/Dog> . <https://example.org/onto/Dog> rdfs:subClassOf :Pup .",
    ],
)
def test_undeclared_names_that_are_no_slips_do_not_block_in_axioms(
    tmp_path: Path, axiom: str
) -> None:
    text = f"@prefix foaf: <http://xmlns.com/foaf/0.1/> .\n{CATS}:Pup a owl:Class . {axiom} :tom a :Cat ."
    assert certified(tmp_path, text).verdict is Verdict.CONSISTENT


def test_names_that_only_resemble_slips_are_information(tmp_path: Path) -> None:
    names = (
        "urn:isbn:3",
        "tag:me@example.org,2020:pet",
        "doi:10.1/x",
        "http://purl.org/ontology/bibo/type",
        "http://a.net/owl/part.owl#domain",
    )
    result = certified(
        tmp_path, CATS + ":tom a :Cat ; " + " ; ".join(f"<{name}> :tim" for name in names) + " ."
    )
    assert result.verdict is Verdict.CONSISTENT and result.evidence.ledger[
        "leftover:foreign"
    ] == len(names)


@pytest.mark.parametrize(
    "declared",
    ["", "dcterms:type a rdf:Property .", "dcterms:type a rdf:Property ; rdfs:domain :Cat ."],
)
def test_terms_of_a_known_vocabulary_that_is_only_used_are_foreign_unless_misspelt(
    tmp_path: Path, declared: str
) -> None:
    text = f"@prefix dcterms: <http://purl.org/dc/terms/> .\n{CATS}{declared} :tom a :Cat . "
    result = certified(tmp_path, text + ":note a dcterms:IMT .")
    assert result.verdict is Verdict.CONSISTENT and "foreign" in kinds(result)
    result = certified(tmp_path, text + ':tom dcterms:creatd "2026" .')
    (told,) = [x for x in result.evidence.leftovers if x.kind == "undeclared"]
    assert (
        result.verdict is Verdict.UNDETERMINED
        and told.hint == "did you mean <http://purl.org/dc/terms/created>?"
    )


def test_an_own_property_that_documents_classes_by_names_elsewhere_needs_no_declaration(
    tmp_path: Path,
) -> None:
    text = CATS + ":tom a :Cat . "
    result = certified(
        tmp_path,
        text
        + ":Cat :source <http://elsewhere.net/cats> . :tom :source <http://elsewhere.net/tom> .",
    )
    assert result.verdict is Verdict.CONSISTENT and result.evidence.ledger["annotation"] == 2


@pytest.mark.parametrize(
    "text",
    [
        ":tom :source <http://elsewhere.net/tom> .",  # it documents no class
        ":Cat :source <http://elsewhere.net/cats> . :tom :source :tim .",  # an own name as well
        ":Cat :source :Dog .",
        ":Cat :liks <http://elsewhere.net/cats> .",  # nearly an own property
        ":Cat :disjontWith <http://elsewhere.net/dogs> .",  # nearly a word of axioms
        ":Cat :source [ a :Dog ] .",
    ],
)
def test_an_own_property_without_a_declaration_blocks_where_it_may_be_more_than_documentation(
    tmp_path: Path, text: str
) -> None:
    assert certified(tmp_path, CATS + ":tom a :Cat . " + text).verdict is Verdict.UNDETERMINED


def test_a_batch_may_not_document_by_own_properties_without_a_declaration(tmp_path: Path) -> None:
    result = checked(tmp_path, CATS, ":tom a :Cat . :Cat :source <http://elsewhere.net/cats> .")
    assert result.verdict is Verdict.UNDETERMINED


def test_foreign_terms_can_be_asked_to_block(tmp_path: Path) -> None:
    result = checked(tmp_path, CATS, ":tom a :Cat , f:Pet . :tim a :Cat .", fail_on=["foreign"])
    assert result.verdict is Verdict.UNDETERMINED


@pytest.mark.parametrize(
    "term",
    [
        *(
            "<http://example.org/onto#Cta>",
            "<https://example.org/onto#Bird>",
            "<http://www.example.org/onto#Bird>",
        ),
        *(
            "<http://example.org/onto/Bird>",
            "<http://example.org/onto.owl#Bird>",
            "<http://example.org/Onto#Bird>",
        ),
        *("<http://exmaple.org/onto#Bird>", "<http://example.org/ontp#Bird>"),
        *(
            "<http://example.org/ontoCat>",
            "<http://example.org/ontoBird>",
            "<http://example.ogr/onto#Cat>",
            "<http:/example.org/onto#Bird>",
        ),
    ],
)
def test_a_misspelt_term_or_namespace_blocks(tmp_path: Path, term: str) -> None:
    result = checked(tmp_path, CATS, f":tom a :Cat , {term} . :tim a :Cat .")
    assert result.verdict is Verdict.UNDETERMINED and kinds(result)["undeclared"] == 1


def test_terms_of_a_foreign_namespace_of_which_one_is_in_the_tbox_block(tmp_path: Path) -> None:
    result = checked(tmp_path, CATS + "f:Pet rdfs:subClassOf :Cat .", ":tom a :Cat , f:Pett .")
    assert result.verdict is Verdict.UNDETERMINED and kinds(result)["undeclared"] == 1


def test_other_terms_of_a_namespace_in_which_the_tbox_declares_nothing_are_foreign(
    tmp_path: Path,
) -> None:
    used = CATS + "f:Pet rdfs:subClassOf :Cat . f:owns rdfs:domain :Cat ."
    batch = ":tom a :Cat , f:{} . :tim a :Cat , :Cat . :ann a :Dog ; f:{} 'x' ."
    assert (
        checked(tmp_path, used, batch.format("Vehicle", "birthday")).verdict is Verdict.CONSISTENT
    )
    for names in (
        ("Pets", "birthday"),
        ("pet", "birthday"),
        ("Vehicle", "own"),
        ("Vehicle", "ows"),
    ):
        assert checked(tmp_path, used, batch.format(*names)).verdict is Verdict.UNDETERMINED
    declared = used + " f:Person a owl:Class ."
    assert (
        checked(tmp_path, declared, batch.format("Vehicle", "birthday")).verdict
        is Verdict.UNDETERMINED
    )
    for store, ontology in (
        (tmp_path / "used", used),
        (tmp_path / "declared", declared),
    ):  # as a store has it, too
        (tmp_path / "onto.ttl").write_text(ontology)
        (tmp_path / "base.ttl").write_text(HEAD + ":tom a :Cat .")
        (tmp_path / "batch.ttl").write_text(HEAD + batch.format("Vehicle", "birthday"))
        index(tmp_path / "onto.ttl", tmp_path / "base.ttl", store, reasoner="own")
        with open_store(store) as opened:
            found = opened.check(tmp_path / "batch.ttl", reasoner="own")
        assert (found.verdict is Verdict.CONSISTENT) == (ontology == used)


def test_a_batch_that_is_mostly_foreign_blocks_unless_that_is_agreed_on(tmp_path: Path) -> None:
    batch = ":tom a :Cat , f:Pet ; f:owner :ann ."
    result = checked(tmp_path, CATS, batch)
    assert (
        result.verdict is Verdict.UNDETERMINED
        and "2 of 3 lines" in result.reason
        and "--allow foreign" in result.reason
    )
    assert checked(tmp_path, CATS, batch, allow=["foreign"]).verdict is Verdict.CONSISTENT


def test_foreign_rows_count_again_when_the_tbox_speaks_of_them(tmp_path: Path) -> None:
    rows = ":tom f:owner :ann . :ann a :Dog . :tom a :Cat ."
    assert certified(tmp_path, CATS + rows).verdict is Verdict.CONSISTENT
    assert (
        certified(
            tmp_path, CATS + rows + "f:owner a owl:ObjectProperty ; rdfs:range :Cat ."
        ).verdict
        is Verdict.INCONSISTENT
    )


def test_negative_assertions_of_foreign_terms_are_asked_about(tmp_path: Path) -> None:
    """Lemma F does not hold for them: equal individuals can make one contradict a positive
    assertion.
    """
    rows = (
        ":likes a owl:FunctionalProperty . :x :likes :a , :c . :y :likes :b , :d . :a f:near :b . "
        "[] a owl:NegativePropertyAssertion ; owl:sourceIndividual :c ; owl:assertionProperty f:near ; owl:targetIndividual :d ."
    )
    assert certified(tmp_path, CATS + rows).verdict is Verdict.INCONSISTENT


@pytest.mark.parametrize("term", ["Cat/", "C/at", "Cat#", "Ca:t"])
def test_a_separator_inside_of_a_term_or_behind_it_blocks(tmp_path: Path, term: str) -> None:
    ontology = CATS.replace("/onto#", "/onto/")
    result = checked(
        tmp_path,
        ontology,
        f":tom a <http://example.org/onto/{term}> . :tim a f:Pet , <http://example.org/onto/Cat> .",
    )
    assert result.verdict is Verdict.UNDETERMINED and kinds(result)["undeclared"] == 1


@pytest.mark.parametrize(
    "above", ["rdfs:label", "<http://www.w3.org/2004/02/skos/core#note>", "f:note", ":noted"]
)
def test_an_axiom_of_a_property_below_one_of_annotations_counts(tmp_path: Path, above: str) -> None:
    """Such a property may be of data or of individuals all the same, and no axiom of it may be
    lost.
    """
    text = (
        CATS
        + f"f:note a owl:AnnotationProperty . :noted a rdf:Property ; rdfs:subPropertyOf f:note . :q rdfs:subPropertyOf {above} ."
    )
    assert certified(tmp_path, text + " :rex a :Dog ; :q 'a' .").verdict is Verdict.CONSISTENT
    assert (
        certified(tmp_path, text + " :q rdfs:domain :Cat . :rex a :Dog ; :q 'a' .").verdict
        is Verdict.INCONSISTENT
    )


OPEN = CATS + ":p a rdf:Property ; rdfs:domain :Cat . :q rdfs:subPropertyOf :p .\n"


def test_a_property_of_open_kind_is_read_as_both(tmp_path: Path) -> None:
    result = certified(tmp_path, OPEN + ':tom :q "a" , :tim .')
    assert result.verdict is Verdict.CONSISTENT and "two-readings" in kinds(result)


@pytest.mark.parametrize("value", ['"a"', ":tim"])
def test_what_the_data_shows_of_an_open_property_refutes(tmp_path: Path, value: str) -> None:
    result = certified(tmp_path, OPEN + f":rex a :Dog ; :q {value} .")
    assert result.verdict is Verdict.INCONSISTENT and len(result.conflicts[0].axioms) == 3


def restricted(*names: str) -> str:
    return "".join(
        f":{cls} rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :{p} ; owl:{bound}Cardinality {n} ] .\n"
        for p in names
        for cls, bound, n in ((f"Many{p}", "min", 2), (f"Few{p}", "max", 1))
    )


def test_a_contradiction_in_each_reading_counts(tmp_path: Path) -> None:
    text = CATS + ":p a rdf:Property .\n" + restricted("p") + ":tom a :Manyp , :Fewp ."
    assert certified(tmp_path, text).verdict is Verdict.INCONSISTENT


def test_a_contradiction_that_needs_both_kinds_at_once_does_not_count() -> None:
    """One property of a conflict, as object property in one axiom and as data property in
    another, and no assertion of it.
    """
    tom, cat = ClassAssertion(Class("urn:Cat"), "urn:tom"), Class("urn:Cat")
    axioms = (
        SubClassOf(cat, ObjectMinCardinality(1, ObjectProperty("urn:p"))),
        SubClassOf(cat, DataMaxCardinality(0, DataProperty("urn:p"))),
    )
    conflict = Conflict((tom,), (), axioms)
    assert unsettled_properties(conflict, {"urn:p"}) == {"urn:p"}
    names = frozenset({"urn:p"})
    asked: list[int] = []

    def refutes(tbox: TBox, assertions: Sequence[Assertion]) -> bool:
        asked.append(len(tbox.axioms))
        return False

    tbox = TBox(axioms, Signature(frozenset({"urn:Cat"}), names, names))
    assert not is_refuted_in_each_reading(conflict, names, tbox, refutes) and asked == [1]
    assert is_refuted_in_each_reading(
        conflict, names, tbox, lambda tbox, assertions: len(tbox.axioms) == 1
    )


@pytest.mark.parametrize("above", ["rdf:type", "rdfs:subClassOf", "owl:sameAs"])
def test_a_property_below_a_word_of_the_language_is_not_understood(
    tmp_path: Path, above: str
) -> None:
    """What such a property says is more than that of an ordinary one."""
    result = certified(
        tmp_path, CATS + f":q a rdf:Property ; rdfs:subPropertyOf {above} . :tom :q :Dog ; a :Cat ."
    )
    assert (
        result.verdict is Verdict.UNDETERMINED
        and "means more than a reasoner of OWL 2 DL knows" in result.reason
    )
    assert (
        certified(
            tmp_path, CATS + f":q a rdf:Property ; rdfs:subPropertyOf {above} . :tom a :Cat ."
        ).verdict
        is Verdict.CONSISTENT
    )


def test_verdict_only_does_not_announce_what_rests_on_both_readings(tmp_path: Path) -> None:
    heard: list[Result] = []
    text = OPEN + restricted("p") + ":tom a :Manyp , :Fewp ; :q :tim ."
    result = certified(tmp_path, text, verdict_only=True, certain=heard.append)
    assert result.verdict is Verdict.INCONSISTENT and not heard


def test_functional_syntax_of_open_kinds_is_as_before(tmp_path: Path) -> None:
    """There the place of a name leaves one kind."""
    (tmp_path / "o.ofn").write_text(
        "Ontology(<urn:o> SubClassOf(<urn:A> ObjectSomeValuesFrom(<urn:p> <urn:B>)))"
    )
    assert "two-readings" not in kinds(certify(tmp_path / "o.ofn", reasoner="own"))
