"""UOBM's TBox as our own values: SHIN(D), without nominals, as the paper used it; and the individuals that its file names.

The vocabulary is that of univ-bench-dl.owl, misspelt names included (``Insterest``, ``Petroleuml_EngineeringClass``), so that
data generated here fits either TBox, and the axioms say the same. Of 112 classes only two are disjoint, Man and Woman: a
contradiction is a man who is a woman, most often because an (inverse) functional role makes two people one.

>>> len(uobm_tbox().axioms), len(uobm_tbox().signature.classes)
(191, 112)
"""

from __future__ import annotations

from collections.abc import Iterator

from shiq import model as owl

NAMESPACE = "http://semantics.crl.ibm.com/univ-bench-dl.owl#"

#: What students major in, by the class of such subjects: each has a class of its own, the individual X is an XClass.
SUBJECTS = {
    "Engineering": (
        *("Computer_Engineering", "Petroleuml_Engineering", "Civil_Engineering", "Mechanical_Engineering"),
        *("Industry_Engineering", "Aeronautical_Engineering", "Chemical_Engineering", "Biomedical_Engineering"),
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
    "Insterest": ("Movie", "PC_Game", "Painting", "Reading", "Shopping", "StampCollecting", "Travelling", "Video_Game"),
}
_SUBCLASSES = {
    "Organization": ("College", "Department", "Institute", "Program", "ResearchGroup", "University"),
    "Employee": ("Faculty", "SupportingStaff"),
    "Faculty": ("Lecturer", "PostDoc", "Professor"),
    "Professor": ("AssistantProfessor", "AssociateProfessor", "Chair", "Dean", "FullProfessor", "VisitingProfessor"),
    "SupportingStaff": ("ClericalStaff", "SystemsStaff"),
    "Person": ("ResearchAssistant",),
    "Student": ("UndergraduateStudent",),
    "Publication": ("Article", "Book", "Manual", "Software", "Specification", "UnofficialPublication"),
    "Article": ("ConferencePaper", "JournalArticle", "TechnicalReport"),
    "Work": ("Course", "Research"),
    "Course": ("GraduateCourse",),
    "Insterest": ("Music", "Sports"),
    "Sports": ("BaseballClass", "BasketBallClass", "SwimmingClass", "TennisClass"),
    "AcademicSubject": tuple(SUBJECTS),
    **{area: tuple(subject + "Class" for subject in subjects) for area, subjects in SUBJECTS.items()},
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


def _class(name: str) -> owl.Class:
    return owl.Class(NAMESPACE + name)


def _role(name: str) -> owl.ObjectProperty:
    return owl.ObjectProperty(NAMESPACE + name)


def _some(role: str, filler: str) -> owl.ObjectSomeValuesFrom:
    return owl.ObjectSomeValuesFrom(_role(role), _class(filler))


def _and(*operands: owl.ClassExpression) -> owl.ObjectIntersectionOf:
    return owl.ObjectIntersectionOf(operands)


def _at_least(n: int, role: str) -> owl.ObjectMinCardinality:
    return owl.ObjectMinCardinality(n, _role(role), owl.THING)


def _definitions() -> dict[str, owl.ClassExpression]:
    person, student = _class("Person"), _class("Student")
    takes, has_student = _role("takesCourse"), _role("hasStudent")
    major = _some("hasMajor", "Science")
    return {
        **{name: _and(person, _some(*neighbour)) for name, neighbour in _PEOPLE_WITH.items()},
        "Person": owl.ObjectUnionOf((_class("Man"), _class("Woman"))),
        "Dean": _some("isHeadOf", "College"),
        "GraduateStudent": _and(_at_least(1, "takesCourse"), owl.ObjectAllValuesFrom(takes, _class("GraduateCourse"))),
        "ScienceStudent": _and(student, major),
        "NonScienceStudent": _and(student, owl.ObjectComplementOf(major)),
        "PeopleWithHobby": _and(person, _at_least(1, "like")),
        "PeopleWithManyHobbies": _at_least(3, "like"),
        "WomanCollege": _and(
            _class("College"),
            owl.ObjectAllValuesFrom(has_student, _class("UndergraduateStudent")),
            owl.ObjectAllValuesFrom(has_student, owl.ObjectComplementOf(_class("Man"))),
        ),
    }


def _class_axioms() -> Iterator[owl.Axiom]:
    for above, below in _SUBCLASSES.items():
        yield from (owl.SubClassOf(_class(name), _class(above)) for name in below)
    for name, definition in _definitions().items():
        yield owl.EquivalentClasses((_class(name), definition))
    yield owl.SubClassOf(_class("ResearchAssistant"), _some("worksFor", "ResearchGroup"))
    yield owl.SubClassOf(_class("LeisureStudent"), owl.ObjectMaxCardinality(3, _role("takesCourse"), owl.THING))
    yield owl.DisjointClasses((_class("Woman"), _class("Man")))


def _role_axioms() -> Iterator[owl.Axiom]:
    for name, (domain, range) in _OBJECT.items():
        if domain:
            yield owl.ObjectPropertyDomain(_role(name), _class(domain))
        if range:
            yield owl.ObjectPropertyRange(_role(name), _class(range))
    for above, below in _SUBPROPERTIES.items():
        yield from (owl.SubObjectPropertyOf(_role(name), _role(above)) for name in below)
    yield from (owl.InverseObjectProperties(_role(first), _role(second)) for first, second in _INVERSES)
    yield owl.EquivalentObjectProperties((_role("like"), _role("love")))
    yield owl.TransitiveObjectProperty(_role("subOrganizationOf"))
    yield owl.TransitiveObjectProperty(_role("hasSameHomeTownWith"))
    yield owl.SymmetricObjectProperty(_role("hasSameHomeTownWith"))
    yield owl.SymmetricObjectProperty(_role("isFriendOf"))
    yield owl.FunctionalObjectProperty(_role("isTaughtBy"))
    yield owl.InverseFunctionalObjectProperty(_role("isHeadOf"))
    for name, (domain, is_string) in _DATA.items():
        if domain:
            yield owl.DataPropertyDomain(owl.DataProperty(NAMESPACE + name), _class(domain))
        if is_string:
            yield owl.DataPropertyRange(owl.DataProperty(NAMESPACE + name), owl.Datatype(owl.XSD + "string"))


def uobm_tbox() -> owl.TBox:
    """UOBM's TBox: 112 classes, 36 object and 8 data properties."""
    classes = {*_SUBCLASSES, *(name for below in _SUBCLASSES.values() for name in below), *_PEOPLE_WITH, *_OTHER_CLASSES}
    signature = owl.Signature(
        classes=frozenset(NAMESPACE + name for name in classes),
        object_properties=frozenset(NAMESPACE + name for name in _OBJECT),
        data_properties=frozenset(NAMESPACE + name for name in _DATA),
    )
    return owl.TBox((*_class_axioms(), *_role_axioms()), signature)


def uobm_individuals() -> tuple[owl.ClassAssertion, ...]:
    """The classes of the subjects and interests that the file of UOBM's TBox names: without them nobody likes sports."""
    subjects = ((subject, subject + "Class") for subjects in SUBJECTS.values() for subject in subjects)
    interests = ((interest, name) for name, interests in INTERESTS.items() for interest in interests)
    return tuple(owl.ClassAssertion(_class(name), NAMESPACE + individual) for individual, name in (*subjects, *interests))
