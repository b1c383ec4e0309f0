"""Many different individuals in one axiom: as its pairs one by one, in every syntax and engine,
and told by its own line.
"""

from __future__ import annotations

import random
from itertools import combinations
from pathlib import Path

import pytest

import tests.spec  # noqa: F401 -- the engine `spec`
from shiq.api import check_insertions, index, open_store
from shiq.columns.rows import remove_assertions
from shiq.errors import UsageError
from shiq.inputs.reading import Place, Reading
from shiq.jobs import store as keeper
from shiq.jobs.gate.lines import read_statements
from shiq.jobs.store.read import stored_abox
from shiq.model import Class, ClassAssertion, DifferentIndividuals, SameIndividual
from shiq.model.abox import ABox, Pairs, abox_of
from shiq.rdf import read_assertions, read_ontology
from tests.rdf_helpers import LINES_BEFORE, NS, PREFIXES, data, kinds, turtle, write

TBOX = """
:A a owl:Class . :B a owl:Class ; owl:disjointWith :A . :f a owl:ObjectProperty , owl:FunctionalProperty .
:r a owl:ObjectProperty . :A rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :r ; owl:maxCardinality 3 ] .
"""
FUNCTIONAL = "Prefix(:=<urn:t#>) Ontology({})"


def unequal(abox: ABox) -> set[tuple[str, str]]:
    return {(abox.individuals[a], abox.individuals[b]) for a, b in abox.different}


def all_different(members: list[str], word: str = "members") -> str:
    return f"[] a owl:AllDifferent ; owl:{word} ( {' '.join(members)} ) .\n"


def one_by_one(members: list[str]) -> str:
    return "".join(f"{a} owl:differentFrom {b} .\n" for a, b in combinations(members, 2))


@pytest.mark.parametrize("count", [2, 3, 8, 9, 30])
def test_a_list_is_its_pairs_in_every_syntax(tmp_path: Path, count: int) -> None:
    members = [f":i{k}" for k in range(count)]
    pairs = set(combinations([NS + m[1:] for m in members], 2))
    tbox = turtle(tmp_path, TBOX)
    lists = {
        "members": data(tmp_path, all_different(members), tbox),
        "distinct": data(tmp_path, all_different(members, "distinctMembers"), tbox),
        "one by one": data(tmp_path, one_by_one(members), tbox),
    }
    text = FUNCTIONAL.format(f"DifferentIndividuals({' '.join(members)})")
    lists["functional"] = read_assertions([write(tmp_path, "f.ofn", text)], tbox.tbox.signature)
    for name, reading in lists.items():
        assert unequal(reading.abox) == pairs, name
        assert len(reading.abox.different) == len(pairs) == len(reading.abox), name
        assert not reading.leftovers, name
    assert lists["functional"].ledger["assertion"] == 1
    assert lists["members"].ledger["assertion"] == 2 + 2 * count


def test_a_list_that_repeats_a_member_is_a_contradiction_as_its_pairs_are(tmp_path: Path) -> None:
    reading = data(tmp_path, all_different([":a", ":b", ":a"]), turtle(tmp_path, TBOX))
    assert unequal(reading.abox) == {
        (NS + "a", NS + "b"),
        (NS + "a", NS + "a"),
        (NS + "b", NS + "a"),
    }


def test_pairs_that_are_said_again_are_there_once(tmp_path: Path) -> None:
    members = [f":i{k}" for k in range(12)]
    text = all_different(members) + all_different(members[:5]) + one_by_one(members[3:9])
    reading = data(tmp_path, text, turtle(tmp_path, TBOX))
    assert len(reading.abox.different) == len(unequal(reading.abox)) == 66


def places_of(reading: Reading, first: str, second: str) -> set[tuple[str, int]]:
    assertion = DifferentIndividuals(NS + first, NS + second)
    return {
        (place.source.rsplit("/", 1)[-1], place.line)
        for place in reading.places([assertion]).get(assertion, ())
    }


def test_every_line_that_says_a_pair_is_named(tmp_path: Path) -> None:
    text = (
        all_different([":a", ":b", ":c"])
        + ":a owl:differentFrom :b .\n"
        + all_different([":c", ":b"])
    )
    reading = data(tmp_path, text, turtle(tmp_path, TBOX))
    at = LINES_BEFORE + 1
    assert places_of(reading, "a", "b") == {("d.ttl", at), ("d.ttl", at + 1)}
    assert places_of(reading, "b", "c") == {("d.ttl", at)}
    assert places_of(reading, "c", "b") == {("d.ttl", at + 2)}
    assert places_of(reading, "b", "a") == set()


def test_the_line_of_a_long_list_in_functional_syntax_is_named(tmp_path: Path) -> None:
    members = " ".join(f":i{k}" for k in range(20))
    file = write(tmp_path, "f.ofn", FUNCTIONAL.format(f"\n\nDifferentIndividuals({members})"))
    assertion = DifferentIndividuals(NS + "i3", NS + "i17")
    reading = read_assertions([file], turtle(tmp_path, TBOX).tbox.signature)
    assert reading.places([assertion]) == {assertion: (Place(str(file), 3),)}
    assert unequal(read_ontology([file]).abox) == set(
        combinations([NS + f"i{k}" for k in range(20)], 2)
    )


def test_a_longer_list_than_the_limit_is_told_in_functional_syntax_too(tmp_path: Path) -> None:
    members = " ".join(f":i{k}" for k in range(2001))
    reading = read_ontology(
        [write(tmp_path, "f.ofn", FUNCTIONAL.format(f"DifferentIndividuals({members})"))]
    )
    assert kinds(reading) == {"malformed": 1}
    assert not reading.abox


def test_a_functional_document_of_one_long_list_is_not_read_triple_by_triple(
    tmp_path: Path,
) -> None:
    members = " ".join(f":i{k}" for k in range(20))
    with pytest.raises(UsageError, match="is no RDF"):
        read_statements(
            str(write(tmp_path, "f.ofn", FUNCTIONAL.format(f"DifferentIndividuals({members})")))
        )


def test_pairs_are_a_sequence_and_lose_what_is_taken_out() -> None:
    pairs = Pairs.from_pairs([(1, 2), (3, 4), (1, 2), (5, 6)])
    assert list(pairs) == [(1, 2), (3, 4), (5, 6)] == list(pairs[:])
    assert pairs[1] == (3, 4)
    assert list(pairs.difference({(3, 4), (2, 1)})) == [(1, 2), (5, 6)]
    assertions = [
        DifferentIndividuals("a", "b"),
        DifferentIndividuals("b", "c"),
        SameIndividual("x", "y"),
    ]
    abox = abox_of(assertions)
    assert set(remove_assertions(abox, assertions[:1])) == set(assertions[1:])


def random_texts(seed: int) -> tuple[str, str, str, str]:
    """A base that is consistent by itself but for what is to be different: with a list, and pair
    by pair; and a batch so.
    """
    dice = random.Random(seed)
    names = [f":i{k}" for k in range(dice.choice((3, 6, 12)))]
    lines = [f"{name} a {dice.choice((':A', ':B', 'owl:Thing'))} ." for name in names]
    lines += [f"{a} :r {b} ." for a, b in combinations(names, 2) if dice.random() < 0.2]
    lines += [f"{name} :f :v{k} ." for k, name in enumerate(names)]
    batch = [
        f"{dice.choice(names)} {dice.choice((':r', ':r', ':f', 'owl:sameAs'))} {dice.choice(names)} ."
        for _ in range(2)
    ]
    members = dice.sample(names, dice.randint(2, len(names)))
    more = dice.sample(names, 2)
    text, change = "\n".join(lines) + "\n", "\n".join(batch) + "\n"
    return (
        text + all_different(members),
        text + one_by_one(members),
        change + all_different(more),
        change + one_by_one(more),
    )


def test_random_lists_and_their_pairs_are_answered_alike(tmp_path: Path) -> None:
    answers = []
    write(tmp_path, "t.ttl", PREFIXES + TBOX)
    for seed in range(16):
        listed, paired, batch, same_batch = (
            write(tmp_path, f"{name}{seed}.ttl", PREFIXES + text)
            for name, text in zip("lpbs", random_texts(seed))
        )
        found = set()
        for abox, insertions in ((listed, batch), (paired, same_batch)):
            for engine in ("spec", "local"):
                result = check_insertions(
                    tmp_path / "t.ttl", abox, insertions, engine=engine, reasoner="own"
                )
                kept = frozenset(map(repr, result.a_add))
                found.add(
                    (result.verdict, kept, result.statistics.assertions, len(result.conflicts))
                )
        assert len(found) == 1, (seed, found)
        answers.append(next(iter(found))[0].value)
    assert {"consistent", "inconsistent"} <= set(answers)


def test_a_pair_taken_out_of_a_stored_list_is_gone_and_the_others_stay(tmp_path: Path) -> None:
    members = [f":i{k}" for k in range(10)]
    tbox, abox = (
        write(tmp_path, "t.ttl", PREFIXES + TBOX),
        write(tmp_path, "a.ttl", PREFIXES + all_different(members)),
    )
    index(tbox, abox, store=tmp_path / "kg")
    same = abox_of([SameIndividual(NS + "i2", NS + "i5")])
    gone = abox_of([DifferentIndividuals(NS + "i2", NS + "i5")])
    with open_store(tmp_path / "kg") as session:
        assert session.check(same).verdict.value == "inconsistent"
        assert session.check(same, gone).verdict.value == "consistent"
        assert (
            session.check(abox_of([SameIndividual(NS + "i2", NS + "i6")]), gone).verdict.value
            == "inconsistent"
        )
        assert session.check(None, gone, commit=True).committed
    with keeper.open_store(tmp_path / "kg") as store:
        left = set(combinations([NS + m[1:] for m in members], 2)) - {(NS + "i2", NS + "i5")}
        assert unequal(stored_abox(store)) == left
    with open_store(tmp_path / "kg") as session:
        assert session.check(None, abox, commit=True).committed
        assert (
            session.check(
                abox_of([ClassAssertion(Class(NS + "A"), NS + "i1"), *same])
            ).verdict.value
            == "consistent"
        )
    with keeper.open_store(tmp_path / "kg") as store:
        assert not stored_abox(store).different
