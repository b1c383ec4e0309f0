"""Checks in one process, with a store open: ``python -m tests.tools.bench.worker TASK.json
ANSWER.json``.

The task: ``store``; ``batches``, files of insertions; ``single``: take each line of these files
as a batch of its own; ``explained``: explain conflicts, which are counted else; ``allow``. The
answer has one entry for each batch: wall and CPU seconds of the check alone, verdict, conflicts
explained, |A_add|, |A|.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from shiq.api import Session, open_store
from shiq.rdf import read_assertions
from tests.tools.bench.data import one_by_one


def checks(task: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Checks each batch of the task."""
    more = (
        {"allow": task["allow"]}
        if task["explained"]
        else {"allow": task["allow"], "max_conflicts": 0}
    )
    with open_store(task["store"]) as session:
        for batch in _singles(task) if task["single"] else task["batches"]:
            yield _checked(session, batch, more)


def _singles(task: Mapping[str, Any]) -> Iterator[object]:
    """Each line as an ABox, as a program that has it in memory hands it over."""
    from shiq.jobs.store import open_store as opened

    with opened(Path(task["store"])) as store:
        signature = store.tbox.signature
    line_file = Path(task["batches"][0]).with_suffix(".line.nt")
    for batch in task["batches"]:
        for line in one_by_one(Path(batch)):
            line_file.write_text(line, encoding="utf-8")
            yield read_assertions([str(line_file)], signature).abox


def _checked(session: Session, batch: object, more: Mapping[str, Any]) -> dict[str, Any]:
    wall, cpu = time.perf_counter(), time.process_time()
    result = session.check(batch, **more)
    return {
        "seconds": time.perf_counter() - wall,
        "cpu_seconds": time.process_time() - cpu,
        "verdict": result.verdict.value,
        "conflicts": len(result.conflicts),
        "add_set": result.statistics.add_set,
        "assertions": result.statistics.assertions,
    }


def main(arguments: list[str]) -> int:
    """Does the task, and writes the answer; errors are left to Python."""
    task = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    Path(arguments[1]).write_text(json.dumps(list(checks(task))), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
