"""Writing files so that nobody ever sees half of one."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final

from shiq.errors import NO_ROOM, OperationalError

_IN_A_DIRECTORY: Final = "Name a file in a directory that exists and may be written."
#: What is added to the name of a file for the one beside it that says why.
WHY: Final = ".why.json"


def write_whole(path: Path, content: bytes | str) -> None:
    """Writes the file in one step: it holds ``content``, or what it held before. Readable for
    whom the umask says.

    Text is written as UTF-8, and a lone surrogate, which UTF-8 does not have, as its escape.
    Raises: OperationalError.
    """
    with naming(path):
        replace_file(
            path,
            content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content,
        )


@contextlib.contextmanager
def naming(path: Path, remedy: str = "") -> Iterator[None]:
    """Says of what goes wrong inside that ``path`` cannot be written: a full disk names no file.
    Raises: OperationalError.
    """
    try:
        yield
    except OSError as error:
        usual = (
            "Make room there, or name a file elsewhere."
            if error.errno in NO_ROOM
            else _IN_A_DIRECTORY
        )
        raise OperationalError(
            f"{path}: cannot be written ({error.strerror or error})", remedy or usual
        ) from error


def is_device(path: Path) -> bool:
    """Whether ``path`` is a device, a pipe or an open file such as /dev/stdout: written to,
    never put away.
    """
    return path.absolute().parent in (Path("/dev"), Path("/dev/fd")) or (
        path.exists() and not (path.is_file() or path.is_dir())
    )


def replace_file(path: Path, data: bytes) -> None:
    """Puts ``data`` in the place of the file at ``path``, in one step, durably. Raises: OSError."""
    with replacing(path) as file:
        file.write(data)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file to be written, which takes the place of the one at ``path`` at the end, in one
    step, durably; a device is written to. Raises: OSError.
    """
    if is_device(path):
        with open(path, "ab", buffering=0) as device:
            yield device
        return
    with tempfile.NamedTemporaryFile(
        dir=path.parent, prefix=f".{path.name}.", delete=False
    ) as file:
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(file.name, 0o666 & ~mask)
            os.replace(file.name, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(file.name)
            raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def json_text(value: Any, indent: int = 2) -> str:
    """``value`` as the JSON that every command writes."""
    return json.dumps(value, indent=indent, ensure_ascii=False) + "\n"
