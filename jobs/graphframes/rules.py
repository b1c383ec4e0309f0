"""What the TBox says of labels, for Spark's workers: functions of texts and numbers, as Arrow user-defined functions.

A label travels as the text of its two masks in hexadecimal, a history as its labels with `THEN` between, several texts as
one with `AND` between: so each distinct combination can be worked out once a batch, and is remembered by the worker.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, reduce
from typing import Any, cast

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.pandas import functions as arrow

from abox_ops.labels.calculus import EMPTY, CompiledClause, Label, LabelSpace, join
from abox_ops.labels.numbered import combinations
from jobs.spark.imports import spare_imports
from shiq.clause import ClausalTBox
from shiq.roles import Role

#: The empty label.
NOTHING_TOLD = "0 0"
#: What stands between the labels of a history; between texts that travel together.
THEN, AND = ";", "|"


def label_text(label: Label) -> str:
    return f"{label[0]:x} {label[1]:x}"


@lru_cache(maxsize=1 << 18)
def label_of(text: str) -> Label:
    positive, _, negative = text.partition(" ")
    return int(positive, 16), int(negative, 16)


def join_of(texts: str) -> Label:
    """The join of the labels in ``texts``; what is empty is none."""
    return reduce(join, map(label_of, filter(None, texts.split(AND))), EMPTY)


def arrow_udf(work: Callable[..., Any], kind: str, *columns: Column) -> Column:
    """``work`` of each row of ``columns``, texts and numbers; asked once for what a batch has several times."""

    # No type hints: Spark would read them.
    def of_batch(*batch):  # type: ignore[no-untyped-def]
        spare_imports()
        encoded = [column.dictionary_encode(null_encoding="encode") for column in batch]
        values = [column.dictionary.to_pylist() for column in encoded]
        found, which = combinations(*(column.indices.to_numpy(zero_copy_only=False) for column in encoded))
        results = [work(*(known[i] for known, i in zip(values, row))) for row in found]
        return pa.array(results, {"string": pa.string(), "int": pa.int32(), "boolean": pa.bool_()}[kind]).take(pa.array(which))

    made: Any = arrow.arrow_udf(of_batch, kind)  # type: ignore[call-overload]
    return cast("Column", made(*columns))


def joined(labels: Column) -> Column:
    """The join of an array of labels; null if it has none."""
    return F.when(F.size(labels) > 0, arrow_udf(_joined, "string", F.array_join(labels, AND)))


def _joined(texts: str) -> str:
    return label_text(join_of(texts))


@dataclass(frozen=True)
class WorkerCalculus:
    """The calculus of ``tbox``; ``roles`` gives the role of each role number. ``token`` names it in a worker's memory."""

    tbox: ClausalTBox
    roles: tuple[Role, ...]
    token: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def memory(self) -> Memory:
        found = _MEMORIES.get(self.token)
        if found is None:
            _MEMORIES.clear()
            found = _MEMORIES[self.token] = Memory(self.tbox, self.roles)
        return found

    def column(self, name: str, kind: str, *columns: Column) -> Column:
        """The method ``name`` of `Memory` as a column."""
        # What is memorised stays where it was worked out.
        return arrow_udf(lambda *row: getattr(self.memory, name)(*row), kind, *columns)  # noqa: PLW0108

    # --- on the driver -----------------------------------------------------------------------------

    @cached_property
    def space(self) -> LabelSpace:
        return LabelSpace(self.tbox)

    def numbers(self, roles: Iterable[Role]) -> list[int]:
        """The numbers of ``roles``."""
        wanted = frozenset(roles)
        return [i for i, role in enumerate(self.roles) if role in wanted]

    @cached_property
    def sending(self) -> list[int]:
        """The numbers (not inverted) of roles along which a u-type clause can send."""
        clauses = self.space.clauses_of
        return [i for i, r in enumerate(self.roles) if i % 2 == 0 and any(not c.n for c in (*clauses(r), *clauses(r.inverse)))]

    @cached_property
    def functional(self) -> list[CompiledClause]:
        return [c for c in self.space.m_type if c.n == 1]

    def below(self, clause: CompiledClause) -> list[int]:
        """The numbers of the roles below the role of an m-type clause."""
        role = self.tbox.clauses[clause.index].role
        assert role is not None
        return self.numbers(self.tbox.roles.subroles(role))

    def __getstate__(self) -> dict[str, Any]:
        return {"tbox": self.tbox, "roles": self.roles, "token": self.token}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)


class Memory:
    """What one process has worked out."""

    def __init__(self, tbox: ClausalTBox, roles: Sequence[Role]) -> None:
        self.space, self.roles = LabelSpace(tbox), roles
        self._known: dict[tuple[Any, ...], Any] = {}
        self._branches = {c.index: c.branch_body for c in self.space.m_type}

    def _once(self, key: tuple[Any, ...], work: Callable[[], Any]) -> Any:
        if key not in self._known:
            self._known[key] = work()
        return self._known[key]

    def close(self, label: str) -> str:
        """A label closed under the local clauses."""
        return str(self._once(("close", label), lambda: label_text(self.space.close(label_of(label)))))

    def to_subject(self, role: int, subject: str, object: str) -> str | None:
        """What a role assertion sends to its subject; None where nothing."""
        return self._sent(role, subject, object)[0]

    def to_object(self, role: int, subject: str, object: str) -> str | None:
        """The same to its object."""
        return self._sent(role, subject, object)[1]

    def _sent(self, role: int, subject: str, object: str) -> tuple[str | None, str | None]:
        def work() -> tuple[str | None, str | None]:
            sent = self.space.sent(self.roles[role], label_of(subject), label_of(object))
            first, second = (None if x == EMPTY else label_text(x) for x in (sent.subject, sent.object))
            return first, second

        found: tuple[str | None, str | None] = self._once(("sent", role, subject, object), work)
        return found

    def grow(self, label: str, received: str) -> str:
        """A label with what was received joined in, closed."""
        return self.close(_joined(label + AND + received)) if received else label

    def fills(self, clause: int, label: str) -> bool:
        """Whether what has this label is a told branch of a ≤1 S.C, by the index of its clause."""
        return not self._branches[clause] & ~label_of(label)[0]

    # --- for certificates --------------------------------------------------------------------------

    def messages(self, role: int, subject: str, object: str) -> str:
        """What was sent to the subject and to the object in each round, by the histories of both; "" where nothing."""
        sent = [self._sent(role, a, b) for a, b in zip(subject.split(THEN), object.split(THEN))]
        return AND.join(THEN.join(message or "" for message in messages) for messages in zip(*sent))

    def replays(self, start: str, history: str, received: str | None) -> bool:
        """Whether every label of ``history`` is what the one before it and the round's messages come to, and the last changes
        nothing."""
        labels = history.split(THEN)
        if labels[0] != self.close(start):
            return False
        rounds = list(zip(*(messages.split(THEN) for messages in received.split(AND)))) if received else [()] * len(labels)
        after = [*labels[1:], labels[-1]]
        return [self.grow(label, AND.join(filter(None, got))) for label, got in zip(labels, rounds)] == after


_MEMORIES: dict[str, Memory] = {}
