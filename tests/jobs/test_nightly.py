"""The nightly job: what `shiq check` says, by spark-submit; on a cluster that loses a worker in
mid-check.
"""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from shiq.answers.result import Result
from shiq.api import check_insertions, index, open_store
from shiq.errors import InputError
from shiq.jobs.evaluation.lubm.generate import generate_lubm_data
from shiq.jobs.nightly import shiq_arguments
from tests.command_line import shiq
from tests.tools.spark_events import TaskCost, costs, table, total

ROOT = Path(__file__).resolve().parents[2]

#: The options of the driver's JVM that OPERATING names.
BRIEF = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

#: Tasks that take longer than the quickest are begun once more elsewhere.
TWICE = {
    "spark.speculation": "true",
    "spark.speculation.interval": "10ms",
    "spark.speculation.multiplier": "1.01",
    "spark.speculation.quantile": "0.05",
    "spark.speculation.minTaskRuntime": "1ms",
}


def answer(result: Result) -> dict[str, Any]:
    """What two engines must agree on."""
    return comparable(result.to_dict())


def comparable(value: dict[str, Any]) -> dict[str, Any]:
    statistics = {
        k: v
        for k, v in value["statistics"].items()
        if k not in ("seconds", "reasoner_calls", "spark")
    }
    evidence = {k: v for k, v in value["evidence"].items() if k not in ("engine", "run")}
    return {
        **{k: v for k, v in value.items() if k != "about"},
        "statistics": statistics,
        "evidence": evidence,
    }


@pytest.fixture(scope="module")
def lubm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store and a batch with planted contradictions."""
    folder = tmp_path_factory.mktemp("lubm")
    generate_lubm_data(1, 1, folder, faults=4)
    assert (
        index(str(folder / "tbox.owl"), str(folder / "abox.nt.gz"), folder / "kg").verdict.value
        == "consistent"
    )
    return folder


@pytest.mark.parametrize("command", ["check", "gate", "index"])
def test_the_command_line_is_that_of_the_command(command: str) -> None:
    given = ["--store", "kg", "--insert", "b.nt"]
    assert shiq_arguments([command, *given]) == [command, "--engine", "spark", *given]
    assert shiq_arguments(given) == ["check", "--engine", "spark", *given]


def test_usage_errors_end_with_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    store, batch = ["--store", "kg"], ["--insert", "b.nt"]
    for given in (
        store,
        batch,
        [*store, *batch, "--engin", "spark"],
        ["gate", *store],
        ["index", *store],
        ["export", *store],
    ):
        monkeypatch.setattr(sys, "argv", ["nightly.py", *given])
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(ROOT / "jobs" / "nightly.py"), run_name="__main__")
        assert ended.value.code == 2, given
        assert ("check, gate, index" in capsys.readouterr().err) == (given[0] == "export")


def test_event_logs_are_summed_up_by_job(tmp_path: Path) -> None:
    def task(stage: int, reason: str = "Success") -> dict[str, Any]:
        metrics = {
            "Executor Run Time": 5,
            "Result Size": 100,
            "Disk Bytes Spilled": 1,
            "Input Metrics": {"Bytes Read": 10, "Records Read": 2},
            "Shuffle Read Metrics": {
                "Remote Bytes Read": 3,
                "Local Bytes Read": 4,
                "Total Records Read": 6,
            },
            "Shuffle Write Metrics": {"Shuffle Bytes Written": 8, "Shuffle Records Written": 9},
        }
        end = {
            "Event": "SparkListenerTaskEnd",
            "Stage ID": stage,
            "Task End Reason": {"Reason": reason},
        }
        return {**end, "Task Metrics": metrics}

    events = [
        {"Event": "SparkListenerJobStart", "Job ID": 0, "Stage IDs": [0, 1]},
        task(0),
        task(1),
        task(1, "ExecutorLostFailure"),
        {"Event": "SparkListenerJobStart", "Job ID": 1, "Stage IDs": [1, 2]},
        task(2),
    ]
    log = tmp_path / "app-1"
    log.write_text(
        "\n".join(json.dumps(event, separators=(",", ":")) for event in events) + '\n{"Event":"cut'
    )
    by_job = costs(log)
    assert (by_job[0].tasks, by_job[0].failed_tasks, by_job[1].tasks) == (2, 1, 1)
    assert by_job[1] == TaskCost(1, 1, 0, 10, 2, 7, 6, 8, 9, 1, 100, 5)
    assert total(tmp_path).input_bytes == 30
    assert table({"a": {"x": 1000}, "b": {"y": "z"}}).splitlines()[1].split() == ["x", "1,000"]
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError, match="no event log"):
        total(tmp_path / "none")


@pytest.mark.scale
@pytest.mark.spark
@pytest.mark.slow
def test_67_lost_executors_and_duplicate_tasks_change_nothing(lubm: Path, tmp_path: Path) -> None:
    """The hazards' row 67: a worker is killed in mid check; tasks run twice, by speculation;
    plans change as they run.
    """
    import spark_cluster as sc

    with open_store(lubm / "kg") as session:
        expected = answer(session.check(str(lubm / "insert.nt")))
    assert expected["verdict"] == "inconsistent"
    runs = []
    with sc.cluster(tmp_path) as made:
        for turn, killed in (("first", False), ("twice", False), ("killed", True)):
            file = tmp_path / f"{turn}.json"
            given = [
                "--store",
                str(lubm / "kg"),
                "--insert",
                str(lubm / "insert.nt"),
                "--json",
                str(file),
                "-q",
            ]
            settings = {
                "spark.sql.files.maxPartitionBytes": "100000",
                **(TWICE if turn == "twice" else {}),
            }
            job = sc.nightly(made, given, settings, turn)
            if killed:
                # A check has one stage: it would be over.
                sc.wait_for_stage(made, job, turn, event=sc.HAS_EXECUTOR)
                sc.kill_a_worker(made)
            assert job.wait(900) == 1, made.log(turn)[-4000:]
            assert (sc.lost_executors(made, turn) > 0) == killed
            runs.append(json.loads(file.read_text()))
    assert comparable(runs[0]) == comparable(runs[1]) == comparable(runs[2]) == expected
    assert len({run["evidence"]["run"] for run in runs}) == 1


@pytest.mark.spark
@pytest.mark.slow
def test_spark_says_what_local_says(lubm: Path, spark: object) -> None:
    with open_store(lubm / "kg") as session:
        results = [
            session.check(str(lubm / "insert.nt"), engine=engine) for engine in ("local", "spark")
        ]
        assert answer(results[0]) == answer(results[1])
        assert sorted(results[0].modules) == sorted(results[1].modules)
        assert set(results[0].a_add) == set(results[1].a_add)


@pytest.mark.spark
def test_a_base_that_is_no_store(
    tmp_path: Path, spark: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what is in conflict is found in its files, whichever task has read it."""
    monkeypatch.setattr("shiq.jobs.spark.reading.PART_BYTES", 60)
    base, batch, tbox = tmp_path / "base.nt", tmp_path / "batch.nt", tmp_path / "tbox.ofn"
    tbox.write_text("Ontology(DisjointClasses(<urn:Cat> <urn:Dog>))")
    kind = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
    base.write_text(f"<urn:tom> {kind} <urn:Cat> .\n")
    lines = [f"<urn:tom> {kind} <urn:Dog> .\n", f"<urn:rex> {kind} <urn:Dog> .\n"]
    batch.write_text("".join(lines))
    twice = tmp_path / "again.nt"
    twice.write_text("".join(lines[::-1] * 2))
    batches = [str(twice), str(batch)]
    results = [
        check_insertions(str(tbox), str(base), batches, engine=engine)
        for engine in ("local", "spark")
    ]
    assert answer(results[0]) == answer(results[1])
    assert [(x.source, x.line) for x in results[1].conflicts[0].places[0]] == [
        (str(twice), 2),
        (str(twice), 4),
        (str(batch), 1),
    ]
    assert results[1].conflicts[0].insertions == (f"<urn:tom> {kind} <urn:Dog> .",)


@pytest.mark.spark
@pytest.mark.slow
def test_a_submitted_index_and_gate_do_what_the_commands_do(tmp_path: Path) -> None:
    kind = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
    (tmp_path / "t.ofn").write_text("Ontology(DisjointClasses(<urn:Cat> <urn:Dog>))")
    (tmp_path / "base.nt").write_text(f"<urn:tom> {kind} <urn:Cat> .\n")
    (tmp_path / "batch.nt").write_text(
        f"<urn:tom> {kind} <urn:Dog> .\n<urn:rex> {kind} <urn:Dog> .\n"
    )
    sides = ["--mode", "split", "--accepted", "good.nt", "--quarantine", "bad.nt", "--commit"]
    from spark_cluster import HOME

    submit = [
        str(HOME / "bin" / "spark-submit"),
        "--master",
        "local[2]",
        "--driver-java-options",
        BRIEF,
    ]
    for given, code in (
        (["index", "--tbox", "t.ofn", "--store", "kg", "base.nt"], 0),
        (["gate", "--store", "kg", "--insert", "batch.nt", *sides], 5),
    ):
        command = [*submit, str(ROOT / "jobs/nightly.py"), *given]
        environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == code, done.stdout + done.stderr
    with open_store(tmp_path / "kg") as session:
        assert session.identity[1] == 2
    assert (
        "urn:rex" in (tmp_path / "good.nt").read_text()
        and "urn:tom" in (tmp_path / "bad.nt").read_text()
    )


@pytest.mark.spark
@pytest.mark.parametrize("brings", ["deletions", "expressions"])
def test_a_gate_on_spark_that_commits_looks_for_hints_afterwards(
    brings: str, tmp_path: Path, spark: object
) -> None:
    """When the commit has closed the store that the batch was checked against."""
    kind, negative = (
        "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>",
        "<http://www.w3.org/2002/07/owl#",
    )
    gone = f"<urn:sam> {kind} <urn:Cat> .\n"
    (tmp_path / "t.ofn").write_text(
        "Ontology(DisjointClasses(<urn:Cat> <urn:Dog>) Declaration(ObjectProperty(<urn:likes>)) Declaration(Class(<urn:Cow>)))"
    )
    (tmp_path / "base.nt").write_text(f"<urn:tom> {kind} <urn:Cat> .\n{gone}")
    (tmp_path / "gone.nt").write_text(gone)
    expression = (
        f"_:n {kind} {negative}NegativePropertyAssertion> .\n_:n {negative}sourceIndividual> <urn:rex> .\n"
        f"_:n {negative}assertionProperty> <urn:likes> .\n_:n {negative}targetIndividual> <urn:tom> .\n"
    )
    more = expression if brings == "expressions" else ""
    (tmp_path / "batch.nt").write_text(
        f"<urn:tom> {kind} <urn:Dog> .\n<urn:rex> {kind} <urn:Dog> .\n{more}"
    )
    assert (
        index(tmp_path / "t.ofn", tmp_path / "base.nt", tmp_path / "kg").verdict.value
        == "consistent"
    )
    given = [
        "gate",
        "--engine",
        "spark",
        "--store",
        "kg",
        "--insert",
        "batch.nt",
        "--mode",
        "split",
        "--quarantine",
        "bad.nt",
    ]
    deleted = ["--delete", "gone.nt"] if brings == "deletions" else []
    done = shiq(*given, *deleted, "--commit", "-q", cwd=tmp_path)
    assert done.returncode == 5, done.stderr
    assert (
        "urn:tom" in (tmp_path / "bad.nt").read_text()
        and "urn:rex" not in (tmp_path / "bad.nt").read_text()
    )
    with open_store(tmp_path / "kg") as session:
        assert session.identity[1] == 2
