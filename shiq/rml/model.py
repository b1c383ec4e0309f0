"""What a mapping is made of: sources, maps of terms, joins and triples maps."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from shiq.remote.place import is_address
from shiq.sources import path_of

#: A path into a record: names, places, and None for all members.
Path_ = tuple[str | int | None, ...]


@dataclass(frozen=True)
class LogicalSource:
    """``name``: a path, or the name of the stream; ``query``: of a database; ``folder``: in
    which relative paths begin, a path or the address of a place far away.
    """

    name: str
    form: str
    iterator: Path_ = ()
    query: str = ""
    folder: Path | str = Path()

    @property
    def place(self) -> str:
        """The path or address of the file, unless an input stands for it."""
        return (
            f"{self.folder}/{self.name}"
            if isinstance(self.folder, str)
            else str(self.folder / self.name)
        )

    @property
    def path(self) -> Path:
        """Where the file lies; of one far away, a copy. Raises: InputError."""
        return path_of(self.place) if isinstance(self.folder, str) else self.folder / self.name


def folder_of(mapping: str) -> Path | str:
    """The folder in which relative paths of the file ``mapping`` begin."""
    return mapping.rpartition("/")[0] if is_address(mapping) else Path(mapping).absolute().parent


@dataclass(frozen=True)
class TermMap:
    """``parts``: texts and references in turn, beginning with a text; a reference is a path.
    ``constant``: a token, "" where the term is made of ``parts``. ``is_natural``: a value
    without a datatype has that of its JSON. ``line``: in the mapping.
    """

    kind: str
    parts: tuple[str | Path_, ...] = ()
    constant: str = ""
    datatype: str = ""
    language: str = ""
    is_natural: bool = False
    line: int = field(default=0, compare=False)

    @property
    def references(self) -> tuple[Path_, ...]:
        """The paths that it refers to."""
        return tuple(part for part in self.parts if not isinstance(part, str))


@dataclass(frozen=True)
class MappingJoin:
    """The subjects that the triples map ``parent`` makes of rows that agree on ``conditions``: a
    path of the child, a reference of the parent. ``line``: in the mapping.
    """

    parent: str
    conditions: tuple[tuple[Path_, str], ...]
    line: int = field(default=0, compare=False)


@dataclass(frozen=True)
class TriplesMap:
    name: str
    source: LogicalSource
    subject: TermMap
    classes: tuple[str, ...]
    said: tuple[tuple[TermMap, TermMap | MappingJoin], ...]
