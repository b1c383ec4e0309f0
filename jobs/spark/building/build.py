"""Building a store on Spark: the driver of the steps.

    lines -> chunks of assertions => dictionary => ranks in chunks => rows by range of ids ->
    table files -> told literals -> model of A, or else merge classes -> certificate

An arrow => is a shuffle of Spark's; between steps, chunks and ranges lie at the place of the store.

Nothing that scales with A is collected: the driver holds counts, names, signatures, and what is
rare: OWL vocabulary among the assertions (sameAs, differentFrom, complex and negative
assertions), the members of elements that are equal for certain, and the merge classes that have
several elements: of the model, or, where there is none, of told, which may be many.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from types import MappingProxyType

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from abox_ops.elements.columns import NameLiteral
from abox_ops.elements.normal import normalise
from abox_ops.elements.partition import StoredPartition, grouping
from abox_ops.index.columns import Extra, negated, vocabulary_of
from abox_ops.labels.calculus import EMPTY, Label, clashes
from abox_ops.labels.documents import clauses_hash, complex_text, label_rows
from jobs.spark.building.certificate import CertificateFigures, certify, consistent
from jobs.spark.building.chunks import CHUNK_BYTES
from jobs.spark.building.clustering import FINISH, new_ranks, renumber
from jobs.spark.building.completion import complete, write_completion
from jobs.spark.building.dictionary import (
    Dictionary,
    all_names,
    make_dictionary,
    numbers_of,
    rank_chunks,
)
from jobs.spark.building.files import Scratch, scratch_of
from jobs.spark.building.merging import IndexedStore, grouping_tables, merge_classes
from jobs.spark.building.reading import Chunks, read
from jobs.spark.building.tables import (
    Numbered,
    Ranges,
    WrittenTables,
    is_local,
    merge_edges,
    name_rows,
    nearness_of,
    write_ranges,
)
from jobs.spark.building.told import TaskRules, ToldState, distinct_labels, tell, write_elements
from jobs.spark.reasoners import Asking
from jobs.spark.worker import StoreKey
from jobs.store import Certificate
from jobs.store.files import DataFile
from jobs.store.lookup import lookup_path
from jobs.store.numbering import NEAR, RANGE, spread
from jobs.store.replacing import Replacement
from jobs.store.schema import ALWAYS, KIND_CLASS, of_ranges, write_part
from jobs.store.write import AssertionCounts, Rebuild, rebuilding
from shiq.abox import ABox, Interner, individuals_of
from shiq.aside import Aside
from shiq.catalog import Catalog
from shiq.columns.arrays import NONE, Columns, array_table
from shiq.columns.rows import DIFFERENT, SAME, Names, both_ends, complex_rows
from shiq.model import Assertion, Class, ClassAssertion, ObjectComplementOf
from shiq.model_json import encode
from shiq.reading import Reading
from shiq.remote.place import Place, remove
from shiq.roles import Role, RoleBox, role_box
from shiq.verdict import Leftover
from simplify import simplify


@dataclass(frozen=True)
class BuildSettings:
    """How to build. ``width``, ``near``: see `jobs.store.numbering`, whose values they have but
    in tests; ``finish``: see `jobs.spark.building.clustering`; ``chunk_bytes``: of text in a
    task. ``aside``: whether ill-typed data assertions are left out, and reported; ``catalog``:
    of what only the driver can read; ``completes``: whether to certify by a model that the store
    keeps (`jobs.spark.building.completion`); ``names_open``: whether the individuals of
    undecided modules are told. The rest as in `jobs.checking.options.Options`.
    """

    width: int = RANGE
    near: int = NEAR
    finish: int = FINISH
    chunk_bytes: int = CHUNK_BYTES
    reasoner: str = "auto"
    heap: str = "1g"
    timeout: float | None = None
    audit: float = 0.0
    limit: int = 1000
    aside: bool = False
    catalog: Catalog | None = None
    completes: bool = True
    names_open: bool = False
    keep_scratch: bool = False


@dataclass
class BuiltStore:
    """What was built: how it was read, by what tasks open it, what is known of it, how many
    assertions, whether the store keeps the model that certified it, and wall seconds by stage.
    """

    read: Chunks
    indexed: IndexedStore
    certified: CertificateFigures
    counts: AssertionCounts
    kept: int
    is_completed: bool = False
    seconds: dict[str, float] = field(default_factory=dict)


#: Gives the certificate of what was built; None if it is not to be kept.
Certifying = Callable[[BuiltStore], Certificate | None]


def build(
    session: SparkSession,
    store: Place,
    ontology: Reading,
    sources: Sequence[object],
    certifying: Certifying,
    *,
    leftovers: Callable[[Chunks], tuple[Leftover, ...]],
    settings: BuildSettings = BuildSettings(),
    progress: Callable[[str, int, int], None] | None = None,
    gone: Collection[Assertion] = (),
    asides: Sequence[Aside] = (),
    taken: Mapping[str, int] = MappingProxyType({}),
    place: Replacement | None = None,
) -> BuiltStore:
    """Builds the store of the TBox of ``ontology`` with the assertions of it and of ``sources``
    at ``store``, and certifies it. What is ``gone`` of them is left out, and kept beside as
    ``asides``. ``taken``: see `jobs.store.manifest.TAKEN`; ``place``: what was found at
    ``store`` before, which has to be there still.

    The store is the one that `jobs.store.upkeep.build.write_store` writes for the same
    assertions, but for how rows are cut into files. All executors have to see ``store`` and
    ``sources`` under these names, and no other folder.

    Raises: InputError, UsageError, StoreError, OperationalError.
    """
    store = store.absolute()
    stages = _Stages(progress)
    with rebuilding(
        store, ontology.tbox, ontology.ontologies, labels=ontology.labels, place=place
    ) as rebuild:
        rebuild = replace(rebuild, width=settings.width, taken=taken)
        with scratch_of(session, store, keep=settings.keep_scratch) as scratch:
            made = _Build(session, rebuild, ontology, scratch, settings, stages, gone, asides)
            return made.run(sources, certifying, leftovers)


@dataclass
class _Stages:
    progress: Callable[[str, int, int], None] | None
    seconds: dict[str, float] = field(default_factory=dict)
    _stage: str = ""
    _last: float = field(default_factory=time.perf_counter)

    def begin(self, name: str) -> None:
        """Books the time so far to the stage before, and begins ``name``."""
        now = time.perf_counter()
        if self._stage:
            self.seconds[self._stage] = self.seconds.get(self._stage, 0.0) + now - self._last
        self._stage, self._last = name, now
        if name and self.progress is not None:
            self.progress(name, 0, 0)


@dataclass
class _Build:
    session: SparkSession
    rebuild: Rebuild
    ontology: Reading
    scratch: Scratch
    settings: BuildSettings
    stages: _Stages
    gone: Collection[Assertion]
    asides: Sequence[Aside]

    def run(
        self,
        sources: Sequence[object],
        certifying: Certifying,
        leftovers: Callable[[Chunks], tuple[Leftover, ...]],
    ) -> BuiltStore:
        session, stages = self.session, self.stages
        stages.begin("reading")
        settings = self.settings
        size, aside, catalog = settings.chunk_bytes, settings.aside, settings.catalog
        found = read(session, sources, self.ontology, self.scratch, size, aside, catalog, self.gone)
        stages.begin("numbering")
        dictionary = make_dictionary(
            session, self.scratch, found.root, found.chunks, found.summaries
        )
        names = all_names(found.summaries)
        build, nodes = uuid.uuid4().hex[:12], len(dictionary)
        ranges = Ranges(self.scratch, found.root, build, nodes, settings.width, settings.near)
        rank_chunks(session, dictionary, found.chunks, ranges.order)
        chunks = [
            (chunk, numbers_of(told, names)) for chunk, told in zip(found.chunks, found.summaries)
        ]
        ranges = self._numbered(ranges, dictionary, chunks)
        stages.begin("writing tables")
        written = write_ranges(session, ranges, dictionary, chunks, len(names[KIND_CLASS]))
        rare = _Rare(found.rare, dictionary, ranges, role_box(self.ontology.tbox.axioms))
        counts = _counts(written, rare)
        stages.begin("told literals")
        rules = TaskRules(ranges.build, self.ontology.tbox, _extra(names, counts, rare), names)
        told = tell(session, ranges, rules, rare.told())
        labels = sorted({EMPTY, *distinct_labels(session, ranges, told)})
        stages.begin("writing tables")
        tables = {name: [w.files[name] for w in written if name in w.files] for name in ALWAYS}
        tables["elements"] = write_elements(session, ranges, told, labels)
        small = {"names": name_rows(names), "labels": label_rows(labels), **rare.tables()}
        small |= grouping_tables("same", _by_id(rare.told())) | grouping_tables(
            "equal", _by_id(told)
        )
        small |= grouping_tables("merged", grouping(NONE, NONE))
        tables |= self._small(small, ranges)
        stages.begin("certifying")
        indexed = IndexedStore(self._key(tables, counts), rules, "told", *rare.negated())
        asking = Asking(settings.reasoner, settings.heap, settings.timeout, settings.audit)
        completed = None
        if settings.completes and counts.assertions and not any(map(clashes, labels)):
            completed = complete(session, ranges, indexed, asking)
        if completed is None:
            stages.begin("merge classes")
            merged = merge_classes(session, ranges, indexed)
            tables |= self._small(grouping_tables("merged", merged), ranges)
            indexed = replace(indexed, store=self._key(tables, counts), stage="merged")
            stages.begin("certifying")
            certified = certify(
                session,
                ranges,
                indexed,
                asking,
                limit=settings.limit,
                names_open=settings.names_open,
            )
        else:
            certified = consistent(
                completed.modules, completed.shapes, completed.kept, completed.drawn
            )
        kept = counts.class_assertions + certified.kept + rare.pairs + rare.complex_count
        stages.begin("writing tables")
        if completed is not None:
            if not {*completed.labels} <= {*labels}:
                labels = sorted({*labels, *completed.labels})
                tables["elements"] = write_elements(session, ranges, told, labels)
                tables |= self._small({"labels": label_rows(labels)}, ranges)
            tables |= write_completion(session, ranges, completed, labels)
        built = BuiltStore(
            found, indexed, certified, counts, kept, completed is not None, stages.seconds
        )
        certificate = certifying(built)
        if certificate is None:
            self._discard(tables)
            return built
        committed = {name: of_ranges(files) for name, files in tables.items()}
        document, left_over = _document(indexed, labels), leftovers(found)
        self.rebuild.finish(
            committed,
            document,
            counts,
            leftovers=left_over,
            certificate=certificate,
            asides=self.asides,
            left_out=chain.from_iterable(found.left_out),
        ).close()
        stages.begin("")
        return built

    def _discard(self, tables: Mapping[str, Sequence[DataFile]]) -> None:
        for file in (file for files in tables.values() for file in files):
            for path in (file.path, *([lookup_path(file.path)] if file.lookup else [])):
                remove(self.rebuild.path, path)

    def _numbered(
        self, ranges: Ranges, dictionary: Dictionary, chunks: Sequence[Numbered]
    ) -> Ranges:
        """The numbering that `jobs.store.numbering.local_rank` chooses: by term, or clustered
        where that is nearer.
        """
        hubs = merge_edges(self.session, ranges, chunks)
        near = nearness_of(self.session, ranges, hubs)
        if is_local(near):
            return ranges
        return renumber(self.session, ranges, dictionary, chunks, near, self.settings.finish)

    def _key(self, tables: Mapping[str, Sequence[DataFile]], counts: AssertionCounts) -> StoreKey:
        """The key by which tasks open what is written so far."""
        versions = {name: of_ranges(files) for name, files in tables.items()}
        return StoreKey(str(self.rebuild.path), self.rebuild.unfinished(versions, counts))

    def _small(self, tables: Mapping[str, Columns], ranges: Ranges) -> dict[str, list[DataFile]]:
        """Writes tables that the driver holds, a file each; an empty one has none."""
        found = {}
        for name, columns in tables.items():
            rows = len(next(iter(columns.values())))
            file = f"part-00000-{ranges.build}-{uuid.uuid4().hex[:8]}.zstd.parquet"
            found[name] = [write_part(self.rebuild.path, name, file, columns)] if rows else []
        return found


class _Rare:
    """The assertions that the driver holds, by rank: pairs and complex ones."""

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
        ranks = ranks_in(ranges, dictionary, list(terms))
        self.rank = dict(zip(terms, ranks))
        self.same, self.different = (
            np.array(
                [[self.rank[abox.individuals[i]] for i in pair] for pair in pairs], np.int64
            ).reshape(-1, 2)
            for pairs in (dict.fromkeys(abox.same), dict.fromkeys(abox.different))
        )

    @property
    def pairs(self) -> int:
        return len(self.same) + len(self.different)

    @property
    def complex_count(self) -> int:
        return len(self.complex)

    def told(self) -> ToldState:
        """What `tell` begins with: asserted equality alone."""
        begun = ToldState((), tuple(self._literals()), self.different)
        return begun.united(self.same[:, 0], self.same[:, 1]) if len(self.same) else begun

    def _literals(self) -> list[tuple[int, NameLiteral]]:
        found: list[tuple[int, NameLiteral]] = []
        for assertion in self.complex:
            for plain in normalise(assertion, self.roles).assertions:
                match plain:
                    case ClassAssertion(Class(iri), individual):
                        found.append((self.rank[individual], (iri, True)))
                    case ClassAssertion(ObjectComplementOf(Class(iri)), individual):
                        found.append((self.rank[individual], (iri, False)))
        return found

    def negated(self) -> tuple[frozenset[Role], frozenset[str]]:
        return negated(self.complex, self.roles)

    def tables(self) -> dict[str, Columns]:
        named = np.concatenate([self.same, self.different])
        kind = np.repeat(
            np.array([SAME, DIFFERENT], np.int64), [len(self.same), len(self.different)]
        )
        pairs = array_table(
            "node", both_ends(spread(named[:, 0]), "kind", kind, spread(named[:, 1]))
        )
        ids = {term: int(spread(np.array([rank]))[0]) for term, rank in self.rank.items()}
        rows = array_table("node", complex_rows(self.complex, ids)).columns
        values = [complex_text(self.complex[i]) for i in rows["ordinal"].tolist()]
        return {
            "pairs": dict(pairs.columns),
            "complex": {**rows, "value": pa.array(values, pa.string())},
        }


def ranks_in(ranges: Ranges, dictionary: Dictionary, terms: list[str]) -> list[int]:
    """The rank that each term has now."""
    found = dictionary.ranks_of(terms)
    if not ranges.renumbered:
        return found
    ranks: list[int] = new_ranks(ranges, np.array(found, np.int64)).tolist()
    return ranks


def _document(indexed: IndexedStore, labels: Sequence[Label]) -> dict[str, object]:
    """What `jobs.store.upkeep.tables.index_document` says of the same index."""
    rules = indexed.rules
    return {
        "extra": [encode(x) for x in rules.extra],
        "negated_roles": sorted([role.iri, role.inverted] for role in indexed.negated_roles),
        "negated_properties": sorted(indexed.negated_properties),
        "contradictory": any(map(clashes, labels)),
        "clauses": clauses_hash(simplify(rules.tbox, rules.extra).clauses),
    }


def _by_id(told: ToldState) -> StoredPartition:
    return grouping(spread(told.member), spread(told.group))


def _counts(written: Sequence[WrittenTables], rare: _Rare) -> AssertionCounts:
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
        class_assertions + roles + data + rare.pairs + rare.complex_count,
        classes,
    )


def _extra(names: Mapping[int, Sequence[str]], counts: AssertionCounts, rare: _Rare) -> Extra:
    """What A's vocabulary adds to the TBox, in the order of `abox_ops.index.columns.build_index`."""
    by_node = rare.tables()["complex"]["ordinal"].tolist()
    complex_ = [rare.complex[i] for i in dict.fromkeys(by_node)]
    known = Names(Interner(names[KIND_CLASS]))
    return vocabulary_of(known, np.flatnonzero(np.array(counts.class_counts)), complex_, rare.roles)
