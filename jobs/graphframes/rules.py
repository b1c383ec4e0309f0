"""What the TBox says of labels, for Spark's workers: plain functions of texts and numbers, as user-defined functions.

A label travels as the text of its two masks in hexadecimal; a worker works each distinct combination out once.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from abox_ops.labels.calculus import EMPTY, CompiledClause, Label, LabelSpace, join
from shiq.clause import ClausalTBox
from shiq.roles import Role

#: The empty label.
NOTHING_TOLD = "0 0"


def label_text(label: Label) -> str:
    return f"{label[0]:x} {label[1]:x}"


@lru_cache(maxsize=1 << 18)
def label_of(text: str) -> Label:
    positive, _, negative = text.partition(" ")
    return int(positive, 16), int(negative, 16)


def joined_text(texts: Iterable[str | None]) -> str:
    """The join of labels."""
    found = EMPTY
    for text in texts:
        if text:
            found = join(found, label_of(text))
    return label_text(found)


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

    # --- as columns --------------------------------------------------------------------------------

    def closed(self, label: Column) -> Column:
        """Labels closed under the local clauses."""
        return F.udf(_bound(self, "close"), "string")(label)

    def sent(self, role: Column, subject: Column, object: Column) -> tuple[Column, Column]:
        """What role assertions send to their subjects and to their objects; null where nothing."""
        to_subject = F.udf(_bound(self, "to_subject"), "string")(role, subject, object)
        return to_subject, F.udf(_bound(self, "to_object"), "string")(role, subject, object)

    def grown(self, label: Column, received: Column) -> Column:
        """Labels with what was received joined in, closed."""
        return F.udf(_bound(self, "grow"), "string")(label, received)

    def messages(self, role: Column, subject: Column, object: Column) -> Column:
        """What was sent in each round, by the histories of both ends: a struct of two lists."""
        return F.udf(_bound(self, "messages"), "struct<a: array<string>, b: array<string>>")(role, subject, object)

    def replays(self, start: Column, history: Column, received: Column) -> Column:
        return F.udf(_bound(self, "replays"), "boolean")(start, history, received)

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

    def below(self, clause: CompiledClause) -> frozenset[Role]:
        """The roles below the role of an m-type clause."""
        role = self.tbox.clauses[clause.index].role
        assert role is not None
        return self.tbox.roles.subroles(role)

    def __getstate__(self) -> dict[str, Any]:
        return {"tbox": self.tbox, "roles": self.roles, "token": self.token}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)


def _bound(rules: WorkerCalculus, name: str) -> Callable[..., Any]:
    # No type hints: Spark would read them.
    return lambda *arguments: getattr(rules.memory, name)(*arguments)  # noqa: PLW0108


class Memory:
    """What one process has worked out."""

    def __init__(self, tbox: ClausalTBox, roles: Sequence[Role]) -> None:
        self.space, self.roles = LabelSpace(tbox), roles
        self._known: dict[tuple[Any, ...], Any] = {}

    def _once(self, key: tuple[Any, ...], work: Callable[[], Any]) -> Any:
        if key not in self._known:
            self._known[key] = work()
        return self._known[key]

    def close(self, label: str) -> str:
        return str(self._once(("close", label), lambda: label_text(self.space.close(label_of(label)))))

    def to_subject(self, role: int, subject: str, object: str) -> str | None:
        return self._sent(role, subject, object)[0]

    def to_object(self, role: int, subject: str, object: str) -> str | None:
        return self._sent(role, subject, object)[1]

    def _sent(self, role: int, subject: str, object: str) -> tuple[str | None, str | None]:
        def work() -> tuple[str | None, str | None]:
            sent = self.space.sent(self.roles[role], label_of(subject), label_of(object))
            first, second = (None if x == EMPTY else label_text(x) for x in (sent.subject, sent.object))
            return first, second

        found: tuple[str | None, str | None] = self._once(("sent", role, subject, object), work)
        return found

    def grow(self, label: str, received: list[str] | None) -> str:
        return self.close(joined_text([label, *received])) if received else label

    # --- for certificates --------------------------------------------------------------------------

    def messages(self, role: int, subject: list[str], object: list[str]) -> tuple[list[str], list[str]]:
        """What was sent in each round, by the labels of each round; "" where nothing."""
        sent = [self._sent(role, a, b) for a, b in zip(subject, object)]
        return [a or "" for a, _ in sent], [b or "" for _, b in sent]

    def replays(self, start: str, history: list[str], received: list[list[str]] | None) -> bool:
        """Whether every label of ``history`` is what the one before it and the round's messages come to, and the last changes
        nothing."""
        if history[0] != self.close(start):
            return False
        for turn, label in enumerate(history):
            got = [messages[turn] for messages in received or () if messages[turn]]
            after = history[turn + 1] if turn + 1 < len(history) else label
            if self.grow(label, got) != after:
                return False
        return True


_MEMORIES: dict[str, Memory] = {}
