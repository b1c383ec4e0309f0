"""Rows of tables as the assertions that they stand for, and as lines of a file, made by executors.

A row says what it is (kind), of which individual (term), with a number for its class, role or
property (name), perhaps another individual (other), and texts: the parts of a literal (lexical,
datatype, language), or a value as JSON. Of kind element its text is a label, or a remedy.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import DataFrame

from shiq import model as owl
from shiq.jobs.graphframes.literals import WorkerRules, label_of
from shiq.jobs.graphframes.tables import LITERAL
from shiq.model.as_json import decode
from shiq.model.clause_axioms import module_assertions
from shiq.reasoner.protocol import Module

#: Makes lines of assertions and of the individuals that are named first there.
Write = Callable[[Sequence[owl.Assertion], Sequence[str]], list[str]]


def assertions_of(rules: WorkerRules, row: Mapping[str, Any]) -> list[owl.Assertion]:
    """The assertions that ``row`` stands for: one, unless it is about an element."""
    kind, name, term, other = (row[column] for column in ("kind", "name", "term", "other"))
    match kind:
        case "class":
            return [owl.ClassAssertion(owl.Class(rules.classes[name]), term)]
        case "role" | "no role":
            of_role = (
                owl.NegativeObjectPropertyAssertion
                if kind == "no role"
                else owl.ObjectPropertyAssertion
            )
            return [of_role(owl.ObjectProperty(rules.roles[name].iri), term, other)]
        case "data" | "no data":
            of_data = (
                owl.NegativeDataPropertyAssertion
                if kind == "no data"
                else owl.DataPropertyAssertion
            )
            return [of_data(owl.DataProperty(rules.properties[name]), term, literal_in(row))]
        case "same" | "different":
            of_pair = owl.SameIndividual if kind == "same" else owl.DifferentIndividuals
            return [of_pair(term, other)]
        case "element":
            positive, negative = label_of(row["lexical"])
            return module_assertions(rules.tbox, Module((positive,), (negative,)), [term])
        case "clash":
            return [owl.ClassAssertion(owl.NOTHING, term)]
    return [decode(json.loads(row["value"]))]


def literal_in(row: Mapping[str, Any]) -> owl.Literal:
    """The literal whose parts ``row`` has."""
    return owl.Literal(*map(row.__getitem__, LITERAL))


def lines_of(rules: WorkerRules, rows: DataFrame, write: Write) -> DataFrame:
    """(line): what ``write`` makes of ``rows``."""

    def written(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            found: list[str] = []
            for row in batch.to_pylist():
                named = {"element": "term", "clash": "term", "same": "other"}.get(row["kind"])
                found += write(assertions_of(rules, row), [row[named]] if named else [])
            yield pa.RecordBatch.from_arrays([pa.array(found, pa.string())], ["line"])

    return rows.mapInArrow(written, "line string")
