"""DL-Lite view of a TBox: inclusions between basic concepts and roles that it entails, and the
axioms that do not fit.

The view is extracted from DL-clauses. A clause with one body label and one head is a positive
inclusion; with an empty head it is a negative one; with a longer body it is a Horn rule. ∃R.B on
the right becomes ∃W for a role W of its own, with ∃W ⊑ ∃R, ∃W⁻ ⊑ ∃R⁻ and ∃W⁻ ⊑ B. Roles are labels
too, of pairs of individuals: role inclusions and disjointness are inclusions over them.

A label is the text of a basic concept or role: a class name, ∃P, ∃P⁻, ∃U, or a role P or P⁻ of a
pair. IRIs begin with a letter, so no IRI looks like another label. Some auxiliary labels are
displayed as the assertions that they stand for: →P is P on a pair, ↺P holds of a if P(a,a), and !U
holds of individuals with a U-value outside the range of U.

>>> existential_label(Role("urn:p", True)), display_label(loop_label("urn:p")), display_label(out_of_range_label("urn:u"))
('∃urn:p⁻', 'urn:p', '∃urn:u')
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TypeAlias

from shiq.datatypes import DataTheory
from shiq.model import NOTHING, TOP_DATATYPE, Axiom, Signature, TBox
from shiq.model.clause import AtLeast, Clause, DataAtLeast, DataAtMost
from shiq.model.roles import Role, role_box, transitive_closure
from shiq.simplify import simplify
from shiq.simplify.inclusion import role_origins

EXISTS, INVERSE, PAIR, LOOP, OUT_OF_RANGE = "∃", "⁻", "→", "↺", "!"


def role_label(role: Role) -> str:
    """Label of a role: the text that stands for its pairs of individuals. In this package, a label
    is the text that stands for a basic concept or role.
    """
    return PAIR + role.iri + INVERSE * role.is_inverse


def existential_label(role: Role) -> str:
    """Label of the concept ∃R for the role R: the text that stands for the individuals with an
    R-successor.
    """
    return EXISTS + role.iri + INVERSE * role.is_inverse


def loop_label(iri: str) -> str:
    """Label of the individuals that the object property ``iri`` links to themselves."""
    return LOOP + iri


def out_of_range_label(iri: str) -> str:
    """Label of the individuals that have a value outside the ranges of the data property ``iri``."""
    return OUT_OF_RANGE + iri


def display_label(label: str) -> str:
    """Label as output rows show it. A pair or loop label becomes the property's IRI, an
    out-of-range label the label ∃ of its data property.
    """
    return (
        EXISTS + label[1:]
        if label[0] == OUT_OF_RANGE
        else label[1:]
        if label[0] in (PAIR, LOOP)
        else label
    )


#: Origins are indexes into the axioms.
Origins: TypeAlias = frozenset[int]
#: A set of labels that nothing has all of: one, two, or (Horn) more.
Negative: TypeAlias = frozenset[str]


@dataclass(frozen=True, eq=False)
class DLLiteView:
    """DL-Lite approximation of a TBox: positive and negative inclusions over text labels of basic
    concepts and roles.

    positive: (subsumed, subsuming) label with the axioms it comes from.
    negative: negative inclusions of the TBox, without entailed ones.
    horn_rules: Horn rules (body, head).
    unsupported_axioms: by index, the reason.
    vocabulary: labels that can be asserted of an individual or, if axioms use them, of a pair.
    auxiliary_labels: auxiliary labels, which are not counted.
    range_limits: limits of data ranges, as at-most-0 restrictions on values outside.
    has_pair_labels: whether roles are used as labels of pairs.
    """

    axioms: tuple[Axiom, ...]
    signature: Signature
    positive: Mapping[tuple[str, str], Origins]
    negative: Mapping[Negative, Origins]
    horn_rules: Mapping[tuple[Negative, str], Origins]
    unsupported_axioms: Mapping[int, str]
    vocabulary: frozenset[str]
    auxiliary_labels: frozenset[str]
    range_limits: Mapping[DataAtMost, Origins]
    theory: DataTheory
    has_pair_labels: bool

    @cached_property
    def direct_superlabels(self) -> dict[str, list[str]]:
        """Labels that subsume each label by one positive inclusion."""
        steps: dict[str, list[str]] = {}
        for sub, sup in self.positive:
            steps.setdefault(sub, []).append(sup)
        return steps

    @cached_property
    def superlabels(self) -> dict[str, frozenset[str]]:
        """Labels that subsume each label, directly or transitively, and itself; only for labels in
        positive inclusions.
        """
        return transitive_closure(self.positive)

    @cached_property
    def sublabels(self) -> dict[str, frozenset[str]]:
        """Labels that each label subsumes, directly or transitively, and itself; only for labels in
        positive inclusions.
        """
        return transitive_closure([(sup, sub) for sub, sup in self.positive])

    def ancestors(self, label: str) -> frozenset[str]:
        """``label`` and all labels that subsume it."""
        return self.superlabels.get(label) or frozenset((label,))

    def descendants(self, label: str) -> frozenset[str]:
        """``label`` and all labels that it subsumes."""
        return self.sublabels.get(label) or frozenset((label,))

    def chain_axioms(self, label: str, tops: Iterable[str]) -> Origins:
        """Indexes of the axioms on shortest chains of inclusions from ``label`` to each of ``tops``
        that subsumes it.
        """
        came: dict[str, str | None] = {label: None}
        queue = deque((label,))
        while queue:
            sub = queue.popleft()
            for sup in self.direct_superlabels.get(sub, ()):
                if sup not in came:
                    came[sup] = sub
                    queue.append(sup)
        origins: Origins = frozenset()
        for top in tops:
            at = top if top in came else label
            while (before := came[at]) is not None:
                origins |= self.positive[before, at]
                at = before
        return origins

    @cached_property
    def existential_pairs(self) -> tuple[tuple[str, str], ...]:
        """Label pairs (∃R, ∃R⁻) of all object properties, including the auxiliary ones that replace
        qualified existentials.
        """
        known = self.vocabulary.union(*self.positive, *self.negative)
        inverses = {
            label: label[:-1] if label.endswith(INVERSE) else label + INVERSE
            for label in known
            if label.startswith(EXISTS)
        }
        data = {EXISTS + iri for iri in self.signature.data_properties}
        return tuple(
            (label, inverse) for label, inverse in sorted(inverses.items()) if label not in data
        )


def select_range_limits(
    property: str, range_limits: Mapping[DataAtMost, Origins], theory: DataTheory
) -> dict[DataAtMost, Origins]:
    """Select the range axioms that limit the values of the data property ``property``: its own and
    those of its superproperties.
    """
    above = theory.roles.data_superproperties(property)
    return {limit: origins for limit, origins in range_limits.items() if limit.property in above}


def assume_siblings_disjoint(view: DLLiteView) -> DLLiteView:
    """Add the assumption that sibling classes are disjoint unless they have a common subclass.

    Siblings are classes directly below the same class, or classes without superclass.
    """
    names = view.signature.classes
    told = {
        name: {sup for sub, sup in view.positive if sub == name and sup in names} for name in names
    }
    tops = {name for name in names if not (view.ancestors(name) & names) - {name}}
    assumed = {
        frozenset((first, second)): frozenset[int]()
        for first, second in combinations(sorted(names), 2)
        if (told[first] & told[second] or {first, second} <= tops)
        and view.descendants(first).isdisjoint(view.descendants(second))
    }
    return replace(view, negative=assumed | dict(view.negative))


# The DL-Lite view of a TBox, read off its DL-clauses and role axioms: each is taken in, or left
# out with a word on why.


def build_dl_lite_view(tbox: TBox) -> DLLiteView:
    """Build the DL-Lite view of ``tbox`` from its normalised clauses. Raises: UsageError as
    `simplify` does.
    """
    clauses = simplify(tbox).clauses
    reading = _ViewBuilder(
        DataTheory(clauses.definitions, clauses.roles), dict(_find_range_limits(clauses.clauses))
    )
    for clause in clauses.clauses:
        reading.add_clause(clause)
    for index, axiom in enumerate(tbox.axioms):
        reading.add_role_axiom(index, axiom)
    for role, steps in role_origins(tbox.axioms).steps.items():
        for above, index in steps:
            reading.add_positive_inclusion(
                existential_label(role), existential_label(above), {index}
            )
    signature = tbox.signature
    for iri in sorted(signature.data_properties):
        reading.add_data_range(iri)
    pairs = any(label[0] in (PAIR, LOOP) for negative in reading.negative for label in negative)
    if pairs:
        reading.add_pair_inclusions(tbox, signature)
    roles, loops = (
        _signature_roles(signature) if pairs else [],
        sorted(signature.object_properties) if pairs else [],
    )
    concepts = {
        *signature.classes,
        *map(existential_label, _signature_roles(signature)),
        *(EXISTS + iri for iri in signature.data_properties),
    }
    return DLLiteView(
        tbox.axioms,
        signature,
        reading.positive,
        reading.negative,
        reading.horn,
        dict(sorted(reading.unsupported_axioms.items())),
        frozenset({*concepts, *map(role_label, roles)}),
        frozenset(
            {
                NOTHING.iri,
                *map(out_of_range_label, signature.data_properties),
                *map(loop_label, loops),
            }
        ),
        reading.misfits,
        reading.theory,
        pairs,
    )


def _signature_roles(signature: Signature) -> list[Role]:
    """All object properties of a signature and their inverses, as roles."""
    return [
        Role(iri, inverted)
        for iri in sorted(signature.object_properties)
        for inverted in (False, True)
    ]


def _find_range_limits(clauses: tuple[Clause, ...]) -> Iterator[tuple[DataAtMost, Origins]]:
    """Yield the range restrictions among clauses, ⊤ ⊑ ≤0 U.D (no U-value in D), with the indexes of
    their axioms.
    """
    for clause in clauses:
        match clause:
            case Clause(body=(), head=(DataAtMost(n=0) as limit,), role=None):
                yield limit, clause.origins


class _ViewBuilder:
    """Builder of a DL-Lite view: collects inclusions from clauses and role axioms."""

    def __init__(self, theory: DataTheory, misfits: dict[DataAtMost, Origins]) -> None:
        self.theory, self.misfits = theory, misfits
        self.positive: dict[tuple[str, str], Origins] = {}
        self.negative: dict[Negative, Origins] = {}
        self.horn: dict[tuple[Negative, str], Origins] = {}
        self.unsupported_axioms: dict[int, str] = {}

    def add_positive_inclusion(
        self, sub: str, sup: str, origins: Origins | set[int] | tuple[()]
    ) -> None:
        """Add the positive inclusion sub ⊑ sup between labels. ``origins``: indexes of the axioms
        behind it.
        """
        if sub != sup:
            self.positive.setdefault((sub, sup), frozenset(origins))

    def add_negative_inclusion(self, labels: set[str], origins: Origins | set[int]) -> None:
        """Add a negative inclusion: no individual has all of ``labels``. ``origins``: indexes of
        the axioms behind it.
        """
        self.negative.setdefault(frozenset(labels), frozenset(origins))

    def mark_unsupported(self, origins: Origins | set[int], reason: str) -> None:
        """Record that axioms, given by index, are outside DL-Lite, and the ``reason``."""
        for index in origins:
            self.unsupported_axioms.setdefault(index, reason)

    def add_clause(self, clause: Clause) -> None:
        """Add the inclusion that a clause states, or record its axioms as unsupported."""
        if clause.at_most:
            return self.mark_unsupported(clause.origins, "it bounds a number of successors")
        body, heads = set(clause.body), list(clause.head)
        if clause.role is not None:
            if clause.branch_head or clause.branch_body:
                if body or heads:
                    return self.mark_unsupported(
                        clause.origins, "it speaks of an individual and of its neighbours at once"
                    )
                body, heads = (
                    {existential_label(clause.role.inverse), *clause.branch_body},
                    list(clause.branch_head),
                )
            else:
                body.add(existential_label(clause.role))
        for atom in [head for head in heads if isinstance(head, DataAtMost)]:
            if not body and len(heads) == 1 and not atom.n:
                return None  # a range: see `add_data_range`
            if atom.n or atom.range != TOP_DATATYPE:
                return self.mark_unsupported(
                    clause.origins, "it bounds the values of a data property beyond its range"
                )
            body.add(EXISTS + atom.property)
            heads.remove(atom)
        if not body:
            return self.mark_unsupported(clause.origins, "it speaks of every individual")
        if len(heads) > 1:
            return self.mark_unsupported(
                clause.origins, "it leaves a choice (a disjunction on the right)"
            )
        return (
            self.add_implication(body, heads[0], clause.origins)
            if heads
            else self.add_negative_inclusion(body, clause.origins)
        )

    def add_implication(self, body: set[str], head: object, origins: Origins) -> None:
        """Add body ⊑ head as a positive inclusion, or as a Horn rule if the body has several
        labels.
        """
        match head:
            case str():
                sup = head
            case AtLeast(1, role, None):
                sup = existential_label(role)
            case AtLeast(1, role, filler):
                witness = Role(f"{role_label(role)}.{filler}")
                sup = existential_label(witness)
                self.add_positive_inclusion(sup, existential_label(role), ())
                self.add_positive_inclusion(
                    existential_label(witness.inverse), existential_label(role.inverse), ()
                )
                self.add_positive_inclusion(existential_label(witness.inverse), str(filler), ())
            case DataAtLeast(1, property):
                limits = select_range_limits(property, self.misfits, self.theory)
                possible = self.theory.satisfiable([head], limits, ())
                if possible is None:
                    self.mark_unsupported(origins, "whether there is such a value is not decided")
                elif not possible:
                    return self.add_negative_inclusion(body, origins.union(*limits.values()))
                sup = EXISTS + property
            case _:
                return self.mark_unsupported(origins, "it demands several successors")
        if len(body) == 1:
            self.add_positive_inclusion(body.pop(), sup, origins)
        elif sup not in body:
            self.horn.setdefault((frozenset(body), sup), origins)
        return None

    def add_data_range(self, property: str) -> None:
        """Add inclusions that make values of ``property`` outside its ranges contradictory, and the
        property itself if its ranges are empty.
        """
        self.add_positive_inclusion(out_of_range_label(property), NOTHING.iri, ())
        limits = select_range_limits(property, self.misfits, self.theory)
        if self.theory.satisfiable([DataAtLeast(1, property, TOP_DATATYPE)], limits, ()) is False:
            self.add_negative_inclusion(
                {EXISTS + property}, frozenset[int]().union(*limits.values())
            )

    def add_role_axiom(self, index: int, axiom: Axiom) -> None:
        """Add the inclusions that a role axiom states. ``index``: its index in the TBox."""
        box = role_box((axiom,))
        for first, second in box.disjoint:
            self.add_negative_inclusion({role_label(first), role_label(second)}, {index})
            self.add_negative_inclusion(
                {role_label(first.inverse), role_label(second.inverse)}, {index}
            )
        for role in box.asymmetric:
            self.add_negative_inclusion({role_label(role), role_label(role.inverse)}, {index})
        for role in box.irreflexive:
            self.add_negative_inclusion({loop_label(role.iri)}, {index})
        for sub, sup in box.data_inclusions:
            self.add_positive_inclusion(EXISTS + sub, EXISTS + sup, {index})
        if box.disjoint_data:
            self.mark_unsupported({index}, "it compares values of two data properties")

    def add_pair_inclusions(self, tbox: TBox, signature: Signature) -> None:
        """Add the role hierarchy as inclusions between labels of pairs; a loop R(a,a) is in R and
        in its inverse.
        """
        for role, steps in role_origins(tbox.axioms).steps.items():
            for above, index in steps:
                self.add_positive_inclusion(role_label(role), role_label(above), {index})
                self.add_positive_inclusion(loop_label(role.iri), loop_label(above.iri), {index})
        for iri in sorted(signature.object_properties):
            self.add_positive_inclusion(loop_label(iri), role_label(Role(iri)), ())
            self.add_positive_inclusion(loop_label(iri), role_label(Role(iri, True)), ())
