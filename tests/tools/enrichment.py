"""Enrichment of random events over random ontologies: cached, in any order, against each class
denied by itself.

    python -m tests.tools.enrichment --seeds 0:2000 --reasoner auto --hermit 2

Events are drawn over individuals of B and of their own; of each there are renamed copies, such
with other values, and such with a role assertion turned round. A renamed copy has to hit. A
third of the seeds has nominals, chains, keys and Self, for which HermiT decides. What is
answered there, and to ``--hermit`` events of each other seed, is proved to HermiT: each class
that is told is denied by itself, those that are not are denied together.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import click

from shiq import model as owl
from shiq.abox_ops.entailment import Premises
from shiq.abox_ops.entailment.premises import asked_classes, denial
from shiq.abox_ops.entailment.reasoners import Reasoners
from shiq.answers.verdict import Verdict
from shiq.errors import InputError
from shiq.model.abox import abox_of, individuals_of
from shiq.model.ntriples import assertion_lines
from shiq.model.walk import parts, rewrite_parts, signature_of
from shiq.streams.enrichment.cache import POLICIES, EntryCache, parse_capacity
from shiq.streams.enrichment.components import WindowEvent
from shiq.streams.enrichment.enricher import Enricher
from shiq.streams.enrichment.knowledge import EventReasoner, StaticKnowledge
from shiq.streams.enrichment.statements import join_events, name_in_answer, read_rdf
from tests.outside_random import random_owl
from tests.spec.entailment import denied_entailment
from tests.tools.random_ontologies.dice import Dice
from tests.tools.random_ontologies.kb import random_kb
from tests.tools.random_ontologies.values import data_range

#: What is compared of an event: its verdict and types.
Answer = tuple[Verdict, dict[str, frozenset[str]], dict[str, frozenset[str]]]


@dataclass(frozen=True)
class Event:
    """``copy_of``: the place of the event that this is a renamed copy of."""

    assertions: tuple[owl.Assertion, ...]
    copy_of: int | None = None

    @property
    def lines(self) -> list[str]:
        return [line for assertion in self.assertions for line in assertion_lines(assertion)]


@dataclass(frozen=True)
class Case:
    knowledge: StaticKnowledge
    events: tuple[Event, ...]


def case_of(seed: int, *, outside: bool | None = None, structures: int = 4) -> Case:
    """The ontology, B and events of a seed; ``outside`` SHIQ(D) or not, every third unless it is
    said.
    """
    rng = random.Random(f"enrichment {seed}")
    if seed % 3 == 0 if outside is None else outside:
        axioms, base, batch = random_owl(seed)
        pool = [*base, *batch]
    else:
        kb = random_kb(seed)
        axioms, pool = [*kb.tbox.axioms], [*kb.union()]
    axioms, pool = _with_thresholds(seed, axioms, pool, rng)
    rng.shuffle(pool)
    static = tuple(pool[: rng.randrange(len(pool) // 2 + 1)])
    signature = signature_of((*axioms, *pool))
    premises = Premises.build(axioms, static)
    knowledge = StaticKnowledge(
        replace(premises.tbox, signature=signature), premises.axioms, static
    )
    return Case(knowledge, tuple(_events(rng, pool, structures)))


def _with_thresholds(
    seed: int, axioms: Sequence[owl.Axiom], pool: Sequence[owl.Assertion], rng: random.Random
) -> tuple[list[owl.Axiom], list[owl.Assertion]]:
    """Some ranges more, so that values matter more often."""
    dice, result, individuals = (
        Dice(f"thresholds {seed}"),
        owl.DataProperty("urn:t:value"),
        sorted(_people(pool)),
    )
    more: list[owl.Axiom] = [
        owl.SubClassOf(owl.DataSomeValuesFrom(result, data_range(dice)), owl.Class(f"urn:t:V{i}"))
        for i in range(rng.randrange(3))
    ]
    if rng.random() < 0.4:
        more.append(owl.FunctionalDataProperty(result))
    values = [
        owl.Literal(str(rng.randrange(6)), owl.XSD + "integer") for _ in range(rng.randrange(4))
    ]
    return [*axioms, *more], [
        *pool,
        *(owl.DataPropertyAssertion(result, rng.choice(individuals), value) for value in values),
    ]


def _people(assertions: Sequence[owl.Assertion]) -> set[str]:
    return {i for assertion in assertions for i in individuals_of(assertion)} or {"urn:t:i0"}


def _events(rng: random.Random, pool: Sequence[owl.Assertion], structures: int) -> list[Event]:
    found: list[Event] = []
    fresh = (f"urn:e:{i}" if rng.random() < 0.8 else f"_:e{i}" for i in count())
    for _ in range(structures):
        drawn = rng.sample(pool, min(len(pool), rng.choice((1, 2, 2, 3, 4))))
        names = {i: next(fresh) for i in sorted(_people(drawn)) if rng.random() < 0.7}
        first = tuple(renamed(assertion, names) for assertion in drawn)
        own = {*names.values()}
        found.append(Event(first))
        place = len(found) - 1
        found.append(Event(_shuffled(rng, _copy(first, own, fresh)), place))
        found.append(Event(_shuffled(rng, tuple(_moved(rng, a) for a in _copy(first, own, fresh)))))
        found.append(Event(_shuffled(rng, _turned(rng, _copy(first, own, fresh)))))
    return found


def _copy(event: Sequence[owl.Assertion], own: set[str], fresh: Any) -> tuple[owl.Assertion, ...]:
    names = {}
    for old in sorted(own):
        # Whether it is anonymous has to stay, where there are keys.
        names[old] = next(name for name in fresh if name.startswith("_:") == old.startswith("_:"))
    return tuple(renamed(assertion, names) for assertion in event)


def _shuffled(rng: random.Random, event: Sequence[owl.Assertion]) -> tuple[owl.Assertion, ...]:
    return tuple(rng.sample([*event], len(event)))


def _moved(rng: random.Random, assertion: owl.Assertion) -> owl.Assertion:
    """The assertion with another integer, maybe written otherwise."""

    def other(part: object) -> object | None:
        if isinstance(part, owl.Literal) and part.datatype == owl.XSD + "integer":
            return owl.Literal(f"{rng.choice(('', '0', '+'))}{rng.randrange(7)}", part.datatype)
        return None

    return rewrite_parts(assertion, other)


def _turned(rng: random.Random, event: tuple[owl.Assertion, ...]) -> tuple[owl.Assertion, ...]:
    links = [
        i for i, assertion in enumerate(event) if isinstance(assertion, owl.ObjectPropertyAssertion)
    ]
    if not links:
        return event
    at = rng.choice(links)
    link = event[at]
    assert isinstance(link, owl.ObjectPropertyAssertion)
    return (
        *event[:at],
        owl.ObjectPropertyAssertion(link.property, link.object, link.subject),
        *event[at + 1 :],
    )


def renamed(assertion: owl.Assertion, names: dict[str, str]) -> owl.Assertion:
    """``assertion`` with other names for individuals, in its expression too."""

    def other(part: object) -> object | None:
        match part:
            case owl.ObjectOneOf(individuals):
                return owl.ObjectOneOf(tuple(names.get(i, i) for i in individuals))
            case owl.ObjectHasValue(property, individual):
                return owl.ObjectHasValue(property, names.get(individual, individual))
        return None

    found: Any = rewrite_parts(assertion, other)
    fields = {
        name: names[value]
        for name in type(found).__match_args__
        if isinstance(value := getattr(found, name), str) and value in names
    }
    return replace(found, **fields)


class Proof:
    """Answers proved to HermiT, over all of T, B and the event. ``asked``: how many; ``open``:
    those it did not decide about.
    """

    def __init__(self, case: Case, hermit: Reasoners) -> None:
        self._premises = Premises.build(case.knowledge.axioms, case.knowledge.static)
        self._hermit = hermit
        self.asked = self.open = 0

    def refuted(self, event: Event, answer: Answer) -> list[str]:
        """What HermiT finds otherwise than ``answer`` has it. The classes that it does not tell
        are denied all at once, which proves that none follows; only where that is too much, one
        by one.
        """
        self.asked += 1
        expected, types, _ = answer
        if expected is Verdict.INCONSISTENT:
            return self._unlike(event, {(): expected})
        classes = asked_classes(self._premises, self._premises.split_event(event.assertions), None)
        denials = {
            denial(c, i): c.iri in told
            for i, told in types.items()
            for c in classes
            if isinstance(c, owl.Class)
        }
        absent = tuple(each for each, is_told in denials.items() if not is_told)
        together = {absent: Verdict.CONSISTENT}
        if self._unlike(event, together):
            together = {(): Verdict.CONSISTENT, **{(each,): Verdict.CONSISTENT for each in absent}}
        told = {(each,): Verdict.INCONSISTENT for each, is_told in denials.items() if is_told}
        return self._unlike(event, {**together, **told})

    def _unlike(
        self, event: Event, expected: dict[tuple[owl.ClassAssertion, ...], Verdict]
    ) -> list[str]:
        facts = (*self._premises.all_assertions, *event.assertions)
        found = {
            denied: self._hermit.decide_ontology(
                self._premises.all_axioms, (*facts, *denied)
            ).verdict
            for denied in expected
        }
        self.open += Verdict.UNDETERMINED in found.values()
        return [
            f"with {denied} it is {verdict.value}"
            for denied, verdict in found.items()
            if verdict not in (expected[denied], Verdict.UNDETERMINED)
        ]


class Twin:
    """The obvious way, for each event by itself; answers are kept by the event as it stands."""

    def __init__(self, case: Case, reasoners: Reasoners, *, static: bool) -> None:
        self.premises = Premises.build(case.knowledge.axioms, case.knowledge.static)
        self.reasoners, self.static = reasoners, static
        self._known: dict[Event, Answer] = {}

    def answer(self, event: Event) -> Answer:
        if event not in self._known:
            found = denied_entailment(
                self.premises, event.assertions, static=self.static, reasoners=self.reasoners
            )
            self._known[event] = found.verdict, dict(found.types), dict(found.static_types)
        return self._known[event]


def differences(
    case: Case,
    reasoner: str,
    seed: int,
    *,
    static: bool = False,
    hermit: Reasoners | None = None,
    proved: int = 0,
) -> tuple[list[str], Counter[str]]:
    """Where the cached answers differ from the obvious ones, or a renamed copy does not hit; and
    what was met. ``proved``: so many answers are proved to ``hermit``; of a case outside SHIQ(D)
    all but one, of which the obvious way is asked.
    """
    reasoners = Reasoners(reasoner)
    twin, proof = (
        Twin(case, reasoners, static=static),
        None if hermit is None else Proof(case, hermit),
    )
    realizer = EventReasoner(case.knowledge, reasoner, static=static)
    rng, found, met = random.Random(f"order {seed}"), [], Counter[str]()
    places, known = range(len(case.events)), dict[int, Answer]()
    is_outside = not twin.premises.is_in_shiq
    left_to_hermit = (
        {*rng.sample(places, len(places) - 1)}
        if proof is not None and is_outside and not static
        else set()
    )
    for_proof = left_to_hermit or (
        {*rng.sample(places, min(proved, len(places)))} if proof is not None else set()
    )
    try:
        for policy in (POLICIES[0], rng.choice(POLICIES[1:])):
            capacity = None if policy == POLICIES[0] else rng.choice((0, 1, 2, 5))
            enricher = Enricher(
                case.knowledge, realizer, EntryCache(parse_capacity(capacity), policy)
            )
            for place in rng.sample(places, len(places)):
                event = case.events[place]
                answer = enricher.enrich(event.lines)
                got = answer.verdict, answer.types, answer.static_types
                met[got[0].value] += 1
                met["hit" if answer.hit else "miss"] += 1
                where = f"seed {seed}, event {place}, {policy} {capacity}: {got}"
                if got[0] is Verdict.UNDETERMINED:
                    continue
                if place not in left_to_hermit:
                    expected = twin.answer(event)
                    if expected[0] is Verdict.UNDETERMINED:
                        met["twin undetermined"] += 1
                    elif got != expected:
                        found.append(f"{where} instead of {expected}")
                if proof is not None and place in for_proof and known.get(place) != got:
                    known[place] = got
                    found += [f"{where}, but HermiT: {each}" for each in proof.refuted(event, got)]
        found += _without_hits(case, realizer, seed)
    finally:
        realizer.close()
        reasoners.close()
    if proof is not None:
        met["proved"] += proof.asked
        met["HermiT open"] += proof.open
    return found, met


def update_differences(
    case: Case, reasoner: str, seed: int, *, static: bool = False
) -> tuple[list[str], Counter[str]]:
    """Where answers differ from the obvious ones after updates of B, over which entries are
    kept; and what was met.
    """
    rng, found, met = random.Random(f"updates {seed}"), [], Counter[str]()
    pool = [a for event in case.events[::4] for a in event.assertions]
    realizer = EventReasoner(case.knowledge, reasoner, static=static)
    enricher = Enricher(case.knowledge, realizer, EntryCache(parse_capacity(None), POLICIES[0]))
    reasoners = Reasoners(reasoner)
    try:
        for _ in range(4):
            for event in case.events:
                enricher.enrich(event.lines)
            before, had = enricher.knowledge, len(enricher.entries)
            gone = rng.sample(before.static, min(len(before.static), rng.choice((0, 1, 1, 2))))
            more = rng.sample(pool, min(len(pool), rng.choice((0, 0, 1, 2))))
            try:
                enricher.update_static(
                    abox_of(more) if more else None, abox_of(gone) if gone else None
                )
            except InputError:
                met["refused"] += 1
                continue
            met["kept"] += len(enricher.entries)
            met["forgotten"] += had - len(enricher.entries)
            twin = Twin(replace(case, knowledge=enricher.knowledge), reasoners, static=static)
            for place, event in enumerate(case.events):
                expected, answer = twin.answer(event), enricher.enrich(event.lines)
                got = answer.verdict, answer.types, answer.static_types
                met["hit" if answer.hit else "miss"] += 1
                if Verdict.UNDETERMINED not in (got[0], expected[0]) and got != expected:
                    found.append(
                        f"seed {seed}, event {place}, after - {gone} + {more}: {got} instead of {expected}"
                    )
    finally:
        realizer.close()
        reasoners.close()
    return found, met


#: With these a window is one component.
_COUNTING = (
    owl.ObjectMaxCardinality,
    owl.ObjectExactCardinality,
    owl.FunctionalObjectProperty,
    owl.InverseFunctionalObjectProperty,
    owl.SameIndividual,
    owl.DifferentIndividuals,
)


def without_counting(case: Case) -> Case:
    """What of ``case`` lets windows fall into components."""

    def less(values: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(v for v in values if not any(isinstance(part, _COUNTING) for part in parts(v)))

    known = case.knowledge
    tbox = replace(known.tbox, axioms=less(known.tbox.axioms))
    knowledge = replace(
        known, tbox=tbox, outside_axioms=less(known.outside_axioms), static=less(known.static)
    )
    return Case(knowledge, tuple(Event(less(event.assertions)) for event in case.events))


def window_differences(
    case: Case, reasoner: str, seed: int, *, static: bool = False
) -> tuple[list[str], Counter[str]]:
    """Where answers about windows, by components, differ from those about all that they hold as
    one event; and what was met.
    """
    rng, found, met = random.Random(f"windows {seed}"), [], Counter[str]()
    reasoners = Reasoners(reasoner)
    twin, realizer = (
        Twin(case, reasoners, static=static),
        EventReasoner(case.knowledge, reasoner, static=static),
    )
    enricher = Enricher(case.knowledge, realizer, EntryCache(parse_capacity(None), POLICIES[0]))
    try:
        stream = [
            WindowEvent.from_lines(event.lines)
            for event in rng.sample(case.events, len(case.events))
        ]
        width = rng.choice((1, 2, 3, 5))
        for first in range(0, len(stream), rng.choice((1, 2))):
            window = stream[first : first + width]
            lines = join_events(event.given_lines for event in window)
            whole = Event(read_rdf(lines, case.knowledge).assertions)
            expected, answer = twin.answer(whole), enricher.enrich_next_window(window)
            got = answer.verdict, answer.types, answer.static_types
            met[got[0].value] += 1
            met["in several components"] += enricher.components.component_count > 1
            named = {name_in_answer(one): types for one, types in expected[1].items()}
            if Verdict.UNDETERMINED not in (got[0], expected[0]) and got != (
                expected[0],
                named,
                expected[2],
            ):
                found.append(f"seed {seed}, window {lines}: {got} instead of {expected}")
    finally:
        realizer.close()
        reasoners.close()
    return found, met


def _without_hits(case: Case, realizer: EventReasoner, seed: int) -> list[str]:
    enricher = Enricher(case.knowledge, realizer, EntryCache(parse_capacity(None), POLICIES[0]))
    found = []
    for place, event in enumerate(case.events):
        answer = enricher.enrich(event.lines)
        pinned = any(isinstance(a, owl.ClassAssertion) and _names(a) for a in event.assertions)
        if (
            event.copy_of is not None
            and not answer.hit
            and answer.verdict is not Verdict.UNDETERMINED
            and not pinned
        ):
            found.append(
                f"seed {seed}: event {place} is a copy of {event.copy_of}, and does not hit"
            )
    return found


def _names(assertion: owl.ClassAssertion) -> list[str]:
    """Whom its expression names: of these each is told by its name."""
    return [part for part in parts(assertion.expression) if isinstance(part, str)]


@click.command()
@click.option("--seeds", default="0:100", show_default=True, metavar="FROM:TO[:STEP]")
@click.option("--reasoner", default="auto", show_default=True)
@click.option("--static-types", is_flag=True)
@click.option(
    "--updates",
    "compare",
    flag_value="updates",
    help="Of B between events, instead of policies and orders.",
)
@click.option(
    "--windows",
    "compare",
    flag_value="windows",
    help="By components, instead of policies and orders.",
)
@click.option(
    "--hermit",
    "proved",
    default=0,
    metavar="N",
    help="Answers of a seed proved to HermiT; beyond SHIQ(D) all.",
)
def main(seeds: str, reasoner: str, static_types: bool, compare: str | None, proved: int) -> None:
    """Compares, seed by seed; ends with 1 where something differs."""
    begun, met, wrong = time.monotonic(), Counter[str](), 0
    # Open throughout, so that one JVM serves all seeds.
    hermit = Reasoners("hermit") if proved else None
    for seed in range(*map(int, seeds.split(":"))):
        case = case_of(seed)
        if compare is None:
            found, counts = differences(
                case, reasoner, seed, static=static_types, hermit=hermit, proved=proved
            )
        else:
            of = update_differences if compare == "updates" else window_differences
            found, counts = of(
                without_counting(case) if compare == "windows" and seed % 4 else case,
                reasoner,
                seed,
                static=static_types,
            )
        met += counts
        wrong += bool(found)
        for text in found:
            click.echo(text)
    if hermit is not None:
        hermit.close()
    click.echo(f"{wrong} seeds differ; {dict(met)}; {time.monotonic() - begun:.0f} s")
    raise SystemExit(int(wrong > 0))


if __name__ == "__main__":
    main()
