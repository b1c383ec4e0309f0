"""Redo the experiments on knowledge discovery in ontology streams (InKD; Lécué 2015)."""

from __future__ import annotations

import gzip
import json
import math
import subprocess
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from time import process_time
from typing import Any, Final

from shiq.errors import InputError, OperationalError
from shiq.jobs.evaluation.evaluate.settings import PaperSettings
from shiq.jobs.evaluation.papers.page import (
    PLOT_ONLY,
    NotMeasured,
    Paper,
    PaperRow,
    ReportActivity,
)
from shiq.jobs.evaluation.peers import miners
from shiq.jobs.evaluation.peers.install import MINERS, environment_python
from shiq.jobs.evaluation.streams.dublin import RATES, DublinRecipe, generate_city
from shiq.streams.discovery import RuleMiner
from shiq.streams.discovery.atomsets import ROOT_VARIABLE, atoms_to_text
from shiq.streams.discovery.ground_rules import mine_ground_rules

_LIMITS: Final[dict[str, Any]] = {"max_atoms": 2, "max_variables": 2}
#: A ground language has a rule for each road: so many roads and body atoms are what miners stand.
_GROUND_ROADS, _GROUND_ATOMS = 4, 2
_CITY: Final = (
    "Ours: a generated city (the paper's data and mapping are not published), CPU seconds from one "
    "report to the next, bodies of two atoms."
)
#: Table 3: support and confidence.
CONFIGURATIONS: Final = {
    f"c{4 * row + column + 1}": (support, confidence)
    for row, support in enumerate((0.4, 0.8))
    for column, confidence in enumerate((0.2, 0.4, 0.6, 0.8))
}


def make_miner(
    city: Path, slide: int, window: int, tbox: str = "tbox.ofn", **options: Any
) -> RuleMiner:
    """Make a miner for the streams of a generated city, whose files are in the folder ``city``.
    ``window``, ``slide``: snapshots of a window and of each step; ``tbox``: name of the ontology
    file there.
    """
    return RuleMiner(
        city / tbox,
        static=city / "static.nt.gz",
        window=window,
        slide=slide,
        **{**_LIMITS, **options},
    )


def mine_slides(miner: RuleMiner, city: Path, count: int) -> Iterator[tuple[float, dict[str, Any]]]:
    """Mine rules from the first window of a city's streams and from the ``count`` windows after it,
    each one slide later. Yields CPU seconds and the JSON report of each window.
    """
    reports = miner.run([city / f"{name}.jsonl.gz" for name in RATES])
    for _ in range(count + 1):
        begun = process_time()
        report = next(reports)
        yield process_time() - begun, report.to_dict()


def rule_texts(report: Mapping[str, Any]) -> frozenset[str]:
    """Rules of a window's JSON report as texts, without support and confidence."""
    return frozenset(json.dumps([rule["body"], rule["head"]]) for rule in report["rules"])


def generalise_individuals(rules: Iterable[str]) -> frozenset[str]:
    """Replace the only individual of each ground rule by a variable; rules about several
    individuals are left out.

    >>> [*generalise_individuals(['[[["C", "r1"]], [["D", "r1"]]]', '[[["C", "r1"]], [["D", "r2"]]]'])]
    ['[[["C", "?x0"]], [["D", "?x0"]]]']
    """
    found = set()
    for rule in rules:
        body, head = json.loads(rule)
        if all(len(atom) == 2 and atom[1] == head[0][1] for atom in body):
            found.add(
                json.dumps(
                    [[[name, ROOT_VARIABLE] for name, _ in body], [[head[0][0], ROOT_VARIABLE]]]
                )
            )
    return frozenset(found)


def accuracy(found: Collection[str], expected: Collection[str]) -> float:
    """Share of the rules of either set that both sets contain (Jaccard index).

    >>> accuracy({"a", "b"}, {"b", "c"})
    0.3333333333333333
    """
    either = {*found, *expected}
    return len({*found} & {*expected}) / len(either) if either else 1.0


def _read_rules_by_window(file: Path) -> dict[tuple[int, ...], frozenset[str]]:
    """Read a file that `shiq stream discover --out` wrote; return the rules of each window as
    texts. Raises: InputError.
    """
    found, number = {}, 0
    try:
        with file.open(encoding="utf-8") as lines:
            for line in lines:
                number += 1
                report = json.loads(line)
                found[tuple(report["window"])] = rule_texts(report)
    except (OSError, ValueError, KeyError, TypeError) as error:
        where = f"{file}:{number}" if number else str(file)
        raise InputError(
            f"{where}: {type(error).__name__}: {error}",
            "Name files that `shiq stream discover --out` wrote.",
        ) from error
    return found


def _compare_by_window(
    first: Mapping[tuple[int, ...], frozenset[str]],
    second: Mapping[tuple[int, ...], frozenset[str]],
) -> Iterator[PaperRow]:
    """Compare the rules that two runs of the miner found, window by window; yield rows of the page
    with their accuracy and numbers.
    """
    for window in sorted({*first, *second}):
        axis = f"window {'–'.join(map(str, window))}"
        if window not in first or window not in second:
            which = "second" if window in first else "first"
            yield PaperRow("Two runs", axis, "", why=f"The {which} run does not have this window.")
            continue
        a, b = first[window], second[window]
        why = "Ours: rules that both runs have, of those of either."
        yield PaperRow("Two runs", f"{axis}: accuracy", "", None, round(accuracy(a, b), 4), why=why)
        why = "Ours: of the first run."
        counts = {"second run": len(b), "both": len(a & b)}
        yield PaperRow("Two runs", f"{axis}: rules", "", None, len(a), counts, why)


def rarity_sets(window: int) -> dict[str, frozenset[int]]:
    """The paper's sets E1 … E6: numbers of snapshots of a window in which an assertion may hold and
    still count as rare.

    >>> {name: (min(e), max(e)) for name, e in rarity_sets(9).items()}
    {'E1': (1, 5), 'E2': (6, 9), 'E3': (1, 9), 'E4': (1, 3), 'E5': (4, 6), 'E6': (7, 9)}
    """
    half, third, more = math.ceil(window / 2), math.ceil(window / 3), math.ceil(2 * window / 3)
    ends = {
        "E1": (1, half),
        "E2": (half + 1, window),
        "E3": (1, window),
        "E4": (1, third),
        "E5": (third + 1, more),
        "E6": (more + 1, window),
    }
    return {name: frozenset(range(low, high + 1)) for name, (low, high) in ends.items()}


class _MinedCity:
    """Generated city, from whose streams rules are mined with several settings; each result is
    kept, so that it is mined once.
    """

    def __init__(self, settings: PaperSettings, folder: Path) -> None:
        self.folder, self.seed = folder, settings.seed
        self.roads = settings.experiment_size(12, 300, 4)
        sizes = (
            settings.experiment_size(w, full, 9)
            for w, full in ((100, 100), (250, 500), (500, 1000))
        )
        self.windows = sorted({*sizes})
        self._known: dict[tuple[Any, ...], tuple[float, frozenset[str], float]] = {}
        generate_city(DublinRecipe(self.roads, 3 * max(self.windows), settings.seed), folder)

    def mine_slide(
        self, window: int, share: float, **options: Any
    ) -> tuple[float, frozenset[str], float]:
        """Mine a window of the city's streams and the next one, which begins ``share`` of a window
        later. Returns of the second: CPU seconds, rules as texts, and its similarity to the first.
        """
        asked = (window, share, *sorted(options.items()))
        if asked not in self._known:
            miner = make_miner(self.folder, max(1, round(window * share)), window, **options)
            *_, (spent, report) = mine_slides(miner, self.folder, 1)
            self._known[asked] = spent, rule_texts(report), report["similarity"] or 0.0
        return self._known[asked]

    def write_bare_ontology(self) -> str:
        """Write the city's ontology without axioms, so that rules are mined from assertions alone;
        return its file name.
        """
        lines = (self.folder / "tbox.ofn").read_text(encoding="utf-8").splitlines()
        kept = [line for line in lines if line.startswith(("Prefix(", "Ontology(", "Declaration("))]
        (self.folder / "names.ofn").write_text("\n".join([*kept, ")", ""]), encoding="utf-8")
        return "names.ofn"


def redo_experiments(settings: PaperSettings, say: ReportActivity) -> Iterator[PaperRow]:
    """Yield the rows of Table 2 and Fig. 5 to 8, or with --accuracy only those that compare two
    runs.
    """
    if settings.accuracy:
        yield from _compare_by_window(*map(_read_rules_by_window, settings.accuracy))
        return
    with tempfile.TemporaryDirectory() as folder:
        city = _MinedCity(settings, Path(folder) / "city")
        yield from _update_rows(city)
        for window in city.windows:
            say(f"windows of {window}")
            yield from _scalability_rows(city, window)
        say("similarity and rarity")
        yield from _similarity_and_rarity_rows(city)
        yield from _window_size_rows(city)
        say("accuracy")
        yield from _threshold_rows(city)
        say("ground rules")
        yield from _ground_language_rows(settings, Path(folder) / "small")


def _update_rows(city: _MinedCity) -> Iterator[PaperRow]:
    """Rows of Table 2: time between updates, and axioms of an update, by stream."""
    published = {
        "weather": (300, 53),
        "travel": (60, 270),
        "incidents": (600, 81),
        "events": (6_000, 480),
        "buses": (40, 3_000),
    }
    why = f"Sizes grow with the roads: {city.roads} here, 300 for the paper's."
    for name, (every, axioms) in published.items():
        with gzip.open(city.folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
            sizes = [len(json.loads(line)["triples"]) for line in islice(file, 200)]
        yield PaperRow("Table 2", f"{name}: seconds between updates", "", every, RATES[name][0])
        mean = round(sum(sizes) / len(sizes), 1)
        yield PaperRow("Table 2", f"{name}: axioms of an update", "", axioms, mean, why=why)


def _scalability_rows(city: _MinedCity, window: int) -> Iterator[PaperRow]:
    """Rows of Fig. 5: CPU seconds to mine the next window by method (exact, InKD, from scratch),
    and numbers of rules found.
    """
    for k, share in (("1/3", 1 / 3), ("2/3", 2 / 3), ("1", 1.0)):
        exact, expected, _ = city.mine_slide(window, share)
        inkd, found, _ = city.mine_slide(
            window, share, method="inkd", eps=rarity_sets(window)["E1"]
        )
        scratch, baseline, _ = city.mine_slide(window, share, method="scratch")
        times = {"inkd (A3)": inkd, "scratch (L15)": scratch}
        axis = f"|w| {window}, k {k}"
        why = f"{PLOT_ONLY} {_CITY} Ours is the exact miner."
        yield PaperRow("Fig. 5", axis, "s", None, exact, times, why)
        why = "Not in the paper: rules of the second window. Exact and scratch must find the same."
        if expected != baseline:
            why += " They do not."
        counts = {"inkd (A3)": len(found), "scratch (L15)": len(baseline)}
        yield PaperRow("Fig. 5", f"{axis}: rules", "", None, len(expected), counts, why)


def _similarity_and_rarity_rows(city: _MinedCity) -> Iterator[PaperRow]:
    """Rows of Fig. 6 (time) and Fig. 8 (accuracy), by similarity threshold and rarity."""
    window = city.windows[-1]
    sets = rarity_sets(window)
    exact, expected, similarity = city.mine_slide(window, 1 / 3)
    yield PaperRow(
        "Fig. 6",
        "similarity of the slide",
        "",
        None,
        round(similarity, 4),
        why="Not in the paper: A3 acts where this is below Φ, else it keeps the rules it has.",
    )
    for shown, bound in (("1/3", 1 / 3), ("2/3", 2 / 3), ("1", 1.0)):
        for name in ("E1", "E2", "E3"):
            spent, _, _ = city.mine_slide(
                window, 1 / 3, method="inkd", eps=sets[name], max_similarity=bound
            )
            why = f"{PLOT_ONLY} {_CITY} Ours is A3 (inkd); beside it the exact miner."
            yield PaperRow("Fig. 6", f"Φ {shown}, {name}", "s", None, spent, {"exact": exact}, why)
    published = {"E1": 0.89, "E3": 0.93}
    for name, eps in sets.items():
        for gate in ("printed", "off"):
            _, found, _ = city.mine_slide(window, 1 / 3, method="inkd", eps=eps, gate=gate)
            why = "" if name in published else f"{PLOT_ONLY} "
            yield PaperRow(
                "Fig. 8",
                f"{name}, gate {gate}",
                "",
                published.get(name) if gate == "printed" else None,
                round(accuracy(found, expected), 4),
                why=f"{why}Ours: rules that A3 and the exact miner share, of those of either; other "
                "data. With the gate off A3 acts on every slide.",
            )


def _window_size_rows(city: _MinedCity) -> Iterator[PaperRow]:
    """Rows of Fig. 8 for smaller windows: accuracy by window size and rarity."""
    for window in city.windows[:-1]:
        _, expected, _ = city.mine_slide(window, 1 / 3)
        for name, eps in rarity_sets(window).items():
            _, found, _ = city.mine_slide(window, 1 / 3, method="inkd", eps=eps, gate="off")
            share = round(accuracy(found, expected), 4)
            why = "Not in the paper, whose window is 1000: accuracy by window size and rarity."
            yield PaperRow("Fig. 8", f"|w| {window}, {name}, gate off", "", None, share, why=why)


def _threshold_rows(city: _MinedCity) -> Iterator[PaperRow]:
    """Rows of Fig. 7: accuracy by minimal support and confidence."""
    window, names = city.windows[-1], city.write_bare_ontology()
    for name, (support, confidence) in CONFIGURATIONS.items():
        bounds = {"min_support": support, "min_confidence": confidence}
        _, expected, _ = city.mine_slide(window, 1 / 3, **bounds)
        _, found, _ = city.mine_slide(
            window, 1 / 3, method="inkd", eps=rarity_sets(window)["E1"], **bounds
        )
        _, syntactic, _ = city.mine_slide(window, 1 / 3, tbox=names, **bounds)
        many = {"max_atoms": 1, "max_rules": 1_000_000}
        _, ground, _ = city.mine_slide(window, 1 / 3, language="ground", **{**bounds, **many})
        others: dict[str, float | None] = {
            "assertions alone (L03-like)": round(accuracy(syntactic, expected), 4),
            "ground, lifted (G11-like)": round(
                accuracy(generalise_individuals(ground), expected), 4
            ),
        }
        yield PaperRow(
            "Fig. 7",
            f"{name} (support {support}, confidence {confidence})",
            "",
            None,
            round(accuracy(found, expected), 4),
            others,
            f"{PLOT_ONLY} In words: up to 0.91. How the rules of L03 and G11 were lifted is not "
            "told. Ours: rules mined of what is asserted, without the ontology; ground rules of "
            "one body atom about one individual, which becomes a variable.",
        )


def _ground_language_rows(settings: PaperSettings, folder: Path) -> Iterator[PaperRow]:
    """Rows that compare mining in the ground language (rules without variables, as the systems G11
    and L03 have) with itemset miners.
    """
    window = settings.experiment_size(500, 1000, 9)
    generate_city(DublinRecipe(_GROUND_ROADS, window + window // 3, settings.seed), folder)
    miner = make_miner(folder, window // 3, window, language="ground", max_atoms=1)
    list(mine_slides(miner, folder, 1))
    ours, mined = time_ground_mining(miner, _GROUND_ATOMS, window)
    others: dict[str, float | None] = dict.fromkeys(PEERS)
    why = f"{PLOT_ONLY} Ours: the ground language, {_GROUND_ROADS} roads, mining alone."
    if set(settings.peers) & set(PEERS):
        try:
            others |= time_itemset_miners(miner, _GROUND_ATOMS, window)
        except NotMeasured as reason:
            why += f" {reason}"
    else:
        why += " mlxtend and pyfim were not asked for (--peers)."
    yield PaperRow("Fig. 5", f"ground itemsets, |w| {window}", "s", None, ours, others, why)
    why = "Not in the paper: rules of the ground language."
    yield PaperRow("Fig. 5", f"ground itemsets, |w| {window}: rules", "", None, mined, {}, why)


def time_ground_mining(miner: RuleMiner, atoms: int, window: int) -> tuple[float, int]:
    """Mine rules without variables from the miner's last ``window`` snapshots; return CPU seconds
    and number of rules. ``atoms``: maximal number of atoms in a body.
    """
    limits = replace(miner.settings.limits, max_atoms=atoms, max_rules=10_000_000)
    begun = process_time()
    mined = mine_ground_rules(miner.windows.columns, miner.windows.theory, limits, window)
    return process_time() - begun, len(mined.table)


#: Itemset miners that `make peers` installs.
PEERS: Final = ("mlxtend", "pyfim")


def time_itemset_miners(miner: RuleMiner, atoms: int, window: int) -> dict[str, float]:
    """Mine the entailed class assertions of the last ``window`` snapshots by other programs, which
    mine frequent itemsets; return the CPU seconds of each. Raises: NotMeasured.
    """
    try:
        program = environment_python(MINERS)
    except OperationalError as error:
        raise NotMeasured(f"{error.message}: {error.remedy}") from None
    windows, last = miner.windows, miner.windows.last_window_end()
    assert last is not None
    names = set(windows.theory.classes)
    entailed = (
        windows.snapshots.entailed_atoms(index) or ()
        for index in range(last - window + 1, last + 1)
    )
    transactions = [
        [atoms_to_text([atom]) for atom in atoms if len(atom) == 2 and atom[0] in names]
        for atoms in entailed
    ]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(transactions, file)
        file.flush()
        settings = miner.settings
        shares = (str(settings.min_support), str(settings.min_confidence), str(atoms))
        call = [str(program), "-W", "ignore", str(miners.__file__), file.name, *shares]
        done = subprocess.run(call, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotMeasured(f"The itemset miners ended with {done.returncode}: {done.stderr[-300:]}")
    return json.loads(done.stdout)


PAPER = Paper(
    "discovery",
    "F. Lécué: Scalable Maintenance of Knowledge Discovery in an Ontology Stream. IJCAI 2015",
    PEERS,
    redo_experiments,
)
