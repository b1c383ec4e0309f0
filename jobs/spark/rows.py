"""A batch as rows of texts, one assertion each: what travels between Spark tasks.

``kind`` says what a row is: `CLASS` (s, p: class), `ROLE` (s, p: property, o), `DATA` (s, p, o with datatype and language), or
`OTHER` (o: any other assertion as JSON, `shiq.model_json`; s and p: its individuals). ``s_node`` and ``o_node`` are the store's
numbers of the individuals, -1 for fresh ones; ``key`` is what the caller calls the row, ``graph`` the named graph it is in (an
N-Triples term), "" where nothing; ``split`` and ``line`` say what task has read it, and where in its part (-1 where unknown).
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from jobs.spark.worker import StoreKey, opened_store
from shiq import model as owl
from shiq.abox import ABox, ABoxBuilder, Pairs, columns_of, individuals_of, int_array
from shiq.columns.arrays import Ints
from shiq.model_json import decode, encode
from shiq.rdf.assertion_rows import CLASS, DATA, ROLE
from shiq.reading import Place

OTHER = "other"
ASSERTIONS = (CLASS, ROLE, DATA, OTHER)

_TEXTS = ("kind", "s", "p", "o", "datatype", "language", "key", "graph")
_NUMBERS = ("s_node", "o_node", "split", "line")
SCHEMA = pa.schema([*(pa.field(name, pa.string()) for name in _TEXTS), *(pa.field(name, pa.int64()) for name in _NUMBERS)])
#: The same for Spark.
DDL = ", ".join([*(f"{name} string" for name in _TEXTS), *(f"{name} bigint" for name in _NUMBERS)])


def batch_of(columns: dict[str, Any], count: int) -> pa.RecordBatch:
    """``count`` rows; columns that are left out are empty texts, or -1."""
    arrays = []
    for field in SCHEMA:
        column = columns.get(field.name)
        if column is None:
            column = pa.repeat(pa.scalar("", pa.string()) if field.name in _TEXTS else pa.scalar(-1, pa.int64()), count)
        elif not isinstance(column, pa.Array):
            column = pa.array(column, field.type)
        arrays.append(column)
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def numbered(rows: pa.Table, store: StoreKey) -> tuple[pa.Table, int]:
    """``rows`` with the store's numbers of their individuals; how much was read of the store for that."""
    base, nodes = opened_store(store), np.full((2, len(rows)), -1, np.int64)
    before = base.reads.rows
    roles = pc.equal(rows["kind"], ROLE)
    ends = [*rows["s"].chunks, *rows["o"].filter(roles).chunks]
    encoded = pa.chunked_array(ends, pa.string()).dictionary_encode().unify_dictionaries().chunks
    if encoded:
        known = base.nodes_of(encoded[0].dictionary.to_pylist())
        found = known[np.concatenate([chunk.indices.to_numpy() for chunk in encoded])]
        nodes[0], nodes[1, roles.to_numpy(zero_copy_only=False)] = found[: len(rows)], found[len(rows) :]
    columns = {name: rows[name] for name in rows.column_names} | {"s_node": nodes[0], "o_node": nodes[1]}
    return pa.table({name: columns[name] for name in SCHEMA.names}), base.reads.rows - before


def rows_of(abox: ABox) -> pa.Table:
    """The rows of ``abox``, without numbers."""
    individuals, literals = abox.individuals, abox.literals
    parts = []
    if len(abox.class_subject):
        parts.append({"s": _taken(individuals, abox.class_subject), "p": _taken(abox.classes, abox.class_name), "kind": CLASS})
    if len(abox.role_subject):
        parts.append(
            {
                "s": _taken(individuals, abox.role_subject),
                "p": _taken(abox.object_properties, abox.role_name),
                "o": _taken(individuals, abox.role_object),
                "kind": ROLE,
            }
        )
    if len(abox.data_subject):
        parts.append(
            {
                "s": _taken(individuals, abox.data_subject),
                "p": _taken(abox.data_properties, abox.data_name),
                "o": _taken([x.lexical for x in literals], abox.data_literal),
                "datatype": _taken([x.datatype for x in literals], abox.data_literal),
                "language": _taken([x.language for x in literals], abox.data_literal),
                "kind": DATA,
            }
        )
    batches = []
    for part in parts:
        count = len(part["s"])
        batches.append(batch_of({**part, "kind": pa.repeat(pa.scalar(part["kind"], pa.string()), count)}, count))
    others: list[owl.Assertion] = [owl.SameIndividual(individuals[a], individuals[b]) for a, b in abox.same]
    others += (owl.DifferentIndividuals(individuals[a], individuals[b]) for a, b in abox.different)
    others += abox.complex
    if others:
        texts = [json.dumps(encode(a), ensure_ascii=False) for a in others]
        ends = [individuals_of(a) for a in others]
        columns = {"kind": [OTHER] * len(others), "s": [e[0] for e in ends], "p": [(*e, "")[1] for e in ends], "o": texts}
        batches.append(batch_of(columns, len(others)))
    return pa.Table.from_batches(batches, SCHEMA)


def _taken(values: list[str], positions: array[int]) -> pa.Array:
    return pa.array(values, pa.string()).take(pa.array(np.asarray(positions, np.int64)))


def abox_of_rows(rows: pa.Table) -> ABox:
    """The assertions of ``rows``, each once; names, individuals and literals in the order of their texts, so that the same set of
    rows gives the same ABox in whatever order they come."""
    parts = {kind: rows.filter(pc.equal(rows["kind"], kind)).combine_chunks() for kind in ASSERTIONS}
    ends = [parts[CLASS]["s"], parts[ROLE]["s"], parts[ROLE]["o"], parts[DATA]["s"]]
    others = [decode(json.loads(text)) for text in sorted(set(parts[OTHER]["o"].to_pylist()))]
    if others:
        ends.append(pa.chunked_array([pa.array([i for a in others for i in individuals_of(a)], pa.string())]))
    individuals = _sorted(*ends)
    classes, roles, properties = (_sorted(parts[kind]["p"]) for kind in (CLASS, ROLE, DATA))
    class_rows = _distinct(_found(parts[CLASS]["s"], individuals), _found(parts[CLASS]["p"], classes))
    role_rows = _distinct(
        _found(parts[ROLE]["s"], individuals), _found(parts[ROLE]["p"], roles), _found(parts[ROLE]["o"], individuals)
    )
    literals, literal = _literals(parts[DATA])
    data_rows = _distinct(_found(parts[DATA]["s"], individuals), _found(parts[DATA]["p"], properties), literal)
    names: list[str] = individuals.to_pylist()
    place = {name: i for i, name in enumerate(names)} if others else {}
    builder = ABoxBuilder()
    for assertion in others:
        builder.add(assertion)
    rest = builder.build()
    place_of = [place[name] for name in rest.individuals]
    return ABox(
        names,
        classes.to_pylist(),
        roles.to_pylist(),
        properties.to_pylist(),
        literals,
        **columns_of(int_array(column) for column in (*class_rows, *role_rows, *data_rows)),
        same=tuple((place_of[a], place_of[b]) for a, b in rest.same),
        different=Pairs.of((place_of[a], place_of[b]) for a, b in rest.different),
        complex=rest.complex,
    )


def _sorted(*columns: pa.ChunkedArray) -> pa.Array:
    values = pc.unique(pa.chunked_array([chunk for column in columns for chunk in column.chunks], pa.string()))
    return values.take(pc.sort_indices(values))


def _found(column: pa.ChunkedArray, among: pa.Array) -> Ints:
    found: Ints = pc.index_in(column, among).to_numpy().astype(np.int64)
    return found


def _literals(rows: pa.Table) -> tuple[list[owl.Literal], Ints]:
    values = list(zip(*(rows[name].to_pylist() for name in ("o", "datatype", "language"))))
    ids = {value: i for i, value in enumerate(sorted(set(values)))}
    return [owl.Literal(*value) for value in ids], np.fromiter((ids[v] for v in values), np.int64, len(values))


def _distinct(*columns: Ints) -> tuple[Ints, ...]:
    if not len(columns[0]):
        return columns
    return tuple(np.unique(np.stack(columns), axis=1))


#: By split: the name of its source, and how many lines of that stand before it.
Origins: TypeAlias = Mapping[int, tuple[str, int]]


def assertions_of(rows: pa.Table, origins: Origins = MappingProxyType({})) -> Iterator[tuple[owl.Assertion, Place]]:
    """Each row's assertion and its place, in the order in which the sources were named and read."""
    rows = rows.sort_by([("split", "ascending"), ("line", "ascending")])
    for kind, s, p, o, datatype, language, key, graph, split, line in zip(
        *(rows[name].to_pylist() for name in (*_TEXTS, "split", "line"))
    ):
        source, before = origins.get(split, ("", 0))
        place = Place(source, before + line if source and line > 0 else 0, graph, key)
        if kind == CLASS:
            yield owl.ClassAssertion(owl.Class(p), s), place
        elif kind == ROLE:
            yield owl.ObjectPropertyAssertion(owl.ObjectProperty(p), s, o), place
        elif kind == DATA:
            yield owl.DataPropertyAssertion(owl.DataProperty(p), s, owl.Literal(o, datatype, language)), place
        else:
            yield decode(json.loads(o)), place
