"""Select the role and data assertions that labels and counts leave undecided, in columns (THEORY,
"Irrelevant role assertions", "The add set" and "Beyond SHIQ(D), at no loss").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from shiq.abox_ops.counting.merge_classes import MergeClasses
from shiq.abox_ops.elements.graph import Graph, flags, rows_of_elements
from shiq.abox_ops.index.index import Index, TouchedNodes
from shiq.abox_ops.labels.irrelevance import constrained_roles, roles_below_any
from shiq.abox_ops.labels.label_calculus import CompiledClause
from shiq.abox_ops.labels.label_numbers import Bools
from shiq.abox_ops.labels.numbered_calculus import NumberedCalculus
from shiq.abox_ops.modules.class_values import ClassValues
from shiq.columns.arrays import NONE, Columns, Ints, distinct_with_inverse, row_codes, unique
from shiq.deadline import report_stage
from shiq.model.clause import DataAtMost
from shiq.model.roles import Role


@dataclass(frozen=True)
class NegatedProperties:
    """Roles and data properties that negative assertions or role axioms are about, closed
    downwards.

    axiom_roles: roles of disjointness, asymmetry and irreflexivity axioms.
    roles, data: roles and data properties of negative assertions.
    """

    axiom_roles: frozenset[Role]
    roles: frozenset[Role]
    data: frozenset[str]


def negated_properties(
    index: Index, calculus: NumberedCalculus, touched_nodes: TouchedNodes
) -> NegatedProperties:
    """Collect the roles and data properties of negative assertions in A ∪ A⁺, and the roles of role
    axioms.
    """
    roles = calculus.tbox.roles
    return NegatedProperties(
        constrained_roles(roles),
        roles_below_any(index.negated_roles | touched_nodes.negated_roles, roles),
        roles.data_subproperties_of_any(
            index.negated_properties | touched_nodes.negated_properties
        ),
    )


@dataclass(frozen=True, eq=False)
class OpenAssertions:
    """Tests whether role and data assertions of a graph are decided, so that they may be left out
    of A_add.

    labels: gives the label number of each element. counts: gives the merge classes; called only
        when needed.
    """

    calculus: NumberedCalculus
    graph: Graph
    negated_properties: NegatedProperties
    labels: Callable[[], Ints]
    counts: Callable[[], MergeClasses]

    def is_relevant(self, source: Ints, role: Ints, target: Ints) -> Bools:
        """Decide whether each role assertion is relevant (THEORY, "Irrelevant role assertions")."""
        if not len(source):
            return np.zeros(0, np.bool_)
        calculus, label = self.calculus.role_propagation, self.labels()
        keys, inverse = calculus.distinct_edges(role, label[source], label[target])
        # A clause of u-type settles the matter, however many there are: nothing is counted then.
        is_settled = [any(not c.n for c, _ in calculus.undecided_clauses(*key)) for key in keys]
        relevant = np.array(is_settled, np.bool_)[inverse]
        rest = (~relevant).nonzero()[0]
        for clause, at_branch, rows in self.open_instances(source[rest], role[rest], target[rest]):
            rows = rest[rows]
            rows = rows[~relevant[rows]]
            if len(rows):
                centres = (target if at_branch else source)[rows]
                relevant[rows] = ~self.counts().is_within_bound(centres, clause)
        return relevant

    def open_instances(
        self, source: Ints, role: Ints, target: Ints
    ) -> Iterator[tuple[CompiledClause, bool, Ints]]:
        """Yield the clauses that the labels leave undecided on the role assertions.

        Each with whether the source is the branch, and the rows concerned.
        """
        if not len(source):
            return
        calculus, label = self.calculus.role_propagation, self.labels()
        keys, inverse = calculus.distinct_edges(role, label[source], label[target])
        by_clause: dict[tuple[int, bool], list[int]] = {}
        compiled: dict[int, CompiledClause] = {}
        for i, key in enumerate(keys):
            for clause, at_branch in calculus.undecided_clauses(*key):
                compiled[clause.index] = clause
                by_clause.setdefault((clause.index, at_branch), []).append(i)
        for (number, at_branch), which in sorted(by_clause.items()):
            yield (
                compiled[number],
                at_branch,
                flags(len(keys), np.array(which, np.int64))[inverse].nonzero()[0],
            )

    def is_constrained(self, source: Ints, role: Ints, target: Ints) -> Bools:
        """Decide whether a disjointness, asymmetry or irreflexivity axiom or a negative assertion
        may be about each role assertion.
        """
        seen = self.calculus.is_role_in(role, self.negated_properties.axiom_roles)
        if self.negated_properties.roles:
            maybe = (
                ~seen & self.calculus.is_role_in(role, self.negated_properties.roles)
            ).nonzero()[0]
            if len(maybe):
                seen[maybe] = self._meets_negative(source[maybe], role[maybe], target[maybe])
        return seen

    def _meets_negative(self, source: Ints, role: Ints, target: Ints) -> Bools:
        """Decide whether each role assertion may contradict a negative one: on a role above,
        between members of the merge classes of its ends.
        """
        counts, roles = self.counts(), self.calculus.roles
        self.graph.fetch_edges(counts.members(unique(counts.class_codes(source)))[1])
        rep = self.graph.rep
        ends = [counts.class_codes(end) for end in (source, target)]
        within: dict[int, set[int]] = {}
        for class_, element in zip(
            *(column.tolist() for column in counts.members(unique(np.concatenate(ends))))
        ):
            within.setdefault(class_, set()).add(element)
        negative: dict[int, list[tuple[Role, int]]] = {}
        for a, r, b in self.graph.complex_facts.negative_edges:
            negative.setdefault(int(rep[a]), []).append((r, int(rep[b])))
        above = self.calculus.tbox.roles.superroles
        against = {
            a: [found for x in within[a] for found in negative.get(x, ())]
            for a in unique(ends[0]).tolist()
        }

        def has_negative_above(a: int, role: Role, b: int) -> bool:
            """Decide whether a negative assertion on a role above lies between the two merge
            classes.
            """
            return any(r in above(role) and y in within[b] for r, y in against[a])

        triples = zip(ends[0].tolist(), role.tolist(), ends[1].tolist())
        return np.fromiter(
            (has_negative_above(a, roles[r], b) for a, r, b in triples), np.bool_, len(source)
        )

    # --- data -------------------------------------------------------------------------------------

    def is_decided(self, element: Ints, property: Ints, literal: Ints) -> Bools:
        """Decide whether each data assertion is decided at its element (THEORY, "The add set":
        data).
        """
        if not len(element):
            return np.zeros(0, np.bool_)
        calculus = self.calculus
        kept = calculus.data.disjoint_properties | self.negated_properties.data
        decided = ~calculus.is_property_in(property, kept)
        bounded = calculus.is_property_in(property, calculus.bounded_properties)
        asked = (decided & bounded).nonzero()[0]
        if len(asked):
            decided[asked] = self._is_decided_by_counting(
                element[asked], property[asked], literal[asked]
            )
        return decided

    def _is_decided_by_counting(self, element: Ints, property: Ints, literal: Ints) -> Bools:
        """Decide whether counting values decides each data assertion on a property with an at-most
        restriction, once per distinct question.
        """
        calculus = self.calculus
        names = calculus.names.data_properties.values
        _, which, example = distinct_with_inverse(literal)
        alike = calculus.are_indistinct_strings(
            property, self.graph.union.are_strings(literal[example])[which]
        )
        label = calculus.table.restrict_all(self.labels()[element], calculus.data_clause_mask)
        counts = calculus.is_property_in(property, calculus.counted_properties)
        class_ = np.where(counts, self.counts().class_codes(element), -1)
        _, question, example = distinct_with_inverse(
            row_codes(property, label, np.where(alike, -1, which), class_)
        )
        fetched: list[ClassValues] = []

        def count_values(i: int, atom: DataAtMost) -> int:
            """Count the values of the merge class of row ``i``."""
            if not fetched:
                fetched.append(self._values_of_classes(unique(class_[example])))
            return fetched[0].count_values(atom, int(class_[i]))

        answers = [
            calculus.data.is_decided(
                names[int(property[i])],
                value,
                calculus.table.labels[int(label[i])],
                partial(count_values, i),
                self.negated_properties.data,
            )
            for i, value in zip(example.tolist(), self.graph.union.literals_of(literal[example]))
        ]
        return np.array(answers, np.bool_)[question]

    def _values_of_classes(self, classes: Ints) -> ClassValues:
        """Collect labels and data of every member of the merge ``classes``, given by code; -1
        stands for no class.
        """
        classes = classes[classes >= 0]
        members = self.counts().members(classes)
        elements = unique(members[1])
        self.graph.fetch_members(elements)
        rows = rows_of_elements(self.graph, "data_assertions", elements)
        return ClassValues(
            self.calculus,
            classes,
            members,
            self.labels()[members[1]],
            rows,
            self.graph.union.literals_of,
        )

    def kept_data(self, elements: Ints) -> Columns:
        """Select the data assertions of ``elements`` that their labels do not decide."""
        seen = (
            self.calculus.bounded_properties
            | self.calculus.data.disjoint_properties
            | self.negated_properties.data
        )
        rows = rows_of_elements(self.graph, "data_assertions", elements if seen else NONE)
        if len(rows["element"]):
            report_stage("checking data values")
        kept = ~self.is_decided(rows["element"], rows["property"], rows["literal"])
        return {name: column[kept] for name, column in rows.items()}
