"""Conflicts for people: labels, Manchester syntax, plain sentences, patterns, groups.

>>> from shiq.conflict import Conflict
>>> is_a = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
>>> made = [Conflict((f"<urn:d/{n}> {is_a} <urn:v/Cat> .", f"<urn:d/{n}> {is_a} <urn:v/Dog> ."),
...         axioms=("DisjointClasses(<urn:v/Cat> <urn:v/Dog>)",)) for n in ("tom", "pluto")]
>>> [(g.pattern.rule, g.pattern.manchester, g.conflicts) for g in group(made)]
[('cax-dw', ('Cat DisjointWith: Dog',), (0, 1))]
"""

from shiq.explanation.grouping import ConflictGroup, ExplainedConflicts, group, sentence
from shiq.explanation.labels import Labels
from shiq.explanation.manchester import manchester
from shiq.explanation.patterns import Pattern
from shiq.explanation.plainly import plainly
from shiq.explanation.titles import told_apart

__all__ = [
    "ConflictGroup",
    "ExplainedConflicts",
    "Labels",
    "Pattern",
    "group",
    "manchester",
    "plainly",
    "sentence",
    "told_apart",
]
