"""The OWL 2 structural model, restricted to what SHIQ(D) can say, as frozen values.

Types carry the names of the OWL 2 structural specification. What SHIQ(D) cannot say is still a
value (`ObjectOneOf`, `ObjectHasSelf`, `SubObjectPropertyChain`, ...), so that it can be named,
counted and refused; nothing is dropped. An axiom is a value about classes, properties and
datatypes; an assertion is a value about individuals.

>>> SubClassOf(Class("urn:A"), ObjectSomeValuesFrom(ObjectProperty("urn:r"), Class("urn:B")))
SubClassOf(sub=Class(iri='urn:A'), sup=ObjectSomeValuesFrom(property=ObjectProperty(iri='urn:r'), filler=Class(iri='urn:B')))
"""

from __future__ import annotations

from dataclasses import dataclass, field

from shiq.model.assertions import *  # noqa: F403
from shiq.model.assertions import Assertion
from shiq.model.axioms import *  # noqa: F403
from shiq.model.axioms import Axiom
from shiq.model.expressions import *  # noqa: F403


@dataclass(frozen=True)
class Signature:
    """The classes, properties and datatypes that a TBox declares or uses, as IRIs by kind; built-in
    ones are left out.

    declared: the names that it declares, of any kind; empty where that is not known. They are no
    part of what is compared.
    """

    classes: frozenset[str] = frozenset()
    object_properties: frozenset[str] = frozenset()
    data_properties: frozenset[str] = frozenset()
    annotation_properties: frozenset[str] = frozenset()
    datatypes: frozenset[str] = frozenset()
    declared: frozenset[str] = field(default=frozenset(), compare=False)

    @property
    def all_terms(self) -> frozenset[str]:
        """Return all classes, properties and datatypes."""
        properties = self.object_properties | self.data_properties | self.annotation_properties
        return self.classes | properties | self.datatypes

    @property
    def open_properties(self) -> frozenset[str]:
        """Return the properties that are read both as object and as data properties, because
        nothing decides between the two.
        """
        return self.object_properties & self.data_properties

    def __or__(self, other: Signature) -> Signature:
        return Signature(
            self.classes | other.classes,
            self.object_properties | other.object_properties,
            self.data_properties | other.data_properties,
            self.annotation_properties | other.annotation_properties,
            self.datatypes | other.datatypes,
            self.declared | other.declared,
        )


@dataclass(frozen=True)
class TBox:
    """The axioms of an ontology in the order read, without duplicates, and the vocabulary they are
    about.

    doubtful: axioms, and assertions of the same sources, that only some readings of the ontology
    have (THEORY, "Axioms in doubt"). Of axioms outside SHIQ(D) they are not among ``axioms``.
    """

    axioms: tuple[Axiom, ...] = ()
    signature: Signature = field(default_factory=Signature)
    doubtful: frozenset[Axiom | Assertion] = frozenset()

    @property
    def has_readings(self) -> bool:
        """Decide whether the ontology can be read in several ways, so that a contradiction may
        exist in some of them only.
        """
        return bool(self.doubtful or self.signature.open_properties)
