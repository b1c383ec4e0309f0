"""Reasoners behind one protocol (`shiq.reasoner.protocol`).

A backend joins by one line in `BACKENDS`: its name, and how to make it. Modules are imported
when a reasoner is made, so that importing this package starts no JVM and needs none.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from shiq.errors import UsageError
from shiq.reasoner.protocol import check_heap, check_timeout

if TYPE_CHECKING:
    from shiq.reasoner.protocol import Reasoner

__all__ = ["AGPL", "BACKENDS", "create"]


def _make_own_reasoner(heap: str, timeout: float | None) -> Reasoner:
    """Make the built-in reasoner `own`; it needs no heap."""
    from shiq.reasoner.own_reasoner import OwnReasoner

    return OwnReasoner()


def _make_hermit_reasoner(heap: str, timeout: float | None) -> Reasoner:
    """Make the reasoner `hermit`. Raises: ReasonerError without Java or HermiT."""
    from shiq.reasoner.hermit import HermitReasoner
    from shiq.reasoner.jvm import find_hermit, find_java

    # The JVM starts with the first question; that there is none to start is said before.
    find_java()
    find_hermit()
    return HermitReasoner(heap) if timeout is None else HermitReasoner(heap, timeout)


def _make_auto_reasoner(heap: str, timeout: float | None) -> Reasoner:
    """Make the reasoner `auto`: `own` first, HermiT for what it leaves undetermined."""
    from shiq.reasoner.auto import AutoReasoner

    return AutoReasoner(
        lambda: _make_own_reasoner(heap, timeout), lambda: _make_hermit_reasoner(heap, timeout)
    )


def _make_external_reasoner(name: str, heap: str, timeout: float | None) -> Reasoner:
    """Make a reasoner of another project that the user has installed: Pellet, Openllet or Konclude."""
    from shiq.reasoner.external import ExternalReasoner

    return (
        ExternalReasoner(name, heap) if timeout is None else ExternalReasoner(name, heap, timeout)
    )


#: name -> maker(heap, timeout)
BACKENDS: Mapping[str, Callable[[str, float | None], Reasoner]] = {
    "auto": _make_auto_reasoner,
    "own": _make_own_reasoner,
    "hermit": _make_hermit_reasoner,
    "konclude": partial(_make_external_reasoner, "konclude"),
    "pellet": partial(_make_external_reasoner, "pellet"),
    "openllet": partial(_make_external_reasoner, "openllet"),
}


#: Those under the AGPL: asked only where that is accepted.
AGPL = frozenset({"pellet", "openllet"})


def create_reasoner(
    name: str, *, heap: str = "1g", timeout: float | None = None, accept_agpl: bool = False
) -> Reasoner:
    """Create the reasoner called ``name``, one of `BACKENDS`: ``own``, ``hermit``, ``auto`` or an
    external one.

    Args:
        heap: for backends in a JVM
        timeout: seconds for one question, for backends in a JVM; None for the backend's own limit
        accept_agpl: permit a reasoner under the AGPL

    Raises: UsageError for an unknown name, a malformed heap or limit, or a licence that is not
        accepted; ReasonerError for a reasoner that is not installed.
    """
    check_heap(heap)
    check_timeout(timeout)
    maker = BACKENDS.get(name)
    if maker is None:
        nearest = difflib.get_close_matches(name.lower(), BACKENDS, n=1, cutoff=0.4)
        known = ", ".join(sorted(BACKENDS))
        raise UsageError(
            f"unknown reasoner {name!r}",
            f"Did you mean {nearest[0]}?" if nearest else f"Known are: {known}.",
        )
    if name in AGPL and not accept_agpl:
        raise UsageError(
            f"the reasoner {name} is under the AGPL-3.0",
            "Say --accept-agpl if that is all right, or use --reasoner hermit.",
        )
    return maker(heap, timeout)
