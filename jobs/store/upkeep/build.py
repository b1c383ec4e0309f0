"""Building a store from an ABox in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from abox_ops.elements.base import ArrayBase
from abox_ops.engine import Decide, Inquiry
from abox_ops.index.columns import build_index
from abox_ops.local import LocalKnowledgeBase
from abox_ops.local_add_set import LocalAddSet
from abox_ops.patch.outside_columns import OutsideCompletion
from jobs.store.manifest import Certificate
from jobs.store.numbering import RANGE
from jobs.store.read import Store
from jobs.store.replacing import Replacement
from jobs.store.schema import key_of, write_table
from jobs.store.upkeep.ranges import starts_of
from jobs.store.upkeep.tables import base_tables, index_document, index_tables, numbered
from jobs.store.write import AssertionCounts, about, rebuilding, unchanged
from shiq.abox import ABox
from shiq.aside import Aside
from shiq.model import TBox
from shiq.reasoner.protocol import Answer
from shiq.remote.place import Place
from shiq.roles import role_box
from shiq.verdict import Leftover

#: Told (stage, steps done, steps in all).
Progress: TypeAlias = Callable[[str, int, int], None]


@dataclass(frozen=True, eq=False)
class PreparedStore:
    """(T, A) as a store will hold them: numbered and indexed, in memory. ``width``: individuals
    of a range of its tables; ``completion``: N, once it is certified.
    """

    knowledge_base: LocalKnowledgeBase
    base: ArrayBase
    width: int
    completion: OutsideCompletion | None = None

    def certified(
        self, decide: Decide, is_over: Callable[[], bool]
    ) -> tuple[PreparedStore, LocalAddSet, Sequence[Answer]] | None:
        """The same with N, what was kept for its certificate, and one answer for each module;
        None where A could not be certified that way, and has to be asked otherwise.
        """
        found = certified_by_model(self.knowledge_base, decide, is_over)
        if found is None:
            return None
        completion, add_set, answers = found
        return replace(self, completion=completion), add_set, answers


def certified_by_model(
    knowledge_base: LocalKnowledgeBase, decide: Decide, is_over: Callable[[], bool]
) -> tuple[OutsideCompletion, LocalAddSet, Sequence[Answer]] | None:
    """N of a base, what was kept for its certificate, and one answer for each module; None where
    it could not be certified.
    """
    # Where A is inconsistent, nothing of this is used.
    found = knowledge_base.certified(Inquiry(decide, is_over, verdict_only=True))
    if not found.completion.is_guessed:
        return None
    add_set = knowledge_base.add_set_of(found.patch.graph, found.patch.found())
    add_set = replace(add_set, clauses=found.patch.tbox, decided=found.patched.modules)
    return found.completion, add_set, found.patched.answers


def prepare(tbox: TBox, abox: ABox, width: int | None = None) -> PreparedStore:
    """(``tbox``, ``abox``), numbered and indexed, for tables in ranges of ``width`` individuals,
    `RANGE` if None.
    """
    base, roles = numbered(abox, width), role_box(tbox.axioms)
    return PreparedStore(
        LocalKnowledgeBase(tbox, base, roles, build_index(tbox, roles, base)), base, width or RANGE
    )


def write_store(
    path: Place,
    tbox: TBox,
    abox: ABox,
    *,
    leftovers: Iterable[Leftover] = (),
    tbox_leftovers: Iterable[Leftover] = (),
    certificate: Certificate | None = None,
    progress: Progress | None = None,
    replacing: tuple[str, int] | None = None,
    ontologies: Iterable[str] = (),
    asides: Iterable[Aside] | None = None,
    left_out: Iterable[Leftover] | None = None,
    labels: Mapping[str, str] | None = None,
    prepared: PreparedStore | None = None,
    taken: Mapping[str, int] | None = None,
    place: Replacement | None = None,
    read_properties: Iterable[str] | None = None,
) -> Store:
    """Builds the store of (``tbox``, ``abox``) at ``path``, or builds the one that is there
    anew; gives it back, opened.

    A crash leaves the old snapshot or the new one. A new directory without a manifest is an
    unfinished store, and is said to be one by `open_store`. ``replacing``: the `Store.identity`
    that the new snapshot goes on from, and keeps behind it; without it, none is kept.
    ``tbox_leftovers``: those of reading the TBox; ``ontologies``: the IRIs by which batches may
    import the TBox; ``asides``: what belongs to the data and is not in ``abox`` (None: as
    before, where snapshots are kept); ``left_out``: what of it was left out, as it stands (None:
    as ``leftovers`` tell), beside what was before, where snapshots are kept; ``labels``: of the
    terms of the TBox; ``taken``: see `jobs.store.manifest.TAKEN`; ``place``: what was found at
    ``path`` before, which has to be there still; ``read_properties``: those that the data was
    read for (None: those of ``tbox``).

    Raises: StoreError if ``path`` holds something else (or not what is to be replaced), another
    writer is at work, or ``certificate`` is about another TBox.
    """
    told = progress or (lambda stage, done, total: None)
    about(certificate, path, tbox)
    with rebuilding(
        path, tbox, ontologies, keeps=replacing is not None, labels=labels, place=place
    ) as rebuild:
        unchanged(path, rebuild.old, replacing)
        if prepared is None:
            told("indexing", 0, 0)
        made = prepared or prepare(tbox, abox, rebuild.range_size)
        rebuild = replace(
            rebuild, width=made.width, taken=taken or {}, read_properties=read_properties
        )
        base, index = made.base, made.knowledge_base.index
        columns = {**base_tables(base), **index_tables(index, made.completion)}
        versions, count = {}, len(columns)
        for done, name in enumerate(sorted(columns)):
            told("writing tables", done, count)
            rows = columns.pop(name)
            versions[name] = write_table(
                path, name, rows, starts_of(name, rows[key_of(name)], len(base.terms), made.width)
            )
        told("writing tables", count, count)
        return rebuild.finish(
            versions,
            index_document(index),
            AssertionCounts(
                len(abox.class_subject),
                len(abox.role_subject),
                len(abox.data_subject),
                len(abox),
                base.class_counts().tolist(),
            ),
            leftovers=leftovers,
            tbox_leftovers=tbox_leftovers,
            certificate=certificate,
            asides=asides,
            left_out=left_out,
        )
