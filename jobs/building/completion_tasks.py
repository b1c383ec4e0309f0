"""What the tasks of a certificate by ranges are given, do and leave
(`shiq.jobs.building.completion`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from shiq.abox_ops.elements.quotient import StoredPartition
from shiq.abox_ops.labels.calculus import Label
from shiq.abox_ops.labels.documents import label_rows, labels_in_order, read_labels
from shiq.abox_ops.labels.label_numbers import Bools
from shiq.abox_ops.labels.numbered_calculus import NumberedCalculus
from shiq.abox_ops.modules.add_set import FoundModules
from shiq.abox_ops.patch.range_certificate import CertifiedRange, RangeCertifier
from shiq.columns.arrays import (
    NONE,
    Columns,
    Ints,
    array_table,
    distinct,
    is_in,
    positions,
    row_changes,
    unique,
)
from shiq.jobs.building.components import members_of_modules, write_open_elements
from shiq.jobs.building.exchange import Scratch, load_columns, save_columns
from shiq.jobs.building.merging import IndexedStore, load_classes, range_elements
from shiq.jobs.building.tables import Ranges, rank_of
from shiq.jobs.store.files import DataFile
from shiq.jobs.store.numbering import spread
from shiq.jobs.store.schema import write_part


@dataclass(frozen=True)
class ModelSearchState:
    """What ranges have found so far, as files. ``deviating``: by range, the elements with other
    labels than the completed told ones (those ranges that have some); ``plain``: elements of
    which nothing is assumed; ``efforts``: what modules that failed have cost
    (`shiq.abox_ops.patch.effort`); ``classes``: merge classes that have several elements, if there
    are any; ``is_joined``: whether there are components of more than an element's label.
    """

    ranges: Ranges
    deviating: Mapping[int, Scratch] = field(default_factory=dict)
    assumption_free: tuple[Scratch, ...] = ()
    efforts: tuple[Scratch, ...] = ()
    classes: Scratch | None = None
    is_joined: bool = False

    def are_plain(self, keys: Ints) -> Bools:
        """See `shiq.abox_ops.patch.range_certificate.ElementAssumptions`."""
        found: Bools = np.zeros(len(keys), np.bool_)
        for path in self.assumption_free:
            found |= is_in(keys, load_columns(path)["element"])
        return found

    def turns_of(self, keys: Ints) -> tuple[Ints, Ints]:
        """See `shiq.abox_ops.patch.range_certificate.ElementAssumptions`."""
        turns, elements = np.zeros((2, len(keys)), np.int64)
        for rows in map(load_columns, self.efforts):
            mine = is_in(rows["element"], keys)
            at = positions(keys, rows["element"][mine])
            np.maximum.at(turns, at, rows["turns"][mine])
            np.maximum.at(elements, at, rows["elements"][mine])
        return turns, elements

    def labels_of(self, keys: Ints, calculus: NumberedCalculus) -> tuple[Ints, Ints]:
        """See `shiq.abox_ops.patch.range_certificate.ElementAssumptions`."""
        at, labels = [NONE], [NONE]
        owner = rank_of(keys) // self.ranges.width
        for i in unique(owner).tolist() if self.deviating else ():
            if i in self.deviating:
                rows = _read_labels(self.deviating[i], calculus)
                mine = (owner == i).nonzero()[0]
                place = np.minimum(positions(rows["element"], keys[mine]), len(rows["element"]) - 1)
                here = rows["element"][place] == keys[mine]
                at.append(mine[here])
                labels.append(rows["label"][place[here]])
        return np.concatenate(at), np.concatenate(labels)

    def partition(self) -> StoredPartition:
        """The merge classes."""
        return load_classes(self.classes)


@dataclass(frozen=True)
class RangeOutcome:
    """What the driver is told of a range: the ranges that it has read something of; what it
    left: the elements ``read``, those that deviate, if there are any, those whose label is
    another than before, pairs for merge classes (by key); how many elements are but a label; how
    many role and data assertions are kept, and under which merge ``classes``.
    """

    read_ranges: frozenset[int]
    read_elements: Scratch
    deviating: Scratch | None
    changed_elements: Scratch | None
    ties: tuple[Ints, Ints]
    isolated_labels: Counter[Label]
    has_open: bool
    kept_assertions: int
    classes: Scratch | None


@dataclass(frozen=True)
class FailureRecord:
    """Files that a range left of modules that failed: the elements that become ``plain``, which
    are of the ranges ``owners``; the ``efforts`` of these and others.
    """

    assumption_free: Scratch
    efforts: Scratch
    owners: Sequence[int]


# --- the tasks ------------------------------------------------------------------------------------


def _range_certifier(indexed: IndexedStore, found: ModelSearchState) -> RangeCertifier:
    base, index, roles = indexed.open_cached()
    return RangeCertifier(index, base, roles, found, found.partition())


@dataclass(frozen=True)
class RangeTask:
    """Range ``i``, to be certified for the first time, or if it has ``read`` something that is
    among the ``news``; files, as is ``deviating``, its own as it was before.
    """

    i: int
    changed_files: Sequence[Scratch]
    read_elements: Scratch | None = None
    deviating: Scratch | None = None


def certify_range(
    part: RangeTask, *, ranges: Ranges, indexed: IndexedStore, found: ModelSearchState, turn: int
) -> RangeOutcome | None:
    """What comes of a range; None where it has read nothing that is another now."""
    i = part.i
    if part.read_elements is not None and not has_read(part.read_elements, part.changed_files):
        return None
    certifier = _range_certifier(indexed, found)
    base, index, _ = indexed.open_cached()
    told = certifier.certify_range(range_elements(base, ranges, i))
    folder = ranges.folder(i) / f"model-{turn}"
    read = told.read_elements
    if found.classes and part.read_elements is not None:
        # What single elements make one class stays as it was found without classes, and rests on
        # what was read then.
        read = unique(np.concatenate([read, load_columns(part.read_elements)["element"]]))
    save_columns(folder / "read", {"element": read})
    changed, deviating = _write_labels(folder, told, index.calculus, part.deviating)
    write_open_elements(ranges, i, told.open_elements, told.source, told.target)
    labels = index.calculus.table.labels
    return RangeOutcome(
        frozenset(unique(rank_of(read) // ranges.width).tolist()),
        folder / "read",
        deviating,
        changed,
        (told.first, told.second),
        Counter({labels[label]: n for label, n in Counter(told.single_labels.tolist()).items()}),
        bool(len(told.open_elements)),
        told.size,
        found.classes,
    )


def has_read(read: Scratch, news: Sequence[Scratch]) -> bool:
    """Whether a range that has ``read`` some elements has read any of ``news``; files."""
    known = load_columns(read)["element"]
    return any(bool(is_in(load_columns(path)["element"], known).any()) for path in news)


def _write_labels(
    folder: Scratch, told: CertifiedRange, calculus: NumberedCalculus, before: Scratch | None
) -> tuple[Scratch | None, Scratch | None]:
    """Leaves the labels that deviate, and the elements that have another one than ``before``;
    the files, where there are any.
    """
    now: Columns = {"element": told.exceptional_elements, "label": told.exceptional_labels}
    old = _read_labels(before, calculus) if before else {"element": NONE, "label": NONE}
    come, gone = row_changes(old, now)
    changed = unique(np.concatenate([come["element"], gone["element"]]))
    if len(changed):
        save_columns(folder / "changed", {"element": changed})
    if len(told.exceptional_elements):
        labels, number = labels_in_order(calculus.table.labels, told.exceptional_labels)
        save_columns(
            folder / "deviating" / "rows",
            array_table(
                "element",
                {"element": told.exceptional_elements, "label": number[told.exceptional_labels]},
            ).columns,
        )
        save_columns(folder / "deviating" / "labels", label_rows(labels))
    return folder / "changed" if len(changed) else None, folder / "deviating" if len(
        told.exceptional_elements
    ) else None


def _read_labels(path: Scratch, calculus: NumberedCalculus) -> Columns:
    """(element, label) as `_leave_labels` left them, in this worker's numbers."""
    rows = load_columns(path / "rows")
    number = calculus.table.ids(read_labels(load_columns(path / "labels")))
    return {"element": rows["element"], "label": number[rows["label"]]}


def class_ties(names: Ints, *, indexed: IndexedStore, found: ModelSearchState) -> tuple[Ints, Ints]:
    """What the merge classes ``names`` make one class."""
    return _range_certifier(indexed, found).find_ties(names)


def kept_modules(members: Ints, *, indexed: IndexedStore, found: ModelSearchState) -> FoundModules:
    """What elements keep of A, with what is assumed of them."""
    _, index, roles = indexed.open_cached()
    kept = _range_certifier(indexed, found).kept_columns(members)
    return FoundModules(index.calculus, index, kept.graph.union, roles, kept)


def drop_assumptions(
    i: int,
    *,
    ranges: Ranges,
    indexed: IndexedStore,
    found: ModelSearchState,
    wanted: frozenset[str | Label],
    turn: int,
) -> FailureRecord | None:
    """Leaves what the ``wanted`` modules of range ``i`` change; None where nothing is assumed of
    their elements.
    """
    base, index, _ = indexed.open_cached()
    certifier, modules = _range_certifier(indexed, found), list[Ints]()
    if any(not isinstance(name, str) for name in wanted):
        told = certifier.certify_range(range_elements(base, ranges, i))
        labels = index.calculus.table.labels
        alone = told.single_elements[
            np.array([labels[x] in wanted for x in told.single_labels.tolist()], np.bool_)
        ]
        modules += np.split(alone, len(alone)) if len(alone) else []
    if found.is_joined:
        kept = partial(kept_modules, indexed=indexed, found=found)
        members = members_of_modules(
            i, ranges=ranges, build=indexed.rules.build, found=kept, wanted=wanted
        )
        modules += [unique(index.equality.group_of(base.nodes_of(names))) for names in members]
    failed = certifier.widen(modules)
    if not len(failed.plain):
        return None
    plain, efforts = (ranges.folder(i) / f"{name}-{turn}" for name in ("plain", "effort"))
    save_columns(plain, {"element": failed.plain})
    save_columns(
        efforts, {"element": failed.element, "turns": failed.turns, "elements": failed.elements}
    )
    return FailureRecord(plain, efforts, unique(rank_of(failed.plain) // ranges.width).tolist())


def write_range(
    i: int, *, found: ModelSearchState, place: Mapping[Label, int]
) -> dict[str, DataFile]:
    """The part of range ``i`` of the tables that have one for each."""
    ranges = found.ranges
    tables: dict[str, Columns] = {}
    if i in found.deviating:
        rows, labels = (
            load_columns(found.deviating[i] / "rows"),
            read_labels(load_columns(found.deviating[i] / "labels")),
        )
        number = np.array([place.get(label, -1) for label in labels], np.int64)
        tables["completed"] = {"element": rows["element"], "label": number[rows["label"]]}
    tables |= linked_modules(i, ranges) if found.is_joined else {}
    return {
        name: write_part(ranges.place, name, ranges.file(i), columns)
        for name, columns in tables.items()
    }


def linked_modules(i: int, ranges: Ranges) -> dict[str, Columns]:
    """Modules of several elements: those of the elements of range ``i``, and the elements of
    those that range ``i`` names.
    """
    kept = load_columns(ranges.folder(i) / "kept")
    linked = unique(kept["source"][kept["source"] != kept["target"]])
    own = load_columns(ranges.folder(i) / "by_component")
    mine = is_in(own["node"], linked)
    rows = load_columns(ranges.folder(i) / "members")
    _, which, _ = distinct(rows["name"])
    several = np.bincount(which)[which] > 1
    tables = {
        "certified": array_table(
            "member", {"member": spread(own["node"][mine]), "group": spread(own["name"][mine])}
        ),
        "certified_members": array_table(
            "group",
            {"group": spread(rows["name"][several]), "member": spread(rows["node"][several])},
        ),
    }
    return {name: dict(table.columns) for name, table in tables.items() if len(table)}
