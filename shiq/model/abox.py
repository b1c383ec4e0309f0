"""An ABox as dictionary-encoded columns.

Individuals, class names, property names and literals are interned once; assertions are parallel
integer arrays. That is the form which parsing fills without an object per assertion, and which
numpy reads without a copy. The rare kinds (complex class assertions, negative assertions) are
lists of model values.

>>> builder = ABoxBuilder()
>>> builder.add_class("urn:a", "urn:Person")
>>> builder.add_role("urn:a", "urn:knows", "urn:b")
>>> abox = builder.build()
>>> len(abox), [type(x).__name__ for x in abox]
(2, ['ClassAssertion', 'ObjectPropertyAssertion'])
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar, overload

from shiq import model as owl
from shiq.deprecation import RenamedAttribute

if TYPE_CHECKING:
    from shiq.columns.arrays import Ints

V = TypeVar("V", bound=Hashable)


class Interner(Generic[V]):
    """A table that maps hashable values to dense integer ids, in the order first seen.

    values: `values[i]` is the value with id i.
    ids: value → id.
    """

    __slots__ = ("ids", "values")

    def __init__(self, values: Iterable[V] = ()) -> None:
        self.values: list[V] = []
        self.ids: dict[V, int] = {}
        for value in values:
            self.intern(value)

    def intern(self, value: V) -> int:
        """Return the id of `value`; assign the next id to a new value."""
        found = self.ids.get(value)
        if found is None:
            found = self.ids[value] = len(self.values)
            self.values.append(value)
        return found

    def copy(self) -> Interner[V]:
        """Return an independent copy."""
        found: Interner[V] = Interner()
        found.ids, found.values = dict(self.ids), list(self.values)
        return found

    def __len__(self) -> int:
        return len(self.values)


def _empty_column() -> array[int]:
    """Make an empty column of ids."""
    return array("q")


class Pairs(Sequence[tuple[int, int]]):
    """A sequence of pairs of ids, stored as two parallel integer columns.

    Columns, because an AllDifferent of 2,000 individuals is two million pairs.
    """

    __slots__ = ("first", "second")

    def __init__(self, first: array[int] | None = None, second: array[int] | None = None) -> None:
        self.first = _empty_column() if first is None else first
        self.second = _empty_column() if second is None else second

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[int, int]]) -> Pairs:
        """Make the sequence of `pairs`, without duplicates."""
        found = dict.fromkeys(pairs)
        return cls(array("q", (a for a, _ in found)), array("q", (b for _, b in found)))

    def __len__(self) -> int:
        return len(self.first)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self.first, self.second)

    @overload
    def __getitem__(self, index: int) -> tuple[int, int]: ...
    @overload
    def __getitem__(self, index: slice) -> Pairs: ...
    def __getitem__(self, index: int | slice) -> tuple[int, int] | Pairs:
        if isinstance(index, slice):
            return Pairs(self.first[index], self.second[index])
        return self.first[index], self.second[index]

    def difference(self, gone: Collection[tuple[int, int]]) -> Pairs:
        """Return the pairs without those in `gone`."""
        return Pairs(*_remove_rows(gone, self.first, self.second)) if gone else self


def int_array(values: Ints) -> array[int]:
    """Convert a numpy column to the array type that an `ABox` stores."""
    return array("q", values.astype("q", copy=False).tobytes())


class ClassRows(NamedTuple):
    """Assertions of named classes, as columns of ids."""

    subject: array[int]
    name: array[int]


class RoleRows(NamedTuple):
    """Assertions of named object properties, as columns of ids."""

    subject: array[int]
    name: array[int]
    object: array[int]


class DataRows(NamedTuple):
    """Data property assertions, as columns of ids."""

    subject: array[int]
    name: array[int]
    literal: array[int]


#: Columns without rows; columns are never changed.
_NO_IDS = _empty_column()
_NO_CLASS_ROWS = ClassRows(_NO_IDS, _NO_IDS)
_NO_ROLE_ROWS = RoleRows(_NO_IDS, _NO_IDS, _NO_IDS)
_NO_DATA_ROWS = DataRows(_NO_IDS, _NO_IDS, _NO_IDS)


@dataclass
class ABoxBuilder:
    """Builder of an `ABox`: collects assertions, each once, in the order first added.

    same, different: pairs of individual ids. complex: assertions kept as model values.
    """

    individuals: Interner[str] = field(default_factory=Interner)
    classes: Interner[str] = field(default_factory=Interner)
    object_properties: Interner[str] = field(default_factory=Interner)
    data_properties: Interner[str] = field(default_factory=Interner)
    literals: Interner[owl.Literal] = field(default_factory=Interner)
    class_rows: dict[tuple[int, ...], None] = field(default_factory=dict)
    role_rows: dict[tuple[int, ...], None] = field(default_factory=dict)
    data_rows: dict[tuple[int, ...], None] = field(default_factory=dict)
    same: list[tuple[int, int]] = field(default_factory=list)
    different: list[tuple[int, int]] = field(default_factory=list)
    complex: list[owl.Assertion] = field(default_factory=list)

    def add_class(self, individual: str, name: str) -> None:
        """Add the assertion that `individual` belongs to the class `name`."""
        self.class_rows[self.individuals.intern(individual), self.classes.intern(name)] = None

    def add_role(self, subject: str, name: str, object: str) -> None:
        """Add the object property assertion `name`(subject, object)."""
        role = self.object_properties.intern(name)
        self.role_rows[self.individuals.intern(subject), role, self.individuals.intern(object)] = (
            None
        )

    def add_data(self, subject: str, name: str, literal: owl.Literal) -> None:
        """Add the data property assertion `name`(subject, literal)."""
        row = (
            self.individuals.intern(subject),
            self.data_properties.intern(name),
            self.literals.intern(literal),
        )
        self.data_rows[row] = None

    def add(self, assertion: owl.Assertion) -> None:
        """Add an assertion of any kind. On an inverse property, subject and object change places."""
        match assertion:
            case owl.ClassAssertion(owl.Class(iri), individual):
                self.add_class(individual, iri)
            case owl.ObjectPropertyAssertion(owl.ObjectProperty(iri), subject, object):
                self.add_role(subject, iri, object)
            case owl.ObjectPropertyAssertion(
                owl.ObjectInverseOf(owl.ObjectProperty(iri)), subject, object
            ):
                self.add_role(object, iri, subject)
            case owl.DataPropertyAssertion(owl.DataProperty(iri), subject, literal):
                self.add_data(subject, iri, literal)
            case owl.SameIndividual(first, second):
                self.same.append((self.individuals.intern(first), self.individuals.intern(second)))
            case owl.DifferentIndividuals(first, second):
                self.different.append(
                    (self.individuals.intern(first), self.individuals.intern(second))
                )
            case owl.NegativeObjectPropertyAssertion(owl.ObjectInverseOf(role), subject, object):
                self.add(owl.NegativeObjectPropertyAssertion(role, object, subject))
            case _:
                for individual in individuals_of(assertion):
                    self.individuals.intern(individual)
                self.complex.append(assertion)

    def build(self) -> ABox:
        """Return the `ABox` of the rows, each assertion once, in the order of the first copies."""
        return ABox(
            individuals=self.individuals.values,
            classes=self.classes.values,
            object_properties=self.object_properties.values,
            data_properties=self.data_properties.values,
            literals=self.literals.values,
            class_rows=ClassRows(*_columns(self.class_rows, 2)),
            role_rows=RoleRows(*_columns(self.role_rows, 3)),
            data_rows=DataRows(*_columns(self.data_rows, 3)),
            same=tuple(dict.fromkeys(self.same)),
            different=Pairs.from_pairs(self.different),
            complex=tuple(dict.fromkeys(self.complex)),
        )


@dataclass(frozen=True, eq=False)
class ABox:
    """A finite set of assertions, as columns of ids with a dictionary for each kind of term. Never
    mutated.

    Row i of a group of columns is one assertion; its ids index the lists of values.

    class_rows: assertions of named classes (subject, name).
    role_rows: assertions of named object properties (subject, name, object).
    data_rows: data property assertions (subject, name, literal).
    same, different: pairs of individual ids.
    complex: assertions of class expressions and negative property assertions, as model values.
    """

    individuals: list[str] = field(default_factory=list)
    classes: list[str] = field(default_factory=list)
    object_properties: list[str] = field(default_factory=list)
    data_properties: list[str] = field(default_factory=list)
    literals: list[owl.Literal] = field(default_factory=list)
    class_rows: ClassRows = _NO_CLASS_ROWS
    role_rows: RoleRows = _NO_ROLE_ROWS
    data_rows: DataRows = _NO_DATA_ROWS
    same: tuple[tuple[int, int], ...] = ()
    different: Pairs = field(default_factory=Pairs)
    complex: tuple[owl.Assertion, ...] = ()

    # Old names, until 0.3.
    class_subject = RenamedAttribute("class_rows.subject")
    class_name = RenamedAttribute("class_rows.name")
    role_subject = RenamedAttribute("role_rows.subject")
    role_name = RenamedAttribute("role_rows.name")
    role_object = RenamedAttribute("role_rows.object")
    data_subject = RenamedAttribute("data_rows.subject")
    data_name = RenamedAttribute("data_rows.name")
    data_literal = RenamedAttribute("data_rows.literal")

    def __len__(self) -> int:
        families = (
            self.class_rows.subject,
            self.role_rows.subject,
            self.data_rows.subject,
            self.same,
            self.different,
            self.complex,
        )
        return sum(map(len, families))

    def __iter__(self) -> Iterator[owl.Assertion]:
        """Yield every assertion as a model value.

        Order: class, role, data, same, different, complex; each family in order of its rows.
        """
        names, classes = self.individuals, self.classes
        for s, c in zip(*self.class_rows):
            yield owl.ClassAssertion(owl.Class(classes[c]), names[s])
        for s, p, o in zip(*self.role_rows):
            yield owl.ObjectPropertyAssertion(
                owl.ObjectProperty(self.object_properties[p]), names[s], names[o]
            )
        for s, p, v in zip(*self.data_rows):
            yield owl.DataPropertyAssertion(
                owl.DataProperty(self.data_properties[p]), names[s], self.literals[v]
            )
        for a, b in self.same:
            yield owl.SameIndividual(names[a], names[b])
        for a, b in self.different:
            yield owl.DifferentIndividuals(names[a], names[b])
        yield from self.complex


def _columns(rows: Iterable[tuple[int, ...]], width: int) -> list[array[int]]:
    """Turn ``rows`` of ``width`` ids into columns."""
    return [array("q", (row[i] for row in rows)) for i in range(width)]


def _remove_rows(gone: Collection[tuple[int, ...]], *columns: array[int]) -> list[array[int]]:
    """Remove the rows in `gone` from a table given as parallel columns."""
    kept = [row not in gone for row in zip(*columns)]
    return [array("q", compress(column, kept)) for column in columns]


def abox_of(assertions: Iterable[owl.Assertion]) -> ABox:
    """Build the ABox of `assertions`, without duplicates."""
    builder = ABoxBuilder()
    for assertion in assertions:
        builder.add(assertion)
    return builder.build()


def individuals_of(assertion: owl.Assertion) -> tuple[str, ...]:
    """Return the individuals that `assertion` is about, subject first."""
    match assertion:
        case owl.ClassAssertion(_, individual):
            return (individual,)
        case owl.ObjectPropertyAssertion(_, subject, object) | owl.NegativeObjectPropertyAssertion(
            _, subject, object
        ):
            return (subject, object)
        case owl.DataPropertyAssertion(_, subject, _) | owl.NegativeDataPropertyAssertion(
            _, subject, _
        ):
            return (subject,)
        case owl.SameIndividual(first, second) | owl.DifferentIndividuals(first, second):
            return (first, second)
    raise TypeError(assertion)
