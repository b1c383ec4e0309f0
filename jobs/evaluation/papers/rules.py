"""Redo the experiments on stream rules (I-DLV-sr; Calimeri et al. 2021), with clingo on the same
streams.

clingo has no windows: their content at each point is computed before, and not counted in its time.
"""

from __future__ import annotations

import importlib.util
import re
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from shiq.jobs.evaluation.evaluate.settings import PaperSettings
from shiq.jobs.evaluation.papers.page import (
    PLOT_ONLY,
    NotMeasured,
    Paper,
    PaperRow,
    ReportActivity,
    compute_latencies,
)
from shiq.jobs.evaluation.streams.rules import (
    Column,
    GeneratedRules,
    HeavyJoin,
    PhotovoltaicGrid,
    PointRows,
)
from shiq.streams.rules import Program


class EvaluatedPoint(NamedTuple):
    """Cost and result of evaluating the rules at one time point of a stream.

    cpu, wall: milliseconds
    atom_counts: number of true atoms of each requested predicate
    """

    cpu: float
    wall: float
    atom_counts: list[int]


#: A system: evaluates a stream, set-up first (as a point without atoms), then point by point.
#: asked: predicates with arity; texts: whether atoms go in and out as texts.
System: TypeAlias = Callable[[GeneratedRules, tuple[str, ...], bool], Iterator[EvaluatedPoint]]


def evaluate_incrementally(
    stream: GeneratedRules, predicates: tuple[str, ...], texts: bool
) -> Iterator[EvaluatedPoint]:
    """Evaluate the rules of a stream by shiq, point by point, incrementally; yields time and
    numbers of atoms of each point. ``texts``: read and write atoms as texts.
    """
    begun = _read_clocks()
    session = Program.parse(stream.rules).session()
    yield _measure_point(begun, [])
    for t, rows in stream.timed_atoms() if texts else stream.timed_rows():
        begun = _read_clocks()
        (model,) = [*session.push(t, rows), *session.finish()]
        if texts:
            derived: Any = model.derived
            point = _measure_point(begun, [])
            names = Counter(atom.partition("(")[0] for atom in derived)
            yield point._replace(atom_counts=[names[name] for name in _bare_names(predicates)])
        else:
            columns = [model.columns(predicate) for predicate in predicates]
            yield _measure_point(begun, [len(found[0]) for found in columns])


def evaluate_from_scratch(
    stream: GeneratedRules, predicates: tuple[str, ...], texts: bool
) -> Iterator[EvaluatedPoint]:
    """Evaluate the rules of a stream by shiq at each time point from scratch, on the content of the
    windows, as clingo does; yields time and numbers of atoms of each point.
    """
    begun, past = _read_clocks(), _RecentIndividuals(stream.rules)
    program = Program.parse(_rewrite_windows(stream.rules))
    yield _measure_point(begun, [])
    for held in window_contents(stream):
        by_name: dict[str, list[tuple[int, ...]]] = {}
        for (name, row), many in held.items():
            by_name.setdefault(f"{_bare_name(name)}_/{len(row) + 1}", []).append((*row, many))
        by_name |= {
            f"{name}_before/1": [(one,) for one in before]
            for name, before in past.individuals_at_all_points(held).items()
            if before
        }
        rows = {name: tuple(np.array(found).T) for name, found in by_name.items()}
        begun = _read_clocks()
        session = program.session()
        (model,) = [*session.push(0, rows), *session.finish()]
        columns = [model.columns(predicate) for predicate in predicates]
        point = _measure_point(begun, [len(found[0]) for found in columns])
        past.add_point({name: {*model.columns(f"{name}/1")[0].tolist()} for name in past.points})
        yield point


def _read_clocks() -> tuple[float, float]:
    """Current CPU and wall time in seconds."""
    return time.process_time(), time.perf_counter()


def _measure_point(begun: tuple[float, float], atom_counts: list[int]) -> EvaluatedPoint:
    """Make the record of a time point whose evaluation began at ``begun`` (CPU and wall time) and
    ends now.
    """
    cpu, wall = _read_clocks()
    return EvaluatedPoint(1000 * (cpu - begun[0]), 1000 * (wall - begun[1]), atom_counts)


def _bare_name(predicate: str) -> str:
    """Name of a predicate without its arity."""
    return predicate.rpartition("/")[0]


def _bare_names(predicates: Sequence[str]) -> list[str]:
    """Names of predicates without their arities."""
    return [_bare_name(predicate) for predicate in predicates]


# --- clingo ---------------------------------------------------------------------------------------

#: What looks back on input, and what looks back on derived atoms.
_WINDOW = re.compile(r"(\w+)\(([^()]*)\) (?:at least 1 |count (\w+) )?in \[(\d+)\]")
_ALWAYS = re.compile(r"(\w+)(\([^()]*\)) always in \[(\d+)\]")
_LEFT_OUT = re.compile(r" at most | \w+ always in")


def window_contents(stream: GeneratedRules) -> Iterator[Counter[tuple[str, tuple[int, ...]]]]:
    """Yield for each time point the input atoms that lie in the rules' windows, each with the
    number of time points at which it occurred.
    """
    lengths = {found[0]: int(found[3]) for found in _WINDOW.findall(stream.rules)}
    held: Counter[tuple[str, tuple[int, ...]]] = Counter()
    past: dict[str, deque[list[tuple[str, tuple[int, ...]]]]] = {name: deque() for name in lengths}
    for _, rows in stream.timed_rows():
        by_name = {
            _bare_name(predicate): (predicate, columns) for predicate, columns in rows.items()
        }
        for name, length in lengths.items():
            predicate, columns = by_name.get(name, ("", ()))
            now = list({(predicate, row) for row in zip(*(c.tolist() for c in columns))})
            past[name].append(now)
            held.update(now)
            if len(past[name]) > length + 1:
                held.subtract(past[name].popleft())
        yield +held


def _rewrite_windows(rules: str) -> str:
    """Rewrite stream rules for clingo, which has no windows: window conditions become ordinary
    atoms, ``p_(…, count)`` and ``p_before(…)`` for `always`, whose facts are computed beforehand.

    Rules that look back on derived atoms without arguments cost nothing and are left out.

    >>> _rewrite_windows("p(X) :- q(X) count N in [3], r(X) always in [2].")
    'p(X) :- q_(X,N), r(X), r_before(X).'
    """
    lines = rules.splitlines(keepends=True)
    kept = "".join(line for line in lines if not _LEFT_OUT.search(line))
    kept = _WINDOW.sub(lambda m: f"{m[1]}_({m[2]},{m[3] or '_'})", kept)
    return _ALWAYS.sub(lambda m: f"{m[1]}{m[2]}, {m[1]}_before{m[2]}", kept)


class _RecentIndividuals:
    """Individuals that were in each predicate at the last time points, for rules with `always`,
    which clingo lacks.
    """

    def __init__(self, rules: str) -> None:
        lengths = {found[0]: int(found[2]) for found in _ALWAYS.findall(rules)}
        self.points = {name: deque[set[int]](maxlen=many) for name, many in lengths.items()}

    def individuals_at_all_points(
        self, content: Counter[tuple[str, tuple[int, ...]]]
    ) -> dict[str, set[int]]:
        """Individuals that were present at all remembered points, by predicate."""
        known = {row[0] for _, row in content}
        return {name: known.intersection(*points) for name, points in self.points.items()}

    def add_point(self, found: Mapping[str, set[int]]) -> None:
        """Add the individuals of the next time point, by predicate."""
        for name, points in self.points.items():
            points.append(found[name])


def evaluate_clingo_from_scratch(
    stream: GeneratedRules, predicates: tuple[str, ...], texts: bool
) -> Iterator[EvaluatedPoint]:
    """Evaluate the rules of a stream by clingo at each time point from scratch; yields time and
    numbers of atoms of each point.
    """
    clingo, past = _import_clingo(), _RecentIndividuals(stream.rules)
    shown = [*predicates, *(f"{name}/1" for name in past.points)]
    rules = _rewrite_windows(stream.rules) + "".join(f"#show {name}.\n" for name in shown)
    yield EvaluatedPoint(0.0, 0.0, [])
    for held in window_contents(stream):
        facts = "".join(
            f"{_bare_name(name)}_({','.join(map(str, row))},{many}).\n"
            for (name, row), many in held.items()
        )
        for name, before in past.individuals_at_all_points(held).items():
            facts += "".join(f"{name}_before({x}).\n" for x in before)
        begun = _read_clocks()
        control = clingo.Control(["--warn=none"])
        control.add("base", [], rules + facts)
        control.ground([("base", [])])
        symbols = _solve_for_shown_atoms(control, texts)
        point = _measure_point(begun, [])
        number = Counter(name for name, _ in symbols)
        past.add_point(
            {
                one: {int(str(symbol)[len(one) + 1 : -1]) for n, symbol in symbols if n == one}
                for one in past.points
            }
        )
        yield point._replace(atom_counts=[number[name] for name in _bare_names(predicates)])


def evaluate_clingo_once(
    stream: GeneratedRules, predicates: tuple[str, ...], texts: bool
) -> Iterator[EvaluatedPoint]:
    """Evaluate the photovoltaic grid by clingo, with the program grounded only once; panels that
    deliver enough energy are external atoms.
    """
    clingo = _import_clingo()
    text = _rewrite_windows(stream.rules) + "".join(f"#show {name}.\n" for name in predicates)
    text = (
        text.replace("energyDelivered_(P,W,_), energyThreshold(Et), W >= Et", "enough(P)")
        + "#external enough(P) : link(P,_), P != cea.\n#external enough(P) : link(_,P).\n"
    )
    begun = _read_clocks()
    control = clingo.Control(["--warn=none"])
    control.add("base", [], text)
    control.ground([("base", [])])
    yield _measure_point(begun, [])
    enough: set[int] = set()
    for held in window_contents(stream):
        now = {row[0] for name, row in held if name == "energyDelivered/2" and row[1] >= 10}
        begun = _read_clocks()
        for panel in now ^ enough:
            control.assign_external(clingo.Function("enough", [clingo.Number(panel)]), panel in now)
        symbols = _solve_for_shown_atoms(control, texts)
        point = _measure_point(begun, [])
        enough, number = now, Counter(name for name, _ in symbols)
        yield point._replace(atom_counts=[number[name] for name in _bare_names(predicates)])


def _import_clingo() -> Any:
    """Import clingo. Raises: NotMeasured if it is not installed."""
    if importlib.util.find_spec("clingo") is None:
        raise NotMeasured("clingo is not installed: pip install clingo")
    import clingo

    return clingo


def _solve_for_shown_atoms(control: Any, texts: bool) -> list[tuple[str, Any]]:
    """Solve a grounded program; return name and symbol of each shown atom."""
    with control.solve(yield_=True) as handle:
        shown = list(handle.model().symbols(shown=True))
    return [(symbol.name, str(symbol) if texts else symbol) for symbol in shown]


# --- the paper's streams ----------------------------------------------------------------------------

#: Content Caching: by how popular a content was all along, a cache keeps what is used often (lfu),
#: what was used lately (lru), or what came last (fifo), and else at random; `off` ends it.
CACHING: Final = """high(C) :- alpha(C,V) in [{w}], V >= 18.
mid(C) :- alpha(C,V) in [{w}], V >= 12, V < 18.
low(C) :- alpha(C,V) in [{w}], V < 12.
lfu(C) :- high(C) always in [{w}].
lru(C) :- mid(C) always in [{w}].
fifo(C) :- low(C) always in [{w}], rtm50(C) in [{w}].
done(C) :- lfu(C).
done(C) :- lru(C).
done(C) :- fifo(C).
random(C) :- content(C), not done(C).
finish(C) :- off(C) in [1], done(C).
finish(C) :- off(C) in [1], random(C).
"""
#: Popularity goes in phases of so many points.
PHASE: Final = 20


def content_caching(window: int, contents: int, points: int, seed: int) -> GeneratedRules:
    """Generate the published Content Caching program and its stream: the popularity of each content
    at each point.

    The real-time mode `rtm50` is on in one point of five, `off` comes in one of thirty.
    """

    def rows() -> Iterator[PointRows]:
        dice, names = np.random.default_rng(seed), np.arange(contents)
        shift = dice.integers(0, 3 * PHASE, contents) if contents > 1 else np.zeros(1, np.int64)
        for t in range(points):
            level = np.array([25, 5, 14])[(t + shift) // PHASE % 3]
            found: dict[str, tuple[Column, ...]] = {"alpha/2": (names, level)}
            if contents > 1:
                found["rtm50/1"] = (names[dice.random(contents) < 0.2],)
                found["off/1"] = (names[dice.random(contents) < 1 / 30],)
            yield {name: columns for name, columns in found.items() if len(columns[0])}

    facts = "".join(f"content({n}).\n" for n in range(contents))
    return GeneratedRules(CACHING.format(w=window) + facts, list(rows()))


@dataclass(frozen=True)
class _StreamExperiment:
    """Experiment on one stream of the paper: which figure it redoes, how the stream is generated,
    and which systems evaluate it.

    table, axis: where the paper has it
    predicates: the predicates that are counted
    period: seconds between points
    accepted_events: number of events that the paper's system accepted
    systems: what runs beside shiq
    """

    table: str
    axis: str
    stream: Callable[[], GeneratedRules]
    predicates: tuple[str, ...]
    period: float
    accepted_events: int | None
    systems: tuple[str, ...] = ("clingo", "ours, anew")


_OTHERS: Final[dict[str, System]] = {
    "clingo": evaluate_clingo_from_scratch,
    "clingo-once": evaluate_clingo_once,
    "ours, anew": evaluate_from_scratch,
}
_PERIODS: Final = (0.1, 0.2, 0.5, 1.0, 2.0)
_TICKER: Final = (
    "Distributed-SR, the paper's peer (Ticker), is a Java program that no registry has."
)
_SIMULATED: Final = (
    f"{PLOT_ONLY} Ours: arrivals at this period on the CPU times measured for each point, a core "
    f"for the stream. {_TICKER}"
)


def redo_experiments(settings: PaperSettings, say: ReportActivity) -> Iterator[PaperRow]:
    """Yield the rows of Fig. 3 and 4."""
    points = settings.experiment_size(60, 60, 8)
    for experiment in _make_experiments(settings, points):
        say(f"{experiment.table}, {experiment.axis}")
        yield from _measure_experiment(experiment, settings)
    yield from _grid_link_rows(settings)


def _scaled_sizes(settings: PaperSettings, sizes: Sequence[int]) -> Sequence[int]:
    """Sizes of the paper; fewer of them if the experiments are scaled down."""
    return sizes[: settings.experiment_size(len(sizes), len(sizes))]


def _make_experiments(settings: PaperSettings, points: int) -> Iterator[_StreamExperiment]:
    """Yield the experiments of Fig. 3 and 4, by window and size of the stream."""
    seed = settings.seed
    asked = ("lfu/1", "lru/1", "fifo/1", "random/1", "finish/1")
    # What the paper accepted, of its own numbers of points.
    sixty, thirty = (60 if points == 60 else None), (30 if points == 60 else None)
    for w in _scaled_sizes(settings, (2, *range(5, 51, 5))):
        yield _StreamExperiment(
            "Fig. 3 a.1, Content Caching, one event",
            f"window {w}",
            lambda w=w: content_caching(w, 1, points, seed),  # type: ignore[misc]
            asked,
            1.0,
            sixty,
        )
    for many in _scaled_sizes(settings, range(50, 501, 50)):
        yield _StreamExperiment(
            "Fig. 3 a.2, Content Caching, window 5",
            f"{many} events",
            lambda many=many: content_caching(5, many, points, seed),  # type: ignore[misc]
            asked,
            1.0,
            sixty,
        )
    for w, figure in ((2, "b.1"), (20, "b.2")):
        for many in _scaled_sizes(settings, range(50, 501, 50)):
            yield _StreamExperiment(
                f"Fig. 3 {figure}, Heavy Join, window {w}",
                f"{many} facts",
                lambda w=w, many=many: HeavyJoin(many, w, 0, points // 2, seed).generate_stream(),  # type: ignore[misc]
                ("a/2",),
                1.0,
                thirty,
            )
    for side in _scaled_sizes(settings, range(20, 31, 2)):
        yield _StreamExperiment(
            "Fig. 4, Photo-voltaic System",
            f"{side}²",
            lambda side=side: PhotovoltaicGrid(side, points, 0.0, seed=seed).generate_stream(),  # type: ignore[misc]
            ("reachable/2",),
            0.1,
            sixty,
            ("clingo", "clingo-once", "ours, anew"),
        )


def _grid_link_rows(settings: PaperSettings) -> Iterator[PaperRow]:
    """Rows with the number of links between panels, by size of the grid."""
    for side, published in ((20, 11_970), (30, 60_682)):
        rules = PhotovoltaicGrid(side, 1, 0.0, seed=settings.seed).generate_stream().rules
        links = rules.count("link(") - rules.count("link(cea,") - rules.count(", link(")
        yield PaperRow("Fig. 4, Photo-voltaic System", f"{side}²: links", "", published, links)


def _measure_experiment(
    experiment: _StreamExperiment, settings: PaperSettings
) -> Iterator[PaperRow]:
    """Evaluate a stream by shiq and by other systems; yield rows of times, latencies and sustained
    rates.
    """
    ours = list(evaluate_incrementally(experiment.stream(), experiment.predicates, False))[1:]
    others: dict[str, list[EvaluatedPoint] | None] = {}
    notes = []
    for name in experiment.systems:
        if name == "ours, anew" or name in settings.peers:
            try:
                run = list(_OTHERS[name](experiment.stream(), experiment.predicates, False))[1:]
            except NotMeasured as reason:
                others[name] = None
                notes.append(str(reason))
                continue
            others[name] = run
            if [point.atom_counts for point in run] != [point.atom_counts for point in ours]:
                notes.append(f"{name} derives something else.")
    why = " ".join([_SIMULATED, *dict.fromkeys(notes)])
    table, axis = experiment.table, experiment.axis
    yield PaperRow(
        table,
        f"{axis}: accepted points",
        "",
        experiment.accepted_events,
        len(ours),
        why="" if experiment.accepted_events else "The paper's streams have more points.",
    )
    atoms = sum(sum(point.atom_counts) for point in ours)
    yield PaperRow(
        table, f"{axis}: derived atoms", "", None, atoms, why="The paper does not count them."
    )
    periods = _PERIODS if experiment.period < 1 else (experiment.period,)
    for period in periods:
        waits = {
            name: None if run is None else compute_latencies([p.cpu / 1000 for p in run], period)
            for name, run in {"ours": ours, **others}.items()
        }
        for what, unit, figure in _FIGURES:
            found = {n: None if w is None else figure(w, period) for n, w in waits.items()}
            yield PaperRow(
                table,
                f"{axis}, every {period:g} s: {what}",
                unit,
                None,
                found.pop("ours"),
                found,
                why,
            )
    rates: dict[str, float | None] = {
        name: None if run is None else 1000 * len(run) / sum(p.cpu for p in run)
        for name, run in {"ours": ours, **others}.items()
    }
    yield PaperRow(table, f"{axis}: sustained", "points/s", None, rates.pop("ours"), rates, why)


_FIGURES: Final[tuple[tuple[str, str, Callable[[list[float], float], float]], ...]] = (
    ("total time", "s", lambda waits, period: (len(waits) - 1) * period + waits[-1]),
    ("latency, mean", "ms", lambda waits, period: 1000 * mean(waits)),
    ("latency, 99 %", "ms", lambda waits, period: 1000 * sorted(waits)[int(0.99 * len(waits))]),
)


PAPER = Paper(
    "rules",
    "F. Calimeri, M. Manna, E. Mastria, M. C. Morelli, S. Perri, J. Zangari: I-DLV-sr: A Stream "
    "Reasoning System based on I-DLV. TPLP 21(5), 2021. doi:10.48550/arXiv.2108.02797",
    ("clingo", "clingo-once"),
    redo_experiments,
)
