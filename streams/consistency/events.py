"""Encode the triples of events as columns of individual, label and time; report unusable triples.

Individuals are numbered, and so are the pairs that have role labels. The name of a pair consists of
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
    existential_label,
    loop_label,
    out_of_range_label,
    role_label,
    select_range_limits,
)
from shiq.streams.consistency.negative_inclusions import RootMasks
from shiq.streams.front.event import Event, Record

_TYPE, _SAME, _DIFFERENT = owl.RDF + "type", owl.OWL + "sameAs", owl.OWL + "differentFrom"
_ANNOTATIONS = {owl.RDFS + name for name in ("label", "comment", "seeAlso", "isDefinedBy")}
_STRING_TYPE = owl.XSD + "string"
#: Between the names of a pair; in no IRI.
_PAIR_SEPARATOR = "\0"
_FIT_CODES: dict[bool | None, int] = {True: 1, False: 0, None: 2}


class EventColumns(NamedTuple):
    """Columns of assertions: individual or pair (``key``), label and time, all as numbers."""

    key: Ints
    label: Ints
    time: Ints


#: Takes the place (in the batch) of what was not used, its kind, why, and how it reads.
RejectCallback = Callable[[int, str, str, str], None]


@dataclass
class IndividualNumbers:
    """Numbers of individuals and pairs; `keep_only` frees the numbers of unused ones."""

    numbers: dict[str, int] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)

    def number_of(self, name: str) -> int:
        """Number of a name, assigned if it is new."""
        found = self.numbers.get(name)
        if found is None:
            found = self.numbers[name] = len(self.names)
            self.names.append(name)
        return found

    def numbers_of(self, names: Iterable[str]) -> list[int]:
        """Numbers of names, assigned if they are new."""
        wanted = list(names)
        new = [name for name in dict.fromkeys(wanted) if name not in self.numbers]
        self.numbers.update(zip(new, range(len(self.names), len(self.names) + len(new))))
        self.names += new
        return list(map(self.numbers.__getitem__, wanted))

    def keep_only(self, numbers: Ints) -> dict[int, int]:
        """Keep only ``numbers`` (ascending) and renumber; return new numbers by old ones."""
        kept = numbers.tolist()
        self.reset([self.names[n] for n in kept])
        return {old: new for new, old in enumerate(kept)}

    def reset(self, names: list[str]) -> None:
        """Replace all names by ``names``, numbered in their order."""
        self.names, self.numbers = names, {name: n for n, name in enumerate(names)}

    def to_column(self) -> npt.NDArray[np.uint8]:
        """Serialise the names as one byte array for `load_column`."""
        return np.frombuffer("\n".join(self.names).encode("utf-8", "surrogatepass"), np.uint8)

    def load_column(self, column: npt.NDArray[np.uint8]) -> None:
        """Replace all names by those of a byte array from `to_column`."""
        text = column.tobytes().decode("utf-8", "surrogatepass")
        self.reset(text.split("\n") if text else [])

    def pair_names(self, number: int) -> tuple[str, str | None]:
        """Names of the two individuals of a pair; of an individual, its name and None."""
        first, between, second = self.names[number].partition(_PAIR_SEPARATOR)
        return first, second if between else None


@dataclass
class TripleEncoder:
    """Encoder of triples as columns.

    representatives: canonical name of individuals with several names.
    tuples: number of assertions encoded.
    """

    view: DLLiteView
    masks: RootMasks
    names: IndividualNumbers = field(default_factory=IndividualNumbers)
    representatives: Mapping[str, str] = field(default_factory=dict)
    tuples: int = 0
    _limits: dict[str, list[DataAtMost]] = field(default_factory=dict)
    _all_texts_possible: dict[str, bool] = field(default_factory=dict)

    def encode(self, texts: Sequence[str], times: Ints, tell: RejectCallback) -> EventColumns:
        """Encode N-Triples statements with their times; report unusable ones to ``tell``."""
        triples = read_texts(texts, lambda at, why: tell(at, "malformed", why, texts[at]))
        rows = _to_column(triples.line) - 1
        parts: list[EventColumns] = []
        subject, predicate, value = (
            _to_column(column) for column in (triples.subject, triples.predicate, triples.object)
        )

        def reject_row(at: int, kind: str, reason: str) -> None:
            """Report a triple as unusable."""
            tell(int(rows[at]), kind, reason, texts[rows[at]])

        unknown = np.full(len(triples.terms), -1, np.int64)
        said = _BatchTriples(self, triples, subject, value, times[rows], reject_row, unknown)
        for number in np.unique(predicate).tolist():
            parts += said.encode_predicate(
                str(triples.terms[number]), np.flatnonzero(predicate == number)
            )
        return concatenate_columns(parts)

    def number_of(self, name: str) -> int:
        """Number of an individual by its canonical name."""
        return self.names.number_of(self.representatives.get(name, name))

    def encode_label(self, label: str, key: Ints, time: Ints) -> list[EventColumns]:
        """Columns that assert a label of all ``key``; none if the label occurs in no conflict."""
        self.tuples += len(key)
        number = self.masks.label_numbers.get(label)
        return (
            [] if number is None else [EventColumns(key, np.full(len(key), number, np.int64), time)]
        )

    def encode_role(self, iri: str, subject: Ints, object: Ints, time: Ints) -> list[EventColumns]:
        """Columns of a role: both existential labels, and labels of pairs if role axioms need them."""
        parts = self.encode_label(existential_label(Role(iri)), subject, time) + self.encode_label(
            existential_label(Role(iri, True)), object, time
        )
        names = self.names.names
        if self.view.has_pair_labels and not self.masks.label_numbers.keys().isdisjoint(
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
                parts += self.encode_label(label, key[rows], time[rows])
        return parts

    def is_possible_value(self, iri: str, literal: owl.Literal) -> bool | None:
        """Whether a value lies in the property's range; None if undecided."""
        theory = self.view.theory
        if iri not in self._limits:
            self._limits[iri] = list(select_range_limits(iri, self.view.range_limits, theory))
            self._all_texts_possible[iri] = (
                not self._limits[iri]
                and theory.satisfiable((), (), [(iri, owl.Literal("a"))]) is True
            )
        if (
            literal.datatype == _STRING_TYPE
            and self._all_texts_possible[iri]
            and literal.lexical.isprintable()
        ):
            return True
        return theory.satisfiable((), self._limits[iri], [(iri, literal)])


def _to_column(column: Sequence[int]) -> Ints:
    """Convert integers to a numpy column."""
    return np.array(column, np.int64)


def concatenate_columns(parts: Sequence[EventColumns]) -> EventColumns:
    """Concatenate columns of assertions."""
    return (
        EventColumns(*map(np.concatenate, zip(*parts)))
        if parts
        else EventColumns(*(np.empty(0, np.int64) for _ in range(3)))
    )


@dataclass(frozen=True)
class _BatchTriples:
    """Parsed triples of one batch.

    numbers: individual's number by term; -1 if not looked up yet.
    """

    encoder: TripleEncoder
    triples: Triples
    subject: Ints
    value: Ints
    time: Ints
    reject: Callable[[int, str, str], None]
    numbers: Ints

    def encode_predicate(self, iri: str, rows: Ints) -> list[EventColumns]:
        """Encode the triples with one predicate."""
        signature = self.encoder.view.signature
        is_literal = np.frombuffer(self.triples.kinds, np.uint8)[self.value[rows]] == LITERAL
        if iri in signature.data_properties:
            self._reject_rows(
                rows[~is_literal], f"<{iri}> is a data property: its value is a literal"
            )
            return self._encode_data_property(iri, rows[is_literal])
        if iri in signature.annotation_properties or iri in _ANNOTATIONS:
            return []
        if iri == _TYPE or iri in signature.object_properties:
            self._reject_rows(rows[is_literal], f"<{iri}> has no literals as values")
            rows = rows[~is_literal]
        if iri == _TYPE:
            return [
                part
                for number in np.unique(self.value[rows]).tolist()
                for part in self._encode_class(number, rows)
            ]
        if iri in signature.object_properties:
            return self.encoder.encode_role(
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
        """Reject triples with a reason."""
        for row in rows.tolist():
            self.reject(row, kind, reason)

    def _individual_numbers(self, ids: Ints) -> Ints:
        """Numbers of individuals, each looked up once per batch."""
        new = np.unique(ids[self.numbers[ids] < 0])
        names, same = (
            [str(self.triples.terms[i]) for i in new.tolist()],
            self.encoder.representatives,
        )
        self.numbers[new] = self.encoder.names.numbers_of(
            [same.get(name, name) for name in names] if same else names
        )
        return self.numbers[ids]

    def _encode_class(self, number: int, rows: Ints) -> list[EventColumns]:
        """Encode the class assertions of one class."""
        iri, rows = str(self.triples.terms[number]), rows[self.value[rows] == number]
        if self.triples.kinds[number] != IRI:
            self._reject_rows(rows, "an event's class must be a named class", "outside-dl-lite")
        elif iri in self.encoder.view.signature.classes or iri == owl.NOTHING.iri:
            return self.encoder.encode_label(
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

    def _encode_data_property(self, iri: str, rows: Ints) -> list[EventColumns]:
        """Encode the assertions of a data property."""
        used, places = np.unique(self.value[rows], return_inverse=True)
        literals = [self.triples.terms[i] for i in used.tolist()]
        fits = np.array(
            [
                _FIT_CODES[self.encoder.is_possible_value(iri, lit)]
                for lit in literals
                if isinstance(lit, owl.Literal)
            ],
            np.int64,
        )
        fits = fits[places] if len(rows) else fits
        self._reject_rows(
            rows[fits == _FIT_CODES[None]],
            f"whether <{iri}> may have this value is not decided",
            "outside-dl-lite",
        )
        good, bad = rows[fits != _FIT_CODES[False]], rows[fits == _FIT_CODES[False]]
        parts = self.encoder.encode_label(
            "∃" + iri, self._individual_numbers(self.subject[good]), self.time[good]
        )
        return parts + self.encoder.encode_label(
            out_of_range_label(iri), self._individual_numbers(self.subject[bad]), self.time[bad]
        )


# ``rate://N``: events drawn over a TBox's vocabulary, to try things out; the same ones for the
# same TBox.


#: Points of time that are drawn where the stream is not followed.
RANDOM_POINTS = 100
#: Individuals, for each event of a point.
_INDIVIDUALS_PER_EVENT = 10


@dataclass
class RandomEvents:
    """Source ``rate://N``: random events over the vocabulary of a TBox, for trying things out.

    Each point of time has ``number`` events, each a class or role assertion, always the same for a
    TBox. If followed, a point lasts a second and the source is endless; otherwise it ends after
    `RANDOM_POINTS` points. Position: events.
    """

    name: str
    number: int
    classes: Sequence[str]
    roles: Sequence[str]
    position: int = 0

    def read(self, follow: bool) -> Iterator[Record]:
        """Yield the random events after ``position``."""
        first, done = divmod(self.position, self.number)
        begun = time.monotonic() - first
        for t in itertools.count(first) if follow else range(first, RANDOM_POINTS):
            if follow:
                time.sleep(max(0.0, begun + t - time.monotonic()))
            draw = random.Random(f"0 {t}")
            triples = [self._draw_triple(draw) for _ in range(self.number)]
            for triple in triples[done if t == first else 0 :]:
                self.position += 1
                yield Record(self.name, self.position, triple.encode(), Event(t, (triple,)))

    def _draw_triple(self, draw: random.Random) -> str:
        """Draw a random triple."""
        who = f"<urn:shiq:rate#{draw.randrange(self.number * _INDIVIDUALS_PER_EVENT)}>"
        number = draw.randrange(len(self.classes) + len(self.roles))
        if number < len(self.classes):
            return f"{who} <{RDF}type> <{self.classes[number]}> ."
        other = f"<urn:shiq:rate#{draw.randrange(self.number * _INDIVIDUALS_PER_EVENT)}>"
        return f"{who} <{self.roles[number - len(self.classes)]}> {other} ."


def open_rate_source(target: str, signature: Signature) -> RandomEvents:
    """Open the source that ``rate://N`` names. Raises: UsageError."""
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


def encode_static(
    intake: TripleEncoder,
    assertions: Iterable[owl.Assertion],
    refuse: Callable[[owl.Assertion], None],
) -> EventColumns:
    """Encode assertions that hold at all times; their time column is meaningless.

    refuse: called with each assertion that cannot be encoded.
    """
    parts: list[EventColumns] = []
    zero = np.zeros(1, np.int64)

    def number_column(name: str) -> Ints:
        """Number of an individual as a column of one row."""
        return np.array([intake.number_of(name)], np.int64)

    for assertion in assertions:
        match assertion:
            case owl.ClassAssertion(owl.Class(iri), individual):
                parts += intake.encode_label(iri, number_column(individual), zero)
            case owl.ObjectPropertyAssertion(owl.ObjectProperty(iri), subject, object):
                parts += intake.encode_role(
                    iri, number_column(subject), number_column(object), zero
                )
            case owl.DataPropertyAssertion(owl.DataProperty(iri), subject, literal):
                fits = intake.is_possible_value(iri, literal)
                if fits is None:
                    refuse(assertion)
                parts += intake.encode_label(
                    out_of_range_label(iri) if fits is False else "∃" + iri,
                    number_column(subject),
                    zero,
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
    """Canonical (smallest) name of each individual that sameAs gives several names."""
    same: dict[str, str] = {}

    def canonical_name(of: str) -> str:
        """Smallest name found so far for an individual."""
        while of in same:
            of = same[of]
        return of

    for assertion in assertions:
        if isinstance(assertion, owl.SameIndividual):
            first, second = sorted(
                (canonical_name(assertion.first), canonical_name(assertion.second))
            )
            if first != second:
                same[second] = first
    return {of: canonical_name(of) for of in same}
