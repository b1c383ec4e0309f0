"""No file and no class is too long to read at once."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
#: Lines of a file, by package; statements of a class, as `ast.unparse` writes them.
FILES = dict.fromkeys(("shiq", "simplify", "abox_ops", "jobs", "streams"), 600)
CLASS = 250
#: Still to be cut.
KNOWN: set[str] = set()


@cache
def classes_of(text: str) -> tuple[ast.ClassDef, ...]:
    return tuple(node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef))


def statements(node: ast.ClassDef) -> int:
    """Count the lines of a class without docstrings, whatever its line width."""
    text = ast.unparse(node)
    documented = (
        part
        for part in ast.walk(ast.parse(text))
        if isinstance(part, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        if ast.get_docstring(part) is not None
    )
    docs = sum((part.body[0].end_lineno or 0) - part.body[0].lineno + 1 for part in documented)
    return sum(1 for line in text.splitlines() if line.strip()) - docs


def too_long(text: str, lines: int) -> list[str]:
    """What of a file is above the limits."""
    found = [f"{count} lines"] if (count := len(text.splitlines())) > lines else []
    for node in classes_of(text):
        if (size := statements(node)) > CLASS:
            found.append(f"class {node.name}: {size} statements")
    return found


@pytest.mark.parametrize("package", FILES)
def test_files_and_classes_stay_short(package: str) -> None:
    found = {
        name: wrong
        for path in sorted((ROOT / package).rglob("*.py"))
        if (name := path.relative_to(ROOT).as_posix()) not in KNOWN
        if (wrong := too_long(path.read_text(encoding="utf-8"), FILES[package]))
    }
    assert not found


def test_what_is_too_long_is_seen() -> None:
    long = "class A:\n" + "    x = 1\n" * 250
    assert too_long(long, 250) == ["251 lines", "class A: 251 statements"]
    assert too_long(long, 251) == ["class A: 251 statements"]
    documented = 'class A:\n    """One\n    two."""\n' + "    x = 1\n" * 249
    assert not too_long(documented, 300)


#: Nouns that end as participles do.
NOUNS = {"Feed", "Need"}
#: Participles that do not end in -ed.
IRREGULAR = {"Found", "Held", "Kept", "Known", "Met", "Read", "Said", "Sent", "Shown", "Told"}


def names_twice(classes: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    """The names that (name, file) pairs give to classes of more than one folder, with the files. A
    leading underscore makes a
    name one of its file."""
    found: dict[str, set[str]] = defaultdict(set)
    for name, file in classes:
        if not name.startswith("_"):
            found[name].add(file)
    return {
        name: files
        for name, files in found.items()
        if len({file.rpartition("/")[0] for file in files}) > 1
    }


def bare_participles(names: Iterable[str]) -> set[str]:
    """The ``names`` of one word that says what was done to a thing, and not what it is."""
    words = (
        name
        for name in names
        if name.isidentifier() and sum(letter.isupper() for letter in name) == 1
    )
    return {
        name for name in words if name in IRREGULAR or (name.endswith("ed") and name not in NOUNS)
    }


def _classes(packages: Iterable[str]) -> list[tuple[str, str]]:
    return [
        (node.name, path.relative_to(ROOT).as_posix())
        for package in packages
        for path in sorted((ROOT / package).rglob("*.py"))
        for node in classes_of(path.read_text(encoding="utf-8"))
    ]


def test_a_class_is_named_by_a_noun_and_in_one_folder() -> None:
    assert not bare_participles(name for name, _ in _classes(FILES) if not name.startswith("_"))
    assert not names_twice(_classes(FILES))


def test_a_name_that_stands_twice_and_a_participle_are_seen() -> None:
    assert names_twice(
        [("Batch", "a/x.py"), ("Batch", "b/x.py"), ("_Part", "a/x.py"), ("_Part", "b/x.py")]
    ).keys() == {"Batch"}
    assert not names_twice([("Counts", "a/x.py"), ("Counts", "a/y.py")])
    assert bare_participles(["Keyed", "Found", "Need", "KeyedTable", "Graph"]) == {"Keyed", "Found"}
