"""What is told of triples whose value does not fit the kind of their property."""

from __future__ import annotations

from collections.abc import Iterable

from shiq.rdf.bulk import Flags, Rows, groups_of
from shiq.rdf.triples import Triples, column
from shiq.verdict import Leftover


def misfit_leftovers(
    triples: Triples, rows: Rows, types: Flags, of_objects: Flags, on_axiom: Flags
) -> Iterable[Leftover]:
    """A leftover for each property and datatype among ``rows``; ``of_objects``: rows of object
    properties.
    """
    predicates, values = column(triples.predicate), column(triples.object)
    of_class = rows[types[rows]]
    for term, some in groups_of(of_class, values[of_class]):
        message = f"the datatype <{triples.terms[term]}> as type of an individual"
        yield triples.leftover(
            "malformed", message, int(some[0]), count=len(some), rows=some.tolist()
        )
    of_property = rows[~types[rows]]
    for term, some in groups_of(of_property, predicates[of_property]):
        iri, row = triples.terms[term], int(some[0])
        if on_axiom[row]:
            message = f"<{iri}> is no annotation property, but stands at an axiom"
        elif of_objects[row]:
            message = f"a literal as value of the object property <{iri}>"
        else:
            message = f"an individual as value of the data property <{iri}>"
        yield triples.leftover("malformed", message, row, count=len(some), rows=some.tolist())
