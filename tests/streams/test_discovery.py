"""Rules learnt from streams: the worked examples of docs/DISCOVERY.md, by the library and by the
command line.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiq.functional import axiom_text
from shiq.model.abox import abox_of
from shiq.streams.discovery import RuleMiner
from shiq.streams.discovery.atomsets import AtomIndex, has_binding
from shiq.streams.discovery.columns import SnapshotColumns
from shiq.streams.discovery.counting import BodyCounter, MiningLimits
from shiq.streams.discovery.mining import SlideGate, apply_a1, find_rules_by_a2, mine_bodies
from shiq.streams.discovery.ontology import MinerOntology
from shiq.streams.discovery.snapshots import SnapshotStore, compute_rarity
from tests.command_line import shiq
from tests.discovery_cases import (
    ADJ,
    CITY,
    JAM,
    JAMS,
    PQR,
    QR,
    RULE,
    STREETS,
    V_PQR,
    V_QR,
    P,
    brute_rules,
    said,
    some,
    tbox,
    told,
    write_stream,
)

METHODS = ("exact", "scratch")


def city(with_events: bool = True) -> MinerOntology:
    classes = V_PQR if with_events else V_QR
    return MinerOntology(
        tbox(CITY), tuple(ADJ) if with_events else (), {axiom_text(c): c for c in classes}
    )


def snapshots(stream: dict[int, Any], with_events: bool = True) -> SnapshotStore:
    found = SnapshotStore(city(with_events).knowledge())
    for index, assertions in stream.items():
        found.add_assertions(index, assertions)
    return found


def fed(stream: dict[int, Any], with_events: bool = True, **options: Any) -> list[dict[str, Any]]:
    miner = RuleMiner(city(with_events), **options)
    reports = [miner.partial_fit(t, [abox_of(stream[t])]) for t in sorted(stream)]
    return [told(report.to_dict()) for report in reports if report is not None]


def test_what_is_entailed_of_each_snapshot() -> None:
    found = snapshots(QR, with_events=False)
    assert [len(found.entailed_by_each([i])[0]) for i in (5, 6, 7)] == [5, 8, 12]
    assert sorted(found.entailed_by_each([5])[0]) == sorted(
        [
            ("<urn:Abnormal>", "<urn:t1>"),
            ("<urn:Flow>", "<urn:t1>"),
            ("<urn:Bus>", "<urn:b1>"),
            (axiom_text(some("travel", "Abnormal")), "<urn:r1>"),
            ("<urn:SlowRoad>", "<urn:r1>"),
        ]
    )


def test_changes_and_similarity() -> None:
    found = snapshots(QR, with_events=False)
    assert found.window_changes(range(5, 7), range(6, 8)) == ((4, 5, 8), "union")
    assert found.window_changes(range(5, 7), range(6, 8))[0].similarity == Fraction(8, 17)
    before, after = found.entailed_by_union(range(5, 7)), found.entailed_by_union(range(6, 8))
    assert before is not None and after is not None
    congested, stop, abnormal = (
        (axiom_text(some(*both)), f"<urn:{road}>")
        for both, road in (
            (("with", "CongestedBus"), "r2"),
            (("travel", "Stop"), "r2"),
            (("travel", "Abnormal"), "r1"),
        )
    )
    assert congested in before & after and stop in after - before and abnormal in before - after
    single = {i: range(i, i + 1) for i in (5, 6, 7)}
    assert found.window_changes(single[5], single[7])[0].similarity == 0
    assert found.window_changes(single[6], single[7])[0].similarity == Fraction(2, 3)
    whole = snapshots(PQR)
    assert whole.window_changes(range(5, 7), range(6, 8)) == ((8, 8, 11), "union")
    assert whole.window_changes(range(5, 7), range(6, 8))[0].similarity == Fraction(11, 27)
    assert whole.window_changes(single[6], single[7])[0].similarity == Fraction(11, 19)


def test_similarity_without_a_basis_is_null() -> None:
    found = snapshots({5: []}, with_events=False)
    assert found.window_changes(range(5, 6), range(6, 7))[0].similarity is None
    assert compute_rarity([], 1) is None


def test_rarity() -> None:
    found = snapshots(QR, with_events=False)
    assert [compute_rarity(found.entailed_by_each(range(6, 8)), e) for e in (1, 2)] == [
        Fraction(1, 3),
        Fraction(2, 3),
    ]
    assert [compute_rarity(found.entailed_by_each(range(5, 7)), e) for e in (1, 2)] == [1, 0]
    assert compute_rarity(found.entailed_by_each([7]), 1) == 1
    whole = snapshots(PQR).entailed_by_each(range(6, 8))
    assert [compute_rarity(whole, e) for e in (1, 2)] == [Fraction(8, 19), Fraction(11, 19)]
    assert len(set().union(*whole)) == 19


def test_the_gate() -> None:
    gate = SlideGate(Fraction(0), Fraction(1), Fraction(2, 3))
    assert [
        gate.is_open(which, Fraction(1, 2), Fraction(1, 2)) for which in ("printed", "prose", "off")
    ] == [True, False, True]


def test_a_rule_across_streams() -> None:
    found = snapshots(PQR)
    body, whole = (
        [tuple(atom) for atom in atoms] for atoms in (RULE["body"], RULE["body"] + RULE["head"])
    )
    facts = {
        i: AtomIndex(
            (*(found.knowledge.static_entailments or ()), *(found.entailed_atoms(i) or ()))
        )
        for i in PQR
    }
    joint, alone = ([has_binding(atoms, facts[i]) for i in (5, 6, 7)] for atoms in (whole, body))
    assert (joint, alone) == ([False, True, True], [True, True, True])
    assert apply_a1((1, 2), 0, 1, -1) == (1, 1)
    assert apply_a1((1, 1), 1, 1, 1) == (2, 2)
    for method in METHODS:
        reports = fed(PQR, window=2, rules=[RULE], max_atoms=1, method=method)
        assert [r["tracked"] for r in reports] == [
            [{"support": 1, "body_support": 2, "confidence": 0.5}],
            [{"support": 2, "body_support": 2, "confidence": 1}],
        ]


def filled(stream: dict[int, Any], window: tuple[int, ...]) -> tuple[BodyCounter, Any]:
    ontology = city()
    knowledge, columns = ontology.knowledge(), SnapshotColumns(len(window))
    columns.set_static(knowledge.static_entailments or ())
    for i in window:
        columns.store_snapshot(i, knowledge.entailed_atoms(stream[i]))
    from shiq.streams.discovery.ontology import BodyTheory

    return BodyCounter(columns), BodyTheory(knowledge.tbox_closure, tuple(ontology.classes))


def place(index: int) -> Any:
    return np.array([1 << index % 2], np.uint64)


@pytest.mark.parametrize(
    ("min_confidence", "kept"), [(Fraction(49, 100), True), (Fraction(1, 2), False)]
)
def test_a2_expands_what_was_there_by_what_is_new(min_confidence: Fraction, kept: bool) -> None:
    counter, theory = filled(PQR, (6, 7))
    limits = MiningLimits(Fraction(1, 2), min_confidence, 3, 3)
    found = set(
        find_rules_by_a2(
            counter, BodyCounter(counter.columns, place(7)), theory, limits, place(6), {1}
        )
    )
    stop = axiom_text(some("travel", "Stop"))
    # The body of the rule across streams, seen from ?x2.
    expanded = {
        (text, head)
        for tree, head in found
        for text in [str(tree)]
        if head in (stop, "<urn:BlockedRoad>")
        and "<urn:occur>" in text
        and "<urn:adj>" in text
        and axiom_text(BIG_EVENT) in text
    }
    assert bool(expanded) == kept


BIG_EVENT = V_PQR[-2]


def test_mining_what_arrives() -> None:
    counter, theory = filled(PQR, (6, 7))
    found = mine_bodies(
        BodyCounter(counter.columns, place(7)),
        theory,
        MiningLimits(Fraction(1, 2), Fraction(4, 5), 2, 2),
        1,
    ).heads
    stop = axiom_text(some("travel", "Stop"))
    serious = [
        tree
        for tree, (_, heads) in found.items()
        if "impact" in str(tree) and "<urn:occur>" in str(tree) and stop in heads
    ]
    assert serious


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("size", "expected"), [(1, [15, 28]), (2, [119, 292])])
def test_the_mined_language(method: str, size: int, expected: list[int]) -> None:
    options = {
        "window": 2,
        "min_support": 0.5,
        "max_atoms": size,
        "max_variables": size,
        "method": method,
    }
    reports = fed(PQR, **options)
    assert [len(report["rules"]) for report in reports] == expected
    if size == 1:
        rules = {(rule["body"][0][0], rule["head"][0][0]): rule for rule in reports[1]["rules"]}
        for both in (("<urn:Flow>", "<urn:Light>"), ("<urn:Bus>", "<urn:CongestedBus>")):
            assert (rules[both]["support"], rules[both]["body_support"]) == (2, 2)


def test_spellings() -> None:
    found = snapshots(PQR)
    theory = RuleMiner(city(), window=2).windows.theory
    roles = [f"<urn:{r}>" for r in ("adj", "with", "travel", "occur", "disruption", "impact")]
    counts = []
    for window in ((5, 6), (6, 7)):
        facts = [
            AtomIndex(
                (*(found.knowledge.static_entailments or ()), *(found.entailed_atoms(i) or ()))
            )
            for i in window
        ]
        rules = brute_rules(
            facts,
            sorted(theory.vocabulary),
            roles,
            MiningLimits(Fraction(1, 2), Fraction(4, 5), 2, 2),
        )
        counts.append(sum(rule[1] not in theory.root_classes(rule[0]) for rule in rules))
    assert counts == [121, 298]


def test_the_union_counts_for_similarity_alone() -> None:
    stream = {**QR, 5: [*QR[5], *said("with(r1,b2)")]}
    found = snapshots(stream, with_events=False)
    congested = (axiom_text(some("with", "CongestedBus")), "<urn:r1>")
    union = found.entailed_by_union(range(5, 7))
    assert union is not None and congested in union
    assert all(congested not in each for each in found.entailed_by_each(range(5, 7)))


RULES = """adj(?x0,?x1)=>Jam 3/4 3/8;
adj(?x0,?x1)=>Slow 4/4 4/8; adj(?x1,?x0)=>Event 4/4 4/8; adj(?x0,?x1),Event(?x1)=>Slow 3/4 3/4;
adj(?x1,?x0),Jam(?x1)=>Event 2/3 2/3; adj(?x1,?x0),Slow(?x1)=>Event 3/4 3/4; adj(?x0,?x1),Slow(?x0)=>Jam 3/4 3/4;
adj(?x1,?x0),Slow(?x0)=>Jam 2/2 2/2; Slow(?x0)=>Jam 4/4 4/5"""
TRACKED = [
    {"body": [["<urn:Event>", "?x1"]], "head": [["<urn:Slow>", "?x0"]]},
    {
        "body": [["<urn:adj>", "?x0", "?x1"], ["<urn:Event>", "?x1"]],
        "head": [["<urn:Slow>", "?x0"]],
    },
]


def shown(rule: dict[str, Any]) -> str:
    def text(atom: list[str]) -> str:
        return f"{atom[0].removeprefix('<urn:').rstrip('>')}({','.join(atom[1:])})"

    body, head = ",".join(map(text, rule["body"])), text(rule["head"][0]).partition("(")[0]
    return f"{body}=>{head} {rule['support']}/{rule['body_support']} {rule['binding_support']}/{rule['binding_body']}"


def jam_options(**more: Any) -> dict[str, Any]:
    return {
        "window": 4,
        "min_support": 0.5,
        "min_confidence": 0.5,
        "max_atoms": 2,
        "max_variables": 2,
        "rules": TRACKED,
        **more,
    }


@pytest.mark.parametrize("method", METHODS)
def test_joint_bindings(method: str) -> None:
    ontology = MinerOntology(
        tbox(JAM),
        tuple(STREETS),
        {f"<urn:{c}>": some("r", c).filler for c in ("Event", "Jam", "Slow")},
    )
    miner = RuleMiner(ontology, **jam_options(method=method))
    reports = [miner.partial_fit(t, [abox_of(JAMS[t])]) for t in JAMS]
    report = reports[-1]
    assert report is not None
    found = report.to_dict()
    assert sorted(map(shown, found["rules"])) == sorted(rule.strip() for rule in RULES.split(";"))
    # The same snapshot is not the same binding.
    assert [each["support"] for each in found["tracked"]] == [4, 3]
    assert found["rarity"] == {"distinct": 8, "by_count": {"1": 4, "2": 3, "3": 1}}
    half = RuleMiner(ontology, window=2, slide=2, max_atoms=1, method=method)
    last = [half.partial_fit(t, [abox_of(JAMS[t])]) for t in JAMS][-1]
    assert (
        last is not None and last.changes == (3, 3, 2) and last.changes.similarity == Fraction(1, 4)
    )
    union = half.windows.snapshots.entailed_by_union
    assert (union(range(2)) or set()) & (union(range(2, 4)) or set()) == {
        ("<urn:Jam>", "<urn:a>"),
        ("<urn:Slow>", "<urn:a>"),
    }


def write_city(folder: Path) -> list[str]:
    """The worked example as files; the options that name them."""
    (folder / "t.ofn").write_text(CITY, encoding="utf-8")
    (folder / "a.nt").write_text(
        "\n".join(line for a in ADJ for line in _lines(a)) + "\n", encoding="utf-8"
    )
    (folder / "v.txt").write_text("\n".join(map(axiom_text, V_PQR)) + "\n", encoding="utf-8")
    (folder / "rules.json").write_text(json.dumps([RULE]), encoding="utf-8")
    streams = [
        write_stream(folder / f"{name}.jsonl", stream) for name, stream in (("qr", QR), ("p", P))
    ]
    options = [
        "--tbox",
        folder / "t.ofn",
        "--static",
        folder / "a.nt",
        "--vocabulary",
        folder / "v.txt",
        "--rules",
        folder / "rules.json",
    ]
    return [
        *map(str, options),
        *(part for s in streams for part in ("--source", s)),
        "--window",
        "2",
        "--min-support",
        ".5",
    ]


def _lines(assertion: Any) -> list[str]:
    from tests.discovery_cases import lines

    return lines([assertion])


def test_the_worked_example_by_the_command_line(tmp_path: Path) -> None:
    options = write_city(tmp_path)
    done = shiq(
        "stream", "discover", *options, "--max-atoms", "2", "--max-variables", "2", "--json", tmp_path / "out.json", "--out",
        tmp_path / "rows.jsonl", "--report", tmp_path / "report", "--entailments", tmp_path / "e.parquet",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    first, second = found["windows"]
    assert list(found) == [
        "schema_version",
        "verdict",
        "settings",
        "vocabulary",
        "leftovers",
        "statistics",
        "windows",
    ]
    assert list(first) == [
        "window", "inconsistent", "missing", "changes", "similarity", "rarity", "gate", "tracked", "seconds", "entailed_by_tbox",
        "rules",
    ]  # fmt: skip
    assert [len(w["rules"]) for w in (first, second)] == [119, 292]
    assert (first["window"], first["changes"], first["similarity"]) == ([5, 6], None, None)
    assert second["changes"] == {"new": 8, "obsolete": 8, "invariant": 11, "basis": "union"}
    assert second["similarity"] == pytest.approx(11 / 27)
    assert second["rarity"] == {"distinct": 19, "by_count": {"1": 8, "2": 11}}
    assert [w["tracked"] for w in (first, second)] == [
        [{"support": 1, "body_support": 2, "confidence": 0.5}],
        [{"support": 2, "body_support": 2, "confidence": 1}],
    ]
    rows = [
        json.loads(line)
        for line in (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert rows == found["windows"]
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    assert pq.read_table(tmp_path / "report" / "rules.parquet").num_rows == 119 + 292
    assert pq.read_table(tmp_path / "report" / "windows.parquet").num_rows == 2
    assert "A bus is a congested bus: 100 % of" in (tmp_path / "report" / "rules.md").read_text(
        encoding="utf-8"
    )
    atoms = pq.read_table(tmp_path / "e.parquet").to_pylist()
    assert {"snapshot": 5, "atom": "<urn:SlowRoad>(<urn:r1>)"} in atoms and not any(
        "r0" in row["atom"] for row in atoms
    )


def test_unknown_class_in_rules(tmp_path: Path) -> None:
    options = write_city(tmp_path)
    (tmp_path / "rules.json").write_text(
        '[{"body": [["<urn:Buss>", "?x0"]], "head": [["<urn:Bus>", "?x0"]]}]', encoding="utf-8"
    )
    done = shiq("stream", "discover", *options)
    assert done.returncode == 2 and "<urn:Buss>" in done.stderr and "<urn:Bus>" in done.stderr
