"""Explain why an atom is true at a time point, by one derivation without cycles.

Atoms are numbered in the order of their derivation. Each is explained by the rule that derived it
first; the atoms of that rule's body have smaller numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from shiq.streams.rules.model import ColumnModel, Evaluator, PointModel
from shiq.streams.rules.naive_evaluation import (
    Binding,
    NaiveEvaluator,
    _PointEvaluation,
)
from shiq.streams.rules.program import Program
from shiq.streams.rules.safety import global_variables
from shiq.streams.rules.syntax import (
    Aggregate,
    Atom,
    ComparisonLiteral,
    Constant,
    FunctionCall,
    Literal,
    Position,
    Row,
    StreamRule,
    Term,
    is_user_predicate,
    written_literals,
)


@dataclass(frozen=True)
class DerivationReason:
    """Body literal of a rule instance that derived an atom, with the evidence that the literal was
    true.

    literal: its ground text.
    points: times at which a window counted the atom.
    observed_count: number of points in the window.
    is_absent: whether the literal is negative.
    tuples: rows that an aggregate ranged over.
    derivation: why the literal's atom holds now.
    """

    literal: str
    points: tuple[int, ...] | None = None
    observed_count: int | None = None
    is_absent: bool = False
    tuples: tuple[str, ...] | None = None
    derivation: Derivation | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON value of the body literal and its evidence."""
        told: dict[str, Any] = {"literal": self.literal}
        if self.points is not None:
            told |= {"points": list(self.points), "observed": self.observed_count}
        if self.is_absent:
            told["absent"] = True
        if self.tuples is not None:
            told["tuples"] = list(self.tuples)
        return told if self.derivation is None else {**told, "because": self.derivation.to_dict()}

    def text_lines(self, depth: int) -> list[str]:
        """Lines of text for the body literal and its evidence, indented by ``depth``."""
        notes = []
        if self.is_absent:
            notes.append("absent" if self.points is None else "")
        if self.points is not None:
            at = ", ".join(map(str, self.points)) or "none"
            notes.append(f"counted at {at} of {self.observed_count} observed")
        if self.tuples is not None:
            notes.append(f"over {{{'; '.join(self.tuples)}}}")
        said = "; ".join(note for note in notes if note)
        own = f"{'  ' * depth}{self.literal}{f'   ({said})' if said else ''}"
        return (
            [own] if self.derivation is None else [own, *self.derivation.text_lines(depth + 1)[1:]]
        )


@dataclass(frozen=True)
class Derivation:
    """Explanation of a true atom: it is input, a fact, or the head of a rule instance whose body
    literals are explained in turn.

    source_kind: "input", "fact" or "rule".
    place: position of the fact or rule.
    """

    atom: str
    t: int
    source_kind: str
    place: Position | None = None
    rule: str = ""
    bindings: Mapping[str, str] = field(default_factory=dict)
    body: tuple[DerivationReason, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """JSON value of the explanation."""
        told: dict[str, Any] = {"atom": self.atom, "t": self.t, "by": self.source_kind}
        if self.place is not None:
            told |= {"file": self.place.file, "line": self.place.line}
        if self.source_kind == "rule":
            told |= {
                "rule": self.rule,
                "bindings": dict(self.bindings),
                "body": [reason.to_dict() for reason in self.body],
            }
        return told

    def text_lines(self, depth: int = 0) -> list[str]:
        """Lines of text for the explanation, with the rule's body literals indented below."""
        before = "  " * depth
        if self.source_kind != "rule":
            where = f", {self.place.file} line {self.place.line}" if self.place else ""
            return [f"{before}{self.atom} at {self.t}", f"{before}  {self.source_kind}{where}"]
        assert self.place is not None
        bound = ", ".join(f"{name}={value}" for name, value in self.bindings.items())
        lines = [
            f"{before}{self.atom} at {self.t}",
            f"{before}  by {self.place.file} line {self.place.line}: {self.rule}",
        ]
        lines += [f"{before}  with {bound}"] if bound else []
        return [*lines, *(line for reason in self.body for line in reason.text_lines(depth + 1))]


@dataclass
class ExplainingEvaluator:
    """Evaluator that records how the atoms of one time point, ``point``, are derived (implements
    `shiq.streams.rules.model.Evaluator`).

    engine: evaluates each point first, so that a point with too many atoms fails before the slow
    evaluation by ``naive``.
    atoms: true atoms of the point; None before it.
    origins: number, rule and binding of each atom's first derivation.
    """

    engine: Evaluator
    naive: NaiveEvaluator
    point: int
    input_rows: Mapping[str, set[Row]] = field(default_factory=dict)
    atoms: Mapping[str, set[Row]] | None = None
    origins: dict[tuple[str, Row], tuple[int, StreamRule, Binding]] = field(default_factory=dict)

    def step(self, t: int, rows: Mapping[str, Any]) -> PointModel:
        """Evaluate the time point ``t``; record the derivations if it is the one to explain."""
        if t > self.point:
            return ColumnModel(t, {})
        model = self.engine.step(t, rows)
        if t < self.point:
            self.naive.step(t, rows)
            return model

        def record_origin(rule: StreamRule, row: Row, binding: Binding) -> None:
            """Record the first derivation of an atom."""
            self.origins.setdefault((rule.head.predicate, row), (len(self.origins), rule, binding))

        self.input_rows = {
            predicate: set(found)
            for predicate, found in self.naive.program.copy_input_to_parts(rows).items()
        }
        self.atoms = self.naive.step(t, rows, record_origin).atoms
        return model

    def state(self) -> bytes:
        """State of the engine."""
        return self.engine.state()

    def restore(self, state: bytes) -> None:
        """Restore the engine."""
        self.engine.restore(state)

    def explain_atom(self, program: Program, predicate: str, row: Row) -> Derivation | None:
        """Explain why an atom is true at the recorded time point; None if it is not true."""
        if self.atoms is None or row not in self.atoms.get(predicate, ()):
            return None
        return self._explain_true_atom(program, predicate, row)

    def _explain_true_atom(self, program: Program, predicate: str, row: Row) -> Derivation:
        """Explanation of an atom that is true at the recorded time point: input, fact, or derived
        by a rule.
        """
        name, _, arity = predicate.rpartition("/")
        text = str(Atom(name, tuple(map(Constant, row))))
        if row in self.input_rows.get(predicate, ()):
            return Derivation(text, self.point, "input")
        fact = program.parsed_program.facts.get(f"{name.partition('#')[0]}/{arity}", {}).get(row)
        if fact is not None:
            return Derivation(text, self.point, "fact", fact[0].position_at(fact[1]))
        number, rule, binding = self.origins[predicate, row]
        now = {name: set(rows) for name, rows in (self.atoms or {}).items()}
        step = _PointEvaluation(self.naive, self.point, now)
        body = tuple(
            self._explain_literal(program, step, rule, literal, binding, number)
            for literal in written_literals(rule.body)
        )
        shown = {
            name: str(value)
            for name, value in sorted(binding.items())
            if name[0] != "_" and is_user_predicate(name)
        }
        return Derivation(text, self.point, "rule", rule.position, str(rule), shown, body)

    def _explain_literal(
        self,
        program: Program,
        step: _PointEvaluation,
        rule: StreamRule,
        literal: Literal,
        binding: Binding,
        rank: int,
    ) -> DerivationReason:
        """Evidence that a body literal of ``rule`` is true under the variable values ``binding``.
        ``rank``: rank of the derived atom in the order of derivation.
        """

        def ground_term(term: Term) -> Term:
            """Constant for a term's value, or the term if it has none."""
            value = step.evaluate_term(term, binding)
            return term if value is None else Constant(value)

        if isinstance(literal, ComparisonLiteral):
            return DerivationReason(
                str(
                    replace(
                        literal,
                        left_term=ground_term(literal.left_term),
                        right_term=ground_term(literal.right_term),
                    )
                )
            )
        if isinstance(literal, FunctionCall):
            outputs = tuple(map(ground_term, literal.outputs))
            return DerivationReason(
                str(
                    replace(
                        literal, inputs=tuple(map(ground_term, literal.inputs)), outputs=outputs
                    )
                )
            )
        if isinstance(literal, Aggregate):
            tuples = sorted(
                ",".join(map(str, row))
                for row in step.aggregate_tuples(rule, literal, binding, global_variables(rule))
            )
            guards = tuple((relation, ground_term(term)) for relation, term in literal.guards)
            return DerivationReason(str(replace(literal, guards=guards)), tuples=tuple(tuples))
        row = step.evaluate_row(literal.atom.arguments, binding) or ()
        atom = Atom(literal.atom.name, tuple(map(Constant, row)))
        count = None if literal.count is None else ground_term(literal.count)
        text, predicate = str(replace(literal, atom=atom, count=count)), atom.predicate
        now = self.origins.get((predicate, row))
        times = step.window_times(literal)
        held = [
            t
            for t, point in zip(times, step.window_points(literal))
            if row in point.get(predicate, ())
        ]
        if (
            literal.is_harmless
            and now is not None
            and now[0] >= rank
            and row not in self.input_rows.get(predicate, ())
        ):
            # It came later than what it is to explain: the window had enough without it.
            held = [
                t
                for t in held
                if t != self.point or row in self.naive.program.facts.get(predicate, ())
            ]
        because = (
            self._explain_true_atom(program, predicate, row)
            if not literal.is_negated and self.point in held
            else None
        )
        if literal.window is None:
            return DerivationReason(text, is_absent=literal.is_negated, derivation=because)
        return DerivationReason(
            text, tuple(sorted(held)), len(times), literal.is_negated, derivation=because
        )
