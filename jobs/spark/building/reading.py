"""The assertions of many files as chunks, with one account of everything that became none: what `shiq.rdf.read_assertions` gives.

The chunks are judged by the TBox's vocabulary. The rare triples that speak of other triples are read together on the driver; if
what they say changes how the chunks are to be judged (an ontology header, an annotation property, a reified axiom), the chunks
are judged again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from jobs.checking.inputs import without_ill_typed
from jobs.spark.building.chunks import Chunk, Judging, Summary, cut, folder_of, judge, leave, less, rejects_of
from jobs.spark.building.files import run
from shiq.abox import ABox, abox_of
from shiq.catalog import Catalog
from shiq.errors import InputError
from shiq.formats import LINE_FORMATS
from shiq.model import Assertion, Signature, TBox
from shiq.rdf import read_assertions
from shiq.rdf.accounts import Finding, capped
from shiq.rdf.load import Loaded
from shiq.rdf.reader import _own, _Reader
from shiq.reading import Reading
from shiq.sources import FileSource, Source, source_of
from shiq.verdict import Leftover

_JUDGINGS = 4


@dataclass(frozen=True)
class Read:
    """The chunks that were left below ``root``, by number, with what each told; ``rare``: the assertions that the driver holds
    (sameAs and differentFrom, complex and negative ones; plain ones are in the last chunk); leftovers and ledger of all."""

    root: Path
    chunks: Sequence[int]
    summaries: Sequence[Summary]
    rare: ABox
    leftovers: tuple[Leftover, ...]
    ledger: Counter[str]


def read(
    session: SparkSession,
    sources: Sequence[object],
    ontology: Reading,
    scratch: Path,
    chunk_bytes: int,
    aside: bool = False,
    catalog: Catalog | None = None,
    gone: Collection[Assertion] = (),
) -> Read:
    """Reads ``sources`` (and the assertions of ``ontology``) into chunks below ``scratch``. ``aside``: without data assertions
    whose literal is ill-typed; each is a leftover. What is ``gone`` is accounted for, but left out.

    N-Triples are read in parallel, anything else by the driver. Blank nodes of the i-th source are named ``_:a{i}.label``, as
    `shiq.rdf` names them; those of sources that the driver reads ``_:b{i}.label``.

    Raises: InputError, UsageError.
    """
    known = [source_of(source) for source in sources]
    files = [(s, f"a{i}") for i, s in enumerate(known) if isinstance(s, FileSource) and _is_splittable(s)]
    others = [value for value, s in zip(sources, known) if not (isinstance(s, FileSource) and _is_splittable(s))]
    chunks = cut(session, files, scratch, chunk_bytes)
    signature = ontology.tbox.signature
    judging = Judging(signature, asked=_entities(signature))
    for turn in range(_JUDGINGS):
        # A task of an earlier turn that is still about cannot write where this one reads.
        root = scratch / f"read-{turn}"
        summaries = run(session, partial(judge, judging=judging, root=str(root), aside=aside, gone=gone), chunks, "reading")
        for summary in summaries:
            if summary.error is not None:
                raise InputError(*summary.error)
        reader = _DriverReader(_loaded(files, chunks, summaries), ontology, frozenset[str]().union(*(s.typed for s in summaries)))
        needed = reader.judging(judging)
        if not _matters(judging, needed, summaries):
            break
        judging = needed
    else:
        raise InputError("the assertions cannot be judged: what is known of their vocabulary does not settle", "Report it.")
    rare = reader.reading()
    ledger, leftovers = Counter(rare.ledger), [*rare.leftovers, *_merged(summaries)]
    for summary in summaries:
        ledger.update(summary.ledger)
    assertions = [*ontology.abox, *rare.abox]
    if others:
        axioms, known_iris = ontology.tbox.axioms, ontology.ontologies
        told = read_assertions(others, signature, ontologies=known_iris, axioms=axioms, scope="b", catalog=catalog)
        ledger.update(told.ledger)
        leftovers += told.leftovers
        assertions += told.abox
    abox = abox_of(assertions)
    if aside:
        abox, more = without_ill_typed(abox)
        leftovers += more
    abox = less(abox, gone)
    last = Summary()
    leave(abox, folder_of(root, len(chunks)), last)
    return Read(root, range(len(chunks) + 1), [*summaries, last], abox, tuple(capped(leftovers)), ledger)


def _matters(before: Judging, now: Judging, summaries: Sequence[Summary]) -> bool:
    """Whether chunks that were judged by ``before`` may have been judged otherwise by ``now``: ontologies, declarations and the
    names of individuals count where a property is not known, axioms that are nodes everywhere, and what the properties are."""
    if not now.asked <= before.asked or now.nodes != before.nodes:
        return True
    if (now.known.object_properties, now.known.data_properties) != (before.known.object_properties, before.known.data_properties):
        return True
    differs = (before.headers, before.known, before.typed) != (now.headers, now.known, now.typed)
    return differs and any(x.message.startswith(_ORDER[1]) for summary in summaries for x in summary.leftovers)


def _is_splittable(source: Source) -> bool:
    return isinstance(source, FileSource) and source.format in LINE_FORMATS and source.content is None


def _entities(known: Signature) -> frozenset[str]:
    return known.classes | known.object_properties | known.data_properties | known.annotation_properties | known.datatypes


def _loaded(files: Sequence[tuple[FileSource, str]], chunks: Sequence[Chunk], summaries: Sequence[Summary]) -> Loaded:
    """The rare triples as if they were all there is, and what is wrong with single lines."""
    loaded = Loaded()
    by_source: dict[str, list[Summary]] = {scope: [] for _, scope in files}
    for chunk, summary in zip(chunks, summaries):
        by_source[chunk.scope].append(summary)
    for source, scope in files:
        loaded.sources.append(source.name)
        loaded.ontologies.add(source.iri)
        loaded.triples.begin(source.name)
        for summary in by_source[scope]:
            for triple in summary.rare:
                loaded.triples.add(*triple)
        shown, total = rejects_of(source.name, by_source[scope])
        loaded.leftovers += shown
        if total:
            loaded.ledger["leftover:malformed"] += total
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
    """What `read_assertions` does with its sources, for the rare triples of chunks; ``typed`` are the names that are known to be
    individuals, of those that were asked for."""

    def __init__(self, loaded: Loaded, ontology: Reading, typed: frozenset[str]) -> None:
        self.ontology, self.known_typed = ontology, _Recorded(typed)
        super().__init__(loaded, ontology.ontologies, fixed=ontology.tbox.signature)

    def _typed(self) -> set[str]:
        return self.known_typed

    def judging(self, before: Judging) -> Judging:
        """By what the chunks have to be judged, as far as these triples tell."""
        asked = before.asked | _entities(self.known()) | self.known_typed.asked
        headers, nodes = frozenset(self.around.headers), frozenset(self.around.nodes)
        return Judging(self.known(), headers, nodes, asked, frozenset(self.known_typed))

    def known(self) -> Signature:
        return self.kinds.of_data(self.ontology.tbox.signature)

    def reading(self) -> Reading:
        """See `read_assertions`."""
        axioms = self.ontology.tbox.axioms
        own = _own(axioms)
        findings: dict[object, list[Finding]] = {
            axiom: [("tbox-axiom", f"{type(axiom).__name__}: an axiom among assertions", "give its file with the TBox")]
            for axiom in self.axioms()
            if not own(axiom)
        }
        self.accounts.settle(self.loaded.axioms, self.mapping.axioms, "axiom", findings)  # type: ignore[arg-type]
        return self.finish(TBox(), self.known(), list(axioms))


#: The order in which `shiq.rdf.bulk` tells of rows, by how a message begins.
_ORDER = ("the TBox does not know the class", "the TBox does not know the property", "the datatype", "", "there is no")


def _merged(summaries: Sequence[Summary]) -> list[Leftover]:
    """The leftovers of all chunks, those about one name in one, at the place where it was met first."""
    found: dict[tuple[str, str, str], Leftover] = {}
    for summary in summaries:
        for leftover in summary.leftovers:
            key = leftover.kind, leftover.message, leftover.text if leftover.kind == "ill-typed" else ""
            before = found.get(key)
            found[key] = leftover if before is None else replace(before, count=before.count + leftover.count)
    return sorted(found.values(), key=lambda x: next(i for i in (0, 1, 2, 4, 3) if x.message.startswith(_ORDER[i])))
