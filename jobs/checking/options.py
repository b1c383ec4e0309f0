"""How to check: the options, and the engines, builders and stores that names stand for."""

from __future__ import annotations

import difflib
import importlib
import inspect
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from abox_ops.engine import CRITERIA, MODEL, ModelKnowledgeBase
from shiq.abox import ABox
from shiq.errors import UsageError
from shiq.extras import missing_package
from shiq.known import KnownLeftovers
from shiq.offers import offers
from shiq.shadowing import refuse_others
from shiq.verdict import KINDS, UNINTERPRETED

if TYPE_CHECKING:
    from shiq.catalog import Catalogs
    from shiq.result import Result

#: The engines by name.
ENGINES = ("local", "spark", "graphframes")
#: Values that were known once, and what to say of them.
GONE: Mapping[str, str] = {
    "memory": "the engine memory is gone: use local, which gives the same answers"
}
_FAR: Mapping[str, str] = {"graphframes": "jobs.graphframes.engine:GraphFramesKnowledgeBase"}

#: The criterion of the published method, which the engine ``graphframes`` runs.
PUBLISHED = "definition7"

#: Engines whose work is done elsewhere, where nothing can be stopped in its midst.
ELSEWHERE = frozenset(_FAR)

#: The criterion that looks at least of those to be had.
AUTO = "auto"

#: Engines that build stores by themselves, away from this process.
BUILDERS: Mapping[str, str] = {"spark": "jobs.spark.building.indexing:index"}

#: Engines that are `local`, with reading and hard shapes away from this process: what makes a
#: `jobs.checking.base.FarWork`.
FAR_WORK: Mapping[str, str] = {"spark": "jobs.spark.engine:SparkWork"}

#: What becomes of what lies outside SHIQ(D) and within reach of the data: HermiT is asked about the
#: whole, or it stays open.
ASK = "ask"
OUTSIDE = (ASK, "undetermined")

#: How a table of triples writes its terms: as N-Triples, or bare where that leaves no doubt.
NTRIPLES_TERMS = "ntriples"
TERMS = (NTRIPLES_TERMS, "auto")

#: How `index` takes the place of a store whatever the verdict is.
ALWAYS = "always"

#: What makes a DataFrame of assertions.
FRAMES = "jobs.spark.engine:frame_of"

#: What finds the tables that only Spark can read.
SPARK_TABLES = "jobs.spark.lake:spark_tables"

#: What reads and writes stores.
STORE = "jobs.store.upkeep"

#: Called as (stage, done, total); total is 0 where it is not known.
Progress = Callable[[str, int, int], None]

#: A public call.
Call = TypeVar("Call", bound=Callable[..., object])

#: Seconds for explaining conflicts, unless others are asked for.
EXPLAIN_SECONDS = 30.0


@dataclass(frozen=True)
class Options:
    """How to check. ``criterion``: one of `CRITERIA`, `MODEL`, or "auto": `MODEL` where the
    store holds what that needs, else ``clausal``; `PUBLISHED` with the engine ``graphframes``.
    ``timeout``: seconds for all of a check, or for reading, indexing and certifying a store
    (writing it is not counted); ``heap``: of a JVM, where one is needed; ``max_conflicts``: how
    many are explained, the rest is counted; ``master``: where the engines ``spark`` and
    ``graphframes`` run, if no session is active; ``catalog``: one or several catalogs, files or
    folders (`shiq.catalog`), of what is imported; ``vocabulary``: names of known vocabularies
    (`shiq.vocabularies`) whose axioms count as if imported, or "none": no table does;
    ``fail_on``: kinds of leftovers that stand in the way though they are informative otherwise,
    or `UNINTERPRETED` for all; ``audit``: the share of the shapes, 0 to 1, that a second
    reasoner decides again; ``accept_agpl``: a reasoner under the AGPL may be asked;
    ``require_nonempty``: a batch that holds nothing is an `InputError`; ``verdict_only``: an
    inconsistent batch is looked at only until that is certain, so A_add, modules and counts are
    of what was looked at, and nothing is explained; ``explain_seconds``: for explaining
    conflicts when the verdict is certain, 0 for none of that, None for as long as it takes;
    ``certain`` is called with a result without conflicts (`Result.ended`) as soon as that is
    what it is: Ctrl-C then ends explaining, not the check. ``known``: leftovers that somebody
    answers for, which stand in nobody's way; ``outside``: one of `OUTSIDE`; ``range_size``: how
    many individuals a range of a store's tables is to have (`jobs.store.numbering`);
    ``mapping``: the path of what says which triples the rows of tables are (RML or YARRRML);
    ``terms``: one of `TERMS`, for tables of triples; ``driver_rows``: a batch of more insertions
    is taken in slices by the engine ``spark`` (None: never); ``most_module``: the assertions of
    a module that a task of the engine ``graphframes`` is given; a larger one stays undecided.
    """

    criterion: str = "auto"
    engine: str = "local"
    reasoner: str = "auto"
    allow: frozenset[str] = frozenset()
    timeout: float | None = None
    heap: str = "1g"
    max_conflicts: int = 1000
    progress: Progress | None = None
    master: str | None = None
    catalog: Catalogs | None = None
    vocabulary: tuple[str, ...] = ()
    fail_on: frozenset[str] = frozenset()
    audit: float = 0.0
    accept_agpl: bool = False
    require_nonempty: bool = False
    why_pulled: bool = False
    verdict_only: bool = False
    explain_seconds: float | None = EXPLAIN_SECONDS
    certain: Callable[[Result], object] | None = None
    known: KnownLeftovers = field(default_factory=KnownLeftovers)
    outside: str = ASK
    range_size: int | None = None
    mapping: str | None = None
    terms: str = NTRIPLES_TERMS
    most_module: int = 1_000_000
    driver_rows: int | None = 1_000_000

    def __post_init__(self) -> None:
        check_known(self.criterion, (AUTO, *CRITERIA, MODEL), "criterion")
        check_known(self.engine, ENGINES, "engine")
        check_known(self.outside, OUTSIDE, "way with what is outside SHIQ(D)")
        check_known(self.terms, TERMS, "way to write terms")
        if self.engine == "graphframes" and self.criterion not in (AUTO, PUBLISHED):
            raise UsageError(
                f"the engine graphframes runs the published method, criterion {PUBLISHED}, and not {self.criterion}",
                f"Use --engine spark for {self.criterion}, or leave --criterion out.",
            )
        if self.why_pulled and (
            self.engine not in ("local", *FAR_WORK)
            or self.criterion not in (AUTO, MODEL, "clausal")
        ):
            raise UsageError(
                "what pulls individuals in is told by the engines local and spark, for the criteria model and clausal",
                "Leave the engine and the criterion as they are.",
            )
        if self.verdict_only and self.engine in ELSEWHERE:
            raise UsageError(
                f"the engine {self.engine} decides side by side, and cannot stop at the first contradiction",
                "Check with the engine local, or without verdict_only.",
            )
        for kind in self.allow:
            check_known(kind, KINDS, "kind")
        for kind in self.fail_on:
            check_known(kind, (*KINDS, UNINTERPRETED), "kind")
        if both := self.allow & self.fail_on:
            raise UsageError(f"{min(both)} is allowed and to fail on", "Leave one of the two out.")
        if self.explain_seconds is not None and not self.explain_seconds >= 0:
            raise UsageError(
                f"{self.explain_seconds:g} seconds for explaining are no time",
                "Say 0 for none, or None for no limit.",
            )
        if self.vocabulary:
            # Loaded where one is named.
            from shiq.vocabularies import NONE, choose

            choose(self.vocabulary)
            if NONE in self.vocabulary and self.engine == "spark":
                raise UsageError(
                    "the engine spark knows the vocabularies that shiq knows",
                    "Check with the engine local.",
                )
        if self.range_size is not None and self.range_size < 1:
            raise UsageError(
                f"ranges of {self.range_size} individuals hold nothing",
                "Leave it out, or say 1000 or more.",
            )
        if self.most_module < 1:
            raise UsageError(
                f"modules of {self.most_module} assertions hold nothing",
                "Leave it out, or say 1000000 or more.",
            )
        if self.driver_rows is not None and self.driver_rows < 1:
            raise UsageError(
                f"slices of {self.driver_rows} insertions hold nothing",
                "Leave it out, or say 50000 or more.",
            )
        if not 0 <= self.audit <= 1:
            raise UsageError(
                f"the share to audit, {self.audit:g}, is not between 0 and 1", "Say 0.05 or 5%."
            )


def takes_settings(call: Call) -> Call:
    """``call``, whose ``**settings`` are the fields of `Options`, with these in the signature
    that `help` and editors show.
    """
    shown = inspect.signature(call)
    own = [
        one for one in shown.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    named = [
        one.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for one in inspect.signature(Options).parameters.values()
    ]
    call.__signature__ = shown.replace(parameters=[*own, *named])  # type: ignore[attr-defined]
    return call


def settings_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments for `Options`, of those of a public call."""
    sets = {name: frozenset(settings.get(name, ())) for name in ("allow", "fail_on")}
    names = settings.get("vocabulary", ())
    vocabulary = (names,) if isinstance(names, str) else tuple(names)
    return {**settings, **sets, "known": known_of(settings.get("known")), "vocabulary": vocabulary}


def known_of(value: KnownLeftovers | str | Path | None) -> KnownLeftovers:
    """Known leftovers, of a file if that is what is given. Raises: InputError, UsageError."""
    if value is None or isinstance(value, KnownLeftovers):
        return value or KnownLeftovers()
    # Loaded where there is a file of them.
    from jobs.known import read_known

    return read_known(Path(value))


def check_known(value: str, among: Iterable[str], what: str) -> None:
    """Raise a UsageError with the nearest value where ``value`` is not ``among`` those of a kind."""
    names = list(among)
    if value in GONE:
        raise UsageError(GONE[value], f"Known: {', '.join(names)}.")
    if value not in names:
        near = difflib.get_close_matches(value, names, 1, 0)
        raise UsageError(
            f"unknown {what} {value!r}",
            f"Did you mean {near[0]!r}? Known: {', '.join(names)}." if near else "",
        )


def options_in(settings: Mapping[str, Any]) -> Options:
    """The options among ``settings``, which may have others beside. Raises: UsageError."""
    return Options(
        **settings_of(
            {key: value for key, value in settings.items() if key in Options.__dataclass_fields__}
        )
    )


def load(target: str) -> Any:
    """The object named ``module:attribute``, or a module; engines and stores are loaded only
    when they are asked for.

    Raises: OperationalError where a package is missing that an extra brings.
    """
    module, _, attribute = target.partition(":")
    if module not in sys.modules:
        refuse_others()
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        raise missing_package(error) or error from error
    return getattr(found, attribute) if attribute else found


def engine_named(name: str) -> Any:
    """The knowledge bases of an engine of `ENGINES`; nothing of the other ones is loaded."""
    if name == "local" or name in FAR_WORK:
        from abox_ops.local import LocalKnowledgeBase

        return LocalKnowledgeBase
    return load(_FAR[name])


def begun(options: Options) -> Any:
    """What opens knowledge bases of the engine that is asked for; an engine with a session
    begins it where ``options`` say.
    """
    engine = engine_named(options.engine)
    if hasattr(engine, "begin"):
        engine.begin(options.master)
    return engine


_VOID = "criterion clausal instead of model: a complex or negative assertion is deleted, and the kept model rests on its clauses"


def resolved(
    options: Options, knowledge_base: object, deletions: ABox
) -> tuple[Options, tuple[str, ...]]:
    """``options`` with a criterion of an engine's, and what to note: `MODEL` instead of `AUTO`
    if the knowledge base knows the certified completion that it rests on, and none of the
    batch's ``deletions`` is complex, which would make it void
    (`abox_ops.engine.ModelKnowledgeBase.patched`).
    """
    if options.criterion != AUTO:
        return options, ()
    if options.engine == "graphframes":
        return replace(options, criterion=PUBLISHED), ()
    is_known = offers(knowledge_base, ModelKnowledgeBase) and knowledge_base.is_completed
    if is_known and not deletions.complex:
        return replace(options, criterion=MODEL), ()
    return replace(options, criterion="clausal"), (_VOID,) if is_known else ()


@dataclass
class Clock:
    """Wall seconds by stage; since when the time counts that a check may take; what is under way
    (``doing``), and the result that is certain already, for where that time is over
    (`jobs.checking.answer.in_time`). ``progress`` is told what is begun.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    _last: float = field(default_factory=time.perf_counter)
    begun: float = field(default_factory=time.monotonic)
    certain: Result | None = None
    is_over: bool = False
    progress: Progress | None = None
    _doing: str = "reading"

    @property
    def doing(self) -> str:
        """What is under way."""
        return self._doing

    @doing.setter
    def doing(self, stage: str) -> None:
        self._doing = stage
        if self.progress is not None:
            self.progress(stage, 0, 0)

    def stage(self, name: str) -> None:
        """Books the time since the last call to ``name``."""
        now = time.perf_counter()
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self._last
        self._last = now
