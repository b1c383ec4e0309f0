"""Incremental consistency checking of ontology-backed knowledge graphs, in full SHIQ(D).

Names are loaded when they are first asked for, so that ``import shiq`` stays light: no JVM, no
data frames, no Spark.

>>> import shiq
>>> shiq.Verdict.CONSISTENT.value
'consistent'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shiq.support import import_on_access

if TYPE_CHECKING:
    from shiq.answers.result import Conflict, NotConsistent, Result
    from shiq.answers.verdict import KINDS, Leftover, Verdict
    from shiq.api import certify, check, check_insertions, index, open_store
    from shiq.commands import gate, lint, report
    from shiq.errors import (
        InputError,
        OperationalError,
        ReasonerError,
        ShiqError,
        StoreError,
        UsageError,
    )
    from shiq.inputs.sources import TextInput
    from shiq.model import TBox
    from shiq.model.abox import ABox
    from shiq.rdf.delta_changes import table_changes
    from shiq.rdf.sparql_update import update_changes
    from shiq.streams.consistency import check_stream
    from shiq.streams.discovery import RuleMiner
    from shiq.streams.enrichment import open_enricher
    from shiq.streams.rules import Program

    __version__: str

__all__ = [
    "KINDS",
    "ABox",
    "Conflict",
    "InputError",
    "Leftover",
    "NotConsistent",
    "OperationalError",
    "Program",
    "ReasonerError",
    "Result",
    "RuleMiner",
    "ShiqError",
    "StoreError",
    "TBox",
    "TextInput",
    "UsageError",
    "Verdict",
    "__version__",
    "certify",
    "check",
    "check_insertions",
    "check_stream",
    "gate",
    "index",
    "lint",
    "open_enricher",
    "open_store",
    "report",
    "table_changes",
    "update_changes",
]

_HOMES = {
    "shiq.model.abox": ("ABox",),
    "shiq.api": ("certify", "check", "check_insertions", "index", "open_store"),
    "shiq.commands": ("gate", "lint", "report"),
    "shiq.inputs.sources": ("TextInput",),
    "shiq.streams.enrichment": ("open_enricher",),
    "shiq.errors": (
        "InputError",
        "OperationalError",
        "ReasonerError",
        "ShiqError",
        "StoreError",
        "UsageError",
    ),
    "shiq.model": ("TBox",),
    "shiq.rdf.delta_changes": ("table_changes",),
    "shiq.rdf.sparql_update": ("update_changes",),
    "shiq.answers.result": ("Conflict", "NotConsistent", "Result"),
    "shiq.answers.verdict": ("KINDS", "Leftover", "Verdict"),
    "shiq.streams.consistency": ("check_stream",),
    "shiq.streams.discovery": ("RuleMiner",),
    "shiq.streams.rules": ("Program",),
}
_find = import_on_access(__name__, _HOMES)


def __getattr__(name: str) -> Any:
    if name != "__version__":
        return _find(name)
    value = globals()[name] = _read_version()
    return value


def _read_version() -> str:
    """Return the version of the installed package, or of the checkout."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("shiq")
    except PackageNotFoundError:
        from configparser import ConfigParser
        from pathlib import Path

        settings = ConfigParser()
        settings.read(Path(__file__).resolve().parent.parent / "setup.cfg", encoding="utf-8")
        return settings.get("metadata", "version", fallback="unknown")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
