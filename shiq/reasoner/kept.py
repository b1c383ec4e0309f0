"""An ontology as HermiT is sent it once, to be asked about with ever other assertions beside it."""

from __future__ import annotations

from collections.abc import Sequence

from shiq.datatypes import DataTheory
from shiq.model import Assertion, Axiom, DatatypeDefinition
from shiq.reasoner.proxied import OpaqueData, ill_typed_refuted, opaque_in, proxied
from shiq.reasoner.sending import OntologyText, document, sendable
from shiq.reasoner.structure import data_of
from shiq.roles import role_box


def kept_text(axioms: Sequence[Axiom], assertions: Sequence[Assertion]) -> OntologyText:
    """``axioms``, inclusions as `clause_axioms` makes them, and ``assertions`` as one text, data by proxies. Raises: Unsendable;
    OpaqueData, where it takes more than one question to deal with data."""
    sent, said = sendable(axioms, assertions)
    if any(data_of([*sent, *said])):
        definitions = {a.datatype.iri: a.range for a in sent if isinstance(a, DatatypeDefinition)}
        sent = [a for a in sent if not isinstance(a, DatatypeDefinition)]
        theory = DataTheory(definitions, role_box(sent))
        said = ill_typed_refuted(theory, said)
        if (opaque := opaque_in(theory, [*sent, *said])) is not None:
            raise OpaqueData(opaque)
        sent, said = sendable(*proxied(theory, sent, said))
    return document([*sent, *said])
