"""The store: a certified-consistent ABox on disk, as sorted Parquet tables beside its TBox.

How one is built and grown is `jobs.store.upkeep`.
"""

from __future__ import annotations

from jobs.store.manifest import Certificate, tbox_hash
from jobs.store.read import Store, open_store, status
from shiq.remote.place import place_of

__all__ = ["Certificate", "Store", "open_store", "place_of", "status", "tbox_hash"]
