"""README and docs: links lead somewhere, commands and options exist, the README's example gives its answer."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest
from command_line import shiq

import shiq as shiq_package
from shiq.answers.verdict import EXIT_CODES
from shiq.jobs.cli import cli
from tests.tools.reference import PAGE

pytestmark = pytest.mark.lint

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
_LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
_BLOCK = re.compile(r"^```[a-z]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
PREFIXES = (
    "@prefix : <https://example.org/plant#> . @prefix owl: <http://www.w3.org/2002/07/owl#> . "
    "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
)
DECLARED = ":Pump a owl:Class . :Machine a owl:Class . :Sensor a owl:Class . :measures a owl:ObjectProperty .\n"


def anchors(page: Path) -> set[str]:
    """The anchors of the headings of a page, as they are made from their texts."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    wrong = []
    for target, anchor in _LINK.findall(page.read_text(encoding="utf-8")):
        if target.startswith(("http://", "https://", "mailto:")):
            continue
        file = page.parent / target if target else page
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            wrong.append(f"{target}#{anchor}")
    assert not wrong


def test_files_that_contributing_names_are_there() -> None:
    text = (
        (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("### Five checklists")[2]
    )
    named = set(re.findall(r"`((?:[\w.-]+/)+[\w.]*|[\w]+\.py)`", text))
    assert len(named) > 40
    assert not {name for name in named if not (ROOT / name).exists()}


def test_every_page_is_in_the_index() -> None:
    listed = {target for target, _ in _LINK.findall((ROOT / "docs/README.md").read_text())}
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"README.md"}
    books = {f"notebooks/{book.name}" for book in (ROOT / "docs/notebooks").glob("*.ipynb")}
    assert listed == pages | books | {"papers/README.md"}


@cache
def options_of(words: tuple[str, ...]) -> tuple[tuple[str, ...], frozenset[str]]:
    """The command that ``words`` begin with, and its options."""
    command: click.Command = cli
    context = click.Context(cli)
    path: list[str] = []
    for word in words:
        if not isinstance(command, click.Group):
            break
        found = command.get_command(context, word)
        if found is None:
            break
        command, path = found, [*path, word]
    return tuple(path), frozenset(
        name
        for parameter in command.params
        for name in (*parameter.opts, *parameter.secondary_opts)
    )


def calls(page: Path) -> Iterator[list[str]]:
    """The calls of `shiq` in the blocks of a page, as words."""
    for block in _BLOCK.findall(page.read_text(encoding="utf-8")):
        for line in block.replace("\\\n", " ").splitlines():
            if found := re.match(r"(?:\$ )?shiq (.*)", line.strip()):
                yield shlex.split(found[1].replace("…", ""), comments=True)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_options_exist(page: Path) -> None:
    wrong = []
    for words in calls(page):
        path, options = options_of(tuple(words))
        named = [word.partition("=")[0] for word in words if word.startswith("--")]
        if not path:
            wrong.append(" ".join(words))
        wrong += [
            f"{' '.join(path)} {name}"
            for name in named
            if name not in options | {"--help", "--version"}
        ]
    assert not wrong


def leaves(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The commands that are no groups."""
    if not isinstance(command, click.Group):
        yield path
        return
    for name in command.list_commands(click.Context(command)):
        found = command.get_command(click.Context(command), name)
        assert found is not None
        yield from leaves(found, (*path, name))


@pytest.mark.parametrize("path", list(leaves(cli)), ids=" ".join)
def test_the_help_of_a_command_shows_an_example_on_a_line_of_its_own(path: tuple[str, ...]) -> None:
    command: click.Command = cli
    for name in path:
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), name) or command
    text = command.get_help(click.Context(command, info_name=" ".join(path)))
    assert "\b" not in text
    examples = [line for line in text.splitlines() if re.match(r" +(?:\S+ \S+ \| )?shiq ", line)]
    assert examples or path[0] in ("help",), text


def test_every_command_has_an_example() -> None:
    shown = {options_of(tuple(words))[0][0] for page in PAGES for words in calls(page)}
    assert set(cli.list_commands(click.Context(cli))) <= shown


def test_the_readme_is_short_and_has_every_exit_code() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 120
    assert set(map(int, re.findall(r"^\| (\d) \|", text, re.MULTILINE))) == {
        *EXIT_CODES.values(),
        2,
        4,
        5,
    }


def test_the_example_of_the_readme_gives_its_answer(tmp_path: Path) -> None:
    data, answer, *_ = _BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    for part in data.split("# ")[1:]:
        head, _, text = part.partition("\n")
        declared = DECLARED if head.startswith("plant") else ""
        (tmp_path / head.split()[0]).write_text(PREFIXES + declared + text, encoding="utf-8")
    printed = ""
    for line in answer.splitlines():
        if line.startswith("$ shiq "):
            printed += shiq(*shlex.split(line[7:], comments=True), cwd=tmp_path).stdout + "\n"
    squeezed = " ".join(printed.split())
    for line in answer.splitlines():
        if not line.startswith("$") and line.strip(" …"):
            assert " ".join(line.split()) in squeezed, line


def test_the_reference_is_what_the_program_says() -> None:
    """After a change of options or docstrings: `python -m tests.tools.reference`.

    In a process of its own, since click keeps the first `--help` that a command was asked for.
    """
    command = [
        sys.executable,
        "-c",
        "from tests.tools.reference import page; print(page(), end='')",
    ]
    printed = subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout
    assert PAGE.read_text(encoding="utf-8").splitlines() == printed.splitlines()


def test_the_reference_has_every_option_and_name() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in cli.list_commands(click.Context(cli)):
        path, options = options_of((name,))
        part = text.partition(f"### shiq {' '.join(path)}\n")[2].partition("\n### ")[0]
        assert not [x for x in options if x.startswith("-") and x not in part], name
    assert not [name for name in shiq_package.__all__ if f"### {name}\n" not in text]
    codes = re.findall(r"^\| (\d) \|", text.partition("## Exit codes\n")[2], re.MULTILINE)
    assert set(map(int, codes)) == {*EXIT_CODES.values(), 2, 4, 5}
