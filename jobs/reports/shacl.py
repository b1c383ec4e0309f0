"""A report as a SHACL validation report in Turtle, with PROV for the run and DQV for its measures.

One `sh:ValidationResult` for each inserted assertion of a contradiction (for each of the base
where the batch has none), and one for each leftover that keeps the verdict undetermined. So
`sh:conforms` is true only where the verdict is consistent and nothing is reported.

Sources: W3C, Shapes Constraint Language (SHACL), section 3.6; PROV-O; Data Quality Vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import Final, TypeAlias
from urllib.parse import quote

import pyoxigraph as ox

from shiq.answers.verdict import Verdict
from shiq.jobs.reports.report import (
    Report,
    ReportedConflict,
    ReportedLeftover,
    StatedFact,
)
from shiq.jobs.reports.statement_reader import NODE
from shiq.jobs.reports.words import headline, summary
from shiq.model.expressions import RDF, RDFS, XSD

PREFIXES: Final = {
    "sh": "http://www.w3.org/ns/shacl#",
    "prov": "http://www.w3.org/ns/prov#",
    "dqv": "http://www.w3.org/ns/dqv#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "rdf": RDF,
    "rdfs": RDFS,
    "xsd": XSD,
    "shiq": "urn:shiq:report:",
}
_SEVERITIES: Final = {"fail": "Violation", "warn": "Warning"}
#: What a run measures: name, definition.
_METRICS: Final = {
    "contradictions": "Minimal contradictions between the batch, the base and the ontology.",
    "insertions": "Assertions in the batch.",
    "blocking": "Statements that were not understood and keep the verdict undetermined.",
}
_Term: TypeAlias = ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple
_Values: TypeAlias = list[tuple[str, _Term]]
#: A triple: subject, prefixed name of the property, value.
_Row: TypeAlias = tuple[ox.NamedNode | ox.BlankNode, str, _Term]
_REPORT, _RUN = ox.BlankNode("report"), ox.BlankNode("run")
#: What may be an input of a run, by its name in the answer.
_INPUTS: Final = ("store", "tbox", "abox", "ontology", "insertions", "deletions", "changes")


def shacl(report: Report) -> str:
    """Render ``report`` as a SHACL validation report in Turtle."""
    triples = (
        ox.Triple(subject, _expand_name(name), value)
        for subject, name, value in _report_rows(report)
    )
    written = ox.serialize(dict.fromkeys(triples), format=ox.RdfFormat.TURTLE, prefixes=PREFIXES)
    return (written or b"").decode("utf-8")


def _report_rows(report: Report) -> Iterator[_Row]:
    """Triples of the whole validation report."""
    results = [*_conflict_results(report), *_undetermined_results(report)]
    conforms = report.verdict is Verdict.CONSISTENT and not results
    label = _make_literal(f"{headline(report)} {summary(report)}".strip())
    nodes = [ox.BlankNode(f"result{number}") for number in range(len(results))]
    head: list[_Row] = [
        (_REPORT, "rdf:type", _expand_name("sh:ValidationReport")),
        (_REPORT, "sh:conforms", ox.Literal(conforms)),
        (_REPORT, "shiq:verdict", ox.Literal(report.verdict.value)),
        (_REPORT, "rdfs:label", label),
        *((_REPORT, "sh:result", node) for node in nodes),
    ]
    yield from head
    for node, (focus, values) in zip(nodes, results):
        yield node, "rdf:type", _expand_name("sh:ValidationResult")
        yield node, "sh:focusNode", focus
        yield from ((node, name, value) for name, value in values)
    for place in range(len(report.conflicts)):
        yield from _conflict_rows(report.conflict_at(place))
    yield from _run_rows(report)


def _conflict_results(report: Report) -> Iterator[tuple[_Term, _Values]]:
    """Focus node and property values of the validation results about contradictions."""
    for group in report.causes:
        for place in group.conflicts:
            found = report.conflict_at(place)
            for line in _culprit_triples(found):
                yield (
                    line.subject,
                    [
                        ("sh:resultPath", line.predicate),
                        ("sh:value", line.object),
                        ("sh:resultMessage", _make_literal(found.sentence)),
                        (
                            "sh:resultSeverity",
                            _expand_name(f"sh:{_SEVERITIES.get(found.effect, 'Info')}"),
                        ),
                        (
                            "sh:sourceConstraintComponent",
                            _expand_name(f"shiq:{quote(group.pattern.id, safe='')}"),
                        ),
                        ("shiq:contradiction", _conflict_node(found)),
                    ],
                )
    if report.unexplained_count or (
        report.verdict is Verdict.INCONSISTENT and not report.conflicts
    ):
        yield _plain_result("contradiction", summary(report) or headline(report), "Violation")


def _culprit_triples(found: ReportedConflict) -> Sequence[ox.Triple]:
    """Main triple of each assertion that may be at fault: those of the batch, or those of the base
    if the batch has none in the conflict.
    """
    lines = [line for fact in found.insertions or found.base for line in _fact_triples(fact)]
    own = [line for line in lines if not NODE.match(str(line.subject))]
    return own or lines[:1]


def _undetermined_results(report: Report) -> Iterator[tuple[_Term, _Values]]:
    """Focus node and property values of the validation results about what keeps a verdict
    undetermined.
    """
    if report.verdict is not Verdict.UNDETERMINED:
        return
    blocking = [left for left in report.leftovers if left.blocks]
    for left in blocking:
        focus = _source_iri(left.place.source) if left.place.source else _RUN
        yield focus, _plain_result(f"leftover-{left.kind}", _leftover_message(left), "Warning")[1]
    if report.reason or not blocking:
        yield _plain_result("undetermined", report.reason or headline(report), "Warning")


def _leftover_message(left: ReportedLeftover) -> str:
    """Message about a leftover, with its file, line and hint."""
    hint = f" ({left.hint})" if left.hint else ""
    return f"{left.place}: {left.message}{hint}" if left.place.source else f"{left.message}{hint}"


def _plain_result(kind: str, message: str, severity: str) -> tuple[_Term, _Values]:
    """Focus node and property values of a validation result about the run as a whole. ``kind``:
    name of its constraint component.
    """
    return _RUN, [
        ("sh:resultMessage", _make_literal(message)),
        ("sh:resultSeverity", _expand_name(f"sh:{severity}")),
        ("sh:sourceConstraintComponent", _expand_name(f"shiq:{quote(kind)}")),
    ]


def _conflict_rows(found: ReportedConflict) -> Iterator[_Row]:
    """Triples about a contradiction: its assertions and axioms, with the files and lines of the
    assertions.
    """
    node = _conflict_node(found)
    yield node, "rdf:type", _expand_name("shiq:Contradiction")
    for side, facts in (("insertion", found.insertions), ("baseAssertion", found.base)):
        for i, fact in enumerate(facts):
            member = ox.BlankNode(f"{node.value}-{side}{i}")
            yield node, f"shiq:{side}", member
            yield member, "shiq:statement", _make_literal(fact.text)
            for place in fact.places:
                yield member, "prov:hadPrimarySource", _source_iri(place.source)
                if place.line:
                    yield member, "shiq:line", ox.Literal(place.line)
    for axiom in found.axioms:
        yield node, "shiq:axiom", _make_literal(axiom)


def _run_rows(report: Report) -> Iterator[_Row]:
    """Triples about the run: a PROV activity with its inputs and its DQV measures."""
    version = report.request.get("shiq", "")
    agent = ox.NamedNode(f"urn:shiq:{quote(str(version))}")
    yield from (
        (_REPORT, "prov:wasGeneratedBy", _RUN),
        (_RUN, "rdf:type", _expand_name("prov:Activity")),
        (_RUN, "rdfs:label", ox.Literal(f"shiq {report.command}")),
        (_RUN, "prov:wasAssociatedWith", agent),
        (agent, "rdf:type", _expand_name("prov:SoftwareAgent")),
        (agent, "rdfs:label", ox.Literal(f"shiq {version}".strip())),
    )
    if made := report.request.get("made"):
        ended = ox.Literal(str(made), datatype=_expand_name("xsd:dateTime"))
        yield _RUN, "prov:endedAtTime", ended
        yield _REPORT, "prov:generatedAtTime", ended
    inputs = {name: list(_input_names(report.request.get(name))) for name in _INPUTS}
    for name in dict.fromkeys(name for names in inputs.values() for name in names):
        yield _RUN, "prov:used", _source_iri(name)
        yield _source_iri(name), "rdf:type", _expand_name("prov:Entity")
    if snapshot := report.result.get("snapshot"):
        yield _RUN, "shiq:snapshot", ox.Literal(int(snapshot))
    judged = next(filter(None, map(inputs.get, ("insertions", "changes", "abox", "ontology"))), [])
    counts = {
        "contradictions": len(report.conflicts) + report.unexplained_count,
        "insertions": int(report.statistics.get("insertions", 0)),
        "blocking": sum(left.count for left in report.leftovers if left.blocks),
    }
    for name, definition in _METRICS.items():
        metric, measure = _expand_name(f"shiq:{name}"), ox.BlankNode(f"measure-{name}")
        rows: list[_Row] = [
            (metric, "rdf:type", _expand_name("dqv:Metric")),
            (metric, "skos:definition", ox.Literal(definition, language="en")),
            (metric, "dqv:expectedDataType", _expand_name("xsd:integer")),
            (measure, "rdf:type", _expand_name("dqv:QualityMeasurement")),
            (measure, "dqv:isMeasurementOf", metric),
            (measure, "dqv:value", ox.Literal(counts[name])),
            (measure, "prov:wasGeneratedBy", _RUN),
            *((measure, "dqv:computedOn", _source_iri(source)) for source in judged),
        ]
        yield from rows


def _input_names(given: object) -> Iterable[str]:
    """Names of the inputs that a request lists under one key (one name or a list), as an iterable."""
    return (given,) if isinstance(given, str) else map(str, given or ())  # type: ignore[call-overload]


def _make_literal(text: str) -> ox.Literal:
    """Make a string literal; an unpaired surrogate becomes a question mark."""
    return ox.Literal(text.encode("utf-8", "replace").decode("utf-8"))


def _expand_name(name: str) -> ox.NamedNode:
    """Expand a prefixed name to its IRI."""
    prefix, _, local = name.partition(":")
    return ox.NamedNode(PREFIXES[prefix] + local)


def _conflict_node(found: ReportedConflict) -> ox.BlankNode:
    """Blank node of a contradiction."""
    return ox.BlankNode(f"contradiction{found.number}")


def _source_iri(name: str) -> ox.NamedNode:
    """IRI of an input: an address stays as it is, a path becomes a file IRI, relative if it was."""
    if "://" in name:
        return ox.NamedNode(quote(name, safe="/:@,;=+$!*'()~-._?&#%[]", errors="replace"))
    path = quote(PurePath(name).as_posix(), errors="replace")
    return ox.NamedNode(f"file://{path}" if path.startswith("/") else f"file:{path}")


def _fact_triples(fact: StatedFact) -> list[ox.Triple]:
    """Parse the triples of a fact; empty if its text is no triple."""
    try:
        found = ox.parse(input=fact.text.encode(), format=ox.RdfFormat.N_TRIPLES)
        return [quad.triple for quad in found]
    except (SyntaxError, ValueError):
        return []
