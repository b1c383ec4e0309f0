"""The data restrictions and values of one node, put to the datatype layer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from shiq.clause import ClausalTBox, DataAtLeast, DataAtMost
from shiq.model import Literal

#: A data restriction, or (property, literal, whether it is asserted or negated).
DataStatement: TypeAlias = DataAtLeast | DataAtMost | tuple[str, Literal, bool]

#: Answers kept before the memo starts afresh.
MEMO_LIMIT = 100_000


class NodeData:
    """Answers of the datatype layer for one TBox; each distinct question is asked once."""

    def __init__(self, tbox: ClausalTBox) -> None:
        from shiq.datatypes import DataTheory

        self._theory = DataTheory(definitions=tbox.definitions, roles=tbox.roles)
        self._memo: dict[frozenset[DataStatement], bool | None] = {}

    def satisfiable(self, statements: frozenset[DataStatement]) -> bool | None:
        """Whether one element can meet all ``statements``; None: the datatype layer cannot say."""
        if statements not in self._memo:
            if len(self._memo) >= MEMO_LIMIT:
                self._memo.clear()
            self._memo[statements] = self._ask(sorted(statements, key=repr))
        return self._memo[statements]

    def _ask(self, statements: list[DataStatement]) -> bool | None:
        return self._theory.satisfiable(
            [s for s in statements if isinstance(s, DataAtLeast)],
            [s for s in statements if isinstance(s, DataAtMost)],
            [(s[0], s[1]) for s in statements if isinstance(s, tuple) and s[2]],
            [(s[0], s[1]) for s in statements if isinstance(s, tuple) and not s[2]],
        )


def describe(statements: Iterable[DataStatement]) -> str:
    """The data properties that ``statements`` are about, for a reason."""
    properties = sorted({s[0] if isinstance(s, tuple) else s.property for s in statements})
    return "the restrictions and values of " + ", ".join(f"<{p}>" for p in properties)
