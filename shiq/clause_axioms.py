"""Clauses and modules written back as OWL 2 axioms and assertions, for reasoners that read ontologies (THEORY.md 2.1, 2.5).

Names stay as they are, fresh ones included; transitivity stays eliminated. A clause is an inclusion again: its body below the
disjunction of what it allows at the centre, of ∀R.(…) for what it says of a branch, or of ≤n R.C.

>>> clause_axiom(Clause(body=("urn:A",), role=Role("urn:r"), branch_head=("urn:C",))) == SubClassOf(
...     Class("urn:A"), ObjectAllValuesFrom(ObjectProperty("urn:r"), Class("urn:C"))
... )
True
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shiq.bits import bits
from shiq.clause import AtLeast, Atom, ClausalTBox, Clause, DataAtLeast, DataAtMost
from shiq.model import (
    NOTHING,
    THING,
    Assertion,
    AsymmetricObjectProperty,
    Axiom,
    Class,
    ClassAssertion,
    ClassExpression,
    DataMaxCardinality,
    DataMinCardinality,
    DataProperty,
    DataPropertyAssertion,
    Datatype,
    DatatypeDefinition,
    DifferentIndividuals,
    DisjointDataProperties,
    DisjointObjectProperties,
    IrreflexiveObjectProperty,
    NegativeDataPropertyAssertion,
    NegativeObjectPropertyAssertion,
    ObjectAllValuesFrom,
    ObjectComplementOf,
    ObjectIntersectionOf,
    ObjectMaxCardinality,
    ObjectMinCardinality,
    ObjectProperty,
    ObjectPropertyAssertion,
    ObjectUnionOf,
    SubClassOf,
    SubDataPropertyOf,
    SubObjectPropertyOf,
)
from shiq.reasoner.protocol import Module
from shiq.roles import Role, RoleBox, expression_of


def clause_axioms(tbox: ClausalTBox) -> tuple[Axiom, ...]:
    """Axioms that hold in the same models as the clauses, the role box and the datatype definitions of ``tbox``.

    Without transitivity axioms: the clauses have transitivity eliminated, and a role box with it would make roles non-simple
    that the clauses count. In a fixed order, each axiom once.
    """
    definitions = (
        DatatypeDefinition(Datatype(iri), range) for iri, range in sorted(tbox.definitions.items(), key=lambda d: d[0])
    )
    return tuple(dict.fromkeys([*map(clause_axiom, tbox.clauses), *role_axioms(tbox.roles), *definitions]))


def clause_axiom(clause: Clause) -> SubClassOf:
    """⊓body ⊑ ⊔head, with ⊔ ∀role.(¬branch_body ⊔ branch_head) if it is u-type, with ⊔ ≤n role.branch_body if m-type."""
    head = [atom_expression(atom) for atom in clause.head]
    if clause.role is not None:
        role = expression_of(clause.role)
        if clause.at_most:
            head.append(ObjectMaxCardinality(clause.at_most, role, _intersection([Class(c) for c in clause.branch_body])))
        else:
            branch: list[ClassExpression] = [ObjectComplementOf(Class(c)) for c in clause.branch_body]
            head.append(ObjectAllValuesFrom(role, _union(branch + [Class(c) for c in clause.branch_head])))
    return SubClassOf(_intersection([Class(c) for c in clause.body]), _union(head))


def atom_expression(atom: Atom) -> ClassExpression:
    """The class expression that ``atom`` stands for."""
    match atom:
        case str():
            return Class(atom)
        case AtLeast(n, role, filler):
            return ObjectMinCardinality(n, expression_of(role), THING if filler is None else Class(filler))
        case DataAtLeast(n, property, range):
            return DataMinCardinality(n, DataProperty(property), range)
        case DataAtMost(n, property, range):
            return DataMaxCardinality(n, DataProperty(property), range)


def role_axioms(roles: RoleBox) -> Iterator[Axiom]:
    """The inclusions, disjointness, asymmetry and irreflexivity of ``roles``, sorted; a role disjoint from itself is empty."""
    for r, s in sorted(roles.inclusions):
        yield SubObjectPropertyOf(expression_of(r), expression_of(s))
    for r, s in sorted(roles.disjoint):
        if r == s:
            yield SubClassOf(THING, ObjectAllValuesFrom(expression_of(r), NOTHING))
        else:
            yield DisjointObjectProperties((expression_of(r), expression_of(s)))
    for r in sorted(roles.asymmetric):
        yield AsymmetricObjectProperty(expression_of(r))
    for r in sorted(roles.irreflexive):
        yield IrreflexiveObjectProperty(expression_of(r))
    for p, q in sorted(roles.data_inclusions):
        yield SubDataPropertyOf(DataProperty(p), DataProperty(q))
    for p, q in sorted(roles.disjoint_data):
        if p == q:
            yield SubClassOf(THING, DataMaxCardinality(0, DataProperty(p)))
        else:
            yield DisjointDataProperties((DataProperty(p), DataProperty(q)))


def module_assertions(tbox: ClausalTBox, module: Module, prefix: str) -> list[Assertion]:
    """``module`` as assertions on the individuals ``prefix`` + "0", "1", …; each once.

    A node of which nothing is said is an instance of owl:Thing, so that it is there; i ≠ i makes it one of owl:Nothing.
    """
    names = [f"{prefix}{i}" for i in range(len(module.positive))]
    assertions: list[Assertion] = []
    for name, positive, negative in zip(names, module.positive, module.negative):
        assertions += [ClassAssertion(atom_expression(tbox.atoms[bit]), name) for bit in bits(positive)]
        assertions += [ClassAssertion(ObjectComplementOf(atom_expression(tbox.atoms[bit])), name) for bit in bits(negative)]
        if not positive and not negative:
            assertions.append(ClassAssertion(THING, name))
    for i, role, j in module.edges:
        assertions.append(ObjectPropertyAssertion(*_directed(names, i, role, j)))
    for i, role, j in module.negative_edges:
        assertions.append(NegativeObjectPropertyAssertion(*_directed(names, i, role, j)))
    for i, j in module.different:
        if i == j:
            assertions.append(ClassAssertion(NOTHING, names[i]))
        else:
            assertions.append(DifferentIndividuals(names[min(i, j)], names[max(i, j)]))
    assertions += [DataPropertyAssertion(DataProperty(p), names[i], value) for i, p, value in module.data]
    assertions += [NegativeDataPropertyAssertion(DataProperty(p), names[i], value) for i, p, value in module.negative_data]
    return list(dict.fromkeys(assertions))


def _directed(names: Sequence[str], i: int, role: Role, j: int) -> tuple[ObjectProperty, str, str]:
    if role.inverted:
        i, j = j, i
    return ObjectProperty(role.iri), names[i], names[j]


def _intersection(operands: Sequence[ClassExpression]) -> ClassExpression:
    return THING if not operands else operands[0] if len(operands) == 1 else ObjectIntersectionOf(tuple(operands))


def _union(operands: Sequence[ClassExpression]) -> ClassExpression:
    return NOTHING if not operands else operands[0] if len(operands) == 1 else ObjectUnionOf(tuple(operands))
