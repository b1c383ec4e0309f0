"""Refuse outputs that would replace an input, another output or a file of a store, or that cannot
be written.

Two paths are the same place if they lead to the same device and inode; two addresses, if their
normal forms are equal. Stdout, devices and pipes replace nothing.
"""

from __future__ import annotations

import os
import posixpath
import re
import shlex
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TypeAlias
from urllib.parse import unquote, urlsplit

from shiq.errors import UsageError
from shiq.files import is_device
from shiq.inputs.sources import TABLE
from shiq.jobs.store.files import is_store
from shiq.remote.place import is_endpoint


class OutputKind(Enum):
    """Kind of an output. ``ROWS``: a file that is extended in place. ``OWN``: a folder that no
    other output may share.
    """

    FILE = "a file"
    ROWS = "a file of rows"
    FOLDER = "a folder"
    OWN = "a folder of its own"
    STORE = "a store"


#: The kinds that are folders.
FOLDERS = (OutputKind.FOLDER, OutputKind.OWN, OutputKind.STORE)
_EXCLUSIVE_KINDS = (OutputKind.OWN, OutputKind.STORE)


@dataclass(frozen=True)
class InputPlace:
    """Input that the user named by ``option``. ``leads_to``: for a catalog, tests whether it refers
    to a file.
    """

    option: str
    name: str
    leads_to: Callable[[Path], bool] | None = field(default=None, compare=False)


@dataclass(frozen=True)
class OutputPlace:
    """Output that the user named by ``option``. ``is_derived``: its name was made from that of
    another output, whose folder is checked there.
    """

    option: str
    name: str
    kind: OutputKind = OutputKind.FILE
    is_derived: bool = False

    @property
    def text(self) -> str:
        """Option and name of the output, for messages."""
        return f"{self.option} {self.name}"


def check_outputs(inputs: Iterable[InputPlace], outputs: Iterable[OutputPlace]) -> None:
    """Refuse outputs that would replace an input, another output or a file of a store, or that
    cannot be written.

    Raises: UsageError, which names both options.
    """
    sources = [
        (source, where) for source in inputs if (where := _locate_input(source.name)) is not None
    ]
    targets = [
        (target, where) for target in outputs if (where := _locate_output(target)) is not None
    ]
    for number, (target, where) in enumerate(targets):
        for source, other in sources:
            _refuse_input(target, where, source, other)
        for earlier, other in targets[:number]:
            _refuse_output(target, where, earlier, other)
    for target, where in targets:
        if isinstance(where, Path):
            _refuse_store(target, where)
            _refuse_unwritable(target, where)


def rows_kind(name: str) -> OutputKind:
    """Kind of an output of rows: a folder for a Delta table, else a file."""
    return OutputKind.OWN if name.endswith(".delta") else OutputKind.ROWS


def refuse_shared_stdout(outputs: Iterable[tuple[str, str | None]]) -> None:
    """Refuse two options, each with its output, that would both write to stdout. Raises:
    UsageError.
    """
    there = [option for option, name in outputs if name == "-"]
    if len(there) > 1:
        raise UsageError(f"{there[-1]} and {there[0]} are both stdout", f"Give {there[-1]} a file.")


#: A file or folder, or an address that is none.
_Location: TypeAlias = "Path | str"

#: Kinds of addresses that are other names of one, and the ports that go without saying.
_KINDS = {"s3a": "s3", "s3n": "s3", "abfs": "abfss", "wasb": "abfss", "wasbs": "abfss"}
_PORTS = {"hdfs": ":8020", "kafka": ":9092"}
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_TABLE_FILE = re.compile(r"\w+\.`(.+)`")


def _locate_input(name: str) -> _Location | None:
    """Find the file or address that an input name stands for; None for other inputs, such as a
    device.
    """
    if name.startswith(TABLE):
        # A table of Spark's may be named by its folder.
        named = _TABLE_FILE.fullmatch(name.removeprefix(TABLE))
        return None if named is None else _locate_input(named[1])
    if is_endpoint(name):
        return None
    path = Path("/dev/stdin") if name == "-" else _file_path(name) or Path(name)
    if path == Path(name) and _ADDRESS.match(name):
        return normalise_address(name)
    # What is redirected from a file reads that file.
    return None if is_device(path) and not path.is_file() else path


def _locate_output(target: OutputPlace) -> _Location | None:
    """Find the file or address that an output name stands for; None for other outputs, such as
    stdout.
    """
    name = target.name
    if name == "-":
        return None
    if target.kind is OutputKind.STORE and (path := _file_path(name)):
        return path
    if target.kind not in (OutputKind.FILE, OutputKind.FOLDER) and _ADDRESS.match(name):
        return normalise_address(name)
    return None if is_device(Path(name)) else Path(name)


def _file_path(name: str) -> Path | None:
    """Path of a file: URL; None for other names."""
    return Path(unquote(urlsplit(name).path)) if name.lower().startswith("file:") else None


def normalise_address(name: str) -> str:
    """Normalise the address of a remote file, so that equal files have equal addresses.

    One scheme for each kind of place, lower-case host without default port, path without empty
    parts and escapes.
    """
    scheme, _, rest = name.partition("://")
    kind = _KINDS.get(scheme.lower(), scheme.lower())
    host, _, path = rest.partition("/")
    hosts = sorted(
        part.strip().removesuffix(_PORTS.get(kind, "\0")) for part in host.lower().split(",")
    )
    return f"{kind}://{','.join(hosts)}{posixpath.normpath('/' + unquote(path).lstrip('/'))}"


def _place_identity(where: _Location) -> tuple[object, ...]:
    """Key that two names of one file or address have in common: device and inode. For a missing
    file: those of its folder, and its name.
    """
    if isinstance(where, str):
        return (where,)
    with suppress(OSError):
        there = where.stat()
        return there.st_dev, there.st_ino
    real = _resolve_path(where)
    with suppress(OSError):
        folder = real.parent.stat()
        return folder.st_dev, folder.st_ino, real.name
    return (real,)


def _resolve_path(path: Path) -> Path:
    """Path with all links resolved."""
    return Path(os.path.realpath(path))


def _enclosing_folders(path: Path) -> Iterator[Path]:
    """List ``path`` and its parent folders, both as named and with links resolved."""
    named = (
        Path(os.path.realpath(path.parent)) / path.name
        if path.name not in ("", "..")
        else _resolve_path(path)
    )
    for real in dict.fromkeys((named, _resolve_path(path))):
        yield from (real, *real.parents)


def _lies_in(where: _Location, folder: _Location) -> bool:
    """Decide whether the file ``where`` equals or is inside ``folder``, which need not exist."""
    if isinstance(where, Path) and isinstance(folder, Path):
        return _place_identity(folder) in map(_place_identity, _enclosing_folders(where))
    if isinstance(where, str) and isinstance(folder, str):
        return where.startswith(f"{folder.rstrip('/')}/")
    return False


def _refuse_input(
    target: OutputPlace, where: _Location, source: InputPlace, other: _Location
) -> None:
    """Refuse an output that would replace or contain an input. Raises: UsageError."""
    what = ""
    if _place_identity(where) == _place_identity(other):
        what = f"would replace what {source.option} reads"
    elif (source.leads_to is None or isinstance(other, str)) and _lies_in(where, other):
        what = f"lies in {source.name}, which {source.option} reads"
    elif target.kind in _EXCLUSIVE_KINDS and _lies_in(other, where):
        what = f"is no place for {source.name}, which {source.option} reads"
    elif isinstance(where, Path) and source.leads_to is not None and source.leads_to(where):
        what = f"would replace what {source.option} {source.name} refers to"
    if what:
        raise UsageError(f"{target.text} {what}", _other_place_hint(target))


def _refuse_output(
    target: OutputPlace, where: _Location, earlier: OutputPlace, other: _Location
) -> None:
    """Refuse an output to the same file or folder as an ``earlier`` one. Raises: UsageError."""
    if _place_identity(where) == _place_identity(other):
        raise UsageError(
            f"{target.option} and {earlier.option} are both {target.name}",
            f"Name another place for {target.option}.",
        )
    for inner, place, outer, folder in (
        (target, where, earlier, other),
        (earlier, other, target, where),
    ):
        if outer.kind in _EXCLUSIVE_KINDS and _lies_in(place, folder):
            raise UsageError(
                f"{inner.text} lies in {outer.text}, where nothing else may be",
                _other_place_hint(inner),
            )


def _refuse_store(target: OutputPlace, path: Path) -> None:
    """Refuse an output inside a store. Raises: UsageError."""
    starts = (
        [path.parent, _resolve_path(path).parent] if target.kind is OutputKind.STORE else [path]
    )
    for start in starts:
        if store := next(filter(is_store, _enclosing_folders(start)), None):
            raise UsageError(
                f"{target.text} lies in the store {store}, which it would damage",
                _other_place_hint(target),
            )


def _refuse_unwritable(target: OutputPlace, path: Path) -> None:
    """Refuse an output that cannot be written. Raises: UsageError."""
    is_folder = target.kind in FOLDERS
    if path.exists() and path.is_dir() != is_folder:
        raise UsageError(
            f"{target.text} is {'a file' if is_folder else 'a folder'}", _other_place_hint(target)
        )
    if not target.is_derived:
        for folder in (
            [path] if path.is_dir() else dict.fromkeys((path.parent, _resolve_path(path).parent))
        ):
            _refuse_folder(target, folder)
    try:
        if target.kind is OutputKind.ROWS and path.exists():
            path.open("ab").close()
        # A file is replaced by one beside it, whose name is a little longer.
        (path if is_folder else path.with_name(f".{path.name}.{'x' * 8}")).lstat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(
            f"{target.text} cannot be written ({error.strerror})", _other_place_hint(target)
        ) from error


def _refuse_folder(target: OutputPlace, folder: Path) -> None:
    """Refuse a ``folder`` that is missing or not writable; writing is tried with an unnamed file.
    Raises: UsageError.
    """
    if not folder.is_dir():
        raise UsageError(
            f"{target.text}: there is no folder {folder}",
            f"Make it first: mkdir -p {shlex.quote(str(folder))}",
        )
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        what = f"{target.text}: the folder {folder} cannot be written ({error.strerror})"
        raise UsageError(what, _other_place_hint(target)) from error


def _other_place_hint(target: OutputPlace) -> str:
    """Remedy for a refused output: name another file or folder."""
    return f"Name another place for {target.option}."
