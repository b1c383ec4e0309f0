"""Where one meaning of the opaque datatypes speaks for all of them.

Read by form, each opaque datatype is a value space of its own, with one value for each lexical
form. What is consistent then need not be so for every meaning. It is where the properties that
opaque data is on, with all above and below them, have literals of one opaque D only, and nothing
is asked of them but ≥1 f.D, ≥1 f, ≤n f.¬D and ≤n f: each value may be replaced by what D means
by it, or by any value of D, since values that become one do no harm here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from shiq import model as owl
from shiq.datatypes import DataTheory
from shiq.reasoner.proxied import is_opaque
from shiq.reasoner.structure import data_of, parts
from shiq.signature import is_reserved

#: What is asked of a property where that is nothing about a range, and where it is no opaque
#: datatype by itself.
_NO_RANGE, _ELSE = "", "else"


def speaks_for_all(
    theory: DataTheory, axioms: Sequence[owl.Axiom], assertions: Sequence[owl.Assertion]
) -> bool:
    """Whether a model in which opaque datatypes are read by form makes one for every meaning of
    them. ``theory`` has them opaque; axioms and assertions are as
    `shiq.reasoner.proxied.bounded` takes them.
    """
    above: dict[str, str] = {}

    def root(iri: str) -> str:
        while (next_ := above.setdefault(iri, iri)) != iri:
            iri = next_
        return iri

    asked: list[tuple[str, str, bool]] = []
    present: set[str] = set()
    for value in (*axioms, *assertions):
        match value:
            case owl.SubDataPropertyOf(owl.DataProperty(sub), owl.DataProperty(sup)):
                above[root(sub)] = root(sup)
                asked += [(sub, _NO_RANGE, False), (sup, _NO_RANGE, False)]
            case owl.DataPropertyAssertion(owl.DataProperty(iri), _, literal):
                asked.append(
                    (iri, _name(theory, owl.Datatype(literal.datatype)), is_opaque(theory, literal))
                )
                present.add(literal.datatype)
            case owl.SubClassOf(_, expression) | owl.ClassAssertion(expression, _):
                for operand in (
                    expression.operands
                    if isinstance(expression, owl.ObjectUnionOf)
                    else (expression,)
                ):
                    asked += _asked(theory, operand)
            case _:
                asked += _anything(theory, value)
    if any(is_reserved(iri) for iri, _, _ in asked):
        return False
    names: dict[str, set[str]] = defaultdict(set)
    for iri, name, _ in asked:
        names[root(iri)].add(name)
    doubtful = [
        names[group] - {_NO_RANGE} for group in {root(iri) for iri, _, opaque in asked if opaque}
    ]
    return all(len(found) == 1 and found <= present for found in doubtful)


def _asked(theory: DataTheory, expression: owl.ClassExpression) -> Iterator[tuple[str, str, bool]]:
    """Each data property that ``expression`` speaks of, what is asked of it, and whether that is
    opaque.
    """
    match expression:
        case owl.DataMaxCardinality(_, owl.DataProperty(iri), range) | owl.DataMinCardinality(
            0 | 1, owl.DataProperty(iri), range
        ) if range == owl.TOP_DATATYPE:
            yield iri, _NO_RANGE, False
        case owl.DataMaxCardinality(
            _, owl.DataProperty(iri), owl.DataComplementOf(range)
        ) | owl.DataMinCardinality(1, owl.DataProperty(iri), range):
            yield iri, _name(theory, range), is_opaque(theory, range)
        case _:
            yield from _anything(theory, expression)


def _anything(theory: DataTheory, value: object) -> Iterator[tuple[str, str, bool]]:
    opaque = any(is_opaque(theory, data) for found in data_of((value,)) for data in found)
    yield from (
        (part.iri, _ELSE, opaque) for part in parts(value) if isinstance(part, owl.DataProperty)
    )


def _name(theory: DataTheory, range: owl.DataRange) -> str:
    """The IRI of an opaque datatype, `_ELSE` for any other range."""
    return (
        range.iri
        if isinstance(range, owl.Datatype) and theory.unknown_datatypes(range) == {range.iri}
        else _ELSE
    )
