"""Old names of attributes and constructor arguments of exported classes, until they are removed.

>>> @accept_old_arguments(side="width")
... class Square:
...     side = RenamedAttribute("width")
...
...     def __init__(self, width: int) -> None:
...         self.width = width
>>> import warnings
>>> with warnings.catch_warnings(record=True) as told:
...     warnings.simplefilter("always")
...     Square(side=3).side
3
>>> [str(warning.message) for warning in told]  # doctest: +ELLIPSIS
['Square(side=…) is Square(width=…) now; ...', 'Square.side is Square.width now; ...']
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from functools import wraps
from operator import attrgetter
from typing import Any, Final, TypeVar

#: The version that has no old names any more.
REMOVAL_VERSION: Final = "0.3"

C = TypeVar("C", bound=type)


def warn_renamed(old: str, new: str) -> None:
    """Emit a DeprecationWarning, in the code that used the name ``old``, that it is now ``new``."""
    warnings.warn(
        f"{old} is {new} now; the old name goes in shiq {REMOVAL_VERSION}",
        DeprecationWarning,
        stacklevel=3,
    )


class RenamedAttribute:
    """Descriptor for the old name of an attribute or method: it warns, then returns the attribute
    of the new name.

    new: its name, or a dotted path to it.
    old: only of a named tuple, whose attributes are not told their names.
    """

    def __init__(self, new: str, old: str = "") -> None:
        self.new, self.old = new, old

    def __set_name__(self, owner: type, name: str) -> None:
        self.old = name

    def __get__(self, instance: object, owner: type) -> Any:
        if instance is None and not isinstance(
            inspect.getattr_static(owner, self.new, None), classmethod
        ):
            return self
        warn_renamed(f"{owner.__name__}.{self.old}", f"{owner.__name__}.{self.new}")
        return attrgetter(self.new)(owner if instance is None else instance)

    def __set__(self, instance: object, value: object) -> None:
        name = type(instance).__name__
        warn_renamed(f"{name}.{self.old}", f"{name}.{self.new}")
        setattr(instance, self.new, value)


def accept_old_arguments(**renamed: str) -> Callable[[C], C]:
    """Let the constructor of a class accept old names of arguments, with a warning.

    renamed: the new names by the old ones.
    """

    def decorate(cls: C) -> C:
        construct = cls.__init__  # type: ignore[misc]

        @wraps(construct)
        def __init__(self: object, *given: Any, **named: Any) -> None:
            for old in renamed.keys() & named.keys():
                new, name = renamed[old], cls.__name__
                warn_renamed(f"{name}({old}=…)", f"{name}({new}=…)")
                named[new] = named.pop(old)
            construct(self, *given, **named)

        cls.__init__ = __init__  # type: ignore[misc]
        return cls

    return decorate
