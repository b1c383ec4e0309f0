"""The engine: a checked program, point by point, each point from what changed since the one before.

Strata are evaluated in order. Of a stratum without recursion, rules over streaming literals and
comparisons are maintained: each head is kept with the number of its derivations, and what a
point changes of it is the sum, over the literals, of the joins of one literal's change with what
those before it are and those behind it were. Other rules (aggregates, functions, @now, counts
that vary) are evaluated again where a literal of theirs changed. A recursive stratum is
evaluated to its least fixpoint again where something that it uses changed, in semi-naive rounds
over window literals too. What did not change is not touched. Source: docs/RULES.md;
docs/THEORY.md, "Stream rules in columns".
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from shiq.columns.arrays import Ints, unique
from shiq.errors import OperationalError
from shiq.streams.rules.fixpoint import Recursion, maintain_counts, reevaluate
from shiq.streams.rules.model import (
    ColumnModel,
    MaintainedRule,
    PointRows,
    Predicate,
    compact_predicate,
    has_countable_derivations,
)
from shiq.streams.rules.operators import Functions, PointBudget, StepContext
from shiq.streams.rules.plan import Conjunct, Planner, StreamingPattern, make_conjuncts, uses_now
from shiq.streams.rules.relations import FIRST, NONE, ConstantDictionary, Relation
from shiq.streams.rules.safety import global_variables
from shiq.streams.rules.syntax import (
    MOST_DERIVED,
    Aggregate,
    CheckedProgram,
    Constant,
    Literal,
    Row,
    Stratum,
    StreamRule,
    WindowedLiteral,
    variables,
)
from shiq.streams.rules.windows import NOW, History, WindowCounter, WindowView

# The state of an engine as bytes: JSON, and numpy arrays without objects.
#
# All that later points depend on is the time and what the points within the horizons keep; the
# rest follows from the program at the next step. So a state is small, and does not know how the
# engine counts.


_SCHEMA: Final = 1
_HEAD: Final = "head"


def engine_state(
    origin: int | None, point: int, predicates: dict[str, Predicate], dictionary: ConstantDictionary
) -> bytes:
    """The state as bytes."""
    arrays: dict[str, Ints] = {}
    names: list[str] = []
    used: list[Ints] = []
    for name, predicate in predicates.items():
        history = predicate.history
        if not history.points:
            continue
        place = f"{len(names)}"
        names.append(name)
        kept = unique(np.concatenate(history.rows))
        columns = predicate.relation.columns_at(kept)
        used += columns
        arrays[f"{place}.points"] = np.array(history.points, np.int64)
        arrays[f"{place}.lengths"] = np.array([len(rows) for rows in history.rows], np.int64)
        arrays[f"{place}.rows"] = np.searchsorted(kept, np.concatenate(history.rows))
        for i, column in enumerate(columns):
            arrays[f"{place}.{i}"] = column
    codes = (
        unique(np.concatenate([column[column >= FIRST] for column in used]))
        if used
        else np.zeros(0, np.int64)
    )
    head = {
        "schema_version": _SCHEMA,
        "origin": origin,
        "point": point,
        "predicates": names,
        "constants": dictionary.decode(codes),
    }
    arrays["codes"] = codes
    file = io.BytesIO()
    np.savez(file, **{_HEAD: np.frombuffer(json.dumps(head).encode(), np.uint8)}, **arrays)  # type: ignore[arg-type]
    return file.getvalue()


def restore_histories(
    state: bytes, predicates: dict[str, Predicate], dictionary: ConstantDictionary
) -> tuple[int | None, int]:
    """Fills the histories of ``predicates``; gives origin and point. Raises: OperationalError."""
    try:
        with np.load(io.BytesIO(state), allow_pickle=False) as found:
            head = json.loads(found[_HEAD].tobytes())
            if head["schema_version"] != _SCHEMA:
                raise ValueError(f"schema_version {head['schema_version']}")
            codes, new = found["codes"], dictionary.encode(head["constants"])
            for place, name in enumerate(head["predicates"]):
                predicate = predicates[name]
                columns = [found[f"{place}.{i}"] for i in range(len(predicate.relation.columns))]
                _fill_history(
                    predicate, [_recode(column, codes, new) for column in columns], found, place
                )
            return head["origin"], int(head["point"])
    except (
        ValueError,
        KeyError,
        TypeError,
        EOFError,
        OSError,
        IndexError,
        zipfile.BadZipFile,
    ) as error:
        raise OperationalError(
            f"this is no state of an evaluator ({error})", "Start anew."
        ) from error


def _recode(column: Ints, codes: Ints, new: Ints) -> Ints:
    texts = np.flatnonzero(column >= FIRST)
    column[texts] = new[np.searchsorted(codes, column[texts])]
    return column


def _fill_history(predicate: Predicate, columns: list[Ints], found: Any, place: int) -> None:
    numbers = predicate.relation.add(columns)[found[f"{place}.rows"]]
    predicate.history.points = found[f"{place}.points"].tolist()
    predicate.history.rows = np.split(numbers, np.cumsum(found[f"{place}.lengths"])[:-1])


#: Rows that are new since the last time that dead ones were looked for, beyond as many as were
#: alive.
_SPARE: Final = 4096


class Engine:
    """Evaluates a checked program point by point (`syntax.Evaluator`)."""

    def __init__(
        self,
        checked: CheckedProgram,
        functions: Functions,
        complete_windows: bool = False,
        most_atoms: int = MOST_DERIVED,
    ) -> None:
        self.program = checked
        self.complete_windows = complete_windows
        self.dictionary = ConstantDictionary()
        self.context = StepContext(self.dictionary, functions, PointBudget(most_atoms))
        self.predicates: dict[str, Predicate] = {}
        self.origin: int | None = None
        self.point = -1
        #: Views that tell of changes of this point.
        self._changed_views: list[WindowView] = []
        self.strata: list[tuple[list[MaintainedRule], Recursion | None]] = []
        for stratum in checked.strata:
            rules = [self._maintain_rule(rule) for rule in stratum.rules]
            self.strata.append(
                (rules, self._recursion(stratum, rules) if stratum.is_recursive else None)
            )
        self._constants = len(self.dictionary)
        self._texts = 0
        for predicate, rows in checked.facts.items():
            self._add_facts(predicate, rows)

    # --- setting up -------------------------------------------------------------------------------

    def predicate(self, name: str) -> Predicate:
        found = self.predicates.get(name)
        if found is None:
            relation = Relation(name, int(name.rpartition("/")[2]))
            relation.add_array("given", np.bool_)
            found = self.predicates[name] = Predicate(
                relation, History(self.program.horizons.get(name, 0))
            )
        return found

    def _add_facts(self, name: str, rows: Sequence[Row]) -> None:
        predicate = self.predicate(name)
        predicate.facts = predicate.relation.add_repeated(self._encode_rows(rows, predicate))
        predicate.relation.row_arrays["given"][predicate.facts] = True
        predicate.touched_rows.append(predicate.facts)

    def _view(
        self, literal: WindowedLiteral, operator: str, count: int, counted: bool
    ) -> WindowView:
        predicate = self.predicate(literal.atom.predicate)
        window = literal.window or NOW
        counter = predicate.counters.get(window.intervals)
        if counter is None:
            counter = predicate.counters[window.intervals] = WindowCounter(
                predicate.relation, window, self.complete_windows
            )
        key = window.intervals, operator, count, counted
        view = predicate.views.get(key)
        if view is None:
            view = predicate.views[key] = WindowView(counter, operator, count, counted)
        return view

    def _conjuncts(self, body: Iterable[Literal], fresh: str = "#") -> list[Conjunct]:
        return make_conjuncts(body, self._view, self._constant_code, fresh)

    def _constant_code(self, constant: Constant) -> int:
        return self.dictionary.code(constant.value)

    def _maintain_rule(self, rule: StreamRule) -> MaintainedRule:
        body = self._conjuncts(rule.body)
        inner: dict[int, list[Conjunct]] = {}

        def elements(literals: Iterable[Literal]) -> list[Conjunct]:
            literals = tuple(literals)
            if id(literals) not in inner:
                inner[id(literals)] = self._conjuncts(literals, "##")
            return inner[id(literals)]

        aggregates = [one for one in body if isinstance(one, Aggregate)]
        within = [
            one
            for aggregate in aggregates
            for element in aggregate.elements
            for one in elements(element.body)
        ]
        views = tuple(one.view for one in within if isinstance(one, StreamingPattern))
        head = self.predicate(rule.head.predicate)
        head.support_array(rule)
        wanted = frozenset(
            variable.name for argument in rule.head.arguments for variable in variables(argument)
        )
        now = uses_now(rule)
        incremental = not now and rule.frequency is None and has_countable_derivations(body)
        planner = Planner(body, wanted, elements, frozenset(global_variables(rule)))
        return MaintainedRule(
            rule,
            head,
            body,
            planner,
            incremental,
            now or rule.frequency is not None,
            aggregate_views=views,
        )

    def _recursion(self, stratum: Stratum, rules: list[MaintainedRule]) -> Recursion:
        heads = [
            self._conjuncts([WindowedLiteral(rule.head)], "#head")[0] for rule in stratum.rules
        ]
        patterns = [pattern for pattern in heads if isinstance(pattern, StreamingPattern)]
        return Recursion({name: self.predicates[name] for name in stratum.heads}, rules, patterns)

    # --- a point ----------------------------------------------------------------------------------

    def step(self, t: int, rows: Mapping[str, Any]) -> ColumnModel:
        """The model of the point ``t``. Raises: EvaluationError."""
        if self.origin is None:
            self.origin = t
        before, self.point = self.point, t - self.origin
        self.context.begin_point(t)
        for view in self._changed_views:
            view.clear_changes()
        self._changed_views.clear()
        self._collect_garbage()
        rows = self.program.with_parts(rows)
        for name, given in rows.items():
            self._set_input(self.predicate(name), given)
        for name, predicate in self.predicates.items():
            if len(predicate.input_rows) and name not in rows:
                self._set_input(predicate, [])
        for predicate in self.predicates.values():
            relation = predicate.relation
            relation.gained_rows = relation.lost_rows = NONE
            for counter in predicate.counters.values():
                counter.advance(predicate.history, before, self.point)
            if not predicate.supports:
                self._changed_views += predicate.close_point()
        for rules, recursion in self.strata:
            before = self.context.budget.derived_count
            self._changed_views += (
                recursion.evaluate(self.context, self.point) if recursion else self._evaluate(rules)
            )
            self._count_derived(rules, before)
        for predicate in self.predicates.values():
            if predicate.history.horizon:
                predicate.history.add_point(self.point, predicate.persistent())
                predicate.history.drop_unobserved(self.point)
        return self._model(t)

    def _encode_rows(self, rows: Any, predicate: Predicate) -> list[Ints]:
        """The columns of rows, or of a tuple of columns."""
        arity = predicate.relation.arity
        if _are_columns(rows):
            return [self.dictionary.encode(column) for column in rows]
        if not arity:
            return [np.zeros(len(rows), np.int64)]
        return (
            [self.dictionary.encode(column) for column in zip(*rows)]
            if len(rows)
            else [NONE] * arity
        )

    def _set_input(self, predicate: Predicate, rows: Any) -> None:
        """The input of a point."""
        now = self._input_rows(predicate, rows)
        before, predicate.input_rows = predicate.input_rows, now
        given = predicate.relation.row_arrays["given"]
        new = now[~given[now]]
        given[before] = False
        given[now] = given[predicate.facts] = True
        predicate.touched_rows += [
            touched for touched in (new, before[~given[before]]) if len(touched)
        ]

    def _input_rows(self, predicate: Predicate, rows: Any) -> Ints:
        """The numbers of input rows."""
        if _are_columns(rows) or len(rows) > 50_000:
            return predicate.relation.add_repeated(self._encode_rows(rows, predicate))
        number = predicate.row_numbers
        found = [number.get(row, -1) for row in rows]
        if -1 in found:
            new = list(dict.fromkeys(row for row, at in zip(rows, found) if at < 0))
            number.update(
                zip(new, predicate.relation.add(self._encode_rows(new, predicate)).tolist())
            )
            found = [number[row] for row in rows]
        return np.array(found, np.int64)

    # --- strata -----------------------------------------------------------------------------------

    def _evaluate(self, rules: Sequence[MaintainedRule]) -> list[WindowView]:
        """A stratum without recursion; gives the views that changed."""
        for rule in rules:
            if rule.is_incremental:
                maintain_counts(self.context, rule)
            elif rule.is_due():
                reevaluate(self.context, rule, self.point)
        return [
            view
            for predicate in {id(rule.head): rule.head for rule in rules}.values()
            for view in predicate.close_point()
        ]

    def _count_derived(self, rules: Sequence[MaintainedRule], before: int) -> None:
        """Count what a stratum derives, ``before`` which the point had derived so much. Raises:
        EvaluationError.
        """
        most, self.context.budget.derived_count = 0, before
        for rule in {id(rule.head): rule for rule in rules}.values():
            self.context.budget.derived_count += len(rule.head.derived_rows)
            if len(rule.head.derived_rows) >= most:
                most, largest = len(rule.head.derived_rows), rule.rule
        if self.context.budget.derived_count > self.context.budget.most_derived:
            self.context.budget.check_derived(self.context.budget.derived_count, largest)

    # --- states -----------------------------------------------------------------------------------

    def state(self) -> bytes:
        """All that later points depend on."""
        return engine_state(self.origin, self.point, self.predicates, self.dictionary)

    def restore(self, state: bytes) -> None:
        """Puts an engine that has not begun where the one was that gave ``state``. Raises:
        OperationalError.
        """
        self.origin, self.point = restore_histories(state, self.predicates, self.dictionary)
        for predicate in self.predicates.values():
            for counter in predicate.counters.values():
                counter.refill(predicate.history, self.point)

    # --- models, what may be forgotten ------------------------------------------------------------

    def _model(self, t: int) -> ColumnModel:
        for predicate in self.predicates.values():
            relation, shown = predicate.relation, predicate.row_view
            if (
                shown is None
                or shown.held_numbers is not relation.held_rows
                or shown.derived_numbers is not predicate.derived_rows
            ):
                relation.add_array("rows", object)
                relation.add_array("texts", object)
                predicate.row_view = PointRows(
                    relation.arity,
                    relation.columns,
                    self.dictionary.values,
                    relation.row_arrays["rows"],
                    relation.row_arrays["texts"],
                    relation.held_rows,
                    predicate.derived_rows,
                )
        return ColumnModel(
            t,
            {
                name: p.row_view
                for name, p in self.predicates.items()
                if p.row_view and len(p.relation.held_rows)
            },
        )

    def _collect_garbage(self) -> None:
        """Drops dead rows and constants, where there may be as many of them as live ones."""
        full = len(self.dictionary) > 2 * self._texts + _SPARE
        for predicate in self.predicates.values():
            if full or predicate.relation.size > 2 * predicate.live_size + _SPARE:
                compact_predicate(predicate)
        if full:
            used = [
                column[: p.relation.size]
                for p in self.predicates.values()
                for column in p.relation.columns
            ]
            self.dictionary.retain([*used, np.arange(FIRST, FIRST + self._constants)])
            self._texts = len(self.dictionary)


def _are_columns(rows: Any) -> bool:
    """Whether input is a tuple of columns, and not a sequence of rows."""
    return isinstance(rows, tuple) and bool(rows) and not isinstance(rows[0], tuple)
