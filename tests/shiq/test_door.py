"""The first run on ontologies that others publish: `make test-door`. Half an hour; the setting
SHIQ_DOOR, else skipped.

Each ontology of a public crawl is certified without options, and with the crawl as catalog.
HermiT is asked about each document as the OWL API reads it: none that it refutes may be
consistent here. Prints how many are answered, and what differs.

It differs the other way on one: a literal that is typed rdf:PlainLiteral without an @ is not in
that datatype's lexical space, so that the document is inconsistent. The OWL API takes it for a
plain literal.
"""

from __future__ import annotations

import os
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from shiq.answers.verdict import INFORMATIVE, Verdict
from shiq.api import certify
from shiq.errors import ShiqError
from tests.tools.owl_api import NoAnswer, OwlApi, is_there

pytestmark = [
    pytest.mark.jvm,
    pytest.mark.slow,
    pytest.mark.skipif(not os.environ.get("SHIQ_DOOR"), reason="the setting SHIQ_DOOR asks for it"),
    pytest.mark.skipif(not is_there(), reason="no Java, no OWL API or no py4j"),
]
#: The share of documents that is answered: without options, and with all documents as catalog.
ALONE, WITH_CATALOG = 0.5, 0.65


@pytest.fixture(scope="module")
def crawl(data_path: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The documents of the crawl."""
    archive = data_path / "lov" / "lov-open.tar.xz"
    if not archive.is_file():
        pytest.skip(f"no crawl at {archive}")
    folder = tmp_path_factory.mktemp("crawl")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return sorted(path for path in folder.rglob("*") if path.is_file())


class _Peer:
    """HermiT on documents as the OWL API reads them, imports left aside."""

    def __init__(self) -> None:
        self.jvm = OwlApi("2g")

    def consistent(self, path: Path) -> bool | None:
        """What HermiT says of the axioms in one document; None where it has no answer, or the
        OWL API no axiom.
        """
        try:
            return self.jvm.call(lambda: self._consistent(path))
        except NoAnswer:
            if self.jvm.process.poll() is not None:
                self.close()
                self.jvm = OwlApi("2g")
            return None

    def close(self) -> None:
        self.jvm.close()

    def _consistent(self, path: Path) -> bool | None:
        java, api, manager = self.jvm.view, self.jvm.api, self.jvm.manager()
        manager.setSilentMissingImportsHandling(True)
        configuration = api.model.OWLOntologyLoaderConfiguration()
        for imported in imports_of(path):
            configuration = configuration.addIgnoredImport(api.model.IRI.create(imported))
        ontology = manager.loadOntologyFromOntologyDocument(
            api.io.FileDocumentSource(java.java.io.File(str(path))), configuration
        )
        if not int(ontology.getLogicalAxiomCount()):
            return None
        reasoner = java.org.semanticweb.HermiT.Reasoner(
            java.org.semanticweb.HermiT.Configuration(), ontology
        )
        return bool(reasoner.isConsistent())


def imports_of(path: Path) -> set[str]:
    import pyoxigraph as ox

    predicate = ox.NamedNode("http://www.w3.org/2002/07/owl#imports")
    try:
        quads = list(
            ox.parse(
                path=str(path), format=ox.RdfFormat.TURTLE, base_iri=path.as_uri(), lenient=True
            )
        )
    except (SyntaxError, ValueError):
        return set()
    return {
        quad.object.value
        for quad in quads
        if quad.predicate == predicate and isinstance(quad.object, ox.NamedNode)
    }


@pytest.fixture(scope="module")
def peer() -> Iterator[_Peer]:
    asked = _Peer()
    yield asked
    asked.close()


@pytest.fixture(scope="module")
def answers(crawl: list[Path], peer: _Peer) -> dict[Path, bool | None]:
    """What HermiT says of each document."""
    return {path: peer.consistent(path) for path in crawl}


@pytest.mark.parametrize(("catalog", "share"), [(False, ALONE), (True, WITH_CATALOG)])
def test_published_ontologies_are_answered(
    crawl: list[Path],
    answers: dict[Path, bool | None],
    catalog: bool,
    share: float,
    capsys: pytest.CaptureFixture[str],
) -> None:
    verdicts, kinds = dict[Path, Verdict](), Counter[str]()
    options = {"catalog": crawl[0].parent} if catalog else {}
    for path in crawl:
        try:
            result = certify(path, timeout=60, **options)
        except ShiqError as error:
            verdicts[path] = Verdict.UNDETERMINED
            kinds[type(error).__name__] += 1
            continue
        verdicts[path] = result.verdict
        if result.verdict is Verdict.UNDETERMINED:
            kinds.update({leftover.kind for leftover in result.evidence.leftovers} - INFORMATIVE)
        if result.verdict is Verdict.INCONSISTENT:
            assert result.conflicts, path
    counts = Counter(verdict.value for verdict in verdicts.values())
    answered = 1 - counts["undetermined"] / len(crawl)
    differing = {
        path.name: verdict.value
        for path, verdict in verdicts.items()
        if differ(verdict, answers[path])
    }
    with capsys.disabled():
        print(
            f"\n{'with' if catalog else 'without'} a catalog: {answered:.1%} of {len(crawl)} answered, {dict(counts)}"
        )
        print(f"in the way: {dict(kinds.most_common())}")
        print(
            f"HermiT answers {sum(answer is not None for answer in answers.values())}; it differs on {differing}"
        )
    assert "consistent" not in differing.values()
    assert answered >= share


def differ(verdict: Verdict, answer: bool | None) -> bool:
    return (
        answer is not None
        and verdict is not Verdict.UNDETERMINED
        and (verdict is Verdict.CONSISTENT) != answer
    )
