"""The tool that counts the files a check passes through."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from shiq.model.roles import Role
from tests.tools.passed_through import ROOT, made, main, passed_through


def test_code_that_runs_is_counted_and_what_is_only_imported_is_not() -> None:
    assert passed_through(lambda: Role("urn:r").inverse) == {"shiq/model/roles.py": 1}
    assert not passed_through(lambda: len("not ours"))
    text = "def idle(): pass\nclass Kind:\n    value = 1\n"
    file = str(ROOT / "shiq" / "made_up.py")
    assert not passed_through(lambda: exec(compile(text, file, "exec")))
    module = compile(f"{text}idle()\n", file, "exec")
    assert passed_through(lambda: exec(module)) == {"shiq/made_up.py": 1}
    assert sys.getprofile() is None


def test_the_check_that_is_counted_is_consistent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, batch = made(tmp_path)
    assert len(batch.read_text().splitlines()) == 1
    assert main(["--store", str(store), "--insert", str(batch)]) == 0
    *_, last = capsys.readouterr().out.splitlines()
    assert last.endswith(" files") and 20 < int(last.split()[0]) <= 100


def test_a_consistent_check_loads_nothing_that_only_conflicts_pages_or_spark_need(
    tmp_path: Path,
) -> None:
    store, batch = made(tmp_path)
    idle = [
        "shiq.explanation",
        "shiq.functional",
        "shiq.abox_ops.conflicts",
        "shiq.jobs.reports",
        "shiq.jobs.gate",
        "shiq.jobs.spark",
        "shiq.jobs.graphframes",
    ]
    code = f"""
import atexit, sys
from shiq.jobs.cli import main
idle = {(*idle, "pandas", "pyspark", "owlready2")}
atexit.register(lambda: print([name for name in sys.modules if name.startswith(idle)]))
main(["check", "--store", sys.argv[1], "--insert", sys.argv[2], "-q"])
"""
    command = [sys.executable, "-c", code, str(store), str(batch)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    assert run.stdout.splitlines()[-1] == "[]"
