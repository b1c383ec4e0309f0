"""Repairs as a file of SPARQL Update (``--repairs``).

The updates are for base and batch together. Blank nodes have no name that an update could use, so a
change about one is a comment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from shiq.answers.repair import Change, RepairPlan
from shiq.inputs.reading import Place
from shiq.support import pluralize


def update_text(plan: RepairPlan) -> str:
    """Write a plan as SPARQL Update, each change under its reasons."""
    if not plan.is_verified:
        return f"# No repair: {_comment(plan.reason)}.\n"
    end = " No fewer changes would do." if plan.is_smallest else ""
    verb = "makes" if len(plan.changes) == 1 else "make"
    lines = [
        f"# {pluralize(len(plan.changes), 'change')} {verb} base and batch consistent, as a check of both has shown.{end}"
    ]
    for change in plan.changes:
        lines += ["", *_change_lines(change)]
    return "\n".join(lines) + "\n"


def _change_lines(change: Change) -> Iterator[str]:
    for sentence in change.sentences:
        yield f"# {_comment(sentence)}"
    yield f"# {change.side}{''.join(f', {_comment(str(place))}' for place in change.places)}"
    if change.is_nameless:
        yield "# About a blank node, so that it has to be changed where it stands:"
    for operation, lines in (("DELETE", change.removed_lines), ("INSERT", change.added_lines)):
        for graph in _graphs(change.places) if lines else ():
            text = " ".join(lines)
            text = f"GRAPH {graph} {{ {text} }}" if graph else text
            yield f"{'# ' if change.is_nameless else ''}{operation} DATA {{ {text} }} ;"


def _graphs(places: Iterable[Place]) -> list[str]:
    return [*dict.fromkeys(place.graph for place in places)] or [""]


def _comment(text: str) -> str:
    """One line of a comment."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
