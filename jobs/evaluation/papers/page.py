"""Page of a redone paper: the paper's figures beside those of shiq and of other systems, as JSON,
HTML and Markdown.

>>> from shiq.jobs.reports.write import schema_problems
>>> row = PaperRow("Fig. 1", "LUBM-1", "s", paper=None, ours=1.5, why="the plot has no numbers")
>>> schema_problems({"schema_version": 1, "paper": "x", "machine": {}, "versions": {}, "seed": 1,
...     "commit": "", "rows": [asdict(row)]}, SCHEMA)
[]
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from shiq.errors import UsageError
from shiq.jobs.evaluation.evaluate.plots import Bar, BarGroup, Plot, lay_out_bars
from shiq.jobs.evaluation.evaluate.settings import PaperSettings
from shiq.jobs.evaluation.harness import Progress, Save, current_commit, make_checked_document
from shiq.jobs.evaluation.peers.install import PACKAGES
from shiq.jobs.pages import render
from shiq.jobs.repro import package_versions
from shiq.reasoner.external import INCOMPLETE, PEERS

#: Version of the JSON form; it changes when a field changes its meaning or goes.
SCHEMA_VERSION = 1
#: Units of what a clock measured: other units count, and are the same for the same seed.
MEASURED = ("s", "ms", "µs", "×", "tuples/min", "points/s", "MiB")
#: Why a number of the paper is missing, where the paper has a plot without numbers.
PLOT_ONLY = "The paper shows this in a plot; its text has no numbers."

#: Called with what is being done.
ReportActivity = Callable[[str], None]


class NotMeasured(Exception):
    """Error: a figure cannot be measured, since a system is absent, crashed or reached the time
    limit.
    """


@dataclass(frozen=True)
class PaperRow:
    """One figure of a paper, measured again: the paper's number beside those of shiq and of other
    systems.

    table: the table or figure of the paper
    axis: the row or point within it
    unit: of all numbers
    paper, ours, peers: numbers of the paper, of shiq and of other systems; None if there is none
    why: what differs, and why
    """

    table: str
    axis: str
    unit: str
    paper: float | None = None
    ours: float | None = None
    peers: Mapping[str, float | None] = field(default_factory=dict)
    why: str = ""


@dataclass(frozen=True)
class Paper:
    """Paper with the function that redoes its experiments.

    citation: authors, title, venue, year, DOI
    peers: names of the systems that can be compared
    """

    name: str
    citation: str
    peers: tuple[str, ...]
    redo_experiments: Callable[[PaperSettings, ReportActivity], Iterator[PaperRow]]


def evaluate_paper(paper: Paper, settings: PaperSettings, say: ReportActivity) -> dict[str, Any]:
    """Redo the experiments of a paper and return the page as a JSON document.

    Raises: UsageError for a system that the paper's experiments do not know.
    """
    unknown = [name for name in settings.peers if name not in paper.peers]
    if unknown:
        known = ", ".join(paper.peers) or "none"
        raise UsageError(f"{paper.name} has no peer {unknown[0]!r}", f"Known: {known}.")
    began, rows = time.time(), list[dict[str, Any]]()
    for row in paper.redo_experiments(settings, say):
        rows.append(asdict(row))
        say(f"{row.table}, {row.axis}")
    return make_checked_document(
        SCHEMA,
        SCHEMA_VERSION,
        began,
        paper=paper.name,
        citation=paper.citation,
        versions=package_versions("numpy", "pyarrow", "clingo"),
        seed=settings.seed,
        commit=current_commit(),
        size="full" if settings.full else settings.size,
        peers=list(settings.peers),
        data="generated"
        if settings.data is None
        else "the user's copy where there is one (--data)",
        rows=rows,
    )


def measure_paper(
    paper: Paper, settings: PaperSettings, progress: Progress, save: Save
) -> dict[str, Any]:
    """Redo the experiments of a paper by `evaluate_paper`; takes the arguments with which `Harness`
    calls every evaluation.
    """
    return evaluate_paper(paper, settings, lambda what: progress(what, 0, 0))


_NUMBER = {"type": ["number", "null"]}
#: The JSON Schema of a page.
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["schema_version", "paper", "machine", "versions", "seed", "commit", "rows"],
    "properties": {
        "schema_version": {"const": SCHEMA_VERSION},
        "paper": {"type": "string"},
        "machine": {"type": "object"},
        "versions": {"type": "object"},
        "seed": {"type": "integer"},
        "commit": {"type": "string"},
        "rows": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["table", "axis", "unit", "paper", "ours", "peers", "why"],
                "properties": {
                    **{name: {"type": "string"} for name in ("table", "axis", "unit", "why")},
                    "paper": _NUMBER,
                    "ours": _NUMBER,
                    "peers": {"type": "object", "additionalProperties": _NUMBER},
                },
                # A number that is missing has a reason.
                "if": {
                    "anyOf": [
                        {"properties": {"paper": {"type": "null"}}},
                        {"properties": {"ours": {"type": "null"}}},
                    ]
                },
                "then": {"properties": {"why": {"minLength": 1}}},
            },
        },
    },
}


# --- tables ---------------------------------------------------------------------------------------


def format_number(value: float | None) -> str:
    """Format a number for readers, with three significant digits; "–" if there is none.

    >>> [format_number(v) for v in (None, 12345, 12345.6, 2.345, 0.01234)]
    ['–', '12,345', '12,346', '2.35', '0.0123']
    """
    if value is None:
        return "–"
    if isinstance(value, int) or abs(value) >= 100 or value == 0:
        return f"{value:,.0f}"
    return f"{value:.3g}"


@dataclass(frozen=True)
class PaperTable:
    """Table of the page, for one table or figure of the paper; its cells are texts.

    notes: what differs from the paper and why, each once
    """

    title: str
    peers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    plot: Plot | None = None

    @property
    def column_titles(self) -> tuple[str, ...]:
        """Titles of the columns."""
        return ("", "unit", "paper", "ours", *self.peers, "note")


def make_tables(page: Mapping[str, Any]) -> list[PaperTable]:
    """Make the tables of a page from its rows: one for each table or figure of the paper."""
    groups: dict[str, list[PaperRow]] = {}
    for values in page["rows"]:
        row = PaperRow(**values)
        groups.setdefault(row.table, []).append(row)
    found = []
    for title, rows in groups.items():
        peers = tuple(dict.fromkeys(name for row in rows for name in row.peers))
        notes = tuple(dict.fromkeys(row.why for row in rows if row.why))
        cells = tuple(
            (
                row.axis,
                row.unit,
                format_number(row.paper),
                format_number(row.ours),
                *(format_number(row.peers.get(name)) for name in peers),
                str(notes.index(row.why) + 1) if row.why else "",
            )
            for row in rows
        )
        found.append(PaperTable(title, peers, cells, notes, _plot_rows(title, rows)))
    return found


def _plot_rows(title: str, rows: Sequence[PaperRow]) -> Plot | None:
    """Bar plot of the rows with the most frequent unit, with bars for paper, shiq and other
    systems; None without values.
    """
    units = [row.unit for row in rows]
    unit = max(dict.fromkeys(units), key=units.count)
    groups = []
    for row in rows:
        given = {"paper": row.paper, "ours": row.ours, **row.peers}
        shown = tuple(
            Bar(name, value, format_number(value), place)
            for place, (name, value) in enumerate(given.items())
            if value is not None and value > 0 and row.unit == unit
        )
        groups.append(BarGroup(row.axis, shown))
    return lay_out_bars(groups, unit=unit, title=title, logarithmic=True)


def page_facts(page: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Facts for the head of a page, as pairs (name, text): citation, machine, versions, date, size,
    data.
    """
    host, size = page["machine"], page["size"]
    return [
        ("paper", page["citation"]),
        (
            "machine",
            f"{host['processor']}, {host['cores']} cores, {host['memory_mb']:,} MiB, load {host['load']}",
        ),
        ("versions", ", ".join(f"{name} {value}" for name, value in page["versions"].items())),
        ("made", f"{page['made']}, commit {page['commit'] or 'unknown'}, seed {page['seed']}"),
        ("size", "the paper's" if size == "full" else f"{size:g} of the default"),
        ("data", page["data"]),
        ("peers", ", ".join(map(_peer_title, page["peers"])) or "none asked for (--peers)"),
    ]


def _peer_title(peer: str) -> str:
    """Title of a compared system, with its version if shiq requires a certain one."""
    known = PEERS | INCOMPLETE
    pinned = {words.partition("==")[0]: words for names in PACKAGES.values() for words in names}
    return known[peer].title if peer in known else pinned.get(peer, peer).replace("==", " ")


def page_to_markdown(page: Mapping[str, Any]) -> str:
    """Render a page as Markdown."""
    lines = [f"# shiq evaluate {page['paper']}", ""]
    lines += [f"* {name}: {value}" for name, value in page_facts(page)]
    for table in make_tables(page):
        lines += [
            "",
            f"## {table.title}",
            "",
            _markdown_row(table.column_titles),
            "|---" * len(table.column_titles) + "|",
        ]
        lines += [_markdown_row(cells) for cells in table.rows]
        lines += ["", *(f"{place}. {note}" for place, note in enumerate(table.notes, 1))]
    return "\n".join(lines).rstrip() + "\n"


def _markdown_row(cells: Sequence[str]) -> str:
    """Row of a Markdown table."""
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def page_to_html(page: Mapping[str, Any]) -> str:
    """Render a page as HTML."""
    return render(
        "evaluation/paper.html",
        name=page["paper"],
        facts=page_facts(page),
        tables=make_tables(page),
    )


# --- arithmetic of the experiments ------------------------------------------------------------------


def compute_latencies(service: Sequence[float], period: float) -> list[float]:
    """Compute how many seconds after its arrival each time point is answered, if one arrives every
    ``period`` seconds.

    service: the seconds that each point takes; a point waits until those before it are done.

    >>> compute_latencies([1.0, 1.0, 1.0], 0.5), compute_latencies([1.0, 1.0, 1.0], 2)
    ([1.0, 1.5, 2.0], [1.0, 1.0, 1.0])
    """
    found, free = list[float](), 0.0
    for place, spent in enumerate(service):
        free = max(free, place * period) + spent
        found.append(free - place * period)
    return found


def find_sustained_rate(process: Callable[[int], object], seconds: float) -> float:
    """Find the highest rate, in stream tuples a second, that ``process`` keeps up with on one core.

    process: processes this number of tuples.
    Each rate is tried for ``seconds`` of CPU time, in twenty batches. It is sustained if the tuples
    that arrive in these seconds are processed in them.
    """
    process(500)
    low, high = 0.0, 1_000.0
    while high < 1e9 and _keeps_up(process, high, seconds):
        low, high = high, 2 * high
    for _ in range(5):
        rate = (low + high) / 2
        low, high = (rate, high) if _keeps_up(process, rate, seconds) else (low, rate)
    return low


def _keeps_up(process: Callable[[int], object], rate: float, seconds: float) -> bool:
    """Whether ``process`` handles the tuples that arrive in ``seconds`` at this rate within as many
    seconds of CPU time.
    """
    begun = time.process_time()
    for _ in range(20):
        process(max(1, round(rate * seconds / 20)))
        if time.process_time() - begun > seconds:
            return False
    return True
