"""HermiT as a backend: clauses written back as an ontology, modules as individuals of it, one
warm JVM (THEORY, "Modules").

Consistent is said only of what the OWL API was seen to hold in full and HermiT decided without
an exception; whatever else happens is UNDETERMINED with its reason. HermiT never sees a literal
of ours: data goes through proxies over xsd:integer (`shiq.reasoner.data_proxies`), whose consistency
is the same.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from shiq import model as owl
from shiq.answers.verdict import Verdict
from shiq.cache import Cache
from shiq.datatypes import DataTheory
from shiq.deadline import report_stage
from shiq.model import Assertion, Axiom, DatatypeDefinition
from shiq.model.axioms import READ_BY_FORM
from shiq.model.clause import ClausalTBox
from shiq.model.clause_axioms import clause_axioms, module_assertions, numbered_names
from shiq.model.walk import is_reserved, parts
from shiq.partition import Partition
from shiq.reasoner.data_proxies import (
    OpaqueData,
    OpaqueReading,
    approximate_opaque,
    has_large_number,
    is_opaque,
    opacity_reason,
    refute_ill_typed,
    replace_data,
)
from shiq.reasoner.jvm import (
    JavaReasoner,
    JvmDied,
    JvmFailure,
    find_hermit,
    release_jvm,
    shared_jvm,
)
from shiq.reasoner.ontology_text import (
    OntologyText,
    Unsendable,
    make_sendable,
    read_data_theory,
    write_ontology_text,
)
from shiq.reasoner.protocol import Answer, Module, SentQuestions, check_heap, check_timeout
from shiq.reasoner.structure import data_parts, structural_key

# Where one meaning of the opaque datatypes speaks for all of them.
#
# Read by form, each opaque datatype is a value space of its own, with one value for each lexical
# form. What is consistent then need not be so for every meaning. It is where the properties that
# opaque data is on, with all above and below them, have literals of one opaque D only, and nothing
# is asked of them but ≥1 f.D, ≥1 f, ≤n f.¬D and ≤n f: each value may be replaced by what D means
# by it, or by any value of D, since values that become one do no harm here.


#: What is asked of a property where that is nothing about a range, and where it is no opaque
#: datatype by itself.
_NO_RANGE, _ELSE = "", "else"


def is_one_reading_enough(
    theory: DataTheory, axioms: Sequence[owl.Axiom], assertions: Sequence[owl.Assertion]
) -> bool:
    """Decide whether consistency with unknown datatypes compared by lexical form implies
    consistency under every meaning of them.

    ``theory`` has them opaque; axioms and assertions are as for
    `shiq.reasoner.data_proxies.approximate_opaque`.
    """
    groups = Partition[str]()
    asked: list[tuple[str, str, bool]] = []
    present: set[str] = set()
    for value in (*axioms, *assertions):
        match value:
            case owl.SubDataPropertyOf(owl.DataProperty(sub), owl.DataProperty(sup)):
                groups.union(sub, sup)
                asked += [(sub, _NO_RANGE, False), (sup, _NO_RANGE, False)]
            case owl.DataPropertyAssertion(owl.DataProperty(iri), _, literal):
                asked.append(
                    (
                        iri,
                        _opaque_datatype(theory, owl.Datatype(literal.datatype)),
                        is_opaque(theory, literal),
                    )
                )
                present.add(literal.datatype)
            case owl.SubClassOf(_, expression) | owl.ClassAssertion(expression, _):
                for operand in (
                    expression.operands
                    if isinstance(expression, owl.ObjectUnionOf)
                    else (expression,)
                ):
                    asked += _demanded_datatypes(theory, operand)
            case _:
                asked += _unrestricted_demands(theory, value)
    if any(is_reserved(iri) for iri, _, _ in asked):
        return False
    names: dict[str, set[str]] = defaultdict(set)
    for iri, name, _ in asked:
        names[groups.find(iri)].add(name)
    doubtful = [
        names[group] - {_NO_RANGE}
        for group in {groups.find(iri) for iri, _, opaque in asked if opaque}
    ]
    return all(len(found) == 1 and found <= present for found in doubtful)


def _demanded_datatypes(
    theory: DataTheory, expression: owl.ClassExpression
) -> Iterator[tuple[str, str, bool]]:
    """Yield for each data property in ``expression``: its IRI, the datatype that its values must
    have, and whether that is unknown.
    """
    match expression:
        case owl.DataMaxCardinality(_, owl.DataProperty(iri), range) | owl.DataMinCardinality(
            0 | 1, owl.DataProperty(iri), range
        ) if range == owl.TOP_DATATYPE:
            yield iri, _NO_RANGE, False
        case owl.DataMaxCardinality(
            _, owl.DataProperty(iri), owl.DataComplementOf(range)
        ) | owl.DataMinCardinality(1, owl.DataProperty(iri), range):
            yield iri, _opaque_datatype(theory, range), is_opaque(theory, range)
        case _:
            yield from _unrestricted_demands(theory, expression)


def _unrestricted_demands(theory: DataTheory, value: object) -> Iterator[tuple[str, str, bool]]:
    """Yield for each data property in ``value``: its IRI, `_ELSE` for its datatype, and whether any
    data there is unknown.
    """
    opaque = any(is_opaque(theory, data) for found in data_parts((value,)) for data in found)
    yield from (
        (part.iri, _ELSE, opaque) for part in parts(value) if isinstance(part, owl.DataProperty)
    )


def _opaque_datatype(theory: DataTheory, range: owl.DataRange) -> str:
    """Return the IRI of an unknown datatype, `_ELSE` for any other range."""
    return (
        range.iri
        if isinstance(range, owl.Datatype) and theory.unknown_datatypes(range) == {range.iri}
        else _ELSE
    )


#: Modules are asked about together up to this many assertions, and this many modules.
LOT_ASSERTIONS = 5_000
LOT_MODULES = 200

#: Versions of the axioms about data that are kept for one TBox.
KEPT_DOCUMENTS = 32
#: TBoxes kept as they are sent.
KEPT_TBOXES = 8

_CONSISTENT = Answer(Verdict.CONSISTENT)
_INCONSISTENT = Answer(Verdict.INCONSISTENT)


@dataclass(frozen=True)
class _PreparedTBox:
    """A clausal TBox, split for sending: a text without data, and axioms whose data must be
    replaced for each question.

    plain: axioms without data, as text
    data: axioms with data or large numbers, as values, since their proxies differ by lot
    opaque: reason why ``data`` is opaque or has too large numbers, if it does
    bounds: approximations of ``data`` that replace it in this case
    """

    plain: OntologyText
    plain_keys: frozenset[object]
    data: tuple[Axiom, ...]
    bounds: Mapping[OpaqueReading, tuple[Axiom, ...]]
    theory: DataTheory
    opaque: str | None
    documents: dict[tuple[Axiom, ...], OntologyText | None] = field(default_factory=dict)

    def write_document(self, axioms: Sequence[Axiom]) -> OntologyText | None:
        """Write ``axioms``, with data replaced, as the text that is sent together with ``plain``.
        None if nothing remains.

        Texts are cached: most lots share few versions, and writing one takes longer than a question
            about a module. Raises: Unsendable.
        """
        key = tuple(axioms)
        if key not in self.documents:
            sent, _ = make_sendable(key, ())
            rest = [axiom for axiom in sent if structural_key(axiom) not in self.plain_keys]
            if len(self.documents) >= KEPT_DOCUMENTS:
                self.documents.clear()
            self.documents[key] = write_ontology_text(rest) if rest else None
        return self.documents[key]


@dataclass(frozen=True)
class _ModuleQuestion:
    """A module as assertions to send; ``index``: its position in the caller's list."""

    index: int
    assertions: tuple[Assertion, ...]


@dataclass(frozen=True)
class Budget:
    """Limits on time and on attempts for questions to a JVM.

    per_question: seconds for one question
    deadline: end of all questions (`time.monotonic`)
    attempts: for one question, if the JVM dies
    """

    per_question: float | None
    deadline: float | None = None
    attempts: int = 1

    def next_seconds(self) -> float | None:
        """Return the seconds that the next question may take, None for no limit. Raises: JvmFailure
        if the time is over.
        """
        left = None if self.deadline is None else self.deadline - time.monotonic()
        limit = (
            left
            if self.per_question is None
            else self.per_question
            if left is None
            else min(self.per_question, left)
        )
        if limit is not None and limit <= 0:
            raise JvmFailure("the time limit was reached before this question")
        return limit


class HermitReasoner:
    """HermiT as a reasoner, in a JVM that all HermitReasoners of this process with one heap size
    share.

    The JVM starts with the first question. It is killed if a question takes longer than ``timeout``
    seconds (None: no limit), and restarted by the next one.

    Raises: ReasonerError if there is no Java, no jar or no such heap; UsageError for a malformed
        ``heap`` or ``timeout``.
    """

    def __init__(self, heap: str = "1g", timeout: float | None = 60.0) -> None:
        check_heap(heap)
        check_timeout(timeout)
        self.name = "hermit"
        self._heap = heap
        self._timeout = timeout
        self._java: JavaReasoner | None = None
        self._prepared_tboxes = Cache[int, tuple[ClausalTBox, _PreparedTBox]](KEPT_TBOXES, "lru")
        self.sent_questions = SentQuestions()

    def decide(
        self, tbox: ClausalTBox, modules: Sequence[Module], timeout: float | None = None
    ) -> list[Answer]:
        """Decide for each module whether it is consistent with ``tbox``.

        Many modules are asked about in one ontology, renamed apart; an inconsistent lot is halved.
        This is sound because modules without nominals do not influence each other (THEORY,
        "Modules"). If a lot gets no answer, its modules are asked about one by one, so that only
        the culprits stay undetermined. A module at which the JVM died is asked about once more.
        """
        budget = Budget(self._timeout, None if timeout is None else time.monotonic() + timeout)
        try:
            prepared = self._prepare(tbox)
        except Unsendable as refusal:
            return [self._undetermined_answer(refusal)] * len(modules)
        answers = [self._undetermined_answer("not asked")] * len(modules)
        lot: list[_ModuleQuestion] = []
        size = 0
        for index, module in enumerate(modules):
            report_stage("asking HermiT", index, len(modules))
            question = _make_question(tbox, prepared.theory, index, module)
            if lot and (
                size + len(question.assertions) > LOT_ASSERTIONS or len(lot) >= LOT_MODULES
            ):
                self._decide_by_halving(prepared, lot, budget, answers)
                lot, size = [], 0
            lot.append(question)
            size += len(question.assertions)
        self._decide_by_halving(prepared, lot, budget, answers)
        return answers

    def decide_consistency(
        self,
        axioms: Sequence[Axiom],
        assertions: Sequence[Assertion],
        timeout: float | None = None,
        *,
        proxy_data: bool = True,
        is_normal: bool = False,
    ) -> Answer:
        """Decide whether an OWL 2 ontology is consistent, sent as a whole: not as clauses and
        modules.

        With ``proxy_data`` False, HermiT's own datatypes are used instead of proxies. Version 1.3.8
        is wrong on several: it refuses some datatypes, misreads ≤n f.D for a union or intersection
        D, and misses that ¬f(a, 3.0) contradicts f(a, 3). It also lets [59, 59] and the complement
        of [0, 59] overlap.

        Args:
            timeout: seconds; defaults to the reasoner's
            is_normal: axioms with data are inclusions as `clause_axioms` makes them; then both
                readings of opaque data are tried
        """
        sent_axioms, sent_assertions = make_sendable(axioms, assertions)
        try:
            if proxy_data and any(data_parts([*sent_axioms, *sent_assertions])):
                sent_axioms, sent_assertions, theory = read_data_theory(
                    sent_axioms, sent_assertions
                )
                if is_normal:
                    return self._decide_normal(
                        theory,
                        sent_axioms,
                        sent_assertions,
                        self._timeout if timeout is None else timeout,
                    )
                sent_axioms, sent_assertions = make_sendable(
                    *replace_data(theory, sent_axioms, sent_assertions, negated_ranges=True)
                )
            question = write_ontology_text([*sent_axioms, *sent_assertions])
        except (OpaqueData, Unsendable) as obstacle:
            return self._undetermined_answer(obstacle)
        return self._ask((), question, Budget(self._timeout if timeout is None else timeout))

    def consistency_with_background(
        self, kept: Sequence[OntologyText], more: Sequence[Assertion], timeout: float | None = None
    ) -> Answer:
        """Decide whether ``kept`` and ``more`` are consistent together.

        kept: ontology texts that the JVM parses once and caches.
        more: assertions without data.
        """
        budget = Budget(self._timeout if timeout is None else timeout, attempts=2)
        return self._ask(kept, write_ontology_text(make_sendable((), more)[1]), budget)

    def _decide_normal(
        self,
        theory: DataTheory,
        axioms: Sequence[Axiom],
        assertions: Sequence[Assertion],
        timeout: float | None,
    ) -> Answer:
        """Decide consistency as `decide_consistency`, for inclusions in normal form. Raises:
        OpaqueData, Unsendable.
        """
        budget = Budget(timeout, None if timeout is None else time.monotonic() + timeout)

        def ask_with_reading(bound: OpaqueReading | None) -> Answer:
            """Ask the question under one reading of opaque data."""
            data = (
                [*axioms]
                if bound is None
                else [approximate_opaque(theory, axiom, bound) for axiom in axioms]
            )
            facts = (
                [*assertions]
                if bound is None
                else [approximate_opaque(theory, assertion, bound) for assertion in assertions]
            )
            sent_axioms, sent_assertions = make_sendable(*replace_data(theory, data, facts))
            return self._ask((), write_ontology_text([*sent_axioms, *sent_assertions]), budget)

        opaque = opacity_reason(theory, [*axioms, *assertions])
        answer = self._ask_by_readings(opaque, ask_with_reading)
        if answer == self._undetermined_answer(opaque) and is_one_reading_enough(
            theory, axioms, assertions
        ):
            theory = DataTheory(
                {**theory.definitions, READ_BY_FORM.datatype.iri: READ_BY_FORM.range}, theory.roles
            )
            by_form = ask_with_reading(None)
            return answer if by_form.verdict is Verdict.INCONSISTENT else by_form
        return answer

    def close(self) -> None:
        """Release the JVM; it ends when no other HermitReasoner uses it."""
        self._prepared_tboxes.clear()
        release_jvm(self)

    def _undetermined_answer(self, reason: object) -> Answer:
        """Make an undetermined answer whose reason names HermiT."""
        return Answer(Verdict.UNDETERMINED, f"{self.name}: {reason}")

    # --- lots -------------------------------------------------------------------------------------

    def _decide_by_halving(
        self,
        prepared: _PreparedTBox,
        lot: Sequence[_ModuleQuestion],
        budget: Budget,
        answers: list[Answer],
        known_inconsistent: bool = False,
    ) -> None:
        """Decide the modules of ``lot`` by one question; if they are inconsistent together, by its
        halves. Fill in ``answers``.

        ``known_inconsistent``: a larger lot is inconsistent, and its other half is not.
        """
        if not lot:
            return
        if len(lot) == 1:
            answer = self._ask_single(prepared, lot[0], budget)
            if known_inconsistent and answer.verdict is Verdict.CONSISTENT:
                answer = self._undetermined_answer(
                    "it contradicts itself: it finds modules inconsistent together, but none by itself"
                )
            answers[lot[0].index] = answer
            return
        joint = _INCONSISTENT if known_inconsistent else self._ask_together(prepared, lot, budget)
        if joint.verdict is Verdict.CONSISTENT:
            for question in lot:
                answers[question.index] = joint
        elif joint.verdict is Verdict.UNDETERMINED:
            for question in lot:
                answers[question.index] = self._ask_single(prepared, question, budget)
        else:
            half = len(lot) // 2
            self._decide_by_halving(prepared, lot[:half], budget, answers)
            innocent = all(
                answers[question.index].verdict is Verdict.CONSISTENT for question in lot[:half]
            )
            self._decide_by_halving(
                prepared, lot[half:], budget, answers, known_inconsistent=innocent
            )

    def _ask_single(
        self, prepared: _PreparedTBox, question: _ModuleQuestion, budget: Budget
    ) -> Answer:
        """Ask about one module, with a second attempt if the JVM dies."""
        return self._ask_together(
            prepared, (question,), Budget(budget.per_question, budget.deadline, attempts=2)
        )

    def _ask_together(
        self, prepared: _PreparedTBox, lot: Sequence[_ModuleQuestion], budget: Budget
    ) -> Answer:
        """Decide whether the TBox is consistent with all modules of ``lot``; unknown datatypes are
        tried in both extreme meanings.
        """
        theory = prepared.theory
        assertions = [assertion for question in lot for assertion in question.assertions]

        def ask_with_reading(bound: OpaqueReading | None) -> Answer:
            """Ask the question under one reading of opaque data."""
            if bound is None:
                return self._ask_exactly(prepared, prepared.data, assertions, budget)
            said = [approximate_opaque(theory, assertion, bound) for assertion in assertions]
            return self._ask_exactly(prepared, prepared.bounds[bound], said, budget)

        return self._ask_by_readings(
            prepared.opaque or opacity_reason(theory, assertions), ask_with_reading
        )

    def _ask_by_readings(
        self, opaque: str | None, ask: Callable[[OpaqueReading | None], Answer]
    ) -> Answer:
        """Ask a question as it is; where data is ``opaque`` (the reason), in both extreme readings
        of it. Undetermined where these disagree.
        """
        answer = ask(None if opaque is None else OpaqueReading.PESSIMISTIC)
        if opaque is not None and answer.verdict is Verdict.INCONSISTENT:
            answer = ask(OpaqueReading.OPTIMISTIC)
            if answer.verdict is Verdict.CONSISTENT:
                return self._undetermined_answer(opaque)
        return answer

    def _ask_exactly(
        self,
        prepared: _PreparedTBox,
        axioms: Sequence[Axiom],
        assertions: Sequence[Assertion],
        budget: Budget,
    ) -> Answer:
        """Decide whether the TBox is consistent with ``assertions``; ``axioms`` replace its axioms
        on data.
        """
        try:
            if any(data_parts([*axioms, *assertions])):
                axioms, assertions = replace_data(prepared.theory, axioms, assertions)
            data = prepared.write_document(axioms)
            question = write_ontology_text(make_sendable((), assertions)[1])
        except (OpaqueData, Unsendable) as obstacle:
            return self._undetermined_answer(obstacle)
        return self._ask(
            [prepared.plain] if data is None else [prepared.plain, data], question, budget
        )

    def _ask(self, bases: Sequence[OntologyText], question: OntologyText, budget: Budget) -> Answer:
        """Ask one question; repeat it if the JVM dies, as often as ``budget`` allows."""
        reason = ""
        for _ in range(budget.attempts):
            try:
                consistent = self._is_consistent(bases, question, budget)
            except JvmDied as failure:
                reason = str(failure)
            except JvmFailure as failure:
                return self._undetermined_answer(failure)
            else:
                return _CONSISTENT if consistent else _INCONSISTENT
        return self._undetermined_answer(reason)

    def _is_consistent(
        self, bases: Sequence[OntologyText], question: OntologyText, budget: Budget
    ) -> bool:
        """Return the reasoner's answer to one question. Raises: JvmFailure, ReasonerError."""
        consistent = self._run(bases, question, budget)
        axioms = sum(document.axioms for document in (*bases, question))
        self.sent_questions.count_question(
            axioms, axioms
        )  # there is no answer unless as many are held as were sent
        return consistent

    def _run(self, bases: Sequence[OntologyText], question: OntologyText, budget: Budget) -> bool:
        """Ask the JVM one question, and start it if necessary."""
        if self._java is None:
            self._java = find_hermit()
        budget.next_seconds()  # no JVM is started where the time is over
        jvm = shared_jvm(self, self._heap, self._java)
        return jvm.is_consistent(bases, question, budget.next_seconds())

    # --- TBoxes -----------------------------------------------------------------------------------

    def _prepare(self, tbox: ClausalTBox) -> _PreparedTBox:
        """Split ``tbox`` for sending. The last few are cached. Raises: Unsendable."""
        # What is kept holds its TBox, so that no other one has its id.
        _, prepared = self._prepared_tboxes.get_or_make(
            id(tbox), lambda: (tbox, _prepare_tbox(tbox))
        )
        return prepared


def _prepare_tbox(tbox: ClausalTBox) -> _PreparedTBox:
    """Split a TBox for sending: axioms without data as text, those on data as values."""
    axioms, _ = make_sendable(
        (a for a in clause_axioms(tbox) if not isinstance(a, DatatypeDefinition)), ()
    )
    plain: list[Axiom] = []
    data: list[Axiom] = []
    for axiom in axioms:
        has_versions = any(data_parts((axiom,))) or any(map(has_large_number, parts(axiom)))
        (data if has_versions else plain).append(axiom)
    theory = DataTheory(tbox.definitions, tbox.roles)
    bounds = {
        bound: tuple(approximate_opaque(theory, axiom, bound) for axiom in data)
        for bound in OpaqueReading
    }
    return _PreparedTBox(
        write_ontology_text(plain),
        frozenset(map(structural_key, plain)),
        tuple(data),
        bounds,
        theory,
        opacity_reason(theory, data),
    )


def _make_question(
    tbox: ClausalTBox, theory: DataTheory, index: int, module: Module
) -> _ModuleQuestion:
    """Write a module as assertions about individuals that no other module uses."""
    assertions = module_assertions(tbox, module, numbered_names(module, f"urn:shiq:m{index}:"))
    if module.data or module.negative_data:
        assertions = refute_ill_typed(theory, assertions)
    return _ModuleQuestion(index, tuple(assertions))
