"""Ontologies that HermiT is asked about one after the other: what they have in common is sent
and parsed once.
"""

from __future__ import annotations

from collections.abc import Sequence

from shiq.datatypes import DataTheory
from shiq.model import Assertion, Axiom, DatatypeDefinition
from shiq.reasoner.proxied import OpaqueData, ill_typed_refuted, opaque_in, proxied
from shiq.reasoner.sending import OntologyText, document, sendable
from shiq.reasoner.structure import data_of
from shiq.roles import role_box


class CommonOntology:
    """The part that the ontologies have had in common so far, as one text. It is written anew
    where one lacks some of it: the first may have had what was its own.
    """

    def __init__(self) -> None:
        self._values: frozenset[Axiom | Assertion] = frozenset()
        self._text: OntologyText | None = None

    def texts(
        self, axioms: Sequence[Axiom], assertions: Sequence[Assertion]
    ) -> tuple[OntologyText, ...]:
        """``axioms``, inclusions as `clause_axioms` makes them, and ``assertions``: what is in
        common, and the rest. Raises: Unsendable; OpaqueData, where it takes more than one
        question to deal with data.
        """
        values = dict.fromkeys(_sent(axioms, assertions))
        if self._text is None or not self._values <= values.keys():
            common = self._values & values.keys()
            # Of another ontology altogether nothing is to be kept.
            self._values = common if 2 * len(common) > len(values) else frozenset(values)
            self._text = document([value for value in values if value in self._values])
        rest = [value for value in values if value not in self._values]
        return (self._text, document(rest)) if rest else (self._text,)


def _sent(axioms: Sequence[Axiom], assertions: Sequence[Assertion]) -> list[Axiom | Assertion]:
    """What is sent of an ontology, data by proxies."""
    sent, said = sendable(axioms, assertions)
    if any(data_of([*sent, *said])):
        definitions = {a.datatype.iri: a.range for a in sent if isinstance(a, DatatypeDefinition)}
        sent = [a for a in sent if not isinstance(a, DatatypeDefinition)]
        theory = DataTheory(definitions, role_box(sent))
        said = ill_typed_refuted(theory, said)
        if (opaque := opaque_in(theory, [*sent, *said])) is not None:
            raise OpaqueData(opaque)
        sent, said = sendable(*proxied(theory, sent, said))
    return [*sent, *said]
