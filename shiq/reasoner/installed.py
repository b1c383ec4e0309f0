"""Reasoners that a user has installed beside shiq: which there are, and where they are found.

Pellet and Openllet (AGPL), a newer HermiT and Konclude (LGPL). None of them comes with shiq:
``python -m jobs.evaluation.peers.install`` fetches the Java ones on request, into a directory of
the user's; Konclude is a program of its own. Each runs in a process of its own; none is loaded
here.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

#: What a peer does with a batch: takes it in, or starts over with base and batch.
INCREMENTAL, SCRATCH = "incremental", "from scratch"

#: Settings: the directory that the Java peers are installed in; the path of Konclude.
HOME_SETTING, KONCLUDE_SETTING = "SHIQ_PEERS_HOME", "SHIQ_KONCLUDE"


@dataclass(frozen=True)
class Peer:
    """A reasoner. ``factory``: the class that makes it behind the OWL API; ``options``: that of
    its incremental options.
    """

    name: str
    title: str
    licence: str
    engine: str
    factory: str = ""
    options: str = "-"

    @property
    def is_agpl(self) -> bool:
        return self.licence.startswith("AGPL")

    @property
    def is_java(self) -> bool:
        return bool(self.factory)


PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        Peer(
            "pellet",
            "Pellet 2.3.6",
            "AGPL-3.0",
            INCREMENTAL,
            "com.clarkparsia.pellet.owlapiv3.PelletReasonerFactory",
            "org.mindswap.pellet.PelletOptions",
        ),
        Peer(
            "openllet",
            "Openllet 2.6.5",
            "AGPL-3.0",
            INCREMENTAL,
            "openllet.owlapi.OpenlletReasonerFactory",
            "openllet.core.OpenlletOptions",
        ),
        Peer(
            "hermit", "HermiT 1.4.5", "LGPL-3.0", SCRATCH, "org.semanticweb.HermiT.ReasonerFactory"
        ),
        Peer("konclude", "Konclude", "LGPL-3.0", SCRATCH),
    )
}

#: Reasoners for less than OWL 2 DL, whose silence says nothing: for benchmarks alone.
INCOMPLETE = {
    "elk": Peer(
        "elk", "ELK 0.6.0", "Apache-2.0", SCRATCH, "org.semanticweb.elk.owlapi.ElkReasonerFactory"
    )
}


@dataclass(frozen=True)
class InstalledPeer:
    """A peer that is there: the program to start, and for Java the class path."""

    peer: Peer
    program: str
    class_path: str = ""


@dataclass(frozen=True)
class Absent:
    """A peer that is not there, and why."""

    peer: Peer
    reason: str


def home() -> Path:
    """Where the Java peers are installed: $SHIQ_PEERS_HOME, else shiq/peers in the user's data
    directory.
    """
    setting = os.environ.get(HOME_SETTING)
    if setting:
        return Path(setting)
    data = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(data) / "shiq" / "peers"


def find(name: str, folder: Path | None = None) -> InstalledPeer | Absent:
    """The peer called ``name``, one of `PEERS` or `INCOMPLETE`, installed in ``folder``
    (default: `home`).
    """
    peer = (PEERS | INCOMPLETE)[name]
    return _find_java(peer, folder or home()) if peer.is_java else _find_konclude(peer)


def _find_java(peer: Peer, folder: Path) -> InstalledPeer | Absent:
    own = folder / peer.name
    jars = sorted((own / "jars").glob("*.jar"))
    if not jars or not (own / "classes" / "PeerDriver.class").is_file():
        agpl = " --accept-agpl" if peer.is_agpl else ""
        how = f"python -m jobs.evaluation.peers.install {peer.name}{agpl}"
        shown = (
            f"~/{folder.relative_to(Path.home())}" if folder.is_relative_to(Path.home()) else folder
        )
        return Absent(
            peer,
            f"not installed in {shown}; `{how}` does that"
            + (f" ({peer.licence})" if peer.is_agpl else ""),
        )
    java = shutil.which("java")
    if java is None:
        return Absent(peer, "no java on the PATH")
    return InstalledPeer(peer, java, os.pathsep.join(map(str, [own / "classes", *jars])))


def _find_konclude(peer: Peer) -> InstalledPeer | Absent:
    setting = os.environ.get(KONCLUDE_SETTING)
    program = shutil.which(setting or "Konclude")
    if program is None:
        where = (
            f"{KONCLUDE_SETTING}={setting} cannot be run"
            if setting
            else f"no Konclude on the PATH; {KONCLUDE_SETTING} can name one"
        )
        return Absent(peer, f"{where} (Debian's package konclude has it)")
    return InstalledPeer(peer, program)
