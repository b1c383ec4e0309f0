"""The published method on the specification, local and graphframes over random batches: equal
A_add, modules and verdicts.

    python -m tests.tools.graph_job --seeds 0:2000 --at-once 250

A Spark job has a high fixed cost, so many bases are one knowledge base, with names kept apart.
What a name ends with says of which seed it is, and each seed's verdict is compared with that of
a check of its own.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterable

import click

from shiq.abox_ops.local_engine import LocalKnowledgeBase
from shiq.answers.verdict import Verdict
from shiq.api import check_insertions
from shiq.jobs.checking.deciding import BASE_INCONSISTENT
from shiq.jobs.checking.options import Options
from shiq.model import THING, ClassAssertion
from shiq.model.abox import abox_of
from shiq.reasoner import create_reasoner
from tests.spec.knowledge_base import SpecKnowledgeBase
from tests.tools.random_ontologies.kb import RandomKB, random_kb
from tests.tools.random_ontologies.side_by_side import parts_of, same_add_set, side_by_side
from tests.tools.random_ontologies.tbox import PREFIX
from tests.tools.reduced import checked

_SEED = re.compile(r"\.(\d+)\Z")


def seeds_in(individuals: Iterable[tuple[str, ...]]) -> set[int]:
    """The places of the knowledge bases that ``individuals`` are of."""
    return {
        int(found[1]) for names in individuals for name in names if (found := _SEED.search(name))
    }


def has_model(kb: RandomKB) -> bool:
    """Whether there can be an individual, by the TBox of ``kb``."""
    something = abox_of([ClassAssertion(THING, f"{PREFIX}a")])
    return (
        check_insertions(kb.tbox, None, something, reasoner="own", max_conflicts=0).verdict
        is not Verdict.INCONSISTENT
    )


def compare(seeds: list[int]) -> list[str]:
    """What differs between the engines, and from each seed's own verdict."""
    from shiq.jobs.graphframes.engine import GraphFramesKnowledgeBase, executor_answers

    # A TBox that nothing can be in contradicts whatever stands beside it.
    seeds = [seed for seed in seeds if has_model(random_kb(seed))]
    tbox, base, insertions, deletions = side_by_side(
        (parts_of(random_kb(seed)) for seed in seeds), PREFIX
    )
    given = abox_of(insertions), abox_of(deletions)
    wanted = SpecKnowledgeBase.build(tbox, abox_of(base)).add_set(*given, "definition7")
    same_add_set(
        LocalKnowledgeBase.build(tbox, abox_of(base)).add_set(*given, "definition7"), wanted
    )
    found = GraphFramesKnowledgeBase.build(tbox, abox_of(base)).graph_add_set(*given)
    same_add_set(found, wanted)
    here = create_reasoner("own").decide(wanted.tbox, [named.module for named in wanted.modules])

    def those(verdict: Verdict) -> list[tuple[str, ...]]:
        answered = zip(wanted.modules, here)
        return [
            names
            for named, answer in answered
            if answer.verdict is verdict
            for names in named.elements
        ]

    answers = executor_answers(found, Options(reasoner="own"), None).filter(
        "verdict = 'inconsistent'"
    )
    shapes = [row.shape for row in answers.collect()]
    there = found.elements_of(found.module_tables.members_of(*shapes)).values()
    bad = seeds_in([*wanted.contradictory, *those(Verdict.INCONSISTENT)])
    open_ = seeds_in(those(Verdict.UNDETERMINED)) - bad
    wrong = []
    if (
        seeds_in([*found.contradictory, *(names for elements in there for names in elements)])
        != bad
    ):
        wrong.append(f"seeds {seeds[0]}…{seeds[-1]}: executors answer otherwise")
    for place, seed in enumerate(seeds):
        own = checked(random_kb(seed), "local")
        expected = Verdict.INCONSISTENT if place in bad else Verdict.CONSISTENT
        is_known = (
            own.reason != BASE_INCONSISTENT
            and own.verdict is not Verdict.UNDETERMINED
            and place not in open_
        )
        if is_known and own.verdict is not expected:
            wrong.append(
                f"seed {seed}: {own.verdict.value} by itself, {expected.value} among others"
            )
    counts = f"{len(seeds)} bases, {len(wanted.modules):,} modules, {len(bad)} bases inconsistent, {len(open_)} open"
    click.echo(f"seeds {seeds[0]}…{seeds[-1]}: A_add {found.size:,}, {counts}")
    return wrong


@click.command()
@click.option("--seeds", default="0:250", show_default=True, help="FIRST:END")
@click.option("--at-once", default=250, show_default=True, help="How many are one knowledge base.")
def main(seeds: str, at_once: int) -> None:
    """Compare the engines on random batches; end with 1 where they differ."""
    from shiq.jobs.graphframes.core import open_session, tuned_session

    first, end = map(int, seeds.split(":"))
    wrong: list[str] = []
    with tuned_session(open_session(), 1000):
        for start in range(first, end, at_once):
            begun = time.process_time()
            wrong += compare([*range(start, min(end, start + at_once))])
            click.echo(f"  {time.process_time() - begun:.0f} CPU s of the driver's Python")
    click.echo("\n".join(wrong) or f"0 differ of {end - first:,}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
