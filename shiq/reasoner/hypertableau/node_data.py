"""Put the data restrictions and values of one node to the datatype layer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias, TypeVar

from shiq.cache import Cache
from shiq.datatypes import DataTheory, is_known
from shiq.datatypes.regular_expressions import FUEL, shared_fuel
from shiq.datatypes.satisfiability import Part
from shiq.model import Literal
from shiq.model.clause import ClausalTBox, DataAtLeast, DataAtMost
from shiq.reasoner.protocol import OPAQUE
from shiq.support import bits

T = TypeVar("T")

#: A data restriction, or (property, literal, whether it is asserted or negated).
DataStatement: TypeAlias = DataAtLeast | DataAtMost | tuple[str, Literal, bool]

#: Data restrictions as a mask of atoms, and the other statements.
_Question: TypeAlias = tuple[int, frozenset[DataStatement]]

#: Larger contradictions are taken as they stand.
MOST_SHRUNK: Final = 64

#: So many steps of an automaton take as long as a step of the calculus.
STEPS_OF_AUTOMATA: Final = 50

#: Answers kept before they are forgotten.
_MEMO: Final = 200_000


class NodeData:
    """The datatype reasoner of one TBox for tableau nodes, with cached answers. Data restrictions
    are given as masks of ``atoms``.
    """

    def __init__(self, tbox: ClausalTBox, atoms: Sequence[object]) -> None:
        self._theory = DataTheory(definitions=tbox.definitions, roles=tbox.roles)
        self._atoms = atoms
        self._effort = 0
        self._verdicts = Cache[_Question, bool | None](_MEMO)
        self._culprits = Cache[_Question, frozenset[DataStatement]](_MEMO)

    def verdict(self, mask: int, facts: frozenset[DataStatement]) -> bool | None:
        """Decide whether one node can satisfy its data restrictions and values; None if undecided.
        Cached.

        mask: bits of the atoms that are data restrictions
        """
        return self._verdicts.get_or_make(
            (mask, facts), lambda: self._ask(self._is_satisfiable, mask, facts)
        )

    def culprits(self, mask: int, facts: frozenset[DataStatement]) -> frozenset[DataStatement]:
        """Select data restrictions and values that are contradictory, or undecided, by themselves.
        Cached.

        For a contradiction the result is minimal.
        """
        return self._culprits.get_or_make(
            (mask, facts), lambda: frozenset(self._ask(self._smallest_culprits, mask, facts))
        )

    def _ask(
        self, decide: Callable[[list[DataStatement]], T], mask: int, facts: frozenset[DataStatement]
    ) -> T:
        """Ask a question about data statements, and add its automaton steps to the effort."""
        with shared_fuel() as fuel:
            found = decide(self._statements_of(mask, facts))
            self._effort += fuel.steps_taken // STEPS_OF_AUTOMATA
        return found

    def _is_satisfiable(self, statements: Iterable[DataStatement]) -> bool | None:
        """Decide whether data statements can hold together; None if undecided."""
        return self._theory.satisfiable(*_as_question_part(statements))

    def take_new_steps(self) -> int:
        """Return the search steps to count for automata used since the last call."""
        effort, self._effort = self._effort, 0
        return effort

    def _smallest_culprits(self, statements: Iterable[DataStatement]) -> list[DataStatement]:
        """Reduce data statements to some that are contradictory, or undecided, by themselves;
        minimal if contradictory and few.
        """
        at_least, at_most, values, negative = self._theory.culprits(*_as_question_part(statements))
        found: list[DataStatement] = [*at_least, *at_most]
        found += [(p, literal, True) for p, literal in values]
        found += [(p, literal, False) for p, literal in negative]
        if len(found) <= MOST_SHRUNK and self._is_satisfiable(found) is False:
            for statement in tuple(found):
                rest = [s for s in found if s != statement]
                if self._is_satisfiable(rest) is False:
                    found = rest
        return found

    def _statements_of(self, mask: int, facts: frozenset[DataStatement]) -> list[DataStatement]:
        """List the data restrictions in a mask, and the other data statements."""
        atoms = map(self._atoms.__getitem__, bits(mask))
        return [*facts, *(atom for atom in atoms if isinstance(atom, DataAtLeast | DataAtMost))]

    def describe_undecided(self, statements: Iterable[DataStatement]) -> str:
        """Explain, for a message, why the datatype reasoner cannot decide ``statements``."""
        opaque: set[str] = set()
        properties: set[str] = set()
        for statement in statements:
            properties.add(statement[0] if isinstance(statement, tuple) else statement.property)
            if not isinstance(statement, tuple):
                opaque |= self._theory.unknown_datatypes(statement.range)
            elif not is_known(statement[1].datatype):
                opaque.add(statement[1].datatype)
        about = f"the restrictions and values of {_list_iris(properties)} are not decided"
        if opaque:
            return f"{OPAQUE} {_list_iris(opaque)}: {about}"
        if properties & self._theory.exhausted:
            return f"{about}: comparing their patterns and lengths takes more than {FUEL:,} steps"
        return f"{about} by the datatype layer"


def _as_question_part(statements: Iterable[DataStatement]) -> Part:
    """Convert data statements to the arguments of `DataTheory.satisfiable`."""
    at_least: list[DataAtLeast] = []
    at_most: list[DataAtMost] = []
    values: list[tuple[str, Literal]] = []
    negative: list[tuple[str, Literal]] = []
    for statement in statements:
        if isinstance(statement, tuple):
            (values if statement[2] else negative).append((statement[0], statement[1]))
        elif isinstance(statement, DataAtLeast):
            at_least.append(statement)
        else:
            at_most.append(statement)
    return at_least, at_most, values, negative


def _list_iris(iris: set[str]) -> str:
    """Write IRIs, sorted, for a message."""
    return ", ".join(f"<{iri}>" for iri in sorted(iris))
