"""Records that stand for all that a mapping can make of one (T, B): one for each key, or more
(SPEC 001, section 7).

Each reference of the mapping is given what tells keys apart: the names of K that it may fill and
names of nobody, each as often as there are names; of a value one of each region (as many as are
counted together). Some combinations have one key.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from shiq import model as owl
from shiq.rml.compiled import MappingProgram, MissingValueError, Number, natural, term_of, text_of
from shiq.rml.model import MappingJoin, Path_, TermMap
from shiq.rml.tokens import TYPE, Statement
from shiq.signature import parts
from shiq.verdict import Verdict
from streams.enrichment.key import CountedValue, IllTypedError, Keys
from streams.enrichment.knowledge import StaticKnowledge
from streams.enrichment.samples import samples
from streams.enrichment.statements import OddError

#: In place of a value that a record lacks.
_ABSENT: Final = object()


class PrefillCounts(NamedTuple):
    """What `Enricher.prefill` came to: entries ``kept``, ``undetermined`` ones that were not;
    combinations of values ``tried``, and how many are ``possible``.
    """

    kept: int
    undetermined: int
    tried: int
    possible: int

    def __str__(self) -> str:
        more = f", {self.undetermined:,} undetermined" if self.undetermined else ""
        tried = "all" if self.tried == self.possible else f"{self.tried:,} of"
        return f"prefilled: {self.kept:,} new{more}, of {tried} {self.possible:,} combinations of values"


@dataclass
class Combinations:
    """Records of ``program``, by what ``keys`` tell apart: iterated, those whose subject is new
    come first.
    """

    program: MappingProgram
    keys: Keys
    knowledge: StaticKnowledge
    _choices: dict[Path_, dict[Any, None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        terms = list(self._terms())
        names = {
            path
            for base, term, _ in terms
            if term.kind != "Literal"
            for path in _references(base, term)
        }
        counted = {
            path
            for base, term, _ in terms
            if term.kind == "Literal"
            for path in _references(base, term)
        }
        new = [f"new-{n}" for n in range(1, len(names) + 1)]
        # Subjects vary last, values first.
        ranked = sorted(terms, key=lambda found: (found[1].kind == "Literal", found[2] != ""))
        for base, term, predicate in ranked:
            if term.kind == "Literal":
                self._fill(base, term, self._values(term, predicate, len(counted)))
            elif predicate == "":
                self._fill(
                    base, term, [*_texts(term, (), new), *_texts(term, self._known(predicate), ())]
                )
            else:
                self._fill(base, term, _texts(term, self._known(predicate), new))
        for base, join in self._joins():
            for place, (path, _) in enumerate(join.conditions):
                choices = self._choices.setdefault((*base, *path), {})
                choices.update((texts[place], None) for texts in self.program.joined(join))
                choices["new-1"] = None
        for choices in self._choices.values():
            choices.update({} if choices else {"new-1": None})
            if self.program.lenient:
                choices[_ABSENT] = None

    def __len__(self) -> int:
        return prod(map(len, self._choices.values()))

    def each(
        self, most: int, take: Callable[[Sequence[Statement]], Verdict | None]
    ) -> PrefillCounts:
        """Has ``take`` decide about the statements of each record, until ``most`` were decided."""
        verdicts: Counter[Verdict] = Counter()
        tried = 0
        for record in self:
            if verdicts.total() >= most:
                break
            tried += 1
            try:
                verdict = take(self.program.statements(record))
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
                    record = _with(record, path, value)
            yield record

    @cached_property
    def _constants(self) -> frozenset[str]:
        """The texts of the literals of T, and of those of B that are counted."""
        known, counts = self.knowledge, self.keys.regions.counts
        found = {
            part.lexical
            for value in (*known.axioms, *known.complex)
            for part in parts(value)
            if isinstance(part, owl.Literal)
        }
        found |= {
            a.literal.lexical
            for a in known.static
            if isinstance(a, owl.DataPropertyAssertion) and counts(a.property.iri)
        }
        return frozenset(found)

    def _terms(self) -> Iterator[tuple[Path_, TermMap, str]]:
        """The terms that records fill: where their rows are, and the predicate whose objects
        they are ("": of a subject).
        """
        for triples_map in self.program.maps:
            iterator = triples_map.source.iterator
            base = iterator[1:] if iterator[:1] == (None,) else iterator
            yield base, triples_map.subject, ""
            for predicate, value in triples_map.said:
                yield base, predicate, "predicate"
                if isinstance(value, MappingJoin) and not value.conditions:
                    yield base, self.program.parents[value.parent].subject, predicate.constant
                elif isinstance(value, TermMap):
                    yield base, value, predicate.constant

    def _joins(self) -> Iterator[tuple[Path_, MappingJoin]]:
        for triples_map in self.program.maps:
            iterator = triples_map.source.iterator
            base = iterator[1:] if iterator[:1] == (None,) else iterator
            yield from (
                (base, value)
                for _, value in triples_map.said
                if isinstance(value, MappingJoin) and value.conditions
            )

    def _known(self, predicate: str) -> list[str]:
        """The IRIs that T and B tell from others at a place, as references have them."""
        if predicate in (TYPE, "predicate"):
            return sorted(self.knowledge.seen)
        return sorted(token[1:-1] for token in self.keys.fixed if token[:1] == "<")

    def _fill(self, base: Path_, term: TermMap, found: Iterable[Sequence[Any]]) -> None:
        paths = _references(base, term)
        for path in paths:
            self._choices.setdefault(path, {})
        for values in found:
            for path, value in zip(paths, values):
                self._choices[path].setdefault(value)

    def _values(self, term: TermMap, predicate: str, most: int) -> Iterator[Sequence[Any]]:
        """Of each region one value, or ``most`` where T may count them."""
        if len(_references((), term)) != 1:
            yield from _texts(term, self._constants, [""])
            return
        by_itself = term.is_natural and not term.datatype and not term.language
        met: dict[str, set[Any]] = {}
        for text in samples(self._constants):
            for value in (
                _as_json(text)
                if by_itself and self.program.maps[0].source.form == "json"
                else (text,)
            ):
                try:
                    token = term_of(term, [text_of(value, ())], natural(value) if by_itself else "")
                    said = self.keys.said(predicate, token)
                except (OddError, IllTypedError):
                    continue
                here = met.setdefault(
                    said.atom if isinstance(said, CountedValue) else str(said), set()
                )
                told = said.value if isinstance(said, CountedValue) else token
                if told not in here and len(here) < (most if isinstance(said, CountedValue) else 1):
                    here.add(told)
                    yield (value,)


def _references(base: Path_, term: TermMap) -> list[Path_]:
    return [(*base, *part) for part in term.parts if not isinstance(part, str)]


def _texts(term: TermMap, known: Iterable[str], new: Sequence[str]) -> Iterator[Sequence[str]]:
    """The texts of the references of ``term`` that make one of ``known``; and new ones."""
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


def _as_json(text: str) -> Iterator[Any]:
    """The values of JSON with this text."""
    yield text
    if re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?", text):
        yield Number(text)
    if text in ("true", "false"):
        yield text == "true"


def _with(held: Any, path: Path_, value: Any) -> Any:
    """``held`` with ``value`` at ``path``; of all members there is one."""
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(step, str):
        made = dict(held) if isinstance(held, Mapping) else {}
        made[step] = _with(made.get(step), rest, value)
        return made
    place = step or 0
    members = list(held) if isinstance(held, list) else []
    members += [None] * (place + 1 - len(members))
    members[place] = _with(members[place], rest, value)
    return members
