"""Ontology T, static data A and vocabulary V of a miner, entailment between bodies, and triple
reading.

A body entails another under T if the other binds, with the same root, in what its own atoms entail
as assertions about fresh individuals. Equivalent bodies have the same bindings in every consistent
snapshot. So entailments are computed once for all windows. Source: docs/DISCOVERY.md.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

from shiq import model as owl
from shiq.answers.verdict import Leftover
from shiq.errors import InputError, UsageError
from shiq.functional import axiom_text, parse_functional
from shiq.inputs.catalog import Catalogs, read_catalog
from shiq.model.walk import parts, signature_of
from shiq.rdf import read_assertions, read_ontology
from shiq.rdf.lines import read_statements
from shiq.rdf.triples import IRI, LITERAL, Triples
from shiq.streams.discovery.atomsets import (
    ROOT_VARIABLE,
    Atom,
    AtomIndex,
    Atoms,
    BodyTree,
    has_binding,
    spelling_sort_key,
    tree_to_atoms,
    variable_name,
)
from shiq.streams.discovery.snapshots import MinerKnowledge
from shiq.streams.front.checkpoint import hash_texts
from shiq.streams.front.intake import TripleRefusal, refuse_unknown_name
from shiq.support import cached_method


@dataclass(frozen=True, eq=False)
class MinerOntology:
    """Ontology T, static data A and vocabulary V (classes that rules may use) of a miner.

    tbox: all of T, with axioms outside SHIQ(D).
    static: the assertions A.
    classes: vocabulary V by text.
    labels: rdfs:label by IRI.
    """

    tbox: owl.TBox
    static: tuple[owl.Assertion, ...]
    classes: Mapping[str, owl.ClassExpression]
    leftovers: tuple[Leftover, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def signature(self) -> owl.Signature:
        """Signature of the ontology T."""
        return self.tbox.signature

    @property
    def roles(self) -> tuple[str, ...]:
        """Object properties of the ontology T, as texts."""
        return tuple(f"<{iri}>" for iri in sorted(self.signature.object_properties))

    @property
    def spellings(self) -> dict[str, str]:
        """Text of each class of the vocabulary, by every spelling that users may write: IRIs with
        or without brackets.
        """
        return {
            **{text.strip("<>"): text for text in self.classes if text.startswith("<")},
            **{text: text for text in self.classes},
        }

    @property
    def fingerprint(self) -> str:
        """Short hash of ontology, static data and vocabulary, by which saved miners are compared."""
        texts = {axiom_text(axiom) for axiom in self.tbox.axioms}
        return hash_texts(
            texts
            | {f"a {axiom_text(a)}" for a in self.static}
            | {f"v {text}" for text in self.classes}
        )

    def knowledge(self) -> MinerKnowledge:
        """Reasoner over ontology T and static data A."""
        return MinerKnowledge(
            self.tbox,
            self.static,
            tuple(self.classes.values()),
            sorted(self.signature.object_properties),
        )


def open_ontology(
    tbox: Any,
    static: Any = None,
    vocabulary: Any = None,
    catalog: Catalogs | None = None,
    allow: Collection[str] = (),
) -> MinerOntology:
    """Read ontology T and static data A, each a source or a list of sources, and the vocabulary.

    vocabulary: a file or list of class expressions; by default all named classes.
    allow: with "outside-shiq", axioms and assertions outside SHIQ(D) are left out.
    Raises: InputError, UsageError.
    """
    known = read_catalog(catalog) if catalog else None
    reading = read_ontology(_as_list(tbox), catalog=known, chains=False)
    assertions, leftovers = list(reading.abox), list(reading.leftovers)
    if static is not None and _as_list(static):
        data = read_assertions(
            _as_list(static),
            reading.tbox.signature,
            axioms=reading.tbox.axioms,
            ontologies=reading.ontologies,
            catalog=known,
        )
        assertions += data.abox
        leftovers += data.leftovers
    whole = reading.tbox
    if "outside-shiq" not in allow:
        axioms, more = _select_outside_shiq(leftovers)
        leftovers = [x for x in leftovers if x.kind != "outside-shiq" or not x.values]
        whole = _add_axioms(whole, axioms)
        named = sorted({part for a in axioms for part in parts(a) if isinstance(part, str)})
        # Individuals that only T names bind, too.
        assertions += [*more, *(owl.ClassAssertion(owl.THING, name) for name in named)]
    classes = _named_classes(whole) if vocabulary is None else _read_expressions(vocabulary)
    if vocabulary is not None:
        _refuse_unknown_names(classes, whole.signature, signature_of(assertions))
    return MinerOntology(
        whole,
        tuple(dict.fromkeys(assertions)),
        {axiom_text(c): c for c in classes},
        tuple(leftovers),
        reading.labels,
    )


def _select_outside_shiq(
    leftovers: Iterable[Leftover],
) -> tuple[list[owl.Axiom], list[owl.Assertion]]:
    """Select the axioms and assertions among ``leftovers`` that are merely outside SHIQ(D)."""
    axioms, assertions = dict[owl.Axiom, None](), dict[owl.Assertion, None]()
    for value in (value for x in leftovers if x.kind == "outside-shiq" for value in x.values):
        if isinstance(value, owl.Axiom):
            axioms[value] = None
        else:
            assertions[value] = None
    return [*axioms], [*assertions]


def _add_axioms(tbox: owl.TBox, axioms: Sequence[owl.Axiom]) -> owl.TBox:
    """Copy of a TBox with more axioms."""
    signature = tbox.signature | signature_of(axioms)
    return replace(tbox, axioms=(*tbox.axioms, *axioms), signature=signature)


def parse_ontology(text: str, place: str) -> tuple[owl.TBox, tuple[owl.Assertion, ...]]:
    """Parse axioms and assertions in functional syntax, also those outside SHIQ(D). ``place``: name
    of the source in messages.
    """
    reading = parse_functional(text, place, "a")
    axioms, assertions = _select_outside_shiq(reading.leftovers)
    return _add_axioms(reading.tbox, axioms), (*reading.abox, *assertions)


def _as_list(value: Any) -> list[Any]:
    """Wrap a single value in a list."""
    return list(value) if isinstance(value, list | tuple) else [value]


def _named_classes(tbox: owl.TBox) -> list[owl.ClassExpression]:
    """Named classes of a TBox, sorted."""
    return [owl.Class(iri) for iri in sorted(tbox.signature.classes)]


def _read_expressions(given: Any) -> list[owl.ClassExpression]:
    """Read class expressions from a file, one a line, or from a list of expressions and texts."""
    if not isinstance(given, str | PathLike):
        return [
            parse_expression(one, "vocabulary") if isinstance(one, str) else one for one in given
        ]
    try:
        lines = Path(given).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{given} cannot be read ({error})", "Check the path.") from error
    found: dict[owl.ClassExpression, None] = {}
    for number, line in enumerate(lines, 1):
        if line.strip():
            found[parse_expression(line.strip(), f"{given}:{number}")] = None
    if not found:
        raise UsageError(
            f"{given} names no class", "Write class expressions in functional syntax, one a line."
        )
    return list(found)


def _refuse_unknown_names(classes: Iterable[owl.ClassExpression], *known: owl.Signature) -> None:
    """Raise UsageError if ``classes`` mention a class or property that is in none of the signatures
    ``known``; the message suggests the nearest name.
    """
    asked = signature_of(classes)
    for kind, title in (
        ("classes", "class"),
        ("object_properties", "role"),
        ("data_properties", "data property"),
    ):
        names = {name for one in known for name in getattr(one, kind)}
        for name in sorted(getattr(asked, kind) - names):
            near = get_close_matches(name, sorted(names), 1, 0)
            raise UsageError(
                f"vocabulary: neither the ontology nor the static data knows the {title} <{name}>",
                f"Did you mean <{near[0]}>?" if near else "There is none to name.",
            )


def parse_expression(text: str, place: str) -> owl.ClassExpression:
    """Parse a class expression in functional syntax. Raises: UsageError."""
    axioms: Sequence[owl.Axiom] = ()
    try:
        axioms = parse_ontology(f"Ontology(SubClassOf({text} <urn:any>))", place)[0].axioms
    except InputError as error:
        text = f"{text}: {error.message}"
    if len(axioms) != 1 or not isinstance(axioms[0], owl.SubClassOf):
        raise UsageError(
            f"{place}: no class expression: {text}",
            "Write it in functional syntax, with full IRIs.",
        )
    return axioms[0].sub


#: What some atoms entail by T alone, their variables taken as individuals.
Closure = Callable[[Atoms], Iterable[Atom]]


@dataclass
class BodyTheory:
    """Entailment between rule bodies by the ontology T alone, with caches.

    closure: entailments of atoms.
    """

    closure: Closure
    vocabulary: tuple[str, ...]
    _least_spelling: dict[Atoms, Atoms] = field(default_factory=dict)

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """Vocabulary with one representative of each group of equivalent classes."""
        kept: list[str] = []
        for name in sorted(self.vocabulary):
            if not any(
                self.entails(((name, ROOT_VARIABLE),), ((k, ROOT_VARIABLE),))
                and self.entails(((k, ROOT_VARIABLE),), ((name, ROOT_VARIABLE),))
                for k in kept
            ):
                kept.append(name)
        return tuple(kept)

    @cached_method
    def entailed_facts(self, atoms: Atoms) -> AtomIndex:
        """Index of the atoms that the ontology T entails from ``atoms``."""
        return AtomIndex((*self.closure(atoms), *atoms))

    def entails(self, body: Atoms, other: Atoms) -> bool:
        """Whether ``body`` entails ``other`` under the ontology T: each individual to which
        ``body`` can bind ?x0 is also one for ``other``.
        """
        return has_binding(other, self.entailed_facts(body), {ROOT_VARIABLE: ROOT_VARIABLE})

    def root_classes(self, tree: BodyTree) -> frozenset[str]:
        """Classes of the vocabulary that the ontology entails for the individual at the root of a
        body.
        """
        return self.classes_at(tree, 0)

    @cached_method
    def classes_at(self, tree: BodyTree, index: int) -> frozenset[str]:
        """Classes of the vocabulary that the ontology entails for the variable ?x``index``."""
        own, facts = variable_name(index), self.entailed_facts(tree_to_atoms(tree))
        return frozenset(atom[0] for atom in facts.atoms if atom[1:] == (own,))

    def select_minimal_spellings(
        self, trees: Iterable[BodyTree], extension: Callable[[BodyTree], object]
    ) -> list[BodyTree]:
        """Select from ``trees`` one of each set of equivalent bodies: the one with fewest atoms,
        then with the smallest text.

        Bodies with different extensions are known not to be equivalent. All smaller spellings must
        be among ``trees``.
        """
        trees, groups = list(trees), dict[frozenset[str], list[BodyTree]]()
        for tree in trees:
            groups.setdefault(self.root_classes(tree), []).append(tree)
        for group in groups.values():
            if any(tree_to_atoms(tree) not in self._least_spelling for tree in group):
                self._find_minimal_spellings(group, extension)
        return [
            tree
            for tree in trees
            if self._least_spelling[tree_to_atoms(tree)] == tree_to_atoms(tree)
        ]

    def _find_minimal_spellings(
        self, group: Iterable[BodyTree], extension: Callable[[BodyTree], object]
    ) -> None:
        """Find and cache the minimal spelling of each body in a group with the same extension."""
        firsts: dict[object, list[Atoms]] = {}
        for tree in sorted(group, key=lambda t: spelling_sort_key(tree_to_atoms(t))):
            atoms, known = tree_to_atoms(tree), firsts.setdefault(extension(tree), [])
            if atoms not in self._least_spelling:
                equal = (
                    first
                    for first in known
                    if self.entails(atoms, first) and self.entails(first, atoms)
                )
                self._least_spelling[atoms] = next(equal, atoms)
            if self._least_spelling[atoms] == atoms:
                known.append(atoms)


# From the triples of events to assertions: each text is read once for as long as some snapshot
# has it.


_TYPE, _SAME, _DIFFERENT = owl.RDF + "type", owl.OWL + "sameAs", owl.OWL + "differentFrom"
_ANNOTATIONS = {owl.RDFS + name for name in ("label", "comment", "seeAlso", "isDefinedBy")}
#: Texts are forgotten when there are so many.
_MOST_TEXTS = 2_000_000


@dataclass
class AssertionReader:
    """Reader of N-Triples as assertions over a ``signature``, with a cache of parsed texts.

    cache: by text, the assertion or refusal; None for an annotation.
    """

    signature: owl.Signature
    cache: dict[str, owl.Assertion | TripleRefusal | None] = field(default_factory=dict)

    def read(
        self, texts: Sequence[str], report: Callable[[str, str, str], None]
    ) -> list[owl.Assertion]:
        """Read N-Triples statements; ``report`` gets kind, reason and text of each unused one."""
        known = self.cache
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            if len(known) > _MOST_TEXTS:
                known.clear()
                new = list(dict.fromkeys(texts))
            self._parse_new_texts(new)
        found = []
        for text in texts:
            value = known[text]
            if isinstance(value, TripleRefusal):
                report(value.kind, value.reason, text)
            elif value is not None:
                found.append(value)
        return found

    def _parse_new_texts(self, texts: Sequence[str]) -> None:
        """Parse texts that are not cached."""

        def cache_refusal(at: int, reason: str) -> None:
            """Cache the reason why a text is not a triple."""
            self.cache[texts[at]] = TripleRefusal(reason)

        triples = read_statements(texts, cache_refusal)
        for row, line in enumerate(triples.line):
            self.cache[texts[line - 1]] = self._make_assertion(triples, row)

    def _make_assertion(self, triples: Triples, row: int) -> owl.Assertion | TripleRefusal | None:
        """Convert a triple to an assertion, or to a refusal if it is not usable; None for an
        annotation.
        """
        subject, predicate = (
            str(triples.terms[triples.subject[row]]),
            str(triples.terms[triples.predicate[row]]),
        )
        value, kind = triples.terms[triples.object[row]], triples.kinds[triples.object[row]]
        signature = self.signature
        if predicate in signature.data_properties:
            if isinstance(value, owl.Literal):
                return owl.DataPropertyAssertion(owl.DataProperty(predicate), subject, value)
            return TripleRefusal(f"<{predicate}> is a data property: its value is a literal")
        if predicate in signature.annotation_properties or predicate in _ANNOTATIONS:
            return None
        if kind == LITERAL and (
            predicate in (_TYPE, _SAME, _DIFFERENT) or predicate in signature.object_properties
        ):
            return TripleRefusal(f"<{predicate}> has no literals as values")
        if predicate in signature.object_properties:
            return owl.ObjectPropertyAssertion(owl.ObjectProperty(predicate), subject, str(value))
        if predicate == _TYPE:
            return self._make_class_assertion(str(value), kind, subject)
        if predicate == _SAME:
            return owl.SameIndividual(subject, str(value))
        if predicate == _DIFFERENT:
            return owl.DifferentIndividuals(subject, str(value))
        return refuse_unknown_name(predicate, "property")

    def _make_class_assertion(
        self, name: str, kind: int, subject: str
    ) -> owl.Assertion | TripleRefusal | None:
        """Convert an rdf:type triple to a class assertion, or to a refusal."""
        if kind == IRI and (name in self.signature.classes or name == owl.NOTHING.iri):
            return owl.ClassAssertion(owl.Class(name), subject)
        if name in (owl.THING.iri, owl.OWL + "NamedIndividual"):
            return None
        if kind != IRI:
            return TripleRefusal("an event's class must be a named class", "outside-shiq")
        return refuse_unknown_name(name, "class")


def serialise_assertions(assertions: Iterable[owl.Assertion]) -> list[str]:
    """Serialise assertions as N-Triples for `AssertionReader`, to save snapshots."""
    from shiq.model.ntriples import assertion_lines

    return [line for assertion in assertions for line in assertion_lines(assertion)]
