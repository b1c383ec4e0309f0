"""The public calls: are these insertions consistent with this knowledge base, and is it
consistent itself?

>>> from shiq.model.abox import abox_of
>>> from shiq.model import *
>>> tbox = TBox((DisjointClasses((Class("urn:Cat"), Class("urn:Dog"))),))
>>> base, batch = [ClassAssertion(Class("urn:Cat"), "urn:tom")], [ClassAssertion(Class("urn:Dog"), "urn:tom")]
>>> result = check_insertions(tbox, abox_of(base), abox_of(batch), reasoner="own")
>>> result.verdict.value, result.conflicts[0].insertions
('inconsistent', ('<urn:tom> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:Dog> .',))
"""

from shiq.jobs.checking.calls import certify, certify_store, check_insertions, index
from shiq.jobs.checking.options import ENGINES, Options
from shiq.jobs.checking.session import Session, check, open_store, session_of

__all__ = [
    "ENGINES",
    "Options",
    "Session",
    "certify",
    "certify_store",
    "check",
    "check_insertions",
    "index",
    "open_store",
    "session_of",
]
