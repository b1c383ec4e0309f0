"""What lies outside SHIQ(D): out of reach of the data it is told, within reach HermiT is asked
about the whole.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from shiq import Result, check_insertions
from shiq.api import certify, certify_store, index, open_store
from shiq.jobs.checking import outside_shiq as outside
from shiq.jobs.cli import main
from shiq.jobs.lint import lint
from shiq.model import Axiom
from shiq.simplify import locality
from shiq.simplify.locality import ReachableAxioms

pytestmark = pytest.mark.jvm

HEAD = "Prefix(:=<urn:x#>) Prefix(xsd:=<http://www.w3.org/2001/XMLSchema#>) Prefix(owl:=<http://www.w3.org/2002/07/owl#>)\nOntology(\n"


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / f"{name}.ofn"
    path.write_text(f"{HEAD}{text}\n)")
    return path


def checked(
    folder: Path, tbox: str, base: str, batch: str, deleted: str = "", **settings
) -> Result:  # type: ignore[no-untyped-def]
    files = [
        written(folder, n, t) for n, t in (("t", tbox), ("a", base), ("i", batch), ("d", deleted))
    ]
    return check_insertions(*files, **settings)


#: What `--allow outside-shiq` answered `consistent` to: T, A, A⁺ and the axiom that is blamed.
CONTRADICTIONS = {
    "key": (
        "Declaration(DataProperty(:id)) HasKey(:C () (:id))",
        'ClassAssertion(:C :a) DataPropertyAssertion(:id :a "1"^^xsd:integer) ClassAssertion(:C :b) DifferentIndividuals(:a :b)',
        'DataPropertyAssertion(:id :b "1"^^xsd:integer) ClassAssertion(:C :c)',
        "HasKey",
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


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_a_large_whole_is_asked_about_where_time_is_given_for_it(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outside, "MOST_ASSERTIONS", 1)
    found = checked(tmp_path, *CONTRADICTIONS[name][:3])
    assert found.verdict.value == "undetermined"
    assert (
        "HermiT was not asked about the whole" in found.reason
        and "--timeout 600 asks" in found.reason
    )
    assert not found.evidence.sent
    assert (
        checked(tmp_path, *CONTRADICTIONS[name][:3], timeout=60.0).verdict.value == "inconsistent"
    )


def test_out_of_reach_is_told_and_nobody_is_asked(tmp_path: Path) -> None:
    tbox = (
        "SubClassOf(:A :B) SubClassOf(:Z ObjectOneOf(:p :q)) SubObjectPropertyOf(ObjectPropertyChain(:t :r :t) :t)"
        " SubClassOf(:Y ObjectHasValue(:r :p)) HasKey(:A () (:code)) Declaration(DataProperty(:code))"
    )
    result = checked(tmp_path, tbox, "ClassAssertion(:A :a)", "ObjectPropertyAssertion(:r :a :b)")
    assert result.verdict.value == "consistent", result.reason
    assert [x.kind for x in result.evidence.leftovers] == ["out-of-reach"] * 4
    assert not result.evidence.sent
    assert not result.without
    # An individual of a nominal is there whether or not anything is said of it.
    reached = checked(
        tmp_path,
        "SubClassOf(ObjectOneOf(:p) :B) DisjointClasses(:A :B)",
        "ClassAssertion(:A :q)",
        "SameIndividual(:p :q)",
    )
    assert reached.verdict.value == "inconsistent"


def test_to_fail_on_what_is_outside_leaves_it_undetermined_or_inconsistent(tmp_path: Path) -> None:
    """HermiT is asked, since a contradiction is one; that it finds none is not enough then."""
    harmless = "SubClassOf(:C ObjectOneOf(:p :q))", "ClassAssertion(:C :a)", "ClassAssertion(:C :c)"
    assert checked(tmp_path, *harmless).verdict.value == "consistent"
    found = checked(tmp_path, *harmless, fail_on=["outside-shiq"])
    assert found.verdict.value == "undetermined"
    assert "1 × outside-shiq" in found.reason and "asked for by --fail-on" in found.reason
    alone = certify([written(tmp_path, "w", harmless[0] + harmless[1])], fail_on=["outside-shiq"])
    assert alone.verdict.value == "undetermined"
    assert (
        checked(tmp_path, *CONTRADICTIONS["nominals"][:3], fail_on=["outside-shiq"]).verdict.value
        == "inconsistent"
    )
    # By --fail-on uninterpreted it is not meant: HermiT has interpreted it.
    assert checked(tmp_path, *harmless, fail_on=["uninterpreted"]).verdict.value == "consistent"


@pytest.mark.parametrize("fail_on", [[], ["outside-shiq"]])
def test_a_tbox_without_data_is_asked_about_once(tmp_path: Path, fail_on: list[str]) -> None:
    tbox = written(
        tmp_path, "t", "SubClassOf(owl:Thing ObjectOneOf(:p :q)) SubClassOf(:A ObjectHasSelf(:r))"
    )
    found = certify([tbox], fail_on=fail_on)
    assert found.verdict.value == ("undetermined" if fail_on else "consistent"), found.reason
    assert found.evidence.sent["questions"] == 1
    assert sum("HermiT was asked" in note for note in found.evidence.notes) == 1
    none = written(
        tmp_path,
        "n",
        "SubClassOf(owl:Thing ObjectOneOf(:p :q)) DisjointClasses(ObjectOneOf(:p :q) owl:Thing)",
    )
    assert certify([none], fail_on=fail_on).verdict.value == "inconsistent"


LINTED = {
    "asked about": (
        "SubClassOf(:C ObjectOneOf(:p :q)) SubClassOf(:Z ObjectHasValue(:r :p))",
        [],
        0,
        1,
    ),
    "failed on": (
        "SubClassOf(:C ObjectOneOf(:p :q)) SubClassOf(:Z ObjectHasValue(:r :p))",
        ["outside-shiq"],
        3,
        1,
    ),
    "out of reach": ("SubClassOf(:A :B) SubClassOf(:Z ObjectHasValue(:r :p))", [], 0, 0),
    "out of reach and failed on": (
        "SubClassOf(:A :B) SubClassOf(:Z ObjectHasValue(:r :p))",
        ["out-of-reach"],
        3,
        0,
    ),
    "not regular": (
        "SubObjectPropertyOf(ObjectPropertyChain(:r :s :r) :r) SubClassOf(:C ObjectAllValuesFrom(:r :B))"
        " SubClassOf(:C ObjectHasValue(:r :p)) SubClassOf(:C ObjectHasValue(:s :p))",
        [],
        3,
        3,
    ),
}


@pytest.mark.parametrize("name", LINTED)
def test_lint_says_what_a_check_says(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text, fail_on, code, asked = LINTED[name]
    text += " Declaration(Class(:C))"
    tbox, data = written(tmp_path, "t", text), written(tmp_path, "a", "ClassAssertion(:C :a)")
    found = lint([str(tbox)], [str(data)], fail_on=fail_on)
    assert (found.exit_code, found.to_dict()["asked"]) == (code, asked), found
    assert bool(found.obstacle) is (name == "not regular")
    with pytest.raises(SystemExit) as exited:
        main(
            [
                "lint",
                str(tbox),
                "--data",
                str(data),
                *(f"--fail-on={kind}" for kind in fail_on),
                "-q",
            ]
        )
    assert exited.value.code == code
    assert ("a check asks HermiT" in capsys.readouterr().out) is bool(asked and not found.obstacle)
    verdict = checked(tmp_path, text, "", "ClassAssertion(:C :a)", fail_on=fail_on).verdict.value
    assert verdict == ("undetermined" if code else "consistent")


def test_what_the_data_reaches_is_worked_out_once_for_a_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And for each batch with names beyond those; where nothing is outside, never."""
    worked_out: list[frozenset[str]] = []

    def reached(axioms: Sequence[Axiom], vocabulary: Iterable[str]) -> ReachableAxioms:
        worked_out.append(frozenset(vocabulary))
        return locality.select_reachable_axioms(axioms, vocabulary)

    monkeypatch.setattr(outside, "select_reachable_axioms", reached)
    one = "SubClassOf(ObjectSomeValuesFrom(ObjectInverseOf(:s) owl:Thing) ObjectIntersectionOf(ObjectOneOf(:e) :R))"
    files = (
        written(
            tmp_path,
            "t",
            f"{one} DisjointClasses(:R :D) SubClassOf(:A :B) Declaration(ObjectProperty(:r))",
        ),
        written(tmp_path, "a", "ClassAssertion(:A :a) ObjectPropertyAssertion(:r :a :b)"),
    )
    index(*files, tmp_path / "kg")
    known, new = (
        written(tmp_path, "i", "ClassAssertion(:B :b)"),
        written(tmp_path, "j", "ObjectPropertyAssertion(:s :b :c)"),
    )
    refuted = written(tmp_path, "k", "ObjectPropertyAssertion(:s :b :c) ClassAssertion(:D :c)")
    with open_store(tmp_path / "kg") as session:
        worked_out.clear()
        for batch, verdict, times in (
            (known, "consistent", 1),
            (known, "consistent", 1),
            (new, "consistent", 2),
            (refuted, "inconsistent", 3),
            (known, "consistent", 3),
            (new, "consistent", 3),
        ):
            assert session.check(batch, explain_seconds=0).verdict.value == verdict
            assert len(worked_out) == times
        assert session.check(new, commit=True).committed == 2
        assert session.check(refuted, explain_seconds=0).verdict.value == "inconsistent"
        assert len(worked_out) == 5
    plain = (
        written(tmp_path, "t", "SubClassOf(:A :B) DisjointClasses(:A :D)"),
        written(tmp_path, "a", "ClassAssertion(:A :a)"),
    )
    index(*plain, tmp_path / "plain")
    with open_store(tmp_path / "plain") as session:
        assert (
            session.check(written(tmp_path, "i", "ClassAssertion(:D :b)")).verdict.value
            == "consistent"
        )
    assert len(worked_out) == 5


def test_what_is_outside_lives_with_the_store(tmp_path: Path) -> None:
    """It is certified, committed, deleted and exported to HermiT like the rest."""
    tbox, base, _, _ = CONTRADICTIONS["nominals"]
    store = tmp_path / "kg"
    files = written(tmp_path, "t", tbox), written(tmp_path, "a", base)
    made = index(*files, store)
    assert made.verdict.value == "consistent", made.reason
    with open_store(store) as session:
        assert (
            session.check(written(tmp_path, "i", "ClassAssertion(:C :c)")).verdict.value
            == "inconsistent"
        )
        one_of = written(tmp_path, "j", "ClassAssertion(ObjectOneOf(:c :d) :e)")
        assert session.check(one_of, commit=True).committed == 2
    against = written(tmp_path, "k", "DifferentIndividuals(:e :c) DifferentIndividuals(:e :d)")
    with open_store(store) as session:
        found = session.check(against)
        assert found.verdict.value == "inconsistent", found.reason
        assert any("ObjectOneOf" in text or "oneOf" in text for text in found.conflicts[0].base)
        assert session.check(against, one_of).verdict.value == "consistent"
        assert session.check(None, one_of, commit=True).committed == 3
        assert session.check(against).verdict.value == "consistent"
    assert certify_store(store).verdict.value == "consistent"


@pytest.mark.spark
def test_spark_takes_deletions_of_what_is_outside_away(spark: object, tmp_path: Path) -> None:
    """What a deletion names is not taken for asserted; nor is an axiom of the TBox that the
    batch says again a leftover.
    """
    tbox, base, _, _ = CONTRADICTIONS["nominals"]
    files = written(tmp_path, "t", tbox), written(tmp_path, "a", base)
    one_of = written(tmp_path, "j", "ClassAssertion(ObjectOneOf(:c :d) :e)")
    against = written(tmp_path, "k", "DifferentIndividuals(:e :c) DifferentIndividuals(:e :d)")
    index(*files, tmp_path / "kg")
    with open_store(tmp_path / "kg") as session:
        assert session.check(one_of, commit=True).committed == 2
        for deletions, verdict in ((None, "inconsistent"), (one_of, "consistent")):
            assert session.check(against, deletions, engine="spark").verdict.value == verdict
        told, alike = (session.check(files[0], engine=engine) for engine in ("spark", "local"))
        assert (told.verdict, told.evidence.leftovers) == (alike.verdict, alike.evidence.leftovers)


def test_a_certificate_that_left_it_out_answers_for_nothing_there(tmp_path: Path) -> None:
    """What was allowed, or known, when a store was certified is asked about once it is not any
    more: by deletions alone too.
    """
    tbox, base, batch, _ = CONTRADICTIONS["nominals"]
    files = (
        written(tmp_path, "t", tbox),
        written(tmp_path, "a", f"{base} {batch} ClassAssertion(:C :z)"),
    )
    gone = written(tmp_path, "d", "ClassAssertion(:C :z)")
    known = {
        "known": [
            {
                "kind": "outside-shiq",
                "pattern": "*",
                "owner": "ann@example.org",
                "expires": "2999-01-01",
            }
        ]
    }
    (tmp_path / "known.json").write_text(json.dumps(known))
    for name, settings in (
        ("allowed", {"allow": ["outside-shiq"]}),
        ("known", {"known": tmp_path / "known.json"}),
    ):
        assert index(*files, tmp_path / name, **settings).verdict.value == "consistent"
        with open_store(tmp_path / name) as session:
            found = session.check(None, gone, fail_on=["outside-shiq"] if name == "allowed" else [])
        assert found.verdict.value == "inconsistent", (name, found.reason, found.evidence.notes)


def test_to_delete_what_is_not_there_does_not_say_it(tmp_path: Path) -> None:
    tbox, store = "DisjointClasses(:B :C) SubClassOf(:A :B)", tmp_path / "kg"
    base = written(
        tmp_path, "a", "ClassAssertion(:B :p) ClassAssertion(:B :q) ClassAssertion(:C :x)"
    )
    index(written(tmp_path, "t", tbox), base, store)
    for individual in ("x", "y"):
        gone = written(tmp_path, "d", f"ClassAssertion(ObjectOneOf(:p :q) :{individual})")
        with open_store(store) as session:
            found = session.check(None, gone, commit=True)
            assert (found.verdict.value, [x.kind for x in found.evidence.leftovers]) == (
                "consistent",
                ["unmatched-deletion"],
            )
            assert (
                session.check(written(tmp_path, "i", "ClassAssertion(:C :y)")).verdict.value
                == "consistent"
            )


def test_what_a_role_leaves_out_of_a_batch_is_kept_and_goes_again(tmp_path: Path) -> None:
    """It was committed by consent, and was nowhere from then on."""
    tbox, store, allow = (
        "DisjointClasses(:B :C) TransitiveObjectProperty(:r)",
        tmp_path / "kg",
        ["non-simple-role"],
    )
    links = "ObjectPropertyAssertion(:r :x :y) ObjectPropertyAssertion(:r :x :z) DifferentIndividuals(:y :z)"
    bound, other = (
        written(tmp_path, n, f"ClassAssertion(ObjectMaxCardinality(1 :r) :{n})") for n in "xy"
    )
    simple = written(tmp_path, "s", "DisjointClasses(:B :C) Declaration(ObjectProperty(:r))")
    harmless = written(tmp_path, "h", "ClassAssertion(:B :z)")
    index(written(tmp_path, "t", tbox), written(tmp_path, "a", links), store)
    with open_store(store) as session:
        assert session.check(bound).verdict.value == "undetermined"
        assert session.check(bound, commit=True, allow=allow).verdict.value == "consistent"
        assert session.check(harmless).without["kinds"] == {"non-simple-role": 1}
        assert session.check(None, other, commit=True).verdict.value == "consistent"
        assert session.check(harmless).without["kinds"] == {"non-simple-role": 1}
    shutil.copytree(store, tmp_path / "copy")
    assert certify_store(tmp_path / "copy", simple).verdict.value == "inconsistent"
    with open_store(store) as session:
        assert session.check(None, bound, commit=True).verdict.value == "consistent"
        assert not session.check(harmless).without
    assert certify_store(store, simple).verdict.value == "consistent"


def test_what_was_allowed_of_the_base_is_not_allowed_of_what_comes_later(tmp_path: Path) -> None:
    """A batch is asked about; that an axiom before it was allowed does not hide what contradicts
    the batch from then on.
    """
    tbox, base, _, _ = CONTRADICTIONS["nominals"]
    tbox += " DisjointClasses(:D :E)"
    store, allow = tmp_path / "kg", ["outside-shiq"]
    index(
        written(tmp_path, "t", tbox),
        written(tmp_path, "a", f"{base} ClassAssertion(:D :p) ClassAssertion(:D :q)"),
        store,
        allow=allow,
    )
    against = written(tmp_path, "k", "ClassAssertion(:E :x)")
    with open_store(store) as session:
        one_of = written(tmp_path, "j", "ClassAssertion(ObjectOneOf(:p :q) :x)")
        assert session.check(against).verdict.value == "consistent"
        assert session.check(one_of, commit=True).committed == 2
        assert not session._store.left_out_counts[0]
    for _ in range(2):
        with open_store(store) as session:
            found = session.check(against)
            assert found.verdict.value == "inconsistent", found.reason
            assert session.check(against, allow=allow).verdict.value == "consistent"
            assert session.check(against, one_of).verdict.value == "consistent"
            assert session.check(
                written(tmp_path, "m", "ClassAssertion(:D :x)"), commit=True
            ).committed
            assert session.check(
                None, written(tmp_path, "m", "ClassAssertion(:D :x)"), commit=True
            ).committed
        assert certify_store(store).verdict.value == "consistent"


@pytest.mark.parametrize(
    ("properties", "verdict"),
    [
        ("(owl:topObjectProperty) (:id)", "inconsistent"),
        ("(ObjectInverseOf(owl:topObjectProperty)) (owl:topDataProperty :id)", "inconsistent"),
        ("(owl:bottomObjectProperty) (:id)", "consistent"),
        ("() (owl:bottomDataProperty :id)", "consistent"),
        ("(owl:topObjectProperty) ()", "undetermined"),
        ("() (owl:topDataProperty)", "undetermined"),
    ],
)
def test_all_share_the_values_of_a_top_property(
    tmp_path: Path, properties: str, verdict: str
) -> None:
    """HermiT does not see them; a key of nothing else makes all named members of its class one."""
    tbox = f"Declaration(DataProperty(:id)) DisjointClasses(:C :D) HasKey(:C {properties})"
    base = 'ClassAssertion(:C :a) DataPropertyAssertion(:id :a "1") DataPropertyAssertion(:id :b "1") DifferentIndividuals(:a :b)'
    assert checked(tmp_path, tbox, base, "ClassAssertion(:C :b)").verdict.value == verdict


def test_a_key_speaks_of_named_individuals_only(tmp_path: Path) -> None:
    tbox = "Declaration(DataProperty(:id)) HasKey(:C () (:id)) DisjointClasses(:D :E) SubClassOf(:D :C) SubClassOf(:E :C)"
    base = 'ClassAssertion(:D :a) DataPropertyAssertion(:id :a "1")'
    batch = 'ClassAssertion(:E {0}) DataPropertyAssertion(:id {0} "1")'
    assert checked(tmp_path, tbox, base, batch.format("_:b")).verdict.value == "consistent"
    assert checked(tmp_path, tbox, base, batch.format(":b")).verdict.value == "inconsistent"


#: Beside a nominal in reach of the data: axioms, opaque values, and the verdict (as `own` gives it
#: without the nominal).
OPAQUE = [
    ("", '"215"^^:unit', "consistent"),
    (
        "FunctionalDataProperty(:w) SubClassOf(:C DataSomeValuesFrom(:w :unit)) SubDataPropertyOf(:w :v)",
        '"215"^^:unit',
        "consistent",
    ),
    ("DataPropertyDomain(:w :C)", '"215"^^:unit "216"^^:unit', "consistent"),
    ("FunctionalDataProperty(:w)", '"215"^^:unit "216"^^:unit', "undetermined"),
    ("SubDataPropertyOf(:w :v) DataPropertyRange(:v xsd:integer)", '"215"^^:unit', "undetermined"),
    (
        "SubClassOf(DataSomeValuesFrom(:v :unit) :D) SubDataPropertyOf(:w :v)",
        '"215"^^:other',
        "undetermined",
    ),
    ("SubClassOf(:C DataMinCardinality(2 :w :unit))", '"215"^^:unit', "undetermined"),
    ("", '"215"^^:unit "1"^^xsd:integer', "undetermined"),
    ("SubClassOf(:C DataMaxCardinality(0 :w))", '"215"^^:unit', "inconsistent"),
    ("HasKey(:C () (:w))", '"215"^^:unit', "undetermined"),
]


@pytest.mark.parametrize(("axioms", "values", "verdict"), OPAQUE)
def test_opaque_values_under_their_own_range_are_in_nobodys_way(
    tmp_path: Path, axioms: str, values: str, verdict: str
) -> None:
    tbox = (
        "SubClassOf(:C ObjectOneOf(:p :q)) DataPropertyRange(:w :unit) Declaration(Datatype(:unit))"
    )
    said = " ".join(f"DataPropertyAssertion(:w :a {value})" for value in values.split())
    found = certify(
        [
            written(tmp_path, "t", f"{tbox} {axioms}"),
            written(tmp_path, "a", f"ClassAssertion(:C :a) {said}"),
        ]
    )
    assert found.verdict.value == verdict, found.reason
    assert ("--allow unknown-datatype" in found.reason) == (verdict == "undetermined")


def test_where_roles_break_the_rules_it_is_undetermined_and_named(tmp_path: Path) -> None:
    tbox = "SubObjectPropertyOf(ObjectPropertyChain(:r :s :r) :r) SubClassOf(:A ObjectAllValuesFrom(:r :B))"
    found = checked(
        tmp_path,
        tbox,
        "ClassAssertion(:A :a)",
        "ObjectPropertyAssertion(:r :a :b) ObjectPropertyAssertion(:s :a :b)",
    )
    assert found.verdict.value == "undetermined"
    assert "not regular" in found.reason
    tbox = "SubObjectPropertyOf(ObjectPropertyChain(:r :r) :s) FunctionalObjectProperty(:s)"
    found = certify(
        [written(tmp_path, "t", tbox), written(tmp_path, "a", "ObjectPropertyAssertion(:r :a :b)")]
    )
    assert found.verdict.value == "undetermined"
    assert "must be simple" in found.reason
