"""Shell completion, as a bash that somebody types into sees it."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from shiq import __main__ as entry

ROOT = Path(entry.__file__).resolve().parent.parent


Ask = Callable[..., list[str]]


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    """What bash is given for words, of which the last is completed, or one that begins after
    them.
    """

    def answer(words: str, *, last: bool = True) -> list[str]:
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - last))
        monkeypatch.setenv("_SHIQ_COMPLETE", "bash_complete")
        with pytest.raises(SystemExit) as ended:
            entry.main()
        found = capsys.readouterr()
        assert (ended.value.code, found.err) == (0, "")
        return found.out.split()

    return answer


def test_commands_options_and_values(ask: Ask) -> None:
    assert ask("shiq che") == ["plain,check"]
    assert ask("shiq stream r") == ["plain,rules"]
    assert ask("shiq check --crit") == ["plain,--criterion"]
    assert ask("shiq check --criterion cl") == ["plain,clausal"]
    assert {"plain,gate", "plain,index", "plain,stream"} <= set(ask("shiq", last=False))
    assert ask("shiq nothing x") == []


def test_files_and_folders(ask: Ask) -> None:
    assert ask("shiq check --insert ba") == ["file,ba"]
    assert ask("shiq index ba") == ["file,ba"]
    assert ask("shiq stream rules p") == ["file,p"]
    assert ask("shiq stream consistency --checkpoint d") == ["dir,d"]
    assert ask("shiq lint --owner a") == []


def test_an_unknown_shell_is_refused() -> None:
    settings = {**os.environ, "_SHIQ_COMPLETE": "csh_source", "PYTHONPATH": str(ROOT)}
    found = subprocess.run(
        [sys.executable, "-m", "shiq"],
        env=settings,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert found.returncode == 2
    assert "bash_source, zsh_source, fish_source" in found.stderr


#: What each shell runs: its completion of "shiq check --ins", on one line each.
SHELLS = {
    "fish": """_SHIQ_COMPLETE=fish_source shiq | source; complete -C "shiq check --ins\"""",
    "zsh": """functions compdef() { :; }
eval "$(_SHIQ_COMPLETE=zsh_source shiq)"
_describe() { print -rl -- $completions_with_descriptions; }
_path_files() { :; }
words=(shiq check --ins) CURRENT=3
_shiq_completion""",
}


@pytest.mark.parametrize("shell", sorted(SHELLS))
def test_options_complete_in_other_shells(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell}")
    (tmp_path / "shiq").write_text(
        f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m shiq "$@"\n'
    )
    (tmp_path / "shiq").chmod(0o755)
    settings = {
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "LC_ALL": "C.UTF-8",
    }
    flags = ["-f"] if shell == "zsh" else ["--no-config"]
    ended = subprocess.run(
        [shell, *flags, "-c", SHELLS[shell]],
        env=settings,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "--insert" in ended.stdout, ended


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_tabs_in_bash(tmp_path: Path) -> None:
    """The program on the path completes; a function of its name, which Enter calls, prints what
    the line became.
    """
    (tmp_path / "batch.nt").write_text("")
    (tmp_path / "shiq").write_text(
        f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m shiq "$@"\n'
    )
    (tmp_path / "shiq").chmod(0o755)
    setup = 'eval "$(_SHIQ_COMPLETE=bash_source shiq)"; shiq() { printf "[%s]" "$@"; echo; }; cd ~; echo rea""dy\n'
    settings = {
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "TERM": "dumb",
    }
    shown, typed = "", ["ready", "[check][--insert][batch.nt]"]
    terminal, inside = pty.openpty()
    process = subprocess.Popen(
        ["bash", "--norc", "--noprofile", "-i"],
        env=settings,
        stdin=inside,
        stdout=inside,
        stderr=inside,
        start_new_session=True,
    )
    os.close(inside)
    try:
        os.write(terminal, setup.encode())
        end = time.monotonic() + 120
        while typed and time.monotonic() < end:
            if not select.select([terminal], [], [], 1)[0]:
                continue
            shown += os.read(terminal, 65536).decode(errors="replace")
            if typed[0] in shown and typed.pop(0) == "ready":
                os.write(terminal, b"shiq che\t--ins\tba\t\n")
    finally:
        process.kill()
        process.wait(60)
        os.close(terminal)
    assert not typed, shown
