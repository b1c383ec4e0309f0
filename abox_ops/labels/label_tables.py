"""Labels and complex assertions as rows and texts in the tables of a store."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

import numpy as np

from shiq.abox_ops.labels.label_calculus import EMPTY, Label
from shiq.columns.arrays import Columns, Ints, arrow_texts, unique
from shiq.model import Assertion
from shiq.model.as_json import encode
from shiq.model.clause import ClausalTBox


def number_used_labels(labels: Sequence[Label], used: Ints) -> tuple[list[Label], Ints]:
    """Select the labels with the ids ``used`` and the empty one, sorted, and renumber them.

    Returns: the labels, and the new number of each of ``labels`` (-1: none).
    """
    kept = sorted({EMPTY, *(labels[i] for i in unique(used).tolist())})
    place = {label: i for i, label in enumerate(kept)}
    return kept, np.fromiter((place.get(label, -1) for label in labels), np.int64, len(labels))


def label_rows(labels: Sequence[Label]) -> Columns:
    """Convert labels to the columns of the table ``labels``."""
    return {
        "label": np.arange(len(labels), dtype=np.int64),
        "positive": arrow_texts([f"{label[0]:x}" for label in labels]),
        "negative": arrow_texts([f"{label[1]:x}" for label in labels]),
    }


def read_labels(rows: Columns) -> list[Label]:
    """Read the labels, in order of their ids, from the table ``labels``."""
    positive, negative = (rows[name].to_pylist() for name in ("positive", "negative"))
    return [(int(p, 16), int(n, 16)) for p, n in zip(positive, negative)]


def clauses_hash(tbox: ClausalTBox) -> str:
    """Hash the atoms and clauses that the labels of an index depend on."""
    return hashlib.sha256(
        repr(
            (
                tbox.atoms,
                [
                    (c.body, c.head, c.role, c.branch_body, c.branch_head, c.at_most)
                    for c in tbox.clauses
                ],
            )
        ).encode()
    ).hexdigest()


def complex_text(assertion: Assertion) -> str:
    """Write a complex assertion as the table ``complex`` holds it."""
    return json.dumps(encode(assertion), ensure_ascii=False)
