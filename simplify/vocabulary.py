"""The entities that an axiom is about.

>>> from shiq.model import SubClassOf
>>> sorted(e.iri for e in entities(SubClassOf(Class("urn:A"), Class("urn:B"))))
['urn:A', 'urn:B']
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from shiq.model import Axiom, Class, ClassExpression, DataProperty, DataRange, Datatype, ObjectProperty

Entity = Class | ObjectProperty | DataProperty | Datatype


def entities(value: Axiom | ClassExpression | DataRange) -> Iterator[Entity]:
    """Every class, property and datatype in ``value``, as often as it stands there. Iterative, so that depth does not matter."""
    stack: list[object] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, Class | ObjectProperty | DataProperty | Datatype):
            yield item
        elif isinstance(item, tuple):
            stack += item
        else:
            stack += [getattr(item, name) for name in getattr(item, "__match_args__", ())]


def class_names(axioms: Iterable[Axiom]) -> frozenset[str]:
    return frozenset(e.iri for axiom in axioms for e in entities(axiom) if isinstance(e, Class))


def object_properties(axioms: Iterable[Axiom]) -> frozenset[str]:
    return frozenset(e.iri for axiom in axioms for e in entities(axiom) if isinstance(e, ObjectProperty))
