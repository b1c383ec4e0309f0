"""What a check has to look at that is unusually large: many individuals that are one, and hubs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from abox_ops.engine import AddSet, NamedModule
from abox_ops.modules.named import NamedModules
from shiq.verdict import Leftover

#: How many equal individuals, or role assertions of one individual, are too many to go without a word.
CROWD = 10_000
#: How many of each are told; the largest first.
TOLD = 10
_SHOWN = 3


def crowds(add_set: AddSet) -> tuple[Leftover, ...]:
    """A leftover for each element of A_add (individuals that are equal, by SameIndividual or a (inverse-)functional role) of more
    than `CROWD` individuals, and for each of more than `CROWD` role assertions; for the `TOLD` largest. They are decided like any
    other."""
    modules = NamedModules.of(add_set.modules)
    equal = (e for module in modules for e in module.elements) if modules.crowd > CROWD else ()
    linked = any(len(module.edges) > CROWD for module in modules.distinct)
    found = (_many_equal([*add_set.contradictory, *equal]), _hubs(modules if linked else ()))
    return tuple(leftover for kind in found for leftover in sorted(kind, key=lambda x: (-x.count, x.message))[:TOLD])


def _many_equal(elements: Iterable[Sequence[str]]) -> Iterator[Leftover]:
    for element in elements:
        if len(element) > CROWD:
            shown = ", ".join(f"<{name}>" for name in element[:_SHOWN])
            yield Leftover(
                "many-equal",
                f"{len(element):,} individuals are one, by owl:sameAs or a functional property: {shown}, …",
                hint="is a key, or a value such as `unknown`, shared by things that differ?",
                count=len(element),
            )


def _hubs(modules: Iterable[NamedModule]) -> Iterator[Leftover]:
    for found in modules:
        edges = found.module.edges
        if len(edges) <= CROWD:
            continue
        degrees = Counter(node for subject, _, object in edges for node in {subject, object})
        for node, degree in degrees.items():
            if degree > CROWD:
                yield Leftover(
                    "hub",
                    f"<{found.elements[node][0]}> has {degree:,} role assertions that count for this check",
                    hint="--timeout SECONDS bounds what it costs",
                    count=degree,
                )
