"""LUBM's TBox and its disjointness variant, made from tables of names.

The vocabulary is that of univ-bench.owl, so that data generated here fits either TBox, and the
axioms say the same; what the file writes in the style of OWL 1 (`intersectionOf` on a named
class) is an OWL 2 equivalence here.

The *variant* adds axioms that can be contradicted (univ-bench has none). The data as generated
is consistent with them, and so is the data with objects exchanged between assertions of one
predicate: see data/lubm/README.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from shiq import model as owl
from shiq.jobs.evaluation.generation import parse_axioms

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
_NECESSARY = {
    "GraduateStudent": ("takesCourse", "GraduateCourse"),
    "ResearchAssistant": ("worksFor", "ResearchGroup"),
}
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


#: The axioms of the variant.
_VARIANT = (
    "DisjointClasses(:Person :Organization :Work :Publication)",
    "SubClassOf(:ResearchGroup ObjectAllValuesFrom(:subOrganizationOf ObjectComplementOf(:ResearchGroup)))",
    "SubClassOf(:Institute ObjectAllValuesFrom(:subOrganizationOf ObjectComplementOf(:University)))",
    "SubClassOf(:VisitingProfessor ObjectAllValuesFrom(ObjectInverseOf(:advisor) ObjectComplementOf(:UndergraduateStudent)))",
    "DisjointObjectProperties(:takesCourse :teacherOf)",
    "AsymmetricObjectProperty(:advisor)",
    "FunctionalObjectProperty(:headOf)",
    "InverseFunctionalObjectProperty(:headOf)",
    "InverseFunctionalObjectProperty(:teacherOf)",
    "SubClassOf(:Person ObjectMaxCardinality(2 :advisor))",
    "SubClassOf(:TeachingAssistant ObjectMaxCardinality(2 :teachingAssistantOf))",
    "SubClassOf(:UndergraduateStudent ObjectMaxCardinality(1 :takesCourse :GraduateCourse))",
    "FunctionalDataProperty(:age)",
    'DataPropertyRange(:age DatatypeRestriction(xsd:integer xsd:minInclusive "0"^^xsd:integer '
    'xsd:maxInclusive "150"^^xsd:integer))',
    'SubClassOf(:GraduateStudent DataAllValuesFrom(:age DatatypeRestriction(xsd:integer xsd:minInclusive "16"^^xsd:integer)))',
    "DataPropertyRange(:telephone xsd:string)",
)


def _univ_bench_axioms() -> Iterator[str]:
    """Yield the axioms of univ-bench.owl in functional syntax."""
    for name, supers in _SUPERCLASSES.items():
        yield from (f"SubClassOf(:{name} :{sup})" for sup in supers)
        if name in _NECESSARY:
            role, filler = _NECESSARY[name]
            yield f"SubClassOf(:{name} ObjectSomeValuesFrom(:{role} :{filler}))"
        if name in _DEFINED:
            operand, role, filler = _DEFINED[name]
            some = f"ObjectSomeValuesFrom(:{role} :{filler})"
            yield f"EquivalentClasses(:{name} {f'ObjectIntersectionOf(:{operand} {some})' if operand else some})"
    for name, (domain, range, sup) in _OBJECT.items():
        if domain:
            yield f"ObjectPropertyDomain(:{name} :{domain})"
        if range:
            yield f"ObjectPropertyRange(:{name} :{range})"
        if sup:
            yield f"SubObjectPropertyOf(:{name} :{sup})"
    yield from (f"InverseObjectProperties(:{first} :{second})" for first, second in _INVERSES)
    yield "TransitiveObjectProperty(:subOrganizationOf)"
    yield from (
        f"DataPropertyDomain(:{name} :{domain})" for name, domain in _DATA.items() if domain
    )


def lubm_tbox(disjointness: bool = False) -> owl.TBox:
    """LUBM's TBox (43 classes, 25 object and 7 data properties). With ``disjointness``: a variant
    with further axioms, under which data can be inconsistent.
    """
    signature = owl.Signature(
        classes=frozenset(NAMESPACE + name for name in _SUPERCLASSES),
        object_properties=frozenset(NAMESPACE + name for name in _OBJECT),
        data_properties=frozenset(NAMESPACE + name for name in _DATA),
    )
    return owl.TBox(
        parse_axioms(NAMESPACE, (*_univ_bench_axioms(), *(_VARIANT if disjointness else ()))),
        signature,
    )
