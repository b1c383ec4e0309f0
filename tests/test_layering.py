"""Imports point one way, and `import shiq` stays light."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("shiq", "simplify", "abox_ops", "jobs")

# Inside `jobs.checking`: each may import those before it.
_CONCEPTS = (
    "options",
    "base",
    "blank_nodes",
    "inputs",
    "answer",
    "crowds",
    "explaining",
    "outside",
    "deciding",
    "certifying",
    "session",
)
CHECKING = tuple(f"jobs.checking.{name}" for name in _CONCEPTS)

# Who may import what: the longest prefix of the importing module counts. Ours, from the bottom to the top.
MAY_IMPORT = {
    "shiq": {"shiq"},
    "simplify": {"shiq", "simplify"},
    "abox_ops": {"shiq", "simplify", "abox_ops"},
    "jobs.checking": {"jobs.checking"},
    **{name: {"shiq", "simplify", "abox_ops", *CHECKING[: i + 1]} for i, name in enumerate(CHECKING)},
    "shiq.check": {"shiq", "simplify", "abox_ops", *CHECKING, "shiq.check"},
    "jobs": {
        "shiq",
        "simplify",
        "abox_ops",
        *CHECKING,
        "shiq.check",
        "jobs",
        "shiq.columns.arrays",
        "shiq.columns.rows",
        "jobs.store",
    },
    "shiq.columns.arrays": {"shiq", "shiq.columns.arrays"},
    "shiq.columns.rows": {"shiq", "shiq.columns.arrays", "shiq.columns.rows"},
    "jobs.store": {"shiq", "simplify", "abox_ops", "shiq.columns.arrays", "shiq.columns.rows", "jobs.store"},
}

# Third-party modules, and the only places that may import them.
ONLY_IN = {
    "pyspark": ("jobs",),
    "graphframes": ("jobs",),
    "deltalake": ("shiq.rdf.tables", "jobs"),
    "pandas": ("jobs",),
    "click": ("jobs",),
    "py4j": ("shiq.reasoner", "jobs"),
    "owlready2": ("shiq", "jobs"),
    "rdflib": ("shiq", "jobs"),
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
)


def _covers(prefix: str, module: str) -> bool:
    return module == prefix or module.startswith(prefix + ".")


def _layer(module: str) -> str | None:
    """The longest key of MAY_IMPORT that covers ``module``; None for somebody else's."""
    return max((layer for layer in MAY_IMPORT if _covers(layer, module)), key=len, default=None)


def _imported(tree: ast.AST) -> Iterator[tuple[str, bool]]:
    """Every module that is imported anywhere in ``tree``, functions included; True for a relative import."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, False) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            yield base, node.level > 0
            # `from shiq import check` imports a module too.
            yield from ((f"{base}.{alias.name}", False) for alias in node.names if base and not node.level)


def violations(module: str, source: str) -> list[str]:
    """What ``source``, as the text of ``module``, imports against the rules."""
    layer = _layer(module)
    assert layer is not None, module
    found = []
    for target, relative in _imported(ast.parse(source)):
        if relative:
            found.append(f"{module}: relative import of {target or '.'}")
        target_layer = _layer(target)
        # The package's own face names shiq.check for type checkers and loads it when asked for; that of jobs.checking looks
        # whether the packages that the modules in it import are ours.
        if (
            target_layer is not None
            and target_layer not in MAY_IMPORT[layer]
            and (module, target_layer) not in (("shiq", "shiq.check"), ("jobs.checking", "shiq"))
        ):
            found.append(f"{module}: imports {target}")
        for name, places in ONLY_IN.items():
            if _covers(name, target) and not any(_covers(place, module) for place in places):
                found.append(f"{module}: imports {target}, which only {' and '.join(places)} may")
    if _covers("simplify", module) and any(_covers("shiq.abox", target) for target, _ in _imported(ast.parse(source))):
        found.append(f"{module}: imports shiq.abox, but rewriting a TBox sees no ABox")
    return sorted(set(found))


def _modules() -> list[tuple[str, Path]]:
    named = []
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            named.append((".".join(parts[:-1] if parts[-1] == "__init__" else parts), path))
    return named


@pytest.mark.parametrize(("module", "path"), _modules(), ids=[module for module, _ in _modules()])
def test_imports_point_one_way(module: str, path: Path) -> None:
    assert violations(module, path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("shiq.model", "import jobs.store"),
        ("shiq.reading", "from simplify import simplify_tbox"),
        ("shiq.model", "from shiq import check"),
        ("shiq.rdf", "from shiq.check import check_insertions"),
        ("shiq.check", "def f():\n    import abox_ops.local"),
        ("jobs.checking.base", "from jobs.checking.inputs import sources_of"),
        ("jobs.checking.session", "from shiq.check import certify"),
        ("jobs.checking.new", "from shiq.abox import ABox"),
        ("shiq.rdf", "from jobs.checking.options import Options"),
        ("abox_ops.labels.calculus", "from jobs.checking.base import Base"),
        ("simplify.desugar", "import abox_ops.labels.calculus"),
        ("simplify.desugar", "from shiq.abox import ABox"),
        ("abox_ops.labels.calculus", "import shiq.check"),
        ("abox_ops.labels.calculus", "import pyspark.sql"),
        ("shiq.model", "from py4j.java_gateway import JavaGateway"),
        ("jobs.store", "from . import cli"),
        ("jobs.store.read", "from abox_ops.index.columns import Index"),
        ("shiq.columns.arrays", "import jobs.store"),
    ],
)
def test_violations_are_seen(module: str, source: str) -> None:
    assert violations(module, source) != []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("shiq.check", "import abox_ops.labels.calculus, simplify"),
        ("shiq.check", "from jobs.checking.session import Session"),
        ("jobs.checking.session", "from jobs.checking.options import Options"),
        ("jobs.cli", "import click\nfrom shiq.check import check_insertions"),
        ("abox_ops.labels.calculus", "from shiq.clause import Clause"),
        ("shiq.reasoner.hermit", "import py4j"),
        ("shiq.checksum", "import shiq.model"),
        ("shiq", "from shiq.check import check_insertions"),
    ],
)
def test_allowed_imports_pass(module: str, source: str) -> None:
    assert violations(module, source) == []


def _loaded_after(statement: str) -> set[str]:
    code = f"{statement}\nimport sys, json\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_import_is_light() -> None:
    loaded = _loaded_after("import shiq")
    assert "shiq" in loaded
    assert [name for name in HEAVY if name in loaded] == []
    assert [name for name in loaded if name.startswith(("simplify", "abox_ops", "jobs"))] == []


def test_values_are_light() -> None:
    loaded = _loaded_after(
        "import shiq; shiq.Verdict, shiq.TBox, shiq.ABox, shiq.KINDS, shiq.Result, shiq.ShiqError, shiq.__version__"
    )
    assert "shiq.model" in loaded
    assert [name for name in HEAVY if name in loaded] == []


def test_public_names_exist() -> None:
    import shiq

    assert set(shiq.__all__) <= set(dir(shiq))
    assert [name for name in shiq.__all__ if getattr(shiq, name, None) is None] == []
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = shiq.no_such_name
