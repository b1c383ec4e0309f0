"""Known conflicts of a base: set aside, as little as may be, and nothing lost."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path

import pytest
from test_gate import PREFIX, a, run, t

from shiq.abox_ops.conflicts.minimal_subsets import minimal_hitting_sets
from shiq.abox_ops.modules.decide import Decider
from shiq.api import certify
from shiq.jobs.building.executor import ProcessExecutor
from shiq.jobs.known_conflicts import hitting_set, set_aside_known
from shiq.jobs.store import open_store
from shiq.model import Class, ClassAssertion
from shiq.model.abox import ABox
from shiq.model.ntriples import assertion_lines
from shiq.rdf import read_assertions, read_ontology
from shiq.reasoner import create_reasoner

TBOX = f"""Prefix(:=<{PREFIX}>)
Ontology(
Declaration(Class(:Cat)) Declaration(Class(:Dog)) Declaration(Class(:Ghost)) Declaration(ObjectProperty(:likes))
Declaration(ObjectProperty(:haunts)) Declaration(DataProperty(:age)) Declaration(DataProperty(:ghostAge))
DisjointClasses(:Cat :Dog) ObjectPropertyRange(:likes :Cat) FunctionalDataProperty(:age)
SubClassOf(:Ghost :Cat) SubClassOf(:Ghost :Dog) ObjectPropertyRange(:haunts :Ghost) DataPropertyDomain(:ghostAge :Ghost)
)
"""
SAME = "<http://www.w3.org/2002/07/owl#sameAs>"
CLEAN = [
    a("tom", "Cat"),
    t("ann", "likes", "tom"),
    a("rex", "Dog"),
    t("x", "age", '"3"'),
    t("y", "age", '"4"'),
]
#: What nothing can have, and one that two conflicts share.
DIRTY = [a("g", "Ghost"), t("g", "haunts", "tom"), t("g", "ghostAge", '"7"'), t("x", SAME, "y")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "t.ofn").write_text(TBOX)
    (tmp_path / "a.nt").write_text(
        "".join(f"{line}\n" for line in [*CLEAN, a("x", "Cat"), a("y", "Dog"), *DIRTY])
    )
    return tmp_path


def test_a_dirty_base_is_certified_without_its_known_conflicts(folder: Path) -> None:
    asked = [
        "index",
        "-t",
        folder / "t.ofn",
        "-s",
        folder / "kg",
        folder / "a.nt",
        "--reasoner",
        "own",
        "-q",
    ]
    assert run(*asked).return_value == 1
    said = run(*asked, "--replace", "--set-aside-known", folder / "known.nt")
    assert said.return_value == 0
    assert set((folder / "known.nt").read_text().splitlines()) == set(DIRTY)
    assert "4 assertions set aside, 5 minimal conflicts" in said.output
    why = json.loads((folder / "known.nt.why.json").read_text())
    assert [x["count"] for x in why["groups"]] == [3, 1, 1]
    kept = run("export", "-s", folder / "kg").output.splitlines()
    aside = run("export", "-s", folder / "kg", "--set-aside").output.splitlines()
    assert sorted([*kept, *aside]) == sorted((folder / "a.nt").read_text().splitlines())
    # A batch is gated against the rest; what contradicts the ontology alone stays outside, unasked.
    batch = [a("joe", "Cat"), DIRTY[0], a("rex", "Cat")]
    (folder / "batch.nt").write_text("".join(f"{line}\n" for line in batch))
    asked = [
        "gate",
        "-s",
        folder / "kg",
        "-i",
        folder / "batch.nt",
        "--mode",
        "split",
        "--json",
        "-",
        "-q",
    ]
    gated = run(*asked, "--quarantine", folder / "aside.nt")
    found = json.loads(gated.output)
    assert (gated.return_value, found["accepted"]) == (5, 1)
    assert [x["text"] for x in found["set_aside"]] == [batch[2]] and [
        x["text"] for x in found["tolerated"]
    ] == [batch[1]]
    assert len(found["conflicts"]) == 1
    # What the batch contradicts of what is set aside is told, and does not block.
    (folder / "z.nt").write_text(
        "<http://ex.org/x> <http://www.w3.org/2002/07/owl#differentFrom> <http://ex.org/y> .\n"
    )
    told = json.loads(
        run("gate", "-s", folder / "kg", "-i", folder / "z.nt", "--json", "-", "-q").output
    )
    assert (told["decision"], [x["base"] for x in told["disputes"]]) == ("accepted", [[DIRTY[3]]])
    # A new certificate is about the rest too, and a rebuilt store keeps what is set aside.
    (folder / "t2.ofn").write_text(
        TBOX.replace("DisjointClasses(:Cat :Dog)", "DisjointClasses(:Cat :Dog :Cow)")
    )
    assert run("certify", "-s", folder / "kg", "-t", folder / "t2.ofn", "-q").return_value == 0
    assert run("export", "-s", folder / "kg", "--set-aside").output.splitlines() == aside


def test_nothing_is_set_aside_of_a_consistent_base(folder: Path) -> None:
    (folder / "clean.nt").write_text("".join(f"{line}\n" for line in CLEAN))
    asked = [
        "index",
        "-t",
        folder / "t.ofn",
        "-s",
        folder / "kg",
        folder / "clean.nt",
        "--reasoner",
        "own",
        "-q",
    ]
    said = run(*asked, "--set-aside-known", folder / "known.nt")
    assert said.return_value == 0 and "nothing had to be set aside" in said.output
    assert "set aside" not in run("status", "-s", folder / "kg").output


def random_lines(rng: random.Random, size: int = 14) -> set[str]:
    names = [f"n{i}" for i in range(max(5, size // 4))]
    return {
        rng.choice(
            [
                a(rng.choice(names), rng.choice(["Cat", "Dog", "Dog", "Ghost"])),
                t(rng.choice(names), rng.choice(["likes", "likes", "haunts"]), rng.choice(names)),
                t(rng.choice(names), "age", f'"{rng.randrange(2)}"'),
                t(rng.choice(names), SAME, rng.choice(names)),
            ]
        )
        for _ in range(size)
    }


def test_random_bases(folder: Path) -> None:
    """Rest and set aside are the data; the rest is consistent, and inconsistent with any one of
    what was set aside; the order of the data does not count.
    """
    ontology = read_ontology([folder / "t.ofn"])
    decider = Decider(create_reasoner("own"))
    for seed in range(3):
        rng = random.Random(seed)
        drawn = random_lines(rng)
        sides = set()
        for _ in range(2):
            lines = sorted(drawn)
            rng.shuffle(lines)
            (folder / "r.nt").write_text("".join(f"{line}\n" for line in lines))
            abox = read_assertions([folder / "r.nt"], ontology.tbox.signature).abox
            known = set_aside_known(ontology, abox, decider)
            rest = {
                line for assertion in known.remaining_abox for line in assertion_lines(assertion)
            }
            aside = {line for row in known.quarantine for line in row.triples}
            assert (
                rest | aside == {x for y in abox for x in assertion_lines(y)} and not rest & aside
            )
            sides.add((frozenset(rest), frozenset(aside)))
        ((rest_, aside_),) = sides
        assert verdict(folder, rest_) == "consistent"
        assert all(verdict(folder, rest_ | {one}) == "inconsistent" for one in aside_)


def verdict(folder: Path, lines: frozenset[str]) -> str:
    (folder / "v.nt").write_text("".join(f"{line}\n" for line in lines))
    return certify(
        [folder / "t.ofn"], [folder / "v.nt"], reasoner="own", max_conflicts=0
    ).verdict.value


def test_hitting_sets_are_minimal_and_hit() -> None:
    things = [ClassAssertion(Class(f"urn:{i}"), "urn:x") for i in range(8)]
    for seed in range(50):
        rng = random.Random(seed)
        conflicts = [rng.sample(things, rng.randint(1, 3)) for _ in range(6)]
        chosen = set(hitting_set(conflicts))
        assert all(chosen.intersection(c) for c in conflicts)
        assert not any(
            all(set(fewer).intersection(c) for c in conflicts)
            for fewer in combinations(chosen, len(chosen) - 1)
        )
        assert chosen == set(hitting_set(list(reversed(conflicts))))


def test_hitting_sets_are_all_minimal_ones() -> None:
    things = [ClassAssertion(Class(f"urn:{i}"), "urn:x") for i in range(7)]
    for seed in range(60):
        rng = random.Random(seed)
        conflicts = [
            frozenset(rng.sample(things, rng.randint(1, 3))) for _ in range(rng.randint(1, 6))
        ]
        expected = list[frozenset[ClassAssertion]]()
        for chosen in (frozenset(c) for n in range(8) for c in combinations(things, n)):
            if all(chosen & c for c in conflicts) and not any(h < chosen for h in expected):
                expected.append(chosen)
        assert minimal_hitting_sets(list(conflicts)) == sorted(
            expected, key=lambda h: (len(h), sorted(map(repr, h)))
        )


def test_an_empty_base_has_no_conflicts(folder: Path) -> None:
    assert not set_aside_known(
        read_ontology([folder / "t.ofn"]), ABox(), Decider(create_reasoner("own"))
    ).quarantine


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_values_of_a_datatype_that_nothing_defines_go_where_they_leave_it_open(
    tmp_path: Path, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t.ofn").write_text(
        f"Prefix(:=<{PREFIX}>) Ontology(Declaration(DataProperty(:shape)) Declaration(Class(:Cat)) SubClassOf(:Cat :Pet)"
        " Declaration(Class(:Pet)) DataPropertyRange(:shape <urn:wkt>))"
    )
    fine = [t("a", "shape", '"POINT(1 2)"^^<urn:wkt>'), a("b", "Cat")]
    plain = t("b", "shape", '"POINT(1 2)"')
    (tmp_path / "a.nt").write_text("".join(f"{line}\n" for line in [*fine, plain]))
    asked = [
        "index",
        "-t",
        tmp_path / "t.ofn",
        "-s",
        tmp_path / "kg",
        tmp_path / "a.nt",
        "--reasoner",
        "own",
        "-q",
    ]
    if engine == "spark":
        by_tasks_here(monkeypatch)
        asked += ["--engine", engine]
    assert run(*asked).return_value == 3
    said = run(*asked, "--replace", "--set-aside-known", tmp_path / "known.nt")
    assert said.return_value == 0, said.output
    assert "1 of them are values" in said.output
    assert (tmp_path / "known.nt").read_text().splitlines() == [plain]
    assert "1 undecided" in run("status", "-s", tmp_path / "kg").output


@pytest.mark.jvm
def test_what_is_not_set_aside_is_said(tmp_path: Path) -> None:
    """A contradiction by a nominal, which HermiT alone sees, is none that is taken apart."""
    tbox = "SubClassOf(:Cat ObjectOneOf(:rex)) DisjointClasses(:Cat :Dog)"
    (tmp_path / "t.ofn").write_text(f"Prefix(:=<{PREFIX}>) Ontology({tbox})")
    different = t("a", "<http://www.w3.org/2002/07/owl#differentFrom>", "b")
    (tmp_path / "a.nt").write_text(
        "".join(f"{line}\n" for line in [a("a", "Cat"), a("b", "Cat"), different])
    )
    asked = ["index", "-t", tmp_path / "t.ofn", "-s", tmp_path / "kg", tmp_path / "a.nt"]
    said = run(*asked, "--set-aside-known", tmp_path / "known.nt")
    assert said.return_value == 1
    assert "remove them by hand" in said.output
    assert "nothing had to be" not in said.output


# --- built on Spark -------------------------------------------------------------------------------


def by_tasks_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine spark builds with tasks that run in this process."""
    pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")
    monkeypatch.setattr("shiq.jobs.spark.executor.spark_session", lambda **_: (None, False))
    monkeypatch.setattr("shiq.jobs.spark.executor.SparkExecutor", lambda _: ProcessExecutor())


def set_aside_by(
    engine: str, folder: Path, lines: Iterable[str], monkeypatch: pytest.MonkeyPatch
) -> tuple[object, ...]:
    """Exit code, what is set aside and why, and what a store built by ``engine`` holds."""
    by_tasks_here(monkeypatch)
    (folder / "r.nt").write_text("".join(f"{line}\n" for line in lines))
    store, known = folder / engine, folder / f"{engine}.nt"
    shutil.rmtree(store, ignore_errors=True)
    asked = [
        "index",
        "-t",
        folder / "t.ofn",
        "-s",
        store,
        folder / "r.nt",
        "--reasoner",
        "own",
        "-q",
        "--engine",
        engine,
    ]
    said = run(*asked, "--set-aside-known", known)
    why = json.loads(Path(f"{known}.why.json").read_text())
    status = [
        line
        for line in run("status", "-s", store).output.splitlines()
        if "aside" in line or "certif" in line
    ]
    with open_store(store) as opened:
        named = {file.path for table in opened.manifest.tables.values() for file in table.all_files}
    assert {str(path.relative_to(store)) for path in store.glob("tables/*/*.parquet")} == named, (
        "nothing else is left behind"
    )
    kept = sorted(run("export", "-s", store).output.splitlines())
    aside = sorted(run("export", "-s", store, "--set-aside").output.splitlines())
    # In which order the rounds find conflicts is the engine's affair.
    why["groups"] = sorted((x["pattern"], x["count"]) for x in why["groups"])
    return said.return_value, known.read_text(), why, len(status), kept, aside


def test_spark_sets_aside_what_local_does(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = (folder / "a.nt").read_text().splitlines()
    assert set_aside_by("spark", folder, lines, monkeypatch) == set_aside_by(
        "local", folder, lines, monkeypatch
    )
    passed_on = "SubClassOf(:Dog ObjectAllValuesFrom(:likes :Dog)) DisjointClasses"
    (folder / "t.ofn").write_text(TBOX.replace("DisjointClasses", passed_on))
    # That c is a Dog is said of a.
    lines = [a("a", "Dog"), t("a", "likes", "b"), t("b", "likes", "c"), a("d", "Cat")]
    found = set_aside_by("spark", folder, lines, monkeypatch)
    assert (
        found == set_aside_by("local", folder, lines, monkeypatch) and found[0] == 0 and found[-1]
    )
    for seed in range(3):
        lines = sorted(random_lines(random.Random(seed)))
        assert set_aside_by("spark", folder, lines, monkeypatch) == set_aside_by(
            "local", folder, lines, monkeypatch
        ), seed
    lines = [CLEAN[0]]
    assert set_aside_by("spark", folder, lines, monkeypatch) == set_aside_by(
        "local", folder, lines, monkeypatch
    )
