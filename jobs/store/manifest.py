"""The manifest of a store: one small JSON file that names the snapshot, replaced as a whole.

Everything else is written before it and never changed afterwards, so that a crash at any moment
leaves the snapshot that the manifest names: the old one, or the new one, never a mixture.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from jobs.store.files import DAMAGED, DataFile, placed
from shiq.errors import BUILD_ANEW, StoreError
from shiq.model import TBox
from shiq.model_json import encode
from shiq.remote.place import Place
from shiq.verdict import Verdict

MANIFEST = "store.json"
#: A manifest that is being written.
UNFINISHED = MANIFEST + ".tmp"
FORMAT = "shiq-store"
#: The version that is read and written, and those of which `shiq export` and `shiq index
#: --from-store` read what A and T are, by Parquet files and documents. Version 2 has no look-up
#: files, 3 no digests but of documents, 4 no keys by which files are found, nor ranges; up to 6 a
#: commit writes a file for each table.
VERSION, OLDER = 7, (2, 3, 4, 5, 6)
#: From this version on, a manifest has a digest of itself, "" in those before.
_SEALED = 4
TABLES = "tables"
#: The folder of the look-up files, one for each data file (`jobs.store.lookup`).
LOOKUPS = "lookup"
#: The document of what belongs to the data and is set aside (`shiq.aside`).
ASIDE = "aside"
#: The folder of the documents.
DOCUMENTS = "documents"
#: The fact that says by feed which of its batches was taken in last.
TAKEN = "taken"
#: The documents of what was left out of the data when it was read, each with a number behind; and
#: what the facts say of it.
LEFT_OUT = "left-out"
#: The folder of the files that name rows which are no longer valid, in older versions.
REMOVED = "removed"
#: The document of the labels of the TBox's terms; not every store has it.
TERM_LABELS = "term-labels"


@dataclass(frozen=True, slots=True)
class Certificate:
    """Record that a snapshot was decided: by which ``reasoner``, when (ISO 8601), with which
    ``verdict`` and why, which kinds of ``leftovers`` there were, how many of each (``counts``),
    and which of them were ``allowed``: checks do not ask about these again. ``known``: the kinds
    that somebody answered for then.

    It speaks of one TBox (``tbox_hash``) and one ``snapshot`` and of nothing else; "" and 0
    stand for those of the store that it is given to, which fills them in. Only a CONSISTENT one
    makes the store a base for checks.
    """

    verdict: Verdict
    reasoner: str
    date: str
    reason: str = ""
    leftovers: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    tbox_hash: str = ""
    snapshot: int = 0
    counts: Mapping[str, int] = field(default_factory=dict, hash=False)
    known: tuple[str, ...] = ()

    @staticmethod
    def now(
        *,
        verdict: Verdict | str,
        reasoner: str,
        reason: str = "",
        allowed: Iterable[str] = (),
        known: Iterable[str] = (),
    ) -> Certificate:
        """A certificate of this moment, for the store that it will be given to."""
        date = datetime.now(timezone.utc).isoformat(timespec="seconds")
        return Certificate(
            Verdict(verdict), reasoner, date, reason, allowed=tuple(allowed), known=tuple(known)
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            **asdict(self),
            "verdict": self.verdict.value,
            "leftovers": list(self.leftovers),
            "allowed": list(self.allowed),
            "known": list(self.known),
        }

    @staticmethod
    def from_dict(value: Mapping[str, Any]) -> Certificate:
        tuples = {name: tuple(value.get(name, ())) for name in ("leftovers", "allowed", "known")}
        return Certificate(**{**value, **tuples, "verdict": Verdict(value["verdict"])})


@dataclass(frozen=True, slots=True)
class TableVersion:
    """A table of a snapshot: the files that it consists of, and a file that names the rows in
    them that are no longer valid. The first ``ranges`` of the files follow one another by their
    keys; those behind them are small, came with commits and lie anywhere.
    """

    files: tuple[DataFile, ...]
    removed: DataFile | None = None
    ranges: int = 1

    @property
    def all_files(self) -> tuple[DataFile, ...]:
        return self.files if self.removed is None else (*self.files, self.removed)


@dataclass(frozen=True)
class Manifest:
    """Content of a snapshot: ``tables`` by name; ``documents``: the TBox and the leftovers;
    ``facts``: counts that need no table to be opened; ``identity``: of the building of the
    store, which its snapshots share; ``before``: the manifest of the snapshot before, where it
    is kept (`jobs.store.snapshots`); ``stamp``: by which the place has the manifest that this
    one is, or is written after (`shiq.remote.bucket`), "" where there is none.
    """

    snapshot: int
    created: str
    assertions: int
    tbox_hash: str
    tables: Mapping[str, TableVersion]
    documents: Mapping[str, DataFile]
    certificate: Certificate | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    identity: str = ""
    before: DataFile | None = None
    stamp: str = field(default="", compare=False)

    @property
    def taken(self) -> Mapping[str, int]:
        """The number of the last batch that was taken in, by feed, of those that told it."""
        found: Mapping[str, int] = self.facts.get(TAKEN, {})
        return found

    def taken_with(self, taken: Mapping[str, int]) -> Mapping[str, int]:
        """``taken`` beside what was taken in before; of each feed the greater number, so that
        one is never told back.
        """
        return {
            **self.taken,
            **{feed: max(number, self.taken.get(feed, number)) for feed, number in taken.items()},
        }

    @property
    def range_size(self) -> int | None:
        """How many individuals a range of its tables has, where that is known."""
        return self.facts.get("range_size")


def tbox_hash(tbox: TBox) -> str:
    """What identifies a TBox: its axioms in order (the numbering of clauses and atoms rests on
    it) and its vocabulary.
    """
    tbox = replace(tbox, signature=replace(tbox.signature, declared=frozenset()))
    text = json.dumps(encode(tbox), ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


#: What stands in the JSON of a manifest as it is.
_PLAIN = ("identity", "snapshot", "created", "assertions", "tbox_hash")


def manifest_json(manifest: Manifest) -> dict[str, Any]:
    """``manifest`` as JSON; `manifest_of` reads it."""
    return {
        "format": FORMAT,
        "version": VERSION,
        **{name: getattr(manifest, name) for name in _PLAIN},
        "certificate": manifest.certificate.to_dict() if manifest.certificate else None,
        "tables": {
            name: {
                "files": [_file_json(file) for file in table.files],
                "ranges": table.ranges,
                **({"removed": _file_json(table.removed)} if table.removed else {}),
            }
            for name, table in manifest.tables.items()
        },
        "documents": {name: _file_json(file) for name, file in manifest.documents.items()},
        "facts": dict(manifest.facts),
        **({"before": _file_json(manifest.before)} if manifest.before else {}),
    }


def write_manifest(store: Place, manifest: Manifest) -> None:
    """Puts ``manifest`` in the place of the old one, in one step, durably, with a digest of itself.

    Raises: StoreError where nobody holds a lock and another is there than the one with its stamp.
    """
    text = json.dumps({"sha256": "", **manifest_json(manifest)}, indent=1)
    text = text.replace(_SHA256.format(""), _SHA256.format(_digest(text)), 1)
    if not isinstance(store, Path):
        store.exchange(MANIFEST, text, manifest.stamp)
        return
    with placed(store, MANIFEST, store / UNFINISHED) as temporary:
        temporary.write_text(text, encoding="utf-8")


#: The digest of a manifest, as it stands in it; it is taken with an empty one.
_SHA256 = '"sha256": "{}"'


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def read_manifest(store: Place, *, older: bool = False) -> Manifest:
    """The manifest of the store at ``store``. ``older``: of one of an older version too.

    Raises: StoreError if there is no store, it was never finished, or it is of another format or
    version.
    """
    try:
        text, stamp = _local_text(store) if isinstance(store, Path) else store.read(MANIFEST)
        value = json.loads(text)
        if value["format"] != FORMAT:
            raise ValueError(value["format"])
    except FileNotFoundError as error:
        raise StoreError(
            f"{store}: there is no store here",
            "Build one with `shiq index --tbox T --store DIR ABOX…`.",
            store,
        ) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"{store / MANIFEST}: not the manifest of a store ({error!r})",
            f"Build the store again: {BUILD_ANEW}.",
            store,
        ) from error
    version = value.get("version")
    if version in OLDER and not older:
        raise StoreError(
            f"{store}: the store has format version {version}, which no command but export and index --from-store reads",
            f"Make one of the present version of it: shiq index --from-store {store} --store {store}.new",
            store,
        )
    if version not in (VERSION, *OLDER):
        raise StoreError(
            f"{store}: the store has format version {version}, this program reads {VERSION}",
            f"Build it again ({BUILD_ANEW}), or use the program that wrote it.",
            store,
        )
    try:
        told = value.get("sha256", "")
        if (
            value["version"] >= _SEALED
            and _digest(text.replace(_SHA256.format(told), _SHA256.format(""), 1)) != told
        ):
            raise ValueError("it is not as it was written")
        return manifest_of(value, stamp)
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"{store / MANIFEST}: the manifest is damaged ({error})", DAMAGED, store
        ) from error


def _local_text(store: Path) -> tuple[str, str]:
    file = store / MANIFEST
    if not store.exists():
        raise FileNotFoundError
    if not store.is_dir():
        raise StoreError(
            f"{store}: not a store but a file",
            "Name the directory that `shiq index --store` wrote.",
        )
    if not file.exists():
        if (store / TABLES).exists():
            raise StoreError(
                f"{store}: the store was never finished",
                "Build it again: `shiq index --tbox T --store DIR ABOX…`; what is there is overwritten.",
                store,
            )
        raise StoreError(
            f"{store}: not a store, it has no {MANIFEST}",
            "Name the directory that `shiq index --store` wrote.",
        )
    return file.read_text(encoding="utf-8"), ""


def manifest_of(value: Mapping[str, Any], stamp: str = "") -> Manifest:
    """The manifest that ``value`` is the JSON of; the place has it by a ``stamp``. Of an older
    version, look-up files are passed over. Raises: ValueError, KeyError, TypeError for anything
    else.
    """
    passed_over = {"lookup": 0, "lookup_digest": ""} if value["version"] in OLDER else {}
    return Manifest(
        **{name: value[name] for name in _PLAIN},
        tables={
            name: TableVersion(
                tuple(DataFile(**file | passed_over) for file in table["files"]),
                DataFile(**table["removed"]) if "removed" in table else None,
                table.get("ranges", 1),
            )
            for name, table in value["tables"].items()
        },
        documents={name: DataFile(**file) for name, file in value["documents"].items()},
        certificate=Certificate.from_dict(value["certificate"]) if value["certificate"] else None,
        facts=value["facts"],
        before=DataFile(**value["before"]) if "before" in value else None,
        stamp=stamp,
    )


def _file_json(file: DataFile) -> dict[str, Any]:
    return {
        field.name: value
        for field in fields(file)
        if (value := getattr(file, field.name)) != field.default
    }
