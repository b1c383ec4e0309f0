"""Parser of functional-style syntax. Every axiom becomes a value or a leftover (record of
uninterpreted input).

A shift-reduce parser without recursion: an opening keyword is shifted, its closing parenthesis
builds the value. An axiom with an error becomes a leftover, and parsing continues at the next
axiom.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import chain, combinations
from typing import Any

from shiq import model as owl
from shiq.errors import InputError
from shiq.functional.arguments import Annotation, BlankIndividual, Iri, RefusedConstruct
from shiq.functional.document import MAX_DEPTH, Document, DocumentBuilder, short_text
from shiq.functional.grammar import AXIOMS, CONSTRUCTS, build_construct, unknown_construct
from shiq.functional.tokens import Prefixes, Token, tokens
from shiq.inputs.reading import Reading
from shiq.model.abox import abox_of
from shiq.model.walk import choose_labels

_AXIOM_LINE = re.compile(rf"\n[ \t]*((?:{'|'.join(AXIOMS)})[ \t]*\()")
# Keywords that never stand inside an item of this keyword: where one does, the item's closing
# parenthesis is missing.
_STARTS = {
    **dict.fromkeys([*AXIOMS, "Annotation"], AXIOMS.keys()),
    "Prefix": {"Prefix": 0, "Ontology": 0}.keys(),
}


def parse_functional(text: str, source: str, scope: str, *, verbatim: bool = False) -> Reading:
    """Parse the axioms and assertions of an OWL 2 document in functional-style syntax.

    Axioms outside SHIQ(D) are kept: `shiq.model.profile.split_axioms` removes them once all sources are
    together. Whether a role is simple, or a datatype defined, may depend on another file. The
    ledger counts axioms, not triples.

    Args:
    scope: a blank node ``_:x`` becomes ``_:{scope}.x`` (``_:x`` for an empty scope)
    verbatim: whether shiq itself wrote the text

    Raises: InputError, naming ``source``, for text that is not functional-style syntax at all.
    """
    document = read_document(text, source, scope, verbatim=verbatim)
    pairs = (
        owl.DifferentIndividuals(*pair)
        for _, members in document.different_lists
        for pair in combinations(members, 2)
    )
    return Reading(
        tbox=owl.TBox(
            tuple(dict.fromkeys(axiom for _, axiom in document.axioms)), document.signature
        ),
        abox=abox_of(chain((assertion for _, assertion in document.assertions), pairs)),
        leftovers=document.leftovers,
        left_out=document.left_out,
        ledger=document.ledger,
        sources=(source,),
        labels=choose_labels(document.labels, document.signature),
    )


def read_document(text: str, source: str, scope: str, *, verbatim: bool = False) -> Document:
    """Parse as `parse_functional` does, and keep the line of each axiom. Raises: InputError."""
    reader = _FunctionalReader(text, source, scope, verbatim)
    position: int | None = 0
    while position is not None:
        position = reader.read_from(position)
    return reader.finish()


@dataclass
class _OpenAxiom:
    """The axiom or declaration that is being parsed, with its open constructs.

    stack: open keywords with their arguments so far; after an error only ``depth`` is maintained
    hidden_axiom: offset where an axiom seems to begin inside the last string, and where that string
        ends
    """

    keyword: str
    start: int
    stack: list[tuple[str, list[object]]] = field(default_factory=list)
    depth: int = 0
    refusal: RefusedConstruct | None = None
    refusal_line: int = 0
    hidden_axiom: tuple[int, int] = (0, 0)


class _FunctionalReader:
    """Parser of one document in functional-style syntax."""

    def __init__(self, text: str, source: str, scope: str, verbatim: bool) -> None:
        self.text = text.removeprefix("\ufeff")
        self.source, self.verbatim = source, verbatim
        self.blank_prefix = f"_:{scope}." if scope else "_:"
        self.line_starts = [
            0,
            *(i + 1 for i, character in enumerate(self.text) if character == "\n"),
        ]
        self.prefixes = Prefixes()
        self.header: list[str] = []
        self.state = "prologue"  # then "header", "axioms", "closed"
        self.item: _OpenAxiom | None = None
        self.closed_at = self.resume = 0
        self.builder = DocumentBuilder(source)

    # --- tokens ---

    def read_from(self, position: int) -> int | None:
        """Parse the text from offset ``position`` on.

        Returns: where to resume if a missing quote hid axioms; None at the end.
        """
        self.resume = 0
        for token in tokens(self.text, position):
            self.handle_token(token)
            if self.resume:
                return self.resume
        return None

    def handle_token(self, token: Token) -> None:
        """Handle one token, by the part of the document it is in."""
        if (
            self.item is not None
            and token.kind == "call"
            and token.text in _STARTS.get(self.item.keyword, ())
        ):
            self._refuse_item(
                RefusedConstruct(f"a closing parenthesis is missing before {token.text}"), token
            )
            self._end_item(token.offset)
        if self.item is not None:
            self._continue_item(self.item, token)
        elif self.state == "prologue":
            self._read_prologue(token)
        elif self.state == "header" and token.kind in ("iri", "name") and len(self.header) < 2:
            self._read_header(token)
        elif token.kind == "close" and self.state == "closed":
            self._record_leftover(RefusedConstruct("a parenthesis too many"), token.offset)
        elif token.kind == "close":
            self.state, self.closed_at = "closed", token.offset
        else:
            if self.state == "closed":
                self._record_leftover(
                    RefusedConstruct(
                        "the ontology is closed here, but text follows: a parenthesis too many?"
                    ),
                    self.closed_at,
                )
            self.state = "axioms"
            self._begin_item(token)

    def _read_prologue(self, token: Token) -> None:
        """Handle a token before the ontology: of a prefix declaration, or the beginning of the
        ontology.
        """
        if token.kind == "call" and token.text == "Ontology":
            self.state = "header"
        elif token.kind == "call" and token.text == "Prefix":
            self.item = _OpenAxiom("Prefix", token.offset, [("Prefix", [])], 1)
        elif self.prefixes.namespaces or self.builder.ledger:
            self._begin_item(token)
        else:
            raise _not_functional_error(self.source, self.text, token)

    def _read_header(self, token: Token) -> None:
        """Handle a token of the ontology's IRI or version IRI."""
        try:
            self.header.append(self.prefixes.resolve(token.kind, token.text))
        except RefusedConstruct as refused:
            self.header.append("")
            self._record_leftover(refused, token.offset)

    def _begin_item(self, token: Token) -> None:
        """Begin an item. One that is no axiom is read to its end, and becomes a leftover."""
        self.item = _OpenAxiom(token.text if token.kind == "call" else "", token.offset)
        if token.kind == "call" and (token.text in AXIOMS or token.text == "Annotation"):
            self.item.stack.append((token.text, []))
            self.item.depth = 1
            return
        if token.kind == "call":
            self._refuse_item(unknown_construct(token.text, "where an axiom is expected"), token)
        elif token.kind == "error":
            self._refuse_item(RefusedConstruct(token.text), token)
        else:
            self._refuse_item(
                RefusedConstruct(
                    f"{short_text(self.text[token.offset : token.end])!r} where an axiom is expected"
                ),
                token,
            )
        self.item.depth = int(token.kind in ("call", "open"))
        if not self.item.depth:
            self._end_item(token.end)

    def _continue_item(self, item: _OpenAxiom, token: Token) -> None:
        """Handle a token inside an item; after a refusal, find where the item ends."""
        if item.refusal is None:
            try:
                self._push_argument(item, token)
            except RefusedConstruct as refused:
                self._refuse_item(refused, token)
        hidden, behind = item.hidden_axiom
        if item.refusal is not None and hidden and token.offset == behind and token.kind != "close":
            # Text right behind a string that holds axioms: its closing quote was missing, and this
            # one opened another string.
            self.resume = hidden
            self._end_item(hidden)
            return
        if token.kind == "literal" and (
            match := _AXIOM_LINE.search(self.text, token.offset, token.end)
        ):
            item.hidden_axiom = (match.start(1), token.end)
        if token.kind in ("call", "open"):
            item.depth += 1
        elif token.kind == "close":
            item.depth -= 1
            if not item.depth:
                self._end_item(token.end)

    def _push_argument(self, item: _OpenAxiom, token: Token) -> None:
        """Add a token to the open constructs of an item. Raises: RefusedConstruct."""
        arguments = item.stack[-1][1]
        match token.kind:
            case "call" if token.text in CONSTRUCTS:
                item.stack.append((token.text, []))
            case "call":
                raise unknown_construct(token.text, f"inside {item.keyword}")
            case "open":
                item.stack.append(("", []))
            case "close":
                keyword, closed = item.stack.pop()
                if keyword == "Prefix":
                    self.prefixes.declare_as_written(closed)
                elif item.stack:
                    made = build_construct(keyword, closed, verbatim=self.verbatim)
                    item.stack[-1][1].append(made)
                    if isinstance(made, Annotation):
                        self.builder.use_property(
                            "annotation", made.property, self._line_of(item.start)
                        )
                else:
                    self._accept_value(
                        build_construct(keyword, closed, verbatim=self.verbatim), item
                    )
            case "equals" if item.keyword == "Prefix":
                arguments.append("=")
            case "name" if item.keyword == "Prefix":
                arguments.append(token)
            case "iri" | "name":
                arguments.append(Iri(self.prefixes.resolve(token.kind, token.text)))
            case "blank":
                arguments.append(BlankIndividual(self.blank_prefix + token.text[2:]))
            case "literal":
                arguments.append(self.prefixes.literal(token))
            case "integer" if len(token.text) <= 18:
                arguments.append(int(token.text))
            case "error":
                raise RefusedConstruct(token.text)
            case _:
                raise RefusedConstruct(f"{short_text(token.text)!r} cannot stand here")
        if len(item.stack) > MAX_DEPTH:
            raise RefusedConstruct(f"nested deeper than {MAX_DEPTH} levels")

    # --- results ---

    def _refuse_item(self, refused: RefusedConstruct, token: Token) -> None:
        """Record the refusal of the open item, at ``token``."""
        item = self.item
        if item is not None and item.refusal is None:
            item.refusal, item.refusal_line = refused, self._line_of(token.offset)
            item.stack.clear()

    def _end_item(self, offset: int) -> None:
        """End the open item; a refused one becomes a leftover."""
        item, self.item = self.item, None
        if item is not None and item.refusal is not None:
            self._record_leftover(item.refusal, item.start, offset, item.refusal_line)

    def _accept_value(self, value: Any, item: _OpenAxiom) -> None:
        """Pass a finished value to the document."""
        self.builder.accept(
            value, item.keyword, self._line_of(item.start), lambda: self._rest_of_line(item.start)
        )

    def _line_of(self, offset: int) -> int:
        """Return the line of a character offset."""
        return bisect_right(self.line_starts, offset)

    def _rest_of_line(self, offset: int) -> str:
        """Return the text from an offset to the end of its line."""
        end = self.text.find("\n", offset)
        return self.text[offset : end if end >= 0 else len(self.text)]

    def _record_leftover(
        self, refused: RefusedConstruct, start: int, end: int = 0, refused_line: int = 0
    ) -> None:
        """Record the refused item at offsets ``start`` to ``end`` as a leftover."""
        text = self.text[start:end] if end else self._rest_of_line(start)
        self.builder.add_leftover(refused, self._line_of(start), text, refused_line)

    def finish(self) -> Document:
        """Finish the document. Raises: InputError if it has no ontology."""
        if self.state == "prologue":
            raise _not_functional_error(self.source, self.text, None)
        end = len(self.text)
        if self.item is not None:
            self._refuse_item(
                RefusedConstruct("the text ends inside this axiom: is the file cut short?"),
                Token("close", "", end, end),
            )
            self._end_item(end)
        elif self.state != "closed":
            self._record_leftover(
                RefusedConstruct(
                    "the text ends before the ontology is closed: is the file cut short?"
                ),
                end,
            )
        return self.builder.build(
            self.header[0] if self.header else "", self.header[1] if len(self.header) > 1 else ""
        )


def _not_functional_error(source: str, text: str, token: Token | None) -> InputError:
    """Error: the text is no ontology in functional-style syntax."""
    start = (
        f"it begins with {short_text(text[token.offset : token.offset + 40])!r}"
        if token
        else "it has no Ontology(...)"
    )
    return InputError(
        f"{source} is not an ontology in OWL 2 functional-style syntax: {start}",
        "Check the file and the format its name stands for; this syntax begins with Prefix(...) or Ontology(...).",
    )
