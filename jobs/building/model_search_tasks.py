"""Tasks of the range-by-range search for a certified model (`shiq.jobs.building.model_search`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from shiq.abox_ops.elements.quotient import StoredPartition
from shiq.abox_ops.labels.label_calculus import Label
from shiq.abox_ops.labels.label_numbers import Bools
from shiq.abox_ops.labels.label_tables import label_rows, number_used_labels, read_labels
from shiq.abox_ops.labels.numbered_calculus import NumberedCalculus
from shiq.abox_ops.modules.add_set import AddSetModules
from shiq.abox_ops.patch.range_certificate import CertifiedRange, RangeCertifier
from shiq.columns.arrays import (
    NONE,
    Columns,
    Ints,
    array_table,
    distinct_with_inverse,
    insertion_points,
    is_in,
    row_changes,
    unique,
)
from shiq.jobs.building.components import members_of_modules, write_open_elements
from shiq.jobs.building.exchange import Scratch, load_columns, save_columns
from shiq.jobs.building.merge_class_rounds import IndexedStore, load_classes, range_elements
from shiq.jobs.building.tables import Ranges, rank_of
from shiq.jobs.store.files import DataFile
from shiq.jobs.store.numbering import spread
from shiq.jobs.store.schema import write_part


@dataclass(frozen=True)
class ModelSearchState:
    """State of the search for a certified model, as files that all tasks read.

    deviating: by range, the elements whose label differs from the completed told one
    assumption_free: elements of which the model assumes nothing
    efforts: cost of modules that failed (`shiq.abox_ops.patch.effort`)
    classes: merge classes of several elements, if there are any
    is_joined: whether components of more than an isolated element were joined
    """

    ranges: Ranges
    deviating: Mapping[int, Scratch] = field(default_factory=dict)
    assumption_free: tuple[Scratch, ...] = ()
    efforts: tuple[Scratch, ...] = ()
    classes: Scratch | None = None
    is_joined: bool = False

    def are_plain(self, keys: Ints) -> Bools:
        """Decide for each element, by key, whether the search has dropped all assumptions about it."""
        found: Bools = np.zeros(len(keys), np.bool_)
        for path in self.assumption_free:
            found |= is_in(keys, load_columns(path)["element"])
        return found

    def turns_of(self, keys: Ints) -> tuple[Ints, Ints]:
        """Effort spent on each element, by key: how often a module with it failed, and the number
        of elements of these modules.
        """
        turns, elements = np.zeros((2, len(keys)), np.int64)
        for rows in map(load_columns, self.efforts):
            mine = is_in(rows["element"], keys)
            at = insertion_points(keys, rows["element"][mine])
            np.maximum.at(turns, at, rows["turns"][mine])
            np.maximum.at(elements, at, rows["elements"][mine])
        return turns, elements

    def labels_of(self, keys: Ints, calculus: NumberedCalculus) -> tuple[Ints, Ints]:
        """Find the elements whose label in the model differs from the completed told label. Returns
        their positions in ``keys``, and their label ids.
        """
        at, labels = [NONE], [NONE]
        owner = rank_of(keys) // self.ranges.width
        for i in unique(owner).tolist() if self.deviating else ():
            if i in self.deviating:
                rows = _read_labels(self.deviating[i], calculus)
                mine = (owner == i).nonzero()[0]
                place = np.minimum(
                    insertion_points(rows["element"], keys[mine]), len(rows["element"]) - 1
                )
                here = rows["element"][place] == keys[mine]
                at.append(mine[here])
                labels.append(rows["label"][place[here]])
        return np.concatenate(at), np.concatenate(labels)

    def partition(self) -> StoredPartition:
        """Read the merge classes as a partition of elements."""
        return load_classes(self.classes)


@dataclass(frozen=True)
class RangeOutcome:
    """Result of the task that certifies one id range, for the driver.

    read_ranges: ranges of the elements that were read
    read_elements: file of these elements
    deviating: file of the range's elements whose labels differ from the completed told ones
    changed_elements: file of the elements whose label differs from the previous outcome's
    merge_pairs: pairs of elements, by key, that belong to one merge class
    isolated_labels: how many elements have a module that is only this label
    kept_assertions: number of role and data assertions that are kept
    classes: the merge classes that were used
    """

    read_ranges: frozenset[int]
    read_elements: Scratch
    deviating: Scratch | None
    changed_elements: Scratch | None
    merge_pairs: tuple[Ints, Ints]
    isolated_labels: Counter[Label]
    has_open: bool
    kept_assertions: int
    classes: Scratch | None


# --- the tasks ------------------------------------------------------------------------------------


def _range_certifier(indexed: IndexedStore, found: ModelSearchState) -> RangeCertifier:
    """Make the certifier of id ranges under the assumptions in ``found``."""
    base, index, roles = indexed.open_cached()
    return RangeCertifier(index, base, roles, found, found.partition())


@dataclass(frozen=True)
class RangeTask:
    """Arguments of a task that certifies id range ``i``. It does nothing if the range was certified
    before and none of the ``read_elements`` is in the ``changed_files``.

    deviating: file of the range's own deviating labels before
    """

    i: int
    changed_files: Sequence[Scratch]
    read_elements: Scratch | None = None
    deviating: Scratch | None = None


def certify_range(
    part: RangeTask, *, ranges: Ranges, indexed: IndexedStore, found: ModelSearchState, turn: int
) -> RangeOutcome | None:
    """Task: certify an id range. Returns None if no element that it had read has changed since."""
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


def has_read(read: Scratch, changed_files: Sequence[Scratch]) -> bool:
    """Decide whether an element in the files ``changed_files`` is also in the file ``read``."""
    known = load_columns(read)["element"]
    return any(bool(is_in(load_columns(path)["element"], known).any()) for path in changed_files)


def _write_labels(
    folder: Scratch, told: CertifiedRange, calculus: NumberedCalculus, before: Scratch | None
) -> tuple[Scratch | None, Scratch | None]:
    """Write the labels that deviate from the completed told ones, and the elements whose label
    differs from that in ``before``.

    Returns the files of changed and deviating elements; None where there are none.
    """
    now: Columns = {"element": told.exceptional_elements, "label": told.exceptional_labels}
    old = _read_labels(before, calculus) if before else {"element": NONE, "label": NONE}
    come, gone = row_changes(old, now)
    changed = unique(np.concatenate([come["element"], gone["element"]]))
    if len(changed):
        save_columns(folder / "changed", {"element": changed})
    if len(told.exceptional_elements):
        labels, number = number_used_labels(calculus.table.labels, told.exceptional_labels)
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
    """Read the rows of `_write_labels`, with label ids of this worker's calculus."""
    rows = load_columns(path / "rows")
    number = calculus.table.ids(read_labels(load_columns(path / "labels")))
    return {"element": rows["element"], "label": number[rows["label"]]}


def class_merge_pairs(
    names: Ints, *, indexed: IndexedStore, found: ModelSearchState
) -> tuple[Ints, Ints]:
    """Task: find pairs of elements that must share a merge class because of the merge classes in
    ``names``.
    """
    return _range_certifier(indexed, found).find_merges(names)


def kept_modules(members: Ints, *, indexed: IndexedStore, found: ModelSearchState) -> AddSetModules:
    """Make the modules of the elements ``members``, with the labels that the model assumes."""
    certifier = _range_certifier(indexed, found)
    return AddSetModules(certifier.index.calculus, certifier.kept_columns(members))


def drop_assumptions(
    i: int,
    *,
    ranges: Ranges,
    indexed: IndexedStore,
    found: ModelSearchState,
    wanted: frozenset[str | Label],
    turn: int,
) -> tuple[Scratch, Scratch, list[int]] | None:
    """Task: drop what the model assumes of the elements in those modules of id range ``i`` whose
    shape or label is in ``wanted``.

    Returns None where these elements have no assumptions.
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
    return plain, efforts, unique(rank_of(failed.plain) // ranges.width).tolist()


def write_model_range(
    i: int, *, found: ModelSearchState, label_ids: Mapping[Label, int]
) -> dict[str, DataFile]:
    """Task: write id range ``i`` of the certified model's tables `completed`, `certified` and
    `certified_members`.

    label_ids: stored number of each label
    """
    ranges = found.ranges
    tables: dict[str, Columns] = {}
    if i in found.deviating:
        rows, labels = (
            load_columns(found.deviating[i] / "rows"),
            read_labels(load_columns(found.deviating[i] / "labels")),
        )
        number = np.array([label_ids.get(label, -1) for label in labels], np.int64)
        tables["completed"] = {"element": rows["element"], "label": number[rows["label"]]}
    tables |= linked_module_tables(i, ranges) if found.is_joined else {}
    return {
        name: write_part(ranges.place, name, ranges.table_file_name(i), columns)
        for name, columns in tables.items()
    }


def linked_module_tables(i: int, ranges: Ranges) -> dict[str, Columns]:
    """Make the rows of the two module tables, for modules of several elements: one sorted by
    element of id range ``i``, one by module that is named after such an element.
    """
    kept = load_columns(ranges.folder(i) / "kept")
    linked = unique(kept["source"][kept["source"] != kept["target"]])
    own = load_columns(ranges.folder(i) / "by_component")
    mine = is_in(own["node"], linked)
    rows = load_columns(ranges.folder(i) / "members")
    _, which, _ = distinct_with_inverse(rows["name"])
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
