"""A_add under the criteria `model` and `clausal`, in columns: `tests.spec.patch` and
`tests.spec.border` (THEORY, "The add set", "Inside" and "Border rules").

The steps are those of the reference; each runs over all elements or role assertions at once, and
asks `abox_ops` once per distinct combination of labels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from abox_ops.counting.fine_columns import FineCounts
from abox_ops.elements.columns import flags
from abox_ops.engine import Certain, NamedModule, unheard
from abox_ops.labels.numbered import EMPTY_ID, Bools
from abox_ops.modules.found_columns import ROLES, AddSetColumns, code_of
from abox_ops.patch.asking_list import AskingList
from abox_ops.patch.border_columns import Border
from abox_ops.patch.frontier import Frontier
from abox_ops.patch.start_columns import ToldTurns, started, uncovered
from abox_ops.patch.state_columns import PatchInput
from abox_ops.patch.widening_columns import WidenedState
from abox_ops.told.columns import RoundSizes, combine, saturate
from shiq.clause import ClausalTBox
from shiq.columns.arrays import NONE, Columns, Ints, contained, is_in, row_codes, unique


class Patch(WidenedState):
    """I of one batch, growing."""

    def __init__(self, given: PatchInput) -> None:
        super().__init__(given)
        self._name = given.name
        self._asked: Sequence[NamedModule] | None = None
        self._frontier, self._asking = Frontier(), ToldTurns(self)
        self._rows: tuple[Columns, Columns] | None = None

    @property
    def tbox(self) -> ClausalTBox:
        """The clauses over which modules are asked: with the names of residuals."""
        return self.calculus.residuals.tbox

    # --- told⁺ ------------------------------------------------------------------------------------

    def _saturate(self) -> None:
        """told⁺ of what the batch touches and of I."""
        graph, fresh = self.graph, None
        if self._first is None:
            self._first = graph.locate_nodes(self.touched.nodes)
            if self.grown_tbox:
                graph.expand(self._first)
            else:
                graph.meet_insertions()
                graph.gather(self._first)
            combine(self.calculus, graph, unique(graph.rep))
            self.take_in(unique(graph.rep[self._first]), inserted_only=not self.grown_tbox)
            self.active = flags(len(graph), graph.rep[self._first])
        else:
            fresh = self._members()
            fresh = fresh[~self.active[fresh]]
            if not len(fresh):
                return
            graph.expand(fresh)
            self.active[fresh] = True
            if self.grown_tbox:
                self.take_in_all(fresh)
        self._saturate_from(None if fresh is None else flags(len(graph), fresh))

    def _saturate_from(self, changed: Bools | None) -> None:
        """told⁺ of the active elements, all of which have it already but for those that
        ``changed`` (None: all).
        """
        graph, take_in = self.graph, self.take_in_all if self.grown_tbox else None
        self.active = saturate(self.calculus, graph, self.active, take_in, changed=changed)
        self.inside = flags(len(graph), graph.rep[self._members()])
        self.plain = flags(len(graph), graph.rep[self.plain.nonzero()[0]])

    # --- I ----------------------------------------------------------------------------------------

    def close(self, *, to_clash: bool = False, certain: Certain = unheard) -> bool:
        """See `tests.spec.patch.Patch.close`. Stops because I and the plain elements
        grow, and elements merge, in finite sets.
        """
        self._asked = self._rows = None
        while True:
            if self._settle(to_clash, certain):
                return True
            self.assume()
            self.counts = FineCounts(
                self.calculus,
                self.graph,
                self.labels,
                self.inside,
                self._counted,
                self.contradictory(),
            )
            self.stale = self._frontier.stale(self.graph, self.counts, *self._read())
            self.uncertain |= self.stale
            self.border = Border(self.calculus, self.graph, self.outside, self.counts, self)
            source, target, unassumed = self._crossings()
            grown = unique(np.concatenate([target, self._start()]))
            if self.inside[grown].all() and self.plain[unassumed].all():
                # Last, since a pair that crosses by then has the border rules.
                grown = self._uncovered()
                self.uncertain = np.zeros(len(self.graph), np.bool_)
            self._frontier.remember(self.graph, self.counts, *self._read())
            if self.inside[grown].all() and self.plain[unassumed].all():
                return False
            self.effort.hand_on(source, target, deeper=True)
            if deep := self.effort.deep(target):
                from abox_ops.patch.stride_columns import stride

                target = np.concatenate([target, stride(self, deep)])
            self.inside[grown] = True
            self.inside[target] = True
            self.plain[unassumed] = True
            self.plain[target[self.effort.reaches(target)]] = True

    def _settle(self, to_clash: bool, certain: Certain) -> bool:
        """See `tests.spec.patch.Patch._settle`."""
        pace = RoundSizes()
        while True:
            self._saturate()
            clashing = self.clashing()
            if clashing.any():
                certain()
                if to_clash:
                    self.inside = clashing
                    return True
            self.effort.merge(self.graph.rep)
            elements, source, target = self._asked_for()
            if not len(elements):
                return False
            self.inside[elements] = True
            self.effort.hand_on(source, target, deeper=False)
            self.plain[target[self.effort.reaches(target)]] = True
            if pace.is_slow(len(elements), len(self.graph)):
                pace.judge(self._walk(elements))

    def _walk(self, elements: Ints) -> int:
        """Goes on by a work list from the ``elements``, which have just come in; the number of
        its steps.
        """
        if self.grown_tbox or self.effort.has_any:
            return 0
        turns = AskingList(self, self._asking)
        turns.run(elements)
        self._saturate_from(turns.adopt())
        return turns.walk.steps

    def _asked_for(self) -> tuple[Ints, Ints, Ints]:
        """The elements that told⁺ alone asks for, and over which role assertions: pairs of an
        element in I and one of these.
        """
        # Those that the batch touches come in without their role assertions in A.
        self.graph.expand(self._members())
        self.is_new = self._new()
        return self._asking.turn()

    def _read(self) -> tuple[Ints | Bools, ...]:
        """What a round reads of each element, by number."""
        return (
            self.graph.label,
            self.mu,
            self.counts.class_numbers(),
            self.inside,
            self.active,
            self.is_new,
            self.joined,
        )

    def _start(self) -> Ints:
        return started(self, self.border)

    def _uncovered(self) -> Ints:
        return uncovered(self)

    # --- the border -------------------------------------------------------------------------------

    def _crossings(self) -> tuple[Ints, Ints, Ints]:
        """From which elements over role assertions others must come in, these, and the elements
        whose assumption leaves a clause unmet.

        Notes the residuals of the others. An element that contradicts itself settles the matter
        and asks for nothing. Role assertions between elements that are not stale ask for
        nothing, and keep their residuals.
        """
        graph, stale = self.graph, self.stale
        calm = self.inside & ~self.contradictory()
        if not self.inside.any():
            return NONE, NONE, NONE
        source, role, target = graph.half_edges()
        rows = stale[source] | stale[target]
        rows[rows] = calm[source[rows]] & ~self.inside[target[rows]]
        source, role, target, inserted = (
            source[rows],
            role[rows],
            target[rows],
            graph.edges["inserted"][rows],
        )
        seen = self.seen(source, role, target).nonzero()[0]
        clash = seen[self.may_clash(source[seen], target[seen])]
        pulled, unassumed = [(source[clash], target[clash])], [NONE]
        self.pulled_in.note(target[clash], ROLES)
        left = np.ones(len(source), np.bool_)
        left[clash] = False
        source, role, target, inserted = source[left], role[left], target[left], inserted[left]
        asserted = ~inserted
        is_old = contained(
            [source, role, target], [source[asserted], role[asserted], target[asserted]]
        )
        is_old &= ~self.is_new[source] & ~self.is_new[target]
        settled = ~stale[self._kept_out[0]] & ~stale[self._kept_out[1]]
        kept_out = [tuple(column[settled] for column in self._kept_out)]
        for clause, at_branch, open_ in self.open_instances(source, role, target):
            a, b = source[open_], target[open_]
            uncovered = ~self.border.is_covered(clause, at_branch, a, b, is_old[open_])
            a, b = a[uncovered], b[uncovered]
            code = code_of(clause)
            is_far = np.ones(len(a), np.bool_) if self.all_plain else self.effort.reaches(a)
            pulled.append((a[is_far], b[is_far]))
            self.pulled_in.note(b[is_far], code)
            a, b = a[~is_far], b[~is_far]
            if not len(a):
                continue
            residual = self.border.residual(clause, at_branch, self.mu[a])
            said = residual >= 0
            kept_out.append(
                (a[said], b[said], residual[said], np.full(int(said.sum()), code, np.int64))
            )
            a, b = a[~said], b[~said]
            gives_up = self.border.residual(clause, at_branch, graph.label[a]) >= 0
            unassumed.append(a[gives_up])
            pulled.append((a[~gives_up], b[~gives_up]))
            self.pulled_in.note(b[~gives_up], code)
        here, out, residuals, codes = map(np.concatenate, zip(*kept_out))
        self._kept_out = here, out, residuals, codes
        inner, outer = map(np.concatenate, zip(*pulled))
        return inner, outer, unique(np.concatenate(unassumed))

    # --- what is kept -----------------------------------------------------------------------------

    def found(self, *, bare: bool = True) -> AddSetColumns:
        """A_add; ``bare``: with told⁺ alone, else with what is assumed and the residuals."""
        graph, table = self.graph, self.calculus.table
        clash = self.contradictory()
        kept = graph.label.copy()
        elements = self.inside.nonzero()[0]
        if bare:
            kept[elements] = table.visible(graph.label[elements])
        else:
            here, _, residuals, _ = self._kept_out
            start = np.full(len(graph), EMPTY_ID, np.int64)
            kept[elements] = table.join(
                table.visible(self.mu[elements]), table.accumulate(start, here, residuals)[elements]
            )
        edges, data = self._kept()
        touched = unique(graph.rep[self._first]) if self._first is not None else NONE
        clashing = np.flatnonzero(clash)
        return AddSetColumns(
            graph,
            elements,
            self.active,
            graph.label,
            kept,
            touched,
            clashing,
            edges,
            data,
            pulled_in=self.pulled_in,
        )

    def _kept(self) -> tuple[Columns, Columns]:
        """The role assertions and data of I that are kept."""
        if self._rows is None:
            self._rows = self._kept_rows()
        return self._rows

    def _kept_rows(self) -> tuple[Columns, Columns]:
        graph = self.graph
        rest = self.inside & ~self.contradictory()
        source, role, target = graph.half_edges(rest)
        inner = rest[target]
        source, role, target = source[inner], role[inner], target[inner]
        kept = self.keeps(source, role, target) & (role % 2 == 0)
        data = self.kept_data(rest.nonzero()[0])
        return {"source": source[kept], "role": role[kept], "target": target[kept]}, data

    def keeps(self, source: Ints, role: Ints, target: Ints) -> Bools:
        """Which role assertions are kept; all between their ends are among them, from the first
        to the second.
        """
        open_ = self.relevant(source, role, target)
        seen = self.seen(source, role, target) & ~open_
        code = row_codes(source, target)
        linked = is_in(code, code[open_])
        also = (seen & ~linked).nonzero()[0]
        seen[also] = self.may_clash(source[also], target[also])
        kept: Bools = open_ | seen
        return kept

    def asked(self) -> Sequence[NamedModule]:
        """The modules as they are asked: with what is assumed, and residuals."""
        if self._asked is None:
            self._asked = self._name(self.found(bare=False))
        return self._asked

    def bare(self) -> Sequence[NamedModule]:
        """The same modules, in the same order, with told⁺ alone."""
        return self._name(self.found())
