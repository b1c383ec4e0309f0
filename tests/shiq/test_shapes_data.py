"""The shape of a node with many data values: worked out in one pass, equal to comparing every
two values.
"""

from __future__ import annotations

import random
from collections.abc import Hashable
from itertools import product

import pytest

from shiq.abox_ops.modules.shapes import Shapes
from shiq.datatypes import DataTheory
from shiq.model import XSD, Datatype, Literal
from shiq.model.clause import ClausalTBox, DataAtLeast
from shiq.model.roles import RoleBox
from shiq.reasoner.protocol import Module

LITERALS = [
    *(
        Literal(form, XSD + kind)
        for form, kind in product(("1", "01", "2", "x"), ("integer", "decimal", "string"))
    ),
    *(Literal(form, "urn:unknown") for form in ("1", "2")),
]


@pytest.fixture(params=[(), ("integer",)], ids=["no ranges", "integers"])
def shapes(request: pytest.FixtureRequest) -> Shapes:
    return Shapes(
        ClausalTBox(
            (),
            RoleBox(),
            atoms=tuple(DataAtLeast(1, "p", Datatype(XSD + kind)) for kind in request.param),
        )
    )


def test_one_pass_is_equal_to_comparing_every_two_values(shapes: Shapes) -> None:
    draw = random.Random(32)
    for _ in range(2000):
        drawn = draw.sample(LITERALS, draw.randint(1, 6))
        row = [(draw.random() < 0.7, draw.choice("pq"), literal) for literal in drawn]
        assert shapes._tokens_of_node(row) == compare_pairs(shapes, row), row


def test_each_value_is_looked_at_equally_often_however_many_there_are(
    shapes: Shapes, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at = 0
    value = DataTheory.value

    def count(theory: DataTheory, literal: Literal) -> object:
        nonlocal looked_at
        looked_at += 1
        return value(theory, literal)

    monkeypatch.setattr(DataTheory, "value", count)
    counts = []
    for size in (50, 100, 200):
        looked_at = 0
        values = (Literal(str(i), XSD + "integer") for i in range(1000, 1000 + size))
        shapes.shape_of(Module((0,), (0,), (), (), (), tuple((0, "p", value) for value in values)))
        counts.append(looked_at / size)
    assert counts[2] <= counts[0]


def compare_pairs(shapes: Shapes, row: list[tuple[bool, str, Literal]]) -> Hashable:
    """The slow reference of `Shapes._tokens_of_node`."""
    row = sorted(
        row,
        key=lambda x: (
            x[0],
            x[1],
            repr(shapes._token_of(x[2])),
            x[2].lexical,
            x[2].datatype,
            x[2].language,
        ),
    )
    distinct: list[Literal] = []
    found: list[Hashable] = []
    for positive, property, literal in row:
        token = shapes._token_of(literal)
        for i, other in enumerate(distinct):
            same = shapes._data_theory.denote_same(literal, other)
            if same is None:
                token = literal
            elif same:
                found.append((positive, property, token, i))
                break
        else:
            found.append((positive, property, token, len(distinct)))
            distinct.append(literal)
    return tuple(found)
