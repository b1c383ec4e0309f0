"""Options of a check, and the registries of engines, builders and stores by name."""

from __future__ import annotations

import difflib
import importlib
import inspect
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from shiq.abox_ops.engine import CRITERIA, MODEL, ModelKnowledgeBase
from shiq.answers.verdict import INFORMATIVE, KINDS, UNINTERPRETED
from shiq.errors import UsageError, missing_package
from shiq.jobs.leftover_waivers import LeftoverWaivers
from shiq.jobs.option_fields import Heading, Takes, option
from shiq.model.abox import ABox
from shiq.reasoner import BACKENDS
from shiq.support import supports

if TYPE_CHECKING:
    from shiq.answers.result import Result
    from shiq.inputs.catalog import Catalogs

#: The engines by name.
ENGINES = ("local", "spark", "graphframes")
#: Values that were known once, and what to say of them.
REMOVED_ENGINES: Mapping[str, str] = {
    "memory": "the engine memory is gone: use local, which gives the same answers"
}
_DISTRIBUTED_ENGINES: Mapping[str, str] = {
    "graphframes": "shiq.jobs.graphframes.engine:GraphFramesKnowledgeBase"
}

_UNSLICED = "the batch was taken whole"

#: The criterion of the published method, which the engine ``graphframes`` runs.
PUBLISHED = "definition7"

#: Engines whose work is done elsewhere, where nothing can be stopped in its midst.
DISTRIBUTED_ENGINES = frozenset(_DISTRIBUTED_ENGINES)

#: The criterion that looks at least of those to be had.
AUTO = "auto"

#: Engines that build stores by themselves, away from this process.
BUILDERS: Mapping[str, str] = {"spark": "shiq.jobs.spark.executor:index"}
#: What builds large stores in processes of this machine.
LOCAL_BUILDER = "shiq.jobs.building.indexing:index_locally"

#: Engines that are `local`, with reading and hard shapes away from this process: what makes a
#: `shiq.jobs.checking.base.DistributedWork`.
DISTRIBUTED_WORK: Mapping[str, str] = {"spark": "shiq.jobs.spark.engine:SparkWork"}

#: What becomes of what lies outside SHIQ(D) and within reach of the data: HermiT is asked about the
#: whole, or it stays open.
ASK_HERMIT = "ask"
OUTSIDE_CHOICES = (ASK_HERMIT, "undetermined")

#: How a table of triples writes its terms: as N-Triples, or bare where that leaves no doubt.
NTRIPLES_TERMS = "ntriples"
TERMS = (NTRIPLES_TERMS, "auto")

#: How `index` takes the place of a store whatever the verdict is.
REPLACE_ALWAYS = "always"

#: What makes a DataFrame of assertions.
FRAMES = "shiq.jobs.spark.engine:triples_frame"

#: What finds the tables that only Spark can read.
SPARK_TABLES = "shiq.jobs.spark.session_tables:spark_tables"

#: What reads and writes stores.
STORE = "shiq.jobs.store.upkeep"

#: Called as (stage, done, total); total is 0 where it is not known.
Progress = Callable[[str, int, int], None]

#: A public call.
Call = TypeVar("Call", bound=Callable[..., object])

#: Seconds for explaining conflicts, unless others are asked for.
EXPLAIN_SECONDS = 30.0


@dataclass(frozen=True)
class Options:
    """Options of a check.

    criterion: one of `CRITERIA`, `MODEL` or "auto" (`MODEL` if the store has a certified model,
        else ``clausal``; `PUBLISHED` with the engine ``graphframes``).
    allow: kinds of leftovers (`shiq.answers.verdict.KINDS`) that do not block the verdict `consistent`.
    timeout: seconds for a check, or for reading, indexing and certifying a store; writing is not
        counted.
    heap: heap size of a JVM, where one is needed.
    max_conflicts: how many conflicts are explained; others are counted.
    master: Spark master for the engines ``spark`` and ``graphframes`` without an active session.
    catalog: catalogs of imports, files or folders (`shiq.inputs.catalog`).
    vocabulary: known vocabularies (`shiq.vocabularies`) that count as imported; "none": no one
        does.
    fail_on: informative kinds of leftovers that block the verdict, or `UNINTERPRETED` for all.
    audit: share of the shapes, 0 to 1, that a second reasoner decides again.
    accept_agpl: allow a reasoner under the AGPL.
    require_nonempty: an empty batch is an `InputError`.
    verdict_only: stop as soon as a batch is known to be inconsistent; A_add and counts are then
        partial, and nothing is explained.
    explain_seconds: time limit for explaining conflicts; 0: none are explained; None: no limit.
    certain: callback, called with a result without conflicts (`Result.ended`) as soon as the batch
        is known to be inconsistent. From then on Ctrl-C ends explaining only.
    known: waived leftovers, which do not block.
    outside: one of `OUTSIDE_CHOICES`.
    range_size: individuals in a range of a store's tables (`shiq.jobs.store.numbering`).
    mapping: path of an RML or YARRRML mapping for the rows of tables.
    terms: how tables of triples write terms, one of `TERMS`.
    driver_rows: the engine ``spark`` checks larger batches in slices; None: never.
    most_module: largest module, in assertions, that a task of the engine ``graphframes`` decides;
        larger ones stay undecided.
    repairs: look for the smallest changes that make base and batch consistent (`Result.repairs`),
        within the time for explaining.
    """

    criterion: str = option(
        AUTO,
        "The part of the data that the check reads: model (least: the model that certified the store is patched), "
        "clausal, definition7 (as published), none (all of it), or auto: model where the store holds one, else clausal; with "
        "--engine graphframes definition7.",
        choices=(AUTO, "clausal", "model", PUBLISHED, "none"),
        heading=Heading.DECIDING,
    )
    engine: str = option(
        "local",
        "Engine that computes what to read: local (columns, in this process), spark (local, with "
        "tasks that read), or graphframes (the published method on tables, for a night that no machine holds).",
        choices=ENGINES,
        heading=Heading.DECIDING,
    )
    reasoner: str = option(
        "auto",
        "Reasoner that decides what is read, module by module: own (no Java), hermit, or auto: own first, HermiT for what "
        "own leaves open; or one that you installed: konclude, pellet, openllet.",
        choices=tuple(BACKENDS),
        heading=Heading.DECIDING,
    )
    allow: frozenset[str] = option(
        frozenset(),
        "Do not let this kind of leftover stand in the way of `consistent`; repeatable. `shiq check --help` lists the kinds.",
        choices=tuple(KINDS),
        is_repeatable=True,
        metavar="KIND",
        heading=Heading.LEFTOVERS,
    )
    timeout: float | None = option(
        None,
        "Seconds (or 90s, 5m, 1h) for a check or an index, reading included; what was indexed by then is written.",
        takes=Takes.TIME,
        metavar="TIME",
        heading=Heading.LIMITS,
    )
    heap: str = option(
        "1g", "Memory for a JVM, as 512m or 4g.", metavar="SIZE", heading=Heading.LIMITS
    )
    max_conflicts: int = option(
        1000,
        "Most conflicts to explain; all others are counted.",
        minimum=0,
        metavar="N",
        heading=Heading.LIMITS,
    )
    progress: Progress | None = None
    master: str | None = option(
        None,
        "Master at which the engines spark and graphframes run, as local[4] or spark://HOST:7077; under spark-submit, its own.",
        metavar="URL",
        heading=Heading.SPARK,
    )
    catalog: Catalogs | None = option(
        None,
        "Place to find imports: a folder, below which every ontology is known by its header; or a catalog file "
        "(catalog-v001.xml, or "
        "JSON), which goes before folders and has JSON-LD contexts too. Nothing is fetched. Repeatable.",
        takes=Takes.CATALOG,
        is_repeatable=True,
        metavar="FILE|DIR",
        heading=Heading.READING,
    )
    vocabulary: tuple[str, ...] = option(
        (),
        "Let the axioms of a well-known vocabulary count as if the ontology imported it (`shiq vocabularies` lists the names); "
        "none: use neither the kinds of terms nor the axioms that shiq knows of such vocabularies. Repeatable.",
        is_repeatable=True,
        metavar="NAME|none",
        heading=Heading.READING,
    )
    fail_on: frozenset[str] = option(
        frozenset(),
        "Let this kind stand in the way of `consistent` though it is for information only "
        f"({', '.join(sorted(INFORMATIVE))}); repeatable. {UNINTERPRETED}: every kind that is not allowed.",
        choices=(UNINTERPRETED, *KINDS),
        is_repeatable=True,
        metavar="KIND",
        heading=Heading.LEFTOVERS,
    )
    audit: float = option(
        0.0,
        "Let a second reasoner decide this share of the parts again, as 1% or 0.05; a disagreement stops the run.",
        takes=Takes.SHARE,
        metavar="SHARE",
        heading=Heading.DECIDING,
    )
    accept_agpl: bool = option(
        False,
        "A reasoner under the AGPL (pellet, openllet) may be asked; it is printed.",
        heading=Heading.DECIDING,
    )
    require_nonempty: bool = option(
        False, "End with 4 if the batch holds nothing: a feed that broke off, perhaps."
    )
    why_pulled: bool = option(
        False, "Print, clause by clause, what made it look at more than the batch touches."
    )
    verdict_only: bool = option(
        False,
        "Stop where an inconsistency is certain: no conflicts, counts of what was seen.",
        heading=Heading.LIMITS,
    )
    explain_seconds: float | None = option(
        EXPLAIN_SECONDS,
        "Seconds for explaining conflicts, after the verdict was printed; 0 for no explaining.",
        takes=Takes.TIME,
        metavar="S",
        heading=Heading.LIMITS,
    )
    certain: Callable[[Result], object] | None = None
    known: LeftoverWaivers = option(
        LeftoverWaivers,
        "File of waivers for leftovers, by kind and term, each with an owner and an end (TOML or JSON, docs/EVIDENCE.md): "
        "counted, and not "
        "in the way of `consistent`. `shiq lint TBOX --write-known FILE` drafts it.",
        takes=Takes.INPUT_FILE,
        metavar="FILE",
        heading=Heading.LEFTOVERS,
    )
    outside: str = option(
        ASK_HERMIT,
        "Treatment of axioms and assertions outside SHIQ(D) that the data can reach: ask HermiT about all "
        "data at once, at that cost, and without --timeout only about 20,000 assertions at most; or leave the verdict "
        "undetermined.",
        choices=OUTSIDE_CHOICES,
        heading=Heading.DECIDING,
    )
    range_size: int | None = None
    mapping: str | None = option(
        None,
        "Meaning of the rows of tables (CSV, TSV, JSON lines, Parquet, Delta): RML in Turtle, or YARRRML (.yml). "
        "The command draft-mapping begins one.",
        takes=Takes.INPUT_FILE,
        metavar="FILE",
        heading=Heading.READING,
    )
    terms: str = option(
        NTRIPLES_TERMS,
        "Form of terms in tables with the columns s, p, o: as N-Triples, or also as bare IRIs and texts.",
        choices=TERMS,
        heading=Heading.READING,
    )
    most_module: int = option(
        1_000_000,
        "Assertions of a module that a task of the engine graphframes is given; a larger one stays undecided.",
        minimum=1,
        metavar="N",
        heading=Heading.SPARK,
    )
    driver_rows: int | None = option(
        1_000_000,
        "Insertions that the engine spark checks at once; a larger batch is taken in slices, unless it is to be committed.",
        minimum=1,
        metavar="N",
        heading=Heading.SPARK,
    )

    repairs: bool = False

    def __post_init__(self) -> None:
        require_known(self.criterion, (AUTO, *CRITERIA, MODEL), "criterion")
        require_known(self.engine, ENGINES, "engine")
        require_known(self.outside, OUTSIDE_CHOICES, "way with what is outside SHIQ(D)")
        require_known(self.terms, TERMS, "way to write terms")
        if self.engine == "graphframes" and self.criterion not in (AUTO, PUBLISHED):
            raise UsageError(
                f"the engine graphframes runs the published method, criterion {PUBLISHED}, and not {self.criterion}",
                f"Use --engine spark for {self.criterion}, or leave --criterion out.",
            )
        if self.why_pulled and (
            self.engine not in ("local", *DISTRIBUTED_WORK)
            or self.criterion not in (AUTO, MODEL, "clausal")
        ):
            raise UsageError(
                "why individuals were pulled in is recorded by the engines local and spark only, with criterion model or clausal",
                "Leave out --engine and --criterion.",
            )
        if self.verdict_only and self.engine in DISTRIBUTED_ENGINES:
            raise UsageError(
                f"the engine {self.engine} decides modules in parallel and cannot stop at the first contradiction",
                "Check with the engine local, or without verdict_only.",
            )
        for kind in self.allow:
            require_known(kind, KINDS, "kind")
        for kind in self.fail_on:
            require_known(kind, (*KINDS, UNINTERPRETED), "kind")
        if both := self.allow & self.fail_on:
            raise UsageError(
                f"{min(both)} is named by both --allow and --fail-on", "Leave one of the two out."
            )
        for name, is_possible, message, way_out in _LIMITS:
            value = getattr(self, name)
            if value is not None and not is_possible(value):
                raise UsageError(message.format(value), way_out)
        if self.vocabulary:
            # Loaded where one is named.
            from shiq.vocabularies import NONE, choose_tables

            choose_tables(self.vocabulary)
            if NONE in self.vocabulary and self.engine == "spark":
                raise UsageError(
                    "the engine spark always uses shiq's tables of vocabularies",
                    "Check with the engine local.",
                )


#: Options that are numbers: name, test of a value, and what is said of one that fails, with the way
#: out.
_LIMITS: Sequence[tuple[str, Callable[[float], bool], str, str]] = (
    (
        "timeout",
        lambda x: x > 0,
        "a time limit of {:g} seconds is not possible",
        "Say more than 0, or None for no limit.",
    ),
    (
        "explain_seconds",
        lambda x: x >= 0,
        "{:g} seconds for explaining are not possible",
        "Say 0 for none, or None for no limit.",
    ),
    (
        "range_size",
        lambda x: x >= 1,
        "a range of {} individuals is empty",
        "Leave it out, or say 1000 or more.",
    ),
    (
        "most_module",
        lambda x: x >= 1,
        "a module of {} assertions is empty",
        "Leave it out, or say 1000000 or more.",
    ),
    (
        "driver_rows",
        lambda x: x >= 1,
        "a slice of {} insertions is empty",
        "Leave it out, or say 50000 or more.",
    ),
    (
        "audit",
        lambda x: 0 <= x <= 1,
        "the share to audit, {:g}, is not between 0 and 1",
        "Say 0.05 or 5%.",
    ),
)


def takes_settings(owner: type) -> Callable[[Call], Call]:
    """Decorator for a call with ``**settings``: show the fields of the dataclass ``owner`` as
    keyword arguments in its signature.
    """

    def decorate(call: Call) -> Call:
        shown = inspect.signature(call)
        own = [
            one
            for one in shown.parameters.values()
            if one.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        named = [
            one.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for one in inspect.signature(owner).parameters.values()
        ]
        call.__signature__ = shown.replace(parameters=[*own, *named])  # type: ignore[attr-defined]
        return call

    return decorate


def option_arguments(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the settings of a public call to keyword arguments of `Options`."""
    sets = {name: frozenset(settings.get(name, ())) for name in ("allow", "fail_on")}
    names = settings.get("vocabulary", ())
    vocabulary = (names,) if isinstance(names, str) else tuple(names)
    return {
        **settings,
        **sets,
        "known": load_waivers(settings.get("known")),
        "vocabulary": vocabulary,
    }


def load_waivers(value: LeftoverWaivers | str | Path | None) -> LeftoverWaivers:
    """Read the waivers of known leftovers, if a path is given. Raises: InputError, UsageError."""
    if value is None or isinstance(value, LeftoverWaivers):
        return value or LeftoverWaivers()
    # Loaded where there is a file of them.
    from shiq.jobs.leftover_waivers import read_waivers

    return read_waivers(Path(value))


def require_known(value: str, among: Iterable[str], what: str) -> None:
    """Refuse a ``value`` that is not ``among`` the known ones, and suggest the nearest. Raises:
    UsageError.
    """
    names = list(among)
    if value in REMOVED_ENGINES:
        raise UsageError(REMOVED_ENGINES[value], f"Known: {', '.join(names)}.")
    if value not in names:
        near = difflib.get_close_matches(value, names, 1, 0)
        raise UsageError(
            f"unknown {what} {value!r}",
            f"Did you mean {near[0]!r}? Known: {', '.join(names)}." if near else "",
        )


def options_from_settings(settings: Mapping[str, Any]) -> Options:
    """Make options from those of ``settings`` that are options; other keys are ignored. Raises:
    UsageError.
    """
    return Options(
        **option_arguments(
            {key: value for key, value in settings.items() if key in Options.__dataclass_fields__}
        )
    )


def import_by_name(target: str) -> Any:
    """Import a module, or an attribute by ``module:attribute``, when it is first needed.

    Raises: OperationalError if a package of an extra is missing.
    """
    module, _, attribute = target.partition(":")
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        raise missing_package(error) or error from error
    return getattr(found, attribute) if attribute else found


def import_engine(name: str) -> Any:
    """Import the knowledge base class of an engine of `ENGINES`; no other engine is imported."""
    if name == "local" or name in DISTRIBUTED_WORK:
        from shiq.abox_ops.local_engine import LocalKnowledgeBase

        return LocalKnowledgeBase
    return import_by_name(_DISTRIBUTED_ENGINES[name])


def open_engine(options: Options) -> Any:
    """Import the knowledge base class of the engine that ``options`` name, and start its Spark
    session if it needs one.
    """
    engine = import_engine(options.engine)
    if hasattr(engine, "begin"):
        engine.begin(options.master)
    return engine


_CLAUSAL_NOTE = (
    "criterion clausal instead of model: a complex or negative assertion is deleted, and the kept model rests on its "
    "clauses"
)


def resolve_criterion(
    options: Options, knowledge_base: object, deletions: ABox
) -> tuple[Options, tuple[str, ...]]:
    """Replace the criterion `AUTO` by the strongest one that engine and store support. Returns the
    options and notes for the user.

    `MODEL` needs a certified model, which a complex deletion would invalidate
    (`shiq.abox_ops.engine.ModelKnowledgeBase.decide_by_patch`).
    """
    if options.criterion != AUTO:
        return options, ()
    if options.engine == "graphframes":
        return replace(options, criterion=PUBLISHED), ()
    is_known = supports(knowledge_base, ModelKnowledgeBase) and knowledge_base.is_completed
    if is_known and not deletions.complex:
        return replace(options, criterion=MODEL), ()
    return replace(options, criterion="clausal"), (_CLAUSAL_NOTE,) if is_known else ()


@dataclass
class Clock:
    """Wall time of each stage, current step and time limit of one check.

    seconds: wall seconds by stage.
    start: start of the check, for the time limit.
    certain_result: result known so far, used when the time is over
    (`shiq.jobs.checking.answer.run_in_time`).
    progress: callback, called when a step begins.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    _stage_start: float = field(default_factory=time.perf_counter)
    start: float = field(default_factory=time.monotonic)
    certain_result: Result | None = None
    is_over: bool = False
    progress: Progress | None = None
    _step: str = "reading"

    @property
    def step(self) -> str:
        """The step of the check that is running."""
        return self._step

    @step.setter
    def step(self, stage: str) -> None:
        self._step = stage
        if self.progress is not None:
            self.progress(stage, 0, 0)

    def begin_stage(self, name: str) -> None:
        """End the stage of the running step, and begin ``name``."""
        self.end_stage(self.step)
        self.step = name

    def end_stage(self, name: str) -> None:
        """Add the time since the previous stage ended to the stage ``name``."""
        now = time.perf_counter()
        spent = now - self._stage_start
        self.seconds[name] = self.seconds.get(name, 0.0) + spent
        # A program that logs nothing has not loaded `logging`, which takes longer than most steps.
        if logging := sys.modules.get("logging"):
            logging.getLogger("shiq.checking").debug("%s: %.3f s", name, spent)
        self._stage_start = now


def unsliced_note(rows: int, why: str) -> str:
    """Write the note that a batch was not checked in slices of ``rows`` insertions, and ``why``."""
    return f"{_UNSLICED}, not in slices of {rows:,} insertions: {why}"


def is_unsliced_note(note: str) -> bool:
    """Decide whether ``note`` was written by `unsliced_note`."""
    return note.startswith(_UNSLICED)
