"""Names for people: what an IRI is called in a sentence.

>>> labels = Labels({"urn:v#Wellbore": "wellbore"})
>>> labels.name_of("urn:v#Wellbore"), labels.name_of("http://example.org/data/wellbore/7"), labels.name_of("_:i0.x")
('wellbore', 'wellbore/7', '_:x')
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from urllib.parse import unquote

from shiq.model import OWL, RDF, RDFS, XSD

#: What the vocabulary of the language itself is called.
_BUILT_IN = {
    OWL + "Thing": "thing",
    OWL + "Nothing": "nothing",
    RDFS + "Literal": "value",
    XSD + "string": "text",
}
_PREFIXES = {OWL: "owl:", RDF: "rdf:", RDFS: "rdfs:", XSD: "xsd:"}
_PIECES = re.compile(r"[^#/]+")
#: What readers make of the label of a blank node: before it the input, the snapshot where there is
#: one, and the file's number.
_SCOPED = re.compile(r"_:(?:[id](?:\d+\.)?|[at](?:\d+x)?)(\d+)x*\.(.+)")
_TELLING = re.compile(r"[^\W\d_]")


class Labels:
    """Readable names for IRIs: the label in ``known`` (rdfs:label, skos:prefLabel) if there is one,
    else the local name.

    ``terms``: IRIs that appear together, such as a vocabulary or the individuals of a conflict. If
        two of them would have the same name, each gets more of its IRI. Unprintable characters are
        replaced; nothing is escaped for any format.
    """

    def __init__(self, known: Mapping[str, str] | None = None, terms: Iterable[str] = ()) -> None:
        self.known: Mapping[str, str] = known or {}
        self._names: dict[str, str] = {}
        self._assign_names({*self.known, *terms})

    def name_of(self, iri: str) -> str:
        """Return the readable name of ``iri``; for a blank node, its label in the file."""
        found = self._names.get(iri)
        return self._name_with_pieces(iri, 1) if found is None else found

    def distinguish(self, terms: Iterable[str]) -> Labels:
        """Return labels extended so that ``terms`` get names distinct from each other and from
        those of all earlier terms.
        """
        more = {term for term in terms if term not in self._names}
        if not more:
            return self
        made = Labels.__new__(Labels)
        made.known, made._names = self.known, dict(self._names)
        made._assign_names(more)
        return made

    def _assign_names(self, terms: set[str]) -> None:
        """Give each of ``terms`` the shortest name that no other term has; record it here."""
        taken = set(self._names.values())
        open_ = sorted(terms)
        for pieces in (1, 2, 3):
            by_name: dict[str, list[str]] = {}
            for term in open_:
                by_name.setdefault(self._name_with_pieces(term, pieces), []).append(term)
            open_ = []
            for name, of_name in by_name.items():
                if len(of_name) == 1 and name not in taken:
                    self._names[of_name[0]] = name
                else:
                    open_ += of_name
            taken.update(by_name)
        for term in open_:
            self._names[term] = _replace_invisible(term)

    def _name_with_pieces(self, iri: str, pieces: int) -> str:
        """Name ``iri`` by its label or local name (``pieces`` = 1), with more pieces of its path
        added to make it distinct.
        """
        label = self.known.get(iri) or _BUILT_IN.get(iri)
        if label:
            label = " ".join(_replace_invisible(label).split())
            return label if pieces == 1 else f"{label} ({_last_pieces(iri, pieces)})"
        if iri.startswith("_:"):
            return _blank_node_name(iri, pieces)
        for namespace, prefix in _PREFIXES.items():
            if iri.startswith(namespace):
                return prefix + iri[len(namespace) :]
        return _last_pieces(iri, pieces)


def _blank_node_name(node: str, pieces: int) -> str:
    """Name a blank node by its label in its file; with ``pieces`` > 1 also by the number of the
    file.

    >>> _blank_node_name("_:i1.0.b", 1), _blank_node_name("_:i1.0.b", 2), _blank_node_name("_:b", 1)
    ('_:b', '_:b (of file 1)', '_:b')
    """
    scoped = _SCOPED.fullmatch(node)
    if scoped is None:
        return _replace_invisible(node)
    label = f"_:{_replace_invisible(scoped[2])}"
    return label if pieces == 1 else f"{label} (of file {int(scoped[1]) + 1})"


def _last_pieces(iri: str, pieces: int) -> str:
    """Return the last ``pieces`` pieces of the path of ``iri``; more, if none of these is a word."""
    path = iri.split("://", 1)[-1] if "://" in iri else iri
    found = _PIECES.findall(path)
    if not found:
        return _replace_invisible(iri)
    count = min(pieces, len(found))
    while count < len(found) and not _TELLING.search("".join(found[-count:])):
        count += 1
    name = "/".join(_decode_percent(piece) for piece in found[-count:])
    if "/" not in iri and "#" not in iri and ":" in name:
        name = ":".join(name.split(":")[-pieces:])
    return name


def _decode_percent(text: str) -> str:
    """Decode percent-encoding in an IRI's piece, if the result is valid text."""
    with suppress(UnicodeDecodeError):
        text = unquote(text, errors="strict")
    return _replace_invisible(text)


def _replace_invisible(text: str) -> str:
    """Replace characters that cannot be printed, for messages."""
    return "".join(
        c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text
    )
