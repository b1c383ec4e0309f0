"""What a run reads and what it writes lie apart: nothing is written over what is read, and no two outputs are one file."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from jobs.files import is_device
from shiq.errors import UsageError


def keep_apart(read: Iterable[tuple[str, str]], written: Iterable[tuple[str, str]]) -> None:
    """``read``, ``written``: names of options, each with a file, a folder or an address.

    Raises: UsageError for an output in the place of an input (it would be lost) or in its folder (it would be read as what is to
    be judged), and for two outputs in one place, stdout (-) too.
    """
    sources, taken = [(option, _place(name)) for option, name in read], dict[Path | str, str]()
    for option, name in written:
        place = _place(name)
        if isinstance(place, Path) and is_device(place):
            continue
        for source, other in sources:
            if _is_within(place, other):
                raise UsageError(f"{option} {name}: {source} is read there", "Name a file elsewhere.")
        if place in taken:
            shown = "stdout" if name == "-" else name
            raise UsageError(f"{option} and {taken[place]} are both {shown}", "Give each a file of its own.")
        taken[place] = option


def _place(name: str) -> Path | str:
    return name if name == "-" or "://" in name else Path(name).resolve()


def _is_within(one: Path | str, other: Path | str) -> bool:
    """Whether they are the same file or folder, or ``one`` lies in the folder ``other``."""
    if not isinstance(one, Path) or not isinstance(other, Path):
        return False
    with suppress(OSError):  # where one of them is not there
        if one.samefile(other):
            return True
    return one == other or (other in one.parents and other.is_dir())
