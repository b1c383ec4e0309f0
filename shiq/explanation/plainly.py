"""An axiom as a plain sentence.

>>> from shiq.explanation.labels import Labels
>>> plainly("SubClassOf(<urn:v#Cat> <urn:v#Pet>)", Labels())
'Every Cat is a Pet.'
"""

from __future__ import annotations

from shiq.explanation.labels import Labels
from shiq.explanation.manchester import manchester
from shiq.explanation.parsed import axiom_of
from shiq.explanation.phrases import axiom
from shiq.model import Assertion


def plainly(text: str, labels: Labels) -> str:
    """What the axiom ``text``, in functional syntax, says; in Manchester syntax what is no axiom
    or cannot be read.
    """
    value = axiom_of(text)
    if value is None or isinstance(value, Assertion):
        return manchester(text, labels)
    said = axiom(value, labels)
    return f"{said[:1].upper()}{said[1:]}."
