"""Patterns: the common cause of several conflicts, with its title and the story of each conflict.

The cause of a conflict is the part of its proof (`shiq.explanation.proof`) from the last fact on
through which all of it passes. For example, every SeismicSurvey contradicts the ontology, whether
the class was asserted or follows from a domain or range. If there is no such fact, the cause is the
whole conflict. A title is a row of a table; the causes in a table have different titles.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from shiq import model as owl
from shiq.explanation.canonical_text import canonical_text, canonicalise_rows, number_triples
from shiq.explanation.labels import Labels
from shiq.explanation.manchester import manchester
from shiq.explanation.phrases import (
    PLACE,
    Naming,
    literal_kind,
    plain_literal,
    property_name,
    range_noun,
    with_article,
)
from shiq.explanation.proof import prove, turn_inverse
from shiq.explanation.proof_steps import Clash, Fact, Proof, Step
from shiq.explanation.story import KNOWN, TONIGHT, write_story
from shiq.functional import axiom_text
from shiq.model.ntriples import Node, blank_term
from shiq.model.walk import parts
from shiq.reasoner.structure import rename_individuals

if TYPE_CHECKING:
    from shiq.answers.result import Conflict

#: Equal for conflicts with one story.
Key: TypeAlias = Hashable

_PLACE = re.compile(f"{PLACE}(\\d+)\ue001")


@dataclass(frozen=True, slots=True)
class Pattern:
    """The common cause of several conflicts: its id, title, axioms and explanation.

    id: stable across runs: "<rule or 'conflict'>-<8 hex digits of a hash of the canonical text>"
    rule: OWL 2 RL rule of the last proof step (cax-dw, prp-fp, cls-maxc2, …); "" if none applies
    title: a few words, for a row of a table
    axioms: in functional syntax, sorted
    manchester: the same axioms in Manchester syntax with labels
    sentence: explanation in plain English, with letters for individuals
    names: labels of the terms in the axioms, sorted
    facts: number of assertions in the cause

    It does not matter which assertions were inserted. So a conflict within a new batch has the same
    pattern as one within old data.
    """

    id: str
    rule: str
    title: str
    axioms: tuple[str, ...]
    manchester: tuple[str, ...]
    sentence: str
    names: tuple[str, ...] = ()
    facts: int = 0


@dataclass(frozen=True, slots=True)
class PatternStory:
    """A pattern, and the explanation of its conflicts as a template with placeholders for
    individuals and literals.
    """

    pattern: Pattern
    story: str

    def sentence(self, terms: Sequence[Node], labels: Labels) -> str:
        """Write the explanation of one conflict: fill the placeholders of the template with
        ``terms``.
        """
        names = labels.distinguish(
            term for term in terms if isinstance(term, str) and not term.startswith("_:")
        )

        def fill_placeholder(match: re.Match[str]) -> str:
            """The name of the term at a placeholder."""
            return _term_name(terms[int(match[1])], names)

        return _PLACE.sub(fill_placeholder, self.story)


@dataclass(frozen=True, slots=True)
class ConflictForm:
    """A conflict with its individuals and literals replaced by numbers, to find conflicts that are
    equal up to renaming.

    key: equal for conflicts that differ only in names
    terms: the names, in the order of first occurrence
    """

    key: Key
    terms: tuple[Node, ...]


def abstract_conflict(conflict: Conflict) -> ConflictForm:
    """Replace the individuals and literals of a conflict by numbers. Cheap, but the numbering is
    not canonical.
    """
    rows, terms = number_triples((*conflict.insertion_values, *conflict.base_values))
    key = (conflict.axiom_values, rows, len(conflict.insertion_values), conflict.origin)
    return ConflictForm(key, terms)


def describe_conflict(conflict: Conflict, labels: Labels) -> PatternStory:
    """Find the cause of a conflict (its pattern), and write the template of the sentences that
    explain it.
    """
    given = [*map(turn_inverse, (*conflict.insertion_values, *conflict.base_values))]
    rows, terms = number_triples(given)
    canonical, order = canonicalise_rows(rows)
    axioms = _sorted_axioms(conflict.axiom_values)
    individuals = {i: term for i, term in enumerate(terms) if isinstance(term, str)}
    numbers = {term: f"{order[i]:06d}" for i, term in individuals.items()}
    back = {f"{order[i]:06d}": _placeholder(i) for i in individuals}
    begins = [_sentence_beginning(conflict, i) for i in range(len(given))]
    numbered = [rename_individuals(a, lambda i: numbers.get(i, i)) for a in given]
    in_general = sorted(numbered, key=repr)
    proof = prove(in_general, axioms)
    proof_of_cause = reduce_to_cause(proof) if proof else None
    core = axioms
    if proof_of_cause is not None and proof_of_cause is not proof:
        core = _sorted_axioms(proof_of_cause.axioms)
        in_general = sorted(proof_of_cause.assertions, key=repr)
        canonical, _ = canonicalise_rows(number_triples(in_general)[0])
    rule = proof.last.rule if proof else ""
    texts = tuple(map(axiom_text, core))
    text = "\n".join([*texts, "", canonical_text(canonical)])
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    pattern = Pattern(
        f"{rule or 'conflict'}-{digest}",
        rule,
        conflict_title(proof_of_cause, in_general[0] if len(in_general) == 1 else None, labels),
        texts,
        tuple(manchester(axiom, labels) for axiom in core),
        _general_story(in_general, core, proof_of_cause, labels),
        tuple(sorted({labels.name_of(iri) for iri in iris_in(core)})),
        len(in_general),
    )
    literals = {
        term: _placeholder(i) for i, term in enumerate(terms) if isinstance(term, owl.Literal)
    }
    names = Naming(
        lambda number: back.get(number, number),
        lambda value: literals.get(value) or plain_literal(value),
    )
    story = write_story(list(zip(begins, numbered)), axioms, proof, names, labels)
    return PatternStory(pattern, story)


def iris_in(axioms: Iterable[owl.Axiom]) -> Iterator[str]:
    """Yield the IRIs in ``axioms``: of entities, individuals, datatypes of values, and facets."""
    for part in parts(tuple(axioms)):
        match part:
            case str() if not part.startswith("_:"):
                yield part
            case owl.Literal(_, datatype, ""):
                yield datatype
            case owl.DatatypeRestriction(_, facets):
                yield from (facet for facet, _ in facets)
            case (
                owl.Class(iri) | owl.ObjectProperty(iri) | owl.DataProperty(iri) | owl.Datatype(iri)
            ):
                yield iri


def _sorted_axioms(axioms: Iterable[owl.Axiom]) -> tuple[owl.Axiom, ...]:
    """Sort axioms by their texts."""
    return tuple(sorted(axioms, key=axiom_text))


def _sentence_beginning(conflict: Conflict, place: int) -> str:
    """Return the words before the assertion at position ``place`` of a conflict: whether it is new
    or known already.
    """
    is_new = place < len(conflict.insertion_values) and conflict.origin == "insertions"
    return TONIGHT if is_new else KNOWN


def _placeholder(number: int) -> str:
    """Write the placeholder for the term with this number in a template."""
    return f"{PLACE}{number}\ue001"


def _term_name(term: Node, labels: Labels) -> str:
    """Return the readable name of an individual or literal."""
    if isinstance(term, owl.Literal):
        return plain_literal(term)
    return labels.name_of(blank_term(term) if term.startswith("_:") else term)


# --- causes ---------------------------------------------------------------------------------------


def reduce_to_cause(proof: Proof) -> Proof:
    """Reduce a proof to the part that explains the contradiction, without how individuals got into
    the conflicting classes.

    The reduced proof starts at the classes that lead directly to the contradiction, however the
    individual got into them. If all of it passes through a single later fact, it starts there.
    """
    if any(step.cases for step in proof.steps):
        return proof
    cut = _reprove_from(proof, _facts_at_cause(proof))
    steps = {step.fact: step for step in cut.steps}
    for step in reversed(cut.steps[:-1]):
        fact = step.fact
        if _may_be_asserted(fact) and not _needs_other_assertions(cut.last, steps, {fact}):
            found = _reprove_from(cut, [fact])
            if found is not cut:
                return found
    return cut


def _reprove_from(proof: Proof, facts: Sequence[Fact]) -> Proof:
    """Prove the contradiction of ``proof`` from ``facts`` alone. Return ``proof`` if it starts from
    these already.
    """
    if set(facts) == set(proof.assertions) or not facts or any(isinstance(f, Clash) for f in facts):
        return proof
    steps = {step.fact: step for step in proof.steps}
    reached = _steps_behind(proof.last, steps, set(facts))
    axioms = tuple(dict.fromkeys(step.axiom for step in reached if step.axiom is not None))
    return prove(sorted((f for f in facts if not isinstance(f, Clash)), key=repr), axioms) or proof


def _facts_at_cause(proof: Proof) -> list[Fact]:
    """Select the facts that name the cause of a conflict, which groups equal conflicts.

    These are named classes one inclusion away from the contradiction, or given by a domain or
    range; else the assertions themselves.
    """
    steps = {step.fact: step for step in proof.steps}
    found: dict[Fact, None] = {}
    stack: list[tuple[Fact, bool]] = [(premise, True) for premise in reversed(proof.last.premises)]
    seen: set[tuple[Fact, bool]] = set()
    while stack:
        entry = fact, is_direct = stack.pop()
        if entry in seen:
            continue
        seen.add(entry)
        step = steps[fact]
        is_named = isinstance(fact, owl.ClassAssertion) and _may_be_asserted(fact)
        is_entry = step.rule in ("prp-dom", "prp-rng") or (
            step.rule in ("cax-sco", "cax-eqc1") and not is_direct
        )
        if not (step.premises or step.axiom) or (is_named and is_entry):
            found[fact] = None
        else:
            stack.extend((premise, False) for premise in reversed(step.premises))
    return list(found)


def _may_be_asserted(fact: Fact) -> bool:
    """Decide whether a fact has the form of an assertion that data could contain."""
    match fact:
        case owl.ClassAssertion(expression, _):
            return isinstance(expression, owl.Class) and expression not in (owl.THING, owl.NOTHING)
        case owl.ObjectPropertyAssertion() | owl.DataPropertyAssertion():
            return True
    return False


def _needs_other_assertions(last: Step, steps: dict[Fact, Step], without: set[Fact]) -> bool:
    """Decide whether the proof step ``last`` depends on an assertion, other than through the facts
    in ``without``.
    """
    reached = _steps_behind(last, steps, without)
    return any(
        not (step.premises or step.axiom) and not isinstance(step.fact, Clash) for step in reached
    )


def _steps_behind(last: Step, steps: dict[Fact, Step], without: set[Fact]) -> list[Step]:
    """Collect the proof step ``last`` and the steps that it depends on, but not those behind the
    facts in ``without``.
    """
    found, stack, seen = [last], list(last.premises), set(without)
    while stack:
        fact = stack.pop()
        if fact not in seen:
            seen.add(fact)
            found.append(steps[fact])
            stack += steps[fact].premises
    return found


# --- in general -----------------------------------------------------------------------------------


def _general_story(
    given: Sequence[owl.Assertion], axioms: Sequence[owl.Axiom], proof: Proof | None, labels: Labels
) -> str:
    """Explain a contradiction in general terms, with letters in the place of individuals."""
    letters: dict[str, str] = {}
    kinds: dict[owl.Literal, str] = {}
    for assertion in given:
        if isinstance(assertion, owl.DataPropertyAssertion | owl.NegativeDataPropertyAssertion):
            kinds.setdefault(assertion.literal, literal_kind(assertion.literal, labels))

    def letter_for(individual: str) -> str:
        """The letter that stands for an individual."""
        return letters.setdefault(
            individual,
            _LETTERS[len(letters)] if len(letters) < len(_LETTERS) else f"X{len(letters)}",
        )

    def value_phrase(one: owl.Literal) -> str:
        """Describe a literal by its kind, numbered if there are several of a kind."""
        kind = kinds.get(one)
        if kind is None:
            return plain_literal(one)
        alike = [other for other, its in kinds.items() if its == kind]
        if len(alike) == 1:
            return kind
        bare = re.sub(r"\Aan? ", "", kind)
        return f"{'one' if alike[0] == one else 'another'} {bare}"

    story = write_story(
        [("", a) for a in given],
        axioms,
        proof,
        Naming(letter_for, value_phrase, in_general=True),
        labels,
    )
    if len(letters) == 1:
        story = re.sub(r"\bX\b", "it", story)
        story = re.sub(r"\A[Ii]t\b", "Something", story)
        story = re.sub(r"(?<=\. )it\b", "It", story)
    return story


_LETTERS = "XYZVWUABCDEFG"


T = TypeVar("T")

#: Names that a title is told apart by, letters of a sentence that does it, and those by which
#: titles have to differ.
_NAMES, _MOST_LETTERS, _SEEN = 3, 80, 150


def conflict_title(proof: Proof | None, core: owl.Assertion | None, labels: Labels) -> str:
    """Make a short title for a contradiction; it is named after ``core`` if that fact alone causes
    it.
    """
    if proof is None or not isinstance(proof.last.fact, Clash):
        return "contradiction"
    what = _impossibility_title(proof, labels)
    match core:
        case owl.ClassAssertion(owl.Class(iri), _):
            return f"{labels.name_of(iri)}: {what}"
    return what


def _impossibility_title(proof: Proof, labels: Labels) -> str:
    """Make a title for a contradiction from the properties in its facts."""
    last = proof.last
    assert isinstance(last.fact, Clash)
    names = list(
        dict.fromkeys(
            f"“{property_name(f.property, labels)}”"
            for f in last.fact.facts
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
    classes = [f.expression for f in last.fact.facts if isinstance(f, owl.ClassAssertion)]
    named = [labels.name_of(c.iri) for c in classes if isinstance(c, owl.Class)]
    match last.rule:
        case "cax-dw" | "cax-adc" if len(named) == 2 and named[0] == named[1]:
            return f"nothing can be {with_article(named[0])}"
        case "prp-pdw" | "prp-adp" if len(names) == 1:
            return f"{name}: nothing can have one"
        case "cax-dw" | "cax-adc":
            return (
                f"both {named[0]} and {named[1]}"
                if len(named) == 2
                else "two classes that exclude each other"
            )
        case "cls-com":
            return (
                f"must not be {with_article(named[0])}, but is"
                if named
                else "a class and its opposite"
            )
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
            return f"both {name}" if len(names) > 1 else f"{name} at once"
        case "prp-npa1" | "prp-npa2":
            return f"{name}, though it is denied"
        case "eq-diff1":
            return "both the same and different"
        case "prp-fp":
            return f"two values for {name}" if name else "two values where only one may be"
        case "prp-ifp":
            return f"two things with the same {name}"
    if last.cases:
        return "every case contradicts"
    return f"too many {name}" if name else "contradiction"


# --- telling them apart ---------------------------------------------------------------------------


def distinguish_titles(patterns: Sequence[Pattern]) -> list[Pattern]:
    """Make the titles of patterns distinct by suffixes; order and ids are kept.

    A title gets what only this pattern has: names, the number of facts, a clause of its sentence;
        finally its id. The result does not depend on the order.
    """
    by_id = {p.id: p for p in reversed(patterns)}
    ids = sorted(by_id)
    found = {id: by_id[id].title for id in ids}
    for alike in _groups_of_equals(ids, found.__getitem__):
        for id, more in _title_suffixes([by_id[id] for id in alike]).items():
            found[id] += f" ({', '.join(more)})" if more else ""
    seen = Counter(title[:_SEEN] for title in found.values())
    found = {
        id: title if seen[title[:_SEEN]] == 1 else f"{id}: {title}" for id, title in found.items()
    }
    return [replace(by_id[p.id], title=found[p.id]) for p in patterns]


def _title_suffixes(patterns: Sequence[Pattern]) -> dict[str, tuple[str, ...]]:
    """Choose suffixes that make equal titles distinct: pattern id → suffixes.

    Each further kind of suffix is used only for titles that the earlier ones leave equal.
    """
    found: dict[str, tuple[str, ...]] = {p.id: () for p in patterns}
    for said in (_distinctive_names, _fact_counts, _distinctive_words):
        for alike in _groups_of_equals(patterns, lambda p: found[p.id]):
            for p, more in zip(alike, said(alike)):
                found[p.id] += (more,) if more else ()
    return found


def _distinctive_names(patterns: Sequence[Pattern]) -> Iterable[str]:
    """For each pattern, list as a title suffix the names in its axioms that not all patterns have."""
    shared = set(patterns[0].names).intersection(*(p.names for p in patterns))
    return (", ".join([name for name in p.names if name not in shared][:_NAMES]) for p in patterns)


def _fact_counts(patterns: Sequence[Pattern]) -> Iterable[str]:
    """For each pattern, write its number of facts as a title suffix, if these numbers differ."""
    differ = len({p.facts for p in patterns}) > 1
    return (f"{p.facts} fact{'s' * (p.facts != 1)}" if differ else "" for p in patterns)


def _distinctive_words(patterns: Sequence[Pattern]) -> Iterable[str]:
    """For each pattern, find as a title suffix a part of its explanation that no other pattern has."""
    said = [re.split(r"(?<=[.;,]) ", p.sentence) for p in patterns]
    times = Counter(part for words in said for part in set(words))
    for words in said:
        own = next((part.rstrip(".;,") for part in words if times[part] == 1), "")
        yield own if len(own) <= _MOST_LETTERS else f"{own[: _MOST_LETTERS - 1]}…"


def _groups_of_equals(values: Sequence[T], by: Callable[[T], Hashable]) -> list[list[T]]:
    """Group the values that are equal under ``by``, in their order; groups of one are dropped."""
    found: dict[Hashable, list[T]] = {}
    for value in values:
        found.setdefault(by(value), []).append(value)
    return [alike for alike in found.values() if len(alike) > 1]
