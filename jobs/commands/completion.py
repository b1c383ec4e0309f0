"""Shell completion: what may stand at the cursor, file names too.

A shell asks through the variable _SHIQ_COMPLETE; ``eval "$(_SHIQ_COMPLETE=bash_source shiq)"``
sets bash up.
"""

from __future__ import annotations

import click
from click.shell_completion import shell_complete

VARIABLE = "_SHIQ_COMPLETE"
SHELLS = ("bash", "zsh", "fish")


def answer_shell(commands: click.Command, instruction: str) -> int:
    """Print what a shell asked for by ``instruction`` (bash_source, bash_complete, …). Returns:
    the exit code.
    """
    if not shell_complete(commands, {}, "shiq", VARIABLE, instruction):
        return 0
    known = ", ".join(f"{shell}_source" for shell in SHELLS)
    click.echo(f"shiq: {VARIABLE}={instruction} is not known. Known: {known}.", err=True)
    return 2
