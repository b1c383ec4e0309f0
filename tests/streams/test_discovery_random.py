"""Random streams: every method against the obvious count; late, repeated, merged, saved, in any
order.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest

from shiq import model as owl
from shiq.model.abox import abox_of
from shiq.streams.discovery import RuleMiner
from shiq.streams.discovery.atomsets import (
    ROOT_VARIABLE,
    AtomIndex,
    BodyTree,
    atoms_to_text,
    spelling_sort_key,
    tree_to_atoms,
)
from shiq.streams.discovery.counting import MiningLimits
from shiq.streams.discovery.ontology import BodyTheory, MinerOntology
from tests.discovery_cases import (
    all_bodies,
    binding_pairs,
    brute_rules,
    random_case,
    told,
    write_stream,
)

OPTIONS: dict[str, Any] = {
    "window": 3,
    "slide": 2,
    "min_support": 0.5,
    "min_confidence": 0.5,
    "max_atoms": 2,
    "max_variables": 2,
}


def ontology_of(seed: int) -> tuple[MinerOntology, dict[int, list[owl.Assertion]]]:
    tbox, static, stream = random_case(seed)
    return MinerOntology(
        tbox, tuple(static), {f"<{iri}>": owl.Class(iri) for iri in sorted(tbox.signature.classes)}
    ), stream


def reports_of(
    miner: RuleMiner,
    stream: dict[int, list[owl.Assertion]],
    folder: Path,
    order: list[int] | None = None,
) -> list[Any]:
    file = write_stream(folder / "s.jsonl", stream, order)
    return [told(report.to_dict()) for report in miner.run([file])]


def expected_rules(
    ontology: MinerOntology, stream: dict[int, Any], window: range
) -> set[tuple[Any, ...]]:
    """The rules of a window by the definitions: each spelling counted by its bindings, then one
    of each class under T.
    """
    knowledge = ontology.knowledge()
    base = knowledge.static_entailments
    assert base is not None
    snapshots: list[AtomIndex | None] = []
    for i in window:
        found = knowledge.entailed_atoms(stream.get(i, ()))
        snapshots.append(None if found is None else AtomIndex(base | found))
    theory = BodyTheory(knowledge.tbox_closure, tuple(ontology.classes))
    limits = MiningLimits(
        Fraction(1, 2), Fraction(1, 2), OPTIONS["max_atoms"], OPTIONS["max_variables"]
    )
    rules = list(brute_rules(snapshots, sorted(ontology.classes), ontology.roles, limits))
    least: dict[BodyTree, BodyTree] = {}
    ordered = sorted(
        {rule[0] for rule in rules}, key=lambda tree: spelling_sort_key(tree_to_atoms(tree))
    )
    for tree in ordered:
        atoms = tree_to_atoms(tree)
        same = (
            t
            for t in least.values()
            if theory.entails(atoms, tree_to_atoms(t)) and theory.entails(tree_to_atoms(t), atoms)
        )
        least[tree] = next(same, tree)
    return {
        (atoms_to_text(tree_to_atoms(tree)), head, *counts)
        for tree, head, *counts in rules
        if least[tree] == tree
        and head in theory.classes
        and not theory.entails(tree_to_atoms(tree), ((head, ROOT_VARIABLE),))
    }


def found_rules(report: dict[str, Any]) -> set[tuple[Any, ...]]:
    names = ("support", "body_support", "binding_support", "binding_body")
    return {
        (atoms_to_text(map(tuple, r["body"])), r["head"][0][0], *(r[name] for name in names))
        for r in report["rules"]
    }


def check_case_lifts(
    report: dict[str, Any], ontology: MinerOntology, stream: dict[int, Any]
) -> None:
    """Cases counted one by one: a snapshot, and an individual of which it entails something."""
    knowledge, cases, held = ontology.knowledge(), set(), set()
    for i in range(report["window"][0], report["window"][1] + 1):
        if (found := knowledge.entailed_atoms(stream.get(i, ()))) is not None:
            for name, *ends in (*found, *(knowledge.static_entailments or ())):
                cases |= {(i, end) for end in ends}
                held |= {(i, end, name) for end in ends[: len(ends) == 1]}
    for rule in report["rules"]:
        share = sum(name == rule["head"][0][0] for *_, name in held) / len(cases)
        assert rule["case_lift"] == pytest.approx(
            rule["binding_support"] / rule["binding_body"] / share
        )


def check(seed: int, folder: Path) -> int:
    """Whether all ways agree on one random stream; how many rules there were."""
    ontology, stream = ontology_of(seed)
    if ontology.knowledge().static_entailments is None:
        return 0
    exact = reports_of(RuleMiner(ontology, refute=True, **OPTIONS), stream, folder)
    scratch = reports_of(
        RuleMiner(ontology, method="scratch", refute=True, **OPTIONS), stream, folder
    )
    assert exact == scratch, seed
    for report in exact:
        first, last = report["window"]
        assert found_rules(report) == expected_rules(ontology, stream, range(first, last + 1)), (
            seed,
            report["window"],
        )
        check_case_lifts(report, ontology, stream)
    dice = Random(seed)
    order = dice.sample(sorted(stream), len(stream))
    assert (
        reports_of(RuleMiner(ontology, refute=True, **OPTIONS), stream, folder, order) == exact
    ), (seed, order)
    _check_late_merged_saved(ontology, stream, dice, folder, exact)
    return sum(len(report["rules"]) for report in exact)


def _check_late_merged_saved(
    ontology: MinerOntology, stream: dict[int, Any], dice: Random, folder: Path, exact: list[Any]
) -> None:
    """Snapshots in pieces and out of order, half in one miner and half in another, one saved and
    loaded between.
    """
    order = dice.sample(sorted(stream), len(stream))
    last = {report["window"][1]: report for report in exact}
    miners = [RuleMiner(ontology, refute=True, **OPTIONS) for _ in range(2)]
    for i in order:
        middle = dice.randint(0, len(stream[i]))
        for part in dice.sample([stream[i][:middle], stream[i][middle:], stream[i]], 3):
            miners[i % 2].partial_fit(i, [abox_of(part)] if part else [])
    miners[0].save(folder / "saved")
    miners[0] = RuleMiner.load(folder / "saved")
    for merged in (miners[0].merge(miners[1]), miners[1].merge(miners[0])):
        end = merged.windows.last_window_end()
        assert (end is None) == (not exact)
        if end is not None:
            assert told(merged.windows.report_window(end).to_dict()) == last[end]
            newest = max(stream)
            again = merged.partial_fit(newest, [])
            assert again is None or told(again.to_dict()) == last[newest]


@pytest.mark.parametrize(
    "start", [0, *(pytest.param(start, marks=pytest.mark.slow) for start in (8, 16))]
)
def test_all_ways_agree(start: int, tmp_path: Path) -> None:
    assert sum(check(seed, tmp_path) for seed in range(start, start + 8)) > 10


def test_windows_of_several_words(tmp_path: Path) -> None:
    """More than 64 snapshots, not a multiple: words that did not change are not counted again."""
    dice = Random(7)
    ontology, usual = ontology_of(0)[0], [ontology_of(seed)[1] for seed in range(6)]
    pool = [told for stream in usual for told in stream.values()]
    stream = {t: dice.choice(pool) for t in range(140)}
    options = {**OPTIONS, "window": 130, "slide": 1, "min_support": 0.02, "min_confidence": 0.05}
    exact, scratch = (
        reports_of(RuleMiner(ontology, method=method, **options), stream, tmp_path)
        for method in ("exact", "scratch")
    )
    assert len(exact) == 11 and exact == scratch
    assert any(report["rules"] for report in exact)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(100, 400, 50))
def test_all_ways_agree_on_many(start: int, tmp_path: Path) -> None:
    assert sum(check(seed, tmp_path) for seed in range(start, start + 50)) > 200


# --- from one stream to another -------------------------------------------------------------------


def rules_across(
    ontology: MinerOntology, streams: Sequence[dict[int, Any]], window: range
) -> set[tuple[Any, ...]]:
    """The rules of a window whose body holds by one stream and whose head by another, each body
    counted by its bindings in every spelling.
    """
    knowledge = ontology.knowledge()
    theory = BodyTheory(knowledge.tbox_closure, tuple(ontology.classes))
    base = knowledge.static_entailments or frozenset()
    bodies: list[AtomIndex | None] = []
    heads: list[set[Any]] = []
    for i in window:
        whole = knowledge.entailed_atoms([a for stream in streams for a in stream.get(i, ())])
        own = [knowledge.entailed_atoms(stream.get(i, ())) for stream in streams]
        bodies.append(None if whole is None else AtomIndex(base | (own[0] or frozenset())))
        heads.append(set() if whole is None else set(own[1] or ()))
    found = set()
    for tree in all_bodies(sorted(ontology.classes), ontology.roles, 2, 2):
        atoms = tree_to_atoms(tree)
        body = binding_pairs(atoms, bodies)
        for head in theory.classes:
            both = {(place, x) for place, x in body if (head, x) in heads[place]}
            n, d = len({place for place, _ in both}), len({place for place, _ in body})
            if (
                2 * n >= len(window)
                and 2 * n > d
                and not theory.entails(atoms, ((head, ROOT_VARIABLE),))
            ):
                found.add((atoms_to_text(atoms), head, n, d, len(both), len(body)))
    return found


def check_across(seed: int, folder: Path) -> int:
    """Whether both methods, a restart and a merge agree with the count by bindings."""
    (ontology, stream), dice = ontology_of(seed), Random(seed)
    if ontology.knowledge().static_entailments is None:
        return 0
    streams: list[dict[int, Any]] = [{}, {}]
    for t, assertions in stream.items():
        for assertion in assertions:
            for place in (0, 1) if dice.random() < 0.5 else (dice.randint(0, 1),):
                streams[place].setdefault(t, []).append(assertion)
    names = [write_stream(folder / f"{i}.jsonl", stream) for i, stream in enumerate(streams)]
    options = {**OPTIONS, "body_sources": names[:1], "head_sources": names[1:], "refute": True}
    exact, scratch = (
        [told(r.to_dict()) for r in RuleMiner(ontology, method=m, **options).run(names)]
        for m in ("exact", "scratch")
    )
    assert exact == scratch, seed
    miners = [RuleMiner(ontology, **options) for _ in range(2)]
    for place, own in enumerate(streams):
        for t, assertions in own.items():
            miners[t % 2].partial_fit(t, [abox_of(assertions)], names[place])
    miners[0].save(folder / "across")
    merged = RuleMiner.load(folder / "across").merge(miners[1])
    for report in exact:
        first, last = report["window"]
        expected = rules_across(ontology, streams, range(first, last + 1))
        spelled = found_rules(report)
        assert spelled <= expected, (seed, spelled - expected)
        # Of equivalent spellings one is told: each of the others has its counts.
        assert {rule[1:] for rule in expected} == {rule[1:] for rule in spelled}, seed
        if last == merged.windows.last_window_end():
            assert told(merged.windows.report_window(last).to_dict()) == report, seed
    return sum(len(report["rules"]) for report in exact)


@pytest.mark.parametrize(
    "seeds",
    [
        # Four that have rules, one by far the most.
        (2, 3, 8, 9),
        *(pytest.param(range(start, start + 40), marks=pytest.mark.slow) for start in (20, 60)),
    ],
)
def test_rules_from_one_stream_to_another(seeds: Sequence[int], tmp_path: Path) -> None:
    assert sum(check_across(seed, tmp_path) for seed in seeds) >= 5


# --- ground ---------------------------------------------------------------------------------------


def ground_expected(
    ontology: MinerOntology, stream: dict[int, Any], window: range, most: int = 2
) -> set[tuple[Any, ...]]:
    from itertools import combinations

    knowledge = ontology.knowledge()
    theory = BodyTheory(knowledge.tbox_closure, tuple(ontology.classes))
    held = [knowledge.entailed_atoms(stream.get(i, ())) for i in window]
    each = [
        frozenset()
        if f is None
        else frozenset(a for a in f if len(a) == 2 and a[0] in theory.classes)
        for f in held
    ]
    items = sorted(set().union(*each))

    def times(atoms: tuple[Any, ...]) -> int:
        return sum(set(atoms) <= snapshot for snapshot in each)

    bodies = [
        b for k in range(1, most + 1) for b in combinations(items, k) if times(b) * 2 >= len(window)
    ]
    bodies.sort(key=spelling_sort_key)
    closures: dict[frozenset[Any], Any] = {}
    for body in bodies:
        closures.setdefault(
            frozenset(a for a in theory.entailed_facts(body).atoms if len(a) == 2), body
        )
    found = set()
    for body in closures.values():
        for head in items:
            n, d = times((*body, head)), times(body)
            if head not in theory.entailed_facts(body).atoms and n * 2 >= len(window) and n * 2 > d:
                found.add((atoms_to_text(body), atoms_to_text([head]), n, d))
    return found


@pytest.mark.parametrize("seed", range(12))
def test_ground_rules(seed: int, tmp_path: Path) -> None:
    ontology, stream = ontology_of(seed)
    if ontology.knowledge().static_entailments is None:
        pytest.skip("A contradicts T")
    found = [
        reports_of(RuleMiner(ontology, language="ground", method=m, **OPTIONS), stream, tmp_path)
        for m in ("exact", "scratch")
    ]
    assert found[0] == found[1]
    for report in found[0]:
        expected = ground_expected(
            ontology, stream, range(report["window"][0], report["window"][1] + 1)
        )
        assert ground_found(report) == expected


def ground_found(report: dict[str, Any]) -> set[tuple[Any, ...]]:
    names = ("support", "body_support")
    return {
        (
            *(atoms_to_text(map(tuple, r[part])) for part in ("body", "head")),
            *(r[name] for name in names),
        )
        for r in report["rules"]
    }


def strength(rule: dict[str, Any]) -> tuple[Any, ...]:
    """By what of too many ground rules the first are kept."""
    texts = (atoms_to_text(map(tuple, rule[part])) for part in ("body", "head"))
    return -rule["confidence"], -rule["support"], *texts


def test_ground_rules_of_three_atoms_and_several_words(tmp_path: Path) -> None:
    """In order: by confidence, support, text; a limit leaves the best, and is said."""
    dice, (ontology, usual) = Random(3), ontology_of(3)
    stream = {
        t: [a for told in dice.sample(sorted(usual), 4) for a in usual[told]] for t in range(140)
    }
    options = {**OPTIONS, "language": "ground", "window": 70, "slide": 35, "max_atoms": 3}
    reports = reports_of(RuleMiner(ontology, **options), stream, tmp_path)
    knowledge = ontology.knowledge()
    each = {t: knowledge.entailed_atoms(told) for t, told in stream.items()}
    for report in reports:
        first, last = report["window"]
        expected = ground_expected(ontology, stream, range(first, last + 1), 3)
        assert (
            ground_found(report) == expected
            and max(len(rule["body"]) for rule in report["rules"]) == 3
        )
        assert report["rules"] == sorted(
            report["rules"], key=lambda rule: (-rule["lift"], *strength(rule))
        )
        for rule in report["rules"]:
            atoms = set(map(tuple, rule["body"] + rule["head"]))
            held = [t for t in range(first, last + 1) if atoms <= (each[t] or set())]
            assert [instance["snapshot"] for instance in rule["instances"]] == held[:5]
    assert len(reports) == 3 and sum(len(report["rules"]) for report in reports) > 30
    few = reports_of(RuleMiner(ontology, **options, max_rules=7), stream, tmp_path)
    for report, whole in zip(few, reports):
        strongest = sorted(whole["rules"], key=strength)[:7]
        assert report["stopped"] and report["rules"] == sorted(strongest, key=lambda r: -r["lift"])
