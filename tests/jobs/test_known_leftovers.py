"""Leftovers that somebody answers for: out of the way by kind and term, until a day; whatever is
new is seen.
"""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from shiq.answers.verdict import KINDS, Leftover, Verdict
from shiq.api import certify_store, check_insertions, index, open_store
from shiq.errors import InputError, UsageError
from shiq.jobs.leftover_waivers import parse_waivers, read_waivers
from tests.command_line import shiq

TBOX = """
@prefix : <urn:t#> . @prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Cat a owl:Class ; owl:disjointWith :Dog . :Dog a owl:Class . :likes a owl:ObjectProperty .
"""
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
#: Two misspelt properties, one of them twice.
BATCH = "<urn:a> <urn:t#lieks> <urn:b> .\n<urn:b> <urn:t#lieks> <urn:c> .\n<urn:b> <urn:t#loves> <urn:c> .\n"
ONE = {"kind": "undeclared", "term": "urn:t#lieks", "owner": "ann", "expires": "2999-01-31"}
ALL = {
    "kind": "undeclared",
    "pattern": "urn:t#l*",
    "owner": "ann",
    "reason": "ticket 4711",
    "expires": "2999-01-31",
}
ENDED = {**ALL, "expires": "2020-01-31"}


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    texts = {"t.ttl": TBOX, "b.nt": f"<urn:a> {TYPE} <urn:t#Cat> .\n", "i.nt": BATCH}
    for name, entry in (("one", ONE), ("all", ALL), ("ended", ENDED)):
        texts[f"{name}.toml"] = "[[known]]\n" + "".join(
            f"{key} = {value if key == 'expires' else json.dumps(value)}\n"
            for key, value in entry.items()
        )
    found = {name: tmp_path / name for name in texts}
    for name, text in texts.items():
        found[name].write_text(text)
    return found


def check(
    files: dict[str, Path], known: str | None, batch: str = "i.nt"
) -> tuple[Verdict, str, dict[str, object]]:
    path = files[known] if known else None
    result = check_insertions(
        files["t.ttl"], files["b.nt"], files[batch], engine="local", reasoner="own", known=path
    )
    return result.verdict, result.reason, result.to_dict()["evidence"]


def test_what_is_named_stands_in_nobodys_way_and_what_is_new_does(files: dict[str, Path]) -> None:
    assert check(files, None)[0] is Verdict.UNDETERMINED
    verdict, reason, evidence = check(files, "one.toml")
    assert verdict is Verdict.UNDETERMINED
    assert ("1 × undeclared" in reason, "<urn:t#loves>" in reason, "lieks" in reason) == (
        True,
        True,
        False,
    )
    assert evidence["known"] == {"undeclared": 2}
    verdict, reason, evidence = check(files, "all.toml")
    assert (verdict, reason, evidence["known"]) == (Verdict.CONSISTENT, "", {"undeclared": 3})
    assert {x["known"] for x in evidence["leftovers"]} == {"ann until 2999-01-31"}  # type: ignore[attr-defined]


def test_an_entry_that_has_ended_is_no_help_and_says_whose_it_was(files: dict[str, Path]) -> None:
    verdict, reason, evidence = check(files, "ended.toml")
    assert (verdict, "waived by ann until 2020-01-31, which has passed" in reason) == (
        Verdict.UNDETERMINED,
        True,
    )
    assert "known" not in evidence


def test_it_holds_on_its_last_day() -> None:
    met = [Leftover("undeclared", "the TBox does not know the class <urn:A>")]
    entry = {"kind": "undeclared", "term": "urn:A", "owner": "ann", "expires": date(2030, 1, 31)}
    for day, is_known in ((date(2030, 1, 31), True), (date(2030, 2, 1), False)):
        (marked,) = parse_waivers({"known": [entry]}, day).mark(met)
        assert (bool(marked.known), bool(marked.lapsed)) == (is_known, not is_known)


def test_another_kind_of_the_same_term_is_not_known(files: dict[str, Path]) -> None:
    """The misspelt property is known; that it is in a broken axiom, too, is not."""
    (marked,) = read_waivers(files["all.toml"]).mark(
        [Leftover("malformed", "a literal as value of <urn:t#likes>")]
    )
    assert not marked.known


def test_a_contradiction_is_never_known(files: dict[str, Path], tmp_path: Path) -> None:
    files["worse.nt"] = tmp_path / "worse.nt"
    files["worse.nt"].write_text(f"{BATCH}<urn:a> {TYPE} <urn:t#Dog> .\n")
    assert check(files, "all.toml", "worse.nt")[0] is Verdict.INCONSISTENT


def test_fail_on_goes_before_it(files: dict[str, Path]) -> None:
    options = {"engine": "local", "reasoner": "own", "known": files["all.toml"]}
    result = check_insertions(
        files["t.ttl"], files["b.nt"], files["i.nt"], fail_on=["undeclared"], **options
    )  # type: ignore[arg-type]
    assert result.verdict is Verdict.UNDETERMINED


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"owner": ""}, "lacks owner"),
        ({"owner": " "}, "lacks owner"),
        ({"expires": ""}, "lacks expires"),
        ({"expires": "soon"}, "no day"),
        ({"kind": "undeclard"}, "Did you mean 'undeclared'"),
        ({"term": ""}, "names nothing"),
        ({"pattern": "*"}, "names term and pattern"),
        ({"until": "2030-01-01"}, "'until' is not known"),
        ({"reason": 3}, "texts"),
    ],
)
def test_what_is_not_understood_of_the_file_is_an_error(
    tmp_path: Path, files: dict[str, Path], change: dict, words: str
) -> None:  # type: ignore[type-arg]
    path = tmp_path / "known.json"
    path.write_text(json.dumps({"known": [{**ONE, **change}]}))
    with pytest.raises(UsageError) as raised:
        check_insertions(files["t.ttl"], None, files["i.nt"], known=path)
    assert (words in str(raised.value), "known.json: known 1" in str(raised.value)) == (True, True)


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        read_waivers(tmp_path / "absent.toml")
    for text in ('[[knwon]]\nkind = "undeclared"', "known = 1", "]"):
        (tmp_path / "k.toml").write_text(text)
        with pytest.raises(UsageError):
            read_waivers(tmp_path / "k.toml")


def test_a_store_keeps_its_leftovers_and_asks_at_each_check(
    files: dict[str, Path], tmp_path: Path
) -> None:
    """What is known ends: so no certificate settles it once for all, as it does what is allowed."""
    store, known = tmp_path / "kg", files["all.toml"]
    assert (
        index(files["t.ttl"], files["i.nt"], store, known=known, reasoner="own").verdict
        is Verdict.CONSISTENT
    )
    with open_store(store) as session:
        assert (
            session.check(files["b.nt"], known=known, reasoner="own").verdict is Verdict.CONSISTENT
        )
        assert session.check(files["b.nt"], reasoner="own").verdict is Verdict.UNDETERMINED
        assert (
            session.check(files["b.nt"], known=files["ended.toml"], reasoner="own").verdict
            is Verdict.UNDETERMINED
        )
    assert (
        certify_store(store, known=files["one.toml"], reasoner="own").verdict
        is Verdict.UNDETERMINED
    )
    assert certify_store(store, known=known, reasoner="own").verdict is Verdict.CONSISTENT


def test_the_command_line_tells_what_is_new_and_counts_what_is_known(
    files: dict[str, Path], tmp_path: Path
) -> None:
    asked = (
        "check",
        "-t",
        files["t.ttl"],
        "-a",
        files["b.nt"],
        "-i",
        files["i.nt"],
        "--reasoner",
        "own",
        "-q",
    )
    code, said, _ = shiq(*asked, "--known", files["one.toml"], "--report", tmp_path / "out.md")
    assert (
        code,
        "2 undeclared (known)" in said,
        "1 undeclared," in said or "1 undeclared\n" in said,
    ) == (3, True, True)
    assert ("loves" in said, "lieks" in said) == (True, False)
    report = (tmp_path / "out.md").read_text()
    assert ("loves" in report, "lieks" in report, "known: 2 undeclared" in report) == (
        True,
        False,
        True,
    )
    code, said, _ = shiq(*asked, "--known", files["all.toml"])
    assert (code, "known, and left out of account: 3 undeclared" in said) == (0, True)
    assert shiq(*asked, "--known", files["ended.toml"])[0] == 3
    assert shiq(*asked, "--known", files["t.ttl"])[0] == 2
    assert shiq(*asked, "--known", tmp_path / "absent.toml")[0] == 4


def test_the_gate_knows_it_too(files: dict[str, Path], tmp_path: Path) -> None:
    store = tmp_path / "kg"
    index(files["t.ttl"], files["b.nt"], store, reasoner="own")
    asked = (
        "gate",
        "-s",
        store,
        "-i",
        files["i.nt"],
        "--accepted",
        tmp_path / "good.nt",
        "--reasoner",
        "own",
        "-q",
    )
    assert shiq(*asked, "--known", files["all.toml"])[0] == 0
    assert (tmp_path / "good.nt").read_text() == BATCH
    assert shiq(*asked, "--known", files["all.toml"], "--today", "2999-02-01")[0] == 3


def test_lint_drafts_the_file(files: dict[str, Path], tmp_path: Path) -> None:
    asked = ("lint", files["t.ttl"], "--data", files["i.nt"], "-q")
    drafted = tmp_path / "drafted.toml"
    code, said, _ = shiq(*asked, "--write-known", drafted)
    assert (code, "2 lack an owner" in said) == (3, True)
    code, _, errors = shiq(*asked, "--known", drafted)
    assert (code, "lacks owner" in errors) == (2, True)
    assert shiq(*asked, "--write-known", drafted, "--owner", "bob")[0] == 3
    assert {(x.kind, x.term, x.owner) for x in read_waivers(drafted).entries} == {
        ("undeclared", "urn:t#lieks", "bob"),
        ("undeclared", "urn:t#loves", "bob"),
    }
    assert shiq(*asked, "--known", drafted)[0] == 0
    # What is there already stays, with its owner; what is new comes in.
    more = tmp_path / "more.json"
    shiq(*asked, "--known", files["one.toml"], "--write-known", more, "--owner", "bob")
    assert [(x.term, x.owner) for x in read_waivers(more).entries] == [
        ("urn:t#lieks", "ann"),
        ("urn:t#loves", "bob"),
    ]


@pytest.mark.parametrize(
    ("leftover", "term"),
    [
        (Leftover("missing-import", "<urn:core> is imported, but not read"), "urn:core"),
        (
            Leftover(
                "outside-shiq", "ObjectOneOf is outside SHIQ(D)", text="SubClassOf(<urn:A> X)"
            ),
            "SubClassOf(<urn:A> X)",
        ),
        (Leftover("malformed", "no triple", "d.nt", 3, "a b"), "a b"),
        (Leftover("empty-tbox", "the TBox has no axioms", "t.owl"), "t.owl"),
        (Leftover("malformed", "no triple", "d.nt", 3, "a b…"), ""),
        (Leftover("malformed", "2 more lines like those above", "d.nt", count=2), ""),
        (Leftover("undeclared", "2 more like those above", count=2), ""),
        (Leftover("malformed", "Expecting value", "d.jsonld", 7), ""),
    ],
)
def test_what_a_leftover_is_about(leftover: Leftover, term: str) -> None:
    assert (leftover.term, leftover.kind in KINDS) == (term, True)


def test_what_is_not_told_as_a_whole_is_known_by_no_term(
    files: dict[str, Path], tmp_path: Path
) -> None:
    """Of many broken lines the last are only counted, and a long one is shortened: others may be
    so as well.
    """
    drafted = tmp_path / "drafted.toml"
    asked = (
        "lint",
        files["t.ttl"],
        "--data",
        files["i.nt"],
        "-q",
        "--write-known",
        drafted,
        "--owner",
        "ann",
    )

    def verdict() -> Verdict:
        settings = {"engine": "local", "reasoner": "own", "known": drafted}
        return check_insertions(files["t.ttl"], files["b.nt"], files["i.nt"], **settings).verdict  # type: ignore[arg-type]

    many = [f"<urn:x{i}> oops\n" for i in range(1002)]
    long = "<urn:x> oops " * 30
    for first, second in (
        (many, [*many[:1000], "seen never\n", "<urn:a> before\n"]),
        ([f"{long}1\n"], [f"{long}2\n"]),
    ):
        files["i.nt"].write_text("".join(first))
        assert "1 not drafted" in shiq(*asked).stderr + shiq(*asked).stdout
        files["i.nt"].write_text("".join(second))
        assert verdict() is Verdict.UNDETERMINED
    for pattern, expected in (
        ("<urn:x> oops*", Verdict.CONSISTENT),
        ("<urn:y> oops*", Verdict.UNDETERMINED),
    ):
        known = drafted.with_suffix(".json")
        known.write_text(
            json.dumps(
                {
                    "known": [
                        {
                            **{k: v for k, v in ONE.items() if k != "term"},
                            "kind": "malformed",
                            "pattern": pattern,
                        }
                    ]
                }
            )
        )
        found = check_insertions(
            files["t.ttl"],
            files["b.nt"],
            files["i.nt"],
            engine="local",
            reasoner="own",
            known=known,
        )
        assert found.verdict is expected
