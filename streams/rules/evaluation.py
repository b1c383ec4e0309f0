"""Incremental engine of stream rules: update the model at each point of time by what changed.

Strata are evaluated in order. In a stratum without recursion, rules over streaming literals and
comparisons are maintained: each head is stored with the number of its derivations. A point changes
this number by a sum of joins, one for each literal. Each joins the literal's change with the new
content of earlier literals and the old content of later ones.

Other rules (aggregates, functions, @now, varying counts) are evaluated again when one of their
literals changed. A recursive stratum is evaluated to its least fixpoint again when its input
changed, in semi-naive rounds over window literals too. Unchanged parts cost nothing. Source:
docs/RULES.md; docs/THEORY.md, "Stream rules in columns".
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, Final

import numpy as np

from shiq.columns.arrays import Ints, unique
from shiq.errors import OperationalError
from shiq.streams.rules.fixpoint import (
    RecursiveStratum,
    may_lose_heads,
    reevaluate_rule,
    update_derivation_counts,
)
from shiq.streams.rules.model import (
    ColumnModel,
    MaintainedRule,
    PointRows,
    PredicateState,
    compact_predicate,
    has_countable_derivations,
)
from shiq.streams.rules.operators import Functions, PointBudget, StepExecutor
from shiq.streams.rules.plan import (
    Conjunct,
    Planner,
    StreamingPattern,
    make_conjuncts,
    uses_current_time,
)
from shiq.streams.rules.relations import FIRST_CODE, NO_ROWS, ConstantDictionary, Relation
from shiq.streams.rules.safety import global_variables
from shiq.streams.rules.syntax import (
    MOST_DERIVED,
    Aggregate,
    CheckedProgram,
    Literal,
    Row,
    Stratum,
    StreamRule,
    WindowedLiteral,
    term_variables,
)
from shiq.streams.rules.windows import CURRENT_POINT, History, WindowCounter, WindowView

# The state of an engine as bytes: JSON, and numpy arrays without objects.
#
# All that later points depend on is the time and what the points within the horizons keep; the
# rest follows from the program at the next step. So a state is small, and does not know how the
# engine counts.


_SCHEMA_VERSION: Final = 1
_HEADER_ENTRY: Final = "head"


def serialise_state(
    origin: int | None,
    point: int,
    predicates: dict[str, PredicateState],
    dictionary: ConstantDictionary,
) -> bytes:
    """Serialise the engine's state: first and current time point, and each predicate's rows within
    the longest window over it.
    """
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
        unique(np.concatenate([column[column >= FIRST_CODE] for column in used]))
        if used
        else np.zeros(0, np.int64)
    )
    head = {
        "schema_version": _SCHEMA_VERSION,
        "origin": origin,
        "point": point,
        "predicates": names,
        "constants": dictionary.decode_constants(codes),
    }
    arrays["codes"] = codes
    file = io.BytesIO()
    np.savez(file, **{_HEADER_ENTRY: np.frombuffer(json.dumps(head).encode(), np.uint8)}, **arrays)  # type: ignore[arg-type]
    return file.getvalue()


def restore_histories(
    state: bytes, predicates: dict[str, PredicateState], dictionary: ConstantDictionary
) -> tuple[int | None, int]:
    """Fill the past rows of ``predicates`` from a serialised engine state; return the stream's
    first time point and the current one, counted from it.

    Raises: OperationalError if it is not a state.
    """
    try:
        with np.load(io.BytesIO(state), allow_pickle=False) as found:
            head = json.loads(found[_HEADER_ENTRY].tobytes())
            if head["schema_version"] != _SCHEMA_VERSION:
                raise ValueError(f"schema_version {head['schema_version']}")
            codes, new = found["codes"], dictionary.encode_column(head["constants"])
            for place, name in enumerate(head["predicates"]):
                predicate = predicates[name]
                columns = [found[f"{place}.{i}"] for i in range(len(predicate.relation.columns))]
                _restore_history(
                    predicate,
                    [_recode_constants(column, codes, new) for column in columns],
                    found,
                    place,
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


def _recode_constants(column: Ints, saved_codes: Ints, new_codes: Ints) -> Ints:
    """Replace the constant codes in a saved column by this engine's codes for the same constants,
    in place. ``saved_codes``, ``new_codes``: the saved codes, ascending, and their replacements.
    """
    texts = np.flatnonzero(column >= FIRST_CODE)
    column[texts] = new_codes[np.searchsorted(saved_codes, column[texts])]
    return column


def _restore_history(
    predicate: PredicateState, columns: list[Ints], arrays: Any, index: int
) -> None:
    """Restore the past rows of one predicate from the arrays of a serialised state; ``index`` is
    its index in the state.
    """
    numbers = predicate.relation.add_rows(columns)[arrays[f"{index}.rows"]]
    predicate.history.points = arrays[f"{index}.points"].tolist()
    predicate.history.rows = np.split(numbers, np.cumsum(arrays[f"{index}.lengths"])[:-1])


#: Rows that are new since the last time that dead ones were looked for, beyond as many as were
#: alive.
_SPARE_ROWS: Final = 4096


class Engine:
    """Incremental evaluator of a checked rule program over integer-coded columns, one time point
    after the other. Implements `model.Evaluator`.
    """

    def __init__(
        self,
        checked: CheckedProgram,
        functions: Functions,
        complete_windows: bool = False,
        max_atoms: int = MOST_DERIVED,
    ) -> None:
        self.program = checked
        self.complete_windows = complete_windows
        self.dictionary = ConstantDictionary()
        self.context = StepExecutor(self.dictionary, functions, PointBudget(max_atoms))
        self.predicates: dict[str, PredicateState] = {}
        self.origin: int | None = None
        self.point = -1
        #: Views that tell of changes of this point.
        self._changed_views: list[WindowView] = []
        self.strata: list[tuple[list[MaintainedRule], RecursiveStratum | None]] = []
        for stratum in checked.strata:
            rules = [self._prepare_rule(rule) for rule in stratum.rules]
            self.strata.append(
                (rules, self._prepare_recursion(stratum, rules) if stratum.is_recursive else None)
            )
        self._program_constant_count = len(self.dictionary)
        self._live_constant_count = 0
        for predicate, rows in checked.facts.items():
            self._add_facts(predicate, rows)

    # --- setting up -------------------------------------------------------------------------------

    def find_or_add_predicate(self, name: str) -> PredicateState:
        """State of the predicate with this name and arity (``"p/2"``), created when first used."""
        found = self.predicates.get(name)
        if found is None:
            relation = Relation(name, int(name.rpartition("/")[2]))
            relation.add_row_array("given", np.bool_)
            found = self.predicates[name] = PredicateState(
                relation, History(self.program.horizons.get(name, 0))
            )
        return found

    def _add_facts(self, name: str, rows: Sequence[Row]) -> None:
        """Add the facts that the program text states for a predicate."""
        predicate = self.find_or_add_predicate(name)
        predicate.facts = predicate.relation.add_rows_with_duplicates(
            self._encode_rows(rows, predicate)
        )
        predicate.relation.row_arrays["given"][predicate.facts] = True
        predicate.touched_rows.append(predicate.facts)

    def _find_or_make_view(
        self, literal: WindowedLiteral, operator: str, count: int, reads_count: bool
    ) -> WindowView:
        """View of the rows for which a streaming literal is true, shared by literals with equal
        predicate, window, operator and count. ``reads_count``: whether rules read the window count
        itself.
        """
        predicate = self.find_or_add_predicate(literal.atom.predicate)
        window = literal.window or CURRENT_POINT
        counter = predicate.counters.get(window.intervals)
        if counter is None:
            counter = predicate.counters[window.intervals] = WindowCounter(
                predicate.relation, window, self.complete_windows
            )
        key = window.intervals, operator, count, reads_count
        view = predicate.views.get(key)
        if view is None:
            view = predicate.views[key] = WindowView(counter, operator, count, reads_count)
        return view

    def _convert_to_conjuncts(self, body: Iterable[Literal], fresh: str = "#") -> list[Conjunct]:
        """Convert the literals of a rule body to join conjuncts over this engine's window views and
        constant codes. ``fresh``: prefix of new variables.
        """
        code = self.dictionary.find_or_assign_code
        return make_conjuncts(body, self._find_or_make_view, code, fresh)

    def _prepare_rule(self, rule: StreamRule) -> MaintainedRule:
        """Prepare a rule for evaluation: its body as join conjuncts, a join planner, and the window
        views that its aggregates read.
        """
        body = self._convert_to_conjuncts(rule.body)
        element_conjuncts = lru_cache(None)(partial(self._convert_to_conjuncts, fresh="##"))
        aggregates = [one for one in body if isinstance(one, Aggregate)]
        within = [
            one
            for aggregate in aggregates
            for element in aggregate.elements
            for one in element_conjuncts(element.body)
        ]
        views = tuple(one.view for one in within if isinstance(one, StreamingPattern))
        head = self.find_or_add_predicate(rule.head.predicate)
        head.support_array_name(rule)
        wanted = frozenset(
            variable.name
            for argument in rule.head.arguments
            for variable in term_variables(argument)
        )
        now = uses_current_time(rule)
        incremental = not now and rule.frequency is None and has_countable_derivations(body)
        planner = Planner(body, wanted, element_conjuncts, frozenset(global_variables(rule)))
        return MaintainedRule(
            rule,
            head,
            body,
            planner,
            incremental,
            now or rule.frequency is not None,
            aggregate_views=views,
        )

    def _prepare_recursion(self, stratum: Stratum, rules: list[MaintainedRule]) -> RecursiveStratum:
        """Make the evaluator of a recursive stratum from its prepared rules."""
        heads = [
            self._convert_to_conjuncts([WindowedLiteral(rule.head)], "#head")[0]
            for rule in stratum.rules
        ]
        patterns = [pattern for pattern in heads if isinstance(pattern, StreamingPattern)]
        return RecursiveStratum(
            {name: self.predicates[name] for name in stratum.heads}, rules, patterns
        )

    # --- a point ----------------------------------------------------------------------------------

    def step(self, t: int, rows: Mapping[str, Any]) -> ColumnModel:
        """Evaluate the time point ``t`` with its input ``rows`` and return its model. Raises:
        EvaluationError.
        """
        if self.origin is None:
            self.origin = t
        before, self.point = self.point, t - self.origin
        self.context.begin_point(t)
        for view in self._changed_views:
            view.clear_changes()
        self._changed_views.clear()
        self._collect_garbage()
        rows = self.program.copy_input_to_parts(rows)
        for name, given in rows.items():
            self._replace_input_rows(self.find_or_add_predicate(name), given)
        for name, predicate in self.predicates.items():
            if len(predicate.input_rows) and name not in rows:
                self._replace_input_rows(predicate, [])
        for predicate in self.predicates.values():
            relation = predicate.relation
            relation.gained_rows = relation.lost_rows = NO_ROWS
            for counter in predicate.counters.values():
                counter.move_window(predicate.history, before, self.point)
            if not predicate.supports:
                self._changed_views += predicate.update_true_rows()
        for rules, recursion in self.strata:
            before = self.context.budget.derived_count
            self._changed_views += (
                recursion.evaluate(self.context, self.point)
                if recursion
                else self._evaluate_stratum(rules)
            )
            self._charge_derived_atoms(rules, before)
        for predicate in self.predicates.values():
            if predicate.history.horizon:
                predicate.history.add_point(self.point, predicate.persistent_rows())
                predicate.history.drop_unobserved(self.point)
        return self._make_model(t)

    def _encode_rows(self, rows: Any, predicate: PredicateState) -> list[Ints]:
        """Encode input rows, or a tuple of input columns, as columns of integer codes."""
        arity = predicate.relation.arity
        if _is_tuple_of_columns(rows):
            return [self.dictionary.encode_column(column) for column in rows]
        if not arity:
            return [np.zeros(len(rows), np.int64)]
        return (
            [self.dictionary.encode_column(column) for column in zip(*rows)]
            if len(rows)
            else [NO_ROWS] * arity
        )

    def _replace_input_rows(self, predicate: PredicateState, rows: Any) -> None:
        """Replace a predicate's input rows of the last time point by those of this one."""
        now = self._find_or_add_input_rows(predicate, rows)
        before, predicate.input_rows = predicate.input_rows, now
        given = predicate.relation.row_arrays["given"]
        new = now[~given[now]]
        given[before] = False
        given[now] = given[predicate.facts] = True
        predicate.touched_rows += [
            touched for touched in (new, before[~given[before]]) if len(touched)
        ]

    def _find_or_add_input_rows(self, predicate: PredicateState, rows: Any) -> Ints:
        """Row numbers of input rows in the predicate's relation; rows that it does not contain are
        added.
        """
        if _is_tuple_of_columns(rows) or len(rows) > 50_000:
            return predicate.relation.add_rows_with_duplicates(self._encode_rows(rows, predicate))
        number = predicate.row_numbers
        found = [number.get(row, -1) for row in rows]
        if -1 in found:
            new = list(dict.fromkeys(row for row, at in zip(rows, found) if at < 0))
            number.update(
                zip(new, predicate.relation.add_rows(self._encode_rows(new, predicate)).tolist())
            )
            found = [number[row] for row in rows]
        return np.array(found, np.int64)

    # --- strata -----------------------------------------------------------------------------------

    def _evaluate_stratum(self, rules: Sequence[MaintainedRule]) -> list[WindowView]:
        """Evaluate the rules of a stratum without recursion; return the window views that gained or
        lost rows.
        """
        shrinking = {id(rule.head) for rule in rules if may_lose_heads(rule)}
        for rule in rules:
            if rule.is_incremental:
                update_derivation_counts(self.context, rule, id(rule.head) not in shrinking)
            elif rule.is_due():
                reevaluate_rule(self.context, rule, self.point)
        return [
            view
            for predicate in {id(rule.head): rule.head for rule in rules}.values()
            for view in predicate.update_true_rows()
        ]

    def _charge_derived_atoms(self, rules: Sequence[MaintainedRule], derived_before: int) -> None:
        """Charge the atoms that a stratum derives to the limit of this time point. Raises:
        EvaluationError if they are too many.

        derived_before: atoms that earlier strata derived at this point.
        """
        most, self.context.budget.derived_count = 0, derived_before
        for rule in {id(rule.head): rule for rule in rules}.values():
            self.context.budget.derived_count += len(rule.head.derived_rows)
            if len(rule.head.derived_rows) >= most:
                most, largest = len(rule.head.derived_rows), rule.rule
        if self.context.budget.derived_count > self.context.budget.max_derived_atoms:
            self.context.budget.check_derived_atoms(self.context.budget.derived_count, largest)

    # --- states -----------------------------------------------------------------------------------

    def state(self) -> bytes:
        """Serialise everything that the evaluation of later time points depends on."""
        return serialise_state(self.origin, self.point, self.predicates, self.dictionary)

    def restore(self, state: bytes) -> None:
        """Continue from the serialised ``state`` of another engine; this engine must not have
        evaluated a time point yet.

        Raises: OperationalError.
        """
        self.origin, self.point = restore_histories(state, self.predicates, self.dictionary)
        for predicate in self.predicates.values():
            for counter in predicate.counters.values():
                counter.count_from_history(predicate.history, self.point)

    # --- models, what may be forgotten ------------------------------------------------------------

    def _make_model(self, t: int) -> ColumnModel:
        """Model of the current time point; its rows are decoded when they are first read."""
        for predicate in self.predicates.values():
            relation, shown = predicate.relation, predicate.row_view
            if (
                shown is None
                or shown.held_numbers is not relation.held_rows
                or shown.derived_numbers is not predicate.derived_rows
            ):
                relation.add_row_array("rows", object)
                relation.add_row_array("texts", object)
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
        """Drop unused rows and constant codes once they may outnumber the used ones."""
        full = len(self.dictionary) > 2 * self._live_constant_count + _SPARE_ROWS
        for predicate in self.predicates.values():
            if full or predicate.relation.size > 2 * predicate.live_size + _SPARE_ROWS:
                compact_predicate(predicate)
        if full:
            used = [
                column[: p.relation.size]
                for p in self.predicates.values()
                for column in p.relation.columns
            ]
            self.dictionary.free_unused(
                [*used, np.arange(FIRST_CODE, FIRST_CODE + self._program_constant_count)]
            )
            self._live_constant_count = len(self.dictionary)


def _is_tuple_of_columns(rows: Any) -> bool:
    """Whether a predicate's input is a tuple of columns instead of a sequence of rows."""
    return isinstance(rows, tuple) and bool(rows) and not isinstance(rows[0], tuple)
