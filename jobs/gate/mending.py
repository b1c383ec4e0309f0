"""Lines as they may have been meant: other spellings of a line that was set aside, and the
search for one that mends it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from functools import cached_property
from typing import Final, TypeAlias

import pyoxigraph as ox

from jobs.gate.gated import SetAsideLine
from jobs.gate.lines import Line, Triple
from jobs.repair.undecided import ranges_of
from shiq import model as owl
from shiq.clause import ClausalTBox
from shiq.datatypes import DataTheory, IllTyped
from shiq.ntriples import literal as literal_text
from shiq.rdf.vocabulary import DATATYPES, NearMisses, is_reserved

#: Whether nothing is wrong with lines instead of those that were set aside.
Holds: TypeAlias = "Callable[[Sequence[tuple[SetAsideLine, Line]]], bool]"
#: Other spellings of a line that are tried, and lines that are asked about together.
MOST_SPELLINGS, TOGETHER = 3, 200
_MENDABLE: Final = {"conflict", "malformed", "undeclared"}
_LEAST_ALIKE: Final = 0.75
_ABSOLUTE: Final = re.compile(r"<?([A-Za-z][A-Za-z0-9+.\-]*:[^\s<>]+)>?")


class Mending:
    """Other spellings of lines, by what a TBox knows: names that are near, the datatypes and
    values that a range names, and the IRI that a literal spells.
    """

    def __init__(self, signature: owl.Signature, tbox: ClausalTBox) -> None:
        self._signature, self._tbox = signature, tbox

    @cached_property
    def _theory(self) -> DataTheory:
        return DataTheory(self._tbox.definitions, self._tbox.roles)

    @cached_property
    def _ranges(self) -> Mapping[str, Sequence[owl.DataRange]]:
        return ranges_of(self._tbox)

    @cached_property
    def _near_class(self) -> NearMisses:
        return NearMisses(self._signature.classes)

    @cached_property
    def _near_property(self) -> NearMisses:
        return NearMisses(self._signature.object_properties | self._signature.data_properties)

    def spellings(self, triple: Triple, kind: str) -> list[Triple]:
        """What ``triple`` may have been meant to say, the likeliest first; ``kind``: what was
        wrong with it (`SetAsideLine.kind`).
        """
        subject, predicate, value = triple
        iri, known = predicate[1:-1], self._signature
        found: list[Triple] = []
        if kind == "undeclared" and iri == owl.RDF + "type":
            near = self._near_class.nearest(value[1:-1])
            found = [(subject, predicate, f"<{near}>")] if near else []
        elif iri in known.object_properties:
            found = [(subject, predicate, object) for object in _spelt_iri(value)]
        elif iri in known.data_properties:
            found = [(subject, predicate, literal_text(x)) for x in self._values(iri, value)]
        elif kind == "undeclared" and not is_reserved(iri):
            near = self._near_property.nearest(iri)
            found = [(subject, f"<{near}>", value)] if near else []
        return [x for x in dict.fromkeys(found) if x != triple][:MOST_SPELLINGS]

    def _values(self, property: str, text: str) -> Iterator[owl.Literal]:
        """Values that ``text`` may have been meant for: members of the range's enumerations that
        are spelt alike, then the same lexical form as another datatype of the range.
        """
        read = _literal(text)
        if read is None or read.language:
            return
        lexical = read.value
        named = sorted(
            {part for range_ in self._ranges.get(property, ()) for part in _named_in(range_)},
            key=repr,
        )
        near = [(-_likeness(lexical, x.lexical), x) for x in named if isinstance(x, owl.Literal)]
        yield from (
            x
            for likeness, x in sorted(near, key=lambda pair: (pair[0], repr(pair[1])))
            if -likeness >= _LEAST_ALIKE
        )
        for datatype in named:
            if isinstance(datatype, owl.Datatype) and datatype.iri in DATATYPES:
                made = owl.Literal(lexical, datatype.iri)
                value = self._theory.value(made)
                # A value that nobody knows, such as one of rdfs:Literal, is none that could be
                # meant.
                if not isinstance(value, IllTyped) and not value.is_opaque:
                    yield made


def _literal(value: str) -> ox.Literal | None:
    quad = next(
        iter(ox.parse(input=f"<urn:s> <urn:p> {value} .".encode(), format=ox.RdfFormat.N_TRIPLES))
    )
    return quad.object if isinstance(quad.object, ox.Literal) else None


def _spelt_iri(value: str) -> Iterator[str]:
    read = _literal(value)
    spelt = _ABSOLUTE.fullmatch(read.value) if read else None
    if spelt:
        try:
            yield str(ox.NamedNode(spelt[1]))
        except ValueError:
            return


def _likeness(first: str, second: str) -> float:
    """1 for texts that differ in case, spaces and punctuation alone."""
    a, b = ("".join(c for c in text.casefold() if c.isalnum()) for text in (first, second))
    return SequenceMatcher(None, a, b).ratio() if a and b else 0.0


def _named_in(range_: owl.DataRange) -> Iterator[owl.Datatype | owl.Literal]:
    """The datatypes and literals that ``range_`` names."""
    match range_:
        case owl.Datatype():
            yield range_
        case owl.DataOneOf(literals):
            yield from literals
        case owl.DatatypeRestriction(base, _):
            yield base
        case owl.DataComplementOf(operand):
            yield from _named_in(operand)
        case owl.DataIntersectionOf(operands) | owl.DataUnionOf(operands):
            for operand in operands:
                yield from _named_in(operand)


def is_mendable(row: SetAsideLine) -> bool:
    """Whether a line was set aside for something that another spelling may put right."""
    return row.kind in _MENDABLE and row.line.triple is not None


class SpellingSearch:
    """Search for the lines to write instead of some of ``rows``. ``found``: by line, what to
    write; ``open``: lines that were not looked at to the end. Both hold whenever the search
    stops.
    """

    def __init__(self, rows: Iterable[SetAsideLine], mending: Mending) -> None:
        self._rows = sorted(filter(is_mendable, rows), key=lambda x: (x.line.text, x.line.file))
        self._mending = mending
        self.found: dict[Line, str] = {}
        self.open = {x.line for x in self._rows}

    def run(
        self, holds: Holds, is_over: Callable[[], bool], tell: Callable[[int, int], object]
    ) -> None:
        """Look at the lines until ``is_over``. ``holds`` is asked about many together, since
        what is consistent stays so without some of it. ``tell`` hears how many are done, of all.
        """
        for start in range(0, len(self._rows), TOGETHER):
            tell(start, len(self._rows))
            if is_over():
                return
            self._look_at(self._rows[start : start + TOGETHER], holds, is_over)

    def _look_at(
        self, rows: Sequence[SetAsideLine], holds: Holds, is_over: Callable[[], bool]
    ) -> None:
        spelt = [(x, self._mending.spellings(x.line.triple, x.kind)) for x in rows if x.line.triple]
        for turn in range(MOST_SPELLINGS):
            self.open -= {x.line for x, known in spelt if turn >= len(known)}
            todo = [
                (x, _written(x.line, known[turn]))
                for x, known in spelt
                if turn < len(known) and x.line in self.open
            ]
            parts = [todo] if todo else []
            while parts:
                part = parts.pop()
                if is_over():
                    return
                if holds(part):
                    self.found |= {x.line: f"write {line.text} instead" for x, line in part}
                    self.open -= {x.line for x, _ in part}
                elif len(part) > 1:
                    middle = len(part) // 2
                    parts += [part[middle:], part[:middle]]
            if is_over():
                # The last of them may be undecided for lack of time.
                return
        self.open -= {x.line for x in rows}


def _written(line: Line, triple: Triple) -> Line:
    text = " ".join(part for part in (*triple, line.graph, ".\n") if part)
    return replace(line, raw=text.encode(), triple=triple)
