"""Catalogs: which local file answers an imported IRI, or holds the context of a JSON-LD document.

Nothing is ever fetched. A catalog is a folder or a file; files take precedence over folders. In a
folder each ontology is found by its header (`shiq.inputs.ontology_folder`). A catalog file is
either an
OASIS XML Catalog, as Protégé and ROBOT write it (``catalog-v001.xml``), or JSON:
``{"http://example.org/onto": "onto.owl"}``. Instead of a name JSON may have ``{"file": "onto.owl",
"sha256": "…"}``. All files must be in the catalog's folder or below; links are resolved first.
"""

from __future__ import annotations

import hashlib
import json
import os
import posixpath
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import unquote, urljoin, urlsplit
from xml.parsers import expat

from shiq.errors import InputError
from shiq.inputs.formats import ONTOLOGY_EXTENSIONS
from shiq.inputs.limits import read_limits
from shiq.inputs.ontology_folder import OntologyFolder
from shiq.remote.place import is_address

_NAMESPACE = "urn:oasis:names:tc:entity:xmlns:xml:catalog "
_XML_BASE = "http://www.w3.org/XML/1998/namespace base"
#: What would lead to other catalogs, or that no import goes by.
_REFUSED = frozenset(
    {"nextCatalog", "delegateURI", "delegateSystem", "delegatePublic", "uriSuffix", "systemSuffix"}
)
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+:")
_HASH = re.compile(r"[0-9a-f]{64}")
#: No catalog is larger.
_MOST_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """One entry of a catalog file: the file of an IRI, and its hash if the catalog states one.

    target: the file as written, relative to the catalog's folder.
    sha256: of its bytes; "" accepts any.
    """

    target: str
    sha256: str = ""


@dataclass(frozen=True)
class CatalogFile:
    """A catalog file that has been read.

    entries: by IRI.
    rewrites: (prefix of an IRI, prefix of the file's path), longest first.
    copies: local copies of remote files → their addresses.
    """

    name: str
    folder: Path
    entries: Mapping[str, CatalogEntry] = field(default_factory=dict)
    rewrites: tuple[tuple[str, str], ...] = ()
    copies: dict[Path, str] = field(default_factory=dict, compare=False)

    @property
    def address(self) -> str:
        """The address of the catalog's folder if it is remote, else ""."""
        return self.name.rpartition("/")[0] if is_address(self.name) else ""

    def find(self, iri: str) -> Path | None:
        """Return the file for `iri`, or None if the catalog has no entry.

        Raises: InputError if the file is missing, too large, outside the folder, or has another
        hash.
        """
        entry = (
            self.entries.get(iri)
            or self.entries.get(iri.removesuffix("#"))
            or self.entries.get(f"{iri}#")
        )
        if entry is None:
            begin = next(
                ((start, path) for start, path in self.rewrites if iri.startswith(start)), None
            )
            if begin is None:
                return None
            entry = CatalogEntry(begin[1] + iri[len(begin[0]) :])
        return self._existing_file(iri, entry)

    def leads_to(self, path: Path) -> bool:
        """Decide whether an entry or rewrite rule of this catalog can resolve an IRI to `path`."""
        place, rdf = path.resolve(), path.suffix.lower() in ONTOLOGY_EXTENSIONS
        with suppress(InputError):
            below = (
                (self._resolve_target(iri, target) for iri, target in self.rewrites) if rdf else ()
            )
            return any(
                place == self._resolve_target(iri, entry.target)
                for iri, entry in self.entries.items()
            ) or any(place.is_relative_to(folder) for folder in below)
        return False

    def _existing_file(self, iri: str, entry: CatalogEntry) -> Path:
        """Return the file of an entry, after checking that it exists and has the stated hash.
        Raises: InputError.
        """
        path = self._resolve_target(iri, entry.target)
        try:
            if not path.is_file():
                raise self._entry_error(
                    iri,
                    f"{entry.target}, which is no file",
                    "Correct the catalog, or put the file there.",
                )
            if path.stat().st_size > read_limits().document:
                raise self._entry_error(
                    iri,
                    f"{entry.target}, which is too large for an import ({path.stat().st_size:,} bytes)",
                    "Give it as a source of its own, or raise SHIQ_MAX_DOCUMENT.",
                )
            if entry.sha256 and hashlib.sha256(path.read_bytes()).hexdigest() != entry.sha256:
                raise self._entry_error(
                    iri,
                    f"{entry.target}, which is another file by now: its SHA-256 differs",
                    "Look at it, then renew the hash.",
                )
        except (OSError, ValueError) as error:
            raise self._entry_error(
                iri, f"{entry.target}, which cannot be read ({error})", "Check the file."
            ) from error
        return path

    @property
    def root(self) -> Path:
        """The folder that contains all files of the catalog, with links resolved."""
        return self.folder.resolve()

    def has_path(self, path: Path) -> bool:
        """Decide whether `path` lies below the catalog's folder, or is a copy of a remote file
        there.
        """
        return path in self.copies or path.is_relative_to(self.root)

    def display_name(self, path: Path) -> str:
        """Return the name of a file for messages: relative if the catalog's own name is."""
        if path in self.copies:
            return self.copies[path]
        given = Path(self.name).parent / path.relative_to(self.root)
        return str(given if given.resolve() == path else path)

    def _resolve_target(self, iri: str, target: str) -> Path:
        """Resolve the target of an entry to a path below the catalog's folder. Raises: InputError."""
        text = target
        if text.lower().startswith("file:"):
            text = unquote(urlsplit(text).path)
        elif _DRIVE.match(text):
            text = text.replace("\\", "/")
        elif _SCHEME.match(text):
            raise self._entry_error(
                iri,
                f"{target}, and nothing is fetched",
                "Download it, and put the file's name there.",
            )
        if self.address:
            return self._copy_remote_file(iri, text)
        try:
            root = self.root
            for candidate in dict.fromkeys((root / text, root / unquote(text))):
                path = candidate.resolve()
                if not path.is_relative_to(root):
                    raise self._entry_error(
                        iri,
                        f"{target}, outside of the catalog's folder",
                        "Keep imports in that folder, or below.",
                    )
                if path.exists():
                    return path
        except (OSError, ValueError, RuntimeError) as error:
            raise self._entry_error(
                iri, f"{target!r}, which is no path ({error})", "Correct the catalog."
            ) from error
        return root / text

    def _copy_remote_file(self, iri: str, target: str) -> Path:
        """Copy a file from the remote folder of this catalog. Return the path of the copy."""
        inner = posixpath.normpath(unquote(target))
        if inner.startswith(("/", "..")):
            raise self._entry_error(
                iri,
                f"{target}, outside of the catalog's folder",
                "Keep imports in that folder, or below.",
            )
        # Loaded where a catalog is far away.
        from shiq.remote.inputs import local_copy

        address = f"{self.address}/{inner}"
        path = local_copy(address)
        self.copies[path] = address
        return path

    def _entry_error(self, iri: str, what: str, remedy: str) -> InputError:
        """Error: an entry of the catalog cannot be used."""
        return InputError(f"{self.name}: <{iri}> stands for {what}", remedy)


@dataclass(frozen=True)
class Catalog:
    """Several catalog files, and folders that are searched after them."""

    files: tuple[CatalogFile, ...] = ()
    folders: tuple[OntologyFolder, ...] = ()

    def find(self, iri: str) -> Path | None:
        """Return the file that the catalog files give for `iri`, or None. Raises: InputError."""
        return next((path for file in self.files if (path := file.find(iri))), None)

    def display_name(self, path: Path) -> str:
        """Return the name of a file for messages, as its catalog would write it."""
        places: list[CatalogFile | OntologyFolder] = [*self.files, *self.folders]
        return next(place.display_name(path) for place in places if place.has_path(path))

    def find_by_header(self, iri: str) -> list[Path]:
        """Return the files below the folders whose header has `iri` as version IRI.

        If there is none, return those with `iri` as ontology IRI.
        """
        pairs = [folder.find_by_header(iri.removesuffix("#")) for folder in self.folders]
        for paths in zip(*pairs):
            if files := {path.resolve(): path for path in chain.from_iterable(paths)}:
                return list(files.values())
        return []

    def hint(self, iri: str) -> str:
        """Propose what to do about an import that no file answers; "" if the folders give no clue."""
        for name, other in chain.from_iterable(folder.similar_iris(iri) for folder in self.folders):
            return f'{name} is <{other}>: if that is meant, write {{"{iri}": "FILE"}} into a catalog file beside it'
        broken = list(chain.from_iterable(folder.problems for folder in self.folders))
        return f"{len(broken):,} files could not be read, first {broken[0]}" if broken else ""

    def leads_to(self, path: Path) -> bool:
        """Decide whether an import may be resolved to `path` by a catalog file or folder."""
        return any(file.leads_to(path) for file in self.files) or any(
            folder.leads_to(path) for folder in self.folders
        )


#: What names catalogs: files and folders.
Catalogs: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"


def read_catalog(named: Catalogs) -> Catalog:
    """Read the catalogs with these names. Raises: InputError if one is missing or malformed."""
    names = [
        os.fsdecode(os.fspath(one))
        for one in ([named] if isinstance(named, str | os.PathLike) else named)
    ]
    places = [(name, _local_catalog_path(name)) for name in names]
    return Catalog(
        tuple(_read_catalog_file(name, path) for name, path in places if not path.is_dir()),
        tuple(OntologyFolder(name, path) for name, path in places if path.is_dir()),
    )


def _local_catalog_path(name: str) -> Path:
    """Return the local path of a catalog; remote ones are copied first. Raises: InputError."""
    if not is_address(name):
        return Path(name).absolute()
    from shiq.remote.inputs import folder_copy, is_remote_folder, local_copy

    return folder_copy(name) if is_remote_folder(name) else local_copy(name)


def _read_catalog_file(name: str, path: Path) -> CatalogFile:
    """Read one catalog file, JSON or XML. Raises: InputError."""
    try:
        with open(path, "rb") as stream:
            data = stream.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise InputError(
            f"the catalog {name} cannot be read ({error})", "Check the path."
        ) from error
    if len(data) > _MOST_BYTES:
        raise InputError(
            f"the catalog {name} has over {_MOST_BYTES >> 20} MB", "Is it the right file?"
        )
    folder = path.parent
    is_json = data.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")
    return (
        _read_json_catalog(name, folder, data) if is_json else _read_xml_catalog(name, folder, data)
    )


def _read_json_catalog(name: str, folder: Path, data: bytes) -> CatalogFile:
    """Read a catalog in JSON. Raises: InputError."""
    remedy = 'Write {"http://example.org/onto": "onto.owl"}, or {"file": "onto.owl", "sha256": "…"} for the name.'

    def refuse_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """Refuse a key that stands twice. Raises: InputError."""
        found = dict(pairs)
        if len(found) < len(pairs):
            twice = next(key for at, (key, _) in enumerate(pairs) if key in dict(pairs[:at]))
            raise InputError(f"the catalog {name} has {twice!r} twice", "Keep one of the two.")
        return found

    try:
        found = json.loads(data.decode("utf-8-sig"), object_pairs_hook=refuse_repeated)
    except (ValueError, RecursionError) as error:
        raise InputError(f"the catalog {name} is not JSON: {error}", remedy) from error
    return CatalogFile(
        name, folder, {iri: _read_entry(name, iri, value, remedy) for iri, value in found.items()}
    )


def _read_entry(name: str, iri: str, value: Any, remedy: str) -> CatalogEntry:
    """Read the entry of an IRI. Raises: InputError."""
    if isinstance(value, str):
        return CatalogEntry(value)
    if (
        isinstance(value, dict)
        and isinstance(value.get("file"), str)
        and value.keys() <= {"file", "sha256"}
    ):
        return CatalogEntry(value["file"], _checked_hash(name, value.get("sha256", "")))
    raise InputError(
        f"the catalog {name} says of {iri!r} what is not understood: {value!r}", remedy
    )


def _checked_hash(name: str, text: object) -> str:
    """Return a SHA-256 in lower-case hexadecimal digits, after checking it. Raises: InputError."""
    if isinstance(text, str) and (not text or _HASH.fullmatch(text.lower())):
        return text.lower()
    raise InputError(
        f"the catalog {name} has {text!r} for a SHA-256", "It has 64 hexadecimal digits."
    )


def _read_xml_catalog(name: str, folder: Path, data: bytes) -> CatalogFile:
    """Read a catalog in OASIS XML. Raises: InputError."""
    entries: dict[str, CatalogEntry] = {}
    rewrites: list[tuple[str, str]] = []
    bases = [""]
    parser = expat.ParserCreate(namespace_separator=" ")

    def refuse_entity(key: str, *_: object) -> None:
        """Refuse the declaration of an entity. Raises: InputError."""
        raise InputError(f"the catalog {name} declares the entity {key}", "Remove its DOCTYPE.")

    def start_element(tag: str, attributes: dict[str, str]) -> None:
        """Read an entry or a rewrite rule from a start tag. Raises: InputError."""
        bases.append(urljoin(bases[-1], attributes.get(_XML_BASE, "")))
        if len(bases) == 2 and tag != _NAMESPACE + "catalog":
            raise InputError(
                f"{name} is XML, but no catalog: its root element is {tag}",
                f"A catalog begins {_EXAMPLE}.",
            )
        kind = tag.removeprefix(_NAMESPACE)
        if kind in _REFUSED:
            raise InputError(
                f"the catalog {name} uses {kind}, which is not followed here",
                "List the files in one catalog.",
            )
        hashes = [value for key, value in attributes.items() if key.split(" ")[-1] == "sha256"]
        match kind:
            case "uri" | "system":
                key, target = (
                    attributes.get("name" if kind == "uri" else "systemId"),
                    attributes.get("uri"),
                )
                if key is None or target is None:
                    raise InputError(
                        f"the catalog {name}, line {parser.CurrentLineNumber}: {kind} needs two attributes",
                        "",
                    )
                entries.setdefault(
                    key,
                    CatalogEntry(
                        _join_path(bases[-1], target),
                        _checked_hash(name, hashes[0] if hashes else ""),
                    ),
                )
            case "rewriteURI" | "rewriteSystem":
                begin = attributes.get(
                    "uriStartString" if kind == "rewriteURI" else "systemIdStartString"
                )
                target = attributes.get("rewritePrefix")
                if not begin or target is None:
                    raise InputError(
                        f"the catalog {name}, line {parser.CurrentLineNumber}: {kind} needs two attributes",
                        "",
                    )
                rewrites.append((begin, _join_path(bases[-1], target)))

    def end_element(tag: str) -> None:
        """Leave the base IRI of an element."""
        bases.pop()

    parser.EntityDeclHandler = refuse_entity
    parser.StartElementHandler = start_element
    parser.EndElementHandler = end_element
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise InputError(
            f"the catalog {name} is no well-formed XML: {error}", f"A catalog begins {_EXAMPLE}."
        ) from error
    return CatalogFile(name, folder, entries, tuple(sorted(rewrites, key=lambda x: -len(x[0]))))


_EXAMPLE = '<catalog xmlns="urn:oasis:names:tc:entity:xmlns:xml:catalog">'


def _join_path(base: str, target: str) -> str:
    """Resolve the URI reference `target` against `base`, which may be a relative folder."""
    return (
        target
        if not base or _SCHEME.match(target) or target.startswith("/")
        else urljoin(base, target)
    )
