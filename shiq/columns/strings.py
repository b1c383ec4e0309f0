"""Fast test for literals that are legal values of xsd:string, in bulk."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]

from shiq.columns.arrays import Column, letters_of
from shiq.model import XSD, Literal

STRING = XSD + "string"
# What XML 1.1 allows in no text.
_ODD = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ODD_BYTE = (np.arange(0x100) < 0x20) & ~np.isin(np.arange(0x100), list(b"\t\n\r"))


def are_strings(literals: Sequence[Literal]) -> npt.NDArray[np.bool_]:
    """Boolean mask of the ``literals`` that are legal xsd:string values.

    If any literal has an illegal character, the mask is all False and each literal has to be tested
    by itself.
    """
    plain = np.fromiter(
        (v.datatype == STRING and not v.language for v in literals), np.bool_, len(literals)
    )
    if _ODD.search("".join([literals[i].lexical for i in np.flatnonzero(plain).tolist()])):
        plain[:] = False
    return plain


def are_strings_in(lexical: Column, datatype: Column, language: Column) -> npt.NDArray[np.bool_]:
    """Boolean mask as of `are_strings`, for literals whose parts are columns of texts."""
    plain = _equals(datatype, STRING.encode()) & _equals(language, b"")
    letters, _ = letters_of(lexical)
    if _ODD_BYTE[letters].any() or (
        (letters >= 0x80).any() and _ODD.search(letters.tobytes().decode())
    ):
        plain[:] = False
    return plain


def _equals(texts: pa.Array, text: bytes) -> npt.NDArray[np.bool_]:
    """Boolean mask of the ``texts`` equal to ``text``."""
    letters, ends = letters_of(texts)
    found: npt.NDArray[np.bool_] = np.diff(ends) == len(text)
    if text and found.any():
        at = np.add.outer(ends[:-1][found], np.arange(len(text)))
        found[found] = (letters[at] == np.frombuffer(text, np.uint8)).all(axis=1)
    return found
