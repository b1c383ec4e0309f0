"""The deciders of a session: one for each way to ask reasoners, kept from one check to the next."""

from __future__ import annotations

from typing import TypeAlias

from abox_ops.modules.decide import Decider
from jobs.checking.deciding import close_decider, has_disagreed, new_decider
from jobs.checking.options import Options

_Key: TypeAlias = tuple[str, str, float, bool]


class DeciderPool:
    """Deciders by what they ask, and how."""

    def __init__(self) -> None:
        self._known: dict[_Key, Decider] = {}

    def lookup(self, options: Options) -> Decider:
        """The decider that ``options`` ask for, ready for one more check; a new one in place of one whose audit disagreed."""
        key = _key(options)
        if key in self._known and has_disagreed(self._known[key]):
            self.drop(options)
        if key not in self._known:
            self._known[key] = new_decider(options)
        decider = self._known[key]
        decider.asked, decider.progress = 0, options.progress
        return decider

    def drop(self, options: Options) -> None:
        """Close and forget the decider that ``options`` ask for."""
        close_decider(self._known.pop(_key(options)))

    def forget_answers(self) -> None:
        """Forget the answers, which are about clauses that are worked out for each snapshot."""
        for decider in self._known.values():
            decider.forget()

    def close(self) -> None:
        """Free the reasoners; it may be called twice."""
        for decider in self._known.values():
            close_decider(decider)
        self._known.clear()


def _key(options: Options) -> _Key:
    return options.reasoner, options.heap, options.audit, options.accept_agpl
