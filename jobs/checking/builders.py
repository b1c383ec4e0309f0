"""Build a store outside this process: on Spark, or in worker processes where a base is large."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from shiq.answers.result import Result
from shiq.answers.verdict import Leftover, Verdict
from shiq.inputs.reading import Reading
from shiq.inputs.sources import FileSource, source_of
from shiq.jobs.checking.answer import Answering, make_result
from shiq.jobs.checking.base import Findings, OpenBase
from shiq.jobs.checking.certifying import (
    BaseQuestion,
    Repair,
    certificate_of,
    decide_tbox_alone,
)
from shiq.jobs.checking.deciding import OpenedDecider
from shiq.jobs.checking.inputs import empty_tbox, ontology_of, sources_of
from shiq.jobs.checking.options import BUILDER_HERE, BUILDERS, Clock, Options, import_by_name
from shiq.model.abox import ABox


@dataclass(frozen=True)
class BuildRequest:
    """Request to a builder, which reads, stores and decides outside this process.

    ontology, sources: T, and the inputs that A is read from.
    store, place: where to build, and what is there now (`shiq.jobs.store.replacing`).
    answer: makes the result and the certificate of what was found.
    repair: sets conflicting assertions aside.
    taken: versions of the Delta tables to read, by feed.
    """

    ontology: Reading
    sources: list[object]
    store: Any
    options: Options
    answer: Answering
    repair: Repair | None = None
    taken: Mapping[str, int] = field(default_factory=dict)
    place: Any = None


def index_far(
    tbox: object,
    abox: object,
    store: Any,
    options: Options,
    repair: Repair | None,
    taken: Mapping[str, int],
    place: Any,
) -> Result | None:
    """Build a store outside this process; see `index` and `BuildRequest`. Returns None if the
    builder leaves it to this process.
    """
    clock = Clock(progress=options.progress)
    ontology = ontology_of(sources_of(tbox), options)
    ontology = replace(ontology, leftovers=(*ontology.leftovers, *empty_tbox(ontology)))
    clock.stage("reading the TBox")

    def answer(
        found: Findings, size: int, counts: Mapping[str, int], told: tuple[Leftover, ...]
    ) -> tuple[Result, Any]:
        leftovers = (*ontology.leftovers, *told)
        if not size:
            with OpenedDecider(options) as decider:
                something = decide_tbox_alone(
                    BaseQuestion(
                        ontology, ABox(), leftovers, counts, options, decider, clock
                    ).by_form
                )
            if something.verdict is Verdict.INCONSISTENT or something.evidence.undecided:
                return something, certificate_of(something, options)
        certificate = {"verdict": Verdict.CONSISTENT.value}
        base = OpenBase(
            ontology.tbox,
            range(size),  # type: ignore[arg-type]
            leftovers,
            certificate,
            labels=lambda: ontology.labels,
        )
        ledger = Counter(ontology.ledger) + Counter(counts)
        result = make_result(base, found, ledger, (), options, clock)
        return result, certificate_of(result, options)

    build = import_by_name(BUILDERS.get(options.engine, BUILDER_HERE))
    result: Result | None = build(
        BuildRequest(ontology, sources_of(abox), store, options, answer, repair, taken, place)
    )
    return result


#: Bytes of N-Triples from which on a base is built by worker processes, range by range: less memory
#: and more cores, where starting them does not count.
LARGE = 256 << 20
#: How many times its packed size a file of triples has at least, as a rule.
_UNPACKED = 10


def bytes_of_lines(sources: Sequence[object]) -> int:
    """Bytes that ``sources`` have, unpacked, or thereabouts; 0 unless all are files of triples by
    lines, and at once where they may be less than `LARGE`.
    """
    paths = [source for source in sources if isinstance(source, (str, os.PathLike))]
    if len(paths) != len(sources) or not all(map(os.path.isfile, paths)):
        return 0
    sizes = list(map(os.path.getsize, paths))
    if sum(sizes) * _UNPACKED < LARGE:
        return 0
    # Loaded where there is much to read.
    from shiq.rdf.ranges import is_cut

    total = 0
    for path, size in zip(paths, sizes):
        source = source_of(path)
        if not isinstance(source, FileSource) or not is_cut(source):
            return 0
        total += size * (_UNPACKED if source.is_compressed else 1)
    return total
