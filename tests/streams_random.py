"""Random TBoxes and streams, small enough for the obvious check at every c."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from shiq import model as owl
from shiq.answers.verdict import Verdict
from shiq.api import check_insertions
from shiq.functional.writer import axiom_text
from shiq.model.abox import abox_of
from shiq.model.ntriples import assertion_lines
from shiq.streams.consistency import StreamPlan, StreamResult, check_stream, plan
from shiq.streams.consistency.dl_lite import build_dl_lite_view as view_of
from shiq.streams.consistency.topology import list_cuts
from tests.spec.streams_consistency import Timed, canonical

NAMES = [owl.Class(f"urn:{letter}") for letter in "ABCDEFGHI"]
ROLES = [owl.ObjectProperty(f"urn:{letter}") for letter in "pqr"]
PEOPLE = [f"urn:{letter}" for letter in "xyz"]


@dataclass(frozen=True)
class Drawn:
    """A TBox, and a stream with a window over [0, end]."""

    tbox: owl.TBox
    window: int
    stream: tuple[Timed, ...]
    static: tuple[owl.Assertion, ...]
    end: int


def drawn(seed: int) -> Drawn:
    draw = random.Random(seed)
    names, roles = NAMES[: draw.randint(2, 9)], ROLES[: draw.randint(0, 3)]
    if draw.random() < 0.6:
        axioms = _tidy(draw, names) + [
            _axiom(draw, names, roles) for _ in range(draw.randint(0, 2))
        ]
    else:
        axioms = [_axiom(draw, names, roles) for _ in range(draw.randint(2, 10))]
    signature = owl.Signature(frozenset(c.iri for c in names), frozenset(p.iri for p in roles))
    end = draw.randint(0, 14)
    stream = [
        (draw.randint(0, end), _assertion(draw, names, roles)) for _ in range(draw.randint(0, 18))
    ]
    static = [_assertion(draw, names, roles) for _ in range(draw.choice((0, 0, 1, 2)))]
    return Drawn(
        owl.TBox(tuple(dict.fromkeys(axioms)), signature),
        draw.randint(0, 4),
        tuple(stream),
        tuple(static),
        end,
    )


def _tidy(draw: random.Random, names: Sequence[owl.Class]) -> list[owl.Axiom]:
    """A hierarchy without cycles, and disjointness of a few of its names: little in it is
    unsatisfiable.
    """
    below = [
        (i, draw.randrange(i))
        for i in range(1, len(names))
        for _ in range(draw.choice((0, 1, 1, 2)))
    ]
    axioms: list[owl.Axiom] = [owl.SubClassOf(names[low], names[high]) for low, high in below]
    view = view_of(owl.TBox(tuple(axioms)))
    for _ in range(draw.randint(1, 6)):
        chosen = draw.sample(names, min(len(names), draw.choice((2, 2, 2, 3))))
        if draw.random() < 0.9 and frozenset.intersection(
            *(view.descendants(name.iri) for name in chosen)
        ):
            continue
        whole = owl.ObjectIntersectionOf(tuple(chosen))
        axioms.append(
            owl.SubClassOf(whole, draw.choice((owl.NOTHING, owl.NOTHING, draw.choice(names))))
        )
    return axioms


def _role(draw: random.Random, roles: Sequence[owl.ObjectProperty]) -> owl.ObjectPropertyExpression:
    role = draw.choice(roles)
    return owl.ObjectInverseOf(role) if draw.random() < 0.3 else role


def _basic(
    draw: random.Random, names: Sequence[owl.Class], roles: Sequence[owl.ObjectProperty]
) -> owl.ClassExpression:
    if roles and draw.random() < 0.35:
        return owl.ObjectSomeValuesFrom(_role(draw, roles), owl.THING)
    return draw.choice(names)


def _axiom(
    draw: random.Random, names: Sequence[owl.Class], roles: Sequence[owl.ObjectProperty]
) -> owl.Axiom:
    one, other, third = (_basic(draw, names, roles) for _ in range(3))
    kind = draw.random()
    if kind < 0.45:
        return owl.SubClassOf(one, other)
    if kind < 0.65:
        return (
            owl.DisjointClasses((one, other)) if one != other else owl.SubClassOf(one, owl.NOTHING)
        )
    if kind < 0.72:
        return owl.SubClassOf(
            owl.ObjectIntersectionOf((one, other)), draw.choice((third, owl.NOTHING))
        )
    if kind < 0.76:
        return owl.SubClassOf(owl.ObjectIntersectionOf((one, other, third)), owl.NOTHING)
    if not roles:
        return owl.SubClassOf(one, owl.NOTHING) if kind > 0.97 else owl.SubClassOf(one, third)
    role, second = _role(draw, roles), _role(draw, roles)
    if kind < 0.82:
        return owl.SubClassOf(one, owl.ObjectSomeValuesFrom(role, draw.choice(names)))
    if kind < 0.9:
        return owl.SubObjectPropertyOf(role, second)
    if kind < 0.93:
        return owl.AsymmetricObjectProperty(role)
    if kind < 0.95:
        return owl.IrreflexiveObjectProperty(role)
    if kind < 0.97 and role != second:
        return owl.DisjointObjectProperties((role, second))
    return owl.SymmetricObjectProperty(role)


def _assertion(
    draw: random.Random, names: Sequence[owl.Class], roles: Sequence[owl.ObjectProperty]
) -> owl.Assertion:
    if roles and draw.random() < 0.5:
        return owl.ObjectPropertyAssertion(
            draw.choice(roles), draw.choice(PEOPLE), draw.choice(PEOPLE)
        )
    return owl.ClassAssertion(draw.choice(names), draw.choice(PEOPLE))


def expected(plan: StreamPlan, case: Drawn) -> list[dict[str, object]]:
    rows = canonical(plan.view, case.window, case.stream, case.static, 0, case.end)
    return sorted(rows, key=repr)


def found(result: StreamResult) -> list[dict[str, object]]:
    """The rows without what the obvious check does not say."""
    return sorted(
        ({k: v for k, v in row.items() if k not in ("axioms", "final")} for row in result.spans),
        key=repr,
    )


def events(stream: Sequence[Timed]) -> list[dict[str, object]]:
    return [{"t": t, "triples": list(assertion_lines(assertion))} for t, assertion in stream]


def shuffled(stream: Sequence[Timed], lateness: int, draw: random.Random) -> list[Timed]:
    """Out of order by at most ``lateness``."""
    return sorted(stream, key=lambda item: (item[0] + draw.randint(0, lateness), draw.random()))


def every_plan(case: Drawn) -> list[StreamPlan]:
    """mask, ntm, and ltm with both groupings and every cut."""
    base = [plan(case.tbox, case.window, strategy) for strategy in ("mask", "ntm")]
    for grouping in ("printed", "depth"):
        first = plan(case.tbox, case.window, "ltm", (), grouping)
        every = list_cuts(len(first.groups))
        # Of many groups some cuts are enough: each place, and all.
        chosen = (
            every
            if len(every) <= 16
            else [cut for cut in every if len(cut) in (1, len(first.groups) + 1)]
        )
        base += [plan(case.tbox, case.window, "ltm", cut, grouping) for cut in chosen if cut]
    return base


def disagreement(seed: int) -> str:
    """What the strategies get wrong on one case; "" for nothing."""
    case, draw = drawn(seed), random.Random(-seed)
    plans = every_plan(case)
    want = expected(plans[0], case)
    for number, watched in enumerate(plans):
        lateness = draw.choice((0, 2, 5))
        stream = (
            shuffled(case.stream, lateness, draw)
            if lateness
            else sorted(case.stream, key=lambda item: item[0])
        )
        batch = draw.choice((1, 3, 1000))
        static = abox_of(case.static) if case.static else None
        result = check_stream(watched, events(stream), static, 0, case.end, lateness, batch=batch)
        if found(result) != want:
            told = "\n".join(axiom_text(axiom) for axiom in case.tbox.axioms)
            how = f"{watched.strategy} {watched.grouping} {watched.cut} batch {batch} lateness {lateness}"
            given = f"window {case.window}, [0, {case.end}]\n{told}\n{stream}\n{case.static}"
            return f"seed {seed}, plan {number}: {how}\n{given}\nwant {want}\ngot  {found(result)}\n{result.leftovers}"
    return ""


def against_the_reasoner(seed: int) -> str:
    """Whether the rows say of a window's content what a check of SHIQ says of it, at some c; ""
    if so.
    """
    case, draw = drawn(seed), random.Random(seed)
    watched = plan(case.tbox, case.window)
    rows = check_stream(
        watched, events(sorted(case.stream, key=lambda item: item[0])), None, 0, case.end
    ).spans
    c = draw.randint(0, case.end)
    content = [assertion for t, assertion in case.stream if c - case.window <= t <= c]
    verdict = check_insertions(case.tbox, [], abox_of(content), reasoner="own").verdict
    said = any(row["from"] <= c <= row["to"] for row in rows)
    if watched.leftovers or verdict is Verdict.UNDETERMINED or not content:
        return ""
    told = "\n".join(axiom_text(axiom) for axiom in case.tbox.axioms)
    return (
        ""
        if said == (verdict is Verdict.INCONSISTENT)
        else f"seed {seed} at {c}: {verdict}\n{told}\n{content}\n{rows}"
    )
