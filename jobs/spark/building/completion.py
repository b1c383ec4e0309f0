"""N of what is built (THEORY, "Outside completion"), certified and left as tables.

The certificate is that of the engine `local`, of all of A in one task: what an element is assumed to be depends on its
neighbours, classes and modules, and is given up where a module fails, so ranges would have to exchange all of that in every
round. The task needs memory for the role assertions of A, which `Settings.most_completed` bounds; larger bases are certified
range by range (`jobs.spark.building.certificate`), without N.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from pyspark.sql import SparkSession

from abox_ops.labels.calculus import Label
from abox_ops.local import LocalKnowledgeBase
from abox_ops.modules.decide import Decider
from abox_ops.modules.named import NamedModules
from jobs.spark.auditing import DrawnShapes, drawn
from jobs.spark.building.files import load, run, save
from jobs.spark.building.merging import IndexedStore, grouping_tables
from jobs.spark.building.tables import Ranges
from jobs.spark.reasoners import Asking, decided_in_time
from jobs.store.files import DataFile
from jobs.store.place import place_of
from jobs.store.schema import COMPLETION, write_part
from jobs.store.upkeep.build import certified_by_model
from shiq.columns.arrays import Columns, Ints
from shiq.reasoner import create
from shiq.verdict import Verdict


@dataclass(frozen=True)
class CompletionFigures:
    """What is known of N: the labels that differ from the told ones completed; what was kept for its certificate (`Sized.size`),
    and its modules, all of which are consistent; those ``drawn`` for an audit, if one is asked for."""

    labels: tuple[Label, ...]
    size: int
    modules: int
    shapes: int
    drawn: DrawnShapes | None = None


def complete(session: SparkSession, ranges: Ranges, indexed: IndexedStore, asking: Asking) -> CompletionFigures | None:
    """Certifies the store that ``indexed`` names, whose told labels do not clash, and leaves N among the files of the build; None
    where it is not to be had."""
    task = partial(_complete, indexed=indexed, asking=asking)
    found: CompletionFigures | None = run(session, task, [ranges], "the model")[0]
    return found


def _complete(ranges: Ranges, *, indexed: IndexedStore, asking: Asking) -> CompletionFigures | None:
    base, index, roles = indexed.opened()
    decider = Decider(create(asking.reasoner, heap=asking.heap))
    try:
        knowledge_base = LocalKnowledgeBase(indexed.rules.tbox, base, roles, index)
        found = certified_by_model(knowledge_base, *decided_in_time(decider, asking.seconds))
        if found is None:
            return None
        completion, add_set, _ = found
        others = next(iter(completion.others.scan()))
        labels = sorted({completion.known(i) for i in others["label"].tolist()})
        place = {label: i for i, label in enumerate(labels)}
        number = np.array([place[completion.known(i)] for i in others["label"].tolist()], np.int64)
        _leave(ranges, "completed", {**others, "label": number})
        for name, groups in (("outside", completion.classes), ("certified", completion.modules)):
            for table, columns in grouping_tables(name, groups).items():
                _leave(ranges, table, columns)
        modules = NamedModules.of(add_set.modules).distinct
        told = ((module, Verdict.CONSISTENT.value) for module in modules)
        audited = drawn(add_set.tbox, told, asking.audit) if asking.audit else None
        return CompletionFigures(
            tuple(labels), add_set.size, len(add_set.modules), decider.shapes(add_set.tbox, modules), audited
        )
    finally:
        decider.reasoner.close()


def _path(ranges: Ranges, table: str) -> Path:
    return Path(ranges.scratch) / "completion" / table


def _leave(ranges: Ranges, table: str, columns: Columns) -> None:
    save(_path(ranges, table), columns)


def write_completion(
    session: SparkSession, ranges: Ranges, completed: CompletionFigures, labels: Sequence[Label]
) -> dict[str, list[DataFile]]:
    """Writes the tables of N; ``labels``: by number, those of ``completed`` among them."""
    place = {label: i for i, label in enumerate(labels)}
    number = np.array([place[label] for label in completed.labels], np.int64)
    files = run(session, partial(_write, ranges=ranges, number=number), COMPLETION, "writing the model")
    return {name: [file] if file is not None else [] for name, file in zip(COMPLETION, files)}


def _write(table: str, *, ranges: Ranges, number: Ints) -> DataFile | None:
    columns = load(_path(ranges, table))
    if not len(next(iter(columns.values()))):
        return None
    if "label" in columns:
        columns["label"] = number[columns["label"]]
    return write_part(place_of(ranges.store), table, ranges.file(0), columns)
