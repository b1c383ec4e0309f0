"""A package of the user's with the name of one of ours: the message says which file it is, on
the command line and in Python.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shiq.shadowing import BESIDE, refuse_others

ROOT = Path(__file__).resolve().parent.parent
CALL = "from shiq import check_insertions; check_insertions('t.ofn', 'a.nt', 'a.nt')"


def ran(folder: Path, *arguments: str, before: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [before, str(ROOT)]))}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "name", ["jobs.py", "jobs/__init__.py", "jobs/data.txt", "simplify.py", "abox_ops/__init__.py"]
)
def test_the_message_says_which_file_stands_in_the_way(name: str, tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("")
    top = tmp_path / name.split("/", maxsplit=1)[0]
    called = ran(tmp_path, "-c", CALL)
    command = ran(tmp_path, "-m", "shiq", "certify", "t.ofn")
    if name == "jobs/data.txt":  # a folder that is no package gives way to ours
        assert "t.ofn does not exist" in command.stderr
        assert "t.ofn does not exist" in called.stderr
        return
    said = f"{top} stands in the way of shiq's own package {top.stem}, in {ROOT}"
    assert said in called.stderr
    assert called.stderr.splitlines()[-2].startswith("shiq.errors.OperationalError: ")
    assert (command.returncode, command.stdout) == (4, "")
    assert command.stderr.startswith(
        f"shiq: {said}\n  Rename it, or take {tmp_path} off Python's path"
    )
    assert "Traceback" not in command.stderr
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert said in ran(elsewhere, "-m", "shiq", "status", "kg", before=str(tmp_path)).stderr


def test_one_that_was_imported_already_is_named(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "jobs.py").write_text("")
    load = "import sys; sys.path.insert(0, 'mine'); import jobs; sys.path.pop(0);"
    assert (
        f"{tmp_path / 'mine' / 'jobs.py'} stands in the way"
        in ran(tmp_path, "-c", f"{load} {CALL}").stderr
    )


def test_ours_are_found() -> None:
    refuse_others()
    assert all((ROOT / name / "__init__.py").is_file() for name in BESIDE)
