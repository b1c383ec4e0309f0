"""Pellet, Openllet and Konclude as backends: programs that a user has installed, one process for
each question.

None of them says `consistent` on positive evidence by itself: a file that is missing, unreadable
or half read is consistent too. So an answer counts only with a probe. The question goes in as
one document, whose last line says that two individuals of its own differ. For `consistent`, it
goes in again with a line more against that one, which must make it inconsistent; for
`inconsistent`, the last line alone goes in, which must be consistent. The drivers of Pellet and
Openllet also say how many logical axioms they hold, which must be what was sent. Konclude says
no number: that it read all that stands before the probe rests on its reporting an error or a
warning for what it cannot read; no answer that comes with one counts.

What they are sent is what HermiT is sent: clauses written back, data as proxies
(`shiq.reasoner.hermit`).
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from shiq.deadline import seconds_left
from shiq.errors import ReasonerError
from shiq.reasoner.hermit import Budget, HermitReasoner
from shiq.reasoner.installed import Absent, InstalledPeer, find
from shiq.reasoner.jvm import find_java
from shiq.reasoner.protocol import Answer
from shiq.reasoner.sending import OntologyText
from shiq.verdict import Verdict

_PROBE = "DifferentIndividuals(<urn:shiq:probe:a> <urn:shiq:probe:b>)"
_AGAINST = "SameIndividual(<urn:shiq:probe:a> <urn:shiq:probe:b>)"

_HELD = re.compile(
    r"^peer stage=load \S+ \S+ tbox=(\d+) assertions=(\d+) unread=(\d+)$", re.MULTILINE
)
_CHECKED = re.compile(r"^peer stage=check \S+ \S+ consistent=(true|false)$", re.MULTILINE)
_ENDED = re.compile(r"^peer stage=end ", re.MULTILINE)
_KONCLUDE_VERDICT = re.compile(r">> Ontology '.*' is (consistent|inconsistent)\.")
_KONCLUDE_PARSED = re.compile(r">> Ontology parsed in \d+ ms")
_KONCLUDE_TROUBLE = re.compile(r"^\{(?:error|warning)\} \S+ >> (.*)$", re.MULTILINE)


class _Unanswered(Exception):
    """A run without an answer that counts; ``str`` is the reason."""


@dataclass(frozen=True, slots=True)
class _Said:
    """What one run says; ``held``: how many logical axioms it was seen to hold, None where it
    does not say.
    """

    consistent: bool
    held: int | None


class ExternalReasoner(HermitReasoner):
    """A reasoner of `shiq.reasoner.installed`, by its name, under its own process for each
    question.

    Raises ReasonerError where it is not installed, UsageError for a malformed ``heap`` or
    ``timeout``.
    """

    def __init__(self, name: str, heap: str = "1g", timeout: float | None = 60.0) -> None:
        super().__init__(heap, timeout)
        self.name = name
        found = find(name)
        if isinstance(found, Absent):
            raise ReasonerError(
                f"{found.peer.title} cannot be used: {found.reason}",
                "`shiq doctor` says what is there.",
            )
        self._found: InstalledPeer = found
        self._java = find_java() if found.peer.is_java else ""

    def _ask(self, bases: Sequence[OntologyText], question: OntologyText, budget: Budget) -> Answer:
        """One question, with its probe. Never raises."""
        lines = [
            line
            for document in (*bases, question)
            for line in document.text.splitlines()[1:-1]
            if line
        ]
        axioms = sum(document.axioms for document in (*bases, question))
        try:
            limit = budget.next()
            deadline = None if limit is None else time.monotonic() + limit
            said = self._run([*lines, _PROBE], axioms + 1, deadline)
            if said.consistent:
                probe = self._run([*lines, _PROBE, _AGAINST], axioms + 2, deadline)
                if probe.consistent:
                    raise _Unanswered(
                        "it calls the same with a contradiction added consistent: it has not read everything"
                    )
            elif not self._run([_PROBE], 1, deadline).consistent:
                raise _Unanswered("it calls a line that contradicts nothing inconsistent")
        except Exception as obstacle:
            return self._undetermined(obstacle if str(obstacle) else type(obstacle).__name__)
        self.sent.add(axioms + 1, said.held if said.held is not None else 0)
        return Answer(Verdict.CONSISTENT if said.consistent else Verdict.INCONSISTENT)

    def close(self) -> None:
        """Forgets what was prepared; there is no process between questions."""
        self._prepared.clear()

    # --- one run ----------------------------------------------------------------------------------

    def _run(self, lines: Sequence[str], axioms: int, deadline: float | None) -> _Said:
        """What the program says of an ontology of these lines. Raises _Unanswered, OSError."""
        with tempfile.TemporaryDirectory(prefix="shiq-peer-") as folder:
            document = Path(folder) / "question.ofn"
            document.write_text("\n".join(["Ontology(", *lines, ")", ""]), encoding="utf-8")
            (Path(folder) / "nothing.nt").touch()
            code, text = _output(self._command(Path(folder)), Path(folder), deadline)
        said = _java(text) if self._found.peer.is_java else _konclude(text)
        if code:
            raise _Unanswered(f"exit code {code}: {_last(text)}")
        if said is None:
            raise _Unanswered(f"no verdict that counts: {_last(text)}")
        if said.held is not None and said.held != axioms:
            raise _Unanswered(f"it holds {said.held} axioms where {axioms} were sent")
        return said

    def _command(self, folder: Path) -> list[str]:
        peer = self._found.peer
        document = str(folder / "question.ofn")
        if not peer.is_java:
            # With one thread, its default, it can wait for itself for ever.
            return [self._found.program, "consistency", "-w", "2", "-v", "-i", document]
        options = [
            f"-Xmx{self._heap}",
            "-Xss16m",
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
            f"-Djava.io.tmpdir={folder}",
        ]
        driver = [
            "PeerDriver",
            peer.factory,
            peer.options,
            "scratch",
            document,
            str(folder / "nothing.nt"),
            "-",
        ]
        return [self._java, *options, "-cp", self._found.class_path, *driver]


def _output(command: Sequence[str], folder: Path, deadline: float | None) -> tuple[int, str]:
    """Exit code and output. The whole process group is killed at the ``deadline``. Raises
    _Unanswered, OSError.
    """
    left = seconds_left(deadline)
    with (folder / "output").open("w+b") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            start_new_session=True,
        )
        try:
            code = process.wait(left)
        except subprocess.TimeoutExpired:
            raise _Unanswered("no answer in time; it was killed") from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        output.seek(0)
        return code, output.read().decode("utf-8", "replace")


def _java(text: str) -> _Said | None:
    held, checked = _HELD.search(text), _CHECKED.search(text)
    if held is None or checked is None or _ENDED.search(text) is None or int(held[3]):
        return None
    return _Said(checked[1] == "true", int(held[1]) + int(held[2]))


def _konclude(text: str) -> _Said | None:
    verdict = _KONCLUDE_VERDICT.search(text)
    if verdict is None or _KONCLUDE_PARSED.search(text) is None or _KONCLUDE_TROUBLE.search(text):
        return None
    return _Said(verdict[1] == "consistent", None)


def _last(text: str) -> str:
    """The line of ``text`` that tells most."""
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if "Exception" in line or "rror" in line]
    return (telling[0] if telling else lines[-1] if lines else "it says nothing")[:300]
