"""No file and no class is too long to read at once, a class with its bases neither."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.lint

ROOT = Path(__file__).resolve().parent.parent
#: Lines of a file, by package; statements of a class, as `ast.unparse` writes them.
FILES = dict.fromkeys(("shiq", "simplify", "abox_ops", "jobs", "streams"), 600)
CLASS = 250
#: Attributes of a class and levels of classes, both with its bases in the tree.
ATTRIBUTES, DEPTH = 15, 2
#: Still to be cut.
KNOWN: set[str] = set()
#: Classes still to be cut that are above a limit with their bases.
TOWERS: set[str] = {
    # The options of a check, each a keyword of the public calls: in groups they would be 26 fields,
    # 26 properties that hand them on, and a constructor that takes them apart (some 60 statements).
    "jobs/checking/options.py:Options",
}


@cache
def classes_of(text: str) -> tuple[ast.ClassDef, ...]:
    return tuple(node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef))


@cache
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


@dataclass(frozen=True)
class Hierarchy:
    """Classes by name; of those that share a name the one in the file of whoever names it."""

    classes: Mapping[str, Mapping[str, ast.ClassDef]]

    def lineage(self, name: str, file: str) -> list[ast.ClassDef]:
        """The class and its bases in the tree, each once; protocols among the bases left out."""
        found: list[ast.ClassDef] = []
        open_ = [(name, file)]
        while open_:
            name, file = open_.pop()
            for base_file, node in self._lookup(name, file):
                if node not in found and not (found and "Protocol" in names_of_bases(node)):
                    found.append(node)
                    open_ += ((base, base_file) for base in names_of_bases(node))
        return found

    def depth(self, name: str, file: str) -> int:
        """How many levels of classes, bases included, ``name`` is made of."""
        levels = [
            1 + max((self.depth(base, at) for base in names_of_bases(node)), default=0)
            for at, node in self._lookup(name, file)
            if "Protocol" not in names_of_bases(node)
        ]
        return max(levels, default=0)

    def is_exception(self, name: str, file: str) -> bool:
        """Whether a class is made to be raised."""
        bases = {b for node in self.lineage(name, file) for b in names_of_bases(node)}
        return any(base.endswith(("Error", "Exception")) for base in bases)

    def _lookup(self, name: str, file: str) -> list[tuple[str, ast.ClassDef]]:
        known = self.classes.get(name, {})
        if file in known:
            return [(file, known[file])]
        return [] if name.startswith("_") else list(known.items())[:1]


def names_of_bases(node: ast.ClassDef) -> list[str]:
    """The names of a class's bases, without modules and parameters."""
    bases = (base.value if isinstance(base, ast.Subscript) else base for base in node.bases)
    return [
        base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "") for base in bases
    ]


def attributes(node: ast.ClassDef) -> set[str]:
    """The names that a class declares as fields or assigns to its first parameter."""
    found = {
        part.target.id
        for part in node.body
        if isinstance(part, ast.AnnAssign)
        if isinstance(part.target, ast.Name) and "ClassVar" not in ast.unparse(part.annotation)
    }
    for method in node.body:
        if not isinstance(method, ast.FunctionDef) or not method.args.args:
            continue
        own = method.args.args[0].arg
        found |= {
            part.attr
            for part in ast.walk(method)
            if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store)
            if isinstance(part.value, ast.Name) and part.value.id == own
        }
    return found


def hierarchy_of(texts: Mapping[str, str]) -> Hierarchy:
    found: dict[str, dict[str, ast.ClassDef]] = defaultdict(dict)
    for file, text in texts.items():
        for node in classes_of(text):
            found[node.name][file] = node
    return Hierarchy(found)


def too_high(hierarchy: Hierarchy) -> dict[str, str]:
    """The classes above a limit with their bases, and why."""
    found = {}
    for name, by_file in hierarchy.classes.items():
        for file in by_file:
            lineage = hierarchy.lineage(name, file)
            size = sum(map(statements, lineage))
            count = len(set().union(*map(attributes, lineage)))
            depth = hierarchy.depth(name, file)
            wrong = [f"{size} statements"] if size > CLASS else []
            wrong += [f"{count} attributes"] if count > ATTRIBUTES else []
            if depth > DEPTH and not hierarchy.is_exception(name, file):
                wrong.append(f"{depth} levels")
            if wrong:
                found[f"{file}:{name}"] = ", ".join(wrong)
    return found


def test_a_class_with_its_bases_stays_short() -> None:
    texts = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for package in FILES
        for path in sorted((ROOT / package).rglob("*.py"))
        if not any(part.is_symlink() for part in path.parents)
    }
    found = too_high(hierarchy_of(texts))
    assert {name: why for name, why in found.items() if name not in TOWERS} == {}
    assert not TOWERS - found.keys(), "no longer above a limit: take it off the list"


def test_a_class_that_is_too_high_with_its_bases_is_seen() -> None:
    base = "class A:\n" + "    x = 1\n" * 200
    above = "from a import A\nclass B(A):\n" + "    y = 1\n" * 60
    assert too_high(hierarchy_of({"a": base, "b": above})) == {"b:B": "262 statements"}
    fields = "class A:\n" + "".join(f"    f{i}: int\n" for i in range(10))
    more = "class B(A):\n    def __init__(self):\n        " + "; ".join(
        f"self.g{i} = 1" for i in range(6)
    )
    assert too_high(hierarchy_of({"a": f"{fields}{more}\n"})) == {"a:B": "16 attributes"}
    deep = "class A:\n    pass\nclass B(A):\n    pass\nclass C(B):\n    pass\n"
    assert too_high(hierarchy_of({"a": deep})) == {"a:C": "3 levels"}
    assert not too_high(hierarchy_of({"a": deep.replace("class A", "class A(ValueError)")}))
    assert not too_high(hierarchy_of({"a": deep.replace("class A", "class A(Protocol)")}))


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
