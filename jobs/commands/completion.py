"""Shell completion: what may stand at the cursor, file names too.

A shell asks through the variable _SHIQ_COMPLETE; ``eval "$(_SHIQ_COMPLETE=bash_source shiq)"`` sets bash up.
"""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem, shell_complete

VARIABLE = "_SHIQ_COMPLETE"
SHELLS = ("bash", "zsh", "fish")
#: What an option calls a file or a folder in its help text; without such a word, a text is one as well.
_FOLDERS = frozenset({"DIR", "KG"})
_FILES = frozenset({None, "FILE", "FILE|DIR", "JAR", "F.py", "PROGRAM.lp…"})


class PathName(click.types.StringParamType):
    """A text that names a file, or a folder (``kind`` "dir"): the shell completes it."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type=self.kind)]


def complete_paths(command: click.Command) -> None:
    """Give each parameter of ``command`` that names a file or folder a type that a shell can complete."""
    for parameter in command.params:
        if isinstance(parameter.type, click.types.StringParamType):
            if parameter.metavar in _FOLDERS:
                parameter.type = PathName("dir")
            elif parameter.metavar in _FILES:
                parameter.type = PathName("file")


def answer_shell(commands: click.Command, instruction: str) -> int:
    """Print what a shell asked for by ``instruction`` (bash_source, bash_complete, …). Returns: the exit code."""
    if not shell_complete(commands, {}, "shiq", VARIABLE, instruction):
        return 0
    known = ", ".join(f"{shell}_source" for shell in SHELLS)
    click.echo(f"shiq: {VARIABLE}={instruction} is not known. Known: {known}.", err=True)
    return 2
