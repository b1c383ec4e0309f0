"""Make the deciders of checks: one for a call, or a pool of them for several checks."""

from __future__ import annotations

from functools import partial
from typing import TypeAlias

from shiq.abox_ops.modules.decide import Decider
from shiq.jobs.checking.options import Options
from shiq.reasoner import BACKENDS, create_reasoner


def has_disagreed(decider: Decider) -> bool:
    """Decide whether two reasoners have given different answers to one question in an audit so far."""
    return decider.audit is not None and bool(decider.audit.disagreements)


def make_decider(options: Options) -> Decider:
    """Make a decider for ``options``, with an audit if they ask for one. `Decider.close` frees it."""
    reasoner = create_reasoner(options.reasoner, heap=options.heap, accept_agpl=options.accept_agpl)
    if not options.audit:
        return Decider(reasoner, options.progress)
    # Loaded where it is asked for.
    from shiq.abox_ops.modules.decide import Audit

    by_hermit = partial(create_reasoner, "hermit", heap=options.heap)
    by_own = partial(create_reasoner, "own")
    seconds = {name: by_hermit if name == "own" else by_own for name in BACKENDS}
    return Decider(reasoner, options.progress, audit=Audit(options.audit, seconds))


_PoolKey: TypeAlias = tuple[str, str, float, bool]


class DeciderPool:
    """Cache of deciders for several checks, by the options that determine them."""

    def __init__(self) -> None:
        self._known: dict[_PoolKey, Decider] = {}

    def lookup(self, options: Options) -> Decider:
        """The decider for ``options``, reset for one more check. It is created on first use, and
        anew after a failure.
        """
        key = _pool_key(options)
        if key in self._known and has_disagreed(self._known[key]):
            self.drop(options)
        if key not in self._known:
            self._known[key] = make_decider(options)
        decider = self._known[key]
        decider.question_count, decider.progress = 0, options.progress
        return decider

    def drop(self, options: Options) -> None:
        """Close the decider for ``options`` and forget it."""
        self._known.pop(_pool_key(options)).close()

    def forget_answers(self) -> None:
        """Forget the answers that all deciders have remembered, because they hold for one snapshot
        only.
        """
        for decider in self._known.values():
            decider.forget_answers()

    def close(self) -> None:
        """Free the reasoners. May be called twice."""
        for decider in self._known.values():
            decider.close()
        self._known.clear()


def _pool_key(options: Options) -> _PoolKey:
    """Key of a decider in the pool: the options that determine it."""
    return options.reasoner, options.heap, options.audit, options.accept_agpl
