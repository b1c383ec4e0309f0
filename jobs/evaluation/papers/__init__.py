"""Redo the experiments of the five papers that shiq rests on: `shiq evaluate PAPER`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shiq.jobs.evaluation.papers.page import Paper


def load_paper(name: str) -> Paper:
    """Import the module of a paper and return its experiments."""
    return import_module(f"{__name__}.{name}").PAPER
