"""Commits: after any number of them a store says what one built anew would say; a crash leaves a
whole snapshot.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest
from killing import run_and_kill
from people import COMPANY, PERSON, SIGNED, TBOX, people
from store_content import different, said

from shiq.abox_ops.index import index as index_columns
from shiq.answers.result import Result
from shiq.answers.verdict import Verdict
from shiq.api import certify_store, index
from shiq.api import open_store as open_session
from shiq.errors import StoreError
from shiq.inputs.reading import QuarantinedAssertion
from shiq.jobs.store import open_store
from shiq.jobs.store.manifest import write_manifest
from shiq.jobs.store.upkeep import commit, compact, prepare, ranges, write_store
from shiq.jobs.text.results import result_text
from shiq.model import (
    THING,
    Assertion,
    Class,
    ClassAssertion,
    ObjectMaxCardinality,
    ObjectProperty,
    ObjectPropertyAssertion,
    ObjectUnionOf,
    SameIndividual,
    SubClassOf,
    TBox,
)
from shiq.model.abox import abox_of
from tests.tools.random_ontologies.kb import random_kb

ROOT = Path(__file__).resolve().parents[2]


def batches(
    assertions: list[Assertion], dice: random.Random, count: int
) -> list[tuple[list[Assertion], list[Assertion]]]:
    """Insertions and deletions, some of them void or both at once, of parts of ``assertions``."""
    return [
        (
            dice.sample(assertions, dice.randint(0, 3)),
            dice.sample(assertions, dice.randint(0, 2) if dice.random() < 0.6 else 0),
        )
        for _ in range(count)
    ]


def run(seed: int, path: Path, count: int, width: int | None = None) -> tuple[int, int]:
    """Random commits on one random knowledge base; how many there were, and how many did not
    build anew.
    """
    kb = random_kb(seed)
    dice = random.Random(seed)
    pool = sorted({*kb.abox, *kb.insertions}, key=repr)
    now = set(dice.sample(pool, len(pool) // 2))
    prepared = prepare(kb.tbox, abox_of(sorted(now, key=repr)), width)
    store = write_store(path / "kg", kb.tbox, abox_of(sorted(now, key=repr)), prepared=prepared)
    done = small = 0
    for insertions, deletions in batches(pool, dice, count):
        after = (now - set(deletions)) | set(insertions)
        files = sum(len(t.files) for t in store.manifest.tables.values())
        try:
            store = commit(
                path / "kg", abox_of(insertions), abox_of(deletions), checked=store.identity
            )
        except AssertionError as error:
            raise AssertionError(f"seed {seed}") from error
        now = after
        done += 1
        small += sum(len(t.files) for t in store.manifest.tables.values()) >= files
        anew = write_store(path / f"anew{done % 2}", kb.tbox, abox_of(sorted(now, key=repr)))
        assert not different(store, anew), (
            f"seed {seed}, commit {done}: {insertions} less {deletions}"
        )
    assert said(compact(path / "kg")) == said(store)
    return done, small


@pytest.mark.parametrize("seed", range(6))  # a thousand commits are slow
def test_a_store_after_commits_equals_one_built_anew(seed: int, tmp_path: Path) -> None:
    assert run(seed, tmp_path, 5)[0] == 5


@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 60))]
)
def test_ranges_take_in_what_commits_left(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ranges of one or two individuals, each written anew at once, or small files joined at once."""
    monkeypatch.setattr(ranges, "_FEW", seed % 4)
    monkeypatch.setattr(ranges, "MOST_SMALL", seed % 3)
    assert run(seed, tmp_path, 6, 1 + seed % 2)[0] == 6


@pytest.mark.slow
def test_a_thousand_commits(tmp_path: Path) -> None:
    counts = [0, 0]
    for seed in range(1000, 1170):
        (tmp_path / str(seed)).mkdir()
        for i, n in enumerate(run(seed, tmp_path / str(seed), 6)):
            counts[i] += n
    assert counts[0] >= 1000
    assert counts[1] >= 500, "most commits add files"


RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"


_CHILD = """
import sys
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from shiq.jobs.store.upkeep import commit
from shiq.jobs.store import open_store
from shiq.jobs.store.manifest import write_manifest
from people import people
from shiq.model.abox import abox_of
store = Path(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
commit(store, abox_of(people(300, 340)), abox_of(people(0, 20)), checked=open_store(store).identity)
"""


@pytest.mark.parametrize("turns", [4, pytest.param(16, marks=pytest.mark.slow)])
def test_a_commit_that_is_killed_leaves_the_old_snapshot_or_the_new_one(
    tmp_path: Path, turns: int
) -> None:
    base = people(0, 300)
    gone, new = set(people(0, 20)), set(people(300, 340))
    old, after = frozenset(base), frozenset((set(base) - gone) | new)
    (tmp_path / "child.py").write_text(_CHILD)
    root = Path(__file__).resolve().parents[2]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(root), str(Path(__file__).parents[1])]),
    }
    dice = random.Random(5)
    seen = set()
    for turn in range(turns):
        path = tmp_path / f"kg{turn}"
        write_store(path, TBOX, abox_of(base))
        command = [sys.executable, str(tmp_path / "child.py"), str(path)]
        run_and_kill(command, environment, dice.random() * 0.4 if turn else None)
        with open_store(path) as store:
            found = frozenset(store.export())
            assert found == (old if store.snapshot == 1 else after)
            seen.add(store.snapshot)
        if store.snapshot == 1:
            assert (
                frozenset(
                    commit(path, abox_of(new), abox_of(gone), checked=store.identity).export()
                )
                == after
            )
    assert 2 in seen


def test_a_store_that_moved_on_refuses(tmp_path: Path) -> None:
    first = write_store(tmp_path / "kg", TBOX, abox_of(people(0, 5))).identity
    commit(tmp_path / "kg", abox_of(people(5, 7)), abox_of([]), checked=first)
    with pytest.raises(StoreError, match="snapshot 2 by now"):
        commit(tmp_path / "kg", abox_of(people(7, 9)), abox_of([]), checked=first)


def test_another_store_at_the_same_place_refuses(tmp_path: Path) -> None:
    first = write_store(tmp_path / "kg", TBOX, abox_of(people(0, 5))).identity
    shutil.rmtree(tmp_path / "kg")
    second = write_store(tmp_path / "kg", TBOX, abox_of(people(0, 6))).identity
    assert first[1] == second[1] == 1
    with pytest.raises(StoreError, match="changed since"):
        commit(tmp_path / "kg", abox_of(people(7, 9)), abox_of([]), checked=first)


def test_an_index_of_other_clauses_is_not_grown_but_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another version of the program may read the TBox in other clauses: then rows of the two
    must not be mixed.
    """
    for seed in (1, 4, 6):
        kb, path = random_kb(seed), tmp_path / str(seed)
        path.mkdir()
        pool = sorted({*kb.abox, *kb.insertions}, key=repr)
        before, batch, gone = set(pool[::2]), pool[1:4], pool[:1]
        store = write_store(path / "kg", kb.tbox, abox_of(sorted(before, key=repr)))
        with monkeypatch.context() as other:
            other.setattr(index_columns, "clauses_hash", lambda clauses: "of another version")
            store = commit(path / "kg", abox_of(batch), abox_of(gone), checked=store.identity)
        after = (before - set(gone)) | set(batch)
        assert said(store) == said(
            write_store(path / "anew", kb.tbox, abox_of(sorted(after, key=repr)))
        )


def test_a_batch_that_changes_nothing_makes_no_snapshot(tmp_path: Path) -> None:
    store = write_store(tmp_path / "kg", TBOX, abox_of(people(0, 5)))
    assert (
        commit(
            tmp_path / "kg", abox_of(people(0, 5)), abox_of(people(8, 9)), checked=store.identity
        ).snapshot
        == 1
    )


@pytest.mark.parametrize("commits", [False, True])
def test_what_a_result_tells_of_a_store_ends_with_its_session(
    commits: bool, tmp_path: Path
) -> None:
    """What was looked at before that stays."""
    index(SIGNED, abox_of(people(0, 5)), tmp_path / "kg", reasoner="own")
    with open_session(tmp_path / "kg") as session:
        seen, unseen = (session.check(abox_of(people(3, 7)), reasoner="own") for _ in range(2))
        kept = [*seen.a_add]
        if commits:
            assert session.check(abox_of(people(3, 7)), commit=True, reasoner="own").committed
    assert kept == [*seen.a_add] and len(unseen.a_add) == len(kept)
    with pytest.raises(StoreError, match="closed"):
        list(unseen.a_add)


def test_a_refused_session_goes_on(tmp_path: Path) -> None:
    index(SIGNED, abox_of(people(0, 5)), tmp_path / "kg", reasoner="own")
    with open_session(tmp_path / "kg") as one, open_session(tmp_path / "kg") as other:

        def meanwhile(_: Result) -> tuple[QuarantinedAssertion, ...]:
            assert one.check(abox_of(people(5, 6)), commit=True, reasoner="own").committed == 2
            return ()

        with pytest.raises(StoreError, match="snapshot 2 by now"):
            other.check(abox_of(people(6, 7)), commit=True, before_commit=meanwhile, reasoner="own")
        again = other.check(abox_of(people(6, 7)), commit=True, reasoner="own")
        assert (again.snapshot, again.committed) == (2, 3)
    with open_store(tmp_path / "kg") as store:
        assert set(store.export()) >= set(people(0, 5)) | set(people(5, 6)) | set(people(6, 7))


_OTHERS_BATCH = """
import sys
from shiq.model.abox import abox_of
from shiq.api import open_store
from shiq.model import Class, ClassAssertion
with open_store("kg") as session:
    batch = abox_of([ClassAssertion(Class(sys.argv[1]), sys.argv[2])])
    assert session.check(batch, commit=True, reasoner="own").committed == int(sys.argv[3])
"""


def by_another_process(path: Path, name: Class, individual: str, snapshot: int) -> None:
    given = [sys.executable, "-c", _OTHERS_BATCH, name.iri, individual, str(snapshot)]
    subprocess.run(given, check=True, cwd=path, env={**os.environ, "PYTHONPATH": str(ROOT)})


def test_an_open_session_sees_what_another_process_has_committed(tmp_path: Path) -> None:
    index(SIGNED, abox_of(people(0, 5)), tmp_path / "kg", reasoner="own")
    company = abox_of([ClassAssertion(COMPANY, "urn:t#x")])
    with open_session(tmp_path / "kg") as session, open_session(tmp_path / "kg", 1) as first:
        before = session.check(company, reasoner="own")
        assert (before.verdict, before.snapshot) == (Verdict.CONSISTENT, 1)
        by_another_process(tmp_path, PERSON, "urn:t#x", 2)
        now = session.check(company, reasoner="own")
        assert (now.verdict, now.snapshot) == (Verdict.INCONSISTENT, 2)
        assert "(snapshot 2)" in result_text(now) and now.to_dict()["snapshot"] == 2
        then = first.check(company, reasoner="own")
        assert (then.verdict, then.snapshot) == (Verdict.CONSISTENT, 1), (
            "opened on a snapshot by its number: it stays there"
        )
        mine = session.check(
            abox_of([ClassAssertion(COMPANY, "urn:t#y")]), commit=True, reasoner="own"
        )
        assert (mine.snapshot, mine.committed) == (2, 3)
        compact(tmp_path / "kg")
        assert session.check(company, reasoner="own").snapshot == 4
    with open_store(tmp_path / "kg") as store:
        assert {ClassAssertion(PERSON, "urn:t#x"), ClassAssertion(COMPANY, "urn:t#y")} <= set(
            store.export()
        )


def test_an_open_session_sees_a_certificate_that_another_process_gave(tmp_path: Path) -> None:
    write_store(tmp_path / "kg", SIGNED, abox_of(people(0, 5)))
    with open_session(tmp_path / "kg") as session:
        assert session.check(abox_of(people(5, 6)), reasoner="own").verdict is Verdict.UNDETERMINED
        certify_store(tmp_path / "kg", reasoner="own")
        assert session.check(abox_of(people(5, 6)), reasoner="own").verdict is Verdict.CONSISTENT


def test_blank_nodes_of_two_batches_are_two(tmp_path: Path) -> None:
    index(SIGNED, abox_of(people(0, 1)), tmp_path / "kg", reasoner="own")
    for number, name in enumerate(("Person", "Company")):
        (tmp_path / "batch.nt").write_text(f"_:x <{RDF_TYPE}> <urn:t#{name}> .\n")
        with open_session(tmp_path / "kg") as session:
            result = session.check(tmp_path / "batch.nt", commit=True, reasoner="own")
        assert (result.verdict, result.committed) == (Verdict.CONSISTENT, number + 2)


def test_a_session_goes_on_with_what_it_committed(tmp_path: Path) -> None:
    index(SIGNED, abox_of(people(0, 5)), tmp_path / "kg", reasoner="own")
    wrong = abox_of([ClassAssertion(COMPANY, "urn:t#x")])
    with open_session(tmp_path / "kg") as session:
        first = session.check(
            abox_of([ClassAssertion(PERSON, "urn:t#x")]), commit=True, reasoner="own"
        )
        assert (first.verdict, first.committed) == (Verdict.CONSISTENT, 2)
        second = session.check(wrong, commit=True, reasoner="own")
        assert (second.verdict, second.committed) == (Verdict.INCONSISTENT, 0)
        third = session.check(
            wrong, abox_of([ClassAssertion(PERSON, "urn:t#x")]), commit=True, reasoner="own"
        )
        assert (third.verdict, third.committed) == (Verdict.CONSISTENT, 3)
    with open_store(tmp_path / "kg") as store:
        assert store.certificate is not None
        assert store.certificate.snapshot == store.snapshot == 3
        assert ClassAssertion(COMPANY, "urn:t#x") in set(store.export())


def test_the_last_mention_of_one_of_a_merge_class_may_go(tmp_path: Path) -> None:
    """Nothing of it is left to be looked for in the class."""
    at_most_two = SubClassOf(
        Class("urn:A"), ObjectMaxCardinality(2, ObjectProperty("urn:r"), Class(THING.iri))
    )
    edges = [
        ObjectPropertyAssertion(ObjectProperty("urn:r"), "urn:a", f"urn:x{i}") for i in (1, 2, 3)
    ]
    index(
        TBox((at_most_two,)),
        abox_of([ClassAssertion(Class("urn:A"), "urn:a"), *edges]),
        tmp_path / "s",
    )
    with open_session(tmp_path / "s") as session:
        for snapshot, edge in enumerate(reversed(edges), 2):
            assert session.check(None, abox_of([edge]), commit=True).committed == snapshot
    anew = write_store(
        tmp_path / "anew", TBox((at_most_two,)), abox_of([ClassAssertion(Class("urn:A"), "urn:a")])
    )
    with open_store(tmp_path / "s") as store:
        assert said(store) == said(anew)


@pytest.mark.parametrize("names", sorted(permutations("abc")))
def test_certified_labels_are_those_of_elements(
    names: tuple[str, str, str], tmp_path: Path
) -> None:
    """A part of what a deletion leaves of an element goes into another one in the same batch."""
    a, b, c = (f"urn:{name}" for name in names)
    one, two, three = (Class(f"urn:{name}") for name in "ABC")
    tbox = TBox((SubClassOf(one, ObjectUnionOf((two, three))),))
    base = [*(ClassAssertion(one, f"urn:{name}") for name in "abc"), SameIndividual(b, c)]
    index(tbox, abox_of(base), tmp_path / "kg")
    with open_session(tmp_path / "kg") as session:
        result = session.check(
            abox_of([SameIndividual(a, c)]), abox_of([SameIndividual(b, c)]), commit=True
        )
    store = open_store(tmp_path / "kg")
    assert result.verdict is Verdict.CONSISTENT and store.is_completed
    elements, certified = (store.table(name).all()["element"] for name in ("elements", "completed"))
    assert set(certified.tolist()) <= set(elements.tolist()) and len(elements) == 2


def test_many_files_become_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "MOST_SMALL", 6)
    store = write_store(tmp_path / "kg", TBOX, abox_of(people(0, 5)))
    for i in range(9):
        one = abox_of([ClassAssertion(PERSON, f"urn:t#q{i}")])
        store = commit(tmp_path / "kg", one, abox_of([]), checked=store.identity)
    assert max(len(t.files) - t.ranges for t in store.manifest.tables.values()) <= 6
    anew = write_store(tmp_path / "anew", TBOX, abox_of(store.export()))
    assert said(store) == said(anew)


def test_numbers_of_what_was_deleted_are_not_given_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The range of the dictionary that lost its last individuals is written anew, and those of
    other tables, which name their rows as removed, are not.
    """
    monkeypatch.setattr(ranges, "_FEW", 1)
    path, here = tmp_path / "kg", people(0, 8)
    store = write_store(path, TBOX, abox_of(here), prepared=prepare(TBOX, abox_of(here), 2))
    given = dict[int, str]()
    for turn in range(8):
        come = people(100 + 10 * turn, 104 + 10 * turn)
        store = commit(path, abox_of(come), abox_of([]), checked=store.identity)
        rows = store.table("individuals").all()
        for node, term in zip(rows["node"].tolist(), rows["term"].to_pylist()):
            assert given.setdefault(node, term) == term
        store = commit(path, abox_of([]), abox_of(come[turn % 3 :]), checked=store.identity)
        assert said(store) == said(write_store(tmp_path / "anew", TBOX, abox_of(store.export())))


def test_reading_what_was_removed_and_a_commit_import_no_pandas(tmp_path: Path) -> None:
    store = write_store(tmp_path / "kg", TBOX, abox_of(people(0, 8)))
    store = commit(tmp_path / "kg", abox_of([]), abox_of(people(0, 2)), checked=store.identity)
    assert any(
        len(next(iter(store.table(name).removed_rows.values()))) for name in store.manifest.tables
    )
    code = (
        "import sys; from pathlib import Path; from shiq.jobs.store import open_store; store = open_store(Path(sys.argv[1]));"
        "[store.table(name).removed_rows for name in store.manifest.tables];"
        "from shiq.jobs.store.upkeep import commit; from shiq.model.abox import abox_of; gone = abox_of([*store.export()][:2]);"
        "assert commit(store.path, abox_of([]), gone, checked=store.identity).snapshot == 3;"
        "assert not {'pandas', 'pyarrow.dataset'} & sys.modules.keys()"
    )
    subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "kg")], check=True, timeout=60, cwd=ROOT
    )


def test_a_store_that_does_not_say_which_numbers_are_next_gives_new_ones(tmp_path: Path) -> None:
    store = write_store(tmp_path / "kg", TBOX, abox_of(people(0, 8)))
    store = commit(tmp_path / "kg", abox_of(people(100, 104)), abox_of([]), checked=store.identity)
    store = commit(tmp_path / "kg", abox_of([]), abox_of(people(100, 104)), checked=store.identity)
    table = store.manifest.tables["individuals"]
    tables = {
        **store.manifest.tables,
        "individuals": replace(table, files=table.files[:1], removed=None),
    }
    facts = {
        name: fact
        for name, fact in store.manifest.facts.items()
        if name not in ("next_node", "next_literal", "next_label")
    }
    before = store.manifest.facts["next_node"]
    write_manifest(tmp_path / "kg", replace(store.manifest, tables=tables, facts=facts))
    store = commit(
        tmp_path / "kg",
        abox_of(people(200, 201)),
        abox_of([]),
        checked=open_store(tmp_path / "kg").identity,
    )
    assert store.nodes_of(["urn:t#p200"]).tolist() == [before]
