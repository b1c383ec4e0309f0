"""Ontology T and static assertions B behind the enrichment, and the reasoning about events.

Everything in T and B that was not understood makes every event undetermined, unless it is allowed.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Final

from shiq import model as owl
from shiq.abox_ops.conflicts.minimal_subsets import connected_assertions, minimal_sublist
from shiq.abox_ops.entailment import Entailer, Entailment, Premises, unite_or_any
from shiq.abox_ops.entailment.reasoners import Reasoners
from shiq.answers.verdict import Leftover, Verdict, is_blocking
from shiq.errors import InputError, UsageError
from shiq.functional.writer import axiom_text
from shiq.inputs.catalog import Catalogs
from shiq.inputs.formats import Format
from shiq.inputs.reading import Reading
from shiq.inputs.sources import FileSource
from shiq.jobs.checking.inputs import (
    drop_ill_typed,
    list_sources,
    read_abox,
    read_by_form,
    read_tbox,
)
from shiq.jobs.checking.options import Options
from shiq.jobs.checking.session import Session
from shiq.model.abox import ABox, abox_of, individuals_of
from shiq.model.ntriples import assertion_lines
from shiq.model.walk import parts
from shiq.simplify.inclusion import PREFIX
from shiq.simplify.locality import names_of, relevant_axioms


@dataclass(frozen=True, eq=False)
class StaticKnowledge:
    """Ontology T and static assertions B.

    tbox: the axioms of T within SHIQ(D).
    outside_axioms: the other axioms of T.
    static: the assertions B.
    leftovers: what was not understood in T and B.
    catalog: catalogs for documents that records refer to.
    """

    tbox: owl.TBox
    outside_axioms: tuple[owl.Axiom, ...] = ()
    static: tuple[owl.Assertion, ...] = ()
    allow: frozenset[str] = frozenset()
    leftovers: tuple[Leftover, ...] = ()
    ontologies: frozenset[str] = frozenset()
    catalog: Catalogs | None = None

    @property
    def axioms(self) -> tuple[owl.Axiom, ...]:
        """All axioms of the ontology T."""
        return (*self.tbox.axioms, *self.outside_axioms)

    @cached_property
    def obstacle(self) -> str:
        """Reason why no event can be decided; "" if there is none."""
        open_ = [x for x in self.leftovers if is_blocking(x, self.allow)]
        if not open_:
            return ""
        more = f", and {len(open_) - 1:,} more" if len(open_) > 1 else ""
        what = f"{open_[0].message} ({open_[0].kind}){more}{allow_hint(x.kind for x in open_)}"
        return f"the ontology or its data is not understood: {what}"

    @cached_property
    def complex_assertions(self) -> tuple[owl.Assertion, ...]:
        """Assertions of B that are negative or use class expressions."""
        return tuple(a for a in self.static if not is_simple(a))

    @cached_property
    def fixed_individuals(self) -> frozenset[str]:
        """Individuals of the static assertions B and the ontology T (the set K of
        docs/ENRICHMENT.md), which keep their names in keys.
        """
        named = {i for assertion in self.static for i in individuals_of(assertion)}
        named.update(
            part
            for value in (*self.axioms, *self.complex_assertions)
            for part in parts(value)
            if isinstance(part, str)
        )
        return frozenset(named)

    @cached_property
    def used_names(self) -> frozenset[str]:
        """Classes and properties that occur in axioms or in ``complex_assertions``."""
        return frozenset(names_of((*self.axioms, *self.complex_assertions)))

    @cached_property
    def classes(self) -> frozenset[str]:
        """Classes that occur in the ontology T or in the static assertions B."""
        asserted = (
            part.iri
            for value in (*self.outside_axioms, *self.static)
            for part in parts(value)
            if isinstance(part, owl.Class)
        )
        return frozenset((*self.tbox.signature.classes, *asserted))

    @cached_property
    def has_keys(self) -> bool:
        """Whether the ontology T has HasKey axioms."""
        return any(isinstance(axiom, owl.HasKey) for axiom in self.axioms)

    @cached_property
    def digest(self) -> str:
        """Hash of the ontology T, the static assertions B and the allowed kinds of leftovers."""
        lines = sorted(line for assertion in self.static for line in assertion_lines(assertion))
        found = hashlib.sha256()
        for text in (*map(axiom_text, self.axioms), *lines, *sorted(self.allow)):
            found.update(text.encode("utf-8", "surrogatepass") + b"\n")
        return found.hexdigest()

    def with_lines(self, lines: Iterable[str]) -> StaticKnowledge:
        """Copy with more N-Triples lines in the static assertions B."""
        return self.update(lines_source(lines, "static lines"), None) if lines else self

    def update(self, insertions: object, deletions: object) -> StaticKnowledge:
        """Copy with the static assertions B changed by ``deletions`` and then ``insertions``.

        Each is given as `shiq.check_insertions` takes it. Raises: InputError.
        """
        options, ontology = Options(), Reading(tbox=self.tbox, ontologies=self.ontologies)
        removed = (
            read_abox(list_sources(deletions), ontology, options, "d")
            if deletions is not None
            else Reading()
        )
        added = (
            read_abox(list_sources(insertions), ontology, options, "i")
            if insertions is not None
            else Reading()
        )
        gone = frozenset((*removed.abox, *_assertions_in_leftovers(removed)))
        static = dict.fromkeys(
            (
                *(a for a in self.static if a not in gone),
                *_without_allowed_ill_typed(added.abox, self.allow),
                *_assertions_in_leftovers(added),
            )
        )
        told = tuple(x for x in (*added.leftovers, *removed.leftovers) if not x.values)
        return replace(self, static=tuple(static), leftovers=(*self.leftovers, *told))


def lines_source(lines: Iterable[str], name: str) -> FileSource:
    """Make a source of N-Triples ``lines`` that are in memory."""
    text = "".join(line.replace("\n", " ") + "\n" for line in lines)
    content = text.encode("utf-8", "surrogatepass")
    return FileSource(name, Path(f"{name}.nt"), Format.NTRIPLES, content=content)


def allow_hint(kinds: Iterable[str]) -> str:
    """Hint for users about --allow, by which these ``kinds`` of leftovers are ignored."""
    named = " ".join(f"--allow {kind}" for kind in sorted(set(kinds)))
    return f"; {named} decides without it"


def is_simple(assertion: owl.Assertion) -> bool:
    """Whether an assertion is positive and uses only named classes."""
    if isinstance(assertion, owl.ClassAssertion):
        return isinstance(assertion.expression, owl.Class)
    return not isinstance(
        assertion, owl.NegativeObjectPropertyAssertion | owl.NegativeDataPropertyAssertion
    )


def read_knowledge(
    tbox: object, static: object, allow: Iterable[str] = (), catalog: Catalogs | None = None
) -> StaticKnowledge:
    """Read the ontology T and the static assertions B, each as `shiq.check_insertions` takes it.

    static: may be a `Session`; its TBox is used if ``tbox`` is None.
    Raises: InputError, UsageError.
    """
    allowed = frozenset(allow)
    options = Options(allow=allowed, catalog=catalog)
    if isinstance(static, Session):
        base = static._cached_base(options)
        if tbox is None and static.tbox.doubtful:
            raise InputError(
                "the ontology of the store has axioms in doubt, of which it is not certain what follows",
                "`shiq lint TBOX` names them: correct it, then `shiq certify --store DIR --tbox TBOX`.",
            )
        ontology = (
            Reading(tbox=static.tbox, ontologies=base.ontologies)
            if tbox is None
            else read_tbox([tbox], options, doubt=False)
        )
        given = Reading(
            abox=abox_of(base.assertions() if base.assertions else ()), leftovers=base.leftovers
        )
    else:
        ontology = (
            read_tbox(list_sources(tbox), options, doubt=False) if tbox is not None else Reading()
        )
        given = read_abox(list_sources(static), ontology, options, "a")
    leftovers = (*ontology.leftovers, *given.leftovers)
    said = dict.fromkeys(value for x in leftovers if x.kind == "outside-shiq" for value in x.values)
    # What is allowed is left out, as it is by `shiq check`.
    outside = (
        ()
        if "outside-shiq" in allowed
        else tuple(value for value in said if isinstance(value, owl.Axiom))
    )
    assertions = (
        *_without_allowed_ill_typed(given.abox, allowed),
        *(value for value in said if not isinstance(value, owl.Axiom)),
    )
    told = tuple(x for x in leftovers if x.kind != "outside-shiq" or not x.values)
    return StaticKnowledge(
        read_by_form(ontology.tbox, allowed),
        outside,
        assertions,
        allowed,
        told,
        ontology.ontologies,
        catalog,
    )


def _without_allowed_ill_typed(abox: ABox, allow: frozenset[str]) -> Iterable[owl.Assertion]:
    """Assertions of ``abox``; those with ill-typed literals are dropped if ``allow`` contains
    "ill-typed".
    """
    return drop_ill_typed(abox)[0] if "ill-typed" in allow else abox


def _assertions_in_leftovers(reading: Reading) -> list[owl.Assertion]:
    """Assertions that a reader left over, but that the reasoner can use."""
    return [
        value for x in reading.leftovers for value in x.values if not isinstance(value, owl.Axiom)
    ]


#: Who may be asked.
REASONERS: Final = ("auto", "own", "hermit")


@dataclass(frozen=True)
class TypeJustification:
    """Justification why an individual has a class.

    assertions: necessary assertions of the event.
    static: necessary assertions of B.
    axioms: necessary axioms of T.
    is_minimal: whether every part was found to be necessary.
    """

    assertions: tuple[owl.Assertion, ...]
    static: tuple[owl.Assertion, ...]
    axioms: tuple[owl.Axiom, ...]
    is_minimal: bool = True

    def to_dict(self, show: Callable[[str], str] = str) -> dict[str, object]:
        """JSON value of a row; ``show`` renames the event's blank nodes, axioms are in functional
        syntax.
        """
        event, static = (
            [show(line.strip()) for one in part for line in assertion_lines(one)]
            for part in (self.assertions, self.static)
        )
        found: dict[str, object] = {
            "event": event,
            "static": static,
            "axioms": [*map(axiom_text, self.axioms)],
        }
        return found if self.is_minimal else {**found, "minimal": False}


@dataclass
class EventReasoner:
    """Reasoner about one event after the other; reasoner processes stay warm until `close`.

    earlier_calls: number of reasoner calls of the resumed run.
    """

    knowledge: StaticKnowledge
    reasoner: str = "auto"
    timeout: float | None = 60.0
    heap: str = "1g"
    static: bool = False
    earlier_calls: int = 0
    _entailer: Entailer = field(init=False, repr=False)
    #: The axioms that explained a class last.
    _last_explaining: dict[str, Sequence[owl.Axiom]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.reasoner not in REASONERS:
            raise UsageError(
                f"unknown reasoner {self.reasoner!r}", f"Known here are {', '.join(REASONERS)}."
            )
        self._reasoners = Reasoners(self.reasoner, self.timeout, self.heap)
        self._open_entailer()

    def _open_entailer(self) -> None:
        """Open the entailment engine for the current knowledge."""
        premises = Premises.build(self.knowledge.axioms, self.knowledge.static)
        self._entailer = Entailer(premises, static=self.static, reasoners=self._reasoners)

    @property
    def calls(self) -> int:
        """Number of reasoner calls so far."""
        return self.earlier_calls + self._reasoners.question_count

    @property
    def answers_digest(self) -> str:
        """Hash of everything that answers depend on."""
        return f"{self.knowledge.digest} {self.static}"

    def use_knowledge(self, knowledge: StaticKnowledge) -> None:
        """Continue with another ontology and static data."""
        self.knowledge = knowledge
        self._open_entailer()

    def change_knowledge(
        self, before: StaticKnowledge, middle: StaticKnowledge, after: StaticKnowledge
    ) -> frozenset[str] | None:
        """Continue with the static data of ``after``. Return the individuals that the change may
        affect; None if it may affect any.

        middle: knowledge with only the assertions that ``before`` and ``after`` share.
        Returns: None if any individual may be affected. Entries about other individuals stay true
        (THEORY, "Entailment").
        """
        changed: list[frozenset[str] | None] = []
        for larger in (before, after):
            held = {*middle.static}
            if more := [assertion for assertion in larger.static if assertion not in held]:
                if self.knowledge is not middle:
                    self.use_knowledge(middle)
                changed.append(self._entailer.changed_individuals(more))
        self.use_knowledge(after)
        return unite_or_any(changed)

    def require_consistent(self) -> None:
        """Raise InputError if the ontology T and the static data B contradict, since then
        everything is entailed.
        """
        if self._entailer.is_consistent(self._next_deadline()).verdict is Verdict.INCONSISTENT:
            raise InputError(
                "the ontology and its static data contradict each other",
                "shiq certify says where; nothing can be enriched so.",
            )

    def entailed_types(self, assertions: Sequence[owl.Assertion]) -> Entailment:
        """Types that the ontology T, the static data B and the event's ``assertions`` entail for
        the event's individuals.
        """
        if self.knowledge.obstacle:
            return Entailment(Verdict.UNDETERMINED, reason=self.knowledge.obstacle)
        deadline = self._next_deadline()
        found = self._entailer.entailment(assertions, deadline)
        if (
            found.verdict is Verdict.UNDETERMINED
            and deadline is not None
            and time.monotonic() >= deadline
        ):
            return Entailment(
                Verdict.UNDETERMINED, reason=f"{found.reason}; a longer --timeout may decide it"
            )
        return found

    def explain(
        self, assertions: Sequence[owl.Assertion], individual: str, name: str
    ) -> TypeJustification | None:
        """Find one minimal justification why ``individual`` has the class ``name``; None if
        undecided.

        It minimises the assertions of B first, then those of the event, then the axioms.
        """
        denied = owl.Class(f"{PREFIX}explained")
        denial = owl.DisjointClasses((denied, owl.Class(name)))
        told = owl.ClassAssertion(denied, individual)
        deadline, is_open = self._next_deadline(), False

        def is_entailed(part: Iterable[owl.Assertion], axioms: Iterable[owl.Axiom]) -> bool:
            """Whether assertions and axioms entail the class; note undecided questions."""
            nonlocal is_open
            premises = Premises.build((*axioms, denial), (*part, told))
            asked = Entailer(premises, (), reasoners=self._reasoners)
            verdict = asked.is_consistent(deadline).verdict
            is_open |= verdict is Verdict.UNDETERMINED
            return verdict is Verdict.INCONSISTENT

        knowledge = self.knowledge
        near = [*knowledge.static]
        if not knowledge.outside_axioms:  # nominals tie everything to everything
            near = connected_assertions((*assertions, told), near)
        if not is_entailed((*assertions, *near), knowledge.axioms):
            return None
        static = minimal_sublist(
            near, lambda part: is_entailed((*assertions, *part), knowledge.axioms)
        )
        own = minimal_sublist(
            assertions, lambda part: is_entailed((*part, *static), knowledge.axioms)
        )
        axioms = relevant_axioms(knowledge.axioms, (*own, *static, denial))
        for candidates in (self._last_explaining.get(name, ()), axioms, knowledge.axioms):
            if is_entailed((*own, *static), candidates):
                axioms = minimal_sublist(
                    candidates, lambda part: is_entailed((*own, *static), part)
                )
                break
        self._last_explaining[name] = axioms
        return TypeJustification(tuple(own), tuple(static), tuple(axioms), is_minimal=not is_open)

    def _next_deadline(self) -> float | None:
        """Time at which reasoning about the next event is cut off; None without a time limit."""
        return None if self.timeout is None else time.monotonic() + self.timeout

    def close(self) -> None:
        """Close the reasoner processes."""
        self._entailer.close()
