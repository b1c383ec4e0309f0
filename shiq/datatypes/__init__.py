"""The datatypes of OWL 2, exactly: values, identity, facets, sizes, and satisfiability of data
restrictions.

From lexical form to answer: `lexical` and `datatype_map` read literals; `reals`, `strings`,
`calendars` and `durations` are the value spaces (over `intervals`, `characters`, `regular`,
`patterns`); `ranges` makes formulas of data ranges; `cells`, `worlds` and `setting` split the
value space; `successors` (with `integer_program`), `question` and `theory` answer; `proxies`
re-encodes.

>>> from shiq.model import XSD, Literal
>>> DataTheory().same(Literal("1", XSD + "integer"), Literal("1.00", XSD + "decimal"))
True
>>> ill_typed(Literal("2026-13-45", XSD + "date"))
'"2026-13-45" is not a legal xsd:date'
"""

from shiq.datatypes.datatype_map import KNOWN_FACETS, ill_typed, is_known
from shiq.datatypes.theory import DataTheory
from shiq.datatypes.values import DataValue, IllTyped

__all__ = ["KNOWN_FACETS", "DataTheory", "DataValue", "IllTyped", "ill_typed", "is_known"]
