"""One run of ours, in this process: ``python -m shiq.jobs.evaluation.evaluate.worker TASK.json
ANSWER.json``.

The task names an action: ``index`` (build and certify a store), ``check`` (a batch against a
store), ``confirm`` (put a conflict of a batch, a handful of assertions and axioms, to HermiT).
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shiq.errors import ShiqError


def index(task: Mapping[str, Any]) -> dict[str, Any]:
    """Builds the store ``store`` from ``tbox`` and ``abox``."""
    from shiq.api import index as run

    return run(
        task["tbox"],
        task["abox"],
        task["store"],
        replace_store="always",
        max_conflicts=0,
        **_settings(task),
    ).to_dict()


def check(task: Mapping[str, Any]) -> dict[str, Any]:
    """Checks ``insertions`` against ``store``; conflicts are counted, not explained."""
    from shiq.api import open_store

    with open_store(task["store"]) as session:
        more = {"criterion": task["criterion"], "engine": task["engine"]}
        return session.check(
            task["insertions"], max_conflicts=0, **_settings(task), **more
        ).to_dict()


def confirm(task: Mapping[str, Any]) -> dict[str, Any]:
    """A conflict of the batch, and whether HermiT, given it alone, calls it inconsistent.
    Consistency is antitone: if it is, then so is everything that contains it.
    """
    from shiq.api import open_store
    from shiq.rdf import read_assertions, read_ontology
    from shiq.reasoner.hermit import HermitReasoner

    with open_store(task["store"]) as session:
        result = session.check(
            task["insertions"], max_conflicts=task.get("conflicts", 1), **_settings(task)
        )
    if not result.conflicts:
        return {"confirmed": False, "why": f"no conflict is known ({result.verdict.value})"}
    conflict = min(result.conflicts, key=lambda c: len(c.insertions) + len(c.base) + len(c.axioms))
    with tempfile.TemporaryDirectory() as folder:
        axioms, facts = Path(folder) / "axioms.ofn", Path(folder) / "facts.nt"
        axioms.write_text("Ontology(\n" + "\n".join(conflict.axioms) + "\n)\n", encoding="utf-8")
        facts.write_text(
            "".join(f"{line}\n" for line in (*conflict.insertions, *conflict.base)),
            encoding="utf-8",
        )
        ontology = read_ontology([str(axioms)])
        given = read_assertions([str(facts)], ontology.tbox.signature, axioms=ontology.tbox.axioms)
        reasoner = HermitReasoner()
        try:
            answer = reasoner.decide_consistency(
                ontology.tbox.axioms, [*ontology.abox, *given.abox]
            )
        finally:
            reasoner.close()
    return {
        "confirmed": answer.verdict.value == "inconsistent",
        "why": answer.reason or f"HermiT: {answer.verdict.value}",
        "conflict": conflict.to_dict(),
    }


def _settings(task: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "allow": task["allow"],
        "timeout": task["timeout"],
        "heap": task["heap"],
        "reasoner": task["reasoner"],
    }


ACTIONS = {"index": index, "check": check, "confirm": confirm}


def main(arguments: list[str]) -> int:
    """Does the task, and writes the answer, or what stands in its way; other errors are left to
    Python.
    """
    task = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    began = time.perf_counter()
    try:
        answer = ACTIONS[task["action"]](task)
    except ShiqError as error:
        answer = {"trouble": error.message, "is_absent": isinstance(error.__cause__, ImportError)}
    answer["worked_seconds"] = time.perf_counter() - began
    Path(arguments[1]).write_text(json.dumps(answer), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
