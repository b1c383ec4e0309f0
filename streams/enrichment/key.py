"""Keys of events: equal where two events are one but for the names of their own individuals, and
for values that T cannot tell apart; then they have the same enrichment (SPEC 001, section 3;
THEORY, "One enrichment for many events").

A key is the event written down: each individual of its own as what is said of it alone, with
links to K by name and values by region; the links between them by position; and what is said of
K. Values that may be counted are nodes like individuals. The positions are canonical: by what is
said of each alone where that tells them apart, else as `shiq.canonical` has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from shiq import model as owl
from shiq.datatypes.values import DataValue
from shiq.ntriples import literal as literal_text
from shiq.rml.tokens import Statement, is_resource
from streams.enrichment.expressions import named_in, statement
from streams.enrichment.knowledge import StaticKnowledge, is_simple
from streams.enrichment.positions import EventKey, Key, ordered
from streams.enrichment.regions import Regions
from streams.enrichment.statements import Kind, OddError, Vocabulary, class_atom, literal_of, token

#: Pairs of predicate and object that are remembered.
_KEPT: Final = 200_000
_OF_VALUES = (owl.DataPropertyAssertion, owl.NegativeDataPropertyAssertion)


class IllTypedError(ValueError):
    """A literal that denotes nothing: the event contradicts."""


@dataclass(frozen=True, slots=True)
class CountedValue:
    """A value that may be counted, and what tells it from others."""

    value: DataValue
    atom: str


class _Link:
    """In place of what is said: a link to an individual, or nothing that T sees."""


_LINK, _SKIPPED = _Link(), _Link()


class Keys:
    """The keys of events over one (T, B), with what T makes of the predicates and objects met so
    far. ``pinned``: keys tell values by what they are, and these individuals (tokens) by name.
    """

    def __init__(
        self,
        knowledge: StaticKnowledge,
        regions: Regions | None = None,
        pinned: frozenset[str] | None = None,
    ) -> None:
        self.regions = regions or Regions.of(knowledge.axioms, knowledge.static)
        self.is_exact = pinned is not None
        self.vocabulary = Vocabulary(knowledge, self.regions, is_exact=self.is_exact)
        #: The tokens of K.
        self.fixed = frozenset(map(token, knowledge.fixed)) | (pinned or frozenset())
        self._knowledge, self._has_keys = knowledge, knowledge.has_keys
        self._kinds: dict[str, Kind] = {}
        self._said: dict[tuple[str, str], str | CountedValue | _Link] = {}
        self._patterns: dict[tuple[Any, ...], tuple[Key | None, list[int]]] = {}
        #: What literals among the objects stand for, where the statements were read already.
        self._literals: Mapping[str, owl.Literal] | None = None

    def key(self, statements: Iterable[Statement]) -> EventKey:
        """Raises: OddError for statements that are not plain, IllTypedError."""
        return self._recalled(statements if isinstance(statements, list) else list(statements))

    def key_of(self, assertions: Sequence[owl.Assertion]) -> EventKey:
        """The key of assertions of any kind. Raises: IllTypedError."""
        keys = self
        if not all(map(is_simple, assertions)):
            # What is said of whom an expression names is told by name, and what it may see of
            # values by the values themselves.
            pinned = frozenset(
                token(part) for a in assertions if not is_simple(a) for part in named_in(a)
            )
            keys = Keys(self._knowledge, self.regions, pinned)
        keys._literals = {
            literal_text(a.literal): a.literal for a in assertions if isinstance(a, _OF_VALUES)
        }
        try:
            return keys._made([statement(assertion) for assertion in assertions])
        except OddError:
            return EventKey(None, ())
        finally:
            keys._literals = None

    def _recalled(self, statements: Sequence[Statement]) -> EventKey:
        """The key of statements in an order that was met before, individuals by their first
        places, is known.
        """
        known, fixed, seen = self._said, self.fixed, dict[Any, int]()
        pattern: list[Any] = []
        for subject, predicate, object in statements:
            said = known.get((predicate, object))
            if said is None:
                said = self.said(predicate, object)
            if said is _SKIPPED:
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
            keyed = self._made(statements)
            if len(self._patterns) >= _KEPT:
                self._patterns.clear()
            self._patterns[code] = keyed.key, [seen[name] for name in keyed.order]
            return keyed
        if not all(type(name) is not str or is_resource(name) for name in names):
            raise OddError
        return EventKey(found[0], [names[i] for i in found[1]])

    def _made(self, statements: Iterable[Statement]) -> EventKey:
        nodes: dict[Any, list[str]] = {}
        of_fixed: list[str] = []
        silent: list[str] = []
        edges: list[tuple[str, Any, Any]] = []
        known, fixed = self._said, self.fixed
        for subject, predicate, object in statements:
            said = known.get((predicate, object))
            if said is None:
                said = self.said(predicate, object)
            if type(said) is str:
                mine = nodes.get(subject)
                if mine is not None:
                    mine.append(said)
                elif subject in fixed:
                    of_fixed.append(f"{subject} {said}") if said else silent.append(subject)
                else:
                    self._begin(nodes, subject).append(said)
            elif said is not _SKIPPED:
                self._connect(nodes, of_fixed, silent, edges, subject, predicate, object, said)
        if silent:
            mentioned = {
                word
                for atom in (*of_fixed, *(a for said in nodes.values() for a in said))
                for word in atom.split(" ")
            }
            of_fixed += [f"{name} " for name in silent if name not in mentioned]
        return ordered(nodes, edges, tuple(sorted(set(of_fixed))))

    def _begin(self, nodes: dict[Any, list[str]], name: str) -> list[str]:
        """The list for what is said of ``name``, a new node. Raises: OddError."""
        if self._literals is None and not is_resource(name):
            raise OddError
        # Keys of T speak of individuals that have IRIs.
        begun = nodes[name] = [name[:1]] if self._has_keys else []
        return begun

    def said(self, predicate: str, object: str) -> str | CountedValue | _Link:
        """What T makes of a predicate with an object. Raises: OddError, IllTypedError."""
        kind = self._kinds.get(predicate)
        if kind is None:
            kind = self._kinds[predicate] = (
                Kind.ROLE if predicate[:1] == "¬" else self.vocabulary.kind(predicate)
            )
        if kind is Kind.TYPE:
            said: str | CountedValue | _Link = object if object[:1] == "(" else class_atom(object)
        elif kind is Kind.ANNOTATION:
            return _SKIPPED
        elif object[:1] == '"':
            said = self._value(kind, predicate, object)
        elif kind in (Kind.DATA, Kind.COUNTED) or (
            kind is Kind.DROPPED and self.vocabulary.is_data(predicate)
        ):
            raise OddError
        elif kind is Kind.ROLE and object in self.fixed:
            said = f"{predicate} {object}"
        else:
            return _LINK
        if kind is not Kind.DROPPED:
            if len(self._said) >= _KEPT:
                self._said.clear()
            self._said[predicate, object] = said
        return said

    def _value(self, kind: Kind, predicate: str, object: str) -> str | CountedValue:
        is_negative = predicate[:1] == "¬"
        if kind is Kind.EQUALITY or (
            not is_negative and self.vocabulary.is_data(predicate) is False
        ):
            raise OddError
        literal = literal_of(object) if self._literals is None else self._literals[object]
        if not self.regions.is_value(literal):
            raise IllTypedError(f"{literal_text(literal)} is no value of its datatype")
        if kind is Kind.DROPPED:
            return ""
        region = self.regions.region(literal)
        if kind is Kind.DATA:
            return f"{predicate} {region}"
        value = self.regions.identity(literal)
        name = f"{value.space} {value.key!r}" if self.is_exact else self.regions.name_of(literal)
        return CountedValue(value, f'"{region} {name}')

    def _connect(
        self,
        nodes: dict[Any, list[str]],
        of_fixed: list[str],
        silent: list[str],
        edges: list[tuple[str, Any, Any]],
        subject: str,
        predicate: str,
        object: str,
        said: str | CountedValue | _Link,
    ) -> None:
        """Takes a link between two nodes, or between one and somebody of K."""
        target: Any = object
        if isinstance(said, CountedValue):
            target = said.value
            if target not in nodes:
                nodes[target] = [said.atom]
        elif target not in self.fixed and target not in nodes:
            self._begin(nodes, target)
        ends = subject in self.fixed, target in self.fixed
        if not ends[0] and subject not in nodes:
            self._begin(nodes, subject)
        kind = self._kinds[predicate]
        if kind is Kind.DROPPED:
            silent += [name for name, is_fixed in zip((subject, object), ends) if is_fixed]
        elif all(ends):
            pair = sorted((subject, object)) if kind is Kind.EQUALITY else (subject, object)
            of_fixed.append(f"{pair[0]} {predicate} {pair[1]}")
        elif ends[0]:
            nodes[target].append(
                f"{predicate} {subject}" if kind is Kind.EQUALITY else f"^{predicate} {subject}"
            )
        elif ends[1]:
            nodes[subject].append(f"{predicate} {object}")
        else:
            edges.append((predicate, subject, target))
            if kind is Kind.EQUALITY:
                edges.append((predicate, target, subject))
