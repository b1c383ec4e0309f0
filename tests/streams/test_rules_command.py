"""``shiq stream rules``: sources and rows, exit codes, checkpoints and kills, rows of other
streams, explanations.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from shiq.streams.front.local import LocalRunner
from tests.command_line import shiq

RULES = "c(X) :- b(X) at least 2 in [3]. #temp d(N) :- b(X) count N in [5]. e(X) :- c(X) in [2], not b(X). n(S) :- #sum{N:d(N)}=S.\n"  # noqa: E501


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "a.lp"
    path.write_text(RULES)
    return path


def log(path: Path, points: int, seed: int = 0) -> Path:
    draw = random.Random(seed)
    lines = [
        f"{t} {'; '.join(f'b({draw.randrange(6)})' for _ in range(draw.randrange(4)))}"
        for t in range(points)
    ]
    lines[points // 2] += "; b(X)"
    path.write_text("\n".join(lines) + "\n")
    return path


def rows(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_rows_and_exit_codes(program: Path, tmp_path: Path) -> None:
    (tmp_path / "in.log").write_text(
        '2020-05-26T12:15:51 b(1); b("a b");\n2020-05-26T12:15:53 b(1); b("a b")\n'
    )
    done = shiq("stream", "rules", program, "--source", tmp_path / "in.log", "--show", "all", "-q")
    start = 1590495351
    assert done.returncode == 0
    first = ["b(1)", 'b("a b")', "d(1)", "n(1)"]
    last = ["b(1)", 'b("a b")', "c(1)", 'c("a b")', "d(2)", "n(2)"]
    assert rows(done.stdout) == [
        {"t": start, "atoms": sorted(first)},
        {"t": start + 1, "atoms": ["d(1)", "n(1)"]},
        {"t": start + 2, "atoms": sorted(last)},
    ]
    bad = tmp_path / "bad.lp"
    bad.write_text("a(X) :- b.\n")
    refused = shiq("stream", "rules", bad, "--source", tmp_path / "in.log")
    assert refused.returncode == 4 and f"{bad}:1:3: unsafe" in refused.stderr
    assert shiq("stream", "rules", program).returncode == 2
    assert (
        shiq("stream", "rules", program, "-s", tmp_path / "in.log", "--why", "c(1)").returncode == 2
    )
    assert shiq("stream", "rules", program, "-s", tmp_path / "none.log").returncode == 4
    none = shiq(
        "stream", "rules", program, "-s", tmp_path / "in.log", "--python", tmp_path / "no.py"
    )
    assert (
        none.returncode == 4
        and f"{tmp_path / 'no.py'}, the file of functions, cannot be read: No such file"
        in none.stderr
    )
    nothing = tmp_path / "nothing.log"
    nothing.write_text("")
    assert shiq("stream", "rules", program, "-s", nothing).returncode == 0
    assert shiq("stream", "rules", program, "-s", nothing, "--require-nonempty").returncode == 4
    bad.write_text("% no rule\n")
    empty = shiq("stream", "rules", bad, "-s", tmp_path / "in.log")
    assert (empty.returncode, empty.stdout) == (4, "") and f"{bad}: no rule in it" in empty.stderr


def test_what_cannot_be_read_is_rejected(program: Path, tmp_path: Path) -> None:
    lines = [
        "3 b(1); b(X)",
        '{"t": 4, "atoms": ["b(1)", "c d"]}',
        "soon b(1)",
        "2 b(1)",
        "300000 b(1)",
        '{"t": 5',
        "5",
    ]
    (tmp_path / "in").write_text("\n".join(lines) + "\n")
    out = tmp_path / "rejects.jsonl"
    done = shiq(
        "stream",
        "rules",
        program,
        "-s",
        tmp_path / "in",
        "--rejects",
        out,
        "--json",
        tmp_path / "r.json",
        "-q",
    )
    assert done.returncode == 3
    assert [row["t"] for row in rows(done.stdout)] == [3, 4, 5]
    kinds = [(row["kind"], row["line"], row["text"]) for row in rows(out.read_text())]
    assert kinds == [
        ("malformed", 1, "b(X)"),
        ("malformed", 2, "c d"),
        ("malformed", 3, "soon b(1)"),
        ("late", 4, "2 b(1)"),
        ("ahead", 5, "300000 b(1)"),
        ("malformed", 6, '{"t": 5'),
    ]
    figures = json.loads((tmp_path / "r.json").read_text())
    assert figures["verdict"] is None and len(figures["leftovers"]) == 6
    told = figures["statistics"]
    assert (told["points"], told["atoms"], told["rejected"], told["late"], told["shards"]) == (
        3,
        2,
        4,
        2,
        1,
    )
    (tmp_path / "in").write_text("no\nline\n")
    assert shiq("stream", "rules", program, "-s", tmp_path / "in").returncode == 4


def test_sources_are_merged_by_time(program: Path, tmp_path: Path) -> None:
    (tmp_path / "one").write_text("0 b(1)\n3 b(1)\n5\n")
    (tmp_path / "two").write_text('{"t": 1, "atoms": ["b(2)"]}\n{"t": 3, "atoms": ["b(2)"]}\n')
    done = shiq("stream", "rules", program, "-s", tmp_path / "one", "-s", tmp_path / "two", "-q")
    assert done.returncode == 0
    assert [row["t"] for row in rows(done.stdout) if "c(2)" in row["atoms"]] == [3, 4]


def test_a_pipe_of_two(tmp_path: Path) -> None:
    (tmp_path / "t.ofn").write_text(
        "Prefix(:=<urn:t#>)\nOntology(<urn:t>\nSubClassOf(:Student :Person)\nDisjointClasses(:Person :Publication)\n)\n"
    )
    isa = "<urn:t#bob> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:t#{}> ."
    events = [
        {"t": t, "triples": [isa.format(name)]}
        for t, name in ((1, "Student"), (4, "Publication"), (5, "Student"), (9, "Student"))
    ]
    (tmp_path / "e.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    out, runs = tmp_path / "rows.jsonl", tmp_path / "runs.jsonl"
    assert (
        shiq(
            "stream",
            "consistency",
            "-t",
            tmp_path / "t.ofn",
            "-s",
            tmp_path / "e.jsonl",
            "-w",
            2,
            "--out",
            out,
            "--verdicts",
            runs,
        ).returncode
        == 1
    )
    (tmp_path / "a.lp").write_text(
        "#rdf student/1 = <urn:t#Student>.\n#rdf alert/1 = <urn:t#Alert>.\n"
        "alert(X) :- conflict(X,<urn:t#Publication>) at least 2 in [3], verdict(inconsistent) in {1}, not student(X).\n"
    )
    given = [word for name in (out, runs, tmp_path / "e.jsonl") for word in ("-s", name)]
    quads = tmp_path / "alerts.nq"
    assert shiq("stream", "rules", tmp_path / "a.lp", *given, "--out", quads, "-q").returncode == 0
    isa_alert = isa.format("Alert").removesuffix(" .")
    assert quads.read_text() == "".join(f"{isa_alert} <urn:shiq:point:{t}> .\n" for t in (6, 7))
    enriched = {
        "line": 1,
        "t": 3,
        "verdict": "consistent",
        "types": {"urn:t#bob": ["urn:t#Student", "urn:t#Person"]},
    }
    (tmp_path / "types.jsonl").write_text(json.dumps(enriched) + "\n")
    done = shiq(
        "stream", "rules", tmp_path / "a.lp", "-s", tmp_path / "types.jsonl", "--show", "all", "-q"
    )
    assert rows(done.stdout) == [{"t": 3, "atoms": ["student(<urn:t#bob>)"]}]


def test_rows_with_spans_in_a_packed_file(tmp_path: Path) -> None:
    (tmp_path / "a.lp").write_text("v(X) :- verdict(X). c(X) :- conflict(_,X).\n")
    given = [
        {"from": 0, "to": 1, "verdict": "consistent"},
        {"from": 3, "to": 2, "verdict": "inconsistent"},
        {"individual": "urn:a", "from": 0, "to": 0, "conflict": ["∃urn:r"], "final": True},
    ]
    lines = "".join(json.dumps(row) + "\n" for row in given).encode()
    (tmp_path / "runs.gz").write_bytes(gzip.compress(lines))
    done = shiq(
        "stream",
        "rules",
        tmp_path / "a.lp",
        "-s",
        tmp_path / "runs.gz",
        "-q",
        "--rejects",
        tmp_path / "rejects",
    )
    assert rows(done.stdout) == [
        {"t": 0, "atoms": ['c("∃urn:r")', "v(consistent)"]},
        {"t": 1, "atoms": ["v(consistent)"]},
    ]
    (rejected,) = rows((tmp_path / "rejects").read_text())
    assert (
        done.returncode == 3
        and rejected["line"] == 2
        and "ends before it begins" in rejected["reason"]
    )


def test_a_graph_that_cannot_be_written(program: Path, tmp_path: Path) -> None:
    done = shiq("stream", "rules", program, "--graph", tmp_path / "none" / "g.dot")
    assert (
        done.returncode == 2
        and "g.dot: there is no folder" in done.stderr
        and "Traceback" not in done.stderr
    )


def test_halves_of_characters_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "a.lp").write_text("c(X) :- b(X).\n")
    (tmp_path / "in").write_text('{"t": 0, "atoms": ["b(\\"\\ud800\\")", "b(1)"]}\n')
    done = shiq(
        "stream",
        "rules",
        tmp_path / "a.lp",
        "-s",
        tmp_path / "in",
        "-q",
        "--rejects",
        tmp_path / "rejects",
    )
    assert done.returncode == 3 and rows(done.stdout) == [{"t": 0, "atoms": ["c(1)"]}]
    assert [row["text"] for row in rows((tmp_path / "rejects").read_text())] == ['b("\\ud800")']


def test_a_checkpoint_is_of_its_functions(tmp_path: Path) -> None:
    (tmp_path / "a.lp").write_text("c(Y) :- b(X), &f(X;Y).\n")
    (tmp_path / "in").write_text("0 b(1)\n")
    command = [
        "stream",
        "rules",
        tmp_path / "a.lp",
        "-s",
        tmp_path / "in",
        "--out",
        tmp_path / "out",
        "-q",
    ]
    command += ["--python", tmp_path / "f.py", "--checkpoint", tmp_path / "kept"]
    codes = []
    for text in ("def f(x): return x", "def f(x): return x", "def f(x): return x + 1"):
        (tmp_path / "f.py").write_text(text)
        codes.append(shiq(*command).returncode)
    assert codes == [0, 0, 4]


def test_literals_as_constants(tmp_path: Path) -> None:
    xsd = "http://www.w3.org/2001/XMLSchema#"
    (tmp_path / "a.lp").write_text("#rdf p/2 = <urn:p> scale 10. q(X) :- p(<urn:s>,X).\n")
    values = [
        f'"7"^^<{xsd}integer>',
        f'"2.50"^^<{xsd}decimal>',
        f'"1e2"^^<{xsd}double>',
        f'"1970-01-01T00:01:00Z"^^<{xsd}dateTime>',
        '"a \\"b\\" \\u00e9"@en',
        "<urn:o>",
        "_:b",
        f'"2.55"^^<{xsd}decimal>',
        f'"NaN"^^<{xsd}double>',
        f'"x"^^<{xsd}integer>',
        f'"1_000"^^<{xsd}integer>',
        f'"１２"^^<{xsd}integer>',
        f'"1e3"^^<{xsd}decimal>',
        f'"1e999999999"^^<{xsd}double>',
        f'"1e-999999999"^^<{xsd}double>',
        f'"1e99999"^^<{xsd}double>',
        '"\\ud800"',
        '"\\U00110000"',
        f'"300"^^<{xsd}byte>',
        f'"-1"^^<{xsd}unsignedLong>',
        f'"127"^^<{xsd}byte>',
        f'"INF"^^<{xsd}double>',
        '"\\x"',
    ]
    (tmp_path / "e").write_text(
        json.dumps(
            {"t": 0, "triples": [*(f"<urn:s> <urn:p> {value} ." for value in values), "<a> ."]}
        )
        + "\n"
    )
    done = shiq(
        "stream",
        "rules",
        tmp_path / "a.lp",
        "-s",
        tmp_path / "e",
        "-q",
        "--rejects",
        tmp_path / "rejects",
    )
    assert done.returncode == 3
    wanted = [
        "q(7)",
        "q(25)",
        "q(1000)",
        "q(60)",
        "q(127)",
        'q("a \\"b\\" é")',
        "q(<urn:o>)",
        'q("_:b")',
    ]
    assert rows(done.stdout) == [{"t": 0, "atoms": sorted(wanted)}]
    reasons = [row["reason"] for row in rows((tmp_path / "rejects").read_text())]
    assert len(reasons) == 16
    assert sum("300" in reason and "byte" in reason for reason in reasons) == 1


def test_what_is_no_statement_is_said(tmp_path: Path) -> None:
    """An atom of a mapped predicate whose subject is an integer is no N-Quads statement, and is
    not left out in silence.
    """
    (tmp_path / "a.lp").write_text(
        "#rdf p/2 = <urn:p>. #rdf c/1 = <urn:C>. p(X,Y) :- a(X,Y). c(X) :- a(X,_). o(X) :- a(X,_).\n"
    )
    (tmp_path / "log").write_text('0 a(<urn:s>,1); a(7,2)\n1 a("_:b",3)\n')
    out, report = tmp_path / "out.nq", tmp_path / "report.json"
    done = shiq(
        "stream", "rules", tmp_path / "a.lp", "-s", tmp_path / "log", "--out", out, "--json", report
    )
    assert done.returncode == 3
    assert len(out.read_text().splitlines()) == 4
    told = json.loads(report.read_text())
    assert [(row["kind"], row["text"]) for row in told["leftovers"]] == [
        ("unwritable", "c(7)"),
        ("unwritable", "p(7,2)"),
    ]
    assert told["statistics"]["unwritable"] == 2
    assert "2 unwritable" in done.stdout


def test_shards_give_the_same_lines(tmp_path: Path) -> None:
    keyed = tmp_path / "keyed.lp"
    keyed.write_text("c(X) :- b(X) at least 2 in [3]. e(X) :- c(X) in [2], not b(X).\n")
    log(tmp_path / "in", 40)
    one = shiq("stream", "rules", keyed, "-s", tmp_path / "in", "-q")
    three = shiq("stream", "rules", keyed, "-s", tmp_path / "in", "--shards", 3)
    assert one.stdout == three.stdout and "3 shards" in three.stderr
    tail = tmp_path / "tail"
    tail.write_text("41 b(1)\n42 @end\n")
    followed = ("stream", "rules", keyed, "-s", tmp_path / "in", "-s", tail, "-q")
    assert shiq(*followed).stdout == shiq(*followed, "--shards", 3).stdout
    keyed.write_text("c :- b(X) in [3].\n")
    none = shiq("stream", "rules", keyed, "-s", tmp_path / "in", "--shards", 3)
    assert f"no key: {keyed}:1:1: c :- b(X) in [3]." in none.stderr and "1 shard;" in none.stderr


def test_shards_are_processes_that_fail_and_go_on_as_one_does(tmp_path: Path) -> None:
    keyed, python = tmp_path / "keyed.lp", tmp_path / "f.py"
    python.write_text("import os\nprint('loud')\ndef own(x): return os.getpid()\n")
    keyed.write_text("p(X,Y) :- b(X), &own(X;Y).\n")
    (tmp_path / "in").write_text("0 " + "; ".join(f"b({n})" for n in range(1, 13)) + "\n")
    asked = ["stream", "rules", keyed, "-s", tmp_path / "in", "--python", python, "-q"]
    done = shiq(*asked, "--shards", 3)
    assert done.returncode == 0, done.stderr
    (row,) = [json.loads(line) for line in done.stdout.splitlines() if line != "loud"]
    assert len(row["atoms"]) == 12
    assert len({atom.split(",")[1] for atom in row["atoms"]}) == 3
    python.write_text("def own(x): return 7 // (x - 3)\n")
    (tmp_path / "in").write_text("0 b(1); b(2)\n1 b(4)\n2 b(3); b(5)\n3 b(1)\n")
    one, three = shiq(*asked), shiq(*asked, "--shards", 3)
    assert one.returncode == three.returncode == 4
    assert one.stdout == three.stdout and three.stdout.count("\n") == 2
    assert one.stderr == three.stderr


def test_explain_graph_and_why(program: Path, tmp_path: Path) -> None:
    told = shiq("stream", "rules", program, "--explain", "--graph", tmp_path / "g.dot")
    assert told.returncode == 0
    for said in ("b_aux1/1", "c(X) :- b_aux1(X).", "c/1 < e/1", "Macro-nodes", "b/1: 5", "no key:"):
        assert said in told.stdout
    assert '"c/1" -> "e/1" [label="<"];' in (tmp_path / "g.dot").read_text()
    (tmp_path / "in").write_text("0 b(1)\n1 b(1)\n2\n")
    why = shiq(
        "stream",
        "rules",
        program,
        "-s",
        tmp_path / "in",
        "--why",
        "e(1)",
        "--at",
        2,
        "--json",
        tmp_path / "w.json",
        "-q",
    )
    assert why.returncode == 0
    for said in (
        "e(1) at 2",
        "line 1: e(X) :- c(X) in [2], not b(X).",
        "counted at 1, 2 of 3 observed",
        "not b(1)   (absent)",
    ):
        assert said in why.stdout
    found = json.loads((tmp_path / "w.json").read_text())["explanation"]
    assert (found["atom"], found["by"], found["bindings"]) == ("e(1)", "rule", {"X": "1"})
    not_so = shiq("stream", "rules", program, "-s", tmp_path / "in", "--why", "e(2)", "--at", 2)
    assert not_so.stdout == "e(2) does not hold at 2\n"
    for asked, near in (("ee(2)", "e/1"), ("b(1, 2)", "b/1")):
        unknown = shiq("stream", "rules", program, "-s", tmp_path / "in", "--why", asked, "--at", 2)
        assert unknown.returncode == 2 and f"Did you mean {near}?" in unknown.stderr
    assert (
        shiq(
            "stream", "rules", program, "-s", tmp_path / "in", "--why", "e(1)", "--at", 9
        ).returncode
        == 4
    )


# --- runs that survive


def _command(program: Path, *more: object) -> list[object]:
    outputs = ("--out", "out.jsonl", "--rejects", "rejects.jsonl", "--checkpoint", "state")
    return ["stream", "rules", program, "-s", "in", *outputs, "-q", *more]


def _written(folder: Path) -> tuple[bytes, bytes]:
    return (folder / "out.jsonl").read_bytes(), (folder / "rejects.jsonl").read_bytes()


class Killed(BaseException):
    """The process ends here."""


def test_a_run_that_dies_anywhere_writes_the_same(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shiq.streams.front.checkpoint.POINTS_PER_CHECKPOINT", 7)
    log(tmp_path / "in", 60)
    whole = tmp_path / "whole"
    whole.mkdir()
    (whole / "in").write_bytes((tmp_path / "in").read_bytes())
    assert shiq(*_command(program), cwd=whole).returncode == 3
    take, draw = LocalRunner.process, random.Random(1)
    for _ in range(4):
        left = iter(range(draw.randrange(40)))

        def dying(self: LocalRunner[Any], record: Any) -> bool:
            if next(left, None) is None:  # noqa: B023 - one at a time
                raise Killed
            return take(self, record)

        with monkeypatch.context() as patch, suppress(Killed):
            patch.setattr(LocalRunner, "process", dying)
            shiq(*_command(program), cwd=tmp_path)
    assert shiq(*_command(program), cwd=tmp_path).returncode == 3
    assert _written(tmp_path) == _written(whole)
    refused = shiq(*_command(program, "--timeline", "on-input"), cwd=tmp_path)
    assert refused.returncode == 4 and "timeline" in refused.stderr
    program.write_text(RULES + "z :- b(1).")
    assert shiq(*_command(program), cwd=tmp_path).returncode == 4
    for state in (tmp_path / "state").glob("state-*"):
        state.write_bytes(state.read_bytes()[:20])
    program.write_text(RULES)
    damaged = shiq(*_command(program), cwd=tmp_path)
    assert damaged.returncode == 4 and "damaged" in damaged.stderr


@pytest.mark.slow
def test_random_kills(program: Path, tmp_path: Path) -> None:
    draw = random.Random(2)
    log(tmp_path / "in", 30_000)
    whole = tmp_path / "whole"
    whole.mkdir()
    (whole / "in").write_bytes((tmp_path / "in").read_bytes())
    command = [sys.executable, "-m", "shiq"]
    begun = time.monotonic()
    subprocess.run([*command, *map(str, _command(program))], check=False, cwd=whole)
    usual = time.monotonic() - begun
    killed = 0
    for _ in range(25):
        with subprocess.Popen([*command, *map(str, _command(program))], cwd=tmp_path) as child:
            time.sleep(draw.uniform(0.3, 0.3 + usual / 8))
            killed += child.poll() is None
            with suppress(ProcessLookupError):
                os.kill(child.pid, signal.SIGKILL)
    assert killed > 5
    subprocess.run([*command, *map(str, _command(program))], check=False, cwd=tmp_path)
    assert _written(tmp_path) == _written(whole)


def test_a_full_disk_and_a_closed_pipe(program: Path, tmp_path: Path) -> None:
    log(tmp_path / "in", 3000)
    full = shiq("stream", "rules", program, "-s", tmp_path / "in", "--out", "/dev/full", "-q")
    assert full.returncode == 4 and "/dev/full" in full.stderr
    command = [
        sys.executable,
        "-m",
        "shiq",
        "stream",
        "rules",
        str(program),
        "-s",
        str(tmp_path / "in"),
        "-q",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stderr is not None
        child.stdout.readline()
        child.stdout.close()
        assert b"Traceback" not in child.stderr.read()
    assert child.returncode == 4
