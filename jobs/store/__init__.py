"""Store: a certified ABox on disk, as sorted Parquet tables with its TBox. `shiq.jobs.store.upkeep`
builds and grows it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shiq.remote.place import place_of

if TYPE_CHECKING:
    from shiq.jobs.store.manifest import Certificate, tbox_hash
    from shiq.jobs.store.read import Store, open_store, status

__all__ = ["Certificate", "Store", "open_store", "place_of", "status", "tbox_hash"]


#: The modules of what is loaded, with numpy and pyarrow, where it is used.
_HOMES = {
    **dict.fromkeys(("Store", "open_store", "status"), "shiq.jobs.store.read"),
    **dict.fromkeys(("Certificate", "tbox_hash"), "shiq.jobs.store.manifest"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value
