"""Rules that nothing refutes, to be used elsewhere: as axioms of OWL, or as stream rules (ASP).

An axiom speaks of every case. So a rule that held in few of its cases, as a weak association
does, is left out, whatever its confidence by snapshots. The others are checked together with T,
A and each snapshot of the last window; what contradicts is left out, weakest first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shiq import model as owl
from shiq.functional import axiom_text
from streams.discovery.atomsets import Tree, atoms_of, iri, text_of
from streams.discovery.entailing import MinerKnowledge, UndecidedEntailmentError
from streams.discovery.report import RuleFinding, WindowReport
from streams.discovery.stream_rules import program_text

if TYPE_CHECKING:
    from streams.discovery.miner import RuleMiner


def concept(tree: Tree, knowledge: MinerKnowledge) -> owl.ClassExpression:
    """A body as an ELI concept."""
    parts: list[owl.ClassExpression] = [knowledge.vocabulary[name] for name in tree.classes]
    for role, inverse, below in tree.branches:
        named = owl.ObjectProperty(iri(role))
        filler = owl.THING if below == Tree() else concept(below, knowledge)
        parts.append(
            owl.ObjectSomeValuesFrom(owl.ObjectInverseOf(named) if inverse else named, filler)
        )
    return parts[0] if len(parts) == 1 else owl.ObjectIntersectionOf(tuple(parts))


def axiom_of(found: RuleFinding, knowledge: MinerKnowledge) -> owl.SubClassOf:
    """A rule as an axiom."""
    return owl.SubClassOf(
        concept(found.rule.body, knowledge), knowledge.vocabulary[found.rule.head]
    )


def kept(
    miner: RuleMiner, report: WindowReport | None, share: float
) -> tuple[list[RuleFinding], list[str]]:
    """The rules of a report that held in at least ``share`` of their cases, that no snapshot
    refutes, and that hold together with T, A and each of its snapshots; what is left out, as
    texts.
    """
    if report is None:
        return [], []
    unrefuted = [
        each for each in report.found if isinstance(each, RuleFinding) and each.refuted == 0
    ]
    rules = [
        each for each in unrefuted if each.rule.binding_support >= share * each.rule.binding_body
    ]
    windows, knowledge = miner.windows, miner.windows.knowledge
    left_out: list[str] = []
    if weak := len(unrefuted) - len(rules):
        text = "a rule that held" if weak == 1 else f"{weak:,} rules that each held"
        left_out.append(
            f"{text} in less than {share:.0%} of the cases of its body (--export-share)"
        )
    snapshots = [
        windows.snapshots.told.get(index, ())
        for index in range(report.window[0], report.window[1] + 1)
        if windows.snapshots.entailed(index) is not None
    ]

    def holds(some: Sequence[RuleFinding]) -> bool:
        together = knowledge.with_axioms([axiom_of(each, knowledge) for each in some])
        try:
            return together.is_consistent((), ()) and all(
                together.is_consistent(told, ()) for told in snapshots
            )
        except UndecidedEntailmentError:
            return False

    while rules and not holds(rules):
        # The rules are in order of strength: the strongest that hold together stay.
        low, high = 0, len(rules)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if holds(rules[:middle]) else (low, middle)
        weakest = rules.pop(low)
        left_out.append(f"{text_of(atoms_of(weakest.rule.body))} => {weakest.rule.head}")
    return rules, left_out


def exported_text(
    miner: RuleMiner, report: WindowReport | None, share: float, as_asp: bool
) -> tuple[str, list[str]]:
    """The document, and the rules that were left out of it."""
    rules, left_out = kept(miner, report, share)
    window = report.window if report is not None else (0, 0)
    write = program_text if as_asp else _owl
    return write(rules, miner.windows.knowledge, window), left_out


def _owl(rules: Sequence[RuleFinding], knowledge: MinerKnowledge, window: tuple[int, int]) -> str:
    lines = ["Ontology("]
    for found in rules:
        rule, axiom = found.rule, axiom_text(axiom_of(found, knowledge))
        cases = f"{rule.binding_support} of {rule.binding_body} cases"
        note = (
            f"{rule.support} of {rule.body_support} snapshots, {cases}, {window[0]} to {window[1]}"
        )
        annotation = f'Annotation(<http://www.w3.org/2000/01/rdf-schema#comment> "{note}")'
        lines.append(axiom.replace("SubClassOf(", f"SubClassOf({annotation} ", 1))
    return "\n".join([*lines, ")", ""])
