"""Map triples to axioms and the rarer assertions: one method for each predicate that begins an
axiom (main triple).

Source: OWL 2 Mapping to RDF Graphs, section 3.2.5 (tables 16 to 18), with OWL 1's descriptions of
    named classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias, TypeVar

from shiq import model as owl
from shiq.model.walk import parts
from shiq.rdf.expressions import Expressions
from shiq.rdf.graph import (
    MappedValue,
    MappingFailure,
    MappingResult,
    OpenPropertyError,
    UnmappedError,
    VocabularyGraph,
)
from shiq.rdf.individuals import IndividualMapper, Mapped
from shiq.rdf.name_kinds import ANNOTATION, DATA, OBJECT, NameKinds
from shiq.rdf.triples import Term, term_text
from shiq.rdf.vocabulary import (
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


@dataclass
class OpenKindMapping:
    """Mapping of axioms whose properties may be object or data properties: each axiom is mapped
    once per possible choice.

    base: the mapper whose kinds leave those of some properties open
    properties: properties read in both ways, with the first triple that needed it and the number of
        such triples
    """

    base: _TripleMapper
    properties: dict[str, list[int]] = field(default_factory=dict)
    _mappers: dict[tuple[tuple[str, str], ...], _TripleMapper] = field(default_factory=dict)

    def map(self, main: int, handler: _Handler) -> None:
        """Run ``handler`` on the axiom at triple ``main`` for every choice of kinds, and add the
        values of the choices that fit to the result of the base.

        Raises: UnmappedError if no reading is allowed, or if there are too many.
        """
        mentioned: set[str] = set()
        errors: list[UnmappedError] = []
        allowed: list[_TripleMapper] = []
        too_many: UnmappedError | None = None
        pending: list[Choice] = [{}]
        tried = 0
        while pending and too_many is None:
            choice = pending.pop()
            tried += 1
            mapper = self._mapper_for(choice)
            try:
                mapper.map(main, handler)
            except OpenPropertyError as error:
                component = self.base.kinds.component_of(error.iri)
                mentioned.update(self.base.kinds.members_of(component))
                pending += ({**choice, component: kind} for kind in (DATA, OBJECT))
                if tried + len(pending) > MOST_TRIED or len(allowed) > MOST_ALLOWED:
                    too_many = UnmappedError(error.kind, error.message, error.hint)
            except UnmappedError as error:
                errors.append(error)
            else:
                allowed.append(mapper)
        for mapper in allowed:
            mapper.move_results(self.base.result if too_many is None else MappingResult())
        if too_many is not None or not allowed:
            raise too_many or errors[0]
        for iri in mentioned:
            self.properties.setdefault(iri, []).append(main)

    def _mapper_for(self, choice: Choice) -> _TripleMapper:
        """Return the cached mapper for one choice of kinds."""
        key = tuple(sorted(choice.items()))
        if key not in self._mappers:
            base, kinds = self.base, self.base.kinds
            members = {
                kind: {i for c, k in key if k == kind for i in kinds.members_of(c)}
                for kind in (OBJECT, DATA)
            }
            kinds = replace(
                kinds,
                object_properties=kinds.object_properties | members[OBJECT],
                data_properties=kinds.data_properties | members[DATA],
            )
            self._mappers[key] = _TripleMapper(
                base.graph,
                kinds,
                Expressions(base.graph, kinds),
                base.is_individual,
                base.is_complete,
            )
        return self._mappers[key]


V = TypeVar("V")

#: To be one of these has no consequence that an axiom could state.
_WITHOUT_CONSEQUENCE = ORDINARY_CLASSES | {owl.RDFS + "Resource", owl.THING.iri}
_OBJECT_CHARACTERISTICS: Mapping[str, Callable[[Any], owl.Axiom]] = {
    FUNCTIONAL: owl.FunctionalObjectProperty,
    INVERSE_FUNCTIONAL: owl.InverseFunctionalObjectProperty,
    owl.OWL + "TransitiveProperty": owl.TransitiveObjectProperty,
    owl.OWL + "SymmetricProperty": owl.SymmetricObjectProperty,
    owl.OWL + "AsymmetricProperty": owl.AsymmetricObjectProperty,
    owl.OWL + "ReflexiveProperty": owl.ReflexiveObjectProperty,
    owl.OWL + "IrreflexiveProperty": owl.IrreflexiveObjectProperty,
}
_DATA_CHARACTERISTICS: Mapping[str, Callable[[Any], owl.Axiom]] = {
    FUNCTIONAL: owl.FunctionalDataProperty,
    INVERSE_FUNCTIONAL: owl.InverseFunctionalDataProperty,
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
    both = OpenKindMapping(mapper)
    for main, predicate in enumerate(graph.predicates):
        handler = _HANDLERS.get(predicate)
        if handler is None or graph.bucket[main]:
            continue
        try:
            try:
                mapper.map(main, handler)
            except OpenPropertyError:
                both.map(main, handler)
        except UnmappedError as error:
            # Loaded where something is not understood.
            from shiq.rdf.axioms_in_doubt import assumption_for_triple

            assumption = assumption_for_triple(graph, expressions, main)
            mapper.result.failures.append(MappingFailure(main, error, assumption))
    mapper.result.in_both_readings.update(both.properties)
    for names in (kinds.object_properties, kinds.data_properties):
        names.update(both.properties)
    return mapper.result


class _TripleMapper(IndividualMapper):
    """Mapper of main triples to axioms and assertions, one method for each predicate.

    Such a method returns the axiom or assertion; None for a triple that states none, or that
    belongs to another main triple.
    """

    def map(self, main: int, handler: _Handler) -> None:
        """Map the triple ``main`` by the method for its predicate, and add the value to the result.
        Raises: UnmappedError.
        """
        self.triples, self.keys = [], []
        value = handler(self, main, self.graph.subjects[main], self.graph.objects[main])
        if value is None:
            return
        item: MappedValue[Any] = MappedValue(value, main, self.triples, self.keys)
        if isinstance(value, tuple):
            self.result.different_lists.append(item)
        elif isinstance(value, owl.Assertion):
            self.result.assertions.append(item)
        else:
            self.result.axioms.append(item)

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
        inside = self.expressions.triples_of(item.keys, set())
        return MappedValue(item.value, item.main, [*item.triples, *inside])

    # --- rdf:type ---

    def type(self, main: int, subject: str, value: Term) -> Mapped:
        """Map rdf:type: a property characteristic, a complex class assertion or an n-ary axiom
        node.
        """
        if not isinstance(value, str):
            raise UnmappedError("malformed", f"the literal {term_text(value)} as a type")
        if value in _OBJECT_CHARACTERISTICS:
            is_data = self.expressions.property_kind(subject) == DATA
            if is_data and value in _DATA_CHARACTERISTICS:
                return _DATA_CHARACTERISTICS[value](self.expressions.data_property(subject))
            return _OBJECT_CHARACTERISTICS[value](self.role_at(subject))
        if value.startswith("_:"):
            return owl.ClassAssertion(self.class_at(value), subject)
        if value in DATATYPES:
            raise UnmappedError("malformed", f"the datatype <{value}> as type of an individual")
        match value.removeprefix(owl.OWL):
            case "AllDisjointClasses":
                return owl.DisjointClasses(self._classes_at(self.list_at(subject, "members")))
            case "AllDisjointProperties":
                return self._axiom_on_properties(
                    self.list_at(subject, "members"),
                    owl.DisjointObjectProperties,
                    owl.DisjointDataProperties,
                )
            case "AllDifferent":
                return self.all_different(main, subject)
            case "NegativePropertyAssertion":
                return self.negative_assertion(subject)
        return None

    # --- classes ---

    def sub_class_of(self, main: int, subject: str, value: Term) -> Mapped:
        """Map rdfs:subClassOf."""
        if value in (owl.TOP_DATATYPE.iri, owl.RDFS + "Resource") and self._is_datatype(subject):
            self.result.annotations.append(main)  # as all values are
            return None
        return owl.SubClassOf(self.class_at(subject), self.class_at(value))

    def equivalent_class(self, main: int, subject: str, value: Term) -> Mapped:
        """Map owl:equivalentClass, also of a datatype."""
        if isinstance(value, str) and subject.startswith("_:") and self._is_datatype(value):
            subject, value = value, subject
        if self._is_datatype(subject):
            definition = self.expressions.data_range(value, self.keys)
            return owl.DatatypeDefinition(owl.Datatype(subject), definition)
        return owl.EquivalentClasses(self._classes_at([subject, value]))

    def _is_datatype(self, iri: str) -> bool:
        """Decide whether an IRI is a datatype and not also a class."""
        return self.kinds.is_datatype(iri) and not self.kinds.is_class(iri)

    def disjoint_with(self, main: int, subject: str, value: Term) -> Mapped:
        """Map owl:disjointWith."""
        return owl.DisjointClasses(self._classes_at([subject, value]))

    def _classes_at(self, nodes: Sequence[Term]) -> tuple[owl.ClassExpression, ...]:
        """Return the class expressions at ``nodes``."""
        return tuple(map(self.class_at, nodes))

    def disjoint_union_of(self, main: int, subject: str, value: Term) -> Mapped:
        """Map owl:disjointUnionOf."""
        name = self.class_at(subject)
        if not isinstance(name, owl.Class):
            raise UnmappedError("malformed", "owl:disjointUnionOf of a class without a name")
        return owl.DisjointUnion(name, self._classes_at(self.members_of_list(value)))

    def has_key(self, main: int, subject: str, value: Term) -> Mapped:
        """Map owl:hasKey."""
        expression = self.class_at(subject)
        by_kind: dict[str, list[Term]] = {OBJECT: [], DATA: []}
        for member in self.members_of_list(value):
            by_kind.setdefault(self.expressions.property_kind(member), []).append(member)
        if ANNOTATION in by_kind:
            raise UnmappedError(
                "malformed",
                f"the annotation property {term_text(by_kind[ANNOTATION][0])} in owl:hasKey",
            )
        roles = tuple(map(self.role_at, by_kind[OBJECT]))
        return owl.HasKey(
            expression, roles, tuple(map(self.expressions.data_property, by_kind[DATA]))
        )

    def owl1_definition(self, main: int, subject: str, value: Term) -> Mapped:
        """Map owl:unionOf, owl:intersectionOf etc. on a named class, which defines the class in OWL
        1.

        On blank nodes it belongs to an expression.
        """
        if subject.startswith("_:"):
            return None
        if main not in self.expressions.defining_triples(subject):
            raise UnmappedError("malformed", f"the restriction <{subject}> has no owl:onProperty")
        is_datatype = self._is_datatype(subject)
        definition = self.expressions.owl1_definition(main, self.keys, datatype=is_datatype)
        if is_datatype:
            return owl.DatatypeDefinition(owl.Datatype(subject), definition)
        return owl.EquivalentClasses((owl.Class(subject), definition))

    def on_property(self, main: int, subject: str, value: Term) -> Mapped:
        """Refuse owl:onProperty on a named node without a filler. Raises: UnmappedError."""
        if not subject.startswith("_:") and not self.expressions.defining_triples(subject):
            raise UnmappedError(
                "malformed", f"the restriction <{subject}> has no filler or cardinality"
            )
        return None

    # --- properties ---

    def sub_property_of(self, main: int, subject: str, value: Term) -> Mapped:
        """Map rdfs:subPropertyOf between two object or two data properties. Raises:
        UnmappedError.
        """
        first, second = (
            self.expressions.property_kind(subject),
            self.expressions.property_kind(value),
        )
        is_note = self.kinds.is_annotation(subject) and self.kinds.is_annotation(str(value))
        if second == ANNOTATION or (first == ANNOTATION and is_note):
            # Whatever a property of annotations has for members, no axiom sees it.
            self.result.annotations.append(main)
            return None
        if first == second == DATA:
            read = self.expressions.data_property
            return owl.SubDataPropertyOf(read(subject), read(value))
        return owl.SubObjectPropertyOf(self.role_at(subject), self.role_at(value))

    def property_pair(
        self,
        main: int,
        subject: str,
        value: Term,
        of_objects: Callable[[Any], owl.Axiom],
        of_data: Callable[[Any], owl.Axiom],
    ) -> Mapped:
        """Map owl:equivalentProperty or owl:propertyDisjointWith."""
        return self._axiom_on_properties([subject, value], of_objects, of_data)

    def _axiom_on_properties(
        self,
        members: list[Term],
        of_objects: Callable[[Any], owl.Axiom],
        of_data: Callable[[Any], owl.Axiom],
    ) -> owl.Axiom:
        """Make an axiom on several properties, all object or all data properties. Raises:
        UnmappedError.
        """
        kinds = {self.expressions.property_kind(member) for member in members}
        if kinds == {ANNOTATION}:
            raise UnmappedError(
                "malformed", "annotation properties can be neither equivalent nor disjoint"
            )
        if kinds == {DATA}:
            return of_data(tuple(map(self.expressions.data_property, members)))
        return of_objects(tuple(map(self.role_at, members)))

    def inverse_of(self, main: int, subject: str, value: Term) -> Mapped:
        """Map owl:inverseOf between named properties."""
        if subject.startswith("_:"):
            return None  # an inverse property expression
        return owl.InverseObjectProperties(self.role_at(subject), self.role_at(value))

    def chain(self, main: int, subject: str, value: Term) -> Mapped:
        """Map owl:propertyChainAxiom."""
        members = self.members_of_list(value)
        sup = self.role_at(subject)
        roles = tuple(map(self.role_at, members))
        if len(roles) < 2:
            raise UnmappedError("malformed", f"a property chain of length {len(roles)}")
        return owl.SubObjectPropertyChain(roles, sup)

    def domain_or_range(
        self,
        main: int,
        subject: str,
        value: Term,
        of_objects: Callable[..., owl.Axiom],
        of_data: Callable[..., owl.Axiom],
    ) -> Mapped:
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
            return None
        is_values = is_range and kind == DATA
        bound: Any = (
            self.expressions.data_range(value, self.keys) if is_values else self.class_at(value)
        )
        if kind == DATA:
            return of_data(self.expressions.data_property(subject), bound)
        return of_objects(self.role_at(subject), bound)


_Handler: TypeAlias = Callable[[_TripleMapper, int, str, Term], Mapped]
_HANDLERS: dict[str, _Handler] = {
    TYPE: _TripleMapper.type,
    owl.RDFS + "subClassOf": _TripleMapper.sub_class_of,
    owl.RDFS + "subPropertyOf": _TripleMapper.sub_property_of,
    owl.RDFS + "domain": partial(
        _TripleMapper.domain_or_range,
        of_objects=owl.ObjectPropertyDomain,
        of_data=owl.DataPropertyDomain,
    ),
    owl.RDFS + "range": partial(
        _TripleMapper.domain_or_range,
        of_objects=owl.ObjectPropertyRange,
        of_data=owl.DataPropertyRange,
    ),
    owl.OWL + "equivalentClass": _TripleMapper.equivalent_class,
    owl.OWL + "disjointWith": _TripleMapper.disjoint_with,
    owl.OWL + "disjointUnionOf": _TripleMapper.disjoint_union_of,
    owl.OWL + "hasKey": _TripleMapper.has_key,
    owl.OWL + "equivalentProperty": partial(
        _TripleMapper.property_pair,
        of_objects=owl.EquivalentObjectProperties,
        of_data=owl.EquivalentDataProperties,
    ),
    owl.OWL + "propertyDisjointWith": partial(
        _TripleMapper.property_pair,
        of_objects=owl.DisjointObjectProperties,
        of_data=owl.DisjointDataProperties,
    ),
    owl.OWL + "inverseOf": _TripleMapper.inverse_of,
    owl.OWL + "propertyChainAxiom": _TripleMapper.chain,
    owl.OWL + "sameAs": partial(_TripleMapper.equality, make=owl.SameIndividual, name="owl:sameAs"),
    owl.OWL + "differentFrom": partial(
        _TripleMapper.equality, make=owl.DifferentIndividuals, name="owl:differentFrom"
    ),
    owl.OWL + "onProperty": _TripleMapper.on_property,
    owl.OWL + "sourceIndividual": _TripleMapper.source_individual,
    owl.OWL + "onDatatype": _TripleMapper.owl1_definition,
    **dict.fromkeys(OPERATORS | FILLERS, _TripleMapper.owl1_definition),
}
