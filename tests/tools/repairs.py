"""Repairs of random inconsistent bases, judged by HermiT and by brute force.

    python -m tests.tools.repairs --seeds 0:900 --count 500

Of each seed the union of base and batch is asked about as a base, again as a batch onto the base,
and a part of it as a small base. The repaired assertions have to be consistent; with at most
`MOST_BRUTE` assertions no smaller set of removals may do.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import click

from shiq.answers.repair import RepairPlan
from shiq.answers.verdict import Verdict
from shiq.api import certify, check_insertions
from shiq.model import Assertion, Axiom
from shiq.model.abox import abox_of
from shiq.reasoner.hermit import HermitReasoner
from tests.tools.random_ontologies.clashes import random_clash_kb
from tests.tools.random_ontologies.kb import RandomKB, random_kb

#: Assertions up to which the smallest repair is also searched for by brute force.
MOST_BRUTE = 12
#: Whether axioms with assertions are consistent; None: not decided.
Oracle = Callable[[Sequence[Axiom], Sequence[Assertion]], "bool | None"]


def kb_of_seed(seed: int) -> RandomKB:
    """A random knowledge base: every other one has planted contradictions."""
    return random_clash_kb(seed) if seed % 2 else random_kb(seed)


def repaired(assertions: Sequence[Assertion], plan: RepairPlan) -> list[Assertion]:
    """The assertions with the changes of ``plan``."""
    gone = {change.assertion for change in plan.changes}
    return [x for x in assertions if x not in gone] + [
        change.replacement for change in plan.changes if change.replacement
    ]


def smallest_repair(
    axioms: Sequence[Axiom], assertions: Sequence[Assertion], oracle: Oracle
) -> int | None:
    """The least number of removals that leaves ``assertions`` consistent, by trying all sets; None
    if something is not decided or nothing does.
    """
    for size in range(len(assertions) + 1):
        for gone in combinations(range(len(assertions)), size):
            answer = oracle(axioms, [x for i, x in enumerate(assertions) if i not in gone])
            if answer is None:
                return None
            if answer:
                return size
    return None


@dataclass(frozen=True)
class Case:
    """A plan, and the axioms and assertions that it is for."""

    name: str
    axioms: Sequence[Axiom]
    assertions: Sequence[Assertion]
    plan: RepairPlan

    def faults(self, oracle: Oracle) -> list[str]:
        """What is wrong with the plan."""
        plan, faults = self.plan, []
        if plan.is_verified and oracle(self.axioms, repaired(self.assertions, plan)) is False:
            faults.append("the repaired base is inconsistent")
        if len(self.assertions) <= MOST_BRUTE:
            least = smallest_repair(self.axioms, self.assertions, oracle)
            if least is not None and plan.is_verified and len(plan.changes) > least:
                faults.append(f"{len(plan.changes)} changes, where {least} would do")
            if least is not None and not plan.is_verified:
                faults.append(f"no repair, where {least} changes would do: {plan.reason}")
        return faults


def cases_of(seed: int) -> Iterator[Case]:
    """The cases of a seed that are inconsistent."""
    kb = kb_of_seed(seed)
    union = kb.union()
    small = random.Random(seed).sample(union, min(len(union), MOST_BRUTE))
    asked = {"reasoner": "own", "outside": "undetermined", "repairs": True}
    for name, assertions in (("whole", union), ("small", small)):
        plan = certify([kb.tbox, abox_of(assertions)], **asked).repairs
        if plan:
            yield Case(name, kb.tbox.axioms, assertions, plan)
    parts = (kb.abox, kb.insertions, kb.deletions)
    result = check_insertions(kb.tbox, *map(abox_of, parts), **asked)
    if plan := result.repairs:
        name, assertions = ("base", kb.abox) if plan.is_for_base else ("batch", union)
        yield Case(name, kb.tbox.axioms, assertions, plan)


@click.command()
@click.option("--seeds", default="0:900", help="First and last seed, as 0:900.")
@click.option("--count", default=500, help="Stop after so many inconsistent bases.")
def main(seeds: str, count: int) -> None:
    """Judge repairs by HermiT."""
    hermit = HermitReasoner(timeout=20)

    def oracle(axioms: Sequence[Axiom], assertions: Sequence[Assertion]) -> bool | None:
        verdict = hermit.decide_consistency(axioms, assertions).verdict
        return None if verdict is Verdict.UNDETERMINED else verdict is Verdict.CONSISTENT

    first, last = map(int, seeds.split(":"))
    counts = Counter[str]()
    for seed in range(first, last):
        cases = [*cases_of(seed)]
        counts["bases"] += bool(cases)
        for case in cases:
            plan = case.plan
            counts[f"{case.name}: {'verified' if plan.is_verified else plan.reason}"] += 1
            counts[f"{case.name}: smallest"] += plan.is_smallest
            counts["by brute force"] += len(case.assertions) <= MOST_BRUTE
            for fault in case.faults(oracle):
                counts["faults"] += 1
                click.echo(f"seed {seed}, {case.name}: {fault}")
        if counts["bases"] >= count:
            break
    for what, number in sorted(counts.items()):
        click.echo(f"{number:6} {what}")
    raise SystemExit(bool(counts["faults"]))


if __name__ == "__main__":
    main()
