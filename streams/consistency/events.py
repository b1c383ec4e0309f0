"""From the triples of events to columns: who, which label, when; what is none is told, one by one.

Individuals have numbers, and so have the pairs that role labels are of: the name of a pair is
both names, the smaller first.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shiq import model as owl
from shiq.columns.arrays import Ints
from shiq.errors import UsageError
from shiq.model import RDF, Signature
from shiq.model.clause import DataAtMost
from shiq.model.roles import Role
from shiq.rdf.lines import read_texts
from shiq.rdf.triples import IRI, LITERAL, Triples
from shiq.streams.consistency.dl_lite import (
    DLLiteView,
    existential,
    loop_label,
    misfit_label,
    range_limits,
    role_label,
)
from shiq.streams.consistency.negative_inclusions import RootMasks
from shiq.streams.front.event import Event, Record

_TYPE, _SAME, _DIFFERENT = owl.RDF + "type", owl.OWL + "sameAs", owl.OWL + "differentFrom"
_ANNOTATIONS = {owl.RDFS + name for name in ("label", "comment", "seeAlso", "isDefinedBy")}
_TEXT = owl.XSD + "string"
#: Between the names of a pair; in no IRI.
_PAIR_SEPARATOR = "\0"
_CODES: dict[bool | None, int] = {True: 1, False: 0, None: 2}


class EventColumns(NamedTuple):
    key: Ints
    label: Ints
    time: Ints


#: Takes the place (in the batch) of what was not used, its kind, why, and how it reads.
RejectCallback = Callable[[int, str, str, str], None]


@dataclass
class IndividualNumbers:
    """Numbers of individuals and pairs; numbers of those that are gone are given again by `retain`."""

    numbers: dict[str, int] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)

    def number_of(self, name: str) -> int:
        found = self.numbers.get(name)
        if found is None:
            found = self.numbers[name] = len(self.names)
            self.names.append(name)
        return found

    def numbers_of(self, names: Iterable[str]) -> list[int]:
        """The number of each of ``names``."""
        wanted = list(names)
        new = [name for name in dict.fromkeys(wanted) if name not in self.numbers]
        self.numbers.update(zip(new, range(len(self.names), len(self.names) + len(new))))
        self.names += new
        return list(map(self.numbers.__getitem__, wanted))

    def retain(self, numbers: Ints) -> dict[int, int]:
        """Keeps those with ``numbers`` (ascending) alone; their new numbers, by old ones."""
        kept = numbers.tolist()
        self.reset([self.names[n] for n in kept])
        return {old: new for new, old in enumerate(kept)}

    def reset(self, names: list[str]) -> None:
        """Knows ``names`` alone, in their order."""
        self.names, self.numbers = names, {name: n for n, name in enumerate(names)}

    def to_column(self) -> npt.NDArray[np.uint8]:
        """What `load_column` takes."""
        return np.frombuffer("\n".join(self.names).encode("utf-8", "surrogatepass"), np.uint8)

    def load_column(self, column: npt.NDArray[np.uint8]) -> None:
        """Knows the names of a `column` alone."""
        text = column.tobytes().decode("utf-8", "surrogatepass")
        self.reset(text.split("\n") if text else [])

    def pair_names(self, number: int) -> tuple[str, str | None]:
        """An individual and None, or the two of a pair."""
        first, between, second = self.names[number].partition(_PAIR_SEPARATOR)
        return first, second if between else None


@dataclass
class TripleEncoder:
    """Makes columns of triples. ``representatives``: the one name of individuals that have several."""

    view: DLLiteView
    masks: RootMasks
    names: IndividualNumbers = field(default_factory=IndividualNumbers)
    representatives: Mapping[str, str] = field(default_factory=dict)
    tuples: int = 0
    _limits: dict[str, list[DataAtMost]] = field(default_factory=dict)
    _all_texts_possible: dict[str, bool] = field(default_factory=dict)

    def encode(self, texts: Sequence[str], times: Ints, tell: RejectCallback) -> EventColumns:
        """The columns of N-Triples statements, each with its time."""
        triples = read_texts(texts, lambda at, why: tell(at, "malformed", why, texts[at]))
        rows = _ints(triples.line) - 1
        parts: list[EventColumns] = []
        subject, predicate, value = (
            _ints(column) for column in (triples.subject, triples.predicate, triples.object)
        )

        def refuse(at: int, kind: str, reason: str) -> None:
            tell(int(rows[at]), kind, reason, texts[rows[at]])

        unknown = np.full(len(triples.terms), -1, np.int64)
        said = _BatchTriples(self, triples, subject, value, times[rows], refuse, unknown)
        for number in np.unique(predicate).tolist():
            parts += said.predicate_columns(
                str(triples.terms[number]), np.flatnonzero(predicate == number)
            )
        return concatenate_columns(parts)

    def number_of(self, name: str) -> int:
        return self.names.number_of(self.representatives.get(name, name))

    def label_column(self, label: str, key: Ints, time: Ints) -> list[EventColumns]:
        """The label for all of ``key``; nothing where it is in no conflict."""
        self.tuples += len(key)
        number = self.masks.numbers.get(label)
        return (
            [] if number is None else [EventColumns(key, np.full(len(key), number, np.int64), time)]
        )

    def role_columns(self, iri: str, subject: Ints, object: Ints, time: Ints) -> list[EventColumns]:
        """A role's both ends, and the pairs where a role axiom speaks of it."""
        parts = self.label_column(existential(Role(iri)), subject, time) + self.label_column(
            existential(Role(iri, True)), object, time
        )
        names = self.names.names
        if self.view.has_pair_labels and not self.masks.numbers.keys().isdisjoint(
            (loop_label(iri), role_label(Role(iri)))
        ):
            ends = [(names[a], names[b]) for a, b in zip(subject.tolist(), object.tolist())]
            key = np.array(
                self.names.numbers_of(_PAIR_SEPARATOR.join(sorted(both)) for both in ends), np.int64
            )
            forward, backward = (
                np.array([f(a, b) for a, b in ends], bool) for f in (str.__lt__, str.__gt__)
            )
            for label, rows in (
                (role_label(Role(iri)), forward),
                (role_label(Role(iri, True)), backward),
                (loop_label(iri), ~forward & ~backward),
            ):
                parts += self.label_column(label, key[rows], time[rows])
        return parts

    def is_possible_value(self, iri: str, literal: owl.Literal) -> bool | None:
        """Whether the value is one that the property may have; None if that is not decided."""
        theory = self.view.theory
        if iri not in self._limits:
            self._limits[iri] = list(range_limits(iri, self.view.misfits, theory))
            self._all_texts_possible[iri] = (
                not self._limits[iri]
                and theory.satisfiable((), (), [(iri, owl.Literal("a"))]) is True
            )
        if (
            literal.datatype == _TEXT
            and self._all_texts_possible[iri]
            and literal.lexical.isprintable()
        ):
            return True
        return theory.satisfiable((), self._limits[iri], [(iri, literal)])


def _ints(column: Sequence[int]) -> Ints:
    return np.array(column, np.int64)


def concatenate_columns(parts: Sequence[EventColumns]) -> EventColumns:
    return (
        EventColumns(*map(np.concatenate, zip(*parts)))
        if parts
        else EventColumns(*(np.empty(0, np.int64) for _ in range(3)))
    )


@dataclass(frozen=True)
class _BatchTriples:
    """The triples of one batch; `predicate_columns` takes those of one predicate. ``numbers``: of individuals,
    by term; -1 if not yet known.
    """

    encoder: TripleEncoder
    triples: Triples
    subject: Ints
    value: Ints
    time: Ints
    reject: Callable[[int, str, str], None]
    numbers: Ints

    def predicate_columns(self, iri: str, rows: Ints) -> list[EventColumns]:
        signature = self.encoder.view.signature
        is_literal = np.frombuffer(self.triples.kinds, np.uint8)[self.value[rows]] == LITERAL
        if iri in signature.data_properties:
            self._reject_rows(
                rows[~is_literal], f"<{iri}> is a data property: its value is a literal"
            )
            return self._data_columns(iri, rows[is_literal])
        if iri in signature.annotation_properties or iri in _ANNOTATIONS:
            return []
        if iri == _TYPE or iri in signature.object_properties:
            self._reject_rows(rows[is_literal], f"<{iri}> has no literals as values")
            rows = rows[~is_literal]
        if iri == _TYPE:
            return [
                part
                for number in np.unique(self.value[rows]).tolist()
                for part in self._class_columns(number, rows)
            ]
        if iri in signature.object_properties:
            return self.encoder.role_columns(
                iri,
                self._individual_numbers(self.subject[rows]),
                self._individual_numbers(self.value[rows]),
                self.time[rows],
            )
        if iri in (_SAME, _DIFFERENT):
            self._reject_rows(
                rows,
                "equality of individuals is not supported in a stream",
                "outside-dl-lite",
            )
        elif iri.startswith((owl.RDFS, owl.OWL)):
            self._reject_rows(
                rows, "an axiom among events: a stream cannot change the TBox", "tbox-axiom"
            )
        else:
            self._reject_rows(rows, f"the TBox does not know the property <{iri}>", "undeclared")
        return []

    def _reject_rows(self, rows: Ints, reason: str, kind: str = "malformed") -> None:
        for row in rows.tolist():
            self.reject(row, kind, reason)

    def _individual_numbers(self, ids: Ints) -> Ints:
        """The numbers of individuals, each looked up once a batch."""
        new = np.unique(ids[self.numbers[ids] < 0])
        names, same = (
            [str(self.triples.terms[i]) for i in new.tolist()],
            self.encoder.representatives,
        )
        self.numbers[new] = self.encoder.names.numbers_of(
            [same.get(name, name) for name in names] if same else names
        )
        return self.numbers[ids]

    def _class_columns(self, number: int, rows: Ints) -> list[EventColumns]:
        iri, rows = str(self.triples.terms[number]), rows[self.value[rows] == number]
        if self.triples.kinds[number] != IRI:
            self._reject_rows(rows, "an event's class must be a named class", "outside-dl-lite")
        elif iri in self.encoder.view.signature.classes or iri == owl.NOTHING.iri:
            return self.encoder.label_column(
                iri, self._individual_numbers(self.subject[rows]), self.time[rows]
            )
        elif iri.startswith((owl.RDFS, owl.OWL)) and iri not in (
            owl.THING.iri,
            owl.OWL + "NamedIndividual",
        ):
            self._reject_rows(
                rows, "an axiom among events: a stream cannot change the TBox", "tbox-axiom"
            )
        elif not iri.startswith(owl.OWL):
            self._reject_rows(rows, f"the TBox does not know the class <{iri}>", "undeclared")
        return []

    def _data_columns(self, iri: str, rows: Ints) -> list[EventColumns]:
        used, places = np.unique(self.value[rows], return_inverse=True)
        literals = [self.triples.terms[i] for i in used.tolist()]
        fits = np.array(
            [
                _CODES[self.encoder.is_possible_value(iri, lit)]
                for lit in literals
                if isinstance(lit, owl.Literal)
            ],
            np.int64,
        )
        fits = fits[places] if len(rows) else fits
        self._reject_rows(
            rows[fits == _CODES[None]],
            f"whether <{iri}> may have this value is not decided",
            "outside-dl-lite",
        )
        good, bad = rows[fits != _CODES[False]], rows[fits == _CODES[False]]
        parts = self.encoder.label_column(
            "∃" + iri, self._individual_numbers(self.subject[good]), self.time[good]
        )
        return parts + self.encoder.label_column(
            misfit_label(iri), self._individual_numbers(self.subject[bad]), self.time[bad]
        )


# ``rate://N``: events drawn over a TBox's vocabulary, to try things out; the same ones for the
# same TBox.


#: Points of time that are drawn where the stream is not followed.
POINTS = 100
#: Individuals, for each event of a point.
_SPREAD = 10


@dataclass
class RandomEvents:
    """``number`` events at each point of time: a class or a role of individuals. Followed, a
    point is a second and there is no end; else all `POINTS` come at once. Position: events.
    """

    name: str
    number: int
    classes: Sequence[str]
    roles: Sequence[str]
    position: int = 0

    def read(self, follow: bool) -> Iterator[Record]:
        first, done = divmod(self.position, self.number)
        begun = time.monotonic() - first
        for t in itertools.count(first) if follow else range(first, POINTS):
            if follow:
                time.sleep(max(0.0, begun + t - time.monotonic()))
            draw = random.Random(f"0 {t}")
            triples = [self._triple(draw) for _ in range(self.number)]
            for triple in triples[done if t == first else 0 :]:
                self.position += 1
                yield Record(self.name, self.position, triple.encode(), Event(t, (triple,)))

    def _triple(self, draw: random.Random) -> str:
        who = f"<urn:shiq:rate#{draw.randrange(self.number * _SPREAD)}>"
        number = draw.randrange(len(self.classes) + len(self.roles))
        if number < len(self.classes):
            return f"{who} <{RDF}type> <{self.classes[number]}> ."
        return f"{who} <{self.roles[number - len(self.classes)]}> <urn:shiq:rate#{draw.randrange(self.number * _SPREAD)}> ."


def rate_source(target: str, signature: Signature) -> RandomEvents:
    """The source that ``rate://N`` names. Raises: UsageError."""
    number = target.removeprefix("rate://")
    classes, roles = sorted(signature.classes), sorted(signature.object_properties)
    if not number.isdigit() or not int(number):
        raise UsageError(f"{target}: not a rate", "Write rate://N, N events a second.")
    if not classes and not roles:
        raise UsageError(
            f"{target}: the ontology has no classes and roles to draw from", "Give another source."
        )
    return RandomEvents(target, int(number), classes, roles)


# What holds at all times: assertions as columns, and one name for individuals that have several.


def static_columns(
    intake: TripleEncoder,
    assertions: Iterable[owl.Assertion],
    refuse: Callable[[owl.Assertion], None],
) -> EventColumns:
    """The columns of assertions that hold at all times; the time in them means nothing."""
    parts: list[EventColumns] = []
    zero = np.zeros(1, np.int64)

    def one(name: str) -> Ints:
        return np.array([intake.number_of(name)], np.int64)

    for assertion in assertions:
        match assertion:
            case owl.ClassAssertion(owl.Class(iri), individual):
                parts += intake.label_column(iri, one(individual), zero)
            case owl.ObjectPropertyAssertion(owl.ObjectProperty(iri), subject, object):
                parts += intake.role_columns(iri, one(subject), one(object), zero)
            case owl.DataPropertyAssertion(owl.DataProperty(iri), subject, literal):
                fits = intake.is_possible_value(iri, literal)
                if fits is None:
                    refuse(assertion)
                parts += intake.label_column(
                    misfit_label(iri) if fits is False else "∃" + iri, one(subject), zero
                )
            case owl.SameIndividual():
                pass  # `TripleEncoder.representatives` has it
            case owl.DifferentIndividuals(first, second) if intake.number_of(
                first
            ) != intake.number_of(second):
                pass
            case _:
                refuse(assertion)
    return concatenate_columns(parts)


def find_representatives(assertions: Iterable[owl.Assertion]) -> dict[str, str]:
    """The smallest name of each individual that sameAs gives several."""
    same: dict[str, str] = {}

    def name(of: str) -> str:
        while of in same:
            of = same[of]
        return of

    for assertion in assertions:
        if isinstance(assertion, owl.SameIndividual):
            first, second = sorted((name(assertion.first), name(assertion.second)))
            if first != second:
                same[second] = first
    return {of: name(of) for of in same}
