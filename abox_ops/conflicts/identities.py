"""Find the individuals that a batch certainly makes equal, with the reasons.

Only what unit propagation entails is listed (THEORY, "Beyond SHIQ(D), at no loss"): asserted
equality, and the told neighbours of an element at which a ≤1 S.C is in force. Equalities that
need a case distinction, such as most of ≤n for n > 1, are not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from shiq.abox_ops.elements.normal_assertions import half_edges_of
from shiq.abox_ops.labels.label_calculus import LabelCalculus, is_refuted
from shiq.model import Assertion, Axiom, SameIndividual
from shiq.model.clause import ClausalTBox
from shiq.model.roles import Role
from shiq.partition import Partition

#: The individuals of one element of A ∪ A⁺, by the elements of A (and fresh individuals) that it
#: was made of.
MergedElement = Sequence[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason why individuals are equal: assertions and axioms.

    assertions: those that entail it with the axioms.
    insertions: the ones among them that the batch inserts.
    """

    assertions: tuple[Assertion, ...]
    insertions: frozenset[Assertion]
    axioms: tuple[Axiom, ...] = ()


@dataclass(frozen=True, slots=True)
class Identity:
    """A set of individuals that the batch makes equal, with the reasons.

    parts: two or more groups of individuals; each group was one element before.
    reasons: direct reasons; a spanning tree of the parts if all of them are direct.
    """

    parts: tuple[tuple[str, ...], ...]
    reasons: tuple[Reason, ...]


@runtime_checkable
class MergingAddSet(Protocol):
    """Protocol: an add set that lists the elements which the batch makes of several."""

    @property
    def tbox(self) -> ClausalTBox:
        """Clauses that the labels refer to."""

    def merged_elements(self) -> Sequence[MergedElement]:
        """Elements that the batch makes of several elements of A: for each, a tuple of individuals
        for each of the former elements.
        """

    def all_assertions_about(self, individuals: Sequence[str]) -> Mapping[str, Sequence[Assertion]]:
        """Every assertion of A ∪ A⁺ that mentions each of ``individuals``, fetched together."""

    def labels(self, individuals: Sequence[str]) -> Sequence[tuple[int, int]]:
        """The told literals (positive, negative) of each of ``individuals``, as bitmasks."""

    def is_inserted(self, assertion: Assertion) -> bool:
        """Decide whether ``assertion`` is inserted and not in A."""


def find_identities(add_set: MergingAddSet) -> list[Identity]:
    """Find the individuals that the batch of ``add_set`` makes equal, ordered by the least of each
    set.
    """
    clusters = sorted(tuple(sorted(parts)) for parts in add_set.merged_elements())
    if not clusters:
        return []
    space = LabelCalculus(add_set.tbox)
    about = add_set.all_assertions_about(
        sorted({i for parts in clusters for part in parts for i in part})
    )
    return [
        Identity(parts, tuple(_merge_reasons(space, add_set, parts, about))) for parts in clusters
    ]


def _merge_reasons(
    space: LabelCalculus,
    add_set: MergingAddSet,
    parts: MergedElement,
    about: Mapping[str, Sequence[Assertion]],
) -> Iterator[Reason]:
    """Yield reasons why the ``parts`` (former elements) of one merged element are equal; each
    reason joins parts that were separate before.
    """
    part_of = {i: n for n, part in enumerate(parts) for i in part}
    joined: Partition[int] = Partition()
    for individual in part_of:
        for assertion in about[individual]:
            if isinstance(assertion, SameIndividual) and _join_parts(
                joined, part_of, assertion.first, assertion.second
            ):
                yield _make_reason(add_set, (assertion,))
    centres = sorted({centre for _, centre, _, _ in _half_edges(part_of, about)})
    named = sorted({*centres, *part_of})
    label = dict(zip(named, add_set.labels(named)))
    cluster = dict.fromkeys(part_of, "")
    for clause in (c for c in space.m_type if c.n == 1):
        below = space.roles_below(clause)
        first: dict[str, tuple[str, Assertion]] = {}
        in_force = {
            centre for centre in centres if is_refuted(clause.literals_at(False), label[centre])
        }
        for role, centre, individual, assertion in _half_edges(part_of, about):
            if (
                centre not in in_force
                or role not in below
                or clause.branch_body & ~label[individual][0]
            ):
                continue
            other, beside = first.setdefault(cluster.get(centre, centre), (individual, assertion))
            if _join_parts(joined, part_of, other, individual):
                axioms = tuple(
                    add_set.tbox.axioms[i]
                    for i in sorted(add_set.tbox.clauses[clause.index].origins)
                )
                yield _make_reason(add_set, (beside, assertion), axioms)


def _half_edges(
    part_of: Mapping[str, int], about: Mapping[str, Sequence[Assertion]]
) -> Iterator[tuple[Role, str, str, Assertion]]:
    """List the role assertions about members of a merged element as (role, centre, member,
    assertion); the role is seen from the centre.
    """
    for individual in part_of:
        for role, centre, assertion in half_edges_of(individual, about[individual]):
            yield role.inverse, centre, individual, assertion


def _join_parts(
    joined: Partition[int], part_of: Mapping[str, int], first: str, second: str
) -> bool:
    """Record that the former elements of two individuals are equal; return whether that was new."""
    if first not in part_of or second not in part_of:
        return False
    return joined.union_all((part_of[first], part_of[second]))


def _make_reason(
    add_set: MergingAddSet, assertions: tuple[Assertion, ...], axioms: tuple[Axiom, ...] = ()
) -> Reason:
    """Make a reason, and note which of its assertions are inserted."""
    return Reason(assertions, frozenset(a for a in assertions if add_set.is_inserted(a)), axioms)
