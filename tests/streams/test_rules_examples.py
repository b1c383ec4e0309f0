"""Stream rules: the worked examples, and the slips of the source (docs/RULES.md)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from shiq.streams.rules import Program
from shiq.streams.rules.splitting import DependencyGraphs, build_dependency_graphs, flatten_rules
from shiq.streams.rules.syntax import StreamRule


def _atoms(text: str) -> list[str]:
    """b5 → b(5), e01 → e(0,1), alert → alert."""
    found = []
    for word in text.split():
        name, digits = word[0], word[1:]
        found.append(f"{name}({','.join(digits)})" if len(name) == 1 and digits.isdigit() else word)
    return found


def derived(program: str, points: list[str], **options: object) -> list[list[str]]:
    """The derived atoms of each point from 0 on."""
    models = Program.parse(program).run(
        ((t, _atoms(text)) for t, text in enumerate(points)), **options
    )
    return [model.derived for model in models]


def expected(points: list[str]) -> list[list[str]]:
    return [sorted(_atoms(text)) for text in points]


P4 = """a(X):-b(X) always in [2]. b(Y):-a(X) in [1],Y=X+1,c(Y). d(X):-b(X) at least 2 in [4]. e(X,Y):-a(X),b(Y)."""


def test_1_windows_are_about_points() -> None:
    program = Program.parse("c(X):-b(X) at least 2 in {0,1,3}.")
    models = list(
        program.run([(0, ["a(2)", "b(5)"]), (1, ["a(3)", "c(7)"]), (2, ["b(5)"]), (3, ["a(3)"])])
    )
    assert [model.atoms for model in models] == [
        ["a(2)", "b(5)"],
        ["a(3)", "c(7)"],
        ["b(5)"],
        ["a(3)", "c(5)"],
    ]
    other = "c(X):-b(X) at least 2 in {0,1,3}. #show c/1"
    assert [
        model.atoms for model in Program.parse(other).run([(0, ["b(5)"]), (2, ["b(5)"]), (3, [])])
    ][-1] == ["c(5)"]


def test_2_temporary_atoms_are_not_seen_later() -> None:
    rules = "c(X):-b(X). d(X):-c(X) in [1]."
    models = [model.atoms for model in Program.parse(rules).run([(0, ["b(5)"]), (1, ["c(7)"])])]
    assert models == [["b(5)", "c(5)", "d(5)"], ["c(7)", "d(5)", "d(7)"]]
    models = [
        model.atoms for model in Program.parse("#temp " + rules).run([(0, ["b(5)"]), (1, ["c(7)"])])
    ]
    assert models == [["b(5)", "c(5)", "d(5)"], ["c(7)", "d(7)"]]


def test_3_recursion_through_windows() -> None:
    points = ["b0 c1", "c2", "b1 c1", "b1", "b1 c2", "", "b2"]
    wanted = ["a0 a1 b1 e00 e01 e10 e11", "b2", "d1", "d1", "a1 b2 d1 d2 e11 e12", "d1 d2", "d1 d2"]
    assert derived(P4, points) == expected(wanted)


def test_4_sums_of_counts() -> None:
    cars = {0: ["car(a)"], 1: ["car(a)", "car(b)"], 20: ["car(b)"], 45: []}
    program = Program.parse(
        "carPassing(C,N):-car(C) count N in [20]. tot(T):-#sum{N,C:carPassing(C,N)}=T. #show tot/1"
    )
    found = {model.t: model.derived for model in program.run(cars.items())}
    wanted = {
        0: 1,
        **dict.fromkeys(range(1, 20), 3),
        20: 4,
        21: 3,
        **dict.fromkeys(range(22, 41), 1),
    }
    wanted |= dict.fromkeys(range(41, 46), 0)
    assert found == {t: [f"tot({number})"] for t, number in wanted.items()}


def test_5_photo_voltaic_grid() -> None:
    program = Program.parse(
        """workingPanel(P) :- energyDelivered(P,W) at least 1 in [4], energyThreshold(Et), W >= Et.
        reachable(cea,P2) :- link(cea,P2), workingPanel(P2).
        reachable(P1,P3) :- reachable(P1,P2), link(P2,P3), workingPanel(P3).
        unlinked :- workingPanel(P), not reachable(cea,P).
        regularFunctioning :- unlinked at most 2 in [3].      alert :- not regularFunctioning.
        callMaintenance :- alert always in [5].
        link(cea,1). link(1,2). link(2,3). energyThreshold(10)."""
    )
    first = ["energyDelivered(1,10)", "energyDelivered(2,10)", "energyDelivered(3,10)"]
    later = ["energyDelivered(1,2)", *first[1:]]
    models = {
        model.t: model.derived
        for model in program.run([(0, first), *((t, later) for t in range(1, 16))])
    }
    assert [t for t, told in models.items() if "unlinked" in told] == list(range(5, 16))
    assert [t for t, told in models.items() if "alert" in told] == list(range(7, 16))
    assert [t for t, told in models.items() if "callMaintenance" in told] == list(range(12, 16))


def test_6_trains() -> None:
    program = Program.parse(
        """irregular:-train_pass, train_pass at least 1 in {1,2}. irregular:-not train_pass in [6].
        #temp num_anomalies(X):-irregular count X in [30]. mild_alert:-num_anomalies(X),X>2,X<=5.
        severe_alert:-num_anomalies(X),X>5."""
    )
    models = program.run((t, ["train_pass"] if t in (0, 4, 5, 13) else []) for t in range(16))
    found = {model.t: model.derived for model in models}
    wanted: dict[int, list[str]] = {t: [] for t in range(5)}
    wanted |= {t: ["num_anomalies(1)"] for t in range(5, 12)} | {
        t: ["num_anomalies(2)"] for t in range(12, 16)
    }
    for t in (5, 12):
        wanted[t] = ["irregular", *wanted[t]]
    assert found == wanted


def test_7_persistence_is_by_atom_and_reason() -> None:
    rules = "#temp c(X):-b(X). c(X):-k(X). d(X):-c(X) in {1}."
    assert derived(rules, ["b1 b2 b3 k2 c3", ""]) == expected(["c1 c2 c3", "d2 d3"])


def test_8_facts_are_derived_at_every_point() -> None:
    assert derived("k(1). p(N):-k(X) count N in [3].", ["", "", "", "", ""]) == expected(
        ["p1", "p2", "p3", "p4", "p4"]
    )


def test_9_partial_windows() -> None:
    points = ["b1", "b1", "", "b1", ""]
    assert derived("p(X):-b(X) always in {1,3}.", points) == expected(["", "p1", "p1", "", "p1"])
    assert derived("p(X,N):-b(X) count N in {1,3}.", points) == expected(
        ["", "p11", "p11", "p11", "p12"]
    )
    assert derived("z:-not b(1) count 1 in [3].", points) == expected(["", "z", "z", "z", "z"])
    assert derived("p(X):-b(X) always in [1].", ["b1", "b1"]) == expected(["p1", "p1"])
    assert derived("p(X):-b(X) always in [1].", ["b1", "b1"], complete_windows=True) == expected(
        ["", "p1"]
    )


def test_10_trigger_frequency_and_now() -> None:
    program = Program.parse("#trigger_frequency(2) t(X):-a(X) in [1]. u(X,@now):-a(X).")
    found = [model.derived for model in program.run((100 + i, [f"a({i + 1})"]) for i in range(4))]
    assert found == [["t(1)", "u(1,100)"], ["u(2,101)"], ["t(2)", "t(3)", "u(3,102)"], ["u(4,103)"]]


RECURSIVE = "a(X):-b(X) in [1]. b(Y):-a(X) in [1],Y=X+1,c(Y). e(X):-c(X), not a(X)."


def test_11_negation_waits_for_the_end_of_recursion() -> None:
    models = Program.parse(RECURSIVE).run([(0, ["b(0)", "c(1)"]), (1, ["c(2)"]), (2, [])])
    wanted = [
        ["a(0)", "a(1)", "b(0)", "b(1)", "c(1)"],
        ["a(0)", "a(1)", "a(2)", "b(2)", "c(2)"],
        ["a(2)"],
    ]
    assert [model.atoms for model in models] == wanted


def test_12_aggregates() -> None:
    program = Program.parse("m(M):-#max{Y:b(Y)}=M. n(C):-#count{X:a(X)}=C.")
    models = program.run([(0, ["a(1)", "b(2)", "b(k)"]), (1, ["a(3)", 'b("s")']), (2, [])])
    assert [model.derived for model in models] == [["m(k)", "n(1)"], ['m("s")', "n(1)"], ["n(0)"]]


def test_the_empty_minimum_fits_no_guard() -> None:
    rules = "p:-#min{X:a(X)}=1. q:-not #min{X:a(X)}=1. r:-#sum{X:a(X)}=0. s:-not #count{X:a(X)}>0."
    assert derived(rules, ["", "a1", "a2"]) == expected(["r s", "p", "q"])


# --- splitting


def _rules(text: str) -> tuple[StreamRule, ...]:
    return Program.parse(text).checked_program.rules


def orders(found: DependencyGraphs, begun: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """Every order of the components that satisfies all arcs."""
    if len(begun) == len(found.members):
        yield begun
    for node in found.ready_components(begun):
        yield from orders(found, (*begun, node))


def _named(text: str) -> tuple[list[list[list[str]]], set[frozenset[tuple[str, ...]]]]:
    """The macro-nodes, and those of every order, by predicates without arities."""
    found = build_dependency_graphs(_rules(text))

    def names(node: int) -> str:
        return ",".join(predicate.partition("/")[0] for predicate in found.members[node])

    every = {
        frozenset(tuple(sorted(map(names, run))) for run in found.macro_nodes_of(order))
        for order in orders(found)
    }
    return [[names(node).split(",") for node in run] for run in found.macro_nodes], every


def test_slips_of_the_source() -> None:
    found = build_dependency_graphs(_rules(P4))
    by_name = {members: i for i, members in enumerate(found.members)}
    ab, d, e = by_name["a/1", "b/1"], by_name["d/1",], by_name["e/2",]
    assert found.precedes == {(ab, d)}
    # (a) two orders, none twice; (b) all pairs are compared, (c) along all arcs
    assert sorted(orders(found)) == sorted([(ab, d, e), (ab, e, d)])
    assert {frozenset(map(frozenset, found.macro_nodes_of(order))) for order in orders(found)} == {
        frozenset({frozenset({ab, e}), frozenset({d})}),
        frozenset({frozenset({ab}), frozenset({d, e})}),
    }
    _, every = _named("a:-i. e:-a. x:-j. y:-x in [2].")
    assert all(
        not ({"e", "x"} == set(run) and {"y", "a"} in map(set, runs))
        for runs in every
        for run in runs
    )
    # (d) a recursive component and a negation of it are apart
    nodes, _ = _named(RECURSIVE)
    assert nodes == [[["a", "b"]], [["e"]]]


def test_which_rules_are_streaming_recursive() -> None:
    rules = _rules(P4)
    found = build_dependency_graphs(rules)
    assert [found.is_streaming_recursive(rule) for rule in rules] == [True, True, False, False]


def test_flat_rewriting_shares() -> None:
    flattened, told = flatten_rules(
        _rules(
            P4
            + "f(Z) :- b(Z) at least 2 in {0,1,2,3,4}. g(X,N) :- b(X) count N in [2], not b(X) count N in [2]."
        )
    )
    assert told == {
        "b_aux1/1": "b(X1) always in [2]",
        "a_aux1/1": "a(X1) in [1]",
        "b_aux2/1": "b(X1) at least 2 in [4]",
        "b_aux3/2": "b(X1) count N in [2]",
    }
    assert str(flattened[1]) == "b(Y) :- a_aux1(X), Y=X+1, c(Y)."
    assert str(flattened[4]) == "f(Z) :- b_aux2(Z)."
    assert str(flattened[5]) == "g(X,N) :- b_aux3(X,N), not b_aux3(X,N)."


@pytest.mark.parametrize(
    ("rules", "key"),
    [
        ("a(X,Y):-b(X,Z) in [2], c(X,Y).", {"a/2": 0, "b/2": 0, "c/2": 0}),
        ("a(X,Y):-b(X,Z) in [2], c(Z,Y).", None),
        ("a(X):-b(X,Z), f(Z). f(1).", {"a/1": 0, "b/2": 0}),
        ("a(X):-b(X), n(X). n(X):-f(X). f(1).", None),
        ("a(X,N):-b(X), #count{Y:c(X,Y)}=N.", {"a/2": 0, "b/1": 0, "c/2": 0}),
        ("a(X,N):-b(X), #count{X,Y:c(Y,Y)}=N.", None),
        ("a(N):-#count{Y:c(Y)}=N.", None),
        ("a(X,N):-b(X,Y) count N in [3], not c(X).", {"a/2": 0, "b/2": 0, "c/1": 0}),
        ("a(N):-b(X) count N in [3].", None),
        ("a(X):-X=1, not b(X) count 2 in [3].", None),
        ("p(Y,X):-p(X,Y), q(X,Y).", None),
        ("p(Y,X):-p(Y,Z), q(X,Y), not r(Z,Z,Y).", {"p/2": 0, "q/2": 1, "r/3": 2}),
    ],
)
def test_keys(rules: str, key: dict[str, int] | None) -> None:
    assert Program.parse(rules).key.key == key
