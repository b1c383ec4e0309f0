"""Cache reasoners, clauses and open stores in a worker process, from task to task.

In workers of Spark each task also costs imports, unless `skip_repeated_imports` avoids them.
"""

from __future__ import annotations

import atexit
import gc
import sys
import zipimport
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar

from shiq.reasoner import create_reasoner
from shiq.reasoner.protocol import Reasoner

V = TypeVar("V")

#: How many values of each kind a worker keeps.
MOST_CACHED = 2
_cache: dict[str, OrderedDict[Hashable, Any]] = {}


def cached_value(
    kind: str, key: Hashable, make: Callable[[], V], drop: Callable[[V], None] = lambda value: None
) -> V:
    """Look up the value of ``kind`` for ``key`` in this worker's cache, or make it. Beyond the
    cache's limit the least recently used value is dropped.
    """
    values = _cache.setdefault(kind, OrderedDict())
    if key not in values:
        while len(values) >= MOST_CACHED:
            drop(values.popitem(last=False)[1])
        values[key] = make()
    values.move_to_end(key)
    return values[key]


@dataclass(frozen=True)
class ReasonerSettings:
    """Settings by which workers create a reasoner: its name and its limits.

    seconds: time left for each task; None for no limit
    audit: share of the shapes that go to the driver for a second decision
        (`shiq.abox_ops.modules.decide`)
    """

    reasoner: str
    heap: str
    seconds: float | None
    audit: float = 0.0


def worker_reasoner(asking: ReasonerSettings) -> Reasoner:
    """This worker's reasoner for these settings, started on first use."""
    return cached_value(
        "reasoner",
        (asking.reasoner, asking.heap),
        lambda: _create_reasoner(asking),
        lambda r: r.close(),
    )


def _create_reasoner(asking: ReasonerSettings) -> Reasoner:
    """Create a reasoner that is closed when the worker ends."""
    reasoner = create_reasoner(asking.reasoner, heap=asking.heap)
    atexit.register(reasoner.close)
    return reasoner


def skip_repeated_imports() -> None:
    """Keep Spark from importing the same packages again before each later task of this worker; call
    it in tasks.

    Spark reads the directory of each imported zip file again and collects garbage over all modules.
    This saves 0.2 CPU seconds a task.
    """
    archives = [
        path
        for path, finder in sys.path_importer_cache.items()
        if isinstance(finder, zipimport.zipimporter)
    ]
    for path in archives:
        del sys.path_importer_cache[path]
    if archives:
        gc.freeze()
