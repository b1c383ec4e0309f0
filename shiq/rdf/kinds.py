"""Names by their kind (classes, datatypes, object, data and annotation properties): as declared,
as older vocabularies say it, then as their use shows.

Source: OWL 2 Mapping to RDF Graphs, section 3.1 (declarations, OWL 1 compatibility); Structural
Specification, section 5.8.1 (a name may be an individual and a class or property at once, but
not two kinds of property, nor class and datatype).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING

from shiq.model import RDFS, Signature
from shiq.rdf.graph import VocabularyGraph
from shiq.rdf.vocabulary import (
    ANNOTATIONS,
    BUILT_IN_CLASSES,
    BUILT_IN_DATA,
    BUILT_IN_OBJECT,
    CHARACTERISTICS,
    DATATYPES,
    DECLARATIONS,
    KNOWN,
    TYPE,
    is_member_property,
    is_misspelt,
    is_reserved,
    is_unknown_datatype,
)

if TYPE_CHECKING:
    from shiq.vocabularies import VocabularyChoice

OBJECT, DATA, ANNOTATION = "object", "data", "annotation"


@dataclass
class Kinds:
    """Names by kind, built-in ones left out. A property in ``punned`` is object and data
    property both, as declared or as its axioms show (THEORY, "Terms that may be object or
    data"), and in the set of neither. One that is an annotation property beside an object or
    data property is in both sets, and read as the latter. ``components``: properties of unknown
    kind that axioms force to be of one kind, for each of them. ``two``: properties of which
    axioms were read in both readings before, so that only a declaration settles their kind.
    ``declared``: names that have a declaration.
    """

    classes: set[str] = field(default_factory=set)
    datatypes: set[str] = field(default_factory=set)
    object_properties: set[str] = field(default_factory=set)
    data_properties: set[str] = field(default_factory=set)
    annotation_properties: set[str] = field(default_factory=set)
    punned: set[str] = field(default_factory=set)
    components: dict[str, tuple[str, ...]] = field(default_factory=dict)
    two: frozenset[str] = frozenset()
    declared: frozenset[str] = frozenset()

    def reopen(self) -> None:
        """Counts those of ``two`` that have no kind as object and as data properties."""
        left = [
            iri
            for iri in self.two
            if iri not in self.object_properties and iri not in self.data_properties
        ]
        self.object_properties.update(left)
        self.data_properties.update(left)

    def open(self, iri: str) -> None:
        """Counts the property as object and data property both."""
        self.punned.add(iri)
        self.object_properties.discard(iri)
        self.data_properties.discard(iri)

    def logical_kinds(self, iri: str) -> set[str]:
        """`OBJECT`, `DATA`, or both."""
        if iri in self.punned:
            return {OBJECT, DATA}
        return kinds_of(self, iri) - {ANNOTATION}

    def add_kind(self, iri: str, kind: str) -> None:
        """Counts the property as one of ``kind`` too."""
        if self.logical_kinds(iri) - {kind}:
            self.open(iri)
        else:
            (self.object_properties if kind == OBJECT else self.data_properties).add(iri)

    def component_of(self, iri: str) -> str:
        """The first of the properties that are of the same kind as ``iri``, whatever kind that is."""
        return self.components.get(iri, (iri,))[0]

    def members_of(self, component: str) -> tuple[str, ...]:
        """The properties of the component that begins with ``component``."""
        return self.components.get(component, (component,))

    def is_class(self, iri: str) -> bool:
        return iri in self.classes or iri in BUILT_IN_CLASSES

    def is_datatype(self, iri: str) -> bool:
        return iri in self.datatypes or iri in DATATYPES or is_unknown_datatype(iri)

    def property_kind(self, iri: str) -> str:
        """`OBJECT`, `DATA`, `ANNOTATION`, or "" where nothing tells, or where it is object and
        data property both.
        """
        if iri in self.object_properties or iri in BUILT_IN_OBJECT:
            return OBJECT
        if iri in self.data_properties or iri in BUILT_IN_DATA:
            return DATA
        if iri not in self.punned and (iri in self.annotation_properties or iri in ANNOTATIONS):
            return ANNOTATION
        return ""

    def is_annotation(self, iri: str) -> bool:
        return iri in self.annotation_properties or iri in ANNOTATIONS

    def is_entity(self, iri: str) -> bool:
        """Whether ``iri`` is a class, a property or a datatype."""
        return (
            iri in self.classes
            or iri in self.object_properties
            or iri in self.data_properties
            or iri in self.annotation_properties
            or iri in self.datatypes
            or iri in self.punned
        )

    def signature(self) -> Signature:
        return Signature(
            frozenset(self.classes),
            frozenset(self.object_properties | self.punned),
            frozenset(self.data_properties | self.punned),
            frozenset(self.annotation_properties),
            frozenset(self.datatypes),
            self.declared,
        )

    def of_data(self, tbox: Signature) -> Signature:
        """The vocabulary that data may use, given that of the TBox: with annotation properties
        of its own, and with the TBox's annotation properties as what else the data says that
        they are.
        """
        notes = tbox.annotation_properties
        unknown = (
            (self.object_properties | self.data_properties)
            - tbox.object_properties
            - tbox.data_properties
        )
        return replace(
            tbox,
            object_properties=tbox.object_properties | (self.object_properties & notes),
            data_properties=tbox.data_properties | (self.data_properties & notes),
            annotation_properties=notes | (self.annotation_properties - unknown),
        )


def properties(kinds: Kinds) -> tuple[tuple[str, set[str]], ...]:
    return (
        (OBJECT, kinds.object_properties),
        (DATA, kinds.data_properties),
        (ANNOTATION, kinds.annotation_properties),
    )


def kinds_of(kinds: Kinds, iri: str) -> set[str]:
    return {kind for kind, names in properties(kinds) if iri in names}


# --- what use shows ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """Declarations that cannot be taken, or are to be known: the first triple's index (or, of
    what did not come as triples, its source and line), how many triples, and the name.
    """

    index: int
    kind: str
    message: str
    hint: str
    count: int
    term: str = ""
    place: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Use:
    """A use of ``iri`` as a property of ``kind`` (`OBJECT`, `DATA`, `ANNOTATION`), or its
    declaration, in no triples: where first, and how often.
    """

    iri: str
    kind: str
    source: str
    line: int
    count: int = 1


def find_kinds(
    graph: VocabularyGraph,
    base: Signature,
    fixed: Signature | None = None,
    uses: Sequence[Use] = (),
    vocabulary: VocabularyChoice | None = None,
) -> tuple[Kinds, list[Problem]]:
    """The kinds of all names: those of ``base`` first, then the graph's declarations, then what
    use shows. Declarations are accounted for; illegal ones become problems. What is of open kind
    in ``base`` has no kind yet. ``fixed``: the vocabulary of a TBox that was read before, if
    there is one. ``uses``: of names, in inputs that did not come as triples. ``vocabulary``:
    which tables count, None for all.
    """
    declared: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    characterised: set[str] = set()
    for i, (subject, predicate, value) in enumerate(
        zip(graph.subjects, graph.predicates, graph.objects)
    ):
        if (
            predicate == TYPE
            and not subject.startswith("_:")
            and graph.bucket[i] in ("", "leftover:unknown-word")
        ):
            kind = _declared_kind(value) if isinstance(value, str) else None
            if kind is not None:
                declared[subject][kind].append(i)
            elif value in CHARACTERISTICS:
                characterised.add(subject)
    kinds = Kinds(
        set(base.classes),
        set(base.datatypes),
        set(base.object_properties - base.open_properties),
        set(base.data_properties - base.open_properties),
        set(base.annotation_properties),
        two=base.open_properties,
        declared=(base.declared or base.named).union(
            iri for iri in declared if not is_reserved(iri)
        ),
    )
    for iri in characterised:
        if DATA not in declared[iri] and iri not in kinds.data_properties:
            declared[iri].setdefault(OBJECT, [])
    shown: dict[str, dict[str, Use]] = defaultdict(dict)
    for use in uses:
        shown[use.iri].setdefault(use.kind, use)
    declare = _Declaring(graph, kinds, fixed)
    problems = [
        problem
        for iri, by_kind in declared.items()
        for problem in declare(iri, by_kind, shown.pop(iri, {}))
    ]
    problems += [problem for iri, by_use in shown.items() for problem in declare(iri, {}, by_use)]
    if len(graph):
        from shiq.rdf.kinds_by_use import infer, take_known, used_as_classes

        kinds.classes.update(
            iri
            for iri in used_as_classes(graph)
            if not is_reserved(iri) and iri not in kinds.datatypes
        )
        notes = {
            iri
            for iri in (*kinds.annotation_properties, *ANNOTATIONS)
            if not kinds.logical_kinds(iri)
        }
        infer(graph, kinds, mixed=fixed is None)
        if take_known(graph, kinds, vocabulary):
            infer(graph, kinds, mixed=fixed is None)
        for iri in sorted(iri for iri in notes if kinds.logical_kinds(iri)):
            what = " and ".join(f"{kind} property" for kind in sorted(kinds.logical_kinds(iri)))
            message = f"<{iri}> is an annotation property, and axioms use it as {what}: it is read as the latter"
            mentions = (
                i
                for i, row in enumerate(zip(graph.subjects, graph.predicates, graph.objects))
                if iri in row
            )
            first = next(chain(declared.get(iri, {}).get(ANNOTATION, ()), mentions), -1)
            place = (
                None
                if first >= 0
                else next(((use.source, use.line) for use in uses if use.iri == iri), ("", 0))
            )
            problems.append(
                Problem(first, "annotation-punning", message, "use two names", 1, iri, place)
            )
    return kinds, problems


def _declared_kind(word: str) -> str | None:
    if word in DECLARATIONS or not is_misspelt(word):
        return DECLARATIONS.get(word)
    # Loaded where a word is unknown.
    from shiq.rdf.unknown_words import declared_kind

    return declared_kind(word) or None


@dataclass(frozen=True)
class _Declaring:
    """Takes what is said of a name into ``kinds``; ``fixed``: as for `find_kinds`."""

    graph: VocabularyGraph
    kinds: Kinds
    fixed: Signature | None

    def __call__(
        self, iri: str, by_kind: Mapping[str, list[int]], uses: Mapping[str, Use]
    ) -> Iterator[Problem]:
        graph, kinds = self.graph, self.kinds
        triples = [i for indexes in by_kind.values() for i in indexes]
        if is_reserved(iri):
            bad = [
                i
                for kind, indexes in by_kind.items()
                if not _is_built_in(iri, kind)
                for i in indexes
            ]
            # A declaration has no effect, but which axioms there are on an annotation property
            # depends on it.
            problem = "without-effect"
            if iri in ANNOTATIONS and _is_in_axioms(graph, iri):
                problem = "punning" if self.fixed is not None else "annotation-punning"
                for kind in by_kind if self.fixed is None else ():
                    if kind in (OBJECT, DATA):
                        kinds.add_kind(iri, kind)
            count = graph.assign(bad, f"leftover:{problem}")
            graph.assign(triples, "declaration")
            if bad:
                message = f"the built-in term <{iri}> is declared as something else"
                yield Problem(bad[0], problem, message, "use a name of your own", count, iri)
            return
        classes, datatypes = "class" in by_kind, "datatype" in by_kind
        rdfs_only = all(graph.objects[i] == RDFS + "Class" for i in by_kind.get("class", ()))
        if datatypes and classes and rdfs_only:
            classes = False
        two = []
        before = kinds_of(kinds, iri)
        if iri in kinds.two and {OBJECT, DATA} <= uses.keys():
            before = {OBJECT, DATA}  # said of it outright, not left open
        held = {kind for kind in (OBJECT, DATA, ANNOTATION) if kind in by_kind} | before
        if held == {ANNOTATION}:
            held |= uses.keys()
        elif held and ANNOTATION in uses:
            held.add(ANNOTATION)
        logical = held - {ANNOTATION}
        known = _held_in(self.fixed, iri) if self.fixed is not None else {OBJECT, DATA}
        if len(logical) > 1:
            two.append(" and ".join(f"{kind} property" for kind in sorted(held)))
            if not before or self.fixed is None:
                kinds.open(iri)
        else:
            for kind, names in properties(kinds):
                if kind in held:
                    names.add(iri)
        if (classes or iri in kinds.classes) and (datatypes or iri in kinds.datatypes):
            two.append("class and datatype")
        if classes:
            kinds.classes.add(iri)
        if datatypes:
            kinds.datatypes.add(iri)
        # Where the axioms are read with the declarations, each counts for both properties.
        problem = (
            "punning" if not logical <= known or len(two) != (len(logical) > 1) else "two-readings"
        )
        if two and triples:
            count = graph.assign(triples, f"leftover:{problem}")
            yield Problem(
                triples[0],
                problem,
                f"<{iri}> is declared as {', '.join(two)}",
                "use two names",
                count,
                iri,
            )
        elif len(logical) > 1 and uses and (self.fixed is None or problem == "punning"):
            use = next(iter(uses.values()))
            place = (use.source, use.line)
            yield Problem(
                -1,
                problem,
                f"<{iri}> is used as {', '.join(two)}",
                "use two names",
                use.count,
                iri,
                place,
            )
        if len(logical) == 1 and ANNOTATION in held:
            yield from self._note(iri, next(iter(logical)), by_kind, uses)
        graph.assign(triples, "declaration")

    def _note(
        self, iri: str, kind: str, by_kind: Mapping[str, list[int]], uses: Mapping[str, Use]
    ) -> Iterator[Problem]:
        """Problems of annotation properties that are object or data properties too: read as the
        latter, so that no axiom is lost. Where a TBox knew it as an annotation property alone,
        axioms and assertions may have been passed over.
        """
        known = _held_in(self.fixed or Signature(), iri)
        if len(known) > 1:
            return
        what = f"{'an' if kind == OBJECT else 'a'} {kind} property"
        if ANNOTATION in known:
            found, order = "punning", (kind, ANNOTATION)
            message = (
                f"<{iri}> is {what} here, but an annotation property of the TBox: "
                "what was said with it before was passed over"
            )
            hint = f"declare it as {what} in the TBox"
        else:
            found, order = "annotation-punning", (ANNOTATION, kind)
            message, hint = (
                f"<{iri}> is an annotation property and {what}: it is read as the latter",
                "use two names",
            )
        for said in order:
            if indexes := by_kind.get(said):
                count = self.graph.assign(indexes, f"leftover:{found}")
                yield Problem(indexes[0], found, message, hint, max(count, 1), iri)
                return
            if use := uses.get(said):
                yield Problem(-1, found, message, hint, use.count, iri, (use.source, use.line))
                return


def _held_in(known: Signature, iri: str) -> set[str]:
    pairs = (
        (OBJECT, known.object_properties),
        (DATA, known.data_properties),
        (ANNOTATION, known.annotation_properties),
    )
    return {kind for kind, names in pairs if iri in names}


def _is_in_axioms(graph: VocabularyGraph, iri: str) -> bool:
    """Whether the graph says more of the property than declarations, and what lies below it."""
    return any(
        (subject == iri and not (predicate == TYPE and value in DECLARATIONS))
        or (value == iri and predicate != RDFS + "subPropertyOf")
        for subject, predicate, value in zip(graph.subjects, graph.predicates, graph.objects)
    )


def _is_built_in(iri: str, kind: str) -> bool:
    """Whether declaring the reserved ``iri`` so changes nothing: it is that already, or no
    entity of an ontology at all.
    """
    if (iri in KNOWN or is_member_property(iri)) and not (
        iri in BUILT_IN_CLASSES or iri in DATATYPES or _is_property(iri)
    ):
        return True
    match kind:
        case "class":
            return iri in BUILT_IN_CLASSES
        case "datatype":
            return iri in DATATYPES
        case "object":
            return iri in BUILT_IN_OBJECT
        case "data":
            return iri in BUILT_IN_DATA
        case "annotation":
            return iri in ANNOTATIONS
    return _is_property(iri)


def _is_property(iri: str) -> bool:
    return iri in BUILT_IN_OBJECT or iri in BUILT_IN_DATA or iri in ANNOTATIONS
