"""Pieces of the page: facts and rules in words, each name with its IRI as title; sections."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from jobs.pages import escaped
from jobs.reports.report import FilePlace, StatedFact
from shiq.explanation import Labels, manchester, plainly
from shiq.explanation.parsed import TYPE, line_of, literal_of, term_of
from shiq.model import RDF, XSD

#: Facts shown of one side of a contradiction; characters of a value or a line; rows of a table.
FACTS: Final = 30
CHARACTERS: Final = 600
ROWS: Final = 200
#: Where to find what is not shown.
ELSEWHERE: Final = "the JSON (and the Parquet tables)"

_IRI = re.compile(r"<([^<>\s]+)>")
# Between the parts of a name; what an escape begins with is none.
_JOINTS = re.compile(r"(?<=\w)[/.#_:-](?=\w)")


def said(text: str, labels: Labels) -> str:
    """A triple in words, each name with its IRI as title."""
    line = line_of(text)
    if line is None:
        return f"<code>{escaped(short(text))}</code>"
    subject, value = term(line.subject, labels), term(line.object, labels)
    said = "is a" if line.predicate == TYPE else escaped(labels.of(term_of(line.predicate)))
    return f'{subject} <span class="by" title="{escaped(term_of(line.predicate))}"><bdi>{said}</bdi></span> {value}'


def iris_in(text: str) -> list[str]:
    """The IRIs in ``text`` that stand in angle brackets."""
    return _IRI.findall(text)


def with_names(text: str, labels: Labels) -> str:
    """``text`` with a name, and the IRI as its title, for each IRI in angle brackets."""
    pieces = _IRI.split(short(text))
    return "".join(
        term(f"<{piece}>", labels) if i % 2 else escaped(piece) for i, piece in enumerate(pieces)
    )


def term(text: str, labels: Labels) -> str:
    if not text.startswith('"'):
        iri = term_of(text)
        return f'<b class="term" title="{escaped(iri)}"><bdi>{breakable(labels.of(iri))}</bdi></b>'
    value = literal_of(text)
    datatype = "" if value.datatype in (XSD + "string", RDF + "langString") else value.datatype
    kind = (
        f' <span class="by" title="{escaped(datatype)}">({escaped(labels.of(datatype))})</span>'
        if datatype
        else ""
    )
    return f'<b class="term"><bdi>“{escaped(short(value.lexical))}”</bdi></b>{kind}'


def facts(facts: Sequence[StatedFact], labels: Labels) -> str:
    items = "".join(f"<li>{said(fact.text, labels)}{places(fact)}</li>" for fact in facts[:FACTS])
    return items + (f"<li>… {len(facts) - FACTS:,} more</li>" if len(facts) > FACTS else "")


def places(fact: StatedFact) -> str:
    if not fact.places:
        return ""
    names = ", ".join(escaped(place) for place in fact.places[:3]) + (
        " …" if len(fact.places) > 3 else ""
    )
    return f' <span class="where">{names}</span>'


def axioms(axioms: Sequence[str], labels: Labels) -> str:
    return "".join(f"<li>{_axiom(axiom, labels)}</li>" for axiom in axioms[:FACTS])


def _axiom(axiom: str, labels: Labels) -> str:
    """A plain sentence, and for those who know it the same in Manchester syntax."""
    said, exact = plainly(axiom, labels), manchester(axiom, labels)
    return escaped(short(said)) + (
        f'<br><small class="by">{escaped(short(exact))}</small>' if exact != said else ""
    )


def narrow(place: FilePlace) -> str:
    """The attribute of a cell that need not be broken."""
    return ' class="narrow"' if len(str(place)) <= 32 else ""


def breakable(name: str) -> str:
    """A name, escaped, that may be broken where its parts meet."""
    return _JOINTS.sub("\\g<0><wbr>", escaped(short(name)))


def short(text: str, most: int = CHARACTERS) -> str:
    """``text``, cut where it is long, between words if it can be."""
    if len(text) <= most:
        return text
    cut = text[: most - 1]
    return f"{cut[: at if (at := cut.rfind(' ')) > most // 2 else len(cut)]} …"


def section(name: str, title: str, html: str) -> str:
    """A section of the page, which a link may lead to."""
    return f'<section id="{name}" aria-labelledby="{name}-title"><h2 id="{name}-title">{title}</h2>{html}</section>'
