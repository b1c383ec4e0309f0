"""What T, A and a snapshot entail of named individuals, as ground atoms.

Source: SPEC 1. Where a model is found without a choice, what it says of named individuals is what is entailed; else
`abox_ops.entailment` is asked, one class and role after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any

from abox_ops.entailment import Entailer, Premises
from shiq import model as owl
from shiq.errors import OperationalError
from shiq.functional.writer import axiom_text
from shiq.reasoner.hypertableau.search import decide
from shiq.reasoner.hypertableau.tables import Tables
from shiq.roles import Role
from shiq.verdict import Leftover, Verdict
from simplify import simplify
from streams.discovery.atomsets import Atom, Atoms, iri, term
from streams.discovery.horn import Left, module_of
from streams.discovery.labels import Clash, LabelCalculus, Labels, NotHorn

_NAMED = "urn:discovery:v"
_STEPS = 50_000


class UndecidedEntailmentError(OperationalError):
    """That it is not known what something entails; where T ∪ A is no part of it, it is left out and named."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"what is entailed is not known: {reason}", "Make the TBox simpler.")
        self.reason = reason


@dataclass
class Knowledge:
    """T and A, and V as ``classes``; ``roles``: those that bind; ``undecided``: what was left out, and why."""

    tbox: owl.TBox
    static: Sequence[owl.Assertion]
    classes: Sequence[owl.ClassExpression]
    roles: Sequence[str]
    undecided: dict[str, str] = field(default_factory=dict)
    _names_of: dict[int, tuple[str, ...]] = field(default_factory=dict)
    _above: dict[str, list[tuple[str, bool]]] = field(default_factory=dict)

    @cached_property
    def vocabulary(self) -> dict[str, owl.ClassExpression]:
        """V by text."""
        return {axiom_text(c): c for c in self.classes}

    def leftovers(self) -> list[Leftover]:
        """What was left out since it is undecided."""
        return [Leftover("undecided", f"{what}: {reason}") for what, reason in self.undecided.items()]

    @cached_property
    def base(self) -> frozenset[Atom] | None:
        """What T ∪ A entails; None if it is inconsistent. Raises: UndecidedEntailmentError."""
        try:
            calculus, labels = self._labels
            return frozenset(chain(self._classes(labels, Labels()), self._pairs(calculus.role_pairs(labels))))
        except Clash:
            return None
        except NotHorn:
            return self.by_model(self.static)

    def entailed(self, assertions: Iterable[owl.Assertion]) -> frozenset[Atom] | None:
        """What T ∪ A ∪ ``assertions`` entails besides; None if it is inconsistent. Raises: UndecidedEntailmentError."""
        base = self.base
        if base is None:
            return None
        assertions = tuple(assertions)
        try:
            calculus, static = self._labels
            labels = calculus.saturated(assertions, static)
        except Clash:
            return None
        except NotHorn:
            found = self.by_model((*self.static, *assertions))
            return None if found is None else found - base
        told = list(calculus.role_pairs(labels))
        pairs = self._pairs(chain(calculus.role_pairs(static), told) if self._is_transitive else told)
        return frozenset(chain(self._classes(labels, static), (atom for atom in pairs if atom not in base)))

    def closure(self, atoms: Atoms) -> frozenset[Atom]:
        """What ``atoms`` entail by T alone, their variables taken as individuals; nothing if they contradict T."""
        told = self.assertions(atoms)
        try:
            calculus = self._labels[0]
            labels = calculus.saturated(told, Labels())
        except Clash:
            return frozenset()
        except NotHorn:
            try:
                return self.by_model(told) or frozenset()
            except UndecidedEntailmentError as undecided:
                self.undecided["what the TBox makes of a body"] = undecided.reason
                return frozenset()
        return frozenset(chain(self._classes(labels, Labels()), self._pairs(calculus.role_pairs(labels))))

    def assertions(self, atoms: Iterable[Atom]) -> list[owl.Assertion]:
        """``atoms`` as assertions."""
        return [
            owl.ClassAssertion(self.vocabulary[atom[0]], iri(atom[1]))
            if len(atom) == 2
            else owl.ObjectPropertyAssertion(owl.ObjectProperty(iri(atom[0])), iri(atom[1]), iri(atom[2]))
            for atom in atoms
        ]

    def is_consistent(self, assertions: Iterable[owl.Assertion], atoms: Iterable[Atom]) -> bool:
        """Whether T ∪ A ∪ ``assertions`` is consistent with some atoms more. Raises: UndecidedEntailmentError."""
        told = (*assertions, *self.assertions(atoms))
        try:
            calculus, static = self._labels
            calculus.saturated(told, static)
        except Clash:
            return False
        except NotHorn:
            return self.by_model((*self.static, *told)) is not None
        return True

    def with_axioms(self, axioms: Sequence[owl.Axiom]) -> Knowledge:
        """With more in T."""
        return Knowledge(replace(self.tbox, axioms=(*self.tbox.axioms, *axioms)), self.static, self.classes, self.roles)

    # --- by labels --------------------------------------------------------------------------------

    @cached_property
    def _labels(self) -> tuple[LabelCalculus, Labels]:
        """The calculus, and T ∪ A saturated. Raises: NotHorn, Clash; the latter each time."""
        calculus = LabelCalculus(self._tables[0], self._asserted)
        return calculus, calculus.saturated(self.static, Labels())

    @property
    def _is_transitive(self) -> bool:
        return bool(self._tables[0].tbox.roles.transitive)

    def _classes(self, labels: Labels, base: Labels) -> Iterator[Atom]:
        """The classes of V that ``labels`` say beside a base."""
        names, known = self._tables[1], base.at
        for individual, label in labels.at.items():
            new = label & ~known.get(individual, 0)
            if new:
                if new not in self._names_of:
                    self._names_of[new] = tuple(text for atom, text in names.items() if new >> atom & 1)
                own = term(individual)
                for text in self._names_of[new]:
                    yield text, own

    def _pairs(self, told: Iterable[tuple[str, str, str]]) -> set[Atom]:
        """The role atoms that follow of some."""
        box, found = self._tables[0].tbox.roles, set[Atom]()
        for role, subject, object in told:
            if role not in self._above:
                above = [r for r in box.superroles(Role(role)) if r.iri in self.roles]
                self._above[role] = [(f"<{r.iri}>", r.inverted) for r in above]
            first, second = term(subject), term(object)
            for text, turned in self._above[role]:
                found.add((text, second, first) if turned else (text, first, second))
        if self._is_transitive:
            numbers: dict[str, set[tuple[str, str]]] = {f"<{role}>": set() for role in self.roles}
            for text, first, second in found:
                numbers[text].add((first, second))
            self._close(numbers)
            found = {(text, *both) for text, pairs in numbers.items() for both in pairs}
        return found

    # --- by one model -----------------------------------------------------------------------------

    @cached_property
    def _tables(self) -> tuple[Tables, dict[int, str]]:
        names = {f"{_NAMED}:{i}": text for i, text in enumerate(self.vocabulary)}
        defined = [owl.SubClassOf(c, owl.Class(name)) for name, c in zip(names, self.classes)]
        defined += [owl.SubClassOf(name, c) for c, name in self._asserted.items()]
        clauses = simplify(owl.TBox(tuple(Left().rewritten((*self.tbox.axioms, *defined))), self.tbox.signature)).clauses
        ids = clauses.atom_ids
        return Tables(clauses), {ids[name]: text for name, text in names.items() if name in ids}

    @cached_property
    def _asserted(self) -> dict[owl.ClassExpression, owl.Class]:
        """Names for the classes of V that have none, to assert them by."""
        complex_ = [c for c in self.classes if not isinstance(c, owl.Class)]
        return {c: owl.Class(f"{_NAMED}:asserted:{i}") for i, c in enumerate(complex_)}

    def by_model(self, assertions: Iterable[owl.Assertion]) -> frozenset[Atom] | None:
        """What T entails of ``assertions``; None if they contradict it. One model of all of them; where that rests on a choice,
        one question after the other."""
        assertions = list(assertions)
        tables, names = self._tables
        module = module_of(tables, assertions, self._asserted)
        if module is not None:
            individuals, whole = module
            outcome = decide(tables, whole, _STEPS + 200 * len(individuals), None)
            if outcome.answer.verdict is Verdict.INCONSISTENT:
                return None
            model = outcome.model
            if model is not None and not model.choices and all(model.alive[: len(individuals)]):
                return self._of(tables, names, model, individuals)
        return self._asked(assertions)

    def _of(self, tables: Tables, names: dict[int, str], model: object, individuals: dict[str, int]) -> frozenset[Atom]:
        found: set[Atom] = set()
        terms = [term(i) for i in individuals]
        codes = [(f"<{role}>", 1 << tables.role(Role(role))) for role in self.roles]
        pairs: dict[str, set[tuple[Any, Any]]] = {text: set() for text, _ in codes}
        for x, own in enumerate(terms):
            pos = model.pos[x]  # type: ignore[attr-defined]
            found.update((text, own) for atom, text in names.items() if pos >> atom & 1)
            for y, roles in model.near[x].items():  # type: ignore[attr-defined]
                if y < len(terms):
                    for text, bit in codes:
                        if roles & bit:
                            pairs[text].add((x, y))
        self._close(pairs)
        found.update((text, terms[x], terms[y]) for text, both in pairs.items() for x, y in both)
        return frozenset(found)

    def _close(self, pairs: dict[str, set[tuple[Any, Any]]]) -> None:
        """Transitive roles were eliminated from what the model is of."""
        box = self._tables[0].tbox.roles
        grown = bool(box.transitive)
        while grown:
            grown = False
            for text, both in pairs.items():
                more = {(a, d) for a, b in both for c, d in both if b == c} if Role(iri(text)) in box.transitive else set()
                for other, theirs in pairs.items():
                    for inverted in (False, True):
                        if Role(iri(text)) in box.superroles(Role(iri(other), inverted)):
                            more |= {(b, a) for a, b in theirs} if inverted else theirs
                if not more <= both:
                    both |= more
                    grown = True

    # --- one by one -------------------------------------------------------------------------------

    def _asked(self, assertions: Sequence[owl.Assertion]) -> frozenset[Atom] | None:
        with Entailer(Premises.of(self.tbox.axioms), list(self.classes), list(self.roles)) as entailer:
            found = entailer.entailed(assertions)
        if found.verdict is Verdict.UNDETERMINED:
            raise UndecidedEntailmentError(found.reason)
        if found.verdict is Verdict.INCONSISTENT:
            return None
        named = {c.iri: f"<{c.iri}>" for c in self.classes if isinstance(c, owl.Class)}
        types = {(named.get(c, c), term(i)) for i, classes in found.types.items() for c in classes}
        return frozenset({*types, *((term(role), term(a), term(b)) for role, a, b in found.pairs)})
