"""The commands of the how-to pages run one after the other, print what the pages show, and end as they say."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.sparql_server import free_port, wait_for

pytestmark = pytest.mark.lint

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGES = sorted(DOCS.glob("HOWTO_*.md"))


def commands(text: str) -> Iterator[tuple[str, list[str]]]:
    """The commands of the indented blocks of a page, each with the lines shown below it."""
    for block in re.findall(r"(?:^    .*\n|^\n(?=    ))+", text, re.MULTILINE):
        for part in re.split(r"^    \$ ", block, flags=re.MULTILINE)[1:]:
            command, *shown = part.rstrip().splitlines()
            yield command, [line[4:] for line in shown]


def is_shown(line: str, printed: str) -> bool:
    """Does a line of the page, with … for anything, stand in what was printed?"""
    pattern = ".*".join(map(re.escape, line.strip().split("…")))
    return re.search(pattern, printed) is not None


@contextmanager
def ending(pid_file: Path) -> Iterator[None]:
    """End the server that a page starts and does not end itself."""
    try:
        yield
    finally:
        if pid_file.exists():
            with suppress(ProcessLookupError):
                os.kill(int(pid_file.read_text()), signal.SIGKILL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_page_run(page: Path, tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    text, port = page.read_text(encoding="utf-8"), free_port()
    if "$ oxigraph " in text and not shutil.which("oxigraph", path=path):
        pytest.skip("needs Oxigraph's server: pip install oxigraph")
    with ending(tmp_path / "server.pid"):
        run_page(text.replace("7878", str(port)), port, tmp_path, path)


def run_page(text: str, port: int, tmp_path: Path, path: str) -> None:
    run = 0
    for command, shown in commands(text):
        file = command.removeprefix("cat ")
        if command.startswith("cat ") and not (tmp_path / file).exists():
            (tmp_path / file).write_text("\n".join(shown) + "\n", encoding="utf-8")
            continue
        called = subprocess.run(
            ["bash", "-c", command],
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        printed = called.stdout + called.stderr
        expected = re.search(r"# exit code (\d)$", command)
        assert called.returncode == int(expected[1] if expected else 0), printed
        assert not [line for line in shown if line and not is_shown(line, printed)], printed
        for word, is_there in (("oxigraph serve", True), ("shiq serve", True), ("kill ", False)):
            if command.startswith(word):
                wait_for(port, is_there=is_there)
                if not is_there:
                    (tmp_path / "server.pid").unlink()
        run += 1
    assert run >= 5
