"""The lakehouse of this example: a Delta table of triples, one version a step.

python lake.py first | tonight | repair | late
"""

import sys
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from pyarrow import parquet

TABLE = "out/lake/fleet"
A = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
POSITIVE = "http://www.w3.org/2001/XMLSchema#positiveInteger"


def name(local: str) -> str:
    return local if local.startswith('"') else f"<http://example.org/fleet#{local}>"


def rows(*triples: tuple[str, str, str]) -> pa.Table:
    """The triples as rows: columns s, p and o hold N-Triples terms, `key` names the row."""
    subjects, predicates, objects = zip(*triples, strict=True)
    return pa.table(
        {
            "key": [f"{s}/{p}" for s, p, _ in triples],
            "s": list(map(name, subjects)),
            "p": [f"<{A}>" if p == "a" else name(p) for p in predicates],
            "o": list(map(name, objects)),
        }
    )


FIRST = rows(
    ("t1", "a", "Truck"),
    ("t2", "a", "Truck"),
    ("w1", "a", "Trailer"),
    ("t1", "pulls", "w1"),
    ("t1", "parkedAt", "north"),
    ("north", "a", "Depot"),
    ("w1", "axles", f'"2"^^<{POSITIVE}>'),
)
#: A trailer that pulls another one, and a truck that is parked.
TONIGHT = rows(("w1", "pulls", "w2"), ("t2", "parkedAt", "north"))
#: w3 has no axles at all, which the ontology rules out; w4 is fine.
LATE = rows(("w3", "axles", f'"0"^^<{POSITIVE}>'), ("w4", "axles", f'"3"^^<{POSITIVE}>'))


def main(step: str) -> None:
    match step:
        case "first":
            write_deltalake(TABLE, FIRST)
        case "tonight":
            write_deltalake(TABLE, TONIGHT, mode="append")
        case "repair":
            DeltaTable(TABLE).delete("key = 'w1/pulls'")
            write_deltalake(TABLE, rows(("t2", "pulls", "w2")), mode="append")
        case "late":
            parquet.write_table(LATE, Path("out/late.parquet"))
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1])
