"""(T, B) opened once, and asked of event after event."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from types import TracebackType

from shiq import model as owl
from shiq.abox_ops.entailment.chains_as_clauses import PlainReading
from shiq.abox_ops.entailment.full_entailer import OutsideEntailer
from shiq.abox_ops.entailment.horn_entailer import HornEntailer
from shiq.abox_ops.entailment.modules import AskedVocabulary
from shiq.abox_ops.entailment.premises import Entailment, Premises, undetermined
from shiq.abox_ops.entailment.reasoners import Reasoners
from shiq.abox_ops.entailment.shiq_entailer import InsideEntailer, union_of
from shiq.model.abox import ABox
from shiq.reasoner.protocol import Answer


class Entailer:
    """``premises`` opened for questions about ``classes`` (None: those that T, B and the event
    name) and ``roles`` (IRIs).

    With ``static`` results tell what an event makes of individuals that it does not mention.
    Each event is taken with B alone; nothing is kept of it.
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
        self.asked = AskedVocabulary(
            None if classes is None else tuple(dict.fromkeys(classes)),
            tuple(dict.fromkeys(roles)),
            static,
        )
        self.reasoners = reasoners or Reasoners()
        self._horn: HornEntailer | None = None
        #: For what clauses can say; else there is none.
        self._inside: InsideEntailer | None = None
        if premises.is_inside and all(map(premises.says, self.asked.classes or ())):
            self._inside = InsideEntailer(premises, self.asked, self.reasoners)
            self._horn = HornEntailer.of(premises, self.asked)
        elif (reading := PlainReading.of(premises, self.asked)) is not None:
            self._inside = InsideEntailer(premises, self.asked, self.reasoners, reading)
        self._outside = OutsideEntailer(premises, self.asked, self.reasoners)

    def __enter__(self) -> Entailer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def entailed(
        self, assertions: Iterable[owl.Assertion], deadline: float | None = None
    ) -> Entailment:
        """What (T, B ∪ ``assertions``) entails; undetermined after ``deadline`` (`time.monotonic`)."""
        if self._horn is not None:
            given = list(assertions)
            found = self._horn.entailed(given, static=self.asked.static)
            if found is not None:
                return found
            assertions = given
        event = self.premises.event(assertions)
        if self.premises.unread or event.unread:
            return undetermined((*self.premises.unread, *event.unread)[0])
        if self._inside is not None and self._inside.takes(event):
            result = self._inside.entailed(event, deadline)
            # Labels of Horn clauses may grow where nobody is told more.
            return result if self._horn is None else replace(result, changes=None)
        return self._outside.entailed(event, deadline)

    def changed(self, assertions: Sequence[owl.Assertion]) -> frozenset[str] | None:
        """Which individuals of B may be something else, or be linked otherwise, with
        ``assertions`` than without: what follows of an event rests on them, or is the same.
        None: there is no telling.
        """
        if self._inside is None:
            return None
        ways = [self._inside.changed(assertions)]
        return union_of(ways if self._horn is None else [*ways, self._horn.changed(assertions)])

    def of_base(self, deadline: float | None = None) -> Entailment:
        """What (T, B) by itself entails of every individual of B: its verdict says whether
        anything can be asked at all.
        """
        premises = self.premises
        alone = Premises(premises.tbox, ABox(), premises.axioms, (), premises.unread)
        return Entailer(
            alone, self.asked.classes, self.asked.roles, reasoners=self.reasoners
        ).entailed(premises.all_assertions, deadline)

    def is_consistent(self, deadline: float | None = None) -> Answer:
        """Whether (T, B) is."""
        if self._inside is not None and not self.premises.unread:
            return self._inside.is_consistent(deadline)
        return self._outside.is_consistent(deadline)

    def close(self) -> None:
        """Lets the reasoners go; it may be called twice."""
        self.reasoners.close()
