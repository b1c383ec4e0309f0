"""HermiT as a backend: clauses written back as an ontology, modules as individuals of it, one warm JVM (THEORY.md 2.5).

Consistent is said only of what the OWL API was seen to hold in full and HermiT decided without an exception; whatever else
happens is UNDETERMINED with its reason. HermiT never sees a literal of ours: data goes through proxies over xsd:integer, whose
consistency is the same.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from shiq.clause import ClausalTBox
from shiq.clause_axioms import atom_expression, clause_axioms, module_assertions

try:
    from shiq.datatypes import DataTheory
except ImportError:

    class DataTheory:
        def __init__(self, *a):
            pass


from shiq.model import (
    Assertion,
    Axiom,
    DataExactCardinality,
    DataMaxCardinality,
    DataMinCardinality,
    DataRange,
    DatatypeDefinition,
    Literal,
)
from shiq.reasoner.jvm import JvmDied, JvmFailure, release_jvm
from shiq.reasoner.limits import check_heap, check_timeout
from shiq.reasoner.owlapi import shared_session
from shiq.reasoner.protocol import Answer, Module
from shiq.reasoner.sending import Document, Unsendable, document, sendable
from shiq.reasoner.structure import data_of, parts, with_data
from shiq.roles import role_box
from shiq.verdict import Verdict

#: Modules are asked about together up to this many assertions, and this many modules.
BATCH_ASSERTIONS = 5_000
BATCH_MODULES = 200

_CONSISTENT = Answer(Verdict.CONSISTENT)
_INCONSISTENT = Answer(Verdict.INCONSISTENT)
_OPAQUE = "opaque datatype: its values cannot be told apart, so no proxies stand for them"


def _undetermined(reason: str) -> Answer:
    return Answer(Verdict.UNDETERMINED, f"hermit: {reason}")


@dataclass(frozen=True)
class _Prepared:
    """A clausal TBox as it is sent: axioms without data as text, axioms with data as values (their proxies differ by batch)."""

    plain: Document
    data: tuple[Axiom, ...]
    ranges: frozenset[DataRange]
    theory: DataTheory


@dataclass(frozen=True)
class _Question:
    """A module as it is sent; ``index`` is its place in the call."""

    index: int
    assertions: tuple[Assertion, ...]
    literals: frozenset[Literal]


@dataclass
class _Budget:
    """Seconds: ``each`` for one question, ``deadline`` (monotonic) for all."""

    each: float | None
    deadline: float | None

    def next(self) -> float | None:
        """The limit of the next question, None for no limit. Raises JvmFailure when the time is over."""
        left = None if self.deadline is None else self.deadline - time.monotonic()
        limit = left if self.each is None else self.each if left is None else min(self.each, left)
        if limit is not None and limit <= 0:
            raise JvmFailure("the time limit was reached before this question")
        return limit


class HermitReasoner:
    """HermiT in the warm JVM that all HermitReasoners of this process share (with one heap size at a time).

    The JVM starts with the first question, is killed when a question takes longer than ``timeout`` seconds, and started
    afresh by the next. Raises ReasonerError where there is no Java, no jar or no such heap, UsageError for a malformed ``heap``.
    """

    def __init__(self, heap: str = "1g", timeout: float | None = 60.0) -> None:
        check_heap(heap)
        check_timeout(timeout)
        self.name = "hermit"
        self._heap = heap
        self._timeout = timeout
        self._prepared: dict[int, tuple[weakref.ref[ClausalTBox], _Prepared]] = {}

    def decide(self, tbox: ClausalTBox, modules: Sequence[Module], timeout: float | None = None) -> list[Answer]:
        """Whether each module is consistent with ``tbox``: many in one ontology, renamed apart; an inconsistent lot is halved.

        Modules of one ontology without nominals do not influence each other (THEORY.md 2.5). Where a lot has no answer, its
        modules are asked about one by one, so that only those that are to blame stay undetermined; a module at which the JVM
        died by itself is asked about once more.
        """
        budget = _Budget(self._timeout, None if timeout is None else time.monotonic() + timeout)
        try:
            prepared = self._prepare(tbox)
        except Unsendable as refusal:
            return [_undetermined(str(refusal))] * len(modules)
        answers = [_undetermined("not asked")] * len(modules)
        lot: list[_Question] = []
        size = 0
        for index, module in enumerate(modules):
            question = _question(tbox, index, module)
            if lot and (size + len(question.assertions) > BATCH_ASSERTIONS or len(lot) >= BATCH_MODULES):
                self._decide_lot(prepared, lot, budget, answers)
                lot, size = [], 0
            lot.append(question)
            size += len(question.assertions)
        self._decide_lot(prepared, lot, budget, answers)
        return answers

    def consistent(
        self,
        axioms: Sequence[Axiom],
        assertions: Sequence[Assertion],
        timeout: float | None = None,
        *,
        proxy_data: bool = True,
    ) -> Answer:
        """Whether an OWL 2 ontology is consistent, from scratch: no clauses, no modules, nothing of ours but the proxies.

        With ``proxy_data`` False HermiT's own datatypes are asked (it refuses several of them). ``timeout`` defaults to the
        reasoner's.
        """
        sent_axioms, sent_assertions = sendable(axioms, assertions)
        if proxy_data:
            definitions = {a.datatype.iri: a.range for a in sent_axioms if isinstance(a, DatatypeDefinition)}
            sent_axioms = [a for a in sent_axioms if not isinstance(a, DatatypeDefinition)]
            ranges, literals = data_of([*sent_axioms, *sent_assertions])
            if ranges or literals:
                theory = DataTheory(definitions, role_box(sent_axioms))
                largest = _largest([*sent_axioms, *sent_assertions], literals)
                proxies = theory.proxies(ranges, literals, largest)
                if proxies is None:
                    return _undetermined(_OPAQUE)
                proxied = [with_data(a, proxies.range, proxies.literal) for a in sent_axioms]
                proxied_assertions = [with_data(a, proxies.range, proxies.literal) for a in sent_assertions]
                sent_axioms, sent_assertions = sendable(proxied, proxied_assertions)
        limit = self._timeout if timeout is None else timeout
        return self._ask((), [*sent_axioms, *sent_assertions], _Budget(limit, None))

    def close(self) -> None:
        """Lets go of the JVM; it ends when no other HermitReasoner uses it."""
        self._prepared.clear()
        release_jvm(self)

    # --- lots ---------------------------------------------------------------------------------------

    def _decide_lot(
        self,
        prepared: _Prepared,
        lot: Sequence[_Question],
        budget: _Budget,
        answers: list[Answer],
        known_inconsistent: bool = False,
    ) -> None:
        """Fills in ``answers`` for ``lot``, which is ``known_inconsistent`` where the whole is and the other half is not."""
        if not lot:
            return
        if len(lot) == 1:
            answer = self._ask_single(prepared, lot[0], budget)
            if known_inconsistent and answer.verdict is Verdict.CONSISTENT:
                answer = _undetermined("HermiT contradicts itself: it finds modules inconsistent together, but none by itself")
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
            self._decide_lot(prepared, lot[:half], budget, answers)
            innocent = all(answers[question.index].verdict is Verdict.CONSISTENT for question in lot[:half])
            self._decide_lot(prepared, lot[half:], budget, answers, known_inconsistent=innocent)

    def _ask_single(self, prepared: _Prepared, question: _Question, budget: _Budget) -> Answer:
        return self._ask_together(prepared, (question,), budget, attempts=2)

    def _ask_together(self, prepared: _Prepared, lot: Sequence[_Question], budget: _Budget, attempts: int = 1) -> Answer:
        """The consistency of the TBox with all of ``lot``."""
        bases = [prepared.plain]
        assertions: list[Assertion] = [assertion for question in lot for assertion in question.assertions]
        literals = frozenset(literal for question in lot for literal in question.literals)
        if prepared.ranges or literals:
            largest = _largest([*prepared.data, *assertions], literals)
            proxies = prepared.theory.proxies(prepared.ranges, literals, largest)
            if proxies is None:
                return _undetermined(_OPAQUE)
            axioms, _ = sendable([with_data(axiom, proxies.range, proxies.literal) for axiom in prepared.data], ())
            _, assertions = sendable((), [with_data(assertion, proxies.range, proxies.literal) for assertion in assertions])
            try:
                bases.append(document(axioms))
            except Unsendable as refusal:
                return _undetermined(str(refusal))
        return self._ask(bases, assertions, budget, attempts)

    def _ask(self, bases: Sequence[Document], values: Sequence[Axiom | Assertion], budget: _Budget, attempts: int = 1) -> Answer:
        """One question to HermiT; after a JVM that died by itself another attempt, if there are any left."""
        try:
            question = document(values)
        except Unsendable as refusal:
            return _undetermined(str(refusal))
        while True:
            try:
                consistent = self._call(bases, question, budget)
            except JvmDied as failure:
                attempts -= 1
                if attempts <= 0:
                    return _undetermined(str(failure))
            except JvmFailure as failure:
                return _undetermined(str(failure))
            else:
                return _CONSISTENT if consistent else _INCONSISTENT

    def _call(self, bases: Sequence[Document], question: Document, budget: _Budget) -> bool:
        session = shared_session(self, self._heap, budget.next())
        return session.jvm.call(lambda: session.consistent(bases, question), budget.next())

    # --- TBoxes -------------------------------------------------------------------------------------

    def _prepare(self, tbox: ClausalTBox) -> _Prepared:
        """What is sent of ``tbox``, kept for as long as it lives."""
        known = self._prepared.get(id(tbox))
        if known is not None and known[0]() is tbox:
            return known[1]
        for key in [key for key, (reference, _) in self._prepared.items() if reference() is None]:
            del self._prepared[key]
        prepared = _prepared(tbox)
        self._prepared[id(tbox)] = (weakref.ref(tbox), prepared)
        return prepared


def _prepared(tbox: ClausalTBox) -> _Prepared:
    axioms, _ = sendable((a for a in clause_axioms(tbox) if not isinstance(a, DatatypeDefinition)), ())
    plain: list[Axiom] = []
    data: list[Axiom] = []
    for axiom in axioms:
        (data if any(data_of((axiom,))) else plain).append(axiom)
    expressions = [atom_expression(atom) for atom in tbox.atoms]
    ranges, _ = data_of([*data, *expressions])
    return _Prepared(document(plain), tuple(data), frozenset(ranges), DataTheory(tbox.definitions, tbox.roles))


def _question(tbox: ClausalTBox, index: int, module: Module) -> _Question:
    assertions = module_assertions(tbox, module, f"urn:shiq:m{index}:")
    literals = frozenset(literal for _, _, literal in (*module.data, *module.negative_data))
    return _Question(index, tuple(assertions), literals)


def _largest(values: Iterable[object], literals: Iterable[Literal]) -> int:
    """How many different values one individual can be asked to have: every ≥n, negated ≤n and asserted value counted."""
    total = len(frozenset(literals)) + 1
    for value in values:
        for part in parts(value):
            if isinstance(part, DataMinCardinality | DataMaxCardinality | DataExactCardinality):
                total += part.cardinality + 1
    return total
