"""What was asked: it goes with the answer, so that a report can name files and lines, and commands to go on with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import shiq

if TYPE_CHECKING:
    from jobs.reports.locations import SideFiles

_PARTS = ("insertions", "base", "axioms")
_IRI = re.compile(r"<([^<>\s]*)>")


@dataclass(frozen=True)
class Request:
    """``command``: check, certify, index or gate; ``inputs``: store, tbox, abox, ontology, insertions, deletions, mode, unit."""

    command: str
    inputs: Mapping[str, Any] = field(default_factory=dict)

    def sides(self) -> dict[str, SideFiles]:
        """The files that facts were read from, by side of a conflict."""
        # Loaded where an answer is written.
        from jobs.reports.locations import SideFiles

        given = self.inputs
        scope = r"i\d+\." if given.get("store") else "i"
        base, letter = (given["ontology"], "t") if given.get("ontology") else (given.get("abox") or (), "a")
        return {"insertions": SideFiles(tuple(given.get("insertions") or ()), scope), "base": SideFiles(tuple(base), letter)}


def completed(answer: dict[str, Any], asked: Request, labels: Mapping[str, str] | None = None) -> dict[str, Any]:
    """``answer``, as JSON, with the places of facts (`jobs.reports.locations`), those of ``labels`` that its conflicts need, and
    ``about``: what was asked, when, of what version."""
    given = {key: list(value) if isinstance(value, tuple) else value for key, value in asked.inputs.items() if value}
    made = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    about = {"command": asked.command, "made": made, "shiq": shiq.__version__, **given}
    named = _named(answer, labels or {})
    return {**_located(answer, asked), **({"labels": named} if named else {}), "about": about}


def _located(answer: dict[str, Any], asked: Request) -> dict[str, Any]:
    """``answer`` with the places of its conflicts, and of those of the last check of a gate, all looked for together."""
    from jobs.reports.locations import located

    own, last = answer.get("conflicts", []), answer.get("result", {}).get("conflicts", [])
    found = located({"conflicts": [*own, *last]}, asked.sides())["conflicts"]
    inner = {"result": {**answer["result"], "conflicts": found[len(own) :]}} if last else {}
    return {**answer, "conflicts": found[: len(own)], **inner}


def _named(answer: Mapping[str, Any], labels: Mapping[str, str]) -> dict[str, str]:
    """Those of ``labels`` that the conflicts of ``answer`` need."""
    if not labels:
        return {}
    texts = (text for conflict in answer["conflicts"] for part in _PARTS for text in conflict[part])
    return {iri: labels[iri] for text in texts for iri in _IRI.findall(text) if iri in labels}
