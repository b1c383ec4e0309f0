"""Build the sdist and the wheel; the same commit gives the same bytes.

`make dist`, or `python -m tests.tools.dist FOLDER`. Needs the packages build and twine.
"""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def repack(path: Path, time: int) -> None:
    """Rewrite an sdist in place: members by name, all of one time and without owners.

    setuptools keeps the times at which files were written.
    """
    with tarfile.open(path) as packed:
        members = sorted(packed.getmembers(), key=lambda member: member.name)
        content = [packed.extractfile(x).read() if x.isfile() else b"" for x in members]  # type: ignore[union-attr]
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.GNU_FORMAT) as made:
        for member, data in zip(members, content):
            member.mtime, member.uid, member.gid = time, 0, 0
            member.uname = member.gname = ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            member.pax_headers = {}
            made.addfile(member, io.BytesIO(data))
    path.write_bytes(gzip.compress(plain.getvalue(), 9, mtime=time))


def main(folder: Path) -> None:
    """Build into ``folder``, and check both as a registry does."""
    last = ["git", "log", "-1", "--format=%ct"]
    asked = os.environ.get("SOURCE_DATE_EPOCH")
    time = asked or subprocess.run(last, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    environment = {**os.environ, "SOURCE_DATE_EPOCH": time.strip()}
    build = [sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, env=environment)
    for sdist in folder.glob("*.tar.gz"):
        repack(sdist, int(time))
    made = sorted(map(str, folder.glob("shiq-*")))
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *made], check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
