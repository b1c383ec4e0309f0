"""Translate inclusions in normal form to DL-clauses, the last pass (THEORY, "DL-clauses"; the
values are in `shiq.model.clause`).

A disjunct A is a head atom, ¬A a body atom; ≥ and data restrictions are head atoms. ∀R.(…) is a
role atom with its literals at the branch, and ≤n R.A makes n + 1 branches. ⊤ ⊑ ⊥ is the empty
clause.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence

from shiq import model as owl
from shiq.errors import UsageError
from shiq.model.clause import AtLeast, Atom, ClausalTBox, Clause, DataAtLeast, DataAtMost
from shiq.model.roles import role_of
from shiq.model.walk import entities
from shiq.simplify.inclusion import Context, Inclusion, disjuncts, is_reserved


def clausal_tbox(
    inclusions: Sequence[Inclusion],
    context: Context,
    axioms: tuple[owl.Axiom, ...],
    names: Sequence[tuple[int, str]] = (),
) -> ClausalTBox:
    """Translate ``inclusions`` (in normal form, transitivity eliminated) to a clausal TBox over
    ``axioms``.

    Each clause occurs once, with the origins it was first found with; tautologies are dropped.
    Atoms are in the order of first use. ``names`` are pairs (number of axioms before it, class
    name); they come, in that order, before the atoms of later axioms.
    """
    clauses: dict[Hashable, Clause] = {}
    for inclusion in inclusions:
        clause = clause_of(inclusion, context)
        if not is_tautology(clause):
            clauses.setdefault(_clause_key(clause), clause)
    atoms: dict[Atom, None] = {}
    waiting = [
        (place, name)
        for place, name in reversed(names)
        if name not in (owl.THING.iri, owl.NOTHING.iri)
    ]
    for clause in clauses.values():
        while waiting and clause.origins and waiting[-1][0] <= max(clause.origins):
            atoms[waiting.pop()[1]] = None
        atoms |= dict.fromkeys(atoms_of(clause))
    atoms |= dict.fromkeys(name for _, name in reversed(waiting))
    return ClausalTBox(
        clauses=tuple(clauses.values()),
        roles=context.roles,
        axioms=axioms,
        atoms=tuple(atoms),
        fresh=frozenset(
            a
            for a in atoms
            if isinstance(a, str) and is_reserved(a) and a not in context.reserved_names
        ),
        definitions=datatype_definitions(axioms),
    )


def clause_of(inclusion: Inclusion, context: Context) -> Clause:
    """Translate the inclusion ⊤ ⊑ ``inclusion.sup`` to a clause.

    >>> clause_of(Inclusion(owl.THING, owl.ObjectComplementOf(owl.Class("urn:A"))), Context())
    Clause(body=('urn:A',), head=(), role=None, branch_body=(), branch_head=(), at_most=0, origins=frozenset())
    """
    body: list[str] = []
    head: list[Atom] = []
    restriction: owl.ObjectAllValuesFrom | owl.ObjectMaxCardinality | None = None
    origins = inclusion.origins
    for disjunct in inclusion.disjuncts:
        match disjunct:
            case owl.ObjectComplementOf(owl.Class(iri)):
                body.append(iri)
            case owl.Class(iri):
                head.append(iri)
            case owl.ObjectSomeValuesFrom(property, owl.Class() as filler):
                head.append(AtLeast(1, role_of(property), _filler_name(filler)))
            case owl.ObjectMinCardinality(n, property, owl.Class() as filler):
                head.append(AtLeast(n, role_of(property), _filler_name(filler)))
            case owl.DataMinCardinality(n, data_property, data_range):
                head.append(DataAtLeast(n, data_property.iri, data_range))
                origins |= _definitions_used(data_range, context)
            case owl.DataMaxCardinality(n, data_property, data_range):
                head.append(DataAtMost(n, data_property.iri, data_range))
                origins |= _definitions_used(data_range, context)
            case owl.ObjectAllValuesFrom() | owl.ObjectMaxCardinality() if restriction is None:
                restriction = disjunct
            case _:
                raise TypeError(disjunct)
    match restriction:
        case owl.ObjectAllValuesFrom(property, literals):
            branch_body, branch_head = _split_literals(literals)
            return Clause(
                tuple(body), tuple(head), role_of(property), branch_body, branch_head, 0, origins
            )
        case owl.ObjectMaxCardinality(n, property, owl.Class() as filler):
            name = _filler_name(filler)
            return Clause(
                tuple(body),
                tuple(head),
                role_of(property),
                () if name is None else (name,),
                (),
                n,
                origins,
            )
    return Clause(tuple(body), tuple(head), origins=origins)


def atoms_of(clause: Clause) -> Iterator[Atom]:
    """Yield the atoms of a clause; each ≥-atom is followed by its filler."""
    yield from clause.body
    for atom in clause.head:
        yield atom
        if isinstance(atom, AtLeast) and atom.filler is not None:
            yield atom.filler
    yield from clause.branch_body
    yield from clause.branch_head


def is_tautology(clause: Clause) -> bool:
    """Decide whether a clause holds trivially: an atom is in body and head, at the centre or at the
    branch.
    """
    return not (
        set(clause.body).isdisjoint(clause.head)
        and set(clause.branch_body).isdisjoint(clause.branch_head)
    )


def datatype_definitions(axioms: Iterable[owl.Axiom]) -> dict[str, owl.DataRange]:
    """Return the defining data range of each defined datatype.

    Raises: UsageError if a datatype is defined twice, or through itself.
    """
    definitions: dict[str, owl.DataRange] = {}
    for axiom in axioms:
        if isinstance(axiom, owl.DatatypeDefinition):
            iri = axiom.datatype.iri
            if definitions.setdefault(iri, axiom.range) != axiom.range:
                raise UsageError(
                    f"DatatypeDefinition of <{iri}> contradicts another one",
                    "Keep one definition of it.",
                )
    for iri, data_range in definitions.items():
        if iri in _datatypes_below(data_range, definitions):
            raise UsageError(
                f"DatatypeDefinition of <{iri}> is cyclic", "Define it by other datatypes."
            )
    return definitions


def datatype_origins(axioms: Sequence[owl.Axiom]) -> dict[str, frozenset[int]]:
    """Return, for each defined datatype, the indexes of all definitions that it depends on."""
    definitions = datatype_definitions(axioms)
    index = {
        axiom.datatype.iri: i
        for i, axiom in reversed(list(enumerate(axioms)))
        if isinstance(axiom, owl.DatatypeDefinition)
    }
    return {
        iri: frozenset(
            index[d] for d in (iri, *_datatypes_below(data_range, definitions)) if d in index
        )
        for iri, data_range in definitions.items()
    }


def _datatypes_below(data_range: owl.DataRange, definitions: dict[str, owl.DataRange]) -> set[str]:
    """Return the defined datatypes that a data range depends on, directly or not."""
    below: set[str] = set()
    stack = [data_range]
    while stack:
        for entity in entities(stack.pop()):
            if isinstance(entity, owl.Datatype) and entity.iri not in below:
                below.add(entity.iri)
                if entity.iri in definitions:
                    stack.append(definitions[entity.iri])
    return below


def _definitions_used(data_range: owl.DataRange, context: Context) -> frozenset[int]:
    """Return the indexes of the axioms that define datatypes in a data range."""
    used: frozenset[int] = frozenset()
    if context.datatype_origins:
        for entity in entities(data_range):
            used |= context.datatype_origins.get(entity.iri, frozenset())
    return used


def _filler_name(filler: owl.Class) -> str | None:
    """Return the name of a restriction's filler; None for ⊤."""
    return None if filler == owl.THING else filler.iri


def _split_literals(filler: owl.ClassExpression) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Split the disjuncts of a filler into negated names (for a clause's body) and names (for its
    head).
    """
    body: list[str] = []
    head: list[str] = []
    for literal in disjuncts(filler):
        match literal:
            case owl.ObjectComplementOf(owl.Class(iri)):
                body.append(iri)
            case owl.Class(iri):
                head.append(iri)
            case _:
                raise TypeError(literal)
    return tuple(body), tuple(head)


def _clause_key(clause: Clause) -> Hashable:
    """Return a key that is equal for equivalent clauses.

    A u-type clause over names alone may be written from either end of its role atom.
    """
    centre = (frozenset(clause.body), frozenset(clause.head))
    branch = (frozenset(clause.branch_body), frozenset(clause.branch_head))
    role = clause.role
    if (
        role is not None
        and role.is_inverse
        and not clause.at_most
        and all(isinstance(atom, str) for atom in clause.head)
    ):
        return branch, centre, role.inverse, 0
    return centre, branch, role, clause.at_most
