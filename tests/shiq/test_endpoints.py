"""SPARQL endpoints as inputs: what is read is what they hold, as of one moment, or nothing."""

from __future__ import annotations

import base64
import io
import json
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from random import Random
from typing import Any

import pyoxigraph as ox
import pytest

import shiq as api
from shiq.errors import InputError, UsageError
from shiq.inputs.sources import FileSource, classify_input
from shiq.remote import endpoint, inputs
from tests.command_line import shiq
from tests.sparql_server import Behave, Oxigraph, front, oxigraph, reply

TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
#: Four pages of four triples, of which each shares one with the page before, and one of two.
FOURTEEN = [f"<urn:i{i:02}> {TYPE} <urn:A> ." for i in range(14)]
PAGED = "#page=4"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oxigraph]:
    with oxigraph(tmp_path_factory.mktemp("oxigraph")) as running:
        yield running


@pytest.fixture
def graph(server: Oxigraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Oxigraph:
    """The server with `FOURTEEN`, and a store in which <urn:b> is a B and no A is a B."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SHIQ_CACHE", str(tmp_path / "copies"))
    server.update("CLEAR ALL")
    server.update(f"INSERT DATA {{ {' '.join(FOURTEEN)} }}")
    Path("t.ofn").write_text("Ontology(<urn:o> DisjointClasses(<urn:A> <urn:B>))")
    Path("a.nt").write_text(f"<urn:b> {TYPE} <urn:B> .\n")
    assert shiq("index", "-t", "t.ofn", "-s", "kg", "a.nt", "-q").returncode == 0
    return server


def address(url: str, rest: str = "") -> str:
    return f"sparql:{url}/query{rest}"


def lines_of(name: str) -> list[str]:
    source = classify_input(name)
    assert isinstance(source, FileSource)
    return source.read().decode().splitlines()


def test_every_command_reads_an_endpoint(graph: Oxigraph) -> None:
    where = address(graph.url, PAGED)
    done = shiq("check", "-s", "kg", "-i", where, "--json", "o.json", "--lineage", "l", "--commit")
    assert done.returncode == 0, done
    (note,) = json.loads(Path("o.json").read_text())["evidence"]["notes"]
    assert note.startswith(f"{where}: 14 triples in 5 pages, as of 20") and note in done.stdout
    assert json.loads(Path("l").read_text().splitlines()[-1])["inputs"][0]["namespace"] == graph.url
    graph.update(f"INSERT DATA {{ <urn:b> {TYPE} <urn:A> }}")
    assert shiq("check", "-s", "kg", "-i", where, "-q").returncode == 1
    assert shiq("index", "-t", "t.ofn", "-s", "all", where, "-q").returncode == 0
    assert sorted(shiq("export", "-s", "all").stdout.splitlines()) == sorted(lines_of(where))
    assert shiq("certify", "t.ofn", where, "a.nt", "-q").returncode == 1
    assert shiq("lint", "t.ofn", "--data", where, "-q").returncode == 0
    sides = ("--mode", "split", "--accepted", "yes", "--quarantine", "no", "-q")
    assert shiq("gate", "-s", "kg", "-i", where, "-i", "a.nt", *sides).returncode == 5
    assert Path("no/0-endpoint.nt").read_text() == f"<urn:b> {TYPE} <urn:A> .\n"
    assert sorted(Path("yes/0-endpoint.nt").read_text().splitlines()) == FOURTEEN
    gated = shiq("gate", "-s", "kg", "-i", where, "-d", address(graph.url), "--json", "g.json")
    assert gated.returncode == 1
    notes = json.loads(Path("g.json").read_text())["result"]["evidence"]["notes"]
    assert sum("as of 20" in note for note in notes) == 2


def test_calls_read_an_endpoint_with_a_query(graph: Oxigraph) -> None:
    Path("q.rq").write_text(
        "PREFIX : <urn:> # a comment\nCONSTRUCT { ?s a :B } WHERE { ?s a :A FILTER(?s IN (:i01, :b)) }"
    )
    where = address(graph.url, "?query=file:q.rq")
    result = api.check(where, "kg")
    assert result.verdict is api.Verdict.CONSISTENT
    assert ": 1 triples in one answer, as of 20" in result.evidence.notes[0]
    raw = address(
        graph.url, "?query=CONSTRUCT { ?s <urn:p+q> <urn:B> } WHERE { ?s a <urn:A> } #page=3"
    )
    assert lines_of(raw)[0].split()[1] == "<urn:p+q>" and len(lines_of(raw)) == 14
    assert (
        api.check_insertions("t.ofn", address(graph.url), where).verdict is api.Verdict.INCONSISTENT
    )
    assert len(api.gate(where, "kg").accepted) == 1
    assert lines_of(address(graph.url, "?query=CONSTRUCT WHERE { ?s <urn:no> ?o }")) == []
    long = f"CONSTRUCT {{ ?s ?p ?o }} WHERE {{ ?s ?p ?o FILTER(?o != '{'x' * 9000}') }}"
    assert shiq("check", "-s", "kg", "-i", address(graph.url, f"?query={long}")).returncode == 0


def test_a_command_asks_once(graph: Oxigraph) -> None:
    """The places of a conflict are those of the same answer."""
    graph.update(f"INSERT DATA {{ <urn:b> {TYPE} <urn:A> }}")
    with front(f"{graph.url}/query") as before:
        done = shiq("check", "-s", "kg", "-i", f"sparql:{before.url}", "--report", "r.sarif", "-q")
        assert done.returncode == 1 and len(before.requests) == 3, before.requests
    assert inputs._moment is None


def test_blank_nodes_come_in_one_answer(graph: Oxigraph) -> None:
    """One node is an A and a B: two answers would not show it."""
    graph.update("INSERT DATA { _:x a <urn:A>, <urn:B> . _:y a <urn:A> }")
    result = api.check(address(graph.url, "#page=2"), "kg")
    assert result.verdict is api.Verdict.INCONSISTENT
    assert "17 triples in one answer" in result.evidence.notes[0]


def test_turtle_is_read_too(graph: Oxigraph) -> None:
    def behave(handler: BaseHTTPRequestHandler, number: int, query: str) -> bool:
        own = b"@prefix : <urn:> . :i a :A, :B ; :p 1, '''x\n''' ; :q _:x ."
        counts = json.dumps({"results": {"bindings": [{"n": {"value": "5"}}]}}).encode()
        return (
            reply(handler, own, "text/turtle; charset=utf-8")
            if number == 2
            else reply(handler, counts, "application/json")
        )

    with front("", behave) as other:
        lines = sorted(lines_of(f"sparql:{other.url}"))
    assert lines[2].startswith('<urn:i> <urn:p> "1"^^<') and lines[4][:17] == "<urn:i> <urn:q> _"
    assert [lines[i] for i in (0, 1, 3)] == [
        f"<urn:i> {TYPE} <urn:A> .",
        f"<urn:i> {TYPE} <urn:B> .",
        '<urn:i> <urn:p> "x\\n" .',
    ]


# --- what goes wrong ------------------------------------------------------------------------------


def stop_with_a_length(handler: BaseHTTPRequestHandler, number: int, query: str) -> bool:
    text = "\n".join(FOURTEEN[3:7]).encode()
    return number == 3 and reply(handler, text, Content_Length=str(len(text) * 2))


def stop_without_a_length(handler: BaseHTTPRequestHandler, number: int, query: str) -> bool:
    return number == 3 and reply(handler, "\n".join(FOURTEEN[3:6]).encode(), Content_Length="")


def stop_within_a_line(handler: BaseHTTPRequestHandler, number: int, query: str) -> bool:
    text = "\n".join(FOURTEEN[3:7]).encode()
    return number == 3 and reply(handler, text[:-5], Content_Length="")


def stop_within_a_chunk(handler: BaseHTTPRequestHandler, number: int, query: str) -> bool:
    return number == 3 and reply(
        handler, b"1f4\r\n<urn:x> ", Content_Length="", Transfer_Encoding="chunked"
    )


def hang_up(handler: BaseHTTPRequestHandler, number: int, query: str) -> bool:
    return number == 3


def answer_a_page(handler: BaseHTTPRequestHandler, number: int, query: str) -> bool:
    return number == 3 and reply(handler, b"<html><p>Welcome</p></html>", "text/html")


def answer_a_page_for_the_count(handler: BaseHTTPRequestHandler, number: int, query: str) -> bool:
    return reply(handler, b"<html><p>Welcome</p></html>", "text/html")


def answer_no_count(handler: BaseHTTPRequestHandler, number: int, query: str) -> bool:
    return reply(handler, b'{"results": {"bindings": []}}', "application/json")


def answer_no_triples(handler: BaseHTTPRequestHandler, number: int, query: str) -> bool:
    return number == 3 and reply(handler, b"Busy\nBusy\nBusy\nBusy", "text/plain")


def fail(handler: BaseHTTPRequestHandler, number: int, query: str) -> bool:
    return number == 3 and reply(handler, b"out of\n memory", "text/plain", 500)


def deny(handler: BaseHTTPRequestHandler, number: int, query: str) -> bool:
    return reply(handler, b"", "text/plain", 401)


def repeat_a_page(handler: BaseHTTPRequestHandler, number: int, query: str) -> bool:
    return number == 4 and reply(handler, "\n".join(FOURTEEN[5:9]).encode())


def repeat_triples(handler: BaseHTTPRequestHandler, number: int, query: str) -> bool:
    return number == 6 and reply(handler, "\n".join([FOURTEEN[12], FOURTEEN[0]]).encode())


def cap_the_page(handler: BaseHTTPRequestHandler, number: int, query: str) -> bool:
    return number == 2 and reply(handler, "\n".join(FOURTEEN[:3]).encode())


@pytest.mark.parametrize(
    ("behave", "step", "what", "remedy"),
    [
        (stop_with_a_length, "page 2 of 5", "it stopped after 279 of 558 bytes", "later"),
        (stop_without_a_length, "page 2 of 5", "it has 3 of 4 triples", "smaller pages"),
        (stop_within_a_line, "page 2 of 5", "the answer is broken", "later"),
        (stop_within_a_chunk, "page 2 of 5", "or stopped", "later"),
        (hang_up, "page 2 of 5", "or stopped", "later"),
        (answer_a_page, "page 2 of 5", "it answers text/html", "Is that the address"),
        (answer_a_page_for_the_count, "count", "it answers text/html", "Is that the address"),
        (answer_no_count, "count", "no number of triples", "Is it an endpoint?"),
        (answer_no_triples, "page 2 of 5", "the answer is broken", "later"),
        (fail, "page 2 of 5", "it answers 500: out of memory", "later"),
        (deny, "count", "it answers 401", "#auth=env:NAME"),
        (repeat_a_page, "page 3 of 5", "it shares 2 triples with the page before", "nobody writes"),
        (repeat_triples, "page 5 of 5", "triples of an earlier page", "nobody writes"),
        (cap_the_page, "page 1 of 5", "it has 3 of 4 triples", "Does the server cap"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_nothing_is_lost_where_an_endpoint_fails(
    graph: Oxigraph, behave: Behave, step: str, what: str, remedy: str
) -> None:
    Path("yes.nt").write_text("of yesterday")
    held = {path: path.read_bytes() for path in Path("kg").rglob("*") if path.is_file()}
    with front(f"{graph.url}/query", behave) as faulty:
        where = f"sparql:{faulty.url}{PAGED}"
        done = shiq("gate", "-s", "kg", "-i", where, "--accepted", "yes.nt", "--commit", "-q")
    assert done.returncode == 4, done
    assert f"SPARQL endpoint 127.0.0.1, {step}: " in done.stderr, done.stderr
    assert what in done.stderr and remedy in done.stderr, done.stderr
    assert "Nothing of it was used" in done.stderr
    assert held == {path: path.read_bytes() for path in Path("kg").rglob("*") if path.is_file()}
    assert Path("yes.nt").read_text() == "of yesterday"
    assert not [path for path in Path("copies").rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("update", "at", "step", "what"),
    [
        (f"INSERT DATA {{ <urn:a> {TYPE} <urn:A> }}", 7, "count at the end", "15 triples, and"),
        (f"INSERT DATA {{ <urn:a> {TYPE} <urn:A> }}", 3, "page 2 of 5", "it shares 2 triples"),
        (f"INSERT DATA {{ <urn:zz> {TYPE} <urn:A> }}", 3, "page 5 of 5", "3 triples, and 2 were"),
        (
            f"INSERT DATA {{ <urn:a> {TYPE} <urn:A> }} ; DELETE DATA {{ {FOURTEEN[-1]} }}",
            *(3, "page 2 of 5", "it shares 2 triples"),
        ),
        (
            f"DELETE DATA {{ {FOURTEEN[0]} }} ; INSERT DATA {{ <urn:zz> {TYPE} <urn:A> }}",
            *(3, "page 2 of 5", "it shares 0 triples"),
        ),
        (f"DELETE DATA {{ {FOURTEEN[-1]} }}", 3, "page 5 of 5", "1 of 2 triples"),
    ],
    ids=("after the last", "before the second", "at the end", "moved on", "moved back", "gone"),
)
def test_a_change_between_pages_is_an_error(
    graph: Oxigraph, update: str, at: int, step: str, what: str
) -> None:
    def change(handler: BaseHTTPRequestHandler, number: int, query: str) -> bool:
        if number == at:
            graph.update(update)
        return False

    with front(f"{graph.url}/query", change) as changing:
        done = shiq("check", "-s", "kg", "-i", f"sparql:{changing.url}{PAGED}", "--commit", "-q")
    assert done.returncode == 4 and f"{step}: " in done.stderr and what in done.stderr, done.stderr


def read_among_writers(
    dice: Random, monkeypatch: pytest.MonkeyPatch
) -> tuple[set[str], set[str], set[str]]:
    """What is read while others write between pages, what was there all the time, and ever.

    Raises: InputError.
    """
    quads = [ox.Quad(*[ox.NamedNode(f"urn:{i:02}")] * 3) for i in range(20)]
    store = ox.Store()
    store.extend(quad for quad in quads if dice.random() < 0.6)
    states = [set(store)]

    def lines(_: object, query: str) -> Iterator[bytes]:
        found = [f"{triple} .".encode() for triple in store.query(query)]  # type: ignore[union-attr]
        for quad in dice.sample(quads, dice.choice([0, 0, 1, 2])):
            (store.remove if quad in store else store.add)(quad)
        states.append(set(store))
        return iter(found)

    monkeypatch.setattr(endpoint._EndpointReader, "_triple_lines", lines)
    monkeypatch.setattr(endpoint._EndpointReader, "_count_triples", lambda _: (len(store), 0))
    asked = endpoint.parse_endpoint(f"sparql:http://h/q#page={dice.randint(2, 6)}")
    file = io.BytesIO()
    endpoint._EndpointReader(asked, time.monotonic() + 60).copy_to(file)
    always, ever = (
        {f"{quad.triple} ." for quad in some}
        for some in (set.intersection(*states), set.union(*states))
    )
    return {*file.getvalue().decode().splitlines()}, always, ever


def test_what_is_there_all_the_time_is_read_whatever_others_write(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Or the reading ends with an error; and what is read was there at some time."""
    read_anyway = 0
    for seed in range(200):
        with suppress(InputError):
            found, always, ever = read_among_writers(Random(seed), monkeypatch)
            assert always <= found <= ever, seed
            read_anyway += always < ever
    assert read_anyway > 5


def test_a_server_that_dies_is_an_error(
    graph: Oxigraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own").mkdir()
    with oxigraph(tmp_path / "own") as own:
        own.update(f"INSERT DATA {{ {' '.join(FOURTEEN)} }}")
        asked, send = list[object](), endpoint.send_request

        def stopping(*given: Any) -> object:
            asked.append(given)
            if len(asked) == 3:
                own.process.kill()
                own.process.wait()
            return send(*given)

        monkeypatch.setattr(endpoint, "send_request", stopping)
        done = shiq("check", "-s", "kg", "-i", address(own.url, PAGED), "-q")
    assert done.returncode == 4 and "page 2 of 5: it cannot be reached" in done.stderr, done.stderr


def wait(handler: BaseHTTPRequestHandler, number: int, query: str) -> bool:
    time.sleep(3)
    return True


def drip(handler: BaseHTTPRequestHandler, number: int, query: str) -> bool:
    reply(handler, b"{", "application/json", Content_Length="1000")
    for _ in range(15):
        time.sleep(0.2)
        handler.wfile.write(b" ")
        handler.wfile.flush()
    return True


def drip_headers(handler: BaseHTTPRequestHandler, number: int, query: str) -> bool:
    for _ in range(15):
        time.sleep(0.2)
        handler.wfile.write(b"H")
        handler.wfile.flush()
    return True


@pytest.mark.parametrize("behave", [wait, drip, drip_headers])
def test_an_endpoint_that_is_slow_is_left(graph: Oxigraph, behave: Behave) -> None:
    with front("", behave) as slow:
        done = shiq("check", "-s", "kg", "-i", f"sparql:{slow.url}#seconds=1", "-q")
    assert done.returncode == 4, done
    assert "count: it did not answer within 1 s" in done.stderr and "#seconds=N" in done.stderr


def test_the_limit_of_a_check_holds(graph: Oxigraph) -> None:
    with front("", wait) as slow:
        done = shiq("check", "-s", "kg", "-i", f"sparql:{slow.url}", "-q", "--timeout", "1")
    assert done.returncode == 3 and "the time of 1 s was over" in done.stdout, done


def test_an_answer_without_end_is_left(graph: Oxigraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHIQ_MAX_DOCUMENT", "1k")
    with pytest.raises(InputError, match=r"page 3 of 5: it answers with over 1,024 bytes"):
        lines_of(address(graph.url, PAGED))


# --- credentials ----------------------------------------------------------------------------------


def test_credentials_go_to_the_endpoint_and_nowhere_else(
    graph: Oxigraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHO", "ann:s3cret:x")
    Path("token").write_text("Bearer t0ken\n")
    with front(f"{graph.url}/query") as asked:
        url = f"{asked.url}?default-graph-uri=urn%3Ag&named-graph-uri=urn%3Ah"
        for auth, header in (
            ("env:WHO", f"Basic {base64.b64encode(b'ann:s3cret:x').decode()}"),
            ("file:token", "Bearer t0ken"),
        ):
            done = shiq("check", "-s", "kg", "-i", f"sparql:{url}#auth={auth}", "--json", "o.json")
            assert done.returncode == 0 and asked.requests[-1][0]["Authorization"] == header
            said = done.stdout + done.stderr + Path("o.json").read_text()
            assert "s3cret" not in said and "t0ken" not in said and f"#auth={auth}" in said
        sent = asked.requests[-1][1]
        assert sorted(sent) == ["default-graph-uri", "named-graph-uri", "query"]

    def lead_on(handler: BaseHTTPRequestHandler, number: int, query: str) -> bool:
        return reply(handler, b"", code=307, Location=elsewhere.url)

    with front("") as elsewhere, front("", lead_on) as leading:
        done = shiq("check", "-s", "kg", "-i", f"sparql:{leading.url}#auth=env:WHO", "-q")
        assert done.returncode == 4 and not elsewhere.requests
        assert f"it answers 307, and leads to {elsewhere.url}" in done.stderr


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("http://ann:s3cret@h/q", "has a user or a password in it"),
        ("https://h/q#auth=ann:s3cret", "#auth= says where credentials are"),
        ("http://h/q#auth=env:WHO", "http://h would send the credentials in the clear"),
        ("https://h/q#auth=env:NOT", "there is no variable NOT"),
        ("https://h/q#auth=file:none", "none cannot be read"),
        ("https://h/q#auth=env:EMPTY", "holds no credentials"),
        ("https://h/q#auth=env:LINES", "holds no credentials"),
        ("https:///q", "no address of a SPARQL endpoint"),
        ("https://h/ü", "no address of a SPARQL endpoint"),
        ("https://h:x/q", "no address of a SPARQL endpoint"),
        ("https://h/q?query=CONSTRUCT WHERE\n{ ?s ?p ?o }", "no address of a SPARQL endpoint"),
        ("https://h/q?query=", "an address has one query"),
        ("https://h/q?query=ASK&query=ASK", "an address has one query"),
        ("https://h/q?query=CONSTRUCT { ?s <urn:x#y> 1 } WHERE { }", "no address"),
        ("https://h/q?query=CONSTRUCT WHERE { FILTER(1 && 2) }", "no address"),
        ("https://h/q#pages=4", "no settings but"),
        ("https://h/q#page=0", "#page=0 is no number"),
        ("https://h/q#seconds=-1", "#seconds=-1 is no number"),
        ("https://h/q?query=SELECT * { ?s ?p ?o }", "constructs no triples"),
        ("https://h/q?query=file:none", "none cannot be read"),
    ],
)
def test_an_address_that_is_none_is_refused(
    name: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHO", "ann:s3cret")
    monkeypatch.setenv("EMPTY", "")
    monkeypatch.setenv("LINES", "ann:s3\ncret")
    with pytest.raises((UsageError, InputError)) as raised:
        classify_input(f"sparql:{name}")
    assert what in str(raised.value) and "s3" not in str(raised.value)
