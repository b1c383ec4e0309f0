"""Rewrite JSON-LD text so that the parser cannot silently drop any part of it; see
`shiq.rdf.jsonld`.

Keys that no context defines get an IRI that begins with `UNMAPPED`. A text that cannot be an IRI is
replaced by a numbered IRI (`TEXT`): if it returns as a literal it was one, elsewhere it is an
error. Errors that neither shows are searched here: bad language tags, unknown keywords, repeated
keys.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox

from shiq.errors import InputError
from shiq.inputs.formats import decode_utf8
from shiq.rdf.triples import Rejects, Term, shorten_text

if TYPE_CHECKING:
    from shiq.inputs.catalog import Catalog

# Terms of a JSON-LD document by what any of its contexts defines them to be.


@dataclass
class JsonLdNames:
    """Names of a JSON-LD context by meaning: the aliases of keywords, and the terms with a language
    or index map.

    aliases: names of each keyword; of @value those of @list too
    scoped_terms: terms with a scoped context, which applies if they are a type
    """

    aliases: dict[str, set[str]] = field(
        default_factory=lambda: {
            **{key: {key} for key in ("@language", "@type", "@graph", "@set")},
            "@value": {"@value", "@list"},
        }
    )
    language_maps: set[str] = field(default_factory=set)
    index_maps: set[str] = field(default_factory=set)
    no_maps: set[str] = field(default_factory=set)  # in another context
    scoped_terms: set[str] = field(default_factory=set)

    def add_context(self, context: Mapping[str, Any]) -> None:
        """Add the definitions of a JSON-LD context."""
        terms = {
            key: value if isinstance(value, dict) else {"@id": value}
            for key, value in context.items()
            if key[:1] != "@"
        }
        meant = {key: parts.get("@id", parts.get("@reverse")) for key, parts in terms.items()}
        for names in self.aliases.values():
            # A term may be the other name of one that is defined later.
            while (
                new := {
                    key for key, name in meant.items() if isinstance(name, str) and name in names
                }
                - names
            ):
                names.update(new)
        maps = {"@language": self.language_maps, "@index": self.index_maps}
        for key, parts in terms.items():
            given = parts.get("@container")
            for container in given if isinstance(given, list) else [given]:
                maps.get(str(container), self.no_maps).add(key)
        self.scoped_terms |= {key for key, parts in terms.items() if "@context" in parts}

    def scoped_types(self, node: Mapping[str, Any]) -> list[str]:
        """Return the types of a node that bring a context of their own."""
        said = [node[key] for key in node if key in self.aliases["@type"]]
        names = [name for one in said for name in (one if isinstance(one, list) else [one])]
        return sorted({name for name in names if isinstance(name, str)} & self.scoped_terms)


UNMAPPED = "urn:x-shiq-unmapped:"
TEXT = "urn:x-shiq-text:"
#: Where relative IRIs end up that have no base.
NOWHERE = "x-shiq-nowhere://nowhere/"
#: Deeper documents are refused: pyoxigraph takes quadratic time for them.
DEEPEST = 256
_MOST_CONTEXTS = 1000
_WORDS = (
    "base container context default direction explicit graph id import included index json language list nest none prefix",
    "propagate protected reverse set type value version vocab",
)
_KEYWORDS = frozenset(f"@{word}" for words in _WORDS for word in words.split())
_TEXT = re.compile(re.escape(TEXT) + r"(\d+)\.")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_LABEL = re.compile(r"_:[A-Za-z0-9_](?:[A-Za-z0-9_.\-]*[A-Za-z0-9_\-])?")
_FIRST_SEGMENT = re.compile(r"[^/?#]*")


@dataclass(frozen=True, eq=False)
class RewrittenJson:
    """A JSON-LD document after rewriting, with the tables that map back to the original texts and
    lines.

    data: document for the parser
    texts: replaced texts, by number
    lines: first line of each text
    terms: original name of each renamed term
    """

    data: bytes
    texts: list[str]
    lines: Mapping[str, int]
    terms: Mapping[str, str]

    def line_of(self, subject: str, predicate: str, value: Term) -> int:
        """Return the line in the document where a term of the triple first occurs literally; 0 if
        none does.
        """
        for text in (subject, value if isinstance(value, str) else value.lexical, predicate):
            if text in self.lines:
                return self.lines[text]
        return 0

    def line_near(self, terms: str) -> int:
        """Return the line of the first replaced text that occurs in ``terms``; 0 if unknown."""
        for match in _TEXT.finditer(terms):
            return self.lines.get(self.texts[int(match[1])], 0)
        unmapped = re.search(re.escape(UNMAPPED) + r"([^>]*)", terms)
        return self.lines.get(self.terms.get(unmapped[1], unmapped[1]), 0) if unmapped else 0


def restore_texts(text: str, texts: list[str], *, as_json: bool = False) -> str:
    """Replace the placeholders in ``text`` by the original texts."""

    def original_text(match: re.Match[str]) -> str:
        """The original text at a placeholder."""
        found = texts[int(match[1])]
        return json.dumps(found, ensure_ascii=False)[1:-1] if as_json else found

    return _TEXT.sub(original_text, text)


def rewrite_json(
    name: str, data: bytes, rejects: Rejects, catalog: Catalog | None
) -> RewrittenJson:
    """Rewrite the JSON-LD document ``data`` for the parser. Raises: InputError (see
    `shiq.rdf.jsonld.read_json`).
    """
    text = decode_utf8(data, name)
    _check_depth(name, text)
    lines = _line_by_text(text)
    document = _JsonDocument(name, rejects, catalog, lines)
    tree = document.parse(text)
    tree = document.expand_contexts(tree)
    if document.is_no_document(tree):
        raise InputError(
            f"{name} is JSON, but no JSON-LD: it is neither an object nor a list of objects",
            "Check the file.",
        )
    document.check_nodes(tree)
    top = [
        document.replace_illegal_texts(_mark_undefined_keys(item), "")
        for item in (tree if isinstance(tree, list) else [tree])
    ]
    out: list[str] = []
    _write_json(top, out)
    terms = {name: term for term, name in document.renamed_terms.items()}
    return RewrittenJson(
        "".join(out).encode("utf-8", "surrogatepass"), document.texts, lines, terms
    )


def _check_depth(name: str, text: str) -> None:
    """Refuse a document that is nested too deeply. Raises: InputError."""
    depth = 0
    for match in re.finditer(r'"(?:[^"\\]|\\.)*"|[{}\[\]]', text):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(match[0], 0)
        if depth > DEEPEST:
            line = text.count("\n", 0, match.start()) + 1
            raise InputError(
                f"{name}, line {line}: JSON nested over {DEEPEST} levels deep",
                "Write it flat: as a list of nodes.",
            )


def _line_by_text(text: str) -> dict[str, int]:
    """Map each string of a JSON document to its first line."""
    found: dict[str, int] = {}
    line, at = 1, 0
    for match in _STRING.finditer(text):
        line += text.count("\n", at, match.start())
        at = match.start()
        found.setdefault(match[1] if "\\" not in match[1] else _decode_string(match[0]), line)
    return found


def _decode_string(token: str) -> str:
    """Decode a JSON string token; return it unchanged if it is none."""
    try:
        return str(json.loads(token))
    except ValueError:
        return token


class _NumberAsWritten(str):
    """A JSON number that keeps its text."""


def _mark_undefined_keys(tree: Any) -> Any:
    """Add a context to a document node by which keys without a definition get a marked IRI."""
    if not isinstance(tree, dict):
        return tree
    given = tree.get("@context", [])
    first = [{"@vocab": UNMAPPED}, *(given if isinstance(given, list) else [given])]
    return {"@context": first, **{key: value for key, value in tree.items() if key != "@context"}}


@dataclass
class _JsonDocument:
    """Rewriter of one JSON-LD document."""

    name: str
    rejects: Rejects
    catalog: Catalog | None
    lines: Mapping[str, int]
    texts: list[str] = field(default_factory=list)
    defined_terms: set[str] = field(default_factory=set)
    names: JsonLdNames = field(default_factory=JsonLdNames)
    renamed_terms: dict[str, str] = field(default_factory=dict)
    contexts: int = 0

    def reject(self, message: str, text: str) -> None:
        """Record a malformed passage, at the first line where ``text`` occurs."""
        self.rejects.add(message, self.lines.get(text, 0), text)

    # --- JSON -------------------------------------------------------------------------------------

    def parse(self, text: str) -> Any:
        """Parse JSON and record repeated keys. Raises: InputError."""
        try:
            return json.loads(
                text,
                object_pairs_hook=self._object_of_pairs,
                parse_int=self._parse_number,
                parse_float=self._parse_number,
                parse_constant=self._refuse_constant,
            )
        except json.JSONDecodeError as error:
            raise InputError(
                f"{self.name}, line {error.lineno}, column {error.colno}: not JSON: {error.msg}",
                "Check the file; is it cut short? Nothing of it was used.",
            ) from error
        except RecursionError as error:
            raise InputError(
                f"{self.name}: JSON nested too deeply", "Write it flat: as a list of nodes."
            ) from error

    def _object_of_pairs(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """Make a JSON object of its members; repeated keys are recorded as malformed."""
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            for key in sorted({key for key in keys if keys.count(key) > 1}):
                self.reject(
                    f"the key {shorten_text(key)!r} stands twice in one object, and only one of the values was read",
                    key,
                )
        return found

    def _parse_number(self, token: str) -> _NumberAsWritten:
        """Parse a number; one whose exact value JSON-LD does not keep is recorded as malformed."""
        try:
            exact = Decimal(repr(float(token))) == Decimal(token)
        except (OverflowError, InvalidOperation):
            exact = False
        if not exact:
            self.rejects.add(
                "a number that JSON-LD does not keep exactly",
                0,
                shorten_text(token),
                'write {"@value": "…", "@type": "xsd:…"} instead',
            )
        return _NumberAsWritten(token)

    def _refuse_constant(self, token: str) -> Any:
        """Refuse NaN and infinities. Raises: InputError."""
        raise InputError(
            f"{self.name}: {token} is no JSON",
            'Write {"@value": "' + token + '", "@type": "xsd:double"}.',
        )

    def is_no_document(self, tree: Any) -> bool:
        """Decide whether the parsed text is neither an object nor a list of objects, as JSON-LD
        requires.
        """
        return not isinstance(tree, dict | list) or (
            isinstance(tree, list) and not all(isinstance(x, dict) for x in tree)
        )

    # --- contexts ---------------------------------------------------------------------------------

    def expand_contexts(self, value: Any) -> Any:
        """Replace every context reference in ``value`` by its full definition, without constructs
        that hide keys.
        """
        if isinstance(value, list):
            return [self.expand_contexts(item) for item in value]
        if not isinstance(value, dict):
            return value
        return {
            key: self.full_context(item, ()) if key == "@context" else self.expand_contexts(item)
            for key, item in value.items()
        }

    def full_context(self, value: Any, within: tuple[str, ...]) -> list[Any]:
        """Return a context with all its references loaded, as a list of definitions. Raises:
        InputError.
        """
        self.contexts += 1
        if self.contexts > _MOST_CONTEXTS:
            raise InputError(
                f"{self.name}: over {_MOST_CONTEXTS} contexts",
                "Give it one context, at its beginning.",
            )
        if value is None:
            return [None, {"@vocab": UNMAPPED}]
        if isinstance(value, list):
            return [part for item in value for part in self.full_context(item, within)]
        if isinstance(value, str) and not isinstance(value, _NumberAsWritten):
            return self._catalog_context(value, within)
        if not isinstance(value, dict):
            raise InputError(f"{self.name}: {value!r} is no context", "A context is an object.")
        return [self._expand_definitions(value, within)]

    def _catalog_context(self, iri: str, within: tuple[str, ...]) -> list[Any]:
        """Load a context document by the catalog. Raises: InputError."""
        line = self.lines.get(iri, 0)
        place = f"{self.name}, line {line}" if line else self.name
        path = None if self.catalog is None else self.catalog.find(iri)
        if path is None:
            raise InputError(
                f"{place}: the context <{iri}> is somewhere else, and nothing is fetched",
                "Put the context into the document, or name its file in a catalog (--catalog).",
            )
        if iri in within or len(within) > 16:
            raise InputError(
                f"{place}: the context <{iri}> takes itself as a context",
                "Correct the contexts in the catalog.",
            )
        try:
            found = json.loads(
                path.read_text("utf-8-sig"),
                parse_int=_NumberAsWritten,
                parse_float=_NumberAsWritten,
            )
        except (OSError, ValueError, RecursionError) as error:
            raise InputError(
                f"{path}, the context <{iri}>, is not JSON: {error}", "Correct the catalog."
            ) from error
        if not isinstance(found, dict) or "@context" not in found:
            raise InputError(
                f"{path}, the context <{iri}>, has no key @context", "Correct the catalog."
            )
        return self.full_context(found["@context"], (*within, iri))

    def _expand_definitions(
        self, context: dict[str, Any], within: tuple[str, ...]
    ) -> dict[str, Any]:
        """Replace context references inside the term definitions of a context. Raises: InputError."""
        found = {}
        self.names.add_context(context)
        for key, value in context.items():
            if key == "@import":
                raise InputError(
                    f"{self.name}: @import in a context is not supported",
                    "Name both contexts in a list instead.",
                )
            if key == "@vocab" and value is None:
                value = UNMAPPED
            elif key == "@base" and value is None:
                value = NOWHERE
            elif key == "@language":
                self._check_tag(value)
            elif key in ("@vocab", "@base") and isinstance(value, str):
                self._check_iri(value)
            elif not key.startswith("@"):
                value = self._expand_definition(key, value, within)
            found[self._rename_term(key)] = value
        return found

    def _expand_definition(self, key: str, value: Any, within: tuple[str, ...]) -> Any:
        """Replace context references inside the definition of the term ``key``."""
        self.defined_terms.add(key)
        parts = value if isinstance(value, dict) else {"@id": value}
        for part in ("@id", "@type", "@reverse"):
            if isinstance(parts.get(part), str):
                self._check_iri(parts[part])
        if parts.get("@language") is not None:
            self._check_tag(parts["@language"])
        if isinstance(value, dict) and "@context" in value:
            return {**value, "@context": self.full_context(value["@context"], within)}
        return value

    def _rename_term(self, key: str) -> str:
        """Rename a term that cannot be an IRI, so that it is recognised where its definition does
        not apply.
        """
        if key.startswith("@") or _may_be_reference(key):
            return key
        return self.renamed_terms.setdefault(key, f"x-shiq-term-{len(self.renamed_terms)}")

    def _check_iri(self, text: str) -> None:
        """Record a text that cannot be an IRI as malformed."""
        if text not in _KEYWORDS and (text.startswith("_:") or not _may_be_reference(text)):
            self.reject(
                f"{shorten_text(text)!r} stands in a context where an IRI is meant, and is none",
                text,
            )

    def _check_tag(self, tag: Any) -> None:
        """Record a text that is no language tag as malformed."""
        if tag is None or tag == "@none":
            return
        try:
            ox.Literal("", language=tag)
        except (ValueError, TypeError):
            self.reject(f"{shorten_text(str(tag))!r} is no language tag", str(tag))

    # --- nodes ------------------------------------------------------------------------------------

    def check_nodes(self, value: Any) -> None:
        """Record literals and lists where a node is expected as malformed; the parser would drop
        them.
        """
        if isinstance(value, list):
            for item in value:
                self.check_nodes(item)
        elif isinstance(value, dict):
            for key, item in value.items():
                if key in self.names.aliases["@value"] and item is not None:
                    self._reject_value(item)
                elif key in self.names.aliases["@set"]:
                    self.check_nodes(item)
        elif value is not None:
            self._reject_value(value)

    def _reject_value(self, value: Any) -> None:
        """Record a value where a node is expected as malformed."""
        out: list[str] = []
        _write_json(value, out)
        text = value if isinstance(value, str) else "".join(out)
        self.reject(
            f"{shorten_text(text)!r} stands where a node is meant, and is said of nothing", text
        )

    def replace_illegal_texts(self, value: Any, key: str) -> Any:
        """Replace all texts inside ``value`` that cannot be an IRI by placeholders; ``key`` is the
        key that holds it.
        """
        if key in self.names.aliases["@graph"] and not isinstance(value, list):
            self.check_nodes(value)
        if isinstance(value, dict):
            if len(bringing := self.names.scoped_types(value)) > 1:
                # The parser applies the last one alone.
                self.reject(
                    f"the types {' and '.join(bringing)} both bring a context along: not supported",
                    bringing[0],
                )
            if key in self.names.language_maps - self.names.no_maps:
                for tag in value:
                    if tag not in self.defined_terms:
                        self._check_tag(tag)
            elif key not in self.names.index_maps - self.names.no_maps:
                for name in value:
                    self._check_key(name)
            return {
                self.renamed_terms.get(name, name): item
                if name == "@context"
                else self.replace_illegal_texts(item, name)
                for name, item in value.items()
            }
        if isinstance(value, list):
            return [self.replace_illegal_texts(item, key) for item in value]
        if isinstance(value, _NumberAsWritten) or not isinstance(value, str):
            return value
        if key in self.names.aliases["@language"]:
            self._check_tag(value)
            return value
        if any("\ud800" <= c <= "\udfff" for c in value):
            value = value.encode("utf-8", "replace").decode("utf-8")
            self.reject("a text with half of a surrogate pair: not Unicode", value)
        if (key in self.names.aliases["@type"] and value in _KEYWORDS) or _may_be_reference(value):
            return value
        self.texts.append(value)
        return f"{TEXT}{len(self.texts) - 1}."

    def _check_key(self, key: str) -> None:
        """Record a key that no context defines as malformed."""
        if key.startswith("@"):
            if key not in _KEYWORDS:
                self.reject(f"there is no keyword {shorten_text(key)}", key)
        elif key not in self.renamed_terms and (key.startswith("_:") or not _may_be_reference(key)):
            self.reject(f"no context says what {shorten_text(key)!r} means, and it is no IRI", key)


def _may_be_reference(text: str) -> bool:
    """Decide whether ``text`` can be an absolute, relative or compact IRI, or a blank node."""
    if text.startswith("@") or TEXT in text or UNMAPPED in text:
        return False
    if text.startswith("_:"):
        return _LABEL.fullmatch(text) is not None
    segment = _FIRST_SEGMENT.match(text)
    whole = (
        text
        if segment and ":" in segment[0]
        else f"http:{text}"
        if text.startswith("//")
        else f"urn:{text}"
    )
    try:
        ox.NamedNode(whole)
    except ValueError:
        return False
    return True


# --- writing -------------------------------------------------------------------------------------


def _write_json(value: Any, out: list[str]) -> None:
    """Append the JSON text of a value to ``out``, with numbers as written."""
    if isinstance(value, dict):
        _write_members(
            "{", "}", ((f"{json.dumps(key)}:", item) for key, item in value.items()), out
        )
    elif isinstance(value, list):
        _write_members("[", "]", (("", item) for item in value), out)
    elif isinstance(value, _NumberAsWritten):
        out.append(value)
    else:
        out.append(json.dumps(value))


def _write_members(
    opening: str, closing: str, items: Iterator[tuple[str, Any]], out: list[str]
) -> None:
    """Append the JSON text of the members of an object or list to ``out``."""
    out.append(opening)
    for i, (begin, item) in enumerate(items):
        out.append(("," if i else "") + begin)
        _write_json(item, out)
    out.append(closing)
