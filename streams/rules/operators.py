"""Execute the steps of join plans over columns: joins, row checks, comparisons, function calls and
aggregates.

Python functions that rules call get integers as int and other constants as str without quotes. They
return an int, a str (a string), or a tuple or list of several outputs. Source: docs/RULES.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from shiq.columns.arrays import Ints, distinct_with_inverse, row_codes
from shiq.errors import InputError
from shiq.streams.rules.plan import (
    COUNTED,
    GROUP,
    AggregateStep,
    Bindings,
    CallStep,
    CheckStep,
    CompareStep,
    CountThreshold,
    JoinStep,
    Step,
    and_flags,
    distinct_rows,
)
from shiq.streams.rules.relations import (
    NO_ROWS,
    ConstantDictionary,
    Flags,
    TooManyRows,
    calculate_columns,
)
from shiq.streams.rules.syntax import (
    AT_LEAST,
    AT_MOST,
    INTEGER_LIMIT,
    Constant,
    CurrentTime,
    EvaluationError,
    FunctionCall,
    IntegerOverflow,
    Row,
    StreamRule,
    Term,
    Value,
    Variable,
    constant_content,
    make_string_constant,
    make_too_many_atoms_error,
)
from shiq.streams.rules.tokens import SURROGATE_PATTERN

Functions: TypeAlias = Mapping[str, Callable[..., Any]]


def read_functions(path: str | Path) -> Functions:
    """Read the functions that a Python file defines or imports. Raises: InputError."""
    try:
        return load_functions(Path(path).read_text(encoding="utf-8-sig"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise InputError(
            f"{path}, the file of functions, cannot be read: {why}",
            "Check the name after --python.",
        ) from error


def load_functions(text: str, file: str = "functions") -> Functions:
    """Execute the text of a Python file; return its functions. Raises: InputError."""
    found: dict[str, Any] = {"__name__": "functions", "__file__": file}
    try:
        exec(compile(text, file, "exec"), found)
    except (Exception, SystemExit) as error:
        raise InputError(
            f"{file}: {type(error).__name__}: {error}", "Mend the file with the functions."
        ) from error
    return {
        name: value for name, value in found.items() if callable(value) and not name.startswith("_")
    }


def call_function(
    functions: Functions, rule: StreamRule, literal: FunctionCall, inputs: Row
) -> Row | None:
    """Call the Python function of a body literal with ``inputs`` and return its outputs. Without
    outputs, return () if it is true and None if false.

    Raises: EvaluationError with rule, function and arguments if the call fails or returns no
    constant.
    """
    given = [value if isinstance(value, int) else constant_content(value) for value in inputs]
    said = f"&{literal.function}({', '.join(map(repr, given))})"
    try:
        found = functions[literal.function](*given)
    except (Exception, SystemExit) as error:
        raise EvaluationError(
            rule, f"{said} failed: {type(error).__name__}: {error}", "Mend the function."
        ) from error
    if not literal.outputs:
        return () if _require_truth_value(found, rule, said) else None
    outputs = tuple(found) if isinstance(found, tuple | list) else (found,)
    if len(outputs) != len(literal.outputs):
        wanted = len(literal.outputs)
        raise EvaluationError(
            rule,
            f"{said} gave {len(outputs)} values, {wanted} are wanted",
            "Return a tuple of as many.",
        )
    return tuple(_require_constant(value, rule, said) for value in outputs)


def _require_truth_value(result: Any, rule: StreamRule, call_text: str) -> bool:
    """Convert the result of a Python function without outputs to bool."""
    if isinstance(result, int):
        return bool(result)
    raise EvaluationError(
        rule, f"{call_text} gave {result!r}, which is no truth value", "Return True or False."
    )


def _require_constant(output: Any, rule: StreamRule, call_text: str) -> Value:
    """Convert an output of a Python function to a constant of the rule language."""
    if isinstance(output, str):
        if SURROGATE_PATTERN.search(output):
            raise EvaluationError(
                rule, f"{call_text} gave {output!r}, half a character", "Return whole characters."
            )
        return make_string_constant(output)
    if isinstance(output, int):
        if -INTEGER_LIMIT <= output < INTEGER_LIMIT:
            return int(output)
        raise EvaluationError(
            rule, f"{call_text} gave {output}, which is beyond 64 bits", "Return a string."
        )
    raise EvaluationError(
        rule,
        f"{call_text} gave {output!r}, which is no constant",
        "Return an int, a str, or a tuple of them.",
    )


# What a point may still cost: the atoms that it derives, and the rows that its joins have on
# their way.


#: The rows that joins of a point may have, for each atom that it may derive; never fewer than the
#: second.
_JOINED_PER_ATOM: Final = 10
_LEAST_JOINED: Final = 10_000_000


@dataclass
class PointBudget:
    """Limit of one time point: atoms that it may derive, and rows that its joins may make.

    max_derived_atoms: atoms that a point may derive.
    time: time of the point.
    derived_count: atoms derived so far at the point.
    remaining_rows: rows that its joins may still produce.
    """

    max_derived_atoms: int
    time: int = 0
    derived_count: int = 0
    remaining_rows: int = 0

    def begin_point(self, time: int) -> None:
        """Reset the budget for the point with this ``time``."""
        self.time, self.derived_count, self.remaining_rows = time, 0, self._max_joined_rows

    @property
    def _max_joined_rows(self) -> int:
        """Number of rows that the joins of one time point may produce."""
        return max(_JOINED_PER_ATOM * self.max_derived_atoms, _LEAST_JOINED)

    def charge_joined_rows(self, rows: int, rule: StreamRule) -> None:
        """Charge joined rows to the budget. Raises: EvaluationError if they are too many."""
        self.remaining_rows -= rows
        if self.remaining_rows < 0:
            raise self.make_join_error(rule)

    def charge_derived_atoms(self, atoms: int, rule: StreamRule) -> None:
        """Charge derived atoms to the budget. Raises: EvaluationError if they are too many."""
        self.derived_count += atoms
        if self.derived_count > self.max_derived_atoms:
            self.check_derived_atoms(self.derived_count, rule)

    def check_derived_atoms(self, atoms: int, rule: StreamRule) -> None:
        """Raise EvaluationError if a time point derives more ``atoms`` than allowed."""
        if atoms > self.max_derived_atoms:
            raise make_too_many_atoms_error(rule, self.time, self.max_derived_atoms)

    def make_join_error(self, rule: StreamRule) -> EvaluationError:
        """Make the error for a rule whose joins produce too many rows."""
        return EvaluationError(
            rule,
            f"more than {self._max_joined_rows:,} rows are joined at t = {self.time} (--max-atoms {self.max_derived_atoms})",
            "Add a literal that narrows it; or raise --max-atoms: joins may have ten times as many rows.",
        )


# Aggregates over columns: the value of each group of distinct tuples (docs/RULES.md,
# "Built-ins").


def aggregate_groups(
    dictionary: ConstantDictionary, function: str, group: Ints, first: Ints, count: int
) -> tuple[Ints, Flags]:
    """Aggregate value of each group of tuples, and flags of the groups that have one.

    group, first: group and first component of each distinct tuple.
    count: number of groups.
    """
    size = np.bincount(group, minlength=count)
    if function == "count":
        return size, np.ones(count, np.bool_)
    if function == "sum":
        numbers, are = dictionary.decode_numbers(first)
        if are is not None:
            group, numbers = group[are], numbers[are]
        return dictionary.encode_numbers(_sum_groups(group, numbers, count)), np.ones(
            count, np.bool_
        )
    (rank,) = dictionary.rank_constants(first)
    order = np.lexsort((rank if function == "min" else -rank, group))
    found = np.zeros(count, np.int64)
    begins = np.cumsum(size) - size
    found[size > 0] = first[order[begins[size > 0]]]
    return found, size > 0


def _sum_groups(group: Ints, numbers: Ints, count: int) -> Ints:
    """Sum of the integers of each group. Raises: IntegerOverflow."""
    found = np.zeros(count, np.int64)
    if not len(numbers):
        return found
    largest = max(abs(int(numbers.min())), abs(int(numbers.max())))
    if largest * len(numbers) < INTEGER_LIMIT:
        np.add.at(found, group, numbers)
        return found
    exact = [0] * count
    for i, number in zip(group.tolist(), numbers.tolist()):
        exact[i] += number
    for total in exact:
        if not -INTEGER_LIMIT <= total < INTEGER_LIMIT:
            raise IntegerOverflow(f"the sum {total} is beyond 64 bits")
    return np.array(exact, np.int64)


#: Where more rows than these are joined, equal ones are dropped before what follows.
_MANY_ROWS: Final = 4096
#: A join of more rows than these is made in parts, so that heads are counted while it goes on.
_ROWS_PER_PART: Final = 1 << 20


@dataclass
class StepExecutor:
    """Executor of join-plan steps: runs them on tables of variable bindings."""

    dictionary: ConstantDictionary
    functions: Functions
    budget: PointBudget
    results: dict[tuple[str, int, Row], Row | None] = field(default_factory=dict)

    def begin_point(self, time: int) -> None:
        """Reset budget and cached function results for the point with this ``time``."""
        self.budget.begin_point(time)
        self.results.clear()

    def run_steps(
        self, steps: Sequence[Step], bindings: Bindings, rule: StreamRule, once: bool = False
    ) -> Iterator[Bindings]:
        """Run a join plan's steps on variable bindings; yield the results batch by batch.

        once: duplicates may be dropped.
        Raises: EvaluationError.
        """
        for place, step in enumerate(steps):
            if not bindings.count:
                return
            found = self._try_step(step, bindings, rule)
            if found is None:
                for part in bindings.split_into_parts():
                    yield from self.run_steps(steps[place:], part, rule, once)
                return
            bindings = found
            if once and bindings.count > _MANY_ROWS and isinstance(step, JoinStep):
                bindings = bindings.drop_duplicates()
        if bindings.count:
            yield bindings

    def _try_step(self, step: Step, bindings: Bindings, rule: StreamRule) -> Bindings | None:
        """Run a plan step; None if its result is too large, so that the bindings must be split."""
        try:
            return self._run_step(step, bindings, rule)
        except IntegerOverflow as error:
            raise EvaluationError(rule, str(error), "Use smaller numbers.") from error
        except TooManyRows as error:
            if bindings.count == 1:
                raise self.budget.make_join_error(rule) from error
            return None

    def evaluate_heads(
        self, rule: StreamRule, bindings: Bindings
    ) -> tuple[list[Ints], Flags | None]:
        """Head columns; flags of bindings with a head (None: all). Raises: EvaluationError."""
        try:
            return self.evaluate_terms(rule.head.arguments, bindings)
        except IntegerOverflow as error:
            raise EvaluationError(rule, str(error), "Use smaller numbers.") from error

    def _run_step(self, step: Step, bindings: Bindings, rule: StreamRule) -> Bindings:
        """Run one plan step (join, check, comparison, call or aggregate) on variable bindings."""
        if isinstance(step, JoinStep):
            return self._run_join(step, bindings, rule)
        if isinstance(step, CheckStep):
            return self._run_check(step, bindings)
        if isinstance(step, CompareStep):
            return self._run_comparison(step, bindings)
        if isinstance(step, CallStep):
            return self._run_call(step, bindings, rule)
        return self._run_aggregate(step, bindings, rule)

    # --- streaming literals -----------------------------------------------------------------------

    def _run_join(self, step: JoinStep, bindings: Bindings, rule: StreamRule) -> Bindings:
        """Join variable bindings with the rows of a literal's window view."""
        view = step.pattern.view
        relation = view.relation
        if step.is_seed:
            return self._filter_by_window_count(step, bindings, bindings.columns[COUNTED])
        most = (
            self.budget.remaining_rows
            if bindings.count == 1
            else min(_ROWS_PER_PART, self.budget.remaining_rows)
        )
        if step.positions:
            keys = [bindings.column_for(source) for source in step.sources]
            which, rows = relation.find_matches(step.positions, keys, most)
            if step.reads_before or not view.is_true_for_all_rows:
                ok = (
                    view.flag_previously_true(rows)
                    if step.reads_before
                    else view.truth_flags()[rows]
                )
                if not ok.all():
                    which, rows = which[ok], rows[ok]
        else:
            rows = view.previously_true_rows() if step.reads_before else view.true_rows()
            if len(rows) * bindings.count > most:
                raise TooManyRows
            which = np.repeat(np.arange(bindings.count), len(rows))
            rows = np.tile(rows, bindings.count) if bindings.count > 1 else rows
        for one, other in step.equal:
            same = relation.columns[one][rows] == relation.columns[other][rows]
            which, rows = which[same], rows[same]
        self.budget.charge_joined_rows(len(rows), rule)
        asked = step.pattern.threshold
        if asked is None:
            columns = {
                name: column[which]
                for name, column in bindings.columns.items()
                if name in step.keep
            }
            columns |= {
                name: relation.columns[i][rows] for i, name in step.new if name in step.keep
            }
            if step.pattern.trace in step.keep:
                columns[step.pattern.trace] = rows
            return Bindings(columns, len(rows))
        columns = {name: column[which] for name, column in bindings.columns.items()}
        columns |= {name: relation.columns[i][rows] for i, name in step.new}
        return self._filter_by_window_count(
            step,
            Bindings(columns, len(rows)),
            view.previous_counts(rows) if step.reads_before else view.counter.point_counts(rows),
        )

    def _filter_by_window_count(self, step: JoinStep, bindings: Bindings, m: Ints) -> Bindings:
        """Keep bindings whose window count ``m`` passes the test; a variable is bound to it."""
        if step.count:
            return Bindings({**bindings.columns, step.count: m}, bindings.count).filter_rows(
                None, step.keep
            )
        assert step.pattern.threshold is not None
        return bindings.filter_rows(
            self._flag_satisfied_counts(step.pattern.threshold, m, bindings), step.keep
        )

    def _run_check(self, step: CheckStep, bindings: Bindings) -> Bindings:
        """Keep bindings whose row is (negated: is not) in a window view, or has a fitting count."""
        pattern = step.pattern
        view = pattern.view
        rows = view.relation.find_row_numbers(
            [bindings.column_for(source) for source in pattern.arguments]
        )
        known = rows >= 0
        if pattern.threshold is not None:
            m = np.where(known, view.counter.point_counts(rows), 0)
            return bindings.filter_rows(
                self._flag_satisfied_counts(pattern.threshold, m, bindings), step.keep
            )
        found: Flags = known & (
            view.flag_previously_true(rows) if step.reads_before else view.truth_flags()[rows]
        )
        if pattern.trace in step.keep:
            bindings = Bindings({**bindings.columns, pattern.trace: rows}, bindings.count)
        return bindings.filter_rows(found if pattern.is_positive else ~found, step.keep)

    def _flag_satisfied_counts(
        self, threshold: CountThreshold, m: Ints, bindings: Bindings
    ) -> Flags:
        """Flags of bindings whose window count ``m`` passes a test as "at least X"."""
        wanted, valid = self.evaluate_term(threshold.term, bindings)
        at_m, at_wanted = self.dictionary.rank_constants(m, wanted)
        if threshold.operator == AT_LEAST:
            fits = at_m >= at_wanted
        elif threshold.operator == AT_MOST:
            fits = at_m <= at_wanted
        else:
            fits = m == wanted
        if threshold.is_negated:
            fits = ~fits
        elif threshold.operator != AT_MOST:
            # No atom is invented: c is an integer from 1 on.
            numbers, are = self.dictionary.decode_numbers(wanted)
            fits &= numbers >= 1
            fits = fits if are is None else fits & are
        return fits if valid is None else fits & valid

    # --- terms and comparisons --------------------------------------------------------------------

    def evaluate_term(self, term: Term, bindings: Bindings) -> tuple[Ints, Flags | None]:
        """Codes of a term's value by binding; flags of bindings with a value (None: all).

        Raises: IntegerOverflow.
        """
        if isinstance(term, Variable):
            return bindings.columns[term.name], None
        if isinstance(term, Constant):
            return np.full(
                bindings.count, self.dictionary.find_or_assign_code(term.value), np.int64
            ), None
        if isinstance(term, CurrentTime):
            now = term.value_at(self.budget.time)
            if isinstance(now, int):
                return np.full(bindings.count, now, np.int64), None
            return np.zeros(bindings.count, np.int64), np.zeros(bindings.count, np.bool_)
        sides, valid = [], None
        for side in (term.left_operand, term.right_operand):
            codes, has = self.evaluate_term(side, bindings)
            numbers, are = self.dictionary.decode_numbers(codes)
            valid = and_flags(valid, and_flags(has, are))
            sides.append(numbers)
        left, right = sides
        if valid is None:
            found, valid = calculate_columns(term.operator, left, right)
            return self.dictionary.encode_numbers(found), valid
        rows = np.flatnonzero(valid)
        part, has = calculate_columns(term.operator, left[rows], right[rows])
        found = np.zeros(bindings.count, np.int64)
        found[rows] = self.dictionary.encode_numbers(part)
        if has is not None:
            valid = valid.copy()
            valid[rows[~has]] = False
        return found, valid

    def _run_comparison(self, step: CompareStep, bindings: Bindings) -> Bindings:
        """Keep bindings that satisfy a comparison; or bind its variable if one is unbound."""
        asked = step.comparison
        right, valid = self.evaluate_term(asked.right_term, bindings)
        if step.bound_variable is not None:
            return Bindings(
                {**bindings.columns, step.bound_variable: right}, bindings.count
            ).filter_rows(valid, step.keep)
        left, has = self.evaluate_term(asked.left_term, bindings)
        fits = self.dictionary.compare_columns(left, asked.relation, right)
        valid = and_flags(valid, has)
        fits = ~fits if asked.is_negated else fits
        return bindings.filter_rows(fits if valid is None else fits & valid, step.keep)

    # --- functions --------------------------------------------------------------------------------

    def _run_call(self, step: CallStep, bindings: Bindings, rule: StreamRule) -> Bindings:
        """Call a Python function for each distinct input and bind or compare its outputs."""
        external = step.external
        columns, valid = self.evaluate_terms(external.inputs, bindings)
        if valid is not None:
            bindings, columns = (
                bindings.filter_rows(valid, frozenset(bindings.columns)),
                [column[valid] for column in columns],
            )
        groups, inverse = distinct_rows(columns, bindings.count)
        found = (
            [
                self._cached_function_result(step, row, rule)
                for row in zip(*map(self.dictionary.decode_constants, groups))
            ]
            if groups
            else []
        )
        if not groups and bindings.count:
            found = [self._cached_function_result(step, (), rule)]
        true = (
            np.array([row is not None for row in found], np.bool_)[inverse]
            if found
            else np.zeros(0, np.bool_)
        )
        gained: dict[str, Ints] = {}
        for i, term in enumerate(external.outputs):
            output = (
                self.dictionary.encode_column([0 if row is None else row[i] for row in found])[
                    inverse
                ]
                if found
                else NO_ROWS
            )
            if isinstance(term, Variable) and term.name in step.binds and term.name not in gained:
                gained[term.name] = output
                continue
            wanted, has = self.evaluate_term(
                term, Bindings({**bindings.columns, **gained}, bindings.count)
            )
            true &= output == wanted
            if has is not None:
                true &= has
        kept = ~true if external.is_negated else true
        return Bindings({**bindings.columns, **gained}, bindings.count).filter_rows(kept, step.keep)

    def _cached_function_result(self, step: CallStep, inputs: Row, rule: StreamRule) -> Row | None:
        """Outputs of a Python function for ``inputs``, called once per time point."""
        external = step.external
        key = external.function, len(external.outputs), inputs
        if key not in self.results:
            self.results[key] = call_function(self.functions, rule, external, inputs)
        return self.results[key]

    def evaluate_terms(
        self, terms: Sequence[Term], bindings: Bindings
    ) -> tuple[list[Ints], Flags | None]:
        """Codes of several terms by binding; flags of bindings with all values (None: all)."""
        columns, valid = [], None
        for term in terms:
            codes, has = self.evaluate_term(term, bindings)
            columns.append(codes)
            valid = and_flags(valid, has)
        return columns, valid

    # --- aggregates -------------------------------------------------------------------------------

    def _run_aggregate(self, step: AggregateStep, bindings: Bindings, rule: StreamRule) -> Bindings:
        """Compute an aggregate for each distinct binding; test its value, or bind a variable."""
        shared, inverse = distinct_rows(
            [bindings.columns[name] for name in step.shared_variables], bindings.count
        )
        count = len(shared[0]) if shared else 1
        start = Bindings(
            {**dict(zip(step.shared_variables, shared)), GROUP: np.arange(count)}, count
        )
        tuples: dict[int, list[list[Ints]]] = {}
        for steps, terms in step.elements:
            for found in self.run_steps(steps, start, rule):
                columns, valid = self.evaluate_terms(terms, found)
                rows = [found.columns[GROUP], *columns]
                tuples.setdefault(len(terms), []).append(
                    rows if valid is None else [column[valid] for column in rows]
                )
        groups, firsts = [NO_ROWS], [NO_ROWS]
        for parts in tuples.values():
            joined = [np.concatenate(columns) for columns in zip(*parts)]
            if len(joined[0]):
                example = distinct_with_inverse(row_codes(*joined))[2]
                groups.append(joined[0][example])
                firsts.append(joined[1][example])
        value, has_value = aggregate_groups(
            self.dictionary,
            step.aggregate.function,
            np.concatenate(groups),
            np.concatenate(firsts),
            count,
        )
        result = value[inverse]
        after = Bindings({**bindings.columns, **dict.fromkeys(step.binds, result)}, bindings.count)
        fits, valid = np.ones(bindings.count, np.bool_), None
        for relation, term in step.aggregate.guards:
            wanted, has = self.evaluate_term(term, after)
            fits &= self.dictionary.compare_columns(result, relation, wanted)
            valid = and_flags(valid, has)
        fits = (~fits if step.aggregate.is_negated else fits) & has_value[inverse]
        return after.filter_rows(fits if valid is None else fits & valid, step.keep)
