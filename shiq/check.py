"""The public calls: are these insertions consistent with this knowledge base, and is it
consistent itself?

>>> from shiq.abox import abox_of
>>> from shiq.model import *
>>> tbox = TBox((DisjointClasses((Class("urn:Cat"), Class("urn:Dog"))),))
>>> base, batch = [ClassAssertion(Class("urn:Cat"), "urn:tom")], [ClassAssertion(Class("urn:Dog"), "urn:tom")]
>>> result = check_insertions(tbox, abox_of(base), abox_of(batch), reasoner="own")
>>> result.verdict.value, result.conflicts[0].insertions
('inconsistent', ('<urn:tom> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:Dog> .',))
"""

from shiq.shadowing import refuse_others

# Before the first import of a package beside this one, which may be somebody else's.
refuse_others()

from jobs.checking.calls import certify, certify_store, check_insertions, index  # noqa: E402
from jobs.checking.options import ENGINES, Options  # noqa: E402
from jobs.checking.session import Session, open_store  # noqa: E402

__all__ = [
    "ENGINES",
    "Options",
    "Session",
    "certify",
    "certify_store",
    "check_insertions",
    "index",
    "open_store",
]
