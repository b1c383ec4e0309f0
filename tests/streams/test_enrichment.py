"""Events enriched: the worked example in any order under any policy, and what keys must tell
apart and must not.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from shiq.abox_ops.entailment import Entailment
from shiq.answers.verdict import Verdict
from shiq.errors import InputError, UsageError
from shiq.functional.reader import parse_functional
from shiq.model.abox import abox_of
from shiq.streams.enrichment import Enricher, open_enricher
from shiq.streams.enrichment.components import EventWindows, WindowEvent
from shiq.streams.enrichment.key import KeyMaker
from shiq.streams.enrichment.knowledge import StaticKnowledge, read_knowledge
from shiq.streams.enrichment.questions import EventReader
from shiq.streams.enrichment.statements import split_lines
from shiq.streams.enrichment.stream import EnrichmentCollector
from shiq.streams.front.event import Record
from shiq.streams.front.intake import RejectLog, WatermarkTracker
from shiq.streams.front.local import LocalRunner
from tests import air_quality as air
from tests.command_line import shiq

XSD = "http://www.w3.org/2001/XMLSchema#"
HEAD = f"Prefix(:=<urn:t#>) Prefix(xsd:=<{XSD}>) Prefix(owl:=<http://www.w3.org/2002/07/owl#>) Ontology("


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return air.write(tmp_path_factory.mktemp("air"))


@pytest.fixture(scope="module")
def example(files: tuple[Path, Path]) -> Iterator[tuple[Enricher, dict[Any, Entailment]]]:
    """The worked example opened, and what was reasoned for each of its events, so that many
    orders of them cost no more.
    """
    with open_enricher(*files, reasoner="own") as enricher:
        known: dict[Any, Entailment] = {}
        reason = enricher.realizer.entailed_types

        def types_of(assertions: Any) -> Entailment:
            # By the event itself, names and values and all: no entry of one could serve another.
            name = frozenset(assertions)
            if name not in known:
                known[name] = reason(assertions)
            return known[name]

        enricher.realizer.entailed_types = types_of  # type: ignore[method-assign]
        for lines, hit, types in air.EVENTS:
            found = enricher.enrich(lines)
            assert (found.types, found.hit, found.verdict) == (
                air.expected(types),
                hit,
                Verdict.CONSISTENT,
            )
        yield enricher, known


@pytest.mark.parametrize("policy", ["lru", "fifo", "lifo", "mru"])
def test_any_order_gives_the_same_under_any_policy_and_capacity(example: Any, policy: str) -> None:
    opened, _ = example
    orders = [
        random.Random(f"order {seed}").sample(air.EVENTS, len(air.EVENTS)) for seed in range(200)
    ]
    for capacity in (0, 1, 2, None):
        enricher = _again(opened, policy, capacity)
        for order in orders:
            for lines, _, types in order:
                assert enricher.enrich(random.sample(lines, len(lines))).types == air.expected(
                    types
                )
            enricher.entries.drop_affected()
        assert len(enricher.entries) <= (11 if capacity is None else capacity)


def _again(opened: Enricher, policy: str, capacity: int | None) -> Enricher:
    """``opened`` with an empty cache."""
    from shiq.streams.enrichment.cache import EntryCache, parse_capacity, parse_policy

    return Enricher(
        opened.knowledge,
        opened.realizer,
        EntryCache(parse_capacity(capacity), parse_policy(policy)),
    )


def _hits(policy: str, capacity: int, places: int, rounds: int) -> list[bool]:
    enricher = _events_of(HEAD + "SubClassOf(:A :B))", policy=policy, capacity=capacity)
    enricher.realizer.entailed_types = lambda assertions: Entailment(Verdict.CONSISTENT)  # type: ignore[method-assign]
    return [
        enricher.enrich([f"<urn:t#x> <{air.TYPE}> <urn:t#P{n % places}> ."]).hit
        for n in range(rounds * places)
    ]


def test_policies_on_places_that_report_in_turn() -> None:
    assert not any(_hits("lru", 2, 3, 10) + _hits("fifo", 2, 3, 10))
    assert _hits("mru", 2, 3, 6) == [False] * 3 + [n % 2 == 0 for n in range(15)]
    assert _hits("lifo", 2, 3, 6) == [False] * 3 + [n % 3 == 0 for n in range(15)]
    for policy in ("lru", "fifo", "lifo", "mru"):
        assert all(_hits(policy, 3, 3, 5)[3:])
    assert (
        sum(_hits("lru", 19, 20, 5))
        == 0
        < min(sum(_hits("mru", 19, 20, 5)), sum(_hits("lifo", 19, 20, 5)))
    )


def _events_of(text: str, static: str = "", **settings: Any) -> Enricher:
    read = parse_functional(text, "t", "")
    base = parse_functional(HEAD + static + ")", "b", "").abox if static else None
    return open_enricher(
        read.tbox, None if base is None else abox_of(base), reasoner="own", **settings
    )


def _keys(text: str, static: str = "") -> KeyMaker:
    enricher = _events_of(text, static)
    enricher.close()
    return enricher.keys


def _key(keys: KeyMaker, *lines: str) -> Any:
    expanded = [
        line.replace("<:", "<urn:t#")
        .replace(" a ", f" <{air.TYPE}> ")
        .replace("^^xsd:", "^^<" + XSD)
        for line in lines
    ]
    return keys.key_of_statements(
        split_lines([f"{line.replace('XSD', '')} ." for line in expanded])
    ).key


def _value(subject: str, property: str, lexical: str, datatype: str = "integer") -> str:
    return f'<:{subject}> <:{property}> "{lexical}"^^<{XSD}{datatype}>'


THRESHOLDS = HEAD + (
    "Declaration(DataProperty(:f)) Declaration(DataProperty(:u))"
    ' SubClassOf(DataSomeValuesFrom(:f DatatypeRestriction(xsd:decimal xsd:minExclusive "50"^^xsd:integer)) :High)'
    ' SubClassOf(DataSomeValuesFrom(:f DatatypeRestriction(xsd:decimal xsd:maxInclusive "10"^^xsd:integer)) :Low)'
    ' SubClassOf(DataSomeValuesFrom(:d DatatypeRestriction(xsd:double xsd:minInclusive "1.5"^^xsd:double)) :Hot)'
    ' SubClassOf(DataHasValue(:f "20"^^xsd:integer) :Odd) Declaration(DataProperty(:d)))'
)


def test_values_of_one_region_share_a_key_and_no_others_do() -> None:
    keys = _keys(THRESHOLDS)

    def key(lexical: str, datatype: str = "integer", property: str = "f") -> Any:
        return _key(keys, _value("x", property, lexical, datatype))

    assert (
        key("60")
        == key("51")
        == key("060")
        == key("60.0", "decimal")
        == key("9" * 60)
        == key("50.1", "decimal")
    )
    assert key("11") == key("50") == key("50.0", "decimal") != key("60")
    assert key("10") == key("-5") == key("-" + "9" * 60) != key("11")
    assert key("20") == key("020") == key("20.0", "decimal") != key("21")
    assert (
        key("1e400", "double", "d")
        == key("INF", "double", "d")
        == key("1.5", "double", "d")
        == key("1.50E0", "double", "d")
    )
    assert (
        key("NaN", "double", "d")
        == key("-INF", "double", "d")
        == key("1.4999", "double", "d")
        != key("1.5", "double", "d")
    )
    assert key("60", "double") != key("60") and key("60", "string") != key("60")


FUNCTIONAL = HEAD + (
    "Declaration(DataProperty(:f)) Declaration(DataProperty(:g)) Declaration(DataProperty(:h)) FunctionalDataProperty(:f)"
    " SubDataPropertyOf(:g :f) SubClassOf(DataSomeValuesFrom(:h xsd:integer) :C))"
)


def test_equal_values_count_where_values_are_counted() -> None:
    keys = _keys(FUNCTIONAL, 'DataPropertyAssertion(:f :s1 "5"^^xsd:integer)')
    same = _key(keys, _value("x", "f", "1"), _value("y", "g", "01"))
    assert same == _key(keys, _value("a", "f", "7"), _value("b", "g", "7.0", "decimal"))
    assert same != _key(keys, _value("a", "f", "7"), _value("b", "g", "8"))
    assert (
        _key(keys, _value("s1", "f", "5"))
        != _key(keys, _value("s1", "f", "6"))
        == _key(keys, _value("s1", "f", "7"))
    )
    assert _key(keys, _value("x", "h", "1"), _value("y", "h", "1")) == _key(
        keys, _value("x", "h", "1"), _value("y", "h", "2")
    )


ROLES = HEAD + (
    "Declaration(ObjectProperty(:r)) Declaration(ObjectProperty(:p)) Declaration(ObjectProperty(:idle))"
    " SubClassOf(ObjectSomeValuesFrom(:r :A) :B) SubClassOf(ObjectSomeValuesFrom(:p :B) :C))"
)


def test_wiring_and_direction_are_in_the_key_and_the_order_of_triples_is_not() -> None:
    keys = _keys(ROLES)
    ring = [f"<:{a}> <:r> <:{b}>" for a, b in ("ab", "bc", "cd", "da")]
    assert _key(keys, *ring) == _key(
        keys, *reversed([line.replace("<:a>", "<:z>") for line in ring])
    )
    assert _key(keys, *ring) != _key(
        keys, *[f"<:{a}> <:r> <:{b}>" for a, b in ("ab", "ba", "cd", "dc")]
    )
    assert _key(keys, "<:e> <:r> <:f>", "<:e> a <:A>") != _key(
        keys, "<:f> <:r> <:e>", "<:e> a <:A>"
    )
    assert _key(keys, "<:e> <:r> <:e>") != _key(keys, "<:e> <:r> <:f>")
    assert _key(keys, "<:e> a <:A>", "<:e> <:idle> <:o>") == _key(
        keys, "<:x> <:unknown> <:y>", "<:x> a <:A>"
    )
    assert _key(keys, "<:e> a <:A>") != _key(keys, "<:e> a <:A>", "<:e> <:idle> <:o>"), (
        "o is somebody too"
    )


def test_whom_of_the_static_data_an_event_equals_is_in_the_key() -> None:
    static = "ClassAssertion(:A :s) ClassAssertion(:B :t)"
    keys, same = _keys(ROLES, static), "<http://www.w3.org/2002/07/owl#sameAs>"
    assert len({_key(keys, f"<:x> {same} <:{name}>") for name in "sty"}) == 3
    assert _key(keys, f"<:x> {same} <:s>") == _key(keys, f"<:s> {same} <:z>")
    with _events_of(ROLES, static) as enricher:
        for name, cls in ("s", "A"), ("t", "B"):
            found = enricher.enrich([f"<urn:t#x> {same} <urn:t#{name}> ."])
            assert found.types["urn:t#x"] == {f"urn:t#{cls}"} and not found.hit


def test_renamed_copies_hit_whatever_their_symmetry() -> None:
    keys = _keys(ROLES)
    rng = random.Random("renamed")
    for _ in range(150):
        size = rng.randrange(2, 9)
        lines = [
            f"<:{rng.randrange(size)}> <:{rng.choice('rp')}> <:{rng.randrange(size)}>"
            for _ in range(rng.randrange(1, 12))
        ]
        lines += [
            f"<:{rng.randrange(size)}> a <:{rng.choice('AB')}>" for _ in range(rng.randrange(3))
        ]
        names = {str(i): f"n{i}" for i in range(size)}
        copy = list(lines)
        for old, new in names.items():
            copy = [line.replace(f"<:{old}>", f"<:{new}>") for line in copy]
        again = {f"n{i}": f"m{j}" for i, j in zip(range(size), rng.sample(range(size), size))}
        for old, new in again.items():
            copy = [line.replace(f"<:{old}>", f"<:{new}>") for line in copy]
        assert _key(keys, *lines) == _key(keys, *rng.sample(copy, len(copy)))


def test_who_keeps_a_name_and_a_blank_node_under_a_key() -> None:
    text = HEAD + (
        "Declaration(DataProperty(:f)) HasKey(:A () (:f)) SubClassOf(:N ObjectOneOf(:n))"
        " Declaration(ObjectProperty(:r)) SubClassOf(ObjectHasValue(:r :m) :A))"
    )
    keys = _keys(text, "ClassAssertion(:A :s)")
    assert _key(keys, "<:x> a <:A>") != _key(keys, "_:x a <:A>")
    assert _key(_keys(ROLES), "<:x> a <:A>") == _key(_keys(ROLES), "_:x a <:A>")
    assert len({_key(keys, f"<:{name}> a <:B>") for name in "smnxy"}) == 4


def test_an_event_is_read_in_any_form() -> None:
    with _events_of(ROLES) as enricher:
        line = f"<urn:t#x> <{air.TYPE}> <urn:t#A> ."
        edge = "<urn:t#y> <urn:t#r> <urn:t#x> ."
        found = enricher.enrich([line, edge])
        assert found.types == {"urn:t#x": {"urn:t#A"}, "urn:t#y": {"urn:t#B"}}
        assert set(found.ntriples()) == {line, edge, f"<urn:t#y> <{air.TYPE}> <urn:t#B> ."}
        odd = [edge.replace(" <urn:t#r>", "\t<urn:t#r>  "), "# a comment", line + " # and more"]
        assert (enricher.enrich(odd).types, enricher.enrich(odd).hit) == (found.types, True)
        import rdflib

        graph = rdflib.Graph().parse(data="\n".join([line, edge]), format="nt")
        assert (enricher.enrich(graph).hit, enricher.enrich(graph).types) == (True, found.types)
        blank = enricher.enrich(
            [line.replace("<urn:t#x>", "_:b"), edge.replace("<urn:t#x>", "_:b")]
        )
        assert (blank.hit, blank.types) == (True, {"_:b": {"urn:t#A"}, "urn:t#y": {"urn:t#B"}})
        with pytest.raises(UsageError):
            enricher.enrich("one text")


def test_expressions_and_negative_assertions_are_exact() -> None:
    some = [
        "_:e <http://www.w3.org/2002/07/owl#complementOf> <urn:t#B> .",
        f"_:e <{air.TYPE}> <http://www.w3.org/2002/07/owl#Class> .",
    ]
    with _events_of(ROLES) as enricher:
        denied = [f"<urn:t#y> <{air.TYPE}> _:e .", *some]
        wired = [f"<urn:t#x> <{air.TYPE}> <urn:t#A> .", "<urn:t#y> <urn:t#r> <urn:t#x> ."]
        assert enricher.enrich([*denied, *wired]).verdict is Verdict.INCONSISTENT
        assert enricher.enrich([*wired, *denied]).hit
        assert enricher.enrich(denied).types == {"urn:t#y": frozenset()}


def test_ill_typed_and_broken_lines() -> None:
    with _events_of(THRESHOLDS) as enricher:
        bad = [f'<urn:t#x> <urn:t#f> "many"^^<{XSD}integer> .']
        assert enricher.enrich(bad).verdict is Verdict.INCONSISTENT
        assert enricher.enrich(["<urn:t#x> <urn:t#f> nonsense ."]).verdict is Verdict.UNDETERMINED
        assert enricher.enrich(["<urn:t#x> <urn:t#f> <urn:t#y> ."]).verdict is Verdict.UNDETERMINED
        assert len(enricher.entries) == 0
    with _events_of(THRESHOLDS, allow=["ill-typed"]) as enricher:
        high = f'<urn:t#x> <urn:t#f> "60"^^<{XSD}integer> .'
        assert enricher.enrich([high, *bad]).types == {"urn:t#x": {"urn:t#High"}}


def test_events_at_the_edge() -> None:
    with _events_of(ROLES, "ClassAssertion(:A :s) ObjectPropertyAssertion(:r :t :s)") as enricher:
        assert enricher.enrich([]).types == {}
        assert enricher.enrich(["<urn:t#s> <urn:t#p> <urn:t#t> ."]).types == {
            "urn:t#s": {"urn:t#A", "urn:t#C"},
            "urn:t#t": {"urn:t#B"},
        }
        punned = [f"<urn:t#A> <{air.TYPE}> <urn:t#B> .", "<urn:t#z> <urn:t#p> <urn:t#A> ."]
        assert enricher.enrich(punned).types == {"urn:t#A": {"urn:t#B"}, "urn:t#z": {"urn:t#C"}}
        many = [f"<urn:t#v{i}> <urn:t#r> <urn:t#v{(i * 7 + 1) % 200}> ." for i in range(200)]
        assert enricher.keys.key_of_statements(split_lines(many)).key is None


def test_a_contradiction_is_kept_and_what_is_undetermined_never() -> None:
    text = HEAD + "DisjointClasses(:A :B))"
    both = [f"<urn:t#x> <{air.TYPE}> <urn:t#A> .", f"<urn:t#x> <{air.TYPE}> <urn:t#B> ."]
    with _events_of(text) as enricher:
        assert [(r.verdict, r.hit, r.types) for r in map(enricher.enrich, (both, both))] == [
            (Verdict.INCONSISTENT, False, {}),
            (Verdict.INCONSISTENT, True, {}),
        ]
        reason = enricher.realizer.entailed_types
        enricher.realizer.entailed_types = lambda assertions: Entailment(
            Verdict.UNDETERMINED, reason="died"
        )  # type: ignore[method-assign]
        assert enricher.enrich(both[:1]).verdict is Verdict.UNDETERMINED
        enricher.realizer.entailed_types = reason  # type: ignore[method-assign]
        assert enricher.enrich(both[:1]).types == {"urn:t#x": {"urn:t#A"}}
    with pytest.raises(InputError):
        _events_of(text, "ClassAssertion(:A :s) ClassAssertion(:B :s)")


def test_what_was_begun_under_the_old_static_data_is_not_kept(tmp_path: Path) -> None:
    more = tmp_path / "more.nt"
    more.write_text(f"<urn:t#s> <{air.TYPE}> <urn:t#A> .\n")
    event = ["<urn:t#x> <urn:t#r> <urn:t#s> ."]
    with _events_of(ROLES, "ClassAssertion(:C :s)") as enricher:
        reason = enricher.realizer.entailed_types

        def meanwhile(assertions: Any) -> Entailment:
            found = reason(assertions)
            enricher.realizer.entailed_types = reason  # type: ignore[method-assign]
            enricher.update_static(more)
            return found

        enricher.realizer.entailed_types = meanwhile  # type: ignore[method-assign]
        assert enricher.enrich(event).types["urn:t#x"] == set()
        assert (enricher.enrich(event).types["urn:t#x"], enricher.enrich(event).hit) == (
            {"urn:t#B"},
            True,
        )
        enricher.update_static(None, more)
        assert enricher.enrich(event).types["urn:t#x"] == set()


@pytest.mark.parametrize("name", ["entries", "entries.delta"])
def test_entries_on_disk_are_of_their_ontology_and_whole(tmp_path: Path, name: str) -> None:
    file, event = (
        tmp_path / name,
        [f"<urn:t#x> <{air.TYPE}> <urn:t#A> .", "<urn:t#y> <urn:t#r> <urn:t#x> ."],
    )

    def hit(text: str) -> tuple[bool, list[str]]:
        with _events_of(text, entries=file) as enricher:
            found = enricher.enrich(event)
            assert found.types["urn:t#x"] == {"urn:t#A"}
            return found.hit, enricher.notes

    assert hit(ROLES) == (False, [])
    assert hit(ROLES) == (True, [])
    is_hit, notes = hit(ROLES.replace(":B)", ":D)"))
    assert not is_hit and "another ontology" in notes[0]
    assert hit(ROLES.replace(":B)", ":D)")) == (True, [])
    data = file if file.is_file() else next(file.glob("*.parquet"))
    data.write_bytes(data.read_bytes()[: data.stat().st_size // 3])
    is_hit, notes = hit(ROLES.replace(":B)", ":D)"))
    assert not is_hit and "damaged" in notes[0]


def test_the_command_writes_a_row_a_line(tmp_path: Path) -> None:
    tbox = tmp_path / "t.ofn"
    tbox.write_text(
        ROLES.replace(
            "SubClassOf(ObjectSomeValuesFrom(:p",
            "DisjointClasses(:A :C) SubClassOf(ObjectSomeValuesFrom(:p",
        )
    )
    is_a = f"<urn:t#x> <{air.TYPE}> <urn:t#{{}}> ."
    events = [
        {"t": 3, "triples": [is_a.format("A")]},
        {"t": 1, "id": "two", "triples": [is_a.format("A")]},
    ]
    lines = [json.dumps(event) for event in events]

    def run(*more: str) -> tuple[int, list[Any], Any]:
        (tmp_path / "e.jsonl").write_text("\n".join([*lines, *more]) + "\n")
        arguments = [
            "stream",
            "enrich",
            "-t",
            str(tbox),
            "-s",
            str(tmp_path / "e.jsonl"),
            "--reasoner",
            "own",
        ]
        out, told = tmp_path / "out.jsonl", tmp_path / "told.json"
        result = shiq(*arguments, "--out", out, "--json", told)
        rows = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
        return result.returncode, rows, json.loads(told.read_text()) if told.exists() else None

    code, rows, told = run()
    types = {"urn:t#x": ["urn:t#A"]}
    assert code == 0
    assert rows == [
        {**_row(1, 3, None, "consistent"), "types": types},
        {**_row(2, 1, "two", "consistent"), "hit": True, "types": types},
    ]
    assert (told["verdict"], told["statistics"]["hits"], told["statistics"]["events"]) == (
        "consistent",
        1,
        2,
    )
    code, rows, told = run("not an event")
    assert (code, rows[2]["verdict"], rows[2]["line"], rows[2]["t"]) == (3, "undetermined", 3, None)
    assert (told["statistics"]["undetermined"], told["leftovers"][0]["line"]) == (1, 3)
    code, rows, told = run(
        "not an event", json.dumps({"t": 4, "triples": [is_a.format("A"), is_a.format("C")]})
    )
    assert (code, rows[3]["verdict"], rows[3]["types"]) == (1, "inconsistent", {})


def _row(line: int, t: int, name: str | None, verdict: str) -> dict[str, Any]:
    return {
        "line": line,
        "t": t,
        "id": name,
        "verdict": verdict,
        "hit": False,
        "types": {},
        "static_types": {},
        "reason": "",
    }


def _asked(enricher: Enricher, structures: Iterable[int]) -> list[bool]:
    """Whether each of some events, told apart by a number, was met before; nothing is reasoned."""
    enricher.realizer.entailed_types = lambda assertions: Entailment(Verdict.CONSISTENT)  # type: ignore[method-assign]
    return [enricher.enrich([f"<urn:t#x> <{air.TYPE}> <urn:t#P{n}> ."]).hit for n in structures]


@pytest.mark.parametrize(
    "settings", [{}, {"capacity": None}, {"capacity": 1_500}, {"most_bytes": 10**9}]
)
def test_a_cache_with_room_keeps_every_entry_whatever_the_share_of_hits(
    settings: dict[str, Any],
) -> None:
    enricher = _events_of(ROLES, **settings)
    hits = _asked(enricher, [n for _ in range(3) for n in range(1_500)])
    assert hits == [False] * 1_500 + [True] * 3_000
    assert (len(enricher.entries), enricher.statistics["skipped"], enricher.notes) == (1_500, 0, [])


@pytest.mark.parametrize("settings", [{"capacity": 100}, {"most_bytes": 60_000}])
def test_a_full_cache_with_few_hits_keeps_a_sample_and_tries_again_at_growing_intervals(
    settings: dict[str, Any],
) -> None:
    enricher, told = _events_of(ROLES, **settings), list[tuple[int, str]]()
    enricher.entries.sampler.notify = lambda sentence: told.append(
        (enricher.counts.events, sentence)
    )
    is_kept = []
    for n in range(12_000):
        before = enricher.entries.sampler.skipped
        _asked(enricher, [n])
        is_kept.append(enricher.entries.sampler.skipped == before)
    assert len(told) == 1 and told[0][0] in (999, 1_000) and "--capacity" in told[0][1]
    # All of 1,000, a sample of 1,000, all of 1,000, a sample of 2,000, all of 1,000, a sample of
    # 4,000, …
    begun = told[0][0]
    for first, length in (
        (0, begun),
        (begun + 1_000, 1_000),
        (begun + 4_000, 1_000),
        (begun + 9_000, 1_000),
    ):
        assert sum(is_kept[first : first + length]) >= length - 2
    for first, length in ((begun, 1_000), (begun + 2_000, 2_000), (begun + 5_000, 4_000)):
        assert length // 40 < sum(is_kept[first : first + length]) < length // 10
    assert enricher.statistics["skipped"] > 5_000 and len(enricher.notes) == 1
    # A stream whose structures have room is known again, whatever came before, and without waiting
    # for the interval's end.
    assert sum(_asked(enricher, [n % 20 for n in range(2_000)])[-1_000:]) > 900
    # Places in turn that have no room for each other are hit meanwhile, under lru too.
    assert sum(_asked(enricher, [20_000 + n % 150 for n in range(60_000)])) > 20_000


def test_a_checkpoint_goes_on_with_its_sample_and_an_old_one_that_kept_nothing_is_on(
    tmp_path: Path,
) -> None:
    def opened() -> tuple[Enricher, EnrichmentCollector]:
        enricher = _events_of(ROLES, capacity=50)
        enricher.realizer.entailed_types = lambda assertions: Entailment(Verdict.CONSISTENT)  # type: ignore[method-assign]
        return enricher, EnrichmentCollector(enricher, lambda rows: None, RejectLog())

    events = [n if n % 7 else n % 49 for n in range(6_000)]
    whole = _asked(opened()[0], events)
    for place in (500, 1_700, 2_600, 4_100):
        (first, stopped), (second, gone_on) = opened(), opened()
        hits = _asked(first, events[:place])
        gone_on.restore(stopped.state())
        assert hits + _asked(second, events[place:]) == whole
    enricher, stream = opened()
    _asked(enricher, range(40))
    old = json.loads(stream.state()) | {"cache": [False, 3, "0" * 1_000]}
    enricher, stream = opened()
    stream.restore(json.dumps(old).encode())
    assert (len(enricher.entries), enricher.entries.evictions) == (40, 3)
    assert (
        _asked(enricher, [*range(35, 45), *range(40, 45)]) == [True] * 5 + [False] * 5 + [True] * 5
    )


def test_sampling_is_told_on_stderr(tmp_path: Path) -> None:
    (tmp_path / "t.ofn").write_text(ROLES)
    rows = ({"t": n, "triples": [f"<urn:t#x> <{air.TYPE}> <urn:t#P{n}> ."]} for n in range(1_100))
    (tmp_path / "e").write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = [
        "-t",
        tmp_path / "t.ofn",
        "-s",
        tmp_path / "e",
        "--reasoner",
        "own",
        "--capacity",
        10,
        "--out",
        tmp_path / "o",
    ]
    called = shiq("stream", "enrich", *arguments)
    assert (
        called.returncode == 0 and "0 of the last 1,000 events were in the cache" in called.stderr
    )
    assert "full: not kept" in called.stdout
    assert shiq("stream", "enrich", *arguments, "-q").stderr == ""


def test_knowledge_is_told_apart_by_what_it_says(files: tuple[Path, Path]) -> None:
    one, other = read_knowledge(*files), read_knowledge(files[0], None)
    assert one.digest == read_knowledge(*files).digest != other.digest
    assert (
        isinstance(one, StaticKnowledge)
        and "urn:air#sensor1" in one.fixed_individuals - other.fixed_individuals
    )


BUSY = HEAD + (
    "Declaration(Class(:A)) Declaration(ObjectProperty(:by)) FunctionalDataProperty(:f)"
    " SubClassOf(ObjectMinCardinality(2 ObjectInverseOf(:by) owl:Thing) :Busy))"
)


def _made(name: str, value: int) -> list[str]:
    return [
        f"<urn:t#{name}> <urn:t#by> <urn:t#s> .",
        f'<urn:t#{name}> <urn:t#f> "{value}"^^<{XSD}integer> .',
    ]


def test_a_window_is_enriched_as_a_whole(tmp_path: Path) -> None:
    with _events_of(BUSY, "ClassAssertion(:A :s)") as enricher:
        assert enricher.enrich_window([_made("x", 1), _made("y", 1)]).types["urn:t#s"] == {
            "urn:t#A"
        }
        assert enricher.enrich_window([_made("x", 1), _made("y", 2)]).types["urn:t#s"] == {
            "urn:t#A",
            "urn:t#Busy",
        }
        blank = [
            [line.replace("<urn:t#x>", "_:b") for line in _made("x", value)] for value in (1, 2)
        ]
        found = enricher.enrich_window(blank)
        assert (
            found.types["urn:t#s"] == {"urn:t#A", "urn:t#Busy"}
            and {"_:b-1", "_:b-2"} < found.types.keys()
            and found.hit
        )
        assert enricher.enrich_window([]).types == {}
    (tmp_path / "t.ofn").write_text(BUSY)
    (tmp_path / "s.ofn").write_text(HEAD + "ClassAssertion(:A :s))")
    times = [(0, 1), (1, 1), (2, 2), (5, 3), (1, 9), (6, 4)]
    events = [{"t": t, "triples": _made(f"x{i}", value)} for i, (t, value) in enumerate(times)]
    (tmp_path / "e").write_text("".join(json.dumps(event) + "\n" for event in events))
    arguments = [
        "-t",
        tmp_path / "t.ofn",
        "--static",
        tmp_path / "s.ofn",
        "-s",
        tmp_path / "e",
        "--reasoner",
        "own",
        "-q",
    ]
    called = shiq(
        "stream",
        "enrich",
        *arguments,
        "--window",
        2,
        "--slide",
        2,
        "--out",
        tmp_path / "o",
        "--rejects",
        tmp_path / "r",
    )
    rows = [json.loads(line) for line in (tmp_path / "o").read_text().splitlines()]
    assert [
        (row["window"], row["lines"], "urn:t#Busy" in row["types"].get("urn:t#s", []))
        for row in rows
    ] == [([0, 2], [1, 2, 3], True), ([2, 4], [3], False), ([4, 6], [4, 6], True)]
    assert called.returncode == 0 and '"late"' in (tmp_path / "r").read_text()
    for wrong, said in (
        (("--only", "urn:t#Bsy"), "Did you mean urn:t#Busy?"),
        (("--only", "urn:t#Busy", "--only", "Busy"), "--only Busy: neither"),
        (("--slide", 2), "--window"),
        (("--stream", "readings"), "--mapping"),
    ):
        refused = shiq("stream", "enrich", *arguments, *wrong, "--out", tmp_path / "none")
        assert (
            refused.returncode == 2 and said in refused.stderr and not (tmp_path / "none").exists()
        )


def test_a_slide_makes_keys_of_what_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    with _events_of(
        HEAD
        + "SubClassOf(ObjectIntersectionOf(:A ObjectSomeValuesFrom(ObjectInverseOf(:by) :B)) :C))",
        "ClassAssertion(:A :s0) ClassAssertion(:A :s1) ClassAssertion(:A :s2)",
    ) as enricher:
        events = [
            WindowEvent.from_lines(
                [
                    f"<urn:t#x{n}> <urn:t#by> <urn:t#s{n % 3}> .",
                    f"_:b <urn:t#by> <urn:t#x{n}> .",
                    f"<urn:t#x{n}> <{air.TYPE}> <urn:t#B> .",
                ]
            )
            for n in range(12)
        ]
        made, question = list[int](), EventReader.make_question
        monkeypatch.setattr(
            EventReader,
            "make_question",
            lambda self, event: made.append(len(event)) or question(self, event),
        )
        found = [enricher.enrich_next_window(events[n : n + 6]) for n in range(6)]
        # At each slide that of one sensor, whose oldest event leaves as a new one comes.
        assert made == [6] * (3 + 5)
        assert [each.hit for each in found] == [False] + [True] * 5
        assert {"_:b-1", "_:b-6", "urn:t#s2"} < found[5].types.keys() and len(
            found[5].types
        ) == 6 + 6 + 3
        assert all(
            each.types[f"urn:t#s{n}"] == {"urn:t#A", "urn:t#C"} for n in range(3) for each in found
        )


def test_the_second_event_of_an_id_is_in_no_window() -> None:
    with _events_of(ROLES) as enricher:
        windows = LocalRunner(
            EnrichmentCollector(
                enricher,
                lambda rows: None,
                RejectLog(),
                windows=EventWindows(3),
                tracker=WatermarkTracker(1),
            )
        )
        for line, (t, name) in enumerate([(0, "a"), (3, "a"), (4, "a"), (5, "b"), (9, "a")], 1):
            windows.process(
                Record("e", line, json.dumps({"t": t, "id": name, "triples": []}).encode())
            )
        windows.flush()
        # Known for the window of 3 and the lateness of 1: until 4, and of the event at 9 nothing is
        # known any more.
        assert windows.intake.duplicates == 2


@pytest.mark.parametrize("width", [None, 3])
def test_a_run_goes_on_from_its_state(width: int | None) -> None:
    """Hits too are those of a run that was not stopped."""

    def system(enricher: Enricher, rows: list[str]) -> Any:
        how: dict[str, Any] = {}
        if width is not None:
            how = {"windows": EventWindows(width, 2), "tracker": WatermarkTracker()}
        return LocalRunner(EnrichmentCollector(enricher, rows.extend, RejectLog(), **how))

    said = [
        [f"<urn:t#x> <{air.TYPE}> <urn:t#{'ABC'[n % 3]}> .", f"<urn:t#x{n}> <urn:t#r> <urn:t#x> ."]
        for n in range(30)
    ]
    records = [
        Record("e", n, json.dumps({"t": n, "triples": lines}).encode())
        for n, lines in enumerate(said, 1)
    ]
    records[7] = Record("e", 8, b"no event")
    with _events_of(ROLES) as enricher, _events_of(ROLES) as first, _events_of(ROLES) as second:
        whole, rows = list[str](), list[str]()
        undisturbed, stopped, gone_on = (
            system(enricher, whole),
            system(first, rows),
            system(second, rows),
        )
        for record in records:
            undisturbed.process(record)
        expected = undisturbed.finish()
        for record in records[:13]:
            stopped.process(record)
        stopped.flush()
        gone_on.restore(stopped.state())
        for record in records[13:]:
            gone_on.process(record)
        result = gone_on.finish()
    counted = [name for name in expected.statistics if name not in ("seconds", "reasoner_calls")]
    assert rows == whole and result.verdict is expected.verdict is Verdict.UNDETERMINED
    assert {name: result.statistics[name] for name in counted} == {
        name: expected.statistics[name] for name in counted
    }


@pytest.mark.slow
def test_a_killed_run_goes_on_and_writes_each_row_once(tmp_path: Path) -> None:
    (tmp_path / "t.ofn").write_text(ROLES)
    rng = random.Random("killed")
    lines = []
    for n in range(1_500):
        triples = [
            f"<urn:t#x{n}> <{air.TYPE}> <urn:t#{rng.choice('ABC')}> .",
            f"<urn:t#x{n}> <urn:t#r> <urn:t#y{n % 3}> .",
        ]
        lines.append(json.dumps({"t": n, "triples": triples if n % 50 else ["broken"]}))
    (tmp_path / "e").write_text("\n".join(lines) + "\n")

    def command(folder: str) -> list[str]:
        (tmp_path / folder).mkdir(exist_ok=True)
        options = [
            "--checkpoint",
            f"{folder}/state",
            "--out",
            f"{folder}/out",
            "--reasoner",
            "own",
            "-q",
        ]
        return [
            sys.executable,
            "-m",
            "shiq",
            "stream",
            "enrich",
            "-t",
            "t.ofn",
            "-s",
            "e",
            *options,
        ]

    here = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    whole = subprocess.run(command("whole"), cwd=tmp_path, env=here, check=False)
    out = tmp_path / "killed" / "out"
    for size in (1, 60_000):
        with subprocess.Popen(command("killed"), cwd=tmp_path, env=here) as child:
            while child.poll() is None and not (out.exists() and out.stat().st_size > size):
                time.sleep(0.005)
            child.kill()
    ended = subprocess.run(command("killed"), cwd=tmp_path, env=here, check=False)
    assert (whole.returncode, ended.returncode) == (3, 3)
    rows = out.read_text().splitlines()
    assert rows == (tmp_path / "whole" / "out").read_text().splitlines()
    assert [json.loads(row)["line"] for row in rows] == list(range(1, 1_501))
