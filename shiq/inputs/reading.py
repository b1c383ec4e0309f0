"""The result of reading sources: axioms, assertions, leftovers (input that was not interpreted),
and where each was read.

Quarantined assertions of a store: kept with the base, but seen by no check.

From a contradiction everything follows, so a base that contains one answers no question. An
assertion that is known, or waived, to contradict the base is therefore kept beside it and is never
part of what is certified.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import date
from tempfile import SpooledTemporaryFile
from typing import IO, Any, TypeAlias

from shiq.answers.verdict import CUT, IN_DATA, INFORMATIVE, Leftover, drop_empty
from shiq.errors import fill_in_store
from shiq.model import Assertion, Axiom, TBox
from shiq.model.abox import ABox


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """The position of one triple in the input.

    source: file or object.
    line: 1-based; of a table, the row; 0 if unknown.
    graph: the named graph as an N-Triples term; "" for the default graph.
    key: the caller's name for the row of a table.
    column: the columns from which a mapping made the triple.
    """

    source: str = ""
    line: int = 0
    graph: str = ""
    key: str = ""
    column: str = ""

    def __str__(self) -> str:
        """Return file and line for messages, and the column of a table."""
        line = f"{self.source}:{self.line}" if self.line else self.source
        return f"{line}, column {self.column}" if self.column else line

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, without unknown fields."""
        return drop_empty(**asdict(self))


#: Looks up where assertions were read; every place of each, in the order read.
Places: TypeAlias = Callable[[Iterable[Assertion]], Mapping[Assertion, tuple[Place, ...]]]


#: Gives each of the things that were not interpreted with every place that it stands for.
LeftoverPlaces: TypeAlias = Callable[[], Iterable[tuple[Leftover, tuple[Place, ...]]]]


def no_leftover_places() -> tuple[()]:
    """Return no positions: the default if every input was interpreted."""
    return ()


def no_positions(assertions: Iterable[Assertion]) -> Mapping[Assertion, tuple[Place, ...]]:
    """Return no positions: the default for assertions that came from no source."""
    return {}


@dataclass(frozen=True)
class Assumption:
    """Axioms under which a leftover is harmless, whatever it means (THEORY, "Axioms that were not
    understood").
    """

    leftover: Leftover
    axioms: tuple[Axiom, ...]


@dataclass(frozen=True, eq=False)
class Reading:
    """The result of reading one or more sources together.

    tbox: only well-formed axioms of SHIQ(D), with simple roles where required.
    leftovers: everything else.
    ledger: number of triples by bucket: ``axiom``, ``assertion``, ``declaration``, ``annotation``
        (with ontology headers) or ``leftover:KIND``. Every triple is in exactly one bucket; in
        functional syntax every axiom. A malformed line counts as one.
    labels: IRI → label of the terms of the TBox.
    places: where assertions were read.
    leftover_places: where leftovers were, also those that ``leftovers`` only counts.
    left_out: the complete leftovers, one by one.
    ontologies: IRIs by which the sources can be imported.
    assumptions: by which leftovers may turn out to be harmless.
    """

    tbox: TBox = field(default_factory=TBox)
    abox: ABox = field(default_factory=ABox)
    leftovers: tuple[Leftover, ...] = ()
    ledger: Mapping[str, int] = field(default_factory=Counter)
    sources: tuple[str, ...] = ()
    ontologies: frozenset[str] = frozenset()
    labels: Mapping[str, str] = field(default_factory=dict)
    places: Places = no_positions
    leftover_places: LeftoverPlaces = no_leftover_places
    left_out: Iterable[Leftover] = ()
    assumptions: tuple[Assumption, ...] = ()


# Complete records of leftovers: each line, triple or axiom, where a verdict shows only the first.


#: Bytes that a spool holds in memory; what goes beyond that goes to a temporary file.
_MOST_HELD = 1 << 20
_FIELDS = ("kind", "message", "source", "line", "text", "hint", "count", "items")


def encode_leftover(leftover: Leftover) -> bytes:
    """Encode a leftover, without its axioms and assertions, as a line of JSON."""
    return (
        json.dumps([getattr(leftover, name) for name in _FIELDS], separators=(",", ":")).encode()
        + b"\n"
    )


def decode_leftover(line: bytes) -> Leftover:
    """Decode a line that `encode_leftover` wrote."""
    return Leftover(**dict(zip(_FIELDS, json.loads(line))))


class LeftoverSpool:
    """An append-only list of leftovers in bounded memory; a long one continues in a temporary file."""

    def __init__(self, leftovers: Iterable[Leftover] = ()) -> None:
        self._file: IO[bytes] | None = None
        for leftover in leftovers:
            self.add(leftover)

    def add(self, leftover: Leftover) -> None:
        """Append a leftover."""
        if self._file is None:
            self._file = SpooledTemporaryFile(max_size=_MOST_HELD)  # noqa: SIM115 - it goes when nobody holds the spool any more
        self._file.seek(0, os.SEEK_END)
        self._file.write(encode_leftover(leftover))

    def __iter__(self) -> Iterator[Leftover]:
        if self._file is not None:
            self._file.seek(0)
            yield from map(decode_leftover, self._file)


#: Kinds of what is no line, triple or axiom of data that is missing.
_NO_DATA = INFORMATIVE | {"missing-import", "ambiguous-import", "empty-tbox"}


def select_data_leftovers(left: Iterable[Leftover]) -> Iterator[Leftover]:
    """Select the leftovers that are data which no check sees: not interpreted, and not kept as an
    assertion either.
    """
    return (leftover for leftover in left if leftover.kind not in _NO_DATA and not leftover.values)


def select_unread_summaries(leftovers: Iterable[Leftover]) -> Iterator[Leftover]:
    """Select the leftovers, of a capped list, that are data which no check sees.

    Assertions with a name that the TBox does not declare are excluded, since they are in A.
    """
    return (
        leftover for leftover in select_data_leftovers(leftovers) if leftover.kind not in IN_DATA
    )


def count_unrecorded(leftover: Leftover) -> int:
    """Count the lines, axioms or assertions that a leftover stands for without quoting them in
    full.
    """
    if leftover.number > 1:
        return leftover.number
    return int(leftover.text.endswith(CUT) or (leftover.kind == "malformed" and not leftover.text))


#: Why an assertion was set aside: as part of a conflict that the base had by itself, by a waiver,
#: by its severity; or since its value has to be of a datatype that nothing defines, so that nobody
#: can say whether it is.
KNOWN, WAIVED, WARNED, UNDECIDED = "known", "waived", "warned", "undecided"


@dataclass(frozen=True, slots=True)
class QuarantinedAssertion:
    """An assertion that a store keeps out of its base, with the reason.

    triples: its N-Triples lines.
    why: `KNOWN`, `WAIVED`, `WARNED` or `UNDECIDED`.
    pattern, rule: of the conflict; "" if there is none.
    owner, reason, expires: of the waiver; `expires` is an ISO 8601 date.
    alone: hash of a TBox whose axioms the assertion contradicts without further assertions.
    """

    triples: tuple[str, ...]
    why: str = KNOWN
    pattern: str = ""
    rule: str = ""
    owner: str = ""
    reason: str = ""
    expires: str = ""
    alone: str = ""

    def is_expired(self, today: date) -> bool:
        """Decide whether the waiver of the assertion ended before `today`."""
        return bool(self.expires) and date.fromisoformat(self.expires) < today

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form; empty fields are left out."""
        return drop_empty(**asdict(self))

    @staticmethod
    def from_dict(value: Mapping[str, Any]) -> QuarantinedAssertion:
        """Read the JSON form that `to_dict` writes."""
        return QuarantinedAssertion(**{**value, "triples": tuple(value["triples"])})


def quarantine_notice(
    asides: Iterable[QuarantinedAssertion], store: object
) -> tuple[Leftover, ...]:
    """Make the informative leftover that says how many assertions are in quarantine; empty if none
    are.

    store: its path, for the commands in the hint.
    """
    count = sum(1 for _ in asides)
    if not count:
        return ()
    return (
        Leftover(
            "set-aside",
            "the verdict is about the base without assertions that are known, or waived, to contradict it",
            hint=fill_in_store(
                "`shiq status --store DIR` counts them, `shiq export --store DIR --set-aside` prints them",
                store,
            ),
            count=count,
        ),
    )
