"""What an evaluation is asked for: data, criteria, engines, reasoners, batches."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shiq.abox_ops.engine import CRITERIA, MODEL
from shiq.api import ENGINES
from shiq.errors import UsageError
from shiq.jobs.checking.options import AUTO, check_known
from shiq.jobs.evaluation.evaluate import data
from shiq.reasoner.external import PEERS
from shiq.reasoner.protocol import check_heap

#: Engines that are evaluated unless others are named, as far as they exist.
DEFAULT_ENGINES = ("local", "spark")


@dataclass(frozen=True)
class Settings:
    """What to evaluate. ``limit``: seconds for a run; ``heap``: of a peer's JVM; ``slices``: how
    many of the data's own slices; ``variants``, ``batches``: regular expressions, found in the
    names of data sets and batches that count; () for all.
    """

    family: str
    universities: tuple[int, ...] = (1,)
    data: Path | None = None
    peers: tuple[str, ...] = ()
    criteria: tuple[str, ...] = (AUTO, "clausal", "definition7", "none")
    engines: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    batches: tuple[str, ...] = ()
    reasoner: str = "auto"
    seed: int = 1
    slices: int = 2
    limit: float = 300.0
    heap: str = "4g"
    work: Path | None = None

    def __post_init__(self) -> None:
        for given, known, what in (
            ((self.family,), data.FAMILIES, "data set"),
            (self.criteria, (AUTO, MODEL, *CRITERIA), "criterion"),
            (self.peers, PEERS, "peer"),
            (self.engines, ENGINES, "engine"),
        ):
            for name in given:
                check_known(name, known, what)
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

    @property
    def used_engines(self) -> tuple[str, ...]:
        return self.engines or tuple(name for name in DEFAULT_ENGINES if name in ENGINES)


def settings_of(options: Mapping[str, Any]) -> Settings:
    """Settings from the command line's options, whose lists are words with commas between them.
    Raises UsageError.
    """
    values = dict(options)
    for name in ("peers", "criteria", "engines"):
        values[name] = tuple(word.strip() for word in values[name].split(",") if word.strip())
    try:
        values["universities"] = tuple(int(word) for word in values["universities"].split(","))
    except ValueError:
        raise UsageError(
            f"not numbers of universities: {values['universities']!r}", "Write 1, or 1,5."
        ) from None
    return Settings(**values)
