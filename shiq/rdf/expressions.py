"""Build class expressions, data ranges and property expressions from the triples of a graph.

Each node is built once. Every expression keeps its triples. Expressions that are nested too deeply
for recursion are refused.

Source: OWL 2 Mapping to RDF Graphs, section 3.2.4 (tables 11 to 15), with the forms of OWL 1 that
    it keeps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from shiq import model as owl
from shiq.model.walk import is_reserved
from shiq.rdf.graph import OpenPropertyError, UnmappedError, VocabularyGraph, read_list
from shiq.rdf.name_kinds import DATA, OBJECT, NameKinds
from shiq.rdf.triples import Term, term_text
from shiq.rdf.vocabulary import (
    CARDINALITIES,
    FACETS,
    FILLERS,
    LANGUAGE_CLASSES,
    LANGUAGE_PROPERTIES,
    OPERATORS,
    ORDINARY_CLASSES,
    PLAIN_PROPERTIES,
    TYPE,
    is_member_property,
)

#: Deeper or larger expressions are refused: what walks them by recursion, or compares them, must
#: not break down later.
MAX_DEPTH = 200
MAX_SIZE = 1_000_000
Key: TypeAlias = tuple[str, str, int]  # sort, node, defining triple (-1: the only one)
CLASS, RANGE = "class", "range"
_ON_PROPERTY, _ON_PROPERTIES = owl.OWL + "onProperty", owl.OWL + "onProperties"
_ON_CLASS, _ON_DATA_RANGE = owl.OWL + "onClass", owl.OWL + "onDataRange"
_CLASS_TYPES = frozenset((owl.OWL + "Class", owl.RDFS + "Class", owl.OWL + "Restriction"))
_RANGE_TYPES = frozenset((owl.RDFS + "Datatype", owl.OWL + "DataRange", owl.RDFS + "Class"))
_INTEGERS = frozenset(
    owl.XSD + name
    for names in (
        (
            "integer",
            "long",
            "int",
            "short",
            "byte",
            "nonNegativeInteger",
            "positiveInteger",
            "nonPositiveInteger",
        ),
        ("unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte", "decimal", "string"),
    )
    for name in names
)
#: What is made of a word of OWL, by the sort of its operands.
_CARDINALITIES: Final[Mapping[tuple[str, str], Any]] = {
    (CLASS, "min"): owl.ObjectMinCardinality,
    (CLASS, "max"): owl.ObjectMaxCardinality,
    (CLASS, "exact"): owl.ObjectExactCardinality,
    (RANGE, "min"): owl.DataMinCardinality,
    (RANGE, "max"): owl.DataMaxCardinality,
    (RANGE, "exact"): owl.DataExactCardinality,
}
_RESTRICTIONS: Final[Mapping[tuple[str, str], Any]] = {
    (CLASS, "someValuesFrom"): owl.ObjectSomeValuesFrom,
    (CLASS, "allValuesFrom"): owl.ObjectAllValuesFrom,
    (RANGE, "someValuesFrom"): owl.DataSomeValuesFrom,
    (RANGE, "allValuesFrom"): owl.DataAllValuesFrom,
}
_BOOLEAN: Final[Mapping[tuple[str, str], Any]] = {
    (CLASS, "intersectionOf"): owl.ObjectIntersectionOf,
    (CLASS, "unionOf"): owl.ObjectUnionOf,
    (RANGE, "intersectionOf"): owl.DataIntersectionOf,
    (RANGE, "unionOf"): owl.DataUnionOf,
}
#: The same of no operands.
_EMPTY: Final[Mapping[tuple[str, str], Any]] = {
    (CLASS, "intersectionOf"): owl.THING,
    (CLASS, "unionOf"): owl.NOTHING,
    (RANGE, "intersectionOf"): owl.TOP_DATATYPE,
    (RANGE, "unionOf"): owl.DataComplementOf(owl.TOP_DATATYPE),
}


class _TooDeepError(UnmappedError):
    """Signal: an expression is nested too deeply or too large; its subexpressions may still be
    used.
    """

    def __init__(self, what: str) -> None:
        super().__init__(
            "malformed", f"a class expression {what}", "give the inner parts names of their own"
        )


@dataclass
class _Construct:
    """A construct (restriction, intersection, …): its value, its own triples, its operands, and its
    depth and size as a tree.
    """

    value: Any = None
    triples: list[int] = field(default_factory=list)
    operands: list[Key] = field(default_factory=list)
    depth: int = 1
    size: int = 1


class Expressions:
    """Builder of the OWL expressions of one graph of triples. Each node is built once."""

    def __init__(self, graph: VocabularyGraph, kinds: NameKinds) -> None:
        self._graph = graph
        self._kinds = kinds
        self._built: dict[Key, _Construct | UnmappedError] = {}
        self._open: set[Key] = set()
        #: Blank nodes with several descriptions, each the class of them all: their first triple,
        #: and the classes that they describe.
        self.several: dict[int, owl.EquivalentClasses] = {}

    # --- what callers ask for ---

    def class_expression(self, node: Term, used: list[Key]) -> owl.ClassExpression:
        """Build the class expression at ``node``, and append its key to ``used``. Raises:
        UnmappedError.
        """
        return self._build(CLASS, node, used)

    def data_range(self, node: Term, used: list[Key]) -> owl.DataRange:
        """Build the data range at ``node``, and append its key to ``used``. Raises: UnmappedError."""
        return self._build(RANGE, node, used)

    def owl1_definition(self, triple: int, used: list[Key], *, datatype: bool = False) -> Any:
        """Build the expression by which ``triple`` defines a named class or datatype, as OWL 1
        allows (``unionOf`` on a name).

        Raises: UnmappedError.
        """
        return self._build(RANGE if datatype else CLASS, self._graph.subjects[triple], used, triple)

    def triples_of(self, keys: Iterable[Key], done: set[Key]) -> Iterator[int]:
        """Yield the triples of the expressions ``keys`` and their subexpressions, except
        expressions in ``done``; then add them to it.
        """
        stack = list(keys)
        while stack:
            key = stack.pop()
            built = self._built.get(key)
            if key not in done and isinstance(built, _Construct):
                done.add(key)
                yield from built.triples
                stack += built.operands

    def object_property(self, node: Term, triples: list[int]) -> owl.ObjectPropertyExpression:
        """Build the object property or inverse at ``node``, and append its triples to ``triples``.
        Raises: UnmappedError.

        Raises: UnmappedError.
        """
        if not isinstance(node, str):
            raise UnmappedError(
                "malformed", f"the literal {term_text(node)} where a property is expected"
            )
        if not node.startswith("_:"):
            self._require_kind(node, OBJECT)
            return owl.ObjectProperty(node)
        inverse, named = _inverse_triple(self._graph, node)
        if not isinstance(named, str) or named.startswith("_:"):
            raise UnmappedError(
                "malformed", f"an inverse of {term_text(named)}, which is no named property"
            )
        self._require_kind(named, OBJECT)
        triples += (inverse, *self._graph.find(node, TYPE))
        return owl.ObjectInverseOf(owl.ObjectProperty(named))

    def data_property(self, node: Term) -> owl.DataProperty:
        """Return the data property at ``node``. Raises: UnmappedError."""
        if not isinstance(node, str) or node.startswith("_:"):
            raise UnmappedError("malformed", f"{term_text(node)} where a data property is expected")
        self._require_kind(node, DATA)
        return owl.DataProperty(node)

    def property_kind(self, node: Term) -> str:
        """Return the kind of the property at ``node``: `OBJECT`, `DATA` or `ANNOTATION`. Raises:
        UnmappedError if unknown.
        """
        if not isinstance(node, str):
            raise UnmappedError(
                "malformed", f"the literal {term_text(node)} where a property is expected"
            )
        if node.startswith("_:"):
            return OBJECT
        kind = self._kinds.property_kind(node)
        if node in LANGUAGE_PROPERTIES:
            return OBJECT
        if (
            not kind
            and is_reserved(node)
            and node not in PLAIN_PROPERTIES
            and not is_member_property(node)
        ):
            raise UnmappedError(
                "malformed", f"{term_text(node)} where a property of the ontology is expected"
            )
        if not kind:
            raise OpenPropertyError(node)
        return kind

    def _require_kind(self, iri: str, kind: str) -> None:
        """Check that a property has ``kind``. Raises: UnmappedError."""
        found = self.property_kind(iri)
        if found != kind:
            article = "an object" if kind == OBJECT else f"a {kind}"
            raise UnmappedError(
                "malformed", f"the {found} property <{iri}> where {article} property is expected"
            )

    def defining_triples(self, node: str) -> list[int]:
        """Find the triples that define the expression at ``node``: an operator, or the filler of a
        restriction.
        """
        by_predicate = self._graph.by_subject.get(node, {})
        restricts = _ON_PROPERTY in by_predicate or _ON_PROPERTIES in by_predicate
        found: list[int] = []
        for predicate, indexes in by_predicate.items():
            if (
                predicate in OPERATORS
                or predicate == owl.OWL + "onDatatype"
                or (restricts and predicate in FILLERS)
            ):
                found += indexes
        return found

    # --- constructs ---

    def _build(self, sort: str, node: Term, used: list[Key], triple: int = -1) -> Any:
        """Build the expression of a ``sort`` at ``node``; of several descriptions the one that
        ``triple`` begins. Append its key to ``used``. Raises: UnmappedError.

        Terminates: every node is built once, and a node inside itself is an error.
        """
        if triple < 0 and (named := self._value_of_name(sort, node)) is not None:
            return named
        key = (sort, str(node), triple)
        used.append(key)
        if key in self._open:
            raise UnmappedError(
                "malformed", f"the class expression at {term_text(node)} contains itself"
            )
        if key not in self._built:
            if len(self._open) >= MAX_DEPTH:
                raise _TooDeepError(f"nested deeper than {MAX_DEPTH} levels")
            self._open.add(key)
            build = self._build_class if sort == CLASS else self._build_range
            made = _Construct()
            try:
                made.value = build(str(node), triple, made)
                self._built[key] = self._measure(made)
            except _TooDeepError:
                raise
            except UnmappedError as error:
                self._built[key] = error
            finally:
                self._open.discard(key)
        found = self._built[key]
        if isinstance(found, UnmappedError):
            raise found
        return found.value

    def _measure(self, made: _Construct) -> _Construct:
        """Set depth and size of a construct by its operands, and return it. Raises: UnmappedError
        if it is too deep or too large.
        """
        for inner in map(self._built.get, made.operands):
            assert isinstance(inner, _Construct)
            made.depth = max(made.depth, inner.depth + 1)
            made.size += inner.size
        if made.depth > MAX_DEPTH:
            raise _TooDeepError(f"nested deeper than {MAX_DEPTH} levels")
        if made.size > MAX_SIZE:
            raise _TooDeepError(f"of over {MAX_SIZE} parts")
        return made

    def _value_of_name(self, sort: str, node: Term) -> Any:
        """Return the class, datatype or property that a node names; None for a blank node. Raises:
        UnmappedError.
        """
        if not isinstance(node, str):
            raise UnmappedError(
                "malformed",
                f"the literal {term_text(node)} where a {_describe_sort(sort)} is expected",
            )
        if node.startswith("_:"):
            return None
        if sort == RANGE:
            if node == owl.RDFS + "Resource":
                return owl.TOP_DATATYPE
            if not self._kinds.is_datatype(node) and (
                self._kinds.is_class(node) or is_reserved(node)
            ):
                raise UnmappedError("malformed", f"<{node}> where a datatype is expected")
            return owl.Datatype(node)
        if node == owl.RDFS + "Resource":
            return owl.THING
        if (
            not self._kinds.is_class(node)
            and (self._kinds.is_datatype(node) or is_reserved(node))
            and node not in ORDINARY_CLASSES
            and node not in LANGUAGE_CLASSES
        ):
            raise UnmappedError("malformed", f"<{node}> where a class is expected")
        return owl.Class(node)

    def _defining_triple(self, node: str, triple: int, sort: str) -> int:
        """Find the only triple that defines the expression at a node. Raises: UnmappedError if
        there are none or several.
        """
        if triple >= 0:
            return triple
        found = self.defining_triples(node)
        if len(found) == 1:
            return found[0]
        if found:
            raise UnmappedError(
                "malformed",
                f"the blank node {term_text(node)} is described as more than one {_describe_sort(sort)}",
            )
        if self._graph.find(node, _ON_PROPERTY):
            raise UnmappedError(
                "malformed", f"the restriction {term_text(node)} has no filler or cardinality"
            )
        if any(self._graph.find(node, predicate) for predicate in FILLERS):
            raise UnmappedError(
                "malformed", f"the restriction {term_text(node)} has no owl:onProperty"
            )
        raise UnmappedError(
            "malformed", f"the blank node {term_text(node)} is no {_describe_sort(sort)}"
        )

    # --- class expressions ---

    def _build_class(self, node: str, triple: int, made: _Construct) -> Any:
        """Build the class expression at a blank node."""
        graph = self._graph
        described = [triple] if triple >= 0 else self.defining_triples(node)
        if len(described) > 1:
            classes = [self._build(CLASS, node, made.operands, one) for one in described]
            self.several[described[0]] = owl.EquivalentClasses(tuple(classes))
            return owl.ObjectIntersectionOf(tuple(classes))
        definition = described[0] if described else self._defining_triple(node, triple, CLASS)
        made.triples += (definition, *_allowed_type_triples(graph, node, _CLASS_TYPES))
        predicate, value = graph.predicates[definition], graph.objects[definition]
        if predicate in FILLERS:
            return self._build_restriction(node, definition, made)
        match predicate.removeprefix(owl.OWL):
            case "complementOf":
                return owl.ObjectComplementOf(self._build(CLASS, value, made.operands))
            case "oneOf":
                members = _list_members(graph, value, made.triples)
                if any(isinstance(member, owl.Literal) for member in members):
                    raise UnmappedError(
                        "malformed",
                        f"an enumeration with literals where a class is expected, at {term_text(node)}",
                    )
                return owl.ObjectOneOf(tuple(map(str, members))) if members else owl.NOTHING
            case "intersectionOf" | "unionOf" as word:
                return self._build_operands(CLASS, word, value, made)
        raise UnmappedError(
            "malformed", f"a data range where a class is expected, at {term_text(node)}"
        )

    def _build_restriction(self, node: str, definition: int, made: _Construct) -> Any:
        """Build the restriction at a node."""
        graph = self._graph
        if graph.find(node, _ON_PROPERTIES):
            raise UnmappedError(
                "outside-shiq", "a data range over several properties (owl:onProperties)"
            )
        on = graph.only_triple(node, _ON_PROPERTY, "owl:onProperty")
        made.triples.append(on)
        is_data = self.property_kind(graph.objects[on]) == DATA
        sort = RANGE if is_data else CLASS
        property: Any = (
            self.data_property(graph.objects[on])
            if is_data
            else self.object_property(graph.objects[on], made.triples)
        )
        predicate, value = graph.predicates[definition], graph.objects[definition]
        if make := _RESTRICTIONS.get((sort, predicate.removeprefix(owl.OWL))):
            return make(property, self._build(sort, value, made.operands))
        if predicate == owl.OWL + "hasValue":
            if isinstance(value, owl.Literal) != is_data:
                what, whose = ("individual", "a data") if is_data else ("literal", "an object")
                raise UnmappedError(
                    "malformed", f"the {what} {term_text(value)} as value of {whose} property"
                )
            has_value: Any = owl.DataHasValue if is_data else owl.ObjectHasValue
            return has_value(property, value)
        if predicate == owl.OWL + "hasSelf":
            if is_data:
                raise UnmappedError(
                    "malformed", f"owl:hasSelf on the data property <{property.iri}>"
                )
            if not isinstance(value, owl.Literal) or value.lexical not in ("true", "1"):
                raise UnmappedError(
                    "malformed", f"owl:hasSelf with {term_text(value)} instead of true"
                )
            return owl.ObjectHasSelf(property)
        number = _cardinality_of(value)
        wanted, other = (_ON_DATA_RANGE, _ON_CLASS) if is_data else (_ON_CLASS, _ON_DATA_RANGE)
        qualifier = _cardinality_filler(graph, node, predicate, wanted, other, made.triples)
        filler = (
            _EMPTY[sort, "intersectionOf"]
            if qualifier is None
            else self._build(sort, qualifier, made.operands)
        )
        return _CARDINALITIES[sort, CARDINALITIES[predicate]](number, property, filler)

    def _build_operands(self, sort: str, word: str, head: Term, made: _Construct) -> Any:
        """Build the intersection or union (``word``) of the members of the RDF list at ``head``."""
        members = _list_members(self._graph, head, made.triples)
        if word == "unionOf":
            members = _members_of_sort(self._kinds, sort, members)
        operands = []
        for member in members:  # in a comprehension nesting would take one more frame
            operands.append(self._build(sort, member, made.operands))
        if len(operands) == 1:
            return operands[0]
        return _BOOLEAN[sort, word](tuple(operands)) if operands else _EMPTY[sort, word]

    # --- data ranges ---

    def _build_range(self, node: str, triple: int, made: _Construct) -> Any:
        """Build the data range at a blank node."""
        graph = self._graph
        definition = self._defining_triple(node, triple, RANGE)
        made.triples += (definition, *_allowed_type_triples(graph, node, _RANGE_TYPES))
        predicate, value = graph.predicates[definition], graph.objects[definition]
        match predicate.removeprefix(owl.OWL):
            case "datatypeComplementOf" | "complementOf":
                return owl.DataComplementOf(self._build(RANGE, value, made.operands))
            case "oneOf":
                members = _list_members(graph, value, made.triples)
                literals = tuple(member for member in members if isinstance(member, owl.Literal))
                if len(literals) != len(members):
                    raise UnmappedError(
                        "malformed",
                        f"an enumeration with individuals where a data range is expected, at {term_text(node)}",
                    )
                return owl.DataOneOf(literals) if literals else _EMPTY[RANGE, "unionOf"]
            case "onDatatype":
                return self._build_facets(node, value, made.triples)
            case "intersectionOf" | "unionOf" as word:
                return self._build_operands(RANGE, word, value, made)
        raise UnmappedError(
            "malformed", f"a class where a data range is expected, at {term_text(node)}"
        )

    def _build_facets(self, node: str, base: Term, triples: list[int]) -> owl.DatatypeRestriction:
        """Build a datatype restricted by facets."""
        datatype = self._value_of_name(RANGE, base)
        if datatype is None:
            raise UnmappedError(
                "malformed", f"owl:onDatatype with the blank node {term_text(base)}"
            )
        listed = self._graph.only_triple(node, owl.OWL + "withRestrictions", "owl:withRestrictions")
        triples.append(listed)
        facets: list[tuple[str, owl.Literal]] = []
        for member in _list_members(self._graph, self._graph.objects[listed], triples):
            found = [
                (predicate, i)
                for predicate, indexes in self._graph.by_subject.get(str(member), {}).items()
                if predicate in FACETS
                for i in indexes
            ]
            if not found:
                raise UnmappedError(
                    "malformed", f"{term_text(member)} in owl:withRestrictions is no facet"
                )
            for predicate, i in found:
                value = self._graph.objects[i]
                if not isinstance(value, owl.Literal):
                    raise UnmappedError(
                        "malformed",
                        f"the facet {term_text(predicate)} with {term_text(value)}, which is no literal",
                    )
                facets.append((predicate, value))
                triples.append(i)
        return owl.DatatypeRestriction(datatype, tuple(facets))


def _list_members(graph: VocabularyGraph, head: Term, triples: list[int]) -> list[Term]:
    """Return the members of an RDF list, and append its triples to ``triples``."""
    members, used = read_list(graph, head)
    triples += used
    return members


def _members_of_sort(kinds: NameKinds, sort: str, members: list[Term]) -> list[Term]:
    """Select the members of a union that can be of ``sort`` (class expression or data range); all
    members if none can.

    No individual is a value, and no value an individual.
    """
    fitting = [
        member
        for member in members
        if not isinstance(member, str)
        or member.startswith("_:")
        or (kinds.is_class(member) or member in ORDINARY_CLASSES) == kinds.is_datatype(member)
        or kinds.is_datatype(member) == (sort == RANGE)
    ]
    return fitting or members


def _inverse_triple(graph: VocabularyGraph, node: str) -> tuple[int, Term]:
    """Find the owl:inverseOf triple that makes the blank ``node`` the inverse of a property. Return
    its index and the property.

    Raises: UnmappedError if there is none or more than one.
    """
    if not graph.find(node, owl.OWL + "inverseOf") and (back := graph.inverse_triple(node)) >= 0:
        return back, graph.subjects[back]
    triple = graph.only_triple(node, owl.OWL + "inverseOf", "owl:inverseOf")
    return triple, graph.objects[triple]


def _allowed_type_triples(graph: VocabularyGraph, node: str, expected: frozenset[str]) -> list[int]:
    """Find the rdf:type triples of a node whose class is one that the OWL mapping puts there
    (``expected``).
    """
    if not node.startswith("_:"):
        expected = frozenset(
            (owl.OWL + "Restriction",)
        )  # the other types of a name are declarations
    return [i for i in graph.find(node, TYPE) if graph.objects[i] in expected]


def _cardinality_filler(
    graph: VocabularyGraph, node: str, predicate: str, wanted: str, other: str, triples: list[int]
) -> Term | None:
    """Return the filler (owl:onClass, owl:onDataRange) of a cardinality restriction; None if
    unqualified. Raises: UnmappedError.
    """
    found = graph.find(node, wanted)
    if not found and graph.find(node, other):
        raise UnmappedError(
            "malformed",
            f"{term_text(other)} does not fit the kind of property at {term_text(node)}",
        )
    if found or "ualified" in predicate:
        triple = graph.only_triple(node, wanted, term_text(wanted))
        triples.append(triple)
        return graph.objects[triple]
    return None


def _describe_sort(sort: str) -> str:
    """Return the name of a sort of expressions for messages: "class expression" or "data range"."""
    return "class" if sort == CLASS else "data range"


def _cardinality_of(value: Term) -> int:
    """Read the number of a cardinality restriction from its literal. Raises: UnmappedError."""
    text = (
        value.lexical.strip()
        if isinstance(value, owl.Literal) and value.datatype in _INTEGERS
        else ""
    )
    digits = text.removeprefix("+")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= 18):
        raise UnmappedError(
            "malformed", f"{term_text(value)} is no cardinality (a non-negative integer)"
        )
    return int(digits)
