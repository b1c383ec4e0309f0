"""TBox → simplified TBox → DL-clauses (THEORY, "Simplified TBox" and "DL-clauses"). Sees no ABox.

One rewrite per file, in the order of `PASSES`:

* `desugar` makes inclusions of all axioms;
* `to_nnf` writes them as ⊤ ⊑ C;
* `normal_form` flattens them;
* `name_restrictions` (Definition 4 only) gives every ∀ and ≤ an inclusion of its own;
* `eliminate_transitivity` eliminates transitivity and property chains;
* `contract_loops` adds for loops what holds for neighbours;
* `clauses` translates the result to DL-clauses.

>>> from shiq.model import Class, SubClassOf, TBox
>>> simplified = simplify(TBox((SubClassOf(Class("urn:A"), Class("urn:B")),)))
>>> [(clause.body, clause.head) for clause in simplified.clauses.clauses]
[(('urn:A',), ('urn:B',))]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from shiq.errors import UsageError
from shiq.model import Axiom, Class, SubClassOf, TBox
from shiq.model.clause import ClausalTBox
from shiq.model.roles import loop_name, role_box
from shiq.model.walk import entities
from shiq.simplify.clauses import clausal_tbox, datatype_origins
from shiq.simplify.desugar import desugar
from shiq.simplify.inclusion import Context, Inclusion, is_reserved, role_origins
from shiq.simplify.nnf import to_nnf
from shiq.simplify.normal_form import normal_form
from shiq.simplify.transitivity import eliminate_transitivity

if TYPE_CHECKING:
    from shiq.model.role_words import RolePaths
    from shiq.simplify.restrictions import AtMost, Universal

__all__ = ["PASSES", "SimplifiedTBox", "simplify"]

#: From inclusions to inclusions. Each goes from front to back and never back again, so that what is
#: added at the end of a TBox leaves names, clauses and atoms of the front as they are.
Pass: TypeAlias = Callable[[Sequence[Inclusion], Context], list[Inclusion]]


def eliminate_complex_roles(inclusions: Sequence[Inclusion], context: Context) -> list[Inclusion]:
    """Eliminate transitivity, property chains and loops from inclusions in normal form."""
    found = eliminate_transitivity(inclusions, context)
    if not context.roles.loop_properties:
        return found
    # Loaded where a TBox speaks of loops.
    from shiq.simplify.loops import contract_loops

    return contract_loops(found, context)


#: After `desugar`, before `clauses`: the form of DL-clauses; what comes first serves Definition 4
#: too, which then names restrictions before it goes along roles.
PASSES: tuple[Pass, ...] = (to_nnf, normal_form, eliminate_complex_roles)


@dataclass(frozen=True)
class SimplifiedTBox:
    """A TBox in its two simplified forms: DL-clauses, and the inclusions of Definition 4 of the
    published method.

    Both forms have the models of the TBox, up to fresh names and non-simple roles. The form of
    Definition 4 is computed on demand, since only one criterion reads it.

    axioms: of the TBox, then the extra ones; origins index into it.
    clauses: THEORY, "DL-clauses".
    normal_inclusions: the inclusions from which both forms are made.
    extra_names: (index of an axiom, class name): names that must be atoms too.
    """

    axioms: tuple[Axiom, ...]
    clauses: ClausalTBox
    normal_inclusions: tuple[Inclusion, ...]
    context: Context
    extra_names: tuple[tuple[int, str], ...]

    @cached_property
    def _definition4_inclusions(self) -> list[Inclusion]:
        """Return the inclusions of Definition 4 of the published method, with transitivity, chains
        and loops eliminated.
        """
        # Loaded where the criterion `definition7` reads it.
        from shiq.simplify.restrictions import name_restrictions

        return eliminate_complex_roles(
            name_restrictions(self.normal_inclusions, self.context), self.context
        )

    @cached_property
    def definition4(self) -> tuple[SubClassOf, ...]:
        """Return the inclusions of Definition 4 of the published method, without role axioms
        (THEORY, "Simplified TBox").
        """
        from shiq.simplify.restrictions import definition4_axiom

        return tuple(dict.fromkeys(map(definition4_axiom, self._definition4_inclusions)))

    @cached_property
    def definition4_clauses(self) -> ClausalTBox:
        """Return the inclusions of Definition 4 as DL-clauses, with fresh names of their own."""
        return clausal_tbox(
            self._definition4_inclusions, self.context, self.axioms, self.extra_names
        )

    @cached_property
    def universals(self) -> tuple[Universal, ...]:
        """Return the inclusions of Definition 4 that have the form L₁ ⊑ ∀S.L₂."""
        from shiq.simplify.restrictions import universals_of

        return universals_of(self.definition4)

    @cached_property
    def at_mosts(self) -> tuple[AtMost, ...]:
        """Return the inclusions of Definition 4 that have the form L₁ ⊑ ≤n S.L₂."""
        from shiq.simplify.restrictions import at_mosts_of

        return at_mosts_of(self.definition4)

    @property
    def features(self) -> frozenset[str]:
        """Return the data properties that can matter to the clauses, with all below them: Fs(T) of
        THEORY.
        """
        return self.clauses.data_properties


def simplify(tbox: TBox, extra: Sequence[SubClassOf | Class] = ()) -> SimplifiedTBox:
    """Rewrite a TBox to DL-clauses, and to the inclusions of Definition 4 of the published method
    (THEORY, "Simplified TBox").

    The result is equisatisfiable with `tbox` for every ABox over names and roles, and has the same
    consequences over the old names. Negative assertions on non-simple roles are excepted. The
    clauses and atoms of simplify(tbox, extra) are a prefix of those of simplify(tbox, [*extra,
    *more]).

    extra: what an ABox adds: definitions Q ⊑ C for complex class assertions, and class names that
        must
        be atoms.

    Raises: UsageError for a construct outside SHIQ(D), and for a name that looks like a fresh one.
    """
    axioms: tuple[Axiom, ...] = tbox.axioms
    given: list[tuple[int, str]] = []
    for item in extra:
        if isinstance(item, Class):
            given.append((len(axioms), item.iri))
        else:
            axioms = (*axioms, item)
    old_names = _class_names(tbox.axioms) | tbox.signature.classes
    roles = role_box(tbox.axioms)
    _refuse_reserved_names(old_names & set(map(loop_name, roles.loop_properties)))
    context = Context(
        roles=roles,
        role_origins=role_origins(tbox.axioms),
        datatype_origins=datatype_origins(tbox.axioms),
        reserved_names=frozenset(name for name in old_names if is_reserved(name)),
        paths=_role_paths(tbox.axioms) if roles.composite else None,
    )
    _refuse_reserved_names(
        (_class_names(axioms[len(tbox.axioms) :]) | {name for _, name in given}) - old_names
    )
    *normalisation, elimination = PASSES
    try:
        normalised = desugar(axioms, context)
        for rewrite in normalisation:
            normalised = rewrite(normalised, context)
    except RecursionError:
        raise UsageError(
            "a class expression is nested too deeply",
            "Name its inner parts by classes of their own.",
        ) from None
    clauses = clausal_tbox(elimination(normalised, context), context, axioms, given)
    return SimplifiedTBox(
        axioms, clauses, tuple(normalised), replace(context, scope="definition4:"), tuple(given)
    )


def _role_paths(axioms: Sequence[Axiom]) -> RolePaths:
    """Make the automata of the role words that imply each role."""
    # Loaded where a TBox has property chains.
    from shiq.model.role_words import RolePaths

    return RolePaths(axioms)


def _class_names(axioms: Iterable[Axiom]) -> frozenset[str]:
    """Collect the class names in `axioms`."""
    return frozenset(e.iri for axiom in axioms for e in entities(axiom) if isinstance(e, Class))


def _refuse_reserved_names(given: Iterable[str]) -> None:
    """Check that no name looks like the fresh names that simplification makes. Raises: UsageError."""
    clash = sorted(filter(is_reserved, given))
    if clash:
        raise UsageError(f"<{clash[0]}> is a name as simplification makes them", "Rename it.")
