"""What T, A and a snapshot entail of named individuals, as ground atoms.

Source: docs/DISCOVERY.md. `shiq.abox_ops.entailment` is asked, with a name for each class of V.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from shiq import model as owl
from shiq.abox_ops.entailment import Entailer, Entailment, Premises
from shiq.abox_ops.entailment.result import Types
from shiq.answers.verdict import Leftover, Verdict
from shiq.errors import OperationalError
from shiq.functional.writer import axiom_text
from shiq.streams.discovery.atomsets import Atom, Atoms, iri, term

# Axioms so that what is Horn stays Horn: a class on the left that is a conjunction with
# restrictions in it gets them by name.
#
# A ⊓ ∃r.(B ⊓ ∃s.C) ⊑ D becomes ∃s.C ⊑ Q₁, B ⊓ Q₁ ⊑ Q₂, ∃r.Q₂ ⊑ Q₃, A ⊓ Q₃ ⊑ D; as clauses of SHIQ
# the first would leave a choice between D and ∀r.¬…. The names are new, so nothing else follows.


_PREFIX = "urn:discovery:q"


@dataclass
class Left:
    """Names what stands on the left of inclusions; ``axioms``: what the names are about."""

    axioms: list[owl.Axiom] = field(default_factory=list)
    _names: dict[owl.ClassExpression, owl.Class] = field(default_factory=dict)

    def rewritten(self, given: Iterable[owl.Axiom]) -> list[owl.Axiom]:
        """``given``, and the axioms of the names that it takes."""
        found = [axiom for each in given for axiom in self._axiom(each)]
        return [*found, *self.axioms]

    def _axiom(self, axiom: owl.Axiom) -> Iterator[owl.Axiom]:
        match axiom:
            case owl.SubClassOf(sub, sup):
                yield owl.SubClassOf(self.left(sub), sup)
            case owl.EquivalentClasses(expressions) if any(
                not isinstance(e, owl.Class) for e in expressions
            ):
                for first, second in zip(expressions, (*expressions[1:], expressions[0])):
                    yield owl.SubClassOf(self.left(first), second)
            case _:
                yield axiom

    def left(self, expression: owl.ClassExpression) -> owl.ClassExpression:
        """An expression with no restriction inside another or a conjunction, which it includes."""
        match expression:
            case owl.ObjectIntersectionOf(operands):
                return owl.ObjectIntersectionOf(tuple(map(self._name, operands)))
            case owl.ObjectSomeValuesFrom(property, filler):
                return owl.ObjectSomeValuesFrom(property, self._name(filler))
        return expression

    def _name(self, expression: owl.ClassExpression) -> owl.ClassExpression:
        if not isinstance(expression, owl.ObjectIntersectionOf | owl.ObjectSomeValuesFrom):
            return expression
        found = self._names.get(expression)
        if found is None:
            found = self._names[expression] = owl.Class(f"{_PREFIX}:{len(self._names)}")
            self.axioms.append(owl.SubClassOf(self.left(expression), found))
        return found


_NAMED = "urn:discovery:v"


class UndecidedEntailmentError(OperationalError):
    """That it is not known what something entails; where T ∪ A is no part of it, it is left out
    and named.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"what is entailed is not known: {reason}",
            "Make the TBox simpler; --allow outside-shiq leaves out what lies beyond SHIQ(D).",
        )
        self.reason = reason


@dataclass
class MinerKnowledge:
    """T and A, and V as ``classes``; ``roles``: those that bind; ``undecided``: what was left
    out, and why.
    """

    tbox: owl.TBox
    static: Sequence[owl.Assertion]
    classes: Sequence[owl.ClassExpression]
    roles: Sequence[str]
    undecided: dict[str, str] = field(default_factory=dict)
    #: What some types say beside others, by texts.
    _new: dict[tuple[frozenset[str], frozenset[str]], tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def vocabulary(self) -> dict[str, owl.ClassExpression]:
        """V by text."""
        return {axiom_text(c): c for c in self.classes}

    def leftovers(self) -> list[Leftover]:
        """What was left out since it is undecided."""
        return [
            Leftover("undecided", f"{what}: {reason}") for what, reason in self.undecided.items()
        ]

    @cached_property
    def base(self) -> frozenset[Atom] | None:
        """What T ∪ A entails; None if it is inconsistent. Raises: UndecidedEntailmentError."""
        found = _decided(self._of_static)
        return None if found is None else frozenset(self._atoms(found, {}))

    def entailed(self, assertions: Iterable[owl.Assertion]) -> frozenset[Atom] | None:
        """What T ∪ A ∪ ``assertions`` entails besides; None if it is inconsistent. Raises:
        UndecidedEntailmentError.
        """
        base = self.base
        found = (
            None if base is None else _decided(self._beside_static.entailed(self._said(assertions)))
        )
        if base is None or found is None:
            return None
        return frozenset(
            atom
            for atom in self._atoms(found, self._of_static.types)
            if len(atom) == 2 or atom not in base
        )

    def closure(self, atoms: Atoms) -> frozenset[Atom]:
        """What ``atoms`` entail by T alone, their variables taken as individuals; nothing if
        they contradict T.
        """
        try:
            found = _decided(self._alone.entailed(self._said(self.assertions(atoms))))
        except UndecidedEntailmentError as undecided:
            self.undecided["what the TBox makes of a body"] = undecided.reason
            found = None
        return frozenset() if found is None else frozenset(self._atoms(found, {}))

    def assertions(self, atoms: Iterable[Atom]) -> list[owl.Assertion]:
        """``atoms`` as assertions."""
        return [
            owl.ClassAssertion(self.vocabulary[atom[0]], iri(atom[1]))
            if len(atom) == 2
            else owl.ObjectPropertyAssertion(
                owl.ObjectProperty(iri(atom[0])), iri(atom[1]), iri(atom[2])
            )
            for atom in atoms
        ]

    def is_consistent(self, assertions: Iterable[owl.Assertion], atoms: Iterable[Atom]) -> bool:
        """Whether T ∪ A ∪ ``assertions`` is consistent with some atoms more. Raises:
        UndecidedEntailmentError.
        """
        return (
            _decided(
                self._beside_static.entailed(self._said((*assertions, *self.assertions(atoms))))
            )
            is not None
        )

    def with_axioms(self, axioms: Sequence[owl.Axiom]) -> MinerKnowledge:
        """With more in T."""
        return MinerKnowledge(
            replace(self.tbox, axioms=(*self.tbox.axioms, *axioms)),
            self.static,
            self.classes,
            self.roles,
        )

    # --- asking -----------------------------------------------------------------------------------

    @cached_property
    def _axioms(self) -> list[owl.Axiom]:
        """T, each class of V below its name, and the names that classes of V are asserted by."""
        defined = [owl.SubClassOf(c, owl.Class(name)) for name, c in zip(self._names, self.classes)]
        return Left().rewritten(
            (
                *self.tbox.axioms,
                *defined,
                *(owl.SubClassOf(name, c) for c, name in self._asserted.items()),
            )
        )

    @cached_property
    def _names(self) -> dict[str, str]:
        """V by name."""
        return {f"{_NAMED}:{i}": text for i, text in enumerate(self.vocabulary)}

    @cached_property
    def _asserted(self) -> dict[owl.ClassExpression, owl.Class]:
        """Names for the classes of V that have none, to assert them by."""
        complex_ = [c for c in self.classes if not isinstance(c, owl.Class)]
        return {c: owl.Class(f"{_NAMED}:asserted:{i}") for i, c in enumerate(complex_)}

    @cached_property
    def _beside_static(self) -> Entailer:
        return self._entailer(self.static)

    @cached_property
    def _alone(self) -> Entailer:
        return self._entailer(())

    def _entailer(self, static: Sequence[owl.Assertion]) -> Entailer:
        premises = Premises.of(self._axioms, self._said(static))
        return Entailer(
            premises,
            [owl.Class(name) for name in self._names],
            list(self.roles),
            static=bool(static),
        )

    def _said(self, assertions: Iterable[owl.Assertion]) -> list[owl.Assertion]:
        """``assertions``, with classes of V by their names."""
        names = self._asserted
        return [
            owl.ClassAssertion(names[a.expression], a.individual)
            if isinstance(a, owl.ClassAssertion)
            and type(a.expression) is not owl.Class
            and a.expression in names
            else a
            for a in assertions
        ]

    @cached_property
    def _of_static(self) -> Entailment:
        return self._beside_static.of_base()

    def _atoms(self, found: Entailment, before: Types) -> Iterator[Atom]:
        """What was found, of classes less what was known ``before``."""
        names, new = self._names, self._new
        for types in (found.types, found.static_types):
            for individual, classes in types.items():
                key = classes, before.get(individual, _NONE)
                if key not in new:
                    new[key] = tuple(names[name] for name in sorted(key[0] - key[1]))
                if new[key]:
                    own = term(individual)
                    for text in new[key]:
                        yield text, own
        for pairs in (found.pairs, found.static_pairs):
            for role, first, second in pairs:
                yield f"<{role}>", term(first), term(second)


_NONE: frozenset[str] = frozenset()


def _decided(found: Entailment) -> Entailment | None:
    """What was found; None for a contradiction. Raises: UndecidedEntailmentError."""
    if found.verdict is Verdict.UNDETERMINED:
        raise UndecidedEntailmentError(found.reason)
    return None if found.verdict is Verdict.INCONSISTENT else found
