"""The engine: a checked program, point by point, each point from what changed since the one before.

Strata are evaluated in order. Of a stratum without recursion, rules over streaming literals and comparisons are maintained: each
head is kept with the number of its derivations, and what a point changes of it is the sum, over the literals, of the joins of one
literal's change with what those before it are and those behind it were. Other rules (aggregates, functions, @now, counts that
vary) are evaluated again where a literal of theirs changed. A recursive stratum is evaluated to its least fixpoint again where
something that it uses changed, in semi-naive rounds over window literals too. What did not change is not touched.
Source: SPEC 004, sections 2 and 6; docs/THEORY.md, "Stream rules in columns".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from shiq.columns.arrays import Ints, unique
from streams.rules.dictionary import FIRST, Dictionary
from streams.rules.functions import Functions
from streams.rules.held import ColumnModel, Held
from streams.rules.operators import Bindings, Context, seeded
from streams.rules.plan import Conjunct, Pattern, Plan, Planner, conjuncts, has_now
from streams.rules.predicates import Maintained, Predicate, compact, is_counted, supported
from streams.rules.relations import NONE, Flags, Relation, distinct_rows
from streams.rules.safety import global_names
from streams.rules.saved import put_back, saved
from streams.rules.syntax import Aggregate, Checked, Constant, Literal, Rule, Stratum, Windowed, variables
from streams.rules.values import Row
from streams.rules.windows import NOW, Counter, History, View

#: Rows that are new since the last time that dead ones were looked for, beyond as many as were alive.
_SPARE: Final = 4096


class Engine:
    """Evaluates a checked program point by point (`syntax.Evaluator`)."""

    def __init__(
        self, checked: Checked, functions: Functions, complete_windows: bool = False, most_atoms: int = 10_000_000
    ) -> None:
        self.checked = checked
        self.complete = complete_windows
        self.dictionary = Dictionary()
        self.context = Context(self.dictionary, functions, most_atoms)
        self.predicates: dict[str, Predicate] = {}
        self.origin: int | None = None
        self.point = -1
        #: Views that tell of changes of this point; inner views of aggregates by the aggregate.
        self._moved: list[View] = []
        self._inner: dict[int, list[View]] = {}
        self.strata = [(stratum, [self._maintained(rule) for rule in stratum.rules]) for stratum in checked.strata]
        self._constants = len(self.dictionary)
        self._texts = 0
        for predicate, rows in checked.facts.items():
            self._state_facts(predicate, rows)

    # --- setting up --------------------------------------------------------------------------------

    def predicate(self, name: str) -> Predicate:
        found = self.predicates.get(name)
        if found is None:
            relation = Relation(name, int(name.rpartition("/")[2]))
            relation.track("given", np.bool_)
            found = self.predicates[name] = Predicate(relation, History(self.checked.horizons.get(name, 0)))
        return found

    def _state_facts(self, name: str, rows: Sequence[Row]) -> None:
        predicate = self.predicate(name)
        predicate.facts = predicate.relation.add(distinct_rows(self._encoded(rows, predicate))[0])
        predicate.relation.of_row["given"][predicate.facts] = True
        predicate.touched.append(predicate.facts)

    def _view(self, literal: Windowed, operator: str, count: int, counted: bool) -> View:
        predicate = self.predicate(literal.atom.predicate)
        window = literal.window or NOW
        counter = predicate.counters.get(window.intervals)
        if counter is None:
            counter = predicate.counters[window.intervals] = Counter(predicate.relation, window, self.complete)
        key = window.intervals, operator, count
        view = predicate.views.get(key)
        if view is None:
            view = predicate.views[key] = View(counter, operator, count)
        view.counted |= counted
        return view

    def _conjuncts(self, body: Iterable[Literal], fresh: str = "#") -> list[Conjunct]:
        return conjuncts(body, self._view, self._constant, fresh)

    def _constant(self, constant: Constant) -> int:
        return self.dictionary.code(constant.value)

    def _maintained(self, rule: Rule) -> Maintained:
        body = self._conjuncts(rule.body)
        inner: dict[int, list[Conjunct]] = {}

        def elements(literals: Iterable[Literal]) -> list[Conjunct]:
            literals = tuple(literals)
            if id(literals) not in inner:
                inner[id(literals)] = self._conjuncts(literals, "##")
            return inner[id(literals)]

        for conjunct in body:
            if isinstance(conjunct, Aggregate):
                found = [one for element in conjunct.elements for one in elements(element.body)]
                self._inner[id(conjunct)] = [one.view for one in found if isinstance(one, Pattern)]
        head = self.predicate(rule.head.predicate)
        head.support(rule)
        wanted = frozenset(variable.name for argument in rule.head.arguments for variable in variables(argument))
        now = has_now(rule)
        incremental = not now and rule.frequency is None and is_counted(body)
        return Maintained(
            rule,
            head,
            body,
            Planner(body, wanted, elements, frozenset(global_names(rule))),
            incremental,
            now or rule.frequency is not None,
        )

    # --- a point -----------------------------------------------------------------------------------

    def step(self, t: int, rows: Mapping[str, Any]) -> ColumnModel:
        """The model of the point ``t``. Raises: EvaluationError."""
        if self.origin is None:
            self.origin = t
        before, self.point = self.point, t - self.origin
        self.context.begin(t)
        for view in self._moved:
            view.settle()
        self._moved.clear()
        self._collect()
        for name, given in rows.items():
            self._give(self.predicate(name), given)
        for name, predicate in self.predicates.items():
            if len(predicate.given) and name not in rows:
                self._give(predicate, [])
        for predicate in self.predicates.values():
            relation = predicate.relation
            relation.came = relation.went = NONE
            for counter in predicate.counters.values():
                counter.advance(predicate.history, before, self.point)
            if not predicate.supports:
                self._settle(predicate)
        for stratum, rules in self.strata:
            self._evaluate(stratum, rules)
        for predicate in self.predicates.values():
            if predicate.history.horizon:
                predicate.history.add(self.point, predicate.persistent())
                predicate.history.forget(self.point)
        return self._model(t)

    def _encoded(self, rows: Any, predicate: Predicate) -> list[Ints]:
        """The columns of rows, or of a tuple of columns."""
        arity = predicate.relation.arity
        if _are_columns(rows):
            return [self.dictionary.encode(column) for column in rows]
        if not arity:
            return [np.zeros(len(rows), np.int64)]
        return [self.dictionary.encode(column) for column in zip(*rows)] if len(rows) else [NONE] * arity

    def _give(self, predicate: Predicate, rows: Any) -> None:
        """The input of a point."""
        relation = predicate.relation
        now = self._known(predicate, rows)
        before, predicate.given = predicate.given, now
        if not len(before) and not len(now):
            return
        touched = unique(np.concatenate([before, now]))
        given = relation.of_row["given"]
        old = given[touched]
        given[before] = False
        given[now] = True
        if len(predicate.facts):
            given[predicate.facts] = True
        predicate.touched.append(touched[given[touched] != old])

    def _known(self, predicate: Predicate, rows: Any) -> Ints:
        """The numbers of input rows, each once."""
        if _are_columns(rows) or len(rows) > 50_000:
            encoded = self._encoded(rows, predicate)
            return predicate.relation.add(distinct_rows(encoded)[0]) if len(encoded[0]) else NONE
        number = predicate.rows_of
        found = [number.get(row, -1) for row in rows]
        if -1 in found:
            new = list(dict.fromkeys(row for row, at in zip(rows, found) if at < 0))
            number.update(zip(new, predicate.relation.add(self._encoded(new, predicate)).tolist()))
            found = [number[row] for row in rows]
        return unique(np.array(found, np.int64))

    def _settle(self, predicate: Predicate, before: Mapping[View, Flags] | None = None) -> None:
        """Says what holds now of a predicate whose rules have been evaluated, and what changed for its views; after a fixpoint,
        ``before`` has their masks."""
        relation = predicate.relation
        if before is None and predicate.touched:
            touched = unique(np.concatenate(predicate.touched))
            holds, of_row = relation.of_row["holds"], relation.of_row
            new = of_row["given"][touched]
            for name in predicate.supports:
                new = new | (of_row[name][touched] > 0)
            old = holds[touched]
            holds[touched] = new
            relation.came, relation.went = touched[new & ~old], touched[old & ~new]
            if len(relation.went):
                relation.held = relation.held[holds[relation.held]]
            if len(relation.came):
                relation.held = np.concatenate([relation.held, relation.came])
        if predicate.supports and (predicate.touched or before is not None):
            predicate.derived = supported(predicate)
        predicate.touched = []
        for view in predicate.views.values():
            if before is not None:
                view.end(before[view])
            else:
                counter = view.counter
                parts = [counter.changed, *((relation.came, relation.went) if counter.is_now else ())]
                parts = [part for part in parts if len(part)]
                view.update(unique(np.concatenate(parts)) if len(parts) > 1 else parts[0] if parts else NONE)
            if view.is_changed or view.count_changed:
                self._moved.append(view)

    # --- strata ------------------------------------------------------------------------------------

    def _evaluate(self, stratum: Stratum, rules: Sequence[Maintained]) -> None:
        heads = {name: self.predicates[name] for name in stratum.heads}
        if stratum.recursive:
            self._fixpoint(heads, rules)
            return
        for rule in rules:
            if rule.incremental:
                self._maintain(rule)
            elif self._is_due(rule):
                self._renew(rule)
        for predicate in heads.values():
            self._settle(predicate)

    def _is_due(self, rule: Maintained) -> bool:
        """Whether a rule may derive other heads than at the last point."""
        if rule.restless or not rule.has_run:
            return True
        return any(view.is_changed for conjunct in rule.body for view in self._views(conjunct))

    def _views(self, conjunct: Conjunct) -> Sequence[View]:
        if isinstance(conjunct, Pattern):
            return [conjunct.view]
        return self._inner[id(conjunct)] if isinstance(conjunct, Aggregate) else ()

    def _maintain(self, rule: Maintained) -> None:
        """Adds and takes away the derivations that changed."""
        for i, pattern in rule.patterns:
            view = pattern.view
            for rows, true in ((view.went, False), (view.came, True)):
                if len(rows):
                    plan = rule.plan(i, delta=True)
                    heads, numbers = self._derived(rule, plan, seeded(pattern, rows, plan.keep))
                    support = rule.head.relation.of_row[rule.head.support(rule.rule)]
                    support[heads] += numbers if true == pattern.positive else -numbers
                    rule.head.touched.append(heads)

    def _derived(self, rule: Maintained, plan: Plan, start: Bindings) -> tuple[Ints, Ints]:
        """The heads that a plan derives, each once, and how often."""
        found = self.context.run(plan.steps, start, rule.rule)
        if not found.count:
            return NONE, NONE
        columns, valid = self.context.head(rule.rule, found)
        if valid is not None:
            columns = [column[valid] for column in columns]
        if not columns:
            return rule.head.relation.add([np.zeros(1, np.int64)]), np.array([found.count])
        if not len(columns[0]):
            return NONE, NONE
        distinct_, numbers = distinct_rows(columns)
        return rule.head.relation.add(distinct_), numbers

    def _all(self, rule: Maintained) -> Ints:
        """All heads of a rule at this point, each once."""
        frequency = rule.rule.frequency
        if frequency is not None and self.point % frequency:
            return NONE
        positive = [(len(pattern.view.rows()), i) for i, pattern in rule.patterns if pattern.positive]
        if not positive:
            return self._derived(rule, rule.plan(None), Bindings({}, 1))[0]
        size, seed = min(positive)
        if not size:
            return NONE
        plan, pattern = rule.plan(seed), rule.body[seed]
        assert isinstance(pattern, Pattern)
        return self._derived(rule, plan, seeded(pattern, pattern.view.rows(), plan.keep))[0]

    def _renew(self, rule: Maintained) -> None:
        """Evaluates a rule again."""
        relation, name = rule.head.relation, ("by", rule.rule.number)
        relation.track(name, np.bool_)
        new = self._all(rule)
        rule.has_run = True
        derives = relation.of_row[name]
        old = np.flatnonzero(derives)
        derives[old] = False
        derives[new] = True
        support = relation.of_row[rule.head.support(rule.rule)]
        support[old] -= 1
        support[new] += 1
        rule.head.touched += [old, new]

    def _fixpoint(self, heads: Mapping[str, Predicate], rules: Sequence[Maintained]) -> None:
        """The least fixpoint of a recursive stratum, where something that it uses changed."""
        inputs = any(self._is_due(rule) for rule in rules)
        if not (
            inputs or any(p.touched or any(len(c.changed) or c.is_longer for c in p.counters.values()) for p in heads.values())
        ):
            for predicate in heads.values():
                self._settle(predicate)
            return
        views = [view for predicate in heads.values() for view in predicate.views.values()]
        masks = {view: view.mask()[: view.relation.size].copy() for view in views}
        held = {name: predicate.relation.held for name, predicate in heads.items()}
        for predicate in heads.values():
            of_row, relation = predicate.relation.of_row, predicate.relation
            for support in predicate.supports:
                of_row[support][relation.held] = 0
            of_row["holds"][: relation.size] = of_row["given"][: relation.size]
            relation.held = np.flatnonzero(of_row["holds"][: relation.size])
        for view in views:
            view.begin()
        fresh = dict.fromkeys(heads, NONE)
        for rule in rules:
            rule.has_run = True
            self._derive(rule, self._all(rule), fresh)
        while any(map(len, fresh.values())):
            deltas = self._grown(heads, fresh)
            fresh = dict.fromkeys(heads, NONE)
            for rule in rules:
                if rule.rule.frequency is not None and self.point % rule.rule.frequency:
                    continue
                for i, pattern in rule.patterns:
                    rows = deltas.get(pattern.view, NONE)
                    if len(rows) and pattern.positive:
                        plan = rule.plan(i)
                        self._derive(rule, self._derived(rule, plan, seeded(pattern, rows, plan.keep))[0], fresh)
        for name, predicate in heads.items():
            relation, old = predicate.relation, held[name]
            before = np.zeros(len(relation.columns[0]), np.bool_)
            before[old] = True
            holds = relation.of_row["holds"]
            relation.came, relation.went = relation.held[~before[relation.held]], old[~holds[old]]
            self._settle(predicate, masks)

    @staticmethod
    def _derive(rule: Maintained, rows: Ints, fresh: dict[str, Ints]) -> None:
        """Notes heads of a rule in a fixpoint; those that did not hold yet are ``fresh``."""
        relation, name = rule.head.relation, rule.rule.head.predicate
        relation.of_row[rule.head.support(rule.rule)][rows] = 1
        new = rows[~relation.of_row["holds"][rows]]
        if len(new):
            fresh[name] = unique(np.concatenate([fresh[name], new])) if len(fresh[name]) else new

    @staticmethod
    def _grown(heads: Mapping[str, Predicate], fresh: Mapping[str, Ints]) -> dict[View, Ints]:
        """Lets fresh rows hold; what each view gained by that."""
        found: dict[View, Ints] = {}
        for name, rows in fresh.items():
            if len(rows):
                relation = heads[name].relation
                relation.of_row["holds"][rows] = True
                relation.held = np.concatenate([relation.held, rows])
                for view in heads[name].views.values():
                    found[view] = view.grow(rows)
        return found

    # --- states ------------------------------------------------------------------------------------

    def state(self) -> bytes:
        """All that later points depend on."""
        return saved(self.origin, self.point, self.predicates, self.dictionary)

    def restore(self, state: bytes) -> None:
        """Puts an engine that has not begun where the one was that gave ``state``. Raises: OperationalError."""
        self.origin, self.point = put_back(state, self.predicates, self.dictionary)
        for predicate in self.predicates.values():
            for counter in predicate.counters.values():
                counter.refill(predicate.history, self.point)

    # --- models, what may be forgotten -------------------------------------------------------------

    def _model(self, t: int) -> ColumnModel:
        for predicate in self.predicates.values():
            relation, shown = predicate.relation, predicate.shown
            if shown is None or shown.held is not relation.held or shown.derived is not predicate.derived:
                relation.track("rows", object)
                predicate.shown = Held(
                    relation.arity,
                    relation.columns,
                    self.dictionary.values,
                    relation.of_row["rows"],
                    relation.held,
                    predicate.derived,
                )
        return ColumnModel(t, {name: p.shown for name, p in self.predicates.items() if p.shown and len(p.relation.held)})

    def _collect(self) -> None:
        """Drops dead rows and constants, where there may be as many of them as live ones."""
        full = len(self.dictionary) > 2 * self._texts + _SPARE
        for predicate in self.predicates.values():
            if full or predicate.relation.size > 2 * predicate.alive + _SPARE:
                compact(predicate)
        if full:
            used = [column[: p.relation.size] for p in self.predicates.values() for column in p.relation.columns]
            self.dictionary.forget_but([*used, np.arange(FIRST, FIRST + self._constants)])
            self._texts = len(self.dictionary)


def _are_columns(rows: Any) -> bool:
    """Whether input is a tuple of columns, and not a sequence of rows."""
    return isinstance(rows, tuple) and bool(rows) and not isinstance(rows[0], tuple)
