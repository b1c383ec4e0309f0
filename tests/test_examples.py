"""The examples print what they say that they print.

After a change of what shiq prints, in an environment where `shiq` is on the path:
`for run in examples/*/run.sh; do bash $run > ${run%run.sh}expected.txt; done`.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml

from shiq.jobs.cli import cli

pytestmark = pytest.mark.lint

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
NAMES = sorted(run.parent.name for run in EXAMPLES.glob("*/run.sh"))
#: Sizes, seconds and days, which tests of their own look at.
_FIGURES = re.compile(
    r"base \d+ assertions.*|\d+ modules? of \d+.*|.* \d+\.\d+ s$|\d{4}-\d\d-\d\d .*"
)


def steady(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not _FIGURES.fullmatch(line)]


@pytest.mark.parametrize("name", NAMES)
def test_an_example_prints_what_it_says(name: str, tmp_path: Path) -> None:
    folder = shutil.copytree(EXAMPLES / name, tmp_path / name, ignore=shutil.ignore_patterns("out"))
    ended = subprocess.run(
        ["bash", "run.sh"],
        cwd=folder,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    expected = (EXAMPLES / name / "expected.txt").read_text("utf-8")
    assert steady(ended.stdout) == steady(expected)
    assert len(steady(expected)) > 2


def test_every_example_is_in_the_index_and_has_a_page() -> None:
    index = (EXAMPLES / "README.md").read_text("utf-8")
    folders = [folder for folder in EXAMPLES.iterdir() if folder.is_dir()]
    assert set(NAMES) <= {folder.name for folder in folders}
    for folder in folders:
        assert f"]({folder.name}/README.md)" in index
        assert (folder / "README.md").is_file()


def options(command: str) -> set[str]:
    found = cli.get_command(click.Context(cli), command)
    assert found is not None, command
    return {option for p in found.params for option in (*p.opts, *p.secondary_opts)}


def test_programs_and_workflows_of_other_schedulers_are_well_formed() -> None:
    """`make test-examples` runs them, in environments of their own."""
    for script in EXAMPLES.rglob("*.sh"):
        subprocess.run(["bash", "-n", script], check=True)
    names: set[str] = set()
    for program in EXAMPLES.rglob("*.py"):
        tree = ast.parse(program.read_text("utf-8"))
        names |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    assert names >= {"shiq_night", "contradicts_nothing"}
    workflow = yaml.safe_load((EXAMPLES / "github/.github/workflows/shiq.yml").read_text("utf-8"))
    steps = workflow["jobs"]["consistent"]["steps"]
    assert [step["uses"] for step in steps if "sarif" in step.get("uses", "")]
    hooks = yaml.safe_load((EXAMPLES / "github/.pre-commit-config.yaml").read_text("utf-8"))
    (hook,) = hooks["repos"][0]["hooks"]
    commands = [step["run"] for step in steps if step.get("run", "").startswith("shiq")]
    for words in map(shlex.split, [*commands, hook["entry"]]):
        assert {word for word in words if word.startswith("--")} <= options(words[1])


def test_the_dag_names_options_that_the_gate_has() -> None:
    text = (EXAMPLES / "airflow/dags/shiq_night.py").read_text("utf-8")
    named = set(re.findall(r"--[a-z][a-z-]+", text))
    assert {"--mode", "--quarantine", "--max-quarantine"} <= named <= options("gate")
