"""owl:real with its subsets, and the two floating-point formats, as exact value sets.

The reals are four layers: integers, other decimals, other rationals, and the rest. A bound cuts all
of them alike. Floating-point values are ranked, so a bound cuts a finite range of integers. -0 and
0 have two ranks, since they are not identical; but every bound includes both or neither, since they
are equal. NaN is outside of every bound. Source: OWL 2 structural specification, 4.1 and 4.2; XSD
1.1 part 2, 3.3.3 to 3.3.5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from shiq.datatypes.intervals import (
    ALL,
    NONE,
    Intervals,
    Segment,
    at_least,
    at_most,
    first_integer,
    greater_than,
    is_point,
    last_integer,
    less_than,
)

INTEGER, DECIMAL, RATIONAL, IRRATIONAL = range(4)


def layer_of(number: int | Fraction) -> int:
    """Classify a number as INTEGER, DECIMAL (finite decimal expansion) or RATIONAL."""
    denominator = number.denominator
    if denominator == 1:
        return INTEGER
    while denominator % 10 == 0:
        denominator //= 10
    twos = denominator & -denominator
    denominator //= twos
    while denominator % 5 == 0:
        denominator //= 5
    return DECIMAL if denominator == 1 else RATIONAL


@dataclass(frozen=True, slots=True)
class RealSet:
    """A set of real numbers: one union of intervals each for integers, other decimals, other
    rationals and irrationals.
    """

    layers: tuple[Intervals, Intervals, Intervals, Intervals]

    def meet(self, other: RealSet) -> RealSet:
        """Return the intersection."""
        a, b = self.layers, other.layers
        return RealSet((a[0].meet(b[0]), a[1].meet(b[1]), a[2].meet(b[2]), a[3].meet(b[3])))

    def complement(self) -> RealSet:
        """Return the complement."""
        a, b, c, d = self.layers
        return RealSet((a.complement(), b.complement(), c.complement(), d.complement()))

    def has(self, key: int | Fraction) -> bool:
        """Decide whether the number is in the set."""
        return self.layers[layer_of(key)].has(key)

    def count(self, limit: float) -> float:
        """Return min(number of values, limit)."""
        total: float = 0
        for layer, intervals in enumerate(self.layers):
            for segment in intervals.segments():
                # Bounds of thousands of digits are no floats, so nothing infinite is added to them.
                found = _count_in_layer(layer, segment)
                if found == math.inf or total + found >= limit:
                    return limit
                total += found
        return total


def _count_in_layer(layer: int, segment: Segment) -> float:
    """Count the integers, other decimals, other rationals or irrationals (`layer`) in an interval."""
    if layer == INTEGER:
        return (
            math.inf
            if None in segment
            else max(0, last_integer(segment[1]) - first_integer(segment[0]) + 1)
        )
    if not is_point(segment):
        return math.inf  # decimals, rationals and irrationals are dense
    assert segment[0] is not None
    return 1 if layer_of(segment[0][0]) == layer else 0


def reals_in(intervals: Intervals, outermost: int = IRRATIONAL) -> RealSet:
    """Make the set of the numbers in `intervals`; `outermost`: the widest of integers, decimals,
    rationals and reals to include.
    """
    return RealSet(
        (
            intervals,
            intervals if outermost >= DECIMAL else NONE,
            intervals if outermost >= RATIONAL else NONE,
            intervals if outermost >= IRRATIONAL else NONE,
        )
    )


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """A binary floating-point format: xsd:float or xsd:double.

    digits: precision in bits.
    lowest: least exponent.
    infinity: the rank of INF.
    """

    digits: int
    lowest: int
    infinity: int

    @property
    def nan(self) -> int:
        """Return the rank that stands for NaN, one above that of INF."""
        return self.infinity + 1


SINGLE = FloatFormat(24, -149, 0x7F800000)
BINARY64 = FloatFormat(53, -1074, 0x7FF0000000000000)


def float_rank(negative: bool, magnitude: Fraction, form: FloatFormat) -> int:
    """Round ±magnitude to the nearest value of the format; return its rank in the order of the
    format's values.

    Ties go to even; overflow gives infinity. Ranks are the bit patterns of the non-negative values,
    and continue from -1 (for -0) downwards for the negative ones. Source: XSD 1.1 part 2,
    floatingPointRound.
    """
    bits = 0
    if magnitude:
        exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
        if magnitude < Fraction(2) ** exponent:
            exponent -= 1
        ulp = max(exponent - form.digits + 1, form.lowest)
        mantissa = round(magnitude / Fraction(2) ** ulp)
        # Bit patterns of consecutive magnitudes are consecutive integers, across binades as well.
        bits = min((ulp - form.lowest) * (1 << (form.digits - 1)) + mantissa, form.infinity)
    return -bits - 1 if negative else bits


@dataclass(frozen=True, slots=True)
class FloatSet:
    """A set of floating-point values of one format, as intervals of ranks.

    ranks: those of its numbers.
    nan: whether NaN is included.
    """

    form: FloatFormat
    ranks: Intervals
    nan: bool

    def meet(self, other: FloatSet) -> FloatSet:
        """Return the intersection."""
        return FloatSet(self.form, self.ranks.meet(other.ranks), self.nan and other.nan)

    def complement(self) -> FloatSet:
        """Return the complement."""
        return FloatSet(self.form, self.ranks.complement(), not self.nan)

    def has(self, key: int) -> bool:
        """Decide whether the value with this rank is in the set."""
        return self.nan if key == self.form.nan else self.ranks.has(key)

    def count(self, limit: float) -> float:
        """Return min(number of values, limit)."""
        lowest, highest = -self.form.infinity - 1, self.form.infinity
        total: float = int(self.nan)
        for low, high in self.ranks.segments():
            total += max(0, min(highest, last_integer(high)) - max(lowest, first_integer(low)) + 1)
        return min(total, limit)


def floats_in_bound(facet: str, bound: int, form: FloatFormat) -> FloatSet:
    """Return the set of the values that satisfy a min/max facet; `bound`: rank of the facet's
    value. Empty for NaN.
    """
    if bound == form.nan:
        return FloatSet(form, NONE, False)
    lower, upper = (-1, 0) if bound in (-1, 0) else (bound, bound)
    return FloatSet(form, bound_interval(facet, lower, upper), False)


def bound_interval(facet: str, lower: int | Fraction, upper: int | Fraction) -> Intervals:
    """Return the interval of values that satisfy a min/max facet.

    lower, upper: all values between them equal the facet's value.
    """
    match facet:
        case "minInclusive":
            return at_least(lower)
        case "minExclusive":
            return greater_than(upper)
        case "maxInclusive":
            return at_most(upper)
        case "maxExclusive":
            return less_than(lower)
    raise ValueError(facet)


def all_floats(form: FloatFormat) -> FloatSet:
    """Return the set of all values of a floating-point format."""
    return FloatSet(form, ALL, True)
