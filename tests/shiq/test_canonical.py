"""The canonical form: equal for isomorphic graphs, and for no others."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations, permutations

import pytest

from shiq.model.canonical_graphs import (
    MOST_TRIED,
    Arc,
    canonical_form,
    canonical_order,
    node_positions,
    renumber_arcs,
)

Graph = tuple[list[str], list[Arc]]


def _drawn(rng: random.Random, most: int) -> Graph:
    """A small graph, often of equal parts around node 0."""
    size, labels = rng.randint(1, most), "rst"[: rng.randint(1, 3)]
    colours = [rng.choice(["", "", "a"]) for _ in range(size)]
    arcs: set[Arc] = set()
    for _ in range(rng.randint(0, 2 * size)):
        a, b = rng.randrange(size), rng.randrange(size)
        arcs.add((rng.choice(labels), a, rng.choice([b, b, b, -1])))
    if rng.random() < 0.5:
        copies = rng.randint(2, 4)

        def at(node: int, copy: int) -> int:
            return node if node < 1 else node + copy * (size - 1)

        arcs = {(label, at(a, i), at(b, i)) for i in range(copies) for label, a, b in arcs}
        colours = colours[:1] + colours[1:] * copies
    return colours, sorted(arcs)


def _moved(graph: Graph, place: Sequence[int]) -> Graph:
    colours, arcs = graph
    return [colours[place.index(i)] for i in range(len(colours))], list(renumber_arcs(arcs, place))


def _are_isomorphic(first: Graph, second: Graph) -> bool:
    """By trying every renumbering."""
    wanted = second[0], sorted(second[1])
    return any(_moved(first, place) == wanted for place in permutations(range(len(first[0]))))


def _look_alikes(rng: random.Random, size: int) -> Graph:
    """One or two permutations of the nodes: colours tell nothing of them."""
    drawn = [rng.sample(range(size), size) for _ in range(rng.randint(1, 2))]
    return [""] * size, sorted(
        (label, a, b) for label, to in zip("rs", drawn) for a, b in enumerate(to)
    )


@pytest.mark.parametrize("seed", range(300))
def test_every_numbering_gives_one_form(seed: int) -> None:
    rng = random.Random(seed)
    for turn in range(10):
        graph = _drawn(rng, 9) if turn % 2 else _look_alikes(rng, rng.randint(4, 9))
        found = canonical_form(*graph)
        order = canonical_order(*graph)
        assert sorted(order) == list(range(len(graph[0])))
        assert found == (
            tuple(graph[0][n] for n in order),
            renumber_arcs(graph[1], node_positions(order)),
        )
        for _ in range(3):
            place = list(range(len(graph[0])))
            rng.shuffle(place)
            colours, arcs = _moved(graph, place)
            rng.shuffle(arcs)
            assert canonical_form(colours, arcs) == found


@pytest.mark.parametrize("seed", range(60))
def test_forms_are_equal_where_a_renumbering_makes_graphs_equal(seed: int) -> None:
    """One arc or colour is changed, which often leads to an isomorphic graph."""
    rng = random.Random(seed)
    while True:
        colours, arcs = _drawn(rng, 5)
        if 2 <= len(colours) <= 6 and arcs:
            break
    for _ in range(12):
        changed, less = list(colours), list(arcs)
        label, a, b = less.pop(rng.randrange(len(less)))
        less.append(
            rng.choice([(label, b if b >= 0 else a, a), (label, a, rng.randrange(len(colours)))])
        )
        rng.shuffle(changed)
        other = changed, sorted(set(less))
        assert (canonical_form(colours, arcs) == canonical_form(*other)) == _are_isomorphic(
            (colours, arcs), other
        )


@pytest.mark.parametrize("seed", range(20))
def test_look_alikes_have_equal_forms_only_where_they_are_isomorphic(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(12):
        first, second = _look_alikes(rng, 5), _look_alikes(rng, 5)
        assert (canonical_form(*first) == canonical_form(*second)) == _are_isomorphic(first, second)


def test_all_graphs_of_four_nodes_have_as_many_forms_as_there_are() -> None:
    """218 digraphs of four nodes, 11 of which are symmetric (OEIS A000273, A000088)."""
    pairs = [("r", a, b) for a, b in permutations(range(4), 2)]
    assert (
        len(
            {
                canonical_form([0] * 4, [p for i, p in enumerate(pairs) if bits >> i & 1])
                for bits in range(2**12)
            }
        )
        == 218
    )
    edges = list(combinations(range(4), 2))
    chosen = [[e for i, e in enumerate(edges) if bits >> i & 1] for bits in range(2**6)]
    assert len({canonical_form([0] * 4, _both_ways(some)) for some in chosen}) == 11


def test_named_nodes_are_kept() -> None:
    line: list[Arc] = [("r", 0, 1), ("r", 1, 2)]
    assert canonical_form(["x", "", ""], line) == canonical_form(
        ["", "", "x"], [("r", 2, 1), ("r", 1, 0)]
    )
    assert canonical_form(["x", "", ""], line) != canonical_form(["y", "", ""], line)
    assert canonical_form(["x", "", ""], line) != canonical_form(["", "", "x"], line)


def _both_ways(pairs: Sequence[tuple[int, int]]) -> list[Arc]:
    return [("r", *pair) for a, b in pairs for pair in ((a, b), (b, a))]


def _ring(*nodes: int) -> list[tuple[int, int]]:
    return [(a, nodes[(i + 1) % len(nodes)]) for i, a in enumerate(nodes)]


def _symmetric() -> dict[str, tuple[int, list[Arc]]]:
    rook = [((a, b), (c, d)) for a, b, c, d in _tuples(4) if (a == c) != (b == d)]
    torus = [(0, 1), (1, 0), (1, 1), (0, 3), (3, 0), (3, 3)]
    shrikhande = [
        ((a, b), ((a + x) % 4, (b + y) % 4)) for a in range(4) for b in range(4) for x, y in torus
    ]
    return {
        "ring": (60, _both_ways(_ring(*range(60)))),
        "two rings": (60, _both_ways(_ring(*range(30)) + _ring(*range(30, 60)))),
        "triangles": (60, _both_ways([e for i in range(0, 60, 3) for e in _ring(i, i + 1, i + 2)])),
        "all": (40, [("r", a, b) for a, b in permutations(range(40), 2)]),
        "star": (60, [("r", 0, i) for i in range(1, 60)]),
        "chains": (61, [arc for i in range(1, 61, 2) for arc in (("r", 0, i), ("s", i, i + 1))]),
        "cube": (32, [("r", i, i ^ 1 << b) for i in range(32) for b in range(5)]),
        "rook": (16, [("r", 4 * a[0] + a[1], 4 * b[0] + b[1]) for a, b in rook]),
        "shrikhande": (16, [("r", 4 * a[0] + a[1], 4 * b[0] + b[1]) for a, b in shrikhande]),
    }


def _tuples(n: int) -> list[tuple[int, int, int, int]]:
    return [(a, b, c, d) for a in range(n) for b in range(n) for c in range(n) for d in range(n)]


def test_symmetric_graphs_have_one_form_each() -> None:
    """Colours tell no two nodes of these apart; rook and shrikhande are strongly regular with
    the same parameters.
    """
    rng = random.Random(3)
    found = set()
    for name, (size, arcs) in _symmetric().items():
        forms = set()
        for _ in range(3):
            place = list(range(size))
            rng.shuffle(place)
            forms.add(canonical_form([0] * size, renumber_arcs(arcs, place)))
        assert len(forms) == 1, name
        found |= forms
    assert len(found) == len(_symmetric())


def test_the_search_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the bound a form is a graph renumbered still: equal ones belong to isomorphic graphs."""
    assert MOST_TRIED > 1000
    monkeypatch.setattr("shiq.model.canonical_graphs.MOST_TRIED", 1)
    rng = random.Random(5)
    for _ in range(200):
        colours, arcs = _drawn(rng, 6)
        order = canonical_order(colours, arcs)
        assert sorted(order) == list(range(len(colours)))
        assert canonical_form(colours, arcs) == (
            tuple(colours[n] for n in order),
            renumber_arcs(arcs, node_positions(order)),
        )
