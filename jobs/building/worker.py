"""Values that a worker process keeps from one task to the next: reasoners, clauses, open stores.

In workers of Spark each task costs imports as well, unless they are spared.
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

from shiq.jobs.store.manifest import Manifest
from shiq.reasoner import create
from shiq.reasoner.protocol import Reasoner

V = TypeVar("V")

#: How many values of each kind a worker keeps.
MOST_CACHED = 2
_cache: dict[str, OrderedDict[Hashable, Any]] = {}


@dataclass(frozen=True)
class StoreKey:
    """A snapshot of a store that every worker can open: its path, and the manifest that the
    driver read.
    """

    path: str
    manifest: Manifest

    @property
    def identity(self) -> Hashable:
        return self.path, self.manifest.snapshot, self.manifest.created, self.manifest.tbox_hash


def cached_value(
    kind: str, key: Hashable, make: Callable[[], V], drop: Callable[[V], None] = lambda value: None
) -> V:
    """The value of ``kind`` for ``key``, made where this worker has none; the least recently
    used ones are dropped.
    """
    values = _cache.setdefault(kind, OrderedDict())
    if key not in values:
        while len(values) >= MOST_CACHED:
            drop(values.popitem(last=False)[1])
        values[key] = make()
    values.move_to_end(key)
    found: V = values[key]
    return found


@dataclass(frozen=True)
class ReasonerSettings:
    """A reasoner, and how it is asked. ``seconds``: what is left for each task; None for no limit;
    ``audit``: the share of the shapes that are handed to the driver, to be decided again
    (`shiq.abox_ops.modules.decide`).
    """

    reasoner: str
    heap: str
    seconds: float | None
    audit: float = 0.0


def worker_reasoner(asking: ReasonerSettings) -> Reasoner:
    """This worker's reasoner."""
    return cached_value(
        "reasoner",
        (asking.reasoner, asking.heap),
        lambda: _create_reasoner(asking),
        lambda r: r.close(),
    )


def _create_reasoner(asking: ReasonerSettings) -> Reasoner:
    reasoner = create(asking.reasoner, heap=asking.heap)
    atexit.register(reasoner.close)
    return reasoner


def spare_imports() -> None:
    """Lets go of what Spark would have this worker do before each later task: read the directory
    of each zip file again from which something was imported (its own, once for every package in
    it), and look through all modules for garbage. To be called by tasks: it saves each of those
    that follow 0.2 CPU seconds.
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
