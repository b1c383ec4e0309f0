"""What a Python worker of Spark keeps from one task to the next: the opened store, its index, reasoners."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar

from jobs.spark.imports import spare_imports
from jobs.store import Store
from jobs.store.manifest import Manifest
from shiq.remote.place import place_of

V = TypeVar("V")

#: How many values of each kind a worker keeps.
KEPT = 2
_kept: dict[str, OrderedDict[Hashable, Any]] = {}
_asked: Counter[bool] = Counter()


@dataclass(frozen=True)
class StoreKey:
    """A snapshot of a store that every executor can open: its path, and the manifest that the driver read. ``by_form``: its TBox
    is read as `jobs.checking.inputs.read_by_form` has it."""

    path: str
    manifest: Manifest
    by_form: bool = False

    @property
    def identity(self) -> Hashable:
        return self.path, self.manifest.snapshot, self.manifest.created, self.manifest.tbox_hash, self.by_form


def kept(kind: str, key: Hashable, make: Callable[[], V], drop: Callable[[V], None] = lambda value: None) -> V:
    """The value of ``kind`` for ``key``, made where this worker has none; the least recently used ones are dropped."""
    spare_imports()
    values = _kept.setdefault(kind, OrderedDict())
    _asked[key in values] += 1
    if key not in values:
        while len(values) >= KEPT:
            drop(values.popitem(last=False)[1])
        values[key] = make()
    values.move_to_end(key)
    found: V = values[key]
    return found


def cache_counts() -> Counter[bool]:
    """How often what was asked for was kept (True), and how often it had to be made, in this worker so far."""
    return _asked.copy()


def opened_store(key: StoreKey) -> Store:
    """The snapshot, opened once per worker."""
    return kept("store", key.identity, lambda: Store(place_of(key.path), key.manifest))
