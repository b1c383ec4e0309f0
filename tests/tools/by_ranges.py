"""N by ranges beside N in one task: `python -m tests.tools.by_ranges TBOX WIDTH FILE…` builds a
store of the files in ranges of WIDTH individuals, in this process, and prints CPU seconds: of
one task, of all ranges, and of the range that took most.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shiq.abox_ops.elements.quotient import StoredPartition
from shiq.abox_ops.engine import never_over
from shiq.abox_ops.local_engine import LocalKnowledgeBase
from shiq.abox_ops.modules.decide import Decider
from shiq.jobs.building import build, model_search, worker
from shiq.jobs.building.exchange import Executor
from shiq.jobs.building.executor import ProcessExecutor
from shiq.jobs.building.merge_class_rounds import IndexedStore
from shiq.jobs.building.model_search import CertifiedModelFigures
from shiq.jobs.building.model_search_tasks import linked_module_tables
from shiq.jobs.building.tables import Ranges
from shiq.jobs.building.worker import ReasonerSettings
from shiq.jobs.store.upkeep.build import certify_by_model
from shiq.model.abox import ABox
from shiq.rdf import read_ontology
from shiq.reasoner import create_reasoner
from tests.jobs.test_spark_building import HERE, BuildSettings, built

_COMPLETE = model_search.certify_by_model
#: By what was run, CPU seconds by range, or by task where tasks are none of a range.
_spent: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))


class _Timed(ProcessExecutor):
    """Books the CPU seconds of each task."""

    def run(self, task: Callable[[Any], Any], parts: Sequence[Any], what: str) -> list[Any]:
        found = []
        for place, part in enumerate(parts):
            begun = time.process_time()
            found.append(task(part))
            _spent[what][part if isinstance(part, int) else getattr(part, "i", place)] += (
                time.process_time() - begun
            )
        return found


def _beside(
    executor: Executor, ranges: Ranges, indexed: IndexedStore, asking: ReasonerSettings
) -> CertifiedModelFigures | None:
    """What ranges find, which is what one task finds."""
    worker._cache.clear()
    begun = time.process_time()
    base, index, roles = indexed.open_cached()
    knowledge_base = LocalKnowledgeBase(indexed.rules.tbox, base, roles, index)
    theirs = certify_by_model(knowledge_base, Decider(create_reasoner("own")).decide, never_over)
    print(f"{len(ranges)} ranges; one task: {time.process_time() - begun:.2f}")
    worker._cache.clear()
    ours = _COMPLETE(_Timed(), ranges, indexed, asking)
    assert (ours is None) == (theirs is None), "one of the two has no model"
    if ours is not None and theirs is not None:
        assert set(_rows(theirs[0].modules)) == set(_linked(ours, ranges))
        assert list(_rows(theirs[0].classes)) == list(_rows(ours.search_state.partition()))
        print(
            f"deviating: {len(theirs[0].exceptional_labels)}, in merge classes: {len(theirs[0].classes)}"
        )
    total: dict[int, float] = defaultdict(float)
    for what, spent in _spent.items():
        print(
            f"{what}: {len(spent)} tasks, {sum(spent.values()):.2f} in all, {max(spent.values()):.2f} at most"
        )
        for i, seconds in spent.items() if what != "deciding shapes" else ():
            total[i] += seconds
    in_all = sum(sum(spent.values()) for spent in _spent.values())
    print(f"by ranges: {in_all:.2f} in all, {max(total.values()):.2f} at most, deciding apart")
    return ours


def _rows(groups: StoredPartition) -> Iterator[tuple[int, int]]:
    for columns in groups.by_member.scan():
        yield from zip(columns["member"].tolist(), columns["group"].tolist())


def _linked(ours: CertifiedModelFigures, ranges: Ranges) -> Iterator[tuple[int, int]]:
    for i in range(len(ranges)) if ours.search_state.is_joined else ():
        columns = linked_module_tables(i, ranges).get("certified", {})
        yield from zip(*(columns[name].tolist() for name in ("member", "group") if columns))


def main() -> None:
    """Builds and prints."""
    tbox, width, *files = sys.argv[1:]
    ontology = replace(read_ontology([tbox]), abox=ABox())
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "certify_by_model", _beside)
        settings = BuildSettings(width=int(width), chunk_bytes=1 << 23, reasoner="own")
        built(HERE, Path(folder) / "kg", ontology, [Path(file) for file in files], settings)


if __name__ == "__main__":
    main()
