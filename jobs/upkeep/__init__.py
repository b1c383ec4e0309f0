"""How a store comes to be and goes on: built from an ABox, grown by accepted batches, compacted.

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

from jobs.store import Certificate, open_store
from jobs.upkeep.build import write_store
from jobs.upkeep.commit import commit, compact

__all__ = ["Certificate", "commit", "compact", "open_store", "write_store"]
