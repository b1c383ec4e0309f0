"""The class files of the Java drivers, made of the sources beside them: `make java`, with a JDK 17.

python -m tests.tools.java_classes
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from shiq.reasoner.jvm import DRIVER, find_hermit

#: Folders with sources and class files; a later one may use an earlier one.
FOLDERS = (DRIVER, Path(__file__).resolve().parents[2] / "jobs" / "evaluation" / "peers")
#: The Java that they run on, and the javac that they are made by: others may order them otherwise.
RELEASE, MAKER = 11, 17


def compiler() -> str | None:
    """The path of a javac of the version `MAKER`."""
    javac = shutil.which("javac")
    if javac is None:
        return None
    done = subprocess.run([javac, "-version"], capture_output=True, text=True, check=True)
    version = (done.stdout or done.stderr).removeprefix("javac ")
    return javac if version.startswith(f"{MAKER}.") else None


def compile_sources(javac: str, folder: Path, target: Path) -> None:
    """Writes to ``target`` the class files of the sources in ``folder``."""
    path = os.pathsep.join([*map(str, FOLDERS[: FOLDERS.index(folder)]), *find_hermit().jars])
    options = ["--release", str(RELEASE), "-encoding", "UTF-8", "-proc:none", "-implicit:none"]
    sources = map(str, sorted(folder.glob("*.java")))
    subprocess.run([javac, *options, "-cp", path, "-d", str(target), *sources], check=True)


if __name__ == "__main__":
    found = compiler()
    if found is None:
        raise SystemExit(f"there is no javac {MAKER}")
    for place in FOLDERS:
        for old in place.glob("*.class"):
            old.unlink()
        compile_sources(found, place, place)
