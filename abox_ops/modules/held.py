"""The modules that the check of a batch comes to, each with what it holds (THEORY, "Modules").

For whoever decides, stores or compares modules by other means than a check does. `jobs.checking.session.Session.knowledge_base`
gives the knowledge base of an open store.

>>> from abox_ops.memory import MemoryKnowledgeBase
>>> from shiq import model as owl
>>> from shiq.abox import abox_of
>>> cat, chases, mouse = owl.Class("urn:Cat"), owl.ObjectProperty("urn:chases"), owl.Class("urn:Mouse")
>>> tbox = owl.TBox((owl.SubClassOf(cat, owl.ObjectUnionOf((mouse, owl.ObjectAllValuesFrom(chases, mouse)))),))
>>> base = MemoryKnowledgeBase.build(tbox, [owl.ObjectPropertyAssertion(chases, "urn:tom", "urn:x")])
>>> [module] = modules_of(base, abox_of([owl.ClassAssertion(cat, "urn:tom")])).modules
>>> module.individuals
(('urn:tom',), ('urn:x',))
>>> len(module.assertions), [a.individual for a in module.inserted]
(2, ['urn:tom'])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from abox_ops.engine import KnowledgeBase
from shiq.abox import ABox, individuals_of
from shiq.clause import ClausalTBox
from shiq.model import Assertion
from shiq.reasoner.protocol import Module


@dataclass(frozen=True)
class HeldModule:
    """One module of A_add.

    ``individuals``: by node, those that it stands for, which are equal to each other; ``module``: what a reasoner is asked, whose
    labels hold told literals of A too; None for an element that told literals alone refute;
    ``assertions``: of A ∪ A⁺ between these individuals, those that were kept, and remedies; ``inserted``: those of them in A⁺.
    """

    individuals: tuple[tuple[str, ...], ...]
    module: Module | None
    assertions: tuple[Assertion, ...]
    inserted: tuple[Assertion, ...]


@dataclass(frozen=True)
class HeldModules:
    """The modules of a batch; ``clauses``: what the atoms in the modules' labels refer to. (T, A ∪ A⁺) is consistent iff every
    module is and nothing is ``contradictory``."""

    clauses: ClausalTBox
    modules: tuple[HeldModule, ...]
    contradictory: tuple[HeldModule, ...]


def modules_of(
    base: KnowledgeBase, insertions: ABox, deletions: ABox | None = None, *, criterion: str = "clausal"
) -> HeldModules:
    """The modules of ((A less ``deletions``) ∪ ``insertions``) by ``criterion`` (`abox_ops.engine.CRITERIA`), with what each
    holds. An assertion between individuals of several modules, as that they are different, holds of itself and is in none."""
    add_set = base.add_set(insertions, deletions or ABox(), criterion)
    found: list[tuple[tuple[tuple[str, ...], ...], Module | None]] = [(m.elements, m.module) for m in add_set.modules]
    found += (((element,), None) for element in add_set.contradictory)
    place = {i: number for number, (elements, _) in enumerate(found) for element in elements for i in element}
    held: list[list[Assertion]] = [[] for _ in found]
    for assertion in add_set.kept():
        places = {place.get(i, -1) for i in individuals_of(assertion)}
        if len(places) == 1 and -1 not in places:
            held[places.pop()].append(assertion)

    def made(numbers: Sequence[int]) -> tuple[HeldModule, ...]:
        return tuple(HeldModule(*found[i], tuple(held[i]), tuple(a for a in held[i] if add_set.is_inserted(a))) for i in numbers)

    count = len(add_set.modules)
    return HeldModules(add_set.tbox, made(range(count)), made(range(count, len(found))))
