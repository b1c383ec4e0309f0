"""Random ontologies in functional-style syntax, as people and tools may write them: prefixes,
comments, odd white space, escapes, annotations within annotations, names of several kinds. Only
what OWL 2 can say; each axiom is about a class of its own, so that none is there twice.
"""

from __future__ import annotations

import random
from collections.abc import Callable

_GAPS = (" ", " ", " ", "\n", "\t", "\r\n", ' # a comment (with :A "quoted\n', "\n\n   ")
_LOCAL = (
    "a",
    "b1",
    "c-d",
    "e_f",
    "g.h",
    "Ünïcode",
    "x2.3-y",
    "1st",
    "a%41",
    "ObjectSomeValuesFrom",
)
_TEXTS = (
    "",
    "plain",
    'a \\"quote\\"',
    "back\\\\slash",
    "two\nlines",
    "# no comment",
    "SubClassOf(:A :B)",
    "ünï ∀ 𝄞",
    ") (",
    "<urn:x>",
)
_TAGS = ("", "@en", "@de-AT", "@zh-Hans")
_TYPED = (
    ("integer", ("0", "007", "-5", "+12")),
    ("decimal", ("1.50", "-0.0")),
    ("boolean", ("true", "1")),
    ("date", ("2020-02-29",)),
    ("dateTime", ("2020-02-29T12:00:00Z",)),
    ("double", ("1.5E3", "INF")),
    ("anyURI", ("http://e.org/a b",)),
)
_XSD = "http://www.w3.org/2001/XMLSchema#"


class _Writer:
    """Draws one document. ``plain``: without what the OWL API does not read, and the same
    otherwise.
    """

    def __init__(self, seed: int, plain: bool) -> None:
        self.rng = random.Random(seed)
        self.plain = plain
        self.fresh = 0
        self.prefixes = {
            "": "urn:t#",
            "e": "http://e.org/x/",
            "e.v-1": "http://e.org/x/v1#",
            "xsd": _XSD,
        }
        self.prefixes |= {
            "owl": "http://www.w3.org/2002/07/owl#",
            "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
        }

    def text(self) -> str:
        rng = self.rng
        parts = [
            f"Prefix({name}:{self._maybe()}={self._maybe()}<{iri}>)"
            for name, iri in self.prefixes.items()
        ]
        rng.shuffle(parts)
        head = rng.choice(["", "<urn:o>", "<urn:o> <urn:o/1>"])
        body = [self.annotation(2) for _ in range(rng.choice((0, 0, 1, 2)))]
        body += [self.axiom() for _ in range(rng.randint(1, 14))]
        return (
            self.gap().join([*parts, f"Ontology{self._maybe()}({head}", *body, ")"]) + self._maybe()
        )

    # --- white space ---

    def gap(self) -> str:
        gaps = [self.rng.choice(_GAPS) for _ in range(self.rng.choice((1, 1, 1, 2)))]
        return "".join(" " if self.plain and "#" in gap else gap for gap in gaps)

    def _maybe(self) -> str:
        return self.gap() if self.rng.random() < 0.1 else ""

    def call(self, keyword: str, *arguments: str) -> str:
        inner = self.gap().join(argument for argument in arguments if argument)
        return f"{keyword}{self._maybe()}({self._maybe()}{inner}{self._maybe()})"

    # --- names and literals ---

    def name(self, local: str = "") -> str:
        local = local or self.rng.choice(_LOCAL)
        prefix = self.rng.choice(["", "", "e", "e.v-1"])
        is_full = self.rng.random() < 0.2 or (self.plain and "%" in local)
        return f"<{self.prefixes[prefix]}{local}>" if is_full else f"{prefix}:{local}"

    def new(self) -> str:
        self.fresh += 1
        return self.name(f"N{self.fresh}")

    def individual(self) -> str:
        return self.name()

    def literal(self) -> str:
        rng = self.rng
        if rng.random() < 0.6:
            return f'"{rng.choice(_TEXTS)}"{rng.choice(_TAGS)}'
        datatype, lexical = rng.choice(_TYPED)
        name = f"<{_XSD}{datatype}>" if rng.random() < 0.2 else f"xsd:{datatype}"
        return f'"{rng.choice(lexical)}"^^{name}'

    def annotation(self, depth: int) -> str:
        inner = [self.annotation(depth - 1)] if depth and self.rng.random() < 0.3 else []
        value = self.rng.choice(
            [self.literal, self.name, lambda: f'"{self.rng.choice(_TEXTS)}"^^xsd:string']
        )()
        return self.call(
            "Annotation",
            *inner,
            self.rng.choice(["rdfs:label", "rdfs:comment", self.name()]),
            value,
        )

    # --- expressions ---

    def several(self, make: Callable[[], str], least: int = 2) -> list[str]:
        return [make() for _ in range(self.rng.randint(least, least + 2))]

    def role(self) -> str:
        return self.call("ObjectInverseOf", self.name()) if self.rng.random() < 0.2 else self.name()

    def concept(self, depth: int = 2) -> str:
        rng = self.rng
        if not depth or rng.random() < 0.5:
            return rng.choice([self.name(), self.name(), "owl:Thing", "owl:Nothing"])
        inner = lambda: self.concept(depth - 1)  # noqa: E731
        n = str(rng.randint(0, 12))
        kind = rng.randrange(10)
        if kind < 2:
            return self.call(
                rng.choice(["ObjectIntersectionOf", "ObjectUnionOf"]),
                *self.several(self.new),
                inner(),
            )
        if kind == 2:
            return self.call("ObjectComplementOf", inner())
        if kind == 3:
            return self.call("ObjectOneOf", *self.several(self.individual, 1))
        if kind == 4:
            return self.call(
                rng.choice(["ObjectSomeValuesFrom", "ObjectAllValuesFrom"]), self.role(), inner()
            )
        if kind == 5:
            filler = [inner()] if rng.random() < 0.5 else []
            return self.call(
                f"Object{rng.choice(['Min', 'Max', 'Exact'])}Cardinality", n, self.role(), *filler
            )
        if kind == 6:
            return rng.choice(
                [
                    self.call("ObjectHasValue", self.role(), self.individual()),
                    self.call("ObjectHasSelf", self.role()),
                ]
            )
        if kind == 7:
            return self.call(
                rng.choice(["DataSomeValuesFrom", "DataAllValuesFrom"]), self.name(), self.range()
            )
        if kind == 8:
            filler = [self.range()] if rng.random() < 0.5 else []
            return self.call(
                f"Data{rng.choice(['Min', 'Max', 'Exact'])}Cardinality", n, self.name(), *filler
            )
        return self.call("DataHasValue", self.name(), self.literal())

    def range(self, depth: int = 1) -> str:
        rng = self.rng
        if not depth or rng.random() < 0.5:
            return rng.choice(["xsd:integer", "xsd:string", "rdfs:Literal", self.name()])
        kind = rng.randrange(4)
        if kind == 0:
            return self.call("DataComplementOf", self.range(0))
        if kind == 1:
            return self.call("DataOneOf", *self.several(self.literal, 1))
        if kind == 2:
            return self.call(
                "DatatypeRestriction", "xsd:integer", "xsd:minInclusive", '"1"^^xsd:integer'
            )
        return self.call(
            rng.choice(["DataUnionOf", "DataIntersectionOf"]),
            "xsd:integer",
            self.name(),
            self.call("DataComplementOf", self.new()),
        )

    # --- axioms ---

    def axiom(self) -> str:
        rng = self.rng
        notes = [self.annotation(2) for _ in range(rng.choice((0, 0, 0, 1, 2)))]
        return self.call(*self._axiom(notes))

    def _axiom(self, notes: list[str]) -> list[str]:
        rng, new = self.rng, self.new
        kind = rng.randrange(16)
        if kind == 0:
            kinds = [
                "Class",
                "ObjectProperty",
                "DataProperty",
                "AnnotationProperty",
                "Datatype",
                "NamedIndividual",
            ]
            return ["Declaration", *notes, self.call(rng.choice(kinds), new())]
        if kind == 1:
            return ["SubClassOf", *notes, self.concept(), new()]
        if kind == 2:
            return [
                rng.choice(["EquivalentClasses", "DisjointClasses"]),
                *notes,
                new(),
                self.concept(),
                *([new()] * rng.randint(0, 1)),
            ]
        if kind == 3:
            return ["DisjointUnion", *notes, new(), new(), self.concept()]
        if kind == 4:
            sub = (
                self.call("ObjectPropertyChain", self.role(), self.role(), self.role())
                if rng.random() < 0.4
                else self.role()
            )
            return ["SubObjectPropertyOf", *notes, sub, new()]
        if kind == 5:
            both = [
                "EquivalentObjectProperties",
                "DisjointObjectProperties",
                "InverseObjectProperties",
            ]
            return [rng.choice(both), *notes, new(), new()]
        if kind == 6:
            return [
                rng.choice(["ObjectPropertyDomain", "ObjectPropertyRange"]),
                *notes,
                self.call("ObjectInverseOf", new()),
                self.concept(),
            ]
        if kind == 7:
            kinds = [
                "Functional",
                "InverseFunctional",
                "Reflexive",
                "Irreflexive",
                "Symmetric",
                "Asymmetric",
                "Transitive",
            ]
            return [f"{rng.choice(kinds)}ObjectProperty", *notes, new()]
        if kind == 8:
            return [
                rng.choice(
                    ["SubDataPropertyOf", "EquivalentDataProperties", "DisjointDataProperties"]
                ),
                *notes,
                new(),
                new(),
            ]
        if kind == 9:
            return rng.choice(
                [
                    ["DataPropertyDomain", *notes, new(), self.concept()],
                    ["DataPropertyRange", *notes, new(), self.range()],
                    ["FunctionalDataProperty", *notes, new()],
                    ["DatatypeDefinition", *notes, new(), self.range()],
                ]
            )
        if kind == 10:
            roles, features = (
                f"({self._maybe()}{self.gap().join(names)})"
                for names in ([self.role()], [self.name()])
            )
            return [
                "HasKey",
                *notes,
                new(),
                *rng.choice([(roles, features), ("()", features), (roles, "()")]),
            ]
        if kind == 11:
            return [
                rng.choice(["SameIndividual", "DifferentIndividuals"]),
                *notes,
                new(),
                self.individual(),
            ]
        if kind == 12:
            return ["ClassAssertion", *notes, self.concept(), new()]
        if kind == 13:
            return [
                f"{rng.choice(['', 'Negative'])}ObjectPropertyAssertion",
                *notes,
                self.name(),
                self.individual(),
                new(),
            ]
        if kind == 14:
            return [
                f"{rng.choice(['', 'Negative'])}DataPropertyAssertion",
                *notes,
                self.name(),
                new(),
                self.literal(),
            ]
        return rng.choice(
            [
                [
                    "AnnotationAssertion",
                    *notes,
                    rng.choice(["rdfs:label", self.name()]),
                    new(),
                    self.literal(),
                ],
                ["AnnotationAssertion", *notes, self.name(), self.name(), new()],
                ["SubAnnotationPropertyOf", *notes, new(), self.name()],
                [
                    rng.choice(["AnnotationPropertyDomain", "AnnotationPropertyRange"]),
                    *notes,
                    self.name(),
                    new(),
                ],
            ]
        )


def document(seed: int, *, plain: bool = False) -> str:
    """The document that ``seed`` stands for; ``plain``: without comments and percent signs in
    abbreviated names.
    """
    return _Writer(seed, plain).text()


def mutated(text: str, seed: int) -> str:
    """``text`` with one slip: a character more or less, another one, or an end that is missing.
    No slip begins a comment.
    """
    rng = random.Random(seed)
    at = rng.randrange(len(text))
    sign = rng.choice('()"\\<>:^@=ab1. \n')
    return rng.choice(
        [
            text[:at] + text[at + 1 :],
            text[:at] + sign + text[at:],
            text[:at] + sign + text[at + 1 :],
            text[:at],
        ]
    )
