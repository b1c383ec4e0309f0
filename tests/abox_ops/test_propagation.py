"""Unit propagation, on masks and on tuples of literals, against one clause at a time."""

from __future__ import annotations

import random

import pytest

from shiq.abox_ops.labels.label_calculus import clashes
from shiq.abox_ops.labels.unit_propagation import MaskPropagation, WidePropagation
from shiq.support import bits

WIDTH = 7
CLASH = (1 << WIDTH - 1, 1 << WIDTH - 1)
Mask = tuple[int, int]


def closure(label: Mask, clauses: list[Mask]) -> Mask:
    """A clause gives its last literal that is not refuted, or all of them if none is left."""
    while True:
        positive, negative = label
        for head, body in clauses:
            open_ = head & ~negative, body & ~positive
            if not any(open_):
                open_ = (head, body) if head | body else CLASH
            elif open_[0].bit_count() + open_[1].bit_count() > 1:
                continue
            positive, negative = positive | open_[0], negative | open_[1]
        if (positive, negative) == label:
            return label
        label = positive, negative


def drawn(of: random.Random, size: int) -> Mask:
    """At most so many literals, seldom one atom both ways; now and then an atom that no clause
    speaks of.
    """
    found = [0, 0]
    for _ in range(of.randint(0, size)):
        found[of.random() < 0.5] |= 1 << (
            of.randrange(WIDTH - 1) if of.random() < 0.95 else WIDTH + 2
        )
    return found[0], found[1]


def drawn_clauses(of: random.Random) -> list[Mask]:
    low = (1 << WIDTH) - 1
    return [
        (head & low, body & low) for head, body in (drawn(of, 4) for _ in range(of.randint(0, 9)))
    ]


@pytest.mark.parametrize("kind", [MaskPropagation, WidePropagation])
def test_closure_is_that_of_the_clauses_one_by_one(
    kind: type[MaskPropagation] | type[WidePropagation],
) -> None:
    seen = [0, 0]
    for seed in range(4000):
        of = random.Random(seed)
        clauses = drawn_clauses(of)
        propagation = kind(WIDTH, [bits(head | body << WIDTH) for head, body in clauses], CLASH)
        everywhere = propagation.everywhere()
        assert everywhere == closure((0, 0), clauses)
        first, more = drawn(of, 3), drawn(of, 3)
        closed = propagation.closure(
            (first[0] | everywhere[0], first[1] | everywhere[1]), everywhere
        )
        assert closed == closure(first, clauses)
        both = closed[0] | more[0], closed[1] | more[1]
        expected = closure(both, clauses)
        assert propagation.closure(both, closed) == expected
        tried = propagation.closure(both, closed, to_clash=True)
        seen[clashes(expected)] += 1
        assert clashes(tried) if clashes(expected) else tried == expected
    assert min(seen) > 500
