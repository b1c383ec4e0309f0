"""Pellet, Openllet and Konclude as backends, which a user has installed.

None of them says `consistent` on positive evidence by itself: a file that is missing, unreadable
or half read is consistent too. So an answer counts only with a probe. The question goes in with
one line more, which says that two individuals of its own differ. For `consistent`, it goes in
again with a line against that one, which must make it inconsistent; for `inconsistent`, the
probe alone goes in, which must be consistent. Pellet and Openllet run in a JVM as HermiT does,
where axioms and names are counted. Konclude is a process for each question, and says no number:
that it read all that stands before the probe rests on its reporting an error or a warning for
what it cannot read; no answer that comes with one counts.

What they are sent is what HermiT is sent: clauses written back, data as proxies
(`shiq.reasoner.hermit`).

Reasoners that a user has installed beside shiq: which there are, and where they are found.

Pellet and Openllet (AGPL), a newer HermiT and Konclude (LGPL). None of them comes with shiq:
``python -m shiq.jobs.evaluation.peers.install`` fetches the Java ones on request, into a directory of
the user's; Konclude is a program of its own. Each runs in a process of its own; none is loaded
here.
"""

from __future__ import annotations

import os
import re
import shutil
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
from shiq.reasoner.jvm import JavaReasoner, JvmFailure, find_java
from shiq.reasoner.ontology_text import OntologyText
from shiq.reasoner.protocol import Answer

#: What a peer does with a batch: takes it in, or starts over with base and batch.
INCREMENTAL, SCRATCH = "incremental", "from scratch"

#: Settings: the directory that the Java peers are installed in; the path of Konclude.
HOME_SETTING, KONCLUDE_SETTING = "SHIQ_PEERS_HOME", "SHIQ_KONCLUDE"


@dataclass(frozen=True)
class InstallableReasoner:
    """A reasoner of another project that users install themselves.

    factory: Java class that creates it behind the OWL API
    options: Java class of its incremental options
    """

    name: str
    title: str
    licence: str
    engine: str
    factory: str = ""
    options: str = "-"

    @property
    def is_agpl(self) -> bool:
        """Decide whether its licence is the AGPL."""
        return self.licence.startswith("AGPL")

    @property
    def is_java(self) -> bool:
        """Decide whether it runs in a JVM."""
        return bool(self.factory)


PEERS: dict[str, InstallableReasoner] = {
    peer.name: peer
    for peer in (
        InstallableReasoner(
            "pellet",
            "Pellet 2.3.6",
            "AGPL-3.0",
            INCREMENTAL,
            "com.clarkparsia.pellet.owlapiv3.PelletReasonerFactory",
            "org.mindswap.pellet.PelletOptions",
        ),
        InstallableReasoner(
            "openllet",
            "Openllet 2.6.5",
            "AGPL-3.0",
            INCREMENTAL,
            "openllet.owlapi.OpenlletReasonerFactory",
            "openllet.core.OpenlletOptions",
        ),
        InstallableReasoner(
            "hermit", "HermiT 1.4.5", "LGPL-3.0", SCRATCH, "org.semanticweb.HermiT.ReasonerFactory"
        ),
        InstallableReasoner("konclude", "Konclude", "LGPL-3.0", SCRATCH),
    )
}

#: Reasoners for less than OWL 2 DL, whose silence says nothing: for benchmarks alone.
INCOMPLETE = {
    "elk": InstallableReasoner(
        "elk", "ELK 0.6.0", "Apache-2.0", SCRATCH, "org.semanticweb.elk.owlapi.ElkReasonerFactory"
    )
}


@dataclass(frozen=True)
class InstalledReasoner:
    """An external reasoner that was found on this machine: the program to start, and for Java the
    jars.
    """

    peer: InstallableReasoner
    program: str
    jars: tuple[str, ...] = ()


@dataclass(frozen=True)
class MissingReasoner:
    """An external reasoner that was not found on this machine, with the reason."""

    peer: InstallableReasoner
    reason: str


def external_reasoners_home() -> Path:
    """Return the folder of the external Java reasoners: $SHIQ_PEERS_HOME, else shiq/peers in the
    user's data directory.
    """
    setting = os.environ.get(HOME_SETTING)
    if setting:
        return Path(setting)
    data = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(data) / "shiq" / "peers"


def find_external_reasoner(
    name: str, folder: Path | None = None
) -> InstalledReasoner | MissingReasoner:
    """Find the external reasoner called ``name``, one of `PEERS` or `INCOMPLETE`, in ``folder``
    (default: `external_reasoners_home`).
    """
    peer = (PEERS | INCOMPLETE)[name]
    return (
        _find_java_reasoner(peer, folder or external_reasoners_home())
        if peer.is_java
        else _find_konclude(peer)
    )


def _find_java_reasoner(
    peer: InstallableReasoner, folder: Path
) -> InstalledReasoner | MissingReasoner:
    """Find an external Java reasoner by its jars."""
    jars = sorted((folder / peer.name / "jars").glob("*.jar"))
    if not jars:
        agpl = " --accept-agpl" if peer.is_agpl else ""
        how = f"python -m shiq.jobs.evaluation.peers.install {peer.name}{agpl}"
        shown = (
            f"~/{folder.relative_to(Path.home())}" if folder.is_relative_to(Path.home()) else folder
        )
        return MissingReasoner(
            peer,
            f"not installed in {shown}; `{how}` does that"
            + (f" ({peer.licence})" if peer.is_agpl else ""),
        )
    java = shutil.which("java")
    if java is None:
        return MissingReasoner(peer, "no java on the PATH")
    return InstalledReasoner(peer, java, tuple(map(str, jars)))


def _find_konclude(peer: InstallableReasoner) -> InstalledReasoner | MissingReasoner:
    """Find Konclude by its environment variable or on the PATH."""
    setting = os.environ.get(KONCLUDE_SETTING)
    program = shutil.which(setting or "Konclude")
    if program is None:
        where = (
            f"{KONCLUDE_SETTING}={setting} cannot be run"
            if setting
            else f"no Konclude on the PATH; {KONCLUDE_SETTING} can name one"
        )
        return MissingReasoner(peer, f"{where} (Debian's package konclude has it)")
    return InstalledReasoner(peer, program)


_PROBE = "DifferentIndividuals(<urn:shiq:probe:a> <urn:shiq:probe:b>)"
_AGAINST = "SameIndividual(<urn:shiq:probe:a> <urn:shiq:probe:b>)"
_NAMES = frozenset(("individual", f"urn:shiq:probe:{name}") for name in "ab")
_HEAD, _END = "Ontology(\n", ")\n"
_EMPTY = OntologyText(_HEAD + _END, 0, frozenset())

_VERDICT = re.compile(r">> Ontology '.*' is (consistent|inconsistent)\.")
_PARSED = re.compile(r">> Ontology parsed in \d+ ms")
_TROUBLE = re.compile(r"^\{(?:error|warning)\} \S+ >> (.*)$", re.MULTILINE)


class _NoAnswerError(JvmFailure):
    """Error: a run of an external reasoner gave no valid answer; ``str`` is the reason."""


class ExternalReasoner(HermitReasoner):
    """Adapter that asks an installed external reasoner.

    Raises: ReasonerError if it is not installed, UsageError for a malformed ``heap`` or
        ``timeout``.
    """

    def __init__(self, name: str, heap: str = "1g", timeout: float | None = 60.0) -> None:
        super().__init__(heap, timeout)
        self.name = name
        found = find_external_reasoner(name)
        if isinstance(found, MissingReasoner):
            raise ReasonerError(
                f"{found.peer.title} cannot be used: {found.reason}",
                "`shiq doctor` says what is there.",
            )
        self._program = found.program
        if found.peer.is_java:
            find_java()
            self._java = JavaReasoner(found.peer.factory, found.jars)

    def _ask(self, bases: Sequence[OntologyText], question: OntologyText, budget: Budget) -> Answer:
        """Ask one question, with a second one that checks whether the reasoner read all of it.
        Never raises.
        """
        try:
            return super()._ask(bases, question, budget)
        except Exception as obstacle:
            return self._undetermined_answer(obstacle if str(obstacle) else type(obstacle).__name__)

    def _is_consistent(
        self, bases: Sequence[OntologyText], question: OntologyText, budget: Budget
    ) -> bool:
        """Decide one question, and check by a known contradiction that the reasoner read all of it."""
        limit = budget.next_seconds()
        both = Budget(None, None if limit is None else time.monotonic() + limit)
        consistent = self._run(bases, _add_probe_lines(question, _PROBE), both)
        if consistent and self._run(bases, _add_probe_lines(question, _PROBE, _AGAINST), both):
            raise _NoAnswerError(
                "it calls the same with a contradiction added consistent: it has not read everything"
            )
        if not consistent and not self._run((), _add_probe_lines(_EMPTY, _PROBE), both):
            raise _NoAnswerError("it calls a line that contradicts nothing inconsistent")
        axioms = sum(document.axioms for document in (*bases, question)) + 1
        self.sent_questions.count_question(axioms, 0 if self._java is None else axioms)
        return consistent

    def _run(self, bases: Sequence[OntologyText], question: OntologyText, budget: Budget) -> bool:
        """Run the reasoner on one ontology; return whether it calls it consistent. Raises:
        JvmFailure, ReasonerError, OSError.
        """
        if self._java is not None:
            return super()._run(bases, question, budget)
        lines = "".join(document.text[len(_HEAD) : -len(_END)] for document in (*bases, question))
        with tempfile.TemporaryDirectory(prefix="shiq-peer-") as folder:
            file = Path(folder) / "question.ofn"
            file.write_text(f"{_HEAD}{lines}{_END}", encoding="utf-8")
            # With one thread, its default, it can wait for itself for ever.
            command = [self._program, "consistency", "-w", "2", "-v", "-i", str(file)]
            code, text = _run_command(command, Path(folder), budget.deadline)
        verdict = _VERDICT.search(text)
        if code:
            raise _NoAnswerError(f"exit code {code}: {_informative_line(text)}")
        if verdict is None or _PARSED.search(text) is None or _TROUBLE.search(text):
            raise _NoAnswerError(f"no verdict that counts: {_informative_line(text)}")
        return verdict[1] == "consistent"


def _add_probe_lines(question: OntologyText, *lines: str) -> OntologyText:
    """Add lines about two individuals to ``question``, by which `ExternalReasoner._is_consistent`
    checks that all was read.
    """
    text = "".join((question.text[: -len(_END)], *(f"{line}\n" for line in lines), _END))
    return OntologyText(text, question.axioms + len(lines), question.entities | _NAMES)


def _run_command(command: Sequence[str], folder: Path, deadline: float | None) -> tuple[int, str]:
    """Run a command in ``folder``; return its exit code and output. Raises: _NoAnswerError,
    OSError.

    At the ``deadline`` the whole process group is killed.
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
            raise _NoAnswerError("no answer in time; it was killed") from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        output.seek(0)
        return code, output.read().decode("utf-8", "replace")


def _informative_line(text: str) -> str:
    """Select the line of a program's output that says most about its failure."""
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if "Exception" in line or "rror" in line]
    return (telling[0] if telling else lines[-1] if lines else "it says nothing")[:300]
