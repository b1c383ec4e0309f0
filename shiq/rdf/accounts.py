"""The ledger of one reading: every triple in one bucket, every leftover told once; and what was
left out, as it stands.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from shiq.model import Assertion, Axiom, Signature
from shiq.rdf.graph import MappedValue, VocabularyGraph
from shiq.rdf.kinds import Problem
from shiq.rdf.load import StatedValue
from shiq.rdf.triples import Triples, short
from shiq.verdict import LEAVING_OUT, LIKE_OTHERS, Leftover

if TYPE_CHECKING:
    from shiq.rdf.expression_loop import Key
    from shiq.rdf.expressions import Expressions

#: More leftovers of one kind are only counted.
MOST_SHOWN = 1000

#: Kind, message and hint of what is wrong with an axiom or assertion.
Finding: TypeAlias = tuple[str, str, str]
Findings: TypeAlias = Mapping[Axiom | Assertion, Sequence[Finding]]
V = TypeVar("V", bound=Axiom | Assertion)


@dataclass
class Accounts:
    """``ledger``: buckets of what is not a triple of the graph, which keeps its own; ``parts``:
    the rows that make up one thing that is left out.
    """

    triples: Triples
    graph: VocabularyGraph
    expressions: Expressions | None
    leftovers: list[Leftover] = field(default_factory=list)
    ledger: Counter[str] = field(default_factory=Counter)
    parts: dict[Leftover, list[int]] = field(default_factory=dict)
    _told: dict[tuple[Axiom | Assertion, str], int] = field(default_factory=dict)

    def settle(
        self,
        stated: Iterable[StatedValue[V]],
        mapped: Sequence[MappedValue[V]],
        bucket: str,
        findings: Findings,
    ) -> None:
        """Puts the triples of each value into ``bucket``, or into that of the first finding
        about it; tells all findings.

        A triple that several values share goes to one without a finding.
        """
        placed: set[Axiom | Assertion] = set()
        for item in stated:
            found = findings.get(item.value, ())
            self.ledger[f"leftover:{found[0][0]}" if found else bucket] += 1
            if found:
                placed.add(item.value)
                self._tell(item.value, found, (item.source, item.line), 1)
        done: set[Key] = set()
        for made in sorted(mapped, key=lambda one: one.value in findings):
            found = findings.get(made.value, ())
            where = f"leftover:{found[0][0]}" if found else bucket
            count = self.graph.assign((made.main, *made.triples), where)
            if self.expressions is not None:
                count += self.graph.assign(self.expressions.triples_of(made.keys, done), where)
            if found:
                placed.add(made.value)
                self._tell(made.value, found, self.triples.place(self.graph.rows[made.main]), count)
        for value, found in findings.items():
            if (
                value not in placed
            ):  # rewritten since: its triples are accounted for under what it was
                self._tell(value, found, ("", 0), 1)

    def _tell(
        self, value: Axiom | Assertion, found: Sequence[Finding], place: tuple[str, int], count: int
    ) -> None:
        for i, (kind, message, hint) in enumerate(found):
            at = self._told.setdefault((value, message), len(self.leftovers))
            if at < len(self.leftovers):
                before = self.leftovers[at]
                self.leftovers[at] = replace(before, count=before.count + (0 if i else count))
            else:
                said = (value,) if kind in LEAVING_OUT else ()
                of = 1 if i else max(count, 1)
                self.leftovers.append(
                    Leftover(
                        kind,
                        message,
                        *place,
                        short(whole_text(value)),
                        hint,
                        of,
                        said=said,
                        items=1,
                    )
                )

    def fail(self, main: int, finding: Finding) -> Leftover:
        """A main triple that gives nothing: it and what hangs on it go where the finding says."""
        kind, message, hint = finding
        reached = list(self.graph.reachable(main))
        count = self.graph.assign(reached, f"leftover:{kind}")
        return self.leave(kind, message, main, hint, max(count, 1), 1, reached)

    def tell(self, problem: Problem) -> None:
        """What is to be known of the kinds of a name."""
        if problem.place is None:
            self.leave(problem.kind, problem.message, problem.index, problem.hint, problem.count)
        else:
            self.leftovers.append(
                Leftover(
                    problem.kind, problem.message, *problem.place, "", problem.hint, problem.count
                )
            )

    def pass_over(
        self, stated: Iterable[tuple[str, int, str, tuple[str, ...]]], known: Signature
    ) -> None:
        """Axioms on annotation properties, as (source, line, keyword, properties): where these
        are object or data properties in ``known``, RDF could not tell such an axiom from one on
        the latter, so it is told.
        """
        logical = known.object_properties | known.data_properties
        for source, line, keyword, properties in stated:
            if logical.issuperset(properties):
                message = f"{keyword} of <{properties[0]}>, which is an object or data property too: is the latter meant?"
                hint = "say the axiom on the object or data property, or use two names"
                self.leftovers.append(Leftover("punning", message, source, line, "", hint))
                self.ledger["leftover:punning"] += 1
                self.ledger["annotation"] -= 1

    def leave(
        self,
        kind: str,
        message: str,
        index: int,
        hint: str = "",
        count: int = 1,
        items: int = 0,
        parts: Sequence[int] = (),
    ) -> Leftover:
        """A leftover at triple ``index`` of the graph; ``parts``: all triples that make it up,
        if it is not this one alone.
        """
        rows = self.graph.rows
        made = self.triples.leftover(
            kind, message, rows[index], hint=hint, count=count, items=items
        )
        self.leftovers.append(made)
        if len(parts) > 1:
            self.parts[made] = [rows[i] for i in parts]
        return made

    def values(self) -> Iterator[tuple[Leftover, Axiom | Assertion]]:
        """The leftovers that are about axioms and assertions, with these."""
        for (value, _), at in self._told.items():
            yield self.leftovers[at], value


def whole_text(value: Axiom | Assertion) -> str:
    from shiq.functional.writer import axiom_text

    try:
        return axiom_text(value)
    except ValueError:
        return repr(value)


def capped(leftovers: Iterable[Leftover]) -> Iterator[Leftover]:
    """At most `MOST_SHOWN` of each kind, and one row that counts the rest, with what they say."""
    shown: Counter[str] = Counter()
    hidden: Counter[str] = Counter()
    said: dict[str, list[Axiom | Assertion]] = defaultdict(list)
    items: Counter[str] = Counter()
    for leftover in leftovers:
        shown[leftover.kind] += 1
        if shown[leftover.kind] <= MOST_SHOWN:
            yield leftover
        else:
            hidden[leftover.kind] += leftover.count
            items[leftover.kind] += leftover.number
            said[leftover.kind] += leftover.said
    for kind, count in hidden.items():
        message = f"{shown[kind] - MOST_SHOWN} more {LIKE_OTHERS}"
        yield Leftover(kind, message, count=count, said=tuple(said[kind]), items=items[kind])


@dataclass(frozen=True, eq=False)
class LeftOut:
    """See `Reading.left_out`: ``leftovers`` of reading ``triples``. ``whole``: as
    `Loaded.whole`; ``of_a``: the ids of those leftovers that are in A all the same.
    """

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
        hint, count = (
            f"row key {key}" if key else leftover.hint,
            leftover.count if len(rows) == 1 else 1,
        )
        yield replace(
            leftover, source=source, line=line, text=_text(triples, row), hint=hint, count=count
        )


def _text(triples: Triples, row: int) -> str:
    return triples.whole_text(row, triples.graph_of(row))
