"""Folders of ontologies: find the file of an imported ontology by the header of each file.

The headers of a file are read once and cached in the user's cache directory, by path, size and
times; the folder itself is never written. A file younger than two seconds is not cached, because it
may change again within one tick of its time.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from shiq.errors import InputError
from shiq.files import replace_file
from shiq.inputs.folders import refuse_folder, user_cache
from shiq.inputs.formats import ONTOLOGY_EXTENSIONS
from shiq.inputs.limits import read_limits
from shiq.remote.place import is_address

if TYPE_CHECKING:
    from shiq.rdf.headers import FileHeaders

#: Raised when headers are read in another way: an index of another number is not believed.
_VERSION = 2
_MOST_FILES = 100_000
_YOUNG = 2.0
#: What two IRIs of one ontology often differ in.
_LOOSE = re.compile(r"^https?://(?:www\.)?|(?:\.owl|\.rdf|\.ttl|\.n3)?[#/]*$", re.IGNORECASE)

#: Bytes of a file, and in nanoseconds when it was written, and when it or its name was changed.
_Stamp = tuple[int, int, int]


@dataclass(frozen=True)
class OntologyFolder:
    """The ontologies below a folder, each found by the ontology header of its file.

    name: the folder as the caller wrote it; path: its local path, or that of a local copy

    Hidden files and folders are ignored.
    """

    name: str
    path: Path

    @cached_property
    def root(self) -> Path:
        """The folder with links resolved."""
        return self.path.resolve()

    def find_by_header(self, iri: str) -> tuple[list[Path], list[Path]]:
        """Return the files whose header has ``iri`` as version IRI, and those that have it as
        ontology IRI.
        """
        versions, ontologies = self._files_by_iri
        return versions.get(iri, []), ontologies.get(iri, [])

    def similar_iris(self, iri: str) -> Iterator[tuple[str, str]]:
        """Yield (file, IRI in its header) for files whose IRI differs only slightly from ``iri``."""
        for name, headers in self.headers.items():
            for header in headers.ontologies:
                if _LOOSE.sub("", header.iri) == _LOOSE.sub("", iri):
                    yield self.display_name(self.root / name), header.iri

    @property
    def problems(self) -> Iterator[str]:
        """Yield messages on files whose header could not be read completely."""
        return (headers.problem for headers in self.headers.values() if headers.problem)

    def has_path(self, path: Path) -> bool:
        """Decide whether ``path`` lies below the folder."""
        return path.is_relative_to(self.root)

    def display_name(self, path: Path) -> str:
        """Return the name of a file for messages: below the folder's name as the caller wrote
        it.
        """
        inner = path.relative_to(self.root)
        if is_address(self.name):
            return f"{self.name.rstrip('/')}/{inner}"
        given = Path(self.name) / inner
        return str(given if given.resolve() == path.resolve() else path)

    def leads_to(self, path: Path) -> bool:
        """Decide whether ``path`` is an ontology below the folder, or would be one by its name."""
        place = path.resolve()
        is_below = place.is_relative_to(self.root)
        return is_below and (
            place.suffix.lower() in ONTOLOGY_EXTENSIONS
            or (place.is_file() and bool(_headers_of_file(place)[0]))
        )

    @cached_property
    def headers(self) -> Mapping[str, FileHeaders]:
        """The headers of each file by its path below the folder. Raises: InputError."""
        index = user_cache("ontologies") / f"{sha256(os.fsencode(self.root)).hexdigest()[:32]}.json"
        noted, now = _read_index(index), time.time()
        found: dict[str, tuple[_Stamp, FileHeaders]] = {}
        for path, stamp in self._files_with_stamps():
            name = str(path.relative_to(self.root))
            is_noted = name in noted and noted[name][0] == stamp
            found[name] = noted[name] if is_noted else (stamp, _headers_of_file(path))
        old = {
            name: value for name, value in found.items() if max(value[0][1:]) / 1e9 < now - _YOUNG
        }
        if noted != old and not index.resolve().is_relative_to(self.root):
            _write_index(index, old)
        return {name: headers for name, (_, headers) in found.items()}

    @cached_property
    def _files_by_iri(self) -> tuple[Mapping[str, list[Path]], Mapping[str, list[Path]]]:
        """The files by version IRI, and by ontology IRI."""
        versions, ontologies = (
            defaultdict[str, list[Path]](list),
            defaultdict[str, list[Path]](list),
        )
        for name, headers in self.headers.items():
            for header in headers.ontologies:
                for iri, by_iri in ((header.version, versions), (header.iri, ontologies)):
                    if iri:
                        by_iri[iri.removesuffix("#")].append(self.root / name)
        return versions, ontologies

    def _files_with_stamps(self) -> Iterator[tuple[Path, _Stamp]]:
        """Yield every file below the folder, with a stamp (size, modification time) that identifies
        its content.

        A link counts if it leads to a file below.
        """
        count = 0
        for where, folders, names in os.walk(self.root, onerror=refuse_folder):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(names):
                path = Path(where, name)
                with suppress(OSError, RuntimeError):
                    if (
                        not name.startswith(".")
                        and path.is_file()
                        and path.resolve().is_relative_to(self.root)
                    ):
                        told = path.stat()
                        yield path, (told.st_size, told.st_mtime_ns, told.st_ctime_ns)
                        count += 1
                if count > _MOST_FILES:
                    raise InputError(
                        f"{self.name} has over {_MOST_FILES:,} files",
                        "Is it the right folder for --catalog?",
                    )


def _headers_of_file(path: Path) -> FileHeaders:
    """Read the ontology headers of a file; none if it is in no format of ontologies."""
    # Loaded where a file is not noted.
    from shiq.inputs.sources import FileSource, classify_input
    from shiq.rdf.headers import FileHeaders, read_headers

    try:
        source = classify_input(path)
    except InputError:  # in no format that an ontology may have
        return FileHeaders()
    return (
        read_headers(replace(source, max_bytes=read_limits().document))
        if isinstance(source, FileSource)
        else FileHeaders()
    )


def _read_index(path: Path) -> dict[str, tuple[_Stamp, FileHeaders]]:
    """Read the saved index of ontology headers; empty if it is missing or damaged."""
    from shiq.rdf.headers import FileHeaders
    from shiq.rdf.ontology_header import OntologyHeader

    with suppress(OSError, ValueError, TypeError, KeyError):
        noted = json.loads(path.read_bytes())
        if noted["version"] == _VERSION:
            return {
                name: (
                    (int(size), int(written), int(changed)),
                    FileHeaders(
                        tuple(
                            OntologyHeader(str(iri), str(version)) for iri, version in ontologies
                        ),
                        str(problem),
                    ),
                )
                for name, (size, written, changed, ontologies, problem) in noted["files"].items()
            }
    return {}


def _write_index(path: Path, files: Mapping[str, tuple[_Stamp, FileHeaders]]) -> None:
    """Save the index of ontology headers in one step, safe for concurrent processes. Errors are
    ignored.
    """
    text = json.dumps(
        {
            "version": _VERSION,
            "files": {name: [*stamp, *headers] for name, (stamp, headers) in files.items()},
        }
    )
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(path, text.encode())
