"""Redo the experiments on the consistency of streams (NTM and LTM; Gao et al. 2018).

Streams are drawn: every label that can be asserted comes at one rate, of individuals drawn
evenly. What `make bench` measures of streams stands here too.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Final

import numpy as np

from shiq.columns.arrays import Ints
from shiq.jobs.evaluation.evaluate.settings import PaperSettings
from shiq.jobs.evaluation.generation import tbox_as_rdfxml
from shiq.jobs.evaluation.lubm.generate import ONTOLOGY
from shiq.jobs.evaluation.lubm.tbox import lubm_tbox
from shiq.jobs.evaluation.papers.page import (
    PLOT_ONLY,
    Paper,
    PaperRow,
    ReportActivity,
    find_sustained_rate,
)
from shiq.streams.consistency import StreamPlan, plan
from shiq.streams.consistency.negative_inclusions import build_masks
from shiq.streams.consistency.state import BoltStrategy, StreamPartition
from shiq.streams.consistency.topology import (
    Bolt,
    Cut,
    build_bolts,
    estimate_label_rates,
    find_cheapest_cut,
    list_cuts,
)

WINDOW: Final = 8
#: How often each is timed.
TIMES: Final = 3


def draw_tuples(
    watched: StreamPlan, count: int, seed: int, people: int, per_point: int
) -> tuple[Ints, Ints, Ints]:
    """Draw a random stream of ``count`` tuples: three arrays with the individual, label (its class
    or role) and time of each.
    """
    draw, found = np.random.default_rng(seed), build_masks(watched.view, watched.all_roots)
    labels = [
        found.label_indexes[label]
        for label in sorted(watched.view.vocabulary - watched.view.auxiliary_labels)
        if label in found.label_indexes
    ]
    time = np.arange(count) // per_point
    return (
        draw.integers(0, people, count),
        np.array(labels)[draw.integers(0, len(labels), count)],
        time,
    )


class BoltRun:
    """Measured run of a topology (a chain of bolts, as in Storm): each bolt processes the tuples
    that the bolt before it passes on.

    spent, evaluated, cached: CPU seconds, evaluations and the most cached tuples, by bolt.
    """

    def __init__(
        self, watched: StreamPlan, pipeline: Sequence[Bolt], stream: tuple[Ints, Ints, Ints]
    ) -> None:
        found, (key, label, time) = build_masks(watched.view, watched.all_roots), stream
        arriving = [(int(x), found.labels[n], int(t)) for x, n, t in zip(key, label, time)]
        self.spent, self.evaluated, self.cached = list[float](), list[int](), list[int]()
        for bolt in pipeline:
            alone = BoltStrategy(found.labels, [bolt], watched.window)
            stage, onward = alone.stages[0], list[tuple[int, str, int]]()
            begun = process_time()
            for x, name, t in arriving:
                stage.store_and_test(x, name, t, t + watched.window)
                onward += [(x, upper, t) for upper in stage.lift.get(name, ())]
            self.spent.append(process_time() - begun)
            self.evaluated.append(sum(len(stage.partners.get(name, ())) for _, name, _ in arriving))
            tested = (t for _, name, t in arriving if stage.partners.get(name))
            self.cached.append(max_cached_tuples(tested, watched.window))
            arriving = onward

    @property
    def total_task_seconds(self) -> float:
        """CPU seconds of all tasks if each bolt has equally many tasks: number of bolts × those of
        the busiest bolt.
        """
        return len(self.spent) * max(self.spent)

    @property
    def total_task_evaluations(self) -> int:
        """Evaluations of all tasks if each bolt has equally many tasks: number of bolts × those of
        the busiest bolt.
        """
        return len(self.spent) * max(self.evaluated)


def max_cached_tuples(times: Iterator[int], window: int) -> int:
    """Largest number of tuples in a bolt's cache at one time, for tuples that arrive at ``times``
    and stay for ``window``.

    >>> max_cached_tuples(iter([0, 0, 5, 9]), 8)
    3
    """
    found = np.bincount(np.fromiter(times, np.int64))
    return int(np.convolve(found, np.ones(window + 1, np.int64)).max()) if len(found) else 0


# --- the paper's figures ----------------------------------------------------------------------------

_TASKS: Final = (2, 4, 6, 8, 10)
_THROUGHPUT: Final = (
    f"{PLOT_ONLY} Ours: tuples over the CPU time of the busiest task, each bolt with equally many "
    "tasks; no network, so it grows with the tasks, on however many servers they run."
)
_TREND: Final = (
    "The paper in words: LTM-0 has about half of NTM's throughput, LTM-1 about the same, then it "
    "grows (LUBM: to LTM-2, NPD: to LTM-3) and falls again."
)
_SUSTAINED: Final = (
    "Not in the paper as numbers. Ours: the highest rate found by search, by CPU time; spans and "
    "violations included."
)
_STAND_IN: Final = (
    "The adapted TBoxes are not published. Ours: LUBM with siblings disjoint; NPD's TBox as it is."
)
_NO_NPD: Final = "NPD has no generator: --data names a copy (data/npd/README.md)."


def redo_experiments(settings: PaperSettings, say: ReportActivity) -> Iterator[PaperRow]:
    """Yield the rows of Fig. 5 and 6, and of the sizes in section 5."""
    with tempfile.TemporaryDirectory() as folder:
        for name, watched in _make_plans(settings, Path(folder)).items():
            yield from _set_up_rows(name, watched)
            if watched is None:
                yield PaperRow("Fig. 5", "NPD", "tuples/min", why=_NO_NPD)
                continue
            say(f"{name}: topologies")
            many = settings.experiment_size(8_000, 100_000, 200)
            stream = draw_tuples(
                watched, many, settings.seed, max(10, many // 26), max(5, many // 160)
            )
            yield from _topology_rows(name, watched, stream)
            say(f"{name}: rates")
            yield from _sustained_rate_rows(name, watched, settings)


def _make_plans(settings: PaperSettings, folder: Path) -> dict[str, StreamPlan | None]:
    """Make the plans for watching streams over the TBoxes of LUBM and NPD; None for NPD without the
    user's copy of it.
    """
    tbox = folder / "lubm.owl"
    tbox.write_text(tbox_as_rdfxml(lubm_tbox(), ONTOLOGY), encoding="utf-8")
    given = settings.data_folder("npd")
    npd = given / "npd-v2-complete.fixed.owl" if given else None
    return {
        "LUBM": plan(tbox, WINDOW, assume=("siblings-disjoint",)),
        "NPD": plan(npd, WINDOW) if npd and npd.is_file() else None,
    }


def _set_up_rows(name: str, watched: StreamPlan | None) -> Iterator[PaperRow]:
    """Rows of the paper's section 5: numbers of labels, inclusions and groups of the TBox ``name``.
    Ours are of similar TBoxes, since the paper's own are not published.
    """
    published = {
        "LUBM": (43, 56, 70, 773, 5),
        "NPD": (329, 332, 51, None, 5),
    }[name]
    ours: tuple[int | None, ...] = (None,) * len(published)
    if watched is not None:
        labels = watched.view.vocabulary - watched.view.auxiliary_labels
        ours = (
            len(labels),
            len(watched.positive),
            len(watched.negative),
            watched.closure,
            len(watched.root_groups),
        )
    names = ("input streams", "positive inclusions", "negative inclusions", "closure", "groups")
    for what, theirs, mine in zip(names, published, ours):
        why = _STAND_IN if mine is not None else _NO_NPD
        if theirs is None and mine is not None:
            why = "The closure of NPD is not in the paper."
        yield PaperRow("Section 5, set-up", f"{name}: {what}", "", theirs, mine, why=why)


def _topology_rows(
    name: str, watched: StreamPlan, stream: tuple[Ints, Ints, Ints]
) -> Iterator[PaperRow]:
    """Rows of Fig. 5 (throughput), 6a (conjunctions), 6b (caches) and 6c (several bolts)."""
    groups = len(watched.root_groups)
    topologies: dict[str, Cut] = {"NTM": (), **{f"LTM-{n}": (n,) for n in range(groups + 1)}}
    pipelines = {
        title: build_bolts(watched.view, watched.root_groups, cut)
        for title, cut in topologies.items()
    }
    runs = {
        title: min(
            (BoltRun(watched, p, stream) for _ in range(TIMES)),
            key=lambda run: run.total_task_seconds,
        )
        for title, p in pipelines.items()
    }
    for title, run in runs.items():
        for tasks in _TASKS:
            throughput = 60 * len(stream[0]) * tasks / run.total_task_seconds
            axis = f"{name}, {title}, {tasks} tasks"
            yield PaperRow("Fig. 5", axis, "tuples/min", None, throughput, why=_THROUGHPUT)
        if title != "NTM":
            axis, gain = (
                f"{name}, {title} over NTM, time",
                runs["NTM"].total_task_seconds / run.total_task_seconds,
            )
            yield PaperRow("Fig. 5", axis, "×", None, gain, why=_TREND)
    best = {"LUBM": (139, "LTM-2"), "NPD": (330, "LTM-3")}.get(name, (None, ""))
    fastest = min(runs, key=lambda title: runs[title].total_task_seconds)
    lightest = min(runs, key=lambda title: runs[title].total_task_evaluations)
    gains = (
        ("time", fastest, runs["NTM"].total_task_seconds / runs[fastest].total_task_seconds, "×"),
        (
            "evaluations",
            lightest,
            runs["NTM"].total_task_evaluations / runs[lightest].total_task_evaluations,
            "",
        ),
    )
    for what, title, gain, unit in gains:
        published = None if best[0] is None else 1 + best[0] / 100
        yield PaperRow(
            "Fig. 5",
            f"{name}: best LTM over NTM, {what}",
            unit,
            published,
            round(gain, 4) if not unit else gain,
            why=f"The paper's best is {best[1]}, ours {title}. Two bolts; its TBox is another one.",
        )
    for title, pipeline in pipelines.items():
        yield from _bolt_rows(name, title, pipeline, runs[title])
    yield from _bolt_count_rows(name, watched, stream, runs["NTM"])


def _bolt_rows(name: str, title: str, pipeline: Sequence[Bolt], run: BoltRun) -> Iterator[PaperRow]:
    """Rows of Fig. 6a and 6b for one topology: conjunctions of each bolt, evaluations, cached
    tuples.
    """
    for place, bolt in enumerate(pipeline, 1):
        whole = 773 if name == "LUBM" and (title, place) in _WHOLE else None
        why = (
            f"{_STAND_IN} LTM-0's first bolt lifts each label to the most specific one that is "
            "tested later, so its second bolt tests fewer."
            if whole
            else PLOT_ONLY
        )
        axis = f"{name}, {title}, bolt {place}"
        yield PaperRow("Fig. 6a", f"{axis}: conjunctions", "", whole, bolt.conjunctions, why=why)
    yield PaperRow(
        "Fig. 6a",
        f"{name}, {title}: evaluations",
        "",
        None,
        sum(run.evaluated),
        why="Not in the paper: how many conjunctions the tuples of the stream are tested by.",
    )
    yield PaperRow(
        "Fig. 6b",
        f"{name}, {title}: cached tuples",
        "",
        None,
        sum(run.cached),
        why=f"{PLOT_ONLY} Ours: the most of a window of {WINDOW} points, over all bolts.",
    )


#: Where the paper says that all conjunctions are in one bolt.
_WHOLE: Final = {("NTM", 1), ("LTM-0", 2), ("LTM-5", 1)}


def _bolt_count_rows(
    name: str, watched: StreamPlan, stream: tuple[Ints, Ints, Ints], ntm: BoltRun
) -> Iterator[PaperRow]:
    """Rows of Fig. 6c: throughput of the fastest topologies with three to five bolts, beside the
    topology NTM.
    """
    for many in (3, 4, 5):
        some = [cut for cut in list_cuts(len(watched.root_groups)) if len(cut) == many - 1]
        if not some:
            continue
        pipelines = {cut: build_bolts(watched.view, watched.root_groups, cut) for cut in some}
        fastest = min(
            (BoltRun(watched, pipeline, stream) for pipeline in pipelines.values()),
            key=lambda run: run.total_task_seconds,
        )
        for title, run in (
            (f"LTM with {many} bolts, a task each", fastest),
            (f"NTM, {many} tasks", ntm),
        ):
            throughput = 60 * len(stream[0]) * many / run.total_task_seconds
            yield PaperRow(
                "Fig. 6c", f"{name}, {title}", "tuples/min", None, throughput, why=_THROUGHPUT
            )


def _sustained_rate_rows(
    name: str, watched: StreamPlan, settings: PaperSettings
) -> Iterator[PaperRow]:
    """Rows with the highest rate of tuples that one process keeps up with, by strategy for finding
    contradictions.
    """
    many = settings.experiment_size(200_000, 1_000_000, 2_000)
    key, label, time = draw_tuples(watched, many, settings.seed, 2_000, 100)
    for strategy, cut in (("mask", ()), ("ntm", ()), ("ltm", None)):
        planned = _with_strategy(watched, strategy, cut)
        partition, place = StreamPartition(planned), [0]

        def take(
            count: int, partition: StreamPartition = partition, place: list[int] = place
        ) -> None:
            at = (place[0] + np.arange(count)) % many
            laps = (place[0] + np.arange(count)) // many * (int(time[-1]) + 1)
            partition.add_assertions(key[at], label[at], time[at] + laps)
            partition.remove_ended_assertions(int((time[at] + laps)[-1]))
            place[0] += count

        found = 60 * find_sustained_rate(take, min(0.5, 2 * settings.size))
        yield PaperRow(
            "Sustained rate",
            f"{name}, {strategy}, one process",
            "tuples/min",
            None,
            found,
            why=_SUSTAINED,
        )


def _with_strategy(watched: StreamPlan, strategy: str, cut: Cut | None) -> StreamPlan:
    """Copy of a plan with another strategy; ``cut`` None: the cheapest cut."""
    chosen = cut
    if chosen is None:
        chosen = find_cheapest_cut(
            watched.view, watched.root_groups, estimate_label_rates(watched.view, None)
        )
    pipeline = build_bolts(watched.view, watched.root_groups, chosen)
    return replace(watched, strategy=strategy, cut=chosen, bolts=pipeline)


PAPER = Paper(
    "streams",
    "S. Gao, D. Dell'Aglio, J. Z. Pan, A. Bernstein: Distributed Stream Consistency Checking. "
    "ICWE 2018, LNCS 10845, Springer. ISBN 978-3-319-91662-0",
    (),
    redo_experiments,
)
