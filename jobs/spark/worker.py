"""What a Python worker of Spark keeps from one task to the next: reasoners, clauses, what it has
opened.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar

from jobs.spark.imports import spare_imports
from jobs.store.manifest import Manifest

V = TypeVar("V")

#: How many values of each kind a worker keeps.
KEPT = 2
_kept: dict[str, OrderedDict[Hashable, Any]] = {}


@dataclass(frozen=True)
class StoreKey:
    """A snapshot of a store that every executor can open: its path, and the manifest that the
    driver read.
    """

    path: str
    manifest: Manifest

    @property
    def identity(self) -> Hashable:
        return self.path, self.manifest.snapshot, self.manifest.created, self.manifest.tbox_hash


def kept(
    kind: str, key: Hashable, make: Callable[[], V], drop: Callable[[V], None] = lambda value: None
) -> V:
    """The value of ``kind`` for ``key``, made where this worker has none; the least recently
    used ones are dropped.
    """
    spare_imports()
    values = _kept.setdefault(kind, OrderedDict())
    if key not in values:
        while len(values) >= KEPT:
            drop(values.popitem(last=False)[1])
        values[key] = make()
    values.move_to_end(key)
    found: V = values[key]
    return found
