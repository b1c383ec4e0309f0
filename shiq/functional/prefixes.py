"""Names of a document in functional-style syntax: prefixes as declared, and the IRIs and
literals written with them.
"""

from __future__ import annotations

from shiq import model as owl
from shiq.functional.arguments import Iri, RefusedConstruct
from shiq.functional.tokens import Token

_PREDEFINED = {"owl:": owl.OWL, "rdf:": owl.RDF, "rdfs:": owl.RDFS, "xsd:": owl.XSD}


class Prefixes:
    """The prefixes declared so far, each with its colon; "" for one that stands for two IRIs."""

    def __init__(self) -> None:
        self.declared: dict[str, str] = {}

    def resolve(self, kind: str, text: str) -> str:
        """The IRI that a token of ``kind`` "iri" or "name" stands for. Raises `RefusedConstruct`."""
        if kind == "iri":
            return text
        prefix, _, local = text.partition(":")
        namespace = self.namespace(prefix)
        if not local or ":" in local:
            # Other readers take a name with two colons for two names.
            raise RefusedConstruct(
                f"{text} is no abbreviated name", hint=f"write <{namespace}{local}>"
            )
        return namespace + local

    def namespace(self, prefix: str) -> str:
        """What ``prefix``, without its colon, stands for. Raises `RefusedConstruct`."""
        namespace = self.declared.get(prefix + ":", _PREDEFINED.get(prefix + ":"))
        if not namespace:
            raise RefusedConstruct(
                f"the prefix {prefix}: {'is not declared' if namespace is None else 'stands for two IRIs'}"
            )
        return namespace

    def literal(self, token: Token) -> owl.Literal:
        """The literal that ``token`` writes. Raises `RefusedConstruct`."""
        if "\0" in token.text:
            raise RefusedConstruct("a literal with the character U+0000")
        if not token.suffix:
            return owl.Literal(token.text)
        if token.suffix.startswith("@"):
            return owl.Literal(token.text, owl.RDF + "langString", token.suffix[1:].lower())
        datatype = token.suffix[2:]
        full = datatype.startswith("<")
        iri = self.resolve("iri" if full else "name", datatype[1:-1] if full else datatype)
        if iri in (owl.RDF + "langString", owl.RDF + "dirLangString"):
            raise RefusedConstruct("a literal of datatype rdf:langString without a language tag")
        return owl.Literal(token.text, iri)

    def declare_as_written(self, arguments: list[object]) -> None:
        """Takes the ``arguments`` of Prefix(...). Raises `RefusedConstruct`."""
        match arguments:
            case [Token(text=name), "=", Iri() as iri] if name.find(":") == len(name) - 1:
                self.declare(name, str(iri))
            case _:
                raise RefusedConstruct("a prefix is declared as Prefix(name:=<IRI>)")

    def declare(self, name: str, iri: str) -> None:
        """Lets ``name``, with its colon, stand for ``iri``. Raises `RefusedConstruct`."""
        known = self.declared.get(name, _PREDEFINED.get(name, iri))
        if known != iri:
            self.declared[name] = ""
            raise RefusedConstruct(f"the prefix {name} stands for <{known}> already")
        self.declared[name] = iri
