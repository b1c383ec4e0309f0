"""Faults of programs and of their runs: each says where, what, and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from shiq.errors import InputError, OperationalError

if TYPE_CHECKING:
    from streams.rules.syntax import StreamRule

#: The atoms that a point may derive, input and facts apart, unless said otherwise.
MOST_DERIVED: Final = 1_000_000


class Position(NamedTuple):
    """Where a token begins; lines and columns count from 1."""

    file: str = "program"
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True)
class ProgramProblem:
    """One fault of a program; ``message`` says what, and what to do."""

    position: Position
    message: str

    @property
    def line(self) -> int:
        return self.position.line

    @property
    def column(self) -> int:
        return self.position.column

    def __str__(self) -> str:
        return f"{self.position}: {self.message}"


class ProgramError(InputError):
    """A program that is refused; ``problems`` has every fault, in order of place."""

    def __init__(self, problems: Iterable[ProgramProblem]) -> None:
        self.problems = sorted(
            set(problems), key=lambda problem: (problem.position, problem.message)
        )
        super().__init__("\n".join(map(str, self.problems)))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.problems,)


class EvaluationError(OperationalError):
    """A rule that cannot be evaluated at some point: overflow, a function that fails, too many
    atoms.
    """

    def __init__(self, rule: StreamRule | str, message: str, remedy: str = "") -> None:
        where = rule if isinstance(rule, str) else f"{rule.position}: {rule}"
        super().__init__(f"{where}\n  {message}", remedy)


def too_many_derived(rule: StreamRule, t: int, most: int) -> EvaluationError:
    """The error of a point that derives more than ``most`` atoms."""
    return EvaluationError(
        rule,
        f"more than {most:,} atoms are derived at t = {t} (--max-atoms {most})",
        "See that the rule comes to an end, by a bound such as X < 1000; or raise --max-atoms.",
    )
