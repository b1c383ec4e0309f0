"""Store: an ABox with its certificate on disk, as sorted Parquet tables, together with its TBox.
`shiq.jobs.store.upkeep` builds and extends it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shiq.remote.place import parse_location
from shiq.support import import_on_access

if TYPE_CHECKING:
    from shiq.jobs.store.manifest import Certificate, tbox_hash
    from shiq.jobs.store.read import Store, open_store, status

__all__ = ["Certificate", "Store", "open_store", "parse_location", "status", "tbox_hash"]


# These load numpy and pyarrow.
__getattr__ = import_on_access(
    __name__,
    {
        "shiq.jobs.store.read": ("Store", "open_store", "status"),
        "shiq.jobs.store.manifest": ("Certificate", "tbox_hash"),
    },
)
