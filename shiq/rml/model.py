"""Data model of an RML mapping: logical sources, term maps, joins and triples maps."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

from shiq import model as owl
from shiq.inputs.sources import local_path_of
from shiq.remote.place import is_address

#: A path into a record: names, places, and None for all members.
ReferencePath = tuple[str | int | None, ...]


@dataclass(frozen=True)
class LogicalSource:
    """A source of rows, as the mapping names it: a file, a database query or a stream.

    name: path of a file, or name of a stream
    form: csv, json or sql
    iterator: path of the rows in a JSON document
    query: SQL query of a database
    folder: base of relative paths: a folder or the address of a remote one
    """

    name: str
    form: str
    iterator: ReferencePath = ()
    query: str = ""
    folder: Path | str = Path()

    @property
    def address(self) -> str:
        """Path or remote address of the file, unless an input replaces it."""
        return (
            f"{self.folder}/{self.name}"
            if isinstance(self.folder, str)
            else str(self.folder / self.name)
        )

    @property
    def path(self) -> Path:
        """Local path of the file; for a remote one the path of a copy. Raises: InputError."""
        return (
            local_path_of(self.address) if isinstance(self.folder, str) else self.folder / self.name
        )


def mapping_folder(mapping: str) -> Path | str:
    """Return the folder of the mapping file, against which its relative paths are resolved."""
    return mapping.rpartition("/")[0] if is_address(mapping) else Path(mapping).absolute().parent


@dataclass(frozen=True)
class TermMap:
    """Rule that makes an RDF term from a row: a constant, a reference or a template.

    kind: IRI, BlankNode or Literal
    parts: texts and references in turn, beginning with a text; a reference is a path
    constant: N-Triples token, "" if the term is made of ``parts``
    has_natural_datatype: whether a value without a datatype gets that of its JSON value
    line: in the mapping file
    """

    kind: str
    parts: tuple[str | ReferencePath, ...] = ()
    constant: str = ""
    datatype: str = ""
    language: str = ""
    has_natural_datatype: bool = False
    line: int = field(default=0, compare=False)

    @property
    def references(self) -> tuple[ReferencePath, ...]:
        """Paths of the columns or JSON members that the term map reads."""
        return tuple(part for part in self.parts if not isinstance(part, str))


@dataclass(frozen=True)
class MappingJoin:
    """Join of a row with the rows of another triples map (the parent); its objects are their
    subjects.

    parent: name of the other triples map
    conditions: pairs of a path of the child and a column of the parent, to be equal
    line: in the mapping file
    """

    parent: str
    conditions: tuple[tuple[ReferencePath, str], ...]
    line: int = field(default=0, compare=False)


@dataclass(frozen=True)
class TriplesMap:
    """Rule that makes triples from each row of a source: a subject, its classes, predicates and
    objects.

    classes: IRIs of the types of the subject
    predicate_objects: pairs of predicate and object
    """

    name: str
    source: LogicalSource
    subject: TermMap
    classes: tuple[str, ...]
    predicate_objects: tuple[tuple[TermMap, TermMap | MappingJoin], ...]


# N-Triples tokens that a mapping makes of a record.


#: Subject, predicate and object, as N-Triples has them.
Statement: TypeAlias = tuple[str, str, str]

TYPE: Final = f"<{owl.RDF}type>"

_RESOURCE = re.compile(
    r"<[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\]*>|_:[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9_-])?"
)


def is_resource(token: str) -> bool:
    """Decide whether ``token`` is a well-formed absolute IRI in angle brackets, or a blank node."""
    return _RESOURCE.fullmatch(token) is not None


class RepeatedMemberError(ValueError):
    """A JSON object has two members of the same name."""


def require_unique_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a JSON object from its members. Raises: RepeatedMemberError."""
    if len(found := dict(pairs)) != len(pairs):
        names = [name for name, _ in pairs]
        raise RepeatedMemberError(
            f'the member "{next(name for name in names if names.count(name) > 1)}" is there twice'
        )
    return found


_STEP: Final = re.compile(
    r"\.?([^.\[\]'\"*?()@$]+)|\[\s*(\d+)\s*\]|\[\s*'([^']*)'\s*\]|\[\s*\"([^\"]*)\"\s*\]|\.?\[?(\*)\]?"
)


def parse_reference(text: str, form: str = "json") -> ReferencePath:
    """Parse a reference (JSONPath; or a column of CSV or a database) into a path. Raises:
    ValueError.
    """
    if form != "json":
        return (text,)
    rest, found = text.strip().removeprefix("$"), list[str | int | None]()
    while rest:
        match = _STEP.match(rest)
        if match is None or not match[0]:
            raise ValueError(f"the path {text} is not supported: names, indices and [*] are")
        name, place, single, double, every = match.groups()
        if every or place is not None:
            found.append(None if every else int(place))
        else:
            found.append(next(part for part in (name, single, double) if part is not None))
        rest = rest[match.end() :]
    return tuple(found)
