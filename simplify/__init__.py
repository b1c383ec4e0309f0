"""TBox → simplified TBox → DL-clauses (THEORY, "Simplified TBox" and "DL-clauses"). Sees no ABox.

One rewrite per file, in the order of `PASSES`: `desugar` makes inclusions of all axioms,
`to_nnf` writes them as ⊤ ⊑ C, `normal_form` takes them apart, `name_restrictions` (Definition 4
only) gives every ∀ and ≤ an inclusion of its own, `eliminate_transitivity` does what its name
says, for property chains too, `contract_loops` says of loops what is said of neighbours, and
`clauses` reads the result as DL-clauses.

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

from shiq.clause import ClausalTBox
from shiq.errors import UsageError
from shiq.model import Axiom, Class, SubClassOf, TBox
from shiq.roles import loop_name, role_box
from shiq.signature import entities
from simplify.clauses import clausal_tbox, datatype_origins
from simplify.desugar import desugar
from simplify.inclusion import Context, Inclusion, is_reserved, role_origins
from simplify.nnf import to_nnf
from simplify.normal_form import normal_form
from simplify.transitivity import eliminate_transitivity

if TYPE_CHECKING:
    from shiq.role_words import RolePaths
    from simplify.restrictions import AtMost, Universal

__all__ = ["PASSES", "SimplifiedTBox", "simplify"]

#: From inclusions to inclusions. Each goes from front to back and never back again, so that what is
#: added at the end of a TBox leaves names, clauses and atoms of the front as they are.
Pass: TypeAlias = Callable[[Sequence[Inclusion], Context], list[Inclusion]]


def along_roles(inclusions: Sequence[Inclusion], context: Context) -> list[Inclusion]:
    """``inclusions`` (in normal form) without what rests on transitivity or chains, and with
    what they say of loops.
    """
    found = eliminate_transitivity(inclusions, context)
    if not context.roles.looped:
        return found
    # Loaded where a TBox speaks of loops.
    from simplify.loops import contract_loops

    return contract_loops(found, context)


#: After `desugar`, before `clauses`: the form of DL-clauses; what comes first serves Definition 4
#: too, which then names restrictions before it goes along roles.
PASSES: tuple[Pass, ...] = (to_nnf, normal_form, along_roles)


@dataclass(frozen=True)
class SimplifiedTBox:
    """A TBox in the two forms that the criteria read; both have its models, up to fresh names
    and roles that are not simple. The form of Definition 4 is made when somebody asks for it:
    one criterion reads it.

    ``axioms``: the TBox's, then the extra ones; origins index into it. ``clauses``: THEORY,
    "DL-clauses". ``normalised``: the inclusions that both forms are made of, ``given``: the
    class names that must be atoms too, by axiom.
    """

    axioms: tuple[Axiom, ...]
    clauses: ClausalTBox
    normalised: tuple[Inclusion, ...]
    context: Context
    given: tuple[tuple[int, str], ...]

    @cached_property
    def _restricted(self) -> list[Inclusion]:
        # Loaded where the criterion `definition7` reads it.
        from simplify.restrictions import name_restrictions

        return along_roles(name_restrictions(self.normalised, self.context), self.context)

    @cached_property
    def definition4(self) -> tuple[SubClassOf, ...]:
        """The inclusions of THEORY, "Simplified TBox", role axioms apart."""
        from simplify.restrictions import definition4_axiom

        return tuple(dict.fromkeys(map(definition4_axiom, self._restricted)))

    @cached_property
    def definition4_clauses(self) -> ClausalTBox:
        """The same as clauses, with fresh names of their own."""
        return clausal_tbox(self._restricted, self.context, self.axioms, self.given)

    @cached_property
    def universals(self) -> tuple[Universal, ...]:
        """Its inclusions L₁ ⊑ ∀S.L₂."""
        from simplify.restrictions import universals_of

        return universals_of(self.definition4)

    @cached_property
    def at_mosts(self) -> tuple[AtMost, ...]:
        """Its inclusions L₁ ⊑ ≤n S.L₂."""
        from simplify.restrictions import at_mosts_of

        return at_mosts_of(self.definition4)

    @property
    def features(self) -> frozenset[str]:
        """Fs(T), closed downwards under ⊑*."""
        return self.clauses.data_properties


def simplify(tbox: TBox, extra: Sequence[SubClassOf | Class] = ()) -> SimplifiedTBox:
    """``tbox`` simplified, with what an ABox adds: ``extra`` definitions Q ⊑ C of complex class
    assertions, and class names that must be atoms too.

    The clauses and atoms of simplify(tbox, extra) are a prefix of those of simplify(tbox,
    [*extra, *more]). Equisatisfiable with ``tbox`` for every ABox over names and roles, with the
    same consequences over old names (negative assertions on roles that are not simple apart:
    THEORY, "DL-clauses").

    Raises `UsageError` for what lies outside SHIQ(D), and for a name of the caller's that looks
    like a fresh one.
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
    _refuse_look_alikes(old_names & set(map(loop_name, roles.looped)))
    context = Context(
        roles=roles,
        role_origins=role_origins(tbox.axioms),
        datatype_origins=datatype_origins(tbox.axioms),
        taken=frozenset(name for name in old_names if is_reserved(name)),
        paths=_paths(tbox.axioms) if roles.composite else None,
    )
    _refuse_look_alikes(
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


def _paths(axioms: Sequence[Axiom]) -> RolePaths:
    # Loaded where a TBox has property chains.
    from shiq.role_words import RolePaths

    return RolePaths(axioms)


def _class_names(axioms: Iterable[Axiom]) -> frozenset[str]:
    return frozenset(e.iri for axiom in axioms for e in entities(axiom) if isinstance(e, Class))


def _refuse_look_alikes(given: Iterable[str]) -> None:
    clash = sorted(filter(is_reserved, given))
    if clash:
        raise UsageError(f"<{clash[0]}> is a name as simplification makes them", "Rename it.")
