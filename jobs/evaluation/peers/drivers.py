"""What a peer is asked, as a command, and what its output says.

An answer counts only if the peer is seen to have read and checked everything: Konclude, for one,
calls a file that it cannot find consistent, with exit code 0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from jobs.evaluation.evaluate.process import MeterReading
from shiq.reasoner.installed import INCREMENTAL, InstalledPeer

_STAGE = re.compile(r"^peer stage=(\S+) seconds=([\d.]+)(.*)$", re.MULTILINE)
_PAIR = re.compile(r"(\w+)=(\S+)")
_KONCLUDE_VERDICT = re.compile(r">> Ontology '.*' is (consistent|inconsistent)\.")
_KONCLUDE_PARSED = re.compile(r">> Ontology parsed in (\d+) ms")
_KONCLUDE_ERROR = re.compile(r"^\{error\} \S+ >> (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class PeerQuestion:
    """TBox, base and batch as files; ``document``: all of it in functional syntax, for a peer
    that reads nothing else.
    """

    tbox: Path
    base: Path
    batch: Path
    document: Path


@dataclass(frozen=True)
class PeerVerdicts:
    """What a peer's output says: the verdicts on the base (if it was checked by itself) and on
    base and batch, "" where none was reached; wall and CPU seconds by stage; how many assertions
    it read, and how many lines it could not.
    """

    verdict: str = ""
    base_verdict: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict)
    cpu_seconds: Mapping[str, float] = field(default_factory=dict)
    read: int | None = None
    unread: int = 0
    trouble: str = ""


def command(found: InstalledPeer, question: PeerQuestion, heap: str) -> list[str]:
    """The command that puts ``question`` to the peer."""
    peer = found.peer
    if not peer.is_java:
        # With one thread, its default, it can wait for itself for ever.
        return [found.program, "consistency", "-w", "2", "-v", "-i", str(question.document)]
    engine = "incremental" if peer.engine == INCREMENTAL else "scratch"
    files = map(str, (question.tbox, question.base, question.batch))
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
    return [
        found.program,
        f"-Xmx{heap}",
        quiet,
        "-cp",
        found.class_path,
        "PeerDriver",
        peer.factory,
        peer.options,
        engine,
        *files,
    ]


def told(found: InstalledPeer, run: MeterReading) -> PeerVerdicts:
    """What ``run`` of the peer says."""
    return _java(run) if found.peer.is_java else _konclude(run)


def _java(run: MeterReading) -> PeerVerdicts:
    seconds: dict[str, float] = {}
    said: dict[str, dict[str, str]] = {}
    for name, value, rest in _STAGE.findall(run.out):
        stage = name.replace("-", " ")
        seconds[stage] = float(value)
        said[stage] = dict(_PAIR.findall(rest))
    ended = said.pop("end", None) is not None
    seconds.pop("end", None)
    verdicts = {
        stage: _verdict(pairs["consistent"])
        for stage, pairs in said.items()
        if "consistent" in pairs
    }
    final = verdicts.get("step") or verdicts.get("check") or ""
    counted = [int(pairs["assertions"]) for pairs in said.values() if "assertions" in pairs]
    unread = max((int(pairs["unread"]) for pairs in said.values() if "unread" in pairs), default=0)
    trouble = "" if ended and final and not run.code else run.complaint()
    return PeerVerdicts(
        "" if trouble else final,
        verdicts.get("first check", ""),
        seconds,
        {stage: float(pairs["cpu"]) for stage, pairs in said.items() if "cpu" in pairs},
        sum(counted) if counted else None,
        unread,
        trouble,
    )


def _verdict(word: str) -> str:
    return {"true": "consistent", "false": "inconsistent"}[word]


def _konclude(run: MeterReading) -> PeerVerdicts:
    text = run.out + "\n" + run.err
    errors = _KONCLUDE_ERROR.findall(text)
    verdict = _KONCLUDE_VERDICT.search(text)
    parsed = _KONCLUDE_PARSED.search(text)
    if run.code or errors or not verdict or not parsed:
        trouble = "; ".join(errors[:2]) or run.complaint()
        return PeerVerdicts(trouble=trouble)
    load = int(parsed[1]) / 1000
    return PeerVerdicts(
        verdict[1], seconds={"load": load, "check": max(0.0, run.wall_seconds - load)}
    )
