"""From an ABox and its index to the columns of the tables of a store, and from an index document
back.
"""

from __future__ import annotations

from array import array
from dataclasses import replace
from typing import Any

import numpy as np

from abox_ops.elements.base import ArrayBase, array_base
from abox_ops.elements.partition import StoredPartition, grouping
from abox_ops.index.columns import Index
from abox_ops.labels.documents import clauses_hash, complex_text, label_rows, labels_in_order
from abox_ops.patch.outside_columns import OutsideCompletion
from jobs.store.numbering import literal_ids, local_rank, spread
from jobs.store.schema import KIND_CLASS, KIND_DATA_PROPERTY, KIND_OBJECT_PROPERTY
from shiq.abox import ABox, int_array
from shiq.columns.arrays import NONE, Column, Columns, Ints, Table, arrow_texts
from shiq.columns.rows import NODES, literal_key, mentioned, term_key
from shiq.model_json import encode


def numbered(abox: ABox, width: int | None = None) -> ArrayBase:
    """``abox`` with its individuals and literals numbered so that what belongs together is near
    (literals by ranges of ``width`` individuals, `RANGE` if None); its names and complex
    assertions in the order of their texts. So the numbers follow from what ``abox`` says,
    however it was read.
    """
    known = mentioned(abox)
    position = np.full(len(abox.individuals), -1, np.int64)
    position[known] = np.arange(len(known))
    terms = [abox.individuals[i] for i in known.tolist()]
    rank = local_rank(
        terms, position[np.asarray(abox.role_subject)], position[np.asarray(abox.role_object)]
    )
    literal, value = literal_ids(
        rank[position[np.asarray(abox.data_subject)]],
        np.asarray(abox.data_literal),
        abox.literals,
        width,
    )
    classes, class_name = _in_order(abox.classes, abox.class_name)
    roles, role_name = _in_order(abox.object_properties, abox.role_name)
    properties, data_name = _in_order(abox.data_properties, abox.data_name)
    ordered = replace(
        abox,
        classes=classes,
        class_name=class_name,
        object_properties=roles,
        role_name=role_name,
        data_properties=properties,
        data_name=data_name,
        literals=[abox.literals[i] for i in value.tolist()],
        data_literal=int_array(literal),
        complex=tuple(sorted(abox.complex, key=complex_text)),
    )
    return array_base(ordered, known[np.argsort(rank)])


def _in_order(names: list[str], column: array[int]) -> tuple[list[str], array[int]]:
    """``names`` sorted, and ``column`` of their numbers accordingly."""
    order = sorted(range(len(names)), key=names.__getitem__)
    rank = np.empty(len(names), np.int64)
    rank[order] = np.arange(len(names))
    return [names[i] for i in order], int_array(rank[np.asarray(column)])


# --- assertions -----------------------------------------------------------------------------------


def base_tables(base: ArrayBase) -> dict[str, Columns]:
    """The columns of the tables of assertions and of the dictionaries. Nodes are ranks in
    ``base`` and ids in the tables.
    """
    ids = spread(base.nodes())
    tables = {name: _with_ids(dict(table.columns), ids) for name, table in base.tables.items()}
    data = tables["data_assertions"]
    data["hash"] = literal_key(base.literals)[data["literal"]]
    values = list(map(complex_text, base.complex))
    tables["complex"]["value"] = arrow_texts(
        [values[i] for i in tables["complex"]["ordinal"].tolist()]
    )
    hashes = term_key(base.terms)
    by_hash = np.argsort(hashes, kind="stable")
    return {
        **tables,
        "individuals": {"node": ids, "term": arrow_texts(base.terms)},
        "terms": {"hash": hashes[by_hash], "node": ids[by_hash]},
        "names": _names(base),
        "literals": {
            "literal": np.arange(len(base.literals), dtype=np.int64),
            "lexical": arrow_texts([x.lexical for x in base.literals]),
            "datatype": arrow_texts([x.datatype for x in base.literals]),
            "language": arrow_texts([x.language for x in base.literals]),
        },
    }


def _with_ids(columns: dict[str, Column], ids: Ints) -> Columns:
    """``columns`` with ids in the place of ranks; they stay sorted."""
    return {name: ids[column] if name in NODES else column for name, column in columns.items()}


def _names(base: ArrayBase) -> Columns:
    names = base.names
    lists = {
        KIND_CLASS: names.classes.values,
        KIND_OBJECT_PROPERTY: names.object_properties.values,
        KIND_DATA_PROPERTY: names.data_properties.values,
    }
    return {
        "kind": np.repeat(np.array(list(lists), np.int64), [len(iris) for iris in lists.values()]),
        "id": np.concatenate([np.arange(len(iris), dtype=np.int64) for iris in lists.values()]),
        "iri": arrow_texts([iri for iris in lists.values() for iri in iris]),
    }


# --- the index ------------------------------------------------------------------------------------

#: The groupings of an index; each has a table by member and one by group.
GROUPINGS = ("same", "equal", "merged")


def index_tables(index: Index, completion: OutsideCompletion | None = None) -> dict[str, Columns]:
    """The columns of the tables that hold ``index``, and the certified completion if there is
    one, over an `ArrayBase`.
    """
    elements, others = index.labels.table, completion.others if completion else None
    rows = {
        "elements": _spread(elements),
        **({"completed": _spread(others)} if others is not None else {}),
    }
    used = np.concatenate([table["label"] for table in rows.values()])
    labels, number = labels_in_order(index.calculus.table.labels, used)
    tables: dict[str, Columns] = {
        name: {**table, "label": number[table["label"]]} for name, table in rows.items()
    }
    tables["labels"] = label_rows(labels)
    groupings: dict[str, StoredPartition] = {name: getattr(index, name) for name in GROUPINGS}
    if completion:
        # Those of N serve both while there is one.
        groupings |= {
            "merged": grouping(NONE, NONE),
            "outside": completion.classes,
            "certified": completion.modules,
        }
    for name, groups in groupings.items():
        tables[name], tables[f"{name}_members"] = (
            _spread(groups.by_member),
            _spread(groups.by_group),
        )
    return tables


def _spread(table: Table) -> Columns:
    """All rows of ``table`` with ids in the place of ranks."""
    rows = next(iter(table.scan()))
    last = max((int(rows[name].max(initial=-1)) for name in rows if name in NODES), default=-1)
    return _with_ids(dict(rows), spread(np.arange(last + 1, dtype=np.int64)))


def index_document(index: Index) -> dict[str, Any]:
    """What else an index says, as JSON."""
    return {
        "extra": [encode(x) for x in index.extra],
        "negated_roles": sorted([role.iri, role.inverted] for role in index.negated_roles),
        "negated_properties": sorted(index.negated_properties),
        "contradictory": index.contradictory,
        "clauses": clauses_hash(index.simplified.clauses),
    }
