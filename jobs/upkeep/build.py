"""Building a store from an ABox in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

from jobs.engines.index import build_index
from jobs.store.manifest import Certificate
from jobs.store.read import Store
from jobs.store.schema import SCHEMAS, write_table
from jobs.store.write import Counts, about, rebuilding, unchanged
from jobs.upkeep.tables import base_tables, index_document, index_tables, numbered
from shiq.abox import ABox
from shiq.model import TBox
from shiq.roles import role_box
from shiq.verdict import Leftover

#: Told (stage, steps done, steps in all).
Progress: TypeAlias = Callable[[str, int, int], None]


def write_store(
    path: Path,
    tbox: TBox,
    abox: ABox,
    *,
    leftovers: Iterable[Leftover] = (),
    tbox_leftovers: Iterable[Leftover] = (),
    certificate: Certificate | None = None,
    progress: Progress | None = None,
    replacing: tuple[str, int] | None = None,
    ontologies: Iterable[str] = (),
    labels: Mapping[str, str] | None = None,
) -> Store:
    """Builds the store of (``tbox``, ``abox``) at ``path``, or builds the one that is there anew; gives it back, opened.

    A crash leaves the old snapshot or the new one. A new directory without a manifest is an unfinished store, and is said to be
    one by `open_store`. ``replacing``: the `Store.identity` that the new snapshot goes on from, and keeps behind it; without it,
    none is kept. ``tbox_leftovers``: those of reading the TBox; ``ontologies``: the IRIs by which batches may import the TBox;
    ``labels``: of its terms.

    Raises: StoreError if ``path`` holds something else (or not what is to be replaced), another writer is at work, or
    ``certificate`` is about another TBox.
    """
    told = progress or (lambda stage, done, total: None)
    about(certificate, path, tbox)
    with rebuilding(path, tbox, ontologies, keeps=replacing is not None, labels=labels) as rebuild:
        unchanged(path, rebuild.old, replacing)
        told("numbering", 0, 1)
        base = numbered(abox)
        told("indexing", 0, 1)
        index = build_index(tbox, role_box(tbox.axioms), base)
        columns = {**base_tables(base), **index_tables(index)}
        versions = {}
        for done, name in enumerate(SCHEMAS):
            told("writing tables", done, len(SCHEMAS))
            versions[name] = write_table(path, name, columns.pop(name))
        told("writing tables", len(SCHEMAS), len(SCHEMAS))
        return rebuild.finish(
            versions,
            index_document(index),
            Counts(
                len(abox.class_subject), len(abox.role_subject), len(abox.data_subject), len(abox), base.class_counts().tolist()
            ),
            leftovers=leftovers,
            tbox_leftovers=tbox_leftovers,
            certificate=certificate,
        )
