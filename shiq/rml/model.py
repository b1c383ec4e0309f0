"""What a mapping is made of: sources, maps of terms, joins and triples maps."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

#: A path into a record: names, places, and None for all members.
Path_ = tuple[str | int | None, ...]


@dataclass(frozen=True)
class LogicalSource:
    """``name``: a path, or the name of the stream; ``query``: of a database."""

    name: str
    form: str
    iterator: Path_ = ()
    query: str = ""
    folder: Path = Path()

    @property
    def path(self) -> Path:
        """Where the file lies, unless an input stands for it."""
        return self.folder / self.name


@dataclass(frozen=True)
class TermMap:
    """``parts``: texts and references in turn, beginning with a text; a reference is a path. ``constant``: a token, "" where
    the term is made of ``parts``. ``is_natural``: a value without a datatype has that of its JSON. ``line``: in the mapping."""

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
    """The subjects that the triples map ``parent`` makes of rows that agree on ``conditions``: a path of the child, a
    reference of the parent. ``line``: in the mapping."""

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
