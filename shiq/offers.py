"""Whether a value has what a protocol names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeGuard, TypeVar

T = TypeVar("T")
_KNOWN: dict[tuple[type, object], bool] = {}


def offers(value: object, protocol: Callable[..., T]) -> TypeGuard[T]:
    """Whether ``value`` is of a class with all that ``protocol``, a runtime-checkable one,
    names: `isinstance`, which looks at each name every time, asked once of each class.
    """
    key = type(value), protocol
    if key not in _KNOWN:
        is_of: Any = protocol
        _KNOWN[key] = isinstance(value, is_of)
    return _KNOWN[key]
