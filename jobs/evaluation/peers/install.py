"""Install peers, the other reasoners of a comparison, on request: ``python -m
shiq.jobs.evaluation.peers.install [--accept-agpl] [--home DIR] [PEER…]``.

The jars in ``jars.txt`` (group:artifact:version and SHA-256) come from Maven Central, or from
the repository that $SHIQ_MAVEN or a mirror in the user's Maven settings names; each is checked
before it is used. Pellet and Openllet are under the AGPL: they are left out unless
``--accept-agpl`` says that this is all right. Itemset miners and OWL RL engines in Python get an
environment each.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from shiq.errors import OperationalError
from shiq.files import replace_file
from shiq.reasoner.external import (
    INCOMPLETE,
    KONCLUDE_SETTING,
    PEERS,
    InstallableReasoner,
    MissingReasoner,
    external_reasoners_home,
    find_external_reasoner,
)

MAVEN_SETTING = "SHIQ_MAVEN"
_CENTRAL = "https://repo1.maven.org/maven2"
_SECONDS = 60.0
_HERE = Path(__file__).parent
#: Peers in Python, with their packages: itemset miners and OWL RL engines.
MINERS, OWL_RL = "miners", "owlrl"
PACKAGES = {
    MINERS: ("mlxtend==0.25.0", "pyfim==6.28"),
    OWL_RL: ("owlrl==7.6.2", "reasonable==0.4.4", "rdflib==7.6.0"),
}


@dataclass(frozen=True)
class Jar:
    """Jar file of a Maven repository, with its SHA-256."""

    group: str
    artifact: str
    version: str
    sha256: str

    @property
    def name(self) -> str:
        """File name of the jar."""
        return f"{self.artifact}-{self.version}.jar"

    @property
    def repository_path(self) -> str:
        """Path of the jar in a Maven repository.

        >>> Jar("org.example", "thing", "1.0", "").repository_path
        'org/example/thing/1.0/thing-1.0.jar'
        """
        return f"{self.group.replace('.', '/')}/{self.artifact}/{self.version}/{self.name}"


def jars_of_peer(peer: InstallableReasoner) -> list[Jar]:
    """List the jars of another reasoner, as ``jars.txt`` names them."""
    return read_jar_list(_HERE / "jars.txt", peer.name)


def read_jar_list(file: Path, section: str) -> list[Jar]:
    """Read the jars under a section [name] of a file; each line has Maven coordinates and SHA-256."""
    found, now = list[Jar](), ""
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            now = line.strip("[]")
        elif line.strip() and now == section:
            coordinates, sha256 = line.split()
            group, artifact, version = coordinates.split(":")
            found.append(Jar(group, artifact, version, sha256))
    return found


def find_repository(settings: Path | None = None) -> str:
    """URL of the Maven repository to use: $SHIQ_MAVEN, a mirror of Central in Maven's settings, or
    Central itself.
    """
    named = os.environ.get(MAVEN_SETTING)
    if named:
        return named.rstrip("/")
    settings = settings or Path.home() / ".m2" / "settings.xml"
    if not settings.is_file():
        return _CENTRAL
    try:
        root = ElementTree.parse(settings).getroot()
    except (OSError, ElementTree.ParseError) as error:
        raise OperationalError(
            f"{settings} cannot be read: {error}",
            f"Mend it, or name a repository by {MAVEN_SETTING}.",
        ) from error
    for mirror in root.iterfind("{*}mirrors/{*}mirror"):
        of = (mirror.findtext("{*}mirrorOf") or "").split(",")
        if {"*", "central", "external:*"} & {entry.strip() for entry in of}:
            return (mirror.findtext("{*}url") or _CENTRAL).strip().rstrip("/")
    return _CENTRAL


def install_peer(peer: InstallableReasoner, folder: Path, source: str) -> None:
    """Fetch the missing jars of another reasoner from the repository ``source``.

    Raises: OperationalError for a missing or wrong file; then the reasoner is not installed.
    """
    jars, incoming = folder / peer.name / "jars", folder / peer.name / "incoming"
    if jars.is_dir() and not incoming.is_dir():
        jars.rename(incoming)
    fetch_jars(jars_of_peer(peer), incoming, source)
    shutil.rmtree(jars, ignore_errors=True)
    incoming.rename(jars)


def fetch_jars(wanted: Sequence[Jar], folder: Path, source: str) -> None:
    """Make ``folder`` contain exactly the ``wanted`` jars; missing ones are fetched from the
    repository ``source``.

    Raises: OperationalError for a missing or wrong file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for stranger in {jar.name for jar in folder.glob("*.jar")} - {jar.name for jar in wanted}:
        (folder / stranger).unlink()
    for jar in wanted:
        target = folder / jar.name
        if not target.is_file() or _sha256(target.read_bytes()) != jar.sha256:
            replace_file(target, _fetch_jar(jar, source))


def _fetch_jar(jar: Jar, source: str) -> bytes:
    """Fetch a jar and verify its SHA-256. Raises: OperationalError."""
    address = f"{source}/{jar.repository_path}"
    try:
        with urllib.request.urlopen(address, timeout=_SECONDS) as answer:
            content = bytes(answer.read())
    except (urllib.error.URLError, OSError, ValueError) as error:
        raise OperationalError(
            f"{address}: {error}", f"Name a repository that has it by {MAVEN_SETTING}."
        ) from error
    if _sha256(content) != jar.sha256:
        raise OperationalError(
            f"{address} is not the file it should be (SHA-256 {_sha256(content)})",
            "Do not use that repository.",
        )
    return content


def environment_python(name: str) -> Path:
    """Path of the Python interpreter in the virtual environment ``name`` with other reasoners or
    miners (`MINERS` or `OWL_RL`). Raises: OperationalError if it is not installed.
    """
    program = external_reasoners_home() / name / "bin" / "python"
    if not program.is_file():
        raise OperationalError(
            f"{name} is not installed",
            f"python -m shiq.jobs.evaluation.peers.install {name} does that.",
        )
    return program


def _install_packages(name: str, folder: Path) -> None:
    """Make the virtual environment ``name`` with the peers that are Python packages. Raises:
    OperationalError.
    """
    own = folder / name
    venv.create(own, with_pip=True, clear=True)
    call = [str(own / "bin" / "python"), "-m", "pip", "install", "--quiet", *PACKAGES[name]]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    if done.returncode:
        shutil.rmtree(own, ignore_errors=True)
        raise OperationalError(
            f"pip: {done.stderr.strip()[-500:]}",
            "Is there a compiler, and an index that pip knows?",
        )


def _sha256(content: bytes) -> str:
    """SHA-256 of bytes as hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def main(arguments: Sequence[str] | None = None) -> int:
    """Install the peers that the arguments name; return 0 if all are installed."""
    known = PEERS | INCOMPLETE
    names = (*(name for name, peer in known.items() if peer.is_java), *PACKAGES)
    parser = argparse.ArgumentParser(
        prog="python -m shiq.jobs.evaluation.peers.install", description=__doc__
    )
    parser.add_argument(
        "peers", nargs="*", metavar="PEER", help=f"of {', '.join(names)}; default: all"
    )
    parser.add_argument(
        "--accept-agpl", action="store_true", help="install those under the AGPL too"
    )
    parser.add_argument(
        "--home",
        type=Path,
        default=external_reasoners_home(),
        help="directory to install in (default: %(default)s)",
    )
    given = parser.parse_args(arguments)
    unknown = set(given.peers) - {*names}
    if unknown:
        parser.error(f"not known: {', '.join(sorted(unknown))}; known are {', '.join(names)}")
    failed = False
    for name in given.peers or names:
        peer = known.get(name)
        title, licence = (peer.title, peer.licence) if peer else (name, "BSD, MIT, W3C")
        if peer is not None and peer.is_agpl and not given.accept_agpl:
            print(f"{title}: left out, since it is under the {licence}; --accept-agpl installs it")
            failed = failed or bool(given.peers)
            continue
        try:
            if peer is None:
                _install_packages(name, given.home)
            else:
                install_peer(peer, given.home, find_repository())
        except OperationalError as error:
            print(f"{title}: {error}", file=sys.stderr)
            failed = True
        else:
            print(f"{title} ({licence}): installed in {given.home / name}")
    konclude = find_external_reasoner("konclude")
    print(
        f"Konclude: {konclude.reason if isinstance(konclude, MissingReasoner) else konclude.program}"
        f" (setting: {KONCLUDE_SETTING})"
    )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
