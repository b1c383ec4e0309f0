"""Parser of RML mappings in Turtle, in the old and the new vocabulary. Unsupported constructs are
refused by name.

Supported: logical sources in JSON (JSONPath with names, places and [*]), CSV and SQLite; subject,
    predicate and object maps by template, reference and constant; classes; term types; datatypes;
    language tags; joins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from shiq import model as owl
from shiq.errors import UsageError
from shiq.model.ntriples import literal_term as literal_text
from shiq.rdf.load import load_sources
from shiq.rml.model import (
    LogicalSource,
    MappingJoin,
    ReferencePath,
    TermMap,
    TriplesMap,
    mapping_folder,
    parse_reference,
)

_SPACES: Final = (
    "http://www.w3.org/ns/r2rml#",
    "http://semweb.mmlab.be/ns/rml#",
    "http://semweb.mmlab.be/ns/ql#",
    "http://w3id.org/rml/",
)
_D2RQ: Final = "http://www.wiwiss.fu-berlin.de/suhl/bizer/D2RQ/0.1#"
_NEW: Final = _SPACES[3]
#: What each kind of node may say.
_KNOWN: Final[Mapping[str, frozenset[str]]] = {
    "triples map": frozenset(
        ("logicalSource", "subjectMap", "subject", "predicateObjectMap", "label")
    ),
    "logical source": frozenset(
        ("source", "referenceFormulation", "iterator", "query", "sqlVersion")
    ),
    "source": frozenset(("path", "root", "jdbcDSN", "jdbcDriver")),
    "predicate-object map": frozenset(("predicate", "predicateMap", "object", "objectMap")),
    "term map": frozenset(
        ("template", "reference", "column", "constant", "termType", "datatype", "language", "class")
    ),
    "reference to a triples map": frozenset(("parentTriplesMap", "joinCondition")),
    "join condition": frozenset(("child", "parent")),
}
_FORMULATIONS: Final = {
    "JSONPath": "json",
    "CSV": "csv",
    "SQL2008Query": "sql",
    "SQL2008Table": "sql",
}
#: The words of a triples map that no other node has.
_TRIPLES_MAP: Final = _KNOWN["triples map"] - {"label"}
#: How the name of a mapping in YARRRML ends.
YAML: Final = (".yml", ".yaml")


def read_mapping(path: str | Path) -> dict[str, TriplesMap]:
    """Parse the triples maps of a mapping file, by name.

    Raises: InputError; UsageError for unsupported or incomplete constructs.
    """
    if Path(path).suffix.lower() in YAML:
        # Loaded where a mapping is YARRRML.
        from shiq.rml.yarrrml import read_yarrrml

        return read_yarrrml(str(path))
    loaded = load_sources([path], "m", None)
    if broken := next((x for x in loaded.leftovers if x.kind == "malformed"), None):
        raise UsageError(
            f"{path}, line {broken.line}: {broken.message}", "Mend the mapping; no data was read."
        )
    triples = loaded.triples
    graph: dict[str, dict[str, list[Any]]] = {}
    lines: dict[str, int] = {}
    for s, p, o, line in zip(triples.subject, triples.predicate, triples.object, triples.line):
        node = str(triples.terms[s])
        graph.setdefault(node, {}).setdefault(str(triples.terms[p]), []).append(triples.terms[o])
        lines.setdefault(node, line)
    reader = _RmlReader(graph, str(path), lines)
    names = [node for node, said in graph.items() if _is_triples_map(said)]
    if not names:
        raise UsageError(
            f"{path} has no triples map", "A mapping has rml:logicalSource and rr:subjectMap."
        )
    found = {name: reader.read_triples_map(name) for name in sorted(names)}
    reader.check_unvisited_nodes()
    return found


def _is_triples_map(said: Mapping[str, list[Any]]) -> bool:
    """Decide whether a node is a triples map: by its class, or by a property that only triples maps
    have.
    """
    kinds = (_local_name(str(value)) for value in said.get(owl.RDF + "type", ()))
    return "TriplesMap" in kinds or not _TRIPLES_MAP.isdisjoint(map(_local_name, said))


def _local_name(iri: str) -> str:
    """Local name of an RML term; other IRIs are unchanged."""
    for space in (*_SPACES, _D2RQ):
        if iri.startswith(space):
            return iri[len(space) :]
    return "label" if iri in (owl.RDFS + "label", owl.RDFS + "comment") else iri


class _RmlReader:
    """Parser of the nodes of an RML mapping.

    lines: line at which each node begins
    current_line: line of the current node, for messages
    """

    def __init__(
        self, graph: Mapping[str, Mapping[str, list[Any]]], path: str, lines: Mapping[str, int]
    ) -> None:
        self.graph, self.path, self.form, self.lines, self.current_line = (
            graph,
            path,
            "json",
            lines,
            0,
        )
        self.visited_nodes: set[str] = set()

    def _refusal(self, what: str) -> UsageError:
        """Make the error that ``what``, at the current line of the mapping, is not supported."""
        return UsageError(
            f"{self.path}, line {self.current_line}: {what}",
            "docs/ENRICHMENT.md lists what of RML is known.",
        )

    def _visit_node(self, node: Any, *kinds: str) -> dict[str, list[Any]]:
        """Return the properties of ``node`` by local name. Raises: UsageError for a property that
        nodes of these kinds do not have.
        """
        self.current_line = self.lines.get(str(node), self.current_line)
        self.visited_nodes.add(str(node))
        known = frozenset(name for kind in kinds for name in _KNOWN[kind])
        found: dict[str, list[Any]] = {}
        for iri, values in self.graph.get(str(node), {}).items():
            name = _local_name(iri)
            if iri == owl.RDF + "type" or (name == "label" and iri.startswith(owl.RDFS)):
                continue
            if name not in known:
                raise self._refusal(f"a {kinds[0]} with <{iri}> is not supported")
            found.setdefault(name, []).extend(values)
        return found

    def _single_value(self, said: Mapping[str, list[Any]], name: str, what: str) -> Any:
        """Return the only value of a property, or None. Raises: UsageError for several values."""
        values = said.get(name, [])
        if len(values) > 1:
            raise self._refusal(f"{what} has {len(values)} values for {name}")
        return values[0] if values else None

    def read_triples_map(self, name: str) -> TriplesMap:
        """Parse the triples map at the node ``name``. Raises: UsageError."""
        said = self._visit_node(name, "triples map")
        if "logicalSource" not in said:
            raise self._refusal(f"the triples map {name} has no rml:logicalSource")
        source = self._read_source(self._single_value(said, "logicalSource", name))
        self.form = source.form
        node = self._single_value(said, "subjectMap", name)
        constant = self._single_value(said, "subject", name)
        if (node is None) == (constant is None):
            raise self._refusal(f"{name} needs one subject map")
        subject = (
            self._constant_term(constant)
            if node is None
            else self._read_term(node, "IRI", self._is_new_vocabulary(name))
        )
        if subject.kind == "Literal":
            raise self._refusal(f"{name} makes literals of subjects")
        classes = [] if node is None else self._visit_node(node, "term map").get("class", [])
        pairs = tuple(
            pair
            for node in said.get("predicateObjectMap", [])
            for pair in self._read_predicate_objects(node, self._is_new_vocabulary(name))
        )
        return TriplesMap(name, source, subject, tuple(sorted(map(str, classes))), pairs)

    def check_unvisited_nodes(self) -> None:
        """Refuse nodes with RML properties that belong to no triples map. Raises: UsageError."""
        for node, said in self.graph.items():
            if node not in self.visited_nodes and (
                word := next((iri for iri in said if iri.startswith(_SPACES)), None)
            ):
                self.current_line = self.lines[node]
                raise self._refusal(f"no triples map leads to {node}, which has <{word}>")

    def _is_new_vocabulary(self, name: str) -> bool:
        """Decide whether a triples map uses the new RML vocabulary."""
        return any(iri.startswith(_NEW) for iri in self.graph[name])

    def _read_source(self, node: Any) -> LogicalSource:
        """Parse a logical source. Raises: UsageError."""
        said = self._visit_node(node, "logical source")
        source, folder = (
            self._single_value(said, "source", "a logical source"),
            mapping_folder(self.path),
        )
        given = str(self._single_value(said, "referenceFormulation", "a logical source") or "")
        form = _FORMULATIONS.get(_local_name(given))
        query = self._single_value(said, "query", "a logical source")
        if not isinstance(source, owl.Literal):
            inner = self._visit_node(source, "source")
            database, file = (
                self._single_value(inner, "jdbcDSN", "a source"),
                self._single_value(inner, "path", "a source"),
            )
            if (
                _local_name(str(self._single_value(inner, "root", "a source") or ""))
                == "CurrentWorkingDirectory"
            ):
                folder = Path.cwd()
            if database is not None:
                if not database.lexical.startswith("jdbc:sqlite:"):
                    raise self._refusal(
                        f"the database {database.lexical} is not supported; SQLite is"
                    )
                source, form = owl.Literal(database.lexical.removeprefix("jdbc:sqlite:")), "sql"
            elif file is not None:
                source = file
            else:
                raise self._refusal(f"the source {source} has no path")
        if form is None or (form == "sql" and query is None):
            raise self._refusal(
                f"the reference formulation <{given}> is not supported"
                if form is None
                else "a database needs a query"
            )
        iterator = self._single_value(said, "iterator", "a logical source")
        self.form = form
        steps = (
            self._read_reference(iterator.lexical)
            if iterator is not None and form == "json"
            else ()
        )
        return LogicalSource(
            source.lexical, form, steps, query.lexical if query is not None else "", folder
        )

    def _read_predicate_objects(
        self, node: Any, is_new: bool
    ) -> Iterator[tuple[TermMap, TermMap | MappingJoin]]:
        """Yield the (predicate, object) pairs of a predicate-object map. Raises: UsageError."""
        said = self._visit_node(node, "predicate-object map")
        predicates = [self._constant_term(value) for value in said.get("predicate", [])]
        predicates += [
            self._read_term(value, "IRI", is_new) for value in said.get("predicateMap", [])
        ]
        objects: list[TermMap | MappingJoin] = [
            self._constant_term(value) for value in said.get("object", [])
        ]
        objects += [self._read_object(value, is_new) for value in said.get("objectMap", [])]
        if not predicates or not objects:
            raise self._refusal("a predicate-object map needs a predicate and an object")
        for predicate in predicates:
            yield from ((predicate, value) for value in objects)

    def _read_object(self, node: Any, is_new: bool) -> TermMap | MappingJoin:
        """Parse an object map: a term map, or a join with another triples map. Raises: UsageError."""
        if not any(_local_name(iri) == "parentTriplesMap" for iri in self.graph.get(str(node), {})):
            return self._read_term(node, "", is_new)
        said = self._visit_node(node, "reference to a triples map")
        conditions = []
        for condition in said.get("joinCondition", []):
            ends = self._visit_node(condition, "join condition")
            child, parent = (
                self._single_value(ends, name, "a join condition") for name in ("child", "parent")
            )
            if child is None or parent is None:
                raise self._refusal("a join condition needs a child and a parent")
            conditions.append((self._read_reference(child.lexical), parent.lexical))
        parent = str(self._single_value(said, "parentTriplesMap", "an object map"))
        return MappingJoin(parent, tuple(conditions), self.lines.get(str(node), 0))

    def _constant_term(self, value: Any) -> TermMap:
        """Make the term map of a constant. Raises: UsageError for a blank node."""
        if isinstance(value, owl.Literal):
            return TermMap("Literal", constant=literal_text(value))
        if str(value).startswith("_:"):
            raise self._refusal("a blank node as constant is not supported")
        return TermMap("IRI", constant=f"<{value}>")

    def _read_term(self, node: Any, usual: str, is_new: bool) -> TermMap:
        """Parse a term map; ``usual`` is its term type unless it states one ("" for any). Raises:
        UsageError.
        """
        said = self._visit_node(node, "term map")
        ways = [name for name in ("template", "reference", "column", "constant") if name in said]
        if len(ways) != 1:
            raise self._refusal(
                f"a term map needs one of template, reference and constant, not {ways or 'none'}"
            )
        value = self._single_value(said, ways[0], "a term map")
        if ways[0] == "constant":
            return self._constant_term(value)
        datatype, language = (
            self._single_value(said, "datatype", "a term map"),
            self._single_value(said, "language", "a term map"),
        )
        is_literal = (
            datatype is not None or language is not None or (ways[0] != "template" and not usual)
        )
        kind = _local_name(
            str(
                self._single_value(said, "termType", "a term map")
                or ("Literal" if is_literal else "IRI")
            )
        )
        if kind not in ("IRI", "BlankNode", "Literal"):
            raise self._refusal(f"the term type {kind} is not supported")
        parts = (
            self._split_template(value.lexical)
            if ways[0] == "template"
            else ("", self._read_reference(value.lexical))
        )
        tag = language.lexical.lower() if language else ""
        return TermMap(kind, parts, "", str(datatype or ""), tag, is_new, self.current_line)

    def _split_template(self, text: str) -> tuple[str | ReferencePath, ...]:
        """Split the template "a{x}b" into text, reference, text. A backslash escapes a literal
        brace.
        """
        found: list[str | ReferencePath] = []
        for i, piece in enumerate(re.split(r"(?<!\\)\{((?:\\.|[^{}\\])*)\}", text)):
            plain = re.sub(r"\\([{}\\])", r"\1", piece)
            found.append(self._read_reference(plain) if i % 2 else plain)
        return tuple(found[:-1] if found[-1] == "" else found)

    def _read_reference(self, text: str) -> ReferencePath:
        """Parse a reference into a path, in the form of the current source. Raises: UsageError."""
        try:
            return parse_reference(text, self.form)
        except ValueError as error:
            raise self._refusal(str(error)) from None
