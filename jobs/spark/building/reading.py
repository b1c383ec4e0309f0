"""The assertions of many sources as chunks, with one account of everything that became none: as
`shiq.rdf.read_assertions`.

The chunks are judged by the TBox's vocabulary. The rare triples that speak of other triples are
read together on the driver; if what they say changes how the chunks are to be judged (an
ontology header, an annotation property, a reified axiom), the chunks are judged again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from pyspark.sql import SparkSession

from jobs.checking.inputs import without_ill_typed
from jobs.spark.building.chunks import ChunkSummary, cut, folder_of, leave, less, read_chunk
from jobs.spark.building.files import Scratch, run
from jobs.spark.building.left_out import LeftOutFiles
from shiq.abox import ABox, abox_of
from shiq.catalog import Catalog
from shiq.errors import InputError
from shiq.left_out import Spool, of_data
from shiq.model import Assertion, Signature, TBox
from shiq.rdf import read_assertions
from shiq.rdf.accounts import Finding, capped
from shiq.rdf.judging import (
    LEFT_OUT,
    Judging,
    RangeReport,
    entities_of,
    first_lines,
    is_of_unknown_property,
    located,
    merged,
    refuse_no_triples,
    rejects_of,
)
from shiq.rdf.load import LoadedSources
from shiq.rdf.ranges import is_cut
from shiq.rdf.reader import _own, _Reader
from shiq.rdf.surroundings import document_iris
from shiq.reading import Reading
from shiq.sources import FileSource, TableKind, TableSource, source_of
from shiq.verdict import Leftover

_JUDGINGS = 4


@dataclass(frozen=True)
class Chunks:
    """The chunks that were left below ``root``, by number, with what each told; ``rare``: the
    assertions that the driver holds (sameAs and differentFrom, complex and negative ones; plain
    ones are in the last chunk); leftovers and ledger of all; ``left_out``: as
    `Reading.left_out`, of what is in no check, for as long as the chunks are there.
    """

    root: Scratch
    chunks: Sequence[int]
    summaries: Sequence[ChunkSummary]
    rare: ABox
    leftovers: tuple[Leftover, ...]
    ledger: Counter[str]
    left_out: Sequence[Iterable[Leftover]] = ()


def read(
    session: SparkSession,
    sources: Sequence[object],
    ontology: Reading,
    scratch: Scratch,
    chunk_bytes: int,
    aside: bool = False,
    catalog: Catalog | None = None,
    gone: Collection[Assertion] = (),
) -> Chunks:
    """Reads ``sources`` (and the assertions of ``ontology``) into chunks below ``scratch``.
    ``aside``: without data assertions whose literal is ill-typed; each is a leftover. What is
    ``gone`` is accounted for, but left out.

    N-Triples and tables of files are read in parallel, anything else by the driver. Blank nodes
    of the i-th source are named ``_:a{i}.label``, as `shiq.rdf` names them; those of sources
    that the driver reads ``_:b{i}.label``.

    Raises: InputError, UsageError.
    """
    known = [source_of(source) for source in sources]
    parts = [
        (s, f"a{i}")
        for i, s in enumerate(known)
        if isinstance(s, FileSource | TableSource) and _is_cut(s)
    ]
    others = [value for value, s in zip(sources, known) if not _is_cut(s)]
    ranges, passed_over = cut(session, parts, scratch, chunk_bytes)
    chunks = list(enumerate(ranges))
    signature = ontology.tbox.signature
    judging = Judging(signature, asked=entities_of(signature), aside=aside)
    for turn in range(_JUDGINGS):
        # A task of an earlier turn that is still about cannot write where this one reads.
        root = scratch / f"read-{turn}"
        found = run(
            session, partial(read_chunk, judging=judging, root=root, gone=gone), chunks, "reading"
        )
        unplaced, summaries = [report for report, _ in found], [summary for _, summary in found]
        reports = located(unplaced)
        for report in reports:
            if report.error is not None:
                raise InputError(*report.error)
        typed = frozenset[str]().union(*(report.typed for report in reports))
        reader = _DriverReader(_loaded(parts, reports, passed_over), ontology, typed)
        needed = reader.judging(judging)
        if not _matters(judging, needed, reports):
            break
        judging = needed
    else:
        raise InputError(
            "the assertions cannot be judged: what is known of their vocabulary does not settle",
            "Report it.",
        )
    rare = reader.reading()
    ledger, leftovers = Counter(rare.ledger), [*rare.leftovers, *merged(reports)]
    for report in reports:
        ledger.update(report.ledger)
    lines, *of_chunks = _left_out(root, summaries, first_lines(unplaced))
    left_out: list[Iterable[Leftover]] = [lines, Spool(of_data(rare.left_out)), *of_chunks]
    assertions = [*ontology.abox, *rare.abox]
    if others:
        axioms, known_iris = ontology.tbox.axioms, ontology.ontologies
        told = read_assertions(
            others, signature, ontologies=known_iris, axioms=axioms, scope="b", catalog=catalog
        )
        ledger.update(told.ledger)
        leftovers += told.leftovers
        left_out.append(Spool(of_data(told.left_out)))
        assertions += told.abox
    abox = abox_of(assertions)
    if aside:
        abox, more = without_ill_typed(abox)
        leftovers += more
        left_out.append(more)
    abox = less(abox, gone)
    last = leave(abox, folder_of(root, len(chunks)))
    return Chunks(
        root,
        range(len(chunks) + 1),
        [*summaries, last],
        abox,
        tuple(capped(leftovers)),
        ledger,
        left_out,
    )


def _is_cut(source: object) -> bool:
    return is_cut(source) or (
        isinstance(source, TableSource) and source.kind is TableKind.SPARK and source.is_plain
    )


def _left_out(
    root: Scratch, summaries: Sequence[ChunkSummary], before: Sequence[int]
) -> list[LeftOutFiles]:
    """What the chunks left out, part by part; ``before``: the lines of its source before each."""
    chunks = [
        (folder_of(root, i), lines, told.left_out)
        for i, (told, lines) in enumerate(zip(summaries, before))
    ]
    return [
        LeftOutFiles(part, [(folder, lines) for folder, lines, parts in chunks if part in parts])
        for part in LEFT_OUT
    ]


def _matters(before: Judging, now: Judging, reports: Sequence[RangeReport]) -> bool:
    """Whether chunks that were judged by ``before`` may have been judged otherwise by ``now``:
    ontologies, declarations and the names of individuals count where a property is not known,
    axioms that are nodes everywhere, and what the properties are.
    """
    if not now.asked <= before.asked or now.nodes != before.nodes:
        return True
    if (now.known.object_properties, now.known.data_properties) != (
        before.known.object_properties,
        before.known.data_properties,
    ):
        return True
    differs = (before.headers, before.known, before.typed) != (now.headers, now.known, now.typed)
    return differs and any(
        is_of_unknown_property(x) for report in reports for x in report.leftovers
    )


def _loaded(
    sources: Sequence[tuple[FileSource | TableSource, str]],
    reports: Sequence[RangeReport],
    passed_over: Mapping[str, Sequence[Leftover]],
) -> LoadedSources:
    """The rare triples as if they were all there is, and what is wrong with single lines."""
    loaded = LoadedSources()
    by_source: dict[str, list[RangeReport]] = {scope: [] for _, scope in sources}
    for report in reports:
        by_source[report.scope].append(report)
    for source, scope in sources:
        own, begun = by_source[scope], len(loaded.triples)
        loaded.sources.append(source.name)
        loaded.triples.begin(source.name)
        for report in own:
            for triple in report.rare:
                loaded.triples.add(*triple)
        loaded.ontologies |= document_iris(loaded.triples, begun)
        shown, total = rejects_of(own)
        loaded.leftovers += (*shown, *passed_over.get(scope, ()))
        if isinstance(source, FileSource):
            loaded.ontologies.add(source.iri)
            refuse_no_triples(own, f" ({shown[0].message})" if shown else "")
        if total:
            loaded.ledger["leftover:malformed"] += total
    loaded.whole.append((tuple(loaded.leftovers), ()))  # the tasks keep these
    return loaded


class _Recorded(set[str]):
    """A set that remembers what it was asked for."""

    def __init__(self, values: Collection[str]) -> None:
        super().__init__(values)
        self.asked: set[str] = set()

    def __contains__(self, value: object) -> bool:
        self.asked.add(str(value))
        return super().__contains__(value)


class _DriverReader(_Reader):
    """What `read_assertions` does with its sources, for the rare triples of chunks; ``typed``
    are the names that are known to be individuals, of those that were asked for.
    """

    def __init__(self, loaded: LoadedSources, ontology: Reading, typed: frozenset[str]) -> None:
        self.ontology, self.known_typed = ontology, _Recorded(typed)
        super().__init__(loaded, ontology.ontologies, fixed=ontology.tbox.signature)

    def _typed(self) -> set[str]:
        return self.known_typed

    def judging(self, before: Judging) -> Judging:
        """What the chunks have to be judged by, as far as these triples tell."""
        asked = before.asked | entities_of(self.known()) | self.known_typed.asked
        headers, nodes = frozenset(self.around.headers), frozenset(self.around.nodes)
        typed = frozenset(self.known_typed)
        return replace(
            before, known=self.known(), headers=headers, nodes=nodes, asked=asked, typed=typed
        )

    def known(self) -> Signature:
        return self.kinds.of_data(self.ontology.tbox.signature)

    def reading(self) -> Reading:
        """See `read_assertions`."""
        axioms = self.ontology.tbox.axioms
        own = _own(axioms, self.ontology.leftovers)
        findings: dict[object, list[Finding]] = {
            axiom: [
                (
                    "tbox-axiom",
                    f"{type(axiom).__name__}: an axiom among assertions",
                    "give its file with the TBox",
                )
            ]
            for axiom in self.axioms()
            if not own(axiom)
        }
        self.accounts.settle(self.loaded.axioms, self.mapping.axioms, "axiom", findings)  # type: ignore[arg-type]
        return self.finish(TBox(), self.known(), list(axioms))
