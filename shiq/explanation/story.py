"""Explain a conflict in plain English: the data, the conclusions, and the contradiction.

The text has placeholders for individuals and literals, so that one story serves all conflicts that
are equal up to renaming.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from shiq import model as owl
from shiq.explanation.labels import Labels
from shiq.explanation.phrases import (
    Naming,
    axiom_clause,
    fact_clause,
    inclusion_sentence,
    member_predicate,
    quoted_name,
    range_noun,
)
from shiq.explanation.proof_steps import WITNESS, Clash, Fact, Proof, Step

#: Where a fact is from, as a sentence begins: of the batch, or of what was there before.
TONIGHT, KNOWN = "Tonight's data says that", "It is already known that"

_INCLUSIONS = ("cax-sco", "cax-eqc1")
_DIFFER = "but they are recorded as two different things"


def write_story(
    given: Sequence[tuple[str, owl.Assertion]],
    axioms: Sequence[owl.Axiom],
    proof: Proof | None,
    names: Naming,
    labels: Labels,
) -> str:
    """Explain a conflict in plain English: the data, what follows from it, and the contradiction.

    given: pairs of the beginning of a sentence ("" for none) and an assertion
    """
    return _StoryWriter(names, labels).write(given, axioms, proof)


class _StoryWriter:
    """Writer of the plain English explanation of one conflict."""

    def __init__(self, names: Naming, labels: Labels) -> None:
        self._plain = names
        self._names = Naming(self._individual_name, names.literal, names.in_general)
        self._labels = labels

    def _individual_name(self, name: str) -> str:
        """Return the readable name of an individual; a phrase for a fresh witness."""
        return (
            "something that has no name here"
            if name.startswith(WITNESS)
            else self._plain.individual(name)
        )

    def write(
        self,
        given: Sequence[tuple[str, owl.Assertion]],
        axioms: Sequence[owl.Axiom],
        proof: Proof | None,
    ) -> str:
        """Write the explanation: the data, the conclusions, the contradiction."""
        short = self._disjointness_story(given, proof) if proof else ""
        if short:
            return short
        sentences = [*self._given_sentences(given)]
        if proof is None:
            if axioms:
                sentences.append(
                    f"The ontology says: {'; '.join(axiom_clause(a, self._labels) for a in axioms)}"
                )
            sentences.append("All of this together is impossible")
        else:
            sentences += self._argument_sentences(proof)
        return " ".join(_as_sentence(s) for s in sentences if s)

    def _disjointness_story(self, given: Sequence[tuple[str, owl.Assertion]], proof: Proof) -> str:
        """Explain the commonest conflict: one individual is asserted to be in two disjoint classes."""
        if len(proof.steps) != 3 or len(given) != 2 or proof.last.rule not in ("cax-dw", "cax-adc"):
            return ""
        parts = []
        for begin, assertion in given:
            if not isinstance(assertion, owl.ClassAssertion) or not isinstance(
                assertion.expression, owl.Class
            ):
                return ""
            where = {TONIGHT: " (tonight's data)", KNOWN: " (already known)"}.get(begin, "")
            noun = member_predicate(assertion.expression, self._labels).removeprefix("is ")
            parts.append(f"as {noun}{where}")
        who = self._names.individual(given[0][1].individual)  # type: ignore[union-attr]
        return _as_sentence(f"{who} is recorded {parts[0]} and {parts[1]}, but nothing can be both")

    def _given_sentences(self, given: Sequence[tuple[str, owl.Assertion]]) -> Iterable[str]:
        """Write the assertions of a conflict as sentences, grouped by their beginning."""
        by_begin: dict[str, list[str]] = {}
        for begin, assertion in given:
            by_begin.setdefault(begin, []).append(self._fact_text(assertion))
        for begin, clauses in by_begin.items():
            joined = "; ".join(clauses) if len(clauses) > 2 else " and ".join(clauses)
            if begin and len(clauses) > 2:
                begin = {KNOWN: "Already known"}.get(begin, begin.removesuffix(" that")) + ":"
            yield f"{begin} {joined}" if begin else joined

    def _fact_text(self, value: Fact) -> str:
        """Write a fact as an English clause."""
        return fact_clause(value, self._names, self._labels)  # type: ignore[arg-type]

    # --- what follows -----------------------------------------------------------------------------

    def _argument_sentences(self, proof: Proof) -> list[str]:
        """Write a sentence for each intermediate conclusion that is shown, and one for the
        contradiction.
        """
        steps = {step.fact: step for step in proof.steps}
        uses = Counter(premise for step in proof.steps for premise in step.premises)
        hidden = {step.fact for step in proof.steps if self._is_hidden(step, proof, uses)}
        sentences = []
        said: set[owl.Axiom] = set()
        for step in proof.steps[:-1]:
            if step.fact in hidden or not (step.premises or step.axiom):
                continue
            because = self._reason_clauses(step, steps, hidden, said)
            sentences.append(
                f"{because}, so {self._fact_text(step.fact)}"
                if because
                else f"so {self._fact_text(step.fact)}"
            )
        sentences += self._contradiction_sentences(proof, steps, hidden, said)
        return sentences

    def _is_hidden(self, step: Step, proof: Proof, uses: Counter[Fact]) -> bool:
        """Decide whether a conclusion gets no sentence of its own; its reasons are then given with
        the next one.
        """
        if isinstance(step.fact, Clash) or not (step.premises or step.axiom):
            return False
        if step.rule == "eq-rep":
            return True
        if not isinstance(step.fact, owl.ClassAssertion):
            return False
        if not isinstance(step.fact.expression, owl.Class):
            return True
        users = [s for s in proof.steps if step.fact in s.premises]
        return len(users) == 1 and (users[0].rule in _INCLUSIONS or users[0] is proof.last)

    def _reason_clauses(
        self, step: Step, steps: dict[Fact, Step], hidden: set[Fact], said: set[owl.Axiom]
    ) -> str:
        """Write the axioms from which a proof step, and the hidden steps before it, follow: in the
        order of use, each once.
        """
        clauses: list[str] = []

        def collect_reasons(one: Step) -> None:
            """Collect the axioms behind a step, premises first."""
            for premise in one.premises:
                if premise in hidden:
                    collect_reasons(steps[premise])
            clause = self._axiom_text(one)
            if one.axiom is not None and one.axiom not in said and clause:
                said.add(one.axiom)
                clauses.append(clause)

        collect_reasons(step)
        return _join_clauses(list(dict.fromkeys(clauses)))

    def _axiom_text(self, step: Step) -> str:
        """Write the part of an axiom that a proof step uses, as an English clause."""
        if step.axiom is None:
            return ""
        match step.axiom, step.fact:
            case owl.EquivalentClasses(members), owl.ClassAssertion(expression, _) if (
                expression in members and len(members) == 2
            ):
                return inclusion_sentence(
                    next(m for m in members if m != expression), expression, self._labels
                )
            case owl.DisjointUnion(cls, members), owl.ClassAssertion(expression, _) if {
                *members
            } == {expression}:
                return inclusion_sentence(cls, expression, self._labels)
            case owl.DisjointUnion(cls, _), owl.ClassAssertion(expression, _) if expression == cls:
                own = next(
                    (p.expression for p in step.premises if isinstance(p, owl.ClassAssertion)), cls
                )
                return inclusion_sentence(own, cls, self._labels)
        return axiom_clause(step.axiom, self._labels)

    # --- why that cannot be -----------------------------------------------------------------------

    def _contradiction_sentences(
        self, proof: Proof, steps: dict[Fact, Step], hidden: set[Fact], said: set[owl.Axiom]
    ) -> list[str]:
        """Write why the last facts of the proof contradict each other."""
        last = proof.last
        assert isinstance(last.fact, Clash)
        premises = Step(last.fact, last.rule, last.premises)
        because = self._reason_clauses(premises, steps, hidden, said)
        about = last.fact.facts
        if last.cases:
            return [*([because] if because else []), *self._case_sentences(last)]
        match last.rule, about:
            case (("cax-dw" | "cax-adc"), (owl.ClassAssertion(first, _), second)) if (
                about[0] == second
            ):
                clause = (
                    f"nothing can be {member_predicate(first, self._labels).removeprefix('is ')}"
                )
                return [f"{because}; but {clause}" if because else f"but {clause}"]
            case (
                ("cax-dw" | "cax-adc"),
                (owl.ClassAssertion(first, x), owl.ClassAssertion(second, _)),
            ):
                who = self._names.individual(x)
                both = f"{who} would be both {member_predicate(first, self._labels).removeprefix('is ')} and "
                both += member_predicate(second, self._labels).removeprefix("is ")
                begin = f"{because}, so {both}" if because else f"so {both}"
                return [f"{begin}; but nothing can be both"]
            case "cls-com", (owl.ClassAssertion(operand, x), _):
                who = self._names.individual(x)
                is_so = f"{who} {member_predicate(operand, self._labels)}"
                if isinstance(operand, owl.Class):
                    cannot = f"{who} cannot be {member_predicate(operand, self._labels).removeprefix('is ')}"
                    return [
                        f"{because}, so {cannot}; but it is one" if because else f"but {cannot}"
                    ]
                return [f"{because}; but {is_so}" if because else f"but {is_so}"]
            case "cls-nothing2", (owl.ClassAssertion(_, x),):
                who = self._names.individual(x)
                return [
                    f"{because}, so {who} cannot exist" if because else f"so {who} cannot exist"
                ]
            case _, (owl.SameIndividual() as same, owl.DifferentIndividuals() as different):
                said_so = _original_inequality(different, steps)
                alike = self._fact_text(owl.SameIndividual(said_so.first, said_so.second))
                if same in steps and steps[same].premises and said_so == different:
                    return [_DIFFER]
                lead = f"{because}, so " if because else "so "
                return [_DIFFER if said_so == different else f"{lead}{alike}, {_DIFFER}"]
            case _, (owl.DifferentIndividuals() as different,):
                said_so = _original_inequality(different, steps)
                alike = self._fact_text(owl.SameIndividual(said_so.first, said_so.second))
                lead = f"{because}, so " if because else "so "
                return [
                    "but nothing differs from itself"
                    if said_so.first == said_so.second
                    else f"{lead}{alike}, {_DIFFER}"
                ]
            case "dt-not-type", (owl.DataPropertyAssertion() as data, *rest):
                return [self._wrong_value_sentence(data, rest, last, because)]
            case _, (
                owl.DataPropertyAssertion(property, x, first),
                owl.DataPropertyAssertion(_, _, second),
            ) if last.rule == "prp-fp":
                who, name = self._names.individual(x), quoted_name(property, self._labels)
                values = f"{self._names.literal(first)} and {self._names.literal(second)}"
                lead = f"{because}, so " if because else "so "
                return [
                    f"{lead}{who} has both {values} as its {name}; but one thing can have only one {name}"
                ]
            case "prp-npa1" | "prp-npa2", (positive, _):
                return [
                    f"{because}, so {self._fact_text(positive)}; but it is recorded that this is not so"
                    if because
                    else "but it is recorded that this is not so"
                ]
        if last.axiom is not None:
            clause = axiom_clause(last.axiom, self._labels)
            return [f"{because}; but {clause}" if because else f"but {clause}"]
        limits = [
            member_predicate(f.expression, self._labels)
            for f in about
            if isinstance(f, owl.ClassAssertion)
        ]
        links = [
            f
            for f in about
            if isinstance(f, owl.ObjectPropertyAssertion | owl.DataPropertyAssertion)
        ]
        end = (
            f"but there {'is' if len(links) == 1 else 'are'} {_count_word(len(links))}"
            if links
            else "but that is not so"
        )
        lead = because or "; ".join(limits)
        return [f"{lead}; {end}" if lead else end]

    def _wrong_value_sentence(
        self, data: owl.DataPropertyAssertion, rest: Sequence[Fact], last: Step, because: str
    ) -> str:
        """Write the sentence that a data value is outside the range of its property."""
        value = "this value" if self._plain.in_general else self._names.literal(data.literal)
        name = quoted_name(data.property, self._labels)
        datatype = owl.Datatype(data.literal.datatype)
        match last.axiom, *rest:
            case owl.DataPropertyRange(_, range), *_:
                other = _value_out_of_range(value, datatype, range, self._labels)
                clause = f"but {other}, as every {name} must be"
            case None, owl.ClassAssertion(owl.DataAllValuesFrom(_, range), _):
                clause = f"but {_value_out_of_range(value, datatype, range, self._labels)}"
            case _:
                kind = range_noun(datatype, self._labels)
                clause = f"but {value} is not {kind}, though it is marked as one"
        return f"{because}; {clause}" if because else clause

    def _case_sentences(self, last: Step) -> list[str]:
        """Write the sentences that each case of a disjunction is impossible."""
        sentences = []
        for case in last.cases:
            assert case.assumption is not None
            inner = " ".join(_as_sentence(s) for s in self._argument_sentences(case))
            sentences.append(
                f"if {self._fact_text(case.assumption)}: {inner[:1].lower() + inner[1:]}".rstrip(
                    "."
                )
            )
        return sentences


def _value_out_of_range(
    value: str, datatype: owl.Datatype, range: owl.DataRange, labels: Labels
) -> str:
    """Write the sentence that a literal, of ``datatype``, is outside the data range ``range``.

    >>> _value_out_of_range("“0.4”", owl.Datatype(owl.XSD + "string"), owl.Datatype(owl.XSD + "float"), Labels())
    '“0.4” is written as a text, not as a number'
    """
    kind = range_noun(range, labels)
    if not isinstance(range, owl.Datatype) or datatype == range:
        return f"{value} is not {kind}"
    written = range_noun(datatype, labels)
    if written == kind:
        written, kind = (re.sub(r".*[#/]", "", x.iri) for x in (datatype, range))
    return f"{value} is written as {written}, not as {kind}"


def _original_inequality(
    different: owl.DifferentIndividuals, steps: dict[Fact, Step]
) -> owl.DifferentIndividuals:
    """Find the asserted inequality from which ``different`` follows by equalities."""
    step = steps.get(different)
    while step is not None and step.rule == "eq-rep":
        found = next(p for p in step.premises if isinstance(p, owl.DifferentIndividuals))
        different, step = found, steps.get(found)
    return different


def _count_word(n: int) -> str:
    """Write a small number as a word."""
    return {1: "one", 2: "two", 3: "three", 4: "four", 5: "five"}.get(n, str(n))


def _join_clauses(clauses: Sequence[str]) -> str:
    """Join clauses by semicolons and "and"."""
    if len(clauses) < 2:
        return "".join(clauses)
    return (
        f"{'; '.join(clauses[:-1])}; and {clauses[-1]}"
        if len(clauses) > 2
        else " and ".join(clauses)
    )


def _as_sentence(text: str) -> str:
    """Make a clause a sentence: add a capital letter and a full stop; names keep their case."""
    return f"{text[0].upper() if text[0].isascii() else text[0]}{text[1:]}{'' if text.endswith(('.', '…')) else '.'}"
