"""The datatype reasoner: values, membership, sizes, and whether one element's data restrictions
can be met together.

Answers are exact; None means that an answer rests on something opaque or is not decided here.
What plays a question out is loaded when one is asked: membership, all that most checks need,
goes without.

>>> from shiq.model import XSD, DataComplementOf, Datatype
>>> theory, byte = DataTheory(), Datatype(XSD + "byte")
>>> only_bytes = DataAtMost(0, "urn:p", DataComplementOf(byte))
>>> [theory.satisfiable([DataAtLeast(n, "urn:p", byte)], [only_bytes], []) for n in (256, 257)]
[True, False]
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from shiq.cache import Cache
from shiq.clause import DataAtLeast, DataAtMost
from shiq.datatypes.datatype_map import denoted
from shiq.datatypes.fuel import shared_fuel
from shiq.datatypes.ranges import Formula, RangeFormula, holds, read_range
from shiq.datatypes.values import DataValue, IllTyped
from shiq.model import DataRange, Datatype, Literal
from shiq.roles import RoleBox

if TYPE_CHECKING:
    from shiq.datatypes.proxies import Proxies
    from shiq.datatypes.question import Part, Question
    from shiq.datatypes.setting import Ground, Setting
    from shiq.datatypes.worlds import Element

#: Answers of one kind that are kept: inputs are unbounded, ranges and datatypes are not.
_KEPT: Final = 100_000

_Call: TypeAlias = tuple[
    frozenset[DataAtLeast],
    frozenset[DataAtMost],
    frozenset[tuple[str, Literal]],
    frozenset[tuple[str, Literal]],
]


class DataTheory:
    """The OWL 2 datatype map with ``definitions`` (DatatypeDefinition axioms) and the data
    properties of ``roles``.
    """

    def __init__(
        self, definitions: Mapping[str, DataRange] | None = None, roles: RoleBox | None = None
    ) -> None:
        self.definitions = dict(definitions or {})
        self.roles = roles or RoleBox()
        self._values: Cache[Literal, DataValue | IllTyped] = Cache(_KEPT)
        self._readings: Cache[DataRange, RangeFormula] = Cache(_KEPT)
        self._members: Cache[tuple[DataRange, Literal], bool | None] = Cache(_KEPT)
        self._grounds: Cache[frozenset[Formula], Ground] = Cache(_KEPT)
        self._sizes: Cache[tuple[DataRange, float], float | None] = Cache(_KEPT)
        self._calls: Cache[_Call, bool | None] = Cache(_KEPT)
        self._parts: Cache[_Call, bool | None] = Cache(_KEPT)
        #: Data properties of questions whose automata took more steps than one question has.
        self.exhausted: set[str] = set()

    # --- values -------------------------------------------------------------------------------

    def value(self, literal: Literal) -> DataValue | IllTyped:
        """What ``literal`` denotes; an opaque value if its datatype is unknown."""
        return self._values.made(literal, lambda: denoted(literal, self.definitions))

    def is_ill_typed(self, literal: Literal) -> bool:
        """Whether ``literal`` denotes nothing."""
        return isinstance(self.value(literal), IllTyped)

    def same(self, first: Literal, second: Literal) -> bool | None:
        """Whether two literals denote one value (identity, not equality: 1.0 and 1 do, +0 and -0
        floats do not).

        None if one is opaque (unless the literals are alike), or if one denotes nothing.
        """
        if first == second:
            return True
        a, b = self.value(first), self.value(second)
        if isinstance(a, IllTyped) or isinstance(b, IllTyped):
            return None
        if a == b:
            return True
        return None if a.is_opaque or b.is_opaque else False

    def identity(self, literal: Literal) -> Hashable:
        """A key of what ``literal`` denotes: literals have the same one iff `same` holds of them."""
        value = self.value(literal)
        return literal if isinstance(value, IllTyped) else value

    def is_vague(self, literal: Literal) -> bool:
        """Whether `same` has no answer for ``literal`` and any other value: it denotes nothing,
        or its datatype is unknown.
        """
        value = self.value(literal)
        return isinstance(value, IllTyped) or value.is_opaque

    def contains(self, range: DataRange, literal: Literal) -> bool | None:
        """Whether the value of ``literal`` lies in ``range``; False if it is ill-typed, None if
        not decided.
        """
        return self._members.made((range, literal), lambda: self._contains(range, literal))

    def _contains(self, range: DataRange, literal: Literal) -> bool | None:
        value = self.value(literal)
        return False if isinstance(value, IllTyped) else holds(self.formula(range), value)

    def cell(self, literal: Literal, ranges: Sequence[DataRange]) -> Hashable:
        """In which of ``ranges`` ``literal`` lies: literals of one cell are interchangeable,
        each by itself. One that denotes nothing, or is not decided, has a cell of its own.
        """
        row = tuple(self.contains(range, literal) for range in ranges)
        return literal if None in row or isinstance(self.value(literal), IllTyped) else row

    # --- ranges -------------------------------------------------------------------------------

    def reading(self, range: DataRange) -> RangeFormula:
        """``range`` with the definitions unfolded."""
        return self._readings.made(range, lambda: read_range(range, self.definitions))

    def formula(self, range: DataRange) -> Formula:
        return self.reading(range).formula

    def unknown_datatypes(self, range: DataRange) -> frozenset[str]:
        """The datatypes in ``range`` (unfolded, enumerated literals included) that nothing
        defines: they are opaque.
        """
        return self.reading(range).unknown_datatypes

    def malformed(self, range: DataRange) -> str | None:
        """What is wrong with ``range``: a facet that does not go with its datatype, an ill-typed
        or incomparable facet value, an ill-typed enumerated literal, a cyclic definition. What
        is malformed is treated as an unknown set.
        """
        return self.reading(range).malformed

    def size(self, range: DataRange) -> float | None:
        """The number of values in ``range``, math.inf if there are infinitely many, None if not
        decided.
        """
        return self.size_up_to(range, math.inf)

    def size_up_to(self, range: DataRange, limit: float) -> float | None:
        """min(size, limit): cheaper than `size`, and decided more often."""
        with self._fuelled(()):
            return self._sizes.made((range, limit), lambda: self._count(self.formula(range), limit))

    def _count(self, formula: Formula, limit: float) -> float | None:
        from shiq.datatypes.setting import unanimous

        setting = self.setting([formula], ())
        if setting is None:
            return None
        return unanimous(
            n for world in setting.worlds() if (n := self._count_in(setting, world, limit)) != -1
        )

    def _count_in(self, setting: Setting, world: list[Element], limit: float) -> float | None:
        """The count in one world; -1 if the world is impossible."""
        counts: list[float] = []
        undecided = False
        for element in world:
            signature = setting.ground.signature(element)
            undecided |= signature is None
            counts.append(signature or 0)
        for cell in setting.cells:
            left = setting.count(cell, limit, world)
            if left is not None and left < 0:
                return -1
            signatures = setting.ground.signatures(cell)
            if left == 0 or signatures == (0,):
                continue
            if left is None or len(signatures) > 1:
                undecided = True
            else:
                counts.append(left)
        total = min(sum(counts), limit)
        return None if undecided and total < limit else total

    # --- questions ----------------------------------------------------------------------------

    def ground(self, formulas: Collection[Formula]) -> Ground:
        """The cells and enumerated values that follow from ``formulas`` alone, remembered for
        each set of formulas.
        """
        from shiq.datatypes.setting import Ground

        return self._grounds.made(frozenset(formulas), lambda: Ground(formulas))

    def setting(
        self, formulas: Collection[Formula], named: Collection[DataValue]
    ) -> Setting | None:
        """The setting of a question about ``formulas`` and the values ``named``; None if it is
        too large.
        """
        from shiq.datatypes.cells import TooManyError
        from shiq.datatypes.setting import Setting

        try:
            setting = Setting(self.ground(formulas), named, lambda iri: self.formula(Datatype(iri)))
        except TooManyError:
            return None
        return None if setting.is_too_large else setting

    def satisfiable(
        self,
        at_least: Collection[DataAtLeast],
        at_most: Collection[DataAtMost],
        values: Collection[tuple[str, Literal]],
        negative: Collection[tuple[str, Literal]] = (),
    ) -> bool | None:
        """Whether one element can have data successors so that all restrictions and (negative)
        assertions on it hold.

        ``values``/``negative``: (data property, literal) asserted to hold, or not to hold, of
        the element. The hierarchy ⊑* and the disjointness of data properties count, and so do
        owl:topDataProperty and owl:bottomDataProperty. An ill-typed literal in either makes it
        False. True and False are exact; None: it rests on something opaque or undecided. Source:
        THEORY, "Deciding a shape without a JVM": data.
        """
        key = (frozenset(at_least), frozenset(at_most), frozenset(values), frozenset(negative))
        with self._fuelled(key):
            return self._calls.made(key, lambda: self._asked(*key).answer())

    def culprits(
        self,
        at_least: Collection[DataAtLeast],
        at_most: Collection[DataAtMost],
        values: Collection[tuple[str, Literal]],
        negative: Collection[tuple[str, Literal]] = (),
    ) -> Part:
        """A part of a question that `satisfiable` answers with False or None, which by itself
        has that answer.
        """
        from shiq.datatypes.question import union

        key = (at_least, at_most, values, negative)
        with self._fuelled(key):
            return union(self._asked(*key).verdict()[1])

    def decided(self, part: Part) -> bool | None:
        """`satisfiable` for a part of a question, as `Question` takes it apart."""
        key = (frozenset(part[0]), frozenset(part[1]), frozenset(part[2]), frozenset(part[3]))
        return self._parts.made(key, lambda: self._asked(*key).decided())

    @contextmanager
    def _fuelled(self, parts: Collection[Collection[Any]]) -> Iterator[None]:
        """Give a question about ``parts`` one budget for all its automata (`shared_fuel`). Where
        it is used up, what was found meanwhile about smaller questions is forgotten: asked by
        themselves, they have a budget of their own.
        """
        with shared_fuel() as fuel:
            yield
            if fuel.ran_out:
                self.exhausted.update(
                    x[0] if isinstance(x, tuple) else x.property for part in parts for x in part
                )
            if fuel.is_spent:
                for memo in (self._grounds, self._parts):
                    memo.clear()

    def _asked(self, *part: Any) -> Question:
        from shiq.datatypes.question import Question

        return Question(self, *part)

    def proxies(
        self, ranges: Collection[DataRange], literals: Collection[Literal], largest: int
    ) -> Proxies | None:
        """Integers to stand for the values, so that satisfiability stays the same for a reasoner
        that sees only these.

        ``largest``: at least the number of data successors that one element may need. None if a
        literal is ill-typed, or a membership, size or identity is not decided.
        """
        from shiq.datatypes.proxies import make_proxies

        values: dict[Literal, DataValue] = {}
        for literal in literals:
            value = self.value(literal)
            if isinstance(value, IllTyped):
                return None
            values[literal] = value
        formulas = {r: self.formula(r) for r in ranges}
        with self._fuelled(()):
            setting = self.setting(formulas.values(), tuple(values.values()))
            return None if setting is None else make_proxies(formulas, values, setting, largest)
