"""Sample records that represent everything a mapping can produce: at least one for each event key.

Each reference of the mapping gets the values that keys distinguish: names of static individuals,
new names, and one value per region (more if values are counted). Different combinations may have
the same key (docs/ENRICHMENT.md).

Sample literals: for numbers, truth values and times, one in each interval between the ontology's
constants and the bounds of datatypes, and a whole number if it contains one. For other texts the
constants, and one of each length that the ontology mentions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation, localcontext
from functools import cached_property
from itertools import pairwise, product
from math import floor, prod
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from shiq import model as owl
from shiq.answers.verdict import Verdict
from shiq.deprecation import RenamedAttribute
from shiq.model.walk import parts
from shiq.rml.model import TYPE, MappingJoin, ReferencePath, Statement, TermMap
from shiq.rml.program import (
    JsonNumber,
    MappingProgram,
    MissingValueError,
    lexical_form,
    make_token,
    natural_datatype,
)
from shiq.streams.enrichment.key import CountedValue, IllTypedError, KeyMaker
from shiq.streams.enrichment.knowledge import StaticKnowledge
from shiq.streams.enrichment.statements import UnkeyableEventError

# Texts of literals to stand for all: those that T and B name, and between, beside and beyond them.
#
# Of numbers, truth values and times there is one in each interval that T's constants and the
# bounds of the datatypes make, and in each a whole number, where one lies there; of other texts
# the constants, and of each length that T names.


#: Bounds of the built-in datatypes of whole numbers.
_DATATYPE_BOUNDS: Final = [
    0,
    *(
        sign * 2**n - shift
        for n in (7, 8, 15, 16, 31, 32, 63, 64)
        for sign in (1, -1)
        for shift in (0, 1)
    ),
]
_FIXED_SAMPLES: Final = ("", "true", "false", "NaN", "INF", "-INF", "-0.0", "text")
#: Numbers of more digits, and texts that are longer, are left out.
_MOST_DIGITS: Final = 400
_MOST_LETTERS: Final = 1_000


def sample_literals(constants: Collection[str]) -> Iterator[str]:
    """Yield sample texts in all intervals and of all lengths that ``constants`` define, and the
    constants.
    """
    return iter(
        dict.fromkeys(
            (
                *sorted(constants),
                *_sample_numbers(constants),
                *_sample_times(constants),
                *_sample_lengths(constants),
                *_FIXED_SAMPLES,
            )
        )
    )


def _sample_numbers(constants: Iterable[str]) -> Iterator[str]:
    """Yield sample numbers at, between and beyond the constants and bounds of datatypes."""
    with localcontext() as context:
        context.prec = 4 * _MOST_DIGITS
        known = {Decimal(n) for n in _DATATYPE_BOUNDS} | {
            found for text in constants if (found := _parse_number(text)) is not None
        }
        points = sorted(known)
        wide = [points[0] - 2, *points, points[-1] + 2]
        for low, high in pairwise(wide):
            step = min(Decimal(1), high - low)
            whole = Decimal(floor(low) + 1)
            inside = [
                low,
                *(n for n in (whole, whole + 1) if n < high),
                low + step / 4,
                low + step / 8,
                low + step / 2,
            ]
            yield from (format(value, "f") for value in inside)


def _parse_number(text: str) -> Decimal | None:
    """Parse a finite number of moderate size; None otherwise."""
    try:
        found = Decimal(text)
    except InvalidOperation:
        return None
    return (
        found
        if found.is_finite() and abs(found.adjusted()) < _MOST_DIGITS and len(text) < _MOST_DIGITS
        else None
    )


def _sample_times(constants: Iterable[str]) -> Iterator[str]:
    """Yield sample times around and between the constants."""
    found = dict.fromkeys(time for text in constants if (time := _parse_time(text)) is not None)
    seconds, day = timedelta(seconds=1), timedelta(days=1)
    for time in found:
        for moved in (time - day, time - seconds, time + seconds, time + day):
            yield moved.isoformat()
            yield moved.date().isoformat()
    for with_zone in (True, False):
        of_kind = sorted(time for time in found if (time.tzinfo is not None) is with_zone)
        yield from ((low + (high - low) / 2).isoformat() for low, high in pairwise(of_kind))


def _parse_time(text: str) -> datetime | None:
    """Parse a date-time; None for other texts and years at the edge of the calendar."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    # Years at the edge of what can be moved are left out.
    return found if "-" in text and date(2, 1, 1) < found.date() < date(9998, 1, 1) else None


def _sample_lengths(constants: Iterable[str]) -> Iterator[str]:
    """Yield sample texts of the lengths that numeric constants mention."""
    for text in constants:
        yield text + "x"
        if text.isdecimal() and int(text) < _MOST_LETTERS:
            yield from ("x" * n for n in range(max(0, int(text) - 1), int(text) + 2))


#: In place of a value that a record lacks.
_ABSENT: Final = object()


class PrefillCounts(NamedTuple):
    """Counts of a prefill: new and undetermined entries, tried and possible combinations of values."""

    new_entries: int
    undetermined_entries: int
    tried_combinations: int
    possible_combinations: int

    def __str__(self) -> str:
        more = f", {self.undetermined_entries:,} undetermined" if self.undetermined_entries else ""
        tried = (
            "all"
            if self.tried_combinations == self.possible_combinations
            else f"{self.tried_combinations:,} of"
        )
        return f"prefilled: {self.new_entries:,} new{more}, of {tried} {self.possible_combinations:,} combinations of values"


# Old names, until 0.3; a named tuple takes no descriptors in its body.
for _old, _new in (
    ("kept", "new_entries"),
    ("undetermined", "undetermined_entries"),
    ("tried", "tried_combinations"),
    ("possible", "possible_combinations"),
):
    setattr(PrefillCounts, _old, RenamedAttribute(_new, _old))


@dataclass
class SampleRecords:
    """Sample records of a mapping: all combinations of sample values for its references.

    Records with a new subject come first.
    """

    program: MappingProgram
    keys: KeyMaker
    knowledge: StaticKnowledge
    _choices: dict[ReferencePath, dict[Any, None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        terms = list(self._find_record_terms())
        names = {
            path
            for base, term, _ in terms
            if term.kind != "Literal"
            for path in _reference_paths(base, term)
        }
        counted = {
            path
            for base, term, _ in terms
            if term.kind == "Literal"
            for path in _reference_paths(base, term)
        }
        new = [f"new-{n}" for n in range(1, len(names) + 1)]
        # Subjects vary last, values first.
        ranked = sorted(terms, key=lambda found: (found[1].kind == "Literal", found[2] != ""))
        for base, term, predicate in ranked:
            if term.kind == "Literal":
                self._add_sample_values(
                    base, term, self._sample_literal_values(term, predicate, len(counted))
                )
            elif predicate == "":
                self._add_sample_values(
                    base,
                    term,
                    [
                        *_match_references(term, (), new),
                        *_match_references(term, self._distinguished_names(predicate), ()),
                    ],
                )
            else:
                self._add_sample_values(
                    base, term, _match_references(term, self._distinguished_names(predicate), new)
                )
        for base, join in self._find_record_joins():
            for place, (path, _) in enumerate(join.conditions):
                choices = self._choices.setdefault((*base, *path), {})
                choices.update((texts[place], None) for texts in self.program.parent_subjects(join))
                choices["new-1"] = None
        for choices in self._choices.values():
            choices.update({} if choices else {"new-1": None})
            if self.program.lenient:
                choices[_ABSENT] = None

    def __len__(self) -> int:
        return prod(map(len, self._choices.values()))

    def decide_each(
        self, max_count: int, decide: Callable[[Sequence[Statement]], Verdict | None]
    ) -> PrefillCounts:
        """Call ``decide`` with the statements of each sample record, until ``max_count`` of the
        calls returned a verdict.
        """
        verdicts: Counter[Verdict] = Counter()
        tried = 0
        for record in self:
            if verdicts.total() >= max_count:
                break
            tried += 1
            try:
                verdict = decide(self.program.statements(record))
            except MissingValueError:
                continue
            verdicts.update(() if verdict is None else (verdict,))
        undetermined = verdicts[Verdict.UNDETERMINED]
        return PrefillCounts(verdicts.total() - undetermined, undetermined, tried, len(self))

    def __iter__(self) -> Iterator[Any]:
        for values in product(*self._choices.values()):
            record: Any = {}
            for path, value in zip(self._choices, values):
                if value is not _ABSENT:
                    record = _set_value(record, path, value)
            yield record

    @cached_property
    def _constant_texts(self) -> frozenset[str]:
        """Texts of the literals in the ontology T, and of those in the static data B whose values
        may be counted.
        """
        known, counts = self.knowledge, self.keys.regions.is_value_counted
        found = {
            part.lexical
            for value in (*known.axioms, *known.complex_assertions)
            for part in parts(value)
            if isinstance(part, owl.Literal)
        }
        found |= {
            a.literal.lexical
            for a in known.static
            if isinstance(a, owl.DataPropertyAssertion) and counts(a.property.iri)
        }
        return frozenset(found)

    def _find_record_terms(self) -> Iterator[tuple[ReferencePath, TermMap, str]]:
        """Yield the term maps whose terms vary by record: path of the row, term map, predicate (""
        for a subject).
        """
        for triples_map in self.program.maps:
            iterator = triples_map.source.iterator
            base = iterator[1:] if iterator[:1] == (None,) else iterator
            yield base, triples_map.subject, ""
            for predicate, value in triples_map.predicate_objects:
                yield base, predicate, "predicate"
                if isinstance(value, MappingJoin) and not value.conditions:
                    yield base, self.program.parents[value.parent].subject, predicate.constant
                elif isinstance(value, TermMap):
                    yield base, value, predicate.constant

    def _find_record_joins(self) -> Iterator[tuple[ReferencePath, MappingJoin]]:
        """Yield the joins of the mapping, with the path of the row."""
        for triples_map in self.program.maps:
            iterator = triples_map.source.iterator
            base = iterator[1:] if iterator[:1] == (None,) else iterator
            yield from (
                (base, value)
                for _, value in triples_map.predicate_objects
                if isinstance(value, MappingJoin) and value.conditions
            )

    def _distinguished_names(self, predicate: str) -> list[str]:
        """IRIs that keys distinguish as objects of a predicate: for rdf:type the used classes, else
        the static individuals.
        """
        if predicate in (TYPE, "predicate"):
            return sorted(self.knowledge.used_names)
        return sorted(token[1:-1] for token in self.keys.fixed_tokens if token[:1] == "<")

    def _add_sample_values(
        self, base: ReferencePath, term: TermMap, samples: Iterable[Sequence[Any]]
    ) -> None:
        """Add sample values for the references of a term map."""
        paths = _reference_paths(base, term)
        for path in paths:
            self._choices.setdefault(path, {})
        for values in samples:
            for path, value in zip(paths, values):
                self._choices[path].setdefault(value)

    def _sample_literal_values(
        self, term: TermMap, predicate: str, max_count: int
    ) -> Iterator[Sequence[Any]]:
        """Yield one sample value for each region of values that the ontology cannot distinguish;
        ``max_count`` for each if it may count the values.
        """
        if len(_reference_paths((), term)) != 1:
            yield from _match_references(term, self._constant_texts, [""])
            return
        by_itself = term.has_natural_datatype and not term.datatype and not term.language
        met: dict[str, set[Any]] = {}
        for text in sample_literals(self._constant_texts):
            for value in (
                _json_values(text)
                if by_itself and self.program.maps[0].source.form == "json"
                else (text,)
            ):
                try:
                    token = make_token(
                        term,
                        [lexical_form(value, ())],
                        natural_datatype(value) if by_itself else "",
                    )
                    said = self.keys.normalise_statement(predicate, token)
                except (UnkeyableEventError, IllTypedError):
                    continue
                here = met.setdefault(
                    said.atom if isinstance(said, CountedValue) else str(said), set()
                )
                told = said.value if isinstance(said, CountedValue) else token
                if told not in here and len(here) < (
                    max_count if isinstance(said, CountedValue) else 1
                ):
                    here.add(told)
                    yield (value,)


def _reference_paths(base: ReferencePath, term: TermMap) -> list[ReferencePath]:
    """Paths of the references in a term map."""
    return [(*base, *part) for part in term.parts if not isinstance(part, str)]


def _match_references(
    term: TermMap, known: Iterable[str], new: Sequence[str]
) -> Iterator[Sequence[str]]:
    """Yield values for the references of ``term`` that produce a ``known`` text, then the ``new``
    ones.
    """
    references = [part for part in term.parts if not isinstance(part, str)]
    is_whole = len(term.parts) == 2 and term.parts[0] == ""
    pattern = re.compile(
        "".join(re.escape(part) if isinstance(part, str) else "(.*)" for part in term.parts),
        re.DOTALL,
    )
    if term.kind != "BlankNode":
        for text in known:
            match = pattern.fullmatch(text)
            if match is not None:
                yield [
                    group if is_whole or term.kind == "Literal" else unquote(group)
                    for group in match.groups()
                ]
    for text in new:
        yield [f"urn:{text}" if is_whole and term.kind == "IRI" else text] * len(references)


def _json_values(text: str) -> Iterator[Any]:
    """Yield the JSON values (text, number, boolean) that a mapping reads as this text."""
    yield text
    if re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?", text):
        yield JsonNumber(text)
    if text in ("true", "false"):
        yield text == "true"


def _set_value(record: Any, path: ReferencePath, value: Any) -> Any:
    """Copy of a record with ``value`` at ``path``."""
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(step, str):
        made = dict(record) if isinstance(record, Mapping) else {}
        made[step] = _set_value(made.get(step), rest, value)
        return made
    place = step or 0
    members = list(record) if isinstance(record, list) else []
    members += [None] * (place + 1 - len(members))
    members[place] = _set_value(members[place], rest, value)
    return members
