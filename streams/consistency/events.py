"""Encode the triples of events as columns of individual, label and time, and report the triples
that cannot be used.

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
from shiq.rdf.lines import read_statements
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
from shiq.streams.front.intake import refuse_unknown_name

_TYPE, _SAME, _DIFFERENT = owl.RDF + "type", owl.OWL + "sameAs", owl.OWL + "differentFrom"
_ANNOTATIONS = {owl.RDFS + name for name in ("label", "comment", "seeAlso", "isDefinedBy")}
_STRING_TYPE = owl.XSD + "string"
#: Between the names of a pair; in no IRI.
_PAIR_SEPARATOR = "\0"
_FIT_CODES: dict[bool | None, int] = {True: 1, False: 0, None: 2}


class EventColumns(NamedTuple):
    """Columns of assertions: id of the individual or pair (``key``), index of the label, and time."""

    key: Ints
    label: Ints
    time: Ints


#: Takes the place (in the batch) of what was not used, its kind, why, and how it reads.
RejectCallback = Callable[[int, str, str, str], None]


@dataclass
class IndividualIds:
    """Integer ids for the names of individuals and of pairs of individuals, from 0 without gaps."""

    numbers: dict[str, int] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)

    def find_or_assign_id(self, name: str) -> int:
        """Id of a name; a new name gets the next one."""
        found = self.numbers.get(name)
        if found is None:
            found = self.numbers[name] = len(self.names)
            self.names.append(name)
        return found

    def find_or_assign_ids(self, names: Iterable[str]) -> list[int]:
        """Ids of names; new names get the next ones."""
        wanted = list(names)
        new = [name for name in dict.fromkeys(wanted) if name not in self.numbers]
        self.numbers.update(zip(new, range(len(self.names), len(self.names) + len(new))))
        self.names += new
        return list(map(self.numbers.__getitem__, wanted))

    def keep_ids(self, ids: Ints) -> dict[int, int]:
        """Keep only the names with these ids (ascending), under new ids without gaps; return new
        ids by old ones.
        """
        kept = ids.tolist()
        self.replace_names([self.names[n] for n in kept])
        return {old: new for new, old in enumerate(kept)}

    def replace_names(self, names: list[str]) -> None:
        """Replace all names by ``names``; the id of each is its index."""
        self.names, self.numbers = names, {name: n for n, name in enumerate(names)}

    def names_to_column(self) -> npt.NDArray[np.uint8]:
        """Serialise the names as one byte array for `load_names`."""
        return np.frombuffer("\n".join(self.names).encode("utf-8", "surrogatepass"), np.uint8)

    def load_names(self, column: npt.NDArray[np.uint8]) -> None:
        """Replace all names by those of a byte array from `names_to_column`."""
        text = column.tobytes().decode("utf-8", "surrogatepass")
        self.replace_names(text.split("\n") if text else [])

    def pair_names(self, id: int) -> tuple[str, str | None]:
        """Names of the two individuals in the pair with this id. For the id of a single individual:
        its name and None.
        """
        first, between, second = self.names[id].partition(_PAIR_SEPARATOR)
        return first, second if between else None


@dataclass
class TripleEncoder:
    """Encoder of N-Triples statements as columns of individual id, label index and time.

    representatives: canonical name of individuals with several names.
    tuples: number of assertions encoded.
    """

    view: DLLiteView
    masks: RootMasks
    names: IndividualIds = field(default_factory=IndividualIds)
    representatives: Mapping[str, str] = field(default_factory=dict)
    tuples: int = 0
    _limits: dict[str, list[DataAtMost]] = field(default_factory=dict)
    _all_texts_possible: dict[str, bool] = field(default_factory=dict)

    def encode_statements(
        self, texts: Sequence[str], times: Ints, on_unusable: RejectCallback
    ) -> EventColumns:
        """Encode N-Triples statements with their times as columns; report the unusable ones to
        ``on_unusable``.
        """
        triples = read_statements(
            texts, lambda at, why: on_unusable(at, "malformed", why, texts[at])
        )
        rows = _to_column(triples.line) - 1
        parts: list[EventColumns] = []
        subject, predicate, value = (
            _to_column(column) for column in (triples.subject, triples.predicate, triples.object)
        )

        def reject_row(at: int, kind: str, reason: str) -> None:
            """Report a triple as unusable."""
            on_unusable(int(rows[at]), kind, reason, texts[rows[at]])

        unknown = np.full(len(triples.terms), -1, np.int64)
        said = _BatchTriples(self, triples, subject, value, times[rows], reject_row, unknown)
        for number in np.unique(predicate).tolist():
            parts += said.encode_predicate(
                str(triples.terms[number]), np.flatnonzero(predicate == number)
            )
        return concatenate_columns(parts)

    def find_or_assign_id(self, name: str) -> int:
        """Id of an individual, by the canonical one of its names."""
        return self.names.find_or_assign_id(self.representatives.get(name, name))

    def encode_label(self, label: str, key: Ints, time: Ints) -> list[EventColumns]:
        """Columns that assert ``label`` of the individuals or pairs ``key`` (ids) at ``time``.
        Empty if the label can be in no conflict.
        """
        self.tuples += len(key)
        number = self.masks.label_indexes.get(label)
        return (
            [] if number is None else [EventColumns(key, np.full(len(key), number, np.int64), time)]
        )

    def encode_role(self, iri: str, subject: Ints, object: Ints, time: Ints) -> list[EventColumns]:
        """Columns for assertions of an object property: ∃R and ∃R⁻ of the individuals, and labels
        of the pairs if role axioms need them.
        """
        parts = self.encode_label(existential_label(Role(iri)), subject, time) + self.encode_label(
            existential_label(Role(iri, True)), object, time
        )
        names = self.names.names
        if self.view.has_pair_labels and not self.masks.label_indexes.keys().isdisjoint(
            (loop_label(iri), role_label(Role(iri)))
        ):
            ends = [(names[a], names[b]) for a, b in zip(subject.tolist(), object.tolist())]
            key = np.array(
                self.names.find_or_assign_ids(_PAIR_SEPARATOR.join(sorted(both)) for both in ends),
                np.int64,
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
        """Whether a literal lies in the ranges of the data property ``iri``; None if that is
        undecided.
        """
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
    """Convert integers to an int64 array."""
    return np.array(column, np.int64)


def concatenate_columns(parts: Sequence[EventColumns]) -> EventColumns:
    """Concatenate tables of assertions, column by column."""
    return (
        EventColumns(*map(np.concatenate, zip(*parts)))
        if parts
        else EventColumns(*(np.empty(0, np.int64) for _ in range(3)))
    )


@dataclass(frozen=True)
class _BatchTriples:
    """Parsed triples of one batch of events, and their encoding predicate by predicate. In all
    methods, ``rows`` are indexes of triples in the batch.

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
        """Encode the triples ``rows``, which all have the predicate ``iri``; reject those that the
        TBox does not allow.
        """
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
                self._find_or_assign_ids(self.subject[rows]),
                self._find_or_assign_ids(self.value[rows]),
                self.time[rows],
            )
        if iri in (_SAME, _DIFFERENT):
            self._reject_rows(
                rows,
                "equality of individuals is not supported in a stream",
                "outside-dl-lite",
            )
        else:
            self._reject_rows(rows, *refuse_unknown_name(iri, "property"))
        return []

    def _reject_rows(self, rows: Ints, reason: str, kind: str = "malformed") -> None:
        """Report the triples ``rows`` as rejected, with a reason and the ``kind`` of reject, such
        as "undeclared".
        """
        for row in rows.tolist():
            self.reject(row, kind, reason)

    def _find_or_assign_ids(self, ids: Ints) -> Ints:
        """Ids of the individuals with these term indexes; each name is looked up only once per
        batch.
        """
        new = np.unique(ids[self.numbers[ids] < 0])
        names, same = (
            [str(self.triples.terms[i]) for i in new.tolist()],
            self.encoder.representatives,
        )
        self.numbers[new] = self.encoder.names.find_or_assign_ids(
            [same.get(name, name) for name in names] if same else names
        )
        return self.numbers[ids]

    def _encode_class(self, term_index: int, rows: Ints) -> list[EventColumns]:
        """Encode those class assertions among ``rows`` whose class is the term with index
        ``term_index``.
        """
        iri, rows = str(self.triples.terms[term_index]), rows[self.value[rows] == term_index]
        if self.triples.kinds[term_index] != IRI:
            self._reject_rows(rows, "an event's class must be a named class", "outside-dl-lite")
        elif iri in self.encoder.view.signature.classes or iri == owl.NOTHING.iri:
            return self.encoder.encode_label(
                iri, self._find_or_assign_ids(self.subject[rows]), self.time[rows]
            )
        elif iri not in (owl.THING.iri, owl.OWL + "NamedIndividual"):
            self._reject_rows(rows, *refuse_unknown_name(iri, "class"))
        return []

    def _encode_data_property(self, iri: str, rows: Ints) -> list[EventColumns]:
        """Encode the assertions ``rows`` of the data property ``iri``; values outside its range
        assert a contradiction.
        """
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
            "∃" + iri, self._find_or_assign_ids(self.subject[good]), self.time[good]
        )
        return parts + self.encoder.encode_label(
            out_of_range_label(iri), self._find_or_assign_ids(self.subject[bad]), self.time[bad]
        )


# ``rate://N``: events drawn over a TBox's vocabulary, to try things out; the same ones for the
# same TBox.


#: Points of time that are drawn where the stream is not followed.
RANDOM_POINTS = 100
#: Individuals, for each event of a point.
_INDIVIDUALS_PER_EVENT = 10


@dataclass
class RandomEvents:
    """Source ``rate://N``: N random assertions per time point over the vocabulary of a TBox, for
    trials.

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
        """Yield the random events after ``position``. With ``follow`` the stream does not end and
        yields one time point per second.
        """
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
        """Draw a random class or role assertion as N-Triples."""
        who = f"<urn:shiq:rate#{draw.randrange(self.number * _INDIVIDUALS_PER_EVENT)}>"
        number = draw.randrange(len(self.classes) + len(self.roles))
        if number < len(self.classes):
            return f"{who} <{RDF}type> <{self.classes[number]}> ."
        other = f"<urn:shiq:rate#{draw.randrange(self.number * _INDIVIDUALS_PER_EVENT)}>"
        return f"{who} <{self.roles[number - len(self.classes)]}> {other} ."


def open_rate_source(target: str, signature: Signature) -> RandomEvents:
    """Open the source of random events that ``rate://N`` names. Raises: UsageError."""
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


def encode_static_assertions(
    encoder: TripleEncoder,
    assertions: Iterable[owl.Assertion],
    on_unusable: Callable[[owl.Assertion], None],
) -> EventColumns:
    """Encode assertions that hold at all times as columns; the time column is meaningless.

    on_unusable: called with each assertion that cannot be encoded.
    """
    parts: list[EventColumns] = []
    zero = np.zeros(1, np.int64)

    def number_column(name: str) -> Ints:
        """Number of an individual as a column of one row."""
        return np.array([encoder.find_or_assign_id(name)], np.int64)

    for assertion in assertions:
        match assertion:
            case owl.ClassAssertion(owl.Class(iri), individual):
                parts += encoder.encode_label(iri, number_column(individual), zero)
            case owl.ObjectPropertyAssertion(owl.ObjectProperty(iri), subject, object):
                parts += encoder.encode_role(
                    iri, number_column(subject), number_column(object), zero
                )
            case owl.DataPropertyAssertion(owl.DataProperty(iri), subject, literal):
                fits = encoder.is_possible_value(iri, literal)
                if fits is None:
                    on_unusable(assertion)
                parts += encoder.encode_label(
                    out_of_range_label(iri) if fits is False else "∃" + iri,
                    number_column(subject),
                    zero,
                )
            case owl.SameIndividual():
                pass  # `TripleEncoder.representatives` has it
            case owl.DifferentIndividuals(first, second) if encoder.find_or_assign_id(
                first
            ) != encoder.find_or_assign_id(second):
                pass
            case _:
                on_unusable(assertion)
    return concatenate_columns(parts)


def find_representatives(assertions: Iterable[owl.Assertion]) -> dict[str, str]:
    """Canonical (smallest) name of each individual to which sameAs assertions give several names."""
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
