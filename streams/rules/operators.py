"""The steps of plans over columns: joins, tests, comparisons, functions, aggregates.

Source: docs/RULES.md.

Python functions that rules call: constants in, constants out.

Integers come in as int, all others as str without quotes; an int comes back as an integer, a str
as a string, a tuple or list as several outputs. Source: docs/RULES.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from shiq.columns.arrays import Ints, distinct, row_codes
from shiq.errors import InputError
from shiq.streams.rules.plan import (
    COUNTED,
    GROUP,
    AggregateStep,
    Bindings,
    CallStep,
    CheckStep,
    CompareStep,
    JoinStep,
    Step,
    Threshold,
    and_flags,
    distinct_rows,
)
from shiq.streams.rules.relations import (
    NONE,
    ConstantDictionary,
    Flags,
    TooManyRows,
    calculate_columns,
)
from shiq.streams.rules.syntax import (
    AT_LEAST,
    AT_MOST,
    LIMIT,
    Constant,
    CurrentTime,
    EvaluationError,
    External,
    IntegerOverflow,
    Row,
    StreamRule,
    Term,
    Value,
    Variable,
    constant_content,
    string_constant,
    too_many_derived,
)
from shiq.streams.rules.tokens import SURROGATE

Functions: TypeAlias = Mapping[str, Callable[..., Any]]


def read_functions(path: str | Path) -> Functions:
    """The functions that a Python file defines or imports. Raises: InputError."""
    try:
        return load_functions(Path(path).read_text(encoding="utf-8-sig"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise InputError(
            f"{path}, the file of functions, cannot be read: {why}",
            "Check the name after --python.",
        ) from error


def load_functions(text: str, file: str = "functions") -> Functions:
    """The functions of a Python text. Raises: InputError."""
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
    functions: Functions, rule: StreamRule, literal: External, inputs: Row
) -> Row | None:
    """The outputs for ``inputs``; of a literal without outputs, () where it is true and None
    where not.

    Raises: EvaluationError with rule, function and arguments, where the function fails or gives
    what is no constant.
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
        return () if _parse_truth(found, rule, said) else None
    outputs = tuple(found) if isinstance(found, tuple | list) else (found,)
    if len(outputs) != len(literal.outputs):
        wanted = len(literal.outputs)
        raise EvaluationError(
            rule,
            f"{said} gave {len(outputs)} values, {wanted} are wanted",
            "Return a tuple of as many.",
        )
    return tuple(_parse_output(value, rule, said) for value in outputs)


def _parse_truth(found: Any, rule: StreamRule, said: str) -> bool:
    if isinstance(found, int):
        return bool(found)
    raise EvaluationError(
        rule, f"{said} gave {found!r}, which is no truth value", "Return True or False."
    )


def _parse_output(found: Any, rule: StreamRule, said: str) -> Value:
    if isinstance(found, str):
        if SURROGATE.search(found):
            raise EvaluationError(
                rule, f"{said} gave {found!r}, half a character", "Return whole characters."
            )
        return string_constant(found)
    if isinstance(found, int):
        if -LIMIT <= found < LIMIT:
            return int(found)
        raise EvaluationError(
            rule, f"{said} gave {found}, which is beyond 64 bits", "Return a string."
        )
    raise EvaluationError(
        rule,
        f"{said} gave {found!r}, which is no constant",
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
    """Count what a point costs.

    most: the atoms that a point may derive.
    now: its time.
    derived: how many it has derived; of the stratum that is being evaluated, what is known so far.
    left: the rows that its joins may still have.
    """

    most_derived: int
    time: int = 0
    derived_count: int = 0
    remaining_rows: int = 0

    def begin_point(self, now: int) -> None:
        """Begin a point."""
        self.time, self.derived_count, self.remaining_rows = now, 0, self._most_joined

    @property
    def _most_joined(self) -> int:
        return max(_JOINED_PER_ATOM * self.most_derived, _LEAST_JOINED)

    def count_joined(self, rows: int, rule: StreamRule) -> None:
        """Count rows against what may be joined at a point. Raises: EvaluationError."""
        self.remaining_rows -= rows
        if self.remaining_rows < 0:
            raise self.join_error(rule)

    def count_derived(self, atoms: int, rule: StreamRule) -> None:
        """Count atoms that a point derives. Raises: EvaluationError where they are too many."""
        self.derived_count += atoms
        if self.derived_count > self.most_derived:
            self.check_derived(self.derived_count, rule)

    def check_derived(self, atoms: int, rule: StreamRule) -> None:
        """Raises: EvaluationError where the ``atoms`` that a point derives are too many."""
        if atoms > self.most_derived:
            raise too_many_derived(rule, self.time, self.most_derived)

    def join_error(self, rule: StreamRule) -> EvaluationError:
        """The error of joins that explode."""
        return EvaluationError(
            rule,
            f"more than {self._most_joined:,} rows are joined at t = {self.time} (--max-atoms {self.most_derived})",
            "Add a literal that narrows it; or raise --max-atoms: joins may have ten times as many rows.",
        )


# Aggregates over columns: the value of each group of distinct tuples (docs/RULES.md,
# "Built-ins").


def aggregate_groups(
    dictionary: ConstantDictionary, function: str, group: Ints, first: Ints, count: int
) -> tuple[Ints, Flags]:
    """The value of each of ``count`` groups of distinct tuples, by their first components; and
    which groups have one.
    """
    size = np.bincount(group, minlength=count)
    if function == "count":
        return size, np.ones(count, np.bool_)
    if function == "sum":
        numbers, are = dictionary.numbers(first)
        if are is not None:
            group, numbers = group[are], numbers[are]
        return dictionary.encode_numbers(_group_sums(group, numbers, count)), np.ones(
            count, np.bool_
        )
    (rank,) = dictionary.ranks(first)
    order = np.lexsort((rank if function == "min" else -rank, group))
    found = np.zeros(count, np.int64)
    begins = np.cumsum(size) - size
    found[size > 0] = first[order[begins[size > 0]]]
    return found, size > 0


def _group_sums(group: Ints, numbers: Ints, count: int) -> Ints:
    found = np.zeros(count, np.int64)
    if not len(numbers):
        return found
    largest = max(abs(int(numbers.min())), abs(int(numbers.max())))
    if largest * len(numbers) < LIMIT:
        np.add.at(found, group, numbers)
        return found
    exact = [0] * count
    for i, number in zip(group.tolist(), numbers.tolist()):
        exact[i] += number
    for total in exact:
        if not -LIMIT <= total < LIMIT:
            raise IntegerOverflow(f"the sum {total} is beyond 64 bits")
    return np.array(exact, np.int64)


#: Where more rows than these are joined, equal ones are dropped before what follows.
_MANY: Final = 4096
#: A join of more rows than these is made in parts, so that heads are counted while it goes on.
_PART: Final = 1 << 20


@dataclass
class StepContext:
    """What steps need beside bindings: constants, functions with what they gave at this point,
    and what it may still cost.
    """

    dictionary: ConstantDictionary
    functions: Functions
    budget: PointBudget
    results: dict[tuple[str, int, Row], Row | None] = field(default_factory=dict)

    def begin_point(self, now: int) -> None:
        """A new point."""
        self.budget.begin_point(now)
        self.results.clear()

    def run_steps(
        self, steps: Sequence[Step], bindings: Bindings, rule: StreamRule, once: bool = False
    ) -> Iterator[Bindings]:
        """The instances that ``steps`` leave, in parts; ``once``: how often each is derived does
        not matter. Raises: EvaluationError.
        """
        for place, step in enumerate(steps):
            if not bindings.count:
                return
            found = self._try_apply(step, bindings, rule)
            if found is None:
                for part in bindings.split_parts():
                    yield from self.run_steps(steps[place:], part, rule, once)
                return
            bindings = found
            if once and bindings.count > _MANY and isinstance(step, JoinStep):
                bindings = bindings.distinct()
        if bindings.count:
            yield bindings

    def _try_apply(self, step: Step, bindings: Bindings, rule: StreamRule) -> Bindings | None:
        """What a step leaves; None where it is to be taken in parts."""
        try:
            return self._apply(step, bindings, rule)
        except IntegerOverflow as error:
            raise EvaluationError(rule, str(error), "Use smaller numbers.") from error
        except TooManyRows as error:
            if bindings.count == 1:
                raise self.budget.join_error(rule) from error
            return None

    def head_columns(self, rule: StreamRule, bindings: Bindings) -> tuple[list[Ints], Flags | None]:
        """The columns of a rule's heads, and which have a value. Raises: EvaluationError."""
        try:
            return self.term_columns(rule.head.arguments, bindings)
        except IntegerOverflow as error:
            raise EvaluationError(rule, str(error), "Use smaller numbers.") from error

    def _apply(self, step: Step, bindings: Bindings, rule: StreamRule) -> Bindings:
        if isinstance(step, JoinStep):
            return self._join(step, bindings, rule)
        if isinstance(step, CheckStep):
            return self._check(step, bindings)
        if isinstance(step, CompareStep):
            return self._compare(step, bindings)
        if isinstance(step, CallStep):
            return self._call(step, bindings, rule)
        return self._aggregate(step, bindings, rule)

    # --- streaming literals -----------------------------------------------------------------------

    def _join(self, step: JoinStep, bindings: Bindings, rule: StreamRule) -> Bindings:
        view = step.pattern.view
        relation = view.relation
        if step.is_seed:
            return self._keep_by_count(step, bindings, bindings.columns[COUNTED])
        most = (
            self.budget.remaining_rows
            if bindings.count == 1
            else min(_PART, self.budget.remaining_rows)
        )
        if step.positions:
            keys = [bindings.column_of(source) for source in step.sources]
            which, rows = relation.match_rows(step.positions, keys, most)
            if step.reads_before or not view.has_all_rows:
                ok = view.was_true(rows) if step.reads_before else view.mask()[rows]
                if not ok.all():
                    which, rows = which[ok], rows[ok]
        else:
            rows = view.rows_before() if step.reads_before else view.rows()
            if len(rows) * bindings.count > most:
                raise TooManyRows
            which = np.repeat(np.arange(bindings.count), len(rows))
            rows = np.tile(rows, bindings.count) if bindings.count > 1 else rows
        for one, other in step.equal:
            same = relation.columns[one][rows] == relation.columns[other][rows]
            which, rows = which[same], rows[same]
        self.budget.count_joined(len(rows), rule)
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
        return self._keep_by_count(
            step,
            Bindings(columns, len(rows)),
            view.counts_before(rows) if step.reads_before else view.counter.counts(rows),
        )

    def _keep_by_count(self, step: JoinStep, found: Bindings, m: Ints) -> Bindings:
        """Those rows where ``m`` is as asked, or with ``m``."""
        if step.count:
            return Bindings({**found.columns, step.count: m}, found.count).filter(None, step.keep)
        assert step.pattern.threshold is not None
        return found.filter(self._count_fits(step.pattern.threshold, m, found), step.keep)

    def _check(self, step: CheckStep, bindings: Bindings) -> Bindings:
        pattern = step.pattern
        view = pattern.view
        rows = view.relation.find_rows([bindings.column_of(source) for source in pattern.arguments])
        known = rows >= 0
        if pattern.threshold is not None:
            m = np.where(known, view.counter.counts(rows), 0)
            return bindings.filter(self._count_fits(pattern.threshold, m, bindings), step.keep)
        found: Flags = known & (view.was_true(rows) if step.reads_before else view.mask()[rows])
        if pattern.trace in step.keep:
            bindings = Bindings({**bindings.columns, pattern.trace: rows}, bindings.count)
        return bindings.filter(found if pattern.is_positive else ~found, step.keep)

    def _count_fits(self, asked: Threshold, m: Ints, bindings: Bindings) -> Flags:
        """Where m is as the counting term wants it."""
        wanted, valid = self.term_column(asked.term, bindings)
        at_m, at_wanted = self.dictionary.ranks(m, wanted)
        if asked.operator == AT_LEAST:
            fits = at_m >= at_wanted
        elif asked.operator == AT_MOST:
            fits = at_m <= at_wanted
        else:
            fits = m == wanted
        if asked.is_negated:
            fits = ~fits
        elif asked.operator != AT_MOST:
            # No atom is invented: c is an integer from 1 on.
            numbers, are = self.dictionary.numbers(wanted)
            fits &= numbers >= 1
            fits = fits if are is None else fits & are
        return fits if valid is None else fits & valid

    # --- terms and comparisons --------------------------------------------------------------------

    def term_column(self, term: Term, bindings: Bindings) -> tuple[Ints, Flags | None]:
        """The codes of a term, and which rows it has a value for (None: all). Raises:
        IntegerOverflow.
        """
        if isinstance(term, Variable):
            return bindings.columns[term.name], None
        if isinstance(term, Constant):
            return np.full(bindings.count, self.dictionary.code(term.value), np.int64), None
        if isinstance(term, CurrentTime):
            now = term.value_at(self.budget.time)
            if isinstance(now, int):
                return np.full(bindings.count, now, np.int64), None
            return np.zeros(bindings.count, np.int64), np.zeros(bindings.count, np.bool_)
        sides, valid = [], None
        for side in (term.left_operand, term.right_operand):
            codes, has = self.term_column(side, bindings)
            numbers, are = self.dictionary.numbers(codes)
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

    def _compare(self, step: CompareStep, bindings: Bindings) -> Bindings:
        asked = step.comparison
        right, valid = self.term_column(asked.right_term, bindings)
        if step.gives is not None:
            return Bindings({**bindings.columns, step.gives: right}, bindings.count).filter(
                valid, step.keep
            )
        left, has = self.term_column(asked.left_term, bindings)
        fits = self.dictionary.compare_columns(left, asked.relation, right)
        valid = and_flags(valid, has)
        fits = ~fits if asked.is_negated else fits
        return bindings.filter(fits if valid is None else fits & valid, step.keep)

    # --- functions --------------------------------------------------------------------------------

    def _call(self, step: CallStep, bindings: Bindings, rule: StreamRule) -> Bindings:
        external = step.external
        columns, valid = self.term_columns(external.inputs, bindings)
        if valid is not None:
            bindings, columns = (
                bindings.filter(valid, frozenset(bindings.columns)),
                [column[valid] for column in columns],
            )
        groups, inverse = distinct_rows(columns, bindings.count)
        found = (
            [
                self._function_result(step, row, rule)
                for row in zip(*map(self.dictionary.decode, groups))
            ]
            if groups
            else []
        )
        if not groups and bindings.count:
            found = [self._function_result(step, (), rule)]
        true = (
            np.array([row is not None for row in found], np.bool_)[inverse]
            if found
            else np.zeros(0, np.bool_)
        )
        gained: dict[str, Ints] = {}
        for i, term in enumerate(external.outputs):
            output = (
                self.dictionary.encode([0 if row is None else row[i] for row in found])[inverse]
                if found
                else NONE
            )
            if isinstance(term, Variable) and term.name in step.new and term.name not in gained:
                gained[term.name] = output
                continue
            wanted, has = self.term_column(
                term, Bindings({**bindings.columns, **gained}, bindings.count)
            )
            true &= output == wanted
            if has is not None:
                true &= has
        kept = ~true if external.is_negated else true
        return Bindings({**bindings.columns, **gained}, bindings.count).filter(kept, step.keep)

    def _function_result(self, step: CallStep, inputs: Row, rule: StreamRule) -> Row | None:
        external = step.external
        key = external.function, len(external.outputs), inputs
        if key not in self.results:
            self.results[key] = call_function(self.functions, rule, external, inputs)
        return self.results[key]

    def term_columns(
        self, terms: Sequence[Term], bindings: Bindings
    ) -> tuple[list[Ints], Flags | None]:
        """The columns of some terms, and the rows where all have a value."""
        columns, valid = [], None
        for term in terms:
            codes, has = self.term_column(term, bindings)
            columns.append(codes)
            valid = and_flags(valid, has)
        return columns, valid

    # --- aggregates -------------------------------------------------------------------------------

    def _aggregate(self, step: AggregateStep, bindings: Bindings, rule: StreamRule) -> Bindings:
        shared, inverse = distinct_rows(
            [bindings.columns[name] for name in step.shared], bindings.count
        )
        count = len(shared[0]) if shared else 1
        start = Bindings({**dict(zip(step.shared, shared)), GROUP: np.arange(count)}, count)
        tuples: dict[int, list[list[Ints]]] = {}
        for steps, terms in step.elements:
            for found in self.run_steps(steps, start, rule):
                columns, valid = self.term_columns(terms, found)
                rows = [found.columns[GROUP], *columns]
                tuples.setdefault(len(terms), []).append(
                    rows if valid is None else [column[valid] for column in rows]
                )
        groups, firsts = [NONE], [NONE]
        for parts in tuples.values():
            joined = [np.concatenate(columns) for columns in zip(*parts)]
            if len(joined[0]):
                example = distinct(row_codes(*joined))[2]
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
        after = Bindings({**bindings.columns, **dict.fromkeys(step.gives, result)}, bindings.count)
        fits, valid = np.ones(bindings.count, np.bool_), None
        for relation, term in step.aggregate.guards:
            wanted, has = self.term_column(term, after)
            fits &= self.dictionary.compare_columns(result, relation, wanted)
            valid = and_flags(valid, has)
        fits = (~fits if step.aggregate.is_negated else fits) & has_value[inverse]
        return after.filter(fits if valid is None else fits & valid, step.keep)
