"""Decide the modules of an add set: one question per shape, with answers remembered, and an audit
by a second reasoner.

Answers within a small budget are remembered separately (`Decider.attempt`); they never replace a
full answer. A share of the shapes may be decided again by a second reasoner (``--audit``). The
choice depends on the shape alone, so it is repeatable. A disagreement means that one of the
reasoners is wrong, so the run stops there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeAlias

from shiq.abox_ops.labels.label_calculus import LabelCalculus
from shiq.abox_ops.modules.shapes import Shape, Shapes
from shiq.answers.verdict import Verdict
from shiq.deadline import is_past, seconds_left
from shiq.model import Axiom, TBox
from shiq.model.clause import ClausalTBox
from shiq.reasoner.protocol import Answer, CombinedReasoner, CoreFinder, Module, Reasoner

if TYPE_CHECKING:
    from shiq.explanation.canonical_text import Row
    from shiq.reasoner.own_reasoner import OwnReasoner

#: By conflicts up to the names of their individuals (`shiq.explanation.canonical_text`): axioms, and
#: whether none of them is too many.
KnownReasons: TypeAlias = "dict[tuple[Row, ...], tuple[list[Axiom], bool]]"


@dataclass
class Decider:
    """Service that decides modules by ``reasoner``, one question for each shape. Undetermined
    answers are not remembered.

    question_count: modules that reached the reasoner.
    answers_by_tbox: by id of a TBox, the shapes and their full answers. attempts_by_tbox: the same
        for small budgets.
    audit: audit of a share of the answers; after a disagreement nothing is answered any more.
    full_reasoner: the reasoner for ontologies of OWL 2 DL, once one was needed.
    """

    reasoner: Reasoner
    progress: Callable[[str, int, int], None] | None = None
    question_count: int = 0
    answers_by_tbox: dict[int, tuple[ClausalTBox, Shapes, dict[Shape, Answer]]] = field(
        default_factory=dict
    )
    audit: Audit | None = None
    full_reasoner: Reasoner | None = None
    attempts_by_tbox: dict[int, dict[Shape, Answer]] = field(default_factory=dict)
    _own_reasoner: OwnReasoner | None = None
    _space: LabelCalculus | None = None
    _reasons: tuple[TBox, KnownReasons] | None = None

    #: Shapes per call of the reasoner, so that progress shows and one time-out does not cost
    #: everything.
    BATCH = 500

    def decide(
        self, tbox: ClausalTBox, modules: Sequence[Module], timeout: float | None = None
    ) -> list[Answer]:
        """Decide each module; return the answers in order."""
        if not modules:
            return []
        shapes, answers = self._shapes_and_answers(tbox)
        keys = _shape_of_each(shapes, modules)
        open_shapes = {k: m for k, m in zip(keys, modules) if k not in answers}
        asked = {k: id(m) for k, m in open_shapes.items()}
        deadline = None if timeout is None else time.monotonic() + timeout
        found: dict[Shape, Answer] = {}
        if open_shapes:
            asks = self.reasoner
            told = self._decide_shapes(tbox, open_shapes, deadline, asks, asks.decide)
            found = dict(zip(open_shapes, told))
        # Other modules of this shape have their nodes in another order.
        answers.update(
            (key, replace(answer, near_nodes=()))
            for key, answer in found.items()
            if answer.verdict is not Verdict.UNDETERMINED
        )
        return [
            found[k] if asked.get(k) == id(m) else answers.get(k) or found[k]
            for k, m in zip(keys, modules)
        ]

    def attempt(
        self, tbox: ClausalTBox, modules: Sequence[Module], timeout: float | None = None
    ) -> list[Answer]:
        """Answer each module by the own reasoner within a small budget, whatever ``reasoner`` is.

        The answer depends on the shape alone, so it is the same wherever and whenever a module is
        asked about.
        """
        if not modules:
            return []
        shapes, _ = self._shapes_and_answers(tbox)
        answers = self.attempts_by_tbox.setdefault(id(tbox), {})
        keys = _shape_of_each(shapes, modules)
        asked = {key: module for key, module in zip(keys, modules) if key not in answers}
        if asked:
            answers = answers | self._attempt_shapes(tbox, shapes, asked, timeout)
        return [
            replace(answers[key], near_nodes=tuple(order[n] for n in answers[key].near_nodes))
            if answers[key].near_nodes and (order := shapes.canonical_module(module)[1])
            else answers[key]
            for key, module in zip(keys, modules)
        ]

    def attempt_once(
        self, tbox: ClausalTBox, modules: Sequence[Module], timeout: float | None = None
    ) -> list[Answer]:
        """Answer as `attempt` does, but without caching by shape, for modules that come only once."""
        self.question_count += len(modules)
        return list(self.own_reasoner.decide_if_easy(tbox, modules, timeout))

    @property
    def own_reasoner(self) -> OwnReasoner:
        """The built-in reasoner, which answers within small budgets."""
        if self._own_reasoner is None:
            from shiq.reasoner.own_reasoner import OwnReasoner

            self._own_reasoner = OwnReasoner()
        return self._own_reasoner

    def _attempt_shapes(
        self,
        tbox: ClausalTBox,
        shapes: Shapes,
        asked: Mapping[Shape, Module],
        timeout: float | None,
    ) -> dict[Shape, Answer]:
        """Decide new shapes within the small budget; answers cut short by time are not remembered."""
        deadline = None if timeout is None else time.monotonic() + timeout
        ordered = {key: shapes.canonical_module(module)[0] for key, module in asked.items()}
        own = self.own_reasoner
        told = self._decide_shapes(tbox, ordered, deadline, own, own.decide_if_easy)
        found = dict(zip(asked, told))
        over = is_past(deadline)
        self.attempts_by_tbox[id(tbox)].update(
            (k, a) for k, a in found.items() if not over or a.verdict is not Verdict.UNDETERMINED
        )
        return found

    def close(self) -> None:
        """Free the reasoners and the audit. May be called twice."""
        self.reasoner.close()
        if self.full_reasoner is not None:
            self.full_reasoner.close()
        if self.audit is not None:
            self.audit.close()

    def forget_answers(self) -> None:
        """Forget all answers."""
        self.answers_by_tbox.clear()
        self.attempts_by_tbox.clear()

    def _shapes_and_answers(self, tbox: ClausalTBox) -> tuple[Shapes, dict[Shape, Answer]]:
        """The cache for ``tbox``: its shape keys, and the answers in full to the shapes asked so
        far.
        """
        if id(tbox) not in self.answers_by_tbox:
            from shiq.abox_ops.modules.shapes import Shapes

            self.answers_by_tbox[id(tbox)] = tbox, Shapes(tbox), {}
        _, shapes, answers = self.answers_by_tbox[id(tbox)]
        return shapes, answers

    def _decide_shapes(
        self,
        tbox: ClausalTBox,
        asked: Mapping[Shape, Module],
        deadline: float | None,
        reasoner: Reasoner,
        decide: Callable[[ClausalTBox, Sequence[Module], float | None], Sequence[Answer]],
    ) -> list[Answer]:
        """Decide new shapes by ``decide`` of ``reasoner``, in parts of a call each."""
        items, found = list(asked.items()), list[Answer]()
        for start in range(0, len(items), self.BATCH):
            part = items[start : start + self.BATCH]
            modules, left = [module for _, module in part], seconds_left(deadline)
            is_stopped = self.audit is not None and bool(self.audit.disagreements)
            answers = () if is_stopped else decide(tbox, modules, left)
            if self.audit is not None and not is_stopped:
                self._audit_part(self.audit, tbox, part, answers, reasoner, left)
                is_stopped = bool(self.audit.disagreements)
            found += [_stopped_answer()] * len(part) if is_stopped else answers
            self.question_count += len(part)
            if self.progress:
                self.progress("deciding shapes", len(found), len(items))
        return found

    def _audit_part(
        self,
        audit: Audit,
        tbox: ClausalTBox,
        asked: Sequence[tuple[Shape, Module]],
        answers: Sequence[Answer],
        reasoner: Reasoner,
        timeout: float | None,
    ) -> None:
        """Audit a share of the answers of ``reasoner``."""
        names = (
            reasoner.deciders
            if isinstance(reasoner, CombinedReasoner)
            else [reasoner.name] * len(asked)
        )
        drawn = [
            (module, answer, name)
            for (shape, module), answer, name in zip(asked, answers, names)
            if audit.is_drawn(shape)
        ]
        audit.examine(tbox, drawn, timeout)

    def inconsistent_core(
        self, tbox: ClausalTBox, module: Module, timeout: float | None = None
    ) -> Module | None:
        """Find an inconsistent part of ``module``; None if the reasoner does not record which part
        it used.

        See `shiq.reasoner.protocol.CoreFinder`.
        """
        return (
            self.reasoner.core(tbox, module, timeout)
            if isinstance(self.reasoner, CoreFinder)
            else None
        )

    def label_calculus(self, tbox: ClausalTBox) -> LabelCalculus:
        """The label calculus of ``tbox``; the last one is cached."""
        if self._space is None or self._space.tbox is not tbox:
            self._space = LabelCalculus(tbox)
        return self._space

    def reason_cache(self, tbox: TBox) -> KnownReasons:
        """The cache of reasons for conflicts of ``tbox``, for the caller to extend; only the last
        TBox is cached.
        """
        if self._reasons is None or self._reasons[0] is not tbox:
            self._reasons = (tbox, {})
        return self._reasons[1]

    def count_shapes(self, tbox: ClausalTBox, modules: Sequence[Module]) -> int:
        """Count the distinct shapes of ``modules``."""
        return len(self.shape_keys(tbox, modules))

    def shape_keys(self, tbox: ClausalTBox, modules: Sequence[Module]) -> frozenset[Shape]:
        """The distinct shapes of ``modules``; empty if nothing was asked over ``tbox``."""
        entry = self.answers_by_tbox.get(id(tbox))
        return frozenset(_shape_of_each(entry[1], modules)) if entry else frozenset()


def _stopped_answer() -> Answer:
    """The answer for a module that is not asked because the audit has stopped the run."""
    return Answer(Verdict.UNDETERMINED, "not asked: the audit has stopped the run")


def _shape_of_each(shapes: Shapes, modules: Sequence[Module]) -> list[Shape]:
    """Compute the shape of each of ``modules``, once per module object, since engines repeat
    objects.
    """
    distinct = {id(m): m for m in modules}
    keys = {i: shapes.shape_of(m) for i, m in distinct.items()}
    return [keys[id(m)] for m in modules]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A module that two reasoners answer differently, with both answers."""

    tbox: ClausalTBox
    module: Module
    reasoners: tuple[str, str]
    answers: tuple[Answer, Answer]

    def __str__(self) -> str:
        said = " and ".join(
            f"{name} {answer.verdict.value}" for name, answer in zip(self.reasoners, self.answers)
        )
        return f"AUDIT: two reasoners disagree about one module of {len(self.module.positive)} individuals: {said}"


@dataclass
class Audit:
    """Audit of a share of the shapes: a second reasoner decides them again.

    share: 0 to 1. auditors: makes the auditor of each reasoner, by name, when it is first needed.
    audited_count, agreement_count, undecided_count: numbers of shapes; the auditor could not decide
        the undecided ones.
    """

    share: float
    auditors: Mapping[str, Callable[[], Reasoner]]
    audited_count: int = 0
    agreement_count: int = 0
    undecided_count: int = 0
    disagreements: list[Disagreement] = field(default_factory=list)
    _open_auditors: dict[str, Reasoner] = field(default_factory=dict)

    def is_drawn(self, shape: Shape) -> bool:
        """Decide whether ``shape`` is in the audited share, which depends on a hash of the shape
        alone.
        """
        digest = blake2b(repr(shape).encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return int.from_bytes(digest, "big") < self.share * 2**64

    def examine(
        self, tbox: ClausalTBox, asked: Sequence[tuple[Module, Answer, str]], timeout: float | None
    ) -> None:
        """Ask the auditors about decided modules and record the outcome. The first disagreement
        ends the audit.
        """
        by_name: dict[str, list[tuple[Module, Answer]]] = {}
        for module, answer, name in asked:
            if answer.verdict is not Verdict.UNDETERMINED and name in self.auditors:
                by_name.setdefault(name, []).append((module, answer))
        for name, pairs in by_name.items():
            second = self._open_auditor(name)
            for (module, first), other in zip(
                pairs, second.decide(tbox, [m for m, _ in pairs], timeout)
            ):
                self.audited_count += 1
                if other.verdict is Verdict.UNDETERMINED:
                    self.undecided_count += 1
                elif other.verdict is first.verdict:
                    self.agreement_count += 1
                else:
                    self.disagreements.append(
                        Disagreement(tbox, module, (name, second.name), (first, other))
                    )
                    return

    def close(self) -> None:
        """Stop the auditors."""
        for reasoner in self._open_auditors.values():
            reasoner.close()
        self._open_auditors.clear()

    def __str__(self) -> str:
        return (
            f"audit of {self.share:.3%} of the shapes: {self.audited_count} decided again, {self.agreement_count} agreed, "
            f"{len(self.disagreements)} disagreed, {self.undecided_count} left open by the second reasoner"
        )

    def _open_auditor(self, name: str) -> Reasoner:
        """Start a reasoner of the audit on first use, and return it."""
        if name not in self._open_auditors:
            self._open_auditors[name] = self.auditors[name]()
        return self._open_auditors[name]


# Where workers decide, the shapes that are drawn come to the driver, with what was said of them.
#
# There each is put to the same reasoner again, and to the second one that audits it; all three have
# to agree.


@dataclass(frozen=True)
class DrawnShapes:
    """Modules drawn for the audit, one of each shape over ``tbox``, with the verdicts that
    executors gave.
    """

    tbox: ClausalTBox
    modules: tuple[tuple[Module, str], ...]


def draw_shapes(
    tbox: ClausalTBox, decided: Iterable[tuple[Module, str]], share: float
) -> DrawnShapes:
    """Draw the audited ``share`` of the ``decided`` modules, one of each shape. Every engine draws
    the same.
    """
    audit, shapes = Audit(share, {}), Shapes(tbox)
    asked = ((shapes.shape_of(pair[0]), pair) for pair in decided) if share else ()
    return DrawnShapes(tbox, tuple({x: pair for x, pair in asked if audit.is_drawn(x)}.values()))


def audit_drawn_shapes(asked: DrawnShapes, decider: Decider, seconds: float | None) -> None:
    """Let the auditing ``decider`` decide the shapes that executors have decided.

    A difference from an executor is recorded as a disagreement.
    """
    audit, name = decider.audit, decider.reasoner.name
    if audit is None or not asked.modules:
        return
    # What a small budget left open was widened, and is nobody's answer.
    decided = [
        (module, verdict)
        for module, verdict in asked.modules
        if verdict != Verdict.UNDETERMINED.value
    ]
    answers = decider.decide(asked.tbox, [module for module, _ in decided], seconds)
    for (module, verdict), here in zip(decided, answers):
        there = Answer(Verdict(verdict))
        told = {there.verdict, here.verdict}
        if len(told) == 2 and Verdict.UNDETERMINED not in told and not audit.disagreements:
            audit.disagreements.append(
                Disagreement(asked.tbox, module, (f"{name} in an executor", name), (there, here))
            )
