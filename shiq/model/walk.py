"""Walk over OWL values: what is inside one, and copies with parts replaced.

Copies are made by recursion, in loops rather than comprehensions: one frame a level, so that the
deepest nesting that readers let in does not overflow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from operator import is_not
from typing import Any, TypeVar

from shiq import model as owl

V = TypeVar("V")

_ENTITIES = (owl.Class, owl.ObjectProperty, owl.DataProperty, owl.Datatype)
_LEAVES = (str, *_ENTITIES, owl.Literal)
_FIELDS: dict[type, tuple[str, ...]] = {}


def parts(value: object) -> Iterator[object]:
    """``value`` and every model value inside it, depth first and in order; individuals come as
    strings.

    Facet names, cardinalities and the fields of entities and literals are left out. Stops
    because values are finite trees; iterative, so that deep nesting is fine.
    """
    stack: list[object] = [value]
    while stack:
        current = stack.pop()
        if isinstance(current, tuple):
            stack.extend(reversed(current))
        elif isinstance(current, owl.DatatypeRestriction):
            yield current
            stack.extend(literal for _, literal in reversed(current.facets))
            stack.append(current.datatype)
        elif isinstance(current, _LEAVES):
            yield current
        elif not isinstance(current, int):
            yield current
            stack.extend(getattr(current, name) for name in reversed(type(current).__match_args__))  # type: ignore[attr-defined]


def entities(
    value: object,
) -> Iterator[owl.Class | owl.ObjectProperty | owl.DataProperty | owl.Datatype]:
    """Every class, property and datatype in ``value``, built-in ones too, as often as it stands
    there.

    >>> [e.iri for e in entities(owl.SubClassOf(owl.Class("urn:A"), owl.Class("urn:B")))]
    ['urn:A', 'urn:B']
    """
    return (part for part in parts(value) if isinstance(part, _ENTITIES))


def rewritten(value: V, change: Callable[[object], object | None]) -> V:
    """Copy ``value`` with the outermost parts for which ``change`` gives something replaced by
    that; what is replaced is not looked into.
    """
    if not isinstance(value, tuple) and field_names(type(value)):
        replacement: Any = change(value)
        if replacement is not None:
            return replacement  # type: ignore[no-any-return]
    old, new = _children(value), []
    for child in old:
        new.append(child if type(child) is str else rewritten(child, change))
    return _with_children(value, old, new)


def rebuilt(value: V, change: Callable[[Any], Any]) -> V:
    """Copy ``value`` from the inside out: each part becomes what ``change`` makes of it once its
    own parts are rebuilt.

    >>> twice = owl.ObjectComplementOf(owl.ObjectComplementOf(owl.Class("urn:A")))
    >>> def without_double_negation(part):
    ...     match part:
    ...         case owl.ObjectComplementOf(owl.ObjectComplementOf(operand)):
    ...             return operand
    ...     return part
    >>> rebuilt(owl.ObjectComplementOf(twice), without_double_negation)
    ObjectComplementOf(operand=Class(iri='urn:A'))
    """
    old, new = _children(value), []
    for child in old:
        new.append(child if type(child) is str else rebuilt(child, change))
    result = _with_children(value, old, new)
    return change(result) if field_names(type(value)) else result


def _children(value: object) -> Sequence[Any]:
    """The fields of a model value, or the items of a tuple."""
    if isinstance(value, tuple):
        return value
    return [getattr(value, name) for name in field_names(type(value))]


def _with_children(value: V, old: Sequence[Any], new: Sequence[Any]) -> V:
    """Copy ``value`` with its children ``old`` replaced; ``value`` itself if they are the same."""
    if not any(map(is_not, new, old)):
        return value
    kind: Any = type(value)
    return tuple(new) if isinstance(value, tuple) else kind(*new)  # type: ignore[return-value]


def field_names(kind: type) -> tuple[str, ...]:
    """The fields of a model type; none for anything else."""
    known = _FIELDS.get(kind)
    if known is None:
        known = _FIELDS[kind] = (
            tuple(field.name for field in fields(kind)) if is_dataclass(kind) else ()
        )
    return known
