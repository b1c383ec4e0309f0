"""What has to hold of larger data: ranges of LUBM-10, N by ranges, LUBM-100 (`make test-scale`,
with tests of other files).
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")

from command_line import shiq
from test_spark_building import HERE, compare

from shiq.jobs.evaluation.lubm.generate import generate_lubm_data
from shiq.jobs.store import open_store
from shiq.model.abox import ABox
from shiq.rdf import read_ontology
from tests.tools.bench.data import held_out
from tests.tools.bench.watch import Watched, watched

pytestmark = [pytest.mark.scale, pytest.mark.slow]
ROOT = Path(__file__).resolve().parents[2]
#: What a run may take, MiB of all its processes.
MOST_MEMORY = 3072


@dataclass(frozen=True)
class Generated:
    """LUBM data less a thousand and a hundred thousand of its triples, drawn evenly, which are
    batches.
    """

    folder: Path

    @classmethod
    def of(cls, universities: int, folder: Path) -> Generated:
        generate_lubm_data(universities, 1, folder, faults=0)
        held_out(
            folder / "abox.nt.gz",
            [1_000, 100_000],
            1,
            folder / "rest.nt.gz",
            [folder / "few.nt", folder / "many.nt"],
        )
        return cls(folder)

    @property
    def inputs(self) -> tuple[str, ...]:
        return "--tbox", str(self.folder / "tbox.owl"), str(self.folder / "rest.nt.gz")


@pytest.fixture(scope="module")
def lubm_10(tmp_path_factory: pytest.TempPathFactory) -> Generated:
    return Generated.of(10, tmp_path_factory.mktemp("lubm10"))


def sizes(store: Path) -> dict[Path, int]:
    return {file: file.stat().st_size for file in store.rglob("*") if file.is_file()}


# --- ranges ---------------------------------------------------------------------------------------


def test_a_commit_of_a_thousand_leaves_the_ranges_alone(lubm_10: Generated, tmp_path: Path) -> None:
    """53 files of role assertions beside one: the same answers, and what is written follows the
    batch.
    """
    answers = []
    for width in (4096, 1 << 20):
        store = tmp_path / f"kg{width}"
        assert (
            shiq("index", *lubm_10.inputs, "--store", store, "--range", width, "-q").returncode == 0
        )
        with open_store(store) as opened:
            files = len(opened.manifest.tables["half_edges"].files)
        assert (files > 50) is (width == 4096)
        before, out = sizes(store), tmp_path / "out.json"
        committed = shiq(
            "check",
            "--store",
            store,
            "--insert",
            lubm_10.folder / "few.nt",
            "--commit",
            "-q",
            "--json",
            out,
        )
        assert committed.returncode == 0, committed.stderr
        told = json.loads(out.read_text())["statistics"]
        answers.append(
            {
                name: told[name]
                for name in ("assertions", "add_set", "pulled_in", "modules", "shapes")
            }
        )
        if width == 4096:
            written = sum(size for file, size in sizes(store).items() if before.get(file) != size)
            assert written <= 0.05 * sum(before.values())
    assert answers[0] == answers[1]


# --- N by ranges ----------------------------------------------------------------------------------


def test_lubm_10_has_the_model_of_one_task(lubm_10: Generated, tmp_path: Path) -> None:
    ontology = read_ontology([str(lubm_10.folder / "tbox.owl")])
    _, found = compare(
        HERE, tmp_path, ontology, [lubm_10.folder / "rest.nt.gz"], width=16_384, chunk_bytes=1 << 23
    )
    assert found.is_completed


@pytest.mark.parametrize(
    ("tbox", "data", "width"),
    [
        ("uobm/univ-bench-dl.owl", "uobm/U1.nt.gz", 4096),
        ("npd/npd-v2-complete.fixed.owl", "npd/npd.clean.nt.gz", 32_768),
    ],
    ids=["uobm", "npd"],
)
def test_real_data_has_the_model_of_one_task(
    data_path: Path, tmp_path: Path, tbox: str, data: str, width: int
) -> None:
    ontology = replace(read_ontology([str(data_path / tbox)]), abox=ABox())
    _, found = compare(
        HERE, tmp_path, ontology, [data_path / data], width=width, chunk_bytes=1 << 23
    )
    assert found.is_completed


# --- LUBM-100 -------------------------------------------------------------------------------------


def on_spark(
    folder: Path, *arguments: object
) -> tuple[Watched, dict[str, dict[str, dict[str, int]]]]:
    """The command line, on two cores, in a process of its own."""
    out = folder / "out.json"
    command = [
        sys.executable,
        "-m",
        "shiq.jobs.cli",
        *map(str, arguments),
        "--engine",
        "spark",
        "--master",
        "local[2]",
        "-q",
        "--json",
        str(out),
    ]
    found = watched(command, 7200, folder / "watched", {**os.environ, "PYTHONPATH": str(ROOT)})
    assert found.code == 0, found.err[-3000:]
    return found, json.loads(out.read_text())


@pytest.mark.spark
def test_lubm_100(tmp_path: Path) -> None:
    """It has a model; 100,000 insertions stay apart; index, check and commit end within their
    memory.
    """
    data, store = Generated.of(100, tmp_path / "lubm"), tmp_path / "kg"
    used, _ = on_spark(tmp_path, "index", *data.inputs, "--store", store)
    assert used.peak < MOST_MEMORY
    with open_store(store) as opened:
        assert opened.is_completed
    used, told = on_spark(tmp_path, "check", "--store", store, "--insert", data.folder / "many.nt")
    cost = told["statistics"]["spark"]
    assert used.peak < MOST_MEMORY
    assert cost["joint_groups"] >= 8 and cost["largest_group"] <= 25_000
    used, told = on_spark(
        tmp_path, "check", "--store", store, "--insert", data.folder / "few.nt", "--commit"
    )
    assert used.peak < MOST_MEMORY
    with open_store(store) as opened:
        assert opened.is_completed and opened.snapshot == 2
