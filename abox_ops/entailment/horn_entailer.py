"""Entailment event by event for Horn TBoxes without counting: (T, B) is saturated once, each event
is propagated outward.
"""

from __future__ import annotations

from collections.abc import Iterable

from shiq import model as owl
from shiq.abox_ops.entailment.event_modules import MOST_TOUCHED, AskedVocabulary
from shiq.abox_ops.entailment.horn_labels import (
    HornLabels,
    LabelClash,
    LabelledGraph,
    LabelOpen,
    RoleGraph,
    is_horn,
)
from shiq.abox_ops.entailment.premises import (
    INCONSISTENT,
    Entailment,
    Premises,
    class_text,
    is_reportable,
    undetermined_entailment,
)
from shiq.answers.verdict import Verdict
from shiq.datatypes import DataTheory, IllTyped
from shiq.model.walk import is_reserved
from shiq.simplify import simplify
from shiq.support import bits


class UnsupportedAssertion(Exception):
    """Signal: an assertion is no class, role or data assertion on a name."""


class HornEntailer:
    """Entailment event by event for a Horn T without counting and a B of assertions on names."""

    def __init__(self, premises: Premises, asked: AskedVocabulary, labels: HornLabels) -> None:
        self._asked, self._labels = asked, labels
        self._atoms = labels.tbox.atom_ids
        self._theory = DataTheory()
        self._texts: dict[int, frozenset[str]] = {}
        #: Properties that are not built in.
        self._allowed_properties: set[str] = set()
        texts = {name: class_text(c) for c, name in asked.names.items()}
        wanted = premises.class_names if asked.classes is None else texts
        self._wanted = {
            self._atoms[name]: texts.get(name, name) for name in wanted if name in self._atoms
        }
        self._individuals = IndividualNumbering()
        self._graph = LabelledGraph(labels)
        self._roles = RoleGraph(labels.tbox.roles, asked.roles)
        #: Asserted classes that T does not have, by individual.
        self._classes_beyond_tbox: dict[int, frozenset[str]] = {}
        self._is_consistent = True
        try:
            self._read_assertions(
                premises.abox,
                self._individuals,
                self._graph,
                self._roles,
                self._classes_beyond_tbox,
            )
            self._graph.saturate()
            self._individuals.freeze()
        except LabelClash:
            self._is_consistent = False

    @classmethod
    def build(cls, premises: Premises, asked: AskedVocabulary) -> HornEntailer | None:
        """Open ``premises``; None if T is not Horn or B has assertions that are not on names."""
        if (
            not premises.is_in_shiq
            or premises.problems
            or premises.abox.complex
            or premises.abox.same
            or premises.abox.different
        ):
            return None
        plain = [axiom for axiom in asked.axioms if not _is_domain_or_range(axiom)]
        clauses = simplify(owl.TBox((*premises.tbox.axioms, *plain))).clauses
        if not is_horn(clauses):
            return None
        try:
            return cls(premises, asked, HornLabels(clauses))
        except (LabelClash, LabelOpen, UnsupportedAssertion):
            return None

    def entailment(self, assertions: Iterable[owl.Assertion], *, static: bool) -> Entailment | None:
        """Compute what (T, B ∪ ``assertions``) entails; None if one of these is not on names."""
        if not self._is_consistent:
            return INCONSISTENT
        try:
            individuals, graph, roles, loose = self._saturate_event(assertions)
        except UnsupportedAssertion:
            return None
        except LabelClash:
            return INCONSISTENT
        except LabelOpen as reason:
            return undetermined_entailment(str(reason))
        mentioned = individuals.numbers
        touches, changes = (
            self._touched_individuals(graph, individuals),
            self._changed_individuals(graph, individuals),
        )
        types = {i: self._class_texts(graph.label_of(x), x, loose) for i, x in mentioned.items()}
        within, beyond = roles.entailed_pairs(set(mentioned.values()), static=static)
        named = individuals.name_of
        pairs = frozenset((role, named(a), named(b)) for role, a, b in within)
        if not static:
            return Entailment(Verdict.CONSISTENT, types, pairs, touches=touches, changes=changes)
        grown = [x for x in graph.label if x < individuals.first and named(x) not in mentioned]
        more = {
            named(x): self._class_texts(graph.label_of(x), x, {})
            - self._class_texts(self._graph.label_of(x), x, {})
            for x in grown
        }
        return Entailment(
            Verdict.CONSISTENT,
            types,
            pairs,
            {i: classes for i, classes in more.items() if classes},
            frozenset((role, named(a), named(b)) for role, a, b in beyond),
            touches=touches,
            changes=changes,
        )

    def changed_individuals(self, assertions: Iterable[owl.Assertion]) -> frozenset[str] | None:
        """Find the individuals whose classes or links change by adding ``assertions``; None:
        possibly any.
        """
        try:
            individuals, graph, _, _ = self._saturate_event(assertions)
        except (UnsupportedAssertion, LabelClash, LabelOpen):
            return None
        return self._changed_individuals(graph, individuals)

    def _changed_individuals(
        self, graph: LabelledGraph, individuals: IndividualNumbering
    ) -> frozenset[str]:
        """Collect the individuals of the event, and those of B whose label grew."""
        grown = (
            x
            for x, label in graph.label.items()
            if x < individuals.first and label != self._graph.label_of(x)
        )
        return frozenset(individuals.numbers).union(map(individuals.name_of, grown))

    def _saturate_event(
        self, assertions: Iterable[owl.Assertion]
    ) -> tuple[IndividualNumbering, LabelledGraph, RoleGraph, dict[int, frozenset[str]]]:
        """Add ``assertions`` to the saturated (T, B) and saturate again.

        Returns: the individuals, labels, roles, and by individual the asserted classes that T does
        not have. Raises: UnsupportedAssertion, LabelClash, LabelOpen.
        """
        individuals = IndividualNumbering(self._individuals)
        graph = LabelledGraph(self._labels, self._graph)
        roles = RoleGraph(self._labels.tbox.roles, self._asked.roles, self._roles)
        loose: dict[int, frozenset[str]] = {}
        self._read_assertions(assertions, individuals, graph, roles, loose)
        graph.saturate()
        return individuals, graph, roles, loose

    def _touched_individuals(
        self, graph: LabelledGraph, individuals: IndividualNumbering
    ) -> frozenset[str] | None:
        """Find the individuals whose labels were read; None if there are too many, or if role pairs
        are asked about.
        """
        mine = {*graph.label, *individuals.numbers.values()}
        edges = [edge for x in mine for edge in self._graph.edges.get(x, ())]
        if len(edges) > MOST_TOUCHED or self._asked.roles:
            return None
        return frozenset(individuals.name_of(x) for x in mine.union(*(edge[1:] for edge in edges)))

    def _class_texts(
        self, label: int, x: int, unknown_classes: dict[int, frozenset[str]]
    ) -> frozenset[str]:
        """The texts of the asked classes in a label, and of the classes asserted of x that T does
        not have.
        """
        found = self._texts.get(label)
        if found is None:
            wanted = self._wanted
            found = frozenset(wanted[a] for a in bits(self._labels.names[label]) if a in wanted)
            self._texts[label] = found
        more = (
            unknown_classes.get(x, frozenset()) | self._classes_beyond_tbox.get(x, frozenset())
            if unknown_classes or self._classes_beyond_tbox
            else None
        )
        return found | more if more else found

    def _read_assertions(
        self,
        assertions: Iterable[owl.Assertion],
        individuals: IndividualNumbering,
        graph: LabelledGraph,
        roles: RoleGraph,
        unknown_classes: dict[int, frozenset[str]],
    ) -> None:
        """Add ``assertions`` to the labelled graph and the role graph; classes that T does not have
        go to ``unknown_classes``. Raises: UnsupportedAssertion.
        """
        atoms, number = self._atoms, individuals.id_of
        names: dict[int, int] = {}
        edges: dict[tuple[str, int, int], None] = {}
        for assertion in assertions:
            match assertion:
                case owl.ClassAssertion(owl.Class(name), individual):
                    x = number(individual)
                    if name in atoms:
                        names[x] = names.get(x, 0) | 1 << atoms[name]
                    elif name == owl.NOTHING.iri:
                        raise LabelClash
                    else:
                        names.setdefault(x, 0)
                        if self._is_asked_about(name):
                            unknown_classes[x] = unknown_classes.get(x, frozenset()) | {name}
                case owl.ObjectPropertyAssertion(owl.ObjectProperty(iri), subject, object):
                    if iri not in self._allowed_properties:
                        if is_reserved(iri):
                            raise UnsupportedAssertion
                        self._allowed_properties.add(iri)
                    edges[iri, number(subject), number(object)] = None
                case owl.DataPropertyAssertion(_, individual, literal):
                    number(individual)
                    if isinstance(self._theory.value(literal), IllTyped):
                        raise LabelClash
                case _:
                    raise UnsupportedAssertion
        for x, told in names.items():
            graph.add_names(x, told)
        for iri, x, y in edges:
            roles.add_pair(iri, x, y)
            role = self._labels.role_id(iri)
            if role >= 0:
                graph.add_edge(role, x, y)

    def _is_asked_about(self, name: str) -> bool:
        """Decide whether the questions are about this class."""
        classes = self._asked.classes
        return is_reportable(name) if classes is None else owl.Class(name) in classes


class IndividualNumbering:
    """Ids of individuals, continuing those of a numbering ``below``.

    ``numbers``: the ids assigned here.
    """

    def __init__(self, below: IndividualNumbering | None = None) -> None:
        self._base_numbers = {} if below is None else below.numbers
        self.numbers: dict[str, int] = {}
        self._names: list[str] = [] if below is None else below._names
        self._more: list[str] = []
        self.first = len(self._base_numbers)

    def id_of(self, individual: str) -> int:
        """The id of ``individual``; assigned if it is new."""
        found = self.numbers.get(individual)
        if found is None:
            found = self._base_numbers.get(individual)
            if found is None:
                found = self.first + len(self._more)
                self._more.append(individual)
            self.numbers[individual] = found
        return found

    def name_of(self, id_: int) -> str:
        """The individual that has this id."""
        return self._names[id_] if id_ < self.first else self._more[id_ - self.first]

    def freeze(self) -> IndividualNumbering:
        """Return this numbering as a base on which others continue."""
        self._names = [*self._names, *self._more]
        return self


def _is_domain_or_range(axiom: owl.Axiom) -> bool:
    """Decide whether an axiom has the form C ⊑ ∀R.D, as domains and ranges do."""
    return isinstance(axiom, owl.SubClassOf) and isinstance(axiom.sup, owl.ObjectAllValuesFrom)
