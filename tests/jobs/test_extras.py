"""Without the packages of an extra, a command that needs one says which, and how to install it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from command_line import shiq
from pyarrow import parquet

ROOT = Path(__file__).resolve().parents[2]
#: What a Python without some packages does: they are looked for, and not there.
HIDING = """import sys
from importlib.machinery import PathFinder

class Hiding(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.split(".")[0] in {hidden!r} else super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Hiding
"""
TBOX = "Prefix(:=<urn:t#>)\nOntology(<urn:t>\nDisjointClasses(:Cat :Dog)\n)\n"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("extras")
    (made / "t.ofn").write_text(TBOX)
    (made / "base.nt").write_text(f"<urn:t#tom> {TYPE} <urn:t#Cat> .\n")
    (made / "i.nt").write_text(f"<urn:t#rex> {TYPE} <urn:t#Dog> .\n")
    (made / "e.jsonl").write_text(f'{{"t": 1, "triples": ["<urn:t#rex> {TYPE} <urn:t#Dog> ."]}}\n')
    (made / "p.lp").write_text("a(X) :- b(X).\n")
    assert shiq("index", "-t", "t.ofn", "--store", "kg", "base.nt", "-q", cwd=made).returncode == 0
    return made


#: The commands of the lines of stdin, one after the other: the exit code of each, and its stderr.
MANY = """import contextlib, io, json, sys
from shiq.jobs.cli import main
found = []
for line in sys.stdin:
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
        try:
            main(line.split())
        except SystemExit as end:
            found.append((end.code or 0, errors.getvalue()))
print(json.dumps(found))
"""


def without(
    packages: tuple[str, ...], folder: Path, *commands: str, **settings: str
) -> list[tuple[int, str]]:
    """The exit codes, and what is printed on stderr, of commands in a Python that has none of
    ``packages``.
    """
    place = folder / f"without-{packages[0]}"
    place.mkdir(exist_ok=True)
    (place / "sitecustomize.py").write_text(HIDING.format(hidden=set(packages)))
    environment = {**os.environ, "PYTHONPATH": f"{place}{os.pathsep}{ROOT}", **settings}
    ran = subprocess.run(
        [sys.executable, "-c", MANY],
        cwd=folder,
        env=environment,
        input="\n".join(commands),
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return [(code, errors) for code, errors in json.loads(ran.stdout)]


SPARK = (
    "check --store kg --insert i.nt --engine spark",
    "check --store kg --insert i.nt --engine graphframes",
    "check --store kg --changes table:a.b --from-version 1 --engine spark",
    "gate --store kg --insert i.nt --engine spark",
    "index --tbox t.ofn --store other base.nt --engine spark",
    "stream consistency -t t.ofn -s e.jsonl -w 3 --engine spark",
    "stream enrich -t t.ofn -s e.jsonl --engine spark",
    "stream discover -t t.ofn -s e.jsonl --window 1 --slide 1 --engine spark",
    "stream rules p.lp -s e.jsonl --engine spark",
)


def test_without_spark(folder: Path) -> None:
    found = without(("pyspark", "py4j", "pandas", "graphframes", "google"), folder, *SPARK)
    assert len(found) == len(SPARK)
    for command, (code, errors) in zip(SPARK, found, strict=True):
        assert code == 4, command
        assert errors.splitlines() == [
            "shiq: this needs the package pyspark, which is not installed",
            "  Install it: pip install 'shiq[spark]'.",
        ], command


def test_without_the_packages_of_spark_connect(folder: Path) -> None:
    pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")
    commands = (SPARK[0], SPARK[5])
    for code, errors in without(("grpc",), folder, *commands, SPARK_REMOTE="sc://localhost:1"):
        assert code == 4
        first, remedy = errors.splitlines()
        assert first.startswith("shiq: grpcio ")
        assert remedy == "  Install it: pip install 'shiq[connect]'."


def test_without_rdflib_everything_but_its_graphs_is_there(folder: Path) -> None:
    ((code, errors),) = without(("rdflib", "pyparsing"), folder, "check --store kg --insert i.nt")
    assert (code, "Traceback" in errors) == (0, False)


def test_without_deltalake_what_needs_it_says_so(folder: Path) -> None:
    (folder / "lake" / "_delta_log").mkdir(parents=True, exist_ok=True)
    row = {"s": ["<urn:t#i>"], "p": [TYPE], "o": ["<urn:t#Dog>"]}
    parquet.write_table(pa.table(row), folder / "i.parquet")
    found = without(
        ("deltalake", "arro3"),
        folder,
        "gate --store kg --insert i.parquet --accepted good.delta --quarantine bad.delta --mode split",
        "check --store kg --changes lake --from-version 0",
        "check --store kg --insert lake",
    )
    told = [
        "shiq: this needs the package deltalake, which is not installed",
        "  Install it: pip install 'shiq[lake]'.",
    ]
    assert [(code, errors.splitlines()) for code, errors in found] == [(4, told)] * 3


def test_without_owlready2_hermit_is_missing_alone(folder: Path) -> None:
    check = "check --store kg --insert i.nt"
    plain, asked = without(("owlready2",), folder, check, f"{check} --reasoner hermit")
    assert (plain[0], asked[0]) == (0, 4)
    assert "pip install 'shiq[hermit]'" in asked[1]


def test_without_extras_files_and_stores_are_checked(folder: Path) -> None:
    missing = (
        "deltalake",
        "arro3",
        "owlready2",
        "pandas",
        "pyspark",
        "py4j",
        "rdflib",
        "yaml",
        "obstore",
    )
    found = without(
        missing,
        folder,
        "certify t.ofn base.nt",
        "lint t.ofn",
        "check --store kg --insert i.nt",
        "check -t t.ofn -i i.nt",
        "gate --store kg --insert i.nt --mode split --accepted good.nt --quarantine bad.nt",
    )
    assert [(code, "Traceback" in errors) for code, errors in found] == [(0, False)] * 5
