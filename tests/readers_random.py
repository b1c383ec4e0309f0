"""Random RDF/XML and Turtle, read by us, by pyoxigraph and by rdflib: the same triples, up to
the names of blank nodes.

    python -m tests.readers_random 1000 [FIRST_SEED]

Where a library differs it must be wrong by the grammar: `FAULTS` names what it gets wrong, by
the oddity of the document; a difference without one of these is an error. Broken Turtle is
compared with its statements read one by one.
"""

from __future__ import annotations

import logging
import re
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from xml.etree.ElementTree import ParseError, canonicalize

import pyoxigraph as ox

from shiq.errors import InputError
from shiq.inputs.sources import FileSource, classify_input
from shiq.model import RDF, XSD, Literal
from shiq.rdf.triples import BLANK, Rejects, Triples, number_labels
from shiq.rdf.turtle import read_turtle
from shiq.rdf.xml import read_xml
from tests.documents_random import BASE, RdfXml, Turtle

#: By reader and oddity: what it does with it against RDF 1.1 XML Syntax, or XML.
FAULTS = {
    ("pyoxigraph", "other parse type"): "drops the element (7.2.20)",
    ("pyoxigraph", "line break in attribute"): "keeps it, where XML 3.3.3 has a space",
    (
        "pyoxigraph",
        "comment in text",
    ): "refuses or splits the text; the infoset has no comments (6.1)",
    ("pyoxigraph", "instruction in text"): "the same for processing instructions",
    ("pyoxigraph", "no language"): 'refuses xml:lang=""',
    (
        "pyoxigraph",
        "unqualified",
    ): "refuses rdf:about and its like without a namespace, which 6.1.4 requires",
    ("pyoxigraph", "CDATA"): "refuses it behind white space",
    (
        "pyoxigraph",
        "type alone",
    ): "drops rdf:type where it is the only attribute of an empty property (7.2.21)",
    ("pyoxigraph", "XML literal"): "writes a declaration of xmlns twice, which is no XML",
    ("pyoxigraph", "relative base"): "refuses xml:base that is relative, which XML Base 3.1 has",
    ("pyoxigraph", "empty XML literal"): "refuses an XML literal without content",
    ("rdflib", "other parse type"): "writes the markup without its namespaces, or ends it early",
    ("rdflib", "comment in text"): "reads on, but drops comments in XML literals",
    ("rdflib", "XML literal"): "writes markup in its own way, white space and namespaces differ",
    ("rdflib", "empty XML literal"): "the same",
    ("rdflib", "blank in collection"): "makes nodes of its own",
    ("rdflib", "datatype and nothing"): "forgets the datatype of an empty property",
    ("rdflib", "relative datatype"): "leaves it as it is, where 7.2.16 resolves it",
    (
        "rdflib",
        "relative type",
    ): "leaves it as it is, where 7.2.11 and 7.2.21 resolve the value of rdf:type",
    (
        "rdflib",
        "base without path",
    ): "leaves relative IRIs as they are, where RFC 3986 resolves them against any base",
    ("rdflib", "number"): "keeps the value of a number in Turtle, not its form",
}
# --- readers -------------------------------------------------------------------------------------


def _literal(lexical: str, datatype: str, language: str) -> ox.Literal:
    if datatype == RDF + "XMLLiteral":
        lexical = re.sub(r"<!--.*?-->|<\?.*?\?>", "", lexical, flags=re.DOTALL)
        with suppress(ParseError):
            lexical = (
                canonicalize(f"<r>{lexical}</r>", rewrite_prefixes=True)
                if "<" in lexical
                else lexical
            )
        return ox.Literal(lexical, datatype=ox.NamedNode(datatype))
    return (
        ox.Literal(lexical, language=language.lower())
        if language
        else ox.Literal(lexical, datatype=ox.NamedNode(datatype))
    )


def _node(name: str, *, blank: bool) -> ox.NamedNode | ox.BlankNode:
    return ox.BlankNode(re.sub(r"[^A-Za-z0-9]", "x", name)) if blank else ox.NamedNode(name)


def canonical(quads: Iterable[ox.Quad]) -> frozenset[str]:
    """The triples with blank nodes named by what is said of them."""
    dataset = ox.Dataset(quads)
    dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return frozenset(str(quad) for quad in dataset)


def ours(source: FileSource, *, turtle: bool = False) -> tuple[list[ox.Quad], int]:
    """The triples that we read, and how many places were refused."""
    triples, rejects = Triples(), Rejects("x")
    triples.begin_source("x")
    with_base = _Based(**vars(source))
    try:
        (read_turtle if turtle else read_xml)(with_base, triples, number_labels("s"), rejects)
    except InputError:
        return [], 1
    terms = [
        _literal(term.lexical, term.datatype, term.language)
        if isinstance(term, Literal)
        else _node(term, blank=triples.kinds[i] == BLANK)
        for i, term in enumerate(triples.terms)
    ]
    rows = zip(triples.subject, triples.predicate, triples.object)
    return [ox.Quad(terms[s], terms[p], terms[o]) for s, p, o in rows], rejects.total  # type: ignore[arg-type]


class _Based(FileSource):
    @property
    def iri(self) -> str:
        return BASE


def oxigraph(text: str, format: ox.RdfFormat) -> list[ox.Quad] | None:
    try:
        quads = list(ox.parse(text.encode(), format=format, base_iri=BASE))
    except SyntaxError:
        return None
    return [
        ox.Quad(q.subject, q.predicate, _literal(o.value, o.datatype.value, o.language or ""))
        if isinstance(o := q.object, ox.Literal)
        else q
        for q in quads
    ]


def rdflib_quads(text: str, format: str) -> list[ox.Quad] | None:
    import rdflib

    logging.disable(logging.CRITICAL)
    normalize, rdflib.NORMALIZE_LITERALS = rdflib.NORMALIZE_LITERALS, False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            graph = rdflib.Graph().parse(data=text.encode(), format=format, publicID=BASE)
            return [ox.Quad(*(_of_rdflib(term) for term in row)) for row in graph]  # type: ignore[arg-type]
    except Exception:  # whatever it raises, it refuses
        return None
    finally:
        rdflib.NORMALIZE_LITERALS = normalize
        logging.disable(logging.NOTSET)


def _of_rdflib(term: object) -> ox.NamedNode | ox.BlankNode | ox.Literal:
    kind = type(term).__name__
    if kind == "Literal":
        return _literal(
            str(term),
            str(getattr(term, "datatype", None) or XSD + "string"),
            getattr(term, "language", None) or "",
        )
    return _node(str(term), blank=kind == "BNode")


# --- comparisons ---------------------------------------------------------------------------------


def differences(seed: int, folder: Path) -> tuple[list[str], Counter[str]]:
    """What is not explained in the documents of one seed, and what is, counted."""
    explained: Counter[str] = Counter()
    found = [*compare_xml(seed, folder, explained), *compare_turtle(seed, folder, explained)]
    return found, explained


def compare_xml(seed: int, folder: Path, explained: Counter[str]) -> Iterable[str]:
    sample = RdfXml(seed).sample()
    path = folder / "a.rdf"
    path.write_text(sample.text, encoding="utf-8")
    quads, refused = ours(classify_input(path))  # type: ignore[arg-type]
    mine = canonical(quads)
    if bool(refused) != bool(sample.illegal):
        yield f"seed {seed}: we refuse {refused}, and illegal is {sample.illegal!r}"
    readers: dict[str, Callable[[], list[ox.Quad] | None]] = {
        "pyoxigraph": lambda: oxigraph(sample.text, ox.RdfFormat.RDF_XML),
        "rdflib": lambda: rdflib_quads(sample.text, "xml"),
    }
    for name, read in readers.items():
        other = read()
        if sample.illegal:
            explained[f"{name}: {'refuses' if other is None else 'reads'} what is illegal"] += 1
            continue
        if other is not None and canonical(other) == mine:
            explained[f"{name}: the same"] += 1
            continue
        reasons = sorted(oddity for oddity in sample.oddities if (name, oddity) in FAULTS)
        if not reasons:
            yield f"seed {seed}: {name} {'refuses' if other is None else 'differs'}; {sorted(sample.oddities)}"
        explained[f"{name}: {reasons[0] if reasons else 'not explained'}"] += 1


def compare_turtle(seed: int, folder: Path, explained: Counter[str]) -> Iterable[str]:
    sample = Turtle(seed).sample()
    assert sample.expected is not None
    path = folder / "a.ttl"
    path.write_text(sample.text, encoding="utf-8")
    quads, refused = ours(classify_input(path), turtle=True)  # type: ignore[arg-type]
    mine = canonical(quads)
    if sample.illegal:
        if not refused:
            yield f"seed {seed}: broken Turtle is not refused"
        explained["broken Turtle"] += 1
        yield from _strangers(seed, quads, sample.expected)
        return
    if refused:
        yield f"seed {seed}: we refuse Turtle"
    for name, other in (
        ("pyoxigraph", oxigraph(sample.text, ox.RdfFormat.TURTLE)),
        ("rdflib", rdflib_quads(sample.text, "turtle")),
    ):
        if other is not None and canonical(other) == mine:
            explained[f"{name}: the same Turtle"] += 1
        elif (name, "number") in FAULTS and "number" in sample.oddities:
            explained[f"{name}: number in Turtle"] += 1
        else:
            yield f"seed {seed}: {name} {'refuses' if other is None else 'differs'} in Turtle"


def _strangers(seed: int, quads: Iterable[ox.Quad], expected: Iterable[ox.Quad]) -> Iterable[str]:
    """Triples read that no statement means by itself; blank nodes count as one."""

    def masked(quad: ox.Quad) -> tuple[str, ...]:
        return tuple(
            "_" if isinstance(term, ox.BlankNode) else str(term)
            for term in (quad.subject, quad.predicate, quad.object)
        )

    known = {masked(ox.Quad(q.subject, q.predicate, q.object)) for q in expected}
    lost = known - {masked(q) for q in quads}
    # What is said of two nodes without a name depends on how much of a broken statement its parser
    # has given by then.
    if strange := {m for m in map(masked, quads) if m[0] != "_" or m[2] != "_"} - known:
        yield f"seed {seed}: {len(strange)} triples that nothing says: {sorted(strange)[0]}"
    if len(lost) == len(known) and len(known) > 10:
        yield f"seed {seed}: all {len(known)} triples are lost"


def main(arguments: list[str]) -> int:
    count, first = int(arguments[0]), int(arguments[1]) if len(arguments) > 1 else 0
    total: Counter[str] = Counter()
    unexplained = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            found, explained = differences(seed, Path(folder))
            total += explained
            unexplained += len(found)
            for line in found:
                print(line)
    for name, number in sorted(total.items()):
        print(f"{number:7,} {name}")
    print(f"{2 * count:,} documents, {unexplained} differences without an explanation")
    return bool(unexplained)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
