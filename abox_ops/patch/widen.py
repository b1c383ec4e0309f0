"""How a region goes on after modules failed (THEORY, "How much is asked, and how far I grows"): what
is assumed is given up, and what residuals kept out comes in.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shiq.abox_ops.labels.numbered import Bools
from shiq.abox_ops.patch.effort import Effort
from shiq.abox_ops.patch.region import PatchRegion
from shiq.abox_ops.patch.stride import InnerEdges
from shiq.columns.arrays import Ints, is_in


def can_widen(region: PatchRegion, elements: Ints) -> bool:
    """Whether anything is assumed of ``elements``, or kept out by a residual of theirs."""
    return bool(_is_guessed(region, elements).any() or _is_kept_out_of(region, elements).any())


def widen_region(region: PatchRegion, modules: Sequence[Ints]) -> None:
    """Make the elements of each of ``modules`` plain, or, where nothing is assumed of them, take
    in what their residuals kept out. Writes ``plain``, ``inside``, ``effort``, ``pulled_in``.
    """
    _, out, _, codes = region.kept_out
    pulled: list[tuple[Ints, Effort]] = []
    failed: list[tuple[Ints, Effort]] = []
    for elements in modules:
        effort = region.effort.after_turn(elements)
        guessed = elements[_is_guessed(region, elements)]
        region.effort.raise_to(elements, effort)
        region.plain[elements if effort.is_closed else guessed] = True
        failed.append((elements, effort))
        if effort.is_closed or not len(guessed):
            wanted = _is_kept_out_of(region, elements)
            region.pulled_in.note(out[wanted], codes[wanted])
            pulled.append((out[wanted], effort))
    _spread(region, failed)
    for targets, effort in pulled:
        region.inside[targets] = True
        region.effort.raise_to(targets, effort)
        region.plain[targets[region.effort.are_closed(targets)]] = True


def _spread(region: PatchRegion, failed: Sequence[tuple[Ints, Effort]]) -> None:
    """Make plain what lies around modules that ``failed``, and note their effort there
    (`shiq.abox_ops.patch.stride.surroundings`).
    """
    graph = region.graph
    inner = InnerEdges(graph, region.calculus, region.inside)
    for elements, effort in failed:
        around = inner.surroundings(graph.key[elements], effort)
        near, rim = (
            graph.locate(np.array(list(keys), np.int64)) for keys in (around.plain, around.rim)
        )
        if effort.is_closed:
            region.plain[graph.rep[near]] = True
        region.effort.raise_to(graph.rep[np.concatenate([near, rim])], around.effort)


def _is_guessed(region: PatchRegion, elements: Ints) -> Bools:
    """Whether more is assumed of each of ``elements`` than told."""
    found: Bools = (
        region.inside[elements]
        & (region.labels.mu[elements] != region.graph.label[elements])
        & ~region.plain[elements]
    )
    return found


def _is_kept_out_of(region: PatchRegion, elements: Ints) -> Bools:
    """Whether each role assertion that is kept out is so by a residual of ``elements``."""
    here, out, _, _ = region.kept_out
    found: Bools = is_in(here, elements) & ~region.inside[out]
    return found
