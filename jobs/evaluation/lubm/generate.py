"""LUBM data of any size, from a seed: the TBox, the data, and an insertion batch with planted
contradictions.

`generate` writes into a directory

* ``tbox.owl``: LUBM's TBox, or its disjointness variant, as RDF/XML;
* ``abox.nt.gz``: the data, distinct N-Triples, the same bytes for the same arguments;
* with ``faults`` given: ``insert.nt``, ``culprits.nt`` and ``faults.json``, see
  `shiq.jobs.evaluation.lubm.batch`.

It keeps one department at a time. The recipe is told in data/lubm/README.md.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from typing import TextIO

from shiq.errors import UsageError
from shiq.jobs.evaluation.generation import (
    GenerationReport,
    Progress,
    tbox_as_rdfxml,
    write_triples,
)
from shiq.jobs.evaluation.lubm.batch import BatchDealer, Fault, Planting
from shiq.jobs.evaluation.lubm.department import (
    Department,
    Draws,
    Universities,
    department,
    department_counts,
)
from shiq.jobs.evaluation.lubm.tbox import NAMESPACE, lubm_tbox

ONTOLOGY = NAMESPACE.rstrip("#")


def plan(universities: int, seed: int) -> list[int]:
    """Number of departments of each university."""
    return list(islice(department_counts(random.Random(f"lubm departments {seed}")), universities))


def departments(universities: int, seed: int) -> Iterator[Department]:
    """The data, department by department: every triple of it once, in the departments' ``lines``."""
    draws = Draws(random.Random(f"lubm data {seed}"))
    known = Universities(universities)
    for university, many in enumerate(plan(universities, seed)):
        for number in range(many):
            yield department(number, university, draws, known)


def generate(
    universities: int,
    seed: int,
    out: Path,
    *,
    disjointness: bool = False,
    faults: int | None = None,
    progress: Progress | None = None,
) -> GenerationReport:
    """Writes LUBM data of so many universities into the directory ``out``, which is made if need
    be.

    ``faults``: also write a batch of 5 % of the data with so many planted contradictions (0: a
    clean batch); it implies the variant of the TBox that ``disjointness`` asks for, since LUBM's
    own cannot be contradicted. Raises UsageError for numbers out of range.
    """
    if universities < 1:
        raise UsageError(
            f"{universities} universities cannot be generated", "Ask for at least one."
        )
    started = time.perf_counter()
    total = sum(plan(universities, seed))
    planting = (
        None if faults is None else Planting(faults, total, random.Random(f"lubm faults {seed}"))
    )
    out.mkdir(parents=True, exist_ok=True)
    (out / "tbox.owl").write_text(
        tbox_as_rdfxml(lubm_tbox(disjointness or planting is not None), ONTOLOGY), encoding="utf-8"
    )
    files = ["tbox.owl", "abox.nt.gz"]
    with ExitStack() as stack:
        batch = None
        if planting is not None:
            batch = _BatchFiles(
                out, stack, BatchDealer(random.Random(f"lubm batch {seed}")), planting
            )
            files += batch.names
        counts = write_triples(
            out / "abox.nt.gz", _lines(universities, seed, batch), total, progress
        )
    seconds = time.perf_counter() - started
    report = GenerationReport(
        **asdict(counts), directory=out, departments=total, files=tuple(files), seconds=seconds
    )
    return (
        replace(report, insertions=batch.lines, faults=faults or 0, culprits=batch.culprits)
        if batch
        else report
    )


def _lines(universities: int, seed: int, batch: _BatchFiles | None) -> Iterator[list[str]]:
    """The data's lines by department; each department goes to the batch as well."""
    for made in departments(universities, seed):
        if batch is not None:
            batch.write(made)
        yield made.lines


class _BatchFiles:
    """insert.nt, culprits.nt and faults.json, written department by department."""

    names = ("insert.nt", "culprits.nt", "faults.json")

    def __init__(self, out: Path, stack: ExitStack, batch: BatchDealer, planting: Planting) -> None:
        self._insert, self._culprits, self._faults = (
            stack.enter_context((out / name).open("w", encoding="utf-8", newline="\n"))
            for name in self.names
        )
        self._batch = batch
        self._planting = planting
        self.lines = 0
        self.culprits = 0
        self._first = True
        self._faults.write("[")
        stack.callback(self._close)

    def write(self, made: Department) -> None:
        faults, reserved = self._planting.plant(made)
        planted = [line for fault in faults for line in fault.insertions]
        lines = self._batch.insertions(made, reserved, planted)
        places = {line: self.lines + i for i, line in enumerate(lines, 1)}
        self.lines += len(lines)
        self.culprits += len(planted)
        self._insert.writelines(lines)
        self._culprits.writelines(planted)
        for fault in faults:
            self._describe(fault, places, self._faults)

    def _describe(self, fault: Fault, places: dict[str, int], file: TextIO) -> None:
        entry = {
            "kind": fault.kind,
            "form": fault.form,
            "lines": [places[line] for line in fault.insertions],
            "insertions": [line.rstrip("\n") for line in fault.insertions],
        }
        file.write(("\n" if self._first else ",\n") + json.dumps(entry))
        self._first = False

    def _close(self) -> None:
        self._faults.write("\n]\n")
