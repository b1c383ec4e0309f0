"""Generate LUBM data of any size from a seed: TBox, data, and an insertion batch with planted
contradictions.

`generate_lubm_data` writes into a directory

* ``tbox.owl``: LUBM's TBox, or its disjointness variant, as RDF/XML;
* ``abox.nt.gz``: the data, distinct N-Triples, the same bytes for the same arguments;
* with ``faults`` given: ``insert.nt``, ``culprits.nt`` and ``faults.json``, see
  `shiq.jobs.evaluation.lubm.batch`.

It keeps one department at a time. data/lubm/README.md describes the recipe.
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

from shiq.errors import UsageError
from shiq.jobs.evaluation.generation import (
    GenerationReport,
    Progress,
    tbox_as_rdfxml,
    write_triples,
)
from shiq.jobs.evaluation.lubm.batch import BatchSampler, FaultPlanter
from shiq.jobs.evaluation.lubm.department import (
    DegreeUniversities,
    Department,
    DepartmentDraws,
    draw_department_counts,
    generate_department,
)
from shiq.jobs.evaluation.lubm.tbox import NAMESPACE, lubm_tbox

ONTOLOGY = NAMESPACE.rstrip("#")


def plan_departments(universities: int, seed: int) -> list[int]:
    """Draw the number of departments of each of the ``universities``."""
    return list(
        islice(draw_department_counts(random.Random(f"lubm departments {seed}")), universities)
    )


def generate_departments(universities: int, seed: int) -> Iterator[Department]:
    """Yield the departments of the data, in order; each triple is in the ``lines`` of one
    department.
    """
    draws = DepartmentDraws(random.Random(f"lubm data {seed}"))
    known = DegreeUniversities(universities)
    for university, many in enumerate(plan_departments(universities, seed)):
        for number in range(many):
            yield generate_department(number, university, draws, known)


def generate_lubm_data(
    universities: int,
    seed: int,
    out: Path,
    *,
    disjointness: bool = False,
    faults: int | None = None,
    progress: Progress | None = None,
) -> GenerationReport:
    """Write LUBM data with this number of universities to the directory ``out``.

    ``faults``: also write a batch of 5 % of the data with so many planted contradictions (0: a
    clean batch).
    It implies the variant of the TBox that ``disjointness`` asks for, since LUBM's own cannot be
    contradicted.
    Raises: UsageError for numbers out of range.
    """
    if universities < 1:
        raise UsageError(
            f"{universities} universities cannot be generated", "Ask for at least one."
        )
    started = time.perf_counter()
    total = sum(plan_departments(universities, seed))
    planting = (
        None
        if faults is None
        else FaultPlanter(faults, total, random.Random(f"lubm faults {seed}"))
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
                out, stack, BatchSampler(random.Random(f"lubm batch {seed}")), planting
            )
            files += batch.names
        counts = write_triples(
            out / "abox.nt.gz", _generate_lines(universities, seed, batch), total, progress
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


def _generate_lines(universities: int, seed: int, batch: _BatchFiles | None) -> Iterator[list[str]]:
    """Yield the N-Triples lines of the data, a list for each department. With ``batch``, the
    insertions about each department are also written to the batch's files.
    """
    for made in generate_departments(universities, seed):
        if batch is not None:
            batch.write_department(made)
        yield made.lines


class _BatchFiles:
    """Files of an insertion batch, written department by department: the insertions (insert.nt),
    those of planted contradictions (culprits.nt), and these contradictions one by one
    (faults.json).
    """

    names = ("insert.nt", "culprits.nt", "faults.json")

    def __init__(
        self, out: Path, stack: ExitStack, batch: BatchSampler, planting: FaultPlanter
    ) -> None:
        self._insert, self._culprits, self._faults = (
            stack.enter_context((out / name).open("w", encoding="utf-8", newline="\n"))
            for name in self.names
        )
        self._batch = batch
        self._planting = planting
        self.lines = 0
        self.culprits = 0
        self._entries: list[str] = []
        stack.callback(self._write_faults)

    def write_department(self, department: Department) -> None:
        """Make the insertions and planted contradictions about a department, and write them to the
        three files.
        """
        faults, reserved = self._planting.plant_faults(department)
        planted = [line for fault in faults for line in fault.insertions]
        lines = self._batch.draw_insertions(department, reserved, planted)
        places = {line: self.lines + i for i, line in enumerate(lines, 1)}
        self.lines += len(lines)
        self.culprits += len(planted)
        self._insert.writelines(lines)
        self._culprits.writelines(planted)
        for fault in faults:
            entry = {
                "kind": fault.kind,
                "form": fault.form,
                "lines": [places[line] for line in fault.insertions],
                "insertions": [line.rstrip("\n") for line in fault.insertions],
            }
            self._entries.append("\n" + json.dumps(entry))

    def _write_faults(self) -> None:
        """Write the planted contradictions as a JSON list, one a line."""
        self._faults.write(f"[{','.join(self._entries)}\n]\n")
