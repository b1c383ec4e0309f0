"""Few words for what is wrong in a proof, for a row of a table; no two causes that are told
together have the same.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from shiq import model as owl
from shiq.explanation.labels import Labels
from shiq.explanation.phrases import a, property_name, range_noun
from shiq.explanation.proof_steps import Clash, Proof

if TYPE_CHECKING:
    from shiq.explanation.patterns import Pattern

T = TypeVar("T")

#: Names that a title is told apart by, letters of a sentence that does it, and those by which
#: titles have to differ.
_NAMES, _LETTERS, _SEEN = 3, 80, 150


def title(proof: Proof | None, core: owl.Assertion | None, labels: Labels) -> str:
    """What is impossible, named after ``core``, the fact that it all comes from, if there is one."""
    if proof is None or not isinstance(proof.last.fact, Clash):
        return "contradiction"
    what = _what(proof, labels)
    match core:
        case owl.ClassAssertion(owl.Class(iri), _):
            return f"{labels.of(iri)}: {what}"
        case owl.ClassAssertion():
            return what
    return what


def _what(proof: Proof, labels: Labels) -> str:
    last = proof.last
    assert isinstance(last.fact, Clash)
    names = list(
        dict.fromkeys(
            f"“{property_name(f.property, labels)}”"
            for f in last.fact.about
            if isinstance(
                f,
                owl.ObjectPropertyAssertion
                | owl.DataPropertyAssertion
                | owl.NegativeObjectPropertyAssertion
                | owl.NegativeDataPropertyAssertion,
            )
        )
    )
    if not names and last.premises:
        by_fact = {step.fact: step for step in proof.steps}
        made = by_fact.get(last.premises[0])
        of = [
            p for p in (made.premises if made else ()) if isinstance(p, owl.ObjectPropertyAssertion)
        ]
        names = [f"“{property_name(of[0].property, labels)}”"] if of else []
    name = " and ".join(names)
    classes = [f.expression for f in last.fact.about if isinstance(f, owl.ClassAssertion)]
    named = [labels.of(c.iri) for c in classes if isinstance(c, owl.Class)]
    match last.rule:
        case "cax-dw" | "cax-adc" if len(named) == 2 and named[0] == named[1]:
            return f"nothing can be {a(named[0])}"
        case "prp-pdw" | "prp-adp" if len(names) == 1:
            return f"{name}: nothing can have one"
        case "cax-dw" | "cax-adc":
            return (
                f"both {named[0]} and {named[1]}"
                if len(named) == 2
                else "two classes that exclude each other"
            )
        case "cls-com":
            return f"must not be {a(named[0])}, but is" if named else "a class and its opposite"
        case "cls-nothing2":
            return "cannot exist"
        case "dt-not-type":
            match last.axiom, *classes:
                case (owl.DataPropertyRange(_, range), *_) | (
                    None,
                    owl.DataAllValuesFrom(_, range),
                ):
                    return f"{name}: not {range_noun(range, labels)}"
            return f"{name}: not a valid value"
        case "prp-irp":
            return f"{name} to itself"
        case "prp-asyp":
            return f"{name} in both directions"
        case "prp-pdw" | "prp-adp":
            return f"{name} at once"
        case "prp-npa1" | "prp-npa2":
            return f"{name}, though it is denied"
        case "eq-diff1":
            return "the same and different"
        case "prp-fp":
            return f"two values for {name}" if name else "two values where only one may be"
        case "prp-ifp":
            return f"one {name} from two things"
    if last.cases:
        return "no case is possible"
    return f"too many {name}" if name else "contradiction"


# --- telling them apart ---------------------------------------------------------------------------


def told_apart(patterns: Sequence[Pattern]) -> list[Pattern]:
    """``patterns``, in their order, with a title for each id that no other id has. It follows
    from what they are, not from their order: the names that others do not have, how many facts
    it takes, what is said of it alone, and where all of that is the same its id.
    """
    by_id = {p.id: p for p in reversed(patterns)}
    ids = sorted(by_id)
    found = {id: by_id[id].title for id in ids}
    for alike in _classes(ids, found.__getitem__):
        for id, more in _telling([by_id[id] for id in alike]).items():
            found[id] += f" ({', '.join(more)})" if more else ""
    seen = Counter(title[:_SEEN] for title in found.values())
    found = {
        id: title if seen[title[:_SEEN]] == 1 else f"{id}: {title}" for id, title in found.items()
    }
    return [replace(by_id[p.id], title=found[p.id]) for p in patterns]


def _telling(patterns: Sequence[Pattern]) -> dict[str, tuple[str, ...]]:
    """What tells ``patterns`` apart, by their id, as far as one thing after the other does."""
    found: dict[str, tuple[str, ...]] = {p.id: () for p in patterns}
    for said in (_own_names, _facts, _own_words):
        for alike in _classes(patterns, lambda p: found[p.id]):
            for p, more in zip(alike, said(alike)):
                found[p.id] += (more,) if more else ()
    return found


def _own_names(patterns: Sequence[Pattern]) -> Iterable[str]:
    shared = set(patterns[0].names).intersection(*(p.names for p in patterns))
    return (", ".join([name for name in p.names if name not in shared][:_NAMES]) for p in patterns)


def _facts(patterns: Sequence[Pattern]) -> Iterable[str]:
    differ = len({p.facts for p in patterns}) > 1
    return (f"{p.facts} fact{'s' * (p.facts != 1)}" if differ else "" for p in patterns)


def _own_words(patterns: Sequence[Pattern]) -> Iterable[str]:
    said = [re.split(r"(?<=[.;,]) ", p.sentence) for p in patterns]
    times = Counter(part for parts in said for part in set(parts))
    for parts in said:
        own = next((part.rstrip(".;,") for part in parts if times[part] == 1), "")
        yield own if len(own) <= _LETTERS else f"{own[: _LETTERS - 1]}…"


def _classes(values: Sequence[T], by: Callable[[T], Hashable]) -> list[list[T]]:
    """The values that are alike ``by`` something and not alone, in their order."""
    found: dict[Hashable, list[T]] = {}
    for value in values:
        found.setdefault(by(value), []).append(value)
    return [alike for alike in found.values() if len(alike) > 1]
