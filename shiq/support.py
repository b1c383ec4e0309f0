"""Small tools of every room: sequences computed and names imported on first access, numbers with a
noun, cached tests of protocols, and sets of small integers as bit masks.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from importlib import import_module
from typing import Any, TypeGuard, TypeVar, cast, overload

V_co = TypeVar("V_co", covariant=True)
M = TypeVar("M", bound=Callable[..., Any])
#: Stands for a result that is not remembered: None may be one.
_ABSENT = object()


class LazySequence(Sequence[V_co]):
    """A sequence of known length; ``make`` computes its values once, on first access.

    >>> squares = LazySequence(3, lambda: [0, 1, 4])
    >>> len(squares), list(squares)
    (3, [0, 1, 4])
    """

    def __init__(self, length: int, make: Callable[[], Sequence[V_co]]) -> None:
        self._length, self._make = length, make
        self._made: Sequence[V_co] | None = None

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, i: int) -> V_co: ...
    @overload
    def __getitem__(self, i: slice) -> Sequence[V_co]: ...
    def __getitem__(self, i: int | slice) -> V_co | Sequence[V_co]:
        return self._values()[i]

    def _values(self) -> Sequence[V_co]:
        """Compute the values on first access, then return the same ones."""
        if self._made is None:
            self._made = self._make()
        return self._made


def cached_method(method: M) -> M:
    """Decorator: remember what a method returned, by its (positional, hashable) arguments, as long
    as its object lives.

    >>> class Squares:
    ...     @cached_method
    ...     def square(self, n: int) -> list[int]:
    ...         return [n * n]
    >>> squares = Squares()
    >>> squares.square(3) is squares.square(3), Squares().square(3) is squares.square(3)
    (True, False)
    """
    attribute = f"_cache_of_{method.__name__}"

    @wraps(method)
    def call(self: object, *arguments: object) -> object:
        """Return what is remembered, or what the method gives."""
        cache: dict[tuple[object, ...], object] = self.__dict__.setdefault(attribute, {})
        found = cache.get(arguments, _ABSENT)
        if found is _ABSENT:
            found = cache[arguments] = method(self, *arguments)
        return found

    return cast(M, call)


def import_on_access(module: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """Make the ``__getattr__`` of a module that imports each of its names only when it is first
    used.
    """
    home_of = {name: home for home, names in homes.items() for name in names}

    def find(name: str) -> Any:
        """Import the name from its home."""
        if name not in home_of:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        value = getattr(import_module(home_of[name]), name)
        setattr(sys.modules[module], name, value)
        return value

    return find


# Numbers with a noun, for messages.


def pluralize(n: int, one: str, many: str = "") -> str:
    """Write the number `n` with its noun: "1 fact", "2 facts".

    many: the plural, if it is not `one` + "s".
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


# Cached tests of whether a value implements a protocol.


T = TypeVar("T")
_KNOWN: dict[tuple[type, object], bool] = {}


def supports(value: object, protocol: Callable[..., T]) -> TypeGuard[T]:
    """Decide whether the class of `value` has all members of a runtime-checkable `protocol`.

    Like `isinstance`, which inspects every member each time, but cached per class.
    """
    key = type(value), protocol
    if key not in _KNOWN:
        is_of: Any = protocol
        _KNOWN[key] = isinstance(value, is_of)
    return _KNOWN[key]


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
