"""What T, A and a snapshot entail of named individuals, as ground atoms.

Source: SPEC 1. Where a model is found without a choice, what it says of named individuals is what is entailed; else
`abox_ops.entailment` is asked, one class and role after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from abox_ops.entailment import Entailer, Premises
from shiq import model as owl
from shiq.errors import OperationalError
from shiq.functional.writer import axiom_text
from shiq.reasoner.hypertableau.search import decide
from shiq.reasoner.hypertableau.tables import Tables
from shiq.reasoner.protocol import Module
from shiq.roles import Role
from shiq.verdict import Verdict
from simplify import simplify
from streams.discovery.atomsets import Atom, Atoms
from streams.discovery.horn import Left

_NAMED = "urn:discovery:v"
_STEPS = 50_000


def term(individual: str) -> str:
    """An individual as a text."""
    return individual if individual.startswith(("_:", "?")) else f"<{individual}>"


def iri(text: str) -> str:
    """The individual or role that a text is of."""
    return text[1:-1] if text.startswith("<") else text


@dataclass
class Knowledge:
    """T and A, and V as ``classes``; ``roles``: those that bind."""

    tbox: owl.TBox
    static: Sequence[owl.Assertion]
    classes: Sequence[owl.ClassExpression]
    roles: Sequence[str]
    #: Snapshots of which nothing is known, by the reason.
    undecided: dict[str, int] = field(default_factory=dict)

    @cached_property
    def vocabulary(self) -> dict[str, owl.ClassExpression]:
        """V by text."""
        return {axiom_text(c): c for c in self.classes}

    @cached_property
    def base(self) -> frozenset[Atom] | None:
        """What T ∪ A entails; None if it is inconsistent."""
        return self._all(self.static)

    def entailed(self, assertions: Iterable[owl.Assertion]) -> frozenset[Atom] | None:
        """What T ∪ A ∪ ``assertions`` entails besides; None if it is inconsistent."""
        if self.base is None:
            return None
        found = self._all((*self.static, *assertions))
        return None if found is None else found - self.base

    def closure(self, atoms: Atoms) -> frozenset[Atom]:
        """What ``atoms`` entail by T alone, their variables taken as individuals; nothing if they contradict T."""
        return self._all(self.assertions(atoms)) or frozenset()

    def assertions(self, atoms: Iterable[Atom]) -> list[owl.Assertion]:
        """``atoms`` as assertions."""
        return [
            owl.ClassAssertion(self.vocabulary[atom[0]], iri(atom[1]))
            if len(atom) == 2
            else owl.ObjectPropertyAssertion(owl.ObjectProperty(iri(atom[0])), iri(atom[1]), iri(atom[2]))
            for atom in atoms
        ]

    def is_consistent(self, assertions: Iterable[owl.Assertion], atoms: Iterable[Atom]) -> bool:
        """Whether T ∪ A ∪ ``assertions`` is consistent with some atoms more."""
        return self._all((*self.static, *assertions, *self.assertions(atoms))) is not None

    def with_axioms(self, axioms: Sequence[owl.Axiom]) -> Knowledge:
        """With more in T."""
        return Knowledge(replace(self.tbox, axioms=(*self.tbox.axioms, *axioms)), self.static, self.classes, self.roles)

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

    def _all(self, assertions: Iterable[owl.Assertion]) -> frozenset[Atom] | None:
        assertions = list(assertions)
        tables, names = self._tables
        module = _module(tables, assertions, self._asserted)
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
        pairs: dict[str, set[tuple[int, int]]] = {text: set() for text, _ in codes}
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

    def _close(self, pairs: dict[str, set[tuple[int, int]]]) -> None:
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
            raise OperationalError(f"what is entailed is not known: {found.reason}", "Make the TBox simpler.")
        if found.verdict is Verdict.INCONSISTENT:
            return None
        named = {c.iri: f"<{c.iri}>" for c in self.classes if isinstance(c, owl.Class)}
        types = {(named.get(c, c), term(i)) for i, classes in found.types.items() for c in classes}
        return frozenset({*types, *((term(role), term(a), term(b)) for role, a, b in found.pairs)})


def _module(
    tables: Tables, assertions: Iterable[owl.Assertion], names: Mapping[owl.ClassExpression, owl.Class]
) -> tuple[dict[str, int], Module] | None:
    """``assertions`` as one module; None where some are no names and roles."""
    nodes: dict[str, int] = {}
    positive: dict[int, int] = {}
    edges = []
    ids = tables.tbox.atom_ids
    for assertion in assertions:
        if isinstance(assertion, owl.ClassAssertion) and assertion.expression in names:
            assertion = owl.ClassAssertion(names[assertion.expression], assertion.individual)
        match assertion:
            case owl.ClassAssertion(owl.Class(name), individual):
                x = nodes.setdefault(individual, len(nodes))
                if name == owl.NOTHING.iri:
                    return None
                positive[x] = positive.get(x, 0) | (1 << ids[name] if name in ids else 0)
            case owl.ObjectPropertyAssertion(owl.ObjectProperty(name), subject, object):
                edges.append((nodes.setdefault(subject, len(nodes)), Role(name), nodes.setdefault(object, len(nodes))))
            case _:
                return None
    return nodes, Module(tuple(positive.get(x, 0) for x in range(len(nodes))), (0,) * len(nodes), tuple(edges))
