"""Worker process of an evaluation: builds one store, checks one batch or confirms one conflict, as
a JSON file says. ``python -m shiq.jobs.evaluation.evaluate.worker TASK.json ANSWER.json``.

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


def build_store(task: Mapping[str, Any]) -> dict[str, Any]:
    """Build and certify a store from a TBox and an ABox; returns the JSON of the result. All file
    names are entries of ``task``.
    """
    from shiq.api import index as run

    return run(
        task["tbox"],
        task["abox"],
        task["store"],
        replace_store="always",
        max_conflicts=0,
        **_check_options(task),
    ).to_dict()


def check_batch(task: Mapping[str, Any]) -> dict[str, Any]:
    """Check the batch ``insertions`` against ``store`` (entries of ``task``); returns the JSON of
    the result, in which conflicts are counted but not explained.
    """
    from shiq.api import open_store

    with open_store(task["store"]) as session:
        more = {"criterion": task["criterion"], "engine": task["engine"]}
        return session.check(
            task["insertions"], max_conflicts=0, **_check_options(task), **more
        ).to_dict()


def confirm_conflict(task: Mapping[str, Any]) -> dict[str, Any]:
    """Check a batch, and ask HermiT whether the smallest conflict found (axioms and assertions) is
    inconsistent by itself. Returns JSON: ``confirmed``, ``why`` and the conflict.

    If it is, everything that contains it is inconsistent too.
    """
    from shiq.api import open_store
    from shiq.rdf import read_assertions, read_ontology
    from shiq.reasoner.hermit import HermitReasoner

    with open_store(task["store"]) as session:
        result = session.check(
            task["insertions"], max_conflicts=task.get("conflicts", 1), **_check_options(task)
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


def _check_options(task: Mapping[str, Any]) -> dict[str, Any]:
    """Options for shiq's functions that every task has: leftovers allowed, time limit, heap,
    reasoner.
    """
    return {
        "allow": task["allow"],
        "timeout": task["timeout"],
        "heap": task["heap"],
        "reasoner": task["reasoner"],
    }


ACTIONS = {"index": build_store, "check": check_batch, "confirm": confirm_conflict}


def main(arguments: list[str]) -> int:
    """Do the task that a JSON file describes, and write the result, or the error of shiq that
    prevents it, to another.
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
