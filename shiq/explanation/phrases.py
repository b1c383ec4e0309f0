"""Class expressions, facts and axioms as English phrases, one clause for each construct.

>>> from shiq.model import Class, ObjectMaxCardinality, ObjectProperty
>>> member_predicate(ObjectMaxCardinality(2, ObjectProperty("urn:v/teachingAssistantOf"), Class("urn:v/Course")), Labels())
'can have at most 2 different “teaching assistant of” links to a Course'

An axiom as a plain sentence.

>>> from shiq.explanation.labels import Labels
>>> value_clause(owl.SubClassOf(Class("urn:v#Cat"), Class("urn:v#Pet")), Labels())
'Every Cat is a Pet.'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from shiq import model as owl
from shiq.explanation.labels import Labels
from shiq.explanation.manchester import expression_text, manchester
from shiq.model import Assertion
from shiq.reasoner.structure import rename_individuals

# Words of a name, its article, and what properties and classes are called.


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+|[^\w\s]+")
_CAMEL = re.compile(r"[a-z0-9][A-Z]|_")


def with_article(name: str) -> str:
    """Put the indefinite article before ``name``."""
    return f"{'an' if _begins_with_vowel(name) else 'a'} {name}"


def _begins_with_vowel(name: str) -> bool:
    """Decide whether a name is pronounced with a vowel at its beginning."""
    word = name.lstrip("“'\"(")
    if re.match(r"(?i)(?:uni(?!n|m)|us[eu]|eur|one\b|u[^a-z]|utility)", word):
        return False
    if re.match(r"[A-Z]{2,}\b|[A-Z]\b", word):
        return word[0] in "AEFHILMNORSX"
    return word[:1].lower() in "aeiou" or word.lower().startswith(("hono", "hour", "heir"))


def split_words(name: str) -> str:
    """Split a camel-case name into words; a label of several words is kept."""
    if " " in name or not _CAMEL.search(name):
        return name
    return " ".join(
        word if len(word) > 1 and word.isupper() else word.lower() for word in _WORD.findall(name)
    )


def property_name(property: Any, labels: Labels) -> str:
    """Return the label of a property, or of the property that an inverse inverts, split into words."""
    iri = property.property.iri if isinstance(property, owl.ObjectInverseOf) else property.iri
    return split_words(labels.name_of(iri))


def quoted_name(property: Any, labels: Labels) -> str:
    """Return the name of a property in quotation marks."""
    return f"“{property_name(property, labels)}”"


_DATATYPES = {
    "string": "a text",
    "integer": "a whole number",
    "nonNegativeInteger": "a whole number from 0 up",
    "positiveInteger": "a whole number from 1 up",
    "int": "a whole number",
    "long": "a whole number",
    "decimal": "a number",
    "double": "a number",
    "float": "a number",
    "boolean": "true or false",
    "date": "a date",
    "dateTime": "a date with time",
    "gYear": "a year",
    "anyURI": "a web address",
}
_FACETS = {
    "minInclusive": "at least {}",
    "maxInclusive": "at most {}",
    "minExclusive": "more than {}",
    "maxExclusive": "less than {}",
    "length": "{} characters long",
    "minLength": "at least {} characters long",
    "maxLength": "at most {} characters long",
    "pattern": "of the form {}",
}
#: How a place that a name is put into later begins.
PLACE = "\ue000"
_BOUNDS = ("minInclusive", "maxInclusive", "minExclusive", "maxExclusive")


@dataclass(frozen=True, slots=True)
class Naming:
    """Functions by which a text names individuals and literals.

    in_general: literals are named by their kind only
    """

    individual: Callable[[str], str]
    literal: Callable[[owl.Literal], str]
    in_general: bool = False


# --- links ----------------------------------------------------------------------------------------


def _link_noun(property: Any, labels: Labels, *, plural: bool = False) -> str:
    """Name a link by a property, such as “knows” link; an inverse property gives an incoming link."""
    incoming = "incoming " if isinstance(property, owl.ObjectInverseOf) else ""
    return f"{incoming}{quoted_name(property, labels)} link{'s' if plural else ''}"


def _preposition(property: Any) -> str:
    """Return "from" for an inverse property, else "to"."""
    return "from" if isinstance(property, owl.ObjectInverseOf) else "to"


# --- classes --------------------------------------------------------------------------------------


def member_noun(expression: Any, labels: Labels) -> str:
    """Describe a member of a class expression by a noun with its article: "a Pump that is broken"."""
    match expression:
        case owl.Class():
            return (
                "anything"
                if expression == owl.THING
                else with_article(labels.name_of(expression.iri))
            )
        case owl.ObjectUnionOf(operands):
            return _comma_list([member_noun(o, labels) for o in operands], "or")
        case owl.ObjectOneOf(individuals):
            return (
                _comma_list([_individual_name(i, labels) for i in individuals], "or")
                or "one of nothing"
            )
        case owl.ObjectIntersectionOf(operands):
            named = [o for o in operands if isinstance(o, owl.Class)]
            others = [member_predicate(o, labels) for o in operands if not isinstance(o, owl.Class)]
            head = (
                _comma_list([member_noun(o, labels) for o in named], "and also")
                if named
                else "something"
            )
            return f"{head} that {_comma_list(others, 'and')}" if others else head
    return f"something that {member_predicate(expression, labels)}"


def every_member(expression: Any, labels: Labels) -> str:
    """Describe all members of a class expression as the subject of a sentence: "every Pump"."""
    if expression == owl.THING:
        return "everything"
    if isinstance(expression, owl.Class):
        return f"every {labels.name_of(expression.iri)}"
    if isinstance(expression, owl.ObjectUnionOf) and all(
        isinstance(o, owl.Class) for o in expression.operands
    ):
        return _comma_list([every_member(o, labels) for o in expression.operands], "and")
    if isinstance(expression, owl.ObjectIntersectionOf) and isinstance(
        expression.operands[0], owl.Class
    ):
        rest = [member_predicate(o, labels) for o in expression.operands[1:]]
        return f"every {labels.name_of(expression.operands[0].iri)} that {_comma_list(rest, 'and')}"
    return f"whatever {member_predicate(expression, labels)}"


def member_predicate(expression: Any, labels: Labels) -> str:
    """Describe a member of a class expression by a verb and its complement: "has a “part” link to a
    Valve".
    """
    match expression:
        case owl.Class():
            if expression == owl.NOTHING:
                return "cannot exist"
            return "exists" if expression == owl.THING else f"is {member_noun(expression, labels)}"
        case owl.ObjectOneOf():
            return f"is {member_noun(expression, labels)}"
        case owl.ObjectComplementOf(operand):
            if isinstance(
                operand, owl.Class | owl.ObjectUnionOf | owl.ObjectIntersectionOf | owl.ObjectOneOf
            ):
                return f"is not {member_noun(operand, labels)}"
            return f"is not something that {member_predicate(operand, labels)}"
        case owl.ObjectIntersectionOf(operands):
            return _comma_list(_share_verbs([member_predicate(o, labels) for o in operands]), "and")
        case owl.ObjectUnionOf(operands):
            return _comma_list(_share_verbs([member_predicate(o, labels) for o in operands]), "or")
        case owl.ObjectSomeValuesFrom(property, filler):
            return f"has {with_article(_link_noun(property, labels))} {_preposition(property)} {_filler_noun(filler, labels)}"
        case owl.ObjectAllValuesFrom(property, filler):
            if isinstance(filler, owl.ObjectComplementOf):
                link = with_article(_link_noun(property, labels))
                return f"cannot have {link} {_preposition(property)} {member_noun(filler.operand, labels)}"
            if filler == owl.NOTHING:
                return f"cannot have any {_link_noun(property, labels)}"
            links = _link_noun(property, labels, plural=True)
            return f"can have {links} only {_preposition(property)} {member_noun(filler, labels)}"
        case owl.ObjectHasValue(property, individual):
            link = with_article(_link_noun(property, labels))
            return f"has {link} {_preposition(property)} {_individual_name(individual, labels)}"
        case owl.ObjectHasSelf(property):
            return (
                f"has {with_article(_link_noun(property, labels))} {_preposition(property)} itself"
            )
        case owl.ObjectMinCardinality(n, property, filler):
            return f"has at least {n} {_link_noun(property, labels, plural=n > 1)}{_filler_suffix(property, filler, labels)}"
        case owl.ObjectMaxCardinality(0, property, filler):
            return f"cannot have any {_link_noun(property, labels)}{_filler_suffix(property, filler, labels)}"
        case owl.ObjectMaxCardinality(n, property, filler):
            many = f"{n} different" if n > 1 else f"{n}"
            links = _link_noun(property, labels, plural=n > 1)
            return f"can have at most {many} {links}{_filler_suffix(property, filler, labels)}"
        case owl.ObjectExactCardinality(n, property, filler):
            return f"has exactly {n} {_link_noun(property, labels, plural=n > 1)}{_filler_suffix(property, filler, labels)}"
        case owl.DataSomeValuesFrom(property, range):
            return (
                f"has {with_article(quoted_name(property, labels))}{_range_suffix(range, labels)}"
            )
        case owl.DataAllValuesFrom(property, range):
            return f"can have as {quoted_name(property, labels)} only {range_noun(range, labels)}"
        case owl.DataHasValue(property, literal):
            return f"has {quoted_name(property, labels)} {plain_literal(literal)}"
        case owl.DataMinCardinality(n, property, range):
            return f"has at least {n} {quoted_name(property, labels)}{_range_suffix(range, labels)}"
        case owl.DataMaxCardinality(0, property, range):
            return f"cannot have any {quoted_name(property, labels)}{_range_suffix(range, labels)}"
        case owl.DataMaxCardinality(n, property, range):
            return f"can have at most {n} {quoted_name(property, labels)}{_range_suffix(range, labels)}"
        case owl.DataExactCardinality(n, property, range):
            return f"has exactly {n} {quoted_name(property, labels)}{_range_suffix(range, labels)}"
    return f"is in ({expression_text(expression, labels)})"


def _individual_name(name: str, labels: Labels) -> str:
    """Return the readable name of an individual in a class expression; placeholders stay."""
    return name if name.startswith(PLACE) else labels.name_of(name)


def _filler_noun(filler: Any, labels: Labels) -> str:
    """Describe a member of a restriction's filler by a noun; "something" for ⊤."""
    return "something" if filler == owl.THING else member_noun(filler, labels)


def _filler_suffix(property: Any, filler: Any, labels: Labels) -> str:
    """Write " to a C" for a restriction's filler C; "" for ⊤."""
    return "" if filler == owl.THING else f" {_preposition(property)} {member_noun(filler, labels)}"


def _range_suffix(range: Any, labels: Labels) -> str:
    """Write " that is a D" for a data range D; "" for the universal one."""
    return "" if range == owl.TOP_DATATYPE else f" that is {range_noun(range, labels)}"


def _share_verbs(predicates: list[str]) -> list[str]:
    """Join predicates with the same verb: "is a B, is a C" becomes "is a B, a C"."""
    if all(p.startswith("is ") and not p.startswith("is not ") for p in predicates):
        return [predicates[0], *(p[3:] for p in predicates[1:])]
    return predicates


def _comma_list(parts: Sequence[str], word: str) -> str:
    """Join parts of a sentence by commas, the last by ``word``."""
    if len(parts) < 2:
        return "".join(parts)
    comma = "," if len(parts) > 2 else ""
    return f"{', '.join(parts[:-1])}{comma} {word} {parts[-1]}"


# --- data -----------------------------------------------------------------------------------------


def range_noun(range: Any, labels: Labels) -> str:
    """Describe a value of a data range by a noun with its article: "a whole number"."""
    match range:
        case owl.Datatype(iri):
            if range == owl.TOP_DATATYPE:
                return "any value"
            if iri == owl.RDF + "langString":
                return "a text with a language"
            known = _DATATYPES.get(iri[len(owl.XSD) :]) if iri.startswith(owl.XSD) else None
            return known or f"a value of type {labels.name_of(iri)}"
        case owl.DataUnionOf(operands):
            return _comma_list([range_noun(o, labels) for o in operands], "or")
        case owl.DataIntersectionOf(operands):
            return _comma_list([range_noun(o, labels) for o in operands], "that is also")
        case owl.DataComplementOf(operand):
            return f"something other than {range_noun(operand, labels)}"
        case owl.DataOneOf(literals):
            return _comma_list([plain_literal(x) for x in literals], "or")
        case owl.DatatypeRestriction(datatype, facets):
            limits = [
                _FACETS.get(
                    re.split("[#/]", facet)[-1], f"{re.split('[#/]', facet)[-1]} {{}}"
                ).format(plain_literal(value))
                for facet, value in facets
            ]
            joint = (
                " of "
                if all(re.split("[#/]", facet)[-1] in _BOUNDS for facet, _ in facets)
                else ", "
            )
            return f"{range_noun(datatype, labels)}{joint}{_comma_list(limits, 'and')}"
    return expression_text(range, labels)


def plain_literal(literal: owl.Literal) -> str:
    """Write a literal for people: numbers and dates bare, all else in quotes; long ones are cut."""
    text = "".join(c if c.isprintable() else " " for c in literal.lexical)
    if len(text) > 80:
        text = text[:77] + "…"
    is_text = (
        literal.datatype == owl.XSD + "string"
        or literal.language
        or not re.fullmatch(r"[-+\w.:]+", text)
    )
    return f"“{text}”" if is_text else text


def literal_kind(literal: owl.Literal, labels: Labels) -> str:
    """Describe the kind of a literal with its article: "a text", "a value of type wktLiteral"."""
    return (
        "a text in a language"
        if literal.language
        else range_noun(owl.Datatype(literal.datatype), labels)
    )


# --- facts ----------------------------------------------------------------------------------------

_PREPOSITIONS = ("of", "by", "to", "in", "at", "on", "with", "from", "for", "under", "as")
_VERBS = ("is", "has", "was", "contains", "includes")


def fact_clause(value: owl.Assertion, names: Naming, labels: Labels) -> str:
    """Write an assertion as an English clause."""
    of = names.individual
    match value:
        case owl.ClassAssertion(expression, x):
            return f"{of(x)} {member_predicate(rename_individuals(expression, of), labels)}"
        case owl.ObjectPropertyAssertion(property, subject, other):
            if isinstance(property, owl.ObjectInverseOf):
                property, subject, other = property.property, other, subject
            return _link_sentence(of(subject), property_name(property, labels), of(other))
        case owl.NegativeObjectPropertyAssertion(property, subject, other):
            return f"there is no {quoted_name(property, labels)} link from {of(subject)} to {of(other)}"
        case owl.DataPropertyAssertion(property, subject, literal):
            return (
                f"{of(subject)} has {names.literal(literal)} as its {quoted_name(property, labels)}"
            )
        case owl.NegativeDataPropertyAssertion(property, subject, literal):
            return f"{of(subject)} does not have {names.literal(literal)} as its {quoted_name(property, labels)}"
        case owl.SameIndividual(first, second):
            return f"{of(first)} and {of(second)} are one and the same"
        case owl.DifferentIndividuals(first, second) if first == second:
            return f"{of(first)} is not itself"
        case owl.DifferentIndividuals(first, second):
            return f"{of(first)} and {of(second)} are two different things"
    raise TypeError(value)


def _link_sentence(subject: str, name: str, other: str) -> str:
    """Write the sentence that ``subject`` has a link to ``other``, with a verb if the property's
    ``name`` has none.
    """
    if _is_noun(name):
        return f"{subject} has {other} as its “{name}”"
    is_verb = name.lower().split(" ")[-1] not in _PREPOSITIONS or _begins_with_verb(name)
    return f"{subject} {'' if is_verb else 'is '}“{name}” {other}"


def _is_noun(name: str) -> bool:
    """Decide whether a property's name is a noun for its value: "advisor", but not "takes course"
    or "member of".
    """
    return not _begins_with_verb(name) and (
        " " not in name or name.lower().split(" ")[-1] not in _PREPOSITIONS
    )


def _begins_with_verb(name: str) -> bool:
    """Decide whether a property's name begins with a verb."""
    first, *rest = name.lower().split(" ")
    return bool(rest) and (
        first in _VERBS or (first.endswith("s") and not first.endswith(("ss", "us", "is")))
    )


# --- axioms ---------------------------------------------------------------------------------------

#: What an axiom on one property alone says of it.
_CHARACTERISTICS: Final[Mapping[type, str]] = {
    owl.FunctionalObjectProperty: "one thing can have {link} {to} only one other",
    owl.InverseFunctionalObjectProperty: "{link} can come to one thing from only one other",
    owl.FunctionalDataProperty: "one thing can have only one {name}",
    owl.InverseFunctionalDataProperty: "only one thing can have a given {name}",
    owl.SymmetricObjectProperty: "{link} always holds in both directions",
    owl.AsymmetricObjectProperty: "{link} can never hold in both directions",
    owl.IrreflexiveObjectProperty: "nothing can have {link} to itself",
    owl.ReflexiveObjectProperty: "everything has {link} to itself",
    owl.TransitiveObjectProperty: "{name} links carry on: from A to B and from B to C means from A to C",
}


def axiom_clause(value: owl.Axiom, labels: Labels) -> str:
    """Write an axiom as an English clause."""
    if template := _CHARACTERISTICS.get(type(value)):
        about: Any = value
        property = about.property
        return template.format(
            name=quoted_name(property, labels),
            link=with_article(_link_noun(property, labels)),
            to=_preposition(property),
        )
    match value:
        case owl.SubClassOf(sub, sup):
            return inclusion_sentence(sub, sup, labels)
        case owl.EquivalentClasses(members):
            first, *rest = sorted(members, key=lambda m: not isinstance(m, owl.Class))
            same = [f"to be {member_noun(m, labels)}" for m in (first, *rest)]
            return (
                f"{same[0]} is the same as {same[1]}"
                if len(same) == 2
                else f"{_comma_list(same, 'and')} are the same"
            )
        case owl.DisjointClasses(members) if len(set(members)) == 1:
            return f"nothing can be {member_noun(members[0], labels)}"
        case owl.DisjointClasses(members):
            if len(members) == 2:
                return f"nothing can be both {member_noun(members[0], labels)} and {member_noun(members[1], labels)}"
            return f"nothing can be two of these at once: {_comma_list([member_noun(m, labels) for m in members], 'and')}"
        case owl.DisjointUnion(cls, members) if len(set(members)) == 1:
            noun = member_noun(members[0], labels)
            return f"every {labels.name_of(cls.iri)} is {noun}, and nothing can be {noun}"
        case owl.DisjointUnion(cls, members):
            nouns = _comma_list([member_noun(m, labels) for m in members], "or")
            return f"every {labels.name_of(cls.iri)} is exactly one of these: {nouns}"
        case owl.SubObjectPropertyOf(sub, sup):
            turned = isinstance(sub, owl.ObjectInverseOf) != isinstance(sup, owl.ObjectInverseOf)
            back = " in the other direction" if turned else ""
            return f"every {quoted_name(sub, labels)} link is also {with_article(quoted_name(sup, labels))} link{back}"
        case owl.SubDataPropertyOf(sub, sup):
            return (
                f"every {quoted_name(sub, labels)} is also {with_article(quoted_name(sup, labels))}"
            )
        case owl.EquivalentObjectProperties(members) | owl.EquivalentDataProperties(members):
            return f"{_comma_list([quoted_name(m, labels) for m in members], 'and')} mean the same"
        case owl.DisjointObjectProperties(members) if len(set(members)) == 1:
            return f"nothing can have {with_article(_link_noun(members[0], labels))} to anything"
        case owl.DisjointDataProperties(members) if len(set(members)) == 1:
            return f"nothing can have {with_article(quoted_name(members[0], labels))}"
        case owl.DisjointObjectProperties(members):
            names = _comma_list([quoted_name(m, labels) for m in members], "and")
            return f"two things can never be linked by more than one of {names}"
        case owl.DisjointDataProperties(members):
            properties = _comma_list([quoted_name(m, labels) for m in members], "and")
            return f"one thing can never have the same value for more than one of {properties}"
        case owl.InverseObjectProperties(first, second):
            return f"{quoted_name(first, labels)} is {quoted_name(second, labels)} in the other direction"
        case owl.ObjectPropertyDomain(property, domain):
            return f"whatever has {with_article(_link_noun(property, labels))} {member_predicate(domain, labels)}"
        case owl.ObjectPropertyRange(property, filler):
            if isinstance(property, owl.ObjectInverseOf):
                return f"whatever has {with_article(_link_noun(property.property, labels))} {member_predicate(filler, labels)}"
            if _is_noun(property_name(property, labels)):
                return f"every {quoted_name(property, labels)} of something {member_predicate(filler, labels)}"
            return f"whatever {with_article(_link_noun(property, labels))} leads to {member_predicate(filler, labels)}"
        case owl.DataPropertyDomain(property, domain):
            return f"whatever has {with_article(quoted_name(property, labels))} {member_predicate(domain, labels)}"
        case owl.DataPropertyRange(property, range):
            return (
                f"{with_article(quoted_name(property, labels))} must be {range_noun(range, labels)}"
            )
        case owl.DatatypeDefinition(datatype, range):
            return f"{with_article(labels.name_of(datatype.iri))} is {range_noun(range, labels)}"
        case owl.SubObjectPropertyChain(chain, sup):
            links = ", then ".join(with_article(_link_noun(link, labels)) for link in chain)
            return f"things connected by {links}, are also connected by {with_article(_link_noun(sup, labels))}"
        case owl.HasKey(expression, roles, data):
            things = (
                "things"
                if expression == owl.THING
                else f"things, each {member_noun(expression, labels)},"
            )
            names = _comma_list(
                [quoted_name(property, labels) for property in (*roles, *data)], "and"
            )
            return f"two named {things} with the same {names} are one and the same"
    return manchester(value, labels)


def inclusion_sentence(sub: Any, sup: Any, labels: Labels) -> str:
    """Write the English sentence that every ``sub`` is a ``sup``."""
    subject, said = every_member(sub, labels), member_predicate(sup, labels)
    if subject.startswith("every ") and said.startswith("cannot "):
        return f"no {subject[6:]} can {said[7:]}"
    if subject.startswith("every ") and said.startswith("is not "):
        return f"no {subject[6:]} is {said[7:]}"
    return f"{subject} {said}"


def value_clause(value: owl.Axiom | Assertion, labels: Labels) -> str:
    """Write an axiom as an English clause, and an assertion in Manchester syntax."""
    if isinstance(value, Assertion):
        return manchester(value, labels)
    said = axiom_clause(value, labels)
    return f"{said[:1].upper()}{said[1:]}."
