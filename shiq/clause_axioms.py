"""Clauses and modules written back as OWL 2 axioms and assertions, for reasoners that read
ontologies (THEORY, "DL-clauses" and "Modules").

Names stay as they are, fresh ones included; transitivity stays eliminated. A clause is an
inclusion again: its body below the disjunction of what it allows at the centre, of ∀R.(…) for
what it says of a branch, or of ≤n R.C.

>>> clause_axiom(Clause(body=("urn:A",), role=Role("urn:r"), branch_head=("urn:C",))) == owl.SubClassOf(
...     owl.Class("urn:A"), owl.ObjectAllValuesFrom(owl.ObjectProperty("urn:r"), owl.Class("urn:C"))
... )
True
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shiq import model as owl
from shiq.bits import bits
from shiq.clause import AtLeast, Atom, ClausalTBox, Clause, DataAtLeast, DataAtMost
from shiq.reasoner.protocol import Module
from shiq.roles import Role, RoleBox, expression_of, loop_name


def clause_axioms(tbox: ClausalTBox) -> tuple[owl.Axiom, ...]:
    """Axioms that hold in the same models as the clauses, the role box and the datatype
    definitions of ``tbox``.

    Without transitivity axioms: the clauses have transitivity eliminated, and a role box with it
    would make roles non-simple that the clauses count. In a fixed order, each axiom once.
    """
    definitions = (
        owl.DatatypeDefinition(owl.Datatype(iri), range)
        for iri, range in sorted(tbox.definitions.items(), key=lambda d: d[0])
    )
    written = [
        *map(clause_axiom, tbox.clauses),
        *role_axioms(tbox.roles),
        *_loop_axioms(tbox.roles),
        *definitions,
    ]
    return tuple(dict.fromkeys(written))


def clause_axiom(clause: Clause) -> owl.SubClassOf:
    """⊓body ⊑ ⊔head, with ⊔ ∀role.(¬branch_body ⊔ branch_head) if it is u-type, with ⊔ ≤n
    role.branch_body if m-type.
    """
    head = [atom_expression(atom) for atom in clause.head]
    if clause.role is not None:
        role = expression_of(clause.role)
        if clause.at_most:
            head.append(
                owl.ObjectMaxCardinality(
                    clause.at_most, role, _intersection([owl.Class(c) for c in clause.branch_body])
                )
            )
        else:
            branch: list[owl.ClassExpression] = [
                owl.ObjectComplementOf(owl.Class(c)) for c in clause.branch_body
            ]
            head.append(
                owl.ObjectAllValuesFrom(
                    role, _union(branch + [owl.Class(c) for c in clause.branch_head])
                )
            )
    return owl.SubClassOf(_intersection([owl.Class(c) for c in clause.body]), _union(head))


def atom_expression(atom: Atom) -> owl.ClassExpression:
    """The class expression that ``atom`` stands for."""
    match atom:
        case str():
            return owl.Class(atom)
        case AtLeast(n, role, filler):
            return owl.ObjectMinCardinality(
                n, expression_of(role), owl.THING if filler is None else owl.Class(filler)
            )
        case DataAtLeast(n, property, range):
            return owl.DataMinCardinality(n, owl.DataProperty(property), range)
        case DataAtMost(n, property, range):
            return owl.DataMaxCardinality(n, owl.DataProperty(property), range)


def role_axioms(roles: RoleBox) -> Iterator[owl.Axiom]:
    """The inclusions, disjointness, asymmetry and irreflexivity of ``roles``, sorted; a role
    disjoint from itself is empty.
    """
    for r, s in sorted(roles.inclusions):
        yield owl.SubObjectPropertyOf(expression_of(r), expression_of(s))
    for r, s in sorted(roles.disjoint):
        if r == s:
            yield owl.SubClassOf(owl.THING, owl.ObjectAllValuesFrom(expression_of(r), owl.NOTHING))
        else:
            yield owl.DisjointObjectProperties((expression_of(r), expression_of(s)))
    for r in sorted(roles.asymmetric):
        yield owl.AsymmetricObjectProperty(expression_of(r))
    for r in sorted(roles.irreflexive):
        yield owl.IrreflexiveObjectProperty(expression_of(r))
    for p, q in sorted(roles.data_inclusions):
        yield owl.SubDataPropertyOf(owl.DataProperty(p), owl.DataProperty(q))
    for p, q in sorted(roles.disjoint_data):
        if p == q:
            yield owl.SubClassOf(owl.THING, owl.DataMaxCardinality(0, owl.DataProperty(p)))
        else:
            yield owl.DisjointDataProperties((owl.DataProperty(p), owl.DataProperty(q)))


def numbered_names(module: Module, prefix: str) -> list[str]:
    """Individuals ``prefix`` + "0", "1", … for the nodes of ``module``."""
    return [f"{prefix}{i}" for i in range(len(module.positive))]


def module_assertions(
    tbox: ClausalTBox, module: Module, names: Sequence[str]
) -> list[owl.Assertion]:
    """``module`` as assertions on individuals, the ``names`` of its nodes; each once.

    A node of which nothing is said is an instance of owl:Thing, so that it is there; i ≠ i makes
    it one of owl:Nothing.
    """
    assertions: list[owl.Assertion] = []
    for name, positive, negative in zip(names, module.positive, module.negative):
        assertions += [
            owl.ClassAssertion(atom_expression(tbox.atoms[bit]), name) for bit in bits(positive)
        ]
        assertions += [
            owl.ClassAssertion(owl.ObjectComplementOf(atom_expression(tbox.atoms[bit])), name)
            for bit in bits(negative)
        ]
        if not positive and not negative:
            assertions.append(owl.ClassAssertion(owl.THING, name))
    for i, role, j in module.edges:
        assertions.append(owl.ObjectPropertyAssertion(*_directed(names, i, role, j)))
    for i, role, j in module.negative_edges:
        assertions.append(owl.NegativeObjectPropertyAssertion(*_directed(names, i, role, j)))
    for i, j in module.different:
        if i == j:
            assertions.append(owl.ClassAssertion(owl.NOTHING, names[i]))
        else:
            assertions.append(owl.DifferentIndividuals(names[min(i, j)], names[max(i, j)]))
    assertions += [
        owl.DataPropertyAssertion(owl.DataProperty(p), names[i], value)
        for i, p, value in module.data
    ]
    assertions += [
        owl.NegativeDataPropertyAssertion(owl.DataProperty(p), names[i], value)
        for i, p, value in module.negative_data
    ]
    return list(dict.fromkeys(assertions))


def _loop_axioms(roles: RoleBox) -> Iterator[owl.Axiom]:
    """What the names of loops mean."""
    for iri in roles.looped:
        name, has_loop = owl.Class(loop_name(iri)), owl.ObjectHasSelf(owl.ObjectProperty(iri))
        yield owl.SubClassOf(name, has_loop)
        if iri in roles.asked_loops:
            yield owl.SubClassOf(has_loop, name)


def _directed(
    names: Sequence[str], i: int, role: Role, j: int
) -> tuple[owl.ObjectProperty, str, str]:
    if role.inverted:
        i, j = j, i
    return owl.ObjectProperty(role.iri), names[i], names[j]


def _intersection(operands: Sequence[owl.ClassExpression]) -> owl.ClassExpression:
    return (
        owl.THING
        if not operands
        else operands[0]
        if len(operands) == 1
        else owl.ObjectIntersectionOf(tuple(operands))
    )


def _union(operands: Sequence[owl.ClassExpression]) -> owl.ClassExpression:
    return (
        owl.NOTHING
        if not operands
        else operands[0]
        if len(operands) == 1
        else owl.ObjectUnionOf(tuple(operands))
    )
