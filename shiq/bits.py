"""Sets of small integers, as bit masks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

#: The positions of more ones are read from digits: taking away one after another costs the length
#: of the mask each time.
_FEW = 8


def mask_of(positions: Iterable[int]) -> int:
    """Return the mask whose bits at `positions` are set.

    >>> mask_of([3, 1])
    10
    """
    mask = 0
    for i in positions:
        mask |= 1 << i
    return mask


def bits(mask: int) -> Iterator[int]:
    """Yield the positions of the set bits of `mask`, ascending.

    >>> list(bits(0b1010))
    [1, 3]
    """
    if mask.bit_count() > _FEW:
        digits = bin(mask)[:1:-1]
        found = digits.find("1")
        while found >= 0:
            yield found
            found = digits.find("1", found + 1)
        return
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
