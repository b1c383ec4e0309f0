"""What a split takes: whole assertions, as few lines as was asked for, and nothing of the rest."""

from __future__ import annotations

import errno
import itertools
import os
import random
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from test_gate import BASE, PREFIX, TBOX, TYPE, a, run, t
from time_limits import ring_at_call

from shiq import check_insertions
from shiq.api import certify, open_store
from shiq.errors import OperationalError
from shiq.jobs.checking import session as sessions
from shiq.jobs.gate import GateAnswer, OutputFiles, gate, write_outputs
from shiq.jobs.hitting_sets import smallest_hitting_set
from shiq.jobs.text.gates import gate_text

OWL = "<http://www.w3.org/2002/07/owl#"
RDF = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#"
GOOD = [a("ann", "Cat"), t("ann", "likes", "tom")]


def owl(name: str) -> str:
    return f"{OWL}{name}>"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gate")
    (folder / "t.ofn").write_text(TBOX)
    (folder / "a.nt").write_text("\n".join([*BASE, t("bob", "likes", "tom")]) + "\n")
    run(
        "index",
        "--tbox",
        folder / "t.ofn",
        "--store",
        folder / "kg",
        folder / "a.nt",
        "--reasoner",
        "own",
        "-q",
    )
    return folder / "kg"


def split(
    store: Path, folder: Path, data: Sequence[str] | bytes, name: str = "batch.nt", **settings: Any
) -> GateAnswer:
    file = folder / name
    file.write_bytes(
        data if isinstance(data, bytes) else "".join(f"{line}\n" for line in data).encode()
    )
    with open_store(store) as session:
        return gate(session, [str(file)], mode="split", **{"reasoner": "own", **settings})


def texts(gated: GateAnswer) -> tuple[list[str], list[str]]:
    return [x.text for x in gated.accepted], [x.line.text for x in gated.set_aside]


def bytes_of(gated: GateAnswer) -> tuple[bytes, bytes]:
    return b"".join(x.raw for x in gated.accepted), b"".join(x.line.raw for x in gated.set_aside)


def is_consistent(store: Path, gated: GateAnswer, folder: Path) -> bool:
    """Whether what was accepted is consistent with the base, from scratch."""
    files = [store.parent / "a.nt", folder / f"good{Path(gated.files[0]).suffix}"]
    files[1].write_bytes(bytes_of(gated)[0])
    return certify(store.parent / "t.ofn", files, reasoner="own").verdict.value == "consistent"


NEGATIVE = [
    t("_:n", TYPE, owl("NegativePropertyAssertion")),
    t("_:n", owl("sourceIndividual"), "bob"),
    t("_:n", owl("assertionProperty"), "likes"),
    t("_:n", owl("targetIndividual"), "tom"),
]
NAMED_NEGATIVE = [line.replace("_:n", "<urn:n>") for line in NEGATIVE]
COMPLEX = [
    a("rex", "_:c"),
    t("_:c", TYPE, owl("Class")),
    t("_:c", owl("intersectionOf"), "_:l"),
    t("_:l", f"{RDF}first>", "Cat"),
    t("_:l", f"{RDF}rest>", "_:m"),
    t("_:m", f"{RDF}first>", "Cat"),
    t("_:m", f"{RDF}rest>", f"{RDF}nil>"),
]
DIFFERENT = [
    t("_:d", TYPE, owl("AllDifferent")),
    t("_:d", owl("distinctMembers"), "_:l"),
    t("_:l", f"{RDF}first>", "tom"),
    t("_:l", f"{RDF}rest>", "_:m"),
    t("_:m", f"{RDF}first>", "tim"),
    t("_:m", f"{RDF}rest>", f"{RDF}nil>"),
    t("tom", owl("sameAs"), "tim"),
]
REIFIED = [
    t("_:x", TYPE, owl("Axiom")),
    t("_:x", owl("annotatedSource"), "rex"),
    t("_:x", owl("annotatedProperty"), TYPE),
    t("_:x", owl("annotatedTarget"), "Cat"),
    t("_:x", "<http://www.w3.org/2000/01/rdf-schema#comment>", '"sure?"'),
]
#: `rex` is a dog, and neither a tom nor an ann that is not one: rewritten when it is read, to rex =
#: tom.
NOMINAL = [
    a("rex", "_:o"),
    t("_:o", TYPE, owl("Class")),
    t("_:o", owl("oneOf"), "_:l"),
    t("_:l", f"{RDF}first>", "tom"),
    t("_:l", f"{RDF}rest>", f"{RDF}nil>"),
]


@pytest.mark.parametrize(
    "culprits",
    [NEGATIVE, NAMED_NEGATIVE, COMPLEX, DIFFERENT, REIFIED, [a("rex", "Cat"), *REIFIED], NOMINAL],
    ids=[
        "negative",
        "named-negative",
        "complex",
        "all-different",
        "reified",
        "reified-and-plain",
        "nominal",
    ],
)
@pytest.mark.parametrize("aside", ["all", "least"])
def test_all_lines_of_an_assertion_go(
    store: Path, tmp_path: Path, culprits: list[str], aside: str
) -> None:
    lines = [*culprits, *GOOD]
    random.Random(len(culprits)).shuffle(lines)
    gated = split(store, tmp_path, lines, aside=aside)
    good, bad = texts(gated)
    least = (
        {frozenset(culprits), frozenset(culprits[:-1]), frozenset(culprits[-1:])}
        if culprits is DIFFERENT
        else set()
    )
    assert gated.exit_code == 5 and {*good} >= {*GOOD}, gated.reason
    assert frozenset(bad) in (least if aside == "least" and least else {frozenset(culprits)})
    assert is_consistent(store, gated, tmp_path)
    assert {x.kind for x in gated.set_aside} == {"conflict"}


def test_a_shared_structure_keeps_nothing_half(store: Path, tmp_path: Path) -> None:
    """Both are about the same class expression, and only one of them contradicts."""
    shared = [*COMPLEX, a("ann", "_:c")]
    gated = split(store, tmp_path, [*GOOD, *shared])
    assert texts(gated) == (GOOD, shared)


def test_nodes_of_two_files_are_not_one(store: Path, tmp_path: Path) -> None:
    harmless = [line.replace(f"<{PREFIX}bob>", f"<{PREFIX}joe>") for line in NEGATIVE]
    for name, lines in (("one.nt", NEGATIVE), ("two.nt", harmless)):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    with open_store(store) as session:
        gated = gate(
            session,
            [str(tmp_path / "one.nt"), str(tmp_path / "two.nt")],
            mode="split",
            reasoner="own",
        )
    assert texts(gated) == (harmless, NEGATIVE)


def test_a_carriage_return_ends_a_line(store: Path, tmp_path: Path) -> None:
    bad, odd = a("rex", "Cat"), "<urn:a> nothing"
    data = (
        "\r".join([GOOD[0], bad, bad, f"# {bad}", odd, GOOD[1]]).encode()
        + f"\r\n{bad}\r\r\n{GOOD[0]}".encode()
    )
    gated = split(store, tmp_path, data)
    good, aside = bytes_of(gated)
    assert (gated.exit_code, aside.split()) == (5, f"{bad} {bad} {odd} {bad}".encode().split())
    assert Counter(good + aside) == Counter(data) and len(good) + len(aside) == len(data)
    assert is_consistent(store, gated, tmp_path)


def test_a_file_of_carriage_returns_alone(store: Path, tmp_path: Path) -> None:
    odd = t("ann", "lieks", "tom")
    gated = split(store, tmp_path, "\r".join([GOOD[0], *NEGATIVE, odd, GOOD[1]]).encode())
    assert texts(gated) == (GOOD, [*NEGATIVE, odd])
    assert [x.line.number for x in gated.set_aside] == [2, 3, 4, 5, 6]


@pytest.mark.parametrize("name", ["batch.ttl", "batch.trig"])
def test_structures_in_documents_come_out_whole(store: Path, tmp_path: Path, name: str) -> None:
    said = "[] a owl:NegativePropertyAssertion ; owl:sourceIndividual :bob ; owl:assertionProperty :likes ; owl:targetIndividual"
    text = f"@prefix : <{PREFIX}> . @prefix owl: {OWL}> . :ann a :Cat . {said} :tom . {said} :ann ."
    gated = split(store, tmp_path, text.encode(), name)
    good, bad = texts(gated)
    assert len(bad) == 4 and f"<{PREFIX}tom>" in "".join(bad) and len(good) == 5


def test_lines_of_documents_are_those_of_the_file(store: Path, tmp_path: Path) -> None:
    text = f"# tonight\n@prefix : <{PREFIX}> .\n\n:ann a :Cat .\n\n:rex a :Cat .\n"
    gated = split(store, tmp_path, text.encode(), "batch.ttl")
    file = tmp_path / "batch.ttl"
    assert [x.line.position for x in gated.set_aside] == [6]
    assert f" at {file}:6\n" in gate_text(gated, verbose=True)


def test_places_are_named_at_the_terminal(store: Path, tmp_path: Path) -> None:
    bad = a("rex", "Cat")
    gated = split(store, tmp_path, [GOOD[0], bad, "", bad, *NEGATIVE])
    file = tmp_path / "batch.nt"
    told = gate_text(gated, verbose=True)
    assert f"{bad}\n             at {file}:2, {file}:4\n" in told
    assert told.count(f" at {file}:5\n") == 1
    with_axiom = check_insertions(
        store.parent / "t.ofn", store.parent / "a.nt", file, reasoner="own"
    )
    from shiq.jobs.text.results import result_text

    assert f"{bad}\n             at {file}:2, {file}:4\n" in result_text(with_axiom, verbose=True)


@pytest.mark.parametrize("full", ["good.nt", "bad.nt", "bad.nt.why.json"])
def test_a_full_disk_is_told_by_name(
    store: Path, tmp_path: Path, full: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gated = split(store, tmp_path, [a("rex", "Cat"), *GOOD])
    put = os.replace

    def replace(source: str, target: Path) -> None:
        if Path(target).name == full:
            raise OSError(errno.ENOSPC, "No space left on device")
        put(source, target)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(OperationalError) as raised:
        write_outputs(gated, OutputFiles(tmp_path / "good.nt", tmp_path / "bad.nt"))
    assert str(raised.value).startswith(
        f"{tmp_path / full}: cannot be written (No space left on device)"
    )
    assert not (tmp_path / "good.nt").exists()


def test_what_a_check_reads_needs_no_room(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "b.nt").write_text(f"no triple\n{a('new', 'Cat')}\n")
    for name in ("write_bytes", "write_text"):
        monkeypatch.setattr(Path, name, write)
    monkeypatch.setattr(tempfile, "mkdtemp", write)
    with open_store(store) as session:
        gated = gate(session, [str(tmp_path / "b.nt")], mode="split")
    assert gated.decision == "split" and [x.line.number for x in gated.set_aside] == [1]


# --- what is not understood, or not decided -------------------------------------------------------


def reasons(gated: GateAnswer) -> dict[str, str]:
    return {x.line.text: x.kind for x in gated.set_aside}


NOT_UNDERSTOOD = {
    t("ann", "lieks", "tom"): "undeclared",
    t("bob", "lieks", "tom"): "undeclared",
    a("ann", "Catt"): "undeclared",
    t("ann", "likes", '"tom"'): "malformed",
    t("ann", "age", "tom"): "malformed",
    t("ann", owl("sameas"), "tom"): "unknown-vocabulary",
    t("ann", "<http://www.w3.org/1999/02/22-rdf-syntax-ns#typ>", "Cat"): "unknown-vocabulary",
    t("Cat", "<http://www.w3.org/2000/01/rdf-schema#subClassOf>", "Dog"): "tbox-axiom",
    t("_:half", owl("sourceIndividual"), "ann"): "malformed",
    t("_:open", f"{RDF}first>", "ann"): "unattached",
    "nothing": "malformed",
}


@pytest.mark.parametrize("aside", ["all", "least"])
def test_what_is_not_understood_is_set_aside(store: Path, tmp_path: Path, aside: str) -> None:
    """Each line of it, with its kind; what contradicts only with such a line stays in."""
    lines = [*NOT_UNDERSTOOD, *GOOD, a("rex", "Cat")]
    random.Random(1).shuffle(lines)
    gated = split(store, tmp_path, lines, aside=aside)
    assert reasons(gated) == {**NOT_UNDERSTOOD, a("rex", "Cat"): "conflict"}
    assert Counter(texts(gated)[0]) == Counter(GOOD) and is_consistent(store, gated, tmp_path)
    assert (gated.exit_code, gated.verdict.value, gated.result.verdict.value) == (
        5,
        "inconsistent",
        "consistent",
    )
    told = gate_text(gated, verbose=True)
    assert (
        f"does not know the property <{PREFIX}lieks> (write {t('ann', 'likes', 'tom')} instead)"
        in told
    )


def test_more_than_is_shown_is_set_aside(store: Path, tmp_path: Path) -> None:
    odd = [t(f"x{i}", f"p{i % 1500}", "tom") for i in range(3000)]
    gated = split(store, tmp_path, [*odd, *GOOD])
    assert (len(gated.set_aside), texts(gated)[0], gated.rounds) == (3000, GOOD, 1)


def test_what_lies_outside_is_set_aside_where_it_stays_open(store: Path, tmp_path: Path) -> None:
    """Nobody is asked about what is not: the lines of that assertion go, and no other."""
    self_ = [
        a("ann", "_:c"),
        t("_:c", TYPE, owl("Restriction")),
        t("_:c", owl("onProperty"), "likes"),
        t("_:c", owl("someValuesFrom"), "_:r"),
        t("_:r", TYPE, owl("Restriction")),
        t("_:r", owl("onProperty"), "likes"),
        t("_:r", owl("hasSelf"), '"true"^^<http://www.w3.org/2001/XMLSchema#boolean>'),
    ]
    gated = split(store, tmp_path, [*self_, *GOOD], outside="undetermined")
    assert texts(gated) == (GOOD, self_) and {x.kind for x in gated.set_aside} == {"outside-shiq"}


def test_what_somebody_answers_for_is_let_in(store: Path, tmp_path: Path) -> None:
    lines = [t("ann", "lieks", "tom"), *GOOD]
    assert split(store, tmp_path, lines, allow=["undeclared"]).exit_code == 0


def test_what_is_wrong_with_deletions_refuses(store: Path, tmp_path: Path) -> None:
    (tmp_path / "d.nt").write_text(t("ann", "lieks", "tom") + "\n")
    (tmp_path / "b.nt").write_text("\n".join(GOOD))
    with open_store(store) as session:
        gated = gate(
            session,
            [str(tmp_path / "b.nt")],
            [str(tmp_path / "d.nt")],
            mode="split",
            reasoner="own",
        )
    assert (gated.exit_code, gated.decision) == (3, "refused") and "lieks" in gated.reason


UNITS_TBOX = f"""Prefix(:=<{PREFIX}>)
Ontology(
Declaration(Class(:Cat)) Declaration(Class(:Dog)) Declaration(ObjectProperty(:likes)) Declaration(DataProperty(:lasts))
Declaration(DataProperty(:weighs)) Declaration(DataProperty(:way)) Declaration(DataProperty(:size))
Declaration(Datatype(:second)) Declaration(Datatype(:hour))
DisjointClasses(:Cat :Dog) ObjectPropertyRange(:likes :Cat) DataPropertyRange(:lasts :second)
DataPropertyRange(:weighs <http://www.w3.org/2001/XMLSchema#float>)
DataPropertyRange(:way DataOneOf("LEFT-TO-RIGHT" "RIGHT-TO-LEFT" "REVERSIBLE"))
DataPropertyRange(:size DataOneOf("small" "large"))
)
"""


@pytest.fixture(scope="module")
def units(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("units")
    (folder / "t.ofn").write_text(UNITS_TBOX)
    (folder / "a.nt").write_text("\n".join(BASE[:2]) + "\n")
    run(
        "index",
        "--tbox",
        folder / "t.ofn",
        "--store",
        folder / "kg",
        folder / "a.nt",
        "--reasoner",
        "own",
        "-q",
    )
    return folder / "kg"


def test_what_is_not_decided_is_set_aside(units: Path, tmp_path: Path) -> None:
    """A value of another unknown datatype than its range, and not what else is said of the same
    individual.
    """
    hour = t("ann", "lasts", f'"2"^^<{PREFIX}hour>')
    for lines in ([hour, *GOOD], [*GOOD[::-1], hour]):
        gated = split(units, tmp_path, lines)
        assert reasons(gated) == {hour: "undecided"}, gated.reason
        assert Counter(texts(gated)[0]) == Counter(GOOD)
        assert (gated.exit_code, gated.verdict.value) == (5, "undetermined")


def test_time_counts_while_what_is_not_understood_is_looked_for(
    units: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the first check and behind an undetermined one: the batch is refused, left open."""
    hour = t("ann", "lasts", f'"2"^^<{PREFIX}hour>')
    for at, reason in ((1, "the time of 600 s was over while reading"), (2, "not decided")):
        with monkeypatch.context() as patch:
            ring_at_call(patch, sessions, "read_batch", at)
            gated = split(units, tmp_path, [hour, *GOOD], timeout=600)
        assert (gated.decision, gated.exit_code) == ("refused", 3) and reason in gated.reason
        assert (gated.rounds, gated.accepted) == (at - 1, ())


@pytest.mark.spark
def test_spark_sets_the_same_aside(spark: object, units: Path, tmp_path: Path) -> None:
    """What is not decided, what contradicts, and the line to write instead of a misspelt one."""
    hour, misspelt = t("ann", "lasts", f'"2"^^<{PREFIX}hour>'), a("ann", "Kat")
    local, on_spark = (
        split(units, tmp_path, [hour, a("tom", "Dog"), misspelt, *GOOD], engine=e)
        for e in ("local", "spark")
    )
    assert set(reasons(local).values()) == {"undecided", "conflict", "undeclared"}
    assert any(x.hint for x in local.set_aside)
    assert on_spark.to_dict()["set_aside"] == local.to_dict()["set_aside"]
    assert (texts(on_spark), on_spark.exit_code, on_spark.verdict) == (
        texts(local),
        local.exit_code,
        local.verdict,
    )


FLOAT = "<http://www.w3.org/2001/XMLSchema#float>"


def test_hints_were_checked(units: Path, tmp_path: Path) -> None:
    """The line to write instead is told where it contradicts no more, and only there."""
    meant = {
        t("ann", "weighs", '"0.4"'): t("ann", "weighs", f'"0.4"^^{FLOAT}'),
        t("tom", "weighs", '"1.5"^^<http://www.w3.org/2001/XMLSchema#decimal>'): t(
            "tom", "weighs", f'"1.5"^^{FLOAT}'
        ),
        t("ann", "weighs", '"a lot"'): "",
        t("ann", "way", '"LEFT_TO_RIGHT"'): t("ann", "way", '"LEFT-TO-RIGHT"'),
        t("ann", "way", '"sideways"'): "",
        t("ann", "likes", f'"{PREFIX}tom"'): t("ann", "likes", "tom"),
        t("bob", "likes", f'"<{PREFIX}tom>"'): t("bob", "likes", "tom"),
        t("ann", "likes", f'"{PREFIX}rex"'): "",
        t("ann", "likes", '"tom"'): "",
        t("ann", "lieks", "tom"): t("ann", "likes", "tom"),
        t("ann", "lieks", "rex"): "",
        a("ann", "Catt"): a("ann", "Cat"),
    }
    lines = [*meant, *GOOD]
    random.Random(3).shuffle(lines)
    gated = split(units, tmp_path, lines)
    told = {x.line.text: x.hint for x in gated.set_aside}
    assert {line: hint for line, hint in told.items() if hint.startswith("write")} == {
        line: f"write {other} instead" for line, other in meant.items() if other
    }
    assert told.keys() == meant.keys() and told[t("ann", "lieks", "rex")].startswith("did you mean")


def test_a_batch_of_five(units: Path, tmp_path: Path) -> None:
    """One conflict, one literal on an object property, one misspelt property, one unit literal
    under its own range, one good line: two are accepted, three set aside with three reasons.
    """
    conflict, literal, misspelt = (
        a("rex", "Cat"),
        t("ann", "likes", '"tom"'),
        t("ann", "lieks", "tom"),
    )
    unit, good = t("ann", "lasts", f'"215.0"^^<{PREFIX}second>'), a("ann", "Cat")
    for order in itertools.islice(
        itertools.permutations([conflict, literal, misspelt, unit, good]), 0, 120, 50
    ):
        gated = split(units, tmp_path, order, reasoner="auto")
        assert Counter(texts(gated)[0]) == Counter([unit, good]), gated.reason
        assert reasons(gated) == {
            conflict: "conflict",
            literal: "malformed",
            misspelt: "undeclared",
        }
        assert (gated.exit_code, len({x.reason for x in gated.set_aside})) == (5, 3)


# --- the least ------------------------------------------------------------------------------------


def brute_force(conflicts: list[list[frozenset[int]]], lines: list[int]) -> int:
    return next(
        size
        for size in range(len(lines) + 1)
        for chosen in map(set, itertools.combinations(lines, size))
        if all(any(way <= chosen for way in ways) for ways in conflicts)
    )


@pytest.mark.parametrize("seed", range(60))
def test_a_smallest_set_is_one(seed: int) -> None:
    rng = random.Random(seed)
    lines = list(range(rng.randint(2, 9)))
    way = [frozenset(rng.sample(lines, rng.choice((1, 1, 1, 2)))) for _ in lines]
    conflicts = [
        [rng.choice(way) for _ in range(rng.randint(1, 4))] for _ in range(rng.randint(1, 8))
    ]
    chosen, is_proven = smallest_hitting_set(conflicts, {i: i for i in lines})
    assert is_proven and len(chosen) == brute_force(conflicts, lines)
    assert all(any(way <= chosen for way in ways) for ways in conflicts)
    again = [list(reversed(ways)) for ways in rng.sample(conflicts, len(conflicts))]
    assert smallest_hitting_set(again, {i: i for i in lines})[0] == chosen


def test_where_the_search_is_given_up_nothing_is_needless() -> None:
    rng = random.Random(7)
    conflicts = [[frozenset((i,)) for i in rng.sample(range(120), 3)] for _ in range(400)]
    chosen, is_proven = smallest_hitting_set(conflicts, {i: i for i in range(120)})
    assert not is_proven and all(any(way <= chosen for way in ways) for ways in conflicts)
    for line in chosen:
        assert not all(any(way <= chosen - {line} for way in ways) for ways in conflicts)


def test_as_little_as_may_be_is_set_aside(store: Path, tmp_path: Path) -> None:
    """What two conflicts share goes, where all would take five lines."""
    lines = [
        a("new", "Cat"),
        a("new", "Dog"),
        t("x", "likes", "new"),
        t("y", "likes", "new"),
        *GOOD,
    ]
    assert texts(split(store, tmp_path, lines))[1] == lines[:4]
    for order in (lines, lines[::-1]):
        gated = split(store, tmp_path, order, aside="least")
        assert (texts(gated)[1], gated.exit_code, gated.is_proven) == ([a("new", "Dog")], 5, True)
        assert gated.to_dict()["proven_least"] is True and len(gated.conflicts) >= 3


POOL = [
    *(a(x, c) for x in ("u", "v", "rex") for c in ("Cat", "Dog")),
    *(t(x, "likes", y) for x, y in (("u", "v"), ("v", "u"), ("ann", "rex"), ("bob", "u"))),
    *(
        t(x, "age", f'"{n}"^^<http://www.w3.org/2001/XMLSchema#integer>')
        for x in ("u", "tom")
        for n in (3, 4)
    ),
    t("u", owl("sameAs"), "v"),
    t("u", owl("differentFrom"), "v"),
    *NEGATIVE,
    "nothing",
    "# a comment",
]


@pytest.mark.parametrize("aside", ["all", "least"])
@pytest.mark.parametrize("seed", range(6))
def test_random_batches(store: Path, tmp_path: Path, seed: int, aside: str) -> None:
    """Nothing is lost; what is accepted is consistent from scratch; the order of lines does not
    count; the least is least.
    """
    rng = random.Random(seed)
    lines = [
        *rng.sample(POOL[:15], 8),
        *rng.choice(([], NEGATIVE)),
        *POOL[-2:],
        *rng.sample(POOL[:15], 2),
    ]
    sides = []
    for _ in range(2):
        rng.shuffle(lines)
        gated = split(store, tmp_path, lines, aside=aside)
        good, bad = texts(gated)
        assert Counter(good) + Counter(bad) == Counter(lines)
        sides.append((Counter(good), Counter(bad)))
    assert sides[0] == sides[1] and is_consistent(store, gated, tmp_path)
    if aside == "least":
        assert gated.is_proven
        for n in {i for i, line in enumerate(gated.set_aside) if line.kind == "conflict"}:
            # Each line that went would bring a contradiction back, with the others of its
            # assertion.
            back = [
                x.line.text
                for i, x in enumerate(gated.set_aside)
                if x.line.text == gated.set_aside[n].line.text or i == n
            ]
            if any(line in NEGATIVE for line in back):
                back = NEGATIVE
            (tmp_path / "more.nt").write_text("\n".join([*good, *back]))
            found = check_insertions(
                store.parent / "t.ofn", store.parent / "a.nt", tmp_path / "more.nt", reasoner="own"
            )
            assert found.verdict.value == "inconsistent", back
