"""Compile a TBox for checking streams: closed and grouped negative inclusions, and the pipeline
that tests them.

A bolt is a stage of a pipeline that tests some groups of negative inclusions. A cut says after
which groups bolts end.

>>> from shiq.model import Class, DisjointClasses, TBox
>>> watched = plan(TBox((DisjointClasses((Class("urn:A"), Class("urn:B"))),)), window=2)
>>> watched.closure, watched.roots, watched.lanes
(1, (('urn:A', 'urn:B'),), 1)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from typing import Any, NamedTuple, TypeAlias

from shiq.answers.verdict import Leftover, is_blocking
from shiq.deprecation import RenamedAttribute
from shiq.errors import UsageError
from shiq.functional.writer import axiom_text
from shiq.inputs.catalog import Catalogs, read_catalog
from shiq.model import TBox
from shiq.model.abox import ABox
from shiq.rdf import read_ontology
from shiq.streams.consistency.dl_lite import (
    OUT_OF_RANGE,
    DLLiteView,
    Negative,
    Origins,
    assume_siblings_disjoint,
    build_dl_lite_view,
    display_label,
    select_range_limits,
)
from shiq.streams.consistency.negative_inclusions import (
    GROUPINGS,
    MOST_UNFOLDED,
    Group,
    RootMasks,
    UnfoldingError,
    build_masks,
    close_negative_inclusions,
    find_conflict_origins,
    find_minimal_contradictions,
    find_refuting_negative,
    select_roots,
)
from shiq.streams.consistency.topology import (
    Bolt,
    Cut,
    add_expected_evaluations,
    build_bolts,
    count_displayed_tests,
    estimate_label_rates,
    find_cheapest_cut,
)
from shiq.streams.front.checkpoint import hash_texts
from shiq.support import pluralize

STRATEGIES = ("mask", "ntm", "ltm")
ASSUMPTIONS = ("siblings-disjoint",)
#: A told set of labels, as pairs where it is one: (B, B) for {B}.
Labels: TypeAlias = tuple[str, ...]


class UnsupportedAxiom(NamedTuple):
    """Axiom that stream checking ignores, with the reason."""

    axiom: str
    reason: str


@dataclass(frozen=True)
class StreamPlan:
    """Compiled TBox for checking streams: the contradictions to look for, and the strategy that
    finds them. Immutable.

    negatives: the closed negative inclusions with their axioms.
    root_groups: their roots by group.
    expected_tuples: expected assertions per time unit.
    Properties such as `positive` and `left_out` have the names of the JSON members.
    """

    view: DLLiteView
    window: int
    strategy: str
    grouping: str
    cut: Cut
    negatives: Mapping[Negative, Origins]
    root_groups: tuple[Group, ...]
    bolts: tuple[Bolt, ...]
    closure: int
    leftovers: tuple[Leftover, ...] = ()
    abox: ABox = field(default_factory=ABox)
    expected_tuples: float = 0.0

    # Old names, until 0.3.
    grouped = RenamedAttribute("root_groups")
    root_set = RenamedAttribute("all_roots")
    axioms_of = RenamedAttribute("conflict_axioms")

    @cached_property
    def all_roots(self) -> Group:
        """Most general negative inclusions of all groups."""
        return tuple(negative for group in self.root_groups for negative in group)

    @cached_property
    def masks(self) -> RootMasks:
        """Bit masks of all roots, for finding individuals with contradicting labels."""
        return build_masks(self.view, self.all_roots)

    @property
    def mask(self) -> dict[str, float] | None:
        """Size and cost of the bit masks: labels, matrices, bytes, and expected evaluations per
        time unit; None for other strategies.
        """
        if self.strategy != "mask":
            return None
        sides = [
            *self.masks.narrow_matrices.bit_matrices,
            *(self.masks.wide_matrices.bit_matrices if self.masks.wide_roots else ()),
        ]
        return {
            "labels": len(self.masks.labels),
            "sides": len(sides),
            "bytes": sum(side.nbytes for side in sides),
            "expected_evaluations": self.expected_tuples,
        }

    @property
    def roots(self) -> tuple[Labels, ...]:
        """Most general negative inclusions, with labels as users see them."""
        return tuple(map(display_labels, self.all_roots))

    @property
    def groups(self) -> tuple[tuple[Labels, ...], ...]:
        """Most general negative inclusions, in the groups that bolts test one after the other, with
        labels as users see them.
        """
        return tuple(tuple(map(display_labels, group)) for group in self.root_groups)

    @property
    def lanes(self) -> int:
        """Number of 64-bit words in a bit mask with one bit per most general negative inclusion."""
        return -(-len(self.all_roots) // 64)

    @property
    def positive(self) -> tuple[Labels, ...]:
        """Positive inclusions (sublabel, superlabel), with labels as users see them."""
        special = self.view.auxiliary_labels
        return tuple(
            sorted(
                (display_label(x), display_label(y))
                for x, y in self.view.positive
                if special.isdisjoint((x, y))
            )
        )

    @property
    def negative(self) -> tuple[Labels, ...]:
        """Negative inclusions that the TBox states, with labels as users see them."""
        return tuple(sorted(map(display_labels, self.view.negative)))

    @property
    def horn(self) -> tuple[tuple[Labels, str], ...]:
        """Horn rules (body labels, head label), sorted."""
        return tuple(sorted((tuple(sorted(body)), head) for body, head in self.view.horn_rules))

    @cached_property
    def unsatisfiable(self) -> Labels:
        """Unsatisfiable labels, as users see them."""
        labels = self.view.vocabulary - self.view.auxiliary_labels
        return tuple(
            sorted(
                display_label(label)
                for label in labels
                if find_refuting_negative(self.view, label, self.all_roots)
            )
        )

    @property
    def left_out(self) -> tuple[UnsupportedAxiom, ...]:
        """Axioms that stream checking ignores, with the reasons."""
        return tuple(
            UnsupportedAxiom(leftover.text or leftover.message, leftover.message)
            for leftover in self.leftovers
        )

    def conflict_axioms(self, conflict: Negative) -> tuple[str, ...]:
        """Axioms that make the labels of ``conflict`` contradict, in functional syntax and in the
        ontology's order.
        """
        origins = find_conflict_origins(self.view, self.negatives, conflict)
        for label in conflict:
            if label[0] == OUT_OF_RANGE:
                origins = origins.union(
                    *select_range_limits(
                        label[1:], self.view.range_limits, self.view.theory
                    ).values()
                )
        return tuple(axiom_text(self.view.axioms[index]) for index in sorted(origins))

    @property
    def settings(self) -> dict[str, str]:
        """Settings that change output rows, as short texts; a checkpoint made with other ones is
        refused.
        """
        texts = (
            *map(axiom_text, self.view.axioms),
            *(" ".join(display_labels(labels)) for labels in self.view.negative),
        )
        return {
            "tbox": hash_texts([*texts, *map(repr, self.abox)]),
            "window": str(self.window),
            "strategy": self.strategy,
            "cut": ",".join(map(str, self.cut)) or "none",
        }

    def to_dict(self) -> dict[str, Any]:
        """JSON value as ``shiq stream plan --json`` prints it."""
        return {name: getattr(self, name) for name in _JSON_FIELDS} | {
            "horn": [{"body": body, "head": head} for body, head in self.horn],
            "left_out": [item._asdict() for item in self.left_out],
            "bolts": [{name: getattr(bolt, name) for name in _BOLT_FIELDS} for bolt in self.bolts],
        }


#: What JSON shows as it is, of plans and of bolts.
_JSON_FIELDS = (
    "window",
    "strategy",
    "grouping",
    "cut",
    "positive",
    "negative",
    "unsatisfiable",
    "closure",
    "roots",
    "groups",
    "lanes",
    "mask",
)
_BOLT_FIELDS = ("groups", "conjunctions", "inferences", "expected_evaluations")


def display_labels(labels: Negative) -> Labels:
    """Labels of a negative inclusion as users see them, sorted; the label of a single one is
    repeated.
    """
    ordered = tuple(sorted(map(display_label, labels)))
    return ordered * 2 if len(ordered) == 1 else ordered


def plan(
    tbox: TBox | str | PathLike[str] | Sequence[Any],
    window: int = 0,
    strategy: str = "mask",
    cut: Cut | str = "auto",
    grouping: str = "printed",
    rates: Mapping[str, float] | None = None,
    assume: Sequence[str] = (),
    allow: Sequence[str] = (),
    most_cached: float | None = None,
    catalog: Catalogs | None = None,
) -> StreamPlan:
    """Compile ``tbox`` to a plan for finding contradictions in streams, in windows of ``window`` +
    1 time points.

    tbox: a TBox, or anything that `read_ontology` reads.
    cut: groups after which bolts end, () for one bolt, or ``auto``; only for the strategy ``ltm``.
    rates: events per time unit by IRI.
    most_cached: bound for the tuples per time unit that an automatic cut may cache.
    allow: kinds of accepted leftovers.
    catalog: see `shiq.inputs.catalog`.
    Raises: UsageError; InputError if ``tbox`` cannot be read.
    """
    _check_settings(window, strategy, grouping, assume)
    known = read_catalog(catalog) if catalog else None
    reading = read_ontology(
        list(tbox) if isinstance(tbox, list | tuple) else [tbox], catalog=known, chains=False
    )
    seen, negatives, leftovers = _close_negative_inclusions(
        build_dl_lite_view(reading.tbox), assume
    )
    kept = tuple(
        leftover for leftover in (*reading.leftovers, *leftovers) if is_blocking(leftover, allow)
    )
    groups = GROUPINGS[grouping](seen, select_roots(seen, negatives))
    by_label = estimate_label_rates(seen, rates)
    if strategy != "ltm":
        chosen: Cut = ()
    elif cut == "auto":
        chosen = find_cheapest_cut(seen, groups, by_label, most_cached)
    else:
        chosen = _parse_cut(cut, len(groups))
    complete = find_minimal_contradictions(
        seen, (root for group in groups for root in group), seen.vocabulary
    )
    pipeline = (
        ()
        if strategy == "mask"
        else add_expected_evaluations(build_bolts(seen, groups, chosen), by_label)
    )
    return StreamPlan(
        seen,
        window,
        strategy,
        grouping,
        chosen,
        negatives,
        groups,
        pipeline,
        count_displayed_tests(seen, complete),
        kept,
        reading.abox,
        sum(by_label.values()),
    )


def _close_negative_inclusions(
    view: DLLiteView, assume: Sequence[str]
) -> tuple[DLLiteView, dict[Negative, Origins], list[Leftover]]:
    """Close the negative inclusions of a DL-Lite view; drop its Horn rules if they unfold into too
    many.

    Returns: the view, its negative inclusions, and leftovers for what is left out.
    """
    if "siblings-disjoint" in assume:
        view = assume_siblings_disjoint(view)
    try:
        negatives = close_negative_inclusions(view)
    except UnfoldingError:
        reason = f"together with others it unfolds into more than {pluralize(MOST_UNFOLDED, 'set')} of labels"
        more = {index: reason for origins in view.horn_rules.values() for index in origins}
        view = replace(view, horn_rules={}, unsupported_axioms={**view.unsupported_axioms, **more})
        negatives = close_negative_inclusions(view)
    leftovers = [
        Leftover(
            "outside-dl-lite",
            reason,
            text=axiom_text(view.axioms[index]),
            values=(view.axioms[index],),
        )
        for index, reason in view.unsupported_axioms.items()
    ]
    return view, negatives, leftovers


def _check_settings(window: int, strategy: str, grouping: str, assume: Sequence[str]) -> None:
    """Raise UsageError for an unknown strategy, grouping or assumption, or a malformed window."""
    if isinstance(window, bool) or not isinstance(window, int) or not 0 <= window < 1 << 61:
        raise UsageError(f"{window!r} is no length of a window", "Give a whole number from 0 on.")
    for what, value, known in (
        ("strategy", strategy, STRATEGIES),
        ("grouping", grouping, tuple(GROUPINGS)),
    ):
        if value not in known:
            raise UsageError(f"{value!r} is no {what}", f"Known: {', '.join(known)}.")
    for name in assume:
        if name not in ASSUMPTIONS:
            raise UsageError(f"{name!r} cannot be assumed", f"Known: {', '.join(ASSUMPTIONS)}.")


def _parse_cut(cut: Cut | str, groups: int) -> Cut:
    """Validate a cut of a pipeline of ``groups`` groups into bolts, and return it as a tuple.
    Raises: UsageError.
    """
    places = cut if not isinstance(cut, str) else ()
    if (
        isinstance(cut, str)
        or list(places) != sorted(places)
        or any(not 0 <= place <= groups for place in places)
    ):
        said = cut if isinstance(cut, str) else ",".join(map(str, cut))
        raise UsageError(
            f"{said} is no cut of {pluralize(groups, 'group')}",
            f"Give ascending numbers from 0 to {groups}, or auto.",
        )
    return tuple(places)
