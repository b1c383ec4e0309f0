"""Are conflicts what they claim to be? Asked of HermiT, from scratch, one conflict at a time.

    python -m tests.tools.explanations --store KG --insert insert.nt [--faults faults.json]

checks a batch and asks HermiT of every conflict whether it is inconsistent by itself, and
consistent without any one of its assertions and axioms; with ``--faults`` (of `shiq generate
lubm`) also whether the conflicts are the planted ones.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shiq.answers.result import Conflict
from shiq.answers.verdict import Verdict
from shiq.api import open_store
from shiq.jobs.reports.statement_reader import read_line
from shiq.model.ntriples import assertion_lines
from shiq.reasoner.hermit import HermitReasoner


@dataclass(frozen=True, slots=True)
class Verified:
    """Of one conflict: whether it contradicts itself, what can be left out of it, and what
    HermiT did not decide.
    """

    sufficient: bool
    superfluous: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return self.sufficient and not self.superfluous and not self.undecided


def verified(conflict: Conflict, hermit: HermitReasoner) -> Verified:
    """What HermiT says of ``conflict``."""
    assertions = [*conflict.insertion_values, *conflict.base_values]
    axioms = [*conflict.axiom_values]
    whole = hermit.decide_consistency(axioms, assertions)
    undecided = [whole.reason] if whole.verdict is Verdict.UNDETERMINED else []
    superfluous: list[str] = []
    for i, text in enumerate([*conflict.axioms, *(assertion_lines(a)[0] for a in assertions)]):
        j = i - len(axioms)
        part = hermit.decide_consistency(
            [a for n, a in enumerate(axioms) if n != i],
            [a for n, a in enumerate(assertions) if n != j or j < 0],
        )
        if part.verdict is Verdict.INCONSISTENT:
            superfluous.append(text)
        elif part.verdict is Verdict.UNDETERMINED:
            undecided.append(part.reason)
    return Verified(whole.verdict is Verdict.INCONSISTENT, tuple(superfluous), tuple(undecided))


@dataclass(frozen=True, slots=True)
class Compared:
    """Culprits found and planted, as N-Triples lines, and how many of the planted faults are
    conflicts exactly.
    """

    found: frozenset[str]
    planted: frozenset[str]
    faults: int
    exact: int

    @property
    def precision(self) -> float:
        return len(self.found & self.planted) / len(self.found) if self.found else 1.0

    @property
    def recall(self) -> float:
        return len(self.found & self.planted) / len(self.planted) if self.planted else 1.0


def compared(conflicts: Sequence[Conflict], faults: Sequence[Sequence[str]]) -> Compared:
    """The culprits of ``conflicts`` beside those of ``faults`` (sets of N-Triples lines)."""
    named = {frozenset(map(_spelt, conflict.insertions)) for conflict in conflicts}
    planted = [frozenset(map(_spelt, fault)) for fault in faults]
    return Compared(
        frozenset(line for conflict in named for line in conflict),
        frozenset(line for fault in planted for line in fault),
        len(planted),
        sum(fault in named for fault in planted),
    )


def _spelt(text: str) -> str:
    """One spelling of a line, and of a sameness or difference, which have no direction."""
    line = read_line(text)
    if line is None:
        return text
    ends = (line.subject, line.object)
    if line.predicate.endswith(("#sameAs>", "#differentFrom>")):
        ends = (min(ends), max(ends))
    return f"{ends[0]} {line.predicate} {ends[1]} ."


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="Ask HermiT whether conflicts are sufficient and minimal."
    )
    parser.add_argument("--store", required=True, type=Path)
    parser.add_argument("--insert", required=True, nargs="+")
    parser.add_argument("--faults", type=Path)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(arguments)
    with open_store(given.store) as session:
        result = session.check(list(given.insert), explain_seconds=None)
    hermit = HermitReasoner()
    try:
        answers = [verified(conflict, hermit) for conflict in result.conflicts]
    finally:
        hermit.close()
    report: dict[str, Any] = {
        "verdict": result.verdict.value,
        "seconds": dict(result.statistics.seconds),
        "conflicts": len(answers),
        "causes": len(result.groups),
        "complete": result.complete and not result.more_conflicts,
        "sufficient": sum(a.sufficient for a in answers),
        "minimal": sum(not a.superfluous for a in answers),
        "undecided": sum(bool(a.undecided) for a in answers),
    }
    if given.faults:
        found = compared(
            result.conflicts,
            [fault["insertions"] for fault in json.loads(given.faults.read_text())],
        )
        report |= {
            "faults": found.faults,
            "faults_exact": found.exact,
            "precision": found.precision,
            "recall": found.recall,
        }
    text = json.dumps(report, indent=1)
    if given.json:
        given.json.write_text(text + "\n", encoding="utf-8")
    print(text)
    return 0 if all(a.holds for a in answers) else 1


if __name__ == "__main__":
    sys.exit(main())
