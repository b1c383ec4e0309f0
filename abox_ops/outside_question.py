"""Write (T, A) with nominals, Self, keys and chains as a question to a full OWL reasoner, without
constructs that reasoners get wrong.

HermiT and Openllet miss consequences of chains above inverses, of transitivity in cycles of
inverses, of negative assertions on roles that are not simple, and of keys on complex classes. So a
nominal gets a name, N ≡ {a}, and ∃r.{a} becomes ∃r.N. ∃r.Self gets a name too. The rest is SHIQ(D)
with chains and takes the usual passes, with `shiq.simplify.chains` for transitivity. A key is put
on a name Q with C ⊑ Q. The result has a model if and only if (T, A) has one.

Keys apply to individuals with IRIs, but blank nodes get names for the reasoner too. These are
excluded by Q ⊒ C ⊓ Named. As a value r_i(x, z) of a key, z would still count though it is blank.
Then the question takes two forms (`OutsideQuestion.weaker`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from shiq import model as owl
from shiq.abox_ops.elements.normal_assertions import normalise
from shiq.answers.verdict import Verdict
from shiq.errors import ReasonerError, UsageError
from shiq.functional.writer import axiom_text
from shiq.model.abox import individuals_of
from shiq.model.built_in import BOTTOM, TOP, remove_built_in
from shiq.model.clause_axioms import role_axioms
from shiq.model.profile import rewrite_for_simple_roles, roles_required_simple
from shiq.model.role_words import IrregularRolesError, RolePaths
from shiq.model.roles import RoleBox, role_of
from shiq.model.walk import is_reserved, parts, rewrite_parts
from shiq.rdf.values_as_nodes import inverse_functional_properties, properties_needing_values
from shiq.rdf.vocabulary import LANGUAGE
from shiq.reasoner.protocol import Answer
from shiq.simplify.chains import eliminate_paths
from shiq.simplify.desugar import ROLE_AXIOMS, desugar
from shiq.simplify.inclusion import PREFIX, Context
from shiq.simplify.locality import names_of
from shiq.simplify.nnf import to_nnf
from shiq.simplify.normal_form import normal_form

V = TypeVar("V")
_NOMINALS = (owl.ObjectOneOf, owl.ObjectHasValue)

#: Holds of what an IRI names, where keys have to tell.
NAMED = owl.Class(PREFIX + "named")

#: Top and bottom properties go through the passes under names of their own.
_STAND_INS = {iri: PREFIX + iri.rpartition("#")[2] for iri in TOP | BOTTOM}
_BUILT_IN = {name: iri for iri, name in _STAND_INS.items()}


@dataclass(frozen=True)
class OutsideQuestion:
    """An ontology written so that a full OWL reasoner can decide it.

    weaker: the axioms without the keys that blank nodes may be values of, if there are any. If
        these are inconsistent with ``assertions``, so is (T, A). If ``axioms`` are consistent, so
        is (T, A).
    """

    axioms: tuple[owl.Axiom, ...]
    assertions: tuple[owl.Assertion, ...]
    weaker: tuple[owl.Axiom, ...] | None = None


def write_question(
    axioms: Sequence[owl.Axiom], assertions: Iterable[owl.Assertion]
) -> OutsideQuestion:
    """Rewrite (T, A) for the reasoner. Raises IrregularRolesError where ``axioms`` break a global restriction
    of OWL 2 DL, `UsageError` where something cannot be expressed.
    """
    assertions = list(assertions)
    if tops := inverse_functional_properties(axioms):
        if len(tops) > 1 and any(
            isinstance(part, _NOMINALS) for value in (*axioms, *assertions) for part in parts(value)
        ):
            raise IrregularRolesError(
                f"<{min(tops)}> and others are inverse functional data properties, beside nominals"
            )
        expressions = [a.expression for a in assertions if isinstance(a, owl.ClassAssertion)]
        if asked := properties_needing_values([*axioms], expressions):
            raise IrregularRolesError(
                f"<{min(asked)}> may have values that nothing asserts, and individuals with one of them would be one"
            )
        axioms = [
            axiom for axiom in axioms if not isinstance(axiom, owl.InverseFunctionalDataProperty)
        ]
    return _QuestionWriter(axioms).write(assertions)


def ask_question(
    axioms: Sequence[owl.Axiom],
    assertions: Iterable[owl.Assertion],
    ask: Callable[[Sequence[owl.Axiom], Sequence[owl.Assertion]], Answer],
) -> Answer:
    """Decide whether (T, A) is consistent by a reasoner that ``ask`` calls: once, or twice where
    the question has two forms.
    """
    try:
        put = write_question(axioms, assertions)
        answer = ask(put.axioms, put.assertions)
        if put.weaker is not None and answer.verdict is Verdict.INCONSISTENT:
            answer = ask(put.weaker, put.assertions)
            if answer.verdict is Verdict.CONSISTENT:
                return Answer(
                    Verdict.UNDETERMINED,
                    "a contradiction rests on a key with a blank node for its value",
                )
        return answer
    except (IrregularRolesError, UsageError, ReasonerError) as obstacle:
        return Answer(Verdict.UNDETERMINED, " ".join(str(obstacle).split()))


class _QuestionWriter:
    """Writer of questions to a full reasoner about one TBox, whose axioms are sorted by how they
    must be written. Raises: IrregularRolesError.
    """

    def __init__(self, axioms: Sequence[owl.Axiom]) -> None:
        self.axioms = plain = [
            rewrite_parts(p, _replace_built_in) for axiom in axioms for p in remove_built_in(axiom)
        ]
        self.paths = RolePaths(plain)
        self.roles: RoleBox = self.paths.roles
        self.meanings: dict[owl.Class, owl.ClassExpression] = {}
        self.shiq_axioms: list[owl.Axiom] = []
        self.keys: list[owl.HasKey] = []
        self.extra_axioms: list[owl.Axiom] = []
        for axiom in plain:
            self._sort_axiom(rewrite_for_simple_roles(axiom, self.roles))

    def _sort_axiom(self, axiom: owl.Axiom) -> None:
        """Put an axiom into the list for the way in which it must be written. Raises: IrregularRolesError."""
        if named := names_of((axiom,)) & LANGUAGE:
            raise IrregularRolesError(
                f"<{min(named)}> means more than a reasoner of OWL 2 DL knows, and the data reaches {_written_text(axiom)}"
            )
        for property, use in roles_required_simple(axiom):
            self._require_simple(property, use, axiom)
        if isinstance(
            axiom, (*ROLE_AXIOMS.__args__, owl.SubObjectPropertyChain)
        ) and _uses_stand_in(axiom):
            raise IrregularRolesError(
                f"a top or bottom property in an axiom on roles is not decided: {_written_text(axiom)}"
            )
        if isinstance(axiom, owl.HasKey) and _uses_stand_in(replace(axiom, expression=owl.THING)):
            raise IrregularRolesError(
                f"a key of a top property alone is not decided: {_written_text(axiom)}"
            )
        match axiom:
            case owl.SubObjectPropertyChain():
                pass
            case owl.ReflexiveObjectProperty(property):
                # The property need not be simple, and a loop must be.
                loop = owl.ObjectProperty(PREFIX + "loop:" + _text_digest(axiom))
                self.extra_axioms += [
                    owl.SubObjectPropertyOf(loop, property),
                    owl.ReflexiveObjectProperty(loop),
                ]
            case owl.HasKey():
                for property in axiom.object_properties:
                    self._require_simple(property, "a role of a key, for HermiT to see it,", axiom)
                self.keys.append(axiom)
            case owl.DatatypeDefinition():
                self.extra_axioms.append(axiom)
            case _:
                self.shiq_axioms.append(self._name_nominals(axiom))

    def _require_simple(
        self, property: owl.ObjectPropertyExpression, use: str, axiom: owl.Axiom | owl.Assertion
    ) -> None:
        """Check that a property is simple where OWL 2 DL requires it. Raises: IrregularRolesError."""
        if not self.roles.is_simple(role_of(property)):
            raise IrregularRolesError(
                f"{use} must be simple, but {_written_text(property)} is above a property chain or a transitive role "
                f"(OWL 2 DL, section 11.2): {_written_text(axiom)}"
            )

    def write(self, assertions: Iterable[owl.Assertion]) -> OutsideQuestion:
        """Write the question whether the TBox is consistent with ``assertions``."""
        said: dict[owl.Assertion, None] = {}
        definitions: dict[owl.SubClassOf, None] = {}
        individuals: dict[str, None] = {}
        for assertion in assertions:
            if self.keys:
                individuals.update(dict.fromkeys(individuals_of(assertion)))
            if isinstance(assertion, owl.ClassAssertion) and not isinstance(
                assertion.expression, owl.Class
            ):
                assertion = rewrite_for_simple_roles(
                    self._name_nominals(rewrite_parts(assertion, _replace_built_in)), self.roles
                )
                for property, use in roles_required_simple(assertion):
                    self._require_simple(property, use, assertion)
            elif not isinstance(assertion, owl.NegativeObjectPropertyAssertion):
                said[assertion] = None
                continue
            normal = normalise(assertion, self.roles)
            said.update(dict.fromkeys(normal.assertions))
            definitions.update(dict.fromkeys(normal.definitions))
        said = dict.fromkeys(
            _relevant_assertions(said, [*self.axioms, *definitions, *self.meanings])
        )
        are_blank = any(name.startswith("_:") for name in individuals)
        if are_blank:
            named = {
                part for axiom in self.shiq_axioms for part in parts(axiom) if isinstance(part, str)
            }
            named |= {
                i
                for meaning in self.meanings.values()
                for i in parts(meaning)
                if isinstance(i, str)
            }
            said.update(
                (owl.ClassAssertion(NAMED, i), None)
                for i in sorted({*individuals, *named})
                if not i.startswith("_:")
            )
        doubtful = [key for key in self.keys if are_blank and key.object_properties]
        sure = [key for key in self.keys if key not in doubtful]
        weaker = (
            tuple(self._write_axioms([*definitions], sure, named_only=are_blank))
            if doubtful
            else None
        )
        return OutsideQuestion(
            tuple(self._write_axioms([*definitions], self.keys, named_only=are_blank)),
            tuple(said),
            weaker,
        )

    def _write_axioms(
        self, definitions: list[owl.SubClassOf], keys: Iterable[owl.HasKey], *, named_only: bool
    ) -> list[owl.Axiom]:
        """Write the axioms with the definitions of names and the given keys. ``named_only``: keys
        apply to named individuals.
        """
        inside = [*self.shiq_axioms, *definitions]
        sent: list[owl.Axiom] = []
        for key in keys:
            name, members = (
                owl.Class(PREFIX + "key:" + _text_digest(key)),
                self._name_nominals(key.expression),
            )
            inside.append(
                owl.SubClassOf(
                    owl.ObjectIntersectionOf((members, NAMED)) if named_only else members, name
                )
            )
            sent.append(owl.HasKey(name, key.object_properties, key.data_properties))
        context = Context(roles=self.roles)
        inclusions = normal_form(to_nnf(desugar(inside, context), context), context)
        inclusions = eliminate_paths(inclusions, context, self.paths)
        sent = [
            *(owl.SubClassOf(inclusion.sub, inclusion.sup) for inclusion in inclusions),
            *role_axioms(self.roles),
            *self.extra_axioms,
            *sent,
            *(owl.EquivalentClasses((name, meaning)) for name, meaning in self.meanings.items()),
        ]
        return [rewrite_parts(axiom, _restore_built_in) for axiom in dict.fromkeys(sent)]

    def _name_nominals(self, value: V) -> V:
        """Replace the nominals and Self restrictions in ``value`` by names."""
        return rewrite_parts(value, self._name_for_part)

    def _name_for_part(self, part: object) -> object | None:
        """Replace ``part``, if it is a nominal or Self restriction, by a name; None for other
        parts.
        """
        match part:
            case owl.ObjectHasValue(property, individual):
                return owl.ObjectSomeValuesFrom(
                    property, self._name_expression(owl.ObjectOneOf((individual,)))
                )
            case owl.ObjectOneOf() | owl.ObjectHasSelf():
                return self._name_expression(part)
        return None

    def _name_expression(self, expression: owl.ClassExpression) -> owl.Class:
        """Make a class name that stands for a class expression."""
        name = owl.Class(PREFIX + "meaning:" + _text_digest(expression))
        self.meanings[name] = expression
        return name


def _relevant_assertions(
    assertions: Iterable[owl.Assertion], axioms: Iterable[object]
) -> list[owl.Assertion]:
    """Select the ``assertions``, consistent by themselves, that can contradict ``axioms``.

    A positive assertion on a name that occurs nowhere else cannot. Negative assertions may, when
    individuals become equal.
    """
    assertions = list(assertions)
    names = names_of([*axioms, *(a for a in assertions if not _is_positive_on_names(a))]) | {
        owl.NOTHING.iri
    }

    def can_contradict(assertion: owl.Assertion) -> bool:
        """Decide whether an assertion is on a name that the axioms constrain."""
        match assertion:
            case owl.ClassAssertion(owl.Class(iri), _):
                return iri in names
            case owl.ObjectPropertyAssertion(property, _, _) | owl.DataPropertyAssertion(
                property, _, _
            ):
                return any(name in names or is_reserved(name) for name in names_of((property,)))
        return True

    return [assertion for assertion in assertions if can_contradict(assertion)]


def _is_positive_on_names(assertion: owl.Assertion) -> bool:
    """Decide whether an assertion is positive, on a named class or a property."""
    if isinstance(assertion, owl.ClassAssertion):
        return isinstance(assertion.expression, owl.Class)
    return isinstance(assertion, owl.ObjectPropertyAssertion | owl.DataPropertyAssertion)


def _replace_built_in(part: object) -> object | None:
    """Replace a built-in (top or bottom) property by the stand-in that reasoners understand."""
    return _rename_property(part, _STAND_INS)


def _restore_built_in(part: object) -> object | None:
    """Replace a stand-in by the built-in (top or bottom) property."""
    return _rename_property(part, _BUILT_IN)


def _rename_property(part: object, names: dict[str, str]) -> object | None:
    """Rename ``part``, if it is a property that ``names`` has; None for other parts."""
    if isinstance(part, owl.ObjectProperty | owl.DataProperty) and part.iri in names:
        return type(part)(names[part.iri])
    return None


def _uses_stand_in(axiom: owl.Axiom) -> bool:
    """Decide whether an axiom uses the stand-in of a top or bottom property."""
    return any(
        isinstance(part, owl.ObjectProperty | owl.DataProperty) and part.iri in _BUILT_IN
        for part in parts(axiom)
    )


def _written_text(value: object) -> str:
    """Write a value in functional syntax, with built-in properties in place of stand-ins."""
    return axiom_text(rewrite_parts(value, _restore_built_in))  # type: ignore[arg-type]


def _text_digest(value: object) -> str:
    """Hash the functional syntax of a value."""
    return hashlib.sha256(axiom_text(value).encode()).hexdigest()[:24]  # type: ignore[arg-type]
