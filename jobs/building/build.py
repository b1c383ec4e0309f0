"""Build a store in tasks that each write a range of ids: the driver's sequence of steps."""

from __future__ import annotations

import shutil
import socket
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from shiq.abox_ops.elements.graph import NameLiteral
from shiq.abox_ops.elements.normal_assertions import normalise
from shiq.abox_ops.elements.quotient import StoredPartition, make_partition
from shiq.abox_ops.index.index import Extra, needed_vocabulary, negative_vocabulary
from shiq.abox_ops.labels.label_calculus import EMPTY, clashes
from shiq.abox_ops.labels.label_tables import complex_text, label_rows
from shiq.columns.arrays import NONE, Columns, array_table
from shiq.columns.rows import DIFFERENT, SAME, NameNumbering, complex_rows, half_edge_rows
from shiq.errors import OperationalError
from shiq.inputs.catalog import Catalog
from shiq.inputs.reading import QuarantinedAssertion, Reading
from shiq.jobs.building.certificate import CertificateFigures, certify
from shiq.jobs.building.chunks import CHUNK_BYTES
from shiq.jobs.building.clustering import SINGLE_TASK_LINKS, clustered_ranks, renumber
from shiq.jobs.building.dictionary import (
    Dictionary,
    collect_names,
    make_dictionary,
    name_indices,
    rank_chunks,
)
from shiq.jobs.building.exchange import Executor, Scratch
from shiq.jobs.building.merge_class_rounds import IndexedStore, grouping_tables, merge_classes
from shiq.jobs.building.model_search import certify_by_model, write_certified_model
from shiq.jobs.building.reading import ChunkedInput, read_sources
from shiq.jobs.building.tables import (
    NumberedChunk,
    Ranges,
    WrittenTables,
    measure_nearness,
    merge_edges,
    write_range_tables,
)
from shiq.jobs.building.told_labels import (
    CalculusRecipe,
    ToldState,
    distinct_labels,
    saturate_told,
    write_elements,
)
from shiq.jobs.building.worker import ReasonerSettings
from shiq.jobs.checking.options import Clock
from shiq.jobs.store import Certificate
from shiq.jobs.store.files import DataFile
from shiq.jobs.store.lookup import lookup_path
from shiq.jobs.store.manifest import Manifest
from shiq.jobs.store.numbering import GOOD, NEAR, RANGE, spread
from shiq.jobs.store.replacing import BUILDING, Replacement
from shiq.jobs.store.schema import ALWAYS, KIND_CLASS, name_rows, table_of_files, write_part
from shiq.jobs.store.upkeep.build import index_document
from shiq.jobs.store.write import AssertionCounts, Rebuild, open_rebuild
from shiq.model import Assertion, Class, ClassAssertion, ObjectComplementOf
from shiq.model.abox import ABox, Interner, individuals_of
from shiq.model.roles import RoleBox, role_box
from shiq.remote.place import StoreLocation, remove_file
from shiq.simplify import simplify


@dataclass(frozen=True)
class BuildSettings:
    """Settings for building a store. Fields not explained here are as in
    `shiq.jobs.checking.options.Options`.

    width, near_distance: see `shiq.jobs.store.numbering`, whose values they have except in tests
    single_task_links: see `shiq.jobs.building.clustering`
    chunk_bytes: bytes of text in a task
    drops_ill_typed: leave ill-typed data assertions out, and report them
    catalog: for inputs that only the driver can read
    certifies_by_model: search for a model that the store keeps (`shiq.jobs.building.model_search`)
    names_undecided: list the individuals of undecided modules
    """

    width: int = RANGE
    near_distance: int = NEAR
    single_task_links: int = SINGLE_TASK_LINKS
    chunk_bytes: int = CHUNK_BYTES
    reasoner: str = "auto"
    heap: str = "1g"
    timeout: float | None = None
    audit: float = 0.0
    limit: int = 1000
    drops_ill_typed: bool = False
    catalog: Catalog | None = None
    certifies_by_model: bool = True
    names_undecided: bool = False
    keep_scratch: bool = False


@dataclass
class BuiltStore:
    """Report on a store that was built: how its input was read, the index, the figures of the
    certificate, and counts of assertions.

    kept_assertions: number of assertions in the modules of the certificate
    is_completed: whether the store holds a certified model
    largest_module_or_element: most role assertions of a module or individuals of an element; 0
    without
        a model
    seconds: time by stage
    """

    chunks: ChunkedInput
    indexed_store: IndexedStore
    certificate_figures: CertificateFigures
    counts: AssertionCounts
    kept_assertions: int
    is_completed: bool = False
    largest_module_or_element: int = 0
    seconds: dict[str, float] = field(default_factory=dict)


#: Gives the certificate of what was built; None if it is not to be kept.
CertificateMaker = Callable[[BuiltStore], Certificate | None]


def build(
    executor: Executor,
    store: StoreLocation,
    ontology: Reading,
    sources: Sequence[object],
    certifying: CertificateMaker,
    *,
    settings: BuildSettings = BuildSettings(),
    progress: Callable[[str, int, int], None] | None = None,
    excluded: Collection[Assertion] = (),
    quarantine: Sequence[QuarantinedAssertion] = (),
    taken: Mapping[str, int] = MappingProxyType({}),
    place: Replacement | None = None,
) -> BuiltStore:
    """Build a store with the TBox of ``ontology``, its assertions and those of ``sources``.

    excluded: assertions to leave out. quarantine: the store's ledger of quarantined assertions. taken:
    number of the last batch taken in, by feed. place: the store to be replaced.
    """
    store = store.absolute()
    clock = Clock(progress=progress)
    with open_rebuild(
        store, ontology.tbox, ontology.ontologies, labels=ontology.labels, place=place
    ) as rebuild:
        rebuild = replace(rebuild, width=settings.width, applied_batches=taken)
        with open_scratch(executor, store, keep=settings.keep_scratch) as scratch:
            made = _StoreBuild(
                executor, rebuild, ontology, scratch, settings, clock, excluded, quarantine
            )
            return made.run(sources, certifying)


@dataclass
class _StoreBuild:
    """One run of building a store: inputs, settings and stage times."""

    executor: Executor
    rebuild: Rebuild
    ontology: Reading
    scratch: Scratch
    settings: BuildSettings
    clock: Clock
    exclusions: Collection[Assertion]
    quarantine: Sequence[QuarantinedAssertion]

    def run(
        self,
        sources: Sequence[object],
        certifying: CertificateMaker,
    ) -> BuiltStore:
        """Read, number, index and certify, and write the tables. Returns a report."""
        executor, clock = self.executor, self.clock
        clock.begin_stage("reading")
        settings = self.settings
        size, aside, catalog = settings.chunk_bytes, settings.drops_ill_typed, settings.catalog
        found = read_sources(
            executor, sources, self.ontology, self.scratch, size, aside, catalog, self.exclusions
        )
        clock.begin_stage("numbering")
        dictionary = make_dictionary(
            executor, self.scratch, found.root, found.chunks, found.summaries
        )
        names = collect_names(found.summaries)
        build, nodes = uuid.uuid4().hex[:12], len(dictionary)
        ranges = Ranges(
            self.scratch, found.root, build, nodes, settings.width, settings.near_distance
        )
        rank_chunks(executor, dictionary, found.chunks, ranges.numbering_folder)
        chunks = [
            (chunk, name_indices(told, names)) for chunk, told in zip(found.chunks, found.summaries)
        ]
        ranges = self._choose_numbering(ranges, dictionary, chunks)
        clock.begin_stage("writing tables")
        written = write_range_tables(executor, ranges, dictionary, chunks, len(names[KIND_CLASS]))
        rare = _DriverAssertions(
            found.rare, dictionary, ranges, role_box(self.ontology.tbox.axioms)
        )
        counts = _assertion_counts(written, rare)
        clock.begin_stage("told literals")
        rules = CalculusRecipe(
            ranges.build, self.ontology.tbox, _vocabulary_additions(names, counts, rare), names
        )
        told = saturate_told(executor, ranges, rules, rare.initial_told_state())
        labels = sorted({EMPTY, *distinct_labels(executor, told)})
        clock.begin_stage("writing tables")
        tables = {name: [w.files[name] for w in written if name in w.files] for name in ALWAYS}
        tables["elements"] = write_elements(executor, ranges, told, labels)
        small = {"names": name_rows(names), "labels": label_rows(labels), **rare.tables()}
        small |= grouping_tables(
            "same", _partition_by_id(rare.initial_told_state())
        ) | grouping_tables("equal", _partition_by_id(told))
        small |= grouping_tables("merged", make_partition(NONE, NONE))
        tables |= self._write_driver_tables(small, ranges)
        clock.begin_stage("certifying")
        indexed = IndexedStore(
            str(self.rebuild.path),
            self._unfinished_manifest(tables, counts),
            rules,
            "told",
            *negative_vocabulary(rare.complex, rare.roles),
        )
        asking = ReasonerSettings(
            settings.reasoner, settings.heap, settings.timeout, settings.audit
        )
        completed = None
        if settings.certifies_by_model and counts.assertions and not any(map(clashes, labels)):
            completed = certify_by_model(executor, ranges, indexed, asking)
        if completed is None:
            clock.begin_stage("merge classes")
            merged = merge_classes(executor, ranges, indexed)
            tables |= self._write_driver_tables(grouping_tables("merged", merged), ranges)
            unfinished = self._unfinished_manifest(tables, counts)
            indexed = replace(indexed, manifest=unfinished, stage="merged")
            clock.begin_stage("certifying")
            certified = certify(
                executor,
                ranges,
                indexed,
                asking,
                limit=settings.limit,
                names_open=settings.names_undecided,
            )
        else:
            certified = completed.certificate
        kept = counts.class_assertions + certified.kept_assertions + len(rare)
        clock.begin_stage("writing tables")
        if completed is not None:
            if not {*completed.labels} <= {*labels}:
                labels = sorted({*labels, *completed.labels})
                tables["elements"] = write_elements(executor, ranges, told, labels)
                tables |= self._write_driver_tables({"labels": label_rows(labels)}, ranges)
            tables |= write_certified_model(executor, ranges, completed, labels)
        built = BuiltStore(
            found,
            indexed,
            certified,
            counts,
            kept,
            completed is not None,
            max(completed.most_edges, told.largest_element) if completed else 0,
            clock.seconds,
        )
        certificate = certifying(built)
        if certificate is None:
            self._delete_tables(tables)
            return built
        committed = {name: table_of_files(files) for name, files in tables.items()}
        document = index_document(
            rules.extra,
            indexed.negated_roles,
            indexed.negated_properties,
            simplify(rules.tbox, rules.extra).clauses,
            is_contradictory=any(map(clashes, labels)),
        )
        self.rebuild.finish(
            committed,
            document,
            counts,
            leftovers=found.leftovers,
            tbox_leftovers=self.ontology.leftovers,
            certificate=certificate,
            asides=self.quarantine,
            left_out=chain.from_iterable(found.left_out),
        ).close()
        clock.end_stage(clock.step)
        return built

    def _delete_tables(self, tables: Mapping[str, Sequence[DataFile]]) -> None:
        """Delete the files of ``tables`` (files by table name) from the store."""
        for file in (file for files in tables.values() for file in files):
            for path in (file.path, *([lookup_path(file.path)] if file.lookup else [])):
                remove_file(self.rebuild.path, path)

    def _choose_numbering(
        self, ranges: Ranges, dictionary: Dictionary, chunks: Sequence[NumberedChunk]
    ) -> Ranges:
        """Choose the ranks of individuals: keep the order by name, or renumber by clusters if then
        more role assertions have ends with near ranks (see `local_rank`).
        """
        hubs = merge_edges(self.executor, ranges, chunks)
        near = measure_nearness(self.executor, ranges, hubs)
        if near >= GOOD:
            return ranges
        return renumber(
            self.executor, ranges, dictionary, chunks, near, self.settings.single_task_links
        )

    def _unfinished_manifest(
        self, tables: Mapping[str, Sequence[DataFile]], counts: AssertionCounts
    ) -> Manifest:
        """Make the manifest by which tasks open the tables that this build has written so far."""
        versions = {name: table_of_files(files) for name, files in tables.items()}
        return self.rebuild.unfinished_manifest(versions, counts)

    def _write_driver_tables(
        self, tables: Mapping[str, Columns], ranges: Ranges
    ) -> dict[str, list[DataFile]]:
        """Write the tables that the driver holds in memory to the store, one file each; empty
        tables get no file. Returns the files by table name.
        """
        found = {}
        for name, columns in tables.items():
            rows = len(next(iter(columns.values())))
            file = f"part-00000-{ranges.build}-{uuid.uuid4().hex[:8]}.zstd.parquet"
            found[name] = [write_part(self.rebuild.path, name, file, columns)] if rows else []
        return found


class _DriverAssertions:
    """The few assertions of a build that stay in the driver's memory, by rank of their individuals:
    equalities, inequalities and complex assertions.
    """

    def __init__(self, abox: ABox, dictionary: Dictionary, ranges: Ranges, roles: RoleBox) -> None:
        self.roles = roles
        self.complex: list[Assertion] = sorted(set(abox.complex), key=complex_text)
        used = sorted(
            {
                *abox.different.first,
                *abox.different.second,
                *(i for pair in abox.same for i in pair),
            }
        )
        terms = dict.fromkeys([abox.individuals[i] for i in used])
        terms.update(dict.fromkeys(i for a in self.complex for i in individuals_of(a)))
        ranks = look_up_ranks(ranges, dictionary, list(terms))
        self.rank = dict(zip(terms, ranks))
        self.same, self.different = (
            np.array(
                [[self.rank[abox.individuals[i]] for i in pair] for pair in pairs], np.int64
            ).reshape(-1, 2)
            for pairs in (dict.fromkeys(abox.same), dict.fromkeys(abox.different))
        )

    def __len__(self) -> int:
        return len(self.same) + len(self.different) + len(self.complex)

    def initial_told_state(self) -> ToldState:
        """Make the state that `saturate_told` starts from: asserted equality only."""
        begun = ToldState((), tuple(self._asserted_name_literals()), self.different)
        return begun.unite(self.same[:, 0], self.same[:, 1]) if len(self.same) else begun

    def _asserted_name_literals(self) -> list[tuple[int, NameLiteral]]:
        """(node, literal) for each class name that a complex assertion asserts or negates."""
        found: list[tuple[int, NameLiteral]] = []
        for assertion in self.complex:
            for plain in normalise(assertion, self.roles).assertions:
                match plain:
                    case ClassAssertion(Class(iri), individual):
                        found.append((self.rank[individual], (iri, True)))
                    case ClassAssertion(ObjectComplementOf(Class(iri)), individual):
                        found.append((self.rank[individual], (iri, False)))
        return found

    def tables(self) -> dict[str, Columns]:
        """The columns of the tables for these assertions, by table name."""
        named = np.concatenate([self.same, self.different])
        kind = np.repeat(
            np.array([SAME, DIFFERENT], np.int64), [len(self.same), len(self.different)]
        )
        pairs = array_table(
            "node", half_edge_rows(spread(named[:, 0]), "kind", kind, spread(named[:, 1]))
        )
        ids = {term: int(spread(np.array([rank]))[0]) for term, rank in self.rank.items()}
        rows = array_table("node", complex_rows(self.complex, ids)).columns
        values = [complex_text(self.complex[i]) for i in rows["ordinal"].tolist()]
        return {
            "pairs": dict(pairs.columns),
            "complex": {**rows, "value": pa.array(values, pa.string())},
        }


@contextmanager
def open_scratch(
    executor: Executor, store: StoreLocation, *, keep: bool = False
) -> Iterator[Scratch]:
    """Context manager: a folder below the ``store`` for intermediate files.

    The folder is removed at the end, unless ``keep``. Raises: OperationalError where a worker does
    not see what the driver writes there.
    """
    executor.share_access(store)
    if isinstance(store, Path):
        shutil.rmtree(store / BUILDING, ignore_errors=True)
    scratch = Scratch(store, f"{BUILDING}/{uuid.uuid4().hex[:12]}")
    try:
        if isinstance(store, Path):
            _require_shared_folder(executor, store, scratch / "mark")
        yield scratch
    finally:
        if not keep and isinstance(store, Path):
            shutil.rmtree(store / BUILDING, ignore_errors=True)
        elif not keep and not isinstance(store, Path):
            store.remove_folder(scratch.name)


def _require_shared_folder(executor: Executor, store: Path, mark: Scratch) -> None:
    """Check that every worker sees the driver's file ``mark``. Raises: OperationalError."""
    with mark.stage() as temporary:
        temporary.write_text(mark.name)
    seen = executor.run(
        _is_visible_to_worker, [mark] * executor.least_tasks, "checking the store's place"
    )
    if blind := sorted({host for host, sees in seen if not sees}):
        raise OperationalError(
            f"{store}: not seen by the executors on {', '.join(blind)}",
            "Put the store where driver and executors share files, or into an object store (s3://BUCKET/NAME).",
        )


def _is_visible_to_worker(mark: Scratch) -> tuple[str, bool]:
    """Task: return the host name of the worker, and whether it sees the driver's file ``mark``."""
    return socket.gethostname(), mark.path().exists()


def look_up_ranks(ranges: Ranges, dictionary: Dictionary, terms: list[str]) -> list[int]:
    """Look up the rank of each individual in ``terms``, in the numbering that the build has chosen."""
    found = dictionary.ranks_of(terms)
    if not ranges.is_renumbered:
        return found
    return clustered_ranks(ranges, np.array(found, np.int64)).tolist()


def _partition_by_id(told: ToldState) -> StoredPartition:
    """Convert the merged elements of the told state, given by rank, to a stored partition over ids."""
    return make_partition(spread(told.member), spread(told.group))


def _assertion_counts(written: Sequence[WrittenTables], rare: _DriverAssertions) -> AssertionCounts:
    """Sum up the numbers of assertions that the tasks of all id ranges have written."""
    classes = [sum(column) for column in zip(*(w.class_counts for w in written))]
    class_assertions, roles, data = (
        sum(classes),
        sum(w.role_assertions for w in written),
        sum(w.data_assertions for w in written),
    )
    return AssertionCounts(
        class_assertions,
        roles,
        data,
        class_assertions + roles + data + len(rare),
        classes,
    )


def _vocabulary_additions(
    names: Mapping[int, Sequence[str]], counts: AssertionCounts, rare: _DriverAssertions
) -> Extra:
    """Collect the names and definitions that the assertions A add to the TBox, in the order of
    `shiq.abox_ops.index.index.build_index`.
    """
    by_node = rare.tables()["complex"]["ordinal"].tolist()
    complex_ = [rare.complex[i] for i in dict.fromkeys(by_node)]
    known = NameNumbering(Interner(names[KIND_CLASS]))
    return needed_vocabulary(
        known, np.flatnonzero(np.array(counts.class_counts)), complex_, rare.roles
    )
