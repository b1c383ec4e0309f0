"""A cost adversary: one planted line must not cost more than its neighbourhood.

    python -m tests.tools.floods --seeds 0:500 --keep floods/

Each seed gives a small random TBox, a consistent base of repeated pieces, a consistent batch,
and one line: a contradiction, a merge, a class at the head of a long chain, a role assertion at
a hub, or a big number. The batch is checked with and without the line, at one size and at twice
that size. Counts are compared, never times:

* what the line adds to a count grows in proportion to the base at most;
* what a line adds that told literals refute grows no faster than its neighbourhood, and stays
  within it;
* the criterion `model` counts at most a few times what `clausal` counts.

The *neighbourhood* of a line: the assertions within two steps of an individual that the line
names, or whose told literals the line changes, by the reference. A line that told literals
refute adds no more assertions than twice those that mention one of these. A flood makes the
command end with 1.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

import click
import numpy as np

from shiq.abox_ops.patch import told_plus
from shiq.answers.verdict import Verdict
from shiq.api import check_insertions
from shiq.functional import ontology_text
from shiq.model import NOTHING, Assertion
from shiq.model.abox import abox_of, individuals_of
from shiq.reasoner.hermit import HermitReasoner
from shiq.reasoner.own_reasoner import OwnReasoner
from shiq.reasoner.protocol import Answer, Module
from tests.spec.knowledge_base import SpecKnowledgeBase
from tests.tools.differential import _seeds as read_seeds
from tests.tools.random_ontologies.recurring import RecurringWorld, random_world

#: A check that does more work than this is stopped: it exploded.
MOST_WORK = 6_000_000
#: Pieces of the smaller of the two bases; the larger has twice as many.
SIZE = 24


@dataclass(frozen=True)
class Costs:
    """Counts of one check.

    looked_at: assertions in A_add.
    rounds: times that told⁺ of the region was brought up to date.
    questions: modules put to the own reasoner; laid_out: their individuals together.
    handed_on: modules put to HermiT.
    work: Python calls, and rows of arrays that were handed from function to function.
    """

    looked_at: int = 0
    rounds: int = 0
    questions: int = 0
    laid_out: int = 0
    handed_on: int = 0
    work: int = 0

    def __sub__(self, other: Costs) -> Costs:
        return Costs(*(a - b for a, b in zip(astuple(self), astuple(other))))


class Exploded(BaseException):
    """A check went beyond `MOST_WORK`. Derives from `BaseException` so that no handler of the
    product can swallow it.
    """


class Meter:
    """Counts what a check does while `running`."""

    def __init__(self, most: int = MOST_WORK) -> None:
        self.most = most
        self.work = self.questions = self.laid_out = self.handed_on = self.rounds = 0
        self._arguments: dict[Any, tuple[str, ...] | None] = {}

    @contextmanager
    def running(self) -> Iterator[Meter]:
        """Counts calls, rows, rounds and questions inside the block."""
        with (
            patch.object(OwnReasoner, "decide", self._counting_questions(OwnReasoner.decide)),
            patch.object(
                OwnReasoner, "decide_if_easy", self._counting_questions(OwnReasoner.decide_if_easy)
            ),
            patch.object(HermitReasoner, "decide", self._decline),
            patch.object(
                told_plus,
                "saturate_region",
                self._counting_rounds(told_plus.saturate_region),
            ),
        ):
            sys.setprofile(self._count)
            try:
                yield self
            finally:
                sys.setprofile(None)

    def _counting_questions(self, decide: Callable[..., Any]) -> Callable[..., Any]:
        def counted(
            reasoner: Any, tbox: Any, modules: Sequence[Any], *arguments: Any, **options: Any
        ) -> Any:
            self.questions += len(modules)
            self.laid_out += sum(len(module.positive) for module in modules)
            return decide(reasoner, tbox, modules, *arguments, **options)

        return counted

    def _decline(
        self, tbox: Any, modules: Sequence[Module], timeout: float | None = None
    ) -> list[Answer]:
        """Stands in for HermiT: counts what it is asked, and answers nothing."""
        self.handed_on += len(modules)
        return [Answer(Verdict.UNDETERMINED, "HermiT is not asked here")] * len(modules)

    def _counting_rounds(self, step: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            self.rounds += 1
            return step(*arguments, **options)

        return counted

    def _count(self, frame: FrameType, event: str, value: Any) -> None:
        if event == "call":
            self.work += 1
            names = self._arguments_of(frame)
            if names:
                local = frame.f_locals
                self.work += sum(_rows(local.get(name)) for name in names)
            if self.work > self.most:
                raise Exploded
        elif event == "return" and self._arguments_of(frame) is not None:
            self.work += _rows(value)

    def _arguments_of(self, frame: FrameType) -> tuple[str, ...] | None:
        """Names of a function's arguments; None for functions of other packages."""
        code = frame.f_code
        if code not in self._arguments:
            ours = any(f"/{folder}/" in code.co_filename for folder in ("abox_ops", "shiq", "jobs"))
            self._arguments[code] = (
                code.co_varnames[: code.co_argcount]
                if ours and ".venv" not in code.co_filename
                else None
            )
        return self._arguments[code]


def _rows(value: Any) -> int:
    return value.size if isinstance(value, np.ndarray) else 0


# --- one seed -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Flood:
    """A count that a line drives up. ``extra``: what the line adds, at the smaller and at the
    larger size.
    """

    seed: int
    rule: str
    count: str
    extra: tuple[int, int]
    neighbourhood: tuple[int, int]
    world: RecurringWorld

    def __str__(self) -> str:
        return (
            f"seed {self.seed}: {self.world.kind} in a {self.world.shape}: {self.count} {self.rule}: "
            "{:,} and {:,} more, in neighbourhoods of {:,} and {:,}".format(
                *self.extra, *self.neighbourhood
            )
        )


def measure(
    world: RecurringWorld,
    batch: Sequence[Assertion],
    criterion: str = "model",
    most: int = MOST_WORK,
) -> tuple[str, Costs]:
    """The verdict on ``batch``, and what the check of it costs; `Exploded` where it works beyond
    ``most``.
    """
    meter = Meter(most)
    with meter.running():
        result = check_insertions(
            world.tbox, abox_of(world.base), abox_of(batch), criterion=criterion, max_conflicts=0
        )
    verdict = (
        "base inconsistent"
        if result.verdict is Verdict.INCONSISTENT and result.reason
        else result.verdict.value
    )
    statistics = result.statistics
    looked_at = statistics.add_set if statistics is not None else 0
    return verdict, Costs(
        looked_at, meter.rounds, meter.questions, meter.laid_out, meter.handed_on, meter.work
    )


@dataclass(frozen=True)
class Reach:
    """How far a line reaches. ``assertions``: how many are within two steps of an individual
    that the line names, or whose told literals it changes; ``touching``: how many mention one of
    these. ``refutes``: whether told literals alone contradict, with the line and not without.
    """

    assertions: int
    touching: int
    refutes: bool


def reach(world: RecurringWorld) -> Reach:
    """The reach of the line, by the obvious version of told literals."""
    individuals = sorted(
        {i for a in (*world.base, *world.batch, world.line) for i in individuals_of(a)}
    )
    before, after = (
        _told(world, batch, individuals) for batch in (world.batch, (*world.batch, world.line))
    )
    near = {
        *individuals_of(world.line),
        *(i for i, x, y in zip(individuals, before, after) if x != y),
    }
    assertions = (*world.base, *world.batch, world.line)
    touching = sum(not near.isdisjoint(individuals_of(a)) for a in assertions)
    for _ in range(2):
        near |= {
            i
            for a in assertions
            if not near.isdisjoint(individuals_of(a))
            for i in individuals_of(a)
        }
    refuted = [
        any(not positive.isdisjoint(negative) for positive, negative in labels)
        for labels in (before, after)
    ]
    return Reach(
        sum(not near.isdisjoint(individuals_of(a)) for a in assertions),
        touching,
        refuted == [False, True],
    )


def _told(
    world: RecurringWorld, batch: Sequence[Assertion], individuals: Sequence[str]
) -> list[tuple[frozenset[Any], ...]]:
    """The told literals of each of ``individuals``, positive and negative, from scratch."""
    base = SpecKnowledgeBase.build(world.tbox, abox_of([*world.base, *batch]))
    found = base.add_set(abox_of(()), abox_of(()))
    atoms = [*enumerate(found.tbox.atoms), (len(found.tbox.atoms), NOTHING)]
    return [
        tuple(frozenset(atom for i, atom in atoms if mask >> i & 1) for mask in label)
        for label in found.labels(individuals)
    ]


def search_floods(seed: int, size: int = SIZE) -> list[Flood] | None:
    """The floods of one seed; None where base and batch are no consistent start."""
    return compare(seed, [random_world(seed, n) for n in (size, 2 * size)])


def compare(
    seed: int, worlds: Sequence[RecurringWorld], criteria: Sequence[str] = ("model", "clausal")
) -> list[Flood] | None:
    """The floods of a world at two sizes; None where base and batch are no consistent start."""
    without = [measure(world, world.batch) for world in worlds]
    if any(verdict != Verdict.CONSISTENT.value for verdict, _ in without):
        return None
    reaches = [reach(world) for world in worlds]
    floods: list[Flood] = []

    def report(rule: str, count: str, extra: Sequence[int]) -> None:
        assertions = (reaches[0].assertions, reaches[1].assertions)
        floods.append(Flood(seed, rule, count, (extra[0], extra[1]), assertions, worlds[1]))

    extra: dict[str, list[Costs]] = {}
    before: dict[str, list[Costs]] = {}
    whole: dict[str, Costs] = {}
    for criterion in criteria:
        try:
            costs = [measure(world, (*world.batch, world.line), criterion)[1] for world in worlds]
            before[criterion] = [measure(world, world.batch, criterion)[1] for world in worlds]
            whole[criterion] = costs[1]
            extra[criterion] = [
                with_line - alone for with_line, alone in zip(costs, before[criterion])
            ]
        except Exploded:
            report(f"exploded ({criterion})", "work", (MOST_WORK, MOST_WORK))
            return floods
    near = max(1.0, reaches[1].assertions / reaches[0].assertions)
    for criterion, costs in extra.items():
        slack = _slack(before[criterion][1])
        for count in (field.name for field in fields(Costs)):
            small, large = (getattr(cost, count) for cost in costs)
            # A line that nothing refutes may be followed along a choice, however far: at a cost
            # that is linear.
            growth = near if reaches[0].refutes else 2.0
            if large > _TOLERANCE * growth * max(small, 0) + slack[count]:
                report(f"grows faster than its neighbourhood ({criterion})", count, (small, large))
        if (
            reaches[1].refutes
            and costs[1].looked_at > _NEAR * reaches[1].touching + slack["looked_at"]
        ):
            report(
                f"leaves its neighbourhood ({criterion})",
                "looked_at",
                [cost.looked_at for cost in costs],
            )
    for count in ("looked_at", "laid_out", "work") if len(criteria) == 2 else ():
        model, clausal = (getattr(whole[criterion], count) for criterion in ("model", "clausal"))
        if model > _MODEL * clausal + _slack(before["model"][1])[count]:
            report(
                f"is more than of clausal ({clausal:,})",
                count,
                [getattr(cost, count) for cost in extra["model"]],
            )
    return floods


#: How much more than in proportion a count may grow; how far beyond its neighbourhood a
#: contradiction may look; how much more than `clausal` the criterion `model` may count.
_TOLERANCE, _NEAR, _MODEL = 1.35, 2.0, 3.0
#: What each count may come to in any case.
_SLACK = {
    "looked_at": 12,
    "rounds": 8,
    "questions": 8,
    "laid_out": 40,
    "handed_on": 2,
    "work": 6_000,
}


def _slack(without: Costs) -> dict[str, int]:
    """What each count may come to in any case, where the check ``without`` the line costs so much."""
    return {**_SLACK, "work": _SLACK["work"] + without.work // 10}


# --- many seeds -----------------------------------------------------------------------------------


def _keep(flood: Flood, directory: Path) -> None:
    """Writes the larger world, its batch and its line."""
    place = directory / str(flood.seed)
    place.mkdir(parents=True, exist_ok=True)
    (place / "base.ofn").write_text(
        ontology_text(flood.world.tbox.axioms, flood.world.base), encoding="utf-8"
    )
    (place / "batch.ofn").write_text(ontology_text((), flood.world.batch), encoding="utf-8")
    (place / "line.ofn").write_text(ontology_text((), (flood.world.line,)), encoding="utf-8")


@click.command(help=__doc__)
@click.option(
    "--seeds",
    callback=read_seeds,
    default="0:200",
    show_default=True,
    help="FROM:TO, TO not included.",
)
@click.option(
    "--size",
    type=click.IntRange(4),
    default=SIZE,
    show_default=True,
    help="Pieces of the smaller base.",
)
@click.option(
    "--keep",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the inputs of floods.",
)
def main(seeds: range, size: int, keep: Path | None) -> None:
    cases = flooded = 0
    for seed in seeds:
        floods = search_floods(seed, size)
        cases += floods is not None
        flooded += bool(floods)
        for flood in floods or ():
            click.echo(str(flood))
            if keep is not None:
                _keep(flood, keep)
    click.echo(
        f"{len(seeds)} seeds, {cases} with a consistent base and batch, {flooded} with a flood"
    )
    sys.exit(1 if flooded else 0)


if __name__ == "__main__":
    main()
