"""One group of insertions against the store, in one task: the closure kernel of the engine `local`, and what it rested on.

*Speculate, certify, merge.* Groups are run as if each were the whole batch. Beside its result a run tells which elements (of A,
or fresh) it *consulted* and which it *changed*, and groups of which one consulted what another changed are run again as one.

A run of `jobs.engines.clausal` is a sequence of rounds (told⁺, merge classes, I), each a function of the state before it; I is
kept from round to round, and a round that changes nothing is the last. Every value that a round reads, it reads at an element
that its graph has located: label, quotient and merge class, members, rows of the base and of the insertions.

* consulted(g): all elements that the graph of g has located at the end.
* changed(g): all elements with label⁺ ≠ told, fresh ones, those that A⁺ merges or enlarges, I, those whose merge class was in any
  round not that of A, the ends of inserted role assertions that some ≤n can count, and the subjects of inserted data assertions
  that some ≤n can count.

**Proposition.** If consulted(g) ∩ changed(h) = ∅ for all g ≠ h, the joint run gives in every round the union of what the runs of
the groups give (a run that has ended goes on with its last round).

*Proof*, by induction over the steps. Labels and I only grow within a run, and elements whose merge class was other than in A in
any round are in changed. So at each step an element outside changed(h) has under h the state that it has in A. What is left are
insertions of h that a step of g could see in the rows of an element:
(i) A class assertion, sameAs, inequality, negative or complex assertion makes its individuals fresh, changed or members of I,
or is told already and changes nothing. A data assertion is read as a label, or counted (both in changed), or always kept (its
subject is in I then). A negative assertion elsewhere makes g see no more: it concerns pairs of merge classes that hold its
ends.
(ii) A role assertion R(a, x) matters to g as one to count: then a and x are in changed(h). Or as one along which literals are
sent, or that I crosses, because one end, say a, is active or in I under g. Then a is in consulted(g). Since h touches a and x,
they are in consulted(h): under g they have their labels of A, and are not in I. So a row that sends something, or is crossed,
does so because of what h made of x or a, and under h as well, since both are active there; but then a would be in changed(h).
Elements that g pulled in and h touched would be in changed(g) ∩ consulted(h), so pulled_in is additive. The sets I are
disjoint, and so are their rows and modules; a kept role assertion from I of g to I of h would have its end in consulted(g) ∩
changed(h). ∎

What changes the vocabulary for all (class names that are new, properties) is told to every task. Insertions whose effect
is not tied to elements (definitions of complex assertions, negative data assertions, deletions), and the other criteria, are
run as one group.
"""

from __future__ import annotations

import json
import pickle
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from abox_ops.engine import NamedModule
from abox_ops.shapes import Shape, Shapes
from jobs.columns import Columns, Ints, Table, array_table, unique
from jobs.engines.base import FRESH, Base, Names
from jobs.engines.calculus import Calculus
from jobs.engines.clausal import Clausal, Found
from jobs.engines.counting import Counts
from jobs.engines.graph import Graph
from jobs.engines.index import Extra, Index
from jobs.engines.labels import Bools
from jobs.engines.local import LocalKnowledgeBase
from jobs.engines.local_add_set import LocalAddSet
from jobs.engines.touched import touched_by
from jobs.engines.whole import Whole, batch_of, split
from jobs.spark.rows import abox_of_rows
from jobs.spark.worker import StoreKey, kept, opened_store
from jobs.store.schema import term_hash
from shiq.abox import ABox, Interner
from shiq.datatypes import DataTheory
from shiq.model import Assertion, Literal
from simplify import SimplifiedTBox, simplify

#: What a task's records are about.
SUMMARY, CLAUSES, CONSULTED, CHANGED, SHAPE = "summary", "clauses", "consulted", "changed", "shape"
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
class Plan:
    """What every task of a run has to know: the names of the batch that the store has not, in a fixed order, and what they add to
    the TBox; the criterion; whether the batch is run as a ``whole``."""

    store: StoreKey
    run: str
    names: tuple[tuple[str, ...], ...]
    extra: Extra
    criterion: str = "clausal"
    whole: bool = False


@dataclass(frozen=True)
class Summary:
    """Figures of one group; ``row_groups`` and ``rows`` were read from the store."""

    insertions: int = 0
    size: int = 0
    pulled_in: int = 0
    contradictory: int = 0
    modules: int = 0
    row_groups: int = 0
    rows: int = 0

    def __add__(self, other: Summary) -> Summary:
        return Summary(*(a + b for a, b in zip(asdict(self).values(), asdict(other).values())))


# --- the task -------------------------------------------------------------------------------------


def run_group(rows: pa.Table, joint: int, plan: Plan, *, facts: bool) -> pa.Table:
    """The records of the group ``joint``, whose insertions (and deletions, with `DELETED` for their split) are ``rows``."""
    store = opened_store(plan.store)
    before = store.reads.row_groups, store.reads.rows
    add_set, changed = closed(rows, plan)
    shapes = Shapes(add_set.tbox, DataTheory(add_set.tbox.definitions, add_set.tbox.roles))
    counts: Counter[str] = Counter()
    bodies: dict[str, bytes] = {}
    for module in add_set.modules:
        name = shape_name(shapes.shape(module.module))
        counts[name] += 1
        if name not in bodies:
            bodies[name] = pickle.dumps(module.module)
    summary = Summary(
        add_set.insertions,
        add_set.size,
        add_set.pulled_in,
        len(add_set.contradictory),
        len(add_set.modules),
        store.reads.row_groups - before[0],
        store.reads.rows - before[1],
    )
    parts = [_records(joint, SUMMARY, texts=[json.dumps(asdict(summary))])]
    # Every group of a run has the same clauses; one of them tells the reasoners.
    parts.append(_records(joint, CLAUSES, texts=[""], bodies=[pickle.dumps(add_set.tbox)]))
    parts.append(_records(joint, SHAPE, texts=list(counts), counts=list(counts.values()), bodies=[bodies[n] for n in counts]))
    if facts and changed is not None:
        graph = add_set.found.graph
        ids = identities(graph, add_set.whole)
        parts.append(_records(joint, CONSULTED, ids=unique(ids)))
        parts.append(_records(joint, CHANGED, ids=unique(ids[changed])))
    return pa.concat_tables(parts)


def modules_of(rows: pa.Table, joint: int, plan: Plan) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(shape, individuals) for each module of a group; the shape of contradictory elements, which come first, is ""."""
    add_set, _ = closed(rows, plan)
    shapes = Shapes(add_set.tbox, DataTheory(add_set.tbox.definitions, add_set.tbox.roles))
    yield from (("", members) for members in add_set.contradictory)
    for module in add_set.modules:
        yield shape_name(shapes.shape(module.module)), individuals(module)


def individuals(module: NamedModule) -> tuple[str, ...]:
    return tuple(i for element in module.elements for i in element)


def kept_of(rows: pa.Table, plan: Plan) -> Iterator[Assertion]:
    """The part of A_add that a group gives."""
    return closed(rows, plan)[0].kept()


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


def closed(rows: pa.Table, plan: Plan) -> tuple[LocalAddSet, Bools | None]:
    """The add set of ``rows``; and which numbers of its graph were changed, if it is not the whole batch."""
    is_deletion = pc.equal(rows["split"], DELETED)
    insertions, deletions = abox_of_rows(rows.filter(pc.invert(is_deletion))), abox_of_rows(rows.filter(is_deletion))
    base = knowledge_base(plan)
    if plan.whole:
        return base.add_set(insertions, deletions, plan.criterion), None
    return insert(base, insertions, _known(rows), plan)


def knowledge_base(plan: Plan) -> LocalKnowledgeBase:
    """The store of ``plan`` as the engine `local` opens it, once per worker."""
    return kept("base", plan.store.identity, lambda: LocalKnowledgeBase.from_store(opened_store(plan.store)))


def _known(rows: pa.Table) -> Mapping[str, int]:
    """The nodes of the individuals that the reading tasks have looked up already."""
    found = dict(zip(rows["s"].to_pylist(), rows["s_node"].to_pylist()))
    ends = zip(rows["kind"].to_pylist(), rows["o"].to_pylist(), rows["o_node"].to_pylist())
    found.update((o, node) for kind, o, node in ends if kind == "role")
    return found


@dataclass(frozen=True, eq=False)
class _Primed:
    """A base that need not look up individuals whose nodes are ``known``."""

    base: Base
    known: Mapping[str, int]

    @property
    def names(self) -> Names:
        return self.base.names

    def __len__(self) -> int:
        return len(self.base)

    def table(self, name: str) -> Table:
        return self.base.table(name)

    def nodes(self) -> Ints:
        return self.base.nodes()

    def nodes_of(self, terms: Any) -> Ints:
        if not all(term in self.known for term in terms):
            return self.base.nodes_of(terms)
        return np.fromiter((self.known[term] for term in terms), np.int64, len(terms))

    def terms_of(self, nodes: Ints) -> list[str]:
        return self.base.terms_of(nodes)

    def literals_of(self, literals: Ints) -> list[Literal]:
        return self.base.literals_of(literals)

    def complex_of(self, rows: Columns) -> list[Assertion]:
        return self.base.complex_of(rows)

    def class_counts(self) -> Ints:
        return self.base.class_counts()


def insert(kb: LocalKnowledgeBase, insertions: ABox, known: Mapping[str, int], plan: Plan) -> tuple[LocalAddSet, Bools]:
    """What `LocalKnowledgeBase.add_set` does for insertions under `clausal`, with the vocabulary of the whole batch; and which
    numbers of the graph were changed. ``known``: nodes of individuals."""
    index, stored = kb.index, kb.base
    names = _names(stored.names, plan)
    simplified = _simplified(kb, plan)
    base: Base = _Primed(stored, known)
    batch = batch_of(base, insertions, names)
    _, lacked = split(base, batch)
    whole = Whole(base, batch, {name: array_table("node", columns) for name, columns in lacked.items()})
    touched = touched_by(whole, kb.roles)
    as_before = simplified is index.simplified and names.sizes() == stored.names.sizes()
    calculus = index.calculus if as_before else _calculus(index, simplified, names, plan)
    graph = Graph(whole, kb.roles, index.equal, index.labels.of, index.merged)
    watched = Watched(index, calculus, graph, touched)
    add_set = LocalAddSet(calculus, index, whole, kb.roles, watched.run())
    # Counting what is kept looks at the far ends of inequalities too: they are consulted.
    _ = add_set.size
    return add_set, watched.changed(add_set.found)


def _names(names: Names, plan: Plan) -> Names:
    found = names.copy()
    for interner, new in zip((found.classes, found.object_properties, found.data_properties), plan.names):
        for name in new:
            interner.id(name)
    return found


def _simplified(kb: LocalKnowledgeBase, plan: Plan) -> SimplifiedTBox:
    if not plan.extra:
        return kb.index.simplified
    key: Hashable = plan.store.identity, plan.extra
    return kept("simplified", key, lambda: simplify(kb.source, (*kb.index.extra, *plan.extra)))


def _calculus(index: Index, simplified: SimplifiedTBox, names: Names, plan: Plan) -> Calculus:
    key = plan.store.identity, plan.extra, plan.names
    return kept("calculus", key, lambda: Calculus(simplified.clauses, names, index.calculus.table.labels[: index.stored_labels]))


class Watched(Clausal):
    """A run that remembers whose merge class was not that of A in some round."""

    def __init__(self, *state: Any) -> None:
        super().__init__(*state)
        self._reclassed = np.zeros(0, np.bool_)

    def _recount(self) -> None:
        super()._recount()
        if self.calculus.space.m_type:
            found = reclassed(self.graph, self.counts)
            found[: len(self._reclassed)] |= self._reclassed
            self._reclassed = found

    def changed(self, found: Found) -> Bools:
        """By number: whether it is in changed, as the module says."""
        graph = self.graph
        flags = np.zeros(len(graph), np.bool_)
        flags[: len(self._reclassed)] = self._reclassed
        rep = graph.rep
        flags |= graph.is_new()[rep]
        flags |= graph.label[rep] != graph.old
        seen = np.zeros(len(graph), np.bool_)
        seen[found.seen] = True
        flags |= seen[rep]
        flags[graph.locate_nodes(self._counted_ends())] = True
        return flags

    def _counted_ends(self) -> Ints:
        """The nodes of inserted assertions that a ≤n can count."""
        rows = self.graph.whole.inserted
        edges, data = rows["half_edges"].columns, rows["data_assertions"].columns
        counted = (
            self.calculus.among(edges["role"], counted_roles(self.calculus)) if len(edges["node"]) else np.zeros(0, np.bool_)
        )
        names = self.calculus.names.data_properties.values
        bounded = np.fromiter((p in self.calculus.bounded_properties for p in names), np.bool_, len(names))
        found: Ints = np.concatenate([edges["node"][counted], data["node"][bounded[data["property"]]]])
        return found


def reclassed(graph: Graph, counts: Counts) -> Bools:
    """By number of ``graph``: whether its merge class in ``counts`` is not the one that it has in A."""
    now = counts.classes(np.arange(len(graph)))[graph.rep]
    group = graph.group
    order = np.lexsort((group, now))
    pairs = np.stack([now[order], group[order]], axis=1)
    distinct_pairs = np.unique(pairs, axis=0) if len(pairs) else pairs
    classes, groups_in = np.unique(distinct_pairs[:, 0], return_counts=True)
    groups, classes_of = np.unique(distinct_pairs[:, 1], return_counts=True)
    mixed = groups_in[np.searchsorted(classes, now)] > 1
    torn = classes_of[np.searchsorted(groups, group)] > 1
    found: Bools = mixed | torn
    return found


def counted_roles(calculus: Calculus) -> frozenset[Any]:
    """The roles of which an assertion, seen from either end, can change what a ≤n counts: those below its role; all roles where
    something can be generated there, since then any neighbour may be taken for a witness (THEORY.md 2.3)."""
    space = calculus.space
    found: set[Any] = set()
    for clause in space.m_type:
        below = calculus.below(clause)
        if any(atom.role in below or atom.role.inverse in below for atom in space.at_least.values()):
            return frozenset(calculus.roles)
        found |= below | {role.inverse for role in below}
    return frozenset(found)


def identities(graph: Graph, whole: Whole) -> Ints:
    """By number of ``graph``: what names the element in every task: its number in the store, or a hash of a fresh individual's
    name, with the lowest negative numbers (two that share one are only run together)."""
    ids = graph.key.copy()
    fresh = np.flatnonzero(ids >= FRESH)
    if len(fresh):
        terms = [whole.batch.terms[i] for i in (ids[fresh] - FRESH).tolist()]
        ids[fresh] = term_hash(terms) | np.int64(-(1 << 63))
    return ids


def new_names(known: Names, used: tuple[set[str], ...]) -> tuple[tuple[str, ...], ...]:
    """The names that ``known`` has not, in a fixed order."""
    interners: tuple[Interner[str], ...] = (known.classes, known.object_properties, known.data_properties)
    return tuple(tuple(sorted(name for name in names if name not in interner.ids)) for interner, names in zip(interners, used))
