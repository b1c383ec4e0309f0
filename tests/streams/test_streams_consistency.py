"""Streams against the obvious check at every c; the planted bugs that it must see; the front's
traps.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiq import model as owl
from shiq.answers.verdict import Verdict
from shiq.model.abox import abox_of
from shiq.streams.consistency import check_stream, negative_inclusions, plan, spans, state, topology
from tests.streams_random import against_the_reasoner, disagreement

T = "urn:t#"
STUDENT, PUBLICATION = owl.Class(T + "Student"), owl.Class(T + "Publication")
PERSON = owl.Class(T + "Person")
AXIOMS = (owl.SubClassOf(STUDENT, PERSON), owl.DisjointClasses((PERSON, PUBLICATION)))
BOB = owl.TBox(
    AXIOMS,
    owl.Signature(
        frozenset({T + "Student", T + "Publication", T + "Person"}), frozenset({T + "p"})
    ),
)


def isa(who: str, what: str) -> str:
    return f"<{T}{who}> <{owl.RDF}type> <{T}{what}> ."


def event(t: int, *triples: str, **more: object) -> dict[str, Any]:
    return {"t": t, "triples": list(triples), **more}


STREAM = [
    event(1, isa("bob", "Student")),
    event(4, isa("bob", "Publication")),
    event(5, isa("bob", "Student")),
]


@pytest.mark.parametrize("strategy", ["mask", "ntm", "ltm"])
@pytest.mark.parametrize("batch", [1, 1000])
def test_bob(strategy: str, batch: int) -> None:
    result = check_stream(plan(BOB, 2, strategy), STREAM, start=0, end=9, batch=batch)
    (row,) = result.spans
    assert (row["individual"], row["from"], row["to"], row["final"]) == (T + "bob", 5, 6, True)
    assert row["conflict"] == [T + "Publication", T + "Student"]
    assert row["axioms"] == [
        f"SubClassOf(<{T}Student> <{T}Person>)",
        f"DisjointClasses(<{T}Person> <{T}Publication>)",
    ]
    assert [(r["from"], r["to"], r["verdict"], r["individuals"]) for r in result.verdicts] == [
        (0, 4, "consistent", 0),
        (5, 6, "inconsistent", 1),
        (7, 9, "consistent", 0),
    ]
    assert (result.verdict, result.exit_code) == (Verdict.INCONSISTENT, 1)
    (longer,) = check_stream(plan(BOB, 3, strategy), STREAM, start=0, end=9, batch=batch).spans
    assert (longer["from"], longer["to"]) == (4, 7)


def test_ends_are_those_of_the_stream() -> None:
    result = check_stream(plan(BOB, 2), STREAM)
    assert [(r["from"], r["to"]) for r in result.spans] == [(5, 5)]
    assert [(r["from"], r["to"]) for r in result.verdicts] == [(1, 4), (5, 5)]


def test_random_streams() -> None:
    assert [told for seed in range(40) if (told := disagreement(seed))] == []


@pytest.mark.slow
def test_many_random_streams() -> None:
    assert [told for seed in range(2000) if (told := disagreement(seed))] == []


def test_the_content_of_windows_as_a_check_of_shiq_sees_it() -> None:
    assert [told for seed in range(100) if (told := against_the_reasoner(seed))] == []


def _short(time: Any, window: int) -> Any:
    return time + window - (window > 0)


def _first_copy(code: Any, time: Any, window: int) -> Any:
    found = _LIVE(code, time, window)
    return found.select_rows(
        np.concatenate(([True], found.code[1:] != found.code[:-1]))[: len(found.code)]
    )


def _dropped(parts: Any) -> Any:
    """What is known of a code already stays as it is."""
    if len(parts) == 1:
        return parts[0]
    return _JOINED([parts[0], parts[1].select_rows(~np.isin(parts[1].code, parts[0].code))])


def _direct(view: Any, label: str, wanted: frozenset[str]) -> tuple[str, ...]:
    return tuple(sorted({label, *view.direct_superlabels.get(label, ())} & wanted))


def _early_roots(view: Any, negatives: Any) -> Any:
    return _ROOTS(view, dict(view.negative))


_LIVE, _JOINED, _ROOTS = spans.make_live_spans, spans.join_spans, negative_inclusions.select_roots
PLAN = sys.modules[plan.__module__]


@pytest.mark.parametrize(
    ("where", "what", "bug"),
    [
        (spans, "last_live_time", _short),
        (negative_inclusions, "_apply_role_step", lambda view, negatives: ()),
        (state, "add_span", lambda live, start, end: live or [(start, end)]),
        (state, "join_spans", _dropped),
        (PLAN, "select_roots", _early_roots),
        (topology, "lift_label", _direct),
    ],
    ids=[
        "window",
        "product",
        "copy in a bolt",
        "copy in the state",
        "early roots",
        "direct lifting",
    ],
)
def test_planted_bugs_are_seen(
    monkeypatch: pytest.MonkeyPatch, where: Any, what: str, bug: Callable[..., Any]
) -> None:
    monkeypatch.setattr(where, what, bug)
    assert any(disagreement(seed) for seed in range(400))


# --- the front ------------------------------------------------------------------------------------


def lines(path: Path, *items: object) -> str:
    path.write_text(
        "".join((item if isinstance(item, str) else json.dumps(item)) + "\n" for item in items)
    )
    return str(path)


def kinds(result: Any) -> list[str]:
    return sorted(leftover.kind for leftover in result.leftovers)


def test_late_events_are_told(tmp_path: Path) -> None:
    source = lines(tmp_path / "e.jsonl", STREAM[1], STREAM[0], event(8))
    result = check_stream(plan(BOB, 2), source, start=0)
    assert (kinds(result), result.verdict, result.exit_code) == (["late"], Verdict.UNDETERMINED, 3)
    assert [(r["from"], r["to"], r["verdict"]) for r in result.verdicts] == [
        (0, 0, "consistent"),
        (1, 3, "undetermined"),
        (4, 8, "consistent"),
    ]
    assert check_stream(plan(BOB, 2), source, start=0, lateness=3).verdict is Verdict.CONSISTENT
    assert check_stream(plan(BOB, 3), source, start=0, lateness=3).verdict is Verdict.INCONSISTENT


def test_broken_among_good(tmp_path: Path) -> None:
    bad = [
        '{"t": 2, "trip',
        '{"triples": []}',
        *({"t": t, "triples": []} for t in ("soon", 1.5, -1, 1 << 63, True, 10**6)),
    ]
    result = check_stream(
        plan(BOB, 2), lines(tmp_path / "e.jsonl", STREAM[0], *bad, *STREAM[1:]), start=0, end=9
    )
    assert kinds(result) == ["ahead"] + ["malformed"] * 7
    assert [(r["from"], r["to"]) for r in result.spans] == [(5, 6)]
    assert {r["verdict"] for r in result.verdicts} == {"undetermined", "inconsistent"}
    assert result.statistics["rejected"] == {"malformed": 7, "ahead": 1}


@pytest.mark.parametrize(
    ("triple", "kind"),
    [
        ("no triple", "malformed"),
        ("", "malformed"),
        ("# a comment", "malformed"),
        (isa("x", "Student") + "\n" + isa("x", "Publication"), "malformed"),
        (isa("bob", "Studnt"), "undeclared"),
        (f"<{T}bob> <{T}knows> <{T}ann> .", "undeclared"),
        (f"<{T}bob> <{owl.OWL}sameAs> <{T}ann> .", "outside-dl-lite"),
        (f"<{T}bob> <{owl.RDFS}subClassOf> <{T}ann> .", "tbox-axiom"),
        (f'<{T}bob> <{T}p> "5" .', "malformed"),
        ('<urn:a> <urn:b> "\ud800" .', "malformed"),
    ],
)
def test_triples_that_say_nothing_to_us(triple: str, kind: str) -> None:
    result = check_stream(
        plan(BOB, 2), [*STREAM, event(6, triple, isa("ann", "Student"))], start=0, end=12
    )
    assert kinds(result) == [kind]
    assert [(r["from"], r["to"]) for r in result.spans] == [(5, 6)]
    assert [(r["from"], r["to"]) for r in result.verdicts if r["verdict"] == "undetermined"] == [
        (7, 8)
    ]
    allowed = check_stream(
        plan(BOB, 2), [*STREAM, event(6, triple)], start=0, end=12, allow=(kind,)
    )
    assert "undetermined" not in {r["verdict"] for r in allowed.verdicts}


@pytest.mark.parametrize(
    "triple",
    [f"{T}bob <{T}p> <{T}x> .", f"<{T}bob> {T}p <{T}x> .", f'<{T}bob> <{T}p> "a: b" {T}x .'],
)
def test_a_name_without_brackets_is_named(triple: str, tmp_path: Path) -> None:
    import pyarrow as pa  # type: ignore[import-untyped]
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    (leftover,) = check_stream(plan(BOB, 2), [event(1, triple)]).leftovers
    assert leftover.message.startswith(f"{T}") and "in angle brackets" in leftover.message
    row = triple.removesuffix(" .").split(" ", 2)
    pq.write_table(
        pa.table({name: [term] for name, term in zip("spo", row)} | {"t": [1]}),
        tmp_path / "e.parquet",
    )
    (leftover,) = check_stream(plan(BOB, 2), tmp_path / "e.parquet").leftovers
    assert leftover.message.startswith(f"{T}") and "in angle brackets" in leftover.message


def test_an_id_twice_and_an_event_twice() -> None:
    stream = [
        event(1, isa("bob", "Student"), id="a"),
        event(1, isa("bob", "Publication"), id="a"),
        STREAM[0],
        STREAM[0],
    ]
    result = check_stream(plan(BOB, 2), stream)
    assert (result.spans, result.verdict, result.statistics["duplicates"]) == (
        (),
        Verdict.CONSISTENT,
        1,
    )


def test_an_empty_stream_is_consistent() -> None:
    result = check_stream(plan(BOB, 2), [])
    assert (result.exit_code, result.verdicts, result.spans) == (0, (), ())


def test_outside_the_ends_is_no_leftover() -> None:
    result = check_stream(plan(BOB, 2), STREAM, start=4, end=4)
    assert (result.exit_code, result.statistics["outside"], result.leftovers) == (0, 2, ())


def test_static_assertions_hold_always() -> None:
    static = abox_of(
        [owl.ClassAssertion(PUBLICATION, T + "robert"), owl.SameIndividual(T + "robert", T + "bob")]
    )
    result = check_stream(plan(BOB, 1), [event(0), STREAM[0], event(9)], static)
    assert [(r["individual"], r["from"], r["to"]) for r in result.spans] == [(T + "bob", 1, 2)]


def test_values_outside_their_range() -> None:
    age = owl.DataProperty(T + "age")
    axioms = (
        owl.DataPropertyRange(age, owl.Datatype(owl.XSD + "integer")),
        owl.SubClassOf(PUBLICATION, owl.DataMaxCardinality(0, age)),
    )
    tbox = owl.TBox(
        axioms,
        owl.Signature(frozenset({T + "Publication"}), data_properties=frozenset({T + "age"})),
    )
    bad, good = f'<{T}bob> <{T}age> "old" .', f'<{T}ann> <{T}age> "7"^^<{owl.XSD}integer> .'
    result = check_stream(
        plan(tbox, 1), [event(0, bad, good), event(1, isa("ann", "Publication")), event(5)]
    )
    told = [(r["individual"], r["from"], r["to"], r["conflict"]) for r in result.spans]
    assert told == [
        (T + "bob", 0, 1, [f"∃{T}age"]),
        (T + "ann", 1, 1, [T + "Publication", f"∃{T}age"]),
    ]
    assert result.spans[0]["axioms"] == [f"DataPropertyRange(<{T}age> <{owl.XSD}integer>)"]


def test_pairs_have_one_row() -> None:
    role = owl.ObjectProperty(T + "p")
    tbox = owl.TBox(
        (owl.AsymmetricObjectProperty(role), owl.IrreflexiveObjectProperty(role)), BOB.signature
    )
    stream = [
        event(0, f"<{T}b> <{T}p> <{T}a> ."),
        event(1, f"<{T}a> <{T}p> <{T}b> ."),
        event(2, f"<{T}a> <{T}p> <{T}a> ."),
    ]
    rows = check_stream(plan(tbox, 1), stream).spans
    told = [(r["individual"], r["other"], r["from"], r["to"], r["conflict"]) for r in rows]
    assert told == [
        (T + "a", T + "b", 1, 1, [T + "p", T + "p⁻"]),
        (T + "a", T + "a", 2, 2, [T + "p"]),
    ]


def test_names_that_are_gone_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    from shiq.streams.consistency import operator as watching

    monkeypatch.setattr(watching, "_SPARE_NAMES", 5)
    stream = [
        event(t, isa(f"x{t}", "Student"), isa(f"x{t - t % 2}", "Publication")) for t in range(200)
    ]
    for strategy in ("mask", "ntm"):
        result = check_stream(plan(BOB, 3, strategy), stream, batch=10)
        assert [r["individual"] for r in result.spans] == [f"{T}x{t}" for t in range(0, 200, 2)]
        assert result.statistics["cached"]["rows"] < 60


def test_caches_of_bolts_are_counted_by_strategy() -> None:
    """Masks cache nothing beside the spans; a label that two bolts test is cached in both."""
    admin = owl.Class(T + "Admin")
    axioms = (*AXIOMS, owl.DisjointClasses((STUDENT, admin)))
    signature = replace(BOB.signature, classes=BOB.signature.classes | {admin.iri})
    stream = [event(t, isa(f"x{n}", "Student")) for t in range(3) for n in range(10)]
    cached = [
        check_stream(
            plan(owl.TBox(axioms, signature), 9, name, cut=cut), stream, batch=10
        ).statistics["cached"]
        for name, cut in (("mask", ()), ("ntm", ()), ("ltm", (1,)))
    ]
    assert [counts["rows"] for counts in cached] == [10, 10, 10]
    assert [counts["bolts"] for counts in cached] == [0, 10, 20]


def test_late_times_do_not_overflow() -> None:
    last = (1 << 63) - 1
    result = check_stream(
        plan(BOB, 5), [event(last, isa("bob", "Student"), isa("bob", "Publication"))]
    )
    assert [(r["from"], r["to"]) for r in result.spans] == [(last, last)]


def test_many_triples_in_one_event_and_a_hub() -> None:
    role = f"<{T}p>"
    hub = [f"<{T}hub> {role} <{T}x{n}> ." for n in range(100_000)]
    result = check_stream(plan(BOB, 5), [event(0, *hub), event(1, isa("hub", "Student"))])
    assert (result.exit_code, result.statistics["tuples"]) == (0, 200_001)


# --- the command line -----------------------------------------------------------------------------


@pytest.fixture
def onto(tmp_path: Path) -> str:
    from shiq.functional.writer import ontology_text

    (tmp_path / "onto.ofn").write_text(ontology_text(AXIOMS, ()))
    return str(tmp_path / "onto.ofn")


def ran(*arguments: str) -> int:
    from shiq.jobs.cli import main

    with pytest.raises(SystemExit) as stop:
        main(["stream", *arguments])
    assert isinstance(stop.value.code, int)
    return stop.value.code


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_command_plan(onto: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        ran(
            "plan",
            "--tbox",
            onto,
            "--strategy",
            "ltm",
            "--cut",
            "0",
            "--json",
            str(tmp_path / "p.json"),
        )
        == 0
    )
    assert "closure      2; 1 root" in capsys.readouterr().out
    told = json.loads((tmp_path / "p.json").read_text())
    assert (told["closure"], told["lanes"], told["groups"]) == (
        2,
        1,
        [[[T + "Person", T + "Publication"]]],
    )
    assert [bolt["conjunctions"] for bolt in told["bolts"]] == [0, 1]
    assert ran("plan", "--tbox", onto, "--strategy", "ltm", "--cut", "0,7") == 2
    assert "0,7 is no cut of 1 group" in capsys.readouterr().err


def test_command_plan_names_inclusions_by_bolt_and_what_a_mask_costs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    onto = tmp_path / "o.ofn"
    classes = "".join(f"Declaration(Class(<urn:{name}>))" for name in "ABCD")
    onto.write_text(
        f"Ontology({classes} DisjointClasses(<urn:A> <urn:B>) DisjointClasses(<urn:C> <urn:D>)"
        " SubClassOf(<urn:C> <urn:A>))"
    )

    def told(*more: str) -> list[str]:
        assert ran("plan", "--tbox", str(onto), *more) == 0
        return capsys.readouterr().out.splitlines()

    ltm = told("--strategy", "ltm", "--cut", "1", "-v")
    at = [number for number, line in enumerate(ltm) if line.startswith("bolt ")]
    own = [ltm[at[0] + 1 : at[1]], ltm[at[1] + 1 :]]
    assert sorted(own) == [["  urn:A, urn:B"], ["  urn:C, urn:D"]]
    assert told("--strategy", "ltm", "--cut", "1") == [x for x in ltm if not x.startswith("  ")]
    mask = told("--json", str(tmp_path / "p.json"))
    assert mask[-1] == "mask         5 labels, 2 sides: 80 bytes, 4 evaluations expected"
    assert sorted(told("-v")[-2:]) == ["  urn:A, urn:B", "  urn:C, urn:D"]
    found = json.loads((tmp_path / "p.json").read_text())
    assert (found["mask"]["labels"], found["mask"]["expected_evaluations"]) == (5, 4)
    assert found["bolts"] == []


def test_command_consistency(onto: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = lines(tmp_path / "e.jsonl", *STREAM)
    out, runs, rejects = (
        str(tmp_path / name) for name in ("rows.jsonl", "runs.jsonl", "rejects.jsonl")
    )
    common = ("consistency", "--tbox", onto, "--window", "2", "--from", "0", "--to", "9")
    code = ran(*common, "--source", source, "--out", out, "--verdicts", runs, "--rejects", rejects)
    assert (code, len(read(Path(runs))), read(Path(rejects))) == (1, 3, [])
    assert [(row["individual"], row["from"], row["to"]) for row in read(Path(out))] == [
        (T + "bob", 5, 6)
    ]
    assert "5 to 6: 1 individual" in capsys.readouterr().out
    assert ran(*common, "--source", source, "-q") == 1
    assert json.loads(capsys.readouterr().out)["individual"] == T + "bob"
    assert (
        ran(
            *common,
            "--source",
            lines(tmp_path / "f.jsonl", STREAM[0], "{"),
            "--rejects",
            rejects,
            "--json",
            "-",
        )
        == 3
    )
    assert json.loads(capsys.readouterr().out)["verdict"] == "undetermined"
    assert [(row["kind"], row["line"], row["text"]) for row in read(Path(rejects))] == [
        ("malformed", 2, "{")
    ]
    assert ran(*common, "--source", lines(tmp_path / "g.jsonl"), "-q") == 0
    assert ran(*common, "--source", lines(tmp_path / "h.jsonl", "no event"), "-q") == 4
    assert ran(*common, "--source", str(tmp_path / "missing"), "-q") == 4
    assert ran(*common, "--source", source, "--from", "10") == 2
    assert "begins at 10 and ends at 9" in capsys.readouterr().err


@pytest.mark.parametrize("strategy", ["mask", "ntm", "ltm"])
def test_a_partition_goes_on_where_another_one_stopped(strategy: str) -> None:
    watched = plan(BOB, 20, strategy)
    draw = np.random.default_rng(0)
    key, label, time = (
        draw.integers(0, 40, 300),
        draw.integers(0, 3, 300),
        np.sort(draw.integers(0, 200, 300)),
    )

    def rows(restarts: int) -> list[tuple[int, ...]]:
        partition, found = state.StreamPartition(watched), list[tuple[int, ...]]()
        for part in np.array_split(np.arange(300), 10):
            partition.add_assertions(key[part], label[part], time[part])
            found += zip(
                *(
                    column.tolist()
                    for column in partition.remove_ended_assertions(int(time[part[-1]]))
                )
            )
            if restarts:
                held, partition = partition.spans, state.StreamPartition(watched)
                partition.restore(held)
        return sorted([*found, *zip(*(column.tolist() for column in partition.finish()))])

    assert rows(0) == rows(1)
    assert len(rows(0)) > 50


def test_the_python_interface(onto: str, tmp_path: Path) -> None:
    import shiq

    p = plan(onto, window=3, strategy="ltm", cut=(1,), grouping="depth")
    assert (p.closure, p.cut, [bolt.groups for bolt in p.bolts]) == (2, (1,), [1, 0])
    r = shiq.check_stream(
        p,
        lines(tmp_path / "e.jsonl", *STREAM),
        static=None,
        start=0,
        end=20,
        lateness=2,
        batch=1000,
    )
    assert [(row["from"], row["to"]) for row in r.spans] == [(4, 7)]
    assert (len(r.verdicts), r.verdict, r.leftovers) == (3, Verdict.INCONSISTENT, ())
    assert set(r.statistics["seconds"]) >= {"reading", "deciding", "writing"}


def test_what_is_read_is_not_written_over(
    onto: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {name: tmp_path / name for name in ("e.jsonl", "static.nt", "rates.json")}
    for file in files.values():
        file.write_text("{}" if file.suffix == ".json" else "")
    (tmp_path / "link.ofn").symlink_to(onto)
    (tmp_path / "hard.nt").hardlink_to(files["static.nt"])
    (tmp_path / "folder").mkdir()
    common = [
        "consistency",
        "--tbox",
        onto,
        "--window",
        "2",
        "--source",
        str(files["e.jsonl"]),
        "-q",
    ]
    common += [
        "--static",
        str(files["static.nt"]),
        "--source",
        str(tmp_path / "folder"),
        "--strategy",
        "ltm",
    ]
    common += ["--rates", str(files["rates.json"])]
    kept = {file: Path(file).read_bytes() for file in (onto, *files.values())}
    for option in (
        "--out",
        "--verdicts",
        "--rejects",
        "--accepted",
        "--quarantine",
        "--json",
        "--checkpoint",
    ):
        for target in (
            *kept,
            tmp_path / "link.ofn",
            tmp_path / "hard.nt",
            tmp_path / "folder" / "deep" / "rows.jsonl",
        ):
            assert ran(*common, option, str(target)) == 2
            assert f"{option} {target} " in capsys.readouterr().err
    assert ran("plan", "--tbox", onto, "--json", onto) == 2
    assert ran(*common, "--out", str(tmp_path / "x"), "--json", str(tmp_path / "x")) == 2
    assert {file: Path(file).read_bytes() for file in kept} == kept
    assert (
        ran(
            *common,
            "--out",
            str(tmp_path / "rows.jsonl"),
            "--rejects",
            "/dev/null",
            "--verdicts",
            "/dev/null",
        )
        == 0
    )


def test_what_an_ontology_imports_is_not_written_over(
    onto: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "below").mkdir()
    for name in ("upper.ofn", "below/top.ttl", "below/rows.jsonl"):
        (tmp_path / name).write_text("")
    space = "urn:oasis:names:tc:entity:xmlns:xml:catalog"
    (tmp_path / "catalog.xml").write_text(
        f'<catalog xmlns="{space}"><uri name="urn:upper" uri="upper.ofn"/><uri name="urn:gone" uri="gone.ofn"/>'
        '<rewriteURI uriStartString="http://a/" rewritePrefix="below/"/></catalog>'
    )
    common = [
        "consistency",
        "--tbox",
        onto,
        "-w",
        "2",
        "-s",
        lines(tmp_path / "e", *STREAM),
        "-q",
        "--to",
        "9",
    ]
    common += ["--catalog", str(tmp_path / "catalog.xml")]
    for name in ("upper.ofn", "below/top.ttl"):
        assert ran(*common, "--out", str(tmp_path / name)) == 2
        assert "--catalog" in capsys.readouterr().err
    assert ran(*common, "--out", str(tmp_path / "below" / "rows.jsonl")) == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--cut", "1"), "--cut does nothing without --strategy ltm"),
        (("--strategy", "ntm", "--cut", "auto"), "--cut does nothing"),
        (("--rates", "{rates}"), "--rates does nothing"),
        (("--grouping", "depth"), "--grouping does nothing"),
        (("--accepted", "{out}"), "--quarantine"),
        (("--verdicts", "-"), "--verdicts and --out are both stdout"),
        (
            ("--out", "{out}", "--json", "-", "--verdicts", "-"),
            "--verdicts and --json are both stdout",
        ),
        (
            ("--out", "{out}", "--rejects", "-", "--verdicts", "-"),
            "--verdicts and --rejects are both stdout",
        ),
    ],
)
def test_options_that_would_do_nothing_or_lose_something(
    onto: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    said: str,
) -> None:
    (tmp_path / "rates").write_text("{}")
    common = [
        "consistency",
        "--tbox",
        onto,
        "--window",
        "2",
        "--source",
        lines(tmp_path / "e.jsonl", *STREAM),
        "-q",
    ]
    given = [option.format(rates=tmp_path / "rates", out=tmp_path / "out") for option in options]
    assert ran(*common, *given) == 2
    assert said in capsys.readouterr().err


def test_an_empty_stream_may_be_a_fault(
    onto: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    common = [
        "consistency",
        "--tbox",
        onto,
        "--window",
        "2",
        "-q",
        "--to",
        "9",
        "--out",
        str(tmp_path / "o"),
    ]
    assert ran(*common, "--source", lines(tmp_path / "e")) == 0
    assert ran(*common, "--source", lines(tmp_path / "e"), "--require-nonempty") == 4
    assert "no event" in capsys.readouterr().err
    assert ran(*common, "--source", lines(tmp_path / "e", *STREAM), "--require-nonempty") == 1


# --- more faults ----------------------------------------------------------------------------------


def test_no_axiom_fits(tmp_path: Path) -> None:
    role = owl.ObjectProperty(T + "p")
    tbox = owl.TBox((owl.SubClassOf(STUDENT, owl.ObjectMaxCardinality(1, role)),), BOB.signature)
    found = plan(tbox, 2)
    assert (found.closure, [left.reason for left in found.left_out]) == (
        0,
        ["it bounds a number of successors"],
    )
    result = check_stream(found, STREAM)
    assert (result.spans, result.verdict, result.exit_code) == ((), Verdict.UNDETERMINED, 3)
    assert check_stream(plan(tbox, 2, allow=("outside-dl-lite",)), STREAM).exit_code == 0


def test_a_source_cut_in_mid_line(onto: str, tmp_path: Path) -> None:
    source = tmp_path / "e.jsonl"
    source.write_text(
        "".join(json.dumps(item) + "\n" for item in STREAM[:2]) + json.dumps(STREAM[2])[:-20]
    )
    rejects = tmp_path / "rejects.jsonl"
    asked = (
        "consistency",
        "--tbox",
        onto,
        "--window",
        "2",
        "--source",
        str(source),
        "-q",
        "--rejects",
        str(rejects),
    )
    assert ran(*asked) == 3
    assert [(row["kind"], row["line"]) for row in read(rejects)] == [("malformed", 3)]


def test_outputs_that_cannot_be_written(
    onto: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = lines(tmp_path / "e.jsonl", *STREAM)
    for out, code in (("/dev/full", 4), (str(tmp_path / "no" / "such" / "folder.jsonl"), 2)):
        assert (
            ran(
                "consistency",
                "--tbox",
                onto,
                "--window",
                "2",
                "--source",
                source,
                "-q",
                "--to",
                "9",
                "--out",
                out,
            )
            == code
        )
        assert out in capsys.readouterr().err


def test_packed_sources_folders_and_several_say_the_same(onto: str, tmp_path: Path) -> None:
    import gzip

    whole = lines(tmp_path / "whole.jsonl", *STREAM)
    (tmp_path / "packed.jsonl.gz").write_bytes(gzip.compress(Path(whole).read_bytes()))
    (tmp_path / "folder").mkdir()
    for number, item in enumerate(STREAM):
        lines(tmp_path / "folder" / f"{number}.jsonl", item)
    each = [str(tmp_path / "folder" / f"{number}.jsonl") for number in range(3)]
    told = []
    for names in ([whole], [str(tmp_path / "packed.jsonl.gz")], [str(tmp_path / "folder")], each):
        out = tmp_path / "rows.jsonl"
        sources = [word for name in names for word in ("--source", name)]
        assert (
            ran(
                "consistency",
                "--tbox",
                onto,
                "--window",
                "2",
                "--to",
                "9",
                *sources,
                "-q",
                "--out",
                str(out),
            )
            == 1
        )
        told.append(read(out))
    assert [len(rows) for rows in told] == [1] * 4
    assert all(rows == told[0] for rows in told)
