"""Draft a YARRRML mapping: match the column names of tables with the names and labels of an
ontology.

The draft is YARRRML, since people edit it: one line per column, prefixes once, and room for
    comments. Columns without a match become comments in their place.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shiq import model as owl
from shiq.inputs.reading import Reading

#: Begins the names of individuals, until somebody writes another.
DATA = "http://example.org/data/"
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_a-zA-Z]+")
_KEYS = ("id", "iri", "uri", "key")


@dataclass(frozen=True)
class TableHead:
    """Name and columns of a table that a draft shall map.

    file: its name in the mapping
    columns: its column names
    is_json: whether it is JSON lines
    """

    file: str
    columns: Sequence[str]
    is_json: bool = False

    @property
    def row_name(self) -> str:
        """Name of what one row describes: the file name in the singular."""
        words = _words_in(Path(self.file).name.partition(".")[0])
        return " ".join([*words[:-1], _singular_of(words[-1])]) if words else "row"

    @property
    def key_column(self) -> str:
        """Column that identifies a row; the first column if none is named like an identifier."""
        wanted = [*_KEYS, *(f"{self.row_name} {key}" for key in _KEYS), self.row_name]
        return min(
            self.columns,
            key=lambda x: (
                wanted.index(_normalise_name(x)) if _normalise_name(x) in wanted else len(wanted)
            ),
        )


def draft_mapping(tables: Sequence[TableHead], ontology: Reading) -> str:
    """Draft a mapping of ``tables`` to the terms of ``ontology``, as YARRRML text."""
    return "\n".join(_MappingDraft(tables, ontology).yarrrml_lines()) + "\n"


class _MappingDraft:
    """Writer of the draft of a mapping: one entry per table, one line per column."""

    def __init__(self, tables: Sequence[TableHead], ontology: Reading) -> None:
        known = ontology.tbox.signature
        self.tables = tables
        self.classes, self.objects, self.data = (
            _terms_by_name(names, ontology.labels)
            for names in (known.classes, known.object_properties, known.data_properties)
        )
        self.datatypes = _datatype_by_property(ontology.tbox.axioms)
        self.ranges = {
            x.property.iri: x.range.iri
            for x in ontology.tbox.axioms
            if isinstance(x, owl.ObjectPropertyRange)
            if isinstance(x.property, owl.ObjectProperty) and isinstance(x.range, owl.Class)
        }
        self.prefixes: dict[str, str] = {}

    def yarrrml_lines(self) -> list[str]:
        """Write the draft of the whole mapping, as lines of YARRRML."""
        body = [line for table in self.tables for line in self._mapping_of_table(table)]
        return [
            "# A first mapping, to be looked through: 'd' begins the names of individuals; write your own namespace there.",
            "prefixes:",
            f"  d: {DATA}",
            *(f"  {prefix}: {space}" for space, prefix in self.prefixes.items()),
            "mappings:",
            *body,
        ]

    def _mapping_of_table(self, table: TableHead) -> list[str]:
        """Write the mapping of one table: source, subject template, class, and one line per column."""
        source = f"['{table.file}~jsonpath', '$']" if table.is_json else f"'{table.file}~csv'"
        subject = _yaml_scalar(self._iri_template(table.row_name, table.key_column))
        lines = [
            f"  {_hyphenate(table.row_name)}:",
            f"    sources: [{source}]",
            f"    s: {subject}",
        ]
        cls, pairs = self.classes.get(table.row_name), []
        if cls is None:
            pairs.append(
                self._unmatched_comment("file", table.file, "class", table.row_name, self.classes)
            )
        else:
            pairs.append(f"- [a, {self._prefixed_name(cls)}]")
        pairs += [
            self._line_for_column(column) for column in table.columns if column != table.key_column
        ]
        return [
            *lines,
            "    po:" if any(x.startswith("-") for x in pairs) else "    po: []",
            *(f"      {x}" for x in pairs),
        ]

    def _line_for_column(self, column: str) -> str:
        """Write the predicate and object for one column, or a comment if no property matches it."""
        name = _normalise_name(column)
        for wanted in (name, *(name.removesuffix(f" {key}") for key in _KEYS)):
            if (iri := self.data.get(wanted)) is not None:
                datatype = self.datatypes.get(iri, "")
                more = (
                    f", {self._prefixed_name(datatype)}"
                    if datatype and datatype != owl.XSD + "string"
                    else ""
                )
                return f"- [{self._prefixed_name(iri)}, {_yaml_scalar(_column_reference(column))}{more}]"
            if (iri := self.objects.get(wanted)) is not None or (
                iri := self._property_with_range(wanted)
            ) is not None:
                target = self._iri_template(self._name_of_target(wanted, iri), column)
                return f"- [{self._prefixed_name(iri)}, {_yaml_scalar(target + '~iri')}]"
        return self._unmatched_comment(
            "column", column, "property", name, {**self.objects, **self.data}
        )

    def _property_with_range(self, name: str) -> str | None:
        """Find the property whose range is the class that ``name`` means; None if there is none or
        several.
        """
        cls = self.classes.get(name)
        found = [
            iri for iri, of_range in self.ranges.items() if cls is not None and of_range == cls
        ]
        return found[0] if len(found) == 1 else None

    def _name_of_target(self, name: str, iri: str) -> str:
        """Return the name by which the individuals in the range of the property ``iri`` are made:
        that of their own table, if there is one.
        """
        wanted = self.ranges.get(iri)
        named = [
            table.row_name
            for table in self.tables
            if wanted is not None and self.classes.get(table.row_name) == wanted
        ]
        return named[0] if named else name

    def _iri_template(self, name: str, column: str) -> str:
        """Write the IRI template of individuals: the name of their class and a reference to
        ``column``.
        """
        return f"d:{_hyphenate(name)}/{_column_reference(column)}"

    def _unmatched_comment(
        self, what: str, text: str, kind: str, name: str, known: Mapping[str, str]
    ) -> str:
        """Write the comment for a table or column that no term matches, with the term of the
        nearest name.
        """
        near = difflib.get_close_matches(name, known, 1)
        hint = f"; the nearest is {self._prefixed_name(known[near[0]])}" if near else ""
        return f"# {what} {' '.join(text.split())!r}: no {kind} of the ontology has this name or label{hint}"

    def _prefixed_name(self, iri: str) -> str:
        """Abbreviate ``iri`` by a prefix; a new prefix is added to the mapping."""
        at = max(iri.rfind("#"), iri.rfind("/"), iri.rfind(":")) + 1
        if iri[:at] == owl.XSD:
            return f"xsd:{iri[at:]}"
        prefix = self.prefixes.setdefault(
            iri[:at], f"o{len(self.prefixes) + 1}" if self.prefixes else "o"
        )
        return f"{prefix}:{iri[at:]}"


def _datatype_by_property(axioms: Iterable[owl.Axiom]) -> dict[str, str]:
    """Map each data property to the datatype of its range, if the ontology gives one."""
    ranges = [x for x in axioms if isinstance(x, owl.DataPropertyRange)]
    found = {}
    for x in ranges:
        value = x.range
        datatype = value.datatype if isinstance(value, owl.DatatypeRestriction) else value
        if isinstance(datatype, owl.Datatype) and datatype.iri != owl.RDFS + "Literal":
            found[x.property.iri] = datatype.iri
    return found


def _terms_by_name(iris: Iterable[str], labels: Mapping[str, str]) -> dict[str, str]:
    """Map each normalised local name and label to its term; ambiguous names are left out."""
    found: dict[str, set[str]] = {}
    for iri in sorted(iris):
        local = iri[max(iri.rfind("#"), iri.rfind("/"), iri.rfind(":")) + 1 :]
        for text in {_normalise_name(local), _normalise_name(labels.get(iri, local))}:
            found.setdefault(text, set()).add(iri)
            if text.startswith("has "):
                found.setdefault(text.removeprefix("has "), set()).add(iri)
    return {text: next(iter(of_it)) for text, of_it in found.items() if len(of_it) == 1}


def _words_in(text: str) -> list[str]:
    """Split a name into its words, in lower case: at capitals, digits and punctuation."""
    return [word.lower() for word in _WORD.findall(text)]


def _normalise_name(text: str) -> str:
    """Normalise a name to its words: "maxTemp", "max_temp" and "Max temp" are equal."""
    return " ".join(_words_in(text))


def _singular_of(word: str) -> str:
    """Return the singular of an English noun, by its ending."""
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _hyphenate(name: str) -> str:
    """Replace spaces by hyphens."""
    return name.replace(" ", "-")


def _column_reference(column: str) -> str:
    """Write a YARRRML reference to a column: ``$(name)``, with escapes."""
    return "$(" + re.sub(r"([\\)])", r"\\\1", column) + ")"


def _yaml_scalar(text: str) -> str:
    """Write ``text`` as a YAML scalar, quoted if it has special characters."""
    return text if re.fullmatch(r"[\w$():/~.-]+", text) else "'" + text.replace("'", "''") + "'"
