"""Premises (T, B) of entailment, split into the part in SHIQ(D) and the rest; questions about them
and answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from shiq import model as owl
from shiq.answers.verdict import Verdict
from shiq.functional.writer import axiom_text
from shiq.model.abox import ABox, abox_of, individuals_of
from shiq.model.profile import split_assertions, split_axioms
from shiq.model.walk import is_reserved, parts
from shiq.simplify.inclusion import PREFIX


@dataclass(frozen=True)
class EventAssertions:
    """Assertions of an event E, split by whether SHIQ(D) can express them.

    in_shiq: those that SHIQ(D) can express. beyond_shiq: those of OWL 2 DL outside it.
    problems: messages about the others.
    """

    in_shiq: tuple[owl.Assertion, ...] = ()
    beyond_shiq: tuple[owl.Assertion, ...] = ()
    problems: tuple[str, ...] = ()

    @cached_property
    def individuals(self) -> tuple[str, ...]:
        """The individuals that the event mentions, nominals of class assertions included, sorted."""
        return tuple(sorted(mentioned_individuals((*self.in_shiq, *self.beyond_shiq))))


@dataclass(frozen=True, eq=False)
class Premises:
    """Premises (T, B), split by whether SHIQ(D) can express them.

    tbox, abox: the part in SHIQ(D). axioms, assertions: the rest of OWL 2 DL.
    problems: messages about what is neither; with any, there is no answer.
    """

    tbox: owl.TBox
    abox: ABox
    axioms: tuple[owl.Axiom, ...] = ()
    assertions: tuple[owl.Assertion, ...] = ()
    problems: tuple[str, ...] = ()

    @classmethod
    def build(
        cls, axioms: Iterable[owl.Axiom], assertions: Iterable[owl.Assertion] = ()
    ) -> Premises:
        """Split OWL 2 DL axioms and assertions."""
        given = tuple(dict.fromkeys(axioms))
        inside, reported = split_axioms(given, chains=False)
        outside = dict.fromkeys(axiom for axiom, kind, _ in reported if kind == "outside-shiq")
        unread = [message for _, kind, message in reported if kind not in _READ]
        tbox = owl.TBox(tuple(dict.fromkeys(inside)))
        event = _split_assertions(assertions, tbox.axioms)
        return cls(
            tbox,
            abox_of(event.in_shiq),
            tuple(outside),
            event.beyond_shiq,
            (*unread, *event.problems),
        )

    def split_event(self, assertions: Iterable[owl.Assertion]) -> EventAssertions:
        """Split the ``assertions`` of an event by whether SHIQ(D) can express them with this TBox."""
        return _split_assertions(assertions, self.tbox.axioms)

    def can_express(self, expression: owl.ClassExpression) -> bool:
        """Whether SHIQ(D) can express ``expression`` together with T."""
        name = owl.Class(PREFIX + "entailment:said")
        return isinstance(expression, owl.Class) or not any(
            axiom.sub == expression and kind not in _INSIDE
            for axiom, kind, _ in split_axioms(
                (*self.tbox.axioms, owl.SubClassOf(expression, name)), chains=False
            )[1]
            if isinstance(axiom, owl.SubClassOf)
        )

    @property
    def is_in_shiq(self) -> bool:
        """Decide whether SHIQ(D) can express all axioms and assertions."""
        return not (self.axioms or self.assertions)

    @cached_property
    def all_axioms(self) -> tuple[owl.Axiom, ...]:
        """All axioms of T."""
        return (*self.tbox.axioms, *self.axioms)

    @cached_property
    def all_assertions(self) -> tuple[owl.Assertion, ...]:
        """All assertions of B."""
        return (*self.abox, *self.assertions)

    @cached_property
    def class_names(self) -> frozenset[str]:
        """The class names in T and B, without ⊤, ⊥ and fresh names."""
        return named_classes(
            (*self.all_axioms, *self.abox.complex, *self.assertions)
        ) | _reportable_names(self.abox.classes)


_INSIDE = frozenset({"unknown-datatype"})
_READ = frozenset({"outside-shiq", "unknown-datatype"})


def _split_assertions(
    assertions: Iterable[owl.Assertion], axioms: Sequence[owl.Axiom]
) -> EventAssertions:
    """Split assertions by whether SHIQ(D) can express them together with the axioms."""
    given = list(dict.fromkeys(assertions))
    rest = [a for a in given if not _is_on_names(a)]
    if not rest:
        return EventAssertions(tuple(given))
    inside, reported = split_assertions(rest, axioms)
    outside = dict.fromkeys(a for a, kind, _ in reported if kind == "outside-shiq")
    unread = tuple(message for _, kind, message in reported if kind not in _READ)
    return EventAssertions(
        tuple(dict.fromkeys([*filter(_is_on_names, given), *inside])), tuple(outside), unread
    )


def _is_on_names(assertion: owl.Assertion) -> bool:
    """Decide whether an assertion is of a kind that SHIQ(D) expresses whatever the axioms are: on
    class names and properties.
    """
    match assertion:
        case owl.ClassAssertion(owl.Class()):
            return True
        case owl.ObjectPropertyAssertion(owl.ObjectProperty(iri)) | owl.DataPropertyAssertion(
            owl.DataProperty(iri)
        ):
            return not is_reserved(iri)
    return False


def mentioned_individuals(assertions: Iterable[owl.Assertion]) -> frozenset[str]:
    """The individuals in ``assertions``, nominals of class expressions included."""
    found: set[str] = set()
    for assertion in assertions:
        found.update(individuals_of(assertion))
        if isinstance(assertion, owl.ClassAssertion) and not isinstance(
            assertion.expression, owl.Class
        ):
            found.update(part for part in parts(assertion.expression) if isinstance(part, str))
    return frozenset(found)


def named_classes(values: Iterable[object]) -> frozenset[str]:
    """The class names in ``values``, without ⊤, ⊥ and fresh names."""
    return _reportable_names(
        part.iri for value in values for part in parts(value) if isinstance(part, owl.Class)
    )


def _reportable_names(names: Iterable[str]) -> frozenset[str]:
    """Select the class names that may be in results."""
    return frozenset(filter(is_reportable, names))


def is_reportable(name: str) -> bool:
    """Decide whether a class name may be in results: neither ⊤ nor ⊥ nor a fresh name."""
    return not is_reserved(name) and not name.startswith(PREFIX)


def class_text(expression: owl.ClassExpression) -> str:
    """Text of a class in results: the IRI of a named one, functional syntax for others."""
    return expression.iri if isinstance(expression, owl.Class) else axiom_text(expression)


def denial(expression: owl.ClassExpression, individual: str) -> owl.ClassAssertion:
    """Make the assertion that ``individual`` is no instance of ``expression``."""
    return owl.ClassAssertion(owl.ObjectComplementOf(expression), individual)


def asked_classes(
    premises: Premises, event: EventAssertions, classes: Sequence[owl.ClassExpression] | None
) -> tuple[owl.ClassExpression, ...]:
    """List the classes that a question is about: ``classes`` without ⊤; if None, all that T, B and
    the event name.
    """
    if classes is not None:
        return tuple(c for c in dict.fromkeys(classes) if c != owl.THING)
    names = premises.class_names | named_classes((*event.in_shiq, *event.beyond_shiq))
    return tuple(map(owl.Class, sorted(names)))


#: A role (its IRI), and two individuals.
RolePair: TypeAlias = tuple[str, str, str]
#: Classes by individual: the IRI of a named class, the text of another in functional syntax.
Types: TypeAlias = Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class Entailment:
    """Exact consequences of (T, B ∪ E), if ``verdict`` is CONSISTENT; otherwise nothing is listed.

    types: by individual of E, those of the asked classes that it belongs to.
    pairs: pairs of the asked roles between individuals of E.
    static_types, static_pairs: on request, new consequences about individuals that E does not
        mention; for pairs, at one end.
    reason: why the verdict is UNDETERMINED.
    touches: the individuals whose change alone can change this; None: any.
    changes: those that E may give other classes or links, E's own included; None: any.
    """

    verdict: Verdict
    types: Types = field(default_factory=dict)
    pairs: frozenset[RolePair] = frozenset()
    static_types: Types = field(default_factory=dict)
    static_pairs: frozenset[RolePair] = frozenset()
    reason: str = ""
    touches: frozenset[str] | None = field(default=None, compare=False)
    changes: frozenset[str] | None = field(default=None, compare=False)


def undetermined_entailment(reason: str) -> Entailment:
    """Make an undetermined entailment with this reason."""
    return Entailment(Verdict.UNDETERMINED, reason=reason)


INCONSISTENT = Entailment(Verdict.INCONSISTENT)
