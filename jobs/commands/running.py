"""What commands do around their work: how much they tell, and where results are written."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import click

from shiq.errors import OperationalError


def level(quiet: bool, verbose: bool) -> int:
    """Of `jobs.progress.ProgressLine`."""
    return 0 if quiet else 2 if verbose else 1


def write_json(target: str | None, value: dict[str, Any]) -> None:
    """Writes ``value`` to the file ``target`` atomically, or to stdout for ``-``."""
    if target is None:
        return
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    if target == "-":
        click.echo(text, nl=False)
        return
    path = Path(target)
    try:
        with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=path.name, delete=False, encoding="utf-8") as file:
            file.write(text)
        os.replace(file.name, path)
    except OSError as error:
        raise OperationalError(
            f"{target}: cannot be written ({error.strerror})", "Name a file in a directory that exists."
        ) from error
