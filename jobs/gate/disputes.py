"""What a batch contradicts of the assertions that its base has set aside: told, since the check
itself does not see them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from jobs.gate.lines import Line, Triple, said_by
from shiq.aside import Aside
from shiq.check import certify
from shiq.conflict import Conflict
from shiq.model import TBox

#: More rows of a ledger than this are not held against one batch.
MOST = 2000


def disputes(
    tbox: TBox, lines: Iterable[Line], ledger: Sequence[Aside], reasoner: str = "auto"
) -> tuple[Conflict, ...]:
    """The minimal conflicts that lines of a batch have with what is set aside of the same
    individuals, without the rest of the base: with that, what is set aside contradicts anyway.
    ``insertions``: of the batch; ``base``: of the ledger. Rows about blank nodes are not looked
    at: a batch cannot speak of these.
    """
    rows = [triples for aside in ledger if (triples := _triples(aside))]
    mentioned = {term for triples in rows for triple in triples for term in _individuals(triple)}
    near = [
        line for line in lines if line.triple and mentioned.intersection(_individuals(line.triple))
    ]
    wanted = {term for line in near if line.triple for term in _individuals(line.triple)}
    held = [
        triple
        for triples in rows
        for triple in triples
        if wanted.intersection(_individuals(triple))
    ][:MOST]
    if not near or not held:
        return ()
    said = {line.triple for line in near if line.triple}
    with tempfile.TemporaryDirectory(prefix="shiq-gate-") as folder:
        files = [Path(folder) / name for name in ("batch.nt", "ledger.nt")]
        for file, triples in zip(files, (sorted(said), held)):
            file.write_text(
                "".join(f"{' '.join(triple)} .\n" for triple in triples), encoding="utf-8"
            )
        found = certify(tbox, list(map(str, files)), reasoner=reasoner).conflicts
    split = [
        (
            [x for x in c.base if said_by(x) in said],
            [x for x in c.base if said_by(x) not in said],
            c.axioms,
        )
        for c in found
    ]
    return tuple(
        Conflict(tuple(new), tuple(old), axioms) for new, old, axioms in split if new and old
    )


def _triples(aside: Aside) -> list[Triple]:
    found = [triple for text in aside.triples if (triple := said_by(text))]
    return [] if any(term.startswith("_:") for triple in found for term in triple) else found


def _individuals(triple: Triple) -> tuple[str, ...]:
    s, p, o = triple
    return (s,) if o.startswith('"') or p.endswith("#type>") else (s, o)
