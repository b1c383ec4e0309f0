"""Opening inputs: formats, and errors that name the file and what to do."""

from __future__ import annotations

import gzip
import os
import shlex
from pathlib import Path

import pytest

from shiq.errors import InputError, UsageError
from shiq.inputs.formats import Format
from shiq.inputs.sources import FileSource, ObjectKind, ObjectSource, classify_input
from shiq.model import TBox
from tests.rdf_helpers import PREFIXES, write

TRIPLE = b"<urn:a> <urn:p> <urn:b> .\n"
XML = (
    b'<?xml version="1.0"?>\n<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:x="urn:x#">'
    b'<x:C rdf:about="urn:a"/></rdf:RDF>'
)


def file_source(path: object) -> FileSource:
    source = classify_input(path)
    assert isinstance(source, FileSource)
    return source


@pytest.mark.parametrize(
    ("name", "content", "format"),
    [
        ("a.nt", TRIPLE, Format.NTRIPLES),
        ("a.nt", b"# nothing yet\n", Format.NTRIPLES),
        ("a.nt", b"", Format.NTRIPLES),
        ("a.nt", PREFIXES.encode(), Format.TURTLE),
        ("a.ttl", TRIPLE, Format.TURTLE),
        ("a.ttl", b"[] a <urn:C> .", Format.TURTLE),
        ("a.owl", XML, Format.RDFXML),
        ("a.owl", PREFIXES.encode(), Format.TURTLE),
        ("a.owl", TRIPLE, Format.NTRIPLES),
        ("a.owl", b"\xef\xbb\xbf" + XML, Format.RDFXML),
        ("a.rdf", XML.split(b"\n")[1], Format.RDFXML),
        ("a.owl", b"# c\nPrefix(:=<urn:x#>)\nOntology()", Format.FUNCTIONAL),
        ("a.ofn", b"Ontology()", Format.FUNCTIONAL),
        ("noextension", TRIPLE, Format.NTRIPLES),
        ("a.nt", b'<urn:x:a> <urn:p> "x" .\n', Format.NTRIPLES),
    ],
)
def test_the_format_is_known_by_content_then_by_extension(
    tmp_path: Path, name: str, content: bytes, format: Format
) -> None:
    assert file_source(write(tmp_path, name, content)).format is format


def test_a_gzip_file_is_unpacked_whatever_its_name(tmp_path: Path) -> None:
    for name in ("a.nt.gz", "a.nt"):
        source = file_source(write(tmp_path, name, gzip.compress(b"\xef\xbb\xbf" + TRIPLE)))
        assert (source.format, source.is_compressed, source.read()) == (
            Format.NTRIPLES,
            True,
            TRIPLE,
        )


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.nt", b"<!DOCTYPE html>\n<html><body>404</body></html>", "HTML page"),
        ("a.ttl", b"  <html lang='en'>", "HTML page"),
        ("a.nt", b'{"@context": {}}', "JSON"),
        ("a.nt", b'[{"a": 1}]', "JSON"),
        ("a.owl", b"Prefix: : <urn:x>\nOntology: <urn:o>", "Manchester syntax"),
        ("a.nt", b"PK\x03\x04....", "zip"),
        ("a.owl", b"BZh91AY", "bzip2"),
        ("a.nt", b"ab\x00\x01\x02", "binary"),
        ("a.nt", "<urn:a> <urn:p> <urn:b> .".encode("utf-16"), "UTF-16"),
        ("a.omn", TRIPLE, "Manchester"),
        ("a.pkl", b"cos\nsystem", "never read"),
        ("a.owl", b"once upon a time", "no format"),
        ("a.owl", b"", "empty"),
        ("a.nt.gz", TRIPLE, "not a gzip file"),
    ],
)
def test_what_is_in_no_format_we_read_is_refused_by_name(
    tmp_path: Path, name: str, content: bytes, words: str
) -> None:
    path = write(tmp_path, name, content)
    with pytest.raises(InputError, match=words) as caught:
        classify_input(path)
    assert str(path) in caught.value.message
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("name", "content", "target"),
    [
        ("a b.obo", b"format-version: 1.2\nontology: x\n\n[Term]\nid: X:1\n", "a b.owl"),
        ("a.omn", b"Prefix: : <urn:x>\nOntology: <urn:o>", "a.owl"),
        ("a.owl", b"! a comment\nformat-version: 1.2\n", "a.ofn"),
        ("a.owl", b"# a comment\nPrefix: : <urn:x>\n", "a.ofn"),
        ("a.txt", b"[Term]\nid: X:1\n", "a.owl"),
    ],
)
def test_syntaxes_that_another_tool_converts_are_refused_with_its_command(
    tmp_path: Path, name: str, content: bytes, target: str
) -> None:
    path = write(tmp_path, name, content)
    with pytest.raises(
        InputError, match=r"is in (OBO|Manchester syntax), which is not read here"
    ) as caught:
        classify_input(path)
    command = shlex.join(
        ["robot", "convert", "--input", str(path), "--output", str(tmp_path / target)]
    )
    assert caught.value.remedy.endswith(command)


def test_missing_unreadable_and_odd_paths_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing\.nt does not exist"):
        classify_input(tmp_path / "nothing.nt")
    with pytest.raises(InputError, match="is a directory"):
        classify_input(tmp_path)
    with pytest.raises(InputError, match="nothing is fetched"):
        classify_input("http://example.org/o.owl")
    with pytest.raises(InputError, match="cannot be read"):
        classify_input("a\0b.nt")
    if os.geteuid():
        path = write(tmp_path, "secret.nt", TRIPLE)
        path.chmod(0)
        with pytest.raises(InputError, match="may not be read"):
            classify_input(path)


@pytest.mark.parametrize("damage", ["cut", "crc", "body"])
def test_a_broken_archive_is_refused(tmp_path: Path, damage: str) -> None:
    packed = gzip.compress(TRIPLE * 50_000)
    broken = {
        "cut": packed[: len(packed) // 2],
        "crc": packed[:-8] + bytes(4) + packed[-4:],
        "body": packed[:200] + bytes(50) + packed[250:],
    }[damage]
    path = write(tmp_path, "a.nt.gz", broken)
    with pytest.raises(InputError, match="broken gzip archive"):
        file_source(path).read()


def test_a_file_iri_is_a_path(tmp_path: Path) -> None:
    path = write(tmp_path, "a b.nt", TRIPLE)
    assert file_source(path.as_uri()).path == path
    assert file_source(path).iri == path.as_uri()


def test_a_pipe_is_read_once_and_kept(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.write(writer, TRIPLE)
    os.close(writer)
    source = file_source(f"/dev/fd/{reader}")
    assert (source.format, source.read(), source.read()) == (Format.NTRIPLES, TRIPLE, TRIPLE)
    os.close(reader)


def test_values_are_recognised_and_others_refused() -> None:
    source = classify_input(TBox())
    assert isinstance(source, ObjectSource)
    assert source.kind is ObjectKind.TBOX
    with pytest.raises(UsageError, match=r"builtins\.int is not a source"):
        classify_input(3)
