"""Write the reports of a mining run: rows, entailments, a folder of tables, and exported rules.

Rules that no snapshot refutes are exported as OWL axioms or as stream rules (ASP).
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shiq import model as owl
from shiq.files import write_atomically
from shiq.functional import axiom_text
from shiq.streams.discovery.atomsets import (
    Atom,
    BodyTree,
    atoms_to_text,
    strip_brackets,
    tree_to_atoms,
)
from shiq.streams.discovery.report import RuleFinding, WindowReport, make_rules_table
from shiq.streams.discovery.sentences import render_rules_page
from shiq.streams.discovery.snapshots import MinerKnowledge, UndecidedEntailmentError
from shiq.streams.front.intake import leftovers_to_rows
from shiq.support import pluralize

if TYPE_CHECKING:
    from shiq.streams.discovery.miner import RuleMiner
    from shiq.streams.discovery.stream import MiningResult

SCHEMA_VERSION = 1


class ReportOutputs:
    """Output files of a mining run, as the options ask for them.

    rows: receives the rows of ``--out``.
    entailments, exported, folder: names of files, None for none.
    """

    def __init__(
        self,
        miner: RuleMiner,
        rows: Callable[[Iterable[Any]], None],
        entailments: str | None = None,
        exported: str | None = None,
        folder: str | None = None,
    ) -> None:
        self.miner, self.rows, self.export_file, self.folder = miner, rows, exported, folder
        self.entailments = entailments
        self.last_report: WindowReport | None = None
        self._entailments: dict[int, list[str]] = {}

    def deliver(self, report: WindowReport) -> None:
        """Write one report as a row, and remember the entailments of its window for the output of
        entailments.
        """
        self.rows([report.to_dict()])
        self.last_report = report
        if self.entailments is not None:
            snapshots = self.miner.windows.snapshots
            for index in range(report.window[0], report.window[1] + 1):
                found: Iterable[Atom] = snapshots.entailed_atoms(index) or ()
                self._entailments[index] = sorted(atoms_to_text([atom]) for atom in found)

    def finish(self, result: MiningResult) -> list[str]:
        """Write the files at the end of the run. Return lines for the user about exported rules."""
        if self.entailments is not None:
            self._write_entailments(self.entailments)
        if self.folder is not None:
            self._write_folder(Path(self.folder), result)
        if self.export_file is None:
            return []
        export = select_exported(self.miner, self.last_report)
        window = (0, 0) if self.last_report is None else self.last_report.window
        write = rules_to_program if self.export_file.endswith(".lp") else _rules_to_ontology
        text = write(export.rules, self.miner.windows.knowledge, window)
        write_atomically(Path(self.export_file), text)
        result.statistics["export"] = export.counts()
        return export.summary_lines(self.miner.settings.report.min_share)

    def json_document(self, result: MiningResult) -> dict[str, Any]:
        """JSON document of a run, as ``--json`` prints it."""
        return {
            "schema_version": SCHEMA_VERSION,
            "verdict": result.verdict.value,
            "settings": self.miner.settings.to_dict(),
            "vocabulary": sorted(self.miner.ontology.classes),
            "leftovers": leftovers_to_rows(result.leftovers),
            "statistics": result.statistics,
            "windows": result.windows,
        }

    def _write_entailments(self, file: str) -> None:
        """Write the entailments of all snapshots to a Parquet file."""
        import pyarrow as pa  # type: ignore[import-untyped]
        import pyarrow.parquet as pq  # type: ignore[import-untyped]

        rows = [
            (index, atom) for index, atoms in sorted(self._entailments.items()) for atom in atoms
        ]
        columns = {
            "snapshot": pa.array([i for i, _ in rows], pa.int64()),
            "atom": pa.array([a for _, a in rows], pa.string()),
        }
        whole = io.BytesIO()
        pq.write_table(pa.table(columns), whole)
        write_atomically(Path(file), whole.getvalue())

    def _write_folder(self, folder: Path, result: MiningResult) -> None:
        """Write windows and rules as Parquet tables and a page of sentences to a folder."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        folder.mkdir(parents=True, exist_ok=True)
        windows = [
            {name: value for name, value in window.items() if name != "rules"}
            for window in result.windows
        ]
        flat = [
            {name: _to_table_value(value) for name, value in window.items()} for window in windows
        ]
        names = sorted({name for row in flat for name in row})
        pq.write_table(
            pa.table({name: [row.get(name) for row in flat] for name in names}),
            folder / "windows.parquet",
        )
        tables = [
            make_rules_table(window["rules"]).append_column(
                "window", pa.array([window["window"]] * len(window["rules"]), pa.list_(pa.int64()))
            )
            for window in result.windows
        ]
        whole = (
            pa.concat_tables(tables, promote_options="permissive")
            if tables
            else make_rules_table([])
        )
        pq.write_table(whole, folder / "rules.parquet")
        write_atomically(
            folder / "rules.md",
            render_rules_page(result, self.miner.ontology.labels, self.miner.settings),
        )


def _to_table_value(value: Any) -> Any:
    """Convert a JSON value for a table: objects and lists of objects become JSON texts."""
    import json

    return (
        json.dumps(value)
        if isinstance(value, dict)
        or (isinstance(value, list) and any(isinstance(v, dict) for v in value))
        else value
    )


# Mined rules as a program of stream rules (docs/RULES.md): at each point the head follows where
# the body holds there.
#
# Classes and roles are mapped by ``#rdf``, so that triples match; what T ∪ A entails of them
# stands as facts. A class expression has a predicate of its own, with a rule where conjunctions
# and ∃ say it.


_IRI_PATTERN = re.compile(r"<([^<>]*)>")
#: Words that a literal may begin with.
_RESERVED_WORDS = frozenset({"not"})


@dataclass
class _PredicateNames:
    """Unique predicate names for classes and roles, from the last part of their IRIs."""

    _names: dict[tuple[str, int], str] = field(default_factory=dict)
    _used_names: set[tuple[str, int]] = field(default_factory=set)

    def predicate_name(self, text: str, arity: int) -> str:
        """Predicate name for a class expression or a role IRI in brackets."""
        found = self._names.get((text, arity))
        if found is None:
            parts = [re.split("[#/:]", one)[-1] or one for one in _IRI_PATTERN.findall(text)] or [
                text
            ]
            plain = re.sub("[^A-Za-z0-9_]", "_", "_".join(parts))
            stem = plain[0].lower() + plain[1:] if plain[0].isalpha() else f"n{plain}"
            found, number = stem, 1
            while (found, arity) in self._used_names or found in _RESERVED_WORDS:
                number += 1
                found = f"{stem}_{number}"
            self._used_names.add((found, arity))
            self._names[text, arity] = found
        return found

    def write_atom(self, atom: Atom) -> str:
        """Atom in the syntax of stream rules."""
        return f"{self.predicate_name(atom[0], len(atom) - 1)}({', '.join(map(_term_to_argument, atom[1:]))})"


def _term_to_argument(text: str) -> str:
    """Convert a term of an atom to an argument in the syntax of stream rules."""
    return (
        text[1:].upper() if text.startswith("?") else f'"{text}"' if text.startswith("_:") else text
    )


def rules_to_program(
    rules: Sequence[RuleFinding], knowledge: MinerKnowledge, window: tuple[int, int]
) -> str:
    """Write rules as a program of stream rules (docs/RULES.md).

    Classes and roles are mapped by ``#rdf``, and static entailments are facts. A class expression
    gets a predicate, with a rule if conjunctions and ∃ define it.
    """
    predicates, written = _PredicateNames(), list[str]()
    used = {
        atom[0]: len(atom) - 1
        for each in rules
        for atom in (*tree_to_atoms(each.rule.body), (each.rule.head, "?x0"))
    }
    definitions: list[str] = []
    for text in sorted(text for text in used if not text.startswith("<")):
        name, body = (
            predicates.predicate_name(text, 1),
            _find_defining_atoms(knowledge.vocabulary[text], "?x0", iter(range(1, 1000))),
        )
        definitions.append(f"% {name}/1 is {text}{'' if body else ': no rule says who is one'}")
        if body:
            used |= {atom[0]: len(atom) - 1 for atom in body}
            definitions.append(f"{name}(X0) :- {', '.join(map(predicates.write_atom, body))}.")
    for found in rules:
        rule = found.rule
        body_text = ", ".join(map(predicates.write_atom, tree_to_atoms(rule.body)))
        written.append(
            f"% {rule.support} of {rule.body_support} snapshots, {rule.binding_support} of {rule.binding_body} cases"
        )
        written.append(f"{predicates.write_atom((rule.head, '?x0'))} :- {body_text}.")
    mapped = [
        f"#rdf {predicates.predicate_name(text, n)}/{n} = {text}."
        for text, n in sorted(used.items())
        if text.startswith("<")
    ]
    facts = sorted(
        f"{predicates.write_atom(atom)}."
        for atom in knowledge.static_entailments or ()
        if used.get(atom[0]) == len(atom) - 1
    )
    return "\n".join(
        [f"% snapshots {window[0]} to {window[1]}", *mapped, *definitions, *written, *facts, ""]
    )


def _find_defining_atoms(
    expression: owl.ClassExpression, variable: str, numbers: Iterator[int]
) -> list[Atom] | None:
    """Atoms that are true exactly if ``variable`` is a member of a class expression; None if atoms
    cannot express it.
    """
    match expression:
        case owl.Class(name):
            return [] if expression == owl.THING else [(f"<{name}>", variable)]
        case owl.ObjectIntersectionOf(operands):
            parts = [_find_defining_atoms(operand, variable, numbers) for operand in operands]
            return (
                None
                if any(part is None for part in parts)
                else [atom for part in parts for atom in part or ()]
            )
        case owl.ObjectSomeValuesFrom(role, filler):
            other = f"?x{next(numbers)}"
            below = _find_defining_atoms(filler, other, numbers)
            ends = (other, variable) if isinstance(role, owl.ObjectInverseOf) else (variable, other)
            named = role.property if isinstance(role, owl.ObjectInverseOf) else role
            return None if below is None else [(f"<{named.iri}>", *ends), *below]
    return None


def body_to_concept(tree: BodyTree, knowledge: MinerKnowledge) -> owl.ClassExpression:
    """Convert a body to an ELI class expression."""
    parts: list[owl.ClassExpression] = [knowledge.vocabulary[name] for name in tree.classes]
    for role, inverse, below in tree.branches:
        named = owl.ObjectProperty(strip_brackets(role))
        filler = owl.THING if below == BodyTree() else body_to_concept(below, knowledge)
        parts.append(
            owl.ObjectSomeValuesFrom(owl.ObjectInverseOf(named) if inverse else named, filler)
        )
    return parts[0] if len(parts) == 1 else owl.ObjectIntersectionOf(tuple(parts))


def rule_to_axiom(rule: RuleFinding, knowledge: MinerKnowledge) -> owl.SubClassOf:
    """Convert a rule to a SubClassOf axiom."""
    return owl.SubClassOf(
        body_to_concept(rule.rule.body, knowledge), knowledge.vocabulary[rule.rule.head]
    )


@dataclass(frozen=True)
class RuleExport:
    """Rules selected for export and counts of the others.

    refuted_count: rules that a snapshot refutes.
    unchecked_count: rules for which that is unknown.
    weak_count: rules below the minimal share of cases.
    contradicting_rules: rules that are inconsistent with stronger ones, as texts.
    """

    rules: Sequence[RuleFinding] = ()
    refuted_count: int = 0
    unchecked_count: int = 0
    weak_count: int = 0
    contradicting_rules: Sequence[str] = ()

    def counts(self) -> dict[str, int]:
        """Numbers of exported and omitted rules, as in ``statistics.export`` of the JSON document."""
        return {
            "rules": len(self.rules),
            "refuted": self.refuted_count,
            "unchecked": self.unchecked_count,
            "below_min_share": self.weak_count,
            "contradicting": len(self.contradicting_rules),
        }

    def summary_lines(self, share: float) -> list[str]:
        """Lines that tell the user how many rules were exported and why others were not; ``share``:
        minimal share of cases.
        """
        told = (
            (self.weak_count, f"held in less than {100 * share:g} % of the cases (--min-share)"),
            (self.refuted_count, "a snapshot contradicts"),
            (self.unchecked_count, "nothing says whether a snapshot contradicts"),
            (
                len(self.contradicting_rules),
                "T, A, a snapshot and the other rules contradict",
            ),
        )
        return [
            f"exported: {pluralize(len(self.rules), 'rule')}",
            *(f"not exported: {pluralize(n, 'rule')} that {why}" for n, why in told if n),
            *(f"  {text}" for text in self.contradicting_rules),
        ]


def select_exported(miner: RuleMiner, report: WindowReport | None) -> RuleExport:
    """Select the rules that no snapshot refutes and that reach the minimal share of cases. The
    weakest are dropped until the rest is consistent with each snapshot.
    """
    if report is None:
        return RuleExport()
    against = [
        each.refutations if isinstance(each, RuleFinding) else None for each in report.findings
    ]
    unrefuted = [
        each for each in report.findings if isinstance(each, RuleFinding) and each.refutations == 0
    ]
    share = Fraction(str(miner.settings.report.min_share))
    rules = [
        each for each in unrefuted if each.rule.binding_support >= share * each.rule.binding_body
    ]
    weak = len(unrefuted) - len(rules)
    rules.sort(key=lambda each: each.surprise[1], reverse=True)
    windows, knowledge = miner.windows, miner.windows.knowledge
    left_out: list[str] = []
    snapshots = [
        windows.snapshots.assertions.get(index, ())
        for index in range(report.window[0], report.window[1] + 1)
        if windows.snapshots.entailed_atoms(index) is not None
    ]

    def is_jointly_consistent(some: Sequence[RuleFinding]) -> bool:
        """Whether rules are consistent with T, A and each snapshot."""
        together = knowledge.with_axioms([rule_to_axiom(each, knowledge) for each in some])
        try:
            return together.is_consistent((), ()) and all(
                together.is_consistent(told, ()) for told in snapshots
            )
        except UndecidedEntailmentError:
            return False

    while rules and not is_jointly_consistent(rules):
        # By share of cases, the strongest that hold together stay.
        low, high = 0, len(rules)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if is_jointly_consistent(rules[:middle]) else (low, middle)
        weakest = rules.pop(low)
        left_out.append(f"{atoms_to_text(tree_to_atoms(weakest.rule.body))} => {weakest.rule.head}")
    return RuleExport(rules, sum(map(bool, against)), against.count(None), weak, left_out)


def _rules_to_ontology(
    rules: Sequence[RuleFinding], knowledge: MinerKnowledge, window: tuple[int, int]
) -> str:
    """Write rules as an ontology in functional syntax with annotations."""
    lines = ["Ontology("]
    for found in rules:
        rule, axiom = found.rule, axiom_text(rule_to_axiom(found, knowledge))
        cases = f"{rule.binding_support} of {rule.binding_body} cases"
        note = (
            f"{rule.support} of {rule.body_support} snapshots, {cases}, {window[0]} to {window[1]}"
        )
        annotation = f'Annotation(<http://www.w3.org/2000/01/rdf-schema#comment> "{note}")'
        lines.append(axiom.replace("SubClassOf(", f"SubClassOf({annotation} ", 1))
    return "\n".join([*lines, ")", ""])
