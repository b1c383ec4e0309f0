"""UOBM's TBox made from tables of names, and the individuals in its file. The TBox is in SHIN(D),
without nominals, as the paper used it.

The vocabulary is that of univ-bench-dl.owl, misspelt names included (Insterest,
Petroleuml_EngineeringClass), so that data generated here fits either TBox, and the axioms
say the same. Of 112 classes only two are disjoint, Man and Woman: a contradiction is a man who
is a woman, most often because an (inverse) functional role makes two people one.

>>> len(uobm_tbox().axioms), len(uobm_tbox().signature.classes)
(191, 112)
"""

from __future__ import annotations

from collections.abc import Iterator

from shiq import model as owl
from shiq.jobs.evaluation.generation import parse_axioms

NAMESPACE = "http://semantics.crl.ibm.com/univ-bench-dl.owl#"

#: What students major in, by the class of such subjects: each has a class of its own, the
#: individual X is an XClass.
SUBJECTS = {
    "Engineering": (
        *(
            "Computer_Engineering",
            "Petroleuml_Engineering",
            "Civil_Engineering",
            "Mechanical_Engineering",
        ),
        *(
            "Industry_Engineering",
            "Aeronautical_Engineering",
            "Chemical_Engineering",
            "Biomedical_Engineering",
        ),
        *("Materical_Science_Engineering", "Electrical_Engineering"),
    ),
    "FineArts": (
        *("Theatre_and_Dance", "Architecture", "Modern_Arts", "Latin_Arts", "Musics"),
        *("Performing_Arts", "Drama", "Media_Arts_And_ciences", "Medieval_Arts", "Asian_Arts"),
    ),
    "HumanitiesAndSocial": (
        *("Religions", "Economics", "Humanities", "History", "Anthropology"),
        *("Philosophy", "Linguistics", "Modern_Languages", "Psychology", "English"),
    ),
    "Science": (
        *("Astronomy", "Geosciences", "Computer_Science", "Physics", "Statistics"),
        *("Marine_Science", "Chemistry", "Mathematics", "Biology", "Materials_Science"),
    ),
}
#: What people like, by class.
INTERESTS = {
    "BaseballClass": ("Baseball",),
    "BasketBallClass": ("BasketBall",),
    "SwimmingClass": ("Swimming",),
    "TennisClass": ("Tennis",),
    "Sports": ("AmericanFootball", "Kickboxing", "Soccer"),
    "Music": ("Classic_Music", "Pop_Music", "Rock_and_Roll"),
    "Insterest": (
        "Movie",
        "PC_Game",
        "Painting",
        "Reading",
        "Shopping",
        "StampCollecting",
        "Travelling",
        "Video_Game",
    ),
}
_SUBCLASSES = {
    "Organization": (
        "College",
        "Department",
        "Institute",
        "Program",
        "ResearchGroup",
        "University",
    ),
    "Employee": ("Faculty", "SupportingStaff"),
    "Faculty": ("Lecturer", "PostDoc", "Professor"),
    "Professor": (
        "AssistantProfessor",
        "AssociateProfessor",
        "Chair",
        "Dean",
        "FullProfessor",
        "VisitingProfessor",
    ),
    "SupportingStaff": ("ClericalStaff", "SystemsStaff"),
    "Person": ("ResearchAssistant",),
    "Student": ("UndergraduateStudent",),
    "Publication": (
        "Article",
        "Book",
        "Manual",
        "Software",
        "Specification",
        "UnofficialPublication",
    ),
    "Article": ("ConferencePaper", "JournalArticle", "TechnicalReport"),
    "Work": ("Course", "Research"),
    "Course": ("GraduateCourse",),
    "Insterest": ("Music", "Sports"),
    "Sports": ("BaseballClass", "BasketBallClass", "SwimmingClass", "TennisClass"),
    "AcademicSubject": tuple(SUBJECTS),
    **{
        area: tuple(subject + "Class" for subject in subjects)
        for area, subjects in SUBJECTS.items()
    },
}
#: Classes equivalent to a Person with some neighbour by a property in a class.
_PEOPLE_WITH = {
    "BaseballFan": ("isCrazyAbout", "BaseballClass"),
    "BasketBallFan": ("isCrazyAbout", "BasketBallClass"),
    "SwimmingFan": ("isCrazyAbout", "SwimmingClass"),
    "TennisFan": ("isCrazyAbout", "TennisClass"),
    "SportsFan": ("isCrazyAbout", "Sports"),
    "BaseballLover": ("like", "BaseballClass"),
    "BasketBallLover": ("like", "BasketBallClass"),
    "SwimmingLover": ("like", "SwimmingClass"),
    "SportsLover": ("like", "Sports"),
    "Chair": ("isHeadOf", "Department"),
    "Director": ("isHeadOf", "Program"),
    "Employee": ("worksFor", "Organization"),
    "Student": ("isStudentOf", "Organization"),
    "TeachingAssistant": ("teachingAssistantOf", "Course"),
}
#: Classes that nothing above names.
_OTHER_CLASSES = (
    *("GraduateStudent", "LeisureStudent", "Man", "NonScienceStudent", "PeopleWithHobby"),
    *("PeopleWithManyHobbies", "Schedule", "ScienceStudent", "Woman", "WomanCollege"),
)
#: Object properties: domain, range ("" for none).
_OBJECT = {
    "enrollIn": ("", "Department"),
    "hasAlumnus": ("University", "Person"),
    "hasDegreeFrom": ("Person", "University"),
    "hasDoctoralDegreeFrom": ("Person", "University"),
    "hasMajor": ("", "AcademicSubject"),
    "hasMasterDegreeFrom": ("Person", "University"),
    "hasMember": ("Organization", "Person"),
    "hasSameHomeTownWith": ("Person", "Person"),
    "hasStudent": ("Organization", "Student"),
    "hasUndergraduateDegreeFrom": ("Person", "University"),
    "isAdvisedBy": ("Person", "Professor"),
    "isAffiliateOf": ("Organization", "Person"),
    "isAffiliatedOrganizationOf": ("Organization", "Organization"),
    "isCrazyAbout": ("", ""),
    "isFriendOf": ("Person", "Person"),
    "isHeadOf": ("", ""),
    "isMemberOf": ("", ""),
    "isStudentOf": ("Student", "Organization"),
    "isTaughtBy": ("Course", "Faculty"),
    "like": ("", ""),
    "listedCourse": ("Schedule", "Course"),
    "love": ("", ""),
    "orgPublication": ("Organization", "Publication"),
    "publicationAuthor": ("Publication", "Person"),
    "publicationDate": ("Publication", ""),
    "publicationResearch": ("Publication", "Research"),
    "researchInterest": ("", ""),
    "researchProject": ("ResearchGroup", "Research"),
    "softwareDocumentation": ("Software", "Publication"),
    "softwareVersion": ("Software", ""),
    "subOrganizationOf": ("Organization", "Organization"),
    "takesCourse": ("Student", ""),
    "teacherOf": ("Faculty", "Course"),
    "teachingAssistantOf": ("TeachingAssistant", "Course"),
    "tenured": ("Professor", ""),
    "worksFor": ("", ""),
}
_SUBPROPERTIES = {
    "hasDegreeFrom": ("hasUndergraduateDegreeFrom", "hasMasterDegreeFrom", "hasDoctoralDegreeFrom"),
    "hasMember": ("hasStudent",),
    "isMemberOf": ("isStudentOf", "worksFor"),
    "isStudentOf": ("enrollIn",),
    "worksFor": ("isHeadOf",),
    "like": ("isCrazyAbout",),
}
_INVERSES = (
    ("hasAlumnus", "hasDegreeFrom"),
    ("hasDegreeFrom", "hasAlumnus"),
    ("hasMember", "isMemberOf"),
    ("isMemberOf", "hasMember"),
    ("hasStudent", "isStudentOf"),
    ("isStudentOf", "hasStudent"),
    ("isTaughtBy", "teacherOf"),
)
#: Data properties: domain ("" for none), and whether the range is xsd:string.
_DATA = {
    "age": ("Person", False),
    "emailAddress": ("Person", False),
    "firstName": ("Person", True),
    "lastName": ("Person", True),
    "name": ("", False),
    "officeNumber": ("", False),
    "telephone": ("Person", False),
    "title": ("Person", False),
}


#: What some classes are, beside `_PEOPLE_WITH`.
_DEFINITIONS = {
    "Person": "ObjectUnionOf(:Man :Woman)",
    "Dean": "ObjectSomeValuesFrom(:isHeadOf :College)",
    "GraduateStudent": "ObjectIntersectionOf(ObjectMinCardinality(1 :takesCourse) "
    "ObjectAllValuesFrom(:takesCourse :GraduateCourse))",
    "ScienceStudent": "ObjectIntersectionOf(:Student ObjectSomeValuesFrom(:hasMajor :Science))",
    "NonScienceStudent": "ObjectIntersectionOf(:Student ObjectComplementOf(ObjectSomeValuesFrom(:hasMajor :Science)))",
    "PeopleWithHobby": "ObjectIntersectionOf(:Person ObjectMinCardinality(1 :like))",
    "PeopleWithManyHobbies": "ObjectMinCardinality(3 :like)",
    "WomanCollege": "ObjectIntersectionOf(:College ObjectAllValuesFrom(:hasStudent :UndergraduateStudent) "
    "ObjectAllValuesFrom(:hasStudent ObjectComplementOf(:Man)))",
}
_CLASS_AXIOMS = (
    "SubClassOf(:ResearchAssistant ObjectSomeValuesFrom(:worksFor :ResearchGroup))",
    "SubClassOf(:LeisureStudent ObjectMaxCardinality(3 :takesCourse))",
    "DisjointClasses(:Woman :Man)",
)
_ROLE_AXIOMS = (
    "EquivalentObjectProperties(:like :love)",
    "TransitiveObjectProperty(:subOrganizationOf)",
    "TransitiveObjectProperty(:hasSameHomeTownWith)",
    "SymmetricObjectProperty(:hasSameHomeTownWith)",
    "SymmetricObjectProperty(:isFriendOf)",
    "FunctionalObjectProperty(:isTaughtBy)",
    "InverseFunctionalObjectProperty(:isHeadOf)",
)


def _uobm_axioms() -> Iterator[str]:
    """Yield the axioms of UOBM's TBox in functional syntax."""
    for above, below in _SUBCLASSES.items():
        yield from (f"SubClassOf(:{name} :{above})" for name in below)
    for name, (role, filler) in _PEOPLE_WITH.items():
        yield f"EquivalentClasses(:{name} ObjectIntersectionOf(:Person ObjectSomeValuesFrom(:{role} :{filler})))"
    yield from (
        f"EquivalentClasses(:{name} {definition})" for name, definition in _DEFINITIONS.items()
    )
    yield from _CLASS_AXIOMS
    for name, (domain, range) in _OBJECT.items():
        if domain:
            yield f"ObjectPropertyDomain(:{name} :{domain})"
        if range:
            yield f"ObjectPropertyRange(:{name} :{range})"
    for above, below in _SUBPROPERTIES.items():
        yield from (f"SubObjectPropertyOf(:{name} :{above})" for name in below)
    yield from (f"InverseObjectProperties(:{first} :{second})" for first, second in _INVERSES)
    yield from _ROLE_AXIOMS
    for name, (domain, is_string) in _DATA.items():
        if domain:
            yield f"DataPropertyDomain(:{name} :{domain})"
        if is_string:
            yield f"DataPropertyRange(:{name} xsd:string)"


def uobm_tbox() -> owl.TBox:
    """UOBM's TBox: 112 classes, 36 object and 8 data properties."""
    classes = {
        *_SUBCLASSES,
        *(name for below in _SUBCLASSES.values() for name in below),
        *_PEOPLE_WITH,
        *_OTHER_CLASSES,
    }
    signature = owl.Signature(
        classes=frozenset(NAMESPACE + name for name in classes),
        object_properties=frozenset(NAMESPACE + name for name in _OBJECT),
        data_properties=frozenset(NAMESPACE + name for name in _DATA),
    )
    return owl.TBox(parse_axioms(NAMESPACE, _uobm_axioms()), signature)


def uobm_individuals() -> tuple[owl.ClassAssertion, ...]:
    """Class assertions about the individuals in the file of UOBM's TBox: subjects of study and
    interests, to which the data refers.
    """
    subjects = (
        (subject, subject + "Class") for subjects in SUBJECTS.values() for subject in subjects
    )
    interests = (
        (interest, name) for name, interests in INTERESTS.items() for interest in interests
    )
    return tuple(
        owl.ClassAssertion(owl.Class(NAMESPACE + name), NAMESPACE + individual)
        for individual, name in (*subjects, *interests)
    )
