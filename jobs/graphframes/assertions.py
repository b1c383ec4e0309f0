"""Rows of tables as the assertions that they stand for, and as lines of a file, made by executors.

A row says what it is (kind), of which individual (term), with a number for its class, role,
property or literal (name), perhaps another individual (other), and texts: the parts of a literal
(lexical, datatype, language), or a value as JSON. Of kind element it has a label as its text, and
is where an individual is named first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import DataFrame

from jobs.graphframes.literals import WorkerRules, label_of
from jobs.graphframes.tables import LITERAL
from shiq import model as owl
from shiq.clause_axioms import atom_expression, module_assertions
from shiq.model_json import decode
from shiq.reasoner.protocol import Module

#: Makes lines of assertions and of the individuals that are named first there.
Write = Callable[[Sequence[owl.Assertion], Sequence[str]], list[str]]


@dataclass(frozen=True)
class RowReader:
    """Reads rows. ``classes``: the IRI of each class number."""

    rules: WorkerRules
    classes: tuple[str, ...]

    def assertions(self, row: Mapping[str, Any]) -> list[owl.Assertion]:
        """The assertions that ``row`` stands for: one, unless it is about an element."""
        rules, name, term, other = self.rules, row["name"], row["term"], row["other"]
        match row["kind"]:
            case "class":
                return [owl.ClassAssertion(owl.Class(self.classes[name]), term)]
            case "role" | "no role" as kind:
                make = (
                    owl.ObjectPropertyAssertion
                    if kind == "role"
                    else owl.NegativeObjectPropertyAssertion
                )
                return [make(owl.ObjectProperty(rules.roles[name].iri), term, other)]
            case "data" | "no data" as kind:
                state = (
                    owl.DataPropertyAssertion
                    if kind == "data"
                    else owl.NegativeDataPropertyAssertion
                )
                return [
                    state(
                        owl.DataProperty(rules.properties[name]),
                        term,
                        owl.Literal(*map(row.__getitem__, LITERAL)),
                    )
                ]
            case "same":
                return [owl.SameIndividual(term, other)]
            case "different":
                return [owl.DifferentIndividuals(term, other)]
            case "remedy":
                atom = atom_expression(rules.tbox.atoms[name // 2])
                return [
                    owl.ClassAssertion(owl.ObjectComplementOf(atom) if name % 2 else atom, term)
                ]
            case "element":
                positive, negative = label_of(row["lexical"])
                return module_assertions(rules.tbox, Module((positive,), (negative,)), [term])
            case "clash":
                return [owl.ClassAssertion(owl.NOTHING, term)]
        return [decode(json.loads(row["value"]))]

    def lines(self, rows: DataFrame, write: Write) -> DataFrame:
        """(line): what ``write`` makes of ``rows``."""

        def written(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                found: list[str] = []
                for row in batch.to_pylist():
                    named = {"element": "term", "clash": "term", "same": "other"}.get(row["kind"])
                    found += write(self.assertions(row), [row[named]] if named else [])
                yield pa.RecordBatch.from_arrays([pa.array(found, pa.string())], ["line"])

        return rows.mapInArrow(written, "line string")
