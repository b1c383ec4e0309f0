"""Batches as SPARQL Update: what a store makes of it, and what is refused, with its line."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pyoxigraph as ox
import pytest

from shiq import gate, update_changes
from shiq.errors import InputError
from shiq.inputs.sources import TextInput
from shiq.rdf.sparql_update import read_update
from tests.command_line import shiq

SAMPLE = '''PREFIX : <urn:#> # a comment {
insert data { :a :p "}" , 'x;y' . GRAPH :g { :a a :A ; :q "#" } . :b :p """l
 }""" } ;
PREFIX e: <urn:e/>
DELETE  DATA
{ e:a\\;b :p <urn:x#y> . GRAPH <urn:g> {:s :p :o .} }
; INSERT DATA { _:x :p [ :q 1 ] }'''


def quads(sources: tuple[TextInput, ...]) -> list[ox.Quad]:
    forms = {"trig": ox.RdfFormat.TRIG, "nquads": ox.RdfFormat.N_QUADS}
    return [
        q for s in sources for q in ox.parse(input=str(s.text).encode(), format=forms[s.format])
    ]


def lines(source: TextInput, word: str) -> list[int]:
    return [n for n, line in enumerate(str(source.text).split("\n"), 1) if word in line]


def test_each_side_has_its_quads_on_their_lines() -> None:
    batch = read_update(SAMPLE, "x.ru")
    assert len(quads(batch.insertions)) == 7 and len(quads(batch.deletions)) == 2
    (inserted,), (deleted,) = batch.insertions, batch.deletions
    assert lines(inserted, ":A") == [2] and lines(inserted, "_:x") == [7]
    assert lines(deleted, "urn:x#y") == [6] and inserted.name == "x.ru"


def store_of(text: str) -> ox.Store:
    store = ox.Store()
    store.bulk_load(input=text.encode(), format=ox.RdfFormat.N_QUADS)
    return store


def random_update(dice: Random) -> str:
    """Operations over few quads, so that many are inserted and deleted in turn."""

    def triple() -> str:
        return f":{dice.choice('ab')} :{dice.choice('pq')} {dice.choice([':c', '1', chr(34) + '};' + chr(34)])}"

    def block() -> str:
        parts = []
        for _ in range(dice.randint(1, 3)):
            own = " . ".join(triple() for _ in range(dice.randint(1, 2)))
            graph = dice.random() < 0.4
            parts.append(f"GRAPH :g{dice.randint(0, 1)} {{ {own} }}" if graph else f"{own} .")
        return dice.choice(["", "\n"]).join(parts)

    operations = [
        f"{dice.choice(['INSERT', 'delete'])} DATA {{ {block()} }}"
        for _ in range(dice.randint(1, 5))
    ]
    return "PREFIX : <urn:> \n" + " ;\n".join(operations) + dice.choice(["", " ;", "\n"])


@pytest.mark.parametrize("seed", range(200))
def test_random_updates_do_what_a_store_does(seed: int) -> None:
    dice = Random(seed)
    text = random_update(dice)
    base = "".join(
        f"<urn:{s}> <urn:p> <urn:c>{g} .\n"
        for s in "ab"
        for g in ("", " <urn:g0>")
        if dice.random() < 0.5
    )
    expected, found = store_of(base), store_of(base)
    expected.update(text)
    batch = read_update(text, "x.ru")
    for quad in quads(batch.deletions):
        found.remove(quad)
    found.extend(quads(batch.insertions))
    assert set(found) == set(expected), text


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("\nINSERT { ?s ?p ?o } WHERE {}", 2, "'INSERT' is not read here"),
        ("CLEAR ALL", 1, "'CLEAR'"),
        ("INSERT DATA { <urn:a> <urn:b> <urn:c>", 1, "not closed"),
        ("\n\nDELETE DATA { _:x <urn:p> 1 }", 3, "blank nodes"),
        ("DELETE DATA { [] <urn:p> 1 }", 1, "blank nodes"),
        ("INSERT DATA {_:x <urn:p> 1};\nINSERT DATA {_:x <urn:p> 1}", 2, "_:x stands"),
        ("INSERT DATA\n<urn:x>", 2, "expected {"),
    ],
)
def test_what_is_no_batch_is_refused_with_its_line(text: str, line: int, what: str) -> None:
    with pytest.raises(InputError) as raised:
        read_update(text, "x.ru")
    assert f"x.ru, line {line}: " in str(raised.value) and what in str(raised.value)


TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"


def test_an_update_is_checked_and_committed(tmp_path: Path) -> None:
    small_store(tmp_path)
    head = "PREFIX : <urn:>\n"
    (tmp_path / "good.ru").write_text(
        f"{head}DELETE DATA {{ :a a :A }} ;\nINSERT DATA {{ :a a :B }}"
    )
    (tmp_path / "bad.ru").write_text(f"{head}INSERT DATA {{\n  :c a :B .\n  :b a :A }}")
    (tmp_path / "broken.ru").write_text(f"{head}INSERT DATA {{\n  :c a :B .\n  :b a }}")
    (tmp_path / "none.ru").write_text(head)
    check = ("check", "-s", "kg", "-q", "--changes")
    code, out, _ = shiq(*check, "bad.ru", cwd=tmp_path)
    assert code == 1 and "at bad.ru:4" in out
    code, out, said = shiq(*check, "broken.ru", cwd=tmp_path)
    assert code in (3, 4) and "broken.ru" in out + said and "4" in out + said
    code, _, said = shiq(*check, "none.ru", cwd=tmp_path)
    assert code == 4 and "none.ru inserts and deletes nothing" in said
    code, _, said = shiq(*check, "good.ru", "--from-version", "1", cwd=tmp_path)
    assert code == 2 and "--from-version" in said
    assert shiq(*check, "good.ru", "--commit", cwd=tmp_path)[0] == 0
    (tmp_path / "then.nt").write_text(f"<urn:a> {TYPE} <urn:A> .\n")
    assert shiq("check", "-s", "kg", "-i", "then.nt", "-q", cwd=tmp_path)[0] == 1


def small_store(folder: Path) -> None:
    """A store in which no A is a B: a is an A, b a B."""
    (folder / "t.ofn").write_text("Ontology(<urn:o> DisjointClasses(<urn:A> <urn:B>))")
    (folder / "a.nt").write_text(f"<urn:a> {TYPE} <urn:A> .\n<urn:b> {TYPE} <urn:B> .\n")
    assert shiq("index", "-t", "t.ofn", "-s", "kg", "a.nt", "-q", cwd=folder)[0] == 0


MIXED = """PREFIX : <urn:>
DELETE DATA { :a a :A } ;
INSERT DATA { :a a :B . GRAPH :g { :b a :A }
  :c a :A }"""


def test_a_gate_splits_an_update(tmp_path: Path) -> None:
    small_store(tmp_path)
    (tmp_path / "mixed.ru").write_text(MIXED)
    sides = ("--mode", "split", "--accepted", "yes.nq", "--quarantine", "no.nq")
    gate = ("gate", "-s", "kg", "--changes", "mixed.ru", "-q")
    code, out, _ = shiq(*gate, *sides, "--report", "o.shacl.ttl", "--commit", cwd=tmp_path)
    assert code == 5 and "mixed.ru:3: takes part" in out
    yes, no = ((tmp_path / name).read_text() for name in ("yes.nq", "no.nq"))
    assert yes == f"<urn:a> {TYPE} <urn:B> .\n<urn:c> {TYPE} <urn:A> .\n"
    assert no == f"<urn:b> {TYPE} <urn:A> <urn:g> .\n"
    assert "dqv:computedOn <file:mixed.ru>" in (tmp_path / "o.shacl.ttl").read_text()
    assert sorted(shiq("export", "-s", "kg", cwd=tmp_path).stdout.splitlines()) == sorted(
        (yes + f"<urn:b> {TYPE} <urn:B> .\n").splitlines()
    )


def test_a_gate_takes_deletions_alone_and_leaves_no_older_side(tmp_path: Path) -> None:
    small_store(tmp_path)
    (tmp_path / "gone.ru").write_text("DELETE DATA { <urn:b> a <urn:B> . <urn:z> a <urn:B> }")
    (tmp_path / "yes.nq").write_text("of yesterday")
    gate = ("gate", "-s", "kg", "--changes", "gone.ru", "-q")
    assert shiq(*gate, "--accepted", "yes.nq", "--commit", cwd=tmp_path)[0] == 0
    assert (tmp_path / "yes.nq").read_text() == ""
    assert shiq("export", "-s", "kg", cwd=tmp_path).stdout == f"<urn:a> {TYPE} <urn:A> .\n"


def test_the_call_of_the_gate_takes_the_sides_of_an_update(tmp_path: Path) -> None:
    small_store(tmp_path)
    # The name is that of lines, and what it holds is none.
    (tmp_path / "mixed.nt").write_text(MIXED)
    update = update_changes(tmp_path / "mixed.nt")
    answers = [
        gate(update.insertions, tmp_path / "kg", update.deletions, aside="least") for _ in range(2)
    ]
    assert [x.decision for x in answers] == ["split"] * 2 and answers[0].run == answers[1].run
    assert [line.source_line for line in answers[0].accepted] == [3, 4]
    other = gate(update.insertions, tmp_path / "kg", ())
    assert other.run != answers[0].run and len(other.accepted) == 1


def test_a_gate_refuses_other_changes(tmp_path: Path) -> None:
    small_store(tmp_path)
    (tmp_path / "mixed.ru").write_text(MIXED)
    (tmp_path / "broken.ru").write_text("INSERT DATA {\n <urn:c> a <urn:A> .\n <urn:b> a }")
    for given, code, what in (
        (("--changes", "a.nt"), 2, "no file of SPARQL Update"),
        (("--changes", "mixed.ru", "-i", "a.nt"), 2, "the whole batch"),
        (("--changes", "mixed.ru", "--accepted", "x.parquet"), 2, "--changes names none"),
        ((), 2, "nothing to gate"),
        (("--changes", "broken.ru"), 4, "broken.ru, line 3"),
        (("--changes", "none.ru"), 4, "none.ru"),
    ):
        done = shiq("gate", "-s", "kg", "-q", *given, cwd=tmp_path)
        assert done.returncode == code and what in done.stderr, done
