"""Snapshots of a stream and their entailments as ground atoms; changes, similarity and rarity.

Entailments of T, static data A and a snapshot are computed by `shiq.abox_ops.entailment`, with a
name for each class of the vocabulary V. Changes and Φ compare the unions of windows; rarity and
support count snapshots (docs/DISCOVERY.md, Definitions 2 to 5).

>>> count_changes({1, 2}, {2, 3, 4})
Changes(new=2, obsolete=1, invariant=1)
>>> count_changes({1, 2}, {2, 3, 4}).similarity
Fraction(1, 4)
>>> [compute_rarity([{1, 2}, {2}], e) for e in (1, 2)]
[Fraction(1, 2), Fraction(1, 2)]
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from shiq import model as owl
from shiq.abox_ops.entailment import Entailer, Entailment, Premises
from shiq.abox_ops.entailment.premises import Types
from shiq.answers.verdict import Leftover, Verdict
from shiq.errors import OperationalError, UsageError
from shiq.functional.writer import axiom_text
from shiq.streams.discovery.atomsets import (
    Atom,
    Atoms,
    atoms_to_text,
    individual_to_term,
    strip_brackets,
)


class Changes(NamedTuple):
    """Numbers of assertions that only the second window entails, only the first, and both."""

    new: int
    obsolete: int
    invariant: int

    @property
    def similarity(self) -> Fraction | None:
        """Similarity Φ of two windows: share of entailments in both; None if they entail nothing."""
        basis = sum(self)
        return Fraction(self.invariant, basis) if basis else None


def count_changes(before: Set[Hashable], after: Set[Hashable]) -> Changes:
    """Count the changes between the entailments of two windows (Definition 2)."""
    return Changes(len(after - before), len(before - after), len(after & before))


def count_by_frequency(snapshots: Iterable[Collection[Hashable]]) -> dict[int, int]:
    """By number of snapshots, count the assertions that exactly so many snapshots entail."""
    times = Counter(assertion for entailed in snapshots for assertion in entailed)
    return dict(sorted(Counter(times.values()).items()))


def compute_rarity(snapshots: Iterable[Collection[Hashable]], e: int) -> Fraction | None:
    """Rarity ϱ_e: share of assertions that exactly e snapshots entail; None if there are none."""
    by_count = count_by_frequency(snapshots)
    distinct = sum(by_count.values())
    return Fraction(by_count.get(e, 0), distinct) if distinct else None


#: What was asserted, each once.
Assertions = tuple[owl.Assertion, ...]


@dataclass
class ValueCounter:
    """Multiset of the values in a window's snapshots. A slide of the window only counts the
    snapshots that came and left.

    values: gives the values of a snapshot.
    """

    values: Callable[[int], Iterable[Any] | None]
    times: Counter[Any] = field(default_factory=Counter)
    _counted_values: dict[int, Any] = field(default_factory=dict)

    def slide_to(self, window: Iterable[int]) -> Iterable[Any]:
        """Slide to another window; return the distinct values of its snapshots."""
        now = {index: self.values(index) or () for index in window}
        gone = [index for index, held in self._counted_values.items() if held is not now.get(index)]
        if len(gone) == len(self._counted_values):
            self.times.clear()
            self._counted_values.clear()
        for index in gone if self._counted_values else ():
            self.times.subtract(self._counted_values.pop(index))
        for index, values in now.items():
            if index not in self._counted_values:
                self.times.update(values)
                self._counted_values[index] = values
        for value in [value for value, times in self.times.items() if not times]:
            del self.times[value]
        return self.times


@dataclass
class SnapshotStore:
    """Store of the snapshots' assertions and cached entailments.

    knowledge: reasoner over T and A.
    versions: by index, the number of the snapshot's current state.
    """

    knowledge: MinerKnowledge
    assertions: dict[int, Assertions] = field(default_factory=dict)
    versions: dict[int, int] = field(default_factory=dict)
    last_version: int = 0
    #: Tuples: a set of thousands takes ten times as much.
    _entailments: dict[int, Atoms | None] = field(default_factory=dict)
    #: Those of which it is not known what they entail.
    _undecided_snapshots: set[int] = field(default_factory=set)
    #: What windows entail of classes, by their ends and basis; what goes from window to window, by
    #: basis and length.
    _window_entailments: dict[tuple[int, int, str], frozenset[Atom] | None] = field(
        default_factory=dict
    )
    _tallies: dict[tuple[str, int], ValueCounter] = field(default_factory=dict)
    _interned_values: dict[object, object] = field(default_factory=dict)
    _texts: dict[int, tuple[int, bytes]] = field(default_factory=dict)

    def add_assertions(self, index: int, assertions: Iterable[owl.Assertion]) -> None:
        """Add assertions to a snapshot."""
        same = self._interned_values
        before = self.assertions.get(index, ())
        united = tuple(dict.fromkeys((*before, *(same.setdefault(a, a) for a in assertions))))
        if index in self.assertions and len(united) == len(before):
            return
        self.assertions[index] = united  # type: ignore[assignment]
        self.last_version += 1
        self.versions[index] = self.last_version
        self._forget_entailment(index)
        self._window_entailments = {
            key: found
            for key, found in self._window_entailments.items()
            if not key[0] <= index <= key[1]
        }

    def add_snapshots(self, *others: SnapshotStore) -> None:
        """Add the snapshots of other stores. Raises: UsageError if two have the same index."""
        for other in others:
            both = self.assertions.keys() & other.assertions.keys()
            if both:
                raise UsageError(
                    f"both miners have snapshot {min(both)}", "Merge miners of disjoint snapshots."
                )
            for index, assertions in other.assertions.items():
                self.add_assertions(index, assertions)
                if index in other._entailments and index not in other._undecided_snapshots:
                    self._entailments[index] = other._entailments[index]

    def pack_snapshot(
        self, index: int, texts_of: Callable[[Iterable[owl.Assertion]], list[str]]
    ) -> bytes:
        """Compressed N-Triples of a snapshot, cached until it changes."""
        known = self._texts.get(index)
        if known is None or known[0] != self.versions[index]:
            whole = "\n".join(texts_of(self.assertions[index])).encode("utf-8", "surrogatepass")
            known = self._texts[index] = self.versions[index], zlib.compress(whole, 1)
        return known[1]

    def drop_snapshots_before(self, before: int) -> None:
        """Drop the snapshots before an index."""
        gone = [index for index in self.assertions if index < before]
        for index in gone:
            del self.assertions[index]
            self._forget_entailment(index)
            self.versions.pop(index, None)
            self._texts.pop(index, None)
        self._window_entailments = {
            key: found for key, found in self._window_entailments.items() if key[0] >= before
        }
        if gone and len(self._interned_values) > 100_000:
            live: set[object] = set().union(
                *self.assertions.values(), *(found for found in self._entailments.values() if found)
            )
            if 2 * len(live) < len(self._interned_values):
                self._interned_values = {value: value for value in live}

    def entailed_atoms(self, index: int) -> Atoms | None:
        """Atoms that the ontology T, the static data A and a snapshot entail together, without
        those that T and A entail alone.

        Returns: None if it is inconsistent or undecided; () for a missing snapshot.
        """
        if index not in self.assertions:
            return ()
        if index not in self._entailments:
            try:
                self.set_entailed(index, self.knowledge.entailed_atoms(self.assertions[index]))
            except UndecidedEntailmentError as undecided:
                self.set_entailed(index, None, undecided.reason)
        return self._entailments[index]

    def set_entailed(
        self, index: int, entailed: Iterable[Atom] | None, undecided: str | None = None
    ) -> None:
        """Store a snapshot's entailments; None if inconsistent, or undecided for that reason."""
        same = self._interned_values
        if undecided is not None:
            self._undecided_snapshots.add(index)
            self.knowledge.undecided_reasons[f"snapshot {index} is left out"] = undecided
        self._entailments[index] = (
            None if entailed is None else tuple(same.setdefault(a, a) for a in entailed)  # type: ignore[misc]
        )

    def forget_entailments(self, window: range) -> None:
        """Forget the cached entailments of a window."""
        for index in window:
            self._forget_entailment(index)
        self._window_entailments.clear()

    def _forget_entailment(self, index: int) -> None:
        """Forget the cached entailments of a snapshot."""
        self._entailments.pop(index, None)
        self._undecided_snapshots.discard(index)

    def inconsistent_and_undecided(
        self, window: Iterable[int]
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Indexes of a window's inconsistent snapshots, and of its undecided ones."""
        out = [index for index in window if self.entailed_atoms(index) is None]
        return tuple(i for i in out if i not in self._undecided_snapshots), tuple(
            i for i in out if i in self._undecided_snapshots
        )

    def consistent_snapshots(self, window: Iterable[int]) -> list[int]:
        """Indexes of the snapshots of a window that are consistent and not undecided."""
        return [index for index in window if self.entailed_atoms(index) is not None]

    def entailed_by_union(self, window: range) -> frozenset[Atom] | None:
        """Class assertions entailed by the union of a window's consistent snapshots.

        Returns: None if the union is inconsistent or undecided.
        """
        key = (*_window_ends(window), "union")
        if key not in self._window_entailments:
            try:
                found = self.knowledge.entailed_atoms(
                    self._count_values("union", window, self._assertions_if_consistent)
                )
            except UndecidedEntailmentError as undecided:
                found = None
                self.knowledge.undecided_reasons[
                    f"snapshots {key[0]} to {key[1]} are not united"
                ] = undecided.reason
            self._window_entailments[key] = None if found is None else _select_class_atoms(found)
        return self._window_entailments[key]

    def _assertions_if_consistent(self, index: int) -> Assertions | None:
        """Assertions of a snapshot; None if it is inconsistent or undecided."""
        return None if self.entailed_atoms(index) is None else self.assertions.get(index)

    def entailed_by_some(self, window: range) -> frozenset[Atom]:
        """Class assertions that some consistent snapshot of a window entails."""
        key = (*_window_ends(window), "snapshots")
        if key not in self._window_entailments:
            self._window_entailments[key] = _select_class_atoms(
                self._count_values("snapshots", window, self.entailed_atoms)
            )
        return self._window_entailments[key] or frozenset()

    def _count_values(
        self, basis: str, window: Sequence[int], values: Callable[[int], Iterable[Any] | None]
    ) -> Iterable[Any]:
        """Distinct values of a window's snapshots, from the counter of this ``basis``."""
        return self._tallies.setdefault((basis, len(window)), ValueCounter(values)).slide_to(window)

    def entailed_by_each(self, window: Sequence[int]) -> list[frozenset[Atom]]:
        """Sets of the class assertions that each consistent snapshot of a window entails, in order."""
        return [
            _select_class_atoms(found)
            for found in map(self.entailed_atoms, window)
            if found is not None
        ]

    def comparable_entailments(self, *windows: range) -> tuple[list[frozenset[Atom]], str]:
        """Class assertions that each window entails, and the basis that all share: "union" (of its
        snapshots) or "snapshots" (some snapshot entails them).

        The basis is "union", or "snapshots" (entailed by some snapshot) if a union is inconsistent.
        """
        unions = [
            union for window in windows if (union := self.entailed_by_union(window)) is not None
        ]
        if len(unions) == len(windows):
            return unions, "union"
        return [self.entailed_by_some(window) for window in windows], "snapshots"

    def window_changes(self, before: range, after: range) -> tuple[Changes, str]:
        """Changes between two windows, and their basis: "union" or "snapshots"."""
        (first, second), basis = self.comparable_entailments(before, after)
        return count_changes(first, second), basis

    def changed_assertions(self, before: range, after: range) -> dict[str, list[str]]:
        """Assertions that only ``after`` entails (``new``) or only ``before`` (``obsolete``)."""
        (first, second), _ = self.comparable_entailments(before, after)
        return {
            "new": sorted(atoms_to_text([atom]) for atom in second - first),
            "obsolete": sorted(atoms_to_text([atom]) for atom in first - second),
        }


def _window_ends(window: range) -> tuple[int, int]:
    """First and last snapshot index of a window."""
    return (window[0], window[-1]) if window else (0, -1)


def _select_class_atoms(atoms: Iterable[Atom]) -> frozenset[Atom]:
    """Select the class atoms among ``atoms``."""
    return frozenset(atom for atom in atoms if len(atom) == 2)


# Axioms so that what is Horn stays Horn: a class on the left that is a conjunction with
# restrictions in it gets them by name.
#
# A ⊓ ∃r.(B ⊓ ∃s.C) ⊑ D becomes ∃s.C ⊑ Q₁, B ⊓ Q₁ ⊑ Q₂, ∃r.Q₂ ⊑ Q₃, A ⊓ Q₃ ⊑ D; as clauses of SHIQ
# the first would leave a choice between D and ∀r.¬…. The names are new, so nothing else follows.


_CLASS_PREFIX = "urn:discovery:v"


class UndecidedEntailmentError(OperationalError):
    """Error: it is undecided what a snapshot entails. The snapshot is left out and reported."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the entailments were not decided: {reason}",
            "Make the TBox simpler; --allow outside-shiq leaves out what lies beyond SHIQ(D).",
        )
        self.reason = reason


@dataclass
class MinerKnowledge:
    """Reasoner over ontology T and static data A for a miner.

    classes: the vocabulary V.
    roles: roles that bodies may use.
    undecided_reasons: what was left out, and why.
    """

    tbox: owl.TBox
    static: Sequence[owl.Assertion]
    classes: Sequence[owl.ClassExpression]
    roles: Sequence[str]
    undecided_reasons: dict[str, str] = field(default_factory=dict)
    #: What some types say beside others, by texts.
    _new_texts: dict[tuple[frozenset[str], frozenset[str]], tuple[str, ...]] = field(
        default_factory=dict
    )

    @cached_property
    def vocabulary(self) -> dict[str, owl.ClassExpression]:
        """Class expressions of the miner's vocabulary V, by text."""
        return {axiom_text(c): c for c in self.classes}

    def leftovers(self) -> list[Leftover]:
        """Leftovers (kind "undecided"), one for each question that the reasoner did not decide."""
        return [
            Leftover("undecided", f"{what}: {reason}")
            for what, reason in self.undecided_reasons.items()
        ]

    @cached_property
    def static_entailments(self) -> frozenset[Atom] | None:
        """Atoms that the ontology T and the static data A entail; None if they are inconsistent.
        Raises: UndecidedEntailmentError.
        """
        found = _require_decided(self._static_entailment)
        return None if found is None else frozenset(self._added_atoms(found, {}))

    def entailed_atoms(self, assertions: Iterable[owl.Assertion]) -> frozenset[Atom] | None:
        """Atoms that follow from T, A and assertions, but not from T and A alone; None if
        inconsistent.
        """
        base = self.static_entailments
        found = (
            None
            if base is None
            else _require_decided(
                self._static_entailer.entailment(self._name_complex_classes(assertions))
            )
        )
        if base is None or found is None:
            return None
        return frozenset(
            atom
            for atom in self._added_atoms(found, self._static_entailment.types)
            if len(atom) == 2 or atom not in base
        )

    def tbox_closure(self, atoms: Atoms) -> frozenset[Atom]:
        """Atoms that T alone entails from ``atoms``, with variables as individuals; empty if
        inconsistent or undecided.
        """
        try:
            found = _require_decided(
                self._tbox_entailer.entailment(
                    self._name_complex_classes(self.to_assertions(atoms))
                )
            )
        except UndecidedEntailmentError as undecided:
            self.undecided_reasons["what the TBox makes of a body"] = undecided.reason
            found = None
        return frozenset() if found is None else frozenset(self._added_atoms(found, {}))

    def to_assertions(self, atoms: Iterable[Atom]) -> list[owl.Assertion]:
        """Convert atoms to assertions."""
        return [
            owl.ClassAssertion(self.vocabulary[atom[0]], strip_brackets(atom[1]))
            if len(atom) == 2
            else owl.ObjectPropertyAssertion(
                owl.ObjectProperty(strip_brackets(atom[0])),
                strip_brackets(atom[1]),
                strip_brackets(atom[2]),
            )
            for atom in atoms
        ]

    def is_consistent(self, assertions: Iterable[owl.Assertion], atoms: Iterable[Atom]) -> bool:
        """Whether T, A, assertions and atoms are consistent. Raises: UndecidedEntailmentError."""
        return (
            _require_decided(
                self._static_entailer.entailment(
                    self._name_complex_classes((*assertions, *self.to_assertions(atoms)))
                )
            )
            is not None
        )

    def with_axioms(self, axioms: Sequence[owl.Axiom]) -> MinerKnowledge:
        """Copy of this reasoner with more axioms in the ontology T."""
        return MinerKnowledge(
            replace(self.tbox, axioms=(*self.tbox.axioms, *axioms)),
            self.static,
            self.classes,
            self.roles,
        )

    # --- asking -----------------------------------------------------------------------------------

    @cached_property
    def _axioms(self) -> list[owl.Axiom]:
        """Axioms of T, and definitions of the names that stand for the vocabulary's classes."""
        names = zip(self._class_texts_by_name, self.classes)
        defined = [owl.SubClassOf(c, owl.Class(name)) for name, c in names]
        asserted = [owl.SubClassOf(name, c) for c, name in self._assertion_names.items()]
        return [*self.tbox.axioms, *defined, *asserted]

    @cached_property
    def _class_texts_by_name(self) -> dict[str, str]:
        """Text of each class of the vocabulary V, by the name that stands for it in the reasoner."""
        return {f"{_CLASS_PREFIX}:{i}": text for i, text in enumerate(self.vocabulary)}

    @cached_property
    def _assertion_names(self) -> dict[owl.ClassExpression, owl.Class]:
        """By complex class of the vocabulary V, the name that replaces it in assertions."""
        complex_ = [c for c in self.classes if not isinstance(c, owl.Class)]
        return {c: owl.Class(f"{_CLASS_PREFIX}:asserted:{i}") for i, c in enumerate(complex_)}

    @cached_property
    def _static_entailer(self) -> Entailer:
        """Entailment engine over the ontology T and the static data A."""
        return self._make_entailer(self.static)

    @cached_property
    def _tbox_entailer(self) -> Entailer:
        """Entailment engine over the ontology T alone."""
        return self._make_entailer(())

    def _make_entailer(self, static: Sequence[owl.Assertion]) -> Entailer:
        """Make an entailment engine over T and ``static``, for the vocabulary and all roles."""
        premises = Premises.build(self._axioms, self._name_complex_classes(static))
        return Entailer(
            premises,
            [owl.Class(name) for name in self._class_texts_by_name],
            list(self.roles),
            static=bool(static),
        )

    def _name_complex_classes(self, assertions: Iterable[owl.Assertion]) -> list[owl.Assertion]:
        """Replace the vocabulary's complex classes in assertions by the names for them."""
        names = self._assertion_names
        return [
            owl.ClassAssertion(names[a.expression], a.individual)
            if isinstance(a, owl.ClassAssertion)
            and type(a.expression) is not owl.Class
            and a.expression in names
            else a
            for a in assertions
        ]

    @cached_property
    def _static_entailment(self) -> Entailment:
        """Entailments of ontology T and static data A together."""
        return self._static_entailer.base_entailment()

    def _added_atoms(self, entailment: Entailment, before: Types) -> Iterator[Atom]:
        """Yield the atoms of an entailment, except class assertions that are in ``before``."""
        names, new = self._class_texts_by_name, self._new_texts
        for types in (entailment.types, entailment.static_types):
            for individual, classes in types.items():
                key = classes, before.get(individual, _NO_CLASSES)
                if key not in new:
                    new[key] = tuple(names[name] for name in sorted(key[0] - key[1]))
                if new[key]:
                    own = individual_to_term(individual)
                    for text in new[key]:
                        yield text, own
        for pairs in (entailment.pairs, entailment.static_pairs):
            for role, first, second in pairs:
                yield f"<{role}>", individual_to_term(first), individual_to_term(second)


_NO_CLASSES: frozenset[str] = frozenset()


def _require_decided(entailment: Entailment) -> Entailment | None:
    """Return an entailment; None if it is inconsistent. Raises: UndecidedEntailmentError."""
    if entailment.verdict is Verdict.UNDETERMINED:
        raise UndecidedEntailmentError(entailment.reason)
    return None if entailment.verdict is Verdict.INCONSISTENT else entailment
