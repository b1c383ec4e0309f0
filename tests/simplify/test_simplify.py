"""`simplify` as a whole: what its results promise to those who read them."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from simplify_support import random_axioms

from shiq.errors import UsageError
from shiq.model import (
    NOTHING,
    OWL,
    THING,
    XSD,
    Axiom,
    Class,
    ClassExpression,
    DataHasValue,
    DataIntersectionOf,
    DataMinCardinality,
    DataProperty,
    DataSomeValuesFrom,
    Datatype,
    DatatypeDefinition,
    DisjointClasses,
    DisjointDataProperties,
    DisjointObjectProperties,
    EquivalentClasses,
    EquivalentObjectProperties,
    FunctionalObjectProperty,
    HasKey,
    InverseObjectProperties,
    IrreflexiveObjectProperty,
    Literal,
    ObjectAllValuesFrom,
    ObjectComplementOf,
    ObjectExactCardinality,
    ObjectHasSelf,
    ObjectHasValue,
    ObjectIntersectionOf,
    ObjectInverseOf,
    ObjectMaxCardinality,
    ObjectMinCardinality,
    ObjectOneOf,
    ObjectProperty,
    ObjectPropertyDomain,
    ObjectPropertyRange,
    ObjectSomeValuesFrom,
    ObjectUnionOf,
    SubClassOf,
    SubDataPropertyOf,
    SubObjectPropertyOf,
    TBox,
    TransitiveObjectProperty,
)
from shiq.model.clause import AtLeast, Clause, DataAtLeast, DataAtMost
from shiq.model.roles import Role
from shiq.simplify import simplify
from shiq.simplify.clauses import atoms_of
from shiq.simplify.describe import clause_text, concept_text, describe_tbox
from shiq.simplify.desugar import desugar
from shiq.simplify.inclusion import PREFIX, Context, Inclusion, is_reserved
from shiq.simplify.nnf import nnf
from shiq.simplify.restrictions import AtMost, Universal
from tests.time_limits import calls_of

A, B, C, D, Q = (Class(name) for name in "ABCDQ")
R, S, T = (ObjectProperty(name) for name in "RST")
P = DataProperty("p")
DATA = Path(__file__).resolve().parents[2] / os.environ.get("SHIQ_DATA", "../shared/data")


def clauses_of(*axioms: Axiom) -> tuple[Clause, ...]:
    return simplify(TBox(axioms)).clauses.clauses


# --- what every result promises -------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(150))
def test_results_are_well_formed(seed: int) -> None:
    rng = random.Random(seed)
    axioms = random_axioms(rng, rng.randint(1, 5), rng.randint(1, 4), transitive=rng.random() < 0.4)
    simplified = simplify(TBox(axioms))
    for tbox in (simplified.clauses, simplified.definition4_clauses):
        assert tbox.axioms == axioms
        assert len(set(tbox.clauses)) == len(tbox.clauses)
        mentioned = {atom for clause in tbox.clauses for atom in atoms_of(clause)}
        assert mentioned == set(tbox.atoms)
        assert len(tbox.atoms) == len(set(tbox.atoms))
        assert not mentioned & {THING.iri, NOTHING.iri}
        assert tbox.fresh == {a for a in tbox.atoms if isinstance(a, str) and a.startswith(PREFIX)}
        assert all(is_reserved(name) for name in tbox.fresh)
        for clause in tbox.clauses:
            assert_normal(clause, len(axioms))
    assert {Class(name) for name in "ABC"} >= {
        Class(a) for a in simplified.clauses.atoms if isinstance(a, str) and len(a) == 1
    }


def assert_normal(clause: Clause, axioms: int) -> None:
    for part in (clause.body, clause.head, clause.branch_body, clause.branch_head):
        assert len(set(part)) == len(part)
    assert not set(clause.body) & set(clause.head)
    assert not set(clause.branch_body) & set(clause.branch_head)
    assert clause.origins <= set(range(axioms))
    if clause.role is None:
        assert not clause.branch_body
        assert not clause.branch_head
        assert clause.at_most == 0
    elif clause.at_most:
        assert len(clause.branch_body) <= 1
        assert not clause.branch_head
    for atom in clause.head:
        if isinstance(atom, AtLeast | DataAtLeast):
            assert atom.n >= 1
        elif isinstance(atom, DataAtMost):
            assert atom.n >= 0


@pytest.mark.parametrize("seed", range(100))
def test_definition4_has_its_form(seed: int) -> None:
    rng = random.Random(1000 + seed)
    axioms = random_axioms(rng, rng.randint(1, 4), rng.randint(1, 4), transitive=rng.random() < 0.4)
    simplified = simplify(TBox(axioms))
    restrictions = 0
    for axiom in simplified.definition4:
        inner = [
            axiom.sub,
            *(axiom.sup.operands if isinstance(axiom.sup, ObjectUnionOf) else [axiom.sup]),
        ]
        if isinstance(axiom.sup, ObjectAllValuesFrom | ObjectMaxCardinality):
            restrictions += 1
            for literal in (axiom.sub, axiom.sup.filler):
                assert isinstance(literal, Class | ObjectComplementOf)
        else:
            assert not any(isinstance(e, ObjectAllValuesFrom | ObjectMaxCardinality) for e in inner)
    assert restrictions == len(simplified.universals) + len(simplified.at_mosts)
    of_clauses = [c for c in simplified.definition4_clauses.clauses if c.role is not None]
    assert len(of_clauses) <= restrictions


@pytest.mark.parametrize("seed", range(100))
def test_extra_definitions_leave_the_front_alone(seed: int) -> None:
    rng = random.Random(2000 + seed)
    axioms = random_axioms(rng, 3, 3, transitive=rng.random() < 0.5)
    allowed = [a for a in random_axioms(rng, 6, 2, transitive=False) if isinstance(a, SubClassOf)]
    extra = []
    for n, axiom in enumerate(allowed):
        try:
            simplify(TBox((*axioms, axiom)))
        except UsageError:
            continue  # counts a role that is not simple here
        extra.append(SubClassOf(Class(f"urn:q:{n}"), axiom.sup))
    plain = simplify(TBox(axioms))
    more = simplify(TBox(axioms), [*extra, *map(Class, ("A", "Z", "Y", OWL + "Thing"))])
    for before, after in (
        (plain.clauses, more.clauses),
        (plain.definition4_clauses, more.definition4_clauses),
    ):
        assert after.clauses[: len(before.clauses)] == before.clauses
        assert after.atoms[: len(before.atoms)] == before.atoms
        assert after.atoms[-2:] == ("Z", "Y")
        assert after.axioms == (*axioms, *extra)
        assert not any(name.startswith("urn:q:") for name in after.fresh)
    assert more.definition4[: len(plain.definition4)] == plain.definition4
    assert [atom for atom in more.clauses.atoms if atom in ("A", "Z", "Y")][-2:] == ["Z", "Y"]
    assert OWL + "Thing" not in more.clauses.atoms


@pytest.mark.parametrize("seed", range(60))
def test_origins_suffice(seed: int) -> None:
    """The axioms of a clause's origins alone give that clause again, or one with the same fresh
    names' definitions.
    """
    rng = random.Random(3000 + seed)
    axioms = random_axioms(rng, 3, 2, transitive=rng.random() < 0.7)
    for clause in simplify(TBox(axioms)).clauses.clauses:
        if clause.origins and not any(
            is_reserved(a) for a in atoms_of(clause) if isinstance(a, str)
        ):
            alone = simplify(TBox(tuple(axioms[i] for i in sorted(clause.origins)))).clauses.clauses
            assert any(same(clause, other) for other in alone), clause_text(clause)


def same(first: Clause, second: Clause) -> bool:
    return (
        first.body,
        first.head,
        first.role,
        first.branch_body,
        first.branch_head,
        first.at_most,
    ) == (
        second.body,
        second.head,
        second.role,
        second.branch_body,
        second.branch_head,
        second.at_most,
    )


def test_simplification_is_deterministic() -> None:
    axioms = random_axioms(random.Random(7), 6, 4, transitive=True)
    assert simplify(TBox(axioms)) == simplify(TBox(axioms))


@pytest.mark.parametrize("seed", range(200))
def test_nnf_is_an_involution(seed: int) -> None:
    rng = random.Random(4000 + seed)
    axiom = random_axioms(rng, 1, 4, transitive=False)[-1]
    for inclusion in desugar((axiom,), Context()):
        for concept in (inclusion.sub, inclusion.sup):
            form = nnf(concept)
            assert nnf(form) == form
            assert nnf(ObjectComplementOf(nnf(ObjectComplementOf(concept)))) == form
            assert not is_negated_inside(form)


def is_negated_inside(concept: ClassExpression) -> bool:
    match concept:
        case ObjectComplementOf(operand):
            return not isinstance(operand, Class) or operand in (THING, NOTHING)
        case ObjectIntersectionOf(operands) | ObjectUnionOf(operands):
            return any(o in (THING, NOTHING) or is_negated_inside(o) for o in operands)
        case ObjectSomeValuesFrom(_, filler) | ObjectAllValuesFrom(_, filler):
            return is_negated_inside(filler)
        case ObjectMinCardinality(_, _, filler) | ObjectMaxCardinality(_, _, filler):
            return is_negated_inside(filler)
    return False


# --- size -----------------------------------------------------------------------------------------


def nest(step: Callable[[ClassExpression, int], ClassExpression], depth: int) -> ClassExpression:
    concept: ClassExpression = A
    for level in range(depth):
        concept = step(concept, level)
    return concept


def tree(depth: int, names: list[int]) -> ClassExpression:
    """⊓ of ⊔ of ⊓ of …, binary, every leaf another name."""
    if depth == 0:
        names.append(len(names))
        return Class(f"N{names[-1]}")
    operands = (tree(depth - 1, names), tree(depth - 1, names))
    return ObjectIntersectionOf(operands) if depth % 2 else ObjectUnionOf(operands)


NASTY: dict[str, Callable[[int], ClassExpression]] = {
    "exact cardinalities": lambda n: nest(
        lambda c, i: ObjectExactCardinality(2, R, ObjectIntersectionOf((c, B))), n
    ),
    "at-most restrictions": lambda n: nest(
        lambda c, i: ObjectMaxCardinality(1, R, ObjectUnionOf((c, B))), n
    ),
    "alternating quantifiers": lambda n: nest(
        lambda c, i: (ObjectSomeValuesFrom if i % 2 else ObjectAllValuesFrom)(
            S, ObjectUnionOf((c, B, C))
        ),
        n,
    ),
    "combs": lambda n: nest(
        lambda c, i: ObjectUnionOf(
            (ObjectIntersectionOf((c, Class(f"X{i}"))), ObjectIntersectionOf((Class(f"Y{i}"), D)))
        ),
        n,
    ),
    "trees": lambda n: tree(n.bit_length(), []),
    "wide": lambda n: ObjectUnionOf(
        tuple(
            ObjectIntersectionOf((Class(f"X{i}"), Class(f"Y{i}"), ObjectAllValuesFrom(R, B)))
            for i in range(n)
        )
    ),
    "negated wide": lambda n: ObjectComplementOf(
        ObjectIntersectionOf(
            tuple(
                ObjectUnionOf((Class(f"X{i}"), ObjectSomeValuesFrom(R, Class(f"Y{i}"))))
                for i in range(n)
            )
        )
    ),
}


def size_of(clauses: tuple[Clause, ...]) -> int:
    return sum(
        1 + len(c.body) + len(c.head) + len(c.branch_body) + len(c.branch_head) for c in clauses
    )


@pytest.mark.parametrize("shape", NASTY)
@pytest.mark.parametrize("way", ["sub", "sup", "both"])
def test_size_is_polynomial(shape: str, way: str) -> None:
    sizes = []
    for n in (16, 32, 64):
        concept = NASTY[shape](n)
        axioms: dict[str, Axiom] = {
            "sub": SubClassOf(concept, Q),
            "sup": SubClassOf(Q, concept),
            "both": EquivalentClasses((Q, concept)),
        }
        simplified = simplify(TBox((axioms[way],)))
        sizes.append(
            size_of(simplified.clauses.clauses) + size_of(simplified.definition4_clauses.clauses)
        )
    assert sizes[2] <= 64 * 64 * 8
    assert sizes[2] <= 4.5 * sizes[1] + 64, sizes
    assert sizes[1] <= 4.5 * sizes[0] + 64, sizes


def test_many_disjoint_classes() -> None:
    names = tuple(Class(f"N{i}") for i in range(150))
    simplified = simplify(TBox((DisjointClasses(names),)))
    assert len(simplified.clauses.clauses) == 150 * 149 // 2
    assert not simplified.clauses.fresh
    few, many = (
        calls_of(lambda: simplify(TBox((DisjointClasses(names[:size]),))))  # noqa: B023
        for size in (40, 80)
    )
    assert many < 1.2 * few * (80 * 79) / (40 * 39), "calls grow as the pairs do"


def test_a_concept_nested_too_deeply_is_refused() -> None:
    concept = nest(lambda c, i: ObjectComplementOf(ObjectSomeValuesFrom(R, c)), 5000)
    with pytest.raises(UsageError, match="nested too deeply"):
        simplify(TBox((SubClassOf(A, concept),)))


# --- cases by hand --------------------------------------------------------------------------------


def test_no_needless_fresh_names() -> None:
    simplified = simplify(
        TBox(
            (
                SubClassOf(A, ObjectUnionOf((B, ObjectAllValuesFrom(R, C)))),
                SubClassOf(ObjectSomeValuesFrom(R, C), A),
                SubClassOf(A, ObjectMaxCardinality(2, S, B)),
                EquivalentClasses((D, ObjectIntersectionOf((A, ObjectSomeValuesFrom(R, B))))),
                ObjectPropertyDomain(R, ObjectUnionOf((A, B))),
                ObjectPropertyRange(R, ObjectUnionOf((A, B))),
            )
        )
    )
    assert not simplified.clauses.fresh
    assert [clause_text(clause) for clause in simplified.clauses.clauses] == [
        "A(x) ∧ R(x,y) → B(x) ∨ C(y)",
        "R(x,y) ∧ C(y) → A(x)",
        "A(x) → (≤2 S.B)(x)",
        "D(x) → A(x)",
        "D(x) → (∃R.B)(x)",
        "A(x) ∧ R(x,y) ∧ B(y) → D(x)",
        "R(x,y) → A(x) ∨ B(x)",
        "R(x,y) → A(y) ∨ B(y)",
    ]


def test_an_inconsistent_tbox_is_the_empty_clause() -> None:
    assert clauses_of(SubClassOf(A, B), SubClassOf(THING, NOTHING)) == (
        Clause(body=("A",), head=("B",), origins=frozenset({0})),
        Clause(origins=frozenset({1})),
    )
    assert clauses_of(EquivalentClasses((THING, NOTHING))) == (Clause(origins=frozenset({0})),)


@pytest.mark.parametrize(
    "axioms", [(), (SubClassOf(A, THING),), (SubClassOf(NOTHING, A),), (EquivalentClasses((A, A)),)]
)
def test_axioms_that_say_nothing_leave_nothing(axioms: tuple[Axiom, ...]) -> None:
    simplified = simplify(TBox(axioms))
    assert (
        simplified.clauses.clauses
        == simplified.definition4_clauses.clauses
        == simplified.definition4
        == ()
    )
    assert simplified.clauses.atoms == ()


def test_everything_is_a_name() -> None:
    assert clauses_of(EquivalentClasses((A, THING))) == (
        Clause(head=("A",), origins=frozenset({0})),
    )
    assert clauses_of(EquivalentClasses((A, NOTHING))) == (
        Clause(body=("A",), origins=frozenset({0})),
    )


def test_universals_and_at_mosts() -> None:
    simplified = simplify(
        TBox(
            (
                SubClassOf(A, ObjectAllValuesFrom(ObjectInverseOf(R), B)),
                SubClassOf(ObjectSomeValuesFrom(R, C), A),
                ObjectPropertyDomain(S, A),
                SubClassOf(A, ObjectMaxCardinality(2, T, B)),
                FunctionalObjectProperty(T),
            )
        )
    )
    assert simplified.universals == (
        Universal(("A", True), Role("R", True), ("B", True)),
        Universal(("A", False), Role("R"), ("C", False)),
        Universal(None, Role("S", True), ("A", True)),
    )
    assert simplified.at_mosts == (
        AtMost(("A", True), 2, Role("T"), ("B", True)),
        AtMost(None, 1, Role("T"), None),
    )


def test_features_are_closed_downwards() -> None:
    p, q, r, s, u = (DataProperty(name) for name in "pqrsu")
    simplified = simplify(
        TBox(
            (
                SubDataPropertyOf(q, p),
                SubDataPropertyOf(p, u),
                SubClassOf(A, DataSomeValuesFrom(p, Datatype(XSD + "integer"))),
                DisjointDataProperties((r, s)),
            )
        )
    )
    assert simplified.features == {"p", "q", "r", "s"}


def test_origins_name_the_datatype_definitions_that_a_clause_rests_on() -> None:
    small, tiny = Datatype("urn:small"), Datatype("urn:tiny")
    (clause,) = clauses_of(
        DatatypeDefinition(tiny, DataIntersectionOf((small, Datatype(XSD + "byte")))),
        SubClassOf(A, DataSomeValuesFrom(P, tiny)),
        DatatypeDefinition(small, Datatype(XSD + "short")),
        DatatypeDefinition(Datatype("urn:other"), Datatype(XSD + "int")),
    )
    assert clause.origins == {0, 1, 2}


def test_origins_of_a_transitivity_clause() -> None:
    axioms = (
        TransitiveObjectProperty(R),
        InverseObjectProperties(R, S),
        EquivalentObjectProperties((S, T)),
        SubObjectPropertyOf(ObjectInverseOf(T), ObjectProperty("U")),
        SubClassOf(A, ObjectAllValuesFrom(ObjectProperty("U"), B)),
    )
    first, second, *definitions = clauses_of(*axioms)
    assert first.origins == {4}
    assert second.role == Role("R")
    assert second.origins == {0, 1, 2, 3, 4}
    assert [d.origins for d in definitions] == [frozenset(), frozenset()]


def test_a_duplicate_keeps_the_origins_first_found() -> None:
    assert [c.origins for c in clauses_of(SubClassOf(A, B), EquivalentClasses((A, B)))] == [
        {0},
        {1},
    ]


def test_fresh_names_avoid_those_of_the_tbox() -> None:
    taken = Class(PREFIX + "normal-form:0")
    simplified = simplify(
        TBox((SubClassOf(taken, ObjectSomeValuesFrom(R, ObjectUnionOf((A, B)))),))
    )
    assert simplified.clauses.fresh == {PREFIX + "normal-form:1"}
    with pytest.raises(UsageError, match="normal-form:0"):
        simplify(TBox(), [SubClassOf(taken, A)])
    with pytest.raises(UsageError, match="normal-form:0"):
        simplify(TBox(), [taken])
    assert (
        simplify(TBox(), [SubClassOf(Class(PREFIX + "assertion:0"), A)]).clauses.fresh
        == frozenset()
    )


def test_the_filler_under_at_most_is_named_before_transitivity_goes() -> None:
    """The trap of THEORY, "Deciding a shape without a JVM": A0 ⊑ ≤1 S.∃R.A1 with R transitive
    must see A1 at two R-steps.
    """
    simplified = simplify(
        TBox(
            (
                TransitiveObjectProperty(R),
                SubClassOf(A, ObjectMaxCardinality(1, S, ObjectSomeValuesFrom(R, B))),
            )
        )
    )
    for tbox in (simplified.clauses, simplified.definition4_clauses):
        reaching = [c for c in tbox.clauses if c.role == Role("R")]
        assert len(reaching) == 3
        (filler,) = next(c.branch_body for c in tbox.clauses if c.at_most)
        # Along any number of R-steps from B back to the filler: facts of a chain a0 R a1 R a2 with
        # B(a2).
        facts = {("B", 2)}
        for _ in range(6):
            for clause in tbox.clauses:
                if (
                    clause.role is None
                    and not clause.at_most
                    and len(clause.body) == 1
                    and len(clause.head) == 1
                ):
                    facts |= {
                        (str(clause.head[0]), x) for x in range(3) if (clause.body[0], x) in facts
                    }
                elif clause.role == Role("R"):
                    facts |= {
                        (str(clause.head[0]), x)
                        for x in range(2)
                        if (clause.branch_body[0], x + 1) in facts
                    }
        assert {(filler, 0), (filler, 1)} <= facts
        assert (filler, 2) not in facts


OUTSIDE: list[tuple[str, Axiom]] = [
    ("ObjectOneOf", SubClassOf(A, ObjectOneOf(("urn:a",)))),
    ("ObjectHasValue", SubClassOf(A, ObjectHasValue(R, "urn:a"))),
    ("ObjectHasSelf", SubClassOf(A, ObjectHasSelf(T))),
    ("HasKey", HasKey(A, (R,), ())),
    (
        "topObjectProperty",
        SubClassOf(A, ObjectSomeValuesFrom(ObjectProperty(OWL + "topObjectProperty"), B)),
    ),
    (
        "bottomDataProperty",
        SubClassOf(A, DataMinCardinality(1, DataProperty(OWL + "bottomDataProperty"))),
    ),
    ("topObjectProperty", SubObjectPropertyOf(ObjectProperty(OWL + "topObjectProperty"), R)),
    ("ObjectMaxCardinality", SubClassOf(A, ObjectMaxCardinality(1, T))),
    ("ObjectMinCardinality", SubClassOf(A, ObjectMinCardinality(2, ObjectInverseOf(T)))),
    ("ObjectMinCardinality", SubClassOf(A, ObjectExactCardinality(2, T))),
    ("ObjectMaxCardinality", FunctionalObjectProperty(T)),
    ("DisjointObjectProperties", DisjointObjectProperties((R, T))),
    ("IrreflexiveObjectProperty", IrreflexiveObjectProperty(T)),
]


@pytest.mark.parametrize(("construct", "axiom"), OUTSIDE)
def test_what_lies_outside_is_refused_by_name(construct: str, axiom: Axiom) -> None:
    with pytest.raises(UsageError, match=construct):
        simplify(TBox((TransitiveObjectProperty(T), axiom)))


def test_what_looks_like_it_lies_outside_but_does_not() -> None:
    top, bottom = (
        ObjectProperty(OWL + "topObjectProperty"),
        ObjectProperty(OWL + "bottomObjectProperty"),
    )
    harmless = (
        TransitiveObjectProperty(T),
        SubClassOf(A, ObjectMinCardinality(1, T)),
        SubClassOf(A, ObjectMaxCardinality(0, T, B)),
        SubObjectPropertyOf(R, top),
        SubObjectPropertyOf(bottom, R),
    )
    assert simplify(TBox(harmless)).clauses.clauses


def test_datatypes_are_defined_once_and_not_through_themselves() -> None:
    d, e = Datatype("urn:d"), Datatype("urn:e")
    byte, short = Datatype(XSD + "byte"), Datatype(XSD + "short")
    assert simplify(
        TBox((DatatypeDefinition(d, byte), DatatypeDefinition(d, byte)))
    ).clauses.definitions == {"urn:d": byte}
    with pytest.raises(UsageError, match="urn:d"):
        simplify(TBox((DatatypeDefinition(d, byte), DatatypeDefinition(d, short))))
    with pytest.raises(UsageError, match="cyclic"):
        simplify(
            TBox((DatatypeDefinition(d, DataIntersectionOf((e, byte))), DatatypeDefinition(e, d)))
        )


# --- description ----------------------------------------------------------------------------------


def test_report() -> None:
    axioms = (
        SubClassOf(A, ObjectAllValuesFrom(S, B)),
        SubObjectPropertyOf(R, ObjectInverseOf(S)),
        FunctionalObjectProperty(T),
        SubClassOf(A, DataHasValue(P, Literal("x"))),
        TransitiveObjectProperty(ObjectProperty("U")),
    )
    shown = describe_tbox(simplify(TBox(axioms)))
    assert json.loads(json.dumps(shown)) == shown
    assert shown["u_part"] == ["R", "S"]
    assert shown["m_part"] == ["T"]
    assert shown["features"] == ["p"]
    assert shown["universals"] == ["A ⊑ ∀S.B"]
    assert shown["at_mosts"] == ["⊤ ⊑ ≤1 T.⊤"]
    assert shown["definition4"] == ["A ⊑ ∀S.B", "⊤ ⊑ ≤1 T.⊤", 'A ⊑ ∃p.{"x"}']
    assert shown["clauses"] == [
        {"kind": "u", "text": "A(x) ∧ S(x,y) → B(y)", "origins": [0]},
        {"kind": "m", "text": "⊤ → (≤1 T.⊤)(x)", "origins": [2]},
        {"kind": "local", "text": 'A(x) → (∃p.{"x"})(x)', "origins": [3]},
    ]


def test_concept_text() -> None:
    concept = ObjectIntersectionOf(
        (
            A,
            ObjectComplementOf(ObjectUnionOf((B, THING))),
            ObjectAllValuesFrom(ObjectInverseOf(R), C),
        )
    )
    assert concept_text(concept) == "A ⊓ ¬(B ⊔ ⊤) ⊓ ∀R⁻.C"


def test_inclusions_know_their_disjuncts() -> None:
    assert Inclusion(THING, NOTHING).disjuncts == ()
    assert Inclusion(THING, ObjectUnionOf((A, B))).disjuncts == (A, B)
