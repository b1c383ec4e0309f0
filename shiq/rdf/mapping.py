"""Map triples to axioms and the rarer assertions: one method for each predicate that begins an
axiom (main triple).

Source: OWL 2 Mapping to RDF Graphs, section 3.2.5 (tables 16 to 18), with OWL 1's descriptions of
    named classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from shiq import model as owl
from shiq.model.walk import parts
from shiq.rdf.expression_loop import Key
from shiq.rdf.expressions import Expressions
from shiq.rdf.graph import (
    MappedValue,
    MappingFailure,
    MappingResult,
    OpenPropertyError,
    UnmappedError,
    VocabularyGraph,
    read_list,
)
from shiq.rdf.individuals import IndividualMapper
from shiq.rdf.name_kinds import ANNOTATION, DATA, OBJECT, NameKinds
from shiq.rdf.triples import Term, term_text
from shiq.rdf.vocabulary import (
    CHARACTERISTICS,
    DATATYPES,
    FILLERS,
    FUNCTIONAL,
    INVERSE_FUNCTIONAL,
    LANGUAGE_PROPERTIES,
    OPERATORS,
    ORDINARY_CLASSES,
    TYPE,
)

# Axioms on properties that may be object or data properties, in both readings (THEORY, "Terms that
# may be object or data").
#
# Properties of unknown kind that an axiom forces to be of one kind form a *component*. An axiom is
# mapped once for each choice of a kind for the components that it mentions, as far as the axiom
# allows the choice.


#: An axiom that more choices allow, as of four components that are free, is left over; so is one
#: for which more have to be tried.
MOST_ALLOWED, MOST_TRIED = 16, 64
#: The kind chosen for each component, by the component's first property.
Choice = Mapping[str, str]


class Mapper(Protocol):
    """Interface of a mapper that collects axioms or assertions for one choice of property kinds."""

    def move_results(self, result: MappingResult) -> None:
        """Move the axioms and assertions collected so far to ``result``."""


M = TypeVar("M", bound=Mapper)


@dataclass
class OpenKindMapping(Generic[M]):
    """Mapping of axioms whose properties may be object or data properties: each axiom is mapped
    once per possible choice.

    make: makes a mapper for given kinds
    properties: properties read in both ways, with the first triple that needed it and the number of
        such triples
    """

    graph: VocabularyGraph
    kinds: NameKinds
    make: Callable[[NameKinds, Expressions], M]
    properties: dict[str, list[int]] = field(default_factory=dict)
    _mappers: dict[tuple[tuple[str, str], ...], M] = field(default_factory=dict)

    def map(self, main: int, handle: Callable[[M], None], result: MappingResult) -> None:
        """Run ``handle`` on the axiom at triple ``main`` for every choice of kinds, and add the
        values of the choices that fit to ``result``.

        Raises: UnmappedError if no reading is allowed, or if there are too many.
        """
        mentioned: set[str] = set()
        errors: list[UnmappedError] = []
        allowed: list[M] = []
        too_many: UnmappedError | None = None
        pending: list[Choice] = [{}]
        tried = 0
        while pending and too_many is None:
            choice = pending.pop()
            tried += 1
            mapper = self._mapper_for(choice)
            try:
                handle(mapper)
            except OpenPropertyError as error:
                component = self.kinds.component_of(error.iri)
                mentioned.update(self.kinds.members_of(component))
                pending += ({**choice, component: kind} for kind in (DATA, OBJECT))
                if tried + len(pending) > MOST_TRIED or len(allowed) > MOST_ALLOWED:
                    too_many = UnmappedError(error.kind, error.message, error.hint)
            except UnmappedError as error:
                errors.append(error)
            else:
                allowed.append(mapper)
        for mapper in allowed:
            mapper.move_results(result if too_many is None else MappingResult())
        if too_many is not None or not allowed:
            raise too_many or errors[0]
        for iri in mentioned:
            self.properties.setdefault(iri, []).append(main)

    def _mapper_for(self, choice: Choice) -> M:
        """Return the cached mapper for one choice of kinds."""
        key = tuple(sorted(choice.items()))
        if key not in self._mappers:
            from shiq.rdf.expressions import Expressions

            members = {
                kind: {i for c, k in key if k == kind for i in self.kinds.members_of(c)}
                for kind in (OBJECT, DATA)
            }
            kinds = replace(
                self.kinds,
                object_properties=self.kinds.object_properties | members[OBJECT],
                data_properties=self.kinds.data_properties | members[DATA],
            )
            self._mappers[key] = self.make(kinds, Expressions(self.graph, kinds))
        return self._mappers[key]


V = TypeVar("V", bound=owl.Axiom | owl.Assertion)

#: To be one of these has no consequence that an axiom could state.
_WITHOUT_CONSEQUENCE = ORDINARY_CLASSES | {owl.RDFS + "Resource", owl.THING.iri}
_CHARACTERISTIC_AXIOMS: dict[str, Callable[[Any], owl.Axiom]] = {
    owl.OWL + "InverseFunctionalProperty": owl.InverseFunctionalObjectProperty,
    owl.OWL + "TransitiveProperty": owl.TransitiveObjectProperty,
    owl.OWL + "SymmetricProperty": owl.SymmetricObjectProperty,
    owl.OWL + "AsymmetricProperty": owl.AsymmetricObjectProperty,
    owl.OWL + "ReflexiveProperty": owl.ReflexiveObjectProperty,
    owl.OWL + "IrreflexiveProperty": owl.IrreflexiveObjectProperty,
}


def map_graph(
    graph: VocabularyGraph,
    kinds: NameKinds,
    expressions: Expressions,
    is_individual: Callable[[str], bool],
    *,
    whole: bool,
) -> MappingResult:
    """Map all triples of ``graph`` that begin an axiom or assertion (main triples), in the order
    read.

    Triples with a bucket are skipped.

    Args:
    is_individual: whether a name is used as an individual elsewhere
    whole: whether ``is_individual`` has seen all data
    """
    mapper = _TripleMapper(graph, kinds, expressions, is_individual, whole)
    both = OpenKindMapping(
        graph, kinds, lambda read, built: _TripleMapper(graph, read, built, is_individual, whole)
    )
    for main, predicate in enumerate(graph.predicates):
        handler = _HANDLERS.get(predicate)
        if handler is None or graph.bucket[main]:
            continue
        try:
            _apply_handler(handler, main, mapper)
        except OpenPropertyError:
            try:
                both.map(main, partial(_apply_handler, handler, main), mapper.result)
            except UnmappedError as error:
                mapper.result.failures.append(_make_failure(graph, expressions, main, error))
        except UnmappedError as error:
            mapper.result.failures.append(_make_failure(graph, expressions, main, error))
    mapper.result.in_both_readings.update(both.properties)
    for names in (kinds.object_properties, kinds.data_properties):
        names.update(both.properties)
    return mapper.result


def _make_failure(
    graph: VocabularyGraph, expressions: Expressions, main: int, error: UnmappedError
) -> MappingFailure:
    """Make the failure record of a main triple, with axioms under which it would be true in any
    case.
    """
    # Loaded where something is not understood.
    from shiq.rdf.axioms_in_doubt import assumption_for_triple

    assumption = assumption_for_triple(graph, expressions, main)
    return MappingFailure(main, error.kind, error.message, error.hint, assumption)


def _apply_handler(handler: _Handler, main: int, mapper: _TripleMapper) -> None:
    """Map one main triple by the method for its predicate."""
    handler(mapper, main, mapper.graph.subjects[main], mapper.graph.objects[main])


class _TripleMapper(IndividualMapper):
    """Mapper of main triples to axioms and assertions, one method for each predicate."""

    def move_results(self, result: MappingResult) -> None:
        """Move the axioms and assertions of this mapper to ``result``, each with all its triples."""
        mine, self.result = self.result, MappingResult()
        result.axioms += map(self._with_triples, mine.axioms)
        result.assertions += map(self._with_triples, mine.assertions)
        result.annotations += mine.annotations
        named = (
            part.iri
            for item in mine.axioms
            for part in parts(item.value)
            if isinstance(part, owl.Datatype)
        )
        result.open_fillers.update(iri for iri in named if not self.kinds.is_datatype(iri))

    def _with_triples(self, item: MappedValue[V]) -> MappedValue[V]:
        """Complete an axiom's record by the triples of the expressions inside it."""
        return MappedValue(
            item.value,
            item.main,
            [*item.triples, *self.expressions.loop.triples_of(item.keys, set())],
        )

    # --- rdf:type ---

    def type(self, main: int, subject: str, value: Term) -> None:
        """Map rdf:type: a property characteristic, a complex class assertion or an n-ary axiom
        node.
        """
        if not isinstance(value, str):
            raise UnmappedError("malformed", f"the literal {term_text(value)} as a type")
        if value in CHARACTERISTICS or value == FUNCTIONAL:
            self._map_characteristic(main, subject, value)
        elif value.startswith("_:"):
            item = MappedValue[owl.Assertion](owl.ClassAssertion(owl.Class(""), subject), main)
            item.value = owl.ClassAssertion(
                self.expressions.class_expression(value, item.keys), subject
            )
            self.result.assertions.append(item)
        elif value == owl.OWL + "AllDisjointClasses":
            self._add_class_axiom(
                main, owl.DisjointClasses, *self._list_members(subject, "members")
            )
        elif value == owl.OWL + "AllDisjointProperties":
            members, triples = self._list_members(subject, "members")
            self._add_property_axiom(
                main, members, triples, owl.DisjointObjectProperties, owl.DisjointDataProperties
            )
        elif value == owl.OWL + "AllDifferent":
            self._map_all_different(main, subject)
        elif value == owl.OWL + "NegativePropertyAssertion":
            self._map_negative(main, subject)
        elif value in DATATYPES:
            raise UnmappedError("malformed", f"the datatype <{value}> as type of an individual")

    def _map_characteristic(self, main: int, subject: str, value: str) -> None:
        """Map a property characteristic, such as owl:FunctionalProperty, to its axiom."""
        item = MappedValue[owl.Axiom](owl.SubClassOf(owl.Class(""), owl.Class("")), main)
        if self.expressions.property_kind(subject) == DATA and value == FUNCTIONAL:
            item.value = owl.FunctionalDataProperty(self.expressions.data_property(subject))
        elif self.expressions.property_kind(subject) == DATA and value == INVERSE_FUNCTIONAL:
            item.value = owl.InverseFunctionalDataProperty(self.expressions.data_property(subject))
        else:
            make = (
                owl.FunctionalObjectProperty
                if value == FUNCTIONAL
                else _CHARACTERISTIC_AXIOMS[value]
            )
            item.value = make(self.expressions.object_property(subject, item.triples))
        self.result.axioms.append(item)

    # --- classes ---

    def sub_class_of(self, main: int, subject: str, value: Term) -> None:
        """Map rdfs:subClassOf."""
        if value in (owl.TOP_DATATYPE.iri, owl.RDFS + "Resource") and self._is_datatype(subject):
            self.result.annotations.append(main)  # as all values are
            return
        keys: list[Key] = []
        sub, sup = (
            self.expressions.class_expression(subject, keys),
            self.expressions.class_expression(value, keys),
        )
        self.result.axioms.append(MappedValue(owl.SubClassOf(sub, sup), main, keys=keys))

    def equivalent_class(self, main: int, subject: str, value: Term) -> None:
        """Map owl:equivalentClass, also of a datatype."""
        if isinstance(value, str) and subject.startswith("_:") and self._is_datatype(value):
            subject, value = value, subject
        if self._is_datatype(subject):
            keys: list[Key] = []
            definition = owl.DatatypeDefinition(
                owl.Datatype(subject), self.expressions.data_range(value, keys)
            )
            self.result.axioms.append(MappedValue(definition, main, keys=keys))
        else:
            self._add_class_axiom(main, owl.EquivalentClasses, [subject, value], [])

    def _is_datatype(self, iri: str) -> bool:
        """Decide whether an IRI is a datatype and not also a class."""
        return self.kinds.is_datatype(iri) and not self.kinds.is_class(iri)

    def disjoint_with(self, main: int, subject: str, value: Term) -> None:
        """Map owl:disjointWith."""
        self._add_class_axiom(main, owl.DisjointClasses, [subject, value], [])

    def _add_class_axiom(
        self, main: int, make: Callable[[Any], owl.Axiom], members: list[Term], triples: list[int]
    ) -> None:
        """Add the axiom that ``make`` gives for the class expressions at ``members``."""
        keys: list[Key] = []
        expressions = tuple(self.expressions.class_expression(member, keys) for member in members)
        self.result.axioms.append(MappedValue(make(expressions), main, triples, keys))

    def disjoint_union_of(self, main: int, subject: str, value: Term) -> None:
        """Map owl:disjointUnionOf."""
        keys: list[Key] = []
        name = self.expressions.class_expression(subject, keys)
        if not isinstance(name, owl.Class):
            raise UnmappedError("malformed", "owl:disjointUnionOf of a class without a name")
        members, triples = read_list(self.graph, value)
        parts = tuple(self.expressions.class_expression(member, keys) for member in members)
        self.result.axioms.append(MappedValue(owl.DisjointUnion(name, parts), main, triples, keys))

    def has_key(self, main: int, subject: str, value: Term) -> None:
        """Map owl:hasKey."""
        keys: list[Key] = []
        expression = self.expressions.class_expression(subject, keys)
        members, triples = read_list(self.graph, value)
        by_kind: dict[str, list[Term]] = {OBJECT: [], DATA: []}
        for member in members:
            by_kind.setdefault(self.expressions.property_kind(member), []).append(member)
        if ANNOTATION in by_kind:
            raise UnmappedError(
                "malformed",
                f"the annotation property {term_text(by_kind[ANNOTATION][0])} in owl:hasKey",
            )
        roles = tuple(
            self.expressions.object_property(member, triples) for member in by_kind[OBJECT]
        )
        features = tuple(self.expressions.data_property(member) for member in by_kind[DATA])
        self.result.axioms.append(
            MappedValue(owl.HasKey(expression, roles, features), main, triples, keys)
        )

    def owl1_definition(self, main: int, subject: str, value: Term) -> None:
        """Map owl:unionOf, owl:intersectionOf etc. on a named class, which defines the class in OWL
        1.

        On blank nodes it belongs to an expression.
        """
        if subject.startswith("_:"):
            return
        if main not in self.expressions.defining_triples(subject):
            raise UnmappedError("malformed", f"the restriction <{subject}> has no owl:onProperty")
        keys: list[Key] = []
        if self._is_datatype(subject):
            axiom: owl.Axiom = owl.DatatypeDefinition(
                owl.Datatype(subject), self.expressions.owl1_definition(main, keys, datatype=True)
            )
        else:
            axiom = owl.EquivalentClasses(
                (owl.Class(subject), self.expressions.owl1_definition(main, keys))
            )
        self.result.axioms.append(MappedValue(axiom, main, keys=keys))

    def on_property(self, main: int, subject: str, value: Term) -> None:
        """Refuse owl:onProperty on a named node without a filler. Raises: UnmappedError."""
        if not subject.startswith("_:") and not self.expressions.defining_triples(subject):
            raise UnmappedError(
                "malformed", f"the restriction <{subject}> has no filler or cardinality"
            )

    # --- properties ---

    def sub_property_of(self, main: int, subject: str, value: Term) -> None:
        """Map rdfs:subPropertyOf."""
        self._add_pair_axiom(main, subject, value, owl.SubObjectPropertyOf, owl.SubDataPropertyOf)

    def _add_pair_axiom(
        self,
        main: int,
        subject: str,
        value: Term,
        of_objects: Callable[..., owl.Axiom],
        of_data: Callable[..., owl.Axiom],
    ) -> None:
        """Add an axiom on two properties, which must both be object or both be data properties.
        Raises: UnmappedError.
        """
        first, second = (
            self.expressions.property_kind(subject),
            self.expressions.property_kind(value),
        )
        is_note = self.kinds.is_annotation(subject) and self.kinds.is_annotation(str(value))
        if second == ANNOTATION or (first == ANNOTATION and is_note):
            # Whatever a property of annotations has for members, no axiom sees it.
            self.result.annotations.append(main)
        elif first == second == DATA:
            data = (self.expressions.data_property(subject), self.expressions.data_property(value))
            self.result.axioms.append(MappedValue(of_data(*data), main))
        else:
            item = MappedValue[owl.Axiom](owl.SubClassOf(owl.Class(""), owl.Class("")), main)
            roles = [
                self.expressions.object_property(node, item.triples) for node in (subject, value)
            ]
            item.value = of_objects(*roles)
            self.result.axioms.append(item)

    def equivalent_property(self, main: int, subject: str, value: Term) -> None:
        """Map owl:equivalentProperty."""
        self._add_property_axiom(
            main, [subject, value], [], owl.EquivalentObjectProperties, owl.EquivalentDataProperties
        )

    def property_disjoint_with(self, main: int, subject: str, value: Term) -> None:
        """Map owl:propertyDisjointWith."""
        self._add_property_axiom(
            main, [subject, value], [], owl.DisjointObjectProperties, owl.DisjointDataProperties
        )

    def _add_property_axiom(
        self,
        main: int,
        members: list[Term],
        triples: list[int],
        of_objects: Callable[[Any], owl.Axiom],
        of_data: Callable[[Any], owl.Axiom],
    ) -> None:
        """Add an axiom on several properties, all object or all data properties. Raises:
        UnmappedError.
        """
        kinds = {self.expressions.property_kind(member) for member in members}
        if kinds == {ANNOTATION}:
            raise UnmappedError(
                "malformed", "annotation properties can be neither equivalent nor disjoint"
            )
        if kinds == {DATA}:
            axiom = of_data(tuple(self.expressions.data_property(member) for member in members))
        else:
            axiom = of_objects(
                tuple(self.expressions.object_property(member, triples) for member in members)
            )
        self.result.axioms.append(MappedValue(axiom, main, triples))

    def inverse_of(self, main: int, subject: str, value: Term) -> None:
        """Map owl:inverseOf between named properties."""
        if subject.startswith("_:"):
            return  # an inverse property expression
        triples: list[int] = []
        first, second = (
            self.expressions.object_property(node, triples) for node in (subject, value)
        )
        self.result.axioms.append(
            MappedValue(owl.InverseObjectProperties(first, second), main, triples)
        )

    def chain(self, main: int, subject: str, value: Term) -> None:
        """Map owl:propertyChainAxiom."""
        members, triples = read_list(self.graph, value)
        sup = self.expressions.object_property(subject, triples)
        roles = tuple(self.expressions.object_property(member, triples) for member in members)
        if len(roles) < 2:
            raise UnmappedError("malformed", f"a property chain of length {len(roles)}")
        self.result.axioms.append(
            MappedValue(owl.SubObjectPropertyChain(roles, sup), main, triples)
        )

    def domain(self, main: int, subject: str, value: Term) -> None:
        """Map rdfs:domain."""
        self._domain_or_range(
            main, subject, value, owl.DataPropertyDomain, owl.ObjectPropertyDomain
        )

    def range(self, main: int, subject: str, value: Term) -> None:
        """Map rdfs:range."""
        self._domain_or_range(main, subject, value, owl.DataPropertyRange, owl.ObjectPropertyRange)

    def _domain_or_range(
        self, main: int, subject: str, value: Term, of_data: Any, of_objects: Any
    ) -> None:
        """Map rdfs:domain or rdfs:range to the axiom for object or data properties."""
        kind, is_range = self.expressions.property_kind(subject), of_data is owl.DataPropertyRange
        # As the range of a data property, all values say nothing, and an object property has none.
        is_idle = is_range and kind != DATA and value == owl.TOP_DATATYPE.iri
        if (
            is_idle
            or kind == ANNOTATION
            or (subject in LANGUAGE_PROPERTIES and value in _WITHOUT_CONSEQUENCE)
        ):
            self.result.annotations.append(main)
            return
        item = MappedValue[owl.Axiom](owl.SubClassOf(owl.Class(""), owl.Class("")), main)
        is_values = is_range and kind == DATA
        read = self.expressions.data_range if is_values else self.expressions.class_expression
        bound: Any = read(value, item.keys)
        item.value = (
            of_data(self.expressions.data_property(subject), bound)
            if kind == DATA
            else of_objects(self.expressions.object_property(subject, item.triples), bound)
        )
        self.result.axioms.append(item)

    # --- individuals ---


_Handler: TypeAlias = Callable[[_TripleMapper, int, str, Term], None]
_HANDLERS: dict[str, _Handler] = {
    TYPE: _TripleMapper.type,
    owl.RDFS + "subClassOf": _TripleMapper.sub_class_of,
    owl.RDFS + "subPropertyOf": _TripleMapper.sub_property_of,
    owl.RDFS + "domain": _TripleMapper.domain,
    owl.RDFS + "range": _TripleMapper.range,
    owl.OWL + "equivalentClass": _TripleMapper.equivalent_class,
    owl.OWL + "disjointWith": _TripleMapper.disjoint_with,
    owl.OWL + "disjointUnionOf": _TripleMapper.disjoint_union_of,
    owl.OWL + "hasKey": _TripleMapper.has_key,
    owl.OWL + "equivalentProperty": _TripleMapper.equivalent_property,
    owl.OWL + "propertyDisjointWith": _TripleMapper.property_disjoint_with,
    owl.OWL + "inverseOf": _TripleMapper.inverse_of,
    owl.OWL + "propertyChainAxiom": _TripleMapper.chain,
    owl.OWL + "sameAs": _TripleMapper.same_as,
    owl.OWL + "differentFrom": _TripleMapper.different_from,
    owl.OWL + "onProperty": _TripleMapper.on_property,
    owl.OWL + "sourceIndividual": _TripleMapper.source_individual,
    owl.OWL + "onDatatype": _TripleMapper.owl1_definition,
    **dict.fromkeys(OPERATORS | FILLERS, _TripleMapper.owl1_definition),
}
