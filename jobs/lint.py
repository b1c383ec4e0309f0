"""Account for every triple of some files (``shiq lint``): counts by bucket, and leftovers. Nothing
is decided.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shiq.answers.verdict import KINDS, Leftover, count_waived, is_blocking
from shiq.inputs.catalog import Catalogs
from shiq.jobs.checking.certifying import unsatisfiable_class_leftovers
from shiq.jobs.checking.inputs import (
    OUT_OF_REACH_KIND,
    OUTSIDE_KIND,
    empty_tbox_leftover,
    imported_vocabularies,
    is_outside_shiq,
    read_catalogs,
    vocabulary_of,
)
from shiq.jobs.checking.options import Options
from shiq.jobs.checking.outside_shiq import CheckForecast, forecast_check
from shiq.jobs.leftover_waivers import LeftoverWaivers
from shiq.rdf import read_assertions, read_ontology
from shiq.simplify import simplify

SCHEMA_VERSION = 2

#: What a bucket of `Reading.ledger` is called in print; those of leftovers are called by their
#: kind.
BUCKETS = {
    "axiom": "axioms",
    "assertion": "assertions",
    "declaration": "declarations",
    "annotation": "annotations, headers",
}


@dataclass(frozen=True, slots=True)
class Lint:
    """Result of ``shiq lint``: how every triple was understood, and what was not.

    ledger: triples by bucket, each in exactly one; for functional syntax, axioms.
    axioms, assertions: numbers of distinct ones.
    asked: leftovers that a check would decide by asking HermiT, if there is no ``obstacle``.
    """

    ledger: Mapping[str, int]
    axioms: int
    assertions: int
    leftovers: tuple[Leftover, ...]
    allowed: tuple[str, ...]
    fail_on: tuple[str, ...]
    asked: tuple[Leftover, ...] = ()
    obstacle: str = ""

    @property
    def in_the_way(self) -> list[Leftover]:
        """Leftovers that would block the verdict `consistent`, whatever another reasoner answers."""
        is_settled = not self.obstacle and OUTSIDE_KIND not in self.fail_on
        settled = set(map(id, self.asked)) if is_settled else set()
        return [
            x
            for x in self.leftovers
            if id(x) not in settled and is_blocking(x, self.allowed, self.fail_on)
        ]

    @property
    def blocking(self) -> list[str]:
        """Kinds of the leftovers that would block the verdict `consistent`."""
        return sorted({x.kind for x in self.in_the_way})

    @property
    def total(self) -> int:
        """Number of triples read; a malformed line counts as one."""
        return sum(self.ledger.values())

    @property
    def exit_code(self) -> int:
        """3 if leftovers would block a verdict, else 0."""
        return 3 if self.blocking else 0

    def to_dict(self) -> dict[str, Any]:
        """Convert to the JSON object of ``shiq lint --json``."""
        return {
            "schema_version": SCHEMA_VERSION,
            "triples": self.total,
            "ledger": dict(self.ledger),
            "axioms": self.axioms,
            "assertions": self.assertions,
            "blocking": self.blocking,
            "asked": sum(len(x.values) for x in self.asked),
            **({"obstacle": self.obstacle} if self.obstacle else {}),
            "allowed": list(self.allowed),
            "fail_on": list(self.fail_on),
            "known": count_waived(self.leftovers),
            "leftovers": [
                {
                    name: getattr(x, name)
                    for name in (
                        "kind",
                        "message",
                        "source",
                        "line",
                        "text",
                        "hint",
                        "count",
                        "term",
                    )
                }
                | ({"items": x.items} if x.items else {})
                | {name: owner for name in ("known", "lapsed") if (owner := getattr(x, name))}
                for x in self.leftovers
            ],
        }


def lint(
    ontology: Sequence[str],
    data: Sequence[str] = (),
    *,
    allow: Collection[str] = (),
    fail_on: Collection[str] = (),
    known: LeftoverWaivers | None = None,
    classes: bool = True,
    catalog: Catalogs = (),
    vocabulary: Sequence[str] = (),
    progress: Callable[[str, int, int], None] | None = None,
) -> Lint:
    """Read ``ontology``, then ``data`` by its vocabulary, and account for every triple.

    classes: also search, for a few seconds, for classes that cannot have members.

    Raises: UsageError, InputError.
    """
    options = Options(
        allow=frozenset(allow),
        fail_on=frozenset(fail_on),
        catalog=catalog,
        vocabulary=tuple(vocabulary),
    )
    imported_from, tables = read_catalogs(options), imported_vocabularies(options)

    def reading(source: str, done: int) -> None:
        if progress is not None:
            progress(f"reading {source}", done, 0)

    read = read_ontology(
        list(ontology), progress=reading, catalog=imported_from, vocabulary=tables, doubt=True
    )
    ledger, leftovers = Counter(read.ledger), [*read.leftovers, *empty_tbox_leftover(read)]
    assertions, of_data = len(read.abox), None
    if data:
        unnamed = replace(tables, imported_tables=()) if tables else None
        own = {
            "ontologies": read.ontologies,
            "axioms": read.tbox.axioms,
            "catalog": imported_from,
            "vocabulary": unnamed,
        }
        facts = read_assertions(list(data), read.tbox.signature, progress=reading, **own)  # type: ignore[arg-type]
        ledger += Counter(facts.ledger)
        leftovers += facts.leftovers
        assertions += len(facts.abox)
        of_data = vocabulary_of(read.abox) | vocabulary_of(facts.abox)
    if classes:
        leftovers += unsatisfiable_class_leftovers(simplify(read.tbox).clauses, options)
    marked = (known or LeftoverWaivers()).mark(leftovers)
    found = CheckForecast(marked)
    if any(map(is_outside_shiq, marked)):
        found = forecast_check(read.tbox.axioms, marked, of_data, options)
    return Lint(
        dict(sorted(ledger.items(), key=lambda item: (item[0].startswith("leftover:"), -item[1]))),
        len(read.tbox.axioms),
        assertions,
        found.leftovers,
        tuple(sorted(options.allow)),
        tuple(sorted(options.fail_on)),
        found.for_hermit,
        found.obstacle,
    )


def lint_text(found: Lint) -> list[str]:
    """Lines that count the triples by how they were understood, largest count first, leftovers
    last.
    """
    width = len(f"{found.total:,}")
    lines = [
        f"{found.total:>{width},} triples read: {found.axioms:,} axioms, {found.assertions:,} assertions"
    ]
    for bucket, triples in found.ledger.items():
        kind = bucket.removeprefix("leftover:")
        rows = [
            x
            for x in found.leftovers
            if x.kind == kind or (kind == OUTSIDE_KIND and x.kind == OUT_OF_REACH_KIND)
        ]
        number = {"axiom": found.axioms, "assertion": found.assertions}.get(bucket, triples)
        if rows and sum(x.count for x in rows) == triples:
            number = sum(x.number for x in rows)
        of_triples = f" ({triples:,} triples)" if triples != number else ""
        what = (
            f"{kind}{of_triples}: {KINDS[kind]}"
            if kind in KINDS
            else f"{BUCKETS.get(bucket, bucket)}{of_triples}"
        )
        lines.append(f"{number:>{width},} {what}")
    return lines


def asked_text(found: Lint) -> list[str]:
    """Lines about leftovers that a check would not ignore but ask HermiT about."""
    if not found.asked:
        return []
    about = f"{sum(len(x.values) for x in found.asked):,} outside SHIQ(D)"
    if found.obstacle:
        return [
            "",
            f"{about}: HermiT would have to be asked about the whole, and cannot be: {found.obstacle}",
        ]
    return [
        "",
        f"{about}: where the data reaches them a check asks HermiT about the whole (--outside undetermined does not)",
    ]
