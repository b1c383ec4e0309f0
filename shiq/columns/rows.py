"""The rows that an ABox has in each table of assertions, the numbers of class and property names
there, and the hashes by which terms and literals are ordered and looked up.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from shiq.abox import ABox, Interner, individuals_of
from shiq.columns.arrays import Columns, Ints
from shiq.model import Assertion, Literal

#: Kinds of pairs; + 1 where the node was named second.
SAME, DIFFERENT = 0, 2

#: The columns that say which assertion a row is. All tables are keyed by ``node``; a role is
#: 2·(number of its property), + 1 for the inverse; role assertions and pairs have a row at either
#: end.
ROW_COLUMNS: dict[str, tuple[str, ...]] = {
    "class_assertions": ("node", "class"),
    "half_edges": ("node", "role", "neighbour"),
    "data_assertions": ("node", "property", "literal"),
    "pairs": ("node", "kind", "neighbour"),
    "complex": ("node", "ordinal"),
}

#: The columns, of any table, that hold nodes.
NODES = ("node", "neighbour", "element", "member", "group")


def abox_rows(abox: ABox, node: Ints, literal: Ints) -> dict[str, Columns]:
    """The rows of ``abox`` but for the complex ones; individuals and literals numbered as given,
    names as they are.
    """
    subject, object_ = node[np.asarray(abox.role_subject)], node[np.asarray(abox.role_object)]
    role = np.asarray(abox.role_name) * 2
    same = np.array(abox.same, np.int64).reshape(-1, 2)
    first = node[np.concatenate([same[:, 0], np.asarray(abox.different.first)])]
    second = node[np.concatenate([same[:, 1], np.asarray(abox.different.second)])]
    kind = np.array([SAME, DIFFERENT], np.int64).repeat([len(abox.same), len(abox.different)])
    return {
        "class_assertions": {
            "node": node[np.asarray(abox.class_subject)],
            "class": np.asarray(abox.class_name),
        },
        "half_edges": both_ends(subject, "role", role, object_),
        "data_assertions": {
            "node": node[np.asarray(abox.data_subject)],
            "property": np.asarray(abox.data_name),
            "literal": literal[np.asarray(abox.data_literal)],
        },
        "pairs": both_ends(first, "kind", kind, second),
    }


def both_ends(subject: Ints, name: str, code: Ints, object: Ints) -> Columns:
    """A row from the subject with ``code``, and one from the object with ``code`` + 1."""
    return {
        "node": np.concatenate([subject, object]),
        name: np.concatenate([code, code + 1]),
        "neighbour": np.concatenate([object, subject]),
    }


def complex_rows(
    assertions: Sequence[Assertion], node: Mapping[str, int], first: int = 0
) -> Columns:
    """A row for each individual of each assertion; ordinals from ``first`` on."""
    rows = [
        (node[i], first + k)
        for k, a in enumerate(assertions)
        for i in dict.fromkeys(individuals_of(a))
    ]
    found = np.array(rows, np.int64).reshape(-1, 2)
    return {"node": found[:, 0], "ordinal": found[:, 1]}


def positions_of(abox: ABox) -> dict[str, int]:
    """Each individual of ``abox`` by its term; empty where no complex assertion asks for it."""
    return {term: i for i, term in enumerate(abox.individuals)} if abox.complex else {}


def mentioned(abox: ABox) -> Ints:
    """The positions of the individuals that some assertion of ``abox`` mentions, ascending."""
    where = positions_of(abox)
    used = np.zeros(len(abox.individuals), np.bool_)
    unequal = abox.different
    for column in (
        abox.class_subject,
        abox.role_subject,
        abox.role_object,
        abox.data_subject,
        unequal.first,
        unequal.second,
    ):
        used[np.asarray(column)] = True
    for pair in abox.same:
        used[list(pair)] = True
    for assertion in abox.complex:
        used[[where[i] for i in individuals_of(assertion)]] = True
    return used.nonzero()[0]


@dataclass
class Names:
    """Class and property names by number; a role is 2·(number of its property), + 1 for the
    inverse.
    """

    classes: Interner[str] = field(default_factory=Interner)
    object_properties: Interner[str] = field(default_factory=Interner)
    data_properties: Interner[str] = field(default_factory=Interner)

    def sizes(self) -> tuple[int, ...]:
        return len(self.classes), len(self.object_properties), len(self.data_properties)

    def values(self) -> tuple[list[str], ...]:
        return self.classes.values, self.object_properties.values, self.data_properties.values

    def copy(self) -> Names:
        return Names(
            self.classes.copy(), self.object_properties.copy(), self.data_properties.copy()
        )


#: Bits of what a store finds terms by, and of what tells literals apart before their texts are
#: read. What is found so is compared by its text: fewer bits cost a few comparisons, more bits
#: cannot be compressed.
TERM_BITS, LITERAL_BITS = 40, 16


def term_hash(terms: Iterable[str]) -> Ints:
    """The first 64 bits of the BLAKE2b digest of each term, as signed little-endian integers."""
    blake2b = hashlib.blake2b
    return np.frombuffer(
        b"".join([blake2b(term.encode(), digest_size=8).digest() for term in terms]), "<i8"
    ).astype(np.int64)


def term_key(terms: Iterable[str], bits: int = TERM_BITS) -> Ints:
    """Hash each term to a signed integer of so many ``bits``: the highest of `term_hash`."""
    return term_hash(terms) >> (64 - bits)


def literal_hash(literals: Iterable[Literal]) -> Ints:
    """`term_hash` of the `literal_text` of each."""
    return term_hash(map(literal_text, literals))


def literal_key(literals: Iterable[Literal]) -> Ints:
    """`term_key` of the `literal_text` of each, of `LITERAL_BITS`."""
    return term_key(map(literal_text, literals), LITERAL_BITS)


def literal_text(literal: Literal) -> str:
    """Lexical form, datatype and language, with U+0000 between them: what literals are ordered
    and hashed by.
    """
    return f"{literal.lexical}\0{literal.datatype}\0{literal.language}"
