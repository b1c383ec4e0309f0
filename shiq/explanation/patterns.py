"""What conflicts have in common: the same axioms, and assertions that differ only in their individuals and literals."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shiq.explanation.canonical import Row, canonical_rows, canonical_text, rows_of
from shiq.explanation.labels import Labels
from shiq.explanation.manchester import manchester
from shiq.explanation.parsed import axiom_of, line_of
from shiq.explanation.rules import rule_of, title_of
from shiq.explanation.sentences import general_sentence

if TYPE_CHECKING:
    from shiq.result import Conflict


@dataclass(frozen=True, slots=True)
class Pattern:
    """``id``: stable over runs, "<rule or 'conflict'>-<8 hex digits of a hash of the canonical text>"; ``rule``: the OWL 2 RL
    rule of the last step (cax-dw, prp-fp, cls-maxc2, …), "" where none fits; ``title``: few words, for a row of a table;
    ``axioms``: functional syntax, sorted; ``manchester``: the same in Manchester syntax with labels; ``sentence``: plain English,
    in general.

    Which assertions were inserted and which were there does not count, so that a pattern met tonight is the one of old data.
    """

    id: str
    rule: str
    title: str
    axioms: tuple[str, ...]
    manchester: tuple[str, ...]
    sentence: str


def pattern_key(conflict: Conflict) -> tuple[tuple[str, ...], tuple[Row, ...], tuple[str, ...]]:
    """Equal for conflicts with the same axioms and the same assertions in the same order, up to renaming; not canonical."""
    lines, odd = [], []
    for text in (*conflict.insertions, *conflict.base):
        line = line_of(text)
        if line:
            lines.append(line)
        else:
            odd.append(text)
    return tuple(conflict.axioms), rows_of(lines), tuple(sorted(odd))


def pattern_of(conflict: Conflict, labels: Labels) -> Pattern:
    """The pattern of ``conflict``."""
    axioms, rows, odd = pattern_key(conflict)
    axioms = tuple(sorted(axioms))
    text = "\n".join([*axioms, "", canonical_text(canonical_rows(rows)), *odd])
    values = tuple(value for axiom in axioms if (value := axiom_of(axiom)))
    rule = rule_of(conflict)
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return Pattern(
        f"{rule or 'conflict'}-{digest[:8]}",
        rule,
        title_of(rule, values, labels),
        axioms,
        tuple(manchester(axiom, labels) for axiom in axioms),
        general_sentence(conflict, labels),
    )
