"""What the program advises can be pasted: every command that it prints runs."""

from __future__ import annotations

import ast
import json
import re
import shlex
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from command_line import shiq
from test_reports import BAD, BASE, GOOD, TBOX

from shiq.jobs.reports.report import read_report
from shiq.jobs.reports.words import next_steps

ROOT = Path(__file__).resolve().parents[2]
RULE = "[] a <http://www.w3.org/2003/11/swrl#Imp> ."
OPEN = "<urn:t#tom> <urn:t#chaes> <urn:t#rex> .\n"
FILES = {
    "t.ttl": TBOX,
    "rule.ttl": TBOX + RULE,
    "more.ttl": "<urn:t#Mouse> a <http://www.w3.org/2002/07/owl#Class> .",
    "base.nt": BASE,
    "wrong.nt": BASE + BAD,
    "good.nt": GOOD,
    "bad.nt": BAD,
    "mixed.nt": GOOD + BAD,
    "open.nt": GOOD + OPEN,
    "gone.nt": BASE.splitlines(keepends=True)[0],
    # What an advice asks to be made.
    "corrected.nt": GOOD,
    "tonight.nt": GOOD,
}
OF_STORE = ("--store", "kg", "--insert")
SPLIT = ("--mode", "split", "--quarantine", "quarantine.nq")
#: Calls with their exit codes and how many commands they advise.
CALLS = [
    (0, 1, ("check", *OF_STORE, "good.nt")),
    (0, 0, ("check", *OF_STORE, "good.nt", "--commit")),
    (1, 2, ("check", *OF_STORE, "bad.nt")),
    (1, 2, ("check", *OF_STORE, "mixed.nt", "--insert", "good.nt", "--delete", "good.nt")),
    (3, 1, ("check", *OF_STORE, "open.nt")),
    (3, 2, ("check", "--store", "open", "--insert", "good.nt")),
    (0, 0, ("check", "--tbox", "t.ttl", "--abox", "base.nt", "--insert", "good.nt")),
    (1, 1, ("check", "--tbox", "t.ttl", "--abox", "base.nt", "--insert", "bad.nt")),
    (1, 0, ("certify", "t.ttl", "wrong.nt")),
    (3, 1, ("certify", "t.ttl", "open.nt")),
    (0, 1, ("certify", "--store", "kg")),
    (0, 1, ("index", "--tbox", "t.ttl", "--store", "new", "base.nt")),
    (1, 1, ("index", "--tbox", "t.ttl", "--store", "new", "wrong.nt")),
    (1, 1, ("index", "--tbox", "t.ttl", "--tbox", "more.ttl", "--store", "new", "wrong.nt")),
    (3, 1, ("index", "--tbox", "t.ttl", "--store", "new", "base.nt", "open.nt")),
    (0, 0, ("gate", *OF_STORE, "good.nt")),
    (1, 1, ("gate", *OF_STORE, "mixed.nt")),
    (1, 1, ("gate", *OF_STORE, "mixed.nt", "--insert", "good.nt")),
    (3, 1, ("gate", *OF_STORE, "open.nt")),
    (5, 1, ("gate", *OF_STORE, "mixed.nt", *SPLIT)),
    (5, 1, ("gate", *OF_STORE, "mixed.nt", *SPLIT, "--commit")),
    (
        5,
        1,
        (
            "gate",
            *OF_STORE,
            "mixed.nt",
            "--insert",
            "good.nt",
            "--mode",
            "split",
            "--quarantine",
            "quarantine",
        ),
    ),
    (1, 1, ("gate", *OF_STORE, "bad.nt", *SPLIT)),
    (1, 1, ("gate", *OF_STORE, "mixed.nt", *SPLIT, "--max-quarantine", "1%")),
    (3, 2, ("gate", "--store", "open", "--insert", "good.nt", *SPLIT)),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("advice")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    assert (
        shiq("index", "--tbox", "t.ttl", "--store", "kg", "base.nt", "-q", cwd=folder).returncode
        == 0
    )
    assert (
        shiq(
            "index", "--tbox", "rule.ttl", "--store", "open", "base.nt", "-q", cwd=folder
        ).returncode
        == 3
    )
    return folder


@pytest.mark.parametrize(
    ("code", "count", "call"), CALLS, ids=[" ".join(call) for _, _, call in CALLS]
)
def test_the_next_steps_of_a_report_run(
    made: Path, tmp_path: Path, code: int, count: int, call: tuple[str, ...]
) -> None:
    """Each in the folder as the call left it, and none takes away what the call wrote."""
    left = tmp_path / "left"
    shutil.copytree(made, left)
    assert shiq(*call, "-q", "--json", "v.json", cwd=left).returncode == code
    kept = {path.name: path.read_bytes() for path in left.iterdir() if path.is_file()}
    advised = [
        step.command
        for step in next_steps(read_report(json.loads((left / "v.json").read_text())))
        if step.command
    ]
    assert len(advised) == count, advised
    for i, command in enumerate(advised):
        folder = tmp_path / str(i)
        shutil.copytree(left, folder)
        if "wrong.nt" in command and call[0] == "check":
            (folder / "wrong.nt").write_text(FILES["gone.nt"])
            kept.pop("wrong.nt")
        program, *arguments = shlex.split(command)
        found = shiq(*arguments, "-q", cwd=folder)
        assert program == "shiq" and found.returncode in (0, 1, 3, 5), (command, found)
        assert (
            kept.items()
            <= {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}.items()
        )


#: What stands for a name in an advice, and a name of that kind.
NAMES = {
    "DIR": "kg",
    "T": "t.ttl",
    "TBOX": "t.ttl",
    "ABOX…": "base.nt",
    "TABLE": "base.nt",
    "FILE": "made.toml",
    "{value}": "kg",
    "{store}": "kg",
    "{files}": "--insert bad.nt",
    "{names}": "--insert good.nt",
}
#: What would start Spark, or look at all of this machine.
ONLY_PARSED = {"doctor"}
COMMAND = re.compile(r"(\w+ )?([`'])shiq ([^`']+)\2")
#: Words before the name of a command that say what it made, or what it is like.
NAMING = {"that ", "of ", "for "}


def advice(text: str) -> Iterator[tuple[int, str]]:
    """The commands that strings of a module name, with their lines; docstrings are for those who
    read the code.
    """
    if not re.search("[`'\"]shiq ", text):
        return
    nodes = list(ast.walk(ast.parse(text)))
    parts = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    parts |= {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if id(node) in parts:
            continue
        if isinstance(node, ast.JoinedStr):
            said = "".join(
                x.value if isinstance(x, ast.Constant) else f"{{{ast.unparse(x.value)}}}"
                for x in node.values
            )  # type: ignore[attr-defined, misc]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            said = node.value
        else:
            continue
        yield from (
            (node.lineno, found[3]) for found in COMMAND.finditer(said) if found[1] not in NAMING
        )


@cache
def advised() -> dict[str, str]:
    """Every command that a message of the program advises, with a place where it stands."""
    files = (
        path
        for package in ("shiq", "simplify", "abox_ops", "jobs", "streams")
        for path in (ROOT / package).rglob("*.py")
    )
    return {
        command: f"{path.relative_to(ROOT)}:{line}"
        for path in sorted(files)
        for line, command in advice(path.read_text(encoding="utf-8"))
    }


def test_what_is_advised_is_seen() -> None:
    text = '"""`shiq doc`."""\na = "Say `shiq x --to A`" f", or `shiq y {b}`; that `shiq index` built"\n'
    assert list(advice(text)) == [(2, "x --to A"), (2, "y {b}")]
    assert len(advised()) > 10


@pytest.mark.parametrize(("command", "place"), advised().items())
def test_what_a_message_advises_runs(made: Path, tmp_path: Path, command: str, place: str) -> None:
    from shiq.jobs.cli import cli

    folder = tmp_path / "folder"
    shutil.copytree(made, folder)
    if command.startswith("index") and "--replace" not in command:
        shutil.rmtree(folder / "kg")
    arguments = shlex.split(
        " ".join(NAMES.get(word, word) for word in command.split(" > ", maxsplit=1)[0].split(" "))
    )
    if arguments[0] in ONLY_PARSED:
        name, found, rest = cli.resolve_command(cli.make_context("shiq", arguments), arguments)
        assert found is not None and found.make_context(name, rest), place
        return
    called = shiq(*arguments, cwd=folder)
    assert called.returncode in (0, 1, 3, 5), (place, command, called)
