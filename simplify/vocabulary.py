"""The entities that an axiom is about.

>>> from shiq.model import SubClassOf
>>> sorted(e.iri for e in entities(SubClassOf(owl.Class("urn:A"), owl.Class("urn:B"))))
['urn:A', 'urn:B']
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from shiq import model as owl

Entity = owl.Class | owl.ObjectProperty | owl.DataProperty | owl.Datatype


def entities(value: owl.Axiom | owl.Assertion | owl.ClassExpression | owl.DataRange) -> Iterator[Entity]:
    """Every class, property and datatype in ``value``, as often as it stands there. Iterative, so that depth does not matter."""
    stack: list[object] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, owl.Class | owl.ObjectProperty | owl.DataProperty | owl.Datatype):
            yield item
        elif isinstance(item, tuple):
            stack += item
        else:
            stack += [getattr(item, name) for name in getattr(item, "__match_args__", ())]


def class_names(axioms: Iterable[owl.Axiom]) -> frozenset[str]:
    return frozenset(e.iri for axiom in axioms for e in entities(axiom) if isinstance(e, owl.Class))


def object_properties(axioms: Iterable[owl.Axiom]) -> frozenset[str]:
    return frozenset(e.iri for axiom in axioms for e in entities(axiom) if isinstance(e, owl.ObjectProperty))
