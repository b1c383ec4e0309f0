"""Standard input as an input of a command: read once, to its end, before anything else is done."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jobs.files import naming
from shiq.errors import InputError
from shiq.formats import Format
from shiq.sources import take_standard_input

#: By the names that ``--format`` takes.
FORMATS = {
    "ntriples": Format.NTRIPLES,
    "nquads": Format.NQUADS,
    "turtle": Format.TURTLE,
    "trig": Format.TRIG,
    "rdfxml": Format.RDFXML,
    "jsonld": Format.JSONLD,
    "owlxml": Format.OWLXML,
    "functional": Format.FUNCTIONAL,
}


@contextmanager
def reading_standard_input(syntax: str | None) -> Iterator[None]:
    """Lets ``-`` stand for what standard input gives, in a temporary file, until the end.
    Raises: OperationalError, also where it is empty.
    """
    if sys.stdin is None:
        raise InputError(
            "standard input is closed", "Give - something to read, by a pipe or by < FILE."
        )
    with tempfile.TemporaryDirectory(prefix="shiq-") as folder:
        path = Path(folder, "stdin")
        with (
            naming(path, "Make room there, or name another folder by TMPDIR."),
            path.open("wb") as file,
        ):
            shutil.copyfileobj(sys.stdin.buffer, file)
        if not path.stat().st_size:
            # A command that failed before the pipe looks the same as one with nothing to say.
            raise InputError(
                "standard input ended without a byte",
                "Did the command before the pipe fail? Where there is nothing to read, give an empty file instead of -.",
            )
        take_standard_input(path, FORMATS[syntax or "ntriples"])
        yield
