"""Direct keys: from a raw record to the key of its event without triples (docs/ENRICHMENT.md).

Of records of one mapping the names of K, the regions, and which new names and counted values are
equal, determine the key.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from shiq import model as owl
from shiq.rml.model import TYPE, MappingJoin, Path_, Statement, TermMap, TriplesMap
from shiq.rml.program import MappingProgram, Number, natural_datatype, term_of, text_of
from shiq.streams.enrichment.key import CountedValue, EventKey, Keys

#: Literals of one term, and combinations of what a key rests on, that are remembered.
_KEPT: Final = 200_000


@dataclass(frozen=True)
class _Slot:
    """A term that differs from record to record: how it is made; of a literal, whose value it is."""

    make: Callable[[Any], str]
    predicate: str


class Direct:
    """Keys of records of one mapping, from the names of K, the regions and the equalities among
    what they bring.
    """

    def __init__(self, program: MappingProgram, keys: Keys) -> None:
        self.program, self.keys = program, keys
        self._slots, self._pattern = list[_Slot](), list[tuple[int | str, str, int | str]]()
        self.known: dict[tuple[Hashable, ...], tuple[Any, tuple[int | str | None, ...]]] = {}
        self._codes: list[dict[str, Any] | None] = []
        self._constants: dict[Any, int] = {}
        self.is_possible = all(self._takes(m, program) for m in program.maps)

    @property
    def size(self) -> int:
        """How many statements a record makes."""
        return len(self._pattern)

    def _takes(self, triples_map: TriplesMap, program: MappingProgram) -> bool:
        """Whether records have one statement for each of the map's."""
        if any(
            step is None for step in triples_map.source.iterator[1:]
        ) or triples_map.source.iterator not in ((), (None,)):
            return False
        subject = self._place(triples_map.subject, program, "")
        self._pattern += [(subject, TYPE, f"<{iri}>") for iri in triples_map.classes]
        for predicate, value in triples_map.predicate_objects:
            term = (
                program.parents[value.parent].subject
                if isinstance(value, MappingJoin) and not value.conditions
                else value
            )
            if not predicate.constant or (
                predicate.constant == TYPE and not (isinstance(term, TermMap) and term.constant)
            ):
                return False
            self._pattern.append(
                (subject, predicate.constant, self._place(term, program, predicate.constant))
            )
        return all(place is not None for s, _, o in self._pattern for place in (s, o))

    def _place(
        self, term: TermMap | MappingJoin, program: MappingProgram, predicate: str
    ) -> int | str:
        if isinstance(term, TermMap) and term.constant:
            if term.kind == "IRI":
                self._constants.setdefault(term.constant, -1 - len(self._constants))
            return term.constant
        is_literal = isinstance(term, TermMap) and term.kind == "Literal"
        self._slots.append(_Slot(_maker(term, program), predicate if is_literal else ""))
        self._codes.append({} if is_literal else None)
        return len(self._slots) - 1

    def keyed(self, record: Any) -> tuple[EventKey, list[str]] | None:
        """The key of a record, and its tokens; None for one that does not have one value for
        each reference.
        """
        try:
            tokens = [slot.make(record) for slot in self._slots]
        except (LookupError, TypeError):
            return None
        fixed, seen, codes = self.keys.fixed, self._constants.copy(), list[Any]()
        for token, memo in zip(tokens, self._codes):
            if memo is None:
                codes.append(token if token in fixed else seen.setdefault(token, len(seen)))
                continue
            said = memo.get(token)
            if type(said) is str:
                codes.append(said)
                continue
            if said is None:
                if len(memo) >= _KEPT:
                    memo.clear()
                said = memo[token] = self.keys.said(self._slots[len(codes)].predicate, token)
            codes.append(
                (said.atom, seen.setdefault(said.value, len(seen)))
                if isinstance(said, CountedValue)
                else said
            )
        code = tuple(codes)
        found = self.known.get(code)
        if found is None:
            keyed = self.keys.key(self.statements(tokens))
            if len(self.known) >= _KEPT:
                self.known.clear()
            where = {token: i for i, token in reversed([*enumerate(tokens)])}
            order = tuple(
                where.get(name, name) if isinstance(name, str) else None for name in keyed.order
            )
            self.known[code] = keyed.key, order
            return keyed, tokens
        key, places = found
        return EventKey(
            key, [tokens[place] if type(place) is int else place for place in places]
        ), tokens

    def statements(self, tokens: Sequence[str]) -> list[Statement]:
        """The statements of a record with these tokens."""
        return [(_at(s, tokens), p, _at(o, tokens)) for s, p, o in self._pattern]


def _at(place: int | str, tokens: Sequence[str]) -> str:
    return tokens[place] if isinstance(place, int) else place


def _maker(term: TermMap | MappingJoin, program: MappingProgram) -> Callable[[Any], str]:
    """What makes the token of one row; raises LookupError where there is not one value of each."""
    if isinstance(term, MappingJoin):
        index, paths = program.parent_subjects(term), [child for child, _ in term.conditions]

        def joined(row: Any) -> str:
            found = index[tuple([_scalar(row, path) for path in paths])]
            if len(found) != 1:
                raise LookupError
            return found[0]

        return joined
    paths = [part for part in term.parts if not isinstance(part, str)]
    prefix, path = term.parts[0], paths[0]
    if len(term.parts) == 2 and term.kind == "IRI" and prefix and len(path) == 1:
        begun, name = f"<{prefix}", path[0]

        def short(row: Any) -> str:
            text = row[name]
            if type(text) is not str or not text.isascii() or not text.isalnum():
                return term_of(term, [_scalar(row, path)])
            return f"{begun}{text}>"

        return short
    end = f'"^^<{term.datatype}>'
    if (
        term.kind == "Literal"
        and len(term.parts) == 2
        and term.datatype
        and prefix == ""
        and len(path) == 1
    ):
        name = path[0]

        def number(row: Any) -> str:
            text = row[name]
            return f'"{text}{end}' if type(text) is Number else term_of(term, [_scalar(row, path)])

        return (
            number
            if term.datatype != owl.XSD + "string"
            else lambda row: term_of(term, [_scalar(row, path)])
        )
    by_itself = (
        term.has_natural_datatype and len(paths) == 1 and not term.datatype and not term.language
    )
    return lambda row: term_of(
        term,
        [_scalar(row, path) for path in paths],
        natural_datatype(_value(row, paths[0])) if by_itself else "",
    )


def _value(row: Any, path: Path_) -> Any:
    for step in path:
        row = row[step]
    if row is None or isinstance(row, dict | list):
        raise LookupError
    return row


def _scalar(row: Any, path: Path_) -> str:
    return text_of(_value(row, path), path)
