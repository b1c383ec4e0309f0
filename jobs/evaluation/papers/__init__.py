"""The experiments of the papers that shiq rests on, redone: `shiq evaluate PAPER`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shiq.jobs.evaluation.papers.page import Paper


def paper_of(name: str) -> Paper:
    """Return the paper called ``name``, loaded with what its experiments need."""
    found: Paper = import_module(f"{__name__}.{name}").PAPER
    return found
