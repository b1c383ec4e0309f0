"""Write files atomically and durably; read secrets."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final

from shiq.errors import NO_ROOM, InputError, OperationalError, UsageError

_IN_A_DIRECTORY: Final = "Name a file in a directory that exists and may be written."
#: What is added to the name of a file for the one beside it that says why.
WHY: Final = ".why.json"


def write_atomically(path: Path, content: bytes | str) -> None:
    """Write a file in one step: readers see the old content or the new one. Its permissions follow
    the umask. Raises: OperationalError.

    Text is encoded as UTF-8, lone surrogates as escapes.
    """
    with report_write_errors(path):
        replace_file(
            path,
            content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content,
        )


@contextlib.contextmanager
def report_write_errors(path: Path, remedy: str = "", no_room: str = "") -> Iterator[None]:
    """Context manager: turn an OSError into an OperationalError that names ``path``.

    remedy: what to do instead of the usual. no_room: what to do if the disk is full.
    """
    try:
        yield
    except OSError as error:
        usual = _IN_A_DIRECTORY
        if error.errno in NO_ROOM:
            remedy, usual = no_room or remedy, "Make room there, or name a file elsewhere."
        raise OperationalError(
            f"{path}: cannot be written ({error.strerror or error})", remedy or usual
        ) from error


def resolve_secret(given: str, option: str) -> str:
    """Return the secret that ``option`` was given: the text itself, or the content of a variable
    (``env:NAME``) or file (``file:PATH``).

    Raises: UsageError for a variable that is not set, InputError for a file that cannot be read;
    neither shows the value.
    """
    kind, _, name = given.partition(":")
    if kind == "env":
        if name not in os.environ:
            raise UsageError(f"{option}: there is no variable {name}", f"Set it: export {name}=…")
        return os.environ[name]
    if kind != "file":
        return given
    try:
        return Path(name).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, ValueError) as error:
        raise InputError(
            f"{option}: {name} cannot be read", "Check the path and its permissions."
        ) from error


def is_device(path: Path) -> bool:
    """Decide whether ``path`` is a device, a pipe or an open file such as /dev/stdout, so that it
    cannot be replaced.
    """
    return path.absolute().parent in (Path("/dev"), Path("/dev/fd")) or (
        path.exists() and not (path.is_file() or path.is_dir())
    )


def replace_file(path: Path, data: bytes) -> None:
    """Replace the file at ``path`` by ``data`` in one durable step. Raises: OSError."""
    with open_replacement(path) as file:
        file.write(data)


@contextlib.contextmanager
def open_replacement(path: Path) -> Iterator[IO[bytes]]:
    """Context manager: a file that replaces the one at ``path`` at the end, in one durable step.

    A device is opened for writing instead. Raises: OSError.
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
    if os.name == "nt":  # which opens no folder
        return
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def json_text(value: Any, indent: int = 2) -> str:
    """Serialise ``value`` as JSON, indented and with non-ASCII letters as they are, as all commands
    print it.
    """
    return json.dumps(value, indent=indent, ensure_ascii=False) + "\n"
