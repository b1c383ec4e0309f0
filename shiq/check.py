"""The public call: are these insertions consistent with this knowledge base?

>>> from shiq.model import *
>>> tbox = TBox((DisjointClasses((Class("urn:Cat"), Class("urn:Dog"))),))
>>> base, batch = [ClassAssertion(Class("urn:Cat"), "urn:tom")], [ClassAssertion(Class("urn:Dog"), "urn:tom")]
>>> result = check_insertions(tbox, abox_of(base), abox_of(batch), engine="memory", reasoner="own")
>>> result.verdict.value, result.conflicts[0].insertions
('inconsistent', ('<urn:tom> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:Dog> .',))
"""

from __future__ import annotations

import difflib
import importlib
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from abox_ops.audit import Audit
from abox_ops.coherence import unsatisfiable_classes
from abox_ops.conflicts import Explainer, RawConflict
from abox_ops.decide import Decider
from abox_ops.engine import CRITERIA, MODEL, AddSet, KnowledgeBase, ModelKnowledgeBase, NamedModule
from shiq.abox import ABox, abox_of
from shiq.aside import Aside, told_aside
from shiq.catalog import Catalog, read_catalog
from shiq.clause import ClausalTBox
from shiq.datatypes import DataTheory, IllTyped
from shiq.errors import InputError, StoreError, UsageError
from shiq.functional import axiom_text
from shiq.model import (
    Assertion,
    Class,
    ClassAssertion,
    DataPropertyAssertion,
    NegativeDataPropertyAssertion,
    Signature,
    TBox,
)
from shiq.ntriples import assertion_lines
from shiq.place import Place, Places, nowhere
from shiq.rdf import read_assertions, read_ontology
from shiq.reading import Reading
from shiq.reasoner import AGPL, BACKENDS, create
from shiq.reasoner.own import OwnReasoner
from shiq.reasoner.protocol import Answer, Module, Sending
from shiq.result import Conflict, Evidence, Result, Statistics
from shiq.verdict import INFORMATIVE, KINDS, UNINTERPRETED, Leftover, Verdict, stands_in_the_way

#: Engines by name: where they are found when they are asked for.
ENGINES: Mapping[str, str] = {
    "local": "jobs.engines.local:LocalKnowledgeBase",
    "memory": "jobs.engines.memory:MemoryKnowledgeBase",
    "spark": "jobs.engines.spark:SparkKnowledgeBase",
    "graphframes": "jobs.engines.graphframes:GraphFramesKnowledgeBase",
}

#: The criterion that looks at least of those to be had.
AUTO = "auto"

#: Engines that have the criterion `model`.
MODEL_ENGINES = ("local", "memory")

#: Engines that build stores by themselves, away from this process.
BUILDERS: Mapping[str, str] = {"spark": "jobs.spark.building.indexing:index"}

#: What reads and writes stores.
STORE = "jobs.upkeep"

#: Splits A into what is certified and what is set aside, by T, its labels, and a decider.
Repair = Callable[[Reading, ABox, Decider], "tuple[ABox, tuple[Aside, ...]]"]

#: Sees the result that is about to be committed; gives what is set aside beside the batch, or None if it is not to be committed.
Approval = Callable[[Result], "Collection[Aside] | None"]

#: Called as (stage, done, total); total is 0 where it is not known.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Options:
    """How to check. ``criterion``: one of `CRITERIA`, `MODEL`, or "auto": `MODEL` where the store holds what that needs, else
    ``clausal``. ``timeout``: seconds for deciding and explaining together; ``heap``: of a JVM, where one is needed;
    ``max_conflicts``: how many are explained, the rest is counted; ``master``: where the engine ``spark`` runs, if no session is
    active; ``catalog``: the path of the catalog (`shiq.catalog`) that says which files are imported; ``fail_on``: kinds of
    leftovers that stand in the way though they are informative otherwise, or `UNINTERPRETED` for all; ``audit``: the share of the
    shapes, 0 to 1, that a second reasoner decides again; ``accept_agpl``: a reasoner under the AGPL may be asked;
    ``require_nonempty``: a batch that holds nothing is an `InputError`."""

    criterion: str = "auto"
    engine: str = "local"
    reasoner: str = "auto"
    allow: frozenset[str] = frozenset()
    timeout: float | None = None
    heap: str = "1g"
    max_conflicts: int = 1000
    progress: Progress | None = None
    master: str | None = None
    catalog: str | None = None
    fail_on: frozenset[str] = frozenset()
    audit: float = 0.0
    accept_agpl: bool = False
    require_nonempty: bool = False

    def __post_init__(self) -> None:
        _known(self.criterion, (AUTO, *CRITERIA, MODEL), "criterion")
        _known(self.engine, ENGINES, "engine")
        if self.criterion == MODEL and self.engine not in MODEL_ENGINES:
            raise UsageError(
                f"the engine {self.engine} does not have the criterion {MODEL} yet",
                f"Engines that have it: {', '.join(MODEL_ENGINES)}.",
            )
        for kind in self.allow:
            _known(kind, KINDS, "kind")
        for kind in self.fail_on:
            _known(kind, (*KINDS, UNINTERPRETED), "kind")
        if both := self.allow & self.fail_on:
            raise UsageError(f"{min(both)} is allowed and to fail on", "Leave one of the two out.")
        if not 0 <= self.audit <= 1:
            raise UsageError(f"the share to audit, {self.audit:g}, is not between 0 and 1", "Say 0.05 or 5%.")
        if self.audit and self.engine == "spark":
            raise UsageError(
                "the engine spark decides in its executors, which cannot be audited yet", "Audit with the engine local."
            )


def _known(value: str, among: Iterable[str], what: str) -> None:
    names = list(among)
    if value not in names:
        near = difflib.get_close_matches(value, names, 1, 0)
        raise UsageError(f"unknown {what} {value!r}", f"Did you mean {near[0]!r}? Known: {', '.join(names)}." if near else "")


def load(target: str) -> Any:
    """The object named ``module:attribute``, or a module; engines and stores are loaded only when they are asked for."""
    module, _, attribute = target.partition(":")
    found = importlib.import_module(module)
    return getattr(found, attribute) if attribute else found


def resolved(options: Options, knowledge_base: object, has_deletions: bool) -> Options:
    """``options`` with a criterion of an engine's: `MODEL` instead of `AUTO` if the knowledge base knows the certified completion
    that it rests on, which deletions would make anew."""
    if options.criterion != AUTO:
        return options
    is_known = isinstance(knowledge_base, ModelKnowledgeBase) and knowledge_base.is_completed
    return replace(options, criterion=MODEL if is_known and not has_deletions else "clausal")


@dataclass
class Clock:
    """Wall seconds by stage."""

    seconds: dict[str, float] = field(default_factory=dict)
    _last: float = field(default_factory=time.perf_counter)

    def stage(self, name: str) -> None:
        """Books the time since the last call to ``name``."""
        now = time.perf_counter()
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self._last
        self._last = now


@dataclass(frozen=True)
class Base:
    """A base opened for checking: a certificate (empty: nothing was certified), what of it was not interpreted, the IRIs by which
    a batch may import its TBox, what sets the blank nodes of a batch apart from those of batches that went in before, and the
    labels of the TBox's terms."""

    tbox: TBox
    knowledge_base: KnowledgeBase
    leftovers: tuple[Leftover, ...] = ()
    certificate: Mapping[str, Any] = field(default_factory=dict)
    ontologies: frozenset[str] = frozenset()
    scope: str = ""
    labels: Callable[[], Mapping[str, str]] = dict

    @property
    def is_certified(self) -> bool:
        return self.certificate.get("verdict") == Verdict.CONSISTENT.value


class Sized(Protocol):
    """Of an add set (`abox_ops.engine.AddSet`), what a result tells."""

    @property
    def insertions(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def pulled_in(self) -> int: ...
    def kept(self) -> Iterator[Assertion]: ...


@dataclass(frozen=True)
class Batch:
    """A batch as it was read; ``ledger``: its triples by bucket; ``places``: where its insertions stand."""

    insertions: ABox
    deletions: ABox
    leftovers: tuple[Leftover, ...]
    ledger: Mapping[str, int]
    places: Places = nowhere


@dataclass(frozen=True)
class Found:
    """What an engine and a reasoner have found of a batch.

    ``refuted``: how many contradictory elements and inconsistent modules there are; ``decided``: modules by verdict;
    ``undecided``: why; ``places``: where insertions in conflicts were read; ``run``: names the run by its content; ``sent``: see
    `Evidence`.
    """

    add_set: Sized
    modules: Sequence[tuple[str, ...]]
    module_count: int
    contradictory: int
    refuted: int
    decided: Mapping[str, int]
    undecided: tuple[str, ...]
    shapes: int
    calls: int
    conflicts: Sequence[RawConflict]
    unexplained: int
    complete: bool
    places: Mapping[Assertion, tuple[Place, ...]] = field(default_factory=dict)
    run: str = ""
    sent: Mapping[str, int] = field(default_factory=dict)
    audit: Audit | None = None


@runtime_checkable
class Distributed(Protocol):
    """A knowledge base whose engine reads batches and decides modules by itself, away from this process."""

    def check(
        self, base: Base, insertions: list[object], deletions: list[object], options: Options, decider: Decider, clock: Clock
    ) -> tuple[Found, Mapping[str, int], tuple[Leftover, ...]]:
        """What is found of a batch, the ledger of reading it, and its leftovers. ``decider`` is for explaining conflicts here."""

    def close(self) -> None:
        """Lets go what is held for the results given so far; they cannot be looked at any further."""


# --- public calls ---------------------------------------------------------------------------------


def check_insertions(
    tbox: object,
    abox: object = None,
    insertions: object = None,
    deletions: object = None,
    *,
    criterion: str = "auto",
    engine: str = "local",
    reasoner: str = "auto",
    allow: Collection[str] = (),
    timeout: float | None = None,
    heap: str = "1g",
    max_conflicts: int = 1000,
    progress: Progress | None = None,
    master: str | None = None,
    catalog: str | None = None,
    fail_on: Collection[str] = (),
    audit: float = 0.0,
    accept_agpl: bool = False,
    require_nonempty: bool = False,
) -> Result:
    """Whether (T, (A less ``deletions``) ∪ ``insertions``) is consistent, given T = ``tbox`` and A = ``abox``.

    Each of the four is a path, a list of paths, a TBox or ABox of ours, an rdflib Graph, an owlready2 Ontology or World, or a
    pyoxigraph Store, or a table with the columns s, p, o [, graph, key]: Parquet, Delta, Arrow, pandas, Spark; ``abox`` may be
    None, or a store opened by `open_store` (``tbox`` is then ignored if None). A base that is not a store is certified first.
    Deletions come first. ``allow`` names kinds of leftovers (`shiq.verdict.KINDS`) that may not stand in the way of `consistent`;
    ``fail_on`` those that shall, though they are for information; ``catalog``: the path of a catalog of imports (`shiq.catalog`).
    For the other settings see `Options`.

    Raises `UsageError` for unknown names, `OperationalError` for inputs that cannot be used at all.
    """
    options = Options(
        criterion,
        engine,
        reasoner,
        frozenset(allow),
        timeout,
        heap,
        max_conflicts,
        progress,
        master,
        catalog,
        frozenset(fail_on),
        audit,
        accept_agpl,
        require_nonempty,
    )
    if isinstance(abox, Session):
        return abox.check(insertions, deletions, options=options)
    with _reasoner(options) as asked:
        clock = Clock()
        ontology = _ontology([*_sources(tbox)], options)
        given = _assertions(_sources(abox), ontology, options, "a")
        clock.stage("reading the base")
        base = certified(ontology, given, options, asked, clock, require_axioms=True)
        return _insert(base, insertions, deletions, options, asked, clock)


def certify(sources: object, more: object = None, **settings: Any) -> Result:
    """Whether T and A, read from ``sources`` (and ``more``), are consistent by themselves. Settings as in `check_insertions`."""
    options = Options(**_settings(settings))
    with _reasoner(options) as asked:
        clock = Clock()
        ontology = _ontology([*_sources(sources), *_sources(more)], options)
        clock.stage("reading")
        leftovers = (*ontology.leftovers, *empty_tbox(ontology.tbox))
        options = replace(options, allow=options.allow | {"empty-tbox"})
        return _certify(ontology, ontology.abox, leftovers, ontology.ledger, options, asked, clock)


def certify_store(store: str | Path, tbox: object = None, **settings: Any) -> Result:
    """Certifies the A of the store at ``store`` again, by itself, and records the certificate, in one step.

    A ``tbox`` takes the place of the store's own: all that rests on it is worked out anew, as the next snapshot, which keeps the
    ones before. Assertions that come with it are added to A; those that came with the old one stay. Settings as in
    `check_insertions`.

    Raises `StoreError` if the store was changed meanwhile.
    """
    options = Options(**_settings(settings))
    keeper, path = load(STORE), Path(store)
    with _reasoner(options) as asked:
        clock = Clock()
        with keeper.open_store(path) as opened:
            checked, is_completed, asides = opened.identity, opened.is_completed, opened.asides
            now = _own_reading(opened) if tbox is None else _read_again(opened, _sources(tbox), options)
        clock.stage("reading the store")
        abox, aside = _well_typed(now.data.abox, options)
        leftovers = (*now.ontology.leftovers, *now.data.leftovers, *aside, *told_aside(asides))
        prepared, result = _prepared(now.ontology, abox, leftovers, now.data.ledger, options, asked, clock)
        certificate = _certificate(result, options)
        if tbox is None and not aside and is_completed == (prepared.completion is not None):
            held = keeper.certify(path, certificate, checked=checked)
        else:
            held = keeper.write_store(
                path,
                now.ontology.tbox,
                abox,
                leftovers=(*now.data.leftovers, *aside),
                tbox_leftovers=now.ontology.leftovers,
                certificate=certificate,
                ontologies=now.ontology.ontologies,
                labels=now.ontology.labels,
                replacing=checked,
                prepared=prepared,
            )
        held.close()
        clock.stage("writing the store")
        return replace(result, statistics=replace(result.statistics, seconds=clock.seconds))


def open_store(path: str | Path, snapshot: int | None = None) -> Session:
    """Opens a store for several checks; a context manager. ``snapshot``: one that it keeps, instead of the present one."""
    return Session(Path(path), snapshot)


def index(tbox: object, abox: object, store: str | Path, *, repair: Repair | None = None, **settings: Any) -> Result:
    """Builds a store at ``store`` from T and A and certifies it. A base that is not consistent is stored all the same, marked
    uncertified. ``repair`` takes out of A what is set aside first, and is kept beside it in the store. Settings as in
    `check_insertions`."""
    options = Options(**_settings(settings))
    if options.engine in BUILDERS:
        if repair:
            raise UsageError(f"the engine {options.engine} sets nothing aside", "Build the store with the engine local.")
        return _index_far(tbox, abox, Path(store), options)
    with _reasoner(options) as asked:
        clock = Clock()
        ontology = _ontology(_sources(tbox), options)
        given = _assertions(_sources(abox), ontology, options, "a")
        clock.stage("reading")
        given_abox, aside = _well_typed(given.abox, options)
        of_tbox, of_data = (*ontology.leftovers, *empty_tbox(ontology.tbox)), (*given.leftovers, *aside)
        ledger = Counter(ontology.ledger) + Counter(given.ledger)
        asides: tuple[Aside, ...] = ()
        if repair:
            given_abox, asides = repair(ontology, given_abox, asked)
            clock.stage("setting conflicts aside")
        told = (*of_tbox, *of_data, *told_aside(asides))
        prepared, result = _prepared(ontology, given_abox, told, ledger, options, asked, clock)
        load(STORE).write_store(
            Path(store),
            ontology.tbox,
            given_abox,
            leftovers=of_data,
            tbox_leftovers=of_tbox,
            certificate=_certificate(result, options),
            ontologies=ontology.ontologies,
            asides=asides,
            labels=ontology.labels,
            prepared=prepared,
        )
        clock.stage("writing the store")
        return replace(result, statistics=replace(result.statistics, seconds=clock.seconds))


class Session:
    """An open store. Shapes that were decided are remembered from one check to the next."""

    def __init__(self, path: Path, snapshot: int | None = None) -> None:
        self.path = path
        self._is_past = snapshot is not None
        self._store: Any = load(STORE).open_store(path, snapshot)
        self._deciders: dict[tuple[str, str, float, bool], Decider] = {}
        self._knowledge_bases: dict[str, KnowledgeBase] = {}

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._store)

    @property
    def labels(self) -> Mapping[str, str]:
        """What terms of the TBox are called."""
        found: Mapping[str, str] = self._store.term_labels
        return found

    def close(self) -> None:
        """Frees the reasoners and the store; it may be called twice."""
        for decider in self._deciders.values():
            close_decider(decider)
        self._deciders.clear()
        self._forget()
        if self._store is not None:
            self._store.close()
            self._store = None

    def check(
        self,
        insertions: object = None,
        deletions: object = None,
        *,
        options: Options | None = None,
        commit: bool = False,
        before_commit: Approval | None = None,
        **settings: Any,
    ) -> Result:
        """Checks one batch; settings as in `check_insertions`. The store changes only with ``commit``, and only if the verdict is
        CONSISTENT: it takes the batch in, in one step, and the session goes on with the new snapshot (`Result.committed`).
        ``before_commit`` is shown the result first; it gives what is to be set aside beside the batch, or None to stop.

        Raises `StoreError` if the store was changed meanwhile, or ``commit`` is asked of a session that was opened on a
        snapshot by its number.
        """
        if self._store is None:
            raise StoreError(f"{self.path}: the store is closed", "Open it again with open_store().")
        if commit and self._is_past:
            raise StoreError(
                f"{self.path}: a batch can only be committed onto the present snapshot, whatever its number",
                "Open the store without naming a snapshot.",
            )
        options = options or Options(**_settings(settings))
        key = (options.reasoner, options.heap, options.audit, options.accept_agpl)
        if key in self._deciders and _has_disagreed(self._deciders[key]):
            close_decider(self._deciders.pop(key))
        if key not in self._deciders:
            self._deciders[key] = new_decider(options)
        decider = self._deciders[key]
        clock = Clock()
        base = self._base(options)
        clock.stage("opening the store")
        decider.asked = 0
        decider.progress = options.progress
        if not commit:
            return _insert(base, insertions, deletions, options, decider, clock)
        # What is committed is what was checked, so it is read once, here, whatever the engine.
        batch = _read(base, insertions, deletions, options)
        clock.stage("reading the batch")
        if isinstance(base.knowledge_base, Distributed):
            options = resolved(options, base.knowledge_base, True)
            added, removed = _given(batch.insertions), _given(batch.deletions)
            found, _, _ = base.knowledge_base.check(base, added, removed, options, decider, clock)
            result = _result(base, found, batch.ledger, batch.leftovers, options, clock, batch.places)
        else:
            result = _decided(base, batch, options, decider, clock)
        if result.verdict is not Verdict.CONSISTENT:
            return result
        asides = before_commit(result) if before_commit else ()
        return result if asides is None else self._commit(batch, result, options, clock, asides)

    def _commit(self, batch: Batch, result: Result, options: Options, clock: Clock, asides: Collection[Aside]) -> Result:
        store = load(STORE)
        opened, self._store = self._store, None
        self._forget()
        try:
            self._store = store.commit(
                self.path,
                batch.insertions,
                batch.deletions,
                checked=opened.identity,
                certificate=_certificate(result, options),
                opened=opened,
                patch=getattr(result.a_add, "patch", None),
                asides=asides,
            )
        finally:
            # After a refusal the session goes on with what the store holds by now.
            self._store = self._store or store.open_store(self.path)
        clock.stage("committing")
        statistics = replace(result.statistics, seconds=clock.seconds)
        return replace(result, committed=self._store.snapshot, statistics=statistics)

    def read(self, insertions: object, deletions: object = None) -> Batch:
        """A batch as `check` reads it."""
        options = Options()
        return _read(self._base(options), insertions, deletions, options)

    @property
    def asides(self) -> tuple[Aside, ...]:
        """What belongs to the data of the store and is set aside, since it contradicts."""
        return tuple(self._store.asides)

    @property
    def tbox(self) -> TBox:
        found: TBox = self._store.tbox
        return found

    @property
    def tbox_hash(self) -> str:
        return str(self._store.tbox_hash)

    @property
    def identity(self) -> tuple[str, int]:
        """What no other state of any store shares."""
        found: tuple[str, int] = self._store.identity
        return found

    def knowledge_base(self, engine: str) -> KnowledgeBase:
        """The store as ``engine`` holds it for this session."""
        if engine not in self._knowledge_bases:
            self._knowledge_bases[engine] = load(ENGINES[engine]).from_store(self._store)
        return self._knowledge_bases[engine]

    def _forget(self) -> None:
        for known in self._knowledge_bases.values():
            if isinstance(known, Distributed):
                known.close()
        self._knowledge_bases.clear()

    def _base(self, options: Options) -> Base:
        certificate = self._store.certificate
        return Base(
            self._store.tbox,
            self.knowledge_base(options.engine),
            (*self._store.leftovers, *told_aside(self._store.asides)),
            certificate.to_dict() if certificate else {},
            self._store.ontologies,
            f"{self._store.snapshot}.",
            lambda: self._store.term_labels,
        )


# --- certifying again -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Stored:
    """What a store holds, as it was read: ``ontology`` with its leftovers, ``data`` with A and all other leftovers."""

    ontology: Reading
    data: Reading


def _own_reading(store: Any) -> Stored:
    abox = load(STORE).stored_abox(store)
    ontology = Reading(tbox=store.tbox, leftovers=store.tbox_leftovers, ontologies=store.ontologies, labels=store.term_labels)
    return Stored(ontology, Reading(abox=abox, leftovers=store.data_leftovers, ledger={"assertion": len(abox)}))


def _read_again(store: Any, tbox: list[object], options: Options) -> Stored:
    """A new TBox, and what the store holds as it reads with that one."""
    ontology = read_ontology(tbox, progress=_reading(options), scope=f"t{store.snapshot}x", catalog=catalog_of(options))
    unsaid = _not_in_the_store(store.read_properties, ontology.tbox.signature)
    ontology = replace(ontology, leftovers=(*ontology.leftovers, *empty_tbox(ontology.tbox), *unsaid))
    return Stored(ontology, _assertions([_own_reading(store).data], ontology, options, "a"))


def _not_in_the_store(read: frozenset[str], now: Signature) -> tuple[Leftover, ...]:
    """A leftover for each object and data property that the data was not ``read`` for: annotations are not kept."""
    return tuple(
        Leftover(
            "lossy-input",
            f"<{iri}> was no object or data property when the data was read: what it was used for is not in the store",
            hint="build the store anew from the data with `shiq index`, or allow it if the data does not use the property",
        )
        for iri in sorted((now.object_properties | now.data_properties) - read)
    )


# --- steps ----------------------------------------------------------------------------------------

#: Makes the result, and the certificate, of what an engine found of A: with |A|, the ledger and the leftovers of reading it.
Answering = Callable[[Found, int, Mapping[str, int], tuple[Leftover, ...]], tuple[Result, Any]]


def _index_far(tbox: object, abox: object, store: Path, options: Options) -> Result:
    """`index` by an engine that reads, stores and decides by itself."""
    options = resolved(options, None, True)
    clock = Clock()
    ontology = _ontology(_sources(tbox), options)
    clock.stage("reading the TBox")

    def answer(found: Found, size: int, counts: Mapping[str, int], told: tuple[Leftover, ...]) -> tuple[Result, Any]:
        leftovers = (*ontology.leftovers, *told, *empty_tbox(ontology.tbox))
        certificate = {"verdict": Verdict.CONSISTENT.value}
        base = Base(ontology.tbox, range(size), leftovers, certificate, labels=lambda: ontology.labels)  # type: ignore[arg-type]
        result = _result(base, found, Counter(ontology.ledger) + Counter(counts), (), options, clock)
        return result, _certificate(result, options)

    result: Result = load(BUILDERS[options.engine])(ontology, _sources(abox), store, options, answer)
    return result


def certified(
    ontology: Reading, given: Reading, options: Options, decider: Decider, clock: Clock, *, require_axioms: bool
) -> Base | Result:
    """The base (T, A) opened and certified, or the result that says why it is inconsistent."""
    leftovers = (*ontology.leftovers, *given.leftovers)
    if require_axioms:
        leftovers += empty_tbox(ontology.tbox)
    result = _certify(ontology, given.abox, leftovers, Counter(ontology.ledger) + Counter(given.ledger), options, decider, clock)
    if result.verdict is Verdict.INCONSISTENT:
        return result
    abox, _ = _well_typed(given.abox, options)
    opened = load(ENGINES[options.engine]).build(ontology.tbox, abox)
    clock.stage("indexing the base")
    certificate, labels = _base_certificate(result), ontology.labels
    return Base(ontology.tbox, opened, result.evidence.leftovers, certificate, ontology.ontologies, labels=lambda: labels)


def _base_certificate(result: Result) -> dict[str, Any]:
    return {
        "verdict": result.verdict.value if not result.evidence.undecided else Verdict.UNDETERMINED.value,
        "reason": result.reason,
        "reasoner": result.evidence.reasoner,
    }


def _certificate(result: Result, options: Options) -> Any:
    store = load(STORE)
    return store.Certificate.now(
        verdict=result.verdict.value, reason=result.reason, reasoner=options.reasoner, allowed=sorted(options.allow)
    )


def _certify(
    ontology: Reading,
    abox: ABox,
    leftovers: tuple[Leftover, ...],
    ledger: Mapping[str, int],
    options: Options,
    decider: Decider,
    clock: Clock,
) -> Result:
    """(T, A) by itself: all of A as insertions into nothing (THEORY.md 2.6). Of ``ontology``, T and the labels count."""
    tbox = ontology.tbox
    empty = load(ENGINES[options.engine]).build(tbox, ABox())
    abox, aside = _well_typed(abox, options)
    if not len(abox) and (refuted := _nothing_at_all(ontology, leftovers, ledger, options, decider, clock)):
        return refuted
    told = impossible_classes(empty.simplified.clauses, options)
    certificate = {"verdict": Verdict.CONSISTENT.value}
    base = Base(tbox, empty, (*leftovers, *aside, *told), certificate, labels=lambda: ontology.labels)
    result = _decided(base, Batch(abox, ABox(), (), ledger), options, decider, clock)
    conflicts = tuple(Conflict((), (*c.insertions, *c.base), c.axioms, "base", (), c.is_minimal) for c in result.conflicts)
    statistics = replace(result.statistics, assertions=result.statistics.insertions)
    return replace(result, conflicts=conflicts, statistics=statistics)


def _prepared(
    ontology: Reading,
    abox: ABox,
    leftovers: tuple[Leftover, ...],
    ledger: Mapping[str, int],
    options: Options,
    decider: Decider,
    clock: Clock,
) -> tuple[Any, Result]:
    """(T, A) as a store will hold it, and its certificate: by a model whose completion the store keeps (THEORY.md 3.1); where
    that is not to be had, by asking about A as a whole."""
    tbox = ontology.tbox
    prepared = load(STORE).prepare(tbox, abox)
    clock.stage("indexing")
    if not len(abox):
        return prepared, _certify(ontology, abox, leftovers, ledger, options, decider, clock)
    sent = _sent(decider)
    _, left, is_over = _deadline(options)
    found = prepared.certified(lambda tbox, modules: decider.decide(tbox, modules, left()), is_over)
    clock.stage("certifying")
    if found is None:
        return prepared, _certify(ontology, abox, leftovers, ledger, options, decider, clock)
    prepared, add_set, answers = found
    modules = [m.module for m in add_set.modules]
    told = Found(
        add_set,
        [_individuals(m) for m in add_set.modules],
        len(modules),
        0,
        0,
        Counter(a.verdict.value for a in answers),
        (),
        decider.shapes(add_set.tbox, modules),
        decider.asked,
        [],
        0,
        True,
        sent=_sent_since(decider, sent),
        audit=decider.audit,
    )
    leftovers = (*leftovers, *impossible_classes(add_set.tbox, options))
    base = Base(tbox, range(len(abox)), leftovers, {"verdict": Verdict.CONSISTENT.value})  # type: ignore[arg-type]
    result = _result(base, told, ledger, (), replace(options, criterion=MODEL), clock)
    return prepared, replace(result, statistics=replace(result.statistics, insertions=len(abox)))


def _deadline(options: Options) -> tuple[float | None, Callable[[], float | None], Callable[[], bool]]:
    """When the time is over, how many seconds are left, and whether none are."""
    deadline = None if options.timeout is None else time.monotonic() + options.timeout

    def left() -> float | None:
        return None if deadline is None else max(0.01, deadline - time.monotonic())

    return deadline, left, lambda: deadline is not None and time.monotonic() > deadline


def _nothing_at_all(
    ontology: Reading,
    leftovers: tuple[Leftover, ...],
    ledger: Mapping[str, int],
    options: Options,
    decider: Decider,
    clock: Clock,
) -> Result | None:
    """Where there is no individual: what stands in the way of one, since no domain is empty. None if nothing does."""
    something = abox_of([ClassAssertion(Class("urn:shiq:Something"), "urn:shiq:something")])
    empty = load(ENGINES["memory"]).build(ontology.tbox, ABox())
    certificate = {"verdict": Verdict.CONSISTENT.value}
    base = Base(ontology.tbox, empty, leftovers, certificate, labels=lambda: ontology.labels)
    plain = replace(options, criterion="none", engine="memory")
    result = _decided(base, Batch(something, ABox(), (), ledger), plain, decider, clock)
    if result.verdict is Verdict.CONSISTENT or not (result.evidence.undecided or result.verdict is Verdict.INCONSISTENT):
        return None
    conflicts = tuple(Conflict((), (), c.axioms, "base", (), c.is_minimal) for c in result.conflicts)
    reason = "the TBox contradicts itself: nothing can exist" if result.verdict is Verdict.INCONSISTENT else result.reason
    evidence = replace(result.evidence, engine=options.engine, criterion=options.criterion)
    statistics = replace(result.statistics, assertions=0, insertions=0, add_set=0)
    return replace(result, reason=reason, conflicts=conflicts, evidence=evidence, statistics=statistics, a_add=(), modules=())


#: Seconds for finding the classes that can have no member; what is not asked about by then is not told.
SECONDS_FOR_CLASSES = 2.0


def impossible_classes(tbox: ClausalTBox, options: Options) -> tuple[Leftover, ...]:
    """A leftover for each class that can have no member, as far as `own` finds them in a short time."""
    seconds = SECONDS_FOR_CLASSES if options.timeout is None else min(SECONDS_FOR_CLASSES, options.timeout / 4)
    deadline = time.monotonic() + seconds
    own = OwnReasoner(steps=2_000)

    def decide(modules: Sequence[Module]) -> Sequence[Answer]:
        return own.decide(tbox, modules, max(0.01, deadline - time.monotonic()))

    names, _ = unsatisfiable_classes(tbox, decide, lambda: time.monotonic() > deadline)
    own.close()
    return tuple(
        Leftover("unsatisfiable-class", f"<{name}> can have no member", hint="is an axiom about it wrong?") for name in names
    )


def _insert(
    base: Base | Result, insertions: object, deletions: object, options: Options, decider: Decider, clock: Clock
) -> Result:
    """The check of a batch against an opened base."""
    if isinstance(base, Result):
        return replace(base, reason="the base is inconsistent by itself")
    if isinstance(base.knowledge_base, Distributed):
        options = resolved(options, base.knowledge_base, True)
        far, counts, told = base.knowledge_base.check(base, _sources(insertions), _sources(deletions), options, decider, clock)
        _refuse_nothing(counts, options)
        return _result(base, far, counts, told, options, clock)
    batch = _read(base, insertions, deletions, options)
    clock.stage("reading the batch")
    return _decided(base, batch, options, decider, clock)


def _given(abox: ABox) -> list[object]:
    return [abox] if len(abox) else []


def _read(base: Base, insertions: object, deletions: object, options: Options) -> Batch:
    reading = Reading(tbox=base.tbox, ontologies=base.ontologies)
    added = _assertions(_sources(insertions), reading, options, f"i{base.scope}")
    removed = _assertions(_sources(deletions), reading, options, f"d{base.scope}")
    ledger = Counter(added.ledger) + Counter(removed.ledger)
    _refuse_nothing(ledger, options)
    abox, aside = _well_typed(added.abox, options)
    return Batch(
        abox,
        removed.abox,
        (*added.leftovers, *removed.leftovers, *aside),
        ledger,
        added.places,
    )


def _refuse_nothing(ledger: Mapping[str, int], options: Options) -> None:
    """Raises InputError for a batch of nothing where one is not wanted."""
    if options.require_nonempty and not sum(ledger.values()):
        raise InputError("the batch holds nothing", "Did its source break off? Without --require-nonempty it is consistent.")


def _decided(base: Base, batch: Batch, options: Options, decider: Decider, clock: Clock) -> Result:
    insertions, deletions = batch.insertions, batch.deletions
    asked, sent = decider.asked, _sent(decider)
    options = resolved(options, base.knowledge_base, bool(len(deletions)))
    deadline, left, is_over = _deadline(options)

    def decide(tbox: ClausalTBox, modules: Sequence[Module]) -> list[Answer]:
        return decider.decide(tbox, modules, left())

    def answered(part: ABox, stage: Callable[[str], None]) -> tuple[AddSet, Sequence[Answer]]:
        knowledge_base = base.knowledge_base
        if options.criterion == MODEL and isinstance(knowledge_base, ModelKnowledgeBase):
            found = knowledge_base.patched(part, deletions, decide, is_over)
            stage("patching")
            return found
        add_set = knowledge_base.add_set(part, deletions, options.criterion)
        modules = [m.module for m in add_set.modules]
        stage("add set")
        answers = decide(add_set.tbox, modules)
        stage("deciding")
        return add_set, answers

    def check(part: Sequence[Assertion]) -> tuple[AddSet, list[tuple[str, ...]]]:
        found, answers = answered(abox_of(part), lambda _: None)
        explainer.unsure = explainer.unsure or any(a.verdict is Verdict.UNDETERMINED for a in answers)
        return found, _inconsistent(found, answers)

    add_set, answers = answered(insertions, clock.stage)
    modules = add_set.modules
    groups = _inconsistent(add_set, answers)
    calls = decider.asked - asked
    explainer = Explainer(base.tbox, decider, check, options.max_conflicts, deadline, options.progress)
    decider.progress = None
    explained = groups and options.max_conflicts and not _has_disagreed(decider)
    # The many small questions of explaining are not audited: the verdict does not rest on them.
    audit, decider.audit = decider.audit, None
    try:
        raw = explainer.run(sorted(set(insertions), key=repr), add_set, groups) if explained else []
    finally:
        decider.audit = audit
    clock.stage("explaining")
    found = Found(
        add_set,
        [*add_set.contradictory, *map(_individuals, modules)],
        len(modules),
        len(add_set.contradictory),
        len(groups),
        Counter(a.verdict.value for a in answers),
        tuple(dict.fromkeys(a.reason for a in answers if a.verdict is Verdict.UNDETERMINED)),
        decider.shapes(add_set.tbox, [m.module for m in modules]),
        calls,
        raw,
        explainer.unexplained if raw else len(groups),
        explainer.complete if groups else True,
        sent=_sent_since(decider, sent),
        audit=decider.audit,
    )
    leftovers = (*batch.leftovers, *unmatched_deletions(base.knowledge_base, deletions))
    return _result(base, found, batch.ledger, leftovers, options, clock, batch.places)


class Asserting(Protocol):
    """Of a knowledge base, what tells of deletions (`abox_ops.engine.KnowledgeBase.absent`)."""

    def absent(self, deletions: ABox, most: int) -> tuple[int, Sequence[Assertion]]: ...


def unmatched_deletions(knowledge_base: Asserting, deletions: ABox) -> tuple[Leftover, ...]:
    """What to say of ``deletions`` that delete nothing."""
    if not len(deletions):
        return ()
    count, some = knowledge_base.absent(deletions, 1)
    if not count:
        return ()
    return (
        Leftover(
            "unmatched-deletion",
            "the base does not assert this" if count == 1 else f"{count:,} deletions of what the base does not assert, as this",
            text=" ".join(assertion_lines(some[0])),
            hint="was it spelt otherwise, inferred, or deleted before? Blank nodes of a batch are never those of the base",
            count=count,
        ),
    )


def _sent(decider: Decider) -> Mapping[str, int]:
    counted = decider.reasoner.sent.to_dict() if isinstance(decider.reasoner, Sending) else {}
    return counted if any(counted.values()) else {}


def _sent_since(decider: Decider, before: Mapping[str, int]) -> Mapping[str, int]:
    return {name: now - before.get(name, 0) for name, now in _sent(decider).items()}


def _has_disagreed(decider: Decider) -> bool:
    return decider.audit is not None and bool(decider.audit.disagreements)


def _result(
    base: Base,
    found: Found,
    ledger: Mapping[str, int],
    leftovers: tuple[Leftover, ...],
    options: Options,
    clock: Clock,
    places: Places = nowhere,
) -> Result:
    add_set = found.add_set
    places_of = {**found.places, **places(a for raw in found.conflicts for a in raw.insertions)}
    everything = (*base.leftovers, *leftovers)
    disagreements = tuple(found.audit.disagreements) if found.audit else ()
    if disagreements:
        verdict, reason = Verdict.UNDETERMINED, f"{disagreements[0]}: one of them is wrong, so nothing of this run is believed"
    else:
        verdict, reason = _verdict(base, bool(found.refuted), found.undecided, everything, options)
    conflicts = tuple(_conflict(raw, places_of) for raw in found.conflicts)
    return Result(
        verdict,
        reason,
        a_add=_Kept(add_set),
        modules=found.modules,
        conflicts=conflicts,
        more_conflicts=found.unexplained,
        complete=found.complete,
        statistics=Statistics(
            len(base.knowledge_base),
            add_set.insertions,
            add_set.size,
            add_set.pulled_in,
            found.module_count,
            found.shapes,
            found.calls,
            clock.seconds,
        ),
        evidence=Evidence(
            options.criterion,
            options.engine,
            options.reasoner,
            ledger,
            everything,
            tuple(sorted(options.allow)),
            base.certificate,
            {"contradictory": found.contradictory, **found.decided},
            found.undecided,
            found.run,
            tuple(sorted(options.fail_on)),
            found.sent,
            _notes(found, options),
        ),
        labels=base.labels() if found.refuted else {},
        disagreements=disagreements,
    )


def _notes(found: Found, options: Options) -> tuple[str, ...]:
    notes = [str(found.audit)] if found.audit else []
    if options.accept_agpl and options.reasoner in AGPL:
        notes.append(f"the reasoner {options.reasoner} is under the AGPL-3.0, which was accepted for this run")
    return tuple(notes)


def _inconsistent(add_set: AddSet, answers: Sequence[Answer]) -> list[tuple[str, ...]]:
    """The individuals of each element, or module, that is known to be contradictory; of a module, those near the contradiction
    where the reasoner says which."""
    return [
        *add_set.contradictory,
        *(
            tuple(i for n in answer.near for i in module.elements[n]) or _individuals(module)
            for module, answer in zip(add_set.modules, answers)
            if answer.verdict is Verdict.INCONSISTENT
        ),
    ]


def _individuals(module: NamedModule) -> tuple[str, ...]:
    return tuple(i for element in module.elements for i in element)


class _Kept(Sequence[Assertion]):
    """A_add, written out when it is looked at."""

    def __init__(self, add_set: Sized) -> None:
        self.add_set = add_set
        self._items: list[Assertion] | None = None

    def _all(self) -> list[Assertion]:
        if self._items is None:
            self._items = list(self.add_set.kept())
        return self._items

    def __getitem__(self, i: Any) -> Any:
        return self._all()[i]

    def __len__(self) -> int:
        return self.add_set.size

    @property
    def patch(self) -> Any:
        """By what the batch was accepted, where the engine tells (criterion `model`, engine ``local``)."""
        return getattr(self.add_set, "patch", None)

    def frame(self) -> Any:
        """The same as a Spark DataFrame (s, p, o: N-Triples terms); engine ``spark`` only."""
        make = getattr(self.add_set, "frame", None)
        if make is None:
            raise UsageError("only the engine spark gives DataFrames", 'Check with engine="spark".')
        return make()


def _verdict(
    base: Base, refuted: bool, undecided: tuple[str, ...], leftovers: tuple[Leftover, ...], options: Options
) -> tuple[Verdict, str]:
    """INCONSISTENT is exact whatever was left over, since consistency is antitone; CONSISTENT needs that nothing was."""
    if refuted:
        return Verdict.INCONSISTENT, ""
    reasons: list[str] = []
    if not base.is_certified:
        reasons.append(_not_certified(base))
    open_kinds = Counter[str]()
    for leftover in leftovers:
        if stands_in_the_way(leftover.kind, options.allow, options.fail_on):
            open_kinds[leftover.kind] += leftover.count
    for kind, count in sorted(open_kinds.items()):
        first = next(x for x in leftovers if x.kind == kind)
        asked = kind in INFORMATIVE or kind in options.fail_on
        way_out = "asked for by --fail-on" if asked else f"--allow {kind} if that is meant"
        reasons.append(f"{count} × {kind}, first: {first} ({way_out})")
    reasons.extend(f"not decided: {reason}" for reason in undecided[:5])
    return (Verdict.UNDETERMINED, "; ".join(reasons)) if reasons else (Verdict.CONSISTENT, "")


def _not_certified(base: Base) -> str:
    certificate = base.certificate
    is_stored = not certificate or "snapshot" in certificate
    if is_stored and certificate.get("verdict") == Verdict.INCONSISTENT.value:
        return (
            "the base is not certified: it is inconsistent by itself (`shiq certify --store DIR` lists the conflicts. Delete a "
            "culprit of each from the data, and index what is left)"
        )
    reason = certificate.get("reason") or "nobody has certified it yet"
    again = " (`shiq certify --store DIR` certifies it again)" if is_stored else ""
    return f"the base is not certified consistent: {reason}{again}"


def _conflict(raw: RawConflict, places_of: Mapping[Assertion, tuple[Place, ...]]) -> Conflict:
    lines = [(line, places_of.get(a, ())) for a in raw.insertions for line in assertion_lines(a)]
    return Conflict(
        tuple(line for line, _ in lines),
        tuple(line for a in raw.base for line in assertion_lines(a)),
        tuple(map(axiom_text, raw.axioms)),
        keys=tuple(key for a in raw.insertions for key in sorted({place.key for place in places_of.get(a, ())} - {""})),
        places=tuple(places for _, places in lines) if places_of else (),
        is_minimal=raw.is_minimal,
    )


# --- inputs ---------------------------------------------------------------------------------------


def _sources(given: object) -> list[object]:
    if given is None:
        return []
    return list(given) if isinstance(given, list | tuple) else [given]


def _ontology(sources: list[object], options: Options) -> Reading:
    reading = read_ontology(sources, progress=_reading(options), catalog=catalog_of(options))
    return replace(reading, places=nowhere)


def catalog_of(options: Options) -> Catalog | None:
    """The catalog that is named, read. Raises: InputError."""
    return None if options.catalog is None else read_catalog(options.catalog)


def _assertions(sources: list[object], ontology: Reading, options: Options, scope: str) -> Reading:
    """The ABox of ``sources``, with the assertions that came with the ontology; ``scope`` keeps blank nodes of different
    inputs apart."""
    reading = Reading()
    if sources:
        reading = read_assertions(
            sources,
            ontology.tbox.signature,
            progress=_reading(options),
            ontologies=ontology.ontologies,
            axioms=ontology.tbox.axioms,
            scope=scope,
            catalog=catalog_of(options),
        )
    if scope == "a":
        reading = replace(reading, places=nowhere)  # the columns of a base need not be held on to
    if not len(ontology.abox):
        return reading
    if not len(reading.abox):
        return replace(reading, abox=ontology.abox)
    return replace(reading, abox=abox_of([*ontology.abox, *reading.abox]))


def _reading(options: Options) -> Callable[[str, int], None] | None:
    progress = options.progress
    return None if progress is None else lambda source, done: progress(f"reading {source}", done, 0)


def empty_tbox(tbox: TBox) -> tuple[Leftover, ...]:
    """The leftover for a TBox without axioms."""
    if tbox.axioms:
        return ()
    return (Leftover("empty-tbox", "the TBox has no axioms: nothing could ever be refuted", hint="is it the right file?"),)


def _well_typed(abox: ABox, options: Options) -> tuple[ABox, tuple[Leftover, ...]]:
    """``abox`` without its ill-typed data assertions where those are allowed, and what was set aside."""
    return without_ill_typed(abox) if "ill-typed" in options.allow else (abox, ())


def without_ill_typed(abox: ABox) -> tuple[ABox, tuple[Leftover, ...]]:
    """``abox`` without its (negative) data assertions on literals that denote nothing, and a leftover for each."""
    theory = DataTheory()
    aside: list[Assertion] = []
    rest: list[Assertion] = []
    for assertion in abox:
        match assertion:
            case DataPropertyAssertion(_, _, literal) | NegativeDataPropertyAssertion(_, _, literal) if isinstance(
                theory.value(literal), IllTyped
            ):
                aside.append(assertion)
            case _:
                rest.append(assertion)
    leftovers = tuple(
        Leftover("ill-typed", "an ill-typed literal was set aside", text=" ".join(assertion_lines(a))) for a in aside
    )
    return (abox_of(rest), leftovers) if aside else (abox, ())


def _settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {**settings, "allow": frozenset(settings.get("allow", ())), "fail_on": frozenset(settings.get("fail_on", ()))}


def new_decider(options: Options) -> Decider:
    """A decider as ``options`` ask for, with an audit if they do; `close_decider` frees it. Raises `UsageError`."""
    reasoner = create(options.reasoner, heap=options.heap, accept_agpl=options.accept_agpl)
    if not options.audit:
        return Decider(reasoner, options.progress)
    by_hermit = partial(create, "hermit", heap=options.heap)
    by_own = partial(create, "own")
    seconds = {name: by_hermit if name == "own" else by_own for name in BACKENDS}
    return Decider(reasoner, options.progress, audit=Audit(options.audit, seconds))


def close_decider(decider: Decider) -> None:
    """Frees the reasoners; may be called twice."""
    decider.reasoner.close()
    if decider.audit is not None:
        decider.audit.close()


class _reasoner:
    """A decider for one call, closed at its end."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._decider: Decider | None = None

    def __enter__(self) -> Decider:
        self._decider = new_decider(self._options)
        return self._decider

    def __exit__(self, *_: object) -> None:
        if self._decider is not None:
            close_decider(self._decider)
