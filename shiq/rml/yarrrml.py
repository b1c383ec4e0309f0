"""Parser of YARRRML, RML mappings in YAML. Unsupported constructs are refused by name and line.

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
from shiq.inputs.sources import local_path_of as file_of
from shiq.model.ntriples import literal_term as literal_text
from shiq.rml.model import (
    LogicalSource,
    MappingJoin,
    ReferencePath,
    TermMap,
    TriplesMap,
    is_resource,
    mapping_folder,
    parse_reference,
)

#: Long and short names of what each kind of node may say.


def _names_by_abbreviation(**names: str) -> dict[str, str]:
    """Map each abbreviation of YARRRML to the full name, given the abbreviations of each full name."""
    return {name: long for long, of_it in names.items() for name in of_it.split()}


_TOP: Final = _names_by_abbreviation(
    prefixes="prefixes",
    base="base",
    sources="sources",
    mappings="mappings mapping m",
    authors="authors",
)
_MAPPING: Final = _names_by_abbreviation(
    subjects="subjects subject s",
    sources="sources source",
    pairs="predicateobjects predicateobject po",
)
_SOURCE: Final = _names_by_abbreviation(
    access="access", form="referenceFormulation", iterator="iterator", type="type"
)
_PAIR: Final = _names_by_abbreviation(
    predicates="predicates predicate p", objects="objects object o"
)
_OBJECT: Final = _names_by_abbreviation(
    value="value v",
    datatype="datatype",
    language="language",
    type="type",
    mapping="mapping m",
    conditions="condition conditions",
)
_CONDITION: Final = _names_by_abbreviation(function="function f", parameters="parameters pms")
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
    """Parse the triples maps of a YARRRML file, by name.

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
    return _YarrrmlReader(path, root).triples_maps()


class _YarrrmlReader:
    """Parser of a YARRRML document, over the nodes of the YAML parser."""

    def __init__(self, path: str, root: Any) -> None:
        self.path, self.form = path, "csv"
        self.top = self._known_members(root, _TOP, "a mapping")
        self.prefixes: dict[str, str] = _PREFIXES | {
            key.value: self._scalar_text(value)
            for key, value in self._named_members(self.top.get("prefixes"), "prefixes")
        }
        self.base = self._scalar_text(self.top["base"]) if "base" in self.top else ""
        self.sources = {
            key.value: value
            for key, value in self._named_members(self.top.get("sources"), "sources")
        }

    def _refusal(self, node: Any, what: str) -> UsageError:
        """Make the error that a part of the mapping is not supported, with its line."""
        line = f", line {node.start_mark.line + 1}" if node is not None else ""
        return UsageError(
            f"{self.path}{line}: {what}",
            "docs/INPUTS.md lists what of YARRRML is known; no data was read.",
        )

    # --- nodes ------------------------------------------------------------------------------------

    def _scalar_text(self, node: Any) -> str:
        """Return the text of a scalar node. Raises: UsageError for other nodes."""
        if node is None or node.id != "scalar":
            raise self._refusal(node, "a text is needed here")
        return str(node.value)

    def _list_items(self, node: Any) -> list[Any]:
        """Return the members of a list; a node that is no list counts as a list of one."""
        if node.id == "sequence" and not node.value:
            raise self._refusal(node, "a list with nothing in it")
        return list(node.value) if node.id == "sequence" else [node]

    def _named_members(self, node: Any, what: str) -> Sequence[tuple[Any, Any]]:
        """Return the keys and values of a YAML mapping node. Raises: UsageError."""
        if node is None:
            return ()
        if node.id != "mapping":
            raise self._refusal(node, f"{what} needs names and values")
        names = [self._scalar_text(key) for key, _ in node.value]
        for i, (key, _) in enumerate(node.value):
            if key.value in names[:i]:
                raise self._refusal(key, f"{key.value!r} is there twice")
        return [(key, value) for key, value in node.value]

    def _known_members(self, node: Any, known: Mapping[str, str], what: str) -> dict[str, Any]:
        """Return the members of a YAML mapping node by full names. Raises: UsageError for unknown
        ones.
        """
        found: dict[str, Any] = {}
        for key, value in self._named_members(node, what) if node is not None else ():
            name = known.get(self._scalar_text(key))
            if name is None:
                raise self._refusal(
                    key, f"{key.value!r} is not known in {what}; {', '.join(known)} are"
                )
            if name in found:
                raise self._refusal(key, f"{key.value!r} is there twice")
            found[name] = value
        return found

    # --- triples maps -----------------------------------------------------------------------------

    def triples_maps(self) -> dict[str, TriplesMap]:
        """Parse all triples maps, by name."""
        found: dict[str, TriplesMap] = {}
        mappings = self._named_members(self.top.get("mappings"), "mappings")
        if not mappings:
            raise self._refusal(None, "there are no mappings in it")
        self.names = {key.value for key, _ in mappings}
        for key, node in mappings:
            said = self._known_members(node, _MAPPING, "a mapping")
            for part in ("sources", "subjects"):
                if part not in said:
                    raise self._refusal(key, f"{key.value!r} has no {part}")
            sources = self._read_sources(said["sources"])
            for i, (source, subject) in enumerate(
                product(sources, self._list_items(said["subjects"]))
            ):
                self.form = source.form
                name = key.value if i == 0 else f"{key.value} ({i + 1})"
                if name in found:
                    raise self._refusal(key, f"{name!r} is there twice")
                pairs = tuple(self._predicate_object_pairs(said.get("pairs")))
                types = [
                    (p, o)
                    for p, o in pairs
                    if p.constant == f"<{owl.RDF}type>" and isinstance(o, TermMap) and o.constant
                ]
                classes = tuple(
                    sorted({o.constant[1:-1] for _, o in types if isinstance(o, TermMap)})
                )
                rest = tuple(pair for pair in pairs if pair not in types)
                found[name] = TriplesMap(name, source, self._read_subject(subject), classes, rest)
        return found

    def _read_subject(self, node: Any) -> TermMap:
        """Read the subject of a triples map."""
        if node.id == "mapping":
            said = self._known_members(node, _OBJECT, "a subject")
            terms = self._read_term(said.get("value", node), self._term_kind(said) or "IRI")
        else:
            terms = self._read_term(node, "IRI")
        if terms.kind == "Literal":
            raise self._refusal(node, "a subject is no literal")
        return terms

    def _read_sources(self, node: Any) -> list[LogicalSource]:
        """Read the sources of a triples map."""
        # A list in a list is a source: [file~form, iterator].
        found = self._list_items(node)
        return [
            self._read_source(self.sources.get(x.value, x) if x.id == "scalar" else x, x)
            for x in found
        ]

    def _read_source(self, node: Any, at: Any) -> LogicalSource:
        """Read one source: its file and form."""
        if node.id == "mapping":
            said = self._known_members(node, _SOURCE, "a source")
            if "access" not in said:
                raise self._refusal(node, "a source needs access: its file")
            access, form = (
                self._scalar_text(said["access"]),
                self._scalar_text(said["form"]) if "form" in said else "csv",
            )
            iterator = self._scalar_text(said["iterator"]) if "iterator" in said else ""
        else:
            parts = [self._scalar_text(x) for x in self._list_items(node)]
            if not 0 < len(parts) <= 2 or (node.id == "scalar" and "~" not in parts[0]):
                raise self._refusal(
                    at,
                    f"{' '.join(parts)!r} is no source: [data.csv~csv] is, or a name among sources",
                )
            (access, _, form), iterator = (
                parts[0].rpartition("~"),
                parts[1] if len(parts) == 2 else "",
            )
        if form.lower() not in _FORMS:
            raise self._refusal(
                at, f"the reference formulation {form!r} is not supported; csv and jsonpath are"
            )
        self.form = _FORMS[form.lower()]
        steps = self._read_reference(iterator, at) if iterator and self.form == "json" else ()
        return LogicalSource(access, self.form, steps, "", mapping_folder(self.path))

    def _predicate_object_pairs(self, node: Any) -> Iterator[tuple[TermMap, TermMap | MappingJoin]]:
        """Parse the predicates and objects of a triples map, as pairs."""
        for pair in self._list_items(node) if node is not None else ():
            if pair.id == "mapping":
                said = self._known_members(pair, _PAIR, "a predicate-object pair")
                if len(said) != 2:
                    raise self._refusal(pair, "a pair needs predicates and objects")
                names, values = said["predicates"], self._list_items(said["objects"])
                more: list[Any] = []
            elif pair.id == "sequence" and len(pair.value) in (2, 3):
                names, values, more = pair.value[0], self._list_items(pair.value[1]), pair.value[2:]
            else:
                raise self._refusal(
                    pair, "a pair is [predicate, object], or has predicates and objects"
                )
            for name in self._list_items(names):
                predicate = self._read_term(name, "IRI", self._scalar_text(name) == "a")
                is_type = predicate.constant == f"<{owl.RDF}type>"
                yield from (
                    (predicate, self._read_object(value, more, is_type)) for value in values
                )

    def _read_object(self, node: Any, more: Sequence[Any], is_type: bool) -> TermMap | MappingJoin:
        """Read an object: a term or a join."""
        usual = "IRI" if is_type else "Literal"
        if more[1:] or (more and node.id != "scalar"):
            raise self._refusal(
                more[-1],
                "a value may have one datatype or language, a list or a mapping none",
            )
        if node.id == "sequence":
            value, *more = self._list_items(node)
            return self._read_object(value, more, is_type)
        if node.id == "scalar":
            tag = self._scalar_text(more[0]) if more else ""
            language = tag.removesuffix("~lang") if tag.endswith("~lang") else ""
            datatype = self._constant_iri(more[0]) if tag and not language else ""
            return self._read_term(node, usual, datatype=datatype, language=language)
        said = self._known_members(node, _OBJECT, "an object")
        if "mapping" in said:
            name = self._scalar_text(said["mapping"])
            if name not in self.names:
                raise self._refusal(said["mapping"], f"there is no mapping {name!r}")
            conditions = (
                tuple(self._read_condition(x) for x in self._list_items(said["conditions"]))
                if "conditions" in said
                else ()
            )
            return MappingJoin(name, conditions, node.start_mark.line + 1)
        if "value" not in said or "conditions" in said:
            raise self._refusal(
                node, "an object needs a value, or a mapping; conditions are for mappings"
            )
        language = self._scalar_text(said["language"]) if "language" in said else ""
        datatype = self._constant_iri(said["datatype"]) if "datatype" in said else ""
        return self._read_term(
            said["value"], self._term_kind(said) or usual, datatype=datatype, language=language
        )

    def _term_kind(self, said: Mapping[str, Any]) -> str:
        """Return the kind of term (IRI, literal) that a node states; "" if none."""
        if "type" not in said:
            return ""
        kind = _KINDS.get(self._scalar_text(said["type"]))
        if kind is None:
            raise self._refusal(
                said["type"],
                f"the type {said['type'].value!r} is not supported; {', '.join(_KINDS)} are",
            )
        return kind

    def _read_condition(self, node: Any) -> tuple[ReferencePath, str]:
        """Parse the equality condition of a join: path in the child, and reference in the parent."""
        if node.id == "scalar":
            match = _EQUAL.fullmatch(node.value)
            ends = list(match.groups()) if match else []
        else:
            said = self._known_members(node, _CONDITION, "a condition")
            is_equal = (
                "function" in said
                and self._scalar_text(said["function"]) == "equal"
                and "parameters" in said
            )
            rows = (
                [self._read_parameter(x) for x in self._list_items(said["parameters"])]
                if is_equal
                else []
            )
            ends = (
                [text for _, text in sorted(rows)]
                if sorted(name for name, _ in rows) == ["str1", "str2"]
                else []
            )
        references = [match[1] for end in ends if (match := _REFERENCE.fullmatch(end))]
        if len(references) != 2:
            raise self._refusal(
                node,
                "the condition of a join is equal, of str1: $(column here) and str2: $(column there)",
            )
        return self._read_reference(references[0], node), references[1]

    def _read_parameter(self, node: Any) -> tuple[str, str]:
        """Parse a parameter of a join condition, as (name, value): str1 is of the child, str2 of
        the parent.
        """
        name, text, *side = (
            [self._scalar_text(x) for x in node.value]
            if node.id == "sequence" and len(node.value) > 1
            else ("", "")
        )
        if not name or side not in ([], ["s" if name == "str1" else "o"]):
            raise self._refusal(
                node,
                "the parameters of equal are a list: [[str1, $(column here)], [str2, $(column there)]]",
            )
        return name, text

    # --- terms ------------------------------------------------------------------------------------

    def _read_term(
        self, node: Any, kind: str, is_type: bool = False, *, datatype: str = "", language: str = ""
    ) -> TermMap:
        """Read a term: a constant, a reference or a template."""
        text, line = self._scalar_text(node), node.start_mark.line + 1
        if is_type:
            return TermMap("IRI", constant=f"<{owl.RDF}type>", line=line)
        if text.endswith("~iri"):
            kind, text = "IRI", text.removesuffix("~iri")
        pieces = _REFERENCE.split(text)
        if wrong := next(
            (found for piece in pieces[::2] if (found := _NO_REFERENCE.search(piece))), None
        ):
            raise self._refusal(
                node,
                f"{text!r} is no reference at {wrong[0]!r}: $(name) is; a dollar sign alone is \\$",
            )
        pieces[::2] = [piece.replace("\\$", "$") for piece in pieces[::2]]
        if kind == "IRI" and pieces[0].startswith("<") and pieces[-1].endswith(">"):
            pieces[0] = pieces[0][1:]
            pieces[-1] = pieces[-1][:-1]
        elif kind == "IRI":
            pieces[0] = self._expand_prefix(pieces[0], node)
        if len(pieces) == 1:
            return self._constant_term(node, kind, pieces[0], datatype, language)
        parts = [
            self._read_reference(re.sub(r"\\(.)", r"\1", x), node) if i % 2 else x
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

    def _constant_term(
        self, node: Any, kind: str, text: str, datatype: str, language: str
    ) -> TermMap:
        """Make a constant term."""
        line = node.start_mark.line + 1
        if kind == "Literal":
            value = owl.Literal(
                text,
                datatype or (owl.RDF + "langString" if language else owl.XSD + "string"),
                language.lower(),
            )
            return TermMap("Literal", constant=literal_text(value), line=line)
        if kind != "IRI" or not is_resource(f"<{text}>"):
            raise self._refusal(
                node, f"{text!r} is no absolute IRI; is its prefix among the prefixes?"
            )
        return TermMap("IRI", constant=f"<{text}>", line=line)

    def _constant_iri(self, node: Any) -> str:
        """Read an IRI that must be constant. Raises: UsageError."""
        constant = self._read_term(node, "IRI").constant
        if not constant:
            raise self._refusal(node, "a datatype by a reference is not supported")
        return constant[1:-1]

    def _expand_prefix(self, text: str, node: Any) -> str:
        """Expand a prefixed or relative name to an IRI."""
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
        raise self._refusal(
            node, f"{text!r} is no absolute IRI, for {prefix!r} is not among the prefixes: {hint}"
        )

    def _read_reference(self, text: str, node: Any) -> ReferencePath:
        """Parse a reference into a path. Raises: UsageError."""
        try:
            return parse_reference(text, self.form)
        except ValueError as error:
            raise self._refusal(node, str(error)) from None
