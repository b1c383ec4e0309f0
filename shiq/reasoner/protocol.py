"""Questions to a reasoner, its answers, and the protocols of reasoners.

A reasoner decides whether modules (small ABoxes over the atoms of a clausal TBox) are consistent
with that TBox. It never raises for what it cannot decide. A time-out, a crash, an exhausted budget
or an opaque datatype gives an `Answer` UNDETERMINED with the reason.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from shiq.answers.verdict import Verdict
from shiq.errors import UsageError
from shiq.model import Literal
from shiq.model.clause import ClausalTBox
from shiq.model.roles import Role

#: How a reason begins that rests on a datatype whose values nobody knows.
OPAQUE = "opaque datatype"

#: How a reason begins that rests on numbers which a reasoner would have to build.
LARGE_NUMBER = "large number"

_HEAP = re.compile(r"[1-9]\d*[kKmMgG]")


@dataclass(frozen=True, slots=True)
class Module:
    """A connected part of the data whose consistency is decided separately, with its nodes numbered
    (THEORY, "Modules").

    Nodes are 0 … n-1, without names. Equal individuals are already one node.

    positive, negative: by node, bit masks over `ClausalTBox.atoms` of the atoms asserted to hold,
        or
        not to hold.
    edges: (i, role, j) asserted.
    negative_edges: asserted not to hold; simple roles only.
    different: pairs i ≠ j.
    data, negative_data: (i, data property, literal).
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
    """A reasoner's verdict on one module, with the clauses it used or the reason why it is
    undetermined.

    reason: why it is undetermined.
    used_clauses: for INCONSISTENT, indexes of clauses that refute it together with the role box
    (not
        minimal);
        None if unknown.
    near_nodes: nodes near the last contradiction, as a hint where to look.
    """

    verdict: Verdict
    reason: str = ""
    used_clauses: frozenset[int] | None = None
    near_nodes: tuple[int, ...] = ()


@dataclass(slots=True)
class SentQuestions:
    """Counters of what an external reasoner was sent. Its answers count only if ``axioms_sent``
    equals ``axioms_parsed``.

    questions: number of questions.
    axioms_sent: axioms and assertions sent with them.
    axioms_parsed: axioms and assertions that the reasoner was seen to hold.
    """

    questions: int = 0
    axioms_sent: int = 0
    axioms_parsed: int = 0

    def count_question(self, sent: int, parsed: int) -> None:
        """Count one question, with the axioms sent and those that the reasoner parsed."""
        self.questions += 1
        self.axioms_sent += sent
        self.axioms_parsed += parsed

    def to_dict(self) -> dict[str, int]:
        """Return the JSON form."""
        return {
            "questions": self.questions,
            "axioms_sent": self.axioms_sent,
            "axioms_parsed": self.axioms_parsed,
        }


@runtime_checkable
class SendingReasoner(Protocol):
    """Protocol: a reasoner that counts the axioms it sends to another program."""

    sent_questions: SentQuestions


@runtime_checkable
class CombinedReasoner(Protocol):
    """Protocol: a reasoner composed of several. ``deciders``: name of the one behind each answer of
    the last call.
    """

    deciders: Sequence[str]


@runtime_checkable
class CoreFinder(Protocol):
    """Protocol: a reasoner that can reduce an inconsistent module to an inconsistent part of it."""

    def core(
        self, tbox: ClausalTBox, module: Module, timeout: float | None = None
    ) -> Module | None:
        """Return an inconsistent part of `module` over the same nodes, usually much smaller.

        None if none was found, which says nothing about `module`.
        """


class Reasoner(Protocol):
    """Protocol: a reasoner that decides the consistency of modules with a TBox."""

    name: str

    def decide(
        self, tbox: ClausalTBox, modules: Sequence[Module], timeout: float | None = None
    ) -> list[Answer]:
        """Decide for each module whether it is consistent with ``tbox``; the answers are in the
        order of the modules.

        timeout: seconds for the whole call; None for no limit.
        """

    def close(self) -> None:
        """Release resources such as a JVM. May be called twice."""


def check_heap(heap: str) -> None:
    """Check that ``heap`` is a JVM heap size such as 512m. Raises: UsageError.

    >>> check_heap("512m")
    """
    if not _HEAP.fullmatch(heap):
        raise UsageError(
            f"not a heap size: {heap!r}", "Write a number with k, m or g, such as 512m or 2g."
        )


def check_timeout(timeout: float | None) -> None:
    """Check that ``timeout`` is None or a positive number of seconds. Raises: UsageError."""
    if timeout is not None and not 0 < timeout < math.inf:
        raise UsageError(
            f"not a time limit: {timeout!r}",
            "Give a positive number of seconds, or none for no limit.",
        )
