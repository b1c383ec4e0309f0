"""One group of insertions against the store, in one task: the closure kernel of the engine `local`, and what it rested on.

*Speculate, certify, merge.* Groups are run as if each were the whole batch. Beside its result a run tells which elements (of A,
or fresh) it *read* and which it *changed*, by kind, and groups of which one read what another changed are run again as one
(`jobs.spark.patching`): the criteria `clausal` and `model` are both a patch onto what is known of A.

What changes the vocabulary for all (class names that are new, properties) is told to every task. Insertions whose effect
is not tied to elements (definitions of complex assertions, negative data assertions, deletions), and the criteria
`definition7` and `none`, are run as one group.
"""

from __future__ import annotations

import json
import pickle
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from abox_ops.conflicts.identities import Identity, identities
from abox_ops.engine import MODEL, NO_WIDENING, NamedModule, WideningFigures
from abox_ops.local_add_set import LocalAddSet
from abox_ops.modules.shapes import Shape, Shapes
from jobs.spark.auditing import is_drawn
from jobs.spark.facts import element_names
from jobs.spark.patching import KINDS, Footprint, inquiry, patch, patch_all, plain_patch
from jobs.spark.plan import Plan, knowledge_base
from jobs.spark.rows import abox_of_rows
from jobs.spark.worker import cache_counts, opened_store
from shiq.columns.arrays import Ints, unique
from shiq.model import Assertion
from shiq.reasoner.protocol import Answer

#: What a task's records are about.
SUMMARY, CLAUSES, READ, CHANGED, SHAPE, DRAWN = "summary", "clauses", "read", "changed", "shape", "drawn"
SCHEMA = pa.schema(
    [
        ("joint", pa.int64()),
        ("what", pa.string()),
        ("id", pa.int64()),
        ("text", pa.string()),
        ("count", pa.int64()),
        ("body", pa.binary()),
    ]
)
DDL = "joint bigint, what string, id bigint, text string, count bigint, body binary"


@dataclass(frozen=True)
class GroupSummary:
    """Figures of one group; ``merged``: elements that it made of several; ``rows`` were read from the store; ``given``: rows of
    the batch, whose ``content`` is the sum of their hashes; how often the worker had kept what was asked for (``cache_hits``);
    ``widening``: what asking again has cost."""

    insertions: int = 0
    size: int = 0
    pulled_in: int = 0
    contradictory: int = 0
    modules: int = 0
    merged: int = 0
    rows: int = 0
    given: int = 0
    content: int = 0
    cache_hits: int = 0
    cache_misses: int = 0
    widening: WideningFigures = NO_WIDENING

    def __add__(self, other: GroupSummary) -> GroupSummary:
        return GroupSummary(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> GroupSummary:
        """What `to_json` gave."""
        counts: dict[str, Any] = json.loads(text)
        return cls(**counts | {"widening": WideningFigures(**counts["widening"])})


# --- the task -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AskedRecords:
    """What a run of groups tells beside its result: ``facts``, what each read and changed; by ``clauses_by`` alone, the clauses
    that modules are over, which are the same for all; ``answers``, what the worker's reasoner says of modules that the criterion
    did not ask about."""

    facts: bool = False
    clauses_by: int | None = None
    answers: bool = False


def run_group(rows: pa.Table, joint: int, plan: Plan, asked: AskedRecords) -> pa.Table:
    """The records of the group ``joint``, whose insertions (and deletions, with `DELETED` for their split) are ``rows``."""
    cached = cache_counts()
    store = opened_store(plan.store)
    before = store.reads.rows
    ran = closed(rows, plan)
    add_set, answers = ran.add_set, ran.answers
    if answers is None and asked.answers:
        answers = inquiry(plan).decide(add_set.tbox, [module.module for module in add_set.modules])
    shapes = Shapes(add_set.tbox)
    counts: Counter[str] = Counter()
    bodies: dict[str, bytes] = {}
    drawn: dict[str, bytes] = {}
    for i, module in enumerate(add_set.modules):
        shape = shapes.shape(module.module)
        name = shape_name(shape)
        counts[name] += 1
        if name not in bodies:
            bodies[name] = pickle.dumps(module.module) if answers is None else _answer_body(answers[i])
            if is_drawn(shape, plan.asking.audit):
                drawn[name] = pickle.dumps(module.module)
    after = cache_counts()
    summary = GroupSummary(
        add_set.insertions,
        add_set.size,
        add_set.pulled_in,
        len(add_set.contradictory),
        len(add_set.modules),
        len(add_set.merged()),
        store.reads.rows - before,
        len(rows),
        sum(rows["content"].to_pylist()),
        after[True] - cached[True],
        after[False] - cached[False],
        add_set.widening,
    )
    parts = [_records(joint, SUMMARY, texts=[summary.to_json()])]
    if joint == asked.clauses_by:
        parts.append(_records(joint, CLAUSES, texts=[""], bodies=[pickle.dumps(add_set.tbox)]))
    parts.append(_records(joint, SHAPE, texts=list(counts), counts=list(counts.values()), bodies=[bodies[n] for n in counts]))
    parts.append(_records(joint, DRAWN, texts=list(drawn), bodies=list(drawn.values())))
    if asked.facts and ran.footprint is not None:
        names = element_names(add_set.found.graph, add_set.whole)
        for what, told in ((READ, ran.footprint.read), (CHANGED, ran.footprint.changed)):
            for kind in KINDS:
                ids = unique(names[: len(told[kind])][told[kind]])
                parts.append(_records(joint, what, ids=ids, texts=[kind] * len(ids)))
    return pa.concat_tables(parts)


def _answer_body(answer: Answer) -> bytes:
    """``answer`` as a column of texts may hold it: see `jobs.spark.deciding.answered`."""
    used = json.dumps(None if answer.used is None else sorted(answer.used))
    return json.dumps({"verdict": answer.verdict.value, "reason": answer.reason, "used": used}).encode()


def modules_of(rows: pa.Table, joint: int, plan: Plan) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(shape, individuals) for each module of a group; the shape of contradictory elements, which come first, is ""."""
    add_set = closed(rows, plan).add_set
    shapes = Shapes(add_set.tbox)
    yield from (("", members) for members in add_set.contradictory)
    for module in add_set.modules:
        yield shape_name(shapes.shape(module.module)), individuals(module)


def individuals(module: NamedModule) -> tuple[str, ...]:
    return tuple(i for element in module.elements for i in element)


def merged_by(rows: pa.Table, plan: Plan) -> list[Identity]:
    """The individuals that a group makes equal, with the reasons."""
    return identities(closed(rows, plan).add_set)


def kept_of(rows: pa.Table, plan: Plan) -> Iterator[Assertion]:
    """The part of A_add that a group gives."""
    return closed(rows, plan).add_set.kept()


def shape_name(shape: Shape) -> str:
    """A digest that two shapes share only if they are equal."""
    return blake2b(repr(shape).encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()


def _records(
    joint: int,
    what: str,
    *,
    ids: Ints | None = None,
    texts: list[str] | None = None,
    counts: list[int] | None = None,
    bodies: list[bytes] | None = None,
) -> pa.Table:
    count = len(ids) if ids is not None else len(texts or ())
    columns = [
        pa.array(np.full(count, joint, np.int64)),
        pa.repeat(pa.scalar(what, pa.string()), count),
        pa.array(ids if ids is not None else np.zeros(count, np.int64)),
        pa.array(texts if texts is not None else [""] * count, pa.string()),
        pa.array(counts if counts is not None else [0] * count, pa.int64()),
        pa.array(bodies if bodies is not None else [b""] * count, pa.binary()),
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


# --- one run --------------------------------------------------------------------------------------

#: In the column ``split``: a row of the deletions.
DELETED = -2


@dataclass(frozen=True)
class Ran:
    """What a run came to. ``footprint``: what it rested on, if it is not of the whole batch; ``answers``: one for each module,
    where the criterion asks as it goes."""

    add_set: LocalAddSet
    footprint: Footprint | None = None
    answers: Sequence[Answer] | None = None


def closed(rows: pa.Table, plan: Plan) -> Ran:
    """The add set of ``rows``."""
    is_deletion = pc.equal(rows["split"], DELETED)
    insertions, deletions = abox_of_rows(rows.filter(pc.invert(is_deletion))), abox_of_rows(rows.filter(is_deletion))
    base = knowledge_base(plan)
    if plan.whole and plan.criterion == MODEL:
        add_set, answers = patch_all(base, insertions, deletions, plan)
        return Ran(add_set, None, answers)
    if plan.whole:
        return Ran(base.add_set(insertions, deletions, plan.criterion))
    if plan.criterion == MODEL:
        add_set, answers, found = patch(base, insertions, _known(rows), plan)
        return Ran(add_set, found, answers)
    return Ran(*plain_patch(base, insertions, _known(rows), plan))


def _known(rows: pa.Table) -> Mapping[str, int]:
    """The nodes of the individuals that the reading tasks have looked up already."""
    found = dict(zip(rows["s"].to_pylist(), rows["s_node"].to_pylist()))
    ends = zip(rows["kind"].to_pylist(), rows["o"].to_pylist(), rows["o_node"].to_pylist())
    found.update((o, node) for kind, o, node in ends if kind == "role")
    return found
