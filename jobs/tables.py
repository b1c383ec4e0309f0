"""Files in which people say what they answer for, as tables of keys and values: TOML, or JSON."""

from __future__ import annotations

import difflib
import hashlib
import json
import sys
from collections.abc import Collection, Iterable, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any

from shiq.errors import InputError, UsageError


def read_tables(file: Path, shown_in: str) -> tuple[Mapping[str, Any], str]:
    """What the file says, and its digest. ``shown_in``: the document that shows what it may say.

    Raises: InputError where the file cannot be read, UsageError where it is no such file.
    """
    try:
        data = file.read_bytes()
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}", "Name a file that can be read.") from error
    try:
        found = json.loads(data) if file.suffix.lower() == ".json" else _toml(file, data)
        if not isinstance(found, dict):
            raise ValueError("not a table of keys and values")
    except ValueError as error:
        raise UsageError(
            f"{file}: {error}", f"Mend it: {shown_in} shows what it may say."
        ) from error
    return found, hashlib.sha256(data).hexdigest()


def _toml(file: Path, data: bytes) -> Any:
    if sys.version_info < (3, 11):
        raise UsageError(
            f"{file}: TOML is read with Python 3.11 or newer", "Write the same as JSON (.json)."
        )
    import tomllib

    return tomllib.loads(data.decode("utf-8"))


def day_of(place: str, value: object) -> date:
    """The day that ``value`` says. Raises: UsageError."""
    try:
        return (
            value
            if type(value) is date
            else date.fromisoformat(str(value.date() if isinstance(value, datetime) else value))
        )
    except ValueError:
        raise UsageError(
            f"{place}: expires is no day: {value!r}", "Write it as 2027-01-31."
        ) from None


def only(place: str, names: Iterable[object], known: Collection[str]) -> None:
    """Raises UsageError for the first name that is not ``known``, with the nearest that is."""
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(str(name), list(known), 1, 0)[0]
            raise UsageError(
                f"{place}: {name!r} is not known",
                f"Did you mean {near!r}? Known: {', '.join(known)}.",
            )
