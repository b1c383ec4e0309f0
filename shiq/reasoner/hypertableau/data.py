"""The data restrictions and values of one node, put to the datatype layer."""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeAlias

from shiq.clause import ClausalTBox, DataAtLeast, DataAtMost
from shiq.datatypes import DataTheory, is_known
from shiq.model import Literal

#: A data restriction, or (property, literal, whether it is asserted or negated).
DataStatement: TypeAlias = DataAtLeast | DataAtMost | tuple[str, Literal, bool]


class NodeData:
    """The datatype layer for one TBox; it remembers its answers."""

    def __init__(self, tbox: ClausalTBox) -> None:
        self._theory = DataTheory(definitions=tbox.definitions, roles=tbox.roles)

    def satisfiable(self, statements: Collection[DataStatement]) -> bool | None:
        """Whether one element can meet all ``statements``; None: the datatype layer cannot say."""
        return self._theory.satisfiable(
            [s for s in statements if isinstance(s, DataAtLeast)],
            [s for s in statements if isinstance(s, DataAtMost)],
            [(s[0], s[1]) for s in statements if isinstance(s, tuple) and s[2]],
            [(s[0], s[1]) for s in statements if isinstance(s, tuple) and not s[2]],
        )

    def describe(self, statements: Collection[DataStatement]) -> str:
        """Why the datatype layer cannot decide ``statements``: the opaque datatypes, and the properties concerned."""
        opaque: set[str] = set()
        for statement in statements:
            if not isinstance(statement, tuple):
                opaque |= self._theory.unknown_datatypes(statement.range)
            elif not is_known(statement[1].datatype):
                opaque.add(statement[1].datatype)
        properties = {s[0] if isinstance(s, tuple) else s.property for s in statements}
        about = f"the restrictions and values of {_listed(properties)} are not decided"
        return f"opaque datatype {_listed(opaque)}: {about}" if opaque else f"{about} by the datatype layer"


def _listed(iris: set[str]) -> str:
    return ", ".join(f"<{iri}>" for iri in sorted(iris))
