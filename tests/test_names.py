"""Names in backticks exist: in docstrings and comments those of the code, in pages also files, options and commands."""

from __future__ import annotations

import ast
import builtins
import io
import keyword
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest

from shiq.answers.verdict import KINDS
from shiq.jobs.cli import cli

pytestmark = pytest.mark.lint

HERE = Path(__file__).resolve()
ROOT = HERE.parent.parent
PACKAGES = ("shiq", "simplify", "abox_ops", "jobs", "streams", "tests")
#: Pages that say what the program is today; logs and papers say what it was.
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
#: Options and functions of other programs, and those of click and make.
OTHERS = {
    *("--accept-agpl", "--help", "--version"),
    *("--driver-memory", "--executor-memory", "--packages", "create_changelog_view"),
}
_NAME = re.compile(r"(?<!`)(`{1,2})([A-Za-z_][\w.]*)(?:\(\))?\1(?!`)")
_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@cache
def sources() -> dict[str, str]:
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        if path != HERE and not any(x.is_symlink() for x in path.parents)
    }


@cache
def modules() -> dict[str, ast.Module]:
    """The syntax of each module, by its dotted name."""
    found = {}
    for path, text in sources().items():
        name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        found[name if name.startswith(("shiq", "tests")) else f"shiq.{name}"] = ast.parse(text)
    return found


def names_in(tree: ast.AST) -> Iterator[str]:
    """The identifiers of a module, and the words of its texts other than docstrings."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield name
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                yield node.name
            case ast.keyword(arg=str(name)):
                yield name
            case ast.alias():
                yield from (*node.name.split("."), node.asname or "")
            case ast.Constant(value=str(text)) if not getattr(node, "is_docstring", False):
                yield from re.findall(r"\w+", text)


@cache
def all_names() -> frozenset[str]:
    found = {*dir(builtins), *keyword.kwlist}
    for name, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, _DOCUMENTED) and ast.get_docstring(node) is not None:
                node.body[0].value.is_docstring = True  # type: ignore[attr-defined]
        found.update(name.split("."), names_in(tree))
    return frozenset(found)


def is_there(name: str) -> bool:
    """Do all words of a dotted name exist, and a name of `shiq` in its module?"""
    words = name.strip(".").split(".")
    if words[0] != "shiq" or words[-1] in ("json", "toml"):
        return all(word in all_names() for word in words)
    size = max(n for n in range(1, len(words) + 1) if ".".join(words[:n]) in modules())
    inside = names_below(".".join(words[:size]))
    return all(word in inside for word in words[size : size + 1]) and set(words) <= all_names()


@cache
def names_below(package: str) -> frozenset[str]:
    """The names in a module and in those below it, which it may pass on."""
    trees = [tree for name, tree in modules().items() if f"{name}.".startswith(f"{package}.")]
    return frozenset(name for tree in trees for name in names_in(tree))


def explanations(text: str) -> Iterator[str]:
    """The docstrings and comments of a module."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, _DOCUMENTED):
            yield ast.get_docstring(node) or ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def stale_names(text: str) -> set[str]:
    """The names in backticks in docstrings and comments that stand for nothing."""
    found = (name for part in explanations(text) for _, name in _NAME.findall(part))
    return {name for name in found if not is_there(name)}


@pytest.mark.parametrize("package", PACKAGES)
def test_names_in_docstrings_and_comments_exist(package: str) -> None:
    mine = {path: text for path, text in sources().items() if path.startswith(f"{package}/")}
    found = {
        path: stale_names(text) for path, text in mine.items() if path != "tests/test_names.py"
    }
    assert {path: names for path, names in found.items() if names} == {}


def test_stale_names_are_seen() -> None:
    text = '"""See `shiq.model.abox.NoSuch`, ``noSuchName`` and `noSuch.size`, not `ABox`."""\n#: `_noSuch`\n'
    assert stale_names(text) == {"shiq.model.abox.NoSuch", "noSuchName", "noSuch.size", "_noSuch"}


@cache
def options() -> frozenset[str]:
    """The options of all commands."""

    def below(command: click.Command) -> Iterator[str]:
        for parameter in command.params:
            yield from (*parameter.opts, *parameter.secondary_opts)
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                child = command.get_command(context, name)
                yield from below(child) if child is not None else ()

    return frozenset(below(cli))


def is_known(span: str) -> bool:
    """Does what a page has in backticks exist? True for whatever is no name of ours."""
    if span in OTHERS:
        return True
    if re.fullmatch(r"(shiq|simplify|abox_ops|jobs|streams|tests|docs|data)/[\w./-]*", span):
        return (ROOT / span).exists()
    if re.fullmatch(r"--[a-z][\w-]*", span):
        return span in options()
    if re.fullmatch(r"shiq(\.\w+)+(\(\))?", span):
        return is_there(span.removesuffix("()"))
    if re.fullmatch(r"(outside|unknown|missing|broken|mostly|non)-[a-z-]+", span):
        return span in KINDS
    if re.fullmatch(r"[a-z]+(_[a-z0-9]+)+(\(\))?|[A-Z][a-z]+([A-Z][a-z]+)+", span):
        return span.removesuffix("()") in all_names()
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_names_in_pages_exist(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    if page.name == "THEORY.md":  # its examples have classes of their own
        text = re.sub(r"`[A-Z]\w+`", "", text)
    assert {span for span in _SPAN.findall(text) if not is_known(span)} == set()
