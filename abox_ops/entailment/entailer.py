"""Protocol of entailment services: (T, B) is opened once and asked about many events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from types import TracebackType

from shiq import model as owl
from shiq.abox_ops.entailment.chains_as_clauses import ClausalReading
from shiq.abox_ops.entailment.event_modules import AskedVocabulary
from shiq.abox_ops.entailment.full_entailer import FullEntailer
from shiq.abox_ops.entailment.horn_entailer import HornEntailer
from shiq.abox_ops.entailment.premises import Entailment, Premises, undetermined_entailment
from shiq.abox_ops.entailment.reasoners import Reasoners
from shiq.abox_ops.entailment.shiq_entailer import ShiqEntailer, unite_or_any
from shiq.model.abox import ABox
from shiq.reasoner.protocol import Answer


class Entailer:
    """Protocol of an entailment service: ``premises`` (T, B) opened for questions about ``classes``
    and ``roles`` (IRIs).

    ``classes`` None: all classes that T, B and the event name.
    """

    def __init__(
        self,
        premises: Premises,
        classes: Sequence[owl.ClassExpression] | None = None,
        roles: Sequence[str] = (),
        *,
        static: bool = False,
        reasoners: Reasoners | None = None,
    ) -> None:
        self.premises = premises
        self.asked_vocabulary = AskedVocabulary(
            None if classes is None else tuple(dict.fromkeys(classes)),
            tuple(dict.fromkeys(roles)),
            static,
        )
        self.reasoners = reasoners or Reasoners()
        self._horn_entailer: HornEntailer | None = None
        #: For what clauses can say; else there is none.
        self._shiq_entailer: ShiqEntailer | None = None
        if premises.is_in_shiq and all(
            map(premises.can_express, self.asked_vocabulary.classes or ())
        ):
            self._shiq_entailer = ShiqEntailer(premises, self.asked_vocabulary, self.reasoners)
            self._horn_entailer = HornEntailer.build(premises, self.asked_vocabulary)
        elif (reading := ClausalReading.build(premises, self.asked_vocabulary)) is not None:
            self._shiq_entailer = ShiqEntailer(
                premises, self.asked_vocabulary, self.reasoners, reading
            )
        self._full_entailer = FullEntailer(premises, self.asked_vocabulary, self.reasoners)

    def __enter__(self) -> Entailer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def entailment(
        self, assertions: Iterable[owl.Assertion], deadline: float | None = None
    ) -> Entailment:
        """Compute what (T, B ∪ ``assertions``) entails; undetermined after ``deadline``
        (`time.monotonic`).
        """
        if self._horn_entailer is not None:
            given = list(assertions)
            found = self._horn_entailer.entailment(given, static=self.asked_vocabulary.static)
            if found is not None:
                return found
            assertions = given
        event = self.premises.split_event(assertions)
        if self.premises.problems or event.problems:
            return undetermined_entailment((*self.premises.problems, *event.problems)[0])
        if self._shiq_entailer is not None and self._shiq_entailer.can_read(event):
            result = self._shiq_entailer.entailment(event, deadline)
            # Labels of Horn clauses may grow where nobody is told more.
            return result if self._horn_entailer is None else replace(result, changes=None)
        return self._full_entailer.entailment(event, deadline)

    def changed_individuals(self, assertions: Sequence[owl.Assertion]) -> frozenset[str] | None:
        """Find the individuals of B whose classes or links may change by adding ``assertions``;
        None: possibly any. What follows of an event depends on them, or is the same.
        """
        if self._shiq_entailer is None:
            return None
        ways = [self._shiq_entailer.changed_individuals(assertions)]
        return unite_or_any(
            ways
            if self._horn_entailer is None
            else [*ways, self._horn_entailer.changed_individuals(assertions)]
        )

    def base_entailment(self, deadline: float | None = None) -> Entailment:
        """Compute what (T, B) alone entails of every individual of B. Unless it is consistent,
        questions about events have no answer.
        """
        premises = self.premises
        alone = Premises(premises.tbox, ABox(), premises.axioms, (), premises.problems)
        return Entailer(
            alone,
            self.asked_vocabulary.classes,
            self.asked_vocabulary.roles,
            reasoners=self.reasoners,
        ).entailment(premises.all_assertions, deadline)

    def is_consistent(self, deadline: float | None = None) -> Answer:
        """Decide whether (T, B) is consistent."""
        if self._shiq_entailer is not None and not self.premises.problems:
            return self._shiq_entailer.is_consistent(deadline)
        return self._full_entailer.is_consistent(deadline)

    def close(self) -> None:
        """Stop the reasoners; may be called twice."""
        self.reasoners.close()
