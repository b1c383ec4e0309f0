"""Ontology and N-Triples together as functional-style syntax, for peers that read no N-Triples."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from shiq.functional import ontology_text
from shiq.model import OWL, RDF
from shiq.reading import Reading

_LINE = re.compile(
    r'\s*(<[^<>"{}|^`\s]+>|_:\S+)\s+(<[^<>"{}|^`\s]+>)\s+(<[^<>"{}|^`\s]+>|_:\S+|".*)\s*\.\s*'
)
_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"(?:\^\^(<[^<>\s]+>)|(@[A-Za-z0-9-]+))?')
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")
_SHORT = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}
_TYPE, _SAME, _DIFFERENT = f"<{RDF}type>", f"<{OWL}sameAs>", f"<{OWL}differentFrom>"


def write_document(target: Path, ontology: Reading, triples: Iterable[Path]) -> int:
    """Writes the TBox and assertions of ``ontology`` and the N-Triples files to ``target``.

    Returns how many lines were left out: no triples, or with a predicate that the ontology does
    not know.
    """
    signature = ontology.tbox.signature
    object_properties = frozenset(f"<{iri}>" for iri in signature.object_properties)
    data_properties = frozenset(f"<{iri}>" for iri in signature.data_properties)
    head = ontology_text(ontology.tbox.axioms, ontology.abox).rstrip()
    assert head.endswith(")")
    left_out = 0
    with target.open("w", encoding="utf-8") as file:
        file.write(head[:-1])
        # A property that no axiom of the TBox mentions still needs its declaration.
        for kind, properties in (
            ("ObjectProperty", object_properties),
            ("DataProperty", data_properties),
        ):
            file.writelines(f"Declaration({kind}({iri}))\n" for iri in sorted(properties))
        for line in _lines(triples):
            written = assertion(line, object_properties, data_properties)
            if written:
                file.write(written + "\n")
            else:
                left_out += 1
        file.write(")\n")
    return left_out


def _lines(paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        with path.open(encoding="utf-8") as file:
            yield from (line for line in file if line.strip() and not line.startswith("#"))


def assertion(line: str, object_properties: frozenset[str], data_properties: frozenset[str]) -> str:
    """One N-Triples line in functional syntax; "" for what is none, or has an unknown predicate.

    >>> assertion('<urn:a> <urn:f> "1" .', frozenset(), frozenset(["<urn:f>"]))
    'DataPropertyAssertion(<urn:f> <urn:a> "1")'
    """
    found = _LINE.fullmatch(line)
    if found is None:
        return ""
    s, p, o = found.groups()
    o = o.rstrip()
    if o.startswith('"'):
        literal = _LITERAL.fullmatch(o)
        if literal is None or p not in data_properties:
            return ""
        lexical, datatype, tag = literal.groups()
        return f'DataPropertyAssertion({p} {s} "{_functional(lexical)}"{f"^^{datatype}" if datatype else tag or ""})'
    if p == _TYPE:
        return f"ClassAssertion({o} {s})"
    if p == _SAME:
        return f"SameIndividual({s} {o})"
    if p == _DIFFERENT:
        return f"DifferentIndividuals({s} {o})"
    return f"ObjectPropertyAssertion({p} {s} {o})" if p in object_properties else ""


def _functional(lexical: str) -> str:
    """The inside of an N-Triples literal with the two escapes that functional syntax has."""
    if "\\" not in lexical:
        return lexical
    text = _ESCAPE.sub(_character, lexical)
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _character(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    return chr(int(code, 16)) if code else _SHORT.get(found[3], found[3])
