"""The gate: what is accepted, what is set aside, and that nothing is lost."""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from jobs.cli import cli
from jobs.evaluation.lubm.generate import generate
from shiq.check import certify

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


BASE = [a("rex", "Dog"), a("tom", "Cat"), t("tom", "age", '"3"^^<http://www.w3.org/2001/XMLSchema#integer>')]


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
    (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    sides = ["--accepted", folder / "good.nt", "--quarantine", folder / "bad.nt", "--json", folder / "v.json", "-q"]
    result = run("gate", "--store", kg, "--insert", folder / name, *sides, "--reasoner", "own", *more)
    assert result.exception is None, result.exception
    code = result.return_value
    return code, (folder / "good.nt").read_bytes(), (folder / "bad.nt").read_bytes(), json.loads((folder / "v.json").read_text())


def lines_of(data: bytes) -> list[str]:
    return data.decode().splitlines()


GOOD = [a("ann", "Cat"), t("ann", "likes", "tom"), "# a comment"]
BAD = [a("rex", "Cat"), t("ann", "likes", "rex")]


def test_a_good_batch_is_accepted_whole(kg: Path) -> None:
    code, good, bad, said = gate(kg, GOOD, "--mode", "split")
    assert (code, lines_of(good), bad, said["decision"]) == (0, GOOD, b"", "accepted")


def test_a_bad_batch_is_rejected_whole(kg: Path) -> None:
    code, good, bad, said = gate(kg, [*GOOD, *BAD])
    assert (code, good, lines_of(bad), said["decision"]) == (1, b"", [*GOOD, *BAD], "refused")
    assert len(said["conflicts"]) == 2  # type: ignore[arg-type]


def test_a_bad_batch_is_split(kg: Path) -> None:
    code, good, bad, said = gate(kg, [BAD[0], *GOOD, BAD[1]], "--mode", "split")
    assert (code, lines_of(good), lines_of(bad), said["decision"]) == (1, GOOD, BAD, "split")
    aside = said["set_aside"]
    assert [(x["line"], len(x["conflicts"])) for x in aside] == [(1, 1), (5, 1)]  # type: ignore[attr-defined]
    assert said["result"]["verdict"] == "consistent"  # type: ignore[index]


def test_all_insertions_of_a_conflict_are_set_aside(kg: Path) -> None:
    """Nothing tells which of the two is wrong."""
    both = [a("new", "Cat"), a("new", "Dog")]
    code, good, bad, _ = gate(kg, [*both, *GOOD], "--mode", "split")
    assert (code, lines_of(good), lines_of(bad)) == (1, GOOD, both)


def test_lines_that_are_no_triples_are_set_aside(kg: Path) -> None:
    broken = [f"<{PREFIX}x> <{PREFIX}likes> .", "no triple at all"]
    code, good, bad, said = gate(kg, [broken[0], *GOOD, broken[1]], "--mode", "split")
    assert (code, lines_of(good), lines_of(bad)) == (1, GOOD, broken)
    assert all(x["reason"].startswith("not a triple") for x in said["set_aside"])  # type: ignore[attr-defined]
    assert gate(kg, [*GOOD, *broken])[0] == 3


def test_what_is_not_understood_refuses_the_batch(kg: Path) -> None:
    code, good, _, said = gate(kg, [*GOOD, t("ann", "lieks", "tom")], "--mode", "split")
    assert (code, good, said["decision"], said["verdict"]) == (3, b"", "refused", "undetermined")
    assert gate(kg, [*GOOD, t("ann", "lieks", "tom")], "--mode", "split", "--allow", "undeclared")[0] == 0


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
    assert (code, lines_of(good), lines_of(bad)) == (1, odd[4:], odd[:4])


@pytest.mark.parametrize(("unit", "aside"), [("subject", {0, 1, 2}), ("document", {0, 1, 2, 3, 4})])
def test_what_goes_with_a_culprit(kg: Path, unit: str, aside: set[int]) -> None:
    batch = [a("ann", "Cat"), t("ann", "likes", "rex"), t("ann", "likes", "tom"), a("bob", "Cat"), t("bob", "likes", "tom")]
    _, good, bad, _ = gate(kg, batch, "--mode", "split", "--unit", unit)
    assert lines_of(bad) == [line for i, line in enumerate(batch) if i in aside]
    assert lines_of(good) == [line for i, line in enumerate(batch) if i not in aside]


def test_bytes_are_kept(kg: Path) -> None:
    data = "\r\n".join([*GOOD, *BAD, a("ann", "Cat")]).encode()
    for name in ("batch.nt", "batch.nt.gz"):
        _, good, bad, _ = gate(kg, data, "--mode", "split", name=name)
        assert Counter((good + b"\n" + bad).split(b"\n")) - Counter({b"": 9}) == Counter(data.split(b"\n"))


def test_commit_takes_the_accepted_part(kg: Path) -> None:
    code, _, bad, said = gate(kg, [*GOOD, *BAD], "--mode", "split", "--commit")
    assert code == 1 and said["result"]["committed"] == 2  # type: ignore[index]
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
    result = run("gate", "-s", kg, "-i", folder / "one.nt", "-i", folder / "two.nt", "--mode", "split", *sides, "-q")
    assert result.return_value == 1
    assert (folder / "good" / "0-one.nt").read_text() == f"_:x {TYPE} <{PREFIX}Cat> .\n"
    assert (folder / "bad" / "0-one.nt").read_text() == a("rex", "Cat") + "\n"
    assert (folder / "good" / "1-two.nt").read_text() == (folder / "two.nt").read_text()
    assert (folder / "bad" / "1-two.nt").read_text() == ""


def test_a_conflict_without_a_single_triple_to_blame(kg: Path) -> None:
    negative = [
        "_:n " + TYPE + " <http://www.w3.org/2002/07/owl#NegativePropertyAssertion> .",
        f"_:n <http://www.w3.org/2002/07/owl#sourceIndividual> <{PREFIX}ann> .",
        f"_:n <http://www.w3.org/2002/07/owl#assertionProperty> <{PREFIX}likes> .",
        f"_:n <http://www.w3.org/2002/07/owl#targetIndividual> <{PREFIX}ann> .",
    ]
    base = kg.parent / "b.nt"
    base.write_text(t("ann", "likes", "ann") + "\n")
    assert run("check", "--store", kg, "--insert", base, "--commit", "-q").return_value == 0
    code, good, bad, said = gate(kg, negative, "--mode", "split")
    assert (code, good, lines_of(bad), said["decision"]) == (1, b"", negative, "refused")
    assert "no single triple" in str(said["reason"])


def test_wrong_use(kg: Path) -> None:
    (kg.parent / "b.ttl").write_text("")
    assert "N-Triples" in str(run("gate", "--store", kg, "--insert", kg.parent / "b.ttl").exception)
    assert "none.nt" in str(run("gate", "--store", kg, "--insert", kg.parent / "none.nt").exception)
    assert run("gate", "--store", kg).exception is not None


def test_planted_faults_of_lubm(tmp_path: Path) -> None:
    """What is set aside is what was planted, whatever the order of the lines; what is accepted is consistent from scratch."""
    generate(1, 3, tmp_path, disjointness=True, faults=3)
    abox = gzip.decompress((tmp_path / "abox.nt.gz").read_bytes()).splitlines(keepends=True)
    (tmp_path / "small.nt").write_bytes(b"".join(abox))
    run("index", "--tbox", tmp_path / "tbox.owl", "--store", tmp_path / "kg", tmp_path / "small.nt", "-q")
    batch = (tmp_path / "insert.nt").read_text().splitlines()
    culprits = set((tmp_path / "culprits.nt").read_text().splitlines())
    assert culprits
    sides: set[tuple[frozenset[str], frozenset[str]]] = set()
    for seed in range(2):
        random.Random(seed).shuffle(batch)
        code, good, bad, _ = gate(tmp_path / "kg", batch, "--mode", "split")
        assert code == 1 and Counter(lines_of(good)) + Counter(lines_of(bad)) == Counter(batch)
        sides.add((frozenset(lines_of(good)), frozenset(lines_of(bad))))
    assert len(sides) == 1 and next(iter(sides))[1] == culprits
    (tmp_path / "good.nt").write_bytes(good)
    scratch = certify([tmp_path / "tbox.owl"], [tmp_path / "small.nt", tmp_path / "good.nt"], reasoner="own")
    assert scratch.verdict.value == "consistent"
