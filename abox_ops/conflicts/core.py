"""Which assertions a contradiction rests on: what the reasoner's refutation used, back from
facts of a module to assertions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from shiq import model as owl
from shiq.abox_ops.elements.element_graph import ElementGraph
from shiq.abox_ops.elements.normal import normalise
from shiq.abox_ops.engine import NamedModule
from shiq.abox_ops.modules.components import modules
from shiq.abox_ops.modules.from_scratch import closure_of_all
from shiq.bits import bits
from shiq.datatypes import DataTheory
from shiq.model.abox import individuals_of
from shiq.model.clause import ClausalTBox
from shiq.model.roles import role_of
from shiq.reasoner.protocol import Module

#: One fact of a module, by the elements that it is about.
Fact: TypeAlias = tuple[object, ...]


def core(
    tbox: ClausalTBox,
    assertions: Sequence[owl.Assertion],
    refuted_part: Callable[[Module], Module | None],
) -> list[owl.Assertion] | None:
    """The ``assertions``, in their order, that one refutation of them rests on: inconsistent by
    themselves, not always minimal. None where none was found. ``refuted_part`` is
    `shiq.reasoner.protocol.Tracing.core`.
    """
    graph = ElementGraph(tbox)
    plains = [(plain, a) for a in assertions for plain in normalise(a, tbox.roles).assertions]
    for plain, _ in plains:
        graph.add(plain)
    find = graph.elements.find
    closure = closure_of_all(tbox, DataTheory(tbox.definitions, tbox.roles), graph)
    if closure.contradictory:
        element = min(closure.contradictory)
        return [a for a in assertions if all(find(i) == element for i in individuals_of(a))]
    for named in modules(closure.kept):
        part = refuted_part(named.module)
        if part is not None:
            wanted = set(_facts(part, named))
            used = {x for fact in wanted for x in fact[1]}  # type: ignore[attr-defined]
            chosen: set[owl.Assertion] = set()
            for plain, a in plains:
                fact = _fact(tbox, graph, plain)
                if fact in wanted:
                    wanted.discard(fact)
                    chosen.add(a)
                elif isinstance(plain, owl.SameIndividual) and find(plain.first) in used:
                    chosen.add(a)
            return [a for a in assertions if a in chosen]
    return None


def _facts(module: Module, named: NamedModule) -> Iterable[Fact]:
    names = [element[0] for element in named.elements]
    for x, (positive, negative) in enumerate(zip(module.positive, module.negative)):
        yield from (("+", (names[x],), a) for a in bits(positive))
        yield from (("-", (names[x],), a) for a in bits(negative))
    yield from (("r", (names[x], names[y]), role.iri) for x, role, y in module.edges)
    yield from (("!r", (names[x], names[y]), role.iri) for x, role, y in module.negative_edges)
    yield from (("d", (names[x],), p, value) for x, p, value in module.data)
    yield from (("!d", (names[x],), p, value) for x, p, value in module.negative_data)
    yield from (("≠", tuple(sorted((names[x], names[y])))) for x, y in module.different)


def _fact(tbox: ClausalTBox, graph: ElementGraph, plain: owl.Assertion) -> Fact | None:
    """What a normalised assertion says, as `_facts` names it."""
    find = graph.elements.find
    match plain:
        case owl.ClassAssertion(owl.Class(iri), x) if iri != owl.NOTHING.iri:
            return "+", (find(x),), tbox.atom_ids[iri]
        case owl.ClassAssertion(owl.ObjectComplementOf(owl.Class(iri)), x):
            return "-", (find(x),), tbox.atom_ids[iri]
        case owl.ObjectPropertyAssertion(property, x, y) | owl.NegativeObjectPropertyAssertion(
            property, x, y
        ):
            role, ends = role_of(property), (find(x), find(y))
            kind = "r" if isinstance(plain, owl.ObjectPropertyAssertion) else "!r"
            return kind, (ends[::-1] if role.inverted else ends), role.iri
        case owl.DataPropertyAssertion(property, x, value):
            return "d", (find(x),), property.iri, value
        case owl.NegativeDataPropertyAssertion(property, x, value):
            return "!d", (find(x),), property.iri, value
        case owl.DifferentIndividuals(x, y):
            return "≠", tuple(sorted((find(x), find(y))))
    return None
