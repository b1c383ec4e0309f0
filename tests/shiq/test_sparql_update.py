"""Batches as SPARQL Update: what a store makes of it, and what is refused, with its line."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pyoxigraph as ox
import pytest

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
    (tmp_path / "t.ofn").write_text("Ontology(<urn:o> DisjointClasses(<urn:A> <urn:B>))")
    (tmp_path / "a.nt").write_text(f"<urn:a> {TYPE} <urn:A> .\n<urn:b> {TYPE} <urn:B> .\n")
    head = "PREFIX : <urn:>\n"
    (tmp_path / "good.ru").write_text(
        f"{head}DELETE DATA {{ :a a :A }} ;\nINSERT DATA {{ :a a :B }}"
    )
    (tmp_path / "bad.ru").write_text(f"{head}INSERT DATA {{\n  :c a :B .\n  :b a :A }}")
    (tmp_path / "broken.ru").write_text(f"{head}INSERT DATA {{\n  :c a :B .\n  :b a }}")
    (tmp_path / "none.ru").write_text(head)
    assert shiq("index", "-t", "t.ofn", "-s", "kg", "a.nt", "-q", cwd=tmp_path)[0] == 0
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
