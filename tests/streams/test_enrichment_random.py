"""Random events over random ontologies against each class denied by itself; and that planted
faults are seen.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shiq.abox_ops.entailment.horn_entailer import HornEntailer
from shiq.datatypes.values import DataValue
from shiq.functional.reader import parse_functional
from shiq.model import Literal, Signature
from shiq.streams.enrichment import components, key
from shiq.streams.enrichment.cache import EntryCache, parse_capacity
from shiq.streams.enrichment.enricher import Enricher
from shiq.streams.enrichment.key import Key
from shiq.streams.enrichment.knowledge import EventReasoner, StaticKnowledge
from shiq.streams.enrichment.statements import ValueRegions
from tests.tools.enrichment import (
    Case,
    Event,
    case_of,
    differences,
    update_differences,
    window_differences,
    without_counting,
)

#: 2,000 are decided by python -m tests.tools.enrichment --seeds 0:2000
SEEDS = int(os.environ.get("SHIQ_ENRICHMENT_SEEDS", "4"))
HEAD = "Prefix(:=<urn:t#>) Prefix(xsd:=<http://www.w3.org/2001/XMLSchema#>) Ontology("


def test_cached_answers_are_the_obvious_ones_in_any_order() -> None:
    met = Counter[str]()
    for seed in range(1, 1 + SEEDS):
        found, counts = differences(
            case_of(seed, outside=False, structures=3), "own", seed, static=seed == 2
        )
        assert not found, found[0]
        met += counts
    assert met["hit"] > 10 < met["miss"] and not met["undetermined"], met


@pytest.mark.slow
@pytest.mark.jvm
def test_so_they_are_by_hermit_beyond_what_we_decide() -> None:
    met = Counter[str]()
    for seed in range(9):
        found, counts = differences(
            case_of(seed, structures=3), "hermit" if seed % 3 else "auto", seed
        )
        assert not found, found[0]
        met += counts
    assert met["undetermined"] <= sum(met.values()) / 100, met


def test_entries_that_outlive_an_update_are_true() -> None:
    met = Counter[str]()
    for seed in (3, 8):
        found, counts = update_differences(
            case_of(seed, outside=False, structures=2), "own", seed, static=seed == 8
        )
        assert not found, found[0]
        met += counts
    assert met["kept"] and met["forgotten"], met


def test_windows_by_components_are_those_of_one_event(monkeypatch: pytest.MonkeyPatch) -> None:
    met = Counter[str]()
    for seed in (1, 8, 10):
        case = case_of(seed, outside=False, structures=3)
        found, counts = window_differences(without_counting(case), "own", seed, static=seed == 8)
        assert not found, found[0]
        met += counts
    assert met["in several components"] > 4 and not met["undetermined"], met
    # Two events, of which one rests on whom the other changes.
    case = _case(
        "SubClassOf(ObjectSomeValuesFrom(:r :A) :A)",
        "ObjectPropertyAssertion(:r :x :s)",
        "ClassAssertion(:A :u)",
        static="ObjectPropertyAssertion(:r :s :t) ObjectPropertyAssertion(:r :t :u)",
    )
    assert window_differences(case, "own", 1)[0] == []
    monkeypatch.setattr(components, "_join_dependent_groups", lambda groups, found: groups)
    assert any(window_differences(case, "own", seed)[0] for seed in range(6))


def _case(axioms: str, *events: str, static: str = "") -> Case:
    def read(text: str) -> Any:
        return parse_functional(f"{HEAD}{text})", "t", "")

    tbox = read(axioms).tbox
    found = [Event(tuple(read(text).abox)) for text in events]
    copies = [
        Event(tuple(read(text.replace(":x", ":copy")).abox), place)
        for place, text in enumerate(events)
    ]
    signature = tbox.signature | Signature(frozenset(("urn:t#A", "urn:t#B")))
    knowledge = StaticKnowledge(type(tbox)(tbox.axioms, signature), static=tuple(read(static).abox))
    return Case(knowledge, (*found, *copies))


def _value(subject: str, value: str) -> str:
    return f'DataPropertyAssertion(:f :{subject} "{value}"^^xsd:integer)'


def _above(n: int, name: str) -> str:
    return f'SubClassOf(DataSomeValuesFrom(:f DatatypeRestriction(xsd:integer xsd:minExclusive "{n}"^^xsd:integer)) :{name})'


THRESHOLDS = _case(
    _above(50, "High") + _above(100, "Alarm"),
    *(_value("x", n) for n in ("30", "50", "51", "60", "120")),
)
COUNTED = _case(
    "FunctionalDataProperty(:f)", *(_value("x", "1") + _value("x", n) for n in ("2", "01", "1"))
)
STATIC = _case(
    "FunctionalDataProperty(:f)", *(_value("s", n) for n in "12"), static="ClassAssertion(:A :s)"
)
WIRED = _case(
    "SubClassOf(ObjectSomeValuesFrom(:r :A) :B)",
    "ClassAssertion(:A :x) ObjectPropertyAssertion(:r :x :y)",
    "ClassAssertion(:A :x) ObjectPropertyAssertion(:r :y :x)",
)
SILENT = _case("SubClassOf(:A :B)", "ObjectPropertyAssertion(:r :x :y)")


def _last_threshold(patch: pytest.MonkeyPatch) -> None:
    whole = ValueRegions.from_knowledge
    patch.setattr(
        ValueRegions, "from_knowledge", lambda axioms, static: _with_ranges(whole(axioms, static))
    )


def _with_ranges(regions: ValueRegions) -> ValueRegions:
    return ValueRegions(
        regions.theory, regions.ranges[-1:], regions.counted_properties, regions.named_values
    )


def _inclusive(patch: pytest.MonkeyPatch) -> None:
    region = ValueRegions.region_of
    patch.setattr(
        ValueRegions,
        "region_of",
        lambda self, value: region(self, Literal(str(int(value.lexical) + 1), value.datatype)),
    )


def _no_wiring(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(key, "renumber_arcs", lambda arcs, place: ())


def _by_text(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ValueRegions, "value_of", lambda self, value: DataValue("text", value.lexical))


def _empty_is_a_miss(patch: pytest.MonkeyPatch) -> None:
    find = EntryCache.find

    def planted(self: EntryCache, key: Key) -> Any:
        found = find(self, key)
        return found if found is not None and any(found.types_at) else None

    patch.setattr(EntryCache, "find", planted)


def _together(patch: pytest.MonkeyPatch) -> None:
    types, seen = EventReasoner.entailed_types, list[Any]()

    def planted(self: EventReasoner, assertions: Any) -> Any:
        seen.extend(assertions)
        return types(self, tuple(dict.fromkeys(seen)))

    patch.setattr(EventReasoner, "entailed_types", planted)


@pytest.mark.parametrize(
    ("plant", "case"),
    [
        (_last_threshold, THRESHOLDS),
        (_inclusive, THRESHOLDS),
        (_no_wiring, WIRED),
        (_by_text, COUNTED),
        (_empty_is_a_miss, SILENT),
        (_together, STATIC),
    ],
)
def test_planted_faults_are_seen(
    monkeypatch: pytest.MonkeyPatch, plant: Callable[[pytest.MonkeyPatch], None], case: Case
) -> None:
    assert differences(case, "own", 1)[0] == []
    plant(monkeypatch)
    assert any(differences(case, "own", seed)[0] for seed in range(6))


@pytest.mark.jvm
def test_nominals_of_the_ontology_keep_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    case = _case(
        "SubClassOf(ObjectIntersectionOf(:A ObjectOneOf(:n)) :B)",
        "ClassAssertion(:A :x)",
        "ClassAssertion(:A :n)",
    )
    assert "urn:t#n" in case.knowledge.fixed_individuals
    assert differences(case, "auto", 1)[0] == []
    monkeypatch.setattr(StaticKnowledge, "fixed_individuals", frozenset())
    vars(case.knowledge).pop("fixed_individuals")
    assert any(differences(case, "auto", seed)[0] for seed in range(3))


def test_an_entry_kept_past_an_update_is_seen(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    more = tmp_path / "more.nt"
    more.write_text("<urn:t#s> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:t#A> .\n")
    case = _case(
        "SubClassOf(ObjectSomeValuesFrom(:r :A) :B)",
        "ObjectPropertyAssertion(:r :x :s)",
        static="ClassAssertion(:B :s)",
    )

    def types() -> Any:
        enricher = Enricher(
            case.knowledge,
            EventReasoner(case.knowledge, "own"),
            EntryCache(parse_capacity(None), "lru"),
        )
        enricher.enrich(case.events[0].lines)
        enricher.update_static(more)
        return enricher.enrich(case.events[0].lines).types["urn:t#x"]

    assert types() == {"urn:t#B"}
    with monkeypatch.context() as patch:
        # Neighbours that were looked at are forgotten to be told.
        around = HornEntailer._touched_individuals
        patch.setattr(
            HornEntailer,
            "_touched_individuals",
            lambda *given: (around(*given) or frozenset()) - {"urn:t#s"},
        )
        assert types() == set()
    monkeypatch.setattr(EntryCache, "drop_affected", lambda self, touched=None: None)
    assert types() == set()
