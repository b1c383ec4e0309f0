"""The same triples in every syntax and in tables give the same assertions and the same verdict."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pyoxigraph as ox
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shiq import check_insertions
from shiq.errors import InputError, UsageError
from shiq.inputs.limits import InputLimits, read_limits
from shiq.inputs.reading import Reading
from shiq.jobs.gate.lines import read_statements
from shiq.model import (
    XSD,
    Assertion,
    Class,
    DataProperty,
    DataPropertyRange,
    Datatype,
    DisjointClasses,
    FunctionalObjectProperty,
    ObjectProperty,
    Signature,
    TBox,
)
from shiq.rdf import read_assertions
from tests.rdf_helpers import write

A, B, P, Q, D = (
    Class("urn:A"),
    Class("urn:B"),
    ObjectProperty("urn:p"),
    ObjectProperty("urn:q"),
    DataProperty("urn:d"),
)
KNOWN = Signature(
    frozenset({"urn:A", "urn:B"}), frozenset({"urn:p", "urn:q"}), frozenset({"urn:d"})
)
TBOX = TBox(
    (
        DisjointClasses((A, B)),
        FunctionalObjectProperty(P),
        DataPropertyRange(D, Datatype(XSD + "string")),
    ),
    KNOWN,
)
TYPE = ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")

# --- random content ------------------------------------------------------------------------------

NODES = [
    ox.NamedNode("urn:a"),
    ox.NamedNode("http://ex.org/b/ü"),
    ox.NamedNode("urn:c"),
    ox.BlankNode("x"),
    ox.BlankNode("y1"),
]
GRAPHS = [
    ox.DefaultGraph(),
    ox.NamedNode("urn:g"),
    ox.NamedNode("http://ex.org/g#2"),
    ox.BlankNode("x"),
]
#: Without what XML cannot hold.
TEXTS = st.text(
    st.characters(blacklist_categories=("Cs", "Cc", "Cn", "Co")), max_size=12
) | st.sampled_from(
    [
        "urn:a",
        "_:x",
        "@id",
        "a b",
        'say "x"\\',
        "12:30",
        "",
        " ",
        "<i>&amp;",
        "@",
        "urn:x-shiq-text:0.",
    ]
)
LITERALS = (
    TEXTS.map(ox.Literal)
    | TEXTS.map(lambda text: ox.Literal(text, language="en-gb"))
    | st.integers().map(lambda n: ox.Literal(str(n), datatype=ox.NamedNode(XSD + "integer")))
    | TEXTS.map(lambda text: ox.Literal(text, datatype=ox.NamedNode("urn:t")))
)
TRIPLES = st.one_of(
    st.tuples(
        st.sampled_from(NODES),
        st.just(TYPE),
        st.sampled_from([ox.NamedNode("urn:A"), ox.NamedNode("urn:B")]),
    ),
    st.tuples(
        st.sampled_from(NODES),
        st.sampled_from([ox.NamedNode("urn:p"), ox.NamedNode("urn:q")]),
        st.sampled_from(NODES),
    ),
    st.tuples(st.sampled_from(NODES), st.just(ox.NamedNode("urn:d")), LITERALS),
)
QUADS = st.lists(
    st.tuples(TRIPLES, st.sampled_from(GRAPHS)).map(lambda x: ox.Quad(*x[0], x[1])),
    min_size=1,
    max_size=12,
)

TRIPLE_SYNTAXES = {
    "nt": ox.RdfFormat.N_TRIPLES,
    "ttl": ox.RdfFormat.TURTLE,
    "rdf": ox.RdfFormat.RDF_XML,
}
QUAD_SYNTAXES = {
    "nq": ox.RdfFormat.N_QUADS,
    "trig": ox.RdfFormat.TRIG,
    "jsonld": ox.RdfFormat.JSON_LD,
}
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


def zstd(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return bytes(sink.getvalue())


def skippable(size: int, kind: int = 0) -> bytes:
    """A frame of zstd that its readers pass over."""
    return bytes([0x50 + kind]) + b"\x2a\x4d\x18" + size.to_bytes(4, "little") + bytes(size)


def serialized(quads: list[ox.Quad], format: ox.RdfFormat) -> bytes:
    triples = format in TRIPLE_SYNTAXES.values()
    content = [quad.triple for quad in quads] if triples else quads
    return bytes(ox.serialize(content, format=format))  # type: ignore[arg-type]


def written(folder: Path, quads: list[ox.Quad]) -> dict[str, object]:
    """The quads in every syntax, as a Parquet file and as tables in memory."""
    import pandas as pd

    found: dict[str, object] = {}
    for name, format in {**TRIPLE_SYNTAXES, **QUAD_SYNTAXES}.items():
        found[name] = write(folder, f"d.{name}", serialized(quads, format))
    for suffix, pack in {**PACKERS, ".zst": zstd}.items():
        found[suffix] = write(
            folder, f"packed.nq{suffix}", pack(serialized(quads, ox.RdfFormat.N_QUADS))
        )
    columns = {
        "s": [str(q.subject) for q in quads],
        "p": [str(q.predicate) for q in quads],
        "o": [str(q.object) for q in quads],
        "graph": [
            None if isinstance(q.graph_name, ox.DefaultGraph) else str(q.graph_name) for q in quads
        ],
        "key": [f"k{i}" for i in range(len(quads))],
    }
    pq.write_table(pa.table(columns), folder / "d.parquet")
    found |= {
        "parquet": folder / "d.parquet",
        "arrow": pa.table(columns),
        "pandas": pd.DataFrame(columns),
    }
    return found


def content(reading: Reading) -> set[Assertion]:
    assert not reading.leftovers
    return set(reading.abox)


def test_frames_of_zstd_that_are_to_be_skipped_are(tmp_path: Path) -> None:
    """Wherever they stand, by name and without one; a file that ends within one is broken."""
    line = b"<urn:a> <urn:p> <urn:b> .\n"
    one, other = zstd(line), zstd(line.replace(b"urn:a", b"urn:c"))
    for i, frames in enumerate(
        (
            [skippable(5), one],
            [skippable(0, 15), skippable(200_000, 3), one],
            [one, skippable(9, 7)],
        )
    ):
        for name in (f"{i}.nt.zst", f"{i}.nt"):
            assert (
                len(
                    read_assertions([write(tmp_path, name, b"".join([*frames, other]))], KNOWN).abox
                )
                == 2
            )
    for cut in (skippable(5) + one[:-2], one + skippable(5)[:-1], skippable(5) + line):
        with pytest.raises(InputError, match="broken zstd archive"):
            read_assertions([write(tmp_path, "cut.nt.zst", cut)], KNOWN)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(QUADS)
def test_the_same_content_in_every_syntax_is_the_same_abox(
    tmp_path: Path, quads: list[ox.Quad]
) -> None:
    sources = written(tmp_path, quads)
    readings = {name: read_assertions([source], KNOWN) for name, source in sources.items()}
    expected = content(readings["nt"])
    assert expected
    for name, reading in readings.items():
        assert content(reading) == expected, name
    # Named graphs are kept wherever there are any.
    graphs = {}
    for name in (*QUAD_SYNTAXES, *PACKERS, ".zst", "parquet", "arrow", "pandas"):
        places = readings[name].places(expected)
        graphs[name] = {a: {place.graph for place in found} for a, found in places.items()}
    assert all(found == graphs["nq"] for found in graphs.values())


@settings(
    max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(QUADS)
def test_the_same_content_in_every_syntax_has_the_same_verdict(
    tmp_path: Path, quads: list[ox.Quad]
) -> None:
    found = set()
    for source in written(tmp_path, quads).values():
        result = check_insertions(TBOX, None, source, reasoner="own", engine="local")
        # A blank node's conflict is the same whatever its label.
        found.add(
            (
                result.verdict,
                len(result.conflicts),
                tuple(sorted(len(c.insertions) for c in result.conflicts)),
            )
        )
    assert len(found) == 1


# --- named graphs --------------------------------------------------------------------------------

CLASH = (
    "<urn:a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:A> <urn:g1> .\n"
    "<urn:a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:B> <urn:g2> .\n"
    "<urn:a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:B> _:g3 .\n"
    "<urn:a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:B> .\n"
)


def test_the_union_of_all_graphs_is_checked_and_conflicts_name_every_graph(tmp_path: Path) -> None:
    result = check_insertions(TBOX, None, write(tmp_path, "d.nq", CLASH), reasoner="own")
    (conflict,) = result.conflicts
    assert conflict.graphs == ("<urn:g1>", "<urn:g2>", "_:i0.g3")
    by_line = dict(zip(conflict.insertions, conflict.places))
    places = {
        line.split()[2]: [(place.line, place.graph) for place in found]
        for line, found in by_line.items()
    }
    assert places == {
        "<urn:A>": [(1, "<urn:g1>")],
        "<urn:B>": [(2, "<urn:g2>"), (3, "_:i0.g3"), (4, "")],
    }
    told = json.loads(json.dumps(result.to_dict()))["conflicts"][0]
    assert told["graphs"] == ["<urn:g1>", "<urn:g2>", "_:i0.g3"]
    assert {place["source"] for found in told["places"] for place in found} == {
        str(tmp_path / "d.nq")
    }


def test_datasets_in_memory_name_their_graphs() -> None:
    import rdflib

    store, dataset = ox.Store(), rdflib.Dataset()
    store.load(CLASH.encode(), format=ox.RdfFormat.N_QUADS)
    dataset.parse(data=CLASH, format="nquads")
    for source in (store, dataset):
        (conflict,) = check_insertions(TBOX, None, source, reasoner="own").conflicts
        assert {"<urn:g1>", "<urn:g2>"} <= set(conflict.graphs)
        assert len(conflict.graphs) == 3


def test_a_label_is_one_node_in_all_graphs_of_a_file_and_another_in_the_next_file(
    tmp_path: Path,
) -> None:
    line = "_:b0 <urn:p> <urn:a> {} .\n"
    files = [
        write(tmp_path, f"{i}.nq", line.format("<urn:g1>") + line.format("_:b0")) for i in range(2)
    ]
    reading = read_assertions(files, KNOWN)
    assert sorted(x.subject for x in reading.abox) == ["_:a0.b0", "_:a1.b0"]  # type: ignore[union-attr]
    assert {
        place.graph for places in reading.places(reading.abox).values() for place in places
    } == {"<urn:g1>", "_:a0.b0", "_:a1.b0"}


def test_places_of_axioms_that_are_several_triples(tmp_path: Path) -> None:
    text = (
        "@prefix : <urn:> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n\n"
        ":g { :a owl:sameAs :b .\n[] a owl:NegativePropertyAssertion ; owl:sourceIndividual :a ; owl:assertionProperty :p ;\n"
        "  owl:targetIndividual :c . }\n"
    )
    reading = read_assertions([write(tmp_path, "d.trig", text)], KNOWN)
    places = reading.places(reading.abox)
    assert len(reading.abox) == len(places) == 2
    assert {(place.graph, place.line > 2) for found in places.values() for place in found} == {
        ("<urn:g>", True)
    }


@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(QUADS)
def test_statements_one_by_one_are_those_that_were_written(
    tmp_path: Path, quads: list[ox.Quad]
) -> None:
    found = {}
    for name, source in written(tmp_path, quads).items():
        statements, leftovers = read_statements(source)
        assert not leftovers
        again = read_assertions(
            [write(tmp_path, "again.nq", "".join(f"{x.text}\n" for x in statements))], KNOWN
        )
        found[name] = {str(a).replace("_:a0.b0.", "_:a0.") for a in content(again)}
        assert len({x.text for x in statements}) == len(set(quads)) or name in TRIPLE_SYNTAXES
    assert all(found[name] == found["nt"] for name in found)


def test_statements_of_what_is_no_rdf_are_refused(tmp_path: Path) -> None:
    ofn = write(tmp_path, "o.ofn", "Ontology(SubClassOf(<urn:A> <urn:B>))")
    for value in (ofn, TBOX):
        with pytest.raises(UsageError, match="triple by triple"):
            read_statements(value)
    (found,), (told,) = read_statements(write(tmp_path, "d.nq", "x\n" + CLASH.splitlines()[0]))
    assert (found.line, found.graph, told.line) == (2, "<urn:g1>", 1)


# --- broken lines and archives --------------------------------------------------------------------


def test_all_broken_lines_of_n_quads_are_told_at_once(tmp_path: Path) -> None:
    bad = [
        '<urn:a> <urn:p> <urn:b> "g" .',
        "<urn:a> <urn:p> <urn:b> <urn:g h> .",
        "<urn:a> <urn:p> <urn:b> <urn:g> <urn:h> .",
    ]
    lines = [
        CLASH.splitlines()[0],
        bad[0],
        CLASH.splitlines()[1],
        *bad[1:],
        "# fine",
        "<urn:a>  <urn:p>\t<urn:b>   <urn:g>. # why",
    ]
    reading = read_assertions([write(tmp_path, "d.nq", "\n".join(lines))], KNOWN)
    assert [x.line for x in reading.leftovers] == [2, 4, 5]
    assert len(reading.abox) == 3


@pytest.mark.parametrize("suffix", [*PACKERS, ".zst"])
@pytest.mark.parametrize("damage", ["cut", "tail", "junk", "flip"])
def test_a_damaged_archive_is_refused(tmp_path: Path, suffix: str, damage: str) -> None:
    if (suffix, damage) == (".zst", "flip"):
        pytest.skip("zstd need not have a checksum, and this one has none")
    lines = b"".join(b"<urn:a> <urn:p> <urn:n%d> .\n" % i for i in range(5_000))
    packed = {**PACKERS, ".zst": zstd}[suffix](lines)
    half = len(packed) // 2
    broken = {
        "cut": packed[:half],
        "tail": packed[:-3],
        "junk": packed + b"junk behind the archive",
        "flip": packed[:half] + bytes([packed[half] ^ 0xFF]) + packed[half + 1 :],
    }[damage]
    with pytest.raises(InputError, match="broken"):
        read_assertions([write(tmp_path, f"d.nt{suffix}", broken)], KNOWN)
    whole = read_assertions([write(tmp_path, f"e.nt{suffix}", packed + packed)], KNOWN)
    assert len(whole.abox) == 5_000


@pytest.mark.parametrize("size", [4, 8, 1 << 17])
def test_xz_may_be_padded_by_zeros_in_fours(tmp_path: Path, size: int) -> None:
    pack, zeros = PACKERS[".xz"], b"\0" * size
    first, second = pack(b"<urn:a> <urn:p> <urn:b> .\n"), pack(b"<urn:a> <urn:p> <urn:c> .\n")
    for content in (first + zeros + second, first + second + zeros, first + zeros + second + zeros):
        assert len(read_assertions([write(tmp_path, "d.nt.xz", content)], KNOWN).abox) == 2
    for tail in (zeros[1:], zeros + b"\0", zeros + b"x", zeros + second[:-1], b"\0" + second):
        with pytest.raises(InputError, match="broken"):
            read_assertions([write(tmp_path, "d.nt.xz", first + tail)], KNOWN)


def test_an_archive_made_to_do_harm_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bomb = io.BytesIO()
    with gzip.GzipFile(fileobj=bomb, mode="wb", compresslevel=9) as stream:
        for _ in range(33):
            stream.write(b"#" * (2 << 20) + b"\n")
    path = write(tmp_path, "d.nt.gz", bomb.getvalue())
    with pytest.raises(InputError, match="over 250 times its size"):
        read_assertions([path], KNOWN)
    monkeypatch.setenv("SHIQ_MAX_RATIO", "5k")
    monkeypatch.setenv("SHIQ_MAX_DOCUMENT", "1.5 GB")
    with pytest.raises(UsageError, match="SHIQ_MAX_DOCUMENT"):
        read_limits()
    monkeypatch.delenv("SHIQ_MAX_DOCUMENT")
    assert read_limits() == InputLimits(ratio=5 << 10)


def test_single_bad_assertions_do_not_hide_a_conflict(tmp_path: Path) -> None:
    result = check_insertions(
        TBOX, None, write(tmp_path, "d.nq", "nonsense\n" + CLASH), reasoner="own"
    )
    assert result.verdict.value == "inconsistent"
    assert [x.line for x in result.evidence.leftovers] == [1]
