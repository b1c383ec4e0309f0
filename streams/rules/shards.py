"""A keyed program by shards: an evaluator for some of the keys each, their models together (SPEC
004, section 6, "By key").
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shiq.errors import OperationalError
from streams.rules.input_columns import columns_from, rows_of
from streams.rules.key import Key, shard_of
from streams.rules.model import Evaluator, PointModel
from streams.rules.syntax import CheckedProgram
from streams.rules.values import Row


def parts_of(program: CheckedProgram, key: Key, shards: int) -> list[CheckedProgram]:
    """The program for each shard: with the facts of its keys, and all those that have none."""
    facts = [split_rows(program.facts, key, shard, shards) for shard in range(shards)]
    return [replace(program, facts=own) for own in facts]


def split_rows(rows: Mapping[str, Any], key: Key, shard: int, shards: int) -> dict[str, list[Row]]:
    """The rows that a shard needs: those of its keys, and those of predicates without key."""
    found = {}
    for predicate, given in rows.items():
        at, every = key.get(predicate), rows_of(given)
        found[predicate] = (
            every if at is None else [row for row in every if shard_of(row[at], shards) == shard]
        )
    return found


@dataclass(frozen=True)
class Union:
    """The models of one point in all shards as one."""

    parts: Sequence[PointModel]

    @property
    def t(self) -> int:
        return self.parts[0].t

    def predicates(self) -> Iterable[str]:
        return list(
            dict.fromkeys(predicate for part in self.parts for predicate in part.predicates())
        )

    def rows(self, predicate: str, derived: bool = False) -> Sequence[Row]:
        return list(
            dict.fromkeys(row for part in self.parts for row in part.rows(predicate, derived))
        )

    def texts(self, predicate: str, derived: bool = False) -> Sequence[str]:
        return list(
            dict.fromkeys(text for part in self.parts for text in part.texts(predicate, derived))
        )

    def columns(self, predicate: str, derived: bool = False) -> tuple[Any, ...]:
        return columns_from(self.rows(predicate, derived), predicate)


@dataclass
class ShardedEvaluator:
    """An evaluator of several."""

    key: Key
    shards: Sequence[Evaluator]

    def step(self, t: int, rows: Mapping[str, Any]) -> Union:
        size = len(self.shards)
        return Union(
            [
                one.step(t, split_rows(rows, self.key, shard, size))
                for shard, one in enumerate(self.shards)
            ]
        )

    def state(self) -> bytes:
        return json.dumps([b64encode(one.state()).decode() for one in self.shards]).encode()

    def restore(self, state: bytes) -> None:
        try:
            states = [b64decode(one) for one in json.loads(state)]
        except (ValueError, TypeError) as error:
            raise OperationalError(
                f"this is no state of shards ({error})", "Start anew."
            ) from error
        if len(states) != len(self.shards):
            raise OperationalError(
                f"saved with {len(states)} shards, not {len(self.shards)}", "Go on with as many."
            )
        for one, its in zip(self.shards, states):
            one.restore(its)
