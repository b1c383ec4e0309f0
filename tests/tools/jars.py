"""Jars that tests need, fetched from a Maven repository."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from shiq.errors import OperationalError
from shiq.jobs.evaluation.peers.install import Jar, fetch_jars, find_repository


def fetched(jars: Sequence[Jar], folder: Path, title: str) -> int:
    """Fetches those of ``jars`` that are not in ``folder``; the exit code."""
    try:
        fetch_jars(jars, folder, find_repository())
    except OperationalError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{title}: in {folder}")
    return 0
