"""The command line: ``shiq certify | index | check | gate | report | status | export | compact |
simplify | generate …``.

Exit codes: 0 consistent; 1 inconsistent; 2 usage; 3 undetermined; 4 operational; 130
interrupted. Results go to stdout, progress and errors to stderr.
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import TextIO

import click

from shiq.errors import NO_ROOM, OperationalError, UsageError, missing_package
from shiq.jobs.commands.options import CommandGroup

USAGE, OPERATIONAL, INTERRUPTED = 2, 4, 130

#: Where each command is; only the one that is asked for is imported.
COMMANDS = {
    "certify": "shiq.jobs.commands.index",
    "index": "shiq.jobs.commands.index",
    "init": "shiq.jobs.commands.index",
    "check": "shiq.jobs.commands.check",
    "gate": "shiq.jobs.commands.gate",
    "report": "shiq.jobs.commands.report",
    "status": "shiq.jobs.commands.store",
    "export": "shiq.jobs.commands.store",
    "compact": "shiq.jobs.commands.store",
    "history": "shiq.jobs.commands.store",
    "simplify": "shiq.jobs.commands.ontology",
    "lint": "shiq.jobs.commands.lint",
    "draft-mapping": "shiq.jobs.commands.ontology",
    "doctor": "shiq.jobs.commands.repro",
    "repro": "shiq.jobs.commands.repro",
    "vocabularies": "shiq.jobs.commands.ontology",
    "stream": "shiq.jobs.commands.stream",
    "generate": "shiq.jobs.commands.generate",
    "evaluate": "shiq.jobs.commands.evaluate",
    "serve": "shiq.jobs.commands.serve",
}


@click.group(
    cls=CommandGroup,
    modules=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(None, "--version", package_name="shiq", prog_name="shiq")
def cli() -> None:
    """Do tonight's insertions keep a knowledge graph logically consistent? In full SHIQ(D), at
    the cost of the batch.

    The TBox is the ontology, the ABox the data; the base is what a store holds, a batch what is
    to be added tonight.

    Exit codes: 0 consistent, 1 inconsistent, 2 usage, 3 undetermined, 4 operational (a file, a
    store, a JVM).
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit. Catches every exception, because Python's own exit code 1
    would read as `inconsistent`.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    if instruction := os.environ.get("_SHIQ_COMPLETE"):  # a shell asks what may stand at the cursor
        sys.exit(complete_for_shell(cli, instruction))
    try:
        # Not by click's own main: it makes an exit with 1 of a closed pipe, as of nothing else.
        with cli.make_context("shiq", list(arguments)) as context:
            code = cli.invoke(context)
        code = code if isinstance(code, int) else 0
    except click.exceptions.Exit as stop:
        code = stop.exit_code
    except click.ClickException as error:
        error.show()
        code = USAGE if isinstance(error, click.UsageError) else OPERATIONAL
    except UsageError as error:
        code = _report_error(error, USAGE, arguments)
    except OperationalError as error:
        code = _report_error(error, OPERATIONAL, arguments)
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        code = INTERRUPTED
    except BrokenPipeError:
        _discard_stream(sys.stdout)
        code = OPERATIONAL
    except SystemExit as stop:
        code = _report_error(
            RuntimeError(f"a part of it ended the process with {stop.code!r}"),
            OPERATIONAL,
            arguments,
        )
    except OSError as error:
        if error.errno in NO_ROOM and error.filename is None:
            _discard_stream(sys.stdout)
            full = OperationalError(
                "what this prints cannot be written: the disk is full",
                "Make room there, and run it again.",
            )
            code = _report_error(full, OPERATIONAL, arguments)
        else:
            code = _report_error(error, OPERATIONAL, arguments)
    except MemoryError:
        click.echo(
            "shiq: out of memory\n  Give the process more, or check a smaller batch.", err=True
        )
        code = OPERATIONAL
    except ImportError as error:
        code = _report_error(missing_package(error) or error, OPERATIONAL, arguments)
    except BaseException as error:  # a panic of a library in Rust is no Exception
        code = _report_error(error, OPERATIONAL, arguments)
    sys.stdout.flush()
    sys.exit(code)


def _discard_stream(stream: TextIO) -> None:
    """Redirect a stream to the null device: what could not be printed Python would try to flush
    again at exit.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _report_error(error: BaseException, code: int, arguments: list[str]) -> int:
    """Print an error, with a traceback if it is unexpected or -v is given. Returns the exit code."""
    expected = isinstance(error, UsageError | OperationalError)
    try:
        if not expected or {"-v", "--verbose"} & set(arguments):
            traceback.print_exception(error)
        click.echo(f"shiq: {error}", err=True)
        if not expected:
            click.echo(
                "  This is a fault of shiq: please report it with the lines above.", err=True
            )
    except OSError:  # the disk may be full
        _discard_stream(sys.stderr)
    return code


# Shell completion: what may stand at the cursor, file names too.
#
# A shell asks through the variable _SHIQ_COMPLETE; ``eval "$(_SHIQ_COMPLETE=bash_source shiq)"``
# sets bash up.


VARIABLE = "_SHIQ_COMPLETE"
SHELLS = ("bash", "zsh", "fish")


def complete_for_shell(commands: click.Command, instruction: str) -> int:
    """Print the completion script or the completions that a shell asks for by ``instruction``
    (bash_source, bash_complete, …). Returns the exit code.
    """
    # Loaded where a shell asks.
    from click.shell_completion import shell_complete

    if not shell_complete(commands, {}, "shiq", VARIABLE, instruction):
        return 0
    known = ", ".join(f"{shell}_source" for shell in SHELLS)
    click.echo(f"shiq: {VARIABLE}={instruction} is not known. Known: {known}.", err=True)
    return 2


if __name__ == "__main__":
    main()
