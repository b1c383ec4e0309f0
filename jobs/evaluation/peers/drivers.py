"""Ask peers, the other reasoners of a comparison: make the command, run it, and read the answer
from its output.

An answer counts only if the peer is seen to have read and checked everything: Konclude, for one,
calls a file that it cannot find consistent, with exit code 0.
"""

from __future__ import annotations

import json
import os
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from shiq.errors import OperationalError
from shiq.functional import ontology_text
from shiq.inputs.reading import Reading
from shiq.jobs.evaluation.evaluate.process import MeterReading, run_metered
from shiq.jobs.evaluation.peers import owl_rl
from shiq.jobs.evaluation.peers.install import OWL_RL, environment_python
from shiq.model import OWL, RDF, Assertion, Axiom
from shiq.model.walk import is_reserved
from shiq.reasoner.external import (
    INCREMENTAL,
    InstalledReasoner,
    MissingReasoner,
    find_external_reasoner,
)
from shiq.reasoner.jvm import DRIVER
from shiq.reasoner.ontology_text import make_sendable, write_ontology_text
from shiq.reasoner.structure import entity_kinds

_QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
_STAGE = re.compile(r"^peer stage=(\S+) seconds=([\d.]+)(.*)$", re.MULTILINE)
_PAIR = re.compile(r"(\w+)=(\S+)")
_KONCLUDE_VERDICT = re.compile(r">> Ontology '.*' is (consistent|inconsistent)\.")
_KONCLUDE_PARSED = re.compile(r">> Ontology parsed in (\d+) ms")
_KONCLUDE_ERROR = re.compile(r"^\{error\} \S+ >> (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class PeerQuestion:
    """Consistency question to another reasoner: TBox, base and batch as files.

    document: file for all three in functional syntax, for a reasoner that cannot read N-Triples
    """

    tbox: Path
    base: Path
    batch: Path
    document: Path


@dataclass(frozen=True)
class PeerVerdicts:
    """Verdicts, times and counts in the output of another reasoner.

    read, unread: numbers of assertions read, and of lines that could not be read
    trouble: why there is no verdict, or ""
    """

    verdict: str = ""
    base_verdict: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict)
    cpu_seconds: Mapping[str, float] = field(default_factory=dict)
    read: int | None = None
    unread: int = 0
    trouble: str = ""


def java_class_path(peer: InstalledReasoner) -> str:
    """Class path of a reasoner in Java: its driver and its jars."""
    return os.pathsep.join([str(DRIVER), str(Path(__file__).parent), *peer.jars])


def make_command(found: InstalledReasoner, question: PeerQuestion, heap: str) -> list[str]:
    """Make the command that puts a question to another reasoner."""
    peer = found.peer
    if not peer.is_java:
        # With one thread, its default, it can wait for itself for ever.
        return [found.program, "consistency", "-w", "2", "-v", "-i", str(question.document)]
    engine = "incremental" if peer.engine == INCREMENTAL else "scratch"
    files = map(str, (question.tbox, question.base, question.batch))
    return [
        found.program,
        f"-Xmx{heap}",
        _QUIET,
        "-cp",
        java_class_path(found),
        "PeerDriver",
        peer.factory,
        peer.options,
        engine,
        *files,
    ]


def read_verdicts(peer: InstalledReasoner, run: MeterReading) -> PeerVerdicts:
    """Read the verdicts in the output of a reasoner's run."""
    return _read_java_output(run) if peer.peer.is_java else _read_konclude_output(run)


def _read_java_output(run: MeterReading) -> PeerVerdicts:
    """Read the output of the Java driver: verdicts, seconds and counts by stage."""
    seconds: dict[str, float] = {}
    said: dict[str, dict[str, str]] = {}
    for name, value, rest in _STAGE.findall(run.stdout):
        stage = name.replace("-", " ")
        seconds[stage] = float(value)
        said[stage] = dict(_PAIR.findall(rest))
    ended = said.pop("end", None) is not None
    seconds.pop("end", None)
    verdicts = {
        stage: _parse_verdict(pairs["consistent"])
        for stage, pairs in said.items()
        if "consistent" in pairs
    }
    final = verdicts.get("step") or verdicts.get("check") or ""
    counted = [int(pairs["assertions"]) for pairs in said.values() if "assertions" in pairs]
    unread = max((int(pairs["unread"]) for pairs in said.values() if "unread" in pairs), default=0)
    trouble = "" if ended and final and not run.code else run.error_summary()
    return PeerVerdicts(
        "" if trouble else final,
        verdicts.get("first check", ""),
        seconds,
        {stage: float(pairs["cpu"]) for stage, pairs in said.items() if "cpu" in pairs},
        sum(counted) if counted else None,
        unread,
        trouble,
    )


def _parse_verdict(word: str) -> str:
    """Verdict for the word true or false of the Java driver."""
    return {"true": "consistent", "false": "inconsistent"}[word]


def _read_konclude_output(run: MeterReading) -> PeerVerdicts:
    """Read the verdict and times in the output of Konclude."""
    text = run.stdout + "\n" + run.stderr
    errors = _KONCLUDE_ERROR.findall(text)
    verdict = _KONCLUDE_VERDICT.search(text)
    parsed = _KONCLUDE_PARSED.search(text)
    if run.code or errors or not verdict or not parsed:
        trouble = "; ".join(errors[:2]) or run.error_summary()
        return PeerVerdicts(trouble=trouble)
    load = int(parsed[1]) / 1000
    return PeerVerdicts(
        verdict[1], seconds={"load": load, "check": max(0.0, run.wall_seconds - load)}
    )


@dataclass(frozen=True)
class PeerCheck:
    """Result of checking a base and a batch by another reasoner: resources used, verdicts and
    times.

    seconds, cpu_seconds: from the batch to the answer; the whole run if the reasoner starts from
    scratch.
    left_out: number of lines that the reasoner was not sent.
    """

    reading: MeterReading
    verdicts: PeerVerdicts
    seconds: float
    cpu_seconds: float
    left_out: int = 0

    @property
    def outcome(self) -> str:
        """Outcome of the check: answered, limit (time limit reached) or crash."""
        if self.reading.is_expired:
            return "limit"
        return "crash" if self.verdicts.trouble else "answered"


def ask_peer(
    peer: InstalledReasoner,
    question: PeerQuestion,
    ontology: Callable[[], Reading],
    limit: float,
    heap: str,
) -> PeerCheck:
    """Let another reasoner check a base and a batch, within ``limit`` seconds; its files are
    written beside the question's document.

    ontology: reads the TBox, for a reasoner that cannot read N-Triples.
    """
    folder, left_out = question.document.parent, 0
    folder.mkdir(parents=True, exist_ok=True)
    if not peer.peer.is_java:
        left_out = write_peer_document(
            question.document, ontology(), (question.base, question.batch)
        )
    used = run_metered(make_command(peer, question, heap), limit, folder)
    question.document.unlink(missing_ok=True)
    verdicts, seconds, cpu_seconds = read_verdicts(peer, used), used.wall_seconds, used.cpu_seconds
    is_answered = not used.is_expired and not verdicts.trouble
    if is_answered and peer.peer.engine == INCREMENTAL:
        seconds, cpu_seconds = (
            sum(times[stage] for stage in ("reading the batch", "step"))
            for times in (verdicts.seconds, verdicts.cpu_seconds)
        )
    return PeerCheck(used, verdicts, seconds, cpu_seconds, left_out)


# --- events: the types of their individuals -------------------------------------------------------

_OWL_XML = f"{{{OWL}}}"
_KINDS = {
    "class": "Class",
    "object property": "ObjectProperty",
    "data property": "DataProperty",
    "individual": "NamedIndividual",
    "datatype": "Datatype",
}


@dataclass(frozen=True)
class PeerLauncher:
    """Launcher of a reasoner's commands: folder for their files, time limit in seconds, and heap of
    the JVM.
    """

    folder: Path
    limit: float
    heap: str = "4g"

    def run_command(self, title: str, words: Sequence[str]) -> MeterReading:
        """Run a command. Raises: OperationalError if it fails or reaches the limit."""
        used = run_metered(words, self.limit, self.folder / "run")
        if used.is_expired:
            raise OperationalError(f"{title} was stopped after {self.limit:g} s", "Raise --limit.")
        if used.code:
            raise OperationalError(f"{title}: {used.error_summary()}", "Leave it out of --peers.")
        return used


@dataclass(frozen=True)
class PeerEventAnswer:
    """Answer of another reasoner about one event: CPU seconds, and pairs of individual and class."""

    seconds: float
    types: frozenset[tuple[str, str]]


def require_peer(name: str) -> InstalledReasoner:
    """Find an installed reasoner by name. Raises: OperationalError if it is absent."""
    found = find_external_reasoner(name)
    if isinstance(found, MissingReasoner):
        raise OperationalError(f"{found.peer.title} is absent: {found.reason}", "Install it.")
    return found


def write_with_declarations(
    target: Path,
    axioms: Iterable[Axiom],
    assertions: Iterable[Assertion],
    more: Iterable[Assertion] = (),
) -> Path:
    """Write axioms and assertions in functional syntax, with declarations for their names and those
    of ``more``.
    """
    sent, said = make_sendable(axioms, assertions)
    whole = write_ontology_text([*sent, *said])
    used = whole.entities | entity_kinds([*make_sendable((), more)[1]])
    named = sorted((kind, iri) for kind, iri in used if not is_reserved(iri))
    declared = "".join(f"Declaration({_KINDS[kind]}(<{iri}>))\n" for kind, iri in named)
    head = f"Ontology(<urn:whole>\n{declared}"
    target.write_text(whole.text.replace("Ontology(", head, 1), encoding="utf-8")
    return target


def ask_java_peer(
    name: str, static: Path, events: Sequence[Path], run: PeerLauncher, asks: str = "types"
) -> list[PeerEventAnswer]:
    """Let a reasoner in Java answer for each event, together with the static data and the ontology
    in the document ``static``; all in one JVM.

    asks: "types" of the individuals of an event, or "instances" of all classes.
    Raises: OperationalError.
    """
    found = require_peer(name)
    program = [
        found.program,
        f"-Xmx{run.heap}",
        _QUIET,
        "-cp",
        java_class_path(found),
        "PeerDriver",
    ]
    words = [found.peer.factory, "-", asks, str(static), *map(str, events)]
    used = run.run_command(found.peer.title, [*program, *words])
    answers, types, ended = list[PeerEventAnswer](), set[tuple[str, str]](), False
    for line in used.stdout.splitlines():
        stage = _STAGE.match(line)
        if stage is None:
            one, _, name = line.partition("\t")
            types.add((one, name))
            continue
        pairs = dict(_PAIR.findall(stage[3]))
        ended = stage[1] == "end"
        if pairs.get("unread", "0") != "0":
            raise OperationalError(
                f"{found.peer.title} did not read {pairs['unread']} lines", "Please report this."
            )
        if stage[1] == "event":
            answers.append(PeerEventAnswer(float(pairs["cpu"]), frozenset(types)))
            types = set()
    if not ended or len(answers) != len(events):
        raise OperationalError(
            f"{found.peer.title}: {used.error_summary()}", "Leave it out of --peers."
        )
    return answers


def ask_konclude(document: Path, run: PeerLauncher) -> PeerEventAnswer:
    """Let Konclude compute the types of all individuals in a document. Raises: OperationalError."""
    konclude, out = require_peer("konclude"), run.folder / "types.xml"
    used = run.run_command(
        "Konclude",
        [konclude.program, "realization", "-w", "2", "-i", str(document), "-o", str(out)],
    )
    types = set()
    for assertion in ET.parse(out).getroot().iter(f"{_OWL_XML}ClassAssertion"):
        parts = {part.tag: part.get("IRI", "") for part in assertion}
        types.add((parts[f"{_OWL_XML}NamedIndividual"], parts[f"{_OWL_XML}Class"]))
    return PeerEventAnswer(used.cpu_seconds, frozenset(types))


def ask_owl_rl(engine: str, files: Sequence[Path], run: PeerLauncher) -> PeerEventAnswer:
    """Compute the OWL RL closure of RDF files by reasonable or owlrl; return the types. Raises:
    OperationalError.
    """
    program = [str(environment_python(OWL_RL)), str(owl_rl.__file__), engine]
    answer = json.loads(run.run_command(engine, [*program, *map(str, files)]).stdout)
    return PeerEventAnswer(
        answer["seconds"], frozenset((one, name) for one, name in answer["types"])
    )


# Ontology and N-Triples together as functional-style syntax, for peers that read no N-Triples.


_LINE = re.compile(
    r'\s*(<[^<>"{}|^`\s]+>|_:\S+)\s+(<[^<>"{}|^`\s]+>)\s+(<[^<>"{}|^`\s]+>|_:\S+|".*)\s*\.\s*'
)
_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"(?:\^\^(<[^<>\s]+>)|(@[A-Za-z0-9-]+))?')
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")
_SHORT = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}
_TYPE, _SAME, _DIFFERENT = f"<{RDF}type>", f"<{OWL}sameAs>", f"<{OWL}differentFrom>"


def write_peer_document(target: Path, ontology: Reading, triples: Iterable[Path]) -> int:
    """Write an ontology and N-Triples files to one document in functional syntax.

    Returns the number of lines left out: no triples, or with a predicate that the ontology does not
    declare.
    """
    signature = ontology.tbox.signature
    object_properties = frozenset(f"<{iri}>" for iri in signature.object_properties)
    data_properties = frozenset(f"<{iri}>" for iri in signature.data_properties)
    head = ontology_text(ontology.tbox.axioms, ontology.abox).rstrip()
    assert head.endswith(")")
    left_out = 0
    with target.open("w", encoding="utf-8") as file:
        file.write(head[:-1])
        # A property that no axiom of the TBox mentions still needs its declaration.
        for kind, properties in (
            ("ObjectProperty", object_properties),
            ("DataProperty", data_properties),
        ):
            file.writelines(f"Declaration({kind}({iri}))\n" for iri in sorted(properties))
        for line in _read_triple_lines(triples):
            written = triple_to_functional(line, object_properties, data_properties)
            if written:
                file.write(written + "\n")
            else:
                left_out += 1
        file.write(")\n")
    return left_out


def _read_triple_lines(paths: Iterable[Path]) -> Iterator[str]:
    """Yield the lines of files, without blank lines and comments."""
    for path in paths:
        with path.open(encoding="utf-8") as file:
            yield from (line for line in file if line.strip() and not line.startswith("#"))


def triple_to_functional(
    line: str, object_properties: frozenset[str], data_properties: frozenset[str]
) -> str:
    """Convert an N-Triples line to functional syntax; "" if it is no triple or its predicate is
    unknown.

    >>> triple_to_functional('<urn:a> <urn:f> "1" .', frozenset(), frozenset(["<urn:f>"]))
    'DataPropertyAssertion(<urn:f> <urn:a> "1")'
    """
    found = _LINE.fullmatch(line)
    if found is None:
        return ""
    s, p, o = found.groups()
    o = o.rstrip()
    if o.startswith('"'):
        literal = _LITERAL.fullmatch(o)
        if literal is None or p not in data_properties:
            return ""
        lexical, datatype, tag = literal.groups()
        return f'DataPropertyAssertion({p} {s} "{_reescape_literal(lexical)}"{f"^^{datatype}" if datatype else tag or ""})'
    if p == _TYPE:
        return f"ClassAssertion({o} {s})"
    if p == _SAME:
        return f"SameIndividual({s} {o})"
    if p == _DIFFERENT:
        return f"DifferentIndividuals({s} {o})"
    return f"ObjectPropertyAssertion({p} {s} {o})" if p in object_properties else ""


def _reescape_literal(lexical: str) -> str:
    """Convert the escape sequences in an N-Triples literal to those of functional syntax."""
    if "\\" not in lexical:
        return lexical
    text = _ESCAPE.sub(_unescape_character, lexical)
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _unescape_character(found: re.Match[str]) -> str:
    """Decode the escape sequence of N-Triples that a match found."""
    code = found[1] or found[2]
    return chr(int(code, 16)) if code else _SHORT.get(found[3], found[3])
