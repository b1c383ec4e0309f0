"""Blank nodes in a file of deletions: those of the base, by the labels that `shiq export` prints."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace

from shiq.abox import abox_of
from shiq.model import Assertion
from shiq.ntriples import blank_node
from shiq.place import Place
from shiq.reading import Reading


def told_by_label(deletions: Reading, scope: str) -> Reading:
    """``deletions``, which were read with ``scope``, about the nodes of the base: ``_:x`` is what `shiq export` prints so.

    A blank node is named by nothing else, and a label in a file of deletions could stand for nothing but a new node, about which
    nothing is asserted that could be deleted.
    """
    written = re.compile(rf"_:{re.escape(scope)}\d+\.(?P<label>[^.].*)", re.DOTALL)
    if not any(map(written.fullmatch, deletions.abox.individuals)):
        return deletions

    def meant(individual: str) -> str:
        match = written.fullmatch(individual)
        return blank_node(match["label"]) if match else individual

    def about(assertion: Assertion) -> Assertion:
        ends = {f.name: meant(end) for f in fields(assertion) if isinstance(end := getattr(assertion, f.name), str)}
        return replace(assertion, **ends)  # type: ignore[arg-type]

    read: dict[Assertion, list[Assertion]] = {}
    for assertion in deletions.abox:
        read.setdefault(about(assertion), []).append(assertion)

    def places(assertions: Iterable[Assertion]) -> Mapping[Assertion, tuple[Place, ...]]:
        asked = {a: read.get(a, [a]) for a in assertions}
        known = deletions.places(as_read for some in asked.values() for as_read in some)
        return {a: tuple(place for as_read in some for place in known.get(as_read, ())) for a, some in asked.items()}

    return replace(deletions, abox=abox_of(read), places=places)
