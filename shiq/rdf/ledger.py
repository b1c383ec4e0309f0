"""Ledger of a reading: each triple is counted in exactly one bucket, and each leftover
(uninterpreted input) is recorded once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from shiq.answers.verdict import LEAVING_OUT, LIKE_OTHERS, Leftover
from shiq.model import OWL, Assertion, Axiom, Signature
from shiq.model.walk import is_reserved
from shiq.rdf.graph import MappedValue, UnmappedError, VocabularyGraph, read_list
from shiq.rdf.loaded_sources import StatedValue
from shiq.rdf.name_kinds import NameProblem
from shiq.rdf.triples import Triples, shorten_text
from shiq.rdf.vocabulary import FIRST, REST, TYPE

if TYPE_CHECKING:
    from shiq.rdf.expressions import Expressions, Key


#: More leftovers of one kind are only counted.
MOST_SHOWN = 1000

#: Kind, message and hint of what is wrong with an axiom or assertion.
Finding: TypeAlias = tuple[str, str, str]
Findings: TypeAlias = Mapping[Axiom | Assertion, Sequence[Finding]]
V = TypeVar("V", bound=Axiom | Assertion)


@dataclass
class ReadingLedger:
    """Account of one reading: the bucket of every triple, and all leftovers (input that was not
    interpreted).

    buckets: counts of what is not in the graph, which has its own ledger
    parts: rows of the graph that make up a leftover
    """

    triples: Triples
    graph: VocabularyGraph
    expressions: Expressions | None
    leftovers: list[Leftover] = field(default_factory=list)
    buckets: Counter[str] = field(default_factory=Counter)
    parts: dict[Leftover, list[int]] = field(default_factory=dict)
    _leftover_positions: dict[tuple[Axiom | Assertion, str], int] = field(default_factory=dict)

    def record_values(
        self,
        stated: Iterable[StatedValue[V]],
        mapped: Sequence[MappedValue[V]],
        bucket: str,
        findings: Findings,
    ) -> None:
        """Assign the triples of each axiom or assertion to ``bucket``, or to the bucket of its
        first finding.

        All findings are recorded. A triple shared by several values goes to one without a finding.
        """
        placed: set[Axiom | Assertion] = set()
        for item in stated:
            found = findings.get(item.value, ())
            self.buckets[f"leftover:{found[0][0]}" if found else bucket] += 1
            if found:
                placed.add(item.value)
                self._record_findings(item.value, found, (item.source, item.line), 1)
        done: set[Key] = set()
        for made in sorted(mapped, key=lambda one: one.value in findings):
            found = findings.get(made.value, ())
            where = f"leftover:{found[0][0]}" if found else bucket
            count = self.graph.assign_bucket((made.main, *made.triples), where)
            if self.expressions is not None:
                count += self.graph.assign_bucket(
                    self.expressions.triples_of(made.keys, done), where
                )
            if found:
                placed.add(made.value)
                self._record_findings(
                    made.value, found, self.triples.place(self.graph.rows[made.main]), count
                )
        for value, found in findings.items():
            if (
                value not in placed
            ):  # rewritten since: its triples are accounted for under what it was
                self._record_findings(value, found, ("", 0), 1)

    def _record_findings(
        self, value: Axiom | Assertion, found: Sequence[Finding], place: tuple[str, int], count: int
    ) -> None:
        """Record each finding (kind, message, hint) on an axiom or assertion as a leftover, each
        message once.
        """
        for i, (kind, message, hint) in enumerate(found):
            at = self._leftover_positions.setdefault((value, message), len(self.leftovers))
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
                        shorten_text(value_text(value)),
                        hint,
                        of,
                        values=said,
                        items=1,
                    )
                )

    def record_failure(self, main: int, error: UnmappedError) -> Leftover:
        """Record a triple that begins no axiom as a leftover. It and its expression go to the
        bucket of the error.
        """
        reached = self.graph.reachable_triples(main)
        count = max(self.graph.assign_bucket(reached, f"leftover:{error.kind}"), 1)
        return self.record_leftover(error.kind, error.message, main, error.hint, count, 1, reached)

    def record_problem(self, problem: NameProblem) -> None:
        """Record a problem with the kind or declaration of a name as a leftover."""
        if problem.place is None:
            self.record_leftover(
                problem.kind, problem.message, problem.index, problem.hint, problem.count
            )
        else:
            self.leftovers.append(
                Leftover(
                    problem.kind, problem.message, *problem.place, "", problem.hint, problem.count
                )
            )

    def record_annotation_axioms(
        self, stated: Iterable[tuple[str, int, str, tuple[str, ...]]], known: Signature
    ) -> None:
        """Record axioms on annotation properties, each given as (source, line, keyword,
        properties).

        An axiom whose properties are also object or data properties is a leftover: in RDF it would
            be an axiom on the latter.
        """
        logical = known.object_properties | known.data_properties
        for source, line, keyword, properties in stated:
            if logical.issuperset(properties):
                message = f"{keyword} of <{properties[0]}>, which is an object or data property too: is the latter meant?"
                hint = "say the axiom on the object or data property, or use two names"
                self.leftovers.append(Leftover("punning", message, source, line, "", hint))
                self.buckets["leftover:punning"] += 1
                self.buckets["annotation"] -= 1

    def record_leftover(
        self,
        kind: str,
        message: str,
        index: int,
        hint: str = "",
        count: int = 1,
        items: int = 0,
        parts: Sequence[int] = (),
    ) -> Leftover:
        """Make and record a leftover for triple ``index`` of the graph.

        Args:
        parts: all triples that make it up, if there are more
        """
        rows = self.graph.rows
        made = self.triples.make_leftover(
            kind, message, rows[index], hint=hint, count=count, items=items
        )
        self.leftovers.append(made)
        if len(parts) > 1:
            self.parts[made] = [rows[i] for i in parts]
        return made

    def leftover_values(self) -> Iterator[tuple[Leftover, Axiom | Assertion]]:
        """Yield each leftover that is about an axiom or assertion, with that value."""
        for (value, _), at in self._leftover_positions.items():
            yield self.leftovers[at], value


def value_text(value: Axiom | Assertion) -> str:
    """Write an axiom or assertion in functional syntax, unabridged."""
    from shiq.functional.writer import axiom_text

    try:
        return axiom_text(value)
    except ValueError:
        return repr(value)


def cap_leftovers(leftovers: Iterable[Leftover]) -> Iterator[Leftover]:
    """Yield at most `MOST_SHOWN` leftovers of each kind. One more counts the others and keeps their
    axioms and assertions.
    """
    shown: Counter[str] = Counter()
    hidden: dict[str, list[Leftover]] = defaultdict(list)
    for leftover in leftovers:
        shown[leftover.kind] += 1
        if shown[leftover.kind] <= MOST_SHOWN:
            yield leftover
        else:
            hidden[leftover.kind].append(leftover)
    for kind, more in hidden.items():
        yield Leftover(
            kind,
            f"{len(more)} more {LIKE_OTHERS}",
            count=sum(leftover.count for leftover in more),
            values=tuple(chain.from_iterable(leftover.values for leftover in more)),
            items=sum(leftover.number for leftover in more),
        )


@dataclass(frozen=True, eq=False)
class UnabridgedLeftovers:
    """Iterable of the unabridged leftovers of a reading, one for each line or triple; see
    `Reading.left_out`.

    full_leftovers: as `LoadedSources.full_leftovers`
    asserted_ids: ids of the leftovers whose assertions are in the ABox nevertheless
    """

    triples: Triples
    leftovers: Sequence[Leftover]
    full_leftovers: Sequence[tuple[Sequence[Leftover], Iterable[Leftover]]]
    accounts: ReadingLedger
    asserted_ids: Collection[int]

    def __iter__(self) -> Iterator[Leftover]:
        done = {*self.asserted_ids}
        for told, all_of_them in self.full_leftovers:
            yield from all_of_them
            done.update(map(id, told))
        values = {id(leftover): value for leftover, value in self.accounts.leftover_values()}
        for leftover in self.leftovers:
            if id(leftover) in done:
                continue
            if parts := self.accounts.parts.get(leftover):
                texts = (_full_text(self.triples, row) for row in parts)
                yield replace(leftover, text="\n".join(texts))
            elif id(leftover) in values:
                yield replace(leftover, text=value_text(values[id(leftover)]))
            else:
                yield from expand_leftover(self.triples, leftover)


def expand_leftover(triples: Triples, leftover: Leftover) -> Iterator[Leftover]:
    """Split ``leftover`` into one for each of its triples, unabridged, in the order of rows."""
    rows = triples.leftover_rows.get(leftover, ())
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
            leftover,
            source=source,
            line=line,
            text=_full_text(triples, row),
            hint=hint,
            count=count,
        )


def _full_text(triples: Triples, row: int) -> str:
    """Write the triple of a row with its graph, unabridged."""
    return triples.full_text(row, triples.graph_of(row))


# Vacuous triples: every model satisfies them whatever they mean, and nothing else uses them.
#
# They are reported but do not block. Later data may use a name, so this holds only after everything
# was read.


_MONOTONE = frozenset({OWL + "intersectionOf", OWL + "unionOf"})
_LIST = frozenset({FIRST, REST})


def is_vacuous_expression(graph: VocabularyGraph, group: Sequence[int]) -> bool:
    """Decide whether class expressions that no axiom uses (``group``) have a solution in every
    model, so that they say nothing.

    Intersections and unions are monotone, so their definitions have a solution by Knaster and
    Tarski. Each node is defined once: two definitions would be an axiom. The outermost node must be
    mentioned; otherwise the triple that uses it may be lost.
    """
    subjects = {graph.subjects[i] for i in group}
    objects = {graph.objects[i] for i in group}
    if not all(subject.startswith("_:") for subject in subjects) or not subjects <= objects:
        return False
    listed: set[int] = set()
    defined: set[str] = set()
    for i in group:
        subject, predicate, value = graph.subjects[i], graph.predicates[i], graph.objects[i]
        if predicate in _MONOTONE:
            if subject in defined:
                return False
            defined.add(subject)
            try:
                members, triples = read_list(graph, value)
            except UnmappedError:
                return False
            if not all(isinstance(member, str) and not is_reserved(member) for member in members):
                return False
            listed.update(triples)
        elif predicate not in _LIST and (predicate, value) != (TYPE, OWL + "Class"):
            return False
    return all(i in listed for i in group if graph.predicates[i] in _LIST)
