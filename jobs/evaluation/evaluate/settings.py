"""Settings of an evaluation: benchmark data or a paper, size, and reasoners to compare with."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from shiq.abox_ops.engine import CRITERIA, MODEL
from shiq.errors import UsageError
from shiq.jobs.checking.options import AUTO, ENGINES, require_known
from shiq.jobs.option_fields import Takes, option
from shiq.reasoner.external import PEERS
from shiq.reasoner.protocol import check_heap

FAMILIES = ("lubm", "uobm", "npd")
PAPERS = ("incremental", "streams", "enrichment", "discovery", "rules")
#: Engines that are evaluated unless others are named.
DEFAULT_ENGINES = ("local", "spark")


@dataclass(frozen=True, kw_only=True)
class EvaluationSettings:
    """Settings that evaluations of benchmark data and of papers share.

    limit: seconds for a run
    heap: memory of another reasoner's JVM
    """

    data: Path | None = option(
        None,
        "Your copy of the data; else it is generated (not NPD).",
        takes=Takes.INPUT_PATH,
        metavar="DIR",
    )
    peers: tuple[str, ...] = option(
        (),
        "Systems to run beside: pellet, openllet, hermit, konclude; those of a paper are others.",
        takes=Takes.WORDS,
        metavar="P,…",
    )
    seed: int = option(1, "Of batches and generated data.", minimum=0)
    limit: float = option(
        300.0, "Seconds for one run.", takes=Takes.TIME, minimum=1, metavar="TIME"
    )
    heap: str = option("4g", "Memory for a JVM, as 512m or 4g.", metavar="SIZE")


@dataclass(frozen=True)
class BenchmarkSettings(EvaluationSettings):
    """Settings of an evaluation of benchmark data (LUBM, UOBM, NPD)."""

    family: str
    universities: tuple[int, ...] = option(
        (1,),
        "Sizes of LUBM and UOBM.",
        flags=("--universities", "-n"),
        takes=Takes.NUMBERS,
        metavar="N[,N…]",
    )
    criteria: tuple[str, ...] = option(
        (AUTO, "clausal", "definition7", "none"), "", takes=Takes.WORDS, metavar="C,…"
    )
    engines: tuple[str, ...] = option(
        (), "Default: local, spark.", takes=Takes.WORDS, metavar="E,…"
    )
    variants: tuple[str, ...] = option(
        (),
        "Only data sets with this in their names; repeatable.",
        flags=("--variant",),
        is_repeatable=True,
        metavar="PATTERN",
    )
    batches: tuple[str, ...] = option(
        (),
        "Only batches with this in their names; repeatable.",
        flags=("--batch",),
        is_repeatable=True,
        metavar="PATTERN",
    )
    reasoner: str = "auto"
    slices: int = option(2, "Twentieths of the data to hold out.", minimum=0, maximum=20)
    work: Path | None = option(
        None, "Keep intermediate files there.", takes=Takes.OUTPUT_FOLDER, metavar="DIR"
    )

    def __post_init__(self) -> None:
        for given, known, what in (
            ((self.family,), FAMILIES, "data set"),
            (self.criteria, (AUTO, MODEL, *CRITERIA), "criterion"),
            (self.peers, PEERS, "peer"),
            (self.engines, ENGINES, "engine"),
        ):
            for name in given:
                require_known(name, known, what)
        if not self.universities or min(self.universities) < 1:
            raise UsageError("universities are numbers from 1", "Write 1, or 1,5.")
        for pattern in (*self.variants, *self.batches):
            try:
                re.compile(pattern)
            except re.error as error:
                raise UsageError(
                    f"not a regular expression: {pattern!r} ({error})", "Write a part of a name."
                ) from None
        check_heap(self.heap)


@dataclass(frozen=True)
class PaperSettings(EvaluationSettings):
    """Settings for redoing the experiments of a paper."""

    full: bool = option(False, "Of a paper: its own sizes, which may take hours.")
    size: float = option(
        1.0,
        "Of a paper: scale of the experiments; 1 takes up to ten minutes.",
        takes=Takes.POSITIVE,
    )
    reasoner: str = option(
        "own",
        "Of incremental: checks what the published method keeps.",
        choices=("own", "hermit", "pellet"),
    )
    repeats: int = option(
        1, "Of incremental: check each batch so often; the fastest counts.", minimum=1, maximum=20
    )
    accuracy: tuple[Path, ...] = option(
        (),
        "Of discovery, twice: compare the rules that two runs of `shiq stream discover` wrote, window by window.",
        takes=Takes.INPUT_PATH,
        is_repeatable=True,
        metavar="FILE",
    )

    def __post_init__(self) -> None:
        if len(self.accuracy) not in (0, 2):
            raise UsageError("--accuracy compares two files", "Give it twice.")

    def experiment_size(self, usual: float, full: float, minimum: int = 1) -> int:
        """Size of an experiment: the paper's (``full``) with --full, else ``usual`` times --size,
        at least ``minimum``.

        >>> quick, whole = PaperSettings(size=0.5), PaperSettings(full=True)
        >>> quick.experiment_size(100, 1000), whole.experiment_size(100, 1000)
        (50, 1000)
        """
        return int(full) if self.full else max(minimum, round(usual * self.size))

    def data_folder(self, name: str) -> Path | None:
        """Folder of the user's copy of the data set ``name``; None if there is none."""
        if self.data is None:
            return None
        return next((f for f in (self.data / name, self.data) if f.is_dir()), None)
