"""Redo the experiments on consistency over evolving ontologies (Wu and Lécué 2014): size of A_add,
and time.

`shiq evaluate lubm|uobm|npd` measure the same with more batches, engines and plots.
"""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from time import process_time
from typing import Any, Final, NamedTuple

import pyarrow.compute as pc  # type: ignore[import-untyped]

from shiq.answers.result import Result
from shiq.api import check_insertions, index, open_store
from shiq.jobs.evaluation.evaluate.data import (
    FRACTION,
    Dataset,
    NumberedTriples,
    datasets,
    draw_random_batch,
    read_triples,
)
from shiq.jobs.evaluation.evaluate.settings import PaperSettings
from shiq.jobs.evaluation.papers.page import (
    PLOT_ONLY,
    Paper,
    PaperRow,
    ReportActivity,
)
from shiq.jobs.evaluation.peers.drivers import PeerQuestion, ask_peer
from shiq.model import OWL, RDF, Assertion
from shiq.model.ntriples import assertion_lines
from shiq.rdf import read_ontology
from shiq.reasoner.external import INCREMENTAL, PEERS, MissingReasoner, find_external_reasoner
from shiq.simplify import simplify

_DAMAGED: Final = "The numbers of Table 1 are lost in the text that we have."
_NO_NPD: Final = "NPD has no generator: --data names a copy (data/npd/README.md)."
#: What the text says of A_add, as a share of the base: numbers, and words.
_SHARES: Final = {
    "lubm": (None, "The paper in words: 12 % to 21 %."),
    "uobm": (65.0, "The paper: about 65 %."),
    "npd": (4.0, "The paper: 4 % with half of the individuals fresh, at most 5 %."),
}
#: What the text says of all data as insertions.
_GAINS: Final = {"lubm": "30 %", "uobm": "20 %", "npd": "50 %"}
#: Shares of fresh individuals; the paper has 0.5.
_FRESH: Final = (0.0, 0.5, 1.0)
#: The published method, and ours.
_CRITERIA: Final = ("definition7", "clausal", "auto")
_CPU: Final = (
    "All are CPU times: ours in one process, the base indexed; peers with reading the batch (from "
    "scratch: with all). Ours is the published method; reasoning by a peer is on A_add from scratch."
)
#: One insertion of so many is an inequality.
_INEQUALITIES: Final = 100


def redo_experiments(settings: PaperSettings, say: ReportActivity) -> Iterator[PaperRow]:
    """Yield the rows of Table 1 and Fig. 1 to 4."""
    with tempfile.TemporaryDirectory() as folder:
        for family, figure in (("lubm", "Fig. 1"), ("uobm", "Fig. 2"), ("npd", "Fig. 3")):
            if family == "npd" and settings.data_folder("npd") is None:
                for table in ("Table 1", figure, "Fig. 4"):
                    yield PaperRow(table, "NPD", "%", why=_NO_NPD)
                continue
            for experiment in _make_experiments(family, settings, Path(folder), say):
                yield from experiment.data_set_rows()
                yield from experiment.insertion_rows(figure)
                yield from experiment.all_data_rows()


def _make_experiments(
    family: str, settings: PaperSettings, folder: Path, say: ReportActivity
) -> Iterator[_BatchExperiment]:
    """Yield an experiment for each data set: L1, L2 … (LUBM by size), U1, U2 … (UOBM), N1 to N8
    (eighths of NPD).
    """
    sizes = (1, 5, 10) if settings.full else (1,)
    data = None if family == "npd" else settings.data
    if family == "npd":
        sizes, data = (1,), settings.data_folder("npd")
    for dataset in datasets(family, sizes, data, settings.seed, folder):
        if "disjointness" in dataset.name or "whole" in dataset.name:
            continue
        triples = read_triples(*dataset.abox)
        parts = range(1, 9 if settings.full else 2) if family == "npd" else (8,)
        for eighths in parts:
            count = min(len(triples), max(200, round(len(triples) * eighths / 8 * settings.size)))
            if settings.full:
                count = len(triples) * eighths // 8
            name = f"{dataset.name} N{eighths}" if family == "npd" else dataset.name
            say(name)
            place = folder / f"{name.replace(' ', '-')}"
            place.mkdir(parents=True, exist_ok=True)
            (place / "base.nt").write_text(triples.join_lines(0, count), encoding="utf-8")
            yield _BatchExperiment(replace(dataset, name=name), place, settings)


class _BatchExperiment:
    """Experiment on one data set: checks batches of insertions, and yields rows with times and the
    size of A_add (base assertions that a check looks at).
    """

    def __init__(self, dataset: Dataset, folder: Path, settings: PaperSettings) -> None:
        self.dataset, self.folder, self.settings = dataset, folder, settings
        self.base = folder / "base.nt"
        self.triples: NumberedTriples = read_triples(self.base)
        self.options: dict[str, Any] = {"allow": dataset.allow, "max_conflicts": 0}

    def data_set_rows(self) -> Iterator[PaperRow]:
        """Rows of Table 1: axioms before and after simplification, names, assertions by kind."""
        tbox = read_ontology([str(self.dataset.tbox)]).tbox
        types = pc.index(self.triples.terms, f"<{RDF}type>").as_py()
        values = pc.starts_with(self.triples.terms, '"').to_numpy(zero_copy_only=False)
        classes = int((self.triples.predicate == types).sum())
        data = int(values[self.triples.object].sum())
        counts = {
            "axioms": len(tbox.axioms),
            "inclusions when simplified": len(simplify(tbox).definition4),
            "concepts": len(tbox.signature.classes),
            "roles": len(tbox.signature.object_properties),
            "features": len(tbox.signature.data_properties),
            "concept assertions": classes,
            "role assertions": len(self.triples) - classes - data,
            "feature assertions": data,
        }
        for what, count in counts.items():
            yield PaperRow("Table 1", f"{self.dataset.name}: {what}", "", None, count, why=_DAMAGED)

    def insertion_rows(self, figure: str) -> Iterator[PaperRow]:
        """Rows of Fig. 1 to 3: A_add and times, by share of fresh individuals."""
        store = self.folder / "store.kg"
        begun = process_time()
        index([str(self.dataset.tbox)], [str(self.base)], store, **self.options)
        prepared = process_time() - begun
        for fresh in _FRESH:
            batch = self._write_batch(fresh)
            with open_store(store) as session:
                checks = {name: self._time_check(session, batch, name) for name in _CRITERIA}
                # A_add is read while the store is open.
                looked_at = list(checks["definition7"].result.a_add)
            asked = self.settings.peers if fresh == 0.5 else ()
            peers = {name: self._time_peer(name, self.base, batch) for name in asked}
            yield from self._looked_at_rows(figure, fresh, checks, looked_at)
            yield from self._check_time_rows(figure, fresh, checks, looked_at, peers)
        yield PaperRow(
            figure,
            f"{self.dataset.name}: index and certify, before any batch",
            "s",
            None,
            prepared,
            why="The paper assumes that the base is consistent; ours checks it once.",
        )

    def _time_check(self, session: Any, batch: Path, criterion: str) -> _TimedCheck:
        """Check a batch ``--repeats`` times. Returns the fastest check with its CPU seconds."""
        found = list[_TimedCheck]()
        for _ in range(self.settings.repeats):
            marks = list[tuple[str, float]]()

            def mark(
                stage: str, done: int, total: int, marks: list[tuple[str, float]] = marks
            ) -> None:
                marks.append((stage, process_time()))

            begun = process_time()
            result = session.check(
                str(batch), criterion=criterion, reasoner="own", progress=mark, **self.options
            )
            spent = process_time() - begun
            deciding = sum(
                after - at
                for (stage, at), (_, after) in pairwise(marks)
                if stage.startswith("deciding")
            )
            found.append(_TimedCheck(result, spent, deciding))
        return min(found, key=lambda check: check.seconds)

    def _write_batch(self, fresh: float) -> Path:
        """Draw and write a batch of 5 % insertions, of which one in a hundred is an inequality;
        return its file.
        """
        count = max(2, round(len(self.triples) * FRACTION))
        draw = random.Random(f"incremental {self.settings.seed} {fresh}")
        lines = draw_random_batch(self.triples, count, self.settings.seed, fresh)
        subjects = sorted({line.partition(" ")[0] for line in lines})
        for place in range(0, len(lines), _INEQUALITIES):
            one, other = draw.sample(subjects, 2)
            lines[place] = f"{one} <{OWL}differentFrom> {other} ."
        file = self.folder / f"insertions{fresh}.nt"
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return file

    def _looked_at_rows(
        self,
        figure: str,
        fresh: float,
        checks: dict[str, _TimedCheck],
        looked_at: Sequence[Assertion],
    ) -> Iterator[PaperRow]:
        """Rows with A_add (base assertions that a check looks at): its share of the base by
        criterion, and its size by kind of assertion.
        """
        axis, size = f"{self.dataset.name} ({fresh})", len(self.triples)
        paper, words = _SHARES[self.dataset.family]
        why = (
            f"{words} Ours is the published method; beside it our own criteria. F_s(T) takes in "
            "domains, ranges and functional data properties: the kinds below say how much."
        )
        shares = {
            criterion: round(100 * check.result.statistics.add_set / size, 3)
            for criterion, check in checks.items()
        }
        ours, paper = shares.pop("definition7"), paper if fresh == 0.5 else None
        yield PaperRow(figure, f"{axis}: A_add of base", "%", paper, ours, shares, why)
        for kind, count in sorted(Counter(type(one).__name__ for one in looked_at).items()):
            why = "Not in the paper: A_add by kind of assertion."
            yield PaperRow(figure, f"{axis}: A_add, {kind}", "", None, count, why=why)

    def _check_time_rows(
        self,
        figure: str,
        fresh: float,
        checks: dict[str, _TimedCheck],
        looked_at: Sequence[Assertion],
        peers: dict[str, _PeerCpuTimes],
    ) -> Iterator[PaperRow]:
        """Rows with the CPU seconds of the paper's method: generating A_add (base assertions that a
        check looks at), reasoning on it, and both.
        """
        axis, reasoner = f"{self.dataset.name} ({fresh})", self.settings.reasoner
        published = checks["definition7"]
        generated, reasoned = (
            published.seconds - published.deciding,
            _PeerCpuTimes(published.deciding),
        )
        if reasoner != "own":
            reasoned = self._time_peer_on_looked_at(reasoner, looked_at)
        notes = [reasoned.note, *(asked.note for asked in peers.values())]
        why = " ".join([PLOT_ONLY, _CPU, *filter(None, dict.fromkeys(notes))])
        yield PaperRow(figure, f"{axis}: generating", "s", None, generated, why=why)
        title = f"{axis}: reasoning by {reasoner}"
        yield PaperRow(figure, title, "s", None, reasoned.preparation, why=why)
        whole = None if reasoned.preparation is None else generated + reasoned.preparation
        steps: dict[str, float | None] = {
            name: check.seconds for name, check in checks.items() if name != "definition7"
        }
        steps |= {name: asked.step for name, asked in peers.items()}
        yield PaperRow(figure, f"{axis}: insertions checked", "s", None, whole, steps, why)

    def _time_peer_on_looked_at(
        self, reasoner: str, looked_at: Sequence[Assertion]
    ) -> _PeerCpuTimes:
        """Let another reasoner check A_add (``looked_at``, the base assertions that matter for the
        batch) from scratch, as the paper does. Returns its CPU seconds, loading included.
        """
        file = self.folder / "a_add.nt"
        lines = (line for assertion in looked_at for line in assertion_lines(assertion))
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        nothing = self.folder / "nothing.nt"
        nothing.write_text("", encoding="utf-8")
        return self._time_peer(reasoner, file, nothing)

    def _time_peer(self, name: str, base: Path, batch: Path) -> _PeerCpuTimes:
        """Measure the CPU seconds of another reasoner for a base and a batch; a note says why if
        there are none.
        """
        peer, found = PEERS[name], find_external_reasoner(name)
        if isinstance(found, MissingReasoner):
            return _PeerCpuTimes(note=f"{peer.title} is not installed: {found.reason}")
        document = self.folder / "run" / "document.ofn"
        step = ask_peer(
            found,
            PeerQuestion(self.dataset.tbox, base, batch, document),
            lambda: read_ontology([str(self.dataset.tbox)]),
            self.settings.limit,
            self.settings.heap,
        )
        if step.outcome != "answered":
            limit = f"was stopped after {self.settings.limit:g} s."
            why = f": {step.verdicts.trouble}" if step.outcome == "crash" else f" {limit}"
            return _PeerCpuTimes(note=f"{peer.title}{why}")
        said, spent = step.verdicts.verdict, step.reading.cpu_seconds
        if peer.engine == INCREMENTAL:
            return _PeerCpuTimes(
                spent - step.cpu_seconds, step.cpu_seconds, f"{peer.title} says {said}."
            )
        return _PeerCpuTimes(spent, spent, f"{peer.title}, from scratch, says {said}.")

    def all_data_rows(self) -> Iterator[PaperRow]:
        """Rows of Fig. 4: all data as insertions into an empty base."""
        begun = process_time()
        result = check_insertions(
            [str(self.dataset.tbox)],
            None,
            [str(self.base)],
            criterion="definition7",
            **self.options,
        )
        spent = process_time() - begun
        nothing = self.folder / "nothing.nt"
        nothing.write_text("", encoding="utf-8")
        peers = {name: self._time_peer(name, self.base, nothing) for name in self.settings.peers}
        notes = " ".join(asked.note for asked in peers.values() if asked.note)
        words = f"The paper in words: about {_GAINS[self.dataset.family]} faster than Pellet."
        why = f"{PLOT_ONLY} {words} Ours: CPU seconds. {notes}".strip()
        times = {name: asked.preparation for name, asked in peers.items()}
        yield PaperRow("Fig. 4", f"{self.dataset.name}: all data", "s", None, spent, times, why)
        share = round(100 * result.statistics.add_set / len(self.triples), 3)
        why = "Of N8 the paper says: over 90 %."
        yield PaperRow("Fig. 4", f"{self.dataset.name}: A_add of data", "%", None, share, why=why)


class _TimedCheck(NamedTuple):
    """Check of a batch by shiq: its result, its CPU seconds, and those spent on deciding modules."""

    result: Result
    seconds: float
    deciding: float


class _PeerCpuTimes(NamedTuple):
    """CPU seconds of another reasoner, before the batch and for the batch; ``note``: why there are
    none.
    """

    preparation: float | None = None
    step: float | None = None
    note: str = ""


PAPER = Paper(
    "incremental",
    "J. Wu, F. Lécué: Towards Consistency Checking over Evolving Ontologies. CIKM 2014",
    tuple(PEERS),
    redo_experiments,
)
