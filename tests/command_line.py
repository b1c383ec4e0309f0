"""The command line, called in this process: starting one takes longer than most calls."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest

from shiq.jobs.cli import main


class Called(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def shiq(*arguments: object, cwd: Path | None = None) -> Called:
    """What a call of ``shiq``, in the folder ``cwd``, ends with and prints."""
    out, errors = io.StringIO(), io.StringIO()
    with (
        _inside(cwd),
        redirect_stdout(out),
        redirect_stderr(errors),
        pytest.raises(SystemExit) as stop,
    ):
        main([*map(str, arguments)])
    return Called(int(stop.value.code or 0), out.getvalue(), errors.getvalue())


@contextmanager
def _inside(folder: Path | None) -> Iterator[None]:
    before = Path.cwd()
    try:
        os.chdir(folder or before)
        yield
    finally:
        os.chdir(before)
