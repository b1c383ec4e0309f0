"""Time travel: what a store keeps behind its present snapshot, what can be done with it, and
what ends it.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from command_line import shiq
from store_content import said

from shiq.answers.verdict import Verdict
from shiq.api import index
from shiq.api import open_store as open_session
from shiq.errors import StoreError
from shiq.jobs.store import open_store
from shiq.jobs.store.manifest import SNAPSHOTS, kept_manifests, read_manifest
from shiq.jobs.store.read import status
from shiq.jobs.store.upkeep import commit, compact, ranges, stored_abox, write_store
from shiq.model import Assertion, Class, ClassAssertion, DisjointClasses, Signature, TBox
from shiq.model.abox import abox_of
from tests.tools.random_ontologies.kb import random_kb

CAT, DOG = Class("urn:t#Cat"), Class("urn:t#Dog")
TBOX = TBox((DisjointClasses((CAT, DOG)),), Signature(frozenset((CAT.iri, DOG.iri))))
NOTHING = abox_of([])


def numbers(path: Path) -> list[int]:
    return [manifest.snapshot for manifest in kept_manifests(path, read_manifest(path))]


@pytest.mark.parametrize("seed", range(8))
def test_each_snapshot_goes_on_saying_what_it_said(seed: int, tmp_path: Path) -> None:
    """Insertions and deletions; some batches bring clauses of their own, so that the store is
    built anew.
    """
    kb = random_kb(seed)
    dice = random.Random(seed)
    pool = sorted({*kb.abox, *kb.insertions}, key=repr)
    store = write_store(tmp_path / "kg", kb.tbox, abox_of(dice.sample(pool, len(pool) // 2)))
    at_the_time = {store.snapshot: said(store)}
    for _ in range(6):
        insertions, deletions = (
            dice.sample(pool, dice.randint(0, 3)),
            dice.sample(pool, dice.randint(0, 3)),
        )
        store = commit(
            tmp_path / "kg", abox_of(insertions), abox_of(deletions), checked=store.identity
        )
        at_the_time[store.snapshot] = said(store)
    assert numbers(tmp_path / "kg") == sorted(at_the_time, reverse=True)
    for number, then in at_the_time.items():
        with open_store(tmp_path / "kg", number) as past:
            assert past.snapshot == number
            assert said(past) == then, f"seed {seed}, snapshot {number}"
            columns = stored_abox(past)
            assert set(columns) == set(past.export()), f"seed {seed}, snapshot {number}"
            assert len(columns) == len(past)
            assert len(set(columns.literals)) == len(columns.literals)


def test_a_check_against_an_older_snapshot(tmp_path: Path) -> None:
    index(TBOX, abox_of([ClassAssertion(CAT, "urn:t#tom")]), tmp_path / "kg", reasoner="own")
    dog = abox_of([ClassAssertion(DOG, "urn:t#tom")])
    with open_session(tmp_path / "kg") as session:
        gone = session.check(
            NOTHING, abox_of([ClassAssertion(CAT, "urn:t#tom")]), commit=True, reasoner="own"
        )
        assert gone.committed == 2
        assert session.check(dog, reasoner="own").verdict is Verdict.CONSISTENT
    with open_session(tmp_path / "kg", 1) as past:
        assert past.check(dog, reasoner="own").verdict is Verdict.INCONSISTENT
        with pytest.raises(StoreError, match="present snapshot"):
            past.check(abox_of([ClassAssertion(CAT, "urn:t#kit")]), commit=True, reasoner="own")
        with (
            open_store(tmp_path / "kg", 1) as old,
            pytest.raises(StoreError, match="snapshot 2 by now"),
        ):
            commit(tmp_path / "kg", dog, NOTHING, checked=old.identity)
    assert numbers(tmp_path / "kg") == [2, 1]


def grown(path: Path, count: int) -> None:
    store = write_store(path, TBOX, abox_of([ClassAssertion(CAT, "urn:t#c0")]))
    for i in range(1, count):
        gone: list[Assertion] = [ClassAssertion(CAT, f"urn:t#c{i - 1}")]
        store = commit(
            path,
            abox_of([ClassAssertion(CAT, f"urn:t#c{i}")]),
            abox_of(gone),
            checked=store.identity,
        )


def test_tables_that_become_one_file_leave_older_snapshots_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "MOST_SMALL", 2)
    grown(tmp_path / "kg", 9)
    assert numbers(tmp_path / "kg") == list(range(9, 0, -1))
    for number in range(1, 10):
        with open_store(tmp_path / "kg", number) as past:
            assert list(past.export()) == [ClassAssertion(CAT, f"urn:t#c{number - 1}")]


def test_compacting_says_where_there_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    for name in ("nope", "other"):
        told = shiq("compact", "--store", name, cwd=tmp_path)
        asked = shiq("status", "--store", name, cwd=tmp_path)
        assert (
            told.returncode == asked.returncode == 4
            and told.stderr == asked.stderr
            and "lock" not in told.stderr
        )
    assert not (tmp_path / "nope").exists() and not [*(tmp_path / "other").iterdir()]


def test_compaction_ends_what_lies_before_it(tmp_path: Path) -> None:
    path = tmp_path / "kg"
    grown(path, 4)
    before = open_store(path)
    assert len(list((path / SNAPSHOTS).iterdir())) == 3
    assert said(compact(path)) == said(before)
    assert numbers(path) == [5]
    assert said(before) == said(open_store(path)), "who opened it before goes on"
    with pytest.raises(StoreError, match="snapshot 3 is not kept; there are: 5") as caught:
        open_store(path, 3)
    assert caught.value.remedy
    store = open_store(path)
    commit(path, abox_of([ClassAssertion(DOG, "urn:t#rex")]), NOTHING, checked=store.identity)
    assert numbers(path) == [6, 5]
    with open_store(path, 5) as past:
        assert said(past) == said(before)


def test_a_store_indexed_anew_begins_anew(tmp_path: Path) -> None:
    grown(tmp_path / "kg", 3)
    write_store(tmp_path / "kg", TBOX, NOTHING)
    assert numbers(tmp_path / "kg") == [4]


def test_a_damaged_past_does_not_touch_the_present(tmp_path: Path) -> None:
    path = tmp_path / "kg"
    grown(path, 3)
    for file in (path / SNAPSHOTS).iterdir():
        file.write_text("{}")
    with pytest.raises(StoreError, match="cannot be read"):
        open_store(path, 1)
    with open_store(path) as store, open_store(path, 3) as same:
        assert said(store) == said(same)
    compact(path)
    assert numbers(path) == [4]


def test_status_lists_the_snapshots(tmp_path: Path) -> None:
    index(TBOX, abox_of([ClassAssertion(CAT, "urn:t#c0")]), tmp_path / "kg", reasoner="own")
    with open_store(tmp_path / "kg") as store:
        commit(
            tmp_path / "kg",
            abox_of([ClassAssertion(CAT, "urn:t#c1")]),
            NOTHING,
            checked=store.identity,
        ).close()
    with open_store(tmp_path / "kg") as store:
        told = [(x["snapshot"], x["assertions"], x["verdict"]) for x in status(store)["snapshots"]]
    assert told == [(2, 2, None), (1, 1, "consistent")]


def test_on_the_command_line(tmp_path: Path) -> None:
    grown(tmp_path / "kg", 12)
    then = shiq("export", "--store", "kg", "--snapshot", 2, cwd=tmp_path)
    assert (then.returncode, "urn:t#c1>" in then.stdout, "urn:t#c11>" in then.stdout) == (
        0,
        True,
        False,
    )
    missing = shiq("export", "--store", "kg", "--snapshot", 77, cwd=tmp_path)
    assert missing.returncode == 4
    assert "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12" in missing.stderr
    told = shiq("status", "--store", "kg", "--json", "out.json", cwd=tmp_path)
    assert "12 snapshots kept" in told.stdout
    assert len(json.loads((tmp_path / "out.json").read_text())["snapshots"]) == 12
    (tmp_path / "i.nt").write_text(
        "<urn:t#c1> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:t#Dog> .\n"
    )
    asked = ("check", "--store", "kg", "--insert", "i.nt", "--reasoner", "own", "--snapshot")
    assert shiq(*asked, 2, cwd=tmp_path).returncode == 1
    assert shiq(*asked, 3, cwd=tmp_path).returncode == 3, "nobody certified these"
    assert shiq(*asked, 77, cwd=tmp_path).returncode == 4
    assert shiq(*asked, 2, "--commit", cwd=tmp_path).returncode == 2


_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
_CATS = "Ontology(<urn:o> Declaration(Class(<urn:Cat>)) Declaration(DataProperty(<urn:age>)) SubClassOf(<urn:Cat> <urn:Pet>))"


def _indexed(path: Path, lines: list[str], *allowed: str) -> None:
    (path / "t.ofn").write_text(_CATS)
    (path / "d.nt").write_text("".join(f"{line}\n" for line in lines))
    found = shiq("index", "--tbox", "t.ofn", "--store", "kg", "d.nt", *_allow(*allowed), cwd=path)
    assert found.returncode == 0, found.stdout + found.stderr


def _allow(*kinds: str) -> list[str]:
    return [*(word for kind in kinds for word in ("--allow", kind)), "--reasoner", "own", "-q"]


def _left_out(path: Path) -> tuple[dict[str, int], list[str]]:
    """How many by kind, as `status` counts them, and the lines that `export --aside` prints
    below its comments.
    """
    assert shiq("status", "--store", "kg", "--json", "out.json", cwd=path).returncode == 0
    found = json.loads((path / "out.json").read_text())
    assert found["left_out_unkept"] == 0
    printed = shiq("export", "--store", "kg", "--aside", cwd=path).stdout.splitlines()
    return found["left_out"], [line for line in printed if not line.startswith("#")]


def test_what_was_left_out_is_counted_and_printed(tmp_path: Path) -> None:
    lines = [f"<urn:i{i}> {_TYPE} <urn:Cat> ." for i in range(5)]
    lines += [f"<urn:broken{i}> {_TYPE} <urn:Cat" for i in range(3)] + [
        f"<urn:a> <urn:hasNmae{i}> <urn:b> ." for i in range(2)
    ]
    _indexed(tmp_path, lines, "malformed", "undeclared")
    (tmp_path / "new.nt").write_text(f"<urn:new> {_TYPE} <urn:Cat> .\n")
    asked = ("check", "--store", "kg", "--insert", "new.nt", "--commit", "--reasoner", "own", "-q")
    assert shiq(*asked, cwd=tmp_path).returncode == 0
    assert shiq("compact", "--store", "kg", cwd=tmp_path).returncode == 0
    told = shiq("status", "--store", "kg", cwd=tmp_path)
    assert (
        "left out when the data was read, and in no check: 3 malformed (`shiq export --store kg --aside` prints them)"
        in told.stdout
    )
    assert "d.nt:6: malformed" in shiq("export", "--store", "kg", "--aside", cwd=tmp_path).stdout
    assert _left_out(tmp_path) == ({"malformed": 3}, lines[5:8])
    kept = shiq("export", "--store", "kg", cwd=tmp_path).stdout
    assert all(line in kept for line in lines[8:]), "what has an undeclared name is in A"


def test_all_that_was_left_out_is_kept_as_it_stands(tmp_path: Path) -> None:
    """However many lines, however long, and each triple of a group of which a verdict shows the
    first.
    """
    broken = [f"<urn:broken{i}>\t{_TYPE} <urn:Cat" for i in range(1500)] + [
        f'<urn:long> <urn:age> "{"9" * 5000}'
    ]
    resources = [f"<urn:i{i}> <urn:age> <urn:a{i}> ." for i in range(1200)]
    _indexed(tmp_path, [f"<urn:i> {_TYPE} <urn:Cat> .", *broken, *resources], "malformed")
    assert _left_out(tmp_path) == ({"malformed": 2701}, [*broken, *resources])
    assert shiq("status", "--store", "kg", "--verify", cwd=tmp_path).returncode == 0
    (file,) = (tmp_path / "kg/documents").glob("left-out-*")
    file.write_bytes(file.read_bytes()[:-9] + b"x" + file.read_bytes()[-8:])
    assert shiq("status", "--store", "kg", "--verify", cwd=tmp_path).returncode == 4
    assert shiq("export", "--store", "kg", "--aside", cwd=tmp_path).returncode == 4


def test_what_batches_left_out_is_kept_too(tmp_path: Path) -> None:
    _indexed(tmp_path, [f"<urn:i> {_TYPE} <urn:Cat> .", "old <"], "malformed")
    (tmp_path / "1.nt").write_text(f"<urn:new> {_TYPE} <urn:Cat> .\nfirst <\n")
    (tmp_path / "2.nt").write_text(
        '<urn:new> <urn:age> "x"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
    )
    (tmp_path / "3.nt").write_text(f"<urn:newer> {_TYPE} <urn:Cat> .\nthird <\n")
    (tmp_path / "known.toml").write_text(
        '[[known]]\nkind = "malformed"\npattern = "*"\nowner = "ann@example.org"\nexpires = 9999-01-01\n'
    )
    commit = ("check", "--store", "kg", "--commit", "--insert")
    assert shiq(*commit, "1.nt", *_allow("malformed"), cwd=tmp_path).returncode == 0
    assert shiq(*commit, "2.nt", *_allow("ill-typed"), cwd=tmp_path).returncode == 0
    assert shiq(*commit, "3.nt", *_allow(), cwd=tmp_path).returncode == 3
    assert shiq(*commit, "3.nt", "--known", "known.toml", *_allow(), cwd=tmp_path).returncode == 0
    (tmp_path / "4.nt").write_text(f"<urn:last> {_TYPE} <urn:Cat> .\n")
    found = shiq(*commit, "4.nt", *_allow(), "-v", cwd=tmp_path)
    assert found.returncode == 0 and "left out of batches that were committed" in found.stdout
    texts = ["old <", "first <", (tmp_path / "2.nt").read_text().strip(), "third <"]
    assert _left_out(tmp_path) == ({"ill-typed": 1, "malformed": 3}, texts)
    assert shiq("compact", "--store", "kg", cwd=tmp_path).returncode == 0
    assert _left_out(tmp_path) == ({"ill-typed": 1, "malformed": 3}, texts)
    (tmp_path / "new.ofn").write_text(_CATS.replace("SubClassOf", "DisjointClasses"))
    certified = shiq("certify", "--store", "kg", "--tbox", "new.ofn", *_allow(), cwd=tmp_path)
    assert certified.returncode == 0, certified.stdout
    assert _left_out(tmp_path) == ({"ill-typed": 1, "malformed": 3}, texts)


def test_what_a_gate_lets_pass_is_kept_by_the_names_of_the_batch(tmp_path: Path) -> None:
    _indexed(tmp_path, [f"<urn:i> {_TYPE} <urn:Cat> ."])
    (tmp_path / "b.nt").write_text(
        f"<urn:new> {_TYPE} <urn:Cat> .\nbroken <\n<urn:new> <urn:age> <urn:b> .\n"
    )
    gate = (
        "gate",
        "--store",
        "kg",
        "--insert",
        "b.nt",
        "--commit",
        "--mode",
        "split",
        "--accepted",
        "a.nt",
        "--quarantine",
        "q.nt",
    )
    assert shiq(*gate, *_allow("malformed"), cwd=tmp_path).returncode == 5
    assert _left_out(tmp_path) == ({"malformed": 1}, ["<urn:new> <urn:age> <urn:b> ."])
    assert "# b.nt:3: malformed" in shiq("export", "--store", "kg", "--aside", cwd=tmp_path).stdout
