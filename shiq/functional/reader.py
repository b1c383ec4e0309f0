"""Functional-style syntax to axioms and assertions, every axiom accounted for.

A shift-reduce reader without recursion: an opening keyword is shifted, its closing parenthesis builds the value. What goes
wrong inside an axiom becomes a leftover, and reading goes on at the next axiom.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, combinations
from typing import Any

from shiq import model as owl
from shiq.abox import abox_of
from shiq.errors import InputError
from shiq.functional.arguments import Annotation, AnnotationAxiom, Blank, DifferentMembers, Entity, Import, Iri, RefusedConstruct
from shiq.functional.document import Document
from shiq.functional.grammar import AXIOMS, CONSTRUCTS, build, unknown
from shiq.functional.prefixes import Prefixes
from shiq.functional.tokens import Token, tokens
from shiq.labelling import labelled
from shiq.reading import Reading
from shiq.signature import is_reserved, signature_of
from shiq.verdict import Leftover

#: Deeper nesting is refused: whatever walks expressions by recursion must not overflow later.
MAX_DEPTH = 200

_LONGEST_TEXT = 200
_AXIOM_LINE = re.compile(rf"\n[ \t]*((?:{'|'.join(AXIOMS)})[ \t]*\()")
# Keywords that never stand inside an item of this keyword: where one does, the item's closing parenthesis is missing.
_STARTS = {**dict.fromkeys([*AXIOMS, "Annotation"], AXIOMS.keys()), "Prefix": {"Prefix": 0, "Ontology": 0}.keys()}
_SIGNATURE_FIELDS = {
    "class": "classes",
    "object property": "object_properties",
    "data property": "data_properties",
    "annotation property": "annotation_properties",
    "datatype": "datatypes",
}


def parse_functional(text: str, source: str, scope: str, *, verbatim: bool = False) -> Reading:
    """The axioms and assertions of an OWL 2 document in functional-style syntax.

    Axioms are handed on as they stand, those outside SHIQ(D) too: `shiq.profile.split_axioms` takes these out once all sources
    are together (whether a role is simple, or a datatype defined, may depend on another file). The ledger counts axioms, not
    triples. A blank node ``_:x`` becomes ``_:{scope}.x`` (``_:x`` for an empty scope). ``verbatim``: the text was written here.

    Raises: InputError, naming ``source``, for a text that is not functional-style syntax at all.
    """
    document = read_document(text, source, scope, verbatim=verbatim)
    pairs = (owl.DifferentIndividuals(*pair) for _, members in document.apart for pair in combinations(members, 2))
    return Reading(
        tbox=owl.TBox(tuple(dict.fromkeys(axiom for _, axiom in document.axioms)), document.signature),
        abox=abox_of(chain((assertion for _, assertion in document.assertions), pairs)),
        leftovers=document.leftovers,
        left_out=document.left_out,
        ledger=document.ledger,
        sources=(source,),
        labels=labelled(document.labels, document.signature),
    )


def read_document(text: str, source: str, scope: str, *, verbatim: bool = False) -> Document:
    """Parses as `parse_functional` does, with the line of each axiom. Raises: InputError."""
    reader = _Reader(text, source, scope, verbatim)
    position: int | None = 0
    while position is not None:
        position = reader.read_from(position)
    return reader.finish()


@dataclass
class _Item:
    """The axiom being read. ``stack`` holds keywords with the arguments so far; once refused, only ``depth`` is kept up.
    ``swallowed`` tells where an axiom seems to begin inside its last string, and where that string ends."""

    keyword: str
    start: int
    stack: list[tuple[str, list[object]]] = field(default_factory=list)
    depth: int = 0
    refused: RefusedConstruct | None = None
    refused_line: int = 0
    swallowed: tuple[int, int] = (0, 0)


class _Reader:
    def __init__(self, text: str, source: str, scope: str, verbatim: bool) -> None:
        self.text = text.removeprefix("\ufeff")
        self.source, self.verbatim = source, verbatim
        self.blank_prefix = f"_:{scope}." if scope else "_:"
        self.line_starts = [0, *(i + 1 for i, character in enumerate(self.text) if character == "\n")]
        self.prefixes = Prefixes()
        self.header: list[str] = []
        self.state = "prologue"  # then "header", "axioms", "closed"
        self.item: _Item | None = None
        self.closed_at = self.resume = 0
        self.axioms: list[tuple[int, owl.Axiom]] = []
        self.assertions: list[tuple[int, owl.Assertion]] = []
        self.apart: list[tuple[int, tuple[str, ...]]] = []
        self.declared: dict[str, set[str]] = {name: set() for name in _SIGNATURE_FIELDS}
        self.imports: list[str] = []
        self.annotations: list[tuple[int, str, str, str | owl.Literal]] = []
        self.of_annotations: list[tuple[int, str, tuple[str, ...]]] = []
        self.properties: dict[tuple[str, str], tuple[int, int]] = {}
        self.leftovers: dict[tuple[str, str], Leftover] = {}
        self.left_out: list[Leftover] = []
        self.ledger: Counter[str] = Counter()

    # --- tokens ---

    def read_from(self, position: int) -> int | None:
        """Reads on from ``position``; gives the place to resume at, if a missing quote hid axioms, or None at the end."""
        self.resume = 0
        for token in tokens(self.text, position):
            self.read(token)
            if self.resume:
                return self.resume
        return None

    def read(self, token: Token) -> None:
        if self.item is not None and token.kind == "call" and token.text in _STARTS.get(self.item.keyword, ()):
            self._refuse(RefusedConstruct(f"a closing parenthesis is missing before {token.text}"), token)
            self._end(token.offset)
        if self.item is not None:
            self._inside(self.item, token)
        elif self.state == "prologue":
            self._prologue(token)
        elif self.state == "header" and token.kind in ("iri", "name") and len(self.header) < 2:
            self._header(token)
        elif token.kind == "close" and self.state == "closed":
            self._leftover(RefusedConstruct("a parenthesis too many"), token.offset)
        elif token.kind == "close":
            self.state, self.closed_at = "closed", token.offset
        else:
            if self.state == "closed":
                self._leftover(
                    RefusedConstruct("the ontology is closed here, but text follows: a parenthesis too many?"), self.closed_at
                )
            self.state = "axioms"
            self._begin(token)

    def _prologue(self, token: Token) -> None:
        if token.kind == "call" and token.text == "Ontology":
            self.state = "header"
        elif token.kind == "call" and token.text == "Prefix":
            self.item = _Item("Prefix", token.offset, [("Prefix", [])], 1)
        elif self.prefixes.declared or self.ledger:
            self._begin(token)
        else:
            raise _not_functional(self.source, self.text, token)

    def _header(self, token: Token) -> None:
        try:
            self.header.append(self.prefixes.resolve(token.kind, token.text))
        except RefusedConstruct as refused:
            self.header.append("")
            self._leftover(refused, token.offset)

    def _begin(self, token: Token) -> None:
        """A new item; one that is no axiom is read to its end, for a leftover."""
        self.item = _Item(token.text if token.kind == "call" else "", token.offset)
        if token.kind == "call" and (token.text in AXIOMS or token.text == "Annotation"):
            self.item.stack.append((token.text, []))
            self.item.depth = 1
            return
        if token.kind == "call":
            self._refuse(unknown(token.text, "where an axiom is expected"), token)
        elif token.kind == "error":
            self._refuse(RefusedConstruct(token.text), token)
        else:
            self._refuse(RefusedConstruct(f"{_short(self.text[token.offset : token.end])!r} where an axiom is expected"), token)
        self.item.depth = int(token.kind in ("call", "open"))
        if not self.item.depth:
            self._end(token.end)

    def _inside(self, item: _Item, token: Token) -> None:
        if item.refused is None:
            try:
                self._shift(item, token)
            except RefusedConstruct as refused:
                self._refuse(refused, token)
        hidden, behind = item.swallowed
        if item.refused is not None and hidden and token.offset == behind and token.kind != "close":
            # Text right behind a string that holds axioms: its closing quote was missing, and this one opened another string.
            self.resume = hidden
            self._end(hidden)
            return
        if token.kind == "literal" and (match := _AXIOM_LINE.search(self.text, token.offset, token.end)):
            item.swallowed = (match.start(1), token.end)
        if token.kind in ("call", "open"):
            item.depth += 1
        elif token.kind == "close":
            item.depth -= 1
            if not item.depth:
                self._end(token.end)

    def _shift(self, item: _Item, token: Token) -> None:
        arguments = item.stack[-1][1]
        match token.kind:
            case "call" if token.text in CONSTRUCTS:
                item.stack.append((token.text, []))
            case "call":
                raise unknown(token.text, f"inside {item.keyword}")
            case "open":
                item.stack.append(("", []))
            case "close":
                keyword, closed = item.stack.pop()
                if keyword == "Prefix":
                    self.prefixes.declare(closed)
                elif item.stack:
                    made = build(keyword, closed, verbatim=self.verbatim)
                    item.stack[-1][1].append(made)
                    if isinstance(made, Annotation):
                        self._property("annotation", made.property, self._line(item.start))
                else:
                    self._accept(build(keyword, closed, verbatim=self.verbatim), item)
            case "equals" if item.keyword == "Prefix":
                arguments.append("=")
            case "name" if item.keyword == "Prefix":
                arguments.append(token)
            case "iri" | "name":
                arguments.append(Iri(self.prefixes.resolve(token.kind, token.text)))
            case "blank":
                arguments.append(Blank(self.blank_prefix + token.text[2:]))
            case "literal":
                arguments.append(self.prefixes.literal(token))
            case "integer" if len(token.text) <= 18:
                arguments.append(int(token.text))
            case "error":
                raise RefusedConstruct(token.text)
            case _:
                raise RefusedConstruct(f"{_short(token.text)!r} cannot stand here")
        if len(item.stack) > MAX_DEPTH:
            raise RefusedConstruct(f"nested deeper than {MAX_DEPTH} levels")

    # --- results ---

    def _refuse(self, refused: RefusedConstruct, token: Token) -> None:
        item = self.item
        if item is not None and item.refused is None:
            item.refused, item.refused_line = refused, self._line(token.offset)
            item.stack.clear()

    def _end(self, offset: int) -> None:
        item, self.item = self.item, None
        if item is not None and item.refused is not None:
            self._leftover(item.refused, item.start, offset, item.refused_line)

    def _accept(self, value: Any, item: _Item) -> None:
        line = self._line(item.start)
        match value:
            case tuple():
                self.ledger["assertion"] += 1
                self.assertions += ((line, assertion) for assertion in value)
                match value:
                    case (owl.ObjectPropertyAssertion(owl.ObjectProperty(iri) | owl.ObjectInverseOf(owl.ObjectProperty(iri))),):
                        self._property("object", iri, line)
                    case (owl.DataPropertyAssertion(owl.DataProperty(iri)),):
                        self._property("data", iri, line)
            case DifferentMembers(individuals):
                self.ledger["assertion"] += 1
                self.apart.append((line, individuals))
            case Entity(kind, iri):
                self.ledger["declaration"] += 1
                self.declared.get(kind, set()).add(iri)
                if kind.endswith(" property"):
                    self._property(kind.removesuffix(" property"), iri, line)
            case AnnotationAxiom(properties, subject, annotated):
                self.ledger["annotation"] += 1
                if item.keyword == "AnnotationAssertion":
                    value = annotated if isinstance(annotated, owl.Literal) else str(annotated)
                    self.annotations.append((line, properties[0], subject, value))
                else:
                    self.of_annotations.append((line, item.keyword, properties))
                self.declared["annotation property"].update(properties)
                for iri in properties:
                    self._property("annotation", iri, line)
            case Annotation(iri):
                self.ledger["annotation"] += 1
                self._property("annotation", iri, line)
            case Import(iri):
                self.imports.append(iri)
                hint = "give the imported ontology as a source too"
                self._leftover(RefusedConstruct(f"<{iri}> is imported, but not read", "missing-import", hint), item.start)
            case _:
                self.ledger["axiom"] += 1
                self.axioms.append((line, value))

    def _property(self, kind: str, iri: str, line: int) -> None:
        first, count = self.properties.get((kind, iri), (line, 0))
        self.properties[kind, iri] = (first, count + 1)

    def _line(self, offset: int) -> int:
        return bisect_right(self.line_starts, offset)

    def _leftover(self, refused: RefusedConstruct, start: int, end: int = 0, refused_line: int = 0) -> None:
        """Counts it; equal ones are one row, so that a prefix missing in a million axioms is told once."""
        self.ledger[f"leftover:{refused.kind}"] += 1
        key = (refused.kind, refused.message)
        text = self.text[start : end or _end_of_line(self.text, start)]
        found = Leftover(refused.kind, refused.message, self.source, self._line(start), text, refused.hint)
        self.left_out.append(found)
        if key in self.leftovers:
            self.leftovers[key] = replace(self.leftovers[key], count=self.leftovers[key].count + 1)
            return
        where = f" (line {refused_line})" if refused_line > found.line else ""
        self.leftovers[key] = replace(found, message=refused.message + where, text=_short(text))

    def finish(self) -> Document:
        if self.state == "prologue":
            raise _not_functional(self.source, self.text, None)
        end = len(self.text)
        if self.item is not None:
            self._refuse(
                RefusedConstruct("the text ends inside this axiom: is the file cut short?"), Token("close", "", end, end)
            )
            self._end(end)
        elif self.state != "closed":
            self._leftover(RefusedConstruct("the text ends before the ontology is closed: is the file cut short?"), end)
        return Document(
            tuple(self.axioms),
            tuple(self.assertions),
            tuple(self.leftovers.values()),
            tuple(self.left_out),
            self.ledger,
            _declared(self.declared) | signature_of(axiom for _, axiom in self.axioms),
            iri=self.header[0] if self.header else "",
            version=self.header[1] if len(self.header) > 1 else "",
            imports=tuple(self.imports),
            annotations=tuple(self.annotations),
            of_annotations=tuple(self.of_annotations),
            properties=tuple((*key, *place) for key, place in self.properties.items()),
            apart=tuple(self.apart),
        )


def _declared(names: Mapping[str, Iterable[str]]) -> owl.Signature:
    found = {field: frozenset(iri for iri in names[kind] if not is_reserved(iri)) for kind, field in _SIGNATURE_FIELDS.items()}
    return owl.Signature(**found)


def _not_functional(source: str, text: str, token: Token | None) -> InputError:
    start = f"it begins with {_short(text[token.offset : token.offset + 40])!r}" if token else "it has no Ontology(...)"
    return InputError(
        f"{source} is not an ontology in OWL 2 functional-style syntax: {start}",
        "Check the file and the format its name stands for; this syntax begins with Prefix(...) or Ontology(...).",
    )


def _end_of_line(text: str, offset: int) -> int:
    found = text.find("\n", offset)
    return len(text) if found < 0 else found


def _short(text: str) -> str:
    line = " ".join(text[: 2 * _LONGEST_TEXT].split())
    return line if len(line) <= _LONGEST_TEXT else line[: _LONGEST_TEXT - 1] + "…"
