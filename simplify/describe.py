"""Write simplified TBoxes as text in DL notation, and as JSON values, for `shiq simplify`.

>>> from shiq.model.roles import Role
>>> clause_text(Clause(body=("urn:A",), role=Role("urn:r"), branch_head=("urn:B",)))
'urn:A(x) ∧ urn:r(x,y) → urn:B(y)'
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeAlias

from shiq import model as owl
from shiq.model.clause import AtLeast, Atom, Clause, DataAtLeast, DataAtMost
from shiq.model.roles import Role, RoleBox, role_of
from shiq.model.walk import entities

if TYPE_CHECKING:
    from shiq.simplify import SimplifiedTBox

#: How an IRI is written.
Shortener: TypeAlias = Callable[[str], str]

_FACETS = {"minInclusive": "≥", "maxInclusive": "≤", "minExclusive": ">", "maxExclusive": "<"}


def clause_text(clause: Clause, short: Shortener = str) -> str:
    """Write a clause as an implication in DL notation; its ≤n S.C becomes a conjunct or disjunct at
    the central variable x.
    """
    body = [f"{short(name)}(x)" for name in clause.body]
    head = [_atom_text(atom, short) for atom in clause.head]
    if clause.role is not None and clause.at_most:
        filler = clause.branch_body[0] if clause.branch_body else None
        head.append(
            f"(≤{clause.at_most} {role_text(clause.role, short)}.{_filler_text(filler, short)})(x)"
        )
    elif clause.role is not None:
        body.append(f"{role_text(clause.role, short)}(x,y)")
        body += [f"{short(name)}(y)" for name in clause.branch_body]
        head += [f"{short(name)}(y)" for name in clause.branch_head]
    return f"{' ∧ '.join(body) or '⊤'} → {' ∨ '.join(head) or '⊥'}"


def axiom_text(axiom: owl.SubClassOf, short: Shortener = str) -> str:
    """Write an inclusion in DL notation."""
    return f"{concept_text(axiom.sub, short)} ⊑ {concept_text(axiom.sup, short)}"


def concept_text(expression: owl.ClassExpression, short: Shortener = str) -> str:
    """Write a class expression in DL notation; it uses only the constructors that `desugar` leaves."""
    match expression:
        case owl.Class(iri):
            return (
                "⊤" if expression == owl.THING else "⊥" if expression == owl.NOTHING else short(iri)
            )
        case owl.ObjectComplementOf(operand):
            return f"¬{_operand_text(operand, short)}"
        case owl.ObjectIntersectionOf(operands):
            return " ⊓ ".join(_operand_text(operand, short) for operand in operands)
        case owl.ObjectUnionOf(operands):
            return " ⊔ ".join(_operand_text(operand, short) for operand in operands)
        case owl.ObjectSomeValuesFrom(property, filler) | owl.ObjectAllValuesFrom(property, filler):
            sign = "∃" if isinstance(expression, owl.ObjectSomeValuesFrom) else "∀"
            return f"{sign}{role_text(role_of(property), short)}.{_operand_text(filler, short)}"
        case owl.ObjectMinCardinality(n, property, filler) | owl.ObjectMaxCardinality(
            n, property, filler
        ):
            sign = "≥" if isinstance(expression, owl.ObjectMinCardinality) else "≤"
            return f"{sign}{n} {role_text(role_of(property), short)}.{_operand_text(filler, short)}"
        case owl.DataMinCardinality(n, data_property, data_range):
            return _data_restriction_text(DataAtLeast(n, data_property.iri, data_range), short)
        case owl.DataMaxCardinality(n, data_property, data_range):
            return _data_restriction_text(DataAtMost(n, data_property.iri, data_range), short)
    raise TypeError(expression)


def range_text(data_range: owl.DataRange, short: Shortener = str) -> str:
    """Write a data range in DL notation; names of XSD are written without namespace."""
    match data_range:
        case owl.Datatype(iri):
            if data_range == owl.TOP_DATATYPE:
                return "⊤"
            return iri.removeprefix(owl.XSD) if iri.startswith(owl.XSD) else short(iri)
        case owl.DataComplementOf(operand):
            return f"¬{range_text(operand, short)}"
        case owl.DataIntersectionOf(operands):
            return f"({' ⊓ '.join(range_text(operand, short) for operand in operands)})"
        case owl.DataUnionOf(operands):
            return f"({' ⊔ '.join(range_text(operand, short) for operand in operands)})"
        case owl.DataOneOf(literals):
            return f"{{{', '.join(_literal_text(literal, short) for literal in literals)}}}"
        case owl.DatatypeRestriction(datatype, facets):
            inside = ", ".join(
                f"{_facet_text(facet)} {literal.lexical}" for facet, literal in facets
            )
            return f"{range_text(datatype, short)}[{inside}]"


def role_text(role: Role, short: Shortener = str) -> str:
    """Write a role; an inverse has the exponent ⁻."""
    return short(role.iri) + ("⁻" if role.is_inverse else "")


def properties_of_part(
    restricted: Iterable[Role], properties: Iterable[str], roles: RoleBox
) -> tuple[str, ...]:
    """Select the properties S with S ⊑* R or S ⊑* R⁻ for a restricted role R (the u-part or
    m-part), in order.

    With the roles of the universals this gives the u-part, with those of the ≤ restrictions the
    m-part (Definition 5; THEORY, "Part-of").
    """
    below = {s.iri for role in restricted for s in roles.subroles(role)}
    return tuple(sorted(below.intersection(properties)))


def describe_tbox(simplified: SimplifiedTBox, short: Shortener = str) -> dict[str, object]:
    """Return what `shiq simplify` prints, as JSON values: Definition 4, clauses, Definition 5 and
    Fs(T) of THEORY.
    """
    clauses, box = simplified.clauses, simplified.clauses.roles
    properties = frozenset(
        e.iri
        for axiom in simplified.axioms
        for e in entities(axiom)
        if isinstance(e, owl.ObjectProperty)
    )

    def restriction_texts(kind: type[owl.ClassExpression]) -> list[str]:
        """Texts of the inclusions of Definition 4 in one kind of restriction."""
        axioms = (axiom for axiom in simplified.definition4 if isinstance(axiom.sup, kind))
        return [axiom_text(axiom, short) for axiom in axioms]

    return {
        "axioms": len(simplified.axioms),
        "definition4": [axiom_text(axiom, short) for axiom in simplified.definition4],
        "universals": restriction_texts(owl.ObjectAllValuesFrom),
        "at_mosts": restriction_texts(owl.ObjectMaxCardinality),
        "clauses": [
            {
                "kind": clause.kind,
                "text": clause_text(clause, short),
                "origins": sorted(clause.origins),
            }
            for clause in clauses.clauses
        ],
        "roles": _roles_report(box, short),
        "u_part": [
            short(iri)
            for iri in properties_of_part((u.role for u in simplified.universals), properties, box)
        ],
        "m_part": [
            short(iri)
            for iri in properties_of_part((m.role for m in simplified.at_mosts), properties, box)
        ],
        "features": sorted(map(short, simplified.features)),
        "atoms": len(clauses.atoms),
        "fresh_names": len(clauses.fresh),
    }


def _roles_report(box: RoleBox, short: Shortener) -> dict[str, list[str]]:
    """Write the role axioms as texts, by kind."""

    def pair_texts(of: Iterable[tuple[Role, Role]], sign: str) -> list[str]:
        """Texts of pairs of roles with a sign between them."""
        return [f"{role_text(r, short)} {sign} {role_text(s, short)}" for r, s in sorted(of)]

    def data_pair_texts(of: Iterable[tuple[str, str]], sign: str) -> list[str]:
        """Texts of pairs of data properties with a sign between them."""
        return [f"{short(p)} {sign} {short(q)}" for p, q in sorted(of)]

    return {
        "inclusions": pair_texts(box.inclusions, "⊑") + data_pair_texts(box.data_inclusions, "⊑"),
        "disjoint": pair_texts(box.disjoint, "∥") + data_pair_texts(box.disjoint_data, "∥"),
        "asymmetric": [role_text(r, short) for r in sorted(box.asymmetric)],
        "irreflexive": [role_text(r, short) for r in sorted(box.irreflexive)],
        "transitive (eliminated)": [role_text(r, short) for r in sorted(box.transitive)],
    }


def _atom_text(atom: Atom, short: Shortener) -> str:
    """Write an atom of a clause, at the variable x, in DL notation."""
    match atom:
        case str():
            return f"{short(atom)}(x)"
        case AtLeast(n, role, filler):
            sign = "∃" if n == 1 else f"≥{n} "
            return f"({sign}{role_text(role, short)}.{_filler_text(filler, short)})(x)"
    return f"({_data_restriction_text(atom, short)})(x)"


def _data_restriction_text(atom: DataAtLeast | DataAtMost, short: Shortener) -> str:
    """Write a data restriction ≥n or ≤n in DL notation."""
    match atom:
        case DataAtLeast(n, property, data_range):
            sign = "∃" if n == 1 else f"≥{n} "
        case DataAtMost(0, property, owl.DataComplementOf(data_range)):
            sign = "∀"
        case DataAtMost(n, property, data_range):
            sign = f"≤{n} "
    return f"{sign}{short(property)}.{range_text(data_range, short)}"


def _filler_text(filler: str | None, short: Shortener) -> str:
    """Write the filler of a restriction; ⊤ for None."""
    return "⊤" if filler is None else short(filler)


def _operand_text(expression: owl.ClassExpression, short: Shortener) -> str:
    """Write a class expression as an operand: in brackets if it is a ⊓ or ⊔."""
    text = concept_text(expression, short)
    return (
        f"({text})"
        if isinstance(expression, owl.ObjectIntersectionOf | owl.ObjectUnionOf)
        else text
    )


def _literal_text(literal: owl.Literal, short: Shortener) -> str:
    """Write a literal, with language or datatype."""
    quoted = f'"{literal.lexical}"'
    if literal.language:
        return f"{quoted}@{literal.language}"
    return (
        quoted
        if literal.datatype == owl.XSD + "string"
        else f"{quoted}^^{range_text(owl.Datatype(literal.datatype), short)}"
    )


def _facet_text(facet: str) -> str:
    """Write a facet by its sign, such as ≤, else by its local name."""
    name = facet.removeprefix(owl.XSD)
    return _FACETS.get(name, name)
