"""What a reasoner is asked and what it answers.

A reasoner decides whether modules (small ABoxes over the atoms of a clausal TBox) are consistent
with that TBox. It never raises for what it cannot do: a time-out, a crash, an exhausted budget
or an opaque datatype is an `Answer` UNDETERMINED with its reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from shiq.clause import ClausalTBox
from shiq.model import Literal
from shiq.roles import Role
from shiq.verdict import Verdict

#: How a reason begins that rests on a datatype whose values nobody knows.
OPAQUE = "opaque datatype"

#: How a reason begins that rests on numbers which a reasoner would have to build.
LARGE_NUMBER = "large number"


@dataclass(frozen=True, slots=True)
class Module:
    """A part of A_add whose consistency is decided by itself (THEORY, "Modules"). Nodes are 0 …
    n-1, without names.

    ``positive[i]``/``negative[i]``: bitmasks over `ClausalTBox.atoms` of the atoms (names,
    ≥-atoms, data restrictions) that are asserted, or asserted to be false, at node i. ``edges``:
    (i, role, j) asserted; ``negative_edges``: asserted not to hold (simple roles only);
    ``different``: i ≠ j; ``data``/``negative_data``: (i, data property, literal). Equal
    individuals are one node already.
    """

    positive: tuple[int, ...]
    negative: tuple[int, ...]
    edges: tuple[tuple[int, Role, int], ...] = ()
    negative_edges: tuple[tuple[int, Role, int], ...] = ()
    different: tuple[tuple[int, int], ...] = ()
    data: tuple[tuple[int, str, Literal], ...] = ()
    negative_data: tuple[tuple[int, str, Literal], ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """``reason``: why undetermined. ``used``: for INCONSISTENT, indexes of clauses that suffice
    for the refutation together with the role box (a superset of what is needed), or None if the
    reasoner does not say. ``near``: nodes of the module where the last contradiction showed, if
    the reasoner says; a place to begin to look, no more.
    """

    verdict: Verdict
    reason: str = ""
    used: frozenset[int] | None = None
    near: tuple[int, ...] = ()


@dataclass(slots=True)
class SentQuestions:
    """What a reasoner outside this code was asked: ``questions`` put to it, axioms and
    assertions ``sent`` with them, and how many it was seen to hold (``parsed``). No answer
    counts where these differ.
    """

    questions: int = 0
    sent: int = 0
    parsed: int = 0

    def add(self, sent: int, parsed: int) -> None:
        """Books one question."""
        self.questions += 1
        self.sent += sent
        self.parsed += parsed

    def to_dict(self) -> dict[str, int]:
        return {"questions": self.questions, "axioms_sent": self.sent, "axioms_parsed": self.parsed}


@runtime_checkable
class Sending(Protocol):
    """A reasoner that tells what it sent; ``sent`` grows with every question."""

    sent: SentQuestions


@runtime_checkable
class Deciding(Protocol):
    """A reasoner made of several; ``by`` names who gave each answer of the last call."""

    by: Sequence[str]


@runtime_checkable
class Tracing(Protocol):
    """A reasoner that tells what a refutation rests on."""

    def core(
        self, tbox: ClausalTBox, module: Module, timeout: float | None = None
    ) -> Module | None:
        """A part of ``module``, over the same nodes, that is inconsistent by itself, as a rule
        much smaller; None where none was found, which says nothing of ``module``.
        """


class Reasoner(Protocol):
    """A backend. ``decide`` answers in the order of ``modules``; ``timeout`` is seconds for the
    whole call, None for no limit.
    """

    name: str

    def decide(
        self, tbox: ClausalTBox, modules: Sequence[Module], timeout: float | None = None
    ) -> list[Answer]: ...

    def close(self) -> None:
        """Frees what the backend holds (a JVM); it may be called twice."""
