"""Stores in an object store or Hadoop's file system, built and checked by Spark: the same store
and the same answers.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from command_line import shiq

pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")

from test_places import TEXT, TYPE, forgotten
from test_spark_building import HERE, assert_equal, built, embedded, random_base

from shiq.jobs.building import worker
from shiq.jobs.building.build import BuildSettings
from shiq.jobs.store import open_store
from shiq.jobs.store.verify import verify_store
from shiq.remote.bucket import Bucket
from shiq.remote.hdfs import Hdfs

OUT = ("--reasoner", "own", "-q", "--allow", "undeclared")


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 12))]
)
def test_a_build_comes_to_the_store_of_a_folder(
    seed: int, bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Row by row; what its steps leave for one another lies there too, and goes."""
    monkeypatch.setattr("shiq.jobs.store.numbering.RANGE", 3)
    ontology, files = random_base(seed, tmp_path)
    settings = BuildSettings(width=3, chunk_bytes=300, reasoner="own")
    ours, _ = built(HERE, bucket, ontology, files, settings)  # type: ignore[arg-type]
    theirs = embedded(tmp_path / "kg", ontology, files, width=3).store
    assert_equal(ours, theirs)
    forgotten()
    with open_store(bucket) as store:
        assert_equal(store, theirs)
    assert verify_store(bucket).files >= len(theirs.manifest.documents)
    assert not [name for name, _ in bucket.files_with_times() if name.startswith("building")]


@pytest.fixture(params=["bucket", pytest.param("hdfs", marks=[pytest.mark.hdfs, pytest.mark.slow])])
def place(request: pytest.FixtureRequest) -> Bucket | Hdfs:
    """A place for a store in an object store, or in Hadoop's file system."""
    return request.getfixturevalue(request.param)


def inputs(folder: Path) -> None:
    (folder / "t.ofn").write_text(TEXT)
    (folder / "a.nt").write_text(
        "".join(
            f"<urn:t#p{i}> {TYPE} <urn:t#Person> .\n<urn:t#p{i}> <urn:t#knows> <urn:t#p{i * 7 % 400}> .\n"
            for i in range(400)
        )
    )
    (folder / "good.nt").write_text(
        "".join(f"<urn:t#p{i}> <urn:t#knows> <urn:t#new{i}> .\n" for i in range(0, 400, 9))
    )
    (folder / "bad.nt").write_text(
        f"<urn:t#p3> <urn:t#knows> <urn:t#c> .\n<urn:t#c> {TYPE} <urn:t#Company> .\n"
    )


@pytest.mark.scale
@pytest.mark.slow
@pytest.mark.spark
def test_commands_on_spark(place: Bucket | Hdfs, tmp_path: Path, spark: object) -> None:
    """Index, check and commit; workers read copies of their own, which some of them have and
    some have not.
    """
    inputs(tmp_path)
    calls = [
        (0, ("index", "--tbox", "t.ofn", "a.nt", "--range", "64", *OUT)),
        (0, ("check", "--insert", "good.nt", *OUT)),
        (1, ("check", "--insert", "bad.nt", *OUT)),
        (0, ("check", "--insert", "good.nt", "--commit", *OUT)),
        (1, ("check", "--insert", "bad.nt", *OUT)),
        (0, ("export",)),
    ]
    for turn, (code, arguments) in enumerate(calls):
        engine = () if arguments == ("export",) else ("--engine", "spark")
        if turn % 2:
            forgotten()
            worker._cache.clear()
        there = shiq(*arguments, *engine, "--store", place, cwd=tmp_path)
        here = shiq(*arguments, "--store", "kg", cwd=tmp_path)
        assert (there.returncode, here.returncode) == (code, code), there.stderr
        if not engine:
            assert there.stdout == here.stdout
    assert verify_store(place).files > 40


@pytest.mark.scale
@pytest.mark.spark
@pytest.mark.slow
def test_a_worker_that_is_killed_changes_nothing(place: Bucket | Hdfs, tmp_path: Path) -> None:
    """On a cluster of two workers, each with copies of its own, and no folder that both see but
    the inputs'.

    A check has one stage, over before a worker could be killed in it: `test_nightly` has the
    large one.
    """
    inputs(tmp_path)
    files = ("--tbox", str(tmp_path / "t.ofn"), str(tmp_path / "a.nt"), "--range", "64")
    on_two_workers("cli.py", "index", *files, "--engine", "spark", "--store", str(place))
    made = shiq("index", *files, "--store", "kg", *OUT, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    with open_store(place) as ours, open_store(tmp_path / "kg") as theirs:
        assert_equal(ours, theirs)
    assert not [name for name, _ in place.files_with_times() if name.startswith("building")]


def on_two_workers(*command: str) -> None:
    """Runs a program on a cluster of which a worker is killed meanwhile."""
    program = str(Path(__file__).parents[1] / "spark_cluster.py")
    found = subprocess.run(
        [sys.executable, program, *command, *OUT],
        check=False,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert found.returncode == 0, found.stderr[-3000:]
    assert "executors lost: 1" in found.stderr
