"""The reduced ontologies of random batches, as files, asked of HermiT: they are consistent
exactly where base and batch are.

    python -m tests.tools.reduced --seeds 0:2000

HermiT reads each file by itself, by the OWL API's own parsers, without what
`shiq.reasoner.hermit` does to data; and it is asked about the whole ontology from scratch.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from shiq.answers.result import Result
from shiq.answers.verdict import Verdict
from shiq.api import check_insertions
from shiq.jobs.checking.deciding import BASE_INCONSISTENT
from shiq.jobs.reduced_ontology import write_reduced
from shiq.model import Literal
from shiq.model.abox import abox_of
from shiq.model.walk import parts
from shiq.reasoner.hermit import HermitReasoner
from tests.tools.hermit_faults import HERMIT_FAULTS
from tests.tools.owl_api import NoAnswer, OwlApi
from tests.tools.random_ontologies.kb import RandomKB, random_kb

_SECONDS = 20.0


class FileReasoner:
    """HermiT over files."""

    def __init__(self) -> None:
        self.hermit = HermitReasoner(timeout=_SECONDS)
        self.jvm = OwlApi()

    def is_consistent(self, path: Path) -> bool | None:
        """Whether the ontology in the file ``path`` (.ofn, .nt) is consistent; None where HermiT
        has no answer.
        """
        java, api = self.jvm.view, self.jvm.api

        def ask() -> bool:
            ontology = self.jvm.manager().createOntology()
            if path.suffix == ".ofn":
                parser = self.jvm.parser()
            else:
                parser = java.uk.ac.manchester.cs.owl.owlapi.turtle.parser.TurtleOntologyParser()
            parser.parse(api.io.StringDocumentSource(path.read_text()), ontology)
            reasoner = java.org.semanticweb.HermiT.Reasoner(
                java.org.semanticweb.HermiT.Configuration(), ontology
            )
            answer = bool(reasoner.isConsistent())
            reasoner.dispose()
            return answer

        try:
            return self.jvm.call(ask, _SECONDS)
        except NoAnswer as failure:
            self.failure = failure
            if self.jvm.process.poll() is not None:
                self.jvm.close()
                self.jvm = OwlApi()
            return None

    def whole(self, kb: RandomKB) -> Verdict:
        """What HermiT says of base and batch, from scratch."""
        return self.hermit.decide_consistency(kb.tbox.axioms, list(kb.union())).verdict

    def close(self) -> None:
        """End the JVMs."""
        self.hermit.close()
        self.jvm.close()


def checked(kb: RandomKB, engine: str) -> Result:
    """The published method's result for ``kb``."""
    parts = (abox_of(kb.abox), abox_of(kb.insertions), abox_of(kb.deletions))
    return check_insertions(
        kb.tbox, *parts, criterion="definition7", engine=engine, max_conflicts=0
    )


@dataclass
class ReducedTally:
    """Counts by what HermiT says of a file, and seeds at which that is not what the check says."""

    counts: Counter[str]
    wrong: list[str]


def compare(
    seed: int, asked: FileReasoner, folder: Path, engine: str = "local"
) -> Iterator[tuple[str, bool]]:
    """What was found of the files of one seed: (its name, whether that is right)."""
    kb = random_kb(seed)
    result = checked(kb, engine)
    verdict, whole = result.verdict, asked.whole(kb)
    has_data = any(
        isinstance(part, Literal)
        for value in (*kb.tbox.axioms, *kb.union())
        for part in parts(value)
    )
    name = f"{verdict.value}{' with data' * has_data}"
    if whole is not Verdict.UNDETERMINED and seed not in HERMIT_FAULTS and whole is not verdict:
        yield f"{name}: HermiT says {whole.value} of the whole", result.reason == BASE_INCONSISTENT
    for ending in (".ofn", ".nt"):
        file = folder / f"{seed}{ending}"
        write_reduced(result, file)
        answer = asked.is_consistent(file)
        if answer is None:
            yield f"{name} {ending}: no answer, {str(asked.failure).splitlines()[0][:160]}", True
        else:
            yield (
                f"{name} {ending}: {'consistent' if answer else 'inconsistent'}",
                answer == (verdict is Verdict.CONSISTENT),
            )


@click.command()
@click.option("--seeds", default="0:200", show_default=True, help="FIRST:END")
@click.option("--engine", default="local", show_default=True)
def main(seeds: str, engine: str) -> None:
    """Count what HermiT says of the reduced ontologies of random batches; end with 1 where that
    is wrong.
    """
    first, end = map(int, seeds.split(":"))
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    asked = FileReasoner()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, end):
            for found, is_right in compare(seed, asked, Path(folder), engine):
                counts[found] += 1
                if not is_right:
                    wrong.append(f"seed {seed}: {found}")
                    click.echo(wrong[-1], err=True)
    asked.close()
    for found, count in sorted(counts.items()):
        click.echo(f"{count:6,} {found}")
    click.echo(f"{len(wrong)} wrong of {sum(counts.values()):,}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
