"""The OWL API and HermiT inside the JVM: ontologies go in as functional syntax, are counted, and
only then asked about.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from py4j.java_gateway import get_field, set_field  # type: ignore[import-untyped]
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

from shiq.reasoner.jvm import Jvm, JvmFailure, shared_jvm
from shiq.reasoner.sending import OntologyText

_KEPT_BASES = 12


class Misread(JvmFailure):
    """The OWL API read something else than what was sent."""


class OwlApi:
    """One JVM's ontology manager, HermiT's configuration, and the axiom sets that were parsed
    before.
    """

    def __init__(self, jvm: Jvm) -> None:
        """Loads the classes. To be called inside `Jvm.call`, like every method here."""
        self.jvm = jvm
        java = jvm.view
        self._managers: Any = java.org.semanticweb.owlapi.apibinding.OWLManager
        self._manager: Any = self._managers.createOWLOntologyManager()
        # The parser itself, not the manager's search for one: among the others are some that read
        # anything as nothing.
        self._parser: Any = java.org.coode.owlapi.functionalparser.OWLFunctionalSyntaxOWLParser()
        self._source: Any = java.org.semanticweb.owlapi.io.StringDocumentSource
        self._reasoner: Any = java.org.semanticweb.HermiT.Reasoner
        self._configuration: Any = java.org.semanticweb.HermiT.Configuration()
        set_field(self._configuration, "ignoreUnsupportedDatatypes", False)
        if get_field(self._configuration, "ignoreUnsupportedDatatypes") is not False:
            raise JvmFailure("HermiT would leave out axioms with unsupported datatypes")
        self._bases: OrderedDict[str, Any] = OrderedDict()
        #: How many axioms the ontology of the last question held.
        self.parsed = 0

    def consistent(self, bases: Sequence[OntologyText], question: OntologyText) -> bool:
        """Whether the ontology that consists of ``bases`` (parsed once and kept) and
        ``question`` is consistent.

        No axiom may be in two of them. Raises Misread where the OWL API holds other counts of
        axioms or names than were sent, and whatever py4j raises.
        """
        try:
            return self._consistent(bases, question)
        except Py4JJavaError:
            # A constructor of HermiT that throws leaves a listener at the manager, which would keep
            # every later change.
            self.jvm.forget(self._manager)
            self._manager = self._managers.createOWLOntologyManager()
            raise

    def _consistent(self, bases: Sequence[OntologyText], question: OntologyText) -> bool:
        parsed = [self._base(base) for base in bases]
        with ExitStack() as stack:
            ontology = self._parse(question.text, stack)
            for axioms in parsed:
                self._manager.addAxioms(ontology, axioms)
            self.parsed = self._compare(ontology, [*bases, question])
            reasoner = self._reasoner(self._configuration, ontology)
            stack.callback(self.jvm.forget, reasoner)
            stack.callback(reasoner.dispose)
            answer = reasoner.isConsistent()
        if not isinstance(answer, bool):
            raise JvmFailure(f"HermiT answered neither true nor false: {answer!r}")
        return answer

    def _base(self, base: OntologyText) -> Any:
        """The set of axioms of ``base``, compared with what was sent when it is read."""
        if base.text in self._bases:
            self._bases.move_to_end(base.text)
            return self._bases[base.text]
        with ExitStack() as stack:
            ontology = self._parse(base.text, stack)
            self._compare(ontology, [base])
            axioms = self._bases[base.text] = ontology.getAxioms()
        if len(self._bases) > _KEPT_BASES:
            _, oldest = self._bases.popitem(last=False)
            self.jvm.forget(oldest)
        return axioms

    def _parse(self, text: str, stack: ExitStack) -> Any:
        """The ontology that ``text`` is, until ``stack`` is closed."""
        ontology = self._manager.createOntology()
        stack.callback(self.jvm.forget, ontology)
        stack.callback(self._manager.removeOntology, ontology)
        source = self._source(text)
        stack.callback(self.jvm.forget, source)
        self._parser.parse(source, ontology)
        return ontology

    def _compare(self, ontology: Any, documents: Sequence[OntologyText]) -> int:
        """How many axioms ``ontology`` holds. Raises Misread unless it is what ``documents`` say."""
        axioms = int(ontology.getLogicalAxiomCount())
        signature = ontology.getSignature()
        names = signature.size()
        self.jvm.forget(signature)
        sent_axioms = sum(document.axioms for document in documents)
        sent_names = len(frozenset().union(*(document.entities for document in documents)))
        if axioms != sent_axioms or names != sent_names:
            expected = f"{sent_axioms} axioms about {sent_names} names"
            raise Misread(
                f"the OWL API read {axioms} axioms about {names} names where {expected} were sent"
            )
        return axioms


_session: OwlApi | None = None


def shared_session(user: object, heap: str, timeout: float | None) -> OwlApi:
    """The session of this process's JVM, started if need be. Raises ReasonerError, UsageError;
    JvmFailure in mid-start.
    """
    global _session  # noqa: PLW0603
    jvm = shared_jvm(user, heap)
    if _session is None or _session.jvm is not jvm:
        _session = jvm.call(lambda: OwlApi(jvm), timeout)
    return _session
