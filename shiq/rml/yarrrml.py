"""Parser of YARRRML, mappings in YAML. Unsupported constructs are refused by name and line.

Supported: prefixes; base; sources (CSV, JSONPath); subjects, predicates and objects by template and
    reference; datatypes; language tags; ``~iri``; joins by equality.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import product
from typing import Any, Final

from shiq import model as owl
from shiq.errors import InputError, UsageError, missing_package
from shiq.inputs.sources import path_of as file_of
from shiq.model.ntriples import literal as literal_text
from shiq.rml.model import (
    LogicalSource,
    MappingJoin,
    Path_,
    TermMap,
    TriplesMap,
    folder_of,
    is_resource,
    steps_of,
)

#: Long and short names of what each kind of node may say.


def _aliases(**names: str) -> dict[str, str]:
    """Long name of each of the abbreviations in ``names``."""
    return {name: long for long, of_it in names.items() for name in of_it.split()}


_TOP: Final = _aliases(
    prefixes="prefixes",
    base="base",
    sources="sources",
    mappings="mappings mapping m",
    authors="authors",
)
_MAPPING: Final = _aliases(
    subjects="subjects subject s",
    sources="sources source",
    pairs="predicateobjects predicateobject po",
)
_SOURCE: Final = _aliases(
    access="access", form="referenceFormulation", iterator="iterator", type="type"
)
_PAIR: Final = _aliases(predicates="predicates predicate p", objects="objects object o")
_OBJECT: Final = _aliases(
    value="value v",
    datatype="datatype",
    language="language",
    type="type",
    mapping="mapping m",
    conditions="condition conditions",
)
_CONDITION: Final = _aliases(function="function f", parameters="parameters pms")
_FORMS: Final = {"csv": "csv", "jsonpath": "json"}
_KINDS: Final = {"iri": "IRI", "literal": "Literal", "blank": "BlankNode"}
_PREFIXES: Final = {"rdf": owl.RDF, "rdfs": owl.RDFS, "xsd": owl.XSD, "owl": owl.OWL}
_REFERENCE: Final = re.compile(r"(?<!\\)\$\(((?:\\.|[^)\\])*)\)")
#: What looks like a reference and is none; a dollar sign that is meant comes behind a backslash.
_NO_REFERENCE: Final = re.compile(r"(?<!\\)\$(?:[^\s$()]*\)|[({A-Za-z_])")
#: Schemes of IRIs without "//" that nobody takes for prefixes.
_SCHEMES: Final = frozenset(("urn", "mailto", "tel", "sip"))
_EQUAL: Final = re.compile(r"equal\(\s*str1\s*=\s*(\$\(.*?\))\s*,\s*str2\s*=\s*(\$\(.*?\))\s*\)")


def read_yarrrml(path: str) -> dict[str, TriplesMap]:
    """Parse the triples maps of a file, by name.

    Raises: InputError; UsageError for unsupported or incomplete constructs; OperationalError if no
        YAML parser is installed.
    """
    try:
        import yaml  # type: ignore[import-untyped, unused-ignore]
    except ImportError as error:
        raise missing_package(error) or error from error
    try:
        root = yaml.compose(file_of(path).read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        at = f", line {mark.line + 1}" if mark else ""
        raise UsageError(
            f"{path}{at}: no YAML: {getattr(error, 'problem', '') or error}", "Mend the mapping."
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path} cannot be read: {error}", "Name a mapping that can be read, in UTF-8."
        ) from error
    return _Reader(path, root).maps()


class _Reader:
    """Parser of the nodes of a mapping. A node is one of the YAML parser."""

    def __init__(self, path: str, root: Any) -> None:
        self.path, self.form = path, "csv"
        self.top = self._members(root, _TOP, "a mapping")
        self.prefixes: dict[str, str] = _PREFIXES | {
            key.value: self._text(value)
            for key, value in self._pairs(self.top.get("prefixes"), "prefixes")
        }
        self.base = self._text(self.top["base"]) if "base" in self.top else ""
        self.sources = {
            key.value: value for key, value in self._pairs(self.top.get("sources"), "sources")
        }

    def _refuse(self, node: Any, what: str) -> UsageError:
        line = f", line {node.start_mark.line + 1}" if node is not None else ""
        return UsageError(
            f"{self.path}{line}: {what}",
            "docs/INPUTS.md lists what of YARRRML is known; no data was read.",
        )

    # --- nodes ------------------------------------------------------------------------------------

    def _text(self, node: Any) -> str:
        if node is None or node.id != "scalar":
            raise self._refuse(node, "a text is needed here")
        return str(node.value)

    def _items(self, node: Any) -> list[Any]:
        """Members of a list; a node that is no list is its own only member."""
        if node.id == "sequence" and not node.value:
            raise self._refuse(node, "a list with nothing in it")
        return list(node.value) if node.id == "sequence" else [node]

    def _pairs(self, node: Any, what: str) -> Sequence[tuple[Any, Any]]:
        if node is None:
            return ()
        if node.id != "mapping":
            raise self._refuse(node, f"{what} needs names and values")
        names = [self._text(key) for key, _ in node.value]
        for i, (key, _) in enumerate(node.value):
            if key.value in names[:i]:
                raise self._refuse(key, f"{key.value!r} is there twice")
        return [(key, value) for key, value in node.value]

    def _members(self, node: Any, known: Mapping[str, str], what: str) -> dict[str, Any]:
        """Members of a mapping node, by long names."""
        found: dict[str, Any] = {}
        for key, value in self._pairs(node, what) if node is not None else ():
            name = known.get(self._text(key))
            if name is None:
                raise self._refuse(
                    key, f"{key.value!r} is not known in {what}; {', '.join(known)} are"
                )
            if name in found:
                raise self._refuse(key, f"{key.value!r} is there twice")
            found[name] = value
        return found

    # --- triples maps -----------------------------------------------------------------------------

    def maps(self) -> dict[str, TriplesMap]:
        """All triples maps by name."""
        found: dict[str, TriplesMap] = {}
        mappings = self._pairs(self.top.get("mappings"), "mappings")
        if not mappings:
            raise self._refuse(None, "there are no mappings in it")
        self.names = {key.value for key, _ in mappings}
        for key, node in mappings:
            said = self._members(node, _MAPPING, "a mapping")
            for part in ("sources", "subjects"):
                if part not in said:
                    raise self._refuse(key, f"{key.value!r} has no {part}")
            sources = self._sources(said["sources"])
            for i, (source, subject) in enumerate(product(sources, self._items(said["subjects"]))):
                self.form = source.form
                name = key.value if i == 0 else f"{key.value} ({i + 1})"
                if name in found:
                    raise self._refuse(key, f"{name!r} is there twice")
                pairs = tuple(self._all_pairs(said.get("pairs")))
                types = [
                    (p, o)
                    for p, o in pairs
                    if p.constant == f"<{owl.RDF}type>" and isinstance(o, TermMap) and o.constant
                ]
                classes = tuple(
                    sorted({o.constant[1:-1] for _, o in types if isinstance(o, TermMap)})
                )
                rest = tuple(pair for pair in pairs if pair not in types)
                found[name] = TriplesMap(name, source, self._subject(subject), classes, rest)
        return found

    def _subject(self, node: Any) -> TermMap:
        if node.id == "mapping":
            said = self._members(node, _OBJECT, "a subject")
            terms = self._term(said.get("value", node), self._kind(said) or "IRI")
        else:
            terms = self._term(node, "IRI")
        if terms.kind == "Literal":
            raise self._refuse(node, "a subject is no literal")
        return terms

    def _sources(self, node: Any) -> list[LogicalSource]:
        # A list in a list is a source: [file~form, iterator].
        found = self._items(node)
        return [
            self._source(self.sources.get(x.value, x) if x.id == "scalar" else x, x) for x in found
        ]

    def _source(self, node: Any, at: Any) -> LogicalSource:
        if node.id == "mapping":
            said = self._members(node, _SOURCE, "a source")
            if "access" not in said:
                raise self._refuse(node, "a source needs access: its file")
            access, form = (
                self._text(said["access"]),
                self._text(said["form"]) if "form" in said else "csv",
            )
            iterator = self._text(said["iterator"]) if "iterator" in said else ""
        else:
            parts = [self._text(x) for x in self._items(node)]
            if not 0 < len(parts) <= 2 or (node.id == "scalar" and "~" not in parts[0]):
                raise self._refuse(
                    at,
                    f"{' '.join(parts)!r} is no source: [data.csv~csv] is, or a name among sources",
                )
            (access, _, form), iterator = (
                parts[0].rpartition("~"),
                parts[1] if len(parts) == 2 else "",
            )
        if form.lower() not in _FORMS:
            raise self._refuse(
                at, f"the reference formulation {form!r} is not supported; csv and jsonpath are"
            )
        self.form = _FORMS[form.lower()]
        steps = self._path(iterator, at) if iterator and self.form == "json" else ()
        return LogicalSource(access, self.form, steps, "", folder_of(self.path))

    def _all_pairs(self, node: Any) -> Iterator[tuple[TermMap, TermMap | MappingJoin]]:
        for pair in self._items(node) if node is not None else ():
            if pair.id == "mapping":
                said = self._members(pair, _PAIR, "a predicate-object pair")
                if len(said) != 2:
                    raise self._refuse(pair, "a pair needs predicates and objects")
                names, values = said["predicates"], self._items(said["objects"])
                more: list[Any] = []
            elif pair.id == "sequence" and len(pair.value) in (2, 3):
                names, values, more = pair.value[0], self._items(pair.value[1]), pair.value[2:]
            else:
                raise self._refuse(
                    pair, "a pair is [predicate, object], or has predicates and objects"
                )
            for name in self._items(names):
                predicate = self._term(name, "IRI", self._text(name) == "a")
                is_type = predicate.constant == f"<{owl.RDF}type>"
                yield from ((predicate, self._object(value, more, is_type)) for value in values)

    def _object(self, node: Any, more: Sequence[Any], is_type: bool) -> TermMap | MappingJoin:
        usual = "IRI" if is_type else "Literal"
        if more[1:] or (more and node.id != "scalar"):
            raise self._refuse(
                more[-1],
                "a value may have one datatype or language, a list or a mapping none",
            )
        if node.id == "sequence":
            value, *more = self._items(node)
            return self._object(value, more, is_type)
        if node.id == "scalar":
            tag = self._text(more[0]) if more else ""
            language = tag.removesuffix("~lang") if tag.endswith("~lang") else ""
            datatype = self._iri(more[0]) if tag and not language else ""
            return self._term(node, usual, datatype=datatype, language=language)
        said = self._members(node, _OBJECT, "an object")
        if "mapping" in said:
            name = self._text(said["mapping"])
            if name not in self.names:
                raise self._refuse(said["mapping"], f"there is no mapping {name!r}")
            conditions = (
                tuple(self._condition(x) for x in self._items(said["conditions"]))
                if "conditions" in said
                else ()
            )
            return MappingJoin(name, conditions, node.start_mark.line + 1)
        if "value" not in said or "conditions" in said:
            raise self._refuse(
                node, "an object needs a value, or a mapping; conditions are for mappings"
            )
        language = self._text(said["language"]) if "language" in said else ""
        datatype = self._iri(said["datatype"]) if "datatype" in said else ""
        return self._term(
            said["value"], self._kind(said) or usual, datatype=datatype, language=language
        )

    def _kind(self, said: Mapping[str, Any]) -> str:
        if "type" not in said:
            return ""
        kind = _KINDS.get(self._text(said["type"]))
        if kind is None:
            raise self._refuse(
                said["type"],
                f"the type {said['type'].value!r} is not supported; {', '.join(_KINDS)} are",
            )
        return kind

    def _condition(self, node: Any) -> tuple[Path_, str]:
        """Path of the child and reference of the parent in an equality condition."""
        if node.id == "scalar":
            match = _EQUAL.fullmatch(node.value)
            ends = list(match.groups()) if match else []
        else:
            said = self._members(node, _CONDITION, "a condition")
            is_equal = (
                "function" in said
                and self._text(said["function"]) == "equal"
                and "parameters" in said
            )
            rows = [self._parameter(x) for x in self._items(said["parameters"])] if is_equal else []
            ends = (
                [text for _, text in sorted(rows)]
                if sorted(name for name, _ in rows) == ["str1", "str2"]
                else []
            )
        references = [match[1] for end in ends if (match := _REFERENCE.fullmatch(end))]
        if len(references) != 2:
            raise self._refuse(
                node,
                "the condition of a join is equal, of str1: $(column here) and str2: $(column there)",
            )
        return self._path(references[0], node), references[1]

    def _parameter(self, node: Any) -> tuple[str, str]:
        """Name and value of a parameter: str1 belongs to the child, str2 to the parent."""
        name, text, *side = (
            [self._text(x) for x in node.value]
            if node.id == "sequence" and len(node.value) > 1
            else ("", "")
        )
        if not name or side not in ([], ["s" if name == "str1" else "o"]):
            raise self._refuse(
                node,
                "the parameters of equal are a list: [[str1, $(column here)], [str2, $(column there)]]",
            )
        return name, text

    # --- terms ------------------------------------------------------------------------------------

    def _term(
        self, node: Any, kind: str, is_type: bool = False, *, datatype: str = "", language: str = ""
    ) -> TermMap:
        text, line = self._text(node), node.start_mark.line + 1
        if is_type:
            return TermMap("IRI", constant=f"<{owl.RDF}type>", line=line)
        if text.endswith("~iri"):
            kind, text = "IRI", text.removesuffix("~iri")
        pieces = _REFERENCE.split(text)
        if wrong := next(
            (found for piece in pieces[::2] if (found := _NO_REFERENCE.search(piece))), None
        ):
            raise self._refuse(
                node,
                f"{text!r} is no reference at {wrong[0]!r}: $(name) is; a dollar sign alone is \\$",
            )
        pieces[::2] = [piece.replace("\\$", "$") for piece in pieces[::2]]
        if kind == "IRI" and pieces[0].startswith("<") and pieces[-1].endswith(">"):
            pieces[0] = pieces[0][1:]
            pieces[-1] = pieces[-1][:-1]
        elif kind == "IRI":
            pieces[0] = self._expand(pieces[0], node)
        if len(pieces) == 1:
            return self._constant(node, kind, pieces[0], datatype, language)
        parts = [
            self._path(re.sub(r"\\(.)", r"\1", x), node) if i % 2 else x
            for i, x in enumerate(pieces)
        ]
        return TermMap(
            kind,
            tuple(parts[:-1] if parts[-1] == "" else parts),
            "",
            datatype,
            language.lower(),
            True,
            line,
        )

    def _constant(self, node: Any, kind: str, text: str, datatype: str, language: str) -> TermMap:
        line = node.start_mark.line + 1
        if kind == "Literal":
            value = owl.Literal(
                text,
                datatype or (owl.RDF + "langString" if language else owl.XSD + "string"),
                language.lower(),
            )
            return TermMap("Literal", constant=literal_text(value), line=line)
        if kind != "IRI" or not is_resource(f"<{text}>"):
            raise self._refuse(
                node, f"{text!r} is no absolute IRI; is its prefix among the prefixes?"
            )
        return TermMap("IRI", constant=f"<{text}>", line=line)

    def _iri(self, node: Any) -> str:
        constant = self._term(node, "IRI").constant
        if not constant:
            raise self._refuse(node, "a datatype by a reference is not supported")
        return constant[1:-1]

    def _expand(self, text: str, node: Any) -> str:
        if not text:
            return ""
        prefix, colon, rest = text.partition(":")
        if colon and prefix in self.prefixes:
            return self.prefixes[prefix] + rest
        if not colon:
            return self.base + text
        if rest.startswith("//") or prefix.lower() in _SCHEMES:
            return text
        near = get_close_matches(prefix, self.prefixes, 1, 0.5)
        hint = (
            f"did you mean the prefix {near[0]!r}?"
            if near
            else f"declare the prefix {prefix!r}, or write <{text}> for an IRI."
        )
        raise self._refuse(
            node, f"{text!r} is no absolute IRI, for {prefix!r} is not among the prefixes: {hint}"
        )

    def _path(self, text: str, node: Any) -> Path_:
        try:
            return steps_of(text, self.form)
        except ValueError as error:
            raise self._refuse(node, str(error)) from None
