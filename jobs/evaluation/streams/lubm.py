"""Generate LUBM as a stream of events with planted contradictions, for `shiq stream consistency`.

`generate_stream` writes into a directory

* ``tbox.owl``: LUBM's TBox with disjoint classes;
* ``events.jsonl``: events of a few triples each, out of order by at most the lateness; the same for
  the same arguments;
* ``faults.json``: for each planted contradiction the individual, its two disjoint classes, and the
  times at which each is stated.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import count, islice
from pathlib import Path

from shiq.errors import UsageError
from shiq.jobs.evaluation.generation import RDF_TYPE, tbox_as_rdfxml
from shiq.jobs.evaluation.lubm.generate import ONTOLOGY, generate_departments
from shiq.jobs.evaluation.lubm.tbox import lubm_tbox
from shiq.jobs.option_fields import option
from shiq.model import Class, DisjointClasses

#: A planted contradiction's second class is said so many points after the first, at most.
MOST_APART = 3
#: Every university of LUBM has more triples.
_LEAST = 50_000


@dataclass(frozen=True)
class StreamRecipe:
    """Settings of a generated stream: triples in all, triples per event, events per time point,
    lateness, planted contradictions, random seed.

    lateness: number of points by which an event may come too late
    faults: number of planted contradictions
    """

    triples: int = option(100_000, "", minimum=1)
    per_event: int = option(5, "Triples of an event.", minimum=1)
    per_point: int = option(20, "Events of a point of time.", minimum=1)
    lateness: int = option(0, "How many points events are late.", minimum=0)
    faults: int = option(10, "Planted contradictions.", minimum=0)
    seed: int = option(0, "", minimum=0)


@dataclass(frozen=True)
class StreamFault:
    """Contradiction planted into a stream: an individual with two disjoint classes, and the times
    at which each is stated.
    """

    individual: str
    classes: tuple[str, ...]
    times: tuple[int, int]


def generate_stream(recipe: StreamRecipe, out: Path) -> list[str]:
    """Write the stream to ``out``; return the names of the files. Raises: UsageError for numbers
    out of range.
    """
    if (
        min(recipe.triples, recipe.per_event, recipe.per_point) < 1
        or min(recipe.lateness, recipe.faults) < 0
    ):
        raise UsageError(
            "a stream of nothing cannot be generated",
            "Give numbers from 1 on (lateness and faults from 0).",
        )
    out.mkdir(parents=True, exist_ok=True)
    tbox = lubm_tbox(True)
    (out / "tbox.owl").write_text(tbox_as_rdfxml(tbox, ONTOLOGY), encoding="utf-8")
    draw = random.Random(f"lubm stream {recipe.seed}")
    events = list(_generate_events(recipe))
    disjoint = [
        names
        for axiom in tbox.axioms
        if isinstance(axiom, DisjointClasses)
        if (names := _disjoint_names(axiom))
    ]
    faults = [_draw_fault(draw, number, disjoint, events[-1][0]) for number in range(recipe.faults)]
    for fault in faults:
        for t, name in zip(fault.times, fault.classes):
            events.append((t, [f"<{fault.individual}> {RDF_TYPE} <{name}> ."]))
    with open(out / "events.jsonl", "w", encoding="utf-8", newline="\n") as file:
        for t, lines in sorted(
            events, key=lambda event: event[0] + draw.randint(0, recipe.lateness)
        ):
            file.write(json.dumps({"t": t, "triples": lines}) + "\n")
    (out / "faults.json").write_text(
        json.dumps(list(map(asdict, faults)), indent=1) + "\n", encoding="utf-8"
    )
    return ["tbox.owl", "events.jsonl", "faults.json"]


def _generate_events(recipe: StreamRecipe) -> Iterator[tuple[int, list[str]]]:
    """Yield the events that LUBM's data is cut into, each as its time and its N-Triples lines."""
    made = generate_departments(1 + recipe.triples // _LEAST, recipe.seed)
    lines = islice((line for department in made for line in department.lines), recipe.triples)
    for number in count():
        held = [line.rstrip("\n") for line in islice(lines, recipe.per_event)]
        if not held:
            return
        yield number // recipe.per_point, held


def _disjoint_names(axiom: DisjointClasses) -> list[str]:
    """Named classes of a disjointness axiom, if there are at least two; otherwise none."""
    names = sorted(found.iri for found in axiom.expressions if isinstance(found, Class))
    return names if len(names) > 1 else []


def _draw_fault(
    draw: random.Random, index: int, disjoint: list[list[str]], last: int
) -> StreamFault:
    """Draw a contradiction to plant: two disjoint classes of a fresh individual, and the times up
    to ``last`` at which they are stated.
    """
    classes = tuple(draw.sample(draw.choice(disjoint), 2))
    first = draw.randint(0, max(0, last - MOST_APART))
    return StreamFault(
        f"urn:shiq:fault#{index}", classes, (first, min(last, first + draw.randint(0, MOST_APART)))
    )
