"""The differential test of Theorems 1 and 2 on random ontologies: criteria, engines and
reasoners against HermiT from scratch.

    python -m tests.tools.differential --seeds 0:20000 --jobs 2 --keep failures/

For every knowledge base whose base HermiT finds consistent, the verdict of `check_insertions`
under each combination is compared with HermiT's on (A less deletions) ∪ insertions. A
disagreement is shrunk, kept as functional-style files, and makes the command end with 1. Where
HermiT is known to be wrong (`tests.tools.hermit_faults`) the combinations are held against the
truth instead, and the seed is listed. What HermiT leaves undecided is counted, not compared; so
is a combination that says `undetermined`. With `--with clashes` batches contradict elements by
themselves, beside bounds, and the conflicts are compared too, with the minimal sets of
insertions that HermiT refutes.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from itertools import combinations, product
from pathlib import Path

import click

import tests.spec  # noqa: F401 -- the engine `spec`
from shiq.abox_ops.outside_question import write_question
from shiq.answers.result import Result
from shiq.answers.verdict import Verdict
from shiq.api import check_insertions
from shiq.functional import ontology_text
from shiq.model import Assertion
from shiq.model.abox import abox_of
from shiq.model.ntriples import assertion_lines
from shiq.reasoner.hermit import HermitReasoner
from tests.tools.hermit_faults import HERMIT_FAULTS
from tests.tools.random_ontologies.chains import KINDS, random_chain_kb
from tests.tools.random_ontologies.clashes import random_clash_kb
from tests.tools.random_ontologies.features import FEATURES
from tests.tools.random_ontologies.kb import RandomKB, random_kb, shrink

#: The verdict of a combination that raised an exception.
ERROR = "error"
#: The verdict of a combination that calls a consistent base inconsistent.
BAD_BASE = "base inconsistent"
#: The verdict of a combination that explains `inconsistent` by other conflicts than the minimal
#: ones.
BAD_CONFLICTS = "other conflicts"
#: With batches that contradict elements by themselves.
CLASHES = "clashes"
_CHUNK = 10
_SHRINKING_SECONDS = 120.0
_CHAINS = "chains and negative assertions on roles that are not simple"


@dataclass(frozen=True)
class Combination:
    criterion: str
    engine: str
    reasoner: str

    def __str__(self) -> str:
        return f"{self.criterion} {self.engine} {self.reasoner}"


@dataclass(frozen=True)
class Settings:
    """``oracle_seconds`` limits each question to HermiT; ``seconds`` each check, by the check's
    own timeout; ``beyond``: what of chains and loops the knowledge bases have, or `CLASHES`.
    """

    combinations: tuple[Combination, ...]
    keep: Path | None = None
    oracle_seconds: float = 10.0
    seconds: float = 60.0
    own_datatypes: bool = False
    beyond: tuple[str, ...] = ()

    @property
    def has_conflicts(self) -> bool:
        """Whether conflicts are compared too."""
        return CLASHES in self.beyond

    def knowledge_base(self, seed: int) -> RandomKB:
        if self.has_conflicts:
            return random_clash_kb(seed)
        return random_chain_kb(seed, self.beyond) if self.beyond else random_kb(seed)


@dataclass(frozen=True)
class Disagreement:
    seed: int
    combination: Combination
    expected: str
    got: str
    detail: str = ""

    def __str__(self) -> str:
        return f"seed {self.seed}: {self.combination} says {self.got}, HermiT {self.expected}" + (
            f"\n{self.detail}" * bool(self.detail)
        )


@dataclass
class Tally:
    """Counts of some seeds. ``features`` are those of the cases compared; ``faults``: seeds on
    which HermiT is known to err.
    """

    seeds: int = 0
    undecided_by_oracle: int = 0
    faults: list[int] = field(default_factory=list)
    cases: int = 0
    inconsistent: int = 0
    comparisons: int = 0
    undetermined: Counter[str] = field(default_factory=Counter)
    features: Counter[str] = field(default_factory=Counter)
    inconsistent_features: Counter[str] = field(default_factory=Counter)
    disagreements: list[Disagreement] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.seeds += other.seeds
        self.undecided_by_oracle += other.undecided_by_oracle
        self.faults += other.faults
        self.cases += other.cases
        self.inconsistent += other.inconsistent
        self.comparisons += other.comparisons
        self.undetermined += other.undetermined
        self.features += other.features
        self.inconsistent_features += other.inconsistent_features
        self.disagreements += other.disagreements


class Oracle:
    """HermiT from scratch. ``own_datatypes``: HermiT's, not ours through proxies."""

    def __init__(self, settings: Settings) -> None:
        self._reasoner = HermitReasoner(timeout=settings.oracle_seconds)
        self._proxies = not settings.own_datatypes
        self._conflicts: dict[tuple[RandomKB, bool], frozenset[frozenset[str]] | None] = {}

    def verdict(self, kb: RandomKB, assertions: Iterable[Assertion]) -> Verdict:
        return self._reasoner.decide_consistency(
            kb.tbox.axioms, list(assertions), proxy_data=self._proxies
        ).verdict

    def without_chains(self, kb: RandomKB, assertions: Iterable[Assertion]) -> Verdict:
        """The same, of axioms that HermiT does not err on (`shiq.abox_ops.outside_question`)."""
        put = write_question(kb.tbox.axioms, list(assertions))
        return self._reasoner.decide_consistency(put.axioms, put.assertions, is_normal=True).verdict

    def minimal_conflicts(
        self, kb: RandomKB, *, has_chains: bool = True
    ) -> frozenset[frozenset[str]] | None:
        """The minimal sets of insertions that contradict the base less the deletions, as
        N-Triples lines: every subset is asked about that has no smaller one in it; not
        ``has_chains``: as in `without_chains`. None where HermiT leaves one undecided. Those of
        one knowledge base are kept.
        """
        if (kb, has_chains) not in self._conflicts:
            known = {key: found for key, found in self._conflicts.items() if key[0] == kb}
            ask = self.verdict if has_chains else self.without_chains
            self._conflicts = known | {(kb, has_chains): self._minimal_conflicts(kb, ask)}
        return self._conflicts[kb, has_chains]

    def _minimal_conflicts(
        self, kb: RandomKB, ask: Callable[[RandomKB, Iterable[Assertion]], Verdict]
    ) -> frozenset[frozenset[str]] | None:
        inserted = tuple(dict.fromkeys(kb.insertions))
        left = [
            a
            for a in kb.union()
            if a in set(kb.abox) and (a not in inserted or a not in kb.deletions)
        ]
        new = [a for a in inserted if a not in left]
        found: list[frozenset[Assertion]] = []
        for part in (
            frozenset(part) for size in range(1, len(new) + 1) for part in combinations(new, size)
        ):
            if any(smaller <= part for smaller in found):
                continue
            answer = ask(kb, [*left, *part])
            if answer is Verdict.UNDETERMINED:
                return None
            if answer is Verdict.INCONSISTENT:
                found.append(part)
        return frozenset(
            frozenset(line for a in part for line in assertion_lines(a)) for part in found
        )

    def close(self) -> None:
        self._reasoner.close()


def ours(
    kb: RandomKB, combination: Combination, settings: Settings, oracle: Oracle
) -> tuple[str, str]:
    """What the combination says of the knowledge base, and for an error its traceback."""
    try:
        result = check_insertions(
            kb.tbox,
            abox_of(kb.abox),
            abox_of(kb.insertions),
            abox_of(kb.deletions) if kb.deletions else None,
            criterion=combination.criterion,
            engine=combination.engine,
            reasoner=combination.reasoner,
            timeout=settings.seconds,
            max_conflicts=100 if settings.has_conflicts else 0,
        )
    except Exception:  # whatever goes wrong is a finding, to be reported with its seed
        return ERROR, traceback.format_exc(limit=-6)
    if result.verdict is Verdict.INCONSISTENT and result.reason:
        return BAD_BASE, result.reason
    if (
        settings.has_conflicts
        and result.verdict is Verdict.INCONSISTENT
        and (detail := _wrong_conflicts(result, kb, oracle))
    ):
        return BAD_CONFLICTS, detail
    return result.verdict.value, result.reason


def _wrong_conflicts(result: Result, kb: RandomKB, oracle: Oracle) -> str:
    """How the conflicts of ``result`` differ from all minimal ones; "" if they do not, or it
    does not claim to have all. HermiT is asked a second time without what it errs on.
    """
    found = {frozenset(conflict.insertions) for conflict in result.conflicts if conflict.is_minimal}
    detail = ""
    for has_chains in (True, False):
        wanted = oracle.minimal_conflicts(kb, has_chains=has_chains)
        if wanted is None or (
            found == wanted if result.complete and not result.more_conflicts else found <= wanted
        ):
            return ""
        many, few = (
            [sorted(c) for c in one - other] for one, other in ((found, wanted), (wanted, found))
        )
        detail = f"too many: {many}\nmissing: {few}"
    return detail


def compare(seed: int, oracle: Oracle, settings: Settings) -> Tally:
    """One seed."""
    tally = Tally(seeds=1)
    kb = settings.knowledge_base(seed)
    base = oracle.verdict(kb, kb.abox)
    if base is not Verdict.CONSISTENT:
        tally.undecided_by_oracle += base is Verdict.UNDETERMINED
        return tally
    expected = oracle.verdict(kb, kb.union())
    if expected is Verdict.UNDETERMINED:
        tally.undecided_by_oracle += 1
        return tally
    right: set[str] = {expected.value}
    if not settings.beyond and seed in HERMIT_FAULTS and expected is Verdict.CONSISTENT:
        tally.faults.append(seed)
        expected, right = Verdict.INCONSISTENT, {Verdict.INCONSISTENT.value, BAD_BASE}
    told = [
        (combination, *ours(kb, combination, settings, oracle))
        for combination in settings.combinations
    ]
    if settings.beyond and any(
        got not in (*right, Verdict.UNDETERMINED.value) for _, got, _ in told
    ):
        # HermiT errs on chains above inverses, and on negative assertions above them: asked without
        # either it decides.
        if oracle.without_chains(kb, kb.abox) is not Verdict.CONSISTENT:
            tally.faults.append(seed)
            return tally
        truth = oracle.without_chains(kb, kb.union())
        if truth not in (expected, Verdict.UNDETERMINED):
            tally.faults.append(seed)
            expected, right = truth, {truth.value}
    tally.cases = 1
    tally.features.update(kb.features)
    if expected is Verdict.INCONSISTENT:
        tally.inconsistent = 1
        tally.inconsistent_features.update(kb.features)
    for combination, got, detail in told:
        tally.comparisons += 1
        if got == Verdict.UNDETERMINED.value:
            tally.undetermined[str(combination)] += 1
        elif got not in right:
            found = Disagreement(seed, combination, expected.value, got, detail)
            tally.disagreements.append(found)
            if settings.keep is not None:
                _keep(kb, found, oracle, settings, settings.keep)
    return tally


def _keep(
    kb: RandomKB, found: Disagreement, oracle: Oracle, settings: Settings, directory: Path
) -> None:
    """Shrinks the input as long as HermiT finds the base consistent and the two go on
    disagreeing so; writes what is left.
    """
    deadline = time.monotonic() + _SHRINKING_SECONDS

    def failing(smaller: RandomKB) -> bool:
        return (
            time.monotonic() < deadline
            and ours(smaller, found.combination, settings, oracle)[0] == found.got
            and oracle.verdict(smaller, smaller.abox) is Verdict.CONSISTENT
            and oracle.verdict(smaller, smaller.union()).value == found.expected
        )

    smaller = shrink(kb, failing)
    place = directory / f"{found.seed}-{'-'.join(str(found.combination).split())}"
    place.mkdir(parents=True, exist_ok=True)
    (place / "base.ofn").write_text(
        ontology_text(smaller.tbox.axioms, smaller.abox), encoding="utf-8"
    )
    (place / "insertions.ofn").write_text(ontology_text((), smaller.insertions), encoding="utf-8")
    if smaller.deletions:
        (place / "deletions.ofn").write_text(ontology_text((), smaller.deletions), encoding="utf-8")
    about = asdict(found) | {"features": sorted(smaller.features)}
    (place / "case.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")


# --- many seeds, in one process or several --------------------------------------------------------

_worker: list[Oracle] = []


def _compare_chunk(seeds: range, settings: Settings) -> Tally:
    """Some seeds, in a worker; its oracle, and so its JVM, stays from chunk to chunk."""
    if not _worker:
        _worker.append(Oracle(settings))
    tally = Tally()
    for seed in seeds:
        tally.add(compare(seed, _worker[0], settings))
    return tally


def run(seeds: range, settings: Settings, jobs: int, limit: float | None) -> Iterator[Tally]:
    """Tallies of chunks as they are done; no chunk is begun after ``limit`` seconds."""
    chunks = (seeds[i : i + _CHUNK] for i in range(0, len(seeds), _CHUNK))
    deadline = None if limit is None else time.monotonic() + limit
    if jobs == 1:
        for chunk in chunks:
            yield _compare_chunk(chunk, settings)
            if deadline is not None and time.monotonic() > deadline:
                return
        return
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as executor:
        running: set[Future[Tally]] = set()
        for chunk in chunks:
            running.add(executor.submit(_compare_chunk, chunk, settings))
            if len(running) >= 2 * jobs:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
            if deadline is not None and time.monotonic() > deadline:
                break
        yield from (future.result() for future in running)


def _share(n: int, of: int) -> str:
    return f"{100 * n / of:.1f} %" if of else "–"


def _report(tally: Tally, seconds: float) -> str:
    lines = [
        f"{tally.seeds} random knowledge bases in {seconds:.0f} s",
        f"{tally.cases} with a consistent base ({_share(tally.cases, tally.seeds)}), "
        f"{tally.inconsistent} of them inconsistent after the batch ({_share(tally.inconsistent, tally.cases)})",
        f"{tally.undecided_by_oracle} left undecided by HermiT, not compared",
        *(
            f"HermiT is wrong on seed {seed}, as known: {HERMIT_FAULTS.get(seed, _CHAINS)}"
            for seed in sorted(tally.faults)
        ),
        f"{tally.comparisons} comparisons, {len(tally.disagreements)} disagreements",
        *(
            f"  undetermined: {name}: {n} ({_share(n, tally.cases)})"
            for name, n in tally.undetermined.items()
        ),
        "feature: share of the cases, share of the inconsistent ones",
    ]
    for feature in FEATURES:
        shares = (
            _share(tally.features[feature], tally.cases),
            _share(tally.inconsistent_features[feature], tally.inconsistent),
        )
        lines.append(f"  {feature}: {shares[0]}, {shares[1]}")
    return "\n".join(lines)


def _seeds(_: click.Context, __: click.Parameter, value: str) -> range:
    first, colon, last = value.partition(":")
    try:
        start = int(first)
        seeds = range(start, int(last) if colon else start + 1)
    except ValueError:
        raise click.BadParameter("expected FROM:TO, such as 0:20000, or one seed") from None
    if not seeds or start < 0:
        raise click.BadParameter("no seeds in it")
    return seeds


def _names(*known: str) -> Callable[[click.Context, click.Parameter, str], tuple[str, ...]]:
    """Reads a list of names with commas between them."""

    def read(_: click.Context, __: click.Parameter, value: str) -> tuple[str, ...]:
        names = tuple(dict.fromkeys(value.split(",")))
        for name in names:
            if name not in known:
                raise click.BadParameter(f"{name!r} is not among {', '.join(known)}")
        return names

    return read


@click.command(help=__doc__)
@click.option(
    "--seeds",
    callback=_seeds,
    default="0:1000",
    show_default=True,
    help="FROM:TO, TO not included.",
)
@click.option(
    "--criteria",
    callback=_names("definition7", "clausal", "none", "model"),
    default="definition7,clausal",
    show_default=True,
)
@click.option(
    "--with",
    "beyond",
    callback=_names("", *KINDS, CLASHES),
    default="",
    help="chains,loops: with property chains, Self and reflexive roles. clashes: batches that contradict elements by themselves.",
)
@click.option(
    "--engines",
    callback=_names("spec", "local", "spark", "graphframes"),
    default="spec,local",
    show_default=True,
    help="Also spark, graphframes (by definition7 alone): seconds a check.",
)
@click.option(
    "--reasoners", callback=_names("own", "hermit", "auto"), default="own,hermit", show_default=True
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Processes, each with a JVM of its own.",
)
@click.option(
    "--keep",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where failing inputs go, shrunk.",
)
@click.option(
    "--time",
    "limit",
    type=click.FloatRange(0, min_open=True),
    help="Begin nothing new after so many seconds.",
)
@click.option(
    "--oracle-timeout", type=click.FloatRange(0, min_open=True), default=10.0, show_default=True
)
@click.option(
    "--own-datatypes",
    is_flag=True,
    help="The oracle's datatypes are HermiT's own, which err on integer intervals, not ours through proxies.",
)
def main(
    seeds: range,
    criteria: tuple[str, ...],
    beyond: tuple[str, ...],
    engines: tuple[str, ...],
    reasoners: tuple[str, ...],
    jobs: int,
    keep: Path | None,
    limit: float | None,
    oracle_timeout: float,
    own_datatypes: bool,
) -> None:
    combinations = tuple(
        Combination(criterion, engine, reasoner)
        for criterion, engine, reasoner in product(criteria, engines, reasoners)
        if engine != "graphframes" or criterion == "definition7"
    )
    kinds = tuple(kind for kind in beyond if kind)
    settings = Settings(
        combinations, keep, oracle_timeout, own_datatypes=own_datatypes, beyond=kinds
    )
    total = Tally()
    started = last = time.monotonic()
    for tally in run(seeds, settings, jobs, limit):
        for found in tally.disagreements:
            click.echo(str(found), err=True)
        total.add(tally)
        if time.monotonic() - last > 5:
            last = time.monotonic()
            click.echo(
                f"{total.seeds}/{len(seeds)} seeds, {total.cases} cases, {total.inconsistent} inconsistent, "
                f"{len(total.disagreements)} disagreements, {last - started:.0f} s",
                err=True,
            )
    click.echo(_report(total, time.monotonic() - started))
    for found in total.disagreements:
        click.echo(str(found))
    sys.exit(1 if total.disagreements else 0)


if __name__ == "__main__":
    main()
