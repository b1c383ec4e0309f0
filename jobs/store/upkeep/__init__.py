"""Build a store from an ABox, extend it by accepted batches, and compact it.

The code that changes a store is loaded on first use: most processes only open one.

>>> import tempfile, pathlib
>>> from shiq.jobs.store.upkeep import write_store
>>> from shiq.model.abox import ABoxBuilder
>>> from shiq.model import TBox
>>> builder = ABoxBuilder()
>>> builder.add_role("urn:a", "urn:knows", "urn:b")
>>> with tempfile.TemporaryDirectory() as folder:
...     store = write_store(pathlib.Path(folder) / "kg", TBox(), builder.build())
...     [assertion.subject for assertion in store.export()], store.certificate
(['urn:a'], None)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shiq.jobs.store import Certificate, open_store, parse_location
from shiq.jobs.store.read import reopen_if_changed
from shiq.support import import_on_access

if TYPE_CHECKING:
    from shiq.jobs.store.read import stored_abox
    from shiq.jobs.store.replacing import claim_place
    from shiq.jobs.store.upkeep.build import prepare, write_store
    from shiq.jobs.store.upkeep.commits import commit, compact
    from shiq.jobs.store.write import certify

__all__ = [
    "Certificate",
    "certify",
    "claim_place",
    "commit",
    "compact",
    "open_store",
    "parse_location",
    "prepare",
    "reopen_if_changed",
    "stored_abox",
    "write_store",
]

__getattr__ = import_on_access(
    __name__,
    {
        "shiq.jobs.store.read": ("stored_abox",),
        "shiq.jobs.store.replacing": ("claim_place",),
        "shiq.jobs.store.upkeep.build": ("prepare", "write_store"),
        "shiq.jobs.store.upkeep.commits": ("commit", "compact"),
        "shiq.jobs.store.write": ("certify",),
    },
)
