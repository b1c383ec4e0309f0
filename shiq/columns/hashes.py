"""Hashes of terms and literals: by them tables are ordered and looked up."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np

from shiq.columns.arrays import Ints
from shiq.model import Literal


def term_hash(terms: Iterable[str]) -> Ints:
    """The first 64 bits of the BLAKE2b digest of each term, as signed little-endian integers."""
    blake2b = hashlib.blake2b
    return np.frombuffer(b"".join([blake2b(term.encode(), digest_size=8).digest() for term in terms]), "<i8").astype(np.int64)


def literal_hash(literals: Iterable[Literal]) -> Ints:
    """`term_hash` of the `literal_text` of each."""
    return term_hash(map(literal_text, literals))


def literal_text(literal: Literal) -> str:
    """Lexical form, datatype and language, with U+0000 between them: what literals are ordered and hashed by."""
    return f"{literal.lexical}\0{literal.datatype}\0{literal.language}"
