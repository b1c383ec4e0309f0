"""What is installed has one top-level name, shiq, and works beside packages of the user's own that
are called jobs, streams, simplify or abox_ops.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BESIDE = ("simplify", "abox_ops", "jobs", "streams")
CLASH = "Ontology(<urn:t> SubClassOf(<urn:A> <urn:B>) DisjointClasses(<urn:A> <urn:B>) ClassAssertion(<urn:A> <urn:x>))"


def ran(*command: str | Path, cwd: Path, path: Path | None = None) -> str:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel, and the source distribution, of a copy of this tree."""
    pytest.importorskip("setuptools", "70.1")
    copy = tmp_path_factory.mktemp("built") / "shiq"
    tree = ("shiq", *BESIDE, "setup.cfg", "pyproject.toml", "README.md", "LICENSE", "NOTICE")
    for name in tree:
        if (ROOT / name).is_dir():
            leave = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, copy / name, symlinks=True, ignore=leave)
        else:
            shutil.copy(ROOT / name, copy / name)
    code = "from setuptools import build_meta as b; print(b.build_sdist('.'), b.build_wheel('.'))"
    said = ran("-c", code, cwd=copy)
    wheels, sources = [*copy.glob("*.whl")], [*copy.glob("*.tar.gz")]
    assert (len(wheels), len(sources)) == (1, 1), said
    return wheels[0], sources[0]


def modules(root: Path) -> set[str]:
    """The import names of the modules below ``root``, each as a path."""
    found = {path.relative_to(root).as_posix() for path in (root / "shiq").rglob("*.py")}
    for name in BESIDE:
        found |= {f"shiq/{path.relative_to(root)}" for path in (root / name).rglob("*.py")}
    return found


@pytest.mark.slow
def test_wheel_and_sdist_hold_every_module_once(built: tuple[Path, Path]) -> None:
    wheel, source = built
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == {"shiq"}
    assert {name for name in names if name.endswith(".py")} == modules(ROOT)
    with tarfile.open(source) as archive:
        files = {"/".join(name.split("/")[1:]) for name in archive.getnames()}
    assert {name for name in files if name.startswith("shiq/") and name.endswith(".py")} == modules(
        ROOT
    )
    templates = [path for path in (ROOT / "jobs" / "templates").rglob("*") if path.is_file()]
    assert len(templates) > 10
    shipped = {f"shiq/{path.relative_to(ROOT).as_posix()}" for path in templates}
    shipped |= {
        "shiq/py.typed",
        "shiq/templates/result.html",
        "shiq/jobs/reports/verdict.schema.json",
    }
    for folder in (ROOT / "shiq/reasoner/java", ROOT / "jobs/evaluation/peers"):
        classes = [path for path in folder.iterdir() if path.suffix in (".java", ".class")]
        assert len(classes) == 3
        home = "shiq/" if folder.parts[-2] == "evaluation" else ""
        shipped |= {f"{home}{path.relative_to(ROOT).as_posix()}" for path in classes}
    assert shipped <= set(names) and shipped <= files


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["wheel", "sdist", "unpacked"])
def test_it_works_beside_packages_of_these_names(
    built: tuple[Path, Path], kind: str, tmp_path: Path
) -> None:
    wheel, source = built
    if kind == "wheel":  # as --py-files takes it: a zip file on the path
        path = wheel
    elif kind == "sdist":
        with tarfile.open(source) as archive:
            archive.extractall(tmp_path / "source", filter="data")
        (path,) = (tmp_path / "source").iterdir()
    else:
        path = tmp_path / "site"
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(path)
    mine = tmp_path / "mine"
    for name in BESIDE:
        (mine / name).mkdir(parents=True)
        (mine / name / "__init__.py").write_text("MINE = True\n")
    (mine / "t.ofn").write_text(CLASH)
    asked = ("-m", "shiq", "certify", "t.ofn", "--report", "page.html")
    said = ran(*asked, cwd=mine, path=path)
    assert "INCONSISTENT" in said and "Traceback" not in said
    assert "<h1>The data contradicts itself.</h1>" in (mine / "page.html").read_text()
    hermit = ran("-m", "shiq", "certify", "t.ofn", "--reasoner", "hermit", cwd=mine, path=path)
    assert "INCONSISTENT" in hermit and "Traceback" not in hermit
    both = (
        "import jobs, streams, shiq, shiq.jobs.cli, shiq.streams;"
        "print(jobs.MINE, streams.MINE, shiq.check_insertions.__name__)"
    )
    assert ran("-c", both, cwd=mine, path=path).strip() == "True True check_insertions"


def test_a_clone_is_imported_by_both_names() -> None:
    code = """
import simplify, shiq.simplify
from shiq.model import Class, SubClassOf, TBox
tbox = TBox((SubClassOf(Class("urn:A"), Class("urn:B")),))
print([len(by(tbox).clauses.clauses) for by in (simplify.simplify, shiq.simplify.simplify)])
"""
    assert ran("-c", code, cwd=ROOT).strip() == "[1, 1]"
    assert "Usage" in ran("-m", "jobs.nightly", "--help", cwd=ROOT)
    assert "Usage" in ran("jobs/nightly.py", "--help", cwd=ROOT)
