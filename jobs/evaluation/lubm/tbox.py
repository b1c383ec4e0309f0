"""LUBM's TBox as our own values, its disjointness variant, and both written as RDF/XML.

The vocabulary is that of univ-bench.owl, so that data generated here fits either TBox, and the axioms say the same; what the
file writes in the style of OWL 1 (`intersectionOf` on a named class) is an OWL 2 equivalence here.

The *variant* adds axioms that can be contradicted (univ-bench has none). The data as generated is consistent with them, and so is
the data with objects exchanged between assertions of one predicate: see data/lubm/README.md.
"""

from __future__ import annotations

from shiq import model as owl

NAMESPACE = "http://swat.cse.lehigh.edu/onto/univ-bench.owl#"

#: Named superclasses of each class.
_SUPERCLASSES = {
    "AdministrativeStaff": ("Employee",),
    "Article": ("Publication",),
    "AssistantProfessor": ("Professor",),
    "AssociateProfessor": ("Professor",),
    "Book": ("Publication",),
    "Chair": ("Professor",),
    "ClericalStaff": ("AdministrativeStaff",),
    "College": ("Organization",),
    "ConferencePaper": ("Article",),
    "Course": ("Work",),
    "Dean": ("Professor",),
    "Department": ("Organization",),
    "Director": (),
    "Employee": (),
    "Faculty": ("Employee",),
    "FullProfessor": ("Professor",),
    "GraduateCourse": ("Course",),
    "GraduateStudent": ("Person",),
    "Institute": ("Organization",),
    "JournalArticle": ("Article",),
    "Lecturer": ("Faculty",),
    "Manual": ("Publication",),
    "Organization": (),
    "Person": (),
    "PostDoc": ("Faculty",),
    "Professor": ("Faculty",),
    "Program": ("Organization",),
    "Publication": (),
    "Research": ("Work",),
    "ResearchAssistant": ("Person",),
    "ResearchGroup": ("Organization",),
    "Schedule": (),
    "Software": ("Publication",),
    "Specification": ("Publication",),
    "Student": (),
    "SystemsStaff": ("AdministrativeStaff",),
    "TeachingAssistant": (),
    "TechnicalReport": ("Article",),
    "UndergraduateStudent": ("Student",),
    "University": ("Organization",),
    "UnofficialPublication": ("Publication",),
    "VisitingProfessor": ("Professor",),
    "Work": (),
}
#: A necessary restriction ∃property.filler.
_NECESSARY = {"GraduateStudent": ("takesCourse", "GraduateCourse"), "ResearchAssistant": ("worksFor", "ResearchGroup")}
#: Defined classes: a named operand (or none) and ∃property.filler.
_DEFINED = {
    "Chair": ("Person", "headOf", "Department"),
    "Dean": ("", "headOf", "College"),
    "Director": ("Person", "headOf", "Program"),
    "Employee": ("Person", "worksFor", "Organization"),
    "Student": ("Person", "takesCourse", "Course"),
    "TeachingAssistant": ("Person", "teachingAssistantOf", "Course"),
}
#: Object properties: domain, range, superproperty ("" for none).
_OBJECT = {
    "advisor": ("Person", "Professor", ""),
    "affiliatedOrganizationOf": ("Organization", "Organization", ""),
    "affiliateOf": ("Organization", "Person", ""),
    "degreeFrom": ("Person", "University", ""),
    "doctoralDegreeFrom": ("Person", "University", "degreeFrom"),
    "hasAlumnus": ("University", "Person", ""),
    "headOf": ("", "", "worksFor"),
    "listedCourse": ("Schedule", "Course", ""),
    "mastersDegreeFrom": ("Person", "University", "degreeFrom"),
    "member": ("Organization", "Person", ""),
    "memberOf": ("", "", ""),
    "orgPublication": ("Organization", "Publication", ""),
    "publicationAuthor": ("Publication", "Person", ""),
    "publicationDate": ("Publication", "", ""),
    "publicationResearch": ("Publication", "Research", ""),
    "researchProject": ("ResearchGroup", "Research", ""),
    "softwareDocumentation": ("Software", "Publication", ""),
    "softwareVersion": ("Software", "", ""),
    "subOrganizationOf": ("Organization", "Organization", ""),
    "takesCourse": ("", "", ""),
    "teacherOf": ("Faculty", "Course", ""),
    "teachingAssistantOf": ("TeachingAssistant", "Course", ""),
    "tenured": ("Professor", "", ""),
    "undergraduateDegreeFrom": ("Person", "University", "degreeFrom"),
    "worksFor": ("", "", "memberOf"),
}
_INVERSES = (("degreeFrom", "hasAlumnus"), ("hasAlumnus", "degreeFrom"), ("memberOf", "member"))
#: Data properties: domain ("" for none).
_DATA = {
    "age": "Person",
    "emailAddress": "Person",
    "name": "",
    "officeNumber": "",
    "researchInterest": "",
    "telephone": "Person",
    "title": "Person",
}


def _class(name: str) -> owl.Class:
    return owl.Class(NAMESPACE + name)


def _role(name: str) -> owl.ObjectProperty:
    return owl.ObjectProperty(NAMESPACE + name)


def _some(role: str, filler: str) -> owl.ObjectSomeValuesFrom:
    return owl.ObjectSomeValuesFrom(_role(role), _class(filler))


def _integers(*facets: tuple[str, int]) -> owl.DatatypeRestriction:
    integer = owl.Datatype(owl.XSD + "integer")
    return owl.DatatypeRestriction(integer, tuple((owl.XSD + facet, owl.Literal(str(n), integer.iri)) for facet, n in facets))


def _univ_bench() -> list[owl.Axiom]:
    axioms: list[owl.Axiom] = []
    for name, supers in _SUPERCLASSES.items():
        axioms += (owl.SubClassOf(_class(name), _class(sup)) for sup in supers)
        if name in _NECESSARY:
            axioms.append(owl.SubClassOf(_class(name), _some(*_NECESSARY[name])))
        if name in _DEFINED:
            operand, role, filler = _DEFINED[name]
            some = _some(role, filler)
            axioms.append(
                owl.EquivalentClasses((_class(name), owl.ObjectIntersectionOf((_class(operand), some)) if operand else some))
            )
    for name, (domain, range, sup) in _OBJECT.items():
        if domain:
            axioms.append(owl.ObjectPropertyDomain(_role(name), _class(domain)))
        if range:
            axioms.append(owl.ObjectPropertyRange(_role(name), _class(range)))
        if sup:
            axioms.append(owl.SubObjectPropertyOf(_role(name), _role(sup)))
    axioms += (owl.InverseObjectProperties(_role(first), _role(second)) for first, second in _INVERSES)
    axioms.append(owl.TransitiveObjectProperty(_role("subOrganizationOf")))
    axioms += (
        owl.DataPropertyDomain(owl.DataProperty(NAMESPACE + name), _class(domain)) for name, domain in _DATA.items() if domain
    )
    return axioms


def _variant() -> list[owl.Axiom]:
    age = owl.DataProperty(NAMESPACE + "age")
    inside = _role("subOrganizationOf")
    return [
        owl.DisjointClasses(tuple(map(_class, ("Person", "Organization", "Work", "Publication")))),
        owl.SubClassOf(_class("ResearchGroup"), owl.ObjectAllValuesFrom(inside, owl.ObjectComplementOf(_class("ResearchGroup")))),
        owl.SubClassOf(_class("Institute"), owl.ObjectAllValuesFrom(inside, owl.ObjectComplementOf(_class("University")))),
        owl.SubClassOf(
            _class("VisitingProfessor"),
            owl.ObjectAllValuesFrom(
                owl.ObjectInverseOf(_role("advisor")), owl.ObjectComplementOf(_class("UndergraduateStudent"))
            ),
        ),
        owl.DisjointObjectProperties((_role("takesCourse"), _role("teacherOf"))),
        owl.AsymmetricObjectProperty(_role("advisor")),
        owl.FunctionalObjectProperty(_role("headOf")),
        owl.InverseFunctionalObjectProperty(_role("headOf")),
        owl.InverseFunctionalObjectProperty(_role("teacherOf")),
        owl.SubClassOf(_class("Person"), owl.ObjectMaxCardinality(2, _role("advisor"))),
        owl.SubClassOf(_class("TeachingAssistant"), owl.ObjectMaxCardinality(2, _role("teachingAssistantOf"))),
        owl.SubClassOf(
            _class("UndergraduateStudent"), owl.ObjectMaxCardinality(1, _role("takesCourse"), _class("GraduateCourse"))
        ),
        owl.FunctionalDataProperty(age),
        owl.DataPropertyRange(age, _integers(("minInclusive", 0), ("maxInclusive", 150))),
        owl.SubClassOf(_class("GraduateStudent"), owl.DataAllValuesFrom(age, _integers(("minInclusive", 16)))),
        owl.DataPropertyRange(owl.DataProperty(NAMESPACE + "telephone"), owl.Datatype(owl.XSD + "string")),
    ]


def lubm_tbox(disjointness: bool = False) -> owl.TBox:
    """LUBM's TBox: 43 classes, 25 object and 7 data properties; or its variant with disjointness, identity and cardinality."""
    signature = owl.Signature(
        classes=frozenset(NAMESPACE + name for name in _SUPERCLASSES),
        object_properties=frozenset(NAMESPACE + name for name in _OBJECT),
        data_properties=frozenset(NAMESPACE + name for name in _DATA),
    )
    return owl.TBox(tuple(_univ_bench() + (_variant() if disjointness else [])), signature)
