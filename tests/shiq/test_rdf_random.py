"""Property: whatever triples come, reading neither fails nor loses one, and tells every leftover."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from shiq.answers.verdict import KINDS
from shiq.model import OWL, RDF, RDFS, XSD, Signature
from shiq.rdf import read_assertions, read_ontology
from shiq.rdf.vocabulary import KNOWN, TYPE, local_name
from tests.rdf_helpers import write

WORDS = sorted(f"<{word}>" for word in KNOWN)
PREDICATES = sorted(f"<{word}>" for word in KNOWN if local_name(word)[0].islower())
USUAL = [
    RDF + "first",
    RDF + "rest",
    OWL + "onProperty",
    OWL + "someValuesFrom",
    OWL + "unionOf",
    RDFS + "subClassOf",
    "urn:p",
]
NODES = [f"_:b{i}" for i in range(8)] + [f"<urn:n{i}>" for i in range(8)]
LITERALS = ['"1"', f'"1"^^<{XSD}nonNegativeInteger>', '"x"@en', f'"true"^^<{XSD}boolean>']


def random_triples(rng: random.Random) -> list[str]:
    predicates = [f"<{TYPE}>"] * 4 + [f"<{word}>" for word in USUAL] + rng.sample(PREDICATES, 8)
    lines = set()
    for _ in range(rng.randint(1, 40)):
        predicate = rng.choice(predicates)
        objects = (
            WORDS
            if predicate == f"<{TYPE}>" and rng.random() < 0.7
            else [*NODES, *LITERALS, rng.choice(WORDS), f"<{RDF}nil>"]
        )
        lines.add(f"{rng.choice([*NODES, rng.choice(WORDS)])} {predicate} {rng.choice(objects)} .")
    return sorted(lines)


@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 10))]
)
def test_random_graphs_are_accounted_for(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    seen: Counter[str] = Counter()
    known = Signature(frozenset({"urn:n1"}), frozenset({"urn:n2"}), frozenset({"urn:n3"}))
    for _ in range(40):
        lines = random_triples(rng)
        path = write(tmp_path, "g.nt", "\n".join(lines))
        for reading in (read_ontology([path]), read_assertions([path], known)):
            assert sum(reading.ledger.values()) == len(lines)
            assert all(count > 0 for count in reading.ledger.values())
            told: Counter[str] = Counter()
            for leftover in reading.leftovers:
                assert leftover.kind in KINDS
                assert leftover.line or leftover.text
                told[f"leftover:{leftover.kind}"] += leftover.count
            left = {
                bucket: count
                for bucket, count in reading.ledger.items()
                if bucket.startswith("leftover:")
            }
            assert all(told[bucket] >= count for bucket, count in left.items())
            seen.update(reading.ledger.keys())
    # The generator reaches most buckets.
    assert len(seen) >= 9, seen


def test_reading_is_deterministic(tmp_path: Path) -> None:
    path = write(tmp_path, "g.nt", "\n".join(random_triples(random.Random(1))))
    first, second = read_ontology([path]), read_ontology([path])
    for name in ("tbox", "leftovers", "ledger"):
        assert getattr(first, name) == getattr(second, name)
    assert list(first.abox) == list(second.abox)
