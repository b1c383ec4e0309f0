"""A cost adversary for a gate's hints: all other spellings that are tried must cost little more
than the batch as it was meant.

    python -m tests.tools.hint_floods --seeds 0:200

Each seed takes a base of `tests.tools.random_ontologies.recurring`, and the same again under
other names as a batch. Into that come role assertions whose object is spelt as a literal: the
gate sets these lines aside, and looks for what they were meant to say. Some of that is
consistent, some is not. Counts are compared, never times, once the batch is decided:

* all hints together come to twice what one check of the batch as it was meant comes to, and as
  much again for each check that found no hint: then lines are halved until those that contradict
  stand alone;
* HermiT is asked nothing.

A flood makes the command end with 1.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import click

from shiq.answers.result import Result
from shiq.answers.verdict import Verdict
from shiq.api import Session, index, open_store
from shiq.functional import ontology_text
from shiq.jobs.checking import session
from shiq.jobs.gate import gate
from shiq.model import Assertion, ObjectPropertyAssertion
from shiq.model.abox import individuals_of
from shiq.model.ntriples import assertion_lines
from tests.tools.differential import _seeds as read_seeds
from tests.tools.floods import MOST_WORK, Costs, Exploded, Meter
from tests.tools.random_ontologies.gadgets import renamed
from tests.tools.random_ontologies.recurring import RecurringWorld, random_world

#: Pieces of a base, and lines of its batch that are spelt wrong.
SIZE, LINES = 24, 12
#: What each count may come to in any case.
_SLACK = {"looked_at": 24, "rounds": 80, "questions": 16, "laid_out": 48}


class GateMeter(Meter):
    """Counts what a gate does while `running`. ``looked_at``: assertions in A_add, of all checks
    together; ``refused``: checks that did not end with CONSISTENT.
    """

    def __init__(self) -> None:
        super().__init__()
        self.looked_at = self.refused = 0

    @contextmanager
    def running(self) -> Iterator[GateMeter]:
        counted = self._counting_checks(session.check_batch)
        with (
            patch.object(session, "check_batch", counted),
            patch.object(session, "check_batch", counted),
            super().running(),
        ):
            yield self

    @property
    def costs(self) -> Costs:
        """The costs so far, but for work."""
        return Costs(self.looked_at, self.rounds, self.questions, self.laid_out, self.handed_on)

    def _counting_checks(self, check: Callable[..., Result]) -> Callable[..., Result]:
        def counted(*arguments: Any, **options: Any) -> Result:
            result = check(*arguments, **options)
            self.looked_at += result.statistics.add_set if result.statistics is not None else 0
            self.refused += result.verdict is not Verdict.CONSISTENT
            return result

        return counted


def search_hint_floods(seed: int, size: int = SIZE, lines: int = LINES) -> list[str] | None:
    """The floods of one seed; None where base and batch are no consistent start, or no other
    spelling is looked for.
    """
    world = random_world(seed, size)
    link = next(a.property for a in world.base if isinstance(a, ObjectPropertyAssertion))
    ends = ((f"urn:node{i}", f"urn:node{i}") for i in range(0, size, max(1, size // lines)))
    return compare_hints(
        world, [ObjectPropertyAssertion(link, _again(first), second) for first, second in ends]
    )


def compare_hints(
    world: RecurringWorld, meant: Sequence[ObjectPropertyAssertion]
) -> list[str] | None:
    """The floods of a batch that repeats the base of ``world``, with lines that spell ``meant``
    wrong; None as above.
    """
    names = {name: _again(name) for a in world.base for name in individuals_of(a)}
    good = _lines_of(renamed(a, names) for a in world.base)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "t.ofn").write_text(ontology_text(world.tbox.axioms, ()), encoding="utf-8")
        (folder / "a.nt").write_text("".join(_lines_of(world.base)), encoding="utf-8")
        (folder / "meant.nt").write_text("".join([*good, *_lines_of(meant)]), encoding="utf-8")
        (folder / "batch.nt").write_text(
            "".join([*good, *map(_misspelt, _lines_of(meant))]), encoding="utf-8"
        )
        base = index(folder / "t.ofn", folder / "a.nt", folder / "kg", reasoner="own")
        if base.verdict is not Verdict.CONSISTENT:
            return None
        try:
            with open_store(folder / "kg") as opened:
                hints, refused = _costs_of_hints(opened, folder / "batch.nt")
        except Exploded:
            return [f"exploded: more work than {MOST_WORK:,}"]
        with open_store(folder / "kg") as opened, GateMeter().running() as meter:
            opened.check(folder / "meant.nt", reasoner="own", max_conflicts=0)
    if hints is None:
        return None
    found = [f"HermiT is asked {hints.handed_on:,} modules"] if hints.handed_on else []
    for count, slack in _SLACK.items():
        asked, once = getattr(hints, count), getattr(meter.costs, count)
        if asked > (2 + refused) * once + slack:
            found.append(
                f"{count}: {asked:,} by checks of hints, {refused:,} without, {once:,} of the batch as it was meant"
            )
    return found


def _costs_of_hints(opened: Session, batch: Path) -> tuple[Costs | None, int]:
    """What a gate counts from when ``batch`` is decided, and how many checks had no hint; None
    where it looks for none.
    """
    meter, before = GateMeter(), list[tuple[Costs, int]]()
    with meter.running():
        decided = lambda _: before.append((meter.costs, meter.refused))  # noqa: E731
        gate(opened, [str(batch)], mode="split", announce=decided, explain_seconds=None)
    return (meter.costs - before[0][0], meter.refused - before[0][1]) if before else (None, 0)


def _again(individual: str) -> str:
    return individual.replace("urn:", "urn:again-", 1)


def _lines_of(assertions: Iterable[Assertion]) -> list[str]:
    return [f"{line}\n" for assertion in assertions for line in assertion_lines(assertion)]


def _misspelt(line: str) -> str:
    """``line`` with its object as a literal that spells the IRI."""
    subject, property, object = line.split()[:3]
    return f'{subject} {property} "{object[1:-1]}" .\n'


@click.command(help=__doc__)
@click.option(
    "--seeds",
    callback=read_seeds,
    default="0:200",
    show_default=True,
    help="FROM:TO, TO not included.",
)
@click.option(
    "--size", type=click.IntRange(4), default=SIZE, show_default=True, help="Pieces of the base."
)
def main(seeds: range, size: int) -> None:
    found = {seed: search_hint_floods(seed, size) for seed in seeds}
    for seed, floods in found.items():
        for flood in floods or ():
            click.echo(f"seed {seed}: {flood}")
    flooded, cases = (
        sum(map(test, found.values())) for test in (bool, lambda floods: floods is not None)
    )
    click.echo(f"{len(seeds)} seeds, {cases} that look for hints, {flooded} with a flood")
    sys.exit(1 if flooded else 0)


if __name__ == "__main__":
    main()
