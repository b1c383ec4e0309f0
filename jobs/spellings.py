"""Suggest other spellings of a triple: similar names, datatypes and values that a range allows, and
IRIs written as literals.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from typing import Final

import pyoxigraph as ox

from shiq import model as owl
from shiq.datatypes import DataTheory, IllTyped
from shiq.jobs.undecided_insertions import tested_ranges
from shiq.model.clause import ClausalTBox
from shiq.model.ntriples import literal_term as literal_text
from shiq.model.walk import is_reserved
from shiq.rdf.vocabulary import DATATYPES, NearMisses

#: Other spellings of a line that are tried.
MOST_SPELLINGS: Final = 3
_MIN_LIKENESS: Final = 0.75
_ABSOLUTE: Final = re.compile(r"<?([A-Za-z][A-Za-z0-9+.\-]*:[^\s<>]+)>?")

#: A triple as three N-Triples terms.
Triple = tuple[str, str, str]


class SpellingSuggestions:
    """Source of other spellings for a triple that was set aside: similar names, values that a range
    allows, IRIs written as literals.
    """

    def __init__(self, signature: owl.Signature, tbox: ClausalTBox) -> None:
        self._signature, self._tbox = signature, tbox

    @cached_property
    def _data_theory(self) -> DataTheory:
        """Theory of data values under the TBox."""
        return DataTheory(self._tbox.definitions, self._tbox.roles)

    @cached_property
    def _tested_ranges(self) -> Mapping[str, Sequence[owl.DataRange]]:
        """Data ranges that the clauses test, by data property."""
        return tested_ranges(self._tbox)

    @cached_property
    def _near_class(self) -> NearMisses:
        """Index of class names, to find similar ones."""
        return NearMisses(self._signature.classes)

    @cached_property
    def _near_property(self) -> NearMisses:
        """Index of property names, to find similar ones."""
        return NearMisses(self._signature.object_properties | self._signature.data_properties)

    def spellings(self, triple: Triple, kind: str) -> list[Triple]:
        """Suggest spellings of ``triple``, likeliest first. ``kind``: why it was set aside
        (`SetAsideLine.kind`).
        """
        subject, predicate, value = triple
        iri, known = predicate[1:-1], self._signature
        found: list[Triple] = []
        if kind == "undeclared" and iri == owl.RDF + "type":
            near = self._near_class.nearest(value[1:-1])
            found = [(subject, predicate, f"<{near}>")] if near else []
        elif iri in known.object_properties:
            found = [(subject, predicate, object) for object in _iri_spellings(value)]
        elif iri in known.data_properties:
            read = _parse_literal(value)
            written = owl.Literal(read.value, language=read.language or "") if read else None
            found = [
                (subject, predicate, literal_text(x))
                for x in (self.suggest_values(iri, written) if written else ())
            ]
        elif kind == "undeclared" and not is_reserved(iri):
            near = self._near_property.nearest(iri)
            found = [(subject, f"<{near}>", value)] if near else []
        return [x for x in dict.fromkeys(found) if x != triple][:MOST_SPELLINGS]

    def suggest_values(self, property: str, literal: owl.Literal) -> Iterator[owl.Literal]:
        """Suggest literals in place of ``literal``: similar members of the range's enumerations,
        then the same lexical form with another datatype.
        """
        if literal.language:
            return
        lexical = literal.lexical
        named = sorted(
            {
                part
                for range_ in self._tested_ranges.get(property, ())
                for part in _range_members(range_)
            },
            key=repr,
        )
        near = [(-_similarity(lexical, x.lexical), x) for x in named if isinstance(x, owl.Literal)]
        yield from (
            x
            for likeness, x in sorted(near, key=lambda pair: (pair[0], repr(pair[1])))
            if -likeness >= _MIN_LIKENESS
        )
        for datatype in named:
            if isinstance(datatype, owl.Datatype) and datatype.iri in DATATYPES:
                made = owl.Literal(lexical, datatype.iri)
                value = self._data_theory.value(made)
                # A value that nobody knows, such as one of rdfs:Literal, is none that could be
                # meant.
                if not isinstance(value, IllTyped) and not value.is_opaque:
                    yield made


def _parse_literal(value: str) -> ox.Literal | None:
    """Parse an N-Triples literal; None for other terms."""
    quad = next(
        iter(ox.parse(input=f"<urn:s> <urn:p> {value} .".encode(), format=ox.RdfFormat.N_TRIPLES))
    )
    return quad.object if isinstance(quad.object, ox.Literal) else None


def _iri_spellings(value: str) -> Iterator[str]:
    """Suggest IRIs for a literal that may have been meant as an IRI."""
    read = _parse_literal(value)
    spelt = _ABSOLUTE.fullmatch(read.value) if read else None
    if spelt:
        try:
            yield str(ox.NamedNode(spelt[1]))
        except ValueError:
            return


def _similarity(first: str, second: str) -> float:
    """Similarity of two texts, 0 to 1; case, spaces and punctuation are ignored."""
    a, b = ("".join(c for c in text.casefold() if c.isalnum()) for text in (first, second))
    return SequenceMatcher(None, a, b).ratio() if a and b else 0.0


def _range_members(range_: owl.DataRange) -> Iterator[owl.Datatype | owl.Literal]:
    """Datatypes and literals that occur in ``range_``."""
    match range_:
        case owl.Datatype():
            yield range_
        case owl.DataOneOf(literals):
            yield from literals
        case owl.DatatypeRestriction(base, _):
            yield base
        case owl.DataComplementOf(operand):
            yield from _range_members(operand)
        case owl.DataIntersectionOf(operands) | owl.DataUnionOf(operands):
            for operand in operands:
                yield from _range_members(operand)
