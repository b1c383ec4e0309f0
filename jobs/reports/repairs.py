"""Repairs as a file of SPARQL Update (``--repairs``).

The updates are for base and batch together. Blank nodes have no name that an update could use, so a
change about one, or in a graph that is one, is a comment. Where an update may miss what states the
triple, a remark says so: a named graph of the base, or a list of `owl:AllDifferent`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from shiq.answers.repair import BASE, Change, RepairPlan
from shiq.inputs.reading import Place
from shiq.model import DifferentIndividuals
from shiq.support import pluralize


def update_text(plan: RepairPlan) -> str:
    """Format a repair plan as SPARQL Update, each change below its reasons as comments."""
    if not plan.is_verified:
        return f"# No repair: {_comment_line(plan.reason)}.\n"
    end = " No fewer changes would do." if plan.is_smallest else ""
    verb = "makes" if len(plan.changes) == 1 else "make"
    scope = (
        "the base consistent, as a check of it has shown; the batch was not looked at"
        if plan.is_for_base
        else "base and batch consistent, as a check of both has shown"
    )
    lines = [f"# {pluralize(len(plan.changes), 'change')} {verb} {scope}.{end}"]
    for change in plan.changes:
        lines += ["", *_change_lines(change)]
    return "\n".join(lines) + "\n"


def _change_lines(change: Change) -> Iterator[str]:
    """Lines of the update for one change: reasons as comments, then DELETE and INSERT."""
    for sentence in change.sentences:
        yield f"# {_comment_line(sentence)}"
    yield f"# {change.side}{''.join(f', {_comment_line(str(place))}' for place in change.places)}"
    yield from _remarks(change)
    for operation, lines in (("DELETE", change.removed_lines), ("INSERT", change.added_lines)):
        for graph in _named_graphs(change.places) if lines else ():
            text = " ".join(lines)
            text = f"GRAPH {graph} {{ {text} }}" if graph else text
            mark = "# " if change.is_nameless or graph.startswith("_:") else ""
            yield f"{mark}{operation} DATA {{ {text} }} ;"


def _remarks(change: Change) -> Iterator[str]:
    """Comments about facts of the change that no update can reach, such as those of named graphs."""
    if change.is_nameless:
        yield "# About a blank node, so that it has to be changed where it stands:"
        return
    if any(graph.startswith("_:") for graph in _named_graphs(change.places)):
        yield "# In a graph that is a blank node, so that it has to be changed where it stands."
    if isinstance(change.assertion, DifferentIndividuals):
        yield "# If an owl:AllDifferent says it, take one of the two out of its list instead."
    if change.side == BASE:
        old, new = map(" ".join, (change.removed_lines, change.added_lines))
        insert = f"INSERT {{ GRAPH ?g {{ {new} }} }} " if new else ""
        yield "# This is for the default graph. If named graphs of the base say it, apply this too:"
        yield f"# DELETE {{ GRAPH ?g {{ {old} }} }} {insert}WHERE {{ GRAPH ?g {{ {old} }} }} ;"


def _named_graphs(places: Iterable[Place]) -> list[str]:
    """Named graphs of ``places``, without duplicates."""
    return [*dict.fromkeys(place.graph for place in places)] or [""]


def _comment_line(text: str) -> str:
    """Format a text as one comment line of SPARQL."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
