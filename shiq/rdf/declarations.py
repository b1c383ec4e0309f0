"""Determine the kind (class, datatype, object, data or annotation property) of every name: from
declarations, else from use.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from shiq.model import RDFS, Signature
from shiq.model.walk import is_reserved
from shiq.rdf.graph import VocabularyGraph
from shiq.rdf.name_kinds import (
    ANNOTATION,
    DATA,
    OBJECT,
    NameKinds,
    NameProblem,
    PropertyUse,
    assign_known_kinds,
    infer_kinds,
    kinds_of,
    used_as_classes,
)
from shiq.rdf.namespaces import declared_kind
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
)

if TYPE_CHECKING:
    from shiq.vocabularies import VocabularyChoice


def determine_kinds(
    graph: VocabularyGraph,
    base: Signature,
    fixed: Signature | None = None,
    uses: Sequence[PropertyUse] = (),
    vocabulary: VocabularyChoice | None = None,
) -> tuple[NameKinds, list[NameProblem]]:
    """Determine the kind (class, datatype, …) of every name: from ``base``, then from declarations,
    then from use.

    Declarations are assigned a bucket; illegal ones become problems. Names of open kind in ``base``
    have no kind yet.

    Args:
    fixed: signature of a TBox that was read before
    uses: uses in inputs that are no triples
    vocabulary: known vocabularies that count; None for all
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
            kind = _kind_of_declaration(value) if isinstance(value, str) else None
            if kind is not None:
                declared[subject][kind].append(i)
            elif value in CHARACTERISTICS:
                characterised.add(subject)
    kinds = NameKinds(
        set(base.classes),
        set(base.datatypes),
        set(base.object_properties - base.open_properties),
        set(base.data_properties - base.open_properties),
        set(base.annotation_properties),
        dual_properties=base.open_properties,
        declared=(base.declared or base.all_terms).union(
            iri for iri in declared if not is_reserved(iri)
        ),
    )
    for iri in characterised:
        if DATA not in declared[iri] and iri not in kinds.data_properties:
            declared[iri].setdefault(OBJECT, [])
    shown: dict[str, dict[str, PropertyUse]] = defaultdict(dict)
    for use in uses:
        shown[use.iri].setdefault(use.kind, use)
    declare = partial(_declare, graph, kinds, fixed)
    problems = [
        problem
        for iri, by_kind in declared.items()
        for problem in declare(iri, by_kind, shown.pop(iri, {}))
    ]
    problems += [problem for iri, by_use in shown.items() for problem in declare(iri, {}, by_use)]
    if len(graph):
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
        infer_kinds(graph, kinds, mixed=fixed is None)
        if assign_known_kinds(graph, kinds, vocabulary):
            infer_kinds(graph, kinds, mixed=fixed is None)
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
                NameProblem(first, "annotation-punning", message, "use two names", 1, iri, place)
            )
    return kinds, problems


def _kind_of_declaration(word: str) -> str | None:
    """Return the kind that an rdf:type with ``word`` declares, a misspelt word included; None for
    other words.
    """
    if word in DECLARATIONS or not is_misspelt(word):
        return DECLARATIONS.get(word)
    return declared_kind(word) or None


def _declare(
    graph: VocabularyGraph,
    kinds: NameKinds,
    fixed: Signature | None,
    iri: str,
    by_kind: Mapping[str, list[int]],
    uses: Mapping[str, PropertyUse],
) -> Iterator[NameProblem]:
    """Add the declared kinds of ``iri`` to ``kinds``, and yield what contradicts them as problems.

    Args:
    fixed: as of `determine_kinds`
    by_kind, uses: the triples that declare each kind, and uses outside of triples
    """
    triples = [i for indexes in by_kind.values() for i in indexes]
    if is_reserved(iri):
        bad = [
            i for kind, indexes in by_kind.items() if not _is_built_in(iri, kind) for i in indexes
        ]
        # A declaration has no effect, but which axioms there are on an annotation property
        # depends on it.
        problem = "without-effect"
        if iri in ANNOTATIONS and _is_used_in_axioms(graph, iri):
            problem = "punning" if fixed is not None else "annotation-punning"
            for kind in by_kind if fixed is None else ():
                if kind in (OBJECT, DATA):
                    kinds.add_kind(iri, kind)
        count = graph.assign_bucket(bad, f"leftover:{problem}")
        graph.assign_bucket(triples, "declaration")
        if bad:
            message = f"the built-in term <{iri}> is declared as something else"
            yield NameProblem(bad[0], problem, message, "use a name of your own", count, iri)
        return
    classes, datatypes = "class" in by_kind, "datatype" in by_kind
    rdfs_only = all(graph.objects[i] == RDFS + "Class" for i in by_kind.get("class", ()))
    if datatypes and classes and rdfs_only:
        classes = False
    two = []
    before = kinds_of(kinds, iri)
    if iri in kinds.dual_properties and {OBJECT, DATA} <= uses.keys():
        before = {OBJECT, DATA}  # said of it outright, not left open
    held = {kind for kind in (OBJECT, DATA, ANNOTATION) if kind in by_kind} | before
    if held == {ANNOTATION}:
        held |= uses.keys()
    elif held and ANNOTATION in uses:
        held.add(ANNOTATION)
    logical = held - {ANNOTATION}
    known = kinds_of(fixed, iri) if fixed is not None else {OBJECT, DATA}
    if len(logical) > 1:
        two.append(" and ".join(f"{kind} property" for kind in sorted(held)))
        if not before or fixed is None:
            kinds.mark_open(iri)
    else:
        for kind in held:
            kinds.names_by_kind[kind].add(iri)
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
        count = graph.assign_bucket(triples, f"leftover:{problem}")
        yield NameProblem(
            triples[0],
            problem,
            f"<{iri}> is declared as {', '.join(two)}",
            "use two names",
            count,
            iri,
        )
    elif len(logical) > 1 and uses and (fixed is None or problem == "punning"):
        use = next(iter(uses.values()))
        place = (use.source, use.line)
        yield NameProblem(
            -1,
            problem,
            f"<{iri}> is used as {', '.join(two)}",
            "use two names",
            use.count,
            iri,
            place,
        )
    if len(logical) == 1 and ANNOTATION in held:
        yield from _problems_of_declaration(
            graph, kinds_of(fixed or Signature(), iri), iri, next(iter(logical)), by_kind, uses
        )
    graph.assign_bucket(triples, "declaration")


def _problems_of_declaration(
    graph: VocabularyGraph,
    known: set[str],
    iri: str,
    kind: str,
    by_kind: Mapping[str, list[int]],
    uses: Mapping[str, PropertyUse],
) -> Iterator[NameProblem]:
    """Yield a problem for a property that is declared as annotation property and also as object
    or data property.

    They are read as the latter, so that no axiom is lost. If a TBox knew only the annotation
    property, its axioms and assertions may have been ignored.
    """
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
            count = graph.assign_bucket(indexes, f"leftover:{found}")
            yield NameProblem(indexes[0], found, message, hint, max(count, 1), iri)
            return
        if use := uses.get(said):
            yield NameProblem(-1, found, message, hint, use.count, iri, (use.source, use.line))
            return


def _is_used_in_axioms(graph: VocabularyGraph, iri: str) -> bool:
    """Decide whether the graph uses a property other than in its declarations and as a
    superproperty.
    """
    return any(
        (subject == iri and not (predicate == TYPE and value in DECLARATIONS))
        or (value == iri and predicate != RDFS + "subPropertyOf")
        for subject, predicate, value in zip(graph.subjects, graph.predicates, graph.objects)
    )


#: The names of OWL and its companions that have a kind without a declaration.
_BUILT_IN = {
    "class": BUILT_IN_CLASSES,
    "datatype": DATATYPES,
    OBJECT: BUILT_IN_OBJECT,
    DATA: BUILT_IN_DATA,
    ANNOTATION: ANNOTATIONS,
    "property": BUILT_IN_OBJECT | BUILT_IN_DATA | ANNOTATIONS,
}


def _is_built_in(iri: str, kind: str) -> bool:
    """Decide whether a declaration of a reserved ``iri`` is redundant: it has that kind already, or
    is no entity.
    """
    is_known = iri in KNOWN or is_member_property(iri)
    is_entity = any(iri in names for names in _BUILT_IN.values())
    return iri in _BUILT_IN[kind] or (is_known and not is_entity)
