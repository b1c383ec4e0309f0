"""What of a reading was left out, one by one as it stands: looked up in the columns when it is asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from shiq.rdf.accounts import Accounts, whole_text
from shiq.rdf.triples import Triples
from shiq.verdict import Leftover


@dataclass(frozen=True, eq=False)
class LeftOut:
    """See `Reading.left_out`: ``leftovers`` of reading ``triples``. ``whole``: as `Loaded.whole`; ``of_a``: the ids of those
    leftovers that are in A all the same."""

    triples: Triples
    leftovers: Sequence[Leftover]
    whole: Sequence[tuple[Sequence[Leftover], Iterable[Leftover]]]
    accounts: Accounts
    of_a: Collection[int]

    def __iter__(self) -> Iterator[Leftover]:
        done = {*self.of_a}
        for told, all_of_them in self.whole:
            yield from all_of_them
            done.update(map(id, told))
        values = {id(leftover): value for leftover, value in self.accounts.values()}
        for leftover in self.leftovers:
            if id(leftover) in done:
                continue
            if parts := self.accounts.parts.get(leftover):
                yield replace(leftover, text="\n".join(map(self._text, parts)))
            elif id(leftover) in values:
                yield replace(leftover, text=whole_text(values[id(leftover)]))
            else:
                yield from one_by_one(self.triples, leftover)

    def _text(self, row: int) -> str:
        return _text(self.triples, row)


def one_by_one(triples: Triples, leftover: Leftover) -> Iterator[Leftover]:
    """What ``leftover`` stands for, each of the ``triples`` as it stands, in the order of its rows."""
    rows = triples.told.get(leftover, ())
    if not rows:
        yield leftover
    for row in rows:
        source, line = triples.place(row)
        key = triples.keys.get(row, "")
        hint, count = f"row key {key}" if key else leftover.hint, leftover.count if len(rows) == 1 else 1
        yield replace(leftover, source=source, line=line, text=_text(triples, row), hint=hint, count=count)


def _text(triples: Triples, row: int) -> str:
    return triples.whole_text(row, triples.graph_of(row))
