"""Conflicts for people: labels, Manchester syntax, plain sentences, patterns, groups.

>>> from shiq.model import Class, ClassAssertion, DisjointClasses
>>> from shiq.answers.result import Conflict
>>> cat, dog = Class("urn:v/Cat"), Class("urn:v/Dog")
>>> made = [Conflict((ClassAssertion(cat, f"urn:d/{n}"), ClassAssertion(dog, f"urn:d/{n}")),
...         axiom_values=(DisjointClasses((cat, dog)),)) for n in ("tom", "pluto")]
>>> [(g.pattern.rule, g.pattern.manchester, g.conflicts) for g in group(made)]
[('cax-dw', ('Cat DisjointWith: Dog',), (0, 1))]
"""

from shiq.explanation.grouping import ConflictGroup, ExplainedConflicts, group, sentence
from shiq.explanation.labels import Labels
from shiq.explanation.manchester import manchester
from shiq.explanation.patterns import Pattern, distinguish_titles
from shiq.explanation.phrases import value_clause

__all__ = [
    "ConflictGroup",
    "ExplainedConflicts",
    "Labels",
    "Pattern",
    "distinguish_titles",
    "group",
    "manchester",
    "sentence",
    "value_clause",
]
