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
from dataclasses import fields, replace
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
    CheckSizes,
    Comparison,
    Run,
    RunCost,
    compare_runs,
)
from shiq.jobs.evaluation.evaluate.settings import DEFAULT_ENGINES, BenchmarkSettings
from shiq.jobs.evaluation.harness import Progress, Save, make_checked_document
from shiq.jobs.evaluation.peers.drivers import PeerQuestion, ask_peer
from shiq.reasoner.external import PEERS, MissingReasoner, find_external_reasoner

#: The share of a run's limit by which a run of ours ends by itself, reading included, so that what
#: it knows by then is told.
SHARE_OF_LIMIT = 0.9


def evaluate(
    settings: BenchmarkSettings, progress: Progress | None = None, save: Save | None = None
) -> dict[str, Any]:
    """Run a benchmark evaluation and return its JSON document; ``save`` gets the document so far
    after every batch.

    Raises: UsageError, OperationalError if nothing can be evaluated.
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
    """Evaluation in progress: its settings, and the data sets, batches, stores and runs so far."""

    def __init__(
        self, settings: BenchmarkSettings, folder: Path, progress: Progress, save: Save
    ) -> None:
        self.settings = settings
        self.folder = folder
        self.progress = progress
        self.save = save
        self.began = time.time()
        self.runs: list[Run] = []
        self.batches: dict[tuple[str, str], BatchFile] = {}
        self.known_batches: dict[str, None] = {}
        self.datasets: dict[str, Dataset] = {}
        # What crashed or reached the limit: the same system is not put to the same work again.
        self.failures: dict[tuple[object, ...], str] = {}
        self.stores: dict[Path, tuple[Path, Run]] = {}
        self.readings: dict[Path, Reading] = {}

    def run(self) -> dict[str, Any]:
        """Evaluate all selected data sets and return the JSON document. Raises: UsageError if none
        is selected.
        """
        found = data.datasets(
            self.settings.family,
            self.settings.universities,
            self.settings.data,
            self.settings.seed,
            self.folder / "generated",
        )
        for dataset in found:
            if _is_selected(dataset.name, self.settings.variants):
                self._evaluate_dataset(dataset)
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
        return self._make_document(compare_runs(self.runs, self._confirm_conflict))

    def _make_document(self, comparisons: Sequence[Comparison]) -> dict[str, Any]:
        """JSON document of the runs so far. Raises: OperationalError if it violates the schema."""
        return make_checked_document(
            SCHEMA,
            SCHEMA_VERSION,
            self.began,
            settings={
                "seed": self.settings.seed,
                "limit_seconds": self.settings.limit,
                "heap": self.settings.heap,
                "reasoner": self.settings.reasoner,
            },
            datasets=[
                {"name": d.name, "family": d.family, "about": d.summary, "allowed": list(d.allow)}
                for d in self.datasets.values()
            ],
            batches=[
                {
                    "dataset": name,
                    "name": b.name,
                    "assertions": b.assertions,
                    "insertions": b.insertions,
                    "expected": b.expected_verdict,
                }
                for (name, _), b in self.batches.items()
            ],
            peers=[
                {
                    "name": p.name,
                    "title": p.title,
                    "licence": p.licence,
                    "engine": p.engine,
                    "installed": not isinstance(find_external_reasoner(p.name), MissingReasoner),
                }
                for p in PEERS.values()
            ],
            runs=[run.to_dict() for run in self.runs],
            comparisons=[comparison.to_dict() for comparison in comparisons],
        )

    def _evaluate_dataset(self, dataset: Dataset) -> None:
        """Draw the batches of a data set and put each to shiq and to the other reasoners."""
        self.datasets[dataset.name] = dataset
        self.progress(f"{dataset.name}: drawing batches", len(self.runs), 0)
        own = self.folder / _to_file_name(dataset.name)
        for batch in list(
            data.write_batches(dataset, own, self.settings.seed, self.settings.slices)
        ):
            self.known_batches[batch.name] = None
            if not _is_selected(batch.name, self.settings.batches):
                continue
            self.batches[(dataset.name, batch.name)] = batch
            self._run_own_checks(dataset, batch)
            for name in self.settings.peers:
                self.runs.append(self._run_peer(dataset, batch, name))
            self.save(self._make_document(compare_runs(self.runs)))

    def _remember_failure(self, key: tuple[object, ...], run: Run) -> Run:
        """Remember a run that crashed or reached the time limit; return the run."""
        if run.outcome == "limit" or (
            run.outcome == "crash" and (run.is_own or not run.base_verdict)
        ):
            self.failures.setdefault(key, f"{run.outcome} on batch {run.batch}")
        return run

    # --- ours -------------------------------------------------------------------------------------

    def _run_own_checks(self, dataset: Dataset, batch: BatchFile) -> None:
        """Check a batch by shiq with each criterion and engine."""
        for criterion, engine in self._criteria_and_engines(batch):
            store, base = self._build_store(dataset, batch)
            self._report_progress(dataset, batch, f"{criterion}, {engine}")
            self.runs.append(self._run_own_check(dataset, batch, store, base, criterion, engine))

    def _criteria_and_engines(self, batch: BatchFile) -> Iterator[tuple[str, str]]:
        """Pairs (criterion, engine) to measure for a batch. Some pairs are measured only for large
        batches, to save time.
        """
        large = batch.name.startswith("5 %")
        for criterion in self.settings.criteria:
            if criterion == "none" and not (large or batch.name == "1"):
                continue
            for engine in self.settings.engines or DEFAULT_ENGINES:
                if engine == "local" or large:
                    yield criterion, engine

    def _build_store(self, dataset: Dataset, batch: BatchFile) -> tuple[Path, Run]:
        """Build the store of a batch's base, unless it exists already. Returns its path and the run
        that built it.
        """
        if batch.base in self.stores:
            return self.stores[batch.base]
        self._report_progress(dataset, batch, "building the base")
        store = batch.base.with_suffix(".kg")
        task = {
            "action": "index",
            "tbox": [str(dataset.tbox)],
            "abox": [str(batch.base)],
            "store": str(store),
        }
        name = BASE if not batch.is_slice else f"{BASE} without {batch.name}"
        sizes = CheckSizes(batch.assertions)
        blank = Run(
            dataset.name, OWN, AUTO, "local", name, sizes, universities=dataset.universities
        )
        run = self._run_task(blank, dataset, task)
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
            self.runs.append(run)
        self.stores[batch.base] = (store, run)
        return store, run

    def _run_own_check(
        self,
        dataset: Dataset,
        batch: BatchFile,
        store: Path,
        base: Run,
        criterion: str,
        engine: str,
    ) -> Run:
        """Check a batch against a store by shiq, unless the same check has failed on the same base
        before.
        """
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
        if key in self.failures:
            return replace(blank, outcome="skipped", note=self.failures[key])
        task = {
            "action": "check",
            "store": str(store),
            "insertions": [str(batch.file)],
            "criterion": criterion,
            "engine": engine,
        }
        run = self._run_task(blank, dataset, task)
        cost = replace(
            run.cost,
            prepare_seconds=base.cost.prepare_seconds,
            prepare_cpu_seconds=base.cost.prepare_cpu_seconds,
        )
        return self._remember_failure(key, replace(run, cost=cost))

    def _run_task(self, blank: Run, dataset: Dataset, task: Mapping[str, Any]) -> Run:
        """Let a worker process of shiq do a ``task`` (JSON: build a store, check a batch or confirm
        a conflict). Returns a copy of ``blank`` with the outcome, verdict and cost.
        """
        ran, answer = self._start_worker(dataset, task)
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
            return replace(used, outcome="crash", note=ran.error_summary())
        if trouble := answer.get("trouble"):
            return replace(used, outcome="absent" if answer["is_absent"] else "crash", note=trouble)
        statistics, criterion = answer["statistics"], answer["evidence"]["criterion"]
        stages = {
            **statistics["seconds"],
            "start and end": max(0.0, ran.wall_seconds - sum(statistics["seconds"].values())),
        }
        sizes = blank.sizes
        if statistics["assertions"]:  # else the time was over before anything was counted
            counted = {
                f.name: statistics[f.name] for f in fields(CheckSizes) if f.name in statistics
            }
            contradictory = answer["evidence"]["decided"].get("contradictory", 0)
            sizes = CheckSizes(**{**counted, "contradictory": contradictory})
        return replace(
            used,
            sizes=sizes,
            cost=replace(cost, seconds=stages),
            used=criterion if blank.criterion == AUTO and criterion != AUTO else "",
            verdict=answer["verdict"],
            note=answer["reason"][:500],
        )

    def _start_worker(
        self, dataset: Dataset, task: Mapping[str, Any]
    ) -> tuple[MeterReading, dict[str, Any] | None]:
        """Run a worker process of shiq for a ``task`` (JSON). Returns the resources that it used,
        and its answer (None if there is none).
        """
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

    def _run_peer(self, dataset: Dataset, batch: BatchFile, name: str) -> Run:
        """Put a batch to another reasoner, unless it has failed on the same base before."""
        peer = PEERS[name]
        self._report_progress(dataset, batch, peer.title)
        blank = _empty_run(dataset, batch, name, None, peer.engine)
        found = find_external_reasoner(name)
        if isinstance(found, MissingReasoner):
            return replace(blank, outcome="absent", note=found.reason)
        key = (batch.base, name)
        if key in self.failures:
            return replace(blank, outcome="skipped", note=self.failures[key])
        question = PeerQuestion(
            dataset.tbox, batch.base, batch.file, self.folder / "run" / "document.ofn"
        )
        step = ask_peer(
            found,
            question,
            lambda: self._read_ontology(dataset.tbox),
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
            return self._remember_failure(key, replace(used, note=note))
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

    def _read_ontology(self, tbox: Path) -> Reading:
        """Read a TBox; each file is read once and then kept."""
        from shiq.rdf import read_ontology

        if tbox not in self.readings:
            self.readings[tbox] = read_ontology([str(tbox)])
        return self.readings[tbox]

    # --- disagreements ----------------------------------------------------------------------------

    def _confirm_conflict(self, name: str, batch_name: str) -> tuple[bool, str]:
        """Ask HermiT whether a conflict that shiq found in a batch is really contradictory. Returns
        whether it is, and an explanation.
        """
        dataset, batch = self.datasets[name], self.batches[(name, batch_name)]
        self._report_progress(dataset, batch, "asking who is right")
        store, _ = self._build_store(dataset, batch)
        _, answer = self._start_worker(
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

    def _report_progress(self, dataset: Dataset, batch: BatchFile, activity: str) -> None:
        """Report the current activity on a data set and batch."""
        self.progress(f"{dataset.name}, {batch.name}: {activity}", len(self.runs), 0)


def credited_verdict(verdict: str, unread: int, allowed: Sequence[str]) -> str:
    """Decide what a reasoner's verdict is worth if it could not read ``unread`` lines:
    `inconsistent` counts always, `consistent` only if such lines were allowed.

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


def _empty_run(
    dataset: Dataset, batch: BatchFile, system: str, criterion: str | None, engine: str
) -> Run:
    """Run record for a question before anything is measured."""
    return Run(
        dataset.name,
        system,
        criterion,
        engine,
        batch.name,
        CheckSizes(batch.assertions, batch.insertions),
        expected=batch.expected_verdict,
        universities=dataset.universities,
    )


def _to_file_name(name: str) -> str:
    """Replace the characters of a name that do not belong into file names."""
    return "".join(c if c.isalnum() or c in "-." else "-" for c in name)


def _is_selected(name: str, parts: Sequence[str]) -> bool:
    """Whether a name matches one of the regular expressions ``parts``, or there are none."""
    return not parts or any(re.search(part, name) for part in parts)
