"""The parts of `abox_ops`, each by itself, on cases small enough to check by hand."""

from __future__ import annotations

import random
from itertools import permutations

import pytest

from shiq.abox_ops.conflicts.minimal_subsets import minimal_sublist
from shiq.abox_ops.elements.normal_assertions import collect_definitions, normalise
from shiq.abox_ops.labels.irrelevance import Needs
from shiq.abox_ops.labels.label_calculus import EMPTY, Label, LabelCalculus, clashes
from shiq.abox_ops.modules import shapes as shapes_
from shiq.abox_ops.modules.components import KeptAssertions, component_modules
from shiq.abox_ops.modules.shapes import Shapes
from shiq.abox_ops.published.part_of import m_part, u_part
from shiq.abox_ops.published.remedies import Definition7, Outcome, Remedy, remedies
from shiq.functional import parse_functional
from shiq.model import (
    XSD,
    Class,
    ClassAssertion,
    Literal,
    NegativeObjectPropertyAssertion,
    ObjectAllValuesFrom,
    ObjectComplementOf,
    ObjectProperty,
    ObjectPropertyAssertion,
    ObjectUnionOf,
    TBox,
)
from shiq.model.roles import Role, role_box
from shiq.partition import Partition
from shiq.reasoner.protocol import Module
from shiq.simplify import SimplifiedTBox, simplify
from shiq.support import bits
from tests.spec.counting import Counts
from tests.spec.element_graph import ElementGraph
from tests.spec.irrelevance import Irrelevance

PREFIX = "Prefix(:=<urn:t#>) Prefix(owl:=<http://www.w3.org/2002/07/owl#>) Prefix(xsd:=<http://www.w3.org/2001/XMLSchema#>)"


def tbox(*axioms: str) -> TBox:
    reading = parse_functional(f"{PREFIX} Ontology({' '.join(axioms)})", "test", "t")
    assert not reading.leftovers
    return reading.tbox


def simplified(*axioms: str) -> SimplifiedTBox:
    return simplify(tbox(*axioms))


def n(name: str) -> str:
    return "urn:t#" + name


def label(space: LabelCalculus, positive: str = "", negative: str = "") -> Label:
    ids = space.tbox.atom_ids

    def mask(names: str) -> int:
        return sum(1 << ids[n(name)] for name in names.split())

    return mask(positive), mask(negative)


def names(space: LabelCalculus, found: Label) -> tuple[set[str], set[str]]:
    def plain(mask: int) -> set[str]:
        return {
            a.removeprefix("urn:t#")
            for i in bits(mask)
            if isinstance(a := space.tbox.atoms[i], str)
        }

    return plain(found[0]), plain(found[1])


# --- told literals --------------------------------------------------------------------------------


def test_unit_propagation_goes_both_ways() -> None:
    space = LabelCalculus(simplified("SubClassOf(:A ObjectUnionOf(:B :C))").clauses)
    assert names(space, space.close(label(space, "A", "B"))) == ({"A", "C"}, {"B"})
    assert names(space, space.close(label(space, "", "B C"))) == (set(), {"A", "B", "C"})
    assert names(space, space.close(label(space, "A"))) == ({"A"}, set())


def test_a_clause_whose_literals_are_all_refuted_clashes() -> None:
    space = LabelCalculus(simplified("SubClassOf(:A :B)", "DisjointClasses(:A :B)").clauses)
    assert clashes(space.close(label(space, "A")))
    assert not clashes(space.close(label(space, "B")))
    assert clashes(space.clash)


def test_role_assertions_send_ranges_domains_and_contrapositives() -> None:
    space = LabelCalculus(
        simplified(
            "ObjectPropertyRange(:r :B)",
            "SubClassOf(ObjectSomeValuesFrom(:r :D) :E)",
            "SubObjectPropertyOf(:s :r)",
        ).clauses
    )
    sent = space.send(Role(n("s")), EMPTY, label(space, "D"))
    assert names(space, sent.subject) == ({"E"}, set())
    assert names(space, sent.object) == ({"B"}, set())
    back = space.send(Role(n("s"), True), label(space, "", ""), label(space, "", "E"))
    assert names(space, back.subject) == ({"B"}, {"D"})
    assert space.send(Role(n("unknown")), EMPTY, EMPTY) == (EMPTY, EMPTY)


def test_closure_is_idempotent_and_monotone() -> None:
    space = LabelCalculus(
        simplified(
            "SubClassOf(:A ObjectUnionOf(:B :C))",
            "DisjointClasses(:B :D)",
            "SubClassOf(:C :D)",
            "SubClassOf(:D :E)",
        ).clauses
    )
    rng = random.Random(7)
    size = len(space.tbox.atoms)
    for _ in range(300):
        small = (
            rng.getrandbits(size) & rng.getrandbits(size),
            rng.getrandbits(size) & rng.getrandbits(size),
        )
        large = (small[0] | 1 << rng.randrange(size), small[1])
        closed, wider = space.close(small), space.close(large)
        assert space.close(closed) == closed
        assert closed[0] & ~wider[0] == 0
        assert closed[1] & ~wider[1] == 0


# --- irrelevance ----------------------------------------------------------------------------------


def test_discharge_by_a_literal_at_either_end() -> None:
    space = LabelCalculus(
        simplified("SubClassOf(:A ObjectAllValuesFrom(:r ObjectUnionOf(:B :C)))").clauses
    )
    irrelevance = Irrelevance(space)
    r = Role(n("r"))
    assert irrelevance.open_clauses(r, EMPTY, EMPTY).is_relevant
    assert not irrelevance.open_clauses(r, label(space, "", "A"), EMPTY).is_relevant
    assert not irrelevance.open_clauses(r, EMPTY, label(space, "B")).is_relevant
    assert irrelevance.open_clauses(r, label(space, "A"), label(space, "", "B")).is_relevant
    assert irrelevance.open_clauses(r.inverse, EMPTY, EMPTY).is_relevant
    assert not irrelevance.open_clauses(Role(n("other")), EMPTY, EMPTY).is_relevant


def test_at_most_is_left_to_counting() -> None:
    space = LabelCalculus(simplified("SubClassOf(:A ObjectMaxCardinality(2 :r :B))").clauses)
    found = Irrelevance(space).open_clauses(Role(n("r"), True), EMPTY, EMPTY)
    assert not found.is_relevant
    assert not found.at_subject
    assert [c.n for c in found.at_object] == [2]


# --- counting -------------------------------------------------------------------------------------


def counted(axioms: list[str], edges: list[tuple[str, str, str]], told: dict[str, str]) -> Counts:
    space = LabelCalculus(simplified(*axioms).clauses)
    graph = ElementGraph(space.tbox)
    for role, a, b in edges:
        graph.add(ObjectPropertyAssertion(ObjectProperty(n(role)), a, b))
    labels = {i: space.close(label(space, positive)) for i, positive in told.items()}
    return Counts(space, graph, lambda e: labels.get(e, EMPTY), Needs(space))


def test_an_overfull_class_makes_its_neighbours_one() -> None:
    counts = counted(
        ["SubClassOf(owl:Thing ObjectMaxCardinality(1 :r))"], [("r", "a", "b"), ("r", "a", "c")], {}
    )
    assert counts.classes.find("b") == counts.classes.find("c") != counts.classes.find("a")
    [clause] = counts.space.m_type
    assert not counts.is_within_bound("a", clause)
    assert counts.is_within_bound("b", clause)


def test_a_need_uses_up_the_bound_unless_a_neighbour_meets_it() -> None:
    axioms = [
        "SubClassOf(owl:Thing ObjectMaxCardinality(2 :r))",
        "SubClassOf(:A ObjectSomeValuesFrom(:r :D))",
    ]
    edges = [("r", "a", "b"), ("r", "a", "c")]
    [clause] = counted(axioms, edges, {}).space.m_type
    assert not counted(axioms, edges, {"a": "A"}).is_within_bound("a", clause)
    assert counted(axioms, edges, {"a": "A", "b": "D"}).is_within_bound("a", clause)


def test_a_neighbour_may_take_the_element_as_its_witness() -> None:
    axioms = [
        "SubClassOf(owl:Thing ObjectMaxCardinality(1 :r))",
        "SubClassOf(:B ObjectSomeValuesFrom(ObjectInverseOf(:r) owl:Thing))",
    ]
    counts = counted(axioms, [("r", "a", "b"), ("s", "a", "d")], {"d": "B"})
    [clause] = counts.space.m_type
    assert not counts.is_within_bound("a", clause)


# --- Definitions 5 to 7 ---------------------------------------------------------------------------


def test_part_of_goes_down_the_role_hierarchy_and_over_inverses() -> None:
    found = simplified(
        "SubClassOf(:A ObjectAllValuesFrom(:r :B))",
        "SubClassOf(:A ObjectMaxCardinality(1 :s :B))",
        "SubObjectPropertyOf(:q :r)",
        "SubObjectPropertyOf(:p ObjectInverseOf(:s))",
    )
    u, m = u_part(found), m_part(found)
    assert {Role(n("r")), Role(n("q")), Role(n("q"), True)} <= u
    assert Role(n("s")) not in u
    assert {Role(n("s")), Role(n("p")), Role(n("p"), True)} <= m
    assert all(r.inverse in u for r in u)
    assert all(r.inverse in m for r in m)


def test_remedies() -> None:
    found = simplified("SubClassOf(:A ObjectAllValuesFrom(:r :B))")
    space = LabelCalculus(found.definition4_clauses)
    ids = space.tbox.atom_ids

    def of(centre: Label, branch: Label) -> list[Remedy | None]:
        return list(remedies(found.universals, centre, branch, ids))

    a, b = n("A"), n("B")
    assert of(label(space, "A"), EMPTY) == [Remedy(True, b, True)]
    assert of(EMPTY, label(space, "", "B")) == [Remedy(False, a, False)]
    assert of(label(space, "", "A"), EMPTY) == []
    assert of(EMPTY, label(space, "B")) == []
    assert of(EMPTY, EMPTY) == [None]


def test_outcomes() -> None:
    found = simplified(
        "SubClassOf(:A ObjectAllValuesFrom(:r :B))",
        "SubClassOf(:C ObjectAllValuesFrom(ObjectInverseOf(:r) :D))",
        "FunctionalObjectProperty(:f)",
    )
    space = LabelCalculus(found.definition4_clauses)
    rules = Definition7.build(found, [], [])
    r, a, c, none = Role(n("r")), label(space, "A"), label(space, "", "C"), (EMPTY, EMPTY)
    at_b, at_a = (True, n("B"), True), (False, n("D"), True)
    kept = Outcome(True, (), True, True)
    assert rules.outcome(Role(n("s")), a, a, None) == Outcome(False, (), False, False)
    assert rules.outcome(Role(n("f")), a, a, (a, a)) == kept
    assert rules.outcome(r, EMPTY, EMPTY, none) == kept
    assert rules.outcome(r, a, EMPTY, (a, EMPTY)) == kept, "the axiom on the inverse has no remedy"
    assert rules.outcome(r, a, c, None) == Outcome(False, (at_b,), False, True)
    assert rules.outcome(r, a, c, none) == Outcome(False, (at_b,), False, True), (
        "the premise is inserted"
    )
    assert rules.outcome(r, a, c, (a, EMPTY)) == Outcome(False, (at_b,), False, False), (
        "A entails the remedy"
    )
    both = Outcome(False, (at_b, at_a), True, False)
    assert rules.outcome(r, a, label(space, "C"), (a, EMPTY)) == both
    from_behind = Outcome(False, ((False, n("B"), True), (True, n("D"), True)), False, True)
    found_so = rules.outcome(r.inverse, label(space, "C"), a, (EMPTY, a))
    assert found_so._replace(remedies=tuple(sorted(found_so.remedies))) == from_behind


def test_normal_form_of_assertions() -> None:
    roles = role_box(tbox("TransitiveObjectProperty(:r)").axioms)
    plain = ClassAssertion(Class(n("A")), "a")
    assert normalise(plain, roles).assertions == (plain,)
    complex_ = ClassAssertion(ObjectUnionOf((Class(n("A")), Class(n("B")))), "a")
    found = normalise(complex_, roles)
    assert found.definitions[0].sup == complex_.expression
    assert found.assertions == (ClassAssertion(found.definitions[0].sub, "a"),)
    assert (
        normalise(ClassAssertion(complex_.expression, "b"), roles).definitions == found.definitions
    )
    negative = NegativeObjectPropertyAssertion(ObjectProperty(n("r")), "a", "b")
    at_a, at_b = normalise(negative, roles).assertions
    assert isinstance(at_b, ClassAssertion)
    assert collect_definitions([negative], roles)[0].sup == ObjectAllValuesFrom(
        ObjectProperty(n("r")), ObjectComplementOf(at_b.expression)
    )
    assert isinstance(at_a, ClassAssertion)
    assert at_a.individual == "a"
    assert (
        normalise(
            NegativeObjectPropertyAssertion(ObjectProperty(n("s")), "a", "b"), roles
        ).definitions
        == ()
    )


# --- modules and shapes ---------------------------------------------------------------------------


def test_modules_are_components_of_the_role_assertions() -> None:
    r = Role("urn:r")
    kept = KeptAssertions(
        {"a": (1, 0), "b": (2, 0), "c": (4, 0)}, {("a", r, "b")}, different={("a", "b"), ("a", "c")}
    )
    found = component_modules(kept)
    assert [m.elements for m in found] == [(("a",), ("b",)), (("c",),)]
    assert found[0].module.edges == ((0, r, 1),)
    assert found[0].module.different == ((0, 1),)
    assert found[1].module.different == ()


def test_renamed_modules_have_one_shape() -> None:
    space = simplified(
        "SubClassOf(:A ObjectAllValuesFrom(:r :B))",
        "SubClassOf(:B DataSomeValuesFrom(:f xsd:integer))",
    ).clauses
    shapes = Shapes(space)
    r = Role(n("r"))
    labels = [(1, 0), (2, 0), (0, 1), (0, 0)]
    edges = [(0, r, 1), (1, r, 2), (2, r, 3), (3, r, 0)]
    found = set()
    for order in permutations(range(4)):
        place = {node: i for i, node in enumerate(order)}
        found.add(
            shapes.shape_of(
                Module(
                    tuple(labels[node][0] for node in order),
                    tuple(labels[node][1] for node in order),
                    tuple((place[a], role, place[b]) for a, role, b in edges),
                )
            )
        )
    assert len(found) == 1


def test_equal_modules_are_put_in_order_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where parts of a batch are checked one after the other."""
    r, orders = Role(n("r")), []
    monkeypatch.setattr(
        shapes_,
        "_canonical_node_order",
        lambda module, data: orders.append(module) or [0, 1],  # type: ignore[func-returns-value]
    )
    shapes = Shapes(simplified("SubClassOf(:A ObjectAllValuesFrom(:r :B))").clauses)
    keys = {
        shapes.shape_of(Module((1, 2), (0, positive), ((0, r, 1),))) for positive in (0, 1, 0, 1)
    }
    assert len(keys) == len(orders) == 2


def test_shapes_keep_literals_apart_that_the_tbox_tells_apart() -> None:
    space = simplified("DataPropertyRange(:f xsd:integer)").clauses
    shapes = Shapes(space)

    def shape(*values: tuple[str, str]) -> object:
        return shapes.shape_of(
            Module((0,), (0,), data=tuple((0, n("f"), Literal(v, XSD + t)) for v, t in values))
        )

    assert shape(("1", "integer")) == shape(("2", "integer"))
    assert shape(("1", "integer")) != shape(("1", "string"))
    assert shape(("1", "integer"), ("01", "integer")) != shape(("1", "integer"), ("2", "integer"))


# --- small tools ----------------------------------------------------------------------------------


def test_partition_names_classes_by_their_least_member() -> None:
    partition: Partition[str] = Partition()
    for a, b in (("d", "c"), ("b", "a"), ("c", "b")):
        partition.union(a, b)
    assert {partition.find(x) for x in "abcd"} == {"a"}
    assert partition.members("a") == ("a", "b", "c", "d")
    copy = Partition(partition)
    copy.union("a", "e")
    assert partition.find("e") == "e"


@pytest.mark.parametrize("seed", range(20))
def test_shrink_finds_a_minimal_part(seed: int) -> None:
    rng = random.Random(seed)
    wanted = [set(rng.sample(range(40), rng.randint(1, 4))) for _ in range(3)]

    def holds(part: list[int]) -> bool:
        return any(w <= set(part) for w in wanted)

    found = minimal_sublist(list(range(40)), holds)
    assert holds(found)
    assert all(not holds([x for x in found if x != out]) for out in found)
