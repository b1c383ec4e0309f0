"""The datatypes of OWL 2, exactly: values, identity, facets, sizes, satisfiability of restrictions.

From lexical form to answer: `lexical` and `datatype_map` read literals. `reals`, `strings`,
`calendars` (with durations) are the value spaces, built on `intervals`, `regular_expressions` and
`patterns`. `ranges` turns data ranges into formulas; `scenarios` splits the value space into cells.
`successors` (with `integer_program`), `satisfiability` and `datatype_reasoner` decide; the last one
also encodes values as integers, for reasoners that must not see them.

>>> from shiq.model import XSD, Literal
>>> DataTheory().denote_same(Literal("1", XSD + "integer"), Literal("1.00", XSD + "decimal"))
True
>>> ill_typed_reason(Literal("2026-13-45", XSD + "date"))
'"2026-13-45" is not a legal xsd:date'
"""

from shiq.datatypes.datatype_map import KNOWN_FACETS, ill_typed_reason, is_known
from shiq.datatypes.datatype_reasoner import DataTheory
from shiq.datatypes.values import DataValue, IllTyped

__all__ = ["KNOWN_FACETS", "DataTheory", "DataValue", "IllTyped", "ill_typed_reason", "is_known"]
