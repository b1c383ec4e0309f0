"""What Windows lacks is taken away: files and stores are checked, one writer at a time.

Windows itself and macOS were not tried.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shiq.model import RDF

#: Runs `shiq` without what Windows lacks. Its lock of a byte is played by a lock of the file.
WITHOUT = """import fcntl, os, select, signal, subprocess, sys, types
locks = types.ModuleType("msvcrt")
locks.LK_NBLCK = 2
def locking(file, mode, size):
    assert os.lseek(file, 0, os.SEEK_CUR) == 1 << 20 and (mode, size) == (2, 1)
    try:
        flock(file, fcntl_constants)
    except BlockingIOError as error:
        raise PermissionError(13, "locked") from error
locks.locking = locking
flock, fcntl_constants = fcntl.flock, fcntl.LOCK_EX | fcntl.LOCK_NB
for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None
sys.modules["msvcrt"] = locks
for module, names in (
    (os, "getuid geteuid killpg setsid O_CLOEXEC pread pwrite set_blocking wait4 sched_getaffinity mkfifo"),
    (signal, "SIGALRM SIGHUP SIGKILL setitimer getitimer alarm"),
    (select, "poll"),
):
    for name in names.split():
        delattr(module, name)
from shiq.jobs.cli import main
main(sys.argv[1:])
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "t.ofn").write_text("Prefix(:=<urn:t#>) Ontology(<urn:t> DisjointClasses(:A :B))")
    for name, individual, of in (("data", "i", "A"), ("good", "j", "B"), ("bad", "i", "B")):
        text = f"<urn:t#{individual}> <{RDF}type> <urn:t#{of}> .\n"
        (tmp_path / f"{name}.nt").write_text(text)
    (tmp_path / "p.lp").write_text("alarm(X) :- high(X).\n")
    (tmp_path / "log").write_text('{"t": 1, "atoms": ["high(1)"]}\n')
    assert shiq(tmp_path, "index -t t.ofn -s kg data.nt -q") == (0, "")
    return tmp_path


def shiq(folder: Path, words: str) -> tuple[int, str]:
    """The exit code of a command, and what it says on stderr."""
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT, *words.split()],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    return ended.returncode, ended.stderr


def test_checks_gates_and_commits(folder: Path) -> None:
    assert shiq(folder, "check -s kg -i good.nt --commit -q") == (0, "")
    assert shiq(folder, "check -s kg -i bad.nt -q --timeout 60") == (1, "")
    gate = "gate -s kg -i bad.nt --mode split --quarantine q.nq --accepted ok.nt -q"
    assert shiq(folder, gate) == (1, "")
    assert shiq(folder, "compact kg")[0] == 0
    assert shiq(folder, "certify t.ofn data.nt bad.nt -q") == (1, "")


def test_hermit_is_refused_with_what_to_do(folder: Path) -> None:
    code, errors = shiq(folder, "check -s kg -i good.nt --reasoner hermit -q")
    assert code == 4
    assert "Use --reasoner own" in errors


def test_a_second_writer_is_refused(folder: Path) -> None:
    waiting = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys\nfrom pathlib import Path\nfrom shiq.jobs.store.files import hold_write_lock\n"
            "with hold_write_lock(Path('kg')):\n    print('held', flush=True)\n    sys.stdin.read()",
        ],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    assert waiting.stdin and waiting.stdout
    assert waiting.stdout.readline() == "held\n"
    code, errors = shiq(folder, "check -s kg -i good.nt --commit -q")
    assert code == 4
    assert f"another writer is at work (process {waiting.pid}, since " in errors
    waiting.stdin.close()
    assert waiting.wait() == 0
    waiting.stdout.close()
    assert shiq(folder, "check -s kg -i good.nt --commit -q")[0] == 0
