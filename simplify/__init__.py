"""TBox → simplified TBox → DL-clauses (THEORY, "Simplified TBox" and "DL-clauses"). Sees no ABox.

One rewrite per file, in the order of `PASSES`: `desugar` makes inclusions of all axioms, `to_nnf` writes them as ⊤ ⊑ C,
`normal_form` takes them apart, `name_restrictions` (Definition 4 only) gives every ∀ and ≤ an inclusion of its own,
`eliminate_transitivity` does what its name says, and `clauses` reads the result as DL-clauses.

>>> from shiq.model import Class, SubClassOf, TBox
>>> simplified = simplify(TBox((SubClassOf(Class("urn:A"), Class("urn:B")),)))
>>> [(clause.body, clause.head) for clause in simplified.clauses.clauses]
[(('urn:A',), ('urn:B',))]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from shiq.clause import ClausalTBox
from shiq.errors import UsageError
from shiq.model import Axiom, Class, SubClassOf, TBox
from shiq.roles import role_box
from simplify.clauses import clausal_tbox, datatype_origins
from simplify.desugar import desugar
from simplify.inclusion import Context, Inclusion, is_reserved
from simplify.nnf import to_nnf
from simplify.normal_form import normal_form
from simplify.restrictions import AtMost, Lit, Universal, at_mosts_of, definition4_axiom, name_restrictions, universals_of
from simplify.role_origins import role_origins
from simplify.transitivity import eliminate_transitivity
from simplify.vocabulary import class_names

__all__ = ["PASSES", "PASSES_OF_DEFINITION_4", "AtMost", "Lit", "SimplifiedTBox", "Universal", "simplify"]

#: From inclusions to inclusions. Each goes from front to back and never back again, so that what is added at the end of a TBox
#: leaves names, clauses and atoms of the front as they are.
Pass: TypeAlias = Callable[[Sequence[Inclusion], Context], list[Inclusion]]

_NORMALISATION: tuple[Pass, ...] = (to_nnf, normal_form)

#: After `desugar`, before `clauses`: for the clausal criterion.
PASSES: tuple[Pass, ...] = (*_NORMALISATION, eliminate_transitivity)

#: The same for Definition 4.
PASSES_OF_DEFINITION_4: tuple[Pass, ...] = (*_NORMALISATION, name_restrictions, eliminate_transitivity)


@dataclass(frozen=True)
class SimplifiedTBox:
    """A TBox in the two forms that the criteria read; both have its models, up to fresh names and transitive closure.

    ``axioms``: the TBox's, then the extra ones; origins index into it. ``clauses``: THEORY, "DL-clauses". ``definition4``: the
    inclusions of THEORY, "Simplified TBox" (role axioms apart), ``definition4_clauses`` the same as clauses, with fresh names of
    its own; ``universals`` and ``at_mosts`` are its inclusions L₁ ⊑ ∀S.L₂ and L₁ ⊑ ≤n S.L₂. ``features``: Fs(T), closed downwards
    under ⊑*.
    """

    axioms: tuple[Axiom, ...]
    clauses: ClausalTBox
    definition4: tuple[SubClassOf, ...]
    definition4_clauses: ClausalTBox
    universals: tuple[Universal, ...]
    at_mosts: tuple[AtMost, ...]
    features: frozenset[str]


def simplify(tbox: TBox, extra: Sequence[SubClassOf | Class] = ()) -> SimplifiedTBox:
    """``tbox`` simplified, with what an ABox adds: ``extra`` definitions Q ⊑ C of complex class assertions, and class names that
    must be atoms too.

    The clauses and atoms of simplify(tbox, extra) are a prefix of those of simplify(tbox, [*extra, *more]). Equisatisfiable with
    ``tbox`` for every ABox over names and roles, with the same consequences over old names (negative assertions on roles that
    are not simple apart: THEORY, "DL-clauses").

    Raises `UsageError` for what lies outside SHIQ(D), and for a name of the caller's that looks like a fresh one.
    """
    axioms: tuple[Axiom, ...] = tbox.axioms
    given: list[tuple[int, str]] = []
    for item in extra:
        if isinstance(item, Class):
            given.append((len(axioms), item.iri))
        else:
            axioms = (*axioms, item)
    old_names = class_names(tbox.axioms) | tbox.signature.classes
    context = Context(
        roles=role_box(tbox.axioms),
        role_origins=role_origins(tbox.axioms),
        datatype_origins=datatype_origins(tbox.axioms),
        taken=frozenset(name for name in old_names if is_reserved(name)),
    )
    _refuse_look_alikes((class_names(axioms[len(tbox.axioms) :]) | {name for _, name in given}) - old_names)
    try:
        normalised = _run(_NORMALISATION, desugar(axioms, context), context)
    except RecursionError:
        raise UsageError("a class expression is nested too deeply", "Name its inner parts by classes of their own.") from None
    clauses = clausal_tbox(_run(PASSES[len(_NORMALISATION) :], normalised, context), context, axioms, given)
    context4 = replace(context, scope="definition4:")
    definition4 = _run(PASSES_OF_DEFINITION_4[len(_NORMALISATION) :], normalised, context4)
    as_axioms = tuple(dict.fromkeys(map(definition4_axiom, definition4)))
    return SimplifiedTBox(
        axioms=axioms,
        clauses=clauses,
        definition4=as_axioms,
        definition4_clauses=clausal_tbox(definition4, context4, axioms, given),
        universals=universals_of(as_axioms),
        at_mosts=at_mosts_of(as_axioms),
        features=clauses.data_properties,
    )


def _run(passes: Iterable[Pass], inclusions: list[Inclusion], context: Context) -> list[Inclusion]:
    for rewrite in passes:
        inclusions = rewrite(inclusions, context)
    return inclusions


def _refuse_look_alikes(given: Iterable[str]) -> None:
    clash = sorted(filter(is_reserved, given))
    if clash:
        raise UsageError(f"<{clash[0]}> is a name as simplification makes them", "Rename it.")
