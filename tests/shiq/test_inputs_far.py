"""Ontologies, bases, batches and catalogs from standard input and from object stores, read as
files of the same content are.
"""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path

import obstore
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shiq import check_insertions
from shiq.answers.verdict import Verdict
from shiq.api import certify
from shiq.errors import InputError
from shiq.inputs.sources import TableSource, classify_input
from shiq.model import RDF
from shiq.rdf import read_ontology
from shiq.remote import inputs
from shiq.remote.bucket import Bucket
from shiq.remote.inputs import inputs_at, local_copy, pin_inputs
from tests.command_line import shiq
from tests.rdf_helpers import PREFIXES, write
from tests.shiq.test_mapped_tables import ONTOLOGY, RML, YARRRML

TYPE = f"<{RDF}type>"
OWN = ("-q", "--reasoner", "own")
TBOX = PREFIXES + ":Cat a owl:Class ; owl:disjointWith :Dog . :Dog a owl:Class ."
GOOD = f"<urn:t#tom> {TYPE} <urn:t#Cat> .\n"
BAD = f"<urn:t#tom> {TYPE} <urn:t#Dog> .\n"


# --- standard input -------------------------------------------------------------------------------


def given(monkeypatch: pytest.MonkeyPatch, content: str | bytes) -> None:
    """Standard input is a pipe with ``content``."""
    data = content.encode() if isinstance(content, str) else content
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    write(tmp_path, "t.ttl", TBOX)
    write(tmp_path, "good.nt", GOOD)
    assert (
        shiq("index", "--tbox", "t.ttl", "--store", "kg", "good.nt", *OWN, cwd=tmp_path).returncode
        == 0
    )
    return tmp_path


def test_a_batch_comes_by_standard_input(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given(monkeypatch, BAD)
    done = shiq("check", "--store", "kg", "--insert", "-", "--json", "out.json", *OWN, cwd=files)
    assert done.returncode == 1
    (conflict,) = json.loads((files / "out.json").read_text())["conflicts"]
    assert [place["source"] for places in conflict["places"] for place in places] == ["-"]
    given(monkeypatch, gzip.compress(BAD.encode()))
    assert (
        shiq("check", "--store", "kg", "-i", "-", "-d", "good.nt", *OWN, cwd=files).returncode == 0
    )


def test_a_closed_standard_input_is_an_error(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    done = shiq("certify", "t.ttl", "-", *OWN, cwd=files)
    assert done.returncode == 4 and "standard input is closed" in done.stderr, done.stderr


def test_an_empty_standard_input_is_an_error_and_an_empty_file_is_none(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given(monkeypatch, "")
    done = shiq("check", "--store", "kg", "--insert", "-", *OWN, cwd=files)
    assert done.returncode == 4 and "standard input ended without a byte" in done.stderr, (
        done.stderr
    )
    write(files, "none.nt", "")
    assert shiq("check", "--store", "kg", "--insert", "none.nt", *OWN, cwd=files).returncode == 0
    given(monkeypatch, "# nothing tonight\n")
    assert shiq("check", "--store", "kg", "--insert", "-", *OWN, cwd=files).returncode == 0


@pytest.mark.parametrize(
    ("syntax", "text"),
    [
        ("turtle", TBOX),
        ("functional", "Ontology(DisjointClasses(<urn:t#Cat> <urn:t#Dog>))"),
        ("trig", TBOX),
    ],
)
def test_an_ontology_comes_by_standard_input_in_any_syntax(
    files: Path, monkeypatch: pytest.MonkeyPatch, syntax: str, text: str
) -> None:
    for command in (
        ("certify", "-", "good.nt"),
        ("lint", "-", "--data", "good.nt"),
        ("index", "-t", "-", "-s", f"kg-{syntax}"),
    ):
        given(monkeypatch, text)
        options = ("-q",) if command[0] == "lint" else OWN
        assert shiq(*command, "--format", syntax, *options, cwd=files).returncode == 0
    given(monkeypatch, text)
    assert (
        shiq(
            "check",
            "-t",
            "-",
            "-a",
            "good.nt",
            "-i",
            write(files, "bad.nt", BAD),
            "--format",
            syntax,
            *OWN,
        ).returncode
        != 0
    )


def test_a_gate_splits_standard_input(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sides = ("--mode", "split", "--accepted", "yes.nt", "--quarantine", "no.nt")
    given(monkeypatch, BAD + GOOD.replace("tom", "tim"))
    assert shiq("gate", "-s", "kg", "-i", "-", *sides, *OWN, cwd=files).returncode == 5
    assert ((files / "yes.nt").read_text(), (files / "no.nt").read_text()) == (
        GOOD.replace("tom", "tim"),
        BAD,
    )
    given(monkeypatch, PREFIXES + ":tim a :Cat .")
    assert (
        shiq(
            "gate", "-s", "kg", "-i", "-", "--format", "turtle", *sides, *OWN, cwd=files
        ).returncode
        == 0
    )
    assert (files / "yes.nt").read_text() == GOOD.replace("tom", "tim")


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "--store", "kg", "--insert", "-", "--delete", "-"),
        ("check", "--store", "kg", "--insert", "-", "--insert", "-"),
        ("certify", "-", "-"),
        ("lint", "-", "--data", "-"),
        ("index", "--tbox", "-", "--store", "new", "-"),
        ("certify", "t.ttl", "--format", "turtle"),
        ("certify", "-", "--format", "turtel"),
    ],
)
def test_standard_input_is_read_once_and_the_format_is_its(
    files: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    given(monkeypatch, TBOX)
    assert shiq(*arguments, "-q", cwd=files).returncode == 2


def test_what_is_not_in_the_format_is_refused(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given(monkeypatch, TBOX)
    done = shiq("certify", "-", *OWN, cwd=files)
    assert done.returncode == 4 and "- is not N-Triples" in done.stderr


# --- object stores --------------------------------------------------------------------------------


@pytest.fixture
def far(bucket: Bucket) -> Bucket:
    """A place with an ontology, its parts, a base and a batch."""
    part = TBOX.replace(":Cat a owl:Class", "<urn:part> a owl:Ontology . :Cat a owl:Class")
    for name, text in {
        "onto/t.ttl": PREFIXES
        + "<urn:o> a owl:Ontology ; owl:imports <urn:part> . :A a owl:Class .",
        "parts/deep/part.ttl": part,
        "parts/catalog.json": json.dumps({"urn:part": "deep/part.ttl"}),
        "base/1.nt": GOOD,
        "base/2.nt.gz": "",
        "base/_SUCCESS": "",
        "base/.hidden.nt": "broken",
        "base/_k/3.nt": "broken",
        "bad.nt": BAD,
    }.items():
        data = (
            gzip.compress(GOOD.replace("tom", "tim").encode())
            if name.endswith("gz")
            else text.encode()
        )
        obstore.put(bucket._objects, name, data)
    return bucket


def test_every_kind_of_input_lies_in_an_object_store(far: Bucket, tmp_path: Path) -> None:
    base = ("--tbox", far / "onto/t.ttl", "--catalog", far / "parts")
    done = shiq(
        "check",
        *base,
        "--abox",
        far / "base",
        "--insert",
        far / "bad.nt",
        "--json",
        tmp_path / "out.json",
        *OWN,
    )
    assert done.returncode == 1
    (conflict,) = json.loads((tmp_path / "out.json").read_text())["conflicts"]
    assert [place["source"] for places in conflict["places"] for place in places] == [
        far / "bad.nt"
    ]
    for catalog in (far / "parts", far / "parts/", far / "parts/catalog.json"):
        reading = check_insertions(
            far / "onto/t.ttl",
            [far / "base/"],
            far / "bad.nt",
            catalog=catalog,
            reasoner="own",
            outside="undetermined",
        )
        assert reading.verdict is Verdict.INCONSISTENT, catalog
        assert reading.statistics.assertions == 2
    assert shiq("certify", far / "onto/t.ttl", *OWN).returncode == 3
    assert shiq("lint", far / "onto/t.ttl", "--catalog", far / "parts", "-q").returncode == 0
    store = tmp_path / "kg"
    assert shiq("index", *base, "--store", store, far / "base", *OWN).returncode == 0
    sides = ("--mode", "split", "--accepted", tmp_path / "yes", "--quarantine", tmp_path / "no")
    assert shiq("gate", "--store", store, "--insert", far / "bad.nt", *sides, *OWN).returncode == 1
    assert (tmp_path / "no").read_text() == BAD


def test_a_prefix_is_all_files_below_it_but_for_hidden_ones(far: Bucket) -> None:
    assert (
        inputs_at(far / "base")
        == inputs_at(far / "base/")
        == [far / "base/1.nt", far / "base/2.nt.gz"]
    )
    assert inputs_at(far / "bad.nt") == [far / "bad.nt"]
    for name in ("nothing", "base/nothing.nt", "base/1.nt/", "onto/t.ttl/x"):
        with pytest.raises(InputError, match="does not exist"):
            inputs_at(far / name)
    obstore.put(far._objects, "apart/_SUCCESS", b"")
    with pytest.raises(InputError, match="hidden"):
        inputs_at(far / "apart")
    with pytest.raises(InputError, match="prefix with 5 files"):
        local_copy(far / "base")


def test_a_table_below_a_prefix_is_one_input(far: Bucket, tmp_path: Path) -> None:
    rows = pa.table({"s": ["<urn:t#tom>"], "p": [TYPE], "o": ["<urn:t#Dog>"]})
    pq.write_table(rows, tmp_path / "rows.parquet")
    for name in ("table/part-0.parquet", "table/deep/part-1.parquet"):
        obstore.put(far._objects, name, (tmp_path / "rows.parquet").read_bytes())
    obstore.put(far._objects, "table/_SUCCESS", b"")
    assert inputs_at(far / "table/") == [far / "table"]
    source = classify_input(far / "table")
    assert isinstance(source, TableSource) and source.name == far / "table"
    base = ("--tbox", far / "onto/t.ttl", "--catalog", far / "parts")
    assert (
        shiq("check", *base, "--abox", far / "base", "--insert", far / "table", *OWN).returncode
        == 1
    )


def test_an_object_that_is_changed_while_it_is_read_is_refused(
    far: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = Bucket._read_parts

    def changing(self: Bucket, name: str, size: int) -> object:
        yield from parts(self, name, size)
        obstore.put(self._objects, name, BAD.encode() * 2)

    monkeypatch.setattr(Bucket, "_read_parts", changing)
    done = shiq("certify", far / "bad.nt", *OWN)
    assert done.returncode == 4 and "was changed while it was read" in done.stderr
    monkeypatch.undo()


def test_an_address_stands_for_one_content_within_a_command(far: Bucket) -> None:
    with pin_inputs():
        first = local_copy(far / "bad.nt")
        assert local_copy(far / "bad.nt") == first and first.read_text() == BAD
        obstore.put(far._objects, "bad.nt", GOOD.encode())
        with pytest.raises(InputError, match="was changed while it was read"):
            classify_input(far / "bad.nt")
        with pytest.raises(InputError, match="was changed while it was read"), pin_inputs():
            local_copy(far / "bad.nt")
    assert local_copy(far / "bad.nt").read_text() == GOOD
    assert inputs._moment is None


def test_a_gate_reads_far_inputs_at_one_moment(
    far: Bucket, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is committed is what was read first, or nothing."""
    from shiq.api import open_store
    from shiq.jobs.gate import decide, gate

    read = decide.read_lines

    def changing(*given: object) -> object:
        found = read(*given)  # type: ignore[arg-type]
        obstore.put(far._objects, "bad.nt", GOOD.encode())
        return found

    monkeypatch.setattr(decide, "read_lines", changing)
    with (
        open_store(files / "kg") as session,
        pytest.raises(InputError, match="was changed while it was read"),
    ):
        gate(session, [far / "bad.nt"], commit=True)


def test_a_gate_takes_deletions_from_afar_and_from_standard_input(
    far: Bucket, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = ("gate", "--store", "kg", "--insert", far / "bad.nt", *OWN, "--delete")
    assert shiq(*gate, far / "base/1.nt", cwd=files).returncode == 0
    given(monkeypatch, GOOD)
    assert shiq(*gate, "-", cwd=files).returncode == 0


@pytest.mark.parametrize("name", ["m.yml", "m.ttl"])
def test_a_mapping_and_what_it_joins_with_lie_far_away(
    far: Bucket, tmp_path: Path, name: str
) -> None:
    mapped = {
        "m.yml": YARRRML,
        "m.ttl": RML,
        "onto.ttl": ONTOLOGY,
        "machines.csv": "id,name,limit\nm1,Press,1\n",
    }
    for each, text in {**mapped, "sensors.csv": "id,machine\ns1,m1\nm1,m1\n"}.items():
        obstore.put(far._objects, f"plant/{each}", text.encode())
    (tmp_path / "sensors.csv").write_text("id,machine\ns1,m1\nm1,m1\n")
    for sensors in (far / "plant/sensors.csv", tmp_path / "sensors.csv"):
        found = certify(
            [far / "plant/onto.ttl", sensors], mapping=far / f"plant/{name}", reasoner="own"
        )
        assert found.verdict is Verdict.INCONSISTENT and "urn:t#on" in str(found.conflicts)
    obstore.put(
        far._objects,
        f"plant/broken-{name}",
        mapped[name].replace('machine"', 'mashine"').replace("$(machine)", "$(mashine)").encode(),
    )
    done = shiq(
        "certify",
        far / "plant/onto.ttl",
        far / "plant/sensors.csv",
        "--mapping",
        far / f"plant/broken-{name}",
        *OWN,
    )
    assert done.returncode == 2 and f"{far / f'plant/broken-{name}'}, line " in done.stderr, (
        done.stderr
    )
    obstore.delete(far._objects, "plant/machines.csv")
    done = shiq(
        "certify",
        far / "plant/onto.ttl",
        far / "plant/sensors.csv",
        "--mapping",
        far / f"plant/{name}",
        *OWN,
    )
    assert done.returncode == 4 and f"{far / 'plant/machines.csv'} does not exist" in done.stderr, (
        done.stderr
    )


def test_a_far_catalog_file_stays_in_its_folder(far: Bucket) -> None:
    from shiq.inputs.catalog import read_catalog

    for target in ("../bad.nt", "/bad.nt", "deep/../../bad.nt", "http://ex.org/x", "%2e%2e/bad.nt"):
        obstore.put(far._objects, "parts/catalog.json", json.dumps({"urn:part": target}).encode())
        with pytest.raises(InputError, match=r"outside of the catalog's folder|nothing is fetched"):
            read_ontology([far / "onto/t.ttl"], catalog=read_catalog(far / "parts/catalog.json"))


def test_without_the_extra_the_command_to_install_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for library, address in (
        ("obstore", "s3://b/t.ttl"),
        ("obstore", "gs://b/t.ttl"),
        ("obstore", "abfss://b/t.ttl"),
    ):
        monkeypatch.setitem(sys.modules, library, None)
        done = shiq("certify", address, *OWN)
        assert (done.returncode, "pip install 'shiq[cloud]'" in done.stderr) == (4, True), done
    monkeypatch.setitem(sys.modules, "hdfs_native", None)
    done = shiq("certify", "hdfs://h:1/x/t.ttl", *OWN)
    assert (done.returncode, "pip install 'shiq[cloud]'" in done.stderr) == (4, True), done


def test_an_output_is_kept_apart_from_what_is_far(far: Bucket) -> None:
    base = ("--tbox", far / "onto/t.ttl", "--catalog", far / "parts")
    for store in (far / "base", far / "base/kg", far / "parts/kg"):
        assert shiq("index", *base, "--store", store, far / "base", *OWN).returncode == 2, store
