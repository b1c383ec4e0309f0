"""Declare an option once: a field of a dataclass that knows its help text and what it takes.

The command line is made from these fields (`shiq.jobs.commands.options.field_option`); the
dataclass is what the program's calls take.

>>> @dataclass(frozen=True)
... class Limits:
...     rows: int = option(10, "Rows at once.", minimum=1, metavar="N")
>>> Limits().rows, declared_option(Limits, "rows").help, declared_option(Limits, "rows").minimum
(10, 'Rows at once.', 1)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, dataclass, field, fields
from enum import Enum, auto
from typing import Any, Final

_KEY: Final = "option"


class Heading(Enum):
    """Heading of a group of options in `--help`, in their order."""

    COMMAND = "Options"
    READING = "How inputs are read"
    DECIDING = "How it is decided"
    LEFTOVERS = "What may be left out of account"
    LIMITS = "Limits"
    ANSWERS = "The answer"
    SPARK = "Spark"


class Takes(Enum):
    """Kind of value that an option takes, if the field's default does not determine it."""

    TEXT = auto()
    WORDS = auto()
    NUMBERS = auto()
    INTEGER = auto()
    POSITIVE = auto()
    TIME = auto()
    SHARE = auto()
    FRACTION = auto()
    AMOUNT = auto()
    INPUT_FILE = auto()
    INPUT_PATH = auto()
    CATALOG = auto()
    OUTPUT_FILE = auto()
    OUTPUT_ROWS = auto()
    OUTPUT_FOLDER = auto()
    REPORT = auto()
    STATE_FOLDER = auto()


@dataclass(frozen=True, slots=True)
class DeclaredOption:
    """Option of a command, as a dataclass field declares it.

    help: what it is for, in a sentence or two.
    heading: what it stands under in `--help`.
    flags: how it is written, where that is not the field's name; a short form beside it.
    choices: the values it takes, if only these.
    takes, least, most: what its value is; the least and the greatest whole number.
    many: whether it can be repeated; the field is a collection then.
    """

    help: str
    heading: Heading = Heading.COMMAND
    flags: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    takes: Takes = Takes.TEXT
    minimum: int | None = None
    maximum: int | None = None
    is_repeatable: bool = False
    metavar: str | None = None


def option(default: Any, help: str, *, choices: Sequence[str] = (), **how: Any) -> Any:
    """Declare a dataclass field with a default as an option; `DeclaredOption` describes the
    arguments.
    """
    shown = DeclaredOption(help, choices=tuple(choices), **how)
    metadata = {_KEY: shown}
    if isinstance(default, type):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, metadata=metadata)


def declared_option(owner: type, name: str) -> DeclaredOption:
    """Look up how the field ``name`` is declared as an option. Raises: KeyError."""
    return _field(owner, name).metadata[_KEY]


def declared_names(owner: type) -> list[str]:
    """List the fields of a dataclass that are options."""
    return [field.name for field in fields(owner) if _KEY in field.metadata]


def default_value(owner: type, name: str) -> Any:
    """Default of the field ``name``; None if a factory makes it anew for each object."""
    value = _field(owner, name).default
    return None if value is MISSING else value


def _field(owner: type, name: str) -> Any:
    """Find the field ``name`` of the dataclass ``owner``. Raises: KeyError."""
    return next(field for field in fields(owner) if field.name == name)
