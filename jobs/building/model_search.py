"""Search for a certified model of a new store, range by range, and write the model's tables.

See THEORY, "Outside completion" and "By ranges of ids". The assumed label of an element depends
on the told labels of others, which are stored. So each range first guesses that other elements
have only their completed told labels, and writes the labels that differ
(`shiq.abox_ops.patch.range_certificate`). A range that has read a wrong guess is certified again.
Merge classes grow in rounds. Then components are joined, and their modules are decided by shape
as in `shiq.jobs.building.certificate`. Where one fails, its elements lose their assumptions, and
the next round begins.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from shiq.abox_ops.labels.label_calculus import Label
from shiq.abox_ops.labels.label_tables import read_labels
from shiq.answers.verdict import Verdict
from shiq.columns.arrays import Ints, unique
from shiq.jobs.building.certificate import CertificateFigures, summarise_decisions
from shiq.jobs.building.components import (
    ModuleShape,
    collect_shapes,
    decide_shapes,
)
from shiq.jobs.building.exchange import Executor, Scratch, load_columns, save_columns
from shiq.jobs.building.merge_class_rounds import (
    IndexedStore,
    MergePairs,
    grouping_tables,
    grown_classes,
    unite_pairs_by_rounds,
)
from shiq.jobs.building.model_search_tasks import (
    ModelSearchState,
    RangeOutcome,
    RangeTask,
    certify_range,
    class_merge_pairs,
    drop_assumptions,
    kept_modules,
    write_model_range,
)
from shiq.jobs.building.tables import Ranges
from shiq.jobs.building.worker import ReasonerSettings
from shiq.jobs.checking.answer import OVERSIZE
from shiq.jobs.store.files import DataFile
from shiq.jobs.store.schema import write_part


@dataclass(frozen=True)
class CertifiedModelFigures:
    """Figures of the certified model that the search found.

    labels: labels that differ from the completed told ones
    certificate: figures of the certificate that the model is
    search_state: files of the search, from which the tables are written
    most_edges: role assertions of the largest module, or a bound of these
    """

    labels: tuple[Label, ...]
    certificate: CertificateFigures
    search_state: ModelSearchState
    most_edges: int = 0


def certify_by_model(
    executor: Executor, ranges: Ranges, indexed: IndexedStore, asking: ReasonerSettings
) -> CertifiedModelFigures | None:
    """Search for a certified model of the built store, by ranges of ids.

    Returns its figures, or None if there is none. Assumes consistent told labels.
    """
    return _ModelSearch(executor, ranges, indexed, asking).run()


class _ModelSearch:
    """Search for one certified model, run from the driver in rounds of tasks over id ranges.

    ``_certified``: outcome of each range. ``_found``: the state that tasks get.
    """

    def __init__(
        self, executor: Executor, ranges: Ranges, indexed: IndexedStore, asking: ReasonerSettings
    ) -> None:
        self.executor, self.ranges, self.indexed, self.asking = executor, ranges, indexed, asking
        self._everyone = range(len(ranges))
        self._certified: dict[int, RangeOutcome] = {}
        self._found = ModelSearchState(ranges)
        self._turn = 0

    def run(self) -> CertifiedModelFigures | None:
        """Run rounds of certification until all modules are consistent. Returns None if the time is
        over or no model is found.

        Stops because every round drops the assumptions of at least one element.
        """
        news: dict[int, list[Scratch]] = {}
        seconds, begun = self.asking.seconds, time.monotonic()
        while True:
            self._certify_until_stable(news)
            is_joined = any(told.has_open for told in self._certified.values())
            self._found = replace(self._found, is_joined=is_joined)
            questions = collect_shapes(
                self.executor,
                self.ranges,
                self.indexed.rules.build,
                (told.isolated_labels for told in self._certified.values()),
                partial(kept_modules, indexed=self.indexed, found=self._found)
                if is_joined
                else None,
            )
            left = None if seconds is None else seconds - (time.monotonic() - begun)
            if left is not None and left <= 0:
                return None
            answers = decide_shapes(
                self.executor, questions, self.indexed, replace(self.asking, seconds=left)
            )
            failed = [
                shape
                for shape, (verdict, _) in zip(questions, answers)
                if verdict != Verdict.CONSISTENT.value
            ]
            if not failed:
                return self._make_figures(questions, answers)
            news = self._drop_assumptions(failed)
            if not news:
                return None

    # --- labels, merge classes and what is kept ---------------------------------------------------

    def _certify_until_stable(self, changed_files: Mapping[int, Sequence[Scratch]]) -> None:
        """Certify id ranges again until none has read a label that changed afterwards; then unite
        merge classes.

        changed_files: by range of the elements, the files of those whose assumptions were dropped.
        """
        self._found = replace(self._found, classes=None)
        changed = self._certify_ranges(self._ranges_that_read(changed_files))
        while changed:
            changed = self._certify_ranges(
                self._ranges_that_read({i: [path] for i, path in changed.items()})
            )
        self._unite_merge_classes()
        other = {
            before: self._changed_classes(before)
            for before in {told.classes for told in self._certified.values()}
        }
        self._certify_ranges(
            {i: paths for i, told in self._certified.items() if (paths := other[told.classes])}
        )

    def _ranges_that_read(
        self, changed_files: Mapping[int, Sequence[Scratch]]
    ) -> dict[int, list[Scratch]]:
        """Select the id ranges that may have read the elements in ``changed_files``. Returns for
        each range the files with these elements.

        changed_files: by range of the elements. Ranges without an outcome are always selected.
        """
        found = {}
        for i in self._everyone:
            near = self._certified[i].read_ranges if i in self._certified else frozenset()
            paths = sorted({path for k in changed_files.keys() & near for path in changed_files[k]})
            if paths or i not in self._certified:
                found[i] = paths
        return found

    def _certify_ranges(self, changed_files: Mapping[int, Sequence[Scratch]]) -> dict[int, Scratch]:
        """Certify again the id ranges in ``changed_files`` (by range, the files of changed elements
        that it may have read). Returns, by range, the file of elements whose label has changed now.
        """
        self._turn += 1
        parts = []
        for i, paths in changed_files.items():
            before = self._certified.get(i)
            known = (before.read_elements, before.deviating) if before is not None else ()
            parts.append(RangeTask(i, tuple(paths), *known))
        task = partial(
            certify_range,
            ranges=self.ranges,
            indexed=self.indexed,
            found=self._found,
            turn=self._turn,
        )
        changed = {}
        for part, told in zip(parts, self.executor.run(task, parts, "the model")):
            if told is None:
                continue
            if self._found.classes:
                told = replace(told, merge_pairs=self._certified[part.i].merge_pairs)
            self._certified[part.i] = told
            if told.changed_elements:
                changed[part.i] = told.changed_elements
        deviating = {i: told.deviating for i, told in self._certified.items() if told.deviating}
        self._found = replace(self._found, deviating=deviating)
        return changed

    def _changed_classes(self, before: Scratch | None) -> list[Scratch]:
        """Write the elements whose merge class differs from that in the file ``before``. Returns a
        list with the new file; empty without differences.
        """
        if before == self._found.classes:
            return []
        old, new = replace(self._found, classes=before).partition(), self._found.partition()
        other = unique(
            np.concatenate(
                [new.members(grown_classes(old, new))[1], old.members(grown_classes(new, old))[1]]
            )
        )
        if not len(other):
            return []
        self._turn += 1
        path = self.ranges.scratch / f"classes-{self._turn}"
        save_columns(path, {"element": other})
        return [path]

    def _unite_merge_classes(self) -> None:
        """Unite merge classes round by round, starting with the pairs that single elements require."""

        def ask(classes: Scratch, parts: list[Ints]) -> list[MergePairs]:
            self._found = replace(self._found, classes=classes)
            task = partial(class_merge_pairs, indexed=self.indexed, found=self._found)
            return self.executor.run(task, parts, "merge classes of the model")

        self._turn += 1
        ties = [told.merge_pairs for told in self._certified.values()]
        unite_pairs_by_rounds(self.ranges, ties, ask, lambda i: f"classes-{self._turn}-{i}")

    # --- after a failure --------------------------------------------------------------------------

    def _drop_assumptions(self, failed: Sequence[ModuleShape]) -> dict[int, list[Scratch]]:
        """Drop what the model assumes of the elements of modules with one of the shapes ``failed``.

        Modules that fail again also drop those of elements around them. Returns, by id range, files
        of the elements.
        """
        wanted = frozenset(shape.key for shape in failed)
        self._turn += 1
        task = partial(
            drop_assumptions,
            ranges=self.ranges,
            indexed=self.indexed,
            found=self._found,
            wanted=wanted,
            turn=self._turn,
        )
        new: dict[int, list[Scratch]] = {}
        for left in self.executor.run(task, self._everyone, "elements without a guess"):
            if left is not None:
                plain, efforts, owners = left
                self._found = replace(
                    self._found,
                    assumption_free=(*self._found.assumption_free, plain),
                    efforts=(*self._found.efforts, efforts),
                )
                for i in owners:
                    new.setdefault(i, []).append(plain)
        return new

    # --- what comes of it -------------------------------------------------------------------------

    def _make_figures(
        self, shapes: Sequence[ModuleShape], decided: Sequence[tuple[str, str]]
    ) -> CertifiedModelFigures:
        """Summarise the model that was found, with its modules' ``shapes``, all consistent."""
        labels = {
            label
            for path in self._found.deviating.values()
            for label in read_labels(load_columns(path / "labels"))
        }
        certificate = summarise_decisions(shapes, decided, self.indexed, self.asking)
        certificate.kept_assertions = sum(told.kept_assertions for told in self._certified.values())
        large = (
            len(shape.read_module().edges) for shape in shapes if shape.max_edge_count > OVERSIZE
        )
        return CertifiedModelFigures(
            tuple(sorted(labels)), certificate, self._found, max(large, default=0)
        )


# --- tables ---------------------------------------------------------------------------------------


def write_certified_model(
    executor: Executor, ranges: Ranges, completed: CertifiedModelFigures, labels: Sequence[Label]
) -> dict[str, list[DataFile]]:
    """Write the tables of the certified model.

    labels: all labels of the store; their positions are the stored numbers
    """
    found = completed.search_state
    place = {label: i for i, label in enumerate(labels)}
    task = partial(
        write_model_range,
        found=found,
        label_ids={label: place[label] for label in completed.labels},
    )
    written = executor.run(task, range(len(ranges)), "writing the model")
    tables: dict[str, list[DataFile]] = {}
    for name in ("completed", "certified", "certified_members"):
        tables[name] = [files[name] for files in written if name in files]
    for name, columns in grouping_tables("outside", found.partition()).items():
        is_empty = not len(columns["member"])
        tables[name] = (
            [] if is_empty else [write_part(ranges.place, name, ranges.table_file_name(0), columns)]
        )
    return tables
