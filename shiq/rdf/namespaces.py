"""Namespaces of an ontology's terms, and the search for the known name that a misspelt one was
probably meant to be.

>>> namespace_of("http://xmlns.com/foaf/0.1/Person"), namespace_of("http://purl.obolibrary.org/obo/BFO_0000001")
('http://xmlns.com/foaf/0.1/', 'http://purl.obolibrary.org/obo/BFO_')
>>> own = OwnNamespaces(["http://example.org/onto#Cat"])
>>> own.is_foreign("http://xmlns.com/foaf/0.1/name"), own.is_foreign("http://example.org/onto#Dgo")
(True, False)
>>> own.is_foreign("https://www.example.org/onto.owl#Dog"), own.nearest("https://www.example.org/onto.owl#Dog")
(False, 'http://example.org/onto#')
>>> is_vacuous("urn:Cat", RDFS + "description", Literal("purrs"), RDFS + "description")
True
>>> is_vacuous("urn:Cat", RDFS + "subclassOf", "urn:Animal", RDFS + "subclassOf")
False
>>> words = (RDFS + "subClasssOf", RDFS + "subpropertyOf", OWL + "domain", OWL + "isEquivalentTo")
>>> [local_name(intended_word(word)) for word in words]
['subClassOf', 'subPropertyOf', 'domain', '']
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from difflib import SequenceMatcher, get_close_matches
from functools import cache, cached_property, lru_cache
from itertools import pairwise

from shiq.model import OWL, RDFS, Literal
from shiq.model.walk import is_reserved
from shiq.rdf.graph import VocabularyGraph
from shiq.rdf.triples import Term
from shiq.rdf.vocabulary import (
    ANNOTATIONS,
    CARDINALITIES,
    CHARACTERISTICS,
    DATATYPES,
    DECLARATIONS,
    FACETS,
    FIRST,
    FUNCTIONAL,
    KNOWN,
    NAMESPACES,
    PLAIN_CLASSES,
    PLAIN_PROPERTIES,
    TYPE,
    NearMisses,
    known_word,
    local_name,
)
from shiq.vocabularies import VocabularyChoice, kind_of

#: All OBO ontologies share this folder; the prefix before the number tells them apart.
_OBO = "http://purl.obolibrary.org/obo/"
#: Parts of a namespace that say nothing of which vocabulary it is.
_IDLE = re.compile(r"^[a-z]+:/+(www\.)?|\.(owl|rdf|ttl|rdfs|n3)(?=$)|[#/:]+$")


#: How IRIs begin that are no prefix and name.
_SCHEMES = re.compile(
    r"_:|[a-z][a-z0-9+.-]*:/|(urn|oid|uuid|lsid|ni|cid|mid|news|dtmi):|tag:.*,|mailto:.*@|tel:[+\d]|doi:10|(info|hdl):.*/|ark:\d|"
    r"data:.*,|did:.*:|file:",
    re.IGNORECASE,
)
#: The last parts of namespaces that look like those of RDF, RDFS and OWL.
_LIKE_LANGUAGE = re.compile(r"(\d+-)?(rdfs?|owl)\d*([-_]?(schema|syntax)[\w-]*)?")
#: The words of axioms and declarations.
_WORDS = {
    local_name(word).lower()
    for word in KNOWN - ANNOTATIONS - DATATYPES - FACETS - PLAIN_PROPERTIES - PLAIN_CLASSES
}


def namespace_of(iri: str) -> str:
    """Return the IRI up to its last ``#``, else its last ``/``, else its last ``:``; for OBO terms
    up to the last ``_``.
    """
    if iri.startswith(_OBO) and "_" in iri[len(_OBO) :]:
        return iri[: iri.rindex("_") + 1]
    end = iri.rfind("#")
    return iri[: 1 + (end if end >= 0 else iri.rfind("/") if "/" in iri else iri.rfind(":"))]


def is_unexpanded(iri: str) -> bool:
    """Decide whether ``iri`` is a prefixed name that was never expanded (``prefix:name``) instead
    of an absolute IRI.

    >>> is_unexpanded("owl:Nothing"), is_unexpanded("urn:isbn:3"), is_unexpanded("http://example.org/Cat")
    (True, False, False)
    """
    return ":" in iri and not _SCHEMES.match(iri)


def is_language_word(iri: str) -> bool:
    """Decide whether ``iri`` is a word of OWL in a namespace that merely resembles OWL's, RDF's or
    RDFS's.

    It may also follow one of their prefixes that was not expanded.

    >>> is_language_word("http://www.w3.org/2001/owl#sameAs"), is_language_word("rdfs:domain")
    (True, True)
    >>> is_language_word("http://purl.org/dc/elements/1.1/type"), is_language_word("http://www.w3.org/2002/07/owl#sameAs")
    (False, False)
    """
    space = namespace_of(iri).lower()
    if iri[len(space) :].lower() not in _WORDS or iri.startswith(NAMESPACES):
        return False
    parts = re.split(r"[/#:]+", space.rstrip("/#:"))
    return bool(_LIKE_LANGUAGE.fullmatch(parts[-1])) or (
        "www.w3.org" in parts and "ns" not in parts
    )


def is_slip_of(name: str, other: str) -> bool:
    """Decide whether the local name ``name`` is probably a misspelling of ``other``.

    They differ in case, in one letter, or in two swapped letters. Long names may differ in two
    letters, unless one name only has them in addition at an end. Different numbers make different
    names.

    >>> is_slip_of("Dogg", "Dog"), is_slip_of("Persno", "Person"), is_slip_of("Cat", "Car"), is_slip_of("Level1", "Level2")
    (True, True, False, False)
    """
    one, two = name.lower(), other.lower()
    if name == other or (one != two and re.sub(r"\d", "", one) == re.sub(r"\d", "", two)):
        return False
    shorter = min(len(one), len(two))
    distance = _edit_distance(one, two)
    if distance == 2 and len(one) == len(two):
        first = next(i for i, (a, b) in enumerate(zip(one, two)) if a != b)
        distance -= one[first : first + 2] == two[first : first + 2][::-1]
    if distance <= 1:
        return shorter > (4 if len(one) == len(two) and distance else 2)
    return distance == 2 and shorter >= 8 and one not in two and two not in one


class SlipFinder:
    """Index over the local ``names`` of a namespace for finding those that a given name misspells
    (`is_slip_of`).

    At most two letters differ, so one of three pieces of a name is intact in its slip; only names
    with a common piece are compared.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names: dict[tuple[int, int, str], list[str]] = {}
        for name in sorted(names):
            for start, end in _cut_in_thirds(len(name)):
                self._names.setdefault((len(name), start, name[start:end].lower()), []).append(name)

    def nearest(self, name: str) -> str:
        """Return the first name that ``name`` probably misspells; "" if there is none."""
        return min(self.matches(name), default="")

    def matches(self, name: str) -> list[str]:
        """Return all names that ``name`` probably misspells."""
        text, found = name.lower(), set[str]()
        for length in range(max(len(text) - 2, 1), len(text) + 3):
            for start, end in _cut_in_thirds(length):
                for shift in range(-min(2, start), 3):
                    found.update(
                        self._names.get((length, start, text[start + shift : end + shift]), ())
                    )
        return [other for other in found if is_slip_of(name, other)]


def _cut_in_thirds(length: int) -> list[tuple[int, int]]:
    """Return start and end of each third of a text of this length."""
    cuts = [length * i // 3 for i in range(4)]
    return list(pairwise(cuts))


class OwnNamespaces:
    """Namespaces in which an ontology has names of its own; terms of any other namespace are
    foreign.

    A term in a namespace that is similar to an own one is probably misspelt, not foreign. In a
    namespace without declarations, only a term similar to one of its names is.

    Args:
    names: classes, properties and datatypes of the ontology
    declared: those that it declares
    terms: terms of a known vocabulary in a namespace. An ontology that declares less than half of
        them, and no others, only uses the vocabulary.
    """

    def __init__(
        self,
        names: Iterable[str],
        declared: Iterable[str] | None = None,
        terms: Callable[[str], Collection[str]] = lambda namespace: (),
    ) -> None:
        self._names = frozenset(names)
        self._declared = self._names if declared is None else frozenset(declared)
        self._terms = terms
        self.nearest = lru_cache(1024)(self._nearest)
        self._slips = cache(self.vocabulary_finder)

    @cached_property
    def _own_cores(self) -> dict[str, str]:
        """Map the core of each own namespace (without scheme, ``www.``, file ending, separator) to
        it.
        """
        return {
            _namespace_core(namespace): namespace
            for namespace in sorted({namespace_of(name) for name in self._names})
        }

    @cached_property
    def _undeclared_namespaces(self) -> frozenset[str]:
        """Return the namespaces in which the ontology uses names but declares none."""
        return frozenset(map(namespace_of, self._names)).difference(
            map(namespace_of, self._declared)
        )

    def is_foreign(self, iri: str) -> bool:
        """Decide whether ``iri`` is in no own namespace and in none that resembles one.

        A file address is not foreign: it was meant relative to another base, or lost its scheme.
        """
        if (
            not namespace_of(iri)
            or iri.startswith("file:")
            or is_unexpanded(iri)
            or is_language_word(iri)
        ):
            return False
        if finder := self._slips(space := namespace_of(iri)):
            return not finder.nearest(iri[len(space) :]) and not self._is_near_name(iri, space)
        return not self.nearest(iri)

    def vocabulary_finder(self, space: str) -> SlipFinder | None:
        """Return the index of a well-known vocabulary's names; None if the namespace has none or is
        an own one.
        """
        terms = {term for term in self._terms(space) if namespace_of(term) == space}
        declared = {name for name in self._declared if namespace_of(name) == space}
        if not terms or not declared <= terms or 2 * len(declared) >= len(terms):
            return None
        return SlipFinder(term[len(space) :] for term in terms)

    def _nearest(self, iri: str) -> str:
        """Return the own namespace of ``iri``, or one that resembles its namespace; "" if there is
        none.
        """
        space = namespace_of(iri)
        core = _namespace_core(space)
        if core in self._own_cores and (
            space not in self._undeclared_namespaces or self._is_near_name(iri, space)
        ):
            return self._own_cores[core]
        near = next(
            (
                namespace
                for own, namespace in self._own_cores.items()
                if namespace != space and _are_similar(core, own)
            ),
            "",
        )
        return (
            near
            or self._misspelt_namespace(iri)
            or self._unseparated_namespace(iri, core)
            or self._embedded_namespace(iri)
        )

    def _is_near_name(self, iri: str, space: str) -> bool:
        """Decide whether the local name of ``iri`` resembles a name of the ontology in the
        namespace ``space``.
        """
        local = iri[len(space) :].lower()
        others = [name[len(space) :].lower() for name in self._names if name.startswith(space)]
        return bool(get_close_matches(local, others, 1, 0.8)) or any(
            _edit_distance(local, other) <= 2 for other in others
        )

    def _misspelt_namespace(self, iri: str) -> str:
        """Find the own namespace of a name that differs from ``iri`` only in separators and one or
        two letters.
        """
        for text in {
            _squeeze_iri(iri),
            _squeeze_iri(iri.replace("https:", "http:")),
            _squeeze_iri(iri.replace("http:", "https:")),
        }:
            for space, (start, names) in self._squeezed_names.items():
                for end, distance in _approximate_prefix_ends(start, text):
                    if text[end:] in names or (
                        distance < 2 and not names.isdisjoint(_deletion_variants(text[end:]))
                    ):
                        return space
        return ""

    @cached_property
    def _squeezed_names(self) -> dict[str, tuple[str, frozenset[str]]]:
        """Map each own namespace to its squeezed form (see `_squeeze_iri`) and its local names with
        all one-letter deletions.
        """
        found: dict[str, tuple[str, set[str]]] = {}
        for name in sorted(self._names):
            space = namespace_of(name)
            names = found.setdefault(space, (_squeeze_iri(space), set()))[1]
            names.update(_deletion_variants(_squeeze_iri(name[len(space) :])))
        return {space: (start, frozenset(names)) for space, (start, names) in found.items()}

    def _embedded_namespace(self, iri: str) -> str:
        """Find an own namespace inside ``iri``, as after a prefix that was expanded twice."""
        inside = next((space for space in self._squeezed_names if iri.find(space, 1) > 0), "")
        again = iri.rfind("http", 1)
        return inside or (self._nearest(iri[again:]) if again > 0 else "")

    def _unseparated_namespace(self, iri: str, core: str) -> str:
        """Find the own namespace that ``iri`` begins with, but for its separator, as after a prefix
        that lacks it.
        """
        text = _namespace_core(iri)
        return next(
            (
                space
                for own, space in self._own_cores.items()
                if len(core) < len(own) and text.startswith(own)
            ),
            "",
        )


#: Deletes what separates the parts of a name.
_SEPARATORS = str.maketrans("", "", "/#:_")


def _squeeze_iri(iri: str) -> str:
    """Return ``iri`` in lower case, without separators and ``www.``."""
    return iri.lower().replace("://www.", "://").translate(_SEPARATORS)


def _deletion_variants(text: str) -> set[str]:
    """Return ``text`` and each variant with one letter deleted. Texts one letter apart share a
    variant.
    """
    return {text, *(text[:i] + text[i + 1 :] for i in range(len(text)))}


def _approximate_prefix_ends(start: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield (end, edits) for each prefix of ``text`` that is within two edits of ``start``.

    A swap of two letters counts as one edit (optimal string alignment).
    """
    older: dict[int, int] = {}
    row = {j: j for j in range(3)}
    for i, letter in enumerate(start, 1):
        oldest, older, row = older, row, {}
        for j in range(max(i - 2, 0), min(i + 2, len(text)) + 1):
            same = older.get(j - 1, 3) + (j < 1 or text[j - 1] != letter)
            row[j] = min(older.get(j, 3) + 1, row.get(j - 1, 3) + 1, same)
            if i > 1 and j > 1 and text[j - 2 : j] == letter + start[i - 2]:
                row[j] = min(row[j], oldest.get(j - 2, 3) + 1)
        if not row or min(row.values()) > 2:
            return
    yield from ((end, distance) for end, distance in row.items() if distance <= 2)


def _namespace_core(namespace: str) -> str:
    """Return the namespace without scheme, ``www.``, file ending and separator."""
    text = namespace.lower()
    while (shorter := _IDLE.sub("", text)) != text:
        text = shorter
    return text


def _are_similar(first: str, second: str) -> bool:
    """Decide whether two namespaces differ only in one or two letters, less than half of the path
    segment that has them.
    """
    if abs(len(first) - len(second)) > 2:
        return False
    one, two = re.split(r"[/#:]", first), re.split(r"[/#:]", second)
    if len(one) != len(two):
        return _edit_distance(first, second) <= 2
    parts = [(a, b) for a, b in zip(one, two) if a != b]
    distance = sum(_edit_distance(a, b) for a, b in parts)
    return distance <= 2 and all(2 * _edit_distance(a, b) < min(len(a), len(b)) for a, b in parts)


def _edit_distance(first: str, second: str) -> int:
    """Levenshtein distance."""
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(second, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]


@cache
def vocabulary_finder(space: str) -> SlipFinder:
    """Return the index of the names of a well-known vocabulary, for finding misspellings."""
    return SlipFinder(
        term[len(space) :] for term in VocabularyChoice().kinds_in(space) if term.startswith(space)
    )


def unknown_name_message(what: str, iri: str, near: NearMisses) -> tuple[str, str]:
    """Return message and hint for a class or property that the TBox does not know."""
    space = namespace_of(iri)
    meant = vocabulary_finder(space).nearest(iri[len(space) :])
    nearest = (meant and space + meant) or near.nearest(iri) or known_word(iri)
    hint = f"did you mean <{nearest}>?" if nearest else f"declare the {what} in the TBox"
    return f"the TBox does not know the {what} <{iri}>", hint


#: Words of which axioms are made, that a literal may follow.
_BEFORE_LITERALS = (
    FACETS | CARDINALITIES.keys() | {OWL + "hasValue", OWL + "hasSelf", OWL + "targetValue", FIRST}
)


#: Words of which axioms are made, that a name or node may follow; predicates begin with a small
#: letter.
_BEFORE_NODES = {
    word
    for word in KNOWN - ANNOTATIONS - DATATYPES - FACETS - PLAIN_PROPERTIES
    if local_name(word)[0].islower()
}


#: Annotation properties that only document, and other words for such.
_DOCUMENTING = ("label", "comment", "seealso", "isdefinedby", "versioninfo")


_DOCUMENTING_LITERALS = frozenset(
    (
        "about",
        "abstract",
        "definition",
        "description",
        "example",
        "name",
        "note",
        "remark",
        "summary",
        "title",
        "version",
    )
)


_DECLARING = {
    "class": "class",
    **dict.fromkeys(("property", "objectproperty", "datatypeproperty", "dataproperty"), "property"),
}


_ABOVE = (RDFS + "domain", RDFS + "range", RDFS + "subClassOf")


def is_vacuous(subject: str, predicate: str, value: Term, word: str) -> bool:
    """Decide whether a triple with the unknown ``word`` is part of no axiom, whatever word was
    meant (THEORY, "Unknown words").
    """
    name = local_name(word).lower()
    if predicate in _ABOVE and value == word:
        return name == "resource"
    if predicate == TYPE and value == word:
        return name in ("resource", "description") or bool(declared_kind(word))
    if predicate == RDFS + "subPropertyOf" and value == word:
        return name in {local_name(iri).lower() for iri in ANNOTATIONS}
    if predicate != word or subject.startswith("_:"):
        return False
    documents = max(SequenceMatcher(None, name, word).ratio() for word in _DOCUMENTING) >= 0.75
    if isinstance(value, Literal):
        if name in _DOCUMENTING_LITERALS:
            return True
        return (
            documents
            and not _resembles(name, _BEFORE_LITERALS, 0.6)
            and not _resembles(name, _BEFORE_NODES, 0.75)
        )
    return documents and not _resembles(name, _BEFORE_NODES | _BEFORE_LITERALS, 0.6)


def declared_kind(word: str) -> str:
    """Return the kind that a misspelt ``word`` in rdf:type declares: "class", "property" (object or
    data), or "" for other words.
    """
    return _DECLARING.get(local_name(word).lower(), "")


def _resembles(name: str, words: Iterable[str], share: float) -> bool:
    """Decide whether one of ``words`` begins like ``name``, or shares at least ``share`` of its
    letters (Ratcliff and Obershelp).
    """
    others = [local_name(word).lower() for word in words]
    return any(
        other.startswith(name)
        or name.startswith(other)
        or SequenceMatcher(None, name, other).ratio() >= share
        for other in others
    )


IN_DOUBT = "in-doubt"


#: Words of which each triple is an axiom, with whether a class expression may stand behind them.
_RELATIONS = {
    **dict.fromkeys(
        (
            RDFS + "subClassOf",
            RDFS + "domain",
            RDFS + "range",
            OWL + "equivalentClass",
            OWL + "disjointWith",
        ),
        True,
    ),
    **dict.fromkeys((RDFS + "subPropertyOf", OWL + "equivalentProperty", OWL + "inverseOf"), False),
}


_INTENDED_WORDS = {local_name(word): word for word in (*_RELATIONS, *CHARACTERISTICS, FUNCTIONAL)}


_INTENDED = SlipFinder(_INTENDED_WORDS)


def intended_word(word: str) -> str:
    """Return the word of OWL that a misspelt reserved word was probably meant to be; "" if unknown
    or ambiguous.

    ``owl:SymetricProperty`` is ambiguous, and ``rdfs:supClassOf`` may be a converse.
    """
    name = local_name(word)
    near = [] if name.lower().startswith("sup") else _INTENDED.matches(name)
    return _INTENDED_WORDS.get(name) or (_INTENDED_WORDS[near[0]] if len(near) == 1 else "")


def intended_triple(
    graph: VocabularyGraph,
    subject: str,
    predicate: str,
    value: Term,
    word: str,
    declared: Collection[str],
) -> tuple[str, str, Term] | None:
    """Return the axiom's triple that a triple with a misspelt word was probably meant to be; None
    for any other triple.

    The kinds of all its names must be declared, or no other axiom may use them, so that it decides
    no kind.
    """

    def is_known(name: str) -> bool:
        """Decide whether a name is reserved, declared or in a known vocabulary."""
        if (
            is_reserved(name)
            or name in declared
            or kind_of(name)
            or any(kind in DECLARATIONS for kind in graph.types_of(name))
        ):
            return True
        rows = zip(graph.subjects, graph.predicates, graph.objects)
        return all(
            predicate == word for subject, predicate, value in rows if name in (subject, value)
        )

    found = intended_word(word)
    if subject.startswith("_:") or not is_known(subject) or isinstance(value, Literal):
        return None
    if predicate == word and found in _RELATIONS:
        is_fit = _RELATIONS[found] if value.startswith("_:") else is_known(value)
        return (subject, found, value) if is_fit else None
    if predicate == TYPE and value == word and found and found not in _RELATIONS:
        return subject, TYPE, found
    return None
