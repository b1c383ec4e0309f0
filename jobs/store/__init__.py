"""The store: a certified-consistent ABox on disk, as sorted Delta tables beside its TBox (ARCHITECTURE: idea 2).

>>> import tempfile, pathlib
>>> from shiq.abox import ABoxBuilder
>>> from shiq.model import TBox
>>> builder = ABoxBuilder()
>>> builder.add_role("urn:a", "urn:knows", "urn:b")
>>> with tempfile.TemporaryDirectory() as folder:
...     store = write_store(pathlib.Path(folder) / "kg", TBox(), builder.build())
...     [assertion.subject for assertion in store.export()], store.certificate
(['urn:a'], None)
"""

from __future__ import annotations

from jobs.store.commit import commit, compact
from jobs.store.manifest import Certificate, tbox_hash
from jobs.store.read import Store, open_store, status
from jobs.store.write import Progress, certify, write_store

__all__ = ["Certificate", "Progress", "Store", "certify", "commit", "compact", "open_store", "status", "tbox_hash", "write_store"]
