"""From the triples of events to assertions: each text is read once for as long as some snapshot
has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from io import BytesIO

from shiq import model as owl
from shiq.errors import InputError
from shiq.rdf.lines import read_lines
from shiq.rdf.triples import IRI, LITERAL, Triples
from shiq.rdf.triples import Rejects as BrokenLines

_TYPE, _SAME, _DIFFERENT = owl.RDF + "type", owl.OWL + "sameAs", owl.OWL + "differentFrom"
_ANNOTATIONS = {owl.RDFS + name for name in ("label", "comment", "seeAlso", "isDefinedBy")}
#: Texts are forgotten when there are so many.
_MANY = 2_000_000


class Refusal(str):
    """Why a triple was not used; ``kind`` is one of `shiq.verdict.KINDS`."""

    kind = "malformed"


@dataclass
class AssertionIntake:
    """Assertions over a ``signature``, by text; None: an annotation, which says nothing here."""

    signature: owl.Signature
    known: dict[str, owl.Assertion | Refusal | None] = field(default_factory=dict)

    def assertions(
        self, texts: Sequence[str], tell: Callable[[str, str, str], None]
    ) -> list[owl.Assertion]:
        """What N-Triples statements assert; ``tell`` hears of those that are not used: the kind,
        why, the text.
        """
        known = self.known
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            if len(known) > _MANY:
                known.clear()
                new = list(dict.fromkeys(texts))
            self._read(new)
        found = []
        for text in texts:
            value = known[text]
            if isinstance(value, Refusal):
                tell(value.kind, str(value), text)
            elif value is not None:
                found.append(value)
        return found

    def _read(self, texts: Sequence[str]) -> None:
        whole = [
            text if "\n" not in text and "\r" not in text else "several lines" for text in texts
        ]
        triples, broken = Triples(), BrokenLines("")
        triples.begin("")
        try:
            read_lines(
                BytesIO("\n".join(whole).encode("utf-8", "surrogatepass")), triples, "e", broken
            )
        except InputError as error:
            if not broken.total:
                raise error
        for text in texts:
            self.known[text] = Refusal("a triple is expected")
        for leftover in broken.whole:
            self.known[texts[leftover.line - 1]] = Refusal(leftover.message)
        for row, line in enumerate(triples.line):
            self.known[texts[line - 1]] = self._assertion(triples, row)

    def _assertion(self, triples: Triples, row: int) -> owl.Assertion | Refusal | None:
        subject, predicate = (
            str(triples.terms[triples.subject[row]]),
            str(triples.terms[triples.predicate[row]]),
        )
        value, kind = triples.terms[triples.object[row]], triples.kinds[triples.object[row]]
        signature = self.signature
        if predicate in signature.data_properties:
            if isinstance(value, owl.Literal):
                return owl.DataPropertyAssertion(owl.DataProperty(predicate), subject, value)
            return _refused(f"<{predicate}> is a data property: its value is a literal")
        if predicate in signature.annotation_properties or predicate in _ANNOTATIONS:
            return None
        if kind == LITERAL and (
            predicate in (_TYPE, _SAME, _DIFFERENT) or predicate in signature.object_properties
        ):
            return _refused(f"<{predicate}> has no literals as values")
        if predicate in signature.object_properties:
            return owl.ObjectPropertyAssertion(owl.ObjectProperty(predicate), subject, str(value))
        if predicate == _TYPE:
            return self._class(str(value), kind, subject)
        if predicate == _SAME:
            return owl.SameIndividual(subject, str(value))
        if predicate == _DIFFERENT:
            return owl.DifferentIndividuals(subject, str(value))
        if predicate.startswith((owl.RDFS, owl.OWL)):
            return _refused("an axiom among events: the TBox stands", "tbox-axiom")
        return _refused(f"the TBox does not know the property <{predicate}>", "undeclared")

    def _class(self, name: str, kind: int, subject: str) -> owl.Assertion | Refusal | None:
        if kind == IRI and (name in self.signature.classes or name == owl.NOTHING.iri):
            return owl.ClassAssertion(owl.Class(name), subject)
        if name in (owl.THING.iri, owl.OWL + "NamedIndividual"):
            return None
        if kind != IRI:
            return _refused("a class of an event is a name", "outside-shiq")
        if name.startswith((owl.RDFS, owl.OWL)):
            return _refused("an axiom among events: the TBox stands", "tbox-axiom")
        return _refused(f"the TBox does not know the class <{name}>", "undeclared")


def _refused(reason: str, kind: str = "malformed") -> Refusal:
    found = Refusal(reason)
    found.kind = kind
    return found


def texts_of(assertions: Iterable[owl.Assertion]) -> list[str]:
    """``assertions`` as statements that `AssertionIntake` reads: what saved snapshots consist of."""
    from shiq.ntriples import assertion_lines

    return [line for assertion in assertions for line in assertion_lines(assertion)]
