"""The simplified TBox against finite interpretations: what OWL 2 says holds, the clauses must
allow, and nothing else.

For a TBox without transitivity an interpretation of the old names is a model iff the fresh names
can be interpreted such that all clauses hold. With transitivity every model still extends so,
and whatever extends so becomes a model when the transitive roles are closed.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

import pytest
from simplify_support import (
    ROLES,
    VALUES,
    Interpretation,
    extends,
    random_axioms,
    random_interpretation,
    random_range,
    range_extension,
    satisfies,
    transitively_closed,
    with_roles,
)

from shiq.model import (
    Axiom,
    Class,
    ObjectAllValuesFrom,
    ObjectComplementOf,
    ObjectIntersectionOf,
    ObjectInverseOf,
    ObjectMaxCardinality,
    ObjectProperty,
    ObjectSomeValuesFrom,
    ObjectUnionOf,
    SubClassOf,
    SubObjectPropertyOf,
    SymmetricObjectProperty,
    TBox,
    TransitiveObjectProperty,
)
from shiq.model.clause import ClausalTBox
from shiq.simplify import simplify
from shiq.simplify.describe import clause_text
from shiq.simplify.nnf import complement_of_range, simplify_range

SEEDS = 12
TBOXES_PER_SEED = 40
INTERPRETATIONS = 12


def is_model(i: Interpretation, axioms: Sequence[Axiom]) -> bool:
    return all(satisfies(i, axiom) for axiom in axioms)


def check(i: Interpretation, axioms: Sequence[Axiom], tbox: ClausalTBox, transitive: bool) -> bool:
    """Whether ``i`` extends to a model of the clauses, after comparing that with ``axioms``."""
    fresh = extends(i, tbox)
    shown = (axioms, i, [clause_text(clause) for clause in tbox.clauses])
    if not transitive:
        assert (fresh is not None) == is_model(i, axioms), shown
    elif fresh is None:
        assert not is_model(i, axioms), shown
    else:
        assert is_model(transitively_closed(i, axioms), axioms), shown
    return fresh is not None


def cases(seed: int, tboxes: int) -> Iterator[tuple[tuple[Axiom, ...], bool, random.Random]]:
    rng = random.Random(seed)
    for _ in range(tboxes):
        transitive = rng.random() < 0.4
        yield (
            random_axioms(rng, rng.randint(1, 3), rng.randint(1, 4), transitive=transitive),
            transitive,
            rng,
        )


@pytest.mark.parametrize("seed", range(SEEDS))
def test_clauses_have_the_models_of_the_tbox(seed: int) -> None:
    seen: Counter[tuple[bool, bool]] = Counter()
    for axioms, transitive, rng in cases(seed, TBOXES_PER_SEED):
        simplified = simplify(TBox(axioms))
        for _ in range(INTERPRETATIONS):
            closed = transitive and rng.random() < 0.5
            i = random_interpretation(rng, rng.choice((1, 2, 2, 3)), axioms, transitive=closed)
            seen[transitive, check(i, axioms, simplified.clauses, transitive)] += 1
            check(i, axioms, simplified.definition4_clauses, transitive)
    assert min(seen[t, m] for t in (False, True) for m in (False, True)) > 20, seen


def chains(rng: random.Random) -> tuple[Axiom, ...]:
    """One or two transitive roles, a role above them, and restrictions that chains of them can
    carry far.
    """
    literals = [
        Class("A"),
        Class("B"),
        ObjectComplementOf(Class("A")),
        ObjectComplementOf(Class("C")),
    ]
    r, s, t = (ObjectProperty(iri) for iri in ROLES)
    roles: list[Axiom] = [TransitiveObjectProperty(r)]
    for axiom in (
        TransitiveObjectProperty(t),
        SubObjectPropertyOf(r, s),
        SubObjectPropertyOf(t, s),
        SubObjectPropertyOf(ObjectInverseOf(t), r),
        SymmetricObjectProperty(t),
    ):
        if rng.random() < 0.5:
            roles.append(axiom)
    property = rng.choice((r, s, s, t, ObjectInverseOf(s)))
    restriction = rng.choice(
        (
            ObjectAllValuesFrom(property, rng.choice(literals)),
            ObjectAllValuesFrom(
                property, ObjectUnionOf((rng.choice(literals), rng.choice(literals)))
            ),
            ObjectComplementOf(
                ObjectSomeValuesFrom(property, ObjectIntersectionOf((Class("B"), Class("C"))))
            ),
            ObjectMaxCardinality(
                1, ObjectProperty("U"), ObjectSomeValuesFrom(property, rng.choice(literals))
            ),
        )
    )
    premise = rng.choice(
        (rng.choice(literals), ObjectIntersectionOf((Class("A"), rng.choice(literals))))
    )
    return (*roles, SubClassOf(premise, restriction))


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 6))]
)
def test_transitivity_is_eliminated_in_full(seed: int) -> None:
    """Four elements in sparse relations that are not transitive: chains of three steps, and no
    shortcut.
    """
    rng = random.Random(500 + seed)
    seen: Counter[bool] = Counter()
    for _ in range(60):
        axioms = chains(rng)
        simplified = simplify(TBox(axioms))
        for _ in range(12):
            elements = list(range(4))
            rng.shuffle(elements)
            steps = {
                iri: frozenset(pairwise(elements)) if rng.random() < 0.5 else frozenset()
                for iri in ROLES
            }
            drawn = random_interpretation(rng, 4, axioms, transitive=False)
            i = with_roles(drawn, {**steps, "U": frozenset((0, b) for b in elements)}, axioms)
            seen[check(i, axioms, simplified.clauses, True)] += 1
            check(transitively_closed(i, axioms), axioms, simplified.clauses, True)
            check(i, axioms, simplified.definition4_clauses, True)
    assert min(seen[True], seen[False]) > 50, seen


@pytest.mark.parametrize("seed", range(300))
def test_simplified_ranges_hold_the_same_values(seed: int) -> None:
    data_range = random_range(random.Random(seed), 4)
    simplified = simplify_range(data_range)
    assert (frozenset() if simplified is None else range_extension(simplified)) == range_extension(
        data_range
    )
    assert range_extension(complement_of_range(data_range)) == frozenset(VALUES) - range_extension(
        data_range
    )


@pytest.mark.parametrize("seed", range(4))
def test_definition4_axioms_and_clauses_say_the_same(seed: int) -> None:
    """With the fresh names as the search for clauses interprets them, and as chance does."""
    seen: Counter[bool] = Counter()
    for axioms, transitive, rng in cases(100 + seed, 30):
        simplified = simplify(TBox(axioms))
        tbox = simplified.definition4_clauses
        for _ in range(6):
            i = random_interpretation(rng, 2, axioms, transitive=transitive)
            found = extends(i, tbox)
            for fresh in ([] if found is None else [found]) + [
                {
                    name: frozenset(x for x in range(2) if rng.random() < 0.5)
                    for name in sorted(tbox.fresh)
                }
            ]:
                everything = Interpretation(i.size, {**i.names, **fresh}, i.roles, i.data)
                by_clauses = (
                    extends(
                        everything, ClausalTBox(tbox.clauses, tbox.roles, tbox.axioms, tbox.atoms)
                    )
                    is not None
                )
                assert by_clauses == is_model(everything, simplified.definition4)
                seen[by_clauses] += 1
    assert min(seen[True], seen[False]) > 20, seen


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1020))
def test_clauses_have_the_models_of_many_tboxes(seed: int) -> None:
    for axioms, transitive, rng in cases(seed, 300):
        simplified = simplify(TBox(axioms))
        for _ in range(30):
            closed = transitive and rng.random() < 0.5
            i = random_interpretation(rng, rng.choice((1, 2, 2, 3)), axioms, transitive=closed)
            check(i, axioms, simplified.clauses, transitive)
            check(i, axioms, simplified.definition4_clauses, transitive)
