"""The examples print what they say that they print.

After a change of what shiq prints, in an environment where `shiq` is on the path:
`for run in examples/*/run.sh; do bash $run > ${run%run.sh}expected.txt; done`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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
