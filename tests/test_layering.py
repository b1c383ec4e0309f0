"""Imports point one way, and `import shiq` stays light."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

pytestmark = pytest.mark.lint

ROOT = Path(__file__).resolve().parent.parent
# Folders beside shiq/, whose import names begin with "shiq.": links in shiq/ lead to them.
BESIDE = ("simplify", "abox_ops", "jobs", "streams")
PACKAGES = ("shiq", *BESIDE)

# The rooms, from the bottom to the top: each may import itself and those before it. The longest
# prefix of a module is its room; a module outside all of them needs a place in this order.
ROOMS = (
    "shiq",
    "simplify",
    "abox_ops.engine",
    "abox_ops.labels",
    "abox_ops.elements",
    "abox_ops.told",
    "abox_ops.counting",
    "abox_ops.index",
    "abox_ops.modules",
    "abox_ops.published",
    "abox_ops.conflicts",
    "abox_ops.outside_question",
    "abox_ops.patch",
    "abox_ops.local_add_set",
    "abox_ops.local_engine",
    "abox_ops.snapshot_delta",
    "abox_ops.entailment",
    "files",
    "jobs.undecided_insertions",
    "jobs.hitting_sets",
    "jobs.spellings",
    "jobs.leftover_waivers",
    "jobs.pages",
    "jobs.option_fields",
    "jobs.configuration",
    "jobs.checking.options",
    "jobs.checking.base",
    "jobs.checking.inputs",
    "jobs.checking.ambiguous_properties",
    "jobs.checking.answer",
    "jobs.checking.explaining",
    "jobs.checking.outside_shiq",
    "jobs.checking.deciders",
    "jobs.checking.slices",
    "jobs.checking.repairing",
    "jobs.checking.deciding",
    "jobs.checking.certifying",
    "jobs.checking.session",
    "jobs.checking.calls",
    "shiq.api",
    "shiq.testing",
    "jobs.store",
    "jobs.outputs",
    "streams.front",
    "streams.consistency",
    "streams.enrichment",
    "streams.discovery",
    "streams.rules",
    "jobs.known_conflicts",
    "jobs.building",
    "jobs.spark",
    "jobs.graphframes",
    "jobs.reduced_ontology",
    "jobs.progress",
    "jobs.lint",
    "jobs.steps",
    "jobs.repro",
    "jobs.doctor",
    "jobs.reports",
    "jobs.gate",
    "jobs.history",
    "jobs.history_pages",
    "jobs.alerts",
    "shiq.spark",
    "shiq.commands",
    "jobs.streaming",
    "jobs.evaluation",
    "jobs.text",
    "jobs.serving",
    "jobs.commands",
    "jobs.cli",
    "jobs.nightly",
)
# What the package's own face names.
FACES = (
    "shiq.api",
    "shiq.commands",
    "streams.consistency",
    "streams.enrichment",
    "streams.discovery",
    "streams.rules",
)
# Packages of rooms: nothing of their own but a docstring.
HALLS = ("abox_ops", "jobs", "jobs.checking", "streams")
# What may be found by a name in a string, and where: engines of Spark and the store; commands, each
# loaded when it is called; and what is run in a process of its own.
BY_NAME = {
    "shiq": FACES,
    "jobs.checking.options": (
        "jobs.building",
        "jobs.spark",
        "jobs.graphframes",
        "jobs.store.upkeep",
    ),
    "jobs.store.upkeep": ("jobs.store.read", "jobs.store.replacing", "jobs.store.write"),
    "shiq.__main__": ("jobs.cli",),
    "jobs.cli": ("jobs.commands",),
    "jobs.commands.stream": ("jobs.commands.stream",),
    "jobs.evaluation.evaluate.run": ("jobs.evaluation.evaluate.worker",),
}

# Third-party modules, and the only places that may import them.
ONLY_IN = {
    "pyspark": ("jobs", "shiq.spark"),
    "graphframes": ("jobs",),
    "deltalake": (
        "shiq.rdf.tables",
        "shiq.rdf.delta_changes",
        "jobs",
        "streams.front",
        "streams.enrichment.entries_table",
    ),
    "confluent_kafka": ("streams.front.kafka",),
    "obstore": ("shiq.remote.bucket",),
    "pandas": ("jobs", "shiq.answers.result"),
    "click": ("jobs",),
    **dict.fromkeys(("fastapi", "pydantic", "starlette"), ("jobs.serving.web",)),
    "uvicorn": ("jobs.commands.serve",),
    "mcp": ("jobs.serving.tools",),
    "py4j": ("jobs",),
    "owlready2": ("shiq", "jobs"),
    "rdflib": ("jobs.evaluation.peers.owl_rl",),
    "jinja2": ("jobs.pages", "shiq.answers.display"),
    "jsonschema": ("jobs.reports.write",),
    "pyoxigraph": ("shiq", "jobs"),
}

# What a bare `import shiq` must not load.
HEAVY = (
    "pyspark",
    "py4j",
    "pandas",
    "numpy",
    "pyarrow",
    "deltalake",
    "rdflib",
    "owlready2",
    "pyoxigraph",
    "click",
    "graphframes",
    "jinja2",
    "jsonschema",
)


@cache
def _covers(prefix: str, module: str) -> bool:
    return module == prefix or module.startswith(prefix + ".")


@cache
def _room(module: str) -> int | None:
    """The place in ROOMS of the longest prefix of ``module`` there; None for a hall, and for
    somebody else's module.
    """
    return max(
        (i for i, room in enumerate(ROOMS) if _covers(room, module)),
        key=lambda i: len(ROOMS[i]),
        default=None,
    )


def _home(module: str) -> str:
    """The name of a module of ours by its place in the tree: ``shiq.jobs.store`` is ``jobs.store``."""
    name = module.removeprefix("shiq.")
    return name if name.split(".")[0] in BESIDE else module


def _imported(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, bool]]:
    """Every module that ``nodes`` import; True for a relative import."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.name, False) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            yield base, node.level > 0
            # `from shiq import check` imports a module too.
            yield from (
                (f"{base}.{alias.name}", False) for alias in node.names if base and not node.level
            )


def _named(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Our modules that a whole string of ``nodes`` names, as "module" or "module:attribute"."""
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            module = _home(node.value.partition(":")[0])
            if "." in module and (
                module in _NAMES or (":" in node.value and module.split(".")[0] in PACKAGES)
            ):
                yield module


def violations(module: str, source: str) -> list[str]:
    """What ``source``, as the text of ``module``, imports against the rules, in functions too."""
    room, nodes = _room(module), list(ast.walk(ast.parse(source)))
    assert room is not None or module in HALLS, f"{module}: say where it stands among the rooms"
    found = []
    imported = list(_imported(nodes))
    for target, relative in imported:
        if relative:
            found.append(f"{module}: relative import of {target or '.'}")
        if target.split(".")[0] in BESIDE:
            found.append(f"{module}: imports {target}, whose name is shiq.{target}")
        target = _home(target)
        its = _room(target)
        # The package's own face names what it loads when asked for, for type checkers.
        named = module == "shiq" and its is not None and ROOMS[its] in FACES
        if its is not None and (room is None or its > room) and not named:
            found.append(f"{module}: imports {target}")
        if _covers("tests", target):
            found.append(f"{module}: imports {target}, which is no part of the product")
        for name, places in ONLY_IN.items():
            if _covers(name, target) and not any(_covers(place, module) for place in places):
                found.append(f"{module}: imports {target}, which only {' and '.join(places)} may")
    for target in _named(nodes):
        if not any(_covers(name, target) for name in BY_NAME.get(module, ())) and not _covers(
            module, target
        ):
            found.append(f"{module}: names {target} in a string")
    if _covers("simplify", module) and any(
        _covers("shiq.model.abox", _home(target)) for target, _ in imported
    ):
        found.append(f"{module}: imports shiq.model.abox, but rewriting a TBox sees no ABox")
    return sorted(set(found))


def _modules() -> list[tuple[str, Path]]:
    named = []
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            named.append((".".join(parts[:-1] if parts[-1] == "__init__" else parts), path))
    return named


_NAMES = frozenset(module for module, _ in _modules())


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_point_one_way(package: str) -> None:
    modules = [(module, path) for module, path in _modules() if _covers(package, module)]
    assert modules
    assert [
        fault
        for module, path in modules
        for fault in violations(module, path.read_text(encoding="utf-8"))
    ] == []


#: Imports inside functions that still close a circle.
CIRCLES = {
    ("jobs.spark.session", "jobs.spark.executor_reasoner"),
    ("streams.discovery.stream", "streams.discovery.miner"),
    ("streams.rules.program", "streams.rules.session"),
}


def imports_of(module: str, source: str) -> set[str]:
    """Our modules that ``source`` imports when it runs, also inside functions."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            node.body = []
    found: set[str] = set()
    for node in ast.walk(tree):
        own = [_home(name) for name, _ in _imported([node])]
        # `from shiq.rdf import load` is about the module, not about the face of its package.
        found |= _NAMES.intersection(own[1:]) or _NAMES.intersection(own[:1])
    return found - {module, "shiq"}


def circle(imports: dict[str, set[str]]) -> list[str]:
    """A circle of imports; empty if there is none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_circle_hides_in_a_function() -> None:
    imports = {name: imports_of(name, path.read_text("utf-8")) for name, path in _modules()}
    there = {(name, to) for name, found in imports.items() for to in found}
    assert not CIRCLES - there, "no longer there: take it off the list"
    for name, to in CIRCLES:
        imports[name].discard(to)
    assert circle(imports) == []
    imports["shiq.model.axioms"].add("jobs.cli")
    assert "jobs.cli" in circle(imports)


def test_imports_in_functions_count_and_those_for_types_do_not() -> None:
    assert imports_of("jobs.cli", "def f():\n    from shiq.model import TBox") == {"shiq.model"}
    assert not imports_of("jobs.cli", "if TYPE_CHECKING:\n    from shiq.model import TBox")


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("shiq.model", "import shiq.jobs.store"),
        ("shiq.inputs.reading", "from shiq.simplify import simplify_tbox"),
        ("shiq.model", "from shiq import api"),
        ("jobs.cli", "from jobs.store import open_store"),
        ("jobs.cli", "import simplify"),
        ("shiq.rdf", "from shiq.api import check_insertions"),
        ("shiq.api", "def f():\n    import shiq.jobs.spark.engine"),
        ("jobs.checking.base", "from shiq.jobs.checking.inputs import sources_of"),
        ("jobs.checking.session", "from shiq.api import certify"),
        ("jobs.checking.base", "from shiq.jobs.store.read import Store"),
        ("jobs.checking.base", "x = load('shiq.jobs.spark.engine')"),
        ("jobs.checking.base", "x = load('shiq.jobs.new.engine:Engine')"),
        ("shiq.rdf", "from shiq.jobs.checking.options import Options"),
        ("abox_ops.labels.label_calculus", "from shiq.jobs.checking.base import Base"),
        ("simplify.desugar", "import shiq.abox_ops.labels.label_calculus"),
        ("simplify.desugar", "from shiq.model.abox import ABox"),
        ("abox_ops.labels.label_calculus", "import shiq.api"),
        ("abox_ops.labels.label_calculus", "import pyspark.sql"),
        ("shiq.reasoner.hermit", "from py4j.java_gateway import JavaGateway"),
        ("jobs.store", "from . import cli"),
        ("abox_ops.index.index", "from shiq.jobs.store.read import Store"),
        ("shiq.columns.arrays", "import shiq.jobs.store"),
        ("abox_ops.local_engine", "from tests.spec.told import saturate"),
        ("abox_ops.local_engine", "from tests import spec"),
    ],
)
def test_violations_are_seen(module: str, source: str) -> None:
    assert violations(module, source) != []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("shiq.api", "import shiq.abox_ops.labels.label_calculus, shiq.simplify"),
        ("shiq.api", "from shiq.jobs.checking.session import Session"),
        ("jobs.checking.session", "from shiq.jobs.checking.options import Options"),
        ("jobs.cli", "import click\nfrom shiq.api import check_insertions"),
        ("abox_ops.labels.label_calculus", "from shiq.model.clause import Clause"),
        ("jobs.spark.session", "import py4j"),
        ("shiq.checksum", "import shiq.model"),
        ("shiq", "from shiq.api import check_insertions"),
    ],
)
def test_allowed_imports_pass(module: str, source: str) -> None:
    assert violations(module, source) == []


def _loaded_after(statement: str) -> set[str]:
    code = f"{statement}\nimport sys, json\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_import_is_light() -> None:
    loaded = _loaded_after("import shiq")
    assert "shiq" in loaded
    assert [name for name in HEAVY if name in loaded] == []
    assert [name for name in loaded if _home(name) != name] == []


def test_values_are_light() -> None:
    loaded = _loaded_after(
        "import shiq; shiq.Verdict, shiq.TBox, shiq.ABox, shiq.KINDS, shiq.Result, shiq.ShiqError, shiq.__version__"
    )
    assert "shiq.model" in loaded
    assert [name for name in HEAVY if name in loaded] == []


def test_a_command_line_starts_light() -> None:
    loaded = _loaded_by("--version")
    assert [name for name in HEAVY if name in loaded] == ["click"]


def _loaded_by(*words: str) -> set[str]:
    """The modules that the command ``shiq words`` loads."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "shiq", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    lines = done.stderr.splitlines()
    return {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")}


def test_a_checkout_that_is_not_installed_has_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.metadata
    from configparser import ConfigParser

    import shiq

    settings = ConfigParser()
    settings.read(ROOT / "setup.cfg", "utf-8")
    assert shiq.__version__
    monkeypatch.delitem(vars(shiq), "__version__")
    monkeypatch.setattr(
        importlib.metadata, "distribution", importlib.metadata.Distribution.from_name
    )
    monkeypatch.setattr(importlib.metadata.Distribution, "discover", lambda **_: iter(()))
    assert shiq.__version__ == settings["metadata"]["version"]


def test_public_names_exist() -> None:
    import shiq

    assert set(shiq.__all__) <= set(dir(shiq))
    assert [name for name in shiq.__all__ if getattr(shiq, name, None) is None] == []
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = shiq.no_such_name
