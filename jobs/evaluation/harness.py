"""Common frame of all evaluations by `shiq evaluate`: run them, and write JSON, HTML and Markdown.

An evaluation is a document, held against its schema before it is shown: as JSON, as a page, as
text.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from shiq.errors import OperationalError
from shiq.files import write_atomically
from shiq.jobs.reports.write import schema_problems

Document: TypeAlias = Mapping[str, Any]
#: Called with what is being done, runs done, and runs in all as far as they are known.
Progress: TypeAlias = Callable[[str, int, int], None]
#: Called with what there is so far.
Save: TypeAlias = Callable[[Document], None]


@dataclass(frozen=True)
class Harness:
    """One kind of evaluation (benchmark data or paper), as three functions: measure, render as
    HTML, render as text.

    measure: makes the JSON document from settings
    html, text: render the document
    """

    measure: Callable[[Any, Progress, Save], Document]
    html: Callable[[Document], str]
    text: Callable[[Document], str]

    def run(self, settings: Any, files: Mapping[str, str | None], progress: Progress) -> str:
        """Measure, and write ``files`` (path by json, html, markdown; None: not written) after each
        progress. Returns the final text.

        Raises: UsageError, OperationalError.
        """
        forms = {"json": document_to_json, "html": self.html, "markdown": self.text}

        def save(document: Document) -> None:
            for kind, file in files.items():
                if file is not None:
                    write_atomically(Path(file), forms[kind](document))

        found = self.measure(settings, progress, save)
        save(found)
        return self.text(found)


def document_to_json(document: Document) -> str:
    """Serialise a document as JSON."""
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def make_checked_document(
    schema: Mapping[str, Any], version: int, began: float, **parts: Any
) -> dict[str, Any]:
    """Make a JSON document of ``parts``, with schema version, date and machine, and check it
    against ``schema``.

    Raises: OperationalError if it violates its ``schema``.
    """
    made = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(began))
    document = {"schema_version": version, "made": made, "machine": describe_machine(), **parts}
    if wrong := schema_problems(document, schema):
        raise OperationalError(
            f"the evaluation does not fit its schema: {'; '.join(wrong[:3])}", "Please report this."
        )
    return document


def current_commit() -> str:
    """Commit of this clone, with a + if its files differ; "" outside a clone."""
    root = Path(__file__).resolve().parents[2]
    words = (["rev-parse", "--short=12", "HEAD"], ["status", "--porcelain", "-uno"])
    try:
        head, changed = (
            subprocess.run(
                ["git", "-C", str(root), *call], capture_output=True, text=True, check=True
            ).stdout.strip()
            for call in words
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return head + ("+" if changed else "")


def describe_machine() -> dict[str, Any]:
    """Describe the machine on which figures are measured."""
    return {
        "processor": _read_first_value("/proc/cpuinfo", "model name")
        or platform.processor()
        or platform.machine(),
        "cores": os.cpu_count(),
        "memory_mb": _read_memory_mb(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 2),
    }


def _read_first_value(path: str, key: str) -> str:
    """Value of the first line ``KEY: VALUE`` of a system file; "" if there is none."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return next(
                (line.split(":", 1)[1].strip() for line in file if line.startswith(key)), ""
            )
    except OSError:
        return ""


def _read_memory_mb() -> int | None:
    """Memory of this machine in MiB; None if unknown."""
    value = _read_first_value("/proc/meminfo", "MemTotal").split(" ")[0]
    return int(value) // 1024 if value.isdigit() else None
