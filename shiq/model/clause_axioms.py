"""Write clauses and modules as OWL 2 axioms and assertions, for reasoners that read ontologies.

See THEORY, "DL-clauses" and "Modules". Fresh names stay, and transitivity stays eliminated. A
clause becomes an inclusion of its body in a disjunction: its head, and ∀R.(…) for a u-type or
≤n R.C for an m-type clause.

>>> clause_axiom(Clause(body=("urn:A",), role=Role("urn:r"), branch_head=("urn:C",))) == owl.SubClassOf(
...     owl.Class("urn:A"), owl.ObjectAllValuesFrom(owl.ObjectProperty("urn:r"), owl.Class("urn:C"))
... )
True
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shiq import model as owl
from shiq.model.clause import AtLeast, Atom, ClausalTBox, Clause, DataAtLeast, DataAtMost
from shiq.model.roles import Role, RoleBox, expression_of, loop_name
from shiq.reasoner.protocol import Module
from shiq.support import bits


def clause_axioms(tbox: ClausalTBox) -> tuple[owl.Axiom, ...]:
    """Convert a clausal TBox to OWL 2 axioms with the same models: clauses, role axioms and
    datatype definitions.

    No transitivity axiom is written: it is eliminated already, and would make counted roles
    non-simple. The order is fixed, and each axiom occurs once.
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
    """Write a clause as an inclusion.

    ⊓body ⊑ ⊔head; u-type: with ⊔ ∀role.(¬branch_body ⊔ branch_head); m-type: with ⊔ ≤n
    role.branch_body.
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
    """Return the class expression that `atom` stands for."""
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
    """Yield the inclusions, disjointness, asymmetry and irreflexivity axioms of `roles`, sorted.

    A role that is disjoint from itself is written as an empty role.
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
    """Make names for the nodes of `module`: `prefix` + "0", "1", …."""
    return [f"{prefix}{i}" for i in range(len(module.positive))]


def module_assertions(
    tbox: ClausalTBox, module: Module, names: Sequence[str]
) -> list[owl.Assertion]:
    """Convert a module to OWL 2 assertions over the node names ``names``, without duplicates.

    A node without facts becomes an instance of owl:Thing, so that it exists. i ≠ i becomes an
    instance of owl:Nothing.

    names: one per node.
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
        assertions.append(owl.ObjectPropertyAssertion(*_role_edge(names, i, role, j)))
    for i, role, j in module.negative_edges:
        assertions.append(owl.NegativeObjectPropertyAssertion(*_role_edge(names, i, role, j)))
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
    """Yield axioms that define the class names for loops R(x, x) by ObjectHasSelf."""
    for iri in roles.loop_properties:
        name, has_loop = owl.Class(loop_name(iri)), owl.ObjectHasSelf(owl.ObjectProperty(iri))
        yield owl.SubClassOf(name, has_loop)
        if iri in roles.relevant_loops:
            yield owl.SubClassOf(has_loop, name)


def _role_edge(
    names: Sequence[str], i: int, role: Role, j: int
) -> tuple[owl.ObjectProperty, str, str]:
    """Return a role edge between nodes as (property, subject, object); on an inverse role the ends
    change places.
    """
    if role.is_inverse:
        i, j = j, i
    return owl.ObjectProperty(role.iri), names[i], names[j]


def _intersection(operands: Sequence[owl.ClassExpression]) -> owl.ClassExpression:
    """Return the intersection of operands; ⊤ for none."""
    return (
        owl.THING
        if not operands
        else operands[0]
        if len(operands) == 1
        else owl.ObjectIntersectionOf(tuple(operands))
    )


def _union(operands: Sequence[owl.ClassExpression]) -> owl.ClassExpression:
    """Return the union of operands; ⊥ for none."""
    return (
        owl.NOTHING
        if not operands
        else operands[0]
        if len(operands) == 1
        else owl.ObjectUnionOf(tuple(operands))
    )
