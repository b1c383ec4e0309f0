"""Tables of the assertions of an ABox: their rows, numbers of names, hashes of terms, and selection
by name.
"""

from __future__ import annotations

import hashlib
import re
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]

from shiq.columns.arrays import Column, Columns, Ints, text_bytes, unique
from shiq.model import XSD, Assertion, Literal
from shiq.model.abox import (
    ABox,
    ClassRows,
    DataRows,
    Interner,
    RoleRows,
    abox_of,
    individuals_of,
    int_array,
)

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
    """Make the table rows of all assertions of ``abox``, except complex ones (on class expressions,
    negative), by table name.

    Names stay texts; ``node`` and ``literal`` give the numbers of individuals and literals.
    """
    subject, object_ = (
        node[np.asarray(abox.role_rows.subject)],
        node[np.asarray(abox.role_rows.object)],
    )
    role = np.asarray(abox.role_rows.name) * 2
    same = np.array(abox.same, np.int64).reshape(-1, 2)
    first = node[np.concatenate([same[:, 0], np.asarray(abox.different.first)])]
    second = node[np.concatenate([same[:, 1], np.asarray(abox.different.second)])]
    kind = np.array([SAME, DIFFERENT], np.int64).repeat([len(abox.same), len(abox.different)])
    return {
        "class_assertions": {
            "node": node[np.asarray(abox.class_rows.subject)],
            "class": np.asarray(abox.class_rows.name),
        },
        "half_edges": half_edge_rows(subject, "role", role, object_),
        "data_assertions": {
            "node": node[np.asarray(abox.data_rows.subject)],
            "property": np.asarray(abox.data_rows.name),
            "literal": literal[np.asarray(abox.data_rows.literal)],
        },
        "pairs": half_edge_rows(first, "kind", kind, second),
    }


def assertion_count(tables: Mapping[str, Mapping[str, Column]]) -> int:
    """Count the assertions whose rows are in ``tables``, given by table name."""
    sizes = {name: len(columns["node"]) for name, columns in tables.items()}
    halves = sizes["half_edges"] + sizes["pairs"]
    complex_ = len(unique(tables["complex"]["ordinal"]))
    return sizes["class_assertions"] + sizes["data_assertions"] + halves // 2 + complex_


def half_edge_rows(subject: Ints, name: str, code: Ints, object: Ints) -> Columns:
    """Make the half edges of role assertions: a row at the subject with the role's ``code``, one at
    the object with ``code`` + 1.
    """
    return {
        "node": np.concatenate([subject, object]),
        name: np.concatenate([code, code + 1]),
        "neighbour": np.concatenate([object, subject]),
    }


def complex_rows(
    assertions: Sequence[Assertion], node: Mapping[str, int], first: int = 0
) -> Columns:
    """Make the rows of complex assertions: one for each individual in each assertion. Ordinals
    begin at ``first``.
    """
    rows = [
        (node[i], first + k)
        for k, a in enumerate(assertions)
        for i in dict.fromkeys(individuals_of(a))
    ]
    found = np.array(rows, np.int64).reshape(-1, 2)
    return {"node": found[:, 0], "ordinal": found[:, 1]}


def individual_positions(abox: ABox) -> dict[str, int]:
    """Map each individual of ``abox`` to its position. Empty if ``abox`` has no complex assertion,
    since only these need it.
    """
    return {term: i for i, term in enumerate(abox.individuals)} if abox.complex else {}


def used_individuals(abox: ABox) -> Ints:
    """Return the positions of the individuals that occur in assertions of ``abox``, ascending."""
    where = individual_positions(abox)
    used = np.zeros(len(abox.individuals), np.bool_)
    unequal = abox.different
    for column in (
        abox.class_rows.subject,
        abox.role_rows.subject,
        abox.role_rows.object,
        abox.data_rows.subject,
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
class NameNumbering:
    """Numbering of class and property names. A role's number is twice its property's, plus 1 for
    the inverse.
    """

    classes: Interner[str] = field(default_factory=Interner)
    object_properties: Interner[str] = field(default_factory=Interner)
    data_properties: Interner[str] = field(default_factory=Interner)

    def counts(self) -> tuple[int, ...]:
        """Return the numbers of classes, object properties and data properties."""
        return len(self.classes), len(self.object_properties), len(self.data_properties)

    def texts(self) -> tuple[list[str], ...]:
        """Return the names of classes, object properties and data properties, by number."""
        return self.classes.values, self.object_properties.values, self.data_properties.values

    def copy(self) -> NameNumbering:
        """Copy the numbering, so that the copy can grow by itself."""
        return NameNumbering(
            self.classes.copy(), self.object_properties.copy(), self.data_properties.copy()
        )


#: Bits of what a store finds terms by, and of what tells literals apart before their texts are
#: read. What is found so is compared by its text: fewer bits cost a few comparisons, more bits
#: cannot be compressed.
TERM_BITS, LITERAL_BITS = 40, 16


def term_hash(terms: Iterable[str]) -> Ints:
    """Hash each term to the first 64 bits of its BLAKE2b digest, as signed little-endian int64."""
    blake2b = hashlib.blake2b
    return np.frombuffer(
        b"".join([blake2b(term.encode(), digest_size=8).digest() for term in terms]), "<i8"
    ).astype(np.int64)


def term_key(terms: Iterable[str], bits: int = TERM_BITS) -> Ints:
    """Hash each term to a signed integer of ``bits`` bits: the highest bits of `term_hash`."""
    return term_hash(terms) >> (64 - bits)


def literal_hash(literals: Iterable[Literal]) -> Ints:
    """Hash the `literal_text` of each literal with `term_hash`."""
    return term_hash(map(literal_text, literals))


def literal_key(literals: Iterable[Literal]) -> Ints:
    """Hash the `literal_text` of each literal to `LITERAL_BITS` with `term_key`."""
    return term_key(map(literal_text, literals), LITERAL_BITS)


def literal_text(literal: Literal) -> str:
    """Return the text by which a literal is ordered and hashed: lexical form, datatype, language,
    separated by U+0000.
    """
    return f"{literal.lexical}\0{literal.datatype}\0{literal.language}"


STRING = XSD + "string"
# What XML 1.1 allows in no text.
_ODD = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ODD_BYTE = (np.arange(0x100) < 0x20) & ~np.isin(np.arange(0x100), list(b"\t\n\r"))


def are_strings(literals: Sequence[Literal]) -> npt.NDArray[np.bool_]:
    """Return a boolean mask: True for the ``literals`` that are legal values of xsd:string.

    If any literal has an illegal character, the mask is all False and each literal has to be tested
    by itself.
    """
    plain = np.fromiter(
        (v.datatype == STRING and not v.language for v in literals), np.bool_, len(literals)
    )
    if _ODD.search("".join([literals[i].lexical for i in np.flatnonzero(plain).tolist()])):
        plain[:] = False
    return plain


def are_string_columns(
    lexical: Column, datatype: Column, language: Column
) -> npt.NDArray[np.bool_]:
    """Return the mask of `are_strings` for literals given as columns of lexical forms, datatypes
    and languages.
    """
    plain = _equal_to(datatype, STRING.encode()) & _equal_to(language, b"")
    letters, _ = text_bytes(lexical)
    if _ODD_BYTE[letters].any() or (
        (letters >= 0x80).any() and _ODD.search(letters.tobytes().decode())
    ):
        plain[:] = False
    return plain


def _equal_to(texts: pa.Array, text: bytes) -> npt.NDArray[np.bool_]:
    """Return a boolean mask: True for the ``texts`` equal to ``text``."""
    letters, ends = text_bytes(texts)
    found: npt.NDArray[np.bool_] = np.diff(ends) == len(text)
    if text and found.any():
        at = np.add.outer(ends[:-1][found], np.arange(len(text)))
        found[found] = (letters[at] == np.frombuffer(text, np.uint8)).all(axis=1)
    return found


_Mask: TypeAlias = Any  # numpy array of bool
#: The kinds of assertions that have columns, and what they are about.
FAMILIES: Final = {"class": "classes", "role": "object_properties", "data": "data_properties"}
#: What the ids of their columns are of, in the same order.
_VALUES: Final = (
    ("individuals", "classes"),
    ("individuals", "object_properties", "individuals"),
    ("individuals", "data_properties", "literals"),
)


def names_in_use(abox: ABox, family: str) -> list[str]:
    """Return the class or property names in the assertions of one family (class, role, data),
    sorted.

    family: a key of `FAMILIES`.
    """
    values: list[str] = getattr(abox, FAMILIES[family])
    return sorted(values[i] for i in np.unique(_names_of(abox, family)).tolist())


def _names_of(abox: ABox, family: str) -> Ints:
    """Return the column of class or property numbers of a family of assertions."""
    return np.asarray(getattr(abox, f"{family}_rows").name)


def row_masks(abox: ABox, names: Mapping[str, Collection[str]]) -> list[_Mask]:
    """Return one boolean mask per family of assertions (class, role, data): True for rows about a
    name in `names`.

    names: by family, the names wanted.
    """
    masks = []
    for family, wanted in names.items():
        values = getattr(abox, FAMILIES[family])
        chosen = np.fromiter((value in wanted for value in values), np.bool_, len(values))
        masks.append(chosen[_names_of(abox, family)])
    return masks


def select_rows(abox: ABox, masks: Sequence[_Mask]) -> tuple[ClassRows, RoleRows, DataRows]:
    """Select the rows of the boolean `masks`, one mask per family of assertions (class, role,
    data).
    """
    classes, roles, data = masks
    return (
        ClassRows(*_select(abox.class_rows, classes)),
        RoleRows(*_select(abox.role_rows, roles)),
        DataRows(*_select(abox.data_rows, data)),
    )


def _select(columns: Iterable[array[int]], mask: _Mask) -> Iterator[array[int]]:
    """Select rows of parallel ``columns``."""
    return (int_array(np.asarray(column)[mask]) for column in columns)


def with_rows(abox: ABox, masks: Sequence[_Mask], **rare: Any) -> ABox:
    """Build the ABox of the rows that the boolean `masks` select.

    masks: one per family, in the order of `FAMILIES`.
    rare: replacements for the fields without columns (same, different, complex); by default they
        stay.
    """
    classes, roles, data = select_rows(abox, masks)
    return replace(abox, class_rows=classes, role_rows=roles, data_rows=data, **rare)


def remove_assertions(abox: ABox, gone: Collection[Assertion]) -> ABox:
    """Return `abox` without the assertions in `gone`."""
    less = abox_of(gone)
    ids: dict[str, list[int]] = {}
    for values in ("individuals", "literals", *FAMILIES.values()):
        wanted = {value: i for i, value in enumerate(getattr(less, values))}
        ids[values] = [-1] * len(wanted)
        for i, value in enumerate(getattr(abox, values)):
            if value in wanted:
                ids[values][wanted[value]] = i
    masks = []
    for family, values_of in zip(FAMILIES, _VALUES):
        rows = {
            tuple(ids[values][i] for values, i in zip(values_of, row))
            for row in zip(*getattr(less, f"{family}_rows"))
        }
        columns = [np.asarray(column) for column in getattr(abox, f"{family}_rows")]
        keep = np.ones(len(columns[0]), np.bool_)
        near = np.flatnonzero(np.isin(columns[0], [row[0] for row in rows]))
        keep[near] = [
            row not in rows for row in zip(*(column[near].tolist() for column in columns))
        ]
        masks.append(keep)
    pairs = ids["individuals"]
    same = {(pairs[a], pairs[b]) for a, b in less.same}
    complex_ = set(less.complex)
    return with_rows(
        abox,
        masks,
        same=tuple(x for x in abox.same if x not in same),
        different=abox.different.difference({(pairs[a], pairs[b]) for a, b in less.different}),
        complex=tuple(x for x in abox.complex if x not in complex_),
    )
