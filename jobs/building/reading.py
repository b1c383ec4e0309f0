"""Read the assertions of many sources as chunks in tasks; the driver accounts for all other lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from shiq.answers.verdict import Leftover
from shiq.errors import InputError
from shiq.inputs.catalog import Catalog
from shiq.inputs.reading import LeftoverSpool, Reading, select_data_leftovers
from shiq.inputs.sources import FileSource, TableKind, TableSource, classify_input
from shiq.jobs.building.chunks import (
    ChunkSummary,
    LeftOutFiles,
    cut_ranges,
    exclude_assertions,
    read_chunk,
    write_chunk,
)
from shiq.jobs.building.exchange import Executor, Scratch
from shiq.jobs.checking.inputs import drop_ill_typed
from shiq.model import Assertion, Signature, TBox
from shiq.model.abox import ABox, abox_of
from shiq.rdf import read_assertions
from shiq.rdf.ledger import cap_leftovers
from shiq.rdf.loaded_sources import LoadedSources
from shiq.rdf.ontology_header import document_iris
from shiq.rdf.range_reports import (
    LEFT_OUT,
    RangeReport,
    VocabularyContext,
    is_about_unknown_property,
    line_offsets,
    merge_leftovers,
    merge_rejects,
    refuse_if_no_triples,
    with_source_lines,
)
from shiq.rdf.reader import _SourceReader, foreign_axiom_findings
from shiq.rdf.source_ranges import can_be_cut

_JUDGINGS = 4


@dataclass(frozen=True)
class ChunkedInput:
    """The input of a build after reading: chunks on disk below ``root``, a summary of each, and the
    rare triples (axioms, declarations, equalities) that the driver interprets.

    left_out: lines that were left out, part by part
    """

    root: Scratch
    chunks: Sequence[int]
    summaries: Sequence[ChunkSummary]
    rare: ABox
    leftovers: tuple[Leftover, ...]
    ledger: Counter[str]
    left_out: Sequence[Iterable[Leftover]] = ()


def read_sources(
    executor: Executor,
    sources: Sequence[object],
    ontology: Reading,
    scratch: Scratch,
    chunk_bytes: int,
    keeps_left_out: bool = False,
    catalog: Catalog | None = None,
    excluded: Collection[Assertion] = (),
) -> ChunkedInput:
    """Read ``sources`` and the assertions of ``ontology`` into chunks below ``scratch``.

    keeps_left_out: keep lines that are left out, for the store's quarantine. excluded: assertions to leave out.
    """
    known = [classify_input(source) for source in sources]
    parts = [
        (s, f"a{i}")
        for i, s in enumerate(known)
        if isinstance(s, FileSource | TableSource) and _is_splittable(s)
    ]
    others = [value for value, s in zip(sources, known) if not _is_splittable(s)]
    ranges, passed_over = cut_ranges(executor, parts, scratch, chunk_bytes)
    chunks = list(enumerate(ranges))
    signature = ontology.tbox.signature
    judging = VocabularyContext(
        signature, queried_names=signature.all_terms, drops_ill_typed=keeps_left_out
    )
    for turn in range(_JUDGINGS):
        # A task of an earlier turn that is still about cannot write where this one reads.
        root = scratch / f"read-{turn}"
        found = executor.run(
            partial(read_chunk, context=judging, root=root, excluded=excluded), chunks, "reading"
        )
        unplaced, summaries = [report for report, _ in found], [summary for _, summary in found]
        reports = with_source_lines(unplaced)
        for report in reports:
            if report.error is not None:
                raise InputError(*report.error)
        typed = frozenset[str]().union(*(report.typed_individuals for report in reports))
        reader = _DriverReader(_load_rare_triples(parts, reports, passed_over), ontology, typed)
        needed = reader.vocabulary_context(judging)
        if not _may_change_reading(judging, needed, reports):
            break
        judging = needed
    else:
        raise InputError(
            "the assertions cannot be read: their vocabulary changes with each reading",
            "Please report this.",
        )
    rare = reader.reading()
    ledger, leftovers = Counter(rare.ledger), [*rare.leftovers, *merge_leftovers(reports)]
    for report in reports:
        ledger.update(report.ledger)
    lines, *of_chunks = _left_out_files(root, summaries, line_offsets(unplaced))
    left_out: list[Iterable[Leftover]] = [
        lines,
        LeftoverSpool(select_data_leftovers(rare.left_out)),
        *of_chunks,
    ]
    assertions = [*ontology.abox, *rare.abox]
    if others:
        axioms, known_iris = ontology.tbox.axioms, ontology.ontologies
        told = read_assertions(
            others, signature, ontologies=known_iris, axioms=axioms, scope="b", catalog=catalog
        )
        ledger.update(told.ledger)
        leftovers += told.leftovers
        left_out.append(LeftoverSpool(select_data_leftovers(told.left_out)))
        assertions += told.abox
    abox = abox_of(assertions)
    if keeps_left_out:
        abox, more = drop_ill_typed(abox)
        leftovers += more
        left_out.append(more)
    abox = exclude_assertions(abox, excluded)
    last = write_chunk(abox, root / len(chunks))
    return ChunkedInput(
        root,
        range(len(chunks) + 1),
        [*summaries, last],
        abox,
        tuple(cap_leftovers(leftovers)),
        ledger,
        left_out,
    )


def _is_splittable(source: object) -> bool:
    """Decide whether tasks can read ranges of this source."""
    return can_be_cut(source) or (
        isinstance(source, TableSource)
        and source.kind is TableKind.SPARK
        and source.has_ntriples_terms
    )


def _left_out_files(
    root: Scratch, summaries: Sequence[ChunkSummary], before: Sequence[int]
) -> list[LeftOutFiles]:
    """Collect the leftovers of all chunks, as one `LeftOutFiles` for each of the three kinds in
    `LEFT_OUT` (lines, triples, ill-typed).

    before: number of lines of its source before each chunk
    """
    chunks = [
        (root / i, lines, told.left_out) for i, (told, lines) in enumerate(zip(summaries, before))
    ]
    return [
        LeftOutFiles(part, [(folder, lines) for folder, lines, parts in chunks if part in parts])
        for part in LEFT_OUT
    ]


def _may_change_reading(
    before: VocabularyContext, now: VocabularyContext, reports: Sequence[RangeReport]
) -> bool:
    """Decide whether chunks that were read under the vocabulary ``before`` must be read again,
    since the vocabulary ``now`` may interpret their triples otherwise.

    Ontologies, declarations and names of individuals matter where a property is unknown. Nodes of
    axioms, and kinds of properties, matter everywhere.
    """
    if not now.queried_names <= before.queried_names or now.nodes != before.nodes:
        return True
    if (now.signature.object_properties, now.signature.data_properties) != (
        before.signature.object_properties,
        before.signature.data_properties,
    ):
        return True
    differs = (before.headers, before.signature, before.typed_individuals) != (
        now.headers,
        now.signature,
        now.typed_individuals,
    )
    return differs and any(
        is_about_unknown_property(x) for report in reports for x in report.leftovers
    )


def _load_rare_triples(
    sources: Sequence[tuple[FileSource | TableSource, str]],
    reports: Sequence[RangeReport],
    passed_over: Mapping[str, Sequence[Leftover]],
) -> LoadedSources:
    """Load the rare triples of all chunks as if they were the whole input, together with errors
    about single lines.
    """
    loaded = LoadedSources()
    by_source: dict[str, list[RangeReport]] = {scope: [] for _, scope in sources}
    for report in reports:
        by_source[report.scope].append(report)
    for source, scope in sources:
        own, begun = by_source[scope], len(loaded.triples)
        loaded.sources.append(source.name)
        loaded.triples.begin_source(source.name)
        for report in own:
            for triple in report.cross_range_triples:
                loaded.triples.add(*triple)
        loaded.imports.ontologies |= document_iris(loaded.triples, begun)
        shown, total = merge_rejects(own)
        loaded.leftovers += (*shown, *passed_over.get(scope, ()))
        if isinstance(source, FileSource):
            loaded.imports.ontologies.add(source.iri)
            refuse_if_no_triples(own, f" ({shown[0].message})" if shown else "")
        if total:
            loaded.ledger["leftover:malformed"] += total
    loaded.full_leftovers.append((tuple(loaded.leftovers), ()))  # the tasks keep these
    return loaded


class _RecordingSet(set[str]):
    """A set that records each value for which ``in`` was asked."""

    def __init__(self, values: Collection[str]) -> None:
        super().__init__(values)
        self.asked: set[str] = set()

    def __contains__(self, value: object) -> bool:
        self.asked.add(str(value))
        return super().__contains__(value)


class _DriverReader(_SourceReader):
    """Reads the rare triples of all chunks on the driver, as `read_assertions` reads a complete
    input.

    typed: names that are known to be individuals, among those that were asked for
    """

    def __init__(self, loaded: LoadedSources, ontology: Reading, typed: frozenset[str]) -> None:
        self.ontology, self.known_typed = ontology, _RecordingSet(typed)
        self._typed_individuals = self.known_typed  # instead of those among the rare triples
        super().__init__(loaded, ontology.ontologies, fixed=ontology.tbox.signature)

    def vocabulary_context(self, before: VocabularyContext) -> VocabularyContext:
        """Make the vocabulary by which tasks interpret chunks, as far as the rare triples determine
        it.
        """
        asked = before.queried_names | self.known_signature().all_terms | self.known_typed.asked
        headers, nodes = frozenset(self.surroundings.headers), frozenset(self.surroundings.nodes)
        typed = frozenset(self.known_typed)
        return replace(
            before,
            signature=self.known_signature(),
            headers=headers,
            nodes=nodes,
            queried_names=asked,
            typed_individuals=typed,
        )

    def known_signature(self) -> Signature:
        """The names that the ontology and the rare triples declare."""
        return self.kinds.data_signature(self.ontology.tbox.signature)

    def reading(self) -> Reading:
        """Interpret the rare triples; see `read_assertions`."""
        axioms = self.ontology.tbox.axioms
        findings = foreign_axiom_findings(self.axioms(), axioms, self.ontology.leftovers)
        self.ledger.record_values(self.loaded.axioms, self.mapping.axioms, "axiom", findings)
        return self.read_data(TBox(), self.known_signature(), list(axioms))
