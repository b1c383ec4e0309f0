"""Support sets: small sets of assertions around some elements that are inconsistent by themselves.

An add set holds told literals that came from afar, along role assertions that were then dropped.
`supports` gives growing sets of assertions of A ∪ A⁺: first what the elements say themselves,
then what gave them their literals, then whatever is near. Where the reasoner says which facts its
refutation used, the search begins from the assertions behind these.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from shiq import model as owl
from shiq.abox_ops.conflicts.minimal_subsets import SMALL
from shiq.abox_ops.elements.normal_assertions import half_edges_of, name_literal, normalise
from shiq.abox_ops.engine import AddSet
from shiq.abox_ops.labels.label_calculus import (
    EMPTY,
    Label,
    LabelCalculus,
    join,
    label_difference,
    literal_label,
)
from shiq.abox_ops.modules.from_scratch import Fact, ScratchQuestion, fact_of_assertion
from shiq.model import Assertion, DifferentIndividuals, ObjectPropertyAssertion
from shiq.model.abox import individuals_of
from shiq.model.clause import ClausalTBox
from shiq.model.roles import Role
from shiq.reasoner.protocol import Module
from shiq.support import bits, cached_method


class SupportSets:
    """Sets of assertions around given individuals, grown step by step in the search for a
    contradiction.
    """

    def __init__(self, space: LabelCalculus, add_set: AddSet) -> None:
        self.space, self.add_set = space, add_set
        self._assertions_about: dict[str, tuple[Assertion, ...]] = {}
        self._told_labels: dict[str, Label] = {}
        self._merges = any(c.n for c in space.m_type)
        self._link_counts: Counter[str] = Counter()

    def assertions_about(self, individual: str) -> tuple[Assertion, ...]:
        """Assertions of A ∪ A⁺ that mention ``individual``; cached."""
        self.fetch_assertions([individual])
        return self._assertions_about[individual]

    def growing_sets(
        self, individuals: Iterable[str], *, told_only: bool = False
    ) -> Iterator[list[Assertion]]:
        """Yield growing lists of assertions around ``individuals``; the last one has everything
        connected with them. Once there are many individuals, a list has twice as many as the one
        before it, or nothing comes after it.

        Stops because the individuals in play grow within a finite set.
        """
        inside = dict.fromkeys(individuals)
        self._link_counts.clear()
        self._count_links(inside)
        shown = len(inside)
        yield self._assertions_among(inside)
        reaches = (
            partial(self._label_suppliers, every=False),
            partial(self._label_suppliers, every=True),
            self._mentioned_individuals,
        )
        for reach in reaches[:1] if told_only else reaches:
            fresh = inside
            while fresh:
                self.fetch_assertions(fresh)
                fresh = {
                    o: None
                    for individual in fresh
                    for o in reach(individual, inside)
                    if o not in inside
                }
                self._count_links(fresh)
                inside.update(fresh)
                if fresh and (len(inside) <= SMALL or len(inside) >= 2 * shown):
                    shown = len(inside)
                    yield self._assertions_among(inside)
            if len(inside) > shown:
                shown = len(inside)
                yield self._assertions_among(inside)

    def _count_links(self, fresh: Iterable[str]) -> None:
        """Count for each individual how many individuals of the growing set have role assertions to
        it, after ``fresh`` ones came in.
        """
        self.fetch_assertions(fresh)
        self._link_counts.update(
            other for i in fresh for other in {other for _, other in self._cached_half_edges(i)}
        )

    def split_by_origin(
        self, assertions: Iterable[Assertion]
    ) -> tuple[list[Assertion], list[Assertion]]:
        """Split ``assertions`` into those of the base and the inserted ones."""
        base: list[Assertion] = []
        inserted: list[Assertion] = []
        for assertion in assertions:
            (inserted if self._is_inserted(assertion) else base).append(assertion)
        return base, inserted

    @cached_method
    def _is_inserted(self, assertion: Assertion) -> bool:
        """Decide whether an assertion is inserted, cached."""
        return self.add_set.is_inserted(assertion)

    def fetch_assertions(self, individuals: Iterable[str]) -> None:
        """Fetch the assertions about ``individuals`` together, into the cache."""
        new = [i for i in individuals if i not in self._assertions_about]
        if new:
            self._assertions_about.update(
                (i, tuple(found)) for i, found in self.add_set.all_assertions_about(new).items()
            )

    def _fetch_labels(self, individuals: Iterable[str]) -> None:
        """Look up, together, the told labels of ``individuals`` that are not known yet."""
        new = list(dict.fromkeys(i for i in individuals if i not in self._told_labels))
        if new:
            self._told_labels.update(zip(new, self.add_set.labels(new)))

    def _mentioned_individuals(self, individual: str, inside: dict[str, None]) -> Iterator[str]:
        """The individuals that assertions about ``individual`` mention, and that are not ``inside``
        yet.
        """
        return (
            other
            for assertion in self.assertions_about(individual)
            for other in individuals_of(assertion)
        )

    def _assertions_among(self, inside: Iterable[str]) -> list[Assertion]:
        """The assertions that mention only individuals of ``inside``, ordered by nearness."""
        chosen = set(inside)
        self.fetch_assertions(chosen)
        place: dict[str, int] = {}
        for start in sorted(chosen):
            if start in place:
                continue
            place[start] = len(place)
            queue = deque([start])
            while queue:
                for assertion in self.assertions_about(queue.popleft()):
                    for other in individuals_of(assertion):
                        if other in chosen and other not in place:
                            place[other] = len(place)
                            queue.append(other)
        found = {
            a: None
            for i in chosen
            for a in self.assertions_about(i)
            if all(other in chosen for other in individuals_of(a))
        }
        return sorted(found, key=lambda a: (max(place[i] for i in individuals_of(a)), repr(a)))

    def _label_suppliers(
        self, individual: str, inside: dict[str, None], *, every: bool
    ) -> Iterator[str]:
        """Yield the neighbours outside that send ``individual`` told literals which ``inside`` does
        not give it, and its possible merge partners.

        every: all such neighbours, not only as many as needed.
        """
        self._fetch_labels(
            [individual, *(other for _, other in self._cached_half_edges(individual))]
        )
        label = self._told_labels[individual]
        own = self._asserted_label_of(individual)
        missing = label_difference(label, own)
        for role, other in self._cached_half_edges(individual):
            if other in inside and missing != EMPTY:
                sent = self.space.send(role, own, self._told_labels[other]).subject
                missing = label_difference(missing, sent)
        for role, other in self._cached_half_edges(individual) if missing != EMPTY else ():
            if other in inside:
                continue
            sent = self.space.send(role, own, self._told_labels[other]).subject
            useful = sent[0] & missing[0], sent[1] & missing[1]
            if useful != EMPTY:
                yield other
                if not every:
                    missing = label_difference(missing, useful)
                    if missing == EMPTY:
                        break
        yield from self._merge_partners(individual, inside)

    def _merge_partners(self, individual: str, inside: dict[str, None]) -> Iterator[str]:
        """Yield the individuals, not yet ``inside``, that may become equal to ``individual`` or
        make it equal to another.

        These share an assertion other than a role assertion or inequality with it, or are its
        neighbours and those of another one inside.
        """
        for assertion in self.assertions_about(individual):
            if not isinstance(assertion, ObjectPropertyAssertion | DifferentIndividuals):
                yield from (other for other in individuals_of(assertion) if other not in inside)
        if self._merges:
            # A half edge to another is one of the other too, so that nothing has to be looked up
            # about those outside.
            yield from (
                other
                for _, other in self._cached_half_edges(individual)
                if other not in inside and self._link_counts[other] > 1
            )

    @cached_method
    def _cached_half_edges(self, individual: str) -> tuple[tuple[Role, str], ...]:
        """The half edges at ``individual``, cached."""
        about = self.assertions_about(individual)
        return tuple((role, other) for role, other, _ in half_edges_of(individual, about))

    @cached_method
    def _asserted_label_of(self, individual: str) -> Label:
        """The literals asserted of ``individual`` alone, cached."""
        tbox, label = self.space.tbox, EMPTY
        for assertion in self.assertions_about(individual):
            if len(individuals_of(assertion)) == 1:
                for plain in normalise(assertion, tbox.roles).assertions:
                    if isinstance(plain, owl.ClassAssertion):
                        literal = literal_label(tbox, *name_literal(plain.expression))
                        label = join(label, literal)
        return self.space.close(label)


def refutation_core(
    tbox: ClausalTBox,
    assertions: Sequence[owl.Assertion],
    refuted_part: Callable[[Module], Module | None],
) -> list[owl.Assertion] | None:
    """Find the ``assertions``, in order, that one refutation of them uses. They are inconsistent by
    themselves, but not always minimal.

    refuted_part: see `shiq.reasoner.protocol.CoreFinder.core`.

    Returns: None if no refutation was found.
    """
    question = ScratchQuestion.over_clauses(tbox, assertions)
    find = question.elements.find
    if question.contradictory:
        element = min(question.contradictory)
        return [a for a in assertions if all(find(i) == element for i in individuals_of(a))]
    for named in question.modules:
        part = refuted_part(named.module)
        if part is not None:
            wanted = set(_facts_of_module(part, [element[0] for element in named.elements]))
            used = {x for _, ends, _ in wanted for x in ends}
            chosen: set[owl.Assertion] = set()
            for a in assertions:
                for plain in normalise(a, tbox.roles).assertions:
                    fact = fact_of_assertion(tbox, find, plain)
                    if fact in wanted:
                        wanted.discard(fact)
                        chosen.add(a)
                    elif isinstance(plain, owl.SameIndividual) and find(plain.first) in used:
                        chosen.add(a)
            return [a for a in assertions if a in chosen]
    return None


def _facts_of_module(module: Module, names: Sequence[str]) -> Iterator[Fact]:
    """Yield the contents of a module as `fact_of_assertion` gives those of assertions."""
    for name, positive, negative in zip(names, module.positive, module.negative):
        yield from (("labels", (name,), (name, (1 << i, 0))) for i in bits(positive))
        yield from (("labels", (name,), (name, (0, 1 << i))) for i in bits(negative))
    for kind in ("edges", "negative_edges"):
        for x, role, y in getattr(module, kind):
            yield kind, (names[x], names[y]), (names[x], role, names[y])
    for kind in ("data", "negative_data"):
        for x, property, value in getattr(module, kind):
            yield kind, (names[x],), (names[x], property, value)
    for x, y in module.different:
        pair = tuple(sorted((names[x], names[y])))
        yield "different", pair, pair
