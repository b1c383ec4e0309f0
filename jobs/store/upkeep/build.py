"""Build a store from an ABox in memory."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from shiq.abox_ops.elements.base import ArrayBase, array_base
from shiq.abox_ops.elements.quotient import StoredPartition, make_partition
from shiq.abox_ops.engine import Decide, Inquiry
from shiq.abox_ops.index.index import Extra, Index, build_index
from shiq.abox_ops.labels.label_tables import (
    clauses_hash,
    complex_text,
    label_rows,
    number_used_labels,
)
from shiq.abox_ops.local_add_set import LocalAddSet
from shiq.abox_ops.local_engine import LocalKnowledgeBase
from shiq.abox_ops.patch.certified_model import CertifiedModel
from shiq.answers.verdict import Leftover
from shiq.columns.arrays import NONE, Column, Columns, Ints, Table, arrow_texts
from shiq.columns.rows import NODES, literal_key, term_key, used_individuals
from shiq.inputs.reading import QuarantinedAssertion
from shiq.jobs.store.manifest import Certificate
from shiq.jobs.store.numbering import RANGE, literal_ids, local_rank, spread
from shiq.jobs.store.read import Store
from shiq.jobs.store.replacing import Replacement
from shiq.jobs.store.schema import (
    KINDS,
    key_of,
    name_rows,
    write_table,
)
from shiq.jobs.store.upkeep.ranges import range_starts
from shiq.jobs.store.write import (
    AssertionCounts,
    open_rebuild,
    require_same_tbox,
    require_unchanged,
)
from shiq.model import TBox
from shiq.model.abox import ABox, int_array
from shiq.model.as_json import encode
from shiq.model.clause import ClausalTBox
from shiq.model.roles import Role, role_box
from shiq.reasoner.protocol import Answer
from shiq.remote.place import StoreLocation

# Convert an ABox and its index to the tables of a store.


def number_individuals(abox: ABox, width: int | None = None) -> ArrayBase:
    """Renumber the individuals and literals of ``abox`` so that neighbours get near numbers; names
    and complex assertions are sorted by text.

    Literals are numbered by ranges of ``width`` individuals (`RANGE` if None). The numbering
    depends on the assertions alone, not on their order.
    """
    known = used_individuals(abox)
    position = np.full(len(abox.individuals), -1, np.int64)
    position[known] = np.arange(len(known))
    terms = [abox.individuals[i] for i in known.tolist()]
    rank = local_rank(
        terms,
        position[np.asarray(abox.role_rows.subject)],
        position[np.asarray(abox.role_rows.object)],
    )
    literal, value = literal_ids(
        rank[position[np.asarray(abox.data_rows.subject)]],
        np.asarray(abox.data_rows.literal),
        abox.literals,
        width,
    )
    classes, class_name = _sort_names(abox.classes, abox.class_rows.name)
    roles, role_name = _sort_names(abox.object_properties, abox.role_rows.name)
    properties, data_name = _sort_names(abox.data_properties, abox.data_rows.name)
    ordered = replace(
        abox,
        classes=classes,
        class_rows=abox.class_rows._replace(name=class_name),
        object_properties=roles,
        role_rows=abox.role_rows._replace(name=role_name),
        data_properties=properties,
        data_rows=abox.data_rows._replace(name=data_name, literal=int_array(literal)),
        literals=[abox.literals[i] for i in value.tolist()],
        complex=tuple(sorted(abox.complex, key=complex_text)),
    )
    return array_base(ordered, known[np.argsort(rank)])


def _sort_names(names: list[str], column: array[int]) -> tuple[list[str], array[int]]:
    """Sort ``names`` by text, and renumber ``column`` accordingly."""
    order = sorted(range(len(names)), key=names.__getitem__)
    rank = np.empty(len(names), np.int64)
    rank[order] = np.arange(len(names))
    return [names[i] for i in order], int_array(rank[np.asarray(column)])


# --- assertions -----------------------------------------------------------------------------------


def base_tables(base: ArrayBase) -> dict[str, Columns]:
    """Columns of the tables that hold A: assertions and dictionaries, by table."""
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
        "names": name_rows(dict(zip(KINDS, base.names.texts()))),
        "literals": {
            "literal": np.arange(len(base.literals), dtype=np.int64),
            "lexical": arrow_texts([x.lexical for x in base.literals]),
            "datatype": arrow_texts([x.datatype for x in base.literals]),
            "language": arrow_texts([x.language for x in base.literals]),
        },
    }


def _with_ids(columns: dict[str, Column], ids: Ints) -> Columns:
    """Replace the ranks of individuals in ``columns`` by their ids (`spread`); the rows stay
    sorted.
    """
    return {name: ids[column] if name in NODES else column for name, column in columns.items()}


# --- the index ------------------------------------------------------------------------------------


def index_tables(index: Index, completion: CertifiedModel | None = None) -> dict[str, Columns]:
    """Columns of the tables that hold ``index`` and, if there is one, the certified model."""
    elements, others = index.labels.table, completion.exceptional_labels if completion else None
    rows = {
        "elements": _rows_with_ids(elements),
        **({"completed": _rows_with_ids(others)} if others is not None else {}),
    }
    used = np.concatenate([table["label"] for table in rows.values()])
    labels, number = number_used_labels(index.calculus.table.labels, used)
    tables: dict[str, Columns] = {
        name: {**table, "label": number[table["label"]]} for name, table in rows.items()
    }
    tables["labels"] = label_rows(labels)
    # Each grouping has a table by member and one by group.
    groupings: dict[str, StoredPartition] = {
        "same": index.asserted_equality,
        "equal": index.equality,
        "merged": index.merge_classes,
    }
    if completion:
        # Those of N serve both while there is one.
        groupings |= {
            "merged": make_partition(NONE, NONE),
            "outside": completion.classes,
            "certified": completion.modules,
        }
    for name, groups in groupings.items():
        tables[name], tables[f"{name}_members"] = (
            _rows_with_ids(groups.by_member),
            _rows_with_ids(groups.by_group),
        )
    return tables


def _rows_with_ids(table: Table) -> Columns:
    """All rows of ``table``, with the ranks of individuals replaced by their ids."""
    rows = next(iter(table.scan()))
    last = max((int(rows[name].max(initial=-1)) for name in rows if name in NODES), default=-1)
    return _with_ids(dict(rows), spread(np.arange(last + 1, dtype=np.int64)))


def index_document(
    extra: Extra,
    negated_roles: Iterable[Role],
    negated_properties: Iterable[str],
    clauses: ClausalTBox,
    *,
    is_contradictory: bool,
) -> dict[str, Any]:
    """Parts of the index that are in no table, as JSON."""
    return {
        "extra": [encode(x) for x in extra],
        "negated_roles": sorted([role.iri, role.is_inverse] for role in negated_roles),
        "negated_properties": sorted(negated_properties),
        "contradictory": is_contradictory,
        "clauses": clauses_hash(clauses),
    }


#: Told (stage, steps done, steps in all).
Progress: TypeAlias = Callable[[str, int, int], None]


@dataclass(frozen=True, eq=False)
class PreparedStore:
    """(T, A) numbered and indexed in memory, ready to be written as a store. ``width``: number of
    individuals in a range.
    """

    knowledge_base: LocalKnowledgeBase
    base: ArrayBase
    width: int
    completion: CertifiedModel | None = None

    def certify(
        self, decide: Decide, is_over: Callable[[], bool]
    ) -> tuple[PreparedStore, LocalAddSet, Sequence[Answer]] | None:
        """Search for a certified model of (T, A). Returns the store with the model, its add set and
        an answer for each module; None if no model was found, which does not mean inconsistent.
        """
        found = certify_by_model(self.knowledge_base, decide, is_over)
        if found is None:
            return None
        completion, add_set, answers = found
        return replace(self, completion=completion), add_set, answers


def certify_by_model(
    knowledge_base: LocalKnowledgeBase, decide: Decide, is_over: Callable[[], bool]
) -> tuple[CertifiedModel, LocalAddSet, Sequence[Answer]] | None:
    """Search for a certified model of a base. Returns it with the add set and an answer for each
    module; None if none was found.
    """
    # Where A is inconsistent, nothing of this is used.
    found = knowledge_base.certify(Inquiry(decide, is_over, verdict_only=True))
    if not found.model.is_guessed:
        return None
    index, patch = knowledge_base.index, found.patch
    add_set = LocalAddSet(
        index.calculus,
        patch.add_set_columns(),
        index,
        clauses=patch.tbox,
        decided_modules=found.outcome.modules,
    )
    return found.model, add_set, found.outcome.answers


def prepare(tbox: TBox, abox: ABox, width: int | None = None) -> PreparedStore:
    """Number and index (``tbox``, ``abox``) for tables in ranges of ``width`` individuals."""
    base, roles = number_individuals(abox, width), role_box(tbox.axioms)
    return PreparedStore(
        LocalKnowledgeBase(tbox, base, roles, build_index(tbox, roles, base)), base, width or RANGE
    )


def write_store(
    path: StoreLocation,
    tbox: TBox,
    abox: ABox,
    *,
    leftovers: Iterable[Leftover] = (),
    tbox_leftovers: Iterable[Leftover] = (),
    certificate: Certificate | None = None,
    progress: Progress | None = None,
    replacing: tuple[str, int] | None = None,
    ontologies: Iterable[str] = (),
    asides: Iterable[QuarantinedAssertion] | None = None,
    left_out: Iterable[Leftover] | None = None,
    labels: Mapping[str, str] | None = None,
    prepared: PreparedStore | None = None,
    taken: Mapping[str, int] | None = None,
    place: Replacement | None = None,
    read_properties: Iterable[str] | None = None,
) -> Store:
    """Write (``tbox``, ``abox``) as a store at ``path``, new or in place of the one there.

    A crash leaves the old snapshot or the new one. A new directory without a manifest is an
    unfinished store, and is said to be one by `open_store`. ``replacing``: the `Store.identity`
    that the new snapshot goes on from, and keeps behind it; without it, none is kept.
    ``tbox_leftovers``: those of reading the TBox; ``ontologies``: the IRIs by which batches may
    import the TBox; ``asides``: what belongs to the data and is not in ``abox`` (None: as
    before, where snapshots are kept); ``left_out``: what of it was left out, as it stands (None:
    as ``leftovers`` tell), beside what was before, where snapshots are kept; ``labels``: of the
    terms of the TBox; ``taken``: see `shiq.jobs.store.manifest.APPLIED_BATCHES`; ``place``: what
    was found at
    ``path`` before, which has to be there still; ``read_properties``: those that the data was
    read for (None: those of ``tbox``).

    Raises: StoreError if ``path`` holds something else (or not what is to be replaced), another
    writer is at work, or ``certificate`` is about another TBox.
    """
    told = progress or (lambda stage, done, total: None)
    require_same_tbox(certificate, path, tbox)
    with open_rebuild(
        path, tbox, ontologies, keeps=replacing is not None, labels=labels, place=place
    ) as rebuild:
        require_unchanged(path, rebuild.old, replacing)
        if prepared is None:
            told("indexing", 0, 0)
        made = prepared or prepare(tbox, abox, rebuild.range_size)
        rebuild = replace(
            rebuild, width=made.width, applied_batches=taken or {}, read_properties=read_properties
        )
        base, index = made.base, made.knowledge_base.index
        columns = {**base_tables(base), **index_tables(index, made.completion)}
        versions, count = {}, len(columns)
        for done, name in enumerate(sorted(columns)):
            told("writing tables", done, count)
            rows = columns.pop(name)
            versions[name] = write_table(
                path,
                name,
                rows,
                range_starts(name, rows[key_of(name)], len(base.terms), made.width),
            )
        told("writing tables", count, count)
        return rebuild.finish(
            versions,
            index_document(
                index.extra,
                index.negated_roles,
                index.negated_properties,
                index.simplified_tbox.clauses,
                is_contradictory=index.is_contradictory,
            ),
            AssertionCounts(
                len(abox.class_rows.subject),
                len(abox.role_rows.subject),
                len(abox.data_rows.subject),
                len(abox),
                base.class_counts().tolist(),
            ),
            leftovers=leftovers,
            tbox_leftovers=tbox_leftovers,
            certificate=certificate,
            asides=asides,
            left_out=left_out,
        )
