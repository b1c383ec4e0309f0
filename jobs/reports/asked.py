"""What was asked: it goes with the answer, so that a report can name files and lines, and commands to go on with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

import shiq
from jobs.reports.locations import Read, located


@dataclass(frozen=True)
class Asked:
    """``command``: check, certify, index or gate; ``inputs``: store, tbox, abox, ontology, insertions, deletions, mode, unit."""

    command: str
    inputs: Mapping[str, Any] = field(default_factory=dict)

    def sides(self) -> dict[str, Read]:
        """The files that facts were read from, by side of a conflict."""
        given = self.inputs
        scope = r"i\d+\." if given.get("store") else "i"
        base, letter = (given["ontology"], "t") if given.get("ontology") else (given.get("abox") or (), "a")
        return {"insertions": Read(tuple(given.get("insertions") or ()), scope), "base": Read(tuple(base), letter)}


def completed(answer: dict[str, Any], asked: Asked) -> dict[str, Any]:
    """``answer``, as JSON, with the places of facts (`jobs.reports.locations`) and ``about``: what was asked, when, of what
    version."""
    given = {key: list(value) if isinstance(value, tuple) else value for key, value in asked.inputs.items() if value}
    made = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        **located(answer, asked.sides()),
        "about": {"command": asked.command, "made": made, "shiq": shiq.__version__, **given},
    }
