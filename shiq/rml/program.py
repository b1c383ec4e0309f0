"""Run a mapping on single records: the N-Triples statements of a record, without any table."""

from __future__ import annotations

import csv
import json
import re
import sqlite3
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from itertools import product
from typing import Any, Final
from urllib.parse import quote

from shiq import model as owl
from shiq.errors import InputError
from shiq.model.ntriples import literal_term as literal_text
from shiq.rml.model import (
    TYPE,
    LogicalSource,
    MappingJoin,
    ReferencePath,
    Statement,
    TermMap,
    TriplesMap,
    is_resource,
    parse_reference,
    require_unique_members,
)

_PLAIN: Final = re.compile(r"[A-Za-z0-9_.~-]*")


class MissingValueError(ValueError):
    """Signal: the record lacks a value that the mapping refers to, or the value cannot become a
    term.
    """


class JsonNumber(str):
    """A JSON number that keeps its text."""


def parse_record(text: str | bytes) -> Any:
    """Parse a JSON record; numbers keep their text. Raises: ValueError."""
    if not isinstance(text, str):
        text = text.removeprefix(BOM_UTF8).decode()
    try:
        found, end = _SCAN(text, 0)
        if end == len(text):
            return found
    except StopIteration:
        pass
    # With blanks around it, or wrong: whoever reads all of it says how.
    return _JSON.decode(text)


def _refuse_constant(text: str) -> None:
    """Refuse NaN and infinities, which JSON does not have. Raises: ValueError."""
    raise ValueError(f"{text} is no number of JSON")


_JSON: Final = json.JSONDecoder(
    object_pairs_hook=require_unique_members,
    parse_int=JsonNumber,
    parse_float=JsonNumber,
    parse_constant=_refuse_constant,
)
_SCAN: Final[Any] = _JSON.scan_once  # type: ignore[attr-defined]


def path_text(path: ReferencePath) -> str:
    """Write a path in JSONPath syntax."""
    return "$" + "".join(
        "[*]" if step is None else f"[{step}]" if isinstance(step, int) else f".{step}"
        for step in path
    )


def values_at(record: Any, path: ReferencePath) -> list[Any]:
    """Return all values at ``path`` in a record, except null."""
    found = [record]
    for step in path:
        if step is None:
            found = [
                x
                for v in found
                for x in (v if isinstance(v, list) else v.values() if isinstance(v, dict) else ())
            ]
        elif isinstance(step, int):
            found = [v[step] for v in found if isinstance(v, list) and step < len(v)]
        else:
            found = [v[step] for v in found if isinstance(v, dict) and step in v]
    return [value for value in found if value is not None]


def lexical_form(value: Any, path: ReferencePath) -> str:
    """Return the lexical form of a JSON value or typed cell; ``path`` names it in the error.

    Raises: MissingValueError for a value without one.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return {"nan": "NaN", "inf": "INF", "-inf": "-INF"}.get(text := repr(value), text)
    if isinstance(value, int):
        return repr(value)
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, bytes):
        return value.hex().upper()
    raise MissingValueError(f"{path_text(path)} is no single value")


def _encode_for_iri(text: str) -> str:
    """Percent-encode a value for an IRI template; letters of all scripts stay unchanged."""
    if _PLAIN.fullmatch(text):
        return text
    return "".join(c if c.isalnum() or ord(c) > 159 else quote(c, safe="-._~") for c in text)


def make_token(terms: TermMap, texts: Sequence[str], datatype: str = "") -> str:
    """Make the N-Triples token of a term map, given the texts of its references. Raises:
    MissingValueError.
    """
    made = make_term(terms, texts, datatype)
    return (
        literal_text(made)
        if isinstance(made, owl.Literal)
        else made
        if made.startswith("_:")
        else f"<{made}>"
    )


def make_term(terms: TermMap, texts: Sequence[str], datatype: str = "") -> str | owl.Literal:
    """Make the IRI, blank node or literal of a term map, given the texts of its references.

    Raises: MissingValueError.
    """
    pieces = iter(texts)
    if terms.kind == "Literal":
        text = "".join(part if isinstance(part, str) else next(pieces) for part in terms.parts)
        datatype = (
            terms.datatype
            or datatype
            or (owl.RDF + "langString" if terms.language else owl.XSD + "string")
        )
        return owl.Literal(text, datatype, terms.language)
    if terms.kind == "BlankNode":
        text = "\0".join(part if isinstance(part, str) else next(pieces) for part in terms.parts)
        return "_:m" + text.encode("utf-8", "surrogatepass").hex()
    is_template = len(terms.parts) != 2 or terms.parts[0] != ""
    iri = "".join(
        p if isinstance(p, str) else _encode_for_iri(next(pieces)) if is_template else next(pieces)
        for p in terms.parts
    )
    if not is_resource(f"<{iri}>"):
        raise MissingValueError(f"{iri!r} is no absolute IRI")
    return iri


def natural_datatype(value: Any) -> str:
    """Return the natural RDF datatype of a JSON value or typed cell; "" for a text."""
    if isinstance(value, JsonNumber):
        return owl.XSD + ("double" if any(c in value for c in ".eE") else "integer")
    return next((owl.XSD + name for kind, name in _NATURAL if isinstance(value, kind)), "")


#: The datatypes of values by their type in Python; a bool is an int there, and a datetime a date.
_NATURAL: Final[Sequence[tuple[type, str]]] = (
    (bool, "boolean"),
    (int, "integer"),
    (float, "double"),
    (Decimal, "decimal"),
    (datetime, "dateTime"),
    (date, "date"),
    (time, "time"),
    (bytes, "hexBinary"),
)


@dataclass
class MappingProgram:
    """The triples maps of one source, ready to run on its records.

    parents: triples maps by name, for joins
    lenient: whether a missing value makes no statement instead of an error
    """

    maps: Sequence[TriplesMap]
    parents: Mapping[str, TriplesMap]
    lenient: bool = False
    _parent_subjects: dict[MappingJoin, dict[tuple[str, ...], list[str]]] = field(
        default_factory=dict
    )

    def statements(self, record: Any) -> list[Statement]:
        """Run the triples maps on a record, and return its statements. Raises: MissingValueError."""
        found: list[Statement] = []
        for triples_map in self.maps:
            for row in _iterated_rows(record, triples_map.source.iterator):
                for subject in self._term_tokens(triples_map.subject, row):
                    found += [(subject, TYPE, f"<{iri}>") for iri in triples_map.classes]
                    for predicate, value in triples_map.predicate_objects:
                        pairs = product(
                            self._term_tokens(predicate, row), self._object_tokens(value, row)
                        )
                        found += [(subject, name, term) for name, term in pairs]
        return found

    def load_joins(self) -> MappingProgram:
        """Read the tables that the joins need, and return this program."""
        for join in (
            value
            for m in self.maps
            for _, value in m.predicate_objects
            if isinstance(value, MappingJoin) and value.conditions
        ):
            self.parent_subjects(join)
        return self

    def _object_tokens(self, value: TermMap | MappingJoin, row: Any) -> list[str]:
        """Make the object tokens of a row: by a term map, or the subjects of the joined rows."""
        if isinstance(value, TermMap):
            return self._term_tokens(value, row)
        if not value.conditions:
            return self._term_tokens(self.parents[value.parent].subject, row)
        return self.parent_subjects(value).get(
            tuple(self._single_text(row, child) for child, _ in value.conditions), []
        )

    def _single_text(self, row: Any, path: ReferencePath) -> str:
        """Return the first value of a row at ``path``, as text; U+0000 for a missing value in a
        lenient program. Raises: MissingValueError.
        """
        found = values_at(row, path)
        if not found and not self.lenient:
            raise MissingValueError(
                f"{path_text(path)} is missing (--allow missing-value makes no triple of it)"
            )
        return lexical_form(found[0], path) if found else "\0"

    def _term_tokens(self, terms: TermMap, row: Any) -> list[str]:
        """Make all tokens of a term map for a row: one for each combination of its references'
        values.
        """
        if terms.constant:
            return [terms.constant]
        paths = [part for part in terms.parts if not isinstance(part, str)]
        found = [values_at(row, path) for path in paths]
        for path, values in zip(paths, found):
            if not values and not self.lenient:
                raise MissingValueError(
                    f"{path_text(path)} is missing (--allow missing-value makes no triple of it)"
                )
        by_itself = (
            terms.has_natural_datatype
            and len(paths) == 1
            and not terms.datatype
            and not terms.language
        )
        return [
            make_token(
                terms,
                [lexical_form(v, p) for v, p in zip(values, paths)],
                natural_datatype(values[0]) if by_itself else "",
            )
            for values in product(*found)
        ]

    def parent_subjects(self, join: MappingJoin) -> dict[tuple[str, ...], list[str]]:
        """Map the values of a join's columns to the subjects of the parent's rows that have them."""
        if join not in self._parent_subjects:
            parent, found = self.parents[join.parent], dict[tuple[str, ...], list[str]]()
            paths = [
                parse_reference(reference, parent.source.form) for _, reference in join.conditions
            ]
            for row in read_source_rows(parent.source):
                values = [values_at(row, path) for path in paths]
                for texts in product(
                    *[[lexical_form(v, p) for v in vs] for vs, p in zip(values, paths)]
                ):
                    found.setdefault(texts, []).extend(self._term_tokens(parent.subject, row))
            self._parent_subjects[join] = found
        return self._parent_subjects[join]


def _iterated_rows(record: Any, iterator: ReferencePath) -> list[Any]:
    """Return the rows that an iterator selects in a record. A stream's record may itself be one
    element of the iterated list.
    """
    if iterator[:1] == (None,) and not isinstance(record, list):
        iterator = iterator[1:]
    return values_at(record, iterator) if iterator else [record]


def read_source_rows(source: LogicalSource) -> Iterator[Any]:
    """Yield the rows of the file or database query of a logical source. Raises: InputError."""
    path = source.path
    if not path.is_file():
        raise InputError(
            f"{path} does not exist",
            "The mapping names it; or is it the stream? Say --stream NAME.",
        )
    try:
        if source.form == "sql":
            with closing(
                sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
            ) as database:
                cursor = database.execute(source.query)
                names = [column[0] for column in cursor.description]
                yield from (dict(zip(names, row)) for row in cursor)
        elif source.form == "csv":
            with open(path, encoding="utf-8-sig", newline="") as file:
                yield from (
                    {k: v for k, v in row.items() if v != ""} for row in csv.DictReader(file)
                )
        else:
            yield from values_at(parse_record(path.read_bytes()), source.iterator)
    except (sqlite3.Error, csv.Error, ValueError, OSError) as error:
        raise InputError(
            f"{path} cannot be read ({error})",
            "Look at it, and at its logical source in the mapping.",
        ) from error
