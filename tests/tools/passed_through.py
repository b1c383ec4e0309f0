"""The files that a consistent check of one triple passes through: ``python -m
tests.tools.passed_through [--store S --insert B]``.

A file counts if a function of it runs between the call of the command line and its end. What runs
when it is imported, its class bodies too, does not count: a process that has imported more before
gives the same. Without a store, one is
made: a department of LUBM's data, and a course more for a student.
"""

from __future__ import annotations

import argparse
import inspect
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("shiq", "simplify", "abox_ops", "jobs")


def passed_through(call: Callable[[], object]) -> Counter[str]:
    """The files of ours with functions that ``call`` runs, and how many of each."""
    met = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            met.add(frame.f_code)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    files = (Path(code.co_filename) for code in met)
    ours = [file.relative_to(ROOT).as_posix() for file in files if file.is_relative_to(ROOT)]
    return Counter(file for file in ours if file.split("/")[0] in PACKAGES)


def checked(store: Path, insertions: Path) -> tuple[Counter[str], int]:
    """What ``shiq check`` of a batch passes through in this process, and its exit code."""
    from shiq.jobs.cli import main

    code = 0

    def check() -> None:
        nonlocal code
        try:
            main(["check", "--store", str(store), "--insert", str(insertions), "-q"])
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 0

    return passed_through(check), code


def made(folder: Path) -> tuple[Path, Path]:
    """A store and a batch of one triple that contradicts nothing, below ``folder``."""
    from shiq.jobs.checking.calls import index
    from shiq.jobs.evaluation.generation import tbox_as_rdfxml
    from shiq.jobs.evaluation.lubm.generate import ONTOLOGY, generate_departments
    from shiq.jobs.evaluation.lubm.tbox import lubm_tbox

    lines = next(iter(generate_departments(1, 1))).lines
    taken = [line.split() for line in lines if "takesCourse" in line]
    triple = next(
        f"{s} {p} {o} .\n"
        for s, p, _, _ in taken
        for _, _, o, _ in taken
        if f"{s} {p} {o} .\n" not in lines
    )
    tbox, abox, batch, store = (
        folder / name for name in ("tbox.owl", "abox.nt", "insert.nt", "store")
    )
    tbox.write_text(tbox_as_rdfxml(lubm_tbox(True), ONTOLOGY), encoding="utf-8")
    abox.write_text("".join(lines), encoding="utf-8")
    batch.write_text(triple, encoding="utf-8")
    index([str(tbox)], [str(abox)], store)
    return store, batch


def main(arguments: list[str] | None = None) -> int:
    """The command: the files by name with the pieces of code of each, and their number. 0 for a
    consistent check.
    """
    parser = argparse.ArgumentParser(
        prog="python -m tests.tools.passed_through", description=__doc__
    )
    parser.add_argument(
        "--store", type=Path, metavar="DIR", help="a store; default: one that is made"
    )
    parser.add_argument("--insert", type=Path, metavar="FILE", help="the batch")
    given = parser.parse_args(arguments)
    if given.store and given.insert:
        found, code = checked(given.store, given.insert)
        print(
            "".join(f"{count:5} {file}\n" for file, count in sorted(found.items()))
            + f"{len(found):5} files"
        )
        return code
    with tempfile.TemporaryDirectory() as folder:
        store, batch = made(Path(folder))
        # In a process of its own: what was run to make the store would count as imported before.
        again = [
            sys.executable,
            "-m",
            "tests.tools.passed_through",
            "--store",
            str(store),
            "--insert",
            str(batch),
        ]
        return subprocess.run(again, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
