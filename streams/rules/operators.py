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
    Call,
    Check,
    Compare,
    JoinStep,
    Step,
    Threshold,
    both,
    grouped,
)
from shiq.streams.rules.relations import NONE, ConstantDictionary, Flags, TooMany, calculate
from shiq.streams.rules.syntax import (
    AT_LEAST,
    AT_MOST,
    LIMIT,
    Constant,
    EvaluationError,
    External,
    IntegerOverflow,
    Now,
    Row,
    StreamRule,
    Term,
    Value,
    Variable,
    content,
    string,
    too_many_derived,
)
from shiq.streams.rules.tokens import SURROGATE

Functions: TypeAlias = Mapping[str, Callable[..., Any]]


def read_functions(path: str | Path) -> Functions:
    """The functions that a Python file defines or imports. Raises: InputError."""
    try:
        return functions_of(Path(path).read_text(encoding="utf-8-sig"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise InputError(
            f"{path}, the file of functions, cannot be read: {why}",
            "Check the name after --python.",
        ) from error


def functions_of(text: str, file: str = "functions") -> Functions:
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


def call(functions: Functions, rule: StreamRule, literal: External, inputs: Row) -> Row | None:
    """The outputs for ``inputs``; of a literal without outputs, () where it is true and None
    where not.

    Raises: EvaluationError with rule, function and arguments, where the function fails or gives
    what is no constant.
    """
    given = [value if isinstance(value, int) else content(value) for value in inputs]
    said = f"&{literal.function}({', '.join(map(repr, given))})"
    try:
        found = functions[literal.function](*given)
    except (Exception, SystemExit) as error:
        raise EvaluationError(
            rule, f"{said} failed: {type(error).__name__}: {error}", "Mend the function."
        ) from error
    if not literal.outputs:
        return () if _truth(found, rule, said) else None
    outputs = tuple(found) if isinstance(found, tuple | list) else (found,)
    if len(outputs) != len(literal.outputs):
        wanted = len(literal.outputs)
        raise EvaluationError(
            rule,
            f"{said} gave {len(outputs)} values, {wanted} are wanted",
            "Return a tuple of as many.",
        )
    return tuple(_constant(value, rule, said) for value in outputs)


def _truth(found: Any, rule: StreamRule, said: str) -> bool:
    if isinstance(found, int):
        return bool(found)
    raise EvaluationError(
        rule, f"{said} gave {found!r}, which is no truth value", "Return True or False."
    )


def _constant(found: Any, rule: StreamRule, said: str) -> Value:
    if isinstance(found, str):
        if SURROGATE.search(found):
            raise EvaluationError(
                rule, f"{said} gave {found!r}, half a character", "Return whole characters."
            )
        return string(found)
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
_JOINED: Final = 10
_LEAST_JOINED: Final = 10_000_000


@dataclass
class PointBudget:
    """Count what a point costs.

    most: the atoms that a point may derive.
    now: its time.
    derived: how many it has derived; of the stratum that is being evaluated, what is known so far.
    left: the rows that its joins may still have.
    """

    most: int
    now: int = 0
    derived: int = 0
    left: int = 0

    def begin(self, now: int) -> None:
        """Begin a point."""
        self.now, self.derived, self.left = now, 0, self._joined

    @property
    def _joined(self) -> int:
        return max(_JOINED * self.most, _LEAST_JOINED)

    def spend(self, rows: int, rule: StreamRule) -> None:
        """Count rows against what may be joined at a point. Raises: EvaluationError."""
        self.left -= rows
        if self.left < 0:
            raise self.too_many_joined(rule)

    def derive(self, atoms: int, rule: StreamRule) -> None:
        """Count atoms that a point derives. Raises: EvaluationError where they are too many."""
        self.derived += atoms
        if self.derived > self.most:
            self.check(self.derived, rule)

    def check(self, atoms: int, rule: StreamRule) -> None:
        """Raises: EvaluationError where the ``atoms`` that a point derives are too many."""
        if atoms > self.most:
            raise too_many_derived(rule, self.now, self.most)

    def too_many_joined(self, rule: StreamRule) -> EvaluationError:
        """The error of joins that explode."""
        return EvaluationError(
            rule,
            f"more than {self._joined:,} rows are joined at t = {self.now} (--max-atoms {self.most})",
            "Add a literal that narrows it; or raise --max-atoms: joins may have ten times as many rows.",
        )


# Aggregates over columns: the value of each group of distinct tuples (docs/RULES.md,
# "Built-ins").


def aggregated(
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
        return dictionary.of_numbers(_sums(group, numbers, count)), np.ones(count, np.bool_)
    (rank,) = dictionary.ranks(first)
    order = np.lexsort((rank if function == "min" else -rank, group))
    found = np.zeros(count, np.int64)
    begins = np.cumsum(size) - size
    found[size > 0] = first[order[begins[size > 0]]]
    return found, size > 0


def _sums(group: Ints, numbers: Ints, count: int) -> Ints:
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

    def begin(self, now: int) -> None:
        """A new point."""
        self.budget.begin(now)
        self.results.clear()

    def run(
        self, steps: Sequence[Step], bindings: Bindings, rule: StreamRule, once: bool = False
    ) -> Iterator[Bindings]:
        """The instances that ``steps`` leave, in parts; ``once``: how often each is derived does
        not matter. Raises: EvaluationError.
        """
        for place, step in enumerate(steps):
            if not bindings.count:
                return
            found = self._applied(step, bindings, rule)
            if found is None:
                for part in bindings.parts():
                    yield from self.run(steps[place:], part, rule, once)
                return
            bindings = found
            if once and bindings.count > _MANY and isinstance(step, JoinStep):
                bindings = bindings.distinct()
        if bindings.count:
            yield bindings

    def _applied(self, step: Step, bindings: Bindings, rule: StreamRule) -> Bindings | None:
        """What a step leaves; None where it is to be taken in parts."""
        try:
            return self._apply(step, bindings, rule)
        except IntegerOverflow as error:
            raise EvaluationError(rule, str(error), "Use smaller numbers.") from error
        except TooMany as error:
            if bindings.count == 1:
                raise self.budget.too_many_joined(rule) from error
            return None

    def head(self, rule: StreamRule, bindings: Bindings) -> tuple[list[Ints], Flags | None]:
        """The columns of a rule's heads, and which have a value. Raises: EvaluationError."""
        try:
            return self.values(rule.head.arguments, bindings)
        except IntegerOverflow as error:
            raise EvaluationError(rule, str(error), "Use smaller numbers.") from error

    def _apply(self, step: Step, bindings: Bindings, rule: StreamRule) -> Bindings:
        if isinstance(step, JoinStep):
            return self._join(step, bindings, rule)
        if isinstance(step, Check):
            return self._check(step, bindings)
        if isinstance(step, Compare):
            return self._compare(step, bindings)
        if isinstance(step, Call):
            return self._call(step, bindings, rule)
        return self._group(step, bindings, rule)

    # --- streaming literals -----------------------------------------------------------------------

    def _join(self, step: JoinStep, bindings: Bindings, rule: StreamRule) -> Bindings:
        view = step.pattern.view
        relation = view.relation
        if step.own:
            return self._measured(step, bindings, bindings.columns[COUNTED])
        most = self.budget.left if bindings.count == 1 else min(_PART, self.budget.left)
        if step.positions:
            keys = [bindings.source(source) for source in step.sources]
            which, rows = relation.matches(step.positions, keys, most)
            if step.before or not view.is_whole:
                ok = view.had(rows) if step.before else view.mask()[rows]
                if not ok.all():
                    which, rows = which[ok], rows[ok]
        else:
            rows = view.rows_before() if step.before else view.rows()
            if len(rows) * bindings.count > most:
                raise TooMany
            which = np.repeat(np.arange(bindings.count), len(rows))
            rows = np.tile(rows, bindings.count) if bindings.count > 1 else rows
        for one, other in step.equal:
            same = relation.columns[one][rows] == relation.columns[other][rows]
            which, rows = which[same], rows[same]
        self.budget.spend(len(rows), rule)
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
        return self._measured(
            step,
            Bindings(columns, len(rows)),
            view.was(rows) if step.before else view.counter.counts(rows),
        )

    def _measured(self, step: JoinStep, found: Bindings, m: Ints) -> Bindings:
        """Those rows where ``m`` is as asked, or with ``m``."""
        if step.count:
            return Bindings({**found.columns, step.count: m}, found.count).where(None, step.keep)
        assert step.pattern.threshold is not None
        return found.where(self._fits(step.pattern.threshold, m, found), step.keep)

    def _check(self, step: Check, bindings: Bindings) -> Bindings:
        pattern = step.pattern
        view = pattern.view
        rows = view.relation.find([bindings.source(source) for source in pattern.arguments])
        known = rows >= 0
        if pattern.threshold is not None:
            m = np.where(known, view.counter.counts(rows), 0)
            return bindings.where(self._fits(pattern.threshold, m, bindings), step.keep)
        found: Flags = known & (view.had(rows) if step.before else view.mask()[rows])
        if pattern.trace in step.keep:
            bindings = Bindings({**bindings.columns, pattern.trace: rows}, bindings.count)
        return bindings.where(found if pattern.positive else ~found, step.keep)

    def _fits(self, asked: Threshold, m: Ints, bindings: Bindings) -> Flags:
        """Where m is as the counting term wants it."""
        wanted, valid = self.value(asked.term, bindings)
        at_m, at_wanted = self.dictionary.ranks(m, wanted)
        if asked.operator == AT_LEAST:
            fits = at_m >= at_wanted
        elif asked.operator == AT_MOST:
            fits = at_m <= at_wanted
        else:
            fits = m == wanted
        if asked.negated:
            fits = ~fits
        elif asked.operator != AT_MOST:
            # No atom is invented: c is an integer from 1 on.
            numbers, are = self.dictionary.numbers(wanted)
            fits &= numbers >= 1
            fits = fits if are is None else fits & are
        return fits if valid is None else fits & valid

    # --- terms and comparisons --------------------------------------------------------------------

    def value(self, term: Term, bindings: Bindings) -> tuple[Ints, Flags | None]:
        """The codes of a term, and which rows it has a value for (None: all). Raises:
        IntegerOverflow.
        """
        if isinstance(term, Variable):
            return bindings.columns[term.name], None
        if isinstance(term, Constant):
            return np.full(bindings.count, self.dictionary.code(term.value), np.int64), None
        if isinstance(term, Now):
            now = term.at(self.budget.now)
            if isinstance(now, int):
                return np.full(bindings.count, now, np.int64), None
            return np.zeros(bindings.count, np.int64), np.zeros(bindings.count, np.bool_)
        sides, valid = [], None
        for side in (term.left, term.right):
            codes, has = self.value(side, bindings)
            numbers, are = self.dictionary.numbers(codes)
            valid = both(valid, both(has, are))
            sides.append(numbers)
        left, right = sides
        if valid is None:
            found, valid = calculate(term.operator, left, right)
            return self.dictionary.of_numbers(found), valid
        rows = np.flatnonzero(valid)
        part, has = calculate(term.operator, left[rows], right[rows])
        found = np.zeros(bindings.count, np.int64)
        found[rows] = self.dictionary.of_numbers(part)
        if has is not None:
            valid = valid.copy()
            valid[rows[~has]] = False
        return found, valid

    def _compare(self, step: Compare, bindings: Bindings) -> Bindings:
        asked = step.comparison
        right, valid = self.value(asked.right, bindings)
        if step.gives is not None:
            return Bindings({**bindings.columns, step.gives: right}, bindings.count).where(
                valid, step.keep
            )
        left, has = self.value(asked.left, bindings)
        fits = self.dictionary.compared(left, asked.relation, right)
        valid = both(valid, has)
        fits = ~fits if asked.negated else fits
        return bindings.where(fits if valid is None else fits & valid, step.keep)

    # --- functions --------------------------------------------------------------------------------

    def _call(self, step: Call, bindings: Bindings, rule: StreamRule) -> Bindings:
        external = step.external
        columns, valid = self.values(external.inputs, bindings)
        if valid is not None:
            bindings, columns = (
                bindings.where(valid, frozenset(bindings.columns)),
                [column[valid] for column in columns],
            )
        groups, inverse = grouped(columns, bindings.count)
        found = (
            [self._result(step, row, rule) for row in zip(*map(self.dictionary.decode, groups))]
            if groups
            else []
        )
        if not groups and bindings.count:
            found = [self._result(step, (), rule)]
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
            wanted, has = self.value(term, Bindings({**bindings.columns, **gained}, bindings.count))
            true &= output == wanted
            if has is not None:
                true &= has
        kept = ~true if external.negated else true
        return Bindings({**bindings.columns, **gained}, bindings.count).where(kept, step.keep)

    def _result(self, step: Call, inputs: Row, rule: StreamRule) -> Row | None:
        external = step.external
        key = external.function, len(external.outputs), inputs
        if key not in self.results:
            self.results[key] = call(self.functions, rule, external, inputs)
        return self.results[key]

    def values(self, terms: Sequence[Term], bindings: Bindings) -> tuple[list[Ints], Flags | None]:
        """The columns of some terms, and the rows where all have a value."""
        columns, valid = [], None
        for term in terms:
            codes, has = self.value(term, bindings)
            columns.append(codes)
            valid = both(valid, has)
        return columns, valid

    # --- aggregates -------------------------------------------------------------------------------

    def _group(self, step: AggregateStep, bindings: Bindings, rule: StreamRule) -> Bindings:
        shared, inverse = grouped([bindings.columns[name] for name in step.shared], bindings.count)
        count = len(shared[0]) if shared else 1
        start = Bindings({**dict(zip(step.shared, shared)), GROUP: np.arange(count)}, count)
        tuples: dict[int, list[list[Ints]]] = {}
        for steps, terms in step.elements:
            for found in self.run(steps, start, rule):
                columns, valid = self.values(terms, found)
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
        value, has_value = aggregated(
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
            wanted, has = self.value(term, after)
            fits &= self.dictionary.compared(result, relation, wanted)
            valid = both(valid, has)
        fits = (~fits if step.aggregate.negated else fits) & has_value[inverse]
        return after.where(fits if valid is None else fits & valid, step.keep)
