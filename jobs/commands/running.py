"""What commands do around their work: how much they tell, and where results are written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from jobs.files import json_text, write_whole


def level(quiet: bool, verbose: bool) -> int:
    """Of `jobs.progress.ProgressLine`."""
    return 0 if quiet else 2 if verbose else 1


def write_json(target: str | None, value: dict[str, Any]) -> None:
    """Writes ``value`` to the file ``target`` atomically, or to stdout for ``-``."""
    if target is None:
        return
    if target == "-":
        click.echo(json_text(value), nl=False)
    else:
        write_whole(Path(target), json_text(value))
