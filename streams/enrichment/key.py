"""Event keys: equal for events that differ only in names of own individuals and equivalent values.

Values are equivalent if the ontology cannot distinguish them. Events with equal keys have the same
enrichment (docs/ENRICHMENT.md; THEORY, "One enrichment for many events").

A key has three parts: for each individual of the event its own statements, with static individuals
by name and values by region; the links between individuals by position; the statements about static
individuals. Values that may be counted are nodes like individuals. Positions are canonical: by own
statements if these differ, otherwise by `shiq.model.canonical_graphs`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from shiq import model as owl
from shiq.datatypes.values import DataValue
from shiq.functional.writer import axiom_text
from shiq.model.canonical_graphs import canonical_order, node_positions, renumber_arcs
from shiq.model.ntriples import literal_term as literal_text
from shiq.model.walk import parts, rebuild
from shiq.rml.model import TYPE, Statement, is_resource
from shiq.streams.enrichment.knowledge import StaticKnowledge, is_simple
from shiq.streams.enrichment.statements import (
    DIFFERENT_FROM,
    SAME_AS,
    PredicateKind,
    UnkeyableEventError,
    ValueRegions,
    Vocabulary,
    class_key_text,
    parse_literal,
    token_of,
)

# Assertions as tokens for keys: negative ones, and class expressions in a normal form.


def assertion_to_tokens(assertion: owl.Assertion) -> Statement:
    """Convert an assertion to N-Triples-like tokens; those of complex assertions are used in keys
    only.
    """
    match assertion:
        case owl.ClassAssertion(owl.Class(iri), one):
            return token_of(one), TYPE, f"<{iri}>"
        case owl.ClassAssertion(expression, one):
            return token_of(one), TYPE, f"({normalise_expression(expression)})"
        case owl.ObjectPropertyAssertion(owl.ObjectProperty(iri), one, other):
            return token_of(one), f"<{iri}>", token_of(other)
        case owl.ObjectPropertyAssertion(owl.ObjectInverseOf(property), one, other):
            return token_of(other), f"<{property.iri}>", token_of(one)
        case owl.NegativeObjectPropertyAssertion(owl.ObjectInverseOf(property), one, other):
            return token_of(other), f"¬<{property.iri}>", token_of(one)
        case owl.NegativeObjectPropertyAssertion(owl.ObjectProperty(iri), one, other):
            return token_of(one), f"¬<{iri}>", token_of(other)
        case owl.NegativeDataPropertyAssertion(property, one, value):
            return token_of(one), f"¬<{property.iri}>", literal_text(value)
        case owl.DataPropertyAssertion(property, one, value):
            return token_of(one), f"<{property.iri}>", literal_text(value)
        case owl.SameIndividual(one, other):
            return token_of(one), SAME_AS, token_of(other)
        case owl.DifferentIndividuals(one, other):
            return token_of(one), DIFFERENT_FROM, token_of(other)
    raise AssertionError


def find_individuals(assertion: owl.Assertion) -> list[str]:
    """Individuals that occur in the class expression of a class assertion."""
    if not isinstance(assertion, owl.ClassAssertion):
        return []
    return [part for part in parts(assertion.expression) if isinstance(part, str)]


def normalise_expression(expression: owl.ClassExpression) -> str:
    """Text of a class expression with sorted operands and without duplicates."""
    return axiom_text(rebuild(expression, _sort_operands))


def _sort_operands(part: Any) -> Any:
    """Sort the operands if ``part`` is an intersection, a union or an enumeration; return anything
    else unchanged.
    """
    match part:
        case owl.ObjectIntersectionOf(operands) | owl.ObjectUnionOf(operands):
            members = {axiom_text(member): member for member in operands}
            return type(part)(tuple(members[text] for text in sorted(members)))
        case owl.ObjectOneOf(individuals):
            return owl.ObjectOneOf(tuple(sorted(set(individuals))))
    return part


# The nodes of an event in canonical order: a key, and whose types are at each of its positions.


#: What is said of each node by position, the links between positions, what is said of K.
Key: TypeAlias = tuple[tuple[tuple[str, ...], ...], tuple[Any, ...], tuple[str, ...]]

#: Nodes that nothing but their links tells apart, and nodes altogether: with more of them no key is
#: sought.
MOST_TIED: Final = 100
MOST_NODES: Final = 2_000


class EventKey(NamedTuple):
    """Key of an event, and the event's individuals in the order that the key gives them.

    key: None if the event is too symmetric for a key.
    order: at each position the individual's token or the value.
    """

    key: Key | None
    order: Sequence[Any]


def make_canonical_key(
    nodes: dict[Any, list[str]], edges: list[tuple[str, Any, Any]], of_fixed: tuple[str, ...]
) -> EventKey:
    """Order the individuals of an event canonically and build its key.

    of_fixed: statements about static individuals.
    """
    names = list(nodes)
    colours = [tuple(sorted(set(said).difference(("",)))) for said in nodes.values()]
    if len(names) < 2:
        loops = tuple(sorted({(label, 0, 0) for label, _, _ in edges})) if edges else ()
        return EventKey((tuple(colours), loops, of_fixed), names)
    number = {name: i for i, name in enumerate(names)}
    arcs = sorted({(label, number[a], number[b]) for label, a, b in edges})
    tied = len(names) - len(set(colours))
    if not tied:
        order = sorted(range(len(names)), key=colours.__getitem__)
    elif tied > MOST_TIED or len(names) > MOST_NODES:
        return EventKey(None, names)
    else:
        order = canonical_order(colours, arcs)
    key = tuple(colours[i] for i in order), renumber_arcs(arcs, node_positions(order)), of_fixed
    return EventKey(key, [names[i] for i in order])


#: Pairs of predicate and object that are remembered.
_MOST_CACHED: Final = 200_000
_DATA_ASSERTIONS = (owl.DataPropertyAssertion, owl.NegativeDataPropertyAssertion)


class IllTypedError(ValueError):
    """Error: a literal has no value, so the event is inconsistent."""


@dataclass(frozen=True, slots=True)
class CountedValue:
    """Value of a data property whose values the ontology may count; ``atom``: the text that
    distinguishes it in keys.
    """

    value: DataValue
    atom: str


class _StatementMarker:
    """Marker in place of a key text: the statement links two individuals (`_LINK`), or has no
    influence on types (`_IGNORED`).
    """


_LINK, _IGNORED = _StatementMarker(), _StatementMarker()


class KeyMaker:
    """Maker of event keys over one ontology and static data, with caches.

    pinned: individuals (tokens) that keys identify by name; if given, values are identified exactly
    too.
    fixed_tokens: tokens of static individuals.
    """

    def __init__(
        self,
        knowledge: StaticKnowledge,
        regions: ValueRegions | None = None,
        pinned: frozenset[str] | None = None,
    ) -> None:
        self.regions = regions or ValueRegions.from_knowledge(knowledge.axioms, knowledge.static)
        self.is_exact = pinned is not None
        self.vocabulary = Vocabulary(knowledge, self.regions, is_exact=self.is_exact)
        #: The tokens of K.
        self.fixed_tokens = frozenset(map(token_of, knowledge.fixed_individuals)) | (
            pinned or frozenset()
        )
        self._knowledge, self._has_keys = knowledge, knowledge.has_keys
        self._kinds: dict[str, PredicateKind] = {}
        self._known_statements: dict[tuple[str, str], str | CountedValue | _StatementMarker] = {}
        self._patterns: dict[tuple[Any, ...], tuple[Key | None, list[int]]] = {}
        #: What literals among the objects stand for, where the statements were read already.
        self._literals: Mapping[str, owl.Literal] | None = None

    def key_of_assertions(self, assertions: Sequence[owl.Assertion]) -> EventKey:
        """Key of assertions of any kind. Raises: IllTypedError."""
        keys = self
        if not all(map(is_simple, assertions)):
            # What is said of whom an expression names is told by name, and what it may see of
            # values by the values themselves.
            pinned = frozenset(
                token_of(part)
                for a in assertions
                if not is_simple(a)
                for part in find_individuals(a)
            )
            keys = KeyMaker(self._knowledge, self.regions, pinned)
        keys._literals = {
            literal_text(a.literal): a.literal
            for a in assertions
            if isinstance(a, _DATA_ASSERTIONS)
        }
        try:
            return keys._compute_key([assertion_to_tokens(assertion) for assertion in assertions])
        except UnkeyableEventError:
            return EventKey(None, ())
        finally:
            keys._literals = None

    def key_of_statements(self, statements: Sequence[Statement]) -> EventKey:
        """Key of statements as tokens, cached by their pattern: the statements with the event's own
        individuals replaced by order of occurrence.

        Raises: UnkeyableEventError for unusual statements, IllTypedError.
        """
        known, fixed, seen = self._known_statements, self.fixed_tokens, dict[Any, int]()
        pattern: list[Any] = []
        for subject, predicate, object in statements:
            said = known.get((predicate, object))
            if said is None:
                said = self.normalise_statement(predicate, object)
            if said is _IGNORED:
                continue
            target: Any = None
            if type(said) is not str:
                target = object if said is _LINK else said.value  # type: ignore[union-attr]
                said = predicate if said is _LINK else said.atom + predicate  # type: ignore[union-attr]
                target = target if target in fixed else seen.setdefault(target, len(seen))
            pattern += (
                subject if subject in fixed else seen.setdefault(subject, len(seen)),
                said,
                target,
            )
        names = list(seen)
        if self._has_keys:
            pattern += [name[:1] for name in names if isinstance(name, str)]
        code = tuple(pattern)
        found = self._patterns.get(code)
        if found is None:
            keyed = self._compute_key(statements)
            if len(self._patterns) >= _MOST_CACHED:
                self._patterns.clear()
            self._patterns[code] = keyed.key, [seen[name] for name in keyed.order]
            return keyed
        if not all(type(name) is not str or is_resource(name) for name in names):
            raise UnkeyableEventError
        return EventKey(found[0], [names[i] for i in found[1]])

    def _compute_key(self, statements: Iterable[Statement]) -> EventKey:
        """Compute the key of statements."""
        nodes: dict[Any, list[str]] = {}
        of_fixed: list[str] = []
        silent: list[str] = []
        edges: list[tuple[str, Any, Any]] = []
        known, fixed = self._known_statements, self.fixed_tokens
        for subject, predicate, object in statements:
            said = known.get((predicate, object))
            if said is None:
                said = self.normalise_statement(predicate, object)
            if type(said) is str:
                mine = nodes.get(subject)
                if mine is not None:
                    mine.append(said)
                elif subject in fixed:
                    of_fixed.append(f"{subject} {said}") if said else silent.append(subject)
                else:
                    self._add_node(nodes, subject).append(said)
            elif said is not _IGNORED:
                self._add_link(nodes, of_fixed, silent, edges, subject, predicate, object, said)
        if silent:
            mentioned = {
                word
                for atom in (*of_fixed, *(a for said in nodes.values() for a in said))
                for word in atom.split(" ")
            }
            of_fixed += [f"{name} " for name in silent if name not in mentioned]
        return make_canonical_key(nodes, edges, tuple(sorted(set(of_fixed))))

    def _add_node(self, nodes: dict[Any, list[str]], name: str) -> list[str]:
        """Add an individual to ``nodes`` and return the list for its statements' texts. Raises:
        UnkeyableEventError.
        """
        if self._literals is None and not is_resource(name):
            raise UnkeyableEventError
        # Keys of T speak of individuals that have IRIs.
        begun = nodes[name] = [name[:1]] if self._has_keys else []
        return begun

    def normalise_statement(
        self, predicate: str, object: str
    ) -> str | CountedValue | _StatementMarker:
        """Normalise a predicate with its object for keys. Returns a text for types, values and
        static individuals; `CountedValue` if the ontology may count the value; `_LINK` for a link
        to another individual; `_IGNORED` for annotations.

        Raises: UnkeyableEventError, IllTypedError.
        """
        kind = self._kinds.get(predicate)
        if kind is None:
            kind = self._kinds[predicate] = (
                PredicateKind.ROLE
                if predicate[:1] == "¬"
                else self.vocabulary.predicate_kind(predicate)
            )
        if kind is PredicateKind.TYPE:
            said: str | CountedValue | _StatementMarker = (
                object if object[:1] == "(" else class_key_text(object)
            )
        elif kind is PredicateKind.ANNOTATION:
            return _IGNORED
        elif object[:1] == '"':
            said = self._normalise_value(kind, predicate, object)
        elif kind in (PredicateKind.DATA, PredicateKind.COUNTED) or (
            kind is PredicateKind.DROPPED and self.vocabulary.has_literal_values(predicate)
        ):
            raise UnkeyableEventError
        elif kind is PredicateKind.ROLE and object in self.fixed_tokens:
            said = f"{predicate} {object}"
        else:
            return _LINK
        if kind is not PredicateKind.DROPPED:
            if len(self._known_statements) >= _MOST_CACHED:
                self._known_statements.clear()
            self._known_statements[predicate, object] = said
        return said

    def _normalise_value(
        self, kind: PredicateKind, predicate: str, object: str
    ) -> str | CountedValue:
        """Normalise a data property with its value for keys. Returns a text ("" if it never
        influences types), or `CountedValue` if the ontology may count the value.
        """
        is_negative = predicate[:1] == "¬"
        if kind is PredicateKind.EQUALITY or (
            not is_negative and self.vocabulary.has_literal_values(predicate) is False
        ):
            raise UnkeyableEventError
        literal = parse_literal(object) if self._literals is None else self._literals[object]
        if not self.regions.has_value(literal):
            raise IllTypedError(f"{literal_text(literal)} is no value of its datatype")
        if kind is PredicateKind.DROPPED:
            return ""
        region = self.regions.region_of(literal)
        if kind is PredicateKind.DATA:
            return f"{predicate} {region}"
        value = self.regions.value_of(literal)
        name = f"{value.space} {value.key!r}" if self.is_exact else self.regions.name_of(literal)
        return CountedValue(value, f'"{region} {name}')

    def _add_link(
        self,
        nodes: dict[Any, list[str]],
        of_fixed: list[str],
        silent: list[str],
        edges: list[tuple[str, Any, Any]],
        subject: str,
        predicate: str,
        object: str,
        said: str | CountedValue | _StatementMarker,
    ) -> None:
        """Add a link between two individuals, or between an individual and a counted value, to the
        parts of the key.
        """
        target: Any = object
        if isinstance(said, CountedValue):
            target = said.value
            if target not in nodes:
                nodes[target] = [said.atom]
        elif target not in self.fixed_tokens and target not in nodes:
            self._add_node(nodes, target)
        ends = subject in self.fixed_tokens, target in self.fixed_tokens
        if not ends[0] and subject not in nodes:
            self._add_node(nodes, subject)
        kind = self._kinds[predicate]
        if kind is PredicateKind.DROPPED:
            silent += [name for name, is_fixed in zip((subject, object), ends) if is_fixed]
        elif all(ends):
            pair = (
                sorted((subject, object)) if kind is PredicateKind.EQUALITY else (subject, object)
            )
            of_fixed.append(f"{pair[0]} {predicate} {pair[1]}")
        elif ends[0]:
            nodes[target].append(
                f"{predicate} {subject}"
                if kind is PredicateKind.EQUALITY
                else f"^{predicate} {subject}"
            )
        elif ends[1]:
            nodes[subject].append(f"{predicate} {object}")
        else:
            edges.append((predicate, subject, target))
            if kind is PredicateKind.EQUALITY:
                edges.append((predicate, target, subject))
