"""UOBM data of any size, from a seed: the TBox, and the data after the proportions of the usual
reference data.

`generate` writes into a directory

* ``tbox.owl``: UOBM's TBox without nominals, and the subjects and interests that its file names,
  as RDF/XML;
* ``abox.nt.gz``: the data, distinct N-Triples, the same bytes for the same arguments.

All sizes are drawn first, so that people and courses of one department can be linked to those of
any other, in any university; then it keeps the lines of one department at a time. The recipe is
told in data/uobm/README.md.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path

from jobs.evaluation.generation import GenerationReport, Progress, write_triples
from jobs.evaluation.rdfxml import tbox_as_rdfxml
from jobs.evaluation.uobm import profile
from jobs.evaluation.uobm.department import Writer
from jobs.evaluation.uobm.people import UobmWorld
from jobs.evaluation.uobm.profile import UniversityPlan
from jobs.evaluation.uobm.tbox import NAMESPACE, uobm_individuals, uobm_tbox
from shiq.errors import UsageError

ONTOLOGY = NAMESPACE.rstrip("#")


def tbox_file() -> str:
    """UOBM's TBox with its individuals, as RDF/XML."""
    return tbox_as_rdfxml(uobm_tbox(), ONTOLOGY, uobm_individuals())


def plan(universities: int, seed: int) -> list[UniversityPlan]:
    """The sizes of all universities."""
    return list(islice(profile.universities(random.Random(f"uobm sizes {seed}")), universities))


def parts(plans: list[UniversityPlan], seed: int, *, misspelt: bool = False) -> Iterator[list[str]]:
    """The data as N-Triples lines, each triple once: every university with its colleges, then
    its departments one by one.
    """
    rng = random.Random(f"uobm data {seed}")
    writer = Writer(UobmWorld(plans, rng), len(plans), rng, misspelt)
    for university in plans:
        yield writer.university(university)
        for department in university.departments:
            yield writer.department(department)


def generate(
    universities: int,
    seed: int,
    out: Path,
    *,
    misspelt: bool = False,
    progress: Progress | None = None,
) -> GenerationReport:
    """Writes UOBM data of so many universities into the directory ``out``, which is made if need
    be.

    ``misspelt``: journal articles are in the class that the original generator writes,
    JournalArtical, which no TBox of UOBM knows; else in JournalArticle. Raises UsageError for
    numbers out of range.
    """
    if universities < 1:
        raise UsageError(
            f"{universities} universities cannot be generated", "Ask for at least one."
        )
    started = time.perf_counter()
    plans = plan(universities, seed)
    departments = sum(len(university.departments) for university in plans)
    out.mkdir(parents=True, exist_ok=True)
    (out / "tbox.owl").write_text(tbox_file(), encoding="utf-8")
    counts = write_triples(
        out / "abox.nt.gz",
        parts(plans, seed, misspelt=misspelt),
        departments + universities,
        progress,
    )
    files, seconds = ("tbox.owl", "abox.nt.gz"), time.perf_counter() - started
    return GenerationReport(
        **asdict(counts), out=out, departments=departments, files=files, seconds=seconds
    )
