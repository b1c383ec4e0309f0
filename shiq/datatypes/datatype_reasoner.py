"""The datatype reasoner: values, membership, sizes, and satisfiability of one element's data.

Answers are exact; None means that an answer depends on something opaque, or is undecided. The
modules for satisfiability and sizes are imported on first use; most checks need only membership.

>>> from shiq.model import XSD, DataComplementOf, Datatype
>>> theory, byte = DataTheory(), Datatype(XSD + "byte")
>>> only_bytes = DataAtMost(0, "urn:p", DataComplementOf(byte))
>>> [theory.satisfiable([DataAtLeast(n, "urn:p", byte)], [only_bytes], []) for n in (256, 257)]
[True, False]
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from shiq import model as owl
from shiq.cache import Cache
from shiq.datatypes.datatype_map import denoted_value
from shiq.datatypes.ranges import Formula, RangeFormula, contains_value, read_range
from shiq.datatypes.regular_expressions import merge_ranges, shared_fuel
from shiq.datatypes.scenarios import ScenarioSpace, ScenarioValue
from shiq.datatypes.values import DataValue, IllTyped
from shiq.model import DataRange, Datatype, Literal
from shiq.model.clause import DataAtLeast, DataAtMost
from shiq.model.roles import RoleBox

if TYPE_CHECKING:
    from shiq.datatypes.satisfiability import Part, SatisfiabilityProblem
    from shiq.datatypes.scenarios import CellPartition


#: Answers of one kind that are kept: inputs are unbounded, ranges and datatypes are not.
_KEPT: Final = 100_000

_Call: TypeAlias = tuple[
    frozenset[DataAtLeast],
    frozenset[DataAtMost],
    frozenset[tuple[str, Literal]],
    frozenset[tuple[str, Literal]],
]


class DataTheory:
    """Decision procedures for OWL 2 data: literals, data ranges, and data restrictions, under
    datatype definitions and a property hierarchy.

    definitions: datatype IRI → data range, from DatatypeDefinition axioms.
    exhausted: data properties of questions that ran out of automaton steps.
    """

    def __init__(
        self, definitions: Mapping[str, DataRange] | None = None, roles: RoleBox | None = None
    ) -> None:
        self.definitions = dict(definitions or {})
        self.roles = roles or RoleBox()
        self._values: Cache[Literal, DataValue | IllTyped] = Cache(_KEPT)
        self._readings: Cache[DataRange, RangeFormula] = Cache(_KEPT)
        self._members: Cache[tuple[DataRange, Literal], bool | None] = Cache(_KEPT)
        self._grounds: Cache[frozenset[Formula], CellPartition] = Cache(_KEPT)
        self._sizes: Cache[tuple[DataRange, float], float | None] = Cache(_KEPT)
        self._calls: Cache[_Call, bool | None] = Cache(_KEPT)
        self._parts: Cache[_Call, bool | None] = Cache(_KEPT)
        #: Data properties of questions whose automata took more steps than one question has.
        self.exhausted: set[str] = set()

    # --- values -------------------------------------------------------------------------------

    def value(self, literal: Literal) -> DataValue | IllTyped:
        """Return the data value that `literal` denotes; an opaque one (known by lexical form only)
        if its datatype is unknown.
        """
        return self._values.get_or_make(literal, lambda: denoted_value(literal, self.definitions))

    def is_ill_typed(self, literal: Literal) -> bool:
        """Decide whether `literal` denotes no value, because its lexical form is illegal for its
        datatype.
        """
        return isinstance(self.value(literal), IllTyped)

    def denote_same(self, first: Literal, second: Literal) -> bool | None:
        """Decide whether two literals denote the same data value; None if that is not known.

        Identity, not equality: 1.0 and 1 are the same, +0 and -0 of a float are not. Open if one
        value is opaque (and the literals differ), or if a literal denotes no value.
        """
        if first == second:
            return True
        a, b = self.value(first), self.value(second)
        if isinstance(a, IllTyped) or isinstance(b, IllTyped):
            return None
        if a == b:
            return True
        return None if a.is_opaque or b.is_opaque else False

    def identity_key(self, literal: Literal) -> Hashable:
        """Return a key for comparing literals: two have equal keys iff `denote_same` is True for
        them.
        """
        value = self.value(literal)
        return literal if isinstance(value, IllTyped) else value

    def is_incomparable(self, literal: Literal) -> bool:
        """Decide whether `literal` cannot be compared with literals of other values, since it is
        ill-typed or of unknown datatype.
        """
        value = self.value(literal)
        return isinstance(value, IllTyped) or value.is_opaque

    def contains(self, range: DataRange, literal: Literal) -> bool | None:
        """Decide whether the value of `literal` lies in the data range `range`. False if it is
        ill-typed, None if undecided. Cached.
        """
        return self._members.get_or_make(
            (range, literal), lambda: self._contains_uncached(range, literal)
        )

    def _contains_uncached(self, range: DataRange, literal: Literal) -> bool | None:
        """Decide `contains`, without its cache."""
        value = self.value(literal)
        return (
            False
            if isinstance(value, IllTyped)
            else contains_value(self.range_formula(range), value)
        )

    def cell_key(self, literal: Literal, ranges: Sequence[DataRange]) -> Hashable:
        """Return a key by which literals are grouped: those with equal keys lie in the same of the
        data ranges `ranges`.

        Literals of one cell are individually interchangeable. One that is ill-typed or undecided
        has a cell of its own.
        """
        row = tuple(self.contains(range, literal) for range in ranges)
        return literal if None in row or isinstance(self.value(literal), IllTyped) else row

    # --- ranges -------------------------------------------------------------------------------

    def translate_range(self, range: DataRange) -> RangeFormula:
        """Translate the data range `range` to a Boolean formula over value sets, with its faults
        and unknown datatypes. Cached.
        """
        return self._readings.get_or_make(range, lambda: read_range(range, self.definitions))

    def range_formula(self, range: DataRange) -> Formula:
        """Return the Boolean formula over value sets that the data range `range` stands for."""
        return self.translate_range(range).formula

    def unknown_datatypes(self, range: DataRange) -> frozenset[str]:
        """Return the IRIs of the datatypes in `range`, or of its enumerated literals, that are
        neither known nor defined.
        """
        return self.translate_range(range).unknown_datatypes

    def range_fault(self, range: DataRange) -> str | None:
        """Describe the first error in the data range `range`; None if it is well-formed.

        Faults: a facet of another datatype, an ill-typed or incomparable facet value, an ill-typed
        enumerated literal, a cyclic definition. A malformed range is treated as an unknown set.
        """
        return self.translate_range(range).fault

    def size(self, range: DataRange) -> float | None:
        """Count the values in the data range `range`: math.inf if infinite, None if undecided."""
        return self.size_up_to(range, math.inf)

    def size_up_to(self, range: DataRange, limit: float) -> float | None:
        """Count the values in the data range `range`, at most up to `limit`; None if undecided.
        Cheaper than `size`.
        """
        with self._with_shared_fuel(()):
            return self._sizes.get_or_make(
                (range, limit), lambda: self._count_in_scenarios(self.range_formula(range), limit)
            )

    def _count_in_scenarios(self, formula: Formula, limit: float) -> float | None:
        """Count the values of a data range, at most `limit`, under each possible meaning of unknown
        data; None if the counts differ.
        """
        from shiq.datatypes.scenarios import common_answer

        setting = self.scenario_space([formula], ())
        if setting is None:
            return None
        return common_answer(
            n
            for scenario in setting.scenarios()
            if (n := self._count_in_scenario(setting, scenario, limit)) != -1
        )

    def _count_in_scenario(
        self, setting: ScenarioSpace, scenario: list[ScenarioValue], limit: float
    ) -> float | None:
        """Count the values of a data range under one possible meaning of unknown data; -1 if that
        is impossible, None if undecided.
        """
        counts: list[float] = []
        undecided = False
        for element in scenario:
            signature = setting.ground.formula_mask(element)
            undecided |= signature is None
            counts.append(signature or 0)
        for cell in setting.cells:
            left = setting.count_unnamed(cell, limit, scenario)
            if left is not None and left < 0:
                return -1
            signatures = setting.ground.possible_masks(cell)
            if left == 0 or signatures == (0,):
                continue
            if left is None or len(signatures) > 1:
                undecided = True
            else:
                counts.append(left)
        total = min(sum(counts), limit)
        return None if undecided and total < limit else total

    # --- questions ----------------------------------------------------------------------------

    def partition(self, formulas: Collection[Formula]) -> CellPartition:
        """Split the value space into the cells that the formulas of some data ranges distinguish.
        Cached.
        """
        from shiq.datatypes.scenarios import CellPartition

        return self._grounds.get_or_make(frozenset(formulas), lambda: CellPartition(formulas))

    def scenario_space(
        self, formulas: Collection[Formula], named: Collection[DataValue]
    ) -> ScenarioSpace | None:
        """List the scenarios of a question: which values of unknown datatype are equal, and which
        unknown ranges contain them.

        formulas: those of the question's data ranges. named: the values it mentions.
        Returns: None if there are too many scenarios.
        """
        from shiq.datatypes.scenarios import ScenarioSpace, TooManyCellsError

        try:
            setting = ScenarioSpace(
                self.partition(formulas), named, lambda iri: self.range_formula(Datatype(iri))
            )
        except TooManyCellsError:
            return None
        return None if setting.is_too_large else setting

    def satisfiable(
        self,
        at_least: Collection[DataAtLeast],
        at_most: Collection[DataAtMost],
        values: Collection[tuple[str, Literal]],
        negative: Collection[tuple[str, Literal]] = (),
    ) -> bool | None:
        """Decide whether one element can have data values that satisfy all data restrictions and
        assertions on it.

        The hierarchy and disjointness of data properties count, also owl:topDataProperty and
        owl:bottomDataProperty. An ill-typed literal makes the answer False. Source: THEORY,
        "Deciding a shape without a JVM": data.

        values, negative: (data property, literal) asserted to hold, or not to hold, of the element.

        Returns: True and False are exact; None if the answer depends on something opaque or
        undecided.
        """
        key = (frozenset(at_least), frozenset(at_most), frozenset(values), frozenset(negative))
        with self._with_shared_fuel(key):
            return self._calls.get_or_make(key, lambda: self._make_problem(*key).decide())

    def culprits(
        self,
        at_least: Collection[DataAtLeast],
        at_most: Collection[DataAtMost],
        values: Collection[tuple[str, Literal]],
        negative: Collection[tuple[str, Literal]] = (),
    ) -> Part:
        """Select some of an element's data restrictions and assertions that are contradictory, or
        undecided, by themselves.

        Arguments as for `satisfiable`, whose answer must not be True.
        """
        from shiq.datatypes.satisfiability import join_parts

        key = (at_least, at_most, values, negative)
        with self._with_shared_fuel(key):
            return join_parts(self._make_problem(*key).decide_with_cause()[1])

    def decide_part(self, part: Part) -> bool | None:
        """Decide some of the restrictions and assertions of a `satisfiable` question, one
        independent part of it. Cached.
        """
        key = (frozenset(part[0]), frozenset(part[1]), frozenset(part[2]), frozenset(part[3]))
        return self._parts.get_or_make(key, lambda: self._make_problem(*key).decide_part())

    @contextmanager
    def _with_shared_fuel(self, parts: Collection[Collection[Any]]) -> Iterator[None]:
        """Context manager: give everything inside one budget of automaton steps, and record the
        properties where it ran out.

        parts: the restrictions and assertions that the question is about.

        When it runs out, cached answers to smaller questions are dropped, since each of them is
        entitled to a budget of its own.
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

    def _make_problem(self, *part: Any) -> SatisfiabilityProblem:
        """Make the satisfiability problem of some restrictions and assertions; arguments as for
        `satisfiable`.
        """
        from shiq.datatypes.satisfiability import SatisfiabilityProblem

        return SatisfiabilityProblem(self, *part)

    def encode_as_integers(
        self, ranges: Collection[DataRange], literals: Collection[Literal], largest: int
    ) -> IntegerEncoding | None:
        """Encode literals and data ranges by integers, for a reasoner that must not see them;
        satisfiability stays the same.

        largest: upper bound on the data successors of one element.

        Returns: None if a literal is ill-typed, or a membership, size or identity is undecided.
        """

        values: dict[Literal, DataValue] = {}
        for literal in literals:
            value = self.value(literal)
            if isinstance(value, IllTyped):
                return None
            values[literal] = value
        formulas = {r: self.range_formula(r) for r in ranges}
        with self._with_shared_fuel(()):
            setting = self.scenario_space(formulas.values(), tuple(values.values()))
            return (
                None
                if setting is None
                else make_integer_encoding(formulas, values, setting, largest)
            )


# Encode data values as integers, for a reasoner that must not see our literals.
#
# The value space is split into the cells of the given ranges. Each named value gets an integer, and
# each cell a block of integers: as many as it has values, up to what one element may need. Integers
# in no block stand for the remaining values, in spaces that no range mentions. A range becomes a
# union of blocks, or the complement of one.


_INTEGER = owl.Datatype(owl.XSD + "integer")


@dataclass(frozen=True)
class IntegerEncoding:
    """Integers that stand for literals, and ranges of integers that stand for data ranges, for
    another reasoner.

    range: data range → its replacement. Boolean operations are preserved: the complement of a
        replaced
        range stands for the complement of the range, and rdfs:Literal for itself.
    literal: literal → its integer.
    """

    range: Mapping[owl.DataRange, owl.DataRange]
    literal: Mapping[owl.Literal, owl.Literal]


def make_integer_encoding(
    ranges: Mapping[owl.DataRange, Formula],
    literals: Mapping[owl.Literal, DataValue],
    setting: ScenarioSpace,
    largest: int,
) -> IntegerEncoding | None:
    """Encode data ranges and literals by integers; None if a membership or size is undecided.

    setting: of exactly these ranges and literals.
    largest: upper bound on the data successors of one element.
    """
    ground = setting.ground
    if setting.opaque or ground.unknown:
        return None
    blocks: list[tuple[int, int, int]] = []  # first, last, signature
    number_of: dict[DataValue, int] = {}
    for value in setting.known:
        signature = ground.formula_mask(ScenarioValue(frozenset([value])))
        if signature is None:
            return None
        number_of[value] = len(number_of)
        blocks.append((number_of[value], number_of[value], signature))
    rest, *cells = setting.cells
    (of_rest,) = ground.possible_masks(rest)
    following = len(number_of)
    for cell in cells:
        (signature,) = ground.possible_masks(cell)
        if signature == of_rest:
            continue
        count = setting.count_unnamed(cell, largest, ())
        if count is None:
            return None
        if count > 0:
            blocks.append((following, following + int(count) - 1, signature))
            following += int(count)

    def proxy_of(formula: Formula) -> owl.DataRange:
        """Encode a formula as a union of integer intervals."""
        bit = ground.formulas[formula]
        has_rest = of_rest >> bit & 1
        others = [(a, b) for a, b, mask in blocks if mask >> bit & 1 != has_rest]
        if has_rest:
            return owl.DataComplementOf(_integer_range(others)) if others else owl.TOP_DATATYPE
        return _integer_range(others)

    return IntegerEncoding(
        {r: proxy_of(formula) for r, formula in ranges.items()},
        {literal: _integer_literal(number_of[value]) for literal, value in literals.items()},
    )


def _integer_literal(number: int) -> owl.Literal:
    """Make the xsd:integer literal of a number."""
    return owl.Literal(str(number), owl.XSD + "integer")


def _integer_range(blocks: Iterable[tuple[int, int]]) -> owl.DataRange:
    """Make the data range that contains some blocks (first, last) of integers; the blocks are
    increasing.
    """
    parts = tuple(
        owl.DatatypeRestriction(
            _INTEGER,
            (
                (owl.XSD + "minInclusive", _integer_literal(a)),
                (owl.XSD + "maxInclusive", _integer_literal(b)),
            ),
        )
        for a, b in merge_ranges(blocks) or [(1, 0)]
    )
    return parts[0] if len(parts) == 1 else owl.DataUnionOf(parts)
