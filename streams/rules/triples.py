"""RDF as atoms and back: what ``#rdf`` maps (docs/RULES.md, "RDF").

An IRI is the constant <IRI>. Integers stay; decimals and floats are scaled, and refused where
that is not exact; date-times become units of the timeline; other literals, and blank nodes,
strings.

>>> mapping = Mapping([PredicateMapping("temp/2", "urn:temp", 10), PredicateMapping("room/1", "urn:Room")], "sec")
>>> mapping.atom('<urn:r1> <urn:temp> "21.5"^^<http://www.w3.org/2001/XMLSchema#decimal> .')
'temp(<urn:r1>,215)'
>>> mapping.quad("temp/2", ("<urn:r1>", 215), 7)
'<urn:r1> <urn:temp> "21.5"^^<http://www.w3.org/2001/XMLSchema#decimal> <urn:shiq:point:7> .'
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal, DecimalException, Inexact, localcontext
from typing import Final

from shiq.datatypes.datatype_map import ill_typed
from shiq.model import RDF, XSD, Literal
from streams.front.event import EventError, time_of
from streams.rules.atoms import AtomError
from streams.rules.model import Model
from streams.rules.syntax import PredicateMapping
from streams.rules.values import LIMIT, Row, Value, atom_text, content, kind, string

_IRI: Final = r"""<[^\x00-\x20<>"{}|^`\\]*>"""
_NODE: Final = rf"{_IRI}|_:[^\s<>\"]+"
_TRIPLE: Final = re.compile(
    rf"\s*({_NODE})\s*({_IRI})\s*(?:({_NODE})|\"((?:[^\"\\\r\n]|\\.)*)\"(?:\^\^({_IRI})|@[A-Za-z0-9-]+)?)\s*\.\s*(?:#.*)?"
)
_ESCAPE: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")
_ESCAPED: Final = {
    "t": "\t",
    "b": "\b",
    "n": "\n",
    "r": "\r",
    "f": "\f",
    '"': '"',
    "'": "'",
    "\\": "\\",
}
_KINDS_OF_INTEGER: Final = """integer int long short byte nonNegativeInteger positiveInteger nonPositiveInteger negativeInteger
    unsignedLong unsignedInt unsignedShort unsignedByte"""
_INTEGERS: Final = frozenset(XSD + name for name in _KINDS_OF_INTEGER.split())
_FRACTIONS: Final = frozenset({XSD + "decimal", XSD + "double", XSD + "float"})
_BLANKS: Final = " \t\r\n"
_TIMES: Final = frozenset({XSD + "dateTime", XSD + "dateTimeStamp"})
#: The graph of a point, and its time.
GRAPH: Final = "<urn:shiq:point:{t}>"


class Mapping:
    """Classes and properties as predicates, both ways. ``unmapped``: how many triples were of
    others.
    """

    def __init__(self, mapped: Iterable[PredicateMapping], unit: str) -> None:
        self.unit, self.unmapped = unit, 0
        self.by_predicate = {one.predicate: one for one in mapped}
        self.classes = {
            one.iri: one for one in self.by_predicate.values() if one.predicate.endswith("/1")
        }
        self.properties = {
            one.iri: one for one in self.by_predicate.values() if one.predicate.endswith("/2")
        }

    def atom(self, triple: str) -> str | None:
        """The atom of an N-Triples statement; None for one that is not mapped. Raises: AtomError
        for what is no statement, and for a number that is not exact.
        """
        found = _TRIPLE.fullmatch(triple)
        if found is None:
            raise AtomError(f"{triple.strip()[:80]!r} is no N-Triples statement")
        subject, predicate, node, literal, datatype = found.groups()
        if predicate[1:-1] == RDF + "type" and node is not None:
            return self.member(node[1:-1], subject)
        mapped = self.properties.get(predicate[1:-1])
        if mapped is None:
            self.unmapped += 1
            return None
        value = (
            _node(node)
            if node is not None
            else self._value(literal, (datatype or "")[1:-1], mapped)
        )
        return f"{mapped.predicate[:-2]}({_node(subject)},{value})"

    def member(self, iri: str, node: str) -> str | None:
        """The atom that says of ``node`` (an <IRI> or _:label) that it is a member of a class."""
        mapped = self.classes.get(iri)
        if mapped is None:
            self.unmapped += 1
            return None
        return f"{mapped.predicate[:-2]}({_node(node)})"

    def _value(self, literal: str, datatype: str, mapped: PredicateMapping) -> Value:
        text = _ESCAPE.sub(_unescaped, literal) if "\\" in literal else literal
        if datatype in _INTEGERS | _FRACTIONS:
            if (wrong := ill_typed(Literal(text, datatype))) is not None:
                raise AtomError(wrong)
            number = text.strip(_BLANKS)
            return _bounded(number if datatype in _INTEGERS else _scaled(number, mapped.scale))
        if datatype in _TIMES:
            try:
                return time_of({"t": text}, self.unit)
            except EventError:
                raise AtomError(f"{text[:80]!r} is not of type {datatype}") from None
        return string(text)

    def quad(self, predicate: str, row: Row, t: int) -> str | None:
        """The N-Quads statement of an atom of a mapped predicate; None where its first argument
        is no node.
        """
        mapped, subject = self.by_predicate[predicate], _as_node(row[0])
        if subject is None:
            return None
        graph = GRAPH.format(t=t)
        if len(row) == 1:
            return f"{subject} <{RDF}type> <{mapped.iri}> {graph} ."
        return f"{subject} <{mapped.iri}> {_object(row[1], mapped.scale)} {graph} ."

    def quads(self, model: Model, derived: bool) -> tuple[list[str], list[str]]:
        """The statements of a model's mapped atoms, sorted; and the atoms that are none, as texts."""
        quads: list[str] = []
        none: list[str] = []
        for predicate in (
            self.by_predicate if model.shown is None else self.by_predicate.keys() & model.shown
        ):
            for row in model.point.rows(predicate, derived):
                quad = self.quad(predicate, row, model.t)
                if quad is None:
                    none.append(atom_text(predicate[:-2], row))
                else:
                    quads.append(quad)
        return sorted(quads), sorted(none)


def _node(node: str) -> str:
    return node if node.startswith("<") else string(node)


def _as_node(value: Value) -> str | None:
    if not isinstance(value, str):
        return None
    if kind(value) == 3:
        return value
    return content(value) if kind(value) == 2 and content(value).startswith("_:") else None


def _object(value: Value, scale: int | None) -> str:
    if isinstance(value, str):
        node = _as_node(value)
        return (
            node
            or '"'
            + content(value)
            .replace("\\", "\\\\")
            .replace('"', '\\"')
            .replace("\n", "\\n")
            .replace("\r", "\\r")
            + '"'
        )
    if scale is None:
        return f'"{value}"^^<{XSD}integer>'
    with localcontext() as exact:
        exact.prec = 60
        return f'"{format(Decimal(value) / scale, "f")}"^^<{XSD}decimal>'


def _unescaped(found: re.Match[str]) -> str:
    code = int(found[1] or found[2] or "0", 16)
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        raise AtomError(f"{found[0]} is no character")
    if found[3] and found[3] not in _ESCAPED:
        raise AtomError(f"{found[0]} is no escape")
    return _ESCAPED[found[3]] if found[3] else chr(code)


def _scaled(number: str, scale: int | None) -> str:
    """``number`` times ``scale``, as an integer. Raises: AtomError where it is none."""
    with localcontext() as exact:
        exact.prec = 200
        exact.traps[Inexact] = True
        try:
            found = Decimal(number) * (scale or 1)
            if found.is_finite() and found == found.to_integral_value():
                if found.adjusted() > 20:
                    raise AtomError(f"the integer {number[:40]} is beyond 64 bits")
                return f"{found:.0f}"
        except DecimalException:
            pass
    raise AtomError(
        f"{number[:80]} is no whole number{f' when scaled by {scale}' if scale else ''}"
    )


def _bounded(number: str) -> int:
    found = int(number) if len(number) <= 40 else LIMIT
    if not -LIMIT <= found < LIMIT:
        raise AtomError(f"the integer {number[:40]} is beyond 64 bits")
    return found
