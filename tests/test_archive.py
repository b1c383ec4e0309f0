"""The archive of classes that Spark's JVMs start from: used where it is whole, and without harm where it is damaged."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from jobs.spark import archive

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def kept(tmp_path: Path, content: bytes) -> Path:
    (tmp_path / "made").write_bytes(content)
    return archive.keep(tmp_path / "made")


def test_a_whole_archive_is_named_to_java_and_one_cut_short_is_not(tmp_path: Path, cache: Path) -> None:
    assert archive.archive() is None
    assert archive.java_options() == []
    path = kept(tmp_path, b"classes")
    assert cache in path.parents
    assert archive.java_options()[0] == f'"-XX:SharedArchiveFile={path}"'
    os.truncate(path, 3)
    assert archive.java_options() == []


def test_an_archive_takes_the_place_of_the_last(tmp_path: Path, cache: Path) -> None:
    first = kept(tmp_path, b"classes")
    second = kept(tmp_path, b"more classes")
    assert [archive.archive(), [*first.parent.iterdir()]] == [second, [second]]


def test_an_archive_is_for_one_java_and_one_spark(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept(tmp_path, b"classes")
    with monkeypatch.context() as other:
        other.setattr(archive.pyspark, "__version__", "9.9.9")
        assert archive.archive() is None
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").touch(mode=0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert archive.archive() is None


def damaged(content: bytes, how: str) -> bytes:
    drawn = random.Random(1)
    if how == "another's":
        return drawn.randbytes(len(content))
    changed = bytearray(content)
    for _ in range(20):
        changed[drawn.randrange(100_000, len(content))] ^= 16
    return bytes(changed)


#: Whether the JVM of a session has the file mapped whose path is given.
MAPPED = """
import sys
from pathlib import Path
from jobs.spark.session import spark_session
from pyspark import SparkContext
session, _ = spark_session(master="local[1]", brief=True)
print(sys.argv[1] in Path("/proc", str(SparkContext._gateway.proc.pid), "maps").read_text())
session.stop()
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
def test_spark_starts_from_the_archive_and_without_one_that_is_damaged(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SPARK_SUBMIT_OPTS", raising=False)  # Java options of a user's own take the archive's place

    def ran(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "jobs.cli", *map(str, arguments)]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)

    told = {
        finding["what"]: finding["found"]
        for finding in json.loads(ran("doctor", "--share-classes", "--json", "-").stdout)["findings"]
    }
    path = archive.archive()
    assert path is not None and str(path) in told["Spark's classes"]
    (tmp_path / "tbox.ofn").write_text("Prefix(:=<urn:t#>)\nOntology(<urn:t>\nDisjointClasses(:A :B)\n)\n")
    of = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:t#"
    (tmp_path / "base.nt").write_text(f"<urn:t#x> {of}A> .\n")
    (tmp_path / "batch.nt").write_text(f"<urn:t#x> {of}B> .\n")
    whole = path.read_bytes()
    for content in (whole, damaged(whole, "another's"), damaged(whole, "flipped bits")):
        path.unlink()
        path.write_bytes(content)
        assert len(archive.java_options()) > 1
        mapped = subprocess.run(
            [sys.executable, "-c", MAPPED, path], cwd=ROOT, capture_output=True, text=True, check=True, timeout=120
        )
        assert mapped.stdout.split()[-1] == str(content is whole), mapped.stderr
        batch = ["--tbox", tmp_path / "tbox.ofn", "--abox", tmp_path / "base.nt", "--insert", tmp_path / "batch.nt"]
        check = ran("check", *batch, "--engine", "spark", "--json", "-")
        assert (check.returncode, json.loads(check.stdout)["verdict"]) == (1, "inconsistent"), check.stderr
