"""Measure checks (``shiq evaluate``): how much of the data they look at, how long they take, and
how other reasoners do on the same questions.

Every run is a process of its own (`shiq.jobs.evaluation.evaluate.process`), one after the other.
Ours: a store is built and certified for each base, then each batch is checked against it, with
every criterion and engine. Peers: load, first check and batch in one process, or all of it from
scratch. A run that reaches the limit or crashes is recorded as such. The same system is not tried
again on the same base, unless it crashed at the batch only.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from shiq.errors import UsageError
from shiq.inputs.reading import Reading
from shiq.jobs.checking.options import AUTO
from shiq.jobs.evaluation.evaluate import data
from shiq.jobs.evaluation.evaluate.data import BatchFile, Dataset
from shiq.jobs.evaluation.evaluate.process import MeterReading, run_worker
from shiq.jobs.evaluation.evaluate.record import (
    BASE,
    OWN,
    SCHEMA,
    SCHEMA_VERSION,
    Comparison,
    Run,
    RunCost,
    RunSizes,
    compare,
)
from shiq.jobs.evaluation.evaluate.settings import DEFAULT_ENGINES, Settings
from shiq.jobs.evaluation.harness import Progress, Save, checked_document
from shiq.jobs.evaluation.peers.drivers import PeerQuestion, ask_peer
from shiq.reasoner.external import PEERS, AbsentPeer, find_peer

#: The share of a run's limit by which a run of ours ends by itself, reading included, so that what
#: it knows by then is told.
SHARE_OF_LIMIT = 0.9


@dataclass
class _FailureMemory:
    """Memory of runs that failed, so that the same is not tried again."""

    failures: dict[tuple[object, ...], str] = field(default_factory=dict)

    def note(self, key: tuple[object, ...], run: Run) -> Run:
        if run.outcome == "limit" or (
            run.outcome == "crash" and (run.is_own or not run.base_verdict)
        ):
            self.failures.setdefault(key, f"{run.outcome} on batch {run.batch}")
        return run


def evaluate(
    settings: Settings, progress: Progress | None = None, save: Save | None = None
) -> dict[str, Any]:
    """Runs the evaluation; its JSON form. ``save`` is called with what there is after every
    batch, since it may take hours.

    Raises UsageError, OperationalError for what stands in the way of all of it.
    """
    folder = settings.work or Path(tempfile.mkdtemp(prefix="shiq-evaluate-"))
    try:
        return _Evaluation(
            settings, folder, progress or (lambda *_: None), save or (lambda _: None)
        ).run()
    finally:
        if settings.work is None:
            shutil.rmtree(folder, ignore_errors=True)


class _Evaluation:
    def __init__(self, settings: Settings, folder: Path, progress: Progress, save: Save) -> None:
        self.settings = settings
        self.folder = folder
        self.progress = progress
        self.save = save
        self.began = time.time()
        self.runs: list[Run] = []
        self.batches: dict[tuple[str, str], BatchFile] = {}
        self.known_batches: dict[str, None] = {}
        self.datasets: dict[str, Dataset] = {}
        self.tried = _FailureMemory()
        self.stores: dict[Path, tuple[Path, Run]] = {}
        self.readings: dict[Path, Reading] = {}

    def run(self) -> dict[str, Any]:
        found = data.datasets(
            self.settings.family,
            self.settings.universities,
            self.settings.data,
            self.settings.seed,
            self.folder / "generated",
        )
        for dataset in found:
            if _is_selected(dataset.name, self.settings.variants):
                self._dataset(dataset)
        if not self.datasets:
            raise UsageError("no data set is left", "Name others by --variant, or none.")
        if not self.batches:
            raise UsageError(
                "no batch is left",
                f"Name others by --batch, or none. Known: {', '.join(self.known_batches)}.",
            )
        if all(run.batch.startswith(BASE) for run in self.runs):
            raise UsageError(
                "nothing is left to be measured: with small batches, other engines and the criterion none are left out",
                "Name others by --batch, --engines or --criteria: --batch '5 %' has all of them.",
            )
        return self._document(compare(self.runs, self._arbitrate))

    def _document(self, comparisons: Sequence[Comparison]) -> dict[str, Any]:
        return document(
            self.datasets, self.batches, self.runs, comparisons, self.settings, self.began
        )

    def _dataset(self, dataset: Dataset) -> None:
        self.datasets[dataset.name] = dataset
        self.progress(f"{dataset.name}: drawing batches", len(self.runs), 0)
        own = self.folder / _file_name(dataset.name)
        for batch in list(data.batches(dataset, own, self.settings.seed, self.settings.slices)):
            self.known_batches[batch.name] = None
            if not _is_selected(batch.name, self.settings.batches):
                continue
            self.batches[(dataset.name, batch.name)] = batch
            self._own_runs(dataset, batch)
            for name in self.settings.peers:
                self._add(self._peer_run(dataset, batch, name))
            self.save(self._document(compare(self.runs)))

    def _add(self, run: Run) -> Run:
        self.runs.append(run)
        return run

    # --- ours -------------------------------------------------------------------------------------

    def _own_runs(self, dataset: Dataset, batch: BatchFile) -> None:
        for criterion, engine in self._combinations(batch):
            store, base = self._store(dataset, batch)
            self._report(dataset, batch, f"{criterion}, {engine}")
            self._add(self._check(dataset, batch, store, base, criterion, engine))

    def _combinations(self, batch: BatchFile) -> Iterator[tuple[str, str]]:
        """Criteria and engines for a batch: what costs the same for every batch is not measured
        with all of them.
        """
        large = batch.name.startswith("5 %")
        for criterion in self.settings.criteria:
            if criterion == "none" and not (large or batch.name == "1"):
                continue
            for engine in self.settings.engines or DEFAULT_ENGINES:
                if engine == "local" or large:
                    yield criterion, engine

    def _store(self, dataset: Dataset, batch: BatchFile) -> tuple[Path, Run]:
        """The store of the batch's base, built once; the run that built it is recorded under
        `BASE`.
        """
        if batch.base in self.stores:
            return self.stores[batch.base]
        self._report(dataset, batch, "building the base")
        store = batch.base.with_suffix(".kg")
        task = {
            "action": "index",
            "tbox": [str(dataset.tbox)],
            "abox": [str(batch.base)],
            "store": str(store),
        }
        name = BASE if not batch.is_slice else f"{BASE} without {batch.name}"
        sizes = RunSizes(batch.assertions)
        blank = Run(
            dataset.name, OWN, AUTO, "local", name, sizes, universities=dataset.universities
        )
        run = self._worker(blank, dataset, task)
        cost = replace(
            run.cost,
            prepare_seconds=run.cost.step_seconds,
            step_seconds=None,
            prepare_cpu_seconds=run.cost.step_cpu_seconds,
            step_cpu_seconds=None,
        )
        sizes = replace(run.sizes, assertions=batch.assertions, insertions=0)
        run = replace(run, sizes=sizes, cost=cost, used="")
        if not batch.is_slice:
            self._add(run)
        self.stores[batch.base] = (store, run)
        return store, run

    def _check(
        self,
        dataset: Dataset,
        batch: BatchFile,
        store: Path,
        base: Run,
        criterion: str,
        engine: str,
    ) -> Run:
        blank = replace(
            _empty_run(dataset, batch, OWN, criterion, engine), base_verdict=base.verdict
        )
        if base.outcome != "answered":
            return replace(
                blank,
                outcome="skipped",
                note=f"the base could not be built: {base.outcome} {base.note}",
            )
        key = (batch.base, OWN, criterion, engine)
        if key in self.tried.failures:
            return replace(blank, outcome="skipped", note=self.tried.failures[key])
        task = {
            "action": "check",
            "store": str(store),
            "insertions": [str(batch.file)],
            "criterion": criterion,
            "engine": engine,
        }
        run = self._worker(blank, dataset, task)
        cost = replace(
            run.cost,
            prepare_seconds=base.cost.prepare_seconds,
            prepare_cpu_seconds=base.cost.prepare_cpu_seconds,
        )
        return self.tried.note(key, replace(run, cost=cost))

    def _worker(self, blank: Run, dataset: Dataset, task: Mapping[str, Any]) -> Run:
        """``blank`` filled in by a process of ours that does ``task``."""
        ran, answer = self._work(dataset, task)
        cost = RunCost(
            step_seconds=ran.wall_seconds,
            step_cpu_seconds=ran.cpu_seconds,
            cpu_seconds=ran.cpu_seconds,
            peak_mb=ran.peak_mb,
        )
        used = replace(blank, cost=cost)
        if ran.is_expired:
            return replace(used, outcome="limit", note=f"stopped after {self.settings.limit:g} s")
        if answer is None:
            return replace(used, outcome="crash", note=ran.complaint())
        if trouble := answer.get("trouble"):
            return replace(used, outcome="absent" if answer["is_absent"] else "crash", note=trouble)
        statistics, criterion = answer["statistics"], answer["evidence"]["criterion"]
        stages = {
            **statistics["seconds"],
            "start and end": max(0.0, ran.wall_seconds - sum(statistics["seconds"].values())),
        }
        sizes = blank.sizes
        if statistics["assertions"]:  # else the time was over before anything was counted
            counted = {f.name: statistics[f.name] for f in fields(RunSizes) if f.name in statistics}
            contradictory = answer["evidence"]["decided"].get("contradictory", 0)
            sizes = RunSizes(**{**counted, "contradictory": contradictory})
        return replace(
            used,
            sizes=sizes,
            cost=replace(cost, seconds=stages),
            used=criterion if blank.criterion == AUTO and criterion != AUTO else "",
            verdict=answer["verdict"],
            note=answer["reason"][:500],
        )

    def _work(
        self, dataset: Dataset, task: Mapping[str, Any]
    ) -> tuple[MeterReading, dict[str, Any] | None]:
        settings = {
            "allow": list(dataset.allow),
            "timeout": self.settings.limit * SHARE_OF_LIMIT,
            "heap": self.settings.heap,
            "reasoner": self.settings.reasoner,
        }
        return run_worker(
            "shiq.jobs.evaluation.evaluate.worker",
            {**settings, **task},
            self.settings.limit,
            self.folder / "run",
        )

    # --- peers ------------------------------------------------------------------------------------

    def _peer_run(self, dataset: Dataset, batch: BatchFile, name: str) -> Run:
        peer = PEERS[name]
        self._report(dataset, batch, peer.title)
        blank = _empty_run(dataset, batch, name, None, peer.engine)
        found = find_peer(name)
        if isinstance(found, AbsentPeer):
            return replace(blank, outcome="absent", note=found.reason)
        key = (batch.base, name)
        if key in self.tried.failures:
            return replace(blank, outcome="skipped", note=self.tried.failures[key])
        question = PeerQuestion(
            dataset.tbox, batch.base, batch.file, self.folder / "run" / "document.ofn"
        )
        step = ask_peer(
            found,
            question,
            lambda: self._ontology(dataset.tbox),
            self.settings.limit,
            self.settings.heap,
        )
        ran, answer = step.reading, step.verdicts
        seconds = {
            **answer.seconds,
            "start and end": max(0.0, ran.wall_seconds - sum(answer.seconds.values())),
        }
        used = replace(
            blank,
            outcome=step.outcome,
            cost=RunCost(seconds, cpu_seconds=ran.cpu_seconds, peak_mb=ran.peak_mb),
            base_verdict=answer.base_verdict or None,
        )
        if step.outcome != "answered":
            limit = f"stopped after {self.settings.limit:g} s"
            note = limit if step.outcome == "limit" else answer.trouble
            return self.tried.note(key, replace(used, note=note))
        unread = answer.unread + step.left_out
        if (
            answer.read is not None
        ):  # it may hold more than it read line by line: what the TBox's file asserts already
            unread = max(unread, batch.assertions + batch.insertions - answer.read)
        verdict = credited_verdict(answer.verdict, unread, dataset.allow)
        said = "" if verdict == answer.verdict else f", and says {answer.verdict} of the rest"
        return replace(
            used,
            verdict=verdict,
            cost=replace(
                used.cost,
                step_seconds=step.seconds,
                prepare_seconds=ran.wall_seconds - step.seconds,
                step_cpu_seconds=step.cpu_seconds,
                prepare_cpu_seconds=ran.cpu_seconds - step.cpu_seconds,
            ),
            note=f"{unread:,} lines not read{said}" if unread else "",
        )

    def _ontology(self, tbox: Path) -> Reading:
        from shiq.rdf import read_ontology

        if tbox not in self.readings:
            self.readings[tbox] = read_ontology([str(tbox)])
        return self.readings[tbox]

    # --- disagreements ----------------------------------------------------------------------------

    def _arbitrate(self, name: str, batch_name: str) -> tuple[bool, str]:
        """Whether HermiT confirms a conflict that we found in the batch, and what it consists of."""
        dataset, batch = self.datasets[name], self.batches[(name, batch_name)]
        self._report(dataset, batch, "asking who is right")
        store, _ = self._store(dataset, batch)
        _, answer = self._work(
            dataset, {"action": "confirm", "store": str(store), "insertions": [str(batch.file)]}
        )
        if answer is None:
            return False, "no conflict could be explained within the limit"
        if not answer["confirmed"]:
            return False, str(answer["why"])
        conflict = answer["conflict"]
        size = (
            f"{len(conflict['insertions'])} inserted and {len(conflict['base'])} old assertions, "
            f"{len(conflict['axioms'])} axioms"
        )
        return True, f"a conflict of {size}, which HermiT confirms by itself"

    def _report(self, dataset: Dataset, batch: BatchFile, what: str) -> None:
        self.progress(f"{dataset.name}, {batch.name}: {what}", len(self.runs), 0)


def credited_verdict(verdict: str, unread: int, allowed: Sequence[str]) -> str:
    """Credit a peer's verdict after it could not read some lines: `inconsistent` is exact,
    `consistent` counts only if these lines were allowed.

    >>> credited_verdict("inconsistent", 3, ()), credited_verdict("consistent", 3, ())
    ('inconsistent', 'undetermined')
    >>> credited_verdict("consistent", 3, ("malformed",))
    'consistent'
    """
    return (
        "undetermined"
        if verdict == "consistent" and unread and not {"malformed", "undeclared"} & set(allowed)
        else verdict
    )


def document(
    datasets: Mapping[str, Dataset],
    batches: Mapping[tuple[str, str], BatchFile],
    runs: Sequence[Run],
    comparisons: Sequence[Comparison],
    settings: Settings,
    began: float,
) -> dict[str, Any]:
    """The JSON form of an evaluation. Raises OperationalError where it does not fit its own schema."""
    return checked_document(
        SCHEMA,
        SCHEMA_VERSION,
        began,
        settings={
            "seed": settings.seed,
            "limit_seconds": settings.limit,
            "heap": settings.heap,
            "reasoner": settings.reasoner,
        },
        datasets=[
            {"name": d.name, "family": d.family, "about": d.summary, "allowed": list(d.allow)}
            for d in datasets.values()
        ],
        batches=[
            {
                "dataset": name,
                "name": b.name,
                "assertions": b.assertions,
                "insertions": b.insertions,
                "expected": b.expected_verdict,
            }
            for (name, _), b in batches.items()
        ],
        peers=[
            {
                "name": p.name,
                "title": p.title,
                "licence": p.licence,
                "engine": p.engine,
                "installed": not isinstance(find_peer(p.name), AbsentPeer),
            }
            for p in PEERS.values()
        ],
        runs=[run.to_dict() for run in runs],
        comparisons=[comparison.to_dict() for comparison in comparisons],
    )


def _empty_run(
    dataset: Dataset, batch: BatchFile, system: str, criterion: str | None, engine: str
) -> Run:
    """A run over ``batch`` of which nothing is known yet."""
    return Run(
        dataset.name,
        system,
        criterion,
        engine,
        batch.name,
        RunSizes(batch.assertions, batch.insertions),
        expected=batch.expected_verdict,
        universities=dataset.universities,
    )


def _file_name(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-." else "-" for c in name)


def _is_selected(name: str, parts: Sequence[str]) -> bool:
    return not parts or any(re.search(part, name) for part in parts)
