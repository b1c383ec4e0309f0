"""Catalogs: which file stands for an IRI that is imported, or that a JSON-LD document takes its context from.

Nothing is ever fetched. A catalog is XML, as Protégé and ROBOT write it (``catalog-v001.xml``, OASIS XML Catalogs), or JSON:
``{"http://example.org/onto": "onto.owl"}``, or ``{"file": "onto.owl", "sha256": "…"}`` in the place of a name. Its files are in
the catalog's folder or below, wherever links lead.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit
from xml.parsers import expat

from shiq.errors import InputError
from shiq.formats import EXTENSIONS
from shiq.limits import limits

_NAMESPACE = "urn:oasis:names:tc:entity:xmlns:xml:catalog "
_XML_BASE = "http://www.w3.org/XML/1998/namespace base"
#: What would lead to other catalogs, or that no import goes by.
_REFUSED = frozenset({"nextCatalog", "delegateURI", "delegateSystem", "delegatePublic", "uriSuffix", "systemSuffix"})
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+:")
_HASH = re.compile(r"[0-9a-f]{64}")
#: No catalog is larger.
_MOST_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """``target``: the file, relative to the catalog's folder, as the catalog has it; ``sha256``: of its bytes, "" for any."""

    target: str
    sha256: str = ""


@dataclass(frozen=True)
class Catalog:
    """``entries`` by IRI; ``rewrites``: (how an IRI begins, how its file's path begins), longest first."""

    name: str
    folder: Path
    entries: Mapping[str, CatalogEntry] = field(default_factory=dict)
    rewrites: tuple[tuple[str, str], ...] = ()

    def find(self, iri: str) -> Path | None:
        """The file for ``iri``; None where the catalog has none.

        Raises: InputError for a file outside of the catalog's folder, that is missing, too large, or not the one meant.
        """
        entry = self.entries.get(iri) or self.entries.get(iri.removesuffix("#")) or self.entries.get(f"{iri}#")
        if entry is None:
            begin = next(((start, path) for start, path in self.rewrites if iri.startswith(start)), None)
            if begin is None:
                return None
            entry = CatalogEntry(begin[1] + iri[len(begin[0]) :])
        return self._checked(iri, entry)

    def leads_to(self, path: Path) -> bool:
        """Whether an ontology may be imported from ``path``: a file that an entry has, or, as its extension says, a rewrite."""
        place, rdf = path.resolve(), path.suffix.lower() in (".owl", ".rdf", ".xml", *EXTENSIONS)
        with suppress(InputError):
            below = (self._path(iri, target) for iri, target in self.rewrites) if rdf else ()
            return any(place == self._path(iri, entry.target) for iri, entry in self.entries.items()) or any(
                place.is_relative_to(folder) for folder in below
            )
        return False

    def _checked(self, iri: str, entry: CatalogEntry) -> Path:
        path = self._path(iri, entry.target)
        try:
            if not path.is_file():
                raise self._error(iri, f"{entry.target}, which is no file", "Correct the catalog, or put the file there.")
            if path.stat().st_size > limits().document:
                raise self._error(
                    iri,
                    f"{entry.target}, which is too large for an import ({path.stat().st_size:,} bytes)",
                    "Give it as a source of its own, or raise SHIQ_MAX_DOCUMENT.",
                )
            if entry.sha256 and hashlib.sha256(path.read_bytes()).hexdigest() != entry.sha256:
                raise self._error(
                    iri, f"{entry.target}, which is another file by now: its SHA-256 differs", "Look at it, then renew the hash."
                )
        except (OSError, ValueError) as error:
            raise self._error(iri, f"{entry.target}, which cannot be read ({error})", "Check the file.") from error
        return path

    def shown(self, path: Path) -> str:
        """A file that was found, as whoever named the catalog would name it: relative where the catalog's name is."""
        given = Path(self.name).parent / path.relative_to(self.folder.resolve())
        return str(given if given.resolve() == path else path)

    def _path(self, iri: str, target: str) -> Path:
        text = target
        if text.lower().startswith("file:"):
            text = unquote(urlsplit(text).path)
        elif _DRIVE.match(text):
            text = text.replace("\\", "/")
        elif _SCHEME.match(text):
            raise self._error(iri, f"{target}, and nothing is fetched", "Download it, and put the file's name there.")
        try:
            root = self.folder.resolve()
            for candidate in dict.fromkeys((root / text, root / unquote(text))):
                path = candidate.resolve()
                if not path.is_relative_to(root):
                    raise self._error(iri, f"{target}, outside of the catalog's folder", "Keep imports in that folder, or below.")
                if path.exists():
                    return path
        except (OSError, ValueError, RuntimeError) as error:
            raise self._error(iri, f"{target!r}, which is no path ({error})", "Correct the catalog.") from error
        return root / text

    def _error(self, iri: str, what: str, remedy: str) -> InputError:
        return InputError(f"{self.name}: <{iri}> stands for {what}", remedy)


def read_catalog(path: str | os.PathLike[str]) -> Catalog:
    """The catalog at ``path``. Raises: InputError for one that is missing or says what is not understood here."""
    name = os.fsdecode(os.fspath(path))
    try:
        with open(name, "rb") as stream:
            data = stream.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise InputError(f"the catalog {name} cannot be read ({error})", "Check the path.") from error
    if len(data) > _MOST_BYTES:
        raise InputError(f"the catalog {name} has over {_MOST_BYTES >> 20} MB", "Is it the right file?")
    folder = Path(name).absolute().parent
    is_json = data.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")
    return _json(name, folder, data) if is_json else _xml(name, folder, data)


def _json(name: str, folder: Path, data: bytes) -> Catalog:
    remedy = 'Write {"http://example.org/onto": "onto.owl"}, or {"file": "onto.owl", "sha256": "…"} for the name.'

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            twice = next(key for at, (key, _) in enumerate(pairs) if key in dict(pairs[:at]))
            raise InputError(f"the catalog {name} has {twice!r} twice", "Keep one of the two.")
        return found

    try:
        found = json.loads(data.decode("utf-8-sig"), object_pairs_hook=distinct)
    except (ValueError, RecursionError) as error:
        raise InputError(f"the catalog {name} is not JSON: {error}", remedy) from error
    return Catalog(name, folder, {iri: _entry(name, iri, value, remedy) for iri, value in found.items()})


def _entry(name: str, iri: str, value: Any, remedy: str) -> CatalogEntry:
    if isinstance(value, str):
        return CatalogEntry(value)
    if isinstance(value, dict) and isinstance(value.get("file"), str) and value.keys() <= {"file", "sha256"}:
        return CatalogEntry(value["file"], _hash(name, value.get("sha256", "")))
    raise InputError(f"the catalog {name} says of {iri!r} what is not understood: {value!r}", remedy)


def _hash(name: str, text: object) -> str:
    if isinstance(text, str) and (not text or _HASH.fullmatch(text.lower())):
        return text.lower()
    raise InputError(f"the catalog {name} has {text!r} for a SHA-256", "It has 64 hexadecimal digits.")


def _xml(name: str, folder: Path, data: bytes) -> Catalog:
    entries: dict[str, CatalogEntry] = {}
    rewrites: list[tuple[str, str]] = []
    bases = [""]
    parser = expat.ParserCreate(namespace_separator=" ")

    def entity(key: str, *_: object) -> None:
        raise InputError(f"the catalog {name} declares the entity {key}", "Remove its DOCTYPE.")

    def start(tag: str, attributes: dict[str, str]) -> None:
        bases.append(urljoin(bases[-1], attributes.get(_XML_BASE, "")))
        if len(bases) == 2 and tag != _NAMESPACE + "catalog":
            raise InputError(f"{name} is XML, but no catalog: its root element is {tag}", f"A catalog begins {_EXAMPLE}.")
        kind = tag.removeprefix(_NAMESPACE)
        if kind in _REFUSED:
            raise InputError(f"the catalog {name} uses {kind}, which is not followed here", "List the files in one catalog.")
        hashes = [value for key, value in attributes.items() if key.split(" ")[-1] == "sha256"]
        match kind:
            case "uri" | "system":
                key, target = attributes.get("name" if kind == "uri" else "systemId"), attributes.get("uri")
                if key is None or target is None:
                    raise InputError(f"the catalog {name}, line {parser.CurrentLineNumber}: {kind} needs two attributes", "")
                entries.setdefault(key, CatalogEntry(_joined(bases[-1], target), _hash(name, hashes[0] if hashes else "")))
            case "rewriteURI" | "rewriteSystem":
                begin = attributes.get("uriStartString" if kind == "rewriteURI" else "systemIdStartString")
                target = attributes.get("rewritePrefix")
                if not begin or target is None:
                    raise InputError(f"the catalog {name}, line {parser.CurrentLineNumber}: {kind} needs two attributes", "")
                rewrites.append((begin, _joined(bases[-1], target)))

    def end(tag: str) -> None:
        bases.pop()

    parser.EntityDeclHandler = entity
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise InputError(f"the catalog {name} is no well-formed XML: {error}", f"A catalog begins {_EXAMPLE}.") from error
    return Catalog(name, folder, entries, tuple(sorted(rewrites, key=lambda x: -len(x[0]))))


_EXAMPLE = '<catalog xmlns="urn:oasis:names:tc:entity:xmlns:xml:catalog">'


def _joined(base: str, target: str) -> str:
    """``target`` below ``base``, which may be a relative folder."""
    return target if not base or _SCHEME.match(target) or target.startswith("/") else urljoin(base, target)
