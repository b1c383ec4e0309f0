"""Tokens of OWL 2 functional-style syntax (structural specification, section 2.2).

Where the text is no terminal, an `error` token covers what is skipped, so that reading can go on
behind it.

>>> [(token.kind, token.text) for token in tokens('SubClassOf(:A "x"@en) # a comment')]
[('call', 'SubClassOf'), ('name', ':A'), ('literal', 'x'), ('close', ')')]
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from shiq import model as owl
from shiq.functional.arguments import Iri, RefusedConstruct


class Token(NamedTuple):
    """A token of functional-style syntax.

    kind: ``call`` (a keyword with its opening parenthesis), ``open``, ``close``, ``equals``,
        ``iri``, ``name`` (an abbreviated IRI), ``blank``, ``literal``, ``integer``, ``word`` or
        ``error``
    text: an IRI without brackets; the lexical form of a literal; the message of an error
    suffix: ``@tag`` of a literal, or ``^^`` and its datatype as written
    """

    kind: str
    text: str
    offset: int
    end: int
    suffix: str = ""


_BASE = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f"
    "\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_CHARS = _BASE + "_0-9\u00b7\u0300-\u036f\u203f-\u2040\\-"
_PERCENT = "%[0-9A-Fa-f]{2}"
_PREFIX = rf"(?:[{_BASE}](?:[{_CHARS}.]*[{_CHARS}])?)?:"
_LOCAL = (
    rf"(?:[{_BASE}_0-9:]|{_PERCENT})(?:(?:[{_CHARS}.:]|{_PERCENT})*(?:[{_CHARS}:]|{_PERCENT}))?"
)
_NAME = rf"{_PREFIX}(?:{_LOCAL})?"
#: An absolute IRI, the label of a blank node, and a language tag, as patterns.
IRI = r'[A-Za-z][A-Za-z0-9+.\-]*:[^<>"{}|^`\\\x00-\x20]*'
BLANK_LABEL = rf"[{_BASE}_0-9](?:[{_CHARS}.]*[{_CHARS}])?"
LANGUAGE = r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*"
_IRI = f"<{IRI}>"
_GAP = r"(?:\s|\#[^\n\r]*(?:[\n\r]|\Z))*"

_SKIP = re.compile(_GAP)
_CARETS = re.compile(rf"{_GAP}(?:\^\^|@)", re.VERBOSE)
_ESCAPE = re.compile(r'\\(["\\])')
_BROKEN_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_BROKEN_REST = re.compile(r"[^\n\r]+")
_BROKEN_IRI = re.compile(r"<[^<>\s()]*>?")
_BROKEN_WORD = re.compile(r'[^\s()<>"]+|.', re.DOTALL)


# Compiled when first used: these two take a good part of the time that a process needs to start,
# and most read no such syntax.


@cache
def _token_pattern() -> re.Pattern[str]:
    """Compile the regular expression of a token."""
    return re.compile(
        rf"""
        (?P<call>[A-Za-z][A-Za-z0-9]*)(?!:){_GAP}\(
        | (?P<open>\() | (?P<close>\)) | (?P<equals>=)
        | (?P<iri>{_IRI})
        | (?P<blank>_:{BLANK_LABEL})
        | (?P<name>{_NAME})
        | (?P<literal>"[^"\\]*(?:\\["\\][^"\\]*)*")
        | (?P<integer>[0-9]+)
        | (?P<word>[A-Za-z][A-Za-z0-9]*)
        """,
        re.VERBOSE,
    )


@cache
def _suffix_pattern() -> re.Pattern[str]:
    """Compile the regular expression of a literal's language tag or datatype."""
    return re.compile(rf"{_GAP}(?:(@{LANGUAGE}(?![\w-]))|(\^\^){_GAP}({_IRI}|{_NAME}))", re.VERBOSE)


def tokens(text: str, position: int = 0) -> Iterator[Token]:
    """Yield the tokens of ``text`` from ``position`` on, without white space and comments. Never
    fails: see `Token`.
    """
    position = _SKIP.match(text, position).end()  # type: ignore[union-attr]  # _GAP matches the empty string
    while position < len(text):
        token = _match_token(text, position)
        yield token
        position = _SKIP.match(text, token.end).end()  # type: ignore[union-attr]


def _match_token(text: str, position: int) -> Token:
    """Read the token at ``position``; an error token if there is none."""
    match = _token_pattern().match(text, position)
    if match is None:
        return _error_token(text, position)
    kind = match.lastgroup or ""
    content = match.group(kind)
    if kind == "iri":
        content = content[1:-1]
    elif kind == "literal":
        lexical = _ESCAPE.sub(r"\1", content[1:-1])
        suffix = _suffix_pattern().match(text, match.end())
        if suffix is not None:
            return Token(kind, lexical, position, suffix.end(), suffix[1] or suffix[2] + suffix[3])
        if (carets := _CARETS.match(text, match.end())) is not None:
            return Token(
                "error",
                "a literal whose datatype or language tag is broken",
                position,
                carets.end(),
            )
        return Token(kind, lexical, position, match.end())
    return Token(kind, content, position, match.end())


def _error_token(text: str, position: int) -> Token:
    """Make an error token at ``position``, over the text to skip."""
    if text[position] == '"':
        if (match := _BROKEN_STRING.match(text, position)) is not None:
            return Token(
                "error", r"a string with an escape other than \" and \\", position, match.end()
            )
        end = _BROKEN_REST.match(text, position).end()  # type: ignore[union-attr]  # at least the quote
        return Token("error", "a string that is never closed", position, end)
    if text[position] == "<":
        end = _BROKEN_IRI.match(text, position).end()  # type: ignore[union-attr]  # at least the bracket
        return Token("error", f"{text[position:end]!r} is not an absolute IRI", position, end)
    end = _BROKEN_WORD.match(text, position).end()  # type: ignore[union-attr]  # any character
    return Token("error", f"{text[position:end]!r} is no terminal of the syntax", position, end)


# Prefixes of a document in functional-style syntax, and the IRIs and literals that use them.


_PREDEFINED = {"owl:": owl.OWL, "rdf:": owl.RDF, "rdfs:": owl.RDFS, "xsd:": owl.XSD}


class Prefixes:
    """Declared prefixes, with their colon, and their namespaces; "" for a prefix declared twice
    differently.
    """

    def __init__(self) -> None:
        self.namespaces: dict[str, str] = {}

    def resolve(self, kind: str, text: str) -> str:
        """Return the IRI of a token of ``kind`` "iri" or "name". Raises: RefusedConstruct."""
        if kind == "iri":
            return text
        prefix, _, local = text.partition(":")
        namespace = self.namespace(prefix)
        if not local or ":" in local:
            # Other readers take a name with two colons for two names.
            raise RefusedConstruct(
                f"{text} is no abbreviated name", hint=f"write <{namespace}{local}>"
            )
        return namespace + local

    def namespace(self, prefix: str) -> str:
        """Return the namespace of ``prefix``, given without its colon. Raises: RefusedConstruct."""
        namespace = self.namespaces.get(prefix + ":", _PREDEFINED.get(prefix + ":"))
        if not namespace:
            raise RefusedConstruct(
                f"the prefix {prefix}: {'is not declared' if namespace is None else 'stands for two IRIs'}"
            )
        return namespace

    def literal(self, token: Token) -> owl.Literal:
        """Return the literal of ``token``. Raises: RefusedConstruct."""
        if "\0" in token.text:
            raise RefusedConstruct("a literal with the character U+0000")
        if not token.suffix:
            return owl.Literal(token.text)
        if token.suffix.startswith("@"):
            return owl.Literal(token.text, owl.RDF + "langString", token.suffix[1:].lower())
        datatype = token.suffix[2:]
        full = datatype.startswith("<")
        iri = self.resolve("iri" if full else "name", datatype[1:-1] if full else datatype)
        if iri in (owl.RDF + "langString", owl.RDF + "dirLangString"):
            raise RefusedConstruct("a literal of datatype rdf:langString without a language tag")
        return owl.Literal(token.text, iri)

    def declare_as_written(self, arguments: list[object]) -> None:
        """Declare a prefix by the ``arguments`` of Prefix(...). Raises: RefusedConstruct."""
        match arguments:
            case [Token(text=name), "=", Iri() as iri] if name.find(":") == len(name) - 1:
                self.declare(name, str(iri))
            case _:
                raise RefusedConstruct("a prefix is declared as Prefix(name:=<IRI>)")

    def declare(self, name: str, iri: str) -> None:
        """Declare the prefix ``name``, given with its colon. Raises: RefusedConstruct."""
        known = self.namespaces.get(name, _PREDEFINED.get(name, iri))
        if known != iri:
            self.namespaces[name] = ""
            raise RefusedConstruct(f"the prefix {name} stands for <{known}> already")
        self.namespaces[name] = iri
