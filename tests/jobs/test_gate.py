"""The gate: what is accepted, what is set aside, and that nothing is lost."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import json
import lzma
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from click.testing import CliRunner, Result

from shiq.api import certify
from shiq.jobs.checking.deciding import deadline_of
from shiq.jobs.checking.options import Options
from shiq.jobs.cli import cli
from shiq.jobs.evaluation.lubm.generate import generate_lubm_data
from shiq.jobs.gate import decide
from shiq.jobs.gate.lines import read_lines
from tests.time_limits import ring_at_call

PREFIX = "http://ex.org/"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
TBOX = f"""Prefix(:=<{PREFIX}>)
Ontology(
Declaration(Class(:Cat)) Declaration(Class(:Dog)) Declaration(ObjectProperty(:likes)) Declaration(DataProperty(:age))
DisjointClasses(:Cat :Dog) ObjectPropertyRange(:likes :Cat) FunctionalDataProperty(:age)
)
"""


def t(s: str, p: str, o: str) -> str:
    def term(name: str) -> str:
        return name if name[0] in '<"_' else f"<{PREFIX}{name}>"

    return f"{term(s)} {term(p)} {term(o)} ."


def a(s: str, c: str) -> str:
    return t(s, TYPE, c)


BASE = [
    a("rex", "Dog"),
    a("tom", "Cat"),
    t("tom", "age", '"3"^^<http://www.w3.org/2001/XMLSchema#integer>'),
]


@pytest.fixture
def kg(tmp_path: Path) -> Path:
    (tmp_path / "t.ofn").write_text(TBOX)
    (tmp_path / "a.nt").write_text("\n".join(BASE) + "\n")
    run("index", "--tbox", tmp_path / "t.ofn", "--store", tmp_path / "kg", tmp_path / "a.nt")
    return tmp_path / "kg"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(x) for x in arguments], standalone_mode=False)


def gate(
    kg: Path, lines: Sequence[str] | bytes, *more: object, name: str = "batch.nt"
) -> tuple[int, bytes, bytes, dict[str, object]]:
    """Exit code, accepted, quarantine, JSON."""
    folder = kg.parent
    data = lines if isinstance(lines, bytes) else "".join(f"{line}\n" for line in lines).encode()
    (folder / name).write_bytes(PACKED.get(name[-4:], bytes)(data))
    sides = [
        "--accepted",
        folder / "good.nt",
        "--quarantine",
        folder / "bad.nt",
        "--json",
        folder / "v.json",
        "-q",
    ]
    result = run(
        "gate", "--store", kg, "--insert", folder / name, *sides, "--reasoner", "own", *more
    )
    assert result.exception is None, result.exception
    code = result.return_value
    return (
        code,
        (folder / "good.nt").read_bytes(),
        (folder / "bad.nt").read_bytes(),
        json.loads((folder / "v.json").read_text()),
    )


def lines_of(data: bytes) -> list[str]:
    return data.decode().splitlines()


PACKED = {"t.gz": gzip.compress, "q.gz": gzip.compress, ".bz2": bz2.compress}
GOOD = [a("ann", "Cat"), t("ann", "likes", "tom"), "# a comment"]
BAD = [a("rex", "Cat"), t("ann", "likes", "rex")]


def test_a_good_batch_is_accepted_whole(kg: Path) -> None:
    code, good, bad, said = gate(kg, GOOD, "--mode", "split")
    assert (code, lines_of(good), bad, said["outcome"]) == (0, GOOD, b"", "accepted")


def test_what_was_allowed_of_the_base_is_not_asked_about_again(kg: Path) -> None:
    folder = kg.parent
    broken, odd = "<http://ex.org/a b> nothing", t("rex", "hunts", "tom")
    (folder / "a.nt").write_text("\n".join([*BASE, broken, odd]) + "\n")
    index = (
        "index",
        "--tbox",
        folder / "t.ofn",
        "--store",
        kg,
        folder / "a.nt",
        "--reasoner",
        "own",
        "-q",
    )
    assert run(*index, "--replace=always").return_value == 3
    assert gate(kg, GOOD)[0] == 3
    assert (
        run(*index, "--replace", "--allow", "malformed", "--allow", "undeclared").return_value == 0
    )
    for turn in range(2):  # a commit in between does not forget it
        code, _, _, said = gate(kg, [*GOOD, a(f"new{turn}", "Cat")], "--commit")
        found = said["result"]["evidence"]["leftovers"]  # type: ignore[index]
        assert (code, [(x["kind"], x.get("agreed")) for x in found]) == (
            0,
            [("malformed", True), ("undeclared", True)],
        )
    certified = json.loads((kg / "store.json").read_text())["certificate"]
    assert (certified["allowed"], certified["counts"]) == (
        ["malformed", "undeclared"],
        {"malformed": 1, "undeclared": 1},
    )
    assert "once for all: 1 malformed, 1 undeclared" in run("status", "--store", kg).output
    code, _, _, said = gate(kg, [*GOOD, odd])  # of the batch it is asked about
    assert (code, str(said["reason"])[:14], "batch.nt" in str(said["reason"])) == (
        3,
        "1 × undeclared",
        True,
    ), said["reason"]
    assert gate(kg, GOOD, "--fail-on", "undeclared")[0] == 3
    assert run("certify", "--store", kg, "-q", "--reasoner", "own").return_value == 0
    (folder / "t.ofn").write_text(
        TBOX.replace("Declaration(Class(:Cat))", "SubClassOf(:Cat ObjectHasValue(:likes :tom))")
    )
    anew = (
        "certify",
        "--store",
        kg,
        "--tbox",
        folder / "t.ofn",
        "-q",
        "--reasoner",
        "own",
        "--outside",
        "undetermined",
    )
    assert run(*anew).return_value == 3


def test_a_bad_batch_is_rejected_whole(kg: Path) -> None:
    code, good, bad, said = gate(kg, [*GOOD, *BAD])
    assert (code, good, lines_of(bad), said["outcome"]) == (1, b"", [*GOOD, *BAD], "refused")
    assert len(said["conflicts"]) == 2  # type: ignore[arg-type]


def test_a_bad_batch_is_split(kg: Path) -> None:
    code, good, bad, said = gate(kg, [BAD[0], *GOOD, BAD[1]], "--mode", "split")
    assert (code, lines_of(good), lines_of(bad), said["outcome"]) == (5, GOOD, BAD, "split")
    aside = said["set_aside"]
    assert [(x["line"], len(x["conflicts"])) for x in aside] == [(1, 1), (5, 1)]  # type: ignore[attr-defined]
    assert said["result"]["verdict"] == "consistent"  # type: ignore[index]


def test_all_insertions_of_a_conflict_are_set_aside(kg: Path) -> None:
    """Nothing tells which of the two is wrong."""
    both = [a("new", "Cat"), a("new", "Dog")]
    code, good, bad, _ = gate(kg, [*both, *GOOD], "--mode", "split")
    assert (code, lines_of(good), lines_of(bad)) == (5, GOOD, both)


def test_lines_that_are_no_triples_are_set_aside(kg: Path) -> None:
    broken = [f"<{PREFIX}x> <{PREFIX}likes> .", "no triple at all"]
    code, good, bad, said = gate(kg, [broken[0], *GOOD, broken[1]], "--mode", "split")
    assert (code, lines_of(good), lines_of(bad)) == (5, GOOD, broken)
    reasons = [x["reason"] for x in said["set_aside"]]  # type: ignore[attr-defined]
    assert all(reason.startswith("not a triple: ") and "line 1" not in reason for reason in reasons)
    assert gate(kg, [*GOOD, *broken])[0] == 3


def test_what_is_not_understood_refuses_the_batch_or_is_set_aside(kg: Path) -> None:
    batch = [*GOOD, t("ann", "lieks", "tom")]
    code, good, _, said = gate(kg, batch)
    assert (code, good, said["outcome"], said["verdict"]) == (3, b"", "refused", "undetermined")
    code, good, bad, said = gate(kg, batch, "--mode", "split")
    assert (code, lines_of(good), lines_of(bad), said["outcome"], said["verdict"]) == (
        5,
        GOOD,
        batch[3:],
        "split",
        "undetermined",
    )
    row = {"kind": "undeclared", "reason": f"the TBox does not know the property <{PREFIX}lieks>"}
    why = json.loads((kg.parent / "bad.nt.why.json").read_text())["set_aside"][0]
    assert row.items() <= why.items() and f"<{PREFIX}likes>" in why["hint"]
    assert gate(kg, batch, "--mode", "split", "--allow", "undeclared")[0] == 0


def test_spelling_and_blank_nodes(kg: Path) -> None:
    odd = [
        f'<{PREFIX}tom>\t<{PREFIX}age> "4"^^<http://www.w3.org/2001/XMLSchema#integer>.',
        f"<{PREFIX}\\u0072ex> {TYPE} <{PREFIX}Cat> . # a dog",
        f"_:b1.x {TYPE} <{PREFIX}Cat> .",
        f"_:b1.x {TYPE} <{PREFIX}Dog> .",
        f"_:i1.b {TYPE} <{PREFIX}Cat> .",
        f"<{PREFIX}ann> <{PREFIX}likes> _:i1.b .",
    ]
    code, good, bad, _ = gate(kg, odd, "--mode", "split")
    assert (code, lines_of(good), lines_of(bad)) == (5, odd[4:], odd[:4])


@pytest.mark.parametrize(("unit", "aside"), [("subject", {0, 1, 2}), ("document", {0, 1, 2, 3, 4})])
def test_what_goes_with_a_culprit(kg: Path, unit: str, aside: set[int]) -> None:
    batch = [
        a("ann", "Cat"),
        t("ann", "likes", "rex"),
        t("ann", "likes", "tom"),
        a("bob", "Cat"),
        t("bob", "likes", "tom"),
    ]
    _, good, bad, _ = gate(kg, batch, "--mode", "split", "--unit", unit)
    assert lines_of(bad) == [line for i, line in enumerate(batch) if i in aside]
    assert lines_of(good) == [line for i, line in enumerate(batch) if i not in aside]


def test_bytes_are_kept(kg: Path) -> None:
    data = "\r\n".join([*GOOD, *BAD, a("ann", "Cat")]).encode()
    for name in ("batch.nt", "batch.nt.gz", "batch.nt.bz2"):
        _, good, bad, _ = gate(kg, data, "--mode", "split", name=name)
        assert Counter((good + b"\n" + bad).split(b"\n")) - Counter({b"": 9}) == Counter(
            data.split(b"\n")
        )


def test_commit_takes_the_accepted_part(kg: Path) -> None:
    code, _, bad, said = gate(kg, [*GOOD, *BAD], "--mode", "split", "--commit")
    assert code == 5 and said["result"]["committed"] == 2  # type: ignore[index]
    kept = run("export", "--store", kg).output.splitlines()
    assert set(kept) == {*BASE, *GOOD[:2]}
    assert gate(kg, bad, "--mode", "split", "--commit")[1:3] == (b"", bad)
    assert gate(kg, BAD, "--mode", "reject", "--commit")[0] == 1
    assert run("export", "--store", kg).output.splitlines() == kept


def test_several_files(kg: Path) -> None:
    """Blank nodes of two files are different nodes, so each comes back as a file of its own."""
    folder = kg.parent
    for name, kind in (("one.nt", "Cat"), ("two.nt", "Dog")):
        (folder / name).write_text(f"_:x {TYPE} <{PREFIX}{kind}> .\n{a('rex', kind)}\n")
    sides = ["--accepted", folder / "good", "--quarantine", folder / "bad"]
    result = run(
        "gate",
        "-s",
        kg,
        "-i",
        folder / "one.nt",
        "-i",
        folder / "two.nt",
        "--mode",
        "split",
        *sides,
        "-q",
    )
    assert result.return_value == 5
    assert (folder / "good" / "0-one.nt").read_text() == f"_:x {TYPE} <{PREFIX}Cat> .\n"
    assert (folder / "bad" / "0-one.nt").read_text() == a("rex", "Cat") + "\n"
    assert (folder / "good" / "1-two.nt").read_text() == (folder / "two.nt").read_text()
    assert (folder / "bad" / "1-two.nt").read_text() == ""


def test_an_assertion_of_several_triples_goes_whole(kg: Path) -> None:
    negative = [
        "_:n " + TYPE + " <http://www.w3.org/2002/07/owl#NegativePropertyAssertion> .",
        f"_:n <http://www.w3.org/2002/07/owl#sourceIndividual> <{PREFIX}ann> .",
        f"_:n <http://www.w3.org/2002/07/owl#assertionProperty> <{PREFIX}likes> .",
        f"_:n <http://www.w3.org/2002/07/owl#targetIndividual> <{PREFIX}ann> .",
    ]
    base = kg.parent / "b.nt"
    base.write_text(t("ann", "likes", "ann") + "\n")
    assert run("check", "--store", kg, "--insert", base, "--commit", "-q").return_value == 0
    code, good, bad, said = gate(kg, [*GOOD, *negative], "--mode", "split")
    assert (code, lines_of(good), lines_of(bad), said["outcome"]) == (5, GOOD, negative, "split")


def test_a_graph_goes_as_a_whole(kg: Path) -> None:
    batch = [
        f"{a('ann', 'Cat')[:-2]} <urn:g1> .",
        f"{t('ann', 'likes', 'rex')[:-2]} <urn:g1> .",
        f"{a('bob', 'Cat')[:-2]} <urn:g2> . # fine",
        f"{t('ann', 'likes', 'rex')[:-2]} _:g .",
        t("bob", "likes", "tom"),
    ]
    for unit, aside in (("triple", {1, 3}), ("graph", {0, 1, 3})):
        for name in ("batch.nq", "batch.nq.gz"):
            code, good, bad, said = gate(kg, batch, "--mode", "split", "--unit", unit, name=name)
            assert code == 5
            assert lines_of(bad) == [line for i, line in enumerate(batch) if i in aside]
            assert lines_of(good) == [line for i, line in enumerate(batch) if i not in aside]
            assert said["conflicts"][0]["graphs"] == ["<urn:g1>", "_:i1.0.g"]  # type: ignore[index]
            assert said["conflicts"][0]["places"][0][0]["source"].endswith(f"/{name}")  # type: ignore[index]
            assert said["result"]["statistics"]["insertions"] == len(set(batch)) - len(aside)  # type: ignore[index]
    assert gate(kg, batch[2:3], name="batch.nq")[:2] == (0, batch[2].encode() + b"\n")


def test_messages_name_the_file_and_line_of_n_quads(kg: Path) -> None:
    batch = [
        "",
        "# quads",
        f"{a('ann', 'Cat')[:-2]} <urn:g> .",
        f"{t('ann', 'lieks', 'tom')[:-2]} <urn:g> .",
    ]
    code, _, _, said = gate(kg, batch, name="batch.nq")
    (leftover,) = said["result"]["evidence"]["leftovers"]  # type: ignore[index]
    assert (code, leftover["line"]) == (3, 4)
    assert leftover["source"].endswith("/batch.nq") and not Path(
        leftover["source"]
    ).name.startswith("0-")


@pytest.mark.parametrize("name", ["batch.ttl", "batch.trig", "batch.jsonld", "batch.rdf"])
def test_documents_come_out_as_n_quads(kg: Path, name: str) -> None:
    texts = {
        "batch.ttl": f"@prefix : <{PREFIX}> . :ann a :Cat ; :likes :rex, [ a :Cat ] .",
        "batch.trig": f"@prefix : <{PREFIX}> . :g {{ :ann a :Cat ; :likes :rex, [ a :Cat ] }}",
        "batch.jsonld": json.dumps(
            {
                "@context": {"@vocab": PREFIX, "@base": PREFIX, "likes": {"@type": "@id"}},
                "@id": "ann",
                "@type": "Cat",
                "likes": ["rex", {"@type": "Cat"}],
            }
        ),
        "batch.rdf": f'<rdf:RDF xmlns:rdf="{TYPE[1:-5]}" xmlns="{PREFIX}"><Cat rdf:about="{PREFIX}ann">'
        f'<likes rdf:resource="{PREFIX}rex"/><likes><Cat/></likes></Cat></rdf:RDF>',
    }
    (kg.parent / name).write_text(texts[name])
    graph = f" <{PREFIX}g>" if name == "batch.trig" else ""
    said = [
        f"{line[:-2]}{graph} ."
        for line in (a("ann", "Cat"), t("ann", "likes", "_:b1"), a("_:b1", "Cat"))
    ]
    code, good, bad, _ = gate(kg, texts[name].encode(), "--mode", "split", name=name)
    assert (code, lines_of(bad)) == (5, [f"{BAD[1][:-2]}{graph} ."])
    assert sorted(lines_of(good)) == sorted(said)
    assert gate(kg, texts[name].encode(), "--mode", "split", name=name)[1] == good


def test_a_table_comes_out_as_n_quads(kg: Path) -> None:
    rows = [
        *(line[:-2].split(" ", 2) for line in (*GOOD[:2], *BAD)),
        [None, TYPE, f"<{PREFIX}Cat>"],
    ]
    table = pa.table(
        {
            **{name: [row[i] for row in rows] for i, name in enumerate("spo")},
            "key": [*range(len(rows))],
        }
    )
    pq.write_table(table, kg.parent / "batch.parquet")
    content = (kg.parent / "batch.parquet").read_bytes()
    code, good, bad, said = gate(kg, content, "--mode", "split", name="batch.parquet")
    assert (code, sorted(lines_of(good))) == (5, sorted(GOOD[:2]))
    assert [line for line in lines_of(bad) if not line.startswith("? ")] == BAD
    assert f"a row without s (row key {len(rows) - 1})" in json.dumps(said)


def test_every_broken_row_of_a_table_comes_out_whole(kg: Path) -> None:
    """Readers tell of a thousand of them, and of the beginning of a long one."""
    rows = [(f"<{PREFIX}ann>", TYPE, b"'" + b"x" * 5000 + b"\xff%d" % i) for i in range(1500)]
    pq.write_table(
        pa.table({name: [row[i] for row in rows] for i, name in enumerate("spo")}),
        kg.parent / "batch.parquet",
    )
    code, good, bad, _ = gate(
        kg, (kg.parent / "batch.parquet").read_bytes(), "--mode", "split", name="batch.parquet"
    )
    assert (code, good, len(lines_of(bad))) == (1, b"", len(rows))
    assert all(
        len(line) > 5000 and line.endswith(f"{i}  .") for i, line in enumerate(lines_of(bad))
    )


def test_packed_lines_and_a_byte_order_mark(kg: Path) -> None:
    text = "\ufeff" + "".join(f"{line}\n" for line in (*GOOD, *BAD))
    code, good, bad, _ = gate(
        kg, lzma.compress(text.encode()), "--mode", "split", name="batch.nt.xz"
    )
    assert (code, sorted(lines_of(good)), sorted(lines_of(bad))) == (5, sorted(GOOD), sorted(BAD))
    code, good, bad, _ = gate(kg, text.encode(), "--mode", "split", name="batch.nt")
    assert (code, len(lines_of(good)), len(lines_of(bad))) == (5, len(GOOD), len(BAD))


def test_a_dry_run_writes_nothing(kg: Path) -> None:
    (kg.parent / "batch.nt").write_text("\n".join([*GOOD, *BAD]))
    sides = ["--accepted", kg.parent / "good.nt", "--quarantine", kg.parent / "bad.nt"]
    before = sorted(kg.rglob("*"))
    said = run(
        "gate",
        "-s",
        kg,
        "-i",
        kg.parent / "batch.nt",
        "--mode",
        "split",
        *sides,
        "--commit",
        "--dry-run",
        "-q",
    )
    assert said.return_value == 5 and said.output.startswith("SPLIT (dry run")
    assert (
        sorted(kg.rglob("*")) == before
        and not (kg.parent / "good.nt").exists()
        and not (kg.parent / "bad.nt").exists()
    )


def test_an_empty_batch_may_be_an_error(kg: Path) -> None:
    (kg.parent / "batch.nt").write_text("# nothing came\n")
    asked = ["gate", "--store", kg, "--insert", kg.parent / "batch.nt", "-q"]
    assert run(*asked).return_value == 0
    assert "has no triple" in str(run(*asked, "--require-nonempty").exception)


def test_why_lines_were_set_aside_is_kept_beside_them(kg: Path) -> None:
    _, _, bad, said = gate(kg, [*GOOD, *BAD], "--mode", "split")
    why = json.loads((kg.parent / "bad.nt.why.json").read_text())
    assert [(x["line"], x["text"]) for x in why["set_aside"]] == [(4, BAD[0]), (5, BAD[1])]
    assert why["files"] == {"bad.nt": hashlib.sha256(bad).hexdigest()} and why["run"] == said["run"]
    assert gate(kg, [*GOOD, *BAD], "--mode", "split")[3]["run"] == said["run"]
    assert gate(kg, [*GOOD, BAD[0]], "--mode", "split")[3]["run"] != said["run"]
    # Once what contradicted has gone, the quarantine is let in as it is.
    (kg.parent / "rex.nt").write_text(a("rex", "Dog") + "\n")
    assert gate(kg, bad, "--delete", kg.parent / "rex.nt", "--commit")[:3] == (0, bad, b"")


#: Runs the command line, and kills itself just before it puts a file in its place for the n-th
#: time.
CHILD = """
import os, signal, sys
from shiq.jobs.cli import cli
left, put = int(sys.argv[1]), os.replace
def replace(*arguments, **options):
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    put(*arguments, **options)
os.replace = replace
sys.exit(cli.main(sys.argv[2:], standalone_mode=False))
"""


@pytest.mark.slow
def test_a_killed_run_leaves_whole_files(kg: Path) -> None:
    """Killed at any moment: no side is half written, nothing is accepted before what was set
    aside is on disk, the store holds the batch only if both are there, and the same run again
    gives what an undisturbed one gives.
    """
    folder = kg.parent
    (folder / "batch.nt").write_text("".join(f"{line}\n" for line in [*GOOD, *BAD]))
    good, bad = (folder / "good.nt", folder / "bad.nt")
    asked = [
        "gate",
        "-s",
        kg,
        "-i",
        folder / "batch.nt",
        "--mode",
        "split",
        "--commit",
        "--reasoner",
        "own",
        "-q",
    ]
    shutil.copytree(kg, folder / "first")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    moments = []
    for moment in range(1, 30):
        for path in (good, bad):
            path.unlink(missing_ok=True)
        shutil.rmtree(kg)
        shutil.copytree(folder / "first", kg)
        command = [
            sys.executable,
            "-c",
            CHILD,
            moment,
            *asked,
            "--accepted",
            good,
            "--quarantine",
            bad,
        ]
        code = subprocess.run(
            [str(x) for x in command], check=False, env=environment, capture_output=True
        ).returncode
        kept = set(run("export", "--store", kg).output.splitlines())
        moments.append((bad.exists(), good.exists(), kept == {*BASE, *GOOD[:2]}))
        assert kept in (set(BASE), {*BASE, *GOOD[:2]})
        assert not bad.exists() or lines_of(bad.read_bytes()) == BAD
        assert not good.exists() or lines_of(good.read_bytes()) == GOOD
        if code == 5:
            break
        assert code == -signal.SIGKILL
        assert run(*asked, "--accepted", good, "--quarantine", bad).return_value == 5
        assert (lines_of(bad.read_bytes()), lines_of(good.read_bytes())) == (BAD, GOOD)
    # Each thing comes after the one before it, and stays.
    assert moments == sorted(moments) and set(moments) == {(i > 0, i > 1, i > 2) for i in range(4)}


def test_wrong_use(kg: Path) -> None:
    (kg.parent / "b.ofn").write_text("")
    assert "N-Triples" in str(run("gate", "--store", kg, "--insert", kg.parent / "b.ofn").exception)
    assert "none.nt" in str(run("gate", "--store", kg, "--insert", kg.parent / "none.nt").exception)
    (kg.parent / "b.ttl").write_text("no turtle")
    assert "not Turtle" in str(
        run("gate", "--store", kg, "--insert", kg.parent / "b.ttl").exception
    )
    (kg.parent / "b.ttl").write_text(f"<urn:a> a <{PREFIX}Cat> .\n<urn:a> a .")
    assert "Mend the file" in str(
        run("gate", "--store", kg, "--insert", kg.parent / "b.ttl").exception
    )
    (kg.parent / "b.jsonld").write_text(
        json.dumps({"@id": "urn:a", "@type": f"{PREFIX}Cat", "dropped": "x"})
    )
    assert "no context says what 'dropped' means" in str(
        run("gate", "--store", kg, "--insert", kg.parent / "b.jsonld").exception
    )
    (kg.parent / "b.rdf").write_text('<!DOCTYPE x [<!ENTITY a "1"><!ENTITY b "&a;&a;">]><x>&b;</x>')
    assert "entity" in str(run("gate", "--store", kg, "--insert", kg.parent / "b.rdf").exception)
    assert run("gate", "--store", kg).exception is not None


@pytest.mark.parametrize(
    "faults",
    [
        pytest.param(2, id="2"),
        pytest.param(200, id="200", marks=[pytest.mark.slow, pytest.mark.jvm]),
    ],
)
def test_planted_faults_of_lubm(tmp_path: Path, faults: int) -> None:
    """What is set aside is what was planted, whatever the order of the lines; nothing is lost;
    what is accepted is consistent from scratch: for many faults, by HermiT on all of it at once.
    """
    generate_lubm_data(1, 3, tmp_path, disjointness=True, faults=faults)
    (tmp_path / "base.nt").write_bytes(gzip.decompress((tmp_path / "abox.nt.gz").read_bytes()))
    run(
        "index",
        "--tbox",
        tmp_path / "tbox.owl",
        "--store",
        tmp_path / "kg",
        tmp_path / "base.nt",
        "-q",
    )
    batch = (tmp_path / "insert.nt").read_text().splitlines()
    culprits = set((tmp_path / "culprits.nt").read_text().splitlines())
    assert culprits
    sides: set[tuple[frozenset[str], frozenset[str]]] = set()
    for seed in range(3 if faults > 100 else 2):
        random.Random(seed).shuffle(batch)
        code, good, bad, _ = gate(tmp_path / "kg", batch, "--mode", "split")
        assert code == 5
        of_both = iter(batch)
        assert all(line in of_both for line in lines_of(good)), "the order of the batch is kept"
        assert Counter(lines_of(good)) + Counter(lines_of(bad)) == Counter(batch)
        sides.add((frozenset(lines_of(good)), frozenset(lines_of(bad))))
    assert len(sides) == 1 and next(iter(sides))[1] == culprits
    (tmp_path / "good.nt").write_bytes(good)
    how = (
        {"reasoner": "hermit", "criterion": "none", "heap": "3g"}
        if faults > 100
        else {"reasoner": "own"}
    )
    scratch = certify([tmp_path / "tbox.owl"], [tmp_path / "base.nt", tmp_path / "good.nt"], **how)
    assert scratch.verdict.value == "consistent"


def test_lines_with_terms_of_known_vocabularies_are_accepted(kg: Path) -> None:
    lines = [a("ann", "Cat"), t("ann", "<http://www.w3.org/2004/02/skos/core#prefLabel>", '"Ann"')]
    lines += [
        t("ann", f"<http://{name}>", '"2026"')
        for name in ("purl.org/dc/terms/created", "xmlns.com/foaf/0.1/name")
    ]
    lines += [
        a("ann", "<http://xmlns.com/foaf/0.1/Agent>"),
        t("ann", "<http://www.w3.org/ns/prov#wasDerivedFrom>", "tom"),
    ]
    code, good, bad, said = gate(kg, lines, "--mode", "split")
    assert (code, lines_of(good), bad, said["outcome"]) == (0, lines, b"", "accepted")
    code, good, bad, _ = gate(kg, [*lines, *BAD], "--mode", "split")
    assert (lines_of(good), lines_of(bad)) == (lines, BAD)


def test_the_time_counts_while_the_batch_is_read(kg: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch that is slow to be read is left open, and no side of it is written."""

    ring_at_call(monkeypatch, decide, "read_lines")
    folder = kg.parent
    (folder / "batch.nt").write_text(a("kit", "Cat"))
    sides = ["--accepted", folder / "good.nt", "--json", folder / "gate.json"]
    ran = run("gate", "-s", kg, "-i", folder / "batch.nt", "--timeout", "600", *sides)
    document = json.loads((folder / "gate.json").read_text())
    assert ran.return_value == 3 and not (folder / "good.nt").exists()
    assert (document["decision"], document["verdict"]) == ("refused", "undetermined")
    assert "the time of 600 s was over while reading the batch" in document["reason"]
    assert document["reason"] in ran.output


def test_reading_and_the_first_check_share_the_time(
    kg: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What reading took is not there for the first check."""
    began: list[float] = []

    def remember(options: Options, begun: float) -> object:
        began.append(begun)
        return deadline_of(options, begun)

    def read(source: object, i: int) -> object:
        began.append(time.monotonic())
        return read_lines(source, i)  # type: ignore[arg-type]

    monkeypatch.setattr("shiq.jobs.checking.deciding.deadline_of", remember)
    monkeypatch.setattr("shiq.jobs.gate.decide.read_lines", read)
    assert gate(kg, [a("kit", "Cat")], "--timeout", "60")[0] == 0
    assert began[1] < began[0]
