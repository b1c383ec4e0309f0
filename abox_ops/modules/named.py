"""The modules of an add set and what is answered of them, where most are alike: nothing is done
once for each.

Who the nodes of a module are matters for those that are not consistent alone, and is looked up
when one of the modules is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from shiq.abox_ops.engine import AddSet, NamedModule
from shiq.answers.verdict import Verdict
from shiq.reasoner.protocol import Answer, Module
from shiq.support import LazySequence


class NamedModules(LazySequence[NamedModule]):
    """Modules: each of the ``distinct`` ones so many times as ``counts`` says; ``named`` gives
    all, each with an object of ``distinct``. ``crowd``: the most individuals that one node
    stands for.
    """

    def __init__(
        self,
        distinct: Sequence[Module],
        counts: Sequence[int],
        crowd: int,
        named: Callable[[], Sequence[NamedModule]],
    ) -> None:
        super().__init__(sum(counts), named)
        self.distinct, self.counts, self.crowd = distinct, counts, crowd

    @classmethod
    def of(cls, modules: Sequence[NamedModule]) -> NamedModules:
        """``modules``, which are there already."""
        if isinstance(modules, cls):
            return modules
        distinct = {id(m.module): m.module for m in modules}
        counts = Counter(id(m.module) for m in modules)
        crowd = max((len(element) for m in modules for element in m.elements), default=0)
        return cls(list(distinct.values()), [counts[i] for i in distinct], crowd, lambda: modules)


class ModuleAnswers(LazySequence[Answer]):
    """An answer for each of ``modules``: what ``distinct`` says of its distinct ones."""

    def __init__(self, modules: NamedModules, distinct: Sequence[Answer]) -> None:
        super().__init__(len(modules), self._each)
        self.modules, self.distinct = modules, distinct

    def _each(self) -> Sequence[Answer]:
        told = {id(module): answer for module, answer in zip(self.modules.distinct, self.distinct)}
        return [told[id(m.module)] for m in self.modules]


def asked(
    modules: Sequence[NamedModule], decide: Callable[[Sequence[Module]], Sequence[Answer]]
) -> ModuleAnswers:
    """What ``decide`` answers of ``modules``; it is asked about each distinct one once."""
    named = NamedModules.of(modules)
    return ModuleAnswers(named, decide(named.distinct))


def distinct_answers(answers: Sequence[Answer]) -> Iterable[Answer]:
    """Each of ``answers`` at least once."""
    return answers.distinct if isinstance(answers, ModuleAnswers) else answers


def positions(answers: Sequence[Answer], is_chosen: Callable[[Answer], bool]) -> list[int]:
    """Where in ``answers`` those are that are chosen."""
    if not any(map(is_chosen, distinct_answers(answers))):
        return []
    return [i for i, answer in enumerate(answers) if is_chosen(answer)]


def tally(answers: Sequence[Answer]) -> Counter[Verdict]:
    """How often each verdict was given."""
    found: Counter[Verdict] = Counter()
    if isinstance(answers, ModuleAnswers):
        for answer, count in zip(answers.distinct, answers.modules.counts):
            found[answer.verdict] += count
    else:
        found.update(answer.verdict for answer in answers)
    return found


def inconsistent_groups(add_set: AddSet, answers: Sequence[Answer]) -> list[tuple[str, ...]]:
    """The individuals of each element, or module, that is known to be contradictory; of a
    module, those near the contradiction where the reasoner says which.
    """
    return [
        *add_set.contradictory,
        *(
            tuple(i for n in answers[k].near for i in add_set.modules[k].elements[n])
            or individuals_in(add_set.modules[k])
            for k in positions(answers, lambda answer: answer.verdict is Verdict.INCONSISTENT)
        ),
    ]


def individuals_in(module: NamedModule) -> tuple[str, ...]:
    """The individuals of a module, element by element."""
    elements = module.elements
    return elements[0] if len(elements) == 1 else tuple(i for element in elements for i in element)
