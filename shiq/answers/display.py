"""Results as they are shown in a Python shell, in a notebook and as tables."""

from __future__ import annotations

from collections.abc import Sequence
from pkgutil import get_data
from typing import TYPE_CHECKING, Any

from shiq.answers.verdict import Verdict
from shiq.support import pluralize

if TYPE_CHECKING:
    from shiq.answers.result import Result

#: Causes, and conflicts of each, that a notebook shows.
MOST_SHOWN = 5
_COLOURS = {
    Verdict.CONSISTENT: "#1a7f37",
    Verdict.INCONSISTENT: "#cf222e",
    Verdict.UNDETERMINED: "#9a6700",
}


def summary_line(result: Result) -> str:
    """Write a result in one line: the verdict, the reason, and how many conflicts were found.

    >>> from shiq.answers.result import Result
    >>> summary_line(Result(Verdict.UNDETERMINED, "a.ttl: nothing is read"))
    'undetermined: a.ttl: nothing is read'
    """
    parts = [result.verdict.value]
    if result.conflicts:
        conflicts, causes = len(result.conflicts), len(result.groups)
        parts.append(f"{pluralize(conflicts, 'conflict')} of {pluralize(causes, 'cause')}")
    if result.more_conflicts:
        parts.append(f"{result.more_conflicts} more not explained")
    if result.reason:
        parts.append(result.reason)
    if result.committed:
        parts.append(f"committed as snapshot {result.committed}")
    return f"{parts[0]}: {'; '.join(parts[1:])}" if parts[1:] else parts[0]


def cause_sentences(result: Result, most: int) -> list[str]:
    """Explain the first conflict of each cause by a sentence, for the ``most`` most frequent
    causes; count the others.
    """
    explained = result.explained
    shown = [explained.sentence(group.conflicts[0]) for group in result.groups[:most]]
    if len(result.groups) > most:
        shown.append(f"… and {len(result.groups) - most} more causes")
    return shown


def notebook_html(result: Result) -> str:
    """Write a result as HTML for a notebook: the verdict, and its causes, each to be folded out."""
    # Loaded where a notebook shows a result.
    from jinja2 import Environment, StrictUndefined

    text = get_data("shiq", "templates/result.html")
    page = Environment(autoescape=True, undefined=StrictUndefined).from_string(
        (text or b"").decode()
    )
    explained = result.explained
    causes = [
        {
            "count": len(group.conflicts),
            "sentence": explained.sentence(group.conflicts[0]),
            "conflicts": [_conflict_for_template(result, i) for i in group.conflicts[:MOST_SHOWN]],
            "left": max(0, len(group.conflicts) - MOST_SHOWN),
        }
        for group in result.groups[:MOST_SHOWN]
    ]
    return page.render(
        colour=_COLOURS[result.verdict],
        verdict=result.verdict.value.upper(),
        summary=summary_line(result).partition(": ")[2],
        causes=causes,
        left=max(0, len(result.groups) - MOST_SHOWN),
    )


def _conflict_for_template(result: Result, number: int) -> dict[str, Any]:
    """Collect the sentence, assertions and axioms of a conflict for the HTML template."""
    conflict = result.conflicts[number]
    parts: Sequence[tuple[str, Sequence[str]]] = (
        ("inserted", conflict.insertions),
        ("in the base", conflict.base),
        ("axioms", conflict.axioms),
    )
    return {"sentence": result.explained.sentence(number), "parts": parts}


#: The columns of `conflict_columns`.
COLUMNS = (
    "conflict",
    "cause",
    "sentence",
    "pattern",
    "insertions",
    "base",
    "axioms",
    "keys",
    "minimal",
)


def conflict_columns(result: Result) -> dict[str, list[Any]]:
    """Return the conflicts as columns, one row each; ``cause``: the number of its group, the most
    frequent first.
    """
    cause = {i: number for number, group in enumerate(result.groups, 1) for i in group.conflicts}
    explained = result.explained
    rows = [
        (
            i + 1,
            cause[i],
            explained.sentence(i),
            explained.pattern(i).id,
            list(conflict.insertions),
            list(conflict.base),
            list(conflict.axioms),
            list(conflict.keys),
            conflict.is_minimal,
        )
        for i, conflict in enumerate(result.conflicts)
    ]
    return {name: [row[k] for row in rows] for k, name in enumerate(COLUMNS)}
