"""Keep the lines, triples and assertions that were not understood, and so are in no table of a
store, in documents of the store.
"""

from __future__ import annotations

import gzip
import shutil
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from shiq.answers.verdict import Leftover
from shiq.inputs.reading import count_unrecorded, decode_leftover, encode_leftover
from shiq.jobs.store.files import DataFile, describe_file, stage_file, verify
from shiq.jobs.store.manifest import DOCUMENTS, LEFT_OUT, Manifest
from shiq.remote.place import StoreLocation, local_file

#: More files than this are written as one.
_MOST_FILES = 32


def add_left_out(
    store: StoreLocation, old: Manifest | None, left: Iterable[Leftover]
) -> tuple[dict[str, DataFile], dict[str, Any]]:
    """Write statements that were not understood as a new document, beside those of the snapshot
    ``old``.

    Returns: the documents, and the manifest's facts about them: counts by kind, and how many are
    not recorded in full.
    """
    files = _left_out_files(old.documents) if old else []
    told = dict(old.facts.get(LEFT_OUT, {})) if old else {}
    counts, missing = Counter[str](told.get("counts", {})), told.get("unkept", 0)
    name, rows = f"{DOCUMENTS}/{LEFT_OUT}-{uuid.uuid4().hex}.jsonl.gz", 0
    left = iter(left)
    for first in left:
        with (
            stage_file(store, name) as temporary,
            gzip.open(temporary, "wb", compresslevel=6) as file,
        ):
            for leftover in chain([first], left):
                file.write(encode_leftover(leftover))
                counts[leftover.kind] += leftover.number
                missing += count_unrecorded(leftover)
                rows += 1
        files.append(describe_file(store, name, rows))
    if len(files) > _MOST_FILES:
        files = [_concatenate(store, files)]
    return _left_out_documents(files), {
        LEFT_OUT: {"counts": dict(sorted(counts.items())), "unkept": missing}
    } if files else {}


def compact_left_out(
    store: StoreLocation, documents: Mapping[str, DataFile]
) -> dict[str, DataFile]:
    """Join the documents of left-out statements into one. Returns all documents of the snapshot."""
    files = _left_out_files(documents)
    others = {name: file for name, file in documents.items() if file not in files}
    return {
        **others,
        **_left_out_documents([_concatenate(store, files)] if len(files) > 1 else files),
    }


def read_left_out(store: StoreLocation, documents: Mapping[str, DataFile]) -> Iterator[Leftover]:
    """Iterate over the left-out statements in ``documents``. Raises: StoreError for damaged files."""
    for file in _left_out_files(documents):
        verify(store, file)
        with gzip.open(local_file(store, file.path)) as lines:
            yield from map(decode_leftover, lines)


def _left_out_files(documents: Mapping[str, DataFile]) -> list[DataFile]:
    """Select from the ``documents`` of a manifest the files of left-out statements (those not
    understood), in the order in which they were written.
    """
    numbers = sorted(
        int(name.rpartition("-")[2]) for name in documents if name.startswith(f"{LEFT_OUT}-")
    )
    return [documents[f"{LEFT_OUT}-{number}"] for number in numbers]


def _left_out_documents(files: Iterable[DataFile]) -> dict[str, DataFile]:
    """Number ``files`` of left-out statements as documents of a manifest."""
    return {f"{LEFT_OUT}-{number}": file for number, file in enumerate(files)}


def _concatenate(store: StoreLocation, files: list[DataFile]) -> DataFile:
    """Join ``files`` into one; concatenated gzip files unpack as one."""
    name = f"{DOCUMENTS}/{LEFT_OUT}-{uuid.uuid4().hex}.jsonl.gz"
    with stage_file(store, name) as temporary, temporary.open("wb") as whole:
        for file in files:
            verify(store, file)
            with local_file(store, file.path).open("rb") as part:
                shutil.copyfileobj(part, whole)
    return describe_file(store, name, sum(file.rows for file in files))
