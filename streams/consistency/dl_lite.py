"""The DL-Lite view of a TBox: inclusions between basic concepts and between roles, and what lies
outside them, aloud.

Read off the DL-clauses. One body label and one head is a positive inclusion, an empty head a
negative one, a longer body a Horn rule. ∃R.B on the right is ∃W for a role W of its own, ∃W ⊑
∃R, ∃W⁻ ⊑ ∃R⁻, ∃W⁻ ⊑ B. Roles are labels too, of the pair of two individuals: role inclusions and
role disjointness are inclusions over them.

How basic concepts and roles are written: a label is a name, ∃P, ∃P⁻, ∃U, or a role P, P⁻
between the two of a pair.

An IRI begins with a letter, so that none looks like a label of another kind. Some labels stand
in for others and are shown as these: →P is P between the two of a pair, ↺P what P(a,a) has, !U
what a value outside the range of U has; and ∃R.B belongs to witnesses alone.

>>> existential(Role("urn:p", True)), display_label(loop_label("urn:p")), display_label(misfit_label("urn:u"))
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
from shiq.model.roles import Role, reachable, role_box
from shiq.simplify import simplify
from shiq.simplify.inclusion import role_origins

EXISTS, INVERSE, PAIR, LOOP, MISFIT = "∃", "⁻", "→", "↺", "!"


def role_label(role: Role) -> str:
    """Return the label of a pair of a role."""
    return PAIR + role.iri + INVERSE * role.is_inverse


def existential(role: Role) -> str:
    """Return the label of what has a successor by ``role``."""
    return EXISTS + role.iri + INVERSE * role.is_inverse


def loop_label(iri: str) -> str:
    """Return the label of what a role links to itself."""
    return LOOP + iri


def misfit_label(iri: str) -> str:
    """Return the label of a value outside the ranges of a data property."""
    return MISFIT + iri


def display_label(label: str) -> str:
    """As rows show it: what was asserted."""
    return (
        EXISTS + label[1:]
        if label[0] == MISFIT
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
    """``positive``: (sub, sup) with origins; ``negative``: told; ``horn``: (body, head).
    ``unsupported_axioms``: by axiom, why.

    ``vocabulary``: what can be asserted of an individual or, if any axiom speaks of them, a
    pair; ``stand_ins``: labels that tell assertions apart, and are not counted. ``misfits``:
    what data values may not be, as at-most restrictions by property; ``has_pair_labels``: whether roles
    are looked at as labels of pairs.
    """

    axioms: tuple[Axiom, ...]
    signature: Signature
    positive: Mapping[tuple[str, str], Origins]
    negative: Mapping[Negative, Origins]
    horn: Mapping[tuple[Negative, str], Origins]
    unsupported_axioms: Mapping[int, str]
    vocabulary: frozenset[str]
    stand_ins: frozenset[str]
    misfits: Mapping[DataAtMost, Origins]
    theory: DataTheory
    has_pair_labels: bool

    @cached_property
    def direct_superlabels(self) -> dict[str, list[str]]:
        """What is told directly above, by sub."""
        steps: dict[str, list[str]] = {}
        for sub, sup in self.positive:
            steps.setdefault(sub, []).append(sup)
        return steps

    @cached_property
    def superlabels(self) -> dict[str, frozenset[str]]:
        """⊑* by sub, for labels that occur in a positive inclusion."""
        return reachable(self.positive)

    @cached_property
    def sublabels(self) -> dict[str, frozenset[str]]:
        return reachable([(sup, sub) for sub, sup in self.positive])

    def ancestors(self, label: str) -> frozenset[str]:
        """Return ``label`` and the labels above it in ⊑*."""
        return self.superlabels.get(label) or frozenset((label,))

    def descendants(self, label: str) -> frozenset[str]:
        """Return ``label`` and the labels below it in ⊑*."""
        return self.sublabels.get(label) or frozenset((label,))

    def path_origins(self, label: str, tops: Iterable[str]) -> Origins:
        """The axioms of shortest chains of inclusions from ``label`` to those of ``tops`` that
        are above it.
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
    def existentials(self) -> tuple[tuple[str, str], ...]:
        """(∃R, ∃R⁻) for each role, those of witnesses among them."""
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


def range_limits(
    property: str, misfits: Mapping[DataAtMost, Origins], theory: DataTheory
) -> dict[DataAtMost, Origins]:
    """Those of ``misfits`` that speak of values of ``property``: its own, and those of
    properties above it.
    """
    above = theory.roles.data_superproperties(property)
    return {limit: origins for limit, origins in misfits.items() if limit.property in above}


def assume_siblings_disjoint(seen: DLLiteView) -> DLLiteView:
    """``seen``, with two names disjoint that are told directly below one name, or have no name
    above them, unless some label is below both.
    """
    names = seen.signature.classes
    told = {
        name: {sup for sub, sup in seen.positive if sub == name and sup in names} for name in names
    }
    tops = {name for name in names if not (seen.ancestors(name) & names) - {name}}
    assumed = {
        frozenset((first, second)): frozenset[int]()
        for first, second in combinations(sorted(names), 2)
        if (told[first] & told[second] or {first, second} <= tops)
        and seen.descendants(first).isdisjoint(seen.descendants(second))
    }
    return replace(seen, negative=assumed | dict(seen.negative))


# The DL-Lite view of a TBox, read off its DL-clauses and role axioms: each is taken in, or left
# out with a word on why.


def dl_lite_view(tbox: TBox) -> DLLiteView:
    """The DL-Lite view of ``tbox``. Raises: UsageError as `simplify` does."""
    clauses = simplify(tbox).clauses
    reading = _ViewBuilder(
        DataTheory(clauses.definitions, clauses.roles), dict(_data_ranges(clauses.clauses))
    )
    for clause in clauses.clauses:
        reading.add_clause(clause)
    for index, axiom in enumerate(tbox.axioms):
        reading.add_role_axiom(index, axiom)
    for role, steps in role_origins(tbox.axioms).steps.items():
        for above, index in steps:
            reading.add_positive(existential(role), existential(above), {index})
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
        *map(existential, _signature_roles(signature)),
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
            {NOTHING.iri, *map(misfit_label, signature.data_properties), *map(loop_label, loops)}
        ),
        reading.misfits,
        reading.theory,
        pairs,
    )


def _signature_roles(signature: Signature) -> list[Role]:
    return [
        Role(iri, inverted)
        for iri in sorted(signature.object_properties)
        for inverted in (False, True)
    ]


def _data_ranges(clauses: tuple[Clause, ...]) -> Iterator[tuple[DataAtMost, Origins]]:
    """⊤ ⊑ ≤0 U.D: the value of U is outside D."""
    for clause in clauses:
        match clause:
            case Clause(body=(), head=(DataAtMost(n=0) as limit,), role=None):
                yield limit, clause.origins


class _ViewBuilder:
    """What was read so far."""

    def __init__(self, theory: DataTheory, misfits: dict[DataAtMost, Origins]) -> None:
        self.theory, self.misfits = theory, misfits
        self.positive: dict[tuple[str, str], Origins] = {}
        self.negative: dict[Negative, Origins] = {}
        self.horn: dict[tuple[Negative, str], Origins] = {}
        self.unsupported_axioms: dict[int, str] = {}

    def add_positive(self, sub: str, sup: str, origins: Origins | set[int] | tuple[()]) -> None:
        if sub != sup:
            self.positive.setdefault((sub, sup), frozenset(origins))

    def add_negative(self, labels: set[str], origins: Origins | set[int]) -> None:
        self.negative.setdefault(frozenset(labels), frozenset(origins))

    def mark_unsupported(self, origins: Origins | set[int], reason: str) -> None:
        for index in origins:
            self.unsupported_axioms.setdefault(index, reason)

    def add_clause(self, clause: Clause) -> None:
        """One clause, or a word on why it is none of ours."""
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
                    {existential(clause.role.inverse), *clause.branch_body},
                    list(clause.branch_head),
                )
            else:
                body.add(existential(clause.role))
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
            else self.add_negative(body, clause.origins)
        )

    def add_implication(self, body: set[str], head: object, origins: Origins) -> None:
        match head:
            case str():
                sup = head
            case AtLeast(1, role, None):
                sup = existential(role)
            case AtLeast(1, role, filler):
                witness = Role(f"{role_label(role)}.{filler}")
                sup = existential(witness)
                self.add_positive(sup, existential(role), ())
                self.add_positive(existential(witness.inverse), existential(role.inverse), ())
                self.add_positive(existential(witness.inverse), str(filler), ())
            case DataAtLeast(1, property):
                limits = range_limits(property, self.misfits, self.theory)
                possible = self.theory.satisfiable([head], limits, ())
                if possible is None:
                    self.mark_unsupported(origins, "whether there is such a value is not decided")
                elif not possible:
                    return self.add_negative(body, origins.union(*limits.values()))
                sup = EXISTS + property
            case _:
                return self.mark_unsupported(origins, "it demands several successors")
        if len(body) == 1:
            self.add_positive(body.pop(), sup, origins)
        elif sup not in body:
            self.horn.setdefault((frozenset(body), sup), origins)
        return None

    def add_data_range(self, property: str) -> None:
        """What becomes of values of ``property`` outside its ranges; that there are none inside."""
        self.add_positive(misfit_label(property), NOTHING.iri, ())
        limits = range_limits(property, self.misfits, self.theory)
        if self.theory.satisfiable([DataAtLeast(1, property, TOP_DATATYPE)], limits, ()) is False:
            self.add_negative({EXISTS + property}, frozenset[int]().union(*limits.values()))

    def add_role_axiom(self, index: int, axiom: Axiom) -> None:
        box = role_box((axiom,))
        for first, second in box.disjoint:
            self.add_negative({role_label(first), role_label(second)}, {index})
            self.add_negative({role_label(first.inverse), role_label(second.inverse)}, {index})
        for role in box.asymmetric:
            self.add_negative({role_label(role), role_label(role.inverse)}, {index})
        for role in box.irreflexive:
            self.add_negative({loop_label(role.iri)}, {index})
        for sub, sup in box.data_inclusions:
            self.add_positive(EXISTS + sub, EXISTS + sup, {index})
        if box.disjoint_data:
            self.mark_unsupported({index}, "it compares values of two data properties")

    def add_pair_inclusions(self, tbox: TBox, signature: Signature) -> None:
        """The role inclusions over labels of pairs; R(a,a) holds in both directions."""
        for role, steps in role_origins(tbox.axioms).steps.items():
            for above, index in steps:
                self.add_positive(role_label(role), role_label(above), {index})
                self.add_positive(loop_label(role.iri), loop_label(above.iri), {index})
        for iri in sorted(signature.object_properties):
            self.add_positive(loop_label(iri), role_label(Role(iri)), ())
            self.add_positive(loop_label(iri), role_label(Role(iri, True)), ())
