"""Random documents in RDF/XML and Turtle, with the oddities that their grammars have, and some
that they have not.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pyoxigraph as ox

from shiq.model import RDF, XSD

BASE = "http://h/a/b"

ILLEGAL = {
    "ID twice": '<u:C rdf:ID="twice"/><u:C rdf:ID="twice"/>',
    "bagID": '<u:C rdf:about="urn:a" rdf:bagID="x"/>',
    "aboutEach": '<u:C rdf:aboutEach="urn:a"/>',
    "li as attribute": '<u:C rdf:about="urn:a" rdf:li="x"/>',
    "RDF as node": "<rdf:RDF/>",
    "Description as property": '<u:C rdf:about="urn:a"><rdf:Description/></u:C>',
    "two names": '<u:C rdf:about="urn:a" rdf:nodeID="x"/>',
    "bad ID": '<u:C rdf:ID="1 2"/>',
    "text in node": '<u:C rdf:about="urn:a">text</u:C>',
    "two nodes": '<u:C rdf:about="urn:a"><u:p><u:C/><u:C/></u:p></u:C>',
    "node and text": '<u:C rdf:about="urn:a"><u:p>text<u:C/></u:p></u:C>',
    "parse type and more": '<u:C rdf:about="urn:a"><u:p rdf:parseType="Resource" rdf:resource="urn:b"/></u:C>',
    "resource and nodeID": '<u:C rdf:about="urn:a"><u:p rdf:resource="urn:b" rdf:nodeID="x"/></u:C>',
}


@dataclass
class Sample:
    """A document; ``oddities`` name what in it a library may get wrong, ``illegal`` what no
    grammar has.
    """

    text: str
    oddities: set[str] = field(default_factory=set)
    illegal: str = ""
    expected: frozenset[ox.Quad] | None = None


class RdfXml:
    """Writes one random document."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.oddities: set[str] = set()
        self.ids = 0
        self.depth = 0

    def odd(self, name: str, chance: float) -> bool:
        found = self.random.random() < chance
        if found:
            self.oddities.add(name)
        return found

    def sample(self) -> Sample:
        nodes = [self.node() for _ in range(self.random.randint(1, 5))]
        illegal = self.random.choice(sorted(ILLEGAL)) if self.random.random() < 0.15 else ""
        if illegal:
            nodes.insert(self.random.randint(0, len(nodes)), ILLEGAL[illegal])
        base = self.random.choice(
            [
                "",
                "",
                ' xml:base="http://h/x/y?q#f"',
                ' xml:base="z"' if self.odd("relative base", 0.1) else "",
            ]
        )
        language = self.random.choice(["", "", ' xml:lang="de"'])
        doctype = '<!DOCTYPE rdf:RDF [<!ENTITY e "urn:e#"><!ENTITY quote "&#34;">]>\n'
        head = f'<?xml version="1.0"?>\n{doctype}<rdf:RDF xmlns:rdf="{RDF}" xmlns:u="urn:u#" xmlns="urn:v#"{base}{language}>'
        return Sample(
            head + self.space().join(["", *nodes, ""]) + "</rdf:RDF>", self.oddities, illegal
        )

    def space(self) -> str:
        return self.random.choice(["", "\n", "  ", "\n\t", "<!-- <x> -->\n", "<?pi x?>"])

    def reference(self) -> str:
        return self.random.choice(
            [
                "urn:a",
                "urn:b",
                "&e;c",
                "",
                "#f",
                "../r",
                "r/./s",
                "?q",
                "http://h/é",
                "/k",
                "urn:x/../y",
                "//o/p",
                "&#x75;rn:d",
            ]
        )

    def text(self, *, attribute: bool = False) -> str:
        pieces = [
            self.random.choice(
                ["x", " ", "é", "&lt;", "&amp;", "&quote;", "&#10;", "'", "&#x1F600;", "]]&gt;"]
            )
            for _ in "123"
        ]
        if attribute:
            if self.odd("line break in attribute", 0.1):
                pieces.insert(1, self.random.choice(["\n", "\t"]))
            return "".join(pieces)
        if self.odd("comment in text", 0.07):
            pieces.insert(self.random.randint(0, 3), "<!-- c -->")
        if self.odd("instruction in text", 0.05):
            pieces.insert(self.random.randint(0, 3), "<?pi c?>")
        if self.odd("CDATA", 0.05):
            pieces.append("<![CDATA[<&]]>")
        return "".join(pieces) + self.random.choice(["", "\n"])

    def about(self) -> str:
        kind = self.random.randrange(6)
        if kind == 0:
            self.ids += 1
            return f' rdf:ID="i{self.ids}"'
        if kind == 1:
            return f' rdf:nodeID="n{self.random.randrange(3)}"'
        if kind == 2:
            return ""
        if self.odd("unqualified", 0.04):
            return f' about="{self.reference()}"'
        return f' rdf:about="{self.reference()}"'

    def around(self) -> str:
        found = ""
        if self.random.random() < 0.08:
            bases = (
                ["w", "", "#x"]
                if self.odd("relative base", 0.2)
                else ["urn:o"]
                if self.odd("base without path", 0.1)
                else ["http://o/p/q"]
            )
            found += f' xml:base="{self.random.choice(bases)}"'
        if self.odd("no language", 0.03):
            return found + ' xml:lang=""'
        if self.random.random() < 0.1:
            found += f' xml:lang="{self.random.choice(["en", "EN-us"])}"'
        return found + self.random.choice(["", "", "", ' xml:space="preserve"'])

    def attributes(self, chance: float) -> str:
        found = ""
        if self.random.random() < chance:
            found += f' u:d="{self.text(attribute=True)}"'
        if self.random.random() < chance / 2:
            found += (
                f' rdf:type="{self.reference() if self.odd("relative type", 0.2) else "urn:T"}"'
            )
        if self.random.random() < chance / 3:
            found += ' rdf:_3="x"'
        return found

    def node(self) -> str:
        self.depth += 1
        name = self.random.choice(["rdf:Description", "u:C", "D", "rdf:Bag"])
        start = f"<{name}{self.about()}{self.around()}{self.attributes(0.2)}"
        count = 0 if self.depth > 4 else self.random.randint(0, 4)
        inside = self.space().join(["", *(self.property() for _ in range(count)), ""])
        self.depth -= 1
        return (
            f"{start}>{inside}</{name}>"
            if count
            else start + self.random.choice(["/>", f"></{name}>"])
        )

    def property(self) -> str:
        name = self.random.choice(["u:p", "q", "rdf:li", "rdf:type", "rdf:_2", "rdf:value"])
        around = self.around()
        if self.random.random() < 0.1:
            self.ids += 1
            around += f' rdf:ID="i{self.ids}"'
        match self.random.randrange(10):
            case 0 | 1:
                return f'<{name}{around} rdf:resource="{self.reference()}"{self.attributes(0.1)}/>'
            case 2:
                return f"<{name}{around}>{self.text()}</{name}>"
            case 3:
                text = self.random.choice([self.text(), ""])
                if not text:
                    self.oddities.add("datatype and nothing")
                datatype = (
                    "t"
                    if self.odd("relative datatype", 0.1)
                    else self.random.choice([XSD + "integer", "urn:t"])
                )
                return f'<{name}{around} rdf:datatype="{datatype}">{text}</{name}>'
            case 4:
                return f"<{name}{around}>{self.space()}{self.node()}{self.space()}</{name}>"
            case 5:
                inside = (
                    "".join(self.property() for _ in range(self.random.randint(0, 2)))
                    if self.depth < 5
                    else ""
                )
                return f'<{name}{around} rdf:parseType="Resource">{self.space()}{inside}</{name}>'
            case 6:
                members = self.space().join(
                    ["", *(self.node() for _ in range(self.random.randint(0, 3)))]
                )
                return f'<{name}{around} rdf:parseType="Collection">{members}</{name}>'
            case 7:
                return f'<{name}{around} rdf:nodeID="n{self.random.randrange(3)}"/>'
            case 8 if self.random.random() < 0.3:
                kind, markup = "Literal", self.markup()
                self.oddities.add("XML literal" if markup else "empty XML literal")
                if self.odd("other parse type", 0.3):
                    kind = self.random.choice(["daml:collection", "collection", "literal", ""])
                return f'<{name}{around} rdf:parseType="{kind}">{markup}</{name}>'
            case _:
                attributes = self.attributes(0.5)
                if attributes.startswith(" rdf:type") and ":_3" not in attributes:
                    self.oddities.add("type alone")
                return f"<{name}{around}{attributes}/>"

    def markup(self) -> str:
        return self.random.choice(
            [
                "",
                "x &lt; y",
                '<u:b a="&lt;" u:z="">x<c/></u:b> y',
                '<b xmlns="urn:w#"><u:c/></b>',
                "<b>é</b>",
            ]
        )


class Turtle:
    """Writes one random document, statement by statement, with what each means."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.prefixes: dict[str, str] = {}
        self.base: str | None = BASE
        self.depth = self.labels = 0
        self.broken = False
        self.oddities: set[str] = set()

    def sample(self) -> Sample:
        pieces: list[str] = []
        expected: set[ox.Quad] = set()
        broken = self.random.random() < 0.4
        for name in ("", "e", "é"):
            pieces.append(self.directive(name))
        for _ in range(self.random.randint(2, 9)):
            kind = self.random.random()
            if kind < 0.2:
                pieces.append(self.directive(self.random.choice(["", "e", "é", "base"])))
            elif kind < 0.4 and broken:
                pieces.append(self.break_something())
            else:
                statement = self.statement()
                pieces.append(statement)
                expected |= self.meaning(statement)
        text = "".join(
            piece
            + self.random.choice(["\n", "\n\n", " # :a :p :b .\n", "\n#@prefix : <urn:no#> .\n"])
            for piece in pieces
        )
        return Sample(
            text,
            self.oddities,
            illegal="broken" if self.broken else "",
            expected=frozenset(expected),
        )

    def meaning(self, statement: str) -> set[ox.Quad]:
        """The triples of a statement by itself; none where it uses what has no meaning."""
        header = "".join(f"@prefix {name}: <{iri}> .\n" for name, iri in self.prefixes.items())
        found: set[ox.Quad] = set()
        try:
            for quad in ox.parse(
                header + statement, format=ox.RdfFormat.TURTLE, base_iri=self.base
            ):
                found.add(quad)
        except SyntaxError:
            self.broken = True
        return found

    def directive(self, name: str) -> str:
        word = self.random.choice(["@prefix", "PREFIX", "prefix"])
        iri = self.random.choice(["urn:m#", "urn:n#", "http://h/é/", "rel#"])
        if iri == "rel#" and self.base is None:
            iri = "urn:m#"
        gap = self.random.choice([" ", "\n", " # c\n"])
        dot = self.random.choice([" .", "."]) if word[0] == "@" else ""
        if name == "base":
            self.base = self.random.choice(["http://o/p/q", "http://o/r/"])
            return (
                f"{word.replace('prefix', 'base').replace('PREFIX', 'BASE')}{gap}<{self.base}>{dot}"
            )
        parsed = ox.parse(
            f"@prefix {name}: <{iri}> .", format=ox.RdfFormat.TURTLE, base_iri=self.base
        )
        list(parsed)
        self.prefixes[name] = parsed.prefixes[name]
        return f"{word}{gap}{name}:{gap}<{iri}>{dot}"

    def break_something(self) -> str:
        self.broken = True
        name = self.random.choice(["", "e", "base"])
        kind = self.random.randrange(6)
        if kind < 4:
            if name == "base":
                self.base = None
                return ["@base <urn:x y> .", "BASE <urn:x y>", "@base urn:x .", '@base "x" .'][kind]
            self.prefixes.pop(name, None)
            return [
                f"@prefix {name}: <urn:x y> .",
                f"PREFIX {name}: <urn:{{}}>",
                f"@prefix {name}: urn:x .",
                f"@prefix {name}: .",
            ][kind]
        return self.random.choice(
            [
                "<urn:s> <urn:p> ?? .",
                "<urn:s> <urn:p> .",
                "<urn:s> <urn:x y> <urn:o> .",
                '<urn:s> "x" <urn:o> .',
            ]
        )

    def name(self) -> str:
        names = ["urn:a", "r", "#f", "", "../x", "http://h/\\u00e9"]
        kind = self.random.randrange(4)
        if kind == 0:
            return f"<{self.random.choice(names)}>"
        if kind == 1:
            return f"_:l{self.random.randrange(3)}"
        return self.random.choice(
            [":a", ":b", "e:c.d", "e:%41", "é:é", ":", "e:\\~x", ":1:2", "e:prefix", ":base"]
        )

    def value(self) -> str:
        self.depth += 1
        kind = self.random.randrange(9 if self.depth < 5 else 6)
        inside = [
            "x",
            "é",
            "\\n",
            '\\"',
            "\\u0041",
            "\\U0001F600",
            "#",
            " @prefix : <urn:no#> . ",
            "<",
            ".",
        ]
        text = "".join(self.random.choice(inside) for _ in "123")
        found = self.name()
        if kind in (1, 2):
            quote = self.random.choice(['"', "'", '"""', "'''"])
            if len(quote) == 3:
                text += self.random.choice(
                    ["\n", f"\n@prefix : <urn:no#> .\n{quote[0]}z", "\nPREFIX e: <urn:no#>\n", ""]
                )
            tail = self.random.choice(["", "@en", "@de-AT", f"^^<{XSD}string>", "^^:t"])
            found = f"{quote}{text}{quote}{tail}"
        elif kind == 3:
            odd = self.random.random() < 0.1
            self.oddities |= {"number"} if odd else set()
            found = self.random.choice(
                ["1e5", ".5E-1", "+7", "007"] if odd else ["1", "-1.5", "true", "false"]
            )
        elif kind == 6:
            found = f"[ {self.predicates()} ]" if self.random.random() < 0.8 else "[]"
        elif kind in (7, 8):
            found = f"({' '.join(self.value() for _ in range(self.random.randint(0, 3)))})"
        self.depth -= 1
        return found

    def predicates(self) -> str:
        pairs = []
        for _ in range(self.random.randint(1, 3)):
            predicate = self.random.choice(["a", ":p", "e:q", "<urn:r>"])
            pairs.append(
                f"{predicate} {' , '.join(self.value() for _ in range(self.random.randint(1, 2)))}"
            )
        return self.random.choice([" ; ", ";\n\t", " # c\n;; "]).join(pairs)

    def statement(self) -> str:
        if self.random.random() < 0.15:
            return f"[ {self.predicates()} ] ."
        subject = self.name() if self.random.random() < 0.9 else f"( {self.value()} )"
        return f"{subject} {self.predicates()} ."
