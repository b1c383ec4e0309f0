"""The engine `spark` over Spark Connect beside the engine `local`, in a process of its own,
since one holds one kind of session.

``python -m tests.spark_connect FOLDER`` prints a line for each question, and ends with code 1
where the two differ.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path

from shiq.answers.result import Result
from shiq.api import index, open_store
from shiq.jobs.doctor import examine
from shiq.jobs.store import open_store as stored
from shiq.model import (
    Class,
    ClassAssertion,
    DisjointClasses,
    ObjectProperty,
    ObjectPropertyAssertion,
    ObjectSomeValuesFrom,
    ObjectUnionOf,
    SubClassOf,
    TBox,
)
from shiq.model.abox import abox_of
from shiq.model.ntriples import assertion_lines

A, B, C, D = (Class(f"urn:{name}") for name in "ABCD")
R = ObjectProperty("urn:r")
TBOX = TBox(
    [
        SubClassOf(ObjectSomeValuesFrom(R, A), B),
        DisjointClasses((B, C)),
        SubClassOf(D, ObjectUnionOf((A, C))),
    ]
)
BASE = [
    *(ClassAssertion(D, f"urn:d{i}") for i in range(40)),
    *(ObjectPropertyAssertion(R, f"urn:d{i}", f"urn:d{i + 1}") for i in range(39)),
]
BATCHES = {
    "consistent": [ClassAssertion(A, "urn:d3"), ObjectPropertyAssertion(R, "urn:new", "urn:d7")],
    "inconsistent": [
        ClassAssertion(A, "urn:d9"),
        ClassAssertion(C, "urn:d8"),
        ClassAssertion(A, "urn:d30"),
    ],
}


def told(result: Result) -> object:
    """What two engines say alike."""
    conflicts = sorted(sorted(map(str, conflict.insertions)) for conflict in result.conflicts)
    return result.verdict, conflicts, Counter(result.a_add), result.statistics.add_set


def lines_of(path: Path) -> list[str]:
    """All lines of the store at ``path``, sorted."""
    with stored(path) as store:
        return sorted(line for assertion in store.export() for line in assertion_lines(assertion))


def main(folder: Path) -> int:
    os.environ["SPARK_REMOTE"] = "local[2]"
    from shiq.jobs.spark.session import is_connect, spark_session, stop_session

    session, _ = spark_session(settings={"spark.sql.shuffle.partitions": "2"})
    wrong = 0

    def say(question: str, local: object, spark: object) -> None:
        nonlocal wrong
        wrong += local != spark
        print(question, "equal" if local == spark else f"differs: {local} {spark}", flush=True)

    say("a session over Connect", True, is_connect(session))
    say("settings are handed on", "2", session.conf.get("spark.sql.shuffle.partitions"))
    base = folder / "base.nt"
    base.write_text(
        "".join(line + "\n" for assertion in BASE for line in assertion_lines(assertion))
    )
    first = index([TBOX], [base], folder / "local")
    say("index", first.verdict, index([TBOX], [base], folder / "spark", engine="spark").verdict)
    with open_store(folder / "local") as local, open_store(folder / "spark") as far:
        for name, batch in BATCHES.items():
            for criterion in ("model", "clausal", "definition7"):
                given = abox_of(batch)
                found = [
                    kb.check(given, engine=engine, criterion=criterion)
                    for kb, engine in ((local, "local"), (far, "spark"))
                ]
                say(f"{name}, {criterion}", *map(told, found))
                say(f"{name}, {criterion}: verdict", name, found[1].verdict.value)
                say(
                    f"{name}, {criterion}: costs that Connect does not tell",
                    False,
                    "jobs" in found[1].statistics.spark,
                )
        lines = [
            line.removesuffix(" .").split(" ", 2)
            for a in BATCHES["inconsistent"]
            for line in assertion_lines(a)
        ]
        frame = session.createDataFrame(
            [tuple(line) for line in lines], "s string, p string, o string"
        )
        say(
            "a DataFrame",
            told(local.check(abox_of(BATCHES["inconsistent"]))),
            told(far.check(frame, engine="spark")),
        )
        broken = folder / "broken.nt"
        broken.write_text(base.read_text() + "<urn:d1> <urn:r> .\n")
        unread = [
            kb.check(broken, engine=engine) for kb, engine in ((local, "local"), (far, "spark"))
        ]
        say(
            "a line that was not read",
            *((result.verdict, len(result.evidence.leftovers)) for result in unread),
        )
        say("a line that was not read: verdict", "undetermined", unread[1].verdict.value)
        given = abox_of(BATCHES["consistent"])
        taken = [
            kb.check(given, engine=engine, commit=True)
            for kb, engine in ((local, "local"), (far, "spark"))
        ]
        say("a commit", *((result.verdict, result.committed) for result in taken))
        say("what is there after it", lines_of(folder / "local"), lines_of(folder / "spark"))
        given = abox_of(BATCHES["inconsistent"])
        say(
            "a check after it",
            *(
                told(kb.check(given, engine=engine))
                for kb, engine in ((local, "local"), (far, "spark"))
            ),
        )
    rows = [tuple(line.removesuffix(" .").split(" ", 2)) for line in base.read_text().splitlines()]
    framed = session.createDataFrame(rows, "s string, p string, o string")
    say(
        "index of a DataFrame",
        first.verdict,
        index([TBOX], [framed], folder / "framed", engine="spark").verdict,
    )
    say("what is there of it", sorted(base.read_text().splitlines()), lines_of(folder / "framed"))
    findings = [
        (found.what, found.state) for found in examine(spark=True) if found.what == "Spark session"
    ]
    say("what the doctor says", [("Spark session", "ok")], findings)
    stop_session(session)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
