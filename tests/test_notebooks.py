"""The notebooks of the docs run, and show what they show. After a change: `make notebooks`."""

from __future__ import annotations

import ast
import json
import re
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parent.parent / "docs" / "notebooks").glob("*.ipynb"))


class Picture(str):
    """Stands for `IPython.display.SVG`, which the tests do without."""

    def __repr__(self) -> str:
        return "<IPython.core.display.SVG object>"


def run(source: str, names: dict[str, Any]) -> tuple[str, Any]:
    """Run a cell. Returns: what it prints, and the value of its last expression or None."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed = StringIO()
    with redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        value = eval(ast.unparse(last), names) if last else None
    return printed.getvalue(), value


def shown(cell: dict[str, Any], kind: str) -> str:
    """What is kept of a cell's output: ``text`` that it printed, or its value as ``kind``."""
    outputs = cell["outputs"]
    if kind == "text":
        return "".join("".join(x["text"]) for x in outputs if x["output_type"] == "stream")
    return "".join("".join(x["data"].get(kind, "")) for x in outputs if "data" in x)


def squeezed(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_it_shows(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas", reason="tables of the notebooks are of pandas")
    display = ModuleType("IPython.display")
    display.SVG = Picture  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    names: dict[str, Any] = {}
    compared = 0
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        printed, value = run("".join(cell["source"]), names)
        told = "".join(str(x.get("text", "")) for x in cell["outputs"])
        assert "Traceback" not in told
        if printed or value is not None:
            assert printed == shown(cell, "text")
            compared += 1
        if isinstance(value, Picture):
            assert shown(cell, "image/svg+xml") == value
        elif value is not None and not hasattr(value, "columns"):
            assert squeezed(shown(cell, "text/plain")) == squeezed(repr(value))
    assert compared > 1
    assert path.stat().st_size < 50_000


def test_there_are_notebooks() -> None:
    assert {path.stem for path in NOTEBOOKS} == {"own-data", "streams"}


def test_the_example_of_the_python_page_runs(caplog: pytest.LogCaptureFixture) -> None:
    text = (NOTEBOOKS[0].parent.parent / "API.md").read_text("utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    caplog.set_level("DEBUG", "shiq")
    names: dict[str, Any] = {}
    exec(compile(code, "API.md", "exec"), names)
    assert names["steps"]
    assert any(
        record.name == "shiq.checking" and re.fullmatch(r"\S.*: \d+\.\d+ s", record.getMessage())
        for record in caplog.records
    )
