"""The three-valued verdict, and the leftovers that keep a verdict from being `consistent`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from shiq.model import Assertion, Axiom


class Verdict(Enum):
    """The answer to whether base and batch are consistent with the ontology: yes, no, or
    undetermined.
    """

    CONSISTENT = "consistent"
    INCONSISTENT = "inconsistent"
    UNDETERMINED = "undetermined"

    def __bool__(self) -> bool:
        raise TypeError("a verdict has three values; compare it with Verdict.CONSISTENT")


#: Exit codes of the command line, by verdict.
EXIT_CODES = {Verdict.CONSISTENT: 0, Verdict.INCONSISTENT: 1, Verdict.UNDETERMINED: 3}

#: Allowed, it is a decision on what the values of these datatypes are.
UNKNOWN_DATATYPE = "unknown-datatype"

#: Kinds of leftovers. Each makes the verdict `undetermined` unless it is allowed by name (``--allow
#: KIND``).
KINDS: dict[str, str] = {
    "malformed": "a line or triple that is not RDF, or an axiom whose triples do not fit the OWL 2 mapping",
    "undeclared": "a class or property that the TBox does not know: no axiom can see it, mostly a typo",
    "foreign": "a class or property of a namespace in which the TBox defines nothing: no axiom can see it, so it cannot matter",
    "mostly-foreign": "a batch that is mostly about terms which the TBox does not know: it may be meant for another TBox",
    "other-language": "statements of a language beside OWL, such as SHACL, SKOS, SPIN or R2RML: no axiom speaks of its terms",
    "individuals-only": "owl:sameAs or owl:differentFrom of classes or properties: it is about the individuals of these names",
    "vocabulary": "a well-known vocabulary that is imported, and answered by shiq's own table of it",
    "two-readings": "a property that may be an object or a data property, or that is both: its axioms count in both readings",
    "empty-tbox": "a TBox without axioms: nothing could ever be refuted",
    "outside-shiq": "an axiom or class expression outside SHIQ(D), such as nominals, keys or irregular property chains",
    "outside-dl-lite": "an axiom that a stream is not checked against: it says more than inclusions of names and ∃R",
    "out-of-reach": "an axiom outside SHIQ(D) that cannot matter: it needs classes or properties that the data does not have",
    "non-simple-role": "a number restriction, disjointness, asymmetry or irreflexivity on a role that is not simple",
    "punning": "an IRI used as class and datatype, or as a kind of property that the TBox, or a table, was not read with",
    "annotation-punning": "an IRI used as annotation property and as object or data property: it is read as the latter",
    "broken-list": "an RDF list that is cyclic, forked or unterminated",
    "unknown-datatype": "a datatype outside the OWL 2 datatype map that nothing defines: its values are opaque; allowed, it is a "
    "value space of its own, with one value for each lexical form",
    "ill-typed": "a literal whose lexical form its datatype does not have; allowed ones are set aside instead of refuted",
    "unknown-vocabulary": "a term in a reserved namespace (owl:, rdf:, rdfs:, xsd:) that does not exist, mostly a typo",
    "unknown-word": "such a term where no axiom can be meant: it is read as an annotation",
    "in-doubt": "axioms that only some readings of the ontology have: a contradiction that needs them is left open",
    "unattached": "triples of a class expression or list that no axiom uses",
    "tbox-axiom": "a TBox axiom among assertions: insertions may not change the TBox",
    "missing-import": "an imported ontology that was not given",
    "ambiguous-import": "an imported ontology of which a catalog's folders have several files that do not hold the same",
    "lossy-input": "an in-memory object that may have lost or rewritten triples on its way",
    "set-aside": "assertions of the base that were set aside because they are known, or waived, to contradict it",
    "without-effect": "triples that every model can meet, however they are meant, and that nothing else uses",
    "unmatched-deletion": "a deletion of what the base does not assert: it does nothing",
    "passed-over": "files in the folder of a table that are not read: no data by their names (_…, .…), or of an older version",
    "no-partner": "a row of a table that a mapping joins with another, which has no row for it: the join makes no triple",
    "no-value": "a path of a mapping at which no record of JSON lines has a value: mostly a typo in the mapping",
    "many-equal": "very many individuals that are one, by sameAs or a functional property: mostly a wrong key",
    "hub": "an individual with very many role assertions that a check has to look at",
    "unsatisfiable-class": "a class that can have no member: whatever is asserted to be one contradicts",
    "missing-value": "a record of a stream that lacks a value which its mapping refers to; allowed, it makes no triple there",
    "undecided": "a question about a snapshot of a stream, or about a rule, that no reasoner decided: it is not counted",
    "late": "an event of a stream that came behind the watermark: the rows that it would have changed are written already",
    "unwritable": "an atom derived by rules that is no RDF statement: its first argument is neither an IRI nor a blank node",
    "ahead": "an event of a stream that is further ahead than --max-ahead: taken for true, it would close every window",
}


#: Kinds that are reported but do not stand in the way of `consistent`, unless they are asked to
#: (``--fail-on KIND``). The datatype layer leaves undecided whatever rests on an opaque value, and
#: what was set aside is in no question that is asked.
INFORMATIVE = frozenset(
    {
        "out-of-reach",
        "unknown-datatype",
        "annotation-punning",
        "set-aside",
        "without-effect",
        "unmatched-deletion",
        "passed-over",
        "foreign",
        "other-language",
        "unknown-word",
        "in-doubt",
        "two-readings",
        "vocabulary",
        "individuals-only",
        "no-partner",
        "no-value",
        "many-equal",
        "hub",
        "unsatisfiable-class",
    }
)

#: Kinds whose leftovers keep the axioms and assertions that they leave out of account
#: (`Leftover.values`).
LEAVING_OUT = frozenset({"outside-shiq", "non-simple-role"})

#: Kinds of what is said with a name that no axiom knows, and is in A all the same.
IN_DATA = frozenset({"undeclared", "foreign", "other-language"})

#: Kinds by which something stays unread, so that a `consistent` which allows them is one without
#: it.
UNREAD = frozenset(
    {
        "ambiguous-import",
        "broken-list",
        "ill-typed",
        "lossy-input",
        "malformed",
        "missing-import",
        "tbox-axiom",
        "unattached",
        "unknown-vocabulary",
    }
)

#: For ``--fail-on``: every kind.
UNINTERPRETED = "uninterpreted"


def is_blocking_kind(kind: str, allowed: Collection[str], fail_on: Collection[str] = ()) -> bool:
    """Decide whether leftovers (uninterpreted input) of this kind prevent the verdict `consistent`.

    A kind allowed by name does not, even if ``fail_on`` contains `UNINTERPRETED`.
    """
    if kind in fail_on:
        return True
    return kind not in allowed and (kind not in INFORMATIVE or UNINTERPRETED in fail_on)


def is_blocking(
    leftover: Leftover, allowed: Collection[str], fail_on: Collection[str] = ()
) -> bool:
    """Decide whether this leftover (uninterpreted input) prevents `consistent`; not if it was
    agreed on or is waived.
    """
    is_settled = leftover.agreed or leftover.known
    return is_blocking_kind(
        leftover.kind, (*allowed, leftover.kind) if is_settled else allowed, fail_on
    )


#: What a text that was shortened ends with.
CUT = "…"
#: What the message of a leftover ends with that only counts others.
LIKE_OTHERS = "like those above"
_IRI = re.compile(r"<([^<>\s]+)>")


@dataclass(frozen=True, slots=True)
class Leftover:
    """A piece of input that could not be interpreted, such as a malformed line. It is never dropped
    silently.

    kind: one of `KINDS`.
    source, line: file or object, and 1-based line; 0 if unknown.
    text: the triple or line, shortened if long.
    hint: the remedy, for example the nearest known name.
    count: number of triples or lines; only the first is shown.
    items: number of axioms or assertions, 0 if each is one.
    agreed: it came with a base that was certified with its kind allowed.
    known: owner and end of a waiver (`shiq.jobs.leftover_waivers`). lapsed: the same of an expired
    one.
    values: the axioms and assertions it excludes, if they are well-formed OWL 2 outside SHIQ(D).
    asked: it was counted in when the store was made, so earlier permissions do not cover it.
    """

    kind: str
    message: str
    source: str = ""
    line: int = 0
    text: str = ""
    hint: str = ""
    count: int = 1
    agreed: bool = False
    known: str = ""
    lapsed: str = ""
    values: tuple[Axiom | Assertion, ...] = ()
    items: int = 0
    asked: bool = False

    @property
    def number(self) -> int:
        """Return how many axioms, assertions or lines the leftover stands for."""
        return self.items or self.count

    @property
    def term(self) -> str:
        """Return what the leftover is about: the first IRI in the message, else the triple, axiom
        or line.

        "" if that is not known completely: text that was shortened or follows an error, or a mere
        count.
        """
        if named := _IRI.search(self.message):
            return named[1]
        if self.message.endswith(LIKE_OTHERS) or self.text.endswith(CUT):
            return ""
        return self.text or ("" if self.kind == "malformed" else self.source or self.message)

    def __str__(self) -> str:
        return f"{self._place_prefix}{self.kind}: {self._message_with_hint}"

    @property
    def located_message(self) -> str:
        """Return the message with source and line before it, without the kind."""
        return f"{self._place_prefix}{self._message_with_hint}"

    @property
    def _place_prefix(self) -> str:
        """Return source and line as a prefix for the message; "" if unknown."""
        return (
            f"{self.source}:{self.line}: "
            if self.line
            else f"{self.source}: "
            if self.source
            else ""
        )

    @property
    def _message_with_hint(self) -> str:
        """Return the message with its hint, and a note if its waiver has expired."""
        said = f"{self.message} ({self.hint})" if self.hint else self.message
        return f"{said}; waived by {self.lapsed}, which has passed" if self.lapsed else said


def count_leftovers(what: str, leftovers: Iterable[Leftover]) -> str:
    """Write how many axioms, assertions or lines ``leftovers`` stand for, and how many triples if
    these are more.
    """
    number = triples = 0
    for leftover in leftovers:
        number, triples = number + leftover.number, triples + leftover.count
    return f"{number:,} {what}{f' ({triples:,} triples)' if triples != number else ''}"


def drop_empty(**values: Any) -> dict[str, Any]:
    """Return those of the keyword arguments that are not empty, for JSON that omits the others."""
    return {name: value for name, value in values.items() if value}


def count_waived(leftovers: Iterable[Leftover]) -> dict[str, int]:
    """Count the waived leftovers by kind."""
    counts = Counter[str]()
    for leftover in leftovers:
        if leftover.known:
            counts[leftover.kind] += leftover.number
    return dict(sorted(counts.items()))
